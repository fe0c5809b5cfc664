"""Tables as files: what was found about how they are written, and the Python code that reads them the same way."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from skstab._cli._bytes import DAMAGE, MOST_BYTES, Content, read_bytes
from skstab._cli._sniffing import (
    NAMES,
    Signs,
    cells_of,
    decode,
    encoding_of,
    header_position,
    sample_lines,
    separator_of,
    signs_of,
    usual_width,
)
from skstab._report.words import UserError

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
_OTHERS = (".parquet", ".pq", ".feather", ".arrow", ".xlsx", ".xlsm")
TABLES = (*_SEPARATORS, *_OTHERS)
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
_INFERRED = {"gzip": ".gz", "bz2": ".bz2", "xz": ".xz", "zip": ".zip", "": None}
_SAMPLE_ROWS = 20
_CELL = re.compile(rb"""\sr=["']([A-Z]{0,3})(\d{1,7})["']""")  # of a cell, or of a row


class ReadOptions(NamedTuple):
    """What the user says about a file; None where it is to be found."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    na: Sequence[str] = ()
    keep: Sequence[str] = ()


class Source(NamedTuple):
    """A file that was understood: how pandas reads it, what was found, and which columns had to be renamed.

    `reader` is the name of a function of pandas, `arguments` are those of the code, `names` gives the header of each
    column whose name differs from it.
    """

    path: str
    data: bytes
    reader: str
    arguments: Mapping[str, Any]
    found: str
    signs: Signs
    names: Mapping[str, str]
    columns: Sequence[str] | None = None

    @property
    def is_typed(self) -> bool:
        """Whether the file knows the types of its columns."""
        return self.reader in ("read_parquet", "read_feather")

    def code(self, **more: Any) -> str:
        """Python code that reads the file."""
        given = "".join(
            f", {name}={value!r}" for name, value in {**self.arguments, **more}.items()
        )
        return f"data = pd.{self.reader}({self.path!r}{given})"

    def read(self, **more: Any) -> pd.DataFrame:
        """Read the file as the code does."""
        import pandas as pd

        arguments = {
            name: value
            for name, value in self.arguments.items()
            if name != "compression"
        }
        table = reading(
            self.path,
            getattr(pd, self.reader),
            io.BytesIO(self.data),
            **arguments,
            **more,
        )
        if table.columns.nlevels > 1:
            raise UserError(
                f"{self.path!r} can't be read: its columns have names of several levels"
            )
        table.columns = (
            list(self.columns)
            if self.columns is not None
            else [str(name) for name in table.columns]
        )
        return table


# -- kinds of files ----------------------------------------------------------------------------------------------------


def suffix_of(path: str) -> str:
    """The extension of a file; that of a compressed one is the last but one."""
    suffixes = [
        suffix.lower()
        for suffix in Path(path).suffixes
        if suffix.lower() not in _PACKED
    ]
    return suffixes[-1] if suffixes else ""


def kind_of(path: str) -> str:
    """The kind of a table by the extension of its file."""
    kind = suffix_of(path)
    if kind not in TABLES:
        raise UserError(
            f"{path!r} must end in .csv, .tsv or .parquet (or .txt, .xlsx, .feather), so that it is clear how to read "
            "it"
        )
    return kind


def reading(path: str, read: Any, *arguments: Any, **options: Any) -> Any:
    """Read a file; errors become one line."""
    from pandas.errors import EmptyDataError

    try:
        return read(*arguments, **options)
    except UserError:
        raise
    except EmptyDataError as error:
        raise UserError(f"{path!r} is empty") from error
    except ImportError as error:
        raise UserError(_needed(read.__name__)) from error
    except DAMAGE as error:
        reason = str(error) or type(error).__name__
        raise UserError(f"{path!r} can't be read: {reason}") from error


def _needed(reader: str) -> str:
    if reader == "read_excel":
        return "Excel workbooks need openpyxl: pip install openpyxl"
    return "Parquet and Feather need pyarrow: pip install pyarrow"


def open_table(path: str, options: ReadOptions) -> Source:
    """Find out how a file is written."""
    kind = kind_of(path)
    content = read_bytes(path)
    _check_options(content, options, path)
    if content.kind == "text":
        return _text(path, content, options, default=_SEPARATORS.get(kind, ","))
    if content.kind == "excel":
        return _excel(path, content.data, options)
    return _typed(path, content)


def _check_options(content: Content, options: ReadOptions, path: str) -> None:
    for_text = [
        name for name in ("sep", "encoding") if getattr(options, name) is not None
    ]
    if for_text and content.kind != "text":
        raise UserError(
            f"--{for_text[0]} goes with text files; {path!r} is a file of kind {content.kind}"
        )
    if options.sheet is not None and content.kind != "excel":
        raise UserError(
            f"--sheet goes with workbooks; {path!r} is a file of kind {content.kind}"
        )


# -- text --------------------------------------------------------------------------------------------------------------


def _text(path: str, content: Content, options: ReadOptions, *, default: str) -> Source:
    encoding = options.encoding or encoding_of(content.data)
    text = decode(content.data, encoding, path)
    lines = sample_lines(text)
    if not lines:
        raise UserError(f"{path!r} is empty")
    separator = options.sep or separator_of(lines, default)
    rows = cells_of(lines, separator)
    position = header_position(rows) or 0
    signs = signs_of([cell for row in rows[position + 1 :] for cell in row], separator)
    if options.decimal is not None:
        signs = Signs(
            options.decimal,
            "" if options.decimal == signs.thousands else signs.thousands,
        )
    columns, names = unique_names(_header(rows, position))
    arguments = _arguments(path, content, separator, encoding, signs)
    skipped = _line_number(text, lines[position]) if position else 0
    arguments |= {"skiprows": skipped} if skipped else {}
    arguments |= (
        {"header": 0, "names": columns}
        if columns != _header_of_pandas(rows[position])
        else {}
    )
    found = [
        f"separator {NAMES.get(separator, repr(separator))}",
        f"decimal {_sign(signs.decimal)}",
        encoding,
    ]
    found += [f"thousands {_sign(signs.thousands)}"] if signs.thousands else []
    found += [f"compressed by {content.compression}"] if content.compression else []
    found += (
        [f"{skipped} line{'s' * (skipped > 1)} above the header left out"]
        if skipped
        else []
    )
    return Source(
        path, content.data, "read_csv", arguments, ", ".join(found), signs, names
    )


def _sign(sign: str) -> str:
    return {",": "comma", ".": "point"}.get(sign, repr(sign))


def _arguments(
    path: str, content: Content, separator: str, encoding: str, signs: Signs
) -> dict[str, Any]:
    """Arguments of `pd.read_csv` that differ from their defaults."""
    suffix = Path(path).suffix.lower()
    arguments: dict[str, Any] = {"sep": separator} if separator != "," else {}
    arguments |= {"decimal": signs.decimal} if signs.decimal != "." else {}
    arguments |= {"thousands": signs.thousands} if signs.thousands else {}
    arguments |= {"encoding": encoding} if encoding != "utf-8" else {}
    if _INFERRED[content.compression] != (suffix if suffix in _PACKED else None):
        arguments["compression"] = content.compression or None
    return arguments | {"low_memory": False}


def _header(rows: Sequence[Sequence[str]], position: int) -> list[str]:
    """Names of the columns; where all rows end in a separator and the header does not, one more without a name."""
    header, body = list(rows[position]), rows[position + 1 :]
    longer = [row for row in body if len(row) == len(header) + 1]
    ends_in_separator = (
        longer
        and usual_width(body)[0] == len(header) + 1
        and not any(row[-1] for row in longer)
    )
    return [*header, ""] if ends_in_separator else header


def _header_of_pandas(header: Sequence[str]) -> list[str]:
    return [name or f"Unnamed: {number}" for number, name in enumerate(header)]


def unique_names(header: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Trim names, and number those that occur again; return all names, and the header of each that was numbered."""
    names: list[str] = []
    numbered: dict[str, str] = {}
    taken = {name.strip() for name in header}
    for position, cell in enumerate(header):
        plain = name = cell.strip() or f"Unnamed: {position}"
        number = 1
        while name in names or (number > 1 and name in taken):
            number += 1
            name = f"{plain} ({number})"
        numbered |= {name: plain} if name != plain else {}
        names.append(name)
    return names, numbered


def _line_number(text: str, line: str) -> int:
    return text.splitlines().index(line)


# -- workbooks and typed files -----------------------------------------------------------------------------------------


def _excel(path: str, data: bytes, options: ReadOptions) -> Source:
    import pandas as pd

    book = reading(
        path, _named(pd.ExcelFile, "read_excel"), io.BytesIO(data), engine="openpyxl"
    )
    sheet = _sheet(book.sheet_names, options.sheet, path)
    reading(path, _named(_check_sheet, "read_excel"), book.book[sheet], data, path)
    arguments: dict[str, Any] = {"sheet_name": sheet}
    top = reading(
        path,
        pd.read_excel,
        book,
        sheet_name=sheet,
        header=None,
        nrows=_SAMPLE_ROWS,
        dtype=object,
    )
    rows = [
        [("" if pd.isna(cell) else str(cell)) for cell in row]
        for row in top.to_numpy(dtype=object)
    ]
    if not rows:
        raise UserError(f"sheet {sheet!r} of {path!r} is empty")
    trimmed = [
        row[: max((i + 1 for i, cell in enumerate(row) if cell), default=0)]
        for row in rows
    ]
    position = header_position(trimmed) or 0
    columns, names = unique_names(rows[position])
    arguments |= {"skiprows": position} if position else {}
    of_several = f" of {len(book.sheet_names)}" if len(book.sheet_names) > 1 else ""
    found = f"sheet {sheet!r}{of_several}"
    found += (
        f", {position} row{'s' * (position > 1)} above the header left out"
        if position
        else ""
    )
    if columns != _header_of_pandas(rows[position]):
        arguments |= {"header": 0, "names": columns}
    signs = signs_of([cell for row in rows[position + 1 :] for cell in row], "\t")
    return Source(
        path,
        data,
        "read_excel",
        arguments,
        found,
        signs._replace(decimal=options.decimal or "."),
        names,
    )


def _named(function: Any, name: str) -> Any:
    """Call a function whose errors are those of a reader of this name."""

    def call(*arguments: Any, **options: Any) -> Any:
        return function(*arguments, **options)

    call.__name__ = name
    return call


def _sheet(sheets: Sequence[str], wanted: str | None, path: str) -> str:
    if wanted is None or wanted in sheets:
        return wanted or sheets[0]
    raise UserError(
        f"there is no sheet {wanted!r} in {path!r}; there are {', '.join(map(repr, sheets[:8]))}"
    )


def _typed(path: str, content: Content) -> Source:
    import pandas as pd

    if content.kind == "parquet":
        reading(path, _named(_check_cells, "read_parquet"), content.data, path)
    reader = f"read_{content.kind}"
    source = Source(
        path, content.data, reader, {}, content.kind.capitalize(), Signs(".", ""), {}
    )
    names = [
        str(name)
        for name in reading(path, getattr(pd, reader), io.BytesIO(content.data)).columns
    ]
    columns, numbered = unique_names(names)
    return source._replace(names=numbered, columns=columns if numbered else None)


def _check_cells(data: bytes, path: str) -> None:
    """Refuse a file that is small only because it is compressed."""
    parquet = import_module("pyarrow.parquet")
    about = parquet.ParquetFile(io.BytesIO(data)).metadata
    if _are_too_many(about.num_rows, about.num_columns):
        raise UserError(
            f"{path!r} can't be read: its {about.num_rows} rows and {about.num_columns} columns are too many"
        )


def _check_sheet(sheet: Any, data: bytes, path: str) -> None:
    """Refuse a sheet that is small only because nearly all of its cells are empty: pandas makes all of them."""
    if not _are_too_many(*_furthest_cell(data)):
        return
    sheet.reset_dimensions()  # what the file says of its size need not be true
    n_rows, n_columns = 0, 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        filled = [
            place for place, value in enumerate(row, start=1) if value is not None
        ]
        if filled:
            n_rows, n_columns = number, max(n_columns, filled[-1])
    if _are_too_many(n_rows, n_columns):
        raise UserError(
            f"{path!r} can't be read: sheet {sheet.title!r} reaches to row {n_rows} and column {n_columns}, too many "
            "cells; delete what stands far below or beside the table"
        )


def _furthest_cell(workbook: bytes) -> tuple[int, int]:
    """The largest row and the largest column that any sheet names, without a parser: quick for large tables."""
    row, column = 0, 0
    with zipfile.ZipFile(io.BytesIO(workbook)) as parts:
        for part in parts.namelist():
            if "sheet" not in part:
                continue
            for letters, digits in set(_CELL.findall(parts.read(part))):
                row = max(row, int(digits))
                column = max(column, _column_number(letters))
    return row, column


def _column_number(letters: bytes) -> int:
    """A is 1, Z 26, AA 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _are_too_many(n_rows: int, n_columns: int) -> bool:
    return 8 * n_rows * n_columns > 2 * MOST_BYTES

"""Tables that commands read."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skstab._cli._terminal import UserError

if TYPE_CHECKING:
    import pandas as pd

UNNAMED = "Unnamed: 0"  # pandas' name of a first column without one, as row numbers have
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")


def kind_of(path: str) -> str:
    """Tell a file by its ending; that of a packed one comes before last."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in _PACKED]
    kind = suffixes[-1] if suffixes else ""
    if kind not in (*_SEPARATORS, *_PARQUET):
        raise UserError(f"{path!r} must end in .csv, .tsv or .parquet, so that it is clear how to read it")
    return kind


def reading_code(path: str) -> str:
    """Python that reads a table, as `read_table` does."""
    kind = kind_of(path)
    if kind in _PARQUET:
        return f"pd.read_parquet({path!r})"
    separator = "" if kind == ".csv" else ', sep="\\t"'
    return f"pd.read_csv({path!r}{separator})"


def read_table(path: str) -> pd.DataFrame:
    """Read a table whose first row names its columns."""
    import pandas as pd

    kind = kind_of(path)
    if kind in _PARQUET:
        return _reading(path, pd.read_parquet)
    return _reading(path, pd.read_csv, sep=_SEPARATORS[kind])


def read_matrix(path: str) -> pd.DataFrame:
    """Read a table of numbers, whose first row and first column may be names."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    kind = kind_of(path)
    if kind in _PARQUET:
        table = _reading(path, pd.read_parquet)
    else:
        first = _reading(path, pd.read_csv, sep=_SEPARATORS[kind], header=None, nrows=1, dtype=str)
        header = 0 if _names_columns(first.iloc[0].tolist()) else None
        table = _reading(path, pd.read_csv, sep=_SEPARATORS[kind], header=header)
    names_runs = table.shape[1] and (table.columns[0] in (UNNAMED, "run") or not is_numeric_dtype(table.iloc[:, 0]))
    return table.set_index(table.columns[0]) if names_runs else table


def _names_columns(cells: list[Any]) -> bool:
    """Tell a first row of names or of column numbers, which pandas writes where there are no names, from a run."""
    # The first cell may be the name of a run, or stand empty above row numbers.
    rest = cells[1:] or cells
    return not (isinstance(cells[0], str) and all(map(_is_number, rest))) or _counts(cells) or _counts(rest)


def _counts(cells: list[str]) -> bool:
    """Tell 0, 1, 2, … or 1, 2, 3, …; two cells may as well be a run."""
    return len(cells) > 2 and any(cells == [str(start + i) for i in range(len(cells))] for start in (0, 1))


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _reading(path: str, read: Callable[..., Any], **options: Any) -> Any:
    """Read a file, and say in a line what is wrong with it."""
    from pandas.errors import EmptyDataError, ParserError

    try:
        return read(path, **options)
    except FileNotFoundError as error:
        raise UserError(f"there is no file {path!r}") from error
    except EmptyDataError as error:
        raise UserError(f"{path!r} is empty") from error
    except ImportError as error:
        raise UserError("Parquet needs pyarrow: pip install pyarrow") from error
    except (OSError, ParserError, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise UserError(f"{path!r} can't be read: {error}") from error

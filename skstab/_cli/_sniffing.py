"""How a text file is written: its encoding, its separator and its decimal sign, found from what it contains."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from skstab._report.words import UserError

SPACES = r"\s+"
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", SPACES: "spaces"}
_SAMPLE_LINES = 200
_SAMPLE_CHARACTERS = 2_000_000
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CYRILLIC = re.compile(rb"[\xc0-\xff]{3,}")
_CENTRAL = re.compile(
    rb"[\x81\x8d\x8f\x90\x9d]|[A-Za-z\xc0-\xff][\xb3\xb9\xbf\x9c\x9f\xbe][A-Za-z\xc0-\xff]"
)
_WITH_COMMA = re.compile(r"[<>≤≥=\s]*[-+]?[\d.]*\d,\d+(?:[eE][-+]?\d+)?")
_WITH_POINT = re.compile(r"[<>≤≥=\s]*[-+]?[\d,]*\d\.\d+(?:[eE][-+]?\d+)?")
_GROUPED = re.compile(r"[<>≤≥=\s]*[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_GROUPED_BY_POINTS = re.compile(r"[<>≤≥=\s]*[-+]?\d{1,3}(?:\.\d{3})+(?:,\d+)?")


class Signs(NamedTuple):
    """The decimal sign, and the sign between thousands, "" for none."""

    decimal: str
    thousands: str


# -- the encoding ------------------------------------------------------------------------------------------------------


def encoding_of(data: bytes) -> str:
    """Name the encoding: by its mark, as UTF-16 by its zeros, as UTF-8 if valid, else a Windows code page."""
    # The mark of UTF-32 starts with that of UTF-16, and is tried first.
    for mark in sorted(_BOMS, key=len, reverse=True):
        if data.startswith(mark):
            return _BOMS[mark]
    head = data[:4096]
    if head.count(0) > len(head) / 4:
        return "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return _code_page(data)
    return "utf-8"


def _code_page(data: bytes) -> str:
    """Guess a code page: words of high bytes only are Cyrillic, some signs occur between letters only in cp1250."""
    n_high = sum(map(len, re.findall(rb"[\x80-\xff]+", data)))
    if sum(map(len, _CYRILLIC.findall(data))) > n_high / 2:
        return "cp1251"
    return "cp1250" if _CENTRAL.search(data) else "cp1252"


def decode(data: bytes, encoding: str, path: str) -> str:
    """Decode a text; what is not a text is refused."""
    try:
        text = data.decode(encoding)
    except LookupError as error:
        raise UserError(
            f"there is no encoding {encoding!r}; common ones are utf-8, utf-16 and cp1252"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path!r} can't be read: it is not a text in {encoding} ({error.reason})"
        ) from error
    if "\0" in text[:_SAMPLE_CHARACTERS]:
        raise UserError(f"{path!r} can't be read: it is not a text")
    return text


# -- the separator -----------------------------------------------------------------------------------------------------


def sample_lines(text: str) -> list[str]:
    """The first lines that are not blank."""
    lines = text[:_SAMPLE_CHARACTERS].splitlines()
    # The last line of a long text may be cut off.
    whole = lines[:-1] if len(text) > _SAMPLE_CHARACTERS and len(lines) > 1 else lines
    return [line for line in whole if line.strip()][:_SAMPLE_LINES]


def cells_of(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Cells of lines, without quotes."""
    if separator == SPACES:
        return [line.split() for line in lines]
    try:
        return list(csv.reader(lines, delimiter=separator))
    except csv.Error:
        return [line.split(separator) for line in lines]


def separator_of(lines: Sequence[str], default: str) -> str:
    """The separator under which most lines have equally many cells, and the first has as many (or one name fewer)."""
    candidates = [default, *(sign for sign in NAMES if sign not in (default, SPACES))]
    agreement = {sign: _agreement(cells_of(lines, sign)) for sign in candidates}
    best = max(candidates, key=agreement.__getitem__)
    if agreement[best] > 0:
        return best
    return SPACES if _agreement(cells_of(lines, SPACES)) == 1 else default


def _agreement(rows: Sequence[Sequence[str]]) -> float:
    """Share of rows as wide as most are, half of it if lines are above the header; 0 if no row can be the header."""
    if not rows:
        return 0.0
    width, number = usual_width(rows)
    position = header_position(rows)
    if width == 1 or position is None:
        return 0.0
    return number / len(rows) if position == 0 else number / len(rows) / 2


def usual_width(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return the most frequent number of cells, and how many rows have it."""
    return Counter(map(len, rows)).most_common(1)[0]


def header_position(rows: Sequence[Sequence[str]]) -> int | None:
    """Position of the header: the first row as wide as most, or one name shorter, which leaves out row names."""
    width, _ = usual_width(rows)
    least = max(width - 1, 2)
    found = next((i for i, row in enumerate(rows) if least <= len(row) <= width), None)
    return found if found is not None and found <= len(rows) // 2 else None


# -- numbers -----------------------------------------------------------------------------------------------------------


def signs_of(cells: Sequence[str], separator: str) -> Signs:
    """Decimal sign and sign between thousands of the numbers among cells."""
    commas = [cell for cell in cells if _WITH_COMMA.fullmatch(cell.strip())]
    points = [cell for cell in cells if _WITH_POINT.fullmatch(cell.strip())]
    grouped = [cell for cell in cells if _GROUPED.fullmatch(cell.strip())]
    # "1,234" alone may be both; where commas separate the cells, or points are decimal, it is a thousand.
    if (
        grouped
        and (separator == "," or points)
        and len(commas) <= sum(map(bool, map(_GROUPED.fullmatch, commas)))
    ):
        return Signs(".", ",")
    if len(commas) <= sum("," not in cell for cell in points):
        return Signs(".", "")
    by_points = any(
        "." in cell and _GROUPED_BY_POINTS.fullmatch(cell.strip()) for cell in commas
    )
    return Signs(",", "." if by_points else "")

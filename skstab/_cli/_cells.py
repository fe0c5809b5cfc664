"""What cells mean: missing values by many names, values beyond a limit of measurement, and numbers written as text.

Every step returns the table after it together with a note and the Python code for it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from skstab._cli._formats import ReadOptions, Source, open_table
from skstab._cli._sniffing import Signs
from skstab._report.columns import is_structured
from skstab._report.words import listed, plural

if TYPE_CHECKING:
    import pandas as pd

# What pandas takes for missing in a text file.
USUAL = (
    *(
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
    ),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
# Missing in any column, in laboratories of several languages; and only among numbers, where they are no category.
LABORATORY = (
    "n.d.",
    "N.D.",
    "n.a.",
    "N.A.",
    "k.A.",
    "k. A.",
    "n.b.",
    "n.n.",
    "#DIV/0!",
    "#VALUE!",
    "#REF!",
    "#NUM!",
)
_AMONG_NUMBERS = frozenset(
    (
        *(
            "",
            "nd",
            "na",
            "n.d",
            "n.a",
            "nan",
            "none",
            "null",
            "-",
            "--",
            "---",
            "–",
            "—",
            ".",
            "..",
            "?",
            "*",
            "x",
        ),
        *(
            "missing",
            "unknown",
            "not done",
            "not detected",
            "not available",
            "not determined",
        ),
        *("bdl", "bld", "lod", "nil"),
    )
)
_CODES = (-99.0, -999.0, -9999.0, -99999.0)
_LIMIT = r"^\s*[<>≤≥]\s*=?\s*"
_FEWEST_VALUES = 3  # different plain numbers, below which "<40" and ">40" are classes
_MOST_ODD = 0.1
_MANY_VALUES = 10  # different numbers, above which single texts among them are slips


class ReadTable(NamedTuple):
    """A table with what was found out about it, and code that makes it; `headers` gives those of renamed columns."""

    frame: pd.DataFrame
    notes: list[str]
    code: list[str]
    headers: Mapping[str, str]


class _Numbers(NamedTuple):
    """A column of texts that are numbers: counts of cells at a limit, of words for missing, and of others."""

    n_limits: int
    words: Counter[str]
    odd: Counter[str]


def read_table(path: str, options: ReadOptions, *, target: str = "") -> ReadTable:
    """Read a table whose first row names its columns, and understand its cells."""
    source = open_table(path, options)
    notes = [f"Read as: {source.found}.", *_renamed(source.names, target)]
    frame, code, words = _with_missing(source, options)
    frame, code, row_notes = _without_row_names(frame, code)
    frame, number_notes, number_code = _numbers(frame, source.signs, options, target)
    frame, code_notes, code_code = _without_codes(frame, options)
    return ReadTable(
        frame,
        [*notes, *row_notes, *words, *number_notes, *code_notes],
        [*code, *number_code, *code_code],
        source.names,
    )


def _renamed(names: Mapping[str, str], target: str) -> list[str]:
    again = [(new, old) for new, old in names.items() if old != target]
    changes = [f"the next {old!r} is called {new!r}" for new, old in again]
    return (
        [f"Names that occur more than once: {'; '.join(changes[:8])}."]
        if changes
        else []
    )


# -- missing values ----------------------------------------------------------------------------------------------------


def _with_missing(
    source: Source, options: ReadOptions
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Read with all words for missing values that occur."""
    words = [
        word for word in (*USUAL, *LABORATORY, *options.na) if word not in options.keep
    ]
    frame = (
        source.read()
        if source.is_typed
        else source.read(keep_default_na=False, na_values=[""])
    )
    found = _occurring(frame, words)
    note = _told(found)
    if source.is_typed:
        return _masked(frame, source, found, note)
    extra = [word for word in found if word not in USUAL]
    arguments: dict[str, Any] = {"na_values": extra} if extra else {}
    if options.keep:
        arguments = {"keep_default_na": False, "na_values": ["", *found]}
    return source.read(**arguments), [source.code(**arguments)], note


def _told(found: Mapping[str, int]) -> list[str]:
    shown = ", ".join(
        f"{word!r} ({plural(number, 'cell')})" for word, number in found.items()
    )
    return [f"Taken as missing: {shown}."] if found else []


def _occurring(frame: pd.DataFrame, words: Sequence[str]) -> dict[str, int]:
    """Count the cells that are one of some words, or the number that a word is."""
    found: Counter[str] = Counter()
    for name in _texts(frame):
        counts = frame[name].dropna().astype(str).value_counts()
        found.update(
            {word: int(counts[word]) for word in words if word in counts.index}
        )
    numeric = frame.select_dtypes("number")
    for word in words:
        value = _as_number(word)
        found[word] += int((numeric == value).sum().sum()) if value is not None else 0
    return {word: number for word, number in found.items() if number}


def _as_number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _masked(
    frame: pd.DataFrame, source: Source, found: Mapping[str, int], note: list[str]
) -> tuple[pd.DataFrame, list[str], list[str]]:
    code = [source.code()]
    if source.columns is not None:
        code.append(f"data.columns = {list(source.columns)!r}")
    if not found:
        return frame, code, note
    values = [
        value
        for word in found
        for value in (word, _as_number(word))
        if value is not None
    ]
    names = [
        name
        for name in frame.columns
        if name in _texts(frame) or _is_number(frame[name])
    ]
    masked = frame.assign(
        **{name: frame[name].mask(frame[name].isin(values)) for name in names}
    )
    code += [
        f"for name in {names!r}:",
        f"    data[name] = data[name].mask(data[name].isin({values!r}))",
    ]
    return masked, code, note


def _texts(frame: pd.DataFrame) -> list[str]:
    """Columns of texts, or of texts among other values, but not of bytes, lists or other structures."""
    from pandas.api.types import is_object_dtype, is_string_dtype

    kinds = [(name, frame[name].dtype) for name in frame.columns]
    texts = [
        name for name, kind in kinds if is_object_dtype(kind) or is_string_dtype(kind)
    ]
    return [name for name in texts if not is_structured(frame[name])]


def _is_number(column: pd.Series) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return is_numeric_dtype(column) and not is_bool_dtype(column)


def _without_row_names(
    frame: pd.DataFrame, code: list[str]
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Leave out row names, which a header with one name fewer has, or an index that was stored."""
    import pandas as pd

    if isinstance(frame.index, pd.RangeIndex):
        return frame, code, []
    return (
        frame.reset_index(drop=True),
        [*code, "data = data.reset_index(drop=True)"],
        ["Left out, names of rows."],
    )


# -- numbers written as text -------------------------------------------------------------------------------------------


def _numbers(
    frame: pd.DataFrame, signs: Signs, options: ReadOptions, target: str
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Make numbers of columns whose cells are numbers, limits and words for missing."""
    found: dict[str, _Numbers] = {}
    for name in _texts(frame):
        about = _as_numbers(frame[name], signs, options.keep)
        if about is not None and not (name == target and about.odd):
            found[name] = about
    if not found:
        return frame, [], []
    names = list(found)
    frame = frame.assign(**{name: _converted(frame[name], signs) for name in names})
    return frame, _number_notes(found), _number_code(names, signs)


def _converted(column: pd.Series, signs: Signs) -> pd.Series:
    """Texts as numbers, without the signs of limits; what is not a number becomes missing."""
    import pandas as pd

    return pd.to_numeric(_plain(column, signs), errors="coerce")


def _plain(column: pd.Series, signs: Signs) -> pd.Series:
    texts = column.astype(str).str.replace(_LIMIT, "", regex=True).str.strip()
    texts = (
        texts.str.replace(signs.thousands, "", regex=False)
        if signs.thousands
        else texts
    )
    return (
        texts.str.replace(signs.decimal, ".", regex=False)
        if signs.decimal != "."
        else texts
    )


def _number_code(names: list[str], signs: Signs) -> list[str]:
    steps = f'cells.astype(str).str.replace(r"{_LIMIT}", "", regex=True).str.strip()'
    steps += (
        f'.str.replace({signs.thousands!r}, "", regex=False)' if signs.thousands else ""
    )
    steps += (
        f'.str.replace({signs.decimal!r}, ".", regex=False)'
        if signs.decimal != "."
        else ""
    )
    return [
        f"for name in {names!r}:",
        "    cells = data[name]",
        f'    data[name] = pd.to_numeric({steps}, errors="coerce")',
    ]


def _as_numbers(
    column: pd.Series, signs: Signs, keep: Sequence[str]
) -> _Numbers | None:
    """Count what is not a plain number in a column, or None where it is not one of numbers."""
    cells = column.dropna()
    texts = cells.astype(str).str.strip()
    values = _converted(cells, signs)
    is_limit = texts.str.match(_LIMIT) & values.notna()
    n_plain = int(values[~is_limit].nunique())
    if n_plain < _FEWEST_VALUES:
        return None
    others = Counter(texts[values.isna()].tolist())
    words = Counter(
        {
            text: n
            for text, n in others.items()
            if _means_missing(text) and text not in keep
        }
    )
    odd = others - words
    if odd and (
        n_plain < _MANY_VALUES
        or odd.total() > _MOST_ODD * len(cells)
        or set(odd) & set(keep)
    ):
        return None
    return _Numbers(int(is_limit.sum()), words, odd)


def _means_missing(text: str) -> bool:
    return text.lower() in _AMONG_NUMBERS or text in USUAL or text in LABORATORY


def _number_notes(found: Mapping[str, _Numbers]) -> list[str]:
    limits = {name: about.n_limits for name, about in found.items() if about.n_limits}
    notes = []
    if limits:
        number = sum(limits.values())
        counts = f"{plural(number, 'cell')} of {listed(list(limits))} {'counts' if number == 1 else 'count'}"
        notes.append(
            f"Values beyond a limit of measurement, as '<0.5': {counts} as the limit."
        )
    notes += _told(sum((about.words for about in found.values()), Counter()))
    for name, about in found.items():
        if about.odd:
            shown = ", ".join(repr(text) for text in list(about.odd)[:3])
            notes.append(
                f"Not a number, and taken as missing: {plural(about.odd.total(), 'cell')} of {name!r} ({shown})."
            )
    return notes


# -- codes for missing values ------------------------------------------------------------------------------------------


def _without_codes(
    frame: pd.DataFrame, options: ReadOptions
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Make numbers such as -999 missing where they can't be values."""
    numeric = frame.select_dtypes("number")
    notes, code = [], []
    for value in _CODES:
        if f"{value:g}" in options.keep:
            continue
        candidates = numeric.columns[(numeric == value).any()]
        names = [name for name in candidates if is_code(numeric[name], value)]
        if names:
            number = int((numeric[names] == value).sum().sum())
            notes.append(
                f"Taken as missing: {value:g} ({plural(number, 'cell')} of {listed(names)})."
            )
            code += [
                f"for name in {names!r}:",
                f"    data[name] = data[name].mask(data[name] == {value:g})",
            ]
            frame = frame.assign(
                **{name: frame[name].mask(frame[name] == value) for name in names}
            )
            numeric = frame.select_dtypes("number")
    return frame, notes, code


def is_code(column: pd.Series, value: float) -> bool:
    """Whether a negative value is a code: the others are not negative, or farther from it than from each other."""
    rest = column[column.notna() & (column != value)]
    if not len(rest) or rest.min() < value:
        return False
    return bool(rest.min() >= 0 or rest.min() - value > rest.max() - rest.min())

"""Columns that are no features: identifiers, dates, and those that hold too little."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

MISSING = "(missing)"
# pandas' name of a first column without one, as row numbers have
UNNAMED = "Unnamed: 0"
_FEWEST_SHARE = 0.1
_NEARLY_ALL = 0.9
_FEW_VALUES = 10
_SUBJECT = "patient|subject|participant|donor|proband|individual|person|animal|mouse|case|sample|specimen|record"
_IDENTIFIER = re.compile(
    rf"(?:{_SUBJECT})s?[\W_]*(?:id|nr|no|number|code|key|barcode)?|(?:.*[\W_])?(?:id|mrn|barcode|uuid|pid|sid)"
    rf"|id[\W_]*(?:{_SUBJECT})",
    re.IGNORECASE,
)
_CAMEL_IDENTIFIER = re.compile(r".*[a-z]I[Dd]")
_CODE = re.compile(r"[A-Za-z]{1,10}[-_ ]?\d{1,8}(?:[-_]\d+)?")
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?\S*(?: ?[AaPp][Mm])?"
_TIME = rf"(?:[T ,]+{_CLOCK})?"
_YEAR = r"(?:\d{4}|\d{2})"
_DATE = re.compile(
    "|".join(
        (
            rf"\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}{_TIME}",
            rf"\d{{1,2}}([-/.])\d{{1,2}}\2{_YEAR}{_TIME}",
            rf"\d{{1,2}}[-. ]+[^\W\d]{{3,9}}\.?[- ,]+{_YEAR}{_TIME}",
            _CLOCK,
        )
    )
)


def why_useless(column: pd.Series) -> str | None:
    """Return why a column is not a feature, or None."""
    if column.isna().all():
        return "without any value"
    if column.name == UNNAMED:
        return "row numbers"
    if is_structured(column):
        return "of binary data, lists or other structures"
    if is_numeric(column):
        return _why_no_number(column)
    return _why_no_category(column)


def is_structured(column: pd.Series) -> bool:
    """Whether cells are bytes, lists or other structures."""
    from pandas.api.types import infer_dtype, is_object_dtype

    if not is_object_dtype(column.dtype):
        return False
    if infer_dtype(column, skipna=True) == "bytes":
        return True
    return any(
        isinstance(cell, (bytes, list, tuple, dict, set)) or hasattr(cell, "__array__")
        for cell in column
    )


def is_numeric(column: pd.Series) -> bool:
    """Whether a column has real numbers, or truth values."""
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    return is_numeric_dtype(column) and not is_complex_dtype(column)


def _why_no_number(column: pd.Series) -> str | None:
    values = column.dropna()
    if values.nunique() < 2:
        return "with one value only"
    if _is_nearly_empty(column):
        return _NEARLY_EMPTY
    if looks_like_day_numbers(values):
        return "of dates or times"
    if not values.is_unique or len(values) <= _FEW_VALUES or not _is_whole(values):
        return _REPEATED if looks_like_subjects(column) else None
    in_order = len(values) == len(column) and (
        values.is_monotonic_increasing or values.is_monotonic_decreasing
    )
    if in_order:
        return (
            "whole numbers in order that all differ, as row numbers and identifiers do"
        )
    return (
        "identifiers, by their names and numbers that all differ"
        if has_name_of_identifier(column)
        else None
    )


_NEARLY_EMPTY = "with values in fewer than a tenth of the rows"
_REPEATED = "identifiers that repeat"


def _why_no_category(column: pd.Series) -> str | None:
    texts = column.dropna().astype(str)
    n_values = texts.nunique()
    reasons = {
        "with one value only": levels_of(column).nunique() < 2,
        "of dates or times": _has_times(column) or looks_like_dates(texts),
        "whose texts all differ": n_values == len(texts),
        _NEARLY_EMPTY: _is_nearly_empty(column),
        "whose texts nearly all differ": n_values
        > max(_NEARLY_ALL * len(texts), _FEW_VALUES),
        _REPEATED: looks_like_subjects(column),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _has_times(column: pd.Series) -> bool:
    from pandas.api.types import (
        infer_dtype,
        is_datetime64_any_dtype,
        is_timedelta64_dtype,
    )

    if is_datetime64_any_dtype(column) or is_timedelta64_dtype(column):
        return True
    return infer_dtype(column, skipna=True) in (
        "date",
        "datetime",
        "time",
        "timedelta",
        "period",
    )


def levels_of(column: pd.Series) -> pd.Series:
    """Values of a category as texts, with missing ones as a separate level."""
    return column.astype(object).where(column.notna(), MISSING).astype(str)


def _is_nearly_empty(column: pd.Series) -> bool:
    return bool(column.notna().mean() < _FEWEST_SHARE)


# -- dates -------------------------------------------------------------------------------------------------------------


def looks_like_dates(texts: pd.Series) -> bool:
    """Whether nearly all texts are dates or times."""
    values = texts.str.strip().unique()
    return sum(
        _DATE.fullmatch(str(value)) is not None for value in values
    ) >= _NEARLY_ALL * len(values)


def looks_like_day_numbers(values: pd.Series) -> bool:
    """Whether numbers are days as 20261118."""
    if not _is_whole(values) or not values.between(19_000_101, 21_001_231).all():
        return False
    month, day = values // 100 % 100, values % 100
    return bool((month.between(1, 12) & day.between(1, 31)).all())


# -- identifiers -------------------------------------------------------------------------------------------------------


def _is_whole(values: pd.Series) -> bool:
    from pandas.api.types import is_bool_dtype

    numbers = np.asarray(values, dtype=float)
    return not is_bool_dtype(values) and bool(
        (np.isfinite(numbers) & (np.trunc(numbers) == numbers)).all()
    )


def has_name_of_identifier(column: pd.Series) -> bool:
    """Whether the name of a column is one of identifiers, such as "patient_id"."""
    name = str(column.name).strip()
    return bool(_IDENTIFIER.fullmatch(name) or _CAMEL_IDENTIFIER.fullmatch(name))


def repeats(column: pd.Series) -> bool:
    """Whether many values occur a few times each, as those of patients with several rows do."""
    counts = column.dropna().astype(str).value_counts()
    if len(counts) <= _FEW_VALUES:
        return False
    return bool(
        (counts > 1).mean() > 0.2 and counts.iloc[0] <= max(0.2 * counts.sum(), 2)
    )


def looks_like_subjects(column: pd.Series) -> bool:
    """Whether a column names patients, each with several rows, by its name and its values."""
    values = column.dropna()
    if not has_name_of_identifier(column) or (
        is_numeric(column) and not _is_whole(values)
    ):
        return False
    return repeats(column)


def looks_like_codes(column: pd.Series) -> bool:
    """Whether texts are codes such as "P-012" that repeat."""
    values = column.dropna().astype(str).unique()
    return all(_CODE.fullmatch(value) for value in values[:1000]) and repeats(column)

"""The target of a report: classes, numbers, or times with events; and what is said about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skstab._report.columns import is_structured
from skstab._report.words import UserError, listed, plural

if TYPE_CHECKING:
    import pandas as pd

FEWEST_ROWS = 10
FEWEST_OF_CLASS = 5  # with rare_classes
JOINED = "(rare)"
_MOST_CLASSES = 10
_FEWEST_EVENTS = 5
# Words for an event that was observed, and for one that was not; numbers are 1 and 0, or 2 and 1 as R has them.
_OBSERVED = (
    "1",
    "true",
    "yes",
    "y",
    "dead",
    "deceased",
    "died",
    "death",
    "event",
    "relapse",
    "relapsed",
    "progressed",
)
_NOT_OBSERVED = (
    "0",
    "false",
    "no",
    "n",
    "alive",
    "living",
    "censored",
    "none",
    "no event",
    "no relapse",
    "disease free",
)


# -- classes and numbers -----------------------------------------------------------------------------------------------


def single_target(values: pd.Series, task: str) -> tuple[pd.Series, bool]:
    """Check the target; return it, and whether it has classes."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    name = values.name
    if is_structured(values):
        raise UserError(
            f"target {name!r} holds binary data, lists or other structures: it must be texts or numbers"
        )
    _check_target(values)
    is_number = is_numeric_dtype(values) and not is_bool_dtype(values)
    if task == "regression" and not is_number:
        raise UserError(f"target {name!r} is not numeric: regression needs numbers")
    is_classification = _has_classes(values, task)
    kinds = (
        [float]
        if not is_classification
        else [int, str]
        if is_number and _is_small_and_whole(values)
        else [str]
    )
    y = values.astype(kinds[0]).astype(
        kinds[-1]
    )  # missing values made floats of whole numbers, but 1 is not "1.0"
    if is_classification:
        _check_classes(y)
    elif not np.isfinite(y).all():
        raise UserError(f"target {name!r} has infinite values")
    return y, is_classification


def settle_rare_classes(
    data: pd.DataFrame, target: str, task: str, rule: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """Leave out the rows of rare classes, or join these to one class; return the table and notes."""
    if (
        rule is None
        or is_structured(data[target])
        or not _has_classes(data[target], task)
    ):
        return data, []
    counts = data[target].value_counts()
    rare = sorted(counts.index[counts < FEWEST_OF_CLASS].tolist(), key=str)
    if not rare:
        return data, []
    is_rare = data[target].isin(rare)
    what = f"{plural(len(rare), 'class')} of fewer than {FEWEST_OF_CLASS} rows ({listed(rare)})"
    if rule == "drop":
        note = f"{plural(int(is_rare.sum()), 'row')} of {what}: left out."
        return data[~is_rare], [note]
    note = f"{what}: joined to one class, {JOINED!r}."
    joined = data[target].astype(str).mask(is_rare, JOINED)
    return data.assign(**{target: joined}), [note]


def _has_classes(values: pd.Series, task: str) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if task != "auto":
        return task == "classification"
    is_number = is_numeric_dtype(values) and not is_bool_dtype(values)
    return not is_number or _looks_like_classes(values)


def _check_target(values: pd.Series) -> None:
    if len(values) < FEWEST_ROWS:
        raise UserError(
            f"there must be at least {FEWEST_ROWS} rows with a target, got {len(values)}"
        )
    if values.nunique() < 2:
        raise UserError(
            f"target {values.name!r} has one value only, {values.iloc[0]!s}: there is nothing to predict"
        )


def _looks_like_classes(values: pd.Series) -> bool:
    return bool(values.nunique() <= _MOST_CLASSES and (values % 1 == 0).all())


def _is_small_and_whole(values: pd.Series) -> bool:
    return bool((values.abs() < 2**53).all() and (values % 1 == 0).all())


def _check_classes(y: pd.Series) -> None:
    counts = y.value_counts()
    if counts.iloc[0] == 1:
        raise UserError(
            f"all values of target {y.name!r} differ: they are not classes; use task='regression' for numbers"
        )
    single = counts.index[counts < 2].tolist()
    if single:
        raise UserError(
            f"{listed(single)} of target {y.name!r}: {plural(len(single), 'class')} with one row only, and "
            "every class needs several; rare_classes='drop' leaves such rows out, rare_classes='join' makes one "
            f"class of all with fewer than {FEWEST_OF_CLASS} rows (task='regression' is for numbers)"
        )


# -- survival ----------------------------------------------------------------------------------------------------------


def survival_target(time: pd.Series, event: pd.Series) -> tuple[Any, str]:
    """Make a structured array of events and times; return also what is said about it."""
    _check_target(time)
    _check_times(time)
    observed = _observed_values(event)
    y = np.zeros(len(time), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = event.isin(observed), time.astype(float)
    number = int(y["event"].sum())
    if number < _FEWEST_EVENTS:
        raise UserError(
            f"event {event.name!r} must have at least {_FEWEST_EVENTS} events, got {number}"
        )
    note = f"Events: {number} of {len(y)} rows, those with {' or '.join(map(repr, observed))} in {event.name!r}."
    return y, note


def _check_times(time: pd.Series) -> None:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if not is_numeric_dtype(time) or is_bool_dtype(time):
        raise UserError(
            f"time {time.name!r} must be numbers, such as days from the start to the event or the end"
        )
    if not np.isfinite(time.astype(float)).all() or (time < 0).any():
        raise UserError(
            f"time {time.name!r} has values below zero, or infinite ones: a time is a duration"
        )


def _observed_values(event: pd.Series) -> list[Any]:
    """The values of a column that mean an observed event."""
    values = [
        value.item() if hasattr(value, "item") else value for value in event.unique()
    ]
    words = {value: _word(value) for value in values}
    if set(words.values()) == {"1", "2"}:
        return [value for value in values if words[value] == "2"]
    unknown = [
        value for value in values if words[value] not in (*_OBSERVED, *_NOT_OBSERVED)
    ]
    if unknown:
        raise UserError(
            f"event {event.name!r} has {plural(len(unknown), 'value')} of unknown meaning, {unknown[0]!r} first: "
            "code an observed event as 1 and any other row as 0"
        )
    return [value for value in values if words[value] in _OBSERVED]


def _word(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return str(int(value)) if isinstance(value, bool) else str(value).lower()

"""From a table with a target to features that selectors take, and the Python that does the same.

Every step returns the table after it together with the code for it: what the report shows is what was done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from skstab._cli._tables import UNNAMED, read_table, reading_code
from skstab._cli._terminal import UserError

if TYPE_CHECKING:
    import pandas as pd

MISSING, OTHER = "(missing)", "(other)"
_MOST_LEVELS = 30
_MOST_CLASSES = 10
_FEWEST_ROWS = 10
_SHOWN = 8


@dataclass(frozen=True)
class Dataset:
    """Features and target; `variables` says which column of the file each feature is made of."""

    X: pd.DataFrame
    y: pd.Series
    is_classification: bool
    variables: dict[str, str]
    notes: list[str]
    code: list[str]

    @property
    def has_missing(self) -> bool:
        """Whether a number is missing."""
        return bool(self.X.isna().any(axis=None))

    @property
    def has_categories(self) -> bool:
        """Whether some features are made of the same column."""
        return len(set(self.variables.values())) < len(self.variables)


def read_dataset(path: str, target: str, task: str) -> Dataset:
    """Read a table and make features and a target of it."""
    data = read_table(path)
    _check_column(data, target, path)
    code, notes = [f"data = {reading_code(path)}"], []
    if data[target].isna().any():
        notes.append(f"{int(data[target].isna().sum())} rows without a target were left out.")
        code.append(f"data = data.dropna(subset=[{target!r}])")
        data = data.dropna(subset=[target])
    y, is_classification, target_code = _target(data[target], task)
    X, variables, feature_notes, feature_code = make_features(data.drop(columns=[target]), target)
    return Dataset(X, y, is_classification, variables, notes + feature_notes, [*code, target_code, *feature_code])


def _check_column(data: pd.DataFrame, target: str, path: str) -> None:
    names = [str(name) for name in data.columns]
    if target in names:
        return
    close = get_close_matches(target, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {_listed(names)}"
    raise UserError(f"there is no column {target!r} in {path!r}; {hint}")


# -- the target ------------------------------------------------------------------------------------------------------


def _target(values: pd.Series, task: str) -> tuple[pd.Series, bool, str]:
    """Check the target; say whether it is of classes, and how to make it."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    name = values.name
    _check_target(values)
    is_number = is_numeric_dtype(values) and not is_bool_dtype(values)
    if task == "regression" and not is_number:
        raise UserError(f"target {name!r} is not numeric: regression needs numbers")
    is_classification = task == "classification" or (task == "auto" and (not is_number or _looks_like_classes(values)))
    kind = str if is_classification else float
    y = values.astype(kind)
    if is_classification:
        _check_classes(y)
    elif not np.isfinite(y).all():
        raise UserError(f"target {name!r} has infinite values")
    return y, is_classification, f"y = data[{name!r}].astype({kind.__name__})"


def _check_target(values: pd.Series) -> None:
    if len(values) < _FEWEST_ROWS:
        raise UserError(f"there must be at least {_FEWEST_ROWS} rows with a target, got {len(values)}")
    if values.nunique() < 2:
        raise UserError(f"target {values.name!r} has one value only, {values.iloc[0]!s}: there is nothing to predict")


def _looks_like_classes(values: pd.Series) -> bool:
    return bool(values.nunique() <= _MOST_CLASSES and (values % 1 == 0).all())


def _check_classes(y: pd.Series) -> None:
    counts = y.value_counts()
    if counts.iloc[0] == 1:
        raise UserError(
            f"all values of target {y.name!r} differ: they are no classes; use --task regression for numbers"
        )
    if counts.iloc[-1] < 2:
        raise UserError(
            f"class {counts.index[-1]!r} of target {y.name!r} has one row only: every class needs several, or use "
            "--task regression for numbers"
        )


# -- the features ----------------------------------------------------------------------------------------------------


def make_features(data: pd.DataFrame, target: str) -> tuple[pd.DataFrame, dict[str, str], list[str], list[str]]:
    """Leave out what tells nothing, and encode categories; return features, their columns, notes and code."""
    useless = {name: reason for name in data.columns if (reason := _why_useless(data[name]))}
    X = data.drop(columns=list(useless))
    categorical = [name for name in X.columns if not _is_numeric(X[name])]
    notes, code = _notes_of(useless), [f"X = data.drop(columns={[target, *useless]!r})"]
    if categorical:
        X, made, more, lines = _encode(X, categorical)
        notes, code = notes + more, code + lines
    else:
        made = {}
    X = X.astype(float)
    _check_features(X)
    return X, {name: made.get(name, name) for name in X.columns}, notes, [*code, "X = X.astype(float)"]


def _is_numeric(column: pd.Series) -> bool:
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    return is_numeric_dtype(column) and not is_complex_dtype(column)


def _why_useless(column: pd.Series) -> str | None:
    """Say why a column is no feature, or None."""
    from pandas.api.types import is_datetime64_any_dtype, is_timedelta64_dtype

    if column.isna().all():
        return "without any value"
    if column.name == UNNAMED:
        return "row numbers"
    if _is_numeric(column):
        return "with one value only" if column.nunique() < 2 else None
    if is_datetime64_any_dtype(column) or is_timedelta64_dtype(column):
        return "of dates or times"
    levels = _levels(column).nunique()
    if levels < 2:
        return "with one value only"
    return "whose texts all differ" if column.dropna().astype(str).is_unique else None


def _notes_of(useless: dict[str, str]) -> list[str]:
    return [
        f"Left out, {reason}: {_listed([name for name, why in useless.items() if why == reason])}."
        for reason in dict.fromkeys(useless.values())
    ]


def _listed(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def _levels(column: pd.Series) -> pd.Series:
    """Values of a category as texts, a missing one as a level of its own."""
    return column.astype(object).where(column.notna(), MISSING).astype(str)


def _encode(X: pd.DataFrame, names: list[str]) -> tuple[pd.DataFrame, dict[str, str], list[str], list[str]]:
    """Encode categories as columns of 0 and 1; return the table, the column of each new one, notes and code."""
    import pandas as pd

    code = [
        f"categories = {names!r}",
        f'X[categories] = X[categories].astype(object).where(X[categories].notna(), "{MISSING}").astype(str)',
    ]
    X = X.assign(**{name: _levels(X[name]) for name in names})
    X, notes, lines = _join_rare_levels(X, names)
    columns = {name: [f"{name}={level}" for level in sorted(X[name].unique())] for name in names}
    second = [made[0] for made in columns.values() if len(made) == 2]  # the other column tells the same
    encoded = pd.get_dummies(X, columns=names, prefix_sep="=").drop(columns=second)
    if not encoded.columns.is_unique:
        raise UserError(f"column {encoded.columns[encoded.columns.duplicated()][0]!r} would be there twice: rename one")
    code += [*lines, f'X = pd.get_dummies(X, columns=categories, prefix_sep="=").drop(columns={second!r})']
    notes.insert(0, f"Categories were encoded as columns of 0 and 1: {_listed(names)}.")
    return encoded, {column: name for name, made in columns.items() for column in made}, notes, code


def _join_rare_levels(X: pd.DataFrame, names: list[str]) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Keep the most frequent levels of a category that has many."""
    notes, code = [], []
    for name in names:
        counts = X[name].value_counts()
        if len(counts) <= _MOST_LEVELS:
            continue
        kept = sorted(counts.index[:_MOST_LEVELS])
        X = X.assign(**{name: X[name].where(X[name].isin(kept), OTHER)})
        notes.append(
            f"Of the {len(counts)} values of {name!r}, all but the {_MOST_LEVELS} most frequent are one level."
        )
        code.append(f'X[{name!r}] = X[{name!r}].where(X[{name!r}].isin({kept!r}), "{OTHER}")')
    return X, notes, code


def _check_features(X: pd.DataFrame) -> None:
    if X.shape[1] == 0:
        raise UserError("there is nothing to select from: no numeric or categorical column is left beside the target")
    if X.shape[1] == 1:
        raise UserError(f"there is nothing to select: {X.columns[0]!r} is the only feature beside the target")
    infinite = X.columns[np.isinf(X).any()]
    if len(infinite):
        raise UserError(f"column {infinite[0]!r} has infinite values")

"""From a table with a target to features for the selectors, and the Python code that does the same.

Every step returns the table after it together with the code for it: what the report shows is what was done.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from skstab._cli._cells import ReadTable, is_structured, read_table
from skstab._cli._columns import MISSING, is_numeric, levels_of, why_useless
from skstab._cli._formats import ReadOptions
from skstab._cli._terminal import UserError, listed, plural

if TYPE_CHECKING:
    import pandas as pd

OTHER = "(other)"
_MOST_LEVELS = 30
_MOST_CLASSES = 10
_FEWEST_ROWS = 10
_AS_FOUND = ReadOptions()


@dataclass(frozen=True)
class Dataset:
    """Features and target; `variables` gives the column of the file that each feature is made from.

    `table` has the rows of the features, with all columns of the file; `groups` those that belong together, if any.
    """

    X: pd.DataFrame
    y: pd.Series
    is_classification: bool
    variables: dict[str, str]
    notes: list[str]
    code: list[str]
    table: pd.DataFrame
    groups: pd.Series | None = None

    @property
    def has_missing(self) -> bool:
        """Whether a number is missing."""
        return bool(self.X.isna().any(axis=None))

    @property
    def has_categories(self) -> bool:
        """Whether some features are made from the same column."""
        return len(set(self.variables.values())) < len(self.variables)


def read_dataset(
    path: str, target: str, task: str, *, options: ReadOptions = _AS_FOUND, groups: str | None = None
) -> Dataset:
    """Read a table and make features and a target from it."""
    table = read_table(path, options, target=target)
    _check_columns(table.frame, target, groups, path)
    data, notes, code = _one_target(table, target)
    data, rows_notes, rows_code = _complete_rows(data, target, groups)
    y, is_classification, target_code = _target(data[target], task)
    apart = [target, *([] if groups is None else [groups])]
    X, variables, feature_notes, feature_code = make_features(data.drop(columns=apart), apart)
    return Dataset(
        X,
        y,
        is_classification,
        variables,
        [*table.notes, *notes, *rows_notes, *feature_notes],
        [*table.code, *code, *rows_code, target_code, *_group_code(groups), *feature_code],
        table=data,
        groups=None if groups is None else _checked_groups(data[groups]),
    )


def _check_columns(data: pd.DataFrame, target: str, groups: str | None, path: str) -> None:
    for name in (target, groups):
        if name is not None:
            _check_column(data, name, path)
    if groups == target:
        raise UserError(f"--groups must be another column than the target {target!r}")


def _check_column(data: pd.DataFrame, target: str, path: str) -> None:
    names = [str(name) for name in data.columns]
    if target in names:
        return
    close = get_close_matches(target, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {listed(names)}"
    raise UserError(f"there is no column {target!r} in {path!r}; {hint}")


def _one_target(table: ReadTable, target: str) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Leave out further columns with the name of the target, which must be equal to it."""
    again = [name for name, header in table.headers.items() if header == target]
    if not again:
        return table.frame, [], []
    for name in again:
        if not table.frame[name].equals(table.frame[target]):
            raise UserError(f"there are several columns {target!r} that differ: rename those that are not the target")
    note = f"{plural(len(again), 'more column')} named {target!r}, with the same values: left out."
    return table.frame.drop(columns=again), [note], [f"data = data.drop(columns={again!r})"]


def _complete_rows(data: pd.DataFrame, target: str, groups: str | None) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Leave out rows without a target or a group."""
    notes, code = [], []
    for name, what in ((target, "target"), (groups, "group")):
        if name is not None and data[name].isna().any():
            number = int(data[name].isna().sum())
            notes.append(f"{plural(number, 'row')} without a {what} {'was' if number == 1 else 'were'} left out.")
            code.append(f"data = data.dropna(subset=[{name!r}])")
            data = data.dropna(subset=[name])
    return data, notes, code


def _checked_groups(values: pd.Series) -> pd.Series:
    if values.nunique() < _FEWEST_ROWS:
        raise UserError(f"--groups {values.name!r} must have at least {_FEWEST_ROWS} groups, got {values.nunique()}")
    return values.astype(str)


def _group_code(groups: str | None) -> list[str]:
    return [] if groups is None else [f"groups = data[{groups!r}].astype(str)"]


# -- the target --------------------------------------------------------------------------------------------------------


def _target(values: pd.Series, task: str) -> tuple[pd.Series, bool, str]:
    """Check the target; return it, whether it has classes, and the code for it."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    name = values.name
    if is_structured(values):
        raise UserError(f"target {name!r} holds binary data, lists or other structures: it must be texts or numbers")
    _check_target(values)
    is_number = is_numeric_dtype(values) and not is_bool_dtype(values)
    if task == "regression" and not is_number:
        raise UserError(f"target {name!r} is not numeric: regression needs numbers")
    is_classification = task == "classification" or (task == "auto" and (not is_number or _looks_like_classes(values)))
    kinds = [float] if not is_classification else [int, str] if is_number and _is_small_and_whole(values) else [str]
    y = values.astype(kinds[0]).astype(kinds[-1])  # missing values made floats of whole numbers, but 1 is not "1.0"
    if is_classification:
        _check_classes(y)
    elif not np.isfinite(y).all():
        raise UserError(f"target {name!r} has infinite values")
    steps = "".join(f".astype({kind.__name__})" for kind in kinds)
    return y, is_classification, f"y = data[{name!r}]{steps}"


def _check_target(values: pd.Series) -> None:
    if len(values) < _FEWEST_ROWS:
        raise UserError(f"there must be at least {_FEWEST_ROWS} rows with a target, got {len(values)}")
    if values.nunique() < 2:
        raise UserError(f"target {values.name!r} has one value only, {values.iloc[0]!s}: there is nothing to predict")


def _looks_like_classes(values: pd.Series) -> bool:
    return bool(values.nunique() <= _MOST_CLASSES and (values % 1 == 0).all())


def _is_small_and_whole(values: pd.Series) -> bool:
    return bool((values.abs() < 2**53).all() and (values % 1 == 0).all())


def _check_classes(y: pd.Series) -> None:
    counts = y.value_counts()
    if counts.iloc[0] == 1:
        raise UserError(
            f"all values of target {y.name!r} differ: they are not classes; use --task regression for numbers"
        )
    if counts.iloc[-1] < 2:
        raise UserError(
            f"class {counts.index[-1]!r} of target {y.name!r} has one row only: every class needs several, or use "
            "--task regression for numbers"
        )


# -- the features ------------------------------------------------------------------------------------------------------


def make_features(data: pd.DataFrame, apart: list[str]) -> tuple[pd.DataFrame, dict[str, str], list[str], list[str]]:
    """Leave out uninformative columns, and encode categories; return features, their columns, notes and code."""
    useless = {name: reason for name in data.columns if (reason := why_useless(data[name]))}
    X = data.drop(columns=list(useless))
    categorical = [name for name in X.columns if not is_numeric(X[name])]
    notes, code = _notes_of(useless), [f"X = data.drop(columns={[*apart, *useless]!r})"]
    if categorical:
        X, made, more, lines = _encode(X, categorical)
        notes, code = notes + more, code + lines
        _check_names(X, useless)
    else:
        made = {}
    X = X.astype(float)
    _check_features(X)
    return X, {name: made.get(name, name) for name in X.columns}, notes, [*code, "X = X.astype(float)"]


def _check_names(X: pd.DataFrame, useless: dict[str, str]) -> None:
    twice = [*X.columns[X.columns.duplicated()], *(name for name in X.columns if name in useless)]
    if twice:
        raise UserError(f"column {twice[0]!r} would occur twice: rename one")


def _notes_of(useless: dict[str, str]) -> list[str]:
    return [
        f"Left out, {reason}: {listed([name for name, why in useless.items() if why == reason])}."
        for reason in dict.fromkeys(useless.values())
    ]


def _encode(X: pd.DataFrame, names: list[str]) -> tuple[pd.DataFrame, dict[str, str], list[str], list[str]]:
    """Encode categories as columns of 0 and 1; return the table, the column of each new one, notes and code."""
    import pandas as pd

    code = [
        f"categories = {names!r}",
        f'X[categories] = X[categories].astype(object).where(X[categories].notna(), "{MISSING}").astype(str)',
    ]
    X = X.assign(**{name: levels_of(X[name]) for name in names})
    X, notes, lines = _join_rarelevels_of(X, names)
    columns = {name: [f"{name}={level}" for level in sorted(X[name].unique())] for name in names}
    second = [made[0] for made in columns.values() if len(made) == 2]  # the other column is equivalent
    encoded = pd.get_dummies(X, columns=names, prefix_sep="=").drop(columns=second)
    code += [*lines, f'X = pd.get_dummies(X, columns=categories, prefix_sep="=").drop(columns={second!r})']
    notes.insert(0, f"Categories were encoded as columns of 0 and 1: {listed(names)}.")
    return encoded, {column: name for name, made in columns.items() for column in made}, notes, code


def _join_rarelevels_of(X: pd.DataFrame, names: list[str]) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Keep the most frequent levels of a category that has many."""
    notes, code = [], []
    for name in names:
        counts = X[name].value_counts()
        if len(counts) <= _MOST_LEVELS:
            continue
        kept = sorted(counts.index[:_MOST_LEVELS])
        X = X.assign(**{name: X[name].where(X[name].isin(kept), OTHER)})
        notes.append(
            f"Of the {len(counts)} values of {name!r}, all except the {_MOST_LEVELS} most frequent are one level."
        )
        code.append(f'X[{name!r}] = X[{name!r}].where(X[{name!r}].isin({kept!r}), "{OTHER}")')
    return X, notes, code


def _check_features(X: pd.DataFrame) -> None:
    if X.shape[1] == 0:
        raise UserError("there is nothing to select from: no numeric or categorical column is left besides the target")
    if X.shape[1] == 1:
        raise UserError(f"there is nothing to select: {X.columns[0]!r} is the only feature besides the target")
    infinite = X.columns[np.isinf(X).any()]
    if len(infinite):
        raise UserError(f"column {infinite[0]!r} has infinite values")

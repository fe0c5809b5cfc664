"""From a table with a target to features for the selectors, and the Python code that does the same.

Every step returns the table after it together with the code for it: what the report shows is what was done.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from skstab._cli._cells import ReadTable, read_table
from skstab._cli._columns import MISSING, is_numeric, levels_of, why_useless
from skstab._cli._endpoints import (
    FEWEST_ROWS,
    settle_rare_classes,
    single_target,
    survival_target,
)
from skstab._cli._formats import ReadOptions
from skstab._cli._survival import martingale_residuals
from skstab._cli._terminal import UserError, listed, plural

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["classes", "numbers", "survival"]

OTHER = "(other)"
_MOST_LEVELS = 30
_AS_FOUND = ReadOptions()


@dataclass(frozen=True)
class Dataset:
    """Features and target; `variables` gives the column of the file that each feature is made from.

    The target is a series of classes or numbers, or for survival a structured array of events and times. `table` has
    the rows of the features, with all columns of the file, of which those of the target and the groups are `apart`;
    `groups` gives rows that belong together, if any.
    """

    X: pd.DataFrame
    y: Any
    kind: Kind
    variables: dict[str, str]
    notes: list[str]
    code: list[str]
    table: pd.DataFrame
    apart: list[str]
    groups: pd.Series | None = None

    @property
    def is_classification(self) -> bool:
        """Whether the target has classes."""
        return self.kind == "classes"

    @property
    def is_survival(self) -> bool:
        """Whether the target has events and times."""
        return self.kind == "survival"

    @cached_property
    def response(self) -> pd.Series:
        """The target as classes or numbers; for survival the martingale residuals."""
        import pandas as pd

        return (
            pd.Series(martingale_residuals(self.y), index=self.X.index)
            if self.is_survival
            else self.y
        )

    @cached_property
    def target(self) -> Any:
        """The target as selectors get it: classes by their number, in alphabetical order."""
        return (
            np.unique(self.y.to_numpy(dtype=str), return_inverse=True)[1]
            if self.is_classification
            else self.y
        )

    @property
    def has_missing(self) -> bool:
        """Whether a number is missing."""
        return bool(self.X.isna().any(axis=None))

    @property
    def has_categories(self) -> bool:
        """Whether some features are made from the same column."""
        return len(set(self.variables.values())) < len(self.variables)


class Endpoint(NamedTuple):
    """The columns of the target: one to predict, or those of the time and the event of survival."""

    target: str | None = None
    time: str | None = None
    event: str | None = None

    @property
    def columns(self) -> list[str]:
        """Their names."""
        return [name for name in self if name is not None]

    @property
    def name(self) -> str:
        """What the report calls it."""
        return self.target or f"survival ({self.time}, {self.event})"


def read_dataset(
    path: str,
    endpoint: str | Endpoint,
    task: str,
    *,
    options: ReadOptions = _AS_FOUND,
    groups: str | None = None,
    rare_classes: str | None = None,
) -> Dataset:
    """Read a table and make features and a target from it."""
    wanted = Endpoint(endpoint) if isinstance(endpoint, str) else endpoint
    table = read_table(path, options, target=wanted.columns[0])
    _check_columns(table.frame, wanted.columns, groups, path)
    data, notes, code = _one_of_each(table, wanted.columns)
    data, rows_notes, rows_code = _complete_rows(data, wanted.columns, groups)
    if wanted.target is not None:
        data, class_notes, class_code = settle_rare_classes(
            data, wanted.target, task, rare_classes
        )
        rows_notes, rows_code = rows_notes + class_notes, rows_code + class_code
    y, kind, target_notes, target_code = _endpoint(data, wanted, task)
    apart = [*wanted.columns, *([] if groups is None else [groups])]
    X, variables, feature_notes, feature_code = make_features(
        data.drop(columns=apart), apart
    )
    return Dataset(
        X,
        y,
        kind,
        variables,
        [*table.notes, *notes, *rows_notes, *target_notes, *feature_notes],
        [
            *table.code,
            *code,
            *rows_code,
            *target_code,
            *_group_code(groups),
            *feature_code,
        ],
        table=data,
        apart=apart,
        groups=None if groups is None else _checked_groups(data[groups]),
    )


def _endpoint(
    data: pd.DataFrame, endpoint: Endpoint, task: str
) -> tuple[Any, Kind, list[str], list[str]]:
    if endpoint.time is not None and endpoint.event is not None:
        y, note, lines = survival_target(data[endpoint.time], data[endpoint.event])
        return y, "survival", [note], lines
    y, is_classification, line = single_target(data[endpoint.target], task)
    return y, "classes" if is_classification else "numbers", [], [line]


def _check_columns(
    data: pd.DataFrame, targets: list[str], groups: str | None, path: str
) -> None:
    for name in (*targets, groups):
        if name is not None:
            _check_column(data, name, path)
    if groups in targets:
        raise UserError(f"--groups must be another column than the target {groups!r}")
    if len(set(targets)) < len(targets):
        raise UserError("--time and --event must be two columns")


def _check_column(data: pd.DataFrame, target: str, path: str) -> None:
    names = [str(name) for name in data.columns]
    if target in names:
        return
    close = get_close_matches(target, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {listed(names)}"
    raise UserError(f"there is no column {target!r} in {path!r}; {hint}")


def _one_of_each(
    table: ReadTable, targets: list[str]
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Leave out further columns with the name of a target."""
    notes: list[str] = []
    code: list[str] = []
    for target in targets:
        frame, note, lines = _one_target(table, target)
        table = table._replace(frame=frame)
        notes, code = notes + note, code + lines
    return table.frame, notes, code


def _one_target(
    table: ReadTable, target: str
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Leave out further columns with the name of the target, which must be equal to it."""
    again = [name for name, header in table.headers.items() if header == target]
    if not again:
        return table.frame, [], []
    for name in again:
        if not table.frame[name].equals(table.frame[target]):
            raise UserError(
                f"there are several columns {target!r} that differ: rename those that are not the target"
            )
    note = f"{plural(len(again), 'more column')} named {target!r}, with the same values: left out."
    return (
        table.frame.drop(columns=again),
        [note],
        [f"data = data.drop(columns={again!r})"],
    )


def _complete_rows(
    data: pd.DataFrame, targets: list[str], groups: str | None
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Leave out rows without a target or a group."""
    notes, code = [], []
    words = ["target"] if len(targets) == 1 else ["time", "event"]
    for name, what in zip((*targets, groups), (*words, "group"), strict=True):
        if name is not None and data[name].isna().any():
            number = int(data[name].isna().sum())
            article = "an" if what == "event" else "a"
            notes.append(
                f"{plural(number, 'row')} without {article} {what} {'was' if number == 1 else 'were'} left out."
            )
            code.append(f"data = data.dropna(subset=[{name!r}])")
            data = data.dropna(subset=[name])
    return data, notes, code


def _checked_groups(values: pd.Series) -> pd.Series:
    if values.nunique() < FEWEST_ROWS:
        raise UserError(
            f"--groups {values.name!r} must have at least {FEWEST_ROWS} groups, got {values.nunique()}"
        )
    return values.astype(str)


def _group_code(groups: str | None) -> list[str]:
    return [] if groups is None else [f"groups = data[{groups!r}].astype(str)"]


# -- the features ------------------------------------------------------------------------------------------------------


def make_features(
    data: pd.DataFrame, apart: list[str]
) -> tuple[pd.DataFrame, dict[str, str], list[str], list[str]]:
    """Leave out uninformative columns, and encode categories; return features, their columns, notes and code."""
    useless = {
        name: reason for name in data.columns if (reason := why_useless(data[name]))
    }
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
    return (
        X,
        {name: made.get(name, name) for name in X.columns},
        notes,
        [*code, "X = X.astype(float)"],
    )


def _check_names(X: pd.DataFrame, useless: dict[str, str]) -> None:
    twice = [
        *X.columns[X.columns.duplicated()],
        *(name for name in X.columns if name in useless),
    ]
    if twice:
        raise UserError(f"column {twice[0]!r} would occur twice: rename one")


def _notes_of(useless: dict[str, str]) -> list[str]:
    return [
        f"Left out, {reason}: {listed([name for name, why in useless.items() if why == reason])}."
        for reason in dict.fromkeys(useless.values())
    ]


def _encode(
    X: pd.DataFrame, names: list[str]
) -> tuple[pd.DataFrame, dict[str, str], list[str], list[str]]:
    """Encode categories as columns of 0 and 1; return the table, the column of each new one, notes and code."""
    import pandas as pd

    code = [
        f"categories = {names!r}",
        f'X[categories] = X[categories].astype(object).where(X[categories].notna(), "{MISSING}").astype(str)',
    ]
    X = X.assign(**{name: levels_of(X[name]) for name in names})
    X, notes, lines = _join_rarelevels_of(X, names)
    columns = {
        name: [f"{name}={level}" for level in sorted(X[name].unique())]
        for name in names
    }
    second = [
        made[0] for made in columns.values() if len(made) == 2
    ]  # the other column is equivalent
    encoded = pd.get_dummies(X, columns=names, prefix_sep="=").drop(columns=second)
    code += [
        *lines,
        f'X = pd.get_dummies(X, columns=categories, prefix_sep="=").drop(columns={second!r})',
    ]
    notes.insert(0, f"Categories were encoded as columns of 0 and 1: {listed(names)}.")
    return (
        encoded,
        {column: name for name, made in columns.items() for column in made},
        notes,
        code,
    )


def _join_rarelevels_of(
    X: pd.DataFrame, names: list[str]
) -> tuple[pd.DataFrame, list[str], list[str]]:
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
        code.append(
            f'X[{name!r}] = X[{name!r}].where(X[{name!r}].isin({kept!r}), "{OTHER}")'
        )
    return X, notes, code


def _check_features(X: pd.DataFrame) -> None:
    if X.shape[1] == 0:
        raise UserError(
            "there is nothing to select from: no numeric or categorical column is left besides the target"
        )
    if X.shape[1] == 1:
        raise UserError(
            f"there is nothing to select: {X.columns[0]!r} is the only feature besides the target"
        )
    infinite = X.columns[np.isinf(X).any()]
    if len(infinite):
        raise UserError(f"column {infinite[0]!r} has infinite values")

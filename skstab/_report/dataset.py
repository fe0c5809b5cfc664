"""From a table with a target to features for the selectors.

Every step returns the table after it together with notes: what the report says about the data is what was done.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from skstab._report.columns import is_numeric, levels_of, why_useless
from skstab._report.survival import martingale_residuals
from skstab._report.targets import (
    FEWEST_ROWS,
    settle_rare_classes,
    single_target,
    survival_target,
)
from skstab._report.words import UserError, listed, plural

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["classes", "numbers", "survival"]

OTHER = "(other)"
_MOST_LEVELS = 30


@dataclass(frozen=True)
class Dataset:
    """Features and target; `variables` gives the given column that each feature is made from.

    The target is a series of classes or numbers, or for survival a structured array of events and times. `table` has
    the rows of the features, with all columns that were given, of which those of the target and the groups are `apart`;
    `groups` gives rows that belong together, if any; `code` is the Python that reads the table from a file.
    """

    X: pd.DataFrame
    y: Any
    kind: Kind
    variables: dict[str, str]
    notes: list[str]
    table: pd.DataFrame
    apart: list[str]
    groups: pd.Series | None = None
    code: list[str] = field(default_factory=list)

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
    def left_out(self) -> list[str]:
        """The notes about rows and columns that were left out."""
        return [note for note in self.notes if "eft out" in note]

    @property
    def share_missing(self) -> float:
        """Share of the values of the variables that are missing."""
        names = list(dict.fromkeys(self.variables.values()))
        return float(self.table[names].isna().to_numpy().mean())

    @property
    def has_missing(self) -> bool:
        """Whether a number is missing."""
        return bool(self.X.isna().any(axis=None))

    @property
    def labels(self) -> dict[str, str]:
        """The name of each feature on a page: its variable, or its own where it is the only one of it."""
        counts = Counter(self.variables.values())
        return {
            name: variable if counts[variable] > 1 else name
            for name, variable in self.variables.items()
        }

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


def dataset_of(
    table: pd.DataFrame,
    endpoint: Endpoint,
    *,
    task: str = "auto",
    groups: str | None = None,
    rare_classes: str | None = None,
) -> Dataset:
    """Make features and a target from a table, whose columns are named by texts."""
    if groups in endpoint.columns:
        raise UserError(
            f"groups must be another column than the target, got {groups!r} for both"
        )
    data, rows_notes = _complete_rows(table, endpoint.columns, groups)
    if endpoint.target is not None:
        data, class_notes = settle_rare_classes(
            data, endpoint.target, task, rare_classes
        )
        rows_notes = rows_notes + class_notes
    y, kind, target_notes = _endpoint(data, endpoint, task)
    apart = [*endpoint.columns, *([] if groups is None else [groups])]
    X, variables, feature_notes = make_features(data.drop(columns=apart))
    return Dataset(
        X,
        y,
        kind,
        variables,
        [*rows_notes, *target_notes, *feature_notes],
        table=data,
        apart=apart,
        groups=None if groups is None else _checked_groups(data[groups]),
    )


def _endpoint(
    data: pd.DataFrame, endpoint: Endpoint, task: str
) -> tuple[Any, Kind, list[str]]:
    if endpoint.time is not None and endpoint.event is not None:
        y, note = survival_target(data[endpoint.time], data[endpoint.event])
        return y, "survival", [note]
    y, is_classification = single_target(data[endpoint.target], task)
    return y, "classes" if is_classification else "numbers", []


def _complete_rows(
    data: pd.DataFrame, targets: list[str], groups: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """Leave out rows without a target or a group."""
    notes = []
    words = ["target"] if len(targets) == 1 else ["time", "event"]
    for name, what in zip((*targets, groups), (*words, "group"), strict=True):
        if name is not None and data[name].isna().any():
            number = int(data[name].isna().sum())
            article = "an" if what == "event" else "a"
            notes.append(
                f"{plural(number, 'row')} without {article} {what} {'was' if number == 1 else 'were'} left out."
            )
            data = data.dropna(subset=[name])
    return data, notes


def _checked_groups(values: pd.Series) -> pd.Series:
    if values.nunique() < FEWEST_ROWS:
        raise UserError(
            f"groups {values.name!r} must have at least {FEWEST_ROWS} groups, got {values.nunique()}"
        )
    return values.astype(str)


# -- the features ------------------------------------------------------------------------------------------------------


def make_features(
    data: pd.DataFrame,
) -> tuple[pd.DataFrame, dict[str, str], list[str]]:
    """Leave out uninformative columns, and encode categories; return features, their columns and notes."""
    useless = {
        name: reason for name in data.columns if (reason := why_useless(data[name]))
    }
    X = data.drop(columns=list(useless))
    categorical = [name for name in X.columns if not is_numeric(X[name])]
    notes = _notes_of(useless)
    made: dict[str, str] = {}
    if categorical:
        X, made, more = _encode(X, categorical)
        notes += more
        _check_names(X, useless)
    X = X.astype(float)
    _check_features(X)
    return X, {name: made.get(name, name) for name in X.columns}, notes


def _check_names(X: pd.DataFrame, useless: dict[str, str]) -> None:
    twice = [
        *X.columns[X.columns.duplicated()],
        *(name for name in X.columns if name in useless),
    ]
    if twice:
        raise UserError(f"column {twice[0]!r} would occur twice: rename one")


def _notes_of(useless: dict[str, str]) -> list[str]:
    if not useless:
        return []
    parts = [
        f"{listed([name for name, why in useless.items() if why == reason])} ({reason})"
        for reason in dict.fromkeys(useless.values())
    ]
    return [f"Left out: {'; '.join(parts)}."]


def _encode(
    X: pd.DataFrame, names: list[str]
) -> tuple[pd.DataFrame, dict[str, str], list[str]]:
    """Encode categories as columns of 0 and 1; return the table, the column of each new one, and notes."""
    import pandas as pd

    X = X.assign(**{name: levels_of(X[name]) for name in names})
    X, notes = _join_rare_levels(X, names)
    columns = {
        name: [f"{name}={level}" for level in sorted(X[name].unique())]
        for name in names
    }
    second = [
        made[0] for made in columns.values() if len(made) == 2
    ]  # the other column is equivalent
    encoded = pd.get_dummies(X, columns=names, prefix_sep="=").drop(columns=second)
    notes.insert(0, f"Categories were encoded as columns of 0 and 1: {listed(names)}.")
    return (
        encoded,
        {column: name for name, made in columns.items() for column in made},
        notes,
    )


def _join_rare_levels(
    X: pd.DataFrame, names: list[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Keep the most frequent levels of a category that has many."""
    notes = []
    for name in names:
        counts = X[name].value_counts()
        if len(counts) <= _MOST_LEVELS:
            continue
        kept = sorted(counts.index[:_MOST_LEVELS])
        X = X.assign(**{name: X[name].where(X[name].isin(kept), OTHER)})
        notes.append(
            f"Of the {len(counts)} values of {name!r}, all except the {_MOST_LEVELS} most frequent are one level."
        )
    return X, notes


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

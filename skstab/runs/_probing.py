"""Reading by behaviour: what comes out of `transform` unchanged, and which columns alter what is predicted.

For fitted objects that declare nothing. The columns of some training rows are changed, and the predictions compared:
for other rows, or larger changes, a model may use more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from skstab._compat import take_columns, take_rows
from skstab._pipelines import class_name
from skstab._typing import BoolArray, IntArray
from skstab._warnings import describe
from skstab.runs._view import UnreadableError

__all__ = ["Rows", "after", "altering_columns", "copied_columns"]

Rows: TypeAlias = Callable[[], Any]  # some training rows, made only when they are asked
# Limits of what is predicted of one model, and of the cells that are predicted at once.
_MOST_CELLS = 4_000_000
_MOST_PREDICTED, _MOST_PREDICTED_CELLS = 1_000_000, 2_000_000_000
# Below this share of the largest prediction, differences come from the order of sums.
_ROUNDING = 1e-10
_ERRORS = (
    *(ArithmeticError, AttributeError, LookupError, NotImplementedError),
    *(TypeError, ValueError),
)


# -- transformers ------------------------------------------------------------------------------------------------------


def after(step: Any, rows: Rows | None) -> Rows | None:
    """Return the rows as they are after a step."""
    return None if rows is None else lambda: step.transform(rows())


def copied_columns(transformer: Any, n_in: int, rows: Rows | None) -> IntArray | None:
    """Return the input column that each output column of a transformer is a copy of.

    None where some output is not a copy, and where there are no rows to see it.
    """
    if rows is None or not hasattr(transformer, "transform"):
        return None
    X = rows()
    if X.shape[1] != n_in:
        return None
    columns = _copied(transformer, X)
    if columns is None or not _are_confused(columns, X):
        return columns
    # Columns with equal values in these rows: no two of these values are equal.
    coded = np.arange(X.size, dtype=X.dtype).reshape(X.shape)
    distinct = _copied(transformer, coded)
    return columns if distinct is None else distinct


def _copied(transformer: Any, X: Any) -> IntArray | None:
    try:
        output = transformer.transform(X)
        if np.ndim(output) != 2 or output.shape[0] != X.shape[0]:
            return None
        if hasattr(X, "columns") and hasattr(output, "columns"):
            return _positions(list(output.columns), list(X.columns))
        dtype = None if hasattr(output, "columns") else output.dtype
        return _positions(_contents(output), _contents(X, dtype))
    except _ERRORS:
        return None


def _are_confused(columns: IntArray, X: Any) -> bool:
    """Say whether a column of numbers that is not among these equals one that is."""
    if hasattr(X, "columns") or issparse(X) or X.dtype.kind != "f":
        return False
    contents = _contents(X)
    kept = {contents[column] for column in columns}
    left = np.setdiff1d(np.arange(X.shape[1]), columns)
    return any(contents[column] in kept for column in left)


def _contents(table: Any, dtype: Any = None) -> list[Any]:
    """Return what each column holds, bit by bit, in a form that can be looked up."""
    if issparse(table):
        table = table.toarray()
    columns = np.asarray(table, dtype=dtype).T
    if columns.dtype == object:
        return [repr(column.tolist()) for column in columns]
    return [column.tobytes() for column in columns]


def _positions(wanted: list[Any], known: list[Any]) -> IntArray | None:
    """Return where each is found, of several equal ones the next in order."""
    places: dict[Any, list[int]] = {}
    for position in reversed(range(len(known))):
        places.setdefault(known[position], []).append(position)
    found = []
    for one in wanted:
        if not places.get(one):
            return None
        found.append(places[one].pop())
    return np.array(found, dtype=np.int64)


# -- predictors --------------------------------------------------------------------------------------------------------


def altering_columns(model: Any, X: Any) -> BoolArray:
    """Return which columns of some rows alter the predictions of a fitted model when they are changed.

    Groups of columns are changed together and halved where the predictions are altered, so a model that uses k of d
    columns costs about 2k log2(d) predictions of the rows, at most 4d. The values of a column change places: first at
    random, differently in each column; then each value with that half of the ranks away.
    """
    probe = _Probe(model, X)
    n_features = X.shape[1]
    used = np.zeros(n_features, dtype=bool)
    for order in (_shuffled(X), _half_away(X)):
        groups = [np.flatnonzero(~used)]
        while groups:
            hit = probe.altered(groups, order)
            altered = [
                group for group, is_hit in zip(groups, hit, strict=True) if is_hit
            ]
            used[[group[0] for group in altered if len(group) == 1]] = True
            wide = [group for group in altered if len(group) > 1]
            groups = [half for group in wide for half in np.array_split(group, 2)]
    return used


class _Probe:
    """What a model predicts of rows, and whether it is altered when columns of them are."""

    def __init__(self, model: Any, X: Any) -> None:
        self.model, self.X = model, X
        methods = ("decision_function", "predict_proba", "predict")
        self.method = next(name for name in methods if hasattr(model, name))
        self.n_predicted = 0
        self.usual = self._predict(X)
        if _differ(self.usual, self._predict(X)).any():
            raise UnreadableError(
                f"{self._name()}.{self.method} gives other values for the same rows each time, so the columns that it "
                "uses cannot be found by changing them"
            )

    def altered(self, groups: list[IntArray], order: IntArray) -> list[bool]:
        """Say of each group of columns whether changing it alters a prediction."""
        n_rows, n_features = self.X.shape
        at_once = max(1, _MOST_CELLS // max(1, n_rows * n_features))
        found: list[bool] = []
        for start in range(0, len(groups), at_once):
            block = groups[start : start + at_once]
            rows = np.tile(np.arange(n_rows)[:, None], (len(block), n_features))
            for number, group in enumerate(block):
                place = slice(number * n_rows, (number + 1) * n_rows)
                rows[place, group] = order[:, group]
            predicted = self._predict(_rearranged(self.X, rows))
            usual = np.concatenate([self.usual] * len(block))
            differ = _differ(usual, predicted).reshape(len(block), n_rows)
            found += [bool(row.any()) for row in differ]
        return found

    def _predict(self, X: Any) -> NDArray[Any]:
        self.n_predicted += X.shape[0]
        n_cells = self.n_predicted * X.shape[1]
        if self.n_predicted > _MOST_PREDICTED or n_cells > _MOST_PREDICTED_CELLS:
            raise UnreadableError(
                f"{self._name()} uses so many of its {X.shape[1]} columns that finding out which would need more than "
                f"{_MOST_PREDICTED} predicted rows or {_MOST_PREDICTED_CELLS} cells in each run: put a selector before "
                "it in a Pipeline and pass support_from='selector', or declare how it is read "
                "(skstab.runs.register_reader)"
            )
        try:
            predicted = getattr(self.model, self.method)(X)
            tables = predicted if isinstance(predicted, list) else [predicted]
            return np.column_stack([np.asarray(table) for table in tables])
        except _ERRORS as error:
            raise UnreadableError(
                f"the columns that {self._name()} uses cannot be found by changing them, because {self.method} fails "
                f"on rows that it was fitted on: {describe(error)}"
            ) from error

    def _name(self) -> str:
        return class_name(self.model)


def _differ(first: NDArray[Any], second: NDArray[Any]) -> BoolArray:
    """Say which rows of predictions differ by more than rounding."""
    if first.dtype.kind not in "fc" or second.dtype.kind not in "fc":
        return np.asarray((first != second).any(axis=1))
    size = np.abs(first).max(initial=0.0, where=np.isfinite(first))
    same = np.isclose(first, second, rtol=0.0, atol=_ROUNDING * size, equal_nan=True)
    return np.asarray((~same).any(axis=1))


def _shuffled(X: Any) -> IntArray:
    # The same for every model, and so not a source of instability.
    rng = np.random.default_rng(0)
    rows = np.tile(np.arange(X.shape[0])[:, None], (1, X.shape[1]))
    return np.asarray(rng.permuted(rows, axis=0))


def _half_away(X: Any) -> IntArray:
    """Return for each value of a column the row with that half of the ranks away."""
    by_rank = _codes(X).argsort(axis=0, kind="stable")
    order = np.empty_like(by_rank)
    away = np.roll(by_rank, len(by_rank) // 2, axis=0)
    np.put_along_axis(order, by_rank, away, axis=0)
    return np.asarray(order)


def _codes(X: Any) -> NDArray[Any]:
    """Return numbers in the order of the values of each column; of words in the order of their appearance."""
    if issparse(X):
        return np.asarray(X.toarray())
    columns = [np.asarray(take_columns(X, number)) for number in range(X.shape[1])]
    codes = [
        column if column.dtype.kind in "biuf" else pd.factorize(column)[0]
        for column in map(np.ravel, columns)
    ]
    return np.column_stack(codes).astype(np.float64)


def _rearranged(X: Any, rows: IntArray) -> Any:
    """Take for each cell the value of the same column in another row."""
    if hasattr(X, "columns"):
        names = list(X.columns)
        columns = [take_rows(X[name], rows[:, i]) for i, name in enumerate(names)]
        values = [getattr(column, "array", column) for column in columns]
        return type(X)(dict(zip(names, values, strict=True)))
    if issparse(X):
        return type(X)(np.take_along_axis(X.toarray(), rows, axis=0))
    return np.take_along_axis(np.asarray(X), rows, axis=0)

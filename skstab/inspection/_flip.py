"""Importances from the decisions of any classifier: how little of a feature flips them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import is_regressor

from skstab.inspection._importance import deviations, read_rows
from skstab.model_selection._columns import class_name

__all__ = ["flip_importance"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_BATCH = 2**20  # numbers of one batch of changed rows
_FIRST = 0.125  # change tried first
_NEGLIGIBLE = 1e-6  # a change below is as good as none


def flip_importance(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,  # noqa: ARG001  a getter's signature
    *,
    max_change: float = 1024.0,
    tol: float = 1e-4,
) -> FloatArray:
    """Importance of the features of any classifier: the inverse of the smallest change of one that flips a decision.

    Changes are measured in standard deviations of the feature. For each row the inverses are scaled to a sum of 1, so
    that rows far from any boundary count as much as others, then averaged over the rows.

    Parameters
    ----------
    model : object
        A fitted classifier or outlier detector. Its `decision_function` is used where it decides as `predict` does on
        all rows of X, else `predict`. Among several classes the largest decision value decides.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows the model was fitted on. Sparse rows are made dense a few at a time.
    y : array-like, default=None
        Not used. It is there because `StabilityCV` gives it.
    max_change : float, default=1024.0
        Changes beyond as many standard deviations are not tried: the inverse counts as 0.
    tol : float, default=1e-4
        Relative precision of the smallest change.

    Returns
    -------
    importances : ndarray of shape (n_features,)
        Not negative; they sum to the number of features that flip any decision. Rows whose decision no single feature
        flips are left out; where that is all of them, importances are 0.

    See Also
    --------
    linear_importance : The same for linear classifiers (theorem 1 of the paper), without a search.

    Notes
    -----
    Changes of 1/8, 1/4, 1/2, 1, 2, ... are tried in both directions until the decision is another one, and the boundary
    is then located between the last two. A decision that changes and changes back between two of them is missed. Each
    change tried is one row for the model to predict, so the cost is some ten to thirty predictions for each row and
    feature: select features first where there are thousands.

    References
    ----------
    Hamer and Dupont, An Importance Weighted Feature Selection Stability Measure, JMLR 2021, equation (9), theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skstab.inspection import flip_importance
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> y = X[:, 0] + 0.5 * X[:, 1] > 0
    >>> np.argsort(-flip_importance(KNeighborsClassifier().fit(X, y), X))
    array([0, 1, 2])

    Keywords, and the rows that each run was fitted on, inside `StabilityCV`:

    >>> from functools import partial
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from skstab import StabilityCV
    >>> model = make_pipeline(SelectKBest(k=2), SVC())
    >>> runs = StabilityCV(model, cv=5, importance_getter=partial(flip_importance, max_change=16)).fit(X, y)
    >>> runs.importances_.sum(axis=1)
    array([2., 2., 2., 2., 2.])
    """
    for name, value in (("max_change", max_change), ("tol", tol)):
        if not (isinstance(value, Real) and 0 < value < np.inf):
            raise ValueError(f"{name} must be a positive number, got {value!r}")
    X = read_rows(model, X)
    units = deviations(X)
    probe = _Probe(X, units, _margins_of(model, X))
    rows, features = np.nonzero(np.broadcast_to(units > 0, X.shape))
    brackets = _brackets(probe, rows, features, max_change)
    changes = _smallest_changes(probe, brackets, tol)
    inverse = np.zeros(X.shape)
    np.maximum.at(inverse, (brackets.row, brackets.feature), 1 / np.maximum(changes, _NEGLIGIBLE))
    return _row_shares(inverse)


def _row_shares(inverse: FloatArray) -> FloatArray:
    """Average the rows' shares of the features, times the number of features used: equation (9)."""
    totals = inverse.sum(axis=1, keepdims=True)
    flips = totals[:, 0] > 0
    if not flips.any():
        return np.zeros(inverse.shape[1])
    used = np.count_nonzero(inverse.any(axis=0))
    return used * (inverse[flips] / totals[flips]).mean(axis=0)


# --- Decisions --------------------------------------------------------------------------------------------------------

# From changed rows, and the numbers of the rows they were, to values below 0 where the decision is another one.
Margins = Callable[[FloatArray, IntArray], FloatArray]


def _margins_of(model: Any, X: Any) -> Margins:
    has_tags = hasattr(model, "__sklearn_tags__")
    if not hasattr(model, "predict") or (has_tags and is_regressor(model)):
        raise ValueError(f"model must be a classifier, whose decisions can flip, got {class_name(model)}")
    decisions = np.asarray(model.predict(_named(model, X)))
    if decisions.ndim != 1:
        raise ValueError(f"model must decide on one class for each row, {class_name(model)} decides on several")
    chosen = _chosen_columns(model, X, decisions)
    if chosen is not None:
        return lambda changed, rows: _lead(_columns(model, changed), chosen[rows])
    return lambda changed, rows: np.where(model.predict(_named(model, changed)) == decisions[rows], 1.0, -1.0)


def _chosen_columns(model: Any, X: Any, decisions: NDArray[Any]) -> IntArray | None:
    """Return the class with the largest decision value, or None where that is not what the model decides by."""
    if not hasattr(model, "decision_function"):
        return None
    columns = _columns(model, X)
    labels = np.asarray(getattr(model, "classes_", (-1, 1)))  # outlier detectors have no classes_
    if columns.shape[1] != len(labels):
        return None
    chosen = columns.argmax(axis=1)
    return chosen if np.array_equal(labels[chosen], decisions) else None


def _columns(model: Any, X: Any) -> FloatArray:
    """Decision values with one column for each class."""
    values = np.array(model.decision_function(_named(model, X)), dtype=np.float64)
    return np.column_stack([-values, values]) if values.ndim == 1 else values


def _lead(columns: FloatArray, chosen: IntArray) -> FloatArray:
    """By how much the chosen class leads the best other one."""
    own = np.take_along_axis(columns, chosen[:, None], axis=1)[:, 0]
    np.put_along_axis(columns, chosen[:, None], -np.inf, axis=1)
    return own - columns.max(axis=1)


def _named(model: Any, X: Any) -> Any:
    """Give columns the names that the model was fitted with, if any: it would warn without them."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or issparse(X):
        return X
    from pandas import DataFrame

    return DataFrame(X, columns=names, copy=False)


@dataclass(frozen=True)
class _Probe:
    """Rows, the units their features are changed by, and what the model makes of changed rows."""

    X: Any
    units: FloatArray
    margins: Margins

    def __call__(self, rows: IntArray, features: IntArray, changes: FloatArray) -> FloatArray:
        """Return the margins after a change of one feature in each of the rows."""
        margins = np.empty(len(rows))
        size = max(1, _BATCH // self.X.shape[1])
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            row, feature = rows[part], features[part]
            changed = self.X[row].toarray() if issparse(self.X) else self.X[row]
            changed[np.arange(len(row)), feature] += changes[part] * self.units[feature]
            margins[part] = self.margins(changed, row)
        return margins


# --- The search -------------------------------------------------------------------------------------------------------


class _Brackets(NamedTuple):
    """Changes of one feature of one row between which the decision becomes another one."""

    row: IntArray
    feature: IntArray
    sign: FloatArray
    low: FloatArray
    high: FloatArray
    at_low: FloatArray
    at_high: FloatArray


def _brackets(probe: _Probe, rows: IntArray, features: IntArray, limit: float) -> _Brackets:
    """Double the change of each feature of each row, in both directions, until the decision is another one."""
    every = np.arange(probe.X.shape[0])
    unchanged = probe(every, np.zeros_like(every), np.zeros(len(every)))
    at_low = np.broadcast_to(unchanged[rows], (2, len(rows)))
    found = []
    for low, high in pairwise(_grid(limit)):
        at_high = np.stack([probe(rows, features, np.full(len(rows), sign * high)) for sign in (-1, 1)])
        flipped = at_high < 0
        side, pair = np.nonzero(flipped)
        ends = np.full(len(pair), low), np.full(len(pair), high)
        margins = at_low[side, pair], at_high[side, pair]
        found.append(_Brackets(rows[pair], features[pair], 2.0 * side - 1, *ends, *margins))
        left = ~flipped.any(axis=0)
        rows, features, at_low = rows[left], features[left], at_high[:, left]
        if not rows.size:
            break
    return _Brackets(*map(np.concatenate, zip(*found, strict=True)))


def _grid(limit: float) -> FloatArray:
    """Changes to try: 0, 1/8, 1/4, 1/2, ... and the limit."""
    n_doublings = max(0, int(np.ceil(np.log2(limit / _FIRST))))
    return np.concatenate([[0.0], _FIRST * 2.0 ** np.arange(n_doublings), [limit]])


def _smallest_changes(probe: _Probe, brackets: _Brackets, tol: float) -> FloatArray:
    """Locate the boundary within each bracket.

    By the chord through both ends, which is the midpoint where margins are ±1 (`predict`), and by the midpoint wherever
    the chord did not halve the bracket.
    """
    tol = max(tol, 4 * np.finfo(float).eps)
    _, _, _, low, high, at_low, at_high = (column.copy() for column in brackets)
    change, halve = np.empty(len(low)), np.zeros(len(low), dtype=bool)
    active = np.arange(len(low))
    while active.size:
        width, drop = high[active] - low[active], at_low[active] - at_high[active]
        middle = low[active] + width * np.where(halve[active], 0.5, at_low[active] / drop)
        margin = probe(brackets.row[active], brackets.feature[active], brackets.sign[active] * middle)
        keeps, flips = active[margin >= 0], active[margin < 0]
        low[keeps], at_low[keeps] = middle[margin >= 0], margin[margin >= 0]
        high[flips], at_high[flips] = middle[margin < 0], margin[margin < 0]
        halve[active] = high[active] - low[active] > width / 2
        change[active] = middle
        error = width * np.abs(margin) / drop
        active = active[error > tol * np.maximum(middle, _NEGLIGIBLE)]
    return change

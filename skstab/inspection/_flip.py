"""Importances from the decisions of any classifier: how small a change of a feature changes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from skstab._checks import check_number, naming
from skstab._typing import BoolArray, Estimator, FloatArray, IntArray, MatrixLike
from skstab.inspection._importance import deviations, read_rows
from skstab.inspection._margins import (
    Margins,
    decisions_of,
    margins_of,
    predicted_margins,
)
from skstab.inspection._neighbour_flips import (
    Moves,
    Neighbours,
    first_flips,
    neighbours_of,
)
from skstab.inspection._tree_flips import first_tree_flips, trees_of

__all__ = ["flip_importance"]


_BATCH = 2**20  # numbers of one batch of changed rows
_STEP = (
    1 / 32
)  # the first change, in standard deviations; twice that where margins are smooth
_STEPS_AT_ONCE = 8
_NEGLIGIBLE = 1e-6  # a smaller change counts as none
_ZOOMS = 4  # how often the surroundings of a smallest margin are divided
_PARTS = 8  # into how many parts


@naming("model", "X", "y")
def flip_importance(
    model: Estimator,
    X: MatrixLike,
    y: ArrayLike | None = None,  # noqa: ARG001  a getter's signature
    *,
    max_change: float = 1024.0,
    tol: float = 1e-4,
) -> FloatArray:
    """Importance of the features of any classifier: the inverse of the smallest change that flips a decision.

    Changes are measured in standard deviations of the feature. For each row the inverses are scaled to a sum of 1, so
    that rows far from any boundary count as much as others, then averaged over the rows.

    Parameters
    ----------
    model : object
        A fitted classifier or outlier detector. Its `decision_function`, or `predict_proba` if that is smooth, is used
        if it decides as `predict` does on all rows of X, otherwise `predict`. Among several classes the largest value
        decides.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows the model was fitted on. Sparse rows are made dense a few at a time.
    y : array-like, default=None
        Not used. It is accepted because `StabilityCV` passes it.
    max_change : float, default=1024.0
        Changes of more standard deviations are not tried: the inverse counts as 0.
    tol : float, default=1e-4
        Relative precision of the smallest change.

    Returns
    -------
    importances : ndarray of shape (n_features,)
        Not negative; they sum to the number of features that flip any decision. Rows whose decision no single feature
        flips are left out; if that is all of them, importances are 0.

    See Also
    --------
    linear_importance : The same for linear classifiers (theorem 1 of the paper), without a search.

    Notes
    -----
    Changes are tried in both directions until the decision changes, and the boundary is then located between the last
    two. Up to one standard deviation they grow in steps of 1/32 (1/16 where values are smooth), from there to 8 in
    steps of that share of the change, then by doubling. Each change tried is one row for the model to predict, at most
    about a hundred for each row, feature and direction: select features first if there are thousands.

    A decision can change and change back within one step. Where values are smooth (`decision_function`, or
    `predict_proba` of a neural network), the surroundings of a smallest margin are divided further, with at most 28
    more changes, if a convex margin could be below 0 there. With other models such a change is missed.
    benchmarks/importances.py compares kinds of model with a dense search.

    Trees and ensembles of trees of scikit-learn (decision trees, forests, extra trees, gradient boosting, also by
    histograms of numbers, bagging and AdaBoost of trees, isolation forests) are not searched in steps: decisions change
    only at the thresholds of their nodes. One value between any two of those that a row can pass is tried, the nearest
    ones first, and the result is exact. Trees of other packages are searched in steps.

    `KNeighborsClassifier` with the Euclidean metric, fitted on dense rows, is not searched in steps: the order of the
    neighbours changes where the distances to two rows are equal, and these changes are computed one after the other.
    The result is exact with uniform weights. With weights="distance" decisions can also change in between, where a few
    changes are tried. Inside a pipeline, with another metric, or where rows of different classes stay equally far while
    the feature changes (features with few values), neighbours are searched in steps.

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
        check_number(value, name, "a positive number", above=0)
    data = read_rows(model, X)
    changes = _smallest_changes(model, data, deviations(data), max_change, tol)
    return _row_shares(1 / np.maximum(changes, _NEGLIGIBLE))


def _smallest_changes(
    model: Any, X: Any, units: FloatArray, limit: float, tol: float
) -> FloatArray:
    """Return the smallest change of each feature of each row that flips the decision, infinite if none does."""
    decisions = decisions_of(model, X)
    rows, features = np.nonzero(np.broadcast_to(units > 0, X.shape))
    trees, neighbours = trees_of(model), neighbours_of(model, X)
    probe, smooth = _Probe(X, units, predicted_margins(model, decisions)), False
    if trees is not None:
        return first_tree_flips(trees, X, units, probe.flips_at, limit)
    if neighbours is not None:
        chosen = np.searchsorted(neighbours.labels, decisions)
        brackets = _neighbour_brackets(neighbours, probe, rows, features, chosen, limit)
    else:
        margins, smooth = margins_of(model, X, units, decisions)
        probe = _Probe(X, units, margins)
        brackets = _brackets(
            probe, rows, features, _grid(limit, 2 * _STEP if smooth else _STEP), smooth
        )
    changes = np.full(X.shape, np.inf)
    np.minimum.at(
        changes, (brackets.row, brackets.feature), _boundaries(probe, brackets, tol)
    )
    return changes


def _row_shares(inverse: FloatArray) -> FloatArray:
    """Average the rows' shares of the features, times the number of features used: equation (9)."""
    totals = inverse.sum(axis=1, keepdims=True)
    flips = totals[:, 0] > 0
    if not flips.any():
        return np.zeros(inverse.shape[1])
    used = np.count_nonzero(inverse.any(axis=0))
    return np.asarray(used * (inverse[flips] / totals[flips]).mean(axis=0))


# -- the search --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Probe:
    """Rows, the units by which their features are changed, and the margins of changed rows."""

    X: Any
    units: FloatArray
    margins: Margins

    def __call__(
        self, rows: IntArray, features: IntArray, changes: FloatArray
    ) -> FloatArray:
        """Return the margins after a change of one feature in each of the rows, in its units."""
        return self._margins(
            rows,
            features,
            lambda old, part: old + changes[part] * self.units[features[part]],
        )

    def flips_at(
        self, rows: IntArray, features: IntArray, values: FloatArray
    ) -> BoolArray:
        """Return whether the decision changes where a feature of each row gets another value."""
        return self._margins(rows, features, lambda _, part: values[part]) < 0

    def _margins(
        self,
        rows: IntArray,
        features: IntArray,
        change: Callable[[FloatArray, slice], FloatArray],
    ) -> FloatArray:
        margins = np.empty(len(rows))
        size = max(1, _BATCH // self.X.shape[1])
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            row, places = rows[part], (np.arange(len(rows[part])), features[part])
            changed = self.X[row].toarray() if issparse(self.X) else self.X[row]
            changed[places] = change(changed[places], part)
            margins[part] = self.margins(changed, row)
        return margins


class _Brackets(NamedTuple):
    """Changes of one feature of one row between which the decision changes."""

    row: IntArray
    feature: IntArray
    sign: FloatArray
    low: FloatArray
    high: FloatArray
    at_low: FloatArray
    at_high: FloatArray


def _brackets(
    probe: _Probe, rows: IntArray, features: IntArray, grid: FloatArray, smooth: bool
) -> _Brackets:
    """Increase the change of each feature of each row, in both directions, until the decision changes."""
    every = np.arange(probe.X.shape[0])
    unchanged = probe(every, np.zeros_like(every), np.zeros(len(every)))
    before = np.broadcast_to(unchanged[rows], (2, 1, len(rows)))
    found, earlier = [], -grid[1:2]
    for start in range(1, len(grid), _STEPS_AT_ONCE):
        changes = grid[start - 1 : start + _STEPS_AT_ONCE]
        margins = _margins_at(probe, rows, features, changes[1:])
        if start == 1:
            # The first step in the other direction comes before no change at all.
            before = np.concatenate([margins[::-1, :1], before], axis=1)
        margins = np.concatenate([before, margins], axis=1)
        flips = margins[:, 2:] < 0
        found.append(_first_flips(rows, features, changes, margins[:, 1:], flips))
        left = np.asarray(~flips.any(axis=(0, 1)))
        if smooth:
            dips, pairs = _dips(
                probe, rows, features, np.concatenate([earlier, changes]), margins
            )
            found.append(dips)
            left[pairs] = False
        rows, features, before, earlier = (
            rows[left],
            features[left],
            margins[:, -2:, left],
            changes[-2:-1],
        )
        if not rows.size:
            break
    return _Brackets(*map(np.concatenate, zip(*found, strict=True)))


def _margins_at(
    probe: _Probe, rows: IntArray, features: IntArray, changes: FloatArray
) -> FloatArray:
    """Return the margins of each row and feature after each change: directions × changes × pairs."""
    signed = np.multiply.outer([-1.0, 1.0], changes).ravel()
    n_pairs = len(rows)
    margins = probe(
        np.tile(rows, len(signed)),
        np.tile(features, len(signed)),
        np.repeat(signed, n_pairs),
    )
    return margins.reshape(2, len(changes), n_pairs)


def _first_flips(
    rows: IntArray,
    features: IntArray,
    changes: FloatArray,
    margins: FloatArray,
    flips: Any,
) -> _Brackets:
    """Return the smallest change that flips each pair, in the direction or directions in which it does."""
    first = flips.any(axis=0).argmax(axis=0)
    side, pair = np.nonzero(flips[:, first, np.arange(len(rows))])
    place, sign = first[pair], (2 * side - 1).astype(np.float64)
    at_low, at_high = margins[side, place, pair], margins[side, place + 1, pair]
    return _Brackets(
        rows[pair],
        features[pair],
        sign,
        changes[place],
        changes[place + 1],
        at_low,
        at_high,
    )


def _dips(
    probe: _Probe,
    rows: IntArray,
    features: IntArray,
    changes: FloatArray,
    margins: FloatArray,
) -> tuple[_Brackets, IntArray]:
    """Return the flips between changes that both keep the decision, and the pairs that have them."""
    side, place, pair = _low_points(changes, margins)
    low, high = np.maximum(changes[place - 1], 0.0), changes[place + 1]
    at_low = np.where(
        changes[place - 1] < 0,
        margins[side, place, pair],
        margins[side, place - 1, pair],
    )
    sign = (2 * side - 1).astype(np.float64)
    around = _Brackets(
        rows[pair],
        features[pair],
        sign,
        low,
        high,
        at_low,
        margins[side, place + 1, pair],
    )
    found, which = (
        [_take(around, np.zeros(0, dtype=np.intp))],
        [np.zeros(0, dtype=np.intp)],
    )
    for _ in range(_ZOOMS):
        if not pair.size:
            break
        flips, hits, around, rest = _divide(probe, around)
        found.append(flips)
        which.append(pair[hits])
        pair = pair[rest]
    return _Brackets(*map(np.concatenate, zip(*found, strict=True))), np.concatenate(
        which
    )


def _low_points(
    changes: FloatArray, margins: FloatArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the direction, place and pair of the smallest margins near which a convex one can be below 0."""
    left, centre, right = margins[:, :-2], margins[:, 1:-1], margins[:, 2:]
    steps = np.diff(changes)
    ratio = (steps[1:] / steps[:-1])[:, None]
    # A convex margin falls no faster after the smallest one than before it.
    lowest = centre - np.maximum((left - centre) * ratio, (right - centre) / ratio)
    kept = ~np.logical_or.accumulate(margins < 0, axis=1)[:, 2:]
    side, place, pair = np.nonzero(
        kept & (centre <= left) & (centre <= right) & (lowest < 0)
    )
    return side, place + 1, pair


def _divide(
    probe: _Probe, around: _Brackets
) -> tuple[_Brackets, IntArray, _Brackets, IntArray]:
    """Try changes inside: return the flips, which have one, and the surroundings of the smallest margins elsewhere."""
    changes = np.linspace(around.low, around.high, _PARTS + 1)
    rows, features = (
        np.tile(around.row, _PARTS - 1),
        np.tile(around.feature, _PARTS - 1),
    )
    inner = probe(rows, features, (around.sign * changes[1:-1]).ravel()).reshape(
        _PARTS - 1, -1
    )
    margins = np.vstack([around.at_low, inner, around.at_high])
    flips = np.asarray((inner < 0).any(axis=0))
    hits = np.flatnonzero(flips)
    first, lowest = (margins < 0).argmax(axis=0), margins[1:-1].argmin(axis=0) + 1
    every = np.arange(len(flips))
    centre, ends = (
        margins[lowest, every],
        np.maximum(margins[lowest - 1, every], margins[lowest + 1, every]),
    )
    rest = np.flatnonzero(~flips & (2 * centre < ends))
    return (
        _between(around, changes, margins, hits, first[hits] - 1, first[hits]),
        hits,
        _between(around, changes, margins, rest, lowest[rest] - 1, lowest[rest] + 1),
        rest,
    )


def _between(
    around: _Brackets,
    changes: FloatArray,
    margins: FloatArray,
    which: IntArray,
    start: IntArray,
    stop: IntArray,
) -> _Brackets:
    """Return the parts between two places each."""
    ends = (
        changes[start, which],
        changes[stop, which],
        margins[start, which],
        margins[stop, which],
    )
    return _Brackets(
        around.row[which], around.feature[which], around.sign[which], *ends
    )


def _take(brackets: _Brackets, which: IntArray) -> _Brackets:
    return _Brackets._make(column[which] for column in brackets)


def _neighbour_brackets(
    neighbours: Neighbours,
    probe: _Probe,
    rows: IntArray,
    features: IntArray,
    chosen: IntArray,
    limit: float,
) -> _Brackets:
    """Return the changes in both directions at which the decision of nearest neighbours first flips.

    Those that are missing because of ties are searched in steps.
    """
    row, feature, sign = (
        np.tile(rows, 2),
        np.tile(features, 2),
        np.repeat([-1.0, 1.0], len(rows)),
    )
    moves = Moves(row, feature, sign * probe.units[feature], chosen[row])
    low, high = first_flips(neighbours, probe.X, moves, limit)
    keeps, flips = np.ones(len(row)), np.full(len(row), -1.0)
    found = _take(
        _Brackets(row, feature, sign, low, high, keeps, flips),
        np.flatnonzero(np.isfinite(high)),
    )
    tied = np.isnan(high).reshape(2, -1).any(axis=0)
    if not tied.any():
        return found
    searched = _brackets(
        probe, rows[tied], features[tied], _grid(limit, _STEP), smooth=False
    )
    return _Brackets._make(map(np.concatenate, zip(found, searched, strict=True)))


def _grid(limit: float, step: float) -> FloatArray:
    """Changes to try: equal steps from 0 to 1, steps of twice the size to 2, and so on to 8; then doubling."""
    tiers = [
        np.arange(0.0, 1.0, step),
        *(np.arange(k, 2 * k, 2 * k * step) for k in (1.0, 2.0, 4.0)),
    ]
    n_doublings = max(0, int(np.ceil(np.log2(limit / 8))))
    changes = np.concatenate([*tiers, 8 * 2.0 ** np.arange(n_doublings)])
    return np.append(changes[changes < limit], limit)


def _boundaries(probe: _Probe, brackets: _Brackets, tol: float) -> FloatArray:
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
        middle = low[active] + width * np.where(
            halve[active], 0.5, at_low[active] / drop
        )
        margin = probe(
            brackets.row[active],
            brackets.feature[active],
            brackets.sign[active] * middle,
        )
        keeps, flips = active[margin >= 0], active[margin < 0]
        low[keeps], at_low[keeps] = middle[margin >= 0], margin[margin >= 0]
        high[flips], at_high[flips] = middle[margin < 0], margin[margin < 0]
        halve[active] = high[active] - low[active] > width / 2
        change[active] = middle
        error = width * np.abs(margin) / drop
        active = active[error > tol * np.maximum(middle, _NEGLIGIBLE)]
    return change

"""Importance-weighted stability with substitutes: importance moves between similar features, by optimal transport.

The agreement of two runs is the most that moving the importance of one along the similarities makes of that of the
other (Hamer and Dupont 2021, ECML PKDD). Corrected for chance it is φ_t = (A − C) / (1 − C): A averages it over pairs
of runs, C over the same pairs after the features of each run were relabelled at random.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from skstab._minima import scaled_to_one
from skstab._typing import FloatArray, IntArray, MatrixLike, RandomState, RunsLike
from skstab.metrics._importance_weighted import (
    IMPORTANCE_WEIGHTED,
    corrected_share,
    is_trivial,
)
from skstab.metrics._measure import (
    Measure,
    PairValues,
    Properties,
    consecutive_pairs,
    mean_of_pairs_without_each,
    pseudo_values,
    table_for,
)
from skstab.metrics._similarity import check_closeness, require_shape
from skstab.metrics._simplex import best_plans
from skstab.metrics._tables import Weights, check_weights

_RANDOM_PAIRS = 2000  # at least so many pairs of relabelled runs give C
_CELLS = 2**22  # of trees that are in memory together
_MOST_FEATURES = 500  # of a run: a plan of 1000 takes seconds


class _Masses(NamedTuple):
    """The features that each run gives importance to, and their shares of it; unused places are 0."""

    feature: IntArray
    share: FloatArray
    size: IntArray


class _Agreements(NamedTuple):
    """A and C of every two runs."""

    observed: FloatArray
    expected: FloatArray


def _masses(weights: Weights) -> _Masses:
    csr = weights.csr
    size = np.diff(csr.indptr).astype(np.int64)
    run = np.repeat(np.arange(weights.n_runs), size)
    place = np.arange(csr.indices.size) - csr.indptr[run]
    if size.max() > _MOST_FEATURES:
        raise ValueError(
            f"importances must be other than 0 for at most {_MOST_FEATURES} features of a run, got {size.max()}: a "
            "plan of so many takes seconds for each pair of runs; keep the largest, or use 'grouped_importance'"
        )
    shape = (weights.n_runs, max(int(size.max()), 1))
    feature, share = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    feature[run, place] = csr.indices
    share[run, place] = scaled_to_one(np.abs(csr.data), run, weights.n_runs)
    return _Masses(feature, share, size)


class _Transport:
    """The agreement of runs when importance moves along a similarity."""

    def __init__(self, similarity: Any, random_state: Any) -> None:
        from skstab._random import check_rng  # here: measures load without sklearn

        self.similarity = check_closeness(similarity)
        self.seed = int(check_rng(random_state).randint(np.iinfo(np.int32).max))
        self._known: WeakKeyDictionary[Weights, _Agreements] = WeakKeyDictionary()

    def agreements(self, weights: Weights) -> _Agreements:
        """A and C of all pairs of runs; the diagonal is that of a run with its copy, which bootstraps hold."""
        if weights not in self._known:
            m = weights.n_runs
            first, second = np.triu_indices(m, 1)
            found = self.between(weights, first, second)
            observed, expected = np.zeros((m, m)), np.zeros((m, m))
            for square, values in zip((observed, expected), found, strict=True):
                square[first, second] = square[second, first] = values
            empty = np.diff(weights.csr.indptr) == 0
            own = np.where(empty, 1.0, expected.sum(axis=1) / (m - 1))
            np.fill_diagonal(observed, 1.0)
            np.fill_diagonal(expected, own)
            self._known[weights] = _Agreements(observed, expected)
        return self._known[weights]

    def between(
        self, weights: Weights, first: IntArray, second: IntArray
    ) -> _Agreements:
        """A and C of some pairs of runs."""
        require_shape(self.similarity.shape, weights.n_features)
        masses = _masses(weights)
        n_draws = ceil(_RANDOM_PAIRS / first.size)
        pairs = np.tile(np.stack([first, second], axis=1), (n_draws, 1))
        relabelled = self._relabelled(masses, pairs.ravel(), weights.n_features)
        even = np.arange(0, pairs.size, 2)
        expected = self._moved(relabelled, even, even + 1)
        return _Agreements(
            self._moved(masses, first, second),
            expected.reshape(n_draws, -1).mean(axis=0),
        )

    def _relabelled(self, masses: _Masses, runs: IntArray, n_features: int) -> _Masses:
        """Some of the runs, each time with other features, drawn at random.

        The draws of one pair are of use to no other: this has the least error for a number of plans.
        """
        rng = np.random.default_rng(self.seed)
        feature = np.zeros((runs.size, masses.feature.shape[1]), dtype=np.int64)
        for row, size in zip(feature, masses.size[runs], strict=True):
            row[:size] = rng.choice(n_features, size, replace=False)
        return _Masses(feature, masses.share[runs], masses.size[runs])

    def _moved(self, masses: _Masses, first: IntArray, second: IntArray) -> FloatArray:
        """Gain of the best plan of each pair of runs; of two empty runs 1, of one 0."""
        none = (masses.size[first] == 0) | (masses.size[second] == 0)
        both_none = masses.size[first] + masses.size[second] == 0
        moved = np.where(both_none, 1.0, 0.0)
        some = np.flatnonzero(~none)
        for block in _blocks(masses, first, second, some):
            moved[block] = self.plans(masses, first[block], second[block])[0]
        return moved

    def plans(self, masses: _Masses, first: IntArray, second: IntArray) -> Any:
        """Gain, features and flows of the best plan of each of these pairs."""
        n_rows, n_columns = masses.size[first].max(), masses.size[second].max()
        one, other = masses.feature[first, :n_rows], masses.feature[second, :n_columns]
        a, b = masses.share[first, :n_rows], masses.share[second, :n_columns]
        gain = self._between_features(one[:, :, None], other[:, None, :])
        gain[(a == 0)[:, :, None] | (b == 0)[:, None, :]] = 0.0
        plan = best_plans(gain, a, b)
        each = np.arange(first.size)[:, None]
        return plan.gain, one[each, plan.row], other[each, plan.column], plan.flow

    def _between_features(self, one: IntArray, other: IntArray) -> FloatArray:
        """Similarity of pairs of features, 1 of a feature with itself."""
        one, other = np.broadcast_arrays(one, other)
        found = self.similarity[one.ravel(), other.ravel()]
        found = found.toarray() if sparse.issparse(found) else found
        value = np.asarray(found, dtype=np.float64).reshape(one.shape)
        return np.where(one == other, 1.0, np.minimum(value, 1.0))

    # -- the measure ---------------------------------------------------------------------------------------------------

    def stability(self, weights: Weights) -> float:
        m = weights.n_runs
        return float(self.of_subsets(weights, np.arange(m)[None])[0])

    def without_each(self, weights: Weights) -> FloatArray:
        found = self.agreements(weights)
        return corrected_share(
            *(
                mean_of_pairs_without_each(square.sum(axis=1) - square.diagonal())
                for square in found
            )
        )

    def within_pairs(self, weights: Weights) -> PairValues:
        return pseudo_values(
            corrected_share,
            *self.between(weights, *consecutive_pairs(weights.n_runs)),
        )

    def of_subsets(self, weights: Weights, rows: IntArray) -> FloatArray:
        """Stabilities of several selections of the runs, in which runs may occur again."""
        m = rows.shape[1]
        means = []
        for square in self.agreements(weights):
            sums = [
                square[np.ix_(runs, runs)].sum() - square[runs, runs].sum()
                for runs in rows
            ]
            means.append(np.array(sums) / (m * (m - 1)))
        return corrected_share(*means)


def _blocks(
    masses: _Masses, first: IntArray, second: IntArray, some: IntArray
) -> list[IntArray]:
    """Pairs in blocks of similar size, whose trees fit into memory together."""
    n_nodes = masses.size[first[some]] + masses.size[second[some]]
    order = np.argsort(n_nodes, kind="stable")
    block = np.cumsum(n_nodes[order] ** 2) // _CELLS
    parts = np.split(some[order], np.flatnonzero(np.diff(block)) + 1)
    return [part for part in parts if part.size]


def transport_measure(
    *, similarity: Any = None, random_state: RandomState = None
) -> Measure:
    """Build the importance-weighted measure in which importance moves along a similarity."""
    declared: dict[str, Any] = {
        "name": "transport",
        "described_by": ("similarity",),
        "bounds": (-np.inf, 1.0),
        "bounds_for": None,
        "properties": Properties(
            fully_defined=True,
            monotone=None,
            bounded=False,
            maximum=False,
            chance_corrected=True,
        ),
    }
    if similarity is None:  # each feature stands for itself alone: C is known exactly
        return replace(IMPORTANCE_WEIGHTED, **declared)
    transport = _Transport(similarity, random_state)
    return Measure(
        kind="weights",
        evaluate=transport.stability,
        leave_one_out=transport.without_each,
        within_pairs=transport.within_pairs,
        of_subsets=transport.of_subsets,
        trivial=is_trivial,
        **declared,
    )


# -- public ------------------------------------------------------------------------------------------------------------


def transport_stability(
    importances: RunsLike, similarity: MatrixLike, *, random_state: RandomState = None
) -> float:
    """Stability of importances that may move between similar features, by optimal transport, corrected for chance.

    Two runs agree to the extent that moving the importance of one run along the similarities gives that of the other:
    a feature whose importance is found on near-copies in another run counts as found, by how similar they are. It
    needs neither groups of features nor a threshold.

    Parameters
    ----------
    importances : array-like or sparse matrix of shape (n_runs, n_features)
        The importance of each feature in each run, 0 where it is not selected. Signs are ignored, and each run is
        scaled to the same total.
    similarity : array-like, DataFrame or sparse matrix of shape (n_features, n_features)
        How similar two features are: symmetric, between 0 and 1, for example absolute correlations. The diagonal is not
        read: a feature is always similar to itself.
    random_state : int, RandomState instance or None, default=None
        Seed of the relabelled runs of the correction for chance.

    Returns
    -------
    stability : float
        At most 1, reached by runs that give the same importance to features, or to perfect substitutes of each other;
        0 is expected of random selections. It is *not bounded* below: where nearly all features are similar, chance
        alone comes close to 1.

    See Also
    --------
    transport_plan : Which feature stands for which.
    grouped_importance_stability : The same question where groups are known.

    Notes
    -----
    With I_f the share of feature f in the importance of a run and s the similarity, two runs agree by

        A_ij = max Σ s_fg x_fg  over  x ≥ 0,  Σ_g x_fg ≤ I_if,  Σ_f x_fg ≤ I_jg,

    a transport problem [1]_, solved exactly by a network simplex for all pairs of runs together. It is not corrected
    for chance there: 20 random genes score above 0.5 where all genes are correlated. The value here is
    (A − C) / (1 − C), with A the mean over all pairs and C the mean after the features of each run were relabelled at
    random, which keeps sizes and importances. C comes from at least 2000 pairs of relabelled runs, drawn once, with an
    error of about 0.002; the value inherits it times (1 − φ_t) / (1 − C), which is large where C is close to 1. Without
    a similarity between different features it is :func:`importance_weighted_stability`.

    Where the similarity is estimated from the rows that are resampled, it is part of the data. Small correlations are
    mostly noise; they count for both A and C and hardly move the value.

    The cost grows with the number of pairs of runs and with the cube of the number of features that have importance:
    at most 500 of them in a run are accepted.

    References
    ----------
    .. [1] Hamer, V. and Dupont, P. (2021). Robust selection stability estimation in correlated spaces. ECML PKDD.

    Examples
    --------
    The first two features are near-copies that take turns:

    >>> import numpy as np
    >>> from skstab.metrics import importance_weighted_stability, transport_stability
    >>> importances = np.zeros((4, 50))
    >>> importances[[0, 1, 2, 3], [0, 1, 0, 1]] = 0.6
    >>> importances[:, 2] = 0.4
    >>> similarity = np.eye(50)
    >>> similarity[0, 1] = similarity[1, 0] = 0.95
    >>> round(importance_weighted_stability(importances), 2)
    0.59
    >>> round(transport_stability(importances, similarity, random_state=0), 2)
    0.98
    """
    measure = transport_measure(similarity=similarity, random_state=random_state)
    return measure(importances, name="importances")


def transport_plan(importances: RunsLike, similarity: MatrixLike) -> Any:
    """Which features stand for which: how importance moves from run to run, on average over all pairs of runs.

    Parameters
    ----------
    importances : array-like or sparse matrix of shape (n_runs, n_features)
        As for :func:`transport_stability`.
    similarity : array-like, DataFrame or sparse matrix of shape (n_features, n_features)
        As for :func:`transport_stability`.

    Returns
    -------
    plan : scipy.sparse.csr_array of shape (n_features, n_features)
        The share of the importance that feature f has in one run and feature g in another. It is symmetric, and what
        is on the diagonal stays where it is. A row sums to the mean importance of its feature, less what moves between
        features without any similarity, which stand for each other in nothing.

    See Also
    --------
    skstab.inspection.substitutes : The same as a table with names.

    Notes
    -----
    Optimal plans need not be unique: among exact copies the plan can be one of several that are as good.

    Examples
    --------
    >>> from skstab.metrics import transport_plan
    >>> importances = [[0.6, 0.0, 0.4], [0.0, 0.6, 0.4]]
    >>> similarity = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> transport_plan(importances, similarity).toarray().round(2)
    array([[0. , 0.3, 0. ],
           [0.3, 0. , 0. ],
           [0. , 0. , 0.4]])
    """
    measure = transport_measure()
    weights = check_weights(table_for(measure, importances), name="importances")
    transport, d = _Transport(similarity, 0), weights.n_features
    require_shape(transport.similarity.shape, d)
    masses = _masses(weights)
    first, second = np.triu_indices(weights.n_runs, 1)
    some = np.flatnonzero((masses.size[first] > 0) & (masses.size[second] > 0))
    total = sparse.csr_array((d, d))
    for block in _blocks(masses, first, second, some):
        _, one, other, flow = transport.plans(masses, first[block], second[block])
        alike = transport._between_features(one, other) > 0
        flows = np.where(flow > 1e-9, flow * alike, 0.0).ravel()
        total += sparse.csr_array((flows, (one.ravel(), other.ravel())), shape=(d, d))
    mean = (total + total.T) / (2 * max(first.size, 1))
    mean.eliminate_zeros()
    return sparse.csr_array(mean)

"""The importance-weighted stability of hamer2021, in O(nnz log nnz).

With each run's importances scaled to sum to 1, equation (6) reads φ_iw = (A − C) / (1 − C): A averages over pairs of
runs the sum of Σ_f min(I_if, I_jf), and C the same over all pairs of features of the two runs, divided by d. The sum
of the smaller of two values over all pairs needs no pairs once the values are sorted: in decreasing order, a value is
the smaller one against all that come before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from skstab._minima import (
    minima_with_others,
    minima_within_groups,
    near_one,
    scaled_to_one,
)
from skstab._typing import FloatArray, IntArray, RunsLike
from skstab.metrics._measure import (
    Measure,
    PairValues,
    Properties,
    correlation_bounds,
    pseudo_values,
)
from skstab.metrics._similarity import group_indicator
from skstab.metrics._tables import Weights


class SharedImportance(NamedTuple):
    """Sums over other runs of what a run shares with them (A) and would share by chance (C)."""

    observed: FloatArray
    expected: FloatArray


def shared_importance(
    weights: Weights, block: IntArray | None = None
) -> SharedImportance:
    """Sum each run's shared importance, observed and expected by chance, over all other runs (of its block)."""
    csr, n_runs = weights.csr, weights.n_runs
    run, value = _shares(weights)
    order = np.argsort(-value, kind="stable")
    run, feature, value = run[order], csr.indices[order], value[order]

    # One block needs no grouping, which would cost a fifth of the whole.
    with_all = (
        minima_with_others(value)
        if block is None
        else minima_within_groups(value, block[run])
    )
    with_own_run = minima_within_groups(value, run)
    block_and_feature = (
        feature if block is None else block[run] * weights.n_features + feature
    )
    observed = np.bincount(run, minima_within_groups(value, block_and_feature), n_runs)
    expected = np.bincount(run, with_all - with_own_run, n_runs) / weights.n_features

    empty = np.diff(csr.indptr) == 0
    # Two empty runs are identical by definition: 1 to either sum.
    empties = empty.sum() if block is None else np.bincount(block, empty)[block]
    twins = np.where(empty, empties - 1.0, 0.0)
    return SharedImportance(np.asarray(observed + twins), np.asarray(expected + twins))


def _shares(weights: Weights) -> tuple[IntArray, FloatArray]:
    """The run of each importance that is not zero, and its share of those of the run."""
    run = _runs(weights)
    return run, scaled_to_one(np.abs(weights.csr.data), run, weights.n_runs)


def _runs(weights: Weights) -> IntArray:
    """The run of each importance that is not zero."""
    return np.repeat(np.arange(weights.n_runs), np.diff(weights.csr.indptr))


def importance_weighted(weights: Weights) -> float:
    """φ_iw of all runs."""
    shared, m = shared_importance(weights), weights.n_runs
    return float(corrected_share(*(total.sum() / (m * (m - 1)) for total in shared)))


def importance_weighted_without_each(weights: Weights) -> FloatArray:
    """φ_iw of the other runs, for each run."""
    shared, m = shared_importance(weights), weights.n_runs
    return corrected_share(
        *((total.sum() - 2 * total) / ((m - 1) * (m - 2)) for total in shared)
    )


def importance_weighted_within_pairs(weights: Weights) -> PairValues:
    """φ_iw within the pairs of runs (0, 1), (2, 3), …, with pseudo-values."""
    shared = shared_importance(weights, block=np.arange(weights.n_runs) // 2)
    # Both runs of a pair share the same.
    return pseudo_values(corrected_share, *(total[::2] for total in shared))


def corrected_share(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Return (A − C) / (1 − C) of what runs share and would share by chance."""
    # 1 − C vanishes only when all runs weight all features alike, or select none: they agree.
    room = 1 - expected
    trivial = room < 1e-12
    return np.where(trivial, 1.0, (observed - expected) / np.where(trivial, 1, room))


def is_trivial(weights: Weights) -> bool:
    """Whether no run gives importance to a feature, or each gives the same to all."""
    csr = weights.csr
    if csr.nnz == 0:
        return True
    if csr.nnz < weights.n_runs * weights.n_features:
        return False
    rows = np.abs(csr.data).reshape(weights.n_runs, weights.n_features)
    return bool((rows == rows[:, :1]).all())


IMPORTANCE_WEIGHTED = Measure(
    name="importance_weighted",
    kind="weights",
    evaluate=importance_weighted,
    leave_one_out=importance_weighted_without_each,
    within_pairs=importance_weighted_within_pairs,
    trivial=is_trivial,
    bounds=(-1.0, 1.0),
    bounds_for=correlation_bounds,
    properties=Properties(
        fully_defined=True,
        monotone=None,
        bounded=True,
        maximum=True,
        chance_corrected=True,
    ),
)


def importance_weighted_stability(importances: RunsLike) -> float:
    """Stability of the selected features weighted by their importance.

    Two runs agree to the extent that they give the same features the same share of the importance: features that are
    always selected but hardly important do not make a selection look stable.

    Parameters
    ----------
    importances : array-like or sparse matrix of shape (n_runs, n_features)
        The importance of each feature in each run, 0 where it is not selected. Signs are ignored, and each run is
        scaled to the same total.

    Returns
    -------
    stability : float
        At most 1, reached when all runs distribute their importance equally; at least −1/(n_runs − 1); 0 is expected
        of random selections.

    Notes
    -----
    φ_iw of [1]_, equation (6), at a cost of O(nnz log nnz) for any number of runs. With equal importances and
    equally many features in every run it is Kuncheva's index. A run that selects nothing shares nothing with the
    others, and everything with another such run.

    References
    ----------
    .. [1] Hamer, V. and Dupont, P. (2021). An importance weighted feature selection stability measure. JMLR 22.

    Examples
    --------
    >>> from skstab.metrics import importance_weighted_stability
    >>> importance_weighted_stability([[0.8, 0.2, 0.0, 0.0], [0.8, 0.0, 0.2, 0.0], [0.9, 0.0, 0.0, 0.1]])
    0.707...
    """
    return IMPORTANCE_WEIGHTED(importances, name="importances")


# -- correlated features in groups -------------------------------------------------------------------------------------


def _summed(weights: Weights, groups: ArrayLike | None) -> Weights:
    """Importances summed within groups, one column for each group."""
    if groups is None:
        return weights
    indicator = group_indicator(groups, weights.n_features)
    # Only the shares within a run matter, and sums of the largest floats would overflow.
    value = near_one(np.abs(weights.csr.data), _runs(weights), weights.n_runs)
    scaled = sparse.csr_array(
        (value, weights.csr.indices, weights.csr.indptr), shape=weights.csr.shape
    )
    return Weights(sparse.csr_array(scaled @ indicator))


def grouped_importance_measure(*, groups: ArrayLike | None = None) -> Measure:
    """Build the importance-weighted measure for groups of features."""
    return Measure(
        name="grouped_importance",
        kind="weights",
        evaluate=lambda weights: importance_weighted(_summed(weights, groups)),
        leave_one_out=lambda weights: importance_weighted_without_each(
            _summed(weights, groups)
        ),
        within_pairs=lambda weights: importance_weighted_within_pairs(
            _summed(weights, groups)
        ),
        trivial=lambda weights: is_trivial(_summed(weights, groups)),
        described_by=("groups",),
        bounds=(-1.0, 1.0),
        bounds_for=correlation_bounds,
        properties=Properties(
            fully_defined=True,
            monotone=None,
            bounded=True,
            maximum=False,
            chance_corrected=False,
        ),
    )


def grouped_importance_stability(importances: RunsLike, groups: ArrayLike) -> float:
    """Stability of the importance of groups of features, whichever of their features has it.

    Two runs agree to the extent that they give the same groups the same share of the importance: near-copies that take
    turns, or that share their importance differently in every run, do not make a selection look unstable.

    Parameters
    ----------
    importances : array-like or sparse matrix of shape (n_runs, n_features)
        The importance of each feature in each run, 0 where it is not selected. Signs are ignored, and each run is
        scaled to the same total.
    groups : array-like of shape (n_features,)
        A label for each feature: features of one group stand for each other. A feature that stands for itself alone
        has a label of its own.

    Returns
    -------
    stability : float
        At most 1, reached when all runs share out their importance among the groups alike; at least −1/(n_runs − 1).

    Notes
    -----
    :func:`importance_weighted_stability` of the importances summed within the groups, the combination that [1]_ leaves
    to future work. Of its properties, two remain: runs may select different numbers of features, and it is bounded. The
    maximum no longer means that the runs are identical, only that they agree about the groups. It is corrected for
    chance only where all groups have the same size: otherwise importances assigned to features at random score above 0,
    since large groups are hit more often. With a group for each feature it is the ungrouped measure.

    References
    ----------
    .. [1] Hamer, V. and Dupont, P. (2021). An importance weighted feature selection stability measure. JMLR 22.

    Examples
    --------
    The first two features are near-copies that take turns:

    >>> from skstab.metrics import grouped_importance_stability, importance_weighted_stability
    >>> importances = [[0.6, 0.0, 0.4, 0.0], [0.0, 0.6, 0.4, 0.0], [0.3, 0.3, 0.4, 0.0]]
    >>> importance_weighted_stability(importances)
    0.225...
    >>> round(grouped_importance_stability(importances, ["a", "a", "b", "c"]), 12)
    1.0
    """
    return grouped_importance_measure(groups=groups)(importances, name="importances")

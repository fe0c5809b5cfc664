"""Is the top ten the top ten: shares of the first k places, and confidence sets of ranks by a bootstrap of the runs.

The rank of a feature is that of its mean rank over infinitely many such runs. Which features come before which is
decided for all pairs at once (Mogstad, Romano, Shaikh and Wilhelm 2024): the largest difference of mean ranks, in
standard errors, that the bootstrap shows where there is none is the limit, and step by step pairs that exceed it are
decided and leave the comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtr, stdtrit

from skstab._checks import check_int, check_level
from skstab._matrices import other_ranks
from skstab._random import check_rng
from skstab._statistics import wilson_interval
from skstab._typing import BoolArray, FloatArray, IntArray

__all__ = ["rank_columns"]

_MOST_COMPARED = 10_000


def rank_columns(
    ranks: Any,
    selected: Any,
    k: int,
    *,
    confidence_level: float,
    n_resamples: int,
    random_state: Any,
) -> dict[str, Any]:
    """Columns of `Runs.ranks`."""
    m, d = ranks.shape
    check_int(k, "k", most=d)
    check_int(n_resamples, "n_resamples", least=10)
    level, rng = check_level(confidence_level), check_rng(random_state)
    ranks, selected, of_feature = _columns_once(ranks, selected)
    share = ((ranks <= k) & selected).mean(axis=0)[of_feature]
    share_low, share_high = wilson_interval(share, m, level)
    # Features with the same rank in every run can't be ordered, and need not be compared.
    distinct, column = np.unique(ranks, axis=1, return_inverse=True)
    column = column.ravel()[of_feature]
    n_alike = np.bincount(column)
    if len(n_alike) > _MOST_COMPARED:
        raise ValueError(
            f"ranks compare all pairs of at most {_MOST_COMPARED} features that any run tells apart, got "
            f"{len(n_alike)}: use fewer runs, or runs that select fewer features"
        )
    draws = rng.multinomial(m, np.full(m, 1 / m), size=n_resamples)
    before = _surely_before(distinct, draws, level)
    mean = distinct.mean(axis=0)[column]
    return {
        "mean_rank": mean,
        "top_k": share,
        "top_k_low": share_low,
        "top_k_high": share_high,
        "rank": 1 + np.searchsorted(np.sort(mean), mean - 1e-9),
        "rank_low": (1 + n_alike @ before)[column],
        "rank_high": (d - before @ n_alike)[column],
    }


def _columns_once(ranks: Any, selected: Any) -> tuple[FloatArray, BoolArray, IntArray]:
    """Dense tables in which features that no run used are one column, the last; and the column of each feature."""
    every = np.arange(ranks.shape[1])
    if not sparse.issparse(ranks):
        return ranks, selected, every
    used = np.union1d(ranks.indices, selected.indices)
    of_feature = np.full(len(every), len(used))
    of_feature[used] = np.arange(len(used))
    shown = np.append(used, np.setdiff1d(every, used)[:1])
    dense = ranks[:, shown].toarray()
    dense = np.where(dense > 0, dense, other_ranks(ranks)[:, None])
    return dense, selected[:, shown].toarray(), of_feature


def _surely_before(ranks: FloatArray, draws: IntArray, level: float) -> BoolArray:
    """[f, g]: whether the mean rank of f is less than that of g, all such statements together at this level."""
    m, d = ranks.shape
    mean = ranks.mean(axis=0)
    deviations = draws @ (ranks - mean) / m
    scatter = np.cov(ranks, rowvar=False, bias=True).reshape(d, d)
    variance = np.diag(scatter)
    spread = np.maximum(variance[:, None] + variance - 2 * scatter, 0.0)
    error = np.sqrt(spread / (m - 1))
    error[error < 1e-9] = 0.0  # the same difference in all runs
    distance = mean[None, :] - mean[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(distance > 0, distance / error, 0.0)
    # m runs that all agree do not show that others would: see `_most`.
    statistic = np.minimum(statistic, _most(m, level))
    before = np.zeros((d, d), dtype=bool)
    while True:
        largest = _largest(deviations, error, ~(before | before.T))
        decided = statistic > _limit(largest, m, level)
        if not (decided & ~before).any():
            return before
        before |= decided


def _most(m: int, level: float) -> float:
    """Largest statistic that m runs can show.

    With p the largest share of runs that could have the two features in the other order though none of m has, (1 − p)^m
    = 1 − level, the difference of mean ranks has at least the deviation 2√(p (1 − p)) of itself.
    """
    p = 1 - (1 - level) ** (1 / m)
    return float(np.sqrt(m / (p * (1 - p))) / 2)


def _largest(
    deviations: FloatArray, error: FloatArray, open_pairs: BoolArray
) -> FloatArray:
    """For each draw, the largest deviation of a difference of two mean ranks that are not decided, in its error."""
    largest = np.zeros(len(deviations))
    for feature in range(deviations.shape[1] - 1):
        others = np.arange(feature + 1, deviations.shape[1])
        others = others[open_pairs[feature, others] & (error[feature, others] > 0)]
        if others.size:
            gap = np.abs(deviations[:, [feature]] - deviations[:, others])
            largest = np.maximum(largest, (gap / error[feature, others]).max(axis=1))
    return largest


def _limit(largest: FloatArray, m: int, level: float) -> float:
    """Quantile of the largest deviations, widened as Student's t is against the normal distribution.

    It is at least that of a single pair: where runs do not vary, a bootstrap of them says nothing.
    """
    normal = float(np.quantile(largest, level))
    widened = stdtrit(m - 1, ndtr(min(normal, 8.0)))
    return float(max(widened, stdtrit(m - 1, (1 + level) / 2)))

"""A measure of rankings that weights the top: the Canberra distance with a location parameter."""

from __future__ import annotations

from math import log

import numpy as np

from skstab._checks import is_int
from skstab._matrices import other_ranks
from skstab._typing import FloatArray, IntArray, RunsLike
from skstab.metrics._measure import Measure, Properties, pairwise
from skstab.metrics._tables import Weights

_BLOCK_ENTRIES = 2**20


def random_distance(n_features: int, location: int) -> float:
    """Distance expected of two random rankings, approximately: χ of hamer2021 (5)."""
    d, k = n_features, location
    return ((k + 1) * (2 * d - k) * log(4) - (2 * k * d + 3 * d - k - k * k)) / d


# Two features ranked in opposite order: no other rankings score lower, since χ grows with d and with the location.
_LOWEST = 1 - (2 / 3) / random_distance(2, 2)


def canberra_row_sums(rankings: Weights, location: int | None) -> FloatArray:
    """Sum of a run's similarities, 1 − distance / χ, with all the others."""
    from scipy.spatial.distance import cdist

    ranks, n_alike, chance = _located(rankings, location)
    step = max(1, _BLOCK_ENTRIES // rankings.n_runs)
    blocks = [ranks[start : start + step] for start in range(0, rankings.n_runs, step)]
    distance = np.concatenate(
        [cdist(block, ranks, "canberra", w=n_alike).sum(axis=1) for block in blocks]
    )
    return (rankings.n_runs - 1) - distance / chance


def canberra_similarity(
    rankings: Weights, first: IntArray, second: IntArray, location: int | None
) -> FloatArray:
    """Similarity of each first run with its second."""
    ranks, n_alike, chance = _located(rankings, location)
    a, b = ranks[first], ranks[second]
    return np.asarray(1 - np.abs(a - b) / (a + b) @ n_alike / chance)


def _located(
    rankings: Weights, location: int | None
) -> tuple[FloatArray, FloatArray, float]:
    """Ranks, those beyond the location as one place below it; of how many features each column is; χ."""
    d = rankings.n_features
    k = d if location is None else location
    if k > d:
        raise ValueError(
            f"location must be at most the number of features {d}, got {k}"
        )
    ranks, n_alike = _columns_once(rankings)
    return np.minimum(ranks, k + 1), n_alike, random_distance(d, k)


def _columns_once(rankings: Weights) -> tuple[FloatArray, FloatArray]:
    """Dense ranks, those of features without any of their own in one column; and of how many features each is."""
    if not rankings.is_sparse:
        return rankings.matrix, np.ones(rankings.n_features)
    table = rankings.matrix
    ranked, place = np.unique(table.indices, return_inverse=True)
    dense = np.repeat(other_ranks(table)[:, None], len(ranked) + 1, axis=1)
    dense[np.repeat(np.arange(rankings.n_runs), np.diff(table.indptr)), place] = (
        table.data
    )
    return dense, np.append(np.ones(len(ranked)), rankings.n_features - len(ranked))


def canberra_measure(*, location: int | None = None) -> Measure:
    """Build the Canberra measure for a location."""
    if location is not None and not is_int(location, 1):
        raise ValueError(
            f"location must be None or an int of at least 1, got {location!r}"
        )
    return pairwise(
        lambda rankings: canberra_row_sums(rankings, location),
        similarity=lambda rankings, first, second: canberra_similarity(
            rankings, first, second, location
        ),
        name="canberra",
        kind="ranking",
        trivial=lambda rankings: rankings.n_features == 1,
        bounds=(_LOWEST, 1.0),
        properties=Properties(
            fully_defined=True,
            monotone=None,
            bounded=True,
            maximum=True,
            chance_corrected=False,
        ),
    )


def canberra_stability(rankings: RunsLike, *, location: int | None = None) -> float:
    """Average agreement of two rankings by the Canberra distance, in which the top ranks count most.

    Parameters
    ----------
    rankings : array-like of shape (n_runs, n_features)
        The rank of each feature in each run, 1 for the best. In a sparse matrix the features of a run that have no
        entry share the mean of the ranks that are left.
    location : int, default=None
        How many ranks matter: those beyond it count as one place below it. None uses the whole ranking.

    Returns
    -------
    stability : float
        1 when all runs agree on the ranks up to `location`; about 0 for random rankings.

    Notes
    -----
    Equation (5) of [1]_. The correction for chance is an approximation for long rankings: for few features random
    rankings score below 0, far below for two or three features. Costs O(n_runs² n_features).

    References
    ----------
    .. [1] Jurman, G. et al. (2008). Algebraic stability indicators for ranked lists in molecular profiling.
       Bioinformatics 24.

    Examples
    --------
    >>> from skstab.metrics import canberra_stability
    >>> canberra_stability([[1, 2, 3, 4, 5], [1, 2, 3, 5, 4], [2, 1, 3, 4, 5]], location=2)
    0.479...
    """
    return canberra_measure(location=location)(rankings)

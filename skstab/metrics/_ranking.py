"""A measure of rankings that looks at the top: the Canberra distance with a location parameter."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from skstab.metrics._measure import Measure, Properties, pairwise
from skstab.metrics._tables import FloatArray, Weights

_BLOCK_ENTRIES = 2**20


def random_distance(n_features: int, location: int) -> float:
    """Distance expected of two random rankings, approximately: χ of hamer2021 (5)."""
    d, k = n_features, location
    return ((k + 1) * (2 * d - k) * log(4) - (2 * k * d + 3 * d - k - k * k)) / d


# Two features ranked in opposite order: no rankings score lower, since χ grows with d and with the location.
_LOWEST = 1 - (2 / 3) / random_distance(2, 2)


def canberra_row_sums(rankings: Weights, location: int | None) -> FloatArray:
    """Sum of a run's similarities, 1 − distance / χ, with all the others."""
    from scipy.spatial.distance import cdist

    d = rankings.n_features
    k = d if location is None else location
    if k > d:
        raise ValueError(f"location must be at most the number of features {d}, got {k}")
    ranks = np.minimum(rankings.matrix, k + 1)
    step = max(1, _BLOCK_ENTRIES // rankings.n_runs)
    blocks = [ranks[start : start + step] for start in range(0, rankings.n_runs, step)]
    distance = np.concatenate([cdist(block, ranks, "canberra").sum(axis=1) for block in blocks])
    return (rankings.n_runs - 1) - distance / random_distance(d, k)


def canberra_measure(*, location: int | None = None) -> Measure:
    """Build the Canberra measure for a location."""
    if location is not None and (
        isinstance(location, bool) or not isinstance(location, int | np.integer) or location < 1
    ):
        raise ValueError(f"location must be None or an int of at least 1, got {location!r}")
    return pairwise(
        lambda rankings: canberra_row_sums(rankings, location),
        name="canberra",
        kind="ranking",
        trivial=lambda rankings: rankings.n_features == 1,
        bounds=(_LOWEST, 1.0),
        properties=Properties(fully_defined=True, monotone=None, bounded=True, maximum=True, chance_corrected=False),
    )


def canberra_stability(rankings: Any, *, location: int | None = None) -> float:
    """Average agreement of two rankings by the Canberra distance, in which the top ranks count most.

    Parameters
    ----------
    rankings : array-like of shape (n_runs, n_features)
        The rank of each feature in each run, 1 for the best.
    location : int, default=None
        How many ranks matter: those beyond it count as one place below it. None takes the whole ranking.

    Returns
    -------
    stability : float
        1 when all runs agree on the ranks up to `location`; about 0 for random rankings.

    Notes
    -----
    Equation (5) of [1]_. The correction for chance is an approximation for long rankings: for few features random
    rankings score below 0, by much for two or three. Costs O(n_runs² n_features).

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

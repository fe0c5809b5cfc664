"""Feature by feature: what a set of runs says of each."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import ndtri
from sklearn.utils.sparsefuncs import mean_variance_axis


def summary_columns(supports: Any, importances: Any, sign_counts: Any) -> dict[str, Any]:
    """Columns of `StabilityCV.summary` that come from the runs."""
    frequency = frequencies(supports)
    low, high = wilson_interval(frequency, supports.shape[0])
    columns = {"frequency": frequency, "frequency_low": low, "frequency_high": high}
    if importances is not None:
        columns |= _spread_of(importances)
    if sign_counts is not None:
        weighted = sign_counts.sum(axis=0)
        share = sign_counts.max(axis=0) / np.maximum(weighted, 1)
        columns["sign_consistency"] = np.where(weighted > 0, share, np.nan)
    return columns


def frequencies(supports: Any) -> Any:
    """Share of the runs that selected each feature: one division, so that 3 of 5 are 0.6 in either form of table."""
    return np.asarray(supports.sum(axis=0)).ravel() / supports.shape[0]


def _spread_of(importances: Any) -> dict[str, Any]:
    n_runs = importances.shape[0]
    if issparse(importances):
        mean, variance = mean_variance_axis(importances, axis=0)
    else:
        mean, variance = importances.mean(axis=0), importances.var(axis=0)
    return {"importance_mean": mean, "importance_std": np.sqrt(variance * n_runs / (n_runs - 1))}


def wilson_interval(share: Any, n: int, level: float = 0.95) -> tuple[Any, Any]:
    """Wilson's interval of a binomial proportion."""
    z = ndtri((1 + level) / 2)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def ranks_of(importances: Any) -> Any:
    """Ranks of the features in each run, 1 for the most important; ties share their average."""
    from scipy.stats import rankdata

    dense = importances.toarray() if issparse(importances) else importances
    return rankdata(-dense, axis=1)

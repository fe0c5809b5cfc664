"""Feature by feature: what the runs say about each."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from skstab._matrices import sparse_ranks
from skstab._statistics import wilson_interval
from skstab.runs._rows import as_shown


def summary_columns(supports: Any, importances: Any, coefs: Any) -> dict[str, Any]:
    """Columns of `Runs.summary`."""
    frequency = share_of_runs(supports)
    low, high = wilson_interval(frequency, supports.shape[0])
    columns = {"frequency": frequency, "frequency_low": low, "frequency_high": high}
    if importances is not None:
        columns |= _mean_and_deviation(importances)
    if coefs is not None:
        positive, negative = (
            np.asarray((coefs > 0).sum(axis=0)).ravel(),
            np.asarray((coefs < 0).sum(axis=0)).ravel(),
        )
        weighted = positive + negative
        share = np.maximum(positive, negative) / np.maximum(weighted, 1)
        columns["sign_consistency"] = np.where(weighted > 0, share, np.nan)
    return columns


def share_of_runs(supports: Any) -> Any:
    """Share of the runs that selected each feature: one division, so that 3 of 5 are 0.6 in either form of table."""
    return np.asarray(supports.sum(axis=0)).ravel() / supports.shape[0]


def _mean_and_deviation(importances: Any) -> dict[str, Any]:
    n_runs = importances.shape[0]
    if issparse(importances):
        mean, variance = mean_variance_axis(importances, axis=0)
    else:
        mean, variance = importances.mean(axis=0), importances.var(axis=0)
    deviation = (
        np.sqrt(variance * n_runs / (n_runs - 1))
        if n_runs > 1
        else np.full(len(mean), np.nan)
    )
    return {"importance_mean": mean, "importance_std": deviation}


def ranks_of(importances: Any) -> Any:
    """Ranks of the features in each run, 1 for the most important; ties share their average.

    In a table that is too large to be shown features without an importance have no entry.
    """
    from scipy.stats import rankdata

    table = as_shown(importances)
    if not issparse(table):
        return rankdata(-table, axis=1)
    ranks = sparse_ranks(-table)
    of_zero = (table.shape[1] + 1) / 2 - ranks.mean(axis=1)
    ranks.data += np.repeat(of_zero, np.diff(ranks.indptr))
    return ranks

"""Tables of runs on which the jackknife is known to be too narrow: they alternate between two selections.

Where two features take turns half and half, the variance p(1−p) is at its maximum: to the first order the stability
does not change with p, and the influence of single runs, which is all that a jackknife sees, vanishes. With more than
one such alternation their errors add up to something closer to normal, and the jackknife covers again.
"""

from __future__ import annotations

import numpy as np

from skstab._typing import FloatArray
from skstab._warnings import warn_user
from skstab.metrics._frequency import Totals, totals, totals_without_each
from skstab.metrics._tables import Supports, Table

# Set by simulation, see benchmarks/intervals.py; below 8 runs Student's t makes up for it.
_LEAST_RUNS, _SHARE, _MOST_INFLUENCE = 8, 0.95, 6.0


def take_turns(supports: Supports) -> bool:
    """Whether the runs alternate between two selections, about as often one as the other."""
    m = supports.n_runs
    variation = float(_variation(totals(supports)))
    if (
        m < _LEAST_RUNS
        or variation == 0
        or _in_one_direction(supports) < _SHARE * variation
    ):
        return False
    left_out = _variation(totals_without_each(supports))
    error = np.sqrt((m - 1) / m * np.sum((left_out - left_out.mean()) ** 2))
    # The second-order term, which the influence of single runs leaves out, is of the order of Σ s_f² / M.
    return bool(error <= _MOST_INFLUENCE * variation / m)


def _variation(t: Totals) -> FloatArray:
    """Σ_f s_f² = (N M − Q) / (M (M−1)), the trace of the covariance of the selections."""
    return (t.selected * t.n_runs - t.squares) / (t.n_runs * (t.n_runs - 1))


def _in_one_direction(supports: Supports) -> float:
    """Variance along a direction that power iterations find: the largest eigenvalue where one stands out."""
    m = supports.n_runs
    mean = supports.counts / m
    farthest = np.argmax(
        supports.sizes - 2 * supports.per_run_sum(mean)
    )  # ‖z − μ‖² but for a constant
    direction = (
        supports.per_feature_sum((np.arange(m) == farthest).astype(np.float64)) - mean
    )
    for _ in range(3):
        direction = direction / np.linalg.norm(direction)
        along = (
            supports.per_run_sum(direction) - mean @ direction
        )  # the coordinate of each run, of mean 0
        direction = supports.per_feature_sum(along)
    return float(along @ along / (m - 1))


def warn_where_too_narrow(*tables: Table, what: str) -> None:
    """Warn, once, where the runs of one of the tables take turns; `what` says what that does and what to use."""
    if any(isinstance(table, Supports) and take_turns(table) for table in tables):
        warn_user(
            "nearly all variation between the runs is that of two features (or two sets of features) that take turns, "
            f"where {what}"
        )

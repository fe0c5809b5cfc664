"""Sums of the smaller of two values over all pairs, without pairs: sorted values need one pass.

In decreasing order, a value is the smaller one against all that come before it.
"""

from __future__ import annotations

import numpy as np

from skstab._typing import FloatArray, IntArray

__all__ = ["minima_with_others", "minima_within_groups", "near_one", "scaled_to_one"]


def scaled_to_one(value: FloatArray, run: IntArray, n_runs: int) -> FloatArray:
    """Divide importances, none of which is zero, by the sum of those of the same run."""
    value = near_one(value, run, n_runs)
    return np.asarray(value / np.bincount(run, value, n_runs)[run])


def near_one(value: FloatArray, run: IntArray, n_runs: int) -> FloatArray:
    """Importances times a power of two for each run, so that sums of the largest or smallest floats lose nothing."""
    peak = np.zeros(n_runs)
    np.maximum.at(peak, run, value)
    return np.asarray(np.ldexp(value, -np.frexp(peak)[1][run]))


def minima_with_others(value: FloatArray, start: IntArray | None = None) -> FloatArray:
    """Σ min(v, v') over the other values v' of the same segment, for values in decreasing order within each segment.

    `start` gives for each value the position where its segment starts (default: one segment).
    """
    position = np.arange(value.size)
    if start is None:
        start = np.zeros(value.size, dtype=np.int64)
    total = np.cumsum(value)
    last = (
        np.r_[start[1:] != start[:-1], True] if value.size else np.empty(0, dtype=bool)
    )
    ends = np.flatnonzero(last)
    end = np.repeat(ends, np.diff(np.r_[-1, ends]))
    # Larger values come before: the minimum is v itself; smaller values come after: their sum.
    return value * (position - start) + (total[end] - total)


def minima_within_groups(value: FloatArray, group: IntArray) -> FloatArray:
    """`minima_with_others` inside each group, for values in decreasing order."""
    # NumPy sorts 16-bit numbers by radix, in linear time.
    order = np.argsort(
        group.astype(np.min_scalar_type(group.max(initial=0))), kind="stable"
    )
    ranked = group[order]
    starts = (
        np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if value.size else ranked
    )
    start = np.repeat(starts, np.diff(np.r_[starts, value.size]))
    result = np.empty(value.size)
    result[order] = minima_with_others(value[order], start)
    return result

"""Rows that occur several times, as in bootstrap samples."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct_rows"]

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]


def distinct_rows(table: Floats) -> tuple[Indices, Indices]:
    """Places of rows that are all different, and how often each of them occurs."""
    # Sums of the bits of numbers times odd numbers wrap around, so that no rounding makes equal rows unequal.
    factors = np.random.default_rng(0).integers(
        2**63, size=table.shape[1], dtype=np.uint64
    ) | np.uint64(1)
    codes = table.view(np.uint64) @ factors
    _, first, which, counts = np.unique(
        codes, return_index=True, return_inverse=True, return_counts=True
    )
    repeated = (counts[which] > 1).nonzero()[0]
    if not np.array_equal(
        table[repeated], table[first[which[repeated]]]
    ):  # different rows may have the same sum
        return np.arange(len(table)), np.ones(len(table), dtype=np.intp)
    return first, counts

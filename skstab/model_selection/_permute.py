"""Targets with nothing to find: the same values, assigned to other rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from skstab._compat import take_rows
from skstab._typing import IntArray

__all__ = ["permuted_rows", "permuted_target"]


def permuted_target(y: Any, groups: Any, rng: np.random.RandomState) -> Any:
    """Return y with its values assigned to other rows; with groups, as they allow it."""
    return take_rows(y, permuted_rows(y, groups, rng))


def permuted_rows(y: Any, groups: Any, rng: np.random.RandomState) -> IntArray:
    """For each row, the row whose target it gets.

    Where all rows of a group have the same target (a patient with several samples), groups exchange their targets
    whole; otherwise rows exchange theirs within their group (block).
    """
    n_rows = len(y) if hasattr(y, "__len__") else y.shape[0]
    if groups is None:
        return rng.permutation(n_rows)
    _, first, group = np.unique(
        np.asarray(groups), return_index=True, return_inverse=True
    )
    if _is_constant_within(y, first, group):
        return np.asarray(first[rng.permutation(len(first))][group])
    rows = np.empty(n_rows, dtype=np.int64)
    by_group, shuffled = (
        np.lexsort((key, group))
        for key in (np.arange(n_rows), rng.random_sample(n_rows))
    )
    rows[by_group] = shuffled
    return rows


def _is_constant_within(y: Any, first: IntArray, group: IntArray) -> bool:
    values = np.asarray(y)
    same = values == values[first][group]
    return bool(np.all(same))

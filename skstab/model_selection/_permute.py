"""Targets with nothing to find: the same values, assigned to other rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from skstab._compat import take_rows
from skstab._typing import IntArray

__all__ = ["permuted_rows", "permuted_target"]

_LEAST_GROUPS = 10  # that exchange their targets


def permuted_target(y: Any, groups: Any, rng: np.random.RandomState) -> Any:
    """Return y with its values assigned to other rows; with groups, as they allow it."""
    return take_rows(y, permuted_rows(y, groups, rng))


def permuted_rows(y: Any, groups: Any, rng: np.random.RandomState) -> IntArray:
    """For each row, the row whose target it gets.

    Groups exchange their targets whole, and these are then shuffled within each group: what differs between groups and
    what differs within them are both assigned anew. Within groups alone, every association with what is constant in a
    group (sex, treatment) would be kept. Groups exchange with others of about their size: rows of a larger one are left
    out, those of a smaller one are taken again.
    """
    n_rows = len(y) if hasattr(y, "__len__") else y.shape[0]
    if groups is None:
        return rng.permutation(n_rows)
    group = np.unique(np.asarray(groups), return_inverse=True)[1]
    sizes = np.bincount(group)
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(sizes)[:-1])
    rows = np.empty(n_rows, dtype=np.int64)
    for alike in _of_similar_size(sizes):
        for own, donor in zip(alike, rng.permutation(alike), strict=True):
            rows[members[own]] = np.resize(rng.permutation(members[donor]), sizes[own])
    return rows


def _of_similar_size(sizes: IntArray) -> list[IntArray]:
    """Groups by their size: all of one size together, and with the next ones where they are few."""
    order = np.argsort(sizes, kind="stable")
    starts = [0]
    for place in np.flatnonzero(np.diff(sizes[order])) + 1:
        if place - starts[-1] >= _LEAST_GROUPS:
            starts.append(int(place))
    if len(order) - starts[-1] < _LEAST_GROUPS and len(starts) > 1:
        starts.pop()
    return np.split(order, starts[1:])

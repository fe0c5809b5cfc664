"""Clusters of features that count once: what a cluster selects, and which member stands for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skstab.feature_selection._walk import Step, Walk, walk

__all__ = ["cluster_codes", "cluster_walk", "representatives"]

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]


def cluster_codes(groups: Any, n_features: int) -> tuple[Any, Indices]:
    """Labels of the clusters in the order of their first features, and the number of the cluster of each feature."""
    if groups is None:
        return np.arange(n_features), np.arange(n_features)
    labels = np.asarray(groups)
    if labels.shape != (n_features,):
        raise ValueError(
            f"groups must be {n_features} labels, one for each feature, got shape {labels.shape}"
        )
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return labels[np.sort(first)], rank[codes.reshape(-1)]


def cluster_walk(
    path: Iterator[Step], q: int | None, codes: Indices
) -> tuple[Walk, list[Indices]]:
    """Walk where a cluster is in as soon as any of its members is, and the members that were in at each value."""
    n_clusters = int(codes.max(initial=-1)) + 1
    if n_clusters == len(codes):  # each feature is a cluster of its own
        one = walk(map(_in_order, path), q, n_clusters)
        return one, one.supports
    members: list[Indices] = []
    one = walk(_cluster_steps(path, codes, members), q, n_clusters)
    # Members of clusters that came too late for q do not count either.
    kept = [
        some[np.isin(codes[some], support)]
        for some, support in zip(members, one.supports, strict=False)
    ]
    return one, kept


def _in_order(step: Step) -> Step:
    """Each selected feature once: several outputs of an encoder are of one feature."""
    if (step.selected[1:] > step.selected[:-1]).all():
        return step
    return _once(step.selected, step.importances)


def _once(selected: Indices, importances: Floats | None) -> Step:
    """Every number once, with the largest of its importances."""
    found, place = np.unique(selected, return_inverse=True)
    if importances is None:
        return Step(found, None)
    largest = np.zeros(len(found))
    np.maximum.at(largest, place, importances)
    return Step(found, largest)


def _cluster_steps(
    path: Iterator[Step], codes: Indices, members: list[Indices]
) -> Iterator[Step]:
    for step in map(_in_order, path):
        members.append(step.selected)
        yield _once(codes[step.selected], step.importances)


def representatives(
    selected: NDArray[np.bool_], codes: Indices, scores: Floats
) -> NDArray[np.bool_]:
    """Of each selected cluster the member with the largest score, the first of equal ones."""
    order = np.lexsort([-scores, codes])
    _, first = np.unique(codes[order], return_index=True)
    mask = np.zeros(len(codes), dtype=bool)
    mask[order[first[selected]]] = True
    return mask

"""Changes of one feature that flip the decision of trees and their ensembles, from threshold to threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from skstab._compat import boosted_nodes
from skstab._typing import BoolArray, FloatArray, IntArray

__all__ = ["Trees", "first_tree_flips", "trees_of"]


_ROWS = 512  # rows of one batch
_CELLS_AT_ONCE = 8
_NONE = -1  # in place of a node, or of a feature

_TREES = (
    DecisionTreeClassifier,
    ExtraTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
)
_ENSEMBLES = (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)

# From rows, one feature of each, and the value that it is given, to whether the decision changes.
Flips = Callable[[IntArray, IntArray, FloatArray], BoolArray]


class Nodes(NamedTuple):
    """The nodes of a tree: rows whose feature is at most the threshold go left; leaves have -1 there."""

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray


class Trees(NamedTuple):
    """Trees on which alone a decision depends, and the precision in which they compare a feature with a threshold."""

    trees: list[Nodes]
    dtype: type[np.floating[Any]]


class _Cells(NamedTuple):
    """Where a row gets to when one of its features passes a threshold: how far that is, and a value beyond it."""

    row: IntArray
    feature: IntArray
    change: FloatArray
    value: FloatArray


def trees_of(model: Any) -> Trees | None:
    """Return the trees of a classifier or outlier detector of scikit-learn that decides by nothing else, or None."""
    # A class derived from these may decide in another way.
    if type(model) is HistGradientBoostingClassifier:
        nodes = boosted_nodes(model)
        return (
            None
            if nodes is None
            else Trees([Nodes(*columns) for columns in nodes], np.float64)
        )
    trees = _single_precision_trees(model)
    return None if trees is None else Trees(trees, np.float32)


def _single_precision_trees(model: Any) -> list[Nodes] | None:
    if type(model) in _TREES:
        return [_tree(model, np.arange(model.n_features_in_))]
    if type(model) not in _ENSEMBLES or not isinstance(
        getattr(model, "init_", "zero"), str | DummyClassifier
    ):
        return None
    parts = np.ravel(np.array(model.estimators_, dtype=object))
    if any(type(part) not in _TREES for part in parts):
        return None
    every = [np.arange(model.n_features_in_)] * len(parts)
    return [
        _tree(*pair)
        for pair in zip(
            parts, getattr(model, "estimators_features_", every), strict=True
        )
    ]


def _tree(model: Any, columns: NDArray[Any]) -> Nodes:
    """Read a tree that was fitted on some of the columns."""
    nodes = model.tree_
    feature = np.where(nodes.feature < 0, 0, columns[np.maximum(nodes.feature, 0)])
    # The largest number in single precision that goes left does so exactly.
    single = nodes.threshold.astype(np.float32)
    lower = np.nextafter(single, np.float32(-np.inf))
    return Nodes(
        feature,
        np.where(single > nodes.threshold, lower, single),
        nodes.children_left,
        nodes.children_right,
    )


def first_tree_flips(
    trees: Trees, X: Any, units: FloatArray, flips: Flips, limit: float
) -> FloatArray:
    """Return the smallest change of each feature of each row that flips the decision, infinite if none does.

    As a function of one feature a decision changes only at thresholds of nodes that split on it and that the row gets
    to for some value of it. One value between any two of them is tried, the nearest ones first.
    """
    changes = np.full(X.shape, np.inf)
    for start in range(0, X.shape[0], _ROWS):
        part = X[start : start + _ROWS]
        cells = _cells(trees, part.toarray() if issparse(part) else part, units, limit)
        for cell in _nearest_flips(cells, start, flips):
            changes[start + cell.row, cell.feature] = cell.change
    return changes


# -- thresholds on the way ---------------------------------------------------------------------------------------------


def _passed(tree: Nodes, X: NDArray[Any]) -> Iterator[tuple[IntArray, int, float]]:
    """Yield each node of a tree with the rows that get to it when its feature is changed, and none else."""
    # What keeps a row from the node: nothing, or conditions on one feature. Rows kept from it by two are dropped.
    stack = [(0, np.arange(len(X)), np.full(len(X), _NONE))]
    while stack:
        node, rows, broken = stack.pop()
        if tree.left[node] == _NONE:
            continue
        feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
        free = (broken == _NONE) | (broken == feature)
        yield rows[free], feature, threshold
        goes_left = X[rows, feature] <= threshold
        for child, holds in (
            (tree.left[node], goes_left),
            (tree.right[node], ~goes_left),
        ):
            gets = holds | free
            if gets.any():
                stack.append(
                    (int(child), rows[gets], np.where(holds, broken, feature)[gets])
                )


def _cells(trees: Trees, X: FloatArray, units: FloatArray, limit: float) -> _Cells:
    """Return the cells that each feature of each row can be moved into, sorted by row, feature and distance."""
    compared = X.astype(trees.dtype)
    nodes = [
        node
        for tree in trees.trees
        for node in _passed(tree, compared)
        if np.isfinite(node[2])
    ]
    if not nodes:
        return _Cells(
            *(np.zeros(0, dtype=kind) for kind in (np.intp, np.intp, float, float))
        )
    sizes = [len(rows) for rows, _, _ in nodes]
    row = np.concatenate([rows for rows, _, _ in nodes])
    feature = np.repeat([feature for _, feature, _ in nodes], sizes)
    threshold = np.repeat(
        np.array([threshold for _, _, threshold in nodes], dtype=trees.dtype), sizes
    )
    order = np.lexsort((threshold, feature, row))
    row, feature, threshold = row[order], feature[order], threshold[order]
    new = _differs(row, feature) | np.append(True, threshold[1:] != threshold[:-1])
    return _moves(X, compared, units, limit, row[new], feature[new], threshold[new])


def _moves(
    X: FloatArray,
    compared: NDArray[Any],
    units: FloatArray,
    limit: float,
    row: IntArray,
    feature: IntArray,
    threshold: NDArray[Any],
) -> _Cells:
    """Return the cell beyond each threshold: its own value is in the one below, the next threshold in the one above."""
    last = np.append(_differs(row, feature)[1:], True)
    above = np.where(
        last, np.nextafter(threshold, np.inf), np.append(threshold[1:], np.inf)
    )
    up = compared[row, feature] <= threshold
    distance = np.abs(threshold - X[row, feature])
    with np.errstate(divide="ignore", invalid="ignore"):
        change = distance / units[feature]
    cells = _Cells(row, feature, change, np.where(up, above, threshold).astype(float))
    near = np.flatnonzero((units[feature] > 0) & (change <= limit))
    near = near[np.lexsort((change[near], feature[near], row[near]))]
    return _take(cells, near)


def _nearest_flips(cells: _Cells, start: int, flips: Flips) -> Iterator[_Cells]:
    """Yield the cells in which a decision first changes; a few of each row and feature are tried at once."""
    while cells.row.size:
        first = np.flatnonzero(_differs(cells.row, cells.feature))
        pair = np.repeat(
            np.arange(len(first)), np.diff(np.append(first, len(cells.row)))
        )
        near = np.arange(len(pair)) - first[pair] < _CELLS_AT_ONCE
        tried = _take(cells, np.flatnonzero(near))
        hits = np.flatnonzero(flips(start + tried.row, tried.feature, tried.value))
        flipped, places = np.unique(pair[near][hits], return_index=True)
        yield _take(tried, hits[places])
        cells = _take(cells, np.flatnonzero(~near & ~np.isin(pair, flipped)))


def _differs(row: IntArray, feature: IntArray) -> BoolArray:
    """Whether the row or the feature is another one than before."""
    return np.append(True, (row[1:] != row[:-1]) | (feature[1:] != feature[:-1]))


def _take(cells: _Cells, which: IntArray) -> _Cells:
    return _Cells._make(column[which] for column in cells)

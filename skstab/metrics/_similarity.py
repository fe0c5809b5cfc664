"""Which features can stand for each other: a similarity as it is given, and the links where it reaches a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from skstab._checks import is_number, naming
from skstab._matrices import group_codes
from skstab._typing import FloatArray, IntArray


@dataclass(frozen=True)
class Links:
    """The similar pairs of features, in both directions and sorted by the first feature.

    `rank` orders them by falling similarity, ties by the order of the columns, alike in both directions; the links of
    feature f are those from `starts[f]` to `starts[f + 1]`.
    """

    n_features: int
    one: IntArray
    other: IntArray
    similarity: FloatArray
    rank: IntArray

    @property
    def size(self) -> int:
        """Number of links, both directions counted."""
        return self.one.size

    @cached_property
    def degrees(self) -> IntArray:
        """Number of similar features of each feature."""
        return np.asarray(
            np.bincount(self.one, minlength=self.n_features), dtype=np.int64
        )

    @cached_property
    def starts(self) -> IntArray:
        """Where the links of each feature start."""
        return np.concatenate([[0], np.cumsum(self.degrees)])

    @cached_property
    def matrix(self) -> Any:
        """The similarities as a CSR array, zero wherever there is no link."""
        shape = (self.n_features, self.n_features)
        return sparse.csr_array((self.similarity, self.other, self.starts), shape=shape)

    def with_loops(self) -> Links:
        """Return these links, and one of each linked feature with itself, which comes first at both of its ends."""
        linked = np.flatnonzero(self.degrees)
        one, other = (
            np.concatenate([self.one, linked]),
            np.concatenate([self.other, linked]),
        )
        similarity = np.concatenate([self.similarity, np.ones(linked.size)])
        rank = np.concatenate([self.rank + linked.size, np.arange(linked.size)])
        order = np.lexsort((other, one))
        return Links(
            self.n_features, one[order], other[order], similarity[order], rank[order]
        )


def no_links(n_features: int) -> Links:
    """Return the links of features that stand for themselves alone."""
    nothing = np.empty(0, dtype=np.int64)
    return Links(n_features, nothing, nothing, np.empty(0), nothing)


def find_links(similarity: Any, threshold: float) -> Links:
    """Return the pairs of features whose similarity reaches the threshold."""
    matrix = check_closeness(similarity)
    low, high, value = _upper_entries(matrix, threshold)
    value = np.minimum(value, 1.0)  # correlations of copies exceed 1 by rounding
    rank = np.empty(value.size, dtype=np.int64)
    rank[np.lexsort((high, low, -value))] = np.arange(value.size)
    one, other = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort((other, one))
    return Links(
        matrix.shape[0],
        one[order],
        other[order],
        np.tile(value, 2)[order],
        np.tile(rank, 2)[order],
    )


def _upper_entries(
    matrix: Any, threshold: float
) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows, columns and values above the diagonal that reach the threshold."""
    if not sparse.issparse(matrix):
        low, high = np.nonzero(np.triu(matrix >= threshold, k=1))
        return low, high, np.asarray(matrix[low, high], dtype=np.float64)
    upper = sparse.triu(matrix, k=1, format="coo")
    reached = upper.data >= threshold
    low, high = (index[reached].astype(np.int64) for index in upper.coords)
    return low, high, upper.data[reached].astype(np.float64)


def check_threshold(threshold: float) -> float:
    """Validate the similarity from which on features stand for each other."""
    if not is_number(threshold, above=0, most=1):
        raise ValueError(
            f"threshold must be a number above 0 and at most 1, got {threshold!r}"
        )
    return float(threshold)


def check_similarity(similarity: Any, n_features: int | None = None) -> Any:
    """Validate a similarity of features and return it as an ndarray or a CSR array."""
    with naming("similarity"):
        matrix = (
            sparse.csr_array(similarity)
            if sparse.issparse(similarity)
            else np.asarray(similarity)
        )
    if matrix.dtype.kind not in "buif":
        raise ValueError(f"similarity must be numeric, got dtype {matrix.dtype}")
    matrix = matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)
    d = n_features if n_features is not None else max(matrix.shape, default=0)
    require_shape(matrix.shape, d)
    values = _values(matrix)
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            "similarity must be finite and not negative: use absolute correlations"
        )
    if matrix.size and abs(matrix - matrix.T).max() > 1e-8 * values.max(initial=0.0):
        raise ValueError("similarity must be symmetric")
    return matrix


def check_closeness(similarity: Any) -> Any:
    """Validate a similarity that is 1 for features that stand for each other in full."""
    matrix = check_similarity(similarity)
    if _values(matrix).max(initial=0.0) > 1 + 1e-8:
        raise ValueError("similarity must be at most 1: use absolute correlations")
    return matrix


def require_shape(shape: tuple[int, ...], n_features: int) -> None:
    """Raise where a similarity is not one of so many features."""
    if shape != (n_features, n_features):
        wanted = f"({n_features}, {n_features}), one row and column for each feature"
        raise ValueError(f"similarity must be of shape {wanted}, got {shape}")


def _values(matrix: Any) -> Any:
    return matrix.data if sparse.issparse(matrix) else matrix


def group_indicator(groups: ArrayLike, n_features: int) -> Any:
    """Return the CSR matrix of features × groups that is 1 where a feature belongs to a group."""
    names, group = group_codes(groups, n_features)
    return sparse.csr_array(
        (np.ones(n_features), (np.arange(n_features), group)),
        shape=(n_features, names.size),
    )

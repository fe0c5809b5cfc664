"""ReliefF and RReliefF: scores of features that may be informative only in combination.

Both are one weighted sum, over pairs of near rows, of how much the two rows differ in each feature. The two methods
differ in the weight of a pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse, triu
from sklearn.metrics import pairwise_distances_chunked
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import inplace_column_scale

from skstab._checks import is_int
from skstab._statistics import column_ranges
from skstab._typing import FloatArray, IntArray, MatrixLike
from skstab.feature_selection._filters import Target, read_data

__all__ = ["relieff"]


_BATCH = 2**16  # differences computed at a time: they stay in the cache
_SPARSE_PAIRS = 2**10  # pairs of sparse rows at a time


def relieff(
    X: MatrixLike, y: ArrayLike, *, n_neighbors: int = 10, target: Target = "auto"
) -> FloatArray:
    """Score features by how well they separate near rows of different classes: ReliefF, and RReliefF for numbers.

    A feature gains where a row differs from its nearest neighbours in other classes (misses), and loses where it
    differs from those in its own (hits). Neighbours are found in all features, so features that are informative only
    in combination score well, too.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Numeric features. Discrete ones of more than two values should be one-hot encoded.
    y : array-like of shape (n_samples,)
        Classes (ReliefF), or numbers (RReliefF).
    n_neighbors : int, default=10
        Number of nearest hits, and of nearest misses in each other class, of each row; for numbers, of nearest rows.
        If there are fewer, all of them are used.
    target : {"auto", "classes", "numeric"}, default="auto"
        The kind of y. "auto" uses scikit-learn's `type_of_target`, which treats integers as classes: set "numeric" if
        they are counts or grades.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Between −1 and 1; about 0 or below for uninformative features. Constant features get the lowest score of
        all.

    Notes
    -----
    Every row is a reference once, all neighbours have the same weight, misses are weighted by the frequency of their
    class, and differences are relative to the range of the feature. Distances are sums of these differences. Among
    equally distant rows the first ones are used. The cost is that of one brute-force search of neighbours.

    References
    ----------
    Kononenko, Estimating attributes: analysis and extensions of RELIEF, ECML 1994. Robnik-Šikonja and Kononenko,
    Theoretical and empirical analysis of ReliefF and RReliefF, Machine Learning 2003.

    Examples
    --------
    The class is whether the first two features agree. Neither is informative alone:

    >>> import numpy as np
    >>> from skstab.feature_selection import relieff
    >>> X = np.random.default_rng(0).integers(0, 2, size=(200, 5))
    >>> y = X[:, 0] ^ X[:, 1]
    >>> np.argsort(-relieff(X, y))[:2]
    array([1, 0])
    """
    if not is_int(n_neighbors, 1):
        raise ValueError(
            f"n_neighbors must be an integer of at least 1, got {n_neighbors!r}"
        )
    data, labels, n_classes = read_data(X, y, target)
    scaled, is_constant = _unit_ranges(data)
    k = min(n_neighbors, scaled.shape[0])
    weights = (
        _class_weights(scaled, labels, k)
        if n_classes
        else _numeric_weights(scaled, labels, k)
    )
    scores = _weighted_differences(scaled, weights)
    scores[is_constant] = scores.min()
    return scores


def _unit_ranges(X: Any) -> tuple[Any, NDArray[np.bool_]]:
    """Scale features to a range of 1, and find the constant ones."""
    low, high = column_ranges(X)
    width = np.where(high > low, high - low, 1.0)
    if not issparse(X):
        scaled = X - low
        scaled /= width
        return scaled, low == high
    X = _short_indices(X.tocsr(copy=True))
    inplace_column_scale(X, 1 / width)
    return X, low == high


def _short_indices(X: Any) -> Any:
    """Store 32-bit indices, which scikit-learn's distances need."""
    if max(X.nnz, *X.shape) >= 2**31:
        raise ValueError(
            f"X must have fewer than 2**31 rows, columns and entries, got {X.nnz} entries in {X.shape}"
        )
    X.indices, X.indptr = (
        X.indices.astype(np.int32, copy=False),
        X.indptr.astype(np.int32, copy=False),
    )
    return X


def _class_weights(X: Any, codes: IntArray, k: int) -> csr_array:
    """Weights of the pairs in ReliefF: hits lower the score, misses raise it by the share of their class."""
    counts = np.bincount(codes)
    share = counts / len(codes)
    own = np.eye(len(counts), dtype=bool)
    found = np.minimum(k, counts - own)  # for a row of one class, neighbours in another
    signed = np.where(own, -1.0, share / (1 - share[:, None]))
    weight = signed / np.maximum(found, 1) / len(codes)
    rows, near = _neighbours(X, codes, k)
    return csr_array(
        (weight[codes[rows], codes[near]], (rows, near)), shape=(len(codes), len(codes))
    )


def _numeric_weights(X: Any, y: FloatArray, k: int) -> csr_array:
    """Weights of the pairs in RReliefF: P(differs | target differs) − P(differs | target agrees)."""
    n = len(y)
    rows, near = _neighbours(X, np.zeros(n, dtype=int), k)
    differs = np.abs(y[rows] - y[near]) / np.ptp(y)
    agrees = 1 - differs
    weight = _shares(differs) - _shares(agrees)
    return csr_array((weight, (rows, near)), shape=(n, n))


def _shares(values: FloatArray) -> FloatArray:
    total = values.sum()
    return values / total if total > 0 else values


def _neighbours(X: Any, codes: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """Pair each row with its k nearest other rows in each class, or all where there are fewer."""
    members = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]

    def nearest(distances: FloatArray, start: int) -> IntArray:
        own = np.arange(len(distances))
        distances[own, start + own] = np.inf
        near = [
            m[np.argsort(distances[:, m], axis=1, kind="stable")[:, :k]]
            for m in members
        ]
        return np.concatenate(near, axis=1)

    chunks = pairwise_distances_chunked(X, metric="manhattan", reduce_func=nearest)
    near = np.concatenate(list(chunks))
    rows = np.broadcast_to(np.arange(len(near))[:, None], near.shape)
    # A row comes last among its own class, so it is its own neighbour only where there are too few others.
    others = near != rows
    return rows[others], near[others]


def _weighted_differences(X: Any, weights: csr_array) -> FloatArray:
    """Sum the weighted absolute differences of pairs of rows, feature by feature."""
    pairs = triu(weights + weights.T, k=1, format="coo")
    first, second = pairs.coords
    scores = np.zeros(X.shape[1])
    size = _SPARSE_PAIRS if issparse(X) else max(1, _BATCH // X.shape[1])
    for batch in gen_batches(pairs.nnz, size):
        differences = X[first[batch]]
        differences -= X[second[batch]]
        scores += pairs.data[batch] @ abs(differences)
    return scores

"""Clusters of features that carry the same information, from correlations in blocks."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_array

from skstab._checks import check_number, is_choice, naming
from skstab._typing import FloatArray, IndexArray, IntArray, MatrixLike

__all__ = ["check_columns", "feature_clusters", "pair_correlations"]

_CELLS = 2**22  # correlations that are in memory together
_ROUNDING = 1e-10
_APART = 2.0  # a distance above every 1 − |r|


def feature_clusters(
    X: MatrixLike,
    *,
    threshold: float = 0.9,
    similarity: Literal["pearson", "spearman", "precomputed"] = "pearson",
) -> IntArray:
    """Clusters of features that can stand for each other.

    Complete linkage: every two features of a cluster have an absolute correlation of at least `threshold`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data; with `similarity="precomputed"`, similarities of shape (n_features, n_features) from 0 to 1.
    threshold : float, default=0.9
        The least similarity within a cluster, above 0 and at most 1.
    similarity : {"pearson", "spearman", "precomputed"}, default="pearson"
        The absolute correlation of the values or of their ranks, or that `X` holds the similarities.

    Returns
    -------
    labels : ndarray of shape (n_features,)
        The number of the cluster of each feature, numbered from 0 in the order of their first features. A feature that
        is similar to no other one, or constant, is a cluster of its own. They serve as `clusters` of
        :func:`feature_report` and `groups` of :func:`instability_shares`, :meth:`skstab.runs.Runs.stability`,
        :class:`~skstab.feature_selection.StabilitySelection` and the measures with groups.

    Notes
    -----
    Correlations are computed in blocks, and only those that reach the threshold are kept: no matrix of all pairs is in
    memory. Features of different connected components of the graph of these pairs are in different clusters, so that
    linkage within each component gives the same clusters as linkage of all features. A component of m features takes
    m (m − 1) / 2 numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.inspection import feature_clusters
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 3))
    >>> feature_clusters(np.column_stack([X, -X[:, 0] + 0.1 * rng.standard_normal(100)]))
    array([0, 1, 2, 0])
    """
    check_number(
        threshold, "threshold", "a number above 0 and at most 1", above=0, most=1
    )
    if is_choice(similarity, "precomputed"):
        links = _links_of(X, threshold)
    elif is_choice(similarity, "pearson", "spearman"):
        links = _correlated(_standardised(X, ranks=similarity == "spearman"), threshold)
    else:
        raise ValueError(
            f"similarity must be 'pearson', 'spearman' or 'precomputed', got {similarity!r}"
        )
    return _linked(links)


# -- links -------------------------------------------------------------------------------------------------------------


def _standardised(
    X: MatrixLike, *, ranks: bool = False, dtype: Any = np.float64
) -> FloatArray:
    """Columns of mean 0 and length 1; constant ones are 0."""
    with naming("X"):
        values = check_array(
            X, accept_sparse=True, dtype=dtype, ensure_min_samples=2, input_name="X"
        )
    values = values.toarray() if sparse.issparse(values) else values
    if ranks:
        from scipy.stats import rankdata

        values = rankdata(values, axis=0)
    centred = values - values.mean(axis=0)
    length = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    constant = length <= 1e-12 * np.abs(values).max(axis=0, initial=0.0) * np.sqrt(
        len(values)
    )
    return np.asarray(
        np.where(constant, 0.0, centred / np.where(constant, 1.0, length))
    )


def _correlated(columns: FloatArray, threshold: float) -> Any:
    """Sparse upper triangle of the absolute correlations that reach the threshold."""
    n = columns.shape[1]
    step, parts = max(1, _CELLS // n), []
    for start in range(0, n, step):
        block = np.abs(columns[:, start : start + step].T @ columns[:, start:])
        low, high = np.nonzero(np.triu(block >= threshold - _ROUNDING, k=1))
        parts.append((block[low, high], low + start, high + start))
    values, low, high = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return sparse.coo_array((values, (low, high)), shape=(n, n))


def _links_of(similarity: MatrixLike, threshold: float) -> Any:
    """The same of similarities that are given."""
    with naming("similarity"):
        matrix = check_array(
            similarity, accept_sparse="csr", dtype=np.float64, input_name="similarity"
        )
    values = matrix.data if sparse.issparse(matrix) else matrix
    if matrix.shape[0] != matrix.shape[1] or abs(matrix - matrix.T).max() > 1e-8:
        raise ValueError(
            f"similarities must be a symmetric square matrix, got one of shape {matrix.shape}"
        )
    if values.size and (values.min() < 0 or values.max() > 1 + 1e-8):
        raise ValueError("similarities must be from 0 to 1: use absolute correlations")
    upper = sparse.triu(matrix, k=1, format="coo")
    reached = upper.data >= threshold - _ROUNDING
    return sparse.coo_array(
        (upper.data[reached], (upper.row[reached], upper.col[reached])),
        shape=matrix.shape,
    )


# -- linkage -----------------------------------------------------------------------------------------------------------


def _linked(links: Any) -> IntArray:
    """Labels by complete linkage within the connected components of the links."""
    n_components, component = connected_components(links, directed=False)
    sizes = np.bincount(component, minlength=n_components)
    place = (
        np.argsort(np.argsort(component, kind="stable"), kind="stable")
        - (np.cumsum(sizes) - sizes)[component]
    )
    within, order = (
        component[links.row],
        np.argsort(component[links.row], kind="stable"),
    )
    ends = np.cumsum(np.bincount(within, minlength=n_components))
    label = component * (links.shape[0] + 1)  # room for the clusters of each component
    for number in np.flatnonzero(sizes > 2):
        own = order[ends[number - 1] if number else 0 : ends[number]]
        members = np.flatnonzero(component == number)
        label[members] += _complete_linkage(
            place[links.row[own]], place[links.col[own]], links.data[own], len(members)
        )
    return _numbered(label)


def _complete_linkage(
    low: IndexArray, high: IndexArray, similarity: FloatArray, n: int
) -> Any:
    """Cut the tree of n features where two clusters hold a pair that is not linked."""
    from scipy.cluster.hierarchy import fcluster, linkage

    condensed = np.full(n * (n - 1) // 2, _APART)
    condensed[n * low - low * (low + 1) // 2 + high - low - 1] = 1 - np.minimum(
        similarity, 1.0
    )
    return fcluster(
        linkage(condensed, "complete"), (1 + _APART) / 2, criterion="distance"
    )


def _numbered(labels: Any) -> IntArray:
    """Number labels from 0 in the order in which they first occur."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[codes], dtype=np.int64)


# -- correlations of some pairs ----------------------------------------------------------------------------------------


def check_columns(X: MatrixLike, n_features: int) -> None:
    """Check that X has a column for each feature."""
    with naming("X"):
        shape = getattr(X, "shape", None) or np.shape(X)
    if len(shape) != 2 or shape[1] != n_features:
        raise ValueError(
            f"X must have one column for each of the {n_features} features, got shape {tuple(shape)}"
        )


def pair_correlations(X: MatrixLike, one: IndexArray, other: IndexArray) -> FloatArray:
    """Correlations of pairs of columns; NaN where one of them is constant."""
    columns, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    if not columns.size:
        return np.empty(0)
    values = _standardised(_some_columns(X, columns))
    first, second = place[: one.size], place[one.size :]
    step = max(1, _CELLS // len(values))
    blocks = [slice(start, start + step) for start in range(0, one.size, step)]
    parts = [
        np.einsum("ij,ij->j", values[:, first[block]], values[:, second[block]])
        for block in blocks
    ]
    constant = np.asarray(~values.any(axis=0))
    return np.where(
        constant[first] | constant[second],
        np.nan,
        np.clip(np.concatenate(parts), -1, 1),
    )


def _some_columns(X: Any, columns: IndexArray) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, columns]
    rows = X.tocsc() if sparse.issparse(X) else np.asarray(X)
    return rows[:, columns]

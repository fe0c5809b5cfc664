"""Tables of runs × features, as they are given and as they are kept: an ndarray or a canonical CSR array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skstab._checks import naming

__all__ = [
    "as_masks", "as_weights", "group_codes", "other_ranks", "read_only", "sparse_ranks",
    "sum_groups", "with_entries_once",
]  # fmt: skip

_FROM_LISTS = "lists of selected features go through skstab.runs.Runs.from_sets or skstab.metrics.supports_from_sets"


def as_masks(data: Any, name: str, *, least_runs: int = 2) -> Any:
    """Validate a table of 0/1: a boolean array, or CSR without explicit zeros."""
    matrix = _check_matrix(data, name, least_runs)
    return (
        _sparse_mask(matrix, name) if sparse.issparse(matrix) else _mask(matrix, name)
    )


def as_weights(data: Any, name: str, *, least_runs: int = 2) -> Any:
    """Validate a table of finite numbers: a float64 array, or CSR without explicit zeros."""
    with np.errstate(
        over="ignore"
    ):  # a wider type may hold numbers that are infinite as float64
        matrix = _check_matrix(data, name, least_runs).astype(np.float64, copy=False)
    values = matrix.data if sparse.issparse(matrix) else matrix
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, got NaN or infinite values")
    if sparse.issparse(matrix) and not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def _check_matrix(data: Any, name: str, least_runs: int) -> Any:
    """Return `data` as a numeric matrix, an ndarray or a canonical CSR array."""
    matrix = _canonical_csr(data) if sparse.issparse(data) else _dense(data, name)
    if matrix.ndim != 2:
        raise ValueError(
            f"{name} must be two-dimensional (runs × features), got {matrix.ndim} dimension(s)"
        )
    if matrix.dtype.kind not in "buif":
        hint = f"; {_FROM_LISTS}" if matrix.dtype.kind in "US" else ""
        raise ValueError(
            f"{name} must be numeric or boolean, got dtype {matrix.dtype}{hint}"
        )
    if matrix.shape[1] == 0:
        raise ValueError(f"{name} must have at least one feature (column), got none")
    if matrix.shape[0] < least_runs:
        raise ValueError(
            f"{name} must have at least {least_runs} runs (rows) to compare, got {matrix.shape[0]}"
        )
    return matrix


def _canonical_csr(data: Any) -> Any:
    if data.dtype.kind in "iu" and not getattr(data, "has_canonical_format", True):
        data = data.astype(np.float64)  # sums of duplicates do not wrap around
    return with_entries_once(sparse.csr_array(data)) if data.ndim == 2 else data


def with_entries_once(X: Any) -> Any:
    """X with its entries in order and each of them once, if it is sparse: SciPy would see to that in place."""
    if not sparse.issparse(X) or getattr(X, "has_canonical_format", True):
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def _dense(data: Any, name: str) -> NDArray[Any]:
    if hasattr(data, "sparse") and hasattr(
        data, "dtypes"
    ):  # pandas with sparse columns
        data = data.sparse.to_dense() if _all_sparse(data) else data
    try:
        array = np.asarray(data)
        return array.astype(np.float64) if array.dtype == object else array
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be a matrix of numbers, runs × features ({_FROM_LISTS}): {error}"
        ) from error


def _all_sparse(frame: Any) -> bool:
    return all(hasattr(dtype, "fill_value") for dtype in frame.dtypes)


def _mask(matrix: NDArray[Any], name: str) -> NDArray[np.bool_]:
    if matrix.dtype == bool:
        return matrix
    # Zeros and ones have no other bit; two passes over the table instead of four.
    if matrix.dtype.kind in "iu" and np.bitwise_or.reduce(matrix, axis=None) in (0, 1):
        return matrix.astype(bool)
    mask: NDArray[np.bool_] = matrix == 1
    if np.count_nonzero(matrix != 0) != np.count_nonzero(mask):
        raise _not_binary(matrix[(matrix != 0) & ~mask], name)
    return mask


def _sparse_mask(csr: Any, name: str) -> Any:
    if csr.data.all() and (csr.dtype == bool or (csr.data == 1).all()):
        return csr
    wrong = csr.data[(csr.data != 0) & (csr.data != 1)]
    if wrong.size:
        raise _not_binary(wrong, name)
    csr = csr.copy()
    csr.eliminate_zeros()
    return csr


def _not_binary(wrong: NDArray[Any], name: str) -> ValueError:
    return ValueError(
        f"{name} must hold only 0/1 or booleans, got {wrong[0]!s}; the support of weights is `weights != 0`"
    )


def read_only(value: Any) -> Any:
    """Return views that cannot be written to of an array, a CSR array or those in a dict; anything else as it is."""
    if isinstance(value, dict):
        return {name: read_only(part) for name, part in value.items()}
    if sparse.issparse(value):
        parts = tuple(map(read_only, (value.data, value.indices, value.indptr)))
        return sparse.csr_array(parts, shape=value.shape, copy=False)
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


# -- groups of columns -------------------------------------------------------------------------------------------------


def group_codes(
    groups: Any, n_features: int, name: str = "groups"
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the labels in the order of their first features, and the number of each feature's label."""
    with naming(name):
        labels = np.asarray(groups)
    if labels.shape != (n_features,):
        raise ValueError(
            f"{name} must have one label for each of the {n_features} features, got shape {labels.shape}"
        )
    with naming(name):
        names, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return names[order], np.argsort(order)[codes]


def sum_groups(table: Any, codes: NDArray[np.intp]) -> Any:
    """Sum the columns of each group, in a table of floats of the same form."""
    shape = (codes.size, int(codes.max()) + 1)
    indicator = sparse.csr_array(
        (np.ones(codes.size), (np.arange(codes.size), codes)), shape=shape
    )
    return table.astype(np.float64) @ indicator


# -- ranks -------------------------------------------------------------------------------------------------------------


def sparse_ranks(matrix: Any) -> Any:
    """Average ranks within each row less the rank of its zeros: sparse again, and no correlation changes."""
    n_runs, d = matrix.shape
    lengths = np.diff(matrix.indptr)
    run = np.repeat(np.arange(n_runs), lengths)
    order = np.lexsort(
        (matrix.data, run)
    )  # rows are contiguous, so each stays in its place
    values = matrix.data[order]
    place = _tied_places(run, values) - matrix.indptr[:-1][run] + 1.0
    zeros = (d - lengths).astype(np.float64)
    negatives = np.bincount(run, values < 0, n_runs)
    # A row without zeros has no rank of them: the middle rank is used, which is also that of an all-zero row.
    middle = np.where(zeros > 0, negatives + (zeros + 1) / 2, (d + 1) / 2)
    centred = place + np.where(values > 0, zeros[run], 0.0) - middle[run]
    ranks = np.empty(values.size)
    ranks[order] = centred
    return sparse.csr_array((ranks, matrix.indices, matrix.indptr), shape=(n_runs, d))


def _tied_places(run: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Average position, in the whole array, of the entries tied with each one."""
    if not values.size:
        return np.empty(0)
    starts = np.flatnonzero(
        np.r_[True, (run[1:] != run[:-1]) | (values[1:] != values[:-1])]
    )
    lengths = np.diff(np.r_[starts, values.size])
    return np.repeat(starts + (lengths - 1) / 2, lengths)


def other_ranks(ranks: Any) -> NDArray[np.float64]:
    """Return the rank that those share which have none in a sparse table: the mean of those that are left."""
    n_features = ranks.shape[1]
    n_others = n_features - np.diff(ranks.indptr)
    total = n_features * (n_features + 1) / 2
    left: NDArray[np.float64] = (total - ranks.sum(axis=1)) / np.maximum(n_others, 1)
    return np.where(n_others > 0, left, 1.0)

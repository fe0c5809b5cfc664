"""Statistics of columns and of shares."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array, issparse
from scipy.special import ndtri
from sklearn.utils import check_array
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from skstab._compat import take_columns
from skstab._matrices import with_entries_once
from skstab._typing import FloatArray, IntArray

__all__ = ["column_deviations", "column_ranges", "numbers_of", "wilson_interval"]

_BATCH = 2**20  # numbers that may be copied at a time


def wilson_interval(share: Any, n: int, level: float = 0.95) -> tuple[Any, Any]:
    """Wilson's interval of a binomial proportion."""
    z = ndtri((1 + level) / 2)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def numbers_of(X: Any) -> Any:
    """The array of a data frame whose columns are all floats of one type; None of other tables."""
    dtypes: Any = getattr(X, "dtypes", None)
    if not hasattr(dtypes, "unique"):
        return None
    kinds = dtypes.unique()
    is_float = (
        len(kinds) == 1 and isinstance(kinds[0], np.dtype) and kinds[0].kind == "f"
    )
    return X.to_numpy() if is_float else None


def column_deviations(X: Any, columns: Any = slice(None)) -> FloatArray:
    """Standard deviations of some columns of an array, a sparse matrix or a table."""
    if hasattr(X, "columns"):
        numbers = numbers_of(X)
        if numbers is None:  # other columns need not be numbers
            X, columns = take_columns(X, columns), slice(None)
        else:
            X = numbers
    if not (
        isinstance(X, np.ndarray) and X.dtype.kind == "f"
    ):  # the usual case needs no check
        X = check_array(X, accept_sparse=("csr", "csc"), ensure_all_finite=False)
    # As many rows at a time, and in the same order, whichever columns: then so are the last digits.
    batch = max(1, _BATCH // X.shape[1])
    found = _deviations(_in_same_order(X, columns), batch)
    if not isinstance(columns, slice):
        X, found = X[:, columns], found[: len(columns)]
    # Their squares were too large for floats, or too small for all of their digits.
    extreme = np.flatnonzero(~((found > 1e-140) & (found < np.inf)))
    if extreme.size:
        scaled, powers = _scaled_columns(X[:, extreme])
        found[extreme] = np.ldexp(_deviations(scaled, batch), powers)
    return found


def _in_same_order(X: Any, columns: Any) -> Any:
    """Some columns of a table, in memory like the whole."""
    if isinstance(columns, slice) or issparse(X) or X.shape[1] == 1:
        return X[:, columns]
    # NumPy adds a single column in another order than several.
    several = columns if len(columns) != 1 else np.repeat(columns, 2)
    if X.flags.c_contiguous:
        return X.take(several, axis=1)
    return np.asfortranarray(X[:, several])


def _deviations(X: Any, batch: int) -> FloatArray:
    if issparse(X):
        return np.asarray(np.sqrt(mean_variance_axis(X, axis=0)[1]))
    mean, squares = X.mean(axis=0, dtype=float), np.zeros(X.shape[1])
    for start in range(0, X.shape[0], batch):
        centred = X[start : start + batch] - mean
        squares += np.einsum("ij,ij->j", centred, centred)
    return np.asarray(np.sqrt(squares / X.shape[0]))


def _scaled_columns(X: Any) -> tuple[Any, IntArray]:
    """Columns divided by powers of two so that their values are at most 1, and these powers."""
    powers = np.frexp(np.maximum(*map(np.abs, column_ranges(X))))[1]
    if not issparse(X):
        return np.ldexp(X, -powers), powers
    scaled = csc_array(X, dtype=np.float64)
    scaled.data = np.ldexp(scaled.data, -np.repeat(powers, np.diff(scaled.indptr)))
    return scaled, powers


def column_ranges(X: Any) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each column of an array or a sparse matrix."""
    if issparse(X):
        low, high = min_max_axis(with_entries_once(X), axis=0)
        return low, high
    return X.min(axis=0), X.max(axis=0)

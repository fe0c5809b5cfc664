"""What a set of runs chose, as a table: one row a run, one column a feature."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]


class Table(Protocol):
    """Runs × features, validated; measures compute on it."""

    @property
    def n_runs(self) -> int:
        """Number of runs (rows)."""
        ...

    @property
    def n_features(self) -> int:
        """Number of features (columns)."""
        ...

    def take(self, runs: IntArray) -> Self:
        """Return the table of these runs."""
        ...


class _Matrix:
    """A dense or CSR matrix with the shape spelled in the words of the domain."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    @property
    def n_runs(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def is_sparse(self) -> bool:
        return bool(sparse.issparse(self.matrix))

    def take(self, runs: IntArray) -> Self:
        return type(self)(self.matrix[runs])


class Supports(_Matrix):
    """Which features each run selected: a boolean array, or CSR without explicit zeros.

    Sizes and counts are read from whichever of the two forms was given; the CSR form is made once, when a
    measure needs to go through the selected entries.
    """

    @cached_property
    def sizes(self) -> IntArray:
        """Number of features in each run, k_i."""
        if self.is_sparse:
            return np.asarray(np.diff(self.matrix.indptr), dtype=np.int64)
        return np.asarray(np.count_nonzero(self.matrix, axis=1), dtype=np.int64)

    @cached_property
    def counts(self) -> IntArray:
        """Number of runs that selected each feature, M p_f."""
        if self.is_sparse:
            return np.asarray(np.bincount(self.matrix.indices, minlength=self.n_features), dtype=np.int64)
        # Bytes add up many times faster than 64-bit numbers, and 255 ones are the most that fit.
        ones = self.matrix.view(np.uint8)
        sums = [ones[start : start + 255].sum(axis=0, dtype=np.uint8) for start in range(0, self.n_runs, 255)]
        return np.asarray(np.sum(sums, axis=0, dtype=np.int64))

    @cached_property
    def csr(self) -> Any:
        """The table as CSR of float ones, ready for exact products of counts."""
        csr = self.matrix if self.is_sparse else sparse.csr_array(self.matrix)
        ones = np.ones(csr.indices.size)
        return sparse.csr_array((ones, csr.indices, csr.indptr), shape=csr.shape)

    def per_run_sum(self, per_feature: NDArray[Any]) -> FloatArray:
        """Sum a value of each feature over the features of each run."""
        return np.asarray(self.csr @ per_feature, dtype=np.float64)

    @property
    def is_constant_size(self) -> bool:
        """Whether all runs selected the same number of features."""
        return bool(self.sizes.min() == self.sizes.max())

    @property
    def is_trivial(self) -> bool:
        """Whether nothing, or everything, was selected by every run."""
        total = int(self.counts.sum())
        return total in (0, self.n_runs * self.n_features)


class Weights(_Matrix):
    """A real number for each feature in each run: float64, dense or CSR without explicit zeros."""

    @cached_property
    def csr(self) -> Any:
        return self.matrix if self.is_sparse else sparse.csr_array(self.matrix)


def check_supports(data: Any, *, name: str = "supports") -> Supports:
    """Validate a table of 0/1 and return it as `Supports`."""
    matrix = _check_matrix(data, name, hint="a list of sets goes through supports_from_sets")
    return Supports(_sparse_mask(matrix, name) if sparse.issparse(matrix) else _mask(matrix, name))


def check_weights(data: Any, *, name: str = "weights") -> Weights:
    """Validate a table of finite numbers and return it as `Weights`."""
    matrix = _check_matrix(data, name)
    values = matrix.data if sparse.issparse(matrix) else matrix
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, got NaN or infinite values")
    matrix = matrix.astype(np.float64, copy=False)
    if sparse.issparse(matrix) and not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return Weights(matrix)


def check_rankings(data: Any, *, name: str = "rankings") -> Weights:
    """Validate a table of ranks, 1 for the best feature, and return it as dense `Weights`."""
    table = check_weights(data, name=name)
    if table.is_sparse:
        raise TypeError(f"{name} must be dense: every feature has a rank, got a sparse matrix")
    if table.matrix.min() < 1 or table.matrix.max() > table.n_features:
        raise ValueError(
            f"{name} must hold ranks from 1 (the best feature) to the number of features "
            f"{table.n_features}, got values from {table.matrix.min():g} to {table.matrix.max():g}"
        )
    return table


CHECKS: dict[str, Callable[..., Table]] = {
    "subset": check_supports,
    "weights": check_weights,
    "ranking": check_rankings,
}


def _check_matrix(data: Any, name: str, hint: str = "") -> Any:
    """Return `data` as a numeric matrix, an ndarray or a canonical CSR array, of at least 2 runs."""
    matrix = _canonical_csr(data) if sparse.issparse(data) else _dense(data, name, hint)
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be two-dimensional (runs × features), got {matrix.ndim} dimension(s)")
    if matrix.dtype.kind not in "buif":
        raise ValueError(f"{name} must be numeric or boolean, got dtype {matrix.dtype}")
    if matrix.shape[1] == 0:
        raise ValueError(f"{name} must have at least one feature (column), got none")
    if matrix.shape[0] < 2:
        raise ValueError(f"{name} must have at least 2 runs (rows) to compare, got {matrix.shape[0]}")
    return matrix


def _canonical_csr(data: Any) -> Any:
    csr = sparse.csr_array(data) if data.ndim == 2 else data
    if data.ndim == 2 and not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def _dense(data: Any, name: str, hint: str) -> NDArray[Any]:
    if hasattr(data, "sparse") and hasattr(data, "dtypes"):  # pandas with sparse columns
        data = data.sparse.to_dense() if _all_sparse(data) else data
    try:
        array = np.asarray(data)
        return array.astype(np.float64) if array.dtype == object else array
    except (TypeError, ValueError) as error:
        expected = f"a matrix of numbers, runs × features{f' ({hint})' if hint else ''}"
        raise ValueError(f"{name} must be {expected}: {error}") from error


def _all_sparse(frame: Any) -> bool:
    return all(hasattr(dtype, "fill_value") for dtype in frame.dtypes)


def _mask(matrix: NDArray[Any], name: str) -> NDArray[np.bool_]:
    if matrix.dtype == bool:
        return matrix
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


def supports_from_sets(sets: Iterable[Iterable[Hashable]], features: Sequence[Hashable] | int) -> Any:
    """Table of supports from lists of selected features.

    Parameters
    ----------
    sets : iterable of iterables
        What each run selected: names out of `features`, or column indices when `features` is a number.
        A name that stands twice in one list counts once.
    features : sequence of names or int
        All the features that could have been selected, in the order of the columns; or how many there are.
        It matters: agreement of the same lists means more when there was more to choose from.

    Returns
    -------
    supports : scipy.sparse.csr_array of bool, shape (n_runs, n_features)
        Accepted by every measure of `skstab.metrics`.

    Examples
    --------
    >>> from skstab.metrics import jaccard_stability, supports_from_sets
    >>> lists = [{"TP53", "BRCA1"}, {"TP53", "MYC"}]
    >>> supports = supports_from_sets(lists, ["BRCA1", "EGFR", "MYC", "TP53"])
    >>> supports.toarray().astype(int)
    array([[1, 0, 0, 1],
           [0, 0, 1, 1]])
    >>> jaccard_stability(supports)
    0.333...
    """
    column, n_features = _columns(features)
    rows = [_row(selected, column, run) for run, selected in enumerate(sets)]
    indptr = np.cumsum([0, *(len(row) for row in rows)])
    indices = np.concatenate([*rows, np.empty(0, dtype=np.int64)]).astype(np.int64)
    return sparse.csr_array((np.ones(indices.size, dtype=bool), indices, indptr), shape=(len(rows), n_features))


def _columns(features: Sequence[Hashable] | int) -> tuple[dict[Hashable, int], int]:
    if isinstance(features, str):
        raise TypeError("features must be a sequence of names or a number, got a single string")
    if isinstance(features, int | np.integer):
        return {index: index for index in range(int(features))}, int(features)
    names = list(features)
    column = {name: index for index, name in enumerate(names)}
    if len(column) != len(names):
        repeated = next(name for index, name in enumerate(names) if column[name] != index)
        raise ValueError(f"features must be distinct, got {repeated!r} more than once")
    return column, len(names)


def _row(selected: Iterable[Hashable], column: dict[Hashable, int], run: int) -> list[int]:
    if isinstance(selected, str):
        raise TypeError(f"sets[{run}] must be a set of features, got the string {selected!r}")
    try:
        return sorted({column[feature] for feature in selected})
    except KeyError as error:
        raise ValueError(f"sets[{run}] holds {error.args[0]!r}, which is not in features") from None

"""What a set of runs chose, as a table: one row per run, one column per feature."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skstab._checks import is_int, naming
from skstab._matrices import as_masks, as_weights, other_ranks
from skstab._typing import FloatArray, IntArray

_AT_ONCE = 2**15  # entries of a dense table that are turned into floats at a time


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
    """A dense or CSR matrix whose shape is named by runs and features."""

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
    measure iterates over the selected entries.
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
            return np.asarray(
                np.bincount(self.matrix.indices, minlength=self.n_features),
                dtype=np.int64,
            )
        # Bytes are summed many times faster than 64-bit numbers, and hold counts up to 255.
        ones = self.matrix.view(np.uint8)
        sums = [
            ones[start : start + 255].sum(axis=0, dtype=np.uint8)
            for start in range(0, self.n_runs, 255)
        ]
        return np.asarray(np.sum(sums, axis=0, dtype=np.int64))

    @cached_property
    def csr(self) -> Any:
        """The table as CSR of float ones, ready for exact products of counts."""
        csr = self.matrix if self.is_sparse else sparse.csr_array(self.matrix)
        ones = np.ones(csr.indices.size)
        return sparse.csr_array((ones, csr.indices, csr.indptr), shape=csr.shape)

    def per_run_sum(self, per_feature: NDArray[Any]) -> FloatArray:
        """Sum a value of each feature over the features of each run."""
        values = np.asarray(per_feature, dtype=np.float64)
        if self.is_sparse:
            return np.asarray(self.csr @ values)
        return np.concatenate(
            [self.matrix[runs] @ values for runs in self._some_at_a_time()]
        )

    def per_feature_sum(self, per_run: FloatArray) -> FloatArray:
        """Sum a value of each run over the runs that selected each feature."""
        if self.is_sparse:
            return np.asarray(self.csr.T @ per_run)
        return np.asarray(
            sum(per_run[runs] @ self.matrix[runs] for runs in self._some_at_a_time())
        )

    def _some_at_a_time(self) -> Iterator[slice]:
        """Runs whose entries may become floats, which take eight times the memory, together."""
        step = max(1, _AT_ONCE // self.n_features)
        return (slice(start, start + step) for start in range(0, self.n_runs, step))

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
    return Supports(as_masks(data, name))


def check_weights(data: Any, *, name: str = "weights") -> Weights:
    """Validate a table of finite numbers and return it as `Weights`."""
    return Weights(as_weights(data, name))


def check_rankings(data: Any, *, name: str = "rankings") -> Weights:
    """Validate a table of ranks, 1 for the best feature; in CSR those without one share the mean of what is left."""
    table = check_weights(data, name=name)
    ranks = (
        np.append(table.matrix.data, other_ranks(table.matrix))
        if table.is_sparse
        else table.matrix
    )
    if ranks.min() < 1 or ranks.max() > table.n_features:
        raise ValueError(
            f"{name} must hold ranks from 1 (the best feature) to the number of features "
            f"{table.n_features}, got values from {ranks.min():g} to {ranks.max():g}"
        )
    return table


CHECKS: dict[str, Callable[..., Table]] = {
    "subset": check_supports,
    "weights": check_weights,
    "ranking": check_rankings,
}


def supports_from_sets(
    sets: Iterable[Iterable[Hashable]], features: Sequence[Hashable] | int
) -> Any:
    """Table of supports from lists of selected features.

    Parameters
    ----------
    sets : iterable of iterables
        What each run selected: names out of `features` or, when `features` is a number, either column indices or text
        names. A name that occurs twice in one list counts once.
    features : sequence of names or int
        All the features that could have been selected, in the order of the columns; or how many there are. In that
        case text names are collected from the lists and sorted; more names than features are an error. The number
        matters: the same lists are more stable when there were more features to choose from.

    Returns
    -------
    supports : scipy.sparse.csr_array of bool, shape (n_runs, n_features)
        Accepted by every measure of `skstab.metrics`.

    See Also
    --------
    skstab.runs.Runs.from_sets : The same with the names of the features kept.

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
    with naming("sets"):
        lists = [_listed(selected, run) for run, selected in enumerate(_iterable(sets))]
    column, n_features = _columns(lists, features)
    rows = [_row(selected, column, run) for run, selected in enumerate(lists)]
    indptr = np.cumsum([0, *(len(row) for row in rows)])
    indices = np.concatenate([*rows, np.empty(0, dtype=np.int64)]).astype(np.int64)
    return sparse.csr_array(
        (np.ones(indices.size, dtype=bool), indices, indptr),
        shape=(len(rows), n_features),
    )


def _iterable(sets: Any) -> Iterable[Any]:
    if isinstance(sets, str) or not isinstance(sets, Iterable):
        raise TypeError(f"sets must be an iterable of sets of features, got {sets!r}")
    return sets


def _listed(selected: Any, run: int) -> list[Hashable]:
    if isinstance(selected, str):
        raise TypeError(
            f"sets[{run}] must be a set of features, got the string {selected!r}"
        )
    if not isinstance(selected, Iterable):
        raise TypeError(f"sets[{run}] must be a set of features, got {selected!r}")
    return list(selected)


def _columns(
    lists: list[list[Hashable]], features: Sequence[Hashable] | int
) -> tuple[dict[Hashable, int], int]:
    """Column of each feature, and the number of columns."""
    if is_int(features):
        return _numbered(lists, int(features)), int(features)
    if isinstance(features, str) or not isinstance(features, Iterable):
        raise TypeError(
            f"features must be a sequence of names or a number, got {features!r}"
        )
    with naming("features"):
        names = list(features)
        column = {name: index for index, name in enumerate(names)}
    if len(column) != len(names):
        repeated = next(
            name for index, name in enumerate(names) if column[name] != index
        )
        raise ValueError(f"features must be distinct, got {repeated!r} more than once")
    return column, len(names)


def _numbered(lists: list[list[Hashable]], n_features: int) -> dict[Hashable, int]:
    """Column of each index, or of each text name that occurs, in the order of the names."""
    if not is_int(n_features, 0, 2**31 - 1):
        raise ValueError(
            f"features must be a number of at least 0 and below 2**31, got {n_features}"
        )
    names = {name for selected in lists for name in selected if isinstance(name, str)}
    if not names:
        return {index: index for index in range(n_features)}
    if len(names) > n_features:
        raise ValueError(
            f"features must be at least {len(names)}, the number of different names in sets: {n_features}"
        )
    return {name: index for index, name in enumerate(sorted(names))}


def _row(selected: list[Hashable], column: dict[Hashable, int], run: int) -> list[int]:
    try:
        return sorted({column[feature] for feature in selected})
    except KeyError as error:
        raise ValueError(
            f"sets[{run}] holds {error.args[0]!r}, which is not in features"
        ) from None
    except TypeError as error:
        raise TypeError(
            f"sets[{run}] must hold names or indices of features: {error}"
        ) from None

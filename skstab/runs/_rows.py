"""Tables of runs × features put together from rows, in the form that takes less memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from skstab._checks import is_int

Made = TypeVar("Made")

_FEW = 256  # entries of a row for which bits are not worth while
_SHOWN = 10**8  # cells of the largest table that is shown as an ndarray

__all__ = [
    "Row",
    "Tables",
    "as_shown",
    "check_width",
    "in_one_form",
    "shows",
    "stack_rows",
    "stack_tables",
]


class Row(NamedTuple):
    """The entries of a row that are not zero."""

    places: (
        Any  # their indices; where that is smaller, one bit for each entry of the row
    )
    data: Any  # their values; None where all are True
    size: int

    @classmethod
    def of(cls, dense: Any, like: Row | None = None) -> Row:
        """Keep the entries of a dense row that are not zero; their places are those of another row if these agree."""
        size = int(np.count_nonzero(dense))
        if like is not None and like.size == size:
            values = dense[like.indices]
            if np.count_nonzero(values) == size:
                return cls(like.places, values, size)
        mask = dense != 0
        indices = np.flatnonzero(mask).astype(
            np.int32
        )  # of bools, which is several times as fast
        places = np.packbits(mask) if 32 * size > len(dense) >= _FEW else indices
        return cls(places, None if dense.dtype == bool else dense[indices], size)

    @property
    def indices(self) -> Any:
        """Where the entries are."""
        if self.places.dtype != np.uint8:
            return self.places
        return np.flatnonzero(np.unpackbits(self.places).view(bool)).astype(np.int32)

    @property
    def values(self) -> Any:
        """What they are."""
        return np.ones(self.size, dtype=bool) if self.data is None else self.data


class Tables(NamedTuple):
    """The tables of runs, all ndarrays or all CSR arrays; None for those that the runs do not have."""

    supports: Any
    importances: Any
    coefs: Any


def as_shown(table: Any) -> Any:
    """Return a table as users see it: an ndarray whatever its values, CSR only where it is very large."""
    if not sparse.issparse(table) or np.prod(table.shape, dtype=float) > _SHOWN:
        return table
    dense = table.toarray()
    dense.flags.writeable = False  # what is written into a copy would be lost
    return dense


def shows(*names: str) -> Callable[[type[Made]], type[Made]]:
    """Decorate a class whose tables of these names are kept in any form and looked at as users see them."""

    def decorated(kind: type[Made]) -> type[Made]:
        for name in names:
            doc = f"Table of the {name}: an ndarray, or CSR if it is very large."
            setattr(kind, name, property(partial(_shown, name), doc=doc))
        return kind

    return decorated


def _shown(name: str, kept: Any) -> Any:
    return as_shown(vars(kept)[name])


def check_width(n_features: Any, rows: Sequence[Row]) -> None:
    """Check that rows have no entry beyond their width, which CSR would not notice and crash on."""
    least = max((int(row.indices[-1]) + 1 for row in rows if row.size), default=1)
    if not is_int(n_features, least, 2**31 - 1):
        raise ValueError(
            f"n_features must be the number of features, an int of at least {least}, got {n_features!r}"
        )


def stack_rows(
    columns: Sequence[tuple[Sequence[Row | None], Any]], n_features: int
) -> tuple[Any, ...]:
    """Put rows of given types together to tables that are all dense or all CSR, in the form that takes less memory.

    None where a row is missing.
    """
    tables: list[Any] = [
        None if any(row is None for row in rows) else rows for rows, _ in columns
    ]
    types = [np.dtype(dtype) for _, dtype in columns]
    known = [
        (rows, dtype.itemsize)
        for rows, dtype in zip(tables, types, strict=True)
        if rows is not None
    ]
    dense = sum(size * len(rows) * n_features for rows, size in known)
    csr = sum(
        sum((size + 4) * row.size for row in rows) + 4 * len(rows) + 4
        for rows, size in known
    )
    stack = _stack_dense if csr >= dense else _stack_csr
    listed = zip(tables, types, strict=True)
    return tuple(
        None if rows is None else stack(rows, n_features, dtype)
        for rows, dtype in listed
    )


def _stack_dense(rows: Sequence[Any], n_features: int, dtype: Any) -> Any:
    table = np.zeros((len(rows), n_features), dtype=dtype)
    for line, row in zip(table, rows, strict=True):
        line[row.indices] = row.values
    return table


def _stack_csr(rows: Sequence[Any], n_features: int, dtype: Any) -> Any:
    indptr = np.cumsum([0, *(row.size for row in rows)])
    indices = np.concatenate([row.indices for row in rows])
    values = np.concatenate([row.values for row in rows]).astype(dtype, copy=False)
    return _csr(values, indices, indptr, (len(rows), n_features))


def stack_tables(tables: Sequence[Any]) -> Any:
    """Put tables one below the other as CSR; None where one of them is missing."""
    if any(table is None for table in tables):
        return None
    return sparse.vstack([sparse.csr_array(table) for table in tables], format="csr")


def in_one_form(first: Any, *others: Any, best: bool = False) -> tuple[Any, ...]:
    """Return tables of one shape all dense or all CSR: in the form of the first, or in the smaller one.

    None stays None. Explicit zeros of CSR are dropped and indices have the width that the shape needs.
    """
    tables = (first, *others)
    dense = (
        _is_smaller_dense([table for table in tables if table is not None])
        if best
        else not sparse.issparse(first)
    )
    form = _dense if dense else _sparse
    return tuple(None if table is None else form(table) for table in tables)


def _is_smaller_dense(tables: Sequence[Any]) -> bool:
    dense = sum(table.dtype.itemsize * int(np.prod(table.shape)) for table in tables)
    csrs = [_sparse(table) for table in tables]
    return bool(
        sum(csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes for csr in csrs)
        >= dense
    )


def _dense(table: Any) -> Any:
    return table.toarray() if sparse.issparse(table) else table


def _sparse(table: Any) -> Any:
    csr = sparse.csr_array(table)
    return _csr(csr.data, csr.indices, csr.indptr, csr.shape)


def _csr(values: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    width = np.int32 if max(len(values), *shape) < 2**31 else np.int64
    return sparse.csr_array(
        (values, indices.astype(width, copy=False), indptr.astype(width, copy=False)),
        shape=shape,
    )

"""Tables of runs × features put together from rows, in the form that takes less memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skstab._checks import is_int

__all__ = ["Row", "check_width", "in_one_form", "stack_rows", "stack_tables"]


class Row(NamedTuple):
    """The entries of a row that are not zero."""

    indices: Any
    values: Any

    @classmethod
    def of(cls, dense: Any) -> Row:
        """Keep the entries of a dense row that are not zero."""
        indices = np.flatnonzero(dense != 0).astype(np.int32)  # of bools, which is several times as fast
        return cls(indices, dense[indices])


def check_width(n_features: Any, rows: Sequence[Row]) -> None:
    """Check that rows have no entry beyond their width, which CSR would not notice and crash on."""
    least = max((int(row.indices.max()) + 1 for row in rows if len(row.indices)), default=1)
    if not is_int(n_features, least, 2**31 - 1):
        raise ValueError(f"n_features must be the number of features, an int of at least {least}, got {n_features!r}")


def stack_rows(rows: Sequence[Row | None], n_features: int, dtype: Any) -> Any:
    """Put rows together as CSR; None where one of them is missing."""
    if not rows:
        return sparse.csr_array((0, n_features), dtype=dtype)
    known = [row for row in rows if row is not None]
    if len(known) < len(rows):
        return None
    indptr = np.cumsum([0, *(len(row.indices) for row in known)])
    indices = np.concatenate([row.indices for row in known])
    values = np.concatenate([row.values for row in known]).astype(dtype, copy=False)
    return sparse.csr_array((values, indices, indptr), shape=(len(rows), n_features))


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
    dense = _is_smaller_dense([table for table in tables if table is not None]) if best else not sparse.issparse(first)
    form = _dense if dense else _sparse
    return tuple(None if table is None else form(table) for table in tables)


def _is_smaller_dense(tables: Sequence[Any]) -> bool:
    dense = sum(table.dtype.itemsize * int(np.prod(table.shape)) for table in tables)
    csrs = [_sparse(table) for table in tables]
    return bool(sum(csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes for csr in csrs) >= dense)


def _dense(table: Any) -> Any:
    return table.toarray() if sparse.issparse(table) else table


def _sparse(table: Any) -> Any:
    csr = sparse.csr_array(table)
    width = np.int32 if max(csr.nnz, *csr.shape) < 2**31 else np.int64
    indices, indptr = csr.indices.astype(width, copy=False), csr.indptr.astype(width, copy=False)
    return sparse.csr_array((csr.data, indices, indptr), shape=csr.shape)

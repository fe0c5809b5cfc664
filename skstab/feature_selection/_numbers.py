"""A table as finite numbers, for correlations: what is missing or not a number says nothing about them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

__all__ = ["numeric_table", "table_for_correlations"]

Floats: TypeAlias = NDArray[np.float64]


def table_for_correlations(X: Any) -> Any:
    """X as finite numbers: means in place of missing values, constant columns in place of text.

    A single missing value or a column of text, which a pipeline deals with, must not hide that features correlate.
    None for sparse tables that are not finite numbers.
    """
    table = numeric_table(X)
    if table is not None or issparse(X):
        return table
    return _without_gaps(_as_numbers(np.asarray(X)))


def numeric_table(X: Any) -> Any:
    """X as numbers, or None where it is not a table of finite ones."""
    if issparse(X):
        return (
            X.tocsc() if X.dtype.kind in "biuf" and np.isfinite(X.data).all() else None
        )
    table = np.asarray(X)
    return (
        table.astype(np.float64)
        if table.dtype.kind in "biuf" and np.isfinite(table).all()
        else None
    )


def _as_numbers(table: Any) -> Floats:
    if table.dtype.kind in "biuf":
        return np.asarray(table, dtype=np.float64)
    columns = pd.DataFrame(table).apply(pd.to_numeric, errors="coerce")
    return np.asarray(columns.to_numpy(dtype=np.float64, na_value=np.nan))


def _without_gaps(table: Floats) -> Floats:
    known = np.isfinite(table)
    n_known = np.maximum(known.sum(axis=0), 1)
    return np.where(known, table, np.where(known, table, 0.0).sum(axis=0) / n_known)

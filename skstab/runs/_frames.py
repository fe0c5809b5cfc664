"""Runs as data frames: long, one row for each selected feature of each run; or wide, one row per run."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array, issparse

from skstab._checks import naming

__all__ = ["Tables", "from_frame", "to_long"]

_VALUES = ("importance", "coef")


class Tables(NamedTuple):
    """The tables of runs, and the names of their features."""

    supports: Any
    importances: Any
    coefs: Any
    names: list[Hashable]


def from_frame(frame: Any, features: Sequence[Hashable] | None) -> Tables:
    """Read a long or a wide table."""
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"frame must be a pandas DataFrame, got {type(frame).__name__}")
    if {"run", "feature"} <= set(frame.columns):
        return _from_long(frame, features)
    if features is not None:
        raise ValueError(
            "features goes with a long table, with columns 'run' and 'feature'; a wide one has them all"
        )
    wide = frame.set_index("run") if "run" in frame.columns else frame
    return Tables(wide, None, None, list(wide.columns))


def _from_long(frame: pd.DataFrame, features: Sequence[Hashable] | None) -> Tables:
    run, runs = pd.factorize(frame["run"], use_na_sentinel=True)
    if (run < 0).any():
        raise ValueError("column 'run' of frame must have no missing values")
    names = _features_of(frame["feature"], features)
    selected = frame["feature"].notna().to_numpy()
    column = pd.Index(names).get_indexer(frame["feature"][selected])
    if (column < 0).any():
        unknown = frame["feature"][selected].iloc[int(np.argmax(column < 0))]
        raise ValueError(
            f"column 'feature' of frame holds {unknown!r}, which is not in features"
        )
    shape, row = (len(runs), len(names)), run[selected]
    if len(set(zip(row.tolist(), column.tolist(), strict=True))) < len(row):
        raise ValueError(
            "frame must have one row for each selected feature of a run, got some of them twice"
        )
    supports = csr_array((np.ones(len(row), dtype=bool), (row, column)), shape=shape)
    importances, coefs = (
        _values(frame, name, selected, row, column, shape) for name in _VALUES
    )
    return Tables(supports, importances, coefs, names)


def _features_of(column: Any, features: Sequence[Hashable] | None) -> list[Hashable]:
    if features is None:
        return (
            list(column.cat.categories)
            if isinstance(column.dtype, pd.CategoricalDtype)
            else _sorted(column)
        )
    with naming("features"):
        names = list(features)
    with naming("features"):
        n_different = len(set(names))
    if n_different < len(names):
        raise ValueError("features must be distinct, got some of them twice")
    return names


def _sorted(column: Any) -> list[Hashable]:
    try:
        return sorted(column.dropna().unique())
    except TypeError as error:
        raise ValueError(
            f"column 'feature' of frame cannot be sorted, give features: {error}"
        ) from error


def _values(
    frame: pd.DataFrame,
    name: str,
    selected: Any,
    row: Any,
    column: Any,
    shape: tuple[int, int],
) -> Any:
    if name not in frame.columns:
        return None
    try:
        values = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)[selected]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {name!r} of frame must hold numbers: {error}"
        ) from error
    return csr_array((values, (row, column)), shape=shape)


def _entries(table: Any, rows: Any, columns: Any) -> Any:
    """Entries of a table; releases of SciPy differ in whether those of CSR come as CSR."""
    entries = table[rows, columns]
    return (
        entries.toarray().ravel() if issparse(entries) else np.asarray(entries).ravel()
    )


def to_long(supports: Any, importances: Any, coefs: Any, names: Any) -> pd.DataFrame:
    """Tabulate the selected features of each run; a run without any has one row with a missing feature."""
    if len(set(names)) < len(names):
        raise ValueError(
            "feature_names must be distinct to be tabulated, got some of them twice"
        )
    chosen = coo_array(supports)
    empty = np.flatnonzero(np.asarray(supports.sum(axis=1)).ravel() == 0)
    run = np.concatenate([chosen.row, empty])
    code = np.concatenate([chosen.col, np.full(len(empty), -1)])
    order = np.lexsort((code, run))
    columns = {
        "run": run[order],
        "feature": pd.Categorical.from_codes(code[order], categories=pd.Index(names)),
    }
    for name, table in zip(_VALUES, (importances, coefs), strict=True):
        if table is not None:
            values = _entries(table, chosen.row, chosen.col)
            columns[name] = np.concatenate([values, np.full(len(empty), np.nan)])[order]
    return pd.DataFrame(columns)

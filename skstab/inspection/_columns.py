"""The data as a report needs them: for each feature, or variable of several features, its values as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from skstab._compat import take_columns
from skstab._typing import BoolArray, FloatArray, IndexArray

__all__ = ["Block", "as_numbers", "blocks_of"]

_MOST_LEVELS = 20
_MISSING = "(missing)"


class Block(NamedTuple):
    """The values of one feature, rows × columns, NaN where missing; a category has labels for its columns."""

    numbers: FloatArray
    labels: Sequence[str] = ()


def as_frame(X: Any, columns: IndexArray) -> Any:
    """Some columns of an array, a sparse matrix or a table as a pandas table, numbered from 0."""
    import pandas as pd

    if issparse(X):
        part: Any = X.tocsc()[:, columns].toarray()
    else:
        part = take_columns(X if hasattr(X, "shape") else np.asarray(X), columns)
    if hasattr(part, "to_pandas"):
        part = part.to_pandas()
    frame = pd.DataFrame(part, copy=False)
    return frame.set_axis(range(frame.shape[1]), axis=1).infer_objects()


def is_number(column: Any) -> bool:
    """Whether a column of a table has real numbers or truth values."""
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    return is_numeric_dtype(column) and not is_complex_dtype(column)


def _levels_of(column: Any) -> Any:
    texts = column.astype(object).where(column.notna(), _MISSING).astype(str)
    frequent = texts.value_counts().index[:_MOST_LEVELS]
    return {level: (texts == level).to_numpy(float) for level in sorted(frequent)}


def _block_of(column: Any) -> Block:
    if is_number(column):
        return Block(column.astype("float64").to_numpy(na_value=np.nan)[:, None])
    levels = _levels_of(column)
    return Block(np.column_stack(list(levels.values())), list(levels))


def blocks_of(
    X: Any, codes: IndexArray, names: Any, variables: Any, needed: BoolArray
) -> list[Block | None]:
    """The values of each variable that is needed, whose features have its number as their code."""
    wanted = np.flatnonzero(needed[codes])
    frame = as_frame(X, wanted)
    parts: list[list[tuple[str, Block]]] = [[] for _ in needed]
    for place, feature in enumerate(wanted):
        own = _block_of(frame[place])
        parts[codes[feature]].append((str(names[feature]), own))
    return [
        _joined(part, str(variable)) if part else None
        for part, variable in zip(parts, variables, strict=True)
    ]


def _joined(parts: Sequence[tuple[str, Block]], variable: str) -> Block:
    """The columns of a variable; its levels are called as its features, without the name of the variable."""
    if len(parts) == 1:
        return parts[0][1]
    labels: list[str] = []
    for name, block in parts:
        labels += block.labels or [name.removeprefix(f"{variable}=")]
    return Block(np.hstack([block.numbers for _, block in parts]), labels)


def as_numbers(X: Any) -> Any:
    """X for correlations: missing numbers become the mean of their column, categories of three levels constants."""
    if issparse(X):
        return X
    try:
        if not np.isnan(np.asarray(X, dtype=np.float64)).any():
            return X
    except (TypeError, ValueError):
        pass  # texts
    frame = as_frame(X, np.arange(np.shape(X)[1]))
    columns = []
    for place in frame:
        values = _block_of(frame[place]).numbers
        column = values[:, 0] if values.shape[1] <= 2 else np.zeros(len(values))
        known = ~np.isnan(column)
        mean = column[known].mean() if known.any() else 0.0
        columns.append(np.where(known, column, mean))
    return np.column_stack(columns)

"""Checks of the fields of `Runs`, and how those of several parts are joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from skstab._checks import naming
from skstab._matrices import as_weights
from skstab._typing import BoolArray, FloatArray, IntArray, NamesLike

__all__ = [
    "as_list",
    "check_counts",
    "check_named",
    "check_names",
    "check_numbers",
    "check_probabilities",
    "check_refit",
    "check_refit_predictions",
    "check_rows",
    "check_sizes",
    "check_table",
    "check_text",
    "check_vector",
    "check_which",
    "join_common",
    "join_counts",
    "join_rows",
    "join_scores",
    "join_vectors",
    "number_on",
    "rows_of",
    "unselected_names",
]

# -- one field ---------------------------------------------------------------------------------------------------------


def check_table(data: Any, name: str, shape: tuple[int, ...]) -> Any:
    """Check a table of numbers that stands beside the supports, or None."""
    if data is None:
        return None
    table = as_weights(data, name, least_runs=0)
    if table.shape != shape:
        raise ValueError(
            f"{name} must have the shape {shape} of supports, got {table.shape}"
        )
    return table


def check_names(names: NamesLike | None, n_features: int) -> Any:
    """Return the names of the features as an array of objects: those given, or x0, x1 and so on."""
    with naming("feature_names"):
        given = (
            [f"x{number}" for number in range(n_features)]
            if names is None
            else list(names)
        )
    checked = np.empty(len(given), dtype=object)
    checked[:] = [
        name.item() if isinstance(name, np.generic) else name for name in given
    ]
    if len(checked) != n_features:
        raise ValueError(
            f"feature_names must be {n_features} names, one for each column, got {len(checked)}"
        )
    return checked


def as_list(values: Any) -> Any:
    """Return a list of what may be iterable only once; text, and what is not iterable, as it is."""
    return (
        list(values)
        if isinstance(values, Iterable) and not isinstance(values, str)
        else values
    )


def unselected_names(start: int, n_features: int) -> Iterator[str]:
    """Names for features of which only their number is known."""
    return (f"(never selected {number})" for number in range(1, n_features - start + 1))


def _numeric(values: Any, name: str) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error


def check_vector(values: Any, name: str, n_runs: int) -> FloatArray:
    """Check one number per run."""
    vector = _numeric(values, name)
    if vector.shape != (n_runs,):
        raise ValueError(
            f"{name} must have one number for each of the {n_runs} runs, got shape {vector.shape}"
        )
    return vector


def check_named(
    tables: Mapping[str, Any] | None,
    name: str,
    check: Callable[[Any, str, int], FloatArray],
    n_runs: int,
) -> dict[str, FloatArray]:
    """Check each of several vectors or tables that have names."""
    if not (tables is None or isinstance(tables, Mapping)):
        raise TypeError(f"{name} must be a dict, got {tables!r}")
    return {
        str(key): check(values, f"{name}[{key!r}]", n_runs)
        for key, values in (tables or {}).items()
    }


def check_numbers(values: Any, name: str, n_runs: int) -> IntArray:
    """Check one int per run."""
    with naming(name):
        numbers = np.asarray(values)
    if numbers.shape != (n_runs,) or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} must be one int for each of the {n_runs} runs, got {values!r}"
        )
    return numbers.astype(np.int64, copy=False)


def check_rows(values: Any, name: str, n_runs: int) -> FloatArray:
    """Check one number for each run and row."""
    table = _numeric(values, name)
    if table.ndim != 2 or len(table) != n_runs:
        raise ValueError(
            f"{name} must have one row for each of the {n_runs} runs, got shape {table.shape}"
        )
    return table


def check_probabilities(values: Any, n_runs: int) -> Any:
    """Check probabilities for each run and row, of the second of two classes or of each class."""
    name = "row_probabilities"
    table = _numeric(values, name).astype(np.float32)
    if table.ndim not in (2, 3) or len(table) != n_runs:
        raise ValueError(
            f"{name} must have the shape (n_runs, n_rows) or (n_runs, n_rows, n_classes) for {n_runs} runs, got "
            f"shape {table.shape}"
        )
    if ((table < 0) | (table > 1)).any():
        raise ValueError(f"{name} must lie between 0 and 1, or be NaN")
    return table


def check_refit_predictions(values: Any) -> FloatArray:
    """Check one number, or one for each class, for each row."""
    table = _numeric(values, "refit_predictions")
    if table.ndim not in (1, 2):
        raise ValueError(
            "refit_predictions must have the shape (n_rows,) or (n_rows, n_classes), got "
            f"shape {table.shape}"
        )
    return table


def check_counts(values: Any, n_runs: int) -> Any:
    """Check how often each run was trained on each row, and keep it as CSR."""
    is_kept = issparse(values) and values.format == "csr" and values.dtype == np.int32
    counts = (
        values if is_kept else csr_array(as_weights(values, "row_counts", least_runs=0))
    )
    if counts.shape[0] != n_runs:
        raise ValueError(
            f"row_counts must have one row for each of the {n_runs} runs, got shape {counts.shape}"
        )
    numbers = counts.data
    if ((numbers < 0) | (numbers % 1 != 0) | (numbers >= 2**31)).any():
        raise ValueError("row_counts must hold whole numbers that are not negative")
    return csr_array(
        (numbers.astype(np.int32, copy=False), counts.indices, counts.indptr),
        shape=counts.shape,
    )


def check_sizes(sizes: Any, counts: Any, n_runs: int) -> Any:
    """Check the number of rows that each run was trained on, or count them."""
    if sizes is not None:
        return check_vector(sizes, "train_sizes", n_runs)
    if counts is None:
        return None
    return counts.sum(axis=1, dtype=np.float64)


def check_refit(mask: Any, n_features: int) -> BoolArray:
    """Check a mask of features."""
    with naming("refit"):
        checked = np.asarray(mask)
    if checked.dtype != bool or checked.shape != (n_features,):
        raise ValueError(
            f"refit must be {n_features} booleans, one for each feature, got {mask!r}"
        )
    return checked


def check_text(text: Any, name: str) -> str | None:
    """Check a text, or None."""
    if not (text is None or isinstance(text, str)):
        raise TypeError(f"{name} must be None or a text, got {text!r}")
    return text


def check_which(which: Any, n_runs: int, name: str = "which") -> IntArray:
    """Return the numbers of the runs that a slice, ints or booleans stand for."""
    try:
        rows = np.atleast_1d(np.arange(n_runs)[which])
    except (IndexError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be a slice, ints or booleans for {n_runs} runs: {error}"
        ) from error
    if rows.ndim != 1:
        raise ValueError(
            f"{name} must be a slice, ints or booleans for {n_runs} runs, got {rows.ndim} dimensions"
        )
    return rows


def rows_of(values: Any, rows: IntArray) -> Any:
    """Take rows of a table or a vector, or None."""
    return None if values is None else values[rows]


# -- the same field of several parts -----------------------------------------------------------------------------------


def join_vectors(parts: Sequence[Any]) -> Any:
    """Put vectors or tables one after the other; None where one of them is missing."""
    return None if any(part is None for part in parts) else np.concatenate(parts)


def join_common(parts: Sequence[dict[str, FloatArray]]) -> dict[str, FloatArray]:
    """Put tables of the same name one below the other, of those names that every part has."""
    names = [name for name in parts[0] if all(name in part for part in parts)]
    for name in names:
        if len(widths := {part[name].shape[1] for part in parts}) > 1:
            raise ValueError(
                f"row_losses[{name!r}] of parts must be of the same rows, got {sorted(widths)} rows"
            )
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def join_rows(parts: Sequence[Any]) -> Any:
    """Put tables of rows one below the other; None where one is missing, or where the rows are others."""
    if any(part is None for part in parts):
        return None
    if len({part.shape[1:] for part in parts}) > 1:
        return None
    return np.concatenate(parts)


def join_counts(parts: Sequence[Any]) -> Any:
    """Put counts of rows one below the other; None where one is missing, or where the data have other rows."""
    if any(part is None for part in parts):
        return None
    if len({part.shape[1] for part in parts}) > 1:
        return None
    return vstack(parts, format="csr")


def join_scores(
    parts: Sequence[dict[str, FloatArray]], sizes: Sequence[int], missing: float
) -> dict[str, FloatArray]:
    """Put scores one after the other, with a value for those that a part lacks."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {
        name: np.concatenate(
            [
                part.get(name, np.full(size, missing))
                for part, size in zip(parts, sizes, strict=True)
            ]
        )
        for name in names
    }


def number_on(parts: Sequence[IntArray | None]) -> Any:
    """Put numbers one after the other; those that occurred before are counted on from the largest."""
    if any(part is None for part in parts):
        return None
    joined = np.empty(0, dtype=np.int64)
    for numbers in parts:
        repeats = numbers is not None and np.isin(numbers, joined).any()
        joined = np.concatenate(
            [joined, numbers + joined.max() + 1 if repeats else numbers]
        )
    return joined

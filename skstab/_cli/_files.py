"""Runs that commands read: files of `Runs.save`, long tables and wide ones."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skstab._cli._bytes import read_bytes
from skstab._cli._formats import (
    TABLES,
    ReadOptions,
    kind_of,
    open_table,
    reading,
    suffix_of,
)
from skstab._cli._sniffing import decode, encoding_of, sample_lines, separator_of
from skstab._report.columns import UNNAMED
from skstab._report.words import UserError

if TYPE_CHECKING:
    import pandas as pd

    from skstab.runs import Runs


def read_matrix(path: str) -> pd.DataFrame:
    """Read a table of numbers, whose first row and first column may be names."""
    from pandas.api.types import is_numeric_dtype

    kind_of(path)
    content = read_bytes(path)
    table = (
        _text_matrix(path, content.data)
        if content.kind == "text"
        else open_table(path, ReadOptions()).read()
    )
    names_runs = table.shape[1] and (
        table.columns[0] in (UNNAMED, "run") or not is_numeric_dtype(table.iloc[:, 0])
    )
    return table.set_index(table.columns[0]) if names_runs else table


def _text_matrix(path: str, data: bytes) -> pd.DataFrame:
    import pandas as pd

    encoding = encoding_of(data)
    lines = sample_lines(decode(data, encoding, path))
    default = "," if suffix_of(path) == ".csv" else "\t"
    options = {"sep": separator_of(lines, default), "encoding": encoding}
    first = reading(
        path, pd.read_csv, io.BytesIO(data), header=None, nrows=1, dtype=str, **options
    )
    header = 0 if _names_columns(first.iloc[0].tolist()) else None
    return reading(path, pd.read_csv, io.BytesIO(data), header=header, **options)


def read_runs(
    path: str, *, weights: bool = False, n_features: int | None = None
) -> Runs:
    """Read runs: a file of `Runs.save`, a long table, or a wide one of 0/1 or of weights."""
    from skstab.runs import Runs

    if (
        suffix_of(path) not in TABLES
        and Path(path).is_file()
        and zipfile.is_zipfile(path)
    ):
        return _several(reading(path, Runs.load, path), path)
    table = read_matrix(path)
    if {"run", "feature"} <= {table.index.name, *table.columns}:
        long = table.reset_index()
        names = _all_features(long["feature"], n_features, path)
        return _several(reading(path, Runs.from_frame, long, features=names), path)
    if n_features is not None:
        raise UserError(
            f"--features goes with a long table; {path!r} has a column for each feature"
        )
    matrix = _numbers(table, path, weights=weights)
    return Runs(
        matrix != 0,
        np.abs(matrix) if weights else None,
        feature_names=list(table.columns),
    )


def _several(runs: Runs, path: str) -> Runs:
    if len(runs) < 2:
        raise UserError(
            f"{path!r} must have at least 2 runs to compare, got {len(runs)}"
        )
    return runs


def _all_features(
    column: pd.Series, n_features: int | None, path: str
) -> list[str] | None:
    """Names of all features: those that occur and, where their number is given, names for the others."""
    if n_features is None:
        return None
    found = sorted(column.dropna().astype(str).unique())
    if len(found) > n_features:
        raise UserError(
            f"--features must be at least {len(found)}, the number of features in {path!r}"
        )
    return [
        *found,
        *(
            f"(never selected {number})"
            for number in range(1, n_features - len(found) + 1)
        ),
    ]


def _numbers(table: pd.DataFrame, path: str, *, weights: bool) -> Any:
    """Check a wide table: numbers, and only 0 and 1 unless they are weights."""
    from pandas.api.types import is_numeric_dtype

    words = [name for name in table.columns if not is_numeric_dtype(table[name])]
    if len(words) == table.shape[1]:
        raise UserError(f"nothing in {path!r} is numeric")
    if words:
        raise UserError(f"column {words[0]!r} of {path!r} is not numeric")
    matrix = table.to_numpy(dtype=float, na_value=np.nan)
    if not np.isfinite(matrix).all():
        raise UserError(f"{path!r} has missing or infinite values")
    if len(matrix) < 2:
        raise UserError(
            f"{path!r} must have at least 2 runs (rows) to compare, got {len(matrix)}"
        )
    other = matrix[(matrix != 0) & (matrix != 1)]
    if other.size and not weights:
        raise UserError(
            f"{path!r} must hold only 0 and 1, got {other[0]:g}; add --weights if it holds weights"
        )
    return matrix


def _names_columns(cells: list[Any]) -> bool:
    """Whether a first row is not a run but names, or column numbers, which pandas writes if there are no names."""
    # The first cell may be the name of a run, or be empty above row numbers.
    rest = cells[1:] or cells
    return (
        not (isinstance(cells[0], str) and all(map(_is_number, rest)))
        or _counts(cells)
        or _counts(rest)
    )


def _counts(cells: list[str]) -> bool:
    """Whether cells are 0, 1, 2, … or 1, 2, 3, …; two cells could also be a run."""
    return len(cells) > 2 and any(
        cells == [str(start + i) for i in range(len(cells))] for start in (0, 1)
    )


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

"""`skstab measure`: the stability of selections made elsewhere."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from skstab._cli._tables import read_matrix
from skstab._cli._terminal import UserError, say
from skstab.metrics import get_measure, measure_table, stability_interval

if TYPE_CHECKING:
    import argparse

    import pandas as pd

_NEEDS_GROUPS = "needs to know which features stand for each other; without, it is nogueira"


def run(options: argparse.Namespace) -> None:
    """Read the table and tell what every measure says of it."""
    matrix = _matrix(read_matrix(options.file), options)
    rows = [_row(name, kind, matrix, options) for name, kind in _measures(matrix, weights=options.weights)]
    about = {
        "file": options.file,
        "kind": "weights" if options.weights else "supports",
        "n_runs": matrix.shape[0],
        "n_features": matrix.shape[1],
        "mean_selected": float((matrix != 0).sum(axis=1).mean()),
        "method": options.method,
        "confidence_level": options.level,
    }
    say(json.dumps({**about, "measures": rows}, indent=2, allow_nan=False) if options.json else _text(about, rows))


def _matrix(table: pd.DataFrame, options: argparse.Namespace) -> np.ndarray:
    from pandas.api.types import is_numeric_dtype

    words = [name for name in table.columns if not is_numeric_dtype(table[name])]
    if len(words) == table.shape[1]:
        raise UserError(f"nothing in {options.file!r} is numeric")
    if words:
        raise UserError(f"column {words[0]!r} of {options.file!r} is not numeric")
    matrix = table.to_numpy(dtype=float, na_value=np.nan)
    if not np.isfinite(matrix).all():
        raise UserError(f"{options.file!r} has missing or infinite values")
    if len(matrix) < 2:
        raise UserError(f"{options.file!r} must have at least 2 runs (rows) to compare, got {len(matrix)}")
    other = matrix[(matrix != 0) & (matrix != 1)]
    if other.size and not options.weights:
        raise UserError(f"{options.file!r} must hold only 0 and 1, got {other[0]:g}; add --weights if it holds weights")
    return np.abs(matrix)


def _measures(matrix: np.ndarray, *, weights: bool) -> list[tuple[str, str]]:
    """Names and kinds of the measures to tell: those of sets wherever something is left out."""
    kinds = {"weights", "ranking"} if weights else set()
    if not (weights and matrix.all()):
        kinds.add("subset")
    table = measure_table()
    return [(name, kind) for name, kind in table["kind"].items() if kind in kinds]


def _row(name: str, kind: str, matrix: np.ndarray, options: argparse.Namespace) -> dict[str, Any]:
    """One measure: its value and interval, or why there is none."""
    row: dict[str, Any] = {"measure": name, "stability": None, "low": None, "high": None, "note": None}
    if name == "effective":
        return row | {"note": _NEEDS_GROUPS}
    measure, data = get_measure(name), _data(kind, matrix)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            row["stability"] = _number(measure(data, name="the table"))
        row["note"] = str(caught[0].message) if caught else None
        found = stability_interval(
            data,
            measure=measure,
            method=options.method,
            confidence_level=options.level,
            random_state=options.seed,
        )
    except ValueError as error:
        return row | {"note": str(error)}
    return row | {"low": _number(found.low), "high": _number(found.high)}


def _data(kind: str, matrix: np.ndarray) -> np.ndarray:
    if kind == "subset":
        return matrix != 0
    if kind == "weights":
        return matrix
    from scipy.stats import rankdata

    return np.asarray(rankdata(-matrix, axis=1))


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _text(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    import pandas as pd

    lines = [
        f"{about['n_runs']} runs, {about['n_features']} features, {about['mean_selected']:.1f} selected on average",
        f"{about['confidence_level']:.0%} intervals by the {about['method']} method, about the finite number of runs",
        "",
    ]
    table = pd.DataFrame(rows).set_index("measure")
    known = table[table["stability"].notna()].drop(columns="note").astype(float)
    if len(known):
        lines += [known.to_string(float_format="{:.3f}".format, na_rep="-", index_names=False), ""]
    # Several measures often have the same reason, but for their names.
    notes: dict[str, list[str]] = {}
    for name, note in table["note"].dropna().items():
        notes.setdefault(_unnamed(note, str(name)), []).append(str(name))
    lines += [f"{', '.join(names)}: {note}" for note, names in notes.items()]
    return "\n".join(lines).rstrip()


def _unnamed(note: str, name: str) -> str:
    return note.replace(f"the {name} measure", "the measure").replace(repr(name), "this measure")

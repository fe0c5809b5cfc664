"""`skstab measure`: the stability of selections made elsewhere."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from skstab._cli._files import read_runs
from skstab._cli._terminal import say
from skstab.metrics import (
    get_measure,
    measure_table,
    stability_in_words,
    stability_interval,
)

if TYPE_CHECKING:
    import argparse

    from skstab.runs import Runs

_NEEDS_SIMILARITY = "needs to know which features can replace each other"


def run(options: argparse.Namespace) -> None:
    """Read the runs and print their stability by every measure."""
    runs = read_runs(options.file, weights=options.weights, n_features=options.features)
    rows = [_row(name, runs, options) for name in _measures(runs)]
    about = {
        "file": options.file,
        "kind": "supports" if runs.tables.importances is None else "weights",
        "n_runs": len(runs),
        "n_features": runs.n_features,
        "mean_selected": float(runs.tables.supports.sum() / len(runs)),
        "method": options.method,
        "confidence_level": options.level,
    }
    say(
        json.dumps({**about, "measures": rows}, indent=2, allow_nan=False)
        if options.json
        else _text(about, rows)
    )


def _measures(runs: Runs) -> list[str]:
    """Names of the measures to report: those of sets only if some feature is left out."""
    kinds = set() if runs.tables.importances is None else {"weights", "ranking"}
    if (
        runs.tables.importances is None
        or runs.tables.supports.sum() < runs.n_features * len(runs)
    ):
        kinds.add("subset")
    return [
        str(name) for name, kind in measure_table()["kind"].items() if kind in kinds
    ]


def _row(name: str, runs: Runs, options: argparse.Namespace) -> dict[str, Any]:
    """One measure: its value and interval, or why there is none."""
    row: dict[str, Any] = {
        "measure": name,
        "stability": None,
        "low": None,
        "high": None,
        "note": None,
    }
    measure = get_measure(name)
    if measure.described_by:
        return row | {"note": _NEEDS_SIMILARITY}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            row["stability"] = _number(measure(runs, name="the table"))
        row["note"] = str(caught[0].message) if caught else None
        found = stability_interval(
            runs,
            measure=measure,
            method=options.method,
            confidence_level=options.level,
            random_state=options.seed,
        )
    except ValueError as error:
        return row | {"note": str(error)}
    return row | {"low": _number(found.low), "high": _number(found.high)}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _text(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    import pandas as pd

    lines = [
        f"{about['n_runs']} runs, {about['n_features']} features, {about['mean_selected']:.1f} selected on average",
        f"{about['confidence_level']:.0%} intervals by the {about['method']} method, about the resampling error, not "
        "about other data",
        "",
    ]
    table = pd.DataFrame(rows).set_index("measure")
    known = table[table["stability"].notna()].drop(columns="note").astype(float)
    if len(known):
        lines += [
            known.to_string(
                float_format="{:.3f}".format, na_rep="-", index_names=False
            ),
            "",
        ]
    if "nogueira" in known.index:
        words = stability_in_words(min(known.loc["nogueira", "stability"], 1.0))
        lines += [
            f"A nogueira stability of this size is called {words} (Nogueira et al. 2018, table 3).",
            "",
        ]
    # Several measures often have the same reason, except for their names.
    notes: dict[str, list[str]] = {}
    for name, note in table["note"].dropna().items():
        notes.setdefault(_unnamed(note, str(name)), []).append(str(name))
    lines += [f"{', '.join(names)}: {note}" for note, names in notes.items()]
    return "\n".join(lines).rstrip()


def _unnamed(note: str, name: str) -> str:
    return note.replace(f"the {name} measure", "the measure").replace(
        repr(name), "this measure"
    )

"""Features that hang on a few rows: read from which rows trained each run.

Notation: N the row counts, runs × rows; Z the supports, runs × features; the frequency of a feature without row i is
the mean of Z over the runs with N_i = 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import hypergeom

from skstab._statistics import wilson_interval
from skstab._typing import BoolArray, FloatArray, IndexArray

__all__ = [
    "Carriers",
    "absent_units",
    "carriers_of",
    "few_rows_sentence",
    "most_rows",
    "units_of",
    "without_each",
]

_FEWEST = 20  # runs in which further rows are looked for
_FEWEST_WITHOUT = 8  # of them without a row
_LEVEL = 0.05


def units_of(row_counts: Any) -> IndexArray:
    """Number the rows by what the runs can separate: rows that all runs counted alike, such as those of a patient."""
    rows = row_counts.T.tocsr()
    rows.sort_indices()
    seen: dict[bytes, int] = {}
    units = np.empty(rows.shape[0], dtype=np.intp)
    for row in range(rows.shape[0]):
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        key = rows.indices[part].tobytes() + b"|" + rows.data[part].tobytes()
        units[row] = seen.setdefault(key, len(seen))
    return units


def absent_units(row_counts: Any) -> tuple[BoolArray, IndexArray]:
    """Which runs did without each unit, runs × units; and the unit of each row."""
    units = units_of(row_counts)
    first = np.unique(units, return_index=True)[1]
    return row_counts[:, first].toarray() == 0, units


def without_each(supports: FloatArray, absent: BoolArray) -> FloatArray:
    """Frequencies without each unit, features × units; infinite where too few runs did without it."""
    n_without = absent.sum(axis=0)
    sums = supports.T @ absent.astype(np.float64)
    known = n_without >= max(_FEWEST_WITHOUT * len(absent) / _FEWEST / 2, 1)
    return np.where(known, sums / np.maximum(n_without, 1), np.inf)


class Carriers(NamedTuple):
    """The units that a feature hangs on, and its frequency without them; none where there are too many, or none."""

    units: tuple[int, ...]
    frequency: float
    pvalue: float


def carriers_of(selected: FloatArray, absent: BoolArray, threshold: float) -> Carriers:
    """Drop the unit without which a feature is rarest, and look again among the runs without it.

    The unit is the worst of many, so its effect is read on other runs than it was chosen on, and it counts only where
    Fisher's exact test, adjusted for the number of units (Bonferroni), finds the feature rarer without it. The 95%
    interval of the frequency without the units must lie below the threshold.
    """
    nothing, chosen, worst = Carriers((), np.nan, np.nan), [], 0.0
    while len(selected) >= _FEWEST:
        unit, pvalue = _worst(selected, absent)
        frequency, n_read = _read_apart(selected, absent, unit)
        if not (pvalue <= _LEVEL and frequency < selected.mean()):
            return nothing
        chosen.append(unit)
        worst = max(worst, pvalue)
        if wilson_interval(frequency, n_read)[1] < threshold:
            return Carriers(tuple(chosen), frequency, worst)
        left = absent[:, unit]
        selected, absent = selected[left], absent[left].copy()
        absent[:, unit] = False  # it is not looked for again
    return nothing


def _worst(selected: FloatArray, absent: BoolArray) -> tuple[int, float]:
    frequency = without_each(selected[:, None], absent)[0]
    unit = int(frequency.argmin())
    if not np.isfinite(frequency[unit]):
        return unit, 1.0
    n_without = int(absent[:, unit].sum())
    reached = int(selected[absent[:, unit]].sum())
    n, total = len(selected), int(selected.sum())
    pvalue = float(hypergeom.cdf(reached, n, total, n_without))
    return unit, min(pvalue * absent.shape[1], 1.0)


def _read_apart(
    selected: FloatArray, absent: BoolArray, unit: int
) -> tuple[float, int]:
    """The frequency without a unit in each half of the runs in whose other half it is the worst, and their number."""
    even = np.arange(len(selected)) % 2 == 0
    reached, n = 0.0, 0
    for own in (even, ~even):
        if _worst(selected[own], absent[own])[0] != unit:
            continue
        others = ~own & absent[:, unit]
        reached, n = reached + selected[others].sum(), n + int(others.sum())
    return (float(reached / n), n) if n else (np.nan, 1)


def most_rows(
    frequency_low: FloatArray, trained: float, n_units: int, threshold: float
) -> FloatArray:
    """At most how many units can each, alone, take a feature below the threshold, whatever the selector and the data.

    With A_i whether a run is trained on unit i, which p of them are, the frequency without i differs from f by
    cov(Z, A_i)/(1 − p). The A_i are nearly uncorrelated, with variance p(1 − p), so that by Bessel's inequality the
    squares of these differences add up to at most f(1 − f)·p/(1 − p)·n/(n − 1) (0.43 for bootstraps at f = 1/2, as of
    Soloff, Barber and Willett 2024). So many differ by more than f − t. It holds for f, of which only the lower end of
    an interval is known, and is about infinitely many runs.
    """
    f = np.asarray(frequency_low)
    squares = f * (1 - f) * trained / (1 - trained) * n_units / max(n_units - 1, 1)
    far = np.maximum(f - threshold, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.where(far > 0, np.floor(squares / far**2), np.inf)
    return np.minimum(bound, n_units)


def few_rows_sentence(runs: Any, threshold: float = 0.5) -> str:
    """Name the features of the list of runs that hang on few rows; nothing where there are none, or no counts."""
    if runs.row_counts is None or len(runs) < _FEWEST:
        return ""
    absent, units = absent_units(runs.row_counts)
    frequency = runs.frequencies().to_numpy()
    table = runs.tables.supports[:, np.flatnonzero(frequency >= threshold)]
    table = table.toarray() if hasattr(table, "toarray") else table
    parts = []
    names = runs.feature_names[frequency >= threshold]
    for name, selected in zip(names, table.T.astype(np.float64), strict=True):
        found = carriers_of(selected, absent, threshold).units
        if found:
            rows = np.flatnonzero(np.isin(units, found))
            word = "row" if len(rows) == 1 else "rows"
            parts.append(f"{name} ({word} {', '.join(map(str, rows))})")
    return f"Carried by few rows: {', '.join(parts)}." if parts else ""

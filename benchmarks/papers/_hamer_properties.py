"""Table 2 of hamer2021: which measure has which property, tried on tables made for the purpose."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np
from _tables import Row, compare

from skstab.metrics import (
    effective_stability,
    importance_weighted_stability,
    nogueira_stability,
    pearson_stability,
)

Stability = Callable[[Any, Any], float]
MEASURES: dict[str, Stability] = {
    "φ": lambda importances, _: nogueira_stability(importances != 0),
    "φ_pears": lambda importances, _: pearson_stability(importances),
    "φ_iw": lambda importances, _: importance_weighted_stability(importances),
    "φ_C": lambda importances, alike: effective_stability(
        importances != 0, **{"groups" if alike.ndim == 1 else "similarity": alike}
    ),
}
# In the order of PROPERTIES; "fully defined" holds for all by the conventions for runs that select nothing.
PUBLISHED = {"φ": "✓✓✓✓–––", "φ_pears": "✓✓–✓–––", "φ_iw": "✓✓✓✓✓–✓", "φ_C": "–––✓–✓–"}


def random_tables(n_tables: int) -> Any:
    """Yield importances of four runs, three of eight features selected in each, with groups of two."""
    rng = np.random.default_rng(0)
    for _ in range(n_tables):
        chosen = rng.random((4, 8)).argsort(axis=1) < 3
        yield chosen * rng.uniform(0.5, 1.5, chosen.shape), np.arange(8) // 2


def upper_bound(measure: Stability) -> bool:
    """For a matrix of thresholded correlations, where a is like b and b like c, but a not like c."""
    chain = (np.abs(np.subtract.outer(np.arange(8), np.arange(8))) <= 1).astype(float)
    return max(measure(table, chain) for table, _ in random_tables(500)) <= 1 + 1e-9


def lower_bound(measure: Stability) -> bool:
    return min(measure(*table) for table in random_tables(500)) >= -1 / 3 - 1e-9


def maximum(measure: Stability) -> bool:
    """Only runs that are equal (in their sets, for measures of sets) reach 1."""
    shifted, turns = (
        np.array([[1.0, 2, 3, 4, 0], [2, 3, 4, 5, 1]]),
        np.array([[1.0, 0, 1, 0, 0], [0, 1, 1, 0, 0]]),
    )
    groups = np.array([0, 0, 1, 2, 3])
    tables = (
        (turns,) if measure in (MEASURES["φ"], MEASURES["φ_C"]) else (shifted, turns)
    )
    return all(measure(table, groups) < 1 - 1e-9 for table in tables)


def corrected_for_chance(measure: Stability) -> bool:
    values = np.array([measure(*table) for table in random_tables(2000)])
    return abs(values.mean()) < 3 * values.std() / np.sqrt(len(values))


def group_size_independence(measure: Stability) -> bool:
    """Two groups, of which one is not always selected, and a feature that never comes again: for c = 1 and c = 10."""
    values = [measure(*_grouped(size)) for size in (1, 10)]
    return abs(values[0] - values[1]) < 0.01


def _grouped(size: int) -> tuple[Any, Any]:
    importances = np.zeros((20, 20_000))
    importances[:, :size] = 0.5 / size
    importances[::2, size : 2 * size] = 0.2 / size
    importances[np.arange(20), 2 * size + np.arange(20)] = 0.5 - importances[
        :, size : 2 * size
    ].sum(axis=1)
    return importances, np.r_[
        np.arange(2).repeat(size), np.arange(2, 20_002 - 2 * size)
    ]


def interchangeable(measure: Stability) -> bool:
    """Copies of a feature that take turns are no instability."""
    importances = np.zeros((10, 50))
    importances[:, 2] = 1
    importances[np.arange(10), np.arange(10) % 2] = 1
    return measure(importances, np.r_[0, 0, np.arange(1, 49)]) > 0.99


def weighted_decomposition(measure: Stability) -> bool:
    """Property 6, by figure 6's map: two methods, of which one always and one never selects the same features."""
    importances = np.zeros((10, 20_000))
    importances[:, :15] = 2 / 3
    for run in range(10):
        importances[run, 15 + 5 * run : 20 + 5 * run] = 2
    parts = [
        importances * (np.arange(20_000) < 15),
        importances * (np.arange(20_000) >= 15),
    ]
    expected = sum(
        part.sum() / importances.sum() * measure(part, np.arange(20_000))
        for part in parts
    )
    return abs(measure(importances, np.arange(20_000)) - expected) < 0.01


PROPERTIES = (
    upper_bound,
    lower_bound,
    maximum,
    corrected_for_chance,
    group_size_independence,
    interchangeable,
    weighted_decomposition,
)


def table_2(opts: Namespace) -> None:  # noqa: ARG001  as all parts
    """Compare what is found with the marks of the paper."""
    rows = []
    for symbol, measure in MEASURES.items():
        found = "".join("✓" if has(measure) else "–" for has in PROPERTIES)
        differ = sum(a != b for a, b in zip(found, PUBLISHED[symbol], strict=True))
        rows.append(Row(symbol, PUBLISHED[symbol], found, str(differ)))
    text = "bounds above and below, maximum, chance, group size, interchangeable, weighted decomposition"
    compare(f"Table 2: {text}", rows)

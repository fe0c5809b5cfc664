"""Runs that are drawn, not made by a selector: with known stability, or to show what a measure does.

Used for nogueira2016, section 3; nogueira2018, sections 3 and 5; lopez2024, section 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from skstab import stability_interval, stability_score
from skstab.metrics import population_stability

N_FEATURES, N_RUNS = 10, 100
SIZES = np.arange(2, N_FEATURES)


# -- what a measure does -----------------------------------------------------------------------------------------------


def first_features(sizes: Any) -> Any:
    """Runs that select the first k features, with k of each run given."""
    return np.arange(N_FEATURES) < np.asarray(sizes)[:, None]


def random_features(sizes: Any, *, seed: int = 0) -> Any:
    """Runs that select k features at random, with k of each run given."""
    sizes = np.asarray(sizes)
    order = (
        np.random.default_rng((seed, *sizes[:1]))
        .random((len(sizes), N_FEATURES))
        .argsort(axis=1)
    )
    return order < sizes[:, None]


def curves(measures: list[str], runs_of_size: Any) -> dict[str, Any]:
    """The stability of runs of each size by each measure."""
    return {
        name: np.array([stability_score(runs_of_size(k), measure=name) for k in SIZES])
        for name in measures
    }


def draw_curves(axes: Any, values: dict[str, Any], name: str) -> None:
    for measure, curve in values.items():
        axes.plot(SIZES, curve, marker="o", ms=3, label=measure)
    axes.set(xlabel="number of features k", ylabel="stability", title=name)
    axes.legend(fontsize=7, ncols=2)


def span(values: Any) -> str:
    return f"{values.min():.2f} to {values.max():.2f}"


# -- runs of known stability -------------------------------------------------------------------------------------------


def probabilities(stability: float, *, n_features: int = 100, mean: float = 0.3) -> Any:
    """Selection probabilities: quantiles of Beta(a, b) have the stability 1 / (a + b + 1), up to the steps between."""
    total = 1 / stability - 1
    return stats.beta(mean * total, (1 - mean) * total).ppf(
        (np.arange(n_features) + 0.5) / n_features
    )


def draw_runs(p: Any, n_runs: int, seed: Any) -> Any:
    """Supports of independent runs that select feature f with probability p_f."""
    return np.random.default_rng(seed).random((n_runs, p.size)) < p


def intervals(p: Any, n_runs: int, method: str, level: float, repeats: int) -> Any:
    """Ends of the interval of each of many repeats, repeats × 2; all methods and levels use the same runs."""
    found = (
        stability_interval(
            draw_runs(p, n_runs, (n_runs, seed)),
            method=method,
            confidence_level=level,
            random_state=seed,
        )
        for seed in range(repeats)
    )
    return np.array([(one.low, one.high) for one in found])


def coverage(p: Any, ends: Any) -> float:
    """Share of the intervals that hold the true stability."""
    return float(
        np.mean(
            (ends[:, 0] <= population_stability(p))
            & (population_stability(p) <= ends[:, 1])
        )
    )

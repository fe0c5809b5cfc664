"""Importances with substitutes: what transport_stability says by chance, of copies, and at what cost.

Alon (see benchmarks/papers) is read from --data where it is there, and left out elsewhere.

    python benchmarks/transport.py --data ../shared/data
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import time
from argparse import ArgumentParser
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from skstab.datasets import make_correlated_groups
from skstab.metrics import (
    get_measure,
    importance_weighted_stability,
    stability_interval,
    transport_plan,
    transport_stability,
)
from skstab.model_selection import BootstrapSplit, StabilityCV

# hamer2021, table 1, with a lasso in all three: mean and correlation of the groups, penalty
SCENARIOS = {1: (0.35, 0.8, 0.05), 2: (0.5, 0.8, 0.034), 3: (0.5, 0.95, 0.034)}
COPIES, N_SETS, N_RUNS = (1, 2, 5, 15), 3, 20


def similarity_of(X):
    return np.abs(np.corrcoef(X, rowvar=False))


def random_lists(n_runs, d, k, rng):
    table = np.zeros((n_runs, d))
    for row in table:
        row[rng.choice(d, k, replace=False)] = rng.exponential(size=k)
    return table


def uncorrected(data, similarity):
    plan = transport_plan(data, similarity).tocoo()
    one, other = plan.coords
    alike = np.where(one == other, 1.0, similarity[one, other])
    return (plan.data * alike).sum()


def chance(folder):
    rng = np.random.default_rng(0)
    tables = {
        "noise, 60 × 1000": rng.standard_normal((60, 1000)),
        "blocks of 20 at .8, 100 × 1000": make_correlated_groups(
            100, n_groups=50, group_size=20, n_others=0, random_state=0
        )[0],
    }
    if (folder / "alon.npz").exists():
        tables["alon, 62 × 2000"] = np.load(folder / "alon.npz")["X"]
    print("random lists of 20 features: means of 20 tables, and the largest of them")
    print(f"  {'':<32}{'uncorrected':>12}{'M = 5':>18}{'M = 30':>18}")
    for name, X in tables.items():
        similarity, cells = similarity_of(X), []
        for n_runs in (5, 30):
            found = [
                transport_stability(
                    random_lists(n_runs, X.shape[1], 20, rng),
                    similarity,
                    random_state=seed,
                )
                for seed in range(20)
            ]
            cells.append(f"{np.mean(found):>10.3f} ({np.abs(found).max():.3f})")
        raw = uncorrected(random_lists(10, X.shape[1], 20, rng), similarity)
        print(f"  {name:<32}{raw:>12.2f}" + "".join(f"{cell:>18}" for cell in cells))


def copies():
    print(f"\ncopies of five features, {N_SETS} data sets, {N_RUNS} bootstraps, lasso")
    print(f"  {'':<26}" + "".join(f"{f'c = {c}':>8}" for c in COPIES) + "   range")
    for scenario, (mean, correlation, penalty) in SCENARIOS.items():
        values = {"importance_weighted": [], "grouped_importance": [], "transport": []}
        for size in COPIES:
            found = [
                of_one_set(mean, correlation, penalty, size, seed)
                for seed in range(N_SETS)
            ]
            for name, of_sets in zip(values, np.mean(found, axis=0), strict=True):
                values[name].append(of_sets)
        for name, curve in values.items():
            print(
                f"  {scenario}, {name:<23}"
                + "".join(f"{value:>8.2f}" for value in curve)
                + f"{np.ptp(curve):>8.2f}"
            )


def of_one_set(mean, correlation, penalty, size, seed):
    X, y, groups = make_correlated_groups(
        group_mean=mean, correlation=correlation, group_size=size, random_state=seed
    )
    lasso = LogisticRegression(
        l1_ratio=1, solver="liblinear", C=1 / (200 * penalty), random_state=0
    )
    runs = StabilityCV(lasso, cv=BootstrapSplit(N_RUNS, random_state=seed)).fit(X, y)
    alike = {"similarity": similarity_of(X), "random_state": 0}
    return [
        runs.stability("importance_weighted"),
        runs.stability(get_measure("grouped_importance", groups=groups)),
        runs.stability(get_measure("transport", **alike)),
    ]


def selections(n_runs, rng):
    """One or two features of most of ten groups of three, and a few of 30 other features, with importances."""
    table = np.zeros((n_runs, 60))
    for run in table:
        for group in np.flatnonzero(rng.random(10) < 0.9):
            chosen = 3 * group + rng.choice(3, rng.integers(1, 3), replace=False)
            run[chosen] = rng.uniform(0.5, 2, chosen.size)
        run[30:] = (rng.random(30) < 0.05) * rng.uniform(0.2, 1, 30)
    return table


def coverage(repeats=100):
    groups = np.r_[np.repeat(np.arange(10), 3), np.arange(10, 40)]
    alike = {"similarity": 0.95 * np.equal.outer(groups, groups), "random_state": 0}
    measure, rng = get_measure("transport", **alike), np.random.default_rng(1)
    truth = measure(selections(200, rng))
    print(f"\ncoverage of 90% intervals, {repeats} tables; the truth is {truth:.3f}")
    for n_runs in (5, 10, 30):
        held, widths = {}, {}
        for _ in range(repeats):
            table = selections(n_runs, rng)
            for method in ("jackknife", "bootstrap"):
                found = stability_interval(
                    table,
                    measure=measure,
                    method=method,
                    confidence_level=0.9,
                    n_resamples=200,
                    random_state=0,
                )
                inside = found.low <= truth <= found.high
                held[method] = held.get(method, 0) + inside / repeats
                widths[method] = widths.get(method, 0) + (
                    (found.high - found.low) / repeats
                )
        cells = [f"{m} {held[m]:.2f} (width {widths[m]:.2f})" for m in held]
        print(f"  M = {n_runs:<4}" + ", ".join(cells))


def seeds():
    """How much the value changes with the seed of the correction for chance."""
    rng = np.random.default_rng(0)
    X = make_correlated_groups(100, group_size=20, n_others=900, random_state=0)[0]
    similarity = similarity_of(X)
    print("\nstandard deviation over 20 seeds, 20 of 1000 features")
    for n_runs in (2, 10, 50):
        table = random_lists(n_runs, 1000, 20, rng)
        table[:, :100:20] += 2
        found = [
            transport_stability(table, similarity, random_state=s) for s in range(20)
        ]
        print(f"  M = {n_runs:<4}{np.mean(found):.3f} ± {np.std(found):.4f}")


def cost():
    rng = np.random.default_rng(0)
    print("\nseconds of CPU, d = 2000")
    similarity = similarity_of(rng.standard_normal((60, 2000)))
    for n_runs, k in ((100, 20), (100, 50), (30, 200)):
        table = random_lists(n_runs, 2000, k, rng)
        measure = get_measure("transport", similarity=similarity, random_state=0)
        start = time.process_time()
        measure(table)
        value = time.process_time() - start
        start = time.process_time()
        stability_interval(table, measure=measure)
        interval = time.process_time() - start
        limit = f"   at most 5  {'ok' if value < 5 else 'TOO SLOW'}"
        print(
            f"  M = {n_runs:<4} k = {k:<4}{value:>6.1f}, with its interval {interval:.1f}"
            + (limit if (n_runs, k) == (100, 20) else "")
        )
    table = random_lists(30, 2000, 20, rng)
    exact = importance_weighted_stability(table)
    found = transport_stability(table, np.eye(2000), random_state=0)
    print(f"  identity: {found:.4f}, importance_weighted {exact:.4f}")


def main():
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--only", choices=("chance", "cost", "seeds", "copies", "coverage")
    )
    options = parser.parse_args()
    parts = {
        "chance": partial(chance, options.data),
        "cost": cost,
        "seeds": seeds,
        "copies": copies,
        "coverage": coverage,
    }
    for name, part in parts.items():
        if options.only in (None, name):
            part()


if __name__ == "__main__":
    main()

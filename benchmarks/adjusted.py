"""Measures that forgive substitutes, as ratios to working out each pair of runs with its own 10 000 random sets.

The slow way is timed on 2000 random pairs of sets of 30 features, in NumPy and SciPy, and scaled to all pairs of runs
with their draws: it would take hours.

    python benchmarks/adjusted.py
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import time
from functools import partial

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from skstab.metrics import get_measure, stability_interval

N_RUNS, N_FEATURES, SIZE, N_EDGES = 100, 1000, 30, 2000
N_DRAWS, TIMED_DRAWS = 10_000, 2000
THRESHOLD = 0.9
LIMIT = 100


def similarity_matrix(rng):
    """A random graph with similarities from 0.9 to 1."""
    keys = rng.choice(N_FEATURES**2, 4 * N_EDGES, replace=False)
    low, high = keys // N_FEATURES, keys % N_FEATURES
    low, high = low[low < high][:N_EDGES], high[low < high][:N_EDGES]
    upper = sparse.coo_array(
        (rng.uniform(0.9, 1, low.size), (low, high)), shape=(N_FEATURES, N_FEATURES)
    )
    return (upper + upper.T).tocsr()


def of_sizes(sizes, rng):
    z = np.zeros((len(sizes), N_FEATURES), dtype=bool)
    for row, size in zip(z, sizes, strict=True):
        row[rng.choice(N_FEATURES, size, replace=False)] = True
    return z


# -- one pair of sets at a time ----------------------------------------------------------------------------------------


def matching(similar):
    return np.count_nonzero(
        maximum_bipartite_matching(sparse.csr_array(similar >= THRESHOLD)) >= 0
    )


def greedy(similar):
    row, column = np.nonzero(similar >= THRESHOLD)
    taken, rows, columns = 0, set(), set()
    for edge in np.argsort(-similar[row, column], kind="stable"):
        if row[edge] not in rows and column[edge] not in columns:
            taken, rows, columns = (
                taken + 1,
                rows | {row[edge]},
                columns | {column[edge]},
            )
    return taken


def count(similar):
    return min((similar >= THRESHOLD).any(axis=axis).sum() for axis in (0, 1))


def yu(similar):
    return sum((similar >= THRESHOLD).any(axis=axis).sum() for axis in (0, 1)) / 2


def mean(similar):
    edges = similar >= THRESHOLD
    return min(
        ((similar * edges).sum(axis) / np.maximum(edges.sum(axis), 1)).sum()
        for axis in (0, 1)
    )


PAIR = {
    "intersection_mbm": matching,
    "intersection_greedy": greedy,
    "intersection_count": count,
    "intersection_mean": mean,
    "yu": yu,
}


def pair_by_pair(adjustment, dense, rng):
    """Seconds for all pairs of runs, each with N_DRAWS random pairs of sets, from TIMED_DRAWS of these."""
    start = time.perf_counter()
    for _ in range(TIMED_DRAWS):
        one, other = (rng.choice(N_FEATURES, SIZE, replace=False) for _ in range(2))
        shared = np.intersect1d(one, other, assume_unique=True)
        one, other = (
            np.setdiff1d(one, shared, assume_unique=True),
            np.setdiff1d(other, shared, assume_unique=True),
        )
        adjustment(dense[np.ix_(one, other)])
    each = (time.perf_counter() - start) / TIMED_DRAWS
    return each * (N_DRAWS + 1) * N_RUNS * (N_RUNS - 1) / 2


def best_time(call, repeats=5):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def value(z, name, similarity):
    return get_measure(name, similarity=similarity, random_state=0)(z)


def with_interval(z, name, similarity):
    return stability_interval(
        z, measure=get_measure(name, similarity=similarity, random_state=0)
    )


# -- coverage of the jackknife interval --------------------------------------------------------------------------------


def selections(n_runs, rng):
    """One or two features of most of ten groups of three, and a few of 30 other features."""
    z = np.zeros((n_runs, 60), dtype=bool)
    for run in z:
        for group in np.flatnonzero(rng.random(10) < 0.9):
            run[3 * group + rng.choice(3, rng.integers(1, 3), replace=False)] = True
        run[30:] = rng.random(30) < 0.05
    return z


def coverage(repeats=400):
    """Share of 90% intervals that hold the mean of all estimates, which an average over pairs has no bias for."""
    groups = np.r_[np.repeat(np.arange(10), 3), np.arange(10, 40)]
    alike = {"similarity": 0.95 * np.equal.outer(groups, groups), "random_state": 0}
    names = (
        "intersection_mbm",
        "intersection_mean",
        "yu",
        "zucknick",
        "pogr",
        "npogr",
        "redundancy_dice",
    )
    measures = [get_measure(name, **alike) for name in names]
    measures += [get_measure("kappa"), get_measure("grouped_importance", groups=groups)]
    print(
        f"\ncoverage of 90% jackknife intervals, {repeats} tables\n  {'':<22}{'M = 5':>8}{'M = 10':>8}{'M = 30':>8}"
    )
    rng = np.random.default_rng(0)
    tables = {m: [selections(m, rng) for _ in range(repeats)] for m in (5, 10, 30)}
    for measure in measures:
        truth = np.mean([measure(z) for z in tables[30]])
        held = []
        for runs in tables.values():
            intervals = [
                stability_interval(z, measure=measure, confidence_level=0.9)
                for z in runs
            ]
            held.append(
                np.mean([found.low <= truth <= found.high for found in intervals])
            )
        print(f"  {measure.name:<22}" + "".join(f"{share:>8.2f}" for share in held))


def main():
    rng = np.random.default_rng(0)
    similarity = similarity_matrix(rng)
    dense = similarity.toarray()
    tables = {
        f"k = {SIZE}": of_sizes(np.full(N_RUNS, SIZE), rng),
        "k from 15 to 45": of_sizes(rng.integers(15, 46, N_RUNS), rng),
    }
    slow = {
        name: pair_by_pair(adjustment, dense, rng) for name, adjustment in PAIR.items()
    }
    for label, z in tables.items():
        sizes = np.unique(z.sum(axis=1)).size
        print(
            f"\nM = {N_RUNS}, d = {N_FEATURES}, {label} ({sizes} distinct sizes), {N_EDGES} edges"
        )
        print(
            f"  {'':<22}{'seconds':>9}{'with interval':>15}{'pair by pair / ours':>21}"
        )
        for name in [*PAIR, "zucknick", "pogr", "npogr", "redundancy_dice"]:
            times = [
                best_time(partial(call, z, name, similarity))
                for call in (value, with_interval)
            ]
            verdict = ""
            if name in slow:
                ratio = slow[name] / times[0]
                verdict = f"{ratio:>21.0f}   at least {LIMIT}  {'ok' if ratio >= LIMIT else 'TOO SLOW'}"
            print(f"  {name:<22}{times[0]:>9.3f}{times[1]:>15.3f}{verdict}")


if __name__ == "__main__":
    main()
    coverage()

"""Co-selection at d = 10 000, 50 selected per run, M = 1000, against one `np.bincount` over the selected entries.

Three kinds of runs: few strong features among many rare ones (frequencies fall as 1/rank), the same with substitutes
that take turns, and features drawn at random, of which none is frequent. The features that are tested are those
selected in at least 5% of the runs; what the pairs of all features cost is measured beside it.

    python benchmarks/co_selection.py
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import time

import numpy as np
from scipy import sparse

from skstab.inspection import co_selection, feature_clusters
from skstab.runs import Runs

N_RUNS, N_FEATURES, SIZE = 1000, 10_000, 50
LIMIT = 100


def drawn(weights, rng):
    """Runs of distinct features drawn one after the other with these weights."""
    keys = rng.exponential(size=(N_RUNS, N_FEATURES)) / weights
    return np.argpartition(keys, SIZE, axis=1)[:, :SIZE]


def as_runs(columns):
    entries = (
        np.ones(columns.size, dtype=bool),
        columns.ravel(),
        np.arange(0, columns.size + 1, SIZE),
    )
    return Runs(sparse.csr_array(entries, shape=(N_RUNS, N_FEATURES)))


def taking_turns(columns, rng, n=20):
    """Replace each of the n most frequent features in half of the runs by a copy that is otherwise never selected."""
    swap = rng.random(columns.shape) < 0.5
    return np.where(
        (columns < n) & swap,
        columns + N_FEATURES - n,
        np.where(columns >= N_FEATURES - n, n, columns),
    )


def best_time(call, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def distinct(columns):
    """Replace what a run holds twice by features that are rare."""
    columns = np.sort(columns, axis=1)
    twice = np.zeros(columns.shape, dtype=bool)
    twice[:, 1:] = columns[:, 1:] == columns[:, :-1]
    return np.where(twice, 5000 + np.arange(columns.shape[1]), columns)


def main():
    rng = np.random.default_rng(0)
    skewed = drawn(1 / (1 + np.arange(N_FEATURES)), rng)
    tables = {
        "frequencies as 1/rank": as_runs(skewed),
        "the same, with substitutes": as_runs(distinct(taking_turns(skewed, rng))),
        "at random": as_runs(drawn(np.ones(N_FEATURES), rng)),
    }
    print(
        f"M = {N_RUNS}, d = {N_FEATURES}, {SIZE} selected per run: times one bincount"
    )
    print(
        f"  {'':<28}{'features':>9}{'pairs':>9}{'found':>7}{'ratio':>8}{'all pairs':>11}"
    )
    for name, runs in tables.items():
        unit = best_time(
            lambda runs=runs: np.bincount(runs.supports.indices, minlength=N_FEATURES),
            200,
        )
        ratio = best_time(lambda runs=runs: co_selection(runs), 20) / unit
        everything = (
            best_time(lambda runs=runs: co_selection(runs, min_frequency=0), 1) / unit
        )
        found = co_selection(runs)
        n_found = (found.pairs["kind"] != "neither").sum()
        verdict = "ok" if ratio <= LIMIT else "TOO SLOW"
        print(
            f"  {name:<28}{len(found.frequencies):>9}{found.n_pairs:>9}{n_found:>7}{ratio:>8.0f}{everything:>11.0f}"
            f"   limit {LIMIT}  {verdict}"
        )
    clusters(rng)


def clusters(rng, n=100, d=20_000):
    """Seconds and memory of the clusters of 20 000 features, a fifth of them in groups of four."""
    import tracemalloc

    X = rng.standard_normal((n, d))
    X[:, : d // 5] = np.repeat(X[:, : d // 20], 4, axis=1) + 0.2 * rng.standard_normal(
        (n, d // 5)
    )
    start = time.perf_counter()
    labels = feature_clusters(X)
    seconds = time.perf_counter() - start
    tracemalloc.start()
    feature_clusters(X)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    print(
        f"\nclusters of {d} features, n = {n}: {seconds:.1f} s, {labels.max() + 1} clusters, peak {peak:.0f} MiB",
        end="",
    )
    print(f" (all correlations: {d * d * 8 / 2**20:.0f} MiB)")


if __name__ == "__main__":
    main()

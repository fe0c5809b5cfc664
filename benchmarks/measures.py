"""What the measures cost, as ratios to a reference timed in the same run on one thread.

The references: one `np.bincount` over the selected entries (sparse tables), one sum over the columns (dense tables) and
the pairwise algorithm of hamer2021, appendix C, written with NumPy.

    python benchmarks/measures.py
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import resource
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
from scipy import sparse

from skstab.metrics import (
    get_measure,
    importance_weighted_stability,
    measure_table,
    nogueira_stability,
)
from skstab.metrics import stability_interval as interval

N_RUNS, N_FEATURES, SIZE = 1000, 10_000, 50


def best_time(call, seconds=0.4):
    """Shortest of as many calls as fit into `seconds`, at least 3: the least disturbed one."""
    times, start = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        call()
        times.append(time.perf_counter() - before)
    return min(times)


def random_supports(sizes, n_features, seed=0):
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.choice(n_features, size, replace=False)) for size in sizes]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    data = np.ones(indptr[-1])
    return sparse.csr_array(
        (data, np.concatenate(rows), indptr), shape=(len(sizes), n_features)
    )


def fresh(csr):
    """The same entries in a new object, so that nothing is cached between two calls."""
    return sparse.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape)


def report(label, ratio, limit=None):
    verdict = (
        ""
        if limit is None
        else f"   limit {limit:>5}  {'ok' if ratio <= limit else 'TOO SLOW'}"
    )
    print(f"  {label:<34}{ratio:>9.1f}{verdict}")


def sparse_measures(label, sizes):
    supports = random_supports(sizes, N_FEATURES)
    reference = best_time(lambda: np.bincount(supports.indices, minlength=N_FEATURES))
    print(
        f"\nsparse, M = {N_RUNS}, d = {N_FEATURES}, {label}: times one bincount ({reference * 1e6:.0f} µs)"
    )
    constant = np.ptp(sizes) == 0
    table = measure_table()
    for name in table.index[table["kind"] == "subset"]:
        if constant or table.loc[name, "fully_defined"]:
            limit = (
                None
                if name in ("jaccard", "krizek", "zucknick", "redundancy_dice")
                else 40
            )
            report(
                name,
                best_time(lambda name=name: get_measure(name)(fresh(supports)))
                / reference,
                limit,
            )
    report(
        "nogueira, jackknife interval",
        best_time(lambda: interval(fresh(supports))) / reference,
        200,
    )
    weighted = fresh(supports)
    weighted.data = np.random.default_rng(1).random(weighted.nnz)
    for name in ("pearson", "spearman", "importance_weighted"):
        report(
            name, best_time(lambda name=name: get_measure(name)(weighted)) / reference
        )


def dense_nogueira():
    dense = random_supports(np.full(N_RUNS, SIZE), N_FEATURES).toarray()
    print(f"\ndense, M = {N_RUNS}, d = {N_FEATURES}: times one sum over the columns")
    for dtype in (bool, np.uint8, np.int64, np.float64):
        table = dense.astype(dtype)
        reference = best_time(lambda table=table: table.sum(axis=0))
        report(
            f"nogueira, {dtype.__name__}",
            best_time(lambda table=table: nogueira_stability(table)) / reference,
            4,
        )


def pairwise_importance_weighted(importances):
    """hamer2021, equation (6) with Algorithm 2: sorted runs, prefix sums, and a loop over pairs."""
    m, d = importances.shape
    runs = []
    for start, end in pairwise(importances.indptr):
        values = importances.data[start:end] / importances.data[start:end].sum()
        runs.append((importances.indices[start:end], values, np.sort(values)))
    shared = chance = 0.0
    row = np.zeros(d)
    for i, (features, values, ranked) in enumerate(runs):
        row[features] = values
        sums = np.concatenate([[0], np.cumsum(ranked)])
        for other_features, other_values, other_ranked in runs[:i]:
            shared += np.minimum(row[other_features], other_values).sum()
            below = np.searchsorted(ranked, other_ranked)
            chance += (sums[below] + (ranked.size - below) * other_ranked).sum() / d
        row[features] = 0.0
    pairs = m * (m - 1) / 2
    return (shared - chance) / (pairs - chance)


def importance_weighted():
    print(f"\nimportance-weighted, d = {N_FEATURES}, k = {SIZE}")
    rng = np.random.default_rng(0)
    times = {}
    for m in (250, 1000, 4000):
        importances = random_supports(np.full(m, SIZE), N_FEATURES)
        importances.data = rng.random(importances.nnz)
        times[m] = best_time(
            lambda table=importances: importance_weighted_stability(table)
        )
        if m == N_RUNS:
            before = time.perf_counter()
            value = pairwise_importance_weighted(importances)
            slow = time.perf_counter() - before
            assert np.isclose(
                value, importance_weighted_stability(importances), atol=1e-12
            )
            print(
                f"  pairwise algorithm / ours, M = {m}{slow / times[m]:>9.1f}   at least 100"
            )
    report("growth from M = 250 to 1000", times[1000] / times[250], 7)
    report("growth from M = 1000 to 4000", times[4000] / times[1000], 7)


def large_table():
    """Everything at d = 1 000 000 in a separate process, to measure its peak memory."""
    done = subprocess.run(
        [sys.executable, __file__, "--large"],
        capture_output=True,
        text=True,
        check=True,
    )
    print(
        f"\nd = 1 000 000, M = 1000, k about 100, all measures and a jackknife interval each\n  {done.stdout.strip()}"
    )


def _large():
    supports = random_supports(np.random.default_rng(0).poisson(100, 1000), 1_000_000)
    before = time.perf_counter()
    table = measure_table()
    for name in table.index[(table["kind"] != "ranking") & table["fully_defined"]]:
        interval(supports, measure=name)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{time.perf_counter() - before:.1f} s, peak memory of the process {peak:.2f} GB (limit 1)"
    )


def main():
    sparse_measures(f"k = {SIZE}", np.full(N_RUNS, SIZE))
    sparse_measures(
        "k varies around 50", np.random.default_rng(0).poisson(SIZE, N_RUNS)
    )
    dense_nogueira()
    importance_weighted()
    large_table()


if __name__ == "__main__":
    _large() if "--large" in sys.argv else main()

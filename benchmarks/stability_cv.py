"""What `StabilityCV` costs, against a loop written by hand over the same splits, in the same run.

The loop takes the rows, clones, fits, scores, and keeps the score only. `StabilityCV` does that too; it also reads and
keeps what each run selected, computes the stability with its interval, and fits once more on all rows. That last fit is
an additional result, so the ratio to the loop followed by one fit on all rows is also given.

Times are measured with an allocator that keeps freed memory. By default glibc returns arrays of this size to the
system, and the page faults of allocating them again can double the time of a run, on either side, depending only on
the order of allocations.

    python benchmarks/stability_cv.py
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import resource
import subprocess
import sys
import time

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab.model_selection import BootstrapSplit, StabilityCV

N_RUNS, N_FEATURES, N_ROWS, N_ROWS_MEMORY = 30, 3000, 300, 2000
N_ROWS_PARALLEL = 600  # for runs of at least 50 ms
N_PROCESSES = 5
N_ROWS_LINEAR = 1000  # for models so fast that 300 rows take only 10 ms

# With their own seeds, so that the loop and StabilityCV do the same work: StabilityCV sets missing seeds, and even a
# model that does not use its seed then makes a generator, which takes 0.1 ms.
L1_LOGISTIC = make_pipeline(
    StandardScaler(),
    LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0),
)
FOREST = SelectFromModel(RandomForestClassifier(12, random_state=0))
K_BEST = make_pipeline(SelectKBest(k=50), LogisticRegression(random_state=0))
LASSO = Lasso(alpha=0.3, random_state=0)


def regression(n_rows):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, N_FEATURES))
    return X, X[:, :20] @ np.linspace(1, 2, 20) + rng.standard_normal(n_rows)


def classification(n_rows):
    X, y = regression(n_rows)
    return X, (y > 0).astype(int)


def splits_of(X, y):
    return list(BootstrapSplit(N_RUNS, random_state=0).split(X, y))


def loop(estimator, X, y, splits):
    scores = []
    for train, test in splits:
        fitted = clone(estimator).fit(X[train], y[train])
        if hasattr(fitted, "score"):
            scores.append(fitted.score(X[test], y[test]))
    return np.array(scores)


def stability_cv(estimator, X, y, splits, n_jobs=1):
    return StabilityCV(estimator, cv=splits, n_jobs=n_jobs, random_state=0).fit(X, y)


def best_times(calls, seconds, clock=time.perf_counter):
    """Shortest time of each call; the calls alternate for `seconds`, at least 5 times."""
    times, start, rng = [], time.perf_counter(), np.random.default_rng(0)
    while len(times) < 5 or time.perf_counter() - start < seconds:
        times.append([])
        for call in calls:
            # The addresses of arrays can change the time by a tenth: every call gets randomly shifted ones.
            shift = np.ones(rng.integers(2**24), np.uint8)
            before = clock()
            call()
            times[-1].append(clock() - before)
            del shift
    return np.min(times, axis=0)


def report(label, ratio, limit=None, *, at_least=False):
    met = limit is None or (ratio >= limit if at_least else ratio <= limit)
    verdict = (
        ""
        if limit is None
        else f"   {'at least' if at_least else 'limit'} {limit}  {'ok' if met else 'NOT MET'}"
    )
    print(f"  {label:<58}{ratio:>7.2f}{verdict}", flush=True)


# Label, estimator, data, rows, and whether a limit holds: runs of 10 ms are so short that a millisecond matters.
OVERHEAD = {
    "scaler and L1 logistic regression": (L1_LOGISTIC, classification, N_ROWS, True),
    "50 best and logistic regression": (K_BEST, classification, N_ROWS_LINEAR, True),
    "Lasso": (LASSO, regression, N_ROWS_LINEAR, True),
    "short runs: 50 best and logistic regression": (
        K_BEST,
        classification,
        N_ROWS,
        False,
    ),
    "short runs: Lasso": (LASSO, regression, N_ROWS, False),
}


def overhead(label):
    """Print the medians over several processes: the addresses of arrays in one can change a time by a tenth."""
    command = [sys.executable, __file__, "--overhead", label]
    outputs = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for _ in range(N_PROCESSES)
    ]
    by_hand, ours, refit = np.array(
        [[float(time) for time in output.split()] for output in outputs]
    ).T
    _, _, n_rows, limited = OVERHEAD[label]
    run = np.median(by_hand) / N_RUNS * 1e3
    print(
        f"\n{label}, n = {n_rows}, d = {N_FEATURES}, {N_RUNS} runs: loop {run:.0f} ms per run, {N_PROCESSES} processes"
    )
    report("StabilityCV / loop", np.median(ours / by_hand), 1.1 if limited else None)
    report(
        "StabilityCV / loop and a fit on all rows", np.median(ours / (by_hand + refit))
    )
    report(
        "milliseconds per run, beyond these",
        np.median(ours - by_hand - refit) / N_RUNS * 1e3,
    )


def _overhead(label):
    estimator, make, n_rows, _ = OVERHEAD[label]
    X, y = make(n_rows)
    splits = splits_of(X, y)
    np.testing.assert_array_equal(
        loop(estimator, X, y, splits),
        stability_cv(estimator, X, y, splits).scores_["score"],
    )
    times = best_times(
        [
            lambda: loop(estimator, X, y, splits),
            lambda: stability_cv(estimator, X, y, splits),
            lambda: clone(estimator).fit(X, y),
        ],
        seconds=12,
        clock=time.process_time,  # one thread: less influence of other load on the machine
    )
    print(*times)


def two_jobs(label, estimator):
    X, y = classification(N_ROWS_PARALLEL)
    splits = splits_of(X, y)
    halves = splits[: N_RUNS // 2], splits[N_RUNS // 2 :]
    stability_cv(
        estimator, X, y, splits[:4], n_jobs=2
    )  # starts the workers, which then stay
    one, two, by_hand, halved = best_times(
        [
            lambda: stability_cv(estimator, X, y, splits),
            lambda: stability_cv(estimator, X, y, splits, n_jobs=2),
            lambda: loop(estimator, X, y, splits),
            lambda: Parallel(n_jobs=2)(
                delayed(loop)(estimator, X, y, half) for half in halves
            ),
        ],
        seconds=30,
    )
    run = one / (N_RUNS + 1)
    print(
        f"\ntwo jobs, {label}, n = {N_ROWS_PARALLEL}: {run * 1e3:.0f} ms a run, workers started before"
    )
    report(
        "n_jobs=1 / n_jobs=2", one / two, 1.6 if run >= 0.05 else None, at_least=True
    )
    report("the same of the loop, half of it on each of two workers", by_hand / halved)


# Each in a separate process, to measure its peak memory.
MEMORY = {
    "data": lambda *_: None,
    "loop": loop,
    "n_jobs=1": stability_cv,
    "n_jobs=2": lambda *args: stability_cv(*args, n_jobs=2),
}


IN_MEMORY = {"scaled": L1_LOGISTIC, "selected": K_BEST}


def memory(label):
    peaks = {}
    for what in MEMORY:
        command = [sys.executable, __file__, "--memory", what, label]
        peaks[what] = float(
            subprocess.run(command, capture_output=True, text=True, check=True).stdout
        )
    print(
        f"\npeak memory of the process, {label}, n = {N_ROWS_MEMORY}, d = {N_FEATURES}: "
        f"{peaks['data']:.0f} MB with the data, {peaks['loop']:.0f} MB at most by the loop"
    )
    for what in ("n_jobs=1", "n_jobs=2"):
        report(f"StabilityCV, {what} / loop", peaks[what] / peaks["loop"], 1.2)


def _memory(what, label):
    X, y = classification(N_ROWS_MEMORY)
    # The peak does not grow with the number of runs after the first few.
    MEMORY[what](IN_MEMORY[label], X, y, splits_of(X, y)[:6])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)


def _times():
    for label in OVERHEAD:
        overhead(label)
    two_jobs("scaler and L1 logistic regression", L1_LOGISTIC)
    two_jobs("forest", FOREST)


KEEP_FREED_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(10**9),
    "MALLOC_TRIM_THRESHOLD_": str(4 * 10**9),
}


def main():
    memory("scaled")
    memory("selected")
    subprocess.run(
        [sys.executable, __file__, "--times"],
        env={**os.environ, **KEEP_FREED_MEMORY},
        check=True,
    )


if __name__ == "__main__":
    if "--memory" in sys.argv:
        _memory(*sys.argv[2:])
    elif "--overhead" in sys.argv:
        _overhead(sys.argv[2])
    else:
        _times() if "--times" in sys.argv else main()

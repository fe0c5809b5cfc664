"""What `HybridRFE` costs, against the same elimination written as a loop over `LogisticRegression`, in the same run.

The loop fits scikit-learn's default solver (lbfgs) with tol=1e-6 on the features that remain, on the rows of a
bootstrap sample as they are. Run to 1e-12 it is also the reference: both must select the same features.

    python benchmarks/hybrid_rfe.py
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import resource
import subprocess
import sys
import time
from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from skstab.feature_selection import HybridRFE

LIMITS = {"d >> n": 5.0, "n > d": 1.0}
# rows, features, features to select, classes
SIZES = {
    "d >> n": [(100, 5000, 20, 2)],
    "n > d": [
        (150, 100, 10, 2),
        (500, 200, 20, 2),
        (2000, 50, 10, 2),
        (2000, 200, 20, 3),
    ],
}
SECONDS = 8


def sample(n_rows, n_features, n_classes, seed=0):
    """A bootstrap sample of correlated features, of which 20 are informative about the classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) + 0.5 * rng.standard_normal(
        (n_rows, 1)
    )
    signal = X[:, :20].sum(axis=1) + 2 * rng.standard_normal(n_rows)
    y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    rows = rng.integers(n_rows, size=n_rows)
    return X[rows], y[rows]


def loop(X, y, n_select, tol=1e-6, model=None):
    """RFE, by logistic regression or a model, that drops a fifth of what remains, and the final fit."""
    features = np.arange(X.shape[1])
    model = model or LogisticRegression(tol=tol, max_iter=100_000)
    while len(features) > n_select:
        model.fit(X[:, features], y)
        n_dropped = min(max(1, int(0.2 * len(features))), len(features) - n_select)
        order = np.argsort(-np.linalg.norm(model.coef_, axis=0), kind="stable")
        features = np.sort(features[order[: len(features) - n_dropped]])
    model.fit(X[:, features], y)
    return features


def best_times(calls, seconds):
    """Shortest time of each call; the calls alternate for `seconds`, at least 3 times."""
    times, start = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < seconds:
        times.append([])
        for call in calls:
            before = time.process_time()
            call()
            times[-1].append(time.process_time() - before)
    return np.min(times, axis=0)


def compare(where, n_rows, n_features, n_select, n_classes):
    X, y = sample(n_rows, n_features, n_classes)
    hybrid = HybridRFE(n_select)
    same = np.array_equal(
        hybrid.fit(X, y).get_support(indices=True), loop(X, y, n_select, tol=1e-12)
    )
    by_loop, ours = best_times(
        [lambda: loop(X, y, n_select), lambda: hybrid.fit(X, y)], SECONDS
    )
    ratio, limit = by_loop / ours, LIMITS[where]
    print(
        f"  {where}, n = {n_rows}, d = {n_features}, k = {n_select}, {n_classes} classes: loop {by_loop * 1e3:.0f} ms"
    )
    print(
        f"    {ratio:.1f} times as fast   at least {limit}  {'ok' if ratio >= limit else 'NOT MET'}"
    )
    print(
        f"    the features of the loop run to 1e-12: {'yes' if same else 'NO'}",
        flush=True,
    )


def hinge(n_rows, n_features, C):
    """Support vector machines against the logistic loss, and against the same loop over `SVC`."""
    X, y = sample(n_rows, n_features, 2)
    models = [HybridRFE(20, loss=loss, C=C) for loss in ("logistic", "hinge")]
    machine = SVC(kernel="linear", C=C)
    calls = [
        *(partial(model.fit, X, y) for model in models),
        partial(loop, X, y, 20, model=machine),
    ]
    logistic, ours, by_loop = best_times(calls, SECONDS / 4)
    print(
        f"  n = {n_rows}, d = {n_features}, C = {C:g}: hinge {ours * 1e3:.0f} ms, {ours / logistic:.1f} times the "
        f"logistic loss, {ours / by_loop:.2f} times a loop over SVC",
        flush=True,
    )


def peak():
    """Peak memory of a process that fits 50 000 features of 200 rows."""
    command = [sys.executable, __file__, "--memory"]
    megabytes = float(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    verdict = "ok" if megabytes < 1024 else "NOT MET"
    print(
        f"  d = 50 000, n = 200: {megabytes:.0f} MB at most, the data included   limit 1024  {verdict}"
    )


def _memory():
    X, y = sample(200, 50_000, 2)
    HybridRFE(20, n_stable_features=5).fit(X, y)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)


def main():
    print(
        "HybridRFE against a loop over LogisticRegression (lbfgs, tol 1e-6), one thread"
    )
    for where, sizes in SIZES.items():
        for size in sizes:
            compare(where, *size)
    print("loss='hinge', by libsvm (tol 1e-5; the loop: 1e-3)")
    for n_rows, n_features in ((62, 2000), (100, 5000), (300, 500), (1000, 100)):
        for C in (0.01, 1.0):
            hinge(n_rows, n_features, C)
    peak()


if __name__ == "__main__":
    _memory() if "--memory" in sys.argv else main()

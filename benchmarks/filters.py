"""What filters and importances cost, as ratios to a reference timed alternately in the same run on one thread.

python benchmarks/filters.py
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import time
import tracemalloc
import warnings
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import f_classif, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC

from skstab.feature_selection import (
    information_gain,
    relieff,
    symmetrical_uncertainty,
    welch_variance,
)
from skstab.inspection import flip_importance, linear_importance, margin_importance


def data(n, d, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.standard_normal((n, d))
    X[:, : d // 20] += y[:, None]
    return X, y


def times_in_turns(calls, repeats=5):
    """Shortest time of each call; the calls alternate, so that other load on the machine affects all alike."""
    times = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            before = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - before)
    return {name: min(taken) for name, taken in times.items()}


def compare(title, reference, calls, limits=None, repeats=5):
    times = times_in_turns({"reference": reference, **calls}, repeats)
    base = times.pop("reference")
    print(f"\n{title} ({base * 1e3:.1f} ms)")
    for name, taken in times.items():
        limit = (limits or {}).get(name)
        verdict = (
            ""
            if limit is None
            else f"   limit {limit}  {'ok' if taken <= limit * base else 'TOO SLOW'}"
        )
        print(f"  {name:<44}{taken / base:>8.2f}{verdict}")


def relief(n=500, d=2000):
    X, y = data(n, d)
    many = data(n, d, 10)[1]
    numbers = X[:, 0] + X[:, 1] ** 2
    few = sparse.csr_array(np.where(np.abs(X) > 1.96, X, 0))
    search = NearestNeighbors(n_neighbors=10, algorithm="brute", metric="manhattan")
    calls = {
        "relieff, 2 classes": lambda: relieff(X, y),
        "relieff, 10 classes": lambda: relieff(X, many),
        "relieff, numeric target": lambda: relieff(X, numbers),
        "relieff, 2 classes, sparse X (5%)": lambda: relieff(few, y),
    }
    limits = dict.fromkeys(list(calls)[:3], 3)
    title = f"n = {n}, d = {d}: times one NearestNeighbors brute-force search"
    compare(title, lambda: search.fit(X).kneighbors(X), calls, limits)


def information(n=100, d=2000):
    X, y = data(n, d)
    five = data(n, d, 5)[1]
    calls = {
        "information_gain, 2 classes": lambda: information_gain(X, y),
        "information_gain, 5 classes": lambda: information_gain(X, five),
        "symmetrical_uncertainty, 2 classes": lambda: symmetrical_uncertainty(X, y),
        "information_gain, discrete": lambda: information_gain(
            np.round(X), y, discrete_features=True
        ),
        "mutual_info_classif of scikit-learn": lambda: mutual_info_classif(
            X, y, random_state=0
        ),
    }
    compare(
        f"n = {n}, d = {d}: times sorting every column",
        lambda: np.argsort(X, axis=0),
        calls,
        repeats=3,
    )


def welch(n=100, d=50_000):
    X, y = data(n, d)
    three = data(n, d, 3)[1]
    calls = {
        "welch_variance, 2 classes": lambda: welch_variance(X, y),
        "welch_variance, 3 classes": lambda: welch_variance(X, three),
        "welch_variance, numeric target": lambda: welch_variance(X, X[:, 0]),
    }
    compare(
        f"n = {n}, d = {d}: times f_classif of scikit-learn",
        lambda: f_classif(X, y),
        calls,
    )
    tracemalloc.start()
    welch_variance(X, y)
    print(
        f"  peak memory {tracemalloc.get_traced_memory()[1] / 8 / d:.0f} numbers for each feature, X has {n}"
    )
    tracemalloc.stop()


def importances(n=100, d=50):
    X, y = data(n, d)
    svc, logistic = SVC().fit(X, y), LogisticRegression().fit(X, y)
    calls = {
        "linear_importance": lambda: linear_importance(logistic, X),
        "margin_importance, rbf": lambda: margin_importance(svc, X),
        "flip_importance, logistic regression": lambda: flip_importance(logistic, X),
        "flip_importance, SVC": lambda: flip_importance(svc, X),
        "flip_importance, SVC, max_change=16": partial(
            flip_importance, svc, X, max_change=16
        ),
    }
    compare(f"n = {n}, d = {d}: times one fit of SVC", lambda: SVC().fit(X, y), calls)


def wide_margin(n=200, d=2000):
    X, y = data(n, d)
    svc = SVC().fit(X, y)
    calls = {"margin_importance, rbf": lambda: margin_importance(svc, X)}
    compare(f"n = {n}, d = {d}: times one fit of SVC", lambda: SVC().fit(X, y), calls)
    tracemalloc.start()
    margin_importance(svc, X)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    print(
        f"  peak memory {peak:.0f} MB; all kernels at once would be {n * n * d // 2**17} MB"
    )
    tracemalloc.stop()


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    relief()
    information()
    welch()
    importances()
    wide_margin()

"""What a path of `StabilitySelection` costs, against one cold fit for each value, on the same subsamples and values.

The loop clones, sets the value, fits and counts the non-zero coefficients, and does nothing else. Both stop at the
default tolerance, so a few selections differ, mostly at weak penalties: there the cold fit is the less exact one.

    python benchmarks/stability_selection.py
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.svm import LinearSVC

from skstab.feature_selection import StabilitySelection
from skstab.model_selection import ComplementaryPairsSplit

N_VALUES = 25


def regression(n_rows, n_features):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    return X, X[:, :10] @ np.linspace(1, 2, 10) + 2 * rng.standard_normal(n_rows)


def classification(n_rows, n_features):
    X, y = regression(n_rows, n_features)
    return X, (y > 0).astype(int)


def cold_fits(estimator, name, values, X, y, splits):
    counts = np.zeros((X.shape[1], len(values)))
    for train, _ in splits:
        for place, value in enumerate(values):
            coef = (
                clone(estimator)
                .set_params(**{name: value})
                .fit(X[train], y[train])
                .coef_
            )
            counts[:, place] += np.any(np.atleast_2d(coef) != 0, axis=0)
    return counts / len(splits)


def select(estimator, X, y, splits, **params):
    return StabilitySelection(
        estimator, resampling=splits, random_state=0, **params
    ).fit(X, y)


def best_times(calls, repeats):
    """Shortest time of each call; the calls alternate."""
    times = []
    for _ in range(repeats):
        times.append([])
        for call in calls:
            before = time.process_time()
            call()
            times[-1].append(time.process_time() - before)
    return np.min(times, axis=0)


def report(label, ratio, limit=None):
    verdict = (
        ""
        if limit is None
        else f"   at least {limit}  {'ok' if ratio >= limit else 'NOT MET'}"
    )
    print(f"  {label:<58}{ratio:>9.4g}{verdict}", flush=True)


def compare(
    estimator, data, n_subsamples, *, limit=None, q=None, limit_q=None, repeats=3
):
    X, y = data
    splits = list(ComplementaryPairsSplit(n_subsamples, random_state=0).split(X, y))
    ours = select(estimator, X, y, splits)
    name, values = ours.param_name_, ours.param_values_
    differing = ours.selection_path_ - cold_fits(estimator, name, values, X, y, splits)
    calls = [
        lambda: cold_fits(estimator, name, values, X, y, splits),
        lambda: select(estimator, X, y, splits),
        *([lambda: select(estimator, X, y, splits, q=q)] if q else []),
    ]
    cold, whole, *stopped = best_times(calls, repeats)
    label = f"{type(estimator).__name__}, n = {len(X)}, d = {X.shape[1]}, {n_subsamples} subsamples, {N_VALUES} values"
    print(
        f"\n{label}: {whole / n_subsamples * 1e3:.1f} ms per path, {ours.selection_path_.sum(axis=0).max():.0f} chosen"
    )
    report("cold fits / StabilitySelection", cold / whole, limit)
    for time_stopped in stopped:
        report(
            f"StabilitySelection / the same with q = {q}", whole / time_stopped, limit_q
        )
    report("mean difference between the selection paths", np.abs(differing).mean())
    report("largest difference between the selection paths", np.abs(differing).max())


def main():
    # Of both sides; fits at the weakest penalties converge slowly.
    warnings.simplefilter("ignore", ConvergenceWarning)
    compare(Lasso(), regression(200, 1000), 100, limit=5, q=28, limit_q=2)
    compare(ElasticNet(l1_ratio=0.7), regression(200, 1000), 100)
    liblinear = LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0)
    compare(liblinear, classification(1000, 100), 20)
    compare(liblinear, classification(100, 2000), 20)
    compare(LinearSVC(penalty="l1", random_state=0), classification(100, 2000), 20)
    saga = LogisticRegression(l1_ratio=1, solver="saga", max_iter=1000, random_state=0)
    compare(saga, classification(1000, 100), 2, repeats=1)


if __name__ == "__main__":
    main()

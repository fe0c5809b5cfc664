"""Accuracy and stability that hybrid-RFE reaches, against logistic RFE (hamer2021, figure 9), on two microarrays.

Both are searched on the same bootstrap samples: RFE over its penalties (N = 0), hybrid-RFE over its penalties, the
number of stable features, their shrinkage and the criterion. Accuracy is out of bag, stability is importance-weighted.
Printed are both fronts, the area under each, and the share of RFE's front that hybrid-RFE dominates.

The data (singh: prostate cancer, 2002; alon: colon cancer, 1999) are those of the R package datamicroarray, as NPZ
files with X, y and feature_names in the folder that `--data` names.

    python benchmarks/hybrid_rfe_front.py [--quick] [--data DIR]
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import argparse
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV

from skstab.feature_selection import HybridRFE
from skstab.model_selection import (
    BootstrapSplit,
    StabilityCV,
    WholeSampleSplit,
    pareto_front,
    stability_scoring,
)

SCORE, STABILITY = "accuracy", "importance_weighted"
N_SELECT = 20
# Features that remain after the paper's filter by variance, its table 3.
N_FEATURES = {"singh": 1250, "alon": 2000}
PENALTIES = {
    "estimator__C": np.logspace(-5, 1, 5),
    "estimator__C_final": np.logspace(-5, 1, 5),
}
HYBRID = {
    **PENALTIES,
    "estimator__n_stable_features": [2, 5, 10, 15],
    "estimator__criterion": ["welch_variance", "variance"],
    "estimator__shrinkage": [1.0, 0.1],
}


def read(folder, name):
    path = folder / f"{name}.npz"
    if not path.exists():
        print(f"{name}: skipped, {path} is not there")
        return None
    with np.load(path) as data:
        X, y = data["X"].astype(float), data["y"]
    return X[:, np.sort(np.argsort(-X.var(axis=0))[: N_FEATURES[name]])], y


def search(grid, X, y, n_runs):
    cv = BootstrapSplit(n_runs, stratify=True, random_state=0)
    runs = StabilityCV(HybridRFE(N_SELECT, standardize=True), cv=cv, scoring=SCORE)
    scoring = stability_scoring([STABILITY])
    return (
        GridSearchCV(
            runs, grid, cv=WholeSampleSplit(), scoring=scoring, refit=False, n_jobs=2
        )
        .fit(X, y)
        .cv_results_
    )


def front(results):
    """Points (accuracy, stability) of the front, by decreasing accuracy."""
    points = np.column_stack(
        [results[f"mean_test_{SCORE}"], results[f"mean_test_{STABILITY}"]]
    )
    return np.unique(points[pareto_front(results, SCORE, STABILITY)], axis=0)[::-1]


def area(points):
    """Area of what the front dominates, with accuracies from 1/2 on."""
    accuracy, stability = points.T
    return float(
        np.sum(
            (accuracy - np.append(accuracy[1:], 0.5)) * np.maximum.accumulate(stability)
        )
    )


def dominated(points, by):
    return np.mean(
        [
            np.any((by >= point).all(axis=1) & (by > point).any(axis=1))
            for point in points
        ]
    )


def show(label, points):
    print(
        f"  {label:<11} area {area(points):.3f}; accuracy/stability "
        + ", ".join(f"{a:.3f}/{s:.2f}" for a, s in points)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--quick", action="store_true", help="10 instead of 30 samples")
    options = parser.parse_args()
    for name, n_features in N_FEATURES.items():
        data = read(options.data, name)
        if data is None:
            continue
        n_runs = 10 if options.quick else 30
        print(
            f"{name}, n = {len(data[0])}, d = {n_features}, k = {N_SELECT}, {n_runs} bootstrap samples",
            flush=True,
        )
        rfe, hybrid = (
            front(search(grid, *data, n_runs)) for grid in (PENALTIES, HYBRID)
        )
        show("RFE", rfe)
        show("hybrid-RFE", hybrid)
        shares = dominated(rfe, hybrid), dominated(hybrid, rfe)
        print(
            f"  hybrid-RFE dominates {shares[0]:.0%} of RFE's front, RFE {shares[1]:.0%} of that of hybrid-RFE"
        )


if __name__ == "__main__":
    main()

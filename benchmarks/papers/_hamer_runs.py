"""Data sets, runs, stored results and verdicts of the parts of hamer2021."""

from __future__ import annotations

import warnings
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from _tables import load
from scipy.stats import t as student
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import l1_min_c

from skstab.model_selection import BootstrapSplit, StabilityCV
from skstab.runs import Runs

# All sets of section 7.2, and those of --quick.
SETS = (
    "ionosphere",
    "breast",
    "lsvt",
    "sonar",
    "gastro",
    "alon",
    "singh",
    "gravier",
    "chiaretti",
    "arcene",
    "borovecki",
)
SMALL = ("ionosphere", "breast", "sonar")
N_RUNS = 30  # of the paper in section 7.2
MEASURES = {"φ": "nogueira", "φ_pears": "pearson", "φ_iw": "importance_weighted"}


# -- data and runs -----------------------------------------------------------------------------------------------------


def read(opts: Namespace, name: str, n_features: int = 5000) -> tuple[Any, Any] | None:
    """A set of the paper, with the features of largest variance."""
    data = load_breast_cancer(return_X_y=True) if name == "breast" else load(opts, name)
    if data is None:
        return None
    X, y = data
    if (
        name == "gastro"
    ):  # rows 2i and 2i + 1 are one lesion under two lights; which lesions need no resection?
        X, y = X[1::2], y[1::2] == "hyperplasic"
    return X[:, np.sort(np.argsort(-X.var(axis=0), kind="stable")[:n_features])], y


def kept(opts: Namespace, name: str) -> Path | None:
    """The file in which finished runs are kept, so that a repeated call makes only the missing ones."""
    if opts.quick:
        return None
    folder = opts.out / "hamer2021"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.sqlite"


def n_selected(X: Any) -> float:
    """How many features the paper selects in section 7.2."""
    return min(20.0, X.shape[1] ** 0.5)


def run(estimator: Any, X: Any, y: Any, n_runs: int, **params: Any) -> StabilityCV:
    cv = BootstrapSplit(n_runs, random_state=0)
    return StabilityCV(
        estimator, cv=cv, scoring="accuracy", random_state=0, **params
    ).fit(X, y)


def compromise(runs: StabilityCV) -> dict[str, float]:
    """Out-of-bag accuracy and the three stabilities."""
    stabilities = {
        symbol: runs.stability(measure) for symbol, measure in MEASURES.items()
    }
    return {"A": float(runs.scores_["accuracy"].mean()), **stabilities}


def run_with_size(
    model_of: Any,
    X: Any,
    y: Any,
    size: float,
    weakest: float,
    n_runs: int,
    *,
    n_trials: int = 0,
    **params: Any,
) -> tuple[float, StabilityCV]:
    """Find C, from `weakest` on, with which `size` features are selected on average, by bisection of its logarithm.

    With `n_trials`, the number of features is that of so many runs.
    """
    low, high = weakest, 100 * weakest
    for _ in range(9):
        C = np.sqrt(low * high)
        with warnings.catch_warnings():  # runs that select nothing, at the weak end
            warnings.filterwarnings("ignore", "all runs agree", RuntimeWarning)
            runs = run(model_of(C), X, y, n_trials or n_runs, **params)
        found = runs.selection_frequencies_.sum()
        if abs(found - size) < 0.02 * size:
            break
        low, high = (C, high) if found < size else (low, C)
    return float(C), run(model_of(C), X, y, n_runs, **params) if n_trials else runs


def weakest_C(X: Any, y: Any) -> float:
    """The largest C with which an L1 logistic regression selects nothing."""
    return float(l1_min_c(StandardScaler().fit_transform(X), y, loss="log"))


# -- verdicts ----------------------------------------------------------------------------------------------------------


def accuracy_gap(a: Runs, b: Runs) -> tuple[float, bool]:
    """Difference of two mean accuracies on the same samples, and whether it is clear at 5%.

    By the corrected resampled t-test, whose variance has 0.1 beside 1/M for the rows that samples share.
    """
    difference = np.asarray(a.scores["accuracy"]) - np.asarray(b.scores["accuracy"])
    gap, n_runs = float(difference.mean()), len(difference)
    error = difference.std(ddof=1) * np.sqrt(1 / n_runs + 0.1)
    return gap, bool(abs(gap) > student.ppf(0.975, n_runs - 1) * error)


def verdict(difference: float, is_clear: bool) -> str:
    """What is said of a difference that the paper expects to be above 0."""
    return "tie" if not is_clear else "holds" if difference > 0 else "**does not hold**"

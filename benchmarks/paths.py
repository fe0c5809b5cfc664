"""What a regularisation path costs, against glmnet's (R) on the same half-samples and penalties.

CPU time of one thread, best of three, with and without the extra `fast`. Compared at each side's default tolerance, and
at equal optimality: the largest violation of the optimality conditions relative to the penalty, over all values of the
first half-samples, is at most a given level on both sides. glmnet's threshold is then the loosest power of ten that
reaches the level; where none does, the time of the tightest one is a lower bound. Without R only our times are printed.

    python benchmarks/paths.py
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import Lasso, LogisticRegression

from skstab._linear_paths import active_set, fast, screening
from skstab._linear_paths.linear_models import PARAMETERS, linear_models
from skstab.feature_selection._paths import path_of, strongest_value
from skstab.model_selection import ComplementaryPairsSplit

N_HALVES, N_CHECKED, REPEATS = 10, 3, 3
LEVELS = [1e-2, 1e-4]
THRESHOLDS = [1e-7, *10.0 ** -np.arange(6, 16)]  # glmnet's default first

LOGISTIC = LogisticRegression(l1_ratio=1, solver="saga")
CASES = [
    (Lasso(), 200, 1000, 25), (Lasso(), 200, 1000, 100),
    (LOGISTIC, 1000, 100, 25), (LOGISTIC, 1000, 100, 100),
    (LOGISTIC, 100, 5000, 25), (LOGISTIC, 100, 5000, 100),
]  # fmt: skip

GLMNET = """
suppressMessages(library(glmnet))
args <- commandArgs(TRUE); setwd(args[1]); size <- as.integer(args[3:7]); threshold <- as.numeric(args[8])
n <- size[1]; d <- size[2]; n_values <- size[3]; halves <- size[4]; checked <- size[5]
X <- matrix(readBin("X", "double", n * d), n, d); y <- readBin("y", "double", n)
lambda <- readBin("lambda", "double", n_values)
rows <- matrix(readBin("rows", "integer", halves * n / 2), n / 2, halves)
fit <- function(r) glmnet(X[rows[, r], ], y[rows[, r]], family = args[2], lambda = lambda, standardize = FALSE,
                          thresh = threshold)
times <- replicate(3, sum(system.time(for (r in 1:halves) fit(r))[1:2]))
models <- lapply(1:checked, function(r) { g <- fit(r); as.numeric(rbind(as.matrix(g$beta), g$a0)) })
writeBin(c(min(times) / halves, unlist(models)), "found")
"""


# -- both sides --------------------------------------------------------------------------------------------------------


def data_of(estimator, n_rows, n_features):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    y = X[:, :10] @ np.linspace(1, 2, 10) + 2 * rng.standard_normal(n_rows)
    return X, y if isinstance(estimator, Lasso) else (y > 0).astype(float)


def penalties_of(estimator, values, n_rows):
    """Penalties as glmnet counts them, of the mean loss."""
    return values if PARAMETERS[type(estimator)] == "alpha" else 1 / (values * n_rows)


def worst_violation(estimator, X, y, penalties, coefs, intercepts):
    """Largest violation of an optimality condition at any penalty, relative to it."""
    f = X @ coefs.T + intercepts
    slopes = (
        f - y[:, None]
        if isinstance(estimator, Lasso)
        else 1 / (1 + np.exp(-f)) - y[:, None]
    )
    gradients = (X.T @ slopes / len(y)).T
    bend = penalties[:, None]
    outside = np.maximum(np.abs(gradients) - bend, 0)
    violations = np.where(
        coefs == 0, outside, np.abs(gradients + bend * np.sign(coefs))
    )
    return (violations / bend).max()


def our_time(estimator, values, X, y, halves):
    name, times = PARAMETERS[type(estimator)], []
    for _ in range(REPEATS):
        before = time.process_time()
        for rows in halves:
            list(path_of(estimator, name, values, X[rows], y[rows], {}))
        times.append(time.process_time() - before)
    return min(times) / len(halves)


def our_violation(estimator, values, X, y, halves):
    found = []
    for rows in halves[:N_CHECKED]:
        models = linear_models(estimator, X[rows], y[rows], values)
        penalties = penalties_of(estimator, values, len(rows))
        found.append(
            worst_violation(
                estimator,
                X[rows],
                y[rows],
                penalties,
                models.coefs[:, 0],
                models.intercepts[:, 0],
            )
        )
    return max(found)


def glmnet(estimator, values, X, y, halves):
    """Time and violation of glmnet at each threshold, until the lowest level is reached; nothing without R."""
    rscript = shutil.which("Rscript")
    if (
        not rscript
        or subprocess.run(
            [rscript, "-e", "library(glmnet)"], capture_output=True, check=False
        ).returncode
    ):
        return []
    penalties = penalties_of(estimator, values, len(halves[0]))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        X.T.tofile(place / "X")
        y.tofile(place / "y")
        penalties.tofile(place / "lambda")
        (np.array(halves) + 1).astype(np.int32).tofile(place / "rows")
        (place / "glmnet.R").write_text(GLMNET)
        family = "gaussian" if isinstance(estimator, Lasso) else "binomial"
        sizes = [str(size) for size in (*X.shape, len(values), len(halves), N_CHECKED)]
        for threshold in THRESHOLDS:
            call = [rscript, place / "glmnet.R", place, family, *sizes, str(threshold)]
            subprocess.run(call, check=True, stderr=subprocess.DEVNULL)
            seconds, *models = np.fromfile(place / "found")
            if len(models) < N_CHECKED * len(values) * (X.shape[1] + 1):
                break  # it stopped before the last penalty
            models = np.reshape(models, (N_CHECKED, len(values), X.shape[1] + 1))
            found.append(
                (seconds, glmnet_violation(estimator, models, penalties, X, y, halves))
            )
            if found[-1][1] <= min(LEVELS):
                break
    return found


def glmnet_violation(estimator, models, penalties, X, y, halves):
    return max(
        worst_violation(
            estimator, X[rows], y[rows], penalties, model[:, :-1], model[:, -1]
        )
        for rows, model in zip(halves, models, strict=False)
    )


# -- comparing ---------------------------------------------------------------------------------------------------------


def report(label, ours, theirs, limit, note=""):
    ratio = ours / theirs
    verdict = "ok" if ratio <= limit else "NOT MET"
    print(
        f"  {label:<44}{ours * 1e3:>8.1f}{theirs * 1e3:>8.1f}{ratio:>7.2f}   limit {limit}  {verdict}{note}",
        flush=True,
    )


def compare(estimator, n_rows, n_features, n_values, solvers):
    X, y = data_of(estimator, n_rows, n_features)
    weakest = 0.01 if PARAMETERS[type(estimator)] == "alpha" else 100
    values = strongest_value(estimator, X, y, {}) * np.geomspace(1, weakest, n_values)
    halves = [
        rows
        for rows, _ in ComplementaryPairsSplit(N_HALVES, random_state=0).split(X, y)
    ]
    theirs = glmnet(estimator, values, X, y, halves)
    label = (
        f"{type(estimator).__name__}, n = {n_rows}, d = {n_features}, {n_values} values"
    )
    print(f"\n{label}: ms a path, ours | glmnet | ratio")
    for name, solver in solvers.items():
        screening.fastest_minimise = lambda solver=solver: solver
        linear_models(estimator, X[halves[0]], y[halves[0]], values)  # compiles
        ours, violation = (
            our_time(estimator, values, X, y, halves),
            our_violation(estimator, values, X, y, halves),
        )
        if not theirs:
            print(f"  {name}, default: {ours * 1e3:.1f}, violation {violation:.1e}")
            continue
        note = f"   violations {violation:.0e} | {theirs[0][1]:.0e}"
        report(
            f"{name}, defaults",
            ours,
            theirs[0][0],
            1.5 if name == "fast" else 2.5,
            note,
        )
        for level in LEVELS:
            compare_at(level, name, estimator, (values, X, y, halves), theirs)


def compare_at(level, name, estimator, problem, theirs):
    tight = type(estimator)(**{**estimator.get_params(), "tol": level / 2})
    ours, violation = our_time(tight, *problem), our_violation(tight, *problem)
    reached = [pair for pair in theirs[1:] if pair[1] <= level]
    best, found = reached[0] if reached else theirs[-1]
    note = f"   violations {violation:.0e} | {found:.0e}"
    report(
        f"{name}, violation at most {level:.0e}",
        ours,
        best,
        1.0 if name == "fast" else 2.5,
        note,
    )


def main():
    solvers = {"fast": fast.fastest_minimise(), "without": active_set.minimise}
    if solvers["fast"] is solvers["without"]:
        print("Numba is not installed: only the solver without it is measured")
        del solvers["fast"]
    for case in CASES:
        compare(*case, solvers)


if __name__ == "__main__":
    main()

"""What a regularisation path costs, against glmnet's (R) on the same half-samples and penalties.

CPU time of one thread, best of three, with and without the extra `fast`. Compared at each side's default tolerance, and
at equal optimality: the largest violation of the optimality conditions relative to the penalty, over all values of the
first half-samples, is at most a given level on both sides. glmnet's threshold is then the loosest power of ten that
reaches the level; where none does, the time of the tightest one is a lower bound. Without R only our times are printed.

Then paths of twenty resamples that are followed together, against the same ones one by one, in turns.

    python benchmarks/paths.py
    python benchmarks/paths.py together   # only the latter; with adelie if ADELIE_PYTHON is its interpreter
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.svm import LinearSVC

from skstab._linear_paths import active_set, fast, screening
from skstab._linear_paths.fast import has_compiler
from skstab._linear_paths.linear_models import PARAMETERS, linear_models
from skstab._linear_paths.shared_paths import N_TOGETHER, paths_of_resamples
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

# Rows, columns, the correlation of neighbours, the weakest penalty as a share of the strongest, and the resamples.
SVM = LinearSVC(penalty="l1", dual=False)
SHARED_CASES = [
    (Lasso(), 200, 1000, 0, 0.01, "halves"), (Lasso(), 200, 1000, 0.9, 0.01, "halves"),
    (LOGISTIC, 1000, 100, 0, 0.1, "halves"), (LOGISTIC, 1000, 100, 0, 0.1, "bootstraps"),
    (LOGISTIC, 1000, 500, 0.9, 0.01, "halves"), (LOGISTIC, 100, 5000, 0, 0.01, "halves"),
    (ElasticNet(), 200, 1000, 0, 0.01, "halves"), (SVM, 1000, 100, 0, 0.1, "halves"),
    (Lasso(), 5000, 2000, 0, 0.1, "halves"), (LOGISTIC, 5000, 2000, 0, 0.1, "halves"),
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

ADELIE = """
import sys, time
import adelie, numpy as np
found = np.load(sys.argv[1])
X, y, penalties, times = found["X"], found["y"], found["penalties"], []
glm = adelie.glm.binomial if found["has_classes"] else adelie.glm.gaussian
for _ in range(3):
    before = time.process_time()
    for rows in found["drawn"]:
        adelie.grpnet(np.asfortranarray(X[rows]), glm(y[rows]), lmda_path=penalties, early_exit=False,
                      progress_bar=False)
    times.append((time.process_time() - before) / len(found["drawn"]))
print(1e3 * min(times))
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
    f, target = X @ coefs.T + intercepts, y[:, None]
    sign = 2 * target - 1
    if isinstance(estimator, ElasticNet):  # the lasso is one
        slopes = f - target
    elif isinstance(estimator, LinearSVC):
        slopes = -2 * sign * np.maximum(0, 1 - sign * f)
    else:
        slopes = 1 / (1 + np.exp(-f)) - target
    l1_ratio = estimator.l1_ratio if hasattr(estimator, "l1_ratio") else 1.0
    bend, ridge = penalties[:, None] * l1_ratio, penalties[:, None] * (1 - l1_ratio)
    gradients = (X.T @ slopes / len(y)).T + ridge * coefs
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


# -- many resamples of one table ---------------------------------------------------------------------------------------


def correlated(X, rho):
    """Columns where neighbours have a correlation."""
    for j in range(1, X.shape[1] if rho else 0):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return X


def shared_problem(case):
    """The table of a case, the values of the parameter and twenty resamples: half-samples or bootstraps."""
    estimator, n_rows, n_features, rho, weakest, resampling = case
    rng = np.random.default_rng(0)
    X = correlated(rng.standard_normal((n_rows, n_features)), rho)
    y = X[:, :10] @ np.linspace(1, 2, 10) + 2 * rng.standard_normal(n_rows)
    is_penalty = PARAMETERS[type(estimator)] == "alpha"
    y = y if is_penalty else (y > 0).astype(float)
    # C multiplies a sum over rows, of which a half-sample has half as many.
    first = strongest_value(estimator, X, y, {}) * (1 if is_penalty else 2)
    values = first * np.geomspace(1, weakest if is_penalty else 1 / weakest, 25)
    if resampling == "halves":
        splits = ComplementaryPairsSplit(N_TOGETHER, random_state=0).split(X, y)
        return X, y, values, [rows for rows, _ in splits]
    rows = [rng.choice(n_rows, n_rows) for _ in range(N_TOGETHER)]
    return X, y, values, rows


def adelie_time(estimator, X, y, values, drawn):
    """Milliseconds a path of adelie at its defaults, by the interpreter `ADELIE_PYTHON`; it needs NumPy 1."""
    python = os.environ.get("ADELIE_PYTHON")
    if python is None or type(estimator) not in (Lasso, LogisticRegression):
        return np.nan
    has_classes = PARAMETERS[type(estimator)] == "C"
    penalties = penalties_of(estimator, values, len(drawn[0]))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "problem.npz")
        np.savez(
            place, X=X, y=y, penalties=penalties, drawn=drawn, has_classes=has_classes
        )
        call = [python, "-c", ADELIE, place]
        done = subprocess.run(call, check=True, capture_output=True, text=True)
    return float(done.stdout)


def compare_shared(case):
    """CPU milliseconds a path, together and one by one in turns, and how far the models are from each other."""
    estimator, n_rows, n_features, rho, _, resampling = case
    X, y, values, drawn = shared_problem(case)
    some = drawn if X.size < 10**6 else drawn[:3]
    name, numbers = PARAMETERS[type(estimator)], list(range(N_TOGETHER))
    times = {"together": [], "one by one": []}
    for _ in range(REPEATS + 1):  # the first one compiles
        before = time.process_time()
        found = paths_of_resamples(estimator, X, y, values, drawn, numbers, N_TOGETHER)
        times["together"].append((time.process_time() - before) / N_TOGETHER)
        before = time.process_time()
        for rows in some:
            list(path_of(estimator, name, values, X[rows], y[rows], {}))
        times["one by one"].append((time.process_time() - before) / len(some))
    together, single = (min(part[1:]) * 1e3 for part in times.values())
    n_other, n_in, worst = 0, 0, 0.0
    for path, rows in zip(found, some, strict=False):
        models = linear_models(estimator, X[rows], y[rows], values)
        coefs = np.zeros((len(values), n_features))
        steps = np.repeat(np.arange(len(values)), np.diff(path.ends, prepend=0))
        coefs[steps, path.places] = path.coefs
        n_other += ((coefs != 0) != (models.coefs[:, 0] != 0)).sum()
        n_in += (models.coefs[:, 0] != 0).sum()
        penalties = penalties_of(estimator, values, len(rows))
        optimum = worst_violation(
            estimator, X[rows], y[rows], penalties, coefs, path.intercepts
        )
        worst = max(worst, optimum)
    n_given_up = sum(path is None for path in found)
    other = adelie_time(estimator, X, y, values, some[:6])
    label = (
        f"{type(estimator).__name__} {n_rows} x {n_features}, AR {rho}, {resampling}"
    )
    print(
        f"  {label:<52}{together:>8.2f}{single:>8.2f}{together / single:>7.2f}   "
        f"adelie {other:.2f}, violation {worst:.0e}, {n_other} of {n_in} cells differ, {n_given_up} given up",
        flush=True,
    )


def main():
    solvers = {"fast": fast.fastest_minimise(), "without": active_set.minimise}
    if solvers["fast"] is solvers["without"]:
        print("Numba is not installed: only the solver without it is measured")
        del solvers["fast"]
    if sys.argv[1:] != ["together"]:
        for case in CASES:
            compare(*case, solvers)
    if has_compiler():
        screening.fastest_minimise = fast.fastest_minimise
        print(
            "\nTwenty resamples of one table: ms a path, together | one by one | ratio"
        )
        for case in SHARED_CASES:
            compare_shared(case)


if __name__ == "__main__":
    main()

"""How often three intervals hold the stability over *other data sets*, how wide they are, and how biased their centres.

A population and a selector have a true stability Φ(m): that of the features selected from many independent data sets
of m rows. From one data set of n rows, `replication_stability` (16 pairs of disjoint halves) estimates Φ(n/2), and
`full_size_interval` (30 bootstraps, the same pairs, 8 pairs of quarters) Φ(n). The interval of `stability_interval`
over the same bootstraps is about resampling error alone; its column shows what happens when it is read as an answer
about Φ(n).

The pairs of population and selector come in two parts: kinds on which the first constants were set, and kinds on which
they were not, fixed before any of them was run. `replication.py` has many more, of selectors that go through all
resamples at once. Finite populations are drawn from with replacement, so that data sets are
independent. Those of `../shared/data` (UCI, and the microarray papers) are left out where the files are missing.

    python benchmarks/other_data.py            # the whole table, five minutes on one core
    python benchmarks/other_data.py --quick    # a minute
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import argparse
import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import chi2, f_classif, f_regression
from sklearn.linear_model import ElasticNet, Lasso, LassoLarsIC, LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skstab.datasets import make_correlated_groups, make_redundant_classification
from skstab.feature_selection import welch_variance
from skstab.metrics import (
    full_size_interval,
    get_measure,
    replication_stability,
    stability_interval,
)
from skstab.model_selection import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    DisjointBlocksSplit,
)

LEVEL, N_PAIRS, N_BOOTSTRAPS = 0.95, 16, 30
MEASURES = ["nogueira", "jaccard", "importance_weighted"]

# -- populations: (generator, number of rows) → X, y -------------------------------------------------------------------


def linear(rng, n, d=60, n_true=8, rho=0.0, noise=2.0, df=None):
    """Linear effects of the first features; neighbours correlate with rho, the error is normal or Student's t."""
    X = rng.standard_normal((n, d))
    for f in range(1, d):
        X[:, f] = rho * X[:, f - 1] + np.sqrt(1 - rho**2) * X[:, f]
    error = rng.standard_normal(n) if df is None else rng.standard_t(df, n)
    return X, X[:, : 3 * n_true : 3] @ np.linspace(1.5, 0.3, n_true) + noise * error


def equal_effects(rng, n, d=40, n_true=5):
    X = rng.standard_normal((n, d))
    return X, X[:, :n_true].sum(axis=1) + rng.standard_normal(n)


def many_weak(rng, n, d=150):
    X = rng.standard_normal((n, d))
    return X, X @ np.linspace(0.4, 0.0, d) + 2 * rng.standard_normal(n)


def noise(rng, n, d=100):
    return rng.standard_normal((n, d)), rng.standard_normal(n)


def logistic(rng, n, d=400, n_true=10):
    X = rng.standard_normal((n, d))
    return X, (
        X[:, :n_true] @ np.linspace(1.2, 0.4, n_true) + rng.logistic(size=n) > 0
    ).astype(int)


def friedman(rng, n, d=25):
    X = rng.random((n, d))
    y = (
        10 * np.sin(np.pi * X[:, 0] * X[:, 1])
        + 20 * (X[:, 2] - 0.5) ** 2
        + 10 * X[:, 3]
        + 5 * X[:, 4]
    )
    return X, y + 3 * rng.standard_normal(n)


def easy(rng, n, d=50):
    X = rng.standard_normal((n, d))
    return X, X[:, :6] @ np.linspace(2, 1, 6) + rng.standard_normal(n)


def blocks(rng, n, d=80):
    """Blocks of five features with a correlation of 0.8, four of which have an effect."""
    X = np.sqrt(0.8) * np.repeat(rng.standard_normal((n, d // 5)), 5, axis=1) + np.sqrt(
        0.2
    ) * rng.standard_normal((n, d))
    return X, X[:, [0, 5, 10, 15]].sum(axis=1) + 2 * rng.standard_normal(n)


def binary(rng, n, d=80):
    X = (rng.random((n, d)) < np.linspace(0.05, 0.5, d)).astype(float)
    return X, (X[:, 40:48].sum(axis=1) - 3.3 + rng.logistic(size=n) > 0).astype(int)


def quadratic(rng, n, d=40):
    X = rng.standard_normal((n, d))
    return X, (X[:, :4] ** 2).sum(axis=1) + 2 * rng.standard_normal(n)


def redundant(rng, n):
    return make_redundant_classification(
        n, redundancy=0.5, random_state=int(rng.integers(2**31))
    )


def groups(rng, n):
    X, y, _ = make_correlated_groups(
        n, group_size=5, n_others=150, random_state=int(rng.integers(2**31))
    )
    return X, y


def rows_of(X, y):
    """A finite population: rows drawn from a data set with replacement, of classes at least two, each twice."""
    are_classes = y.dtype.kind == "i"

    def draw(rng, n):
        while True:
            rows = rng.integers(len(X), size=n)
            counts = np.unique(y[rows], return_counts=True)[1]
            if not are_classes or (counts.min() >= 2 and counts.size >= 2):
                return X[rows], y[rows]

    return draw


OF_SKLEARN = {
    "breast cancer": load_breast_cancer,
    "diabetes": load_diabetes,
    "wine": load_wine,
}


def finite(folder, name):
    if name in OF_SKLEARN:
        X, y = OF_SKLEARN[name](return_X_y=True)
    else:
        path = folder / f"{name}.npz"
        if not path.exists():
            return None
        stored = np.load(path)
        X, y = (
            stored["X"].astype(np.float64),
            np.unique(stored["y"], return_inverse=True)[1],
        )
    kept = X.std(axis=0) > 0
    return rows_of(X[:, kept], y)


# -- selectors: (X, y) → importances, 0 where not selected -------------------------------------------------------------


def standardised(X):
    scale = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1)


def sparse_model(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.abs(np.ravel(model.fit(standardised(X), y).coef_))


def top(scores, k):
    """Keep the k largest scores; a score that is not a number is the smallest."""
    scores = np.nan_to_num(np.asarray(scores, dtype=np.float64), nan=0.0, posinf=1e12)
    kept = np.zeros_like(scores)
    best = np.argsort(-scores, kind="stable")[:k]
    kept[best] = np.maximum(scores[best], 1e-12)
    return kept


def k_best(score, k, X, y):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constant columns of a small sample
        found = score(X, y)
    return top(found[0] if isinstance(found, tuple) else found, k)


def ridge_rfe(k, X, y):
    """Drop a third of what remains, by the size of the coefficients of a ridge regression on the classes."""
    X, y, features = standardised(X), y - y.mean(), np.arange(X.shape[1])
    while True:
        Z = X[:, features]
        # w = Zᵀ(ZZᵀ + I)⁻¹ y: as many unknowns as there are rows
        size = np.abs(Z.T @ np.linalg.solve(Z @ Z.T + np.eye(len(Z)), y))
        if len(features) == k:
            return np.bincount(features, size + 1e-12, X.shape[1])
        features = np.sort(
            features[np.argsort(-size, kind="stable")[: max(k, len(features) * 2 // 3)]]
        )


def forest(k, X, y):
    return top(
        RandomForestRegressor(15, max_depth=5, max_features=0.5, random_state=0)
        .fit(X, y)
        .feature_importances_,
        k,
    )


def tree(model, X, y):
    return model.fit(X, y).feature_importances_


def lasso(alpha):
    return partial(sparse_model, Lasso(alpha))


def l1_logistic(C):
    return partial(
        sparse_model,
        LogisticRegression(l1_ratio=1, C=C, solver="liblinear", max_iter=1000),
    )


# -- the pairs ---------------------------------------------------------------------------------------------------------


@dataclass
class Case:
    """A population, a selector, and whether the constants were set without this kind of pair."""

    name: str
    held_out: bool
    draw: Callable
    select: Callable
    n_rows: int
    stratify: bool


def cases(folder):
    def data(name):
        return finite(folder, name)

    bic = partial(sparse_model, LassoLarsIC("bic"))
    svc = partial(sparse_model, LinearSVC(penalty="l1", dual=False, C=0.05))
    every = [
        Case("linear, lasso", False, linear, lasso(0.3), 120, False),
        Case(
            "linear, 10 best by F",
            False,
            linear,
            partial(k_best, f_regression, 10),
            120,
            False,
        ),
        Case(
            "chain of correlation 0.8, lasso",
            False,
            partial(linear, rho=0.8),
            lasso(0.3),
            120,
            False,
        ),
        Case(
            "noise, 10 best by F",
            False,
            noise,
            partial(k_best, f_regression, 10),
            100,
            False,
        ),
        Case(
            "logistic d = 400, L1 logistic",
            False,
            logistic,
            l1_logistic(0.2),
            120,
            True,
        ),
        Case(
            "spambase, L1 logistic",
            False,
            data("spambase"),
            l1_logistic(0.1),
            200,
            True,
        ),
        Case(
            "madelon, 20 best by F",
            False,
            data("madelon"),
            partial(k_best, f_classif, 20),
            200,
            True,
        ),
        Case(
            "gravier, 20 best by F",
            False,
            data("gravier"),
            partial(k_best, f_classif, 20),
            100,
            True,
        ),
        Case(
            "breast cancer, RFE of ridge, 8",
            False,
            data("breast cancer"),
            partial(ridge_rfe, 8),
            150,
            True,
        ),
        Case(
            "heavy tails, lasso by BIC",
            True,
            partial(linear, df=2.5, noise=1.0),
            bic,
            150,
            False,
        ),
        Case("many weak effects, lasso", True, many_weak, lasso(0.5), 100, False),
        Case("Friedman, forest, 6", True, friedman, partial(forest, 6), 120, False),
        Case(
            "correlated groups, elastic net",
            True,
            groups,
            partial(sparse_model, ElasticNet(0.1)),
            150,
            True,
        ),
        Case("redundant, L1 linear SVM", True, redundant, svc, 100, True),
        Case(
            "sonar, 10 best by F",
            True,
            data("sonar"),
            partial(k_best, f_classif, 10),
            120,
            True,
        ),
        Case(
            "ionosphere, L1 logistic",
            True,
            data("ionosphere"),
            l1_logistic(0.1),
            150,
            True,
        ),
        Case(
            "lsvt, RFE of ridge, 20",
            True,
            data("lsvt"),
            partial(ridge_rfe, 20),
            90,
            True,
        ),
        Case(
            "golub, Welch and variance, 30",
            True,
            data("golub"),
            partial(k_best, welch_variance, 30),
            60,
            True,
        ),
        Case(
            "spambase, decision tree",
            True,
            data("spambase"),
            partial(tree, DecisionTreeClassifier(max_leaf_nodes=12, random_state=0)),
            300,
            True,
        ),
        Case("strong effects, lasso", True, easy, lasso(0.3), 150, False),
        Case("blocks, lasso", True, blocks, lasso(0.3), 120, False),
        Case(
            "blocks, 10 best by F",
            True,
            blocks,
            partial(k_best, f_regression, 10),
            120,
            False,
        ),
        Case(
            "0/1 features, 10 best by chi2",
            True,
            binary,
            partial(k_best, chi2, 10),
            150,
            True,
        ),
        Case(
            "quadratic effects, decision tree",
            True,
            quadratic,
            partial(tree, DecisionTreeRegressor(max_leaf_nodes=8, random_state=0)),
            150,
            False,
        ),
        Case(
            "linear d = 1000, lasso",
            True,
            partial(linear, d=1000, n_true=5),
            lasso(0.6),
            100,
            False,
        ),
        Case("diabetes, lasso", True, data("diabetes"), lasso(3.0), 120, False),
        Case(
            "wine, 5 best by F",
            True,
            data("wine"),
            partial(k_best, f_classif, 5),
            60,
            True,
        ),
        Case(
            "alon, 20 best by F",
            True,
            data("alon"),
            partial(k_best, f_classif, 20),
            50,
            True,
        ),
        Case("alon, L1 logistic", True, data("alon"), l1_logistic(0.5), 50, True),
        Case(
            "sonar, RFE of ridge, 10",
            True,
            data("sonar"),
            partial(ridge_rfe, 10),
            120,
            True,
        ),
    ]
    return [case for case in every if case.draw is not None], [
        case.name for case in every if case.draw is None
    ]


# -- one data set after another ----------------------------------------------------------------------------------------


def runs_of(case, rng, n_rows, n_sets):
    """Importances selected from independent data sets."""
    return np.array([case.select(*case.draw(rng, n_rows)) for _ in range(n_sets)])


def table_for(measure, importances):
    return importances if get_measure(measure).kind == "weights" else importances > 0


def intervals(measure, halves, whole, quarters):
    """The intervals of one data set, in the order of `KINDS`."""
    halves, whole, quarters = (
        table_for(measure, one) for one in (halves, whole, quarters)
    )
    chosen = {"measure": measure, "confidence_level": LEVEL}
    return [
        replication_stability(halves, **chosen),
        full_size_interval(whole, halves, quarters=quarters, **chosen),
        stability_interval(whole, **chosen),
        stability_interval(halves, **chosen),
    ]


# What each interval is of, and whether its true value is that of half of the rows.
KINDS = {
    "replication": True,
    "full size": False,
    "jackknife": False,
    "all pairs": True,
}


def simulate(case, n_sets, n_truth):
    """One row per measure and kind of interval: truth, mean estimate, coverage, width."""
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    half, full = (
        runs_of(case, rng, n, n_truth) for n in (case.n_rows // 2, case.n_rows)
    )
    found, n_warned = [], 0
    for number in range(n_sets):
        X, y = case.draw(rng, case.n_rows)
        pairs = ComplementaryPairsSplit(
            2 * N_PAIRS, stratify=case.stratify, random_state=number
        )
        bootstraps = BootstrapSplit(
            N_BOOTSTRAPS, stratify=case.stratify, random_state=number
        )
        quarters = DisjointBlocksSplit(
            [case.n_rows // 4], n_repeats=8, stratify=case.stratify, random_state=number
        )
        runs = [
            np.array([case.select(X[rows], y[rows]) for rows, _ in cv.split(X, y)])
            for cv in (pairs, bootstraps, quarters)
        ]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append([intervals(measure, *runs) for measure in MEASURES])
        n_warned += any("take turns" in str(warning.message) for warning in caught)
    rows = []
    for at, measure in enumerate(MEASURES):
        truths = [
            get_measure(measure)(table_for(measure, runs)) for runs in (half, full)
        ]
        for which, (kind, at_half) in enumerate(KINDS.items()):
            truth, of_kind = (
                truths[0 if at_half else 1],
                [one[at][which] for one in found],
            )
            known = {
                "case": case.name,
                "held_out": case.held_out,
                "measure": measure,
                "kind": kind,
                "truth": truth,
            }
            floor = np.mean([one.low <= truths[1] for one in of_kind])
            rows.append(known | {"floor": floor} | summary(of_kind, truth))
    return rows, n_warned


def summary(found, truth):
    estimates, low, high = (
        np.array([getattr(one, name) for one in found])
        for name in ("estimate", "low", "high")
    )
    return {
        "bias": estimates.mean() - truth,
        "rmse": np.sqrt(np.mean((estimates - truth) ** 2)),
        "coverage": np.mean((low <= truth) & (truth <= high)),
        "width": np.mean(high - low),
    }


# -- selections that hardly vary, and that are hardly any --------------------------------------------------------------


def nearly_the_same():
    """The five best by F: most pairs of halves agree entirely."""
    select = partial(k_best, f_regression, 5)
    return [
        Case(f"n = {n}", True, equal_effects, select, n, False)
        for n in (200, 260, 320, 400, 500)
    ]


def nearly_nothing():
    """Penalties so strong that most halves select nothing."""
    return [
        Case(f"alpha = {alpha}", True, equal_effects, lasso(alpha), 100, False)
        for alpha in (1.1, 1.3, 1.5)
    ]


def at_an_edge(chosen, n_sets, n_truth):
    """Coverage with and without the least width, over the data sets of which some half selects a feature."""
    rows, rng = [], np.random.default_rng(7)
    for case in chosen:
        true_runs = runs_of(case, rng, case.n_rows // 2, n_truth) > 0
        truth, found = get_measure("nogueira")(true_runs), []
        for number in range(n_sets):
            X, y = case.draw(rng, case.n_rows)
            splits = ComplementaryPairsSplit(2 * N_PAIRS, random_state=number).split(X)
            halves = np.array([case.select(X[rows], y[rows]) > 0 for rows, _ in splits])
            if halves.any():
                found.append(
                    (
                        replication_stability(halves, confidence_level=LEVEL),
                        spread_alone(halves),
                    )
                )
        own, alone = (summary(kind, truth) for kind in zip(*found, strict=True))
        names = {"sets": len(found), "coverage": own["coverage"], "width": own["width"]}
        names |= {"spread alone: coverage": alone["coverage"], "width ": alone["width"]}
        rows.append(
            {
                "case": case.name,
                "features": true_runs.sum(axis=1).mean(),
                "Φ(n/2)": truth,
            }
            | names
        )
    return pd.DataFrame(rows)


def spread_alone(halves):
    """The replication interval by the spread of the pairs, which is nothing where all pairs are equally similar."""
    measure = get_measure("nogueira")
    estimate, values = measure.within_pairs(measure.check(halves))
    half = (
        stats.t(N_PAIRS - 1).ppf((1 + LEVEL) / 2)
        * np.std(values, ddof=1)
        * np.sqrt(1 / N_PAIRS + 1)
    )
    interval = replication_stability(halves, confidence_level=LEVEL)
    return replace(
        interval, low=max(estimate - half, -1.0), high=min(estimate + half, 1.0)
    )


# -- tables ------------------------------------------------------------------------------------------------------------


def show(frame):
    """Print a frame as a Markdown table."""
    for row in [frame.columns, ["---"] * frame.shape[1], *frame.to_numpy()]:
        print(
            "|",
            " | ".join(
                f"{value:.2f}" if isinstance(value, float) else str(value)
                for value in row
            ),
            "|",
        )


def table(found):
    """One row per case, for the nogueira measure."""
    rows = []
    for name, of_case in found[found["measure"] == "nogueira"].groupby(
        "case", sort=False
    ):
        kind = of_case.set_index("kind")
        replication, full, jackknife, every = (kind.loc[name] for name in KINDS)
        rows.append(
            {
                "population, selector": name,
                "Φ(n/2)": replication["truth"],
                "bias": replication["bias"],
                "coverage": replication["coverage"],
                "width": replication["width"],
                "all pairs: bias": every["bias"],
                "Φ(n)": full["truth"],
                "bootstrap: bias": jackknife["bias"],
                "full size: bias": full["bias"],
                "full size: coverage": full["coverage"],
                "width ": full["width"],
                "jackknife: coverage": jackknife["coverage"],
            }
        )
    return pd.DataFrame(rows)


def means(found):
    """Coverage by half, measure and kind of interval: the mean over the pairs and the worst."""
    rows = []
    for (held_out, measure), group in found.groupby(
        ["held_out", "measure"], sort=False
    ):
        coverage = group.groupby("kind")["coverage"]
        texts = {
            kind: f"{coverage.mean()[kind]:.2f} ({coverage.min()[kind]:.2f})"
            for kind in KINDS
        }
        rows.append(
            {"pairs": "held out" if held_out else "as calibrated", "measure": measure}
            | texts
        )
    return pd.DataFrame(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--quick", action="store_true", help="12 data sets for each pair instead of 80"
    )
    parser.add_argument(
        "--only", default="", help="only pairs whose name has this text in it"
    )
    options = parser.parse_args()
    n_sets, n_truth = (12, 100) if options.quick else (80, 400)
    chosen, missing = cases(options.data)
    if missing:
        print(f"left out, no files in {options.data}: {', '.join(missing)}")
    rows, n_warned, start = [], 0, time.perf_counter()
    for case in chosen:
        if options.only in case.name:
            before = time.perf_counter()
            found, warned = simulate(case, n_sets, n_truth)
            rows, n_warned = rows + found, n_warned + warned
            print(f"  {case.name}: {time.perf_counter() - before:.0f} s", flush=True)
    found = pd.DataFrame(rows)
    for held_out, label in ((False, "On kinds that c was set on"), (True, "Held out")):
        print(f"\n## {label}\n")
        show(table(found[found["held_out"] == held_out]))
    print("\n## Coverage over the pairs, mean (worst)\n")
    show(means(found))
    size = (40, 500) if options.quick else (300, 4000)
    print("\n## Where nearly all pairs of halves agree\n")
    show(at_an_edge(nearly_the_same(), *size))
    print("\n## Where most halves select nothing\n")
    show(at_an_edge(nearly_nothing(), *size))
    floor = found[(found["measure"] == "nogueira") & (found["kind"] == "replication")][
        "floor"
    ]
    print(
        f"\nThe lower end of the replication interval is below Φ(n) in {floor.mean():.3f} of the data sets."
    )
    print(
        f"\n{n_warned} data sets with a warning about features that take turns; {time.perf_counter() - start:.0f} s"
    )


if __name__ == "__main__":
    main()

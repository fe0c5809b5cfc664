"""How often `assess_selector` gives the right verdict: tables of noise, and tables with a clear signal.

Noise: 40 tables of independent normal numbers, n = 60 to 200, d = 20 to 500, half of them with two classes and half
with a number as target, which is independent of all features. Signal: 40 tables of the same sizes in which features
have an effect on the target: a clear one (3 features, each explains 29% of the variance) or a weaker one (5 features,
each 17%, which 5 of 500 features selected on 30 rows hardly show). Each is assessed with one of four selectors in turn
(k best features and a linear model, L1 penalty, recursive elimination, and k best without a model, for which the
verdict rests on replication).

    python benchmarks/assessment.py            # about ten minutes on one core
    python benchmarks/assessment.py --quick    # 8 tables of each kind
    python benchmarks/assessment.py --level    # 200 tables of noise, and nothing else
    python benchmarks/assessment.py --strict   # selectors that select nothing in most tables of noise, 200 of each kind
    python benchmarks/assessment.py --verdicts # the level and the power of the verdict alone, also with 1:9 and groups

The verdict alone: classes of equal size and of 1:9, and numbers in groups of five rows that resemble each other, where
half of the features are constant within groups; with noise, and for classes of 1:9 and groups with a signal.
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import sys
import time
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import (
    RFE,
    SelectFdr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    f_classif,
    f_regression,
)
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab.model_selection import BootstrapSplit, assess_selector

SIZES = [
    *[(60, 20), (60, 200), (100, 50), (100, 500), (150, 100)],
    *[(200, 20), (200, 200), (80, 100), (120, 300), (60, 500)],
]
EFFECTS = {
    "noise": (0, 0.0),
    "clear": (3, 1.5),
    "weaker": (5, 1.0),
}  # number of features, coefficient
KINDS = ("k best", "L1", "elimination", "k best alone")
STRICT = (
    "false discoveries",
    "false discoveries alone",
    "family-wise alone",
    "L1 alone",
)


def make_table(number, signal):
    """Features and target of a table; the target is a class for even numbers."""
    n, d = SIZES[number // 4 % len(SIZES)]
    rng = np.random.default_rng([number, list(EFFECTS).index(signal)])
    X = rng.standard_normal((n, d))
    n_true, effect = EFFECTS[signal]
    y = effect * X[:, :n_true].sum(axis=1) + rng.standard_normal(n)
    return X, (y > np.median(y)).astype(int) if number % 2 == 0 else y


def make_selector(kind, classes):
    """A selector for classes or numbers."""
    model = LogisticRegression(max_iter=1000) if classes else Ridge()
    score = f_classif if classes else f_regression
    best = SelectKBest(score, k=5)
    sparse = (
        LogisticRegression(l1_ratio=1, solver="liblinear", C=0.2)
        if classes
        else Lasso(alpha=0.2)
    )
    strong = (
        LogisticRegression(l1_ratio=1, solver="liblinear", C=0.07)
        if classes
        else Lasso(alpha=0.35)
    )
    return {
        "k best": make_pipeline(best, model),
        "L1": make_pipeline(StandardScaler(), sparse),
        "elimination": make_pipeline(
            StandardScaler(), RFE(model, n_features_to_select=5, step=0.3), model
        ),
        "k best alone": best,
        "false discoveries": make_pipeline(SelectFdr(score, alpha=0.1), model),
        "false discoveries alone": SelectFdr(score, alpha=0.1),
        "family-wise alone": SelectFwe(score),
        "L1 alone": make_pipeline(
            StandardScaler(), SelectFromModel(strong, threshold=1e-10)
        ),
    }[kind]


def assess(number, signal, selectors):
    """Verdict on one table, with the numbers behind it."""
    X, y = make_table(number, signal)
    kind = selectors[number // 2 % len(selectors)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings(
            "ignore",
            "nearly all variation|all runs agree|No features were sel|scoring failed",
        )
        found = assess_selector(
            make_selector(kind, number % 2 == 0), X, y, random_state=number
        )
    return {
        "signal": signal,
        "selector": kind,
        "target": "classes" if number % 2 == 0 else "numbers",
        "verdict": found.verdict,
        "bootstraps": found.agreement.estimate,
        "halves": found.replication.estimate,
    }


# -- the verdict alone -------------------------------------------------------------------------------------------------


def classes_of_two_sizes(rng, effect, share, n=150, d=20):
    X = rng.standard_normal((n, d))
    risk = effect * X[:, :3].sum(axis=1) + rng.logistic(size=n)
    y = np.zeros(n, dtype=int)
    y[np.argsort(-risk)[: int(share * n)]] = 1
    model = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.3)
    return X, y, None, make_pipeline(StandardScaler(), model)


def rows_in_groups(rng, effect, n_groups=40, size=5, d=20):
    """A target that varies within groups; the first ten features are constant within them."""
    group = np.repeat(np.arange(n_groups), size)
    X = rng.standard_normal((n_groups, d))[group]
    X[:, 10:] = rng.standard_normal((len(group), 10))
    of_group = rng.standard_normal(n_groups)[group]
    y = of_group + rng.standard_normal(len(group)) + effect * X[:, [0, 10]].sum(axis=1)
    return X, y, group, make_pipeline(StandardScaler(), Lasso(0.15))


VERDICTS = {
    "noise, equal classes": (classes_of_two_sizes, 0.0, 0.5),
    "noise, classes 1:9": (classes_of_two_sizes, 0.0, 0.1),
    "noise, groups": (rows_in_groups, 0.0),
    "signal, classes 1:9": (classes_of_two_sizes, 1.5, 0.1),
    "signal, groups": (rows_in_groups, 0.8),
}


def verdict(kind, number):
    """Whether a signal is found, and whether it would be by the score that is shown."""
    draw, *settings = VERDICTS[kind]
    rng = np.random.default_rng([number, list(VERDICTS).index(kind)])
    X, y, groups, model = draw(rng, *settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = assess_selector(
            model,
            X,
            y,
            cv=BootstrapSplit(3, random_state=number),
            n_decoy_draws=0,
            groups=groups,
            random_state=number,
        )
    return {
        "kind": kind,
        "signal": found.verdict != "no signal",
        "by the score": found.chance.score_pvalue <= 0.05,
    }


def verdicts(n_tables, kinds):
    """Shares of the tables in which a signal is found; half as many tables with a signal."""
    rows = []
    for kind in kinds or VERDICTS:
        n = n_tables if kind.startswith("noise") else n_tables // 2
        rows += [verdict(kind, number) for number in range(n)]
        found = pd.DataFrame(rows).groupby("kind", sort=False)
        print(found.mean().round(3).assign(tables=found.size()).to_string(), flush=True)


def main(quick, level, strict):
    start, n_tables = (
        time.perf_counter(),
        200 if level or strict else 8 if quick else 40,
    )
    kinds, selectors = (
        ["noise"] if level else list(EFFECTS),
        STRICT if strict else KINDS,
    )
    calls = [
        delayed(assess)(number, signal, selectors)
        for signal in kinds
        for number in range(n_tables)
    ]
    table = pd.DataFrame(Parallel(n_jobs=1 if quick else 2)(calls))
    print(
        pd.crosstab(
            [table["signal"], table["selector"]], table["verdict"], margins=True
        ).to_string(),
        "\n",
    )
    print(
        table.groupby("signal")[["bootstraps", "halves"]].mean().round(2).to_string(),
        "\n",
    )
    found = table["verdict"].ne("no signal").groupby(table["signal"]).sum()
    print(
        "\n".join(
            f"{name}: a signal in {count} of {n_tables}"
            for name, count in found.items()
        )
    )
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    if "--verdicts" in sys.argv:
        chosen = [kind for kind in VERDICTS if kind in sys.argv]
        sys.exit(verdicts(8 if "--quick" in sys.argv else 100, chosen))
    main("--quick" in sys.argv, "--level" in sys.argv, "--strict" in sys.argv)

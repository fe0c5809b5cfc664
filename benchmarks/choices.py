"""Coverage of the parts of `multiverse`; level, power and coverage of `compare_cohorts`.

    python -m benchmarks.choices multiverse|level|power|interval

The settings marked "held out" were looked at only after the code was finished.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectFdr, SelectKBest, SelectorMixin
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from skstab.model_selection import (
    BootstrapSplit,
    CohortComparison,
    Multiverse,
    compare_cohorts,
    multiverse,
)
from skstab.runs import Runs

SOURCES = ["data", "choices", "interaction", "seed"]

# -- whose instability? ------------------------------------------------------------------------------------------------

# Standard deviations on the logit scale of choices, data, interaction; numbers of pipelines, resamples, seeds.
DESIGNS = {
    "choices alone": (2.0, 0.0, 0.0, 4, 20, 1),
    "data alone": (0.0, 2.0, 0.0, 4, 20, 1),
    "interaction alone": (0.0, 0.0, 2.0, 4, 20, 1),
    "all, few resamples": (1.5, 1.0, 1.0, 3, 10, 2),
    "all": (1.5, 1.0, 1.0, 3, 30, 2),
    "two pipelines": (1.0, 0.5, 1.0, 2, 50, 1),
    "held out: many pipelines": (1.0, 1.5, 0.5, 8, 15, 1),
    "held out: little of all": (0.3, 0.3, 0.3, 4, 25, 2),
}


def drawn(rng, effects, n_resamples, n_seeds, scales):
    """A table of resamples × pipelines × seeds × features of a crossed design on the logit scale."""
    level, choices = effects
    _, of_data, of_both = scales
    a, d = choices.shape
    logits = (
        level
        + choices[:, None]
        + of_data * rng.standard_normal((n_resamples, 1, 1, d))
        + of_both * rng.standard_normal((n_resamples, a, 1, d))
    )
    chances = 1 / (1 + np.exp(-logits))
    return rng.random((n_resamples, a, n_seeds, d)) < chances


def of_table(table):
    pipelines = range(table.shape[1])
    held = {a: [Runs(table[:, a, s]) for s in range(table.shape[2])] for a in pipelines}
    return Multiverse(held)


def hits(found, truth):
    shares = found.shares()
    is_in = (shares["low"] <= truth) & (truth <= shares["high"])
    return is_in.astype(float).where(shares["part"].notna())


def simulated_design(name, repeats=200, d=60):
    of_choices, *scales, a, r, s = DESIGNS[name]
    rng = np.random.default_rng(list(DESIGNS).index(name))
    level = np.repeat([2.0, -3.0], [8, d - 8])
    effects = level, of_choices * rng.standard_normal((a, d))
    scales = (of_choices, *scales)
    truth = of_table(drawn(rng, effects, 1000, s, scales)).shares()["part"]
    tables = [of_table(drawn(rng, effects, r, s, scales)) for _ in range(repeats)]
    return summary(name, tables, truth)


def summary(name, found, truth):
    parts = pd.DataFrame([one.shares()["part"] for one in found])
    covered = pd.DataFrame([hits(one, truth) for one in found]).mean()
    columns = {"setting": name}
    for source in SOURCES:
        columns[f"{source}: truth"] = truth[source]
        columns[f"{source}: mean"] = parts[source].mean()
        columns[f"{source}: coverage"] = covered[source]
    sys.stderr.write(f"{columns}\n")
    return columns


def held_out_pipelines(repeats=200, r=20):
    """Bootstraps of breast cancer: subsets of 300 resamples against all of them."""
    X, y = load_breast_cancer(return_X_y=True)
    lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
    pipelines = {
        "lasso": make_pipeline(StandardScaler(), lasso),
        "ranks": make_pipeline(QuantileTransformer(n_quantiles=100), lasso),
        "F": SelectKBest(k=8),
    }
    whole = multiverse(pipelines, X, y, cv=BootstrapSplit(300, random_state=0))
    rng = np.random.default_rng(0)
    found = []
    for _ in range(repeats):
        rows = rng.choice(300, r, replace=False)
        held = {
            name: [runs.take(rows) for runs in held]
            for name, held in whole.runs.items()
        }
        found.append(Multiverse(held))
    return summary("held out: breast cancer", found, whole.shares()["part"])


def of_multiverse():
    rows = [simulated_design(name) for name in DESIGNS]
    return pd.DataFrame([*rows, held_out_pipelines()])


# -- two cohorts -------------------------------------------------------------------------------------------------------

# Effects of the features at each site, by the name of the setting; see `two_sites`.
SAME, ONE, TWO = (
    [(0, 1, 2, 3, 4), other]
    for other in [(0, 1, 2, 3, 4), (0, 1, 2, 3, 5), (0, 1, 2, 5, 6)]
)


def two_sites(rng, on, sizes, *, effect=0.8, shares=(0.5, 0.5), d=30, target="classes"):
    """Data of two cohorts: numbers of rows, shares of the second class, features that matter."""
    parts = []
    for features, n, share in zip(on, sizes, shares, strict=True):
        X = rng.standard_normal((n, d))
        if target == "classes":
            y = rng.permutation(np.arange(n) < share * n).astype(int)
            X[:, list(features)] += effect * y[:, None]
        else:
            y = X[:, list(features)].sum(axis=1) * effect + rng.standard_normal(n)
        parts.append((X, y))
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return X, y, np.repeat([0, 1], sizes)


def in_groups(data, rng):
    """Every row twice, with noise: groups of two."""
    X, y, cohorts = (np.repeat(part, 2, axis=0) for part in data)
    groups = np.arange(len(y)) // 2
    return X + 0.5 * rng.standard_normal(X.shape), y, cohorts, groups


class MostCorrelated(SelectorMixin, BaseEstimator):
    """The features with the largest correlations with the target, without the checks that take most of the time."""

    def __init__(self, k=5):
        self.k = k

    def fit(self, X, y):
        """Take the largest correlations."""
        self.n_features_in_ = X.shape[1]
        correlations = np.abs((y - y.mean()) @ (X - X.mean(axis=0))) / X.std(axis=0)
        self.support_ = np.argsort(np.argsort(-correlations)) < self.k
        return self

    def _get_support_mask(self):
        return self.support_


K_BEST = MostCorrelated()
LEVELS = {
    "equal sizes": (K_BEST, {"sizes": (80, 80)}),
    "unequal sizes": (K_BEST, {"sizes": (200, 60)}),
    "unequal classes": (K_BEST, {"sizes": (120, 90), "shares": (0.25, 0.6)}),
    "groups": (K_BEST, {"sizes": (60, 60), "groups": True}),
    "held out: numbers": (
        K_BEST,
        {"sizes": (100, 60), "target": "numbers", "effect": 0.4},
    ),
    "held out: noise, few rows": (K_BEST, {"sizes": (30, 40), "effect": 0.0}),
}


def one_test(selector, on, seed, options, n_pairs):
    options = dict(options)
    grouped = options.pop("groups", False)
    rng = np.random.default_rng(seed)
    data = two_sites(rng, on, **options)
    X, y, cohorts, *groups = in_groups(data, rng) if grouped else data
    found = compare_cohorts(
        selector,
        X,
        y,
        cohorts,
        groups=groups[0] if groups else None,
        n_pairs=n_pairs,
        n_permutations=19 if n_pairs < 8 else 39,
        random_state=seed,
    )
    return found.pvalue <= 0.05, (found.frame()["pvalue"] <= 0.05).any()


def rejections(on, settings, repeats, n_pairs):
    """Shares of data sets with a p-value of at most 5%, of the difference and of any feature."""
    counts = {name: np.zeros(2) for name in settings}
    for seed in range(repeats):
        for name, (selector, options) in settings.items():
            counts[name] += one_test(selector, on, seed, options, n_pairs)
        sys.stderr.write(f"{seed + 1} {counts}\n")
    rows = [(name, repeats, *found / repeats) for name, found in counts.items()]
    columns = ["setting", "repeats", "difference", "any feature"]
    return pd.DataFrame(rows, columns=columns)


def of_level():
    return rejections(SAME, LEVELS, repeats=200, n_pairs=3)


def of_power():
    few = {name: LEVELS[name] for name in ("equal sizes", "unequal sizes")}
    one, two = (rejections(on, few, repeats=40, n_pairs=8) for on in (ONE, TWO))
    return pd.concat([one.assign(differ=1), two.assign(differ=2)])


# Effects at both sites, selector, rows of each cohort: the last ones were run once, at the end.
INTERVALS = {
    "5 best, equal sizes": (K_BEST, (100, 100), {}),
    "5 best, unequal sizes": (K_BEST, (300, 100), {"effect": 0.7}),
    "5 best, weak": (K_BEST, (80, 80), {"effect": 0.5}),
    "held out: L1": ("l1", (100, 70), {"d": 50}),
    "held out: lasso": (
        "lasso",
        (90, 90),
        {"target": "numbers", "effect": 0.5, "d": 60},
    ),
    "held out: FDR": (SelectFdr(alpha=0.1), (160, 100), {"effect": 1.0, "d": 50}),
    "held out: many rows": (MostCorrelated(k=4), (800, 200), {"effect": 0.5, "d": 100}),
}
MODELS = {
    "l1": LogisticRegression(l1_ratio=1, solver="liblinear", C=0.3, random_state=0),
    "lasso": Lasso(alpha=0.2),
}


def selected(selector, X, y):
    fitted = (
        MODELS.get(selector, selector).fit(X, y)
        if isinstance(selector, str)
        else selector.fit(X, y)
    )
    if hasattr(fitted, "get_support"):
        return fitted.get_support()
    return np.ravel(fitted.coef_) != 0


def halves_of(selector, X, y, size, rng, n_pairs=8):
    """Supports on pairs of disjoint halves of one cohort, with equal classes, and which rows they took."""
    strata = (
        [np.flatnonzero(y == c) for c in (0, 1)]
        if y.dtype.kind == "i"
        else [np.arange(len(y))]
    )
    supports, counts = [], []
    for _ in range(n_pairs):
        orders = [rng.permutation(rows) for rows in strata]
        m = size // len(strata)
        for start in (0, m):
            rows = np.concatenate([order[start : start + m] for order in orders])
            supports.append(selected(selector, X[rows], y[rows]))
            counts.append(np.bincount(rows, minlength=len(y)))
    return Runs(
        np.array(supports),
        row_counts=np.array(counts),
        pairs=np.arange(2 * n_pairs) // 2,
    )


def true_difference(selector, on, size, options, rng, n=500):
    """½|p − q|² over the null distance, from many independent samples, without the bias of their number."""
    tables = []
    for features in on:
        draws = []
        for _ in range(n):
            X, y, cohort = two_sites(rng, [features, features], (size, 2), **options)
            draws.append(selected(selector, X[cohort == 0], y[cohort == 0]))
        tables.append(np.array(draws, dtype=float))
    p, q = (table.mean(axis=0) for table in tables)
    bias = sum(table.var(axis=0, ddof=1).sum() for table in tables) / n
    k = (p.sum() + q.sum()) / 2
    return (((p - q) ** 2).sum() - bias) / 2 / (k * (1 - k / len(p)))


def of_interval(repeats=100):
    rows = []
    for name, (selector, sizes, options) in INTERVALS.items():
        for differ, on in enumerate((SAME, ONE, TWO)):
            rng = np.random.default_rng([differ, *map(ord, name)])
            size = min(sizes) // 2
            truth = true_difference(selector, on, size, options, rng)
            found = []
            for _ in range(repeats):
                X, y, cohort = two_sites(rng, on, sizes, **options)
                parts = {
                    c: halves_of(selector, X[cohort == c], y[cohort == c], size, rng)
                    for c in (0, 1)
                }
                found.append(CohortComparison(parts).difference)
            hit = np.mean([one.low <= truth <= one.high for one in found])
            mean = np.mean([one.estimate for one in found])
            width = np.mean([one.high - one.low for one in found])
            row = {"setting": name, "differ": differ, "truth": truth, "mean": mean}
            rows.append(row | {"coverage": hit, "width": width})
            sys.stderr.write(f"{rows[-1]}\n")
    return pd.DataFrame(rows)


QUESTIONS = {
    "multiverse": of_multiverse,
    "level": of_level,
    "power": of_power,
    "interval": of_interval,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    pd.set_option("display.width", 250, "display.max_columns", 30)
    table = QUESTIONS[sys.argv[1]]()
    sys.stdout.write(table.round(3).to_string() + "\n")

"""Level and power, at 5%, of the tests that compare two selectors on the same resamples.

Stability, :func:`skstab.metrics.compare_stability` paired and unpaired:
- *drawn*: 100 features, selected with known probabilities (quantiles of a Beta distribution, as in intervals.py); what
  the two selectors do with the same resample is correlated, entry by entry, by a Gaussian copula. Level: both have
  stability 0.5. Power: 0.50 against 0.46.
- *filters*: on bootstraps of one data set, a filter by correlation that uses a random half of the resample. Level: two
  of them, with different halves. Power: one that uses 70% against one that uses half.

Scores, `compare_selectors(...).pvalues("score")`: logistic regressions on fresh data sets of 100 rows, 5 informative
features and 10 of noise. Level: two that use different noise, so that neither is better on average over data sets.
Power: one that lacks an informative feature. Bootstraps share rows, which the naive paired t-test ignores.

Recommendations, `compare_selectors(...).recommend()`: three selectors whose true accuracies, at n = 100, are about
0.81, 0.785 and 0.74, the two worse ones perfectly stable; and two whose true accuracies are equal, one more stable. How
often each is recommended, by n, and the errors of the scores against the spread over data sets.

What a choice buys, `recommend()` against the best score: six selectors on data sets out of populations (simulated, and
rows drawn from real data sets). The stability on new samples of what is taken, from independent data sets of the same
size, and its accuracy on new rows; also by the margin alone, without paired errors, and by bootstraps.

    python benchmarks/comparison.py --choice   # what a choice buys, and nothing else
    python benchmarks/comparison.py            # the whole table, a few minutes on two cores
    python benchmarks/comparison.py --quick    # less than a minute
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import sys
import time
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab.metrics import compare_stability, nogueira_stability
from skstab.model_selection import BootstrapSplit, compare_selectors
from skstab.runs import selection_of

LEVEL = 0.05
N_ROWS, N_INFORMATIVE, N_NOISE = 100, 5, 10
N_BOOTSTRAPS, N_FOLDS = 25, 10

# -- stability ---------------------------------------------------------------------------------------------------------


def probabilities(stability, n_features=100, mean=0.3):
    """Selection probabilities; those of Beta(a, b) have the stability 1 / (a + b + 1)."""
    total = 1 / stability - 1
    return stats.beta(mean * total, (1 - mean) * total).ppf(
        (np.arange(n_features) + 0.5) / n_features
    )


def drawn(rng, m, correlation, chances):
    """Runs of two selectors, with the given correlation between their entries."""
    common, *own = rng.standard_normal((3, m, 100))
    latent = (
        np.sqrt(correlation) * common + np.sqrt(1 - correlation) * part for part in own
    )
    return [z < stats.norm.ppf(p) for z, p in zip(latent, chances, strict=True)]


def filtered(rng, m, shares, n_rows=80, n_features=40, k=8):
    """Runs of two filters on bootstraps of one data set, each on its own share of the rows."""
    y = rng.standard_normal(n_rows)
    X = rng.standard_normal((n_rows, n_features)) + np.outer(
        y, np.linspace(0.6, 0, n_features)
    )
    supports = np.zeros((2, m, n_features), dtype=bool)
    for run in range(m):
        rows = rng.integers(n_rows, size=n_rows)
        for selector, share in enumerate(shares):
            part = rng.permutation(rows)[: int(share * n_rows)]
            scores = np.abs((y[part] - y[part].mean()) @ X[part]) / X[part].std(axis=0)
            supports[selector, run, np.argsort(-scores)[:k]] = True
    return supports


def stability_rejections(draw, seed):
    """Whether each test rejects that two selectors are equally stable."""
    a, b = draw(np.random.default_rng(seed))
    return {
        name: compare_stability(a, b, **params).pvalue < LEVEL
        for name, params in {
            "paired jackknife": {"paired": True},
            "unpaired jackknife": {},
            "unpaired asymptotic": {"method": "asymptotic"},
        }.items()
    }


def stability_settings(runs):
    """Name, number of runs, and how to draw runs of two selectors, equally stable and not."""
    p, less = probabilities(0.5), probabilities(0.46)
    for m in runs:
        for correlation in (0.0, 0.5, 0.9):
            draw = partial(drawn, m=m, correlation=correlation)
            yield (
                f"drawn, correlation {correlation}",
                m,
                partial(draw, chances=(p, p)),
                partial(draw, chances=(p, less)),
            )
        yield (
            "filters",
            m,
            partial(filtered, m=m, shares=(0.5, 0.5)),
            partial(filtered, m=m, shares=(0.7, 0.5)),
        )


def stability_rows(runs, repeats):
    rows = []
    for setting, m, null, alternative in stability_settings(runs):
        level = rejected(partial(stability_rejections, null), repeats)
        power = rejected(partial(stability_rejections, alternative), repeats)
        rows += [
            (test, setting, m, repeats, level[test], power[test])
            for test in level.index
        ]
    return rows


# -- scores ------------------------------------------------------------------------------------------------------------


def marked(X, y, columns):  # noqa: ARG001 - a score function gets y
    scores = np.zeros(X.shape[1])
    scores[columns] = 1
    return scores


def model_on(columns):
    return make_pipeline(
        SelectKBest(partial(marked, columns=columns), k=len(columns)),
        LogisticRegression(solver="liblinear"),
    )


def selectors():
    """A model, one with the same expected score, and one that lacks an informative feature."""
    informative, noise = (
        np.arange(N_INFORMATIVE),
        N_INFORMATIVE + np.arange(2 * N_NOISE),
    )
    return {
        "one": model_on([*informative, *noise[:N_NOISE]]),
        "equal": model_on([*informative, *noise[N_NOISE:]]),
        "worse": model_on([*informative[1:], *noise[N_NOISE:]]),
    }


def score_rejections(seed):
    """Whether each test rejects that two models score equally, for the equal one and for the worse one."""
    X, y = make_classification(
        N_ROWS,
        N_INFORMATIVE + 2 * N_NOISE,
        n_informative=N_INFORMATIVE,
        n_redundant=0,
        shuffle=False,
        random_state=seed,
    )
    order = np.random.default_rng(seed).permutation(N_ROWS)
    X, y = X[order], y[order]
    bootstraps = list(BootstrapSplit(N_BOOTSTRAPS, random_state=seed).split(X, y))
    found = {
        "bootstraps": compare_selectors(selectors(), X, y, cv=bootstraps),
        "folds": compare_selectors(selectors(), X, y, cv=StratifiedKFold(N_FOLDS)),
    }
    ratio = np.mean([len(test) / len(train) for train, test in bootstraps])
    by_auc = compare_selectors(selectors(), X, y, cv=bootstraps, scoring="roc_auc")
    return {
        other: {
            ("test over rows (accuracy)", "bootstraps"): ours(
                found["bootstraps"], other
            ),
            ("t-test, 1/M + 0.1 (accuracy)", "bootstraps"): resampled_t(
                found["bootstraps"], other, 0.1
            ),
            ("t-test, 1/M + 0.2 (AUC)", "bootstraps"): ours(by_auc, other),
            ("t-test, 1/M + 0.1 (AUC)", "bootstraps"): resampled_t(by_auc, other, 0.1),
            ("t-test, 1/M + n_test/n_train", "bootstraps"): resampled_t(
                found["bootstraps"], other, ratio
            ),
            ("naive t-test", "bootstraps"): resampled_t(found["bootstraps"], other, 0),
            ("McNemar's mid-p test", "folds"): ours(found["folds"], other),
            ("corrected t-test", "folds"): resampled_t(
                found["folds"], other, 1 / (N_FOLDS - 1)
            ),
            ("naive t-test", "folds"): resampled_t(found["folds"], other, 0),
        }
        for other in ("equal", "worse")
    }


def ours(found, other):
    return found.pvalues("score", adjust=False).loc["one", other] < LEVEL


def resampled_t(found, other, share):
    """The t-test on differences of scores; a share of 0 treats the resamples as independent."""
    name = next(iter(found.runs["one"].scores_))
    differences = found.runs["one"].scores_[name] - found.runs[other].scores_[name]
    m, deviation = differences.size, differences.std(ddof=1)
    if deviation == 0:
        return False
    statistic = differences.mean() / (deviation * np.sqrt(1 / m + share))
    return 2 * stats.t.sf(abs(statistic), m - 1) < LEVEL


def score_rows(repeats):
    found = Parallel(n_jobs=2)(
        delayed(score_rejections)(seed) for seed in range(repeats)
    )
    level, power = (
        pd.DataFrame([one[other] for one in found]).mean()
        for other in ("equal", "worse")
    )
    sizes = {"bootstraps": N_BOOTSTRAPS, "folds": N_FOLDS}
    return [
        (
            test,
            setting,
            sizes[setting],
            repeats,
            level[test, setting],
            power[test, setting],
        )
        for test, setting in level.index
    ]


# -- recommendations ---------------------------------------------------------------------------------------------------

N_FEATURES, EFFECTS = 30, (2.3, 1.7, 1.1)


def ranked_data(n, seed):
    """Rows with three features of falling effect, and the others of noise."""
    rng = np.random.default_rng([seed, n])
    X = rng.standard_normal((n, N_FEATURES))
    return X, (X[:, :3] @ EFFECTS + rng.logistic(size=n) > 0).astype(int), rng


def fixed(columns):
    """A selector that always takes these columns and then as many others, by their correlation, as make five."""
    return make_pipeline(
        SelectKBest(partial(preferred, columns=tuple(columns)), k=5),
        LogisticRegression(solver="liblinear"),
    )


def preferred(X, y, columns):
    scores = np.abs((y - y.mean()) @ X) / X.std(axis=0)
    scores[list(columns)] += 1e6
    return scores


THREE = {
    # The more features are fixed, the more stable the selection and the fewer of them are true ones.
    "best": fixed([0, 1, 2]),
    "middle": fixed([0, 1, 10, 11, 12]),
    "worst": fixed([0, 2, 10, 11, 12]),
}
TWO = {"stable": fixed([0, 1, 20, 21]), "loose": fixed([0, 1])}


def recommended(selectors, n, seed):
    """The recommended selector, and whether the interval of the score of the first one holds its true accuracy."""
    X, y, _ = ranked_data(n, seed)
    cv = BootstrapSplit(50, random_state=seed)
    found = compare_selectors(selectors, X, y, cv=cv, random_state=seed)
    row = found.frame().iloc[0]
    naive = found.runs[row.name].scores_["score"].std(ddof=1) / np.sqrt(50)
    return found.recommend().selector or "none", row["score"], row["score_se"], naive


def true_accuracies(selectors, n):
    """Accuracies on many new rows of models trained on data sets of n rows."""
    X_new, y_new, _ = ranked_data(20_000, 10**6)
    fits = [ranked_data(n, seed)[:2] for seed in range(40)]
    return {
        name: np.mean([selector.fit(*data).score(X_new, y_new) for data in fits])
        for name, selector in selectors.items()
    }


def recommendation_rows(repeats, sizes):
    for title, selectors in (("three", THREE), ("two", TWO)):
        for n in sizes:
            truth = ", ".join(
                f"{name} {value:.3f}"
                for name, value in true_accuracies(selectors, n).items()
            )
            found = Parallel(n_jobs=2)(
                delayed(recommended)(selectors, n, seed) for seed in range(repeats)
            )
            chosen, scores, errors, naive = zip(*found, strict=True)
            shares = pd.Series(chosen).value_counts(normalize=True)
            yield [
                *(
                    title,
                    n,
                    truth,
                    ", ".join(f"{name} {share:.2f}" for name, share in shares.items()),
                ),
                *(
                    f"{np.std(scores, ddof=1):.3f}",
                    f"{np.mean(errors):.3f}",
                    f"{np.mean(naive):.3f}",
                ),
            ]


def show_recommendations(repeats, sizes):
    print("\n## Recommendations\n")
    heads = [
        "selectors",
        "n",
        "true accuracies",
        "recommended",
        "sd of the score",
        "mean score_se",
        "mean naive error",
    ]
    for line in [heads, ["---"] * len(heads), *recommendation_rows(repeats, sizes)]:
        print("|", " | ".join(map(str, line)), "|")


# -- what a choice buys ------------------------------------------------------------------------------------------------

SIX = {
    **{
        f"L1, C = {C}": make_pipeline(
            StandardScaler(), LogisticRegression(l1_ratio=1, solver="liblinear", C=C)
        )
        for C in (0.05, 0.2, 1.0)
    },
    **{
        f"{k} best": make_pipeline(
            StandardScaler(), SelectKBest(k=k), LogisticRegression(solver="liblinear")
        )
        for k in (3, 6, 12)
    },
}


def logistic_rows(rng, n, d=40):
    X = rng.standard_normal((n, d))
    return X, (X[:, :6] @ np.linspace(1.2, 0.3, 6) + rng.logistic(size=n) > 0).astype(
        int
    )


def chained_rows(rng, n, d=40):
    X = rng.standard_normal((n, d))
    for f in range(1, d):
        X[:, f] = 0.7 * X[:, f - 1] + 0.71 * X[:, f]
    return X, (X[:, ::5] @ np.linspace(1.2, 0.3, 8) + rng.logistic(size=n) > 0).astype(
        int
    )


def rows_of(X, y):
    def draw(rng, n):
        rows = rng.integers(len(X), size=n)
        return X[rows], y[rows]

    return draw


def populations(folder):
    real = {"breast cancer": load_breast_cancer(return_X_y=True)}
    for name in ("spambase", "ionosphere", "sonar"):
        path = folder / f"{name}.npz"
        if path.exists():
            stored = np.load(path)
            codes = np.unique(stored["y"], return_inverse=True)[1]
            real[name] = stored["X"][:, stored["X"].std(axis=0) > 0], codes
    return {"logistic": logistic_rows, "chain": chained_rows} | {
        name: rows_of(*data) for name, data in real.items()
    }


def truths(draw, n, n_sets):
    """Stability of each selector over independent data sets, and its accuracy on new rows."""
    rng = np.random.default_rng(0)
    X_new, y_new = draw(rng, 3000)
    supports, scores = {name: [] for name in SIX}, {name: [] for name in SIX}
    for _ in range(n_sets):
        X, y = draw(rng, n)
        for name, selector in SIX.items():
            fitted = clone(selector).fit(X, y)
            supports[name].append(selection_of(fitted, X, y).support)
            scores[name].append(fitted.score(X_new, y_new))
    return pd.DataFrame(
        {
            "stability": {name: nogueira_stability(s) for name, s in supports.items()},
            "accuracy": {name: np.mean(s) for name, s in scores.items()},
        }
    )


def taken(draw, n, seed):
    """What is taken from one data set, by each rule."""
    X, y = draw(np.random.default_rng([1, seed]), n)
    cv = BootstrapSplit(25, stratify=True, random_state=seed)
    found = compare_selectors(SIX, X, y, cv=cv, random_state=seed)
    table = found.frame()
    best = table["score"].idxmax()
    unpaired = found.recommend(margin=float(table.loc[best, "score_se"]))
    on_bootstraps = replace(found, halves=None)
    rules = {
        "best score": best,
        "recommend()": found.recommend().selector,
        "the margin alone": unpaired.selector,
        "by bootstraps": on_bootstraps.recommend().selector,
        "most stable": table["replication"].idxmax(),
    }
    return {rule: best if name is None else name for rule, name in rules.items()}


def choices(folder, n_sets, n=150):
    rows = []
    for name, draw in populations(folder).items():
        truth = truths(draw, n, 40)
        for seed in range(n_sets):
            for rule, selector in taken(draw, n, seed).items():
                rows.append({"population": name, "rule": rule, **truth.loc[selector]})
        found = pd.DataFrame(rows)
        print(
            found.groupby(["population", "rule"], sort=False)
            .mean()
            .round(3)
            .to_string()
        )
        print(
            found.groupby("rule", sort=False)[["stability", "accuracy"]]
            .mean()
            .round(3)
            .to_string(),
            flush=True,
        )


# -- the table ---------------------------------------------------------------------------------------------------------


def rejected(draw_and_test, repeats):
    """Share of the repeats in which each test rejects."""
    parts = np.array_split(np.arange(repeats), 20)
    found = Parallel(n_jobs=2)(delayed(_each)(draw_and_test, part) for part in parts)
    return pd.DataFrame([row for part in found for row in part]).mean()


def _each(draw_and_test, seeds):
    return [draw_and_test(seed) for seed in seeds]


def with_error(share, repeats):
    return f"{share:.3f} ± {np.sqrt(share * (1 - share) / repeats):.3f}"


def show(title, rows):
    """Print rows as a Markdown table, shares with their Monte Carlo standard errors."""
    print(f"\n## {title}\n")
    lines = [["test", "setting", "M", "repeats", "level", "power"], ["---"] * 6]
    for *what, repeats, level, power in rows:
        lines.append(
            [*what, repeats, with_error(level, repeats), with_error(power, repeats)]
        )
    for line in lines:
        print("|", " | ".join(map(str, line)), "|")


def main():
    quick, start = "--quick" in sys.argv, time.perf_counter()
    show(
        "Stability: rejections at 5%",
        stability_rows([30] if quick else [10, 30], 200 if quick else 2000),
    )
    show("Scores: rejections at 5%", score_rows(30 if quick else 600))
    show_recommendations(10 if quick else 100, [100] if quick else [100, 200, 400])
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    if "--choice" in sys.argv:
        warnings.simplefilter("ignore")
        sys.exit(choices(Path("../shared/data"), 30))
    main()

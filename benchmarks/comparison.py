"""Level and power, at 5%, of the tests that compare two selectors on the same resamples.

Stability, :func:`skstab.metrics.compare_stability` paired and unpaired:
- *drawn*: 100 features, selected with known probabilities (quantiles of a Beta distribution, as in coverage.py); what
  the two selectors do with the same resample is correlated, entry by entry, by a Gaussian copula. Level: both have
  stability 0.5. Power: 0.50 against 0.46.
- *filters*: on bootstraps of one data set, a filter by correlation that sees a random half of the resample. Level: two
  of them, with different halves. Power: one that sees 70% against one that sees half.

Scores, `compare_selectors(...).pvalues("score")`: logistic regressions on fresh data sets of 100 rows, 5 informative
features and 10 of noise. Level: two that see different noise, so that neither is better on average over data sets.
Power: one that lacks an informative feature. Bootstraps share rows, which the naive paired t-test does not know.

    python benchmarks/comparison.py            # the whole table, some minutes on two cores
    python benchmarks/comparison.py --quick    # less than a minute
"""

import os

os.environ.update(dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1"))

import sys
import time
from functools import partial

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from skstab.metrics import compare_stability
from skstab.model_selection import BootstrapSplit, compare_selectors

LEVEL = 0.05
N_ROWS, N_INFORMATIVE, N_NOISE = 100, 5, 10
N_BOOTSTRAPS, N_FOLDS = 25, 10

# -- stability -------------------------------------------------------------------------------------------------------


def probabilities(stability, n_features=100, mean=0.3):
    """Selection probabilities; those of Beta(a, b) have the stability 1 / (a + b + 1)."""
    total = 1 / stability - 1
    return stats.beta(mean * total, (1 - mean) * total).ppf((np.arange(n_features) + 0.5) / n_features)


def drawn(rng, m, correlation, chances):
    """Runs of two selectors, each entry as correlated between them as told."""
    common, *own = rng.standard_normal((3, m, 100))
    latent = (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * part for part in own)
    return [z < stats.norm.ppf(p) for z, p in zip(latent, chances, strict=True)]


def filtered(rng, m, shares, n_rows=80, n_features=40, k=8):
    """Runs of two filters on bootstraps of one data set, each on a share of the rows of its own."""
    y = rng.standard_normal(n_rows)
    X = rng.standard_normal((n_rows, n_features)) + np.outer(y, np.linspace(0.6, 0, n_features))
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
        yield "filters", m, partial(filtered, m=m, shares=(0.5, 0.5)), partial(filtered, m=m, shares=(0.7, 0.5))


def stability_rows(runs, repeats):
    rows = []
    for setting, m, null, alternative in stability_settings(runs):
        level = rejected(partial(stability_rejections, null), repeats)
        power = rejected(partial(stability_rejections, alternative), repeats)
        rows += [(test, setting, m, repeats, level[test], power[test]) for test in level.index]
    return rows


# -- scores ----------------------------------------------------------------------------------------------------------


def marked(X, y, columns):  # noqa: ARG001 - a score function gets y
    scores = np.zeros(X.shape[1])
    scores[columns] = 1
    return scores


def model_on(columns):
    return make_pipeline(
        SelectKBest(partial(marked, columns=columns), k=len(columns)), LogisticRegression(solver="liblinear")
    )


def selectors():
    """A model, its equal in expectation, and one that lacks what matters."""
    informative, noise = np.arange(N_INFORMATIVE), N_INFORMATIVE + np.arange(2 * N_NOISE)
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
    distinct = np.mean([len(test) / len(np.unique(train)) for train, test in bootstraps])
    return {
        other: {
            ("corrected t-test", "bootstraps"): ours(found["bootstraps"], other),
            ("the same, n_train of distinct rows", "bootstraps"): resampled_t(found["bootstraps"], other, distinct),
            ("naive t-test", "bootstraps"): resampled_t(found["bootstraps"], other, 0),
            ("McNemar's exact test", "folds"): ours(found["folds"], other),
            ("corrected t-test", "folds"): resampled_t(found["folds"], other, 1 / (N_FOLDS - 1)),
            ("naive t-test", "folds"): resampled_t(found["folds"], other, 0),
        }
        for other in ("equal", "worse")
    }


def ours(found, other):
    return found.pvalues("score", adjust=False).loc["one", other] < LEVEL


def resampled_t(found, other, share):
    """The t-test on differences of scores; a share of 0 takes the resamples for independent."""
    differences = found.runs["one"].scores_["score"] - found.runs[other].scores_["score"]
    m, deviation = differences.size, differences.std(ddof=1)
    if deviation == 0:
        return False
    statistic = differences.mean() / (deviation * np.sqrt(1 / m + share))
    return 2 * stats.t.sf(abs(statistic), m - 1) < LEVEL


def score_rows(repeats):
    found = Parallel(n_jobs=2)(delayed(score_rejections)(seed) for seed in range(repeats))
    level, power = (pd.DataFrame([one[other] for one in found]).mean() for other in ("equal", "worse"))
    sizes = {"bootstraps": N_BOOTSTRAPS, "folds": N_FOLDS}
    return [
        (test, setting, sizes[setting], repeats, level[test, setting], power[test, setting])
        for test, setting in level.index
    ]


# -- the table -------------------------------------------------------------------------------------------------------


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
        lines.append([*what, repeats, with_error(level, repeats), with_error(power, repeats)])
    for line in lines:
        print("|", " | ".join(map(str, line)), "|")


def main():
    quick, start = "--quick" in sys.argv, time.perf_counter()
    show("Stability: rejections at 5%", stability_rows([30] if quick else [10, 30], 200 if quick else 2000))
    show("Scores: rejections at 5%", score_rows(30 if quick else 600))
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()

"""Confidence sets of ranks: how often they hold the true ranks of all features, and how wide they are.

The true rank is that of the mean rank over very many runs; features whose mean ranks are equal have all the ranks that
they share, and a set has to hold them all. The last populations are runs of real selectors: 1500 bootstraps of one data
set, of which M are drawn.

    python benchmarks/ranks.py
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

from argparse import ArgumentParser
from functools import partial

import numpy as np
from scipy.stats import rankdata
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab.model_selection import BootstrapSplit, StabilityCV
from skstab.runs import Runs

REPEATS, SIZES = 100, (10, 30, 100)


def spaced(rng, m):
    """Twenty features whose importances differ more or less."""
    return rng.gamma(4, np.linspace(1, 5, 20), (m, 20))


def tied(rng, m):
    """Four groups of ten features that are alike."""
    return rng.gamma(4, np.repeat([1.0, 1.5, 3, 6], 10), (m, 40))


def sparse(rng, m):
    """A hundred features, of which most are rarely selected."""
    chosen = rng.random((m, 100)) < np.r_[np.linspace(1, 0.3, 15), np.full(85, 0.03)]
    return chosen * rng.gamma(4, np.r_[np.linspace(4, 1, 15), np.ones(85)], (m, 100))


def dependent(rng, m):
    """Twelve features, of which pairs take turns."""
    table = rng.gamma(4, np.repeat(np.linspace(4, 1, 6), 2), (m, 12))
    turn = np.arange(12) % 2 == rng.integers(2, size=(m, 6)).repeat(2, axis=1)
    return np.where(turn, table, 0.0)


def pool_of(estimator, X, y):
    cv = BootstrapSplit(1500, random_state=0)
    runs = StabilityCV(estimator, cv=cv, measure="spearman", random_state=0)
    return runs.fit(X, y).importances_


def drawn(pool, rng, m):
    return pool[rng.integers(len(pool), size=m)]


def mean_ranks(importances):
    """Mean rank of each feature."""
    return rankdata(-importances, axis=1).mean(axis=0)


def measured(name, population, truth, tolerance):
    first = 1 + (truth[None, :] < truth[:, None] - tolerance).sum(axis=1)
    last = (truth[None, :] <= truth[:, None] + tolerance).sum(axis=1)
    for m in SIZES:
        rng = np.random.default_rng(m)
        held, width, marginal = 0, 0.0, 0.0
        for _ in range(REPEATS):
            table = population(rng, m)
            names = range(table.shape[1])
            runs = Runs(table > 0, table, feature_names=names)
            found = runs.ranks(5, n_resamples=300, random_state=0).sort_index()
            inside = (found["rank_low"] <= first) & (found["rank_high"] >= last)
            held += inside.all()
            marginal += inside.mean()
            width += (found["rank_high"] - found["rank_low"] + 1).mean()
        cells = (held / REPEATS, marginal / REPEATS, width / REPEATS)
        print(
            f"  {name:<28}{m:>5}"
            + "".join(f"{cell:>12.3f}" for cell in cells[:2])
            + f"{cells[2]:>8.1f} of {table.shape[1]}",
            flush=True,
        )


def main():
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--real", action="store_true", help="only the real selectors")
    made_up = () if parser.parse_args().real else (spaced, tied, sparse, dependent)
    print(f"level 95%, {REPEATS} tables of M runs")
    print(f"  {'':<28}{'M':>5}{'all hold':>12}{'one holds':>12}{'ranks':>8}")
    for population in made_up:
        many = population(np.random.default_rng(10**6), 200_000)
        truth = mean_ranks(many)
        if population is tied:
            truth = np.repeat(truth.reshape(4, 10).mean(axis=1), 10)
        if population is sparse:
            truth[15:] = truth[15:].mean()
        if population is dependent:
            truth = np.repeat(truth.reshape(6, 2).mean(axis=1), 2)
        measured(population.__name__, population, truth, 1e-6)
    lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
    pools = {
        "breast cancer, lasso": pool_of(
            make_pipeline(StandardScaler(), lasso), *load_breast_cancer(return_X_y=True)
        ),
        "diabetes, extra trees": pool_of(
            ExtraTreesRegressor(20, random_state=0), *load_diabetes(return_X_y=True)
        ),
    }
    for name, pool in pools.items():
        measured(name, partial(drawn, pool), mean_ranks(pool), 1e-9)


if __name__ == "__main__":
    main()

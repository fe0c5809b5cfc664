"""Whether evidence for single features holds what it says: decoys, fragility, directions, p-values after selection.

Settings were fixed before the run. `decoys`: of the features that are called different from decoys (q ≤ 0.05) and are
selected in at least half of the halves, how many are noise; and how many of those that matter are kept. Noise is what
correlates with no feature that matters (AR: at least six places away; blocks: other blocks). `fragility`: planted bad
records, and refits of what is found in the data sets of `../shared/data` (published with the microarray papers and at
UCI; without the files they are left out). `directions`: coverage of the
intervals. `pvalues`: family-wise errors and power.

    python benchmarks/evidence.py [decoys held_out fragility directions pvalues] [--sets 60]
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import SelectFromModel, SelectKBest, f_regression
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab.inspection import (
    decoy_evidence,
    feature_report,
    fragility,
    split_pvalues,
)
from skstab.model_selection import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    StabilityCV,
)
from skstab.runs import Runs

N, D = 120, 60


def lasso(alpha):
    return make_pipeline(StandardScaler(), Lasso(alpha, tol=1e-3))


def best(k):
    return make_pipeline(SelectKBest(f_regression, k=k), LinearRegression())


def logistic_lasso(C):
    return make_pipeline(
        StandardScaler(),
        LogisticRegression(l1_ratio=1, solver="liblinear", C=C, random_state=0),
    )


def forest(k):
    trees = RandomForestRegressor(20, max_features=0.3, random_state=0)
    return SelectFromModel(trees, max_features=k, threshold=-np.inf)


# -- data with known features ----------------------------------------------------------


def columns(rng, kind, n=N, d=D):
    if kind == "AR .7":
        X = rng.standard_normal((n, d))
        for j in range(1, d):
            X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(0.51) * X[:, j]
        return X
    if kind == "blocks .9":
        common = np.repeat(rng.standard_normal((n, d // 5)), 5, axis=1)
        return np.sqrt(0.9) * common + np.sqrt(0.1) * rng.standard_normal((n, d))
    if kind == "heavy tails":
        return rng.standard_t(2, (n, d))
    if kind == "one-hot":
        levels = rng.integers(4, size=(n, d // 4))
        return (levels[:, :, None] == np.arange(4)).reshape(n, -1).astype(float)
    return rng.standard_normal((n, d))


def simulated(seed, kind, n_true, effect):
    """X, y, a label for each feature, groups, and which labels matter and which are noise."""
    rng = np.random.default_rng(seed)
    d = 400 if kind == "wide" else D
    X, groups = columns(rng, kind, d=d), None
    labels = np.arange(d)
    true = np.linspace(7, d - 8, n_true).astype(int)
    if kind in ("blocks .9", "one-hot"):
        labels //= 5 if kind == "blocks .9" else 4
    if kind == "groups":
        # 30 patients of 4 rows; every second column is constant within them, and so is half of the noise of y.
        groups = np.repeat(np.arange(N // 4), 4)
        X[:, ::2] = X[::4, ::2][groups]
        true = true // 2 * 2
    y = effect * X[:, true].sum(axis=1) + rng.standard_normal(N)
    if groups is not None:
        y += rng.standard_normal(N // 4)[groups]
    matters = np.unique(labels[true])
    near = {"AR .7": 5}.get(kind, 0)
    touched = {m + step for m in matters for step in range(-near, near + 1)}
    noise = np.setdiff1d(labels, sorted(touched))
    return X, y, labels, groups, matters, noise


SETTINGS = [
    ("independent", lasso(0.1), "lasso 0.1"),
    ("independent", lasso(0.2), "lasso 0.2"),
    ("independent", best(10), "10 best"),
    ("independent", best(50), "50 best of 60"),
    ("AR .7", lasso(0.1), "lasso 0.1"),
    ("AR .7", best(10), "10 best"),
    ("blocks .9", lasso(0.1), "lasso 0.1"),
    ("blocks .9", best(10), "10 best"),
    ("groups", lasso(0.2), "lasso 0.2"),
    ("one-hot", lasso(0.05), "lasso 0.05"),
]

# Nothing was chosen on these.
HELD_OUT = [
    ("AR .7", logistic_lasso(0.2), "logistic 0.2"),
    ("independent", logistic_lasso(2), "logistic 2"),
    ("heavy tails", lasso(0.1), "lasso 0.1"),
    ("independent", forest(12), "12 of a forest"),
    ("wide", lasso(0.25), "lasso 0.25"),
    ("wide", best(40), "40 best"),
    ("blocks .9", lasso(0.03), "lasso 0.03"),
]


def decoys(n_sets, settings=SETTINGS):
    print(
        f"n = {N}, d = {D} (wide: 400), {n_sets} data sets each, 5 draws of decoys, 8 pairs of halves"
    )
    print(
        f"{'columns':<12}{'selector':<15}{'true':>5}{'effect':>7}{'noise share':>13}{'sets with noise':>17}{'kept':>7}"
    )
    for kind, model, name in settings:
        for n_true, effect in ((0, 0.0), (1, 1.0), (5, 1.0)):
            rows = [
                one_comparison(seed, kind, model, n_true, effect)
                for seed in range(n_sets)
            ]
            share, any_noise, kept = np.nanmean(rows, axis=0)
            print(
                f"{kind:<12}{name:<15}{n_true:>5}{effect:>7.1f}{share:>13.3f}{any_noise:>17.2f}{kept:>7.2f}",
                flush=True,
            )


def held_out(n_sets):
    """The same on settings that nothing was chosen on, and what it costs."""
    decoys(n_sets // 2, HELD_OUT)
    cost()


def one_comparison(seed, kind, model, n_true, effect):
    X, y, labels, groups, matters, noise = simulated(seed, kind, n_true, effect)
    if "logistic" in str(model).lower():
        y = (y > 0).astype(int)
    evidence = decoy_evidence(model, X, y, groups=groups, random_state=seed)
    table = evidence.frame(clusters=labels)
    found = table.index[(table["qvalue"] <= 0.05) & (table["halves"] >= 0.5)]
    wrong = np.isin(found, noise).sum()
    kept = np.isin(matters, found).mean() if n_true else np.nan
    return wrong / max(len(found), 1), wrong > 0, kept


def cost(d=20_000):
    """CPU seconds beside those of the permuted targets that decoys replace, fitted in a plain loop."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, d))
    y = X[:, :5].sum(axis=1) + rng.standard_normal(150)
    for name, model in (("lasso 0.3", lasso(0.3)), ("20 best", best(20))):
        start = time.process_time()
        evidence = decoy_evidence(model, X, y, random_state=0)
        middle = time.process_time()
        for _ in range(20):
            target = rng.permutation(y)
            for _ in range(4):
                half = rng.permutation(150)[:75]
                clone(model).fit(X[half], target[half])
        end = time.process_time()
        found = evidence.frame()["qvalue"] <= 0.05
        print(
            f"d = {d}, {name}: decoys {middle - start:.1f} s of CPU ({len(evidence.columns)} columns have one; "
            f"{int(found[:5].sum())} of 5 true features found, {int(found[5:].sum())} others), 80 fits with permuted "
            f"targets {end - middle:.1f} s",
            flush=True,
        )


# -- fragility -------------------------------------------------------------------------


def fragilities(n_sets, folder):
    for n_runs in (50, 200):
        hit = n_listed = wrong = n_others = 0
        for seed in range(min(n_sets, 40)):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((100, D))
            y = X[:, :5].sum(axis=1) + rng.standard_normal(100)
            X[7, 49], y[7] = 5, y[7] + 15
            model = lasso(0.3)
            cv = StabilityCV(model, cv=BootstrapSplit(n_runs, random_state=seed)).fit(
                X, y
            )
            table = fragility(cv, confirm=(model, X, y)).frame()
            if "x49" in table.index:
                n_listed += 1
                hit += table.loc["x49", "rows"] == (7,)
            others = table.drop(index="x49", errors="ignore")
            n_others += len(others)
            wrong += int((others["confirmed"] >= 0.5).sum())
        print(
            f"planted, {n_runs} runs: found {hit} of {n_listed} that are in the list; of {n_others} other features "
            f"{wrong} are said to hang on rows, and do not by a refit",
            flush=True,
        )
    null_fragilities(n_sets)
    real_fragilities(folder)


def null_fragilities(n_sets):
    """Features that no row carries: selections that have nothing to do with the rows."""
    named = n = 0
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        counts = rng.multinomial(100, np.full(100, 0.01), size=100)
        found = fragility(Runs(rng.random((100, 50)) < 0.55, row_counts=counts)).frame()
        named, n = named + int(found["fragility"].notna().sum()), n + len(found)
    print(
        f"no row matters: {named} of {n} features are said to hang on rows", flush=True
    )


def real_fragilities(folder):
    totals = np.zeros(3, dtype=int)
    for name, C in (
        ("alon", 0.1),
        ("golub", 0.1),
        ("gravier", 0.05),
        ("sonar", 0.1),
        ("sonar", 0.3),
        ("ionosphere", 0.1),
        ("ionosphere", 0.3),
        ("lsvt", 0.1),
        ("breast", 0.1),
        ("breast", 0.5),
    ):
        data = real(name, folder)
        if data is None:
            continue
        X, y = data
        model = make_pipeline(
            StandardScaler(),
            LogisticRegression(l1_ratio=1, solver="liblinear", C=C, random_state=0),
        )
        cv = StabilityCV(model, cv=BootstrapSplit(200, random_state=0)).fit(X, y)
        table = fragility(cv, confirm=(model, X, y)).frame()
        found = table[table["fragility"].notna()]
        row = len(table), len(found), int((found["confirmed"] < 0.5).sum())
        totals += row
        print(
            f"{name:<12} C = {C:<5} features of the list {row[0]:>3}, found {row[1]:>2}, confirmed {row[2]:>2}",
            flush=True,
        )
    print(
        f"all: {totals[0]} features, {totals[1]} found to hang on few rows, {totals[2]} confirmed by refits"
    )


def real(name, folder):
    if name == "breast":
        return load_breast_cancer(return_X_y=True)
    path = folder / f"{name}.npz"
    if not path.exists():
        print(f"{path} is missing: left out")
        return None
    held = np.load(path)
    X = held["X"].astype(float)
    if name in ("alon", "golub"):
        X = np.log2(np.maximum(X, 1))
    X = X[:, X.std(axis=0) > 0]
    return X[:, np.argsort(-X.var(axis=0))[:5000]], held["y"]


# -- directions ------------------------------------------------------------------------


def directions(n_sets):
    """Coverage of the 95% interval of the rank correlation: Gaussian pairs, 60 rows."""
    for r in (0.0, 0.3, 0.6, 0.9):
        rng = np.random.default_rng(0)
        y = rng.standard_normal((20 * n_sets, 60))
        x = r * y + np.sqrt(1 - r**2) * rng.standard_normal(y.shape)
        truth, inside, decided = 6 / np.pi * np.arcsin(r / 2), [], []
        for one, other in zip(x, y, strict=True):
            table = (
                feature_report(
                    Runs([[True], [True]]), one[:, None], other, clusters=[0]
                )
                .frame()
                .iloc[0]
            )
            inside.append(
                table["association_low"] <= truth <= table["association_high"]
            )
            decided.append(table["direction"] != "±")
        print(
            f"r = {r}: the interval holds Spearman's correlation in {np.mean(inside):.3f}, "
            f"a sign is given in {np.mean(decided):.3f}",
            flush=True,
        )


# -- p-values after selection ----------------------------------------------------------


def events_by_rank(X, y):
    """Correlation of the ranks with the observed minus the expected events."""
    time, event = y["time"], y["event"]
    hazard = np.array([np.mean(time >= t) for t in time]) * len(time)
    expected = np.array([(event[time <= t] / hazard[time <= t]).sum() for t in time])
    return np.abs(np.corrcoef(rankdata(X, axis=0).T, event - expected)[-1, :-1])


def selector_for(model, n):
    if model == "linear":
        return lasso(0.25)
    return logistic_lasso(12 / n) if model == "logistic" else eight_best


eight_best = SelectKBest(events_by_rank, k=8)


def targets(rng, model, signal):
    n = len(signal)
    if model == "linear":
        return signal + rng.standard_normal(n)
    if model == "logistic":
        return (signal + rng.logistic(size=n) > 0).astype(int)
    time, end = rng.exponential(np.exp(-signal)), rng.exponential(2.0, n)
    both = list(zip(time <= end, np.minimum(time, end), strict=True))
    return np.array(both, dtype=[("event", bool), ("time", float)])


def pvalues(n_sets):
    """Family-wise errors and power at 5%: halves and bootstraps, beside tests on the rows that selected."""
    print(
        f"{'model':<10}{'columns':<13}{'true':>4}   of data sets with a wrong one: "
        "halves, bootstraps, naive, naive adjusted   power: the same"
    )
    for model in ("linear", "logistic", "cox"):
        for kind in ("independent", "AR .7"):
            for n_true in (0, 4):
                rows = [one_family(seed, model, kind, n_true) for seed in range(n_sets)]
                wrong, kept = np.nanmean(rows, axis=0)
                print(
                    f"{model:<10}{kind:<13}{n_true:>4}   "
                    + " ".join(f"{share:.3f}" for share in wrong)
                    + "   "
                    + (" ".join(f"{share:.2f}" for share in kept) if n_true else ""),
                    flush=True,
                )


def one_family(seed, model, kind, n_true, n=120, d=50):
    rng = np.random.default_rng(seed)
    X = columns(rng, kind, n, d)
    true = np.linspace(5, d - 6, n_true).astype(int)
    effect = {"linear": 0.6, "logistic": 1.2, "cox": 0.8}[model]
    y = targets(rng, model, effect * X[:, true].sum(axis=1))
    selector = selector_for(model, n)
    halves = ComplementaryPairsSplit(50, random_state=seed)
    bootstraps = BootstrapSplit(50, random_state=seed)
    ways = []
    for cv in (halves, bootstraps):
        runs = StabilityCV(selector, cv=cv).fit(X, y).runs_
        ways.append(split_pvalues(runs, X, y)["pvalue"].to_numpy() <= 0.05)
    support = StabilityCV(selector, cv=2).fit(X, y).runs_.refit
    naive = naive_pvalues(model, support, X, y)
    ways += [naive <= 0.05, naive * max(support.sum(), 1) <= 0.05]
    noise = np.setdiff1d(np.arange(d), true)
    wrong = [way[noise].any() for way in ways]
    kept = [way[true].mean() if n_true else np.nan for way in ways]
    if model == "cox":  # has no naive test here
        wrong[2:] = kept[2:] = [np.nan, np.nan]
    return wrong, kept


def naive_pvalues(model, support, X, y):
    """Wald tests of the selected features in the unpenalised model of them, on the rows that selected."""
    pvalues = np.ones(len(support))
    if model == "cox" or not support.any():
        return pvalues
    design = np.column_stack([np.ones(len(y)), X[:, support]])
    if model == "linear":
        weights, *_ = np.linalg.lstsq(design, y, rcond=None)
        rest = y - design @ weights
        spread = np.full(len(y), len(y) - design.shape[1]) / (rest @ rest)
    else:
        fitted = LogisticRegression(C=np.inf, max_iter=10_000).fit(X[:, support], y)
        weights = np.r_[fitted.intercept_, fitted.coef_[0]]
        share = fitted.predict_proba(X[:, support])[:, 1]
        spread = share * (1 - share)
    errors = np.sqrt(np.diag(np.linalg.inv((design * spread[:, None]).T @ design)))
    pvalues[support] = 2 * norm.sf(np.abs(weights / errors))[1:]
    return pvalues


PARTS = {
    "decoys": decoys,
    "held_out": held_out,
    "directions": directions,
    "pvalues": pvalues,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["fragility", *PARTS])
    parser.add_argument("--sets", type=int, default=60)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    given = parser.parse_args()
    for part in given.parts:
        print(f"\n-- {part}")
        if part == "fragility":
            fragilities(given.sets, given.data)
        else:
            PARTS[part](given.sets)

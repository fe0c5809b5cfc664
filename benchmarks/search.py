"""What a one-level search for score and stability costs, as a ratio to a plain `GridSearchCV` of the same models.

Both sides fit and score 20 candidates on the same 50 bootstrap samples with the same scorer, in two processes. Plain:
the samples are the `cv` of the search, one fit each. Ours: `StabilityCV` draws them inside `fit`, reads what each run
selected, fits the candidate once more on all rows (51 fits instead of 50), and the stability with its interval is
computed. Neither side refits the chosen candidate, which is one fit there and 51 here; the second ratio has ours do so,
against the same plain search.

The larger data are beyond 1 MB, so that joblib maps them into the memory of the workers on both sides; smaller ones it
sends with each task, which are 1000 there and 20 here.

    python benchmarks/search.py
"""

import os

os.environ.update(dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1"))

import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from skstab.datasets import make_redundant_classification
from skstab.model_selection import BootstrapSplit, ParetoRefit, StabilityCV, WholeSampleSplit, stability_scoring

N_CANDIDATES, N_RUNS, N_JOBS = 20, 50, 2
LIMIT, ROUNDS = 1.15, 4
SCORER, MEASURE = "neg_log_loss", "nogueira"
PENALTIES = np.logspace(-2, -0.5, N_CANDIDATES)


def lasso():
    return LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0)


def plain_search(X, y):
    splits = list(BootstrapSplit(N_RUNS, random_state=0).split(X, y))
    return GridSearchCV(lasso(), {"C": PENALTIES}, cv=splits, scoring=SCORER, refit=False, n_jobs=N_JOBS)


def our_search(*, refit=False):
    return GridSearchCV(
        StabilityCV(lasso(), cv=BootstrapSplit(N_RUNS, random_state=0), scoring=SCORER),
        {"estimator__C": PENALTIES},
        cv=WholeSampleSplit(),
        scoring=stability_scoring(MEASURE),
        refit=ParetoRefit(SCORER, MEASURE) if refit else False,
        n_jobs=N_JOBS,
    )


def times_of(searches, X, y):
    """Seconds of each search in each round; they take turns, so that all meet the same load."""
    times = np.empty((ROUNDS + 1, len(searches)))
    for row in times:
        for number, search in enumerate(searches):
            before = time.perf_counter()
            search.fit(X, y)
            row[number] = time.perf_counter() - before
    return times[1:]  # the first round starts the processes


def report(label, ours, plain, limit=None):
    """Shortest times of both, the least disturbed ones, and between which ratios the rounds lie."""
    ratio, ratios = ours.min() / plain.min(), ours / plain
    verdict = "" if limit is None else f"   limit {limit}  {'ok' if ratio <= limit else 'TOO SLOW'}"
    print(f"  {label:<34}{ratio:>7.2f}   rounds {ratios.min():.2f} to {ratios.max():.2f}{verdict}")


def same_scores(plain, ours):
    scores = [search.cv_results_[f"mean_test_{name}"] for search, name in ((plain, "score"), (ours, SCORER))]
    np.testing.assert_allclose(*scores, rtol=1e-9)


def compare(n_samples, n_features, limit=None):
    X, y = make_redundant_classification(
        n_samples, n_features=n_features, n_relevant=n_features // 2, redundancy=0.8, random_state=0
    )
    plain, ours = plain_search(X, y), our_search()
    times = times_of([plain, ours, our_search(refit=True)], X, y)
    same_scores(plain, ours)
    per_fit = times[:, 0].min() / (N_CANDIDATES * N_RUNS) * N_JOBS
    print(f"\n{n_samples} × {n_features}: plain {times[:, 0].min():.1f} s, {per_fit * 1e3:.1f} ms a fit and process")
    report("ours / plain", times[:, 1], times[:, 0], limit)
    report("ours with its refit / plain", times[:, 2], times[:, 0])


def main():
    print(f"{N_CANDIDATES} candidates × {N_RUNS} runs, n_jobs={N_JOBS}, L1 logistic regression")
    compare(1000, 150, LIMIT)
    compare(200, 50)


if __name__ == "__main__":
    main()

"""`StabilitySearchCV` against `GridSearchCV` over `StabilityCV`: the same candidates on the same resamples.

CPU time of one process and one thread; the two alternate, the shortest of all rounds counts. Each case prints the ratio
of the times, the largest difference of the mean scores and of the stabilities, and in how many entries the supports
differ: sparse models are solved along a path, the others exactly as by themselves.

Then: the time of two processes against one, the memory of the parent against that of what it returns, the `nogueira`
measure of a table of integers against two sums of its columns, and `StabilityCV` against loops written by hand.

    python benchmarks/search.py              # all of it
    python benchmarks/search.py plain        # what one level costs against a plain GridSearchCV, by wall clock
    python benchmarks/search.py drop-in      # what the scorer without a wrapper costs against it, by CPU time
    python benchmarks/search.py frames       # what a data frame and float32 cost against the array

Plain: both sides fit and score 20 candidates on the same 50 bootstrap samples with the same scorer, in two processes.
There the samples are the `cv` of the search, one fit each. Here `StabilityCV` draws them inside `fit`, reads what each
run selected, fits the candidate once more on all rows (51 fits instead of 50), and the stability with its interval is
computed. Neither side refits the chosen candidate, which is one fit there and 51 here; the second ratio
includes this refit on our side, against the same plain search. The larger data exceed 1 MB, so that joblib maps them
into the memory of the workers on both sides; it sends smaller data with each task: 1000 tasks there and 20 here.
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import sys
import time
import tracemalloc
import warnings
from functools import partial
from io import StringIO

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_breast_cancer, make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SelectorMixin,
    VarianceThreshold,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, LogisticRegression
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab.datasets import make_redundant_classification
from skstab.feature_selection import HybridRFE
from skstab.metrics import nogueira_stability
from skstab.model_selection import (
    BootstrapSplit,
    ParetoRefit,
    StabilityCV,
    StabilitySearchCV,
    WholeSampleSplit,
    stability_scoring,
)

N_CANDIDATES, N_RUNS, N_JOBS = 20, 50, 2
LIMIT, ROUNDS = 1.15, 4
SCORER, MEASURE = "neg_log_loss", "nogueira"
PENALTIES = np.logspace(-2, -0.5, N_CANDIDATES)


def lasso():
    return LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0)


def plain_search(X, y):
    splits = list(BootstrapSplit(N_RUNS, random_state=0).split(X, y))
    return GridSearchCV(
        lasso(), {"C": PENALTIES}, cv=splits, scoring=SCORER, refit=False, n_jobs=N_JOBS
    )


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
    """Seconds of each search in each round; they alternate, so that all run under the same load."""
    times = np.empty((ROUNDS + 1, len(searches)))
    for row in times:
        for number, search in enumerate(searches):
            before = time.perf_counter()
            search.fit(X, y)
            row[number] = time.perf_counter() - before
    return times[1:]  # the first round starts the processes


def report(label, ours, plain, limit=None):
    """Shortest times of both, the least disturbed ones, and the range of the ratios over the rounds."""
    ratio, ratios = ours.min() / plain.min(), ours / plain
    verdict = (
        ""
        if limit is None
        else f"   limit {limit}  {'ok' if ratio <= limit else 'TOO SLOW'}"
    )
    print(
        f"  {label:<34}{ratio:>7.2f}   rounds {ratios.min():.2f} to {ratios.max():.2f}{verdict}"
    )


def same_scores(plain, ours):
    scores = [
        search.cv_results_[f"mean_test_{name}"]
        for search, name in ((plain, "score"), (ours, SCORER))
    ]
    np.testing.assert_allclose(*scores, rtol=1e-9)


def compare(n_samples, n_features, limit=None):
    X, y = make_redundant_classification(
        n_samples,
        n_features=n_features,
        n_relevant=n_features // 2,
        redundancy=0.8,
        random_state=0,
    )
    plain, ours = plain_search(X, y), our_search()
    times = times_of([plain, ours, our_search(refit=True)], X, y)
    same_scores(plain, ours)
    per_fit = times[:, 0].min() / (N_CANDIDATES * N_RUNS) * N_JOBS
    print(
        f"\n{n_samples} × {n_features}: plain {times[:, 0].min():.1f} s, {per_fit * 1e3:.1f} ms a fit and process"
    )
    report("ours / plain", times[:, 1], times[:, 0], limit)
    report("ours with its refit / plain", times[:, 2], times[:, 0])


def drop_in():
    """The scorer without a wrapper against the plain search, both with one refit, in one process by CPU time."""
    print(f"{N_RUNS} runs: CPU time with stabilities / without, by the measure")
    for n_rows, n_features in ((1000, 150), (200, 30), (62, 2000), (200, 10_000)):
        X, y = make_classification(
            n_rows, n_features, n_informative=10, n_redundant=0, random_state=0
        )
        splits = BootstrapSplit(N_RUNS, random_state=0)
        for estimator, grid in (
            (lasso(), {"C": PENALTIES[::4]}),
            (
                make_pipeline(StandardScaler(), SelectKBest(), lasso()),
                {"selectkbest__k": [5, 10, 15, 20]},
            ),
        ):
            plain = GridSearchCV(estimator, grid, cv=splits, scoring=SCORER)
            ours = {
                measure: GridSearchCV(
                    estimator,
                    grid,
                    cv=splits,
                    scoring=stability_scoring(measure, scoring=SCORER),
                    refit=ParetoRefit(SCORER, measure),
                )
                for measure in (MEASURE, "importance_weighted")
            }
            searches = [plain, *ours.values()]
            times = alternating([partial(one.fit, X, y) for one in searches], 2)
            same_scores(plain, ours[MEASURE])
            name = type(estimator).__name__
            found = "   ".join(
                f"{measure} {time / times[0]:.2f}"
                for measure, time in zip(ours, times[1:], strict=True)
            )
            n_fits = N_RUNS * len(next(iter(grid.values())))
            fit = f"{times[0] / n_fits * 1e3:>6.1f} ms a fit"
            print(
                f"  {n_rows} × {n_features}, {name:<20}{fit}   {found}   limit {LIMIT}"
            )


def plain():
    print(
        f"{N_CANDIDATES} candidates × {N_RUNS} runs, n_jobs={N_JOBS}, L1 logistic regression"
    )
    compare(1000, 150, LIMIT)
    compare(200, 50)


# -- the search against single fits ------------------------------------------------------------------------------------


def cpu(call):
    before = time.process_time()
    result = call()
    return time.process_time() - before, result


def alternating(calls, rounds):
    """Shortest CPU time of each call, and what it returned; the first round warms up."""
    times = np.array([[cpu(call)[0] for call in calls] for _ in range(rounds)])
    return times.min(axis=0)


def one_pass(estimator, grid, X, y, *, n_runs=N_RUNS, scoring=None, n_jobs=None):
    cv = BootstrapSplit(n_runs, random_state=0)
    search = StabilitySearchCV(
        estimator,
        grid,
        cv=cv,
        scoring=scoring,
        random_state=0,
        refit="nogueira",
        n_jobs=n_jobs,
    )
    return search.fit(X, y)


def one_by_one(estimator, grid, X, y, *, n_runs=N_RUNS, scoring=None):
    inner = StabilityCV(
        estimator,
        cv=BootstrapSplit(n_runs, random_state=0),
        scoring=scoring,
        random_state=0,
    )
    wrapped = {f"estimator__{name}": values for name, values in grid.items()}
    return GridSearchCV(
        inner, wrapped, cv=WholeSampleSplit(), scoring=stability_scoring(), refit=False
    ).fit(X, y)


def share_of_differences(ours, estimator, grid, X, y, n_runs):
    """Number of entries of the supports that differ, as a share of those that single fits select."""
    cv = BootstrapSplit(n_runs, random_state=0)
    cold = [
        StabilityCV(clone(estimator).set_params(**one), cv=cv, random_state=0)
        .fit(X, y)
        .supports_
        for one in ParameterGrid(grid)
    ]
    dense = [
        [sparse.csr_array(t).toarray() for t in (a.supports, b)]
        for a, b in zip(ours.runs_, cold, strict=True)
    ]
    return sum((a != b).sum() for a, b in dense) / sum(b.sum() for _, b in dense)


def case(label, estimator, grid, data, limit, *, n_runs=N_RUNS, scoring=None, rounds=3):
    how = {"n_runs": n_runs, "scoring": scoring}
    calls = [
        partial(search, estimator, grid, *data, **how)
        for search in (one_pass, one_by_one)
    ]
    ours, theirs = (call() for call in calls)
    times = alternating(calls, rounds)
    ratio = times[1] / times[0]
    name = scoring or "score"
    gaps = [
        np.nanmax(
            np.abs(
                ours.cv_results_[f"mean_test_{n}"]
                - theirs.cv_results_[f"mean_test_{n}"]
            )
        )
        for n in (name, "nogueira")
        if f"mean_test_{n}" in theirs.cv_results_
    ]
    differing = share_of_differences(ours, estimator, grid, *data, n_runs)
    verdict = "ok" if ratio >= limit else "TOO SLOW"
    print(
        f"  {label:<54}{times[1]:>7.2f} s {times[0]:>7.2f} s   × {ratio:.2f}   at least {limit:.2f}  {verdict}"
    )
    found = " | ".join(f"{gap:.1e}" for gap in gaps)
    print(
        f"  {'':<54}largest differences {found}, supports differ in {differing:.1e} of those selected"
    )


def l1_pipeline(**params):
    return make_pipeline(
        StandardScaler(), LogisticRegression(l1_ratio=1, solver="liblinear", **params)
    )


def with_gaps(n_rows, n_features):
    X, y = make_classification(n_rows, n_features, n_informative=20, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    return X, y


def searches():
    """Ratios of CPU times; sizes as in the table of results."""
    print(f"{N_CANDIDATES} candidates × {N_RUNS} runs: one by one, one pass, ratio")
    breast, wide = (
        load_breast_cancer(return_X_y=True),
        make_classification(62, 2000, n_informative=20, random_state=0),
    )
    penalties = {"logisticregression__C": np.logspace(-2, 1, N_CANDIDATES)}
    case(
        "L1 logistic, breast cancer",
        l1_pipeline(),
        penalties,
        breast,
        5,
        scoring="accuracy",
    )
    case(
        "the same at tol=1e-8",
        l1_pipeline(tol=1e-8),
        penalties,
        breast,
        5,
        scoring="accuracy",
        rounds=1,
    )
    case(
        "L1 logistic, 62 × 2000", l1_pipeline(), penalties, wide, 5, scoring="accuracy"
    )
    case(
        "the same at tol=1e-8",
        l1_pipeline(tol=1e-8),
        penalties,
        wide,
        5,
        scoring="accuracy",
        rounds=1,
    )
    # From where the first feature enters on; and where nearly all features are selected.
    numbers = make_regression(200, 300, n_informative=15, noise=20.0, random_state=0)
    for label, alphas in (
        ("", np.logspace(0, 2, 7)),
        (", nearly dense", np.logspace(-1, 1.5, 7)),
    ):
        net = {"alpha": alphas, "l1_ratio": [0.3, 0.6, 0.9]}
        case(
            f"elastic net, 200 × 300, two parameters{label}",
            ElasticNet(),
            net,
            numbers,
            3,
        )
    first = make_pipeline(
        SimpleImputer(strategy="median"), StandardScaler(), SelectKBest(), GaussianNB()
    )
    sizes = {"selectkbest__k": np.arange(5, 105, 5)}
    case(
        "imputer, scaler, filter, 5000 × 200, 5 runs",
        first,
        sizes,
        with_gaps(5000, 200),
        1.5,
        n_runs=5,
        rounds=2,
    )
    case("RFE, 150 × 60", RFE(LogisticRegression()), {"n_features_to_select": np.arange(2, 42, 4)},
         make_classification(150, 60, random_state=0), 1.5, n_runs=5, rounds=2)  # fmt: skip
    case(
        "HybridRFE, 62 × 2000",
        HybridRFE(),
        {"n_features_to_select": np.arange(5, 55, 5)},
        wide,
        1.5,
        n_runs=10,
        rounds=2,
    )
    forest = SelectFromModel(RandomForestClassifier(30))
    case(
        "forest, nothing in common",
        forest,
        {"estimator__max_depth": [2, 4, 8]},
        breast,
        1 / 1.05,
        n_runs=10,
        rounds=3,
    )
    variances = {"threshold": np.logspace(-4, 2, N_CANDIDATES)}
    case(
        "variances, nothing in common",
        VarianceThreshold(),
        variances,
        breast,
        1 / 1.05,
        rounds=5,
    )
    case(
        "filter, its scores in common",
        SelectKBest(),
        {"k": np.arange(1, 21)},
        breast,
        1 / 1.05,
        rounds=5,
    )


# -- processes and memory ----------------------------------------------------------------------------------------------


def processes():
    data = make_redundant_classification(
        1000, n_features=500, n_relevant=50, redundancy=0.8, random_state=0
    )
    grid = {"logisticregression__C": np.logspace(-2, 0, N_CANDIDATES)}
    walls = np.empty((3, 2))
    for row in walls:
        for number, n_jobs in enumerate((1, 2)):
            before = time.perf_counter()
            one_pass(l1_pipeline(), grid, *data, n_jobs=n_jobs, scoring="accuracy")
            row[number] = time.perf_counter() - before
    one, two = walls.min(axis=0)
    print(
        f"\nn_jobs=2: {one / two:.2f} times as fast as n_jobs=1 (1000 × 500, {one:.1f} s), at least 1.6"
    )
    print(
        f"  of two processes without a search, the machine now runs {allowed():.2f} times as fast as one"
    )


def work(n):
    return sum(number * number for number in range(n))


def allowed():
    """Speed-up of plain work by two processes: what other load on the machine leaves."""
    walls = []
    for n_jobs in (1, 2, 1, 2):
        before = time.perf_counter()
        Parallel(n_jobs)(delayed(work)(10_000_000) for _ in range(4))
        walls.append(time.perf_counter() - before)
    return min(walls[::2]) / min(walls[1::2])


def size_of(search):
    """Bytes of all arrays of the runs and of the table."""
    tables = [
        getattr(runs, name)
        for runs in search.runs_
        for name in ("supports", "importances", "coefs")
    ]
    parts = [
        part
        for t in tables
        for part in ((t.data, t.indices, t.indptr) if sparse.issparse(t) else (t,))
    ]
    parts += [
        column
        for column in search.cv_results_.values()
        if isinstance(column, np.ndarray)
    ]
    parts += [
        one
        for runs in search.runs_
        for one in (runs.fit_times, runs.split_numbers, runs.refit)
    ]
    parts += [scores for runs in search.runs_ for scores in runs.scores.values()]
    return sum(part.nbytes for part in parts if part is not None)


class Drawn(SelectorMixin, BaseEstimator):
    """Select the features with the largest entries in the first row: a fit that takes next to no memory."""

    def __init__(self, k=10):
        self.k = k

    def fit(self, X, y=None):  # noqa: ARG002, D102  the signature of scikit-learn
        self.n_features_in_ = X.shape[1]
        self.scores_ = np.abs(X[0]) + 1
        self.chosen = np.argsort(-self.scores_)[: self.k]
        return self

    def _get_support_mask(self):
        return np.isin(np.arange(self.n_features_in_), self.chosen)


def memory():
    """Peaks of the parent: with fits that take none, and with those of a filter on all rows, which the parent makes."""
    X, y = make_classification(200, 5000, n_informative=50, random_state=0)
    grid = {"k": np.linspace(500, 4500, 9).astype(int)}
    for estimator in (Drawn(), SelectKBest()):
        one_pass(estimator, grid, X, y, n_runs=4, n_jobs=2)  # starts the processes
        tracemalloc.start()
        search = one_pass(estimator, grid, X, y, n_runs=N_RUNS, n_jobs=2)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        size = size_of(search)
        name = type(estimator).__name__
        print(
            f"memory of the parent, {name}: {peak / size:.2f} of the {size / 1e6:.0f} MB it returns, at most 1.2"
        )


# -- what a search is made of ------------------------------------------------------------------------------------------


def measure():
    table = (np.random.default_rng(0).random((1000, 10_000)) < 0.05).astype(np.int64)
    ours, sums = alternating(
        [
            partial(nogueira_stability, table),
            lambda: [table.sum(axis=0) for _ in range(2)],
        ],
        9,
    )
    print(
        f"nogueira of 1000 × 10 000 int64: {ours / sums:.2f} of two sums of its columns, at most 1.0"
    )


def by_hand(estimator, X, y, splits, *, refit):
    kept = []
    for train, test in splits:
        model = clone(estimator).fit(X[train], y[train])
        score = model.score(X[test], y[test]) if hasattr(model, "score") else None
        kept.append((model.get_support(), score))
    return kept, clone(estimator).fit(X, y) if refit else None


def loops():
    forest = SelectFromModel(RandomForestClassifier(60, random_state=0))
    for label, estimator, shape, n_runs in (
        ("SelectKBest, 200 × 1000", SelectKBest(k=20), (200, 1000), 50),
        ("SelectKBest, 10 000 × 50", SelectKBest(k=20), (10_000, 50), 50),
        ("SelectKBest, 1000 × 1200", SelectKBest(k=20), (1000, 1200), 50),
        ("forest, 300 × 100", forest, (300, 100), 20),
    ):
        X, y = make_classification(*shape, n_informative=10, random_state=0)
        splits = list(BootstrapSplit(n_runs, random_state=0).split(X, y))
        calls = [
            partial(by_hand, estimator, X, y, splits, refit=refit)
            for refit in (False, True)
        ]
        loop, refitted, ours = alternating(
            [*calls, partial(StabilityCV(estimator, cv=splits).fit, X, y)], 5
        )
        per_fit = loop / n_runs * 1e3
        print(
            f"StabilityCV, {label} ({per_fit:.1f} ms a fit): {ours / loop:.2f} of a loop, {ours / refitted:.2f} of one "
            "that also fits all rows, at most 1.1"
        )


def frames():
    """What a data frame costs, against the array of its values."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2000))
    y = (X[:, :5].sum(axis=1) + rng.standard_normal(60) > 0).astype(int)
    frame = pd.DataFrame(X).add_prefix("g")
    text = StringIO()
    frame.to_csv(text, index=False)
    text.seek(0)
    forms = [X, frame, pd.read_csv(text), X.astype(np.float32)]
    values, cv = np.logspace(-1, 1, 20), BootstrapSplit(10, random_state=0)
    scaled = make_pipeline(StandardScaler(), lasso())
    bayes = make_pipeline(SelectKBest(k=20), GaussianNB())
    cases = {
        "L1 logistic": StabilitySearchCV(
            lasso(), {"C": values}, cv=cv, scoring="accuracy"
        ),
        "scaler, L1 logistic": StabilitySearchCV(
            scaled, {"logisticregression__C": values}, cv=cv, scoring="accuracy"
        ),
        "StabilityCV, 20 best, naive Bayes": StabilityCV(
            bayes, cv=BootstrapSplit(30, random_state=0), scoring="accuracy"
        ),
    }
    for label, estimator in cases.items():
        array, *others = alternating(
            [partial(estimator.fit, form, y) for form in forms], 2
        )
        ratios = ", ".join(f"{other / array:.2f}" for other in others)
        print(f"{label}: frame, frame of read_csv, float32 against the array: {ratios}")


def main():
    warnings.filterwarnings("ignore", "all runs agree because")
    searches()
    processes()
    memory()
    measure()
    loops()


if __name__ == "__main__":
    which = {"plain": plain, "drop-in": drop_in, "frames": frames}
    which.get(sys.argv[-1], main)()

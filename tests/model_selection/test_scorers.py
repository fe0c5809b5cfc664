"""Stability as a score, in the searches of scikit-learn, against `StabilityCV` fitted by hand."""

import copy
import pickle
import warnings
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    mean_absolute_error,
    mean_squared_error,
    r2_score,
)
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    cross_validate,
)
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab._engine.row_scores import score_by_row
from skstab.metrics import get_measure, stability_interval, stability_score
from skstab.model_selection import (
    BootstrapSplit,
    ParetoRefit,
    StabilityCV,
    WholeSampleSplit,
    make_stability_scorer,
    stability_scoring,
)

pytestmark = pytest.mark.filterwarnings("ignore:the search has splits of its own")
N_RUNS = 6
FEW = BootstrapSplit(N_RUNS, random_state=0)
FOLDS = StratifiedKFold(3)
GRID = {"estimator__C": [0.1, 0.3, 1.0]}
X, y = make_classification(90, 12, n_informative=4, n_redundant=0, random_state=0)
X = X * np.logspace(-0.5, 0.5, 12)  # scaling then changes what is selected


class CountedLogistic(LogisticRegression):
    """Note each fit, whichever clone it is of."""

    fits: ClassVar[list[float]] = []

    def fit(self, X, y):
        CountedLogistic.fits.append(self.C)
        return super().fit(X, y)


@pytest.fixture
def fits():
    CountedLogistic.fits.clear()
    return CountedLogistic.fits


def lasso(C=0.3, kind=LogisticRegression):
    return kind(l1_ratio=1, C=C, solver="liblinear", random_state=0)


def runs_of(C=0.3, **params):
    return StabilityCV(lasso(C), cv=FEW, **params)


@pytest.fixture(scope="module")
def runs():
    return runs_of(scoring=["accuracy", "neg_log_loss"]).fit(X, y)


def table_of(runs, measure):
    table = (
        runs.supports_ if get_measure(measure).kind == "subset" else runs.importances_
    )
    return table.toarray() if issparse(table) else table


def share_in_all(supports):
    return (supports.mean(axis=0) == 1).mean()


def size_spread(supports):
    return np.asarray(supports.sum(axis=1)).std()


SPREAD = get_measure(size_spread, bounds=(0, 12), higher_is_better=False)


# -- finding the runs --------------------------------------------------------------------------------------------------


def scaled(X):
    return StandardScaler().fit_transform(X)


CONTAINERS = {
    "itself": (runs_of(), X),
    "last step": (make_pipeline(StandardScaler(), runs_of()), scaled(X)),
    "inner step": (
        make_pipeline(StandardScaler(), runs_of(), LogisticRegression()),
        scaled(X),
    ),
    "nested pipelines": (
        make_pipeline(
            make_pipeline(StandardScaler(), make_pipeline("passthrough", runs_of())),
            LogisticRegression(),
        ),
        scaled(X),
    ),
    "search": (GridSearchCV(runs_of(C=5.0), {"estimator__C": [0.3]}, cv=3), X),
    "search of a pipeline": (
        GridSearchCV(
            make_pipeline(StandardScaler(), runs_of(C=5.0)),
            {"stabilitycv__estimator__C": [0.3]},
            cv=3,
        ),
        scaled(X),
    ),
    "search in a pipeline": (
        make_pipeline(
            StandardScaler(),
            GridSearchCV(runs_of(C=5.0), {"estimator__C": [0.3]}, cv=3),
        ),
        scaled(X),
    ),
}


@pytest.mark.parametrize(("container", "seen"), CONTAINERS.values(), ids=CONTAINERS)
def test_finds_the_runs(container, seen):
    by_hand = runs_of(scoring="accuracy").fit(seen, y)
    container = clone(container).fit(X, y)
    assert make_stability_scorer()(container, X, y) == by_hand.stability_
    table = stability_scoring()(container, X, y)
    assert table["nogueira"] == by_hand.stability_
    assert table["score"] == by_hand.scores_["accuracy"].mean()


def test_scaling_matters_here():
    assert runs_of().fit(X, y).stability_ != runs_of().fit(scaled(X), y).stability_


def test_the_last_of_two_counts():
    pipeline = make_pipeline(StabilityCV(SelectKBest(k=8), cv=FEW), runs_of()).fit(X, y)
    first, last = (step.stability_ for _, step in pipeline.steps)
    assert first != last
    assert make_stability_scorer()(pipeline) == last


@pytest.mark.parametrize(
    "wrap",
    [
        lambda runs: ColumnTransformer([("all", runs, list(range(X.shape[1])))]),
        lambda runs: make_pipeline(FeatureUnion([("runs", runs)]), lasso()),
        lambda runs: GridSearchCV(
            make_pipeline(StandardScaler(with_std=False, with_mean=False), runs),
            {},
            cv=2,
        ),
    ],
    ids=["columns", "union", "search"],
)
def test_finds_the_runs_wherever_they_are(wrap):
    assert (
        make_stability_scorer()(wrap(runs_of()).fit(X, y))
        == runs_of().fit(X, y).stability_
    )


def test_finds_the_runs_behind_a_transformed_target():
    target = np.linspace(1, 2, len(y))
    runs = StabilityCV(Lasso(0.01), cv=FEW)
    wrapped = TransformedTargetRegressor(runs, func=np.log, inverse_func=np.exp).fit(
        X, target
    )
    assert (
        make_stability_scorer()(wrapped)
        == clone(runs).fit(X, np.log(target)).stability_
    )


@pytest.mark.parametrize("error_score", [np.nan, 0, "raise"])
@pytest.mark.parametrize("multimetric", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [lasso(), make_pipeline(StandardScaler(), lasso())],
    ids=["model", "pipeline"],
)
def test_without_runs_the_error_says_what_to_write(error_score, multimetric, estimator):
    scoring = make_stability_scorer("jaccard")
    if multimetric:
        scoring = {"accuracy": "accuracy", "stability": scoring}
    search = GridSearchCV(
        estimator, {}, scoring=scoring, cv=2, refit=False, error_score=error_score
    )
    name = type(estimator).__name__
    lines = (
        rf"{name} holds none(.|\n)*cv=BootstrapSplit\(50, random_state=0\)(.|\n)*"
        r"scoring=stability_scoring\('jaccard', scoring='accuracy'\)(.|\n)*"
        rf"refit=ParetoRefit\('accuracy', 'jaccard'\)(.|\n)*StabilityCV\({name}\(\.\.\.\)\).*pass cv to"
    )
    with pytest.raises(ValueError, match=lines):
        search.fit(X, y)
    refused = make_stability_scorer()(clone(estimator).fit(X, y), X, y)
    assert "holds none" in repr(refused)
    with pytest.raises(ValueError, match="holds none"):
        float(refused)


def test_the_three_lines_work():
    search = GridSearchCV(
        lasso(),
        {"C": [0.1, 1.0]},
        cv=BootstrapSplit(50, random_state=0),
        scoring=stability_scoring("jaccard", scoring="accuracy"),
        refit=ParetoRefit("accuracy", "jaccard"),
    ).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_jaccard"]).all()


def test_says_once_that_a_search_is_nested():
    scoring = stability_scoring()
    fitted = runs_of().fit(X, y)
    with pytest.warns(UserWarning, match="cv=WholeSampleSplit"):
        scoring(fitted, X[:30], y[:30])
    warnings.simplefilter("error")
    scoring(fitted, X[:30], y[:30])
    stability_scoring()(fitted, X, y)
    make_stability_scorer()(fitted, X[:30], y[:30])


@pytest.mark.parametrize(
    "scorer", [make_stability_scorer(), stability_scoring()], ids=["scorer", "scoring"]
)
def test_runs_that_were_not_made(scorer):
    with pytest.raises(NotFittedError):
        scorer(runs_of(), X, y)


# -- what is scored ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "measure", ["nogueira", "jaccard", "importance_weighted", "pearson"]
)
def test_bounds_are_the_ends_of_the_interval(runs, measure):
    expected = stability_interval(table_of(runs, measure), measure=measure)
    assert expected.low < expected.estimate < expected.high
    for bound, value in {
        None: expected.estimate,
        "low": expected.low,
        "high": expected.high,
    }.items():
        assert make_stability_scorer(measure, bound=bound)(runs, X, y) == pytest.approx(
            value, rel=1e-12
        )
    assert (
        make_stability_scorer(measure, bound="low")(runs) == runs.interval(measure).low
    )
    assert (
        make_stability_scorer(measure, bound="high")(runs)
        == runs.interval(measure).high
    )


LESS_IS_BETTER = {
    "entropy": ("krizek", SelectKBest(k=3)),  # for sets of one size
    "own": (SPREAD, lasso()),
}


@pytest.mark.parametrize(
    ("measure", "estimator"), LESS_IS_BETTER.values(), ids=LESS_IS_BETTER
)
def test_less_is_better_is_negated(measure, estimator):
    runs = StabilityCV(estimator, cv=FEW).fit(X, y)
    expected = stability_interval(table_of(runs, measure), measure=measure)
    assert expected.low < expected.estimate < expected.high
    for bound, value in {
        None: -expected.estimate,
        "low": -expected.high,
        "high": -expected.low,
    }.items():
        assert make_stability_scorer(measure, bound=bound)(runs) == pytest.approx(
            value, rel=1e-12
        )
    name = f"neg_{get_measure(measure).name}"
    table = stability_scoring([measure])(runs)
    assert table[name] == pytest.approx(-expected.estimate)
    assert table[f"{name}_low"] == pytest.approx(-expected.high)
    assert table[f"{name}_high"] == pytest.approx(-expected.low)
    assert table[f"{name}_se"] == pytest.approx(expected.standard_error)


def test_rankings(runs):
    assert make_stability_scorer("canberra")(runs) == runs.stability("canberra")


def test_measure_with_parameters(runs):
    plain, charged = (get_measure("davis", penalty=penalty) for penalty in (0.0, 5.0))
    assert make_stability_scorer(plain)(runs) == stability_score(
        table_of(runs, "davis"), measure=plain
    )
    assert make_stability_scorer(plain)(runs) > make_stability_scorer(charged)(runs)


def test_measure_of_ones_own(runs):
    assert (
        make_stability_scorer(share_in_all)(runs)
        == share_in_all(table_of(runs, "nogueira"))
        > 0
    )


def test_two_runs_have_no_bounds():
    two = StabilityCV(lasso(), cv=BootstrapSplit(2, random_state=0)).fit(X, y)
    assert make_stability_scorer()(two) == two.stability_
    assert np.isnan(make_stability_scorer(bound="low")(two))
    assert np.isnan(make_stability_scorer(bound="high")(two))


@pytest.mark.parametrize("bound", ["middle", "lower", True, 0.95])
def test_unknown_bound(bound):
    with pytest.raises(ValueError, match=r"bound must be None, 'low' or 'high', got"):
        make_stability_scorer(bound=bound)


@pytest.mark.parametrize(
    ("measure", "error"), [("nope", ValueError), (5, TypeError), (None, TypeError)]
)
def test_unknown_measure(measure, error):
    with pytest.raises(error, match="measure must be"):
        make_stability_scorer(measure)
    with pytest.raises(error, match="measure must be"):
        stability_scoring(["nogueira", measure])


# -- resampling the rows that are shown --------------------------------------------------------------------------------


def test_with_cv_the_rows_shown_are_resampled(fits):
    model = lasso(kind=CountedLogistic).fit(X, y)
    before = model.coef_.copy()
    shown = X[20:80], y[20:80]
    fits.clear()
    scores = {
        bound: make_stability_scorer(bound=bound, cv=FEW)(model, *shown)
        for bound in (None, "low", "high")
    }
    assert len(fits) == 3 * (N_RUNS + 1)
    np.testing.assert_array_equal(model.coef_, before)
    expected = runs_of().fit(*shown).stability_interval_
    assert scores == {
        None: expected.estimate,
        "low": expected.low,
        "high": expected.high,
    }
    assert scores[None] != runs_of().fit(X, y).stability_


def test_with_cv_a_model_that_drops_nothing():
    ridge = LogisticRegression().fit(X, y)
    expected = StabilityCV(ridge, cv=FEW, measure="pearson").fit(X, y).stability_
    assert make_stability_scorer("pearson", cv=FEW)(ridge, X, y) == expected


def test_with_cv_in_cross_validation(fits):
    scoring = {
        "accuracy": "accuracy",
        "stability": make_stability_scorer("jaccard", cv=FEW),
    }
    pipeline = make_pipeline(StandardScaler(), lasso(1.0, kind=CountedLogistic))
    results = cross_validate(pipeline, X, y, scoring=scoring, cv=FOLDS)
    assert len(fits) == 3 * (1 + N_RUNS + 1)
    by_hand = StabilityCV(
        make_pipeline(StandardScaler(), lasso(1.0)), cv=FEW, measure="jaccard"
    )
    expected = [
        by_hand.fit(X[test], y[test]).stability_ for _, test in FOLDS.split(X, y)
    ]
    assert list(results["test_stability"]) == expected
    assert len(set(expected)) > 1


def test_with_cv_seeds_and_jobs():
    # No random_state in the forest: all that is random comes from the seed of the scorer.
    forest = SelectFromModel(RandomForestClassifier(3, max_depth=2)).fit(X, y)
    first, again, parallel, other = (
        make_stability_scorer(cv=FEW, random_state=seed, n_jobs=n_jobs)(forest, X, y)
        for seed, n_jobs in ((0, None), (0, None), (0, 2), (1, None))
    )
    assert (
        first
        == again
        == parallel
        == StabilityCV(forest, cv=FEW, random_state=0).fit(X, y).stability_
    )
    assert first != other


# -- in the searches of scikit-learn -----------------------------------------------------------------------------------


def by_hand(C, scorer, **params):
    """The scores of one candidate in each fold."""
    values = []
    for train, _ in FOLDS.split(X, y):
        fitted = runs_of(C).set_params(**params).fit(X[train], y[train])
        interval = stability_interval(
            table_of(fitted, scorer.measure), measure=scorer.measure
        )
        values.append(
            {None: interval.estimate, "low": interval.low, "high": interval.high}[
                scorer.bound
            ]
        )
    return values


def tabulated(search):
    """The scores of each candidate in each fold."""
    return np.column_stack(
        [search.cv_results_[f"split{fold}_test_score"] for fold in range(3)]
    )


SEARCHES = {
    "grid": lambda scorer: GridSearchCV(runs_of(), GRID, scoring=scorer, cv=FOLDS),
    "grid in two processes": lambda scorer: GridSearchCV(
        runs_of(), GRID, scoring=scorer, cv=FOLDS, n_jobs=2
    ),
    "random": lambda scorer: RandomizedSearchCV(
        runs_of(),
        {"estimator__C": [0.1, 0.2, 0.3, 0.5, 1.0]},
        n_iter=3,
        scoring=scorer,
        cv=FOLDS,
        random_state=1,
    ),
    # The resource is not the rows, so that the folds are the same as by hand.
    "halving": lambda scorer: HalvingGridSearchCV(
        runs_of(),
        GRID,
        scoring=scorer,
        cv=FOLDS,
        factor=2,
        resource="estimator__max_iter",
        min_resources=100,
        max_resources=200,
    ),
}


@pytest.mark.parametrize("make_search", SEARCHES.values(), ids=SEARCHES)
def test_search(make_search):
    scorer = make_stability_scorer(bound="low")
    search = make_search(scorer).fit(X, y)
    expected = np.array(
        [
            by_hand(params["estimator__C"], scorer)
            for params in search.cv_results_["params"]
        ]
    )
    np.testing.assert_allclose(tabulated(search), expected, rtol=1e-12)
    assert len(expected) >= 3
    assert search.best_score_ == pytest.approx(expected.mean(axis=1).max())
    assert (
        search.best_index_ == expected.mean(axis=1).argmax()
        or "iter" in search.cv_results_
    )
    assert search.score(X, y) == scorer(search.best_estimator_)


def test_halving_of_the_rows():
    search = HalvingGridSearchCV(
        runs_of(),
        GRID,
        scoring=make_stability_scorer(),
        cv=2,
        factor=2,
        min_resources=40,
        random_state=0,
    ).fit(X, y)
    assert search.n_resources_ == [40, 80]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    last = search.cv_results_["iter"] == 1
    assert search.best_score_ == search.cv_results_["mean_test_score"][last].max()


def test_cross_validate():
    scoring = {
        "accuracy": "accuracy",
        "stability": make_stability_scorer(),
        "surely": make_stability_scorer(bound="low"),
        "weighted": make_stability_scorer("importance_weighted"),
    }
    results = cross_validate(
        runs_of(), X, y, scoring=scoring, cv=FOLDS, error_score="raise"
    )
    for name in ("stability", "surely", "weighted"):
        np.testing.assert_allclose(
            results[f"test_{name}"], by_hand(0.3, scoring[name]), rtol=1e-12
        )
    accuracies = [
        lasso().fit(X[train], y[train]).score(X[test], y[test])
        for train, test in FOLDS.split(X, y)
    ]
    np.testing.assert_allclose(results["test_accuracy"], accuracies, rtol=1e-12)


def test_with_metadata_routing():
    scoring = {"accuracy": "accuracy", "stability": make_stability_scorer()}
    with config_context(enable_metadata_routing=True):
        results = cross_validate(
            runs_of(), X, y, scoring=scoring, cv=FOLDS, error_score="raise"
        )
        search = GridSearchCV(
            runs_of(), GRID, scoring=stability_scoring(), cv=FOLDS, refit=False
        ).fit(X, y)
    np.testing.assert_allclose(
        results["test_stability"], by_hand(0.3, scoring["stability"]), rtol=1e-12
    )
    assert search.cv_results_["mean_test_nogueira"][1] == pytest.approx(
        results["test_stability"].mean()
    )


# -- all that the runs say ---------------------------------------------------------------------------------------------

MEASURES = ["nogueira", "importance_weighted", SPREAD]


def test_losses_of_rows_are_kept_for_scores_that_are_their_mean():
    runs = StabilityCV(lasso(), cv=FEW, scoring=["accuracy", "neg_log_loss"]).fit(X, y)
    assert list(runs.runs_.row_losses) == ["accuracy"]
    assert list(StabilityCV(lasso(), cv=FEW).fit(X, y).runs_.row_losses) == ["score"]
    assert (
        not StabilityCV(lasso(), cv=FEW, scoring="neg_log_loss")
        .fit(X, y)
        .runs_.row_losses
    )


def expected_table(runs):
    """What `stability_scoring` should say of fitted runs, from what they keep and plain formulas."""
    table = {}
    for name, scores in runs.scores_.items():
        table[name] = scores.mean()
        table[f"{name}_se"] = np.sqrt(1 / len(scores) + 0.2) * scores.std(ddof=1)
        if name in runs.runs_.row_losses:
            left_out = ~np.isnan(runs.runs_.row_losses[name]).all(axis=0)
            rows = np.nanmean(runs.runs_.row_losses[name][:, left_out], axis=0)
            assert 1 - np.nanmean(runs.runs_.row_losses[name], axis=1) == pytest.approx(
                scores
            )
            table[f"{name}_se"] = np.nanstd(rows, ddof=1) / np.sqrt(
                np.sum(~np.isnan(rows))
            )
    for measure in MEASURES:
        interval = stability_interval(table_of(runs, measure), measure=measure)
        ends = (interval.estimate, interval.low, interval.high)
        name, (estimate, low, high) = measure, ends
        if measure is SPREAD:
            name, (estimate, high, low) = "neg_size_spread", (-end for end in ends)
        table |= {
            name: estimate,
            f"{name}_low": low,
            f"{name}_high": high,
            f"{name}_se": interval.standard_error,
        }
    table["n_features"] = table_of(runs, "nogueira").sum(axis=1).mean()
    return table


def one_level(grid=None, scoring=MEASURES, estimator=None, **params):
    params = {"refit": False, **params}
    estimator = (
        StabilityCV(lasso(), cv=FEW, scoring=["accuracy", "neg_log_loss"])
        if estimator is None
        else estimator
    )
    return GridSearchCV(
        estimator,
        GRID if grid is None else grid,
        cv=WholeSampleSplit(),
        scoring=stability_scoring(scoring),
        **params,
    )


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_one_level_search(n_jobs):
    results = one_level(n_jobs=n_jobs).fit(X, y).cv_results_
    columns = [
        name.removeprefix("mean_test_")
        for name in results
        if name.startswith("mean_test_")
    ]
    for number, C in enumerate(GRID["estimator__C"]):
        expected = expected_table(
            runs_of(C, scoring=["accuracy", "neg_log_loss"]).fit(X, y)
        )
        assert columns == list(expected)
        for name, value in expected.items():
            assert results[f"mean_test_{name}"][number] == pytest.approx(
                value, rel=1e-12
            ), name
    assert not any(name.startswith("split1_") for name in results)


def test_nested_search():
    search = GridSearchCV(
        StabilityCV(lasso(), cv=FEW, scoring=["accuracy", "neg_log_loss"]),
        GRID,
        cv=FOLDS,
        scoring=stability_scoring(MEASURES),
        refit=ParetoRefit("accuracy", "nogueira"),
    ).fit(X, y)
    folds = list(FOLDS.split(X, y))
    for number, C in enumerate(GRID["estimator__C"]):
        inner = [
            runs_of(C, scoring=["accuracy", "neg_log_loss"]).fit(X[train], y[train])
            for train, _ in folds
        ]
        tables = [expected_table(runs) for runs in inner]
        for name in tables[0]:
            values = [table[name] for table in tables]
            splits = [
                search.cv_results_[f"split{fold}_test_{name}"][number]
                for fold in range(3)
            ]
            assert splits == pytest.approx(values, rel=1e-12), name
            assert search.cv_results_[f"mean_test_{name}"][number] == pytest.approx(
                np.mean(values), rel=1e-12
            )
    assert search.best_estimator_.supports_.shape == (N_RUNS, 12)


@pytest.mark.parametrize("refit", [False, True])
def test_no_candidate_is_fitted_more_often_than_its_runs_plus_one(fits, refit):
    refit = ParetoRefit("accuracy", "nogueira") if refit else False
    estimator = StabilityCV(
        lasso(kind=CountedLogistic), cv=FEW, scoring=["accuracy", "neg_log_loss"]
    )
    search = one_level(estimator=estimator, refit=refit).fit(X, y)
    expected = dict.fromkeys(GRID["estimator__C"], N_RUNS + 1)
    if refit:
        expected[search.best_params_["estimator__C"]] += N_RUNS + 1
    assert {C: fits.count(C) for C in set(fits)} == expected


def test_scoring_fits_nothing(fits):
    runs = StabilityCV(lasso(kind=CountedLogistic), cv=FEW).fit(X, y)
    fits.clear()
    stability_scoring(MEASURES)(runs, X, y)
    make_stability_scorer(bound="low")(runs, X, y)
    assert fits == []


class ByRows:
    """A score that is a function of the number of rows, unknown for some."""

    def __init__(self, known, fails=False):
        self.known = known
        self.fails = fails

    def __call__(self, estimator, X, y):  # noqa: ARG002  the signature of a scorer
        if len(X) not in self.known and self.fails:
            raise ValueError("no score")
        return len(X) / 10 if len(X) in self.known else np.nan


def leaving_out(*rows):
    return [(np.setdiff1d(np.arange(90), test), test) for test in rows]


SPLITS = leaving_out(
    np.arange(5), np.arange(10, 16), np.arange(20, 27), np.arange(30, 38)
)


@pytest.mark.parametrize(
    ("known", "mean", "error"),
    [
        (
            [5, 6, 7, 8],
            0.65,
            np.std([0.5, 0.6, 0.7, 0.8], ddof=1) * np.sqrt(1 / 4 + 0.2),
        ),
        ([5, 6, 8], 1.9 / 3, np.std([0.5, 0.6, 0.8], ddof=1) * np.sqrt(1 / 3 + 0.2)),
        ([7], 0.7, np.nan),
        ([], np.nan, np.nan),
    ],
)
def test_unknown_scores_are_left_out(known, mean, error):
    runs = StabilityCV(lasso(), cv=SPLITS, scoring=ByRows(known)).fit(X, y)
    table = stability_scoring()(runs)
    assert table["score"] == pytest.approx(mean, nan_ok=True)
    assert table["score_se"] == pytest.approx(error, nan_ok=True)
    assert np.isfinite(table["nogueira"])


def test_scores_that_fail_in_some_runs_are_left_out():
    with pytest.warns(UserWarning, match="scoring failed in 1 of 4 runs"):
        runs = StabilityCV(
            lasso(), cv=SPLITS, scoring=ByRows([5, 6, 8], fails=True)
        ).fit(X, y)
    assert stability_scoring()(runs)["score"] == pytest.approx(1.9 / 3)


def score_unless_sparse(estimator, X, y):
    if estimator.C < 0.2:
        raise ValueError("no score")
    return estimator.score(X, y)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize(
    "order", [slice(None), slice(None, None, -1)], ids=["first", "last"]
)
def test_a_candidate_without_any_score_has_unknown_ones(order):
    grid = {"estimator__C": GRID["estimator__C"][order]}
    estimator = StabilityCV(lasso(), cv=FEW, scoring=score_unless_sparse)
    with pytest.warns(UserWarning, match="scoring failed in 6 of 6 runs"):
        search = one_level(
            grid, estimator=estimator, refit=ParetoRefit("score", "nogueira")
        ).fit(X, y)
    unknown = np.isnan(search.cv_results_["mean_test_score"])
    assert [
        params["estimator__C"]
        for params in np.array(search.cv_results_["params"])[unknown]
    ] == [0.1]
    assert np.isfinite(search.cv_results_["mean_test_nogueira"]).all()
    assert search.best_params_["estimator__C"] > 0.1


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_a_candidate_that_fails_has_unknown_values():
    grid = {"estimator__C": [-1.0, 0.1, 0.3]}
    refit = ParetoRefit("accuracy", "nogueira", strategy="one_se")
    with pytest.warns(FitFailedWarning, match="1 fits failed out of a total of 3"):
        search = one_level(grid, refit=refit).fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_nogueira"]).tolist() == [
        True,
        False,
        False,
    ]
    assert search.best_index_ > 0


def test_choosing_scores(runs):
    every, one = (
        stability_scoring()(runs),
        stability_scoring(scoring="neg_log_loss")(runs),
    )
    assert list(every)[:4] == [
        "accuracy",
        "accuracy_se",
        "neg_log_loss",
        "neg_log_loss_se",
    ]
    assert one == {
        name: value for name, value in every.items() if not name.startswith("accuracy")
    }
    both = stability_scoring(scoring=["neg_log_loss", "accuracy"])(runs)
    assert list(both)[:3:2] == ["neg_log_loss", "accuracy"]
    assert both == every
    assert "accuracy" not in stability_scoring(scoring=[])(runs)


def test_a_score_that_the_runs_lack(runs):
    with pytest.raises(
        ValueError,
        match=r"\['f1'\].*\['accuracy', 'neg_log_loss'\].*scoring of StabilityCV",
    ):
        stability_scoring(scoring=["accuracy", "f1"])(runs)


def test_a_selector_without_scores():
    table = stability_scoring()(StabilityCV(SelectKBest(k=3), cv=FEW).fit(X, y))
    assert list(table) == [
        "nogueira",
        "nogueira_low",
        "nogueira_high",
        "nogueira_se",
        "n_features",
    ]
    assert table["n_features"] == pytest.approx(3)


@pytest.mark.parametrize(
    "measures", ["jaccard", share_in_all, ("jaccard",), iter(["jaccard"])]
)
def test_one_measure_is_enough(runs, measures):
    table = stability_scoring(measures, scoring=[])(runs)
    name = "share_in_all" if callable(measures) else "jaccard"
    assert list(table) == [
        name,
        f"{name}_low",
        f"{name}_high",
        f"{name}_se",
        "n_features",
    ]


def test_measures_of_the_same_name():
    with pytest.raises(
        ValueError,
        match=r"measures must have different names.*'nogueira', 'jaccard', 'nogueira'",
    ):
        stability_scoring(["nogueira", "jaccard", "nogueira"])
    with pytest.raises(ValueError, match="different names"):
        stability_scoring(
            [get_measure("davis", penalty=penalty) for penalty in (0.0, 1.0)]
        )


@pytest.mark.parametrize("name", ["nogueira", "nogueira_low", "n_features"])
def test_a_score_named_like_a_measure(name):
    runs = runs_of(scoring={name: "accuracy"}).fit(X, y)
    with pytest.raises(ValueError, match=name):
        stability_scoring()(runs)


# -- scorers as objects ------------------------------------------------------------------------------------------------

SCORERS = {
    "scorer": make_stability_scorer("jaccard", bound="low"),
    "with parameters": make_stability_scorer(get_measure("davis", penalty=0.0)),
    "own": make_stability_scorer(share_in_all),
    "with cv": make_stability_scorer(cv=FEW, random_state=0),
    "scoring": stability_scoring(
        ["nogueira", get_measure("davis", penalty=0.0), share_in_all],
        scoring="accuracy",
    ),
}


@pytest.mark.parametrize("scorer", SCORERS.values(), ids=SCORERS)
def test_scorers_pickle_and_copy(runs, scorer):
    fitted = runs if getattr(scorer, "cv", None) is None else runs.estimator_
    expected = scorer(fitted, X, y)
    assert pickle.loads(pickle.dumps(scorer))(fitted, X, y) == expected  # noqa: S301
    assert copy.deepcopy(scorer)(fitted, X, y) == expected


@pytest.mark.parametrize("scorer", SCORERS.values(), ids=SCORERS)
def test_representation_is_readable(scorer):
    assert " at 0x" not in repr(scorer).replace(repr(share_in_all), "share_in_all")
    assert len(repr(scorer)) < 200


def test_representation_tells_the_parameters():
    assert repr(make_stability_scorer("jaccard", bound="low")).startswith(
        "StabilityScorer(measure='jaccard', bound='low'"
    )
    assert (
        repr(stability_scoring("jaccard", scoring="r2"))
        == "StabilityScoring(measures=('jaccard',), scoring='r2', support_from='used')"
    )


@pytest.mark.parametrize(
    ("scoring", "name"),
    [
        (make_stability_scorer("krizek"), "mean_test_score"),
        (stability_scoring("krizek"), "mean_test_neg_krizek"),
    ],
)
def test_clone_of_a_search(scoring, name):
    best = StabilityCV(SelectKBest(), cv=FEW)
    search = GridSearchCV(
        best,
        {"estimator__k": [2, 4]},
        scoring=scoring,
        cv=WholeSampleSplit(),
        refit=False,
    )
    copied = clone(search).fit(X, y)
    expected = [
        -StabilityCV(SelectKBest(k=k), cv=FEW).fit(X, y).stability("krizek")
        for k in (2, 4)
    ]
    np.testing.assert_allclose(copied.cv_results_[name], expected, rtol=1e-12)
    np.testing.assert_allclose(search.fit(X, y).cv_results_[name], expected, rtol=1e-12)


def test_other_resamplings():
    splits = ShuffleSplit(5, train_size=0.7, random_state=0)
    search = one_level(
        estimator=StabilityCV(lasso(), cv=splits, scoring="accuracy")
    ).fit(X, y)
    expected = [
        StabilityCV(lasso(C), cv=splits).fit(X, y).stability_
        for C in GRID["estimator__C"]
    ]
    np.testing.assert_allclose(
        search.cv_results_["mean_test_nogueira"], expected, rtol=1e-12
    )


# -- measures that are not defined for a candidate ---------------------------------------------------------------------


def test_a_measure_that_sizes_do_not_allow_is_missing_for_that_candidate():
    data, target = make_classification(
        120, 12, n_informative=3, n_redundant=0, random_state=0
    )
    varying = StabilityCV(
        LogisticRegression(l1_ratio=1, solver="liblinear", C=0.05, random_state=0),
        cv=BootstrapSplit(6, random_state=0),
    ).fit(data, target)
    assert np.ptp(np.asarray(varying.supports_.sum(axis=1))) > 0
    with pytest.warns(
        UserWarning,
        match="kuncheva measure is not defined for runs that select different numbers",
    ):
        table = stability_scoring(["nogueira", "kuncheva"])(varying)
    assert np.isnan(
        [table["kuncheva"], table["kuncheva_low"], table["kuncheva_se"]]
    ).all()
    assert table["nogueira"] == varying.stability("nogueira")


# -- scores that are means over rows -----------------------------------------------------------------------------------


class Fixed:
    """Predicts what it was given."""

    def __init__(self, predictions):
        self.predictions = predictions

    def predict(self, X):  # noqa: ARG002  the signature of scikit-learn
        return self.predictions


ROWS = np.random.default_rng(0)
PREDICTED = {
    "ints": (ROWS.integers(0, 3, 40), ROWS.integers(0, 3, 40)),
    "text": (ROWS.choice(["a", "b"], 40), ROWS.choice(["a", "b"], 40)),
    "bools": (ROWS.random(40) < 0.5, ROWS.random(40) < 0.5),
    "floats": (ROWS.normal(size=40), ROWS.normal(size=40)),
    "whole floats": (
        ROWS.integers(0, 2, 40).astype(float),
        ROWS.integers(0, 2, 40).astype(float),
    ),
    "several outputs": (ROWS.normal(size=(40, 2)), ROWS.normal(size=(40, 2))),
    "constant": (np.ones(40), ROWS.normal(size=40)),
}


METRICS = {
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "r2": r2_score,
    "neg_mean_squared_error": lambda y, predicted: -mean_squared_error(y, predicted),
    "neg_mean_absolute_error": lambda y, predicted: -mean_absolute_error(y, predicted),
}


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true:UserWarning")
@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("which", PREDICTED)
def test_row_scores_are_those_of_scikit_learn(which, name):
    y, predicted = PREDICTED[which]
    X, model = np.zeros((40, 1)), Fixed(predicted)
    try:
        expected = METRICS[name](y, predicted)
    except (ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            score_by_row({"s": name}, model, X, y)
    else:
        found = score_by_row({"s": name}, model, X, y)
        assert found.scores["s"] == expected
        if which != "constant":
            best = 0.0 if name.startswith("neg") else 1.0
            assert best - found.losses["s"].mean() == pytest.approx(expected)


@pytest.mark.parametrize(
    "name", ["r2", "neg_mean_squared_error", "neg_mean_absolute_error"]
)
def test_scores_of_floats_are_those_of_scikit_learn_bit_for_bit(name):
    rng = np.random.default_rng(0)
    for n_rows in (*range(2, 40), 100, 1000, 10_001):
        y = rng.normal(rng.normal(scale=100), rng.lognormal(), n_rows)
        predicted = y + rng.normal(scale=0.3, size=n_rows)
        found = score_by_row({"s": name}, Fixed(predicted), np.zeros((n_rows, 1)), y)
        assert found.scores["s"] == METRICS[name](y, predicted)


@pytest.mark.parametrize(
    "labels", [np.arange(4), np.array(["a", "b", "c", "d"]), np.array([False, True])]
)
def test_balanced_accuracy_is_that_of_scikit_learn_bit_for_bit(labels):
    rng = np.random.default_rng(0)
    for n_rows in (*range(2, 40), 1000):
        y, predicted = rng.choice(labels, n_rows), rng.choice(labels, n_rows)
        with warnings.catch_warnings(record=True) as expected:
            warnings.simplefilter("always")
            score = balanced_accuracy_score(y, predicted)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assert (
                score_by_row({"s": "balanced_accuracy"}, Fixed(predicted), X, y).scores[
                    "s"
                ]
                == score
            )
        assert [str(one.message) for one in found] == [
            str(one.message) for one in expected
        ]

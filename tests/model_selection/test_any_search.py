"""Searches of scikit-learn over any estimator, against `StabilitySearchCV` and single fits."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    VarianceThreshold,
)
from sklearn.linear_model import Lasso, LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab.metrics import get_measure, measure_table
from skstab.model_selection import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    ParetoRefit,
    StabilityCV,
    StabilitySearchCV,
    collect_runs,
    pareto_front,
    search_table,
    stability_scoring,
)

X, y = make_classification(90, 60, n_informative=5, n_redundant=0, random_state=0)
NAMES = [f"gene {number}" for number in range(60)]
CV = BootstrapSplit(6, random_state=0)
REFIT = ParetoRefit("accuracy", "nogueira", strategy="one_se")


def lasso(C=0.3):
    # Solved precisely, so that a path agrees with single fits.
    return LogisticRegression(
        l1_ratio=1, C=C, solver="liblinear", tol=1e-8, max_iter=10**5, random_state=0
    )


PIPE = make_pipeline(StandardScaler(), lasso())
GRID = {"logisticregression__C": [0.2, 0.5, 2.0]}
ESTIMATORS = {
    "pipeline": (PIPE, GRID),
    "filter": (
        make_pipeline(SelectKBest(), StandardScaler(), LogisticRegression()),
        {"selectkbest__k": [3, 10]},
    ),
    "elimination": (
        RFE(LogisticRegression(), step=0.5),
        {"n_features_to_select": [5, 20]},
    ),
    "forest": (
        SelectFromModel(RandomForestClassifier(5, random_state=0)),
        {"max_features": [4, 9]},
    ),
}


def drop_in(measures="nogueira", scoring="accuracy", refit=REFIT, **params):
    given = {"estimator": PIPE, "param_grid": GRID, "cv": CV, **params}
    return GridSearchCV(
        scoring=stability_scoring(measures, scoring=scoring), refit=refit, **given
    )


def in_one_go(measures="nogueira", scoring="accuracy", refit=REFIT, **params):
    given = {"estimator": PIPE, "param_grid": GRID, "cv": CV, **params}
    return StabilitySearchCV(measures=measures, scoring=scoring, refit=refit, **given)


def assert_same_table(search, other, *, but=()):
    """All means of one table are in the other, and equal."""
    results, expected = search.cv_results_, other.cv_results_
    means = [name for name in expected if name.startswith(("mean_test_", "rank_test_"))]
    assert len(means) >= 7
    for name in means:
        if name.removeprefix("mean_test_") not in but:
            np.testing.assert_allclose(results[name], expected[name], rtol=1e-9)
    assert not any("packed" in name for name in results)
    assert set(results) - set(expected) == {"runs"}
    for own, theirs in zip(collect_runs(search), other.runs_, strict=True):
        np.testing.assert_array_equal(own.supports, theirs.supports)


# The losses of single rows are not known to a scorer.
ERROR = ("accuracy_se",)


@pytest.mark.parametrize("name", ["pipeline", "filter", "elimination"])
@pytest.mark.parametrize(
    "cv",
    [CV, StratifiedKFold(5), ComplementaryPairsSplit(6, random_state=1)],
    ids=["bootstraps", "folds", "pairs"],
)
def test_the_table_is_that_of_stability_search(name, cv):
    estimator, grid = ESTIMATORS[name]
    if name == "elimination":  # a classifier as it is: a score needs no model after it
        estimator = clone(estimator)
    given = {"estimator": estimator, "param_grid": grid, "cv": cv}
    search, other = drop_in(**given).fit(X, y), in_one_go(**given).fit(X, y)
    assert_same_table(search, other, but=ERROR)
    assert search.best_index_ == other.best_index_


def test_every_measure_of_sets_of_any_size():
    table = measure_table()
    measures = [
        name
        for name in table.index[(table["kind"] == "subset") & table["fully_defined"]]
        if get_measure(name).kind == "subset"
    ]
    assert len(measures) >= 10
    assert_same_table(
        drop_in(measures).fit(X, y), in_one_go(measures).fit(X, y), but=ERROR
    )


@pytest.mark.parametrize("measure", ["importance_weighted", "pearson", "spearman"])
@pytest.mark.parametrize("name", ["pipeline", "filter"])
def test_measures_of_weights(measure, name):
    estimator, grid = ESTIMATORS[name]
    given = {"estimator": estimator, "param_grid": grid}
    refit = ParetoRefit("accuracy", measure)
    search = drop_in(["jaccard", measure], refit=refit, **given).fit(X, y)
    other = in_one_go(["jaccard", measure], refit=refit, **given).fit(X, y)
    results, expected = search.cv_results_, other.cv_results_
    assert_same_table(search, other, but=(*ERROR, *columns_of(measure)))
    for column in (f"mean_test_{name}" for name in columns_of(measure)):
        # Solvers stop at a tolerance, and the variance of scaled columns is 1 but for rounding.
        np.testing.assert_allclose(results[column], expected[column], atol=2e-4)


def columns_of(measure):
    return [f"{measure}{end}" for end in ("", "_low", "_high", "_se")]


def size_spread(supports):
    return np.asarray(supports.sum(axis=1)).std()


def test_measures_of_ones_own():
    own = get_measure(size_spread, bounds=(0, 60), higher_is_better=False)
    measures = ["nogueira", own, get_measure("davis", penalty=0.5)]
    assert_same_table(
        drop_in(measures).fit(X, y), in_one_go(measures).fit(X, y), but=ERROR
    )


@pytest.mark.parametrize(
    "data",
    [X, pd.DataFrame(X, columns=NAMES), csr_array(np.where(X > 0.5, X, 0))],
    ids=["array", "frame", "sparse"],
)
def test_forms_of_data(data):
    given = {"estimator": lasso(), "param_grid": {"C": [0.1, 0.5]}}
    search, other = drop_in(**given).fit(data, y), in_one_go(**given).fit(data, y)
    assert_same_table(search, other, but=ERROR)
    for own, theirs in zip(collect_runs(search), other.runs_, strict=True):
        assert list(own.feature_names) == list(theirs.feature_names)


@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1"], {"a": "accuracy"}])
def test_scores(scoring):
    first = "score" if scoring is None else next(iter(scoring))
    refit = ParetoRefit(first, "nogueira")
    assert_same_table(
        drop_in(scoring=scoring, refit=refit).fit(X, y),
        in_one_go(scoring=scoring, refit=refit).fit(X, y),
        but=("score_se", "accuracy_se", "a_se"),
    )


def test_a_score_named_score_is_kept():
    scoring = {"recall": "recall", "score": "accuracy"}
    search = drop_in(scoring=scoring, refit=ParetoRefit("recall", "nogueira"))
    plain = GridSearchCV(PIPE, GRID, cv=CV, scoring=scoring, refit=False).fit(X, y)
    results = search.fit(X, y).cv_results_
    for name in ("recall", "score"):
        column = f"mean_test_{name}"
        np.testing.assert_array_equal(results[column], plain.cv_results_[column])


def test_a_callable_score_and_no_score():
    scorer = make_scorer(accuracy_score)
    search = drop_in(scoring=scorer, refit=ParetoRefit("score", "nogueira")).fit(X, y)
    plain = GridSearchCV(PIPE, GRID, cv=CV, scoring=scorer).fit(X, y)
    for name in ("mean_test_score", "rank_test_score"):
        np.testing.assert_array_equal(search.cv_results_[name], plain.cv_results_[name])
    no_score = stability_scoring()(SelectKBest(k=3).fit(X, y), X, y)
    assert not any(name.endswith("score") for name in no_score)


# -- kinds of searches -------------------------------------------------------------------------------------------------


def test_random_search_in_two_processes():
    expected = in_one_go().fit(X, y)
    search = RandomizedSearchCV(
        PIPE,
        GRID,
        n_iter=3,
        cv=StabilityCV(PIPE, cv=CV),
        scoring=stability_scoring("nogueira", scoring="accuracy"),
        refit=REFIT,
        n_jobs=2,
        random_state=0,
    ).fit(X, y)
    order = np.argsort(search.cv_results_["param_logisticregression__C"])
    for name in ("mean_test_nogueira", "mean_test_accuracy", "mean_test_n_features"):
        np.testing.assert_allclose(
            search.cv_results_[name][order], expected.cv_results_[name], rtol=1e-9
        )


def test_halving_chooses_by_score_and_its_table_is_read():
    search = HalvingGridSearchCV(
        PIPE,
        GRID,
        cv=CV,
        factor=2,
        min_resources=40,
        scoring=stability_scoring("nogueira", scoring="accuracy"),
        refit=REFIT,
        random_state=0,
    ).fit(X, y)
    last = search.cv_results_["iter"] == search.cv_results_["iter"].max()
    score = search.cv_results_["mean_test_accuracy"]
    assert score[search.best_index_] == score[last].max() == search.best_score_
    runs = collect_runs(search)
    table = search_table(search)
    for number, one in enumerate(runs):
        expected = one.stability() if last[number] else np.nan
        np.testing.assert_equal(table["stability"][number], expected)
        assert np.isfinite(one.stability())
    front = pareto_front(search.cv_results_, "accuracy", "nogueira")
    assert set(front) <= set(np.flatnonzero(last))
    assert REFIT(search.cv_results_) in np.flatnonzero(last)
    assert not any("packed" in name for name in search.cv_results_)


def test_cross_validate():
    results = cross_validate(
        PIPE,
        X,
        y,
        cv=CV,
        scoring=stability_scoring("nogueira", scoring="accuracy"),
        return_train_score=True,
    )
    runs = collect_runs(results, feature_names=NAMES)
    expected = StabilityCV(PIPE, cv=CV, scoring="accuracy").fit(X, y).runs_
    np.testing.assert_array_equal(runs.supports, expected.supports)
    np.testing.assert_allclose(runs.scores["accuracy"], expected.scores["accuracy"])
    assert list(runs.scores) == ["accuracy"]
    assert list(runs.feature_names) == NAMES
    with pytest.raises(ValueError, match="collect_runs"):
        ParetoRefit("accuracy", "nogueira")(results)


def test_train_scores_stay_and_packed_ones_go():
    search = drop_in(return_train_score=True).fit(X, y)
    plain = GridSearchCV(
        PIPE, GRID, cv=CV, scoring={"accuracy": "accuracy"}, refit=False
    ).set_params(return_train_score=True)
    expected = plain.fit(X, y).cv_results_
    shown = {name for name in search.cv_results_ if "train" in name}
    assert shown == {name for name in expected if "train" in name}
    column = "mean_train_accuracy"
    np.testing.assert_array_equal(search.cv_results_[column], expected[column])


def test_in_an_outer_cross_validation_and_pickled():
    search = drop_in()
    nested = cross_validate(
        search, X, y, cv=KFold(2), return_estimator=True, n_jobs=2, error_score="raise"
    )
    for fitted, (train, _) in zip(nested["estimator"], KFold(2).split(X), strict=True):
        alone = clone(search).fit(X[train], y[train])
        shown = X[train], y[train]
        assert alone.score(*shown) == alone.best_estimator_.score(*shown)
        column = "mean_test_nogueira"
        np.testing.assert_array_equal(
            fitted.cv_results_[column], alone.cv_results_[column]
        )
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301  of our own
    assert again.best_params_ == fitted.best_params_
    np.testing.assert_array_equal(
        again.fit(X, y).cv_results_[column], drop_in().fit(X, y).cv_results_[column]
    )


def test_the_whole_search_is_what_is_measured():
    outer = cross_validate(
        GridSearchCV(PIPE, GRID, cv=3), X, y, cv=CV, scoring=stability_scoring()
    )
    expected = StabilityCV(GridSearchCV(PIPE, GRID, cv=3), cv=CV).fit(X, y)
    assert collect_runs(outer).stability() == expected.stability_


def test_metadata_routing_weights_the_score():
    weights = np.where(np.arange(90) % 2, 3.0, 1.0)
    scorer = make_scorer(accuracy_score)
    with config_context(enable_metadata_routing=True):
        scorer.set_score_request(sample_weight=True)
        model = lasso().set_fit_request(sample_weight=True)
        params = {"params": {"sample_weight": weights}, "cv": CV}
        scoring = stability_scoring(scoring=scorer)
        found = cross_validate(model, X, y, scoring=scoring, **params)
        expected = cross_validate(model, X, y, scoring=scorer, **params)
    np.testing.assert_array_equal(found["test_score"], expected["test_score"])
    unweighted = cross_validate(model, X, y, scoring=scorer, cv=CV)
    assert (found["test_score"] != unweighted["test_score"]).any()


# -- failures ----------------------------------------------------------------------------------------------------------


class FailsWhere(ClassifierMixin, BaseEstimator):
    """A model that can't be fitted where a certain row was drawn."""

    def __init__(self, row=0.0, C=0.3):
        self.row = row
        self.C = C

    def fit(self, X, y):
        if (X[:, 0] == self.row).any():
            raise ValueError("this row is in there")
        self.coef_ = lasso(self.C).fit(X, y).coef_
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X @ self.coef_[0] > 0).astype(int)


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
@pytest.mark.parametrize("error_score", [np.nan, 0, -1])
def test_fits_that_fail_are_left_out(error_score):
    rows = [0.0, X[4, 0]]
    search = drop_in(
        estimator=FailsWhere(), param_grid={"row": rows}, error_score=error_score
    )
    with pytest.warns(FitFailedWarning):
        search.fit(X, y)
    whole, part = collect_runs(search)
    drawn = [(train == 4).any() for train, _ in CV.split(X, y)]
    assert 0 < sum(drawn) < 5
    assert whole.n_failed == 0
    assert part.n_failed == sum(drawn)
    np.testing.assert_array_equal(part.split_numbers, np.flatnonzero(~np.array(drawn)))
    np.testing.assert_array_equal(part.supports, whole.supports[~np.array(drawn)])
    expected = [one.stability() for one in (whole, part)]
    assert search.cv_results_["mean_test_nogueira"].tolist() == expected
    is_known = np.isfinite(search.cv_results_["mean_test_accuracy"])
    assert is_known.tolist() == [True, not np.isnan(error_score)]


def no_score(estimator, X, y):
    if len(X) % 2:
        raise ValueError("an odd number of rows")
    return estimator.score(X, y)


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_scores_that_fail_are_missing():
    counts = [len(test) % 2 for _, test in CV.split(X, y)]
    assert 0 < sum(counts) < 6
    search = drop_in(scoring=no_score, refit=False)
    with pytest.warns(UserWarning, match="score is missing.* an odd number of rows"):
        search.fit(X, y)
    for runs in collect_runs(search):
        assert np.isnan(runs.scores["score"]).tolist() == [n == 1 for n in counts]
        assert np.isfinite(runs.stability())


@pytest.mark.parametrize(
    ("refit", "score"),
    [("accuracy", "accuracy"), ("score", "score"), ("nogueira", "accuracy")],
)
@pytest.mark.parametrize("kind", [GridSearchCV, HalvingGridSearchCV])
def test_a_name_as_refit_says_what_to_write(kind, refit, score):
    scoring = stability_scoring(scoring="accuracy")
    search = kind(PIPE, GRID, cv=3, scoring=scoring, refit=refit)
    with pytest.raises(ValueError, match=rf"ParetoRefit\('{score}', 'nogueira'\)"):
        search.fit(X, y)


def test_a_name_as_refit_of_what_has_no_score():
    scoring = stability_scoring()
    search = GridSearchCV(SelectKBest(k=3), {}, scoring=scoring, refit="nogueira")
    with pytest.raises(ValueError, match=r"ParetoRefit\('nogueira', 'nogueira'\)"):
        search.fit(X, y)
    search.set_params(refit=ParetoRefit("nogueira", "nogueira")).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_nogueira"]).all()


@pytest.mark.parametrize("scoring", ["nope", ["accuracy", "nope"]])
def test_a_score_that_does_not_exist_is_named(scoring):
    with pytest.raises(ValueError, match=r"no score: .*(must be a str|'nope' is not)"):
        drop_in(scoring=scoring).fit(X, y)


def test_metadata_that_a_score_does_not_request_is_named():
    with config_context(enable_metadata_routing=True):
        weighted = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        search = drop_in(
            estimator=lasso().set_fit_request(sample_weight=True),
            param_grid={"C": [0.3]},
            scoring={"accuracy": weighted, "auc": "roc_auc"},
        )
        with pytest.raises(ValueError, match=r"no score: .sample_weight. are passed"):
            search.fit(X, y, sample_weight=np.ones(90))


def test_one_of_several_scorers_says_what_to_write():
    scoring = {"accuracy": "accuracy", "stability": stability_scoring()}
    with pytest.raises(ValueError, match="alone as scoring"):
        cross_validate(PIPE, X, y, cv=3, scoring=scoring)


def test_one_split_is_not_enough():
    with pytest.raises(ValueError, match="at least two splits"):
        drop_in(cv=BootstrapSplit(1, random_state=0)).fit(X, y)


class Silent(ClassifierMixin, BaseEstimator):
    """A model that does not say what it uses."""

    def fit(self, X, y):
        self.model_ = lasso(0.1).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


def test_probing_the_rows_that_a_scorer_sees_is_told_once():
    search = drop_in(estimator=Silent(), param_grid={})
    with pytest.warns(UserWarning, match="probing the rows that each fit") as record:
        search.fit(X, y)
    assert len(record) == 1


@pytest.mark.parametrize(
    ("estimator", "measure", "message"),
    [
        (RidgeClassifier(), "nogueira", "RidgeClassifier.*keeps every feature"),
        (
            make_pipeline(SelectKBest(lambda X, y: X.var(axis=0) + y[0]), lasso()),
            "nope",
            "measure must be",
        ),
    ],
)
def test_what_cannot_be_measured(estimator, measure, message):
    def searched():
        GridSearchCV(
            estimator, {}, cv=2, scoring=stability_scoring(measure), refit=False
        ).fit(X, y)

    with pytest.raises(ValueError, match=message):
        searched()


def test_no_importances():
    scoring = stability_scoring("pearson")
    with pytest.raises(ValueError, match="no importances"):
        cross_validate(VarianceThreshold(), X, y, cv=2, scoring=scoring)


def test_a_model_that_keeps_every_feature_has_weights():
    scoring = stability_scoring("pearson", scoring="accuracy")
    runs = collect_runs(cross_validate(RidgeClassifier(), X, y, cv=CV, scoring=scoring))
    expected = StabilityCV(
        RidgeClassifier(), cv=CV, measure="pearson", scale_importances=False
    )
    assert runs.stability("pearson") == pytest.approx(expected.fit(X, y).stability_)
    with pytest.raises(ValueError, match="keeps every feature"):
        runs.stability("nogueira")


@pytest.mark.parametrize(
    "source", [{"mean_test_score": [1.0], "params": [{}]}, GridSearchCV(Lasso(), {})]
)
def test_sources_without_runs(source):
    with pytest.raises((TypeError, ValueError), match=r"source (must be|holds no)"):
        collect_runs(source)


def test_the_runs_of_other_searches():
    search = in_one_go().fit(X, y)
    assert collect_runs(search) is search.runs_


def test_a_table_whose_scoring_is_not_known():
    search = drop_in(refit=False).fit(X, y)
    results = dict(search.cv_results_)
    del search
    with pytest.raises(ValueError, match="pass the search itself, or use collect_runs"):
        ParetoRefit("accuracy", "nogueira")(results)
    assert [len(runs) for runs in collect_runs(results)] == [6, 6, 6]


@pytest.mark.filterwarnings("ignore:all runs agree")
@pytest.mark.parametrize("width", [1, 51, 52, 53, 104, 157])
def test_supports_of_any_width(width):
    rng = np.random.default_rng(width)
    data = rng.standard_normal((40, width))
    model = SelectKBest(k=max(1, width // 2))
    target = rng.integers(2, size=40)
    runs = collect_runs(
        cross_validate(model, data, target, cv=4, scoring=stability_scoring())
    )
    expected = StabilityCV(model, cv=4).fit(data, target)
    np.testing.assert_array_equal(runs.supports, expected.supports_)

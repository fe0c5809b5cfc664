"""What scikit-learn expects of an estimator: checks, metadata, outputs, composition, copies, callbacks."""

import copy
import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from io import BytesIO

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import clone, config_context
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier, is_regressor
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import (
    FitFailedWarning,
    NotFittedError,
    UnsetMetadataPassedError,
)
from sklearn.feature_selection import (
    SelectFromModel,
    SelectKBest,
    SelectorMixin,
    VarianceThreshold,
    chi2,
)
from sklearn.linear_model import Lasso, LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from skstab.metrics import get_measure
from skstab.model_selection import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    StabilityCV,
    StabilitySearchCV,
    WholeSampleSplit,
)

try:
    from sklearn.callback import ProgressBar
except ImportError:
    ProgressBar = None

needs_callbacks = pytest.mark.skipif(
    ProgressBar is None, reason="scikit-learn 1.8 has no callbacks"
)

N, D, RUNS = 60, 8, 4
CV = BootstrapSplit(RUNS, random_state=0)
NAMES = [f"feature {number}" for number in range(D)]
GROUPS = np.arange(N) // 3


def l1_svc(**params):
    return LinearSVC(
        **{"penalty": "l1", "dual": False, "C": 0.2, "random_state": 0, **params}
    )


def stable(estimator=None, **params):
    return StabilityCV(
        l1_svc() if estimator is None else estimator,
        **{"cv": CV, "random_state": 0, **params},
    )


@pytest.fixture(scope="module")
def data():
    return make_classification(
        N, D, n_informative=3, n_redundant=2, class_sep=0.7, random_state=1
    )


@pytest.fixture(scope="module")
def frame(data):
    X, y = data
    return pd.DataFrame(X, columns=NAMES), y


def assert_same_runs(first, second):
    for name in ("supports_", "importances_"):
        a, b = (
            sparse.csr_array(getattr(fitted, name)).toarray()
            for fitted in (first, second)
        )
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)
    assert first.stability_ == pytest.approx(second.stability_, abs=1e-9)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads of BLAS gain nothing on data this small, and cost much where processors are shared."""
    with threadpool_limits(1):
        yield


# -- scikit-learn's own checks -----------------------------------------------------------------------------------------

CHECKED = {
    "classifier": StabilityCV(LinearSVC(penalty="l1", dual=False), cv=CV),
    "regressor": StabilityCV(Lasso(alpha=0.01), cv=CV),
    "selector": StabilityCV(SelectKBest(k=1), cv=CV),
    "selector without y": StabilityCV(VarianceThreshold(), cv=CV),
    # SelectKBest(k=1) would fail by itself: the checks ask for an accuracy that takes more than one feature.
    "pipeline": StabilityCV(
        make_pipeline(
            StandardScaler(),
            SelectFromModel(LogisticRegression(), threshold="0.1*mean"),
            LogisticRegression(),
        ),
        cv=CV,
    ),
    "weights": StabilityCV(Ridge(), cv=CV, measure="pearson"),
    "consensus": StabilityCV(
        Lasso(alpha=0.01),
        cv=ComplementaryPairsSplit(4, random_state=0),
        support="consensus",
    ),
    "folds": StabilityCV(LinearSVC(penalty="l1", dual=False), cv=3),
    "search along a path": StabilitySearchCV(
        LinearSVC(penalty="l1", dual=False), {"C": [0.5, 1.0]}, cv=CV
    ),
    "search of selectors": StabilitySearchCV(SelectKBest(), {"k": [1]}, cv=CV),
    "search of a regressor": StabilitySearchCV(
        Lasso(), {"alpha": [0.001, 0.01]}, cv=CV
    ),
}
ARRAY_API = "check_array_api_input"


@pytest.mark.parametrize("which", CHECKED)
# The checks fit on blobs, constants and a handful of rows, where all features matter to every run, solvers do not
# converge and a test set may have one row; none of that is what is checked.
@pytest.mark.filterwarnings(
    "ignore:all runs agree because:RuntimeWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::sklearn.exceptions.UndefinedMetricWarning",
    "ignore::sklearn.exceptions.FitFailedWarning",
    "ignore:The least populated class in y:UserWarning",
    "ignore:no candidate selects any feature:UserWarning",
)
def test_passes_every_check(which):
    results = check_estimator(CHECKED[which], on_skip=None, on_fail=None)
    assert {
        r["check_name"]: r["exception"] for r in results if r["status"] == "failed"
    } == {}
    assert {r["status"] for r in results} <= {
        "passed",
        "skipped",
    }  # that is, nothing was expected to fail
    # Which needs a setting made before scipy is imported; see the next test.
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= {ARRAY_API}
    assert len(results) > 40


def run_array_api_checks():
    for estimator in CHECKED.values():
        for instance, check in estimator_checks_generator(estimator):
            if getattr(check, "func", check).__name__ == ARRAY_API:
                check(instance)
                print("checked")  # noqa: T201


@pytest.mark.skipif(
    ProgressBar is None,
    reason="scikit-learn 1.8 checks the array API only where it is supported",
)
def test_passes_the_check_that_needs_another_interpreter():
    command = f"import {__name__} as this; this.run_array_api_checks()"
    settings = {
        "SCIPY_ARRAY_API": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", command],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("checked") == len(CHECKED)


# -- metadata ----------------------------------------------------------------------------------------------------------


class Telltale(ClassifierMixin, SelectorMixin, BaseEstimator):
    """Selects the first two features, and remembers which rows (the first column) came with which weights."""

    def fit(self, X, y, sample_weight=None):
        self.n_features_in_, self.classes_ = X.shape[1], np.unique(y)
        self.sparse_, self.type_ = sparse.issparse(X), type(X)
        first = X[:, [0]].toarray() if self.sparse_ else np.asarray(X)[:, [0]]
        self.rows_, self.weights_ = np.rint(first.ravel()).astype(int), sample_weight
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[0])

    def _get_support_mask(self):
        return np.arange(self.n_features_in_) < 2

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def sum_of_weights(y_true, y_pred, sample_weight=None):
    return -1.0 if sample_weight is None else np.sum(sample_weight)


WEIGHED = make_scorer(sum_of_weights)


@pytest.fixture
def numbered():
    """Rows that say in their first column which they are."""
    X, y = np.random.default_rng(0).normal(size=(N, 5)), np.tile([0, 1, 1], N // 3)
    X[:, 0] = np.arange(N)
    return X, y


@pytest.fixture
def weights():
    return 100.0 + np.arange(N)


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def telltale(**params):
    return StabilityCV(Telltale(), **{"cv": CV, "return_estimators": True, **params})


def assert_weights_of_own_rows(runs, splits, weights):
    assert len(runs.estimators_) == len(splits)
    for estimator, (train, _) in zip(runs.estimators_, splits, strict=True):
        np.testing.assert_array_equal(estimator.rows_, train)
        np.testing.assert_array_equal(estimator.weights_, weights[train])
    np.testing.assert_array_equal(runs.estimator_.weights_, weights)


def assert_whole_groups(runs, groups):
    for estimator in runs.estimators_:
        times = np.bincount(estimator.rows_, minlength=N)
        assert 0 < np.count_nonzero(times) < N
        for group in np.unique(groups):
            assert np.unique(times[groups == group]).size == 1


def test_weights_without_routing(numbered, weights):
    X, y = numbered
    runs = telltale(scoring=WEIGHED).fit(X, y, sample_weight=weights)
    assert_weights_of_own_rows(runs, list(CV.split(X, y)), weights)
    assert (
        runs.scores_["score"] == -1
    ).all()  # as in cross_validate, a scorer has to ask


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_weights_go_where_they_were_requested(n_jobs, numbered, weights, routing):
    X, y = numbered
    scoring = {
        "asked": make_scorer(sum_of_weights).set_score_request(sample_weight=True),
        "declined": make_scorer(sum_of_weights).set_score_request(sample_weight=False),
    }
    runs = telltale(scoring=scoring, n_jobs=n_jobs)
    runs.estimator.set_fit_request(sample_weight=True)
    runs.fit(X, y, sample_weight=weights)
    splits = list(CV.split(X, y))
    assert_weights_of_own_rows(runs, splits, weights)
    np.testing.assert_allclose(
        runs.scores_["asked"], [weights[test].sum() for _, test in splits]
    )
    assert (runs.scores_["declined"] == -1).all()


def test_weights_under_another_name(numbered, weights, routing):
    X, y = numbered
    scorer = make_scorer(sum_of_weights).set_score_request(sample_weight="score_weight")
    runs = telltale(scoring=scorer)
    runs.estimator.set_fit_request(sample_weight="fit_weight")
    runs.fit(X, y, fit_weight=weights, score_weight=2 * weights)
    splits = list(CV.split(X, y))
    assert_weights_of_own_rows(runs, splits, weights)
    np.testing.assert_allclose(
        runs.scores_["score"], [2 * weights[test].sum() for _, test in splits]
    )


def test_weights_that_nobody_asked_for(numbered, weights, routing):
    X, y = numbered
    with pytest.raises(UnsetMetadataPassedError, match=r"Telltale\.fit"):
        telltale(
            scoring=make_scorer(sum_of_weights).set_score_request(sample_weight=True)
        ).fit(X, y, sample_weight=weights)
    asking = Telltale().set_fit_request(sample_weight=True)
    with pytest.raises(UnsetMetadataPassedError, match=r"Telltale\.score"):
        StabilityCV(asking, cv=CV).fit(X, y, sample_weight=weights)
    with pytest.raises(TypeError, match="sample_weights"):
        telltale().fit(X, y, sample_weights=weights)


@pytest.mark.skipif(
    ProgressBar is None,
    reason="scikit-learn 1.8 does not ask several scorers what they request",
)
def test_weights_that_one_of_several_scorers_did_not_ask_for(
    numbered, weights, routing
):
    asking = Telltale().set_fit_request(sample_weight=True)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        StabilityCV(asking, cv=CV, scoring=["accuracy", "f1"]).fit(
            *numbered, sample_weight=weights
        )


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize(
    "cv",
    [CV, ComplementaryPairsSplit(4, random_state=0), GroupKFold(3)],
    ids=lambda cv: type(cv).__name__,
)
def test_groups_go_to_the_splitter(cv, enabled, numbered):
    X, y = numbered
    with config_context(enable_metadata_routing=enabled):
        assert_whole_groups(telltale(cv=cv).fit(X, y, groups=GROUPS), GROUPS)
        assert_whole_groups(
            telltale(cv=cv).fit(pd.DataFrame(X), y, groups=pd.Series(GROUPS)), GROUPS
        )


@pytest.mark.parametrize("mixed", [False, True])
def test_groups_go_to_the_default_splitter(mixed, numbered):
    X, y = numbered
    runs = telltale(cv=None).fit(X, y if mixed else GROUPS % 2, groups=GROUPS)
    assert_whole_groups(runs, GROUPS)


def test_groups_and_weights_together_without_routing(numbered, weights):
    X, y = numbered
    runs = telltale(cv=GroupKFold(3)).fit(X, y, groups=GROUPS, sample_weight=weights)
    assert_weights_of_own_rows(runs, list(GroupKFold(3).split(X, y, GROUPS)), weights)


@pytest.mark.parametrize("cv", [KFold(3), 3], ids=["KFold", "int"])
def test_groups_that_the_splitter_does_not_take(cv, numbered, routing):
    X, y = numbered
    with pytest.raises(TypeError, match="groups"):
        telltale(cv=cv).fit(X, y, groups=GROUPS)


@pytest.mark.skipif(
    ProgressBar is None,
    reason="scikit-learn 1.8 copies what it routes for, a generator can't be",
)
def test_a_generator_of_splits_is_not_used_up_by_routing(numbered, weights, routing):
    X, y = numbered
    asking = (
        Telltale()
        .set_fit_request(sample_weight=True)
        .set_score_request(sample_weight=False)
    )
    runs = StabilityCV(asking, cv=KFold(3).split(X), return_estimators=True).fit(
        X, y, sample_weight=weights
    )
    assert_weights_of_own_rows(runs, list(KFold(3).split(X)), weights)


def test_metadata_through_a_pipeline(numbered, weights, routing):
    X, y = numbered
    asking = (
        Telltale()
        .set_fit_request(sample_weight=True)
        .set_score_request(sample_weight=False)
    )
    runs = StabilityCV(asking, cv=CV, return_estimators=True)
    last = LogisticRegression().set_fit_request(sample_weight=False)
    pipeline = Pipeline([("runs", runs), ("model", last)]).fit(
        X, y, groups=GROUPS, sample_weight=weights
    )
    assert_weights_of_own_rows(pipeline["runs"], list(CV.split(X, y, GROUPS)), weights)
    pipeline = Pipeline([("runs", runs)]).fit(
        X, y, groups=GROUPS, sample_weight=weights
    )
    assert_weights_of_own_rows(pipeline["runs"], list(CV.split(X, y, GROUPS)), weights)


def test_metadata_through_a_pipeline_without_routing(numbered, weights):
    X, y = numbered
    pipeline = Pipeline([("runs", telltale()), ("model", LogisticRegression())])
    pipeline.fit(X, y, runs__groups=GROUPS, runs__sample_weight=weights)
    assert_weights_of_own_rows(pipeline["runs"], list(CV.split(X, y, GROUPS)), weights)


@pytest.mark.parametrize(
    "outer", [WholeSampleSplit(), GroupKFold(2)], ids=["whole", "nested"]
)
def test_metadata_through_a_search(outer, numbered, weights, routing):
    X, y = numbered
    asking = (
        Telltale()
        .set_fit_request(sample_weight=True)
        .set_score_request(sample_weight=False)
    )
    runs = StabilityCV(asking, cv=CV, return_estimators=True)
    search = GridSearchCV(
        runs, {"threshold": [0.4, 0.6]}, cv=outer, error_score="raise"
    )
    search.fit(X, y, groups=GROUPS, sample_weight=weights)
    assert_weights_of_own_rows(
        search.best_estimator_, list(CV.split(X, y, GROUPS)), weights
    )


def test_metadata_reaches_a_nested_object(numbered, weights, routing):
    X, y = numbered
    asking = (
        Telltale()
        .set_fit_request(sample_weight=True)
        .set_score_request(sample_weight=False)
    )
    inner = StabilityCV(asking, cv=CV, return_estimators=True)
    outer = StabilityCV(inner, cv=GroupKFold(3), return_estimators=True).fit(
        X, y, groups=GROUPS, sample_weight=weights
    )
    for runs, (train, _) in zip(
        outer.estimators_, GroupKFold(3).split(X, y, GROUPS), strict=True
    ):
        inner_splits = list(CV.split(X[train], y[train], GROUPS[train]))
        for estimator, (rows, _) in zip(runs.estimators_, inner_splits, strict=True):
            np.testing.assert_array_equal(estimator.rows_, train[rows])
            np.testing.assert_array_equal(estimator.weights_, weights[train[rows]])


def test_an_outer_search_scores_with_the_weights_that_score_requested(data, routing):
    X, y = data
    weights = np.where(y == 1, 10.0, 0.1)
    asking = (
        l1_svc()
        .set_fit_request(sample_weight=True)
        .set_score_request(sample_weight=True)
    )
    params = {"sample_weight": weights}
    expected = cross_validate(asking, X, y, cv=3, params=params)["test_score"]
    unweighted = cross_validate(
        clone(asking).set_score_request(sample_weight=False), X, y, cv=3, params=params
    )["test_score"]
    assert not np.allclose(expected, unweighted)
    scores = cross_validate(stable(asking), X, y, cv=3, params=params)["test_score"]
    np.testing.assert_allclose(scores, expected)


@pytest.mark.parametrize("enabled", [False, True])
def test_score_takes_weights(enabled, data):
    X, y = data
    weights = np.where(y == 1, 10.0, 0.1)
    with config_context(enable_metadata_routing=enabled):
        asking = l1_svc().set_score_request(sample_weight=True) if enabled else l1_svc()
        runs = stable(asking).fit(X, y)
        expected = accuracy_score(y, runs.predict(X), sample_weight=weights)
        assert expected != pytest.approx(runs.score(X, y))
        assert runs.score(X, y, sample_weight=weights) == pytest.approx(expected)


# -- containers --------------------------------------------------------------------------------------------------------


def test_output_is_an_array_by_default(frame):
    X, y = frame
    runs = stable().fit(X, y)
    assert 0 < runs.get_support().sum() < D
    out = runs.transform(X)
    assert isinstance(out, np.ndarray)
    np.testing.assert_array_equal(out, X.to_numpy()[:, runs.get_support()])
    np.testing.assert_array_equal(stable().fit_transform(X, y), out)


@pytest.mark.parametrize("support", ["refit", "consensus"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(library, support, frame):
    X, y = frame
    kind = pytest.importorskip(library).DataFrame
    runs = (
        stable(support=support, threshold=0.9).set_output(transform=library).fit(X, y)
    )
    kept = [
        name for name, chosen in zip(NAMES, runs.get_support(), strict=True) if chosen
    ]
    out = runs.transform(X)
    assert isinstance(out, kind)
    assert list(out.columns) == kept == list(runs.get_feature_names_out())
    np.testing.assert_array_equal(out.to_numpy(), X[kept].to_numpy())
    if library == "pandas":
        pd.testing.assert_index_equal(out.index, X.index)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_output_set_for_everything(library, frame):
    X, y = frame
    kind = pytest.importorskip(library).DataFrame
    pipe = make_pipeline(StandardScaler(), SelectKBest(k=3), l1_svc())
    expected = stable(pipe).fit(X, y)
    with config_context(transform_output=library):
        runs = stable(pipe).fit(X, y)
        assert isinstance(runs.transform(X), kind)
    assert_same_runs(runs, expected)


def test_names_of_features(frame):
    X, y = frame
    runs = stable().fit(X, y)
    np.testing.assert_array_equal(runs.feature_names_in_, NAMES)
    np.testing.assert_array_equal(
        runs.get_feature_names_out(), np.array(NAMES)[runs.get_support()]
    )
    assert list(runs.summary().index) == NAMES
    assert runs.n_features_in_ == D
    plain = runs.fit(X.to_numpy(), y)
    assert not hasattr(plain, "feature_names_in_")
    expected = [f"x{number}" for number in np.flatnonzero(plain.get_support())]
    np.testing.assert_array_equal(plain.get_feature_names_out(), expected)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_give_what_arrays_give(library, frame):
    X, y = frame
    kind = pytest.importorskip(library).DataFrame
    given = kind({name: X[name].to_numpy() for name in NAMES})
    pipe = make_pipeline(StandardScaler(), SelectKBest(k=3), l1_svc())
    runs, expected = stable(pipe).fit(given, y), stable(pipe).fit(X.to_numpy(), y)
    assert_same_runs(runs, expected)
    np.testing.assert_array_equal(runs.predict(given), expected.predict(X.to_numpy()))
    # scikit-learn 1.8 does not see the names in the frames of a recent polars
    names = getattr(StandardScaler().fit(given), "feature_names_in_", None)
    np.testing.assert_array_equal(getattr(runs, "feature_names_in_", None), names)


def test_runs_see_frames_as_frames(numbered):
    X, y = numbered
    runs = telltale().fit(pd.DataFrame(X, columns=list("abcde")), y)
    assert {estimator.type_ for estimator in runs.estimators_} == {pd.DataFrame}


@pytest.mark.parametrize("method", ["predict", "decision_function", "transform"])
def test_columns_in_another_order(method, frame):
    X, y = frame
    runs = stable().fit(X, y)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        getattr(runs, method)(X[NAMES[::-1]])


@pytest.mark.parametrize("method", ["predict", "decision_function", "transform"])
def test_another_number_of_columns(method, data):
    X, y = data
    runs = stable().fit(X, y)
    with pytest.raises(ValueError, match=f"expecting {D} features"):
        getattr(runs, method)(X[:, 1:])


CONTAINERS = [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix]
SPARSE = {
    "Lasso": Lasso(alpha=0.05),
    "LinearSVC": l1_svc(),
    "SelectKBest": SelectKBest(chi2, k=3),
    "pipeline": make_pipeline(MaxAbsScaler(), SelectKBest(chi2, k=4), l1_svc(C=1.0)),
}


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("which", SPARSE)
def test_sparse_data_give_what_dense_data_give(which, container, data):
    X, y = data
    X = np.where(X > 0.3, X, 0.0)
    runs, expected = (
        stable(SPARSE[which]).fit(given, y) for given in (container(X), X)
    )
    assert 0 < expected.supports_.sum() < expected.supports_.shape[0] * D
    assert_same_runs(runs, expected)
    out = runs.transform(container(X))
    assert sparse.issparse(out)
    np.testing.assert_array_equal(out.toarray(), expected.transform(X))


@pytest.mark.parametrize(
    "container", [*CONTAINERS, sparse.coo_array], ids=lambda kind: kind.__name__
)
def test_sparse_data_stay_sparse(container, numbered):
    X, y = numbered
    runs = telltale().fit(container(X), y)
    assert all(estimator.sparse_ for estimator in [*runs.estimators_, runs.estimator_])
    for estimator, (train, _) in zip(runs.estimators_, CV.split(X, y), strict=True):
        np.testing.assert_array_equal(estimator.rows_, train)


# -- composition -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("support", ["refit", "consensus"])
def test_a_step_before_a_model(support, data):
    X, y = data
    pipeline = make_pipeline(
        StandardScaler(), stable(support=support, threshold=0.9), GaussianNB()
    ).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    kept = stable(support=support, threshold=0.9).fit(Z, y).get_support()
    assert 0 < kept.sum() < D
    assert pipeline[-1].n_features_in_ == kept.sum()
    np.testing.assert_array_equal(
        pipeline.predict(X), GaussianNB().fit(Z[:, kept], y).predict(Z[:, kept])
    )


def stability_of(estimator, X, y):
    return estimator.stability_


@pytest.mark.parametrize(
    "outer", [WholeSampleSplit(), KFold(3)], ids=["whole", "nested"]
)
def test_a_search_over_the_parameters_of_the_estimator(outer, data):
    X, y = data
    grid = [0.03, 0.1, 0.5]
    pipe = make_pipeline(StandardScaler(), l1_svc())
    search = GridSearchCV(
        stable(pipe),
        {"estimator__linearsvc__C": grid},
        cv=outer,
        scoring={"stability": stability_of, "accuracy": "accuracy"},
        refit="stability",
        error_score="raise",
    ).fit(X, y)
    expected = [
        np.mean(
            [
                stable(clone(pipe).set_params(linearsvc__C=C))
                .fit(X[train], y[train])
                .stability_
                for train, _ in outer.split(X, y)
            ]
        )
        for C in grid
    ]
    assert len(set(expected)) == len(grid)
    np.testing.assert_allclose(search.cv_results_["mean_test_stability"], expected)
    assert np.isfinite(search.cv_results_["mean_test_accuracy"]).all()
    best = grid[int(np.argmax(expected))]
    assert search.best_params_ == {"estimator__linearsvc__C": best}
    assert search.best_estimator_.estimator_.get_params()["linearsvc__C"] == best
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))


def test_a_search_in_two_processes(data):
    X, y = data
    grid = {"estimator__C": [0.1, 0.2]}
    searches = [
        GridSearchCV(
            stable(),
            grid,
            cv=3,
            scoring=stability_of,
            error_score="raise",
            n_jobs=n_jobs,
        ).fit(X, y)
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(
        *(search.cv_results_["mean_test_score"] for search in searches)
    )


def test_in_cross_validate(data):
    X, y = data
    result = cross_validate(
        stable(), X, y, cv=KFold(3), return_estimator=True, error_score="raise"
    )
    for (train, test), runs, score in zip(
        KFold(3).split(X), result["estimator"], result["test_score"], strict=True
    ):
        model = l1_svc().fit(X[train], y[train])
        assert score == model.score(X[test], y[test])
        assert_same_runs(runs, stable().fit(X[train], y[train]))


def test_one_inside_another(data):
    X, y = data
    inner = stable(
        cv=BootstrapSplit(3, random_state=5), support="consensus", threshold=0.9
    )
    outer = stable(inner).fit(X, y)
    expected = [
        clone(inner).fit(X[train], y[train]).get_support()
        for train, _ in CV.split(X, y)
    ]
    assert len(np.unique(expected, axis=0)) > 1
    np.testing.assert_array_equal(outer.supports_, expected)
    np.testing.assert_array_equal(
        outer.get_support(), clone(inner).fit(X, y).get_support()
    )


def test_one_inside_a_pipeline_inside_another(data):
    X, y = data
    inner = stable(
        cv=BootstrapSplit(3, random_state=5), support="consensus", threshold=0.9
    )
    pipe = make_pipeline(StandardScaler(), inner, l1_svc())
    outer = stable(pipe, support_from="selector").fit(X, y)
    expected = [
        clone(inner)
        .fit(StandardScaler().fit_transform(X[train]), y[train])
        .get_support()
        for train, _ in CV.split(X, y)
    ]
    np.testing.assert_array_equal(outer.supports_, expected)


CHANGED = {
    "cv": 3,
    "measure": "jaccard",
    "scoring": "accuracy",
    "support": "consensus",
    "threshold": 0.7,
    "importance_getter": "coef_",
    "scale_importances": False,
    "perturb": 0.1,
    "error_score": "raise",
    "warm_start": True,
    "return_estimators": True,
    "n_jobs": 2,
    "random_state": 3,
    "verbose": 1,
}


def test_clone_keeps_parameters_and_drops_results(data):
    X, y = data
    runs = StabilityCV(l1_svc(), **CHANGED)
    copied = clone(runs)
    shallow = copied.get_params(deep=False)
    assert {name: shallow[name] for name in CHANGED} == CHANGED
    assert copied.estimator is not runs.estimator
    assert copied.estimator.get_params() == runs.estimator.get_params()
    fitted = stable().fit(X, y)
    assert vars(clone(fitted)).keys() == vars(stable()).keys()


def test_parameters_of_parts():
    runs = stable(make_pipeline(StandardScaler(), l1_svc()))
    assert runs.get_params()["estimator__linearsvc__C"] == 0.2
    assert "estimator__linearsvc__C" not in runs.get_params(deep=False)
    assert runs.set_params(estimator__linearsvc__C=5.0, threshold=0.9) is runs
    assert runs.estimator["linearsvc"].C == 5.0
    assert runs.threshold == 0.9
    with pytest.raises(ValueError, match="Invalid parameter 'treshold'"):
        runs.set_params(treshold=1)


def test_fit_changes_neither_parameters_nor_the_estimator(data):
    X, y = data
    runs = stable(l1_svc(random_state=None))
    before, inner = {**vars(runs)}, {**vars(runs.estimator)}
    assert runs.fit(X, y) is runs
    assert {name: vars(runs)[name] for name in before} == before
    assert vars(runs.estimator) == inner
    assert runs.estimator_ is not runs.estimator


# -- how it shows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [l1_svc(), make_pipeline(StandardScaler(), l1_svc())],
    ids=["model", "pipeline"],
)
def test_html(estimator, data):
    runs = stable(estimator)
    before = runs._repr_html_()
    assert "<span>Not fitted</span>" in before
    after = estimator_html_repr(runs.fit(*data))
    assert "<span>Fitted</span>" in after
    for html in (before, after):
        assert "StabilityCV" in html
        assert f"estimator: {type(estimator).__name__}" in html
        assert "LinearSVC" in html


def test_repr():
    assert repr(StabilityCV(Lasso())) == "StabilityCV(estimator=Lasso())"
    shown = repr(StabilityCV(Lasso(), cv=BootstrapSplit(7), measure="dice"))
    assert "n_splits=7" in shown
    assert "measure='dice'" in shown


def test_repr_of_a_measure_with_parameters():
    shown = repr(StabilityCV(Lasso(), measure=get_measure("davis", penalty=0.25)))
    assert "davis" in shown
    assert "0.25" in shown
    assert " at 0x" not in shown  # the address of a function says nothing to a reader


@pytest.mark.parametrize(("verbose", "says"), [(0, False), (1, True)])
def test_verbose(verbose, says, data, capfd):
    stable(verbose=verbose).fit(*data)
    out, err = capfd.readouterr()
    assert (f"StabilityCV: {RUNS} of {RUNS} runs" in err) == says
    assert not out


# -- copies ------------------------------------------------------------------------------------------------------------


def mean_size(supports):
    """A measure of one's own, which any process can import."""
    return float(np.asarray(supports.sum(axis=1)).mean())


def by_joblib(fitted):
    file = BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    return joblib.load(file)


def by_skops(fitted):
    io = pytest.importorskip("skops.io")
    stored = io.dumps(fitted)
    return io.loads(stored, trusted=io.get_untrusted_types(data=stored))


COPIES = {
    "pickle": lambda fitted: pickle.loads(pickle.dumps(fitted)),  # noqa: S301
    "joblib": by_joblib,
    "deepcopy": copy.deepcopy,
    "skops": by_skops,
}
MEASURES = {
    "name": "nogueira",
    "measure": get_measure("davis", penalty=0.5),
    "function": mean_size,
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("which", MEASURES)
def test_copies_of_the_fitted_object(which, how, frame):
    X, y = frame
    fitted = stable(measure=MEASURES[which], scoring="accuracy").fit(X, y)
    copied = COPIES[how](fitted)
    assert_same_runs(copied, fitted)
    assert (
        copied.stability() == fitted.stability_
    )  # the measure itself came along, with its parameters
    assert copied.stability_interval_ == fitted.stability_interval_
    assert copied.interval() == fitted.interval()
    np.testing.assert_array_equal(
        copied.scores_["accuracy"], fitted.scores_["accuracy"]
    )
    np.testing.assert_array_equal(copied.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(copied.classes_, fitted.classes_)
    pd.testing.assert_frame_equal(copied.summary(), fitted.summary())
    assert_same_runs(clone(copied).fit(X, y), fitted)


@pytest.mark.parametrize("how", COPIES)
def test_copies_go_on_where_the_first_was(how, data):
    X, y = data
    first = stable(cv=BootstrapSplit(3, random_state=0), warm_start=True).fit(X, y)
    copied = (
        COPIES[how](first).set_params(cv=BootstrapSplit(5, random_state=0)).fit(X, y)
    )
    assert_same_runs(copied, stable(cv=BootstrapSplit(5, random_state=0)).fit(X, y))


@pytest.mark.parametrize("how", COPIES)
def test_copies_of_sparse_supports(how):
    X, y = make_regression(40, 300, n_informative=5, random_state=0)
    fitted = stable(Lasso(alpha=5.0)).fit(X, y)
    assert sparse.issparse(fitted.runs_.tables.supports)
    assert_same_runs(COPIES[how](fitted), fitted)


def test_what_skops_has_to_be_told_to_trust(data):
    io = pytest.importorskip("skops.io")
    fitted = stable().fit(*data)
    untrusted = set(io.get_untrusted_types(data=io.dumps(fitted)))
    expected = {"StabilityCV", "BootstrapSplit", "Runs", "StabilityInterval"}
    expected |= {"csr_array"}  # which rows trained each run
    assert {name.rpartition(".")[2] for name in untrusted} <= expected


def test_copies_before_fit(data):
    for make in COPIES.values():
        assert_same_runs(make(stable()).fit(*data), stable().fit(*data))


# -- callbacks ---------------------------------------------------------------------------------------------------------


class Recording:
    """Writes a line for each event to a file, whatever process it happens in; fails at one of them if told so."""

    def __init__(self, path, *, fail_at=None):
        self.path = str(path)
        self.fail_at = fail_at

    def write(self, event, estimator, context, X=None):
        line = {
            "event": event,
            "task": context.task_name,
            "estimator": type(estimator).__name__,
            "place": place_of(context),
            "max_subtasks": context.max_subtasks,
            "rows": None if X is None else len(X),
            "pid": os.getpid(),
        }
        with open(self.path, "a") as file:
            file.write(json.dumps(line) + "\n")
        if self.fail_at in (event, (event, context.task_name)):
            raise RuntimeError(f"the callback failed at {event}")

    def setup(self, estimator, context):
        self.write("setup", estimator, context)

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.write("begin", estimator, context, X)

    def on_fit_task_end(self, estimator, context, *, X=None):
        self.write("end", estimator, context, X)

    def teardown(self, estimator, context):
        self.write("teardown", estimator, context)

    def read(self):
        with open(self.path) as file:
            return [json.loads(line) for line in file]


class HandedOn(Recording):
    """The same for an estimator and, as deep as told, those inside."""

    def __init__(self, path, *, max_propagation_depth=None):
        super().__init__(path)
        self.max_propagation_depth = max_propagation_depth


def place_of(context):
    """Where a task is in the tree: the numbers of its ancestors and its own."""
    return [] if context is None else [*place_of(context.parent), context.task_id]


def times(record, **wanted):
    return sum(
        all(line[name] == value for name, value in wanted.items()) for line in record
    )


class NeedsRow(LinearSVC):
    """Can't be fitted without the row that starts with a certain value."""

    def __init__(self, *, value=0.0):
        super().__init__(penalty="l1", dual=False, C=0.2, random_state=0)
        self.value = value

    def fit(self, X, y):
        if not (X[:, 0] == self.value).any():
            raise ValueError("a row is missing")
        return super().fit(X, y)


@needs_callbacks
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_see_one_task_a_run(n_jobs, data, tmp_path):
    X, y = data
    callback = Recording(tmp_path / "record")
    runs = stable(cv=KFold(RUNS), n_jobs=n_jobs).set_callbacks(callback).fit(X, y)
    record = callback.read()
    order = [(line["event"], line["task"]) for line in record]
    assert order[:2] == [("setup", "fit"), ("begin", "fit")]
    assert order[-2:] == [("end", "fit"), ("teardown", "fit")]
    assert len(record) == 4 + 2 * RUNS
    assert record[0]["max_subtasks"] == RUNS
    assert record[1]["rows"] == N
    for number in range(RUNS):
        events = [line for line in record if line["place"] == [0, number]]
        assert [line["event"] for line in events] == ["begin", "end"]
        assert {line["task"] for line in events} == {"run"}
        assert {line["max_subtasks"] for line in events} == {0}
        assert {line["rows"] for line in events} == {N - N // RUNS}
    assert {line["estimator"] for line in record} == {"StabilityCV"}
    elsewhere = {line["pid"] for line in record if line["task"] == "run"} - {
        os.getpid()
    }
    assert bool(elsewhere) == (n_jobs == 2)
    assert_same_runs(runs, stable(cv=KFold(RUNS)).fit(X, y))


@needs_callbacks
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_bar(n_jobs, data, capsys):
    pytest.importorskip("rich")
    stable(n_jobs=n_jobs).set_callbacks(ProgressBar()).fit(*data)
    out = capsys.readouterr().out
    assert "StabilityCV - fit" in out
    assert "100%" in out


@needs_callbacks
def test_progress_bar_of_a_search(data, capsys):
    pytest.importorskip("rich")
    search = GridSearchCV(
        stable(), {"estimator__C": [0.1, 0.2]}, cv=2, error_score="raise"
    )
    search.set_callbacks(ProgressBar()).fit(*data)
    out = capsys.readouterr().out
    assert "GridSearchCV - fit" in out
    # rich cuts lines to the width of the terminal, hence no more of them here
    assert out.count("| StabilityCV - fit") == 5


@needs_callbacks
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_of_a_search_see_the_runs(n_jobs, data, tmp_path):
    callback = HandedOn(tmp_path / "record")
    runs = stable(n_jobs=n_jobs)
    search = GridSearchCV(runs, {"estimator__C": [0.1, 0.2]}, cv=2, error_score="raise")
    search.set_callbacks(callback).fit(*data)
    record = callback.read()
    fits = 2 * 2 + 1
    for event in ("begin", "end"):
        assert times(record, event=event, estimator="StabilityCV", task="fit") == fits
        assert (
            times(record, event=event, estimator="StabilityCV", task="run")
            == fits * RUNS
        )
    assert {
        line["max_subtasks"] for line in record if line["estimator"] == "StabilityCV"
    } == {0, RUNS}
    # Whoever set the callback sets it up and tears it down.
    assert [line["estimator"] for line in record if line["event"] == "setup"] == [
        "GridSearchCV"
    ]
    assert [line["estimator"] for line in record if line["event"] == "teardown"] == [
        "GridSearchCV"
    ]


@needs_callbacks
@pytest.mark.parametrize("depth", [0, 1, None])
def test_callbacks_are_handed_on_once(depth, data, tmp_path):
    callback = HandedOn(tmp_path / "record", max_propagation_depth=depth)
    inner = stable(cv=BootstrapSplit(3, random_state=5))
    outer = stable(inner).set_callbacks(callback).fit(*data)
    record = callback.read()
    tasks = 1 + RUNS + (0 if depth == 0 else 3 * RUNS)
    for event in ("begin", "end"):
        places = Counter(
            tuple(line["place"]) for line in record if line["event"] == event
        )
        assert set(places.values()) == {1}  # a run and the fit inside are one task
        assert len(places) == tasks
    assert times(record, event="setup") == times(record, event="teardown") == 1
    assert_same_runs(outer, stable(inner).fit(*data))
    assert not [name for name in vars(outer.estimator_) if "callback" in name]


@needs_callbacks
def test_runs_that_fail_end_too(data, tmp_path):
    X, y = data
    callback = Recording(tmp_path / "record")
    runs = stable(NeedsRow(value=X[0, 0]), cv=KFold(RUNS)).set_callbacks(callback)
    with pytest.warns(FitFailedWarning, match=f"1 of {RUNS} runs failed"):
        runs.fit(X, y)
    record = callback.read()
    assert (
        times(record, event="begin", task="run")
        == times(record, event="end", task="run")
        == RUNS
    )
    assert (
        times(record, event="end", task="fit") == times(record, event="teardown") == 1
    )


@needs_callbacks
def test_a_fit_that_fails_tears_down(data, tmp_path):
    X, y = data
    callback = Recording(tmp_path / "record")
    runs = stable(
        NeedsRow(value=X[0, 0]), cv=KFold(RUNS), error_score="raise"
    ).set_callbacks(callback)
    with pytest.raises(ValueError, match="a row is missing"):
        runs.fit(X, y)
    record = callback.read()
    assert record[-1]["event"] == "teardown"
    assert times(record, event="begin", task="run") == times(
        record, event="end", task="run"
    )
    assert [name for name in vars(runs) if "callback" in name] == ["_skl_callbacks"]


@needs_callbacks
@pytest.mark.parametrize(
    "fail_at", ["setup", ("begin", "fit"), ("end", "run"), ("end", "fit"), "teardown"]
)
def test_a_callback_that_fails_is_not_a_run_that_fails(fail_at, data, tmp_path):
    X, y = data
    callback = Recording(tmp_path / "record", fail_at=fail_at)
    runs = stable(error_score=np.nan).set_callbacks(callback)
    with pytest.raises(RuntimeError, match="the callback failed"):
        runs.fit(X, y)
    record = callback.read()
    assert times(record, event="teardown") == 1
    assert record[-1]["event"] == "teardown"
    assert_same_runs(runs.set_callbacks().fit(X, y), stable().fit(X, y))


@needs_callbacks
def test_callbacks_leave_nothing_behind(data, tmp_path):
    runs = stable().set_callbacks(Recording(tmp_path / "record")).fit(*data)
    assert vars(runs).keys() - vars(stable().fit(*data)).keys() == {"_skl_callbacks"}
    assert_same_runs(pickle.loads(pickle.dumps(runs)), runs)  # noqa: S301


class StaysHere:
    """Something that can't be sent to another process."""

    def __reduce__(self):
        raise TypeError("this must not leave the process")


def test_without_callbacks_the_object_itself_is_not_sent_to_workers(data):
    runs = stable(n_jobs=2)
    runs.note = StaysHere()
    assert_same_runs(runs.fit(*data), stable().fit(*data))


# -- what it can do ----------------------------------------------------------------------------------------------------

METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score",
)
CAPABILITIES = {
    "LinearSVC": (l1_svc(), {"predict", "decision_function", "score"}),
    "LogisticRegression": (
        LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0),
        set(METHODS),
    ),
    "Lasso": (Lasso(alpha=0.05), {"predict", "score"}),
    "SelectKBest": (SelectKBest(k=3), set()),
    "selector last": (make_pipeline(StandardScaler(), SelectKBest(k=3)), set()),
    "model last": (
        make_pipeline(SelectKBest(k=3), GaussianNB()),
        set(METHODS) - {"decision_function"},
    ),
}


@pytest.mark.parametrize("which", CAPABILITIES)
def test_methods_are_those_of_the_estimator(which, data):
    X, y = data
    estimator, expected = CAPABILITIES[which]
    runs = stable(estimator)
    assert {name for name in METHODS if hasattr(runs, name)} == expected
    for name in expected:
        with pytest.raises(NotFittedError, match="StabilityCV"):
            getattr(runs, name)(*((X, y) if name == "score" else (X,)))
    runs.fit(X, y)
    assert {name for name in METHODS if hasattr(runs, name)} == expected
    alone = clone(estimator).fit(X, y)
    for name in expected - {"score"}:
        np.testing.assert_array_equal(getattr(runs, name)(X), getattr(alone, name)(X))
    if "score" in expected:
        assert runs.score(X, y) == alone.score(X, y)
    for name in set(METHODS) - expected:
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(runs, name)


def test_methods_follow_the_parameters_of_the_estimator():
    runs = stable(SGDClassifier(loss="hinge", penalty="l1"))
    assert not hasattr(runs, "predict_proba")
    assert hasattr(runs.set_params(estimator__loss="log_loss"), "predict_proba")


NEED_A_FIT = (
    "transform",
    "get_support",
    "get_feature_names_out",
    "stability",
    "interval",
    "summary",
)


@pytest.mark.parametrize("name", NEED_A_FIT)
def test_not_fitted(name, data):
    X, y = data
    runs, arguments = stable(), (X,) if name == "transform" else ()
    with pytest.raises(NotFittedError, match="StabilityCV"):
        getattr(runs, name)(*arguments)
    with pytest.raises(NotFittedError):
        check_is_fitted(runs)
    getattr(runs.fit(X, y), name)(*arguments)
    check_is_fitted(runs)


def test_classes(data):
    X, y = data
    labels = np.array(["no", "yes"])[y]
    runs = stable()
    assert not hasattr(runs, "classes_")
    np.testing.assert_array_equal(runs.fit(X, labels).classes_, ["no", "yes"])
    assert set(runs.predict(X)) <= {"no", "yes"}
    assert not hasattr(stable(Lasso(alpha=0.05)).fit(X, y), "classes_")


def test_kind_of_estimator():
    kinds = {
        "classifier": [
            l1_svc(),
            make_pipeline(StandardScaler(), LogisticRegression()),
            stable(),
        ],
        "regressor": [Lasso(), make_pipeline(SelectKBest(), Ridge()), stable(Lasso())],
        None: [SelectKBest(), make_pipeline(StandardScaler(), VarianceThreshold())],
    }
    for kind, estimators in kinds.items():
        for estimator in estimators:
            runs = stable(estimator)
            assert is_classifier(runs) == (kind == "classifier")
            assert is_regressor(runs) == (kind == "regressor")
            assert get_tags(runs).transformer_tags is not None


def test_other_tags_are_those_of_the_estimator(data):
    X, _ = data
    assert get_tags(stable(Lasso())).target_tags.required
    assert not get_tags(stable(VarianceThreshold())).target_tags.required
    assert get_tags(stable(Lasso())).input_tags.sparse
    assert not get_tags(stable(GaussianNB())).input_tags.sparse
    assert not get_tags(stable(Lasso())).input_tags.allow_nan
    assert get_tags(stable(VarianceThreshold())).input_tags.allow_nan
    holes = np.where(np.arange(D) == np.arange(N)[:, None], np.nan, X)
    holes[:, 0] = 1.0
    assert_same_supports(stable(VarianceThreshold()).fit(holes), np.arange(D) > 0)


def assert_same_supports(runs, expected):
    np.testing.assert_array_equal(
        runs.supports_, np.broadcast_to(expected, runs.supports_.shape)
    )


def test_folds_are_stratified_for_a_classifier(numbered):
    X, _ = numbered
    y = np.arange(N) >= 2 * N // 3  # unstratified, whole folds would have one class
    runs = telltale(cv=4).fit(X, y)
    assert len(runs.estimators_) == 4
    for estimator in runs.estimators_:
        assert np.bincount(y[estimator.rows_]).tolist() == [30, 15]


def test_takes_whatever_scikit_learn_takes_for_cv(data):
    X, y = data
    for cv in (
        ShuffleSplit(3, random_state=0),
        3,
        list(KFold(3).split(X)),
        KFold(3).split(X),
    ):
        assert stable(cv=cv).fit(X, y).supports_.shape == (3, D)

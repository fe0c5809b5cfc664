"""`StabilityCV` against plain loops of clone and fit over the same splits."""

import re
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse
from scipy.stats import rankdata, t
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectFromModel,
    SelectKBest,
    SequentialFeatureSelector,
    f_regression,
)
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ShuffleSplit,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skstab.metrics import (
    get_measure,
    measure_table,
    stability_interval,
    stability_score,
)
from skstab.model_selection import BootstrapSplit, StabilityCV, WholeSampleSplit

N, D = 60, 12
UNITS = np.logspace(-1, 1, D)
FEW = BootstrapSplit(6, random_state=0)


def make_data(target="labels"):
    if target == "numbers":
        X, y = make_regression(N, D, n_informative=4, noise=20.0, random_state=0)
    else:
        n_classes = 3 if target == "classes" else 2
        X, y = make_classification(
            N, D, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0
        )
    return X * UNITS, y


def l1_logistic(C=0.3):
    return LogisticRegression(l1_ratio=1, C=C, solver="liblinear", random_state=0)


def dense(table):
    return table.toarray() if issparse(table) else table


class Counted:
    """Note each fit, whichever clone it is of."""

    fits: ClassVar[list[str]] = []

    def fit(self, *args, **params):
        Counted.fits.append(type(self).__name__)
        return super().fit(*args, **params)


class CountedLasso(Counted, Lasso):
    pass


class CountedRidge(Counted, Ridge):
    pass


class CountedKBest(Counted, SelectKBest):
    pass


class CountedSVC(Counted, LinearSVC):
    pass


class CountedNeighbors(Counted, KNeighborsClassifier):
    pass


@pytest.fixture
def fits():
    Counted.fits.clear()
    return Counted.fits


# -- the same as a loop ------------------------------------------------------------------------------------------------


def non_zero(model, X):
    return model.coef_.ravel() != 0, np.abs(model.coef_.ravel()) * X.std(axis=0)


def inside(support, values):
    importances = np.zeros(len(support))
    importances[support] = values
    return support, importances


def of_selector(selector, X):
    return selector.get_support(), None


def of_scores(selector, X):
    support = selector.get_support()
    return inside(support, selector.scores_[support])


def of_forest(selector, X):
    support = selector.get_support()
    return inside(support, selector.estimator_.feature_importances_[support])


def of_rfe(selector, X):
    support = selector.get_support()
    return inside(support, np.abs(selector.estimator_.coef_) * X.std(axis=0)[support])


def of_scaled_pipeline(pipeline, X):
    return inside(pipeline[1].get_support(), np.abs(pipeline[-1].coef_[0]))


def of_unscaled_pipeline(pipeline, X):
    support = pipeline[0].get_support()
    return inside(support, np.abs(pipeline[-1].coef_) * X.std(axis=0)[support])


def of_classes(model, X):
    norm = np.sqrt((model.coef_**2).sum(axis=0))
    return norm != 0, norm * X.std(axis=0)


class Case(NamedTuple):
    estimator: Any
    read: Any  # from a fitted model and the rows it was trained on, the support and the importances
    target: str = "labels"
    measure: str = "nogueira"


CASES = {
    "l1 logistic": Case(l1_logistic(), non_zero),
    "lasso": Case(Lasso(alpha=10.0), non_zero, "numbers"),
    "k best": Case(SelectKBest(k=4), of_scores),
    "forest": Case(
        SelectFromModel(RandomForestClassifier(8, random_state=0)), of_forest
    ),
    "rfe": Case(RFE(Ridge(), n_features_to_select=4), of_rfe, "numbers"),
    "rfecv": Case(RFECV(Ridge(), step=1, cv=2), of_rfe, "numbers"),
    "sequential": Case(
        SequentialFeatureSelector(Ridge(), n_features_to_select=2, cv=2),
        of_selector,
        "numbers",
    ),
    "pipeline": Case(
        make_pipeline(StandardScaler(), SelectKBest(k=5), LogisticRegression()),
        of_scaled_pipeline,
    ),
    "unscaled pipeline": Case(
        make_pipeline(SelectKBest(f_regression, k=5), Ridge()),
        of_unscaled_pipeline,
        "numbers",
        "importance_weighted",
    ),
    "ridge": Case(Ridge(), non_zero, "numbers", "pearson"),
    "classes": Case(
        LinearSVC(penalty="l1", dual=False, C=0.05, random_state=0),
        of_classes,
        "classes",
    ),
}


def nogueira(Z):
    M, share = len(Z), Z.mean()
    frequencies = Z.mean(axis=0)
    return 1 - (M / (M - 1) * frequencies * (1 - frequencies)).mean() / (
        share * (1 - share)
    )


def pearson(W):
    return np.corrcoef(W)[np.triu_indices(len(W), 1)].mean()


def importance_weighted(W):
    """Equation (6) of hamer2021, each run's importances scaled to sum to 1."""
    W = W / W.sum(axis=1, keepdims=True)
    pairs = [(i, j) for i in range(len(W)) for j in range(i)]
    shared = np.mean([np.minimum(W[i], W[j]).sum() for i, j in pairs])
    chance = np.mean(
        [np.minimum.outer(W[i], W[j]).sum() / W.shape[1] for i, j in pairs]
    )
    return (shared - chance) / (1 - chance)


def jackknife(value, table):
    M = len(table)
    without = np.array([value(np.delete(table, run, axis=0)) for run in range(M)])
    error = np.sqrt((M - 1) / M * ((without - without.mean()) ** 2).sum())
    return value(table) + np.array([-1, 1]) * t.ppf(0.975, M - 1) * error


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_like_a_plain_loop(case):
    X, y = make_data(case.target)
    supports, importances, scores = [], [], []
    for train, test in FEW.split(X, y):
        model = clone(case.estimator).fit(X[train], y[train])
        support, importance = case.read(model, X[train])
        supports.append(support)
        importances.append(importance)
        if hasattr(model, "score"):
            scores.append(model.score(X[test], y[test]))

    runs = StabilityCV(case.estimator, cv=FEW, measure=case.measure).fit(X, y)

    np.testing.assert_array_equal(dense(runs.supports_), supports)
    assert runs.supports_.dtype == bool
    if importances[0] is None:
        assert runs.importances_ is None
    else:
        np.testing.assert_allclose(dense(runs.importances_), importances, rtol=1e-9)
    assert {name: list(values) for name, values in runs.scores_.items()} == (
        {"score": scores} if scores else {}
    )
    np.testing.assert_array_equal(
        runs.selection_frequencies_, np.sum(supports, axis=0) / 6
    )
    value = {
        "nogueira": nogueira,
        "pearson": pearson,
        "importance_weighted": importance_weighted,
    }[case.measure]
    table = np.array(supports if case.measure == "nogueira" else importances)
    low, high = jackknife(value, table)
    found = runs.stability_interval_
    assert [runs.stability_, found.estimate] == pytest.approx(
        [value(table)] * 2, rel=1e-9
    )
    assert (found.low, found.high) == pytest.approx(
        (max(low, -1 / 5), min(high, 1)), rel=1e-8
    )
    np.testing.assert_array_equal(
        runs.get_support(), case.read(clone(case.estimator).fit(X, y), X)[0]
    )
    assert runs.n_failed_ == 0


@pytest.mark.parametrize("scale", [True, False])
def test_units_of_the_features(scale):
    X, y = make_data()
    runs = StabilityCV(l1_logistic(), cv=FEW, scale_importances=scale).fit(X, y)
    expected = []
    for train, _ in FEW.split(X, y):
        coef = np.abs(l1_logistic().fit(X[train], y[train]).coef_[0])
        expected.append(coef * X[train].std(axis=0) if scale else coef)
    np.testing.assert_allclose(dense(runs.importances_), expected, rtol=1e-9)


def test_importance_getter():
    X, y = make_data()
    runs = StabilityCV(
        l1_logistic(), cv=FEW, importance_getter=lambda model: np.arange(D) * model.C
    ).fit(X, y)
    np.testing.assert_allclose(
        dense(runs.importances_), dense(runs.supports_) * np.arange(D) * 0.3
    )


def test_fit_times():
    class Slow(SelectKBest):
        def fit(self, X, y):
            import time

            time.sleep(0.02)
            return super().fit(X, y)

    runs = StabilityCV(Slow(k=2), cv=FEW).fit(*make_data())
    assert runs.fit_times_.shape == (6,)
    assert np.all(runs.fit_times_ >= 0.02)
    assert np.all(runs.fit_times_ < 2)


def test_lists_frames_and_sparse_matrices_are_data_like_any_other():
    X, y = make_data()
    names = [f"gene {number}" for number in range(D)]
    expected = StabilityCV(l1_logistic(), cv=FEW).fit(X, y)
    for data in (X.tolist(), pd.DataFrame(X, columns=names), csr_array(X)):
        runs = StabilityCV(l1_logistic(), cv=FEW).fit(data, y.tolist())
        np.testing.assert_array_equal(dense(runs.supports_), dense(expected.supports_))
        np.testing.assert_allclose(
            dense(runs.importances_), dense(expected.importances_), rtol=1e-6
        )


def test_a_search_that_does_not_always_choose_a_penalty_that_selects():
    X, y = make_classification(60, 12, n_informative=3, n_redundant=0, random_state=1)
    search = GridSearchCV(
        LogisticRegression(solver="liblinear", C=0.3, random_state=0),
        {"l1_ratio": [0, 1]},
        cv=3,
    )
    runs = StabilityCV(search, cv=FEW, return_estimators=True).fit(X, y)
    assert {run.best_params_["l1_ratio"] for run in runs.estimators_} == {0, 1}
    np.testing.assert_array_equal(
        dense(runs.supports_),
        [run.best_estimator_.coef_[0] != 0 for run in runs.estimators_],
    )


# -- any measure, without fitting again --------------------------------------------------------------------------------


def test_every_measure_and_interval_without_fitting_again(fits):
    X, y = make_data()
    runs = StabilityCV(CountedKBest(k=4), cv=FEW).fit(X, y)
    assert len(fits) == 7
    selectors = [
        SelectKBest(k=4).fit(X[train], y[train]) for train, _ in FEW.split(X, y)
    ]
    importances = np.array([of_scores(selector, X)[1] for selector in selectors])
    tables = {
        "subset": np.array([selector.get_support() for selector in selectors]),
        "weights": importances,
        "ranking": rankdata(-importances, axis=1),
    }
    for name, kind in measure_table()["kind"].items():
        assert runs.stability(name) == pytest.approx(
            stability_score(tables[kind], measure=name), rel=1e-9
        ), name
        for method in ("jackknife", "asymptotic", "conformal"):
            try:
                expected = stability_interval(
                    tables[kind], measure=name, method=method, confidence_level=0.9
                )
            except ValueError as error:
                with pytest.raises(ValueError, match=re.escape(str(error))):
                    runs.interval(name, method=method, confidence_level=0.9)
                continue
            found = runs.interval(name, method=method, confidence_level=0.9)
            assert found.method == expected.method
            for field in (
                "estimate",
                "low",
                "high",
                "standard_error",
                "confidence_level",
            ):
                value, wanted = getattr(found, field), getattr(expected, field)
                assert value == pytest.approx(
                    wanted, rel=1e-8, abs=1e-12, nan_ok=True
                ), (name, method, field)
    assert len(fits) == 7


def test_seeded_interval_and_measures_with_parameters_or_of_ones_own():
    runs = StabilityCV(SelectKBest(k=4), cv=FEW, measure="jaccard").fit(*make_data())
    seeded = runs.interval("nogueira", method="bootstrap", random_state=3)
    assert seeded == stability_interval(
        runs.supports_, method="bootstrap", random_state=3
    )
    assert (
        runs.stability()
        == runs.stability_
        == stability_score(runs.supports_, measure="jaccard")
    )
    assert runs.interval() == runs.stability_interval_
    davis = get_measure("davis", penalty=0.5)
    assert runs.stability(davis) == davis(runs.supports_) != runs.stability("davis")
    assert runs.stability(lambda table: table.sum()) == 24
    assert StabilityCV(SelectKBest(k=4), cv=FEW, measure=davis).fit(
        *make_data()
    ).stability_ == davis(runs.supports_)


def test_measures_that_do_not_apply():
    X, y = make_data("numbers")
    with pytest.raises(
        ValueError,
        match=r"measure must be one of canberra, .* nogueira, .* zucknick; got 'nope'",
    ):
        StabilityCV(Lasso(), measure="nope").fit(X, y)
    runs = StabilityCV(Lasso(alpha=20.0), cv=FEW).fit(X, y)
    assert len(set(dense(runs.supports_).sum(axis=1))) > 1
    for ask in (runs.stability, runs.interval):
        with pytest.raises(ValueError, match="measure must be one of"):
            ask("nope")
        for name in ("kuncheva", "guzman", "lausser"):
            with pytest.raises(ValueError, match="nogueira"):
                ask(name)


def test_two_runs_have_a_stability_but_no_interval():
    X, y = make_data()
    runs = StabilityCV(SelectKBest(k=4), cv=BootstrapSplit(2, random_state=0)).fit(X, y)
    assert runs.stability_ == pytest.approx(nogueira(dense(runs.supports_)))
    assert np.isnan([runs.stability_interval_.low, runs.stability_interval_.high]).all()


def test_nothing_is_ever_selected():
    X, y = make_data("numbers")
    with pytest.warns(RuntimeWarning, match="each run chose no feature") as caught:
        runs = StabilityCV(Lasso(alpha=1e6), cv=FEW).fit(X, y)
    assert len(caught) == 1
    assert runs.stability_ == 1.0
    assert not dense(runs.supports_).any()
    assert runs.summary()["sign_consistency"].isna().all()


# -- A selector and a predictor ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "is_sparse"), [(SelectKBest(k=2), True), (SelectKBest(k=9), False)]
)
def test_consensus_takes_features_at_the_threshold(selector, is_sparse):
    X, y = make_classification(
        60, 12, n_informative=2, n_redundant=0, class_sep=0.7, random_state=1
    )
    cv = BootstrapSplit(10, random_state=0)
    runs = StabilityCV(selector, cv=cv, support="consensus").fit(X, y)
    assert issparse(runs.runs_.tables.supports) == is_sparse
    counts = np.sum(
        [selector.fit(X[train], y[train]).get_support() for train, _ in cv.split(X, y)],
        axis=0,
    )
    assert 10 in counts  # ten times 0.1, added up, is less than 1
    np.testing.assert_array_equal(runs.selection_frequencies_, counts / 10)
    np.testing.assert_array_equal(runs.summary()["frequency"], counts / 10)
    for least in range(1, 11):
        runs.set_params(threshold=least / 10)
        np.testing.assert_array_equal(
            runs.get_support(), counts >= least, err_msg=str(least)
        )
        np.testing.assert_array_equal(runs.summary()["selected"], counts >= least)


@pytest.mark.parametrize("support", ["refit", "consensus"])
def test_selector(support):
    X, y = make_data()
    frame = pd.DataFrame(X, columns=[f"gene {number}" for number in range(D)])
    runs = StabilityCV(SelectKBest(k=4), cv=FEW, support=support, threshold=0.3).fit(
        frame, y
    )
    mask = SelectKBest(k=4).fit(X, y).get_support()
    if support == "consensus":
        runs_by_hand = [
            SelectKBest(k=4).fit(X[train], y[train]).get_support()
            for train, _ in FEW.split(X, y)
        ]
        mask = np.sum(runs_by_hand, axis=0) >= 2
        assert not np.array_equal(mask, runs.estimator_.get_support())
    np.testing.assert_array_equal(runs.get_support(), mask)
    np.testing.assert_array_equal(runs.get_support(indices=True), np.flatnonzero(mask))
    np.testing.assert_array_equal(runs.transform(frame), X[:, mask])
    np.testing.assert_array_equal(runs.inverse_transform(X[:, mask]), X * mask)
    np.testing.assert_array_equal(runs.get_feature_names_out(), frame.columns[mask])
    assert runs.n_features_in_ == D
    np.testing.assert_array_equal(runs.feature_names_in_, frame.columns)


def test_predictions_are_those_of_the_estimator_refitted_on_all_rows():
    X, y = make_data()
    model = l1_logistic().fit(X, y)
    runs = StabilityCV(l1_logistic(), cv=FEW, support="consensus").fit(X, y)
    for method in (
        "predict",
        "predict_proba",
        "predict_log_proba",
        "decision_function",
    ):
        np.testing.assert_array_equal(
            getattr(runs, method)(X), getattr(model, method)(X)
        )
    assert runs.score(X, y) == model.score(X, y)
    np.testing.assert_array_equal(runs.classes_, [0, 1])
    assert not hasattr(StabilityCV(SelectKBest(), cv=FEW).fit(X, y), "predict")


@pytest.mark.parametrize(
    "method",
    ["stability", "interval", "summary", "get_support", "get_feature_names_out"],
)
def test_not_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(StabilityCV(l1_logistic()), method)()


# -- scoring -----------------------------------------------------------------------------------------------------------


def n_rows(_estimator, X, _y):
    return float(len(X))


def two_scores(estimator, X, y):
    return {"accuracy": estimator.score(X, y), "rows": len(X)}


@pytest.mark.parametrize(
    ("scoring", "names"),
    [
        (None, {"score": "accuracy"}),
        ("accuracy", {"accuracy": "accuracy"}),
        (n_rows, {"score": "rows"}),
        (["accuracy"], {"accuracy": "accuracy"}),
        (("accuracy",), {"accuracy": "accuracy"}),
        ({"share": "accuracy", "rows": n_rows}, {"share": "accuracy", "rows": "rows"}),
        (two_scores, {"accuracy": "accuracy", "rows": "rows"}),
    ],
    ids=["None", "name", "callable", "list", "tuple", "dict", "callable of several"],
)
def test_scoring(scoring, names):
    X, y = make_data()
    by_hand = {"accuracy": [], "rows": []}
    for train, test in FEW.split(X, y):
        predicted = l1_logistic().fit(X[train], y[train]).predict(X[test])
        by_hand["accuracy"].append((predicted == y[test]).mean())
        by_hand["rows"].append(len(test))
    runs = StabilityCV(l1_logistic(), cv=FEW, scoring=scoring).fit(X, y)
    assert list(runs.scores_) == list(names)
    for name, which in names.items():
        np.testing.assert_allclose(runs.scores_[name], by_hand[which], rtol=1e-12)


def test_no_score_method_no_scores():
    assert StabilityCV(SelectKBest(k=3), cv=FEW).fit(*make_data()).scores_ == {}


@pytest.mark.parametrize("scoring", ["neg_log_loss", ["accuracy", "neg_log_loss"]])
def test_scorer_that_the_estimator_can_not_serve_shows_before_the_runs(scoring, fits):
    estimator = CountedSVC(penalty="l1", dual=False)
    with pytest.raises(ValueError, match=r"scoring=.*neg_log_loss.*predict_proba"):
        StabilityCV(estimator, cv=FEW, scoring=scoring).fit(*make_data())
    assert len(fits) <= 1


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("estimator", None),
        ("estimator", "lasso"),
        ("estimator", Lasso),
        ("cv", "many"),
        ("measure", "nope"),
        ("measure", None),
        ("scoring", "nope"),
        ("scoring", 5),
        ("support", "all"),
        ("support", None),
        ("threshold", 0),
        ("threshold", 1.01),
        ("threshold", np.nan),
        ("threshold", True),
        ("threshold", "half"),
        ("importance_getter", None),
        ("importance_getter", "no_such_attribute_"),
        ("scale_importances", 1),
        ("perturb", 0),
        ("perturb", -0.1),
        ("perturb", np.inf),
        ("perturb", np.nan),
        ("perturb", True),
        ("perturb", "noise"),
        ("error_score", "ignore"),
        ("error_score", None),
        ("error_score", True),
        ("target_width", 0),
        ("target_width", "narrow"),
        ("warm_start", "yes"),
        ("return_estimators", None),
        ("n_jobs", 0),
        ("n_jobs", "two"),
        ("random_state", "seed"),
        ("random_state", -1),
        ("verbose", "loud"),
    ],
)
def test_bad_parameters_are_named_before_the_runs(name, value, fits):
    params = {"estimator": CountedLasso(), "cv": FEW, name: value}
    with pytest.raises((TypeError, ValueError), match=name):
        StabilityCV(**params).fit(*make_data("numbers"))
    assert len(fits) <= 1


@pytest.mark.parametrize(
    "cv", [WholeSampleSplit(), ShuffleSplit(1), [(np.arange(30), np.arange(30, N))], []]
)
def test_fewer_than_two_splits(cv):
    with pytest.raises(ValueError, match="cv must give at least 2 splits"):
        StabilityCV(l1_logistic(), cv=cv).fit(*make_data())


@pytest.mark.parametrize(
    "split",
    [([0, 1], [N]), ([True, False], [0]), ([0.5, 1.0], [0]), (["a"], [0])],
    ids=["no such row", "short mask", "floats", "strings"],
)
def test_splits_that_are_no_rows_of_the_data(split, fits):
    with pytest.raises(ValueError, match="cv must give indices of some of the 60 rows"):
        StabilityCV(CountedLasso(), cv=[*FEW.split(np.zeros(N)), split]).fit(
            *make_data()
        )
    assert len(fits) <= 1


@pytest.mark.parametrize("cv", [None, 3, FEW, WholeSampleSplit(3)], ids=str)
@pytest.mark.parametrize(
    "estimator",
    [l1_logistic(), Lasso(), SelectKBest(k=2)],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_one_row(estimator, cv):
    X, y = make_data()
    with pytest.raises(ValueError, match=r"n_samples ?= ?1\b|1 sample|(1|one) row"):
        StabilityCV(estimator, cv=cv).fit(X[:1], y[:1])


@pytest.mark.parametrize(
    "estimator",
    [
        l1_logistic(),
        RFE(LogisticRegression(), n_features_to_select=2),
        make_pipeline(
            SelectFromModel(RandomForestClassifier(3)), RandomForestClassifier(3)
        ),
    ],
    ids=lambda e: type(e).__name__,
)
def test_one_class(estimator):
    X, y = make_data()
    with pytest.raises(ValueError, match=r"(one|1|single) class\b|(two|2) classes"):
        StabilityCV(estimator, cv=FEW).fit(X, np.zeros_like(y))


def test_data_that_do_not_fit_together():
    X, y = make_data()
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        StabilityCV(l1_logistic(), cv=FEW).fit(X[:, :0], y)
    with pytest.raises(
        ValueError, match=r"inconsistent numbers of samples: \[60, 59\]"
    ):
        StabilityCV(l1_logistic(), cv=FEW).fit(X, y[:-1])
    with pytest.raises(ValueError, match="groups"):
        StabilityCV(l1_logistic(), cv=FEW).fit(X, y, groups=y[:-1])
    with pytest.raises(ValueError, match="sample_weight"):
        StabilityCV(l1_logistic(), cv=FEW).fit(X, y, sample_weight=np.ones(N - 1))
    with pytest.raises(ValueError, match="2D array"):
        StabilityCV(l1_logistic(), cv=FEW).fit(X[:, 0], y)


@pytest.mark.parametrize(
    "kind", [np.asarray, pd.DataFrame, csr_array], ids=["array", "frame", "sparse"]
)
def test_no_features(kind, fits):
    with pytest.raises(
        ValueError, match=r"X must have features .* 0 feature\(s\) \(shape=\(60, 0\)\)"
    ):
        StabilityCV(CountedLasso()).fit(kind(np.empty((N, 0))), np.arange(N))
    assert not fits


def test_text_is_no_table():
    words = make_pipeline(CountVectorizer(), SelectKBest(k=1))
    with pytest.raises(ValueError, match=r"X must be a 2D array .* \(4,\)"):
        StabilityCV(words, cv=2).fit(["a b", "b c", "c d", "a d"], [0, 1, 0, 1])


@pytest.mark.parametrize("measure", ["nogueira", "pearson"])
def test_neither_weights_nor_support(measure, fits):
    with pytest.raises(
        ValueError, match=r"CountedNeighbors .* keeps every feature: wrap it in"
    ):
        StabilityCV(CountedNeighbors(), cv=FEW, measure=measure).fit(*make_data())
    assert len(fits) <= 1


def test_step_that_can_not_be_mapped(fits):
    estimator = make_pipeline(StandardScaler(), PCA(3), CountedLasso())
    with pytest.raises(ValueError, match=r"step 'pca' \(PCA\)"):
        StabilityCV(estimator, cv=FEW).fit(*make_data("numbers"))
    assert len(fits) <= 1


@pytest.mark.parametrize("measure", ["nogueira", "kuncheva", "effective"])
@pytest.mark.parametrize(
    "wrap",
    [lambda e: e, lambda e: make_pipeline(StandardScaler(), e)],
    ids=["model", "pipeline"],
)
def test_dense_model_and_a_subset_measure(wrap, measure, fits):
    X, y = make_data("numbers")
    message = rf"measure '{measure}' .* SelectFromModel\(CountedRidge\(...\)\) or RFE\(CountedRidge\(...\)\)"
    with pytest.raises(ValueError, match=message):
        StabilityCV(wrap(CountedRidge()), cv=FEW, measure=measure).fit(X, y)
    assert len(fits) == 1
    runs = StabilityCV(wrap(CountedRidge()), cv=FEW, measure="spearman").fit(X, y)
    with pytest.raises(ValueError, match=message):
        runs.stability(measure)


def test_a_model_that_drops_nothing_keeps_the_features_it_weighs():
    X, y = make_data("numbers")
    X[:, 2] = 1.0
    runs = StabilityCV(Ridge(), cv=FEW, measure="pearson").fit(X, y)
    np.testing.assert_array_equal(runs.get_support(), np.arange(D) != 2)


def test_forest_and_a_subset_measure():
    X, y = make_data()
    with pytest.raises(
        ValueError, match=r"SelectFromModel\(RandomForestClassifier\(...\)\)"
    ):
        StabilityCV(RandomForestClassifier(3), cv=FEW).fit(X, y)
    runs = StabilityCV(
        RandomForestClassifier(3, max_depth=1),
        cv=FEW,
        measure="pearson",
        random_state=0,
    ).fit(X, y)
    np.testing.assert_array_equal(dense(runs.supports_), dense(runs.importances_) > 0)


def test_selector_without_weights_and_a_measure_of_weights(fits):
    estimator = SequentialFeatureSelector(CountedRidge(), n_features_to_select=1, cv=2)
    X, y = make_data("numbers")
    with pytest.raises(
        ValueError,
        match=r"measure 'pearson' .* SequentialFeatureSelector has none.*importance_getter",
    ):
        StabilityCV(estimator, cv=FEW, measure="pearson").fit(X, y)
    assert len(fits) <= 2 * D + 1  # one fit of the selector


# -- folds that share nearly all rows ----------------------------------------------------------------------------------


def test_many_folds_are_warned_about_once():
    X, y = make_data()
    with pytest.warns(
        UserWarning, match=r"cv=30 folds share 9\d% of their rows.*use cv=None"
    ) as caught:
        StabilityCV(SelectKBest(k=3), cv=30).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("cv", [5, 10, None, KFold(30)], ids=str)
def test_other_resamples_are_not(cv):
    X, y = make_data()
    StabilityCV(SelectKBest(k=3), cv=cv, random_state=0).fit(X, y)


# -- pictures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["frequencies", "map", "raster"])
def test_plot(kind):
    X, y = make_data()
    fitted = StabilityCV(SelectKBest(k=3), cv=FEW).fit(X, y)
    display = fitted.plot(kind)
    assert display.frame() is not None
    assert display.figure_ is not None


@pytest.mark.parametrize("kind", ["pie", "map: pie"])
def test_an_unknown_picture_names_those_there_are(kind):
    X, y = make_data()
    fitted = StabilityCV(SelectKBest(k=3), cv=FEW).fit(X, y)
    with pytest.raises(
        ValueError,
        match=f"kind must be one of 'frequencies', 'map', 'ranks', 'raster'; got '{kind}'",
    ):
        fitted.plot(kind)


# -- as a splitter -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [None, 3, BootstrapSplit(4, random_state=1)])
def test_splits_are_those_of_the_fit(cv):
    X, y = make_classification(60, 8, n_informative=3, n_redundant=0, random_state=0)
    runs = StabilityCV(l1_logistic(), cv=cv, random_state=5)
    splits = list(runs.split(X, y))
    assert runs.get_n_splits(X, y) == len(splits)
    drawn = [np.bincount(train, minlength=len(X)) for train, _ in splits]
    np.testing.assert_array_equal(runs.fit(X, y).runs_.row_counts.toarray(), drawn)
    left_out = [np.setdiff1d(np.arange(len(X)), train) for train, _ in splits]
    for (_, test), rows in zip(splits, left_out, strict=True):
        np.testing.assert_array_equal(np.sort(test), rows)


def test_is_the_cv_of_any_search():
    X, y = make_classification(60, 8, n_informative=3, n_redundant=0, random_state=0)
    groups = np.arange(60) // 3
    model = l1_logistic()
    runs = StabilityCV(model, cv=BootstrapSplit(4, random_state=1))
    by_runs, by_splitter = (
        cross_validate(model, X, y, groups=groups, cv=cv)["test_score"]
        for cv in (runs, runs.cv)
    )
    np.testing.assert_array_equal(by_runs, by_splitter)
    assert (by_runs != cross_validate(model, X, y, cv=runs)["test_score"]).any()
    with config_context(enable_metadata_routing=True):
        routed = cross_validate(model, X, y, params={"groups": groups}, cv=runs)
    np.testing.assert_array_equal(routed["test_score"], by_runs)


def test_noise_is_not_a_splitter():
    runs = StabilityCV(Lasso(), perturb=0.1)
    with pytest.raises(ValueError, match=r"perturb must be None.* got 0\.1"):
        list(runs.split(np.ones((9, 2)), np.arange(9)))

"""Paths against cold fits of the same estimators, and where they stop."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skstab._linear_paths import screening
from skstab._linear_paths.active_set import HINGE, LOGISTIC, SQUARED, Rows, evaluate
from skstab._linear_paths.linear_models import (
    linear_models,
    parameter_of_path,
    problems_of,
)
from skstab._linear_paths.screening import screened_path, strongest_penalty
from skstab.feature_selection._paths import PARAMETERS, path_of, strongest_value
from skstab.feature_selection._walk import Step, walk

EXACT = {"tol": 1e-9, "max_iter": 100_000}
MODELS = {
    "lasso": Lasso(**EXACT),
    "lasso without intercept": Lasso(fit_intercept=False, **EXACT),
    "elastic net": ElasticNet(l1_ratio=0.6, **EXACT),
    "liblinear": LogisticRegression(
        l1_ratio=1, solver="liblinear", intercept_scaling=2.0, random_state=0, **EXACT
    ),
    "balanced": LogisticRegression(
        l1_ratio=1, solver="liblinear", class_weight="balanced", random_state=0, **EXACT
    ),
    "without intercept": LogisticRegression(
        l1_ratio=1, solver="liblinear", fit_intercept=False, random_state=0, **EXACT
    ),
    "svm": LinearSVC(penalty="l1", random_state=0, tol=1e-8, max_iter=100_000),
}
SHAPES = [(60, 15), (30, 100)]


def data_for(estimator, shape, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(shape) * np.geomspace(0.3, 3, shape[1]) + 0.5
    y = X[:, ::5].sum(axis=1) + rng.standard_normal(len(X))
    if PARAMETERS[type(estimator)] == "C":
        y = np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1] + 0.1))
    return X, y


def values_for(estimator, X, y, weakest=0.05, n_values=6, **params):
    ratio = weakest if PARAMETERS[type(estimator)] == "alpha" else 1 / weakest
    return strongest_value(estimator, X, y, params) * np.geomspace(1, ratio, n_values)


def cold_coefs(estimator, values, X, y, **params):
    name = PARAMETERS[type(estimator)]
    # liblinear says that it did not converge where it gets no closer than rounding errors allow.
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        fits = [
            clone(estimator).set_params(**{name: value}).fit(X, y, **params)
            for value in values
        ]
    return np.array([np.atleast_2d(fit.coef_) for fit in fits])


def our_coefs(estimator, values, X, y, sample_weight=None):
    problems = problems_of(estimator, X, y, sample_weight)
    penalties = (
        values * len(y) if PARAMETERS[type(estimator)] == "alpha" else 1 / values
    )
    paths = zip(*(screened_path(p, penalties) for p in problems), strict=True)
    return np.array(
        [[one.coef[: X.shape[1]] for one in solutions] for solutions in paths]
    )


# -- the kernels -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MODELS)
def test_a_path_has_the_coefficients_of_cold_fits(name, shape):
    X, y = data_for(MODELS[name], shape)
    values = values_for(MODELS[name], X, y)
    expected = cold_coefs(MODELS[name], values, X, y)
    np.testing.assert_allclose(
        our_coefs(MODELS[name], values, X, y),
        expected,
        atol=1e-4 * np.abs(expected).max(),
    )


@pytest.mark.parametrize("name", ["lasso", "elastic net", "liblinear", "svm"])
def test_sparse_rows_and_sample_weights_make_no_difference(name):
    X, y = data_for(MODELS[name], (60, 15))
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.5, X, 0)
    weight = np.random.default_rng(2).random(60) * 3
    weight[:3] = 0
    values = values_for(MODELS[name], X, y, sample_weight=weight)
    expected = cold_coefs(MODELS[name], values, X, y, sample_weight=weight)
    for rows in (X, sparse.csr_array(X), sparse.csc_array(X)):
        found = our_coefs(MODELS[name], values, rows, y, weight)
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_the_intercept_of_saga_is_free():
    saga = LogisticRegression(
        l1_ratio=0.8, solver="saga", tol=1e-6, max_iter=20_000, random_state=0
    )
    X, y = data_for(saga, (80, 10))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    values = values_for(saga, X, y, weakest=0.2)
    np.testing.assert_allclose(
        our_coefs(saga, values, X, y), cold_coefs(saga, values, X, y), atol=1e-3
    )


@pytest.mark.parametrize("name", ["svm", "lasso"])
def test_several_classes_or_outputs_are_solved_one_by_one(name):
    X, y = data_for(MODELS[name], (60, 15), n_classes=3)
    y = np.column_stack([y, y[::-1]]) if name == "lasso" else y
    values = values_for(MODELS[name], X, y)
    expected = cold_coefs(MODELS[name], values, X, y)
    np.testing.assert_allclose(
        our_coefs(MODELS[name], values, X, y),
        expected,
        atol=1e-4 * np.abs(expected).max(),
    )


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            Lasso(max_iter=1, tol=1e-9),
            "the path of Lasso did not converge at alpha=0.01",
        ),
        (
            MODELS["liblinear"],
            "the path of LogisticRegression did not converge at C=0.3",
        ),
        (MODELS["svm"], "the path of LinearSVC did not converge at C=0.3"),
    ],
)
def test_a_path_that_does_not_converge_names_the_model_and_the_value(
    monkeypatch, estimator, message
):
    X, y = data_for(estimator, (30, 100))
    monkeypatch.setattr(screening, "_MOST_STEPS", 1)
    values = [1e9, 0.01] if PARAMETERS[type(estimator)] == "alpha" else [1e-9, 0.3]
    with pytest.warns(ConvergenceWarning) as caught:
        linear_models(estimator, X, y, values)
    assert [str(one.message) for one in caught] == [message]


def test_a_column_far_from_zero_does_not_hold_up_the_path():
    # What rounding leaves of its gradient pulls for ever, though the solver sees nothing to do.
    rng = np.random.default_rng(14)
    X = rng.standard_normal((30, 6))
    y = X[:, 0] + 0.1 * rng.standard_normal(30)
    X[:, 2] += 1e15
    with pytest.warns(ConvergenceWarning, match="the path of Lasso did not converge"):
        models = linear_models(Lasso(max_iter=20), X, y, np.logspace(0, -2, 26))
    assert models.coefs[:, 0, 0].max() > 0.9


def watch_columns(monkeypatch):
    """How many columns each call of the solver has."""
    solved = []
    minimise = screening.fastest_minimise()
    monkeypatch.setattr(
        screening,
        "fastest_minimise",
        lambda: lambda *args: solved.append(len(args[2].w)) or minimise(*args),
    )
    return solved


def test_columns_that_the_strong_rule_missed_are_found(monkeypatch):
    lasso = MODELS["lasso"]
    X, y = data_for(lasso, (30, 100))
    values = values_for(lasso, X, y, n_values=3, weakest=0.01)
    solved = watch_columns(monkeypatch)
    found = our_coefs(lasso, values, X, y)
    # Two steps of a tenth each let columns in that the rule had left out, so a value was solved again.
    assert len(solved) > 1 + 2
    np.testing.assert_allclose(found, cold_coefs(lasso, values, X, y), atol=1e-4)


def test_a_value_is_solved_on_few_columns(monkeypatch):
    lasso = Lasso()
    X, y = data_for(lasso, (40, 400))
    solved = watch_columns(monkeypatch)
    our_coefs(lasso, values_for(lasso, X, y, n_values=25, weakest=0.1), X, y)
    assert max(solved) < 100


@pytest.mark.parametrize("loss", [SQUARED, LOGISTIC, HINGE])
def test_slopes_and_curvatures_are_the_derivatives_of_the_loss(loss):
    rng = np.random.default_rng(0)
    rows = Rows(loss, np.array([1.0, -1, 1, -1]), rng.random(4) + 0.5)
    f, step = np.array([0.3, -0.4, -0.2, 0.5]), 1e-4
    _, slope, curvature = evaluate(rows, f)
    for row, e in enumerate(np.eye(4) * step):
        ahead, behind = evaluate(rows, f + e), evaluate(rows, f - e)
        assert slope[row] == pytest.approx(
            (ahead[0] - behind[0]) / (2 * step), rel=1e-6
        )
        assert curvature[row] == pytest.approx(
            (ahead[1][row] - behind[1][row]) / (2 * step), rel=1e-6
        )


# -- where a path begins -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["lasso", "lasso without intercept", "elastic net", "without intercept"]
)
def test_a_little_less_than_the_strongest_value_selects_something(name):
    X, y = data_for(MODELS[name], (30, 100))
    strongest = values_for(MODELS[name], X, y)[0]
    weaker = 0.98 if PARAMETERS[type(MODELS[name])] == "alpha" else 1.02
    stronger = 2 - weaker
    coefs = cold_coefs(MODELS[name], [strongest * stronger, strongest * weaker], X, y)
    assert not coefs[0].any()
    assert coefs[1].any()


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize("name", MODELS)
def test_no_tolerance_keeps_the_first_feature_out(name, tol):
    model = clone(MODELS[name]).set_params(tol=tol)
    X, y = data_for(model, (30, 100))
    [problem] = problems_of(model, X, y)
    if problem.constant:
        # The penalised intercept may come first: then the features begin where it has settled.
        problem = replace(problem, X=np.asfortranarray(problem.X[:, :-1]), constant=0.0)
    strongest = strongest_penalty(problem)
    counts = [
        np.count_nonzero(next(screened_path(problem, [strongest * share])).coef)
        for share in (1 + 1e-7, 1, 1 - 1e-7, 1 - 1e-5)
    ]
    assert counts == [0, 0, 1, 1]


def test_the_first_feature_of_bootstraps_is_that_of_liblinear():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0, tol=1e-8)
    for seed in range(5):
        rows = np.random.default_rng(seed).integers(0, len(y), len(y))
        strongest = strongest_value(model, X[rows], y[rows], {})
        values = strongest * (1 + np.geomspace(1e-6, 1e-2, 5))
        selected = [
            list(step.selected)
            for step in path_of(model, "C", values, X[rows], y[rows], {})
        ]
        assert selected == [
            list(np.flatnonzero(coef[0]))
            for coef in cold_coefs(model, values, X[rows], y[rows])
        ]
        assert all(selected)


@pytest.mark.parametrize("name", MODELS)
def test_the_strongest_value_of_data_that_tell_nothing_is_one(name):
    X, y = np.full((10, 3), 0.1), np.arange(10) % 2
    if MODELS[name].fit_intercept and PARAMETERS[type(MODELS[name])] == "alpha":
        assert strongest_value(MODELS[name], X, y, {}) in (1.0, 0.1)
    assert np.isfinite(strongest_value(MODELS[name], 0 * X, y, {}))


def test_balanced_classes_with_sample_weights_are_left_to_the_estimator():
    X, y = data_for(MODELS["balanced"], (20, 5))
    assert problems_of(MODELS["balanced"], X, y, np.ones(20)) == []
    assert len(problems_of(MODELS["balanced"], X, y)) == 1


def test_models_that_are_not_sparse_have_no_strongest_value():
    X, y = data_for(Lasso(), (20, 5))
    assert strongest_value(ElasticNet(l1_ratio=0), X, y, {}) is None
    assert strongest_value(Lasso(positive=True), X, y, {}) is None
    assert strongest_value(LogisticRegression(), X, y > 0, {}) is None
    assert strongest_value(LinearSVC(), X, y > 0, {}) is None


# -- paths of any estimator --------------------------------------------------------------------------------------------


def test_a_positive_lasso_is_fitted_for_each_value():
    X, y = data_for(Lasso(), (40, 10))
    values = np.geomspace(1, 0.01, 4)
    steps = list(path_of(Lasso(positive=True, **EXACT), "alpha", values, X, y, {}))
    for step, value in zip(steps, values, strict=True):
        expected = Lasso(positive=True, alpha=value, **EXACT).fit(X, y).coef_
        np.testing.assert_array_equal(step.selected, np.flatnonzero(expected))


def test_a_pipeline_is_followed_by_its_last_step_in_the_columns_of_the_input():
    X, y = data_for(Lasso(), (60, 20))
    pipe = make_pipeline(
        StandardScaler(), SelectKBest(lambda X, y: np.abs(X.T @ y), k=8), Lasso(**EXACT)
    )
    values = np.geomspace(1, 0.05, 4)
    for step, value in zip(
        path_of(pipe, "lasso__alpha", values, X, y, {}), values, strict=True
    ):
        fitted = clone(pipe).set_params(lasso__alpha=value).fit(X, y)
        kept = np.flatnonzero(fitted[1].get_support())
        np.testing.assert_array_equal(step.selected, kept[fitted[2].coef_ != 0])


def test_importances_are_coefficients_of_features_of_unit_variance():
    X, y = data_for(Lasso(), (60, 8))
    step = next(path_of(Lasso(**EXACT), "alpha", [0.05], X, y, {}))
    coef = Lasso(alpha=0.05, **EXACT).fit(X, y).coef_
    np.testing.assert_allclose(
        step.importances, (np.abs(coef) * X.std(axis=0))[step.selected], rtol=1e-4
    )


# -- where a path stops ------------------------------------------------------------------------------------------------


def steps(*supports, importances=True):
    for support in supports:
        yield Step(
            np.array(support, dtype=np.intp),
            np.linspace(1, 2, len(support)) if importances else None,
        )


def test_a_path_without_a_limit_is_followed_to_its_end():
    found = walk(steps([], [3], [3, 5], [5]), None, 10)
    assert [list(support) for support in found.supports] == [[], [3], [3, 5], [5]]
    assert list(found.seen) == [3, 5]


def test_a_path_ends_when_q_features_have_been_in():
    path = steps([1], [1, 2], [0, 1, 2])
    found = walk(path, 2, 10)
    assert [list(support) for support in found.supports] == [[1], [1, 2]]
    assert next(path) is not None  # was not asked for


def test_of_features_that_enter_together_the_most_important_are_first():
    # 7 and 9 are the last ones of their step, so they weigh most; 1 stays although it weighs least.
    found = walk(steps([1], [1, 4, 7, 9], [0]), 3, 10)
    assert [list(support) for support in found.supports] == [[1], [1, 7, 9]]


def test_a_feature_that_left_still_counts():
    found = walk(steps([1], [2], [3, 4]), 3, 10)
    assert [list(support) for support in found.supports] == [[1], [2], [4]]
    assert list(found.seen) == [1, 2, 4]


def test_without_importances_none_of_too_many_features_enters():
    assert [
        list(support)
        for support in walk(steps([1], [1, 4], importances=False), 2, 10).supports
    ] == [[1], [1, 4]]
    found = walk(steps([1], [1, 4, 7], importances=False), 2, 10)
    assert [list(support) for support in found.supports] == [[1], [1]]
    assert [
        list(support)
        for support in walk(steps([4, 7], importances=False), 1, 10).supports
    ] == [[]]


def test_fits_that_do_not_converge_are_counted_once_a_value():
    X, y = data_for(Lasso(), (40, 60))
    values = values_for(Lasso(), X, y, weakest=1e-4)
    found = walk(
        path_of(Lasso(max_iter=2, tol=1e-12), "alpha", values, X, y, {}),
        None,
        X.shape[1],
    )
    assert 1 <= found.n_unconverged < len(values)
    assert (
        walk(
            path_of(Lasso(), "alpha", values[:2], X, y, {}), None, X.shape[1]
        ).n_unconverged
        == 0
    )


def test_newton_steps_that_do_not_converge_are_counted(monkeypatch):
    monkeypatch.setattr(screening, "_MOST_STEPS", 1)
    model = MODELS["liblinear"]
    X, y = data_for(model, (40, 10))
    values = values_for(model, X, y, n_values=3)
    assert (
        walk(path_of(model, "C", values, X, y, {}), None, X.shape[1]).n_unconverged == 2
    )


# -- models along a path -----------------------------------------------------------------------------------------------


def cold_models(estimator, values, X, y, **params):
    name = parameter_of_path(estimator)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        fits = [
            clone(estimator).set_params(**{name: value}).fit(X, y, **params)
            for value in values
        ]
    models = [
        getattr(fit, "estimator_", fit)
        for fit in (f[-1] if isinstance(f, Pipeline) else f for f in fits)
    ]
    return np.array([np.atleast_2d(m.coef_) for m in models]), np.array(
        [np.atleast_1d(m.intercept_) for m in models]
    )


def assert_same_models(estimator, values, X, y, **params):
    expected, expected_intercepts = cold_models(estimator, values, X, y, **params)
    coefs, intercepts, *_ = linear_models(estimator, X, y, values, **params)
    np.testing.assert_allclose(coefs, expected, atol=1e-4 * np.abs(expected).max())
    scale = np.abs(expected_intercepts).max() + np.abs(expected).max()
    np.testing.assert_allclose(
        intercepts, expected_intercepts + np.zeros_like(intercepts), atol=1e-4 * scale
    )


@pytest.mark.parametrize("name", MODELS)
def test_models_are_those_of_cold_fits_in_the_order_of_the_values(name):
    X, y = data_for(MODELS[name], (60, 15))
    values = values_for(MODELS[name], X, y)[[3, 0, 5, 1, 5]]
    assert_same_models(MODELS[name], values, X, y)
    bootstrap = np.random.default_rng(0).integers(0, 60, 60)
    assert_same_models(MODELS[name], values, X[bootstrap], y[bootstrap])


@pytest.mark.parametrize("name", ["lasso", "liblinear"])
def test_models_have_the_sample_weights(name):
    X, y = data_for(MODELS[name], (60, 15))
    weight = np.random.default_rng(2).integers(0, 4, 60)
    assert_same_models(
        MODELS[name], values_for(MODELS[name], X, y)[1:4], X, y, sample_weight=weight
    )


@pytest.mark.parametrize("name", ["svm", "lasso"])
def test_models_of_several_classes_or_outputs(name):
    X, y = data_for(MODELS[name], (60, 15), n_classes=3)
    y = np.column_stack([y, y[::-1]]) if name == "lasso" else y
    assert_same_models(MODELS[name], values_for(MODELS[name], X, y)[1:4], X, y)


def test_models_last_in_a_pipeline_or_inside_a_selector():
    X, y = data_for(Lasso(), (60, 15))
    values = np.geomspace(1, 0.05, 4)
    for estimator, name in [
        (make_pipeline(StandardScaler(), Lasso(**EXACT)), "lasso__alpha"),
        (SelectFromModel(Lasso(**EXACT)), "estimator__alpha"),
        (
            make_pipeline(StandardScaler(), SelectFromModel(Lasso(**EXACT))),
            "selectfrommodel__estimator__alpha",
        ),
    ]:
        assert parameter_of_path(estimator) == name
        assert_same_models(estimator, values, X, y)


@pytest.mark.parametrize(
    "estimator",
    [
        Lasso(positive=True),
        ElasticNet(l1_ratio=0),
        LogisticRegression(),
        SelectFromModel(Lasso(), prefit=True),
        make_pipeline(StandardScaler(), SelectKBest()),
        SelectKBest(),
    ],
)
def test_where_no_path_is_known_there_are_no_models(estimator):
    X, y = data_for(LogisticRegression(), (40, 6))
    assert linear_models(estimator, X, y, [0.1, 1.0]) is None


def test_models_without_penalty_or_of_a_multinomial_loss_have_no_path():
    saga = LogisticRegression(l1_ratio=1, solver="saga")
    X, y = data_for(saga, (40, 6), n_classes=3)
    assert linear_models(saga, X, y, [0.1, 1.0]) is None
    assert linear_models(saga, X, y > 0, [0.1, np.inf]) is None
    assert linear_models(saga, X, y > 0, [0.1, 1.0]) is not None
    assert (
        linear_models(
            make_pipeline(StandardScaler(), saga),
            X,
            y > 0,
            [1.0],
            sample_weight=np.ones(40),
        )
        is None
    )

"""Paths against cold fits of the same estimators, and where they stop."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skstab.feature_selection import _paths
from skstab.feature_selection._paths import (
    PARAMETERS,
    LogisticLoss,
    SquaredHingeLoss,
    SquaredLoss,
    path_of,
    problems_of,
    screened_path,
    strongest_value,
)
from skstab.feature_selection._walk import Step, walk

EXACT = {"tol": 1e-9, "max_iter": 100_000}
MODELS = {
    "lasso": Lasso(**EXACT),
    "lasso without intercept": Lasso(fit_intercept=False, **EXACT),
    "elastic net": ElasticNet(l1_ratio=0.6, **EXACT),
    "liblinear": LogisticRegression(l1_ratio=1, solver="liblinear", intercept_scaling=2.0, random_state=0, **EXACT),
    "balanced": LogisticRegression(l1_ratio=1, solver="liblinear", class_weight="balanced", random_state=0, **EXACT),
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
        fits = [clone(estimator).set_params(**{name: value}).fit(X, y, **params) for value in values]
    return np.array([np.atleast_2d(fit.coef_) for fit in fits])


def our_coefs(estimator, values, X, y, sample_weight=None):
    problems = problems_of(estimator, X, y, sample_weight)
    penalties = values * len(y) if PARAMETERS[type(estimator)] == "alpha" else 1 / values
    return np.array(list(zip(*(screened_path(p, penalties) for p in problems), strict=True)))[..., : X.shape[1]]


# -- the kernels -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MODELS)
def test_a_path_has_the_coefficients_of_cold_fits(name, shape):
    X, y = data_for(MODELS[name], shape)
    values = values_for(MODELS[name], X, y)
    expected = cold_coefs(MODELS[name], values, X, y)
    np.testing.assert_allclose(our_coefs(MODELS[name], values, X, y), expected, atol=1e-4 * np.abs(expected).max())


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
    saga = LogisticRegression(l1_ratio=0.8, solver="saga", tol=1e-6, max_iter=20_000, random_state=0)
    X, y = data_for(saga, (80, 10))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    values = values_for(saga, X, y, weakest=0.2)
    np.testing.assert_allclose(our_coefs(saga, values, X, y), cold_coefs(saga, values, X, y), atol=1e-3)


@pytest.mark.parametrize("name", ["svm", "lasso"])
def test_several_classes_or_outputs_are_solved_one_by_one(name):
    X, y = data_for(MODELS[name], (60, 15), n_classes=3)
    y = np.column_stack([y, y[::-1]]) if name == "lasso" else y
    values = values_for(MODELS[name], X, y)
    expected = cold_coefs(MODELS[name], values, X, y)
    np.testing.assert_allclose(our_coefs(MODELS[name], values, X, y), expected, atol=1e-4 * np.abs(expected).max())


def test_columns_that_the_strong_rule_missed_are_found(monkeypatch):
    lasso = MODELS["lasso"]
    X, y = data_for(lasso, (30, 100))
    values = values_for(lasso, X, y, n_values=3, weakest=0.01)
    solved = []
    solve = _paths._solve
    monkeypatch.setattr(_paths, "_solve", lambda *args: solved.append(len(args[2])) or solve(*args))
    found = our_coefs(lasso, values, X, y)
    # Two steps of a tenth each let columns in that the rule had left out, so a value was solved again.
    assert len(solved) > 1 + 2
    np.testing.assert_allclose(found, cold_coefs(lasso, values, X, y), atol=1e-4)


def test_a_value_is_solved_on_few_columns(monkeypatch):
    lasso = Lasso()
    X, y = data_for(lasso, (40, 400))
    solved = []
    solve = _paths._solve
    monkeypatch.setattr(_paths, "_solve", lambda *args: solved.append(len(args[2])) or solve(*args))
    our_coefs(lasso, values_for(lasso, X, y, n_values=25, weakest=0.1), X, y)
    assert max(solved) < 100


@pytest.mark.parametrize("loss", [SquaredLoss, LogisticLoss, SquaredHingeLoss])
def test_slopes_and_curvatures_are_the_derivatives_of_the_loss(loss):
    rng = np.random.default_rng(0)
    one = loss(np.array([1.0, -1, 1, -1]), rng.random(4) + 0.5)
    f, step = np.array([0.3, -0.4, -0.2, 0.5]), 1e-4
    slope, curvature = one.derivatives(f)
    for row, e in enumerate(np.eye(4) * step):
        assert slope[row] == pytest.approx((one.value(f + e) - one.value(f - e)) / (2 * step), rel=1e-6)
        ahead, behind = one.derivatives(f + e)[0][row], one.derivatives(f - e)[0][row]
        assert curvature[row] == pytest.approx((ahead - behind) / (2 * step), rel=1e-6)


# -- where a path begins ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lasso", "lasso without intercept", "elastic net", "without intercept"])
def test_a_little_less_than_the_strongest_value_selects_something(name):
    X, y = data_for(MODELS[name], (30, 100))
    strongest = values_for(MODELS[name], X, y)[0]
    weaker = 0.98 if PARAMETERS[type(MODELS[name])] == "alpha" else 1.02
    stronger = 2 - weaker
    coefs = cold_coefs(MODELS[name], [strongest * stronger, strongest * weaker], X, y)
    assert not coefs[0].any()
    assert coefs[1].any()


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


# -- paths of any estimator ------------------------------------------------------------------------------------------


def test_a_positive_lasso_is_fitted_for_each_value():
    X, y = data_for(Lasso(), (40, 10))
    values = np.geomspace(1, 0.01, 4)
    steps = list(path_of(Lasso(positive=True, **EXACT), "alpha", values, X, y, {}))
    for step, value in zip(steps, values, strict=True):
        expected = Lasso(positive=True, alpha=value, **EXACT).fit(X, y).coef_
        np.testing.assert_array_equal(step.selected, np.flatnonzero(expected))


def test_a_pipeline_is_followed_by_its_last_step_in_the_columns_of_the_input():
    X, y = data_for(Lasso(), (60, 20))
    pipe = make_pipeline(StandardScaler(), SelectKBest(lambda X, y: np.abs(X.T @ y), k=8), Lasso(**EXACT))
    values = np.geomspace(1, 0.05, 4)
    for step, value in zip(path_of(pipe, "lasso__alpha", values, X, y, {}), values, strict=True):
        fitted = clone(pipe).set_params(lasso__alpha=value).fit(X, y)
        kept = np.flatnonzero(fitted[1].get_support())
        np.testing.assert_array_equal(step.selected, kept[fitted[2].coef_ != 0])


def test_importances_are_coefficients_of_features_of_unit_variance():
    X, y = data_for(Lasso(), (60, 8))
    step = next(path_of(Lasso(**EXACT), "alpha", [0.05], X, y, {}))
    coef = Lasso(alpha=0.05, **EXACT).fit(X, y).coef_
    np.testing.assert_allclose(step.importances, (np.abs(coef) * X.std(axis=0))[step.selected], rtol=1e-4)


# -- where a path stops ----------------------------------------------------------------------------------------------


def steps(*supports, importances=True):
    for support in supports:
        yield Step(np.array(support), np.linspace(1, 2, len(support)) if importances else None)


def test_a_path_without_a_limit_is_followed_to_its_end():
    found = walk(steps([], [3], [3, 5], [5]), None)
    assert [list(support) for support in found.supports] == [[], [3], [3, 5], [5]]
    assert list(found.seen) == [3, 5]


def test_a_path_ends_when_q_features_have_been_in():
    path = steps([1], [1, 2], [0, 1, 2])
    found = walk(path, 2)
    assert [list(support) for support in found.supports] == [[1], [1, 2]]
    assert next(path) is not None  # was not asked for


def test_of_features_that_enter_together_the_most_important_are_first():
    # 7 and 9 are the last ones of their step, so they weigh most; 1 stays although it weighs least.
    found = walk(steps([1], [1, 4, 7, 9], [0]), 3)
    assert [list(support) for support in found.supports] == [[1], [1, 7, 9]]


def test_a_feature_that_left_still_counts():
    found = walk(steps([1], [2], [3, 4]), 3)
    assert [list(support) for support in found.supports] == [[1], [2], [4]]
    assert list(found.seen) == [1, 2, 4]


def test_without_importances_none_of_too_many_features_enters():
    assert [list(support) for support in walk(steps([1], [1, 4], importances=False), 2).supports] == [[1], [1, 4]]
    found = walk(steps([1], [1, 4, 7], importances=False), 2)
    assert [list(support) for support in found.supports] == [[1], [1]]
    assert [list(support) for support in walk(steps([4, 7], importances=False), 1).supports] == [[]]


def test_fits_that_do_not_converge_are_counted_once_a_value():
    X, y = data_for(Lasso(), (40, 60))
    values = values_for(Lasso(), X, y, weakest=1e-4)
    found = walk(path_of(Lasso(max_iter=2, tol=1e-12), "alpha", values, X, y, {}), None)
    assert 1 <= found.n_unconverged < len(values)
    assert walk(path_of(Lasso(), "alpha", values[:2], X, y, {}), None).n_unconverged == 0


def test_newton_steps_that_do_not_converge_are_counted(monkeypatch):
    monkeypatch.setattr(_paths, "_MOST_STEPS", 1)
    model = MODELS["liblinear"]
    X, y = data_for(model, (40, 10))
    values = values_for(model, X, y, n_values=3)
    assert walk(path_of(model, "C", values, X, y, {}), None).n_unconverged == 2

"""Ridge-penalised models in row space and in feature space, against each other, scikit-learn and their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.linear_model import LogisticRegression, Ridge

from skstab.feature_selection import _ridge
from skstab.feature_selection._ridge import LOSSES, fit_features, fit_rows, prefers_rows


def problem(kind, n, d, seed, n_classes=3):
    """Columns, a loss and the labels or numbers it was made of."""
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((d, n)) * rng.uniform(0.1, 3, (d, 1))
    weight = rng.integers(1, 4, n).astype(float)[:, None]
    if kind == "squared":
        y = rng.standard_normal(n) + 3
        return columns, LOSSES[kind](y[:, None], weight), y
    labels = rng.permutation(np.arange(n) % (2 if kind == "logistic" else n_classes))
    targets = (
        labels[:, None].astype(float)
        if kind == "logistic"
        else np.eye(n_classes)[labels]
    )
    return columns, LOSSES[kind](targets, weight), labels


def objective(columns, loss, C, weights, intercept):
    return loss.value(columns.T @ weights + intercept) + np.sum(weights**2) / (2 * C)


# The hinge loss has no derivatives: its machines are libsvm's, and tested with HybridRFE.
SMOOTH = sorted(set(LOSSES) - {"hinge"})
cases = st.tuples(
    st.sampled_from(SMOOTH),
    st.integers(6, 25),
    st.integers(1, 40),
    st.floats(-2, 3),
    st.integers(0, 10**6),
)


@given(case=cases, fit_intercept=st.booleans())
@settings(max_examples=60)
def test_both_spaces_find_the_same_model(case, fit_intercept):
    kind, n, d, log_C, seed = case
    columns, loss, _ = problem(kind, n, d, seed)
    by_rows = fit_rows(
        columns, columns.T @ columns, loss, 10**log_C, fit_intercept=fit_intercept
    )
    by_features = fit_features(columns, loss, 10**log_C, fit_intercept=fit_intercept)
    scale = np.abs(by_features.weights).max()
    np.testing.assert_allclose(
        by_rows.weights, by_features.weights, rtol=1e-6, atol=1e-7 * scale
    )
    np.testing.assert_allclose(
        by_rows.intercept, by_features.intercept, atol=1e-6 * (1 + scale)
    )
    if not fit_intercept:
        assert not by_rows.intercept.any()


@given(case=cases)
@settings(max_examples=30)
def test_no_small_change_of_the_model_lowers_the_penalised_loss(case):
    kind, n, d, log_C, seed = case
    C = 10**log_C
    columns, loss, _ = problem(kind, n, d, seed)
    fit = fit_rows(columns, columns.T @ columns, loss, C)
    least = objective(columns, loss, C, fit.weights, fit.intercept)
    rng = np.random.default_rng(seed)
    for size in (1e-1, 1e-3):
        for _ in range(5):
            weights = fit.weights + size * rng.standard_normal(fit.weights.shape)
            intercept = fit.intercept + size * rng.standard_normal(fit.intercept.shape)
            assert objective(
                columns, loss, C, weights, intercept
            ) >= least - 1e-9 * abs(least)


@pytest.mark.parametrize("kind", ["squared", "logistic", "softmax"])
@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("fit", ["rows", "features"])
def test_models_are_those_of_scikit_learn(kind, C, fit):
    columns, loss, y = problem(kind, 40, 15, seed=1)
    ours = (
        fit_rows(columns, columns.T @ columns, loss, C)
        if fit == "rows"
        else fit_features(columns, loss, C)
    )
    theirs = (
        Ridge(alpha=1 / C)
        if kind == "squared"
        else LogisticRegression(C=C, tol=1e-12, solver="newton-cholesky")
    ).fit(columns.T, y, loss.weight[:, 0])
    np.testing.assert_allclose(
        ours.weights.T, np.atleast_2d(theirs.coef_), rtol=1e-6, atol=1e-8
    )
    shift = (
        np.mean(theirs.intercept_) if kind == "softmax" else 0
    )  # known up to a constant, as the weights sum to 0
    np.testing.assert_allclose(
        ours.intercept, theirs.intercept_ - shift, rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("kind", ["squared", "logistic", "softmax"])
def test_derivatives_are_those_of_the_value(kind):
    _, loss, _ = problem(kind, 7, 2, seed=0)
    F = np.random.default_rng(0).standard_normal(loss.y.shape)
    gradient, diagonal = loss.derivatives(F)
    numeric = optimize.approx_fprime(
        F.ravel(), lambda f: loss.value(f.reshape(F.shape)), 1e-7
    )
    np.testing.assert_allclose(gradient.ravel(), numeric, atol=1e-5)
    step = 1e-6
    for row, output in np.ndindex(F.shape):
        moved = F.copy()
        moved[row, output] += step
        change = (loss.derivatives(moved)[0] - gradient)[row, output] / step
        coupling = (
            diagonal[row, output] ** 2 / loss.weight[row, 0] if loss.coupled else 0
        )
        assert change == pytest.approx(diagonal[row, output] - coupling, abs=1e-4)


@pytest.mark.parametrize("kind", ["squared", "logistic", "softmax"])
def test_weights_of_rows_are_as_good_as_repeating_them(kind):
    columns, loss, _ = problem(kind, 12, 20, seed=3)
    repeats = loss.weight[:, 0].astype(int)
    long = np.repeat(columns, repeats, axis=1)
    repeated = type(loss)(
        np.repeat(loss.y, repeats, axis=0), np.ones((repeats.sum(), 1))
    )
    short = fit_rows(columns, columns.T @ columns, loss, 1.0)
    np.testing.assert_allclose(
        short.weights, fit_rows(long, long.T @ long, repeated, 1.0).weights, atol=1e-10
    )


def test_a_warm_start_leads_to_the_same_model():
    columns, loss, _ = problem("logistic", 30, 60, seed=4)
    start = fit_rows(columns, columns.T @ columns, loss, 1.0)
    fewer = columns[:40]
    cold = fit_rows(fewer, fewer.T @ fewer, loss, 1.0)
    np.testing.assert_allclose(
        fit_rows(fewer, fewer.T @ fewer, loss, 1.0, start=start).weights,
        cold.weights,
        atol=1e-9,
    )
    kept = start._replace(weights=start.weights[:40])
    np.testing.assert_allclose(
        fit_features(fewer, loss, 1.0, start=kept).weights, cold.weights, atol=1e-9
    )


@pytest.mark.parametrize("kind", ["squared", "logistic", "softmax"])
def test_separable_classes_and_hardly_any_penalty_still_converge(kind):
    columns, loss, y = problem(kind, 20, 50, seed=5)
    fit = fit_rows(columns, columns.T @ columns, loss, 1e8)
    decision = columns.T @ fit.weights + fit.intercept
    assert np.isfinite(fit.weights).all()
    if kind == "squared":
        np.testing.assert_allclose(decision[:, 0], y, atol=1e-4)
    elif kind == "logistic":
        assert ((decision[:, 0] > 0) == y).all()
    else:
        assert (decision.argmax(axis=1) == y).all()


@pytest.mark.parametrize("kind", ["squared", "logistic", "softmax"])
def test_sparse_columns_give_the_same_as_dense_ones(kind):
    columns, loss, _ = problem(kind, 20, 12, seed=6)
    columns[np.random.default_rng(0).random(columns.shape) < 0.6] = 0
    dense = fit_features(columns, loss, 1.0)
    np.testing.assert_allclose(
        fit_features(sparse.csr_array(columns), loss, 1.0).weights,
        dense.weights,
        atol=1e-10,
    )
    rows = fit_rows(sparse.csr_array(columns), columns.T @ columns, loss, 1.0)
    np.testing.assert_allclose(rows.weights, dense.weights, atol=1e-9)


@pytest.mark.parametrize("kind", ["squared", "logistic", "softmax"])
def test_many_unknowns_are_left_to_scikit_learn(monkeypatch, kind):
    columns, loss, _ = problem(kind, 60, 10, seed=7)
    by_newton = fit_features(columns, loss, 0.5)
    monkeypatch.setattr(_ridge, "_MANY_UNKNOWNS", 5)
    by_lbfgs = fit_features(columns, loss, 0.5)
    assert by_lbfgs.weights.shape == by_newton.weights.shape
    assert by_lbfgs.intercept.shape == by_newton.intercept.shape
    np.testing.assert_allclose(by_lbfgs.weights, by_newton.weights, atol=1e-4)


def test_row_space_is_for_fewer_rows_than_features():
    assert prefers_rows(150, 151)
    assert not prefers_rows(151, 150)
    assert prefers_rows(50, 2)

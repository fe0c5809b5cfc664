"""Lasso and elastic net on reduced rows: the same models as on all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import ElasticNet, Lasso

from skstab._linear_paths import least_squares
from skstab._linear_paths.least_squares import (
    models_on_reduced,
    prefers_reduced,
    reduced_rows,
)
from skstab._linear_paths.repeats import distinct_rows
from skstab._linear_paths.residuals import residual_path

SHAPES = [(40, 15), (200, 8), (30, 120)]


def bootstrap(n_rows, n_features, n_outputs=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) + 0.3
    weights = rng.normal(size=(n_features, 3))[:, : n_outputs or 1]
    y = X @ weights + rng.normal(size=(n_rows, n_outputs or 1))
    rows = rng.integers(n_rows, size=n_rows)
    return X[rows], y[rows] if n_outputs else y[rows, 0]


def violation(columns, y, w, bend, ridge):
    """Largest violation of an optimality condition, relative to the bend."""
    pull = columns @ (y - w @ columns) - ridge * w
    return (
        np.where(
            w != 0, np.abs(pull - bend * np.sign(w)), np.maximum(np.abs(pull) - bend, 0)
        ).max()
        / bend
    )


# -- rows --------------------------------------------------------------------------------------------------------------


def test_distinct_rows_are_counted():
    table = np.random.default_rng(0).normal(size=(20, 3))
    rows = np.random.default_rng(1).integers(20, size=60)
    first, counts = distinct_rows(table[rows])
    assert_array_equal(np.sort(rows[first]), np.unique(rows))
    assert_array_equal(counts, np.bincount(rows, minlength=20)[rows[first]])


def test_rows_that_differ_in_one_bit_are_distinct():
    table = np.ones((2, 5))
    table[1, 4] = np.nextafter(1.0, 2.0)
    assert len(distinct_rows(table)[0]) == 2


def test_rows_with_the_same_sum_of_bits_stay_apart(monkeypatch):
    table = np.arange(6.0).reshape(3, 2)
    monkeypatch.setattr(
        np,
        "unique",
        lambda codes, **_: (codes[:1], np.array([0]), np.zeros(3, int), np.array([3])),
    )
    first, counts = distinct_rows(table)
    assert_array_equal(first, [0, 1, 2])
    assert_array_equal(counts, [1, 1, 1])


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_reduced_rows_have_the_products_of_all(shape, fit_intercept):
    X, y = bootstrap(*shape, n_outputs=2)
    rows = reduced_rows(X, y, fit_intercept)
    assert rows.columns.shape[1] < len(np.unique(X, axis=0)) + 1
    if shape[0] > 4 * shape[1]:
        assert rows.columns.shape[1] == shape[1] + 2
    if fit_intercept:
        X, y = X - X.mean(axis=0), y - y.mean(axis=0)
    whole, reduced = np.hstack([X, y]), np.vstack([rows.columns, rows.targets])
    assert_allclose(reduced @ reduced.T, whole.T @ whole, rtol=1e-10, atol=1e-9)


# -- models ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_outputs", [0, 2])
@pytest.mark.parametrize("l1_ratio", [0.1, 0.5, 0.95, 0.999, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("route", [True, False])
def test_models_are_those_of_single_fits(
    monkeypatch, shape, l1_ratio, n_outputs, fit_intercept, route
):
    monkeypatch.setattr(
        least_squares,
        "_prefers_residuals",
        lambda model, *_: route and model.l1_ratio < 0.99,
    )
    X, y = bootstrap(*shape, n_outputs=n_outputs)
    settings = {"fit_intercept": fit_intercept, "tol": 1e-12, "max_iter": 100_000}
    model = ElasticNet(l1_ratio=l1_ratio, **settings)
    alphas = [0.1, 2.0, 0.5]
    found = models_on_reduced(model, reduced_rows(X, y, fit_intercept), alphas)
    for place, alpha in enumerate(alphas):
        single = model.set_params(alpha=alpha).fit(X, y)
        expected = np.atleast_2d(single.coef_)
        assert_allclose(found.coefs[place], expected, rtol=1e-6, atol=1e-7)
        assert_array_equal(found.coefs[place] != 0, expected != 0)
        intercepts = np.broadcast_to(single.intercept_, max(1, n_outputs))
        assert_allclose(found.intercepts[place], intercepts, rtol=1e-6, atol=1e-6)


def test_values_without_a_path_have_no_models():
    X, y = bootstrap(30, 10)
    rows = reduced_rows(X, y, True)
    assert models_on_reduced(ElasticNet(), rows, [1.0, 0.0]) is None
    assert models_on_reduced(ElasticNet(), rows, [1.0, np.inf]) is None


def test_which_models_are_solved_on_reduced_rows():
    wide, tall = np.zeros((5, 9)), np.zeros((9, 5))
    assert prefers_reduced(ElasticNet(), wide)
    assert prefers_reduced(Lasso(), tall)
    assert not prefers_reduced(Lasso(), wide)
    assert not prefers_reduced(Lasso(tol=1e-8), tall)
    assert not prefers_reduced(ElasticNet(positive=True), wide)
    assert not prefers_reduced(ElasticNet(), wide, sample_weight=np.ones(5))


def test_tight_tolerances_and_weak_penalties_of_wide_data_are_solved_by_newton_steps():
    def prefers(shape, alpha, **params):
        rows = reduced_rows(*bootstrap(*shape), True)
        return least_squares._prefers_residuals(ElasticNet(**params), rows, alpha)

    assert prefers((30, 120), 0.001)
    assert not prefers((30, 120), 100.0)
    assert prefers((30, 120), 100.0, tol=1e-8)
    assert not prefers((30, 120), 0.001, l1_ratio=0.999)


def test_descent_where_newton_steps_do_not_converge(monkeypatch):
    X, y = bootstrap(30, 120)
    rows, model = reduced_rows(X, y, True), ElasticNet(tol=1e-8, max_iter=100_000)
    expected = models_on_reduced(model, rows, [1.0, 0.1]).coefs
    monkeypatch.setattr(
        least_squares,
        "residual_path",
        lambda *_: iter([(np.zeros(120), True, 1), (np.ones(120), False, 1)]),
    )
    assert_allclose(
        models_on_reduced(model, rows, [1.0, 0.1]).coefs, expected, atol=1e-3
    )


# -- Newton steps on residuals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("l1_ratio", [0.01, 0.5, 0.95])
@pytest.mark.parametrize(
    "kind", ["normal", "copies", "blocks", "zeros and ones", "constant"]
)
@pytest.mark.parametrize("shape", [(2, 5), (30, 10), (20, 300), (60, 60)])
def test_a_path_keeps_the_optimality_conditions(shape, kind, l1_ratio):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    if kind == "copies":
        X[:, shape[1] // 2 :] = X[:, : shape[1] - shape[1] // 2]
    elif kind == "blocks":
        X = 0.1 * X + rng.normal(size=(shape[0], 1))
    elif kind == "zeros and ones":
        X = (X > 0).astype(float)
    elif kind == "constant":
        X[:, ::2] = 0
    y = X[:, :3].sum(axis=1) + rng.normal(size=shape[0])
    columns, y = np.ascontiguousarray((X - X.mean(axis=0)).T), y - y.mean()
    strongest = np.abs(columns @ y).max()
    bends = strongest * np.logspace(0, -2, 6)
    penalties = [(bend, bend * (1 / l1_ratio - 1)) for bend in bends]
    for (w, converged, _), (bend, ridge) in zip(
        residual_path(columns, y, penalties, 1e-6), penalties, strict=True
    ):
        assert converged
        assert violation(columns, y, w, bend, ridge) < 1e-6
        assert (w != 0).any() == (bend < strongest)


def test_a_path_says_where_it_did_not_converge():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(1000, 100)) * 10.0 ** rng.integers(-4, 5, size=(1000, 1))
    y = rng.normal(size=100)
    bend = 1e-6 * np.abs(columns @ y).max()
    ((w, converged, _),) = residual_path(columns, y, [(bend, bend / 99)], 1e-5)
    assert not converged
    assert violation(columns, y, w, bend, bend / 99) > 1e-5

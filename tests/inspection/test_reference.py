"""The unpenalised model with all features, against statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import Lasso

from skstab.inspection import feature_report, unpenalised_reference
from skstab.model_selection import BootstrapSplit, StabilityCV


def data(seed, n=120, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1, 100, 0.01, 1] + [0, 1000, 0, -5]
    return X, X @ [0.5, 0.01, 30, 0] + rng.normal(size=n), rng


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_fitted_by_least_squares(seed):
    X, y, _ = data(seed)
    plain = sm.OLS(y, sm.add_constant(X)).fit()
    coef, se = unpenalised_reference(X, y)
    np.testing.assert_allclose(coef, plain.params[1:], rtol=1e-7)
    np.testing.assert_allclose(se, plain.bse[1:], rtol=1e-7)


@pytest.mark.parametrize("labels", [(0, 1), ("ill", "well"), (False, True)])
def test_two_classes_are_fitted_by_a_logistic_regression(labels):
    X, y, rng = data(0)
    is_second = y - y.mean() + rng.logistic(size=len(y)) > 0
    plain = sm.Logit(is_second.astype(float), sm.add_constant(X)).fit(disp=0, tol=1e-12)
    coef, se = unpenalised_reference(X, np.array(labels)[is_second.astype(int)])
    np.testing.assert_allclose(coef, plain.params[1:], rtol=1e-6)
    np.testing.assert_allclose(se, plain.bse[1:], rtol=1e-6)


def test_it_is_the_reference_of_a_report():
    X, y = load_diabetes(return_X_y=True)
    runs = StabilityCV(Lasso(0.1), cv=BootstrapSplit(10, random_state=0)).fit(X, y)
    coef, se = unpenalised_reference(X, y)
    table = feature_report(runs, reference=(coef, se)).frame()
    errors = np.sqrt(((runs.runs_.coefs - coef) ** 2).mean(axis=0)) / se
    np.testing.assert_allclose(
        table["rmsd_ratio"].loc[list(runs.runs_.feature_names)], errors
    )


@pytest.mark.parametrize("change", ["constant", "copy", "few rows"])
def test_where_there_is_no_such_model_it_says_so(change):
    X, y, _ = data(0)
    X = {"constant": X * [1, 0, 1, 1], "copy": X[:, [0, 1, 2, 0]], "few rows": X[:5]}[
        change
    ]
    with pytest.raises(ValueError, match="X must have more rows than features"):
        unpenalised_reference(X, y[: len(X)])


def test_separated_classes_have_none():
    X, _, _ = data(0)
    with pytest.raises(ValueError, match="classes of y are separated by X"):
        unpenalised_reference(X, X[:, 0] > 0)
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="separated"):
        unpenalised_reference(X, y)


@pytest.mark.parametrize(
    "y", [list("abc") * 40, np.full(120, np.nan), np.ones(120), np.zeros((120, 2))]
)
def test_other_targets_are_refused_by_name(y):
    with pytest.raises(ValueError, match="y must be"):
        unpenalised_reference(data(0)[0], y)

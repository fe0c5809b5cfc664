"""Stability selection along a path that an estimator holds in its coefficients."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Lasso, lasso_path
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab.feature_selection import StabilitySelection
from skstab.runs import CoefPath, _readers, register_reader

N_FITS = []
pytestmark = pytest.mark.filterwarnings(
    "ignore:the expected number of wrong features is not controlled"
)


class WholePath(RegressorMixin, BaseEstimator):
    """The lasso at all its penalties, one row of coefficients per feature."""

    def __init__(self, lams=None):
        self.lams = lams

    def fit(self, X, y):
        N_FITS.append(len(y))
        X, y = np.asarray(X) - np.mean(X, axis=0), np.asarray(y) - np.mean(y)
        strongest = np.abs(X.T @ y).max() / len(y)
        lams = strongest * np.geomspace(1, 0.05, 20) if self.lams is None else self.lams
        self.lams_, self.weights_, _ = lasso_path(X, y, alphas=lams)
        return self


def read(model):
    return CoefPath("lams", model.lams_, model.weights_.T)


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    monkeypatch.setattr(_readers, "_registered", [])
    N_FITS.clear()


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 20))  # as many features as penalties
    return X, X[:, 3] - X[:, 7] + 0.5 * rng.standard_normal(100)


@pytest.mark.parametrize(
    "wrap",
    [lambda e: e, lambda e: make_pipeline(StandardScaler(), e)],
    ids=["alone", "pipeline"],
)
@pytest.mark.parametrize(
    "options", [{}, {"q": 4, "threshold": 0.8}], ids=["whole", "stops"]
)
def test_one_fit_for_each_half_and_the_selection_of_the_lasso(wrap, options, data):
    X, y = data
    register_reader(WholePath, read)
    common = {"n_resamples": 10, "random_state": 0, **options}
    found = StabilitySelection(wrap(WholePath()), **common).fit(X, y)
    assert found.param_name_.endswith("lams")
    assert N_FITS == [100] + [50] * 10
    assert len(found.param_values_) == 20
    lasso = StabilitySelection(
        wrap(Lasso()), param_values=found.param_values_, **common
    ).fit(X, y)
    np.testing.assert_allclose(found.selection_path_, lasso.selection_path_, atol=0.11)
    np.testing.assert_array_equal(found.get_support(indices=True), [3, 7])


def test_values_may_be_given_in_any_order(data):
    X, y = data
    register_reader(WholePath, read)
    given = StabilitySelection(
        WholePath(),
        param_name="lams",
        param_values=[0.1, 0.5, 0.3],
        n_resamples=4,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_array_equal(given.param_values_, [0.1, 0.5, 0.3])
    sizes = given.selection_path_.sum(axis=0)
    assert sizes[1] <= sizes[2] <= sizes[0]


def test_readers_reach_other_processes(data):
    X, y = data
    register_reader(WholePath, read)
    one, two = (
        StabilitySelection(WholePath(), n_resamples=4, random_state=0, n_jobs=n).fit(
            X, y
        )
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.selection_path_, two.selection_path_)


def test_without_a_reader_the_parameter_is_not_known(data):
    X, y = data
    with pytest.raises(
        ValueError, match=r"param_name='auto' knows Lasso, .* but not tests\.WholePath"
    ):
        StabilitySelection(WholePath()).fit(X, y)

"""Tables are ndarrays for users, and nothing large becomes dense inside."""

import tracemalloc
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LogisticRegression

from skstab import Runs, StabilityCV, collect_supports
from skstab.metrics import stability_interval
from skstab.model_selection import BootstrapSplit


@pytest.mark.parametrize("C", [0.03, 100.0])
def test_tables_are_ndarrays_whatever_their_values(C):
    X, y = make_classification(200, 40, n_informative=3, random_state=0)
    model = LogisticRegression(l1_ratio=1, solver="liblinear", C=C, random_state=0)
    runs = StabilityCV(model, cv=BootstrapSplit(6, random_state=0)).fit(X, y)
    assert sparse.issparse(runs.runs_.tables.supports) == (C < 1)
    for table in (runs.supports_, runs.importances_, runs.runs_.coefs):
        assert isinstance(table, np.ndarray)
        assert table.shape == (6, 40)
    z = runs.supports_
    np.testing.assert_allclose(np.asarray(z).mean(0), runs.selection_frequencies_)
    assert pd.DataFrame(z).shape == (6, 40)
    assert len(z) == 6
    np.testing.assert_array_equal((~z).sum(axis=1), 40 - z.sum(axis=1))
    assert np.cov(z).shape == (6, 6)
    assert z.astype(int).max() == 1
    assert (runs.importances_[~z] == 0).all()


def test_outputs_are_shown_as_ndarrays():
    X = pd.DataFrame({"a": list("abcdefgh") * 10, "b": np.arange(80) % 7})
    encoded = make_sparse_after_encoder()
    y = (X["a"] == "c").to_numpy() + 0.0
    outputs = StabilityCV(encoded, cv=BootstrapSplit(5, random_state=0)).fit(X, y)
    table = outputs.runs_.outputs.supports
    assert isinstance(table, np.ndarray)
    assert table.any()


def make_sparse_after_encoder():
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import Lasso
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["a"]), remainder="passthrough"
    )
    return make_pipeline(encode, Lasso(0.01))


# -- a million features ------------------------------------------------------------------------------------------------

D = 10**6


@contextmanager
def at_most(megabytes):
    """Fail where the peak of the memory that Python and NumPy ask for is higher."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < megabytes * 2**20


def large_runs(n_runs):
    rng = np.random.default_rng(0)
    places = rng.integers(D, size=(n_runs, 20)) * (rng.random((n_runs, 20)) < 0.3)
    rows = np.repeat(np.arange(n_runs), 20)
    weights = sparse.csr_array(
        (np.ones(places.size), (rows, places.ravel())), shape=(n_runs, D)
    )
    return Runs(weights > 0, weights, coefs=-weights)


def test_a_thousand_runs_over_a_million_features_stay_sparse(tmp_path):
    # One dense table of booleans takes 954 MB, one of numbers 7.5 GB. The limits
    # leave room for the names and the summaries of a million features.
    with at_most(600):
        runs = large_runs(1000)
        assert all(map(sparse.issparse, Runs.concat([runs, runs.take([0])]).tables))
        assert sparse.issparse(runs.supports)
        assert sparse.issparse(runs.importances)
    with at_most(600):
        for measure in ("nogueira", "pearson"):
            assert -1 <= runs.stability(measure) <= 1
        assert stability_interval(runs).low <= runs.stability()
        assert runs.summary().shape[0] == D
        assert len(runs.to_frame()) == runs.tables.supports.nnz
        assert sparse.issparse(runs.grouped(np.arange(D) // 2).tables.supports)
        runs.save(tmp_path / "runs.npz")
        assert sparse.issparse(Runs.load(tmp_path / "runs.npz").tables.supports)


class Places(SelectorMixin, BaseEstimator):
    """Selects a few places at random, and takes no time."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):  # noqa: ARG002  random, whatever the target
        self.n_features_in_ = X.shape[1]
        rng = np.random.default_rng(self.random_state)
        self.places_ = np.append(rng.integers(D, size=5), 7)
        return self

    def _get_support_mask(self):
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.places_] = True
        return mask


def test_runs_of_a_million_features_are_made_and_read_sparse():
    X = sparse.random_array((12, D), density=1e-6, format="csr", rng=0)
    y = np.arange(12.0)
    cv = BootstrapSplit(102, random_state=0)
    with at_most(400):
        runs = StabilityCV(Places(), cv=cv, support="consensus", random_state=0)
        runs.fit(X, y)
        assert runs.get_support().sum() == 1
        assert sparse.issparse(runs.supports_)
    with at_most(400):
        fitted = [Places(random_state=n).fit(X) for n in range(102)]
        assert sparse.issparse(collect_supports(fitted))
        assert sparse.issparse(Runs.from_estimators(fitted).supports)

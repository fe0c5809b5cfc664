"""Tables are ndarrays for users, and nothing large becomes dense inside."""

import tracemalloc
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LogisticRegression

from skstab import Runs, StabilityCV, collect_supports
from skstab.metrics import get_measure, stability_interval
from skstab.model_selection import BootstrapSplit
from skstab.model_selection._agreement import mean_overlap
from tests.metrics import strategies


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


def test_ranks_of_a_thousand_runs_over_a_million_features_stay_sparse():
    rng = np.random.default_rng(0)
    places = rng.integers(400, size=(1000, 20)) * 2000
    rows = np.repeat(np.arange(1000), 20)
    weights = sparse.coo_array(
        (rng.random(20_000), (rows, places.ravel())), shape=(1000, D)
    )
    with at_most(600):
        runs = Runs(weights > 0, weights)
        assert -1 <= runs.stability("canberra") <= 1
        assert len(runs.ranks(10, n_resamples=10, random_state=0)) == D
        assert 0 <= mean_overlap(runs, runs, get_measure("canberra")) <= 1


@given(
    weights=strategies.weights(min_runs=3),
    seed=st.integers(0, 99),
    k=st.integers(1, 3),
)
def test_ranks_of_a_large_table_are_those_of_the_dense_one(weights, seed, k):
    kept = np.random.default_rng(seed).random(weights.shape) < 0.4
    k = min(k, weights.shape[1])
    supports, table = sparse.csr_array(kept), sparse.csr_array(weights * kept)
    found = []
    for limit in (10**8, 0):
        with mock.patch("skstab.runs._rows._SHOWN", limit):
            runs = Runs(supports, table)
            assert sparse.issparse(runs.table_for("canberra")) == (limit == 0)
            ranks = runs.ranks(k, n_resamples=20, random_state=0)
            found.append((runs.interval("canberra"), ranks))
    (one, dense), (other, large) = found
    np.testing.assert_allclose(
        [one.estimate, one.low, one.high],
        [other.estimate, other.low, other.high],
        atol=1e-9,
    )
    pd.testing.assert_frame_equal(large.loc[dense.index], dense)


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

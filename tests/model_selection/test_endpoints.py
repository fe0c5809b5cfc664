"""Targets of any kind pass through: only the selector has to understand them."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import GridSearchCV

from skstab import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    StabilityCV,
    WholeSampleSplit,
)
from skstab.datasets import make_survival
from skstab.feature_selection import StabilitySelection
from skstab.model_selection import (
    compare_selectors,
    stability_profile,
    stability_scoring,
)

X, SURVIVAL, _ = make_survival(
    60, n_groups=2, group_size=1, n_others=4, effect=2.0, random_state=0
)
TIMES, EVENTS = SURVIVAL["time"], SURVIVAL["event"]


class ByTime(SelectorMixin, BaseEstimator):
    """Keep the features most correlated with the logarithm of the first number of each target."""

    def __init__(self, k=2, kind=None):
        self.k = k
        self.kind = kind

    def fit(self, X, y):
        assert type(y) is self.kind
        times = (
            y["time"]
            if isinstance(y, np.ndarray) and y.dtype.names
            else [np.ravel(row)[0] for row in np.asarray(y)]
        )
        times = np.asarray(times, dtype=float)
        self.n_features_in_ = X.shape[1]
        self.scores_ = np.abs(
            np.corrcoef(np.asarray(X).T, np.log(times + 1e-9))[-1, :-1]
        )
        return self

    def _get_support_mask(self):
        return self.scores_ >= np.sort(self.scores_)[-self.k]


TARGETS = {
    "structured": SURVIVAL,
    "two columns": np.column_stack([TIMES, EVENTS]),
    "list": TIMES.tolist(),
    "list of pairs": list(zip(TIMES.tolist(), EVENTS.tolist(), strict=True)),
    "several labels": np.column_stack([TIMES > 1, EVENTS]).astype(int),
    "table": pd.DataFrame({"time": TIMES, "event": EVENTS}),
}
targets = pytest.mark.parametrize("y", TARGETS.values(), ids=list(TARGETS))


def dense(table):
    return table.toarray() if issparse(table) else table


def rows_of(y, rows):
    if isinstance(y, list):
        return [y[row] for row in rows]
    return y.iloc[rows] if hasattr(y, "iloc") else y[rows]


@targets
@pytest.mark.parametrize(
    "cv",
    [BootstrapSplit(4, random_state=0), ComplementaryPairsSplit(4, random_state=0), 3],
)
def test_runs_equal_a_loop_by_hand(y, cv):
    selector = ByTime(kind=type(y))
    fitted = StabilityCV(selector, cv=cv, error_score="raise").fit(X, y)
    if cv == 3:
        return
    expected = [
        selector.fit(X[train], rows_of(y, train)).get_support()
        for train, _ in cv.split(X, y)
    ]
    np.testing.assert_array_equal(dense(fitted.supports_), expected)


@targets
def test_comparisons_profiles_and_searches(y):
    selector, cv = ByTime(kind=type(y)), BootstrapSplit(4, random_state=0)
    assert (
        len(stability_profile(selector, X, y, sizes=[1, 2], cv=cv, random_state=0)) == 2
    )
    search = GridSearchCV(
        StabilityCV(selector, cv=cv, error_score="raise"),
        {"estimator__k": [1, 2]},
        cv=WholeSampleSplit(),
        scoring=stability_scoring("nogueira"),
        refit="nogueira",
    ).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_nogueira"]).all()


@targets
def test_stability_selection(y):
    selection = StabilitySelection(
        ByTime(kind=type(y)),
        param_name="k",
        param_values=[1, 2],
        n_resamples=4,
        q=2,
        random_state=0,
    ).fit(X, y)
    assert selection.selection_path_.shape == (6, 2)
    assert selection.n_subsamples_ == 4


def test_survival_in_a_comparison():
    selectors = {"one": ByTime(1, kind=np.ndarray), "two": ByTime(2, kind=np.ndarray)}
    compared = compare_selectors(
        selectors, X, SURVIVAL, cv=BootstrapSplit(5, stratify=True, random_state=0)
    )
    assert compared.frame().loc[["one", "two"], "stability"].between(-1, 1).all()


def test_noise_on_polars_tables_is_that_on_others():
    polars = pytest.importorskip("polars")
    names = [f"g{i}" for i in range(6)]
    tables = [pd.DataFrame(X, columns=names), polars.DataFrame(X, schema=names)]
    runs = [
        StabilityCV(ByTime(kind=list), perturb=0.5, random_state=0)
        .fit(t, TIMES.tolist())
        .runs_
        for t in tables
    ]
    for name in ("supports", "importances"):
        first, second = (dense(getattr(one, name)) for one in runs)
        np.testing.assert_allclose(first, second)
    assert len(np.unique(first.round(12), axis=0)) > 1


def test_an_estimator_without_random_state_takes_noise_but_no_seed():
    StabilityCV(ByTime(kind=np.ndarray), perturb=0.1, random_state=0).fit(X, TIMES)
    with pytest.raises(
        ValueError, match="perturb='seed' needs an estimator with a random_state"
    ):
        StabilityCV(ByTime(kind=np.ndarray), perturb="seed").fit(X, TIMES)

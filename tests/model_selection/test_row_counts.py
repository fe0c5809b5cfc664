"""Every entry that makes runs keeps which rows trained each of them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression

from skstab.model_selection import (
    BootstrapSplit,
    StabilityCV,
    StabilitySearchCV,
    assess_selector,
    compare_selectors,
)

N = 60
FEW = BootstrapSplit(6, random_state=3)


@pytest.fixture(scope="module")
def data():
    return make_classification(N, 5, random_state=0)


def lasso(C=0.3):
    return LogisticRegression(l1_ratio=1, C=C, solver="liblinear", random_state=0)


def counts_of(splits):
    return np.array([np.bincount(train, minlength=N) for train, _ in splits])


@pytest.mark.parametrize("scoring", [None, "roc_auc", "accuracy"])
def test_stability_cv_counts_the_rows_whatever_the_score(data, scoring):
    runs = StabilityCV(lasso(), cv=FEW, scoring=scoring).fit(*data).runs_
    np.testing.assert_array_equal(
        runs.row_counts.toarray(), counts_of(FEW.split(*data))
    )


def test_a_search_shares_one_table_between_its_candidates(data):
    search = StabilitySearchCV(lasso(), {"C": [0.1, 0.3]}, cv=FEW)
    first, second = search.fit(*data).runs_
    np.testing.assert_array_equal(
        first.row_counts.toarray(), counts_of(FEW.split(*data))
    )
    assert np.shares_memory(first.row_counts.data, second.row_counts.data)


def test_a_comparison_and_an_assessment_count_them_too(data):
    compared = compare_selectors({"a": lasso(), "b": lasso(0.1)}, *data, cv=FEW)
    for runs in compared.runs.values():
        np.testing.assert_array_equal(
            runs.runs_.row_counts.toarray(), counts_of(FEW.split(*data))
        )
    found = assess_selector(
        lasso(), *data, cv=FEW, n_pairs=4, n_permutations=19, random_state=0
    )
    np.testing.assert_array_equal(
        found.runs.row_counts.toarray(), counts_of(FEW.split(*data))
    )
    halves = found.halves.row_counts.toarray()
    assert set(halves.sum(axis=1)) == {N // 2}
    assert (halves[::2] + halves[1::2]).max() == 1


class FailsWithoutFirstRow(LogisticRegression):
    """Fails where the first row is not among those it is trained on."""

    def fit(self, X, y):
        if not (X[:, 0] == self.first).any():
            raise ValueError("the first row is missing")
        return super().fit(X, y)


def test_runs_that_failed_and_later_runs_keep_their_rows_apart(data):
    X, y = data
    model = clone(lasso())
    model.__class__ = FailsWithoutFirstRow
    FailsWithoutFirstRow.first = X[0, 0]
    runs = StabilityCV(model, cv=FEW, warm_start=True)
    with pytest.warns(FitFailedWarning):
        runs.fit(X, y)
    runs.set_params(cv=BootstrapSplit(10, random_state=3))
    with pytest.warns(FitFailedWarning):
        runs.fit(X, y)
    wanted = counts_of(runs.cv.split(X, y))
    np.testing.assert_array_equal(
        runs.runs_.row_counts.toarray(), wanted[wanted[:, 0] > 0]
    )

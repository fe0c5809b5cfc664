"""The candidates of a search as selectors to compare: what running each of them again would say."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skstab._engine.progress import watched_by
from skstab.model_selection import (
    BootstrapSplit,
    SelectorComparison,
    StabilitySearchCV,
    compare_selectors,
)

X, y = make_classification(
    90, 12, n_informative=3, n_redundant=0, class_sep=0.8, random_state=0
)
PATIENT = np.arange(90) // 3
SIZES = {"two": 2, "four": 4, "nine": 9}


def model(k):
    return make_pipeline(SelectKBest(k=k), LogisticRegression())


def searched(scoring, groups=None, sizes=(2, 4, 9), **options):
    cv = BootstrapSplit(12, random_state=0)
    search = StabilitySearchCV(
        model(1),
        {"selectkbest__k": list(sizes)},
        cv=cv,
        scoring=scoring,
        random_state=0,
        **options,
    )
    return search.fit(X, y, **({} if groups is None else {"groups": groups}))


def by_concordance(estimator, rows, target):
    return float(np.mean(estimator.predict(rows) == target))


@pytest.mark.parametrize("groups", [None, PATIENT], ids=["rows", "groups"])
@pytest.mark.parametrize(
    "scoring",
    ["accuracy", "balanced_accuracy", "roc_auc", by_concordance, ["accuracy", "r2"]],
)
def test_the_comparison_is_that_of_running_each_candidate(scoring, groups):
    found = SelectorComparison.from_search(
        searched(scoring, groups), X, y, names=list(SIZES), groups=groups
    )
    first = scoring[0] if isinstance(scoring, list) else scoring
    cv = BootstrapSplit(12, random_state=0)
    again = compare_selectors(
        {name: model(k) for name, k in SIZES.items()},
        X,
        y,
        cv=cv,
        scoring=first,
        groups=groups,
        n_pairs=0,
        random_state=0,
    )
    pd.testing.assert_frame_equal(
        found.frame().drop(columns="fit_time"), again.frame().drop(columns="fit_time")
    )
    assert found.recommend() == again.recommend()
    pd.testing.assert_frame_equal(found.pvalues("score"), again.pvalues("score"))
    pd.testing.assert_frame_equal(found.pvalues(), again.pvalues())
    pd.testing.assert_frame_equal(found.overlap(), again.overlap())


def test_candidates_that_fail_are_left_out():
    with pytest.warns(match="fits failed"):
        search = searched("accuracy", sizes=(2, "many", 4))
    found = SelectorComparison.from_search(search, X, y, names=["two", "many", "four"])
    assert list(found.runs) == ["two", "four"]
    assert list(SelectorComparison.from_search(search, X, y).runs) == ["0", "2"]


def test_what_is_no_search_or_no_name_is_refused():
    with pytest.raises(ValueError, match="search must be a fitted StabilitySearchCV"):
        SelectorComparison.from_search(
            StabilitySearchCV(model(1), {"selectkbest__k": [2]}), X, y
        )
    with pytest.raises(ValueError, match="names must be 3 different ones"):
        SelectorComparison.from_search(
            searched("accuracy"), X, y, names=["a", "a", "b"]
        )


def test_a_search_says_how_far_it_is():
    seen = []
    with watched_by(lambda done, total: seen.append((done, total))):
        searched("accuracy")
    assert seen == [(number, 12) for number in range(1, 13)]
    searched("accuracy")
    assert len(seen) == 12

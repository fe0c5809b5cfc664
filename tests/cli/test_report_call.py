"""`skstab.report`: the page of the command line in one call, from what users of Python have."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.feature_selection import SelectKBest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skstab import report
from skstab.datasets import make_survival
from tests.cli.conftest import patients

QUICK = {"n_resamples": 4, "random_state": 0}


def same(one, other):
    assert one.answers() == other.answers()
    pd.testing.assert_frame_equal(
        one.comparison.frame().filter(regex="score|stab"),
        other.comparison.frame().filter(regex="score|stab"),
    )


@pytest.fixture(scope="module")
def table():
    return patients().drop(columns="score")


@pytest.fixture(scope="module")
def page(table):
    return report(table, "outcome", selectors=["lasso", "k-best"], **QUICK)


def test_a_target_is_a_column_or_its_values(page, table):
    X, y = table.drop(columns="outcome"), table["outcome"]
    for target in (y, y.tolist()):
        same(report(X, target, selectors=["lasso", "k-best"], **QUICK), page)


def test_the_code_of_the_page_names_what_was_asked(page, table):
    call = page.code.splitlines()[1]
    assert call == (
        "page = report(X, y, selectors=['lasso', 'k-best'], n_resamples=4, random_state=0)"
    )


def test_selectors_of_ones_own_keep_their_names(table):
    X = table[["age", "dose", "weight", "noise"]].fillna(0).to_numpy()
    own = {k: make_pipeline(SelectKBest(k=k), GaussianNB()) for k in (1, 2)}
    found = report(X, table["outcome"], selectors=own, **QUICK)
    assert set(found.comparison.runs) == {"1", "2"}
    assert set(found.feature_report.table.index) == {"x0", "x1", "x2", "x3"}


def test_survival_from_a_structured_target_or_two_columns():
    X, y, _ = make_survival(80, n_others=2, random_state=0)
    frame = pd.DataFrame(X).add_prefix("gene")
    structured = report(frame, y, selectors=["k-best"], **QUICK)
    named = frame.assign(months=y["time"], died=y["event"])
    same(
        report(named, time="months", event="died", selectors=["k-best"], **QUICK),
        structured,
    )


def test_a_seed_that_is_not_given_is_stated(table):
    found = report(table, "outcome", selectors=["lasso"], n_resamples=4)
    seed = int(found.facts["Seed"].split()[0])
    same(
        report(table, "outcome", selectors=["lasso"], n_resamples=4, random_state=seed),
        found,
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": None}, "a target is needed: y, or time and event"),
        ({"y": "outcom"}, "y is 'outcom', which is not a column of X"),
        ({"y": [1, 2]}, "y must have one value for each of the 80 rows"),
        ({"time": "age"}, "can't be combined with time and event"),
        ({"y": None, "time": "age"}, "time and event go together"),
        ({"groups": "outcome"}, "groups must be another column"),
        ({"selectors": "lasso"}, "selectors must be a dict of estimators, or a list"),
        ({"selectors": ["ridgeless"]}, "got 'ridgeless'"),
        ({"selectors": {"a": GaussianNB}}, "selectors must be estimators"),
        ({"n_resamples": 2}, "n_resamples must be an int of at least 3, got 2"),
        ({"measure": "nogueria"}, "there is no measure 'nogueria'"),
        ({"scoring": "r2"}, "scoring='r2' does not suit classification"),
        ({"random_state": "a"}, "random_state must be"),
        ({"X": np.zeros(5)}, "X must be a 2D array"),
    ],
)
def test_wrong_arguments_are_named(change, words, table):
    arguments = {"X": table, "y": "outcome"} | change
    with pytest.raises(ValueError, match=words):
        report(arguments.pop("X"), **arguments)


def test_sparse_data_are_refused():
    with pytest.raises(TypeError, match="X must be a DataFrame or a dense array"):
        report(csr_array((10, 3)), np.arange(10))

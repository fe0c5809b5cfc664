"""Runs as data frames, long and wide, and back."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from skstab.metrics import nogueira_stability
from skstab.runs import Runs
from tests.metrics import strategies
from tests.runs.same import assert_same, dense

LONG = pd.DataFrame({"run": [1, 1, 0, 2], "feature": ["b", "a", "b", None]})


def test_a_long_table_has_a_row_for_each_selected_feature():
    runs = Runs.from_frame(LONG)
    assert runs.feature_names.tolist() == ["a", "b"]
    # In the order in which the runs first occur; the last one selected nothing.
    np.testing.assert_array_equal(dense(runs.supports), [[1, 1], [0, 1], [0, 0]])
    assert runs.importances is None
    assert runs.coefs is None


def test_features_never_selected_are_given_or_are_categories():
    given_names = Runs.from_frame(LONG, features=["c", "b", "a"])
    assert given_names.feature_names.tolist() == ["c", "b", "a"]
    np.testing.assert_array_equal(
        dense(given_names.supports), [[0, 1, 1], [0, 1, 0], [0, 0, 0]]
    )
    categorical = LONG.assign(
        feature=pd.Categorical(LONG["feature"], categories=["c", "b", "a"])
    )
    by_category = Runs.from_frame(categorical)
    np.testing.assert_array_equal(
        dense(by_category.supports), dense(given_names.supports)
    )
    assert by_category.feature_names.tolist() == ["c", "b", "a"]
    assert given_names.stability() == nogueira_stability(
        [[0, 1, 1], [0, 1, 0], [0, 0, 0]]
    )


def test_importances_and_coefficients_are_read_with_the_features():
    runs = Runs.from_frame(
        LONG.assign(importance=[1.0, 2.0, 3.0, np.nan], coef=[-1, 2, -3, 0])
    )
    np.testing.assert_array_equal(dense(runs.importances), [[2, 1], [0, 3], [0, 0]])
    np.testing.assert_array_equal(dense(runs.coefs), [[2, -1], [0, -3], [0, 0]])


def test_runs_and_features_may_be_text_or_numbers():
    frame = pd.DataFrame({"feature": [10, 20, 10], "run": ["first", "first", "second"]})
    runs = Runs.from_frame(frame)
    assert runs.feature_names.tolist() == [10, 20]
    np.testing.assert_array_equal(dense(runs.supports), [[1, 1], [1, 0]])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1, 0], "b": [1, 1]}),
        pd.DataFrame(
            {"a": [True, False], "b": [True, True]}, index=["first", "second"]
        ),
        pd.DataFrame({"run": [7, 8], "a": [1, 0], "b": [1, 1]}),
        pd.DataFrame({"a": [1, 0], "b": [1, 1]}, dtype="Sparse[int]"),
        pd.DataFrame({"a": [1, 0], "b": [1, 1]}, dtype="Int64"),
    ],
    ids=["numbers", "index", "column run", "sparse", "nullable"],
)
def test_a_wide_table_has_a_row_per_run(frame):
    runs = Runs.from_frame(frame)
    np.testing.assert_array_equal(dense(runs.supports), [[1, 1], [0, 1]])
    assert runs.feature_names.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("frame", "options", "error", "message"),
    [
        ([[1, 0]], {}, TypeError, "frame must be a pandas DataFrame, got list"),
        (
            LONG.assign(run=[1, 1, None, 2]),
            {},
            ValueError,
            "column 'run' of frame must have no missing values",
        ),
        (
            pd.concat([LONG, LONG]),
            {},
            ValueError,
            "one row for each selected feature of a run, got some of them twice",
        ),
        (
            LONG,
            {"features": ["a"]},
            ValueError,
            "column 'feature' of frame holds 'b', which is not in features",
        ),
        (LONG, {"features": ["a", "b", "a"]}, ValueError, "features must be distinct"),
        (
            LONG.assign(importance=[np.nan, 1, 1, 1]),
            {},
            ValueError,
            "importances must be finite",
        ),
        (
            LONG.assign(importance=list("abcd")),
            {},
            ValueError,
            "column 'importance' of frame must hold numbers",
        ),
        (LONG.assign(feature=["a", 1, "b", None]), {}, ValueError, "give features"),
        (pd.DataFrame({"a": [1, 2]}), {}, ValueError, "supports must hold only 0/1"),
        (pd.DataFrame({"a": ["x", "y"]}), {}, ValueError, "supports must be"),
        (
            pd.DataFrame({"a": [1, 0]}),
            {"features": ["a"]},
            ValueError,
            "features goes with a long table",
        ),
        (LONG.iloc[3:], {}, ValueError, "supports must have at least one feature"),
    ],
)
def test_tables_that_do_not_fit_are_refused_by_name(frame, options, error, message):
    with pytest.raises(error, match=message):
        Runs.from_frame(frame, **options)


def test_tabulating_gives_one_row_for_each_selected_feature():
    supports = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]], dtype=bool)
    frame = Runs(supports, 2.0 * supports, feature_names=list("abc")).to_frame()
    assert frame["run"].tolist() == [0, 0, 1, 2]
    assert frame["feature"].astype(object).where(
        frame["feature"].notna(), None
    ).tolist() == ["a", "c", None, "b"]
    assert frame["feature"].cat.categories.tolist() == ["a", "b", "c"]
    assert frame["importance"].tolist() == pytest.approx([2, 2, np.nan, 2], nan_ok=True)
    assert "coef" not in frame


def test_names_that_occur_twice_are_not_tabulated():
    with pytest.raises(
        ValueError, match="feature_names must be distinct to be tabulated"
    ):
        Runs(np.eye(2, dtype=bool), feature_names=["a", "a"]).to_frame()


@settings(max_examples=60, deadline=None)
@given(
    z=strategies.supports(min_runs=1),
    form=st.sampled_from([np.asarray, sparse.csr_array]),
    has_importances=st.booleans(),
    has_coefs=st.booleans(),
    seed=st.integers(0, 5),
)
def test_a_long_table_comes_back(z, form, has_importances, has_coefs, seed):
    weights = np.random.default_rng(seed).normal(size=z.shape) * z
    runs = Runs(
        form(z),
        np.abs(weights) if has_importances else None,
        coefs=weights if has_coefs else None,
    )
    back = Runs.from_frame(runs.to_frame())
    assert_same(back.feature_names, runs.feature_names, "feature_names")
    for name in ("supports", "importances", "coefs"):
        before, after = getattr(runs, name), getattr(back, name)
        assert (before is None) == (after is None)
        if before is not None:
            np.testing.assert_array_equal(dense(after), dense(before))


def test_a_long_table_comes_back_from_a_file_of_text():
    runs = Runs.from_sets([["a", "b"], [], ["b"]], ["a", "b", "c"])
    text = io.StringIO(runs.to_frame().to_csv(index=False))
    back = Runs.from_frame(pd.read_csv(text), features=["a", "b", "c"])
    np.testing.assert_array_equal(dense(back.supports), dense(runs.supports))

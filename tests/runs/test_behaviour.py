"""What declares nothing is read by what it does with rows."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingRegressor, HistGradientBoostingRegressor
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.linear_model import Lasso, Ridge
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from skstab import StabilityCV, collect_supports
from skstab.runs import Runs, input_columns, read_emptied, selection_of

D = 7


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, D))
    return X, X[:, 1] - 2 * X[:, 4] + 0.1 * rng.normal(size=60)


@pytest.fixture(scope="module")
def frame(data):
    return pd.DataFrame(data[0], columns=list("abcdefg"))


def mask(*columns, n=D):
    return np.isin(np.arange(n), columns)


# -- transformers ------------------------------------------------------------------------------------------------------


class Keep(TransformerMixin, BaseEstimator):
    """Selects, and declares nothing; it has weights that are of no help."""

    def __init__(self, keep=(4, 1)):
        self.keep = keep

    def fit(self, X, _y=None):
        self.feature_importances_ = np.ones(3)
        names = getattr(X, "columns", None)
        self.keep_ = None if names is None else [names[i] for i in self.keep]
        return self

    def transform(self, X):
        return X[:, list(self.keep)] if self.keep_ is None else X[self.keep_]


class KeepArray(Keep):
    def transform(self, X):
        return np.asarray(X)[:, list(self.keep)]


class KeepSilently(Keep):
    def fit(self, X, y=None):
        super().fit(X, y)  # and returns None


@pytest.mark.parametrize("kind", [Keep, KeepArray, KeepSilently])
@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, csr_array])
def test_a_transformer_is_read_by_the_columns_it_passes_on(kind, form, data):
    X, y = form(data[0]), data[1]
    if kind is KeepArray and form is csr_array:
        pytest.skip("np.asarray of a sparse matrix is no table")
    selector = kind()
    selector.fit(X, y)
    alone = selection_of(selector, X, y)
    np.testing.assert_array_equal(alone.support, mask(1, 4))
    assert alone.importances is None
    assert alone.has_selector
    assert not alone.by_probing
    for behind in (Ridge(), Lasso(0.1)):
        step = kind()
        step.fit(X, y)
        rows = step.transform(X)
        rows = rows.to_numpy() if hasattr(rows, "iloc") else rows
        model = make_pipeline(step, behind)
        behind.fit(rows, y)
        found = selection_of(model, X, y)
        np.testing.assert_array_equal(found.support, mask(1, 4))
        np.testing.assert_allclose(found.coef[[4, 1]], behind.coef_)


def test_frames_of_polars_are_read_by_the_names_that_come_out(data):
    X = pl.DataFrame(data[0], schema=list("abcdefg"))
    selection = selection_of(Keep().fit(X), X)
    np.testing.assert_array_equal(selection.support, mask(1, 4))


def test_columns_that_are_equal_in_the_rows_at_hand_are_not_confused():
    X = np.ones((40, 5))
    X[:, 0] = np.arange(40)
    for keep in ([4], [3, 0], [2, 4], [0, 1, 2]):
        selection = selection_of(Keep(keep).fit(X), X)
        np.testing.assert_array_equal(selection.support, mask(*keep, n=5))


def test_a_selector_that_keeps_all_or_nothing_is_still_one(data):
    X, y = data
    every = selection_of(make_pipeline(Keep(range(D)), Ridge()).fit(X, y), X, y)
    assert every.support.all()
    assert every.has_selector
    assert not selection_of(Keep(()).fit(X), X).support.any()
    pipe = make_pipeline(Keep(()), Lasso())
    with pytest.raises(ValueError, match="0 feature"):
        pipe.fit(X, y)
    assert not read_emptied(pipe, D, X).support.any()
    assert read_emptied(pipe, D) is None


def test_parts_of_unions_and_column_transformers(data, frame):
    X, y = data
    first = FunctionTransformer(lambda rows: rows[:, :2])
    union = make_union(first, Keep((6,))).fit(X, y)
    np.testing.assert_array_equal(input_columns(union, D, X), [0, 1, 6])
    np.testing.assert_array_equal(selection_of(union, X).support, mask(0, 1, 6))
    scaled = make_pipeline(StandardScaler(), Keep((1,)))
    inside = make_column_transformer((scaled, ["c", "f"]), (Keep((0,)), ["d"]))
    pipe = make_pipeline(inside, Ridge()).fit(frame, y)
    np.testing.assert_array_equal(selection_of(pipe, frame, y).support, mask(3, 5))
    with pytest.raises(ValueError, match="cannot be traced back"):
        input_columns(union, D)


def test_a_step_that_changes_its_columns_is_still_an_error(data):
    X, y = data
    pipe = make_pipeline(FunctionTransformer(lambda rows: rows * 2), Ridge())
    with pytest.raises(ValueError, match=r"step 'functiontransformer'"):
        selection_of(pipe.fit(X, y), X, y)


# -- predictors --------------------------------------------------------------------------------------------------------


class Opaque(BaseEstimator):
    """Predicts by a function of the columns, and says nothing about it."""

    def __init__(self, function):
        self.function = function

    def fit(self, _X, _y=None):
        self.fitted_ = True
        return self

    def predict(self, X):
        X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        return self.function(X)


def probed(function, X, **options):
    with pytest.warns(UserWarning, match="found by probing"):
        found = selection_of(Opaque(function).fit(X), X, **options)
    assert found.by_probing
    assert "by probing" in repr(found)
    return found.support


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, csr_array, pl.DataFrame])
@pytest.mark.parametrize(
    ("function", "used"),
    [
        (lambda X: X[:, 2] - 1e-4 * X[:, 5], (2, 5)),
        (lambda X: (X[:, 1] > 0) ^ (X[:, 3] > 0), (1, 3)),
        (lambda X: np.where(X[:, 0] > 1.2, "high", "low"), (0,)),
        (lambda X: np.where(X[:, 0] > 0, X[:, 4], X[:, 6] > 1), (0, 4, 6)),
        (lambda X: X[:, [5, 6]] @ [[1, 0], [1, 1]], (5, 6)),
        (lambda X: np.zeros(len(X)), ()),
        (lambda X: np.where(X[:, 3] < 0, np.nan, np.inf), (3,)),
    ],
)
def test_a_predictor_is_read_by_the_columns_that_alter_what_it_predicts(
    function, used, form, data
):
    X = form(data[0])
    np.testing.assert_array_equal(probed(function, X), mask(*used))


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 60).flatmap(
        lambda d: st.tuples(st.just(d), st.sets(st.integers(0, d - 1), max_size=12))
    ),
    st.integers(0, 9),
)
def test_probing_finds_the_features_of_any_sparse_model(case, seed):
    d, used = case
    rng = np.random.default_rng(seed)
    X = rng.choice([rng.normal(size=(30, d)), rng.integers(0, 3, (30, d))])
    coef = np.where(mask(*used, n=d), rng.choice([-1.0, 0.01, 5.0], d), 0.0)
    expected = (coef != 0) & (X.std(axis=0) > 0)
    with warnings.catch_warnings(action="ignore"):
        found = selection_of(Opaque(lambda rows: rows @ coef).fit(X), X)
    np.testing.assert_array_equal(found.support, expected)


def test_words_and_categories_change_places_too():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"word": rng.choice(["u", "v"], 50), "n": rng.normal(size=50)})
    table["kind"] = pd.Categorical(rng.choice(["p", "q", "r"], 50))
    support = probed(lambda X: (X[:, 0] == "u") & (X[:, 2] == "q"), table)
    assert support.tolist() == [True, False, True]


def test_boosted_trees_use_the_features_they_split_at(data):
    X, y = data
    model = HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=2)
    split = {
        int(node["feature_idx"])
        for (tree,) in model.fit(X, y)._predictors
        for node in tree.nodes
        if not node["is_leaf"]
    }
    assert 0 < len(split) < 3
    with pytest.warns(UserWarning, match="probing"):
        found = selection_of(model, X, y)
    np.testing.assert_array_equal(found.support, mask(*split))
    bag = BaggingRegressor(model, 2, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="probing"):
        assert selection_of(bag, X, y).support[list(split)].all()


def test_what_stands_in_front_does_not_hide_what_is_found_by_probing(data):
    X, y = data
    X = np.column_stack([X, np.ones(len(X))])
    few = Opaque(lambda rows: rows[:, 1] + rows[:, 4])
    with pytest.warns(UserWarning, match="probing"):
        alone, behind = (
            StabilityCV(model, cv=3).fit(X, y)
            for model in (few, make_pipeline(VarianceThreshold(), few))
        )
    np.testing.assert_array_equal(alone.supports_, [mask(1, 4, n=D + 1)] * 3)
    np.testing.assert_array_equal(behind.supports_, alone.supports_)
    pipe = make_pipeline(SelectKBest(f_regression, k=3), Opaque(lambda r: r.sum(1)))
    found = selection_of(pipe.fit(X, y), X, y)  # no warning: it drops nothing
    np.testing.assert_array_equal(found.support, pipe[0].get_support())
    pipe = make_pipeline(SelectKBest(f_regression, k=3), Opaque(lambda r: r[:, 0]))
    kept = selection_of(pipe.fit(X, y), X, y, support_from="selector")
    assert kept.support.sum() == 3


def test_outputs_of_encoders_are_probed_one_by_one():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"n": rng.normal(size=50), "w": rng.choice(list("uvw"), 50)})
    encode = make_column_transformer((OneHotEncoder(sparse_output=False), ["w"]))
    encode.set_params(remainder="passthrough")
    pipe = make_pipeline(encode, Opaque(lambda rows: rows[:, 1])).fit(table)
    with pytest.warns(UserWarning, match="probing"):
        runs = StabilityCV(pipe, cv=3).fit(table, rng.normal(size=50)).runs_
    assert runs.supports.tolist() == [[False, True]] * 3
    frequencies = runs.outputs.frequencies().to_dict()
    assert frequencies == {"n": 0.0, "w_u": 0.0, "w_v": 1.0, "w_w": 0.0}


def test_a_predictor_of_which_every_column_matters_does_not_select(data):
    X, y = data
    model = Opaque(lambda rows: rows.sum(axis=1))
    match = "Opaque uses every feature: changing any of them alters its predictions"
    with pytest.raises(ValueError, match=match):
        StabilityCV(model, cv=3).fit(X, y)
    with pytest.raises(ValueError, match=match):
        selection_of(model.fit(X), X, require_support=True)


def test_the_cost_of_probing_is_bounded():
    calls = []

    def count(rows):
        calls.append(len(rows))
        return rows[:, 5] + rows[:, 700]

    X = np.random.default_rng(0).normal(size=(5000, 1000))
    assert np.flatnonzero(probed(count, X)).tolist() == [5, 700]
    assert sum(calls) <= 256 * (3 + 2 * 2 * 11)
    calls.clear()
    d = 300_000
    wide = csr_array((np.ones(d), (np.arange(d) % 20, np.arange(d))), (20, d))
    model = Opaque(lambda rows: calls.append(len(rows)) or rows.sum(axis=1))
    with pytest.raises(ValueError, match="uses so many of its 300000 columns"):
        selection_of(model.fit(wide), wide)
    assert sum(calls) * 300_000 < 2.2e9


def test_predictions_that_vary_or_fail_are_an_error(data):
    X, _ = data
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="other values for the same rows each time"):
        selection_of(Opaque(lambda rows: rng.normal(size=len(rows))).fit(X), X)
    with pytest.raises(ValueError, match=r"predict fails on rows.*KeyError"):
        selection_of(Opaque(lambda _: {}["lost"]).fit(X), X)


def test_collecting_needs_rows_for_what_is_read_by_behaviour(data):
    X, y = data
    few = [Opaque(lambda rows: rows[:, 1] * 2).fit(X) for _ in range(2)]
    for one in few:
        one.n_features_in_ = D
    keep = [make_pipeline(Keep(), Lasso(0.1)).fit(X, y) for _ in range(2)]
    behind = [make_pipeline(SelectKBest(k=3), few[0]).fit(X, y > 0)] * 2
    for fits, support in ((few, mask(1)), (keep, mask(1, 4))):
        with pytest.raises(ValueError, match=r"pass X|beforehand|unknown"):
            collect_supports(fits)
        np.testing.assert_array_equal(collect_supports(fits, X=X), [support] * 2)
        runs = Runs.from_estimators(fits, X=X)
        np.testing.assert_array_equal(runs.supports, [support] * 2)
    with pytest.raises(ValueError, match="pass X"):
        collect_supports(behind)
    assert collect_supports(behind, X=X).sum(axis=1).tolist() == [1, 1]
    kept = collect_supports(behind, support_from="selector")
    assert kept.sum(axis=1).tolist() == [3, 3]

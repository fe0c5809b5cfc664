"""Validation: what is accepted, and which argument an error names."""

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skstab import metrics
from skstab.metrics import (
    _tables,
    get_measure,
    measure_table,
    stability_interval,
    stability_score,
    supports_from_sets,
)
from tests.metrics import definitions

TABLE = measure_table()
EVERY = list(TABLE.index)
SUBSET = list(TABLE.index[TABLE["kind"] == "subset"])
WEIGHTS = list(TABLE.index[TABLE["kind"] == "weights"])
ARGUMENT = dict.fromkeys(("pearson", "spearman"), "weights") | {
    "importance_weighted": "importances",
    "grouped_importance": "importances",
    "transport": "importances",
    "canberra": "rankings",
}


def function(name, d=2):
    return partial(
        getattr(metrics, f"{name}_stability"), **definitions.parameters_for(name, d)
    )


BAD_FOR_ALL = {
    "one run": ([[1, 1]], "at least 2 runs"),
    "no run": (np.empty((0, 3)), "at least 2 runs"),
    "no feature": (np.empty((3, 0)), "at least one feature"),
    "one dimension": ([1, 1, 2], "two-dimensional"),
    "three dimensions": (np.ones((2, 2, 2)), "two-dimensional"),
    "text": ([["a", "b"], ["c", "d"]], "numeric or boolean"),
    "complex": (np.ones((2, 2), dtype=complex), "numeric or boolean"),
    "ragged": ([[1, 0], [1]], "a matrix of numbers"),
    "objects": (pd.DataFrame({"a": [1, "x"]}), "a matrix of numbers"),
}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("case", BAD_FOR_ALL)
def test_bad_tables_name_the_argument(name, case):
    data, message = BAD_FOR_ALL[case]
    with pytest.raises(
        ValueError, match=f"{ARGUMENT.get(name, 'supports')} must .*{message}"
    ):
        function(name)(data)


@pytest.mark.parametrize("name", SUBSET)
@pytest.mark.parametrize("value", [2, -1, 0.5, np.nan, np.inf])
def test_subset_measures_take_only_zeros_and_ones(name, value):
    z = np.array([[1.0, 0.0], [0.0, 1.0], [value, 1.0]])
    for form in (z, sparse.csr_array(z), pd.DataFrame(z)):
        with pytest.raises(
            ValueError,
            match=r"supports must hold only 0/1 or booleans, got .*`weights != 0`",
        ):
            function(name)(form)


@pytest.mark.parametrize("name", [*WEIGHTS, "canberra"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_must_be_finite(name, value):
    w = np.array([[1.0, 2.0], [2.0, value]])
    with pytest.raises(ValueError, match=f"{ARGUMENT[name]} must be finite"):
        function(name)(w)
    with pytest.raises(ValueError, match=f"{ARGUMENT[name]} must be finite"):
        function(name)(sparse.csr_array(w))


@pytest.mark.parametrize("ranks", [[[0, 1], [1, 2]], [[1, 3], [1, 2]]])
def test_rankings_run_from_one_to_the_number_of_features(ranks):
    with pytest.raises(
        ValueError,
        match=r"rankings must hold ranks from 1 .* to the number of features 2",
    ):
        metrics.canberra_stability(ranks)


def test_features_without_a_rank_share_the_mean_of_those_that_are_left():
    dense = [[1, 2, 4, 4, 4], [2, 1, 4, 4, 4], [1, 3.5, 3.5, 3.5, 3.5]]
    given = sparse.csr_array([[1, 2, 0, 0, 0], [2, 1, 0, 0, 0], [1, 0, 0, 0, 0]])
    for location in (None, 1, 3):
        assert metrics.canberra_stability(given, location=location) == pytest.approx(
            metrics.canberra_stability(dense, location=location), abs=1e-14
        )
    every = sparse.csr_array([[1, 2], [2, 1]])
    assert metrics.canberra_stability(every) == metrics.canberra_stability(
        every.toarray()
    )


def test_ranks_that_leave_none_for_the_others_are_refused():
    with pytest.raises(ValueError, match=r"rankings must hold ranks from 1 .* 3"):
        metrics.canberra_stability(sparse.csr_array([[3, 3, 0], [1, 2, 0]]))


@pytest.mark.parametrize("location", [0, -1, 1.5, "top", True])
def test_bad_location(location):
    with pytest.raises(
        ValueError, match="location must be None or an int of at least 1"
    ):
        metrics.canberra_stability([[1, 2], [2, 1]], location=location)


def test_location_beyond_the_features():
    with pytest.raises(
        ValueError, match="location must be at most the number of features 2"
    ):
        metrics.canberra_stability([[1, 2], [2, 1]], location=3)


def test_bad_ties_and_penalty():
    with pytest.raises(ValueError, match="ties must be 'average' or 'random'"):
        metrics.spearman_stability([[1, 2], [2, 1]], ties="first")
    with pytest.raises(
        ValueError, match="penalty must be a finite number of at least 0"
    ):
        metrics.davis_stability([[1, 0], [1, 0]], penalty=-1)


@pytest.mark.parametrize("name", sorted(definitions.CONSTANT_SIZE))
def test_measures_of_constant_size_name_the_alternative(name):
    z = [[1, 0, 0], [1, 1, 0]]
    for score in (function(name), get_measure(name)):
        with pytest.raises(
            ValueError,
            match=rf"{name} measure is defined only when .* sizes from 1 to 2; use 'nogueira'",
        ):
            score(z)


def test_errors_of_the_generic_functions_name_data():
    with pytest.raises(ValueError, match="data must hold only 0/1"):
        stability_score([[2, 1], [1, 1]])


# -- degenerate tables: one policy -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SUBSET)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_nothing_ever_selected(name, form):
    expected = 0.0 if name in ("goh", "krizek") else 1.0
    with pytest.warns(
        RuntimeWarning,
        match=rf"all runs agree because .* the {name} stability is {expected:g}",
    ):
        assert function(name, 4)(form(np.zeros((3, 4), dtype=bool))) == expected


@pytest.mark.parametrize("name", SUBSET)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_everything_always_selected(name, form):
    expected = (
        0.0 if name in ("davis", "krizek") else 1.0
    )  # Davis at its default penalty: max(0, 1 − 1)
    with pytest.warns(
        RuntimeWarning, match="all runs agree because there was nothing to choose"
    ):
        assert function(name, 4)(form(np.ones((3, 4), dtype=bool))) == expected


@pytest.mark.parametrize("name", ["pearson", "spearman", "importance_weighted"])
@pytest.mark.parametrize("value", [0.0, 2.5])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_all_features_always_weighted_alike(name, value, form):
    with pytest.warns(RuntimeWarning, match=f"the {name} stability is 1"):
        assert function(name)(form(np.full((3, 4), value))) == 1


@pytest.mark.parametrize("value", [0.0, 2.5])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_all_groups_always_weighted_alike(value, form):
    with pytest.warns(RuntimeWarning, match="the grouped_importance stability is 1"):
        assert (
            metrics.grouped_importance_stability(
                form(np.full((3, 4), value)), [0, 0, 1, 1]
            )
            == 1
        )
    with pytest.warns(RuntimeWarning, match="the grouped_importance stability is 1"):
        assert (
            metrics.grouped_importance_stability(
                form([[1.0, 2.0], [5.0, 0.0]]), ["one", "one"]
            )
            == 1
        )


def test_a_single_feature_can_only_be_ranked_first():
    with pytest.warns(RuntimeWarning, match="the canberra stability is 1"):
        assert metrics.canberra_stability([[1], [1]]) == 1


RATIOS = [
    "jaccard",
    "dice",
    "ochiai",
    "pog",
    "npog",
    "lustgarten",
    "wald",
    "phi",
    "kappa",
    *definitions.ADJUSTED,
]
CORRECTED = [name for name in RATIOS if TABLE.loc[name, "chance_corrected"]]


@pytest.mark.parametrize("name", RATIOS)
def test_an_empty_set_scores_nothing_against_others_and_everything_against_its_like(
    name,
):
    empty, other = [0, 0, 0, 0], [1, 1, 0, 0]
    assert function(name, 4)([empty, other]) == 0
    # One pair of three is identical: the two empty sets.
    assert function(name, 4)([empty, empty, other]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", CORRECTED)
def test_a_full_set_says_nothing_when_chance_is_taken_off(name):
    full, other = [1, 1, 1, 1], [1, 1, 0, 0]
    assert function(name, 4)([full, other]) == pytest.approx(0, abs=1e-15)
    assert function(name, 4)([full, full, other]) == pytest.approx(1 / 3)
    assert function(name, 4)([full, [0, 0, 0, 0]]) == 0


def test_an_empty_run_among_importances():
    assert metrics.importance_weighted_stability([[0, 0], [1, 3]]) == 0
    # A = C = 1/3 from the two empty runs alone.
    assert metrics.importance_weighted_stability(
        [[0, 0], [0, 0], [1, 3]]
    ) == pytest.approx(0, abs=1e-15)


def test_an_empty_run_among_groups():
    assert (
        metrics.grouped_importance_stability([[0, 0, 0], [1, 3, 2]], ["a", "a", "b"])
        == 0
    )


def test_novovicova_knows_no_pairs_so_that_an_empty_run_only_adds_to_their_number():
    assert metrics.novovicova_stability([[0, 0, 0, 0], [1, 1, 0, 0]]) == 0
    assert metrics.novovicova_stability(
        [[0, 0, 0], [1, 1, 0], [1, 1, 0]]
    ) == pytest.approx(np.log(2) / np.log(3))


def test_a_constant_row_is_unrelated_to_others():
    assert metrics.pearson_stability([[1.0, 1.0], [0.0, 1.0]]) == pytest.approx(
        0, abs=1e-15
    )
    assert metrics.pearson_stability(
        [[1.0, 1.0], [2.0, 2.0], [0.0, 1.0]]
    ) == pytest.approx(0, abs=1e-15)
    assert metrics.spearman_stability(
        [[1.0, 1.0], [2.0, 2.0], [0.0, 1.0]]
    ) == pytest.approx(1 / 3)


def test_cwrel_where_one_count_can_only_be_handed_out_one_way():
    assert metrics.cwrel_stability([[1, 0, 0], [0, 0, 0]]) == 0
    assert metrics.cwrel_stability([[1, 1, 1], [1, 1, 0]]) == pytest.approx(4 / 5)


# -- supports_from_sets ------------------------------------------------------------------------------------------------


def test_names_in_any_container_and_order():
    expected = [[True, False, True], [False, True, False], [False, False, False]]
    names = ["x", "y", "z"]
    for sets in ([{"z", "x"}, ["y"], ()], [["x", "z", "x"], iter("y"), []]):
        supports = supports_from_sets(sets, names)
        np.testing.assert_array_equal(supports.toarray(), expected)
        assert supports.dtype == bool
        assert supports.has_canonical_format


def test_indices_and_a_number_of_features():
    supports = supports_from_sets([{0, 2}, {np.int64(1)}], features=4)
    np.testing.assert_array_equal(supports.toarray(), [[1, 0, 1, 0], [0, 1, 0, 0]])
    assert metrics.hamming_stability(supports) == pytest.approx(1 / 4)


def test_names_from_an_index():
    frame = pd.DataFrame(columns=["a", "b"])
    np.testing.assert_array_equal(
        supports_from_sets([["b"]], frame.columns).toarray(), [[0, 1]]
    )


@pytest.mark.parametrize(
    ("sets", "features", "error", "message"),
    [
        (
            [{"a"}, {"q"}],
            ["a", "b"],
            ValueError,
            r"sets\[1\] holds 'q', which is not in features",
        ),
        ([{5}], 3, ValueError, r"sets\[0\] holds 5, which is not in features"),
        ([{-1}], 3, ValueError, r"sets\[0\] holds -1"),
        (
            [{"a"}],
            ["a", "b", "a"],
            ValueError,
            "features must be distinct, got 'a' more than once",
        ),
        (
            ["ab"],
            ["a", "b"],
            TypeError,
            r"sets\[0\] must be a set of features, got the string 'ab'",
        ),
        ([{"a"}], "ab", TypeError, "features must be a sequence of names or a number"),
    ],
)
def test_bad_sets(sets, features, error, message):
    with pytest.raises(error, match=message):
        supports_from_sets(sets, features)


def test_a_list_of_sets_is_pointed_to_supports_from_sets():
    with pytest.raises(ValueError, match="supports_from_sets"):
        metrics.jaccard_stability([{"a", "b"}, {"a"}])


@pytest.mark.parametrize("at_once", [1, 40, 2**15])
def test_sums_of_dense_tables_are_those_of_sparse_ones(monkeypatch, at_once):
    monkeypatch.setattr(_tables, "_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    masks = rng.random((7, 13)) < 0.4
    per_feature, per_run = rng.integers(9, size=13), rng.normal(size=7)
    for table in (_tables.Supports(masks), _tables.Supports(sparse.csr_array(masks))):
        np.testing.assert_array_equal(
            table.per_run_sum(per_feature), (masks * per_feature).sum(axis=1)
        )
        np.testing.assert_allclose(
            table.per_feature_sum(per_run), per_run @ masks, rtol=1e-12
        )


def test_an_interval_of_a_dense_table_takes_little_memory():
    masks = np.random.default_rng(0).random((50, 5000)) < 0.8
    stability_interval(masks)  # imports
    tracemalloc.start()
    stability_interval(masks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * masks.nbytes  # as CSR of floats it would be ten times the table

"""`Runs`: made from what people have, joined, taken apart, and measured as plain formulas say."""

import copy
import pickle
import warnings
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import rankdata
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skstab.metrics import (
    compare_stability,
    jaccard_stability,
    measure_table,
    nogueira_stability,
    stability_interval,
    stability_score,
    stability_test,
)
from skstab.model_selection import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    StabilityCV,
    collect_supports,
)
from skstab.runs import Outputs, Runs, Selection, selection_of
from tests.metrics import strategies
from tests.runs.same import assert_same_runs, dense

Z = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]], dtype=bool)
W = np.array([[3.0, 1, 0, 0], [2, 0, 0.5, 0], [1, 4, 0, 0], [1, 0, 0, 0]])
FORMS = {"dense": np.asarray, "sparse": sparse.csr_array}
KINDS = measure_table()["kind"]

forms = pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))


def full_runs(form=np.asarray):
    """Runs with every field."""
    return Runs(
        form(Z),
        form(W),
        coefs=form(-W),
        feature_names=["a", "b", "c", "d"],
        scores={"accuracy": [0.9, np.nan, 0.8, 0.7], "auc": [1, 2, 3, 4]},
        row_losses={
            "accuracy": [[0, np.nan, 1], [1, 1, np.nan], [0, 0, 0], [np.nan, 1, 0]]
        },
        row_predictions=[[1, np.nan, 0], [0, 1, np.nan], [1, 1, 1], [np.nan, 0, 0]],
        row_probabilities=[[0.9, np.nan, 0.2], [0.3, 0.8, np.nan]] * 2,
        row_counts=[[2, 0, 1], [1, 1, 0], [1, 1, 1], [0, 3, 0]],
        fit_times=[0.1, 0.2, 0.3, 0.4],
        split_numbers=[0, 1, 3, 4],
        pairs=[0, 0, 1, 2],
        outputs=Outputs(form(Z), names=["a_1", "a_2", "b", "c"], inputs=[0, 0, 1, 2]),
        refit=[True, True, False, False],
        refit_predictions=[0.8, 0.7, 0.3],
        n_failed=2,
        why_no_support=None,
        estimator_name="Lasso",
    )


@pytest.fixture(scope="module")
def fitted():
    X, y = make_classification(80, 6, n_informative=3, random_state=0)
    X = pd.DataFrame(X, columns=list("abcdef"))
    pipe = make_pipeline(SelectKBest(k=2), LogisticRegression())
    return StabilityCV(
        pipe, cv=BootstrapSplit(8, random_state=0), scoring="accuracy"
    ).fit(X, y)


# -- fields ------------------------------------------------------------------------------------------------------------


def test_the_runs_of_these_tests_have_every_field():
    bare, full = Runs(Z), full_runs()
    same = [
        field.name
        for field in fields(Runs)
        if repr(getattr(bare, field.name)) == repr(getattr(full, field.name))
    ]
    assert same == ["supports", "why_no_support"]


@forms
def test_fields_are_kept_and_tables_share_the_form_of_the_supports(form):
    runs = full_runs(form)
    assert len(runs) == 4
    assert runs.n_features == 4
    for name, expected in (("supports", Z), ("importances", W), ("coefs", -W)):
        kept = getattr(runs.tables, name)
        assert sparse.issparse(kept) == (form is sparse.csr_array)
        np.testing.assert_array_equal(dense(kept), expected)
        shown = getattr(runs, name)
        assert isinstance(shown, np.ndarray)
        assert not shown.flags.writeable
        np.testing.assert_array_equal(shown, expected)
    assert runs.supports.dtype == bool
    assert runs.feature_names.tolist() == list("abcd")
    assert list(runs.scores) == ["accuracy", "auc"]
    assert runs.split_numbers.tolist() == [0, 1, 3, 4]
    assert runs.n_failed == 2


@pytest.mark.parametrize(
    ("supports", "importances"), [(Z, sparse.csr_array(W)), (sparse.coo_array(Z), W)]
)
def test_tables_given_in_two_forms_are_kept_in_that_of_the_supports(
    supports, importances
):
    runs = Runs(supports, importances)
    kept = runs.tables
    assert (
        sparse.issparse(kept.supports)
        == sparse.issparse(kept.importances)
        == sparse.issparse(supports)
    )
    np.testing.assert_array_equal(dense(runs.importances), W)


@pytest.mark.parametrize("dtype", [int, float, bool, np.uint8])
@forms
def test_supports_of_any_numbers_become_booleans(dtype, form):
    assert Runs(form(Z.astype(dtype))).supports.dtype == bool


def test_what_is_not_given_has_plain_defaults():
    runs = Runs(Z.astype(int).tolist())
    assert runs.feature_names.tolist() == ["x0", "x1", "x2", "x3"]
    assert runs.split_numbers.tolist() == [0, 1, 2, 3]
    assert (runs.scores, runs.row_losses, runs.n_failed) == ({}, {}, 0)
    missing = (
        "importances",
        "coefs",
        "train_sizes",
        "fit_times",
        "pairs",
        "refit",
        "why_no_support",
        "estimator_name",
    )
    assert all(getattr(runs, name) is None for name in missing)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"importances": W[:, :3]},
            r"importances must have the shape \(4, 4\) of supports, got \(4, 3\)",
        ),
        ({"coefs": W[:3]}, r"coefs must have the shape \(4, 4\)"),
        ({"importances": np.where(W > 3, np.nan, W)}, "importances must be finite"),
        ({"importances": [["a"] * 4] * 4}, "importances must be numeric"),
        ({"feature_names": ["a"]}, "feature_names must be 4 names"),
        (
            {"scores": {"auc": [1, 2]}},
            r"scores\['auc'\] must have one number for each of the 4 runs",
        ),
        ({"scores": {"auc": ["high"] * 4}}, r"scores\['auc'\] must hold numbers"),
        (
            {"row_losses": {"auc": [1, 2, 3, 4]}},
            r"row_losses\['auc'\] must have one row for each of the 4 runs",
        ),
        (
            {"row_losses": {"auc": [["x"]] * 4}},
            r"row_losses\['auc'\] must hold numbers",
        ),
        ({"train_sizes": [1, 2, 3]}, "train_sizes must have one number for each"),
        ({"fit_times": [1, 2, 3]}, "fit_times must have one number for each"),
        ({"fit_times": "long"}, "fit_times must hold numbers"),
        (
            {"split_numbers": [0.0, 1, 2, 3]},
            "split_numbers must be one int for each of the 4 runs",
        ),
        ({"pairs": [0, 0, 1]}, "pairs must be one int for each of the 4 runs"),
        ({"pairs": [True] * 4}, "pairs must be one int for each"),
        ({"refit": [1, 0, 1, 0]}, "refit must be 4 booleans"),
        ({"n_failed": -1}, "n_failed must be an int of at least 0, got -1"),
        ({"n_failed": True}, "n_failed must be an int of at least 0, got True"),
    ],
)
def test_fields_that_do_not_fit_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        Runs(Z, **options)


@pytest.mark.parametrize(
    ("supports", "message"),
    [
        (2 * Z, "supports must hold only 0/1 or booleans"),
        (Z[0], "supports must be two-dimensional"),
        (np.empty((2, 0)), "supports must have at least one feature"),
        (
            [["TP53", "MYC"], ["TP53", "EGFR"]],
            r"lists of selected features go through skstab\.runs\.Runs\.from_sets",
        ),
    ],
)
def test_supports_are_checked(supports, message):
    with pytest.raises(ValueError, match=message):
        Runs(supports)


def test_runs_are_values():
    runs = full_runs()
    for field in fields(runs):
        with pytest.raises(FrozenInstanceError):
            setattr(runs, field.name, None)
    scores = {"auc": [1, 2, 3, 4]}
    made = Runs(Z, scores=scores)
    scores["other"] = scores.pop("auc")
    assert list(made.scores) == ["auc"]


@forms
def test_copies_and_pickles_are_the_same(form):
    runs = full_runs(form)
    for copied in (
        copy.copy(runs),
        copy.deepcopy(runs),
        pickle.loads(pickle.dumps(runs)),  # noqa: S301
        replace(runs, **runs.tables._asdict()),
    ):
        assert_same_runs(copied, runs)


def arrays_of(value):
    """Return every array in a value."""
    if isinstance(value, np.ndarray):
        return [value]
    if sparse.issparse(value):
        return [value.data, value.indices, value.indptr]
    if isinstance(value, Outputs):
        value = value.fields()
    if isinstance(value, Runs):
        value = vars(value)
    return (
        [array for part in value.values() for array in arrays_of(part)]
        if isinstance(value, dict)
        else []
    )


@forms
def test_no_array_of_runs_can_be_written_to_and_none_is_copied(form, tmp_path):
    runs = full_runs(form)
    runs.save(tmp_path / "runs")
    again = [
        runs,
        runs.take([1, 0]),
        Runs.concat([runs, runs]),
        Runs.load(tmp_path / "runs"),
        copy.deepcopy(runs),
    ]
    for made in [*again, pickle.loads(pickle.dumps(runs))]:  # noqa: S301
        arrays = arrays_of(made)
        assert len(arrays) >= 11
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = array
    table = form(Z.copy())
    first, kept = arrays_of(table)[0], arrays_of(Runs(table).tables.supports)[0]
    assert np.shares_memory(first, kept)
    first[...] = first  # what was given can still be written to


# -- from lists --------------------------------------------------------------------------------------------------------


def test_from_sets_with_names():
    runs = Runs.from_sets([["b", "a"], {"b"}, [], ("d",)], ["a", "b", "c", "d"])
    np.testing.assert_array_equal(
        dense(runs.supports), [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    )
    assert runs.feature_names.tolist() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("number", [5, np.int64(5)])
def test_from_sets_with_a_number_collects_names(number):
    runs = Runs.from_sets([["TP53", "MYC"], ["TP53"], ["EGFR"]], features=number)
    assert runs.feature_names.tolist() == [
        "EGFR",
        "MYC",
        "TP53",
        "(never selected 1)",
        "(never selected 2)",
    ]
    assert runs.frequencies()["TP53"] == 2 / 3
    assert runs.stability() == nogueira_stability(
        [[0, 1, 1, 0, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 0]]
    )


def test_from_sets_with_a_number_takes_indices():
    runs = Runs.from_sets([[0, 3], np.array([3]), range(2)], features=4)
    np.testing.assert_array_equal(
        dense(runs.supports), [[1, 0, 0, 1], [0, 0, 0, 1], [1, 1, 0, 0]]
    )
    assert runs.feature_names.tolist() == ["x0", "x1", "x2", "x3"]


def test_from_sets_reads_what_can_be_read_only_once():
    runs = Runs.from_sets(
        (iter(names) for names in (["a"], ["a", "b"])), (name for name in "abc")
    )
    assert runs.feature_names.tolist() == ["a", "b", "c"]
    assert dense(runs.supports).tolist() == [[True, False, False], [True, True, False]]


@pytest.mark.parametrize(
    ("sets", "features", "error", "message"),
    [
        (
            [["a"], ["z"]],
            ["a", "b"],
            ValueError,
            r"sets\[1\] holds 'z', which is not in features",
        ),
        (
            [["a", "b", "c"]],
            2,
            ValueError,
            "features must be at least 3, the number of different names",
        ),
        ([[0], [4]], 4, ValueError, r"sets\[1\] holds 4, which is not in features"),
        ([["a", 0]], 4, ValueError, r"sets\[0\] holds 0, which is not in features"),
        (
            ["ab", "c"],
            ["a", "b", "c"],
            TypeError,
            r"sets\[0\] must be a set of features, got the string 'ab'",
        ),
        ([["a"], 3], ["a"], TypeError, r"sets\[1\] must be a set of features, got 3"),
        (3, ["a"], TypeError, "sets must be an iterable of sets of features, got 3"),
        (
            "ab",
            ["a"],
            TypeError,
            "sets must be an iterable of sets of features, got 'ab'",
        ),
        ([["a"]], "abc", TypeError, "features must be a sequence of names or a number"),
        ([["a"]], True, TypeError, "features must be a sequence of names or a number"),
        ([["a"]], ["a", "a"], ValueError, "features must be distinct"),
        ([[]], 0, ValueError, "supports must have at least one feature"),
    ],
)
def test_bad_lists_are_refused_by_name(sets, features, error, message):
    with pytest.raises(error, match=message):
        Runs.from_sets(sets, features)


# -- from what is fitted -----------------------------------------------------------------------------------------------


def test_from_estimators_reads_what_collect_supports_reads(fitted):
    X, y = make_classification(80, 6, n_informative=3, random_state=0)
    X = pd.DataFrame(X, columns=list("abcdef"))
    result = cross_validate(
        make_pipeline(SelectKBest(k=2), LogisticRegression()),
        X,
        y,
        return_estimator=True,
    )
    runs = Runs.from_estimators(result)
    np.testing.assert_array_equal(dense(runs.supports), dense(collect_supports(result)))
    assert runs.feature_names.tolist() == list("abcdef")
    expected = np.zeros((5, 6))
    for row, pipe in zip(expected, result["estimator"], strict=True):
        row[pipe[0].get_support()] = np.abs(pipe[1].coef_[0])
    np.testing.assert_allclose(dense(runs.importances), expected)
    np.testing.assert_array_equal(np.abs(dense(runs.coefs)), dense(runs.importances))


def test_from_selections_reads_as_selection_of():
    X, y = make_classification(60, 5, n_informative=3, n_redundant=0, random_state=1)
    models = [
        LogisticRegression(l1_ratio=1, solver="liblinear", C=c).fit(X, y)
        for c in (0.05, 0.1, 1)
    ]
    selections = [selection_of(model, X, y) for model in models]
    runs = Runs.from_selections(selections, 5, feature_names=list("abcde"), n_failed=1)
    np.testing.assert_array_equal(
        dense(runs.supports), [model.coef_[0] != 0 for model in models]
    )
    np.testing.assert_allclose(dense(runs.coefs), [model.coef_[0] for model in models])
    np.testing.assert_array_equal(
        dense(runs.importances), [selection.importances for selection in selections]
    )
    assert (runs.feature_names.tolist(), runs.n_failed) == (list("abcde"), 1)


def test_importances_that_one_selection_lacks_are_left_out():
    mask = np.array([True, False])
    both = [
        Selection(mask, np.array([1.0, 0.0]), None, True),
        Selection(mask, None, None, True),
    ]
    assert Runs.from_selections(both, 2).importances is None
    assert Runs.from_selections(both[:1], 2).importances is not None


def test_no_selections_are_no_runs():
    runs = Runs.from_selections([], 3)
    assert (len(runs), runs.n_features) == (0, 3)
    assert (
        repr(runs)
        == "Runs(0 runs, 3 features, 0.0 selected on average, importances, coefs)"
    )
    with pytest.raises(ValueError, match="the runs must have at least 2 runs"):
        runs.stability()


# -- joining and taking ------------------------------------------------------------------------------------------------


@forms
def test_joining_what_was_taken_apart_gives_the_same(form):
    runs = full_runs(form)
    joined = Runs.concat(
        [
            runs.take(slice(0, 1)),
            runs.take([1, 2]),
            runs.take([False, False, False, True]),
        ]
    )
    for name in ("supports", "importances", "coefs"):
        np.testing.assert_array_equal(
            dense(getattr(joined, name)), dense(getattr(runs, name))
        )
    for name in (
        "row_predictions",
        "row_probabilities",
        "train_sizes",
        "fit_times",
        "split_numbers",
        "refit",
        "feature_names",
    ):
        np.testing.assert_array_equal(getattr(joined, name), getattr(runs, name))
    np.testing.assert_array_equal(joined.scores["accuracy"], runs.scores["accuracy"])
    np.testing.assert_array_equal(
        joined.row_losses["accuracy"], runs.row_losses["accuracy"]
    )
    assert joined.n_failed == 0
    assert len({sparse.issparse(table) for table in joined.tables}) == 1


def test_counts_of_rows_are_kept_sparse_and_refused_where_they_are_no_counts():
    runs = full_runs()
    assert sparse.issparse(runs.row_counts)
    assert runs.row_counts.dtype == np.int32
    assert runs.take([3, 0]).row_counts.toarray().tolist() == [[0, 3, 0], [2, 0, 1]]
    for counts in ([[-1.0, 0]] * 4, [[0.5, 0]] * 4, [[1e300, 0]] * 4):
        with pytest.raises(ValueError, match="row_counts must hold whole numbers"):
            Runs(Z, row_counts=counts)
    with pytest.raises(ValueError, match="row_counts must have one row for each of th"):
        Runs(Z, row_counts=[[1, 0]] * 3)


def test_counts_of_rows_of_other_data_are_dropped():
    few, many = (Runs(Z, row_counts=np.ones((4, n), dtype=int)) for n in (3, 5))
    assert Runs.concat([few, few]).row_counts.shape == (8, 3)
    assert Runs.concat([few, many]).row_counts is None


def test_runs_without_rows_have_nothing_about_single_rows():
    runs = full_runs()
    shared = runs.without_rows()
    assert shared.row_losses == {}
    assert (shared.row_predictions, shared.row_counts) == (None, None)
    assert (shared.row_probabilities, shared.refit_predictions) == (None, None)
    assert list(shared.scores) == list(runs.scores)
    assert shared.train_sizes.tolist() == [3, 2, 3, 3], "how many is about no row"
    n_rows = runs.row_counts.shape[1]
    for field in fields(shared):
        assert n_rows not in np.shape(getattr(shared, field.name)), field.name


def test_splits_and_pairs_are_numbered_on():
    runs = full_runs()
    joined = Runs.concat([runs, runs, runs])
    assert joined.split_numbers.tolist() == [0, 1, 3, 4, 5, 6, 8, 9, 10, 11, 13, 14]
    assert joined.pairs.tolist() == [0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8]
    assert joined.n_failed == 6
    assert joined.in_pairs().pairs.tolist() == [0, 0, 3, 3, 6, 6]


def test_numbers_that_did_not_occur_stay_as_they_are():
    first, second = (
        Runs(Z, split_numbers=[0, 1, 2, 3]),
        Runs(Z, split_numbers=[7, 6, 5, 4]),
    )
    assert Runs.concat([first, second]).split_numbers.tolist() == [
        0,
        1,
        2,
        3,
        7,
        6,
        5,
        4,
    ]


def test_joining_drops_what_some_parts_lack():
    runs, bare = (
        full_runs(),
        Runs(Z, feature_names=list("abcd"), scores={"auc": [5, 6, 7, 8]}),
    )
    joined = Runs.concat([runs, bare], missing_score=-1)
    missing = (
        *("importances", "coefs", "row_predictions", "row_probabilities"),
        *("train_sizes", "fit_times", "pairs"),
    )
    assert all(getattr(joined, name) is None for name in missing)
    assert joined.row_losses == {}
    np.testing.assert_array_equal(
        joined.scores["accuracy"], [0.9, np.nan, 0.8, 0.7, -1, -1, -1, -1]
    )
    np.testing.assert_array_equal(joined.scores["auc"], [1, 2, 3, 4, 5, 6, 7, 8])
    assert joined.refit.tolist() == [True, True, False, False]
    assert np.isnan(Runs.concat([bare, runs]).scores["accuracy"][:4]).all()


def test_a_reason_against_sets_survives_joining():
    joined = Runs.concat([Runs(Z), Runs(Z, why_no_support="Ridge keeps every feature")])
    with pytest.raises(
        ValueError,
        match="measure 'jaccard' compares selected features, but Ridge keeps every",
    ):
        joined.stability("jaccard")


def test_only_runs_of_the_same_features_are_joined():
    for names in (list("abce"), list("dcba")):
        with pytest.raises(
            ValueError,
            match="parts must be runs of the same features in the same order",
        ):
            Runs.concat(
                [Runs(Z, feature_names=list("abcd")), Runs(Z, feature_names=names)]
            )
    with pytest.raises(ValueError, match="parts must be runs of the same features"):
        Runs.concat([Runs(Z), Runs(Z[:, :3])])
    with pytest.raises(TypeError, match="parts must be one or more Runs"):
        Runs.concat([])
    with pytest.raises(TypeError, match="parts must be one or more Runs"):
        Runs.concat([Runs(Z), Z])


def test_losses_of_other_rows_are_not_joined():
    few, many = (Runs(Z, row_losses={"auc": np.ones((4, n_rows))}) for n_rows in (3, 5))
    with pytest.raises(
        ValueError,
        match=r"row_losses\['auc'\] of parts must be of the same rows, got \[3, 5\]",
    ):
        Runs.concat([few, many])


@forms
@pytest.mark.parametrize(
    "which", [[2, 0], np.array([2, 0]), slice(2, None, -2), [-2, -4]]
)
def test_taking_keeps_the_order_asked_for(form, which):
    taken = full_runs(form).take(which)
    np.testing.assert_array_equal(dense(taken.supports), Z[[2, 0]])
    np.testing.assert_array_equal(dense(taken.importances), W[[2, 0]])
    assert taken.split_numbers.tolist() == [3, 0]
    assert taken.scores["auc"].tolist() == [3, 1]
    assert taken.row_losses["accuracy"].tolist() == [
        [0, 0, 0],
        pytest.approx([0, np.nan, 1], nan_ok=True),
    ]
    assert taken.n_failed == 0


def test_taking_by_booleans_and_one_by_one():
    runs = full_runs()
    assert runs.take([True, False, False, True]).split_numbers.tolist() == [0, 4]
    assert runs.take(1).split_numbers.tolist() == [1]


@pytest.mark.parametrize("which", [[4], [True, False], [0.5], "first"])
def test_what_can_not_be_taken_is_refused_by_name(which):
    with pytest.raises(
        ValueError, match="which must be a slice, ints or booleans for 4 runs"
    ):
        full_runs().take(which)


def test_pairs_with_a_failed_half_are_left_out_and_halves_stand_together():
    names = {"pairs": [2, 0, 1, 2, 0, 3], "split_numbers": [5, 0, 2, 4, 1, 6]}
    runs = Runs(np.eye(6, dtype=bool), **names).in_pairs()
    assert runs.pairs.tolist() == [0, 0, 2, 2]
    assert runs.split_numbers.tolist() == [0, 1, 5, 4]
    np.testing.assert_array_equal(runs.supports, np.eye(6, dtype=bool)[[1, 4, 0, 3]])


def test_runs_that_are_not_of_pairs_say_how_to_make_them():
    with pytest.raises(
        ValueError, match=r"not of pairs of disjoint halves.*ComplementaryPairsSplit"
    ):
        Runs(Z).in_pairs()


def test_complementary_pairs_know_their_pairs_also_when_halves_fail():
    class Picky(SelectKBest):
        def fit(self, X, y):
            if X[0, 0] > 0.5:
                raise ValueError("no")
            return super().fit(X, y)

    X, y = make_classification(60, 5, n_informative=3, n_redundant=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = (
            StabilityCV(Picky(k=2), cv=ComplementaryPairsSplit(20, random_state=0))
            .fit(X, y)
            .runs_
        )
    assert runs.n_failed > 0
    np.testing.assert_array_equal(runs.pairs, runs.split_numbers // 2)
    paired = runs.in_pairs()
    assert 0 < len(paired) < 20
    np.testing.assert_array_equal(
        paired.split_numbers[::2] + 1, paired.split_numbers[1::2]
    )


# -- measuring ---------------------------------------------------------------------------------------------------------


def test_runs_say_what_stability_cv_says(fitted):
    runs = fitted.runs_
    np.testing.assert_array_equal(runs.supports, fitted.supports_)
    np.testing.assert_array_equal(runs.importances, fitted.importances_)
    assert runs.stability() == fitted.stability() == fitted.stability_
    assert runs.stability("spearman") == fitted.stability("spearman")
    assert runs.interval("jaccard") == fitted.interval("jaccard")
    assert runs.estimate() == fitted.stability_interval_
    np.testing.assert_array_equal(runs.frequencies(), fitted.selection_frequencies_)
    pd.testing.assert_frame_equal(
        runs.summary(), fitted.summary()[list(runs.summary())]
    )
    np.testing.assert_array_equal(runs.scores["accuracy"], fitted.scores_["accuracy"])


@pytest.mark.parametrize("name", KINDS.index)
@forms
def test_each_measure_gets_the_table_of_its_kind(name, form):
    runs = Runs(form(Z), form(W)).take(
        [0, 1, 2]
    )  # three runs of equal size, as some measures require
    tables = {"subset": Z[:3], "weights": W[:3], "ranking": rankdata(-W[:3], axis=1)}
    expected = stability_score(tables[KINDS[name]], measure=name)
    assert runs.stability(name) == pytest.approx(expected, abs=1e-12)
    assert stability_score(runs, measure=name) == runs.stability(name)


@settings(max_examples=40, deadline=None)
@given(z=strategies.supports(trivial=False, min_runs=3), seed=st.integers(0, 10))
def test_measures_intervals_and_frequencies_are_those_of_the_table(z, seed):
    importances = np.random.default_rng(seed).random(z.shape) * z
    for form in FORMS.values():
        runs = Runs(form(z), form(importances))
        assert runs.stability() == pytest.approx(nogueira_stability(z), abs=1e-12)
        interval, expected = (
            runs.interval("jaccard"),
            stability_interval(z, measure="jaccard"),
        )
        assert (interval.low, interval.high) == pytest.approx(
            (expected.low, expected.high), abs=1e-9
        )
        np.testing.assert_allclose(runs.frequencies(), z.mean(axis=0))
        summary = runs.summary()
        np.testing.assert_allclose(
            summary["importance_mean"], importances.mean(axis=0), atol=1e-12
        )
        np.testing.assert_allclose(
            summary["importance_std"], importances.std(axis=0, ddof=1), atol=1e-9
        )


def test_signs_are_consistent_by_the_share_of_the_more_common_one():
    coefs = np.array([[1.0, -2, 0, 0], [1, 2, 0, 0], [-3, 2, 0, 0], [1, 0, 0, 0]])
    summary = Runs(coefs != 0, np.abs(coefs), coefs=coefs).summary()
    assert summary["sign_consistency"].tolist() == pytest.approx(
        [3 / 4, 2 / 3, np.nan, np.nan], nan_ok=True
    )
    assert list(summary.index) == ["x0", "x1", "x2", "x3"]


def test_two_runs_have_a_stability_without_ends_and_one_run_has_no_deviation():
    two = Runs(Z[:2], W[:2])
    estimate = two.estimate("jaccard")
    assert estimate.estimate == jaccard_stability(Z[:2]) == pytest.approx(1 / 3)
    assert np.isnan([estimate.low, estimate.high, estimate.standard_error]).all()
    one = two.take([0]).summary()
    assert one["importance_std"].isna().all()
    assert one["frequency"].tolist() == [1, 1, 0, 0]


def test_runs_without_importances_say_so():
    with pytest.raises(
        ValueError,
        match="measure 'pearson' compares importances, but the selector has none",
    ):
        Runs(Z).stability("pearson")
    with pytest.raises(ValueError, match="but Lasso has none"):
        Runs(Z, estimator_name="Lasso").table_for("canberra")


@pytest.mark.parametrize("source", ["runs", "estimator"])
def test_metrics_take_runs_or_what_holds_them(source, fitted):
    data = fitted.runs_ if source == "runs" else fitted
    table = dense(fitted.supports_)
    assert stability_score(data) == pytest.approx(nogueira_stability(table), abs=1e-12)
    assert stability_interval(data).low == pytest.approx(
        stability_interval(table).low, abs=1e-9
    )
    assert stability_test(data, 0.2).pvalue == pytest.approx(
        stability_test(table, 0.2).pvalue, abs=1e-9
    )
    other = Runs(table[:, ::-1])
    for paired in (False, True):
        found = compare_stability(data, other, measure="jaccard", paired=paired)
        expected = compare_stability(
            table, table[:, ::-1], measure="jaccard", paired=paired
        )
        assert (found.difference, found.pvalue) == pytest.approx(
            (expected.difference, expected.pvalue), abs=1e-9
        )
    weights = stability_score(data, measure="importance_weighted")
    assert weights == pytest.approx(
        stability_score(dense(fitted.importances_), measure="importance_weighted")
    )


@pytest.mark.parametrize(
    "lists",
    [
        [["TP53", "MYC"], ["TP53", "EGFR"]],
        [["TP53"], ["TP53", "EGFR"]],
        [{"TP53"}, {"MYC"}],
        [("a", "b"), ("c", "d")],
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        stability_score,
        stability_interval,
        lambda data: stability_test(data, 0.5),
        lambda data: compare_stability(data, Z),
    ],
)
def test_lists_of_names_are_told_where_to_go(lists, call):
    with pytest.raises(
        ValueError,
        match=r"lists of selected features go through skstab\.runs\.Runs\.from_sets",
    ):
        call(lists)


def test_what_holds_no_runs_is_refused():
    with pytest.raises(ValueError, match="data must be a matrix of numbers"):
        stability_score(GaussianNB())


# -- how they look -----------------------------------------------------------------------------------------------------


def test_the_repr_is_a_line_without_arrays():
    assert repr(full_runs()) == (
        "Runs(4 runs, 4 features, 1.8 selected on average, importances, coefs, pairs, outputs, refit, "
        "scores: accuracy, auc, 2 failed)"
    )
    assert (
        repr(Runs(Z))
        == repr(Runs(sparse.csr_array(Z)))
        == "Runs(4 runs, 4 features, 1.8 selected on average)"
    )


def test_html_escapes_names_and_shows_the_most_frequent_first():
    runs = Runs(
        Z,
        feature_names=["<b>", "b", "c", "never"],
        scores={"auc": [np.nan] * 4, "r2": [1, 2, 3, np.nan]},
    )
    html = runs._repr_html_()
    assert "4 runs, 1.8 of 4 features selected on average" in html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert html.index("&lt;b&gt;") < html.index(">b</bdi>") < html.index(">c</bdi>")
    assert "never" not in html
    assert "auc unknown" in html
    assert "r2 2.000" in html
    assert runs.to_html(heading="<h3>x</h3>").count("<h3>x</h3>") == 1

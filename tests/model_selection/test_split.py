"""What the splitters promise: partitions, strata, groups, reproducible and extensible draws."""

import pickle
from copy import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import clone, config_context
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, check_cv, cross_validate

from skstab.model_selection._split import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    DisjointBlocksSplit,
    WholeSampleSplit,
)
from skstab.model_selection._stability_cv import StabilityCV
from tests.discovery import splitters

RESAMPLERS = [BootstrapSplit, ComplementaryPairsSplit]
# Of every splitter that is exported, for the tests of what all have in common.
ALL = [
    BootstrapSplit(4, stratify=True, random_state=0),
    ComplementaryPairsSplit(4, random_state=0),
    DisjointBlocksSplit([0.25, 0.4], 2, random_state=0),
    WholeSampleSplit(),
    WholeSampleSplit(3),
]
everywhere = pytest.mark.parametrize(
    "cv", ALL, ids=lambda cv: f"{type(cv).__name__}-{cv.get_n_splits()}"
)
SEEDS = st.integers(0, 2**32 - 1)

resamplers = pytest.mark.parametrize("splitter", RESAMPLERS)
quick = settings(max_examples=60, deadline=None)


@st.composite
def targets(draw, min_class_size=2):
    """Classes of which each has enough rows for both halves, in random order."""
    sizes = draw(st.lists(st.integers(min_class_size, 9), min_size=2, max_size=5))
    return np.array(
        draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist()))
    )


@st.composite
def grouped_targets(draw):
    """Groups of one class each, two or more of each class, of unequal sizes, in random order."""
    y_of_group = draw(targets())
    sizes = draw(
        st.lists(st.integers(1, 4), min_size=len(y_of_group), max_size=len(y_of_group))
    )
    groups = np.array(
        draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist()))
    )
    return y_of_group[groups], groups


def splits_of(cv, n_rows, y=None, groups=None):
    return list(cv.split(np.zeros((n_rows, 1)), y, groups))


def assert_same_splits(first, second):
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])


def differ(first, second):
    return any(
        not np.array_equal(a[0], b[0]) for a, b in zip(first, second, strict=True)
    )


def assert_partition(train, test, n_rows):
    assert np.issubdtype(train.dtype, np.integer)
    assert np.issubdtype(test.dtype, np.integer)
    assert len(test) > 0
    np.testing.assert_array_equal(
        np.sort(np.concatenate([np.unique(train), test])), np.arange(n_rows)
    )


def test_every_exported_splitter_is_tested():
    assert {type(cv).__name__ for cv in ALL} == set(splitters())


@everywhere
def test_splits_are_rows_of_the_data_and_as_many_as_promised(cv):
    X, y = np.zeros((30, 2)), np.arange(30) % 2
    splits = list(cv.split(X, y))
    assert len(splits) == cv.get_n_splits(X, y) == cv.get_n_splits()
    for train, test in splits:
        assert len(train) > 0
        assert len(test) > 0
        assert np.isin(np.concatenate([train, test]), np.arange(30)).all()
    assert_same_splits(list(cv.split(X, y)), splits)


# -- what a split is ---------------------------------------------------------------------------------------------------


@resamplers
@quick
@given(n_rows=st.integers(2, 30), seed=SEEDS)
def test_train_and_test_share_no_row_and_miss_none(splitter, n_rows, seed):
    for train, test in splits_of(splitter(6, random_state=seed), n_rows):
        assert_partition(train, test, n_rows)
        assert np.all(np.diff(train) >= 0)
        assert np.all(np.diff(test) > 0)


@quick
@given(n_rows=st.integers(2, 30), seed=SEEDS)
def test_bootstrap_trains_on_as_many_rows_as_there_are(n_rows, seed):
    assert all(
        len(train) == n_rows
        for train, _ in splits_of(BootstrapSplit(5, random_state=seed), n_rows)
    )


@quick
@given(y=targets(), stratify=st.booleans(), seed=SEEDS)
def test_pairs_are_disjoint_halves_of_equal_size(y, stratify, seed):
    cv = ComplementaryPairsSplit(6, stratify=stratify, random_state=seed)
    trains = [train for train, _ in splits_of(cv, len(y), y)]
    for first, second in zip(trains[::2], trains[1::2], strict=True):
        assert len(first) == len(second) == len(y) // 2
        assert len(np.union1d(first, second)) == 2 * (len(y) // 2)


def test_pairs_are_drawn_anew():
    trains = [
        tuple(t) for t, _ in splits_of(ComplementaryPairsSplit(20, random_state=0), 20)
    ]
    assert len(set(trains)) == 20


def test_out_of_bag_fraction():
    n_rows, y = 100_000, np.arange(100_000) % 3
    for stratify in (False, True):
        cv = BootstrapSplit(2, stratify=stratify, random_state=0)
        for _, test in splits_of(cv, n_rows, y):
            # the standard deviation of the fraction is below 0.001
            assert len(test) / n_rows == pytest.approx(np.exp(-1), abs=0.005)


@pytest.mark.parametrize("stratify", [False, True])
def test_bootstrap_draws_every_row_equally_often(stratify):
    y = np.array([0, 1, 1, 2, 2, 2, 0, 2, 2, 2])
    cv = BootstrapSplit(4000, stratify=stratify, random_state=0)
    counts = np.bincount(np.concatenate([train for train, _ in splits_of(cv, 10, y)]))
    # a row's count is a sum of 4000 variables of mean 1 and variance below 1: 5 sd are 0.08
    np.testing.assert_allclose(counts / 4000, 1, atol=0.08)


@pytest.mark.parametrize(
    ("y", "stratify", "expected"),
    [
        (None, False, np.full(7, 3 / 7)),
        # the class of even size always gives half of its rows, so the other one misses a row
        ([0, 0, 0, 0, 1, 1, 1], True, [1 / 2] * 4 + [1 / 3] * 3),
        # of two odd classes in an even number of rows, either gives its odd row to either half
        ([0, 0, 0, 1, 1, 1, 1, 1], True, [1 / 2] * 8),
        # the row that is missed is any of the rows of the classes of odd size
        ([0, 1, 1, 1, 2, 2, 2, 2, 2], True, [4 / 9] * 9),
    ],
)
def test_pairs_draw_rows_with_the_probability_of_their_class(y, stratify, expected):
    cv = ComplementaryPairsSplit(8000, stratify=stratify, random_state=0)
    splits = splits_of(cv, len(expected), y)
    for side in (splits[::2], splits[1::2]):
        counts = np.bincount(np.concatenate([train for train, _ in side]))
        # 4000 draws of a proportion: 5 standard deviations are 0.04
        np.testing.assert_allclose(counts / 4000, expected, atol=0.04)


@pytest.mark.parametrize(
    "X", [np.zeros((5, 2)), [[1], [2], [3], [4], [5]], sparse.eye(5).tocsr()]
)
def test_whole_sample_has_every_row_on_both_sides(X):
    cv = WholeSampleSplit()
    [(train, test)] = cv.split(X, [0, 1, 0, 1, 0], groups=[1, 1, 2, 2, 2])
    np.testing.assert_array_equal(train, np.arange(5))
    np.testing.assert_array_equal(test, np.arange(5))
    assert not np.shares_memory(train, test)
    assert cv.get_n_splits() == cv.get_n_splits(X, None, None) == 1


@pytest.mark.parametrize("n_splits", [1, 3, np.int64(30)])
def test_whole_sample_repeats_the_same_split(n_splits):
    cv = WholeSampleSplit(n_splits)
    splits = splits_of(cv, 5, np.arange(5) % 2)
    assert_same_splits(splits, splits_of(WholeSampleSplit(), 5) * int(n_splits))
    assert cv.get_n_splits() == n_splits
    assert type(cv.get_n_splits()) is int
    arrays = [side for split in splits for side in split]
    assert not any(
        np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i]
    )


@resamplers
@pytest.mark.parametrize(
    "X", [np.zeros(6), [[0]] * 6, sparse.eye(6).tocsr(), pd.DataFrame({"a": range(6)})]
)
def test_only_the_number_of_rows_of_X_matters(splitter, X):
    cv = splitter(4, random_state=0)
    assert_same_splits(list(cv.split(X)), splits_of(cv, 6))


# -- strata ------------------------------------------------------------------------------------------------------------


@quick
@given(y=targets(), seed=SEEDS)
def test_stratified_bootstrap_keeps_class_counts(y, seed):
    for train, test in splits_of(
        BootstrapSplit(4, stratify=True, random_state=seed), len(y), y
    ):
        assert_partition(train, test, len(y))
        np.testing.assert_array_equal(np.bincount(y[train]), np.bincount(y))


@quick
@given(y=targets(), seed=SEEDS)
def test_stratified_pairs_halve_each_class(y, seed):
    sizes = np.bincount(y)
    cv = ComplementaryPairsSplit(4, stratify=True, random_state=seed)
    for train, test in splits_of(cv, len(y), y):
        assert_partition(train, test, len(y))
        counts = np.bincount(y[train], minlength=len(sizes))
        assert np.all(counts >= sizes // 2)
        assert np.all(counts <= (sizes + 1) // 2)


@resamplers
@pytest.mark.parametrize(
    "kind",
    [
        lambda y: ["yes" if v else "no" for v in y],
        lambda y: pd.Series(y).map({0: "no", 1: "yes"}).astype("category"),
        lambda y: pd.Series(y, dtype="Int64"),
        lambda y: y.astype(bool),
        lambda y: y[:, np.newaxis],
        lambda y: y.astype(float),
    ],
)
def test_labels_of_any_kind_are_classes(splitter, kind):
    y = np.array([0] * 6 + [1] * 4)
    cv = splitter(6, stratify=True, random_state=0)
    assert_same_splits(splits_of(cv, 10, kind(y)), splits_of(cv, 10, y))


@resamplers
@pytest.mark.parametrize("stratify", [False, True])
@quick
@given(y=targets(), seed=SEEDS)
def test_training_sets_have_two_classes(splitter, stratify, y, seed):
    cv = splitter(6, stratify=stratify, random_state=seed)
    assert all(len(np.unique(y[train])) >= 2 for train, _ in splits_of(cv, len(y), y))


@pytest.mark.parametrize(
    ("splitter", "y"),
    [
        (BootstrapSplit, np.array([0] * 20 + [1])),
        (BootstrapSplit, np.array(["a", "b", "b"])),
        (ComplementaryPairsSplit, np.array([0] * 20 + [1] * 2)),
        (ComplementaryPairsSplit, np.array([0] * 9 + [1, 2])),
    ],
)
@pytest.mark.parametrize("grouped", [False, True])
def test_a_rare_class_is_redrawn_until_present(splitter, y, grouped):
    groups = np.arange(len(y)) if grouped else None
    first, second = (
        splits_of(splitter(60, random_state=3), len(y), y, groups) for _ in range(2)
    )
    assert all(len(np.unique(y[train])) >= 2 for train, _ in first)
    assert_same_splits(first, second)


@resamplers
@pytest.mark.parametrize("y", [None, np.zeros(8, dtype=int), np.linspace(0, 1, 8)])
def test_one_class_or_no_classes_is_no_reason_to_redraw(splitter, y):
    cv = splitter(6, random_state=0)
    assert_same_splits(splits_of(cv, 8, y), splits_of(cv, 8))


@resamplers
@pytest.mark.parametrize(
    "y",
    [
        np.arange(40),
        np.linspace(0, 1, 80).reshape(40, 2),
        sparse.random(40, 3, density=0.5, random_state=0).astype(bool).tocsr(),
    ],
    ids=["integer regression", "multioutput", "sparse multilabel"],
)
def test_targets_that_are_not_classes_do_not_disturb(splitter, y):
    cv = splitter(6, random_state=0)
    assert_same_splits(splits_of(cv, 40, y), splits_of(cv, 40))


@pytest.mark.parametrize("n_rows", [2, 3])
def test_tiny_samples_are_redrawn_until_a_row_is_left(n_rows):
    splits = splits_of(BootstrapSplit(50, random_state=0), n_rows)
    assert min(len(test) for _, test in splits) == 1
    assert_same_splits(splits, splits_of(BootstrapSplit(50, random_state=0), n_rows))


# -- groups ------------------------------------------------------------------------------------------------------------


@resamplers
@pytest.mark.parametrize("stratify", [False, True])
@quick
@given(data=grouped_targets(), seed=SEEDS)
def test_groups_stay_whole(splitter, stratify, data, seed):
    y, groups = data
    size = np.bincount(groups)
    for train, test in splits_of(
        splitter(4, stratify=stratify, random_state=seed), len(y), y, groups
    ):
        assert_partition(train, test, len(y))
        times = np.bincount(groups[train], minlength=len(size)) / size
        # every row of a group as often as the group was drawn
        np.testing.assert_array_equal(
            np.bincount(train, minlength=len(y)), times[groups]
        )


@quick
@given(data=grouped_targets(), stratify=st.booleans(), seed=SEEDS)
def test_bootstrap_draws_as_many_groups_as_there_are(data, stratify, seed):
    y, groups = data
    first = np.unique(groups, return_index=True)[1]
    cv = BootstrapSplit(4, stratify=stratify, random_state=seed)
    for train, _ in splits_of(cv, len(y), y, groups):
        times = np.bincount(train, minlength=len(y))[first]
        assert times.sum() == len(first)
        if stratify:
            per_class = np.bincount(y[first], weights=times)
            np.testing.assert_array_equal(per_class, np.bincount(y[first]))


@quick
@given(data=grouped_targets(), stratify=st.booleans(), seed=SEEDS)
def test_pairs_halve_the_groups(data, stratify, seed):
    y, groups = data
    n_groups = len(np.unique(groups))
    y_of_group = y[np.unique(groups, return_index=True)[1]]
    cv = ComplementaryPairsSplit(4, stratify=stratify, random_state=seed)
    halves = [np.unique(groups[train]) for train, _ in splits_of(cv, len(y), y, groups)]
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        assert len(first) == len(second) == n_groups // 2
        assert not np.intersect1d(first, second).size
    if stratify:
        sizes = np.bincount(y_of_group)
        for half in halves:
            counts = np.bincount(y_of_group[half], minlength=len(sizes))
            assert np.all(counts >= sizes // 2)


@resamplers
def test_group_labels_are_only_names(splitter):
    groups, cv = np.arange(20) // 4, splitter(6, random_state=0)
    expected = splits_of(cv, 20, groups=groups)
    for names in (
        [f"site {g}" for g in groups],
        pd.Series(groups * 10),
        groups[:, np.newaxis],
    ):
        assert_same_splits(splits_of(cv, 20, groups=names), expected)


@resamplers
def test_one_row_a_group_is_like_no_groups(splitter):
    y, cv = np.arange(11) % 2, splitter(6, stratify=True, random_state=0)
    assert_same_splits(splits_of(cv, 11, y, np.arange(11)), splits_of(cv, 11, y))


# -- randomness --------------------------------------------------------------------------------------------------------


@resamplers
@quick
@given(
    y=targets(),
    stratify=st.booleans(),
    grouped=st.booleans(),
    n_pairs=st.tuples(st.integers(1, 4), st.integers(5, 8)),
    seed=SEEDS,
)
def test_more_splits_extend_the_earlier_ones(
    splitter, y, stratify, grouped, n_pairs, seed
):
    groups = np.arange(len(y)) if grouped else None
    short, long = (
        splitter(2 * n, stratify=stratify, random_state=seed) for n in n_pairs
    )
    assert_same_splits(
        splits_of(short, len(y), y, groups),
        splits_of(long, len(y), y, groups)[: 2 * n_pairs[0]],
    )


@resamplers
def test_an_int_repeats_whatever_happens_in_between(splitter):
    cv, X = splitter(6, random_state=7), np.zeros((20, 1))
    expected = list(cv.split(X))
    one, other, interleaved = cv.split(X), cv.split(X), []
    for a, b in zip(one, other, strict=True):
        interleaved.append(a)
        assert_same_splits([a], [b])
    assert_same_splits(interleaved, expected)
    assert_same_splits(splits_of(splitter(6, random_state=7), 20), expected)
    assert differ(splits_of(splitter(6, random_state=8), 20), expected)


@resamplers
def test_none_and_a_shared_random_state_vary(splitter):
    assert differ(splits_of(splitter(6), 20), splits_of(splitter(6), 20))
    shared = splitter(6, random_state=np.random.RandomState(0))
    first, second = splits_of(shared, 20), splits_of(shared, 20)
    assert differ(first, second)
    again = splitter(6, random_state=np.random.RandomState(0))
    assert_same_splits(splits_of(again, 20), first)
    assert_same_splits(splits_of(again, 20), second)


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("splitter", "n_splits", "error", "expected"),
    [
        (BootstrapSplit, 0, ValueError, "n_splits must be an int >= 1, got 0"),
        (BootstrapSplit, 2.0, TypeError, "n_splits must be an int >= 1, got 2.0"),
        (BootstrapSplit, True, TypeError, "n_splits must be an int >= 1, got True"),
        (BootstrapSplit, None, TypeError, "n_splits must be an int >= 1, got None"),
        (
            ComplementaryPairsSplit,
            0,
            ValueError,
            "n_splits must be an even int >= 2, got 0",
        ),
        (
            ComplementaryPairsSplit,
            5,
            ValueError,
            "n_splits must be an even int >= 2, got 5",
        ),
        (
            ComplementaryPairsSplit,
            "4",
            TypeError,
            "n_splits must be an even int >= 2, got '4'",
        ),
        (WholeSampleSplit, 0, ValueError, "n_splits must be an int >= 1, got 0"),
        (WholeSampleSplit, -1, ValueError, "n_splits must be an int >= 1, got -1"),
        (WholeSampleSplit, 1.0, TypeError, "n_splits must be an int >= 1, got 1.0"),
        (WholeSampleSplit, True, TypeError, "n_splits must be an int >= 1, got True"),
        (WholeSampleSplit, None, TypeError, "n_splits must be an int >= 1, got None"),
    ],
)
def test_n_splits_is_checked(splitter, n_splits, error, expected):
    cv = splitter(n_splits)
    with pytest.raises(error, match=expected):
        cv.split(np.zeros((9, 1)))
    with pytest.raises(error, match=expected):
        cv.get_n_splits()


@resamplers
def test_parameters_are_checked(splitter):
    with pytest.raises(TypeError, match="stratify must be a bool, got 'yes'"):
        splitter(4, stratify="yes").split(np.zeros((9, 1)))
    for bad in ("seed", -1, np.random.default_rng(0)):
        with pytest.raises(ValueError, match=r"random_state must be None, an int"):
            splitter(4, random_state=bad).split(np.zeros((9, 1)))
    with pytest.raises(TypeError, match="positional"):
        splitter(4, True)


@resamplers
def test_what_sklearn_calls_positionally_stays_positional(splitter):
    cv, y = splitter(np.int64(4), stratify=np.True_), np.arange(8) % 2
    assert (
        len(list(cv.split(np.zeros((8, 1)), y, None)))
        == cv.get_n_splits(None, y, None)
        == 4
    )
    assert type(cv.get_n_splits()) is int


@everywhere
def test_lengths_are_checked(cv):
    X = np.zeros((9, 1))
    with pytest.raises(
        ValueError, match="y must have one entry for each of the 9 rows of X"
    ):
        cv.split(X, np.zeros(8))
    with pytest.raises(ValueError, match=r"groups must have one entry .* got 10"):
        cv.split(X, None, np.zeros(10))
    with pytest.raises(TypeError, match="X must be array-like, got NoneType"):
        cv.split(None)
    with pytest.raises(TypeError, match="groups must be array-like, got int"):
        cv.split(X, None, 3)
    with pytest.raises(ValueError, match=r"n_samples=0|the 0 rows"):
        cv.split(np.zeros((0, 1)), [])


@resamplers
def test_too_little_to_draw_from(splitter):
    with pytest.raises(ValueError, match="expects at least 2 rows, got n_samples=1"):
        splitter().split(np.zeros((1, 1)))
    with pytest.raises(ValueError, match="expects at least 2 groups, got n_groups=1"):
        splitter().split(np.zeros((4, 1)), None, ["a"] * 4)


@pytest.mark.parametrize(
    ("cv", "y", "groups"),
    [
        (BootstrapSplit(), [0, 1], None),
        (BootstrapSplit(), [0, 0, 1], [0, 0, 1]),
        (BootstrapSplit(stratify=True), [0, 1, 2, 3], None),
        (ComplementaryPairsSplit(), [0, 0, 0, 0, 0, 1], None),
        (ComplementaryPairsSplit(stratify=True), [0, 1, 1], None),
        (ComplementaryPairsSplit(), [0, 1, 0, 0], [0, 0, 1, 1]),
    ],
)
def test_too_few_of_a_class(cv, y, groups):
    with pytest.raises(
        ValueError, match="at least 2 classes and leave out at least 1 row"
    ):
        next(cv.split(np.zeros((len(y), 1)), y, groups))


@resamplers
def test_stratify_needs_classes(splitter):
    cv, X = splitter(stratify=True), np.zeros((6, 1))
    for y, got in [
        (None, "None"),
        (np.linspace(0, 1, 6), "continuous"),
        (np.eye(6, dtype=int), "multilabel-indicator"),
    ]:
        with pytest.raises(ValueError, match=f"stratify=True expects y .* got {got}"):
            cv.split(X, y)
    with pytest.raises(ValueError, match="expects every group to have one class of y"):
        cv.split(X, [0, 1, 0, 1, 0, 0], [1, 1, 2, 2, 3, 3])


@resamplers
def test_labels_are_checked(splitter):
    X = np.zeros((4, 1))
    with pytest.raises(ValueError, match="y contains NaN"):
        splitter().split(X, [0.0, np.nan, 1.0, 1.0])
    with pytest.raises(ValueError, match="groups contains NaN"):
        splitter().split(X, None, [0.0, np.nan, 1.0, 1.0])
    with pytest.raises(TypeError, match="groups must hold labels of one type"):
        splitter().split(X, None, np.array([1, "a", 1, "a"], dtype=object))
    with pytest.raises(
        ValueError, match=r"groups must be one-dimensional, got shape \(4, 2\)"
    ):
        splitter().split(X, None, np.zeros((4, 2)))


# -- in scikit-learn ---------------------------------------------------------------------------------------------------


@pytest.fixture
def data():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40, 3))
    return X, (X[:, 0] > 0).astype(int), np.repeat(np.arange(10), 4)


def test_repr_shows_the_parameters():
    assert (
        repr(BootstrapSplit(3))
        == "BootstrapSplit(n_splits=3, random_state=None, stratify=False)"
    )
    cv = ComplementaryPairsSplit(4, stratify=True, random_state=2)
    assert vars(eval(repr(cv))) == vars(cv)  # noqa: S307
    assert repr(WholeSampleSplit()) == "WholeSampleSplit(n_splits=1)"
    assert repr(WholeSampleSplit(30)) == "WholeSampleSplit(n_splits=30)"


@everywhere
def test_state_is_the_parameters_and_survives_pickling(cv, data):
    X, y, _ = data
    before = dict(vars(cv))
    expected = list(cv.split(X, y))
    assert vars(cv) == before
    assert_same_splits(list(pickle.loads(pickle.dumps(cv)).split(X, y)), expected)  # noqa: S301


@everywhere
def test_cross_validate_uses_the_splits(cv, data):
    X, y, _ = data
    result = cross_validate(LogisticRegression(), X, y, cv=cv, return_indices=True)
    used = list(zip(result["indices"]["train"], result["indices"]["test"], strict=True))
    assert_same_splits(used, list(cv.split(X, y)))
    assert np.all(result["test_score"] > 0.5)


@everywhere
def test_cross_validate_a_regressor(cv, data):
    X = data[0]
    cv = copy(cv)
    vars(cv).update({"stratify": False} if hasattr(cv, "stratify") else {})
    result = cross_validate(DummyRegressor(), X, X[:, 0], cv=cv)
    assert len(result["test_score"]) == cv.get_n_splits()
    assert np.all(np.isfinite(result["test_score"]))


@everywhere
def test_grid_search_refits_on_all_rows(cv, data):
    X, y, _ = data
    search = GridSearchCV(LogisticRegression(), {"C": [1e-4, 1.0]}, cv=cv)
    search = clone(search).fit(X, y)
    assert search.n_splits_ == cv.get_n_splits()
    assert search.best_index_ == np.argmax(search.cv_results_["mean_test_score"])
    expected = LogisticRegression(**search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.best_estimator_.coef_, expected.coef_)


def test_whole_sample_scores_the_model_that_is_refit(data):
    X, y, _ = data
    search = GridSearchCV(
        LogisticRegression(), {"C": [1.0]}, cv=WholeSampleSplit()
    ).fit(X, y)
    assert search.best_score_ == search.score(X, y)


@everywhere
def test_check_cv_passes_it_through(cv):
    assert check_cv(cv, y=[0, 1], classifier=True) is cv


@resamplers
def test_groups_without_routing(splitter, data):
    X, y, groups = data
    cv = splitter(6, random_state=0)
    result = cross_validate(
        DummyClassifier(), X, y, cv=cv, groups=groups, return_indices=True
    )
    used = list(zip(result["indices"]["train"], result["indices"]["test"], strict=True))
    assert_same_splits(used, list(cv.split(X, y, groups)))
    search = GridSearchCV(DummyClassifier(), {"strategy": ["prior"]}, cv=cv)
    assert search.fit(X, y, groups=groups).n_splits_ == 6


@resamplers
@config_context(enable_metadata_routing=True)
def test_groups_are_routed_by_default(splitter, data):
    X, y, groups = data
    cv = splitter(6, random_state=0)
    result = cross_validate(
        DummyClassifier(), X, y, cv=cv, params={"groups": groups}, return_indices=True
    )
    used = list(zip(result["indices"]["train"], result["indices"]["test"], strict=True))
    assert_same_splits(used, list(cv.split(X, y, groups)))
    plain = cross_validate(DummyClassifier(), X, y, cv=cv, return_indices=True)
    assert differ(
        list(zip(plain["indices"]["train"], plain["indices"]["test"], strict=True)),
        used,
    )


@resamplers
@config_context(enable_metadata_routing=True)
def test_groups_are_routed_as_requested(splitter, data):
    X, y, groups = data
    renamed = splitter(6, random_state=0).set_split_request(groups="site")
    result = cross_validate(
        DummyClassifier(),
        X,
        y,
        cv=renamed,
        params={"site": groups},
        return_indices=True,
    )
    for train, test in zip(
        result["indices"]["train"], result["indices"]["test"], strict=True
    ):
        assert not np.intersect1d(groups[train], groups[test]).size
    unwanted = splitter(6, random_state=0).set_split_request(groups=False)
    with pytest.raises(TypeError, match="groups"):
        cross_validate(DummyClassifier(), X, y, cv=unwanted, params={"groups": groups})


@config_context(enable_metadata_routing=True)
def test_whole_sample_requests_no_groups(data):
    X, y, groups = data
    assert not hasattr(WholeSampleSplit(), "set_split_request")
    with pytest.raises(TypeError, match="groups"):
        cross_validate(
            DummyClassifier(), X, y, cv=WholeSampleSplit(), params={"groups": groups}
        )


# -- blocks of several sizes -------------------------------------------------------------------------------------------


@quick
@given(
    n_rows=st.integers(4, 40),
    sizes=st.lists(st.sampled_from([1, 2, 0.25, 0.5]), min_size=1),
    seed=SEEDS,
)
def test_blocks_of_a_pair_are_disjoint_and_of_their_size(n_rows, sizes, seed):
    cv = DisjointBlocksSplit(sizes, 3, random_state=seed)
    splits = splits_of(cv, n_rows)
    assert len(splits) == cv.get_n_splits() == 6 * len(sizes)
    for number, (train, test) in enumerate(splits):
        size = sizes[number // 2 % len(sizes)]
        assert len(train) == (size if isinstance(size, int) else int(size * n_rows))
        assert_partition(train, test, n_rows)
    for (first, _), (second, _) in zip(splits[::2], splits[1::2], strict=True):
        assert not np.intersect1d(first, second).size


@quick
@given(y=targets(min_class_size=4), seed=SEEDS)
def test_stratified_blocks_have_their_share_of_each_class(y, seed):
    cv = DisjointBlocksSplit([0.5, 0.25], 3, stratify=True, random_state=seed)
    for train, _ in splits_of(cv, len(y), y):
        share = np.bincount(y) * len(train) / len(y)
        assert np.all(
            np.abs(np.bincount(y[train], minlength=y.max() + 1) - share) < 1 + 1e-9
        )


@pytest.mark.parametrize("y", [None, np.repeat([0, 1], [4, 6])])
def test_blocks_draw_every_row_equally_often(y):
    cv = DisjointBlocksSplit([3], 3000, stratify=y is not None, random_state=0)
    counts = np.bincount(np.concatenate([train for train, _ in splits_of(cv, 10, y)]))
    # a share of 6000 draws has a standard deviation below 0.006
    np.testing.assert_allclose(counts / 6000, 3 / 10, atol=0.03)


def test_a_share_of_the_rows_is_not_lost_to_rounding():
    assert 0.29 * 100 < 29
    assert {
        len(train)
        for train, _ in splits_of(DisjointBlocksSplit([0.29], 1, random_state=0), 100)
    } == {29}


def test_more_repeats_and_sizes_leave_the_others_as_they_are():
    few, many = (
        splits_of(DisjointBlocksSplit([3, 5], n, random_state=4), 20) for n in (2, 5)
    )
    assert_same_splits(few, many[:8])
    with_another = splits_of(DisjointBlocksSplit([3, 5, 7], 2, random_state=4), 20)
    assert_same_splits(
        few, [with_another[number] for number in (0, 1, 2, 3, 6, 7, 8, 9)]
    )
    assert differ(few, splits_of(DisjointBlocksSplit([3, 5], 2, random_state=5), 20))


@quick
@given(data=grouped_targets(), stratify=st.booleans(), seed=SEEDS)
def test_blocks_of_groups_have_whole_groups(data, stratify, seed):
    y, groups = data
    cv = DisjointBlocksSplit([0.5], 3, stratify=stratify, random_state=seed)
    for train, test in splits_of(cv, len(y), y, groups):
        assert not np.intersect1d(groups[train], groups[test]).size
        assert len(np.unique(groups[train])) == len(np.unique(groups)) // 2


def test_blocks_have_two_classes():
    y = np.repeat([0, 1], [17, 3])
    for train, _ in splits_of(DisjointBlocksSplit([3, 10], 20, random_state=0), 20, y):
        assert np.ptp(y[train]) == 1


@pytest.mark.parametrize(
    ("sizes", "got"),
    [
        ([0], "0"),
        ([0.6], "0.6"),
        ([], r"\[\]"),
        ([True], "True"),
        ([3, "2"], "'2'"),
        ([-0.1], "-0.1"),
    ],
)
def test_sizes_are_checked(sizes, got):
    with pytest.raises(
        ValueError,
        match=rf"sizes must be a sequence of ints >= 1 .* up to 0.5 .*, got {got}$",
    ):
        DisjointBlocksSplit(sizes, 2).split(np.zeros((9, 1)))


def test_other_arguments_of_blocks_are_checked():
    with pytest.raises(TypeError, match=r"sizes must be a sequence .* got 3"):
        DisjointBlocksSplit(3, 2).get_n_splits()
    with pytest.raises(ValueError, match="n_repeats must be an int >= 1, got 0"):
        DisjointBlocksSplit([3], 0).get_n_splits()
    with pytest.raises(
        ValueError,
        match="sizes must give two disjoint blocks of at least 1 of the 9 rows, got 5",
    ):
        DisjointBlocksSplit([2, 5], 2).split(np.zeros((9, 1)))
    with pytest.raises(ValueError, match=r"at least 1 of the 3 groups, got 0\.25"):
        DisjointBlocksSplit([0.25], 2).split(
            np.zeros((9, 1)), groups=[0, 0, 0, 1, 1, 1, 2, 2, 2]
        )


def test_blocks_are_a_splitter_of_scikit_learn(data):
    X, y, _ = data
    cv = DisjointBlocksSplit([0.25, 0.5], 2, stratify=True, random_state=0)
    assert (
        repr(cv)
        == "DisjointBlocksSplit(n_repeats=2, random_state=0, sizes=[0.25, 0.5],\n          stratify=True)"
    )
    assert_same_splits(
        list(pickle.loads(pickle.dumps(cv)).split(X, y)),  # noqa: S301
        list(cv.split(X, y)),
    )
    assert len(cross_validate(LogisticRegression(), X, y, cv=cv)["test_score"]) == 8


def test_runs_on_blocks_know_their_pairs(data):
    X, y, _ = data
    cv = DisjointBlocksSplit([0.25, 0.5], 3, stratify=True, random_state=0)
    runs = StabilityCV(SelectKBest(k=1), cv=cv).fit(X, y).runs_
    np.testing.assert_array_equal(runs.pairs, np.arange(12) // 2)


# -- survival: a structured target -------------------------------------------------------------------------------------

EVERY_RESAMPLER = [
    BootstrapSplit(20, random_state=0),
    ComplementaryPairsSplit(20, random_state=0),
]
EVERY_RESAMPLER.append(DisjointBlocksSplit([0.25, 0.5], 5, random_state=0))


def survival(n_rows, n_events, seed=0):
    y = np.zeros(n_rows, dtype=[("event", "?"), ("time", "f8")])
    y["event"][np.random.default_rng(seed).permutation(n_rows)[:n_events]] = True
    y["time"] = np.arange(n_rows)
    return y


@pytest.mark.parametrize("cv", EVERY_RESAMPLER, ids=lambda cv: type(cv).__name__)
def test_a_structured_target_is_stratified_by_event(cv):
    n_rows, n_events = 40, 12
    y = survival(n_rows, n_events)
    stratified = clone_with(cv, stratify=True)
    for train, _ in splits_of(stratified, n_rows, y):
        assert abs(y["event"][train].sum() - n_events * len(train) / n_rows) < 1
    assert_same_splits(
        splits_of(stratified, n_rows, y), splits_of(stratified, n_rows, y["event"])
    )


def clone_with(cv, **changed):
    return type(cv)(**{**vars(cv), **changed})


@pytest.mark.parametrize("cv", EVERY_RESAMPLER, ids=lambda cv: type(cv).__name__)
@pytest.mark.parametrize("n_events", [2, 39, 40])
def test_every_training_set_has_an_event_and_need_not_have_a_censored_row(cv, n_events):
    y = survival(40, n_events)
    for train, _ in splits_of(cv, 40, y):
        assert y["event"][train].any()


def test_without_any_event_there_is_none_to_ask_for():
    assert (
        len(splits_of(ComplementaryPairsSplit(4, random_state=0), 10, survival(10, 0)))
        == 4
    )


def test_one_event_cannot_be_in_both_halves():
    with pytest.raises(ValueError, match=r"where y is structured, to have an event"):
        splits_of(ComplementaryPairsSplit(4, random_state=0), 10, survival(10, 1))


def test_groups_of_patients_are_stratified_by_event():
    y, groups = survival(12, 6), np.repeat(np.arange(6), 2)
    y["event"] = groups < 3
    for train, _ in splits_of(
        ComplementaryPairsSplit(10, stratify=True, random_state=0), 12, y, groups
    ):
        assert y["event"][train].sum() in (2, 4)


def test_a_structured_target_without_an_event_cannot_be_stratified():
    y = np.zeros(8, dtype=[("time", "f8"), ("weight", "f8")])
    with pytest.raises(
        ValueError, match="got a structured array without a boolean field"
    ):
        BootstrapSplit(stratify=True).split(np.zeros((8, 1)), y)
    assert len(splits_of(BootstrapSplit(3, random_state=0), 8, y)) == 3

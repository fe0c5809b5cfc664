"""Filters against their definitions: plain loops, hand-worked cases, and what scipy and scikit-learn compute."""

from fractions import Fraction
from functools import partial
from inspect import signature
from math import log2, sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.feature_selection import SelectKBest

from skstab.feature_selection import (
    discretised_chi2,
    information_gain,
    symmetrical_uncertainty,
    welch_variance,
)
from skstab.feature_selection._discretise import interval_labels, value_labels
from skstab.feature_selection._filters import class_moments, welch_f
from tests.discovery import filters

FILTERS = list(filters().values())
BOTH_TARGETS = [score for score in FILTERS if "target" in signature(score).parameters]
welch = partial(welch_variance, variance_weight=0)
variance = partial(welch_variance, variance_weight=1)


def random_data(n=40, d=6, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, d)) * np.arange(1, d + 1) + np.outer(
        y, rng.normal(size=d)
    ), y


# -- all filters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", FILTERS)
def test_filters_work_in_select_k_best(score):
    X, y = random_data(60)
    X[:, 2] += 30 * y
    assert SelectKBest(score, k=1).fit(X, y).get_support(indices=True).tolist() == [2]


@pytest.mark.parametrize("score", FILTERS)
def test_classes_may_have_any_names(score):
    X, y = random_data(n_classes=3)
    named = pd.Series(np.array(["u", "v", "w"])[y])
    np.testing.assert_array_equal(score(pd.DataFrame(X), named), score(X, y))


@pytest.mark.parametrize("score", FILTERS)
@pytest.mark.parametrize(
    "container",
    [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.coo_array],
)
def test_sparse_features_score_as_dense_ones(score, container):
    X, y = random_data(50, n_classes=3)
    X[np.abs(X) < 2] = 0
    np.testing.assert_allclose(score(container(X), y), score(X, y), atol=1e-12)


@pytest.mark.parametrize("score", FILTERS)
@pytest.mark.parametrize("value", [0.0, 0.1, 1e9, -1e-9])
def test_constant_columns_score_lowest(score, value):
    X, y = random_data()
    X[:, [1, 4]] = value
    scores = score(X, y)
    assert np.isfinite(scores).all()
    assert (scores[[1, 4]] == scores.min()).all()


@pytest.mark.parametrize("score", FILTERS)
@pytest.mark.parametrize("value", [0.0, 0.1])
def test_data_that_is_constant_throughout_scores_zero(score, value):
    np.testing.assert_array_equal(score(np.full((6, 3), value), [0, 0, 0, 1, 1, 1]), 0)


@pytest.mark.parametrize("score", FILTERS)
def test_duplicated_columns_score_the_same(score):
    X, y = random_data()
    scores = score(np.hstack([X, X[:, :2]]), y)
    np.testing.assert_allclose(scores[-2:], scores[:2], rtol=1e-12)


@pytest.mark.parametrize("score", FILTERS)
@pytest.mark.parametrize(
    "y", [[0, 1], [0, 1, 1], [0, 1, 2], [0, 0, 1, 2, 3], [0, 1, 2, 2, 2, 2]]
)
def test_fewer_rows_than_twice_the_classes_give_finite_scores(score, y):
    X, _ = random_data(len(y))
    assert np.isfinite(score(X, y)).all()


@pytest.mark.parametrize("score", FILTERS)
def test_scores_do_not_depend_on_the_order_of_the_columns(score):
    X, y = random_data(n_classes=3)
    np.testing.assert_allclose(score(X[:, ::-1], y)[::-1], score(X, y), rtol=1e-12)


@pytest.mark.parametrize("score", FILTERS)
def test_the_data_is_left_as_it_was(score):
    X, y = random_data()
    X.flags.writeable = False
    before = sparse.csr_array(X)
    score(X, y)
    score(before, y)
    np.testing.assert_array_equal(before.toarray(), X)


@pytest.mark.parametrize("score", FILTERS)
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(4), [0, 0, 0, 0], "y must have at least 2 classes"),
        (np.eye(4), None, "y is required"),
        (np.eye(4), [0, 1], "inconsistent numbers of samples"),
        (np.full((4, 2), np.nan), [0, 1, 0, 1], "X contains NaN"),
        (np.eye(4), [0, 1, np.nan, 1], "y contains NaN"),
        (np.eye(1), [0], "minimum of 2 is required"),
        (np.arange(4), [0, 1, 0, 1], "2D array"),
    ],
)
def test_bad_data_is_refused(score, X, y, message):
    with pytest.raises(ValueError, match=message):
        score(X, y)


@pytest.mark.parametrize("score", BOTH_TARGETS)
def test_integers_are_classes_unless_told_otherwise(score):
    X, y = random_data(60, n_classes=4)
    np.testing.assert_array_equal(score(X, y), score(X, y, target="classes"))
    np.testing.assert_array_equal(
        score(X, y + 0.5), score(X, y + 0.5, target="numeric")
    )
    assert not np.allclose(score(X, y), score(X, y, target="numeric"))


@pytest.mark.parametrize("score", BOTH_TARGETS)
def test_numeric_targets_that_do_not_vary_and_unknown_kinds_of_target_are_refused(
    score,
):
    with pytest.raises(ValueError, match="y must vary"):
        score(np.eye(4), [0.5] * 4)
    with pytest.raises(ValueError, match="target must be"):
        score(np.eye(4), [0, 1, 0, 1], target="regression")
    with pytest.raises(ValueError, match="1d array"):
        score(np.eye(4), np.eye(4))


# -- Welch's t and the variance ----------------------------------------------------------------------------------------


def up_to_a_factor(scores, expected):
    np.testing.assert_allclose(
        scores / np.median(scores), expected / np.median(expected), rtol=1e-9
    )


@pytest.mark.parametrize("seed", range(5))
def test_two_classes_score_as_welchs_t_test(seed):
    X, _ = random_data(seed=seed)
    y = np.arange(len(X)) < 13
    up_to_a_factor(
        welch(X, y), np.abs(stats.ttest_ind(X[y], X[~y], equal_var=False).statistic)
    )


def plain_variance(group):
    mean = sum(group) / len(group)
    return sum((x - mean) ** 2 for x in group) / (len(group) - 1)


def plain_welch_f(groups, variances=None):
    """Welch (1951) in exact fractions."""
    means = [sum(g) / len(g) for g in groups]
    variances = variances or [plain_variance(g) for g in groups]
    weights = [len(g) / v for g, v in zip(groups, variances, strict=True)]
    total, k = sum(weights), len(groups)
    centre = sum(w * m for w, m in zip(weights, means, strict=True)) / total
    between = sum(
        w * (m - centre) ** 2 for w, m in zip(weights, means, strict=True)
    ) / (k - 1)
    spread = sum(
        (1 - w / total) ** 2 / max(len(g) - 1, 1)
        for w, g in zip(weights, groups, strict=True)
    )
    return between / (1 + Fraction(2 * (k - 2), k**2 - 1) * spread)


samples = st.lists(st.integers(-20, 20).map(Fraction), min_size=2, max_size=6).filter(
    lambda g: len(set(g)) > 1
)


@given(st.lists(samples, min_size=2, max_size=5))
def test_several_classes_score_as_welchs_f_in_exact_fractions(groups):
    x = np.array([float(value) for group in groups for value in group])[:, None]
    codes = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    counts = np.bincount(codes)[:, None]
    means, squares = class_moments(x, codes, np.ones(len(codes)), len(groups))
    f = welch_f(means, squares / (counts - 1), counts)
    np.testing.assert_allclose(
        f[0], float(plain_welch_f(groups)), rtol=1e-9, atol=1e-12
    )


def test_a_variance_at_the_limit_of_rounding_does_not_blur_f():
    rng = np.random.default_rng(0)
    means = rng.normal(1e4, 1, size=(2, 1000))
    variances = np.vstack([rng.uniform(1e-23, 1e-22, 1000), np.full(1000, 4.0)])
    counts = np.array([[5], [8]])
    np.testing.assert_allclose(
        welch_f(means, variances, counts), (means[0] - means[1]) ** 2 / 0.5, rtol=1e-9
    )


def test_the_score_of_several_classes_is_the_root_of_f_so_that_two_agree_with_t():
    X, y = random_data(60, n_classes=3)
    expected = [
        sqrt(plain_welch_f([[Fraction(v) for v in x[y == c]] for c in range(3)]))
        for x in X.T
    ]
    up_to_a_factor(welch(X, y), np.array(expected))


def test_a_numeric_target_scores_as_the_t_of_the_correlation():
    X, _ = random_data()
    y = X @ [1.0, 0.2, 0, 0, 0.1, 0] + 100
    r = np.array([stats.pearsonr(x, y).statistic for x in X.T])
    up_to_a_factor(welch(X, y), np.abs(r) * np.sqrt(38 / (1 - r**2)))


@pytest.mark.parametrize("y", [np.arange(40) % 3, np.arange(40) + 0.5])
def test_the_variance_is_that_of_all_rows(y):
    X, _ = random_data()
    up_to_a_factor(variance(X + 1e3, y), X.var(axis=0, ddof=1))


def test_the_mix_is_hand_worked():
    # Classes (1, 3) and (5, 7), and (0, 2) and (0, 2): t = 4/√2 and 0, variances 20/3 and 4/3, median 4.
    # A third feature, (0, 4) and (6, 2): t = 2/√8 = 1/√2, variance 20/3. The median t of the first and third is 2.5/√2.
    X = np.array([[1.0, 0, 0], [3, 2, 4], [5, 0, 6], [7, 2, 2]])
    scores = welch_variance(X, [0, 0, 1, 1], variance_weight=0.25)
    np.testing.assert_allclose(
        scores, [0.75 * 1.6 + 0.25, 0.25 * 0.2, 0.75 * 0.4 + 0.25]
    )


def test_a_common_unit_does_not_change_the_scores():
    X, y = random_data()
    np.testing.assert_allclose(welch_variance(1e6 * X, y), welch_variance(X, y))


def test_a_perfect_feature_scores_best_and_hardly_changes_the_others():
    X, y = random_data(d=200)
    scores = welch_variance(np.column_stack([X, 0.1 + 0.2 * y]), y)
    assert np.isfinite(scores).all()
    assert scores.argmax() == 200
    np.testing.assert_allclose(scores[:200], welch_variance(X, y), rtol=0.05)


def test_perfect_features_score_alike_whatever_their_unit():
    y = np.repeat([0, 1], [7, 11])
    scores = welch(np.column_stack([y, 0.1 * y, 3e5 * y, np.arange(18)]), y)
    np.testing.assert_allclose(scores[:3], scores[0])
    assert 1e6 < scores[0] / scores[3] < 1e20


@pytest.mark.parametrize("value", [0.1, 7.3, 1e4 / 3])
def test_a_feature_constant_within_one_class_only_scores_as_welchs_t(value):
    X, y = random_data()
    X[:, 0] = np.where(y, X[:, 0] + value, value)
    a, b = X[y == 0], X[y == 1]
    errors = a.var(axis=0, ddof=1) / len(a) + b.var(axis=0, ddof=1) / len(b)
    up_to_a_factor(
        welch(X, y), np.abs(a.mean(axis=0) - b.mean(axis=0)) / np.sqrt(errors)
    )


def test_a_class_of_one_row_borrows_the_pooled_variance():
    # Within the others, sums of squares 2 + 8 over 3 degrees of freedom, and 32 + 2.
    first = [[5], [1, 2, 3], [2, 6]], [Fraction(10, 3), 1, 8]
    second = [[5], [0, 4, 8], [1, 3]], [Fraction(34, 3), 16, 2]
    X = np.column_stack([np.concatenate(groups) for groups, _ in (first, second)])
    expected = [
        sqrt(plain_welch_f([[Fraction(v) for v in g] for g in groups], v))
        for groups, v in (first, second)
    ]
    up_to_a_factor(welch(X, [0, 1, 1, 1, 2, 2]), np.array(expected))


def test_classes_of_one_row_each_leave_only_the_variance():
    X, _ = random_data(5)
    assert not welch(X, range(5)).any()
    up_to_a_factor(welch_variance(X, range(5)), X.var(axis=0))


def test_large_offsets_do_not_drown_the_spread():
    X, y = random_data()
    np.testing.assert_allclose(
        welch_variance(X + 1e8, y), welch_variance(X, y), rtol=1e-6
    )


@pytest.mark.parametrize("weight", [-0.1, 1.1, "half", None])
def test_the_weight_of_the_variance_is_checked(weight):
    with pytest.raises(
        ValueError, match="variance_weight must be a number from 0 to 1"
    ):
        welch_variance(np.eye(4), [0, 1, 0, 1], variance_weight=weight)


# -- discretisation ----------------------------------------------------------------------------------------------------


def entropy(classes):
    n = len(classes)
    return sum(-classes.count(c) / n * log2(classes.count(c) / n) for c in set(classes))


def plain_cuts(values, classes):
    """Fayyad and Irani (1993) as they put it: the values above which an interval begins, for sorted values."""
    n, k = len(values), len(set(classes))
    places = [i for i in range(1, n) if values[i] != values[i - 1]]
    if not places:
        return []
    costs = [
        (i * entropy(classes[:i]) + (n - i) * entropy(classes[i:])) / n for i in places
    ]
    at, cost = next(
        (i, c) for i, c in zip(places, costs, strict=True) if c <= min(costs) + 1e-9
    )
    left, right = classes[:at], classes[at:]
    delta = log2(3**k - 2) - (
        k * entropy(classes)
        - len(set(left)) * entropy(left)
        - len(set(right)) * entropy(right)
    )
    if entropy(classes) - cost <= (log2(n - 1) + delta) / n + 1e-9:
        return []
    return [*plain_cuts(values[:at], left), values[at], *plain_cuts(values[at:], right)]


def plain_labels(x, y):
    order = sorted(range(len(x)), key=lambda i: x[i])
    cuts = plain_cuts([x[i] for i in order], [y[i] for i in order])
    return [sum(value >= cut for cut in cuts) for value in x]


@st.composite
def labelled_tables(draw):
    """Features that go with the classes to different degrees, with many ties."""
    n, n_classes = draw(st.integers(2, 40)), draw(st.integers(2, 4))
    y = draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
    noise = st.lists(st.integers(0, draw(st.integers(0, 6))), min_size=n, max_size=n)
    columns = [
        [factor * c + e for c, e in zip(y, draw(noise), strict=True)]
        for factor in (0, 1, 3, 7)
    ]
    return np.array(columns, dtype=float).T, np.array(y), n_classes


@given(labelled_tables())
def test_intervals_are_those_of_the_plain_recursion(table):
    X, y, n_classes = table
    expected = np.array([plain_labels(list(x), list(y)) for x in X.T]).T
    np.testing.assert_array_equal(interval_labels(X, y, n_classes), expected)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_intervals_of_continuous_features_are_those_of_the_plain_recursion(n_classes):
    X, y = random_data(150, 6, n_classes)
    X = np.column_stack(
        [X, np.cumsum(X, axis=0), 8 * y[:, None] + X, np.sin(y)[:, None] + 0.2 * X]
    )
    labels = interval_labels(X, y, n_classes)
    np.testing.assert_array_equal(
        labels, np.array([plain_labels(list(x), list(y)) for x in X.T]).T
    )
    assert labels.max() >= n_classes - 1


def test_a_cut_that_pays_and_one_that_does_not_are_hand_worked():
    # 4 + 4 rows, cut in the middle: the gain is 1 bit, its price (log2(7) + log2(7) − 2)/8 = 0.452.
    # 2 + 2 rows: the gain is 1 bit, its price (log2(3) + log2(7) − 2)/4 = 0.598.
    # 1 + 1 rows: the gain is 1 bit, its price (log2(1) + log2(7) − 2)/2 = 0.404.
    for half in (4, 2, 1):
        x, y = np.arange(2.0 * half)[:, None], np.repeat([0, 1], half)
        np.testing.assert_array_equal(interval_labels(x, y, 2)[:, 0], y)
    # 0 0 1 1 0 0 1 1: the best gain, from either end, is 1 − (6/8)·H(1/3) = 0.311; its price is above 0.4.
    x, y = np.arange(8.0)[:, None], np.array([0, 0, 1, 1, 0, 0, 1, 1])
    assert not interval_labels(x, y, 2).any()


def test_equal_values_are_never_cut_apart():
    x = np.repeat([1.0, 2.0], 8)[:, None]
    y = np.r_[np.zeros(6), np.ones(10)].astype(int)
    np.testing.assert_array_equal(interval_labels(x, y, 2)[:, 0], np.repeat([0, 1], 8))


@given(
    st.lists(
        st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=1, max_size=20
    )
)
def test_discrete_values_are_numbered_from_the_lowest(rows):
    X = np.array(rows, dtype=float)
    expected = np.column_stack([np.unique(x, return_inverse=True)[1] for x in X.T])
    np.testing.assert_array_equal(value_labels(X), expected)


# -- information -------------------------------------------------------------------------------------------------------


def plain_gain(labels, classes):
    parts = [
        [c for c, other in zip(classes, labels, strict=True) if other == label]
        for label in set(labels)
    ]
    return entropy(classes) - sum(
        len(part) / len(classes) * entropy(part) for part in parts
    )


@settings(max_examples=40)
@given(labelled_tables())
def test_the_gain_is_the_mutual_information_with_the_labels(table):
    X, y, _ = table
    y = np.append(y, [0, 1])
    X = np.vstack([X, X[:2]])
    labels = np.array([plain_labels(list(x), list(y)) for x in X.T])
    expected = [plain_gain(list(label), list(y)) for label in labels]
    np.testing.assert_allclose(information_gain(X, y), expected, atol=1e-12)
    own = np.array([entropy(list(label)) for label in labels])
    uncertainty = 2 * np.array(expected) / (own + entropy(list(y)))
    np.testing.assert_allclose(symmetrical_uncertainty(X, y), uncertainty, atol=1e-12)


@settings(max_examples=40)
@given(labelled_tables())
def test_discrete_features_count_value_by_value(table):
    X, y, _ = table
    y = np.append(y, [0, 1])
    X = np.vstack([X, X[:2]])
    expected = [plain_gain(list(x), list(y)) for x in X.T]
    np.testing.assert_allclose(
        information_gain(X, y, discrete_features=True), expected, atol=1e-12
    )


def test_gain_and_uncertainty_are_hand_worked():
    # Values a a a b | classes 0 0 1 1: H(y) = 1, H(y | a) = H(1/3), H(y | b) = 0.
    x, y = np.array([[0.0], [0.0], [0.0], [1.0]]), [0, 0, 1, 1]
    third = log2(3) - 2 / 3
    quarter = 2 - 3 / 4 * log2(3)
    gain = 1 - 3 / 4 * third
    np.testing.assert_allclose(information_gain(x, y, discrete_features=True), [gain])
    np.testing.assert_allclose(
        symmetrical_uncertainty(x, y, discrete_features=True),
        [2 * gain / (1 + quarter)],
    )


@pytest.mark.parametrize("n_classes", [2, 3, 7, 10, 20])
def test_features_not_worth_a_cut_score_exactly_zero(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 40)), np.arange(50) % n_classes
    scores = information_gain(X, y)
    assert (scores == 0).sum() > 30
    np.testing.assert_array_equal(symmetrical_uncertainty(X, y) == 0, scores == 0)


@pytest.mark.parametrize(
    "given_as", [[True, False, True, False, False, False], [0, 2], np.array([-6, 2])]
)
def test_discrete_features_may_be_given_as_mask_or_indices(given_as):
    X, y = random_data(60)
    X = np.round(X)
    mixed = information_gain(X, y, discrete_features=given_as)
    discrete, numeric = (
        information_gain(X, y, discrete_features=flag) for flag in (True, False)
    )
    np.testing.assert_array_equal(
        mixed, np.where([1, 0, 1, 0, 0, 0], discrete, numeric)
    )
    assert not np.allclose(discrete, numeric)


@pytest.mark.parametrize("given_as", [[True], [6], [0.5], "auto", [[True] * 6]])
def test_bad_discrete_features_are_refused(given_as):
    X, y = random_data()
    with pytest.raises(
        ValueError,
        match="discrete_features must be a bool, a mask of 6 features or indices",
    ):
        symmetrical_uncertainty(X, y, discrete_features=given_as)


@pytest.mark.parametrize(
    "score", [information_gain, symmetrical_uncertainty, discretised_chi2]
)
def test_numeric_targets_are_refused_with_a_hint(score):
    with pytest.raises(
        ValueError,
        match="y must hold classes, got numbers: use relieff or welch_variance",
    ):
        score(np.eye(4), [0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("score", [information_gain, discretised_chi2, welch_variance])
def test_batches_do_not_change_the_scores(score, monkeypatch):
    X, y = random_data(60, n_classes=3)
    whole = score(X, y)
    monkeypatch.setattr("skstab.feature_selection._filters._BATCH", 7)
    np.testing.assert_allclose(score(X, y), whole, rtol=1e-12)


# -- chi-squared -------------------------------------------------------------------------------------------------------


def plain_chi2(labels, y):
    """What scipy computes from the table of labels by classes; independent where one of them does not vary."""
    table = stats.contingency.crosstab(labels, y).count
    return (
        stats.chi2_contingency(table, correction=False).statistic
        if min(table.shape) > 1
        else 0.0
    )


@given(labelled_tables().filter(lambda table: len(set(table[1])) > 1))
def test_chi2_is_that_of_the_table_of_intervals_by_classes(table):
    X, y, _ = table
    cut = [plain_labels(list(x), list(y)) for x in X.T]
    np.testing.assert_allclose(
        discretised_chi2(X, y), [plain_chi2(labels, y) for labels in cut], atol=1e-9
    )
    discrete = [plain_chi2(x, y) for x in X.T]
    np.testing.assert_allclose(
        discretised_chi2(X, y, discrete_features=True), discrete, atol=1e-9
    )


def test_features_without_a_cut_have_a_chi2_of_exactly_zero():
    X, y = random_data(61, 200, n_classes=3)
    X -= 0.9 * np.outer(y == 1, np.ones(200))
    np.testing.assert_array_equal(
        discretised_chi2(X, y) == 0, information_gain(X, y) == 0
    )
    assert (discretised_chi2(X, y) == 0).sum() > 30


def test_a_feature_that_determines_the_class_has_the_largest_chi2():
    y = np.repeat([0, 1, 2], 10)
    np.testing.assert_allclose(
        discretised_chi2(np.column_stack([y, np.arange(30)]), y), 60
    )  # n times (3 − 1)


# -- weights of rows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["classes", "numeric"])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_weights_count_as_repeated_rows(target, convert):
    rng = np.random.default_rng(0)
    X, y, repeats = (
        rng.standard_normal((20, 6)),
        rng.integers(0, 3, 20),
        rng.integers(1, 4, 20),
    )
    weighted = welch_variance(convert(X), y, target=target, sample_weight=repeats)
    repeated = welch_variance(
        np.repeat(X, repeats, axis=0), np.repeat(y, repeats), target=target
    )
    np.testing.assert_allclose(weighted, repeated)


def test_weights_that_can_not_be_counts_are_scaled():
    rng = np.random.default_rng(0)
    X, y, weight = rng.standard_normal((20, 6)), rng.integers(0, 2, 20), rng.random(20)
    expected = welch_variance(X, y, sample_weight=weight / weight.mean())
    np.testing.assert_allclose(
        welch_variance(X, y, sample_weight=weight / weight.sum()), expected
    )


@pytest.mark.parametrize(
    "weight", [np.ones(3), np.zeros(4), -np.ones(4), np.ones((4, 1))]
)
def test_bad_weights_of_rows_are_named(weight):
    with pytest.raises(
        ValueError,
        match="sample_weight must hold one positive number for each of 4 rows",
    ):
        welch_variance(np.eye(4), [0, 0, 1, 1], sample_weight=weight)

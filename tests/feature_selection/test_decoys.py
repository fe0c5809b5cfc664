"""Decoys: thresholds and e-values against brute force, permutations, Gaussian knockoffs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from skstab.feature_selection._decoys import (
    check_for_decoys,
    e_value_selection,
    e_values,
    fdp_threshold,
    gaussian_knockoffs,
    least_selection,
    select_against_decoys,
    with_decoys,
)

tenths = st.integers(0, 10).map(lambda x: x / 10)
levels = st.sampled_from([0.05, 0.1, 0.2, 0.5])
some = st.integers(1, 25)


@given(
    real=arrays(np.float64, some, elements=tenths),
    a=st.integers(1, 3),
    level=levels,
    data=st.data(),
)
def test_the_threshold_is_the_smallest_at_which_the_estimate_is_low_enough(
    real, a, level, data
):
    decoys = data.draw(arrays(np.float64, a * len(real), elements=tenths))

    def estimate(t):
        return (1 + (decoys > t).sum() / a) / max(1, (real > t).sum())

    candidates = [t for t in np.arange(0, 11) / 10 if estimate(t) <= level]
    found = fdp_threshold(real, decoys, level)
    assert (real > found).sum() == (
        real > (min(candidates) if candidates else np.inf)
    ).sum()


@given(
    differences=arrays(
        np.float64, some, elements=st.integers(-10, 10).map(lambda x: x / 10)
    ),
    level=levels,
)
def test_e_values_are_those_of_the_definition(differences, level):
    def ratio(t):
        return (1 + (differences <= -t).sum()) / max(1, (differences >= t).sum())

    candidates = sorted(t for t in np.abs(differences) if t > 0 and ratio(t) <= level)
    expected = np.zeros(len(differences))
    if candidates:
        t = candidates[0]
        expected = (
            len(differences) * (differences >= t) / (1 + (differences <= -t).sum())
        )
    np.testing.assert_allclose(e_values(differences, level), expected)


@given(
    values=arrays(np.float64, some, elements=st.sampled_from([0, 1, 2, 5, 10, 20, 50])),
    level=levels,
)
def test_merged_e_values_select_the_most_that_the_rule_allows(values, level):
    p, falling = len(values), np.sort(values)[::-1]
    sizes = [k for k in range(1, p + 1) if k * falling[k - 1] >= p / level - 1e-9]
    expected = values >= falling[max(sizes) - 1] if sizes else np.zeros(p, dtype=bool)
    np.testing.assert_array_equal(e_value_selection(values, level), expected)


@given(n_draws=st.integers(1, 3), level=st.floats(0.02, 0.5))
def test_decoys_select_as_soon_as_the_least_number_exceeds_them(n_draws, level):
    n = int(least_selection(n_draws, level))
    scores = np.zeros((n_draws, 2, 2 * n))
    scores[:, 0, : n - 1] = np.arange(1, n) / n
    assert not select_against_decoys(scores, level).any()
    scores[:, 0, n - 1] = 1
    assert select_against_decoys(scores, level).sum() == n


def test_false_discoveries_are_controlled_where_decoys_are_exchangeable():
    rng = np.random.default_rng(0)
    shares, found = {1: [], 5: []}, []
    for _ in range(200):
        effect = np.r_[np.full(30, 3.0), np.zeros(70)]
        scores = rng.standard_normal((5, 2, 100)) * 0.3 + rng.standard_normal(
            (1, 2, 100)
        )
        scores[:, 0] += effect
        scores -= scores.min()
        for n_draws, share in shares.items():
            selected = select_against_decoys(scores[:n_draws], 0.2)
            share.append(selected[30:].sum() / max(selected.sum(), 1))
        found.append(selected[:30].sum())
    assert np.mean(shares[1]) <= 0.22
    assert np.mean(shares[5]) <= 0.22
    assert np.mean(found) > 8


def test_nothing_stands_out_from_as_good_decoys():
    scores = np.tile(np.linspace(0, 1, 50), (4, 2, 1))
    assert not select_against_decoys(scores, 0.2).any()
    assert not select_against_decoys(scores[:1], 0.2).any()


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array])
def test_permuted_decoys_hold_the_same_values(make):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 8)) * (rng.random((30, 8)) < 0.6)
    both = with_decoys(make(X), "permuted", np.random.default_rng(1))
    both = both.toarray() if sparse.issparse(both) else both
    np.testing.assert_array_equal(both[:, :8], X)
    np.testing.assert_array_equal(np.sort(both[:, 8:], axis=0), np.sort(X, axis=0))
    assert (both[:, 8:] != X).any(axis=0).all()


def test_knockoffs_have_the_covariances_of_the_features():
    # Of the features with each other, of the knockoffs with each other, and of a feature with others' knockoffs.
    rng = np.random.default_rng(0)
    d, n = 4, 40_000
    covariance = 0.5 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    X = 5 + rng.standard_normal((n, d)) @ np.linalg.cholesky(covariance).T * [
        1,
        2,
        3,
        4,
    ]
    K = gaussian_knockoffs(X, rng)
    joint = np.corrcoef(np.hstack([X, K]), rowvar=False)
    np.testing.assert_allclose(joint[d:, d:], covariance, atol=0.03)
    s = min(1, 2 * np.linalg.eigvalsh(covariance)[0])
    np.testing.assert_allclose(joint[:d, d:], covariance - s * np.eye(d), atol=0.03)
    np.testing.assert_allclose(K.mean(axis=0), 5, atol=0.1)
    np.testing.assert_allclose(K.std(axis=0), [1, 2, 3, 4], rtol=0.03)


def test_knockoffs_of_more_features_than_rows_and_of_constant_ones():
    X = np.random.default_rng(0).standard_normal((20, 60))
    X[:, 3] = 7
    K = gaussian_knockoffs(X, np.random.default_rng(1))
    assert np.isfinite(K).all()
    np.testing.assert_array_equal(K[:, 3], 7)
    assert (K[:, 4] != X[:, 4]).all()


def test_columns_that_are_not_gaussian_are_refused_or_warned_of():
    X = np.random.default_rng(0).standard_normal((60, 4))
    check_for_decoys(X, "knockoffs")
    X[:, 2] = X[:, 2] > 0
    with pytest.raises(
        ValueError, match="1 of 4 have two values, such as column 2: leave out one-hot"
    ):
        check_for_decoys(X, "knockoffs")
    check_for_decoys(X, "permuted")
    X[:, 2] = np.arange(60) % 4
    with pytest.warns(
        UserWarning, match="1 of 4 have at most 10 distinct values, such as column 2"
    ):
        check_for_decoys(X, "knockoffs")
    with pytest.raises(TypeError, match="Sparse data was passed"):
        check_for_decoys(sparse.csr_array(X), "knockoffs")


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
def test_permuted_decoys_say_where_they_are_not_fair(as_given):
    X = np.random.default_rng(0).standard_normal((60, 8))
    check_for_decoys(as_given(X), "permuted")
    near = X + 0.3 * np.random.default_rng(1).standard_normal(X.shape)
    with pytest.warns(
        UserWarning,
        match=r"'permuted' assumes features that are independent.*0\.\d\d on average",
    ):
        check_for_decoys(as_given(np.hstack([X, near])), "permuted")

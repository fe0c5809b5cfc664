"""Integrated paths: the bounds against their definitions, expected false positives, q-values, correlation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.integrate import quad
from scipy.stats import binom

from skstab.feature_selection._integrated import (
    Integral,
    bound_on_scores,
    correlation_of,
    expected_false_positives,
    exponent_of,
    measure_of,
    nearest_correlations,
    q_values,
)
from skstab.feature_selection._numbers import numeric_table

orders = st.sampled_from([1, 2, 3])
seeds = st.integers(0, 2**32 - 1)


# -- the bound ---------------------------------------------------------------------------------------------------------


@given(q=st.floats(0, 40), p=st.integers(40, 500), B=st.integers(1, 60))
def test_the_bounds_are_those_of_the_paper(q, p, B):
    b1 = q**2 / p
    b2 = q**2 / (p * B) + (B - 1) * q**4 / (B * p**3)
    b3 = (
        q**2 / (p * B**2)
        + 3 * (B - 1) * q**4 / (p**3 * B**2)
        + (B - 1) * (B - 2) * q**6 / (p**5 * B**2)
    )
    for m, expected in ((1, b1), (2, b2), (3, b3)):
        assert bound_on_scores(np.array([q]), p, B, m)[0] == pytest.approx(
            expected, rel=1e-9, abs=1e-12
        )


@given(q=st.floats(0.1, 40), p=st.integers(40, 500), B=st.integers(1, 60), m=orders)
def test_the_bound_is_a_moment_of_the_pairs_that_agree(q, p, B, m):
    counts = np.arange(B + 1)
    moment = (counts / B) ** m @ binom.pmf(counts, B, (q / p) ** 2)
    assert bound_on_scores(np.array([q]), p, B, m)[0] == pytest.approx(
        p * moment, rel=1e-8
    )


@pytest.mark.parametrize("m", [1, 2, 3])
def test_features_selected_at_random_do_not_exceed_the_bound(m):
    # Independent halves that select each feature with probability θ: the score exceeds the bound by chance only.
    rng = np.random.default_rng(0)
    B, share, n_features = 10, 0.3, 200_000
    halves = rng.binomial(2 * B, share, n_features) / (2 * B)
    scores = np.clip(2 * halves - 1, 0, None) ** m
    bound = bound_on_scores(np.array([share * n_features]), n_features, B, m)[0]
    assert scores.sum() <= bound
    # That both halves select it is what the bound counts.
    both = rng.binomial(B, share**2, n_features) / B
    assert (both**m).sum() == pytest.approx(bound, rel=0.05)


# -- the measure -------------------------------------------------------------------------------------------------------


@given(delta=st.floats(0, 2), size=st.integers(2, 30), seed=seeds)
def test_the_measure_is_the_trapezoid_rule_for_its_density(delta, size, seed):
    penalties = np.sort(np.random.default_rng(seed).uniform(0.1, 3, size))[::-1]
    total = quad(lambda x: x**-delta, penalties[-1], penalties[0])[0]
    expected = np.zeros(size)
    for i in range(size - 1):
        cell = quad(lambda x: x**-delta, penalties[i + 1], penalties[i])[0] / total
        expected[i] += cell / 2
        expected[i + 1] += cell / 2
    np.testing.assert_allclose(measure_of(penalties, delta), expected, atol=1e-9)


def test_the_measure_does_not_depend_on_the_unit_and_sums_to_one():
    penalties = np.geomspace(1, 0.01, 7)
    for delta in (0.0, 0.3, 1.0, 1.25):
        np.testing.assert_allclose(
            measure_of(penalties, delta), measure_of(1000 * penalties, delta)
        )
        assert measure_of(penalties, delta).sum() == pytest.approx(1)
    np.testing.assert_array_equal(measure_of(np.ones(1), 1.0), [1])
    np.testing.assert_array_equal(measure_of(np.ones(4), 1.0), [0.25] * 4)


# -- expected false positives and q-values -----------------------------------------------------------------------------


def slow_efp(path, together, penalties, B, integral, certain=()):
    p, others = len(path), [j for j in range(len(path)) if j not in certain]
    bound = []
    for k in range(len(penalties)):
        size = sum(path[j, k] for j in others) + (0.2 if certain else 0)
        size = min(size, sum(path[:, k]))
        bound.append(bound_on_scores(np.array([size]), len(others), B, integral.m)[0])
    kept = 0
    while kept < len(penalties) and bound[kept] <= integral.end:
        kept += 1
    kept = max(kept, 1)
    weights = measure_of(penalties[:kept], integral.delta)
    total = sum(w * b for w, b in zip(weights, bound, strict=False))
    scores = [
        sum(w * x**integral.m for w, x in zip(weights, row, strict=False))
        for row in together
    ]
    return [min(p, total / score) if score > 0 else p for score in scores]


integrals = st.builds(
    Integral,
    orders,
    st.sampled_from([0.0, 0.4, 1.0, 1.25]),
    st.sampled_from([0.05, 0.2]),
)


def random_paths(rng, B):
    """Shares of halves and of pairs, of 30 features that enter along 8 penalties."""
    ends = rng.random((30, 1)) ** 3 * np.linspace(0, 1, 8) ** rng.uniform(
        0.2, 2, (30, 1)
    )
    halves = rng.random((2 * B, 30, 1)) < ends
    return halves.mean(axis=0), (halves[::2] & halves[1::2]).mean(axis=0)


@given(seed=seeds, integral=integrals)
def test_expected_false_positives_are_the_ratio_of_two_integrals(seed, integral):
    B, penalties = 10, np.geomspace(1, 0.05, 8)
    path, together = random_paths(np.random.default_rng(seed), B)
    first = slow_efp(path, together, penalties, B, integral)
    certain = {j for j in range(len(path)) if first[j] <= 0.2}
    found = expected_false_positives(path, together, penalties, integral, n_pairs=B)
    np.testing.assert_allclose(
        found, slow_efp(path, together, penalties, B, integral, certain)
    )


@given(seed=seeds, integral=integrals)
def test_of_correlated_features_the_lower_bound_of_agreeing_pairs_counts(
    seed, integral
):
    B, penalties = 10, np.geomspace(1, 0.05, 8)
    path, together = random_paths(np.random.default_rng(seed), B)
    lower = np.maximum(2 * path - 1, 0)
    assert (lower <= together + 1e-12).all()
    found = expected_false_positives(
        path, together, penalties, integral, n_pairs=B, correlated=True
    )
    np.testing.assert_allclose(found, slow_efp(path, lower, penalties, B, integral))


def test_weak_penalties_and_a_finer_grid_change_little():
    rng = np.random.default_rng(3)
    entry = np.r_[
        np.full(3, 0.05), rng.uniform(0.3, 1, 57)
    ]  # share of the path at which each feature is half in
    efp = []
    for end, size in ((0.1, 100), (0.001, 300), (0.1, 300)):
        penalties = np.geomspace(1, end, size)
        path = 1 / (1 + np.exp(-8 * (-np.log10(penalties) - entry[:, None])))
        efp.append(
            expected_false_positives(
                path, path**2, penalties, Integral(2, 1.0), n_pairs=50
            )[:3]
        )
    np.testing.assert_allclose(efp[1:], [efp[0]] * 2, rtol=0.05)


def test_certain_features_do_not_count_against_the_others():
    penalties = np.geomspace(1, 0.1, 5)
    path = np.vstack([np.ones((4, 5)), np.full((1, 5), 0.53), np.full((45, 5), 0.02)])
    together = np.clip(2 * path - 1, 0, None)
    alone = expected_false_positives(
        path[4:], together[4:], penalties, Integral(2, 1), n_pairs=50
    )[0]
    found = expected_false_positives(
        path, together, penalties, Integral(2, 1), n_pairs=50
    )
    assert found[:4].max() < 0.2
    # 0.2 of them may be wrong after all.
    assert alone < found[4] < 2 * alone
    assert found[4] < bound_on_scores(path.sum(axis=0), 50, 50, 2)[0] / 0.06**2 / 5


def test_a_feature_that_is_never_in_has_all_features_as_expected_false_positives():
    penalties = np.geomspace(1, 0.1, 3)
    nothing = np.zeros((4, 3))
    np.testing.assert_array_equal(
        expected_false_positives(
            nothing, nothing, penalties, Integral(2, 1), n_pairs=5
        ),
        [4] * 4,
    )
    path = np.array([[1.0, 1.0, 1.0], *[[0.0, 0.0, 0.5]] * 9])
    together = np.clip(2 * path - 1, 0, None)
    found = expected_false_positives(
        path, together, penalties, Integral(2, 1), n_pairs=50
    )
    assert found[0] < 0.05
    assert (found[1:] == 10).all()


@given(
    arrays(
        np.float64,
        st.integers(1, 30),
        elements=st.sampled_from([0.01, 0.1, 0.2, 0.5, 1, 2, 5, 30]),
    )
)
def test_q_values_are_the_smallest_ratio_over_larger_targets(efp):
    expected = [min(1, *(t / (efp <= t).sum() for t in efp if t >= own)) for own in efp]
    np.testing.assert_allclose(q_values(efp), expected)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_expected_number_of_false_positives_is_kept_for_a_random_selector(m):
    # Halves that select 8 of 40 wrong features at random, along a path that grows to 8.
    rng = np.random.default_rng(1)
    wrong = []
    for _ in range(200):
        entry = np.argsort(rng.random((20, 40)), axis=1).argsort(axis=1)
        halves = np.stack([entry < size for size in (1, 2, 4, 8)], axis=2)
        path, together = halves.mean(axis=0), (halves[::2] & halves[1::2]).mean(axis=0)
        penalties = np.geomspace(1, 0.1, 4)
        wrong.append(
            (
                expected_false_positives(
                    path, together, penalties, Integral(m, 1), n_pairs=10
                )
                <= 1
            ).sum()
        )
    assert np.mean(wrong) <= 1


# -- correlation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array])
def test_correlations_are_those_of_numpy(make):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6)) * (rng.random((50, 6)) < 0.7)
    X[:, 1] += 2 * X[:, 0]
    X[:, 5] = 3
    found = np.abs(np.corrcoef(X[:, :5], rowvar=False)) - np.eye(5)
    mean, nearest = correlation_of(make(X), np.arange(6))
    assert mean == pytest.approx(found.sum() / 30)
    largest = np.r_[np.arctanh(found.max(axis=1)), 0] - np.sqrt(2 * np.log(6) / 47)
    assert nearest == pytest.approx(np.tanh(np.maximum(largest, 0)).mean())
    chosen = np.array([4, 0])
    expected = np.tanh(np.maximum(largest, 0))[chosen]
    np.testing.assert_allclose(
        nearest_correlations(make(X), np.arange(6), chosen), expected, atol=1e-12
    )


def test_features_of_a_cluster_are_not_held_against_each_other():
    rng = np.random.default_rng(0)
    X = np.repeat(
        rng.standard_normal((100, 20)), 2, axis=1
    ) + 0.1 * rng.standard_normal((100, 40))
    assert correlation_of(X, np.arange(40)).nearest > 0.9
    assert correlation_of(X, np.arange(40) // 2).nearest < 0.1


def test_independent_features_do_not_look_correlated_however_few_the_rows():
    rng = np.random.default_rng(0)
    for n_rows, n_features in ((15, 500), (100, 1500), (1000, 20)):
        assert (
            correlation_of(
                rng.standard_normal((n_rows, n_features)), np.arange(n_features)
            ).nearest
            < 0.1
        )


def test_the_exponent_falls_from_one_to_zero():
    assert [exponent_of(r) for r in (0, 0.05, 0.15, 0.25, 0.9)] == pytest.approx(
        [1, 1, 0.5, 0, 0]
    )


def test_what_is_not_a_table_of_finite_numbers_has_no_correlation():
    assert numeric_table(np.array([["a", 1]], dtype=object)) is None
    assert numeric_table(np.array([[np.nan, 1]])) is None
    assert numeric_table(sparse.csr_array(np.array([[np.inf, 1]]))) is None
    assert numeric_table(np.array([[1, 2]])).dtype == float

"""Calibration scores against the definition, and the choice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from skstab.feature_selection._calibration import (
    best_cell,
    calibration_scores,
    counts_between,
)


def slow_score(shares, n_halves, threshold):
    """The score as it is written: F the distribution of a count by chance."""
    c, p = int(np.ceil(n_halves * threshold - 1e-9)), len(shares)
    counts = np.rint(shares * n_halves)
    F = binom(n_halves, shares.sum() / p).cdf
    score = 0.0
    for count in counts:
        if count >= c:
            score -= np.log(1 - F(c - 1))
        elif count <= n_halves - c:
            score -= np.log(F(n_halves - c))
        else:
            score -= np.log(F(c - 1) - F(n_halves - c))
    return score


@given(seed=st.integers(0, 2**32 - 1), n_halves=st.sampled_from([6, 10, 20]))
def test_the_score_is_minus_the_logarithm_of_the_probability_by_chance(seed, n_halves):
    rng = np.random.default_rng(seed)
    counts = rng.binomial(n_halves, rng.beta(0.5, 1, (12, 3)))
    path, reached = counts / n_halves, counts_between(n_halves, 0.6, 0.9)
    found = calibration_scores(path, n_halves, reached)
    expected = [
        [slow_score(shares, n_halves, c / n_halves) for c in reached]
        for shares in path.T
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_nothing_and_everything_are_what_chance_gives():
    path = np.column_stack([np.zeros(5), np.ones(5)])
    np.testing.assert_allclose(
        calibration_scores(path, 10, counts_between(10, 0.6, 0.9)), 0, atol=1e-12
    )


def test_a_clear_split_scores_more_than_a_vague_one_and_stays_finite():
    clear = np.r_[np.ones(10), np.zeros(990)]
    vague = np.r_[np.full(20, 0.5), np.zeros(980)]
    scores = calibration_scores(
        np.column_stack([clear, vague]), 100, counts_between(100, 0.6, 0.9)
    )
    assert np.isfinite(scores).all()
    assert scores[0].max() > scores[1].max()


def test_thresholds_go_from_sixty_to_ninety_percent():
    np.testing.assert_array_equal(counts_between(100, 0.6, 0.9), np.arange(60, 91))
    np.testing.assert_array_equal(counts_between(10, 0.6, 0.9), [6, 7, 8, 9])
    np.testing.assert_array_equal(counts_between(2, 0.6, 0.9), [2])


def test_the_best_allowed_cell_is_taken_and_of_equal_ones_the_first():
    scores = np.array([[1.0, 5.0], [5.0, 9.0]])
    assert best_cell(scores, np.ones((2, 2), dtype=bool)) == (1, 1)
    assert best_cell(scores, np.array([[True, True], [True, False]])) == (0, 1)


@pytest.mark.parametrize("n_halves", [4, 100])
def test_counts_are_above_one_half(n_halves):
    assert counts_between(n_halves, 0.6, 0.9).min() > n_halves / 2

"""The stability of given selection probabilities, which estimates are about."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from skstab.metrics import nogueira_stability, population_stability, stability_interval


@given(p=hnp.arrays(float, st.integers(2, 30), elements=st.floats(0.01, 0.99)))
def test_equals_the_closed_form(p):
    expected = 1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean()))
    assert population_stability(p) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_is_what_a_large_simulation_estimates(seed):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 1, 60)
    interval = stability_interval(rng.random((20_000, 60)) < p, confidence_level=0.999)
    assert interval.high - interval.low < 0.01
    assert interval.low < population_stability(p) < interval.high


def test_dependence_between_features_does_not_matter():
    rng = np.random.default_rng(0)
    one = rng.random(40_000) < 0.3
    pairs = np.column_stack([one, ~one, rng.random(40_000) < 0.5])
    assert nogueira_stability(pairs) == pytest.approx(
        population_stability([0.3, 0.7, 0.5]), abs=0.01
    )


def test_its_ends():
    assert population_stability([0.3] * 5) == 0
    assert population_stability([1, 0, 0, 1]) == 1
    assert population_stability(pd.Series([1, 1, 0])) == 1


@pytest.mark.parametrize("p", [[0.0, 0.0], [1, 1, 1]])
def test_nothing_to_choose(p):
    with pytest.warns(RuntimeWarning, match="probabilities leave nothing to choose"):
        assert population_stability(p) == 1


@pytest.mark.parametrize("p", [[0.5, 1.1], [-0.1], [np.nan, 0.5]])
def test_probabilities_out_of_range(p):
    with pytest.raises(ValueError, match="probabilities must be from 0 to 1"):
        population_stability(p)


@pytest.mark.parametrize("p", [0.5, [], [[0.5, 0.1]], ["a", "b"], None])
def test_not_one_number_for_each_feature(p):
    with pytest.raises(
        ValueError, match="probabilities must be one number for each feature, got"
    ):
        population_stability(p)

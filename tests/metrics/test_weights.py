"""Measures of weights and rankings against their definitions and the papers."""

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse, stats

from skstab import metrics
from skstab.metrics import get_measure
from skstab.metrics._tables import check_rankings, check_weights
from tests.metrics import definitions, strategies

pytestmark = pytest.mark.filterwarnings("ignore:all runs agree:RuntimeWarning")


@pytest.mark.parametrize("name", definitions.WEIGHTS)
@given(w=strategies.weights())
def test_equals_its_definition(name, w):
    expected = definitions.WEIGHTS[name](w)
    for form in (w, sparse.csr_array(w), sparse.csc_matrix(w)):
        assert getattr(metrics, f"{name}_stability")(form) == pytest.approx(
            expected, abs=1e-9
        )


@pytest.mark.parametrize("name", definitions.WEIGHTS)
@given(w=strategies.weights(min_runs=3))
def test_leave_one_out_equals_leaving_out(name, w):
    expected = [
        definitions.WEIGHTS[name](np.delete(w, run, axis=0)) for run in range(len(w))
    ]
    for form in (w, sparse.csr_array(w)):
        values = get_measure(name).leave_one_out(check_weights(form))
        np.testing.assert_allclose(values, expected, atol=1e-9)


@pytest.mark.parametrize("name", definitions.WEIGHTS)
@pytest.mark.parametrize("density", [0.02, 0.3, 1.0])
def test_equals_its_definition_on_larger_tables(name, density):
    rng = np.random.default_rng(0)
    w = rng.normal(size=(40, 150)) * (rng.random((40, 150)) < density)
    for form in (w, sparse.csr_array(w)):
        score = getattr(metrics, f"{name}_stability")(form)
        assert score == pytest.approx(definitions.WEIGHTS[name](w), abs=1e-9)


def test_a_large_offset_and_extreme_scales_cost_no_precision():
    rng = np.random.default_rng(0)
    w = rng.normal(size=(5, 50))
    shifted = w + 1e6
    assert metrics.pearson_stability(shifted) == pytest.approx(
        definitions.pearson(w), abs=1e-8
    )
    scaled = w * np.array([[1e-300], [1e300], [1.0], [1e150], [1e-150]])
    for name in definitions.WEIGHTS:
        score = getattr(metrics, f"{name}_stability")
        assert score(scaled) == pytest.approx(score(w), abs=1e-9)
        assert score(sparse.csr_array(scaled)) == pytest.approx(score(w), abs=1e-9)


def test_blocks_of_runs_do_not_change_the_result(monkeypatch):
    w = np.random.default_rng(0).normal(size=(30, 20))
    whole = metrics.pearson_stability(w)
    monkeypatch.setattr("skstab.metrics._weights._BLOCK_ENTRIES", 40)
    assert metrics.pearson_stability(w) == pytest.approx(whole, abs=1e-14)


def test_constant_rows_agree_in_either_form():
    w = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [-2.0, -2.0, -2.0]])
    assert (
        metrics.spearman_stability(w)
        == metrics.spearman_stability(sparse.csr_array(w))
        == 1
    )


def test_average_ranks_agree_with_scipy():
    w = np.random.default_rng(0).integers(0, 4, size=(2, 30))
    assert metrics.spearman_stability(w) == pytest.approx(
        stats.spearmanr(*w).statistic, abs=1e-12
    )


def test_ties_broken_at_random_are_seeded_and_lower_the_stability_of_many_zeros():
    w = np.zeros((20, 200))
    w[:, :5] = [5, 4, 3, 2, 1]
    assert metrics.spearman_stability(w) == pytest.approx(1)
    random = [
        metrics.spearman_stability(w, ties="random", random_state=seed)
        for seed in (0, 0, 1)
    ]
    assert random[0] == random[1] != random[2]
    assert 0.0 < random[0] < 0.2
    assert (
        metrics.spearman_stability(sparse.csr_array(w), ties="random", random_state=0)
        == random[0]
    )


def test_ranks_broken_at_random_are_permutations_that_keep_the_order():
    w = np.array([[2.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    from skstab.metrics._weights import dense_ranks

    seen = [dense_ranks(w, np.random.RandomState(seed)) for seed in range(40)]
    assert {tuple(ranks[0]) for ranks in seen} == {(4, 2, 3, 1), (4, 3, 2, 1)}
    assert all(sorted(ranks[1]) == [1, 2, 3, 4] for ranks in seen)


@given(z=strategies.supports())
def test_pearson_of_sets_is_the_phi_coefficient(z):
    assert metrics.pearson_stability(z.astype(float)) == pytest.approx(
        metrics.phi_stability(z), abs=1e-9
    )


# -- importance-weighted, hamer2021 ------------------------------------------------------------------------------------


@given(z=strategies.supports())
def test_theorem_2_even_importances(z):
    m, d = z.shape
    sizes, sets = z.sum(axis=1), definitions.sets_of(z)
    mean = sizes.mean()
    if sizes.sum() in (0, m * d):
        return
    shared, chance = [], []
    for i in range(m):
        for j in range(i):
            if not sizes[i] and not sizes[j]:
                shared.append(mean)
                chance.append(mean)
            elif not sizes[i] or not sizes[j]:
                shared.append(0)
                chance.append(0)
            else:
                larger = max(sizes[i], sizes[j])
                shared.append(mean * len(sets[i] & sets[j]) / larger)
                chance.append(mean / d * sizes[i] * sizes[j] / larger)
    expected = (np.mean(shared) - np.mean(chance)) / (mean - np.mean(chance))
    assert metrics.importance_weighted_stability(z * 0.7) == pytest.approx(
        expected, abs=1e-9
    )


@given(z=strategies.supports(constant_size=True, trivial=False))
def test_theorem_3_is_kuncheva_at_constant_size(z):
    assert metrics.importance_weighted_stability(z) == pytest.approx(
        metrics.kuncheva_stability(z), abs=1e-9
    )


def test_equation_10_frequency_based_form():
    rng = np.random.default_rng(0)
    importances = rng.gamma(1, size=(12, 30)) * (rng.random((12, 30)) < 0.4)
    m, d = importances.shape
    chosen = importances > 0
    mean = chosen.sum() / m
    scaled = importances / importances.sum(axis=1, keepdims=True) * mean
    frequency = chosen.mean(axis=0)
    minima = np.minimum(scaled[:, None, :], scaled[None, :, :]).sum(axis=(0, 1))
    overall = minima / chosen.sum(axis=0) ** 2
    pairs = [
        np.minimum.outer(scaled[i], scaled[j]).sum() / d
        for i in range(m)
        for j in range(i)
    ]
    expected = 1 - m / (m - 1) * (mean - (overall * frequency**2).sum()) / (
        mean - np.mean(pairs)
    )
    assert metrics.importance_weighted_stability(importances) == pytest.approx(
        expected, abs=1e-12
    )


def figure_6(n_features, n_runs=30):
    """15 features always chosen with importance 2/3, and 5 that never come back with importance 2."""
    importances = sparse.lil_array((n_runs, n_features))
    for run in range(n_runs):
        importances[run, :15] = 2 / 3
        importances[run, 15 + 5 * run : 20 + 5 * run] = 2
    return importances.tocsr()


def test_figure_6_as_the_number_of_features_grows():
    distances = []
    for d in (200, 2_000, 200_000):
        importances = figure_6(d)
        found = [
            metrics.nogueira_stability(importances > 0),
            metrics.pearson_stability(importances),
            metrics.importance_weighted_stability(importances),
        ]
        distances.append(np.abs(np.subtract(found, [0.75, 0.25, 0.5])).max())
    assert distances[0] > 5 * distances[1] > 25 * distances[2]
    assert distances[2] < 1e-3


@given(w=strategies.weights())
def test_signs_and_scale_of_a_run_do_not_matter(w):
    factors = np.array([1.0, -3.0, 0.5, 7.0, -1.0, 2.0])[: len(w), None]
    expected = metrics.importance_weighted_stability(w)
    assert metrics.importance_weighted_stability(w * factors) == pytest.approx(
        expected, abs=1e-9
    )


# -- rankings ----------------------------------------------------------------------------------------------------------


@given(r=strategies.rankings())
def test_canberra_equals_its_definition(r):
    assert metrics.canberra_stability(r) == pytest.approx(
        definitions.canberra(r), abs=1e-9
    )
    for location in (1, r.shape[1] // 2 or 1, r.shape[1]):
        expected = definitions.canberra(r, location)
        assert metrics.canberra_stability(r, location=location) == pytest.approx(
            expected, abs=1e-9
        )


@given(r=strategies.rankings(min_runs=3))
def test_canberra_leave_one_out_equals_leaving_out(r):
    expected = [
        definitions.canberra(np.delete(r, run, axis=0), 2) for run in range(len(r))
    ]
    values = get_measure("canberra", location=2).leave_one_out(check_rankings(r))
    np.testing.assert_allclose(values, expected, atol=1e-9)


def test_canberra_of_random_long_rankings_is_about_zero():
    rng = np.random.default_rng(0)
    r = np.array([rng.permutation(2000) + 1 for _ in range(20)])
    for location in (None, 20, 500):
        assert metrics.canberra_stability(r, location=location) == pytest.approx(
            0, abs=0.02
        )


def test_canberra_blocks_of_runs_do_not_change_the_result(monkeypatch):
    rng = np.random.default_rng(0)
    r = np.array([rng.permutation(9) + 1 for _ in range(11)])
    whole = metrics.canberra_stability(r)
    monkeypatch.setattr("skstab.metrics._ranking._BLOCK_ENTRIES", 30)
    assert metrics.canberra_stability(r) == pytest.approx(whole, abs=1e-14)

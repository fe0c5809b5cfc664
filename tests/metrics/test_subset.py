"""Measures of sets against their definitions, the papers' examples and each other."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from skstab import metrics
from skstab.metrics import get_measure
from skstab.metrics._pairwise import _blas_intersections, jaccard_row_sums
from skstab.metrics._tables import Supports, check_supports
from tests.metrics import definitions, strategies

ALL = list(definitions.SUBSET)
ANY_SIZE = [name for name in ALL if name not in definitions.CONSTANT_SIZE]
FORMS = {
    "bool": lambda z: z,
    "int": lambda z: z.astype(int),
    "float, Fortran order": lambda z: np.asfortranarray(z.astype(float)),
    "lists": lambda z: z.astype(int).tolist(),
    "csr_array": sparse.csr_array,
    "csc_matrix": lambda z: sparse.csc_matrix(z.astype(np.int8)),
    "coo_array": lambda z: sparse.coo_array(z.astype(float)),
    "frame": lambda z: pd.DataFrame(
        z, columns=[f"gene {f}" for f in range(z.shape[1])]
    ),
    "nullable frame": lambda z: pd.DataFrame(z).astype("boolean"),
    "sparse frame": lambda z: pd.DataFrame.sparse.from_spmatrix(
        sparse.csr_matrix(z.astype(int))
    ),
}

pytestmark = pytest.mark.filterwarnings("ignore:all runs agree:RuntimeWarning")


def score(name, data):
    return getattr(metrics, f"{name}_stability")(data)


@pytest.mark.parametrize("name", ALL)
@given(z=strategies.supports(constant_size=True))
def test_equals_its_definition_at_constant_size(name, z):
    assert score(name, z) == pytest.approx(definitions.SUBSET[name](z), abs=1e-9)
    assert score(name, sparse.csr_array(z)) == pytest.approx(score(name, z), abs=1e-12)


@pytest.mark.parametrize("name", ANY_SIZE)
@given(z=strategies.supports())
def test_equals_its_definition_when_sizes_vary(name, z):
    assert score(name, z) == pytest.approx(definitions.SUBSET[name](z), abs=1e-9)
    assert score(name, sparse.csr_array(z)) == pytest.approx(score(name, z), abs=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_equals_its_definition_on_larger_tables(name):
    rng = np.random.default_rng(1)
    z = np.argsort(rng.random((60, 200)), axis=1) < 30
    if name in ANY_SIZE:
        z &= rng.random(z.shape) < 0.8
    assert score(name, z) == pytest.approx(definitions.SUBSET[name](z), abs=1e-9)


@pytest.mark.parametrize("name", ALL)
@given(z=strategies.supports(min_runs=3, constant_size=True))
def test_leave_one_out_equals_leaving_out(name, z):
    measure = get_measure(name)
    table = check_supports(z)
    expected = [
        definitions.SUBSET[name](np.delete(z, run, axis=0)) for run in range(len(z))
    ]
    np.testing.assert_allclose(measure.leave_one_out(table), expected, atol=1e-9)


@pytest.mark.parametrize("name", ANY_SIZE)
@given(z=strategies.supports(min_runs=3))
def test_leave_one_out_equals_leaving_out_when_sizes_vary(name, z):
    measure = get_measure(name)
    expected = [
        definitions.SUBSET[name](np.delete(z, run, axis=0)) for run in range(len(z))
    ]
    for table in (check_supports(z), check_supports(sparse.csr_array(z))):
        np.testing.assert_allclose(measure.leave_one_out(table), expected, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ALL)
def test_every_form_of_table_gives_the_same(name, form):
    z = np.array(
        [[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 1, 0, 0, 0]], dtype=bool
    )
    assert score(name, FORMS[form](z)) == pytest.approx(
        definitions.SUBSET[name](z), abs=1e-12
    )


def test_explicit_zeros_and_unsorted_entries_of_sparse_tables_count_as_what_they_are():
    z = sparse.csr_array(([1, 0, 1, 1], [2, 1, 0, 0], [0, 3, 4]), shape=(2, 4))
    assert not z.has_sorted_indices
    assert metrics.jaccard_stability(z) == pytest.approx(1 / 2)
    assert z.nnz == 4, "the caller's matrix is left as it was"


@given(z=strategies.supports(), penalty=st.floats(0, 3))
def test_davis_penalty(z, penalty):
    assert metrics.davis_stability(z, penalty=penalty) == pytest.approx(
        definitions.davis(z, penalty), abs=1e-9
    )


def test_both_ways_to_the_intersections_agree():
    rng = np.random.default_rng(0)
    z = rng.random((40, 300)) < 0.3
    z[:, ::7] = False
    for table in (Supports(z), check_supports(sparse.csr_array(z))):
        used = np.flatnonzero(table.counts)
        np.testing.assert_array_equal(
            _blas_intersections(table, used), z.astype(int) @ z.T.astype(int)
        )
        expected = definitions.mean_over_pairs(
            lambda a, b: len(a & b) / len(a | b), definitions.sets_of(z)
        )
        assert jaccard_row_sums(table).mean() / 39 == pytest.approx(expected, abs=1e-12)


def test_blocks_of_features_and_of_groups_do_not_change_the_result(monkeypatch):
    rng = np.random.default_rng(0)
    z = rng.random((30, 50)) < rng.random(50)
    whole = {name: score(name, z) for name in ANY_SIZE}
    monkeypatch.setattr("skstab.metrics._pairwise._BLOCK_ENTRIES", 64)
    for advantage in (0, np.inf):
        monkeypatch.setattr("skstab.metrics._pairwise._BLAS_ADVANTAGE", advantage)
        for name in ANY_SIZE:
            assert score(name, z) == pytest.approx(whole[name], abs=1e-12)


def test_counts_of_many_runs_do_not_overflow():
    z = np.ones((1000, 3), dtype=bool)
    z[:, 2] = False
    np.testing.assert_array_equal(check_supports(z).counts, [1000, 1000, 0])


# -- the papers --------------------------------------------------------------------------------------------------------


def test_jaccard_of_the_examples_of_nogueira2016():
    a1 = [[1, 1, 1, 0, 0]] * 3
    a2 = [[1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 0, 1, 0, 0]]
    assert metrics.jaccard_stability(a1) == 1
    assert metrics.jaccard_stability(a2) == pytest.approx(11 / 18, abs=1e-15)


def test_the_three_scenarios_of_nogueira2016_figure_3():
    always_the_same = np.repeat([[1] * 6 + [0] * 9], 10, axis=0)
    assert metrics.phi_stability(always_the_same) == pytest.approx(1, abs=1e-15)
    # With frequencies all k/d the variance is maximal; 5 rotations of 6 features out of 15 have just that.
    even = np.array([np.roll([1] * 6 + [0] * 9, 3 * shift) for shift in range(5)] * 200)
    assert metrics.phi_stability(even) == pytest.approx(0, abs=0.01)


def test_guzman_of_the_two_matrices_of_nogueira2018_appendix_c():
    z1 = [[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 0, 1, 1], [0, 0, 1, 1, 0]]
    z2 = [[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [1, 0, 1, 0, 0], [0, 1, 0, 1, 0]]
    assert round(metrics.guzman_stability(z1), 2) == 0.24
    assert round(metrics.guzman_stability(z2), 2) == 0.31


def test_krizek_of_the_two_matrices_of_nogueira2018_appendix_c():
    z1 = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    z2 = [[1, 0, 1, 0], [1, 0, 1, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    assert metrics.krizek_stability(z1) == metrics.krizek_stability(z2) == 1


def test_cwrel_counter_example_of_nogueira2018_appendix_c():
    assert (
        metrics.cwrel_stability(
            [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]]
        )
        == 1
    )


@pytest.mark.parametrize("k", range(2, 10))
def test_nested_sets_of_nogueira2018_figure_1a(k):
    z = np.zeros((100, 10), dtype=bool)
    z[:50, :k] = z[50:, : k - 1] = True
    assert metrics.wald_stability(z) == pytest.approx(1)
    assert metrics.cwrel_stability(z) == pytest.approx(1)
    assert metrics.nogueira_stability(z) < 0.95


@pytest.mark.parametrize("k", range(1, 10))
def test_identical_sets_of_nogueira2018_figure_1b(k):
    z = np.zeros((100, 10), dtype=bool)
    z[:, :k] = True
    assert metrics.lustgarten_stability(z) == pytest.approx(max(k / 10, 1 - k / 10))
    assert metrics.goh_stability(z) == pytest.approx(k / 10)
    assert metrics.nogueira_stability(z) == 1


@given(z=strategies.supports(constant_size=True, trivial=False))
def test_theorem_5_equal_measures_at_constant_size(z):
    expected = metrics.nogueira_stability(z)
    for name in ("kuncheva", "wald", "npog", "phi"):
        assert score(name, z) == pytest.approx(expected, abs=1e-12)


def test_theorem_5_cwrel_is_asymptotically_equal_at_constant_size():
    rng = np.random.default_rng(0)
    favourites = np.repeat([1.0, 0.0], [5, 45])
    z = np.argsort(rng.random((4000, 50)) - 0.3 * favourites, axis=1) < 10
    assert metrics.cwrel_stability(z) == pytest.approx(
        metrics.nogueira_stability(z), abs=1e-3
    )


@settings(max_examples=50)
@given(z=strategies.supports(trivial=False))
def test_theorem_6_is_fleiss_kappa(z):
    subjects_by_category = aggregate_raters(z.T.astype(int))[0]
    assert metrics.nogueira_stability(z) == pytest.approx(
        fleiss_kappa(subjects_by_category), abs=1e-12
    )


@given(z=strategies.supports(trivial=False))
def test_theorem_1_mean_intersection_and_variances(z):
    sets = definitions.sets_of(z)
    shared = definitions.mean_over_pairs(lambda a, b: len(a & b), sets)
    assert shared == pytest.approx(
        z.sum() / len(z) - z.var(axis=0, ddof=1).sum(), abs=1e-12
    )


@given(z=strategies.supports(trivial=False))
def test_mean_of_random_selections_when_sizes_vary(z):
    """Theorem 3 holds up to var(k) / ((M−1) k̄ (d−k̄)), as the docstring says; here by averaging over permutations."""
    m, d = z.shape
    sizes, mean = z.sum(axis=1), z.sum() / m
    expected = -sizes.var() / ((m - 1) * mean * (d - mean))
    # E[r_ij] = k_i k_j / d makes the expected sum of squared counts exact.
    squares = sizes.sum() + (sizes.sum() ** 2 - (sizes**2).sum()) / d
    variances = (sizes.sum() * m - squares) / (m * (m - 1))
    assert 1 - variances / (mean * (1 - mean / d)) == pytest.approx(expected, abs=1e-12)
    rng = np.random.default_rng(0)
    simulated = [
        metrics.nogueira_stability(rng.permuted(z, axis=1)) for _ in range(400)
    ]
    assert np.mean(simulated) == pytest.approx(
        expected, abs=5 * np.std(simulated) / 20 + 1e-12
    )

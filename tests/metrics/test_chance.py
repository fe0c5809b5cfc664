"""Random selections: what measures score on them, by enumeration, and the test against them."""

from itertools import combinations, product
from math import gcd

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skstab.metrics import (
    RandomSelectionTest,
    get_measure,
    measure_table,
    nogueira_stability,
    random_selection_test,
    stability_score,
)
from skstab.metrics._random_selection import _shuffled
from skstab.metrics._tables import check_supports, check_weights
from tests.metrics import definitions

TABLE = measure_table()


def every_selection(d, sizes):
    """Every table of runs of these sizes."""
    return product(
        *(
            [np.isin(np.arange(d), c) for c in combinations(range(d), size)]
            for size in sizes
        )
    )


def mean_over_all(name, d, sizes):
    measure = get_measure(name, **definitions.parameters_for(name, d))
    return np.mean([measure(np.array(z)) for z in every_selection(d, sizes)])


# -- what is corrected for chance, and when ----------------------------------------------------------------------------


def test_nogueira_is_corrected_for_chance_at_equal_sizes_only():
    assert mean_over_all("nogueira", 6, (1, 4)) == pytest.approx(-9 / 35)  # −0.257
    assert mean_over_all("nogueira", 6, (2, 2)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("d", "sizes"),
    [(6, (1, 4)), (5, (1, 3)), (4, (1, 2, 3)), (5, (1, 1, 3)), (4, (1, 3, 3))],
)
def test_how_far_nogueira_is_from_zero(d, sizes):
    mean = np.mean(sizes)
    expected = -np.var(sizes) / ((len(sizes) - 1) * mean * (d - mean))
    assert mean_over_all("nogueira", d, sizes) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", TABLE.index[TABLE["kind"] == "subset"])
def test_the_table_says_where_the_correction_is_exact_for_any_sizes(name):
    declared = TABLE.loc[name, "corrected_any_sizes"]
    if not (TABLE.loc[name, "chance_corrected"] and TABLE.loc[name, "fully_defined"]):
        assert declared is pd.NA
        return
    expectations = [
        mean_over_all(name, 5, sizes) for sizes in [(1, 3), (2, 4), (1, 2, 4)]
    ]
    assert np.allclose(expectations, 0, atol=1e-12) == declared
    assert declared or np.abs(expectations).min() > 0.01


def test_sizes_do_not_vary_for_weights_and_rankings():
    assert TABLE.loc[TABLE["kind"] != "subset", "corrected_any_sizes"].isna().all()


@pytest.mark.parametrize(
    ("d", "k", "n_runs"), [(4, 2, 2), (4, 2, 4), (3, 1, 3), (4, 3, 4), (3, 2, 3)]
)
def test_cwrel_of_random_selections_is_one_over_the_number_of_runs(d, k, n_runs):
    """nogueira2016 calls it corrected for chance, nogueira2018 corrected for infinitely many runs: the latter is right.

    It is exact where the selections can be shared out evenly over the features.
    """
    assert n_runs * k % d == 0
    assert mean_over_all("cwrel", d, (k,) * n_runs) == pytest.approx(1 / n_runs)


def test_cwrel_of_random_selections_is_above_zero_where_they_cannot_be_shared_out_evenly():
    for d, k, n_runs in [(5, 2, 2), (5, 2, 3), (4, 1, 3), (5, 4, 3)]:
        assert gcd(n_runs * k, d) < d
        assert mean_over_all("cwrel", d, (k,) * n_runs) > 0.15


# -- Fleiss' kappa and the intra-class correlation (nogueira2018, theorem 6 and footnote 9) ----------------------------


def intra_class_correlation(z, between_df):
    """(BMS − WMS) / (BMS + (M − 1) WMS) of a one-way analysis of variance with features as classes."""
    m, d = z.shape
    means = z.mean(axis=0)
    between = m * np.sum((means - z.mean()) ** 2) / between_df
    within = np.sum((z - means) ** 2) / (d * (m - 1))
    return (between - within) / (between + (m - 1) * within)


@pytest.mark.parametrize("seed", range(5))
def test_nogueira_is_the_intra_class_correlation_with_features_as_the_whole_population(
    seed,
):
    rng = np.random.default_rng(seed)
    z = (rng.random((6, 40)) < rng.beta(0.5, 1, 40)).astype(float)
    value = nogueira_stability(z)
    assert intra_class_correlation(z, z.shape[1]) == pytest.approx(value, abs=1e-12)
    # With d − 1 degrees of freedom, as for features drawn from a larger population, it is larger by less than 1/(d−1).
    assert 0 < intra_class_correlation(z, z.shape[1] - 1) - value < 1 / (z.shape[1] - 1)


# -- the test against random selections --------------------------------------------------------------------------------

SMALL = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]])


@pytest.mark.parametrize("name", ["nogueira", "jaccard", "krizek"])
def test_the_pvalue_is_the_share_of_all_selections(name):
    drawn = np.array(
        [stability_score(z, measure=name) for z in every_selection(4, (2, 2, 2))]
    )
    value = stability_score(SMALL, measure=name)
    sign = 1 if TABLE.loc[name, "higher_is_better"] else -1
    greater = np.mean(sign * drawn >= sign * value - 1e-9)
    less = np.mean(sign * drawn <= sign * value + 1e-9)
    exact = {
        "greater": greater,
        "less": less,
        "two-sided": min(1, 2 * min(greater, less)),
    }
    for alternative, share in exact.items():
        test = random_selection_test(
            SMALL,
            measure=name,
            alternative=alternative,
            n_resamples=1000,
            random_state=0,
        )
        assert test.pvalue == pytest.approx(share, abs=0.05)  # three standard errors
        assert test.expected == pytest.approx(drawn.mean(), abs=0.05)
        assert test.stability == value


def test_draws_keep_the_sizes_and_reach_every_set_equally_often():
    rng = np.random.default_rng(0)
    table = check_supports([[1, 1, 0, 0], [1, 0, 0, 0]])
    draws = [_shuffled(table, rng).matrix.toarray() for _ in range(6000)]
    assert all(np.array_equal(z.sum(axis=1), [2, 1]) for z in draws)
    codes, counts = np.unique(
        [z.astype(int).ravel() @ 2 ** np.arange(8) for z in draws], return_counts=True
    )
    assert codes.size == 6 * 4
    assert (
        (counts - 250) ** 2 / 250
    ).sum() < 50  # χ² with 23 degrees of freedom: p = 0.001


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_weights_are_permuted_within_each_run(form):
    weights = np.array([[0.0, 1.5, 0.0, -2.0], [3.0, 0.0, 0.0, 0.0]])
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(600):
        moved = _shuffled(check_weights(form(weights)), rng).matrix
        moved = moved.toarray() if sparse.issparse(moved) else moved
        assert np.array_equal(np.sort(moved), np.sort(weights))
        seen.add(tuple(moved.ravel()))
    assert len(seen) == 12 * 4


def test_sparse_weights_stay_as_the_caller_made_them():
    weights = sparse.random_array((5, 40), density=0.3, rng=0, format="csr")
    before = weights.toarray()
    random_selection_test(
        weights, measure="importance_weighted", n_resamples=19, random_state=0
    )
    np.testing.assert_array_equal(weights.toarray(), before)


def test_the_level_is_kept_and_an_agreement_is_noticed():
    rng = np.random.default_rng(0)
    sizes = np.array([2, 5, 9, 4, 4])
    at_random = [
        rng.random((5, 30)).argsort(axis=1) < sizes[:, None] for _ in range(300)
    ]
    pvalues = [
        random_selection_test(z, n_resamples=39, random_state=seed).pvalue
        for seed, z in enumerate(at_random)
    ]
    assert np.mean(np.array(pvalues) <= 0.05) == pytest.approx(
        0.05, abs=3 * np.sqrt(0.05 * 0.95 / 300)
    )
    agreeing = rng.random((5, 30)) < np.repeat([0.8, 0.1], [5, 25])
    assert random_selection_test(agreeing, random_state=0).pvalue == 0.001


@pytest.mark.parametrize(
    "name", ["pearson", "spearman", "canberra", "importance_weighted"]
)
def test_every_kind_of_data(name):
    rng = np.random.default_rng(1)
    ranks = (
        np.argsort(
            np.argsort(np.arange(12) + 3 * rng.normal(size=(6, 12)), axis=1), axis=1
        )
        + 1
    )
    test = random_selection_test(ranks, measure=name, n_resamples=99, random_state=0)
    assert test.pvalue == 0.01
    assert test.expected < test.stability == stability_score(ranks, measure=name)


def test_the_same_seed_gives_the_same_draws():
    one, same, other = (
        random_selection_test(SMALL, random_state=seed, n_resamples=50)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one.null_distribution, same.null_distribution)
    assert not np.array_equal(one.null_distribution, other.null_distribution)
    assert one == same
    assert isinstance(one, RandomSelectionTest)


def test_sparse_and_dense_supports_are_drawn_alike():
    dense, compressed = (
        random_selection_test(z, random_state=0, n_resamples=50)
        for z in (SMALL, sparse.csr_array(SMALL))
    )
    assert np.array_equal(dense.null_distribution, compressed.null_distribution)


def test_runs_without_a_choice_are_no_evidence():
    with pytest.warns(RuntimeWarning, match="nothing to choose"):
        assert random_selection_test(np.ones((3, 4)), random_state=0).pvalue == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"alternative": "larger"},
            "alternative must be one of greater, less, two-sided; got 'larger'",
        ),
        ({"n_resamples": 3}, "n_resamples must be an int of at least 10, got 3"),
        ({"measure": "unheard_of"}, "measure must be one of"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        random_selection_test(SMALL, **parameters)

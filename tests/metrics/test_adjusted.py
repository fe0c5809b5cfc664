"""Measures that forgive substitutes, against their definitions and against what they are for."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from skstab import metrics
from skstab.metrics import (
    _chance,
    _substitutes,
    get_measure,
    stability_interval,
    stability_score,
    stability_test,
)
from skstab.metrics._chance import yu_expected
from skstab.metrics._redundancy import uncovered_share
from skstab.metrics._similarity import find_links
from skstab.metrics._tables import check_supports
from tests.metrics import definitions, strategies

ADJUSTED = list(definitions.ADJUSTED)
SIMULATED = [name for name in ADJUSTED if name.startswith("intersection")]
CORRECTED = [*SIMULATED, "yu", "npogr"]

pytestmark = [
    pytest.mark.filterwarnings("ignore:all runs agree:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:no two features:RuntimeWarning"),
]


def score(name, supports, similarity, **parameters):
    return getattr(metrics, f"{name}_stability")(supports, similarity, **parameters)


def similarity_of(seed, d, share=0.4):
    """A random graph whose similarities are tied now and then."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.uniform(0.9, 1.0, (d, d)), 2) * (rng.random((d, d)) < share)
    values += 0.5 * (rng.random((d, d)) < 0.3) * (values == 0)
    return np.triu(values, 1) + np.triu(values, 1).T + np.eye(d)


def sets_of_sizes(sizes, d, seed):
    rng = np.random.default_rng(seed)
    return np.array(
        [np.isin(np.arange(d), rng.choice(d, k, replace=False)) for k in sizes]
    )


# -- definitions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ADJUSTED)
@settings(max_examples=60)
@given(z=strategies.supports(max_features=5), seed=st.integers(0, 3))
def test_equals_its_definition(name, z, seed):
    similarity = similarity_of(seed, z.shape[1])
    expected = definitions.ADJUSTED[name](z, similarity)
    for form in (similarity, sparse.csr_array(similarity)):
        assert score(name, z, form) == pytest.approx(expected, abs=1e-9)
    assert score(name, sparse.csr_array(z), pd.DataFrame(similarity)) == pytest.approx(
        expected, abs=1e-9
    )


@pytest.mark.parametrize("name", ADJUSTED)
@settings(max_examples=40)
@given(z=strategies.supports(min_runs=3, max_features=5), seed=st.integers(0, 3))
def test_leave_one_out_equals_leaving_out(name, z, seed):
    similarity = similarity_of(seed, z.shape[1])
    expected = [
        definitions.ADJUSTED[name](np.delete(z, run, axis=0), similarity)
        for run in range(len(z))
    ]
    values = get_measure(name, similarity=similarity).leave_one_out(check_supports(z))
    np.testing.assert_allclose(values, expected, atol=1e-9)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.6])
@pytest.mark.parametrize("name", SIMULATED)
def test_equals_its_definition_with_the_same_draws(name, share, monkeypatch):
    monkeypatch.setattr(_chance, "N_DRAWS", 70)
    monkeypatch.setattr(_chance, "_DRAWS_PER_BLOCK", 30)
    z = sets_of_sizes([4, 9, 9, 4, 0, 40, 12], 40, seed=1)
    similarity = similarity_of(2, 40, share)
    expected = definitions.ADJUSTED[name](
        z, similarity, random_state=5, n_draws=70, block_size=30
    )
    assert score(name, z, similarity, random_state=5) == pytest.approx(
        expected, abs=1e-9
    )


@pytest.mark.parametrize("name", ADJUSTED)
def test_blocks_of_pairs_do_not_change_the_result(name, monkeypatch):
    monkeypatch.setattr(_chance, "N_DRAWS", 20)
    z = sets_of_sizes(np.arange(3, 15), 40, seed=1)
    similarity = similarity_of(2, 40, 0.2)
    whole = score(name, z, similarity, random_state=0)
    monkeypatch.setattr(_substitutes, "_BLOCK_MATCHES", 50)
    assert score(name, z, similarity, random_state=0) == pytest.approx(whole, abs=1e-12)


def test_the_threshold_is_reached_from_above_and_at_it():
    z = [[1, 0, 0], [0, 1, 0]]
    similarity = np.array([[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]])
    below, at = (
        metrics.yu_stability(z, similarity, threshold=threshold)
        for threshold in (0.81, 0.8)
    )
    assert below < 0 < at == pytest.approx(1)


def test_similarities_of_copies_that_exceed_one_by_rounding():
    x = np.random.default_rng(0).normal(size=(30, 3))
    similarity = np.abs(np.corrcoef(np.hstack([x, x]), rowvar=False))
    similarity[0, 3] = similarity[3, 0] = 1 + 1e-12
    z = [[1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0]]
    for name in ADJUSTED:
        assert score(name, z, similarity) == pytest.approx(
            1 if name != "zucknick" else 0.5
        )


# -- the correction for chance -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("d", [3, 5, 6])
def test_yu_is_expected_to_share_what_it_shares_on_average_over_all_sets(d, seed):
    similarity = similarity_of(seed, d, 0.5)
    links, similar = find_links(similarity, 0.9), definitions.Similar(similarity, 0.9)
    for a, b in product(range(d + 1), repeat=2):
        pairs = product(definitions.all_sets(d, a), definitions.all_sets(d, b))
        mean = np.mean([definitions.yu_intersection(*pair, similar) for pair in pairs])
        assert yu_expected(links, a, b) == pytest.approx(mean, abs=1e-12)


def test_yu_is_expected_to_share_what_draws_share_at_a_usual_size():
    similarity = similarity_of(0, 60, 0.05)
    links, similar = find_links(similarity, 0.9), definitions.Similar(similarity, 0.9)
    draws = zip(
        *(
            definitions.random_sets(60, k, 4000, 4000, 0, side)
            for side, k in enumerate((8, 14))
        ),
        strict=True,
    )
    values = [definitions.yu_intersection(a, b, similar) for a, b in draws]
    assert yu_expected(links, 8, 14) == pytest.approx(
        np.mean(values), abs=4 * np.std(values) / np.sqrt(4000)
    )


@pytest.mark.parametrize("name", SIMULATED)
def test_draws_and_all_sets_agree(name, monkeypatch):
    z, similarity = sets_of_sizes([3, 2, 3, 4], 8, seed=0), similarity_of(1, 8)
    exact = score(name, z, similarity)
    monkeypatch.setattr(
        _chance, "N_DRAWS", 784
    )  # all but the pairs of sizes 2 and 2 are drawn
    drawn = score(name, z, similarity, random_state=0)
    assert exact != drawn == pytest.approx(exact, abs=0.1)


@pytest.mark.parametrize("name", SIMULATED)
def test_the_same_seed_gives_the_same_value_and_another_seed_another(name):
    z, similarity = sets_of_sizes([8] * 5, 50, seed=0), similarity_of(0, 50, 0.1)
    values = [score(name, z, similarity, random_state=seed) for seed in (0, 0, 1)]
    assert values[0] == values[1] != values[2]
    assert values[0] == pytest.approx(values[2], abs=0.02)


@pytest.mark.parametrize("name", SIMULATED)
def test_what_is_expected_of_two_sizes_depends_on_no_other_run(name):
    similarity = similarity_of(0, 50, 0.1)
    z = sets_of_sizes([6, 9, 20], 50, seed=0)
    alone = score(name, z[:2], similarity, random_state=3)
    measure = get_measure(name, similarity=similarity, random_state=3)
    measure(z)
    assert measure(z[:2]) == alone
    assert stability_score(z[:2][::-1], measure=measure) == pytest.approx(
        alone, abs=1e-12
    )


@pytest.mark.parametrize("name", CORRECTED)
def test_random_selections_of_any_sizes_score_zero(name):
    rng = np.random.default_rng(0)
    measure = get_measure(name, similarity=similarity_of(0, 60, 0.1), random_state=0)
    values = [measure(sets_of_sizes([5, 10, 10, 15] * 4, 60, rng)) for _ in range(60)]
    # The error of the values, and that of E: the standard deviation of I is below 2, and I_max − E above 4.
    assert abs(np.mean(values)) < 4 * (np.std(values) / np.sqrt(60) + 2 / 4 / 100)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [3, 5])
def test_a_random_set_leaves_uncovered_what_it_does_on_average_over_all_sets(d, seed):
    similarity = similarity_of(seed, d, 0.5)
    left_out = uncovered_share(find_links(similarity, 0.9), np.arange(d + 1))
    similar = definitions.Similar(similarity, 0.9)
    for a, b in product(range(d + 1), repeat=2):
        expected = a * (1 - left_out[b])
        assert definitions.expected_covered(similar, a, b) == pytest.approx(
            expected, abs=1e-12
        )


# -- what it is for ----------------------------------------------------------------------------------------------------


def test_what_each_measure_forgives():
    """Feature 0 has two near-copies, 1 and 2; feature 3 is the only copy of 4."""
    similarity = np.eye(12)
    similarity[:3, :3] = 0.92
    similarity[3:5, 3:5] = 0.98
    np.fill_diagonal(similarity, 1)
    copies = [[0, 3, 5], [1, 4, 5]]
    two_for_one = [[0, 5, 6], [1, 2, 5]]

    def found(sets):
        z = metrics.supports_from_sets(sets, 12)
        return {name: score(name, z, similarity, random_state=0) for name in ADJUSTED}

    values = found(copies)
    assert [name for name in ADJUSTED if values[name] > 1 - 1e-9] == [
        "intersection_mbm",
        "intersection_greedy",
        "intersection_count",
        "yu",
        "pogr",
        "npogr",
    ]
    assert 0.9 < values["intersection_mean"] < 1
    assert values["redundancy_dice"] == pytest.approx((0.92 + 0.98 + 1) / 3)
    values = found(two_for_one)
    # One substitute for two features: Yu and nPOGR count both ends, the others one.
    assert (
        values["yu"]
        > values["intersection_count"]
        == pytest.approx(values["intersection_mbm"], abs=0.02)
    )
    assert values["pogr"] == pytest.approx((2 / 3 + 3 / 3) / 2)
    assert values["redundancy_dice"] == pytest.approx((0.92 + 1) / 3)


def test_a_shared_feature_stands_for_others_in_pogr_and_is_matched_with_another_in_dice():
    """Feature 0 is shared and similar to 1 and 2, which are not similar to each other."""
    similarity = np.eye(6)
    similarity[0, 1:3] = similarity[1:3, 0] = 0.95
    z = metrics.supports_from_sets([[0, 1], [0, 2]], 6)
    assert metrics.pogr_stability(z, similarity) == 1
    assert metrics.redundancy_dice_stability(z, similarity) == pytest.approx(
        0.95
    )  # 0 with 2 and 1 with 0
    assert metrics.yu_stability(z, similarity) < 0.5


def test_greedy_may_miss_what_the_largest_matching_finds():
    similarity = np.eye(8)
    for x, y, value in [(0, 2, 0.91), (0, 3, 0.99), (1, 3, 0.91)]:
        similarity[x, y] = similarity[y, x] = value
    z = np.zeros((2, 8), dtype=bool)
    z[0, [0, 1]] = z[1, [2, 3]] = True
    assert metrics.intersection_mbm_stability(z, similarity) == pytest.approx(1)
    assert metrics.intersection_greedy_stability(z, similarity) < 0.6


def test_the_order_of_two_runs_does_not_matter_when_similarities_are_tied():
    measure = get_measure(
        "intersection_greedy",
        similarity=np.round(similarity_of(3, 12, 0.5)),
        random_state=0,
    )
    for seed in range(100):
        z = sets_of_sizes([5, 6], 12, seed)
        assert measure(z) == pytest.approx(measure(z[::-1]), abs=1e-12)


@pytest.mark.parametrize("name", ADJUSTED)
def test_where_all_features_are_similar_all_sets_of_one_size_agree(name):
    z = sets_of_sizes([4, 4, 4], 30, seed=0)
    assert score(name, z, np.ones((30, 30)), random_state=0) == pytest.approx(1)


def test_a_pair_short_of_a_maximum_that_all_draws_reach_is_not_perfect():
    similarity = np.ones((400, 400))
    similarity[0, 1:] = similarity[1:, 0] = 0
    z = np.zeros((2, 400), dtype=bool)
    z[0, 0] = z[1, 1] = True
    assert metrics.intersection_mbm_stability(z, similarity, random_state=0) < -10
    one_draw = get_measure("intersection_mbm", similarity=similarity, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_chance, "N_DRAWS", 1)
        assert one_draw(z) == 0  # E = I_max: the ratio is left uncorrected


# -- without a pair that reaches the threshold -------------------------------------------------------------------------


def _yu_without_similar(a, b, d):
    return (len(a & b) - len(a) * len(b) / d) / (
        (len(a) + len(b)) / 2 - len(a) * len(b) / d
    )


def _intersection_without_similar(a, b, d):
    return (len(a & b) - len(a) * len(b) / d) / (
        np.sqrt(len(a) * len(b)) - len(a) * len(b) / d
    )


UNADJUSTED = {
    "zucknick": metrics.jaccard_stability,
    "pogr": metrics.pog_stability,
    "npogr": metrics.npog_stability,
    "redundancy_dice": metrics.dice_stability,
    "yu": definitions._subset(_yu_without_similar),
} | dict.fromkeys(SIMULATED, definitions._subset(_intersection_without_similar))


@pytest.mark.parametrize(
    ("name", "plain"), [("pogr", "pog"), ("npogr", "npog"), ("redundancy_dice", "dice")]
)
@settings(max_examples=30)
@given(z=strategies.supports())
def test_without_redundancy_it_is_the_measure_it_generalises_on_empty_and_full_sets_too(
    name, plain, z
):
    assert score(name, z, np.eye(z.shape[1])) == pytest.approx(
        stability_score(z, measure=plain), abs=1e-9
    )


@pytest.mark.filterwarnings("default:no two features:RuntimeWarning")
@pytest.mark.parametrize("name", ADJUSTED)
def test_no_pair_at_the_threshold_is_the_unadjusted_measure_with_one_warning(name):
    z = sets_of_sizes([3, 4, 4, 6], 20, seed=0)
    message = f"no two features have a similarity of at least 0.9: the {name} stability is the unadjusted one"
    with pytest.warns(RuntimeWarning, match=message) as caught:
        value = score(name, z, np.full((20, 20), 0.89))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert value == pytest.approx(UNADJUSTED[name](z), abs=1e-9)
    measure = get_measure(name, similarity=np.eye(20))
    for call in (
        stability_interval,
        lambda z, measure: stability_test(z, 0.5, measure=measure),
    ):
        with pytest.warns(RuntimeWarning, match="no two features") as caught:
            call(z, measure=measure)
        assert len(caught) == 1


@pytest.mark.parametrize("name", [*ADJUSTED, "effective"])
def test_without_a_similarity_each_feature_stands_for_itself(name):
    z = sets_of_sizes([3, 4, 4, 6], 20, seed=0)
    expected = (
        metrics.nogueira_stability(z) if name == "effective" else UNADJUSTED[name](z)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert get_measure(name)(z) == pytest.approx(expected, abs=1e-9)
    assert "similarity" in get_measure(name).described_by


def test_the_functions_require_a_similarity():
    for name in ADJUSTED:
        with pytest.raises(TypeError, match="similarity"):
            getattr(metrics, f"{name}_stability")([[1, 0], [0, 1]])


# -- bad parameters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ADJUSTED)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"similarity": np.eye(2)},
            r"similarity must be of shape \(3, 3\), .*, got \(2, 2\)",
        ),
        ({"similarity": np.ones((3, 2))}, r"similarity must be of shape \(3, 3\)"),
        ({"similarity": [1, 1, 1]}, "similarity must be of shape"),
        ({"similarity": -np.eye(3)}, "similarity must be finite and not negative"),
        ({"similarity": np.full((3, 3), np.nan)}, "similarity must be finite"),
        ({"similarity": 2 * np.eye(3)}, "similarity must be at most 1"),
        (
            {"similarity": sparse.csr_array(2 * np.eye(3))},
            "similarity must be at most 1",
        ),
        ({"similarity": np.triu(np.ones((3, 3)))}, "similarity must be symmetric"),
        ({"similarity": [["a"] * 3] * 3}, "similarity must be numeric"),
        (
            {"similarity": np.eye(3), "threshold": 0},
            "threshold must be a number above 0 and at most 1, got 0",
        ),
        (
            {"similarity": np.eye(3), "threshold": 1.5},
            "threshold must be a number above 0",
        ),
        (
            {"similarity": np.eye(3), "threshold": "high"},
            "threshold must be a number above 0",
        ),
        ({"similarity": np.eye(3), "random_state": "seed"}, "seed"),
    ],
)
def test_bad_parameters(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        score(name, [[1, 0, 0], [0, 1, 0]], **parameters)


def test_whole_numbers_and_booleans_are_similarities():
    z = [[1, 0, 0], [0, 1, 0]]
    joined = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    for dtype in (bool, np.uint8, np.int64, np.float32):
        for form in (joined.astype(dtype), sparse.csc_array(joined.astype(dtype))):
            assert metrics.yu_stability(z, form) == pytest.approx(1)


# -- cost --------------------------------------------------------------------------------------------------------------


def test_one_call_matches_all_pairs_of_runs_and_one_each_block_of_draws(monkeypatch):
    calls = []
    matching = _substitutes.maximum_bipartite_matching

    def counting(graph, perm_type):
        calls.append(graph.shape)
        return matching(graph, perm_type)

    monkeypatch.setattr(_substitutes, "maximum_bipartite_matching", counting)
    similarity = similarity_of(0, 60, 0.1)
    measure = get_measure("intersection_mbm", similarity=similarity, random_state=0)
    z = sets_of_sizes([9] * 40, 60, seed=0)
    measure(z)
    assert len(calls) == 1 + 20
    measure(z)
    measure.leave_one_out(check_supports(z))
    assert len(calls) == 1 + 20 + 2, "what is expected by chance is worked out once"

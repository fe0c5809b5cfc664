"""Stability within pairs of disjoint halves, against brute force; and what intervals say of themselves."""

import pickle
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse, stats

from skstab.metrics import (
    StabilityInterval,
    StabilityTest,
    compare_replication,
    compare_stability,
    full_size_interval,
    get_measure,
    measure_table,
    replication_stability,
    stability_in_words,
    stability_interval,
    stability_score,
    stability_test,
)
from skstab.metrics._measure import pairwise
from skstab.metrics._pairwise import jaccard_row_sums
from skstab.metrics._tables import CHECKS
from skstab.runs import Runs
from tests.metrics import definitions, strategies

EVERY = list(measure_table().index)
P = np.repeat([0.9, 0.5, 0.05], [10, 10, 80])


def draw(m, seed, p=P):
    return np.random.default_rng(seed).random((m, p.size)) < p


def of_constant_size(m, seed):
    rng = np.random.default_rng(seed)
    return np.argsort(rng.random((m, 30)) - 0.4 * (np.arange(30) < 5), axis=1) < 6


def data_for(name, m=12, seed=0):
    kind = measure_table().loc[name, "kind"]
    if kind == "ranking":
        return np.random.default_rng(seed).random((m, 30)).argsort(axis=1) + 1
    if kind == "weights":
        return of_constant_size(m, seed) * np.random.default_rng(seed).random((m, 30))
    return of_constant_size(m, seed)


def pair_values(name_or_measure, data):
    measure = get_measure(name_or_measure)
    return measure.within_pairs(measure.check(data))


def halves_of(data):
    return [data[start : start + 2] for start in range(0, len(data), 2)]


def is_average_over_pairs(name):
    """Tell by its values: that of ten runs is the mean over their 45 pairs."""
    data = data_for(name, m=10)
    values = [
        stability_score(data[list(pair)], measure=name)
        for pair in combinations(range(10), 2)
    ]
    return np.isclose(stability_score(data, measure=name), np.mean(values), atol=1e-12)


# -- averages over pairs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name for name in EVERY if is_average_over_pairs(name)]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_pair_of_an_average_over_pairs_is_a_table_of_two_runs(name, seed):
    data = data_for(name, seed=seed)
    found = pair_values(name, data)
    expected = [stability_score(pair, measure=name) for pair in halves_of(data)]
    assert found.estimate == pytest.approx(np.mean(expected), abs=1e-12)
    if name not in ("nogueira", "importance_weighted", "effective"):
        assert found.values == pytest.approx(np.array(expected), abs=1e-12)


def even(table):
    return table[: len(table) // 2 * 2]


@given(z=strategies.supports(min_runs=6))
@pytest.mark.parametrize(
    "name", sorted(set(definitions.SUBSET) - definitions.CONSTANT_SIZE)
)
def test_sets_of_any_sizes_against_the_definition(name, z):
    measure, z = get_measure(name), even(z)
    if measure.within_pairs is None or name == "nogueira":
        return
    expected = [definitions.SUBSET[name](pair) for pair in halves_of(z)]
    assert measure.within_pairs(measure.check(z)).values == pytest.approx(
        np.array(expected), abs=1e-9
    )


@given(w=strategies.weights(min_runs=6), as_sparse=st.booleans())
@pytest.mark.parametrize("name", ["pearson", "spearman"])
def test_weights_against_the_definition(name, w, as_sparse):
    w = even(w)
    expected = [definitions.WEIGHTS[name](pair) for pair in halves_of(w)]
    found = pair_values(name, sparse.csr_array(w) if as_sparse else w)
    assert found.values == pytest.approx(np.array(expected), abs=1e-6)


@given(ranks=strategies.rankings(min_runs=6), location=st.sampled_from([None, 1, 2]))
def test_rankings_against_the_definition(ranks, location):
    ranks = even(ranks)
    expected = [definitions.canberra(pair, location) for pair in halves_of(ranks)]
    found = pair_values(get_measure("canberra", location=location), ranks)
    assert found.values == pytest.approx(np.array(expected), abs=1e-9)


def test_ties_at_random_are_broken_anew_in_each_pair():
    measure = get_measure("spearman", ties="random", random_state=0)
    found = replication_stability(np.zeros((200, 6)), measure=measure)
    assert abs(found.estimate) < 0.2
    assert found.standard_error > 0.1


def test_a_new_average_over_pairs_is_served_without_a_kernel_for_pairs():
    plain = pairwise(jaccard_row_sums, name="plain", kind="subset", bounds=(0.0, 1.0))
    z = draw(16, 0)
    assert replication_stability(z, measure=plain).low == pytest.approx(
        replication_stability(z, measure="jaccard").low
    )


# -- measures with a joint correction for chance -----------------------------------------------------------------------


def nogueira_of_weighted_pairs(z, share):
    """Φ from the definition of METHODS: overlap and mean size of each pair, averaged with these shares."""
    d = z.shape[1]
    overlaps = np.array([len(a & b) for a, b in map(definitions.sets_of, halves_of(z))])
    sizes = np.array(
        [(len(a) + len(b)) / 2 for a, b in map(definitions.sets_of, halves_of(z))]
    )
    a, k = share @ overlaps, share @ sizes
    return (a - k**2 / d) / (k - k**2 / d)


@given(z=strategies.supports(min_runs=6, trivial=False))
def test_nogueira_values_are_the_estimate_and_its_derivatives(z):
    z = even(z)
    assume(0 < z.sum() < z.size)
    n_pairs, step = len(z) // 2, 1e-5
    even_shares = np.full(n_pairs, 1 / n_pairs)
    found = pair_values("nogueira", z)
    estimate = nogueira_of_weighted_pairs(z, even_shares)
    assert found.estimate == pytest.approx(estimate, abs=1e-12)
    for pair, towards in enumerate(np.eye(n_pairs)):
        ahead, back = (
            nogueira_of_weighted_pairs(z, even_shares + s * (towards - even_shares))
            for s in (step, -step)
        )
        assert found.values[pair] == pytest.approx(
            estimate + (ahead - back) / (2 * step), rel=1e-4, abs=1e-5
        )


def test_nogueira_of_sets_of_one_size_is_the_mean_kuncheva_of_the_pairs():
    z = of_constant_size(14, 3)
    found, expected = pair_values("nogueira", z), pair_values("kuncheva", z)
    assert found.estimate == pytest.approx(expected.estimate)
    assert found.values == pytest.approx(expected.values)


def importance_weighted_of_pairs(pairs):
    observed, expected = [], []
    for pair in pairs:
        rows = [row / row.sum() if row.any() else row for row in np.abs(pair)]
        both_empty = not np.any(pair)
        observed.append(1.0 if both_empty else np.minimum(*rows).sum())
        expected.append(
            1.0 if both_empty else np.minimum.outer(*rows).sum() / len(rows[0])
        )
    a, c = np.mean(observed), np.mean(expected)
    return 1.0 if abs(1 - c) < 1e-12 else (a - c) / (1 - c)


def effective_of_pairs(pairs, similarity):
    z = np.vstack(pairs).astype(float)
    d, sizes = z.shape[1], z.sum(axis=1)
    covariance = np.mean(
        [np.cov(pair.astype(float), rowvar=False) for pair in pairs], axis=0
    )
    expected = np.full(
        (d, d),
        (np.mean(sizes**2) - sizes.mean()) / (d * d - d) - (sizes.mean() / d) ** 2,
    )
    np.fill_diagonal(expected, sizes.mean() / d * (1 - sizes.mean() / d))
    return 1 - np.trace(similarity @ covariance) / np.trace(similarity @ expected)


def pseudo_values(of_pairs, pairs):
    n = len(pairs)
    return [
        n * of_pairs(pairs) - (n - 1) * of_pairs(pairs[:b] + pairs[b + 1 :])
        for b in range(n)
    ]


@given(w=strategies.weights(min_runs=6), as_sparse=st.booleans())
def test_importance_weighted_has_pseudo_values(w, as_sparse):
    w = even(w)
    found = pair_values("importance_weighted", sparse.csr_array(w) if as_sparse else w)
    assert found.estimate == pytest.approx(
        importance_weighted_of_pairs(halves_of(w)), abs=1e-9
    )
    assert found.values == pytest.approx(
        np.array(pseudo_values(importance_weighted_of_pairs, halves_of(w))), abs=1e-8
    )


@pytest.mark.parametrize("form", ["groups", "matrix"])
def test_effective_has_pseudo_values(form):
    z, groups = draw(12, 0)[:, 5:25], np.repeat(np.arange(5), 4)
    similarity = (groups[:, None] == groups) * 1.0
    chosen = get_measure(
        "effective",
        **({"groups": groups} if form == "groups" else {"similarity": similarity}),
    )
    found = pair_values(chosen, z)

    def of_pairs(pairs):
        return effective_of_pairs(pairs, similarity)

    assert found.estimate == pytest.approx(of_pairs(halves_of(z)))
    assert found.values == pytest.approx(
        np.array(pseudo_values(of_pairs, halves_of(z)))
    )


def test_effective_without_a_similarity_is_nogueira():
    z = draw(20, 1)
    found, expected = (
        replication_stability(z, measure=name) for name in ("effective", "nogueira")
    )
    assert found.estimate == pytest.approx(expected.estimate)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=0.05), (
        "to the first order the same"
    )


# -- the intervals -----------------------------------------------------------------------------------------------------

SERVED = [name for name in EVERY if get_measure(name).within_pairs is not None]


def test_measures_whose_value_depends_on_the_number_of_runs_are_not_served():
    assert not [name for name in SERVED if get_measure(name).varies_with_runs]


def least_deviation(name, data, level):
    """What a share of pairs with one exchanged feature would cause that all pairs hide with probability 1 − level."""
    if measure_table().loc[name, "kind"] != "subset":
        return 0.0
    z = np.asarray(data, dtype=bool)
    n_runs, d = z.shape
    k = min(max(round(z.sum(axis=1).mean()), 1), d - 1)
    shared = round((z[::2] & z[1::2]).sum(axis=1).mean())
    fewer = shared - 1 if shared > max(0, 2 * k - d) else shared + 1
    sets = [np.isin(np.arange(d), np.r_[k - r : 2 * k - r]) for r in (shared, fewer)]
    similar = [
        pair_values(name, np.array([np.arange(d) < k, other] * 2)).estimate
        for other in sets
    ]
    p = 1 - (1 - level) ** (2 / n_runs)
    return abs(similar[0] - similar[1]) * np.sqrt(p * (1 - p))


def odd_part(name, data):
    """How much more typical the first half of each pair is, by what all halves are without the one and the other."""
    m = len(data)
    without = [
        stability_score(np.delete(data, run, axis=0), measure=name) for run in range(m)
    ]
    return (m - 1) / 2 * (np.array(without[1::2]) - np.array(without[::2]))


def parts(name, data, level):
    least = least_deviation(name, data, level) ** 2
    even = np.var(pair_values(name, data).values, ddof=1)
    odd = np.mean(odd_part(name, data) ** 2)
    return max(even, least) + max(odd, least)


def on_the_scale(x):
    return np.arcsin(np.sqrt(np.clip((x + 0.1) / 1.2, 0, 1)))


def slope(x):
    x = np.clip(x, 0, 1)
    return (on_the_scale(x + 1e-6) - on_the_scale(x - 1e-6)) / 2e-6


def ends(centre, error, n_pairs, level):
    """Ends of an interval on the scale of the arcsine."""
    half = stats.t(n_pairs - 1).ppf((1 + level) / 2) * error
    angles = np.clip(on_the_scale(centre) + np.array([-half, half]), 0, np.pi / 2)
    low, high = np.sin(angles) ** 2 * 1.2 - 0.1
    return min(low, centre), max(high, centre)


@pytest.mark.parametrize("name", SERVED)
def test_the_interval_is_the_formula(name):
    data, n_pairs = data_for(name, m=16), 8
    estimate = pair_values(name, data).estimate
    error = np.sqrt(0.35 * parts(name, data, 0.9) * slope(estimate) ** 2 + 0.0002)
    low, high = np.clip(
        ends(estimate, error, n_pairs, 0.9), *get_measure(name).range(2)
    )
    found = replication_stability(data, measure=name, confidence_level=0.9)
    assert found.standard_error == pytest.approx(error / slope(estimate))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert (found.estimate, found.method, found.about) == (
        pytest.approx(estimate),
        "replication",
        "other data",
    )
    assert found.confidence_level == 0.9


@pytest.mark.parametrize("name", [n for n in SERVED if is_average_over_pairs(n)])
def test_a_half_is_typical_by_its_mean_similarity_with_halves_of_other_pairs(name):
    data = data_for(name, m=10)
    similarity = np.array(
        [
            [stability_score(data[[i, j]], measure=name) for j in range(10)]
            for i in range(10)
        ]
    )
    others = np.arange(10)[:, None] // 2 != np.arange(10) // 2
    typical = (similarity * others).sum(axis=1) / others.sum(axis=1)
    assert odd_part(name, data) == pytest.approx(typical[::2] - typical[1::2])


def test_sets_are_typical_by_a_sum_of_weights_of_features():
    """u(H) = ½ Σ w_f [f ∈ H], w_f = (2 p_f − 2K/d − Φ (1 − 2K/d)) / v, to the first order."""
    z = draw(400, 0, np.repeat([0.9, 0.6, 0.3, 0.02], [4, 4, 4, 28]))
    d, p = z.shape[1], z.mean(axis=0)
    k, phi = p.sum(), stability_score(z)
    weight = (2 * p - 2 * k / d - phi * (1 - 2 * k / d)) / (k - k**2 / d)
    u = z @ weight / 2
    assert odd_part("nogueira", z) == pytest.approx(u[::2] - u[1::2], abs=0.005)
    assert np.std(u) > 0.05


@pytest.mark.parametrize(("k", "d"), [(1, 2), (5, 40), (30, 40)])
def test_pairs_that_are_all_alike_do_not_promise_that_others_are(k, d):
    alike = np.tile(np.arange(d) < k, (32, 1))
    found = replication_stability(alike)
    p = 1 - 0.05 ** (1 / 16)
    parts = 2 * p * (1 - p) / (k - k**2 / d) ** 2
    error = np.sqrt(0.35 * parts * slope(1) ** 2 + 0.0002)
    assert found.standard_error == pytest.approx(error / slope(1))
    assert (found.estimate, found.high) == (1, 1)
    assert found.low == pytest.approx(ends(1, error, 16, 0.95)[0])
    assert full_size_interval(alike, alike).standard_error > found.standard_error


@pytest.mark.parametrize("turned", [False, True])
def test_halves_that_never_agree_on_their_one_feature_do_not_promise_that_others_would_not(
    turned,
):
    # Of every other pair one half selects the first feature, all else is empty: 0.25 features on average.
    z = np.zeros((32, 40), dtype=bool)
    z[::4, 0] = True
    found = replication_stability(~z if turned else z)
    assert found.estimate < 0
    assert found.high > 0.25


def full_size_centre(halves, quarters, bootstraps):
    half, quarter = np.clip([halves, quarters], 0.03, 0.97)
    gain = np.clip(np.log(half / (1 - half)) - np.log(quarter / (1 - quarter)), 0, 2.5)
    odds = half / (1 - half) * np.exp(0.75 * gain)
    expected = max(2 * halves / (1 + halves), odds / (1 + odds))
    return (expected + bootstraps) / 2 if bootstraps > halves else expected


@pytest.mark.parametrize("power", [0.3, 1, 4])
@pytest.mark.parametrize("quarters", [None, draw(16, 2, P**2), draw(16, 2, P**0.5)])
def test_the_full_size_interval_is_the_formula(power, quarters):
    halves, whole = draw(16, 0), draw(30, 1, P**power)
    estimate = replication_stability(halves).estimate
    fewer = estimate if quarters is None else replication_stability(quarters).estimate
    found = full_size_interval(whole, halves, quarters=quarters)
    centre = full_size_centre(estimate, fewer, stability_score(whole))
    error = np.sqrt(
        0.35 * parts("nogueira", halves, 0.95) * slope(estimate) ** 2 + 0.006
    )
    assert found.estimate == pytest.approx(centre)
    assert (found.low, found.high) == pytest.approx(ends(centre, error, 8, 0.95))
    assert found.standard_error == pytest.approx(error / slope(centre))
    assert (found.method, found.about) == ("full size", "other data")


def test_bootstraps_below_the_halves_do_not_matter():
    halves = draw(32, 0)
    low, lower = (
        full_size_interval(draw(30, 1, np.full(100, share)), halves)
        for share in (0.2, 0.4)
    )
    assert low == lower


# -- two selectors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nogueira", "jaccard", "effective", "canberra"])
def test_the_difference_of_two_selectors_is_the_formula(name):
    a, b = data_for(name, m=16, seed=0), data_for(name, m=16, seed=1)
    x, y = pair_values(name, a), pair_values(name, b)
    least = max(least_deviation(name, z, 0.9) for z in (a, b)) ** 2
    even = np.var(x.values - y.values, ddof=1)
    odd = np.mean((odd_part(name, a) - odd_part(name, b)) ** 2)
    error = np.sqrt(0.35 * (max(even, least) + max(odd, least)) + 0.0002)
    found = compare_replication(a, b, measure=name, confidence_level=0.9)
    assert found.difference == pytest.approx(x.estimate - y.estimate)
    assert found.statistic == pytest.approx(found.difference / error)
    assert found.pvalue == pytest.approx(2 * stats.t(7).sf(abs(found.statistic)))
    half = stats.t(7).ppf(0.95) * error
    assert (found.low, found.high) == pytest.approx(
        (found.difference - half, found.difference + half)
    )
    turned = compare_replication(b, a, measure=name, confidence_level=0.9)
    assert turned.difference == pytest.approx(-found.difference)
    assert turned.pvalue == pytest.approx(found.pvalue)


def test_selectors_that_select_the_same_do_not_differ():
    z = draw(16, 0)
    for other in (z, sparse.csr_array(z)):
        assert compare_replication(z, other) == StabilityTest(0, 1, 0, 0, 0)
    alike = np.tile(np.arange(40) < 5, (16, 1))
    found = compare_replication(alike, np.roll(alike, 1, axis=1))
    assert found.difference == 0
    assert found.low < -0.1


def test_selectors_are_compared_on_the_pairs_that_both_have():
    a, b = draw(16, 0), draw(16, 1, P**2)
    pairs, kept = np.arange(16) // 2, np.delete(np.arange(16), 3)
    found = compare_replication(
        Runs(a, pairs=pairs, split_numbers=range(16)),
        Runs(b[kept], pairs=pairs[kept], split_numbers=kept),
    )
    rest = np.delete(np.arange(16), [2, 3])
    assert found == compare_replication(a[rest], b[rest])
    with pytest.raises(ValueError, match="b can't be used: the runs are not of"):
        compare_replication(Runs(a, pairs=pairs), Runs(b))
    with pytest.raises(ValueError, match="same pairs of halves, got 16 and 14 runs"):
        compare_replication(a, b[:14])


def test_halves_that_had_nothing_to_choose_give_no_test_of_a_difference():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare_replication(draw(16, 0), np.zeros((16, 100)))
    assert np.isnan([found.statistic, found.pvalue, found.low, found.high]).all()


def test_only_the_two_runs_of_a_pair_are_compared():
    """Pairs that have nothing in common with each other, and everything within: all pairs of runs would say little."""
    z = np.repeat(np.eye(6, dtype=bool), 2, axis=0)
    assert replication_stability(z).estimate == 1
    assert stability_score(z) < 0.2
    assert replication_stability(np.roll(z, 1, axis=0)).estimate < 0


def test_it_is_unbiased_for_independent_halves():
    truth = 1 - np.mean(P * (1 - P)) / (P.mean() * (1 - P.mean()))
    found = [replication_stability(draw(32, seed)).estimate for seed in range(300)]
    assert np.mean(found) == pytest.approx(
        truth, abs=3 * np.std(found) / np.sqrt(300) + 0.001
    )


def test_sparse_and_dense_tables_give_the_same():
    z = draw(16, 0)
    for name in SERVED:
        if (
            measure_table().loc[name, "kind"] != "ranking"
            and measure_table().loc[name, "fully_defined"]
        ):
            dense, csr = (
                replication_stability(form, measure=name)
                for form in (z, sparse.csr_array(z))
            )
            assert (dense.low, dense.high) == pytest.approx(
                (csr.low, csr.high), abs=1e-12
            ), name


def test_runs_know_their_pairs():
    z = draw(16, 0)
    shuffled = np.random.default_rng(0).permutation(16)
    runs = Runs(np.vstack([z[shuffled], z[:1]]), pairs=[*(shuffled // 2), 99])
    assert replication_stability(runs).estimate == pytest.approx(
        replication_stability(z).estimate
    )
    assert replication_stability(runs).high == pytest.approx(
        replication_stability(z).high
    )
    found, expected = (
        full_size_interval(runs, runs),
        full_size_interval(runs.supports, z),
    )
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    with pytest.raises(
        ValueError, match="the runs are not of pairs of disjoint halves"
    ):
        replication_stability(Runs(z))


@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.parametrize(
    "name", ["nogueira", "jaccard", "importance_weighted", "effective"]
)
def test_nothing_to_choose_is_full_agreement_and_tells_nothing_about_other_data(
    name, fill
):
    trivial = np.full((8, 5), fill)
    with pytest.warns(
        RuntimeWarning,
        match=f"nothing to choose .* the {name} stability is 1 by convention",
    ):
        found = replication_stability(trivial, measure=name)
    assert found.estimate == 1
    assert (found.low, found.high) == get_measure(name).range(2)
    assert np.isnan(found.standard_error)
    whole = full_size_interval(draw(10, 0)[:, :5], trivial, measure=name)
    assert (whole.low, whole.high) == get_measure(name).range(10)


@pytest.mark.parametrize("n_runs", [2, 4, 7])
def test_there_are_whole_pairs_and_at_least_three(n_runs):
    message = rf"data must have an even number of runs \(rows\), two for each of at least 3 pairs.*got {n_runs}"
    with pytest.raises(ValueError, match=message):
        replication_stability(draw(n_runs, 0))
    with pytest.raises(ValueError, match=message.replace("data", "halves", 1)):
        full_size_interval(draw(10, 0), draw(n_runs, 0))


@pytest.mark.parametrize(
    "measure", ["lausser", "davis", get_measure(lambda z: z.mean(), name="mine")]
)
def test_other_measures_are_refused(measure):
    with pytest.raises(
        ValueError,
        match=r"measure '.*' is not defined within pairs of runs.*use 'nogueira'",
    ):
        replication_stability(of_constant_size(8, 0), measure=measure)


def test_bad_arguments():
    with pytest.raises(
        ValueError, match="confidence_level must be between 0 and 1, got 2"
    ):
        replication_stability(draw(8, 0), confidence_level=2)
    with pytest.raises(ValueError, match="data must hold only 0/1"):
        replication_stability(draw(8, 0) * 3)
    with pytest.raises(ValueError, match="whole must hold only 0/1"):
        full_size_interval(draw(8, 0) * 3, draw(8, 0))
    with pytest.raises(ValueError, match="use 'nogueira'"):
        replication_stability(draw(8, 0), measure="kuncheva")


def test_every_kind_of_table_can_be_taken_by_pairs():
    assert {get_measure(name).kind for name in SERVED} == set(CHECKS)


# -- what an interval says of itself -----------------------------------------------------------------------------------


def test_an_interval_says_what_it_is_about():
    found = stability_interval(draw(20, 0))
    assert found.about == "resampling error"
    assert (
        str(found)
        == f"{found.estimate:.2f} (95% interval {found.low:.2f} to {found.high:.2f}, resampling error)"
    )
    assert "about='other data'" in repr(replication_stability(draw(20, 0)))
    assert str(replication_stability(draw(20, 0), confidence_level=0.995)).endswith(
        ", other data)"
    )
    assert "(99.5% interval" in str(
        replication_stability(draw(20, 0), confidence_level=0.995)
    )


def test_an_interval_without_ends_says_so():
    assert (
        str(StabilityInterval(0.5, np.nan, np.nan, np.nan, "jackknife", 0.95))
        == "0.50 (no interval)"
    )


def test_intervals_pickle_and_compare():
    found = replication_stability(draw(20, 0))
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-0.2, "poor"),
        (0.39, "poor"),
        (0.4, "intermediate to good"),
        (0.75, "intermediate to good"),
        (0.76, "excellent"),
        (1, "excellent"),
    ],
)
def test_words_of_table_3(value, words):
    assert stability_in_words(value) == words


@pytest.mark.parametrize("value", [np.nan, 1.01])
def test_words_need_a_stability(value):
    with pytest.raises(ValueError, match="value must be a stability of at most 1"):
        stability_in_words(value)


# -- where the jackknife is too narrow ---------------------------------------------------------------------------------


def taking_turns(m, shares, seed=0, n_noise=0):
    """Seven features always, and one of some that take turns; further ones now and then."""
    rng = np.random.default_rng(seed)
    z = np.zeros((m, 40), dtype=bool)
    z[:, :7] = True
    z[np.arange(m), 7 + rng.permutation(np.repeat(np.arange(len(shares)), shares))] = (
        True
    )
    z[:, 20 : 20 + n_noise] = rng.random((m, n_noise)) < 0.2
    return z


def whole_sets_take_turns(m):
    z = np.zeros((m, 40), dtype=bool)
    z[::2, :15] = z[1::2, 10:22] = True
    return z


@pytest.mark.parametrize("method", ["jackknife", "asymptotic"])
@pytest.mark.parametrize(
    "z",
    [taking_turns(20, (10, 10)), taking_turns(20, (8, 12)), whole_sets_take_turns(20)],
)
def test_selections_that_take_turns_are_warned_of(method, z):
    with pytest.warns(
        UserWarning,
        match=f"method='{method}' can be too narrow.*use method='conformal'",
    ) as caught:
        stability_interval(z, method=method)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    for form in (stability_test, compare_stability):
        with pytest.warns(UserWarning, match="test can reject too often") as caught:
            form(z, 0.5) if form is stability_test else form(z, draw(20, 0)[:, :40])
        assert len(caught) == 1
        assert caught[0].filename == __file__


@pytest.mark.parametrize("method", ["conformal", "bootstrap"])
def test_other_methods_do_not_warn(method):
    stability_interval(taking_turns(20, (10, 10)), method=method, random_state=0)


@pytest.mark.parametrize(
    "z",
    [
        taking_turns(20, (20,)),
        taking_turns(20, (19, 1)),  # the one run has influence
        taking_turns(100, (20, 80)),
        taking_turns(20, (10, 10), n_noise=5),
        taking_turns(20, (7, 7, 6)),
        taking_turns(6, (3, 3)),
    ],
    ids=["agree", "one differs", "unequal", "others vary", "three", "few runs"],
)
def test_ordinary_tables_do_not_warn(z):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stability_interval(z)


def test_weights_do_not_warn():
    stability_interval(taking_turns(20, (10, 10)) * 1.0, measure="pearson")


@pytest.mark.parametrize("m", [10, 30])
def test_where_it_warns_conformal_covers_and_the_jackknife_does_not(m):
    """Two features take turns half and half: with k = 8 of d = 40 the truth is 1 − 0.5 / (8 (1 − 8/40))."""
    truth, covered, rng = 1 - 0.5 / 6.4, [], np.random.default_rng(0)
    for _ in range(150):
        first = rng.binomial(m, 0.5)
        z = taking_turns(m, (first, m - first))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [
                stability_interval(
                    z,
                    method=name,
                    confidence_level=0.9,
                    random_state=0,
                    n_resamples=100,
                )
                for name in ("jackknife", "conformal")
            ]
        covered.append([one.low - 1e-9 <= truth <= one.high + 1e-9 for one in found])
    jackknife, conformal = np.mean(covered, axis=0)
    assert jackknife < 0.89
    assert conformal > 0.93

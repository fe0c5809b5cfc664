"""Intervals and tests against their definitions, and their level where it can be simulated quickly."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse, stats

from skstab import metrics
from skstab.metrics import (
    compare_stability,
    conformal_pvalues,
    get_measure,
    measure_table,
    population_stability,
    stability_interval,
    stability_score,
    stability_test,
)
from skstab.metrics._inference import conformal_ends
from skstab.metrics._trial_values import trial_pvalues
from tests.metrics import definitions, strategies

EVERY = list(measure_table().index)
P = np.repeat([0.9, 0.5, 0.05], [10, 10, 80])


def draw(m, seed, p=P):
    return np.random.default_rng(seed).random((m, p.size)) < p


def of_constant_size(m, seed):
    rng = np.random.default_rng(seed)
    return np.argsort(rng.random((m, 30)) - 0.4 * (np.arange(30) < 5), axis=1) < 6


def data_for(name, m=8, seed=0):
    if name == "canberra":
        return of_constant_size(m, seed).cumsum(axis=1).clip(1)
    return of_constant_size(m, seed)


def measure_for(name):
    """With parameters that join features, where the measure forgives substitutes."""
    return get_measure(name, **definitions.parameters_for(name, 30))


def value_without(name, data, run):
    """What is drawn at random for all runs stays as it is."""
    if name == "transport":
        parameters = definitions.parameters_for(name, 30)
        return definitions.transport(data, without=run, **parameters)
    return stability_score(np.delete(data, run, axis=0), measure=measure_for(name))


# -- jackknife ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_jackknife_is_the_textbook_one(name):
    data, m, measure = data_for(name), 8, measure_for(name)
    left_out = [value_without(name, data, run) for run in range(m)]
    error = np.sqrt((m - 1) / m * np.sum((left_out - np.mean(left_out)) ** 2))
    half = stats.t(m - 1).ppf(0.95) * error
    estimate = stability_score(data, measure=measure)
    interval = stability_interval(data, measure=measure, confidence_level=0.9)
    low, high = measure.range(m)
    assert interval.estimate == estimate
    assert interval.standard_error == pytest.approx(error, abs=1e-9)
    assert interval.low == pytest.approx(max(estimate - half, low), abs=1e-9)
    assert interval.high == pytest.approx(min(estimate + half, high), abs=1e-9)
    assert (interval.method, interval.confidence_level) == ("jackknife", 0.9)


def test_intervals_are_clipped_to_the_range_of_the_measure():
    z = np.zeros((3, 50), dtype=bool)
    z[:, :5] = True
    z[0, 5] = True
    interval = stability_interval(z, confidence_level=0.999)
    assert interval.high == 1
    assert interval.low == -1 / 2


def test_agreement_of_all_runs_has_no_width():
    z = np.tile([True, False, False], (5, 1))
    for method in ("jackknife", "asymptotic", "bootstrap"):
        interval = stability_interval(z, method=method, random_state=0)
        assert (interval.low, interval.estimate, interval.high) == (1, 1, 1)


# -- asymptotic --------------------------------------------------------------------------------------------------------


@given(z=strategies.supports(trivial=False))
def test_asymptotic_is_theorem_7_as_printed(z):
    m, d = z.shape
    sizes, mean, p = z.sum(axis=1), z.sum() / m, z.mean(axis=0)
    phi = definitions.nogueira(z)
    below = mean / d * (1 - mean / d)
    values = [
        (
            np.mean(z[i] * p)
            - sizes[i] * mean / d**2
            + phi / 2 * (2 * mean * sizes[i] / d**2 - sizes[i] / d - mean / d + 1)
        )
        / below
        for i in range(m)
    ]
    error = np.sqrt(4 / m**2 * np.sum((values - np.mean(values)) ** 2))
    interval = stability_interval(z, method="asymptotic", confidence_level=0.9)
    assert interval.standard_error == pytest.approx(error, abs=1e-9)
    half = stats.norm.ppf(0.95) * error
    assert interval.low == pytest.approx(max(phi - half, -1 / (m - 1)), abs=1e-9)
    assert interval.high == pytest.approx(min(phi + half, 1), abs=1e-9)


def test_asymptotic_and_jackknife_agree_for_many_runs():
    z = draw(800, 0)
    errors = [
        stability_interval(z, method=method).standard_error
        for method in ("asymptotic", "jackknife")
    ]
    assert errors[0] == pytest.approx(errors[1], rel=0.01)


@pytest.mark.parametrize("name", ["kuncheva", "wald", "npog", "phi", "kappa"])
def test_asymptotic_for_measures_equal_to_nogueira(name):
    z = of_constant_size(10, 0)
    expected = stability_interval(z, method="asymptotic")
    found = stability_interval(z, measure=name, method="asymptotic")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("name", ["wald", "npog", "phi", "kappa"])
def test_asymptotic_needs_constant_size_for_some(name):
    with pytest.raises(
        ValueError, match=f"holds for '{name}' only when all runs select equally many"
    ):
        stability_interval(draw(5, 0), measure=name, method="asymptotic")


EQUAL = {"nogueira", "kuncheva", "wald", "npog", "phi", "kappa"}


@pytest.mark.parametrize("name", [name for name in EVERY if name not in EQUAL])
def test_asymptotic_is_refused_elsewhere(name):
    with pytest.raises(ValueError, match=f"not for '{name}'; use method='jackknife'"):
        stability_interval(data_for(name), measure=name, method="asymptotic")


# -- conformal ---------------------------------------------------------------------------------------------------------


def kept_on_a_grid(values, alpha, grid):
    """Algorithm 1 of lopez2024: keep the trial values whose p-value exceeds alpha."""
    kept = []
    for trial in grid:
        bag = np.append(values, trial)
        oddness = np.abs(bag - bag.mean()) / bag.std()
        # Equal oddness counts; the margin is for rounding.
        if np.mean(oddness >= oddness[-1] - 1e-12) > alpha:
            kept.append(trial)
    return min(kept), max(kept)


values = hnp.arrays(
    float,
    st.integers(3, 25),
    elements=st.floats(-0.5, 1).map(lambda x: round(x, 3)),
    unique=True,
)


@given(values=values, alpha=st.sampled_from([0.05, 0.1, 0.25, 0.5]))
def test_conformal_ends_are_those_of_the_grid(values, alpha):
    found = conformal_ends(values, alpha)
    if found is None:
        assert alpha * (values.size + 1) < 1
        return
    low, high = found
    step = 1e-3 * (high - low)
    grid = np.concatenate(
        [
            np.linspace(low - 5 * step, low + 5 * step, 11),
            np.linspace(high - 5 * step, high + 5 * step, 11),
        ]
    )
    kept = kept_on_a_grid(values, alpha, grid)
    assert kept[0] == pytest.approx(low, abs=1.01 * step)
    assert kept[1] == pytest.approx(high, abs=1.01 * step)


@given(values=values, trials=hnp.arrays(float, 5, elements=st.floats(-1, 1.5)))
def test_pvalues_of_trial_values_are_counted(values, trials):
    for trial, pvalue in zip(trials, trial_pvalues(values, trials), strict=True):
        bag = np.append(values, trial)
        oddness = np.abs(bag - bag.mean())
        assert pvalue == np.mean(oddness >= oddness[-1] - 1e-12)


@pytest.mark.parametrize("level", [0.9, 0.5])
def test_the_conformal_interval_holds_the_values_whose_pvalue_exceeds_alpha(level):
    z = draw(8, 1)
    interval = stability_interval(z, method="conformal", confidence_level=level)
    step = 1e-6
    ends = [
        interval.low - step,
        interval.low + step,
        interval.high - step,
        interval.high + step,
    ]
    pvalues = conformal_pvalues(z, ends)
    assert list(pvalues > 1 - level) == [False, True, True, False]


def test_pvalues_of_random_halves_are_reproducible():
    z = draw(20, 1)
    one, same, other = (
        conformal_pvalues(z, [0.3, 0.5], n_resamples=50, random_state=seed)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("trials", [0.5, [[0.5]], [np.nan], ["high"], None])
def test_bad_trial_values(trials):
    with pytest.raises(
        ValueError, match="values must be finite numbers in one dimension"
    ):
        conformal_pvalues(draw(6, 1), trials)


def test_trial_values_of_a_measure_that_varies_with_the_number_of_runs():
    with pytest.raises(ValueError, match="use method='jackknife'"):
        conformal_pvalues(draw(6, 1), [0.5], measure="cwrel")


def test_conformal_counts_as_if_alpha_were_exact():
    values = np.linspace(0, 1, 999)
    # t = floor((1 − 0.9) × 1000) must be 100, though 1 − 0.9 < 0.1 in floating point.
    assert conformal_ends(values, 1 - 0.9) == conformal_ends(values, 0.1 + 1e-12)


@pytest.mark.parametrize(("m", "size"), [(5, 3), (6, 3), (9, 5), (10, 5)])
def test_conformal_calibrates_on_all_subsets_of_the_most_numerous_size(m, size):
    z = draw(m, 1)
    calibration = np.array(
        [definitions.nogueira(z[list(rows)]) for rows in combinations(range(m), size)]
    )
    interval = stability_interval(z, method="conformal", confidence_level=0.8)
    assert (interval.low, interval.high) == pytest.approx(
        conformal_ends(calibration, 0.2)
    )
    assert interval.estimate == pytest.approx(definitions.nogueira(z))
    assert np.isnan(interval.standard_error)


def test_conformal_of_too_few_runs_is_the_whole_range():
    interval = stability_interval(draw(3, 0), method="conformal", confidence_level=0.9)
    assert (interval.low, interval.high) == (-1 / 2, 1)


def test_conformal_draws_seeded_subsets_where_there_are_too_many():
    z = draw(30, 0)
    found = [
        stability_interval(z, method="conformal", random_state=seed, n_resamples=200)
        for seed in (0, 0, 1)
    ]
    assert found[0].low == found[1].low != found[2].low
    assert found[0].low < found[0].estimate < found[0].high


# -- bootstrap ---------------------------------------------------------------------------------------------------------


def test_bootstrap_is_centred_and_expanded():
    z = draw(6, 3)
    rng = np.random.RandomState(0)
    values = np.array(
        [definitions.nogueira(z[rng.randint(6, size=6)]) for _ in range(3000)]
    )
    assert values.mean() > definitions.nogueira(z) + 0.02, (
        "a run drawn twice agrees with itself"
    )
    # t(5) has the 5% point −2.015; times √(6/5), the normal distribution leaves 1.36% below.
    tail = stats.norm.cdf(-2.0150483726691575 * np.sqrt(6 / 5))
    expected = definitions.nogueira(z) + np.quantile(
        values - values.mean(), [tail, 1 - tail]
    )
    found = stability_interval(
        z, method="bootstrap", random_state=0, n_resamples=3000, confidence_level=0.9
    )
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)
    assert found.standard_error == pytest.approx(values.std(ddof=1))


def test_bootstrap_and_jackknife_agree_for_many_runs():
    z = draw(300, 0)
    found = [
        stability_interval(z, method=method, random_state=0)
        for method in ("bootstrap", "jackknife")
    ]
    assert found[0].standard_error == pytest.approx(found[1].standard_error, rel=0.1)
    assert found[0].low == pytest.approx(found[1].low, abs=0.002)


def test_bootstrap_is_seeded():
    z = draw(10, 0)
    found = [
        stability_interval(
            z, method="bootstrap", random_state=seed, n_resamples=100
        ).low
        for seed in (0, 0, 1)
    ]
    assert found[0] == found[1] != found[2]


VARY_WITH_RUNS = {"cwrel", "davis", "guzman", "krizek", "lausser", "novovicova"}


@pytest.mark.parametrize("name", [name for name in EVERY if name not in VARY_WITH_RUNS])
@pytest.mark.parametrize("method", ["conformal", "bootstrap"])
def test_resampling_serves_every_measure(name, method):
    data = data_for(name)
    interval = stability_interval(
        data, measure=measure_for(name), method=method, n_resamples=60, random_state=0
    )
    assert interval.low - 1e-12 <= interval.estimate <= interval.high + 1e-12


@pytest.mark.parametrize("name", EVERY)
def test_resampling_is_refused_where_the_number_of_runs_matters(name):
    """On random sets of one size, the mean over subsets of 4 of 16 runs tells which measures these are."""
    draws, measure = (
        [data_for(name, m=16, seed=seed) for seed in range(40)],
        measure_for(name),
    )
    fewer = np.mean([stability_score(data[:4], measure=measure) for data in draws])
    more = [stability_score(data, measure=measure) for data in draws]
    spread = np.std(
        [stability_score(data[:4], measure=measure) for data in draws]
    ) / np.sqrt(40)
    differs = abs(fewer - np.mean(more)) > 6 * spread
    assert differs == (name in VARY_WITH_RUNS)
    if differs:
        with pytest.raises(
            ValueError,
            match=f"expected value of '{name}' depends on how many different runs",
        ):
            stability_interval(draws[0], measure=name, method="conformal")


# -- coverage: the default at its hardest, the full table is a benchmark -----------------------------------------------


@pytest.mark.parametrize("m", [5, 10, 30])
def test_the_default_interval_is_true_to_its_level(m):
    truth = population_stability(P)
    intervals = [
        stability_interval(draw(m, seed), confidence_level=0.9) for seed in range(400)
    ]
    covered = np.mean(
        [interval.low <= truth <= interval.high for interval in intervals]
    )
    assert 0.86 < covered < 0.97


# -- tests -------------------------------------------------------------------------------------------------------------


def test_one_sample_test_matches_the_interval():
    z = draw(12, 0)
    interval = stability_interval(z, confidence_level=0.9)
    at_the_end = stability_test(z, interval.low)
    assert at_the_end.pvalue == pytest.approx(0.05)
    assert at_the_end.difference == pytest.approx(interval.estimate - interval.low)
    assert stability_test(z, interval.estimate).pvalue == pytest.approx(0.5)
    assert stability_test(z, interval.high, alternative="less").pvalue == pytest.approx(
        0.05
    )
    assert stability_test(
        z, interval.high, alternative="two-sided"
    ).pvalue == pytest.approx(0.1)
    wide = stability_test(z, 0.0, confidence_level=0.9)
    assert (wide.low, wide.high) == pytest.approx((interval.low, interval.high))


def test_asymptotic_test_is_that_of_the_paper():
    z = draw(40, 0)
    interval = stability_interval(z, method="asymptotic")
    found = stability_test(z, 0.3, method="asymptotic")
    statistic = (interval.estimate - 0.3) / interval.standard_error
    assert found.statistic == pytest.approx(statistic)
    assert found.pvalue == pytest.approx(stats.norm.sf(statistic))


def test_an_entropy_is_more_stable_when_lower():
    z = of_constant_size(10, 0) & False
    z[:, :6] = True
    z[0] = np.roll(z[0], 1)
    entropy = metrics.krizek_stability(z)
    assert stability_test(z, 5 * entropy, measure="krizek").pvalue < 0.05
    assert stability_test(z, 0.0, measure="krizek").pvalue > 0.5


def test_two_sample_asymptotic_test_is_theorem_9():
    a, b = draw(40, 0), draw(50, 1, P**0.7)
    x, y = (stability_interval(z, method="asymptotic") for z in (a, b))
    found = compare_stability(a, b, method="asymptotic")
    statistic = (x.estimate - y.estimate) / np.hypot(x.standard_error, y.standard_error)
    assert found.statistic == pytest.approx(statistic)
    assert found.pvalue == pytest.approx(2 * stats.norm.sf(abs(statistic)))


def test_two_sample_jackknife_test_has_welch_degrees_of_freedom():
    a, b = draw(6, 0), draw(15, 1)
    x, y = (stability_interval(z).standard_error ** 2 for z in (a, b))
    df = (x + y) ** 2 / (x**2 / 5 + y**2 / 14)
    found = compare_stability(a, b)
    assert found.difference == pytest.approx(stability_score(a) - stability_score(b))
    assert found.pvalue == pytest.approx(
        2 * stats.t(df).sf(abs(found.difference) / np.sqrt(x + y))
    )
    half = stats.t(df).ppf(0.975) * np.sqrt(x + y)
    assert (found.low, found.high) == pytest.approx(
        (found.difference - half, found.difference + half)
    )


def test_paired_test_uses_the_differences_of_the_left_out_values():
    a = draw(12, 0)
    b = a ^ (np.random.default_rng(1).random(a.shape) < 0.03)
    differences = [
        stability_score(np.delete(a, run, axis=0))
        - stability_score(np.delete(b, run, axis=0))
        for run in range(12)
    ]
    error = np.sqrt(11 / 12 * np.sum((differences - np.mean(differences)) ** 2))
    found = compare_stability(a, b, paired=True)
    assert found.statistic == pytest.approx(found.difference / error)
    assert found.pvalue == pytest.approx(2 * stats.t(11).sf(abs(found.statistic)))


def test_comparing_is_antisymmetric_and_takes_sides():
    a, b = draw(12, 0), draw(12, 1, P**0.5)
    forth, back = compare_stability(a, b), compare_stability(b, a)
    assert forth.statistic == pytest.approx(-back.statistic)
    assert forth.pvalue == pytest.approx(back.pvalue)
    assert compare_stability(a, b, alternative="greater").pvalue == pytest.approx(
        forth.pvalue / 2
    )
    assert compare_stability(a, b, alternative="less").pvalue == pytest.approx(
        1 - forth.pvalue / 2
    )


def test_selectors_of_different_numbers_of_features_can_be_compared():
    assert compare_stability(draw(8, 0), draw(9, 0)[:, :50]).pvalue <= 1


def test_without_any_spread():
    same, other = (
        np.tile([True, False, False], (4, 1)),
        np.tile([True, True, False], (4, 1)),
    )
    found = compare_stability(same, other)
    assert (found.statistic, found.pvalue, found.difference) == (0, 1, 0)
    assert stability_test(same, 0.5).pvalue == 0
    assert stability_test(same, 1.0).pvalue == 0.5


def correlated_selectors(seed, m=12):
    """Two selectors of equal stability whose runs depend on the same resamples."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(m, 60))
    latent = [
        np.sqrt(0.85) * shared + np.sqrt(0.15) * rng.normal(size=(m, 60))
        for _ in range(2)
    ]
    cut = stats.norm.ppf(1 - np.repeat([0.9, 0.6, 0.05], [8, 8, 44]))
    return [z > cut for z in latent]


def test_paired_test_keeps_its_level_and_sees_more():
    pvalues = [
        [
            compare_stability(*correlated_selectors(seed), paired=paired).pvalue
            for paired in (True, False)
        ]
        for seed in range(300)
    ]
    rejected = np.mean(np.array(pvalues) < 0.05, axis=0)
    assert 0.02 < rejected[0] < 0.09
    assert rejected[1] < rejected[0], "what the runs share hides in the unpaired error"


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["jackknife", "conformal", "bootstrap"])
def test_two_runs_are_too_few(method):
    with pytest.raises(
        ValueError,
        match=f"method='{method}' needs at least 3 runs, got 2|'jackknife' needs",
    ):
        stability_interval([[1, 0], [0, 1]], method=method)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"method": "wald"},
            "method must be one of jackknife, asymptotic, conformal, bootstrap; got 'wald'",
        ),
        ({"confidence_level": 95}, "confidence_level must be between 0 and 1, got 95"),
        (
            {"method": "bootstrap", "n_resamples": 3},
            "n_resamples must be an int of at least 10",
        ),
        ({"measure": "unknown"}, "measure must be one of"),
        ({"measure": "kuncheva"}, "use 'nogueira'"),
    ],
)
def test_bad_arguments_of_an_interval(arguments, message):
    with pytest.raises(ValueError, match=message):
        stability_interval(draw(5, 0), **arguments)


def test_bad_arguments_of_tests():
    z = draw(5, 0)
    with pytest.raises(ValueError, match="threshold must be a finite number"):
        stability_test(z, np.nan)
    with pytest.raises(
        ValueError, match="alternative must be one of greater, less, two-sided"
    ):
        stability_test(z, 0.5, alternative="more")
    with pytest.raises(
        ValueError, match="method must be one of jackknife, asymptotic; got 'bootstrap'"
    ):
        compare_stability(z, z, method="bootstrap")
    with pytest.raises(
        ValueError, match="paired=True needs as many runs in a as in b, got 5 and 4"
    ):
        compare_stability(z, z[:4], paired=True)
    with pytest.raises(ValueError, match="b must hold only 0/1"):
        compare_stability(z, z * 2)


def test_sparse_tables_give_the_same_intervals():
    z = draw(9, 0)
    for method in ("jackknife", "asymptotic", "conformal"):
        dense, csr = (
            stability_interval(form, method=method) for form in (z, sparse.csr_array(z))
        )
        assert (dense.low, dense.high) == pytest.approx((csr.low, csr.high), abs=1e-12)

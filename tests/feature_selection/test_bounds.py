"""Bounds against the R package stabs, against brute force, and what they promise."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skstab.feature_selection import stability_selection_bounds
from skstab.feature_selection._bounds import largest_tail

bounds_of = partial(stability_selection_bounds, 1000)

# assumption, p, q, cutoff, PFER, B, and the q, cutoff and PFER (before it is rounded to three digits) that
# stabsel_parameters of stabs 0.6-4 gives.
STABS = [
    ("none", 100, None, 0.6, 1, 50, 4, 0.6, 0.8),
    ("none", 1000, None, 0.75, 0.1, 50, 7, 0.75, 0.098),
    ("none", 1000, None, 0.8, 0.1, 10, 7, 0.8, 0.0816667),
    ("none", 20, None, 0.7, 0.5, 100, 1, 0.7, 0.125),
    ("none", 200, None, 0.75, 1, 10, 10, 0.75, 1),
    ("none", 5000, 1, None, 0.1, 50, 1, 0.501, 0.1),
    ("none", 1000, 2, None, 0.1, 50, 2, 0.52, 0.1),
    ("none", 5000, 2, None, 0.5, 50, 2, 0.5008, 0.5),
    ("none", 5000, 2, None, 1, 10, 2, 0.5004, 1),
    ("none", 20, 2, None, 2, 50, 2, 0.55, 2),
    ("none", 20, 2, 0.75, None, 10, 2, 0.75, 0.4),
    ("none", 5000, 2, 0.8, None, 50, 2, 0.8, 0.00133333),
    ("none", 200, 2, 0.75, None, 50, 2, 0.75, 0.04),
    ("none", 200, 5, 0.9, None, 10, 5, 0.9, 0.15625),
    ("none", 100, 2, 0.8, None, 100, 2, 0.8, 0.0666667),
    ("unimodal", 5000, None, 0.8, 0.5, 10, 52, 0.8, 0.491636),
    ("unimodal", 200, None, 0.7, 2, 100, 17, 0.7, 1.82911),
    ("unimodal", 1000, None, 0.75, 5, 10, 67, 0.75, 4.98778),
    ("unimodal", 5000, None, 0.8, 2, 100, 110, 0.8, 1.96475),
    ("unimodal", 1000, None, 0.8, 5, 10, 74, 0.8, 4.97818),
    ("unimodal", 1000, 1, None, 2, 100, 1, 0.51, 0.0333333),
    ("unimodal", 1000, 1, None, 2, 10, 1, 0.6, 0.00333333),
    ("unimodal", 100, 5, None, 1, 10, 5, 0.6, 0.833333),
    ("unimodal", 100, 5, None, 2, 100, 5, 0.535, 1.92308),
    ("unimodal", 5000, 1, None, 5, 10, 1, 0.6, 0.000666667),
    ("unimodal", 1000, 2, 0.9, None, 10, 2, 0.9, 0.00218182),
    ("unimodal", 20, 2, 0.8, None, 10, 2, 0.8, 0.181818),
    ("unimodal", 20, 4, 0.55, None, 50, 4, 0.55, 4.44444),
    ("unimodal", 100, 5, 0.9, None, 10, 5, 0.9, 0.136364),
    ("unimodal", 20, 9, 1, None, 10, 9, 1, 0.736364),
    ("r-concave", 100, None, 0.8, 1, 10, 16, 0.8, 0.94051),
    ("r-concave", 20, None, 0.7, 2, 10, 6, 0.7, 1.64999),
    ("r-concave", 100, None, 0.7, 2, 10, 16, 0.7, 1.99047),
    ("r-concave", 200, None, 0.6, 0.1, 10, 3, 0.6, 0.0930718),
    ("r-concave", 200, None, 0.6, 0.5, 50, 9, 0.6, 0.418234),
    ("r-concave", 200, 1, None, 1, 100, 1, 0.5, 0.00354635),
    ("r-concave", 200, 40, None, 1, 100, 40, 0.865, 0.960437),
    ("r-concave", 200, 2, None, 0.5, 100, 2, 0.5, 0.0176023),
    ("r-concave", 5000, 1, None, 5, 50, 1, 0.5, 0.000814594),
    ("r-concave", 1000, 1, None, 1, 10, 1, 0.5, 0.0204717),
    ("r-concave", 20, 4, 0.75, None, 50, 4, 0.75, 0.280232),
    ("r-concave", 100, 1, 1, None, 50, 1, 1, 2.81085e-05),
    ("r-concave", 20, 1, 0.76, None, 50, 1, 0.76, 0.0119464),
    ("r-concave", 20, 2, 1, None, 10, 2, 1, 0.00787071),
    ("r-concave", 20, 4, 0.76, None, 50, 4, 0.76, 0.259327),
    ("r-concave", 1000, 28, 0.9, None, 50, 28, 0.9, 0.0503273),
]

# The same of r-concave tails, where the tolerance of its `optimize` is set to 1e-12: mean, reached, size, r, tail.
TAILS = [
    (0.05, 20, 20, -0.25, 0.000252619261),
    (0.0025, 9, 10, -0.5, 0.000205960802),
    (0.028, 90, 100, -0.25, 8.75916461e-05),
    (0.000784, 40, 50, -0.5, 5.10660387e-05),
    (0.1, 75, 100, -0.25, 0.00652707491),
    (0.01, 25, 50, -0.5, 0.00286031064),
    (0.2, 11, 20, -0.25, 0.101865397),
]


@pytest.mark.parametrize("row", STABS)
def test_all_three_directions_are_those_of_stabs(row):
    assumption, p, q, threshold, pfer, n_pairs, *expected = row
    found = stability_selection_bounds(
        p, q=q, threshold=threshold, pfer=pfer, n_pairs=n_pairs, assumption=assumption
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize(("mean", "reached", "size", "r", "tail"), TAILS)
def test_r_concave_tails_are_those_of_stabs_where_it_searches_to_the_end(
    mean, reached, size, r, tail
):
    assert largest_tail(mean, reached, size, r) == pytest.approx(tail, rel=1e-5)


# -- formulas ----------------------------------------------------------------------------------------------------------


def test_the_bounds_of_a_hand_worked_case():
    # q²/p = 10²/200 = 1/2 at π = 3/4 with B = 50: over 2π − 1 = 1/2, and over 2(2π − 1 − 1/100) = 0.98.
    of = partial(stability_selection_bounds, 200, q=10, threshold=0.75)
    assert of(assumption="none").pfer == pytest.approx(1)
    assert of(assumption="unimodal").pfer == pytest.approx(0.5 / 0.98)
    # And at π = 0.9: 4(1 − 0.9 + 0.01)/(1.02)/2.
    unimodal = stability_selection_bounds(200, q=10, threshold=0.9)
    assert unimodal.pfer == pytest.approx(0.5 * 0.44 / 1.02)


def test_an_r_concave_bound_is_that_of_the_next_frequency_there_can_be():
    of = partial(bounds_of, q=20, assumption="r-concave")
    assert of(threshold=0.731).pfer == of(threshold=0.74).pfer < of(threshold=0.73).pfer


def test_one_mode_needs_a_threshold_that_a_wrong_feature_seldom_reaches():
    # 1/2 + min(θ², 1/(2B) + 3/4·θ²) = 1/2 + 0.01 + 0.75·0.45² = 0.661875
    of = partial(stability_selection_bounds, 100, q=45)
    assert of(threshold=0.663).pfer == pytest.approx(45**2 / 100 / 2 / (0.326 - 0.01))
    with pytest.raises(ValueError, match="raise threshold or lower q"):
        of(threshold=0.661)


def test_the_default_is_50_pairs_and_one_mode():
    assert bounds_of(q=20, threshold=0.8) == bounds_of(
        q=20, threshold=0.8, n_pairs=50, assumption="unimodal"
    )


def r_concave(rng, size, r):
    """A random distribution on 0…size whose r-th power is convex, with zeros after some point."""
    last = rng.integers(1, size + 1)
    knots = rng.random((4, 1)) * last
    hinges = np.abs(np.arange(last + 1) - knots) ** rng.choice([1, 2])
    mass = (rng.exponential(size=4) @ hinges + rng.exponential() ** 3 + 1e-9) ** (1 / r)
    return np.r_[mass / mass.sum(), np.zeros(size - last)]


@given(
    size=st.integers(4, 12),
    r=st.sampled_from([-1 / 2, -1 / 4]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=100)
def test_no_r_concave_distribution_has_a_larger_tail(size, r, seed):
    mass = r_concave(np.random.default_rng(seed), size, r)
    mean = mass @ np.arange(size + 1) / size
    if 2 * mean * size > size - 2:
        return
    tails = mass[::-1].cumsum()[::-1]
    for reached in range(1, size + 1):
        assert (
            tails[reached] <= largest_tail(mean, reached, size, r) * (1 + 1e-9) + 1e-12
        )


@pytest.mark.parametrize(
    ("mean", "reached", "size", "r"),
    [(0.1, 6, 10, -0.5), (0.05, 9, 12, -0.25), (0.2, 8, 12, -0.5)],
)
def test_the_largest_tail_is_reached_by_a_distribution_found_by_search(
    mean, reached, size, r
):
    a, best = np.geomspace(1e-2, 1e3, 100_001)[:, None], 0.0
    for k in range(1, size):
        points = np.arange(k + 1)
        mass = (a + points) ** (1 / r)
        mass *= (k + 1 - mean * size) / (mass @ (k + 1 - points))[:, None]
        rest, most = (
            1 - mass.sum(axis=1),
            mass[:, 0] * (1 + (k + 1) / a[:, 0]) ** (1 / r),
        )
        tails = rest * (k + 1 >= reached) + mass[:, reached:].sum(axis=1)
        # r-concave only while the last step is not higher than the curve.
        best = max(best, tails[(rest >= 0) & (rest <= most)].max(initial=0))
    assert best == pytest.approx(largest_tail(mean, reached, size, r), rel=1e-3)
    assert best <= largest_tail(mean, reached, size, r) * (1 + 1e-9)


# -- properties --------------------------------------------------------------------------------------------------------

CASES = [
    (assumption, n_features, n_pairs)
    for assumption in ("none", "unimodal", "r-concave")
    for n_features in (30, 400)
    for n_pairs in (5, 50)
]


@pytest.mark.parametrize(("assumption", "n_features", "n_pairs"), CASES)
def test_q_is_the_largest_and_the_threshold_the_smallest_that_keep_to_the_bound(
    assumption, n_features, n_pairs
):
    of = partial(
        stability_selection_bounds, n_features, n_pairs=n_pairs, assumption=assumption
    )
    q = of(threshold=0.9, pfer=1.03).q
    assert of(threshold=0.9, q=q).pfer <= 1.03 < of(threshold=0.9, q=q + 1).pfer
    found = of(q=2, pfer=0.63)
    assert found.pfer <= 0.63 * (1 + 1e-12)
    lower = found.threshold - (1e-6 if assumption == "none" else 1 / (2 * n_pairs))
    if lower > 0.5 + 1 / (2 * n_pairs):
        assert of(q=2, threshold=lower).pfer > 0.63


@pytest.mark.parametrize("assumption", ["none", "unimodal", "r-concave"])
def test_more_features_a_subsample_mean_more_errors_and_a_higher_threshold_fewer(
    assumption,
):
    of = partial(bounds_of, assumption=assumption)
    by_q = [of(q=q, threshold=0.8).pfer for q in (1, 5, 20, 21.5, 100)]
    by_threshold = [
        of(q=20, threshold=threshold).pfer
        for threshold in (0.6, 0.7, 0.75, 0.8, 0.9, 1)
    ]
    assert (np.diff(by_q) > 0).all()
    assert (np.diff(by_threshold) < 0).all()


def test_stronger_assumptions_give_lower_bounds():
    none, unimodal, concave = (
        bounds_of(q=28, threshold=0.9, assumption=a).pfer
        for a in ("none", "unimodal", "r-concave")
    )
    assert concave < unimodal < none


def test_the_result_has_the_bound_that_its_settings_have():
    found = bounds_of(threshold=0.8, pfer=2, assumption="r-concave")
    assert (
        found.pfer
        == bounds_of(threshold=0.8, q=found.q, assumption="r-concave").pfer
        < 2
    )


@pytest.mark.parametrize(("p", "q", "pfer"), [(50, 2, 0.534), (10, 1, 0.728)])
def test_r_concave_bounds_hold_below_one_half_as_those_of_stabs(p, q, pfer):
    of = partial(
        stability_selection_bounds, p, q=q, n_pairs=100, assumption="r-concave"
    )
    assert of(threshold=0.3).pfer == pytest.approx(pfer, abs=5e-4)
    falling = [
        of(threshold=threshold).pfer for threshold in (0.005, 0.2, 0.4, 0.5, 0.6)
    ]
    assert (np.diff(falling) <= 0).all()
    with pytest.raises(
        ValueError,
        match=r"threshold must be a number from 1 / \(2 \* n_pairs\) = 0.005 to 1",
    ):
        of(threshold=0.004)


# -- impossible settings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings_", "way"),
    [
        (
            {"q": 600, "threshold": 0.9, "assumption": "r-concave"},
            "lower q to at most 490",
        ),
        ({"q": 500, "threshold": 0.6}, "raise threshold or lower q"),
        (
            {"q": 10, "threshold": 0.5, "assumption": "none"},
            "raise threshold above 0.5",
        ),
        ({"q": 10, "threshold": 0.504}, "raise threshold or lower q"),
        (
            {"q": 100, "pfer": 1, "assumption": "none"},
            "even threshold=1 has a bound of 10 .*lower q or raise pfer",
        ),
        ({"q": 200, "pfer": 0.1}, "lower q or raise pfer"),
        ({"q": 400, "pfer": 0.1, "assumption": "r-concave"}, "lower q or raise pfer"),
        (
            {"threshold": 0.6, "pfer": 0.001, "assumption": "none"},
            "raise pfer or threshold",
        ),
        (
            {"threshold": 0.6, "pfer": 0.001},
            "even q=1 has a bound of 0.0026.*raise pfer or threshold",
        ),
        (
            {"threshold": 0.5, "pfer": 1},
            "even q=1 has no bound.*raise pfer or threshold",
        ),
    ],
)
def test_impossible_settings_say_which_way_to_move(settings_, way):
    with pytest.raises(ValueError, match=way):
        bounds_of(**settings_)


@pytest.mark.parametrize(
    "wanted",
    [
        {"q": 500, "threshold": 0.6},
        {"q": 100, "pfer": 1, "assumption": "none"},
        {"q": 200, "pfer": 0.1},
        {"q": 400, "pfer": 0.1, "assumption": "r-concave"},
        {"threshold": 0.6, "pfer": 0.001, "assumption": "none"},
        {"threshold": 0.6, "pfer": 0.001},
        {"threshold": 0.5, "pfer": 1},
        {"threshold": 0.6, "pfer": 1e-9},
        # A bound that is 0.0335 but for rounding errors.
        {"threshold": 0.77, "pfer": 1e-5, "n_features": 28, "n_pairs": 59},
        # No single setting would do.
        {"threshold": 0.5, "pfer": 1e-4, "assumption": "none", "n_features": 240},
        {
            "q": 64,
            "pfer": 1e-5,
            "assumption": "r-concave",
            "n_features": 110,
            "n_pairs": 25,
        },
    ],
)
def test_the_nearest_settings_that_an_error_names_are_possible(wanted):
    wanted = {"n_features": 1000, **wanted}
    with pytest.raises(
        ValueError, match=rf"n_features={wanted['n_features']}.*nearest possible: "
    ) as caught:
        stability_selection_bounds(**wanted)
    for choice in str(caught.value).partition("nearest possible: ")[2].split(" or "):
        named = dict(setting.split("=") for setting in choice.split(" with "))
        given = {
            name: int(value) if name == "q" else float(value)
            for name, value in named.items()
        }
        stability_selection_bounds(**wanted | given)


@pytest.mark.parametrize(
    "wanted",
    [
        {"q": 1, "threshold": 0.9},
        {"q": 1, "pfer": 0.1},
        {"threshold": 0.9, "pfer": 0.1},
    ],
)
def test_too_few_features_for_any_r_concave_bound_need_another_assumption(wanted):
    with pytest.raises(
        ValueError,
        match="use another assumption, as no q of at least 1 has a bound here",
    ):
        stability_selection_bounds(2, assumption="r-concave", n_pairs=10, **wanted)
    assert stability_selection_bounds(2, n_pairs=10, q=1, threshold=0.9).pfer < 2


def test_the_largest_q_that_the_r_concave_error_names_is_possible():
    assert bounds_of(q=490, threshold=0.9, assumption="r-concave").pfer > 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"q": 1},
            "two of q, threshold and pfer must be given, but 2 of them are None",
        ),
        (
            {"q": 1, "threshold": 0.9, "pfer": 1},
            "two of q, threshold and pfer must be given, but 0",
        ),
        (
            {"q": 0, "threshold": 0.9},
            "q must be a number above 0 and at most n_features",
        ),
        (
            {"q": 1001, "threshold": 0.9},
            "q must be a number above 0 and at most n_features",
        ),
        (
            {"q": 1, "threshold": 0.4},
            "threshold must be a number from 0.5 to 1 .*only with assumption='r-concave'",
        ),
        ({"q": 1, "threshold": 1.1}, "threshold must be a number from 0.5 to 1"),
        ({"q": 1, "pfer": 0}, "pfer must be a positive number"),
        ({"q": 1, "pfer": 1, "n_pairs": 0}, "n_pairs must be an int of at least 1"),
        (
            {"q": 1, "pfer": 1, "n_pairs": 1, "assumption": "r-concave"},
            "n_pairs must be an int of at least 2",
        ),
        (
            {"q": 1, "pfer": 1, "assumption": "normal"},
            "assumption must be one of 'none', 'unimodal', 'r-concave'",
        ),
    ],
)
def test_wrong_arguments_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        bounds_of(**wrong)


def test_the_number_of_features_must_be_positive():
    with pytest.raises(
        ValueError,
        match=r"n_features must be an int of at least 1, and below 2\*\*63, got 0",
    ):
        stability_selection_bounds(0, q=1, pfer=1)

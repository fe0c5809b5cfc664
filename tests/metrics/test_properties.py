"""The five properties of `measure_table`, derived: small tables are searched whole, and a ✗ shows its counter-example.

Sets are neither empty nor full here, as in nogueira2018, appendix C: then there is something to choose.
"""

from functools import cache
from itertools import combinations, permutations, product

import numpy as np
import pytest

from skstab.metrics import get_measure, measure_table
from tests.metrics.definitions import ADJUSTED, parameters_for

TABLE = measure_table()
SUBSET = list(TABLE.index[TABLE["kind"] == "subset"])
INTERSECTIONS = [name for name in SUBSET if name.startswith("intersection")]
OTHERS = [name for name in TABLE.index if name not in SUBSET]


@cache
def measure_for(name, d):
    """Judge the measures that forgive substitutes with a similarity, or groups, that join the first two features."""
    return get_measure(name, **parameters_for(name, d))


def sets_of_size(d, k):
    rows = np.zeros((len(list(combinations(range(d), k))), d), dtype=bool)
    for row, chosen in zip(rows, combinations(range(d), k), strict=True):
        row[list(chosen)] = True
    return rows


def tables(d, sizes):
    """All tables whose i-th run has sizes[i] features."""
    return [np.array(rows) for rows in product(*(sets_of_size(d, k) for k in sizes))]


def all_sizes(name, n_runs, d):
    """Sizes of the runs on which the measure is defined."""
    if TABLE.loc[name, "fully_defined"]:
        return list(product(range(1, d), repeat=n_runs))
    return [(k,) * n_runs for k in range(1, d)]


def oriented(name, value):
    return value if TABLE.loc[name, "higher_is_better"] else -value


# -- fully defined -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SUBSET)
def test_fully_defined(name):
    z = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1]]
    if TABLE.loc[name, "fully_defined"]:
        assert np.isfinite(measure_for(name, 4)(z))
    else:
        with pytest.raises(ValueError, match="use 'nogueira'"):
            measure_for(name, 4)(z)


# -- monotone: more is shared by some pair and less by none, at the same sizes -----------------------------------------


def values_by_intersections(name, candidates):
    """Smallest and largest value among the tables in which every two runs share the same number of features."""
    measure = measure_for(name, candidates[0].shape[1])
    found = {}
    for z in candidates:
        shared = (z.astype(int) @ z.T.astype(int))[np.triu_indices(len(z), 1)]
        value = oriented(name, measure(z))
        low, high = found.get(tuple(shared), (np.inf, -np.inf))
        found[tuple(shared)] = min(low, value), max(high, value)
    return found


def breaks_monotonicity(name, candidates):
    found = values_by_intersections(name, candidates)
    return any(
        np.all(np.array(more) >= less)
        and more != less
        and found[more][0] <= found[less][1] + 1e-12
        for more, less in permutations(found, 2)
    )


@pytest.mark.parametrize("name", SUBSET)
def test_monotone(name):
    first = sets_of_size(5, 2)[0]
    # All tables of 3 runs and 4 features, and those of 4 runs with 2 of 5 features, up to a relabelling.
    searched = [tables(4, sizes) for sizes in all_sizes(name, 3, 4)]
    searched.append([z for z in tables(5, (2, 2, 2, 2)) if np.array_equal(z[0], first)])
    broken = any(breaks_monotonicity(name, candidates) for candidates in searched)
    assert broken != TABLE.loc[name, "monotone"]


def test_a_counter_example_to_guzman_that_can_be_read():
    star = np.array(
        [[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 0, 0, 1, 0], [1, 0, 0, 0, 1]]
    )
    other = np.array(
        [[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 0, 0, 1, 0], [0, 1, 1, 0, 0]]
    )
    assert np.all(star @ star.T >= other @ other.T)
    guzman = get_measure("guzman")
    assert guzman(star) < guzman(other)


def test_monotonicity_is_not_asked_of_weights():
    assert TABLE.loc[OTHERS, "monotone"].isna().all()
    assert TABLE.loc[SUBSET, "monotone"].notna().all()


# -- bounded -----------------------------------------------------------------------------------------------------------


def opposed(d):
    """nogueira2018, C.3.1: half of the runs choose all features but the last, half the last one alone."""
    z = np.zeros((4, d), dtype=bool)
    z[:2, :-1] = z[2:, -1] = True
    return z


def distinct(n_runs):
    return np.eye(n_runs, dtype=bool)


def whole_group(size):
    """Half of the runs choose a group of features as a whole, the others as many features of no group."""
    z = np.zeros((4, 20 * size), dtype=bool)
    z[:2, :size] = z[2:, size : 2 * size] = True
    return z, [0] * size + list(range(1, 19 * size + 1))


def all_but_one_similar(d):
    """Half of the runs choose the one feature that is like no other, half one of those that are all alike."""
    z = np.zeros((4, d), dtype=bool)
    z[:2, 0] = z[2:, 1] = True
    return z, np.pad(np.ones((d - 1, d - 1)), (1, 0))


def of_all_but_one_similar(name):
    def value(d):
        z, similarity = all_but_one_similar(d)
        return get_measure(name, similarity=similarity, random_state=0)(z)

    return value


UNBOUNDED = {
    "wald": lambda n: get_measure("wald")(opposed(n)),
    "npog": lambda n: get_measure("npog")(opposed(n)),
    "krizek": lambda n: -get_measure("krizek")(distinct(n)),
    "effective": lambda n: get_measure("effective", groups=whole_group(n)[1])(
        whole_group(n)[0]
    ),
    **{
        name: of_all_but_one_similar(name)
        for name in [*INTERSECTIONS, "yu", "npogr", "transport"]
    },
}


@pytest.mark.parametrize("name", TABLE.index)
def test_bounds_are_finite_where_bounded(name):
    assert (
        np.isfinite(TABLE.loc[name, ["low", "high"]].astype(float)).all()
        == TABLE.loc[name, "bounded"]
    )


@pytest.mark.parametrize("name", UNBOUNDED)
def test_unbounded(name):
    values = [UNBOUNDED[name](n) for n in (4, 16, 64, 256)]
    falls = -np.diff(values)
    assert falls.min() > 0.5, (
        "each time the problem grows, the value falls by at least as much again"
    )
    assert not TABLE.loc[name, "bounded"]


def test_every_unbounded_measure_is_shown_to_be():
    assert set(UNBOUNDED) == set(TABLE.index[~TABLE["bounded"]])


def random_tables(name, rng):
    for m, d in product((2, 3, 10), (2, 5, 60)):
        for _ in range(2 if name == "transport" else 20):
            if name in SUBSET:
                size = rng.integers(1, d)
                z = np.argsort(rng.random((m, d)), axis=1) < size
                yield (
                    z & (rng.random(z.shape) < 0.7)
                    if TABLE.loc[name, "fully_defined"]
                    else z
                )
            elif name == "canberra":
                yield rng.permuted(np.tile(np.arange(1, d + 1), (m, 1)), axis=1)
            else:
                share = rng.random() * (0.1 if name == "transport" and d > 5 else 1)
                yield rng.normal(size=(m, d)) * (rng.random((m, d)) < share)


@pytest.mark.filterwarnings("ignore:all runs agree:RuntimeWarning")
@pytest.mark.parametrize("name", TABLE.index)
def test_bounds_hold_on_searched_and_random_tables(name):
    rng = np.random.default_rng(0)
    candidates = list(random_tables(name, rng))
    if name in SUBSET:
        candidates += [z for sizes in all_sizes(name, 2, 4) for z in tables(4, sizes)]
        if TABLE.loc[name, "fully_defined"]:
            candidates += [opposed(d) for d in (3, 10, 100)]
    if name == "canberra":
        candidates += [
            np.array([a, b])
            for d in (2, 3, 4)
            for a, b in product(permutations(range(1, d + 1)), repeat=2)
        ]
    for z in candidates:
        measure = measure_for(name, z.shape[1])
        low, high = measure.range(len(z))
        assert measure.bounds[0] - 1e-9 <= low
        assert high <= measure.bounds[1] + 1e-9
        raw = measure.evaluate(measure.check(z))  # before rounding is clipped
        assert low - 1e-9 <= raw <= high + 1e-9


def test_the_lower_bound_of_canberra_is_reached():
    assert get_measure("canberra")([[1, 2], [2, 1]]) == pytest.approx(
        TABLE.loc["canberra", "low"]
    )


@pytest.mark.parametrize(
    "name",
    [
        "nogueira",
        "kuncheva",
        "phi",
        "kappa",
        "pearson",
        "importance_weighted",
        "spearman",
    ],
)
def test_the_lower_bound_of_correlations_is_reached(name):
    measure = get_measure(name)
    assert measure([[1, 0], [0, 1]]) == pytest.approx(measure.range(2)[0]) == -1
    if (
        name != "spearman"
    ):  # of three rankings of three features no two pairs can be at odds enough
        assert (
            measure(np.eye(3, dtype=int))
            == pytest.approx(measure.range(3)[0])
            == -1 / 2
        )


# -- maximum ⇔ identical -----------------------------------------------------------------------------------------------


def best_and_identical(name, candidates, alike):
    values = np.array(
        [oriented(name, measure_for(name, z.shape[1])(z)) for z in candidates]
    )
    return values > values.max() - 1e-9, np.array([alike(z) for z in candidates])


# Two runs show that substitutes reach the maximum.
@pytest.mark.parametrize(
    ("name", "n_runs"),
    [
        (name, n_runs)
        for name in SUBSET
        for n_runs in ((2,) if name in ADJUSTED else (2, 3))
    ],
)
def test_maximum(name, n_runs):
    candidates = [z for sizes in all_sizes(name, n_runs, 4) for z in tables(4, sizes)]
    best, identical = best_and_identical(name, candidates, lambda z: (z == z[0]).all())
    assert np.array_equal(best, identical) == TABLE.loc[name, "maximum"]


WEIGHTS = [
    np.array(rows, dtype=float)
    for rows in product(
        [(1, 2, 4), (2, 4, 8), (2, 3, 5), (4, 2, 1), (2, 1, 4)], repeat=2
    )
]
ALIKE = {
    # what the runs of each kind must have in common to choose alike
    "pearson": lambda w: np.allclose(
        w / w.sum(axis=1, keepdims=True), (w[0] / w[0].sum())
    ),
    "importance_weighted": lambda w: np.allclose(
        w / w.sum(axis=1, keepdims=True), (w[0] / w[0].sum())
    ),
    "grouped_importance": lambda w: np.allclose(
        w / w.sum(axis=1, keepdims=True), (w[0] / w[0].sum())
    ),
    "transport": lambda w: np.allclose(
        w / w.sum(axis=1, keepdims=True), (w[0] / w[0].sum())
    ),
    "spearman": lambda w: (np.argsort(w) == np.argsort(w[0])).all(),
}


@pytest.mark.filterwarnings("ignore:all runs agree:RuntimeWarning")
@pytest.mark.parametrize("name", ALIKE)
def test_maximum_of_weights(name):
    best, alike = best_and_identical(name, WEIGHTS, ALIKE[name])
    assert np.array_equal(best, alike) == TABLE.loc[name, "maximum"]


def test_maximum_of_rankings():
    rankings = [np.array(rows) for rows in product(permutations(range(1, 5)), repeat=2)]
    best, alike = best_and_identical("canberra", rankings, lambda r: (r == r[0]).all())
    assert np.array_equal(best, alike) == TABLE.loc["canberra", "maximum"]


# -- corrected for chance ----------------------------------------------------------------------------------------------


def mean_over_random_sets(name, d, sizes):
    """Exact expectation: all tables are equally likely."""
    measure = measure_for(name, d)
    return np.mean([measure(z) for z in tables(d, sizes)])


@pytest.mark.parametrize("name", SUBSET)
def test_chance_corrected(name):
    expectations = [
        mean_over_random_sets(name, d, (k,) * n_runs)
        for n_runs, d, k in [
            (2, 4, 1),
            (2, 4, 2),
            (2, 5, 2),
            (2, 5, 4),
            (3, 4, 1),
            (3, 4, 2),
        ]
    ]
    if TABLE.loc[name, "chance_corrected"]:
        np.testing.assert_allclose(expectations, 0, atol=1e-12)
    else:
        assert np.ptp(expectations) > 0.05, (
            "it depends on the size of the sets, of the problem, or on the runs"
        )


@pytest.mark.parametrize(
    "name",
    ["lustgarten", "wald", "npog", "phi", "kappa", *INTERSECTIONS, "yu", "npogr"],
)
@pytest.mark.parametrize("sizes", [(1, 3), (2, 4), (1, 2, 3)])
def test_corrected_pairs_of_any_sizes(name, sizes):
    assert mean_over_random_sets(name, 5, sizes) == pytest.approx(0, abs=1e-12)


@pytest.mark.filterwarnings("ignore:all runs agree:RuntimeWarning")
@pytest.mark.parametrize("name", [name for name in OTHERS if name != "transport"])
def test_chance_corrected_weights_and_rankings(name):
    rows = {3: (1.0, 2.0, 3.0), 4: (1.0, 2.0, 3.0, 4.0)}
    expectations = [
        np.mean(
            [
                measure_for(name, d)([one, other])
                for one, other in product(permutations(row), repeat=2)
            ]
        )
        for d, row in rows.items()
    ]
    if TABLE.loc[name, "chance_corrected"]:
        np.testing.assert_allclose(expectations, 0, atol=1e-12)
    else:
        assert np.ptp(expectations) > 0.05


@pytest.mark.filterwarnings("ignore:all runs agree:RuntimeWarning")
@pytest.mark.parametrize(
    "groups", [[0, 0, 1, 1], [0, 1, 2, 3], [0, 0, 0, 1], [0, 0, 1, 2]], ids=str
)
def test_grouped_importances_are_corrected_for_chance_where_groups_are_of_one_size(
    groups,
):
    rows = list(permutations((1.0, 2.0, 4.0, 0.0)))
    measure = get_measure("grouped_importance", groups=groups)
    expectation = np.mean([measure(pair) for pair in product(rows, repeat=2)])
    if np.ptp(np.bincount(groups)) == 0:
        assert expectation == pytest.approx(0, abs=1e-12)
    else:
        assert expectation > 0.05


def test_simulated_at_a_usual_size():
    rng = np.random.default_rng(0)
    corrected = [name for name in SUBSET if TABLE.loc[name, "chance_corrected"]]
    draws = [np.argsort(rng.random((20, 40)), axis=1) < 8 for _ in range(300)]
    for name in corrected:
        values = [measure_for(name, 40)(z) for z in draws]
        assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(len(values))


# -- against the papers ------------------------------------------------------------------------------------------------

NOGUEIRA_2018 = {  # table 2: fully defined, monotone, bounded, maximum, corrected
    "hamming": "11110",
    "jaccard": "11110",
    "dice": "11110",
    "ochiai": "11110",
    "pog": "11110",
    "kuncheva": "01111",
    "lustgarten": "11101",
    "wald": "11001",
    "npog": "11011",
    "goh": "10100",
    "davis": "10100",
    "krizek": "00010",
    "guzman": "00111",
    "cwrel": "11100",
    "lausser": "01110",
    "nogueira": "11111",
}
HAMER_2021 = {  # table 2, which does not ask for monotonicity
    "nogueira": "1?111",
    "pearson": "1?101",
    "importance_weighted": "1?111",
    "effective": "1?001",
}
FLAGS = ["fully_defined", "monotone", "bounded", "maximum", "chance_corrected"]


@pytest.mark.parametrize(
    ("name", "published"), [*NOGUEIRA_2018.items(), *HAMER_2021.items()], ids=str
)
def test_agrees_with_the_papers_where_they_are_right(name, published):
    found = TABLE.loc[name, FLAGS]
    stated = {
        flag: mark == "1"
        for flag, mark in zip(FLAGS, published, strict=True)
        if mark != "?"
    }
    if (
        name == "guzman"
    ):  # the proof of its correction for chance turns Jensen's inequality around
        assert stated.pop("chance_corrected")
        assert not found["chance_corrected"]
    assert {flag: bool(found[flag]) for flag in stated} == stated


def test_guzman_nears_zero_from_above_as_runs_are_added():
    expectations = [
        mean_over_random_sets("guzman", 4, (2,) * n_runs) for n_runs in (2, 3, 4)
    ]
    assert expectations[0] > expectations[1] > expectations[2] > 0.1

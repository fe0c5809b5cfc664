"""The front and the choice on it against brute force over all pairs of candidates."""

import pickle
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from skstab.model_selection import (
    BootstrapSplit,
    ParetoRefit,
    StabilityCV,
    WholeSampleSplit,
    pareto_front,
    search_table,
    stability_scoring,
)

NAN = float("nan")
pytestmark = pytest.mark.filterwarnings("ignore:the search has splits of its own")
# "sparsest" asks for sizes, which not all tables have.
STRATEGIES = ["knee", "weighted", "one_se", "not_worse", "tolerance"]

# Eighths are exact in binary, few of them make ties, and half of the scores are those of a loss.
eighths = st.integers(-24, 8).map(lambda number: number / 8)
errors = st.integers(0, 8).map(lambda number: number / 8)
floats = st.floats(-1e3, 1e3).map(lambda value: round(value, 9))


@st.composite
def tables(draw, values=eighths, *, missing=True, prefix=None):
    """A one-level search: score, stability, their errors, and mostly the number of features."""
    value = st.one_of(values, values, values, st.just(NAN)) if missing else values
    n = draw(st.integers(1, 12))
    columns = {
        "score": value,
        "stability": value,
        "score_se": errors,
        "stability_se": errors,
    }
    if draw(st.integers(0, 3)):
        columns["n_features"] = st.integers(0 if missing else 1, 4).map(float)
    prefix = draw(st.sampled_from(["", "mean_test_"])) if prefix is None else prefix
    lists = {
        prefix + name: draw(st.lists(column, min_size=n, max_size=n))
        for name, column in columns.items()
    }
    return {name: np.array(column) for name, column in lists.items()}


@st.composite
def nested_tables(draw, n_splits=4):
    """A nested search of as many splits, tabulated as scikit-learn does."""
    n = draw(st.integers(1, 8))
    table = {}
    for name in ("score", "stability"):
        rows = st.lists(
            st.lists(eighths, min_size=n_splits, max_size=n_splits),
            min_size=n,
            max_size=n,
        )
        splits = np.array(draw(rows))
        table |= {
            f"split{split}_test_{name}": splits[:, split] for split in range(n_splits)
        }
        table |= {
            f"mean_test_{name}": splits.mean(axis=1),
            f"std_test_{name}": splits.std(axis=1),
        }
        # What the inner runs say of their own spread is not asked for here.
        table[f"mean_test_{name}_se"] = np.full(n, 1e6)
    return table


def read(table, name):
    return [float(value) for value in table.get(f"mean_test_{name}", table.get(name))]


def sizes_of(table):
    has_sizes = "n_features" in table or "mean_test_n_features" in table
    return read(table, "n_features") if has_sizes else [NAN] * len(read(table, "score"))


def known(table):
    """The candidates that can be chosen."""
    rows = zip(
        read(table, "score"), read(table, "stability"), sizes_of(table), strict=True
    )
    return [
        i
        for i, (a, s, size) in enumerate(rows)
        if not np.isnan(a) and not np.isnan(s) and size != 0
    ]


def brute_front(table):
    a, s = read(table, "score"), read(table, "stability")

    def beaten(i, j):
        return a[j] >= a[i] and s[j] >= s[i] and (a[j] > a[i] or s[j] > s[i])

    front = [i for i in known(table) if not any(beaten(i, j) for j in known(table))]
    return sorted(front, key=lambda i: (-a[i], -s[i], i))


def first_of(table, merit):
    """The candidate of largest merit, the smaller one of equals, the first one of those."""
    sizes = sizes_of(table)
    return min(
        merit, key=lambda i: (-merit[i], 0 if np.isnan(sizes[i]) else sizes[i], i)
    )


# -- the front ---------------------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(st.one_of(tables(), tables(floats)))
def test_front_is_what_nothing_beats(table):
    front = pareto_front(table, "score", "stability")
    assert isinstance(front, np.ndarray)
    assert front.dtype.kind == "i"
    assert front.tolist() == brute_front(table)


def test_order_and_equals():
    table = {
        "score": [0.5, 0.9, 0.7, 0.9, 0.7, 0.6],
        "stability": [0.9, 0.1, 0.4, 0.1, 0.3, 0.4],
    }
    assert pareto_front(table, "score", "stability").tolist() == [1, 3, 2, 0]


def test_negative_scores():
    table = {"neg_log_loss": [-0.3, -0.5, -0.4], "nogueira": [-0.1, 0.8, -0.2]}
    assert pareto_front(table, "neg_log_loss", "nogueira").tolist() == [0, 1]


def test_selecting_nothing_is_no_choice():
    table = {"score": [0.9, 0.8, 0.5], "stability": [0.5, 0.7, 1.0]}
    assert pareto_front(table, "score", "stability").tolist() == [0, 1, 2]
    with_sizes = table | {"n_features": [5.0, 3.0, 0.0]}
    assert pareto_front(with_sizes, "score", "stability").tolist() == [0, 1]
    in_search = {f"mean_test_{name}": values for name, values in with_sizes.items()}
    assert pareto_front(in_search, "score", "stability").tolist() == [0, 1]
    for strategy in STRATEGIES:
        refit = ParetoRefit(
            "score", "stability", strategy=strategy, gamma=0.0, tolerance=9.0
        )
        assert refit(with_sizes | {"score_se": [9.0, 9.0, 9.0]}) < 2


def test_a_tie_in_nothing_else_beats_nobody():
    table = {"score": [0.5, 0.5], "stability": [0.5, 0.5], "n_features": [9.0, 1.0]}
    assert pareto_front(table, "score", "stability").tolist() == [0, 1]


def test_no_candidate_at_all():
    table = {
        "score": [NAN, 0.5],
        "stability": [0.5, NAN],
        "score_se": [0.1, 0.1],
        "stability_se": [0.1, 0.1],
    }
    assert pareto_front(table, "score", "stability").size == 0
    front, undecided = pareto_front(table, "score", "stability", with_uncertainty=True)
    assert front.size == undecided.size == 0


# -- its uncertainty ---------------------------------------------------------------------------------------------------


def brute_undecided(table, level, errors_of):
    z = norm.ppf(0.5 + level / 2)
    front = brute_front(table)

    def close(i, j):
        differences = [
            read(table, name)[j] - read(table, name)[i]
            for name in ("score", "stability")
        ]
        spreads = [
            np.sqrt(errors_of(name)[i] ** 2 + errors_of(name)[j] ** 2)
            for name in ("score", "stability")
        ]
        return all(
            d <= z * spread for d, spread in zip(differences, spreads, strict=True)
        )

    return [
        i for i in known(table) if i not in front and any(close(i, j) for j in front)
    ]


@given(tables(), st.sampled_from([0.5, 0.8, 0.95]))
def test_undecided_in_a_one_level_search(table, level):
    front, undecided = pareto_front(
        table, "score", "stability", with_uncertainty=True, confidence_level=level
    )
    assert front.tolist() == brute_front(table)
    assert undecided.tolist() == brute_undecided(
        table, level, lambda name: read(table, f"{name}_se")
    )


@given(nested_tables(), st.sampled_from([0.5, 0.8, 0.95]))
def test_undecided_in_a_nested_search(table, level):
    def between_splits(name):
        splits = np.column_stack(
            [table[f"split{split}_test_{name}"] for split in range(4)]
        )
        return splits.std(axis=1, ddof=1) / np.sqrt(4)

    front, undecided = pareto_front(
        table, "score", "stability", with_uncertainty=True, confidence_level=level
    )
    assert front.tolist() == brute_front(table)
    assert undecided.tolist() == brute_undecided(table, level, between_splits)


def test_undecided_needs_one_point_for_both():
    # The third is close to the first in score and to the second in stability, to neither in both.
    table = {
        "score": [1.0, 0.0, 0.95, 0.98],
        "stability": [0.0, 1.0, -0.95, -0.05],
        "score_se": [0.05] * 4,
        "stability_se": [0.05] * 4,
    }
    _, undecided = pareto_front(table, "score", "stability", with_uncertainty=True)
    assert undecided.tolist() == [3]


def test_level_of_the_front():
    # The difference in stability is exactly two standard errors of a difference.
    table = {
        "score": [0.5, 0.5],
        "stability": [0.5, 0.5 - 2 * np.hypot(0.03, 0.04)],
        "score_se": [0.0] * 2,
        "stability_se": [0.03, 0.04],
    }
    for level, expected in ((0.95, []), (0.96, [1])):
        _, undecided = pareto_front(
            table, "score", "stability", with_uncertainty=True, confidence_level=level
        )
        assert undecided.tolist() == expected
    _, by_default = pareto_front(table, "score", "stability", with_uncertainty=True)
    assert by_default.size == 0


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, NAN])
def test_impossible_level(level):
    table = {
        "score": [0.5],
        "stability": [0.5],
        "score_se": [0.1],
        "stability_se": [0.1],
    }
    with pytest.raises(ValueError, match="confidence_level must be between 0 and 1"):
        pareto_front(
            table, "score", "stability", with_uncertainty=True, confidence_level=level
        )


def test_uncertainty_needs_errors():
    with pytest.raises(
        ValueError, match=r"no metric 'score_se'.*\['score', 'stability'\]"
    ):
        pareto_front(
            {"score": [0.5], "stability": [0.5]},
            "score",
            "stability",
            with_uncertainty=True,
        )


# -- the tables it reads -----------------------------------------------------------------------------------------------

GRID = {"estimator__C": [0.05, 0.1, 0.3, 1.0]}


@pytest.fixture(scope="module")
def data():
    return make_classification(120, 15, n_informative=4, n_redundant=3, random_state=0)


def searched(data, refit=False, cv=None):
    lasso = LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0)
    return GridSearchCV(
        StabilityCV(
            lasso,
            cv=BootstrapSplit(5, random_state=0),
            scoring=["accuracy", "neg_log_loss"],
        ),
        GRID,
        cv=WholeSampleSplit() if cv is None else cv,
        scoring=stability_scoring(["nogueira", "jaccard"]),
        refit=refit,
    ).fit(*data)


@pytest.fixture(scope="module")
def one_level(data):
    return searched(data).cv_results_


@pytest.fixture(scope="module")
def nested(data):
    return searched(data, cv=3).cv_results_


def renamed(results, score="neg_log_loss", stability="nogueira"):
    """The means of a search under the names that brute force knows."""
    names = {
        "score": score,
        "stability": stability,
        "score_se": f"{score}_se",
        "n_features": "n_features",
    }
    return {name: results[f"mean_test_{source}"] for name, source in names.items()}


@pytest.mark.parametrize("form", [dict, pd.DataFrame], ids=["dict", "frame"])
@pytest.mark.parametrize("which", ["one_level", "nested"])
@pytest.mark.parametrize("score", ["neg_log_loss", "accuracy"])
def test_front_of_a_search(request, form, which, score):
    results = request.getfixturevalue(which)
    expected = brute_front(renamed(results, score))
    assert pareto_front(form(results), score, "nogueira").tolist() == expected
    front, undecided = pareto_front(
        form(results), score, "nogueira", with_uncertainty=True
    )
    assert front.tolist() == expected
    assert not set(undecided) & set(front)
    for strategy in [*STRATEGIES, "sparsest"]:
        refit = ParetoRefit(score, "nogueira", strategy=strategy, tolerance=0.01)
        assert refit(form(results)) == refit(results)


def test_a_column_of_that_very_name(one_level):
    table = pd.DataFrame(
        {
            "accuracy": one_level["mean_test_accuracy"],
            "nogueira": one_level["mean_test_nogueira"],
        }
    )
    expected = pareto_front(one_level, "accuracy", "nogueira")
    np.testing.assert_array_equal(pareto_front(table, "accuracy", "nogueira"), expected)


@pytest.mark.parametrize(
    "choose", [pareto_front, lambda table, *names: ParetoRefit(*names)(table)]
)
@pytest.mark.parametrize(
    ("score", "stability", "missing"),
    [("f1", "nogueira", "f1"), ("accuracy", "dice", "dice")],
)
def test_missing_column_lists_those_present(
    one_level, choose, score, stability, missing
):
    with pytest.raises(
        ValueError,
        match=rf"no metric '{missing}'.*\['accuracy', 'accuracy_se', 'jaccard'.*'nogueira_",
    ):
        choose(one_level, score, stability)
    with pytest.raises(
        ValueError, match=rf"no metric '{missing}'.*\['accuracy', 'nogueira'\]"
    ):
        choose({"nogueira": [0.5], "accuracy": [0.5]}, score, stability)


# -- choosing ----------------------------------------------------------------------------------------------------------


def brute_knee(table):
    """The largest signed distance from the chord of the scaled front, in exact arithmetic."""
    front = brute_front(table)
    a, s = (
        {i: Fraction(read(table, name)[i]) for i in front}
        for name in ("score", "stability")
    )

    def scaled(values):
        low, width = min(values.values()), max(values.values()) - min(values.values())
        return {
            i: (value - low) / width if width else Fraction(0)
            for i, value in values.items()
        }

    x, y = scaled(a), scaled(s)
    right, top = max(front, key=lambda i: x[i]), max(front, key=lambda i: y[i])

    def above(i):
        across, up = x[right] - x[top], y[right] - y[top]
        return across * (y[i] - y[top]) - up * (x[i] - x[top])

    return first_of(table, {i: above(i) for i in front})


@settings(max_examples=300)
@given(tables())
def test_knee(table):
    if known(table):
        assert ParetoRefit("score", "stability")(table) == brute_knee(table)


def test_knee_is_farthest_from_the_chord():
    table = {"score": [0.90, 0.88, 0.84, 0.80], "stability": [0.40, 0.70, 0.72, 0.75]}
    distances = []
    for a, s in zip(table["score"], table["stability"], strict=True):
        point = np.array([(a - 0.8) / 0.1, (s - 0.4) / 0.35])
        distances.append(abs(np.linalg.det([[-1, 1], point - [1, 0]])) / np.sqrt(2))
    assert ParetoRefit("score", "stability")(table) == np.argmax(distances) == 1


def test_knee_of_a_hollow_front_is_an_end():
    # The middle lies below the chord: farthest from it on the wrong side.
    table = {
        "score": [1.0, 0.3, 0.0],
        "stability": [0.0, 0.3, 1.0],
        "n_features": [9.0, 1.0, 5.0],
    }
    assert ParetoRefit("score", "stability")(table) == 2


def test_knee_ignores_what_is_off_the_front():
    # The last one has the lowest values of all, and would shift the scale.
    table = {"score": [1.0, 0.9, 0.7], "stability": [0.5, 0.55, 0.7]}
    worse = {name: [*values, -50.0] for name, values in table.items()}
    assert ParetoRefit("score", "stability")(worse) == ParetoRefit(
        "score", "stability"
    )(table)


@given(tables(), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
def test_weighted(table, gamma):
    if known(table):
        a, s = read(table, "score"), read(table, "stability")
        merit = {i: gamma * a[i] + (1 - gamma) * s[i] for i in known(table)}
        choice = ParetoRefit("score", "stability", strategy="weighted", gamma=gamma)(
            table
        )
        assert choice == first_of(table, merit)
        if gamma in (0, 1):
            alone = s if gamma == 0 else a
            assert alone[choice] == max(alone[i] for i in known(table))


def test_weights_of_the_score():
    table = {"score": [0.9, 0.5, 0.75], "stability": [0.1, 0.9, 0.6]}
    chosen = {
        gamma: ParetoRefit("score", "stability", strategy="weighted", gamma=gamma)(
            table
        )
        for gamma in (0, 0.5, 1)
    }
    assert chosen == {0: 1, 0.5: 1, 1: 0}
    assert ParetoRefit("score", "stability", strategy="weighted", gamma=0.6)(table) == 2


def most_stable_within(table, loss):
    a, s = read(table, "score"), read(table, "stability")
    best = max(a[i] for i in known(table))
    return first_of(
        table, {i: s[i] for i in known(table) if a[i] >= best - loss - 1e-12}
    )


@given(tables(), errors)
def test_tolerance(table, tolerance):
    if known(table):
        refit = ParetoRefit(
            "score", "stability", strategy="tolerance", tolerance=tolerance
        )
        assert refit(table) == most_stable_within(table, tolerance)


def test_no_tolerance_is_the_best_score():
    table = {"score": [0.8, 0.9, 0.9], "stability": [0.9, 0.3, 0.4]}
    assert (
        ParetoRefit("score", "stability", strategy="tolerance", tolerance=0)(table) == 2
    )


@given(tables())
def test_one_se_in_a_one_level_search(table):
    if known(table):
        a = read(table, "score")
        best = first_of(table, {i: a[i] for i in known(table)})
        choice = ParetoRefit("score", "stability", strategy="one_se")(table)
        assert choice == most_stable_within(table, read(table, "score_se")[best])


def most_stable_of(table, accepted):
    s = read(table, "stability")
    return first_of(table, {i: s[i] for i in known(table) if accepted[i]})


@given(nested_tables(), nested_tables(n_splits=2))
def test_one_se_in_a_nested_search(four, two):
    for table, n_splits in ((four, 4), (two, 2)):
        splits = np.column_stack(
            [table[f"split{split}_test_score"] for split in range(n_splits)]
        )
        best = first_of(table, dict(enumerate(splits.mean(axis=1))))
        losses = splits[best] - splits
        error = losses.std(axis=1, ddof=1) / np.sqrt(n_splits)
        choice = ParetoRefit("score", "stability", strategy="one_se")(table)
        assert choice == most_stable_of(table, losses.mean(axis=1) <= error + 1e-12)


@pytest.mark.parametrize(("score", "expected"), [(0.61, 1), (0.59, 0)])
def test_one_se_is_that_of_a_sample(score, expected):
    # Differences of x - 0.1 and x + 0.1: their standard error is 0.1, and 0.07 if they were the population.
    splits = np.array([[0.6, 0.8], [score, score]])
    table = {"split0_test_score": splits[:, 0], "split1_test_score": splits[:, 1]}
    table |= {
        "mean_test_score": splits.mean(axis=1),
        "std_test_score": splits.std(axis=1),
    }
    table["mean_test_stability"] = np.array([0.2, 0.9])
    assert ParetoRefit("score", "stability", strategy="one_se")(table) == expected


def table_of_resamples(splits, stability, sizes):
    table = {f"split{at}_test_score": column for at, column in enumerate(splits.T)}
    table["mean_test_score"] = splits.mean(axis=1)
    table["mean_test_stability"] = np.array(stability)
    return table | {"mean_test_n_features": np.array(sizes, dtype=float)}


def test_margins_are_those_of_paired_differences():
    """Splits are hard or easy for all candidates: each score varies much, their differences hardly."""
    rng = np.random.default_rng(0)
    base = 0.8 + 0.1 * rng.standard_normal(30)
    noise = rng.standard_normal((4, 30))
    noise = (noise - noise.mean(axis=1, keepdims=True)) / noise.std(
        axis=1, ddof=1, keepdims=True
    )
    # The standard error of the difference is 0.01 * sqrt(1/30 + 0.2) = 0.0048.
    splits = base - np.array([0, 0.004, 0.009, 0.02])[:, None] + 0.01 * noise
    splits[0] = base
    table = table_of_resamples(splits, [0.1, 0.5, 0.7, 0.9], [9, 5, 2, 1])
    chosen = {
        strategy: ParetoRefit("score", "stability", strategy=strategy)(table)
        for strategy in ("one_se", "sparsest", "not_worse")
    }
    # t = 2.045 at 29 degrees of freedom: up to 0.0099 is not significant.
    assert chosen == {"one_se": 1, "sparsest": 1, "not_worse": 2}
    assert np.std(splits[0]) * np.sqrt(1 / 30 + 0.2) > 0.03  # of the score itself


def test_sparsest_has_the_fewest_features_and_then_is_most_stable():
    splits = np.tile([0.8, 0.9], (4, 1))
    splits[3] -= 0.2
    table = table_of_resamples(splits, [0.9, 0.3, 0.4, 0.99], [5, 3, 3, 1])
    assert ParetoRefit("score", "stability", strategy="sparsest")(table) == 2


def test_sparsest_needs_sizes():
    table = {"score": [0.5], "stability": [0.5], "score_se": [0.1]}
    with pytest.raises(ValueError, match="no metric 'n_features'"):
        ParetoRefit("score", "stability", strategy="sparsest")(table)


def test_not_worse_without_splits_takes_both_errors():
    table = {"score": [0.9, 0.8, 0.7], "stability": [0.1, 0.5, 0.9]}
    table["score_se"] = [0.03, 0.05, 0.05]
    # 1.96 * sqrt(0.03² + 0.05²) = 0.114
    assert ParetoRefit("score", "stability", strategy="not_worse")(table) == 1


@pytest.mark.parametrize("score", ["accuracy", "neg_log_loss"])
def test_one_se_of_a_nested_search_of_scikit_learn(nested, score):
    splits = np.column_stack(
        [nested[f"split{split}_test_{score}"] for split in range(3)]
    )
    losses = splits[splits.mean(axis=1).argmax()] - splits
    accepted = losses.mean(axis=1) <= losses.std(axis=1, ddof=1) / np.sqrt(3) + 1e-12
    expected = most_stable_of(renamed(nested, score), accepted)
    assert ParetoRefit(score, "nogueira", strategy="one_se")(nested) == expected


def test_one_se_of_another_metric_does_not_count():
    # The names of two metrics end alike.
    table = {
        "mean_test_score": [0.9, 0.85],
        "mean_test_stability": [0.1, 0.9],
        "mean_test_score_se": [0.01, 0.01],
    }
    table |= {f"split{split}_test_other_score": [0.5, 0.5] for split in range(2)}
    assert ParetoRefit("score", "stability", strategy="one_se")(table) == 0


def test_one_se_that_is_unknown_is_zero():
    table = {"score": [0.9, 0.89], "stability": [0.1, 0.9], "score_se": [NAN, 0.5]}
    assert ParetoRefit("score", "stability", strategy="one_se")(table) == 0


def test_one_se_needs_errors():
    with pytest.raises(
        ValueError, match=r"no metric 'score_se'.*\['score', 'stability'\]"
    ):
        ParetoRefit("score", "stability", strategy="one_se")(
            {"score": [0.5], "stability": [0.5]}
        )


# -- what all strategies share -----------------------------------------------------------------------------------------


def refits():
    return [
        ParetoRefit("score", "stability", strategy=strategy, tolerance=0.125)
        for strategy in STRATEGIES
    ]


@given(tables(missing=False), st.sampled_from([-64.0, -1.0, 16.0]))
def test_only_differences_of_scores_matter(table, shift):
    column = "score" if "score" in table else "mean_test_score"
    for refit in refits():
        assert refit(table) == refit(table | {column: table[column] + shift})


@given(tables(missing=False))
def test_candidates_with_missing_values_change_nothing(table):
    holed = {name: np.append(column, [4.0, 4.0]) for name, column in table.items()}
    for name, at in (("score", -1), ("stability", -2)):
        holed[name if name in table else f"mean_test_{name}"][at] = NAN
    for refit in refits():
        assert refit(table) == refit(holed)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_equals_go_to_fewer_features_then_to_the_first(strategy):
    refit = ParetoRefit("score", "stability", strategy=strategy, tolerance=0.0)
    table = {
        "score": [0.1, 0.8, 0.8, 0.8],
        "stability": [0.1, 0.5, 0.5, 0.5],
        "score_se": [0.1] * 4,
    }
    assert refit(table) == 1
    assert refit(table | {"n_features": [2.0, 9.0, 5.0, 5.0]}) == 2
    assert refit(table | {"n_features": [2.0, 5.0, 9.0, 5.0]}) == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rounding_does_not_decide(strategy):
    # 0.1 + 0.2 differs from 0.3 by rounding only.
    refit = ParetoRefit("score", "stability", strategy=strategy, tolerance=0.0)
    table = {
        "score": [0.8, 0.8],
        "stability": [0.3, 0.1 + 0.2],
        "n_features": [3.0, 7.0],
        "score_se": [0.1] * 2,
    }
    assert table["stability"][0] < table["stability"][1]
    assert refit(table) == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "table",
    [
        {"score": [NAN, NAN], "stability": [0.5, 0.5]},
        {"score": [NAN, 0.5], "stability": [0.5, NAN]},
        {"score": [0.5, 0.5], "stability": [1.0, 1.0], "n_features": [0.0, 0.0]},
    ],
    ids=["scores", "each", "nothing selected"],
)
def test_nothing_to_choose_from(strategy, table):
    refit = ParetoRefit("score", "stability", strategy=strategy, tolerance=0.1)
    with pytest.raises(
        ValueError, match=r"no candidate has both a 'score' and a 'stability'"
    ):
        refit(table | {"score_se": [0.1, 0.1]})


@given(tables(missing=False))
def test_a_plain_int_is_returned(table):
    for refit in refits():
        assert type(refit(table)) is int


# -- parameters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"strategy": "best"},
            r"strategy must be one of knee, weighted, one_se, sparsest, not_worse, tolerance; got 'best'",
        ),
        ({"strategy": None}, "strategy must be one of"),
        ({"gamma": -0.1}, r"gamma must be between 0 and 1, got -0\.1"),
        ({"gamma": 1.5, "strategy": "weighted"}, "gamma must be between 0 and 1"),
        ({"gamma": NAN}, "gamma must be between 0 and 1"),
        ({"gamma": "half"}, "gamma must be"),
        ({"gamma": None}, "gamma must be"),
        (
            {"strategy": "tolerance"},
            "tolerance must be a number of at least 0 .* got None",
        ),
        (
            {"strategy": "tolerance", "tolerance": -0.1},
            "tolerance must be a number of at least 0",
        ),
        (
            {"strategy": "tolerance", "tolerance": NAN},
            "tolerance must be a number of at least 0",
        ),
        (
            {"strategy": "tolerance", "tolerance": "5%"},
            "tolerance must be a number of at least 0",
        ),
    ],
)
def test_impossible_parameters(params, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ParetoRefit("accuracy", "nogueira", **params)


def test_parameters_have_names():
    with pytest.raises(TypeError):
        ParetoRefit("accuracy", "nogueira", "weighted")
    with pytest.raises(TypeError):
        pareto_front({"a": [1], "s": [1]}, "a", "s", True)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_pickles(one_level, strategy):
    refit = ParetoRefit(
        "neg_log_loss", "nogueira", strategy=strategy, gamma=0.2, tolerance=0.05
    )
    copied = pickle.loads(pickle.dumps(refit))  # noqa: S301
    assert copied == refit
    assert copied(one_level) == refit(one_level)


def test_representation_is_the_call():
    refit = ParetoRefit("accuracy", "nogueira", strategy="tolerance", tolerance=0.01)
    assert repr(refit) == (
        "ParetoRefit(score='accuracy', stability='nogueira', strategy='tolerance', gamma=0.5, tolerance=0.01)"
    )
    assert eval(repr(refit)) == refit  # noqa: S307


# -- in a search -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [None, 3], ids=["one level", "nested"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_refit_of_a_search(data, request, cv, strategy):
    results = request.getfixturevalue("one_level" if cv is None else "nested")
    refit = ParetoRefit("neg_log_loss", "nogueira", strategy=strategy, tolerance=0.02)
    search = searched(data, refit, cv)
    assert search.best_index_ == refit(results)
    C = GRID["estimator__C"][search.best_index_]
    assert search.best_params_ == {"estimator__C": C}
    assert search.best_estimator_.estimator_.C == C
    by_hand = search.estimator.set_params(estimator__C=C).fit(*data)
    np.testing.assert_array_equal(
        search.best_estimator_.selection_frequencies_, by_hand.selection_frequencies_
    )
    np.testing.assert_array_equal(search.predict(data[0]), by_hand.predict(data[0]))


def test_strategies_differ_in_a_search(one_level):
    refits = [
        ParetoRefit("neg_log_loss", "nogueira", strategy="weighted", gamma=1.0),
        ParetoRefit("neg_log_loss", "nogueira", strategy="weighted", gamma=0.0),
    ]
    best_score, most_stable = (refit(one_level) for refit in refits)
    assert best_score == one_level["mean_test_neg_log_loss"].argmax()
    assert most_stable == one_level["mean_test_nogueira"].argmax()
    assert best_score != most_stable


def test_choosing_nothing_in_a_search(data):
    grid = {"estimator__C": [1e-6, 0.3]}
    estimator = StabilityCV(
        LogisticRegression(l1_ratio=1, solver="liblinear"),
        cv=BootstrapSplit(4, random_state=0),
        scoring="accuracy",
    )
    refit = ParetoRefit("accuracy", "nogueira", strategy="weighted", gamma=0.0)
    search = GridSearchCV(
        estimator, grid, cv=WholeSampleSplit(), scoring=stability_scoring(), refit=refit
    )
    with pytest.warns(
        RuntimeWarning, match="all runs agree because there was nothing to choose"
    ):
        search.fit(*data)
    assert search.cv_results_["mean_test_nogueira"][0] == 1
    assert search.best_index_ == 1


# -- the weights that choose a candidate -------------------------------------------------------------------------------


def test_weights_that_choose_each_candidate_by_brute_force():
    rng = np.random.default_rng(0)
    weights = np.linspace(0, 1, 4001)
    for _ in range(30):
        score, stability = rng.random((2, 8))
        table = search_table({"a": score, "s": stability}, score="a", stability="s")
        merit = weights[:, None] * score + (1 - weights[:, None]) * stability
        chosen = merit.argmax(axis=1)
        for candidate, row in table.iterrows():
            found = weights[chosen == candidate]
            if not found.size:
                assert (
                    not row["on_hull"]
                    or row["gamma_high"] - row["gamma_low"] < 1 / 4000
                )
                continue
            assert row["on_hull"]
            assert row["on_front"]
            assert abs(row["gamma_low"] - found.min()) < 1e-3
            assert abs(row["gamma_high"] - found.max()) < 1e-3


def test_candidates_with_missing_values_have_no_weight():
    table = search_table(
        {"a": [0.9, np.nan, 0.8], "s": [0.5, 0.9, 0.7]}, score="a", stability="s"
    )
    assert table["gamma_low"].isna().tolist() == [False, True, False]
    assert table.loc[[0, 2], "on_hull"].all()


def test_search_table_takes_the_metrics_of_the_refit():
    results = {"a": [0.9, 0.8], "s": [0.5, 0.7]}
    search = SimpleNamespace(
        cv_results_=results, refit=ParetoRefit("a", "s", gamma=0.1), best_index_=1
    )
    table = search_table(search)
    assert table["chosen"].tolist() == [False, True]
    assert "weighted" in table.loc[1, "strategies"]
    with pytest.raises(ValueError, match="score and stability must name metrics"):
        search_table(results)

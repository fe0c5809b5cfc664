"""The front of a search: intervals of one-level and nested searches, choices, and what is drawn of them."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from skstab.inspection import ParetoFrontDisplay
from skstab.model_selection import (
    BootstrapSplit,
    ParetoRefit,
    StabilityCV,
    WholeSampleSplit,
    make_stability_scorer,
    pareto_front,
    stability_scoring,
)

Z = norm.ppf(0.975)
RESULTS = {
    "mean_test_accuracy": np.array([0.90, 0.88, 0.80, 0.85, 0.70]),
    "mean_test_accuracy_se": np.array([0.03, 0.02, 0.01, 0.02, 0.01]),
    "mean_test_nogueira": np.array([0.40, 0.70, 0.75, 0.60, 1.00]),
    "mean_test_nogueira_low": np.array([0.30, 0.60, 0.70, 0.50, 1.00]),
    "mean_test_nogueira_high": np.array([0.45, 0.80, 0.85, 0.70, 1.00]),
    "mean_test_n_features": np.array([9.0, 5.0, 3.0, 4.0, 0.0]),
    "params": [{"C": c} for c in (1, 0.3, 0.1, 0.2, 0.01)],
}


@pytest.fixture(scope="module")
def data():
    return make_classification(80, n_features=8, n_informative=3, random_state=0)


@pytest.fixture(scope="module")
def runs():
    lasso = LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0)
    return StabilityCV(lasso, cv=BootstrapSplit(5, random_state=0), scoring="accuracy")


GRID = {"estimator__C": [0.1, 0.2, 0.5]}


@pytest.fixture(scope="module")
def one_level(data, runs):
    refit = ParetoRefit(
        "accuracy", "nogueira", strategy="tolerance", tolerance=0.05, gamma=0.2
    )
    search = GridSearchCV(
        runs, GRID, cv=WholeSampleSplit(), scoring=stability_scoring(), refit=refit
    )
    return search.fit(*data)


@pytest.fixture(scope="module")
def nested(data, runs):
    scoring = {"accuracy": "accuracy", "nogueira": make_stability_scorer()}
    return RandomizedSearchCV(
        runs, GRID, n_iter=3, cv=3, scoring=scoring, refit=False, random_state=0
    ).fit(*data)


# -- the table ---------------------------------------------------------------------------------------------------------


def test_the_table_of_one_split_has_the_intervals_of_its_resamples():
    table = ParetoFrontDisplay.from_results(
        RESULTS, "accuracy", "nogueira", chosen=1
    ).frame()
    np.testing.assert_allclose(
        table["score_low"],
        RESULTS["mean_test_accuracy"] - Z * RESULTS["mean_test_accuracy_se"],
    )
    np.testing.assert_allclose(
        table["score_high"],
        RESULTS["mean_test_accuracy"] + Z * RESULTS["mean_test_accuracy_se"],
    )
    np.testing.assert_allclose(
        table["stability_low"][:4], RESULTS["mean_test_nogueira_low"][:4]
    )
    np.testing.assert_allclose(
        table["stability_high"][:4], RESULTS["mean_test_nogueira_high"][:4]
    )
    # The last one selects nothing.
    assert table.loc[4, ["stability", "stability_low", "stability_high"]].isna().all()
    assert list(table["on_front"]) == [True, True, True, False, False]
    assert list(table["chosen"]) == [False, True, False, False, False]
    assert list(table["params"]) == RESULTS["params"]


def test_a_candidate_that_selects_nothing_is_missing():
    table = ParetoFrontDisplay.from_results(RESULTS, "accuracy", "nogueira").frame()
    assert np.isnan(table.loc[4, "stability"])
    assert not table["chosen"].any()


def test_strategies_choose_as_the_refit_would():
    display = ParetoFrontDisplay.from_results(
        RESULTS, "accuracy", "nogueira", gamma=0.9, tolerance=0.1
    )
    table = display.frame()
    for strategy in ("knee", "weighted", "one_se", "tolerance"):
        choice = ParetoRefit(
            "accuracy", "nogueira", strategy=strategy, gamma=0.9, tolerance=0.1
        )(RESULTS)
        assert [
            index
            for index in table.index
            if strategy in table.loc[index, "strategies"].split(", ")
        ] == [choice]


def test_strategies_that_lack_what_they_need_are_left_out():
    results = {"accuracy": [0.9, 0.8], "nogueira": [0.4, 0.9]}
    table = ParetoFrontDisplay.from_results(results, "accuracy", "nogueira").frame()
    assert {
        name for names in table["strategies"] for name in names.split(", ") if name
    } == {"knee", "weighted"}
    assert (
        table[["score_low", "score_high", "stability_low", "stability_high"]]
        .isna()
        .all(axis=None)
    )


def test_a_data_frame_of_results_gives_the_same_table():
    expected = ParetoFrontDisplay.from_results(RESULTS, "accuracy", "nogueira").frame()
    got = ParetoFrontDisplay.from_results(
        pd.DataFrame(RESULTS), "accuracy", "nogueira"
    ).frame()
    pd.testing.assert_frame_equal(got, expected)


def test_a_search_of_one_level_is_shown_with_its_choice_and_its_own_options(one_level):
    display = ParetoFrontDisplay.from_search(one_level, "accuracy", "nogueira")
    assert (display.gamma, display.tolerance) == (0.2, 0.05)
    table = display.frame()
    assert list(table.index[table["chosen"]]) == [one_level.best_index_]
    assert "tolerance" in table.loc[one_level.best_index_, "strategies"]
    np.testing.assert_allclose(
        table["stability_low"], one_level.cv_results_["mean_test_nogueira_low"]
    )
    front = pareto_front(one_level.cv_results_, "accuracy", "nogueira")
    assert set(table.index[table["on_front"]]) == set(front)


def test_options_given_come_before_those_of_the_search(one_level):
    display = ParetoFrontDisplay.from_search(
        one_level, "accuracy", "nogueira", gamma=0.7, tolerance=0.3
    )
    assert (display.gamma, display.tolerance) == (0.7, 0.3)


def test_options_for_other_metrics_are_not_taken(one_level):
    display = ParetoFrontDisplay.from_search(one_level, "accuracy", "nogueira_low")
    assert (display.gamma, display.tolerance) == (0.5, None)


def test_a_nested_search_has_intervals_between_its_splits(nested):
    table = ParetoFrontDisplay.from_search(nested, "accuracy", "nogueira").frame()
    for axis, name in (("score", "accuracy"), ("stability", "nogueira")):
        splits = np.array(
            [nested.cv_results_[f"split{split}_test_{name}"] for split in range(3)]
        )
        half = Z * splits.std(axis=0, ddof=1) / np.sqrt(3)
        np.testing.assert_allclose(
            table[f"{axis}_high"] - table[axis], half, atol=1e-12
        )
        np.testing.assert_allclose(table[axis] - table[f"{axis}_low"], half, atol=1e-12)
    assert not table["chosen"].any()


def test_inner_intervals_of_a_nested_search_are_not_averaged():
    nested = {
        "split0_test_s": [0.1, 0.5],
        "split1_test_s": [0.3, 0.7],
        "mean_test_s": [0.2, 0.6],
    }
    nested |= {
        "std_test_s": [0.1, 0.1],
        "mean_test_s_low": [0.0, 0.0],
        "mean_test_s_high": [1.0, 1.0],
        "a": [1, 2],
    }
    table = ParetoFrontDisplay.from_results(nested, "a", "s").frame()
    np.testing.assert_allclose(table["stability_high"], [0.2 + Z * 0.1, 0.6 + Z * 0.1])


# -- the picture -------------------------------------------------------------------------------------------------------


def lines_by_marker(ax):
    return {line.get_marker(): line for line in ax.lines}


def test_points_bars_and_marks_are_drawn_from_the_table():
    display = ParetoFrontDisplay.from_results(
        RESULTS, "accuracy", "nogueira", chosen=1, tolerance=0.1
    ).plot()
    table = display.frame()
    front, others = display.ax_.containers
    for container, rows in ((front, [2, 1, 0]), (others, [3])):
        points, _, (x_bars, y_bars) = container.lines
        part = table.loc[rows]
        np.testing.assert_allclose(points.get_xydata(), part[["score", "stability"]])
        np.testing.assert_allclose(
            np.array(x_bars.get_segments())[:, :, 0], part[["score_low", "score_high"]]
        )
        np.testing.assert_allclose(
            np.array(y_bars.get_segments())[:, :, 1],
            part[["stability_low", "stability_high"]],
        )
    # The front is joined, the others are not.
    assert front.lines[0].get_linestyle() == "-"
    assert others.lines[0].get_linestyle() == "None"
    marks = lines_by_marker(display.ax_)
    for marker, strategy in {
        "s": "knee",
        "D": "weighted",
        "^": "one_se",
        "p": "sparsest",
        "v": "tolerance",
    }.items():
        row = table[table["strategies"].str.contains(strategy)]
        np.testing.assert_allclose(
            marks[marker].get_xydata(), row[["score", "stability"]]
        )
    np.testing.assert_allclose(marks["*"].get_xydata(), [[0.88, 0.70]])


def test_the_legend_names_what_is_there():
    display = ParetoFrontDisplay.from_results(
        RESULTS, "accuracy", "nogueira", chosen=1, tolerance=0.1
    )
    names = [text.get_text() for text in display.plot().ax_.get_legend().get_texts()]
    assert names == [
        "Pareto front",
        "other candidates",
        "chosen",
        "knee",
        "weighted (γ = 0.5)",
        "one_se",
        "sparsest",
        "tolerance (0.1)",
    ]
    bare = ParetoFrontDisplay.from_results({"a": [1.0], "s": [0.5]}, "a", "s").plot()
    assert [text.get_text() for text in bare.ax_.get_legend().get_texts()] == [
        "Pareto front",
        "knee",
        "weighted (γ = 0.5)",
    ]
    assert bare.plot(legend=False).ax_.get_legend() is None


def positions(display):
    """Where marks are on the screen, in points, and the size of the axes."""
    display.figure_.canvas.draw()
    scale = 72 / display.figure_.dpi
    marks = {
        line.get_marker(): line
        for line in display.ax_.lines
        if line.get_marker() in ("s", "D", "^", "v", "*")
    }
    found = {
        name: line.get_transform().transform(line.get_xydata())[0] * scale
        for name, line in marks.items()
    }
    box = display.ax_.get_window_extent()
    return found, np.array([[box.x0, box.y0], [box.x1, box.y1]]) * scale


@pytest.mark.parametrize(
    "results", [RESULTS, {"accuracy": [0.7, 0.9], "nogueira": [0.5, 1.0]}]
)
def test_marks_of_strategies_that_agree_stand_apart_and_inside(results):
    display = ParetoFrontDisplay.from_results(
        results, "accuracy", "nogueira", tolerance=0.1, chosen=1
    ).plot()
    marks, (lowest, highest) = positions(display)
    assert len(marks) >= 4
    for one, two in combinations(marks, 2):
        assert np.linalg.norm(marks[one] - marks[two]) > 8
    assert all(
        (lowest < place).all() and (place < highest).all() for place in marks.values()
    )


def test_many_candidates_off_the_front_have_no_bars():
    rng = np.random.default_rng(0)
    table = {"a": rng.random(300), "a_se": np.full(300, 0.1), "s": rng.random(300)}
    display = ParetoFrontDisplay.from_results(table, "a", "s").plot()
    assert len(display.ax_.containers) == 1
    is_on = display.frame()["on_front"]
    assert sorted(
        len(line.get_xdata()) for line in display.ax_.lines if line.get_marker() == "o"
    ) == [
        is_on.sum(),
        300 - is_on.sum(),
    ]


def test_axes_are_named_after_score_and_measure():
    ax = ParetoFrontDisplay.from_results(RESULTS, "accuracy", "nogueira").plot().ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "accuracy",
        "stability (nogueira)\nintervals: resampling error",
    )
    bare = {"accuracy": [0.9, 0.8], "nogueira": [0.4, 0.7]}
    ax = ParetoFrontDisplay.from_results(bare, "accuracy", "nogueira").plot().ax_
    assert ax.get_ylabel() == "stability (nogueira)"
    splits = {
        f"split{number}_test_nogueira": [0.4 - number / 10, 0.7] for number in range(2)
    }
    nested = bare | splits | {"std_test_nogueira": [0.05, 0.0]}
    ax = ParetoFrontDisplay.from_results(nested, "accuracy", "nogueira").plot().ax_
    assert ax.get_ylabel() == "stability (nogueira)\nintervals: outer folds"


def test_several_fronts_on_one_picture():
    tables = {
        name: {
            "accuracy": [0.95 - shift, 0.8, 0.7],
            "nogueira": [0.4, 0.6 + shift, 0.5],
        }
        for name, shift in (("RFE", 0.0), ("hybrid $x", 0.05), ("filter", 0.1))
    }
    ax = None
    for name, table in tables.items():
        display = ParetoFrontDisplay.from_results(table, "accuracy", "nogueira")
        ax = display.plot(ax, name=name).ax_
    assert len(ax.lines) == 3
    assert len({line.get_color() for line in ax.lines}) == 3
    for line, table in zip(ax.lines, tables.values(), strict=True):
        assert line.get_xdata().tolist() == table["accuracy"][1::-1]
        assert line.get_ydata().tolist() == table["nogueira"][1::-1]
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == list(tables)


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_a_search_must_be_fitted(runs):
    with pytest.raises(
        TypeError,
        match="search must be a fitted search with cv_results_, got GridSearchCV",
    ):
        ParetoFrontDisplay.from_search(GridSearchCV(runs, GRID), "accuracy", "nogueira")


def test_unknown_metrics_are_named():
    with pytest.raises(ValueError, match="no metric 'auc' in cv_results"):
        ParetoFrontDisplay.from_results(RESULTS, "auc", "nogueira").frame()

"""Selection frequencies: the numbers of the table, and points, intervals and names that are drawn from it."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from scipy.stats import binomtest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skstab.inspection import SelectionFrequencyDisplay
from skstab.model_selection import BootstrapSplit, StabilityCV

SUPPORTS = np.array([[1, 0, 1], [1, 0, 0], [1, 1, 0], [1, 0, 1]])


def errorbars_of(ax):
    """Points and ends of their bars, kind by kind, as drawn."""
    found = []
    for container in ax.containers:
        points, _, (bars,) = container.lines
        found.append((points, np.array(bars.get_segments())))
    return found


@given(
    supports=arrays(bool, st.tuples(st.integers(2, 8), st.integers(1, 5))),
    level=st.sampled_from([0.5, 0.9, 0.95]),
)
@settings(max_examples=30)
def test_frequencies_and_wilson_intervals_are_those_of_scipy(supports, level):
    table = SelectionFrequencyDisplay.from_supports(
        supports, confidence_level=level
    ).frame()
    assert sorted(table["column"]) == list(range(supports.shape[1]))
    assert (np.diff(table["frequency"]) <= 0).all()
    for row in table.itertuples():
        n, k = len(supports), int(supports[:, row.column].sum())
        interval = binomtest(k, n).proportion_ci(level, method="wilson")
        assert row.frequency == k / n
        assert (row.low, row.high) == pytest.approx(
            (interval.low, interval.high), abs=1e-12
        )


def test_equally_frequent_features_stand_as_in_the_data():
    table = SelectionFrequencyDisplay([0.5, 1.0, 0.5, 1.0], 10).frame()
    assert list(table["column"]) == [1, 3, 0, 2]


def test_names_come_from_any_kind_of_data_frame():
    names = ["a", "b", "c"]
    for table in (
        pd.DataFrame(SUPPORTS, columns=names),
        pl.DataFrame(SUPPORTS, schema=names),
        pd.DataFrame.sparse.from_spmatrix(csr_array(SUPPORTS), columns=names),
    ):
        assert list(
            SelectionFrequencyDisplay.from_supports(table).frame()["feature"]
        ) == ["a", "c", "b"]


def test_points_and_bars_are_drawn_from_the_table():
    display = SelectionFrequencyDisplay.from_supports(SUPPORTS, threshold=0.5).plot()
    table = display.frame()
    (chosen, chosen_bars), (others, other_bars) = errorbars_of(display.ax_)
    for points, bars, rows in (
        (chosen, chosen_bars, table[:2]),
        (others, other_bars, table[2:]),
    ):
        np.testing.assert_allclose(points.get_xdata(orig=False), rows["frequency"])
        np.testing.assert_allclose(points.get_ydata(orig=False), rows.index)
        np.testing.assert_allclose(bars[:, :, 0], rows[["low", "high"]])
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [
        "x0",
        "x2",
        "x1",
    ]
    # Hollow points need no colour to be told from filled ones.
    assert others.get_markerfacecolor() == "white"
    assert chosen.get_markerfacecolor() != "white"


def test_the_threshold_is_a_line_and_counts_in():
    display = SelectionFrequencyDisplay.from_supports(SUPPORTS, threshold=0.5).plot()
    assert list(display.frame()["selected"]) == [True, True, False]
    assert [
        set(line.get_xdata(orig=False))
        for line in display.ax_.lines
        if line.get_linestyle() == "--"
    ] == [{0.5}]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [
        "selected",
        "not selected",
        "threshold",
    ]


def test_without_a_threshold_there_is_neither_line_nor_legend():
    display = SelectionFrequencyDisplay.from_supports(SUPPORTS).plot()
    assert display.frame()["selected"].isna().all()
    assert display.ax_.get_legend() is None
    assert not [line for line in display.ax_.lines if line.get_linestyle() == "--"]


def test_only_the_most_frequent_features_are_drawn_and_the_label_says_so():
    rng = np.random.default_rng(0)
    display = SelectionFrequencyDisplay.from_supports(rng.random((10, 5000)) < 0.3)
    display.plot()
    ((points, _),) = errorbars_of(display.ax_)
    np.testing.assert_allclose(
        points.get_xdata(orig=False), display.frame()["frequency"][:30]
    )
    assert display.ax_.get_ylabel() == "the 30 most frequent of 5000 features"
    rest = np.delete(display.frequencies, display.frame()["column"][:30])
    summary = f"the 4970 others: at most {rest.max():.2f}; {(rest == 0).sum()} of them never selected"
    assert display.ax_.get_xlabel().splitlines()[1:] == [
        "intervals: resampling error",
        summary,
    ]
    assert len(display.ax_.get_yticks()) == 30


@pytest.mark.parametrize("order", ["frequency", "column"])
def test_too_many_features_to_name_are_numbered_from_left_to_right(order):
    rng = np.random.default_rng(0)
    display = SelectionFrequencyDisplay.from_supports(
        rng.random((10, 5000)) < 0.3
    ).plot(top_k=None, order=order)
    table = display.frame()
    if order == "column":
        table = table.sort_values("column")
    ((points, bars),) = errorbars_of(display.ax_)
    np.testing.assert_array_equal(points.get_xdata(orig=False), np.arange(5000))
    np.testing.assert_allclose(points.get_ydata(orig=False), table["frequency"])
    np.testing.assert_allclose(bars[:, :, 1], table[["low", "high"]])
    label = {
        "frequency": "feature (rank by selection frequency)",
        "column": "feature (column)",
    }[order]
    assert display.ax_.get_xlabel() == label


def test_named_features_can_stand_as_in_the_data():
    display = SelectionFrequencyDisplay.from_supports(SUPPORTS).plot(order="column")
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [
        "x0",
        "x1",
        "x2",
    ]


def test_names_shrink_to_fit_and_never_overlap():
    _, ax = plt.subplots(figsize=(6, 3.5))
    SelectionFrequencyDisplay.from_supports(np.ones((2, 30), dtype=bool)).plot(ax)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.get_yticklabels()]
    assert len(boxes) == 30
    assert all(upper.y0 >= lower.y1 - 1 for upper, lower in pairwise(boxes))


# -- estimators --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs():
    X, y = make_classification(60, n_features=5, n_informative=2, random_state=0)
    lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
    return StabilityCV(lasso, cv=BootstrapSplit(6, random_state=0)).fit(
        pd.DataFrame(X, columns=list("abcde")), y
    )


def test_fitted_runs_are_those_of_their_summary(runs):
    table = SelectionFrequencyDisplay.from_estimator(runs).frame().set_index("feature")
    summary = runs.summary().loc[table.index]
    columns = ["frequency", "frequency_low", "frequency_high", "selected"]
    np.testing.assert_allclose(
        table[["frequency", "low", "high", "selected"]].astype(float),
        summary[columns].astype(float),
    )


def test_a_consensus_draws_its_threshold(runs):
    assert SelectionFrequencyDisplay.from_estimator(runs).threshold is None
    consensus = StabilityCV(
        runs.estimator, cv=runs.cv, support="consensus", threshold=0.7
    )
    X, y = make_classification(60, n_features=5, n_informative=2, random_state=0)
    display = SelectionFrequencyDisplay.from_estimator(
        make_pipeline(consensus).fit(X, y)
    )
    assert display.threshold == 0.7
    table = display.frame()
    np.testing.assert_array_equal(table["selected"], table["frequency"] >= 0.7)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"frequencies": [0.5, 1.5]},
            "frequencies must be a list of shares from 0 to 1",
        ),
        ({"frequencies": [[0.5]]}, "frequencies must be a list of shares from 0 to 1"),
        ({"n_runs": 0}, "n_runs must be an int of at least 1"),
        ({"threshold": 1.5}, "threshold must be a number from 0 to 1"),
        ({"n_runs": None}, "n_runs must be an int of at least 1"),
        ({"confidence_level": 1}, "confidence_level must be between 0 and 1"),
        ({"selected": [True]}, "selected must be 2 booleans, one for each feature"),
        ({"selected": [0, 1]}, "selected must be 2 booleans, one for each feature"),
        ({"feature_names": ["a"]}, "feature_names must be 2 names"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        SelectionFrequencyDisplay(
            **({"frequencies": [0.5, 1.0], "n_runs": 10} | arguments)
        )

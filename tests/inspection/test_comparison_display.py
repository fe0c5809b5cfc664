"""The forest plot: stabilities and paired differences against the comparison itself."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skstab.inspection import StabilityComparisonDisplay
from skstab.metrics import compare_stability
from skstab.model_selection import BootstrapSplit, compare_selectors


@pytest.fixture(scope="module")
def comparison():
    X, y = make_classification(80, n_features=10, n_informative=3, random_state=0)
    selectors = {
        f"best {k}": make_pipeline(SelectKBest(k=k), LogisticRegression())
        for k in (8, 2, 5)
    }
    return compare_selectors(selectors, X, y, cv=BootstrapSplit(12, random_state=0))


@pytest.fixture(scope="module")
def table(comparison):
    return StabilityComparisonDisplay.from_comparison(comparison).frame()


def test_stabilities_are_those_of_the_comparison_the_most_stable_first(
    comparison, table
):
    above = table[table["kind"] == "stability"].set_index("selector")
    expected = comparison.frame().loc[
        above.index, ["stability", "stability_low", "stability_high"]
    ]
    np.testing.assert_allclose(
        above[["estimate", "low", "high"]].astype(float), expected
    )
    assert (np.diff(above["estimate"]) <= 0).all()
    assert len(above) == 3
    assert above[["reference", "pvalue"]].isna().all(axis=None)


def test_differences_are_paired_and_their_p_values_adjusted(comparison, table):
    below = table[table["kind"] == "difference"]
    assert len(below) == 3
    pvalues = comparison.pvalues("stability")
    for row in below.itertuples():
        first, second = (
            comparison.runs[name].supports_ for name in (row.selector, row.reference)
        )
        found = compare_stability(first, second, paired=True)
        assert (row.estimate, row.low, row.high) == pytest.approx(
            (found.difference, found.low, found.high)
        )
        assert row.pvalue == pytest.approx(pvalues.loc[row.selector, row.reference])
        assert row.estimate >= 0


def test_differences_can_be_those_from_a_reference(comparison):
    below = (
        StabilityComparisonDisplay.from_comparison(comparison, reference="best 5")
        .frame()
        .query("kind != 'stability'")
    )
    assert set(below["reference"]) == {"best 5"}
    assert set(below["selector"]) == {"best 2", "best 8"}


def test_more_than_ten_selectors_are_compared_with_the_most_stable_one():
    X, y = make_classification(60, n_features=12, n_informative=3, random_state=0)
    selectors = {f"best {k}": SelectKBest(k=k) for k in range(1, 12)}
    found = compare_selectors(selectors, X, y, cv=BootstrapSplit(6, random_state=0))
    display = StabilityComparisonDisplay.from_comparison(found).plot()
    table = display.frame()
    assert list(table["kind"]) == ["stability"] * 11 + ["difference"] * 10
    assert set(table["reference"].dropna()) == {table["selector"][0]}
    assert len(display.ax_.get_yticklabels()) == 22
    assert len(display.ax_.texts) == 10


def test_a_comparison_draws_itself_also_in_given_axes(comparison, table):
    _, ax = plt.subplots()
    display = comparison.plot(ax=ax, reference="best 5")
    assert display.ax_ is ax
    assert set(display.frame()["reference"].dropna()) == {"best 5"}
    pd.testing.assert_frame_equal(comparison.plot().frame(), table)


def test_an_unknown_reference_is_named(comparison):
    with pytest.raises(
        ValueError, match=r"reference must be one of the selectors \[.*\], got 'lasso'"
    ):
        StabilityComparisonDisplay.from_comparison(comparison, reference="lasso")


def test_a_measure_for_which_less_is_better_puts_the_least_first():
    X, y = make_classification(80, n_features=10, n_informative=3, random_state=0)
    selectors = {
        f"best {k}": make_pipeline(SelectKBest(k=k), LogisticRegression())
        for k in (5, 2)
    }
    found = compare_selectors(
        selectors, X, y, cv=BootstrapSplit(12, random_state=0), measure="krizek"
    )
    above = (
        StabilityComparisonDisplay.from_comparison(found)
        .frame()
        .query("kind == 'stability'")
    )
    assert (np.diff(above["estimate"]) >= 0).all()


def forest(pvalues=(0.2, 0.0001)):
    rows = [
        ("stability", name, None, value, value - 0.1, value + 0.1, np.nan)
        for name, value in zip("abc", (0.9, 0.8, 0.3), strict=True)
    ]
    rows += [
        ("difference", "a", "b", 0.1, -0.1, 0.3, pvalues[0]),
        ("difference", "a", "c", 0.6, 0.4, 0.8, pvalues[1]),
    ]
    return pd.DataFrame(
        rows,
        columns=["kind", "selector", "reference", "estimate", "low", "high", "pvalue"],
    )


def test_points_and_bars_are_drawn_from_the_table():
    display = StabilityComparisonDisplay(forest(), measure="nogueira").plot()
    above, clear, unclear = display.ax_.containers
    table = display.frame()
    for container, rows, places in (
        (above, [0, 1, 2], [0, 1, 2]),
        (clear, [4], [5]),
        (unclear, [3], [4]),
    ):
        points, _, (bars,) = container.lines
        np.testing.assert_allclose(
            points.get_xdata(orig=False), table.loc[rows, "estimate"]
        )
        np.testing.assert_array_equal(points.get_ydata(orig=False), places)
        np.testing.assert_allclose(
            np.array(bars.get_segments())[:, :, 0], table.loc[rows, ["low", "high"]]
        )
    # A difference that is not clear is hollow, in print as well.
    assert unclear.lines[0].get_markerfacecolor() == "white"
    assert clear.lines[0].get_markerfacecolor() != "white"


def test_lines_are_named_and_p_values_stand_beside_them():
    ax = StabilityComparisonDisplay(forest(), measure="nogueira").plot().ax_
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "a",
        "b",
        "c",
        "",
        "a − b",
        "a − c",
    ]
    assert [(text.get_position()[1], text.get_text()) for text in ax.texts] == [
        (4, "p = 0.200"),
        (5, "p < 0.001"),
    ]
    assert (
        ax.get_xlabel()
        == "stability (nogueira), and its differences\nintervals: resampling error"
    )


def test_selectors_without_differences_are_a_forest_plot_of_their_own():
    ax = StabilityComparisonDisplay(forest()[:3]).plot().ax_
    assert len(ax.containers) == 1
    assert ax.get_xlabel() == "stability\nintervals: resampling error"
    assert not ax.texts


def test_unknown_intervals_have_no_bars():
    table = forest()
    table.loc[0, ["low", "high"]] = np.nan
    bars = StabilityComparisonDisplay(table).plot().ax_.containers[0].lines[2][0]
    assert np.ptp(bars.get_segments()[0][:, 0]) == 0


def test_a_table_without_the_columns_is_refused():
    with pytest.raises(
        ValueError, match=r"table must be a DataFrame .* it lacks \['pvalue'\]"
    ):
        StabilityComparisonDisplay(forest().drop(columns="pvalue"))

"""The raster of supports: dark cells against the tables, and lone cells that must not vanish."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skstab.inspection import SupportRasterDisplay
from skstab.model_selection import BootstrapSplit, StabilityCV, compare_selectors

A = np.array([[1, 0, 0, 1], [1, 0, 0, 1], [0, 0, 1, 1]], dtype=bool)
B = np.array([[0, 1, 0, 1], [0, 1, 0, 0]], dtype=bool)


def picture_of(display):
    return np.asarray(display.ax_.images[0].get_array())


@given(supports=arrays(bool, st.tuples(st.integers(2, 5), st.integers(1, 6))))
@settings(max_examples=30)
def test_the_table_lists_every_selected_cell(supports):
    table = SupportRasterDisplay.from_supports(supports).frame()
    cells = np.zeros_like(supports)
    cells[table["run"].to_numpy(dtype=int), table["column"].to_numpy(dtype=int)] = True
    assert len(table) == supports.sum()
    np.testing.assert_array_equal(cells, supports)
    assert list(table["feature"]) == [f"x{column}" for column in table["column"]]


def test_several_tables_are_stacked_in_their_order():
    display = SupportRasterDisplay.from_supports(
        {"first": A, "second": csr_array(B)}
    ).plot()
    np.testing.assert_array_equal(picture_of(display), np.vstack([A, B]))
    assert display.ax_.images[0].get_extent() == [-0.5, 3.5, 4.5, -0.5]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [
        "first",
        "second",
    ]
    assert list(display.ax_.get_yticks()) == [1.0, 3.5]
    (separator,) = display.ax_.lines
    assert set(separator.get_ydata()) == {2.5}


def test_features_are_named_in_the_order_drawn():
    names = ["a", "b", "c", "d"]
    display = SupportRasterDisplay.from_supports(
        {"1": A, "2": B}, feature_names=names
    ).plot(order="frequency")
    order = [3, 0, 1, 2]  # selected 4, 2, 2 and 1 times
    np.testing.assert_array_equal(picture_of(display), np.vstack([A, B])[:, order])
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == [
        "d",
        "a",
        "b",
        "c",
    ]


def test_the_most_frequent_features_can_stand_as_in_the_data():
    display = SupportRasterDisplay.from_supports({"1": A, "2": B}).plot(top_k=2)
    np.testing.assert_array_equal(picture_of(display), np.vstack([A, B])[:, [0, 3]])


def test_one_table_numbers_its_runs():
    display = SupportRasterDisplay.from_supports(A).plot()
    assert display.ax_.get_ylabel() == "run"
    assert not display.ax_.lines


@pytest.mark.parametrize("column", [0, 777, 4999])
def test_a_lone_cell_among_thousands_of_features_is_seen(column):
    supports = np.zeros((3, 5000), dtype=bool)
    supports[1, column] = True
    display = SupportRasterDisplay.from_supports(supports).plot(top_k=None)
    picture = picture_of(display)
    width = display.ax_.get_window_extent().width
    assert picture.shape[1] <= width / 2 + 1
    assert picture.sum() == 1
    ((row, place),) = np.argwhere(picture)
    assert row == 1
    assert abs(place - column * picture.shape[1] / 5000) <= 1
    assert display.ax_.get_xlabel() == "feature (column)"


def test_a_lone_cell_among_thousands_of_features_is_more_than_nothing_on_paper():
    supports = np.zeros((3, 5000), dtype=bool)
    supports[1, 2500] = True
    display = SupportRasterDisplay.from_supports(supports).plot(top_k=None)
    display.figure_.canvas.draw()
    box = display.ax_.get_window_extent()
    pixels = np.asarray(display.figure_.canvas.buffer_rgba())[::-1, :, 0]
    inside = pixels[
        int(box.y0) + 5 : int(box.y1) - 5, int(box.x0) + 5 : int(box.x1) - 5
    ]
    assert (inside < 128).any()


def test_numbers_of_a_few_among_many_features_are_not_taken_for_columns():
    rng = np.random.default_rng(0)
    display = SupportRasterDisplay.from_supports(rng.random((4, 500)) < 0.5)
    assert (
        display.plot(top_k=300).ax_.get_xlabel()
        == "the 300 most frequent of 500 features"
    )
    assert (
        display.plot(order="frequency", top_k=None).ax_.get_xlabel()
        == "feature (rank by selection frequency)"
    )


def test_of_many_features_the_frequent_ones_are_named_and_the_others_counted():
    rng = np.random.default_rng(0)
    supports = rng.random((6, 2000)) < np.r_[np.full(30, 0.9), np.full(1970, 0.01)]
    display = SupportRasterDisplay.from_supports(
        {"a": supports[:4], "b": csr_array(supports[4:])}
    ).plot()
    *names, others = [text.get_text() for text in display.ax_.get_xticklabels()]
    drawn = [int(name[1:]) for name in names]
    assert len(drawn) == 40
    assert set(range(30)) < set(drawn)
    np.testing.assert_array_equal(picture_of(display), supports[:, drawn])
    counts = np.delete(supports, drawn, axis=1).sum(axis=1)
    lengths = np.array([bar.get_width() for bar in display.ax_.patches])
    np.testing.assert_allclose(lengths / lengths.max(), counts / counts.max())
    assert others == f"≤ {counts.max()} of 1960 others"


def test_names_are_left_out_of_axes_that_are_too_small():
    _, ax = plt.subplots(figsize=(2, 2))
    display = SupportRasterDisplay.from_supports(np.ones((2, 30), dtype=bool)).plot(ax)
    assert display.ax_.get_xlabel() == "feature (column)"
    display = SupportRasterDisplay.from_supports(np.ones((2, 30), dtype=bool)).plot()
    assert display.ax_.get_xlabel() == "feature"
    assert len(display.ax_.get_xticks()) == 30


def test_short_names_lie_and_long_ones_stand():
    supports = np.ones((2, 5), dtype=bool)
    short = SupportRasterDisplay.from_supports(
        supports, feature_names=list("abcde")
    ).plot()
    assert short.ax_.get_xticklabels()[0].get_rotation() == 0
    long = SupportRasterDisplay.from_supports(
        supports, feature_names=[f"{i} of a long name" * 3 for i in range(5)]
    )
    assert long.plot().ax_.get_xticklabels()[0].get_rotation() == 90


def test_runs_that_select_nothing_are_white():
    display = SupportRasterDisplay.from_supports(np.zeros((3, 4), dtype=bool))
    assert display.frame().empty
    assert not picture_of(display.plot()).any()


def test_fitted_runs_and_comparisons_are_shown_with_the_names_of_the_data():
    X, y = make_classification(60, n_features=5, n_informative=2, random_state=0)
    X = pd.DataFrame(X, columns=list("abcde"))
    selectors = {
        f"best {k}": make_pipeline(SelectKBest(k=k), LogisticRegression())
        for k in (1, 3)
    }
    comparison = compare_selectors(
        selectors, X, y, cv=BootstrapSplit(4, random_state=0)
    )
    display = SupportRasterDisplay.from_comparison(comparison).plot()
    stacked = np.vstack([runs.supports_ for runs in comparison.runs.values()])
    np.testing.assert_array_equal(picture_of(display), stacked)
    runs = comparison.runs["best 3"]
    assert isinstance(runs, StabilityCV)
    table = SupportRasterDisplay.from_estimator(runs).frame()
    assert len(table) == 12
    assert set(table["feature"]) <= set("abcde")


def test_tables_must_have_the_same_features():
    with pytest.raises(
        ValueError,
        match=r"supports must all have the same features, got tables of \[3, 4\] columns",
    ):
        SupportRasterDisplay.from_supports({"a": A, "b": B[:, :3]})


def test_an_empty_dict_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        SupportRasterDisplay.from_supports({})


def test_the_order_is_checked():
    with pytest.raises(
        ValueError, match="order must be 'column' or 'frequency', got 'rank'"
    ):
        SupportRasterDisplay.from_supports(A).plot(order="rank")


@pytest.mark.parametrize("top_k", [0, -1, 1.5, True])
def test_the_number_of_features_is_checked(top_k):
    with pytest.raises(ValueError, match="top_k must be an int of at least 1"):
        SupportRasterDisplay.from_supports(A).plot(top_k=top_k)

"""Profiles: curves, bands and baselines against the table."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectKBest

from skstab.inspection import StabilityProfileDisplay
from skstab.model_selection import BootstrapSplit, stability_profile


def profile(sizes=(1, 5, 30), shift=0.0):
    n = len(sizes)
    columns = {
        "stability": np.linspace(0.3, 0.6, n) + shift,
        "low": np.full(n, 0.2),
        "high": np.full(n, 0.9),
    }
    return pd.DataFrame(
        {**columns, "random": np.linspace(0, 0.1, n)},
        index=pd.Index(sizes, name="size"),
    )


def test_the_table_holds_the_profiles_one_after_the_other():
    display = StabilityProfileDisplay.from_profile(
        {"lasso": profile(), "filter": profile(shift=0.1)}
    )
    table = display.frame()
    assert list(table["selector"]) == ["lasso"] * 3 + ["filter"] * 3
    pd.testing.assert_frame_equal(
        table[3:].drop(columns="selector").set_index("size"), profile(shift=0.1)
    )


def test_sizes_are_drawn_in_increasing_order():
    table = StabilityProfileDisplay.from_profile(profile(sizes=(30, 1, 5))).frame()
    assert list(table["size"]) == [1, 5, 30]


def test_curves_bands_and_baselines_are_drawn_from_the_table():
    display = StabilityProfileDisplay.from_profile(
        {"a": profile(), "b": profile(shift=0.1)}, measure="jaccard"
    ).plot()
    parts = [part for _, part in display.frame().groupby("selector")]
    lines = display.ax_.lines
    for line, (part, column) in zip(
        lines,
        [(part, column) for column in ("random", "stability") for part in parts],
        strict=True,
    ):
        np.testing.assert_allclose(line.get_xydata(), part[["size", column]])
    for band, part in zip(display.ax_.collections, parts, strict=True):
        points = {tuple(point) for point in band.get_paths()[0].vertices.round(6)}
        for column in ("low", "high"):
            assert {
                tuple(point)
                for point in part[["size", column]].to_numpy(dtype=float).round(6)
            } <= points
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [
        "a",
        "b",
        "random",
    ]
    assert (
        display.ax_.get_ylabel() == "stability (jaccard)\nintervals: resampling error"
    )


def test_curves_differ_in_more_than_colour():
    display = StabilityProfileDisplay.from_profile(
        {"a": profile(), "b": profile()}
    ).plot()
    first, second = display.ax_.lines[2:]
    assert first.get_marker() != second.get_marker()
    assert first.get_linestyle() != second.get_linestyle()


@pytest.mark.parametrize(
    ("sizes", "scale"),
    [((1, 5, 20), "log"), ((10, 15, 20), "linear"), ((7,), "linear")],
)
def test_wide_ranges_of_sizes_are_scaled_by_logarithms(sizes, scale):
    ax = StabilityProfileDisplay.from_profile(profile(sizes=sizes)).plot().ax_
    ax.figure.canvas.draw()
    assert ax.get_xscale() == scale


def test_ticks_of_a_logarithmic_axis_are_plain_numbers():
    ax = StabilityProfileDisplay.from_profile(profile(sizes=(1, 10, 100))).plot().ax_
    ax.figure.canvas.draw()
    assert {"1", "2", "5", "10", "100"} <= {
        text.get_text() for text in ax.get_xticklabels()
    }


def test_a_real_profile_is_taken_as_it_is():
    X, y = make_classification(60, n_features=8, n_informative=2, random_state=0)
    found = stability_profile(
        SelectKBest(k="all"),
        X,
        y,
        sizes=[1, 3],
        cv=BootstrapSplit(4, random_state=0),
        random_state=0,
    )
    table = StabilityProfileDisplay.from_profile(found).plot(legend=False).frame()
    np.testing.assert_allclose(table[["stability", "low", "high", "random"]], found)


@pytest.mark.parametrize("wrong", [profile().drop(columns="random"), [1, 2]])
def test_what_is_no_profile_is_refused(wrong):
    with pytest.raises(
        ValueError, match=r"must be what stability_profile returns, it lacks .*'random'"
    ):
        StabilityProfileDisplay.from_profile({"a": wrong})

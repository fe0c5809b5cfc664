"""What all displays have in common."""

import inspect
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib import rcParams
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline

from skstab.inspection import (
    FeatureStabilityMapDisplay,
    SelectionFrequencyDisplay,
    StabilityComparisonDisplay,
    SupportRasterDisplay,
)
from skstab.inspection._plotting import (
    COLOURS,
    FILLS,
    LINES,
    N_STYLES,
    shorten,
    shorten_all,
)
from skstab.model_selection import BootstrapSplit, StabilityCV
from skstab.runs import Runs
from tests.discovery import displays
from tests.inspection.examples import DISPLAYS, HOSTILE, SUPPORTS

every_display = pytest.mark.parametrize(
    "display", DISPLAYS, ids=lambda display: type(display).__name__
)


def test_every_exported_display_has_an_example():
    assert sorted(type(display).__name__ for display in DISPLAYS) == sorted(displays())


@every_display
def test_a_display_is_made_by_a_constructor_and_gives_a_table_and_a_picture(display):
    assert type(display).__name__.endswith("Display")
    made_by = [name for name in vars(type(display)) if name.startswith("from_")]
    assert made_by
    assert all(
        isinstance(inspect.getattr_static(type(display), name), classmethod)
        for name in made_by
    )
    assert isinstance(display.frame(), pd.DataFrame)
    first, *others = inspect.signature(display.plot).parameters.values()
    assert (first.name, first.default) == ("ax", None)
    assert all(other.kind is inspect.Parameter.KEYWORD_ONLY for other in others)


def texts_of(ax):
    ticks = [*ax.get_xticklabels(), *ax.get_yticklabels()]
    legend = ax.get_legend()
    return [
        *ticks,
        *ax.texts,
        ax.xaxis.label,
        ax.yaxis.label,
        *([] if legend is None else legend.get_texts()),
    ]


@every_display
def test_a_display_draws_into_one_of_several_axes_and_leaves_the_figure_alone(display):
    figure, axes = plt.subplots(2, 2)
    before, engine = dict(rcParams), figure.get_layout_engine()
    display.plot(axes[0, 1])
    assert display.ax_ is axes[0, 1]
    assert display.figure_ is figure
    assert figure.axes == list(axes.ravel())
    assert figure.get_layout_engine() is engine
    assert figure._suptitle is None
    assert dict(rcParams) == before
    assert plt.get_fignums() == [figure.number]
    assert not any(ax.has_data() for ax in axes.ravel()[[0, 2, 3]])


@every_display
def test_a_display_draws_into_a_subfigure(display):
    figure = plt.figure(layout="constrained")
    ax = figure.subfigures(1, 2)[1].subplots()
    assert display.plot(ax).ax_ is ax
    figure.canvas.draw()


@every_display
def test_a_figure_of_its_own_says_what_it_shows_and_nothing_is_cut_off(display):
    assert display.plot() is display
    assert display.ax_.figure is display.figure_
    assert plt.fignum_exists(display.figure_.number)
    display.figure_.canvas.draw()
    page, box = display.figure_.bbox, display.ax_.get_tightbbox()
    assert (
        min(box.x0 - page.x0, box.y0 - page.y0, page.x1 - box.x1, page.y1 - box.y1) > -1
    )
    assert display.ax_.get_xlabel()
    # The lines of a forest plot are named one by one.
    assert display.ax_.get_ylabel() or isinstance(display, StabilityComparisonDisplay)


@every_display
def test_hostile_names_are_drawn_as_they_are_and_stay_off_neighbours(display):
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for ax in axes:
        display.plot(ax)
    figure.canvas.draw()
    left, right = (ax.get_tightbbox() for ax in axes)
    assert left.x1 <= right.x0 + 1
    names = [text for text in texts_of(display.ax_) if "$" in text.get_text()]
    assert names
    assert not any(text.get_parse_math() for text in names)


@every_display
def test_a_display_with_intervals_says_what_they_are_about(display):
    table = display.frame()
    ends = [
        name
        for name in table
        if str(name).endswith("low") and table[name].notna().any()
    ]
    said = " ".join(text.get_text() for text in texts_of(display.plot().ax_))
    assert bool(ends) == ("resampling error" in said)
    # Only independent halves are about other data.
    assert ("other data" in said) == ("halves" in set(table.get("kind", [])))


@every_display
def test_what_are_no_axes_is_refused(display):
    _, axes = plt.subplots(1, 2)
    with pytest.raises(
        TypeError, match="ax must be matplotlib Axes or None, got ndarray"
    ):
        display.plot(axes)


def test_empty_names_are_no_obstacle():
    display = SupportRasterDisplay.from_supports(
        SUPPORTS, feature_names=[""] * len(HOSTILE)
    ).plot()
    assert display.ax_.get_xlabel() == "feature"


@every_display
def test_the_frame_is_a_fresh_table_each_time(display):
    first = display.frame()
    columns = list(first)
    del first[columns[0]]
    assert list(display.frame()) == columns


@every_display
def test_frames_keep_full_names(display):
    table = display.frame()
    if "feature" in table:
        assert set(table["feature"]) <= set(HOSTILE)


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "display",
    [FeatureStabilityMapDisplay, SelectionFrequencyDisplay, SupportRasterDisplay],
)
def test_runs_and_what_holds_them_are_drawn_alike(display):
    X, y = load_iris(return_X_y=True, as_frame=True)
    fitted = StabilityCV(SelectKBest(k=2), cv=BootstrapSplit(5, random_state=0)).fit(
        X, y
    )
    expected = display.from_estimator(fitted).frame()
    assert set(expected["feature"]) <= set(X.columns)
    for source in (
        fitted.runs_,
        make_pipeline(fitted),
        Runs.concat([fitted.runs_.take([0, 1]), fitted.runs_.take([2, 3, 4])]),
    ):
        pd.testing.assert_frame_equal(display.from_estimator(source).frame(), expected)


# -- without matplotlib ------------------------------------------------------------------------------------------------


def test_without_matplotlib_only_plotting_fails_and_says_what_to_install():
    code = """
    import sys
    sys.modules["matplotlib"] = None
    from tests.inspection.examples import DISPLAYS

    for display in DISPLAYS:
        assert len(display.frame())
        try:
            display.plot()
        except ImportError as error:
            print(error)
    """
    top = Path(__file__).parents[2]
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=top)
    assert done.stdout.splitlines() == [
        "plot() needs matplotlib: pip install matplotlib"
    ] * len(DISPLAYS)


# -- names and styles --------------------------------------------------------------------------------------------------


def test_long_names_lose_their_middle():
    assert shorten("abcdefghij", 10) == "abcdefghij"
    assert shorten("abcdefghijk", 10) == "abcde…hijk"
    assert shorten("abcdefghijkl", 9) == "abcd…ijkl"
    assert shorten("two\n  lines") == "two lines"
    assert shorten(3) == "3"


@pytest.mark.parametrize("styles", [FILLS, LINES], ids=["fills", "lines"])
def test_styles_are_distinct_and_neighbours_differ_in_more_than_colour(styles):
    assert len(styles) == N_STYLES == len({tuple(style.items()) for style in styles})
    second = "hatch" if "hatch" in styles[0] else "linestyle"
    assert all(a[second] != b[second] for a, b in pairwise(styles))


def lightness(colour):
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return channels @ [0.299, 0.587, 0.114]


def test_neighbouring_colours_differ_in_grey():
    shades = [lightness(colour) for colour in COLOURS]
    assert np.abs(np.diff(shades)).min() > 0.05


def test_long_names_stay_apart():
    names = [
        f"Serum concentration of interleukin {i} measured at the second visit (pg/mL), log2"
        for i in range(12)
    ]
    labels = shorten_all([*names, "age", "age"], 24)
    assert len(set(labels[:12])) == 12
    assert all(len(label) <= 24 for label in labels)
    assert all(
        f" {i} " in f" {label.strip('…')} " for i, label in enumerate(labels[:12])
    )
    assert labels[12:] == ["age", "age"]


def test_long_names_that_differ_at_an_end_keep_both():
    assert shorten_all(["a" * 30 + "1", "a" * 30 + "2"], 11) == [
        "aaaaa…aaaa1",
        "aaaaa…aaaa2",
    ]


def test_names_of_one_long_word_begin_where_they_differ():
    left, right = (f"{'x' * 40}{letter}{'y' * 40}" for letter in "ab")
    assert shorten_all([left, right], 10) == [
        "…a" + "y" * 7 + "…",
        "…b" + "y" * 7 + "…",
    ]

"""The picture of substitutes and companions."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectKBest

from skstab.inspection import CoSelectionDisplay, co_selection
from skstab.inspection._plotting import COLOURS
from skstab.model_selection import BootstrapSplit, StabilityCV
from skstab.runs import Runs


def example(n_pairs=2, n_others=1, n_runs=80):
    """Pairs of which one is selected in each run, a feature that goes with the first of all, and others."""
    rng = np.random.default_rng(0)
    first = rng.random((n_runs, n_pairs)) < 0.5
    pairs = np.stack([first, ~first], axis=2).reshape(n_runs, -1)
    z = np.column_stack([pairs, first[:, 0], rng.random((n_runs, n_others)) < 0.3])
    return Runs(z), np.r_[
        np.repeat(np.arange(n_pairs), 2), n_pairs + np.arange(1 + n_others)
    ]


def picture_of(display):
    return display.ax_.images[0].get_array()


def is_towards(cell, colour):
    """Whether a cell is a mixture of white and a colour."""
    strength = (1 - np.asarray(cell)) / (1 - np.array(to_rgb(colour)))
    return np.ptp(strength) < 1e-6 and 0.4 < strength.mean() < 1.001


def test_substitutes_and_companions_have_their_colours():
    runs, _ = example()
    display = CoSelectionDisplay.from_runs(runs).plot()
    names = [label.get_text() for label in display.ax_.get_xticklabels()]
    cells = {
        (a, b): picture_of(display)[i, j]
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    }
    assert is_towards(cells["x0", "x1"], COLOURS[4])
    assert is_towards(cells["x1", "x0"], COLOURS[4])
    assert is_towards(cells["x0", "x4"], COLOURS[0])
    assert is_towards(cells["x1", "x4"], COLOURS[4])
    np.testing.assert_allclose(cells["x0", "x2"], 1)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [
        "substitutes",
        "companions",
        "frequency",
    ]


def test_clusters_are_framed_and_their_members_stand_together():
    runs, groups = example()
    display = CoSelectionDisplay.from_runs(runs, groups=groups).plot()
    frames = [patch for patch in display.ax_.patches if isinstance(patch, Rectangle)]
    assert [frame.get_width() for frame in frames] == [2, 2]
    names = [label.get_text() for label in display.ax_.get_xticklabels()]
    for frame in frames:
        start = int(frame.get_x() + 0.5)
        assert {int(name[1:]) // 2 for name in names[start : start + 2]} in ({0}, {1})


def test_features_in_pairs_come_first():
    runs, _ = example(n_others=30)
    display = CoSelectionDisplay.from_runs(runs).plot(top_k=5)
    assert {label.get_text() for label in display.ax_.get_xticklabels()} == {
        f"x{number}" for number in range(5)
    }
    assert display.ax_.get_ylabel() == "5 of 35 features"


@pytest.mark.parametrize("clusters", [False, True])
def test_of_many_pairs_the_clearest_are_drawn_whole_and_side_by_side(clusters):
    rng = np.random.default_rng(0)
    often = rng.random((200, 10)) < 0.6
    flipped = (
        rng.random((200, 10)) < 0.1
    )  # companions that are selected more often, but do not always go together
    first = rng.random((200, 4)) < 0.3
    other = ~first & (rng.random((200, 4)) < 0.6)
    runs = Runs(np.column_stack([often, often ^ flipped, first, other, ~first[:, :1]]))
    groups = (
        np.r_[np.tile(np.arange(10), 2), 10 + np.tile(np.arange(4), 2), 10]
        if clusters
        else None
    )
    display = CoSelectionDisplay.from_runs(runs, groups=groups)
    clearest = display.frame()[["column", "other_column"]].to_numpy()
    assert clearest[0].tolist() == [20, 28]
    names = [label.get_text() for label in display.plot(top_k=6).ax_.get_xticklabels()]
    assert len(names) == 6
    assert "x20" in names[:2]
    assert "x28" in names[:2]
    for a, b in zip(names[2::2], names[3::2], strict=True):
        assert abs(int(a[1:]) - int(b[1:])) in (4, 10)


@pytest.mark.parametrize(("n_pairs", "named"), [(4, True), (95, False)])
def test_ten_features_are_named_and_two_hundred_are_numbered(n_pairs, named):
    runs, groups = example(n_pairs, n_others=5, n_runs=60)
    display = CoSelectionDisplay.from_runs(runs, groups=groups).plot(top_k=None)
    display.figure_.canvas.draw()
    assert (
        any(label.get_text().startswith("x") for label in display.ax_.get_yticklabels())
        == named
    )
    box = display.ax_.get_window_extent()
    assert box.width / picture_of(display).shape[0] > 2  # pixels of a cell


def test_runs_without_anything_that_comes_and_goes_are_drawn_too():
    display = CoSelectionDisplay.from_runs(
        Runs(np.ones((5, 3), dtype=bool)), groups=[0, 0, 1]
    ).plot()
    assert [text.get_text() for text in display.ax_.texts] == [
        "no feature comes and goes"
    ]
    assert display.frame().empty


def test_the_frame_is_that_of_the_tests():
    runs, _ = example()
    assert (
        CoSelectionDisplay.from_runs(runs, level=0.5)
        .frame()
        .equals(co_selection(runs, level=0.5).frame())
    )


def test_results_and_estimators_are_drawn():
    X, y = load_iris(return_X_y=True)
    cv = StabilityCV(SelectKBest(k=1), cv=BootstrapSplit(30, random_state=0)).fit(X, y)
    _, ax = plt.subplots()
    assert CoSelectionDisplay(co_selection(cv)).plot(ax).ax_ is ax
    assert "correlation" in CoSelectionDisplay.from_estimator(cv, X, level=0.9).frame()


def test_what_is_not_a_co_selection_is_refused():
    with pytest.raises(TypeError, match="found must be a CoSelection, got Runs"):
        CoSelectionDisplay(Runs([[1, 0], [0, 1]]))

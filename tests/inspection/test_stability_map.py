"""The feature stability map: rectangles against a loop over runs, and what is drawn against the table."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from skstab.inspection import FeatureStabilityMapDisplay
from skstab.inspection._plotting import FILLS, PALE
from skstab.metrics import (
    importance_weighted_stability,
    nogueira_stability,
    pearson_stability,
)
from skstab.model_selection import BootstrapSplit, StabilityCV

IMPORTANCES = np.array(
    [[3.0, 1.0, 0.0, 0.0], [2.0, 0.0, -2.0, 0.0], [4.0, 4.0, 0.0, 0.0]]
)


def rectangles_of(ax):
    """Bounds (left, right, top, bottom) of all rectangles by colour."""
    found = {}
    for collection in ax.collections:
        corners = [path.vertices for path in collection.get_paths()]
        bounds = [
            (c[:, 0].min(), c[:, 0].max(), c[:, 1].min(), c[:, 1].max())
            for c in corners
        ]
        found[to_hex(collection.get_facecolor()[0])] = sorted(
            bounds, key=lambda bound: bound[2]
        )
    return found


def brute_rows(importances, supports):
    """Rectangles by a loop: (run, column, share, left)."""
    n_runs, d = importances.shape
    shares = [
        [abs(v) / sum(abs(row)) if v else 0.0 for v in row] for row in importances
    ]
    frequency = [sum(supports[:, f]) for f in range(d)]
    importance = [sum(share[f] for share in shares) for f in range(d)]
    order = sorted(range(d), key=lambda f: (-frequency[f], -round(importance[f], 9), f))
    rows = []
    for run in range(n_runs):
        left = 0.0
        for f in order:
            if importances[run, f]:
                rows.append((run, f, shares[run][f], left))
                left += shares[run][f]
    return rows


importance_tables = st.tuples(st.integers(2, 5), st.integers(1, 6)).flatmap(
    lambda shape: arrays(
        float, shape, elements=st.sampled_from([0.0, 0.0, 1.0, -2.0, 3.5])
    )
)


@given(importances=importance_tables)
@settings(max_examples=40)
def test_rectangles_are_those_of_a_loop(importances):
    table = FeatureStabilityMapDisplay.from_importances(importances).frame()
    expected = brute_rows(importances, importances != 0)
    got = list(table[["run", "column"]].itertuples(index=False, name=None))
    assert got == [row[:2] for row in expected]
    np.testing.assert_allclose(
        table[["share", "left"]],
        np.reshape([row[2:] for row in expected], (-1, 2)),
        atol=1e-12,
    )


def test_the_order_follows_selection_even_without_an_importance():
    supports = np.array([[1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1]])
    table = FeatureStabilityMapDisplay.from_importances(
        IMPORTANCES, supports=supports
    ).frame()
    assert table.drop_duplicates("column").set_index("column")[
        "frequency"
    ].to_dict() == {0: 1.0, 1: 2 / 3, 2: 2 / 3}
    # Column 3 is always selected, but has no importance in any run.
    assert table.set_index("column")["rank"].to_dict() == {0: 0, 1: 2, 2: 3}


def test_dense_sparse_and_data_frames_give_the_same_table():
    names = list("abcd")
    dense = FeatureStabilityMapDisplay.from_importances(
        IMPORTANCES, feature_names=names
    ).frame()
    sparse = FeatureStabilityMapDisplay.from_importances(
        csr_array(IMPORTANCES), feature_names=names
    ).frame()
    framed = FeatureStabilityMapDisplay.from_importances(
        pd.DataFrame(IMPORTANCES, columns=names)
    ).frame()
    pd.testing.assert_frame_equal(dense, sparse)
    pd.testing.assert_frame_equal(dense, framed)


def test_rectangles_are_drawn_where_the_table_says():
    display = FeatureStabilityMapDisplay.from_importances(IMPORTANCES).plot()
    drawn = rectangles_of(display.ax_)
    assert len(drawn) == 3
    for rank, part in display.frame().groupby("rank"):
        expected = [
            (r.left, r.left + r.share, r.run - 0.5, r.run + 0.5)
            for r in part.itertuples()
        ]
        np.testing.assert_allclose(drawn[FILLS[rank]["facecolor"].lower()], expected)
    assert display.ax_.get_ylim() == (2.5, -0.5)


def test_features_beyond_the_colours_share_one_grey_rectangle_a_run():
    importances = [[2.0, 1.0, 1.0, 0.0], [2.0, 0.0, 2.0, 4.0], [4.0, 4.0, 0.0, 0.0]]
    display = FeatureStabilityMapDisplay.from_importances(importances).plot(n_colours=1)
    drawn = rectangles_of(display.ax_)
    assert set(drawn) == {FILLS[0]["facecolor"].lower(), PALE.lower()}
    np.testing.assert_allclose(
        drawn[PALE.lower()],
        [(0.5, 1, -0.5, 0.5), (0.25, 1, 0.5, 1.5), (0.5, 1, 1.5, 2.5)],
    )
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [
        "x0",
        "3 others",
    ]


def test_thousands_of_features_need_few_artists_and_names():
    rng = np.random.default_rng(0)
    importances = rng.random((20, 5000)) * (rng.random((20, 5000)) < 0.1)
    display = FeatureStabilityMapDisplay.from_importances(importances).plot()
    assert len(display.ax_.collections) == 15
    assert all(isinstance(artist, PolyCollection) for artist in display.ax_.collections)
    assert len(display.ax_.get_legend().get_texts()) == 15


def test_names_that_do_not_fit_beside_small_axes_are_left_out():
    _, ax = plt.subplots(figsize=(6, 1.5))
    importances = np.eye(28) + 1
    legend = (
        FeatureStabilityMapDisplay.from_importances(importances)
        .plot(ax, n_colours=28)
        .ax_.get_legend()
    )
    assert 5 <= len(legend.get_texts()) < 28
    assert legend.get_window_extent().height <= ax.get_window_extent().height * 1.2


def test_the_title_gives_the_three_stabilities_if_asked():
    display = FeatureStabilityMapDisplay.from_importances(IMPORTANCES)
    assert not display.plot().ax_.get_title()
    title = display.plot(measures=True).ax_.get_title()
    weights = np.abs(IMPORTANCES)
    values = [
        nogueira_stability(weights != 0),
        pearson_stability(weights),
        importance_weighted_stability(weights),
    ]
    assert [float(part.rpartition("= ")[2]) for part in title.split(", ")] == [
        round(value, 2) for value in values
    ]


def test_the_legend_can_be_left_out():
    assert (
        FeatureStabilityMapDisplay.from_importances(IMPORTANCES)
        .plot(legend=False)
        .ax_.get_legend()
        is None
    )


def test_a_run_without_importances_is_an_empty_row():
    display = FeatureStabilityMapDisplay.from_importances([[0, 0], [1, 1], [0, 0]])
    assert set(display.frame()["run"]) == {1}
    assert display.plot().ax_.get_ylim() == (2.5, -0.5)


def test_runs_without_any_importances_are_an_empty_map():
    display = FeatureStabilityMapDisplay.from_importances(np.zeros((2, 3)))
    assert display.frame().empty
    assert not display.plot().ax_.collections


# -- estimators --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(60, n_features=5, n_informative=2, random_state=0)
    return pd.DataFrame(X, columns=list("abcde")), y


def test_fitted_runs_are_mapped_with_the_names_of_the_data(data):
    runs = StabilityCV(
        LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0),
        cv=BootstrapSplit(5, random_state=0),
    ).fit(*data)
    table = FeatureStabilityMapDisplay.from_estimator(runs).frame()
    by_hand = FeatureStabilityMapDisplay.from_importances(
        runs.importances_, supports=runs.supports_, feature_names=list("abcde")
    )
    pd.testing.assert_frame_equal(table, by_hand.frame())
    assert set(table["feature"]) <= set("abcde")


def test_without_importances_selected_features_share_a_row_equally(data):
    selector = SequentialFeatureSelector(GaussianNB(), n_features_to_select=2, cv=2)
    runs = StabilityCV(selector, cv=BootstrapSplit(3, random_state=0)).fit(*data)
    assert runs.importances_ is None
    table = FeatureStabilityMapDisplay.from_estimator(runs).frame()
    assert set(table["share"]) == {0.5}
    assert len(table) == 6


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_what_is_no_fitted_run_is_refused():
    with pytest.raises(
        TypeError,
        match="estimator must be Runs, a fitted StabilityCV or contain one, got GaussianNB",
    ):
        FeatureStabilityMapDisplay.from_estimator(GaussianNB())


def test_names_must_be_as_many_as_columns():
    with pytest.raises(
        ValueError, match="feature_names must be 4 names, one for each column, got 2"
    ):
        FeatureStabilityMapDisplay.from_importances(
            IMPORTANCES, feature_names=["a", "b"]
        )


def test_supports_must_fit_the_importances():
    with pytest.raises(ValueError, match="supports must have the shape of importances"):
        FeatureStabilityMapDisplay.from_importances(
            IMPORTANCES, supports=[[1, 0], [1, 1]]
        )


@pytest.mark.parametrize("n_colours", [0, 29, 2.5, True, None])
def test_the_number_of_colours_is_checked(n_colours):
    with pytest.raises(ValueError, match="n_colours must be an int from 1 to 28"):
        FeatureStabilityMapDisplay.from_importances(IMPORTANCES).plot(
            n_colours=n_colours
        )


# -- several maps ------------------------------------------------------------------------------------------------------


def looks_of(display):
    """Colour and hatch of each feature that the legend names."""
    handles = display.ax_.get_legend().legend_handles
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    looks = [(to_hex(handle.get_facecolor()), handle.get_hatch()) for handle in handles]
    return dict(zip(names, looks, strict=True))


def test_a_feature_has_the_same_colour_in_maps_that_are_alike():
    rng = np.random.default_rng(0)
    first = FeatureStabilityMapDisplay.from_importances(
        rng.random((5, 40)) * np.arange(40, 0, -1)
    )
    reverse = rng.random((5, 40)) * np.arange(1, 41) * (np.arange(40) > 6)
    second = FeatureStabilityMapDisplay.from_importances(reverse, like=first)
    third = FeatureStabilityMapDisplay.from_importances(
        rng.random((5, 40)), like=second
    )
    looks = [looks_of(display.plot()) for display in (first, second, third)]
    for mine, others in ((looks[1], looks[0]), (looks[2], looks[1])):
        shared = [name for name in mine if name in others and name.startswith("x")]
        assert all(mine[name] == others[name] for name in shared)
    for mine in looks:
        assert len(set(mine.values())) == len(mine) == 15
    assert "26 others" in looks[0]
    assert "19 others" in looks[1]


@pytest.mark.parametrize("n_colours", [1, 28])
def test_colours_that_the_other_map_used_up_are_used_again(n_colours):
    left, right = np.eye(60)[:30], np.eye(60)[30:]
    first = FeatureStabilityMapDisplay.from_importances(left)
    display = FeatureStabilityMapDisplay.from_importances(right, like=first).plot(
        n_colours=n_colours
    )
    assert len(set(looks_of(display).values())) == n_colours + 1


def test_only_a_map_can_give_its_colours():
    with pytest.raises(
        TypeError, match="like must be a FeatureStabilityMapDisplay or None, got str"
    ):
        FeatureStabilityMapDisplay.from_importances(IMPORTANCES, like="first")

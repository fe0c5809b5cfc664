"""Stability paths: the table, named and unnamed lines, and the direction of the axis."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from sklearn.base import BaseEstimator
from sklearn.datasets import make_regression
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Lasso

from skstab import StabilityCV
from skstab.feature_selection import StabilitySelection
from skstab.inspection import StabilityPathDisplay

PATH = np.array([[0.2, 0.9, 1.0], [0.0, 0.1, 0.4], [0.1, 0.8, 0.7], [0.0, 0.0, 0.2]])
ALPHAS = [1.0, 0.1, 0.01]


class Selection(BaseEstimator):
    """The fitted attributes of a stability selection."""

    def __init__(self, param_name="auto", threshold=0.75):
        self.param_name = param_name
        self.threshold = threshold

    def fit(self):
        self.selection_path_, self.param_values_, self.param_name_ = (
            PATH,
            np.array(ALPHAS),
            "alpha",
        )
        self.threshold_ = 0.8
        self.feature_names_in_ = np.array(["a", "b", "c", "d"], dtype=object)
        return self

    def get_support(self):
        return self.selection_path_.max(axis=1) >= self.threshold_


def test_the_table_holds_every_probability():
    table = StabilityPathDisplay.from_path(PATH, ALPHAS, threshold=0.75).frame()
    assert len(table) == PATH.size
    for row in table.itertuples():
        assert row.probability == PATH[row.column, ALPHAS.index(row.value)]
        assert row.selected == (row.column in (0, 2))
        assert row.feature == f"x{row.column}"


def test_selected_paths_are_named_and_the_others_are_one_pale_bundle():
    display = StabilityPathDisplay.from_path(
        PATH, ALPHAS, threshold=0.75, feature_names=list("abcd")
    ).plot()
    first, second, threshold = display.ax_.lines
    for line, row in ((first, 0), (second, 2)):
        np.testing.assert_allclose(
            line.get_xydata(), np.column_stack([ALPHAS, PATH[row]])[::-1]
        )
    assert set(threshold.get_ydata()) == {0.75}
    (bundle,) = display.ax_.collections
    assert isinstance(bundle, LineCollection)
    np.testing.assert_allclose(
        [segment[::-1, 1] for segment in bundle.get_segments()], PATH[[1, 3]]
    )
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [
        "a",
        "c",
        "2 not selected",
    ]


def test_the_least_probable_of_many_selected_paths_are_not_named():
    display = StabilityPathDisplay.from_path(PATH, ALPHAS, threshold=0.3).plot(
        n_named=1
    )
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["x0", "2 more selected", "1 not selected"]
    assert [len(bundle.get_segments()) for bundle in display.ax_.collections] == [2, 1]


def test_thousands_of_paths_are_few_artists():
    rng = np.random.default_rng(0)
    display = StabilityPathDisplay.from_path(
        rng.random((5000, 10)), np.linspace(1, 2, 10), threshold=0.99
    ).plot()
    assert len(display.ax_.lines) == 15
    assert len(display.ax_.collections) == 2
    assert all(
        bundle.get_rasterized()
        for bundle in display.ax_.collections
        if len(bundle.get_segments()) > 200
    )


@pytest.mark.parametrize(
    ("values", "inverted"), [(ALPHAS, True), ([1.0, 10.0, 100.0], False)]
)
def test_regularisation_weakens_from_left_to_right(values, inverted):
    ax = StabilityPathDisplay.from_path(PATH, values, param_name="alpha").plot().ax_
    assert ax.xaxis_inverted() == inverted
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "alpha, from strong to weak"


@pytest.mark.parametrize(
    "values", [[1.0, 2.0, 3.0], [0.0, 1.0, 100.0], [-1.0, 1.0, 100.0]]
)
def test_short_ranges_and_those_with_zero_are_linear(values):
    assert (
        StabilityPathDisplay.from_path(PATH, values).plot().ax_.get_xscale() == "linear"
    )


def test_without_threshold_nothing_is_selected():
    display = StabilityPathDisplay.from_path(PATH, ALPHAS)
    assert not display.frame()["selected"].any()
    assert not display.plot().ax_.lines


def test_a_fitted_selection_gives_names_threshold_and_what_it_selects():
    display = StabilityPathDisplay.from_estimator(Selection().fit())
    assert display.threshold == 0.8
    table = display.frame()
    assert set(table.loc[table["selected"], "feature"]) == {"a", "c"}
    assert display.plot().ax_.get_xlabel() == "alpha, from strong to weak"


def test_a_real_stability_selection_is_shown():
    X, y = make_regression(60, n_features=8, n_informative=2, noise=5, random_state=0)
    X = pd.DataFrame(X, columns=[f"gene {number}" for number in range(8)])
    selection = StabilitySelection(Lasso(), n_resamples=10, efp=1, random_state=0).fit(
        X, y
    )
    display = StabilityPathDisplay.from_estimator(selection).plot()
    table = display.frame()
    paths = table.pivot_table(
        index="feature", columns="value", values="probability"
    ).loc[X.columns]
    np.testing.assert_allclose(
        paths[selection.param_values_], selection.selection_path_
    )
    assert set(table.loc[table["selected"], "feature"]) == set(
        selection.get_feature_names_out()
    )
    assert display.ax_.get_xlabel() == f"{selection.param_name_}, from strong to weak"
    assert display.ax_.xaxis_inverted()


def test_clusters_that_count_once_have_one_path():
    rng = np.random.default_rng(0)
    base = rng.standard_normal((80, 6))
    X = np.repeat(base, 3, axis=1) + 0.3 * rng.standard_normal((80, 18))
    y = base[:, :2].sum(axis=1) + 0.5 * rng.standard_normal(80)
    clusters = np.repeat([7, 3, 9, 1, 4, 5], 3)
    found = StabilitySelection(
        Lasso(), q=3, n_resamples=20, n_values=6, groups=clusters, random_state=0
    ).fit(X, y)
    table = StabilityPathDisplay.from_estimator(found).frame()
    np.testing.assert_array_equal(
        table["probability"].to_numpy().reshape(6, 6), found.group_selection_path_
    )
    kept = found.get_support(indices=True)
    # The picture agrees with its threshold, which applies to clusters.
    assert list(table.groupby("column")["selected"].first()) == list(
        found.group_selection_path_.max(axis=1) >= found.threshold_
    )
    assert [name for name in table["feature"].unique() if ":" in name] == [
        f"{clusters[i]}: x{i}" for i in kept
    ]
    assert list(table["feature"].unique()[2:]) == ["9", "1", "4", "5"]


def test_a_path_of_one_value_is_drawn():
    one = pd.DataFrame(
        {"value": [0.1], "stability": [0.6], "low": [0.5], "high": [0.7]}
    )
    with warnings.catch_warnings(action="error"):
        ax = (
            StabilityPathDisplay.from_path(
                [[0.9], [0.2]], [0.1], threshold=0.75, stability=one
            )
            .plot()
            .ax_
        )
    assert [line.get_marker() for line in ax.lines if line.get_linewidth() == 2.4] == [
        "o"
    ]


def test_rows_of_a_data_frame_name_the_features():
    framed = pd.DataFrame(PATH, index=["a", "b", "c", "d"], columns=ALPHAS)
    assert list(
        StabilityPathDisplay.from_path(framed, ALPHAS).frame()["feature"].unique()
    ) == ["a", "b", "c", "d"]


def test_an_unfitted_selection_is_refused():
    with pytest.raises(NotFittedError):
        StabilityPathDisplay.from_estimator(Selection())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"param_values": [1, 2]},
            "a column for each of the 2 param_values, got shape",
        ),
        (
            {"selection_path": [0.1, 0.2, 0.3]},
            "selection_path must have a row for each feature",
        ),
        ({"threshold": 2}, "threshold must be a number from 0 to 1"),
        ({"selected": [True]}, "selected must be 4 booleans"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        StabilityPathDisplay.from_path(
            **({"selection_path": PATH, "param_values": ALPHAS} | arguments)
        )


def test_another_estimator_is_an_error_that_says_what_was_expected():
    with pytest.raises(
        TypeError,
        match="estimator must be a fitted StabilitySelection, got StabilityCV",
    ):
        StabilityPathDisplay.from_estimator(StabilityCV(None))


# -- many features, and the stability of the selection -----------------------------------------------------------------


def test_of_thousands_of_features_the_top_ones_are_named_also_where_they_are_not_selected():
    paths = np.random.default_rng(0).random((2000, 1)) * 0.5 * np.linspace(0, 1, 10)
    paths[7] = np.linspace(0.1, 1, 10)
    display = StabilityPathDisplay.from_path(
        paths, np.geomspace(1, 0.01, 10), threshold=0.75
    ).plot(n_named=4)
    top = np.argsort(-np.delete(paths.max(axis=1), 7))[:3]
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == [
        "x7",
        "not selected:",
        *(f"x{i + (i >= 7)}" for i in top),
        "1996 others",
    ]
    selected, *others, _ = display.ax_.lines
    assert all(line.get_linewidth() < selected.get_linewidth() for line in others)


STABILITY = pd.DataFrame(
    {
        "value": ALPHAS,
        "stability": [np.nan, 0.8, 0.5],
        "low": [np.nan, 0.7, 0.4],
        "high": [np.nan, 0.9, 0.6],
    }
)


def test_the_stability_of_the_selection_is_drawn_with_its_interval():
    display = StabilityPathDisplay.from_path(
        PATH, ALPHAS, threshold=0.75, stability=STABILITY
    )
    pd.testing.assert_frame_equal(display.frame(kind="stability"), STABILITY)
    ax = display.plot().ax_
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["x0", "x2", "2 not selected", "selection stability"]
    line = next(line for line in ax.lines if line.get_linewidth() == 2.4)
    np.testing.assert_allclose(
        line.get_xydata(), STABILITY[["value", "stability"]].to_numpy()[::-1]
    )
    assert len(ax.collections) == 2
    plain = display.plot(stability=False).ax_
    assert len(plain.collections) == 1


def test_replication_is_drawn_where_it_is_known():
    known = STABILITY.assign(replication=0.3, replication_low=0.1, replication_high=0.5)
    ax = StabilityPathDisplay.from_path(PATH, ALPHAS, stability=known).plot().ax_
    assert [text.get_text() for text in ax.get_legend().get_texts()][-2:] == [
        "selection stability",
        "replication",
    ]
    about = "selection stability: interval about resampling error\nreplication: interval about other data"
    assert ax.get_ylabel() == f"selection probability\n{about}"


def test_agreement_below_chance_is_not_cut_off():
    below = STABILITY.assign(
        replication=[np.nan, 0.3, -0.1], replication_low=-0.4, replication_high=0.5
    )
    ax = StabilityPathDisplay.from_path(PATH, ALPHAS, stability=below).plot().ax_
    assert ax.get_ylim() == pytest.approx((-0.12, 1.02))
    assert StabilityPathDisplay.from_path(
        PATH, ALPHAS, stability=STABILITY
    ).plot().ax_.get_ylim() == (-0.02, 1.02)


def test_without_stability_its_table_is_empty_and_a_wrong_one_is_named():
    assert StabilityPathDisplay.from_path(PATH, ALPHAS).frame(kind="stability").empty
    with pytest.raises(
        ValueError,
        match=r"stability must be a DataFrame with the columns value.*lacks \['low', 'high'\]",
    ):
        StabilityPathDisplay.from_path(
            PATH, ALPHAS, stability=STABILITY[["value", "stability"]]
        )
    with pytest.raises(
        ValueError, match="kind must be 'features' or 'stability', got 'both'"
    ):
        StabilityPathDisplay.from_path(PATH, ALPHAS).frame(kind="both")


def test_a_selection_by_expected_false_positives_has_no_threshold_to_draw():
    X, y = make_regression(60, n_features=8, n_informative=2, noise=5, random_state=0)
    selection = StabilitySelection(Lasso(), n_resamples=10, efp=1, random_state=0).fit(
        X, y
    )
    display = StabilityPathDisplay.from_estimator(selection)
    assert display.threshold is None
    pd.testing.assert_frame_equal(
        display.frame(kind="stability"), selection.stability_path_
    )

"""The map of a calibration: its table, the choice, and the direction of the axis."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Lasso, LogisticRegression

from skstab.feature_selection import StabilityCalibration, StabilitySelection
from skstab.inspection import CalibrationDisplay

SCORES = np.array([[1.0, 2.0, 3.0], [4.0, 9.0, 5.0], [2.0, 1.0, 0.0], [0.0, 0.5, 0.2]])


def calibration(values, sizes=(1, 5, 20, 40)):
    thresholds = np.array([0.6, 0.75, 0.9])
    return StabilityCalibration(
        values[1],
        0.75,
        9.0,
        SCORES,
        SCORES / 10,
        values,
        thresholds,
        np.array(sizes),
        None,
    )


def test_the_table_holds_every_score_and_the_choice():
    values = np.array([1.0, 0.5, 0.1, 0.05])
    table = CalibrationDisplay(calibration(values)).frame()
    assert len(table) == SCORES.size
    for row in table.itertuples():
        place = list(values).index(row.value), [0.6, 0.75, 0.9].index(row.threshold)
        assert (row.score, row.errors) == (SCORES[place], SCORES[place] / 10)
        assert row.chosen == (place == (1, 1))


@pytest.mark.parametrize(
    ("values", "inverted", "scale"),
    [
        ([1.0, 0.5, 0.1, 0.05], True, "log"),
        ([0.1, 1.0, 10.0, 100.0], False, "log"),
        ([0.0, 1.0, 2.0, 3.0], False, "linear"),
    ],
)
def test_cells_lie_around_their_values_and_weaken_from_left_to_right(
    values, inverted, scale
):
    ax = (
        CalibrationDisplay(calibration(np.array(values)), param_name="alpha").plot().ax_
    )
    assert (ax.xaxis_inverted(), ax.get_xscale(), ax.get_xlabel()) == (
        inverted,
        scale,
        "alpha, from strong to weak",
    )
    mesh = ax.collections[0]
    np.testing.assert_array_equal(
        np.asarray(mesh.get_array()).reshape(3, 4), SCORES[np.argsort(values)].T
    )
    edges = mesh.get_coordinates()[0, :, 0]
    assert (edges[:-1] < np.sort(values)).all()
    assert (edges[1:] > np.sort(values)).all()
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[values[1], 0.75]])


def test_cells_that_a_cap_excludes_are_pale():
    found = calibration(np.array([1.0, 0.5, 0.1, 0.05]))
    assert len(CalibrationDisplay(found).plot().ax_.collections) == 1
    ax = CalibrationDisplay(found._replace(pfer=0.25)).plot().ax_
    veil = np.ma.getmaskarray(ax.collections[1].get_array()).reshape(3, 4)
    np.testing.assert_array_equal(~veil, (SCORES[::-1] / 10).T > 0.25)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "0.5, threshold 0.75",
        "bound above 0.25",
    ]


def test_one_value_is_one_column():
    one = StabilityCalibration(
        0.3,
        0.75,
        9.0,
        SCORES[1:2],
        SCORES[1:2],
        [0.3],
        np.array([0.6, 0.75, 0.9]),
        np.array([5]),
        None,
    )
    assert CalibrationDisplay(one).plot().ax_.collections[0].get_array().size == 3


@pytest.mark.filterwarnings("ignore:the calibration chose an end")
def test_a_calibrated_selection_is_shown():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 10))
    y = X[:, 0] + rng.standard_normal(60) > 0
    model = LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0)
    selection = StabilitySelection(
        model, efp=1, n_resamples=10, n_values=5, random_state=0
    )
    with pytest.raises(NotFittedError):
        CalibrationDisplay.from_estimator(selection)
    with pytest.raises(
        ValueError,
        match="estimator must be calibrated: call its method calibrate first",
    ):
        CalibrationDisplay.from_estimator(selection.fit(X, y))
    display = CalibrationDisplay.from_estimator(selection.calibrate())
    chosen = display.frame().query("chosen")
    assert len(chosen) == 1
    assert chosen["score"].item() == selection.calibration_.scores.max()
    assert not display.plot().ax_.xaxis_inverted()
    assert display.ax_.get_xlabel() == "C, from strong to weak"


def test_another_estimator_is_an_error_that_says_what_was_expected():
    with pytest.raises(
        TypeError, match="estimator must be a calibrated StabilitySelection, got Lasso"
    ):
        CalibrationDisplay.from_estimator(Lasso())

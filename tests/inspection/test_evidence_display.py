"""The picture of the features to publish."""

import numpy as np
import pandas as pd
import pytest

from skstab.inspection import FeatureEvidenceDisplay, feature_report
from skstab.runs import Runs


def made():
    lists = [["a", "c"], ["a"], ["b"], ["a", "d"]]
    runs = Runs.from_sets(lists, features=list("abcd"))
    return feature_report(runs, clusters=[0, 0, 1, 2])


def test_a_report_is_drawn_with_its_substitutes():
    display = FeatureEvidenceDisplay.from_report(made())
    row = display.frame().iloc[0]
    assert row["feature"] == "a"
    assert row["share"] == 0.75
    assert row["substitutes"] == ["b"]
    assert np.isnan(row["decoy"])


def test_points_are_at_the_shares_and_marks_beside_them():
    display = FeatureEvidenceDisplay(
        [0.9, 0.6],
        decoys=[0.2, 0.1],
        directions=["+", "-"],
        substitutes=[["x"], []],
        fragility=[np.nan, 1],
    ).plot()
    shares, decoys = display.ax_.lines
    np.testing.assert_array_equal(shares.get_xdata(), [0.9, 0.6])
    np.testing.assert_array_equal(decoys.get_xdata(), [0.2, 0.1])
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == ["▲", "▼", "hangs on 1 row", "or x"]


def test_features_that_are_not_drawn_are_counted():
    display = FeatureEvidenceDisplay(np.linspace(1, 0.5, 25)).plot(top_k=10)
    assert len(display.ax_.get_yticklabels()) == 10
    assert "15 more to publish are not drawn" in display.ax_.get_xlabel()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shares": [1.2]}, "shares must be a list of numbers from 0 to 1"),
        ({"shares": [0.5], "decoys": [0.1, 0.2]}, "decoys must have one value for"),
        ({"shares": [0.5], "directions": "+-"}, "directions must have one value for"),
        ({"shares": [0.5], "feature_names": []}, "feature_names must have one value"),
    ],
)
def test_wrong_input_is_named(options, words):
    with pytest.raises(ValueError, match=words):
        FeatureEvidenceDisplay(options.pop("shares"), **options)


def test_columns_of_a_table_are_taken_by_their_place():
    table = pd.DataFrame({"share": [0.7]}, index=["z"])
    assert FeatureEvidenceDisplay(table["share"]).frame()["share"].tolist() == [0.7]

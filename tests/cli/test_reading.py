"""From a table to features and a target, and the code that does the same."""

import numpy as np
import pandas as pd
import pytest

from skstab._cli._reading import read_dataset
from skstab._report.words import UserError
from tests.cli.conftest import hostile, made_again, patients


@pytest.mark.parametrize("name", ["table.csv", "table.tsv", "table.parquet"])
@pytest.mark.parametrize("make", [patients, hostile])
def test_the_code_makes_the_same_features_and_target(name, make, table_file):
    table = make()
    target = table.columns[-6] if make is patients else "<i>target</i>"
    found = read_dataset(table_file(table, name), target, "auto")
    again = made_again(found, target)
    pd.testing.assert_frame_equal(again.X, found.X)
    pd.testing.assert_series_equal(again.y, found.y)


def test_categories_become_columns_and_know_where_they_come_from(table_file):
    table = patients().drop(columns=["score"])
    found = read_dataset(table_file(table), "outcome", "auto")
    levels = ["(missing)", "blue", "green", "red"]
    assert list(found.X.columns) == [
        "age",
        "dose",
        "weight",
        "noise",
        *(f"colour={x}" for x in levels),
        "sex=m",
    ]
    assert found.variables["colour=red"] == "colour"
    assert found.variables["age"] == "age"
    np.testing.assert_array_equal(found.X["colour=red"], table["colour"] == "red")
    np.testing.assert_array_equal(found.X["colour=(missing)"], table["colour"].isna())
    np.testing.assert_array_equal(found.X["sex=m"], table["sex"] == "m")
    assert found.X["dose"].isna().sum() == table["dose"].isna().sum() > 0
    assert found.has_missing
    assert found.has_categories


def test_columns_that_tell_nothing_are_left_out_with_a_note(table_file):
    notes = read_dataset(table_file(patients()), "outcome", "auto").notes
    reasons = {
        "id": "whose texts all differ",
        "site": "with one value only",
        "empty": "without any value",
    }
    (left_out,) = (note for note in notes if note.startswith("Left out: "))
    parts = left_out.removeprefix("Left out: ").removesuffix(".").split("; ")
    assert {f"{name!r} ({reason})" for name, reason in reasons.items()} <= set(parts)


def test_row_numbers_are_left_out(tmp_path):
    patients().to_csv(tmp_path / "table.csv")
    assert "'Unnamed: 0' (row numbers)" in " ".join(
        read_dataset(str(tmp_path / "table.csv"), "outcome", "auto").notes
    )


def test_dates_are_left_out(table_file):
    table = patients().assign(day=pd.date_range("2020-01-01", periods=80))
    notes = read_dataset(table_file(table, "table.parquet"), "outcome", "auto").notes
    assert "'day' (of dates or times)" in " ".join(notes)


def test_rare_levels_of_a_large_category_are_joined(table_file):
    table = patients(200).assign(town=[f"t{min(i, 60)}" for i in range(200)])
    found = read_dataset(table_file(table), "outcome", "auto")
    made = [name for name, variable in found.variables.items() if variable == "town"]
    assert len(made) == 31
    assert "town=t60" in made
    assert "town=(other)" in made
    pd.testing.assert_frame_equal(made_again(found, "outcome").X, found.X)


def test_rows_without_a_target_are_left_out(table_file):
    table = patients()
    table.loc[:4, "outcome"] = None
    found = read_dataset(table_file(table), "outcome", "auto")
    assert len(found.X) == len(found.y) == 75
    assert "5 rows without a target were left out." in found.notes
    pd.testing.assert_frame_equal(made_again(found, "outcome").X, found.X)


@pytest.mark.parametrize(
    ("target", "task", "is_classification"),
    [
        (["a", "b"], "auto", True),
        ([True, False], "auto", True),
        ([0, 1], "auto", True),
        ([0.0, 1.0], "auto", True),
        ([0.5, 1.5], "auto", False),
        (list(range(20)), "auto", False),
        (list(range(20)), "classification", True),
        ([0, 1], "regression", False),
    ],
)
def test_the_task_is_told_by_the_target(target, task, is_classification, table_file):
    table = patients().assign(y=np.resize(target, 80))
    found = read_dataset(table_file(table), "y", task)
    assert found.is_classification is is_classification


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({}, ("outcom", "auto"), "did you mean 'outcome'?"),
        ({}, ("zzzz", "auto"), "there is no column 'zzzz'"),
        ({"outcome": "ill"}, ("outcome", "auto"), "one value only, ill"),
        (
            {"outcome": None},
            ("outcome", "auto"),
            "at least 10 rows with a target, got 0",
        ),
        ({}, ("outcome", "regression"), "not numeric"),
        ({}, ("score", "classification"), "all values of target 'score' differ"),
        (
            {"outcome": ["once"] + ["more"] * 79},
            ("outcome", "auto"),
            "'once' of target 'outcome': 1 class with one row only, and every class needs several; rare_classes='drop'",
        ),
        (
            {"age": np.inf, "dose": [np.inf] + [1.0] * 79},
            ("outcome", "auto"),
            "column 'dose' has infinite values",
        ),
        (
            {"score": [np.inf] + [0.5] * 79},
            ("score", "auto"),
            "target 'score' has infinite values",
        ),
        (
            {"colour=red": range(80)},
            ("outcome", "auto"),
            "'colour=red' would occur twice",
        ),
    ],
)
def test_what_is_wrong_with_a_table_is_told(change, options, words, table_file):
    with pytest.raises(UserError) as error:
        read_dataset(table_file(patients().assign(**change)), *options)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["outcome", "id"], "no numeric or categorical column is left"),
        (["outcome"], "no numeric or categorical column is left"),
        (["outcome", "age", "site"], "'age' is the only feature"),
    ],
)
def test_there_must_be_something_to_select_from(columns, words, table_file):
    with pytest.raises(UserError, match=words):
        read_dataset(table_file(patients()[columns]), "outcome", "auto")


RARE = ["a"] * 40 + ["b"] * 35 + ["c"] * 3 + ["d", "e"]


def test_several_classes_of_one_row_are_named_with_the_way_out(table_file):
    table = patients().assign(outcome=RARE)
    with pytest.raises(UserError, match="'d', 'e' of target 'outcome': 2 classes"):
        read_dataset(table_file(table), "outcome", "auto")


@pytest.mark.parametrize(
    ("rule", "counts"),
    [
        ("drop", {"a": 40, "b": 35}),
        ("join", {"a": 40, "b": 35, "(rare)": 5}),
    ],
)
def test_rare_classes_are_left_out_or_joined(rule, counts, table_file):
    path = table_file(patients().assign(outcome=RARE))
    found = read_dataset(path, "outcome", "auto", rare_classes=rule)
    assert found.y.value_counts().to_dict() == counts
    assert len(found.X) == len(found.table) == sum(counts.values())
    assert any("3 classes of fewer than 5 rows" in note for note in found.notes)
    again = made_again(found, "outcome", rare_classes=rule)
    pd.testing.assert_frame_equal(again.X, found.X)
    pd.testing.assert_series_equal(again.y, found.y)


@pytest.mark.parametrize("rule", ["drop", "join"])
def test_rare_classes_that_are_not_there_change_nothing(rule, table_file):
    path = table_file(patients())
    plain = read_dataset(path, "outcome", "auto")
    found = read_dataset(path, "outcome", "auto", rare_classes=rule)
    assert found.notes == plain.notes
    pd.testing.assert_series_equal(found.y, plain.y)

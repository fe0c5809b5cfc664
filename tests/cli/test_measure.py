"""`skstab measure`: every measure that applies, and why others do not."""

import json
from argparse import Namespace

import numpy as np
import pandas as pd
import pytest

from skstab._cli._measure_command import _row
from skstab.metrics import get_measure, measure_table, stability_interval
from skstab.runs import Runs

SUPPORTS = np.array(
    [[1, 0, 1, 0, 0], [1, 0, 1, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 1, 0]]
)
EQUAL = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0], [1, 0, 1, 0]])


@pytest.fixture
def measured(command, table_file):
    def run(values, *options, name="runs.csv"):
        path = table_file(
            pd.DataFrame(values, columns=[f"f{i}" for i in range(np.shape(values)[1])]),
            name,
        )
        status, out, err = command("measure", path, "--json", *options)
        assert (status, err) == (0, "")
        found = json.loads(
            out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON")
        )
        return found, {row["measure"]: row for row in found["measures"]}

    return run


@pytest.mark.parametrize("name", ["runs.csv", "runs.tsv", "runs.parquet"])
def test_values_and_intervals_are_those_of_the_library(name, measured):
    about, rows = measured(SUPPORTS, name=name)
    assert (about["n_runs"], about["n_features"], about["mean_selected"]) == (
        4,
        5,
        2.25,
    )
    for measure in ("nogueira", "jaccard", "goh"):
        interval = stability_interval(SUPPORTS, measure=measure)
        assert rows[measure]["stability"] == pytest.approx(interval.estimate)
        assert (rows[measure]["low"], rows[measure]["high"]) == pytest.approx(
            (interval.low, interval.high)
        )


def test_every_measure_of_sets_is_told_of(measured):
    _, rows = measured(SUPPORTS)
    assert list(rows) == list(measure_table().query("kind == 'subset'").index)


def test_measures_that_refuse_the_sizes_are_listed_with_the_reason(measured):
    _, rows = measured(SUPPORTS)
    assert rows["kuncheva"]["stability"] is None
    assert "same number of features" in rows["kuncheva"]["note"]
    _, rows = measured(EQUAL)
    assert rows["kuncheva"]["stability"] == pytest.approx(
        get_measure("kuncheva")(EQUAL)
    )


@pytest.mark.parametrize("name", ["effective", "yu", "intersection_mbm", "zucknick"])
def test_measures_that_forgive_substitutes_are_listed_with_what_they_need(
    name, measured
):
    _, rows = measured(SUPPORTS)
    assert rows[name]["stability"] is None
    assert rows[name]["note"] == "needs to know which features can replace each other"


def test_method_and_level_reach_the_intervals(measured):
    about, rows = measured(EQUAL, "--method", "asymptotic", "--level", "0.8")
    interval = stability_interval(EQUAL, method="asymptotic", confidence_level=0.8)
    assert (about["method"], about["confidence_level"]) == ("asymptotic", 0.8)
    assert rows["nogueira"]["low"] == pytest.approx(interval.low)
    assert rows["jaccard"]["low"] is None
    assert "asymptotic" in rows["jaccard"]["note"]


def test_methods_that_draw_obey_the_seed():
    runs = (np.random.default_rng(0).random((20, 9)) < 0.4).astype(float)
    options = [
        Namespace(method="bootstrap", level=0.9, seed=seed) for seed in (1, 1, 2)
    ]
    ends = [_row("nogueira", Runs(runs), option)["high"] for option in options]
    assert ends[0] == ends[1] != ends[2]


def test_two_runs_have_a_value_but_no_interval(measured):
    _, rows = measured(EQUAL[:2])
    assert rows["nogueira"]["stability"] is not None
    assert rows["nogueira"]["low"] is None
    assert "at least 3 runs" in rows["nogueira"]["note"]


def test_an_infinite_end_is_null(measured):
    _, rows = measured(
        SUPPORTS, "--method", "conformal"
    )  # too few runs to exclude any value
    assert (rows["wald"]["low"], rows["wald"]["high"]) == (None, 1)


def test_runs_that_chose_nothing_are_noted(measured):
    _, rows = measured(np.zeros((3, 4), dtype=int))
    assert "nothing to choose" in rows["nogueira"]["note"]


def test_weights_are_measured_as_weights_ranks_and_sets(measured):
    weights = np.array([[0.5, -2.0, 0.0], [0.4, 1.0, 0.1], [0.7, -0.2, 0.0]])
    _, rows = measured(weights, "--weights")
    assert rows["pearson"]["stability"] == pytest.approx(
        get_measure("pearson")(np.abs(weights))
    )
    assert rows["canberra"]["stability"] == pytest.approx(
        get_measure("canberra")([[2, 1, 3], [2, 1, 3], [1, 2, 3]])
    )
    assert rows["nogueira"]["stability"] == pytest.approx(
        get_measure("nogueira")(weights != 0)
    )


def test_weights_without_zeros_say_nothing_about_sets(measured):
    _, rows = measured([[1.0, 2.0], [2.0, 3.0], [1.0, 4.0]], "--weights")
    assert "nogueira" not in rows
    assert "spearman" in rows


# -- what a file may look like -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "1,0,1\n1,1,0\n1,0,1\n",
        "a,b,c\n1,0,1\n1,1,0\n1,0,1\n",
        "run,a,b,c\nfirst,1,0,1\nsecond,1,1,0\nthird,1,0,1\n",
        "first,1,0,1\nsecond,1,1,0\nthird,1,0,1\n",
        ",a,b,c\n0,1,0,1\n1,1,1,0\n2,1,0,1\n",
        "a,b,c\nTrue,False,True\nTrue,True,False\nTrue,False,True\n",
    ],
    ids=["numbers", "header", "header and runs", "runs", "row numbers", "booleans"],
)
def test_names_of_features_and_runs_are_optional(text, tmp_path, command):
    path = tmp_path / "runs.csv"
    path.write_text(text)
    status, out, _ = command("measure", path)
    assert status == 0
    assert "3 runs, 3 features" in out


def test_the_table_is_plain_text(command, table_file):
    status, out, err = command(
        "measure", table_file(pd.DataFrame(SUPPORTS, columns=list("abcde")))
    )
    assert (status, err) == (0, "")
    line = next(line for line in out.splitlines() if line.startswith("nogueira"))
    interval = stability_interval(SUPPORTS)
    assert line.split()[1:] == [
        f"{value:.3f}" for value in (interval.estimate, interval.low, interval.high)
    ]
    assert (
        "kuncheva, krizek, guzman, lausser: supports must be of one size: the measure is defined only"
        in out
    )
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,0\n1,2\n", "must hold only 0 and 1, got 2; add --weights"),
        ("a,b\nx,y\nz,w\n", "nothing in"),
        ("a,b\n1,y\n0,w\n", "column 'b'"),
        ("a,b\n1,0\n1,\n", "missing"),
        ("a,b\n1,0\n", "at least 2 runs"),
        ("", "is empty"),
        ("1,0\n1,0,1\n", "can't be read"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_in_a_line(text, words, tmp_path, complaint):
    path = tmp_path / "runs.csv"
    path.write_text(text)
    assert words in complaint("measure", path)


def test_files_of_an_unknown_kind_are_refused(tmp_path, complaint):
    (tmp_path / "runs.xls").write_text("1")
    assert ".csv, .tsv or .parquet" in complaint("measure", tmp_path / "runs.xls")


def test_a_folder_is_no_file(tmp_path, complaint):
    (tmp_path / "runs.csv").mkdir()
    assert "can't be read" in complaint("measure", tmp_path / "runs.csv")


def test_weights_of_all_features_need_no_note(command, tmp_path):
    path = tmp_path / "weights.csv"
    path.write_text("a,b,c\n0.9,0.3,0.1\n0.8,0.4,0.2\n0.7,0.5,0.1\n")
    status, out, err = command("measure", str(path), "--weights")
    assert (status, err) == (0, "")
    assert out.startswith("3 runs, 3 features")
    assert "pearson" in out


WEIGHTS = np.array([[0.9, 0.3, 0.1], [0.8, 0.4, 0.2], [0.7, 0.5, 0.0]])
WAYS_TO_WRITE = {
    "numbered columns": lambda table, path: table.to_csv(path, index=False),
    "from one": lambda table, path: table.rename(columns=lambda i: i + 1).to_csv(
        path, index=False
    ),
    "and rows": lambda table, path: table.to_csv(path),
    "no names": lambda table, path: table.to_csv(path, index=False, header=False),
    "runs": lambda table, path: table.rename_axis("run").to_csv(path),
    "named runs": lambda table, path: table.rename(lambda i: f"run {i}").to_csv(
        path, header=False
    ),
}


@pytest.mark.parametrize("write", WAYS_TO_WRITE.values(), ids=WAYS_TO_WRITE)
@pytest.mark.parametrize("values", [WEIGHTS, SUPPORTS], ids=["weights", "supports"])
def test_column_and_row_numbers_are_no_runs_and_no_features(
    values, write, command, tmp_path
):
    path = tmp_path / "runs.csv"
    write(pd.DataFrame(values), path)
    status, out, err = command(
        "measure", str(path), "--json", *(["--weights"] if values is WEIGHTS else [])
    )
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert (found["n_runs"], found["n_features"]) == values.shape


def test_two_numbers_may_be_a_run(command, tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("0,1\n1,0\n0,1\n")
    assert json.loads(command("measure", str(path), "--json")[1])["n_runs"] == 3


# -- runs and long tables ----------------------------------------------------------------------------------------------


@pytest.fixture
def measured_file(command):
    def run(path, *options):
        status, out, err = command("measure", path, "--json", *options)
        assert (status, err) == (0, "")
        found = json.loads(out)
        return found, {row["measure"]: row["stability"] for row in found["measures"]}

    return run


@pytest.mark.parametrize("name", ["saved.runs", "saved", "saved.npz"])
def test_saved_runs_are_measured(name, measured_file, tmp_path):
    runs = Runs(SUPPORTS, SUPPORTS * [1.0, 2, 3, 4, 5])
    runs.save(tmp_path / name)
    about, stability = measured_file(tmp_path / name)
    assert (
        about["kind"],
        about["n_runs"],
        about["n_features"],
        about["mean_selected"],
    ) == ("weights", 4, 5, 2.25)
    for measure in ("nogueira", "jaccard", "pearson", "canberra"):
        assert stability[measure] == pytest.approx(runs.stability(measure))
    Runs(SUPPORTS).save(tmp_path / name)
    about, stability = measured_file(tmp_path / name)
    assert about["kind"] == "supports"
    assert "pearson" not in stability


LONG = "run,feature\n1,a\n1,b\n2,a\n3,\n"


@pytest.mark.parametrize(
    "text",
    [LONG, "feature,run\na,1\nb,1\na,2\n,3\n"],
    ids=["run first", "feature first"],
)
def test_long_tables_are_measured(text, measured_file, tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(text)
    about, stability = measured_file(path)
    assert (about["n_runs"], about["n_features"], about["mean_selected"]) == (3, 2, 1)
    assert stability["jaccard"] == pytest.approx(
        get_measure("jaccard")([[1, 1], [1, 0], [0, 0]])
    )
    about, stability = measured_file(path, "--features", "6")
    assert about["n_features"] == 6
    padded = np.pad([[1, 1], [1, 0], [0, 0]], ((0, 0), (0, 4)))
    assert stability["nogueira"] == pytest.approx(get_measure("nogueira")(padded))


def test_long_tables_may_have_importances(measured_file, tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("run,feature,importance\n1,a,2\n1,b,1\n2,a,3\n3,b,1\n")
    about, stability = measured_file(path)
    assert about["kind"] == "weights"
    assert stability["pearson"] == pytest.approx(
        get_measure("pearson")([[2, 1], [3, 0], [0, 1]])
    )


@pytest.mark.parametrize(
    ("name", "text", "options", "words"),
    [
        ("long.csv", LONG, ["--features", "1"], "--features must be at least 2"),
        (
            "wide.csv",
            "a,b\n1,0\n1,1\n",
            ["--features", "5"],
            "--features goes with a long table",
        ),
        ("long.csv", "run,feature\n1,a\n1,a\n2,b\n", [], "got some of them twice"),
        ("long.csv", "run,feature\n1,a\n", [], "at least 2 runs"),
        ("other.bin", "no runs", [], "must end in .csv, .tsv or .parquet"),
        ("missing", None, [], "must end in .csv, .tsv or .parquet"),
    ],
)
def test_runs_that_can_not_be_measured_are_refused_in_a_line(
    name, text, options, words, command, tmp_path
):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    status, _, err = command("measure", path, *options)
    assert status == 2
    assert words in err
    assert err.count("\n") == 1


def test_a_zip_of_something_else_is_refused(command, tmp_path):
    np.savez(tmp_path / "other.npz", supports=SUPPORTS)
    status, _, err = command("measure", tmp_path / "other.npz")
    assert status == 2
    assert "is not a file of Runs.save" in err

"""`skstab report`: the comparison, the file, and code that gives the same numbers."""

import io
import re
from contextlib import redirect_stdout

import numpy as np
import pandas as pd
import pytest

from skstab.__main__ import main
from tests.cli.conftest import HOSTILE, hostile, patients
from tests.inspection.page import Page

QUICK = [
    "--resamples",
    "4",
    "--jobs",
    "1",
    "--selector",
    "lasso",
    "--selector",
    "k-best",
]


def written(table, target, folder, *options, name="table.csv"):
    """Make a report on a table; return its page and what was said."""
    file, output = folder / name, folder / "out.html"
    table.to_csv(file, index=False)
    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), write_through=True)) as stream:
        assert (
            main(
                [
                    "report",
                    str(file),
                    "--target",
                    target,
                    "-o",
                    str(output),
                    *QUICK,
                    *options,
                ]
            )
            == 0
        )
    return output.read_text(encoding="utf-8"), stream.buffer.getvalue().decode()


def run_code(page):
    """Run the Python that a report shows, without writing; return the report that it makes."""
    code = Page(page).code
    assert len(code.splitlines()) <= 5
    names = {}
    exec(code.replace('page.save("report.html")', ""), names)  # noqa: S102
    return names["page"]


def shown(page, caption):
    """Return the rows of a table of a page."""
    table = Page(page).table(caption)
    return {row[0]: row[1:] for row in table[1:]}


@pytest.fixture(scope="module")
def on_classes(tmp_path_factory):
    return written(
        patients().drop(columns="score"), "outcome", tmp_path_factory.mktemp("classes")
    )


@pytest.fixture(scope="module")
def on_numbers(tmp_path_factory):
    table = patients().drop(columns="outcome")
    return written(
        table, "score", tmp_path_factory.mktemp("numbers"), "--measure", "pearson"
    )


@pytest.mark.filterwarnings(
    "ignore"
)  # the code is run as a user would, with scikit-learn's warnings
@pytest.mark.parametrize("made", ["on_classes", "on_numbers"])
def test_the_code_gives_the_numbers_of_the_report(made, request):
    page, said = request.getfixturevalue(made)
    again = run_code(page)
    comparison = again.comparison
    assert again.verdict.startswith("There is signal")
    for text in again.answers():
        assert text in said
    assert again.reason in Page(page).text
    assert again.recommendation.reason in said
    assert again.recommendation.reason in Page(page).text
    rows = shown(page, "Selectors, the most stable first")
    assert set(rows) == set(comparison.runs)
    for name, row in comparison.frame().iterrows():
        assert rows[name][0] == f"{row['score']:.3f} ± {row['score_se']:.3f}"
        assert rows[name][-3] == f"{row['stability']:.2f}"
        assert rows[name][-2] == f"{row['n_features']:.1f}"


def test_a_measure_of_weights_can_be_asked_for(on_numbers):
    assert "the measure 'pearson' of skstab" in Page(on_numbers[0]).text


@pytest.mark.filterwarnings("ignore")
def test_hostile_names_do_no_harm_and_are_shown_as_they_are(tmp_path):
    text, _ = written(hostile(), "<i>target</i>", tmp_path, name="it's <table>.csv")
    page = Page(text)
    assert not {"i", "b", "u", "svg"} & set(page.elements)
    assert page.elements.count("script") == 1
    assert all(
        attributes["src"].startswith("data:image/svg+xml;base64,")
        for attributes in page.images
    )
    assert not any(name.startswith("on") for names in page.attributes for name in names)
    features = [row[0] for row in page.table("How often features were selected")[1:]]
    assert set(HOSTILE[:2]) <= set(features)
    assert set(features) <= {*HOSTILE, "<b>=<i>x", "<b>=</td>", "<b>=y"}
    assert run_code(text).recommendation.reason in page.text


def test_one_selector_is_compared_with_itself(table_file, command, tmp_path):
    output = tmp_path / "out.html"
    options = ["--resamples", "4", "--jobs", "1", "--selector", "k-best"]
    table = patients()[["age", "dose", "weight", "noise", "outcome"]]
    status, out, err = command(
        "report", table_file(table), "--target", "outcome", "-o", output, *options
    )
    assert status == 0
    assert err.startswith("comparing 2 settings of 1 selector (4 resamples) ...\n")
    assert "Take k-best (" in out
    assert (
        len(
            shown(
                output.read_text(encoding="utf-8"), "Selectors, the most stable first"
            )
        )
        == 2
    )


@pytest.mark.filterwarnings("ignore")
def test_rows_of_a_patient_stay_together(table_file, command, tmp_path):
    output = tmp_path / "out.html"
    table = patients()[["age", "dose", "weight", "noise", "score"]].assign(
        patient=np.arange(80) // 2
    )
    options = [
        "--resamples",
        "4",
        "--jobs",
        "1",
        "--selector",
        "k-best",
        "--groups",
        "patient",
    ]
    status, out, _ = command(
        "report", table_file(table), "--target", "score", "-o", output, *options
    )
    assert status == 0
    page = output.read_text(encoding="utf-8")
    assert (
        "4 bootstrap samples (rows drawn with replacement, whole groups of patient)"
        in Page(page).text
    )
    assert "R² on the rows that each resample left out" in Page(page).text
    again = run_code(page)
    assert again.recommendation.reason in out
    assert len(np.unique(again.comparison.groups)) == 40


def test_what_was_done_about_missing_values_and_categories_is_said(on_classes):
    page, said = on_classes
    text = Page(page).text
    assert "replaced by the median of their column, inside each resample" in text
    assert "A missing category is a separate level." in text
    assert "Categories were encoded as columns of 0 and 1: 'colour', 'sex'." in text
    assert "Left out: 'id' (whose texts all differ);" in said
    assert re.search(r"\d% of the values missing\. Left out: 'id'", text)
    rows = shown(
        page, "Categories: share of runs that selected at least one of their columns"
    )
    assert list(rows) == ["colour"]
    assert rows["colour"][0] == "4"


def test_settings_that_select_everything_are_no_choice(table_file, command, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    table = pd.DataFrame(X, columns=list("abc")).assign(
        y=X @ [3.0, 3.0, 3.0] + 0.01 * rng.normal(size=60)
    )
    output = tmp_path / "out.html"
    status, out, _ = command(
        "report", table_file(table), "--target", "y", "-o", output, *QUICK
    )
    assert status == 0
    assert "Take k-best" in out
    assert "selected every feature, which is not a choice" in output.read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--target", "outcom"], "did you mean 'outcome'?"),
        (["--target", "site"], "one value only"),
        (
            ["--target", "outcome", "--measure", "kuncheva"],
            "select equally many features; use one of nogueira",
        ),
        (
            ["--target", "outcome", "--measure", "yu"],
            "needs to know which features can replace each other; use one of",
        ),
        (["--target", "outcome", "--measure", "magic"], "there is no measure 'magic'"),
        (["--target", "outcome", "-o", "no/such/folder/r.html"], "there is no folder"),
        (["--target", "outcome", "-o", "."], "is a folder"),
    ],
)
def test_what_the_user_can_mend_is_told_in_a_line(
    options, words, table_file, complaint
):
    assert words in complaint("report", table_file(patients()), *options)


def test_a_missing_file_is_told_in_a_line(complaint):
    assert (
        complaint("report", "nowhere.csv", "--target", "y")
        == "there is no file 'nowhere.csv'"
    )

"""`skstab demo`: the tour ends well, and what it says is what was found."""

import pandas as pd
import pytest

from skstab._cli._arguments import parse
from tests.inspection.page import Page


@pytest.fixture
def toured(command, tmp_path):
    status, out, err = command(
        "demo", "--output", tmp_path / "tour", "--resamples", "4", "--jobs", "1"
    )
    assert status == 0
    return out, err, tmp_path / "tour"


def test_the_tour_answers_the_questions_in_their_order_and_writes_its_files(
    toured, monkeypatch
):
    out, err, folder = toured
    answers = (
        "1. Is there",
        "2. Would other data",
        "ignal",
        "3. Which features",
        "4. What does it cost",
    )
    places = [out.index(answer) for answer in answers]
    assert places == sorted(places)
    assert err.startswith("comparing ")
    files = {"report.html", "patients.csv", "supports.csv"}
    assert {path.name for path in folder.iterdir()} == files
    assert all(f"{name}\n" in out for name in files)
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert "patients.csv" in page.text
    monkeypatch.chdir(folder)
    names = {}
    exec(page.code, names)  # noqa: S102  that it runs, and agrees, is what is tested
    assert names["page"].recommendation.reason in page.text


def test_the_files_of_the_tour_serve_the_other_commands(toured, command):
    _, _, folder = toured
    assert list(pd.read_csv(folder / "patients.csv"))[-1] == "diagnosis"
    status, out, _ = command("measure", folder / "supports.csv")
    assert status == 0
    assert "nogueira" in out


def test_a_folder_that_can_not_be_made_is_reported_in_a_line(tmp_path, complaint):
    (tmp_path / "file").write_text("")
    assert "can't be made" in complaint("demo", "--output", tmp_path / "file" / "tour")


def test_the_demo_writes_to_skstab_demo_by_default():
    assert parse(["demo"]).output == "skstab-demo"

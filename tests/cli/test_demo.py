"""`skstab demo`: the tour ends well, and what it says is what was found."""

import re

import numpy as np
import pytest

from skstab._cli import _demo_command as _demo
from skstab._cli._arguments import parse
from tests.inspection.page import Page

GRID = _demo.make_grid()


@pytest.fixture
def toured(monkeypatch, command, tmp_path):
    monkeypatch.setattr(_demo, "make_grid", lambda: [GRID[0], GRID[-1]])
    status, out, err = command(
        "demo", "--output", tmp_path / "tour", "--resamples", "4", "--jobs", "1"
    )
    assert status == 0
    return out, err, tmp_path / "tour"


def test_the_tour_answers_the_questions_in_their_order_and_writes_its_files(toured):
    out, err, folder = toured
    answers = (
        "1. Is there",
        "2. Would other data",
        "ignal",
        "3. Which features",
        "direction",
        "4. What does it cost",
    )
    places = [out.index(answer) for answer in answers]
    assert places == sorted(places)
    assert "Accuracy alone would choose" in out
    assert "With stability, losing at most 1% accuracy" in out
    rows = [
        line
        for line in out.splitlines()
        if re.match(r"(L1 logistic|hybrid-RFE) \(.*\) +0\.", line)
    ]
    scores = [float(row.split(")")[1].split()[0]) for row in rows]
    assert 1 <= len(rows) <= 10
    assert scores == sorted(scores, reverse=True)
    assert err == "fitting candidates (10) ...\n"
    files = {
        "pareto.png",
        "map-accuracy-alone.png",
        "map-with-stability.png",
        "report.html",
    }
    assert {path.name for path in folder.iterdir()} == files
    assert all(f"{name}\n" in out for name in files)
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert "skstab demo: breast cancer data" in page.text
    names = {}
    exec(page.code, names)  # noqa: S102  that it runs, and agrees, is what is tested
    assert names["comparison"].recommend().reason in page.text


def test_the_whole_grid_has_cores_of_every_size():
    names = [_demo.name_of(params) for params in _demo.ParameterGrid(_demo.make_grid())]
    assert len(names) == len(set(names)) == 22
    assert "L1 logistic (C=0.1)" in names
    assert "hybrid-RFE (k=12, N=6)" in names


def test_rivals_are_two_even_where_accuracy_and_stability_agree():
    table = _demo.candidate_table(
        {
            "mean_test_accuracy": np.array([0.9, 0.8, 0.85]),
            "mean_test_accuracy_se": np.zeros(3),
            "mean_test_nogueira": np.array([0.9, 0.8, 0.7]),
            "mean_test_nogueira_low": np.zeros(3),
            "mean_test_nogueira_high": np.ones(3),
            "mean_test_n_features": np.ones(3),
            "params": [*_demo.ParameterGrid(_demo.make_grid()[:1])][:3],
        }
    )
    assert _demo.rivals(table, 0) == [0, 2]
    assert _demo.rivals(table, 1) == [0, 1]


def test_a_folder_that_can_not_be_made_is_reported_in_a_line(tmp_path, complaint):
    (tmp_path / "file").write_text("")
    assert "can't be made" in complaint("demo", "--output", tmp_path / "file" / "tour")


def test_the_demo_writes_to_skstab_demo_by_default():
    assert parse(["demo"]).output == "skstab-demo"

"""The reproduced papers: every figure and table of each has a row that says what became of it."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks" / "papers"
# How many figures and tables a paper has.
PAPERS = {
    "nogueira2018": {"figure": 12, "table": 7},
    "nogueira2016": {"figure": 6, "table": 2},
    "hamer2021": {"figure": 29, "table": 5},
    "lopez2024": {"figure": 3, "table": 1},
    "kalousis2007": {"figure": 6, "table": 6},
}

pytestmark = pytest.mark.skipif(
    not FOLDER.exists(), reason="the benchmarks are not part of an installed package"
)


def rows_of(paper):
    """What, state and reason: the first table of the paper's section."""
    section = (
        (FOLDER / "RESULTS.md")
        .read_text(encoding="utf-8")
        .partition(f"\n## {paper}\n")[2]
    )
    table = re.search(
        r"^\| (?:of|in) the paper .*\n\|[- |]+\n((?:\|.*\n)+)",
        section,
        flags=re.MULTILINE,
    )[1]
    return [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()
    ]


def numbers_in(text, kind):
    """Numbers of the figures or tables that a text names, as in "figures 1, 3 to 5 and 7"."""
    found = set()
    for listed in re.findall(rf"{kind}s? (\d+(?:(?:, | and | to )\d+)*)", text):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", listed):
            found |= set(range(int(first), int(last or first) + 1))
    return found


def test_each_script_is_a_paper():
    assert {path.stem for path in FOLDER.glob("[!_]*.py")} == set(PAPERS)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_figure_and_table_has_a_row(paper):
    named = ", ".join(row[0] for row in rows_of(paper))
    for kind, count in PAPERS[paper].items():
        assert numbers_in(named, kind) == set(range(1, count + 1)), kind


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_not_reproduced_has_a_reason(paper):
    rows = rows_of(paper)
    assert all(len(row) == 3 and row[1] for row in rows)
    assert not [
        what
        for what, state, reason in rows
        if state != "reproduced" and len(reason.split()) < 3
    ]

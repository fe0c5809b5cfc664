"""The software paper: the sections that the journal requires, and that what it cites and shows is there."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "paper"
SECTIONS = [
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "Research impact statement",
    "AI usage disclosure",
    "Acknowledgements",
    "References",
]

pytestmark = pytest.mark.skipif(
    not FOLDER.exists(), reason="the paper is not part of an installed package"
)


@pytest.fixture
def text():
    return (FOLDER / "paper.md").read_text(encoding="utf-8")


def test_the_sections_are_those_of_the_journal(text):
    assert re.findall(r"^# (.+)$", text, flags=re.MULTILINE) == SECTIONS


def test_the_length_is_that_of_the_journal(text):
    assert 750 <= len(text.split("---", 2)[2].split()) <= 1750


def test_every_citation_has_an_entry_and_every_entry_is_cited(text):
    entries = re.findall(
        r"^@\w+{([\w-]+),",
        (FOLDER / "paper.bib").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    assert len(entries) == len(set(entries))
    assert set(re.findall(r"@([\w-]+)", text)) == set(entries)


def test_every_entry_has_a_doi_or_the_address_of_what_has_none():
    entries = (FOLDER / "paper.bib").read_text(encoding="utf-8").split("\n@")
    assert not [
        entry.partition(",")[0]
        for entry in entries
        if not re.search(r"^ +(doi|url) += ", entry, re.MULTILINE)
    ]


def test_every_figure_is_there_and_is_made_by_the_script(text):
    script = (FOLDER / "figures.py").read_text(encoding="utf-8")
    for name in re.findall(r"\]\((\w+\.png)\)", text):
        assert (FOLDER / name).exists()
        assert Path(name).stem in script

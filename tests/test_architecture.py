"""The page on the architecture is drawn from the code as it is."""

import runpy
from pathlib import Path

import pytest

import skstab

DOCS = Path(__file__).parents[1] / "docs"
HOUSE = Path(skstab.__file__).parent

pytestmark = pytest.mark.skipif(
    not DOCS.exists(), reason="pages are not part of an installed package"
)


@pytest.fixture(scope="module")
def drawn():
    pytest.importorskip("matplotlib")
    return runpy.run_path(str(DOCS / "architecture.py"))


def test_every_folder_is_a_room_and_opens_to_earlier_ones_only(drawn):
    rooms = drawn["rooms"]()
    folders = {path.parent.name for path in HOUSE.glob("*/__init__.py")}
    assert rooms.keys() == folders
    before = set()
    for name, room in rooms.items():
        assert room["purpose"]
        assert room["modules"] == len(list((HOUSE / name).rglob("*.py")))
        assert room["doors"] <= before
        before.add(name)


def test_doors_are_the_imports(drawn):
    rooms = drawn["rooms"]()
    assert "runs" in rooms["model_selection"]["doors"]
    assert not rooms["metrics"]["doors"]
    (value,) = HOUSE.glob("runs/__init__.py")
    assert drawn["imported_rooms"](value) == {"runs"}


def test_the_road_goes_from_fit_to_a_picture(drawn):
    passed = [path.relative_to(HOUSE).as_posix() for path in drawn["road"]()]
    places = [
        passed.index(next(name for name in passed if name.startswith(room)))
        for room in ("model_selection/", "_engine/", "runs/", "inspection/")
    ]
    assert places == sorted(places)
    assert all((HOUSE / name).exists() for name in passed)


def test_the_page_shows_all_that_is_drawn(drawn):
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    for name, draw in drawn["PAGES"].items():
        assert f"{{{{ {name} }}}}" in page
        assert draw().count("\n") >= 5
    assert drawn["first_files_page"]().count("\n") == 9

"""The gallery of examples and the pages of the documentation; `make docs` runs all of them."""

import ast
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
PAGES = sorted((ROOT / "docs").glob("*.md"))
QUICK = ["plot_gene_lists.py", "plot_correlated_features.py", "plot_survival.py"]

pytestmark = pytest.mark.skipif(
    not PAGES, reason="neither examples nor pages are part of an installed package"
)


def text_cells(source):
    """The comments that follow a cell mark, without their `#`."""
    cells = re.findall(r"^# %%\n((?:#.*\n)*)", source, flags=re.MULTILINE)
    return [re.sub(r"^# ?", "", cell, flags=re.MULTILINE).strip() for cell in cells]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_compiles_asks_a_question_and_ends_with_the_answer(path):
    source = path.read_text(encoding="utf-8")
    title, underline = ast.get_docstring(ast.parse(source)).splitlines()[:2]
    assert title.endswith("?")
    assert underline == "=" * len(title)
    assert text_cells(source)[-1].startswith("**Answer**")


def test_the_gallery_orders_every_example():
    assert sorted(runpy.run_path(str(ROOT / "docs" / "gallery.py"))["ORDER"]) == [
        path.name for path in EXAMPLES
    ]


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_example_runs_without_a_warning_and_shows_something(name, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    runpy.run_path(str(ROOT / "examples" / name))
    assert plt.get_fignums()
    plt.close("all")
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_python_block_of_a_page_is_a_doctest(path):
    blocks = re.findall(
        r"^```python\n(.*?)^```",
        path.read_text(encoding="utf-8"),
        flags=re.MULTILINE | re.DOTALL,
    )
    assert all(block.startswith(">>> ") for block in blocks)

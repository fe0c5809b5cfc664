"""The package as a whole: what importing it costs, which way imports point, and what its docstrings promise."""

import ast
import inspect
import math
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import numpydoc.docscrape
import pytest
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectKBest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import skstab
from skstab.inspection import (
    StabilityReport,
    co_selection,
    feature_report,
    importance_contributions,
    instability_shares,
)
from skstab.metrics import get_measure, stability_test
from skstab.model_selection import (
    BootstrapSplit,
    SelectorComparison,
    StabilityCV,
    compare_selectors,
)
from skstab.runs import Runs, selection_of
from tests.discovery import PACKAGES, ROOT, exported, imports_of, module_name

TOP = ROOT.parent

# -- import ------------------------------------------------------------------------------------------------------------


def modules_after(statement):
    code = f"import sys; {statement}; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_skstab_is_quick_because_it_imports_nothing_heavy():
    assert not modules_after("import skstab") & {
        "numpy",
        "scipy",
        "pandas",
        "sklearn",
        "matplotlib",
    }


def test_no_plotting_package_is_imported():
    loaded = modules_after(
        "import skstab; [getattr(skstab, name) for name in skstab.__all__]"
    )
    assert "skstab.metrics" in loaded
    assert not loaded & {"matplotlib", "seaborn", "plotly", "jinja2", "distributed"}


def test_metrics_need_neither_scikit_learn_nor_pandas_to_be_imported():
    assert not modules_after("import skstab.metrics") & {
        "sklearn",
        "pandas",
        "scipy.stats",
    }


def test_unknown_attributes_are_attribute_errors():
    with pytest.raises(AttributeError, match="has no attribute 'stabilty_score'"):
        _ = skstab.stabilty_score


def test_dir_lists_the_public_names():
    assert {"metrics", "stability_score"} <= set(dir(skstab))


# -- the direction of imports ------------------------------------------------------------------------------------------

# A layer may import from those before it.
LAYERS = [
    "_typing",
    "_checks",
    "_warnings",
    "_matrices",
    "_minima",
    "_compat",
    "_random",
    "_routing",
    "_pipelines",
    "_undo",
    "_statistics",
    "_decoys",
    "_fragility",
    "_displays",
    "_linear_paths",
    "metrics",
    "runs",
    "_engine",
    "model_selection",
    "feature_selection",
    "inspection",
    "datasets",
    "skore",
    "_report",
    "_cli",
    "__main__",
]


def imported_layers(path):
    return [name.split(".")[1] for name in imports_of(path, types=True) if "." in name]


def layer_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


SOURCES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_upwards(path):
    own = LAYERS.index(layer_of(path))
    above = [
        LAYERS.index(layer)
        for layer in imported_layers(path)
        if layer != layer_of(path)
    ]
    assert all(layer < own for layer in above)


def test_every_module_belongs_to_a_layer():
    assert {layer_of(path) for path in SOURCES} <= set(LAYERS)


# The command line is one room: its package and the module that starts it.
ROOMS = {"__main__": "_cli"}


def room_of(layer):
    return ROOMS.get(layer, layer)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_imports_a_private_module_of_another_room(path):
    own = room_of(layer_of(path))
    for _, room, *inside in (
        name.split(".") for name in imports_of(path, types=True) if "." in name
    ):
        assert room_of(room) == own or not any(
            part.startswith("_") for part in inside
        ), (room, inside)


def test_no_import_cycle_not_even_a_lazy_one():
    sources = {module_name(path): path for path in ROOT.rglob("*.py")}

    def module_of(name):
        return name if name in sources else module_of(name.rpartition(".")[0])

    graph = {
        module: {module_of(name) for name in imports_of(path)} - {module}
        for module, path in sources.items()
    }
    assert sum(map(len, graph.values())) > len(graph)
    TopologicalSorter(graph).prepare()  # an error names the cycle


def test_only_compat_touches_private_names_of_scikit_learn():
    for path in SOURCES:
        if layer_of(path) == "_compat":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "sklearn"
            ):
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                assert not [name for name in names if name.startswith("_")], path


def test_how_far_a_warning_is_from_its_cause_is_never_counted_by_hand():
    found = [
        path.name
        for path in SOURCES
        if layer_of(path) != "_warnings" and "stacklevel=" in path.read_text()
    ]
    assert not found, "use skstab._warnings.warn_user"


# -- docstrings --------------------------------------------------------------------------------------------------------

PUBLIC = [
    (f"{package}.{name}", thing)
    for package in PACKAGES
    for name, thing in exported(package).items()
]


def documented(obj):
    doc = (
        numpydoc.docscrape.ClassDoc(obj)
        if inspect.isclass(obj)
        else numpydoc.docscrape.FunctionDoc(obj)
    )
    return {
        name.strip("*"): parameter.type
        for parameter in doc["Parameters"]
        for name in parameter.name.replace(" ", "").split(",")
    }


def signature_of(obj):
    return {
        name: p
        for name, p in inspect.signature(obj).parameters.items()
        if name != "self"
    }


@pytest.mark.parametrize(("name", "obj"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_docstrings_describe_the_signature(name, obj):
    types, parameters = documented(obj), signature_of(obj)
    assert list(types) == list(parameters)
    for parameter, given in parameters.items():
        if given.default is inspect.Parameter.empty:
            assert "default" not in types[parameter]
        else:
            stated = types[parameter].rpartition("default=")[2]
            assert ast.literal_eval(stated.replace("np.nan", "None")) == _literal(
                given.default
            ), parameter


def _literal(default):
    is_nan = isinstance(default, float) and math.isnan(default)
    return None if is_nan else default


@pytest.mark.parametrize(("name", "obj"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_docstrings_have_a_summary_and_an_example_that_uses_them(name, obj):
    text = inspect.getdoc(obj)
    assert text.splitlines()[0].strip()
    example = text.partition("Examples\n--------")[2]
    assert f"{name.rpartition('.')[2]}" in example
    assert ">>>" in example


@pytest.mark.parametrize(("name", "obj"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_optional_parameters_are_keyword_only(name, obj):
    # X and y come in this order everywhere in scikit-learn, and so do supports and importances, runs and X here.
    parameters = [
        p
        for p in list(signature_of(obj).values())[1:]
        if p.name not in ("X", "y", "importances")
    ]
    optional = [p for p in parameters if p.default is not inspect.Parameter.empty]
    if isinstance(obj, type) and issubclass(obj, tuple):
        return  # the fields of a named tuple have an order
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in optional)


def test_the_main_names_are_the_same_objects_at_the_top():
    for name, package in skstab._NAMES.items():
        assert getattr(skstab, name) is getattr(
            import_module(f"skstab.{package}"), name
        )


def test_every_package_is_reached_from_the_top():
    assert set(skstab._SUBPACKAGES) == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_names_of_a_package_are_sorted_and_once_each(package):
    names = import_module(f"skstab.{package}").__all__
    assert names == sorted(set(names))


# -- result objects ----------------------------------------------------------------------------------------------------


def results():
    """One of each result class, small."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    selectors = {
        f"best {k}": make_pipeline(SelectKBest(k=k), GaussianNB()) for k in (1, 2)
    }
    comparison = compare_selectors(
        selectors, X, y, cv=BootstrapSplit(6, random_state=0)
    )
    runs = comparison.runs["best 2"].runs_
    return [
        runs,
        comparison,
        comparison.recommend(),
        selection_of(selectors["best 1"].fit(X, y), X, y),
        get_measure("jaccard"),
        runs.interval(),
        stability_test(runs, 0.5),
        co_selection(runs),
        feature_report(runs),
        instability_shares(runs),
        importance_contributions(runs),
        StabilityReport("Iris", comparison, comparison.frame(), "accuracy", code=""),
    ]


def test_result_objects_are_readable():
    for found in results():
        text = repr(found)
        assert type(found).__name__ in text or text.startswith("get_measure")
        assert not re.search(r"array|<.* object at|dtype", text), text


def test_results_that_are_tables_have_html():
    for found in results():
        if isinstance(found, Runs | SelectorComparison):
            assert (
                found._repr_html_().count("<div") + found._repr_html_().count("<tr") > 1
            )


# -- documentation -----------------------------------------------------------------------------------------------------


def page(name):
    path = TOP / name
    if not path.exists():
        pytest.skip("the documentation is not part of an installed package")
    return path.read_text()


def listed_names():
    """Names in the API reference by the package they are listed under."""
    blocks = re.findall(
        r"currentmodule:: skstab\.(\w+)\n(.*?)```", page("docs/api.md"), flags=re.DOTALL
    )
    return [
        (package, re.findall(r"^   (\w+)$", block, flags=re.MULTILINE))
        for package, block in blocks
    ]


def test_the_api_reference_lists_what_is_exported():
    listed = listed_names()
    assert sorted(package for package, _ in listed) == PACKAGES
    for package, names in listed:
        assert sorted(names) == sorted(exported(package)), package


def test_the_layers_are_described():
    described = (
        page("CONTRIBUTING.md").partition("## The layers")[2].partition("## ")[0]
    )
    for layer in LAYERS:
        assert re.search(rf"(^| ){layer}(\.py|/)", described, flags=re.MULTILINE), layer


def modules_passed(call):
    """Names of the modules of the package in which a call runs a function; not what it only imports."""
    passed = set()

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if (
            event == "call"
            and path.is_relative_to(ROOT)
            and frame.f_code.co_flags & inspect.CO_OPTIMIZED
        ):
            passed.add(path.relative_to(ROOT))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return passed


def test_the_road_from_fit_to_a_picture_is_described():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    X, y = load_iris(return_X_y=True, as_frame=True)
    runs = StabilityCV(
        make_pipeline(SelectKBest(k=2), GaussianNB()),
        cv=BootstrapSplit(3),
        scoring="accuracy",
    )
    passed = modules_passed(lambda: runs.fit(X, y)) | modules_passed(runs.plot)
    plt.close("all")
    described = (
        page("CONTRIBUTING.md")
        .partition("On its way from `StabilityCV.fit`")[2]
        .partition("\n\n")[0]
    )
    named = set(re.findall(r"`(?:_\w+/)?((?<=/)\w+|_\w+)`", described))
    assert named == {path.stem for path in passed}


_NUMBER = "[0-9]{2,}|seven|eight|nine|ten|eleven|twelve|[a-z]+teen|twenty(-[a-z]+)?"
_THINGS = "displays|filters|splitters|importances"
_COUNT = re.compile(
    rf"\b(({_NUMBER}) (stability )?measures|({_NUMBER}|[2-9]|two|three|four|five|six) ({_THINGS}))\b",
    re.IGNORECASE,
)


def test_readme_tutorial_front_page_and_demo_tell_the_same_story():
    """The page of the bundled data, with the same numbers everywhere."""
    story = (
        "There is signal. Two samples of 284 rows share 4.3 of 5 features.",
        "AUC 0.991 ± 0.002; none of 20 permuted targets reached more than 0.525. Stability on other data 0.83",
    )
    for name in (
        "README.md",
        "docs/index.md",
        "docs/tutorial.md",
        "docs/command_line.md",
    ):
        text = " ".join((TOP / name).read_text(encoding="utf-8").split())
        assert all(sentence in text for sentence in story), name


def test_how_many_there_are_is_never_typed():
    page("README.md")
    pages = [
        TOP / "README.md",
        TOP / "CHANGELOG.md",
        TOP / "CONTRIBUTING.md",
        *TOP.glob("docs/*.md"),
        *SOURCES,
    ]
    found = {
        str(path): match[0]
        for path in pages
        if (match := _COUNT.search(path.read_text()))
    }
    assert not found, "say it without the number, which changes"


def test_the_table_of_measures_is_made_of_the_registry():
    assert "{{ measure_table }}" in page("docs/measures.md")
    assert "skstab.measure_table().iterrows()" in page("docs/conf.py")


def test_no_page_has_a_name_that_sphinx_uses_itself():
    own = {"genindex", "modindex", "py-modindex", "search"}
    assert not own & {path.stem for path in TOP.glob("docs/*.md")}

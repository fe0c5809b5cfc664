"""The package as a whole: what importing it costs, which way imports point, and what its docstrings promise."""

import ast
import inspect
import math
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpydoc.docscrape
import pytest

import skstab

ROOT = Path(skstab.__file__).parent

# -- import ----------------------------------------------------------------------------------------------------------


def modules_after(statement):
    code = f"import sys; {statement}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_skstab_is_quick_because_it_imports_nothing_heavy():
    assert not modules_after("import skstab") & {"numpy", "scipy", "pandas", "sklearn", "matplotlib"}


def test_no_plotting_package_is_imported():
    loaded = modules_after("import skstab; [getattr(skstab, name) for name in skstab.__all__]")
    assert "skstab.metrics" in loaded
    assert not loaded & {"matplotlib", "seaborn", "plotly", "jinja2", "distributed"}


def test_metrics_need_neither_scikit_learn_nor_pandas_to_be_imported():
    assert not modules_after("import skstab.metrics") & {"sklearn", "pandas", "scipy.stats"}


def test_unknown_attributes_are_attribute_errors():
    with pytest.raises(AttributeError, match="has no attribute 'stabilty_score'"):
        _ = skstab.stabilty_score


def test_dir_lists_the_public_names():
    assert {"metrics", "stability_score"} <= set(dir(skstab))


# -- the direction of imports ----------------------------------------------------------------------------------------

# A layer may import from those before it.
LAYERS = [
    "_checks",
    "_compat",
    "metrics",
    "model_selection",
    "feature_selection",
    "inspection",
    "datasets",
    "_cli",
    "__main__",
]


def imported_layers(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skstab"):
            assert node.level == 0
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from [a.name.split(".")[1] for a in node.names if a.name.startswith("skstab.")]


def layer_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


SOURCES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_upwards(path):
    own = LAYERS.index(layer_of(path))
    above = [LAYERS.index(layer) for layer in imported_layers(path) if layer != layer_of(path)]
    assert all(layer < own for layer in above)


def test_every_module_belongs_to_a_layer():
    assert {layer_of(path) for path in SOURCES} <= set(LAYERS)


def test_only_compat_touches_private_names_of_scikit_learn():
    for path in SOURCES:
        if layer_of(path) == "_compat":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                assert not [name for name in names if name.startswith("_")], path


# -- docstrings ------------------------------------------------------------------------------------------------------

SUBPACKAGES = ["datasets", *(name for name in LAYERS if name[0] != "_" and (ROOT / name / "__init__.py").exists())]
PUBLIC = [
    (f"{package}.{name}", getattr(import_module(f"skstab.{package}"), name))
    for package in SUBPACKAGES
    for name in import_module(f"skstab.{package}").__all__
]


def documented(obj):
    doc = numpydoc.docscrape.ClassDoc(obj) if inspect.isclass(obj) else numpydoc.docscrape.FunctionDoc(obj)
    return {
        name.strip("*"): parameter.type
        for parameter in doc["Parameters"]
        for name in parameter.name.replace(" ", "").split(",")
    }


def signature_of(obj):
    return {name: p for name, p in inspect.signature(obj).parameters.items() if name != "self"}


@pytest.mark.parametrize(("name", "obj"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_docstrings_describe_the_signature(name, obj):
    types, parameters = documented(obj), signature_of(obj)
    assert list(types) == list(parameters)
    for parameter, given in parameters.items():
        if given.default is inspect.Parameter.empty:
            assert "default" not in types[parameter]
        else:
            stated = types[parameter].rpartition("default=")[2]
            assert ast.literal_eval(stated.replace("np.nan", "None")) == _literal(given.default), parameter


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
    # X and y come in this order everywhere in scikit-learn.
    parameters = [p for p in list(signature_of(obj).values())[1:] if p.name != "y"]
    optional = [p for p in parameters if p.default is not inspect.Parameter.empty]
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in optional)


def test_the_main_names_are_the_same_objects_at_the_top():
    for name, package in skstab._NAMES.items():
        assert getattr(skstab, name) is getattr(import_module(f"skstab.{package}"), name)


# -- README ----------------------------------------------------------------------------------------------------------


def test_the_readme_lists_every_measure_with_its_properties():
    readme = ROOT.parent / "README.md"
    if not readme.exists():
        pytest.skip("the README is not part of an installed package")
    text = readme.read_text()
    marks = {True: "✓", False: "✗"}
    for name, row in skstab.measure_table().iterrows():
        flags = [row[f] for f in ("fully_defined", "monotone", "bounded", "maximum", "chance_corrected")]
        cells = " | ".join(marks.get(flag, "–") for flag in flags)
        assert f"| `{name}` | {row['kind']} | {cells} |" in text

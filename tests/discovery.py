"""What the package exports, found by its form instead of listed: what is added enters the common tests by itself."""

import ast
import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

import skstab

ROOT = Path(skstab.__file__).parent
PACKAGES = sorted(
    module.name
    for module in pkgutil.iter_modules([str(ROOT)])
    if not module.name.startswith("_")
)


def exported(package):
    """Names and objects that a package exports."""
    module = import_module(f"skstab.{package}")
    return {name: getattr(module, name) for name in module.__all__}


def displays():
    """Classes that are drawn."""
    return {
        name: thing
        for name, thing in exported("inspection").items()
        if inspect.isclass(thing) and _is_drawn(thing)
    }


def _is_drawn(thing):
    return thing.__name__.endswith("Display") or hasattr(thing, "plot")


def filters():
    """Functions that score the features of X by y."""
    return {
        name: thing
        for name, thing in exported("feature_selection").items()
        if inspect.isfunction(thing)
        and list(inspect.signature(thing).parameters)[:2] == ["X", "y"]
    }


def splitters():
    """Classes whose instances do nothing but split rows."""
    return {
        name: thing
        for name, thing in exported("model_selection").items()
        if inspect.isclass(thing)
        and (name.endswith("Split") or hasattr(thing, "split"))
        and not hasattr(thing, "fit")
    }


def importances():
    """Functions of a fitted model and the rows it was fitted on."""
    return {
        name: thing
        for name, thing in exported("inspection").items()
        if inspect.isfunction(thing)
        and (
            name.endswith("_importance")
            or list(inspect.signature(thing).parameters)[:2] == ["model", "X"]
        )
    }


# -- imports -----------------------------------------------------------------------------------------------------------


def module_name(path):
    """Dotted name of a source file."""
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )


def imports_of(path, *, types=False):
    """Dotted names that a source file imports from skstab, at the top or inside a function; also for types only."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree) if types else _running(tree):
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").split(".")[0] == "skstab"
        ):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (
                alias.name
                for alias in node.names
                if alias.name.split(".")[0] == "skstab"
            )
        assert not (isinstance(node, ast.ImportFrom) and node.level), (
            f"{path} imports relative to itself"
        )


def _running(node):
    """Every node but those that only a type checker reads."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not _is_for_types(child):
            yield from _running(child)


def _is_for_types(node):
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )

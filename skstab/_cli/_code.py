"""Python code that repeats what a command did."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from typing import Any

from sklearn.pipeline import Pipeline


def source_of(value: Any) -> str:
    """Python code that makes an estimator, or a parameter of one, again."""
    if isinstance(value, Pipeline):
        return f"make_pipeline({', '.join(source_of(step) for _, step in value.steps)})"
    if hasattr(value, "get_params"):
        given = ", ".join(
            f"{name}={source_of(setting)}" for name, setting in _changed(value).items()
        )
        return f"{type(value).__name__}({given})"
    if inspect.isfunction(value):
        return value.__name__
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def imports_of(values: Iterable[Any]) -> list[str]:
    """Import statements for what `source_of` writes of these values."""
    by_module: dict[str, set[str]] = {}
    for module, name in {found for value in values for found in _names(value)}:
        by_module.setdefault(module, set()).add(name)
    return [
        f"from {module} import {', '.join(sorted(by_module[module]))}"
        for module in sorted(by_module)
    ]


def _names(value: Any) -> Iterable[tuple[str, str]]:
    """Modules and names that the source of a value uses."""
    if isinstance(value, Pipeline):
        yield "sklearn.pipeline", "make_pipeline"
        for _, step in value.steps:
            yield from _names(step)
    elif hasattr(value, "get_params"):
        yield _public_module(type(value)), type(value).__name__
        for setting in _changed(value).values():
            yield from _names(setting)
    elif inspect.isfunction(value):
        yield _public_module(value), value.__name__


def _public_module(thing: Any) -> str:
    return ".".join(
        part for part in thing.__module__.split(".") if not part.startswith("_")
    )


def _changed(estimator: Any) -> dict[str, Any]:
    """Parameters that differ from their defaults."""
    defaults = inspect.signature(type(estimator)).parameters
    values = estimator.get_params(deep=False)
    return {
        name: value
        for name, value in values.items()
        if repr(value) != repr(defaults[name].default)
    }


def comparing(
    selectors: dict[str, Any], steps: list[Any], data: list[str], call: str
) -> list[str]:
    """Script from the data to a comparison of selectors, each after the same first steps."""
    first = ", ".join(source_of(step) for step in steps)
    return [
        *imports_of([*selectors.values(), *steps, Pipeline([])]),
        "",
        "from skstab import BootstrapSplit, ParetoRefit, compare_selectors",
        "",
        *data,
        "",
        "selectors = {",
        *(
            f"    {name!r}: {source_of(selector)},"
            for name, selector in selectors.items()
        ),
        "}",
        f"selectors = {{name: make_pipeline({first}, selector) for name, selector in selectors.items()}}",
        "",
        "",
        "def compare(selectors):",
        f"    return {call}",
        "",
        "",
    ]

"""How an object of a lower room reaches the display that draws it: by name, through one registry.

`skstab.inspection` fills the registry when it is first needed; no room below it imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import Any

from skstab._typing import Display

__all__ = ["DISPLAYS", "draw"]

# What is drawn → a function of the object that makes its display.
DISPLAYS: dict[str, Callable[..., Display]] = {}


def draw(kind: str, source: Any, *, ax: Any = None, **options: Any) -> Display:
    """Draw an object by the display of this name; each option goes to what makes the display, or to its `plot`."""
    make = _maker(kind)
    of_data = _options_of(make)
    display = make(
        source, **{name: value for name, value in options.items() if name in of_data}
    )
    of_picture = _options_of(display.plot)
    if unknown := [name for name in options if name not in (*of_data, *of_picture)]:
        known = ", ".join([*of_data, *of_picture]) or "none"
        raise TypeError(
            f"options of this picture are: {known}; got {', '.join(unknown)}"
        )
    return display.plot(
        ax, **{name: value for name, value in options.items() if name not in of_data}
    )


def _maker(kind: str) -> Callable[..., Display]:
    if not DISPLAYS:
        import_module("skstab.inspection")
    if kind not in DISPLAYS:
        prefix, _, wrong = kind.partition(": ")
        known = [
            name.removeprefix(f"{prefix}: ")
            for name in DISPLAYS
            if name.startswith(f"{prefix}: ")
        ]
        raise ValueError(
            f"kind must be one of {', '.join(map(repr, known))}; got {wrong!r}"
        )
    return DISPLAYS[kind]


def _options_of(function: Callable[..., Any]) -> list[str]:
    """Names of all parameters but the first, which is the object or the axes."""
    return list(signature(function).parameters)[1:]

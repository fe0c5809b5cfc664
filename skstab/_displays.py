"""How an object of a lower room reaches the display that draws it: by name, through one registry.

`skstab.inspection` fills the registry when it is first needed; no room below it imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from skstab._typing import Display

__all__ = ["DISPLAYS", "draw"]

# What is drawn → a function of the object that makes its display.
DISPLAYS: dict[str, Callable[..., Display]] = {}


def draw(kind: str, source: Any, *, ax: Any = None, **options: Any) -> Display:
    """Draw an object by the display of this name."""
    if not DISPLAYS:
        import_module("skstab.inspection")
    if kind not in DISPLAYS:
        prefix, _, wrong = kind.partition(": ")
        known = [name.removeprefix(f"{prefix}: ") for name in DISPLAYS if name.startswith(f"{prefix}: ")]
        raise ValueError(f"kind must be one of {', '.join(map(repr, known))}; got {wrong!r}")
    return DISPLAYS[kind](source, **options).plot(ax=ax)

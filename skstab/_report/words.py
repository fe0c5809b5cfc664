"""Words that reports share with the command line, and the error that a user can correct."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SELECTORS = (
    "lasso",
    "elastic-net",
    "rfe",
    "hybrid-rfe",
    "stability-selection",
    "forest",
    "k-best",
)
DEFAULT_SELECTORS = ("lasso", "rfe", "hybrid-rfe", "k-best")
FOR_SURVIVAL = ("lasso", "rfe", "k-best")
_SHOWN = 8
_LONG = 20


class UserError(ValueError):
    """An error that the user can correct: reported in one line, without a traceback by the command line."""

    status = 2

    def __str__(self) -> str:
        return " ".join(super().__str__().split())


def listed(names: Sequence[Any]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def plural(number: int, noun: str) -> str:
    """A number with its noun."""
    if number == 1:
        return f"{number} {noun}"
    return f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def first_words(names: Sequence[str]) -> dict[str, str]:
    """The first words of each name, as few as distinguish them, where a name is long."""
    if all(len(name) <= _LONG for name in names):
        return {name: name for name in names}
    n_words = max(len(name.split()) for name in names)
    for number in range(1, n_words):
        found = {name: " ".join(name.split()[:number]) for name in names}
        if len(set(found.values())) == len(found):
            return found
    return {name: name for name in names}

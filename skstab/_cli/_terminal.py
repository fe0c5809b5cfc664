"""What commands show to the user: text, progress, errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from time import monotonic
from typing import Any, Self

_WIDTH = 30
_SHOWN = 8


class UserError(Exception):
    """An error that the user can correct: reported in one line, without a traceback."""

    status = 2

    def __str__(self) -> str:
        return " ".join(super().__str__().split())


class AlertError(UserError):
    """Alerts about the data, where the user asked that they end the command."""

    status = 1


def listed(names: Sequence[Any]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def plural(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def say(text: str = "") -> None:
    """Write one or several lines of output."""
    sys.stdout.write(f"{text}\n")


def complain(text: str) -> None:
    """Write a line of an error."""
    sys.stderr.write(f"skstab: {text}\n")


def require_extras() -> None:
    """Check, before a long run, that reports and pictures can be made; nothing is shown on a screen."""
    for package in ("jinja2", "matplotlib"):
        try:
            import_module(package)
        except ImportError as error:
            raise UserError(f"this command needs {package}: pip install 'skstab[report]'") from error
    import matplotlib as mpl

    mpl.use("agg")


class Progress:
    """A bar on a terminal, a plain line elsewhere."""

    def __init__(self, label: str, total: int) -> None:
        self.label, self.total, self.done = label, total, 0
        self.stream, self.start = sys.stderr, monotonic()

    def __enter__(self) -> Self:
        if self.stream.isatty():
            self._draw()
        else:
            self.stream.write(f"{self.label} ({self.total}) ...\n")
        return self

    def __exit__(self, *_: object) -> None:
        if self.stream.isatty():
            self.stream.write("\n")

    def advance(self) -> None:
        """Count one more as done."""
        self.done += 1
        if self.stream.isatty():
            self._draw()

    def _draw(self) -> None:
        filled = _WIDTH * self.done // self.total
        bar = "#" * filled + "-" * (_WIDTH - filled)
        minutes, seconds = divmod(int(monotonic() - self.start), 60)
        self.stream.write(f"\r{self.label} [{bar}] {self.done}/{self.total}  {minutes}:{seconds:02d}")
        self.stream.flush()

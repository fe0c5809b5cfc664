"""What commands show to the user: text, progress, errors."""

from __future__ import annotations

import sys
from importlib import import_module
from time import monotonic
from typing import Self

from skstab._report.words import UserError, plural

_WIDTH = 30
_LINE = 110  # so that a shorter line hides the one before
_SOON = 20.0  # seconds, before which nobody asks how long it takes


class AlertError(UserError):
    """Alerts about the data, where the user asked that they end the command."""

    status = 1


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
            raise UserError(
                f"this command needs {package}: pip install jinja2 matplotlib"
            ) from error
    import matplotlib as mpl

    mpl.use("agg")


class Progress:
    """A bar with the time that is left on a terminal; elsewhere a line, and another one when that time is known."""

    def __init__(self, label: str, total: int, noun: str = "") -> None:
        self.label, self.total, self.noun, self.done = label, total, noun, 0
        self.stream, self.start, self.is_told = sys.stderr, monotonic(), False

    def __enter__(self) -> Self:
        if self.stream.isatty():
            self._draw()
        else:
            number = f" ({self._all()})" if self.total else ""
            self.stream.write(f"{self.label}{number} ...\n")
        return self

    def __exit__(self, *_: object) -> None:
        if self.stream.isatty():
            self.stream.write("\n")

    def advance(self) -> None:
        """Count one more as done."""
        self.show(self.done + 1, self.total)

    def show(self, n_done: int, total: int) -> None:
        """Show how many are done, and how long the rest will take."""
        self.done, self.total = n_done, total
        if self.stream.isatty():
            self._draw()
        elif not self.is_told and monotonic() - self.start > _SOON and n_done < total:
            self.is_told = True
            self.stream.write(f"  {n_done} of {self._all()} done, {self._left()}\n")
            self.stream.flush()

    def _all(self) -> str:
        return plural(self.total, self.noun) if self.noun else str(self.total)

    def _left(self) -> str:
        return f"about {clock((monotonic() - self.start) / self.done * (self.total - self.done))} left"

    def _draw(self) -> None:
        filled = _WIDTH * self.done // max(self.total, 1)
        bar = "#" * filled + "-" * (_WIDTH - filled)
        left = f", {self._left()}" if 0 < self.done < self.total else ""
        line = f"{self.label} [{bar}] {self.done}/{self.total}  {clock(monotonic() - self.start)}{left}"
        self.stream.write(f"\r{line:<{_LINE}}")
        self.stream.flush()


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"

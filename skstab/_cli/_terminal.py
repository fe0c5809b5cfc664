"""What commands tell the user: text, progress, complaints."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from time import monotonic
from typing import Any, Self

_WIDTH = 30


class UserError(Exception):
    """Something that the user can mend: told in one line, without a traceback."""

    def __str__(self) -> str:
        return " ".join(super().__str__().split())


def say(text: str = "") -> None:
    """Write a line, or several, of what was asked for."""
    sys.stdout.write(f"{text}\n")


def complain(text: str) -> None:
    """Write a line of what is wrong."""
    sys.stderr.write(f"skstab: {text}\n")


def require_extras() -> None:
    """Make sure, before a long run, that reports and pictures can be made; nothing is shown on a screen."""
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
        """Tell that one more is done."""
        self.done += 1
        if self.stream.isatty():
            self._draw()

    def _draw(self) -> None:
        filled = _WIDTH * self.done // self.total
        bar = "#" * filled + "-" * (_WIDTH - filled)
        minutes, seconds = divmod(int(monotonic() - self.start), 60)
        self.stream.write(f"\r{self.label} [{bar}] {self.done}/{self.total}  {minutes}:{seconds:02d}")
        self.stream.flush()


class Watched(dict[str, Any]):
    """A dict of work: whoever goes through its items one after the other moves the bar."""

    def __init__(self, work: dict[str, Any], progress: Progress) -> None:
        super().__init__(work)
        self.progress = progress

    def items(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        """Give the items; one is done when the next is asked for."""
        for item in super().items():
            yield item
            self.progress.advance()

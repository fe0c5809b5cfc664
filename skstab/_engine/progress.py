"""Who is told how far a fit is: callbacks of scikit-learn, a bar, and the command line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

from skstab._compat import FitProgress, RunProgress

__all__ = ["Progress", "watched_by"]

Watcher: TypeAlias = Callable[[int, int], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher | None) -> Iterator[None]:
    """Call `watcher` with the numbers of finished and of all runs, as these finish."""
    before = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(before)


class Progress:
    """The events of one fit, for all who listen.

    Parameters
    ----------
    owner : estimator or None
        Whose callbacks are told.
    n_runs : int
        Number of runs that are to be made.
    X, y : array-like
        The data, for callbacks.
    verbose : int
        From 1 on a line on standard error says how far the runs are.
    """

    def __init__(self, owner: Any, n_runs: int, X: Any, y: Any, verbose: int) -> None:
        self._fit = FitProgress(owner, n_runs, X, y)
        self._n_runs, self._n_begun, self._n_done = n_runs, 0, 0
        bar = Bar(type(owner).__name__ if owner is not None else "runs")
        listeners = [_watcher.get(), bar.show if verbose else None]
        self._listeners = [one for one in listeners if one is not None]

    def begin(self) -> RunProgress:
        """Return what goes with a run to its worker."""
        self._n_begun += 1
        return self._fit.run(self._n_begun - 1)

    def done(self) -> None:
        """Count a run that has finished."""
        self._n_done += 1
        for listener in self._listeners:
            listener(self._n_done, self._n_runs)

    def end(self) -> None:
        """Say that all is over."""
        self._fit.end()


class Bar:
    """A line on standard error: how many runs are done, and how long the others may take.

    Parameters
    ----------
    name : str
        What it stands behind.
    """

    def __init__(self, name: str) -> None:
        self._name, self._start, self._shown = name, time.monotonic(), 0.0

    def show(self, n_done: int, n_runs: int) -> None:
        """Write the line, at most twice a second."""
        now = time.monotonic()
        if n_done < n_runs and now - self._shown < 0.5:
            return
        self._shown = now
        left = (now - self._start) / n_done * (n_runs - n_done)
        end = "\n" if n_done == n_runs or not sys.stderr.isatty() else "\r"
        line = f"{self._name}: {n_done} of {n_runs} runs, about {left:.0f} s left"
        sys.stderr.write(f"{line:<60}{end}")
        sys.stderr.flush()

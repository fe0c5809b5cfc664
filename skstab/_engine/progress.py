"""What is told of runs, and what is kept of them: progress, warnings, and what an interrupted fit had finished."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from skstab._compat import FitProgress, RunProgress
from skstab._engine.job import Job
from skstab._engine.keys import keys_of
from skstab._warnings import warn_user

__all__ = [
    "Progress",
    "Study",
    "Warned",
    "apart_from_others",
    "one_study",
    "watched_by",
]

Watcher: TypeAlias = Callable[[int, int], None]
Warned: TypeAlias = dict[tuple[type[Warning], str], str]  # a text of each kind

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
_study: ContextVar[Study | None] = ContextVar("study", default=None)
# What fits had finished when they were interrupted, by the keys of the runs.
_unfinished: WeakKeyDictionary[Any, dict[bytes, Any]] = WeakKeyDictionary()


@contextmanager
def watched_by(watcher: Watcher | None) -> Iterator[None]:
    """Call `watcher` with the numbers of finished and of all runs, as these finish."""
    before = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(before)


@contextmanager
def apart_from_others() -> Iterator[None]:
    """Let the runs that are made inside of a run not count among those around it."""
    before = _study.set(None)
    try:
        with watched_by(None):
            yield
    finally:
        _study.reset(before)


# -- several jobs of one call ------------------------------------------------------------------------------------------


@contextmanager
def one_study(owner: Any = None) -> Iterator[None]:
    """Tell the warnings of all jobs inside once, and keep what was finished when they are interrupted.

    Parameters
    ----------
    owner : estimator or None
        For whose next fit it is kept. A study inside of another one is a part of it.
    """
    if _study.get() is not None:
        yield
        return
    study = Study(owner)
    before = _study.set(study)
    try:
        yield
    except BaseException as error:
        if study.n_open or not isinstance(error, Exception):
            study.keep_for_next_time()
        raise
    finally:
        _study.reset(before)
    study.tell_warnings()


class Study:
    """What the jobs of one call have in common.

    Parameters
    ----------
    owner : estimator or None
        For whose next fit it is kept what was finished.
    """

    def __init__(self, owner: Any = None) -> None:
        self.owner = owner
        self.left = {} if owner is None else _unfinished.pop(owner, {})
        self.n_open = self._n_runs = 0  # jobs that are not over, runs of all jobs
        self._finished: list[tuple[Job, dict[int, Any]]] = []
        self._warned: dict[Any, list[Any]] = {}

    @staticmethod
    def current() -> Study:
        """The study that a job belongs to."""
        study = _study.get()
        if study is None:
            raise LookupError("runs are made inside of one_study()")
        return study

    def begin(self, job: Job) -> dict[int, Any]:
        """Return where what a job has finished is to be noted, by the numbers of its runs."""
        finished: dict[int, Any] = {}
        self._finished.append((job, finished))
        return finished

    def keep_for_next_time(self) -> None:
        """Keep what was finished, unless it has no digest, by which it is known again."""
        kept = dict(self.left)
        for job, finished in self._finished:
            try:
                keys = keys_of(job) if finished else {}
            except ValueError:
                continue
            kept |= {keys[number]: outcome for number, outcome in finished.items()}
        if self.owner is not None and kept:
            _unfinished[self.owner] = kept

    def count_warnings(self, warned: Warned) -> None:
        """Count those of a run."""
        self._n_runs += 1
        for kind, text in warned.items():
            self._warned.setdefault(kind, [0, text])[0] += 1

    def tell_warnings(self) -> None:
        """Warn once of each kind of what runs warned of."""
        for (category, _), (n_warned, text) in self._warned.items():
            warn_user(f"{text} (in {n_warned} of {self._n_runs} runs)", category)


# -- how far it is -----------------------------------------------------------------------------------------------------


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

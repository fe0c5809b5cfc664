"""How runs come about, from what is asked to what came of it.

What is found in the file is taken from it. What is missing goes to the workers, several short runs at once; where a
worker dies, its runs are made again one by one, and one that dies alone has failed. Everything is stored as it arrives.
"""

from __future__ import annotations

import re
import threading
import time
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from math import ceil
from os import PathLike
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from joblib import effective_n_jobs

from skstab._engine.job import Job, Place, Plan, Task
from skstab._engine.keys import keys_of
from skstab._engine.pool import open_pool
from skstab._engine.progress import Progress, watched_by
from skstab._engine.store import open_stored
from skstab._warnings import bounded, warn_user

__all__ = ["Made", "in_order", "make"]

_BLOCK = 0.2  # seconds of work that a worker is sent at once, where runs are short
_KEPT = 10**7  # numbers of rows that are kept of a fit that was interrupted
# What fits had finished when they were interrupted, by the keys of the runs.
_unfinished: WeakKeyDictionary[Any, dict[bytes, Any]] = WeakKeyDictionary()

Warned: TypeAlias = dict[tuple[type[Warning], str], str]  # a text of each kind


class Made(NamedTuple):
    """What came of candidates on one split."""

    place: Place
    outcomes: dict[int, Any]  # by candidate


def make(
    job: Job,
    *,
    checkpoint: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    owner: Any = None,
    rounds: Iterable[Sequence[Place]] | None = None,
) -> Generator[Made, None, None]:
    """Make the runs of a job, and yield each as soon as it is there.

    Parameters
    ----------
    job : Job
        What is asked.
    checkpoint : str, path-like or None
        The file of the runs that are there already, in which others are kept.
    n_jobs : int or None
        Number of workers.
    verbose : int
        From 1 on, standard error says how far the runs are.
    owner : estimator or None
        Whose callbacks are told. Without a checkpoint, what is finished when this fit is interrupted is kept for the
        next one of the same object.
    rounds : iterable of sequences of Place, default=None
        The splits to make before the next round is asked for; None makes all of the job.
    """
    places = list(job.places())
    keeps = owner is not None and checkpoint is None
    left = _unfinished.pop(owner, {}) if keeps else {}
    keys = keys_of(job) if checkpoint is not None or left else {}
    unpack = partial(job.plan.unpack, n_features=job.X.shape[1])
    finished: dict[int, Any] = {}  # by the numbers of the runs
    warned: dict[Any, list[Any]] = {}
    n_workers, is_over = effective_n_jobs(n_jobs), False
    try:
        with (
            open_stored(checkpoint, keys, pack=job.plan.pack, unpack=unpack) as stored,
            open_pool(n_jobs, one_by_one=True) as pool,
        ):
            numbers = [n for place in places for n in job.numbers(place)]
            stored_runs = stored.read(numbers).items()
            found = {n: run for n, run in stored_runs if run is not None}
            found |= {n: left[keys[n]] for n in numbers if keys.get(n) in left}
            calls = _calls_of(job, places, found, n_workers)
            n_calls = sum(map(len, calls.values()))
            progress = Progress(owner, n_calls, job.X, job.parts[0].y, verbose)
            workers = _Workers(job, pool, n_workers, progress)
            for wanted in [places] if rounds is None else rounds:
                for place in wanted:
                    known = {n: found.pop(n) for n in job.numbers(place) if n in found}
                    if known:
                        finished |= known if keeps else {}
                        yield Made(place, job.by_candidate(known))
                missing = [call for place in wanted for call in calls.get(place, ())]
                for call, result in workers.made(missing):
                    progress.done()
                    _count(result.warned, warned)
                    runs = {
                        job.number(call.place, candidate): outcome
                        for candidate, outcome in result.outcomes.items()
                    }
                    if keeps and len(finished) * job.X.shape[0] < _KEPT:
                        finished |= runs
                    # First, so that whoever takes it has it also where the disk is full.
                    yield Made(call.place, result.outcomes)
                    for number, outcome in runs.items():
                        stored.keep(number, outcome)
            progress.end()
            is_over = True
    finally:
        if keeps and finished and not is_over:
            _keep_for_next_time(owner, job, finished)
    _tell(warned, n_calls)


def in_order(job: Job, made: Iterable[Made]) -> Iterator[Made]:
    """Yield what is made in the order of the splits, whatever is finished first."""
    waiting: dict[Place, dict[int, Any]] = {place: {} for place in job.places()}
    for place, outcomes in made:
        waiting[place] |= outcomes
        while waiting:
            first = next(iter(waiting))
            if len(waiting[first]) < len(job.candidates):
                break
            yield Made(first, waiting.pop(first))


def _keep_for_next_time(owner: Any, job: Job, finished: Mapping[int, Any]) -> None:
    try:
        keys = keys_of(job)
    except ValueError:  # what has no digest is not known again
        return
    _unfinished[owner] = {keys[number]: outcome for number, outcome in finished.items()}


# -- what is sent ------------------------------------------------------------------------------------------------------


class _Call(NamedTuple):
    """Candidates that are missing on one split."""

    place: Place
    candidates: tuple[int, ...]


def _calls_of(
    job: Job, places: Sequence[Place], found: Mapping[int, Any], n_workers: int
) -> dict[Place, list[_Call]]:
    """What is missing; candidates are divided where there are fewer splits than workers."""
    lacking = {
        place: tuple(c for c, n in enumerate(job.numbers(place)) if n not in found)
        for place in places
    }
    missing = {place: those for place, those in lacking.items() if those}
    n_pieces = ceil(n_workers / max(1, len(missing)))

    @cache
    def pieces(those: tuple[int, ...]) -> list[tuple[int, ...]]:
        if n_pieces == 1 or len(those) == 1:
            return [those]
        return job.plan.pieces({c: job.candidates[c] for c in those}, n_pieces)

    return {
        place: [_Call(place, piece) for piece in pieces(those)]
        for place, those in missing.items()
    }


class _Workers:
    """The workers of one job.

    Parameters
    ----------
    job : Job
        What they work on.
    pool : Pool
        How they are reached.
    n_workers : int
        How many there are.
    progress : Progress
        Who is told when runs begin.
    """

    def __init__(self, job: Job, pool: Any, n_workers: int, progress: Progress) -> None:
        self._job, self._pool, self._progress = job, pool, progress
        self._n_workers = n_workers
        self._trees: dict[tuple[int, ...], Any] = {}  # of candidates

    def made(self, calls: Sequence[_Call]) -> Iterator[tuple[_Call, Result]]:
        """Have calls made, and yield what came of each."""
        # The first call of each worker is timed; others are sent in blocks, if they are short.
        n_first = len(calls) if self._n_workers == 1 else self._n_workers
        blocks, rest = [[call] for call in calls[:n_first]], calls[n_first:]
        seconds: list[float] = []
        while blocks:
            lost: list[_Call] = []
            for block, results in self._results(blocks):
                if isinstance(results, _Lost):
                    lost += block
                    continue
                for call, result in zip(block, results, strict=True):
                    seconds.append(result.seconds)
                    yield call, result
            blocks = [[call] for call in lost]
            if not blocks:
                blocks, rest = _in_blocks(rest, seconds, self._n_workers), []

    def _results(
        self, blocks: Sequence[list[_Call]]
    ) -> Iterator[tuple[list[_Call], list[Result] | _Lost]]:
        """Send blocks; one whose worker died is lost, unless it is a single call, which has failed."""
        job = self._job
        sent = {
            at: (job.plan, job.X, [self._unit(call) for call in block])
            for at, block in enumerate(blocks)
        }
        with watched_by(None):  # runs inside of runs are not counted
            for at, results in self._pool.as_finished(run_block, sent, lost=_Lost):
                block = blocks[at]
                if isinstance(results, _Lost) and len(block) == 1:
                    failed = job.plan.failed(results.error)
                    outcomes = dict.fromkeys(block[0].candidates, failed)
                    yield block, [Result(outcomes, 0.0, {})]
                else:
                    yield block, results

    def _unit(self, call: _Call) -> Unit:
        those = call.candidates
        if those not in self._trees:
            named = {c: self._job.candidates[c] for c in those}
            self._trees[those] = self._job.plan.together(named)
        part = self._job.parts[call.place.part]
        task = part.task(call.place.split, self._progress.begin())
        return Unit(self._trees[those], part.y, task)


class _Lost(NamedTuple):
    """A block whose worker died although it was alone."""

    error: Exception


def _in_blocks(
    calls: Sequence[_Call], seconds: Sequence[float], n_workers: int
) -> list[list[_Call]]:
    """Put as many calls together as take a worker a moment, but so that there is work for all workers."""
    if not calls:
        return []
    short = int(_BLOCK / max(float(np.median(seconds)), 1e-6))
    size = max(1, min(short, ceil(len(calls) / (2 * n_workers))))
    return [list(calls[at : at + size]) for at in range(0, len(calls), size)]


# -- in a worker -------------------------------------------------------------------------------------------------------


class Unit(NamedTuple):
    """Candidates, put together, with the target and the task of one run of theirs."""

    candidates: Any
    y: Any
    task: Task


class Result(NamedTuple):
    """What comes back: an outcome for each candidate, the time it took, and the warnings."""

    outcomes: dict[int, Any]
    seconds: float
    warned: Warned


def run_block(plan: Plan, X: Any, units: Sequence[Unit]) -> list[Result]:
    """Make runs one after the other."""
    results = []
    for candidates, y, task in units:
        start = time.perf_counter()
        with _recorded() as caught:
            outcomes = plan.run(candidates, X, y, task)
        seconds = time.perf_counter() - start
        results.append(Result(outcomes, seconds, _kinds_of(caught)))
    return results


# -- warnings of runs --------------------------------------------------------------------------------------------------


@contextmanager
def _recorded() -> Iterator[Sequence[warnings.WarningMessage]]:
    """Record warnings instead of showing them, but not in threads, which share their filters."""
    if threading.current_thread() is not threading.main_thread():
        yield []
        return
    with warnings.catch_warnings(record=True) as caught:
        yield caught


def _kinds_of(caught: Iterable[warnings.WarningMessage]) -> Warned:
    """One text of each kind of warning; texts that differ in numbers only are of one kind."""
    kinds: Warned = {}
    for warning in caught:
        text = bounded(str(warning.message))
        kinds.setdefault((warning.category, re.sub(r"[-+.\d]+", "#", text)), text)
    return kinds


def _tell(counts: Mapping[Any, Sequence[Any]], n_runs: int) -> None:
    """Warn once of each kind."""
    for (category, _), (n_warned, text) in counts.items():
        warn_user(f"{text} (in {n_warned} of {n_runs} runs)", category)


def _count(warned: Warned, counts: dict[Any, list[Any]]) -> None:
    """Count the runs that warned, by the kind of the warning."""
    for kind, text in warned.items():
        counts.setdefault(kind, [0, text])[0] += 1

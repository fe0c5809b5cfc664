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
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from skstab._engine.job import Job, Made, Place, Plan, Task
from skstab._engine.keys import keys_of
from skstab._engine.pool import open_pool
from skstab._engine.progress import (
    Progress,
    Study,
    Warned,
    apart_from_others,
    one_study,
)
from skstab._engine.store import open_stored
from skstab._warnings import bounded

__all__ = ["Made", "in_order", "make", "one_study"]

_BLOCK = 0.2  # seconds of work that a worker is sent at once, where runs are short
_KEPT = 10**7  # numbers of rows that are kept of a fit that was interrupted


def make(
    job: Job,
    *,
    checkpoint: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    owner: Any = None,
    rounds: Iterable[Sequence[Place]] | None = None,
    about: str = "",
    **limits: Any,
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
        Whose callbacks are told.
    rounds : iterable of sequences of Place, default=None
        The splits to make before the next round is asked for; None makes all of the job.
    about : str
        A line about the fit, for who looks at the checkpoint.
    **limits : float
        `max_seconds` and `max_memory` of each run.
    """
    limits = {name: limit for name, limit in limits.items() if limit is not None}
    places = list(job.places())
    study = Study.current()
    keeps = study.owner is not None and checkpoint is None
    left = study.left if keeps else {}
    finished = study.begin(job)
    keys = keys_of(job) if checkpoint is not None or left else {}
    unpack = partial(_unpacked, job, limits)
    with (
        open_stored(
            checkpoint, keys, pack=job.plan.pack, unpack=unpack, about=about
        ) as stored,
        open_pool(n_jobs, **limits) as pool,
    ):
        numbers = [n for place in places for n in job.numbers(place)]
        found = stored.read(numbers)
        found |= {n: left[keys[n]] for n in numbers if keys.get(n) in left}
        n_workers = effective_n_jobs(n_jobs)
        calls = _calls_of(job, places, found, n_workers, whole=not limits)
        workers = _Workers(job, pool, stored, study, n_workers, in_blocks=not limits)
        n_calls = sum(map(len, calls.values()))
        progress = Progress(owner, n_calls, job.X, job.parts[0].y, verbose)
        study.n_open += 1
        for wanted in [places] if rounds is None else rounds:
            for place in wanted:
                known = {n: found.pop(n) for n in job.numbers(place) if n in found}
                if known:
                    yield Made(place, job.by_candidate(known))
            missing = [call for place in wanted for call in calls.get(place, ())]
            for number, outcome in workers.made(missing, progress):
                if keeps and len(finished) * job.X.shape[0] < _KEPT:
                    finished[number] = outcome
                yield job.made(number, outcome)
        progress.end()
        study.n_open -= 1


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


def _unpacked(job: Job, limits: Mapping[str, float], fields: Mapping[str, Any]) -> Any:
    """What is stored of a run; None of one that was stopped at a lower limit than there is now."""
    stopped = re.search(r"(max_\w+)=([\d.e+-]+)", fields.get("fit_error") or "")
    if stopped and limits.get(stopped[1], np.inf) > float(stopped[2]):
        return None
    return job.plan.unpack(fields, job.X.shape[1])


# -- what is sent ------------------------------------------------------------------------------------------------------


class _Call(NamedTuple):
    """Candidates that are missing on one split."""

    place: Place
    candidates: tuple[int, ...]

    def numbers(self, job: Job) -> list[int]:
        """The numbers of their runs."""
        return [job.number(self.place, candidate) for candidate in self.candidates]


def _calls_of(
    job: Job,
    places: Sequence[Place],
    found: Mapping[int, Any],
    n_workers: int,
    *,
    whole: bool,
) -> dict[Place, list[_Call]]:
    """What is missing; candidates are divided where there are fewer splits than workers, or each has its limits."""
    lacking = {
        place: tuple(c for c, n in enumerate(job.numbers(place)) if n not in found)
        for place in places
    }
    missing = {place: those for place, those in lacking.items() if those}
    n_pieces = ceil(n_workers / max(1, len(missing)))

    @cache
    def pieces(those: tuple[int, ...]) -> list[tuple[int, ...]]:
        if not whole:
            return [(c,) for c in those]
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
    pool : AnyPool
        How they are reached.
    stored : Stored
        Where what they make is kept.
    study : Study
        What their warnings are counted in.
    n_workers : int
        How many there are.
    in_blocks : bool
        Whether they may be sent several runs at once.
    """

    def __init__(
        self,
        job: Job,
        pool: Any,
        stored: Any,
        study: Study,
        n_workers: int,
        *,
        in_blocks: bool,
    ) -> None:
        self._job, self._pool, self._stored, self._study = job, pool, stored, study
        self._n_workers, self._in_blocks = n_workers, in_blocks and n_workers > 1
        self._may_share = in_blocks
        self._trees: dict[tuple[int, ...], Any] = {}  # of candidates
        self._seconds: list[float] = []  # of each run
        self._lost: list[_Call] = []

    def made(
        self, calls: Sequence[_Call], progress: Progress
    ) -> Iterator[tuple[int, Any]]:
        """Have calls made, and yield the number and the outcome of each run."""
        # The first call of each worker is timed; others are sent in blocks, if they are short.
        n_first = self._n_workers if self._in_blocks else len(calls)
        blocks, rest = [[call] for call in calls[:n_first]], calls[n_first:]
        if calls and self._may_share and self._n_ahead(calls[0]) > 1:
            blocks, rest = self._neighbours(calls), []
        while blocks:
            yield from self._sent(blocks, progress)
            blocks, self._lost = [[call] for call in self._lost], []
            if rest and not blocks:
                blocks, rest = _in_blocks(rest, self._seconds, self._n_workers), []

    def _neighbours(self, calls: Sequence[_Call]) -> list[list[_Call]]:
        """Put calls together that share work, but so that there is work for all workers."""
        groups: dict[Any, list[_Call]] = {}
        for call in calls:
            first = call.place.split // self._n_ahead(call)
            groups.setdefault((call.place.part, call.candidates, first), []).append(
                call
            )
        n_pieces = ceil(self._n_workers / len(groups))
        return [
            group[at : at + size]
            for group in groups.values()
            for size in [ceil(len(group) / n_pieces)]
            for at in range(0, len(group), size)
        ]

    def _n_ahead(self, call: _Call) -> int:
        tree = self._tree(call.candidates)
        return self._job.plan.n_ahead(tree, self._job.X)

    def _sent(
        self, blocks: Sequence[list[_Call]], progress: Progress
    ) -> Iterator[tuple[int, Any]]:
        job = self._job
        units = [[self._unit(call, progress) for call in block] for block in blocks]
        yield from self._stored.made(
            self._pool,
            run_block,
            {at: (job.plan, job.X, units[at]) for at in range(len(blocks))},
            lost=_Lost,
            runs={
                at: [n for call in block for n in call.numbers(job)]
                for at, block in enumerate(blocks)
            },
            parts=lambda at, results: self._arrived(blocks[at], results, progress),
        )

    def _unit(self, call: _Call, progress: Progress) -> Unit:
        part = self._job.parts[call.place.part]
        task = part.task(call.place.split, progress.begin())
        return Unit(self._tree(call.candidates), part.y, task)

    def _tree(self, those: tuple[int, ...]) -> Any:
        if those not in self._trees:
            named = {c: self._job.candidates[c] for c in those}
            self._trees[those] = self._job.plan.together(named)
        return self._trees[those]

    def _arrived(
        self, block: Sequence[_Call], results: list[Result] | _Lost, progress: Progress
    ) -> dict[int, Any]:
        """The outcomes of a block by their numbers; none of one that was lost, but a single call has failed."""
        if isinstance(results, _Lost):
            if len(block) > 1:
                self._lost += block
                return {}
            failed = self._job.plan.failed(results.error)
            results = [Result(dict.fromkeys(block[0].candidates, failed), 0.0, {})]
        outcomes = {}
        for call, result in zip(block, results, strict=True):
            progress.done()
            self._seconds.append(result.seconds)
            self._study.count_warnings(result.warned)
            for candidate, outcome in result.outcomes.items():
                outcomes[self._job.number(call.place, candidate)] = outcome
        return outcomes


class _Lost(NamedTuple):
    """A block whose worker died although it was alone."""

    error: Exception


def _in_blocks(
    calls: Sequence[_Call], seconds: Sequence[float], n_workers: int
) -> list[list[_Call]]:
    """Put as many calls together as take a worker a moment, but so that there is work for all workers."""
    if not calls:
        return []
    usual = float(np.median(seconds)) if seconds else _BLOCK
    short = int(_BLOCK / max(usual, 1e-6))
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
    start = time.perf_counter()
    ahead = _ahead(plan, X, units)
    spent = (time.perf_counter() - start) / len(units)
    results = []
    for (candidates, y, task), known in zip(units, ahead, strict=True):
        start = time.perf_counter()
        with _recorded() as caught, apart_from_others():
            outcomes = plan.run(candidates, X, y, task._replace(ahead=known))
        seconds = spent + time.perf_counter() - start
        results.append(Result(outcomes, seconds, _kinds_of(caught)))
    return results


def _ahead(plan: Plan, X: Any, units: Sequence[Unit]) -> Sequence[Any]:
    """What the plan computes for runs of the same candidates at once; nothing where they differ."""
    first = units[0]
    alike = [u for u in units if u.candidates is first.candidates and u.y is first.y]
    if len(alike) < len(units) or plan.n_ahead(first.candidates, X) == 1:
        return [None] * len(units)
    return plan.ahead(first.candidates, X, first.y, [unit.task for unit in units])


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

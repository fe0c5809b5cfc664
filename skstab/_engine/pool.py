"""Calls in a pool of workers: their results as they finish, and calls made again where a worker died."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import BACKENDS, get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from skstab._engine.alone import (
    AlonePool,
    Limits,
    Lost,
    Supervised,
    limits_of,
)
from skstab._engine.cluster import DaskPool, active_client

__all__ = ["AnyPool", "Pool", "open_pool"]

AnyPool: TypeAlias = "Pool | AlonePool | DaskPool"


@contextmanager
def open_pool(
    n_jobs: int | None,
    *,
    max_seconds: float | None = None,
    max_memory: int | None = None,
) -> Iterator[AnyPool]:
    """Start the workers of several rounds of calls, by joblib unless it is set to use Dask.

    Parameters
    ----------
    n_jobs : int or None
        Number of workers.
    max_seconds : float, default=None
        What a call may take; one that takes longer is stopped, and is lost.
    max_memory : int, default=None
        Bytes that a call may need beyond those its process starts with; on Linux only.
    """
    limits = None
    if max_seconds is not None or max_memory is not None:
        limits = limits_of(max_seconds, max_memory)
    if (client := active_client()) is not None:
        yield DaskPool(client, limits)
        return
    if limits is not None and type(get_active_backend()[0]) in BACKENDS.values():
        yield AlonePool(joblib.effective_n_jobs(n_jobs), limits)
        return
    with _workers(n_jobs) as parallel:
        yield Pool(parallel, limits)


def _workers(n_jobs: int | None) -> joblib.Parallel:
    # Each result comes as soon as it is there, and not with those of a batch.
    settings: dict[str, Any] = {"batch_size": 1}
    # One job is done here, where scikit-learn's settings and the filters of warnings are those of the caller already.
    kind = joblib.Parallel if joblib.effective_n_jobs(n_jobs) == 1 else Parallel
    if isinstance(get_active_backend()[0], BACKENDS["multiprocessing"]):
        settings["backend"] = "loky"  # the other one waits for ever for the dead
    try:
        return kind(n_jobs=n_jobs, return_as="generator_unordered", **settings)
    except ValueError:  # a backend that returns results only when it has them all
        return kind(n_jobs=n_jobs, **settings)


class Pool:
    """Workers that make calls.

    Parameters
    ----------
    parallel : joblib.Parallel
        The workers.
    limits : Limits, default=None
        What each call may take.
    """

    def __init__(
        self,
        parallel: joblib.Parallel,
        limits: Limits | None = None,
    ) -> None:
        self._parallel, self._limits = parallel, limits
        self._delayed = delayed if isinstance(parallel, Parallel) else joblib.delayed

    @property
    def alone(self) -> AlonePool:
        """A pool that makes one call at a time, in a process of its own."""
        return AlonePool(1, self._limits or Limits(), tries=1)

    def as_finished(
        self,
        function: Callable[..., Any],
        calls: Mapping[int, tuple[Any, ...]],
        *,
        lost: Callable[[Exception], Any],
        may_begin: Callable[[int], bool] = lambda _: True,
    ) -> Iterator[tuple[int, Any]]:
        """Make calls, and yield the number and the result of each as soon as it is there.

        When a worker dies, the calls that were under way are made again in the end, each alone, so that the one which
        kills its worker is found. The others are made again by new workers.

        Parameters
        ----------
        function : callable
            What is called.
        calls : mapping of int to tuple
            The arguments of each call, by its number.
        lost : callable
            Returns the result of a call that killed its worker though it was alone, or that was stopped at a limit,
            from the error; or raises it.
        may_begin : callable
            Whether a call is made now, by its number; the others are left out.
        """
        work = function
        if self._limits is not None:
            work = Supervised(function, self._limits)
        missing, left_out = dict(calls), set[int]()
        suspects: dict[int, tuple[Any, ...]] = {}
        with TemporaryDirectory(prefix="skstab-", ignore_cleanup_errors=True) as marks:
            while missing.keys() - left_out:
                sent = _sent(missing, may_begin, left_out)
                try:
                    for number, result in self._results(work, sent, marks):
                        # joblib may deliver what was finished while a pool broke in the next round, and so twice.
                        if missing.pop(number, None) is not None:
                            is_lost = isinstance(result, Lost)
                            yield number, lost(result.error) if is_lost else result
                except TerminatedWorkerError:
                    begun = missing.keys() & set(map(int, os.listdir(marks)))
                    for number in sorted(begun or missing.keys() - left_out):
                        suspects[number] = missing.pop(number)
        if suspects:
            yield from self.alone.as_finished(function, suspects, lost=lost)

    def _results(
        self,
        function: Callable[..., Any],
        calls: Iterator[tuple[int, tuple[Any, ...]]],
        marks: str,
    ) -> Generator[tuple[int, Any], None, None]:
        if not isinstance(self._parallel, Parallel):
            marks = ""  # one job is done here, and nobody would be left to look
        results = self._parallel(
            self._delayed(_numbered)(marks, number, function, *arguments)
            for number, arguments in calls
        )
        try:
            yield from results
        finally:
            if hasattr(results, "close"):
                with warnings.catch_warnings(action="ignore"):
                    results.close()  # joblib counts the calls that it drops


def _sent(
    calls: Mapping[int, tuple[Any, ...]],
    may_begin: Callable[[int], bool],
    left_out: set[int],
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Those calls that may begin; note the others. The calls may become fewer meanwhile."""
    for number, arguments in list(calls.items()):
        if may_begin(number):
            yield number, arguments
        else:
            left_out.add(number)


def _numbered(
    marks: str, number: int, function: Callable[..., Any], *arguments: Any
) -> tuple[int, Any]:
    if marks:
        with suppress(OSError):  # on another machine there is no such folder
            Path(marks, str(number)).touch()
    return number, function(*arguments)

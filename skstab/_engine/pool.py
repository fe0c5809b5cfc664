"""Calls in a pool of workers: their results as they finish, and calls made again where a worker died."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError
from sklearn.utils.parallel import Parallel, delayed

from skstab._engine.cluster import DaskPool, active_client

__all__ = ["Pool", "open_pool", "watched_by"]

Watcher: TypeAlias = Callable[[int, int], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Call `watcher` with the numbers of finished and of all calls, as these finish in the pools that joblib opens."""
    before = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(before)


@contextmanager
def open_pool(
    n_jobs: int | None, verbose: int = 0, *, one_by_one: bool = False
) -> Iterator[Pool | DaskPool]:
    """Start the workers of several rounds of calls, by joblib unless it is set to use Dask.

    Parameters
    ----------
    n_jobs : int or None
        Number of workers.
    verbose : int, default=0
        How much joblib prints.
    one_by_one : bool, default=False
        Whether each result comes as soon as it is there. joblib sends short calls in batches, which is quicker, but
        their results come only when the whole batch is done, and are lost with it.
    """
    if (client := active_client()) is not None:
        yield DaskPool(client)
        return
    parallel = _workers(n_jobs, verbose=verbose, batch_size=1 if one_by_one else "auto")
    watcher = _watcher.get()
    before = _watcher.set(None)  # pools inside a call are not watched
    try:
        with parallel:
            yield Pool(parallel, watcher)
    finally:
        _watcher.reset(before)


def _workers(n_jobs: int | None, **settings: Any) -> joblib.Parallel:
    # One job is done here, where scikit-learn's settings and the filters of warnings are those of the caller already.
    kind = joblib.Parallel if joblib.effective_n_jobs(n_jobs) == 1 else Parallel
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
    watcher : callable, default=None
        Called with the numbers of finished and of all calls.
    """

    def __init__(
        self, parallel: joblib.Parallel, watcher: Watcher | None = None
    ) -> None:
        self._parallel, self._watcher = parallel, watcher
        self._delayed = delayed if isinstance(parallel, Parallel) else joblib.delayed
        self._n_breaks = 0

    def as_finished(
        self,
        function: Callable[..., Any],
        calls: Mapping[int, tuple[Any, ...]],
        *,
        lost: Callable[[Exception], Any],
    ) -> Iterator[tuple[int, Any]]:
        """Make calls, and yield the number and the result of each as soon as it is there.

        When a worker dies, the calls that have not finished are made again. From the second time on, those that were
        under way are made one at a time, so that the one which kills its worker is found.

        Parameters
        ----------
        function : callable
            What is called.
        calls : mapping of int to tuple
            The arguments of each call, by its number.
        lost : callable
            Returns the result of a call that killed its worker though it was alone, from the error; or raises it.
        """
        missing = dict(calls)
        while missing:
            under_way: dict[int, None] = {}
            try:
                for number, result in self._results(function, missing, under_way):
                    # joblib may deliver what was finished while a pool broke in the next round, and so twice.
                    if missing.pop(number, None) is not None:
                        under_way.pop(number, None)
                        self._tell(len(calls) - len(missing), len(calls))
                        yield number, result
            except TerminatedWorkerError:
                self._n_breaks += 1
                for number in under_way if self._n_breaks > 1 else ():
                    yield number, _call_alone(function, missing.pop(number), lost)

    def _tell(self, n_done: int, n_calls: int) -> None:
        if self._watcher is not None:
            self._watcher(n_done, n_calls)

    def _results(
        self,
        function: Callable[..., Any],
        calls: Mapping[int, Any],
        under_way: dict[int, None],
    ) -> Generator[tuple[int, Any], None, None]:
        results = self._parallel(self._sent(function, dict(calls), under_way))
        try:
            yield from results
        finally:
            if hasattr(results, "close"):
                with warnings.catch_warnings(
                    action="ignore"
                ):  # joblib counts the calls that it drops
                    results.close()

    def _sent(
        self,
        function: Callable[..., Any],
        calls: Mapping[int, Any],
        under_way: dict[int, None],
    ) -> Iterator[Any]:
        """Note which calls were sent to the workers."""
        for number, arguments in calls.items():
            under_way[number] = None
            yield self._delayed(_numbered)(number, function, *arguments)


def _numbered(
    number: int, function: Callable[..., Any], *arguments: Any
) -> tuple[int, Any]:
    return number, function(*arguments)


def _call_alone(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    lost: Callable[[Exception], Any],
) -> Any:
    try:
        # With one job the call would be made in this process, and would take it down.
        return Parallel(n_jobs=2)([delayed(function)(*arguments)])[0]
    except TerminatedWorkerError as error:
        return lost(error)

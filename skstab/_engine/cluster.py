"""Calls on the workers of a Dask cluster, which may die: what they lose is sent again.

joblib's own way to Dask ends all calls when the one worker that has the data dies, waits for ever for a call that Dask
has given up, and makes all calls in this process while only one worker is left.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import islice
from typing import Any
from uuid import uuid4

from joblib.parallel import get_active_backend

from skstab._engine.alone import (
    Configured,
    DiedError,
    Limits,
    Lost,
    Supervised,
)

__all__ = ["DaskPool", "active_client"]

# Rounds without a result after which calls are made one at a time, and after which the one call has failed.
_LOST_TOGETHER = _LOST_ALONE = 2
_TRIES, _PATIENCE = 10, 60  # times to send the data, seconds to wait for a worker
_DIED = "the Dask workers that made this run died, and the data with them"
# What Dask raises when workers die while they are sent data.
_SCATTER_ERRORS = (CancelledError, KeyError, OSError, RuntimeError, ValueError)


def active_client() -> Any:
    """Return the client of the Dask cluster that joblib is set to use; None where it is not."""
    client = getattr(get_active_backend()[0], "client", None)
    return (
        client
        if "distributed" in sys.modules and isinstance(client, _distributed().Client)
        else None
    )


def _distributed() -> Any:
    return sys.modules["distributed"]  # whoever has a client has imported it


class DaskPool:
    """Workers of a cluster that make calls.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster.
    limits : Limits, default=None
        What each call may take.
    """

    def __init__(self, client: Any, limits: Limits | None = None) -> None:
        self._client, self._limits = client, limits

    @property
    def alone(self) -> DaskPool:
        """These workers: the cluster itself finds the call that kills them."""
        return self

    def as_finished(
        self,
        function: Callable[..., Any],
        calls: Mapping[int, tuple[Any, ...]],
        *,
        lost: Callable[[Exception], Any],
        may_begin: Callable[[int], bool] = lambda _: True,
    ) -> Iterator[tuple[int, Any]]:
        """Make calls, and yield the number and the result of each as soon as it is there.

        Dask itself makes a call again whose worker died. Calls that died with the data are sent again, together with
        them; when nothing comes back, one at a time, so that the one which kills its workers is found.

        Parameters
        ----------
        function : callable
            What is called.
        calls : mapping of int to tuple
            The arguments of each call, by its number; those that are the same object in every call are sent once.
        lost : callable
            Returns the result of a call that Dask has given up since it killed several workers, or that was stopped at
            a limit; or raises the error.
        may_begin : callable
            Whether a call is made now, by its number; the others are left out.
        """
        missing, left_out, n_lost = dict(calls), set[int](), 0

        def begins(number: int) -> bool:
            if not may_begin(number):
                left_out.add(number)
            return number not in left_out

        with _outside_of_a_task():
            while waiting := [number for number in missing if number not in left_out]:
                alone = n_lost >= _LOST_TOGETHER
                batch = {n: missing[n] for n in waiting[: 1 if alone else None]}
                n_missing = len(missing)
                for number, result in self._round(function, batch, begins, lost):
                    del missing[number]
                    yield number, result
                if len(missing) < n_missing:
                    n_lost = _LOST_TOGETHER if alone else 0
                elif not left_out.issuperset(batch):
                    n_lost += 1
                if n_lost == _LOST_TOGETHER + _LOST_ALONE:
                    del missing[waiting[0]]
                    yield waiting[0], lost(DiedError(_DIED))
                    n_lost = 0

    def _round(
        self,
        function: Callable[..., Any],
        calls: Mapping[int, Any],
        begins: Callable[[int], bool],
        lost: Callable[[Exception], Any],
    ) -> Iterator[tuple[int, Any]]:
        """Send all calls, and return the results of those that were not lost with the data."""
        distributed = _distributed()
        if self._limits is not None:
            function = Supervised(function, self._limits)
        sending = self._sent(Configured(function), calls, begins)
        futures = dict(islice(sending, 2 * max(1, sum(self._client.ncores().values()))))
        try:
            for future in (finished := distributed.as_completed(list(futures))):
                for another, number in islice(sending, 1):
                    futures[another] = number
                    finished.add(another)
                try:
                    result = future.result()
                except CancelledError:
                    continue
                except distributed.KilledWorker as error:
                    result = Lost(DiedError(str(error)))
                if isinstance(result, Lost):
                    yield futures[future], lost(result.error)
                else:
                    yield futures[future], result
        finally:
            self._client.cancel(list(futures))

    def _sent(
        self,
        function: Callable[..., Any],
        calls: Mapping[int, Any],
        begins: Callable[[int], bool],
    ) -> Iterator[tuple[Any, int]]:
        """Send the calls one by one; first, to every worker, the arguments that they have in common."""
        first = next(iter(calls.values()))
        shared = [
            at
            for at, value in enumerate(first)
            if all(each[at] is value for each in calls.values())
        ]
        data = self._scattered([first[at] for at in shared])
        for number, arguments in calls.items():
            if not begins(number):
                continue
            own = list(arguments)
            for at, future in zip(shared, data, strict=True):
                own[at] = future
            yield (
                self._client.submit(
                    function, *own, key=f"skstab-{uuid4().hex}", pure=False
                ),
                number,
            )

    def _scattered(self, values: list[Any]) -> list[Any]:
        """Send data to every worker; again where one of them dies meanwhile, or all of them are about to start."""
        for _ in range(_TRIES - 1):
            try:
                return self._scatter_now(values)
            except _SCATTER_ERRORS:
                time.sleep(1)
        return self._scatter_now(values)

    def _scatter_now(self, values: list[Any]) -> list[Any]:
        self._client.wait_for_workers(1, timeout=_PATIENCE)
        scattered: list[Any] = self._client.scatter(values, broadcast=True, hash=False)
        return scattered


@contextmanager
def _outside_of_a_task() -> Iterator[None]:
    """Leave the place of the current task on its worker, if this is one, to those that it waits for."""
    distributed = _distributed()
    try:
        distributed.get_worker()
    except ValueError:
        yield
        return
    distributed.secede()
    try:
        yield
    finally:
        distributed.rejoin()

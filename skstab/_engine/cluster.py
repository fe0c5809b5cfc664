"""Calls on the workers of a Dask cluster, which may die: what they lose is sent again.

joblib's own way to Dask ends all calls when the one worker that has the data dies, waits for ever for a call that Dask
has given up, and makes all calls in this process while only one worker is left.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import islice
from typing import Any
from uuid import uuid4

from joblib.parallel import get_active_backend
from sklearn import config_context, get_config

__all__ = ["DaskPool", "active_client"]

# Rounds without a result after which calls are made one at a time, and after which the one call has failed.
_LOST_TOGETHER = _LOST_ALONE = 2
_TRIES, _PATIENCE = 10, 60  # times to send the data, seconds to wait for a worker
# What Dask raises when workers die while they are sent data.
_SCATTER_ERRORS = (CancelledError, KeyError, OSError, RuntimeError, ValueError)
_DIED = "the Dask workers that made this call died, and the data with them"


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
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def as_finished(
        self,
        function: Callable[..., Any],
        calls: Mapping[int, tuple[Any, ...]],
        *,
        lost: Callable[[Exception], Any],
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
            Returns the result of a call that Dask has given up since it killed several workers; or raises the error.
        """
        missing, n_lost = dict(calls), 0
        with _outside_of_a_task():
            while missing:
                alone = n_lost >= _LOST_TOGETHER
                done = {}
                for number, result in self._round(
                    function, dict(islice(missing.items(), 1 if alone else None)), lost
                ):
                    done[number] = missing.pop(number)
                    yield number, result
                n_lost = n_lost + 1 if not done else _LOST_TOGETHER if alone else 0
                if n_lost == _LOST_TOGETHER + _LOST_ALONE:
                    number = next(iter(missing))
                    del missing[number]
                    yield (
                        number,
                        lost(
                            RuntimeError(
                                "the Dask workers that made this call died, and the data with them"
                            )
                        ),
                    )
                    n_lost = 0

    def _round(
        self,
        function: Callable[..., Any],
        calls: Mapping[int, Any],
        lost: Callable[[Exception], Any],
    ) -> Iterator[tuple[int, Any]]:
        """Send all calls, and return the results of those that were not lost with the data."""
        distributed = _distributed()
        sending = self._sent(_Configured(function), calls)
        futures = dict(islice(sending, 2 * max(1, sum(self._client.ncores().values()))))
        try:
            for future in (finished := distributed.as_completed(list(futures))):
                for another, number in islice(sending, 1):
                    futures[another] = number
                    finished.add(another)
                try:
                    yield futures[future], future.result()
                except CancelledError:
                    continue
                except distributed.KilledWorker as error:
                    yield futures[future], lost(error)
        finally:
            self._client.cancel(list(futures))

    def _sent(
        self, function: Callable[..., Any], calls: Mapping[int, Any]
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


class _Configured:
    """A function with the configuration of scikit-learn and the filters of warnings of this process."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._config = get_config()
        self._filters = list(warnings.filters)

    def __call__(self, *arguments: Any) -> Any:
        with config_context(**self._config), warnings.catch_warnings():
            warnings.filters = self._filters
            return self._function(*arguments)

"""Results of numbered calls in a checkpoint: found again, stored as they arrive, shared among processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, Generic, TypeVar

from skstab._engine.checkpoint import Checkpoint, open_checkpoint
from skstab._engine.owners import one_owner
from skstab._engine.values import DamagedError
from skstab._warnings import warn_user

__all__ = ["Stored", "open_stored"]

Result = TypeVar("Result")

_PAUSES = (0.02, 1.0)  # seconds between looks at what others make: at first, at most


@contextmanager
def open_stored(
    path: str | PathLike[str] | None,
    keys: Mapping[int, bytes],
    *,
    pack: Callable[[Result], Mapping[str, Any] | None],
    unpack: Callable[[Mapping[str, Any]], Result | None],
    about: str = "",
) -> Iterator[Stored[Result]]:
    """Open the results of one fit in a checkpoint; None is one that has and keeps nothing.

    Parameters
    ----------
    path : str, path-like or None
        The file.
    keys : mapping of int to bytes
        The key of each result, by its number.
    pack : callable
        Returns the value that is stored of a result; None where it is not stored.
    unpack : callable
        Returns the result of a value; None where it is to be made again. An error (`ValueError`, `TypeError`,
        `LookupError`) means that no result is stored like that.
    about : str, default=""
        A line about the fit, for `skstab study`.
    """
    if path is None:
        yield Stored(None, keys, pack, unpack, "")
        return
    with open_checkpoint(path) as checkpoint, one_owner() as owner:
        checkpoint.begin(about, keys.values())
        stored = Stored(checkpoint, keys, pack, unpack, owner)
        try:
            yield stored
        finally:
            stored.close()


class Stored(Generic[Result]):
    """The results of one fit in an open checkpoint; see `open_stored`."""

    def __init__(
        self,
        checkpoint: Checkpoint | None,
        keys: Mapping[int, bytes],
        pack: Callable[[Result], Mapping[str, Any] | None],
        unpack: Callable[[Mapping[str, Any]], Result | None],
        owner: str,
    ) -> None:
        self._checkpoint, self._keys, self._owner = checkpoint, keys, owner
        self._pack, self._unpack = pack, unpack
        self._damaged: set[bytes] = set()
        self._arrived: Mapping[int, Result] = {}  # what is not stored yet

    def read(self, numbers: Iterable[int]) -> dict[int, Result]:
        """Read those results that are there; warn about those that are damaged."""
        if self._checkpoint is None:
            return {}
        keys = {number: self._keys[number] for number in numbers}
        values, damaged = self._checkpoint.read(set(keys.values()))
        found: dict[int, Result] = {}
        for number, key in keys.items():
            if key not in values:
                continue
            try:
                result = self._unpack(values[key])
            except (LookupError, OverflowError, TypeError, ValueError) as error:
                damaged[key] = DamagedError(f"no result is like that ({error!r})")
            else:
                if result is not None:
                    found[number] = result
        self._warn_about(damaged)
        return found

    def _warn_about(self, damaged: Mapping[bytes, DamagedError]) -> None:
        new = damaged.keys() - self._damaged
        if self._checkpoint is None or not new:
            return
        self._damaged |= new
        warn_user(
            f"checkpoint {self._checkpoint.name!r} is damaged: {len(new)} of {len(self._keys)} results can't be read, "
            f"and are made again; of the first one, {damaged[min(new)]}"
        )

    def keep(self, number: int, result: Result) -> None:
        """Store a result, unless it is of a kind that is not stored."""
        self.keep_all({number: result})

    def keep_all(self, results: Mapping[int, Result]) -> None:
        """Store results in one go."""
        if self._checkpoint is None:
            return
        values = {number: self._pack(result) for number, result in results.items()}
        self._checkpoint.write(
            {self._keys[n]: value for n, value in values.items() if value is not None}
        )

    def close(self) -> None:
        """Store what arrived last, and leave what was begun to others."""
        arrived, self._arrived = self._arrived, {}
        if self._checkpoint is not None:
            try:
                self.keep_all(arrived)
            finally:
                self._checkpoint.release(self._owner)

    # -- together with other processes ---------------------------------------------------------------------------------

    def made(
        self,
        pool: Any,
        function: Callable[..., Any],
        calls: Mapping[int, tuple[Any, ...]],
        *,
        lost: Callable[[Exception], Any],
        runs: Mapping[int, Sequence[int]] | None = None,
        parts: Callable[[int, Any], Mapping[int, Result]] | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """Make calls, and yield the number and the value of each result as soon as it is there.

        Each is stored as it arrives. What another process is making already is left to it. What was being made when
        its process died is made last, and alone, since it may have been the reason.

        Parameters
        ----------
        pool : Pool, AlonePool or DaskPool
            Makes the calls.
        function : callable
            What is called.
        calls : mapping of int to tuple
            The arguments of each call, by its number.
        lost : callable
            As in `as_finished` of a pool.
        runs : mapping of int to sequences of int, default=None
            The numbers of the results of each call; None where each gives one result, which has its number.
        parts : callable, default=None
            Returns the results of a call, by their numbers, from its number and what it returned.
        """
        runs = {at: (at,) for at in calls} if runs is None else runs
        waiting, left = dict(calls), set[int]()
        pause, longest = _PAUSES
        while waiting:
            n_waiting = len(waiting)
            for alone in (False, True):
                batch = {at: waiting[at] for at in waiting if (at in left) is alone}
                workers = pool.alone if alone and batch else pool
                for at, outcome in workers.as_finished(
                    function,
                    batch,
                    lost=lost,
                    may_begin=lambda at: self._may_begin(runs[at], at, left),
                ):
                    del waiting[at]
                    results = {at: outcome} if parts is None else parts(at, outcome)
                    yield from self._storing(results)
            for at in list(waiting):
                found = self.read(runs[at])
                if len(found) == len(runs[at]):
                    del waiting[at]
                    yield from found.items()
            if waiting and len(waiting) == n_waiting:
                time.sleep(pause)
                pause = min(2 * pause, longest)

    def _may_begin(self, numbers: Sequence[int], at: int, left: set[int]) -> bool:
        """Whether a call is made now; it is not while another process is at it, or has just finished it."""
        if self._checkpoint is None:
            return True
        state = self._checkpoint.claim(
            [self._keys[number] for number in numbers],
            self._owner,
            left_by_the_dead=at in left,
        )
        if state == "left":
            left.add(at)
        return state == "ours" and len(self.read(numbers)) < len(numbers)

    def _storing(self, results: Mapping[int, Result]) -> Iterator[tuple[int, Result]]:
        # First, so that whoever takes them has them also where the disk is full.
        self._arrived = results
        yield from results.items()
        self._arrived = {}
        self.keep_all(results)

"""What is asked of the engine: candidates, on the splits of one or several targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from skstab._compat import RunProgress
from skstab._random import Seed

__all__ = ["Job", "Made", "Part", "Place", "Plan", "Task", "row_numbers"]


def row_numbers(rows: Any, n_rows: int, name: str) -> Any:
    """Numbers of the rows that an index of any kind (a mask, a slice, a list) takes out of all.

    Parameters
    ----------
    rows : index
        The rows.
    n_rows : int
        Number of all rows.
    name : str
        The argument that gave them, for the message.
    """
    expected = f"{name} must give indices of some of the {n_rows} rows of X"
    # A tuple would be one index for each dimension.
    index = list(rows) if isinstance(rows, tuple) else rows
    try:
        numbers = np.arange(n_rows)[index]
    except IndexError as error:
        raise ValueError(f"{expected}: {error}") from error
    if np.ndim(numbers) != 1:
        raise ValueError(f"{expected}, got {rows!r}")
    return numbers


class Task(NamedTuple):
    """The rows and the seed of one run."""

    train: Any
    test: Any
    seed: Seed
    progress: RunProgress
    split: int = 0  # which of the splits of its part
    n_splits: int = 1
    ahead: Any = None  # what was computed together with other runs


class Plan(Protocol):
    """How runs are made and kept: what all of them have in common."""

    def run(self, candidates: Any, X: Any, y: Any, task: Task) -> dict[int, Any]:
        """Make the runs of candidates on one split; this is called in a worker."""

    def n_ahead(self, candidates: Any, X: Any) -> int:
        """How many neighbouring splits share work that `ahead` does; 1 for none."""

    def ahead(
        self, candidates: Any, X: Any, y: Any, tasks: Sequence[Task]
    ) -> Sequence[Any]:
        """What is computed for the runs of several splits at once, one thing for each; None for nothing."""

    def together(self, candidates: Mapping[int, Any]) -> Any:
        """Put candidates together, so that what they share is done once."""

    def pieces(
        self, candidates: Mapping[int, Any], n_pieces: int
    ) -> list[tuple[int, ...]]:
        """Divide candidates among workers, without cutting through what they share."""

    def failed(self, error: Exception) -> Any:
        """The outcome of a run whose worker died."""

    def identity(self, candidate: Any) -> dict[str, Any]:
        """What the outcome of a candidate depends on, apart from data, split and seed."""

    def is_random(self, candidate: Any) -> bool:
        """Whether the outcome of a candidate depends on the seed."""

    def pack(self, outcome: Any) -> dict[str, Any] | None:
        """What is stored of an outcome; None for one that is made again next time."""

    def unpack(self, fields: Mapping[str, Any], n_features: int) -> Any:
        """The outcome that was stored; None for one that is to be made again."""


class Place(NamedTuple):
    """One split of one part."""

    part: int
    split: int


class Made(NamedTuple):
    """What came of candidates on one split."""

    place: Place
    outcomes: dict[int, Any]  # by candidate


class Part(NamedTuple):
    """A target and its splits."""

    y: Any
    splits: Sequence[Any]
    entropy: Any
    stream: tuple[int, ...] = (0,)
    wanted: Sequence[int] | None = None  # numbers of the splits; None are all

    def seed(self, split: int) -> Seed:
        """The seed of a run: by its split, whatever worker it is made by."""
        return Seed(self.entropy, (*self.stream, split))

    def task(self, split: int, progress: RunProgress) -> Task:
        """What is different in each run."""
        train, test = self.splits[split]
        seed = self.seed(split)
        return Task(train, test, seed, progress, split, len(self.splits))


class Job(NamedTuple):
    """Candidates to run on all splits of all parts."""

    plan: Plan
    candidates: Sequence[Any]
    X: Any
    parts: Sequence[Part]

    def places(self) -> Iterator[Place]:
        """All splits that are wanted."""
        for number, part in enumerate(self.parts):
            wanted = range(len(part.splits)) if part.wanted is None else part.wanted
            for split in wanted:
                yield Place(number, split)

    def number(self, place: Place, candidate: int) -> int:
        """The number of a run among all of the job."""
        before = sum(len(part.splits) for part in self.parts[: place.part])
        return (before + place.split) * len(self.candidates) + candidate

    def numbers(self, place: Place) -> range:
        """The numbers of the runs of all candidates on one split."""
        first = self.number(place, 0)
        return range(first, first + len(self.candidates))

    def by_candidate(self, runs: Mapping[int, Any]) -> dict[int, Any]:
        """Runs of one split by candidate, which are given by their numbers."""
        return {n % len(self.candidates): run for n, run in runs.items()}

    def made(self, number: int, outcome: Any) -> Made:
        """What came of the run of a number."""
        at, candidate = divmod(number, len(self.candidates))
        part = 0
        while at >= len(self.parts[part].splits):
            at -= len(self.parts[part].splits)
            part += 1
        return Made(Place(part, at), {candidate: outcome})

"""How long it takes to score each candidate on one resample, where candidates share a part of the work."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline

__all__ = ["Meter", "ScoreTimes"]


class Meter:
    """The seconds of what several candidates compute together, up to now."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Add the seconds that pass within."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start


def _meters_of(estimator: Any) -> list[Meter]:
    """The meters of the methods that a fitted estimator, or the steps of a pipeline, share with others."""
    steps = (
        [step for _, step in estimator.steps]
        if isinstance(estimator, Pipeline)
        else [estimator]
    )
    methods = [
        getattr(step, "__dict__", {}).get(name)
        for step in steps
        for name in ("transform", "predict")
    ]
    found = [getattr(method, "meter", None) for method in methods]
    return [meter for meter in found if isinstance(meter, Meter)]


class _Scored(NamedTuple):
    """Candidates that have the same estimator, and the seconds that it took for itself."""

    candidates: tuple[int, ...]
    seconds: float
    meters: list[Meter]


class ScoreTimes:
    """The seconds of each candidate: what it computes together with others is divided equally among all of them."""

    def __init__(self) -> None:
        self.scored: list[_Scored] = []
        self.shared: dict[Meter, float] = defaultdict(float)
        self.n_sharing: dict[Meter, int] = defaultdict(int)

    def timed(
        self, score: Callable[[], Any], estimator: Any, candidates: tuple[int, ...]
    ) -> Any:
        """Score the estimator of some candidates, and return what that returns."""
        meters = _meters_of(estimator)
        before, start = [meter.seconds for meter in meters], time.perf_counter()
        result = score()
        seconds = time.perf_counter() - start
        for meter, earlier in zip(meters, before, strict=True):
            seconds -= meter.seconds - earlier
            self.shared[meter] += meter.seconds - earlier
            self.n_sharing[meter] += len(candidates)
        self.scored.append(_Scored(candidates, seconds, meters))
        return result

    def each(self) -> dict[int, float]:
        """Return the seconds of each candidate."""
        return {
            candidate: seconds / len(candidates)
            + sum(self.shared[meter] / self.n_sharing[meter] for meter in meters)
            for candidates, seconds, meters in self.scored
            for candidate in candidates
        }

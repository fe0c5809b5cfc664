"""All candidates of a search on the rows of one resample: steps that candidates share are fitted once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skstab._engine.candidates import Family, Sibling
from skstab._engine.score_times import Meter
from skstab._engine.together import LastCall, fit_together, is_only_copied
from skstab._pipelines import fitted
from skstab._random import Seed, draw_seeds, with_seeds

__all__ = ["Fitted", "GridWalk"]


class Fitted(NamedTuple):
    """What candidates have become: a fitted estimator, or the error of its fit; and the seconds for each of them."""

    candidates: tuple[int, ...]
    estimator: Any
    error: Exception | None
    seconds: float
    alone: bool  # whether it may overwrite the rows that it is given


class _FittedStep(NamedTuple):
    """A fitted step of one sibling, and what it makes of its input where other steps follow."""

    sibling: Sibling
    step: Any
    output: Any = None
    error: Exception | None = None
    seconds: float = 0.0


@dataclass
class GridWalk:
    """What the fits of all candidates on one resample have in common."""

    template: Any  # the estimator of the search, whose other attributes pipelines keep
    y: Any
    seed: Seed | np.random.SeedSequence
    fit_params: dict[str, Any]
    last: LastCall | None = None
    prepared: Any = None  # the copy of a single estimator, before it is fitted
    ahead: Any = None  # a path that was followed together with those of other resamples

    def prepare(self, families: Sequence[Family]) -> Any:
        """Make and return the copy of the estimator, if there is only one that is fitted as a whole."""
        first = families[0]
        if len(families) == len(first.siblings) == 1 and not first.name:
            self.prepared = self._seeded(first)
        return self.prepared

    def fitted(
        self,
        families: Sequence[Family],
        X: Any,
        before: tuple[tuple[str, Any], ...] = (),
        spent: float = 0.0,
    ) -> Iterator[Fitted]:
        """Fit candidate after candidate; what is shared is fitted when the first of them comes."""
        for family in families:
            for sibling, step, output, error, seconds in self._steps(family, X):
                share = spent + seconds / len(sibling.candidates)
                if error is not None or not sibling.after:
                    whole = self._whole(before, family.name, step)
                    yield Fitted(sibling.candidates, whole, error, share, family.alone)
                else:
                    remembering = step if isinstance(step, str) else _remembering(step)
                    yield from self.fitted(
                        sibling.after,
                        output,
                        (*before, (family.name, remembering)),
                        share,
                    )

    def _whole(self, before: tuple[tuple[str, Any], ...], name: str, step: Any) -> Any:
        if not name:
            return step
        pipeline = copy(self.template)
        pipeline.steps = [*before, (name, step)]
        return pipeline

    def _steps(self, family: Family, X: Any) -> Iterator[_FittedStep]:
        """Fit one step with all its settings: together where that is possible."""
        if family.step is None or isinstance(family.step, str):
            yield from (
                _FittedStep(sibling, "passthrough", X) for sibling in family.siblings
            )
            return
        start = time.perf_counter()
        together = self._together(family, X) if len(family.siblings) > 1 else None
        if together is None:
            yield from (self._single(family, sibling, X) for sibling in family.siblings)
            return
        ahead = self.ahead.seconds if self._is_ahead(family) else 0.0
        seconds = (ahead + time.perf_counter() - start) / len(together)
        for sibling, step in zip(family.siblings, together, strict=True):
            try:
                output = step.transform(X) if sibling.after else None
            except Exception as error:  # noqa: BLE001  as in any other fit
                yield _FittedStep(sibling, step, error=error, seconds=seconds)
            else:
                yield _FittedStep(sibling, step, output, seconds=seconds)

    def _together(self, family: Family, X: Any) -> list[Any] | None:
        settings = [sibling.followed for sibling in family.siblings]
        self.last = self.last or LastCall()
        try:
            return fit_together(
                self._seeded_copy(family),
                settings,
                X,
                self.y,
                self.fit_params,
                self.last,
                self.ahead.models if self._is_ahead(family) else None,
            )
        except Exception:  # noqa: BLE001  what is wrong with a candidate, its own fit says
            return None

    def _is_ahead(self, family: Family) -> bool:
        return self.ahead is not None and self.ahead.family is family

    def _single(self, family: Family, sibling: Sibling, X: Any) -> _FittedStep:
        start = time.perf_counter()
        step = self._seeded(family) if self.prepared is None else self.prepared
        rows, output = deepcopy(X) if family.alone else X, None
        try:
            step.set_params(**sibling.followed)
            if sibling.after:
                output = _fit_transform(step, rows, self.y)
            else:
                step.fit(rows, self.y, **self.fit_params)
        except Exception as error:  # noqa: BLE001  any estimator may fail in any way; the other candidates continue
            seconds = time.perf_counter() - start
            return _FittedStep(sibling, step, error=error, seconds=seconds)
        return _FittedStep(sibling, step, output, seconds=time.perf_counter() - start)

    def _seeded_copy(self, family: Family) -> Any:
        """A seeded step without the time of a clone, where one is not needed."""
        if not is_only_copied(family.step):
            return self._seeded(family)
        step = copy(family.step)
        vars(step).update(self._seeds_of(family))
        return step

    def _seeded(self, family: Family) -> Any:
        return with_seeds(family.step, self._seeds_of(family))

    def _seeds_of(self, family: Family) -> dict[str, int]:
        n_seeds = max((place + 1 for _, place in family.seeds), default=0)
        drawn = draw_seeds(self.seed, n_seeds)
        return {name: drawn[place] for name, place in family.seeds}


def _fit_transform(step: Any, X: Any, y: Any) -> Any:
    return (
        step.fit_transform(X, y)
        if hasattr(step, "fit_transform")
        else fitted(step, X, y).transform(X)
    )


# -- what is transformed once ------------------------------------------------------------------------------------------


class _Remembered:
    """The `transform` of a fitted step, which does not transform the same rows twice."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform
        self.known: list[tuple[Any, Any]] = []
        self.meter = Meter()

    def __call__(self, X: Any, **params: Any) -> Any:
        if params:
            return self.transform(X, **params)
        for rows, output in self.known:
            if rows is X:
                return output
        with self.meter.running():
            output = self.transform(X)
        self.known = [
            *self.known[-1:],
            (X, output),
        ]  # of the training rows and the test rows
        return output


def _remembering(step: Any) -> Any:
    """Let a step remember: each candidate that shares it is read on the same rows and scored on the same rows."""
    step.transform = _Remembered(step.transform)
    return step

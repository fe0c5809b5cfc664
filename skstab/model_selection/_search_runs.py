"""What a search does on each resample, and how the runs of its candidates are put together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import FitFailedWarning

from skstab._compat import FitProgress, params_of_rows, take_rows
from skstab._engine.candidates import Candidate, Family
from skstab._engine.row_scores import row_scores_of
from skstab._engine.score_times import ScoreTimes
from skstab._engine.store import Stored
from skstab._engine.walk import Fitted, GridWalk
from skstab._engine.work import (
    Run,
    RunPlan,
    Task,
    collect,
    counts_of_rows,
    rows_left_out,
    score_on,
)
from skstab._random import draw_seeds
from skstab._typing import FloatArray
from skstab._warnings import describe, warn_user
from skstab.runs import Runs, reading_same_rows, reading_with, why_no_support

__all__ = [
    "Gathered",
    "Refit",
    "SearchPlan",
    "calls_of",
    "refit_each",
    "report_failures",
    "runs_in_order",
]


@dataclass(frozen=True)
class SearchPlan:
    """What all resamples have in common."""

    runs: (
        RunPlan  # of the estimator of the search; candidates differ in parameters only
    )
    scoring: Any
    n_seeds: int

    def walk(self, y: Any, seed: Any, fit_params: dict[str, Any]) -> GridWalk:
        """Return what fits all candidates to the target of some rows."""
        return GridWalk(
            self.runs.estimator, y, draw_seeds(seed, self.n_seeds), fit_params
        )

    def plan_of(self, estimator: Any) -> RunPlan:
        """Return the plan for one candidate: its last step, and with it the score it has of its own, may differ."""
        rows = row_scores_of(self.scoring, estimator)
        return (
            self.runs
            if rows == self.runs.row_scores
            else replace(self.runs, row_scores=rows)
        )


# -- one resample ------------------------------------------------------------------------------------------------------


def run_resample(
    search: SearchPlan, families: Sequence[Family], X: Any, y: Any, task: Task
) -> dict[int, Run]:
    """Fit candidates on one resample, read what each selected, and score it on the rows left out."""
    plan = search.runs
    X_train, y_train = (
        take_rows(X, task.train),
        None if y is None else take_rows(y, task.train),
    )
    walk = search.walk(
        y_train, task.seed, params_of_rows(X, plan.fit_params, task.train)
    )
    left_out = None if plan.scorer is None else rows_left_out(plan, X, y, task.test)
    runs: dict[int, Run] = {}
    times = ScoreTimes()
    with (
        task.progress.around(None, X_train, y_train),
        reading_with(plan.readers),
        reading_same_rows(X_train),
    ):
        for fitted in walk.fitted(families, X_train):
            run = _read(plan, fitted, X_train, y_train)
            if not run.is_done and left_out is not None:
                own = (
                    left_out._replace(X=deepcopy(left_out.X))
                    if fitted.alone
                    else left_out
                )
                score = partial(
                    score_on,
                    run,
                    search.plan_of(fitted.estimator),
                    fitted.estimator,
                    own,
                )
                run = times.timed(score, fitted.estimator, fitted.candidates)
            runs |= dict.fromkeys(fitted.candidates, run)
    return runs | {
        candidate: runs[candidate]._replace(score_time=spent)
        for candidate, spent in times.each().items()
    }


def _read(plan: RunPlan, fitted: Fitted, X: Any, y: Any) -> Run:
    error = fitted.error
    if error is None:
        try:
            chosen = plan.read(fitted.estimator, deepcopy(X) if fitted.alone else X, y)
            return Run(chosen.packed(), fit_time=fitted.seconds)
        except Exception as unreadable:  # noqa: BLE001  raised below, or kept: the other candidates continue
            error = unreadable
    return plan.failed_fit(error, fitted.estimator, X, fitted.seconds)


class Call(NamedTuple):
    """One resample and the part of the grid that is fitted on it; each of its runs has a number in the search."""

    task: Task
    families: tuple[Family, ...]
    numbers: dict[int, int]  # by candidate


def calls_of(
    tasks: Sequence[Task], parts: Sequence[tuple[Family, ...]], n_candidates: int
) -> list[Call]:
    """Pair every resample with every part of the grid."""
    members = [
        sorted(
            n
            for family in part
            for sibling in family.siblings
            for n in sibling.candidates
        )
        for part in parts
    ]
    return [
        Call(
            task,
            part,
            {candidate: split * n_candidates + candidate for candidate in own},
        )
        for split, task in enumerate(tasks)
        for part, own in zip(parts, members, strict=True)
    ]


def runs_in_order(
    search: SearchPlan,
    calls: Sequence[Call],
    X: Any,
    y: Any,
    stored: Stored[Run],
    pool: Any,
    owner: Any,
) -> Iterator[dict[int, Run]]:
    """Runs of all calls, in the order of these: as they are in the checkpoint, or made."""
    found = stored.read(number for call in calls for number in call.numbers.values())
    waiting = {
        at: {candidate: found[number] for candidate, number in call.numbers.items()}
        for at, call in enumerate(calls)
        if found.keys() >= set(call.numbers.values())
    }
    missing = [at for at in range(len(calls)) if at not in waiting]
    progress, at = FitProgress(owner, len(missing), X, y), 0
    made = pool.as_finished(
        run_resample,
        _sent(search, calls, missing, progress, X, y),
        lost=search.runs.failed,
    )
    for number, result in made:
        own = calls[number].numbers
        # A worker that died has left one outcome for all its candidates.
        runs = dict.fromkeys(own, result) if isinstance(result, Run) else result
        for candidate, run in runs.items():
            stored.keep(own[candidate], run)
        waiting[number] = runs
        while at in waiting:
            yield waiting.pop(at)
            at += 1
    yield from (waiting[number] for number in sorted(waiting))
    progress.end()


def _sent(
    search: SearchPlan,
    calls: Sequence[Call],
    missing: Sequence[int],
    progress: FitProgress,
    X: Any,
    y: Any,
) -> dict[int, tuple[Any, ...]]:
    around = dict(zip(missing, progress.runs, strict=True))
    return {
        at: (search, calls[at].families, X, y, calls[at].task._replace(progress=own))
        for at, own in around.items()
    }


# -- all rows ----------------------------------------------------------------------------------------------------------


class Refit(NamedTuple):
    """What a candidate selects on all rows, as fields of its `Runs`; or the error of its fit."""

    declared: dict[str, Any]
    error: Exception | None


def refit_each(
    search: SearchPlan,
    families: Sequence[Family],
    X: Any,
    y: Any,
    seed: Any,
    measures: Sequence[Any],
) -> tuple[dict[int, Refit], Any]:
    """Fit candidates on all rows; return also one that is fitted.

    Errors in the data or the estimator show at once, as does a measure of what the candidates do not have.
    """
    refits: dict[int, Refit] = {}
    example = None
    for fitted in search.walk(y, seed, search.runs.fit_params).fitted(families, X):
        refit = _refit(search.runs, fitted, X, y, measures)
        refits |= dict.fromkeys(fitted.candidates, refit)
        example = (
            fitted.estimator if example is None and refit.error is None else example
        )
    errors = [refit.error for refit in refits.values() if refit.error is not None]
    if errors and (example is None or search.runs.error_score == "raise"):
        raise errors[0]
    return refits, example


def _refit(
    plan: RunPlan, fitted: Fitted, X: Any, y: Any, measures: Sequence[Any]
) -> Refit:
    if fitted.error is not None:
        return Refit({}, fitted.error)
    try:
        chosen = plan.read(fitted.estimator, deepcopy(X) if fitted.alone else X, y)
        reason = why_no_support(fitted.estimator) if chosen.keeps_all else None
        declared = {"refit": chosen.used, "why_no_support": reason}
        for measure in measures:
            Runs.from_selections([chosen], n_features=X.shape[1], **declared).table_for(
                measure
            )
    except Exception as error:  # noqa: BLE001  the other candidates continue
        return Refit({}, error)
    return Refit(declared, None)


# -- together ----------------------------------------------------------------------------------------------------------


class Gathered:
    """The runs of each candidate, put together as they come in; of the rows only their mean losses are kept."""

    def __init__(
        self, plan: RunPlan, candidates: Sequence[Candidate], n_rows: int
    ) -> None:
        self.plan, self.n_rows = plan, n_rows
        self.row_counts: Any = None  # of all resamples, counted once
        self.runs: list[list[Run]] = [[] for _ in candidates]
        self.score_times: list[list[float]] = [[] for _ in candidates]
        self.sums: dict[tuple[int, str], FloatArray] = defaultdict(
            lambda: np.zeros((2, n_rows))
        )

    def add(self, runs: dict[int, Run], test: Any) -> None:
        """Add the runs of one resample."""
        for number, run in runs.items():
            self.runs[number].append(run._replace(rows=None))
            self.score_times[number].append(run.score_time)
            for name, losses in {} if run.rows is None else run.rows.losses.items():
                self._add_losses(number, name, test, losses)

    def _add_losses(
        self, number: int, name: str, test: Any, losses: FloatArray
    ) -> None:
        is_known = ~np.isnan(losses)
        if not is_known.all():
            test, losses = test[is_known], losses[is_known]
        total, count = self.sums[number, name]
        total[test] += losses
        count[test] += 1

    def losses(self, number: int) -> dict[str, FloatArray]:
        """Mean losses of the rows, as a table of one resample, by the name of the score."""
        tables = {
            name: table
            for (candidate, name), table in self.sums.items()
            if candidate == number
        }
        with np.errstate(invalid="ignore"):
            return {
                name: (total / count)[None] for name, (total, count) in tables.items()
            }

    def failures(self) -> tuple[list[str], list[str]]:
        """Errors of fits, and of scores."""
        every = [run for runs in self.runs for run in runs]
        return [r.fit_error for r in every if r.fit_error], [
            r.score_error for r in every if r.score_error
        ]

    def largest_first(self) -> list[int]:
        """Order in which candidates are collected, so that the largest table is made when few others are there."""

        def n_selected(number: int) -> int:
            return sum(
                run.selection.support.size
                for run in self.runs[number]
                if run.selection is not None
            )

        return sorted(range(len(self.runs)), key=n_selected, reverse=True)

    def collect(self, number: int, splits: Sequence[Any], **declared: Any) -> Runs:
        """Make the `Runs` of one candidate; what they are made of is dropped."""
        runs, self.runs[number] = self.runs[number], []
        if self.row_counts is None:
            self.row_counts = counts_of_rows(splits, self.n_rows)
        return collect(
            runs,
            self.plan,
            splits,
            n_rows=self.n_rows,
            row_counts=self.row_counts,
            **declared,
        )


def report_failures(
    gathered: Gathered, n_few: int, refused: Sequence[Exception], error_score: Any
) -> None:
    """Warn about what failed, once each.

    `n_few` is the number of candidates with fewer than two runs, `refused` why others can't be measured nevertheless.
    """
    failed, unscored = gathered.failures()
    n_fits, n_candidates = sum(map(len, gathered.runs)), len(gathered.runs)
    if failed:
        warn_user(
            f"{len(failed)} of {n_fits} fits failed and are left out, {n_few} of {n_candidates} candidates have too "
            f"few runs to be measured; the first one with {failed[0]}",
            FitFailedWarning,
        )
    if refused:
        warn_user(
            f"{len(refused)} of {n_candidates} candidates can't be measured, as their fits to all rows show; the first "
            f"one with {describe(refused[0])}",
            FitFailedWarning,
        )
    if unscored:
        warn_user(
            f"scoring failed in {len(unscored)} of {n_fits} fits, which have the score {error_score}; the first one "
            f"with {unscored[0]}"
        )

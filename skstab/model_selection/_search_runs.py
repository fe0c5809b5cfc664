"""What the candidates of a search select on all rows, and how their runs are put together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import FitFailedWarning

from skstab._engine.candidates import Candidate, Family
from skstab._engine.job import Job, Part
from skstab._engine.make import in_order, make
from skstab._engine.outcomes import Run
from skstab._engine.walk import Fitted
from skstab._engine.work import RunPlan, collect, counts_of_rows
from skstab._engine.work import report_failures as report_runs
from skstab._typing import FloatArray
from skstab._warnings import describe, warn_user
from skstab.runs import Runs, why_no_support

__all__ = ["Gathered", "Refit", "refit_each", "report_failures", "runs_of"]


# -- all rows ----------------------------------------------------------------------------------------------------------


class Refit(NamedTuple):
    """What a candidate selects on all rows, as fields of its `Runs`; or the error of its fit."""

    declared: dict[str, Any]
    error: Exception | None


def refit_each(
    plan: RunPlan,
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
    for fitted in plan.walk(y, seed, plan.fit_params).fitted(families, X):
        refit = _refit(plan, fitted, X, y, measures)
        refits |= dict.fromkeys(fitted.candidates, refit)
        example = (
            fitted.estimator if example is None and refit.error is None else example
        )
    errors = [refit.error for refit in refits.values() if refit.error is not None]
    if errors and (example is None or plan.error_score == "raise"):
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


def runs_of(
    plan: RunPlan,
    candidates: Sequence[Candidate],
    X: Any,
    part: Part,
    names: Sequence[str] | None,
    **settings: Any,
) -> list[Runs]:
    """The runs of each candidate, without a fit on all rows; what failed is told once."""
    job = Job(plan, candidates, X, [part])
    gathered = Gathered(plan, candidates, X.shape[0])
    with closing(make(job, **settings)) as made:
        for place, runs in in_order(job, made):
            gathered.add(runs, part.splits[place.split][1])
    every = [run for runs in gathered.runs for run in runs]
    found = [
        gathered.collect(
            number, part.splits, n_features=X.shape[1], feature_names=names
        )
        for number in range(len(candidates))
    ]
    report_runs(every, min(map(len, found)), plan.error_score)
    return found


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

"""The one worker: all candidates on the rows of one split, and how what comes back is put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning, UnsetMetadataPassedError

from skstab._compat import params_of_rows, take_rows
from skstab._engine.ahead import Ahead, followed_together, shared_path
from skstab._engine.candidates import (
    Candidate,
    Family,
    families_of,
    parts_of_grid,
)
from skstab._engine.job import Task, row_numbers
from skstab._engine.outcomes import Run, fields_of, run_of
from skstab._engine.row_scores import (
    RowScored,
    probabilities_of,
    row_scores_of,
    score_by_row,
)
from skstab._engine.score_times import ScoreTimes
from skstab._engine.walk import Fitted, GridWalk
from skstab._linear_paths.shared_paths import N_TOGETHER, may_share
from skstab._typing import IntArray
from skstab._warnings import bounded, describe, warn_user
from skstab.runs import (
    Reading,
    Runs,
    read_emptied,
    read_run,
    reading_same_rows,
    reading_with,
    registered_readers,
)


@dataclass(frozen=True)
class RunPlan:
    """What all runs have in common."""

    estimator: Any  # of a search; candidates differ in parameters only
    scoring: Any = None  # as it was given
    scorer: Any = None
    score_names: tuple[str, ...] = ()
    row_scores: dict[str, str] = field(
        default_factory=dict
    )  # which of the scores are a mean over rows
    keep_probabilities: bool = False  # of the rows left out
    fit_params: dict[str, Any] = field(default_factory=dict)
    score_params: dict[str, Any] = field(default_factory=dict)
    importance_getter: Any = "auto"
    scale_importances: bool = True
    zero_outside: bool = True  # whether features outside the support have no importance
    support_from: str = "used"
    error_score: Any = np.nan
    perturb: Any = None  # as it was given
    noise: Any = None  # standard deviation of the noise on each feature
    keep_estimators: bool = False
    classes: Any = None  # of a classifier, in the order of their codes
    readers: tuple[Any, ...] = field(
        default_factory=registered_readers
    )  # those of the process that made the plan

    def failed(self, error: Exception) -> Run:
        """The outcome of a run that can't be made: it is left out, unless errors are to be raised."""
        if self.error_score == "raise":
            raise error
        return Run(fit_error=describe(error))

    def failed_fit(
        self, error: Exception, estimator: Any, X: Any, seconds: float
    ) -> Run:
        """The outcome of a fit that failed: a selection of nothing where that is the reason, without a score."""
        if self.error_score == "raise":
            raise error
        emptied = read_emptied(estimator, X.shape[1], X)
        if emptied is None:
            return Run(fit_error=describe(error))
        why = (
            None if self.scorer is None else f"nothing was selected: {describe(error)}"
        )
        return Run(
            emptied.packed(), scores={}, score_error=why, fit_time=seconds, emptied=True
        )

    def read(self, estimator: Any, X: Any, y: Any) -> Reading:
        """Read what a fitted estimator selected."""
        return read_run(
            estimator,
            X,
            y,
            importance_getter=self.importance_getter,
            scale_importances=self.scale_importances,
            zero_outside=self.zero_outside,
            support_from=self.support_from,
        )

    # -- one run -------------------------------------------------------------------------------------------------------

    def run(
        self, families: Sequence[Family], X: Any, y: Any, task: Task
    ) -> dict[int, Run]:
        """Fit candidates on one split, read what each selected, score it on the rows left out."""
        X_train = _perturbed(take_rows(X, task.train), self.noise, task.seed)
        y_train = None if y is None else take_rows(y, task.train)
        params = params_of_rows(X, self.fit_params, task.train)
        walk = self.walk(y_train, task.seed, params)
        walk.ahead = task.ahead
        left_out = None
        runs: dict[int, Run] = {}
        times = ScoreTimes()
        # A single estimator is told of the callbacks, and has nothing to share.
        single = walk.prepare(families)
        shared = nullcontext() if single is not None else reading_same_rows(X_train)
        with (
            task.progress.around(single, X_train, y_train),
            reading_with(self.readers),
            shared,
        ):
            for fitted in walk.fitted(families, X_train):
                run = self._read(fitted, X_train, y_train)
                if not run.is_done and self.scorer is not None:
                    # After the first fit: until then there is room for its copies.
                    left_out = left_out or rows_left_out(self, X, y, task.test)
                    score = partial(self._scored, run, fitted, left_out)
                    run = times.timed(score, fitted.estimator, fitted.candidates)
                if self.keep_estimators and run.fit_error is None:
                    run = run._replace(estimator=fitted.estimator)
                runs |= dict.fromkeys(fitted.candidates, run)
        return runs | {
            candidate: runs[candidate]._replace(score_time=seconds)
            for candidate, seconds in times.each().items()
        }

    def n_ahead(self, families: Sequence[Family], X: Any) -> int:
        """How many splits are followed together, where all candidates are one path."""
        path = shared_path(families)
        if path is None or self.noise is not None:
            return 1
        allowed = set() if path.is_scaled else {"sample_weight"}
        weight = self.fit_params.get("sample_weight")
        may = self.fit_params.keys() <= allowed and may_share(path.model, X, weight)
        return N_TOGETHER if may else 1

    def ahead(
        self, families: Sequence[Family], X: Any, y: Any, tasks: Sequence[Task]
    ) -> Sequence[Ahead | None]:
        """The models of all candidates on several splits; None for splits that are followed one by one."""
        path = shared_path(families)
        if path is None:
            return [None] * len(tasks)
        trains = [row_numbers(task.train, X.shape[0], "cv") for task in tasks]
        return followed_together(
            path,
            X,
            y,
            trains,
            [task.split for task in tasks],
            tasks[0].n_splits,
            self.fit_params.get("sample_weight"),
        )

    def together(self, candidates: Mapping[int, Candidate]) -> tuple[Family, ...]:
        """Put candidates together, so that what they share is fitted once."""
        return families_of({number: one.chain for number, one in candidates.items()})

    def pieces(
        self, candidates: Mapping[int, Candidate], n_pieces: int
    ) -> list[tuple[int, ...]]:
        """Divide candidates among workers, without cutting through what is fitted together."""
        chains = {number: one.chain for number, one in candidates.items()}
        return parts_of_grid(chains, n_pieces)

    def walk(self, y: Any, seed: Any, fit_params: dict[str, Any]) -> GridWalk:
        """Return what fits candidates to the target of some rows."""
        return GridWalk(self.estimator, y, seed, fit_params)

    def _read(self, fitted: Fitted, X: Any, y: Any) -> Run:
        error = fitted.error
        if error is None:
            try:
                rows = deepcopy(X) if fitted.alone else X
                chosen = self.read(fitted.estimator, rows, y)
                return Run(chosen.packed(), scores={}, fit_time=fitted.seconds)
            except Exception as unreadable:  # noqa: BLE001  raised below, or kept: the other candidates continue
                error = unreadable
        return self.failed_fit(error, fitted.estimator, X, fitted.seconds)

    def _scored(self, run: Run, fitted: Fitted, left_out: RowsLeftOut) -> Run:
        # The last step of a candidate, and with it the score that it has of its own, may be another one.
        own = row_scores_of(self.scoring, fitted.estimator)
        plan = self if own == self.row_scores else replace(self, row_scores=own)
        rows = left_out._replace(X=deepcopy(left_out.X)) if fitted.alone else left_out
        return score_on(run, plan, fitted.estimator, rows)

    # -- what is kept of it --------------------------------------------------------------------------------------------

    def identity(self, candidate: Candidate) -> dict[str, Any]:
        """What the outcome of a candidate depends on, apart from the data, the split and the seed."""
        own = {
            "estimator": clone(candidate.estimator),  # without what a fit left in it
            "seeds": candidate.seeds,
            "scoring": self.scoring,
            "importance_getter": self.importance_getter,
            "scale_importances": self.scale_importances,
            "zero_outside": self.zero_outside,
            "support_from": self.support_from,
            "perturb": self.perturb,
            "keep_probabilities": self.keep_probabilities,
            "keep_estimators": self.keep_estimators,
            "readers": self.readers,
        }
        fit = {
            f"fit parameter {name}": self.fit_params[name]
            for name in sorted(self.fit_params)
        }
        score = {
            f"score parameter {name}": self.score_params[name]
            for name in sorted(self.score_params)
        }
        return own | fit | score

    def is_random(self, candidate: Candidate) -> bool:
        """Whether the outcome of a candidate depends on the seed of the run."""
        return bool(candidate.seeds) or self.noise is not None

    def pack(self, run: Run) -> dict[str, Any]:
        """What is stored of a run, failed or not."""
        return fields_of(run)

    def unpack(self, fields: Mapping[str, Any], n_features: int) -> Run | None:
        """The run that was stored; None where its error is to be raised, for which it is made again."""
        run = run_of(fields, n_features)
        is_error = run.fit_error is not None or run.score_error is not None
        return None if is_error and self.error_score == "raise" else run


def score_rows(
    run: Run, plan: RunPlan, estimator: Any, X: Any, y: Any, test: Any
) -> Run:
    """Add to a run the scores of its estimator on the rows left out."""
    return score_on(run, plan, estimator, rows_left_out(plan, X, y, test))


class RowsLeftOut(NamedTuple):
    """The rows that a run left out."""

    X: Any
    target: tuple[Any, ...]
    params: dict[str, Any]


def rows_left_out(plan: RunPlan, X: Any, y: Any, test: Any) -> RowsLeftOut:
    """Take the rows that a run left out."""
    target = () if y is None else (take_rows(y, test),)
    return RowsLeftOut(
        take_rows(X, test), target, params_of_rows(X, plan.score_params, test)
    )


def score_on(run: Run, plan: RunPlan, estimator: Any, left_out: RowsLeftOut) -> Run:
    """Add to a run the scores of its estimator on rows."""
    X, target, params = left_out
    try:
        rows = None
        if plan.row_scores and target and not params:
            rows = score_by_row(plan.row_scores, estimator, X, *target)
            if set(plan.row_scores) == set(plan.score_names):
                return run._replace(scores=rows.scores, rows=rows)
        scores = plan.scorer(estimator, X, *target, **params)
        if plan.keep_probabilities:
            rows = _with_probabilities(rows, plan, estimator, X)
        if not isinstance(scores, dict):
            scores = {plan.score_names[0]: _number(scores)}
            return run._replace(scores=scores, rows=rows)
    except UnsetMetadataPassedError:  # a mistake in the call, the same in every run
        raise
    except Exception as error:  # a score that fails is not a reason to lose the run
        if plan.error_score == "raise":
            raise
        return run._replace(scores={}, score_error=describe(error))
    # A multi-metric scorer returns the traceback of a metric that failed as its score.
    errors = [
        bounded(score.strip().splitlines()[-1])
        for score in scores.values()
        if isinstance(score, str)
    ]
    known = {
        name: score for name, score in scores.items() if not isinstance(score, str)
    }
    return run._replace(scores=known, score_error=next(iter(errors), None), rows=rows)


def _with_probabilities(
    rows: RowScored | None, plan: RunPlan, estimator: Any, X: Any
) -> RowScored | None:
    probabilities = probabilities_of(estimator, X, plan.classes)
    if probabilities is None:
        return rows
    known = rows or RowScored({}, {}, np.asarray(estimator.predict(X)))
    return known._replace(probabilities=probabilities)


def _number(score: Any) -> float:
    if np.ndim(score) or not np.issubdtype(np.asarray(score).dtype, np.number):
        raise ValueError(f"scoring must return a number, got {score!r}")
    return float(score)


# -- noise -------------------------------------------------------------------------------------------------------------


def _perturbed(X: Any, noise: Any, seed: Any) -> Any:
    """Add noise to the rows of one run."""
    if noise is None:
        return X
    # A stream of its own: the estimator's seeds come from the parent sequence.
    rng = np.random.default_rng(
        np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
    )
    drawn = rng.standard_normal(X.shape) * noise
    return (
        type(X)(X.to_numpy() + drawn, schema=X.columns) if _is_polars(X) else X + drawn
    )


def _is_polars(X: Any) -> bool:
    return hasattr(X, "with_columns") and hasattr(X, "to_numpy")


def noise_scale(X: Any, scale: float) -> Any:
    """Standard deviation of the noise on each feature."""
    if issparse(X) or not (
        isinstance(X, np.ndarray) or hasattr(X, "iloc") or _is_polars(X)
    ):
        raise TypeError(
            f"perturb={scale!r} adds noise to every entry, for which X must be a dense array or a pandas or polars "
            "DataFrame"
        )
    table = X.to_numpy() if _is_polars(X) else X
    try:
        deviations = pd.DataFrame(table).std(axis=0, ddof=0).to_numpy(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"perturb={scale!r} adds noise to every entry, for which all columns of X must be numeric"
        ) from error
    # Without the missing values, to which noise adds nothing.
    return scale * np.nan_to_num(deviations)


# -- collecting --------------------------------------------------------------------------------------------------------


def collect(
    runs: Sequence[Run],
    plan: RunPlan,
    splits: Sequence[Any],
    *,
    numbers: Sequence[int] | None = None,
    n_rows: int,
    row_counts: Any = None,
    **declared: Any,
) -> Runs:
    """Put runs together; failed ones are only counted.

    `numbers` has the number of the split of each run, None for the first splits; `declared` is what all runs have in
    common: their number of features and further fields of `Runs`. `row_counts` are those of all splits, where they are
    known already.
    """
    done = [run for run in runs if run.fit_error is None]
    seen = dict.fromkeys(name for run in done for name in run.scores or ())
    # A callable may return scores of any names; otherwise those are known though all failed.
    names = seen or dict.fromkeys(
        plan.score_names if done and plan.scorer is not None else ()
    )
    of_all = (
        np.arange(len(runs)) if numbers is None else np.asarray(numbers, dtype=np.int64)
    )
    of_done = of_all[np.flatnonzero([run.fit_error is None for run in runs])]
    pairs = pairs_of(splits)
    if row_counts is None:
        row_counts = counts_of_rows([splits[number] for number in of_done], n_rows)
    elif len(of_done) < len(splits):  # otherwise the candidates of a search share it
        row_counts = row_counts[of_done]
    return Runs.from_selections(
        [run.selection for run in done if run.selection is not None],
        scores={
            name: np.array(
                [(run.scores or {}).get(name, plan.error_score) for run in done]
            )
            for name in names
        },
        fit_times=np.array([run.fit_time for run in done]),
        split_numbers=of_done,
        pairs=None if pairs is None else pairs[of_done],
        n_failed=len(runs) - len(done),
        row_counts=row_counts,
        **row_tables(
            done, [splits[number][1] for number in of_done.tolist()], plan, n_rows
        ),
        **declared,
    )


def pairs_of(splits: Sequence[Any]) -> IntArray | None:
    """Number of the pair that each split is of, where splits 2b and 2b + 1 always train on disjoint rows."""
    if len(splits) % 2:
        return None
    disjoint = (
        not np.intersect1d(a, b).size
        for (a, _), (b, _) in zip(splits[::2], splits[1::2], strict=True)
    )
    return np.arange(len(splits)) // 2 if all(disjoint) else None


def counts_of_rows(splits: Sequence[Any], n_rows: int) -> Any:
    """How often each split trains on each row, splits × rows."""
    if not len(splits):
        return csr_array((0, n_rows), dtype=np.int32)
    drawn = [np.unique(train, return_counts=True) for train, _ in splits]
    indptr = np.cumsum([0, *(len(rows) for rows, _ in drawn)])
    rows = np.concatenate([rows for rows, _ in drawn])
    counts = np.concatenate([counts for _, counts in drawn])
    return csr_array(
        (counts.astype(np.int32), rows, indptr), shape=(len(splits), n_rows)
    )


def row_tables(
    runs: Sequence[Run], tests: Sequence[Any], plan: RunPlan, n_rows: int
) -> dict[str, Any]:
    """Losses, predictions and probabilities, NaN for the rows that a run did not leave out."""
    if not any(run.rows is not None for run in runs):
        return {}
    losses = {name: np.full((len(runs), n_rows), np.nan) for name in plan.row_scores}
    predictions = np.full((len(runs), n_rows), np.nan)
    for number, (run, test) in enumerate(zip(runs, tests, strict=True)):
        if run.rows is not None:
            predictions[number, test] = _codes(run.rows.predictions, plan.classes)
            for name, table in losses.items():
                table[number, test] = run.rows.losses[name]
    return {
        "row_losses": losses,
        "row_predictions": predictions,
        "row_probabilities": _probability_table(runs, tests, n_rows),
    }


def _probability_table(runs: Sequence[Run], tests: Sequence[Any], n_rows: int) -> Any:
    """Probabilities, runs × rows (× classes, where they are not two), or None where no run has any."""
    known = {
        number: run.rows.probabilities
        for number, run in enumerate(runs)
        if run.rows is not None and run.rows.probabilities is not None
    }
    if not known:
        return None
    of_row = next(iter(known.values())).shape[1:]
    table = np.full((len(runs), n_rows, *of_row), np.nan, dtype=np.float32)
    for number, probabilities in known.items():
        table[number, tests[number]] = probabilities
    return table


def _codes(predictions: Any, classes: Any) -> Any:
    """Predicted numbers as they are, predicted classes by their place among the classes; NaN for several outputs."""
    if predictions.ndim > 1 and predictions.shape[1] > 1:
        return np.nan
    return (
        predictions.ravel()
        if classes is None
        else np.searchsorted(classes, predictions.ravel())
    )


def join_in_order(
    runs: Runs | None, part: Runs, missing_score: Any
) -> tuple[Runs, IntArray]:
    """Join runs of other splits to those there are, in the order of the splits; return that order too."""
    joined = (
        part if runs is None else Runs.concat([runs, part], missing_score=missing_score)
    )
    order = np.argsort(joined.split_numbers, kind="stable")
    if (np.diff(order) > 0).all():
        return joined, order
    runs = joined.take(order)
    # Tables as they are kept, which `replace` alone would make dense.
    kept = runs.tables._asdict()
    return replace(runs, **kept, n_failed=joined.n_failed), order


def report_failures(runs: Sequence[Run], n_done: int, error_score: Any) -> None:
    """Warn about what failed, once each; raise when too little is left to compare."""
    failed = [run.fit_error for run in runs if run.fit_error is not None]
    unscored = [run.score_error for run in runs if run.score_error is not None]
    if n_done < 2:
        raise ValueError(
            f"{len(failed)} of {len(runs)} runs failed, too many to compare the rest: {failed[0]}"
        )
    if failed:
        warn_user(
            f"{len(failed)} of {len(runs)} runs failed and are left out; the first one with {failed[0]}",
            FitFailedWarning,
        )
    if unscored:
        warn_user(
            f"scoring failed in {len(unscored)} of {len(runs)} runs, which have the score {error_score}; the first one "
            f"with {unscored[0]}"
        )

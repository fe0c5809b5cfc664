"""Runs of an estimator: what each worker does, and how the results are put together."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning, UnsetMetadataPassedError
from sklearn.pipeline import Pipeline

from skstab._compat import RunProgress, params_of_rows, take_rows
from skstab.model_selection._selected import Selection, selection_of


class Task(NamedTuple):
    """What is different in each run."""

    train: Any
    test: Any
    seed: Any  # a SeedSequence of its own
    progress: RunProgress


@dataclass(frozen=True)
class Plan:
    """What all runs have in common."""

    estimator: Any
    scorer: Any
    score_names: tuple[str, ...]
    fit_params: dict[str, Any]
    score_params: dict[str, Any]
    importance_getter: Any
    scale_importances: bool
    zero_outside: bool
    error_score: Any
    noise: Any  # standard deviation of the noise on each feature, or None
    seeds: tuple[str, ...]  # names of the parameters that each run seeds
    keep_estimators: bool


class Row(NamedTuple):
    """The entries of a row that are not zero."""

    indices: Any
    values: Any

    @classmethod
    def of(cls, dense: Any) -> Row:
        indices = np.flatnonzero(dense != 0).astype(np.int32)  # of bools, which is several times as fast
        return cls(indices, dense[indices])


class Run(NamedTuple):
    """What comes back from a worker: small, whatever the model was."""

    support: Row | None = None
    importances: Row | None = None
    signs: Row | None = None
    scores: dict[str, float] | None = None
    score_error: str | None = None
    fit_time: float = np.nan
    fit_error: str | None = None
    estimator: Any = None


def run_task(plan: Plan, X: Any, y: Any, task: Task) -> Run:
    """Fit, read what was selected, score on the rows left out."""
    estimator = seeded(plan.estimator, plan.seeds, task.seed)
    X_train, y_train = _perturbed(take_rows(X, task.train), plan.noise, task.seed), _rows(y, task.train)
    params = params_of_rows(X, plan.fit_params, task.train)
    with task.progress.around(estimator, X_train, y_train):
        run = _fit(plan, estimator, X_train, y_train, params)
    del X_train, y_train  # their memory serves the test rows
    if run.fit_error is not None:
        return run
    scores, score_error = _score(plan, estimator, X, y, task.test)
    kept = estimator if plan.keep_estimators else None
    return run._replace(scores=scores, score_error=score_error, estimator=kept)


def _fit(plan: Plan, estimator: Any, X: Any, y: Any, params: dict[str, Any]) -> Run:
    start = time.perf_counter()
    try:
        estimator.fit(X, y, **params)
        fit_time = time.perf_counter() - start
        chosen = selection_of(
            estimator,
            X,
            y,
            importance_getter=plan.importance_getter,
            scale_importances=plan.scale_importances,
            zero_outside=plan.zero_outside,
        )
    except Exception as error:  # any estimator may fail in any way; the others go on
        if plan.error_score == "raise":
            raise
        return Run(fit_error=describe(error))
    return Run(*_rows_of(chosen), fit_time=fit_time)


def _rows_of(chosen: Selection) -> tuple[Row, Row | None, Row | None]:
    # A model that drops nothing uses the features that have a weight.
    support = chosen.importances != 0 if chosen.support is None else chosen.support
    signs = None if chosen.coef is None else np.sign(chosen.coef).astype(np.int8)
    importances, signs = (None if dense is None else Row.of(dense) for dense in (chosen.importances, signs))
    return Row.of(support), importances, signs


def _score(plan: Plan, estimator: Any, X: Any, y: Any, test: Any) -> tuple[dict[str, float], str | None]:
    if plan.scorer is None:
        return {}, None
    params = params_of_rows(X, plan.score_params, test)
    target = () if y is None else (take_rows(y, test),)
    try:
        scores = plan.scorer(estimator, take_rows(X, test), *target, **params)
        if not isinstance(scores, dict):
            return {plan.score_names[0]: _number(scores)}, None
    except UnsetMetadataPassedError:  # a mistake in the call, the same in every run
        raise
    except Exception as error:  # a score that can't be had is no reason to lose the run
        if plan.error_score == "raise":
            raise
        return {}, describe(error)
    # A multi-metric scorer returns the traceback of a metric that failed as its score.
    errors = [score.strip().splitlines()[-1] for score in scores.values() if isinstance(score, str)]
    return {name: score for name, score in scores.items() if not isinstance(score, str)}, next(iter(errors), None)


def _number(score: Any) -> float:
    if np.ndim(score) or not np.issubdtype(np.asarray(score).dtype, np.number):
        raise ValueError(f"scoring must return a number, got {score!r}")
    return float(score)


def describe(error: Exception) -> str:
    """Name an exception and its message."""
    return f"{type(error).__name__}: {error}"


def _rows(y: Any, rows: Any) -> Any:
    return None if y is None else take_rows(y, rows)


# -- randomness ------------------------------------------------------------------------------------------------------


def seeded(estimator: Any, names: Sequence[str], seed: Any) -> Any:
    """Clone an estimator and seed its parameters of those names."""
    copy = clone(estimator)
    # RandomState takes seeds below 2**32; scikit-learn's validation wants plain ints.
    for name, value in zip(names, seed.generate_state(len(names)).tolist(), strict=True):
        *path, parameter = name.split("__")
        reduce(_part, path, copy).set_params(**{parameter: value})
    return copy


def _part(estimator: Any, name: str) -> Any:
    # A pipeline is quickly asked for one step, but at length for all its parameters.
    return estimator.named_steps[name] if isinstance(estimator, Pipeline) else estimator.get_params()[name]


def random_parameters(estimator: Any, *, everywhere: bool) -> tuple[str, ...]:
    """Names of the parameters that seed an estimator or its parts, in a fixed order: those not set, or all."""
    params = estimator.get_params(deep=True)
    names = [name for name in params if name == "random_state" or name.endswith("__random_state")]
    return tuple(sorted(name for name in names if everywhere or params[name] is None))


def _perturbed(X: Any, noise: Any, seed: Any) -> Any:
    """Add noise to the rows of one run."""
    if noise is None:
        return X
    # A stream of its own: the estimator's seeds come from the parent sequence.
    rng = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1)))
    drawn = rng.standard_normal(X.shape) * noise
    return X + drawn


# -- collecting ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Collected:
    """The runs that succeeded, put together, and what is to be said of those that did not."""

    supports: Any  # (n_runs, n_features) of bool
    importances: Any  # the same of floats, or None where the estimator has none
    sign_counts: Any  # how often each coefficient was positive, and negative; None where not linear
    scores: dict[str, Any]
    fit_times: Any
    numbers: Any  # of the splits that succeeded
    n_failed: int
    estimators: list[Any]


def collect(runs: Sequence[Run], n_features: int, plan: Plan, *, start: int = 0) -> Collected:
    """Put runs together, the first of which is of split `start`; failed ones are only counted."""
    done = [run for run in runs if run.fit_error is None]
    seen = dict.fromkeys(name for run in done for name in run.scores or ())
    # A callable may return scores of any names; otherwise those are known though all failed.
    names = seen or dict.fromkeys(plan.score_names if done and plan.scorer is not None else ())
    return Collected(
        supports=smaller(_stack([run.support for run in done], n_features, bool)),
        importances=smaller(_stack([run.importances for run in done], n_features, np.float64)),
        sign_counts=_count_signs([run.signs for run in done], n_features),
        scores={name: np.array([(run.scores or {}).get(name, plan.error_score) for run in done]) for name in names},
        fit_times=np.array([run.fit_time for run in done]),
        numbers=start + np.flatnonzero([run.fit_error is None for run in runs]),
        n_failed=len(runs) - len(done),
        estimators=[run.estimator for run in done if run.estimator is not None],
    )


def _stack(rows: Sequence[Row | None], n_features: int, dtype: Any) -> Any:
    if not rows:
        return sparse.csr_array((0, n_features), dtype=dtype)
    if any(row is None for row in rows):
        return None
    indptr = np.cumsum([0, *(len(row.indices) for row in rows)])
    indices = np.concatenate([row.indices for row in rows])
    values = np.concatenate([row.values for row in rows]).astype(dtype, copy=False)
    return sparse.csr_array((values, indices, indptr), shape=(len(rows), n_features))


def _count_signs(rows: Sequence[Row | None], n_features: int) -> Any:
    signs = _stack(rows, n_features, np.int8)
    if signs is None:
        return None
    positive = np.bincount(signs.indices[signs.data > 0], minlength=n_features)
    negative = np.bincount(signs.indices[signs.data < 0], minlength=n_features)
    return np.vstack([positive, negative])


def smaller(csr: Any) -> Any:
    """Return a CSR array as it is, or dense where that takes less memory."""
    if csr is None:
        return None
    width = np.int32 if max(csr.nnz, *csr.shape) < 2**31 else np.int64
    indices, indptr = csr.indices.astype(width, copy=False), csr.indptr.astype(width, copy=False)
    if csr.data.nbytes + indices.nbytes + indptr.nbytes < csr.dtype.itemsize * np.prod(csr.shape):
        return sparse.csr_array((csr.data, indices, indptr), shape=csr.shape)
    return csr.toarray()


def join(old: Collected, new: Collected, error_score: Any) -> Collected:
    """Add runs to those collected before."""
    signs = None if old.sign_counts is None or new.sign_counts is None else old.sign_counts + new.sign_counts
    return Collected(
        supports=_below(old.supports, new.supports),
        importances=_below(old.importances, new.importances),
        sign_counts=signs,
        scores=_join_scores(old, new, error_score),
        fit_times=np.concatenate([old.fit_times, new.fit_times]),
        numbers=np.concatenate([old.numbers, new.numbers]),
        n_failed=old.n_failed + new.n_failed,
        estimators=[*old.estimators, *new.estimators],
    )


def _join_scores(old: Collected, new: Collected, error_score: Any) -> dict[str, Any]:
    parts = [(runs.scores, np.full(runs.fit_times.size, error_score)) for runs in (old, new)]
    names = dict.fromkeys([*old.scores, *new.scores])
    return {name: np.concatenate([scores.get(name, unknown) for scores, unknown in parts]) for name in names}


def _below(old: Any, new: Any) -> Any:
    if old is None or new is None:
        return None
    return smaller(sparse.vstack([sparse.csr_array(old), sparse.csr_array(new)], format="csr"))


def report(runs: Sequence[Run], n_done: int, error_score: Any) -> None:
    """Warn about what failed, once each; raise when too little is left to compare."""
    failed = [run.fit_error for run in runs if run.fit_error is not None]
    unscored = [run.score_error for run in runs if run.score_error is not None]
    if n_done < 2:
        raise ValueError(f"{len(failed)} of {len(runs)} runs failed, too many to compare the rest: {failed[0]}")
    if failed:
        warnings.warn(
            f"{len(failed)} of {len(runs)} runs failed and are left out; the first one with {failed[0]}",
            FitFailedWarning,
            stacklevel=5,
        )
    if unscored:
        warnings.warn(
            f"scoring failed in {len(unscored)} of {len(runs)} runs, which have the score {error_score}; the first one "
            f"with {unscored[0]}",
            UserWarning,
            stacklevel=5,
        )

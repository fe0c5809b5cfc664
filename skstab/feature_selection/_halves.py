"""One half of the rows: its path, and what the paths of all halves add up to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning

from skstab._compat import params_of_rows, take_rows
from skstab._engine.job import Job, Part, Task, row_numbers
from skstab._linear_paths.linear_models import PARAMETERS
from skstab._linear_paths.shared_paths import (
    N_TOGETHER,
    FoundPath,
    may_share,
    paths_of_resamples,
)
from skstab._random import seeded
from skstab._warnings import describe, warn_user
from skstab.feature_selection._clusters import cluster_walk
from skstab.feature_selection._paths import path_of, steps_of
from skstab.feature_selection._settings import IMPORTANCE
from skstab.feature_selection._walk import Step, Walk
from skstab.runs import reading_with, selection_of

__all__ = [
    "Asked",
    "Floats",
    "Half",
    "Indices",
    "PathPlan",
    "Paths",
    "importance_path",
    "importances_of",
    "report_convergence",
    "report_failures",
    "shares_of",
    "shares_together",
    "table_at",
]

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]


class Half(NamedTuple):
    """The walk of a subsample over clusters, and the features that were in at each of its values."""

    walk: Walk
    features: list[Indices]


Outcome: TypeAlias = Half | Floats | Exception


class EarlierFailureError(ValueError):
    """The failure of a subsample that was found in a checkpoint."""


class PathPlan(NamedTuple):
    """What all subsamples have in common: one estimator, which is followed along its path."""

    estimator: Any
    open_seeds: Sequence[str]
    param_name: str
    values: Any  # the strongest regularisation first
    fit_params: dict[str, Any]
    q: int | None
    weakness: float
    codes: Indices  # the cluster of each feature
    readers: tuple[Any, ...] = ()  # those of the process that made the plan
    support_from: str = "used"

    def half_of(self, path: Iterator[Step]) -> Half:
        """Follow a path as far as wanted."""
        return Half(*cluster_walk(path, self.q, self.codes))

    def run(self, estimator: Any, X: Any, y: Any, task: Task) -> dict[int, Outcome]:
        """Follow the path of one subsample, or weigh its features."""
        with task.progress.around(None, X, y), reading_with(self.readers):
            try:
                return {0: self._outcome(estimator, X, y, task)}
            except Exception as error:  # noqa: BLE001  any estimator may fail in any way; the other subsamples go on
                return {0: error}

    def n_ahead(self, estimator: Any, X: Any) -> int:
        """How many subsamples are followed together."""
        weight = self.fit_params.get("sample_weight")
        is_own = self.param_name == PARAMETERS.get(type(estimator))
        knows = self.fit_params.keys() <= {"sample_weight"} and self.weakness == 1
        may = is_own and knows and may_share(estimator, X, weight)
        return N_TOGETHER if may else 1

    def ahead(
        self, estimator: Any, X: Any, y: Any, tasks: Sequence[Task]
    ) -> Sequence[FoundPath | None]:
        """The paths of a model on several subsamples; None for those that are followed one by one."""
        seen: list[set[int]] = [set() for _ in tasks]

        def goes_on(number: int, columns: Indices) -> bool:
            seen[number].update(self.codes[columns].tolist())
            return self.q is None or len(seen[number]) < self.q

        return paths_of_resamples(
            estimator, X, y, self.values,
            [row_numbers(task.train, X.shape[0], "resampling") for task in tasks],
            [task.split for task in tasks], tasks[0].n_splits,
            sample_weight=self.fit_params.get("sample_weight"), goes_on=goes_on if self.q else None,
        )  # fmt: skip

    def _outcome(self, estimator: Any, X: Any, y: Any, task: Task) -> Half | Floats:
        if task.ahead is not None:
            return self.half_of(steps_of(task.ahead))
        model = seeded(estimator, self.open_seeds, task.seed)
        X_rows = _weakened(take_rows(X, task.train), self.weakness, task.seed)
        y_rows = None if y is None else take_rows(y, task.train)
        params = params_of_rows(X, self.fit_params, task.train)
        if self.param_name == IMPORTANCE:
            model.fit(X_rows, y_rows, **params)
            return importances_of(model, X_rows, y_rows, self.support_from)
        along = (self.param_name, self.values)
        data: Any = (X_rows, y_rows, params, self.support_from)
        return self.half_of(path_of(model, *along, *data, weigh=self.q is not None))

    def together(self, candidates: Mapping[int, Any]) -> Any:
        """The estimator, which is the only candidate."""
        return candidates[0]

    def pieces(self, candidates: Mapping[int, Any], n_pieces: int) -> Any:  # noqa: ARG002
        """A path is followed as a whole."""
        return [tuple(candidates)]

    def failed(self, error: Exception) -> Outcome:
        """The outcome of a subsample whose worker died."""
        return error

    def identity(self, estimator: Any) -> dict[str, Any]:
        """What the outcome depends on, apart from data, rows and seed."""
        # Importances do not depend on the thresholds that are later put to them.
        is_weighed = self.param_name == IMPORTANCE
        fit = {
            f"fit parameter {name}": self.fit_params[name]
            for name in sorted(self.fit_params)
        }
        return fit | {
            "estimator": clone(estimator),  # without what a fit left in it
            "seeds": self.open_seeds,
            "param_name": self.param_name,
            "param_values": None if is_weighed else (self.values, self.q, self.codes),
            "weakness": self.weakness,
            "support_from": self.support_from,
            "readers": self.readers,
        }

    def is_random(self, estimator: Any) -> bool:  # noqa: ARG002
        """Whether the outcome depends on the seed."""
        return bool(self.open_seeds) or self.weakness != 1

    def pack(self, outcome: Outcome) -> dict[str, Any]:
        """What is stored of a subsample."""
        if isinstance(outcome, Exception):
            return {"fit_error": describe(outcome)}
        if isinstance(outcome, np.ndarray):
            return {"importances": outcome}
        supports, seen, n_unconverged = outcome.walk
        fields = {"seen": seen, "n_unconverged": n_unconverged}
        features = _joined("features", outcome.features)
        return fields | _joined("supports", supports) | features

    def unpack(self, fields: Mapping[str, Any], n_features: int) -> Outcome:  # noqa: ARG002
        """The subsample that was stored."""
        if "fit_error" in fields:
            return EarlierFailureError(fields["fit_error"])
        if "importances" in fields:
            importances: Floats = fields["importances"]
            return importances
        supports = _separated(fields, "supports")
        walk = Walk(supports, fields["seen"], fields["n_unconverged"])
        return Half(walk, _separated(fields, "features"))


def _joined(name: str, rows: Sequence[Indices]) -> dict[str, Any]:
    nothing = np.zeros(0, dtype=np.intp)  # a path may have no steps
    return {
        name: np.concatenate([nothing, *rows]),
        f"{name}_ends": np.cumsum([len(row) for row in rows], dtype=np.intp),
    }


def _separated(fields: Mapping[str, Any], name: str) -> list[Indices]:
    return [
        fields[name][start:end]
        for start, end in pairwise([0, *fields[f"{name}_ends"].tolist()])
    ]


def importances_of(
    estimator: Any, X: Any, y: Any, support_from: str = "used"
) -> Floats:
    """Importances of a fitted estimator in the columns of X."""
    importances = selection_of(estimator, X, y, support_from=support_from).importances
    if importances is None:
        raise ValueError(
            f"{type(estimator).__name__} has no importances that can be read: give param_name and param_values"
        )
    return np.asarray(importances, dtype=np.float64)


def importance_path(importances: Floats, thresholds: Floats) -> Iterator[Step]:
    """Features whose importance exceeds each threshold, the largest first."""
    for threshold in thresholds:
        selected = np.flatnonzero(importances > threshold)
        yield Step(selected, importances[selected])


def _weakened(X: Any, weakness: float, seed: Any) -> Any:
    """Multiply each feature by a random number: the smaller, the larger its penalty."""
    if weakness == 1:
        return X
    # A stream of its own: the estimator's seeds come from the parent sequence.
    rng = np.random.default_rng(
        np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
    )
    weights = rng.uniform(weakness, 1, X.shape[1])
    if issparse(X):
        return X @ diags_array(weights, format="csr")
    return X * weights if hasattr(X, "iloc") else np.asarray(X) * weights


# -- all of them -------------------------------------------------------------------------------------------------------


def report_failures(outcomes: Sequence[Any]) -> Indices:
    """Warn of the subsamples that failed, once, and return the numbers of the others; raise where there is none."""
    failed = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    if len(failed) == len(outcomes):
        raise failed[0]
    if failed:
        warn_user(
            f"{len(failed)} of {len(outcomes)} subsamples failed and are left out; the first one with "
            f"{_reason(failed[0])}",
            FitFailedWarning,
        )
    return np.flatnonzero([not isinstance(outcome, Exception) for outcome in outcomes])


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, EarlierFailureError) else describe(error)


def report_convergence(halves: Sequence[Half]) -> None:
    """Warn of fits that did not converge, once."""
    unconverged = sum(half.walk.n_unconverged for half in halves)
    if unconverged:
        n_fits = sum(len(half.walk.supports) for half in halves)
        warn_user(
            f"{unconverged} of {n_fits} fits did not converge: raise max_iter or tol of the estimator, or leave out "
            "the weakest regularisations",
            ConvergenceWarning,
        )


def shares_of(
    supports: Sequence[list[Indices]], n_columns: int, order: Indices
) -> Floats:
    """Share of the halves that selected each column at each value; after a path has ended its last support stays."""
    shares = np.empty((n_columns, len(order)))
    for place, value in enumerate(order):
        selected = [one[min(place, len(one) - 1)] for one in supports]
        counts = np.bincount(np.concatenate(selected), minlength=n_columns)
        shares[:, value] = counts / len(supports)
    return shares


def shares_together(
    supports: Sequence[list[Indices]], n_columns: int, order: Indices
) -> Floats:
    """Share of the pairs of which both halves selected each column at each value; halves 2b and 2b + 1 are a pair."""
    counts = np.zeros((len(order), n_columns), dtype=np.intp)
    is_in = np.zeros(n_columns, dtype=bool)
    for first, second in zip(supports[::2], supports[1::2], strict=True):
        for place, value in enumerate(order):
            one, other = (half[min(place, len(half) - 1)] for half in (first, second))
            is_in[one] = True
            counts[value, other[is_in[other]]] += 1
            is_in[one] = False
    return counts.T / (len(supports) // 2)


def table_at(supports: Sequence[list[Indices]], n_columns: int, place: int) -> Any:
    """What each half selected at one place of the path, one row for each half."""
    rows = [one[min(place, len(one) - 1)] for one in supports]
    starts = np.r_[0, np.cumsum([len(row) for row in rows])]
    return csr_array(
        (np.ones(starts[-1], dtype=bool), np.concatenate(rows), starts),
        shape=(len(rows), n_columns),
    )


class Asked(NamedTuple):
    """What is followed on each subsample; the values and their order are None where they are not known yet."""

    plan: PathPlan
    values: Any
    order: Any
    y: Any
    splits: list[Any]
    entropy: Any

    def job(self, X: Any, stream: tuple[int, ...]) -> Job:
        """The job of the engine, with a stream of randomness of its own."""
        part = Part(self.y, self.splits, self.entropy, stream)
        return Job(self.plan, [self.plan.estimator], X, [part])


class Paths(NamedTuple):
    """The paths of the subsamples that did not fail, their numbers, the values and their order."""

    halves: list[Half]
    numbers: Any
    values: Any
    order: Any

    def shares(self, n_columns: int, *, clusters: bool = False) -> Any:
        supports = (
            self.clusters() if clusters else [half.features for half in self.halves]
        )
        return shares_of(supports, n_columns, self.order)

    def clusters(self) -> list[list[Any]]:
        """Clusters that each half selected at each place of its path."""
        return [half.walk.supports for half in self.halves]

    def together(self, n_clusters: int) -> Any:
        """Share of the pairs of which both halves selected each cluster at each value."""
        return shares_together(self.clusters(), n_clusters, self.order)

    def of_whole_pairs(self) -> Paths:
        """The same without halves whose other half failed."""
        kept = np.isin(self.numbers ^ 1, self.numbers)
        return self._replace(
            halves=[
                half for half, is_in in zip(self.halves, kept, strict=True) if is_in
            ],
            numbers=self.numbers[kept],
        )

"""Paths of many resamples of one table, followed together.

Resamples of a table have the same columns. A block of them goes through the penalties together: the pull of all columns
of all resamples is one product of their slopes and the table, in single precision; what lies too near a limit for it is
decided in double precision. The columns that it lets through are gathered by each resample and solved for by the
compiled `active_sets`. A resample that this solver gives up is left to `screening`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from skstab._linear_paths.active_set import SQUARED, Rows
from skstab._linear_paths.active_sets import CONSTANT, CONVERGED, Found, Goals, Sets
from skstab._linear_paths.fast import compiled_active_sets, has_compiler
from skstab._linear_paths.linear_models import (
    PARAMETERS,
    Objective,
    objectives_of,
    penalties_of,
)

__all__ = [
    "N_TOGETHER",
    "FoundPath",
    "Resample",
    "Settings",
    "Table",
    "may_share",
    "paths_of_resamples",
    "shared_paths",
]

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.intp]

N_TOGETHER = 20  # resamples in a block, so that what they work on fits into the cache
_FEWEST = 6  # resamples in a block, below which the product of all columns costs more than it saves
_MOST_STEPS = 100
_AT_ONCE = 1000  # columns that a resample gathers at once
_ROOM = 2**23  # numbers that the columns of a block have room for in the beginning
_FLOOR = 1e-13
_TIE = 1e-10
_TINY = 1e-300
_ROUGH = 1e-4  # share of a mean square that is left as a variance, below which single precision is too rough
_SINGLE = float(np.finfo(np.float32).eps)


# -- known models on resamples -----------------------------------------------------------------------------------------


def may_share(estimator: Any, X: Any, sample_weight: Any = None) -> bool:
    """Whether the paths of a model on resamples of a table can be followed together.

    They are where the solver is compiled, the table is dense and each resample is one problem: no further output, and
    of several classes no more than two.
    """
    return (
        has_compiler()
        and (isinstance(X, np.ndarray) or hasattr(X, "iloc"))
        and X.ndim == 2
        and type(estimator) in PARAMETERS
        and (sample_weight is None or np.ndim(sample_weight) == 1)
    )


def paths_of_resamples(
    estimator: Any,
    X: Any,
    y: Any,
    values: Any,
    trains: Sequence[Indices],
    splits: Sequence[int],
    n_splits: int,
    *,
    is_scaled: bool = False,
    sample_weight: Any = None,
    goes_on: Callable[[int, Indices], bool] | None = None,
) -> list[FoundPath | None]:
    """The paths of a known model on resamples, at values of its parameter from the strongest on.

    Parameters
    ----------
    estimator : estimator
        For which `may_share` holds.
    X, y : array-like
        The whole table, and its target.
    values : array-like
        Of the parameter.
    trains : sequence of ndarray
        The rows of each resample; a row may occur several times.
    splits : sequence of int
        The number of each among all `n_splits`. They belong to one block of `N_TOGETHER`: those from a multiple on.
    n_splits : int
        How many there are in all.
    is_scaled : bool, default=False
        Whether the model is behind a step that `standardises`.
    sample_weight : array-like, default=None
        Weights of the rows.
    goes_on : callable, default=None
        Whether a resample, by its place in `trains`, is followed further after a penalty with these columns.

    Returns
    -------
    paths : list of FoundPath or None
        None for a resample that is to be solved by itself.
    """
    nothing: list[FoundPath | None] = [None] * len(trains)
    first = min(splits) - min(splits) % N_TOGETHER
    known, target = _dense(X), _checked_target(estimator, y)
    is_few = min(N_TOGETHER, n_splits - first) < _FEWEST
    if is_few or known is None or target is None:
        return nothing
    resamples = {
        number: resample
        for number, train in enumerate(trains)
        if (
            resample := _resample(
                estimator, known, target, values, train, sample_weight
            )
        )
    }
    if not resamples:
        return nothing
    centred = next(iter(resamples.values())).objective.free_intercept
    numbers = list(resamples)
    found = shared_paths(
        Table(known, is_centred=centred or is_scaled),
        Settings(estimator.tol, estimator.max_iter, is_scaled),
        list(resamples.values()),
        [splits[number] - first for number in numbers],
        goes_on=goes_on and (lambda b, columns: goes_on(numbers[b], columns)),
    )
    for number, path in zip(numbers, found, strict=True):
        nothing[number] = path
    return nothing


def standardises(step: Any) -> bool:
    """Whether a step, not fitted, subtracts means and divides by standard deviations, and does nothing else."""
    return type(step) is StandardScaler and step.with_mean and step.with_std


def _dense(X: Any) -> Any:
    """The table as an array of numbers; None where it is none, or has values that are missing."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return check_array(X, dtype=[np.float64, np.float32, np.int8, np.uint8])
    except (TypeError, ValueError):
        return None


def _checked_target(estimator: Any, y: Any) -> Any:
    """The target as an array of one dimension; None where it is none, or no classes for a classifier."""
    target = None if y is None else np.asarray(y)
    if target is None or target.ndim != 1:
        return None
    if PARAMETERS[type(estimator)] == "C":
        try:
            check_classification_targets(target)
        except ValueError:
            return None
    return target


def _resample(
    estimator: Any, X: Any, y: Any, values: Any, train: Indices, sample_weight: Any
) -> Resample | None:
    """The problem of a resample; None where it has none, or more than one, or its own fit says what is wrong."""
    weight = None if sample_weight is None else np.asarray(sample_weight)[train]
    target = y[train]
    if not all(0 < value < np.inf for value in values):
        return None
    if PARAMETERS[type(estimator)] == "C" and len(np.unique(target)) != 2:
        return None
    try:
        objectives = objectives_of(
            estimator, target, len(train), weight, is_checked=True
        )
    except (TypeError, ValueError):
        return None
    if len(objectives) != 1 or not objectives[0].rows.weight.min() >= 0:
        return None
    penalties = penalties_of(estimator, objectives, values)
    return Resample.of(train, len(X), objectives[0], penalties)


# -- one block ---------------------------------------------------------------------------------------------------------


class Table:
    """A dense table, and its columns in single precision with a mean of zero (if centred) and a length of one."""

    def __init__(self, X: Any, *, is_centred: bool) -> None:
        self.X = X
        self.is_centred = is_centred
        n_rows, n_columns = X.shape
        self.scale = np.empty(n_columns)
        self.single = np.empty((n_rows, n_columns), dtype=np.float32)
        self.largest = 0.0
        step = max(1, 2**20 // n_rows)
        for start in range(0, n_columns, step):
            part = np.array(X[:, start : start + step], dtype=np.float64)
            self.largest = max(self.largest, float(np.abs(part).max(initial=0.0)))
            if is_centred:
                part -= part.mean(axis=0)
            length = np.sqrt(np.einsum("ij,ij->j", part, part))
            self.scale[start : start + step] = length
            part /= np.where(length > 0, length, 1.0)
            self.single[:, start : start + step] = part
        # Errors of products of unit vectors: of rounding both, and of summing.
        self.slack = 2 * _SINGLE * (2 + np.sqrt(n_rows))

    def columns(self, which: Indices) -> Floats:
        """Some columns, one in each row."""
        return np.ascontiguousarray(self.X.T[which], dtype=np.float64)


class Resample(NamedTuple):
    """The distinct rows of a resample, how often each was drawn, and what is minimised on them."""

    rows: Indices
    counts: Floats
    objective: Objective
    penalties: Floats
    middle: float  # the mean of the target

    @classmethod
    def of(
        cls, train: Indices, n_rows: int, objective: Objective, penalties: Floats
    ) -> Resample:
        """Put rows that were drawn several times together: they are one row with the sum of their weights."""
        counts = np.bincount(train, minlength=n_rows).astype(np.float64)
        kind, target, weight = objective.rows
        rows = counts.nonzero()[0]
        sums = np.bincount(train, weights=weight, minlength=n_rows)
        whole = sums[rows].astype(np.float64)
        targets = np.empty(n_rows)
        targets[train] = target
        of_rows = Rows(kind, targets[rows], whole)
        # As scikit-learn computes it, so that all models without features are the same to the last digit.
        middle = float(np.average(target, weights=weight))
        whole_objective = objective._replace(rows=of_rows)
        return cls(rows, counts[rows], whole_objective, penalties, middle)


class Settings(NamedTuple):
    """Where the solver stops, and whether each resample standardises its columns before."""

    tol: float
    max_iter: int
    is_scaled: bool = False


class FoundPath(NamedTuple):
    """The columns at each penalty, in their order, up to `ends`; what they are multiplied by, and their spread."""

    places: Indices
    coefs: Floats
    spreads: Floats  # standard deviations among the rows that were drawn
    ends: Indices
    intercepts: Floats
    n_steps: Indices
    gaps: Floats  # the duality gaps of squared losses, by row; NaN for others


def shared_paths(
    table: Table,
    settings: Settings,
    resamples: Sequence[Resample],
    positions: Sequence[int],
    *,
    goes_on: Callable[[int, Indices], bool] | None = None,
) -> list[FoundPath | None]:
    """Follow at most `N_TOGETHER` resamples from penalty to penalty, which must not grow.

    Parameters
    ----------
    table : Table
        Its columns.
    settings : Settings
        Where the solver stops, and what it is given.
    resamples : sequence of Resample
        The rows.
    positions : sequence of int
        The place of each in its block: results depend on it in the last bits, and on nothing else.
    goes_on : callable, default=None
        Whether a resample, by its number, is followed further after a penalty with these columns.

    Returns
    -------
    paths : list of FoundPath or None
        None where the solver gave up.
    """
    block = _Block(table, settings, resamples, positions)
    return block.followed(goes_on)


class _Block:
    """Where the resamples of a block have come to."""

    def __init__(
        self,
        table: Table,
        settings: Settings,
        resamples: Sequence[Resample],
        positions: Sequence[int],
    ) -> None:
        self.table, self.model = table, resamples[0].objective
        self.kind = self.model.rows.kind
        self.compiled = compiled_active_sets()
        self.positions = np.asarray(positions, dtype=np.intp)
        self.size = size = len(resamples)
        self.is_scaled = settings.is_scaled
        self.middle = np.zeros(size)  # of the targets
        self.n_drawn = np.array([one.counts.sum() for one in resamples])
        n_rows = max(len(one.rows) for one in resamples)
        self.sets = _sets_of(size, _room(size, n_rows), n_rows)
        for b, one in enumerate(resamples):
            n = len(one.rows)
            self.sets.rows[b, :n] = one.rows
            self.sets.share[b, :n] = one.counts / one.counts.sum()
            _, self.sets.target[b, :n], self.sets.weight[b, :n] = one.objective.rows
            if self.kind == SQUARED and self.model.free_intercept:
                self.middle[b] = one.middle
                self.sets.target[b, :n] -= one.middle
        penalties = np.array([one.penalties for one in resamples])
        self.bends = penalties * self.model.l1_ratio
        self.ridges = penalties - self.bends
        self.is_gathered = np.zeros((size, len(table.scale)), dtype=bool)
        self.scale = table.scale  # what correlations are multiplied by to be pulls
        self.slopes = np.zeros((N_TOGETHER, table.X.shape[0]), dtype=np.float32)
        self.length = np.zeros(size)
        # A parabola is solved exactly in any case, so that there the limit decides only which columns are seen to.
        self.tol = settings.tol / 10 if self.kind == SQUARED else settings.tol
        self.most = settings.max_iter if self.kind == SQUARED else _MOST_STEPS
        self.found = _found_of(size, self.bends.shape[1])
        if self.is_scaled:
            self._standardise()
        self._begin()

    def _begin(self) -> None:
        """Go to the models without features, and see how strongly the columns are pulled there."""
        sets, everyone = self.sets, np.arange(self.size)
        for b in everyone:
            sets.loss[b] = self.compiled.evaluate_rows(
                self.kind,
                sets.target[b],
                sets.weight[b],
                sets.f[b],
                sets.slope[b],
                sets.curvature[b],
            )
        if self.kind == SQUARED:
            sets.frozen[:] = sets.weight
        is_free = self.model.free_intercept
        largest = np.sqrt(sets.f.shape[1]) if self.is_scaled else self.table.largest
        self.unit = 1.0 + largest if is_free else self.model.constant
        if self.unit:
            sets.columns[:, 0] = np.where(sets.weight > 0, self.unit, 0.0)
            sets.place[:, 0], sets.size[:, 0] = -1, 1
        nothing, never = np.zeros(self.size), np.full(self.size, np.inf)
        limit = _FLOOR * self.unit * np.abs(sets.slope).sum(axis=1)
        status = np.zeros(self.size, dtype=np.intp)
        self.goals = Goals(nothing, nothing, limit, never, status)
        if is_free:
            self._settle(everyone)
        self._look(everyone)
        pull = np.abs(self.correlation) * self.scale
        self.strongest = pull.max(axis=1, initial=0.0) * self.length
        self.goals = self.goals._replace(least=_TIE * self.strongest)

    def followed(
        self, goes_on: Callable[[int, Indices], bool] | None
    ) -> list[FoundPath | None]:
        """Follow all of them to the end."""
        at = np.zeros(self.size, dtype=np.intp)
        following = self._aim_at(at)
        which = (self.goals.status == CONVERGED).nonzero()[0]
        # The strong rule.
        threshold = np.maximum(2 * self.goals.bend - self.strongest, 0.0)
        self._gather(self._pairs(which, threshold))
        while len(which):
            self._settle(which)
            which = which[self.goals.status[which] == CONVERGED]
            self._look(which)
            bend = self.goals.bend
            known = np.minimum(bend, self.strongest)
            threshold = np.maximum(2 * following - known, 0.0)
            pairs = self._pairs(which, np.minimum(threshold, bend))
            is_missed = self._is_missed(pairs)
            is_settled = np.ones(self.size, dtype=bool)
            is_settled[pairs.b_of[is_missed]] = False
            settled = which[is_settled[which]]
            outside = np.zeros(self.size)
            np.maximum.at(outside, pairs.b_of, pairs.pull)
            self._record(settled, at, outside)
            at[settled] += 1
            is_over = at >= self.bends.shape[1]
            if goes_on is not None:
                for b in settled[~is_over[settled]]:
                    is_over[b] = not goes_on(int(b), self._last_columns(b, at[b] - 1))
            which = which[~is_over[which]]
            going = which[is_settled[which]]
            self.compiled.forget(self.sets, going, threshold, self.is_gathered)
            is_going = np.isin(np.arange(self.size), going)[pairs.b_of]
            is_wanted = is_going & (pairs.pull >= threshold[pairs.b_of])
            self._gather(pairs.only(is_missed | is_wanted))
            # Those that missed a column keep the limit that they have come to.
            limit = self.goals.limit.copy()
            following = self._aim_at(at)
            kept = which[~is_settled[which]]
            self.goals.limit[kept] = limit[kept]
        has_path = self.goals.status == CONVERGED
        return [self._path(b, at[b]) if has_path[b] else None for b in range(self.size)]

    def _aim_at(self, at: Indices) -> Floats:
        """Set the penalties, each by its number, and return the bends that come next."""
        everyone, last = np.arange(self.size), self.bends.shape[1] - 1
        now = everyone, np.minimum(at, last)
        bend = self.bends[now]
        limit = np.maximum(self.tol * bend, _FLOOR * self.strongest)
        self.goals = self.goals._replace(bend=bend, ridge=self.ridges[now], limit=limit)
        following: Floats = self.bends[everyone, np.minimum(at + 1, last)]
        return following

    def _settle(self, which: Indices) -> None:
        n_free = int(self.model.free_intercept)
        self.compiled.settle(self.sets, which, self.goals, self.kind, n_free, self.most)

    def _look(self, which: Indices) -> None:
        """Multiply the slopes of resamples with all columns."""
        self.length[which] = self.compiled.scatter(
            self.sets, which, self.positions, self.slopes
        )
        correlation: Singles = (self.slopes @ self.table.single)[self.positions]
        if self.is_scaled:
            sums = self.sets.slope.sum(axis=1) / np.maximum(self.length, _TINY)
            correlation -= sums[:, None].astype(np.float32) * self.means
            correlation *= self.inverse
        self.correlation = correlation

    def _standardise(self) -> None:
        """Find the means and the standard deviations of all columns on each resample, in units of the table."""
        single = self.table.single
        drawn = np.zeros((N_TOGETHER, len(single)), dtype=np.float32)
        for b, position in enumerate(self.positions):
            drawn[position, self.sets.rows[b]] = self.sets.share[b]
        means, squares = (
            (drawn @ part)[self.positions] for part in (single, single**2)
        )
        variances = squares - means**2
        # What single precision cannot tell from a constant.
        b_of, j_of = np.nonzero(variances <= _ROUGH * squares)
        columns, place = self._distinct(j_of)
        part = self.table.columns(columns)
        for b in np.unique(b_of):
            those = (b_of == b).nonzero()[0]
            rows = part[np.ix_(place[those], self.sets.rows[b])]
            spreads = _centred_and_spreads(rows, self.sets.share[b])[1]
            length = np.maximum(self.table.scale[j_of[those]], _TINY)
            variances[b, j_of[those]] = (spreads / length) ** 2
        deviations = np.sqrt(variances)
        is_zero = deviations == 0
        inverse = np.where(is_zero, 0.0, 1 / np.where(is_zero, 1.0, deviations))
        self.scale = inverse.max(axis=0).astype(np.float64)
        self.means = means
        largest = np.where(self.scale > 0, self.scale, 1.0).astype(np.float32)
        self.inverse = inverse / largest

    def _pairs(self, which: Indices, threshold: Floats) -> _Pairs:
        """Columns that are not gathered and may be pulled by a threshold or more."""
        is_zero = self.length == 0
        low = np.where(is_zero, np.inf, threshold / np.where(is_zero, 1.0, self.length))
        b_of, j_of, pull = self.compiled.pairs_above(
            self.correlation,
            self.scale,
            self.is_gathered,
            which,
            low,
            self.table.slack,
        )
        return _Pairs(b_of, j_of, pull * self.length[b_of])

    def _is_missed(self, pairs: _Pairs) -> NDArray[np.bool_]:
        """Which columns violate their condition although they were not gathered."""
        b_of, j_of, pull = pairs
        # A first feature enters however little it is pulled.
        is_empty = self.sets.size[:, 2] == 0
        bend, limit = self.goals.bend, self.goals.limit
        threshold = bend + np.where(is_empty, self.goals.least, limit)
        error = self.table.slack * self.scale[j_of] * self.length[b_of]
        is_missed: NDArray[np.bool_] = pull > threshold[b_of]
        is_near = (np.abs(pull - threshold[b_of]) <= error).nonzero()[0]
        if len(is_near):
            pull[is_near] = self._exact(b_of[is_near], j_of[is_near])
            is_missed[is_near] = pull[is_near] > threshold[b_of[is_near]]
        return is_missed

    def _exact(self, b_of: Indices, j_of: Indices) -> Floats:
        """Pulls in double precision."""
        columns, place = self._distinct(j_of)
        part = self.table.columns(columns)
        pull = np.empty(len(b_of))
        for b in np.unique(b_of):
            those = (b_of == b).nonzero()[0]
            rows = part[np.ix_(place[those], self.sets.rows[b])]
            weight, slope = self.sets.weight[b], self.sets.slope[b]
            if self.is_scaled:
                rows, spreads = _centred_and_spreads(rows, self.sets.share[b])
                rows /= np.where(spreads > 0, spreads, np.inf)[:, None]
            if self.model.free_intercept:
                rows -= (rows @ weight / weight.sum())[:, None]
            pull[those] = np.abs(rows @ slope)
        return pull

    def _gather(self, pairs: _Pairs) -> None:
        if not len(pairs.b_of):
            return
        n_new = np.bincount(pairs.b_of, minlength=self.size)
        if n_new.max() > _AT_ONCE:
            order = np.lexsort([-pairs.pull, pairs.b_of])
            first = np.cumsum(n_new) - n_new
            rank = np.arange(len(order)) - first[pairs.b_of[order]]
            pairs = pairs.only(np.sort(order[rank < _AT_ONCE]))
            n_new = np.minimum(n_new, _AT_ONCE)
        wanted = int((self.sets.size[:, 0] + n_new).max())
        if wanted > self.sets.w.shape[1]:
            self.sets = _with_room(self.sets, 2 * wanted)
        self.is_gathered[pairs.b_of, pairs.j_of] = True
        columns, part_of = self._distinct(pairs.j_of)
        part, is_centred = self.table.columns(columns), self.model.free_intercept
        self.compiled.admit(
            self.sets, pairs.b_of, pairs.j_of, part, part_of, self.is_scaled, is_centred
        )

    def _distinct(self, j_of: Indices) -> tuple[Indices, Indices]:
        """Columns without repeats, and which of them each is."""
        place = np.zeros(len(self.table.scale), dtype=np.intp)
        place[j_of] = 1
        columns = place.nonzero()[0]
        place[columns] = np.arange(len(columns))
        return columns, place[j_of]

    def _record(self, which: Indices, at: Indices, outside: Floats) -> None:
        wanted = int(self.found.n_found.max() + self.sets.size[:, 2].max())
        if wanted > self.found.places.shape[1]:
            self.found = _with_more_found(self.found, 2 * wanted)
        self.compiled.record(self.sets, which, at, self.found, self.goals, outside)

    def _last_columns(self, b: int, at: int) -> Indices:
        start = self.found.ends[b, at - 1] if at else 0
        return np.sort(self.found.places[b, start : self.found.ends[b, at]])

    def _path(self, b: int, n_done: int) -> FoundPath:
        found, n = self.found, self.found.n_found[b]
        ends, places = found.ends[b, :n_done], found.places[b, :n]
        step = np.searchsorted(ends, np.arange(n), side="right")
        order = np.lexsort([places, step])
        own = self.unit * found.constants[b, :n_done] - found.shifts[b, :n_done]
        own[np.diff(ends, prepend=0) == 0] *= self.kind != SQUARED
        return FoundPath(
            places[order],
            found.coefs[b, order],
            found.spreads[b, order],
            ends,
            self.middle[b] + own,
            found.n_steps[b, :n_done],
            found.gaps[b, :n_done]
            / (self.n_drawn[b] if self.kind == SQUARED else np.nan),
        )


def _centred_and_spreads(rows: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Each row less its mean, and its standard deviation, as drawn; zero where it is constant."""
    means = rows @ share
    rows = rows - means[:, None]
    spreads = np.sqrt(rows**2 @ share)
    return rows, np.where(spreads > CONSTANT * np.abs(means), spreads, 0.0)


class _Pairs(NamedTuple):
    """Resamples and columns that are pulled, and how strongly."""

    b_of: Indices
    j_of: Indices
    pull: Floats

    def only(self, which: Any) -> _Pairs:
        return _Pairs(self.b_of[which], self.j_of[which], self.pull[which])


# -- room --------------------------------------------------------------------------------------------------------------


def _room(size: int, n_rows: int) -> int:
    """Slots to begin with."""
    return int(np.clip(_ROOM // (size * n_rows), 16, 256))


def _sets_of(size: int, n_slots: int, n_rows: int) -> Sets:
    """Sets without columns, and with room for some; what is never written takes no memory."""
    by_row, by_slot = (size, n_rows), (size, n_slots)
    return Sets(
        rows=np.zeros(by_row, dtype=np.intp),
        share=np.zeros(by_row),
        weight=np.zeros(by_row),
        target=np.zeros(by_row),
        f=np.zeros(by_row),
        slope=np.zeros(by_row),
        curvature=np.zeros(by_row),
        frozen=np.zeros(by_row),
        loss=np.zeros(size),
        columns=np.empty((size, n_slots, n_rows)),
        factor=np.empty((size, n_slots * (n_slots + 1) // 2)),
        place=np.full(by_slot, -1),
        w=np.zeros(by_slot),
        gradient=np.zeros(by_slot),
        violation=np.zeros(by_slot),
        middle=np.zeros(by_slot),
        spread=np.zeros(by_slot),
        rank=np.full(by_slot, -1),
        active=np.zeros(by_slot, dtype=np.intp),
        size=np.zeros((size, 4), dtype=np.intp),
    )


def _with_room(sets: Sets, n_slots: int) -> Sets:
    """The same with room for more columns."""
    size, n_rows = sets.f.shape
    grown = _sets_of(size, n_slots, n_rows)
    n_columns, n_active = sets.size[:, 0].max(), sets.size[:, 1].max()
    by_row = set(Sets._fields[: Sets._fields.index("columns")]) | {"size"}
    used = {"factor": n_active * (n_active + 1) // 2, "active": n_active}
    for name in Sets._fields:
        if name not in by_row:
            n = used.get(name, n_columns)
            getattr(grown, name)[:, :n] = getattr(sets, name)[:, :n]
    return grown._replace(**{name: getattr(sets, name) for name in by_row})


def _found_of(size: int, n_penalties: int) -> Found:
    room, by_penalty = (size, 1024), (size, n_penalties)
    return Found(
        np.zeros(size, dtype=np.intp),
        np.empty(room, dtype=np.intp),
        np.empty(room),
        np.empty(room),
        np.zeros(by_penalty),
        np.zeros(by_penalty),
        np.zeros(by_penalty),
        np.zeros(by_penalty, dtype=np.intp),
        np.zeros(by_penalty, dtype=np.intp),
    )


def _with_more_found(found: Found, room: int) -> Found:
    """The same with room for more columns."""
    grown = {}
    for name in ("places", "coefs", "spreads"):
        old = getattr(found, name)
        grown[name] = np.empty((len(old), room), dtype=old.dtype)
        grown[name][:, : old.shape[1]] = old
    return found._replace(**grown)

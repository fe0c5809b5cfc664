"""Paths of many resamples of one table, followed together.

Resamples of a table have the same columns. A block of them goes through the penalties together: the pull of all columns
of all resamples is one product of their slopes and the table, in single precision; what lies too near a limit for it is
decided in double precision. The columns that it lets through are gathered by each resample and solved for by the
compiled `active_sets`. A resample that this solver gives up is left to `screening`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skstab._linear_paths.active_set import SQUARED, Rows
from skstab._linear_paths.fast import compiled_active_sets
from skstab._linear_paths.linear_models import Objective

__all__ = ["N_TOGETHER", "FoundPath", "Resample", "Settings", "Table", "shared_paths"]

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.intp]

N_TOGETHER = 20  # resamples in a block, so that what they work on fits into the cache
_MOST_STEPS = 100
_AT_ONCE = 1000  # columns that a resample gathers at once
_ROOM = 2**23  # numbers that the columns of a block have room for in the beginning
_FLOOR = 1e-13
_TIE = 1e-10
_SINGLE = float(np.finfo(np.float32).eps)


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

    @classmethod
    def of(
        cls, train: Indices, n_rows: int, objective: Objective, penalties: Floats
    ) -> Resample:
        """Put rows that were drawn several times together: they are one row with the sum of their weights."""
        counts = np.bincount(train, minlength=n_rows)
        kind, target, weight = objective.rows
        rows = counts.nonzero()[0]
        whole = np.bincount(train, weights=weight, minlength=n_rows)[rows]
        targets = np.empty(n_rows)
        targets[train] = target
        of_rows = Rows(kind, targets[rows], whole)
        return cls(rows, counts[rows], objective._replace(rows=of_rows), penalties)


class Settings(NamedTuple):
    """Where the solver stops."""

    tol: float
    max_iter: int


class FoundPath(NamedTuple):
    """The columns at each penalty, in their order, up to `ends`; what they are multiplied by, and their spread."""

    places: Indices
    coefs: Floats
    spreads: Floats  # standard deviations among the rows that were drawn
    ends: Indices
    intercepts: Floats


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
        Where the solver stops.
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
        n_columns, n_rows = len(table.scale), max(len(one.rows) for one in resamples)
        size = len(resamples)
        self.rows = np.zeros((size, n_rows), dtype=np.intp)
        self.share = np.zeros((size, n_rows))
        self.sets = _sets_of(self.compiled.Sets, size, _room(size, n_rows), n_rows)
        for b, one in enumerate(resamples):
            n = len(one.rows)
            self.rows[b, :n] = one.rows
            self.share[b, :n] = one.counts / one.counts.sum()
            _, self.sets.target[b, :n], self.sets.weight[b, :n] = one.objective.rows
        self.bends = np.array([one.penalties for one in resamples]) * self.model.l1_ratio
        self.ridges = np.array([one.penalties for one in resamples]) - self.bends
        self.is_gathered = np.zeros((size, n_columns), dtype=bool)
        self.slopes = np.zeros((N_TOGETHER, table.X.shape[0]), dtype=np.float32)
        self.length = np.zeros(size)
        # A parabola is solved exactly in any case, so that there the limit decides only which columns are seen to.
        self.tol = settings.tol / 10 if self.kind == SQUARED else settings.tol
        self.most = settings.max_iter if self.kind == SQUARED else _MOST_STEPS
        self.limit, self.least = np.zeros(size), np.zeros(size)
        self.status = np.zeros(size, dtype=np.intp)
        self._begin()
        self.found = _Found.of(size, self.bends.shape[1])

    def _begin(self) -> None:
        """Go to the models without features, and see how strongly the columns are pulled there."""
        sets, everyone = self.sets, np.arange(len(self.rows))
        for b in everyone:
            loss = self.compiled.evaluate_rows(
                self.kind, sets.target[b], sets.weight[b], sets.f[b], sets.slope[b], sets.curvature[b],
            )  # fmt: skip
            sets.loss[b] = loss
            if self.kind == SQUARED:
                sets.frozen[b] = sets.weight[b]
        self.unit = 1.0 + self.table.largest if self.model.free_intercept else self.model.constant
        if self.unit:
            sets.columns[:, 0] = np.where(sets.weight > 0, self.unit, 0.0)
            sets.place[:, 0], sets.rank[:, 0], sets.size[:, 0] = -1, -1, 1
        if self.model.free_intercept:
            limit = _FLOOR * self.unit * np.abs(sets.slope).sum(axis=1)
            nothing = np.zeros(len(everyone))
            self._settle(everyone, nothing, nothing, limit, np.full_like(nothing, np.inf))
        self._look(everyone)
        self.strongest = np.zeros(len(everyone))
        for b in everyone:
            pull = np.abs(self.correlation[self.positions[b]]) * self.table.scale
            self.strongest[b] = pull.max(initial=0.0) * self.length[b]
        self.given_up = self.status > 0
        self.least = _TIE * self.strongest

    def _settle(
        self, which: Indices, bend: Floats, ridge: Floats, limit: Floats, least: Floats
    ) -> None:
        self.compiled.settle(
            self.sets, which, self.kind, bend, ridge, int(self.model.free_intercept), limit, least, self.most,
            self.status,
        )  # fmt: skip

    def _look(self, which: Indices) -> None:
        """Multiply the slopes of all resamples with all columns."""
        self.length[which] = self.compiled.scatter(
            self.sets, which, self.rows, self.positions, self.slopes
        )
        self.correlation: Singles = self.slopes @ self.table.single

    def followed(
        self, goes_on: Callable[[int, Indices], bool] | None
    ) -> list[FoundPath | None]:
        """Follow all of them to the end."""
        n_penalties = self.bends.shape[1]
        at = np.zeros(len(self.rows), dtype=np.intp)
        which = (~self.given_up).nonzero()[0]
        bend, ridge, following = self._penalties(at)
        threshold = np.maximum(2 * bend - self.strongest, 0.0)
        self._expect(which, bend)
        self._gather(*self._pairs(which, threshold))
        while len(which):
            self._settle(which, bend, ridge, self.limit, self.least)
            self.given_up[which] = self.status[which] > 0
            which = which[~self.given_up[which]]
            self._look(which)
            # The strong rule for the next penalty, and the check of this one.
            threshold = np.maximum(2 * following - np.minimum(bend, self.strongest), 0.0)
            pairs = self._pairs(which, np.minimum(threshold, bend))
            is_missed = self._is_missed(pairs, bend)
            is_done = np.ones(len(self.rows), dtype=bool)
            is_done[pairs[0][is_missed]] = False
            ready = which[is_done[which]]
            self._record(ready, at)
            at[ready] += 1
            is_over = at >= n_penalties
            if goes_on is not None:
                for b in ready[~is_over[ready]]:
                    is_over[b] = not goes_on(int(b), self.found.last(b, at[b] - 1))
            going = ready[~is_over[ready]]
            self.compiled.forget(self.sets, going, threshold, self.is_gathered)
            is_going = np.zeros(len(self.rows), dtype=bool)
            is_going[going] = True
            is_wanted = is_going[pairs[0]] & (pairs[2] >= threshold[pairs[0]])
            self._gather(*(part[is_missed | is_wanted] for part in pairs))
            bend, ridge, following = self._penalties(at)
            self._expect(going, bend)
            which = which[~is_over[which]]
        return [
            None if self.given_up[b] else self._path(b, at[b])
            for b in range(len(self.rows))
        ]

    def _penalties(self, at: Indices) -> tuple[Floats, Floats, Floats]:
        """Where each is, and the bend that comes next."""
        everyone, last = np.arange(len(at)), self.bends.shape[1] - 1
        now, then = np.minimum(at, last), np.minimum(at + 1, last)
        return self.bends[everyone, now], self.ridges[everyone, now], self.bends[everyone, then]

    def _expect(self, which: Indices, bend: Floats) -> None:
        limit = np.maximum(self.tol * bend, _FLOOR * self.strongest)
        self.limit[which] = limit[which]

    def _pairs(self, which: Indices, threshold: Floats) -> tuple[Indices, Indices, Floats]:
        """Resamples and columns that are pulled by a threshold or more, but for what single precision loses."""
        is_zero = self.length == 0
        low = np.where(is_zero, np.inf, threshold / np.where(is_zero, 1.0, self.length))
        b_of, j_of, pull = self.compiled.pairs_above(
            self.correlation, self.positions, self.table.scale, self.is_gathered, which, low,
            self.table.slack,
        )  # fmt: skip
        return b_of, j_of, pull * self.length[b_of]

    def _is_missed(
        self, pairs: tuple[Indices, Indices, Floats], bend: Floats
    ) -> NDArray[np.bool_]:
        """Which columns violate their condition although they were not gathered."""
        b_of, j_of, pull = pairs
        # A first feature enters however little it is pulled.
        is_empty = self.sets.size[:, 2] == 0
        threshold = bend + np.where(is_empty, self.least, self.limit)
        error = self.table.slack * self.table.scale[j_of] * self.length[b_of]
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
            rows = part[np.ix_(place[those], self.rows[b])]
            weight, slope = self.sets.weight[b], self.sets.slope[b]
            if self.model.free_intercept:
                rows -= (rows @ weight / weight.sum())[:, None]
            pull[those] = np.abs(rows @ slope)
        return pull

    def _gather(self, b_of: Indices, j_of: Indices, pull: Floats) -> None:
        if not len(b_of):
            return
        n_new = np.bincount(b_of, minlength=len(self.rows))
        if n_new.max() > _AT_ONCE:
            order = np.lexsort([-pull, b_of])
            first = np.cumsum(n_new) - n_new
            rank = np.arange(len(order)) - first[b_of[order]]
            kept = np.sort(order[rank < _AT_ONCE])
            b_of, j_of = b_of[kept], j_of[kept]
            n_new = np.minimum(n_new, _AT_ONCE)
        wanted = int((self.sets.size[:, 0] + n_new).max())
        if wanted > self.sets.w.shape[1]:
            self.sets = _with_room(self.sets, 2 * wanted)
        self.is_gathered[b_of, j_of] = True
        columns, part_of = self._distinct(j_of)
        self.compiled.admit(
            self.sets, self.rows, self.share, b_of, j_of, self.table.columns(columns), part_of,
            self.model.free_intercept,
        )  # fmt: skip

    def _distinct(self, j_of: Indices) -> tuple[Indices, Indices]:
        """Columns without repeats, and which of them each is."""
        place = np.zeros(len(self.table.scale), dtype=np.intp)
        place[j_of] = 1
        columns = place.nonzero()[0]
        place[columns] = np.arange(len(columns))
        return columns, place[j_of]

    def _record(self, which: Indices, at: Indices) -> None:
        self.found = self.found.with_room(int(self.sets.size[:, 0].max()))
        self.compiled.record(self.sets, which, at, *self.found)

    def _path(self, b: int, n_done: int) -> FoundPath:
        found = self.found
        n = found.n_found[b]
        ends, places = found.ends[b, :n_done], found.places[b, :n]
        order = np.lexsort([places, np.searchsorted(ends, np.arange(n), side="right")])
        coefs = found.coefs[b, order]
        return FoundPath(
            places[order], coefs, found.spreads[b, order], ends,
            self.unit * found.constants[b, :n_done] - found.shifts[b, :n_done],
        )  # fmt: skip


class _Found(NamedTuple):
    """What was recorded of each resample."""

    n_found: Indices
    places: Indices
    coefs: Floats
    spreads: Floats
    shifts: Floats
    constants: Floats
    ends: Indices

    @classmethod
    def of(cls, size: int, n_penalties: int) -> _Found:
        room = (size, 1024)
        return cls(
            np.zeros(size, dtype=np.intp), np.empty(room, dtype=np.intp), np.empty(room), np.empty(room),
            np.zeros((size, n_penalties)), np.zeros((size, n_penalties)), np.zeros((size, n_penalties), dtype=np.intp),
        )  # fmt: skip

    def with_room(self, n_more: int) -> _Found:
        room = self.places.shape[1]
        wanted = int(self.n_found.max()) + n_more
        if wanted <= room:
            return self
        grown = {
            name: _grown(getattr(self, name), (len(self.places), 2 * wanted))
            for name in ("places", "coefs", "spreads")
        }
        return self._replace(**grown)

    def last(self, b: int, at: int) -> Indices:
        """The columns of the penalty that was recorded last."""
        start = self.ends[b, at - 1] if at else 0
        return np.sort(self.places[b, start : self.ends[b, at]])


def _grown(old: Any, shape: tuple[int, ...]) -> Any:
    new = np.empty(shape, dtype=old.dtype)
    new[tuple(slice(n) for n in old.shape)] = old
    return new


def _room(size: int, n_rows: int) -> int:
    """Slots to begin with."""
    return int(np.clip(_ROOM // (size * n_rows), 16, 256))


def _sets_of(kind: Any, size: int, n_slots: int, n_rows: int) -> Any:
    """Sets without columns, and with room for some; what is never written takes no memory."""
    by_row, by_slot = (size, n_rows), (size, n_slots)
    return kind(
        weight=np.zeros(by_row), target=np.zeros(by_row), f=np.zeros(by_row), slope=np.zeros(by_row),
        curvature=np.zeros(by_row), frozen=np.zeros(by_row), loss=np.zeros(size),
        columns=np.empty((size, n_slots, n_rows)), factor=np.empty((size, n_slots * (n_slots + 1) // 2)),
        place=np.full(by_slot, -1), w=np.zeros(by_slot), gradient=np.zeros(by_slot), violation=np.zeros(by_slot),
        middle=np.zeros(by_slot), spread=np.zeros(by_slot), rank=np.full(by_slot, -1),
        active=np.zeros(by_slot, dtype=np.intp), size=np.zeros((size, 3), dtype=np.intp),
    )  # fmt: skip


def _with_room(sets: Any, n_slots: int) -> Any:
    """The same with room for more columns."""
    size, n_rows = sets.f.shape
    grown = _sets_of(type(sets), size, n_slots, n_rows)
    n_columns, n_active = sets.size[:, 0].max(), sets.size[:, 1].max()
    used = {"columns": n_columns, "factor": n_active * (n_active + 1) // 2, "active": n_active}
    for name in ("columns", "factor", "place", "w", "gradient", "violation", "middle", "spread", "rank", "active"):
        n = used.get(name, n_columns)
        getattr(grown, name)[:, :n] = getattr(sets, name)[:, :n]
    by_row = ("weight", "target", "f", "slope", "curvature", "frozen", "loss", "size")
    return grown._replace(**{name: getattr(sets, name) for name in by_row})

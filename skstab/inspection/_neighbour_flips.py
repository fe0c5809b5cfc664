"""Changes of one feature that flip the decision of nearest neighbours, from crossing to crossing of their distances."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier

from skstab._compat import neighbour_rows
from skstab._typing import BoolArray, FloatArray, IntArray

__all__ = ["Moves", "Neighbours", "first_flips", "neighbours_of"]


_BATCH = 2**20  # numbers of one batch of lines
_BETWEEN = 8  # changes tried between two crossings where weights depend on the distance, besides the nearest points
_INSTANT = 1e-9  # relative: neighbours that stay for a shorter change do not decide
_DIGITS = 13  # of squared distances: those that agree to so many are equal


@dataclass(frozen=True)
class Neighbours:
    """Rows that vote, their classes by number, the labels, how many vote, and whether by inverse distance."""

    rows: FloatArray
    classes: IntArray
    labels: NDArray[Any]
    k: int
    weighted: bool


class Moves(NamedTuple):
    """Rows, the feature of each that is changed, the signed unit of its change, and the class that each has now."""

    row: IntArray
    feature: IntArray
    unit: FloatArray
    chosen: IntArray


def neighbours_of(model: Any, X: Any) -> Neighbours | None:
    """Return the neighbours of a classifier that decides by Euclidean distances of dense rows, None of any other."""
    # A class derived from it may decide in another way.
    if (
        type(model) is not KNeighborsClassifier
        or model.effective_metric_ != "euclidean"
    ):
        return None
    rows, classes = neighbour_rows(model)
    if (
        issparse(X)
        or issparse(rows)
        or model.weights not in ("uniform", "distance", None)
    ):
        return None
    rows = np.asarray(rows, dtype=np.float64)
    return Neighbours(
        rows,
        np.asarray(classes),
        model.classes_,
        model.n_neighbors,
        model.weights == "distance",
    )


def first_flips(
    neighbours: Neighbours, X: FloatArray, moves: Moves, limit: float
) -> tuple[FloatArray, FloatArray]:
    """Return changes between which each decision first flips: equal with equal votes, infinite if none does.

    They are missing (NaN) where rows of different classes stay equally far, because the model orders those as it likes.
    """
    low, high = np.full(len(moves.row), np.inf), np.full(len(moves.row), np.inf)
    size = max(1, _BATCH // len(neighbours.rows))
    for start in range(0, len(moves.row), size):
        part = slice(start, start + size)
        some = Moves._make(column[part] for column in moves)
        slopes = (
            2
            * some.unit[:, None]
            * (X[some.row, some.feature][:, None] - neighbours.rows.T[some.feature])
        )
        own, places = np.unique(some.row, return_inverse=True)
        squares = cdist(X[own], neighbours.rows, "sqeuclidean")[places]
        low[part], high[part] = _walk(neighbours, squares, slopes, some, limit)
    return low, high


# -- the k-th nearest --------------------------------------------------------------------------------------------------

# After a change t the squared distance to a row is a + bt + (unit t)². The last part is common to all rows, so that the
# order of the rows is that of the lines a + bt. The k-th of them is followed from each crossing to the next.


@dataclass
class _Lines:
    """The lines of each move, their classes, those of the k nearest, and the k-th nearest itself."""

    a: FloatArray
    b: FloatArray
    classes: IntArray
    inside: BoolArray
    members: IntArray
    top: IntArray  # its place among the members

    def next_crossing(self) -> tuple[FloatArray, IntArray]:
        """Return where the line of the k-th nearest next crosses another, and which."""
        pairs = np.arange(len(self.a))
        kth = self.members[pairs, self.top]
        turn = self.b - self.b[pairs, kth][:, None]
        # Lines below the k-th cross it if they are steeper, those above it if they are less steep.
        ahead = np.where(self.inside, turn > 0, turn < 0)
        crossings = np.full(turn.shape, np.inf)
        np.divide(
            self.a[pairs, kth][:, None] - self.a, turn, out=crossings, where=ahead
        )
        other = crossings.argmin(axis=1)
        return crossings[pairs, other], other

    def cross(self, other: IntArray) -> None:
        """Make the other line the k-th: it was among those below, or replaces the k-th."""
        pairs = np.arange(len(self.a))
        enters = ~self.inside[pairs, other]
        self.inside[pairs[enters], self.members[pairs, self.top][enters]] = False
        self.inside[pairs, other] = True
        self.members[pairs[enters], self.top[enters]] = other[enters]
        self.top = (self.members == other[:, None]).argmax(axis=1)

    def take(self, which: BoolArray) -> _Lines:
        """Return the lines of some of the moves."""
        return _Lines(*(getattr(self, field.name)[which] for field in fields(self)))


def _lines(a: FloatArray, b: FloatArray, classes: IntArray, k: int) -> _Lines:
    """Return the lines that can be among the k nearest, in their order after a change as small as can be."""
    a = _rounded(a)
    order = np.lexsort((b, a), axis=-1)
    order = np.take_along_axis(
        order, _entering(np.take_along_axis(b, order, axis=1), k), axis=1
    )
    a, b = np.take_along_axis(a, order, axis=1), np.take_along_axis(b, order, axis=1)
    members = np.tile(np.arange(k), (len(a), 1))
    inside = np.broadcast_to(np.arange(a.shape[1]) < k, a.shape).copy()
    return _Lines(a, b, classes[order], inside, members, np.full(len(a), k - 1))


def _rounded(squares: FloatArray) -> FloatArray:
    """Round to digits of the largest of each move, so that equal distances are equal numbers."""
    scale = np.maximum(squares.max(axis=1, keepdims=True), np.finfo(float).tiny)
    return np.asarray(np.round(squares / scale, _DIGITS) * scale)


def _tied(lines: _Lines) -> BoolArray:
    """Whether two of the lines are the same, but not their classes."""
    same = (np.diff(lines.a, axis=1) == 0) & (np.diff(lines.b, axis=1) == 0)
    return np.asarray((same & (np.diff(lines.classes, axis=1) != 0)).any(axis=1))


def _entering(b: FloatArray, k: int) -> IntArray:
    """Return the places of the lines that can enter, before those of a few others, given the slopes in order of a."""
    n = b.shape[1]
    enters, start = np.ones(b.shape, dtype=bool), k
    while start < n:
        # Above k lines that start lower and are less steep a line stays. Blocks double, so that this costs O(n).
        enough = np.partition(b[:, :start], k - 1, axis=1)[:, k - 1 : k]
        enters[:, start : 2 * start] = b[:, start : 2 * start] <= enough
        start *= 2
    width = enters.sum(axis=1).max(initial=k)
    return np.argsort(~enters, axis=1, kind="stable")[:, :width]


def _walk(
    neighbours: Neighbours, a: FloatArray, b: FloatArray, moves: Moves, limit: float
) -> tuple[FloatArray, FloatArray]:
    """Go from crossing to crossing until the decision flips or the limit is reached."""
    low, high = np.full(len(a), np.inf), np.full(len(a), np.inf)
    votes = _weighted_votes if neighbours.weighted else _equal_votes
    lines = _lines(a, b, neighbours.classes, neighbours.k)
    tied = _tied(lines)
    low[tied] = high[tied] = np.nan
    lines, active = lines.take(~tied), np.flatnonzero(~tied)
    now = np.zeros(len(active))
    while active.size:
        crossing, other = lines.next_crossing()
        then = np.clip(crossing, now, limit)
        moved = Moves._make(column[active] for column in moves)
        before, flip = votes(neighbours, lines, moved, now, then)
        lasting = then - now > _INSTANT * np.maximum(then, 1.0)
        flips = lasting & np.isfinite(flip)
        low[active[flips]], high[active[flips]] = before[flips], flip[flips]
        lines.cross(other)
        left = ~flips & (then < limit)
        lines, now, active = lines.take(left), then[left], active[left]
    return low, high


# -- votes -------------------------------------------------------------------------------------------------------------


def _equal_votes(
    neighbours: Neighbours,
    lines: _Lines,
    moves: Moves,
    now: FloatArray,
    then: FloatArray,  # noqa: ARG001  the same all the way
) -> tuple[FloatArray, FloatArray]:
    """Return the present change where the vote of the members differs from the decision, infinity elsewhere."""
    counts = _one_hot(neighbours, lines).sum(axis=1)
    flip = np.where(counts.argmax(axis=1) != moves.chosen, now, np.inf)
    return flip, flip


def _weighted_votes(
    neighbours: Neighbours,
    lines: _Lines,
    moves: Moves,
    now: FloatArray,
    then: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the changes tried between which the decision flips, until the next crossing."""
    own_a, own_b = (
        np.take_along_axis(values, lines.members, axis=1)
        for values in (lines.a, lines.b)
    )
    square = moves.unit[:, None] ** 2
    # The weight of a row is largest at the point nearest to it: changes are tried there as well.
    nearest = np.clip(-own_b / (2 * square), now[:, None], then[:, None])
    tried = np.sort(
        np.hstack([np.linspace(now, then, _BETWEEN + 2, axis=1), nearest]), axis=1
    )
    squares = (
        own_a[:, None]
        + own_b[:, None] * tried[:, :, None]
        + square[:, :, None] * tried[:, :, None] ** 2
    )
    weights = 1 / np.sqrt(np.maximum(squares, np.finfo(float).tiny))
    flips = (weights @ _one_hot(neighbours, lines)).argmax(axis=2) != moves.chosen[
        :, None
    ]
    first, pairs = flips.argmax(axis=1), np.arange(len(now))
    none = ~flips.any(axis=1)
    low, high = tried[pairs, np.maximum(first - 1, 0)], tried[pairs, first]
    return np.where(none, np.inf, low), np.where(none, np.inf, high)


def _one_hot(neighbours: Neighbours, lines: _Lines) -> FloatArray:
    """Return the classes of the members as indicators: moves × members × classes."""
    return np.eye(len(neighbours.labels))[
        np.take_along_axis(lines.classes, lines.members, axis=1)
    ]

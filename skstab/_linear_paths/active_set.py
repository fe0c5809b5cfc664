"""The minimum of a penalised loss on a few columns: Newton steps whose parabola is minimised on its active set.

The loss of n rows plus Σⱼ (bendⱼ·|wⱼ| + ridgeⱼ/2·wⱼ²) is minimised in the coefficients w of the columns at hand. With
the signs known, the minimum of a parabola is one Cholesky factorisation of its active set, so a step is exact where
coordinate descent comes near. The parabola is kept from step to step and from penalty to penalty as long as the
curvatures of the rows stay close to what they were. Everything here is written so that Numba can compile it as it is
(`fast.py`), and runs without it.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

__all__ = [
    "HINGE",
    "LOGISTIC",
    "SQUARED",
    "Block",
    "Point",
    "Rows",
    "evaluate",
    "minimise",
    "violations",
]

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Bools: TypeAlias = NDArray[np.bool_]

SQUARED, LOGISTIC, HINGE = 0, 1, 2  # kinds of losses

FLAT = (
    1e-6  # least curvature of a row, so that a Newton step exists where a loss is flat
)
STALE = 0.03  # change of the curvatures, as a share of all, after which the parabola is made anew
SLOW = 0.5  # share of a violation that a step has left, above which the parabola is made anew too
AT_ONCE = (
    0.2,
    0.95,
)  # shares of the largest violation, of all and of what is in, that others must exceed to enter
DEPENDENT = 1e-8  # a column closer to the others than this share of its square is not independent of them
RIDGE = 1e-12  # share of the diagonal that is added to it, so that dependent columns can be factorised
ROUNDING = 1e-14  # rise of an objective, as a share of it, that may be a rounding error
HUGE = 1e150  # makes any coefficient larger than any gradient


class Rows(NamedTuple):
    """The loss of each row: its kind, what it is compared with, its weight."""

    kind: int
    target: Floats
    weight: Floats


class Block(NamedTuple):
    """The columns at hand, one in each row of `X`; the first ones, as many as were ever active, have a Hessian."""

    X: Floats
    hessian: Floats
    curvature: Floats  # of the rows, as it is in the Hessian
    places: Indices  # of the columns in the whole table
    factor: Floats  # of the part of the Hessian that was last solved for
    factored: Indices  # how many columns that part has, and which
    is_independent: Bools  # which of them are independent of those before them
    bend: Floats
    ridge: Floats
    n_fixed: int  # how many of the first columns have no penalty


class Point(NamedTuple):
    """Coefficients of the columns at hand, the fit that they give, and the loss there, all of it and by row."""

    w: Floats
    f: Floats
    loss: Floats  # one number
    slope: Floats
    curvature: Floats


# -- losses ------------------------------------------------------------------------------------------------------------


def evaluate(rows: Rows, f: Floats) -> tuple[float, Floats, Floats]:
    """Loss of all rows, and slope and curvature of each.

    The loss of a row is ½·s·(f − y)², s·log(1 + exp(−y·f)) or s·max(0, 1 − y·f)², with weight s and, but for the first,
    y = ±1.
    """
    if rows.kind == SQUARED:
        gap = f - rows.target
        slope = rows.weight * gap
        return float(np.dot(slope, gap)) / 2, slope, rows.weight
    margin = rows.target * f
    if rows.kind == LOGISTIC:
        low = np.exp(-np.abs(margin))
        wrong = np.where(margin > 0, low, 1.0) / (1 + low)
        loss = float(np.dot(rows.weight, np.log1p(low) - np.minimum(margin, 0.0)))
        return (
            loss,
            -rows.weight * rows.target * wrong,
            rows.weight * np.maximum(wrong * (1 - wrong), FLAT),
        )
    short = np.maximum(0.0, 1 - margin)
    slope = -2 * rows.weight * rows.target * short
    return (
        float(np.dot(rows.weight, short**2)),
        slope,
        2 * rows.weight * np.where(short > 0, 1.0, FLAT),
    )


def violations(gradient: Floats, w: Floats, bend: Floats) -> Floats:
    """The smallest subgradient: g + bend·sign(w), or g less what the penalty takes of it where w is zero."""
    return gradient + np.minimum(np.maximum(w * HUGE - gradient, -bend), bend)


# -- Newton steps ------------------------------------------------------------------------------------------------------


def minimise(
    rows: Rows, block: Block, point: Point, n_active: int, limit: float, most: int
) -> tuple[int, bool, int]:
    """Move the point to where no optimality condition is violated by more than `limit`, or by `most` steps.

    Returns how many columns are active or were, whether the steps converged, and how often the conditions were checked.
    """
    loss, slope, curvature = point.loss[0], point.slope, point.curvature
    moved, worst = True, np.inf
    for step in range(most + 1):
        gradient = np.dot(block.X, slope) + block.ridge * point.w
        size = np.abs(violations(gradient, point.w, block.bend))
        largest = size[size.argmax()]
        if largest <= limit or step == most or not moved:
            break
        if rows.kind != SQUARED and largest > SLOW * worst:
            block.curvature[:] = 0.0
        n_before, worst = n_active, largest
        n_active = _bring_forward(
            block, n_before, _wants_in(size, largest, point.w != 0, limit), gradient
        )
        _extend(rows.kind, block, n_before, n_active, curvature)
        end = minimise_parabola(
            block, gradient[:n_active], point.w[:n_active], limit, most
        )
        loss, slope, curvature, moved = _step(rows, block, point, end, loss)
    point.loss[0], point.slope[:], point.curvature[:] = loss, slope, curvature
    return n_active, largest <= limit, step + 1


def _wants_in(size: Floats, largest: float, is_in: Bools, limit: float) -> Bools:
    """Which features are violated enough to enter now; the others may not even want to after this step."""
    inside = size * is_in
    return np.asarray(
        size > max(limit, AT_ONCE[0] * largest, AT_ONCE[1] * inside[inside.argmax()])
    )


def _bring_forward(
    block: Block, n_active: int, is_entering: Bools, gradient: Floats
) -> int:
    """Move the columns that enter to behind those that are active; neither they nor the others have a coefficient."""
    for place in is_entering[n_active:].nonzero()[0] + n_active:
        if place != n_active:
            gradient[place], gradient[n_active] = gradient[n_active], gradient[place]
            block.places[place], block.places[n_active] = (
                block.places[n_active],
                block.places[place],
            )
            column = block.X[place].copy()
            block.X[place] = block.X[n_active]
            block.X[n_active] = column
        n_active += 1
    return n_active


def _extend(
    kind: int, block: Block, n_before: int, n_active: int, curvature: Floats
) -> None:
    """Bring the Hessian up to the columns that are new, or make it anew where the curvatures have changed."""
    first = n_before
    if (
        kind != SQUARED
        and np.abs(curvature - block.curvature).sum() > STALE * block.curvature.sum()
    ):
        block.curvature[:] = curvature
        block.factored[0] = 0
        first = 0
    if first < n_active:
        part = np.dot(block.X[first:n_active] * block.curvature, block.X[:n_active].T)
        block.hessian[first:n_active, :n_active] = part
        block.hessian[:n_active, first:n_active] = part.T


def _step(
    rows: Rows, block: Block, point: Point, end: Floats, loss: float
) -> tuple[float, Floats, Floats, bool]:
    """Go to where the parabola is lowest, or half as far until the objective falls, and evaluate the loss there."""
    w = point.w[: len(end)]
    f_move = np.dot(end - w, block.X[: len(end)])
    height = (
        np.inf if rows.kind == SQUARED else (loss + _penalty(block, w)) * (1 + ROUNDING)
    )
    while np.count_nonzero(end != w):
        f = point.f + f_move
        loss, slope, curvature = evaluate(rows, f)
        if rows.kind == SQUARED or loss + _penalty(block, end) <= height:
            w[:] = end
            point.f[:] = f
            return loss, slope, curvature, True
        f_move /= 2
        end = (w + end) / 2
    loss, slope, curvature = evaluate(rows, point.f)
    return loss, slope, curvature, False


def _penalty(block: Block, w: Floats) -> float:
    return float(
        np.dot(block.bend[: len(w)], np.abs(w))
        + np.dot(block.ridge[: len(w)], w * w) / 2
    )


# -- the minimum of a parabola -----------------------------------------------------------------------------------------


def minimise_parabola(
    block: Block, gradient: Floats, w: Floats, limit: float, most: int
) -> Floats:
    """Coefficients where the parabola that has this gradient at w, with the penalties, is lowest.

    Each step goes to the minimum of the active features with their signs. It is the last one if no sign changes on the
    way: the caller, which looks at the gradient of all columns next, sees whether others want in. Features whose sign
    would change stay at zero; where that is not lower, one feature changes, as in the feature-sign search of Lee et al.
    (2007).
    """
    w, bend, ridge = w.copy(), block.bend[: len(w)], block.ridge[: len(w)]
    bold = True
    for _ in range(most):
        excess = violations(gradient, w, bend)
        size = np.abs(excess)
        largest = size[size.argmax()]
        if largest <= limit:
            break
        active = _active(block.n_fixed, size, largest, w != 0, limit, bold)
        start, slope = w[active], excess[active]
        move, is_minimum = _move(block, active, slope, start, bold)
        if is_minimum:
            w[active] = start + move
            return w
        change = times(block.hessian, active, move, len(w))
        if ridge[-1] > 0:
            change[active] += ridge[active] * move
        # No sign changes on the way, so the subgradient is the gradient.
        if np.dot(move, slope + change[active] / 2) < 0:
            w[active] = start + move
            gradient = gradient + change
            bold = True
        elif bold:
            bold = False
        else:
            break
    return w


def _active(
    n_fixed: int, size: Floats, largest: float, is_in: Bools, limit: float, bold: bool
) -> Indices:
    """Features that may change: those that are in and some that want in; one at a time if not bold."""
    may_change = is_in | _wants_in(size, largest, is_in, limit) if bold else is_in
    may_change[:n_fixed] = True
    if not bold and (size * may_change).max() <= limit:
        may_change[size.argmax()] = True
    active: Indices = may_change.nonzero()[0]
    return active


def _move(
    block: Block, active: Indices, slope: Floats, w: Floats, bold: bool
) -> tuple[Floats, bool]:
    """How far the active features go, and whether that is the minimum of all of them for their signs.

    Features that depend on others do not enter, and those whose sign would change become zero; if not bold, all go as
    far as the first change of a sign.
    """
    move, is_independent = solve(block, active, -slope)
    is_out = w == 0
    is_whole = not np.count_nonzero(is_out > is_independent)
    if bold and not is_whole:
        kept = (is_out <= is_independent).nonzero()[0]
        move[:] = 0.0
        move[kept] = solve(block, active[kept], -slope[kept])[0]
    crosses = (w + move) * (w - slope * is_out) < 0
    crosses[: block.n_fixed] = (
        False  # these are always active, and have no sign to keep
    )
    if not np.count_nonzero(crosses):
        return move, bold and is_whole
    if bold:
        return np.where(crosses, -w, move), False
    shares = np.where(crosses, -w / np.where(crosses, move, 1.0), 1.0)
    first = np.argmin(shares)
    move *= shares[first]
    move[first] = -w[first]
    return move, False


def solve(block: Block, active: Indices, right: Floats) -> tuple[Floats, Bools]:
    """Solve for the active features; and which of them are independent of those before them."""
    n_columns = len(active)
    n_kept = min(n_columns, int(block.factored[0]))
    is_other = active[:n_kept] != block.factored[1 : n_kept + 1]
    n_kept = int(is_other.argmax()) if np.count_nonzero(is_other) else n_kept
    if n_kept < n_columns:
        _factorise(block, active, n_kept)
    # LAPACK counts by columns: the rows of a lower triangle are the columns of an upper one.
    return dpotrs(block.factor[:n_columns, :n_columns].T, right)[
        0
    ], block.is_independent[:n_columns]


def _factorise(block: Block, active: Indices, n_kept: int) -> None:
    """Lower triangle whose square is the Hessian of the active features, of which the first rows are kept."""
    n_columns, new = len(active), active[n_kept:]
    rows = block.hessian[new].take(active, axis=1)
    diagonal = rows.reshape(-1)[n_kept :: n_columns + 1]
    diagonal *= 1 + RIDGE
    diagonal += block.ridge[new]
    left, corner = rows[:, :n_kept], rows[:, n_kept:]
    if n_kept:
        left = dtrtrs(block.factor[:n_kept, :n_kept].T, left.T, trans=1)[0].T
        corner = corner - left @ left.T
    triangle = dpotrf(corner.T)[0].T
    block.factor[n_kept:n_columns, :n_kept] = left
    block.factor[n_kept:n_columns, n_kept:n_columns] = triangle
    block.is_independent[n_kept:n_columns] = (
        triangle.diagonal() ** 2 > DEPENDENT * diagonal
    )
    block.factored[0] = n_columns
    block.factored[1 : n_columns + 1] = active


def times(hessian: Floats, active: Indices, move: Floats, n_columns: int) -> Floats:
    """Product of the Hessian and a move of the active features."""
    return move @ hessian[active, :n_columns]


# -- the same in loops, which are quick only when compiled -------------------------------------------------------------


def solve_by_rows(block: Block, active: Indices, right: Floats) -> tuple[Floats, Bools]:
    """`solve` by a Cholesky factor that is brought up to date, in an order of its own."""
    places = np.full(len(block.bend), -1)
    for i in range(len(active)):
        places[active[i]] = i
    for i in range(block.factored[0], 0, -1):
        if places[block.factored[i]] < 0:
            _remove(block.factor, block.factored, i)
    is_new = np.ones(len(active), dtype=np.bool_)
    for i in range(1, block.factored[0] + 1):
        is_new[places[block.factored[i]]] = False
    for i in range(len(active)):
        if is_new[i]:
            _append(block, active[i])
    return _substitute(block, places, right)


def _remove(factor: Floats, factored: Indices, which: int) -> None:
    """Take out a column by rotations that make the rows after it triangular again."""
    n = factored[0]
    cosine, sine = np.empty(n), np.empty(n)
    for i in range(which - 1, n - 1):
        row = factor[i]
        row[: i + 2] = factor[i + 1, : i + 2]
        for j in range(which - 1, i):
            row[j], row[j + 1] = (
                cosine[j] * row[j] + sine[j] * row[j + 1],
                cosine[j] * row[j + 1] - sine[j] * row[j],
            )
        length = np.hypot(row[i], row[i + 1])
        cosine[i], sine[i], row[i] = row[i] / length, row[i + 1] / length, length
        factored[i + 1] = factored[i + 2]
    factored[0] = n - 1


def _append(block: Block, place: int) -> None:
    """Add a column behind the others."""
    n, hessian, row = (
        block.factored[0],
        block.hessian[place],
        block.factor[block.factored[0]],
    )
    diagonal = hessian[place] * (1 + RIDGE) + block.ridge[place]
    pivot = diagonal
    for j in range(n):
        total, other = hessian[block.factored[j + 1]], block.factor[j]
        for k in range(j):
            total -= row[k] * other[k]
        row[j] = total / other[j]
        pivot -= row[j] * row[j]
    row[n] = np.sqrt(max(pivot, RIDGE / 10 * diagonal))
    block.factored[n + 1], block.factored[0] = place, n + 1


def _substitute(block: Block, places: Indices, right: Floats) -> tuple[Floats, Bools]:
    """Solution, and which columns are independent of those before them, in the order of the right-hand side."""
    n = block.factored[0]
    forward, solution, is_independent = (
        np.empty(n),
        np.empty(n),
        np.empty(n, dtype=np.bool_),
    )
    for i in range(n):
        row, place = block.factor[i], block.factored[i + 1]
        total = right[places[place]]
        for k in range(i):
            total -= row[k] * forward[k]
        forward[i] = total / row[i]
        is_independent[places[place]] = row[i] ** 2 > DEPENDENT * (
            block.hessian[place, place] + block.ridge[place]
        )
    for i in range(n - 1, -1, -1):
        row = block.factor[i]
        forward[i] /= row[i]
        for k in range(i):
            forward[k] -= row[k] * forward[i]
        solution[places[block.factored[i + 1]]] = forward[i]
    return solution, is_independent


def times_by_rows(
    hessian: Floats, active: Indices, move: Floats, n_columns: int
) -> Floats:
    """`times`, row by row."""
    product = np.zeros(n_columns)
    for i in range(len(active)):
        row = hessian[active[i]]
        for j in range(n_columns):
            product[j] += move[i] * row[j]
    return product

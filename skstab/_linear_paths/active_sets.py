"""The active sets of many resamples of one table, moved together: what `fast` compiles for `shared_paths`.

Each resample minimises Σᵢ lossᵢ(fᵢ) + bend·‖w‖₁ + ridge/2·‖w‖² over the columns that it has gathered, by Newton steps
whose parabola is minimised with the signs known. Its Cholesky factor lists the active columns in the order in which
they entered: a column is appended by forward substitution and taken out by Givens rotations. All sums over rows are
loops of this module, so that a resample has the same result to the last bit whatever is solved beside it.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CONSTANT",
    "CONVERGED",
    "GIVEN_UP",
    "Found",
    "Goals",
    "Sets",
    "admit",
    "evaluate_rows",
    "forget",
    "pairs_above",
    "record",
    "scatter",
    "settle",
]

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]

SQUARED, LOGISTIC = (
    0,
    1,
)  # kinds of losses, as in `active_set`; any other is squared hinge
CONVERGED, GIVEN_UP = 0, 1

FLAT = 1e-6  # least curvature of a row
STALE = 0.03  # change of the curvatures after which the parabola is made anew
SLOW = 0.5  # share of a violation that a step has left, above which it is made anew too
AT_ONCE = 0.2, 0.95  # shares of the largest violation, of all and of what is in
DEPENDENT = 1e-8  # share of a column's square that must be its own for it to enter
RIDGE = 1e-12  # share of the diagonal that is added to it
ROUNDING = 1e-12  # rise of an objective, as a share of it, that may be a rounding error
MOST_HALVINGS = 40
CONSTANT = 1e-13  # spread of a constant column, as a share of its mean
FOUR = 4  # columns that enter at once


class Sets(NamedTuple):
    """What is known of each resample, along the first axis; a slot is room for a column that it has gathered."""

    rows: Indices  # resamples × rows, in the table; those that fill up have no weight
    share: Floats  # how often each was drawn, as a share of all
    weight: Floats
    target: Floats
    f: Floats
    slope: Floats
    curvature: Floats
    frozen: Floats  # the curvature that is in the Hessian
    loss: Floats  # one number for each
    columns: Floats  # resamples × slots × rows
    factor: Floats  # the rows of the triangle, one after the other, in the order of `active`
    place: Indices  # of the column in the table; -1 for the intercept
    w: Floats
    gradient: Floats
    violation: Floats
    middle: Floats  # what was subtracted from a column
    spread: Floats  # its standard deviation
    rank: Indices  # of a slot in the factor, -1 for none
    active: Indices  # slots in the order of the factor
    size: Indices  # of each resample: how many slots, how many are active, how many features are in; steps taken


class One(NamedTuple):
    """The same of one resample."""

    rows: Indices
    share: Floats
    weight: Floats
    target: Floats
    f: Floats
    slope: Floats
    curvature: Floats
    frozen: Floats
    loss: Floats
    columns: Floats
    factor: Floats
    place: Indices
    w: Floats
    gradient: Floats
    violation: Floats
    middle: Floats
    spread: Floats
    rank: Indices
    active: Indices
    size: Indices


class Penalty(NamedTuple):
    """What is added to the loss; the first `n_free` slots have no bend and no ridge."""

    bend: float
    ridge: float
    n_free: int


def one_of(sets: Sets, b: int) -> One:
    """Views of one resample."""
    return One(
        sets.rows[b], sets.share[b],
        sets.weight[b], sets.target[b], sets.f[b], sets.slope[b], sets.curvature[b], sets.frozen[b],
        sets.loss[b : b + 1], sets.columns[b], sets.factor[b], sets.place[b], sets.w[b],
        sets.gradient[b], sets.violation[b], sets.middle[b], sets.spread[b], sets.rank[b], sets.active[b],
        sets.size[b],
    )  # fmt: skip


# -- one resample at one penalty ---------------------------------------------------------------------------------------


class Goals(NamedTuple):
    """The penalties of each resample, and how well they are to be met."""

    bend: Floats
    ridge: Floats
    limit: Floats  # of violations
    least: Floats  # of the pull beyond the penalty by which a first feature enters
    status: Indices  # whether it converged


def settle(
    sets: Sets, which: Indices, goals: Goals, kind: int, n_free: int, most: int
) -> None:
    """Move resamples to where no gathered column violates its condition by more than its limit.

    Where nothing is active, the limit is lowered until a column that is pulled by more than `least` beyond the penalty
    enters. The first `n_free` slots have no penalty. Nothing takes more than `most` steps.
    """
    for b in which:
        penalty = Penalty(goals.bend[b], goals.ridge[b], n_free)
        one, limit = one_of(sets, b), goals.limit[b : b + 1]
        goals.status[b] = _settle(one, kind, penalty, limit, goals.least[b], most)
        n_in = 0
        for j in range(one.size[0]):
            n_in += one.w[j] != 0 and one.place[j] >= 0
        one.size[2] = n_in


def _settle(
    one: One, kind: int, penalty: Penalty, limit: Floats, least: float, most: int
) -> int:
    if penalty.ridge > 0:
        _empty_factor(one)
    is_bold, worst = True, np.inf
    target = np.empty(len(one.w))
    move = np.empty(len(one.w))
    for _ in range(most):
        one.size[3] += 1
        largest, inside = _measure(one, penalty)
        if largest <= limit[0]:
            gap = _gap_to_the_first(one, penalty)
            if gap <= least:
                return CONVERGED
            limit[0] = min(limit[0], gap / 2)
        _refresh(one, kind, largest > SLOW * worst)
        worst = largest
        if not _choose_active(one, penalty, largest, inside, limit[0], is_bold):
            return GIVEN_UP
        if is_bold:
            _leap(one, penalty, target, move)
        else:
            _step_to_the_first_change(one, penalty, target, move)
        has_moved = _go(one, kind, penalty, target, is_bold)
        if not (has_moved or is_bold):
            return GIVEN_UP
        is_bold = has_moved
    return GIVEN_UP


def _measure(one: One, penalty: Penalty) -> tuple[float, float]:
    """Gradient and violation of each slot; the largest violation of all and of those that are in."""
    largest, inside = 0.0, 0.0
    for j in range(one.size[0]):
        w = one.w[j]
        total = dot(one.columns[j], one.slope)
        if j < penalty.n_free:
            violation = abs(total)
        else:
            total += penalty.ridge * w
            if w > 0:
                violation = abs(total + penalty.bend)
            elif w < 0:
                violation = abs(total - penalty.bend)
            else:
                violation = max(abs(total) - penalty.bend, 0.0)
        one.gradient[j], one.violation[j] = total, violation
        largest = max(largest, violation)
        if w != 0 or j < penalty.n_free:
            inside = max(inside, violation)
    return largest, inside


def dot(a: Floats, b: Floats) -> float:
    """Sum of products, in one order."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


def _gap_to_the_first(one: One, penalty: Penalty) -> float:
    """How much a first feature wants in; nothing where there is one already."""
    gap = 0.0
    for j in range(one.size[0]):
        if one.place[j] >= 0:
            if one.w[j] != 0:
                return 0.0
            gap = max(gap, abs(one.gradient[j]) - penalty.bend)
    return gap


def _refresh(one: One, kind: int, is_slow: bool) -> None:
    """Drop the Hessian where the curvatures of the rows are no longer those that it was made of."""
    if kind == SQUARED:
        return
    change, total = 0.0, 0.0
    for i in range(len(one.frozen)):
        change += abs(one.curvature[i] - one.frozen[i])
        total += one.frozen[i]
    if is_slow or change > STALE * total:
        one.frozen[:] = one.curvature
        _empty_factor(one)


def _choose_active(
    one: One,
    penalty: Penalty,
    largest: float,
    inside: float,
    limit: float,
    is_bold: bool,
) -> bool:
    """Factorise what is in and what enters now; False where nothing enters and nothing that is in has to move.

    Bold steps let in all that are pulled about as much as the first, others one at a time when the rest is at its
    minimum.
    """
    if is_bold:
        may_enter = max(limit, AT_ONCE[0] * largest, AT_ONCE[1] * inside)
    else:
        may_enter = largest * (1 - ROUNDING) if inside <= limit else np.inf
        for i in range(one.size[1] - 1, -1, -1):
            if one.w[one.active[i]] == 0 and one.active[i] >= penalty.n_free:
                _remove(one, i)
    n_slots, n_new, n_back = one.size[0], 0, 0
    new = np.empty(n_slots, dtype=np.intp)
    for j in range(n_slots):
        if one.rank[j] < 0 and (one.w[j] != 0 or j < penalty.n_free):
            new[n_back] = j
            n_back += 1
    _append(one, penalty, new[:n_back], False)
    n_before = one.size[1]
    for j in range(n_slots):
        if one.rank[j] < 0 and one.violation[j] > may_enter:
            new[n_new] = j
            n_new += 1
    _append(one, penalty, new[: n_new if is_bold else min(n_new, 1)], True)
    return one.size[1] > n_before or inside > limit


def _leap(one: One, penalty: Penalty, target: Floats, move: Floats) -> None:
    """Go to the minimum for the signs; all that would change theirs become zero and leave, until none does."""
    n_slots = one.size[0]
    target[:n_slots] = one.w[:n_slots]
    gradient = one.gradient.copy()
    left = np.empty(one.size[1], dtype=np.intp)
    n_left = 1
    while n_left > 0:
        _solve(one, penalty, gradient, move)
        n_left = 0
        for i in range(one.size[1]):
            j = one.active[i]
            if j >= penalty.n_free and (target[j] + move[j]) * _sign(one, j) < 0:
                left[n_left] = j
                n_left += 1
        if n_left > 0:
            _take_to_zero(one, target, gradient, left[:n_left])
    for i in range(one.size[1]):
        target[one.active[i]] += move[one.active[i]]


def _take_to_zero(one: One, target: Floats, gradient: Floats, left: Indices) -> None:
    """Set coefficients of the target to zero, bring the gradient there, and take the columns out of the factor."""
    n = one.size[1]
    lower, change = np.zeros(n), np.zeros(n)
    for j in left:
        if target[j] != 0:
            row = row_of(one, one.rank[j])
            for k in range(len(row)):
                lower[k] -= target[j] * row[k]
    for i in range(n):
        row = row_of(one, i)
        change[i] = dot(row, lower[: i + 1])
    for i in range(n):
        gradient[one.active[i]] += change[i]
    for j in left:
        target[j] = 0.0
        _remove(one, one.rank[j])


def _step_to_the_first_change(
    one: One, penalty: Penalty, target: Floats, move: Floats
) -> None:
    """Go towards the minimum for the signs, but only as far as they hold."""
    n_slots = one.size[0]
    target[:n_slots] = one.w[:n_slots]
    _solve(one, penalty, one.gradient, move)
    share, first = 1.0, -1
    for i in range(one.size[1]):
        j = one.active[i]
        if j >= penalty.n_free and (one.w[j] + move[j]) * _sign(one, j) < 0:
            to_zero = -one.w[j] / move[j]
            if to_zero < share:
                share, first = to_zero, j
    for i in range(one.size[1]):
        j = one.active[i]
        target[j] = one.w[j] + share * move[j]
    if first >= 0:
        target[first] = 0.0
        _remove(one, one.rank[first])


def _sign(one: One, j: int) -> float:
    """The sign of a coefficient, or the one that it is about to have."""
    leaning = one.w[j] if one.w[j] != 0 else -one.gradient[j]
    return 1.0 if leaning > 0 else -1.0


def _go(one: One, kind: int, penalty: Penalty, target: Floats, is_bold: bool) -> bool:
    """Move to the target, or half as far until the objective falls; False where it does not."""
    n_rows, n_slots = len(one.f), one.size[0]
    move = np.zeros(n_rows)
    slope_there = _add_columns(one, target, move)
    before = _penalty_of(penalty, one.w[:n_slots])
    rise = _penalty_of(penalty, target[:n_slots]) - before
    # By convexity, the objective falls on the way if its slope, with the penalty's chord for its slope, is negative.
    if is_bold and slope_there + rise >= 0:
        return False
    height = (one.loss[0] + before) * (1 + ROUNDING)
    f, slope, curvature = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows)
    share = 1.0
    for _ in range(MOST_HALVINGS):
        for i in range(n_rows):
            f[i] = one.f[i] + share * move[i]
        loss = evaluate_rows(kind, one.target, one.weight, f, slope, curvature)
        # The penalty is convex, so that its chord is an upper bound.
        if loss + before + share * rise <= height:
            one.f[:], one.slope[:], one.curvature[:] = f, slope, curvature
            one.loss[0] = loss
            for j in range(n_slots):
                # Coefficients that leave become zero to the last digit.
                way = share * (target[j] - one.w[j])
                one.w[j] = target[j] if share == 1 else one.w[j] + way
            return True
        if kind == SQUARED:
            return False
        share /= 2
    return False


def _add_columns(one: One, target: Floats, move: Floats) -> float:
    """Add what the fit changes by on the way to the target, and return the slope of the loss on this way."""
    slope_there = 0.0
    for j in range(one.size[0]):
        change = target[j] - one.w[j]
        if change != 0:
            slope_there += one.gradient[j] * change
            column = one.columns[j]
            for i in range(len(move)):
                move[i] += change * column[i]
    return slope_there


def _penalty_of(penalty: Penalty, w: Floats) -> float:
    total = 0.0
    for j in range(penalty.n_free, len(w)):
        total += penalty.bend * abs(w[j]) + penalty.ridge / 2 * w[j] ** 2
    return total


def evaluate_rows(
    kind: int,
    target: Floats,
    weight: Floats,
    f: Floats,
    slope: Floats,
    curvature: Floats,
) -> float:
    """Loss of all rows, as `active_set.evaluate` defines it, and slope and curvature of each."""
    total = 0.0
    if kind == SQUARED:
        for i in range(len(f)):
            gap = f[i] - target[i]
            slope[i] = weight[i] * gap
            curvature[i] = weight[i]
            total += slope[i] * gap
        return total / 2
    if kind == LOGISTIC:
        for i in range(len(f)):
            margin = target[i] * f[i]
            low = np.exp(-abs(margin))
            wrong = (low if margin > 0 else 1.0) / (1 + low)
            total += weight[i] * (np.log1p(low) - min(margin, 0.0))
            slope[i] = -weight[i] * target[i] * wrong
            curvature[i] = weight[i] * max(wrong * (1 - wrong), FLAT)
        return total
    for i in range(len(f)):
        short = max(0.0, 1 - target[i] * f[i])
        total += weight[i] * short * short
        slope[i] = -2 * weight[i] * target[i] * short
        curvature[i] = 2 * weight[i] * (1.0 if short > 0 else FLAT)
    return total


# -- the Cholesky factor of the active columns -------------------------------------------------------------------------


def _empty_factor(one: One) -> None:
    one.rank[:] = -1
    one.size[1] = 0


def row_of(one: One, i: int) -> Floats:
    """A row of the triangle, as far as its diagonal."""
    start = i * (i + 1) // 2
    return one.factor[start : start + i + 1]


def _append(
    one: One, penalty: Penalty, new: Indices, must_be_independent: bool
) -> None:
    """Add columns behind the active ones; not those that depend on them, where they must not, or have no room."""
    n_rows = len(one.f)
    weighted, rows = np.zeros((FOUR, n_rows)), np.zeros((FOUR, one.size[0]))
    for start in range(0, len(new), FOUR):
        some, n = new[start : start + FOUR], one.size[1]
        for k in range(len(some)):
            column = one.columns[some[k]]
            for i in range(n_rows):
                weighted[k, i] = column[i] * one.frozen[i]
        n_known = n if len(some) > 2 else 0
        for i in range(n_known):
            other = row_of(one, i)
            product = four_dots(weighted, one.columns[one.active[i]], n_rows)
            known = four_dots(rows, other, i)
            for k in range(FOUR):
                rows[k, i] = (product[k] - known[k]) / other[i]
        for k in range(len(some)):
            _append_row(
                one,
                penalty,
                some[k],
                weighted[k],
                rows[k],
                n_known,
                must_be_independent,
            )


def _append_row(
    one: One,
    penalty: Penalty,
    j: int,
    weighted: Floats,
    row: Floats,
    n_known: int,
    must_be_independent: bool,
) -> None:
    """Add a column whose row of the triangle is known in its first places."""
    n = one.size[1]
    for i in range(n_known, n):
        other = row_of(one, i)
        product = dot(weighted, one.columns[one.active[i]])
        row[i] = (product - dot(row[:i], other[:i])) / other[i]
    diagonal = dot(weighted, one.columns[j]) * (1 + RIDGE)
    if j >= penalty.n_free:
        diagonal += penalty.ridge
    pivot = diagonal - dot(row[:n], row[:n])
    has_room = (n + 1) * (n + 2) // 2 <= len(one.factor)
    if has_room and not (must_be_independent and pivot <= DEPENDENT * diagonal):
        whole = row_of(one, n)
        whole[:n] = row[:n]
        whole[n] = np.sqrt(max(pivot, RIDGE / 10 * diagonal))
        one.active[n], one.rank[j], one.size[1] = j, n, n + 1


def four_dots(four: Floats, other: Floats, n: int) -> tuple[float, float, float, float]:
    """`dot` of the first `n` numbers of four rows with others, which are read once."""
    first, second, third, fourth = four[0], four[1], four[2], four[3]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        a += first[i] * other[i]
        b += second[i] * other[i]
        c += third[i] * other[i]
        d += fourth[i] * other[i]
    return a, b, c, d


def _remove(one: One, which: int) -> None:
    """Take out a column by rotations that make the rows after it triangular again."""
    n = one.size[1]
    one.rank[one.active[which]] = -1
    cosine, sine = np.empty(n), np.empty(n)
    for i in range(which, n - 1):
        row, below = row_of(one, i), row_of(one, i + 1)
        first = below[which]
        for k in range(which):
            row[k] = below[k]
        for k in range(which, i):
            second = below[k + 1]
            row[k] = cosine[k] * first + sine[k] * second
            first = cosine[k] * second - sine[k] * first
        length = np.hypot(first, below[i + 1])
        cosine[i], sine[i], row[i] = first / length, below[i + 1] / length, length
        one.active[i] = one.active[i + 1]
        one.rank[one.active[i]] = i
    one.size[1] = n - 1


def _solve(one: One, penalty: Penalty, gradient: Floats, move: Floats) -> None:
    """How far each active column goes to the minimum for its sign, from a gradient."""
    n = one.size[1]
    x = np.empty(n)
    for i in range(n):
        j, row = one.active[i], row_of(one, i)
        right = -gradient[j]
        if j >= penalty.n_free:
            right -= penalty.bend * _sign(one, j)
        x[i] = (right - dot(row[:i], x[:i])) / row[i]
    for i in range(n - 1, -1, -1):
        row = row_of(one, i)
        x[i] /= row[i]
        for k in range(i):
            x[k] -= row[k] * x[i]
        move[one.active[i]] = x[i]


# -- which columns are gathered ----------------------------------------------------------------------------------------


def pairs_above(
    correlation: NDArray[np.float32],
    scale: Floats,
    is_gathered: NDArray[np.bool_],
    which: Indices,
    threshold: Floats,
    slack: float,
) -> tuple[Indices, Indices, Floats]:
    """Resample and column of each scale·|correlation| that may reach a threshold, and its size, if not gathered."""
    n_columns, room = len(scale), 0
    for b in which:
        row, least = correlation[b], threshold[b]
        for j in range(n_columns):
            room += scale[j] * (abs(row[j]) + slack) >= least
    b_of, j_of = np.empty(room, dtype=np.intp), np.empty(room, dtype=np.intp)
    pull = np.empty(room)
    n_found = 0
    for b in which:
        row, least = correlation[b], threshold[b]
        for j in range(n_columns):
            if scale[j] * (abs(row[j]) + slack) >= least and not is_gathered[b, j]:
                b_of[n_found], j_of[n_found] = b, j
                pull[n_found] = scale[j] * abs(row[j])
                n_found += 1
    return b_of[:n_found], j_of[:n_found], pull[:n_found]


def admit(
    sets: Sets,
    b_of: Indices,
    j_of: Indices,
    part: Floats,
    part_of: Indices,
    is_scaled: bool,
    is_centred: bool,
) -> None:
    """Gather columns, each a row of `part`: the rows of a resample.

    They are standardised by the rows that were drawn, if scaled, and then less their weighted mean, if centred.
    """
    n_rows = sets.rows.shape[1]
    for i in range(len(b_of)):
        b = b_of[i]
        slot = sets.size[b, 0]
        source, column, share = part[part_of[i]], sets.columns[b, slot], sets.share[b]
        for row in range(n_rows):
            column[row] = source[sets.rows[b, row]]
        mean = dot(column, share)
        square = 0.0
        for row in range(n_rows):
            square += share[row] * (column[row] - mean) ** 2
        spread = np.sqrt(square)
        if is_scaled:
            # What rounding leaves of a constant is no spread.
            unit = spread if spread > CONSTANT * abs(mean) else np.inf
            for row in range(n_rows):
                column[row] = (column[row] - mean) / unit
            spread = spread / unit
        total, weight = 0.0, 0.0
        for row in range(n_rows):
            total += sets.weight[b, row] * column[row]
            weight += sets.weight[b, row]
        middle = total / weight if is_centred else 0.0
        for row in range(n_rows):
            # Rows that fill up have no weight.
            column[row] = column[row] - middle if sets.weight[b, row] > 0 else 0.0
        sets.middle[b, slot], sets.spread[b, slot] = middle, spread
        sets.place[b, slot], sets.rank[b, slot], sets.w[b, slot] = j_of[i], -1, 0.0
        sets.size[b, 0] = slot + 1


def forget(
    sets: Sets, which: Indices, threshold: Floats, is_gathered: NDArray[np.bool_]
) -> None:
    """Give up columns that are out and pulled by less than a threshold, where they are many."""
    for b in which:
        n_idle, n_slots = 0, sets.size[b, 0]
        is_kept = np.ones(n_slots, dtype=np.bool_)
        for j in range(n_slots):
            is_out = sets.w[b, j] == 0 and sets.rank[b, j] < 0 and sets.place[b, j] >= 0
            if is_out and abs(sets.gradient[b, j]) < threshold[b]:
                is_kept[j] = False
                n_idle += 1
        if 4 * n_idle > n_slots + 16:
            _keep(one_of(sets, b), is_kept, is_gathered[b])


def _keep(one: One, is_kept: NDArray[np.bool_], is_gathered: NDArray[np.bool_]) -> None:
    """Keep some slots, in their order."""
    slots = is_kept.nonzero()[0]
    for j in range(len(is_kept)):
        if not is_kept[j]:
            is_gathered[one.place[j]] = False
    for new in range(len(slots)):
        old = slots[new]
        if new != old:
            one.columns[new] = one.columns[old]
        one.place[new], one.w[new], one.rank[new] = (
            one.place[old], one.w[old], one.rank[old],
        )  # fmt: skip
        one.middle[new], one.spread[new] = one.middle[old], one.spread[old]
        one.gradient[new] = one.gradient[old]
        if one.rank[new] >= 0:
            one.active[one.rank[new]] = new
    one.size[0] = len(slots)


# -- what comes of it --------------------------------------------------------------------------------------------------


def scatter(
    sets: Sets, which: Indices, positions: Indices, slopes: NDArray[np.float32]
) -> Floats:
    """Write the slopes of resamples into rows of the table, each with length one, and return their lengths."""
    length = np.zeros(len(which))
    for i in range(len(which)):
        b = which[i]
        length[i] = np.sqrt(dot(sets.slope[b], sets.slope[b]))
        whole = slopes[positions[b]]
        whole[:] = 0.0
        if length[i] > 0:
            for row in range(sets.rows.shape[1]):
                if sets.weight[b, row] > 0:
                    whole[sets.rows[b, row]] = sets.slope[b, row] / length[i]
    return length


class Found(NamedTuple):
    """The columns that resamples had at each penalty, one after the other, and what the intercepts are made of."""

    n_found: Indices
    places: Indices  # resamples × what was found
    coefs: Floats
    spreads: Floats
    shifts: Floats  # resamples × penalties
    constants: Floats  # coefficients of the intercept
    gaps: Floats  # the duality gaps of squared losses
    n_steps: Indices
    ends: Indices


def record(
    sets: Sets, which: Indices, at: Indices, found: Found, goals: Goals, outside: Floats
) -> None:
    """Note the columns of resamples, each behind those of its penalties before.

    `outside` is how much the columns that are not gathered are pulled at most, where that is more than the penalty.
    """
    for b in which:
        n, step, shift = found.n_found[b], at[b], 0.0
        size, square, excess = 0.0, 0.0, outside[b]
        for j in range(sets.size[b, 0]):
            w, place = sets.w[b, j], sets.place[b, j]
            if place >= 0:
                excess = max(excess, abs(sets.gradient[b, j]))
            if w != 0 and place >= 0:
                found.places[b, n], found.coefs[b, n] = place, w
                found.spreads[b, n] = sets.spread[b, j]
                shift += sets.middle[b, j] * w
                size += abs(w)
                square += w * w
                n += 1
        found.n_found[b], found.ends[b, step], found.shifts[b, step] = n, n, shift
        if sets.size[b, 0] > 0 and sets.place[b, 0] < 0:
            found.constants[b, step] = sets.w[b, 0]
        # As `duality_gap` defines it.
        bend, ridge = goals.bend[b], goals.ridge[b]
        scale = bend / max(bend, excess)
        lengths = 2 * sets.loss[b] + ridge * square
        product = -dot(sets.slope[b], sets.target[b])
        gap = (1 + scale**2) / 2 * lengths + bend * size - scale * product
        found.gaps[b, step] = gap
        found.n_steps[b, step] = sets.size[b, 3]
        sets.size[b, 3] = 0

"""Elastic nets along a path by Newton's method on their residuals.

A model minimises ½‖y − Xw‖² + bend·‖w‖₁ + ridge/2·‖w‖² with a ridge part. Its residuals r determine its coefficients,
wⱼ = soft(xⱼᵀr, bend)/ridge, and are where the smooth function ½‖r‖² − yᵀr + Σⱼ max(0, |xⱼᵀr| − bend)²/(2·ridge) is
lowest. This function is a parabola as long as no feature enters or leaves, so that few steps lead to its minimum
exactly (semi-smooth Newton), however many features are active. A step has as many unknowns as there are rows or active
features, whichever are fewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

__all__ = ["residual_path"]

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

_MOST_STEPS = 100
_FLOOR = 1e-13  # share of the largest gradient that rounding errors leave of one that is zero
_LEAST_FALL = 1e-4  # share of the fall that the slope promises, which a step must reach
_ROUNDING = (
    1e-14  # rise of the function, as a share of it, that may be a rounding error
)


class _Point(NamedTuple):
    """Residuals, what follows from them for one penalty, and the value of the function."""

    r: Floats
    pull: Floats  # xⱼᵀr of each feature
    is_active: Bools
    excess: Floats  # soft(xⱼᵀr, bend)
    value: float


def residual_path(
    columns: Floats, y: Floats, penalties: Iterable[tuple[float, float]], tol: float
) -> Iterator[tuple[Floats, bool, int]]:
    """Coefficients at each bend and ridge, which should not grow, whether the steps converged, and their number.

    `columns` has one feature in each row. No optimality condition is violated by more than `tol` times the bend.
    """
    path = _ResidualPath(columns, y)
    for bend, ridge in penalties:
        yield path.move_to(bend, ridge, tol * bend)


class _ResidualPath:
    """Where a path has come to, and the sum of xⱼxⱼᵀ over some features, which is brought up to date."""

    def __init__(self, columns: Floats, y: Floats) -> None:
        n_features, n_rows = columns.shape
        self.columns, self.y = columns, y
        self.r, self.pull = y, columns @ y
        self.floor = _FLOOR * np.abs(self.pull).max(initial=0.0)
        self.squares, self.is_summed = (
            np.zeros((n_rows, n_rows)),
            np.zeros(n_features, dtype=bool),
        )

    def move_to(
        self, bend: float, ridge: float, limit: float
    ) -> tuple[Floats, bool, int]:
        """Go to a penalty, and return the coefficients there, whether it was reached, and after how many steps."""
        point, converged, n_steps = self._look(bend, ridge, self.r, self.pull), False, 0
        while not converged and n_steps < _MOST_STEPS:
            n_steps += 1
            gradient = (
                point.r - self.y + self._combined(point.is_active, point.excess / ridge)
            )
            # What Xᵀ(y − Xw) differs by from Xᵀr bounds the violations of the optimality conditions.
            converged = bool(np.abs(self.columns @ gradient).max(initial=0.0) <= limit)
            if not converged:
                point = self._step(bend, ridge, point, gradient)
        self.r, self.pull = point.r, point.pull
        return point.excess / ridge, converged, n_steps

    def _look(self, bend: float, ridge: float, r: Floats, pull: Floats) -> _Point:
        over = np.abs(pull) - bend
        is_active = over > self.floor
        excess = np.where(is_active, np.copysign(over, pull), 0.0)
        value = 0.5 * (r @ r) - self.y @ r + (excess @ excess) / (2 * ridge)
        return _Point(r, pull, is_active, excess, float(value))

    def _combined(self, is_active: Bools, w: Floats) -> Floats:
        """Xw."""
        places = is_active.nonzero()[0]
        return (
            w[places] @ self.columns[places]
            if 4 * len(places) < len(w)
            else w @ self.columns
        )

    def _step(
        self, bend: float, ridge: float, point: _Point, gradient: Floats
    ) -> _Point:
        """Go to where the parabola is lowest, or half as far until the function falls."""
        move = -self._solve(point.is_active, ridge, gradient)
        move_of_pull, slope, share = self.columns @ move, float(gradient @ move), 1.0
        while True:
            new = self._look(
                bend, ridge, point.r + share * move, point.pull + share * move_of_pull
            )
            if new.value <= point.value + _LEAST_FALL * share * slope + _ROUNDING * abs(
                point.value
            ):
                return new
            share /= 2

    def _solve(self, is_active: Bools, ridge: float, right: Floats) -> Floats:
        """Solve (I + X_A X_Aᵀ/ridge) s = right, by as many unknowns as there are rows or active features."""
        places = is_active.nonzero()[0]
        if 2 * len(places) < len(right):
            part = self.columns[places]
            inner = _solved(part @ part.T, ridge, part @ right)
            return right - inner @ part
        self._sum_squares(is_active)
        return ridge * _solved(self.squares.copy(), ridge, right)

    def _sum_squares(self, is_active: Bools) -> None:
        changed = (is_active != self.is_summed).nonzero()[0]
        part = self.columns[changed]
        self.squares += part.T @ (
            part * np.where(is_active[changed], 1.0, -1.0)[:, None]
        )
        self.is_summed = is_active


def _solved(matrix: Floats, ridge: float, right: Floats) -> Floats:
    matrix.reshape(-1)[:: len(matrix) + 1] += ridge
    # LAPACK counts by columns, but the matrix is symmetric.
    solution: Floats = dposv(matrix.T, right, lower=1, overwrite_a=True)[1]
    return solution

"""Paths of sparse linear models, from the strongest penalty to the weakest.

A model minimises Σᵢ lossᵢ(fᵢ) + λ·(ρ·‖w‖₁ + (1 − ρ)/2·‖w‖²) with f = X·w + b. Each penalty starts from where the last
one ended and is solved on the columns that the strong rule (Tibshirani et al. 2012) lets through; all others are then
checked, so the rule costs no accuracy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from skstab._linear_paths.active_set import SQUARED, Block, Point, Rows, evaluate
from skstab._linear_paths.duality import duality_gap
from skstab._linear_paths.fast import fastest_minimise
from skstab._warnings import warn_user

__all__ = ["Problem", "Solution", "screened_path", "strongest_penalty"]

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]

_MOST_STEPS = 100
_AT_ONCE = 1000  # columns that are solved for together with those that are in
# Shares of the largest gradient: what rounding errors leave of one that is zero, or of two that are equal.
_FLOOR = 1e-13
_TIE = 1e-10


@dataclass(frozen=True)
class Problem:
    """A sparse linear model for any penalty λ; the columns of X after the features are a penalised intercept."""

    X: Any  # dense in Fortran order, or CSC
    rows: Rows
    n_features: int
    l1_ratio: float
    free_intercept: bool
    tol: float
    max_iter: int
    constant: float = 0.0  # in the columns after the features
    model: str = "a sparse linear model"  # name of the estimator
    parameter: str = "penalty"  # name of what regularises it: a penalty, alpha by row, or C, the inverse of one

    def value_in_words(self, penalty: float) -> str:
        """A penalty as the value of the estimator's parameter."""
        value = {"alpha": penalty / len(self.rows.target), "C": 1 / penalty}.get(
            self.parameter, penalty
        )
        return f"{self.parameter}={value:.6g}"

    def columns(self, which: Indices) -> Floats:
        """Some columns, one in each row."""
        part = self.X.T[which]
        return np.asarray(part.toarray() if issparse(part) else part)


class Solution(NamedTuple):
    """The model at one penalty, how often its optimality conditions were checked, and its duality gap by row."""

    coef: Floats
    intercept: float
    n_checks: int
    gap: float  # of squared losses, where it was asked for, or else NaN


def screened_path(
    problem: Problem, penalties: Iterable[float], *, gaps: bool = False
) -> Iterator[Solution]:
    """The model at each penalty, on demand with its duality gap; the penalties should not grow."""
    path = _Path(problem)
    known = path.strongest / problem.l1_ratio
    for penalty in penalties:
        if not path.move_to(penalty, known):
            warn_user(
                f"the path of {problem.model} did not converge at {problem.value_in_words(penalty)}",
                ConvergenceWarning,
            )
        known = min(known, penalty)
        solution = path.solution()
        yield (
            solution._replace(gap=path.gap(penalty, solution.coef))
            if gaps
            else solution
        )


def strongest_penalty(problem: Problem) -> float:
    """The penalty at which the first column is about to enter."""
    return _Path(problem).strongest / problem.l1_ratio


class _Room(NamedTuple):
    """Room for columns, one in each row of X, and what is known of them; what is never written takes no memory."""

    X: Floats
    hessian: Floats
    factor: Floats
    factored: Indices
    is_independent: Any
    places: Indices
    w: Floats

    @classmethod
    def of(cls, n_columns: int, n_rows: int) -> _Room:
        """Room with nothing in it."""
        square = (n_columns, n_columns)
        return cls(
            np.empty((n_columns, n_rows)), np.empty(square), np.empty(square), np.zeros(n_columns + 1, dtype=np.intp),
            np.empty(n_columns, dtype=bool), np.empty(n_columns, dtype=np.intp), np.empty(n_columns),
        )  # fmt: skip

    def enlarged(self, n_columns: int, n_kept: int) -> _Room:
        """Room for more columns, with what the first ones have; the Hessian is not factorised."""
        room = _Room.of(n_columns, self.X.shape[1])
        room.hessian[:n_kept, :n_kept] = self.hessian[:n_kept, :n_kept]
        for old, new in (
            (self.X, room.X),
            (self.places, room.places),
            (self.w, room.w),
        ):
            new[:n_kept] = old[:n_kept]
        return room

    def keep(self, kept: Indices) -> None:
        """Keep some columns only, in their order."""
        n_kept = len(kept)
        self.hessian[:n_kept, :n_kept] = self.hessian[kept[:, None], kept]
        for part in (self.X, self.places, self.w):
            part[:n_kept] = part[kept]
        self.factored[0] = 0


class _Path:
    """Where a path has come to. The columns that were ever active, and a free intercept before them, are kept."""

    def __init__(self, problem: Problem) -> None:
        n_rows, n_columns = problem.X.shape
        self.problem = problem
        self.minimise = fastest_minimise()
        # A parabola is solved exactly in any case, so that there the limit decides only which columns are seen to.
        self.tol = problem.tol / 10 if problem.rows.kind == SQUARED else problem.tol
        self.room = _Room.of(64, n_rows)
        self.f = np.zeros(n_rows)
        loss, self.slope, curvature = evaluate(problem.rows, self.f)
        self.loss, self.curvature = np.array([loss]), curvature.copy()
        # A parabola has one Hessian; any other is made when it is first needed.
        self.of_hessian = curvature * (problem.rows.kind == SQUARED)
        self.middle, self.unit = np.zeros(n_columns), 1.0
        self.is_active = np.zeros(n_columns, dtype=bool)
        self.n_active = self.n_fixed = int(problem.free_intercept)
        self.n_checks = 0
        if problem.free_intercept:
            self._enter_intercept()
        self._look_at_all()
        self.strongest = float(np.abs(self.gradient).max(initial=0.0))

    def _enter_intercept(self) -> None:
        weight = self.problem.rows.weight
        # The middle of a column changes nothing but the intercept; without it the columns are less dependent. What is
        # left of the slope at the intercept is multiplied by it in the gradient of the column as it was.
        self.middle = np.asarray(self.problem.X.T @ weight) / weight.sum()
        self.unit = 1.0 + float(np.abs(self.middle).max(initial=0.0))
        self.room.X[0], self.room.places[0], self.room.w[0] = self.unit, -1, 0.0
        self.room.hessian[0, 0] = self.unit**2 * self.of_hessian.sum()
        self._minimise(
            0.0,
            0.0,
            np.zeros(0, dtype=np.intp),
            _FLOOR * self.unit * float(np.abs(self.slope).sum()),
        )

    def move_to(self, penalty: float, known: float) -> bool:
        """Go to a penalty from one where the gradient is known; False where the solver did not converge."""
        self._forget()
        self.n_checks = 0
        bend, ridge = (
            penalty * self.problem.l1_ratio,
            penalty * (1 - self.problem.l1_ratio),
        )
        limit = max(self.tol * bend, _FLOOR * self.strongest)
        # The strong rule.
        candidates = self._outside(self.problem.l1_ratio * (2 * penalty - known))
        while True:
            before = self.n_active, limit
            converged = self._minimise(bend, ridge, candidates, limit)
            self._look_at_all()
            gap = self._gap_to_the_first(bend)
            limit = min(limit, gap / 2) if gap else limit
            missed = self._outside(bend + limit)
            if not converged or not (gap or len(missed)):
                return converged
            # Rounding errors of a column far from zero look like a pull for ever.
            is_stuck = before == (self.n_active, limit)
            if is_stuck and np.isin(missed, candidates).all():
                return False
            candidates = np.union1d(candidates[~self.is_active[candidates]], missed)

    def _outside(self, gradient: float) -> Indices:
        """Columns outside with at least this gradient, the largest ones if they are many."""
        columns: Indices = (self.pull >= max(gradient, 0.0)).nonzero()[0]
        if len(columns) <= _AT_ONCE:
            return columns
        return columns[np.argpartition(-self.pull[columns], _AT_ONCE)[:_AT_ONCE]]

    def _gap_to_the_first(self, bend: float) -> float:
        """How much a first feature wants in, however little that is, so that no tolerance keeps it out."""
        n_features = self.problem.n_features
        if np.count_nonzero(self.is_active[:n_features]):
            return 0.0
        gap = float(self.pull[:n_features].max(initial=0.0)) - bend
        return gap if gap > _TIE * self.strongest else 0.0

    def _forget(self) -> None:
        """Columns that have left are like those that have never been in."""
        if 1.2 * np.count_nonzero(self.room.w[: self.n_active]) + 9 >= self.n_active:
            return
        is_in = self.room.w[: self.n_active] != 0
        is_in[: self.n_fixed] = True
        left = self.room.places[: self.n_active][~is_in]
        self.is_active[left] = False
        self.pull[left] = np.abs(self.gradient[left])
        self.room.keep(is_in.nonzero()[0])
        self.n_active = int(is_in.sum())

    def solution(self) -> Solution:
        """The model where the path is."""
        places, w = (
            self.room.places[self.n_fixed : self.n_active],
            self.room.w[self.n_fixed : self.n_active],
        )
        coef = np.zeros(len(self.is_active))
        coef[places] = w
        return Solution(coef, self._intercept(places, w), self.n_checks, np.nan)

    def gap(self, penalty: float, coef: Floats) -> float:
        """The duality gap by row of the model where the path is; NaN for losses that are not squared."""
        rows, l1_ratio = self.problem.rows, self.problem.l1_ratio
        if rows.kind != SQUARED:
            return np.nan
        # Their mean adds nothing but rounding errors where there is an intercept, since the slopes then sum to zero.
        target = (
            rows.target - np.average(rows.target, weights=rows.weight)
            if self.n_fixed
            else rows.target
        )
        bend, ridge = penalty * l1_ratio, penalty * (1 - l1_ratio)
        gap = duality_gap(
            coef, 2 * self.loss[0], -self.slope @ target, -self.gradient, bend, ridge
        )
        return float(gap) / len(target)

    def _intercept(self, places: Indices, w: Floats) -> float:
        rows = self.problem.rows
        if self.n_fixed and rows.kind == SQUARED and not np.count_nonzero(w):
            # As scikit-learn computes it, so that all models without features are the same to the last digit.
            return float(np.average(rows.target, weights=rows.weight))
        return float(
            self.unit * self.room.w[: self.n_fixed].sum() - self.middle[places] @ w
        )

    def _minimise(
        self, bend: float, ridge: float, candidates: Indices, limit: float
    ) -> bool:
        n_before, n_columns = self.n_active, self.n_active + len(candidates)
        if n_columns == 0:
            self.n_checks += 1
            return True
        block = self._block(bend, ridge, candidates)
        point = Point(
            self.room.w[:n_columns], self.f, self.loss, self.slope, self.curvature
        )
        most = (
            self.problem.max_iter if self.problem.rows.kind == SQUARED else _MOST_STEPS
        )
        self.n_active, converged, n_checks = self.minimise(
            self.problem.rows, block, point, n_before, limit, most
        )
        self.n_checks += n_checks
        self.is_active[block.places[n_before : self.n_active]] = True
        return bool(converged)

    def _block(self, bend: float, ridge: float, candidates: Indices) -> Block:
        """The columns that were ever active and behind them the candidates, with their penalties."""
        n_columns = self.n_active + len(candidates)
        if n_columns > len(self.room.w):
            self.room = self.room.enlarged(2 * n_columns, self.n_active)
        X, hessian, factor, factored, is_independent, places, w = self.room
        if ridge:
            factored[0] = 0
        if len(candidates):
            X[self.n_active : n_columns] = (
                self.problem.columns(candidates) - self.middle[candidates, None]
            )
            places[self.n_active : n_columns] = candidates
            w[self.n_active : n_columns] = 0.0
        bends, ridges = np.empty(n_columns), np.empty(n_columns)
        bends.fill(bend)
        ridges.fill(ridge)
        bends[: self.n_fixed] = ridges[: self.n_fixed] = 0.0
        return Block(
            X[:n_columns], hessian, self.of_hessian, places[:n_columns], factor, factored, is_independent,
            bends, ridges, self.n_fixed,
        )  # fmt: skip

    def _look_at_all(self) -> None:
        """Compute the gradient of all columns, and how much those outside are pulled in."""
        self.gradient: Floats = np.asarray(self.problem.X.T @ self.slope)
        if self.problem.free_intercept:
            self.gradient -= self.slope.sum() * self.middle
        self.pull: Floats = np.abs(self.gradient)
        self.pull[self.room.places[self.n_fixed : self.n_active]] = -1.0

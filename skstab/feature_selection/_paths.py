"""Paths of sparse models, from the strongest penalty to the weakest, one value at a time.

The known models minimise Σᵢ lossᵢ(fᵢ) + λ·(ρ·‖w‖₁ + (1 − ρ)/2·‖w‖²) with f = X·w + b. Each value starts from where the
last one ended and is solved on the columns that the strong rule (Tibshirani et al. 2012) lets through; all others are
then checked, so the rule costs no accuracy. Any other estimator is fitted once for each value.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack, issparse
from scipy.special import expit
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, enet_path
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.utils import check_array, check_consistent_length, column_or_1d, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from skstab.feature_selection._walk import Step
from skstab.model_selection._columns import columns_out, steps_of
from skstab.model_selection._selected import selection_of, why_no_support

__all__ = ["PARAMETERS", "path_of", "strongest_value"]

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]

# The regularisation parameter of the known models; alpha is a penalty, C the inverse of one.
PARAMETERS = {Lasso: "alpha", ElasticNet: "alpha", LogisticRegression: "C", LinearSVC: "C"}

_FLAT = 1e-6  # least curvature of a row, so that a Newton step exists where a loss is flat
_MOST_STEPS = 100


# -- losses ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SquaredLoss:
    """½·s·(f − y)² of each row, with weight s."""

    is_quadratic: ClassVar[bool] = True
    target: Floats
    weight: Floats

    def value(self, f: Floats) -> float:
        return float(self.weight @ (f - self.target) ** 2 / 2)

    def derivatives(self, f: Floats) -> tuple[Floats, Floats]:
        return self.weight * (f - self.target), self.weight


@dataclass(frozen=True)
class LogisticLoss:
    """s·log(1 + exp(−y·f)) of each row, with y = ±1."""

    is_quadratic: ClassVar[bool] = False
    target: Floats
    weight: Floats

    def value(self, f: Floats) -> float:
        return float(self.weight @ np.logaddexp(0, -self.target * f))

    def derivatives(self, f: Floats) -> tuple[Floats, Floats]:
        wrong = expit(-self.target * f)
        return -self.weight * self.target * wrong, self.weight * np.maximum(wrong * (1 - wrong), _FLAT)


@dataclass(frozen=True)
class SquaredHingeLoss:
    """s·max(0, 1 − y·f)² of each row, with y = ±1."""

    is_quadratic: ClassVar[bool] = False
    target: Floats
    weight: Floats

    def value(self, f: Floats) -> float:
        return float(self.weight @ np.maximum(0, 1 - self.target * f) ** 2)

    def derivatives(self, f: Floats) -> tuple[Floats, Floats]:
        short = np.maximum(0, 1 - self.target * f)
        return -2 * self.weight * self.target * short, 2 * self.weight * np.where(short > 0, 1, _FLAT)


# -- the kernel ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """A sparse linear model for any penalty λ; the columns of X after the features are a penalised intercept."""

    X: Any  # dense in Fortran order, or CSC
    loss: Any
    n_features: int
    l1_ratio: float
    free_intercept: bool
    tol: float
    max_iter: int

    def columns(self, which: Indices) -> Floats:
        part = self.X[:, which]
        return part.toarray(order="F") if issparse(part) else part


class Point(NamedTuple):
    """Coefficients of some columns, the intercept, and the fit that they give."""

    w: Floats
    b: float
    f: Floats

    def towards(self, end: Point, size: float) -> Point:
        return Point(*(a + size * (b - a) for a, b in zip(self, end, strict=True)))


class State(NamedTuple):
    """Where a path has come to."""

    coef: Floats
    intercept: float
    slope: Floats  # of the loss, row by row


def screened_path(problem: Problem, penalties: Iterable[float]) -> Iterator[Floats]:
    """Coefficients at each penalty, which must not grow."""
    state, gradient, known = _null(problem)
    known /= problem.l1_ratio
    for penalty in penalties:
        working = (np.abs(gradient) >= problem.l1_ratio * (2 * penalty - known)) | (state.coef != 0)
        missed = working
        while missed.any():
            state = _solve(problem, penalty, np.flatnonzero(working), state)
            gradient = problem.X.T @ state.slope
            missed = (np.abs(gradient) > problem.l1_ratio * penalty) & ~working
            working = working | missed
        known = min(known, penalty)
        yield state.coef


def _null(problem: Problem) -> tuple[State, Floats, float]:
    """The model without features, its gradient, and the largest entry of that."""
    start = State(np.zeros(problem.X.shape[1]), 0.0, np.zeros(0))
    state = _solve(problem, 1.0, np.zeros(0, dtype=np.intp), start)
    gradient = problem.X.T @ state.slope
    return state, gradient, float(np.abs(gradient).max(initial=0.0))


def _solve(problem: Problem, penalty: float, columns: Indices, start: State) -> State:
    """Minimise over some columns, the others staying out."""
    X = problem.columns(columns)
    w, b = start.coef[columns], start.intercept
    w, b, f = (_newton_step if problem.loss.is_quadratic else _newton_steps)(problem, penalty, X, w, b, X @ w + b)
    coef = np.zeros(problem.X.shape[1])
    coef[columns] = w
    return State(coef, b, problem.loss.derivatives(f)[0])


def _newton_steps(problem: Problem, penalty: float, X: Floats, w: Floats, b: float, f: Floats) -> Point:
    """Proximal Newton steps, halved until the objective falls, to its minimum."""
    here, height = Point(w, b, f), _objective(problem, penalty, w, f)
    for _ in range(_MOST_STEPS):
        if _violation(problem, penalty, X, here) <= 10 * problem.tol * penalty:
            return here
        full, size, before = _newton_step(problem, penalty, X, *here), 1.0, height
        while (height := _objective(problem, penalty, *here.towards(full, size)[::2])) > before and size > _FLAT:
            size /= 2
        here = here.towards(full, size)
        if before - height <= problem.tol / 1000 * before:
            return here  # as low as the inner solver gets
    warnings.warn(f"{_MOST_STEPS} Newton steps did not converge", ConvergenceWarning, stacklevel=2)
    return here


def _newton_step(problem: Problem, penalty: float, X: Floats, w: Floats, b: float, f: Floats) -> Point:
    """Minimiser of the penalised loss with the loss replaced by a parabola in each row."""
    slope, curvature = problem.loss.derivatives(f)
    goal = f - np.divide(slope, curvature, out=np.zeros_like(f), where=curvature > 0)
    centred, middle, level = X, np.zeros(X.shape[1]), 0.0
    if problem.free_intercept:
        middle, level = curvature @ X / curvature.sum(), float(curvature @ goal / curvature.sum())
        centred = X - middle
    if len(w):
        root = np.sqrt(curvature)
        design = np.multiply(centred, root[:, None], order="F")
        w = _weighted_lasso(problem, penalty, design, (goal - level) * root, w)
    b = level - float(middle @ w)
    return Point(w, b, X @ w + b)


def _weighted_lasso(problem: Problem, penalty: float, design: Floats, goal: Floats, start: Floats) -> Floats:
    quadratic = problem.loss.is_quadratic
    with config_context(skip_parameter_validation=True), warnings.catch_warnings():
        if not quadratic:
            # It is the steps that have to converge, and they are watched.
            warnings.simplefilter("ignore", ConvergenceWarning)
        _, coefs, _ = enet_path(
            design,
            goal,
            l1_ratio=problem.l1_ratio,
            alphas=[penalty / len(goal)],
            coef_init=start,
            tol=problem.tol if quadratic else problem.tol / 10,
            max_iter=problem.max_iter if quadratic else 1000,
            precompute=False,
            check_input=False,
        )
    return coefs[:, 0]


def _violation(problem: Problem, penalty: float, X: Floats, point: Point) -> float:
    """Largest entry of the smallest subgradient."""
    slope, _ = problem.loss.derivatives(point.f)
    gradient = X.T @ slope + penalty * (1 - problem.l1_ratio) * point.w
    bend = penalty * problem.l1_ratio
    outside = np.maximum(np.abs(gradient) - bend, 0)
    excess = np.where(point.w == 0, outside, np.abs(gradient + bend * np.sign(point.w)))
    return max(excess.max(initial=0.0), abs(slope.sum()) if problem.free_intercept else 0.0)


def _objective(problem: Problem, penalty: float, w: Floats, f: Floats) -> float:
    norms = problem.l1_ratio * np.abs(w).sum() + (1 - problem.l1_ratio) / 2 * w @ w
    return problem.loss.value(f) + penalty * float(norms)


# -- the known models as problems ------------------------------------------------------------------------------------


def problems_of(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> list[Problem]:
    """One problem for each output of a known model (one against the rest for several classes), none for any other."""
    make = _MAKERS.get(type(estimator))
    # How balanced classes and sample weights combine differs between releases of scikit-learn.
    unclear = sample_weight is not None and getattr(estimator, "class_weight", None) == "balanced"
    if make is None or y is None or unclear:
        return []
    X = check_array(X, accept_sparse="csc", dtype=np.float64, order="F")
    check_consistent_length(X, y, sample_weight)
    weight = np.ones(X.shape[0]) if sample_weight is None else column_or_1d(sample_weight, dtype=np.float64)
    return list(make(estimator, X, y, weight))


def _least_squares(estimator: Any, X: Any, y: Any, weight: Floats) -> Iterator[Problem]:
    if estimator.positive or estimator.selection == "random" or estimator.l1_ratio == 0:
        return
    outputs = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y").reshape(X.shape[0], -1)
    # The penalty is alpha times the number of rows, so the weights have a mean of one.
    weight = weight / weight.mean()
    for target in outputs.T:
        yield Problem(
            X, SquaredLoss(target, weight), X.shape[1], estimator.l1_ratio, estimator.fit_intercept,
            estimator.tol, estimator.max_iter,
        )  # fmt: skip


def _logistic(estimator: Any, X: Any, y: Any, weight: Floats) -> Iterator[Problem]:
    named = {"l1": 1.0, "l2": 0.0, None: 0.0}
    l1_ratio = named.get(estimator.penalty, estimator.l1_ratio)
    if l1_ratio and estimator.solver in ("liblinear", "saga"):
        free = estimator.solver == "saga" and estimator.fit_intercept
        yield from _classes(LogisticLoss, estimator, X, y, weight, l1_ratio, free_intercept=free)


def _squared_hinge(estimator: Any, X: Any, y: Any, weight: Floats) -> Iterator[Problem]:
    if estimator.penalty == "l1" and estimator.loss == "squared_hinge" and estimator.dual is not True:
        yield from _classes(SquaredHingeLoss, estimator, X, y, weight, 1.0, free_intercept=False)


def _classes(
    loss: Callable[..., Any], estimator: Any, X: Any, y: Any, weight: Floats, l1_ratio: float, *, free_intercept: bool
) -> Iterator[Problem]:
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    weight = weight * compute_sample_weight(estimator.class_weight, y)
    n_features, classes = X.shape[1], np.unique(y)
    if estimator.fit_intercept and not free_intercept:
        # liblinear penalises the intercept like a coefficient.
        constant = np.full((X.shape[0], 1), float(estimator.intercept_scaling))
        X = hstack([X, constant], format="csc") if issparse(X) else np.asfortranarray(np.hstack([X, constant]))
    for label in classes[1:] if len(classes) == 2 else classes:
        target = np.where(y == label, 1.0, -1.0)
        yield Problem(
            X, loss(target, weight), n_features, l1_ratio, free_intercept, estimator.tol, estimator.max_iter
        )  # fmt: skip


_MAKERS: dict[type, Callable[..., Iterator[Problem]]] = {
    Lasso: _least_squares,
    ElasticNet: _least_squares,
    LogisticRegression: _logistic,
    LinearSVC: _squared_hinge,
}


def strongest_value(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> float | None:
    """The value of a known model's parameter at which the first feature is about to enter; None for other models."""
    if isinstance(estimator, Pipeline):
        return strongest_value(estimator[-1], _head(estimator).fit_transform(X, y), y, {})
    problems = problems_of(estimator, X, y, fit_params.get("sample_weight"))
    if not problems:
        return None
    penalty = max(_null(problem)[2] / problem.l1_ratio for problem in problems)
    # Where no feature tells anything about y, rounding errors must not pass for a signal.
    noise = max(np.finfo(float).eps * abs(p.X).sum(axis=0).max() * abs(p.loss.target).max() for p in problems)
    penalty = penalty if penalty > noise else 1.0
    return penalty / problems[0].X.shape[0] if PARAMETERS[type(estimator)] == "alpha" else 1 / penalty


# -- paths of any estimator ------------------------------------------------------------------------------------------


def path_of(estimator: Any, param_name: str, values: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> Iterator[Step]:
    """What an estimator selects at each of the values of a parameter, the strongest first."""
    step, _, rest = param_name.partition("__")
    if isinstance(estimator, Pipeline) and rest and step == estimator.steps[-1][0] and not fit_params:
        return _pipeline_path(estimator, rest, values, X, y)
    if param_name == PARAMETERS.get(type(estimator)) and fit_params.keys() <= {"sample_weight"} and min(values) > 0:
        problems = problems_of(estimator, X, y, fit_params.get("sample_weight"))
        # The classes of a multinomial model are not separate problems.
        if problems and (len(problems) == 1 or type(estimator) is not LogisticRegression):
            return _known_path(problems, np.asarray(values, dtype=float), inverse=param_name == "C")
    return _fitted_path(estimator, param_name, values, X, y, fit_params)


def _known_path(problems: list[Problem], values: Floats, *, inverse: bool) -> Iterator[Step]:
    penalties = 1 / values if inverse else values * problems[0].X.shape[0]
    for coefs in zip(*(screened_path(problem, penalties) for problem in problems), strict=True):
        weights = np.linalg.norm(coefs, axis=0)[: problems[0].n_features]
        selected = np.flatnonzero(weights)
        yield Step(selected, weights[selected] * problems[0].columns(selected).std(axis=0))


def _pipeline_path(pipeline: Pipeline, param_name: str, values: Any, X: Any, y: Any) -> Iterator[Step]:
    """Path of the last step; the steps before it, which no value changes, are fitted once."""
    head = _head(pipeline)
    X_last = head.fit_transform(X, y)
    columns = np.arange(X.shape[1])
    for name, step in steps_of(head):
        columns = columns[columns_out(name, step, len(columns))]
    for selected, importances in path_of(pipeline[-1], param_name, values, X_last, y, {}):
        yield Step(columns[selected], importances)


def _head(pipeline: Pipeline) -> Pipeline:
    return clone(Pipeline([*pipeline.steps[:-1], ("last", "passthrough")], memory=pipeline.memory))


def _fitted_path(
    estimator: Any, param_name: str, values: Any, X: Any, y: Any, fit_params: dict[str, Any]
) -> Iterator[Step]:
    estimator = clone(estimator)
    if type(estimator) in PARAMETERS and hasattr(estimator, "warm_start"):
        estimator.set_params(warm_start=True)
    for value in values:
        estimator.set_params(**{param_name: value}).fit(X, y, **fit_params)
        support, importances, *_ = selection_of(estimator, X, y)
        if support is None:
            raise ValueError(why_no_support(estimator))
        yield Step(np.flatnonzero(support), None if importances is None else importances[support])

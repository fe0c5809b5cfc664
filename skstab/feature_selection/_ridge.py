"""Ridge-penalised linear models, by Newton's method in row space or in feature space, whichever is faster.

The models minimise, over the weights W (features × outputs) and intercepts b,

    Σ_i s_i ℓ(y_i, f_i) + ‖W‖²/(2C),    f_i = Wᵀx_i + b,

with sample weights s; those of the hinge loss are left to libsvm. Their solution is W = C Xᵀα with α (rows × outputs):
with P = C XXᵀ, f = Pα + b. With more features than rows the unknowns are therefore α, and the cost of a step does not
depend on the number of features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dposv, dpotrf, dpotrs
from scipy.special import expit, logsumexp, softmax
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

__all__ = [
    "LOSSES",
    "AnyLoss",
    "Hinge",
    "Loss",
    "RidgeFit",
    "fit_features",
    "fit_rows",
    "prefers_rows",
    "scaled",
]

_TOLERANCE = 1e-10  # of the gradient, relative to its size far from the solution
_STALLED = 1e-6  # near the solution a step squares the error, unless only rounding errors are left
_LOST = 1e-2  # an error with which what was found is not the solution
_FAR = 0.5  # the same of scikit-learn's solvers, which stop earlier; without any weight it is 1
_SVM_TOLERANCE = 1e-5
_FEW_ROWS = (
    100  # for so few rows, row space is faster even with fewer features than rows
)
_MANY_UNKNOWNS = 1000  # for more, a Hessian matrix costs more than it saves

# -- losses ------------------------------------------------------------------------------------------------------------


class Loss(Protocol):
    """A convex loss of n rows; `F` are decision values of shape (n, n_outputs)."""

    @property
    def y(self) -> np.ndarray:
        """The target, one column per output."""

    @property
    def weight(self) -> np.ndarray:
        """The weights of the rows, of shape (n, 1)."""

    @property
    def coupled(self) -> bool:
        """Whether outputs depend on each other, as the classes of a softmax do."""

    def value(self, F: np.ndarray) -> float:
        """Return the sum over the rows."""

    def derivatives(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient and curvature, output by output.

        Coupled outputs c, c' also have the curvature −D_c D_c'/s, with s the weight of the row.
        """

    def by_scikit_learn(self, X: Any, C: float, *, fit_intercept: bool) -> Any:
        """Return scikit-learn's model, fitted."""


@dataclass(frozen=True)
class Squared:
    """½(y − f)²."""

    y: np.ndarray
    weight: np.ndarray
    coupled = False

    def value(self, F: np.ndarray) -> float:
        return float(np.sum(self.weight * (F - self.y) ** 2) / 2)

    def derivatives(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.weight * (F - self.y), np.broadcast_to(self.weight, F.shape)

    def by_scikit_learn(self, X: Any, C: float, *, fit_intercept: bool) -> Any:
        return Ridge(alpha=1 / C, fit_intercept=fit_intercept).fit(
            X, self.y, self.weight[:, 0]
        )


@dataclass(frozen=True)
class Logistic:
    """log(1 + exp(f)) − yf, with y of 0 and 1."""

    y: np.ndarray
    weight: np.ndarray
    coupled = False

    def value(self, F: np.ndarray) -> float:
        return float(np.sum(self.weight * (np.logaddexp(0, F) - self.y * F)))

    def derivatives(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        probability = expit(F)
        return self.weight * (probability - self.y), self.weight * probability * (
            1 - probability
        )

    def by_scikit_learn(self, X: Any, C: float, *, fit_intercept: bool) -> Any:
        return _logistic_regression(C, fit_intercept).fit(
            X, self.y[:, 0], self.weight[:, 0]
        )


@dataclass(frozen=True)
class Softmax:
    """log Σ exp(f) − Yf, with one column of Y for each class."""

    y: np.ndarray
    weight: np.ndarray
    coupled = True

    def value(self, F: np.ndarray) -> float:
        return float(
            np.sum(
                self.weight[:, 0] * (logsumexp(F, axis=1) - np.sum(self.y * F, axis=1))
            )
        )

    def derivatives(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        probability = softmax(F, axis=1)
        return self.weight * (probability - self.y), self.weight * probability

    def by_scikit_learn(self, X: Any, C: float, *, fit_intercept: bool) -> Any:
        return _logistic_regression(C, fit_intercept).fit(
            X, self.y.argmax(axis=1), self.weight[:, 0]
        )


@dataclass(frozen=True)
class Hinge:
    """max(0, 1 − (2y − 1)f), with y of 0 and 1: one column for two classes, else one for each against the rest."""

    y: np.ndarray
    weight: np.ndarray

    def by_libsvm(self, kernel: str, data: Any, C: float) -> list[SVC]:
        """One support vector machine for each column, of a Gram matrix ("precomputed") or of rows ("linear")."""
        return [
            SVC(kernel=kernel, C=C, tol=_SVM_TOLERANCE).fit(
                data, column, self.weight[:, 0]
            )
            for column in self.y.T
        ]


AnyLoss: TypeAlias = Loss | Hinge

LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], AnyLoss]] = {
    "squared": Squared,
    "logistic": Logistic,
    "softmax": Softmax,
    "hinge": Hinge,
}


def _logistic_regression(C: float, fit_intercept: bool) -> LogisticRegression:
    return LogisticRegression(
        C=C, fit_intercept=fit_intercept, tol=1e-6, max_iter=10_000
    )


# -- models ------------------------------------------------------------------------------------------------------------


class RidgeFit(NamedTuple):
    """A fitted model: weights of shape (n_features, n_outputs), intercepts, and α where that was found first."""

    weights: np.ndarray
    intercept: np.ndarray
    dual: np.ndarray | None = None


def prefers_rows(n_rows: int, n_features: int) -> bool:
    """Whether a model is faster to fit in row space."""
    return n_rows <= max(n_features, _FEW_ROWS)


def fit_rows(
    columns: Any,
    gram: np.ndarray,
    loss: AnyLoss,
    C: float,
    *,
    fit_intercept: bool = True,
    start: RidgeFit | None = None,
) -> RidgeFit:
    """Fit in row space, starting from the solution of a similar problem.

    Parameters
    ----------
    columns : ndarray or CSR array of shape (n_features, n_rows)
        The data, one row for each feature.
    gram : ndarray of shape (n_rows, n_rows)
        XXᵀ.
    loss : Loss or Hinge
        The loss and its target.
    C : float
        Inverse strength of the penalty.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    start : RidgeFit, default=None
        A solution for other features.

    Returns
    -------
    fit : RidgeFit
        With `dual`.
    """
    if isinstance(loss, Hinge):
        machines = loss.by_libsvm("precomputed", gram, C)
        parts = [columns[:, one.support_] @ _dense(one.dual_coef_) for one in machines]
        return _side_by_side(parts, machines)
    dual, intercept = np.zeros(loss.y.shape), np.zeros(loss.y.shape[1])
    if start is not None and start.dual is not None:
        dual, intercept = start.dual, start.intercept
    dual, intercept = _newton(_Rows(C * gram, fit_intercept), loss, dual, intercept)
    return RidgeFit(C * (columns @ dual), intercept, dual)


def fit_features(
    columns: Any,
    loss: AnyLoss,
    C: float,
    *,
    fit_intercept: bool = True,
    start: RidgeFit | None = None,
) -> RidgeFit:
    """Fit in feature space, starting from weights of the same features.

    Parameters
    ----------
    columns : ndarray or CSR array of shape (n_features, n_rows)
        The data, one row for each feature.
    loss : Loss or Hinge
        The loss and its target.
    C : float
        Inverse strength of the penalty.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    start : RidgeFit, default=None
        Weights of these features.

    Returns
    -------
    fit : RidgeFit
        Without `dual`.
    """
    if isinstance(loss, Hinge):
        machines = loss.by_libsvm("linear", columns.T, C)
        parts = [columns[:, one.support_] @ _dense(one.dual_coef_) for one in machines]
        return _side_by_side(parts, machines)
    n_features, n_outputs = columns.shape[0], loss.y.shape[1]
    space = _Features(columns.T, C, fit_intercept)
    if n_features * n_outputs > _MANY_UNKNOWNS:
        model = loss.by_scikit_learn(columns.T, C, fit_intercept=fit_intercept)
        weights, intercept = (
            np.atleast_2d(model.coef_).T,
            np.broadcast_to(model.intercept_, (n_outputs,)),
        )
        at = _Point(weights, intercept, space.smooth(weights))
        _check_solved(
            space.error(at, loss.derivatives(at.decision)[0]) <= _FAR * _scale_of(loss)
        )
        return RidgeFit(weights, intercept)
    weights, intercept = np.zeros((n_features, n_outputs)), np.zeros(n_outputs)
    if start is not None:
        weights, intercept = (
            start.weights,
            np.broadcast_to(start.intercept, (n_outputs,)),
        )
    return RidgeFit(*_newton(space, loss, weights, intercept))


def _dense(row: Any) -> np.ndarray:
    return np.ravel(row.toarray() if sparse.issparse(row) else row)


def _side_by_side(weights: list[np.ndarray], machines: list[SVC]) -> RidgeFit:
    intercepts = np.array([one.intercept_[0] for one in machines])
    return RidgeFit(np.column_stack(weights), intercepts)


def scaled(columns: Any, scale: np.ndarray) -> Any:
    """Multiply each row by its scale."""
    if np.all(scale == 1):
        return columns
    return (
        sparse.diags_array(scale) @ columns
        if sparse.issparse(columns)
        else columns * scale[:, None]
    )


# -- Newton's method ---------------------------------------------------------------------------------------------------


class _Point(NamedTuple):
    """A model in the unknowns of its space, its intercepts, and its decision values without them."""

    unknowns: np.ndarray
    intercept: np.ndarray
    smooth: np.ndarray

    @property
    def decision(self) -> np.ndarray:
        return np.asarray(self.smooth + self.intercept)

    def towards(self, aim: _Point, t: float) -> _Point:
        return _Point(
            *(here + t * (there - here) for here, there in zip(self, aim, strict=True))
        )


class _Space(Protocol):
    """The unknowns of a model."""

    def smooth(self, unknowns: np.ndarray) -> np.ndarray:
        """Return decision values without intercept."""

    def inner(self, one: _Point, other: _Point) -> float:
        """Return WᵀW'/C, the inner product of the penalty."""

    def error(self, at: _Point, gradient: np.ndarray) -> float:
        """Return how far the derivative by the unknowns is from 0."""

    def aim(
        self, at: _Point, gradient: np.ndarray, diagonal: np.ndarray, loss: Loss
    ) -> tuple[np.ndarray, np.ndarray]:
        """Minimise the quadratic approximation; return the unknowns and the intercepts there."""


def _newton(
    space: _Space,
    loss: Loss,
    unknowns: np.ndarray,
    intercept: np.ndarray,
    max_iter: int = 100,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the penalised loss from a starting point."""
    scale = _scale_of(loss)
    at = _Point(unknowns, intercept, space.smooth(unknowns))
    gradient, diagonal = loss.derivatives(at.decision)
    error = space.error(at, gradient)
    for _ in range(max_iter):
        if error <= _TOLERANCE * scale:
            break
        unknowns, intercept = space.aim(at, gradient, diagonal, loss)
        there = _Point(unknowns, intercept, space.smooth(unknowns))
        derivatives = loss.derivatives(there.decision)
        if space.error(there, derivatives[0]) > error / 2:
            if error < _STALLED * scale:
                break
            there = _line_search(space, at, there, gradient, loss)
            derivatives = loss.derivatives(there.decision)
        at, (gradient, diagonal) = there, derivatives
        error = space.error(at, gradient)
    _check_solved(error <= _LOST * scale)
    return at.unknowns, at.intercept


def _scale_of(loss: Loss) -> float:
    """The size of a gradient far from the solution."""
    return float(max(loss.weight.max(), np.abs(loss.weight * loss.y).max()))


def _line_search(
    space: _Space, at: _Point, aim: _Point, gradient: np.ndarray, loss: Loss
) -> _Point:
    """Step towards the target, halved until the objective decreases by a share of what the slope predicts."""
    value = loss.value(at.decision) + space.inner(at, at) / 2
    slope = (
        np.vdot(gradient, aim.decision - at.decision)
        + space.inner(at, aim)
        - space.inner(at, at)
    )
    for t in 0.5 ** np.arange(30):
        there = at.towards(aim, t)
        found = loss.value(there.decision) + space.inner(there, there) / 2
        if found <= value + 1e-4 * t * slope + 1e-15 * abs(value):
            return there
    return at


@dataclass(frozen=True)
class _Features:
    """The unknowns are the weights W."""

    X: Any
    C: float
    fit_intercept: bool

    @cached_property
    def unit(self) -> float:
        """The size of the data, relative to which a slope is small."""
        return float(abs(self.X).max()) or 1.0

    def smooth(self, unknowns: np.ndarray) -> np.ndarray:
        return np.asarray(self.X @ unknowns)

    def inner(self, one: _Point, other: _Point) -> float:
        return float(np.vdot(one.unknowns, other.unknowns) / self.C)

    def error(self, at: _Point, gradient: np.ndarray) -> float:
        slope = self.X.T @ gradient
        return float(
            np.abs(slope + at.unknowns / self.C).max()
            / max(self.unit, np.abs(slope).max())
        )

    def aim(
        self, at: _Point, gradient: np.ndarray, diagonal: np.ndarray, loss: Loss
    ) -> tuple[np.ndarray, np.ndarray]:
        n_features, n_outputs = at.unknowns.shape
        slope = np.vstack(
            [self.X.T @ gradient + at.unknowns / self.C, gradient.sum(axis=0)]
        )
        size = n_features + self.fit_intercept  # of a block
        hessian = np.zeros((n_outputs, size, n_outputs, size))
        for c in range(n_outputs):
            for other in range(c, n_outputs if loss.coupled else c + 1):
                product = (
                    diagonal[:, c] * diagonal[:, other] / loss.weight[:, 0]
                    if loss.coupled
                    else np.zeros(1)
                )
                block = (
                    self._block(diagonal[:, c] - product)
                    if c == other
                    else -self._block(product)
                )
                hessian[c, :, other] = hessian[other, :, c] = block[:size, :size]
            hessian[c, range(n_features), c, range(n_features)] += 1 / self.C
        if loss.coupled and self.fit_intercept:
            hessian[:, -1, :, -1] += (
                loss.weight.sum()
            )  # intercepts up to a constant: those that sum to 0
        matrix = hessian.reshape(n_outputs * size, -1)
        _, solution, info = dposv(matrix, slope[:size].T.ravel(), lower=True)
        _check_solved(info == 0)
        step = -solution.reshape(n_outputs, size).T
        intercept = at.intercept + step[-1] if self.fit_intercept else at.intercept
        return at.unknowns + step[:n_features], intercept

    def _block(self, curvature: np.ndarray) -> np.ndarray:
        """XᵀVX of the features and of ones, with V ≥ 0; passing the same array twice halves the work."""
        root = np.sqrt(curvature)
        half = scaled(self.X, root)
        product = half.T @ half
        ones = np.append(half.T @ root, root @ root)
        gram = product.toarray() if sparse.issparse(product) else product
        return np.block([[gram, ones[:-1, None]], [ones]])


@dataclass(frozen=True)
class _Rows:
    """The unknowns are α = −∂ℓ/∂f, which sum to 0 for each output that has an intercept; P is C XXᵀ."""

    P: np.ndarray
    fit_intercept: bool

    def smooth(self, unknowns: np.ndarray) -> np.ndarray:
        return np.asarray(self.P @ unknowns)

    def inner(self, one: _Point, other: _Point) -> float:
        return float(np.vdot(one.unknowns, other.smooth))

    def error(self, at: _Point, gradient: np.ndarray) -> float:
        return float(np.abs(at.unknowns + gradient).max())

    def aim(
        self, at: _Point, gradient: np.ndarray, diagonal: np.ndarray, loss: Loss
    ) -> tuple[np.ndarray, np.ndarray]:
        """Minimise the quadratic approximation.

        With curvature V of the loss and S = (I + VP)⁻¹V, the minimum is at α = S(F + P∂ℓ − b) − ∂ℓ. For V = D, S is
        E = √D (I + √D P √D)⁻¹ √D, output by output; where outputs are coupled, it is E − ER(RᵀER)⁻¹RᵀE, with R the
        sum over outputs (Rasmussen & Williams 2006, algorithm 3.3, here with an intercept).
        """
        n_rows, n_outputs = at.unknowns.shape
        curvatures = [
            _Curvature(self.P, root) for root in np.sqrt(diagonal).T[:, :, None]
        ]
        aims = np.empty(
            (n_outputs, n_rows, 1 + n_outputs)
        )  # of each output, and ones for each intercept
        aims[:, :, 0] = (at.decision + self.P @ gradient).T
        aims[:, :, 1:] = np.eye(n_outputs)[:, None, :]
        solved = np.stack(
            [
                curvature.apply(aim)
                for curvature, aim in zip(curvatures, aims, strict=True)
            ]
        )
        if loss.coupled:
            total = sum(curvature.apply(np.eye(n_rows)) for curvature in curvatures)
            common = np.linalg.solve(total, solved.sum(axis=0))
            solved -= np.stack([curvature.apply(common) for curvature in curvatures])
        dual, by_intercept = solved[:, :, 0].T - gradient, solved[:, :, 1:]
        if not self.fit_intercept:
            return dual, at.intercept
        # Coupled outputs have intercepts up to a constant: 1 everywhere adds that they sum to 0.
        intercept = np.linalg.solve(
            by_intercept.sum(axis=1) + loss.coupled, dual.sum(axis=0)
        )
        return dual - (by_intercept @ intercept).T, intercept


class _Curvature:
    """E = √D (I + √D P √D)⁻¹ √D of one output; `root` is √D, a column."""

    def __init__(self, P: np.ndarray, root: np.ndarray) -> None:
        matrix = root * P * root.T
        matrix.flat[:: len(matrix) + 1] += 1
        self.root = root
        self.factor, info = dpotrf(
            matrix.T, overwrite_a=True
        )  # Fortran's order, as it is symmetric
        _check_solved(info == 0)

    def apply(self, V: np.ndarray) -> np.ndarray:
        return np.asarray(self.root * dpotrs(self.factor, self.root * V)[0])


def _check_solved(solved: bool) -> None:
    """Check that there is a solution: with an extreme penalty, or data in an extreme unit, rounding errors hide it."""
    if not solved:
        raise np.linalg.LinAlgError(
            "the penalty is lost among rounding errors, and the model is not unique without it"
        )

"""Lasso, elastic net, L1 logistic regression and L1 support vector machine at many values of their regularisation.

Nothing here knows of runs or selectors: estimators, rows and values come in, coefficients and intercepts go out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack, issparse
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.utils import (
    check_array,
    check_consistent_length,
    column_or_1d,
    compute_sample_weight,
)
from sklearn.utils.multiclass import check_classification_targets

from skstab._linear_paths.active_set import HINGE, LOGISTIC, SQUARED, Rows
from skstab._linear_paths.screening import Problem, screened_path

__all__ = [
    "PARAMETERS", "LinearModels", "Objective", "head_of", "linear_models", "objectives_of", "parameter_of_path",
    "penalties_of", "problems_of", "separate_problems",
]  # fmt: skip

Floats: TypeAlias = NDArray[np.float64]

# The regularisation parameter of the known models; alpha is a penalty, C the inverse of one.
PARAMETERS = {
    Lasso: "alpha",
    ElasticNet: "alpha",
    LogisticRegression: "C",
    LinearSVC: "C",
}


# -- the known models as problems --------------------------------------------------------------------------------------


class Objective(NamedTuple):
    """What one output of a model minimises, whatever its columns are."""

    rows: Rows
    l1_ratio: float
    free_intercept: bool
    constant: float = 0.0  # a column whose coefficient, the intercept, is penalised


def problems_of(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None
) -> list[Problem]:
    """One problem for each output of a known model (one against the rest for several classes), none for any other."""
    if not _is_clear(estimator, y, sample_weight):
        return []
    X = check_array(X, accept_sparse="csc", dtype=np.float64, order="F")
    check_consistent_length(X, y, sample_weight)
    objectives = objectives_of(estimator, y, X.shape[0], sample_weight)
    if not objectives:
        return []
    constant = objectives[0].constant
    return [
        Problem(
            _with_constant(X, constant) if constant else X, one.rows, X.shape[1], one.l1_ratio, one.free_intercept,
            estimator.tol, estimator.max_iter, constant, type(estimator).__name__, PARAMETERS[type(estimator)],
        )
        for one in objectives
    ]  # fmt: skip


def _is_clear(estimator: Any, y: Any, sample_weight: Any) -> bool:
    # How balanced classes and sample weights combine differs between releases of scikit-learn.
    unclear = (
        sample_weight is not None
        and getattr(estimator, "class_weight", None) == "balanced"
    )
    return type(estimator) in _MAKERS and y is not None and not unclear


def objectives_of(
    estimator: Any,
    y: Any,
    n_rows: int,
    sample_weight: Any = None,
    *,
    is_checked: bool = False,
) -> list[Objective]:
    """What each output of a known model minimises; none for other models and settings.

    `is_checked` says that the classes of `y` are some of those of a target that was checked.
    """
    if not _is_clear(estimator, y, sample_weight):
        return []
    if PARAMETERS[type(estimator)] == "C" and not is_checked:
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
    weight = (
        np.ones(n_rows)
        if sample_weight is None
        else column_or_1d(sample_weight, dtype=np.float64)
    )
    return list(_MAKERS[type(estimator)](estimator, y, weight))


def _with_constant(X: Any, constant: float) -> Any:
    column = np.full((X.shape[0], 1), constant)
    if issparse(X):
        return hstack([X, column], format="csc")
    return np.asfortranarray(np.hstack([X, column]))


def _least_squares(estimator: Any, y: Any, weight: Floats) -> Iterator[Objective]:
    if estimator.positive or estimator.selection == "random" or estimator.l1_ratio == 0:
        return
    outputs = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y").reshape(
        len(weight), -1
    )
    # The penalty is alpha times the number of rows, so the weights have a mean of one.
    weight = weight * (len(weight) / weight.sum())
    for target in outputs.T:
        rows = Rows(SQUARED, np.ascontiguousarray(target), weight)
        yield Objective(rows, estimator.l1_ratio, estimator.fit_intercept)


def _logistic(estimator: Any, y: Any, weight: Floats) -> Iterator[Objective]:
    named = {"l1": 1.0, "l2": 0.0, None: 0.0}
    l1_ratio = named.get(estimator.penalty, estimator.l1_ratio)
    # liblinear refuses mixtures of the two penalties.
    if (estimator.solver == "saga" and l1_ratio) or (
        estimator.solver == "liblinear" and l1_ratio == 1
    ):
        free = estimator.solver == "saga" and estimator.fit_intercept
        yield from _classes(
            LOGISTIC, estimator, y, weight, l1_ratio, free_intercept=free
        )


def _squared_hinge(estimator: Any, y: Any, weight: Floats) -> Iterator[Objective]:
    if (
        estimator.penalty == "l1"
        and estimator.loss == "squared_hinge"
        and estimator.dual is not True
    ):
        yield from _classes(HINGE, estimator, y, weight, 1.0, free_intercept=False)


def _classes(
    loss: int,
    estimator: Any,
    y: Any,
    weight: Floats,
    l1_ratio: float,
    *,
    free_intercept: bool,
) -> Iterator[Objective]:
    if estimator.class_weight is not None:
        weight = weight * compute_sample_weight(estimator.class_weight, y)
    classes = np.unique(y)
    # liblinear penalises the intercept like a coefficient.
    penalises = estimator.fit_intercept and not free_intercept
    constant = float(estimator.intercept_scaling) if penalises else 0.0
    for label in classes[1:] if len(classes) == 2 else classes:
        target = np.where(y == label, 1.0, -1.0)
        yield Objective(Rows(loss, target, weight), l1_ratio, free_intercept, constant)


_MAKERS: dict[type, Callable[..., Iterator[Objective]]] = {
    Lasso: _least_squares,
    ElasticNet: _least_squares,
    LogisticRegression: _logistic,
    LinearSVC: _squared_hinge,
}


# -- models along a path -----------------------------------------------------------------------------------------------


class LinearModels(NamedTuple):
    """Coefficients (n_values × n_outputs × n_features), and by value and output what else fits know of themselves."""

    coefs: Floats
    intercepts: Floats
    n_iter: NDArray[
        np.intp
    ]  # checks of the optimality conditions, or sweeps over the columns
    gaps: Floats  # the duality gaps of least squares; NaN for others


def parameter_of_path(estimator: Any) -> str | None:
    """Name of the parameter along which a model has a path, last in a pipeline or inside `SelectFromModel` too."""
    if isinstance(estimator, Pipeline):
        name = parameter_of_path(estimator[-1])
        return name and f"{estimator.steps[-1][0]}__{name}"
    if isinstance(estimator, SelectFromModel):
        name = None if estimator.prefit else parameter_of_path(estimator.estimator)
        return name and f"estimator__{name}"
    return PARAMETERS.get(type(estimator))


def linear_models(
    estimator: Any, X: Any, y: Any, values: Any, *, sample_weight: Any = None
) -> LinearModels | None:
    """The models that `estimator` has at values of `parameter_of_path`, at its tolerance, by following one path.

    The values may have any order. Of a pipeline the steps before the last one are fitted once; coefficients belong to
    the columns that reach the model. None where no path is known: the estimator is then to be fitted at each value.
    """
    if parameter_of_path(estimator) is None or (
        isinstance(estimator, Pipeline) and sample_weight is not None
    ):
        return None
    if isinstance(estimator, Pipeline):
        return linear_models(
            estimator[-1], head_of(estimator).fit_transform(X, y), y, values
        )
    if isinstance(estimator, SelectFromModel):
        return linear_models(
            estimator.estimator, X, y, values, sample_weight=sample_weight
        )
    problems = separate_problems(estimator, X, y, values, sample_weight)
    if not problems:
        return None
    penalties = penalties_of(estimator, problems, values)
    outputs = [_in_any_order(problem, penalties) for problem in problems]
    return LinearModels(
        *(np.stack(parts, axis=1) for parts in zip(*outputs, strict=True))
    )


def _in_any_order(problem: Problem, penalties: Floats) -> LinearModels:
    """The models of one output at penalties that may grow."""
    order = np.argsort(-penalties, kind="stable")
    coefs, intercepts = np.empty((len(order), problem.n_features)), np.empty(len(order))
    n_iter, gaps = np.empty(len(order), dtype=np.intp), np.empty(len(order))
    path = screened_path(problem, penalties[order], gaps=True)
    for place, (coef, intercept, n_checks, gap) in zip(order, path, strict=True):
        coefs[place] = coef[: problem.n_features]
        intercepts[place] = (
            intercept + problem.constant * coef[problem.n_features :].sum()
        )
        n_iter[place], gaps[place] = n_checks, gap
    return LinearModels(coefs, intercepts, n_iter, gaps)


def separate_problems(
    estimator: Any, X: Any, y: Any, values: Any, sample_weight: Any
) -> list[Problem]:
    """Problems that are a path of the estimator; none where there are values that it has no path to."""
    if not all(0 < value < np.inf for value in values):
        return []
    problems = problems_of(estimator, X, y, sample_weight)
    # The classes of a multinomial model are not separate problems.
    return (
        [] if type(estimator) is LogisticRegression and len(problems) > 1 else problems
    )


def penalties_of(
    estimator: Any, problems: Sequence[Problem | Objective], values: Any
) -> Floats:
    """Penalties of the sum of the losses that values of the parameter stand for."""
    values = np.asarray(values, dtype=float)
    return np.asarray(
        1 / values
        if PARAMETERS[type(estimator)] == "C"
        else values * len(problems[0].rows.target)
    )


def head_of(pipeline: Pipeline) -> Pipeline:
    """All steps but the last, not fitted."""
    return clone(
        Pipeline(
            [*pipeline.steps[:-1], ("last", "passthrough")], memory=pipeline.memory
        )
    )

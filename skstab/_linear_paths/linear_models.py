"""Lasso, elastic net, L1 logistic regression and L1 support vector machine at many values of their regularisation.

Nothing here knows of runs or selectors: estimators, rows and values come in, coefficients and intercepts go out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
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
    "PARAMETERS", "LinearModels", "head_of", "linear_models", "parameter_of_path", "penalties_of", "problems_of",
    "separate_problems",
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


def problems_of(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None
) -> list[Problem]:
    """One problem for each output of a known model (one against the rest for several classes), none for any other."""
    make = _MAKERS.get(type(estimator))
    # How balanced classes and sample weights combine differs between releases of scikit-learn.
    unclear = (
        sample_weight is not None
        and getattr(estimator, "class_weight", None) == "balanced"
    )
    if make is None or y is None or unclear:
        return []
    X = check_array(X, accept_sparse="csc", dtype=np.float64, order="F")
    check_consistent_length(X, y, sample_weight)
    weight = (
        np.ones(X.shape[0])
        if sample_weight is None
        else column_or_1d(sample_weight, dtype=np.float64)
    )
    model, parameter = type(estimator).__name__, PARAMETERS[type(estimator)]
    return [
        replace(problem, model=model, parameter=parameter)
        for problem in make(estimator, X, y, weight)
    ]


def _least_squares(estimator: Any, X: Any, y: Any, weight: Floats) -> Iterator[Problem]:
    if estimator.positive or estimator.selection == "random" or estimator.l1_ratio == 0:
        return
    outputs = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y").reshape(
        X.shape[0], -1
    )
    # The penalty is alpha times the number of rows, so the weights have a mean of one.
    weight = weight * (len(weight) / weight.sum())
    for target in outputs.T:
        rows = Rows(SQUARED, np.ascontiguousarray(target), weight)
        yield Problem(
            X, rows, X.shape[1], estimator.l1_ratio, estimator.fit_intercept, estimator.tol, estimator.max_iter
        )  # fmt: skip


def _logistic(estimator: Any, X: Any, y: Any, weight: Floats) -> Iterator[Problem]:
    named = {"l1": 1.0, "l2": 0.0, None: 0.0}
    l1_ratio = named.get(estimator.penalty, estimator.l1_ratio)
    # liblinear refuses mixtures of the two penalties.
    if (estimator.solver == "saga" and l1_ratio) or (
        estimator.solver == "liblinear" and l1_ratio == 1
    ):
        free = estimator.solver == "saga" and estimator.fit_intercept
        yield from _classes(
            LOGISTIC, estimator, X, y, weight, l1_ratio, free_intercept=free
        )


def _squared_hinge(estimator: Any, X: Any, y: Any, weight: Floats) -> Iterator[Problem]:
    if (
        estimator.penalty == "l1"
        and estimator.loss == "squared_hinge"
        and estimator.dual is not True
    ):
        yield from _classes(HINGE, estimator, X, y, weight, 1.0, free_intercept=False)


def _classes(
    loss: int,
    estimator: Any,
    X: Any,
    y: Any,
    weight: Floats,
    l1_ratio: float,
    *,
    free_intercept: bool,
) -> Iterator[Problem]:
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    weight = weight * compute_sample_weight(estimator.class_weight, y)
    n_features, classes, constant = X.shape[1], np.unique(y), 0.0
    if estimator.fit_intercept and not free_intercept:
        # liblinear penalises the intercept like a coefficient.
        constant = float(estimator.intercept_scaling)
        column = np.full((X.shape[0], 1), constant)
        X = (
            hstack([X, column], format="csc")
            if issparse(X)
            else np.asfortranarray(np.hstack([X, column]))
        )
    for label in classes[1:] if len(classes) == 2 else classes:
        target = np.where(y == label, 1.0, -1.0)
        yield Problem(
            X, Rows(loss, target, weight), n_features, l1_ratio, free_intercept,
            estimator.tol, estimator.max_iter, constant,
        )  # fmt: skip


_MAKERS: dict[type, Callable[..., Iterator[Problem]]] = {
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


def penalties_of(estimator: Any, problems: list[Problem], values: Any) -> Floats:
    """Penalties of the sum of the losses that values of the parameter stand for."""
    values = np.asarray(values, dtype=float)
    return np.asarray(
        1 / values
        if PARAMETERS[type(estimator)] == "C"
        else values * problems[0].X.shape[0]
    )


def head_of(pipeline: Pipeline) -> Pipeline:
    """All steps but the last, not fitted."""
    return clone(
        Pipeline(
            [*pipeline.steps[:-1], ("last", "passthrough")], memory=pipeline.memory
        )
    )

"""Paths of sparse models, from the strongest penalty to the weakest, one value at a time.

The models of `PARAMETERS` are solved by `skstab._linear_paths`, each value from where the last one ended; an
estimator that holds a path in its coefficients is fitted once; any other one is fitted once for each value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skstab._linear_paths.linear_models import (
    PARAMETERS,
    LinearModels,
    head_of,
    linear_models,
    parameter_of_path,
    penalties_of,
    problems_of,
    separate_problems,
)
from skstab._linear_paths.screening import Problem, screened_path, strongest_penalty
from skstab._linear_paths.shared_paths import FoundPath
from skstab._pipelines import fitted
from skstab.feature_selection._held_paths import HeldName, steps_of_held_path
from skstab.feature_selection._walk import Step
from skstab.runs import input_columns, selection_of

__all__ = [
    "PARAMETERS",
    "LinearModels",
    "linear_models",
    "parameter_of_path",
    "path_of",
    "steps_of",
    "strongest_value",
]

Floats: TypeAlias = NDArray[np.float64]


def strongest_value(
    estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]
) -> float | None:
    """The value of a known model's parameter at which the first feature is about to enter; None for other models."""
    if isinstance(estimator, Pipeline):
        return strongest_value(
            estimator[-1], head_of(estimator).fit_transform(X, y), y, {}
        )
    problems = problems_of(estimator, X, y, fit_params.get("sample_weight"))
    if not problems:
        return None
    penalty = max(strongest_penalty(problem) for problem in problems)
    # If no feature is informative about y, rounding errors must not count as a signal.
    noise = max(
        np.finfo(float).eps * _largest_sum(p.X) * abs(p.rows.target).max()
        for p in problems
    )
    penalty = penalty if penalty > noise else 1.0
    return (
        penalty / problems[0].X.shape[0]
        if PARAMETERS[type(estimator)] == "alpha"
        else 1 / penalty
    )


def _largest_sum(X: Any) -> float:
    """Largest sum of the absolute values of a column, of some columns at a time."""
    if issparse(X):
        return float(abs(X).sum(axis=0).max())
    parts = (X[:, start : start + 100] for start in range(0, X.shape[1], 100))
    return max(float(np.abs(part).sum(axis=0).max()) for part in parts)


def path_of(
    estimator: Any,
    param_name: str,
    values: Any,
    X: Any,
    y: Any,
    fit_params: dict[str, Any],
    support_from: str = "used",
    *,
    weigh: bool = True,
) -> Iterator[Step]:
    """What an estimator selects at each of the values of a parameter, the strongest first.

    Without `weigh` importances may be left out, which nobody reads.
    """
    step, _, rest = param_name.partition("__")
    is_pipeline = isinstance(estimator, Pipeline)
    if is_pipeline and support_from == "selector":
        if isinstance(param_name, HeldName):
            raise ValueError(
                f"support_from must be 'used' along {param_name!r}, which takes all values in one fit: what a selector "
                "before the model keeps is the same for all of them"
            )
        return _fitted_path(
            estimator, param_name, values, X, y, fit_params, support_from
        )
    if is_pipeline and rest and step == estimator.steps[-1][0] and not fit_params:
        name = type(param_name)(rest)
        return _pipeline_path(estimator, name, values, X, y, weigh=weigh)
    if isinstance(param_name, HeldName):
        return steps_of_held_path(estimator, param_name, values, X, y, fit_params)
    if param_name == PARAMETERS.get(type(estimator)) and fit_params.keys() <= {
        "sample_weight"
    }:
        problems = separate_problems(
            estimator, X, y, values, fit_params.get("sample_weight")
        )
        if problems:
            penalties = penalties_of(estimator, problems, values)
            return _known_path(problems, penalties, weigh=weigh)
    return _fitted_path(estimator, param_name, values, X, y, fit_params)


def _known_path(
    problems: list[Problem], penalties: Floats, *, weigh: bool
) -> Iterator[Step]:
    scale = _scale(problems[0].X) if weigh else None
    for solutions in zip(
        *(screened_path(problem, penalties) for problem in problems), strict=True
    ):
        coefs = [solution.coef[: problems[0].n_features] for solution in solutions]
        weights = np.abs(coefs[0]) if len(coefs) == 1 else np.linalg.norm(coefs, axis=0)
        selected = weights.nonzero()[0]
        importances = None if scale is None else weights[selected] * scale[selected]
        yield Step(selected, importances)


def steps_of(path: FoundPath) -> Iterator[Step]:
    """The steps of a path that was followed together with others."""
    start = 0
    for end in path.ends:
        weights = np.abs(path.coefs[start:end]) * path.spreads[start:end]
        yield Step(path.places[start:end], weights)
        start = end


def _scale(X: Any) -> Floats:
    """Standard deviation of each column."""
    if not issparse(X):
        return np.asarray(X.std(axis=0))
    square, middle = (np.asarray(part.mean(axis=0)).ravel() for part in (X.power(2), X))
    return np.asarray(np.sqrt(np.maximum(square - middle**2, 0.0)))


def _pipeline_path(
    pipeline: Pipeline, param_name: str, values: Any, X: Any, y: Any, *, weigh: bool
) -> Iterator[Step]:
    """Path of the last step; the steps before it, which no value changes, are fitted once."""
    head = head_of(pipeline)
    X_last = head.fit_transform(X, y)
    columns = input_columns(head, X.shape[1], X)
    for selected, importances in path_of(
        pipeline[-1], param_name, values, X_last, y, {}, weigh=weigh
    ):
        yield Step(columns[selected], importances)


def _fitted_path(
    estimator: Any,
    param_name: str,
    values: Any,
    X: Any,
    y: Any,
    fit_params: dict[str, Any],
    support_from: str = "used",
) -> Iterator[Step]:
    estimator = clone(estimator)
    if type(estimator) in PARAMETERS and hasattr(estimator, "warm_start"):
        estimator.set_params(warm_start=True)
    for value in values:
        fitted(estimator.set_params(**{param_name: value}), X, y, **fit_params)
        chosen = selection_of(
            estimator, X, y, support_from=support_from, require_support=True
        )
        importances = chosen.importances
        yield Step(
            np.flatnonzero(chosen.used),
            None if importances is None else importances[chosen.used],
        )

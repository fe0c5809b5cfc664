"""Paths that an estimator holds in its coefficients: all values of a penalty from one fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skstab._linear_paths.linear_models import PARAMETERS
from skstab._pipelines import fitted
from skstab._statistics import column_deviations
from skstab.feature_selection._walk import Step
from skstab.runs import CoefPath, coef_path_of

__all__ = ["HeldName", "held_path", "is_known_model", "steps_of_held_path"]


class HeldName(str):
    """Name of a parameter that takes all values of a penalty at once."""

    __slots__ = ()


def is_known_model(estimator: Any) -> bool:
    """Whether it is known before the fit what regularises an estimator, or the last step of a pipeline."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return type(last) in PARAMETERS or hasattr(type(last), "feature_importances_")


def held_path(
    estimator: Any, param_name: str, X: Any, y: Any, fit_params: dict[str, Any]
) -> CoefPath | None:
    """Fit an estimator on all rows and return the path that it holds, where a reader knows one of that parameter."""
    is_pipeline = isinstance(estimator, Pipeline)
    prefix = f"{estimator.steps[-1][0]}__" if is_pipeline else ""
    if is_known_model(estimator) or not _may_be(estimator, param_name):
        return None
    held = fitted(clone(estimator), X, y, **fit_params)
    path = coef_path_of(held[-1] if is_pipeline else held)
    if path is None or param_name not in ("auto", f"{prefix}{path.param_name}"):
        return None
    return path._replace(param_name=HeldName(f"{prefix}{path.param_name}"))


def _may_be(estimator: Any, param_name: str) -> bool:
    # One number or word is a single value.
    return param_name == "auto" or not isinstance(
        estimator.get_params().get(param_name, 0), int | float | str
    )


def steps_of_held_path(
    estimator: Any,
    param_name: str,
    values: Any,
    X: Any,
    y: Any,
    fit_params: dict[str, Any],
) -> Iterator[Step]:
    """What an estimator selects at each of the values, all from one fit; it may stop before the last."""
    holder = clone(estimator).set_params(**{str(param_name): values})
    path = coef_path_of(fitted(holder, X, y, **fit_params))
    scale = column_deviations(X)
    for coef in np.abs([] if path is None else path.coefs):
        selected = np.flatnonzero(coef)
        yield Step(selected, coef[selected] * scale[selected])

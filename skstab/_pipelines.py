"""Estimators made of others: the steps of pipelines, the parts of unions and column transformers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

__all__ = ["class_name", "find_part", "fitted", "parts_of", "steps_of", "tags_of"]


def class_name(estimator: Any) -> str:
    """Return the name by which messages call an estimator."""
    return type(estimator).__name__


def fitted(estimator: Any, X: Any, y: Any, **params: Any) -> Any:
    """Fit an estimator and return it, whatever its `fit` returns."""
    estimator.fit(X, y, **params)
    return estimator


def tags_of(estimator: Any) -> Any:
    """Return the tags of scikit-learn that the estimator inside a meta-estimator has."""
    if not hasattr(estimator, "__sklearn_tags__"):
        # Not an AttributeError, around which scikit-learn would put its own text each time.
        raise TypeError(
            f"estimator must have the tags of a scikit-learn estimator: let {class_name(estimator)} inherit from "
            "sklearn.base.BaseEstimator"
        )
    return get_tags(estimator)


def steps_of(pipeline: Pipeline) -> list[tuple[str, Any]]:
    """Return the steps of a pipeline that do something; those of a pipeline inside are steps like any other."""
    steps: list[tuple[str, Any]] = []
    for name, step in pipeline.steps:
        if isinstance(step, Pipeline):
            steps += [(f"{name}__{inner}", part) for inner, part in steps_of(step)]
        elif step is not None and step != "passthrough":
            steps.append((name, step))
    return steps


def parts_of(step: Any) -> list[Any]:
    """Return the parts of a step that is made of named ones: a pipeline, a union, a column transformer."""
    for attribute in ("named_steps", "named_transformers_", "named_transformers"):
        if hasattr(step, attribute):
            return list(getattr(step, attribute).values())
    return []


def find_part(estimator: Any, holds: Callable[[Any], bool]) -> Any:
    """Find what a condition holds of: the estimator itself, one of its parts (the last one), or what it wraps."""
    if holds(estimator):
        return estimator
    inner = [
        getattr(estimator, name, None) for name in ("best_estimator_", "regressor_")
    ]
    parts = [
        *reversed(parts_of(estimator)),
        *(part for part in inner if part is not None),
    ]
    found = (find_part(part, holds) for part in parts)
    return next((part for part in found if part is not None), None)

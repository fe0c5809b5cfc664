"""Where the weights of a fitted estimator are.

`trace_of` follows an estimator through pipelines, selectors, wrappers and ensembles, and notes which
columns selectors kept and which models along the way may have weights, with the columns each of
them saw. The values that one such model gives are read and checked here too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skstab.model_selection._columns import (
    Take,
    View,
    class_name,
    columns_out,
    mask_of,
    selects_features,
    steps_of,
)

__all__ = [
    "Getter",
    "Source",
    "Trace",
    "as_rows",
    "asked_values",
    "inner_model",
    "known_width",
    "own_values",
    "trace_of",
]

Getter = str | Callable[..., Any]


class Source(NamedTuple):
    """A model that may have weights, the columns it saw and the data it saw."""

    model: Any
    columns: np.ndarray
    view: View
    getter: Getter = "auto"
    # Of the members of an ensemble; or of `model`, where a selector brought its own getter.
    traces: tuple[Trace, ...] = ()


class Trace(NamedTuple):
    """What selectors kept (None without any), and where weights are, the best place first."""

    n_features: int
    selected: np.ndarray | None
    sources: tuple[Source, ...]

    def inside(self, columns: np.ndarray, n_features: int) -> Trace:
        """Return the same in the wider space whose `columns` are this one's features."""
        selected = None if self.selected is None else columns[self.selected]
        sources = (s._replace(columns=columns[s.columns]) for s in self.sources)
        return Trace(n_features, selected, tuple(sources))


def trace_of(estimator: Any, n_features: int, view: View) -> Trace:
    """Trace a fitted estimator that takes `n_features` columns and saw the data of `view`."""
    if isinstance(estimator, Pipeline):
        return _trace_pipeline(estimator, n_features, view)
    if hasattr(estimator, "get_support"):
        return _trace_selector(estimator, n_features, view)
    if selects_features(estimator):
        return Trace(n_features, columns_out("estimator", estimator, n_features), ())
    if not _declares_weights(estimator):
        inner = inner_model(estimator, (n_features, None))
        if inner is not None:
            return trace_of(inner, n_features, view.towards(estimator))
    return _trace_model(estimator, n_features, view)


def _trace_pipeline(pipeline: Pipeline, n_features: int, view: View) -> Trace:
    columns, selects = np.arange(n_features), False
    sources: tuple[Source, ...] = ()
    steps = steps_of(pipeline)
    for position, (name, step) in enumerate(steps, start=1):
        if position == len(steps) and _is_model(step):
            last = trace_of(step, len(columns), view).inside(columns, n_features)
            selected = columns if selects and last.selected is None else last.selected
            return Trace(n_features, selected, last.sources + sources)
        selects = selects or selects_features(step)
        if hasattr(step, "get_support"):
            here = _trace_selector(step, len(columns), view)
            kept, sources = here.selected, here.inside(columns, n_features).sources + sources
            view = view.then(step, kept)
        else:
            kept, view = columns_out(name, step, len(columns)), view.then(step)
        columns = columns[kept]
    return Trace(n_features, columns if selects else None, sources)


def _trace_selector(selector: Any, n_features: int, view: View) -> Trace:
    every, selected = np.arange(n_features), np.flatnonzero(mask_of(selector, n_features))
    inner = inner_model(selector, (n_features, len(selected)))
    saw_all = (_own_width(selector) if inner is None else _width(inner)) in (None, n_features)
    columns, view = (every, view) if saw_all else (selected, view.then(selector, selected))
    if inner is None:
        return Trace(n_features, selected, (Source(selector, columns, view),))
    trace = trace_of(inner, len(columns), view)
    getter = getattr(selector, "importance_getter", "auto")
    if getter != "auto":
        source = Source(inner, columns, view, getter, (trace,))
        return Trace(n_features, selected, (source,))
    return Trace(n_features, selected, trace.inside(columns, n_features).sources)


def _trace_model(model: Any, n_features: int, view: View) -> Trace:
    """Trace a model with weights, or one whose members are copies of such a model."""
    traces = () if _declares_weights(model) else tuple(_trace_members(model, n_features, view))
    kept = [trace.selected for trace in traces]
    selects = bool(kept) and all(columns is not None for columns in kept)
    selected = np.unique(np.concatenate(kept)) if selects else None
    source = Source(model, np.arange(n_features), view, traces=traces)
    return Trace(n_features, selected, (source,))


def _trace_members(ensemble: Any, n_features: int, view: View) -> Iterable[Trace]:
    every = np.arange(n_features)
    members = _members(ensemble)
    subsets = getattr(ensemble, "estimators_features_", None)
    subsets = [every] * len(members) if subsets is None else subsets
    # A chain's members also see earlier outputs: those are not features of the input.
    if any(_width(m) not in (None, len(columns)) for m, columns in zip(members, subsets, strict=True)):
        return
    for member, columns in zip(members, subsets, strict=True):
        saw = view if np.array_equal(columns, every) else view.then(Take(columns), columns)
        yield trace_of(member, len(columns), saw).inside(columns, n_features)


def _members(ensemble: Any) -> list[Any]:
    """Fitted copies of the one model that an ensemble (or a multi-class wrapper) is made of."""
    if hasattr(ensemble, "calibrated_classifiers_"):
        return [member.estimator for member in ensemble.calibrated_classifiers_]
    # `estimators` (voting, stacking) are different models: their weights have no common scale.
    if not hasattr(ensemble, "estimator"):
        return []
    # A class that is always or never there has a constant in place of a model: no feature weighs in it.
    kind = object if ensemble.estimator is None else type(ensemble.estimator)
    return [member for member in getattr(ensemble, "estimators_", ()) if isinstance(member, kind)]


def inner_model(wrapper: Any, widths: tuple[int | None, ...]) -> Any:
    """Return the fitted model that a wrapper hands its features to, or None; `widths` are how many it may take."""
    for attribute in ("best_estimator_", "estimator_", "regressor_"):
        inner = getattr(wrapper, attribute, None)
        if inner is not None and _is_fitted(inner) and _width(inner) in widths:
            return inner
    return None


def _is_fitted(model: Any) -> bool:
    """Tell a model from the template that ensembles have as `estimator_`."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _is_model(step: Any) -> bool:
    """Tell a last step that is to be traced from one that only transforms."""
    return not hasattr(step, "transform") or hasattr(step, "predict") or hasattr(step, "best_estimator_")


def _declares_weights(model: Any) -> bool:
    # Looked up on the class, because a forest computes its importances each time they are read.
    names = ("coef_", "feature_importances_")
    own = getattr(model, "__dict__", {})
    return any(hasattr(type(model), name) or name in own for name in names)


def _width(estimator: Any) -> int | None:
    """Return the number of features a fitted estimator takes, or None where it is unknown."""
    if isinstance(estimator, Pipeline):
        steps = steps_of(estimator)
        return _width(steps[0][1]) if steps else None
    if hasattr(estimator, "n_features_in_"):
        return estimator.n_features_in_
    if hasattr(estimator, "get_support"):
        return len(estimator.get_support())
    return _own_width(estimator)


def _own_width(model: Any) -> int | None:
    _, values = _own(model)
    return None if values is None else np.shape(values)[-1]


def known_width(estimator: Any) -> int:
    """Return the number of features a fitted estimator takes."""
    width = _width(estimator)
    if width is None:
        raise ValueError(f"The number of features that {class_name(estimator)} takes is unknown.")
    return width


# --- The values that one model gives ---------------------------------------------------------


def asked_values(getter: Getter, estimator: Any, source: Source) -> tuple[Any, Any]:
    """Return what a getter other than "auto" gives and, if it is a `coef_`, the model it is of."""
    if isinstance(getter, str):
        return _follow(getter, (estimator, source.model))
    if not callable(getter):
        raise ValueError(f"importance_getter must be a string or a callable, got {getter!r}.")
    if _asks_for_data(getter):
        return getter(source.model, source.view.rows(), source.view.target()), None
    return getter(estimator), None


def _follow(path: str, starts: tuple[Any, ...]) -> tuple[Any, Any]:
    """Look an attribute path up; return its value and, if it is a `coef_`, the model it is of."""
    owner, _, name = path.rpartition(".")
    for start in starts:
        try:
            model = attrgetter(owner)(start) if owner else start
            return getattr(model, name), (model if name == "coef_" else None)
        except AttributeError:
            continue
    raise ValueError(
        f"importance_getter={path!r}: {' and '.join(dict.fromkeys(map(class_name, starts)))} has no such attribute."
    )


def _asks_for_data(getter: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(getter).parameters.values()
    except ValueError:  # operator.attrgetter and other callables written in C
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters if p.kind in positional and p.default is p.empty]
    return len(required) > 1


def own_values(model: Any) -> Any:
    """Return a model's own weights, else a selector's scores read as such, else None."""
    name, values = _own(model)
    return _finite_scores(values) if name == "scores_" else values


def _own(model: Any) -> tuple[str | None, Any]:
    """Name and value of the attribute that tells what a model thinks of its features."""
    for name in ("coef_", "feature_importances_"):
        values = getattr(model, name, None)
        if values is not None:
            return name, values
    scores = getattr(model, "scores_", None) if hasattr(model, "get_support") else None
    return ("scores_", scores) if isinstance(scores, np.ndarray) else (None, None)


def _finite_scores(scores: np.ndarray) -> np.ndarray:
    """Give 0 to a feature without a score, the best finite one to a perfect feature; count from the lowest below 0."""
    finite = np.isfinite(scores)
    best, worst = scores[finite].max(initial=0.0) or 1.0, scores[finite].min(initial=0.0)
    filled = np.nan_to_num(scores, nan=0.0, posinf=best, neginf=worst)
    # Less than nothing (ReliefF) is the least important, not important by its size; ranks and correlations stay.
    return filled - min(filled.min(initial=0.0), 0.0)


def as_rows(values: Any, getter: Getter, *widths: int) -> np.ndarray:
    """Check weights: a 2-D array of finite numbers with one of the widths."""
    values = values.toarray() if issparse(values) else values
    try:
        rows = np.atleast_2d(np.asarray(values, dtype=float))
    except (TypeError, ValueError) as error:
        raise ValueError(f"importance_getter={getter!r} did not return numbers.") from error
    if rows.ndim > 2 or rows.shape[1] not in widths:
        expected = " or ".join(str(width) for width in dict.fromkeys(widths))
        raise ValueError(
            f"importance_getter={getter!r} returned an array of shape {np.shape(values)}, but "
            f"the model saw {expected} features: expected (n_features,) or (n_rows, n_features)."
        )
    if not np.isfinite(rows).all():
        raise ValueError(f"importance_getter={getter!r} returned NaN or infinite importances.")
    return rows

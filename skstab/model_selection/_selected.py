"""What one fitted estimator selected, in the columns of its input.

The public reading of an estimator: it is first traced (`_trace`), and only then are weights taken
from the best place, scaled, and spread over the input's columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.cross_decomposition import CCA, PLSCanonical, PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    BayesianRidge,
    GammaRegressor,
    HuberRegressor,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    TheilSenRegressor,
    TweedieRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR, LinearSVR, NuSVC, NuSVR, OneClassSVM

from skstab.model_selection._columns import View, class_name, columns_out, spread, steps_of
from skstab.model_selection._trace import (
    Getter,
    Source,
    Trace,
    as_rows,
    asked_values,
    inner_model,
    known_width,
    own_values,
    trace_of,
)

__all__ = ["Selection", "last_step_of", "selection_of", "support_of", "why_no_support"]

# Their zeros are accidents of the data (a constant column), not a selection, so they must not
# be read as one. Models that are not listed are believed: a zero coefficient is a dropped feature.
_DENSE = (
    *(BayesianRidge, GammaRegressor, HuberRegressor, LinearRegression, PoissonRegressor, Ridge),
    *(RidgeClassifier, RidgeClassifierCV, RidgeCV, TheilSenRegressor, TweedieRegressor),
    *(SVC, SVR, LinearSVR, NuSVC, NuSVR, OneClassSVM, LinearDiscriminantAnalysis),
    *(CCA, PLSCanonical, PLSRegression),
)


class Selection(NamedTuple):
    """What one fitted estimator selected, in the columns of its input.

    Attributes
    ----------
    support : ndarray of bool of shape (n_features,) or None
        The selected features; None for a model that weighs every feature and drops none (ridge,
        L2-penalised logistic regression, a forest) and has no selector before it.
    importances : ndarray of float of shape (n_features,) or None
        Non-negative, zero outside the support; None for a selector without weights
        (`SequentialFeatureSelector`, `VarianceThreshold`).
    coef : ndarray of float of shape (n_features,) or None
        Signed weights of a linear model with one output, as fitted, zero outside the support.
    has_selector : bool
        Whether the support was chosen by a selector rather than by non-zero coefficients.
    """

    support: np.ndarray | None
    importances: np.ndarray | None
    coef: np.ndarray | None
    has_selector: bool


def selection_of(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    importance_getter: Getter = "auto",
    scale_importances: bool = True,
    zero_outside: bool = True,
) -> Selection:
    """Read what a fitted estimator selected.

    The estimator is a selector, a model with weights, a search or another wrapper that passes
    its input on to one fitted model (`best_estimator_`, `estimator_`, `regressor_`), an ensemble
    of copies of one model, or a `Pipeline` of such steps. A pipeline's steps before the last must
    select features (`get_support`) or pass them one to one.

    Parameters
    ----------
    estimator : object
        The fitted estimator.

    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows the estimator was fitted on. They are read only where importances need them, and
        may be None where they do not.

    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        The target; only an `importance_getter` that asks for data sees it.

    importance_getter : str or callable, default="auto"
        Where importances come from. "auto": the final model's `coef_`, else its
        `feature_importances_`; where it has neither or there is none, the same of the last
        selector's inner model, else the selector's `scores_`. Another string is an attribute
        path, looked up on `estimator`, then on its final model. A callable with at most one
        required positional parameter gets `estimator`; with more, it gets the final model and
        the `X` and `y` that model was fitted on, after the pipeline's earlier steps. The result
        has one value, or one column, for each feature that the final model saw (or each of the
        input's); several rows (classes, outputs) enter by their Euclidean norm.

    scale_importances : bool, default=True
        Whether importances that come from a `coef_` are multiplied by the standard deviation of
        each feature as the model saw it: they are then those of features of unit variance.

    zero_outside : bool, default=True
        Whether features outside the support have the importance 0, whatever the getter says.

    Returns
    -------
    selection : Selection
        The support, the importances and the signed weights.
    """
    view = View(X, y)
    n_features = known_width(estimator) if X is None else X.shape[1]
    trace = trace_of(estimator, n_features, view)
    selection = _resolve(estimator, trace, view, importance_getter, scale_importances)
    if zero_outside:
        selection = _zeroed(selection)
    if not selection.has_selector and selection.importances is None:
        raise ValueError(_why_nothing(trace.sources[0].model if trace.sources else estimator))
    return selection


def support_of(estimator: Any) -> np.ndarray | None:
    """Read the support of a fitted estimator without its data.

    Parameters
    ----------
    estimator : object
        The fitted estimator, as in `selection_of`.

    Returns
    -------
    support : ndarray of bool of shape (n_features,) or None
        The selected features; None where the estimator does not select.
    """
    trace = trace_of(estimator, known_width(estimator), View(None, None))
    return _support(trace, _linear(trace))


def last_step_of(estimator: Any) -> tuple[Any, np.ndarray, int]:
    """Find the last step of a pipeline, and the columns of the input that reach it.

    Parameters
    ----------
    estimator : object
        A fitted estimator; one that is not a `Pipeline` is its own last step.

    Returns
    -------
    last : object
        The last step, never itself a `Pipeline`.

    columns : ndarray of int of shape (n_features_at_last,)
        For each feature of the last step, its column in the input.

    n_features : int
        The number of features of the input.
    """
    n_features = known_width(estimator)
    columns = np.arange(n_features)
    *steps, (_, last) = steps_of(estimator) if isinstance(estimator, Pipeline) else [("estimator", estimator)]
    for name, step in steps:
        columns = columns[columns_out(name, step, len(columns))]
    return last, columns, n_features


def why_no_support(estimator: Any) -> str:
    """Say why an estimator has no support, and what to wrap it in.

    Parameters
    ----------
    estimator : object
        An estimator whose `Selection.support` is None.

    Returns
    -------
    message : str
        The text of an error.
    """
    name = class_name(_innermost(estimator))
    return (
        f"{name} does not select features: it gives no feature up, whatever its weights. Wrap it "
        f"in a selector, for instance SelectFromModel({name}(...)) or RFE({name}(...)), choose a "
        "model with an L1 penalty, or measure its weights or their ranking "
        '(measure="pearson", "spearman").'
    )


def _innermost(estimator: Any) -> Any:
    """Find the model that a selector could be wrapped around: inside pipelines, searches and other wrappers."""
    model = steps_of(estimator)[-1][1] if isinstance(estimator, Pipeline) else estimator
    inner = inner_model(model, (known_width(model), None))
    return model if inner is None else _innermost(inner)


# --- Weights ---------------------------------------------------------------------------------


class _Weights(NamedTuple):
    """Rows of weights over some columns, and the linear model they are the `coef_` of, if any."""

    rows: np.ndarray
    columns: np.ndarray
    view: View
    linear: Any = None


def _resolve(estimator: Any, trace: Trace, view: View, getter: Getter, scale: bool) -> Selection:
    if isinstance(getter, str) and getter == "auto":
        weights = _first_weights(trace, scale)
    else:
        weights = _asked_weights(estimator, trace, view, getter)
    linear = weights if weights is not None and weights.linear is not None else _linear(trace)
    support = _support(trace, linear)
    importances = _importances(weights, trace.n_features, scale)
    coef = None
    if linear is not None and len(linear.rows) == 1:
        coef = spread(linear.rows[0], linear.columns, trace.n_features)
    return Selection(support, importances, coef, trace.selected is not None)


def _zeroed(selection: Selection) -> Selection:
    for values in (selection.importances, selection.coef):
        if values is not None and selection.support is not None:
            values[~selection.support] = 0.0
    return selection


def _support(trace: Trace, linear: _Weights | None) -> np.ndarray | None:
    support = np.zeros(trace.n_features, dtype=bool)
    if trace.selected is not None:
        support[trace.selected] = True
        return support
    if linear is not None:
        support[linear.columns[linear.rows.any(axis=0)]] = True
        return support if _can_drop(linear.linear) else None
    # Without a selector there is one source; its members' masks are over the columns it saw.
    masks = [_support(t, _linear(t)) for s in trace.sources for t in s.traces]
    if not masks or any(mask is None for mask in masks):
        return None
    support[trace.sources[0].columns[np.logical_or.reduce(masks)]] = True
    return support


def _can_drop(model: Any) -> bool:
    """Tell whether a zero coefficient of this linear model means that it dropped the feature."""
    if isinstance(model, _DENSE):
        return bool(getattr(model, "positive", False))
    penalty = getattr(model, "penalty", "unknown")
    if penalty is None or (isinstance(penalty, str) and penalty in ("l1", "l2")):
        return penalty == "l1"
    # `l1_ratio_` is the one a cross-validated model chose, None where it had nothing to choose.
    ratio = getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0))
    return any(r is not None and r > 0 for r in np.ravel(ratio))


def _linear(trace: Trace) -> _Weights | None:
    """Return the coefficients of the final model, if it is linear."""
    if not trace.sources:
        return None
    source = trace.sources[0]
    coef = getattr(source.model, "coef_", None)
    if coef is None:
        return None
    rows = as_rows(coef, "auto", len(source.columns))
    return _Weights(rows, source.columns, source.view, linear=source.model)


def _first_weights(trace: Trace, scale: bool) -> _Weights | None:
    found = (_source_weights(source, scale) for source in trace.sources)
    return next((weights for weights in found if weights is not None), None)


def _source_weights(source: Source, scale: bool) -> _Weights | None:
    model, columns, view = source.model, source.columns, source.view
    if source.getter != "auto":
        weights = _asked_weights(model, source.traces[0], view, source.getter)
        return weights._replace(columns=columns[weights.columns])
    if source.traces:
        found = [_resolve(model, t, view, "auto", scale).importances for t in source.traces]
        if any(importances is None for importances in found):
            return None
        return _Weights(np.vstack(found), columns, view)
    values = own_values(model)
    if values is None:
        return None
    linear = model if getattr(model, "coef_", None) is not None else None
    return _Weights(as_rows(values, "auto", len(columns)), columns, view, linear)


def _asked_weights(estimator: Any, trace: Trace, view: View, getter: Getter) -> _Weights:
    """Read weights by an `importance_getter` other than "auto"."""
    every = np.arange(trace.n_features)
    source = trace.sources[0] if trace.sources else Source(estimator, every, view)
    values, linear = asked_values(getter, estimator, source)
    # A path may lead to a selector's inner model, which saw other columns than the final one.
    source = next((s for s in trace.sources if s.model is linear), source)
    rows = as_rows(values, getter, len(source.columns), trace.n_features)
    if rows.shape[1] == len(source.columns):
        return _Weights(rows, source.columns, source.view, linear)
    return _Weights(rows, every, view, linear)


def _importances(weights: _Weights | None, n_features: int, scale: bool) -> np.ndarray | None:
    if weights is None:
        return None
    rows = weights.rows
    values = np.abs(rows[0]) if len(rows) == 1 else np.linalg.norm(rows, axis=0)
    used = np.flatnonzero(values != 0)
    if scale and weights.linear is not None and len(used):
        # A sparse model used few columns: the others are not even looked at.
        columns = slice(None) if len(used) == len(values) else used
        values[columns] *= weights.view.deviations(columns)
        if not np.isfinite(values).all():
            raise ValueError("Importances can't be scaled: X has NaN or infinite values.")
    return spread(values, weights.columns, n_features)


def _why_nothing(estimator: Any) -> str:
    name = class_name(estimator)
    return (
        f"{name} has neither a support (get_support) nor weights (coef_, feature_importances_), "
        "so there is nothing to tell which features it selected. Put a selector before it in a "
        "Pipeline (SelectFromModel with a model that has weights, SelectKBest, "
        f"SequentialFeatureSelector({name}(...))), or pass importance_getter."
    )

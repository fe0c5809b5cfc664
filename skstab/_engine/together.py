"""Settings of one step that are fitted together: along a path, out of one elimination, or by the same scores.

The results are those of single fits, at the tolerance of the estimator where a path is followed and exactly otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
)
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import validate_data

from skstab._checks import is_int, is_number
from skstab._compat import check_own_parameters, squared_importances
from skstab._engine.shared_predictions import sharing_predictions
from skstab._linear_paths.least_squares import (
    models_on_reduced,
    prefers_reduced,
    reduced_rows,
)
from skstab._linear_paths.linear_models import PARAMETERS, LinearModels, linear_models
from skstab._typing import IntArray

__all__ = ["LastCall", "fit_together", "followed_parameters", "is_only_copied"]

# How many features are selected.
_SIZES = {RFE: "n_features_to_select", SelectKBest: "k", SelectPercentile: "percentile"}


def followed_parameters(step: Any) -> tuple[str, ...]:
    """Names of the parameters that are followed: settings that differ in nothing else are fitted together.

    An estimator may name them itself, `__skstab_followed__`, beside a method `__skstab_fit_each__(settings, X, y)` that
    returns a fitted copy for each dict of values.
    """
    if type(step) in _SIZES:
        return (_SIZES[type(step)],)
    if type(step) is SelectFromModel:
        known = (
            not step.prefit and step.max_features is None and _has_path(step.estimator)
        )
        return (f"estimator__{PARAMETERS[type(step.estimator)]}",) if known else ()
    own: tuple[str, ...] = getattr(step, "__skstab_followed__", ())
    return own or ((PARAMETERS[type(step)],) if _has_path(step) else ())


def _has_path(model: Any) -> bool:
    """Whether a model is known and its parameters are valid; where they are not, its own fit says so."""
    if type(model) not in PARAMETERS:
        return False
    try:
        check_own_parameters(model)
    except (TypeError, ValueError):
        return False
    return True


class LastCall:
    """The result of the last call, for the next one with the same objects: steps that differ share their rows."""

    def __init__(self) -> None:
        self.known: tuple[Any, ...] = ()
        self.result: Any = None

    def __call__(self, function: Callable[..., Any], *args: Any) -> Any:
        asked = (function, *args)
        if len(asked) != len(self.known) or any(
            a is not b for a, b in zip(asked, self.known, strict=True)
        ):
            self.known, self.result = asked, function(*args)
        return self.result


def is_only_copied(step: Any) -> bool:
    """Whether the models that are fitted together are copies of the step, which itself is left as it is."""
    return type(step) in PARAMETERS


def fit_together(
    step: Any,
    settings: Sequence[Mapping[str, Any]],
    X: Any,
    y: Any,
    fit_params: dict[str, Any],
    last: LastCall | None = None,
    found: LinearModels | None = None,
) -> list[Any] | None:
    """Fit a step with each setting of the parameters that it follows; None where that takes single fits.

    Parameters
    ----------
    step : estimator
        Not fitted.
    settings : sequence of dict
        Values of its parameters.
    X, y : array-like
        What it is fitted on.
    fit_params : dict
        Further parameters of `fit`.
    last : LastCall, default=None
        What calls for other steps on the same rows have left.
    found : LinearModels, default=None
        The models of a path, where it was followed together with those of other rows.

    Returns
    -------
    fitted : list of estimators or None
        One for each setting.
    """
    values = [
        value for setting in settings for value in setting.values()
    ]  # of steps that follow one parameter
    if type(step) in PARAMETERS or type(step) is SelectFromModel:
        known = fit_params.keys() <= {"sample_weight"}
        weight = fit_params.get("sample_weight")
        return (
            _fit_path(step, values, X, y, weight, last or LastCall(), found)
            if known
            else None
        )
    if fit_params:
        return None
    if type(step) in (SelectKBest, SelectPercentile):
        return _fit_filter(step, values, X, y)
    if type(step) is RFE:
        return (
            _fit_rfe(step, values, X, y)
            if all(_is_size(value, X.shape[1]) for value in values)
            else None
        )
    fitted: list[Any] | None = step.__skstab_fit_each__(settings, X, y)
    return fitted


# -- paths of sparse models --------------------------------------------------------------------------------------------


def _fit_path(
    step: Any,
    values: Sequence[Any],
    X: Any,
    y: Any,
    sample_weight: Any,
    last: LastCall,
    found: LinearModels | None,
) -> list[Any] | None:
    model = step.estimator if type(step) is SelectFromModel else step
    if y is None or (
        is_classifier(model) and len(np.unique(y)) < 2
    ):  # an error, which the model words itself
        return None
    if found is not None:
        pass
    elif prefers_reduced(model, X, sample_weight):
        found = models_on_reduced(
            model, last(reduced_rows, X, y, model.fit_intercept), values
        )
    else:
        found = linear_models(model, X, y, values, sample_weight=sample_weight)
    if found is None:
        return None
    is_flat = np.ndim(y) == 1
    make = partial(_linear_model, _template(model, X, y), values, found, is_flat)
    if model is step and found.coefs.shape[1] == 1 and is_flat:
        return sharing_predictions(make, found.coefs[:, 0], found.intercepts[:, 0])
    models = [make(place) for place in range(len(values))]
    return models if model is step else [_selector(step, fitted) for fitted in models]


def _template(model: Any, X: Any, y: Any) -> Any:
    """Return a copy with what its fits have in common."""
    fitted = copy(model)
    validate_data(fitted, X, skip_check_array=True)
    if is_classifier(model):
        fitted.classes_ = np.unique(y)
    return fitted


def _linear_model(
    template: Any,
    values: Sequence[float],
    found: LinearModels,
    is_flat: bool,
    place: int,
) -> Any:
    """A fitted model with the coefficients of one value, in the shapes that a fit gives them."""
    fitted = copy(template)
    setattr(fitted, PARAMETERS[type(template)], values[place])
    coef, intercept, n_iter = (
        found.coefs[place],
        found.intercepts[place],
        found.n_iter[place],
    )
    if hasattr(template, "classes_"):
        fitted.coef_, fitted.intercept_ = coef, intercept
        fitted.n_iter_ = (
            n_iter.astype(np.int32)
            if type(template) is LogisticRegression
            else int(n_iter.max())
        )
    else:
        fitted.coef_, fitted.dual_gap_, fitted.n_iter_ = (
            coef,
            found.gaps[place],
            n_iter.tolist(),
        )
        if len(coef) == 1:
            fitted.coef_, fitted.dual_gap_, fitted.n_iter_ = (
                coef[0],
                fitted.dual_gap_[0],
                fitted.n_iter_[0],
            )
        fitted.intercept_ = intercept[0] if is_flat else intercept
    if not (template.fit_intercept or getattr(template, "solver", None) == "saga"):
        fitted.intercept_ = 0.0
    return fitted


def _selector(selector: SelectFromModel, model: Any) -> SelectFromModel:
    fitted = copy(selector)
    fitted.estimator = (
        model  # with the value of this sibling; as good as one that is not fitted
    )
    fitted.estimator_ = model
    if hasattr(model, "feature_names_in_"):
        fitted.feature_names_in_ = model.feature_names_in_
    return fitted


# -- filters -----------------------------------------------------------------------------------------------------------


def _fit_filter(step: Any, values: Sequence[Any], X: Any, y: Any) -> list[Any] | None:
    """Score the features once: how many are selected is asked afterwards."""
    if not all(_is_number_of(step, value, X.shape[1]) for value in values):
        return None
    scored = step.set_params(**{_SIZES[type(step)]: values[0]}).fit(X, y)
    fitted = [copy(scored) for _ in values]
    for selector, value in zip(fitted, values, strict=True):
        setattr(selector, _SIZES[type(step)], value)
    return fitted


def _is_number_of(step: Any, value: Any, n_features: int) -> bool:
    if type(step) is SelectPercentile:
        return is_number(value, least=0, most=100)
    return is_int(value, 0, n_features) or (isinstance(value, str) and value == "all")


# -- recursive elimination ---------------------------------------------------------------------------------------------


def _is_size(value: Any, n_features: int) -> bool:
    fraction = not is_int(value) and is_number(value, above=0, most=1)
    return value is None or fraction or is_int(value, 1, n_features)


def _fit_rfe(rfe: RFE, values: Sequence[Any], X: Any, y: Any) -> list[RFE]:
    """Eliminate once: a selector of k features stops within the round that passes k."""
    fitted = [copy(rfe) for _ in values]
    for selector, value in zip(fitted, values, strict=True):
        selector.n_features_to_select = value
        rows, target = validate_data(
            selector,
            X,
            y,
            accept_sparse="csc",
            ensure_min_features=2,
            ensure_all_finite=False,
            multi_output=True,
        )
    n_features = rows.shape[1]
    sizes = [_size(value, n_features) for value in values]
    rounds = _eliminate(rfe, min(sizes), rows, target)
    for selector, size in zip(fitted, sizes, strict=True):
        _finish(selector, size, rounds, rows, target)
    return fitted


def _size(value: Any, n_features: int) -> int:
    return (
        n_features // 2
        if value is None
        else int(value)
        if is_int(value)
        else int(n_features * value)
    )


def _eliminate(rfe: RFE, least: int, X: Any, y: Any) -> list[IntArray]:
    """The features of each round, the least important first; those that no round dropped are the last entry."""
    n_features = X.shape[1]
    step = int(max(1, rfe.step * n_features)) if 0 < rfe.step < 1 else int(rfe.step)
    left, rounds = np.arange(n_features), []
    while len(left) > least:
        model = clone(rfe.estimator).fit(X[:, left], y)
        ranked = left[
            np.ravel(
                np.argsort(
                    squared_importances(model, rfe.importance_getter), kind="stable"
                )
            )
        ]
        rounds.append(ranked)
        left = np.sort(ranked[min(step, len(left) - least) :])
    return [*rounds, left]


def _finish(selector: RFE, size: int, rounds: list[IntArray], X: Any, y: Any) -> None:
    """Fit the final model of a selector on the features that are left when there are `size` of them."""
    support, ranking = np.ones(X.shape[1], dtype=bool), np.ones(X.shape[1], dtype=int)
    for ranked, left in pairwise(rounds):
        if support.sum() <= size:
            break
        support[ranked[: min(len(ranked) - len(left), len(ranked) - size)]] = False
        ranking[~support] += 1
    selector.support_, selector.ranking_, selector.n_features_ = (
        support,
        ranking,
        support.sum(),
    )
    selector.estimator_ = clone(selector.estimator).fit(
        X[:, np.flatnonzero(support)], y
    )

"""The values that one model gives to the features it saw: found, brought into rows, and checked.

Coefficients count by their size. Importances, scores and what a reader gives count with their sign: a feature below
zero is less important than one of zero.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import issparse

from skstab._pipelines import class_name
from skstab._typing import FloatArray
from skstab.runs._readers import read_by_readers
from skstab.runs._view import UnreadableError, View

__all__ = [
    "Getter",
    "asked_values",
    "coef_rows",
    "declares_weights",
    "given_rows",
    "has_values",
    "own_rows",
    "own_width",
]

Getter: TypeAlias = str | Callable[..., Any]


class Asked(NamedTuple):
    """What a getter gives, whether it counts with its sign and, if it is a `coef_`, the model it is of."""

    values: Any
    signed: bool
    linear: Any = None

    def rows(self, getter: Getter, *widths: int) -> FloatArray:
        """Return the values as rows of one of the widths."""
        rows = as_rows(self.values, f"importance_getter={getter!r}", *widths)
        return _from_zero(rows) if self.signed else rows


# -- what a model says of itself ---------------------------------------------------------------------------------------


def declares_weights(model: Any) -> bool:
    """Whether a model has weights of its own."""
    own = getattr(model, "__dict__", {})
    if "coef_" in own or "feature_importances_" in own or hasattr(type(model), "coef_"):
        return True
    # Looked up on the class, because a forest computes its importances each time they are read. Those of an ensemble
    # of any model (AdaBoost) exist only where its members have some.
    if not hasattr(type(model), "feature_importances_"):
        return False
    members = own.get("estimators_")
    if not (hasattr(model, "estimator") and isinstance(members, list) and members):
        return True
    return hasattr(type(members[0]), "feature_importances_")


def own_rows(model: Any, n_features: int) -> FloatArray | None:
    """Return the importances of a model, else a selector's scores, counted from zero; None for none."""
    name, values = _own(model)
    if name is None:
        return None
    what = f"{class_name(model)}.{name}"
    values = _finite_scores(values) if name == "scores_" else _by_names(values, model)
    return _from_zero(as_rows(values, what, n_features))


def own_width(model: Any) -> int | None:
    """Return the number of features that a model has weights for, or None where it has none."""
    _, values = _own(model)
    return None if values is None else np.shape(values)[-1]


def _own(model: Any) -> tuple[str | None, Any]:
    """Name and value of the attribute in which a model weighs its features."""
    for name in ("coef_", "feature_importances_"):
        values = _attribute(model, name)
        if values is not None:
            return name, values
    scores = getattr(model, "scores_", None) if hasattr(model, "get_support") else None
    # Scores of what was selected alone may be in any order.
    is_of_all = isinstance(scores, np.ndarray) and (
        scores.shape[-1:] == np.shape(model.get_support())
    )
    return ("scores_", scores) if is_of_all else (None, None)


def has_values(model: Any, name: str) -> bool:
    """Whether an attribute is there and can be computed."""
    return _attribute(model, name) is not None


def _attribute(model: Any, name: str) -> Any:
    try:
        return getattr(model, name, None)
    except (
        NotImplementedError
    ):  # a survival forest inherits importances that it cannot compute
        return None


def coef_rows(model: Any, n_features: int, read: Any = None) -> FloatArray | None:
    """Return the coefficients of a linear model, one column per feature; None for another model."""
    if read is not None and read.coef is not None:
        return as_rows(
            read.coef,
            f"the coef that a reader returns for {class_name(model)}",
            n_features,
        )
    coef = _attribute(model, "coef_")
    if coef is None:
        return None
    shape = np.shape(coef)
    if (
        len(shape) == 2
        and shape[0] == n_features != 1
        and not _has_rows_of_outputs(model, shape)
    ):
        raise UnreadableError(
            f"{class_name(model)}.coef_ has shape {shape}, of which the first axis may be the {n_features} features: "
            "register a reader that says how it is to be read (skstab.runs.register_reader)"
        )
    return as_rows(coef, f"{class_name(model)}.coef_", n_features)


def _has_rows_of_outputs(model: Any, shape: tuple[int, ...]) -> bool:
    """Whether the kind of the model says that a square `coef_` has one row per output, as all of scikit-learn's."""
    homes = [kind.__module__ for kind in type(model).__mro__]
    bases = ("sklearn.base", "sklearn.utils")
    return shape[0] == shape[1] and any(
        h.startswith("sklearn.") and not h.startswith(bases) for h in homes
    )


def given_rows(importances: Any, who: Any, n_features: int) -> FloatArray:
    """Return the importances that a reader gave."""
    what = f"the importances that a reader returns for {class_name(who)}"
    return _from_zero(as_rows(_by_names(importances, who), what, n_features))


def _by_names(values: Any, model: Any) -> Any:
    """Bring values that are labelled by the names of the features into their order."""
    names = getattr(model, "feature_names_in_", None)
    if (
        names is None
        or not (hasattr(values, "reindex") and hasattr(values, "index"))
        or np.ndim(values) != 1
    ):
        return values
    # More labels than features are those of probes, which features are compared with.
    return values.reindex(list(names)) if set(names) <= set(values.index) else values


def _finite_scores(scores: FloatArray) -> FloatArray:
    """Give 0 to a feature without a score, the best finite one to a perfect feature."""
    finite = np.isfinite(scores)
    if finite.all():
        return scores
    best, worst = (
        scores[finite].max(initial=0.0) or 1.0,
        scores[finite].min(initial=0.0),
    )
    return np.asarray(np.nan_to_num(scores, nan=0.0, posinf=best, neginf=worst))


def _from_zero(values: FloatArray) -> FloatArray:
    """Count from the lowest value where that is below 0."""
    # Less than nothing (ReliefF) is the least important, not important by its size; ranks and correlations stay.
    return np.asarray(values - min(values.min(initial=0.0), 0.0))


# -- what the user asks for --------------------------------------------------------------------------------------------


def asked_values(getter: Getter, estimator: Any, model: Any, view: View) -> Asked:
    """Return what a getter other than "auto" gives for an estimator, or for the model inside that saw the data."""
    if isinstance(getter, str):
        return _followed(getter, (estimator, model))
    if not callable(getter):
        raise ValueError(
            f"importance_getter must be a string or a callable, got {getter!r}"
        )
    values = (
        getter(model, *view.data()) if _asks_for_data(getter) else getter(estimator)
    )
    return Asked(_by_names(values, model), is_signed(getter))


def is_signed(getter: Any) -> bool:
    """Whether a getter is marked as one whose negative values are unimportant; a partial one as its function."""
    return bool(
        getattr(
            getter, "signed", getattr(getattr(getter, "func", None), "signed", False)
        )
    )


def _followed(path: str, starts: tuple[Any, Any]) -> Asked:
    """Look an attribute path up on the estimator, then on its model."""
    owner, _, name = path.rpartition(".")
    for start in starts:
        try:
            model = attrgetter(owner)(start) if owner else start
            values = getattr(model, name)
        except AttributeError:
            continue
        if name != "coef_":
            return Asked(
                _by_names(values, model), name in ("feature_importances_", "scores_")
            )
        read = read_by_readers(model)
        return Asked(
            values if read is None or read.coef is None else read.coef, False, model
        )
    raise ValueError(
        f"importance_getter={path!r}: {' and '.join(dict.fromkeys(map(class_name, starts)))} has no such attribute"
    )


def _asks_for_data(getter: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(getter).parameters.values()
    except ValueError:  # operator.attrgetter and other callables written in C
        return False
    positional = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    required = [p for p in parameters if p.kind in positional and p.default is p.empty]
    return len(required) > 1


def as_rows(values: Any, what: str, *widths: int) -> FloatArray:
    """Check weights: a 2-D array of finite numbers with one of the widths."""
    values = values.toarray() if issparse(values) else values
    try:
        rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise UnreadableError(f"{what} did not return numbers") from error
    if rows.ndim > 2 or rows.shape[1] not in widths:
        expected = " or ".join(str(width) for width in dict.fromkeys(widths))
        raise UnreadableError(
            f"{what} returned an array of shape {np.shape(values)}, but the model saw {expected} features: expected "
            "(n_features,) or (n_rows, n_features)"
        )
    if not np.isfinite(rows).all():
        raise UnreadableError(f"{what} returned NaN or infinite importances")
    return rows

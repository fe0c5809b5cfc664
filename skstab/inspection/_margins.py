"""Decisions of any classifier on changed rows, and by how much each is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_regressor

from skstab._pipelines import class_name
from skstab._typing import FloatArray, IntArray

__all__ = ["Margins", "decisions_of", "margins_of", "predicted_margins"]


_SAMPLE = 256  # rows that show whether values are smooth
_NUDGE = 1e-4  # standard deviations: smooth values change with it

# From changed rows, and the indices of the original rows, to values below 0 where the decision has changed.
Margins = Callable[[FloatArray, IntArray], FloatArray]
Columns = Callable[[Any], FloatArray]


def decisions_of(model: Any, X: Any) -> NDArray[Any]:
    """Return the class of each row."""
    has_tags = hasattr(model, "__sklearn_tags__")
    if not hasattr(model, "predict") or (has_tags and is_regressor(model)):
        raise ValueError(
            f"model must be a classifier, whose decisions can flip, got {class_name(model)}"
        )
    decisions = np.asarray(model.predict(_named(model, X)))
    if decisions.ndim != 1:
        raise ValueError(
            f"model must decide on one class for each row, {class_name(model)} decides on several"
        )
    return decisions


def margins_of(
    model: Any, X: Any, units: FloatArray, decisions: NDArray[Any]
) -> tuple[Margins, bool]:
    """Return the margins of changed rows, and whether they are smooth."""
    columns = _columns_of(model)
    smooth = columns is not None and _is_smooth(columns, X, units)
    # Shares of votes or leaves are no better than decisions: they change in steps, and ties are frequent.
    if columns is None or not (smooth or hasattr(model, "decision_function")):
        return predicted_margins(model, decisions), False
    chosen = _chosen_columns(model, columns(X), decisions)
    if chosen is None:
        return predicted_margins(model, decisions), False
    return lambda changed, rows: _lead(columns(changed), chosen[rows]), smooth


def predicted_margins(model: Any, decisions: NDArray[Any]) -> Margins:
    """Return margins of 1 and -1 by `predict`."""
    return lambda changed, rows: np.where(
        model.predict(_named(model, changed)) == decisions[rows], 1.0, -1.0
    )


def _columns_of(model: Any) -> Columns | None:
    """Return the function from rows to one value for each class, None if the model has none."""
    if hasattr(model, "decision_function"):
        return lambda rows: _decision_values(model, rows)
    if hasattr(model, "predict_proba"):
        return lambda rows: _log_probabilities(model, rows)
    return None


def _decision_values(model: Any, X: Any) -> FloatArray:
    values = np.array(model.decision_function(_named(model, X)), dtype=np.float64)
    return np.column_stack([-values, values]) if values.ndim == 1 else values


def _log_probabilities(model: Any, X: Any) -> FloatArray:
    shares = np.asarray(model.predict_proba(_named(model, X)), dtype=np.float64)
    return np.log(np.maximum(shares, np.finfo(float).tiny))


def _is_smooth(columns: Columns, X: Any, units: FloatArray) -> bool:
    """Tell whether values change with the rows, rather than in steps as those of trees do."""
    rows = X[:_SAMPLE].toarray() if issparse(X) else X[:_SAMPLE]
    changes = (columns(rows) != columns(rows + _NUDGE * units)).any(axis=1)
    return bool(changes.mean() > 0.5)


def _chosen_columns(
    model: Any, columns: FloatArray, decisions: NDArray[Any]
) -> IntArray | None:
    """Return the class with the largest value, or None if the model does not decide by it."""
    labels = np.asarray(
        getattr(model, "classes_", (-1, 1))
    )  # outlier detectors have no classes_
    if columns.shape[1] != len(labels):
        return None
    chosen = columns.argmax(axis=1)
    return chosen if np.array_equal(labels[chosen], decisions) else None


def _lead(columns: FloatArray, chosen: IntArray) -> FloatArray:
    """By how much the chosen class leads the best other one."""
    own = np.take_along_axis(columns, chosen[:, None], axis=1)[:, 0]
    np.put_along_axis(columns, chosen[:, None], -np.inf, axis=1)
    return np.asarray(own - columns.max(axis=1))


def _named(model: Any, X: Any) -> Any:
    """Give columns the names that the model was fitted with, if any: it would warn without them."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or issparse(X):
        return X
    from pandas import DataFrame

    return DataFrame(X, columns=names, copy=False)

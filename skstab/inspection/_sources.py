"""What displays are drawn from: fitted runs, tables and the names of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstab.model_selection import StabilityCV
from skstab.model_selection._scorers import find_runs


def fitted_runs(estimator: Any) -> StabilityCV:
    """Return the fitted `StabilityCV` that an estimator is or holds."""
    runs = find_runs(estimator)
    if runs is None:
        raise TypeError(f"estimator must be a fitted StabilityCV or hold one, got {type(estimator).__name__}")
    check_is_fitted(runs)
    return runs


def names_of(source: Any, n_features: int, feature_names: Any = None) -> np.ndarray:
    """Names of the features: those given, those of an estimator's input or of a data frame, or x0, x1 and so on."""
    if feature_names is None:
        feature_names = getattr(source, "feature_names_in_", getattr(source, "columns", None))
    if feature_names is None:
        feature_names = [f"x{number}" for number in range(n_features)]
    names = np.empty(len(feature_names), dtype=object)
    names[:] = list(feature_names)
    if len(names) != n_features:
        raise ValueError(f"feature_names must be {n_features} names, one for each column, got {len(names)}")
    return names


def check_mask(mask: Any, name: str, n_features: int) -> np.ndarray | None:
    """Check a mask of features, or None."""
    if mask is None:
        return None
    checked = np.asarray(mask)
    if checked.dtype != bool or checked.shape != (n_features,):
        raise ValueError(f"{name} must be {n_features} booleans, one for each feature, got {mask!r}")
    return checked


def by_name(source: Any, default: str) -> dict[str, Any]:
    """Return several things by name as they are, and a single one under a default name."""
    if not isinstance(source, Mapping):
        return {default: source}
    if not source:
        raise ValueError("a dict must hold at least one entry by name, got an empty one")
    return dict(source)


def most_frequent(counts: Any, *tie_breakers: Any) -> np.ndarray:
    """Columns in decreasing order of their counts, then of the tie breakers, then as they stand."""
    return np.lexsort([-np.asarray(key) for key in (*reversed(tie_breakers), counts)])

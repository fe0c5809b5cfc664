"""What displays are drawn from: fitted runs, tables and the names of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstab._checks import naming
from skstab._matrices import as_masks
from skstab._pipelines import find_part
from skstab.model_selection import StabilityCV
from skstab.runs import Runs


def fitted_cv(estimator: Any) -> StabilityCV | None:
    """Return the fitted `StabilityCV` that an estimator is or contains."""
    found: StabilityCV | None = find_part(
        estimator, lambda part: isinstance(part, StabilityCV)
    )
    if found is not None:
        check_is_fitted(found)
    return found


def runs_of(source: Any, name: str = "estimator") -> Runs:
    """Return the runs that a source is or contains."""
    if isinstance(source, Runs):
        return source
    if isinstance(getattr(source, "runs_", None), Runs):
        return source.runs_  # type: ignore[no-any-return]
    found = fitted_cv(source)
    if found is None:
        raise TypeError(
            f"{name} must be Runs, a fitted StabilityCV or contain one, got {type(source).__name__}"
        )
    return found.runs_


def as_runs(source: Any, *, feature_names: Any = None, name: str = "supports") -> Runs:
    """Return the runs that a source is or contains; otherwise it is a table of supports."""
    if isinstance(source, Runs) or hasattr(source, "runs_"):
        return runs_of(source, name)
    masks = as_masks(source, name)
    return Runs(masks, feature_names=names_of(source, masks.shape[1], feature_names))


def names_of(source: Any, n_features: int, feature_names: Any = None) -> np.ndarray:
    """Names of the features: those given, those of an estimator's input or of a data frame, or x0, x1 and so on."""
    if feature_names is None:
        feature_names = getattr(
            source, "feature_names_in_", getattr(source, "columns", None)
        )
    if feature_names is None:
        feature_names = [f"x{number}" for number in range(n_features)]
    with naming("feature_names"):
        listed = list(feature_names)
    names = np.empty(len(listed), dtype=object)
    names[:] = listed
    if len(names) != n_features:
        raise ValueError(
            f"feature_names must be {n_features} names, one for each column, got {len(names)}"
        )
    return names


def check_mask(mask: Any, name: str, n_features: int) -> np.ndarray | None:
    """Check a mask of features, or None."""
    if mask is None:
        return None
    with naming(name):
        checked = np.asarray(mask)
    if checked.dtype != bool or checked.shape != (n_features,):
        raise ValueError(
            f"{name} must be {n_features} booleans, one for each feature, got {mask!r}"
        )
    return checked


def by_name(source: Any, default: str, name: str) -> dict[str, Any]:
    """Return a dict as it is, and a single object under a default name."""
    if not isinstance(source, Mapping):
        return {default: source}
    if not source:
        raise ValueError(
            f"{name} must hold at least one entry by name where it is a dict, got an empty one"
        )
    return dict(source)


def most_frequent(counts: Any, *tie_breakers: Any) -> np.ndarray:
    """Columns in decreasing order of their counts, then of the tie breakers, then in the given order."""
    return np.lexsort([-np.asarray(key) for key in (*reversed(tie_breakers), counts)])


def supports_of(source: Any) -> tuple[Runs, Any]:
    """Return the runs that a source is or contains, at least two of them, with the table of what they selected."""
    runs = runs_of(source, "runs")
    if len(runs) < 2:
        raise ValueError(f"runs must hold at least 2 runs, got {len(runs)}")
    return runs, runs.table_for("nogueira")


def check_comparison(comparison: Any) -> None:
    """Check that an argument is a comparison of selectors."""
    if not (hasattr(comparison, "runs") and hasattr(comparison, "measure")):
        raise TypeError(
            f"comparison must be what compare_selectors returned, got {comparison!r}"
        )

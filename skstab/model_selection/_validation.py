"""What is checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skstab._checks import (
    SUPPORT_FROM,
    check_parameters,
    is_bool,
    is_estimator,
    is_int,
    is_number,
    is_real,
    naming,
)
from skstab._compat import as_indexable
from skstab._random import random_parameters
from skstab.model_selection._resampling import is_labelled


def check_stability_cv(estimator: Any) -> None:
    """Check what no other code would check, each with what was expected."""
    check_parameters(
        estimator,
        {
            "estimator": ("an estimator with fit and get_params", is_estimator),
            "support": (
                "'refit' or 'consensus'",
                lambda value: value in ("refit", "consensus"),
            ),
            "support_from": SUPPORT_FROM,
            "threshold": (
                "a number above 0 and at most 1",
                lambda value: is_number(value, above=0, most=1),
            ),
            "importance_getter": (
                "a string or a callable",
                lambda value: isinstance(value, str) or callable(value),
            ),
            "perturb": (
                "None, 'seed' or a positive number",
                lambda value: (
                    value is None or value == "seed" or is_number(value, above=0)
                ),
            ),
            "error_score": (
                "'raise' or a number",
                lambda value: value == "raise" or is_real(value),
            ),
            "target_width": (
                "None or a positive number",
                lambda value: value is None or is_number(value, above=0),
            ),
            "scale_importances": ("a bool", is_bool),
            "warm_start": ("a bool", is_bool),
            "return_estimators": ("a bool", is_bool),
        },
    )
    if estimator.return_estimators and estimator.checkpoint is not None:
        raise ValueError(
            "return_estimators=True needs checkpoint=None, since a checkpoint does not store estimators"
        )
    if estimator.perturb == "seed" and not random_parameters(
        estimator.estimator, everywhere=True
    ):
        raise ValueError(
            "perturb='seed' needs an estimator with a random_state, else all runs are the same; "
            f"{type(estimator.estimator).__name__} has none"
        )


def check_stability_search(search: Any) -> None:
    """Check what no other code would check, each with what was expected."""
    check_parameters(
        search,
        {
            "estimator": ("an estimator with fit and get_params", is_estimator),
            "param_grid": ("a dict or a list of dicts", _is_grid),
            "support_from": SUPPORT_FROM,
            "n_iter": (
                "None or an int of at least 1",
                lambda value: value is None or is_int(value, 1),
            ),
            "n_pairs": ("0 or an int of at least 3", _is_number_of_pairs),
            "refit": (
                "a string or a callable",
                lambda value: isinstance(value, str) or callable(value),
            ),
            "error_score": (
                "'raise' or a number",
                lambda value: value == "raise" or is_real(value),
            ),
        },
    )


def _is_number_of_pairs(value: Any) -> bool:
    return is_int(value, 0) and value not in (1, 2)


def check_number_of_pairs(n_pairs: Any) -> None:
    """Check that no pairs of halves are wanted, or enough of them to be compared."""
    if not _is_number_of_pairs(n_pairs):
        raise ValueError(f"n_pairs must be 0 or an int of at least 3, got {n_pairs!r}")


def _is_grid(value: Any) -> bool:
    grids = value if isinstance(value, list | tuple) else [value]
    return bool(grids) and all(isinstance(grid, Mapping) for grid in grids)


def read_data(X: Any, y: Any, *, needs_classes: bool) -> tuple[Any, Any]:
    """Return data whose rows can be taken, checked for something to resample and something to select from."""
    X, y = as_indexable(X, y)
    check_rows(X, y, needs_classes=needs_classes)
    return X, y


def check_estimator(estimator: Any) -> None:
    """Check an argument that is not a parameter of an object."""
    if not is_estimator(estimator):
        raise ValueError(
            f"estimator must be an estimator with fit and get_params, got {estimator!r}"
        )


def check_rows(X: Any, y: Any, *, needs_classes: bool) -> None:
    """Check that there is something to resample, and something to select from."""
    if len(X.shape) != 2:
        raise ValueError(
            f"X must be a 2D array of rows and features, got one of shape {X.shape}"
        )
    if X.shape[1] == 0:
        raise ValueError(
            f"X must have features to select: found 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    if X.shape[0] < 2:
        raise ValueError(
            f"X must have at least 2 rows to resample, got n_samples={X.shape[0]}"
        )
    with naming("y"):
        has_one_class = (
            needs_classes and is_labelled(y) and len(np.unique(np.asarray(y))) < 2
        )
    if has_one_class:
        raise ValueError(
            "y must have at least 2 classes to select features by, got one class"
        )

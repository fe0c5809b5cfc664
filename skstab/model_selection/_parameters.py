"""What `StabilityCV` checks before it runs anything."""

from __future__ import annotations

from hashlib import blake2b
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import type_of_target

from skstab.model_selection._runs import random_parameters
from skstab.model_selection._split import BootstrapSplit, WholeSampleSplit

N_RUNS = 50


def check_parameters(estimator: Any) -> None:
    """Check what no other code would check, each with what was expected."""
    expected = {
        "estimator": ("an estimator with fit and get_params", _is_estimator),
        "support": ("'refit' or 'consensus'", lambda value: value in ("refit", "consensus")),
        "threshold": ("a number above 0 and at most 1", lambda value: _is_number(value) and 0 < value <= 1),
        "importance_getter": ("a string or a callable", lambda value: isinstance(value, str) or callable(value)),
        "perturb": (
            "None, 'seed' or a positive number",
            lambda value: value is None or value == "seed" or (_is_number(value) and 0 < value < np.inf),
        ),
        "error_score": ("'raise' or a number", lambda value: value == "raise" or _is_number(value)),
        "target_width": (
            "None or a positive number",
            lambda value: value is None or (_is_number(value) and 0 < value < np.inf),
        ),
        "n_jobs": ("None or an int other than 0", lambda value: value is None or (_is_int(value) and value != 0)),
        "verbose": ("an int of at least 0", lambda value: _is_bool(value) or (_is_int(value) and value >= 0)),
        "scale_importances": ("a bool", _is_bool),
        "warm_start": ("a bool", _is_bool),
        "return_estimators": ("a bool", _is_bool),
    }
    for name, (what, holds) in expected.items():
        value = getattr(estimator, name)
        if not holds(value):
            raise ValueError(f"{name} must be {what}, got {value!r}")
    if estimator.perturb == "seed" and not random_parameters(estimator.estimator, everywhere=True):
        raise ValueError(
            "perturb='seed' needs an estimator with a random_state, else all runs are the same; "
            f"{type(estimator.estimator).__name__} has none"
        )


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "fit") and hasattr(value, "get_params") and not isinstance(value, type)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def noise_scale(X: Any, scale: float) -> Any:
    """Standard deviation of the noise on each feature."""
    if issparse(X) or not (isinstance(X, np.ndarray) or hasattr(X, "iloc")):
        raise TypeError(
            f"perturb={scale!r} adds noise to every entry, for which X must be a dense array or a pandas DataFrame"
        )
    return scale * np.asarray(X.std(axis=0, ddof=0), dtype=np.float64)


def check_rows(X: Any, y: Any, *, needs_classes: bool) -> None:
    """Check that there is something to resample."""
    if X.shape[0] < 2:
        raise ValueError(f"X must have at least 2 rows to resample, got n_samples={X.shape[0]}")
    if needs_classes and _is_labelled(y) and len(np.unique(np.asarray(y))) < 2:
        raise ValueError("y must have at least 2 classes to select features by, got one class")


def _is_labelled(y: Any) -> bool:
    """Whether y holds classes; what is wrong with it otherwise the estimator knows best."""
    if y is None or (np.asarray(y).dtype.kind == "f" and not np.isfinite(y).all()):
        return False
    return type_of_target(y) in ("binary", "multiclass")


def splitter_for(
    cv: Any, y: Any, *, classifier: bool, grouped: bool = False, perturb: Any = None, entropy: Any = 0
) -> Any:
    """Turn the parameter `cv` into a splitter; None gives bootstrap samples, or the whole sample to perturb."""
    if cv is not None:
        return check_cv(cv, y, classifier=classifier)
    if perturb is not None:
        return WholeSampleSplit(n_splits=N_RUNS)
    seed = int(np.random.SeedSequence(entropy, spawn_key=(2,)).generate_state(1)[0])
    # Groups may have several classes each, and are then drawn from the whole.
    stratify = classifier and not grouped and _is_labelled(y)
    return BootstrapSplit(N_RUNS, stratify=stratify, random_state=seed)


def splits_of(splitter: Any, X: Any, y: Any, params: dict[str, Any]) -> list[Any]:
    """List the splits, of which there must be some to compare."""
    splits = list(splitter.split(X, y, **params))
    if len(splits) < 2:
        raise ValueError(f"cv must give at least 2 splits, since stability compares runs; got {len(splits)}")
    return splits


def mark(train: Any, test: Any) -> bytes:
    """A digest of a split, by which a later fit knows it again."""
    digest = blake2b(digest_size=16)
    for rows in (train, test):
        digest.update(np.ascontiguousarray(rows).tobytes())
        digest.update(b"|")
    return digest.digest()


def check_same_splits(seen: list[bytes], marks: list[bytes]) -> None:
    if marks[: len(seen)] != seen:
        raise ValueError(
            "warm_start=True adds runs to those of the first fit, but cv does not start with the same splits: give it "
            "an int random_state and at least as many splits as before, and the same data"
        )

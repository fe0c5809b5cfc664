"""What `StabilityCV` checks before it runs anything."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from numbers import Real
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import type_of_target

from skstab._checks import check_parameters, is_bool, is_estimator, is_int, is_number
from skstab._compat import take_rows
from skstab.model_selection._runs import random_parameters
from skstab.model_selection._split import BootstrapSplit, WholeSampleSplit

N_RUNS = 50


def check_runs(estimator: Any) -> None:
    """Check what no other code would check, each with what was expected."""
    check_parameters(
        estimator,
        {
            "estimator": ("an estimator with fit and get_params", is_estimator),
            "support": ("'refit' or 'consensus'", lambda value: value in ("refit", "consensus")),
            "threshold": ("a number above 0 and at most 1", lambda value: is_number(value, above=0, most=1)),
            "importance_getter": ("a string or a callable", lambda value: isinstance(value, str) or callable(value)),
            "perturb": (
                "None, 'seed' or a positive number",
                lambda value: value is None or value == "seed" or is_number(value, above=0),
            ),
            "error_score": ("'raise' or a number", lambda value: value == "raise" or _is_score(value)),
            "target_width": ("None or a positive number", lambda value: value is None or is_number(value, above=0)),
            "n_jobs": ("None or an int other than 0", lambda value: value is None or (is_int(value) and value != 0)),
            "verbose": ("an int of at least 0", lambda value: is_bool(value) or is_int(value, 0)),
            "scale_importances": ("a bool", is_bool),
            "warm_start": ("a bool", is_bool),
            "return_estimators": ("a bool", is_bool),
        },
    )
    if estimator.perturb == "seed" and not random_parameters(estimator.estimator, everywhere=True):
        raise ValueError(
            "perturb='seed' needs an estimator with a random_state, else all runs are the same; "
            f"{type(estimator.estimator).__name__} has none"
        )


def _is_score(value: Any) -> bool:
    return isinstance(value, Real) and not is_bool(value)  # NaN and infinite ones too


def noise_scale(X: Any, scale: float) -> Any:
    """Standard deviation of the noise on each feature."""
    if issparse(X) or not (isinstance(X, np.ndarray) or hasattr(X, "iloc")):
        raise TypeError(
            f"perturb={scale!r} adds noise to every entry, for which X must be a dense array or a pandas DataFrame"
        )
    # Without the missing values, to which noise adds nothing.
    return scale * np.nan_to_num(pd.DataFrame(X).std(axis=0, ddof=0).to_numpy(np.float64))


def check_rows(X: Any, y: Any, *, needs_classes: bool) -> None:
    """Check that there is something to resample, and something to select from."""
    if len(X.shape) != 2:
        raise ValueError(f"X must be a 2D array of rows and features, got one of shape {X.shape}")
    if X.shape[1] == 0:
        raise ValueError(
            f"X must have features to select: found 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    if X.shape[0] < 2:
        raise ValueError(f"X must have at least 2 rows to resample, got n_samples={X.shape[0]}")
    if needs_classes and _is_labelled(y) and len(np.unique(np.asarray(y))) < 2:
        raise ValueError("y must have at least 2 classes to select features by, got one class")


def _is_labelled(y: Any) -> bool:
    """Whether y holds classes; what is wrong with it otherwise the estimator knows best."""
    if y is None or pd.isna(np.asarray(y)).any() or (np.asarray(y).dtype.kind == "f" and np.isinf(y).any()):
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
    """List the splits by the numbers of their rows; there must be some to compare."""
    every = np.arange(X.shape[0])
    splits = [(_numbers(train, every), _numbers(test, every)) for train, test in splitter.split(X, y, **params)]
    if len(splits) < 2:
        raise ValueError(f"cv must give at least 2 splits, since stability compares runs; got {len(splits)}")
    return splits


def _numbers(rows: Any, every: Any) -> Any:
    """Numbers of the rows that an index of any kind (a mask, a slice, a list) takes out of all."""
    try:
        # A tuple would be one index for each dimension.
        return every[list(rows) if isinstance(rows, tuple) else rows]
    except IndexError as error:
        raise ValueError(f"cv must give indices of some of the {len(every)} rows of X: {error}") from error


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


def fingerprints(runs: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> dict[str, str | None]:
    """Digests of what has to stay the same in a warm start; None where a value has none (a lambda)."""
    # A few rows tell most other tables, and cost next to nothing.
    data = {"X": take_rows(X, np.linspace(0, X.shape[0] - 1, 4).astype(int)), "y": y, **fit_params}
    names = ("estimator", "scoring", "importance_getter", "scale_importances", "perturb")
    parameters = {name: _digest(getattr(runs, name)) for name in names}
    return {name: _digest(value, _as_plain) for name, value in data.items()} | parameters


def _as_plain(data: Any) -> Any:
    """Return the values alone: the same for equal data of one type in tables, arrays and lists."""
    values = np.ascontiguousarray(data.toarray() if issparse(data) else data)
    return pd.util.hash_array(values.astype(object).ravel()) if values.dtype.kind in "OSU" else values


def _digest(value: Any, form: Callable[[Any], Any] = lambda value: value) -> str | None:
    try:
        return joblib.hash(form(value))
    except (AttributeError, PicklingError, TypeError, ValueError):  # what can't be pickled, or is several tables
        return None


def check_same_prints(seen: dict[str, str | None], now: dict[str, str | None]) -> None:
    other = [name for name in {**seen, **now} if seen.get(name) != now.get(name)]
    if other:
        raise ValueError(
            "warm_start=True adds runs to those of the first fit, but these are not the same as then: "
            f"{', '.join(other)}; set warm_start=False to start anew"
        )

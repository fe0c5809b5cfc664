"""From the parameter `cv` to the rows of each run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import type_of_target

from skstab._checks import is_estimator, naming
from skstab._engine.job import row_numbers
from skstab._warnings import warn_user
from skstab.model_selection._split import BootstrapSplit, WholeSampleSplit

N_RUNS = 50
_MOST_SHARED = 0.9  # of the rows of two training sets


def is_labelled(y: Any) -> bool:
    """Whether y holds classes; what is wrong with it otherwise the estimator knows best."""
    if (
        y is None or np.asarray(y).dtype.names is not None
    ):  # structured ones hold survival times
        return False
    if pd.isna(np.asarray(y)).any() or (
        np.asarray(y).dtype.kind == "f" and np.isinf(y).any()
    ):
        return False
    return type_of_target(y) in ("binary", "multiclass")


def classes_of(estimator: Any, y: Any) -> Any:
    """The classes of the target of a classifier, in order; None where there are none."""
    if not is_classifier(estimator) or not is_labelled(y):
        return None
    return np.unique(np.asarray(y))


def splitter_for(
    cv: Any,
    y: Any,
    *,
    classifier: bool,
    grouped: bool = False,
    perturb: Any = None,
    entropy: Any = 0,
) -> Any:
    """Turn the parameter `cv` into a splitter; None gives bootstrap samples, or the whole sample to perturb."""
    if cv is not None:
        if is_estimator(cv) and not hasattr(cv, "split"):
            raise ValueError(
                f"cv must be None, an int, a splitter or an iterable of splits, since it only chooses rows, got the "
                f"estimator {type(cv).__name__}"
            )
        with naming("cv", "y"):
            return check_cv(cv, y, classifier=classifier)
    if perturb is not None:
        return WholeSampleSplit(n_splits=N_RUNS)
    seed = int(np.random.SeedSequence(entropy, spawn_key=(2,)).generate_state(1)[0])
    # Groups may have several classes each, and are then drawn from the whole.
    stratify = classifier and not grouped and is_labelled(y)
    return BootstrapSplit(N_RUNS, stratify=stratify, random_state=seed)


def splits_of(splitter: Any, X: Any, y: Any, params: dict[str, Any]) -> list[Any]:
    """List the splits by the numbers of their rows; there must be some to compare."""
    n_rows = X.shape[0]
    with naming("cv", "X", "y", *params):
        splits = [
            (row_numbers(train, n_rows, "cv"), row_numbers(test, n_rows, "cv"))
            for train, test in splitter.split(X, y, **params)
        ]
    if len(splits) < 2:
        raise ValueError(
            f"cv must give at least 2 splits, since stability compares runs; got {len(splits)}"
        )
    return splits


def warn_if_folds_overlap(splits: list[Any]) -> None:
    """Warn where the training sets of folds share nearly all rows, which makes any selection look stable."""
    first, second = (np.unique(train) for train, _ in splits[:2])
    shared = len(np.intersect1d(first, second)) / max(len(first), len(second))
    if shared > _MOST_SHARED:
        warn_user(
            f"the training sets of cv={len(splits)} folds share {shared:.0%} of their rows, so that even a selection "
            "from noise looks stable (0.78 in simulations with 50 folds; bootstraps show 0.2, independent samples 0): "
            "use cv=None (bootstraps), cv=ComplementaryPairsSplit(...) or assess_selector"
        )

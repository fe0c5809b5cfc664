"""Candidates that are one path, followed on several resamples at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_selection import SelectFromModel

from skstab._engine.candidates import Family
from skstab._linear_paths.linear_models import PARAMETERS, LinearModels
from skstab._linear_paths.shared_paths import (
    FoundPath,
    paths_of_resamples,
    standardises,
)

__all__ = ["Ahead", "SharedPath", "followed_together", "shared_path"]


class SharedPath(NamedTuple):
    """A model that all candidates follow along its path, alone or behind a scaler."""

    family: Family
    model: Any
    values: list[Any]
    is_scaled: bool


class Ahead(NamedTuple):
    """The models of a path on one resample, and the seconds that they took."""

    family: Family
    models: LinearModels
    seconds: float


def shared_path(families: Sequence[Family]) -> SharedPath | None:
    """The path that all candidates are on; None where there is none, or more than that."""
    family, is_scaled = families[0], False
    if standardises(family.step) and len(family.siblings[0].after) == 1:
        is_scaled = len(family.siblings) == 1
        family = family.siblings[0].after[0]
    is_one = len(families) == 1 and (is_scaled or family is families[0])
    values = [value for one in family.siblings for value in one.followed.values()]
    if not is_one or len(values) < 2:
        return None
    step = family.step
    model = step.estimator if type(step) is SelectFromModel else step
    # Elastic nets have many active features: single paths solve them on reduced rows.
    is_net = getattr(model, "l1_ratio", 1) not in (1, None) and not hasattr(model, "C")
    if type(model) not in PARAMETERS or is_net:
        return None
    return SharedPath(family, model, values, is_scaled)


def followed_together(
    path: SharedPath,
    X: Any,
    y: Any,
    trains: Sequence[Any],
    splits: Sequence[int],
    n_splits: int,
    sample_weight: Any,
) -> list[Ahead | None]:
    """Follow a path on several resamples; None for those that are to be followed by themselves."""
    start = time.perf_counter()
    values = np.asarray(path.values, dtype=np.float64)
    order = np.argsort(values if hasattr(path.model, "C") else -values, kind="stable")
    found = paths_of_resamples(
        path.model, X, y, values[order], trains, splits, n_splits,
        is_scaled=path.is_scaled, sample_weight=sample_weight,
    )  # fmt: skip
    seconds = (time.perf_counter() - start) / len(trains)
    return [
        one and Ahead(path.family, _models(one, order, X.shape[1]), seconds)
        for one in found
    ]


def _models(path: FoundPath, order: Any, n_features: int) -> LinearModels:
    """The models of a path in the order of its values."""
    coefs = np.zeros((len(order), 1, n_features))
    steps = np.repeat(order, np.diff(path.ends, prepend=0))
    coefs[steps, 0, path.places] = path.coefs
    intercepts, gaps = np.empty((len(order), 1)), np.empty((len(order), 1))
    n_steps = np.empty((len(order), 1), dtype=np.intp)
    intercepts[order, 0], gaps[order, 0] = path.intercepts, path.gaps
    n_steps[order, 0] = path.n_steps
    return LinearModels(coefs, intercepts, n_steps, gaps)

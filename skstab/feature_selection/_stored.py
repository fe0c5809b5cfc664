"""Subsamples in a checkpoint: what they are found again by, and what is stored of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
import sklearn
from sklearn.base import clone

import skstab
from skstab._engine.keys import digest_of, key_of_call
from skstab._engine.store import Stored, open_stored
from skstab.feature_selection._halves import Call, Floats, Half, Indices, Plan
from skstab.feature_selection._settings import IMPORTANCE
from skstab.feature_selection._walk import Walk

__all__ = ["keys_of_halves", "open_halves"]

Outcome: TypeAlias = Half | Floats | Exception


def open_halves(
    path: str | PathLike[str] | None, keys: Mapping[int, bytes]
) -> AbstractContextManager[Stored[Outcome]]:
    """Open the subsamples of one fit in a checkpoint; None is one that has and keeps nothing."""
    return open_stored(path, keys, pack=_fields_of, unpack=_outcome_of)


def keys_of_halves(calls: Mapping[int, Call]) -> dict[int, bytes]:
    """The key of each subsample: data, estimator, parameters, rows and seed."""
    plan, X, y, *_ = calls[0]
    common = _common_digest(plan, X, y)
    is_random = bool(plan.open_seeds) or plan.weakness != 1
    return {
        number: key_of_call(
            common,
            digest_of(rows=np.asarray(rows), seed=_key_of_seed(seed, is_random)),
            number,
        )
        for number, (*_, rows, seed) in calls.items()
    }


def _common_digest(plan: Plan, X: Any, y: Any) -> bytes:
    # Importances do not depend on the thresholds that are later put to them.
    path = None if plan.param_name == IMPORTANCE else (plan.values, plan.q, plan.codes)
    return digest_of(
        X=X,
        y=y,
        # A clone: what an earlier fit left in it does not matter.
        estimator=clone(plan.estimator),
        param_name=plan.param_name,
        param_values=path,
        weakness=plan.weakness,
        **{
            f"fit parameter {name}": value
            for name, value in sorted(plan.fit_params.items())
        },
        support_from=plan.support_from,
        readers=plan.readers,
        versions=(skstab.__version__, sklearn.__version__),
    )


def _key_of_seed(seed: np.random.SeedSequence, is_random: bool) -> Any:
    return (seed.entropy, seed.spawn_key) if is_random else None


# -- what is stored ----------------------------------------------------------------------------------------------------


def _fields_of(outcome: Outcome) -> dict[str, Any] | None:
    """What is stored of a subsample; one that failed is tried again next time."""
    if isinstance(outcome, Exception):
        return None
    if isinstance(outcome, np.ndarray):
        return {"importances": outcome}
    supports, seen, n_unconverged = outcome.walk
    fields = {"seen": seen, "n_unconverged": n_unconverged}
    return (
        fields | _joined("supports", supports) | _joined("features", outcome.features)
    )


def _outcome_of(fields: Mapping[str, Any]) -> Outcome:
    if "importances" in fields:
        importances: Floats = fields["importances"]
        return importances
    walk = Walk(_separated(fields, "supports"), fields["seen"], fields["n_unconverged"])
    return Half(walk, _separated(fields, "features"))


def _joined(name: str, rows: Sequence[Indices]) -> dict[str, Any]:
    nothing = np.zeros(0, dtype=np.intp)  # a path may have no steps
    return {
        name: np.concatenate([nothing, *rows]),
        f"{name}_ends": np.cumsum([len(row) for row in rows], dtype=np.intp),
    }


def _separated(fields: Mapping[str, Any], name: str) -> list[Indices]:
    return [
        fields[name][start:end]
        for start, end in pairwise([0, *fields[f"{name}_ends"].tolist()])
    ]

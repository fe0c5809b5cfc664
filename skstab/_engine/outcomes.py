"""Runs in a checkpoint: what they are found again by, and what is stored of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import product
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.base import clone

import skstab
from skstab._engine.candidates import Candidate
from skstab._engine.keys import digest_of, key_of_call
from skstab._engine.row_scores import RowScored
from skstab._engine.store import Stored, open_stored
from skstab._engine.work import Run, RunPlan
from skstab.runs import Reading, Selection

_ROWS = ("support", "importances", "coef")


def open_runs(
    path: str | PathLike[str] | None, keys: Mapping[int, bytes], n_features: int
) -> AbstractContextManager[Stored[Run]]:
    """Open the runs of one fit in a checkpoint; None is one that has and keeps nothing."""
    return open_stored(
        path,
        keys,
        pack=_fields_unless_failed,
        unpack=partial(_run_of, n_features=n_features),
    )


class StoredOutputs(NamedTuple):
    """The outputs of encoders that one run had, as they were read."""

    names: list[Any]
    inputs: Any
    support: Any


def keys_of_runs(
    plan: RunPlan,
    X: Any,
    y: Any,
    entropy: Any,
    splits: Iterable[bytes],
    *,
    scoring: Any,
    perturb: Any = None,
) -> dict[int, bytes]:
    """The key of each run: data, estimator, parameters, split and seed; `splits` are digests."""
    common = digest_of(
        X=X,
        y=y,
        # A clone: what an earlier fit left in it does not matter.
        estimator=clone(plan.estimator),
        scoring=scoring,
        importance_getter=plan.importance_getter,
        scale_importances=plan.scale_importances,
        perturb=perturb,
        **_of_plan(plan),
        seeds=entropy if plan.seeds or plan.noise is not None else None,
    )
    return {
        number: key_of_call(common, split, number)
        for number, split in enumerate(splits)
    }


def keys_of_candidates(
    candidates: Sequence[Candidate],
    plan: RunPlan,
    scoring: Any,
    X: Any,
    y: Any,
    entropy: Any,
    splits: Sequence[bytes],
) -> dict[int, bytes]:
    """The key of each run of a search, of which run s·C + c is that of candidate c, one of C, on split s."""
    common = digest_of(X=X, y=y, scoring=scoring, **_of_plan(plan))
    own = [
        digest_of(
            common=common,
            estimator=candidate.estimator,
            seeds=entropy if candidate.seeds else None,
        )
        for candidate in candidates
    ]
    # By the number of the split, not of the run: the order of the candidates does not matter.
    runs = enumerate(product(enumerate(splits), own))
    return {
        number: key_of_call(candidate, split, at)
        for number, ((at, split), candidate) in runs
    }


def _of_plan(plan: RunPlan) -> dict[str, Any]:
    return {
        **{
            f"fit parameter {name}": value
            for name, value in sorted(plan.fit_params.items())
        },
        **{
            f"score parameter {name}": value
            for name, value in sorted(plan.score_params.items())
        },
        "support_from": plan.support_from,
        "readers": plan.readers,
        "versions": (skstab.__version__, sklearn.__version__),
    }


def _fields_unless_failed(run: Run) -> dict[str, Any] | None:
    """What is stored of a run; one of which something failed is tried again next time."""
    return (
        _fields_of(run) if run.fit_error is None and run.score_error is None else None
    )


def _fields_of(run: Run) -> dict[str, Any]:
    fields: dict[str, Any] = {"fit_time": run.fit_time, "score_time": run.score_time}
    fields["score_names"] = list(run.scores or {})
    fields["scores"] = np.array(list((run.scores or {}).values()), dtype=np.float64)
    if run.rows is not None:
        fields["predictions"] = _storable(run.rows.predictions)
        if run.rows.probabilities is not None:
            fields["probabilities"] = run.rows.probabilities
        fields |= {f"losses {name}": losses for name, losses in run.rows.losses.items()}
    fields["why_no_importances"] = run.selection.why_no_importances
    if run.selection.outputs is not None:
        names, inputs, support = run.selection.outputs
        fields |= {
            "output_names": list(names),
            "output_inputs": inputs,
            "output_support": support,
        }
    for name in _ROWS:
        row = getattr(run.selection, name)
        if row is not None:
            fields[f"{name}_indices"], fields[f"{name}_values"] = (
                row.indices,
                row.values,
            )
    return fields


def _run_of(fields: Mapping[str, Any], n_features: int) -> Run:
    scores = dict(zip(fields["score_names"], fields["scores"].tolist(), strict=True))
    support, importances, coef = (
        _dense_row(fields, name, n_features) for name in _ROWS
    )
    selection = Selection(support, importances, coef, has_selector=True)
    return Run(
        Reading(selection, _outputs_of(fields), fields["why_no_importances"]).packed(),
        scores=scores,
        rows=_rows_of(fields, scores),
        fit_time=fields["fit_time"],
        score_time=fields.get(
            "score_time", np.nan
        ),  # which files of earlier fits do not have
    )


def _outputs_of(fields: Mapping[str, Any]) -> Any:
    if "output_names" not in fields:
        return None
    return StoredOutputs(
        fields["output_names"], fields["output_inputs"], fields["output_support"]
    )


def _rows_of(fields: Mapping[str, Any], scores: dict[str, float]) -> RowScored | None:
    if "predictions" not in fields:
        return None
    losses = {
        name: fields[f"losses {name}"] for name in scores if f"losses {name}" in fields
    }
    return RowScored(
        {name: scores[name] for name in losses},
        losses,
        fields["predictions"],
        fields.get("probabilities"),
    )


def _storable(predictions: Any) -> Any:
    """Predicted labels as an array of text or numbers."""
    plain = (
        np.asarray(predictions.tolist()) if predictions.dtype == object else predictions
    )
    if plain.dtype == object:
        raise TypeError(
            "checkpoint can't store what was predicted: the classes must be all text or all numbers"
        )
    return plain


def _dense_row(fields: Mapping[str, Any], name: str, n_features: int) -> Any:
    if f"{name}_indices" not in fields:
        return None
    values = fields[f"{name}_values"]
    row = np.zeros(n_features, dtype=values.dtype)
    row[fields[f"{name}_indices"]] = values
    return row

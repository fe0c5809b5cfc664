"""What came of one run, and what is stored of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from skstab._engine.row_scores import RowScored
from skstab.runs import Reading, Selection

_ROWS = ("support", "importances", "coef")
_PLAIN = ("fit_time", "score_time", "score_error", "emptied")


class Run(NamedTuple):
    """What comes back from a worker: small, whatever the model was."""

    selection: Any = None  # packed, without its zeros
    scores: dict[str, float] | None = None
    score_error: str | None = None
    # Loss and prediction of each test row, where the score is a mean over rows.
    rows: RowScored | None = None
    fit_time: float = np.nan
    score_time: float = np.nan
    fit_error: str | None = None
    estimator: Any = None
    # Whether a selector left nothing for the steps after it to be fitted on.
    emptied: bool = False

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to score: the fit failed, or nothing was selected that could be fitted."""
        return self.fit_error is not None or self.emptied


class StoredOutputs(NamedTuple):
    """The outputs of encoders that one run had, as they were read."""

    names: list[Any]
    inputs: Any
    support: Any


def fields_of(run: Run) -> dict[str, Any]:
    """What is stored of a run, failed or not."""
    fields: dict[str, Any] = {
        "fit_time": run.fit_time,
        "score_time": run.score_time,
        "fit_error": run.fit_error,
        "score_error": run.score_error,
        "emptied": run.emptied,
    }
    if run.fit_error is not None:
        return fields
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


def run_of(fields: Mapping[str, Any], n_features: int) -> Run:
    """The run that was stored."""
    if fields["fit_error"] is not None:
        return Run(fit_error=fields["fit_error"])
    scores = dict(zip(fields["score_names"], fields["scores"].tolist(), strict=True))
    support, importances, coef = (
        _dense_row(fields, name, n_features) for name in _ROWS
    )
    selection = Selection(support, importances, coef, has_selector=True)
    return Run(
        Reading(selection, _outputs_of(fields), fields["why_no_importances"]).packed(),
        scores=scores,
        rows=_rows_of(fields, scores),
        **{name: fields[name] for name in _PLAIN},
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

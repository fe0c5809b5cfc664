"""In which direction a feature goes with the target, alone: rank correlations with their uncertainty.

Notation: z the standardised ranks of a feature, t the standardised scores of the target, r = mean z·t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student

from skstab._checks import naming
from skstab._typing import FloatArray, IndexArray
from skstab.inspection._columns import Block

__all__ = ["Target", "association", "direction_columns", "event_and_time", "is_scale"]

_MOST_CLASSES = 10  # of numbers; with more different ones they are a scale


class Target(NamedTuple):
    """Scores of the target, rows × outputs: one output, or one for each of several classes."""

    scores: FloatArray
    classes: Sequence[Any]
    towards: str  # what a positive correlation is with

    @classmethod
    def of(cls, y: Any) -> Target | None:
        """Read a target; None where it has several outputs."""
        with naming("y"):
            values = np.asarray(y)
        if values.dtype.names is not None:
            return cls(_excess_events(values)[:, None], (), "an earlier event")
        if values.ndim != 1:
            return None
        name = getattr(y, "name", None)
        name = "the target" if name is None else str(name)
        if is_scale(values):
            return cls(rankdata(values)[:, None], (), f"higher values of {name}")
        classes, codes = np.unique(values.astype(object), return_inverse=True)
        if len(classes) == 2:
            return cls((codes == 1.0)[:, None] * 1.0, (), f"{name} = {classes[1]}")
        scores = (codes[:, None] == np.arange(len(classes))) * 1.0
        return cls(scores, list(classes), f"one value of {name} against the others")


def is_scale(values: Any) -> bool:
    """Whether a target is numbers and not classes."""
    if values.dtype.kind not in "iuf":
        return False
    if values.dtype.kind == "f" and (values % 1 != 0).any():
        return True
    return len(np.unique(values)) > _MOST_CLASSES


def event_and_time(y: Any) -> tuple[Any, FloatArray]:
    """The events and the times of a structured target."""
    names = y.dtype.names or ()
    fields = {y.dtype[name].kind == "b": name for name in names}
    if len(names) != 2 or set(fields) != {True, False}:
        raise ValueError(
            "y must have two fields, the event as booleans and the time, where it is "
            f"structured, got {y.dtype}"
        )
    return y[fields[True]], y[fields[False]].astype(np.float64)


def _excess_events(y: Any) -> FloatArray:
    """Observed events minus those expected without features (martingale residuals, Nelson and Aalen's hazard)."""
    event, time = event_and_time(y)
    times, codes = np.unique(time, return_inverse=True)
    n_at_risk = len(time) - np.searchsorted(np.sort(time), times)
    hazard = np.bincount(codes, weights=event) / n_at_risk
    return np.asarray(event - np.cumsum(hazard)[codes])


# -- correlations ----------------------------------------------------------------------


class Association(NamedTuple):
    """Rank correlations of the columns of a feature, columns × outputs, with the ends of their 95% intervals."""

    estimate: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def sign(self) -> Any:
        """1 or −1 where the interval is on one side of 0, otherwise 0."""
        return np.where(self.low > 0, 1, np.where(self.high < 0, -1, 0))


def association(values: FloatArray, target: Target, units: IndexArray) -> Association:
    """Correlate the ranks of columns with the scores of the target; rows of one unit count as dependent."""
    found = [_of_column(column, target.scores, units) for column in values.T]
    estimate, low, high = (np.array(part) for part in zip(*found, strict=True))
    return Association(estimate, low, high)


def _of_column(
    column: FloatArray, scores: FloatArray, units: IndexArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    known = ~np.isnan(column)
    nothing = np.full(scores.shape[1], np.nan)
    if known.sum() < 3:
        return nothing, nothing, nothing
    z = _standard(rankdata(column[known])[:, None])
    t = _standard(scores[known])
    r = np.mean(z * t, axis=0)
    # Each row's influence on a correlation; those of a unit are added before they are squared.
    influence = z * t - r / 2 * (z**2 + t**2)
    _, codes = np.unique(units[known], return_inverse=True)
    n_units = int(codes.max()) + 1
    if n_units < 3:
        return r, nothing, nothing
    sums = np.zeros((n_units, scores.shape[1]))
    np.add.at(sums, codes, influence)
    variance = (sums**2).sum(axis=0) * n_units / (n_units - 1) / known.sum() ** 2
    # On Fisher's scale, where the interval stays within −1 and 1.
    inside = np.clip(r, -1 + 1e-9, 1 - 1e-9)
    half = student.ppf(0.975, n_units - 1) * np.sqrt(variance) / (1 - inside**2)
    return r, np.tanh(np.arctanh(inside) - half), np.tanh(np.arctanh(inside) + half)


def _standard(values: FloatArray) -> FloatArray:
    """Columns of mean 0 and variance 1; constant ones have no correlation."""
    deviation = values.std(axis=0)
    deviation = np.where(deviation > 1e-12 * np.abs(values).max(), deviation, np.nan)
    return np.asarray((values - values.mean(axis=0)) / deviation)


# -- in words --------------------------------------------------------------------------


def direction_columns(
    blocks: Sequence[Block | None], y: Any, units: IndexArray | None
) -> dict[str, Any]:
    """The direction of each feature alone, and its rank correlation with the target, where it has values."""
    target = Target.of(y)
    if target is None:
        return {}
    n_rows = len(target.scores)
    if units is None:
        units = np.arange(n_rows)
    words = np.full(len(blocks), "", dtype=object)
    numbers = np.full((3, len(blocks)), np.nan)
    for place, block in enumerate(blocks):
        if block is None:
            continue
        if len(block.numbers) != n_rows:
            raise ValueError(
                f"y must have one entry for each of the {len(block.numbers)} rows of X, got {n_rows}"
            )
        found = association(block.numbers, target, units)
        words[place] = _in_words(found.sign, block.labels, target.classes)
        if not np.isnan(found.estimate).all():
            strongest = np.nanargmax(np.abs(found.estimate))
            numbers[:, place] = [part.flat[strongest] for part in found]
    names = ("association", "association_low", "association_high")
    return {"direction": words, **dict(zip(names, numbers, strict=True))}


def _in_words(signs: Any, levels: Sequence[str], classes: Sequence[Any]) -> str:
    """One sign, or the levels of a category, or the classes, with the sign of each that is clear."""
    if not signs.any():
        return "±"
    if not levels:
        return _signed(signs[0], classes) if classes else "-+"[int(signs[0, 0] > 0)]
    if not classes:
        return _signed(signs[:, 0], levels)
    parts = [
        f"{level}: {_signed(row, classes)}"
        for level, row in zip(levels, signs, strict=True)
        if row.any()
    ]
    return "; ".join(parts)


def _signed(signs: Any, names: Sequence[Any]) -> str:
    higher = [f"+{name}" for name, sign in zip(names, signs, strict=True) if sign > 0]
    lower = [f"-{name}" for name, sign in zip(names, signs, strict=True) if sign < 0]
    return ", ".join([*higher, *lower])

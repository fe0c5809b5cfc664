"""Features that say what the target is: looked for among those that carry the score, so that it costs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import rankdata

from skstab._typing import FloatArray
from skstab.inspection._columns import Block

__all__ = ["leaks_among", "nearly_perfect"]

_MOST = 30  # features, the most frequent ones
_ALONE = (
    0.99  # of the rank correlation, or of the range of the area under the ROC curve
)
_TOGETHER = 0.9999  # share of the variance of the target
_PERFECT = 0.99  # of the range between chance and 1


def leaks_among(
    blocks: Sequence[Block | None], names: Sequence[Any], y: Any
) -> Iterator[str]:
    """Say which features alone, or two of them as a sum or a difference, give the target."""
    numbers = {
        str(name): block.numbers[:, 0]
        for name, block in zip(names, blocks, strict=True)
        if block is not None and not block.labels and not np.isnan(block.numbers).any()
    }
    columns = dict(list(numbers.items())[:_MOST])
    target = np.asarray(y)
    if target.ndim != 1 or target.dtype.names is not None:
        return
    alone = [name for name, column in columns.items() if _orders(column, target)]
    if alone:
        each = "alone puts" if len(alone) == 1 else "each alone put"
        yield f"Possible leak: {_quoted(alone)} {each} the rows in the order of the target."
    if target.dtype.kind not in "iuf" or len(np.unique(target)) < 3:
        return
    for one, other in combinations([name for name in columns if name not in alone], 2):
        sign = _sums_to(columns[one], columns[other], target.astype(float))
        if sign:
            yield f"Possible leak: the target is {one!r} {sign} {other!r}."


def _orders(column: FloatArray, target: Any) -> bool:
    """Whether ranks of numbers are those of the target, or one class is entirely above the other."""
    classes, codes = np.unique(target, return_inverse=True)
    ranks = rankdata(column)
    if len(classes) == 2:
        n_first = int((codes == 0).sum())
        below = ranks[codes == 0].sum() - n_first * (n_first + 1) / 2
        area = below / (n_first * (len(codes) - n_first))
        return bool(abs(2 * area - 1) >= _ALONE)
    if target.dtype.kind not in "iuf" or np.ptp(ranks) == 0:
        return False
    return bool(abs(np.corrcoef(ranks, rankdata(target))[0, 1]) >= _ALONE)


def _sums_to(one: FloatArray, other: FloatArray, target: FloatArray) -> str:
    """The sign with which two columns give the target, up to a shift and a scale of all; empty where they do not."""
    design = np.column_stack([one, other]) - [one.mean(), other.mean()]
    centred = target - target.mean()
    weights, *_ = np.linalg.lstsq(design, centred, rcond=None)
    left = centred - design @ weights
    if left @ left > (1 - _TOGETHER) * (centred @ centred) or not weights.all():
        return ""
    if not np.isclose(abs(weights[0]), abs(weights[1]), rtol=0.02):
        return ""
    return "+" if weights[0] * weights[1] > 0 else "-"


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5]))


def nearly_perfect(assessment: Any, names: Sequence[Any]) -> str:
    """Say that predictions are nearly perfect, which few honest features are; empty where they are not."""
    score = None if assessment is None else assessment.score
    if score is None or not len(assessment.chance.scores):
        return ""
    chance = float(np.nanmean(assessment.chance.scores))
    best = 0.0 if score.name.startswith("neg_") else 1.0
    if not chance < best or (score.mean - chance) / (best - chance) < _PERFECT:
        return ""
    shown = ", ".join(map(str, names[:5]))
    return (
        f"Possible leak: predictions are nearly perfect ({score.name} {score.mean:.3f}). Either the target is that "
        f"clear, or one of the features was derived from it or is known only after it: {shown}."
    )

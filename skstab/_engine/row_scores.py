"""Scores that are a mean over the rows left out: the loss of each row, beside the score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    mean_absolute_error,
    mean_squared_error,
    r2_score,
)
from sklearn.pipeline import Pipeline

from skstab._typing import FloatArray

__all__ = [
    "RowScored",
    "probabilities_of",
    "reads_probabilities",
    "row_scores_of",
    "score_by_row",
]

# Scores by which the probabilities of the rows left out are kept.
_OF_PROBABILITIES = (
    *("neg_log_loss", "neg_brier_score", "d2_log_loss_score", "d2_brier_score"),
    *("roc_auc", "roc_auc_ovr", "roc_auc_ovo"),
    *("roc_auc_ovr_weighted", "roc_auc_ovo_weighted", "average_precision"),
)


class RowScored(NamedTuple):
    """Scores that are means over rows: their values, the losses of the rows by the score, and what was predicted."""

    scores: dict[str, float]
    losses: dict[str, FloatArray]
    predictions: Any
    probabilities: Any = None  # float32, as `probabilities_of` returns them


class RowScore(NamedTuple):
    """A score of predictions that falls with the mean of the losses."""

    metric: Callable[[Any, Any], float]
    losses: Callable[[Any, Any], FloatArray]
    # The metric bit for bit, without its long checks, of plain arrays of these kinds; None where these need them.
    plain: Callable[[Any, Any], float | None] | None = None
    kinds: str = ""


def score_by_row(names: Mapping[str, str], estimator: Any, X: Any, y: Any) -> RowScored:
    """Score an estimator, with one call of its `predict`, by the row scores of these names."""
    predictions = estimator.predict(X)
    true, found = np.asarray(y), np.asarray(predictions)
    chosen = {name: ROW_SCORES[score] for name, score in names.items()}
    losses = {name: score.losses(true, found) for name, score in chosen.items()}
    plain = {
        name: _plain(score, true, found, losses[name]) for name, score in chosen.items()
    }
    scores = {
        name: float(score.metric(y, predictions))
        if (known := plain[name]) is None
        else known
        for name, score in chosen.items()
    }
    return RowScored(scores, losses, found)


def _plain(score: RowScore, y: Any, predicted: Any, losses: FloatArray) -> float | None:
    """A metric by its plain form, where nothing in the arrays could be an error, a warning or a special case of it."""
    same = (
        y.ndim == 1
        and y.shape == predicted.shape
        and y.dtype.kind == predicted.dtype.kind
    )
    wide = y.dtype.kind != "f" or (y.dtype == predicted.dtype == np.float64)
    is_plain = (
        same
        and wide
        and len(y) > 1
        and y.dtype.kind in score.kinds
        and np.isfinite(losses).all()
    )
    return score.plain(y, predicted) if is_plain and score.plain is not None else None


def _by_row(y: Any, predicted: Any) -> tuple[Any, Any]:
    """Give both one column per output: a target of one column may come with predictions that have none."""
    return y.reshape(len(y), -1), predicted.reshape(len(y), -1)


def _wrong(y: Any, predicted: Any) -> FloatArray:
    if y.ndim == predicted.ndim == 1:
        return np.asarray(y != predicted, dtype=np.float64)
    true, found = _by_row(y, predicted)
    return np.asarray(
        (true != found).any(axis=1), dtype=np.float64
    )  # of several labels, any


def _wrong_by_class(y: Any, predicted: Any) -> FloatArray:
    """Errors weighted so that each class present counts the same: n / (number of classes × rows of the class)."""
    _, code, counts = np.unique(y, return_inverse=True, return_counts=True)
    return _wrong(y, predicted) * len(code) / (len(counts) * counts[code.ravel()])


def _squared(y: Any, predicted: Any) -> FloatArray:
    true, found = _by_row(y.astype(np.float64), predicted)
    return np.asarray(((true - found) ** 2).mean(axis=1), dtype=np.float64)


def _absolute(y: Any, predicted: Any) -> FloatArray:
    true, found = _by_row(y.astype(np.float64), predicted)
    return np.asarray(np.abs(true - found).mean(axis=1), dtype=np.float64)


def _unexplained(y: Any, predicted: Any) -> FloatArray:
    """Squared errors in units of the variance of the test rows; their mean is 1 − R²."""
    true, found = _by_row(y.astype(np.float64), predicted)
    variance = np.var(true, axis=0)
    return np.asarray(
        ((true - found) ** 2 / np.where(variance > 0, variance, np.nan)).mean(axis=1),
        dtype=np.float64,
    )


# -- metrics of plain arrays -------------------------------------------------------------------------------------------


def _share_right(y: Any, predicted: Any) -> float:
    return float((y == predicted).mean())


def _mean_recall(y: Any, predicted: Any) -> float | None:
    """Balanced accuracy; None where one class is alone, or one is predicted that no row has, which is warned of."""
    classes, code, counts = np.unique(y, return_inverse=True, return_counts=True)
    is_right = y == predicted
    if len(classes) < 2 or not np.isin(predicted[~is_right], classes).all():
        return None
    return float(np.mean(np.bincount(code[is_right], minlength=len(classes)) / counts))


def _r2(y: Any, predicted: Any) -> float:
    """R² of a table of one column, as NumPy sums a vector in another order."""
    true, found = y[:, None], predicted[:, None]
    left, total = (
        ((true - found) ** 2).sum(axis=0),
        ((true - true.mean(axis=0)) ** 2).sum(axis=0),
    )
    return float(1 - left[0] / total[0])


def _minus_mean_square(y: Any, predicted: Any) -> float:
    return -float(((y - predicted) ** 2)[:, None].mean(axis=0)[0])


def _minus_mean_size(y: Any, predicted: Any) -> float:
    return -float(np.abs(y - predicted)[:, None].mean(axis=0)[0])


ROW_SCORES: dict[str, RowScore] = {
    "accuracy": RowScore(accuracy_score, _wrong, _share_right, "biuU"),
    "balanced_accuracy": RowScore(
        balanced_accuracy_score, _wrong_by_class, _mean_recall, "biuU"
    ),
    "r2": RowScore(r2_score, _unexplained, _r2, "f"),
    "neg_mean_squared_error": RowScore(
        lambda y, predicted: -mean_squared_error(y, predicted),
        _squared,
        _minus_mean_square,
        "f",
    ),
    "neg_mean_absolute_error": RowScore(
        lambda y, predicted: -mean_absolute_error(y, predicted),
        _absolute,
        _minus_mean_size,
        "f",
    ),
}


def row_scores_of(scoring: Any, estimator: Any) -> dict[str, str]:
    """Which of the scores are a mean over rows, by the name under which they are kept.

    None takes the estimator's own score, if it is that of scikit-learn's classifiers or regressors.
    """
    if isinstance(scoring, str):
        return {scoring: scoring} if scoring in ROW_SCORES else {}
    if isinstance(scoring, list | tuple | set):
        return {
            name: name
            for name in scoring
            if isinstance(name, str) and name in ROW_SCORES
        }
    if isinstance(scoring, Mapping):
        return {
            name: score
            for name, score in scoring.items()
            if isinstance(score, str) and score in ROW_SCORES
        }
    return {} if scoring is not None else _own_score(estimator)


def _own_score(estimator: Any) -> dict[str, str]:
    last = estimator
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    known: dict[Any, str] = {
        ClassifierMixin.score: "accuracy",
        RegressorMixin.score: "r2",
    }
    own = known.get(getattr(type(last), "score", None))
    return {} if own is None else {"score": own}


# -- probabilities -----------------------------------------------------------------------------------------------------


def reads_probabilities(scoring: Any) -> bool:
    """Whether one of the scores is known to be one of probabilities."""
    if isinstance(scoring, Mapping):
        return reads_probabilities(list(scoring.values()))
    names = scoring if isinstance(scoring, list | tuple | set) else [scoring]
    return any(isinstance(name, str) and name in _OF_PROBABILITIES for name in names)


def probabilities_of(estimator: Any, X: Any, classes: Any) -> Any:
    """Probabilities of rows as float32, or None where the estimator has none.

    Of two classes those of the second, otherwise rows × classes; 0 for a class that the
    estimator did not see.
    """
    if classes is None or not hasattr(estimator, "predict_proba"):
        return None
    found = estimator.predict_proba(X)
    probabilities = np.zeros((len(found), len(classes)), dtype=np.float32)
    probabilities[:, np.searchsorted(classes, estimator.classes_)] = found
    return probabilities[:, 1] if len(classes) == 2 else probabilities

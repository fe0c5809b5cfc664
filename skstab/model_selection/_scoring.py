"""From the parameter `scoring` to a scorer."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring, get_scorer_names

from skstab._checks import naming
from skstab._compat import take_rows
from skstab._typing import BoolArray, FloatArray
from skstab.metrics import measure_table

__all__ = [
    "AUC",
    "check_no_measure",
    "check_scorer",
    "class_auc",
    "own_score",
    "score_names_of",
    "scorer_of",
]

AUC = "auc"  # the name of `class_auc` beside other scores


def scorer_of(scoring: Any, estimator: Any, error_score: Any) -> Any:
    """Make a scorer; None where the estimator has no score of its own and none was asked for."""
    if scoring is None and not hasattr(estimator, "score"):
        return None
    check_no_measure(scoring)
    # Several scorers fail one by one, unless failing is to raise.
    with naming("scoring"):
        return check_scoring(
            estimator, scoring=scoring, raise_exc=error_score == "raise"
        )


def check_no_measure(scoring: Any) -> None:
    """Say where a measure of stability belongs: a scorer sees one fit only."""
    named = (
        [scoring]
        if isinstance(scoring, str)
        else scoring
        if isinstance(scoring, list | tuple)
        else []
    )
    unknown = {name for name in named if isinstance(name, str)}.difference(
        get_scorer_names()
    )
    for name in sorted(unknown.intersection(measure_table().index)) if unknown else ():
        raise ValueError(
            f"scoring={name!r} is a measure of stability, which compares many fits, and not a score of one: give it as "
            "measure or, to StabilitySearchCV, in measures"
        )


def score_names_of(scoring: Any) -> tuple[str, ...]:
    """Names under which scores are kept."""
    if isinstance(scoring, str):
        return (scoring,)
    return ("score",) if scoring is None or callable(scoring) else tuple(scoring)


def check_scorer(
    scoring: Any, scorer: Any, fitted: Any, X: Any, y: Any, rows: Any
) -> None:
    """Find out before the runs whether the estimator has the method that the scorer calls."""
    if scoring is None:  # then it is the estimator's own method, if it has one
        return
    data = [take_rows(part, rows[:1]) for part in (X, y) if part is not None]
    try:
        with warnings.catch_warnings(action="ignore"):
            scorer(fitted, *data)
    except AttributeError as error:
        raise ValueError(
            f"scoring={scoring!r} does not fit the estimator: {error}"
        ) from error
    except Exception:  # noqa: BLE001  one row may be too few for a score in any way; the runs will show it
        return


def class_auc(estimator: Any, X: Any, y: Any) -> float:
    """Area under the ROC curve of probabilities or decision values: the mean over classes of each against the rest."""
    has_probabilities = hasattr(estimator, "predict_proba")
    method = (
        estimator.predict_proba if has_probabilities else estimator.decision_function
    )
    values = np.asarray(method(X), dtype=np.float64)
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    labels, classes = np.asarray(y), np.asarray(estimator.classes_)
    if values.shape[1] != len(classes):
        raise ValueError("decision values must be one for each class")
    areas = [
        _area(values[:, column], labels == label)
        for column, label in enumerate(classes)
        # Of two classes both have the same.
        if 0 < np.sum(labels == label) < len(labels) and (column or len(classes) > 2)
    ]
    return float(np.mean(areas)) if areas else np.nan


def _area(values: FloatArray, is_in: BoolArray) -> float:
    """Share of the pairs of a row in a class and one outside that are in order; ties count half."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    n_in = int(is_in.sum())
    n_out = len(is_in) - n_in
    return float((ranks[is_in].sum() - n_in * (n_in + 1) / 2) / (n_in * n_out))


def own_score(estimator: Any, X: Any, y: Any) -> float:
    """The score that an estimator has of its own, as one scorer among others."""
    return float(estimator.score(X, y))

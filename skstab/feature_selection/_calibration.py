"""Calibration: the penalty and the threshold at which the selection counts are least like chance.

Notation: K halves, p features, q of them selected in a half on average, c the count of halves from which a feature is
in. By chance each feature would be selected in Binomial(K, q/p) halves. "B" is Bodinier et al. (2023).
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import binom

from skstab._warnings import warn_user

__all__ = [
    "StabilityCalibration",
    "best_cell",
    "calibration_scores",
    "counts_between",
    "warn_at_edge",
]

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.intp]


class StabilityCalibration(NamedTuple):
    """What :meth:`StabilitySelection.calibrate` found.

    Parameters
    ----------
    param_value : float
        The value of the regularisation parameter that was chosen.
    threshold : float
        The threshold that was chosen.
    score : float
        Their score: minus the logarithm of the probability of the counts by chance.
    scores : ndarray of shape (n_values, n_thresholds)
        Scores of all pairs of a value and a threshold.
    errors : ndarray of shape (n_values, n_thresholds)
        Bounds on the expected number of wrongly selected features of each pair; infinite where none is known.
    param_values : ndarray of shape (n_values,)
        The values.
    thresholds : ndarray of shape (n_thresholds,)
        The thresholds.
    sizes : ndarray of shape (n_values,)
        Mean number of features that a subsample selected at each value.
    pfer : float or None
        The largest bound that a choice was allowed to have; None where all were.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Lasso
    >>> from skstab.feature_selection import StabilityCalibration, StabilitySelection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 200))
    >>> y = X[:, :4] @ [1, 1, 0.7, 0.5] + 2 * rng.standard_normal(100)
    >>> selection = StabilitySelection(Lasso(), efp=1, random_state=0).fit(X, y).calibrate()
    >>> isinstance(selection.calibration_, StabilityCalibration), selection.calibration_.threshold
    (True, 0.75)
    """

    param_value: Any
    threshold: float
    score: float
    scores: Floats
    errors: Floats
    param_values: Any
    thresholds: Floats
    sizes: Floats
    pfer: float | None


def counts_between(n_halves: int, least: float, most: float) -> Counts:
    """Counts from which a feature is in: all those whose shares lie within these limits, or the next one above."""
    first, last = int(np.ceil(least * n_halves - 1e-9)), int(most * n_halves + 1e-9)
    return np.arange(first, max(first, last) + 1)


def calibration_scores(path: Floats, n_halves: int, reached: Counts) -> Floats:
    """Score of each penalty (rows) and each count from which a feature is in (columns), equation 2 of B.

    In: at least c of the K halves; out: at most K − c; unstable between these.
    """
    counts = np.rint(path * n_halves).astype(np.intp).T
    n_in = (counts[:, :, None] >= reached).sum(axis=1)
    n_out = (counts[:, :, None] <= n_halves - reached).sum(axis=1)
    n_unstable = path.shape[0] - n_in - n_out
    logs = _log_probabilities(path.sum(axis=0) / path.shape[0], n_halves, reached)
    numbers = (n_in, n_unstable, n_out)
    # What happens to no feature adds nothing, however improbable.
    terms = [
        np.multiply(number, log, out=np.zeros_like(log), where=number > 0)
        for number, log in zip(numbers, logs, strict=True)
    ]
    return np.asarray(-np.sum(terms, axis=0))


def _log_probabilities(
    shares: Floats, n_halves: int, reached: Counts
) -> tuple[Floats, Floats, Floats]:
    """Logarithms of the probabilities that a feature is in, unstable or out by chance."""
    share, point = shares[:, None], np.arange(n_halves + 1)
    log_mass = binom.logpmf(point, n_halves, share)
    between = [logsumexp(log_mass[:, n_halves - c + 1 : c], axis=1) for c in reached]
    return (
        binom.logsf(reached - 1, n_halves, share),
        np.stack(between, axis=1),
        binom.logcdf(n_halves - reached, n_halves, share),
    )


def best_cell(scores: Floats, allowed: NDArray[np.bool_]) -> tuple[int, int]:
    """Row and column of the largest score among those that are allowed; of equal ones the first."""
    place = int(np.where(allowed, scores, -np.inf).argmax())
    return place // scores.shape[1], place % scores.shape[1]


def warn_at_edge(
    row: int, column: int, shape: tuple[int, ...], *, at_one: bool
) -> None:
    """Warn where the choice is the first or the last of several values or thresholds; beyond 1 there is nothing."""
    inside = {
        "param_values": 0 < row < shape[0] - 1,
        "thresholds": 0 < column < shape[1] - (not at_one),
    }
    edges = [
        name
        for name, size in zip(inside, shape, strict=True)
        if size > 1 and not inside[name]
    ]
    if edges:
        warn_user(
            f"the calibration chose an end of the {' and of the '.join(edges)}: a better choice may lie beyond",
        )

"""The stability that estimates are about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skstab._checks import naming
from skstab._typing import FloatArray
from skstab._warnings import warn_user


def population_stability(probabilities: ArrayLike) -> float:
    """Stability of a selector that selects each feature with a known probability.

    It is what :func:`nogueira_stability` estimates: the value for infinitely many runs. It serves simulations, in which
    the probabilities are chosen, and answers what a stability would be if features were selected thus.

    Parameters
    ----------
    probabilities : array-like of shape (n_features,)
        The probability with which a run selects each feature, from 0 to 1. Whether the selections of different
        features depend on each other does not matter.

    Returns
    -------
    stability : float
        From 0, when all probabilities are equal, to 1, when all are 0 or 1.

    Warns
    -----
    RuntimeWarning
        Where all probabilities are 0, or all are 1: there is nothing to choose, and the value is 1 by convention.

    Notes
    -----
    Φ = 1 − mean(p (1 − p)) / (p̄ (1 − p̄)), theorem 7 of [1]_: the variance of the probabilities between the features
    over the largest that it can be at their mean. The frequencies of M runs in place of the probabilities give a value
    that is too large, as each varies around its probability: :func:`nogueira_stability` corrects this.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    Ten features in nine of ten runs, and each of ninety others in one of twenty:

    >>> import numpy as np
    >>> from skstab.metrics import nogueira_stability, population_stability
    >>> probabilities = np.repeat([0.9, 0.05], [10, 90])
    >>> round(population_stability(probabilities), 3)
    0.557
    >>> runs = np.random.default_rng(0).random((10_000, 100)) < probabilities
    >>> round(nogueira_stability(runs), 3)
    0.556
    """
    p = _check_probabilities(probabilities)
    mean = p.mean()
    largest = mean * (1 - mean)
    if largest == 0:
        warn_user(
            "probabilities leave nothing to choose: the stability is 1 by convention",
            RuntimeWarning,
        )
        return 1.0
    return float(np.clip(p.var() / largest, 0, 1))


def _check_probabilities(probabilities: Any) -> FloatArray:
    with naming("probabilities"):
        p = np.asarray(probabilities)
    if p.ndim != 1 or p.size == 0 or p.dtype.kind not in "buif":
        raise ValueError(
            f"probabilities must be one number for each feature, got {p.dtype} of shape {p.shape}"
        )
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("probabilities must be from 0 to 1")
    return p.astype(np.float64)

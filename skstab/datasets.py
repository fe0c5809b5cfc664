"""Generators of the artificial data of the papers."""

from __future__ import annotations

from typing import Any

import numpy as np

from skstab._checks import check_int, check_number
from skstab._random import check_rng
from skstab._typing import FloatArray, IntArray, RandomState

__all__ = ["make_correlated_groups", "make_redundant_classification", "make_survival"]


def _correlated(rng: Any, n_samples: int, n_features: int, correlation: float) -> Any:
    """Normal features of unit variance that all have the same correlation, by one shared factor."""
    shared = rng.standard_normal((n_samples, 1))
    own = rng.standard_normal((n_samples, n_features))
    return np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own


def make_redundant_classification(
    n_samples: int = 2000,
    *,
    n_features: int = 100,
    n_relevant: int = 50,
    redundancy: float = 0.0,
    random_state: RandomState = None,
) -> tuple[FloatArray, IntArray]:
    """Two classes whose relevant features have a given redundancy.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows, half of them of each class.
    n_features : int, default=100
        Number of features.
    n_relevant : int, default=50
        Number of features, the first ones, whose mean is 1 in the positive class and −1 in the negative one; the others
        are noise.
    redundancy : float, default=0.0
        Correlation between any two relevant features within a class, the paper's ρ.
    random_state : int, RandomState instance or None, default=None
        Random seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The features.
    y : ndarray of shape (n_samples,)
        The classes, 0 and 1, in random order.

    Notes
    -----
    Section 6.1.1 of [1]_.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.datasets import make_redundant_classification
    >>> X, y = make_redundant_classification(200, redundancy=0.8, random_state=0)
    >>> X.shape, int(y.sum())
    ((200, 100), 100)
    """
    check_int(n_samples, "n_samples", least=2)
    check_int(n_relevant, "n_relevant", least=0)
    check_int(n_features, "n_features", least=max(1, n_relevant))
    check_number(redundancy, "redundancy", "between 0 and 1", least=0, most=1)
    rng = check_rng(random_state)
    y = rng.permutation(np.arange(n_samples) % 2)
    X = np.hstack(
        [
            _correlated(rng, n_samples, n_relevant, redundancy),
            rng.standard_normal((n_samples, n_features - n_relevant)),
        ]
    )
    X[:, :n_relevant] += np.where(y == 1, 1.0, -1.0)[:, None]
    return X, y


def make_correlated_groups(
    n_samples: int = 200,
    *,
    n_groups: int = 5,
    group_size: int = 10,
    n_others: int = 1000,
    group_mean: float = 0.35,
    other_mean: float = 0.05,
    correlation: float = 0.8,
    random_state: RandomState = None,
) -> tuple[FloatArray, IntArray, IntArray]:
    """Two classes with groups of correlated relevant features among weak ones.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows, half of them of each class.
    n_groups : int, default=5
        Number of groups of correlated features.
    group_size : int, default=10
        Number of features in each group, the paper's c.
    n_others : int, default=1000
        Number of independent features outside the groups.
    group_mean : float, default=0.35
        Mean of the features of the groups in the positive class; the negative class has its opposite.
    other_mean : float, default=0.05
        The same for the other features.
    correlation : float, default=0.8
        Correlation between the features of one group within a class.
    random_state : int, RandomState instance or None, default=None
        Random seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_groups * group_size + n_others)
        The features, the groups first.
    y : ndarray of shape (n_samples,)
        The classes, 0 and 1, in random order.
    groups : ndarray of shape (n_features,)
        A label for each feature: those of one group share it, every other feature has its own. For
        :func:`skstab.metrics.effective_stability`.

    Notes
    -----
    Section 5.3 of [1]_, whose three scenarios are (`group_mean`, `correlation`) = (0.35, 0.8), (0.5, 0.8) and
    (0.5, 0.95).

    References
    ----------
    .. [1] Hamer, V. and Dupont, P. (2021). An importance weighted feature selection stability measure. JMLR 22.

    Examples
    --------
    >>> from skstab.datasets import make_correlated_groups
    >>> X, y, groups = make_correlated_groups(group_size=4, n_others=100, random_state=0)
    >>> X.shape, groups[:9]
    ((200, 120), array([0, 0, 0, 0, 1, 1, 1, 1, 2]))
    """
    check_int(n_samples, "n_samples", least=2)
    for name, value in (
        ("n_groups", n_groups),
        ("group_size", group_size),
        ("n_others", n_others),
    ):
        check_int(value, name, least=0)
    for name, mean in (("group_mean", group_mean), ("other_mean", other_mean)):
        check_number(mean, name)
    check_number(correlation, "correlation", "between 0 and 1", least=0, most=1)
    rng = check_rng(random_state)
    y = rng.permutation(np.arange(n_samples) % 2)
    sign = np.where(y == 1, 1.0, -1.0)[:, None]
    parts = [
        _correlated(rng, n_samples, group_size, correlation) + group_mean * sign
        for _ in range(n_groups)
    ]
    parts.append(rng.standard_normal((n_samples, n_others)) + other_mean * sign)
    groups = np.concatenate(
        [np.repeat(np.arange(n_groups), group_size), n_groups + np.arange(n_others)]
    )
    return np.hstack(parts), y, groups


def make_survival(
    n_samples: int = 200,
    *,
    n_groups: int = 4,
    group_size: int = 5,
    n_others: int = 180,
    effect: float = 0.7,
    correlation: float = 0.7,
    censoring: float = 0.4,
    random_state: RandomState = None,
) -> tuple[Any, Any, Any]:
    """Survival times that depend on one feature of each of several correlated groups.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    n_groups : int, default=4
        Number of groups of correlated features. The first feature of each changes the hazard, in turn upwards and
        downwards; the others can stand in for it.
    group_size : int, default=5
        Number of features in each group.
    n_others : int, default=180
        Number of independent features outside the groups.
    effect : float, default=0.7
        Logarithm of the hazard ratio for one standard deviation of such a feature.
    correlation : float, default=0.7
        Correlation between the features of one group.
    censoring : float, default=0.4
        Expected share of rows whose event is not observed, at least 0 and below 1.
    random_state : int, RandomState instance or None, default=None
        Random seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_groups * group_size + n_others)
        The features, the groups first.
    y : structured array of shape (n_samples,)
        Fields `event`, whether it was observed, and `time`, when observation ended: as scikit-survival takes them.
    groups : ndarray of shape (n_features,)
        A label for each feature: those of one group share it, every other feature has its own.

    Notes
    -----
    Times follow a proportional hazards model with the baseline of a Weibull distribution of shape 1.5 and scale 1.
    Censoring is exponential and independent of everything else, at the rate that gives its expected share.

    Examples
    --------
    >>> from skstab.datasets import make_survival
    >>> X, y, groups = make_survival(100, random_state=0)
    >>> X.shape, y.dtype.names
    ((100, 200), ('event', 'time'))
    """
    check_int(n_samples, "n_samples", least=2)
    for name, value in (
        ("n_groups", n_groups),
        ("group_size", group_size),
        ("n_others", n_others),
    ):
        check_int(value, name, least=0)
    check_number(effect, "effect")
    check_number(correlation, "correlation", "between 0 and 1", least=0, most=1)
    check_number(censoring, "censoring", "at least 0 and below 1", least=0, below=1)
    rng = check_rng(random_state)
    parts = [
        _correlated(rng, n_samples, group_size, correlation) for _ in range(n_groups)
    ]
    X = np.hstack([*parts, rng.standard_normal((n_samples, n_others))])
    causes = X[:, : n_groups * group_size : group_size] if group_size else X[:, :0]
    with np.errstate(over="ignore", invalid="ignore"):
        log_hazard = (
            effect * causes @ np.where(np.arange(causes.shape[1]) % 2, -1.0, 1.0)
        )
        # S(t) = exp(−t^1.5·e^η), inverted at a uniform number.
        time = (rng.standard_exponential(n_samples) * np.exp(-log_hazard)) ** (1 / 1.5)
    if not (np.isfinite(time).all() and time.min() > 0):
        raise ValueError(
            f"effect must be closer to 0, since some times are 0 or infinite with it, got {effect!r}"
        )
    limit = rng.standard_exponential(n_samples) * _mean_limit(time, censoring)
    y = np.empty(n_samples, dtype=[("event", bool), ("time", np.float64)])
    y["event"], y["time"] = time <= limit, np.minimum(time, limit)
    groups = np.concatenate(
        [np.repeat(np.arange(n_groups), group_size), n_groups + np.arange(n_others)]
    )
    return X, y, groups


def _mean_limit(time: Any, share: float) -> float:
    """Mean of exponential limits of which a share is expected to come before these times."""
    if share == 0:
        return float("inf")
    from scipy.optimize import brentq

    highest = (
        -np.log1p(-share) / time.min()
    )  # rate at which even the shortest time is censored that often
    rate = float(
        brentq(lambda rate: np.mean(-np.expm1(-rate * time)) - share, 0.0, highest)
    )
    return 1 / rate if rate > 0 else float("inf")

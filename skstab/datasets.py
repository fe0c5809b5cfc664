"""Generators of the artificial data of the papers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["make_correlated_groups", "make_redundant_classification"]


def _correlated(rng: Any, n_samples: int, n_features: int, correlation: float) -> Any:
    """Normal features of unit variance that all have the same correlation, by one shared factor."""
    shared = rng.standard_normal((n_samples, 1))
    own = rng.standard_normal((n_samples, n_features))
    return np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}")


def _check_count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be an int of at least {least}, got {value!r}")


def make_redundant_classification(
    n_samples: int = 2000,
    *,
    n_features: int = 100,
    n_relevant: int = 50,
    redundancy: float = 0.0,
    random_state: Any = None,
) -> tuple[Any, Any]:
    """Two classes whose relevant features are more or less redundant.

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
        Seed.

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
    _check_count("n_samples", n_samples, 2)
    _check_count("n_relevant", n_relevant, 0)
    _check_count("n_features", n_features, max(1, n_relevant))
    _check_share("redundancy", redundancy)
    rng = check_random_state(random_state)
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
    random_state: Any = None,
) -> tuple[Any, Any, Any]:
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
        Seed.

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
    _check_count("n_samples", n_samples, 2)
    for name, value in (("n_groups", n_groups), ("group_size", group_size), ("n_others", n_others)):
        _check_count(name, value, 0)
    _check_share("correlation", correlation)
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_samples) % 2)
    sign = np.where(y == 1, 1.0, -1.0)[:, None]
    parts = [_correlated(rng, n_samples, group_size, correlation) + group_mean * sign for _ in range(n_groups)]
    parts.append(rng.standard_normal((n_samples, n_others)) + other_mean * sign)
    groups = np.concatenate([np.repeat(np.arange(n_groups), group_size), n_groups + np.arange(n_others)])
    return np.hstack(parts), y, groups

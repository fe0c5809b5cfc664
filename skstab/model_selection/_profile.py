"""Stability for every number of features, from one ranking a resample."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from skstab.metrics import get_measure, stability_interval, stability_score
from skstab.model_selection._stability_cv import StabilityCV

if TYPE_CHECKING:
    import pandas as pd

_RANDOM_REPEATS = 20


class _RankingRuns(StabilityCV):
    """Runs whose importances rank all features, also those that a selector in them drops."""

    _zero_outside = False


def stability_profile(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    sizes: Sequence[int] | None = None,
    cv: Any = None,
    measure: Any = "nogueira",
    importance_getter: Any = "auto",
    confidence_level: float = 0.95,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> pd.DataFrame:
    """Stability of the top features, for every number of them, without fitting again.

    Parameters
    ----------
    estimator : estimator
        Anything with importances: each run is ranked by them once, and the top of the ranking is taken for every size.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,), default=None
        The target.
    sizes : sequence of int, default=None
        Numbers of features; None takes about 20 from 1 to all but one, evenly spaced in the logarithm.
    cv : int, cross-validation generator or iterable, default=None
        The resamples, as for :class:`StabilityCV`.
    measure : str, callable or measure, default="nogueira"
        A measure of sets.
    importance_getter : str or callable, default="auto"
        Where importances come from, as for :class:`StabilityCV`. For the complete ranking of an `RFE` that goes down to
        one feature, pass `lambda rfe: 1 / rfe.ranking_`.
    confidence_level : float, default=0.95
        Level of the jackknife intervals.
    n_jobs : int, default=None
        Number of runs at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of the resamples, of the order of features with equal importance, and of the random selector.

    Returns
    -------
    profile : DataFrame
        One row for each size: `stability` with its interval `low`, `high`, and `random`, the mean stability of
        selectors that choose as many features at random in as many runs.

    Notes
    -----
    Section 4.3 of [1]_. Features of equal importance are ordered at random in each run, as a selector that must choose
    some of them would: beyond the last feature with a weight the profile falls towards the random one.

    References
    ----------
    .. [1] Kalousis, A., Prados, J. and Hilario, M. (2007). Stability of feature selection algorithms: a study on
       high-dimensional spaces. Knowledge and Information Systems 12.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.feature_selection import SelectKBest
    >>> from skstab.model_selection import BootstrapSplit, stability_profile
    >>> X, y = make_classification(n_features=40, n_informative=4, n_redundant=0, random_state=0)
    >>> cv = BootstrapSplit(20, random_state=0)
    >>> selector = SelectKBest(k="all")
    >>> profile = stability_profile(selector, X, y, sizes=[2, 4, 20], cv=cv, measure="jaccard", random_state=0)
    >>> profile[["stability", "random"]].round(2)
          stability  random
    size
    2          0.81    0.04
    4          0.45    0.06
    20         0.44    0.34
    """
    import pandas as pd

    chosen = get_measure(measure)
    if chosen.kind != "subset":
        raise ValueError(f"measure must be a measure of sets, got {chosen.name!r} of kind {chosen.kind!r}")
    rng = check_random_state(random_state)
    runs = _RankingRuns(
        estimator,
        cv=cv,
        measure="spearman",
        importance_getter=importance_getter,
        n_jobs=n_jobs,
        random_state=rng.randint(2**31),
    )
    with warnings.catch_warnings():
        # The measure inside only asks for importances; it is not the user's.
        warnings.filterwarnings("ignore", message="all runs agree", category=RuntimeWarning)
        runs.fit(X, y)
    n_runs, d = runs.importances_.shape
    places = places_of(runs.importances_, rng)
    randoms = [places_of(np.zeros((n_runs, d)), rng) for _ in range(_RANDOM_REPEATS)]
    rows = []
    for size in _check_sizes(sizes, d):
        found = stability_interval(places < size, measure=chosen, confidence_level=confidence_level)
        baseline = np.mean([stability_score(random < size, measure=chosen) for random in randoms])
        rows.append(
            {"size": size, "stability": found.estimate, "low": found.low, "high": found.high, "random": baseline}
        )
    return pd.DataFrame(rows).set_index("size")


def places_of(importances: Any, rng: np.random.RandomState) -> Any:
    """Place of each feature in each run, 0 for the most important; equals in random order."""
    dense = importances.toarray() if issparse(importances) else importances
    order = np.lexsort((rng.random_sample(dense.shape), -dense), axis=1)
    places = np.empty(dense.shape, dtype=np.int64)
    np.put_along_axis(places, order, np.arange(dense.shape[1])[None, :], axis=1)
    return places


def _check_sizes(sizes: Sequence[int] | None, n_features: int) -> list[int]:
    if sizes is None:
        return [int(size) for size in np.unique(np.geomspace(1, max(n_features - 1, 1), 20).round())]
    checked = [int(size) for size in sizes if isinstance(size, Integral)]
    if not checked or len(checked) < len(sizes) or min(checked) < 1 or max(checked) > n_features:
        raise ValueError(f"sizes must be numbers of features from 1 to {n_features}, got {list(sizes)}")
    return checked

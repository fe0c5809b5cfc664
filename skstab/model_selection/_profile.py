"""Stability for every number of features, from one ranking per resample."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import is_classifier, is_regressor

from skstab._checks import check_run_settings, check_support_from, is_int, naming
from skstab._engine.candidates import lone_candidate
from skstab._engine.job import Job, Part
from skstab._engine.make import in_order, make, one_study
from skstab._engine.work import (
    RunPlan,
    collect,
    report_failures,
)
from skstab._random import check_rng, draw_entropy, random_parameters
from skstab._typing import CVLike, Estimator, MatrixLike, MeasureLike, RandomState
from skstab.metrics import get_measure, stability_interval, stability_score
from skstab.model_selection._resampling import splits_of, splitter_for
from skstab.model_selection._validation import (
    check_estimator,
    read_data,
)
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

_RANDOM_REPEATS = 20


@one_study()
def stability_profile(
    estimator: Estimator,
    X: MatrixLike,
    y: ArrayLike | None = None,
    *,
    sizes: Sequence[int] | None = None,
    cv: CVLike = None,
    measure: MeasureLike = "nogueira",
    importance_getter: str | Callable[..., Any] = "auto",
    support_from: str = "used",
    confidence_level: float = 0.95,
    groups: ArrayLike | None = None,
    checkpoint: str | PathLike[str] | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
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
    support_from : {"used", "selector"}, default="used"
        Taken as by the other functions, so that they can share their settings. It changes nothing here: the profile
        ranks all features by their importances, also those that a run did not select.
    confidence_level : float, default=0.95
        Level of the jackknife intervals.
    groups : array-like of shape (n_samples,), default=None
        Groups of rows (patients), for the splitter.
    checkpoint : str or path-like, default=None
        A file in which every finished run is stored, as for :class:`StabilityCV`.
    max_seconds : float, default=None
        Seconds that a run may take. One that takes longer is stopped, and has failed. With limits each run has a
        process of its own, which takes about a tenth of a second more.
    max_memory : int, default=None
        Bytes that a run may need beyond those that its process starts with; on Linux only.
    n_jobs : int, default=None
        Number of runs at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of the resamples, of the order of features with equal importance, and of the random selector.
    verbose : int, default=0
        From 1 on, a line on standard error says how far the runs are.

    Returns
    -------
    profile : DataFrame
        One row for each size: `stability` with its interval `low`, `high`, and `random`, the mean stability of
        selectors that choose as many features at random in as many runs. Its `attrs["suggested_size"]` is the size at
        which the plateau of the profile begins, see the notes; None where there is none.

    Notes
    -----
    Section 4.3 of [1]_. Features of equal importance are ordered at random in each run, as a selector that must choose
    some of them would: beyond the last feature with a weight the profile falls towards the random one.

    Where the profile reaches a plateau, further features are no longer chosen in an informative manner, and the paper
    proposes to stop there. The suggested size is the smallest one whose stability, beyond that of random selection and
    relative to the most there can be, (stability − random) / (1 − random), stays within its interval for all larger
    sizes up to twice as many features. It is a reading of the curve, not a test.

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
        raise ValueError(
            f"measure must be a measure of sets, got {chosen.name!r} of kind {chosen.kind!r}"
        )
    check_support_from(support_from)
    settings = check_run_settings(
        checkpoint=checkpoint,
        max_seconds=max_seconds,
        max_memory=max_memory,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    rng = check_rng(random_state)
    entropy = draw_entropy(rng.randint(2**31))
    ranked = _ranked_runs(
        estimator,
        X,
        y,
        cv=cv,
        importance_getter=importance_getter,
        entropy=entropy,
        groups=groups,
        **settings,
    )
    importances = ranked.table_for("pearson")
    n_runs, d = importances.shape
    places = places_of(importances, rng)
    randoms = [places_of(np.zeros((n_runs, d)), rng) for _ in range(_RANDOM_REPEATS)]
    rows = []
    for size in _check_sizes(sizes, d):
        with warnings.catch_warnings():
            # The best one or two features of many sizes take turns; one warning for each says nothing of the curve.
            warnings.filterwarnings(
                "ignore", "nearly all variation between the runs", UserWarning
            )
            found = stability_interval(
                places < size, measure=chosen, confidence_level=confidence_level
            )
        baseline = np.mean(
            [stability_score(random < size, measure=chosen) for random in randoms]
        )
        rows.append(
            {
                "size": size,
                "stability": found.estimate,
                "low": found.low,
                "high": found.high,
                "random": baseline,
            }
        )
    profile = pd.DataFrame(rows).set_index("size")
    profile.attrs["suggested_size"] = plateau_of(profile)
    return profile


def plateau_of(profile: pd.DataFrame) -> int | None:
    """Smallest size whose stability beyond chance stays within its interval up to twice the size."""
    sizes, random = profile.index.to_numpy(), profile["random"].to_numpy()
    room = np.where(random < 1, 1 - random, np.nan)
    excess, low, high = (
        (profile[name].to_numpy() - random) / room
        for name in ("stability", "low", "high")
    )
    for place, size in enumerate(sizes):
        later = (sizes > size) & (sizes <= 2 * size)
        if (
            later.any()
            and ((excess[later] >= low[place]) & (excess[later] <= high[place])).all()
        ):
            return int(size)
    return None


def _ranked_runs(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any,
    importance_getter: Any,
    entropy: Any,
    groups: Any,
    **settings: Any,
) -> Runs:
    """Make runs whose importances rank all features, also those that a selector in them drops."""
    check_estimator(estimator)
    X, y = read_data(X, y, needs_classes=not is_regressor(estimator))
    splitter = splitter_for(
        cv,
        y,
        classifier=is_classifier(estimator),
        grouped=groups is not None,
        entropy=entropy,
    )
    params = {} if groups is None else {"groups": groups}
    splits = splits_of(splitter, X, y, params)
    names = random_parameters(estimator, everywhere=False)
    plan = RunPlan(
        estimator,
        importance_getter=importance_getter,
        zero_outside=False,
    )
    part = Part(y, splits, entropy)
    job = Job(plan, [lone_candidate(estimator, names)], X, [part])
    about = f"stability_profile of {type(estimator).__name__}"
    found = make(job, about=about, **settings)
    made = [run[0] for _, run in in_order(job, found)]
    runs = collect(
        made,
        plan,
        splits,
        n_rows=X.shape[0],
        n_features=X.shape[1],
        estimator_name=type(estimator).__name__,
    )
    with naming("estimator", "X", "y"):
        report_failures(made, len(runs), plan.error_score)
    return runs


def places_of(importances: Any, rng: np.random.RandomState) -> Any:
    """Place of each feature in each run, 0 for the most important; equals in random order."""
    dense = importances.toarray() if issparse(importances) else importances
    order = np.lexsort((rng.random_sample(dense.shape), -dense), axis=1)
    places = np.empty(dense.shape, dtype=np.int64)
    np.put_along_axis(places, order, np.arange(dense.shape[1])[None, :], axis=1)
    return places


def _check_sizes(sizes: Sequence[int] | None, n_features: int) -> list[int]:
    if sizes is None:
        return [
            int(size)
            for size in np.unique(np.geomspace(1, max(n_features - 1, 1), 20).round())
        ]
    with naming("sizes"):
        listed = list(sizes)
    if not listed or not all(is_int(size, 1, n_features) for size in listed):
        raise ValueError(
            f"sizes must be numbers of features from 1 to {n_features}, got {listed}"
        )
    return [int(size) for size in listed]

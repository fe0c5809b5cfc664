"""Several selectors on the same resamples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab._checks import check_run_settings, check_support_from, is_estimator
from skstab._engine.candidates import lone_candidate
from skstab._engine.job import Part
from skstab._engine.make import one_study
from skstab._engine.work import RunPlan
from skstab._random import draw_entropy, random_parameters
from skstab._typing import (
    CVLike,
    Estimator,
    MatrixLike,
    MeasureLike,
    RandomState,
    Scorer,
)
from skstab._warnings import warn_user
from skstab.metrics import get_measure
from skstab.model_selection._assess import halves_part, plan_of, ranked_plan
from skstab.model_selection._comparison import SelectorComparison
from skstab.model_selection._dummy import dummy_scores
from skstab.model_selection._recommend import check_margin
from skstab.model_selection._resampling import is_labelled, splits_of, splitter_for
from skstab.model_selection._scoring import check_no_measure
from skstab.model_selection._search_runs import runs_of
from skstab.model_selection._stability_cv import StabilityCV
from skstab.model_selection._validation import check_number_of_pairs, read_data
from skstab.runs import Runs

__all__ = ["compare_selectors", "named_estimators"]

_LEAST_PAIRS = 3


@one_study()
def compare_selectors(
    selectors: Mapping[str, Estimator] | Sequence[Estimator],
    X: MatrixLike,
    y: ArrayLike | None = None,
    *,
    cv: CVLike = None,
    scoring: str | Scorer | None = None,
    measure: MeasureLike = "nogueira",
    margin: float | Literal["one_se"] = "one_se",
    n_pairs: int = 16,
    support_from: str = "used",
    groups: ArrayLike | None = None,
    checkpoint: str | PathLike[str] | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
    on_progress: Callable[[str], None] | None = None,
) -> SelectorComparison:
    """Run several selectors on the same resamples and compare their stability and their scores.

    Parameters
    ----------
    selectors : dict or list of estimators
        At least two selectors, by name, each of a kind that :class:`StabilityCV` wraps; those of a list are called by
        their class. Where `scoring` is a name, a model is put behind selectors that do not predict: standardised
        features and a logistic regression for classes, a ridge regression for numbers. Without `scoring`, selectors
        that do not predict are compared by their stability alone.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,), default=None
        The target.
    cv : int, cross-validation generator or iterable, default=None
        The resamples; None takes 50 bootstrap samples, stratified for classifiers.
    scoring : str or callable, default=None
        How each run is scored on the rows it left out; None takes the `score` method of the estimators.
    measure : str, callable or Measure, default="nogueira"
        The measure of stability.
    margin : "one_se" or float, default="one_se"
        Loss of score that :meth:`SelectorComparison.recommend` accepts for more stability: a number, or one standard
        error of the best score, and of the difference to it.
    n_pairs : int, default=16
        Number of pairs of disjoint halves, the same for all selectors, by which they are compared and ranked on other
        data: 0, or at least 3. None are run for a measure that :func:`skstab.metrics.replication_stability` refuses.
    support_from : {"used", "selector"}, default="used"
        What counts as selected in each run, as for :class:`StabilityCV`.
    groups : array-like of shape (n_samples,), default=None
        Groups of rows (patients) for the splitter, and for the tests of scores, in which groups are then the
        independent units.
    checkpoint : str or path-like, default=None
        A file in which every finished run is stored, as in :class:`StabilityCV`: repeating the call, also with further
        selectors, makes only the missing runs. Give `random_state` an int.
    max_seconds : float, default=None
        Seconds that a run may take. One that takes longer is stopped, and has failed. With limits each run has a
        process of its own, which takes about a tenth of a second more.
    max_memory : int, default=None
        Bytes that a run may need beyond those that its process starts with; on Linux only.
    n_jobs : int, default=None
        Number of runs at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of the default resamples and of what is random in the selectors.
    verbose : int, default=0
        From 1 on, a line on standard error says how far the runs of each selector are.
    on_progress : callable, default=None
        Called with the name of each selector as soon as all its runs are done.

    Returns
    -------
    comparison : SelectorComparison
        With methods `frame()`, `replication()`, `pvalues("stability" | "score")`, `recommend()`, `overlap()`,
        `agreement()` and `plot()`, and the fitted :class:`StabilityCV` of each selector in `runs`, on halves in
        `halves`.

    Notes
    -----
    A run that fails is left out; tests between two selectors then use the resamples on which both succeeded.

    `stability` is that of resamples of this data set, and biased as an answer about other data, differently for
    different selectors: the less stable one can be significantly more stable there. `replication` compares the two
    halves of each pair, which are independent samples. A selector that fails on too many halves has none, and a
    warning says so.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skstab.model_selection import BootstrapSplit, compare_selectors
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selectors = {
    ...     "filter": make_pipeline(StandardScaler(), SelectKBest(k=8), LogisticRegression()),
    ...     "lasso": make_pipeline(
    ...         StandardScaler(), LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
    ...     ),
    ... }
    >>> found = compare_selectors(selectors, X, y, cv=BootstrapSplit(20, random_state=0), random_state=0)
    >>> found.frame()[["score", "stability", "replication", "n_features"]].round(2)
              score  stability  replication  n_features
    selector
    filter     0.95       0.95         0.86         8.0
    lasso      0.97       0.72         0.53         8.5
    """
    named = named_estimators(selectors)
    scorable = scoring is not None or all(
        hasattr(selector, "score") for selector in named.values()
    )
    _check_scoring(named, scoring, on_progress)
    chosen = get_measure(measure)
    check_number_of_pairs(n_pairs)
    check_support_from(support_from)
    settings = check_run_settings(
        checkpoint=checkpoint,
        max_seconds=max_seconds,
        max_memory=max_memory,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    margin = check_margin(margin)
    data, target = read_data(
        X, y, needs_classes=all(is_classifier(selector) for selector in named.values())
    )
    if isinstance(scoring, str):
        check_no_measure(scoring)
        named = {
            name: _predicting(selector, target) for name, selector in named.items()
        }
        for selector in named.values():
            check_scoring(selector, scoring=scoring)
    classifiers = all(is_classifier(selector) for selector in named.values())
    entropy = draw_entropy(random_state)
    splitter = splitter_for(
        cv,
        target,
        classifier=classifiers,
        grouped=groups is not None,
        entropy=entropy,
    )
    params = {} if groups is None else {"groups": groups}
    splits = splits_of(splitter, data, target, params)
    part = None
    if n_pairs and chosen.within_pairs is not None:
        with _warning_of("selectors are"):
            part = halves_part(
                data,
                target,
                n_pairs,
                classifier=classifiers,
                params=params,
                entropy=entropy,
            )
    runs: dict[str, StabilityCV] = {}
    halves: dict[str, Runs | None] = {}
    for name, selector in named.items():
        try:
            runs[name] = StabilityCV(
                clone(selector),
                cv=splits,
                scoring=scoring,
                measure=measure,
                support_from=support_from,
                random_state=random_state,
                **settings,
            ).fit(data, target)
        except (TypeError, ValueError) as error:
            error.add_note(f"This is of selectors[{name!r}].")
            raise
        if part is not None:
            plan = plan_of(selector, scoring, "auto", support_from, target)
            plan = ranked_plan(plan, target)
            with _warning_of(f"selector {name!r} is"):
                halves[name] = _on_halves(plan, data, part, runs[name], **settings)
        if on_progress is not None:
            on_progress(name)
    dummy = (
        dummy_scores(next(iter(named.values())), scoring, target, splits)
        if scorable
        else None
    )
    codes = (
        None
        if groups is None
        else np.unique(np.asarray(groups), return_inverse=True)[1]
    )
    return SelectorComparison(
        runs,
        measure,
        margin=margin,
        dummy=dummy,
        groups=codes,
        halves=None if part is None else halves,
    )


@contextmanager
def _warning_of(what: str) -> Iterator[None]:
    """Halves that can't be drawn or fitted are missing, and a warning says so."""
    try:
        yield
    except ValueError as error:
        warn_user(f"{what} not compared on other data: {error}")


def _on_halves(
    plan: RunPlan, X: Any, part: Part, fitted: StabilityCV, **settings: Any
) -> Runs:
    names = random_parameters(plan.estimator, everywhere=False)
    candidates = [lone_candidate(plan.estimator, names)]
    columns = list(fitted.runs_.feature_names)
    about = f"compare_selectors of {type(plan.estimator).__name__}, halves"
    (runs,) = runs_of(plan, candidates, X, part, columns, about=about, **settings)
    n_complete = len(runs.in_pairs()) // 2
    if n_complete < _LEAST_PAIRS:
        raise ValueError(f"only {n_complete} pairs of halves could be fitted")
    return runs


def named_estimators(selectors: Any, argument: str = "selectors") -> dict[Any, Any]:
    """Return estimators by name: those of a list by their class, numbered where it occurs more than once."""
    if isinstance(selectors, Mapping):
        named = dict(selectors)
    elif isinstance(selectors, Sequence) and not isinstance(selectors, str):
        names = [type(selector).__name__.lower() for selector in selectors]
        counts, seen = Counter(names), Counter[str]()
        named = {}
        for name, selector in zip(names, selectors, strict=True):
            seen[name] += 1
            named[name if counts[name] == 1 else f"{name}-{seen[name]}"] = selector
    else:
        named = {}
    if len(named) < 2 or not all(map(is_estimator, named.values())):
        raise ValueError(
            f"{argument} must be a dict or list of at least 2 estimators, got {selectors!r}"
        )
    return named


def _check_scoring(named: dict[Any, Any], scoring: Any, on_progress: Any) -> None:
    if not (on_progress is None or callable(on_progress)):
        raise TypeError(f"on_progress must be None or callable, got {on_progress!r}")
    if scoring is not None and not (isinstance(scoring, str) or callable(scoring)):
        raise ValueError(
            f"scoring must be None, a string or a callable, since one score is compared; got {scoring!r}"
        )
    without = [
        name for name, selector in named.items() if not hasattr(selector, "score")
    ]
    if scoring is None and 0 < len(without) < len(named):
        raise ValueError(
            f"selectors must all have a score, but selector {without[0]!r} has no score: put a model behind it in a "
            "pipeline, or name a scoring, for which one is put behind it"
        )


def _predicting(selector: Any, y: Any) -> Any:
    """Put a model behind a selector that does not predict."""
    if hasattr(selector, "predict") or y is None:
        return selector
    model = LogisticRegression(max_iter=1000) if is_labelled(y) else Ridge()
    return make_pipeline(selector, StandardScaler(), model)

"""Stability as a score: scorers that read a fitted `StabilityCV`, for searches of scikit-learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skstab._checks import is_choice, is_int, naming
from skstab._pipelines import find_part
from skstab._random import check_rng
from skstab._typing import CVLike, FloatArray, MeasureLike, RandomState
from skstab._warnings import warn_user
from skstab.metrics import Measure, StabilityInterval, get_measure
from skstab.model_selection._score_tests import score_error
from skstab.model_selection._stability_cv import StabilityCV
from skstab.model_selection._validation import check_jobs
from skstab.runs import Runs


def _require_runs(estimator: Any) -> StabilityCV:
    runs: StabilityCV | None = find_part(
        estimator, lambda part: isinstance(part, StabilityCV)
    )
    if runs is None:
        name = type(estimator).__name__
        raise ValueError(
            f"estimator {name} holds no StabilityCV, and stability is a property of many fits: search over "
            f"StabilityCV({name}(...)), with parameters named estimator__..., or pass cv to make_stability_scorer"
        )
    check_is_fitted(runs)
    return runs


def _oriented(
    interval: StabilityInterval, measure: Measure
) -> tuple[float, float, float]:
    """Estimate and ends so that more is better: an entropy is negated, as scikit-learn does with losses."""
    if measure.higher_is_better:
        return interval.estimate, interval.low, interval.high
    return -interval.estimate, -interval.high, -interval.low


@dataclass(frozen=True)
class StabilityScorer:
    """A scorer; made by `make_stability_scorer`."""

    measure: Any
    bound: str | None
    cv: Any
    n_jobs: int | None
    random_state: Any

    def __call__(self, estimator: Any, X: Any = None, y: Any = None) -> float:
        """Return the stability of a fitted estimator; X and y matter only where `cv` is given."""
        runs = (
            _require_runs(estimator)
            if self.cv is None
            else self._runs_of(estimator, X, y)
        )
        measure = get_measure(self.measure)
        estimate, low, high = _oriented(runs.runs_.estimate(measure), measure)
        return {None: estimate, "low": low, "high": high}[self.bound]

    def _runs_of(self, estimator: Any, X: Any, y: Any) -> StabilityCV:
        fresh = StabilityCV(
            clone(estimator),
            cv=self.cv,
            measure=self.measure,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        return fresh.fit(X, y)


def make_stability_scorer(
    measure: MeasureLike = "nogueira",
    *,
    bound: Literal["low", "high"] | None = None,
    cv: CVLike = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> StabilityScorer:
    """Make a scorer of the stability of what is searched over.

    Parameters
    ----------
    measure : str, callable or measure, default="nogueira"
        A name out of :func:`skstab.metrics.measure_table`, or anything that :func:`skstab.metrics.get_measure` accepts.
        A measure for which less is better is negated.
    bound : {"low", "high"} or None, default=None
        Whether to score the lower or upper end of the 95% jackknife interval instead of the estimate. The lower end
        prefers stability that is beyond doubt.
    cv : int, cross-validation generator or iterable, default=None
        None reads the runs of the fitted :class:`StabilityCV` that the estimator is, holds as a step, or found best.
        Otherwise the scorer clones the estimator and resamples the rows *that it is shown*: in a search these are the
        test rows of each split, few, and different from those the model was trained on. It serves estimators that are
        not wrapped, at the price of as many more fits.
    n_jobs : int, default=None
        Number of runs at the same time, where `cv` is given.
    random_state : int, RandomState instance or None, default=None
        Seed of these runs.

    Returns
    -------
    scorer : callable
        With the signature `scorer(estimator, X, y)`.

    See Also
    --------
    stability_scoring : Several measures and the scores of the resamples at once.
    StabilitySearchCV : A search by score and stability over an estimator as it is.

    Notes
    -----
    A scorer sees one fitted model, and stability is a property of many fits. `GridSearchCV(pipe, grid, ...)` with
    `scoring="nogueira"`, with this scorer, or with `cv=StabilityCV(...)` therefore cannot work: search over
    `StabilityCV(pipe)`, whose parameters are named `estimator__...`, as in the example, or use
    :class:`StabilitySearchCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import Lasso
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skstab.model_selection import BootstrapSplit, StabilityCV, make_stability_scorer
    >>> X, y = make_regression(n_features=20, n_informative=3, noise=20, random_state=0)
    >>> runs = StabilityCV(Lasso(), cv=BootstrapSplit(20, random_state=0))
    >>> scoring = {"r2": "r2", "stability": make_stability_scorer()}
    >>> grid = {"estimator__alpha": [0.1, 1.0, 10.0]}
    >>> search = GridSearchCV(runs, grid, scoring=scoring, refit="stability", cv=3).fit(X, y)
    >>> search.best_params_
    {'estimator__alpha': 10.0}
    """
    get_measure(measure)
    if not (bound is None or is_choice(bound, "low", "high")):
        raise ValueError(f"bound must be None, 'low' or 'high', got {bound!r}")
    if not (
        cv is None or is_int(cv, 2) or hasattr(cv, "split") or isinstance(cv, Iterable)
    ):
        raise ValueError(
            f"cv must be None, an int of at least 2, a splitter or an iterable of splits, got {cv!r}"
        )
    check_jobs(n_jobs)
    check_rng(random_state)
    return StabilityScorer(measure, bound, cv, n_jobs, random_state)


@dataclass(frozen=True)
class StabilityScoring:
    """A multi-metric scorer; made by `stability_scoring`."""

    measures: tuple[Any, ...]
    scoring: tuple[str, ...] | None

    def __call__(
        self,
        estimator: Any,
        X: Any = None,  # noqa: ARG002
        y: Any = None,  # noqa: ARG002
    ) -> dict[str, float]:
        """Return all that a search should tabulate of a fitted estimator; X and y are not used."""
        runs = _require_runs(estimator)
        return tabulated(
            runs.runs_,
            self._score_names(runs),
            [get_measure(measure) for measure in self.measures],
        )

    def _score_names(self, runs: StabilityCV) -> Sequence[str]:
        if self.scoring is None:
            return list(runs.scores_)
        missing = [name for name in self.scoring if name not in runs.scores_]
        if missing:
            raise ValueError(
                f"scoring names {missing}, but the resamples were scored by {sorted(runs.scores_)}; set the parameter "
                "scoring of StabilityCV"
            )
        return self.scoring


def tabulated(
    runs: Runs,
    scores: Sequence[str],
    measures: Sequence[Measure],
    losses: Mapping[str, FloatArray] | None = None,
) -> dict[str, float]:
    """What a search tabulates of the runs of one candidate; `losses` are those of the rows, where runs have none."""
    known = runs.row_losses if losses is None else losses
    parts = [
        mean_and_error(name, runs.scores[name], known.get(name)) for name in scores
    ]
    parts += [_measured(runs, measure) for measure in measures]
    parts.append({"n_features": float(np.sum(runs.frequencies()))})
    names = Counter(name for part in parts for name in part)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise ValueError(
            f"scores and measures must be tabulated under different names, got {twice} twice"
        )
    return {name: value for part in parts for name, value in part.items()}


def mean_and_error(
    name: str, scores: FloatArray, losses: FloatArray | None
) -> dict[str, float]:
    """Mean of the scores that are known, and its standard error as an estimate for other data sets."""
    known = scores[~np.isnan(scores)]
    mean = float(known.mean()) if known.size else np.nan
    return {name: mean, f"{name}_se": score_error(scores, losses)}


def _measured(runs: Runs, measure: Measure) -> dict[str, float]:
    interval = _interval_where_defined(runs, measure)
    estimate, low, high = _oriented(interval, measure)
    name = column_name(measure)
    return {
        name: estimate,
        f"{name}_low": low,
        f"{name}_high": high,
        f"{name}_se": interval.standard_error,
    }


def _interval_where_defined(runs: Runs, measure: Measure) -> StabilityInterval:
    """Interval, or NaN with a warning where sizes vary and the measure does not allow it: other candidates may not."""
    defined = measure.properties is None or measure.properties.fully_defined
    if defined or np.ptp(np.asarray(runs.tables.supports.sum(axis=1))) == 0:
        return runs.estimate(measure)
    warn_user(
        f"the {measure.name} measure is not defined for runs that select different numbers of features, and missing "
        "for this candidate; use 'nogueira'"
    )
    return StabilityInterval(np.nan, np.nan, np.nan, np.nan, "jackknife", 0.95)


def column_name(measure: Measure) -> str:
    """Name under which a measure is tabulated."""
    return measure.name if measure.higher_is_better else f"neg_{measure.name}"


def listed_measures(measures: MeasureLike | Sequence[MeasureLike]) -> list[MeasureLike]:
    """List one or several measures, which must be tabulated under different names."""
    with naming("measures"):
        chosen = (
            [measures]
            if isinstance(measures, str) or callable(measures)
            else list(measures)
        )
        names = [column_name(get_measure(measure)) for measure in chosen]
    if len(set(names)) < len(names):
        raise ValueError(f"measures must have different names, got {names}")
    return chosen


def stability_scoring(
    measures: MeasureLike | Sequence[MeasureLike] = ("nogueira",),
    *,
    scoring: str | Sequence[str] | None = None,
) -> StabilityScoring:
    """Make one scorer of everything that the runs of a `StabilityCV` say, for a search.

    Parameters
    ----------
    measures : str or sequence of measures, default=("nogueira",)
        Names out of :func:`skstab.metrics.measure_table`, or anything that :func:`skstab.metrics.get_measure` accepts.
    scoring : str or sequence of str, default=None
        Which scores of the resamples to tabulate, out of those that the parameter `scoring` of :class:`StabilityCV`
        computes; None takes them all.

    Returns
    -------
    scorer : callable
        With the signature `scorer(estimator, X, y)`. It returns a dict: for each score its mean over the resamples and
        its standard error as an estimate for other data (`accuracy`, `accuracy_se`): over rows where the score is a
        mean over rows, √(1/M + 0.2) standard deviations over the M resamples otherwise; for each measure its value,
        the ends of its 95% jackknife interval, which is about the resampling error, and its standard error
        (`nogueira`, `nogueira_low`, `nogueira_high`, `nogueira_se`); and `n_features`, the mean number of selected
        features. A measure for which less is better is negated and named accordingly (`neg_krizek`).

    See Also
    --------
    ParetoRefit : Choose a candidate by score and stability.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import Lasso
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skstab.model_selection import BootstrapSplit, ParetoRefit, StabilityCV, WholeSampleSplit, stability_scoring
    >>> X, y = make_regression(n_features=20, n_informative=3, noise=20, random_state=0)
    >>> runs = StabilityCV(Lasso(), cv=BootstrapSplit(20, random_state=0), scoring="r2")
    >>> search = GridSearchCV(
    ...     runs,
    ...     {"estimator__alpha": [0.1, 1.0, 10.0]},
    ...     cv=WholeSampleSplit(),
    ...     scoring=stability_scoring(["nogueira", "importance_weighted"]),
    ...     refit=ParetoRefit("r2", "nogueira", strategy="one_se"),
    ... ).fit(X, y)
    >>> [name for name in search.cv_results_ if name.startswith("mean_test")][:4]
    ['mean_test_r2', 'mean_test_r2_se', 'mean_test_nogueira', 'mean_test_nogueira_low']
    """
    chosen = listed_measures(measures)
    with naming("scoring"):
        scores = (
            None
            if scoring is None
            else (scoring,)
            if isinstance(scoring, str)
            else tuple(scoring)
        )
    if scores is not None and not all(isinstance(name, str) for name in scores):
        raise TypeError(f"scoring must be names of scores, got {scoring!r}")
    return StabilityScoring(tuple(chosen), scores)

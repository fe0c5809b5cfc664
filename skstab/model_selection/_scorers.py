"""Stability as a score: scorers for the searches of scikit-learn, and what they read out of their tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from secrets import randbits
from typing import Any, Literal
from weakref import WeakValueDictionary

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from skstab._checks import (
    check_run_settings,
    check_support_from,
    is_choice,
    is_int,
    naming,
)
from skstab._pipelines import find_part
from skstab._random import check_rng
from skstab._typing import (
    CVLike,
    FloatArray,
    MeasureLike,
    RandomState,
    ScoringLike,
)
from skstab._warnings import bounded, describe, warn_user
from skstab.metrics import Measure, StabilityInterval, get_measure
from skstab.model_selection._packing import PREFIX, pack
from skstab.model_selection._score_tests import score_error
from skstab.model_selection._scoring import (
    check_no_measure,
    score_names_of,
    scorer_of,
)
from skstab.model_selection._stability_cv import StabilityCV
from skstab.model_selection._validation import check_estimator
from skstab.runs import Runs, read_run, why_no_support


class Refusal:
    """What a scorer returns where there is nothing to score.

    scikit-learn turns what a scorer raises into a missing score with a warning; what is no number is an error, which
    shows its text.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __repr__(self) -> str:
        return self.reason

    def __float__(self, *_: Any) -> float:
        raise ValueError(self.reason)

    # What reckons with scores before it checks them: permutation_importance, LogisticRegressionCV.
    __add__ = __radd__ = __sub__ = __rsub__ = __float__


def _held_runs(estimator: Any) -> StabilityCV | None:
    """The fitted `StabilityCV` that an estimator is, holds as a step, or found best."""
    runs: StabilityCV | None = find_part(
        estimator, lambda part: isinstance(part, StabilityCV)
    )
    if runs is not None:
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
    support_from: str
    n_jobs: int | None
    random_state: Any

    def __call__(self, estimator: Any, X: Any = None, y: Any = None) -> Any:
        """Return the stability of a fitted estimator; X and y matter only where `cv` is given."""
        measure = get_measure(self.measure)
        runs = (
            _held_runs(estimator) if self.cv is None else self._runs_of(estimator, X, y)
        )
        if runs is None:
            return Refusal(_how_to_search(estimator, measure))
        estimate, low, high = _oriented(runs.runs_.estimate(measure), measure)
        return {None: estimate, "low": low, "high": high}[self.bound]

    def _runs_of(self, estimator: Any, X: Any, y: Any) -> StabilityCV:
        fresh = StabilityCV(
            clone(estimator),
            cv=self.cv,
            measure=self.measure,
            support_from=self.support_from,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        return fresh.fit(X, y)


def _how_to_search(estimator: Any, measure: Measure) -> str:
    check_estimator(estimator)
    name = type(estimator).__name__
    score = "accuracy" if is_classifier(estimator) else "r2"
    return (
        f"no stability: make_stability_scorer() reads the runs of a StabilityCV and {name} holds none. Stability is a "
        "property of many fits. Give the search these three lines:\n"
        "    cv=BootstrapSplit(50, random_state=0),\n"
        f"    scoring=stability_scoring({measure.name!r}, scoring={score!r}),\n"
        f"    refit=ParetoRefit({score!r}, {column_name(measure)!r}),\n"
        f"or search over StabilityCV({name}(...)), or pass cv to make_stability_scorer;"
    )


def make_stability_scorer(
    measure: MeasureLike = "nogueira",
    *,
    bound: Literal["low", "high"] | None = None,
    cv: CVLike = None,
    support_from: str = "used",
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
    support_from : {"used", "selector"}, default="used"
        What counts as selected in these runs, as for :class:`StabilityCV`.
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
    A scorer sees one fitted model, and stability is a property of many fits. A search over `pipe` itself with this
    scorer, without `cv`, is an error that says what to write: `scoring=stability_scoring(...)` with
    `refit=ParetoRefit(...)`, for the stability across the splits of the search. This scorer serves a search over
    `StabilityCV(pipe)`, whose parameters are named `estimator__...`, as in the first example; with `cv` it serves any
    estimator, as in the second one.

    Examples
    --------
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

    Without a wrapper, by further fits on the rows that each split shows to the scorer:

    >>> scorer = make_stability_scorer(cv=BootstrapSplit(20, random_state=0))
    >>> GridSearchCV(Lasso(), {"alpha": [1.0, 10.0]}, scoring=scorer, cv=3).fit(X, y).best_params_
    {'alpha': 10.0}
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
    check_support_from(support_from)
    check_run_settings(n_jobs=n_jobs)
    check_rng(random_state)
    return StabilityScorer(measure, bound, cv, support_from, n_jobs, random_state)


# The scorings of this process by their number, by which the table of a search names the one that it is of.
_SCORINGS: WeakValueDictionary[int, StabilityScoring] = WeakValueDictionary()
_TOLD: set[tuple[int, str]] = set()  # what was said of each of them


@dataclass(frozen=True)
class StabilityScoring:
    """A multi-metric scorer; made by `stability_scoring`."""

    measures: tuple[Any, ...]
    scoring: Any
    support_from: str = "used"
    number: int = field(
        default_factory=partial(randbits, 52), compare=False, repr=False
    )

    def __post_init__(self) -> None:
        _SCORINGS[self.number] = self

    def __reduce__(self) -> Any:
        # A copy is the same scoring, in another process too.
        return _scoring_again, tuple(vars(self).values())

    def __call__(
        self, estimator: Any, X: Any = None, y: Any = None, **params: Any
    ) -> dict[str, Any]:
        """Return all that a search should tabulate of a fitted estimator.

        Of a `StabilityCV` its scores and stabilities; of any other estimator its scores on these rows, and what it
        selected, as numbers.
        """
        runs = _held_runs(estimator)
        if runs is None:
            return self._packed(estimator, X, y, params)
        self._warn_if_nested(runs, X)
        return tabulated(
            runs.runs_,
            self._score_names(runs),
            [get_measure(measure) for measure in self.measures],
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where the parameters of the scorer go: to the scorers that `scoring` names."""
        router = MetadataRouter(owner=self)
        if self.scoring is None:
            return router
        mapping = MethodMapping().add(caller="score", callee="score")
        return router.add(
            scorer=scorer_of(self.scoring, None, np.nan), method_mapping=mapping
        )

    # -- any estimator -------------------------------------------------------------------------------------------------

    def _packed(
        self, estimator: Any, X: Any, y: Any, params: dict[str, Any]
    ) -> dict[str, Any]:
        kinds = {get_measure(measure).kind for measure in self.measures}
        try:
            reading = read_run(
                estimator, X, y, scale_importances=False, support_from=self.support_from
            )
        except ValueError as error:
            return {"score": Refusal(f"nothing selected: {error}")}
        if reading.selection.by_probing and not reading.keeps_all:
            self._tell_once(
                "the estimator does not say which features it uses, so the selection was found by probing the rows "
                "that each fit left out: with few of them, features are missed. StabilitySearchCV probes training rows"
            )
        if "subset" in kinds and reading.support is None:
            return {"score": Refusal(f"no support: {why_no_support(estimator)};")}
        weighted = kinds != {"subset"}
        if weighted and reading.selection.importances is None:
            why = reading.why_no_importances or f"{type(estimator).__name__} has none"
            return {"score": Refusal(f"no importances: {why};")}
        try:
            scores = self._scores(estimator, X, y, params)
        except (TypeError, ValueError) as error:  # a mistake in the call
            return {"score": Refusal(f"no score: {error};")}
        packed = pack(reading, scores, self.number, with_importances=weighted)
        return ScoresOfOneFit(packed)

    def _scores(
        self, estimator: Any, X: Any, y: Any, params: dict[str, Any]
    ) -> dict[str, float]:
        """Scores on rows; NaN with a warning where one fails, since a search could not tabulate the others then."""
        scorer = scorer_of(self.scoring, estimator, np.nan)
        if scorer is None:
            return {}
        target = () if y is None else (y,)
        try:
            found = scorer(estimator, X, *target, **params)
        except UnsetMetadataPassedError:  # a mistake in the call, the same in every run
            raise
        except Exception as error:  # noqa: BLE001  a score that fails is not a reason to lose the selection
            found = dict.fromkeys(score_names_of(self.scoring), describe(error))
        if not isinstance(found, dict):
            found = {score_names_of(self.scoring)[0]: found}
        for name, score in found.items():
            if isinstance(score, str):
                reason = bounded(score.strip().splitlines()[-1])
                warn_user(f"scoring failed, {name} is missing in this split: {reason}")
                found[name] = np.nan
        return found

    # -- a `StabilityCV` -----------------------------------------------------------------------------------------------

    def _warn_if_nested(self, runs: StabilityCV, X: Any) -> None:
        """Say once what it means to resample inside each split of a search."""
        counts = runs.runs_.row_counts
        whole = X is None or counts is None or np.shape(X)[:1] == counts.shape[1:]
        if not whole:
            self._tell_once(
                "the search has splits of its own, and StabilityCV makes all its runs in each of them: scores and "
                "stabilities are means over these, at as many times the cost. For those of all rows give the search "
                "cv=WholeSampleSplit()"
            )

    def _tell_once(self, message: str) -> None:
        if (self.number, message) not in _TOLD:
            _TOLD.add((self.number, message))
            warn_user(message)

    def _score_names(self, runs: StabilityCV) -> Sequence[str]:
        if self.scoring is None:
            return list(runs.scores_)
        names = (
            list(self.scoring)
            if not isinstance(self.scoring, str) and isinstance(self.scoring, Iterable)
            else list(score_names_of(self.scoring))
        )
        missing = [name for name in names if name not in runs.scores_]
        if missing:
            raise ValueError(
                f"scoring names {missing}, but the resamples were scored by {sorted(runs.scores_)}; set the parameter "
                "scoring of StabilityCV"
            )
        return names


def scoring_of_number(number: int) -> StabilityScoring | None:
    """The scoring of this process that has a number."""
    return _SCORINGS.get(number)


def _scoring_again(
    measures: tuple[Any, ...], scoring: Any, support_from: str, number: int
) -> StabilityScoring:
    known = scoring_of_number(number)
    return known or StabilityScoring(measures, scoring, support_from, number)


class ScoresOfOneFit(dict[str, float]):
    """What `stability_scoring` returns of one fit, of which no name alone can choose a candidate.

    The score of a search is that of its `refit`: of a `ParetoRefit`, the score that it chooses by.
    """

    def __missing__(self, refit: Any) -> float:
        name = getattr(refit, "score", None)
        if name not in self.keys():
            raise KeyError(refit)
        return self[name]

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str):
            score = name if name in self.keys() else self._first_score(name)
            raise ValueError(
                f"refit={name!r} would leave the stabilities out: write refit=ParetoRefit({score!r}, 'nogueira'), "
                "which reads them from the splits of the search and chooses, or refit=False"
            )
        return super().__contains__(name)

    def _first_score(self, otherwise: str) -> str:
        first = next(iter(self))
        return otherwise if first.startswith(PREFIX) else first

    def __repr__(self) -> str:
        return (
            f"several numbers, {super().__repr__()} (give stability_scoring(...) alone as scoring, and other scores "
            "as its own parameter scoring)"
        )


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
    if not names:
        raise ValueError(
            f"measures must be a measure or at least one in a sequence, got {measures!r}"
        )
    if len(set(names)) < len(names):
        raise ValueError(f"measures must have different names, got {names}")
    return chosen


def stability_scoring(
    measures: MeasureLike | Sequence[MeasureLike] = ("nogueira",),
    *,
    scoring: ScoringLike = None,
    support_from: str = "used",
) -> StabilityScoring:
    """Make one scorer of score and stability, for any search of scikit-learn.

    Parameters
    ----------
    measures : str or sequence of measures, default=("nogueira",)
        Names out of :func:`skstab.metrics.measure_table`, or anything that :func:`skstab.metrics.get_measure` accepts.
    scoring : str, callable, list, tuple or dict, default=None
        How each fit is scored on the rows it left out, as in :func:`~sklearn.model_selection.cross_validate`; None
        takes the `score` method of the estimator where it has one. In a search over a :class:`StabilityCV`: which
        scores of its resamples to tabulate, by name; None takes them all.
    support_from : {"used", "selector"}, default="used"
        What counts as selected, as for :class:`StabilityCV`, which has a parameter of its own.

    Returns
    -------
    scorer : callable
        With the signature `scorer(estimator, X, y)`. For a search over any estimator it returns the scores, the first
        one also as `score`, and what the fit selected as numbers: 52 features in each, and one more per feature where a
        measure of weights or ranks is asked for. :class:`ParetoRefit` as `refit` puts the stability across the splits
        of the search in their place; :func:`collect_runs` and :func:`search_table` read it where no `refit` can be
        given. Importances are the weights as fitted: put a `StandardScaler` before a linear model.

        For a :class:`StabilityCV` it returns for each score its mean over the resamples and its standard error as an
        estimate for other data (`accuracy`, `accuracy_se`): over rows where the score is a mean over rows,
        √(1/M + 0.2) standard deviations over the M resamples otherwise; for each measure its value, the ends of its 95%
        jackknife interval, which is about the resampling error, and its standard error (`nogueira`, `nogueira_low`,
        `nogueira_high`, `nogueira_se`); and `n_features`, the mean number of selected features. A measure for which
        less is better is negated and named accordingly (`neg_krizek`). Give that search `cv=WholeSampleSplit()`, unless
        nested resampling is meant.

    See Also
    --------
    ParetoRefit : Choose a candidate by score and stability.
    StabilitySearchCV : The same table in less time.

    Notes
    -----
    A fit that fails is left out of the stability, whatever `error_score` is; the scores of its candidate are what the
    search makes of `error_score`. A score that fails is missing, with a warning.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import Lasso
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skstab.model_selection import BootstrapSplit, ParetoRefit, stability_scoring
    >>> X, y = make_regression(n_features=20, n_informative=3, noise=20, random_state=0)
    >>> search = GridSearchCV(
    ...     Lasso(),
    ...     {"alpha": [0.1, 1.0, 10.0]},
    ...     cv=BootstrapSplit(20, random_state=0),
    ...     scoring=stability_scoring("nogueira", scoring="r2"),
    ...     refit=ParetoRefit("r2", "nogueira", strategy="one_se"),
    ... ).fit(X, y)
    >>> search.cv_results_["mean_test_nogueira"].round(2)
    array([0.  , 0.12, 0.91])
    >>> search.best_params_
    {'alpha': 1.0}

    The same resamples inside the estimator that is searched over:

    >>> from skstab.model_selection import StabilityCV, WholeSampleSplit
    >>> runs = StabilityCV(Lasso(), cv=BootstrapSplit(20, random_state=0), scoring="r2")
    >>> wrapped = GridSearchCV(
    ...     runs,
    ...     {"estimator__alpha": [0.1, 1.0, 10.0]},
    ...     cv=WholeSampleSplit(),
    ...     scoring=stability_scoring("nogueira"),
    ...     refit=ParetoRefit("r2", "nogueira", strategy="one_se"),
    ... ).fit(X, y)
    >>> wrapped.cv_results_["mean_test_nogueira"].round(2)
    array([0.  , 0.12, 0.91])
    """
    chosen = listed_measures(measures)
    check_support_from(support_from)
    check_no_measure(scoring)
    with naming("scoring"):
        if not (
            scoring is None or isinstance(scoring, str | Mapping) or callable(scoring)
        ):
            scoring = tuple(scoring)
    if isinstance(scoring, tuple) and not all(isinstance(n, str) for n in scoring):
        raise TypeError(f"scoring must be names of scores, got {scoring!r}")
    return StabilityScoring(tuple(chosen), scoring, support_from)

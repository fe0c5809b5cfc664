"""`StabilityCV`: an estimator that runs another one across resamples and keeps what each run selected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_regressor
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted, validate_data

from skstab._checks import is_int, is_real, naming, run_settings_of
from skstab._compat import (
    as_indexable,
    with_callbacks,
)
from skstab._displays import draw
from skstab._engine.candidates import lone_candidate
from skstab._engine.job import Job, Part, Place
from skstab._engine.keys import split_digest
from skstab._engine.make import make, one_study
from skstab._engine.outcomes import Run
from skstab._engine.row_scores import (
    probabilities_of,
    reads_probabilities,
    row_scores_of,
)
from skstab._engine.work import (
    RunPlan,
    collect,
    join_in_order,
    noise_scale,
    report_failures,
)
from skstab._pipelines import fitted
from skstab._random import draw_entropy, random_parameters, seeded
from skstab._routing import from_fit, routed_from_fit
from skstab._typing import (
    CVLike,
    Display,
    Estimator,
    FloatArray,
    IntArray,
    MatrixLike,
    MeasureLike,
    RandomState,
    ScoringLike,
)
from skstab._undo import despite_interrupts, left_as_it_was
from skstab.metrics import Measure, StabilityInterval, get_measure, stability_interval
from skstab.model_selection._meta_selector import MetaSelector
from skstab.model_selection._repr import beside_diagram
from skstab.model_selection._resampling import (
    classes_of,
    splits_of,
    warn_if_folds_overlap,
)
from skstab.model_selection._scoring import check_scorer, score_names_of
from skstab.model_selection._validation import check_rows, check_stability_cv
from skstab.model_selection._warm_start import (
    are_whole_batches,
    check_same_digests,
    check_same_splits,
    digests_of,
    in_batches,
)
from skstab.runs import Runs, why_no_support

if TYPE_CHECKING:
    import pandas as pd


class StabilityCV(
    MetaSelector,
):
    """Run a feature selector across resamples of the data, and keep what each run selected.

    The object is a selector and, where its estimator predicts, a predictor: use it as a step of a
    :class:`~sklearn.pipeline.Pipeline`, or search over the parameters of its estimator with
    :class:`~sklearn.model_selection.GridSearchCV`. It is a splitter, too, which can be given as `cv` of any search.

    Parameters
    ----------
    estimator : estimator
        A selector (`SelectFromModel`, `RFE`, `SelectKBest`, ...), a sparse model (`Lasso`, an L1 `LogisticRegression`,
        ...), another meta-estimator, or a :class:`~sklearn.pipeline.Pipeline` of scalers, selectors and a final model.
        The selection is always reported in terms of the columns of `X`: those that the selectors keep and that the
        final model, where it is sparse, does not drop. A model that drops nothing (ridge, a forest) and has no selector
        before it can be measured by its weights only. What declares nothing is read by what it does with some rows,
        see :func:`skstab.runs.selection_of`.
    cv : int, cross-validation generator or iterable, default=None
        How the rows of each run are chosen: a number of folds, a splitter, or an iterable of (train, test) indices, at
        least two. None takes 50 bootstrap samples, stratified for a classifier (or, with `perturb`, 50 times the whole
        sample).
    measure : str, callable or measure, default="nogueira"
        The measure of `stability_`: a name out of :func:`skstab.metrics.measure_table`, or anything that
        :func:`skstab.metrics.get_measure` accepts. Measures of weights see the importances, measures of rankings their
        ranks.
    scoring : str, callable, list, tuple or dict, default=None
        How each run is scored on the rows it left out, as in :func:`~sklearn.model_selection.cross_validate`. None
        takes the `score` method of the estimator where it has one.
    support : {"refit", "consensus"}, default="refit"
        What this selector itself selects: what `estimator_`, refitted on all rows, selected; or the features that at
        least a share `threshold` of the runs selected.
    support_from : {"used", "selector"}, default="used"
        What counts as selected in each run: the columns that reach the final model and that this model does not drop;
        or what the last selector of a pipeline kept, also where a sparse model after it drops some of these. See
        :func:`skstab.runs.selection_of`.
    threshold : float, default=0.5
        The share for `support="consensus"`.
    importance_getter : str or callable, default="auto"
        Where importances come from: "auto" (`coef_` or `feature_importances_` of the final model, else of the
        selector's inner model), an attribute path, or a callable that takes the fitted estimator; a callable with three
        required arguments gets the final model with the `X` and `y` that it was trained on. Several classes or outputs
        enter by their Euclidean norm.
    scale_importances : bool, default=True
        Whether importances from a `coef_` are multiplied by the standard deviation of the feature as the model saw it,
        so that they do not depend on its unit.
    perturb : None, float or "seed", default=None
        What else differs between the runs. A number adds Gaussian noise to the training rows, with a standard deviation
        of that many times the one of each feature. "seed" gives every `random_state` inside the estimator another seed
        in each run. With `cv=None` either is applied to the whole sample, which separates instability caused by the
        algorithm, or by noise, from instability caused by the sample.
    error_score : "raise" or number, default=np.nan
        A run whose fit fails is left out, counted in `n_failed_` and warned about; a score that fails has this value.
        A pipeline that can't be fitted since its selector keeps nothing is a run that selected nothing, without a
        score.
        "raise" raises instead.
    warm_start : bool, default=False
        Whether a further call to `fit` with more splits adds only the new runs. The data, the estimator and the first
        splits must be the same, and a call with others is refused where that shows (of `X`, some rows are compared):
        give `cv` an int `random_state`.
    target_width : float, default=None
        Stop as soon as the 95% jackknife interval of `measure` is this narrow, looking every 10 runs; `cv` then gives
        the most runs there may be. `n_splits_` says how many were made. None makes them all.
    return_estimators : bool, default=False
        Whether to keep the fitted estimator of each run in `estimators_`.
    checkpoint : str or path-like, default=None
        A file in which every finished run is stored as it arrives, so that repeating the call makes only the missing
        runs; it is made where there is none. Runs are found again by the data, the estimator, the parameters, the split
        and the seed: give `cv`, and this object where its estimator is random, an int `random_state`. Functions and
        classes count by their names, not by their code. Failed runs are kept, too. Several fits, also those of a search
        or an assessment, and several processes may share a file on a local disk.
    max_seconds : float, default=None
        Seconds that a run may take. One that takes longer is stopped, and has failed. With limits each run has a
        process of its own, which takes about a tenth of a second more.
    max_memory : int, default=None
        Bytes that a run may need beyond those that its process starts with; on Linux only.
    n_jobs : int, default=None
        Number of runs at the same time; None means 1 unless in a :func:`joblib.parallel_config` context.
    random_state : int, RandomState instance or None, default=None
        Seed of the default `cv`, of the noise, and of whatever has a parameter `random_state=None` inside the estimator
        (a splitter or a score function in there keeps its own randomness). An int gives the same result for any
        `n_jobs` and backend; only liblinear is not reproducible in several threads of one process.
    verbose : int, default=0
        From 1 on, a line on standard error says how far the runs are.

    Attributes
    ----------
    supports_ : ndarray of bool of shape (n_runs, n_features)
        What each run selected; for a model that drops nothing, the features with an importance other than zero. A
        `csr_array` only where the table would have more than 10**8 cells.
    importances_ : ndarray of shape (n_runs, n_features)
        How important each feature was in each run, not negative, zero outside the support; None for selectors without
        weights. A `csr_array` in the same cases.
    runs_ : Runs
        All that is known of the runs as one value, of which the other attributes are views; `runs_.coefs` has the
        signed coefficients of linear models with one output, runs × features.
    scores_ : dict of ndarray of shape (n_runs,)
        The scores of each run, by the name of the scorer (`score` for a callable or for `scoring=None`).
    stability_ : float
        The stability of the runs by `measure`.
    stability_interval_ : StabilityInterval
        The same with its 95% jackknife interval; the ends are NaN for two runs.
    selection_frequencies_ : ndarray of shape (n_features,)
        Share of the runs that selected each feature.
    estimator_ : estimator
        The estimator refitted on all rows; predictions are its.
    n_failed_ : int
        Number of runs that failed.
    n_splits_ : int
        Number of splits that were run, failed ones included.
    split_numbers_ : ndarray of int of shape (n_runs,)
        The number of the split that each run is of; those of failed runs are missing.
    fit_times_ : ndarray of shape (n_runs,)
        Seconds that each fit took.
    estimators_ : list of estimators
        The estimators of the runs, where `return_estimators=True`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where `X` has names that are all strings.
    classes_ : ndarray of shape (n_classes,)
        The class labels, where the estimator is a classifier.

    See Also
    --------
    skstab.metrics.stability_score : The stability of a table of runs.
    collect_supports : Supports of runs made elsewhere.

    Notes
    -----
    In a pipeline with a selector and a sparse model after it, a run has selected what the model uses: the features
    that the selector kept and that have a weight. A filter in front of a lasso does not hide what the lasso selected.
    Many papers count what the selector kept: `support_from="selector"`.

    `support="consensus"` changes what `transform` keeps, not how `predict` predicts, which is always by `estimator_`.
    To predict from the consensus alone, put the object before a model in a pipeline.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skstab.model_selection import StabilityCV
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1)
    >>> runs = StabilityCV(make_pipeline(StandardScaler(), lasso), random_state=0).fit(X, y)
    >>> print(f"{runs.stability_:.2f} ± {runs.stability_interval_.standard_error:.2f}")
    0.74 ± 0.02
    >>> runs.summary()["frequency"].nlargest(3)
    feature
    worst texture           1.00
    worst concave points    1.00
    mean concave points     0.96
    Name: frequency, dtype: float64
    >>> runs.get_feature_names_out()[:2]
    array(['mean concave points', 'radius error'], dtype=object)
    """

    _digests: dict[str, str | None]
    runs_: Runs
    estimators_: list[Any]

    def __init__(  # noqa: PLR0913  one for each setting, all but the first by name
        self,
        estimator: Estimator,
        *,
        cv: CVLike = None,
        measure: MeasureLike = "nogueira",
        scoring: ScoringLike = None,
        support: str = "refit",
        support_from: str = "used",
        threshold: float = 0.5,
        importance_getter: str | Callable[..., Any] = "auto",
        scale_importances: bool = True,
        perturb: float | Literal["seed"] | None = None,
        error_score: float | Literal["raise"] = np.nan,
        warm_start: bool = False,
        target_width: float | None = None,
        return_estimators: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        max_seconds: float | None = None,
        max_memory: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.measure = measure
        self.scoring = scoring
        self.support = support
        self.support_from = support_from
        self.threshold = threshold
        self.importance_getter = importance_getter
        self.scale_importances = scale_importances
        self.perturb = perturb
        self.error_score = error_score
        self.warm_start = warm_start
        self.target_width = target_width
        self.return_estimators = return_estimators
        self.checkpoint = checkpoint
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: MatrixLike, y: Any = None, **params: Any) -> Self:
        """Run the estimator on each resample, and refit it on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The target.
        **params : dict
            `groups` for the splitter; anything else, such as `sample_weight`, for the `fit` of the estimator. With
            metadata routing enabled, each goes where it was requested.

        Returns
        -------
        self : object
            The fitted object.
        """
        check_stability_cv(self)
        run_settings_of(self)
        # Only runs from which a warm start continues are kept of a fit that failed.
        with (
            left_as_it_was(
                self, unless=lambda: self.warm_start and hasattr(self, "runs_")
            ),
            one_study(self),
        ):
            self._fit(X, y, params)
        return self

    @with_callbacks
    def _fit(self, X: Any, y: Any, params: dict[str, Any]) -> None:
        measure = get_measure(self.measure)
        resuming = self.warm_start and hasattr(self, "runs_")
        if resuming and self.return_estimators and not hasattr(self, "estimators_"):
            raise ValueError(
                "return_estimators=True in a warm start, but the first runs did not keep theirs"
            )
        X, y = as_indexable(X, y)
        validate_data(self, X, skip_check_array=True, reset=not resuming)
        check_rows(X, y, needs_classes=not is_regressor(self.estimator))
        routed = routed_from_fit(self, params)
        digests = digests_of(self, X, y, routed.estimator.fit)
        if resuming:
            check_same_digests(self._digests, digests)
        else:
            self._start_anew(digests)
        plan = self._plan(X, y, routed)
        if not resuming:
            # Before the runs, so that errors in the data or the estimator are raised immediately.
            self._refit(X, y, plan, measure)
        split_params = routed.splitter.split
        splits = splits_of(
            self._splitter(y, grouped="groups" in split_params), X, y, split_params
        )
        if is_int(self.cv) and not resuming:
            warn_if_folds_overlap(splits)
        if not resuming:
            check_scorer(self.scoring, plan.scorer, self.estimator_, X, y, splits[0][1])
        self._run_until_narrow(plan, X, y, splits, measure)
        self._measure_name = measure.name
        self.__dict__.pop(
            "stability_interval_", None
        )  # the measure may be another one than last time
        self.stability_ = self.stability_interval_.estimate

    def _start_anew(self, digests: dict[str, str | None]) -> None:
        self._entropy, self._digests = draw_entropy(self.random_state), digests
        self._done: dict[int, bytes] = {}  # the digests of the splits that were run
        for name in ("runs_", "estimators_"):
            self.__dict__.pop(name, None)

    def _run_until_narrow(
        self, plan: RunPlan, X: Any, y: Any, splits: list[Any], measure: Measure
    ) -> None:
        """Run the splits that are missing: all of them, or in batches until the interval is narrow enough."""
        digests = [split_digest(*split) for split in splits]
        check_same_splits(self._done, digests)
        missing = [number for number in range(len(splits)) if number not in self._done]
        batches = [missing] if self.target_width is None else in_batches(missing)
        names = random_parameters(self.estimator, everywhere=self.perturb == "seed")
        part = Part(y, splits, self._entropy, wanted=missing)
        job = Job(plan, [lone_candidate(self.estimator, names)], X, [part])
        made: dict[int, Run] = {}

        def take_up() -> None:
            despite_interrupts(
                partial(self._take_up, made, plan, splits, digests, X.shape[0])
            )

        def rounds() -> Iterator[list[Place]]:
            for batch in batches:
                if self._is_narrow(measure):
                    return
                yield [Place(0, split) for split in batch]
                take_up()

        outcomes = make(
            job,
            owner=self,
            rounds=rounds(),
            **run_settings_of(self),
            about=f"StabilityCV of {type(self.estimator).__name__}",
        )
        try:
            with closing(outcomes):
                for place, run in outcomes:
                    made[place.split] = run[0]
        finally:  # what was made before an interrupt is kept
            take_up()
        self._report_failures([made[number] for number in sorted(made)])

    def _missing_score(self) -> float:
        return self.error_score if is_real(self.error_score) else np.nan

    def _take_up(
        self,
        made: dict[int, Run],
        plan: RunPlan,
        splits: list[Any],
        digests: list[bytes],
        n_rows: int,
    ) -> None:
        """Add runs to those there are."""
        numbers = sorted(made.keys() - self._done.keys())
        if not numbers:
            return
        new = [made[number] for number in numbers]
        part = collect(
            new, plan, splits, numbers=numbers, n_rows=n_rows, **self._declared
        )
        runs, order = join_in_order(
            getattr(self, "runs_", None), part, self._missing_score()
        )
        done = self._done | {number: digests[number] for number in numbers}
        models = [
            *getattr(self, "estimators_", []),
            *(run.estimator for run in new if run.fit_error is None),
        ]
        kept = (
            {"estimators_": [models[at] for at in order]}
            if self.return_estimators
            else {}
        )
        for name in (
            "stability_",
            "stability_interval_",
            *(() if kept else ("estimators_",)),
        ):
            self.__dict__.pop(name, None)
        self.__dict__.update(
            runs_=runs, _done=done, **kept
        )  # at once, so that an interrupt comes before or after it

    def _report_failures(self, made: list[Run]) -> None:
        if not made:
            return
        try:
            report_failures(made, len(self.runs_), self.error_score)
        except ValueError:
            del self.runs_  # nothing to continue from
            raise

    def _is_narrow(self, measure: Measure) -> bool:
        # The looks are at whole batches, wherever an earlier fit stopped.
        if (
            self.target_width is None
            or not are_whole_batches(self._done)
            or len(self.runs_) < 3
        ):
            return False
        interval = stability_interval(self.runs_, measure=measure)
        return interval.high - interval.low <= self.target_width

    def _plan(self, X: Any, y: Any, routed: Bunch) -> RunPlan:
        """Gather what all runs have in common."""
        return RunPlan(
            estimator=self.estimator,
            scoring=self.scoring,
            scorer=self._scorer(),
            score_names=score_names_of(self.scoring),
            row_scores=row_scores_of(self.scoring, self.estimator),
            keep_probabilities=reads_probabilities(self.scoring),
            fit_params=routed.estimator.fit,
            score_params=routed.scorer.score,
            importance_getter=self.importance_getter,
            scale_importances=self.scale_importances,
            support_from=self.support_from,
            error_score=self.error_score,
            perturb=self.perturb,
            noise=noise_scale(X, self.perturb) if is_real(self.perturb) else None,
            keep_estimators=self.return_estimators,
            classes=classes_of(self.estimator, y),
        )

    def _refit(self, X: Any, y: Any, plan: RunPlan, measure: Measure) -> None:
        names, seed = (
            random_parameters(self.estimator, everywhere=False),
            np.random.SeedSequence(self._entropy, spawn_key=(1,)),
        )
        with naming("estimator", "X", "y", *plan.fit_params):
            self.estimator_ = fitted(
                seeded(self.estimator, names, seed), X, y, **plan.fit_params
            )
        chosen = plan.read(self.estimator_, X, y).warned()
        self._declared = {
            "n_features": self.n_features_in_,
            "feature_names": getattr(self, "feature_names_in_", None),
            "refit": chosen.used,
            "refit_predictions": self._refit_predictions(X, plan),
            "why_no_support": why_no_support(self.estimator_)
            if chosen.keeps_all
            else None,
            "estimator_name": type(self.estimator_).__name__,
        }
        # An error where the measure compares what such runs do not have.
        Runs.from_selections([chosen], **self._declared).table_for(measure)

    def _refit_predictions(self, X: Any, plan: RunPlan) -> Any:
        """What the refit says of every row, where that is kept of the rows left out."""
        if plan.keep_probabilities:
            return probabilities_of(self.estimator_, X, plan.classes)
        if not plan.row_scores or not is_regressor(self.estimator):
            return None
        predictions = np.asarray(self.estimator_.predict(X))
        return predictions if predictions.ndim == 1 else None

    # -- the splitter --------------------------------------------------------------------------------------------------

    def split(
        self, X: MatrixLike, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the rows of each run, so that the object can be given as `cv` of any search.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The target.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows, for the splitter.

        Yields
        ------
        train : ndarray of int
            The rows that a run is trained on: with an int `random_state` those of `fit`.
        test : ndarray of int
            The rows that it leaves out.
        """
        if self.perturb is not None:
            raise ValueError(
                f"perturb must be None where a StabilityCV is the cv of a search, got {self.perturb!r}: a splitter "
                "only chooses rows"
            )
        X, y = as_indexable(X, y)
        params = {} if groups is None else {"groups": groups}
        splitter = self._splitter(
            y, grouped=bool(params), entropy=draw_entropy(self.random_state)
        )
        yield from splits_of(splitter, X, y, params)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of runs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), default=None
            The data; only some splitters ask for it.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The target; only some splitters ask for it.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows; only some splitters ask for them.

        Returns
        -------
        n_splits : int
            Number of splits that `split` yields.
        """
        return int(self._splitter(y).get_n_splits(X, y, groups))

    # -- the selector and the predictor --------------------------------------------------------------------------------

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        if self.support == "consensus":
            return self.selection_frequencies_ >= self.threshold
        return np.array(self.runs_.refit)

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimator_

    def _refitted(self) -> Any:
        return getattr(self, "estimator_", self.estimator)

    # -- what the runs say ---------------------------------------------------------------------------------------------

    @property
    def supports_(self) -> Any:
        """What each run selected, an ndarray up to 10**8 cells."""
        return self.runs_.supports

    @property
    def importances_(self) -> Any:
        """How important each feature was in each run, an ndarray up to 10**8 cells."""
        return self.runs_.importances

    @property
    def scores_(self) -> dict[str, FloatArray]:
        """The scores of each run, by name."""
        return self.runs_.scores

    @property
    def selection_frequencies_(self) -> FloatArray:
        """Share of the runs that selected each feature."""
        return np.asarray(self.runs_.frequencies())

    @property
    def fit_times_(self) -> FloatArray:
        """Seconds that each fit took."""
        return np.asarray(self.runs_.fit_times)

    @property
    def split_numbers_(self) -> IntArray:
        """The number of the split that each run is of."""
        return self.runs_.split_numbers

    @property
    def n_failed_(self) -> int:
        """Number of runs that failed."""
        return self.runs_.n_failed

    @property
    def n_splits_(self) -> int:
        """Number of splits that were run, failed ones included."""
        return len(self.runs_) + self.runs_.n_failed

    @cached_property
    def stability_interval_(self) -> StabilityInterval:
        """The stability of the runs by `measure`, with its 95% jackknife interval."""
        return self.runs_.estimate(get_measure(self.measure))

    def stability(
        self, measure: MeasureLike | None = None, *, groups: ArrayLike | None = None
    ) -> float:
        """Stability of the runs by any measure, without fitting again.

        Parameters
        ----------
        measure : str, callable or measure, default=None
            A name out of :func:`skstab.metrics.measure_table`, or anything that :func:`skstab.metrics.get_measure`
            accepts; None takes the parameter `measure`.
        groups : array-like of shape (n_features,), default=None
            A label for each feature: a group counts once, and is selected where any of its features is, see
            :meth:`skstab.runs.Runs.grouped`. None compares the features themselves.

        Returns
        -------
        stability : float
            The value of the measure.
        """
        check_is_fitted(self)
        return self.runs_.stability(
            self.measure if measure is None else measure, groups=groups
        )

    def interval(
        self,
        measure: MeasureLike | None = None,
        *,
        method: Literal[
            "jackknife", "asymptotic", "conformal", "bootstrap"
        ] = "jackknife",
        confidence_level: float = 0.95,
        random_state: RandomState = None,
    ) -> StabilityInterval:
        """Stability of the runs with an interval, without fitting again.

        Parameters
        ----------
        measure : str, callable or measure, default=None
            As for `stability`.
        method : {"jackknife", "asymptotic", "conformal", "bootstrap"}, default="jackknife"
            See :func:`skstab.metrics.stability_interval`.
        confidence_level : float, default=0.95
            Share of such intervals that should hold the true value.
        random_state : int, RandomState instance or None, default=None
            Seed of the methods that draw.

        Returns
        -------
        interval : StabilityInterval
            With attributes `estimate`, `low`, `high`, `standard_error`, `method` and `confidence_level`.
        """
        check_is_fitted(self)
        chosen = self.measure if measure is None else measure
        return self.runs_.interval(
            chosen,
            method=method,
            confidence_level=confidence_level,
            random_state=random_state,
        )

    def summary(self) -> pd.DataFrame:
        """Tabulate the runs feature by feature.

        Returns
        -------
        table : DataFrame
            One row for each feature, indexed by its name: the share of runs that selected it (`frequency`) with its 95%
            Wilson interval (`frequency_low`, `frequency_high`); mean and standard deviation of its importance over all
            runs (`importance_mean`, `importance_std`); for linear models, the share of the more common sign among the
            runs in which it had a weight (`sign_consistency`); and whether it is `selected` by this object.
        """
        check_is_fitted(self)
        return self.runs_.summary().assign(selected=self.get_support())

    def plot(
        self, kind: str = "frequencies", *, ax: Any = None, **options: Any
    ) -> Display:
        """Draw what the runs selected.

        Parameters
        ----------
        kind : {"frequencies", "map", "ranks", "raster"}, default="frequencies"
            Which picture: the selection frequencies of the features, the feature stability map, the confidence sets of
            ranks, or the raster of the supports.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **options : dict
            Parameters of the constructor and of `plot` of that display in :mod:`skstab.inspection`.

        Returns
        -------
        display : display
            Drawn, with `ax_` and `figure_`.
        """
        check_is_fitted(self)
        return draw(f"runs: {kind}", self, ax=ax, **options)

    # -- scikit-learn --------------------------------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where the parameters of `fit` go.

        Returns
        -------
        routing : MetadataRouter
            From `fit` to `fit` of the estimator, `split` of the splitter and `score` of the scorer; from `split` to
            `split` of the splitter; from `score` to `score` of the estimator.
        """
        return self._router(
            estimator=from_fit("fit").add(caller="score", callee="score"),
            splitter=from_fit("split").add(caller="split", callee="split"),
            scorer=from_fit("score"),
        )

    def _beside(self, diagram: str) -> str:
        # The measure is that of the fit, whatever the parameter is by now.
        return beside_diagram(
            self.runs_, self.stability_interval_, self._measure_name, diagram
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "runs_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse &= self.perturb in (
            None,
            "seed",
        )  # noise would fill a sparse matrix
        return tags

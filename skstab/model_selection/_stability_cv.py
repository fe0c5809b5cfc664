"""`StabilityCV`: an estimator that runs another one across resamples and keeps what each run selected."""

from __future__ import annotations

import warnings
from copy import deepcopy
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from skstab._compat import CallbackSupportMixin, FitProgress, take_rows, with_callbacks
from skstab.metrics import get_measure, stability_interval
from skstab.metrics._inference import StabilityInterval
from skstab.metrics._measure import Measure
from skstab.model_selection._parameters import (
    check_rows,
    check_runs,
    check_same_prints,
    check_same_splits,
    fingerprints,
    mark,
    noise_scale,
    splits_of,
    splitter_for,
)
from skstab.model_selection._repr import beside_diagram
from skstab.model_selection._routing import from_fit, routed_from_fit
from skstab.model_selection._runs import (
    Collected,
    Plan,
    Run,
    Task,
    collect,
    join,
    random_parameters,
    report,
    run_task,
    seeded,
)
from skstab.model_selection._sample import draw_entropy
from skstab.model_selection._selected import selection_of, why_no_support
from skstab.model_selection._summary import frequencies, ranks_of, summary_columns

if TYPE_CHECKING:
    import pandas as pd

BATCH = 10  # runs between two looks at the interval, whatever the number of jobs


def _estimator_has(method: str) -> Any:
    """Check that the fitted estimator, or else the one to fit, has a method; the error names what is missing."""

    def check(self: StabilityCV) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return check


class StabilityCV(CallbackSupportMixin, MetaEstimatorMixin, SelectorMixin, BaseEstimator):
    """Run a feature selector across resamples of the data, and keep what each run selected.

    The object is a selector and, where its estimator predicts, a predictor: use it as a step of a
    :class:`~sklearn.pipeline.Pipeline`, or search over the parameters of its estimator with
    :class:`~sklearn.model_selection.GridSearchCV`.

    Parameters
    ----------
    estimator : estimator
        A selector (`SelectFromModel`, `RFE`, `SelectKBest`, ...), a sparse model (`Lasso`, an L1
        `LogisticRegression`, ...), another meta-estimator, or a :class:`~sklearn.pipeline.Pipeline` of scalers,
        selectors and a final model. What it selected is always told in the columns of `X`: a selector says so by
        `get_support`, a model without a selector by its non-zero `coef_`. A model that drops nothing (ridge, a
        forest) can be measured by its weights only.
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
    threshold : float, default=0.5
        The share for `support="consensus"`.
    importance_getter : str or callable, default="auto"
        Where importances come from: "auto" (`coef_` or `feature_importances_` of the final model, else of the
        selector's inner model), an attribute path, or a callable that takes the fitted estimator; a callable with
        three required arguments gets the final model with the `X` and `y` that it was trained on. Several classes or
        outputs enter by their Euclidean norm.
    scale_importances : bool, default=True
        Whether importances from a `coef_` are multiplied by the standard deviation of the feature as the model saw
        it, so that they do not depend on its unit.
    perturb : None, float or "seed", default=None
        What else differs between the runs. A number adds Gaussian noise to the training rows, with a standard
        deviation of that many times the one of each feature. "seed" gives every `random_state` inside the estimator
        another seed in each run. With `cv=None` either is applied to the whole sample, which tells instability of the
        algorithm, or against noise, from instability of the data.
    error_score : "raise" or number, default=np.nan
        A run whose fit fails is left out, counted in `n_failed_` and warned about; a score that fails has this value.
        "raise" raises instead.
    warm_start : bool, default=False
        Whether a further call to `fit` with more splits adds only the new runs. The data, the estimator and the first
        splits must be the same, and a call with others is refused where that shows (of `X`, some rows are compared):
        give `cv` an int `random_state`.
    target_width : float, default=None
        Stop as soon as the 95% jackknife interval of `measure` is this narrow, looking every 10 runs; `cv` then gives
        the most runs there may be. `n_splits_` tells how many were made. None makes them all.
    return_estimators : bool, default=False
        Whether to keep the fitted estimator of each run in `estimators_`.
    n_jobs : int, default=None
        Number of runs at the same time; None means 1 unless in a :func:`joblib.parallel_config` context.
    random_state : int, RandomState instance or None, default=None
        Seed of the default `cv`, of the noise, and of whatever has a parameter `random_state=None` inside the
        estimator (a splitter or a score function in there keeps its own randomness). An int gives the same result for
        any `n_jobs` and backend; only liblinear is not reproducible in several threads of one process.
    verbose : int, default=0
        Progress messages of joblib.

    Attributes
    ----------
    supports_ : ndarray or csr_array of bool of shape (n_runs, n_features)
        What each run selected; for a model that drops nothing, the features with an importance other than zero.
    importances_ : ndarray or csr_array of shape (n_runs, n_features)
        How important each feature was in each run, not negative, zero outside the support; None for selectors without
        weights.
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
    In a pipeline with a selector the support is that of the selector, also where a sparse final model gives some of
    these features a zero weight; their importance is then zero.

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

    def __init__(
        self,
        estimator: Any,
        *,
        cv: Any = None,
        measure: Any = "nogueira",
        scoring: Any = None,
        support: str = "refit",
        threshold: float = 0.5,
        importance_getter: Any = "auto",
        scale_importances: bool = True,
        perturb: Any = None,
        error_score: Any = np.nan,
        warm_start: bool = False,
        target_width: float | None = None,
        return_estimators: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.measure = measure
        self.scoring = scoring
        self.support = support
        self.threshold = threshold
        self.importance_getter = importance_getter
        self.scale_importances = scale_importances
        self.perturb = perturb
        self.error_score = error_score
        self.warm_start = warm_start
        self.target_width = target_width
        self.return_estimators = return_estimators
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # Whether features outside the support have no importance.
    _zero_outside = True

    # -- fitting -----------------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
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
        check_runs(self)
        measure = get_measure(self.measure)
        going_on = self.warm_start and hasattr(self, "supports_")
        if going_on and self.return_estimators and not hasattr(self, "estimators_"):
            raise ValueError("return_estimators=True in a warm start, but the first runs did not keep theirs")
        X, y = indexable(X if hasattr(X, "shape") else np.asarray(X), y)
        validate_data(self, X, skip_check_array=True, reset=not going_on)
        check_rows(X, y, needs_classes=not is_regressor(self.estimator))
        routed = routed_from_fit(self, params)
        prints = fingerprints(self, X, y, routed.estimator.fit)
        if going_on:
            check_same_prints(self._prints, prints)
        else:
            self._entropy, self._prints = draw_entropy(self.random_state), prints
            if hasattr(self, "supports_"):
                del self.supports_  # until this fit has its own, there are none
        plan = self._plan(X, routed)
        if not going_on:
            # Before the runs: what is wrong with the data or the estimator then shows at once.
            self._refit(X, y, plan, measure)
        split_params = routed.splitter.split
        splits = splits_of(self._splitter(y, grouped="groups" in split_params), X, y, split_params)
        marks, seen = [mark(*split) for split in splits], self._marks if going_on else []
        check_same_splits(seen, marks)
        if not going_on:
            self._check_scorer(plan, X, y, splits[0][1])
        self._run_until_narrow(plan, X, y, splits, marks, len(seen), measure)
        return self

    def _run_until_narrow(
        self, plan: Plan, X: Any, y: Any, splits: list[Any], marks: list[bytes], start: int, measure: Measure
    ) -> None:
        """Run the splits from `start` on: all of them, or in batches until the interval is narrow enough."""
        progress = FitProgress(self, len(splits) - start, X, y)
        # Each run has a seed of its own, drawn here, so that neither the worker nor the number of runs matters.
        tasks = [
            Task(*split, np.random.SeedSequence(self._entropy, spawn_key=(0, number)), progress_of_run)
            for number, (split, progress_of_run) in enumerate(zip(splits[start:], progress.runs, strict=True), start)
        ]
        ends = [len(splits)]
        if self.target_width is not None:
            # The looks are at whole batches, wherever an earlier fit stopped.
            ends = [*range((start // BATCH + 1) * BATCH, len(splits), BATCH), *ends]
        runs: list[Run] = []
        total = self._collected() if start else None
        with Parallel(n_jobs=self.n_jobs, verbose=self.verbose) as parallel:
            for end in ends:
                at = start + len(runs)
                if at == end or self._is_narrow(total, measure):
                    break
                new = parallel(delayed(run_task)(plan, X, y, task) for task in tasks[at - start : end - start])
                part = collect(new, self.n_features_in_, plan, start=at)
                total, runs = part if total is None else join(total, part, self.error_score), runs + new
        progress.end()
        if runs:
            report(runs, total.supports.shape[0], self.error_score)
            self._keep(total, marks[: start + len(runs)])
        self._measure_name = measure.name
        self.stability_interval_ = interval_of(self, measure)
        self.stability_ = self.stability_interval_.estimate

    def _is_narrow(self, runs: Collected | None, measure: Measure) -> bool:
        if self.target_width is None or runs is None or runs.supports.shape[0] < 3:
            return False
        table = self._table(runs.supports, runs.importances, measure)
        interval = stability_interval(table, measure=measure)
        return interval.high - interval.low <= self.target_width

    def _plan(self, X: Any, routed: Bunch) -> Plan:
        """Gather what all runs have in common."""
        return Plan(
            estimator=self.estimator,
            scorer=self._scorer(),
            score_names=self._score_names(),
            fit_params=routed.estimator.fit,
            score_params=routed.scorer.score,
            importance_getter=self.importance_getter,
            scale_importances=self.scale_importances,
            zero_outside=self._zero_outside,
            error_score=self.error_score,
            noise=noise_scale(X, self.perturb) if isinstance(self.perturb, Real) else None,
            seeds=random_parameters(self.estimator, everywhere=self.perturb == "seed"),
            keep_estimators=self.return_estimators,
        )

    def _refit(self, X: Any, y: Any, plan: Plan, measure: Measure) -> None:
        names, seed = (
            random_parameters(self.estimator, everywhere=False),
            np.random.SeedSequence(self._entropy, spawn_key=(1,)),
        )
        self.estimator_ = seeded(self.estimator, names, seed).fit(X, y, **plan.fit_params)
        chosen = selection_of(
            self.estimator_,
            X,
            y,
            importance_getter=self.importance_getter,
            scale_importances=self.scale_importances,
            zero_outside=self._zero_outside,
        )
        self._selects = chosen.support is not None
        self._refit_support = chosen.support if self._selects else chosen.importances != 0
        self._check_measurable(measure, chosen.importances is not None)

    def _splitter(self, y: Any = None, *, grouped: bool = False) -> Any:
        classifier, entropy = is_classifier(self.estimator), getattr(self, "_entropy", 0)
        return splitter_for(self.cv, y, classifier=classifier, grouped=grouped, perturb=self.perturb, entropy=entropy)

    def _scorer(self) -> Any:
        if self.scoring is None and not hasattr(self.estimator, "score"):
            return None
        # Several scorers fail one by one, unless failing is to raise.
        return check_scoring(self.estimator, scoring=self.scoring, raise_exc=self.error_score == "raise")

    def _score_names(self) -> tuple[str, ...]:
        if isinstance(self.scoring, str):
            return (self.scoring,)
        if self.scoring is None or callable(self.scoring):
            return ("score",)
        return tuple(self.scoring)

    def _check_scorer(self, plan: Plan, X: Any, y: Any, rows: Any) -> None:
        """Find out before the runs whether the estimator has the method that the scorer calls."""
        if self.scoring is None:  # then it is the estimator's own method, if it has one
            return
        data = [take_rows(part, rows[:1]) for part in (X, y) if part is not None]
        try:
            with warnings.catch_warnings(action="ignore"):
                plan.scorer(self.estimator_, *data)
        except AttributeError as error:
            raise ValueError(f"scoring={self.scoring!r} does not fit the estimator: {error}") from error
        except Exception:  # noqa: BLE001  one row may be too few for a score in any way; the runs will tell
            return

    def _keep(self, runs: Collected, marks: list[bytes]) -> None:
        self._marks, self.n_splits_ = marks, len(marks)
        self.importances_ = runs.importances
        self.supports_ = runs.supports
        self.scores_ = runs.scores
        self.fit_times_ = runs.fit_times
        self.split_numbers_ = runs.numbers
        self.n_failed_ = runs.n_failed
        self.selection_frequencies_ = frequencies(self.supports_)
        self._sign_counts = runs.sign_counts
        if self.return_estimators:
            self.estimators_ = runs.estimators
        elif hasattr(self, "estimators_"):
            del self.estimators_

    def _collected(self) -> Collected:
        return Collected(
            self.supports_,
            self.importances_,
            self._sign_counts,
            self.scores_,
            self.fit_times_,
            self.split_numbers_,
            self.n_failed_,
            getattr(self, "estimators_", []),
        )

    # -- the selector and the predictor ------------------------------------------------------------------------------

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        if self.support == "consensus":
            return self.selection_frequencies_ >= self.threshold
        return self._refit_support

    @available_if(_estimator_has("predict"))
    def predict(self, X: Any) -> Any:
        """Predict with `estimator_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        """
        return self._fitted().predict(X)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes by `estimator_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            The probabilities.
        """
        return self._fitted().predict_proba(X)

    @available_if(_estimator_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of the classes by `estimator_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            The logarithms.
        """
        return self._fitted().predict_log_proba(X)

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Confidence scores by `estimator_`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The confidence scores.
        """
        return self._fitted().decision_function(X)

    @available_if(_estimator_has("score"))
    def score(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Score of `estimator_` by its own `score` method.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The target.
        **params : dict
            Further parameters of that method.

        Returns
        -------
        score : float
            The score.
        """
        if get_config()["enable_metadata_routing"]:
            params = process_routing(self, "score", **params).estimator.score
        return self._fitted().score(X, y, **params)

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimator_

    @property
    def classes_(self) -> Any:
        """The class labels, where the estimator is a classifier."""
        return self.estimator_.classes_

    # -- what the runs say -------------------------------------------------------------------------------------------

    def stability(self, measure: Any = None) -> float:
        """Stability of the runs by any measure, without fitting again.

        Parameters
        ----------
        measure : str, callable or measure, default=None
            A name out of :func:`skstab.metrics.measure_table`, or anything that :func:`skstab.metrics.get_measure`
            accepts; None takes the parameter `measure`.

        Returns
        -------
        stability : float
            The value of the measure.
        """
        chosen = get_measure(self.measure if measure is None else measure)
        return chosen(self._data_for(chosen), name="the runs")

    def interval(
        self,
        measure: Any = None,
        *,
        method: Any = "jackknife",
        confidence_level: float = 0.95,
        random_state: Any = None,
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
        chosen = get_measure(self.measure if measure is None else measure)
        return stability_interval(
            self._data_for(chosen),
            measure=chosen,
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
        import pandas as pd

        check_is_fitted(self)
        columns = summary_columns(self.supports_, self.importances_, self._sign_counts)
        names = getattr(self, "feature_names_in_", [f"x{number}" for number in range(self.n_features_in_)])
        return pd.DataFrame({**columns, "selected": self.get_support()}, index=pd.Index(names, name="feature"))

    def _data_for(self, measure: Measure) -> Any:
        check_is_fitted(self)
        return self._table(self.supports_, self.importances_, measure)

    def _table(self, supports: Any, importances: Any, measure: Measure) -> Any:
        """Choose the table that a measure takes."""
        self._check_measurable(measure, importances is not None)
        if measure.kind == "subset":
            return supports
        return importances if measure.kind == "weights" else ranks_of(importances)

    def _check_measurable(self, measure: Measure, has_importances: bool) -> None:
        if measure.kind == "subset" and not self._selects:
            raise ValueError(
                f"measure {measure.name!r} compares selected features, but {why_no_support(self.estimator_)}"
            )
        if measure.kind != "subset" and not has_importances:
            raise ValueError(
                f"measure {measure.name!r} compares importances, but {type(self.estimator_).__name__} has none; give "
                "importance_getter, or choose a measure of sets such as 'nogueira'"
            )

    # -- scikit-learn ------------------------------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Tell where the parameters of `fit` go.

        Returns
        -------
        routing : MetadataRouter
            From `fit` to `fit` of the estimator, `split` of the splitter and `score` of the scorer; from `score` to
            `score` of the estimator.
        """
        return (
            MetadataRouter(owner=self)
            .add(
                estimator=self.estimator,
                method_mapping=from_fit("fit").add(caller="score", callee="score"),
            )
            .add(
                splitter=self._splitter() if self.cv is None else self.cv,
                method_mapping=from_fit("split"),
            )
            .add(scorer=self._scorer(), method_mapping=from_fit("score"))
        )

    # Notebooks ask for either of these; scikit-learn gives its diagram where it is set to.

    @property
    def _repr_html_(self) -> Any:
        diagram = super()._repr_html_
        return (lambda: beside_diagram(self, diagram())) if self.__sklearn_is_fitted__() else diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and self.__sklearn_is_fitted__():
            bundle["text/html"] = beside_diagram(self, bundle["text/html"])
        return bundle

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "supports_")

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        tags.target_tags = deepcopy(inner.target_tags)
        tags.input_tags = deepcopy(inner.input_tags)
        tags.input_tags.sparse &= self.perturb in (None, "seed")  # noise would fill a sparse matrix
        return tags


def interval_of(runs: StabilityCV, measure: Any) -> StabilityInterval:
    """Stability of fitted runs with its 95% jackknife interval, whose ends are NaN where there are only two runs."""
    value = runs.stability(measure)  # warns where the runs agree for want of a choice
    if runs.supports_.shape[0] > 2:
        return runs.interval(measure)
    return StabilityInterval(value, np.nan, np.nan, np.nan, "jackknife", 0.95)

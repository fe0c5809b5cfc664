"""`StabilitySearchCV`: a search by score and stability that goes resample by resample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRouter, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from skstab._checks import is_int, naming, run_settings_of
from skstab._compat import (
    as_indexable,
    available_if,
    with_callbacks,
)
from skstab._displays import draw
from skstab._engine.candidates import (
    Candidate,
    candidates_of,
    families_of,
    settings_of,
)
from skstab._engine.job import Job, Part
from skstab._engine.make import in_order, make, one_study
from skstab._engine.row_scores import reads_probabilities, row_scores_of
from skstab._engine.work import RunPlan
from skstab._pipelines import fitted
from skstab._random import draw_entropy, seeded
from skstab._routing import from_fit, routed_from_fit
from skstab._typing import (
    CVLike,
    Display,
    Estimator,
    MatrixLike,
    MeasureLike,
    RandomState,
    ScoringLike,
)
from skstab._undo import left_as_it_was
from skstab.metrics import Measure, get_measure
from skstab.model_selection._assess import halves_part
from skstab.model_selection._meta_selector import MetaSelector
from skstab.model_selection._pareto import ParetoRefit
from skstab.model_selection._repr import front_beside_diagram
from skstab.model_selection._resampling import (
    classes_of,
    splits_of,
    warn_if_folds_overlap,
)
from skstab.model_selection._scorers import column_name, listed_measures, tabulated
from skstab.model_selection._scoring import check_scorer, score_names_of
from skstab.model_selection._search_results import (
    choice_of,
    choose,
    front_table,
    replication_table,
    results_table,
)
from skstab.model_selection._search_runs import (
    Gathered,
    Refit,
    refit_each,
    report_failures,
    runs_of,
)
from skstab.model_selection._validation import check_rows, check_stability_search

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["StabilitySearchCV"]


def _can_score(search: StabilitySearchCV) -> bool:
    return search.scoring is not None or bool(search._refitted().score)


class StabilitySearchCV(
    MetaSelector,
):
    """Search for parameters by score and stability, with all candidates on the same resamples.

    Every candidate is fitted on every resample, scored on the rows left out, and measured by how much its runs agree:
    the table of a :class:`~sklearn.model_selection.GridSearchCV` over :class:`StabilityCV`, without the wrapper and
    in less time. The search goes resample by resample. On each, the steps of a pipeline whose parameters do not change
    are fitted once, and candidates that differ only in the regularisation of a sparse model, or in the number of
    features that a filter or an elimination keeps, are fitted together.

    Parameters
    ----------
    estimator : estimator
        Anything that :class:`StabilityCV` takes, as it is: parameters have the names that the estimator gives them.
    param_grid : dict or list of dict
        The candidates, as in :class:`~sklearn.model_selection.GridSearchCV`; with `n_iter`, distributions to sample
        them from, as in :class:`~sklearn.model_selection.RandomizedSearchCV`.
    n_iter : int, default=None
        Number of candidates to sample; None takes the whole grid.
    cv : int, cross-validation generator or iterable, default=None
        How the rows of each run are chosen, as in :class:`StabilityCV`: None takes 50 bootstrap samples, stratified for
        a classifier.
    scoring : str, callable, list, tuple or dict, default=None
        How each run is scored on the rows it left out. None takes the `score` method of the estimator where it has one.
    measures : str, callable, measure or sequence of these, default=("nogueira",)
        The measures of stability to tabulate; the first one is used to choose.
    refit : str, ParetoRefit or callable, default="one_se"
        How to choose the candidate that is refitted on all rows: a strategy of :class:`ParetoRefit` for the first score
        and the first measure (without any score, the most stable candidate); a :class:`ParetoRefit`; the name of a
        score or a measure, of which the largest value is chosen; or a function of `cv_results_` that returns an index.
    n_pairs : int, default=0
        Number of pairs of disjoint halves on which the candidates on the front are fitted in addition, which compares
        them on other data (see :func:`compare_selectors`): 0 for none, or at least 3.
    support_from : {"used", "selector"}, default="used"
        What counts as selected in each run, as for :class:`StabilityCV`.
    checkpoint : str or path-like, default=None
        A file in which all candidates of a resample are stored as it is finished, so that repeating the call, also with
        other candidates, makes only the missing runs; those of a :class:`StabilityCV` or a comparison of the same data
        are found, too. See :class:`StabilityCV`. The fits on all rows are made again.
    max_seconds : float, default=None
        Seconds that a run may take. One that takes longer is stopped, and has failed. With limits each run has a
        process of its own, which takes about a tenth of a second more.
    max_memory : int, default=None
        Bytes that a run may need beyond those that its process starts with; on Linux only.
    n_jobs : int, default=None
        Number of resamples at the same time; None means 1 unless in a :func:`joblib.parallel_config` context.
    random_state : int, RandomState instance or None, default=None
        Seed of the candidates that are sampled, of the default `cv`, and of whatever has a parameter
        `random_state=None` inside the estimator. An int gives the same result for any `n_jobs` and backend.
    error_score : "raise" or number, default=np.nan
        A fit that fails is left out and warned about; a score that fails has this value. A candidate with fewer than
        two runs is missing in the table. "raise" raises instead.
    verbose : int, default=0
        From 1 on, a line on standard error says how far the runs are.

    Attributes
    ----------
    cv_results_ : dict of ndarray
        The table, laid out as that of :class:`~sklearn.model_selection.GridSearchCV`: `params` and `param_*`; the
        seconds of fits and of scores (`mean_fit_time`, `mean_score_time`, `std_*`), of which what candidates compute
        together is divided equally among them; for each score `split*_test_*` (by resample), `mean_test_*`,
        `std_test_*`, `rank_test_*` and its standard error as an estimate for other data, `mean_test_*_se`; for each
        measure `mean_test_*`, the ends of its 95% interval (`_low`, `_high`), its standard error (`_se`) and
        `rank_test_*`; and `mean_test_n_features`. A measure for which less is better is negated and named accordingly
        (`neg_krizek`).
    runs_ : list of Runs
        What the runs of each candidate selected. The losses of single rows are not kept.
    front_ : DataFrame
        The candidates that no other one beats in both score and stability, from the best score to the most stable;
        with `n_pairs` also their `replication` with its interval, `replication_low` and `replication_high`.
    halves_ : dict of Runs
        What the candidates on the front selected on the pairs of halves, by their number; only with `n_pairs`.
    best_index_ : int
        The chosen candidate.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        Its mean score, by the score that it was chosen by, or else the first one; without any score, its stability.
    best_estimator_ : estimator
        The estimator with these parameters, fitted on all rows; predictions are its.
    refit_ : ParetoRefit or callable
        What chose the candidate.
    n_splits_ : int
        Number of resamples.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where `X` has names that are all strings.
    classes_ : ndarray of shape (n_classes,)
        The class labels, where the estimator is a classifier.

    See Also
    --------
    StabilityCV : The runs of one estimator.
    search_table : The candidates as a table.

    Notes
    -----
    What is fitted together gives what single fits give: exactly for shared steps and eliminations, and at the
    tolerance of the estimator along a path. The score of the chosen candidate is the best of several, and therefore
    optimistic, as in any search.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skstab.model_selection import StabilitySearchCV
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> pipe = make_pipeline(StandardScaler(), LogisticRegression(l1_ratio=1, solver="liblinear"))
    >>> grid = {"logisticregression__C": np.logspace(-2, 1, 7)}
    >>> search = StabilitySearchCV(pipe, grid, scoring="accuracy", random_state=0).fit(X, y)
    >>> search.front_[["score", "stability", "n_features"]].round(2)
               score  stability  n_features
    candidate
    3           0.97       0.58       10.78
    2           0.97       0.75        8.04
    1           0.96       0.75        5.30
    >>> search.best_index_
    2
    """

    cv_results_: dict[str, Any]
    refit_: Callable[[Mapping[str, Any]], Any]

    def __init__(
        self,
        estimator: Estimator,
        param_grid: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        n_iter: int | None = None,
        cv: CVLike = None,
        scoring: ScoringLike = None,
        measures: MeasureLike | Sequence[MeasureLike] = ("nogueira",),
        refit: str | Callable[[Mapping[str, Any]], Any] = "one_se",
        n_pairs: int = 0,
        support_from: str = "used",
        checkpoint: str | PathLike[str] | None = None,
        max_seconds: float | None = None,
        max_memory: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        error_score: float | Literal["raise"] = np.nan,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.cv = cv
        self.scoring = scoring
        self.measures = measures
        self.refit = refit
        self.n_pairs = n_pairs
        self.support_from = support_from
        self.checkpoint = checkpoint
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.error_score = error_score
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: MatrixLike, y: Any = None, **params: Any) -> Self:
        """Fit every candidate on every resample, choose one of them, and refit it on all rows.

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
        check_stability_search(self)
        run_settings_of(self)
        with left_as_it_was(self), one_study(self):
            self._fit(X, y, params)
        return self

    @with_callbacks
    def _fit(self, X: MatrixLike, y: Any, params: dict[str, Any]) -> None:
        measures = [get_measure(measure) for measure in listed_measures(self.measures)]
        X, y = as_indexable(X, y)
        validate_data(self, X, skip_check_array=True)
        check_rows(X, y, needs_classes=not is_regressor(self.estimator))
        routed, self._entropy = (
            routed_from_fit(self, params),
            draw_entropy(self.random_state),
        )
        settings = settings_of(self.param_grid, self.n_iter, self._entropy)
        candidates = candidates_of(
            self.estimator, settings, whole=bool(routed.estimator.fit)
        )
        plan = self._plan(routed, y)
        # Before the resamples, so that errors in the data or the estimator are raised immediately.
        refits, example = self._refit_each(plan, candidates, X, y, measures)
        splits = self._splits(X, y, routed.splitter.split)
        check_scorer(self.scoring, plan.scorer, example, X, y, splits[0][1])
        gathered = self._run(plan, candidates, X, y, splits)
        rows = self._keep(gathered, refits, splits, measures)
        self.cv_results_ = results_table(
            settings, rows, self.runs_, gathered.score_times, len(splits)
        )
        self._choose([column_name(measure) for measure in measures])
        self._refit_best(candidates[self.best_index_], plan, X, y)
        self.__dict__.pop("halves_", None)
        if self.n_pairs:
            self._run_halves(plan, candidates, X, y, routed.splitter.split)

    def _plan(self, routed: Bunch, y: Any) -> RunPlan:
        """Gather what all resamples have in common."""
        return RunPlan(
            estimator=self.estimator,
            scoring=self.scoring,
            scorer=self._scorer(),
            score_names=score_names_of(self.scoring),
            row_scores=row_scores_of(self.scoring, self.estimator),
            # Others who take runs from the file may want them.
            keep_probabilities=self.checkpoint is not None
            and reads_probabilities(self.scoring),
            classes=classes_of(self.estimator, y),
            fit_params=routed.estimator.fit,
            score_params=routed.scorer.score,
            support_from=self.support_from,
            error_score=self.error_score,
        )

    def _refit_each(
        self,
        plan: RunPlan,
        candidates: Sequence[Candidate],
        X: Any,
        y: Any,
        measures: Sequence[Measure],
    ) -> tuple[dict[int, Refit], Any]:
        families = families_of(
            {number: candidate.chain for number, candidate in enumerate(candidates)}
        )
        return refit_each(plan, families, X, y, self._seed_of_refit(), measures)

    def _seed_of_refit(self) -> np.random.SeedSequence:
        return np.random.SeedSequence(self._entropy, spawn_key=(1,))

    def _splits(self, X: Any, y: Any, params: dict[str, Any]) -> list[Any]:
        splits = splits_of(self._splitter(y, grouped="groups" in params), X, y, params)
        if is_int(self.cv):
            warn_if_folds_overlap(splits)
        self.n_splits_ = len(splits)
        return splits

    def _run(
        self,
        plan: RunPlan,
        candidates: Sequence[Candidate],
        X: Any,
        y: Any,
        splits: Sequence[Any],
    ) -> Gathered:
        """Run all candidates on all resamples."""
        job = Job(plan, candidates, X, [Part(y, splits, self._entropy)])
        gathered = Gathered(plan, candidates, X.shape[0])
        made = make(
            job,
            owner=self,
            **run_settings_of(self),
            about=f"StabilitySearchCV of {type(self.estimator).__name__}",
        )
        with closing(made):
            for place, runs in in_order(job, made):
                gathered.add(runs, splits[place.split][1])
        return gathered

    def _run_halves(
        self,
        plan: RunPlan,
        candidates: Sequence[Candidate],
        X: Any,
        y: Any,
        params: dict[str, Any],
    ) -> None:
        """Run the candidates on the front on pairs of halves."""
        on_front = [int(number) for number in self.front_.index]
        part = halves_part(
            X,
            y,
            self.n_pairs,
            classifier=is_classifier(self.estimator),
            params=params,
            entropy=self._entropy,
        )
        runs = runs_of(
            plan,
            [candidates[number] for number in on_front],
            X,
            part,
            self.runs_[self.best_index_].feature_names,
            about=f"StabilitySearchCV of {type(self.estimator).__name__}, halves",
            **run_settings_of(self),
        )
        self.halves_ = dict(zip(on_front, runs, strict=True))

    def _keep(
        self,
        gathered: Gathered,
        refits: dict[int, Refit],
        splits: Sequence[Any],
        measures: Sequence[Measure],
    ) -> list[dict[str, float]]:
        """Keep the runs; return what to tabulate of each candidate, nothing of those that failed."""
        done = [sum(run.fit_error is None for run in runs) for runs in gathered.runs]
        n_few = sum(n_done < 2 for n_done in done)
        refused = [
            error
            for n, n_done in enumerate(done)
            if n_done >= 2 and (error := refits[n].error) is not None
        ]
        if n_few + len(refused) == len(done):
            raise ValueError(
                f"all candidates failed; the first fit with {gathered.failures()[0][0]}"
            )
        report_failures(gathered, n_few, refused, self.error_score)
        common = {
            "n_features": self.n_features_in_,
            # Made once, so that the runs of all candidates hold the same ones.
            "feature_names": getattr(
                self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)]
            ),
            "estimator_name": type(self.estimator).__name__,
        }
        found = {
            n: gathered.collect(n, splits, **common, **refits[n].declared)
            for n in gathered.largest_first()
        }
        self.runs_ = [found[number] for number in range(len(done))]
        self._row_losses = [gathered.losses(number) for number in range(len(done))]
        return [
            {}
            if done[n] < 2 or refits[n].error is not None
            else tabulated(runs, list(runs.scores), measures, losses)
            for n, (runs, losses) in enumerate(
                zip(self.runs_, self._row_losses, strict=True)
            )
        ]

    def _choose(self, measures: list[str]) -> None:
        scores = list(
            dict.fromkeys(name for runs in self.runs_ for name in runs.scores)
        )
        self.refit_ = choice_of(self.refit, scores, measures)
        self.best_index_ = choose(self.refit_, self.cv_results_, scores)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        pareto = self.refit_ if isinstance(self.refit_, ParetoRefit) else None
        first = self.refit if self.refit in scores else scores[0] if scores else None
        self._axes = (
            (pareto.score, pareto.stability) if pareto else (first, measures[0])
        )
        self.best_score_ = float(
            self.cv_results_[f"mean_test_{self._axes[0] or measures[0]}"][
                self.best_index_
            ]
        )

    @property
    def front_(self) -> pd.DataFrame:
        """The candidates on the front of score and stability."""
        check_is_fitted(self)
        table = front_table(self, *self._axes)
        halves = getattr(self, "halves_", None)
        if halves is None:
            return table
        measure = next(
            measure
            for measure in listed_measures(self.measures)
            if column_name(get_measure(measure)) == self._axes[1]
        )
        return table.join(replication_table(halves, measure))

    def _refit_best(self, best: Candidate, plan: RunPlan, X: Any, y: Any) -> None:
        estimator = seeded(best.estimator, best.seeds, self._seed_of_refit())
        self.best_estimator_ = fitted(estimator, X, y, **plan.fit_params)
        self._support = plan.read(self.best_estimator_, X, y).warned().used

    # -- the selector and the predictor --------------------------------------------------------------------------------

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return self._support

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def _refitted(self) -> Any:
        return getattr(self, "best_estimator_", self.estimator)

    @available_if(_can_score)
    @naming("X", "y")
    def score(self, X: MatrixLike, y: ArrayLike | None = None, **params: Any) -> Any:
        """Score of `best_estimator_`, by the score that it was chosen by, or else the first one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The target.
        **params : dict
            Further parameters of the scorer.

        Returns
        -------
        score : float
            The score.
        """
        if get_config()["enable_metadata_routing"]:
            params = process_routing(self, "score", **params).scorer.score
        found = self._scorer()(
            self._fitted(), X, *(() if y is None else (y,)), **params
        )
        return found[self._axes[0]] if isinstance(found, dict) else found

    def plot(
        self,
        *,
        score: str | None = None,
        stability: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Display:
        """Draw the candidates by score and stability, with their front.

        Parameters
        ----------
        score : str, default=None
            Name of the score; None takes the one of `front_`.
        stability : str, default=None
            Name of the measure; None takes the one of `front_`.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **options : dict
            Further parameters of `from_search` and of `plot` of :class:`skstab.inspection.ParetoFrontDisplay`.

        Returns
        -------
        display : ParetoFrontDisplay
            Drawn, with `ax_` and `figure_`.
        """
        check_is_fitted(self)
        axes = [
            own if given is None else given
            for given, own in zip((score, stability), self._axes, strict=True)
        ]
        if axes[0] is None:
            raise ValueError(
                "there is no score to draw the stability against: give the search a scoring"
            )
        return draw("search", self, ax=ax, score=axes[0], stability=axes[1], **options)

    # -- scikit-learn --------------------------------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where the parameters of `fit` go.

        Returns
        -------
        routing : MetadataRouter
            From `fit` to `fit` of the estimator, `split` of the splitter and `score` of the scorer; from `score` to
            `score` of the scorer.
        """
        return self._router(
            estimator=from_fit("fit"),
            splitter=from_fit("split"),
            scorer=from_fit("score").add(caller="score", callee="score"),
        )

    def _beside(self, diagram: str) -> str:
        return front_beside_diagram(self.front_, *self._axes, diagram)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

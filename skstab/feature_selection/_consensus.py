"""Several selectors over the same resamples, joined to one ranked list."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted, validate_data

from skstab._checks import (
    check_support_from,
    is_choice,
    is_estimator,
    is_int,
    is_number,
    naming,
    run_settings_of,
)
from skstab._compat import BaseComposition, as_indexable
from skstab._engine.make import one_study
from skstab._matrices import sparse_ranks
from skstab._random import draw_entropy
from skstab._routing import from_fit, routed_from_fit
from skstab._typing import (
    BoolArray,
    CVLike,
    Estimator,
    FloatArray,
    IntArray,
    MatrixLike,
    RandomState,
    RunsLike,
    Scorer,
)
from skstab._undo import left_as_it_was
from skstab.model_selection import BootstrapSplit, StabilityCV
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ConsensusSelector", "consensus_ranking"]

Method: TypeAlias = Literal["borda", "approval", "satisfaction"]


# -- voting ------------------------------------------------------------------------------------------------------------


_ABOUT_STABILITY = ("nearly all variation between the runs", "all runs agree because")
METHODS = ("borda", "approval", "satisfaction")


def _points(supports: Any, importances: Any, method: str) -> tuple[Any, Any]:
    """What each run gives to all features, and what it gives to those that it selects in addition."""
    (n_runs, d), sizes = supports.shape, np.diff(supports.indptr)
    if method == "approval":
        return np.zeros(n_runs), supports
    if method == "satisfaction":
        points = supports.copy()
        points.data /= np.repeat(sizes, sizes)
        return np.zeros(n_runs), points
    values = supports * (d + 1)
    if importances is not None:
        # Every selected feature comes before all others, also one of importance 0.
        values = values + supports * sparse_ranks(csr_array(importances))
    left = np.where(sizes < d, sizes + (d - sizes + 1) / 2, (d + 1) / 2)
    most = max(d - 1, 1)
    return 1 - (left - 1) / most, sparse_ranks(-values) / -most


def _checked_weights(weights: Any, parts: list[Runs]) -> FloatArray:
    """One weight per run, which add up to 1."""
    sizes = [len(part) for part in parts]
    if weights is None:
        # Each selector counts the same, however many of its runs failed.
        each = np.concatenate([np.full(size, 1 / size) for size in sizes])
    elif isinstance(weights, str):
        each = np.concatenate([_scores_of(part, weights) for part in parts])
    else:
        with naming("weights"):
            each = np.asarray(weights, dtype=np.float64)
        if each.shape == (len(parts),) != (sum(sizes),):
            each = np.repeat(each / sizes, sizes)
        if each.shape != (sum(sizes),) or not (each >= 0).all() or not each.any():
            raise ValueError(
                "weights must be None, the name of a score or numbers of at least 0 that are not all 0, one for each "
                f"of the {sum(sizes)} runs or of the {len(parts)} selectors, got {weights!r}"
            )
    total: FloatArray = each / each.sum()
    return total


def _scores_of(runs: Runs, name: str) -> FloatArray:
    if name not in runs.scores:
        known = ", ".join(map(repr, runs.scores)) or "none"
        raise ValueError(
            f"weights={name!r} is not a score of the runs: they have {known}"
        )
    # A run without a score, or with one that is no better than nothing, has no vote.
    scores = np.maximum(np.nan_to_num(runs.scores[name], nan=0.0), 0.0)
    if not scores.any():
        raise ValueError(
            f"weights={name!r} needs scores above 0, which those that begin with 'neg_' never are: choose another one, "
            "such as 'accuracy', 'roc_auc' or 'r2'"
        )
    return scores / len(scores)


def consensus_ranking(
    runs: RunsLike | Sequence[Any] | Mapping[str, Any],
    *,
    method: Method = "borda",
    weights: str | ArrayLike | None = None,
) -> pd.DataFrame:
    """Join what many runs selected to one ranked list.

    Parameters
    ----------
    runs : Runs, StabilityCV or search, or a list or dict of them
        What runs of one selector, or of several ones, selected on the same features.
    method : {"borda", "approval", "satisfaction"}, default="borda"
        - "borda": the mean rank, where features that a run does not select share the mean of the ranks left; its score
          is 1 for a feature that is always first and 0 for one that is always last.
        - "approval": the share of the runs that select a feature.
        - "satisfaction": the same, where each run has one vote that it shares out equally over its features, so that
          long lists count less.
    weights : str or array-like, default=None
        How much each run counts: the name of one of its scores, of which those below 0 count as 0; or a number for each
        run, or for each of several selectors. None lets each selector count the same.

    Returns
    -------
    table : DataFrame
        One row per feature, indexed by its name, the best first: its `rank` (1, 2, …; ties are broken by the frequency,
        then by the order of the columns), its `score` by the method, and its `frequency`, the share of the runs that
        select it, weights included.

    See Also
    --------
    ConsensusSelector : Makes the runs, and selects the first features of the list.
    skstab.runs.Runs.ranks : Which ranks are certain.

    Examples
    --------
    >>> from skstab.feature_selection import consensus_ranking
    >>> from skstab.runs import Runs
    >>> runs = Runs.from_sets([["a", "b"], ["a"], ["c", "a"], ["b"]], features=["a", "b", "c", "d"])
    >>> consensus_ranking(runs, method="approval")
             rank  score  frequency
    feature
    a           1   0.75       0.75
    b           2   0.50       0.50
    c           3   0.25       0.25
    d           4   0.00       0.00
    """
    import pandas as pd

    parts = _parts_of(runs)
    _check_method(method)
    score, frequency = _votes(parts, method, weights)
    order = _order(score, frequency)
    names = pd.Index(parts[0].feature_names[order], name="feature")
    columns = {
        "rank": np.arange(1, len(order) + 1),
        "score": score[order],
        "frequency": frequency[order],
    }
    return pd.DataFrame(columns, index=names)


def _votes(
    parts: list[Runs], method: str, weights: Any
) -> tuple[FloatArray, FloatArray]:
    """Score and frequency of each feature."""
    if method != "borda":
        for part in parts:
            part.table_for("nogueira")  # raises where runs keep every feature
    places = np.cumsum([len(part) for part in parts])[:-1]
    each = np.split(_checked_weights(weights, parts), places)
    score, frequency = 0.0, 0.0
    for weight, part in zip(each, parts, strict=True):
        supports = csr_array(part.tables.supports, dtype=np.float64)
        of_all, more = _points(supports, part.tables.importances, method)
        score = score + weight @ of_all + weight @ more
        frequency = frequency + weight @ supports
    return np.asarray(score), np.asarray(frequency)


def _order(score: FloatArray, frequency: FloatArray) -> IntArray:
    """Features from the best; ties by the frequency, then by the order of the columns."""
    return np.lexsort([-np.round(frequency, 12), -np.round(score, 12)])


def _parts_of(runs: Any) -> list[Runs]:
    if isinstance(runs, Mapping):
        listed = list(runs.values())
    else:
        listed = list(runs) if isinstance(runs, list | tuple) else [runs]
    parts = [getattr(part, "runs_", part) for part in listed]
    parts = [Runs.concat(part) if isinstance(part, list) else part for part in parts]
    if not parts or not all(isinstance(part, Runs) for part in parts):
        raise TypeError(
            f"runs must be Runs, a fitted object that holds runs, or a list or dict of them, got {runs!r}"
        )
    names = parts[0].feature_names
    if any(not np.array_equal(part.feature_names, names) for part in parts):
        raise ValueError("runs must be of the same features in the same order")
    if not all(len(part) for part in parts):
        raise ValueError("runs must hold at least one run of each selector")
    return parts


def _check_method(method: Any) -> None:
    if not is_choice(method, *METHODS):
        raise ValueError(
            f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}"
        )


# -- the selector ------------------------------------------------------------------------------------------------------


class ConsensusSelector(MetaEstimatorMixin, SelectorMixin, BaseComposition):
    """Select the features that several selectors agree on over resamples of the data.

    Every selector runs on the same resamples; what each run selects is a vote, and the first features of the joint list
    are selected.

    Parameters
    ----------
    selectors : list of (str, estimator)
        Selectors of any kind that :class:`~skstab.model_selection.StabilityCV` takes, with names; also a single one,
        whose runs are then joined. A parameter of one of them is `name__parameter` in a search.
    n_features_to_select : int or float, default=None
        How many features to select: a number, or a share of the features above 0 and below 1. None takes the mean
        number in the lists. Features on no list are never selected.
    method : {"borda", "approval", "satisfaction"}, default="borda"
        How votes are counted, see :func:`consensus_ranking`.
    weights : "score" or array-like of shape (n_selectors,), default=None
        How much each selector counts. "score" lets each run count by its score on the rows that it left out. None lets
        all count the same.
    scoring : str or callable, default=None
        The score for `weights="score"`, of which larger is better and values below 0 count as 0; None takes the `score`
        method of the selectors.
    cv : int, cross-validation generator or iterable, default=None
        How the rows of each run are chosen; None takes 50 bootstrap samples, stratified for classes where one of the
        selectors is a classifier.
    support_from : {"used", "selector"}, default="used"
        What counts as selected in each run, as for :class:`~skstab.model_selection.StabilityCV`.
    checkpoint : str or path-like, default=None
        A file in which every finished run is stored, as for :class:`~skstab.model_selection.StabilityCV`.
    max_seconds : float, default=None
        Seconds that a run may take. One that takes longer is stopped, and has failed. With limits each run has a
        process of its own, which takes about a tenth of a second more.
    max_memory : int, default=None
        Bytes that a run may need beyond those that its process starts with; on Linux only.
    n_jobs : int, default=None
        Number of runs at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of the default `cv` and of what is random in the selectors.
    verbose : int, default=0
        From 1 on, a line on standard error says how far the runs are.

    Attributes
    ----------
    runs_ : dict of Runs
        What each selector selected in each run, by name.
    scores_ : ndarray of shape (n_features,)
        The score of each feature by the method; larger is better.
    ranking_ : ndarray of int of shape (n_features,)
        The place of each feature in the joint list, 1 for the first.
    support_ : ndarray of bool of shape (n_features,)
        Which features are selected.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where `X` has names that are all strings.

    See Also
    --------
    consensus_ranking : The same for runs that are there.
    StabilitySelection : Votes over a path of penalties, with error bounds.

    Notes
    -----
    A consensus selects more stably than its members where these disagree by chance, and costs their runs: 50 fits of
    each selector for one selection, which a search or :class:`~skstab.model_selection.StabilityCV` around it
    repeats. It says nothing about errors: features without signal that many selectors share are selected, too. Where
    one member is better than the others, its own list can be the better one (`benchmarks/consensus.py`).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skstab.feature_selection import ConsensusSelector
    >>> from skstab.model_selection import BootstrapSplit
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
    >>> consensus = ConsensusSelector(
    ...     [("filter", SelectKBest(k=5)), ("lasso", make_pipeline(StandardScaler(), lasso))],
    ...     n_features_to_select=5, cv=BootstrapSplit(10, random_state=0),
    ... ).fit(X, y)
    >>> list(consensus.get_feature_names_out())
    ['mean concave points', 'worst radius', 'worst texture', 'worst perimeter', 'worst concave points']
    """

    def __init__(
        self,
        selectors: Sequence[tuple[str, Estimator]],
        *,
        n_features_to_select: float | None = None,
        method: Method = "borda",
        weights: Literal["score"] | ArrayLike | None = None,
        scoring: str | Scorer | None = None,
        cv: CVLike = None,
        support_from: str = "used",
        checkpoint: str | PathLike[str] | None = None,
        max_seconds: float | None = None,
        max_memory: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.selectors = selectors
        self.n_features_to_select = n_features_to_select
        self.method = method
        self.weights = weights
        self.scoring = scoring
        self.cv = cv
        self.support_from = support_from
        self.checkpoint = checkpoint
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with those of the selectors as `name__parameter`.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return those of the selectors.

        Returns
        -------
        params : dict
            Values by name.
        """
        with naming("deep"):
            return self._get_params("selectors", deep=deep)  # type: ignore[no-any-return]

    def set_params(self, **params: Any) -> Self:
        """Set parameters: a selector by its name, one of its parameters as `name__parameter`.

        Parameters
        ----------
        **params : dict
            Values by name.

        Returns
        -------
        self : object
            The same object.
        """
        self._set_params("selectors", **params)
        return self

    def fit(self, X: MatrixLike, y: Any = None, **params: Any) -> Self:
        """Run the selectors on the resamples, and select the first features of the joint list.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The target.
        **params : dict
            `groups` for the splitter; anything else, such as `sample_weight`, for the `fit` of the selectors. With
            metadata routing enabled, each goes where it was requested.

        Returns
        -------
        self : object
            The fitted object.
        """
        self._check()
        run_settings_of(self)
        with left_as_it_was(self), one_study(self):
            self._fit(X, y, params)
        return self

    def _fit(self, X: Any, y: Any, params: dict[str, Any]) -> None:
        X, y = as_indexable(X, y)
        validate_data(self, X, skip_check_array=True)
        entropy = draw_entropy(self.random_state)
        routed = routed_from_fit(self, params)
        splitter = self._splitter(y, routed, entropy)
        with naming("cv", "X", "y", *routed.splitter.split):
            splits = list(splitter.split(X, y, **routed.splitter.split))
        # Seeds of the first selectors stay the same when another one is added.
        seeds = np.random.SeedSequence(entropy).generate_state(len(self.selectors))
        self.runs_ = {
            name: self._runs_of(
                selector, splits, int(seed), _fit_params(routed, name), X, y
            )
            for (name, selector), seed in zip(self.selectors, seeds, strict=True)
        }
        self._count()

    def _splitter(self, y: Any, routed: Any, entropy: Any) -> Any:
        classifier = any(is_classifier(selector) for _, selector in self.selectors)
        if self.cv is not None:
            with naming("cv", "y"):
                return check_cv(self.cv, y, classifier=classifier)
        seed = int(np.random.SeedSequence(entropy, spawn_key=(2,)).generate_state(1)[0])
        # Groups may have several classes each, and are then drawn from the whole.
        stratify = classifier and "groups" not in routed.splitter.split
        return BootstrapSplit(50, stratify=stratify, random_state=seed)

    def _runs_of(
        self, selector: Any, splits: list[Any], seed: int, params: Any, X: Any, y: Any
    ) -> Runs:
        runs = StabilityCV(
            selector,
            cv=splits,
            scoring=self.scoring,
            support_from=self.support_from,
            random_state=seed,
            **run_settings_of(self),
        )
        with warnings.catch_warnings():
            # They are about the stability of a single selector, which nobody asked for.
            for message in _ABOUT_STABILITY:
                warnings.filterwarnings("ignore", message)
            return runs.fit(X, y, **params).runs_

    def _count(self) -> None:
        """Count the votes, and select the first features of the list."""
        parts = list(self.runs_.values())
        weights = self.weights
        if isinstance(weights, str):
            if not all(part.scores for part in parts):
                raise ValueError(
                    "weights='score' needs selectors that predict, such as make_pipeline(SelectKBest(k=5), "
                    "LogisticRegression()), or a scoring that fits them"
                )
            weights = next(iter(parts[0].scores))
        self.scores_, frequency = _votes(parts, self.method, weights)
        order = _order(self.scores_, frequency)
        self.ranking_ = np.empty(len(order), dtype=np.int64)
        self.ranking_[order] = np.arange(1, len(order) + 1)
        sizes = [part.tables.supports.sum() / len(part) for part in parts]
        n_selected = self._n_selected(float(np.mean(sizes)))
        self.support_ = (self.ranking_ <= n_selected) & (frequency > 0)

    def _n_selected(self, mean_size: float) -> int:
        wanted = self.n_features_to_select
        if wanted is None:
            return max(1, round(mean_size))
        if wanted < 1:
            return max(1, round(wanted * int(self.n_features_in_)))
        return int(wanted)

    def _check(self) -> None:
        selectors: Any = self.selectors
        if not isinstance(selectors, list | tuple) or not selectors:
            raise ValueError(
                f"selectors must be a list of pairs (name, selector), at least one, got {self.selectors!r}"
            )
        for pair in selectors:
            if not (
                isinstance(pair, tuple)
                and len(pair) == 2
                and isinstance(pair[0], str)
                and is_estimator(pair[1])
            ):
                raise ValueError(
                    f"selectors must be a list of pairs (name, selector), got {pair!r} in it"
                )
        with naming("selectors"):
            self._validate_names([name for name, _ in self.selectors])
        _check_method(self.method)
        check_support_from(self.support_from)
        n = self.n_features_to_select
        if not (n is None or is_int(n, least=1) or is_number(n, above=0, below=1)):
            raise ValueError(
                "n_features_to_select must be None, an int of at least 1 or a share above 0 and below 1, got "
                f"{n!r}"
            )
        if isinstance(self.weights, str) and self.weights != "score":
            raise ValueError(
                f"weights must be None, 'score' or one number per selector, got {self.weights!r}"
            )

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_

    def get_metadata_routing(self) -> MetadataRouter:
        """Report where the parameters of `fit` are passed to.

        Returns
        -------
        routing : MetadataRouter
            From `fit` to `fit` of each selector and `split` of the splitter.
        """
        splitter = BootstrapSplit() if self.cv is None else check_cv(self.cv)
        router = MetadataRouter(owner=self)
        for name, selector in self.selectors:
            router.add(**{f"selector_{name}": selector}, method_mapping=from_fit("fit"))
        return router.add(splitter=splitter, method_mapping=from_fit("split"))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = [get_tags(StabilityCV(selector)) for _, selector in self.selectors]
        tags.target_tags.required = any(part.target_tags.required for part in inner)
        tags.input_tags.sparse = all(part.input_tags.sparse for part in inner)
        tags.input_tags.allow_nan = all(part.input_tags.allow_nan for part in inner)
        return tags


def _fit_params(routed: Any, name: str) -> Any:
    """Parameters of the fit of a selector; without metadata routing all get the same."""
    if get_config()["enable_metadata_routing"]:
        return routed[f"selector_{name}"].fit
    return routed.estimator.fit

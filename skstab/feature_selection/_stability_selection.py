"""`StabilitySelection`: keep the features that a sparse model selects in most halves of the data."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import diags_array, issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from skstab._checks import check_parameters, is_estimator, is_int, is_number
from skstab._compat import params_of_rows, take_rows
from skstab.feature_selection._bounds import ASSUMPTIONS, per_family_errors, stability_selection_bounds
from skstab.feature_selection._paths import PARAMETERS, path_of, strongest_value
from skstab.feature_selection._walk import Walk, walk
from skstab.model_selection import ComplementaryPairsSplit
from skstab.model_selection._routing import from_fit, routed_from_fit
from skstab.model_selection._runs import random_parameters, seeded
from skstab.model_selection._sample import draw_entropy

__all__ = ["StabilitySelection"]

_EXACT = 1e-10  # frequencies are multiples of one over the number of subsamples


class StabilitySelection(MetaEstimatorMixin, SelectorMixin, BaseEstimator):
    """Keep the features that a sparse model selects in most halves of the data, with a bound on wrong ones.

    A model is fitted along its regularisation path on many halves of the rows. A feature is selected when, at some
    value of the regularisation, at least a share `threshold` of the halves select it. The expected number of wrongly
    selected features is then bounded, whatever the sample size.

    Parameters
    ----------
    estimator : estimator
        A sparse model with a regularisation parameter (`Lasso`, `ElasticNet`, `LogisticRegression` and `LinearSVC` with
        an L1 penalty, ...), any selector with a parameter that sets how much it selects, or a
        :class:`~sklearn.pipeline.Pipeline` that ends in one.
    param_name : str, default="auto"
        Name of the regularisation parameter, as for `set_params`. "auto" knows those of `Lasso`, `ElasticNet`,
        `LogisticRegression` and `LinearSVC`, alone or as the last step of a pipeline.
    param_values : array-like or "auto", default="auto"
        The values of that parameter. "auto" takes `n_values` of them on a logarithmic scale, from the strongest
        regularisation that matters (the least that selects nothing on all rows) to `1 / eps` times weaker. A half of
        the rows may select something at the first value already.
    threshold : float or None, default=0.75
        Share of the subsamples that must select a feature, from 0.5 to 1. None computes it from `q` and `pfer`.
    n_resamples : int, default=100
        Number of subsamples, where `resampling` is a name; even for complementary pairs.
    resampling : {"complementary_pairs", "subsample"}, splitter or iterable, default="complementary_pairs"
        The rows of each subsample: both halves of `n_resamples / 2` random permutations (Shah & Samworth), random
        halves independent of each other (Meinshausen & Bühlmann), or the training rows of any splits, which should be
        halves for the bound to hold. Named ones are stratified for a classifier, unless there are `groups`.
    q : int, default=None
        Stop each path when this many features have been in. Of several that enter between two values, those with the
        largest coefficients (times the feature's standard deviation) count as the first. After that the selection of
        this subsample stays. None follows each path to its end or, with `pfer`, computes `q`.
    pfer : float, default=None
        Bound on the expected number of wrongly selected features, of which `q` or, with `threshold=None`, the threshold
        is computed. At most two of `threshold`, `q` and `pfer` may be given.
    assumption : {"none", "unimodal", "r-concave"}, default="unimodal"
        For the bound, see :func:`stability_selection_bounds`. It serves complementary pairs; for other subsamples only
        the bound without assumptions is proven, and is used.
    n_jobs : int, default=None
        Number of subsamples at the same time; None means 1 unless in a :func:`joblib.parallel_config` context.
    random_state : int, RandomState instance or None, default=None
        Seed of the subsamples, of the penalty weights, and of whatever has a parameter `random_state=None` inside the
        estimator. An int gives the same result for any `n_jobs` and backend.
    weakness : float, default=1.0
        Below 1, every subsample multiplies each feature by a random number between `weakness` and 1, which makes its
        penalty up to `1 / weakness` times larger: the randomised lasso, which separates correlated features. A scaler
        in a pipeline would undo this.
    n_values : int, default=25
        Number of values for `param_values="auto"`.
    eps : float, default=0.01
        Ratio between the weakest and the strongest penalty for `param_values="auto"`.
    verbose : int, default=0
        Progress messages of joblib.

    Attributes
    ----------
    selection_path_ : ndarray of shape (n_features, n_values)
        Share of the subsamples that selected each feature at each value.
    selection_probabilities_ : ndarray of shape (n_features,)
        The largest of these of each feature.
    scores_ : ndarray of shape (n_features,)
        The same, by the name that scikit-learn's selectors have for it.
    threshold_ : float
        The threshold in use.
    q_ : int or float
        The number of features at which a path ends. Without `q` and `pfer`, the mean number of features that a
        subsample selected anywhere on its path.
    pfer_ : float
        Bound on the expected number of wrongly selected features, infinite where none is known. Without `q` and `pfer`
        it is an estimate, since it takes the mean for the expected number of features.
    param_name_ : str
        The name of the regularisation parameter.
    param_values_ : ndarray of shape (n_values,)
        Its values, in the order given; strongest first for "auto".
    n_subsamples_ : int
        Number of subsamples that did not fail.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where `X` has names that are all strings.

    See Also
    --------
    stability_selection_bounds : The bound, and which settings keep to one.
    skstab.model_selection.StabilityCV : How stable a selector is as it is.

    Notes
    -----
    The lasso, the elastic net, and logistic regression (two classes) and linear support vector machines with an L1
    penalty are solved along the whole path at once, with the solutions that fits of the estimator have. Other
    estimators are fitted once for each value; the steps of a pipeline before its last one only once a subsample.

    Where `q` is set, a path must start at its sparse end. It is known for the models whose parameter is; for others it
    is the end of the values that selects less on all rows, for which two more fits are made.

    References
    ----------
    N. Meinshausen and P. Bühlmann, "Stability selection", Journal of the Royal Statistical Society B 72 (2010),
    417-473.

    R. D. Shah and R. J. Samworth, "Variable selection with error control: another look at stability selection",
    Journal of the Royal Statistical Society B 75 (2013), 55-80.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Lasso
    >>> from skstab.feature_selection import StabilitySelection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 200))
    >>> y = X[:, :4] @ [2, 2, 1, 1] + rng.standard_normal(100)
    >>> selection = StabilitySelection(Lasso(), pfer=1, random_state=0).fit(X, y)
    >>> selection.get_support(indices=True)
    array([0, 1, 2, 3])
    >>> selection.q_, round(selection.pfer_, 2)
    (13, 0.86)
    >>> selection.retarget(threshold=0.9).pfer_
    0.364...
    """

    def __init__(
        self,
        estimator: Any,
        *,
        param_name: str = "auto",
        param_values: Any = "auto",
        threshold: float | None = 0.75,
        n_resamples: int = 100,
        resampling: Any = "complementary_pairs",
        q: int | None = None,
        pfer: float | None = None,
        assumption: str = "unimodal",
        n_jobs: int | None = None,
        random_state: Any = None,
        weakness: float = 1.0,
        n_values: int = 25,
        eps: float = 0.01,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_name = param_name
        self.param_values = param_values
        self.threshold = threshold
        self.n_resamples = n_resamples
        self.resampling = resampling
        self.q = q
        self.pfer = pfer
        self.assumption = assumption
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.weakness = weakness
        self.n_values = n_values
        self.eps = eps
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Follow the path of the estimator on each subsample.

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
        _check(self)
        if y is None and get_tags(self).target_tags.required:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X, y = indexable(X if hasattr(X, "shape") else np.asarray(X), y)
        validate_data(self, X, skip_check_array=True)
        routed = routed_from_fit(self, params)
        entropy = draw_entropy(self.random_state)
        # Seeded first, so that the search for values and their order is reproducible too.
        open_seeds = random_parameters(self.estimator, everywhere=False)
        estimator = seeded(self.estimator, open_seeds, np.random.SeedSequence(entropy, spawn_key=(1,)))
        self.param_name_ = name_of_parameter(estimator) if self.param_name == "auto" else self.param_name
        self.param_values_ = self._values(estimator, X, y, routed.estimator.fit)
        splits = self._splits(X, y, routed.splitter.split, entropy)
        self._n_pairs, self._assumption = len(splits) // 2, self._proven_assumption()
        q = self._check_settings()
        order = self._order(estimator, X, y, routed.estimator.fit, stops=q is not None)
        plan = Plan(
            self.estimator,
            open_seeds,
            self.param_name_,
            self.param_values_[order],
            routed.estimator.fit,
            q,
            self.weakness,
        )
        # Each subsample has a seed of its own, drawn here, so that it does not matter which worker follows its path.
        outcomes = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
            delayed(follow)(plan, X, y, train, np.random.SeedSequence(entropy, spawn_key=(0, number)))
            for number, (train, _) in enumerate(splits)
        )
        self._keep(_report(outcomes), order, q)
        return self

    def retarget(self, *, threshold: float | None = None, pfer: float | None = None) -> Self:
        """Change the selection without fitting again.

        Parameters
        ----------
        threshold : float, default=None
            A new threshold; `pfer_` becomes its bound.
        pfer : float, default=None
            A new bound; `threshold_` becomes the smallest threshold that keeps to it.

        Returns
        -------
        self : object
            The same object, with another selection.
        """
        check_is_fitted(self)
        if (threshold is None) == (pfer is None):
            raise ValueError("give either threshold or pfer to retarget, the other one follows from it")
        bounds = stability_selection_bounds(
            self.n_features_in_,
            q=self.q_,
            threshold=threshold,
            pfer=pfer,
            n_pairs=self._n_pairs,
            assumption=self._assumption,
        )
        self.threshold_, self.pfer_ = bounds.threshold, bounds.pfer
        return self

    @property
    def scores_(self) -> Any:
        """The selection probabilities, by the name that scikit-learn's selectors have for it."""
        return self.selection_probabilities_

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return self.selection_probabilities_ >= self.threshold_ - _EXACT

    # -- before the paths --------------------------------------------------------------------------------------------

    def _values(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        if not isinstance(self.param_values, str):
            values = np.asarray(self.param_values)
            # What is wrong with the data or the estimator shows at once, not in some of the subsamples.
            walk(path_of(estimator, self.param_name_, values[:1], X, y, fit_params), None)
            return values
        strongest = strongest_value(estimator, X, y, fit_params)
        if strongest is None or self.param_name_ != name_of_parameter(estimator):
            raise ValueError(
                f"param_values='auto' does not know the values of {self.param_name_!r} of "
                f"{type(estimator).__name__} with these settings: give them"
            )
        weakest = self.eps if _is_penalty(self.param_name_) else 1 / self.eps
        return strongest * np.geomspace(1, weakest, self.n_values)

    def _splits(self, X: Any, y: Any, split_params: dict[str, Any], entropy: Any) -> list[Any]:
        if not isinstance(self.resampling, str):
            splits = list(
                check_cv(self.resampling, y, classifier=is_classifier(self.estimator)).split(X, y, **split_params)
            )
            if len(splits) < 2:
                raise ValueError(f"resampling must give at least 2 subsamples, got {len(splits)}")
            return splits
        # The first halves of pairs are halves drawn independently.
        step = 1 if self.resampling == "complementary_pairs" else 2
        halves = self._pairs(y, entropy, grouped="groups" in split_params, n_splits=step * self.n_resamples)
        return list(halves.split(X, y, **split_params))[::step]

    def _pairs(self, y: Any = None, entropy: Any = 0, *, grouped: bool = False, n_splits: int = 2) -> Any:
        seed = int(np.random.SeedSequence(entropy, spawn_key=(2,)).generate_state(1)[0])
        stratify = is_classifier(self.estimator) and not grouped and _has_classes(y)
        return ComplementaryPairsSplit(n_splits, stratify=stratify, random_state=seed)

    def _proven_assumption(self) -> str:
        """The bounds that assume a shape are proven for complementary pairs only."""
        named = isinstance(self.resampling, str) and self.resampling == "complementary_pairs"
        return self.assumption if named or isinstance(self.resampling, ComplementaryPairsSplit) else "none"

    def _check_settings(self) -> int | None:
        """Find out before the paths whether the settings are possible, and where the paths end."""
        if self.q is None and self.pfer is None:
            return None
        bounds = stability_selection_bounds(
            self.n_features_in_,
            q=self.q,
            threshold=self.threshold,
            pfer=self.pfer,
            n_pairs=self._n_pairs,
            assumption=self._assumption,
        )
        return int(bounds.q)

    def _order(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any], *, stops: bool) -> Any:
        """Places of the values from the strongest regularisation to the weakest."""
        values = self.param_values_
        order = np.argsort(values, kind="stable") if values.dtype.kind in "iuf" else np.arange(len(values))
        last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        if type(last) in PARAMETERS and self.param_name_ == name_of_parameter(estimator):
            return order[::-1] if _is_penalty(self.param_name_) else order
        if not stops or len(order) == 1:
            return order
        ends = values[order[[0, -1]]]
        low, high = (len(step.selected) for step in path_of(estimator, self.param_name_, ends, X, y, fit_params))
        return order[::-1] if high < low else order

    # -- after the paths ---------------------------------------------------------------------------------------------

    def _keep(self, walks: list[Walk], order: Any, q: int | None) -> None:
        self.n_subsamples_ = len(walks)
        counts = np.zeros((len(order), self.n_features_in_), dtype=np.intp)
        for one in walks:
            for place, value in enumerate(order):
                counts[value, one.supports[min(place, len(one.supports) - 1)]] += 1
        self.selection_path_ = counts.T / len(walks)
        self.selection_probabilities_ = self.selection_path_.max(axis=1)
        if q is None:
            self.q_ = float(np.mean([len(one.seen) for one in walks]))
            self.threshold_ = float(self.threshold)
            self.pfer_ = self._estimated_errors()
        else:
            self.q_ = q
            self.retarget(threshold=self.threshold, pfer=self.pfer if self.threshold is None else None)

    def _estimated_errors(self) -> float:
        return per_family_errors(
            self.n_features_in_,
            q=self.q_,
            threshold=self.threshold_,
            n_pairs=max(self._n_pairs, 2),
            assumption=self._assumption,
        )

    # -- scikit-learn ------------------------------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Tell where the parameters of `fit` go.

        Returns
        -------
        routing : MetadataRouter
            From `fit` to `fit` of the estimator and `split` of the splitter.
        """
        splitter = self._pairs() if isinstance(self.resampling, str) else self.resampling
        return (
            MetadataRouter(owner=self)
            .add(estimator=self.estimator, method_mapping=from_fit("fit"))
            .add(splitter=splitter, method_mapping=from_fit("split"))
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "selection_path_")

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.target_tags = deepcopy(inner.target_tags)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags


# -- one subsample ---------------------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """What all subsamples have in common."""

    estimator: Any
    open_seeds: Sequence[str]
    param_name: str
    values: Any  # the strongest regularisation first
    fit_params: dict[str, Any]
    q: int | None
    weakness: float


def follow(plan: Plan, X: Any, y: Any, rows: Any, seed: Any) -> Walk | Exception:
    """Follow the path of one subsample."""
    try:
        estimator = seeded(plan.estimator, plan.open_seeds, seed)
        X_rows = _weakened(take_rows(X, rows), plan.weakness, seed)
        y_rows = None if y is None else take_rows(y, rows)
        params = params_of_rows(X, plan.fit_params, rows)
        return walk(path_of(estimator, plan.param_name, plan.values, X_rows, y_rows, params), plan.q)
    except Exception as error:  # noqa: BLE001  any estimator may fail in any way; the other subsamples go on
        return error


def _weakened(X: Any, weakness: float, seed: Any) -> Any:
    """Multiply each feature by a random number: the smaller, the more its penalty weighs."""
    if weakness == 1:
        return X
    # A stream of its own: the estimator's seeds come from the parent sequence.
    rng = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1)))
    weights = rng.uniform(weakness, 1, X.shape[1])
    if issparse(X):
        return X @ diags_array(weights, format="csr")
    return X * weights if hasattr(X, "iloc") else np.asarray(X) * weights


def _report(outcomes: Sequence[Walk | Exception]) -> list[Walk]:
    """Warn of what went wrong, once each, and return the subsamples that are left; raise where none is."""
    failed = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    done = [outcome for outcome in outcomes if not isinstance(outcome, Exception)]
    if not done:
        raise failed[0]
    if failed:
        warnings.warn(
            f"{len(failed)} of {len(outcomes)} subsamples failed and are left out; the first one with "
            f"{type(failed[0]).__name__}: {failed[0]}",
            FitFailedWarning,
            stacklevel=3,
        )
    unconverged = sum(one.n_unconverged for one in done)
    if unconverged:
        n_fits = sum(len(one.supports) for one in done)
        warnings.warn(
            f"{unconverged} of {n_fits} fits did not converge: raise max_iter or tol of the estimator, or leave out "
            "the weakest regularisations",
            ConvergenceWarning,
            stacklevel=3,
        )
    return done


# -- parameters ------------------------------------------------------------------------------------------------------


def name_of_parameter(estimator: Any) -> str:
    """The regularisation parameter of a known model, alone or as the last step of a pipeline."""
    if isinstance(estimator, Pipeline):
        return f"{estimator.steps[-1][0]}__{name_of_parameter(estimator[-1])}"
    if type(estimator) not in PARAMETERS:
        known = ", ".join(model.__name__ for model in PARAMETERS)
        raise ValueError(
            f"param_name='auto' knows {known}, alone or at the end of a pipeline, but not {type(estimator).__name__}: "
            "give param_name and param_values"
        )
    return PARAMETERS[type(estimator)]


def _is_penalty(param_name: str) -> bool:
    return param_name.rpartition("__")[2] == "alpha"


def _has_classes(y: Any) -> bool:
    return y is not None and type_of_target(y) in ("binary", "multiclass")


_NAMED = ("complementary_pairs", "subsample")


def _check(selector: StabilitySelection) -> None:
    check_parameters(
        selector,
        {
            "estimator": ("an estimator with fit and get_params", is_estimator),
            "param_name": ("a string", lambda v: isinstance(v, str)),
            "param_values": ("'auto' or a sequence with at least one value", _is_auto_or_values),
            "resampling": (
                "'complementary_pairs', 'subsample', a splitter or an iterable of splits",
                lambda v: v in _NAMED if isinstance(v, str) else hasattr(v, "split") or hasattr(v, "__iter__"),
            ),
            "n_resamples": ("an int of at least 2, even for complementary pairs", lambda v: is_int(v, 2)),
            "threshold": ("None or a number from 0.5 to 1", lambda v: v is None or is_number(v, least=0.5, most=1)),
            "q": ("None or an int of at least 1", lambda v: v is None or is_int(v, 1)),
            "pfer": ("None or a positive number", lambda v: v is None or is_number(v, above=0)),
            "assumption": (f"one of {', '.join(map(repr, ASSUMPTIONS))}", lambda v: v in ASSUMPTIONS),
            "weakness": ("a number above 0 and at most 1", lambda v: is_number(v, above=0, most=1)),
            "n_values": ("an int of at least 1", lambda v: is_int(v, 1)),
            "eps": ("a number between 0 and 1", lambda v: is_number(v, above=0, below=1)),
        },
    )
    if selector.n_resamples % 2 and isinstance(selector.resampling, str) and selector.resampling == _NAMED[0]:
        raise ValueError(f"n_resamples must be even for complementary pairs, got {selector.n_resamples}")
    _check_two_of_three(selector.threshold, selector.q, selector.pfer)


def _check_two_of_three(threshold: Any, q: Any, pfer: Any) -> None:
    if threshold is None and (q is None or pfer is None):
        raise ValueError("threshold=None is computed from q and pfer: give both, or a threshold")
    if threshold is not None and q is not None and pfer is not None:
        raise ValueError("of threshold, q and pfer two give the third, but all are given: set one of them to None")


def _is_auto_or_values(value: Any) -> bool:
    return value == "auto" if isinstance(value, str) else np.ndim(value) == 1 and len(value) > 0

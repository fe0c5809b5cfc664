"""`StabilitySelection`: keep the features that a sparse model selects in most halves of the data."""

from __future__ import annotations

from contextlib import closing
from copy import deepcopy
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted, validate_data

from skstab._checks import check_number, naming, run_settings_of
from skstab._compat import CallbackSupportMixin, as_indexable, with_callbacks
from skstab._engine.job import row_numbers
from skstab._engine.make import in_order, make, one_study
from skstab._pipelines import fitted, tags_of
from skstab._random import draw_entropy, random_parameters, seeded
from skstab._routing import from_fit, routed_from_fit
from skstab._typing import CVLike, Estimator, MatrixLike, RandomState
from skstab._undo import left_as_it_was
from skstab._warnings import warn_user
from skstab.feature_selection._bounds import (
    per_family_errors,
    stability_selection_bounds,
)
from skstab.feature_selection._calibration import (
    StabilityCalibration,
    best_cell,
    calibration_scores,
    counts_between,
    warn_at_edge,
)
from skstab.feature_selection._clusters import cluster_codes, representatives
from skstab.feature_selection._decoys import (
    check_for_decoys,
    least_selection,
    select_against_decoys,
    with_decoys,
)
from skstab.feature_selection._halves import (
    Asked,
    PathPlan,
    Paths,
    importance_path,
    importances_of,
    report_convergence,
    report_failures,
)
from skstab.feature_selection._held_paths import HeldName, held_path, is_known_model
from skstab.feature_selection._integrated import (
    Correlation,
    Integral,
    correlation_of,
    expected_false_positives,
    exponent_of,
    nearest_correlations,
    q_values,
)
from skstab.feature_selection._numbers import table_for_correlations
from skstab.feature_selection._paths import path_of, strongest_value
from skstab.feature_selection._settings import (
    IMPORTANCE,
    check_pfer,
    check_range,
    check_settings,
    has_classes,
    is_penalty,
    is_sparse_model,
    name_of_parameter,
    only_target,
)
from skstab.feature_selection._stability_path import frame_along, stability_along
from skstab.feature_selection._walk import walk
from skstab.model_selection import ComplementaryPairsSplit
from skstab.runs import CoefPath, registered_readers

__all__ = ["StabilitySelection"]

_EXACT = 1e-10  # frequencies are multiples of one over the number of subsamples
# Mean of the largest correlations, and that of a selected feature, from which expected false positives are doubtful.
_CORRELATED, _NEAR = 0.25, 0.5
_MOST_NEIGHBOURS = 100  # features whose correlations are known one by one
_N_PENALTIES, _N_THRESHOLDS = 25, 100
_WEAKEST_PENALTY, _LEAST_IMPORTANCE = 0.01, 0.001  # as shares of the largest
# Attributes that another fit may not set again.
_NOT_ALWAYS = (
    "efp_",
    "q_values_",
    "calibration_",
    "stable_param_value_",
    "decoy_scores_",
    "group_labels_",
    "group_selection_path_",
)


class StabilitySelection(
    CallbackSupportMixin, MetaEstimatorMixin, SelectorMixin, BaseEstimator
):
    """Keep the features that a sparse model selects in most halves of the data, with a bound on wrong ones.

    A model is fitted along its regularisation path on many halves of the rows. A feature is selected when, at some
    value of the regularisation, at least a share `threshold` of the halves select it. The expected number of wrongly
    selected features is then bounded, whatever the sample size. Beside such bounds there are other rules that read the
    same paths: expected false positives (`efp`), false discovery rates (`fdr`), calibration (:meth:`calibrate`).

    If you do not want to choose, set `efp=1`, and `groups` where features come in clusters of near copies. Of the rules
    with a target it found the most true features in simulations, with about one wrong one or fewer unless features
    correlate strongly. The user guide on stability selection has the figures.

    Parameters
    ----------
    estimator : estimator
        A sparse model with a regularisation parameter (`Lasso`, `ElasticNet`, `LogisticRegression` and `LinearSVC` with
        an L1 penalty, ...), a model with `feature_importances_` (forests, boosting), any selector with a parameter that
        sets how much it selects, or a :class:`~sklearn.pipeline.Pipeline` that ends in one.
    param_name : str, default="auto"
        Name of the regularisation parameter, as for `set_params`. "auto" knows those of `Lasso`, `ElasticNet`,
        `LogisticRegression` and `LinearSVC`, alone or as the last step of a pipeline. For models with
        `feature_importances_` it is "importance": the model is fitted once for each subsample, and thresholds on its
        importances take the place of penalties. "importance" can be given for any model whose importances can be read.
        A model that holds a whole path in its `coef_`, such as `CoxnetSurvivalAnalysis` of scikit-survival, is fitted
        once for each subsample with all values at once; readers say so of others
        (:func:`skstab.runs.register_reader`).
    param_values : array-like or "auto", default="auto"
        The values of that parameter, used as they are. "auto" takes `n_values` of them on a logarithmic scale, from the
        strongest regularisation that matters (the least that selects nothing on all rows) to `1 / eps` times weaker,
        both per row: `C`, which multiplies a sum over rows, is scaled to the size of the subsamples. A half of the rows
        may select something at the first value already. Thresholds on importances start at the largest importance of
        any subsample.
    threshold : float or None, default=0.75
        Share of the subsamples that must select a feature, from 0.5 to 1, or above 0 for `assumption="r-concave"`. None
        computes it from `q` and `pfer`.
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
        For the bound, see :func:`stability_selection_bounds`. It applies to complementary pairs; for other subsamples
        only the bound without assumptions is proven, and is used.
    support_from : {"used", "selector"}, default="used"
        What counts as selected: the columns that reach the final model and that this model does not drop; or what the
        last selector of a pipeline kept, also where the model after it drops some of these. See
        :func:`skstab.runs.selection_of`.
    groups : array-like of shape (n_features,), default=None
        Labels of clusters of features, such as those of strongly correlated ones. A cluster counts once in a subsample
        that selects any of its members; `q`, `pfer` and `efp` are then numbers of clusters. Of each selected cluster
        the member that was selected most often along the path is kept, the first of equal ones. (`groups` of `fit` are
        groups of rows.)
    decoys : {"permuted", "knockoffs"}, default=None
        Select against copies of the features that cannot matter, at the level `fdr`. Permuted copies are fair only to
        features that are independent of the others; second-order Gaussian knockoffs (equicorrelated, with a shrunken
        covariance) to features that are about Gaussian, so columns with two values are refused. The paths are followed
        once more for each draw, with twice as many columns.
    n_decoy_draws : int, default=10
        Number of times that decoys are drawn. Several draws are merged by e-values. Decoys can't tell fewer than
        1 / `fdr` features from chance, or 2 / `fdr` with several draws: nothing is then selected, with a warning.
    fdr : float, default=None
        Target level of the share of wrong features among the selected ones: by `q_values_` or, where `decoys` is set,
        by decoys.
    efp : float, default=None
        Target for the expected number of wrongly selected features, by `efp_`. At most one of `efp`, `fdr` and a bound
        (`q`, `pfer`) may be given.
    checkpoint : str or path-like, default=None
        A file in which every finished subsample is stored as it arrives, so that repeating the call follows only the
        missing ones; it is made where there is none. Subsamples are found again by the data, the estimator, the
        parameters, the rows and the seed: give an int `random_state`. Functions and classes count by their names, not
        by their code. Failed subsamples are kept, too. Several fits and processes may share a file on a local disk.
    max_seconds : float, default=None
        Seconds that a run may take. One that takes longer is stopped, and has failed. With limits each run has a
        process of its own, which takes about a tenth of a second more.
    max_memory : int, default=None
        Bytes that a run may need beyond those that its process starts with; on Linux only.
    n_jobs : int, default=None
        Number of subsamples at the same time; None means 1 unless in a :func:`joblib.parallel_config` context.
    random_state : int, RandomState instance or None, default=None
        Seed of the subsamples, of the penalty weights, and of whatever has a parameter `random_state=None` inside the
        estimator. An int gives the same result for any `n_jobs` and backend.
    weakness : float, default=1.0
        Below 1, every subsample multiplies each feature by a random number between `weakness` and 1, which makes its
        penalty up to `1 / weakness` times larger: the randomised lasso, which separates correlated features. A scaler
        in a pipeline would undo this.
    n_values : int, default=None
        Number of values for `param_values="auto"`; None takes 25 penalties, or 100 thresholds on importances.
    eps : float, default=None
        Ratio between the weakest and the strongest penalty for `param_values="auto"`; None takes 0.01, or 0.001 for
        thresholds on importances.
    verbose : int, default=0
        From 1 on, a line on standard error says how far the subsamples are.

    Attributes
    ----------
    selection_path_ : ndarray of shape (n_features, n_values)
        Share of the subsamples that selected each feature at each value.
    selection_probabilities_ : ndarray of shape (n_features,)
        The largest of these of each feature.
    scores_ : ndarray of shape (n_features,)
        The same, by the name that scikit-learn's selectors have for it.
    selection_auc_ : ndarray of shape (n_features,)
        The mean of each feature's selection probability over the values.
    stability_path_ : DataFrame
        Stability of the selection itself at each value, one row for each: `value`, `stability` (Nogueira's measure over
        the subsamples), and `low` and `high`, the ends of its 95% jackknife interval; `replication`, `replication_low`
        and `replication_high`, the same within complementary pairs, which is about other data sets of half the size.
        NaN where nothing, or everything, is selected; replication also for other subsamples.
    efp_ : ndarray of shape (n_features,)
        Bound on the expected number of wrong features in the set of all features that score at least as much, by the
        integrated path. Only after whole paths (without `q` and `pfer`) of complementary pairs. It is not the number
        of the authors' method: the notes say what differs, and under which condition it is a bound.
    q_values_ : ndarray of shape (n_features,)
        Smallest estimated share of wrong features among sets that include the feature, under the same condition.
    calibration_ : StabilityCalibration
        After :meth:`calibrate`: what was compared, and what was chosen.
    stable_param_value_ : object
        After :meth:`choose_by_stability`: the value that was chosen.
    decoy_scores_ : ndarray of shape (n_decoy_draws, 2, n_features)
        With `decoys`: mean selection probabilities over the values, of the features and of their decoys.
    group_labels_ : ndarray of shape (n_groups,)
        With `groups`: the labels, in the order of their first features.
    group_selection_path_ : ndarray of shape (n_groups, n_values)
        With `groups`: share of the subsamples that selected any member of each cluster at each value.
    threshold_ : float
        The threshold in use, NaN where the selection is by `efp` or `fdr`.
    q_ : int or float
        The number of features at which a path ends. Without `q` and `pfer`, the mean number of features that a
        subsample selected anywhere on its path.
    pfer_ : float
        Bound on the expected number of wrongly selected features, infinite where none is known. Without `q` and `pfer`
        it is an estimate, since it uses the mean in place of the expected number of features. With `efp` it is that
        target.
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
    stability_selection_bounds : The bound, and settings that satisfy one.
    skstab.model_selection.StabilityCV : Measures the stability of any selector.

    Notes
    -----
    The lasso, the elastic net, and logistic regression (two classes) and linear support vector machines with an L1
    penalty are solved along the whole path at once, with the solutions that fits of the estimator have. Other
    estimators are fitted once for each value; the steps of a pipeline before its last one only once per subsample.

    Where `q` is set, a path must start at its sparse end. It is known for the models whose parameter is; for others it
    is the end of the values that selects less on all rows, for which two more fits are made.

    Expected false positives integrate the m-th power of the share of pairs of which both halves select a feature, with
    a density of λ^−δ: m = 2 for sparse models, with δ = 1 where features hardly correlate (mean absolute correlation up
    to 0.05), 0 from 0.25 on, and linear between; m = 3 and δ = 1.25 for importances; m = 2 and equal weights for the
    values of any other parameter. The range ends where the expected score of all wrong features together may exceed 0.2
    (0.05 for importances), so it depends little on the grid. Features that have an `efp_` of at most 0.2 at first count
    as true in a second step: their selections are not held against the others. Where features correlate there is no
    second step, and the share of pairs is replaced by its lower bound, 2π − 1 for a selection probability of π.

    This departs from Melikechi & Miller in three ways: they always score by 2π − 1; they end the range where the
    integral of the bound, over a measure that is normalised on the whole grid, reaches 0.05; and they have no second
    step, which their theorem does not cover. Their program integrates scores and bound over two different measures,
    which makes its numbers smaller; here both are over the same.

    The bound for m > 1 rests on a condition that cannot be checked: that wrong features are selected by m pairs of
    halves at once no more often than if the pairs were independent. Wrong features that correlate with true ones break
    it; a warning is given where features correlate.

    References
    ----------
    N. Meinshausen and P. Bühlmann, "Stability selection", Journal of the Royal Statistical Society B 72 (2010),
    417-473.

    R. D. Shah and R. J. Samworth, "Variable selection with error control: another look at stability selection",
    Journal of the Royal Statistical Society B 75 (2013), 55-80.

    O. Melikechi and J. W. Miller, "Integrated path stability selection", Journal of the American Statistical
    Association (2025).

    B. Bodinier et al., "Automated calibration for stability selection in penalised regression and graphical models",
    Journal of the Royal Statistical Society C 72 (2023), 1375-1393.

    M. Nouraie and S. Muller, "On the selection stability of stability selection and its applications",
    Communications in Statistics (2026).

    J. Hédou et al., "Discovery of sparse, reliable omic biomarkers with Stabl", Nature Biotechnology 42 (2024),
    1581-1593.

    Z. Ren and R. F. Barber, "Derandomised knockoffs: leveraging e-values for false discovery rate control", Journal of
    the Royal Statistical Society B 86 (2024), 122-154.

    G. Faletto and J. Bien, "Cluster stability selection", arXiv 2201.00494 (2022).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Lasso
    >>> from skstab.feature_selection import StabilitySelection
    >>> rng = np.random.default_rng(1)
    >>> X = rng.standard_normal((100, 200))
    >>> y = X[:, :4] @ [2, 2, 1, 1] + rng.standard_normal(100)
    >>> selection = StabilitySelection(Lasso(), pfer=1, random_state=0).fit(X, y)
    >>> selection.get_support(indices=True)
    array([0, 1, 2, 3])
    >>> selection.q_, round(selection.pfer_, 2)
    (13, 0.86)
    >>> selection.retarget(threshold=0.9).pfer_
    0.364...

    Without choosing a threshold, by expected false positives:

    >>> selection = StabilitySelection(Lasso(), efp=1, random_state=0).fit(X, y)
    >>> selection.get_support(indices=True)
    array([ 0,  1,  2,  3, 65])
    >>> selection.efp_[[0, 1, 2, 3, 65]].round(2)
    array([...])
    """

    def __init__(  # noqa: PLR0913  one for each setting, all but the first by name
        self,
        estimator: Estimator,
        *,
        param_name: str = "auto",
        param_values: ArrayLike = "auto",
        threshold: float | None = 0.75,
        n_resamples: int = 100,
        resampling: str | CVLike = "complementary_pairs",
        q: int | None = None,
        pfer: float | None = None,
        assumption: str = "unimodal",
        support_from: str = "used",
        groups: ArrayLike | None = None,
        decoys: str | None = None,
        n_decoy_draws: int = 10,
        fdr: float | None = None,
        efp: float | None = None,
        checkpoint: str | PathLike[str] | None = None,
        max_seconds: float | None = None,
        max_memory: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        weakness: float = 1.0,
        n_values: int | None = None,
        eps: float | None = None,
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
        self.support_from = support_from
        self.groups = groups
        self.decoys = decoys
        self.n_decoy_draws = n_decoy_draws
        self.fdr = fdr
        self.efp = efp
        self.checkpoint = checkpoint
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.weakness = weakness
        self.n_values = n_values
        self.eps = eps
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: Any = None, **params: Any) -> Self:
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
        check_settings(self)
        run_settings_of(self)
        self._check_pairs()
        with left_as_it_was(self), one_study(self):
            self._fit(X, y, params)
        return self

    @with_callbacks
    def _fit(self, X: Any, y: Any, params: dict[str, Any]) -> None:
        for name in _NOT_ALWAYS:
            self.__dict__.pop(name, None)
        if y is None and get_tags(self).target_tags.required:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        X, y = as_indexable(X, y)
        validate_data(self, X, skip_check_array=True)
        routed, entropy = routed_from_fit(self, params), draw_entropy(self.random_state)
        with naming(
            "estimator", "X", "y", *params, or_names=self.get_params(deep=False)
        ):
            job = self._job(X, y, routed, entropy)
            X_numbers = (
                None if self.decoys is None else check_for_decoys(X, self.decoys)
            )
        paths = self._follow(job, X, key=(0,))
        self._keep(paths, job.plan.q)
        self._integrate(paths, X, whole=job.plan.q is None)
        if self.decoys is not None:
            self.decoy_scores_ = self._hold_against_decoys(job, X_numbers)
        self._select(job.plan.q)

    def retarget(
        self,
        *,
        threshold: float | None = None,
        pfer: float | None = None,
        efp: float | None = None,
        fdr: float | None = None,
    ) -> Self:
        """Change the selection without fitting again.

        Parameters
        ----------
        threshold : float, default=None
            A new threshold; `pfer_` becomes its bound.
        pfer : float, default=None
            A new bound; `threshold_` becomes the smallest threshold that keeps to it.
        efp : float, default=None
            Expected number of wrongly selected features: selects those with an `efp_` of at most this.
        fdr : float, default=None
            Level of false discoveries: selects those with a `q_values_` of at most this or, where there are decoys,
            those that exceed the decoys at this level.

        Returns
        -------
        self : object
            The same object, with another selection.
        """
        check_is_fitted(self)
        name, value = only_target(threshold=threshold, pfer=pfer, efp=efp, fdr=fdr)
        if name in ("efp", "fdr"):
            self._select_by_scores(name, value)
            return self
        bounds = stability_selection_bounds(
            self._n_units,
            q=self.q_,
            threshold=threshold,
            pfer=pfer,
            n_pairs=self._n_pairs,
            assumption=self._assumption,
        )
        self._select_by_threshold(bounds.threshold, bounds.pfer)
        return self

    def calibrate(
        self, *, pfer: float | None = None, thresholds: tuple[float, float] = (0.6, 0.9)
    ) -> Self:
        """Choose the penalty and the threshold at which the selection is least like chance, without fitting again.

        All thresholds of a range are compared at every value of the path. The features selected are then those that
        reach the threshold at this one value.

        Parameters
        ----------
        pfer : float, default=None
            The largest bound on the expected number of wrongly selected features that a choice may have; None compares
            all choices.
        thresholds : tuple of (float, float), default=(0.6, 0.9)
            The smallest threshold, above one half, and the largest.

        Returns
        -------
        self : object
            The same object, with another selection and `calibration_`.
        """
        check_is_fitted(self)
        check_pfer(pfer)
        check_range(thresholds)
        reached, sizes = (
            counts_between(self.n_subsamples_, *thresholds),
            self._unit_path.sum(axis=0),
        )
        scores, shares = (
            calibration_scores(self._unit_path, self.n_subsamples_, reached),
            reached / self.n_subsamples_,
        )
        errors = self._errors_of(sizes, shares)
        allowed = errors <= (np.inf if pfer is None else pfer)
        if not allowed.any():
            least = errors.min()
            raise ValueError(
                f"no value and threshold has a bound of at most pfer={pfer!r}: the least is {least:.3g}"
            )
        row, column = best_cell(scores, allowed)
        self.calibration_ = StabilityCalibration(
            param_value=self.param_values_[row],
            threshold=float(shares[column]),
            score=float(scores[row, column]),
            scores=scores,
            errors=errors,
            param_values=self.param_values_,
            thresholds=shares,
            sizes=sizes,
            pfer=pfer,
        )
        warn_at_edge(row, column, scores.shape, at_one=shares[-1] == 1)
        self.threshold_, self.pfer_ = (
            self.calibration_.threshold,
            float(errors[row, column]),
        )
        self._choose(self._unit_path[:, row] >= self.threshold_ - _EXACT)
        return self

    def choose_by_stability(
        self, *, least: float = 0.75, threshold: float | None = None
    ) -> Self:
        """Choose the penalty by the stability of the subsamples' selections, without fitting again.

        It is the weakest at which `stability_path_` is at least `least`; where none is, the weakest within one standard
        deviation (of the stabilities along the path) of the largest, with a warning (Nouraie and Muller 2026, R's
        stabplot). The features selected are those that reach the threshold at this one value.

        Parameters
        ----------
        least : float, default=0.75
            The stability that is wanted.
        threshold : float, default=None
            Share of the subsamples that must select a feature at that value; None keeps the one in use, or takes 0.75
            where there is none.

        Returns
        -------
        self : object
            The same object, with another selection and `stable_param_value_`. `pfer_` is the bound of that value as if
            it had not been chosen by the same subsamples.
        """
        check_is_fitted(self)
        check_number(least, "least", "between 0 and 1", least=0, most=1)
        if threshold is None:
            threshold = 0.75 if np.isnan(self.threshold_) else float(self.threshold_)
        check_number(threshold, "threshold", "between 0 and 1", least=0, most=1)
        values = self.stability_path_["stability"].to_numpy()
        if np.isnan(values).all():
            raise ValueError(
                "the path has no value with a stability: nothing, or everything, is selected at each of them"
            )
        limit, most = least, float(np.nanmax(values))
        if most < least:
            limit = most - (
                0.0 if len(values) < 2 else float(np.nanstd(values, ddof=1))
            )
            warn_user(
                f"no value of the path has a stability of {least:g}, the largest is {most:.2f}: taken is the weakest "
                f"penalty with at least {limit:.2f}, one standard deviation less"
            )
        sizes = self._unit_path.sum(axis=0)
        reached = np.flatnonzero(np.nan_to_num(values, nan=-np.inf) >= limit)
        row = int(reached[np.argmax(sizes[reached])])
        self.stable_param_value_ = self.param_values_[row]
        errors = self._errors_of(sizes[[row]], np.array([threshold]))
        self.threshold_, self.pfer_ = threshold, float(errors[0, 0])
        self._choose(self._unit_path[:, row] >= threshold - _EXACT)
        return self

    @property
    def scores_(self) -> Any:
        """The selection probabilities, by the name that scikit-learn's selectors have for it."""
        return self.selection_probabilities_

    @property
    def stability_path_(self) -> Any:
        """Stability of the selection at each value, with its intervals."""
        check_is_fitted(self)
        return frame_along(self._stability_along, self.param_values_)

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return self._support

    # -- before the paths ----------------------------------------------------------------------------------------------

    def _job(self, X: Any, y: Any, routed: Any, entropy: Any) -> Asked:
        """Find out what is followed on which subsamples, and whether the settings are possible."""
        fit_params = routed.estimator.fit
        # Seeded first, so that the search for values and their order is reproducible too.
        open_seeds = random_parameters(self.estimator, everywhere=False)
        estimator = seeded(
            self.estimator, open_seeds, np.random.SeedSequence(entropy, spawn_key=(1,))
        )
        held = held_path(estimator, self.param_name, X, y, fit_params)
        if self.param_name == "auto" and held is None:
            # Some models have importances only when they are fitted.
            known = (
                estimator
                if is_known_model(estimator)
                else fitted(clone(estimator), X, y, **fit_params)
            )
            self.param_name_ = name_of_parameter(known)
        else:
            self.param_name_ = getattr(held, "param_name", self.param_name)
        values = self._values(estimator, X, y, fit_params, held)
        splits = self._splits(X, y, routed.splitter.split, entropy)
        values = self._per_row(values, X.shape[0], splits)
        self._labels, self._codes = cluster_codes(self.groups, self.n_features_in_)
        self._n_pairs, self._assumption = len(splits) // 2, self._proven_assumption()
        q = self._check_bounds()
        order = self._order(estimator, X, y, fit_params, values, stops=q is not None)
        strongest_first = None if order is None else values[order]
        plan = PathPlan(
            self.estimator,
            open_seeds,
            self.param_name_,
            strongest_first,
            fit_params,
            q,
            self.weakness,
            self._codes,
            registered_readers(),
            self.support_from,
        )
        return Asked(plan, values, order, y, splits, entropy)

    def _values(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        fit_params: dict[str, Any],
        held: CoefPath | None,
    ) -> Any:
        """The values of the parameter; None for thresholds on importances that are not known yet."""
        # Errors in the data or the estimator are raised here, not in some of the subsamples.
        if self.param_name_ == IMPORTANCE:
            importances_of(
                fitted(estimator, X, y, **fit_params), X, y, self.support_from
            )
            return (
                None
                if isinstance(self.param_values, str)
                else np.asarray(self.param_values, dtype=np.float64)
            )
        if not isinstance(self.param_values, str):
            values = np.asarray(self.param_values)
            with naming("param_values", "estimator", "X", "y"):
                walk(
                    path_of(
                        estimator,
                        self.param_name_,
                        values[:1],
                        X,
                        y,
                        fit_params,
                        self.support_from,
                    ),
                    None,
                    X.shape[-1],
                )
            return values
        if held is not None:
            return np.asarray(held.values, dtype=np.float64)
        strongest = strongest_value(estimator, X, y, fit_params)
        if strongest is None or self.param_name_ != name_of_parameter(estimator):
            raise ValueError(
                f"param_values='auto' does not know the values of {self.param_name_!r} of "
                f"{type(estimator).__name__} with these settings: give them"
            )
        eps = self.eps or _WEAKEST_PENALTY
        weakest = eps if is_penalty(self.param_name_) else 1 / eps
        return strongest * np.geomspace(1, weakest, self.n_values or _N_PENALTIES)

    def _per_row(self, values: Any, n_rows: int, splits: list[Any]) -> Any:
        """C multiplies a sum over rows: for the same penalty per row it must grow as the rows become fewer."""
        automatic = (
            isinstance(self.param_values, str) and self.param_name_ != IMPORTANCE
        )
        if not automatic or is_penalty(self.param_name_):
            return values
        return values * n_rows / np.mean([len(train) for train, _ in splits])

    def _splits(
        self, X: Any, y: Any, split_params: dict[str, Any], entropy: Any
    ) -> list[Any]:
        if not isinstance(self.resampling, str):
            with naming("resampling", "X", "y", *split_params):
                splitter = check_cv(
                    self.resampling, y, classifier=is_classifier(self.estimator)
                )
                splits = [
                    (row_numbers(train, X.shape[0], "resampling"), test)
                    for train, test in splitter.split(X, y, **split_params)
                ]
            if len(splits) < 2:
                raise ValueError(
                    f"resampling must give at least 2 subsamples, got {len(splits)}"
                )
            return splits
        # The first halves of pairs are halves drawn independently.
        step = 1 if self.resampling == "complementary_pairs" else 2
        halves = self._pairs(
            y,
            entropy,
            grouped="groups" in split_params,
            n_splits=step * self.n_resamples,
        )
        return list(halves.split(X, y, **split_params))[::step]

    def _pairs(
        self,
        y: Any = None,
        entropy: Any = 0,
        *,
        grouped: bool = False,
        n_splits: int = 2,
    ) -> Any:
        seed = int(np.random.SeedSequence(entropy, spawn_key=(2,)).generate_state(1)[0])
        stratify = is_classifier(self.estimator) and not grouped and has_classes(y)
        return ComplementaryPairsSplit(n_splits, stratify=stratify, random_state=seed)

    @property
    def _has_pairs(self) -> bool:
        named = (
            isinstance(self.resampling, str)
            and self.resampling == "complementary_pairs"
        )
        return named or isinstance(self.resampling, ComplementaryPairsSplit)

    def _check_pairs(self) -> None:
        """Find out before the paths whether there will be scores to select by."""
        wanted = (
            "efp"
            if self.efp is not None
            else "fdr"
            if self.fdr is not None and self.decoys is None
            else None
        )
        if wanted and not self._has_pairs:
            raise ValueError(_why_no_scores(wanted))

    def _proven_assumption(self) -> str:
        """The bounds that assume a shape are proven for complementary pairs only."""
        return self.assumption if self._has_pairs else "none"

    @property
    def _n_units(self) -> int:
        """Number of features, or of their clusters where these count once."""
        return len(self._labels)

    def _check_bounds(self) -> int | None:
        """Find out before the paths whether the settings are possible, and where the paths end."""
        if self.q is None and self.pfer is None:
            return None
        bounds = stability_selection_bounds(
            self._n_units,
            q=self.q,
            threshold=self.threshold,
            pfer=self.pfer,
            n_pairs=self._n_pairs,
            assumption=self._assumption,
        )
        return int(bounds.q)

    def _order(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        fit_params: dict[str, Any],
        values: Any,
        *,
        stops: bool,
    ) -> Any:
        """Places of the values from the strongest regularisation to the weakest; None where they are not known yet."""
        if values is None:
            return None
        order = (
            np.argsort(values, kind="stable")
            if values.dtype.kind in "iuf"
            else np.arange(len(values))
        )
        if self.param_name_ == IMPORTANCE:
            return order[::-1]
        if isinstance(self.param_name_, HeldName):
            return order[::-1]
        if is_sparse_model(estimator) and self.param_name_ == name_of_parameter(
            estimator
        ):
            return order[::-1] if is_penalty(self.param_name_) else order
        if not stops or len(order) == 1:
            return order
        ends = values[order[[0, -1]]]
        low, high = (
            len(step.selected)
            for step in path_of(
                estimator,
                self.param_name_,
                ends,
                X,
                y,
                fit_params,
                self.support_from,
            )
        )
        return order[::-1] if high < low else order

    # -- the paths -----------------------------------------------------------------------------------------------------

    def _follow(self, job: Asked, X: Any, *, key: tuple[int, ...]) -> Paths:
        """Follow the path of each subsample."""
        asked = job.job(X, key)
        made = make(
            asked,
            owner=self if key == (0,) else None,
            **run_settings_of(self),
            about=f"StabilitySelection of {type(self.estimator).__name__}",
        )
        with closing(made):
            outcomes = [runs[0] for _, runs in in_order(asked, made)]
        numbers = report_failures(outcomes)
        done, values, order = (
            [outcomes[number] for number in numbers],
            job.values,
            job.order,
        )
        if job.plan.param_name == IMPORTANCE:
            values = self._thresholds(done) if values is None else values
            order = np.argsort(-values, kind="stable")
            done = [
                job.plan.half_of(importance_path(importances, values[order]))
                for importances in done
            ]
        report_convergence(done)
        return Paths(done, numbers, values, order)

    def _thresholds(self, importances: list[Any]) -> Any:
        largest = float(np.max(importances))
        return (largest if largest > 0 else 1.0) * np.geomspace(
            1, self.eps or _LEAST_IMPORTANCE, self.n_values or _N_THRESHOLDS
        )

    def _hold_against_decoys(self, job: Asked, X: Any) -> Any:
        """Mean selection probability along the path of each feature and of its decoy, one by one of the draws."""
        d, plan = (
            self.n_features_in_,
            job.plan._replace(q=None, codes=np.arange(2 * self.n_features_in_)),
        )
        scores = []
        for draw in range(self.n_decoy_draws):
            rng = np.random.default_rng(
                np.random.SeedSequence(job.entropy, spawn_key=(3, draw))
            )
            paths = self._follow(
                job._replace(plan=plan),
                with_decoys(X, str(self.decoys), rng),
                key=(4, draw),
            )
            scores.append(paths.shares(2 * d).mean(axis=1).reshape(2, d))
        return np.stack(scores)

    # -- after the paths -----------------------------------------------------------------------------------------------

    def _keep(self, paths: Paths, q: int | None) -> None:
        self.n_subsamples_, self.param_values_ = len(paths.halves), paths.values
        self.selection_path_ = self._unit_path = paths.shares(self.n_features_in_)
        if self.groups is not None:
            self._unit_path = self.group_selection_path_ = paths.shares(
                self._n_units, clusters=True
            )
            self.group_labels_ = self._labels
        self.selection_probabilities_ = self.selection_path_.max(axis=1)
        self.selection_auc_ = self.selection_path_.mean(axis=1)
        self.q_ = (
            float(np.mean([len(half.walk.seen) for half in paths.halves]))
            if q is None
            else q
        )
        pairs = paths.of_whole_pairs().clusters() if self._has_pairs else []
        self._stability_along = stability_along(
            paths.clusters(), pairs, self._n_units, paths.order
        )

    def _integrate(self, paths: Paths, X: Any, *, whole: bool) -> None:
        """Expected false positives, where whole paths of complementary pairs are known."""
        pairs = paths.of_whole_pairs()
        if not whole or not self._has_pairs or not pairs.halves:
            return
        table = table_for_correlations(X)
        self._correlation = (
            Correlation(0.0, 0.0)
            if table is None
            else correlation_of(table, self._codes)
        )
        path, together = (
            pairs.shares(self._n_units, clusters=True),
            pairs.together(self._n_units),
        )
        penalties, order, integral = self._measure(path, paths)
        self._unit_efp = expected_false_positives(
            path[:, order],
            together[:, order],
            penalties,
            integral,
            n_pairs=len(pairs.halves) // 2,
            correlated=self._correlation.nearest > _CORRELATED,
        )
        self._unit_q_values = q_values(self._unit_efp)
        self.efp_, self.q_values_ = (
            self._unit_efp[self._codes],
            self._unit_q_values[self._codes],
        )
        self._nearest = np.zeros(self.n_features_in_)
        if table is not None:
            first = np.argsort(self.efp_, kind="stable")[:_MOST_NEIGHBOURS]
            self._nearest[first] = nearest_correlations(table, self._codes, first)

    def _measure(self, path: Any, paths: Paths) -> tuple[Any, Any, Integral]:
        """Penalties from the sparse end on, their places, and what is integrated over them."""
        values = paths.values
        is_model = is_sparse_model(
            self.estimator
        ) and self.param_name_ == name_of_parameter(self.estimator)
        if self.param_name_ == IMPORTANCE and values.min() > 0:
            return values[paths.order], paths.order, Integral(m=3, delta=1.25, end=0.05)
        if is_model and values.min() > 0:
            penalties = values if is_penalty(self.param_name_) else 1 / values
            return (
                penalties[paths.order],
                paths.order,
                Integral(m=2, delta=exponent_of(self._correlation.mean)),
            )
        # Of any other parameter every value counts the same.
        order = np.argsort(path.sum(axis=0), kind="stable")
        return (
            np.exp(-np.arange(len(order), dtype=np.float64)),
            order,
            Integral(m=2, delta=1.0),
        )

    # -- the selection -------------------------------------------------------------------------------------------------

    def _select(self, q: int | None) -> None:
        if self.efp is not None or self.fdr is not None:
            self.retarget(efp=self.efp, fdr=self.fdr)
        elif q is not None:
            self.retarget(
                threshold=self.threshold,
                pfer=self.pfer if self.threshold is None else None,
            )
        else:
            threshold: Any = self.threshold  # which is given where q is not
            errors = self._errors_of(np.array([self.q_]), np.array([threshold]))
            self._select_by_threshold(float(threshold), float(errors[0, 0]))
            warn_user(
                "the expected number of wrong features is not controlled: set efp, fdr, pfer or q"
            )

    def _select_by_threshold(self, threshold: float, pfer: float) -> None:
        self.threshold_, self.pfer_ = threshold, pfer
        self._choose(self._unit_path.max(axis=1) >= threshold - _EXACT)

    def _select_by_scores(self, name: str, value: float) -> None:
        """Select by expected false positives, q-values or decoys."""
        if name == "fdr" and self.decoys is not None:
            mask = select_against_decoys(self.decoy_scores_, value)
            if not mask.any():
                self._warn_of_too_few(value)
        elif not hasattr(self, "efp_"):
            raise ValueError(_why_no_scores(name))
        else:
            mask = (self._unit_efp if name == "efp" else self._unit_q_values) <= value
            self._warn_of_correlation(mask[self._codes])
        self.threshold_, self.pfer_ = np.nan, value if name == "efp" else np.inf
        self._choose(mask)

    def _warn_of_correlation(self, selected: Any) -> None:
        if (
            self._correlation.nearest > _CORRELATED
            or (self._nearest[selected] > _NEAR).any()
        ):
            warn_user(
                "features correlate with others: efp_ and q_values_ assume that wrong features are selected by several "
                "pairs of halves no more often than if the pairs were independent, and may be too small here; cluster "
                "the features (groups) or use a bound (pfer)",
            )

    def _warn_of_too_few(self, fdr: float) -> None:
        least = least_selection(len(self.decoy_scores_), fdr)
        fewer = (
            ""
            if len(self.decoy_scores_) == 1
            else f", n_decoy_draws=1 needs {least_selection(1, fdr):g}"
        )
        warn_user(
            f"nothing is selected: at fdr={fdr:g}, at least {least:g} features must exceed the decoys of a draw{fewer};"
            " for fewer relevant features use efp without decoys",
        )

    def _choose(self, units: Any) -> None:
        """Keep a selection of features, or of clusters with one feature each."""
        self._support = (
            units
            if self.groups is None
            else representatives(units, self._codes, self.selection_auc_)
        )

    def _errors_of(self, sizes: Any, thresholds: Any) -> Any:
        """Bounds on the expected number of errors, one row for each number of features."""
        return np.array(
            [
                [
                    per_family_errors(
                        self._n_units,
                        q=float(q),
                        threshold=float(threshold),
                        n_pairs=max(self._n_pairs, 2),
                        assumption=self._assumption,
                    )
                    for threshold in thresholds
                ]
                for q in sizes
            ]
        )

    # -- scikit-learn --------------------------------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Report where the parameters of `fit` are passed to.

        Returns
        -------
        routing : MetadataRouter
            From `fit` to `fit` of the estimator and `split` of the splitter.
        """
        splitter = (
            self._pairs() if isinstance(self.resampling, str) else self.resampling
        )
        return (
            MetadataRouter(owner=self)
            .add(estimator=self.estimator, method_mapping=from_fit("fit"))
            .add(splitter=splitter, method_mapping=from_fit("split"))
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "selection_path_")

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), tags_of(self.estimator)
        tags.target_tags = deepcopy(inner.target_tags)
        tags.classifier_tags = deepcopy(
            inner.classifier_tags
        )  # which classes y may have
        tags.input_tags.sparse = inner.input_tags.sparse and self.decoys != "knockoffs"
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags


def _why_no_scores(name: str) -> str:
    return (
        f"{name} needs whole paths of complementary pairs: fit with resampling='complementary_pairs' and without q and "
        "pfer"
    )

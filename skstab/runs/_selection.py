"""What one fitted estimator selected, in the columns of its input.

The public reading of an estimator: it is first traced (`_trace`), and only then are weights taken from the best place,
scaled, and assigned to the columns of the input.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import (
    AffinityPropagation,
    Birch,
    BisectingKMeans,
    KMeans,
    MeanShift,
    MiniBatchKMeans,
)
from sklearn.cross_decomposition import CCA, PLSCanonical, PLSRegression
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.gaussian_process import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    BayesianRidge,
    GammaRegressor,
    HuberRegressor,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    TheilSenRegressor,
    TweedieRegressor,
)
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
)
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    LocalOutlierFactor,
    NearestCentroid,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.semi_supervised import LabelPropagation, LabelSpreading
from sklearn.svm import SVC, SVR, LinearSVR, NuSVC, NuSVR, OneClassSVM

from skstab._checks import check_bool, check_support_from, naming
from skstab._pipelines import class_name, steps_of
from skstab._typing import BoolArray, Estimator, FloatArray, IntArray, MatrixLike
from skstab.runs._columns import (
    combine_parts,
    output_to_input_columns,
    scatter_to_input,
)
from skstab.runs._outputs import RunOutputs
from skstab.runs._packed import Reading, Selection
from skstab.runs._probing import altering_columns
from skstab.runs._readers import keeps_every_feature
from skstab.runs._trace import (
    Expanded,
    Source,
    Trace,
    inner_model,
    is_fitted,
    known_width,
    trace_of,
    width_of,
)
from skstab.runs._values import (
    Getter,
    asked_values,
    coef_rows,
    declares_weights,
    given_rows,
    has_values,
    own_rows,
)
from skstab.runs._view import UnreadableError, View

__all__ = [
    "Selection",
    "last_step_of",
    "read_emptied",
    "read_run",
    "selection_of",
    "support_of",
    "why_no_support",
]

# Their zeros are accidents of the data (a constant column), not a selection. For models that are not listed a zero
# coefficient is a dropped feature.
_DENSE = (
    *(
        BayesianRidge,
        GammaRegressor,
        HuberRegressor,
        LinearRegression,
        PoissonRegressor,
        Ridge,
    ),
    *(RidgeClassifier, RidgeClassifierCV, RidgeCV, TheilSenRegressor, TweedieRegressor),
    *(SVC, SVR, LinearSVR, NuSVC, NuSVR, OneClassSVM, LinearDiscriminantAnalysis),
    *(CCA, PLSCanonical, PLSRegression),
)
# They have no weights, and their form has a part for every feature, so that nothing needs to be probed.
_FORMS_OF_ALL = (
    *(BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB),
    *(GaussianProcessClassifier, GaussianProcessRegressor, KernelRidge),
    *(KNeighborsClassifier, KNeighborsRegressor, LocalOutlierFactor, NearestCentroid),
    *(RadiusNeighborsClassifier, RadiusNeighborsRegressor),
    *(LabelPropagation, LabelSpreading, MLPClassifier, MLPRegressor),
    *(QuadraticDiscriminantAnalysis, AffinityPropagation, Birch, BisectingKMeans),
    *(KMeans, MeanShift, MiniBatchKMeans, BayesianGaussianMixture, GaussianMixture),
)


def selection_of(
    estimator: Estimator,
    X: MatrixLike | None,
    y: ArrayLike | None = None,
    *,
    importance_getter: Getter = "auto",
    scale_importances: bool = True,
    zero_outside: bool = True,
    support_from: str = "used",
    require_support: bool = False,
) -> Selection:
    """Read what a fitted estimator selected.

    The estimator is a selector, a model with weights, a search or another wrapper that passes its input on to one
    fitted model (`best_estimator_`, `estimator_`, `regressor_`), an ensemble of copies of one model, or a `Pipeline` of
    such steps. A pipeline's steps before the last must select features, pass them one to one or expand them (encoders,
    splines, bins): the outputs of a column belong to it, which is selected where any of them is, with the norm of their
    importances.

    The support is what the estimator uses: the columns that reach the final model and that this model does not drop. A
    sparse linear model drops the columns of which all coefficients are zero, alone or inside wrappers and ensembles
    (of these, and of voting, stacking and chains, a column is used where any member uses it); a model that drops
    nothing leaves what selectors kept. So a filter in front of a lasso does not hide what the lasso selected.

    What a part of the estimator keeps is the first of these that exists: what a reader says that was registered by
    :func:`register_reader`; the method `__skstab_selection__` of the object; a reader of this package; `get_support()`;
    `support_` of a transformer, a mask or indices; names of outputs that are some of those of the inputs; the non-zero
    `coef_`. Where it has none of these, it is read by what it does with some of the rows of `X`: the columns that
    `transform` passes on unchanged; else the columns whose change alters its predictions, which the selection says
    (`by_probing`). Importances are read in the same order, after `importance_getter`, and never by what an object does.
    Where they exist but cannot be read, they are None with a warning, if the support is known.

    Parameters
    ----------
    estimator : object
        The fitted estimator.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows the estimator was fitted on. They are read only where importances need them, and may be None where they
        do not.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        The target; only an `importance_getter` that asks for data sees it.
    importance_getter : str or callable, default="auto"
        Where importances come from. "auto": the final model's `coef_`, else its `feature_importances_`; where it has
        neither or there is none, the same of the last selector's inner model, else the selector's `scores_`. Another
        string is an attribute path, looked up on `estimator`, then on its final model. A callable with at most one
        required positional parameter gets `estimator`; with more, it gets the final model and the `X` and `y` that
        model was fitted on, after the pipeline's earlier steps. The result has one value, or one column, for each
        feature that the final model saw (or each of the input's); several rows (classes, outputs) enter by their
        Euclidean norm. A `coef_` and what a callable returns count by size. `feature_importances_`, `scores_`, what a
        reader gives, and a callable that has an attribute `signed = True`, count with their sign: where some are below
        zero, all are counted from the lowest.
    scale_importances : bool, default=True
        Whether importances that come from a `coef_` are multiplied by the standard deviation of each feature as the
        model saw it: they are then those of features of unit variance.
    zero_outside : bool, default=True
        Whether features outside the support have the importance 0, whatever the getter says.
    support_from : {"used", "selector"}, default="used"
        "used": the columns that reach the final model and that it does not drop. "selector": what the last selector of
        a pipeline kept, also where the model after it drops some of these, as many papers count; a model without a
        selector in front of it is read as with "used".
    require_support : bool, default=False
        Whether a model that keeps every feature is an error, which says what to do instead.

    Returns
    -------
    selection : Selection
        The support, the importances and the signed weights.

    See Also
    --------
    register_reader : How objects of other kinds are read.

    Notes
    -----
    Probing uses at most 256 rows, fewer where X has more than 15 000 columns. A model that uses k of d features costs
    about 2k log2(d) predictions of these rows, and at most 4d; above a million rows predicted, or two billion cells, it
    is given up with an error. The values of a column change places, so that a feature which matters for few rows only
    may be missed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from skstab.runs import selection_of
    >>> X, y = load_iris(return_X_y=True)
    >>> pipe = make_pipeline(SelectKBest(k=2), GaussianNB()).fit(X, y)
    >>> selection_of(pipe, X, y).support
    array([False, False,  True,  True])
    """
    reading = read_run(
        estimator,
        X,
        y,
        importance_getter=importance_getter,
        scale_importances=scale_importances,
        zero_outside=zero_outside,
        support_from=support_from,
    )
    if check_bool(require_support, "require_support") and reading.keeps_all:
        raise ValueError(why_no_support(estimator))
    return reading.warned().selection


@naming("estimator", "X", "y", "importance_getter")
def read_run(
    estimator: Estimator,
    X: MatrixLike | None,
    y: ArrayLike | None = None,
    *,
    importance_getter: Getter = "auto",
    scale_importances: bool = True,
    zero_outside: bool = True,
    support_from: str = "used",
) -> Reading:
    """Read what a fitted estimator selected as `selection_of` does, with more about it and without a warning.

    Parameters
    ----------
    estimator : object
        The fitted estimator.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows it was fitted on.
    y : array-like, default=None
        The target.
    importance_getter : str or callable, default="auto"
        Where importances come from.
    scale_importances : bool, default=True
        Whether coefficients are multiplied by standard deviations.
    zero_outside : bool, default=True
        Whether features outside the support have the importance 0.
    support_from : {"used", "selector"}, default="used"
        What the support is, as in `selection_of`.

    Returns
    -------
    reading : Reading
        The `Selection`, the outputs of encoders that were selected, and why importances could not be read, if so.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.feature_selection import VarianceThreshold
    >>> from skstab.runs import read_run
    >>> X = np.array([[0, 1], [0, 2]])
    >>> read_run(VarianceThreshold().fit(X), X).support
    array([False,  True])
    """
    for name, value in (
        ("scale_importances", scale_importances),
        ("zero_outside", zero_outside),
    ):
        check_bool(value, name)
    check_support_from(support_from)
    view = View(X, y)
    n_features = _width_of(estimator, X)
    trace = trace_of(estimator, n_features, view)
    selection, why = _resolve(
        estimator, trace, view, importance_getter, scale_importances, support_from
    )
    if zero_outside:
        selection = _zeroed(selection)
    if selection.support is None and selection.importances is None:
        is_unseen = X is None and _needs_probing(trace.final)
        reason = _why_rows(estimator) if is_unseen else why_no_support(estimator)
        raise ValueError(why or reason)
    outputs = (
        None
        if trace.expanded is None
        else _outputs(trace.expanded, _names_in(estimator, X, n_features), support_from)
    )
    return Reading(selection, outputs, why)


@naming("estimator")
def read_emptied(
    estimator: Estimator, n_features: int, X: MatrixLike | None = None
) -> Reading | None:
    """Read a pipeline that could not be fitted because its selectors left no feature for the steps after them.

    Such a run has selected nothing, which is an answer; left out as a failure, it would make the others look more
    stable than the selector is.

    Parameters
    ----------
    estimator : object
        The estimator whose `fit` failed.
    n_features : int
        Number of features of its input.
    X : array-like or sparse matrix of shape (n_samples, n_features), default=None
        The rows of the fit, for steps that are read by what they do with them.

    Returns
    -------
    reading : Reading or None
        An empty selection; None where the fit failed for another reason.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from sklearn.feature_selection import SelectFwe, f_regression
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from skstab.runs import read_emptied
    >>> rng = np.random.default_rng(0)
    >>> pipe = make_pipeline(SelectFwe(f_regression), LinearRegression())
    >>> try:
    ...     with warnings.catch_warnings(action="ignore"):  # no features were selected
    ...         pipe.fit(rng.normal(size=(50, 3)), rng.normal(size=50))
    ... except ValueError:
    ...     print(read_emptied(pipe, 3).support)
    [False False False]
    """
    before = steps_of(estimator)[:-1] if isinstance(estimator, Pipeline) else []
    fitted = list(takewhile(lambda step: is_fitted(step[1]), before))
    # Of the shortest part that ends with a selector: what comes after it was given no feature.
    for end in range(1, len(fitted) + 1):
        try:
            trace = trace_of(Pipeline(fitted[:end]), n_features, View(X, None))
        except Exception:  # noqa: BLE001  what a failed fit left half done may break in any way when it is read
            return None
        if trace.selected is not None and not len(trace.selected):
            nothing = np.zeros(n_features)
            names = _names_in(estimator, None, n_features)
            outputs = (
                None
                if trace.expanded is None
                else _outputs(trace.expanded, names, "selector")
            )
            return Reading(
                Selection(nothing.astype(bool), nothing, nothing, True), outputs, None
            )
    return None


def _width_of(estimator: Any, X: Any) -> int:
    if X is None:
        return known_width(estimator)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2:
        raise ValueError(
            f"X must be None or a 2D array of rows and features, got {X!r}"
        )
    return int(shape[1])


def _names_in(estimator: Any, X: Any, n_features: int) -> Any:
    names = getattr(X, "columns", None)
    return (
        getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(n_features)])
        if names is None
        else names
    )


def _outputs(expanded: Expanded, names: Any, support_from: str) -> RunOutputs | None:
    """Return which outputs of the last expanding step were selected."""
    after, outputs = expanded
    support = _support(after, support_from).mask
    return (
        None
        if support is None
        else RunOutputs(outputs.names(names), outputs.inputs, support)
    )


def support_of(
    estimator: Estimator, X: MatrixLike | None = None, support_from: str = "used"
) -> BoolArray | None:
    """Read the support of a fitted estimator, if need be by what it does with rows.

    Parameters
    ----------
    estimator : object
        The fitted estimator, as in `selection_of`.
    X : array-like or sparse matrix of shape (n_samples, n_features), default=None
        Rows of its features.
    support_from : {"used", "selector"}, default="used"
        What the support is, as in `selection_of`.

    Returns
    -------
    support : ndarray of bool of shape (n_features,) or None
        The selected features; None where the estimator does not select.
    """
    trace = trace_of(estimator, _width_of(estimator, X), View(X, None))
    is_used = support_from == "used" or trace.selected is None
    if X is None and is_used and _needs_probing(trace.final):
        raise ValueError(_why_rows(estimator))
    found = _support(trace, support_from)
    return None if found.keeps_all else found.mask


def last_step_of(estimator: Any) -> tuple[Any, IntArray, int]:
    """Find the last step of a pipeline, and the columns of the input that reach it.

    Parameters
    ----------
    estimator : object
        A fitted estimator; one that is not a `Pipeline` is its own last step.

    Returns
    -------
    last : object
        The last step, never itself a `Pipeline`.

    columns : ndarray of int of shape (n_features_at_last,)
        For each feature of the last step, its column in the input.

    n_features : int
        The number of features of the input.
    """
    n_features = known_width(estimator)
    columns = np.arange(n_features)
    *steps, (_, last) = (
        steps_of(estimator)
        if isinstance(estimator, Pipeline)
        else [("estimator", estimator)]
    )
    for name, step in steps:
        columns = columns[output_to_input_columns(name, step, len(columns)).inputs]
    return last, columns, n_features


def _why_rows(estimator: Any) -> str:
    return (
        f"{class_name(_innermost(estimator))} does not say which features it uses, which can only be found by what it "
        "predicts of rows: pass X"
    )


@naming("estimator")
def why_no_support(estimator: Estimator) -> str:
    """Say why an estimator has no support, and what to wrap it in.

    Parameters
    ----------
    estimator : object
        An estimator whose `Selection.support` is None.

    Returns
    -------
    message : str
        The text of an error.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skstab.runs import why_no_support
    >>> print(why_no_support(Ridge().fit([[0, 1], [1, 0]], [0, 1])))
    Ridge does not select features, it keeps every feature: ...
    """
    model = _innermost(estimator)
    name = class_name(model)
    before = "put a selector before it in a Pipeline (SelectKBest, SelectFromModel with a model that has weights)"
    keeps = f"{name} does not select features, it keeps every feature"
    if any(has_values(model, name) for name in ("coef_", "feature_importances_")):
        return (
            f"{keeps}: wrap it in a selector, for instance SelectFromModel({name}(...)) or RFE({name}(...)), choose a "
            'model with an L1 penalty, or measure its weights or their ranking (measure="pearson", "spearman")'
        )
    if _predicts(model):
        if _says_nothing(model) and not hasattr(model, "estimators_"):
            keeps = f"{name} uses every feature: changing any of them alters its predictions"
        wrap = f"wrap it in SequentialFeatureSelector({name}(...)), "
        return (
            f"{keeps}: {wrap if hasattr(model, 'score') else ''}{before}, or pass importance_getter and measure these "
            'importances (measure="pearson", "spearman")'
        )
    return (
        f"which features {name} selects is not known, because it has neither a support (get_support) nor weights "
        "(coef_, feature_importances_)"
        + (
            ", and its outputs are not seen to be columns of X"
            if hasattr(model, "transform")
            else ""
        )
        + f": {before}, or declare how it is read (skstab.runs.register_reader)"
    )


def _predicts(model: Any) -> bool:
    return hasattr(model, "predict")


def _innermost(estimator: Any) -> Any:
    """Find the model that a selector could be wrapped around: inside pipelines, searches and other wrappers."""
    steps = steps_of(estimator) if isinstance(estimator, Pipeline) else []
    model = steps[-1][1] if steps else estimator
    inner = inner_model(model, (width_of(model), None))
    return model if inner is None else _innermost(inner)


# -- weights -----------------------------------------------------------------------------------------------------------


class _Weights(NamedTuple):
    """Rows of weights over some columns, and the linear model they are the `coef_` of, if any."""

    rows: FloatArray
    columns: IntArray
    view: View
    linear: Any = None


def _resolve(
    estimator: Any,
    trace: Trace,
    view: View,
    getter: Getter,
    scale: bool,
    support_from: str = "used",
) -> tuple[Selection, str | None]:
    """Read the support and, apart from it, the importances; say why where only these can't be read."""
    asked = not (isinstance(getter, str) and getter == "auto")
    has_selector = trace.selected is not None
    importances, why = None, None
    try:
        weights = (
            _asked_weights(estimator, trace, view, getter)
            if asked
            else _first_weights(trace, scale)
        )
    except UnreadableError as error:
        if asked or not has_selector:
            raise
        support, why = _support_if_readable(trace, support_from, str(error))
        return Selection(support, None, None, has_selector), why
    # A getter may lead to the coefficients of a model that keeps them elsewhere, or to those inside a selector.
    known = weights if weights is not None and weights.linear is not None else None
    linear = _linear(_best_source(trace)) if known is None else known
    found = _support(trace, support_from, known)
    support = found.mask
    try:
        importances = _importances(weights, trace.n_features, scale)
    except UnreadableError as error:
        if asked or support is None:
            raise
        why = str(error)
    coef = None
    if linear is not None and len(linear.rows) == 1 and not linear.view.expanded:
        coef = scatter_to_input(linear.rows[0], linear.columns, trace.n_features)
    selection = Selection(support, importances, coef, has_selector, found.by_probing)
    return selection, why


def _support_if_readable(
    trace: Trace, support_from: str, why: str
) -> tuple[BoolArray | None, str]:
    """Return the support, or what selectors kept where the coefficients of the final model can't be read."""
    try:
        return _support(trace, support_from).mask, why
    except UnreadableError:
        kept = _support(trace, "selector").mask
        return kept, f"{why}; which features this model drops is not known either"


def _zeroed(selection: Selection) -> Selection:
    for values in (selection.importances, selection.coef):
        if values is not None and selection.support is not None:
            values[~selection.support] = 0.0
    return selection


class _Support(NamedTuple):
    """The columns that are kept, None where nothing drops one, and whether they were found by probing."""

    mask: BoolArray | None
    by_probing: bool = False

    @property
    def keeps_all(self) -> bool:
        return self.mask is None or bool(self.by_probing and self.mask.all())


def _support(
    trace: Trace, support_from: str, known: _Weights | None = None
) -> _Support:
    """Return the columns that reach the final model and that it does not drop, or what the last selector kept.

    `known` are coefficients that were already read.
    """
    n_features = trace.n_features
    columns = trace.left if trace.selected is None else trace.selected
    reach = None if columns is None else _mask_of(columns, n_features)
    final = trace.final
    if final is None or (trace.selected is not None and support_from == "selector"):
        return _Support(reach)
    if _needs_probing(final):
        used = _probed(final)
        # What alters the predictions by every column leaves the support as it is.
        if used is None or (reach is not None and used.all()):
            return _Support(reach)
        return _Support(_mask_of(final.columns[used], n_features), by_probing=True)
    kept = _kept_by_final_model(trace, final, support_from, known)
    return _Support(reach if kept is None else kept)


def _needs_probing(final: Source | None) -> bool:
    """Whether a final model, or a member of it, says nothing of what it uses."""
    if final is None or final.read is not None:
        return False
    if final.traces:
        return any(_needs_probing(member.final) for member in final.traces)
    return _predicts(final.model) and _says_nothing(final.model)


def _says_nothing(model: Any) -> bool:
    return not (declares_weights(model) or isinstance(model, _FORMS_OF_ALL))


def _probed(final: Source) -> BoolArray | None:
    """Return which columns alter the predictions of a model, found only once; None without rows."""
    if final.view.X is None:
        return None
    probed = final.view.probed
    if id(final.model) not in probed:
        rows = final.view.few_rows()
        probed[id(final.model)] = altering_columns(final.model, rows)
    return probed[id(final.model)]


def _kept_by_final_model(
    trace: Trace, final: Source, support_from: str, known: _Weights | None
) -> BoolArray | None:
    """Return the columns that the final model does not drop; None where it drops none."""
    others = [s.model for s in trace.sources if s.model is not final.model]
    if known is not None and any(known.linear is model for model in others):
        known = None
    linear = _linear(final) if known is None else known
    if linear is not None:
        if not _can_drop(linear.linear):
            return None
        used = linear.columns[linear.rows.any(axis=0)]
        return _mask_of(used, trace.n_features)
    # Masks of the members of an ensemble are over the columns that it saw.
    masks = [_support(member, support_from).mask for member in final.traces]
    kept = [mask for mask in masks if mask is not None]
    if not kept or len(kept) < len(masks):
        return None
    used = final.columns[np.logical_or.reduce(kept)]
    return _mask_of(used, trace.n_features)


def _mask_of(columns: IntArray, n_features: int) -> BoolArray:
    mask = np.zeros(n_features, dtype=bool)
    mask[columns[columns >= 0]] = True
    return mask


def _can_drop(model: Any) -> bool:
    """Whether a zero coefficient of this linear model means that it dropped the feature."""
    if isinstance(model, _DENSE) or keeps_every_feature(model):
        return bool(getattr(model, "positive", False))
    penalty = getattr(model, "penalty", "unknown")
    if penalty is None or (isinstance(penalty, str) and penalty in ("l1", "l2")):
        return penalty == "l1"
    # `l1_ratio_` is the one a cross-validated model chose, None where it had nothing to choose.
    ratio = getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0))
    return any(r is not None and r > 0 for r in np.ravel(ratio))


def _best_source(trace: Trace) -> Source | None:
    return trace.final or next(iter(trace.sources), None)


def _linear(source: Source | None) -> _Weights | None:
    """Return the coefficients of a model, if it is linear."""
    if source is None:
        return None
    rows = coef_rows(source.model, len(source.columns), source.read)
    return (
        None
        if rows is None
        else _Weights(rows, source.columns, source.view, linear=source.model)
    )


def _first_weights(trace: Trace, scale: bool) -> _Weights | None:
    found = (_source_weights(source, scale) for source in trace.sources)
    return next((weights for weights in found if weights is not None), None)


def _source_weights(source: Source, scale: bool) -> _Weights | None:
    model, columns, view = source.model, source.columns, source.view
    if source.read is not None and source.read.importances is not None:
        return _Weights(
            given_rows(source.read.importances, model, len(columns)), columns, view
        )
    if source.getter != "auto":
        weights = _asked_weights(model, source.traces[0], view, source.getter)
        return weights._replace(columns=columns[weights.columns])
    if source.traces:
        return _members_weights(source, scale) if source.are_copies else None
    coef = coef_rows(model, len(columns), source.read)
    if coef is not None:
        return _Weights(coef, columns, view, model)
    rows = own_rows(model, len(columns))
    return None if rows is None else _Weights(rows, columns, view)


def _members_weights(source: Source, scale: bool) -> _Weights | None:
    """Put the importances of the members of an ensemble below each other, times the weights of members (AdaBoost)."""
    found = [
        _resolve(source.model, t, source.view, "auto", scale)[0].importances
        for t in source.traces
    ]
    known = [importances for importances in found if importances is not None]
    if len(known) < len(found):
        return None
    votes = np.asarray(
        getattr(source.model, "estimator_weights_", np.ones(len(known)))
    )[: len(known), None]
    return _Weights(np.vstack(known) * votes, source.columns, source.view)


def _asked_weights(
    estimator: Any, trace: Trace, view: View, getter: Getter
) -> _Weights:
    """Read weights by an `importance_getter` other than "auto"."""
    every = np.arange(trace.n_features)
    source = trace.sources[0] if trace.sources else Source(estimator, every, view)
    asked = asked_values(getter, estimator, source.model, source.view)
    # A path may lead to a selector's inner model, which saw other columns than the final one.
    source = next((s for s in trace.sources if s.model is asked.linear), source)
    rows, linear = (
        asked.rows(getter, len(source.columns), trace.n_features),
        asked.linear,
    )
    if rows.shape[1] == len(source.columns):
        return _Weights(rows, source.columns, source.view, linear)
    return _Weights(rows, every, view, linear)


def _importances(
    weights: _Weights | None, n_features: int, scale: bool
) -> FloatArray | None:
    if weights is None:
        return None
    values = _sizes(weights.rows)
    if scale and weights.linear is not None and values.any():
        _scale(values, weights.view)
    # Of an input that was expanded, the norm of its parts; copies of a feature add up.
    to_input = combine_parts if weights.view.expanded else scatter_to_input
    return to_input(values, weights.columns, n_features)


def _sizes(rows: FloatArray) -> FloatArray:
    """Norm of each column, without squares, which may be too large or small for floats."""
    sizes = np.abs(rows)
    return np.asarray(sizes[0] if len(rows) == 1 else np.hypot.reduce(sizes, axis=0))


def _scale(values: FloatArray, view: View) -> None:
    """Multiply values in place by the standard deviations of the features that the model saw."""
    used = np.flatnonzero(values)
    # A sparse model used few columns: the others are not even looked at.
    columns = slice(None) if len(used) == len(values) else used
    values[columns] *= view.deviations(columns)
    if not np.isfinite(values).all():
        raise ValueError("importances cannot be scaled: X has NaN or infinite values")

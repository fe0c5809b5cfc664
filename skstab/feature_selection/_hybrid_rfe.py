"""Hybrid recursive feature elimination (hamer2021, sections 6.1 and 6.2)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import expit, log_softmax, softmax
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import (
    ClassifierTags,
    RegressorTags,
    check_array,
    check_consistent_length,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skstab._checks import check_parameters, is_bool, is_int, is_number, naming
from skstab._compat import available_if
from skstab._matrices import with_entries_once
from skstab._typing import FloatArray, MatrixLike
from skstab._undo import left_as_it_was
from skstab._warnings import warn_user
from skstab.feature_selection._elimination import (
    Design,
    Elimination,
    Round,
    eliminate,
    fit_ridge,
    frequency_scores,
    make_design,
    merge_rows,
    moments,
    stopped_at,
)
from skstab.feature_selection._filters import (
    information_gain,
    symmetrical_uncertainty,
    welch_variance,
)
from skstab.feature_selection._relieff import relieff
from skstab.feature_selection._ridge import LOSSES, AnyLoss, RidgeFit, scaled

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HybridRFE"]


def _variance(X: Any, y: Any, *, sample_weight: Any = None) -> np.ndarray:  # noqa: ARG001  y is part of the protocol
    return moments(X, np.ones(X.shape[0]) if sample_weight is None else sample_weight)[
        1
    ]


_LARGEST = (
    1e50  # its square, times C, the number of rows and their weights, is still finite
)
_SAME = 1e-6  # of variances, relative to the largest
_NO_SOLUTION = (
    "the model has no finite weights that can be computed: C, C_final, alpha, sample_weight or the unit of X are too "
    "extreme (StandardScaler gives every feature the same unit)"
)
CRITERIA: dict[str, Callable[..., np.ndarray]] = {
    "welch_variance": welch_variance,
    "welch": partial(welch_variance, variance_weight=0.0),
    "variance": _variance,
    "relieff": relieff,
    "information_gain": information_gain,
    "symmetrical_uncertainty": symmetrical_uncertainty,
}


def _classifies(estimator: Any) -> bool:
    if estimator.loss == "squared":
        raise AttributeError("a HybridRFE with loss='squared' has no classes")
    return True


def _has_probabilities(estimator: Any) -> bool:
    if estimator.loss != "logistic":
        raise AttributeError("only a HybridRFE with loss='logistic' has probabilities")
    return True


class HybridRFE(SelectorMixin, BaseEstimator):
    """Recursive feature elimination around a core of stable features.

    A univariate criterion, which is stable, chooses `n_stable_features` that are never dropped; the other features are
    eliminated recursively by the weights of a ridge-penalised model, which accounts for their combinations. The
    number of stable features thus exchanges accuracy for stability: 0 gives logistic RFE, `n_features_to_select` gives
    a filter.

    Parameters
    ----------
    n_features_to_select : int or float, default=None
        Number k of features to select, or fraction of all features; None selects half of them.
    n_stable_features : int, default=0
        Number N of those that are chosen beforehand by `criterion`.
    criterion : str or callable, default="welch_variance"
        Score by which the stable features are chosen: "welch_variance", "welch", "variance", "relieff",
        "information_gain", "symmetrical_uncertainty", or a score function `(X, y) -> scores` as for
        :class:`~sklearn.feature_selection.SelectKBest`, where more is better. Sample weights are passed to it if it
        has a parameter `sample_weight`; otherwise rows of weight 0 are left out, and the others count the same.
    C : float, default=1.0
        Inverse strength of the penalty while features are eliminated, as in
        :class:`~sklearn.linear_model.LogisticRegression`: the paper's λ is 1/(2C).
    shrinkage : float, default=1.0
        The paper's ε, above 0 and at most 1: stable features are penalised ε² times as much as the others while
        features are eliminated.
    C_final : float, default=None
        The same as `C` for the final model on the selected features; None uses `C`.
    alpha : float, default=0.0
        The paper's α: the final model penalises a feature 1 + α(1 − s) times as much, with s its frequency score, which
        shifts weight to the features that will probably be selected again.
    step : int or float, default=0.2
        Fraction of the *remaining* features that a step drops (rounded down, at least one), or their number. The last
        step drops as many as needed to keep k.
    loss : {"logistic", "hinge", "squared"}, default="logistic"
        "logistic" makes it a classifier (multinomial with more than two classes), "hinge" one by linear support vector
        machines (one for each of more than two classes), "squared" a ridge regression. "hinge" without stable features
        is the SVM-RFE that drops a share of the *remaining* features in each step.
    fit_intercept : bool, default=True
        Whether the models have an intercept, which is not penalised; True for "hinge".
    standardize : bool, default=False
        Whether the models are fitted on features of unit variance, while `criterion` is computed on the unscaled ones,
        as a criterion of variance requires; `coef_` refers to the unscaled features.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features), (n_classes, n_features) or (n_features,)
        Weights of the final model, zero for features that were dropped; one-dimensional for `loss="squared"`.
    intercept_ : ndarray of shape (1,) or (n_classes,), or float
        Its intercepts.
    support_ : ndarray of bool of shape (n_features,)
        The selected features.
    stable_features_ : ndarray of int of shape (n_stable_features,)
        Those among them that were chosen beforehand, best first.
    ranking_ : ndarray of int of shape (n_features,)
        1 for a selected feature, 2 for one that the last step dropped, and so on.
    elimination_order_ : ndarray of int of shape (n_features,)
        All features, from the best to the first that was dropped; of one step by their weights, selected ones by those
        of the last step.
    frequency_scores_ : ndarray of shape (n_features,)
        How far each selected feature was from being dropped, between 0 and 1 (equation 15): an estimate of how often
        other samples would select it. NaN for the others.
    elimination_path_ : DataFrame
        One row for each step: how many features there were (`n_features`) and were dropped (`n_dropped`), the weight
        of the best that was dropped (`dropped_weight`) and of the worst that was kept by its weight (`kept_weight`),
        and their ratio (`margin`): near 1 the step was nearly a tie.
    classes_ : ndarray of shape (n_classes,)
        The class labels, for "logistic" and "hinge".
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where `X` has names that are all strings.

    See Also
    --------
    skstab.model_selection.StabilityCV : Measures the stability of any selector on given data.
    sklearn.feature_selection.RFE : Elimination by the weights of any model.

    Notes
    -----
    The penalty assumes features of the same scale. If they share a unit (expression levels, channels of a sensor,
    logarithms), set `standardize`, and put no :class:`~sklearn.preprocessing.StandardScaler` before this selector:
    their variance is what makes the default criterion stable, and behind a scaler all variances are 1 (a warning says
    so). If they have different units, put a scaler before it and give `criterion="welch"`.

    With more features than rows the models are fitted in as many unknowns as there are distinct rows, by Newton's
    method on a Gram matrix that is updated as features are dropped.

    References
    ----------
    .. [1] V. Hamer and P. Dupont (2021). An importance weighted feature selection stability measure. Journal of
       Machine Learning Research 22(116).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skstab.feature_selection import HybridRFE
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = np.log(X + 0.001)  # differences are ratios: all features share a unit
    >>> hybrid = HybridRFE(5, n_stable_features=2, C=0.1, standardize=True).fit(X, y)
    >>> print(*hybrid.get_feature_names_out(), sep=", ")
    mean concavity, worst radius, worst perimeter, worst area, worst concavity
    >>> print(f"{hybrid.score(X, y):.2f}")
    0.95

    In the last step the dropped and the kept weight were close:

    >>> hybrid.elimination_path_.tail(2).round(2)
          n_features  n_dropped  dropped_weight  kept_weight  margin
    step
    9              7          1            0.72         0.79    0.91
    10             6          1            0.85         0.93    0.92
    """

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        n_stable_features: int = 0,
        criterion: str | Callable[..., Any] = "welch_variance",
        C: float = 1.0,
        shrinkage: float = 1.0,
        C_final: float | None = None,
        alpha: float = 0.0,
        step: float = 0.2,
        loss: str = "logistic",
        fit_intercept: bool = True,
        standardize: bool = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_stable_features = n_stable_features
        self.criterion = criterion
        self.C = C
        self.shrinkage = shrinkage
        self.C_final = C_final
        self.alpha = alpha
        self.step = step
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.standardize = standardize

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Select features and fit the final model on them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,)
            The classes, or the numbers for `loss="squared"`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the loss.

        Returns
        -------
        self : object
            The fitted object.
        """
        with left_as_it_was(self):
            n_select, design, loss = self._prepare(X, y, sample_weight)
            with _naming_what_is_extreme():
                self._finish(
                    self._eliminate(design.columns, loss, n_select), design, loss
                )
        return self

    # For searches: what is common to all sizes is done once (see `skstab.model_selection.StabilitySearchCV`).
    __skstab_followed__ = ("n_features_to_select", "n_stable_features")

    def __skstab_fit_each__(
        self, settings: Sequence[Mapping[str, Any]], X: MatrixLike, y: ArrayLike
    ) -> list[HybridRFE]:
        """Fit a copy for each setting: by one elimination where the stable features are the same."""
        most = max(settings, key=lambda setting: setting["n_stable_features"])
        first = copy(self).set_params(**most)
        _, design, loss = first._prepare(X, y, None)
        fitted = [copy(first).set_params(**setting) for setting in settings]
        models: dict[bytes, RidgeFit] = {}
        with _naming_what_is_extreme():
            for n_stable in {selector.n_stable_features: None for selector in fitted}:
                alike = [
                    selector
                    for selector in fitted
                    if selector.n_stable_features == n_stable
                ]
                _finish_alike(
                    alike, design, loss, models if self.shrinkage == 1 else {}
                )
        return fitted

    def _size(self) -> int:
        _check(self)
        return _n_select(
            self.n_features_to_select, self.n_stable_features, self.n_features_in_
        )

    def _prepare(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[int, Design, AnyLoss]:
        """Check the input and choose the stable features."""
        _check(self)
        is_numeric = self.loss == "squared"
        with naming("X", "y"):
            rows, labels = validate_data(
                self,
                X,
                y,
                accept_sparse="csr",
                dtype=np.float64,
                ensure_min_samples=2,
                y_numeric=is_numeric,
            )
            rows = with_entries_once(rows)
            labels = labels.astype(np.float64) if is_numeric else labels
        with naming("sample_weight"):
            rows, labels, weight = _weighted_rows(rows, labels, sample_weight)
        _check_size(rows, "X")
        if self.loss == "squared":
            _check_size(labels, "y")
        n_select = self._size()
        targets = self._targets(labels)
        self.stable_features_ = self._stable_features(rows, labels, weight)
        rows, targets, weight = _distinct_rows(rows, targets, weight)
        design = make_design(
            rows, weight, centre=self.fit_intercept, standardize=self.standardize
        )
        return n_select, design, self._loss_of(targets)(targets, weight[:, None])

    def _finish(self, elimination: Elimination, design: Design, loss: AnyLoss) -> None:
        self._keep(elimination, self.n_features_in_)
        self._fit_final(design, loss, elimination.selected)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """One column for each output of the model."""
        if self.loss == "squared":
            return y[:, None]
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must have at least 2 classes, got one class: {self.classes_[0]!r}"
            )
        return (
            codes[:, None].astype(np.float64)
            if len(self.classes_) == 2
            else np.eye(len(self.classes_))[codes]
        )

    def _loss_of(
        self, targets: np.ndarray
    ) -> Callable[[np.ndarray, np.ndarray], AnyLoss]:
        many = self.loss == "logistic" and targets.shape[1] > 1
        return LOSSES["softmax" if many else self.loss]

    def _stable_features(self, X: Any, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        if self.n_stable_features == 0:
            return np.empty(0, dtype=np.intp)
        if callable(self.criterion):
            criterion = self.criterion
        else:
            criterion = CRITERIA[self.criterion]
            if "variance" in self.criterion:
                _warn_if_scaled(X, weight, self.criterion)
        scores = criterion(X, y, **self._keywords(criterion, weight))
        with naming("criterion"):
            scores = np.asarray(
                scores[0] if isinstance(scores, tuple) else scores, dtype=np.float64
            )
        if scores.shape != (X.shape[1],):
            raise ValueError(
                f"criterion must return one score for each of {X.shape[1]} features, got {scores.shape}"
            )
        return np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")[
            : self.n_stable_features
        ]

    def _keywords(self, criterion: Any, weight: np.ndarray) -> dict[str, Any]:
        """Keyword arguments of the criterion besides the data."""
        known: dict[str, Any] = {"sample_weight": weight} if np.ptp(weight) else {}
        if criterion in CRITERIA.values():
            # Whether integers are classes or numbers depends on the loss, not on their values.
            known["target"] = "numeric" if self.loss == "squared" else "classes"
        taken = inspect.signature(criterion).parameters
        return {name: value for name, value in known.items() if name in taken}

    def _eliminate(
        self,
        columns: Any,
        loss: AnyLoss,
        n_select: int,
        models: dict[bytes, RidgeFit] | None = None,
    ) -> Elimination:
        stable = self.stable_features_
        if len(stable) == n_select:
            return _filtered(stable, columns.shape[0])
        return eliminate(
            columns,
            loss,
            n_select=n_select,
            stable=stable,
            step=self.step,
            C=self.C,
            shrinkage=self.shrinkage,
            fit_intercept=self.fit_intercept,
            models=models,
        )

    def _keep(self, elimination: Elimination, n_features: int) -> None:
        self.support_ = np.zeros(n_features, dtype=bool)
        self.support_[elimination.selected] = True
        self.ranking_ = np.ones(n_features, dtype=int)
        for rank, (ranked, _, n_kept) in enumerate(
            reversed(elimination.steps), start=2
        ):
            self.ranking_[ranked[n_kept:]] = rank
        self.frequency_scores_ = frequency_scores(elimination, n_features)
        order = elimination.selected
        if elimination.steps:
            last = elimination.steps[-1]
            order = last.ranked[: last.n_kept]
        dropped = [step.ranked[step.n_kept :] for step in reversed(elimination.steps)]
        self.elimination_order_ = np.concatenate([order, *dropped])
        self._path = [
            _record(step, len(self.stable_features_)) for step in elimination.steps
        ]

    def _fit_final(self, design: Design, loss: AnyLoss, selected: np.ndarray) -> None:
        """Fit the final model, in which the penalty of a feature is 1 + α(1 − s) (equation 16)."""
        shrunk = 1 / np.sqrt(1 + self.alpha * (1 - self.frequency_scores_[selected]))
        C = self.C if self.C_final is None else self.C_final
        fit = fit_ridge(
            scaled(design.columns[selected], shrunk),
            loss,
            C,
            fit_intercept=self.fit_intercept,
        )
        coef = np.zeros((loss.y.shape[1], design.columns.shape[0]))
        coef[:, selected] = (fit.weights * shrunk[:, None]).T * design.scale[selected]
        intercept = fit.intercept - coef @ design.mean
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(_NO_SOLUTION)
        single = self.loss == "squared"
        self.coef_: FloatArray = coef[0] if single else coef
        self.intercept_: FloatArray | float = (
            float(intercept[0]) if single else intercept
        )

    # -- what came out -------------------------------------------------------------------------------------------------

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    @property
    def elimination_path_(self) -> pd.DataFrame:
        """The steps of the elimination."""
        import pandas as pd

        check_is_fitted(self)
        names = ["n_features", "n_dropped", "dropped_weight", "kept_weight", "margin"]
        return pd.DataFrame(
            self._path,
            columns=names,
            index=pd.RangeIndex(1, len(self._path) + 1, name="step"),
        )

    # -- prediction ----------------------------------------------------------------------------------------------------

    def _decision(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        with naming("X"):
            X = validate_data(
                self, X, accept_sparse="csr", dtype=np.float64, reset=False
            )
        with np.errstate(over="ignore", invalid="ignore"):
            decision = np.asarray(X @ self.coef_.T + self.intercept_)
        if not np.isfinite(decision).all():
            raise ValueError(
                "X must be in the unit of the data that the model was fitted on: its numbers are too large"
            )
        return decision

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict with the final model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels, or numbers for `loss="squared"`.
        """
        decision = self._decision(X)
        if self.loss == "squared":
            return decision
        binary = decision.shape[1] == 1
        return np.asarray(
            self.classes_[
                (decision[:, 0] > 0).astype(int) if binary else decision.argmax(axis=1)
            ]
        )

    @available_if(_classifies)
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Signed distances, up to a factor, from the boundary between the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One-dimensional for two classes, positive for the second one.
        """
        decision = self._decision(X)
        return decision[:, 0] if decision.shape[1] == 1 else decision

    @available_if(_has_probabilities)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        decision = self._decision(X)
        if decision.shape[1] == 1:
            return np.asarray(expit(np.hstack([-decision, decision])))
        return np.asarray(softmax(decision, axis=1))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        decision = self._decision(X)
        if decision.shape[1] == 1:
            decision = np.hstack([np.zeros_like(decision), decision])
        return np.asarray(log_softmax(decision, axis=1))

    @naming("X", "y", "sample_weight")
    def score(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Accuracy, or R² for `loss="squared"`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,)
            The target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The score of `predict`.
        """
        metric = r2_score if self.loss == "squared" else accuracy_score
        return float(metric(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        regresses = self.loss == "squared"
        tags.estimator_type = "regressor" if regresses else "classifier"
        tags.regressor_tags = RegressorTags(poor_score=True) if regresses else None
        # A single feature of two, as in scikit-learn's checks, may be too few for a good score.
        tags.classifier_tags = None if regresses else ClassifierTags(poor_score=True)
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


# -- input -------------------------------------------------------------------------------------------------------------


def _check(estimator: HybridRFE) -> None:
    """Check what does not depend on the data."""
    check_parameters(
        estimator,
        {
            "n_features_to_select": (
                "None, an int of at least 1 or a fraction above 0 and at most 1",
                lambda k: (
                    k is None
                    or (is_int(k, 1) if is_int(k) else is_number(k, above=0, most=1))
                ),
            ),
            "n_stable_features": ("an int of at least 0", lambda n: is_int(n, 0)),
            "criterion": (
                f"a score function or one of {list(CRITERIA)}",
                lambda c: callable(c) or c in CRITERIA,
            ),
            "C": ("a positive number", lambda c: is_number(c, above=0)),
            "shrinkage": (
                "a number above 0 and at most 1",
                lambda e: is_number(e, above=0, most=1),
            ),
            "C_final": (
                "None or a positive number",
                lambda c: c is None or is_number(c, above=0),
            ),
            "alpha": ("a number of at least 0", lambda a: is_number(a, least=0)),
            "step": (
                "an int of at least 1 or a fraction above 0 and below 1",
                lambda s: is_int(s, 1) or is_number(s, above=0, below=1),
            ),
            "loss": (
                "'logistic', 'hinge' or 'squared'",
                lambda loss: loss in ("logistic", "hinge", "squared"),
            ),
            "fit_intercept": ("a bool", is_bool),
            "standardize": ("a bool", is_bool),
        },
    )
    if estimator.loss == "hinge" and not estimator.fit_intercept:
        raise ValueError("fit_intercept must be True for loss='hinge', got False")


def _n_select(wanted: Any, n_stable: int, n_features: int) -> int:
    """Resolve k, at most the number of features and at least the number of stable ones."""
    if wanted is None:
        k = max(1, n_features // 2)
    else:
        k = int(wanted) if is_int(wanted) else max(1, int(wanted * n_features))
    if k > n_features:
        warn_user(
            f"n_features_to_select={k} is more than the {n_features} features: all are kept"
        )
    if n_stable > k:
        raise ValueError(
            f"n_stable_features must be at most n_features_to_select={k}, got {n_stable}"
        )
    return min(k, n_features)


def _weighted_rows(
    X: Any, y: np.ndarray, sample_weight: Any
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the rows that have a weight."""
    if sample_weight is None:
        return X, y, np.ones(X.shape[0])
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weight.ndim == 0:
        weight = np.full(X.shape[0], float(weight))
    if weight.ndim != 1:
        raise ValueError(
            f"sample_weight must be one-dimensional, got shape {weight.shape}"
        )
    check_consistent_length(X, weight)
    if weight.min() < 0 or weight.max() == 0:
        raise ValueError("sample_weight must not be negative, nor zero for all rows")
    rows = np.flatnonzero(weight)
    return (
        (X, y, weight) if len(rows) == len(weight) else (X[rows], y[rows], weight[rows])
    )


def _warn_if_scaled(X: Any, weight: np.ndarray, criterion: str) -> None:
    """Warn where a variance that a criterion rests on is the same for all features."""
    variance = moments(X, weight)[1]
    variance = variance[variance > 0]
    if len(variance) > 1 and np.ptp(variance) <= _SAME * variance.max():
        warn_user(
            f"all features have the same variance, as behind a StandardScaler, and criterion={criterion!r} has nothing "
            "stable to choose by: where features share a unit, leave them unscaled and set standardize=True; where "
            "they do not, give criterion='welch'"
        )


@contextmanager
def _naming_what_is_extreme() -> Iterator[None]:
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise ValueError(_NO_SOLUTION) from error


def _check_size(values: Any, name: str) -> None:
    """Check that squares of the data are well within float64: the penalty is not relative to their unit."""
    largest = float(abs(values).max())
    if largest > _LARGEST or 0 < largest < 1 / _LARGEST:
        raise ValueError(
            f"{name} must be in a unit in which its numbers are between {1 / _LARGEST:g} and {_LARGEST:g}, got numbers "
            f"of up to {largest:g}: scale it first, for instance with StandardScaler"
        )


def _distinct_rows(
    X: Any, targets: np.ndarray, weight: np.ndarray
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Replace repeated rows by weights."""
    if sparse.issparse(X):
        return X, targets, weight
    first, group = merge_rows(X, targets)
    return (
        (X, targets, weight)
        if len(first) == len(X)
        else (X[first], targets[first], np.bincount(group, weight))
    )


def _finish_alike(
    selectors: Sequence[HybridRFE],
    design: Design,
    loss: AnyLoss,
    models: dict[bytes, RidgeFit],
) -> None:
    """Fit selectors with the same number of stable features by one elimination, which stops earlier for some."""
    n_stable = selectors[0].n_stable_features
    for selector in selectors:
        selector.stable_features_ = selector.stable_features_[:n_stable]
    sizes = [selector._size() for selector in selectors]
    least = min((size for size in sizes if size > n_stable), default=n_stable)
    longest = selectors[0]._eliminate(design.columns, loss, least, models)
    for selector, size in zip(selectors, sizes, strict=True):
        # The stable features alone take no elimination.
        own = selector._eliminate(design.columns, loss, size) if size < least else None
        selector._finish(
            own or stopped_at(longest, size, selector.n_features_in_), design, loss
        )


def _filtered(stable: np.ndarray, n_features: int) -> Elimination:
    """The result of an elimination that keeps only the stable features, for which no model is needed."""
    others = np.delete(np.arange(n_features), stable)
    step = Round(
        np.concatenate([stable, others]), np.full(n_features, np.nan), len(stable)
    )
    return Elimination(np.sort(stable), (step,) if len(others) else ())


def _record(step: Round, n_stable: int) -> tuple[int, int, float, float, float]:
    dropped = float(step.strengths[step.n_kept])
    kept = float(step.strengths[step.n_kept - 1]) if step.n_kept > n_stable else np.nan
    return (
        len(step.ranked),
        len(step.ranked) - step.n_kept,
        dropped,
        kept,
        dropped / kept if kept else np.nan,
    )

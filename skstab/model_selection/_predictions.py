"""How much the predictions of each row change from run to run, beside how much the selection does."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from skstab._checks import check_number, naming
from skstab._displays import draw
from skstab._engine.row_scores import probabilities_of
from skstab._typing import Display, FloatArray, MatrixLike
from skstab.metrics import StabilityInterval, stability_in_words
from skstab.model_selection._agreement import agreement_of_numbers
from skstab.model_selection._stability_cv import StabilityCV
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PredictionStability", "prediction_stability"]

Kind: TypeAlias = Literal["probabilities", "numbers", "classes"]
_SHOWN = 20
_IN_WORDS = {
    "poor": "differ",
    "intermediate to good": "agree in part",
    "excellent": "agree",
}


@dataclass(frozen=True, repr=False, eq=False)
class PredictionStability:
    """What several runs predict for each row; made by :func:`prediction_stability`.

    Parameters
    ----------
    predictions : ndarray of shape (n_runs, n_rows) or (n_runs, n_rows, n_classes)
        What each run predicts for each row, NaN where it predicts nothing: the probability of the second of two
        classes, the probabilities of more classes, numbers, or the numbers of classes.
    full : ndarray of shape (n_rows,) or (n_rows, n_classes) or None
        What the model fitted on all rows predicts, in the same form; None where that is not known.
    kind : {"probabilities", "numbers", "classes"}
        What is predicted.
    lists : StabilityInterval or None
        Nogueira's stability of what the runs selected; None where they select nothing to compare.
    threshold : float
        The probability of the second of two classes from which on a row counts as predicted to be of that class.
    classes : ndarray or None
        The labels of the classes; None calls them by their numbers.
    all_rows : bool
        Whether every run predicts every row; otherwise only those that it left out.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skstab.model_selection import PredictionStability, StabilityCV, prediction_stability
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1)
    >>> runs = StabilityCV(make_pipeline(StandardScaler(), lasso), scoring="neg_log_loss", random_state=0).fit(X, y)
    >>> found = prediction_stability(runs)
    >>> isinstance(found, PredictionStability)
    True
    >>> found.verdict
    'lists agree in part, risks agree'
    >>> f"MAPE {found.mape:.3f}, flips {found.flips:.3f}"
    'MAPE 0.017, flips 0.016'
    """

    predictions: FloatArray
    full: FloatArray | None
    kind: Kind
    lists: StabilityInterval | None
    threshold: float
    classes: Any
    all_rows: bool

    # -- each row ------------------------------------------------------------------------------------------------------

    def frame(self) -> pd.DataFrame:
        """Tabulate the rows.

        Returns
        -------
        table : DataFrame
            One row for each row of the data, NaN where no run predicts it. `n_runs` predict it; `outcome` is the class
            that is meant (the second of two classes; of several the one that is most probable; of predicted classes
            the one that counts as the prediction). Of its probability, or of a predicted number: `full`, what the model
            fitted on all rows predicts; `mean` and standard deviation `sd` over the runs; `range_from` and `range_to`,
            between which 95% of the runs lie; `mape`, the mean absolute difference of the runs from `full`, or from
            `mean` where `full` is not known (of several classes half the sum over classes). `flips` is the share of
            runs that predict another class than the full model or, where that is not known, than the mean of the runs
            or the most frequent class.
        """
        import pandas as pd

        table = pd.DataFrame(index=pd.RangeIndex(self.predictions.shape[1], name="row"))
        table["n_runs"] = self._known.sum(axis=0)
        if self.kind != "numbers":
            table["outcome"] = self._outcomes
        if self.kind != "classes":
            shown = self._shown(self.predictions)
            low, high = _over_runs(np.nanquantile, shown, q=(0.025, 0.975))
            table["full"] = np.nan if self.full is None else self._shown(self.full)
            table["mean"] = _over_runs(np.nanmean, shown)
            table["sd"] = _over_runs(np.nanstd, shown, ddof=1)
            table["range_from"], table["range_to"] = low, high
            table["mape"] = self._distances
        if self.kind != "numbers":
            table["flips"] = self._flips
        return table

    @cached_property
    def _known(self) -> Any:
        first = self.predictions if self.predictions.ndim == 2 else self._of_class(0)
        return ~np.isnan(first)

    def _of_class(self, number: int) -> Any:
        return self.predictions[..., number]

    @cached_property
    def _reference(self) -> Any:
        """What the runs are compared with: the full model, or what they say together."""
        if self.full is not None:
            return self.full
        if self.kind != "classes":
            return _over_runs(np.nanmean, self.predictions)
        counts = _one_hot(self.predictions)
        return _labels(np.nansum(counts, axis=0), self._known.any(axis=0))

    @cached_property
    def _distances(self) -> Any:
        distances = np.abs(self.predictions - self._reference)
        if distances.ndim == 3:
            distances = distances.sum(axis=2) / 2
        return _over_runs(np.nanmean, distances)

    def _predicted(self, values: Any) -> Any:
        """Numbers of the predicted classes, NaN where nothing is predicted."""
        if self.kind == "classes":
            return values
        if self._n_classes > 2:
            return _labels(values, ~np.isnan(values[..., 0]))
        return np.where(np.isnan(values), np.nan, values >= self.threshold)

    @cached_property
    def _flips(self) -> Any:
        differ = self._predicted(self.predictions) != self._predicted(self._reference)
        return _over_runs(np.nanmean, np.where(self._known, differ, np.nan))

    @property
    def _n_classes(self) -> int:
        return self.predictions.shape[2] if self.predictions.ndim == 3 else 2

    @cached_property
    def _codes(self) -> Any:
        """Number of the class that is meant in each row."""
        if self.kind == "probabilities" and self._n_classes == 2:
            return np.where(self._known.any(axis=0), 1.0, np.nan)
        return self._predicted(self._reference)

    @property
    def _outcomes(self) -> Any:
        codes, known = np.nan_to_num(self._codes).astype(int), ~np.isnan(self._codes)
        labels = codes if self.classes is None else np.asarray(self.classes)[codes]
        return np.where(known, labels.astype(object), None)

    def _shown(self, values: Any) -> Any:
        """Predicted numbers, or probabilities of the class that is meant."""
        if values.ndim == self.predictions.ndim - 1:
            return self._shown(values[None])[0]
        if values.ndim == 2:
            return values
        codes = np.nan_to_num(self._codes).astype(int)
        return np.take_along_axis(values, codes[None, :, None], axis=2)[..., 0]

    # -- all rows ------------------------------------------------------------------------------------------------------

    @property
    def mape(self) -> float:
        """Mean of `mape` over the rows; NaN where only classes are known."""
        return np.nan if self.kind == "classes" else float(np.nanmean(self._distances))

    @property
    def flips(self) -> float:
        """Mean of `flips` over the rows; NaN for predicted numbers."""
        return np.nan if self.kind == "numbers" else float(np.nanmean(self._flips))

    @cached_property
    def agreement(self) -> float:
        """Correlation of what two runs predict for the same row: 1 where all runs predict the same, 0 as for strangers.

        Of several classes, and of predicted classes, that of the indicators of all classes together.
        """
        values = self.predictions
        if self.kind == "classes":
            values = _one_hot(values)
        by_class = np.atleast_3d(values)
        centred = by_class - np.nanmean(by_class, axis=(0, 1))
        if not np.nanmax(np.abs(centred)) > 0:
            return 1.0
        return agreement_of_numbers(centred.reshape(len(values), -1))

    @property
    def verdict(self) -> str:
        """Whether lists and predictions agree, by the words of :func:`skstab.metrics.stability_in_words` for each.

        They "differ" below 0.4, "agree" above 0.75, and otherwise "agree in part": the stability of the lists, and
        `agreement` of the predictions.
        """
        what = "risks" if self.kind == "probabilities" else "predictions"
        found = f"{what} {_in_words(self.agreement)}"
        if self.lists is None:
            return found
        return f"lists {_in_words(self.lists.estimate)}, {found}"

    def plot(self, *, ax: Any = None, **options: Any) -> Display:
        """Draw the predictions of the runs against those of the model fitted on all rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **options : dict
            Parameters of `plot` of :class:`skstab.inspection.PredictionInstabilityDisplay`.

        Returns
        -------
        display : PredictionInstabilityDisplay
            Drawn, with `ax_` and `figure_`.
        """
        return draw("predictions", self, ax=ax, **options)

    def _summary(self) -> str:
        lists = "" if self.lists is None else f"; stability of the lists {self.lists}"
        parts = [f"correlation of the predictions of two runs {self.agreement:.2f}"]
        parts += [] if np.isnan(self.mape) else [f"MAPE {self.mape:.2g}"]
        parts += [] if np.isnan(self.flips) else [f"flips {self.flips:.1%}"]
        which = "all rows" if self.all_rows else "the rows that a run left out"
        return f"{self.verdict}{lists}; {', '.join(parts)}, of {which}"

    def __repr__(self) -> str:
        return f"PredictionStability({self._summary()})"

    def _repr_html_(self) -> str:
        worst = "flips" if self.kind == "classes" else "mape"
        table = self.frame().nlargest(_SHOWN, worst)
        html: str = table.to_html(float_format="{:.3f}".format)
        return f"<div><p><strong>{escape(self._summary())}</strong></p>{html}</div>"


def prediction_stability(
    runs: Runs | StabilityCV, X: MatrixLike | None = None, *, threshold: float = 0.5
) -> PredictionStability:
    """How much the prediction of each row changes from run to run.

    Lists of features may differ while the predictions agree, where features stand for each other; and the other way
    round, where the same few features have other weights in each run.

    Parameters
    ----------
    runs : Runs or StabilityCV
        Runs that kept the predictions of the rows that they left out: probabilities with a score that reads them, such
        as `scoring="neg_log_loss"`, `"neg_brier_score"` or `"roc_auc"`, beside others if need be; numbers with the
        scores of regressors. Otherwise only predicted classes are compared.
    X : array-like or sparse matrix of shape (n_rows, n_features), default=None
        Rows that every run predicts, for a fitted :class:`StabilityCV` with `return_estimators=True`: the data it was
        fitted on, as in [1]_, or others. None compares the predictions of the rows that each run left out.
    threshold : float, default=0.5
        The probability of the second of two classes from which on a row counts as of that class. Of several classes
        the most probable one counts.

    Returns
    -------
    found : PredictionStability
        With `frame()` of the rows, `mape`, `flips`, `agreement`, `verdict` and `plot()`.

    Notes
    -----
    The instability of [1]_: what models of bootstraps predict for a row, against what the model of all rows predicts;
    MAPE is the mean absolute difference, and `flips` their classification instability index. They predict the same rows
    that the models were fitted on. Without `X` only the runs that left out a row predict it: that is how they would
    treat a new patient, but the full model has seen the row, so MAPE also holds what the full model remembers of it. In
    either case the runs are resamples of one data set, and a bootstrap is an estimate of how models from other data
    would differ.

    It does not say whether predictions are right: a model that predicts the same for everybody is perfectly stable.

    References
    ----------
    .. [1] Riley, R. D. and Collins, G. S. (2023). Stability of clinical prediction models developed using statistical
       or machine learning methods. Biometrical Journal 65.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skstab.model_selection import BootstrapSplit, StabilityCV, prediction_stability
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
    >>> model = make_pipeline(StandardScaler(), lasso)
    >>> runs = StabilityCV(model, cv=BootstrapSplit(20, random_state=0), scoring="neg_log_loss").fit(X, y)
    >>> prediction_stability(runs).frame().nlargest(2, "mape").round(2)
         n_runs outcome  full  mean    sd  range_from  range_to  mape  flips
    row
    290       9       1  0.63  0.57  0.19        0.26      0.81  0.16   0.33
    146       8       1  0.33  0.41  0.15        0.25      0.66  0.12   0.25
    """
    check_number(threshold, "threshold", "a number from 0 to 1", least=0, most=1)
    held = getattr(runs, "runs_", runs)
    if not isinstance(held, Runs):
        raise TypeError(
            f"runs must be Runs or a fitted StabilityCV, got {type(runs).__name__}"
        )
    if len(held) < 2:
        raise ValueError(f"runs must hold at least 2 runs, got {len(held)}")
    predictions, full, kind = _of_rows_left_out(held) if X is None else _of(runs, X)
    return PredictionStability(
        predictions=np.asarray(predictions, dtype=np.float64),
        full=None if full is None else np.asarray(full, dtype=np.float64),
        kind=kind,
        lists=None if held.why_no_support else held.estimate(),
        threshold=float(threshold),
        classes=getattr(runs, "classes_", None),
        all_rows=X is not None,
    )


def _of_rows_left_out(runs: Runs) -> tuple[Any, Any, Kind]:
    full = runs.refit_predictions
    if runs.row_probabilities is not None:
        return runs.row_probabilities, full, "probabilities"
    numbers = runs.row_predictions
    if numbers is None or np.isnan(numbers).all():
        raise ValueError(
            "runs must hold predictions of the rows they left out, which are kept with a score that is a mean over "
            "rows or reads probabilities: make them with StabilityCV(..., scoring='neg_log_loss') or scoring='r2'"
        )
    known = numbers[~np.isnan(numbers)]
    # Classes are kept by their numbers, and no refit of them.
    are_classes = full is None and bool(((known >= 0) & (known % 1 == 0)).all())
    return numbers, full, "classes" if are_classes else "numbers"


def _of(fitted: Any, X: Any) -> tuple[Any, Any, Kind]:
    """What the estimators of all runs, and the one fitted on all rows, predict for rows."""
    if not hasattr(fitted, "estimators_"):
        raise ValueError(
            "X needs the estimators of the runs, so runs must be a fitted StabilityCV(..., return_estimators=True)"
        )
    models = [*fitted.estimators_, fitted.estimator_]
    classes = getattr(fitted, "classes_", None)
    with naming("X"):
        probabilities = [probabilities_of(model, X, classes) for model in models]
        if probabilities[0] is not None:
            return np.stack(probabilities[:-1]), probabilities[-1], "probabilities"
        found = np.stack([np.asarray(model.predict(X)) for model in models])
    if found.ndim > 2:
        raise ValueError(
            f"runs must predict one output, got predictions of shape {found.shape[1:]}"
        )
    if classes is None:
        return found[:-1], found[-1], "numbers"
    codes = np.searchsorted(classes, found)
    return codes[:-1], codes[-1], "classes"


def _over_runs(function: Any, values: Any, **options: Any) -> Any:
    """Summarise over the runs; NaN where too few predict a row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(values, axis=0, **options)


def _one_hot(codes: Any) -> Any:
    """Indicators of classes, NaN where none is known."""
    labels = np.unique(codes[~np.isnan(codes)])
    if not labels.size:
        return codes[..., None]
    indicators = (codes[..., None] == np.arange(labels[-1] + 1)).astype(np.float64)
    indicators[np.isnan(codes)] = np.nan
    return indicators


def _labels(values: Any, known: Any) -> Any:
    """Number of the largest of the classes, NaN where nothing is known."""
    return np.where(known, np.nan_to_num(values).argmax(axis=-1), np.nan)


def _in_words(value: float) -> str:
    return _IN_WORDS[stability_in_words(min(value, 1.0))]

"""Survival within the core dependencies: Cox's model with a penalty, its score test, and the concordance of risks.

A target is a structured array with the fields `event` (whether it was observed) and `time`. The Python code of a report
includes this file, which therefore needs nothing else of this package.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2
from sklearn.base import BaseEstimator
from sklearn.linear_model import Lasso
from sklearn.utils.validation import check_is_fitted, validate_data

FloatArray = NDArray[np.float64]

_MOST_STEPS = 100
_LEAST_RISK = -100.0
_ROWS = 256  # of a block in which all pairs are compared


class RiskSets(NamedTuple):
    """Rows from the latest time to the earliest: a risk set is all rows up to the last one of the same time."""

    order: NDArray[np.intp]
    event: NDArray[np.bool_]  # in this order
    last: NDArray[np.intp]  # of the risk set of each row

    @classmethod
    def of(cls, y: Any) -> RiskSets:
        """Sort a target."""
        time = np.asarray(y["time"], dtype=np.float64)
        order = np.argsort(-time, kind="stable")
        last = np.searchsorted(-time[order], -time[order], side="right") - 1
        return cls(order, np.asarray(y["event"], dtype=bool)[order], last)

    def totals(self, values: FloatArray) -> FloatArray:
        """Sums of sorted values over the risk set of each row."""
        return np.asarray(np.cumsum(values, axis=0)[self.last])

    def sum_of_events(self, values: FloatArray) -> FloatArray:
        """Sums of sorted values over the events up to the time of each row."""
        first = np.searchsorted(self.last, self.last)
        return np.asarray(
            np.cumsum(np.where(self.event, values, 0.0)[::-1])[::-1][first]
        )


def partial_likelihood(
    risk: FloatArray, sets: RiskSets
) -> tuple[float, FloatArray, FloatArray]:
    """Log partial likelihood of sorted log risks (ties by Breslow), its gradient, and minus its second derivatives."""
    weight = _weights(risk)
    total = sets.totals(weight)
    value = float((risk - risk.max() - np.log(total))[sets.event].sum())
    hazard = weight * sets.sum_of_events(1 / total)
    curvature = hazard - weight**2 * sets.sum_of_events(1 / total**2)
    return value, sets.event - hazard, np.maximum(curvature, 0.0)


def _weights(risk: FloatArray) -> FloatArray:
    """Risks relative to the highest; those of a step that is far too long are kept from vanishing."""
    return np.asarray(np.exp(np.maximum(risk - risk.max(), _LEAST_RISK)))


def martingale_residuals(y: Any) -> FloatArray:
    """Observed minus expected events of each row without any feature."""
    sets = RiskSets.of(y)
    residuals = np.empty(len(sets.order))
    residuals[sets.order] = partial_likelihood(np.zeros(len(sets.order)), sets)[1]
    return residuals


def cox_score(X: ArrayLike, y: Any) -> tuple[FloatArray, FloatArray]:
    """Score test of Cox's model for each column alone (for two groups the log-rank test): statistics and p-values."""
    sets = RiskSets.of(y)
    values = np.asarray(X, dtype=np.float64)[sets.order]
    values = values - values.mean(axis=0)
    n_at_risk = (sets.last + 1)[sets.event, None]
    mean = sets.totals(values)[sets.event] / n_at_risk
    variance = sets.totals(values**2)[sets.event] / n_at_risk - mean**2
    spread = variance.sum(axis=0)
    statistic = (values[sets.event] - mean).sum(axis=0) ** 2 / np.where(
        spread > 0, spread, np.inf
    )
    return statistic, chi2.sf(statistic, 1)


def concordance(estimator: Any, X: ArrayLike, y: Any) -> float:
    """Score a model of survival: the share of comparable pairs in which the earlier event has the higher risk."""
    return concordance_index(y, estimator.predict(X))


def concordance_index(y: Any, risk: ArrayLike) -> float:
    """Harrell's index: 0.5 for guesses, 1 where higher risks always have earlier events."""
    sets = RiskSets.of(y)
    values = np.asarray(risk, dtype=np.float64)[sets.order]
    n_later = np.searchsorted(
        sets.last, sets.last
    )  # rows of strictly later times come first
    counts = np.concatenate(
        [
            _counts_below(values, n_later, start)
            for start in range(0, len(values), _ROWS)
        ]
    )[sets.event]
    n_pairs = n_later[sets.event].sum()
    return float(counts.sum() / n_pairs) if n_pairs else np.nan


def _counts_below(
    values: FloatArray, n_later: NDArray[np.intp], start: int
) -> FloatArray:
    """For each row of a block, how many rows of later times have lower risks; equal ones count half."""
    rows = np.arange(start, min(start + _ROWS, len(values)))
    before = np.sort(values[: n_later[start]])
    own, between = values[rows, None], np.arange(n_later[start], rows[-1])
    is_later = between < n_later[rows, None]
    within = ((values[between] < own) + 0.5 * (values[between] == own)) * is_later
    outside = [
        np.searchsorted(before, values[rows], side=side) for side in ("left", "right")
    ]
    return np.asarray(np.mean(outside, axis=0) + within.sum(axis=1))


class _Cox(BaseEstimator):
    """What the two models share."""

    def _read(self, X: Any, y: Any) -> tuple[FloatArray, RiskSets]:
        values = validate_data(self, X, dtype=np.float64)
        sets = RiskSets.of(y)
        if not sets.event.any():
            raise ValueError("y must have at least one event")
        return values[sets.order], sets

    def predict(self, X: ArrayLike) -> FloatArray:
        """Logarithms of the risks, relative to each other."""
        check_is_fitted(self)
        return np.asarray(
            validate_data(self, X, dtype=np.float64, reset=False) @ self.coef_
        )

    def score(self, X: ArrayLike, y: Any) -> float:
        """Concordance of risks and times."""
        return concordance(self, X, y)


class CoxRidge(_Cox):
    """Cox's model with a penalty alpha / 2 · |coef|² on the log partial likelihood."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(self, X: Any, y: Any) -> CoxRidge:
        """Fit by Newton's method; where features outnumber rows, in the space of the rows."""
        values, sets = self._read(X, y)
        if values.shape[1] <= len(values):
            self.coef_ = self._newton(values, sets)
            return self
        left, scale, right = np.linalg.svd(
            values - values.mean(axis=0), full_matrices=False
        )
        self.coef_ = self._newton(left * scale, sets) @ right
        return self

    def _newton(self, X: FloatArray, sets: RiskSets) -> FloatArray:
        coef = np.zeros(X.shape[1])
        value = -np.inf
        for _ in range(_MOST_STEPS):
            found, gradient, _ = partial_likelihood(X @ coef, sets)
            step = np.linalg.solve(
                _curvature(X, X @ coef, sets) + self.alpha * np.eye(len(coef)),
                X.T @ gradient - self.alpha * coef,
            )
            value, size = found - self.alpha / 2 * float(coef @ coef), 1.0
            while size > 1e-6 and self._value(X, coef + size * step, sets) < value:
                size /= 2
            coef = coef + size * step
            if np.abs(size * step).max(initial=0.0) < 1e-8:
                break
        return coef

    def _value(self, X: FloatArray, coef: FloatArray, sets: RiskSets) -> float:
        return partial_likelihood(X @ coef, sets)[0] - self.alpha / 2 * float(
            coef @ coef
        )


def _curvature(X: FloatArray, risk: FloatArray, sets: RiskSets) -> FloatArray:
    """Minus the second derivatives by the coefficients: variances of the features over the risk sets."""
    weight = _weights(risk)[:, None]
    total = sets.totals(weight)
    mean = (sets.totals(weight * X) / total)[sets.event]
    hazard = weight[:, 0] * sets.sum_of_events(1 / total[:, 0])
    return np.asarray((X * hazard[:, None]).T @ X - mean.T @ mean)


def _root(
    curvature: FloatArray, coef: FloatArray, gradient: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A design and a target whose least squares have this curvature, and this gradient at `coef`."""
    values, basis = np.linalg.eigh(curvature)
    # Copies and constant columns have directions without any curvature.
    roots = np.sqrt(np.maximum(values, 1e-10 * (values[-1] or 1.0)))
    return (basis * roots).T, roots * (basis.T @ coef) + basis.T @ gradient / roots


class CoxLasso(_Cox):
    """Cox's model with a penalty alpha · |coef|₁ on the mean log partial likelihood."""

    def __init__(self, alpha: float = 0.1) -> None:
        self.alpha = alpha

    def fit(self, X: Any, y: Any) -> CoxLasso:
        """Fit by weighted lasso steps (Simon et al. 2011), shortened where they overshoot."""
        values, sets = self._read(X, y)
        coef = np.zeros(values.shape[1])
        for _ in range(_MOST_STEPS):
            target = self._step(values, coef, sets)
            value, size = self._value(values, coef, sets), 1.0
            while (
                size > 1e-6
                and self._value(values, coef + size * (target - coef), sets)
                < value - 1e-12
            ):
                size /= 2
            moved = size * (target - coef)
            coef = target if size == 1.0 else coef + moved
            if np.abs(moved).max(initial=0.0) < 1e-6:
                break
        self.coef_ = coef
        return self

    def _step(self, X: FloatArray, coef: FloatArray, sets: RiskSets) -> FloatArray:
        """The lasso of the quadratic approximation at `coef`, written as a regression on few or all rows."""
        risk = X @ coef
        _, gradient, weight = partial_likelihood(risk, sets)
        if 2 * X.shape[1] <= len(X):
            design, target = _root(_curvature(X, risk, sets), coef, X.T @ gradient)
            strength, weights = self.alpha * len(X) / len(design), None
        else:
            weights = np.maximum(weight, 1e-8 * weight.max())
            design, target = X, risk + gradient / weights
            strength = self.alpha * len(X) / weights.sum()
        lasso = Lasso(
            strength, fit_intercept=False, warm_start=True, max_iter=10_000, tol=1e-7
        )
        lasso.coef_ = coef.copy()
        return np.asarray(lasso.fit(design, target, sample_weight=weights).coef_)

    def _value(self, X: FloatArray, coef: FloatArray, sets: RiskSets) -> float:
        return partial_likelihood(X @ coef, sets)[0] / len(X) - self.alpha * float(
            np.abs(coef).sum()
        )

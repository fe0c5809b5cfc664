"""Recursive elimination by the weights of a ridge-penalised model (hamer2021, algorithm 1)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from skstab.feature_selection._ridge import (
    AnyLoss,
    RidgeFit,
    fit_features,
    fit_rows,
    prefers_rows,
    scaled,
)

__all__ = [
    "Design",
    "Elimination",
    "Round",
    "eliminate",
    "fit_ridge",
    "frequency_scores",
    "make_design",
    "merge_rows",
    "moments",
    "stopped_at",
]


# -- the data ----------------------------------------------------------------------------------------------------------


class Design(NamedTuple):
    """The data, one row for each feature: `columns` are (X − mean) scaled."""

    columns: Any
    mean: np.ndarray
    scale: np.ndarray


def make_design(
    X: Any, weight: np.ndarray, *, centre: bool, standardize: bool
) -> Design:
    """Transpose the data, centred if an intercept compensates for it, and scaled to unit variance if requested.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_rows, n_features)
        The data; a sparse array is not centred.
    weight : ndarray of shape (n_rows,)
        Weights of the rows.
    centre : bool
        Whether to centre the features, which does not change the model but makes it easier to compute.
    standardize : bool
        Whether to divide the features by their standard deviation, unless that is 0.

    Returns
    -------
    design : Design
        The transposed data, and how it was centred and scaled.
    """
    mean, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if standardize:
        variance = moments(X, weight)[1]
        scale = 1 / np.sqrt(np.where(variance > 0, variance, 1))
    if sparse.issparse(X):
        return Design(scaled(sparse.csr_array(X.T), scale), mean, scale)
    columns = X.T
    if centre:
        mean = weight @ X / weight.sum()
        columns = columns - mean[:, None]
    return Design(np.ascontiguousarray(scaled(columns, scale)), mean, scale)


def moments(X: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and variance of each column; the variance of a constant one is exactly 0."""
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0, weights=weight)
        low, high = min_max_axis(X, axis=0)
        return mean, np.where(low == high, 0.0, variance)
    mean = weight @ X / weight.sum()
    variance = np.einsum("i,ij->j", weight, (X - mean) ** 2) / weight.sum()
    return mean, np.where(X.min(axis=0) == X.max(axis=0), 0.0, variance)


def merge_rows(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find rows that repeat others, as in a bootstrap sample.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The data.
    y : ndarray of shape (n_rows, n_outputs)
        The target, in which repeated rows must agree as well.

    Returns
    -------
    first : ndarray of int of shape (n_distinct,)
        The rows to keep.
    group : ndarray of int of shape (n_rows,)
        For each row, the position in `first` of the row that represents it.
    """
    # One number distinguishes most rows, equal for equal ones; only rows that agree in it are compared in full.
    few = X[:, np.unique(np.linspace(0, X.shape[1] - 1, 8).astype(int))]
    mark = sum(column / (3.0 + place) for place, column in enumerate((*few.T, *y.T)))
    _, first, group = np.unique(mark, return_index=True, return_inverse=True)
    like = first[group]
    suspects = np.flatnonzero(like != np.arange(len(X)))
    same = like[suspects]
    differ = suspects[
        (X[suspects] != X[same]).any(axis=1) | (y[suspects] != y[same]).any(axis=1)
    ]
    like[differ] = differ
    return np.unique(like, return_inverse=True)


# -- the elimination ---------------------------------------------------------------------------------------------------


class Round(NamedTuple):
    """One round of elimination: features in the order of their rank, best first, of which the last are dropped."""

    ranked: np.ndarray
    strengths: np.ndarray  # |w| in the same order
    n_kept: int


class Elimination(NamedTuple):
    """The selected features, in the order of the columns, and the steps that led to them."""

    selected: np.ndarray
    steps: tuple[Round, ...]


def eliminate(
    columns: Any,
    loss: AnyLoss,
    *,
    n_select: int,
    stable: np.ndarray,
    step: float,
    C: float,
    shrinkage: float,
    fit_intercept: bool = True,
    models: dict[bytes, RidgeFit] | None = None,
) -> Elimination:
    """Drop the features of least weight, step by step, but never the stable ones.

    Parameters
    ----------
    columns : ndarray or CSR array of shape (n_features, n_rows)
        The data, one row for each feature.
    loss : Loss or Hinge
        The loss and its target.
    n_select : int
        How many features to keep.
    stable : ndarray of int of shape (n_stable,)
        Features that are kept in any case, best first.
    step : int or float
        How many features to drop at each step, or which fraction of those that remain.
    C : float
        Inverse strength of the ridge penalty.
    shrinkage : float
        ε: the penalty on a stable feature is ε² times that on the others.
    fit_intercept : bool, default=True
        Whether the models have an intercept.
    models : dict, default=None
        Models of the same problem by the bytes of their features, which are not fitted again; others are added.

    Returns
    -------
    elimination : Elimination
        The selected features and the steps.
    """
    n_features = columns.shape[0]
    if n_select >= n_features:
        return Elimination(np.arange(n_features), ())
    # A penalty of ε²w² on a feature is that of w² on the feature divided by ε.
    scale = np.ones(n_features)
    scale[stable] = 1 / shrinkage
    remaining = _Remaining(scaled(columns, scale), loss, C, fit_intercept, models)
    steps = []
    while remaining.size > n_select:
        strengths = (
            np.linalg.norm(remaining.fit().weights, axis=1) * scale[remaining.features]
        )
        ranks = _ranks(remaining.features, strengths, stable)
        n_kept = remaining.size - _n_dropped(remaining.size, n_select, step)
        steps.append(Round(remaining.features[ranks], strengths[ranks], n_kept))
        remaining.keep(np.sort(ranks[:n_kept]))
    return Elimination(remaining.features, tuple(steps))


def stopped_at(elimination: Elimination, n_select: int, n_features: int) -> Elimination:
    """The same elimination with more features left: it stops within the step that passes their number."""
    steps: list[Round] = []
    for step in elimination.steps:
        steps.append(step._replace(n_kept=max(step.n_kept, n_select)))
        if step.n_kept <= n_select:
            break
    selected = (
        np.sort(steps[-1].ranked[:n_select])
        if n_select < n_features
        else np.arange(n_features)
    )
    return Elimination(selected, tuple(steps) if n_select < n_features else ())


def _n_dropped(n_features: int, n_select: int, step: float) -> int:
    """How many of the remaining features a step drops: at least one, and none of the last `n_select`."""
    wanted = int(step * n_features) if 0 < step < 1 else int(step)
    return min(max(1, wanted), n_features - n_select)


def _ranks(
    features: np.ndarray, strengths: np.ndarray, stable: np.ndarray
) -> np.ndarray:
    """Positions of the features, best first: the stable ones in their order, the others by their weight."""
    first = np.searchsorted(features, stable)
    others = np.delete(np.arange(len(features)), first)
    return np.concatenate(
        [first, others[np.argsort(-strengths[others], kind="stable")]]
    ).astype(np.intp)


def frequency_scores(elimination: Elimination, n_features: int) -> np.ndarray:
    """How far each selected feature was from being dropped: 1 if always first (equation 15); NaN for the others."""
    scores = np.full(n_features, np.nan)
    selected = elimination.selected
    scores[selected] = n_features / len(selected) if elimination.steps else 1.0
    for ranked, _, n_kept in elimination.steps:
        rank = np.empty(n_features)
        rank[ranked] = np.arange(1, len(ranked) + 1)
        scores[selected] *= (n_kept - rank[selected] + 1) / (
            len(ranked) - rank[selected] + 1
        )
    return scores


def fit_ridge(
    columns: Any, loss: AnyLoss, C: float, *, fit_intercept: bool = True
) -> RidgeFit:
    """Fit one model in row space or in feature space, whichever is faster."""
    return _Remaining(columns, loss, C, fit_intercept).fit()


class _Remaining:
    """The remaining features, their columns, and what can be reused from one fit to the next."""

    def __init__(
        self,
        columns: Any,
        loss: AnyLoss,
        C: float,
        fit_intercept: bool,
        models: dict[bytes, RidgeFit] | None = None,
    ) -> None:
        self.models = {} if models is None else models
        self.columns, self.loss, self.C, self.fit_intercept = (
            columns,
            loss,
            C,
            fit_intercept,
        )
        self.features = np.arange(columns.shape[0])
        self.gram: np.ndarray | None = None
        self.last: RidgeFit | None = None

    @property
    def size(self) -> int:
        return len(self.features)

    def fit(self) -> RidgeFit:
        key = self.features.tobytes()
        if key not in self.models:
            self.models[key] = self._fit()
        self.last = self.models[key]
        return self.last

    def _fit(self) -> RidgeFit:
        how: dict[str, Any] = {"fit_intercept": self.fit_intercept, "start": self.last}
        if not prefers_rows(self.columns.shape[1], self.size):
            return fit_features(self.columns, self.loss, self.C, **how)
        if self.gram is None:
            self.gram = _gram(self.columns)
            self.fresh_trace = self.gram.trace()
        return fit_rows(self.columns, self.gram, self.loss, self.C, **how)

    def keep(self, kept: np.ndarray) -> None:
        """Keep only the features at these positions."""
        if self.gram is not None and prefers_rows(self.columns.shape[1], len(kept)):
            dropped = np.delete(np.arange(self.size), kept)
            self.gram = self.gram - _gram(self.columns[dropped])
            # Rounding errors of the first sums stay while the sums shrink: compute them again before the errors matter.
            self.gram = self.gram if self.gram.trace() > self.fresh_trace / 16 else None
        self.columns, self.features = self.columns[kept], self.features[kept]
        if self.last is not None:
            self.last = self.last._replace(weights=self.last.weights[kept])


def _gram(columns: Any) -> np.ndarray:
    product = columns.T @ columns
    return np.asarray(product.toarray() if sparse.issparse(product) else product)

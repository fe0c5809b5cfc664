"""Predictions of linear models that differ only in their coefficients: one product for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from skstab._engine.score_times import Meter
from skstab._typing import BoolArray, FloatArray

__all__ = ["sharing_predictions"]


def sharing_predictions(
    make: Callable[[int], Any], coefs: FloatArray, intercepts: FloatArray
) -> list[Any]:
    """Models that compute their predictions together.

    Parameters
    ----------
    make : callable
        Makes the model of a place: a regressor with one output or a classifier of two classes, linear.
    coefs : ndarray of shape (n_models, n_features)
        The coefficients of the models.
    intercepts : ndarray of shape (n_models,)
        Their intercepts.

    Returns
    -------
    models : list of estimators
        The models in their places. Their `predict`, and the `decision_function` of classifiers, return what they
        return by themselves: classes exactly, numbers up to rounding errors.
    """
    models = [make(place) for place in range(len(coefs))]
    shared = _SharedPredictions(make, coefs, intercepts)
    names = [
        name for name in ("predict", "decision_function") if hasattr(models[0], name)
    ]
    for place, model in enumerate(models):
        for name in names:
            setattr(model, name, _Method(shared, place, name))
    return models


class _Method:
    """A method of the model in one place; scorers ask for its name."""

    def __init__(self, shared: _SharedPredictions, place: int, name: str) -> None:
        self.shared, self.place, self.__name__ = shared, place, name
        self.meter = shared.meter

    def __call__(self, X: Any) -> Any:
        return getattr(self.shared, self.__name__)(self.place, X)


class _SharedPredictions:
    """The predictions of all models for the rows that were last asked for."""

    def __init__(
        self, make: Callable[[int], Any], coefs: FloatArray, intercepts: FloatArray
    ) -> None:
        self.make, self.coefs, self.intercepts = make, coefs, intercepts
        self.classes = getattr(make(0), "classes_", None)
        self.X: Any = None
        self.meter = Meter()

    def predict(self, place: int, X: Any) -> Any:
        self._look_at(X)
        if not self.is_known[place]:
            return self.make(place).predict(X)
        return (
            self.decisions[place].copy() if self.classes is None else self.labels[place]
        )

    def decision_function(self, place: int, X: Any) -> Any:
        self._look_at(X)
        # A copy, as probabilities are computed in its place.
        return (
            self.decisions[place].copy()
            if self.is_known[place]
            else self.make(place).decision_function(X)
        )

    def _look_at(self, X: Any) -> None:
        if X is not self.X:
            with self.meter.running():
                self._predict_all(X)
            self.X = X

    def _predict_all(self, X: Any) -> None:
        self.is_known = np.zeros(len(self.coefs), dtype=bool)
        model = self.make(0)
        rows = None if issparse(X) else validate_data(model, X, reset=False)
        if isinstance(rows, np.ndarray) and rows.dtype.kind in "fiu":
            decisions = self.coefs @ rows.T + self.intercepts[:, None]
            # A model of float32 coefficients predicts float32 rows in float32.
            dtype = np.result_type(rows.dtype, model.coef_.dtype)
            self.decisions = decisions.astype(dtype, copy=False)
            self.is_known = np.asarray(np.isfinite(self.decisions).all(axis=1))
            if self.classes is not None:
                self.is_known &= self._is_certain(rows)
                self.labels = self.classes[(self.decisions > 0).astype(np.intp)]

    def _is_certain(self, rows: FloatArray) -> BoolArray:
        """For which models no rounding error of a sum, in whatever order, could change a sign.

        The error of n products that are not 0 is at most n·ε·Σ|xᵢwᵢ| ≤ n·ε·‖x‖·‖w‖; twice that lies between two orders.
        """
        rows = rows.astype(np.float64, copy=False)
        lengths = np.outer(
            np.linalg.norm(self.coefs, axis=1), np.linalg.norm(rows, axis=1)
        )
        n_products = np.count_nonzero(self.coefs, axis=1)[:, None]
        scale = 4 * (n_products + 2) * np.finfo(self.decisions.dtype).eps
        errors = scale * (lengths + np.abs(self.intercepts)[:, None])
        return np.asarray((np.abs(self.decisions) >= errors).all(axis=1))

"""Predictions of a meta-estimator, which are those of the estimator that it refitted on all rows."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.utils.metadata_routing import process_routing

from skstab._checks import naming
from skstab._compat import available_if
from skstab._typing import MatrixLike

__all__ = ["PredictorMixin"]


def _estimator_has(method: str) -> Any:
    """Check that the fitted estimator, or else the one to fit, has a method; the error names what is missing."""

    def check(self: PredictorMixin) -> bool:
        getattr(self._refitted(), method)
        return True

    return check


class PredictorMixin:
    """Methods of a predictor, where the estimator has them."""

    def _fitted(self) -> Any:
        """Return the refitted estimator, or raise where there is none yet."""
        raise NotImplementedError

    def _refitted(self) -> Any:
        """Return the refitted estimator, or the one to fit."""
        raise NotImplementedError

    @available_if(_estimator_has("predict"))
    @naming("X")
    def predict(self, X: MatrixLike) -> Any:
        """Predict with the refitted estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        """
        return self._fitted().predict(X)

    @available_if(_estimator_has("predict_proba"))
    @naming("X")
    def predict_proba(self, X: MatrixLike) -> Any:
        """Probabilities of the classes by the refitted estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            The probabilities.
        """
        return self._fitted().predict_proba(X)

    @available_if(_estimator_has("predict_log_proba"))
    @naming("X")
    def predict_log_proba(self, X: MatrixLike) -> Any:
        """Logarithms of the probabilities of the classes by the refitted estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            The logarithms.
        """
        return self._fitted().predict_log_proba(X)

    @available_if(_estimator_has("decision_function"))
    @naming("X")
    def decision_function(self, X: MatrixLike) -> Any:
        """Confidence scores by the refitted estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The confidence scores.
        """
        return self._fitted().decision_function(X)

    @available_if(_estimator_has("score"))
    @naming("X", "y")
    def score(self, X: MatrixLike, y: ArrayLike | None = None, **params: Any) -> Any:
        """Score of the refitted estimator by its own `score` method.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            The target.
        **params : dict
            Further parameters of that method.

        Returns
        -------
        score : float
            The score.
        """
        if get_config()["enable_metadata_routing"]:
            params = process_routing(self, "score", **params).estimator.score
        return self._fitted().score(X, y, **params)

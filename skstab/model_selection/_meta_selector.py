"""What `StabilityCV` and `StabilitySearchCV` have in common as estimators: predictions, tags, routing, HTML."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)

from skstab._checks import naming
from skstab._compat import CallbackSupportMixin, available_if
from skstab._pipelines import tags_of
from skstab._typing import MatrixLike
from skstab.model_selection._resampling import splitter_for
from skstab.model_selection._scoring import scorer_of

__all__ = ["MetaSelector"]


def _estimator_has(method: str) -> Any:
    """Check that the fitted estimator, or else the one to fit, has a method; the error names what is missing."""

    def check(self: MetaSelector) -> bool:
        getattr(self._refitted(), method)
        return True

    return check


class MetaSelector(
    CallbackSupportMixin, MetaEstimatorMixin, SelectorMixin, BaseEstimator
):
    """A selector around an estimator that it refits on all rows, and by which it predicts where that does."""

    estimator: Any
    cv: Any
    scoring: Any
    error_score: Any
    perturb: Any = None

    def _splitter(
        self, y: Any = None, *, grouped: bool = False, entropy: Any = None
    ) -> Any:
        return splitter_for(
            self.cv,
            y,
            classifier=is_classifier(self.estimator),
            grouped=grouped,
            perturb=self.perturb,
            entropy=getattr(self, "_entropy", 0) if entropy is None else entropy,
        )

    def _scorer(self) -> Any:
        return scorer_of(self.scoring, self.estimator, self.error_score)

    # -- the predictor -------------------------------------------------------------------------------------------------

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

    @property
    def classes_(self) -> Any:
        """The class labels, where the estimator is a classifier."""
        return self._fitted().classes_

    # -- scikit-learn --------------------------------------------------------------------------------------------------

    def _router(
        self,
        *,
        estimator: MethodMapping,
        splitter: MethodMapping,
        scorer: MethodMapping,
    ) -> MetadataRouter:
        """Where parameters go, by the methods that they are given to."""
        chosen = self._splitter() if self.cv is None else self.cv
        return (
            MetadataRouter(owner=self)
            .add(estimator=self.estimator, method_mapping=estimator)
            .add(splitter=chosen, method_mapping=splitter)
            .add(scorer=self._scorer(), method_mapping=scorer)
        )

    def _beside(self, diagram: str) -> str:
        """Return HTML of what was found, beside the diagram of scikit-learn."""
        raise NotImplementedError

    # Notebooks ask for either of these; scikit-learn gives its diagram where it is set to.

    @property
    def _repr_html_(self) -> Any:
        diagram = super()._repr_html_
        return (
            (lambda: self._beside(diagram()))
            if self.__sklearn_is_fitted__()
            else diagram
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and self.__sklearn_is_fitted__():
            bundle["text/html"] = self._beside(bundle["text/html"])
        return bundle

    def __sklearn_is_fitted__(self) -> bool:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), tags_of(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        tags.target_tags = deepcopy(inner.target_tags)
        tags.input_tags = deepcopy(inner.input_tags)
        return tags

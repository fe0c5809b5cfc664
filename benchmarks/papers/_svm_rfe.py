"""Recursive elimination by a linear SVM that drops a share of the *remaining* features, for two of the papers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.svm import SVC
from sklearn.utils.validation import validate_data

_FEW = 200  # features from which on the kernel is computed anew, and not by taking off those that were dropped


class SVMRFE(SelectorMixin, BaseEstimator):
    """Drop the features that have the smallest weights in a linear SVM, again and again.

    scikit-learn's `RFE` drops a share of *all* features in each round. `scores_` is the complete ranking, the best
    feature highest; with `complete=False` it stops at k features, which all have the highest score.
    """

    def __init__(
        self,
        k: int | None = None,
        *,
        C: float = 0.5,
        share: float = 0.1,
        complete: bool = True,
    ) -> None:
        self.k = k
        self.C = C
        self.share = share
        self.complete = complete

    def fit(self, X: Any, y: Any) -> Self:
        X = validate_data(self, X)
        n_features = X.shape[1]
        remaining, gram = np.arange(n_features), X @ X.T
        self.scores_ = np.full(n_features, float(n_features))
        least = 0 if self.complete else self.k
        while len(remaining) > least:
            order = remaining[
                np.argsort(
                    np.abs(self._weights(gram, X[:, remaining], y)), kind="stable"
                )
            ]
            n_dropped = min(
                max(1, int(self.share * len(remaining))), len(remaining) - least
            )
            dropped, left = order[:n_dropped], order[n_dropped:]
            self.scores_[dropped] = n_features - len(remaining) + np.arange(n_dropped)
            gram = (
                gram - X[:, dropped] @ X[:, dropped].T
                if len(left) > _FEW
                else X[:, left] @ X[:, left].T
            )
            remaining = left
        return self

    def _weights(self, gram: Any, X: Any, y: Any) -> Any:
        """Weights of a linear SVM, which needs no more of the features than their inner products."""
        svm = SVC(kernel="precomputed", C=self.C).fit(gram, y)
        return svm.dual_coef_[0] @ X[svm.support_]

    def _get_support_mask(self) -> Any:
        return self.scores_ >= len(self.scores_) - (self.k or len(self.scores_))

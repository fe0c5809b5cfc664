"""Least squares along a path by scikit-learn's coordinate descent, each value from where the last one ended.

With a ridge part, or with fewer features than rows, many features are active, and sweeps over the columns cost less
than factorising the active set anew for each penalty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.linear_model import ElasticNet, Lasso, enet_path
from sklearn.utils import check_array

from skstab._linear_paths.linear_models import LinearModels

__all__ = ["Centred", "centred", "descended", "prefers_descent"]

_TIGHT = 1e-5  # tolerances from which on a direct solution costs less


def prefers_descent(estimator: Any, X: Any, sample_weight: Any = None) -> bool:
    """Whether an estimator is a least squares model whose path takes less time by coordinate descent."""
    if type(estimator) not in (Lasso, ElasticNet) or issparse(X) or sample_weight is not None:
        return False
    if estimator.positive or estimator.selection == "random" or estimator.l1_ratio == 0:
        return False
    return bool(estimator.l1_ratio < 1 or (X.shape[1] <= X.shape[0] and estimator.tol >= _TIGHT))


class Centred(NamedTuple):
    """Rows whose columns and outputs have a mean of zero, or as they are, and what was subtracted."""

    columns: Any  # in Fortran order
    targets: Any
    middle: Any
    means: Any


def centred(X: Any, y: Any, fit_intercept: bool) -> Centred:
    """Check rows and subtract the means that an intercept takes up."""
    table = check_array(X, dtype=np.float64)
    outputs = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y").reshape(len(table), -1)
    middle, means = np.zeros(table.shape[1]), np.zeros(outputs.shape[1])
    if fit_intercept:
        middle, means = table.mean(axis=0), outputs.mean(axis=0)
    return Centred(np.asfortranarray(table - middle), outputs - means, middle, means)


def descended(estimator: Any, rows: Centred, values: Any) -> LinearModels | None:
    """The models at values of `alpha`, in any order; None where there are values that have no path."""
    alphas = np.asarray(values, dtype=np.float64)
    if not ((alphas > 0) & (alphas < np.inf)).all():
        return None
    coefs = np.stack([_descend(estimator, rows.columns, target, alphas) for target in rows.targets.T], axis=1)
    return LinearModels(coefs, rows.means - coefs @ rows.middle)


def _descend(estimator: Any, X: Any, y: Any, alphas: Any) -> Any:
    order = np.argsort(-alphas, kind="stable")
    settings = {"l1_ratio": estimator.l1_ratio, "tol": estimator.tol, "max_iter": estimator.max_iter}
    # X is checked and in Fortran order.
    _, found, _ = enet_path(
        X, np.ascontiguousarray(y), alphas=alphas[order], precompute=False, check_input=False, **settings
    )
    coefs = np.empty((len(alphas), X.shape[1]))
    coefs[order] = found.T
    return coefs

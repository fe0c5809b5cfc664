"""The unpenalised model with all features, which coefficients of selected models are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.special import expit

from skstab._matrices import as_weights
from skstab._typing import FloatArray, MatrixLike

__all__ = ["unpenalised_reference"]

_MOST_STEPS = 50
_TOLERANCE = 1e-10
_FARTHEST = (
    50.0  # a coefficient of a standardised feature; beyond it the classes are separated
)


def unpenalised_reference(X: MatrixLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Coefficients and standard errors of the unpenalised model with all features.

    They are the `reference` of :func:`feature_report`. The model is a logistic regression where y has two values, and
    least squares for other numbers. It has an intercept.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data, as the models of the runs saw them: standardised where they are. There must be more rows than
        features, and no feature that is constant or a combination of others.
    y : array-like of shape (n_samples,)
        The target: numbers, or two classes, of which the coefficients are about the second in sorted order.

    Returns
    -------
    coef : ndarray of shape (n_features,)
        The coefficients.
    se : ndarray of shape (n_features,)
        Their standard errors.

    See Also
    --------
    feature_report : Compares the coefficients of runs with them.

    Notes
    -----
    For other models, such as the Cox model of survival times, take the coefficients and standard errors from the
    program that fits them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstab.inspection import unpenalised_reference
    >>> X, y = load_diabetes(return_X_y=True)
    >>> coef, se = unpenalised_reference(X, y)
    >>> (coef / se).round(1)[:4]
    array([-0.2, -3.9,  7.8,  5. ])
    """
    data = as_weights(X, "X", least_runs=1)
    data = data.toarray() if issparse(data) else data
    target, classes = _read_target(y, len(data))
    mean, deviation = data.mean(axis=0), data.std(axis=0)
    design = np.column_stack(
        [np.ones(len(data)), (data - mean) / np.where(deviation > 0, deviation, 1.0)]
    )
    if len(data) <= design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]:
        raise ValueError(
            "X must have more rows than features, none of which is constant or a combination of others: otherwise "
            "there is no unpenalised model with all features"
        )
    beta, covariance = (
        _logistic(design, target == classes[1])
        if len(classes) == 2
        else _least_squares(design, target)
    )
    return beta[1:] / deviation, np.sqrt(np.diag(covariance))[1:] / deviation


def _read_target(y: Any, n_rows: int) -> tuple[Any, Any]:
    """Return the target and its distinct values."""
    try:
        target = np.asarray(y)
        classes = np.unique(target)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be numbers, or two classes: {error}") from error
    if target.shape != (n_rows,):
        raise ValueError(
            f"y must be one number or class for each of the {n_rows} rows, got shape {target.shape}"
        )
    return target, classes


def _least_squares(design: FloatArray, y: Any) -> tuple[FloatArray, FloatArray]:
    if y.dtype.kind not in "buif" or not np.isfinite(y).all() or np.ptp(y) == 0:
        raise ValueError(
            "y must be finite numbers that are not all equal, or two classes"
        )
    beta, *_ = np.linalg.lstsq(design, y.astype(np.float64), rcond=None)
    residual = y - design @ beta
    variance = residual @ residual / (len(y) - design.shape[1])
    return beta, variance * np.linalg.inv(design.T @ design)


def _logistic(design: FloatArray, y: Any) -> tuple[FloatArray, FloatArray]:
    """Newton's method; the covariance is the inverse of the information."""
    beta = np.zeros(design.shape[1])
    for _ in range(_MOST_STEPS):
        p = expit(design @ beta)
        information = design.T @ (design * (p * (1 - p))[:, None])
        # Where the classes are separated coefficients grow without end, and the information vanishes.
        if (
            np.abs(beta).max() > _FARTHEST
            or np.linalg.cond(information) > 1 / np.finfo(float).eps
        ):
            break
        step = np.linalg.solve(information, design.T @ (y - p))
        beta = beta + step
        if np.abs(step).max() <= _TOLERANCE * (1 + np.abs(beta).max()):
            return beta, np.linalg.inv(information)
    raise ValueError(
        "the classes of y are separated by X: there is no unpenalised model with all features"
    )

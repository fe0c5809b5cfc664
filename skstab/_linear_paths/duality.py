"""How far a lasso or an elastic net is from its minimum at most: the duality gap that scikit-learn reports."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["duality_gap"]

Floats: TypeAlias = NDArray[np.float64]


def duality_gap(
    coef: Floats, square: Any, product: Any, pull: Floats, bend: Any, ridge: Any
) -> Any:
    """Gap between ½‖r‖² + bend·‖w‖₁ + ridge/2·‖w‖², r = y − Xw, and the dual at r, scaled so that it is feasible.

    Parameters
    ----------
    coef : ndarray of shape (..., n_features)
        The coefficients w, of one model or one row per model.
    square, product : float or ndarray
        ‖r‖² and rᵀy of each model.
    pull : ndarray of shape (..., n_features)
        Xᵀr of each model.
    bend, ridge : float or ndarray
        The penalties of each model.

    Returns
    -------
    gap : float or ndarray
        Of each model; never negative but for rounding errors.
    """
    excess = np.abs(pull - np.expand_dims(ridge, -1) * coef).max(axis=-1, initial=0.0)
    scale = bend / np.maximum(bend, excess)
    lengths = square + ridge * np.einsum("...j,...j->...", coef, coef)
    return (
        (1 + scale**2) / 2 * lengths
        + bend * np.abs(coef).sum(axis=-1)
        - scale * product
    )

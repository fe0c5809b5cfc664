"""Decoys: copies of the features that cannot matter, against which selection scores are held.

Notation: p features, W_j the score of a feature minus that of its decoy, a the number of decoys per feature, α the
target.
"""

from __future__ import annotations

from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.covariance import ledoit_wolf
from sklearn.utils import check_array

from skstab._checks import naming
from skstab._decoys import exchanged_rows
from skstab._decoys import with_decoys as beside
from skstab._warnings import warn_user
from skstab.feature_selection._integrated import correlation_of

__all__ = [
    "DECOYS",
    "check_for_decoys",
    "e_value_selection",
    "e_values",
    "fdp_threshold",
    "gaussian_knockoffs",
    "least_selection",
    "select_against_decoys",
    "with_decoys",
]

Floats: TypeAlias = NDArray[np.float64]

DECOYS = ("permuted", "knockoffs")

_FEW_VALUES = (
    10  # a column with so few distinct values is a code or a class, not a Gaussian
)
_CORRELATED = 0.25  # mean of the largest correlations of the features, from which permuted copies are not fair to them


# -- the selection -----------------------------------------------------------------------------------------------------


def least_selection(n_draws: int, level: float) -> float:
    """Features that must exceed the decoys of a draw before any is selected: FDP⁺ is at least 1 / #features."""
    part = 1 if n_draws == 1 else 2
    least = float(np.floor(part / level))
    return least if 1 / least <= level / part else least + 1


def select_against_decoys(scores: Floats, level: float) -> NDArray[np.bool_]:
    """Features selected at a level of false discoveries; the scores are draws × (real, decoy) × features."""
    if len(scores) == 1:
        real, decoy = scores[0]
        return np.asarray(real > fdp_threshold(real, decoy, level))
    # At the level itself, no average of e-values could reach what e-BH asks for.
    differences = scores[:, 0] - scores[:, 1]
    return e_value_selection(
        np.mean([e_values(one, level / 2) for one in differences], axis=0), level
    )


def fdp_threshold(real: Floats, decoys: Floats, level: float) -> float:
    """Smallest t with FDP⁺(t) = (1 + #{decoys > t}/a) / max(1, #{real > t}) ≤ α; infinite where there is none."""
    ratio = decoys.size / real.size
    at = np.unique(np.r_[0.0, real, decoys])
    n_real = real.size - np.searchsorted(np.sort(real), at, side="right")
    n_decoys = decoys.size - np.searchsorted(np.sort(decoys), at, side="right")
    fits = (1 + n_decoys / ratio) / np.maximum(1, n_real) <= level
    return float(at[fits.argmax()]) if fits.any() else inf


def e_values(differences: Floats, level: float) -> Floats:
    """e_j = p·1[W_j ≥ t] / (1 + #{W ≤ −t}) at the smallest t > 0 with (1 + #{W ≤ −t}) / max(1, #{W ≥ t}) ≤ α."""
    at = np.unique(np.abs(differences[differences != 0]))
    ordered = np.sort(differences)
    n_above = ordered.size - np.searchsorted(ordered, at, side="left")
    n_below = np.searchsorted(ordered, -at, side="right")
    fits = (1 + n_below) / np.maximum(1, n_above) <= level
    if not fits.any():
        return np.zeros(differences.size)
    place = fits.argmax()
    return np.where(
        differences >= at[place], differences.size / (1 + n_below[place]), 0.0
    )


def e_value_selection(values: Floats, level: float) -> NDArray[np.bool_]:
    """e-BH: the k largest e-values, with the largest k of k·e_(k) ≥ p/α; nothing where there is none."""
    falling = np.sort(values)[::-1]
    # A product that is p/α up to rounding errors reaches it.
    enough = np.arange(1, values.size + 1) * falling >= values.size / level * (
        1 - 1e-12
    )
    if not enough.any():
        return np.zeros(values.size, dtype=bool)
    return np.asarray(values >= falling[np.flatnonzero(enough)[-1]])


# -- making decoys -----------------------------------------------------------------------------------------------------


def check_for_decoys(X: Any, kind: str) -> Any:
    """X as numbers; columns that decoys of this kind are not fair to are refused, or warned of."""
    with naming("decoys", "X"):
        X = check_array(
            X,
            accept_sparse="csc" if kind == "permuted" else False,
            dtype=np.float64,
            ensure_min_samples=2,
        )
    if kind == "knockoffs":
        _check_gaussian(X)
    else:
        _check_independent(X)
    return X


def with_decoys(X: Any, kind: str, rng: np.random.Generator) -> Any:
    """The columns of X, and as many decoys after them; permuted ones have the values of other rows."""
    if kind == "knockoffs":
        return np.hstack([X, gaussian_knockoffs(X, rng)])
    both = beside(X, exchanged_rows(X.shape[0], None, rng))
    return both.tocsc() if issparse(both) else both


def gaussian_knockoffs(X: Floats, rng: np.random.Generator) -> Floats:
    """Second-order knockoffs of Gaussian rows, equicorrelated, for the covariance of Ledoit & Wolf.

    With the covariance Σ of the standardised columns Z and s = min(1, 2·its smallest eigenvalue), the decoys are
    Z − s·ZΣ⁻¹ plus noise of covariance 2s·I − s²·Σ⁻¹ (Candès et al. 2018).
    """
    mean, scale = X.mean(axis=0), X.std(axis=0)
    Z = np.divide(X - mean, scale, out=np.zeros_like(X), where=scale > 0)
    values, vectors = np.linalg.eigh(ledoit_wolf(Z, assume_centered=True)[0])
    s = min(1.0, 2 * float(values[0]))
    noise = np.sqrt(np.clip(2 * s - s**2 / values, 0, None))
    drawn = Z @ vectors * (1 - s / values) + rng.standard_normal(Z.shape) * noise
    return np.asarray(mean + scale * (drawn @ vectors.T))


def _check_gaussian(X: Floats) -> None:
    distinct = 1 + (np.diff(np.sort(X, axis=0), axis=0) > 0).sum(axis=0)
    binary = np.flatnonzero(distinct == 2)
    if len(X) > 2 and binary.size:
        raise ValueError(
            f"decoys='knockoffs' assumes Gaussian columns, but {binary.size} of {X.shape[1]} have two values, such as "
            f"column {binary[0]}: leave out one-hot columns or use decoys='permuted'"
        )
    few = np.flatnonzero((distinct > 2) & (distinct <= min(_FEW_VALUES, len(X) // 4)))
    if few.size:
        warn_user(
            f"decoys='knockoffs' assumes Gaussian columns, but {few.size} of {X.shape[1]} have at most {_FEW_VALUES} "
            f"distinct values, such as column {few[0]}: false discoveries among these are not controlled",
        )


def _check_independent(X: Any) -> None:
    nearest = correlation_of(X, np.arange(X.shape[1])).nearest
    if nearest > _CORRELATED:
        warn_user(
            "decoys='permuted' assumes features that are independent of the others, but these correlate (the largest "
            f"correlations are {nearest:.2f} on average): false discoveries may exceed fdr; use decoys='knockoffs' "
            "where columns are about Gaussian, or clusters of features (groups) with efp",
        )

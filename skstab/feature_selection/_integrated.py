"""Integrated stability paths: expected false positives and q-values of every feature.

Notation: B pairs of complementary halves, p features, π_j(λ) the share of the halves that select feature j at the
penalty λ, q(λ) = Σ_j π_j(λ) and θ = q/p; π̃_j(λ) is the share of the pairs of which both halves select it. A feature
scores ∫π̃_j^m dμ with μ(dλ) ∝ λ^−δ dλ. "M&M" is Melikechi & Miller (2025), who bound the expected score of wrong
features through π̃, but score by its lower bound 2π − 1.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

__all__ = [
    "Correlation",
    "Integral",
    "correlation_of",
    "expected_false_positives",
    "exponent_of",
    "nearest_correlations",
    "q_values",
]

Floats: TypeAlias = NDArray[np.float64]

# S(m, k): of N ~ Binomial(B, s), E[N^m] = Σ_k S(m, k)·B(B − 1)…(B − k + 1)·s^k.
_STIRLING = {1: (1,), 2: (1, 1), 3: (1, 3, 1)}
_CERTAIN = 0.2  # expected false positives up to which features count as true
_MOST_COLUMNS = 1000  # that are correlated with all others


class Integral(NamedTuple):
    """What is integrated: the power m of π̃, over λ^−δ dλ, up to the penalty where the bound exceeds `end`."""

    m: int
    delta: float
    end: float = 0.2


def expected_false_positives(
    path: Floats,
    together: Floats,
    penalties: Floats,
    integral: Integral,
    *,
    n_pairs: int,
    correlated: bool = False,
) -> Floats:
    """Bound on the expected number of wrong features among those that score at least as much, for each feature.

    The path π and that of pairs, π̃, have a row for each feature and a column for each penalty, the sparse end first.
    The integrals of the scores and of their bound are over the same measure. In a second step, features with at most
    0.2 expected false positives count as true. Where features correlate, wrong ones are in several pairs more often
    than the bound allows for: π̃ is then replaced by its lower bound 2π − 1, and there is no second step.
    """
    nothing = np.zeros(len(path), dtype=bool)
    if correlated:
        return _efp_beside(
            nothing, path, np.clip(2 * path - 1, 0, None), penalties, integral, n_pairs
        )
    first = _efp_beside(nothing, path, together, penalties, integral, n_pairs)
    return _efp_beside(first <= _CERTAIN, path, together, penalties, integral, n_pairs)


def _efp_beside(
    certain: NDArray[np.bool_],
    path: Floats,
    together: Floats,
    penalties: Floats,
    integral: Integral,
    n_pairs: int,
) -> Floats:
    """Expected false positives where the selections of certain features are not those of wrong ones."""
    sizes = _sizes_beside(certain, path)
    bound = bound_on_scores(
        sizes, len(path) - int(np.count_nonzero(certain)), n_pairs, integral.m
    )
    n_kept = max(
        int(np.searchsorted(np.maximum.accumulate(bound), integral.end, side="right")),
        1,
    )
    measure = measure_of(penalties[:n_kept], integral.delta)
    scores = together[:, :n_kept] ** integral.m @ measure
    total = float(bound[:n_kept] @ measure)
    # Where nothing is ever selected the bound is 0, and so is every score.
    efp = np.divide(total, scores, out=np.full(len(path), np.inf), where=scores > 0)
    return np.asarray(np.minimum(efp, len(path)))


def _sizes_beside(certain: NDArray[np.bool_], path: Floats) -> Floats:
    """Mean number of features selected at each penalty, without the certain ones.

    Up to 0.2 of these are expected to be wrong after all, and count as if they were always selected.
    """
    others = path[~certain].sum(axis=0) + _CERTAIN * certain.any()
    return np.asarray(np.minimum(path.sum(axis=0), others))


def bound_on_scores(sizes: Floats, n_features: int, n_pairs: int, m: int) -> Floats:
    """Bound on Σ E[π̃_j^m] over the wrong features: p·E[(N/B)^m] with N ~ Binomial(B, θ²), b_m of M&M."""
    both = (sizes / n_features) ** 2
    moment, falling = np.zeros_like(both), np.ones_like(both)
    for k, stirling in enumerate(_STIRLING[m]):
        falling = falling * (n_pairs - k) * both
        moment = moment + stirling * falling
    return np.asarray(n_features * moment / float(n_pairs) ** m)


def measure_of(penalties: Floats, delta: float) -> Floats:
    """Weights of penalties, which fall, for integrals over λ^−δ dλ by trapezes; they sum to 1."""
    logs = np.log(penalties / penalties[0])
    primitive = logs if delta == 1 else np.expm1((1 - delta) * logs) / (1 - delta)
    cells = -np.diff(primitive)
    weights = np.r_[cells, 0] + np.r_[0, cells]
    total = weights.sum()
    return (
        np.asarray(weights / total)
        if total > 0
        else np.full(len(penalties), 1 / len(penalties))
    )


def q_values(efp: Floats) -> Floats:
    """Smallest t/#{efp ≤ t} over t ≥ the feature's own efp."""
    order = np.argsort(efp)
    # Of equal values the last one has the right count; the others inherit it from the right.
    ratios = efp[order] / np.arange(1, len(efp) + 1)
    values = np.empty_like(efp)
    values[order] = np.minimum.accumulate(ratios[::-1])[::-1]
    return np.minimum(values, 1.0)


# -- correlation -------------------------------------------------------------------------------------------------------


class Correlation(NamedTuple):
    """How features correlate: mean absolute value, and mean over features of the largest that is beyond noise."""

    mean: float
    nearest: float


def exponent_of(mean_correlation: float) -> float:
    """δ for L1 models: 1 for uncorrelated features, 0 where the mean absolute correlation is 0.25 or more."""
    return float(np.clip((0.25 - mean_correlation) / 0.2, 0, 1))


def correlation_of(X: Any, codes: NDArray[np.intp]) -> Correlation:
    """Absolute correlations between clusters of features; of more than 1000, 1000 evenly spaced ones against all."""
    n_rows, n_features = X.shape
    if n_features < 2 or n_rows < 4:
        return Correlation(0.0, 0.0)
    chosen = np.unique(np.linspace(0, n_features - 1, _MOST_COLUMNS).astype(np.intp))
    found = _between_clusters(X, codes, chosen)
    return Correlation(
        float(found.sum() / (len(chosen) * (n_features - 1))),
        float(_beyond_noise(found, n_rows).mean()),
    )


def nearest_correlations(
    X: Any, codes: NDArray[np.intp], columns: NDArray[np.intp]
) -> Floats:
    """Largest absolute correlation of some columns with those of other clusters, as far as it is beyond noise."""
    n_rows, n_features = X.shape
    if n_features < 2 or n_rows < 4:
        return np.zeros(len(columns))
    return _beyond_noise(_between_clusters(X, codes, columns), n_rows)


def _between_clusters(
    X: Any, codes: NDArray[np.intp], columns: NDArray[np.intp]
) -> Floats:
    found = np.abs(_correlations(X, columns))
    found[codes[columns, None] == codes] = 0
    return found


def _beyond_noise(correlations: Floats, n_rows: int) -> Floats:
    """Largest of each row, less about what the largest of p − 1 is where there is none (Fisher's z)."""
    largest = np.arctanh(np.minimum(correlations.max(axis=1), 1 - 1e-9))
    noise = sqrt(2 * log(correlations.shape[1]) / (n_rows - 3))
    return np.asarray(np.tanh(np.clip(largest - noise, 0, None)))


def _correlations(X: Any, chosen: NDArray[np.intp]) -> Floats:
    """Correlations of some columns with all, 0 for constant ones."""
    part = X[:, chosen].toarray() if issparse(X) else X[:, chosen]
    part = part - part.mean(axis=0)
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = np.asarray((X.multiply(X) if issparse(X) else X**2).mean(axis=0)).ravel()
    spread = np.sqrt(np.clip(square - mean**2, 0, None))
    # The chosen columns are centred, so the means of the others drop out.
    covariance = np.asarray(X.T @ part).T / len(part)
    scale = spread[chosen, None] * spread
    flat = 1e-7 * np.sqrt(square[chosen, None] * square)
    return np.asarray(
        np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > flat)
    )

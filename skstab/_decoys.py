"""Decoys: columns like those of X that hold no information about the target, and how features compare with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import hstack, issparse
from scipy.stats import betabinom

from skstab._compat import take_columns, take_rows
from skstab._typing import FloatArray, IndexArray

__all__ = [
    "exchanged_rows",
    "pvalues_by_decoys",
    "pvalues_by_importance",
    "with_decoys",
]

_LEAST_CORRELATION = 0.05  # of the selections of one decoy in two halves
_ERRORS = 1.0  # standard errors by which it may be underestimated
_PREFIX = "decoy of "
_TAIL = 0.25  # share of the decoys that the tail of their importances is fitted to
_FURTHEST = 10  # times smaller than the least share of decoys a p-value may be


# -- making them -----------------------------------------------------------------------


def exchanged_rows(n_rows: int, groups: ArrayLike | None, rng: Any) -> IndexArray:
    """For each row, the row whose values its decoys have.

    Rows exchange their values whole, so that decoys correlate with each other as the columns do. With groups
    (patients), whole groups exchange theirs: what is constant within groups stays so, and rows of a group stay alike.
    """
    if groups is None:
        return np.asarray(rng.permutation(n_rows))
    _, codes = np.unique(np.asarray(groups), return_inverse=True)
    members = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]
    rows = np.empty(n_rows, dtype=np.intp)
    for code, other in enumerate(rng.permutation(len(members))):
        own, source = members[code], rng.permutation(members[other])
        rows[own] = np.resize(source, len(own))  # begins again where it is too short
    return rows


def with_decoys(X: Any, rows: IndexArray, columns: Any = slice(None)) -> Any:
    """The columns of X, and after them the decoys of some: their values of other rows."""
    decoys = take_rows(
        X if isinstance(columns, slice) else take_columns(X, columns), rows
    )
    if issparse(X):
        return hstack([X, decoys], format=X.format)
    if hasattr(X, "iloc"):
        import pandas as pd

        named = decoys.set_axis(
            [_PREFIX + str(name) for name in decoys.columns], axis=1
        )
        return pd.concat([X, named.set_axis(X.index, axis=0)], axis=1)
    if hasattr(X, "hstack"):  # polars
        return X.hstack(decoys.rename(lambda name: _PREFIX + name))
    return np.hstack([np.asarray(X), decoys])


# -- comparing with them ---------------------------------------------------------------


def pvalues_by_decoys(
    own: FloatArray, decoys: FloatArray, n: int, *, least_mean: float = 0.0
) -> FloatArray:
    """How often a decoy is selected at least as often, in n halves, as each feature.

    The larger of two: the share of the decoys that are, and the tail of a beta-binomial distribution with the mean of
    the decoys. Its overdispersion (halves share rows, and what goes with the target by chance does so in all of them)
    is theirs plus one standard error, since few decoys show little of it. The mean is at least `least_mean`.
    """
    counts, reached = np.rint(decoys * n), np.rint(own * n)
    share = (counts[None, :] >= reached[:, None]).mean(axis=1)
    mean = max(counts.mean() / n, 0.5 / counts.size / n, least_mean)
    both = counts * (counts - 1) / (n * (n - 1))  # two halves select it
    error = both.std() / np.sqrt(len(both))
    correlation = (both.mean() + _ERRORS * error - mean**2) / (mean - mean**2 + 1e-12)
    size = 1 / np.clip(correlation, _LEAST_CORRELATION, 0.95) - 1
    tail = betabinom.sf(reached - 1, n, mean * size, (1 - mean) * size)
    return np.asarray(np.clip(np.maximum(share, tail), 0.0, 1.0))


def pvalues_by_importance(own: FloatArray, decoys: FloatArray) -> FloatArray:
    """How often a decoy is at least as important, on average over the halves, as each feature.

    It is the share of the decoys that are, (1 + #{decoys ≥ own})/(1 + #decoys). A feature above all of them has the
    exponential tail of the upper quarter of the square roots, whose mean excess is increased by its standard error;
    at least a tenth of the least share. Importances of normal errors have a lighter tail than their square roots say.
    """
    roots, reached = np.sqrt(np.maximum(decoys, 0)), np.sqrt(np.maximum(own, 0))
    n_above = (roots[None, :] >= reached[:, None]).sum(axis=1)
    share = (1 + n_above) / (1 + roots.size)
    start = np.quantile(roots, 1 - _TAIL)
    excess = roots[roots > start] - start
    if excess.size < 3:
        return np.asarray(share)
    mean = excess.mean() * (1 + _ERRORS / np.sqrt(excess.size))
    tail = excess.size / roots.size * np.exp((start - reached) / mean)
    beyond = np.clip(tail, share / _FURTHEST, share)
    return np.asarray(np.where(n_above == 0, beyond, share))

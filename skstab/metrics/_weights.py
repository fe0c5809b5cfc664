"""Measures of weights: the average correlation of two runs, of the weights or of their ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from scipy import sparse

from skstab._checks import is_choice
from skstab._matrices import sparse_ranks
from skstab._typing import FloatArray, IntArray, RandomState, RunsLike
from skstab.metrics._measure import Measure, Properties, correlation_bounds, pairwise
from skstab.metrics._tables import Weights

_BLOCK_ENTRIES = 2**20


def correlation_row_sums(weights: Weights) -> FloatArray:
    """Sum of a run's correlations with all the others.

    With u_i a row of mean 0 and norm 1, Σ_j u_i·u_j = u_i·(Σ_j u_j): O(Md), and O(nnz) for sparse rows.
    """
    standardised = _sparse_row_sums if weights.is_sparse else _dense_row_sums
    constant = _constant_rows(weights)
    return standardised(weights.matrix, constant) + _equal_constants(weights, constant)


def correlation_similarity(
    weights: Weights, first: IntArray, second: IntArray
) -> FloatArray:
    """Correlation of each first run with its second."""
    standardised = _sparse_similarity if weights.is_sparse else _dense_similarity
    constant = _constant_rows(weights)
    level = _first_column(weights)
    # As in the sums over all pairs, rows of one equal value agree fully.
    same = constant[first] & constant[second] & (level[first] == level[second])
    return np.asarray(standardised(weights.matrix, constant, first, second) + same)


def _constant_rows(weights: Weights) -> Any:
    matrix = weights.matrix
    lowest, highest = matrix.min(axis=1), matrix.max(axis=1)
    if weights.is_sparse:
        lowest, highest = lowest.toarray().ravel(), highest.toarray().ravel()
    return lowest == highest


def _equal_constants(weights: Weights, constant: Any) -> FloatArray:
    """Pairs without a correlation: two rows of one equal constant agree fully, any other such pair not at all."""
    sums = np.zeros(weights.n_runs)
    if constant.any():
        _, same, members = np.unique(
            _first_column(weights)[constant], return_inverse=True, return_counts=True
        )
        sums[constant] = members[same] - 1
    return sums


def _first_column(weights: Weights) -> FloatArray:
    column = weights.matrix[:, [0]]
    return np.asarray(column.toarray() if weights.is_sparse else column).ravel()


def _dense_row_sums(matrix: FloatArray, constant: Any) -> FloatArray:
    resultant = np.zeros(matrix.shape[1])
    for _, rows in _standardised_blocks(matrix, constant):
        resultant += rows.sum(axis=0)
    sums = np.empty(matrix.shape[0])
    for runs, rows in _standardised_blocks(matrix, constant):
        sums[runs] = rows @ resultant
    return np.asarray(sums - ~constant)


def _dense_similarity(
    matrix: FloatArray, constant: Any, first: IntArray, second: IntArray
) -> FloatArray:
    pairs = [
        _standardised_blocks(matrix[side], constant[side]) for side in (first, second)
    ]
    return np.concatenate(
        [(a * b).sum(axis=1) for (_, a), (_, b) in zip(*pairs, strict=True)]
    )


def _standardised_blocks(
    matrix: FloatArray, constant: Any
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield rows of mean 0 and norm 1 (0 for constant rows), a block at a time: no copy of the whole."""
    step = max(1, _BLOCK_ENTRIES // matrix.shape[1])
    for start in range(0, matrix.shape[0], step):
        runs = slice(start, start + step)
        rows = matrix[runs] / _scale(np.abs(matrix[runs]).max(axis=1))[:, None]
        rows -= rows.mean(axis=1, keepdims=True)
        rows[constant[runs]] = 0.0
        rows /= _scale(np.linalg.norm(rows, axis=1))[:, None]
        yield runs, rows


def _scale(size: FloatArray) -> FloatArray:
    return np.where(size > 0, size, 1.0)


def _sparse_row_sums(matrix: Any, constant: Any) -> FloatArray:
    scaled, mean = _sparse_standardised(matrix, constant)
    resultant = scaled.sum(axis=0) - mean.sum()
    result: FloatArray = scaled @ resultant - mean * resultant.sum() - ~constant
    return result


def _sparse_similarity(
    matrix: Any, constant: Any, first: IntArray, second: IntArray
) -> FloatArray:
    scaled, mean = _sparse_standardised(matrix, constant)
    product = np.asarray(scaled[first].multiply(scaled[second]).sum(axis=1)).ravel()
    return np.asarray(product - matrix.shape[1] * mean[first] * mean[second])


def _sparse_standardised(matrix: Any, constant: Any) -> tuple[Any, FloatArray]:
    """Rows of norm 1 around their mean (0 for constant rows), as sparse rows and the mean to take off each."""
    n_runs, d = matrix.shape
    lengths = np.diff(matrix.indptr)
    run = np.repeat(np.arange(n_runs), lengths)
    peak = abs(matrix).max(axis=1).toarray().ravel()
    values = matrix.data / _scale(peak)[run]
    mean = np.bincount(run, values, n_runs) / d
    # ‖w − μ‖² over the entries and over the zeros separately, to avoid differences of large numbers.
    squares = (
        np.bincount(run, (values - mean[run]) ** 2, n_runs) + (d - lengths) * mean**2
    )
    inverse_norm = np.where(constant, 0.0, 1 / _scale(np.sqrt(squares)))
    scaled = sparse.csr_array(
        (values * inverse_norm[run], matrix.indices, matrix.indptr), (n_runs, d)
    )
    return scaled, mean * inverse_norm


def dense_ranks(
    matrix: FloatArray, rng: np.random.RandomState | None = None
) -> FloatArray:
    """Ranks within each row, 1 for the smallest; ties share their average or, with `rng`, are broken at random."""
    from scipy.stats import rankdata

    if rng is None:
        return np.asarray(rankdata(matrix, axis=1), dtype=np.float64)
    order = np.lexsort((rng.random_sample(matrix.shape), matrix), axis=1)
    ranks = np.empty(matrix.shape)
    np.put_along_axis(
        ranks, order, np.arange(1.0, matrix.shape[1] + 1)[None, :], axis=1
    )
    return ranks


PEARSON = pairwise(
    correlation_row_sums,
    similarity=correlation_similarity,
    name="pearson",
    kind="weights",
    trivial=lambda weights: bool(_constant_rows(weights).all()),
    bounds=(-1.0, 1.0),
    bounds_for=correlation_bounds,
    properties=Properties(
        fully_defined=True,
        monotone=None,
        bounded=True,
        maximum=False,
        chance_corrected=True,
    ),
)


def spearman_measure(
    *, ties: Literal["average", "random"] = "average", random_state: Any = None
) -> Measure:
    """Build Spearman's measure for a given handling of ties."""
    if not is_choice(ties, "average", "random"):
        raise ValueError(f"ties must be 'average' or 'random', got {ties!r}")

    def ranked(weights: Weights) -> Weights:
        return Weights(_ranks(weights, ties, random_state))

    return pairwise(
        lambda weights: correlation_row_sums(ranked(weights)),
        similarity=lambda weights, first, second: correlation_similarity(
            ranked(weights), first, second
        ),
        name="spearman",
        kind="weights",
        trivial=lambda weights: (
            bool(_constant_rows(weights).all()) and ties == "average"
        ),
        bounds=(-1.0, 1.0),
        bounds_for=correlation_bounds,
        properties=Properties(
            fully_defined=True,
            monotone=None,
            bounded=True,
            maximum=True,
            chance_corrected=True,
        ),
    )


def _ranks(weights: Weights, ties: str, random_state: Any) -> Any:
    if ties == "random":
        from skstab._random import (
            check_rng,
        )  # here, since measures load without scikit-learn

        # Every feature gets its own rank, zeros too.
        matrix = weights.matrix.toarray() if weights.is_sparse else weights.matrix
        return dense_ranks(matrix, check_rng(random_state))
    return (
        sparse_ranks(weights.matrix)
        if weights.is_sparse
        else dense_ranks(weights.matrix)
    )


def pearson_stability(weights: RunsLike) -> float:
    """Average Pearson correlation of the weights of two runs.

    Parameters
    ----------
    weights : array-like or sparse matrix of shape (n_runs, n_features)
        The weight, score or importance of each feature in each run.

    Returns
    -------
    stability : float
        At most 1, reached when all runs are increasing linear functions of each other; at least −1/(n_runs − 1);
        0 is expected of random weights.

    Notes
    -----
    Equation (4) of [1]_ and S_W of [2]_. Two runs with the same constant weight for all features count as equal
    (1); a run with constant weights and any other one, as unrelated (0). Large weights dominate: compare
    :func:`importance_weighted_stability`.

    References
    ----------
    .. [1] Hamer, V. and Dupont, P. (2021). An importance weighted feature selection stability measure. JMLR 22.
    .. [2] Kalousis, A., Prados, J. and Hilario, M. (2007). Stability of feature selection algorithms: a study on
       high-dimensional spaces. Knowledge and Information Systems 12.

    Examples
    --------
    >>> from skstab.metrics import pearson_stability
    >>> pearson_stability([[0.5, 0.1, 0.0], [1.0, 0.2, 0.0], [0.6, 0.0, 0.3]])
    0.837...
    """
    return PEARSON(weights)


def spearman_stability(
    weights: RunsLike,
    *,
    ties: Literal["average", "random"] = "average",
    random_state: RandomState = None,
) -> float:
    """Average Spearman correlation of the weights of two runs.

    Parameters
    ----------
    weights : array-like or sparse matrix of shape (n_runs, n_features)
        The weight, score or importance of each feature in each run. Only their order within a run matters;
        pass absolute values to rank features regardless of the sign.
    ties : {"average", "random"}, default="average"
        Features with equal weights share the average of their ranks, or are ordered at random. Kalousis breaks
        ties at random because a selector of exactly k features must do so, too: many zeros then lower the stability.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of ties when `ties="random"`.

    Returns
    -------
    stability : float
        At most 1, reached when all runs rank the features in the same order; at least −1/(n_runs − 1); 0 is expected of
        random rankings.

    Notes
    -----
    S_R of [1]_. A run that gives all features the same weight gives them all the same rank: two such runs agree
    (1), such a run and another kind of run do not (0).

    References
    ----------
    .. [1] Kalousis, A., Prados, J. and Hilario, M. (2007). Stability of feature selection algorithms: a study on
       high-dimensional spaces. Knowledge and Information Systems 12.

    Examples
    --------
    >>> from skstab.metrics import spearman_stability
    >>> spearman_stability([[0.9, 0.5, 0.1], [10.0, 7.0, 2.0], [0.8, 0.1, 0.4]])
    0.666...
    """
    return spearman_measure(ties=ties, random_state=random_state)(weights)

"""Exact tests of which features are selected together: hypergeometric tails for every pair of columns of 0/1.

With M runs of which a select the one feature and b the other, the number x of those that select both has, if the two
are independent, the hypergeometric distribution of Fisher's exact test. Only pairs whose p-value can reach the level
are listed: twice the probability of x itself is a lower limit of the two-sided p-value, and rules out most of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from skstab._typing import FloatArray, IntArray

__all__ = ["PairCounts", "dense_columns", "holm", "pair_pvalues", "pairs_within"]

_CELLS = 2**21  # pairs that are looked at together


class PairCounts(NamedTuple):
    """Pairs of columns, and how many rows have either and both."""

    one: IntArray
    other: IntArray
    n_one: IntArray
    n_other: IntArray
    n_both: IntArray


def dense_columns(supports: Any, columns: IntArray) -> Any:
    """Return some columns of a table of supports as rows of zeros and ones in single precision, for products."""
    picked = supports[:, columns]
    dense = picked.toarray() if hasattr(picked, "toarray") else picked
    return np.ascontiguousarray(dense.T, dtype=np.float32)


# -- counts ------------------------------------------------------------------------------------------------------------


def pairs_within(rows: Any, level: float) -> PairCounts:
    """Count the pairs of rows of a 0/1 table whose p-value may be at most `level`."""
    counts = rows.sum(axis=1).astype(np.int64)
    parts = [
        _listed(block, counts, start, rows.shape[1], level)
        for start, block in _joint_counts(rows)
    ]
    one, other, both = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return PairCounts(one, other, counts[one], counts[other], both)


def _joint_counts(rows: Any) -> Iterator[tuple[int, Any]]:
    """Yield counts of blocks of rows with all rows from the first of the block on."""
    n = len(rows)
    step = max(1, _CELLS // max(n, 1))
    for start in range(0, max(n, 1), step):
        yield start, rows[start : start + step] @ rows[start:].T


def _listed(
    joint: Any, counts: IntArray, start: int, n_runs: int, level: float
) -> tuple[IntArray, IntArray, IntArray]:
    """Pairs of a block of counts with 2 P(X = x) ≤ level."""
    a, b = counts[start : start + len(joint), None], counts[None, start:]
    both = joint.astype(np.int64)
    likely = _log_probability(both, a, b, n_runs) > np.log(level / 2) + 1e-9
    one, other = np.nonzero(np.triu(~likely, k=1))
    return one + start, other + start, both[one, other]


def _log_probability(x: IntArray, a: IntArray, b: IntArray, m: int) -> FloatArray:
    """Log of P(X = x) = a! (m−a)! b! (m−b)! / (m! x! (a−x)! (b−x)! (m−a−b+x)!)."""
    factorial = gammaln(np.arange(1, m + 2, dtype=np.float64))
    margins = (factorial[a] + factorial[m - a] - factorial[m]) + (
        factorial[b] + factorial[m - b]
    )
    return np.asarray(
        margins
        - factorial[x]
        - factorial[a - x]
        - factorial[b - x]
        - factorial[m - a - b + x]
    )


# -- p-values ----------------------------------------------------------------------------------------------------------


def pair_pvalues(pairs: PairCounts, n_runs: int) -> FloatArray:
    """Two-sided p-values: twice the smaller tail, at most 1.

    The median of the distribution is next to its mean ab/m, so that the smaller tail, if it is below one half, is the
    one that leads away from the mean.
    """
    x, a, b = pairs.n_both, pairs.n_one, pairs.n_other
    fewer = x * n_runs < a * b
    # P(X ≥ x) with a and b is P(X' ≤ a − x) with a and m − b: one tail serves both.
    x, b = np.where(fewer, x, a - x), np.where(fewer, b, n_runs - b)
    first = np.exp(_log_probability(x, a, b, n_runs))
    return np.minimum(2 * first * _tail_over_first(x, a, b, n_runs), 1.0)


def _tail_over_first(x: IntArray, a: IntArray, b: IntArray, m: int) -> FloatArray:
    """P(X ≤ x) / P(X = x), from P(X = t − 1) / P(X = t) = t (m − a − b + t) / ((a − t + 1)(b − t + 1))."""
    total, term, open_ = np.ones(x.size), np.ones(x.size), np.arange(x.size)
    t, rest, above, beside = (
        values.astype(np.float64) for values in (x, m - a - b + x, a - x + 1, b - x + 1)
    )
    while open_.size:
        term = term * (t * rest / (above * beside))
        total[open_] += term
        left = term > 1e-17 * total[open_]
        open_, term = open_[left], term[left]
        t, rest, above, beside = (
            t[left] - 1,
            rest[left] - 1,
            above[left] + 1,
            beside[left] + 1,
        )
    return total


def holm(pvalues: FloatArray, n_tests: int) -> FloatArray:
    """Adjust the smallest of `n_tests` p-values by Holm's method, which needs none of the larger ones."""
    order = np.argsort(pvalues, kind="stable")
    factors = n_tests - np.arange(pvalues.size)
    adjusted = np.empty(pvalues.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(pvalues[order] * factors), 1.0)
    return adjusted

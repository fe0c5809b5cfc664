"""How sure one can be of scores over resamples: standard errors, and tests of differences.

Resamples share rows, so scores over them vary less than scores over data sets. Where the score is a mean over rows, the
rows are the independent units: q_i is the mean loss of row i over the resamples that left it out. Otherwise the
variance between resamples is inflated: 1/M + c in place of 1/M (Nadeau and Bengio 2003, with c calibrated).
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr, stdtr, stdtrit

from skstab._typing import FloatArray, IntArray

__all__ = [
    "OF_HALVES",
    "Difference",
    "holm",
    "mcnemar",
    "mean_losses",
    "resample_difference",
    "row_difference",
    "score_error",
]

# Variance over data sets relative to that between resamples: the usual n_test/n_train has a level of 0.002 at 5%, 0.1
# has 0.11 for the area under the curve (benchmarks/comparison.py).
_SHARED_ROWS = 0.2
# The same of halves, each scored on the other one: a pair scores every row once, as independent halves would.
OF_HALVES = 0.5
# Losses that differ by less come out of different sums of the same numbers.
_ROUNDING = 1e-12


class Difference(NamedTuple):
    """A difference of two mean scores with its standard error and degrees of freedom."""

    mean: float
    error: float
    df: float

    def pvalue(self, alternative: str = "two-sided") -> float:
        """P-value of no difference, against any difference or one above zero."""
        if self.error == 0:
            return {
                "two-sided": float(self.mean == 0),
                "greater": float(self.mean <= 0),
            }[alternative]
        t = self.mean / self.error
        return float(
            2 * stdtr(self.df, -abs(t))
            if alternative == "two-sided"
            else stdtr(self.df, -t)
        )

    def upper_end(self, level: float = 0.05) -> float:
        """One-sided upper confidence bound."""
        return float(self.mean + stdtrit(self.df, 1 - level) * self.error)

    @property
    def is_within_error(self) -> bool:
        """Whether a loss, the best score less another one, is at most its own standard error.

        Both scores are of the same resamples, so that what these have in common cancels: the error of the best score
        alone is several times as large. Without an error (a single resample) only no loss counts.
        """
        error = 0.0 if np.isnan(self.error) else self.error
        return self.mean <= error + _ROUNDING


def mean_losses(losses: FloatArray) -> FloatArray:
    """Mean loss of each row over the resamples that left it out; NaN for a row that none left out."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice", RuntimeWarning)
        return np.asarray(np.nanmean(losses, axis=0))


def _mean_error(values: FloatArray, groups: IntArray | None) -> tuple[float, float]:
    """Standard error of a mean of rows, or of rows that come in groups; and the degrees of freedom."""
    known = ~np.isnan(values)
    n, centred = int(known.sum()), (values - np.nanmean(values))[known]
    if groups is None:
        return float(
            np.sqrt(centred @ centred / (n - 1) / n)
        ) if n > 1 else np.nan, n - 1
    totals = np.bincount(np.unique(groups[known], return_inverse=True)[1], centred)
    k = len(totals)
    return float(np.sqrt(totals @ totals * k / (k - 1)) / n) if k > 1 else np.nan, k - 1


def score_error(
    scores: FloatArray, losses: FloatArray | None = None, groups: IntArray | None = None
) -> float:
    """Standard error of a mean score as an estimate for other data sets of the same size."""
    if losses is not None and not np.isnan(losses).all():
        return _mean_error(mean_losses(losses), groups)[0]
    known = scores[~np.isnan(scores)]
    if known.size < 2:
        return np.nan
    return float(np.sqrt(1 / known.size + _SHARED_ROWS) * known.std(ddof=1))


def row_difference(
    a: FloatArray, b: FloatArray, groups: IntArray | None = None
) -> Difference:
    """Difference of mean losses b − a, that is of the scores a − b, over the rows that both left out."""
    differences = mean_losses(b - a)
    error, df = _mean_error(differences, groups)
    return Difference(float(np.nanmean(differences)), error, df)


def resample_difference(
    a: FloatArray, b: FloatArray, *, shared: float = _SHARED_ROWS
) -> Difference:
    """Difference of mean scores a − b over resamples, with the variance 1/M + shared (1/(M − 1) for M folds)."""
    differences = (a - b)[~np.isnan(a - b)]
    m = len(differences)
    if m < 2:
        return Difference(float(differences.mean()) if m else np.nan, np.nan, m - 1)
    error = np.sqrt(1 / m + shared) * np.std(differences, ddof=1)
    return Difference(float(differences.mean()), float(error), m - 1)


def mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided mid-p-value for the rows that only one of two classifiers predicted correctly.

    Twice the smaller tail, of which the probability of the outcome itself counts half (Fagerland, Lydersen and Laake
    2013): the exact test has less than its level.
    """
    n, fewer = only_a + only_b, min(only_a, only_b)
    if n == 0:
        return 1.0
    below = bdtr(fewer - 1, n, 0.5) if fewer else 0.0
    at = bdtr(fewer, n, 0.5) - below
    return float(min(1.0, 2 * below + at))


def holm(pvalues: Any) -> FloatArray:
    """Adjust p-values for multiplicity after Holm."""
    order = np.argsort(pvalues)
    steps = np.arange(len(pvalues), 0, -1)
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(pvalues[order] * steps))
    return adjusted

"""Two more measures of sets: Cohen's kappa of two runs, and the entropy of how often features were chosen."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from skstab._typing import FloatArray, RunsLike
from skstab.metrics._frequency import divide, frequency_measure, last_step
from skstab.metrics._measure import Properties, correlation_bounds
from skstab.metrics._pairwise import line_measure, ratio
from skstab.metrics._tables import Supports


def novovicova(supports: Supports) -> float:
    """Σ_f c_f log c_f / (N log M), N = Σ_f c_f."""
    counts = supports.counts.astype(np.float64)
    return float(
        _novovicova(xlogy(counts, counts).sum(), counts.sum(), supports.n_runs)
    )


def novovicova_without_each(supports: Supports) -> FloatArray:
    """Novovičová's measure of the other runs, for each run."""
    counts = supports.counts.astype(np.float64)
    leaving = supports.per_run_sum(last_step(counts))
    return _novovicova(
        xlogy(counts, counts).sum() - leaving,
        counts.sum() - supports.sizes,
        supports.n_runs - 1,
    )


def _novovicova(c_log_c: FloatArray, selected: FloatArray, n_runs: int) -> FloatArray:
    return divide(c_log_c, selected * np.log(n_runs), otherwise=1.0)


# (o − e) / (1 − e) = (r − k_i k_j / d) / ((k_i (d − k_j) + k_j (d − k_i)) / 2d). It is the phi coefficient times
# 1 / cosh of half the difference of two log odds: a product of Gram matrices, so that its average has the same bounds.
KAPPA = line_measure(
    "kappa",
    ratio(lambda a, b, d: (a * (d - b) + b * (d - a)) / (2 * d), corrected=True),
    bounds=(-1.0, 1.0),
    bounds_for=correlation_bounds,
    properties=Properties(
        fully_defined=True,
        monotone=True,
        bounded=True,
        maximum=True,
        chance_corrected=True,
        corrected_any_sizes=True,
    ),
    asymptotic="constant size",
)
NOVOVICOVA = frequency_measure(
    "novovicova",
    novovicova,
    novovicova_without_each,
    bounds=(0.0, 1.0),
    varies_with_runs=True,
    properties=Properties(
        fully_defined=True,
        monotone=False,
        bounded=True,
        maximum=True,
        chance_corrected=False,
    ),
)


def kappa_stability(supports: RunsLike) -> float:
    """Average of Cohen's kappa of two runs.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        At most 1, reached only when all runs select the same features; at least −1/(n_runs − 1); 0 is expected of
        random selections.

    Notes
    -----
    (o − e) / (1 − e), with o the share of the features on which two runs agree and e the share expected by chance from
    the two sizes [1]_. When all runs select equally many features it equals :func:`nogueira_stability`, which is the
    kappa of Fleiss.

    References
    ----------
    .. [1] Carletta, J. (1996). Assessing agreement on classification tasks: the kappa statistic. Computational
       Linguistics 22.

    Examples
    --------
    >>> from skstab.metrics import kappa_stability
    >>> kappa_stability([[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 1, 1, 0, 0]])
    0.465...
    """
    return KAPPA(supports)


def novovicova_stability(supports: RunsLike) -> float:
    """Novovičová's measure: how uneven the selection frequencies are, as an entropy.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        Between 0, when no feature is selected twice, and 1, which is reached only when all runs select the same
        features. Not corrected for chance: larger sets score higher.

    Notes
    -----
    Σ_f c_f log₂ c_f / (N log₂ M) over the selected features, with c_f the number of runs that selected feature f and N
    the sum of all c_f [1]_.

    References
    ----------
    .. [1] Novovičová, J., Somol, P. and Pudil, P. (2009). A new measure of feature selection algorithms' stability.
       IEEE International Conference on Data Mining Workshops.

    Examples
    --------
    >>> from skstab.metrics import novovicova_stability
    >>> novovicova_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    0.710...
    """
    return NOVOVICOVA(supports)

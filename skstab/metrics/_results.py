"""What intervals and tests return, and stability in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from skstab._checks import check_number
from skstab._typing import FloatArray

About: TypeAlias = Literal["resampling error", "other data"]


@dataclass(frozen=True)
class StabilityInterval:
    """A stability with an interval, and what the interval is about.

    Parameters
    ----------
    estimate : float
        The stability.
    low, high : float
        Ends of the interval; NaN where there is none.
    standard_error : float
        Standard error of the estimate; NaN for the conformal method, which has none.
    method : str
        How the interval was made.
    confidence_level : float
        Share of such intervals that should hold the true value.
    about : {"resampling error", "other data"}, default="resampling error"
        Whether the true value is what infinitely many resamples of *this data set* would show, or what independent
        data sets of the same population would.

    Examples
    --------
    >>> from skstab.metrics import StabilityInterval
    >>> interval = StabilityInterval(0.56, 0.52, 0.604, 0.02, "jackknife", 0.95)
    >>> print(interval)
    0.56 (95% interval 0.52 to 0.60, resampling error)
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    method: str
    confidence_level: float
    about: About = field(default="resampling error", kw_only=True)

    def __str__(self) -> str:
        if np.isnan([self.low, self.high]).any():
            return f"{self.estimate:.2f} (no interval)"
        level = f"{100 * self.confidence_level:g}%"
        return f"{self.estimate:.2f} ({level} interval {self.low:.2f} to {self.high:.2f}, {self.about})"


@dataclass(frozen=True)
class StabilityTest:
    """A test of a difference in stability, with the interval of that difference.

    Parameters
    ----------
    statistic : float
        The difference over its standard error; infinite where that is 0 and there is a difference.
    pvalue : float
        Probability, if there were no difference, of a statistic at least as large.
    difference : float
        The difference in stability.
    low, high : float
        Ends of the interval of the difference.

    Examples
    --------
    >>> from skstab.metrics import StabilityTest, compare_stability
    >>> a = [[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]]
    >>> b = [[1, 0, 0, 1], [0, 1, 0, 1], [1, 1, 0, 0]]
    >>> isinstance(compare_stability(a, b), StabilityTest)
    True
    """

    statistic: float
    pvalue: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class RandomSelectionTest:
    """A stability against that of random selections of the same sizes.

    Parameters
    ----------
    stability : float
        The stability of the runs.
    expected : float
        Mean stability of the random selections.
    pvalue : float
        Probability of a stability at least as large if each run selected its features at random.
    null_distribution : ndarray of shape (n_resamples,)
        The stabilities of the random selections.

    Examples
    --------
    >>> from skstab.metrics import RandomSelectionTest, random_selection_test
    >>> runs = [[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]]
    >>> test = random_selection_test(runs, random_state=0)
    >>> isinstance(test, RandomSelectionTest)
    True
    >>> print(test)
    0.33, random selections of the same sizes 0.00 (p = 0.36)
    """

    stability: float
    expected: float
    pvalue: float
    null_distribution: FloatArray = field(repr=False, compare=False)

    def __str__(self) -> str:
        expected = round(self.expected, 2) + 0.0  # no negative zero
        return f"{self.stability:.2f}, random selections of the same sizes {expected:.2f} (p = {self.pvalue:.2g})"


def stability_in_words(value: float) -> str:
    """Describe a stability by the scale in common use: poor, intermediate to good, or excellent.

    Parameters
    ----------
    value : float
        A stability by the nogueira measure, or one equal to it, at most 1.

    Returns
    -------
    words : {"poor", "intermediate to good", "excellent"}
        "poor" below 0.4, "excellent" above 0.75.

    Notes
    -----
    Table 3 of [1]_, which takes over the scale of Fleiss et al. [2]_ for the agreement of raters beyond chance. It was
    stated for the nogueira measure, which is Fleiss' kappa, and so holds for `kuncheva`, and for `phi`, `wald` and
    `npog` when all runs select equally many features. For measures that are not corrected for chance, such as
    `jaccard`, the words mean nothing: random selections of most features would be called excellent. It is a
    convention, not a test: 0.4 is not a threshold below which a selection is useless.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.
    .. [2] Fleiss, J. L., Levin, B. and Paik, M. C. (2003). Statistical methods for rates and proportions. Wiley.

    Examples
    --------
    >>> from skstab.metrics import stability_in_words
    >>> stability_in_words(0.56)
    'intermediate to good'
    """
    check_number(value, "value", "a stability of at most 1", most=1)
    if value < 0.4:
        return "poor"
    return "excellent" if value > 0.75 else "intermediate to good"

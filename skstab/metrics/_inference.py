"""How precise a stability is: intervals and tests over the finite number of runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from skstab._checks import (
    check_bool,
    check_int,
    check_level,
    check_number,
    is_choice,
    is_int,
)
from skstab._typing import FloatArray, IntArray, MeasureLike, RandomState, RunsLike
from skstab.metrics._frequency import nogueira, totals
from skstab.metrics._measure import Measure
from skstab.metrics._registry import get_measure
from skstab.metrics._results import StabilityInterval, StabilityTest
from skstab.metrics._tables import Supports, Table
from skstab.metrics._turns import warn_where_too_narrow

IntervalMethod: TypeAlias = Literal["jackknife", "asymptotic", "conformal", "bootstrap"]
TestMethod: TypeAlias = Literal["jackknife", "asymptotic"]
Alternative: TypeAlias = Literal["greater", "less", "two-sided"]


@dataclass(frozen=True)
class _Influence:
    """An estimate and what each run contributes to it, scaled so that their sum of squares is its variance."""

    estimate: float
    contributions: FloatArray
    df: float

    @property
    def standard_error(self) -> float:
        return float(np.sqrt(self.contributions @ self.contributions))


# -- the spread of an estimate -----------------------------------------------------------------------------------------


def _jackknife(measure: Measure, table: Table) -> _Influence:
    """Leave one run out: variance (M−1)/M Σ (J_i − J̄)², Student's t with M−1 degrees of freedom."""
    m = table.n_runs
    _require_runs(table, 3, "jackknife")
    values = measure.leave_one_out(table)
    contributions = np.sqrt((m - 1) / m) * (values - values.mean())
    return _Influence(measure.value(table), contributions, m - 1)


def _asymptotic(measure: Measure, table: Table) -> _Influence:
    """Theorem 7 of nogueira2018: variance 4/M² Σ (Φ_(i) − mean)², normal."""
    supports = _require_asymptotic(measure, table)
    m, d = supports.n_runs, supports.n_features
    sizes, mean = supports.sizes / d, supports.sizes.mean() / d
    estimate = float(nogueira(totals(supports)))
    agreement = supports.per_run_sum(supports.counts) / (m * d) - sizes * mean
    chance = estimate / 2 * (2 * mean * sizes - sizes - mean + 1)
    spread = mean * (1 - mean)
    values = (agreement + chance) / spread if spread else np.zeros(m)
    return _Influence(estimate, 2 / m * (values - values.mean()), np.inf)


def _require_asymptotic(measure: Measure, table: Table) -> Supports:
    if measure.asymptotic == "never" or not isinstance(table, Supports):
        raise ValueError(
            f"method='asymptotic' is derived for the nogueira measure and those equal to it, not for {measure.name!r}; "
            "use method='jackknife'"
        )
    if measure.asymptotic == "constant size" and not table.is_constant_size:
        raise ValueError(
            f"method='asymptotic' holds for {measure.name!r} only when all runs select equally many features, got "
            f"sizes from {table.sizes.min()} to {table.sizes.max()}; use method='jackknife'"
        )
    return table


def _require_comparable(measure: Measure, method: str) -> None:
    if measure.varies_with_runs:
        raise ValueError(
            f"method={method!r} compares subsets or repeats of the runs, but the expected value of {measure.name!r} "
            "depends on how many different runs there are; use method='jackknife'"
        )


def _require_runs(table: Table, least: int, method: str) -> None:
    if table.n_runs < least:
        raise ValueError(
            f"method={method!r} needs at least {least} runs, got {table.n_runs}"
        )


INFLUENCES: dict[str, Callable[[Measure, Table], _Influence]] = {
    "jackknife": _jackknife,
    "asymptotic": _asymptotic,
}


def quantile(p: float, df: float) -> float:
    """Quantile of Student's t, or of the normal distribution for infinitely many degrees of freedom."""
    return float(ndtri(p) if np.isinf(df) else stdtrit(df, p))


def _cdf(x: float, df: float) -> float:
    return float(ndtr(x) if np.isinf(df) else stdtr(df, x))


# -- intervals from the values of many subsets of the runs -------------------------------------------------------------


def conformal_ends(values: FloatArray, alpha: float) -> tuple[float, float] | None:
    """Ends of the transductive conformal interval of lopez2024, without a grid of trial values.

    A trial value m + δ, δ > 0, is at least as nonconforming as the calibration value m + a_i once δ exceeds a_i (if
    a_i > 0) or −ρ a_i; the t-th largest of these is where the p-value falls to alpha. None when no value is that
    nonconforming.
    """
    c = values.size
    t = min(
        int(np.floor(alpha * (c + 1) + 1e-9)), c
    )  # 0.1 × 1000 must count as 100; no p-value is above 1
    if t == 0:
        return None
    centre = float(values.mean())
    a, rho = values - centre, (c + 1) / (c - 1)
    up = np.sort(np.where(a > 0, a, -rho * a))[-t]
    down = np.sort(np.where(a < 0, -a, rho * a))[-t]
    return centre - float(down), centre + float(up)


def _conformal(
    measure: Measure,
    table: Table,
    level: float,
    rng: Any,
    n_resamples: int,
    size: int | None = None,
) -> tuple[float, float, float]:
    values = calibration_values(measure, table, rng, n_resamples, size)
    low, high = conformal_ends(values, 1 - level) or measure.range(
        size or _subset_size(table.n_runs)
    )
    return low, high, np.nan


def calibration_values(
    measure: Measure,
    table: Table,
    rng: Any,
    n_resamples: int,
    size: int | None = None,
) -> FloatArray:
    """Stabilities of the subsets of the runs that a conformal interval is calibrated with."""
    _require_comparable(measure, "conformal")
    _require_runs(table, 3, "conformal")
    if not (size is None or is_int(size, 2, table.n_runs - 1)):
        raise ValueError(
            f"subset_size must be None or an int from 2 to {table.n_runs - 1}, one less than the runs, got {size!r}"
        )
    size = size or _subset_size(table.n_runs)
    subsets = _subsets(table.n_runs, size, n_resamples, rng)
    return _values_of(measure, table, subsets)


def _subset_size(n_runs: int) -> int:
    """κ, where C(M, κ) is largest, the larger of two."""
    return (n_runs + 1) // 2


def _subsets(n_runs: int, size: int, most: int, rng: Any) -> IntArray:
    """All subsets of the runs of this size, or `most` of them at random."""
    if comb(n_runs, size) <= most:
        return np.array(list(combinations(range(n_runs), size)))
    return np.argsort(rng.random_sample((most, n_runs)), axis=1)[:, :size]


def _bootstrap(
    measure: Measure, table: Table, level: float, rng: Any, n_resamples: int
) -> tuple[float, float, float]:
    """Percentiles of the bootstrap of the runs, centred at the estimate and expanded for few runs.

    A run drawn twice agrees with itself, which raises all bootstrap values: their spread is informative, not their
    location. Draws of M runs vary too little by (M−1)/M, and the normal percentile has too thin tails: the percentile
    is that of Student's t times √(M/(M−1)) (Hesterberg 2015, section 5.2).
    """
    m = table.n_runs
    _require_runs(table, 3, "bootstrap")
    values = _values_of(measure, table, rng.randint(m, size=(n_resamples, m)))
    tail = ndtr(np.sqrt(m / (m - 1)) * quantile((1 - level) / 2, m - 1))
    low, high = measure.value(table) + np.quantile(
        values - values.mean(), [tail, 1 - tail]
    )
    return float(low), float(high), float(values.std(ddof=1))


def _values_of(measure: Measure, table: Table, rows: IntArray) -> FloatArray:
    if measure.of_subsets is not None:
        return np.clip(measure.of_subsets(table, rows), *measure.range(rows.shape[1]))
    return np.array([measure.value(table.take(runs)) for runs in rows])


RESAMPLED: dict[str, Callable[..., tuple[float, float, float]]] = {
    "conformal": _conformal,
    "bootstrap": _bootstrap,
}

_NARROW_INTERVAL = (
    "the interval of method={!r} can be too narrow, for any number of runs (in simulations, intervals of 90% held the "
    "true value in as few as 70% of cases); use method='conformal'"
)
_NARROW_TEST = (
    "the test can reject too often (in simulations, at 5% in up to 16% of cases for alternative='greater', 29% for the "
    "others); look at the interval of stability_interval(..., method='conformal') instead"
)

# -- public ------------------------------------------------------------------------------------------------------------


def stability_interval(
    data: RunsLike,
    *,
    measure: MeasureLike = "nogueira",
    method: IntervalMethod = "jackknife",
    confidence_level: float = 0.95,
    random_state: RandomState = None,
    n_resamples: int = 1000,
    subset_size: int | None = None,
) -> StabilityInterval:
    """Interval for the stability that infinitely many runs would show.

    Parameters
    ----------
    data : array-like or sparse matrix of shape (n_runs, n_features)
        What each run chose: supports, weights or rankings, as the measure requires.
    measure : str, callable or measure, default="nogueira"
        A name out of :func:`measure_table`, or anything that :func:`get_measure` accepts.
    method : {"jackknife", "asymptotic", "conformal", "bootstrap"}, default="jackknife"
        - "jackknife" leaves out one run at a time; for every measure, at least 3 runs; close to its level from 5
          runs on.
        - "asymptotic" is theorem 7 of [1]_, for the nogueira measure and those equal to it; too narrow below about
          30 runs.
        - "conformal" takes the stabilities of all halves of the runs, or of `n_resamples` random ones, as calibration
          set [2]_; at least 3 runs. Where there are too few halves for the level (below 5 runs
          at 90%), it is the whole range of the measure.
        - "bootstrap" draws the runs with replacement and takes percentiles of the values, centred at the estimate and
          expanded for few runs [3]_; at least 3 runs.

        Where nearly all variation between the runs is that of two features that take turns, the first two are too
        narrow for any number of runs, and a UserWarning says so; "conformal" keeps its level there when each of them
        is selected in about half of the runs.

        The last two do not apply to the measures whose expected value depends on the number of runs: cwrel, davis,
        guzman, krizek, lausser and novovicova.
    confidence_level : float, default=0.95
        Share of such intervals that should contain the true value.
    random_state : int, RandomState instance or None, default=None
        Seed of the subsets or draws of "conformal" and "bootstrap".
    n_resamples : int, default=1000
        Number of bootstrap draws, and of subsets beyond which "conformal" takes random ones.
    subset_size : int, default=None
        Number of runs in each subset of "conformal", the κ of [2]_; None takes half of the runs, of which there are
        most.

    Returns
    -------
    interval : StabilityInterval
        With attributes `estimate`, `low`, `high`, `standard_error`, `method`, `confidence_level` and `about`, which is
        "resampling error". It is clipped to the range of the measure.

    Notes
    -----
    The interval is about the finite number of resamples *of this data set*. Resamples share rows, so it says nothing
    about other data sets: :func:`replication_stability` does. When all runs agree its width is zero: the observed runs
    contain no information on how often one of many more might differ.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.
    .. [2] López-De-Castro, M., García-Galindo, A. and Armañanzas, R. (2024). Conformal stability measure for feature
       selection algorithms. COPA, PMLR 230.
    .. [3] Hesterberg, T. (2015). What teachers should know about the bootstrap. The American Statistician 69.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.metrics import stability_interval
    >>> rng = np.random.default_rng(0)
    >>> supports = rng.random((20, 100)) < np.repeat([0.9, 0.05], [10, 90])
    >>> print(stability_interval(supports, confidence_level=0.9))
    0.56 (90% interval 0.52 to 0.60, resampling error)
    """
    chosen, table = checked(data, measure, "data")
    level = check_level(confidence_level)
    if is_choice(method, *INFLUENCES):
        found = INFLUENCES[method](chosen, table)
        warn_where_too_narrow(table, what=_NARROW_INTERVAL.format(method))
        error = found.standard_error
        half = quantile((1 + level) / 2, found.df) * error
        estimate, low, high = (
            found.estimate,
            found.estimate - half,
            found.estimate + half,
        )
    elif is_choice(method, *RESAMPLED):
        _require_comparable(chosen, method)
        rng, n_resamples = check_seed(random_state), check_resamples(n_resamples)
        size = {"size": subset_size} if method == "conformal" else {}
        low, high, error = RESAMPLED[method](
            chosen, table, level, rng, n_resamples, **size
        )
        estimate = chosen.value(table)
    else:
        raise ValueError(
            f"method must be one of {', '.join([*INFLUENCES, *RESAMPLED])}; got {method!r}"
        )
    lowest, highest = chosen.range(table.n_runs)
    low, high = max(low, lowest), min(high, highest)
    return StabilityInterval(estimate, low, high, error, method, level)


def stability_test(
    data: RunsLike,
    threshold: float,
    *,
    measure: MeasureLike = "nogueira",
    method: TestMethod = "jackknife",
    alternative: Alternative = "greater",
    confidence_level: float = 0.95,
) -> StabilityTest:
    """Test whether the stability exceeds a threshold.

    Parameters
    ----------
    data : array-like or sparse matrix of shape (n_runs, n_features)
        What each run chose: supports, weights or rankings, as the measure requires.
    threshold : float
        The stability of the null hypothesis.
    measure : str, callable or measure, default="nogueira"
        A name out of :func:`measure_table`, or anything that :func:`get_measure` accepts.
    method : {"jackknife", "asymptotic"}, default="jackknife"
        Where the standard error comes from, see :func:`stability_interval`; "asymptotic" is the test of [1]_.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether the selection is *more* stable than the threshold, less stable, or different.
    confidence_level : float, default=0.95
        Level of the two-sided interval of the difference.

    Returns
    -------
    test : StabilityTest
        With attributes `statistic`, `pvalue`, `difference` (stability less threshold) and its interval `low`, `high`.
        Where the runs do not vary, any difference has an infinite `statistic`.

    Notes
    -----
    Where nearly all variation between the runs is that of two features that take turns, the test rejects too
    often, and a UserWarning says so: see :func:`stability_interval`.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.metrics import stability_test
    >>> rng = np.random.default_rng(0)
    >>> supports = rng.random((20, 100)) < np.repeat([0.9, 0.05], [10, 90])
    >>> stability_test(supports, threshold=0.4).pvalue < 0.001
    True
    """
    check_number(threshold, "threshold")
    chosen, table = checked(data, measure, "data")
    found = _influences(method)(chosen, table)
    level = check_level(confidence_level)
    warn_where_too_narrow(table, what=_NARROW_TEST)
    difference = found.estimate - threshold
    return difference_test(
        difference,
        found.standard_error,
        found.df,
        measure=chosen,
        alternative=alternative,
        level=level,
    )


def compare_stability(
    a: RunsLike,
    b: RunsLike,
    *,
    measure: MeasureLike = "nogueira",
    paired: bool = False,
    method: TestMethod = "jackknife",
    alternative: Alternative = "two-sided",
    confidence_level: float = 0.95,
) -> StabilityTest:
    """Test whether two selectors are equally stable.

    Parameters
    ----------
    a, b : array-like or sparse matrix of shape (n_runs, n_features)
        What each run of either selector chose.
    measure : str, callable or measure, default="nogueira"
        A name out of :func:`measure_table`, or anything that :func:`get_measure` accepts.
    paired : bool, default=False
        Whether the i-th run of both used the same resample. What the resamples have in common then cancels in the
        difference, which makes the test more powerful.
    method : {"jackknife", "asymptotic"}, default="jackknife"
        Where the standard errors come from, see :func:`stability_interval`; "asymptotic" unpaired is the test of [1]_.
    alternative : {"greater", "less", "two-sided"}, default="two-sided"
        Whether `a` is different from `b` in stability, more stable ("greater") or less stable.
    confidence_level : float, default=0.95
        Level of the two-sided interval of the difference.

    Returns
    -------
    test : StabilityTest
        With attributes `statistic`, `pvalue`, `difference` (stability of `a` less that of `b`) and its interval `low`,
        `high`. Where the runs do not vary, any difference has an infinite `statistic`.

    See Also
    --------
    compare_replication : The same for other data.

    Notes
    -----
    It is about resamples of this data set, as infinitely many of them would show, and not about other data: there the
    selector that is less stable here can be the more stable one. Stabilities of bootstraps are biased differently for
    different selectors. In `benchmarks/replication.py` a selector with a stability of 0.89 over data sets was
    significantly less stable on bootstraps than one with 0.77 in 76 of 80 data sets.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.metrics import compare_stability
    >>> rng = np.random.default_rng(0)
    >>> a = rng.random((20, 100)) < np.repeat([0.9, 0.05], [10, 90])
    >>> b = rng.random((20, 100)) < np.repeat([0.7, 0.05], [10, 90])
    >>> test = compare_stability(a, b)
    >>> test.difference > 0, test.pvalue < 0.001
    (True, True)
    """
    chosen, table_a = checked(a, measure, "a")
    table_b = chosen.check(b, name="b")
    influence = _influences(method)
    x, y = influence(chosen, table_a), influence(chosen, table_b)
    if check_bool(paired, "paired"):
        if table_a.n_runs != table_b.n_runs:
            raise ValueError(
                f"paired=True needs as many runs in a as in b, got {table_a.n_runs} and {table_b.n_runs}"
            )
        error, df = float(np.linalg.norm(x.contributions - y.contributions)), x.df
    else:
        error = float(np.hypot(x.standard_error, y.standard_error))
        df = _welch_df(x, y)
    level = check_level(confidence_level)
    warn_where_too_narrow(table_a, table_b, what=_NARROW_TEST)
    return difference_test(
        x.estimate - y.estimate,
        error,
        df,
        measure=chosen,
        alternative=alternative,
        level=level,
    )


def _welch_df(x: _Influence, y: _Influence) -> float:
    """Degrees of freedom of a sum of two variances, after Welch and Satterthwaite."""
    vx, vy = x.standard_error**2, y.standard_error**2
    below = vx**2 / x.df + vy**2 / y.df
    return float((vx + vy) ** 2 / below) if below > 0 else np.inf


def difference_test(
    difference: float,
    error: float,
    df: float,
    *,
    measure: Measure,
    alternative: Alternative,
    level: float,
) -> StabilityTest:
    # Without spread all runs agree: any difference is then certain, and no difference is no evidence.
    certain = np.copysign(np.inf, difference) if difference else 0.0
    statistic = difference / error if error > 0 else float(certain)
    signed = statistic if measure.higher_is_better else -statistic
    pvalues = {
        "greater": _cdf(-signed, df),
        "less": _cdf(signed, df),
        "two-sided": min(1.0, 2 * _cdf(-abs(signed), df)),
    }
    if not is_choice(alternative, *pvalues):
        raise ValueError(
            f"alternative must be one of {', '.join(pvalues)}; got {alternative!r}"
        )
    half = quantile((1 + level) / 2, df) * error
    return StabilityTest(
        statistic,
        pvalues[alternative],
        difference,
        difference - half,
        difference + half,
    )


def checked(data: Any, measure: Any, name: str) -> tuple[Measure, Table]:
    """Look the measure up and validate the data for it."""
    chosen = get_measure(measure)
    return chosen, chosen.check(data, name=name)


def _influences(method: str) -> Callable[[Measure, Table], _Influence]:
    if not is_choice(method, *INFLUENCES):
        raise ValueError(
            f"method must be one of {', '.join(INFLUENCES)}; got {method!r}"
        )
    return INFLUENCES[method]


def check_resamples(n_resamples: int) -> int:
    return check_int(n_resamples, "n_resamples", least=10)


def check_seed(random_state: Any) -> Any:
    from skstab._random import (
        check_rng,
    )  # here, since measures load without scikit-learn

    return check_rng(random_state)

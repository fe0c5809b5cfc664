"""Stability over other data sets, from pairs of disjoint halves of one.

The two halves of a pair share no row: they are independent samples of half the size, so the similarity *within* pairs
is unbiased for the stability over data sets of that size. Different pairs halve the same rows, so the spread between
pairs understates the spread between data sets. It has two parts. The similarity of two complementary halves is
symmetric in them, so that it shows the effects of the split of even order alone. What differs most between data sets
is of odd order: which features stand near their threshold. A half deviates from the data set as the data set does from
the population, so this shows in how much more typical one half of a pair is than the other. The constants are
calibrated by simulation, not derived: benchmarks/other_data.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skstab._checks import check_level, naming
from skstab._typing import FloatArray, MeasureLike, RunsLike
from skstab.metrics._inference import checked, difference_test, quantile
from skstab.metrics._measure import Measure, PairValues
from skstab.metrics._pairwise import overlap
from skstab.metrics._results import StabilityInterval, StabilityTest
from skstab.metrics._tables import Supports, Table

_LEAST_PAIRS = 3
# Variance over data sets relative to the sum of its even and odd parts between halves, and what it is at least.
_OF_PARTS, _AT_LEAST = 0.35, 0.0002
# The last doubling of the rows, of which so much comes again, within limits; and what is not known about it.
_OF_LAST_DOUBLING, _MOST_RISE, _OF_DOUBLING = 0.75, 2.5, 0.006
_MARGIN = 0.1  # of the scale of an arcsine, beyond 0 and 1


def replication_stability(
    data: RunsLike, *, measure: MeasureLike = "nogueira", confidence_level: float = 0.95
) -> StabilityInterval:
    """Stability over other data sets of half the size, from pairs of disjoint halves.

    It answers whether an independent sample would have led to the same features, and not how well resamples of this
    sample agree, which :func:`stability_interval` does.

    Parameters
    ----------
    data : array-like or sparse matrix of shape (2 · n_pairs, n_features), or runs
        What each run chose: supports, weights or rankings, as the measure requires. Rows 2b and 2b + 1 are the two
        halves of pair b, as :class:`~skstab.model_selection.ComplementaryPairsSplit` orders them; at least 3 pairs.
        :class:`~skstab.runs.Runs`, and what holds them, know their pairs; a pair of which a run failed is left out.
    measure : str, callable or measure, default="nogueira"
        `nogueira`, `importance_weighted`, `effective` or any measure that is an average over pairs of runs; a name out
        of :func:`measure_table`, or what :func:`get_measure` returned.
    confidence_level : float, default=0.95
        Share of such intervals that should hold the true value.

    Returns
    -------
    interval : StabilityInterval
        Its method is "replication", and it is about "other data". It is clipped to the range of the measure.

    See Also
    --------
    full_size_interval : The interval for data sets as large as this one.
    stability_interval : How well resamples of this data set agree.

    Notes
    -----
    Only the two runs of a pair are compared. The same runs compared with each other over all pairs share rows, and
    overstate the stability over data sets by up to 0.2 (`benchmarks/other_data.py`).

    With a_b the overlap and s_b the mean size of the two sets of pair b, A and K their means over B pairs, and
    v = K − K²/d, the `nogueira` measure is Φ̂ = (A − K²/d) / v. Each pair has a value g_b: its similarity for an average
    over pairs, the influence value for `nogueira`, the jackknife's pseudo-value for the others. The variance over data
    sets is made of two parts. E = var(g) is the even one. The odd one, O, is the mean over pairs of (u − u')²: u is
    how typical a half is, the mean of its similarities with the halves of other pairs or, for measures that are no
    such mean, what corresponds to it: u − u' is (2B − 1)/2 times the difference of what the measure of all 2B halves
    is without the one and without the other.

    The interval is taken on the scale z(x) = asin √((x + 0.1) / 1.2), on which the error varies little with x:
    z(Φ̂) ± t · √(0.35 (E + O) z'(Φ̂)² + 0.0002), Student's t with B − 1 degrees of freedom, with the ends
    taken back to the scale of x. The 0.35 is calibrated by simulation, not derived.

    B pairs that are all equally similar do not show that others would be: with a probability of 1 − confidence_level
    all B agree even where a share p = 1 − (1 − confidence_level)^(1/B) of pairs differs. For sets, √E and √O are
    therefore at least the deviation that a share p of pairs with one exchanged feature would cause. Halves that all
    select nothing, or everything, tell nothing about other data: the interval is then the whole range of the measure,
    and its standard error NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.metrics import replication_stability
    >>> rng = np.random.default_rng(0)
    >>> halves = rng.random((32, 100)) < np.repeat([0.9, 0.05], [10, 90])
    >>> print(replication_stability(halves, confidence_level=0.9))
    0.60 (90% interval 0.47 to 0.73, other data)
    """
    chosen, table = checked(_in_pairs(data, "data"), measure, "data")
    level = check_level(confidence_level)
    halves = _Halves.of(chosen, table, "data", level)
    chosen.warn_if_trivial(table, halves.estimate)
    return halves.interval(
        halves.estimate, _AT_LEAST, chosen.range(2), "replication", level
    )


def full_size_interval(
    whole: RunsLike,
    halves: RunsLike,
    *,
    quarters: RunsLike | None = None,
    measure: MeasureLike = "nogueira",
    confidence_level: float = 0.95,
) -> StabilityInterval:
    """Stability over other data sets of the same size: what halves show, continued to twice their size.

    Parameters
    ----------
    whole : array-like or sparse matrix of shape (n_runs, n_features), or runs
        What runs on bootstraps of the whole data set chose.
    halves : array-like or sparse matrix of shape (2 · n_pairs, n_features), or runs
        What runs on pairs of disjoint halves chose, as in :func:`replication_stability`.
    quarters : array-like or sparse matrix of shape (2 · n_pairs, n_features), or runs, default=None
        What runs on pairs of disjoint quarters of the rows chose: they show how much the last doubling gave.
    measure : str, callable or measure, default="nogueira"
        A measure that :func:`replication_stability` accepts.
    confidence_level : float, default=0.95
        Share of such intervals that should hold the true value.

    Returns
    -------
    interval : StabilityInterval
        Its method is "full size", and it is about "other data". It is clipped to the range of the measure.

    See Also
    --------
    replication_stability : The stability over data sets of half the size, without bias.

    Notes
    -----
    No data set holds two independent samples of its own size. The noise of a bootstrap adds to that of the data, as if
    their variance were double, so that the stability Φ̃ of bootstraps can be far too low (by 0.4 for a threshold on
    significance), and too high where hardly anything is stable. A sensible selector does not become less stable with
    more rows, so that bootstraps below the halves show their own bias. With Φ̂ the stability of halves and Φ̂₄ that of
    quarters, halves are continued to M, the larger one of 2 Φ̂ / (1 + Φ̂) (Spearman and Brown) and
    logit⁻¹(logit Φ̂ + 0.75 Δ), where Δ = logit Φ̂ − logit Φ̂₄ is what the last doubling gave, within [0, 2.5], and 0
    without quarters. The estimate is M, or (M + Φ̃) / 2 where Φ̃ is above Φ̂. The interval is that of
    :func:`replication_stability` around it, with 0.006 in place of 0.0002. The constants are calibrated by simulation.

    It is least reliable where a penalty is so strict that halves select hardly anything, where one to three of hundreds
    of features are taken, and where the stability rises steeply from half of the rows to all of them: see
    `benchmarks/RESULTS.md`.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.metrics import full_size_interval
    >>> rng = np.random.default_rng(0)
    >>> halves = rng.random((32, 100)) < np.repeat([0.8, 0.05], [10, 90])
    >>> whole = rng.random((50, 100)) < np.repeat([0.9, 0.05], [10, 90])
    >>> print(full_size_interval(whole, halves, confidence_level=0.9))
    0.62 (90% interval 0.40 to 0.82, other data)
    """
    chosen, table = checked(whole, measure, "whole")
    level = check_level(confidence_level)
    found = _Halves.of(
        chosen,
        chosen.check(_in_pairs(halves, "halves"), name="halves"),
        "halves",
        level,
    )
    estimate = found.estimate
    if quarters is not None:
        of_quarters = chosen.check(_in_pairs(quarters, "quarters"), name="quarters")
        estimate = _within_pairs(chosen, of_quarters, "quarters").estimate
    expected, bootstrap = _continued(found.estimate, estimate), chosen.value(table)
    if not found.had_choice:
        expected = bootstrap
    elif bootstrap > found.estimate:
        expected = (expected + bootstrap) / 2
    return found.interval(
        expected, _OF_DOUBLING, chosen.range(table.n_runs), "full size", level
    )


def compare_replication(
    a: RunsLike,
    b: RunsLike,
    *,
    measure: MeasureLike = "nogueira",
    confidence_level: float = 0.95,
) -> StabilityTest:
    """Compare how stable two selectors are over other data sets of half the size, from the same pairs of halves.

    :func:`compare_stability` compares how well resamples of this data set agree, which is biased differently for
    different selectors: the less stable one over other data sets can be significantly more stable there.

    Parameters
    ----------
    a, b : array-like or sparse matrix of shape (2 · n_pairs, n_features), or runs
        What each run of either selector chose, as in :func:`replication_stability`, on the same pairs of halves in the
        same order. Of :class:`~skstab.runs.Runs`, the pairs that both have are compared.
    measure : str, callable or measure, default="nogueira"
        A measure that :func:`replication_stability` accepts.
    confidence_level : float, default=0.95
        Share of such intervals that should hold the true difference.

    Returns
    -------
    test : StabilityTest
        With attributes `statistic`, `pvalue` (two-sided), `difference` (stability of `a` less that of `b`) and its
        interval `low`, `high`. Selectors that selected the same in all runs do not differ: 0, with a p-value of 1.

    See Also
    --------
    replication_stability : The stability of one selector, and what the parts of its error are.
    compare_stability : The same for resamples of this data set.

    Notes
    -----
    With g the values of the pairs and u how typical a half is, as in :func:`replication_stability`, the even part
    E is the variance of g_a − g_b, and the odd part O the mean square of (u_a − u_a') − (u_b − u_b'); both are at least
    the square of the larger least deviation. The error is √(0.35 (E + O) + 0.0002), Student's t with
    n_pairs − 1 degrees of freedom. Where the halves of a selector all
    select nothing, or everything, all but the `difference` is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.metrics import compare_replication
    >>> rng = np.random.default_rng(0)
    >>> a = rng.random((32, 100)) < np.repeat([0.95, 0.02], [10, 90])
    >>> b = rng.random((32, 100)) < np.repeat([0.6, 0.05], [10, 90])
    >>> test = compare_replication(a, b)
    >>> test.difference > 0, test.pvalue < 0.01
    (True, True)
    """
    first, second = _on_the_same_pairs(a, b)
    chosen, table = checked(first, measure, "a")
    other = chosen.check(second, name="b")
    if table.n_runs != other.n_runs:
        raise ValueError(
            "a and b must be runs on the same pairs of halves, "
            f"got {table.n_runs} and {other.n_runs} runs"
        )
    level = check_level(confidence_level)
    x, y = (
        _Halves.of(chosen, one, name, level)
        for one, name in ((table, "a"), (other, "b"))
    )
    if _are_equal(table, other):
        return StabilityTest(0.0, 1.0, 0.0, 0.0, 0.0)
    difference = x.minus(y)
    if not difference.had_choice:
        return StabilityTest(np.nan, np.nan, difference.estimate, np.nan, np.nan)
    return difference_test(
        difference.estimate,
        float(np.sqrt(difference.variance + _AT_LEAST)),
        difference.even.size - 1,
        measure=chosen,
        alternative="two-sided",
        level=level,
    )


# -- what pairs of halves show -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Halves:
    """A stability within pairs of halves, and the two parts of what it varies by."""

    estimate: float
    even: FloatArray  # the value of each pair
    odd: FloatArray  # how much more typical the first half of each pair is
    least_deviation: float
    had_choice: bool

    @classmethod
    def of(cls, measure: Measure, table: Table, name: str, level: float) -> _Halves:
        pairs = _within_pairs(measure, table, name)
        without = measure.leave_one_out(table)
        return cls(
            pairs.estimate,
            pairs.values,
            (table.n_runs - 1) / 2 * (without[1::2] - without[::2]),
            _least_deviation(measure, table, level),
            had_choice=measure.trivial is None or not measure.trivial(table),
        )

    def minus(self, other: _Halves) -> _Halves:
        """The difference of two selectors on the same halves."""
        return _Halves(
            self.estimate - other.estimate,
            self.even - other.even,
            self.odd - other.odd,
            max(self.least_deviation, other.least_deviation),
            self.had_choice and other.had_choice,
        )

    @property
    def variance(self) -> float:
        """Variance over data sets, on the scale of the measure."""
        least = self.least_deviation**2
        even, odd = float(np.var(self.even, ddof=1)), float(np.mean(self.odd**2))
        return _OF_PARTS * (max(even, least) + max(odd, least))

    def interval(
        self,
        estimate: float,
        more: float,
        bounds: tuple[float, float],
        method: str,
        level: float,
    ) -> StabilityInterval:
        """Estimate ± t · √(variance + more) on the arcsine scale, clipped to the range of the measure."""
        error = np.sqrt(self.variance * _slope(self.estimate) ** 2 + more)
        half, centre = (
            quantile((1 + level) / 2, self.even.size - 1) * error,
            _arcsine(estimate),
        )
        low, high = _from_arcsine(centre - half), _from_arcsine(centre + half)
        found = StabilityInterval(
            float(np.clip(estimate, *bounds)),
            # An estimate outside of the scale is an end itself.
            float(np.clip(min(low, estimate), *bounds)),
            float(np.clip(max(high, estimate), *bounds)),
            float(error / _slope(estimate)),
            method,
            level,
            about="other data",
        )
        if self.had_choice:
            return found
        # Halves that had nothing to choose tell nothing about other data.
        low, high = bounds
        return replace(found, low=low, high=high, standard_error=np.nan)


def _arcsine(stability: float) -> float:
    share = (stability + _MARGIN) / (1 + 2 * _MARGIN)
    return float(np.arcsin(np.sqrt(np.clip(share, 0, 1))))


def _from_arcsine(angle: float) -> float:
    share = np.sin(np.clip(angle, 0, np.pi / 2)) ** 2
    return float(share * (1 + 2 * _MARGIN) - _MARGIN)


def _slope(stability: float) -> float:
    """Derivative of the arcsine."""
    inside = np.clip(stability, 0, 1)
    return float(1 / (2 * np.sqrt((inside + _MARGIN) * (1 - inside + _MARGIN))))


def _continued(halves: float, quarters: float) -> float:
    """What twice as many rows as the halves have are expected to give."""
    half, quarter = (
        np.log(value / (1 - value)) for value in np.clip([halves, quarters], 0.03, 0.97)
    )
    rise = _OF_LAST_DOUBLING * np.clip(half - quarter, 0, _MOST_RISE)
    spearman_brown = 2 * halves / (1 + max(halves, 0))
    return float(max(spearman_brown, 1 / (1 + np.exp(-half - rise))))


def _in_pairs(data: RunsLike, name: str) -> Any:
    """Put the two runs of each pair one after the other, where the data know their pairs."""
    runs = getattr(data, "runs_", data)
    with naming(name):
        return runs.in_pairs() if hasattr(runs, "in_pairs") else data


def _on_the_same_pairs(a: RunsLike, b: RunsLike) -> tuple[Any, Any]:
    """Runs of both on the splits that both have: a run may have failed in one of them."""
    runs: list[Any] = [getattr(data, "runs_", data) for data in (a, b)]
    if not all(hasattr(one, "in_pairs") for one in runs):
        return _in_pairs(a, "a"), _in_pairs(b, "b")
    both = np.intersect1d(*(one.split_numbers for one in runs))
    first, second = (one.take(np.isin(one.split_numbers, both)) for one in runs)
    return _in_pairs(first, "a"), _in_pairs(second, "b")


def _are_equal(table: Any, other: Any) -> bool:
    one, two = table.matrix, other.matrix
    return bool(one.shape == two.shape and (one != two).sum() == 0)


def _within_pairs(measure: Measure, table: Table, name: str) -> PairValues:
    if measure.within_pairs is None:
        raise ValueError(
            f"measure {measure.name!r} is not defined within pairs of runs: it is neither an average over pairs nor a "
            "ratio of such averages; use 'nogueira'"
        )
    if table.n_runs % 2 or table.n_runs < 2 * _LEAST_PAIRS:
        raise ValueError(
            f"{name} must have an even number of runs (rows), two for each of at least {_LEAST_PAIRS} pairs of halves, "
            f"got {table.n_runs}"
        )
    return measure.within_pairs(table)


def _least_deviation(measure: Measure, table: Table, confidence_level: float) -> float:
    """Deviation of pairs of which a share p differs in one feature, which B equal pairs do not rule out.

    p is the largest share with (1 − p)^B ≥ 1 − confidence_level.
    """
    p = 1 - (1 - check_level(confidence_level)) ** (2 / table.n_runs)
    step = _one_exchange(measure, table) if isinstance(table, Supports) else 0.0
    return float(step * np.sqrt(p * (1 - p)))


def _one_exchange(measure: Measure, supports: Supports) -> float:
    """By how much one exchanged feature changes the similarity of two sets that overlap as the pairs do on average."""
    mean, d = supports.sizes.mean(), supports.n_features
    if measure.within_pairs is None or not 0 < mean < d or d < 2:
        return 0.0
    # Runs that mostly select nothing can still differ in a feature.
    size = int(np.clip(round(mean), 1, d - 1))
    even = np.arange(0, supports.n_runs, 2)
    most = min(size, d - size)  # features that two sets of this size can differ in
    different = np.clip(size - round(overlap(supports, even, even + 1).mean()), 0, most)
    first = np.arange(d) < size
    others = [
        np.roll(first, n)
        for n in (different, different + 1 if different < most else different - 1)
    ]
    # Twice the same pair, since some measures leave one out.
    values = [
        measure.within_pairs(measure.check([first, other] * 2)).estimate
        for other in others
    ]
    return abs(values[0] - values[1])

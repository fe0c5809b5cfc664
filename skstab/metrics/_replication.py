"""Stability over other data sets, from pairs of disjoint halves of one.

The two halves of a pair share no row: they are independent samples of half the size, so the similarity *within* pairs
is unbiased for the stability over data sets of that size. Different pairs halve the same rows, so the spread between
pairs understates the spread between data sets. The constants below are the variance over data sets relative to that
between pairs (the idea of Nadeau and Bengio); they are calibrated by simulation, not derived: benchmarks/other_data.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skstab._checks import check_level, naming
from skstab._typing import MeasureLike, RunsLike
from skstab.metrics._inference import checked, quantile
from skstab.metrics._measure import Measure, PairValues
from skstab.metrics._pairwise import overlap
from skstab.metrics._results import StabilityInterval
from skstab.metrics._tables import Supports, Table

HALF_SIZE, FULL_SIZE = 1.0, 2.0
_LEAST_PAIRS = 3


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
    overstate the stability over data sets by 0.03 to 0.21 in `benchmarks/other_data.py`.

    With a_b the overlap and s_b the mean size of the two sets of pair b, A and K their means over B pairs, and
    v = K − K²/d, the `nogueira` measure is Φ̂ = (A − K²/d) / v. Each pair has a value g_b: its similarity for an average
    over pairs, the influence value for `nogueira`, the jackknife's pseudo-value for the others. The interval is
    Φ̂ ± t · sd(g) · √(1/B + 1), Student's t with B − 1 degrees of freedom. The 1 stands for the variation between data
    sets, of which the pairs of one data set show only a part. It is calibrated by simulation, not derived.

    B pairs that are all equally similar do not show that others would be: with a probability of 1 − confidence_level
    all B agree even where a share p = 1 − (1 − confidence_level)^(1/B) of pairs differs. For sets, sd(g) is therefore
    at least the deviation that a share p of pairs with one exchanged feature would cause. Halves that all select
    nothing, or everything, tell nothing about other data: the interval is then the whole range of the measure, and its
    standard error NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.metrics import replication_stability
    >>> rng = np.random.default_rng(0)
    >>> halves = rng.random((32, 100)) < np.repeat([0.9, 0.05], [10, 90])
    >>> print(replication_stability(halves, confidence_level=0.9))
    0.60 (90% interval 0.42 to 0.78, other data)
    """
    chosen, table = checked(_in_pairs(data, "data"), measure, "data")
    pairs = _within_pairs(chosen, table, "data")
    chosen.warn_if_trivial(table, pairs.estimate)
    least = _least_deviation(chosen, table, confidence_level)
    bounds = chosen.range(2)
    found = _interval(
        pairs.estimate, pairs, least, HALF_SIZE, bounds, "replication", confidence_level
    )
    return _unknown(found, bounds) if _had_no_choice(chosen, table) else found


def full_size_interval(
    whole: RunsLike,
    halves: RunsLike,
    *,
    measure: MeasureLike = "nogueira",
    confidence_level: float = 0.95,
) -> StabilityInterval:
    """Stability over other data sets of the same size: the agreement of resamples, with an interval about other data.

    Parameters
    ----------
    whole : array-like or sparse matrix of shape (n_runs, n_features), or runs
        What runs on bootstraps of the whole data set chose: their stability is the estimate.
    halves : array-like or sparse matrix of shape (2 · n_pairs, n_features), or runs
        What runs on pairs of disjoint halves chose, as in :func:`replication_stability`: they give the width.
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
    No data set holds two independent samples of its own size. The bootstrap's estimate is biased, in either direction
    (RMSE about 0.10), and the interval is wide to make up for it: Φ̂ ± t · sd(g) · √(1/B + 2), with g and B of
    :func:`replication_stability`. The 2 is calibrated by simulation, not derived. Where hardly anything is stable the
    bootstrap is biased upwards by more than that width. The interval therefore reaches down at least to the lower end
    of the replication interval, which assumes that the stability does not fall from half of the rows to all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.metrics import full_size_interval
    >>> rng = np.random.default_rng(0)
    >>> halves = rng.random((32, 100)) < np.repeat([0.8, 0.05], [10, 90])
    >>> whole = rng.random((50, 100)) < np.repeat([0.9, 0.05], [10, 90])
    >>> print(full_size_interval(whole, halves, confidence_level=0.9))
    0.55 (90% interval 0.31 to 0.78, other data)
    """
    chosen, table = checked(whole, measure, "whole")
    of_halves = chosen.check(_in_pairs(halves, "halves"), name="halves")
    pairs = _within_pairs(chosen, of_halves, "halves")
    least = _least_deviation(chosen, of_halves, confidence_level)
    bounds = chosen.range(table.n_runs)
    found = _interval(
        chosen.value(table),
        pairs,
        least,
        FULL_SIZE,
        bounds,
        "full size",
        confidence_level,
    )
    if _had_no_choice(chosen, of_halves):
        return _unknown(found, bounds)
    floor = _interval(
        pairs.estimate, pairs, least, HALF_SIZE, bounds, "replication", confidence_level
    )
    return replace(found, low=min(found.low, floor.low))


def _had_no_choice(measure: Measure, table: Table) -> bool:
    return measure.trivial is not None and measure.trivial(table)


def _unknown(
    interval: StabilityInterval, bounds: tuple[float, float]
) -> StabilityInterval:
    """The whole range: halves that had nothing to choose tell nothing about other data."""
    return replace(interval, low=bounds[0], high=bounds[1], standard_error=np.nan)


def _in_pairs(data: RunsLike, name: str) -> Any:
    """Put the two runs of each pair one after the other, where the data know their pairs."""
    runs = getattr(data, "runs_", data)
    with naming(name):
        return runs.in_pairs() if hasattr(runs, "in_pairs") else data


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


def _interval(
    estimate: float,
    pairs: PairValues,
    least_deviation: float,
    between_data_sets: float,
    bounds: tuple[float, float],
    method: str,
    confidence_level: float,
) -> StabilityInterval:
    """Estimate ± t · sd(g) · √(1/B + c), clipped."""
    level, n_pairs = check_level(confidence_level), pairs.values.size
    deviation = max(float(pairs.values.std(ddof=1)), least_deviation)
    error = deviation * float(np.sqrt(1 / n_pairs + between_data_sets))
    half = quantile((1 + level) / 2, n_pairs - 1) * error
    estimate, low, high = (
        float(np.clip(end, *bounds))
        for end in (estimate, estimate - half, estimate + half)
    )
    return StabilityInterval(
        estimate, low, high, error, method, level, about="other data"
    )

"""Subset measures that are a function of how often each feature, or each whole set, was chosen.

They depend on the table only through a few totals. A formula written for the totals of all runs also gives the
leave-one-out values: the totals are then arrays with one entry for each run left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import xlogy

from skstab._checks import check_number
from skstab._typing import FloatArray
from skstab.metrics._measure import (
    Measure,
    PairValues,
    Properties,
    consecutive_pairs,
    correlation_bounds,
)
from skstab.metrics._pairwise import overlap, require_constant_size
from skstab.metrics._tables import Supports


class Totals(NamedTuple):
    """The totals of a table: each a number, or one number for each run left out."""

    n_runs: int
    n_features: int
    selected: FloatArray  # N = Σ k_i
    squares: FloatArray  # Q = Σ_f c_f², c_f the number of runs that chose feature f


Formula: TypeAlias = Callable[[Totals], FloatArray]


def totals(supports: Supports) -> Totals:
    """Totals of all runs."""
    counts = supports.counts.astype(np.float64)
    selected = np.asarray(counts.sum())
    return Totals(
        supports.n_runs, supports.n_features, selected, np.asarray(counts @ counts)
    )


def totals_without_each(supports: Supports) -> Totals:
    """Totals of the other runs, for each run."""
    full, sizes = totals(supports), supports.sizes.astype(np.float64)
    # (c_f − 1)² = c_f² − 2 c_f + 1 for the features of the run left out
    squares = full.squares - 2 * supports.per_run_sum(supports.counts) + sizes
    return Totals(full.n_runs - 1, full.n_features, full.selected - sizes, squares)


def divide(
    above: FloatArray, below: FloatArray, *, otherwise: FloatArray | float
) -> FloatArray:
    """Above / below, and `otherwise` where below is zero."""
    zero = below == 0
    return np.where(zero, otherwise, above / np.where(zero, 1, below))


def nogueira(t: Totals) -> FloatArray:
    """Φ̂ of nogueira2018, definition 4, as a ratio of whole numbers.

    Σ_f s_f² = (N M − Q) / (M (M−1)) and d (k̄/d)(1 − k̄/d) = N (M d − N) / (M² d).
    """
    m, d, n = t.n_runs, t.n_features, t.selected
    return 1 - divide(
        (n * m - t.squares) * m * d, (m - 1) * n * (m * d - n), otherwise=0.0
    )


def nogueira_within_pairs(supports: Supports) -> PairValues:
    """Φ̂ = (A − K²/d) / v, v = K − K²/d, from the mean overlap A and size K of pairs, and its influence values.

    g_b = Φ̂ + [(a_b − A) − (2K/d + Φ̂ (1 − 2K/d)) (s_b − K)] / v, to the first order in a_b and s_b.
    """
    first, second = consecutive_pairs(supports.n_runs)
    shared, size = (
        overlap(supports, first, second),
        (supports.sizes[first] + supports.sizes[second]) / 2,
    )
    a, k, d = shared.mean(), size.mean(), supports.n_features
    spread = k * (d - k) / d
    if spread == 0:
        return PairValues(1.0, np.ones(first.size))
    estimate = (a - k * k / d) / spread
    slope = 2 * k / d + estimate * (1 - 2 * k / d)
    return PairValues(
        float(estimate), estimate + ((shared - a) - slope * (size - k)) / spread
    )


def goh(t: Totals) -> FloatArray:
    """k̄ / d."""
    return t.selected / (t.n_runs * t.n_features)


def goh_within_pairs(supports: Supports) -> PairValues:
    """k̄ / d of each pair."""
    values = supports.sizes.reshape(-1, 2).mean(axis=1) / supports.n_features
    return PairValues(float(values.mean()), values)


def lausser(t: Totals) -> FloatArray:
    """Σ_f p_f² / k."""
    return divide(t.squares, t.n_runs * t.selected, otherwise=1.0)


def cwrel(t: Totals) -> FloatArray:
    """CW_rel of nogueira2018, equation (4); Σ_f c_f (c_f − 1) = Q − N."""
    m, d, n, q = t.n_runs, t.n_features, t.selected, t.squares
    even, whole = n % d, n % m
    lowest = (
        n * n - even * even + d * even
    )  # d Q when the counts are as even as possible
    highest = d * (
        whole * whole + m * (n - whole)
    )  # d Q when as few features as possible share them
    # Somol & Novovičová: CW itself where both extremes are equal, and 1 where nothing was selected.
    weighted_consistency = divide(q - n, n * (m - 1), otherwise=1.0)
    return divide(d * q - lowest, highest - lowest, otherwise=weighted_consistency)


def davis(supports: Supports, penalty: float) -> float:
    """Mean frequency of the features ever chosen less a penalty for long lists, nogueira2018 (3)."""
    ever = np.asarray(np.count_nonzero(supports.counts), dtype=np.float64)
    return float(
        _davis(totals(supports), ever, np.asarray(np.median(supports.sizes)), penalty)
    )


def davis_without_each(supports: Supports, penalty: float) -> FloatArray:
    """Davis' measure of the other runs, for each run."""
    ever = np.count_nonzero(supports.counts) - supports.per_run_sum(
        supports.counts == 1
    )
    median = medians_without_each(supports.sizes.astype(np.float64))
    return _davis(totals_without_each(supports), ever, median, penalty)


def _davis(
    t: Totals, ever: FloatArray, median: FloatArray, penalty: float
) -> FloatArray:
    mean_frequency = divide(t.selected / t.n_runs, ever, otherwise=1.0)
    return np.maximum(0.0, mean_frequency - penalty * median / t.n_features)


def medians_without_each(values: FloatArray) -> FloatArray:
    """Median of the other values, for each value."""
    order = np.argsort(values, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(values.size)
    ranked, left = values[order], values.size - 1

    def kept(position: int) -> FloatArray:
        # After the place of the value left out, all values move down by one.
        return np.asarray(ranked[position + (place <= position)])

    return (kept((left - 1) // 2) + kept(left // 2)) / 2


def krizek(supports: Supports) -> float:
    """Entropy, in bits, of the sets as wholes."""
    repeats = np.fromiter(Counter(_whole_sets(supports)).values(), dtype=np.float64)
    return float(_entropy(xlogy(repeats, repeats).sum(), supports.n_runs))


def krizek_without_each(supports: Supports) -> FloatArray:
    """Entropy of the sets of the other runs, for each run."""
    sets = _whole_sets(supports)
    counter = Counter(sets)
    repeats = np.array([counter[selected] for selected in sets], dtype=np.float64)
    every = np.fromiter(counter.values(), dtype=np.float64)
    return _entropy(xlogy(every, every).sum() - last_step(repeats), supports.n_runs - 1)


def _whole_sets(supports: Supports) -> list[bytes]:
    indices, ends = supports.csr.indices, supports.csr.indptr
    return [indices[start:end].tobytes() for start, end in pairwise(ends)]


def _entropy(c_log_c: FloatArray, n_runs: int) -> FloatArray:
    # −Σ (c/M) log(c/M) = log M − Σ c log c / M; rounding must not make it negative.
    return np.asarray(np.maximum(0.0, (np.log(n_runs) - c_log_c / n_runs) / np.log(2)))


def last_step(counts: FloatArray) -> FloatArray:
    """By how much the last one counted increased c log c (0 for a count of 0)."""
    before = np.maximum(counts - 1, 0)
    return np.asarray(xlogy(counts, counts) - xlogy(before, before))


def guzman(supports: Supports) -> float:
    """1 − Jensen–Shannon divergence of the runs over that of random sets, nogueira2018 (11)."""
    counts = supports.counts.astype(np.float64)
    return float(_guzman(xlogy(counts, counts).sum(), supports, supports.n_runs))


def guzman_without_each(supports: Supports) -> FloatArray:
    """Guzmán's measure of the other runs, for each run."""
    counts = supports.counts.astype(np.float64)
    leaving = supports.per_run_sum(last_step(counts))
    return _guzman(xlogy(counts, counts).sum() - leaving, supports, supports.n_runs - 1)


def _guzman(c_log_c: FloatArray, supports: Supports, n_runs: int) -> FloatArray:
    k, d = float(supports.sizes[0]), supports.n_features
    # Σ p log p = Σ c log c / M − k log M
    p_log_p = c_log_c / n_runs - k * np.log(n_runs)
    # With nothing to choose (k = 0 or k = d) the divergence of random sets is zero, and so is that of the runs.
    return 1 - divide(p_log_p, np.asarray(xlogy(k, k / d)), otherwise=0.0)


def frequency_measure(
    name: str,
    evaluate: Callable[[Supports], Any],
    leave_one_out: Callable[[Supports], FloatArray],
    *,
    constant_size: bool = False,
    **declared: Any,
) -> Measure:
    def guarded(kernel: Callable[[Supports], Any]) -> Callable[[Supports], Any]:
        def checked(supports: Supports) -> Any:
            require_constant_size(supports, name)
            return kernel(supports)

        return checked if constant_size else kernel

    return Measure(
        name=name,
        kind="subset",
        evaluate=guarded(evaluate),
        leave_one_out=guarded(leave_one_out),
        trivial=lambda table: table.is_trivial,
        **declared,
    )


def _from_totals(name: str, formula: Formula, **declared: Any) -> Measure:
    return frequency_measure(
        name,
        lambda supports: float(formula(totals(supports))),
        lambda supports: formula(totals_without_each(supports)),
        **declared,
    )


NOGUEIRA = _from_totals(
    "nogueira",
    nogueira,
    within_pairs=nogueira_within_pairs,
    bounds=(-1.0, 1.0),
    bounds_for=correlation_bounds,
    properties=Properties(
        fully_defined=True,
        monotone=True,
        bounded=True,
        maximum=True,
        chance_corrected=True,
        corrected_any_sizes=False,
    ),
    asymptotic="always",
)
GOH = _from_totals(
    "goh",
    goh,
    within_pairs=goh_within_pairs,
    bounds=(0.0, 1.0),
    properties=Properties(
        fully_defined=True,
        monotone=False,
        bounded=True,
        maximum=False,
        chance_corrected=False,
    ),
)
CWREL = _from_totals(
    "cwrel",
    cwrel,
    bounds=(0.0, 1.0),
    varies_with_runs=True,
    properties=Properties(
        fully_defined=True,
        monotone=True,
        bounded=True,
        maximum=False,
        chance_corrected=False,
    ),
)
LAUSSER = _from_totals(
    "lausser",
    lausser,
    constant_size=True,
    bounds=(0.0, 1.0),
    varies_with_runs=True,
    properties=Properties(
        fully_defined=False,
        monotone=True,
        bounded=True,
        maximum=True,
        chance_corrected=False,
    ),
)
KRIZEK = frequency_measure(
    "krizek",
    krizek,
    krizek_without_each,
    constant_size=True,
    bounds=(0.0, np.inf),
    bounds_for=lambda n_runs: (0.0, float(np.log2(n_runs))),
    higher_is_better=False,
    varies_with_runs=True,
    properties=Properties(
        fully_defined=False,
        monotone=False,
        bounded=False,
        maximum=True,
        chance_corrected=False,
    ),
)
GUZMAN = frequency_measure(
    "guzman",
    guzman,
    guzman_without_each,
    constant_size=True,
    bounds=(0.0, 1.0),
    varies_with_runs=True,
    properties=Properties(
        fully_defined=False,
        monotone=False,
        bounded=True,
        maximum=True,
        chance_corrected=False,
    ),
)


def davis_measure(*, penalty: float = 1.0) -> Measure:
    """Build Davis' measure for a penalty."""
    check_number(penalty, "penalty", "a finite number of at least 0", least=0)
    return frequency_measure(
        "davis",
        lambda supports: davis(supports, penalty),
        lambda supports: davis_without_each(supports, penalty),
        bounds=(0.0, 1.0),
        varies_with_runs=True,
        properties=Properties(
            fully_defined=True,
            monotone=False,
            bounded=True,
            maximum=False,
            chance_corrected=False,
        ),
    )

"""Subset measures that forgive substitutes: a feature counts as shared where the other run has one similar enough.

All but Zucknick's correct each pair of runs for chance, (I − E) / (I_max − E), with I the number of shared features
plus an adjustment for those that are not shared. E and I_max depend on the two sizes only.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from skstab._typing import FloatArray
from skstab.metrics import _substitutes as substitutes
from skstab.metrics._chance import Sizes, mean_over_sets, yu_expected
from skstab.metrics._measure import Measure, Properties, pairwise
from skstab.metrics._pairwise import line_row_sums
from skstab.metrics._similarity import (
    Links,
    check_threshold,
    find_links,
    no_links,
    require_shape,
)
from skstab.metrics._substitutes import Adjustment
from skstab.metrics._tables import Supports


class Description:
    """Which features stand for each other, as the user gave it; and what was found to be expected by chance."""

    def __init__(self, similarity: Any, threshold: float, random_state: Any) -> None:
        from skstab._random import (
            check_rng,
        )  # here, since measures load without scikit-learn

        self.threshold = check_threshold(threshold)
        self.links = (
            None if similarity is None else find_links(similarity, self.threshold)
        )
        self.seed = int(check_rng(random_state).randint(np.iinfo(np.int32).max))
        self._known: dict[Sizes, float] = {}

    def links_of(self, supports: Supports) -> Links:
        """Return the links of the features of a table."""
        if self.links is None:
            return no_links(supports.n_features)
        require_shape((self.links.n_features,) * 2, supports.n_features)
        return self.links

    def caution(self, name: str) -> str | None:
        """Say that nothing is adjusted, where a similarity was given for it."""
        if self.links is None or self.links.size:
            return None
        return (
            f"no two features have a similarity of at least {self.threshold:g}: the {name} stability is the unadjusted "
            "one, in which each feature stands for itself alone"
        )

    def expected(self, sizes: Any, links: Links, adjustment: Adjustment) -> FloatArray:
        """E for each pair of distinct sizes, worked out once."""
        if not links.size:
            return np.outer(sizes, sizes) / links.n_features
        pairs = list(combinations_with_replacement(sizes.tolist(), 2))
        missing = [pair for pair in pairs if pair not in self._known]
        if adjustment is substitutes.mean_count:
            found = [yu_expected(links, a, b) for a, b in missing]
        else:
            found = mean_over_sets(links, adjustment, self.seed, missing)
        self._known.update(zip(missing, found, strict=True))
        return np.array(
            [
                [self._known[min(a, b), max(a, b)] for b in sizes.tolist()]
                for a in sizes.tolist()
            ]
        )


def _geometric(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.sqrt(a * b)


def _arithmetic(a: FloatArray, b: FloatArray) -> FloatArray:
    return (a + b) / 2


def corrected_row_sums(
    supports: Supports,
    described: Description,
    adjustment: Adjustment,
    maximum: Callable[[FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """Sum of a run's (I − E) / (I_max − E) with all the others."""
    links = described.links_of(supports)
    sizes = np.unique(supports.sizes)
    column = sizes.astype(np.float64)
    highest = maximum(column[:, None], column[None, :])
    expected = described.expected(sizes, links, adjustment)
    # Where even random sets reach the maximum there is nothing to correct for: I / I_max.
    expected = np.where(highest - expected <= 1e-12 * highest, 0.0, expected)
    slope = np.divide(
        1, highest - expected, out=np.zeros_like(highest), where=highest > 0
    )
    # Of sets that share nothing because one is empty, two are identical when both are.
    offset = np.where(highest > 0, -expected * slope, np.equal.outer(sizes, sizes))
    unadjusted = line_row_sums(supports, lambda *_: (slope, offset))
    return unadjusted + substitutes.adjustment_row_sums(
        supports, links, adjustment, slope
    )


def described_measure(
    name: str,
    described: Description,
    row_sums: Callable[[Supports], FloatArray],
    **declared: Any,
) -> Measure:
    """Build the measure that averages over pairs a similarity in which some features stand for each other."""
    return pairwise(
        row_sums,
        name=name,
        kind="subset",
        trivial=lambda table: table.is_trivial,
        described_by=("similarity",),
        caution=described.caution(name),
        **declared,
    )


def forgiving(*, bounded: bool, chance_corrected: bool) -> Properties:
    """Properties of a measure that forgives substitutes: other sets reach the maximum, sharing less can count more."""
    return Properties(
        fully_defined=True,
        monotone=False,
        bounded=bounded,
        maximum=False,
        chance_corrected=chance_corrected,
        corrected_any_sizes=True if chance_corrected else None,
    )


def _builder(
    name: str,
    adjustment: Adjustment,
    maximum: Callable[[FloatArray, FloatArray], FloatArray] = _geometric,
) -> Callable[..., Measure]:
    def build(
        *, similarity: Any = None, threshold: float = 0.9, random_state: Any = None
    ) -> Measure:
        described = Description(similarity, threshold, random_state)
        return described_measure(
            name,
            described,
            lambda supports: corrected_row_sums(
                supports, described, adjustment, maximum
            ),
            bounds=(-np.inf, 1.0),
            properties=forgiving(bounded=False, chance_corrected=True),
        )

    return build


def zucknick_measure(
    *, similarity: Any = None, threshold: float = 0.9, random_state: Any = None
) -> Measure:
    """Build Zucknick's measure for a similarity of features."""
    described = Description(similarity, threshold, random_state)
    return described_measure(
        "zucknick",
        described,
        lambda supports: substitutes.zucknick_row_sums(
            supports, described.links_of(supports)
        ),
        bounds=(0.0, 1.0),
        properties=forgiving(bounded=True, chance_corrected=False),
    )


intersection_mbm_measure = _builder("intersection_mbm", substitutes.largest_matching)
intersection_greedy_measure = _builder(
    "intersection_greedy", substitutes.greedy_matching
)
intersection_count_measure = _builder("intersection_count", substitutes.smaller_count)
intersection_mean_measure = _builder(
    "intersection_mean", substitutes.smaller_similarity
)
yu_measure = _builder("yu", substitutes.mean_count, _arithmetic)

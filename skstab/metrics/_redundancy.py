"""Subset measures from the literature on redundant features: POGR, nPOGR, and Dice with a matching of similar features.

A set *covers* the features that are in it or similar to one of them. The share of the features of one run that
another covers needs no pair of runs: as in POG, it is a product of counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from skstab._typing import FloatArray, IntArray
from skstab.metrics import _substitutes as substitutes
from skstab.metrics._adjusted import Description, described_measure, forgiving
from skstab.metrics._measure import Measure
from skstab.metrics._pairwise import line_row_sums, ratio
from skstab.metrics._similarity import Links
from skstab.metrics._tables import Supports


def _covered(supports: Supports, links: Links) -> Any:
    """Which features each run covers, as CSR of ones."""
    covered = (supports.csr + supports.csr @ links.matrix).tocsr()
    covered.data[:] = 1.0
    return covered


def uncovered_share(links: Links, sizes: IntArray) -> FloatArray:
    """U(b), the share of all features that a random set of b features does not cover.

    Feature x is left out when neither x nor one of the deg(x) features similar to it is drawn: the mean over x of
    Hyp(0; d, deg(x) + 1, b).
    """
    from scipy.stats import hypergeom

    degrees, features = np.unique(links.degrees, return_counts=True)
    missed = hypergeom.pmf(0, links.n_features, degrees[:, None] + 1, sizes[None, :])
    return np.asarray(features @ missed / links.n_features, dtype=np.float64)


def covered_row_sums(
    supports: Supports, links: Links, *, corrected: bool
) -> FloatArray:
    """Sum over the other runs of the mean of both directions of (C_ij − E) / (k_i − E).

    C_ij is the number of features of run i that run j covers. E = k_i (1 − U(k_j)) is what a random set of the size of
    run j covers of them, or 0. Where the ratio is 0/0, sets of equal size count as identical, others as unrelated.
    """
    sizes, group = np.unique(supports.sizes, return_inverse=True)
    left_out = uncovered_share(links, sizes) if corrected else np.ones(sizes.size)
    below = np.outer(sizes, left_out)
    undefined = (below == 0) | (below.T == 0)
    slope = np.where(undefined, 0.0, 1 / np.where(undefined, 1, below))
    offset = np.where(
        undefined, np.equal.outer(sizes, sizes), -np.outer(sizes, 1 - left_out) * slope
    )

    covered = _covered(supports, links)
    members = sparse.csr_array((np.ones(group.size), (np.arange(group.size), group)))
    by_others = (supports.csr @ (covered.T @ members)).toarray()
    of_others = (covered @ (supports.csr.T @ members)).toarray()
    both = slope[group] * by_others + slope.T[group] * of_others
    own = np.diag(slope) * sizes + np.diag(offset)
    constant = (offset + offset.T) @ np.bincount(group)
    return np.asarray(
        (both.sum(axis=1) + constant[group]) / 2 - own[group], dtype=np.float64
    )


def _covering(name: str, *, corrected: bool) -> Callable[..., Measure]:
    def build(
        *, similarity: Any = None, threshold: float = 0.9, random_state: Any = None
    ) -> Measure:
        described = Description(similarity, threshold, random_state)
        return described_measure(
            name,
            described,
            lambda supports: covered_row_sums(
                supports, described.links_of(supports), corrected=corrected
            ),
            bounds=(-np.inf if corrected else 0.0, 1.0),
            properties=forgiving(bounded=not corrected, chance_corrected=corrected),
        )

    return build


def matched_dice_row_sums(supports: Supports, links: Links) -> FloatArray:
    """Sum over the other runs of the weight of the heaviest matching of two runs, over their mean size."""
    sizes = np.unique(supports.sizes).astype(np.float64)
    mean_size = np.add.outer(sizes, sizes) / 2
    per_feature = np.divide(
        1, mean_size, out=np.zeros_like(mean_size), where=mean_size > 0
    )
    dice = line_row_sums(supports, ratio(lambda a, b, _: (a + b) / 2))
    gained = substitutes.adjustment_row_sums(
        supports,
        links.with_loops(),
        substitutes.heaviest_matching,
        per_feature,
        shared=True,
    )
    return dice + gained


def redundancy_dice_measure(
    *, similarity: Any = None, threshold: float = 0.9, random_state: Any = None
) -> Measure:
    """Build Dice's measure with a matching of similar features."""
    described = Description(similarity, threshold, random_state)
    return described_measure(
        "redundancy_dice",
        described,
        lambda supports: matched_dice_row_sums(supports, described.links_of(supports)),
        bounds=(0.0, 1.0),
        properties=forgiving(bounded=True, chance_corrected=False),
    )


pogr_measure = _covering("pogr", corrected=False)
npogr_measure = _covering("npogr", corrected=True)

"""Subset measures that average a similarity of two sets over all pairs of runs.

Every similarity except Jaccard's is linear in the size of the intersection once the two sizes are known,

    φ(s_i, s_j) = slope(k_i, k_j) · |s_i ∩ s_j| + offset(k_i, k_j),

so the sums over pairs follow from how often the runs of each *size* chose each feature: no pair is visited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from skstab._typing import FloatArray, IntArray
from skstab.metrics._measure import Measure, Properties, correlation_bounds, pairwise
from skstab.metrics._tables import Supports

# (sizes of one set, sizes of the other, number of features) → slope and offset
Line: TypeAlias = Callable[[FloatArray, FloatArray, int], tuple[FloatArray, FloatArray]]
_BLOCK_ENTRIES = 2**22  # 32 MB of floats at a time
Denominator: TypeAlias = Callable[[FloatArray, FloatArray, int], FloatArray]


def line_row_sums(supports: Supports, line: Line) -> FloatArray:
    """Sum of a run's similarities with all the others, for a similarity linear in the intersection."""
    sizes, group = np.unique(supports.sizes, return_inverse=True)
    column = sizes.astype(np.float64)
    slope, offset = line(column[:, None], column[None, :], supports.n_features)
    slope, offset = np.broadcast_arrays(slope, offset)
    overlap = _overlap_with_groups(supports, group, sizes.size)
    members = np.bincount(group)
    sums = np.einsum("ij,ij->i", slope[group], overlap) + (offset @ members)[group]
    own = np.diag(slope) * sizes + np.diag(offset)
    result: FloatArray = sums - own[group]
    return result


def line_similarity(
    supports: Supports, first: IntArray, second: IntArray, line: Line
) -> FloatArray:
    """Similarity of each first run with its second, for a similarity linear in the intersection."""
    sizes = supports.sizes.astype(np.float64)[:, None]
    slope, offset = line(sizes[first], sizes[second], supports.n_features)
    return np.asarray(
        slope * overlap(supports, first, second)[:, None] + offset
    ).ravel()


def overlap(supports: Supports, first: IntArray, second: IntArray) -> FloatArray:
    """Number of features that each first run shares with its second."""
    csr = supports.csr
    return np.asarray(
        csr[first].multiply(csr[second]).sum(axis=1), dtype=np.float64
    ).ravel()


def _overlap_with_groups(
    supports: Supports, group: IntArray, n_groups: int
) -> FloatArray:
    """Sum over the runs j of a group of |s_i ∩ s_j|, shape (n_runs, n_groups)."""
    by_feature = supports.csr.tocsc()
    # How often each group chose each feature: the same entries, with runs replaced by their groups.
    counts = sparse.csr_array(
        (by_feature.data, group[by_feature.indices], by_feature.indptr),
        shape=(supports.n_features, n_groups),
    )
    step = max(1, _BLOCK_ENTRIES // supports.n_features)
    overlaps = [
        supports.csr @ counts[:, start : start + step].toarray()
        for start in range(0, n_groups, step)
    ]
    return np.hstack(overlaps)


def ratio(*denominators: Denominator, corrected: bool = False) -> Line:
    """Similarity (r − e) / denominator, averaged over the denominators given.

    e is the intersection expected by chance, k_i k_j / d, or 0. Where a denominator vanishes, sets of the same size
    are both empty or both full, hence identical: 1; otherwise one of them carries no information: 0.
    """

    def line(a: FloatArray, b: FloatArray, d: int) -> tuple[FloatArray, FloatArray]:
        below = np.stack(
            np.broadcast_arrays(*(denominator(a, b, d) for denominator in denominators))
        )
        undefined = (below == 0).any(axis=0)
        slope = np.where(
            undefined, 0.0, (1 / np.where(below == 0, 1, below)).mean(axis=0)
        )
        expected = a * b / d if corrected else 0.0
        return slope, np.where(undefined, a == b, -expected * slope)

    return line


def jaccard_row_sums(supports: Supports) -> FloatArray:
    """Sum of a run's Jaccard similarities with all the others."""
    sizes = supports.sizes
    sums = np.empty(supports.n_runs)
    for runs, shared in intersections(supports):
        union = sizes[runs, None] + sizes[None, :] - shared
        # Two empty sets are identical.
        similarity = np.divide(shared, union, out=np.ones_like(union), where=union > 0)
        sums[runs] = similarity.sum(axis=1) - 1
    return sums


def jaccard_similarity(
    supports: Supports, first: IntArray, second: IntArray
) -> FloatArray:
    """Jaccard similarity of each first run with its second."""
    shared, sizes = overlap(supports, first, second), supports.sizes
    union = sizes[first] + sizes[second] - shared
    return np.divide(shared, union, out=np.ones_like(shared), where=union > 0)


# How many products of a BLAS call take the time of one product of two selected entries.
_BLAS_ADVANTAGE = 128
_MAX_BLAS_RUNS = 2**13


def intersections(supports: Supports) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of rows of the matrix |s_i ∩ s_j|."""
    counts = supports.counts.astype(np.float64)
    used = np.flatnonzero(counts)
    blas_products = supports.n_runs**2 * len(used)
    sparse_products = counts @ counts
    is_blas_faster = blas_products < _BLAS_ADVANTAGE * sparse_products
    if is_blas_faster and supports.n_runs <= _MAX_BLAS_RUNS:
        yield slice(None), _blas_intersections(supports, used)
        return
    csr, step = supports.csr, max(1, _BLOCK_ENTRIES // supports.n_runs)
    for start in range(0, supports.n_runs, step):
        runs = slice(start, start + step)
        yield runs, (csr[runs] @ csr.T).toarray()


def _blas_intersections(supports: Supports, used: IntArray) -> FloatArray:
    """All |s_i ∩ s_j|, a block of used features at a time so that only that block is ever dense floats."""
    matrix = supports.matrix.tocsc() if supports.is_sparse else supports.matrix
    shared = np.zeros((supports.n_runs, supports.n_runs))
    step = max(1, _BLOCK_ENTRIES // supports.n_runs)
    for start in range(0, len(used), step):
        block = matrix[:, used[start : start + step]]
        # Counts up to the width of a block are exact in single precision.
        block = (block.toarray() if supports.is_sparse else block).astype(np.float32)
        shared += block @ block.T
    return shared


def require_constant_size(supports: Supports, name: str) -> None:
    """Raise where a measure is defined for runs of equal size only."""
    if not supports.is_constant_size:
        raise ValueError(
            f"supports must be of one size: the {name} measure is defined only when every run selects the same number "
            f"of features, got sizes from {supports.sizes.min()} to {supports.sizes.max()}; use 'nogueira', which "
            "allows sizes to vary"
        )


def line_measure(
    name: str, line: Line, *, constant_size: bool = False, **declared: Any
) -> Measure:
    def checked(supports: Supports) -> Supports:
        if constant_size:
            require_constant_size(supports, name)
        return supports

    return pairwise(
        lambda supports: line_row_sums(checked(supports), line),
        similarity=lambda supports, first, second: line_similarity(
            checked(supports), first, second, line
        ),
        name=name,
        kind="subset",
        trivial=lambda table: table.is_trivial,
        **declared,
    )


def _hamming_line(
    a: FloatArray, b: FloatArray, d: int
) -> tuple[FloatArray, FloatArray]:
    # 1 − |s_i △ s_j| / d, and |△| = k_i + k_j − 2r.
    return np.full((1, 1), 2 / d), 1 - (a + b) / d


def _spread(k: FloatArray, d: int) -> FloatArray:
    """K (1 − k/d), exactly zero for the empty and the full set."""
    return k * (d - k) / d


_UNCORRECTED = Properties(
    fully_defined=True,
    monotone=True,
    bounded=True,
    maximum=True,
    chance_corrected=False,
)

JACCARD = pairwise(
    jaccard_row_sums,
    similarity=jaccard_similarity,
    name="jaccard",
    kind="subset",
    trivial=lambda table: table.is_trivial,
    bounds=(0.0, 1.0),
    properties=_UNCORRECTED,
)
HAMMING = line_measure(
    "hamming", _hamming_line, bounds=(0.0, 1.0), properties=_UNCORRECTED
)
DICE = line_measure(
    "dice",
    ratio(lambda a, b, _: (a + b) / 2),
    bounds=(0.0, 1.0),
    properties=_UNCORRECTED,
)
OCHIAI = line_measure(
    "ochiai",
    ratio(lambda a, b, _: np.sqrt(a * b)),
    bounds=(0.0, 1.0),
    properties=_UNCORRECTED,
)
POG = line_measure(
    "pog",
    ratio(lambda a, *_: a, lambda _, b, __: b),
    bounds=(0.0, 1.0),
    properties=_UNCORRECTED,
)
KUNCHEVA = line_measure(
    "kuncheva",
    ratio(lambda a, _, d: _spread(a, d), corrected=True),
    constant_size=True,
    bounds=(-1.0, 1.0),
    bounds_for=correlation_bounds,
    properties=Properties(
        fully_defined=False,
        monotone=True,
        bounded=True,
        maximum=True,
        chance_corrected=True,
    ),
    asymptotic="always",
)
LUSTGARTEN = line_measure(
    "lustgarten",
    ratio(lambda a, b, d: np.minimum(a, b) - np.maximum(0, a + b - d), corrected=True),
    bounds=(-1.0, 1.0),
    properties=Properties(
        fully_defined=True,
        monotone=True,
        bounded=True,
        maximum=False,
        chance_corrected=True,
        corrected_any_sizes=True,
    ),
)
WALD = line_measure(
    "wald",
    # min − k_i k_j / d, and the product of two numbers is that of the smaller and the larger.
    ratio(
        lambda a, b, d: np.minimum(a, b) * (d - np.maximum(a, b)) / d, corrected=True
    ),
    bounds=(-np.inf, 1.0),
    properties=Properties(
        fully_defined=True,
        monotone=True,
        bounded=False,
        maximum=False,
        chance_corrected=True,
        corrected_any_sizes=True,
    ),
    asymptotic="constant size",
)
NPOG = line_measure(
    "npog",
    ratio(
        lambda a, b, d: a * (d - b) / d, lambda a, b, d: b * (d - a) / d, corrected=True
    ),
    bounds=(-np.inf, 1.0),
    properties=Properties(
        fully_defined=True,
        monotone=True,
        bounded=False,
        maximum=True,
        chance_corrected=True,
        corrected_any_sizes=True,
    ),
    asymptotic="constant size",
)
PHI = line_measure(
    "phi",
    ratio(lambda a, b, d: np.sqrt(_spread(a, d) * _spread(b, d)), corrected=True),
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

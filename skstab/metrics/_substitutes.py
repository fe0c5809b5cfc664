"""How many features of two sets, beyond those they share, can stand for each other.

A *match* is a link between a feature of the first set only and one of the second set only. All pairs of sets are
treated at once: the matches of different pairs do not touch, so that one graph with a part for each pair serves all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from skstab._typing import FloatArray, IntArray
from skstab.metrics._pairwise import intersections
from skstab.metrics._similarity import Links
from skstab.metrics._tables import Supports

_BLOCK_MATCHES = 2**21


class Matches(NamedTuple):
    """The matches of several pairs of sets: the number of the pair, and that of the link."""

    pair: IntArray
    link: IntArray


class _Side(NamedTuple):
    """The matched features of all first, or all second, sets."""

    vertex: IntArray  # of each match, the number of its feature
    pair: IntArray  # of each such feature, the pair of sets


# (matches, links, number of pairs) → what the matches of each pair are worth, in shared features
Adjustment: TypeAlias = Callable[[Matches, Links, int], FloatArray]


def _side(pair: IntArray, feature: IntArray, n_features: int) -> _Side:
    keys, vertex = np.unique(pair * n_features + feature, return_inverse=True)
    return _Side(vertex, keys // n_features)


def _sides(matches: Matches, links: Links) -> tuple[_Side, _Side]:
    pair, link = matches
    return _side(pair, links.one[link], links.n_features), _side(
        pair, links.other[link], links.n_features
    )


# -- what matches are worth --------------------------------------------------------------------------------------------


def largest_matching(matches: Matches, links: Links, n_pairs: int) -> FloatArray:
    """Size of the maximum bipartite matching."""
    if not matches.pair.size:
        return np.zeros(n_pairs)
    first, second = _sides(matches, links)
    shape = (first.pair.size, second.pair.size)
    # SciPy's graph algorithms take 32-bit indices, which are enough for one block.
    ends = (first.vertex.astype(np.int32), second.vertex.astype(np.int32))
    graph = sparse.csr_array((np.ones(matches.pair.size), ends), shape=shape)
    partner = maximum_bipartite_matching(graph, perm_type="column")
    return np.bincount(first.pair[partner >= 0], minlength=n_pairs).astype(np.float64)


def greedy_matching(matches: Matches, links: Links, n_pairs: int) -> FloatArray:
    """Size of the matching that takes links by falling similarity while both ends are free.

    A link that comes before all others at both of its ends is taken whatever the rest: each round takes all of these.
    """
    first, second = (side.vertex for side in _sides(matches, links))
    pair, rank = matches.pair, links.rank[matches.link]
    size = np.zeros(n_pairs)
    while pair.size:
        taken = (rank == _smallest(rank, first)) & (rank == _smallest(rank, second))
        size += np.bincount(pair[taken], minlength=n_pairs)
        free = ~(_any(taken, first) | _any(taken, second))
        first, second, pair, rank = first[free], second[free], pair[free], rank[free]
    return size


def _smallest(rank: IntArray, vertex: IntArray) -> IntArray:
    """Smallest rank at the vertex of each match."""
    smallest = np.full(vertex.max() + 1, rank.max())
    np.minimum.at(smallest, vertex, rank)
    return np.asarray(smallest[vertex])


def _any(taken: Any, vertex: IntArray) -> Any:
    """Whether a match at the same vertex was taken."""
    return (np.bincount(vertex, taken) > 0)[vertex]


def smaller_count(matches: Matches, links: Links, n_pairs: int) -> FloatArray:
    """Smaller of the two numbers of features with a match."""
    return np.minimum(*_counts(matches, links, n_pairs))


def mean_count(matches: Matches, links: Links, n_pairs: int) -> FloatArray:
    """Mean of the two numbers of features with a match."""
    first, second = _counts(matches, links, n_pairs)
    return (first + second) / 2


def _counts(
    matches: Matches, links: Links, n_pairs: int
) -> tuple[FloatArray, FloatArray]:
    first, second = (
        np.bincount(side.pair, minlength=n_pairs) for side in _sides(matches, links)
    )
    return first.astype(np.float64), second.astype(np.float64)


def smaller_similarity(matches: Matches, links: Links, n_pairs: int) -> FloatArray:
    """Smaller of the two sums of the features' mean similarity with their matches."""
    similarity = links.similarity[matches.link]

    def total(side: _Side) -> FloatArray:
        means = np.bincount(side.vertex, similarity) / np.bincount(side.vertex)
        return np.asarray(np.bincount(side.pair, means, n_pairs), dtype=np.float64)

    first, second = (total(side) for side in _sides(matches, links))
    return np.minimum(first, second)


def heaviest_matching(matches: Matches, links: Links, n_pairs: int) -> FloatArray:
    """Weight of the heaviest bipartite matching of whole sets, less the number of shared features.

    The links hold those of a feature with itself: a shared feature may be matched with another where this allows more.
    """
    from scipy.optimize import linear_sum_assignment

    is_loop = links.one[matches.link] == links.other[matches.link]
    n_shared = np.bincount(matches.pair[is_loop], minlength=n_pairs)
    gained = np.zeros(n_pairs)
    weight = links.similarity[matches.link]
    (row, _), (column, _) = _sides(matches, links)
    order = np.argsort(matches.pair, kind="stable")
    ends = np.cumsum(np.bincount(matches.pair, minlength=n_pairs))
    for pair in np.flatnonzero(np.diff(ends, prepend=0) > n_shared):
        of_pair = order[ends[pair - 1] if pair else 0 : ends[pair]]
        i, j = (
            row[of_pair] - row[of_pair].min(),
            column[of_pair] - column[of_pair].min(),
        )
        weights = np.zeros((i.max() + 1, j.max() + 1))
        weights[i, j] = weight[of_pair]
        gained[pair] = (
            weights[linear_sum_assignment(weights, maximize=True)].sum()
            - n_shared[pair]
        )
    return gained


# -- over all pairs of runs --------------------------------------------------------------------------------------------


def adjustment_row_sums(
    supports: Supports,
    links: Links,
    adjustment: Adjustment,
    weight: FloatArray,
    *,
    shared: bool = False,
) -> FloatArray:
    """Sum over the other runs of the adjustment times a weight that depends on the sizes of the two runs.

    `weight` has a row and a column for each distinct size, in increasing order. `shared` is whether the features that
    two runs share are matched, too.
    """
    m = supports.n_runs
    _, group = np.unique(supports.sizes, return_inverse=True)
    sums = np.zeros(m)
    for matches in _matches_of_runs(supports, links, shared=shared):
        keys, pair = np.unique(matches.pair, return_inverse=True)
        one, other = keys // m, keys % m
        value = (
            adjustment(Matches(pair, matches.link), links, keys.size)
            * weight[group[one], group[other]]
        )
        sums += np.bincount(one, value, m) + np.bincount(other, value, m)
    return sums


def _matches_of_runs(
    supports: Supports, links: Links, *, shared: bool
) -> Iterator[Matches]:
    """Yield the matches of runs i < j as pair number i M + j, all those of a pair in the same block."""
    runs_of = supports.csr.T.tocsr()
    one, other = runs_of[links.one], runs_of[links.other]
    if not shared:
        both = one * other
        one, other = _without(one, both), _without(other, both)
    matches_so_far = np.cumsum(one.T @ np.diff(other.indptr))
    block = matches_so_far // _BLOCK_MATCHES
    starts = np.flatnonzero(np.r_[True, block[1:] != block[:-1]])
    for start, end in zip(starts, [*starts[1:], supports.n_runs], strict=True):
        link, i, j = _combinations(one[:, start:end], other)
        i = i + start
        before = (
            i < j
        )  # the other direction of a link has the same match with i and j exchanged
        yield Matches(i[before] * supports.n_runs + j[before], link[before])


def _without(runs: Any, both: Any) -> Any:
    rest = runs - both
    rest.eliminate_zeros()
    return rest


def _combinations(one: Any, other: Any) -> tuple[IntArray, IntArray, IntArray]:
    """All (row, column in one, column in other) for the non-zero entries of two CSR arrays."""
    width = np.diff(other.indptr)
    size = np.diff(one.indptr) * width
    row = np.repeat(np.arange(size.size), size)
    place = np.arange(row.size) - (np.cumsum(size) - size)[row]
    first = one.indices[one.indptr[row] + place // width[row]]
    second = other.indices[other.indptr[row] + place % width[row]]
    return row, first.astype(np.int64), second.astype(np.int64)


def zucknick_row_sums(supports: Supports, links: Links) -> FloatArray:
    """Sum of a run's similarities with all the others: (|∩| + C_ij + C_ji) / |∪|.

    C_ij = Σ s(x, y) / k_j over x in V_i and y in V_j but not in V_i: the links between V_i and V_j, z_i S z_j, less
    those that end in both sets.
    """
    csr, sizes = supports.csr, supports.sizes.astype(np.float64)
    towards = csr @ links.matrix
    own = towards * csr
    share = 1 / np.where(sizes > 0, sizes, 1)
    sums = np.empty(supports.n_runs)
    for runs, shared in intersections(supports):
        between = (towards[runs] @ csr.T).toarray()
        outwards = (between - (own[runs] @ csr.T).toarray()) * share[None, :]
        inwards = (between - (csr[runs] @ own.T).toarray()) * share[runs, None]
        union = sizes[runs, None] + sizes[None, :] - shared
        # Two empty sets are identical.
        similarity = np.divide(
            shared + outwards + inwards, union, out=np.ones_like(union), where=union > 0
        )
        sums[runs] = similarity.sum(axis=1) - 1
    return sums

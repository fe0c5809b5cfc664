"""What random sets share, substitutes included: E of the measures adjusted for similar features.

Exact where it can be had; otherwise the mean over random orders of the features, of which the first a and b are the two
sets. One draw of orders serves all sizes, and what it gives for two sizes depends on nothing else in the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from skstab._typing import IntArray
from skstab.metrics._similarity import Links
from skstab.metrics._substitutes import Adjustment, Matches

N_DRAWS = 10_000
_DRAWS_PER_BLOCK = 500

Sizes: TypeAlias = tuple[int, int]  # of the smaller and of the larger set


def yu_expected(links: Links, a: int, b: int) -> float:
    """E = ab/d + (S_ab + S_ba) / 2, S_ab the expected number of features of the first set alone with a match."""
    degrees, features = np.unique(links.degrees, return_counts=True)
    matched = _expected_matched(degrees, features, links.n_features, a, b)
    matched += _expected_matched(degrees, features, links.n_features, b, a)
    return a * b / links.n_features + matched / 2


def _expected_matched(
    degrees: IntArray, features: IntArray, d: int, a: int, b: int
) -> float:
    """S_ab = Σ_x (a/d)(1 − b/d)[1 − Σ_t Hyp(t; d−1, deg x, b) Π_{s<t} (a−1−s)/(d−1−s)].

    t of the features similar to x are in the second set; x has no match when all of them are in the first one, too.
    """
    from scipy.stats import hypergeom

    if a == 0 or b in (0, d):
        return 0.0
    t = np.arange(min(int(degrees.max()), b) + 1)
    all_shared = np.cumprod(
        np.r_[1.0, np.maximum(a - 1 - t[:-1], 0) / (d - 1 - t[:-1])]
    )
    unmatched = hypergeom.pmf(t[None, :], d - 1, degrees[:, None], b) @ all_shared
    return float(a / d * (1 - b / d) * (features @ (1 - unmatched)))


def mean_over_sets(
    links: Links, adjustment: Adjustment, seed: int, sizes: list[Sizes]
) -> list[float]:
    """Mean of |∩| + adjustment over all pairs of sets of these sizes, or over random ones where there are too many."""
    d = links.n_features
    few = [pair for pair in sizes if comb(d, pair[0]) * comb(d, pair[1]) <= N_DRAWS]
    many = [pair for pair in sizes if pair not in few]
    found = {
        pair: _total(_all_sets(links, *pair), links, adjustment, pair) for pair in few
    }
    found = {
        pair: total / (comb(d, pair[0]) * comb(d, pair[1]))
        for pair, total in found.items()
    }
    totals = np.zeros(len(many))
    for draw in _random_sets(links, seed, max((b for _, b in many), default=0)):
        totals += [_total(draw, links, adjustment, pair) for pair in many]
    found |= dict(zip(many, totals / N_DRAWS, strict=True))
    return [float(found[pair]) for pair in sizes]


class _Draws(NamedTuple):
    """Pairs of orders of features, with the place of each feature that matters in either order."""

    n: int
    shared: tuple[IntArray, IntArray]  # places of the features that are in both
    matches: Matches
    one: tuple[
        IntArray, IntArray
    ]  # places, in the first and second order, of the first feature of each match
    other: tuple[IntArray, IntArray]  # the same of its second feature


def _total(draws: _Draws, links: Links, adjustment: Adjustment, sizes: Sizes) -> float:
    """Sum over the draws of |∩| + adjustment when the first a, and the first b, are the sets."""
    a, b = sizes
    intersection = np.count_nonzero((draws.shared[0] < a) & (draws.shared[1] < b))
    only_first = (draws.one[0] < a) & (draws.one[1] >= b)
    only_second = (draws.other[0] >= a) & (draws.other[1] < b)
    held = only_first & only_second
    matches = Matches(draws.matches.pair[held], draws.matches.link[held])
    return float(intersection + adjustment(matches, links, draws.n).sum())


def _all_sets(links: Links, a: int, b: int) -> _Draws:
    first, second = (
        np.array(list(combinations(range(links.n_features), size)), dtype=np.int64)
        for size in (a, b)
    )
    return _draws(
        np.repeat(first, len(second), axis=0), np.tile(second, (len(first), 1)), links
    )


def _random_sets(links: Links, seed: int, size: int) -> Iterator[_Draws]:
    """Yield N_DRAWS pairs of random orders, of which the first `size` features are kept."""
    if not size:
        return
    for block, start in enumerate(range(0, N_DRAWS, _DRAWS_PER_BLOCK)):
        n = min(_DRAWS_PER_BLOCK, N_DRAWS - start)
        first, second = (
            _heads(
                np.random.default_rng([seed, block, side]), n, links.n_features, size
            )
            for side in (0, 1)
        )
        yield _draws(first, second, links)


def _heads(rng: np.random.Generator, n: int, d: int, size: int) -> Any:
    """First features of n random orders: the start of a shuffle, the same for any number that is asked for."""
    order = np.tile(np.arange(d, dtype=np.int32), (n, 1))
    row = np.arange(n)
    for place in range(size):
        other = rng.integers(place, d, n)
        order[row, place], order[row, other] = order[row, other], order[row, place]
    return order[:, :size]


def _draws(first: Any, second: Any, links: Links) -> _Draws:
    n, row = len(first), np.arange(len(first))[:, None]
    place_first, place_second = (
        _places(first, links.n_features),
        _places(second, links.n_features),
    )
    in_second = place_second[row, first]
    shared = in_second < links.n_features
    degrees = links.degrees[first].ravel()
    draw = np.repeat(np.repeat(np.arange(n), first.shape[1]), degrees)
    within = np.arange(draw.size) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    link = np.repeat(links.starts[first].ravel(), degrees) + within
    held = place_second[draw, links.other[link]] < links.n_features
    draw, link = draw[held], link[held]
    one, other = (
        (place_first[draw, feature[link]], place_second[draw, feature[link]])
        for feature in (links.one, links.other)
    )
    return _Draws(
        n, (np.nonzero(shared)[1], in_second[shared]), Matches(draw, link), one, other
    )


def _places(order: Any, d: int) -> Any:
    """Place of each feature in each order, d where it is not among the first ones."""
    places = np.full((len(order), d), d, dtype=np.int32)
    places[np.arange(len(order))[:, None], order] = np.arange(order.shape[1])
    return places

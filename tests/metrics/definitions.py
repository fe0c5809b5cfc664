"""The measures as the papers define them, pair by pair and feature by feature: slow, and plain to check.

Sets are Python sets, rows are lists; nothing here shares code with skstab.
"""

from functools import cache
from itertools import combinations, permutations, product
from math import comb, log, log2, sqrt

import numpy as np
from scipy import stats
from scipy.optimize import linear_sum_assignment, linprog


def sets_of(supports):
    return [set(np.flatnonzero(row)) for row in np.asarray(supports)]


def mean_over_pairs(similarity, items):
    return float(np.mean([similarity(a, b) for a, b in permutations(items, 2)]))


def _subset(similarity):
    """Average a similarity of two sets; 0/0 is 1 for identical sets and 0 for others."""

    def measure(supports):
        d = np.asarray(supports).shape[1]

        def guarded(a, b):
            try:
                return similarity(a, b, d)
            except ZeroDivisionError:
                return 1.0 if a == b else 0.0

        return mean_over_pairs(guarded, sets_of(supports))

    return measure


def _chance(a, b, d):
    return len(a) * len(b) / d


def _pearson(x, y):
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float(np.array_equal(x, y))
    return float(np.corrcoef(x, y)[0, 1])


def nogueira(supports):
    z = np.asarray(supports, dtype=float)
    m, d = z.shape
    mean = z.sum() / m
    if mean in (0, d):
        return 1.0
    return 1 - z.var(axis=0, ddof=1).mean() / ((mean / d) * (1 - mean / d))


def _npog(a, b, d):
    """One direction; where it is 0/0 the other one is 0 as well, unless the sets are identical."""
    return (len(a & b) - _chance(a, b, d)) / (len(a) - _chance(a, b, d))


def goh(supports):
    return float(np.asarray(supports, dtype=float).mean())


def davis(supports, penalty=1.0):
    z = np.asarray(supports, dtype=float)
    ever = (z.sum(axis=0) > 0).sum()
    if ever == 0:
        return 1.0
    return max(
        0.0,
        z.mean(axis=0).sum() / ever - penalty * np.median(z.sum(axis=1)) / z.shape[1],
    )


def krizek(supports):
    rows = [tuple(row) for row in np.asarray(supports)]
    shares = [rows.count(row) / len(rows) for row in set(rows)]
    return -sum(p * log2(p) for p in shares)


def guzman(supports):
    """1 − D_JS / D*_JS with q_if = z_if / k, appendix C.2.5."""
    z = np.asarray(supports, dtype=float)
    m, d = z.shape
    k = z[0].sum()
    if k in (0, d):
        return 1.0
    q = z / k
    mean = q.mean(axis=0)
    divergence = (
        sum(
            q[i, f] * log(q[i, f] / mean[f])
            for i in range(m)
            for f in range(d)
            if q[i, f] > 0
        )
        / m
    )
    return 1 - divergence / log(d / k)


def cwrel(supports):
    """(CW − CW_min) / (CW_max − CW_min), the extremes by handing out the same number of ones."""
    z = np.asarray(supports, dtype=int)
    m, d = z.shape
    total = int(z.sum())
    if total == 0:
        return 1.0

    def consistency(counts):
        return sum(c * (c - 1) for c in counts) / (total * (m - 1))

    even = [total // d + (f < total % d) for f in range(d)]
    piled = [m] * (total // m) + [total % m]
    low, high, value = consistency(even), consistency(piled), consistency(z.sum(axis=0))
    return value if abs(high - low) < 1e-15 else (value - low) / (high - low)


def lausser(supports):
    """Σ_i i² a^(i) / (M² k), a^(i) the number of features chosen exactly i times."""
    z = np.asarray(supports, dtype=int)
    m, k = z.shape[0], z[0].sum()
    if k == 0:
        return 1.0
    counts = z.sum(axis=0)
    return sum(i**2 * np.sum(counts == i) for i in range(1, m + 1)) / (m**2 * k)


def kappa_of_pair(a, b, d):
    agreed = (d - len(a ^ b)) / d
    chance = (len(a) * len(b) + (d - len(a)) * (d - len(b))) / d**2
    return (agreed - chance) / (1 - chance)


def novovicova(supports):
    z = np.asarray(supports, dtype=int)
    counts = [int(c) for c in z.sum(axis=0) if c]
    if not counts:
        return 1.0
    return sum(c * log2(c) for c in counts) / (sum(counts) * log2(len(z)))


def effective(supports, similarity=None, groups=None):
    """1 − tr(CS) / tr(CΣ₀), all matrices written out."""
    z = np.asarray(supports, dtype=float)
    d = z.shape[1]
    if groups is not None:
        similarity = np.equal.outer(np.asarray(groups), np.asarray(groups)).astype(
            float
        )
    sizes = z.sum(axis=1)
    mean = sizes.mean()
    covariance = np.atleast_2d(np.cov(z, rowvar=False))
    off = (np.mean(sizes**2) - mean) / max(d * d - d, 1) - mean**2 / d**2
    expected = np.full((d, d), off)
    np.fill_diagonal(expected, mean / d * (1 - mean / d))
    chance = np.trace(similarity @ expected)
    if abs(chance) < 1e-12:
        return 1.0
    return 1 - np.trace(similarity @ covariance) / chance


# -- sets in which similar features stand for each other ---------------------------------------------------------------


class Similar:
    """A similarity with a threshold; hashable, so that what random sets share is worked out once."""

    def __init__(self, similarity, threshold):
        self.values = np.asarray(similarity, dtype=float)
        self.threshold = threshold
        self.d = len(self.values)

    def __eq__(self, other):
        return hash(self) == hash(other)

    def __hash__(self):
        return hash((self.values.tobytes(), self.threshold))

    def edges(self, a, b):
        """(similarity, x, y) for the similar x of a and y of b."""
        return [
            (self.values[x, y], x, y)
            for x in sorted(a)
            for y in sorted(b)
            if self.values[x, y] >= self.threshold
        ]


def matched(a, b, similar):
    edges = np.zeros((similar.d, similar.d))
    for _, x, y in similar.edges(a - b, b - a):
        edges[x, y] = 1
    return len(a & b) + edges[linear_sum_assignment(edges, maximize=True)].sum()


def matched_greedily(a, b, similar):
    free = (a - b) | (b - a)
    taken = 0
    for _, x, y in sorted(
        similar.edges(a - b, b - a), key=lambda e: (-e[0], min(e[1:]), max(e[1:]))
    ):
        if {x, y} <= free:
            free -= {x, y}
            taken += 1
    return len(a & b) + taken


def with_similar(a, b, similar):
    """Number of features of a alone with a similar one in b alone."""
    return len({x for _, x, _ in similar.edges(a - b, b - a)})


def mean_similarities(a, b, similar):
    """Sum over the features of a alone of their mean similarity to the similar ones in b alone."""
    found = [[s for s, _, _ in similar.edges({x}, b - a)] for x in sorted(a - b)]
    return sum(sum(values) / len(values) for values in found if values)


def counted(a, b, similar):
    return len(a & b) + min(with_similar(a, b, similar), with_similar(b, a, similar))


def averaged(a, b, similar):
    return len(a & b) + min(
        mean_similarities(a, b, similar), mean_similarities(b, a, similar)
    )


def yu_intersection(a, b, similar):
    return len(a & b) + (with_similar(a, b, similar) + with_similar(b, a, similar)) / 2


def all_sets(d, size):
    return [set(chosen) for chosen in combinations(range(d), size)]


def random_sets(d, size, n_draws, block_size, seed, side):
    """The first features of shuffled orders, place by place, with a stream for each block of draws."""
    sets = []
    for block in range(-(-n_draws // block_size)):
        rng = np.random.default_rng([seed, block, side])
        orders = [
            list(range(d)) for _ in range(min(block_size, n_draws - block * block_size))
        ]
        for place in range(size):
            for order, other in zip(
                orders, rng.integers(place, d, len(orders)), strict=True
            ):
                order[place], order[other] = order[other], order[place]
        sets += [set(order[:size]) for order in orders]
    return sets


@cache
def expected(intersection, similar, sizes, random_state, n_draws, block_size):
    """Mean over all sets of two sizes, or over random ones where there are more than n_draws pairs of sets."""
    d, (a, b) = similar.d, sorted(sizes)
    if intersection is yu_intersection or comb(d, a) * comb(d, b) <= n_draws:
        pairs = product(all_sets(d, a), all_sets(d, b))
    else:
        seed = np.random.RandomState(random_state).randint(2**31 - 1)
        draws = (
            random_sets(d, size, n_draws, block_size, seed, side)
            for side, size in enumerate((a, b))
        )
        pairs = zip(*draws, strict=True)
    return float(np.mean([intersection(one, other, similar) for one, other in pairs]))


def _corrected(intersection, maximum=lambda a, b: sqrt(a * b)):
    """(I − E) / (I_max − E) averaged over pairs; I / I_max where random sets reach the maximum, too."""

    def measure(
        supports,
        similarity,
        threshold=0.9,
        random_state=None,
        n_draws=10_000,
        block_size=500,
    ):
        similar = Similar(similarity, threshold)

        def value(a, b):
            highest = maximum(len(a), len(b))
            if highest == 0:
                return float(a == b)
            chance = expected(
                intersection,
                similar,
                (len(a), len(b)),
                random_state,
                n_draws,
                block_size,
            )
            if highest - chance < 1e-12 * highest:
                chance = 0.0
            return (intersection(a, b, similar) - chance) / (highest - chance)

        return mean_over_pairs(value, sets_of(supports))

    return measure


def zucknick(supports, similarity, threshold=0.9, random_state=None):
    similar = Similar(similarity, threshold)

    def towards(a, b):
        return sum(s for s, _, _ in similar.edges(a, b - a)) / len(b) if b else 0.0

    def value(a, b):
        return (
            (len(a & b) + towards(a, b) + towards(b, a)) / len(a | b) if a | b else 1.0
        )

    return mean_over_pairs(value, sets_of(supports))


def covered(a, b, similar):
    """Number of features of a that are in b, or similar to one that is."""
    return len({x for x in a if x in b or similar.edges({x}, b)})


@cache
def expected_covered(similar, a, b):
    """Mean over all sets of two sizes, the first covered by the second."""
    pairs = product(all_sets(similar.d, a), all_sets(similar.d, b))
    return float(np.mean([covered(one, other, similar) for one, other in pairs]))


def _covering(chance):
    """(C − E) / (k − E) in both directions; where one of them is 0/0, sets of the same size agree and others do not."""

    def measure(supports, similarity, threshold=0.9, random_state=None):
        similar = Similar(similarity, threshold)

        def one_way(a, b):
            return covered(a, b, similar) - chance(similar, len(a), len(b)), len(
                a
            ) - chance(similar, len(a), len(b))

        def value(a, b):
            ways = [one_way(a, b), one_way(b, a)]
            if min(below for _, below in ways) < 1e-12:
                return float(len(a) == len(b))
            return sum(above / below for above, below in ways) / 2

        return mean_over_pairs(value, sets_of(supports))

    return measure


def heaviest(a, b, similar):
    """Weight of the best way to pair features of a with features of b, all ways tried."""
    if not a:
        return 0.0
    x, *rest = sorted(a)
    partners = [(1.0, x)] * (x in b) + [
        (s, y) for s, _, y in similar.edges({x}, b) if y != x
    ]
    ways = [weight + heaviest(rest, b - {y}, similar) for weight, y in partners]
    return max([heaviest(rest, b, similar), *ways])


def redundancy_dice(supports, similarity, threshold=0.9, random_state=None):
    similar = Similar(similarity, threshold)

    def value(a, b):
        return 2 * heaviest(a, b, similar) / (len(a) + len(b)) if a or b else 1.0

    return mean_over_pairs(value, sets_of(supports))


# -- weights and rankings ----------------------------------------------------------------------------------------------


def pearson(weights):
    return mean_over_pairs(_pearson, list(np.asarray(weights, dtype=float)))


def spearman(weights):
    return pearson([stats.rankdata(row) for row in np.asarray(weights, dtype=float)])


def canberra(rankings, location=None):
    ranks = np.asarray(rankings)
    d = ranks.shape[1]
    k = d if location is None else location
    chi = (k + 1) * (2 * d - k) / d * log(4) - (2 * k * d + 3 * d - k - k**2) / d

    def similarity(a, b):
        a, b = [min(r, k + 1) for r in a], [min(r, k + 1) for r in b]
        return 1 - sum(abs(x - y) / (x + y) for x, y in zip(a, b, strict=True)) / chi

    return mean_over_pairs(similarity, list(ranks))


def importance_weighted(importances):
    """Equation (6) of hamer2021 as printed, importances scaled to a sum of k̄."""
    raw = np.abs(np.asarray(importances, dtype=float))
    d = raw.shape[1]
    scale = np.mean((raw > 0).sum(axis=1))
    if scale == 0:
        return 1.0
    rows = [scale * row / row.sum() if row.any() else row for row in raw]
    observed, expected = [], []
    for a, b in combinations(rows, 2):
        if not a.any() and not b.any():
            observed.append(scale)
            expected.append(scale)
        else:
            observed.append(np.minimum(a, b).sum())
            expected.append(np.minimum.outer(a, b).sum() / d)
    chance = np.mean(expected)
    if abs(scale - chance) < 1e-12:
        return 1.0
    return float(
        np.mean([o - e for o, e in zip(observed, expected, strict=True)])
        / (scale - chance)
    )


def grouped_importance(importances, groups):
    """Importances summed within groups, one column for each label."""
    raw = np.abs(np.asarray(importances, dtype=float))
    groups = np.asarray(groups)
    # A factor for each run changes nothing, and keeps sums of large numbers finite.
    raw = raw / np.maximum(raw.max(axis=1, keepdims=True), 1e-300)
    return importance_weighted(
        np.column_stack([raw[:, groups == g].sum(axis=1) for g in sorted(set(groups))])
    )


def most_moved(a, b, similarity):
    """The gain of the best plan between two dicts of masses, by linear programming."""
    gain = np.array([[1.0 if f == g else similarity[f][g] for g in b] for f in a])
    rows = np.kron(np.eye(len(a)), np.ones(len(b)))
    columns = np.kron(np.ones(len(a)), np.eye(len(b)))
    masses = [*a.values(), *b.values()]
    found = linprog(-gain.ravel(), A_ub=np.vstack([rows, columns]), b_ub=masses)
    return -found.fun


def most_moved_in_groups(a, b, similarity):
    """The same where features are copies of each other, or have nothing in common."""
    names = np.argmax(similarity, axis=1)
    sums = [np.bincount(names[list(m)], list(m.values()), len(names)) for m in (a, b)]
    return np.minimum(*sums).sum()


RANDOM_PAIRS = 2000


def transport(importances, similarity, random_state=None, without=None, moved=None):
    """(A − C) / (1 − C), with at least 2000 pairs of relabelled runs; `without` is a run that does not count."""
    raw = np.abs(np.asarray(importances, dtype=float))
    similarity = np.asarray(similarity)
    moved = moved or most_moved_in_groups
    m, d = raw.shape
    # A factor for each run changes nothing, and keeps sums of large numbers finite.
    raw = raw / np.maximum(raw.max(axis=1, keepdims=True), 1e-300)
    rows = [dict(enumerate(row / max(row.sum(), 1e-300))) for row in raw]
    rows = [{f: share for f, share in row.items() if share} for row in rows]
    rng = np.random.default_rng(np.random.RandomState(random_state).randint(2**31 - 1))

    def relabelled(row):
        features = rng.choice(d, len(row), replace=False).tolist()
        return dict(zip(features, row.values(), strict=True))

    def mean(pairs):
        values = [
            moved(a, b, similarity) if a and b else float(a == b)
            for i, j, a, b in pairs
            if without not in (i, j)
        ]
        return np.mean(values)

    pairs = [(i, j, rows[i], rows[j]) for i, j in combinations(range(m), 2)]
    n_draws = -(-RANDOM_PAIRS // len(pairs))
    observed = mean(pairs)
    expected = mean(
        [(i, j, relabelled(a), relabelled(b)) for i, j, a, b in n_draws * pairs]
    )
    room = 1 - expected
    return 1.0 if room < 1e-12 else float((observed - expected) / room)


# -- by name -----------------------------------------------------------------------------------------------------------

SUBSET = {
    "nogueira": nogueira,
    "kuncheva": _subset(
        lambda a, b, d: (len(a & b) - len(a) ** 2 / d) / (len(a) - len(a) ** 2 / d)
    ),
    "jaccard": _subset(lambda a, b, _: len(a & b) / len(a | b)),
    "dice": _subset(lambda a, b, _: 2 * len(a & b) / (len(a) + len(b))),
    "ochiai": _subset(lambda a, b, _: len(a & b) / sqrt(len(a) * len(b))),
    "hamming": _subset(lambda a, b, d: 1 - len(a ^ b) / d),
    "pog": _subset(lambda a, b, _: len(a & b) / len(a)),
    "npog": _subset(_npog),
    "lustgarten": _subset(
        lambda a, b, d: (
            (len(a & b) - _chance(a, b, d))
            / (min(len(a), len(b)) - max(0, len(a) + len(b) - d))
        )
    ),
    "wald": _subset(
        lambda a, b, d: (
            (len(a & b) - _chance(a, b, d)) / (min(len(a), len(b)) - _chance(a, b, d))
        )
    ),
    "phi": lambda supports: pearson(np.asarray(supports, dtype=float)),
    "kappa": _subset(kappa_of_pair),
    "novovicova": novovicova,
    "goh": goh,
    "davis": davis,
    "krizek": krizek,
    "guzman": guzman,
    "cwrel": cwrel,
    "lausser": lausser,
}
CONSTANT_SIZE = {"kuncheva", "krizek", "guzman", "lausser"}
WEIGHTS = {
    "pearson": pearson,
    "spearman": spearman,
    "importance_weighted": importance_weighted,
}
ADJUSTED = {
    "intersection_mbm": _corrected(matched),
    "intersection_greedy": _corrected(matched_greedily),
    "intersection_count": _corrected(counted),
    "intersection_mean": _corrected(averaged),
    "yu": _corrected(yu_intersection, lambda a, b: (a + b) / 2),
    "zucknick": zucknick,
    "pogr": _covering(lambda *_: 0.0),
    "npogr": _covering(expected_covered),
    "redundancy_dice": redundancy_dice,
}
RANKING = {"canberra": canberra}
# Every measure there is, for the tests that go through all of them.
EVERY = {
    **SUBSET,
    **ADJUSTED,
    "effective": effective,
    **WEIGHTS,
    "grouped_importance": grouped_importance,
    "transport": transport,
    **RANKING,
}


def value_without(name, data, run, **parameters):
    """The measure of the other runs; what is drawn for all of them stays as it is."""
    if name == "transport":
        return transport(data, without=run, **parameters)
    return EVERY[name](np.delete(data, run, axis=0), **parameters)


def parameters_for(name, d):
    """Parameters that join features, for the measures that forgive substitutes: the first two are one."""
    groups = [0, *range(d - 1)]
    if name in ("effective", "grouped_importance"):
        return {"groups": groups}
    if name in ADJUSTED or name == "transport":
        return {
            "similarity": np.equal.outer(groups, groups).astype(float),
            "random_state": 0,
        }
    return {}

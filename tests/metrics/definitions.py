"""The measures as the papers define them, pair by pair and feature by feature: slow, and plain to check.

Sets are Python sets, rows are lists; nothing here shares code with skstab.
"""

from itertools import combinations, permutations
from math import log, log2, sqrt

import numpy as np
from scipy import stats


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
    return max(0.0, z.mean(axis=0).sum() / ever - penalty * np.median(z.sum(axis=1)) / z.shape[1])


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
    divergence = sum(q[i, f] * log(q[i, f] / mean[f]) for i in range(m) for f in range(d) if q[i, f] > 0) / m
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


def effective(supports, similarity):
    """1 − tr(CS) / tr(CΣ₀), all matrices written out."""
    z = np.asarray(supports, dtype=float)
    d = z.shape[1]
    sizes = z.sum(axis=1)
    mean = sizes.mean()
    covariance = np.atleast_2d(np.cov(z, rowvar=False))
    off = (np.mean(sizes**2) - mean) / (d * d - d) - mean**2 / d**2
    expected = np.full((d, d), off)
    np.fill_diagonal(expected, mean / d * (1 - mean / d))
    return 1 - np.trace(similarity @ covariance) / np.trace(similarity @ expected)


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
    return float(np.mean([o - e for o, e in zip(observed, expected, strict=True)]) / (scale - chance))


SUBSET = {
    "nogueira": nogueira,
    "kuncheva": _subset(lambda a, b, d: (len(a & b) - len(a) ** 2 / d) / (len(a) - len(a) ** 2 / d)),
    "jaccard": _subset(lambda a, b, _: len(a & b) / len(a | b)),
    "dice": _subset(lambda a, b, _: 2 * len(a & b) / (len(a) + len(b))),
    "ochiai": _subset(lambda a, b, _: len(a & b) / sqrt(len(a) * len(b))),
    "hamming": _subset(lambda a, b, d: 1 - len(a ^ b) / d),
    "pog": _subset(lambda a, b, _: len(a & b) / len(a)),
    "npog": _subset(_npog),
    "lustgarten": _subset(
        lambda a, b, d: (len(a & b) - _chance(a, b, d)) / (min(len(a), len(b)) - max(0, len(a) + len(b) - d))
    ),
    "wald": _subset(lambda a, b, d: (len(a & b) - _chance(a, b, d)) / (min(len(a), len(b)) - _chance(a, b, d))),
    "phi": lambda supports: pearson(np.asarray(supports, dtype=float)),
    "goh": goh,
    "davis": davis,
    "krizek": krizek,
    "guzman": guzman,
    "cwrel": cwrel,
    "lausser": lausser,
}
CONSTANT_SIZE = {"kuncheva", "krizek", "guzman", "lausser"}
WEIGHTS = {"pearson": pearson, "spearman": spearman, "importance_weighted": importance_weighted}

"""Coverage of the intervals about other data over 235 settings, by selectors that go through all resamples at once.

A population, a number of rows and a selector are a setting. Its true stabilities Φ(n/2) and Φ(n) are those of 250
independent data sets of each size. From each of 80 further data sets of n rows: 16 pairs of halves, 30 bootstraps and 8
pairs of quarters, as `assess_selector` has them. `replication_stability` and `full_size_interval` are compared with
their first formulas (the spread of the pairs alone, bootstraps in the centre), `compare_replication` with the true
difference of every two selectors of a population.

The settings come in two lists, both fixed before they were run: those on which the constants were looked at, and those
that were kept for the end. What the selectors select is stored in a folder as it is found; a second call makes the
tables of it. Filters are sums over rows, so that those of all resamples are a few matrix products; the lasso (penalty
as a share of the standard deviation of y, standardised columns) is coordinate descent on the Gram matrices of all
resamples together.

    python benchmarks/replication.py --store /tmp/replication      # about eight minutes on one core
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import argparse
import warnings
import zlib
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import stdtr
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import Lasso

from skstab.metrics import (
    compare_replication,
    full_size_interval,
    nogueira_stability,
    replication_stability,
)
from skstab.model_selection import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    DisjointBlocksSplit,
)

N_PAIRS, N_BOOTSTRAPS, N_QUARTERS = 16, 30, 8

# -- populations: (generator, number of rows) → X, y, and groups where rows come in groups -----------------------------


def effects(largest, smallest, n):
    """Effects of falling size and alternating sign."""
    return np.linspace(largest, smallest, n) * np.where(np.arange(n) % 2, -1.0, 1.0)


def linear(rng, n, d=60, rho=0.0, noise=2.0, df=None):
    X, beta = rng.standard_normal((n, d)), effects(1.5, 0.3, 8)
    for f in range(1, d if rho else 1):
        X[:, f] = rho * X[:, f - 1] + np.sqrt(1 - rho**2) * X[:, f]
    error = rng.standard_normal(n) if df is None else rng.standard_t(df, n)
    return X, X[:, : 3 * len(beta) : 3] @ beta + noise * error


def equal(rng, n, d=60, n_true=10, effect=0.35):
    X = rng.standard_normal((n, d))
    return X, X[:, :n_true].sum(axis=1) * effect + rng.standard_normal(n)


def noise(rng, n, d=60):
    return rng.standard_normal((n, d)), rng.standard_normal(n)


def unequal(rng, n, d=60):
    """Classes of 1:9."""
    X = rng.standard_normal((n, d))
    risk = X[:, :8] @ effects(1.2, 0.3, 8) + rng.logistic(size=n)
    y = np.zeros(n)
    y[np.argsort(-risk)[: n // 10]] = 1
    return X, y


def blocks(rng, n, d=80):
    shared = np.repeat(rng.standard_normal((n, d // 5)), 5, axis=1)
    X = np.sqrt(0.8) * shared + np.sqrt(0.2) * rng.standard_normal((n, d))
    return X, X[:, [0, 5, 10, 15]].sum(axis=1) + 2 * rng.standard_normal(n)


def heavy_features(rng, n, d=60):
    X = rng.standard_t(3, (n, d))
    return X, X[:, :8] @ effects(0.6, 0.15, 8) + rng.standard_t(3, n)


def counts(rng, n, d=50):
    X = rng.poisson(np.geomspace(0.2, 8, d), (n, d)).astype(float)
    s = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 0.1)
    rate = np.exp(np.clip(0.5 + 0.15 * s[:, ::6].sum(axis=1), -5, 3))
    return X, rng.poisson(rate).astype(float)


def likert(rng, n, d=48):
    """Items of 1 to 5 of six scales, three of which have an effect."""
    F = rng.standard_normal((n, 6))
    items = np.repeat(F, 8, axis=1) * 0.7 + 0.7 * rng.standard_normal((n, d))
    X = np.clip(np.round(items * 1.1 + 3), 1, 5)
    return X, F[:, :3] @ [0.6, 0.4, 0.2] + 0.3 * X[:, 40] + rng.standard_normal(n)


def copies(rng, n, d=60):
    X = rng.standard_normal((n, d))
    X[:, 10:20] = X[:, :10] + 0.2 * rng.standard_normal((n, 10))
    return X, X[:, :10] @ effects(1.0, 0.2, 10) + 1.5 * rng.standard_normal(n)


def clustered(rng, n, d=50, size=5):
    """Groups of five rows that resemble each other; ten features are constant within groups."""
    group = np.repeat(np.arange(n // size), size)
    X = 0.7 * rng.standard_normal((n // size, d))[group]
    X += 0.7 * rng.standard_normal((n, d))
    X[:, 40:] = rng.standard_normal((n // size, 10))[group]
    of_group = rng.standard_normal(n // size)[group]
    signal = X[:, [0, 1, 2, 3, 4, 40, 41]] @ effects(0.6, 0.2, 7)
    return X, signal + of_group + rng.standard_normal(n), group


def binary(rng, n, d=80):
    X = (rng.random((n, d)) < np.linspace(0.05, 0.5, d)).astype(float)
    risk = X[:, 40:48].sum(axis=1) - 3.3 + rng.logistic(size=n)
    return X, (risk > 0).astype(float)


SIMULATED = {
    "linear": linear,
    "chain": partial(linear, rho=0.8),
    "equal": equal,
    "noise": noise,
    "unequal": unequal,
    "blocks": blocks,
    "heavy": partial(linear, df=2.5, noise=1.0),
    "heavyX": heavy_features,
    "counts": counts,
    "likert": likert,
    "copies": copies,
    "clustered": clustered,
    "binary": binary,
    "d600": partial(linear, d=600),
    "d600 equal": partial(equal, d=600),
}


def finite(folder, name):
    """Rows drawn with replacement from a data set; None where the file is missing."""
    if name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
    elif name == "wine":
        X, y = load_wine(return_X_y=True)
        y = y == 1
    elif name == "digits":
        X, y = load_digits(return_X_y=True)
        y = y % 2
    else:
        path = folder / f"{name}.npz"
        if not path.exists():
            return None
        stored = np.load(path)
        X = stored["X"].astype(float)
        y = np.unique(stored["y"], return_inverse=True)[1]
    X, y = X[:, X.std(axis=0) > 0], np.asarray(y, dtype=float)

    def draw(rng, n):
        while True:
            rows = rng.integers(len(X), size=n)
            sizes = np.unique(y[rows], return_counts=True)[1]
            if sizes.min() >= 8 and len(sizes) > 1:
                return X[rows], y[rows]

    return draw


# -- selectors: (X, y, how often each resample has each row) → what each resample selects ------------------------------


def moments(X, y, W):
    """Correlations with y, sizes, and means and variances of the columns, in every resample."""
    W = W.astype(np.float64)
    n, X, y = W.sum(axis=1)[:, None], X - X.mean(axis=0), y - y.mean()
    mean_x, mean_y = W @ X / n, (W @ y)[:, None] / n
    var_x = W @ (X * X) / n - mean_x**2
    var_y = (W @ (y * y))[:, None] / n - mean_y**2
    covariance = W @ (X * y[:, None]) / n - mean_x * mean_y
    varies = (var_x > 1e-10) & (var_y > 1e-12)
    r = np.where(varies, covariance / np.sqrt(np.where(varies, var_x * var_y, 1)), 0.0)
    return np.clip(r, -1 + 1e-12, 1 - 1e-12), n, mean_x, var_x


def statistic(X, y, W):
    r, n, *_ = moments(X, y, W)
    return np.abs(r) * np.sqrt((n - 2) / (1 - r * r)), n


def above(limit, X, y, W):
    return statistic(X, y, W)[0] > limit


def false_discovery_rate(q, X, y, W):
    t, n = statistic(X, y, W)
    p = 2 * stdtr(n - 2, -t)
    d, ordered = p.shape[1], np.sort(p, axis=1)
    holds = ordered <= q * np.arange(1, d + 1) / d
    k = np.where(holds.any(axis=1), d - np.argmax(holds[:, ::-1], axis=1), 0)
    limit = ordered[np.arange(len(p)), np.maximum(k - 1, 0)]
    return p <= np.where(k > 0, limit, -1)[:, None]


def best(k, X, y, W):
    r = np.abs(moments(X, y, W)[0])
    found = np.zeros(r.shape, dtype=bool)
    order = np.argsort(-r, axis=1, kind="stable")
    np.put_along_axis(found, order[:, :k], True, axis=1)
    return found


def correlations(X, y, W):
    """Correlations of the columns, and with y, in every resample."""
    r, n, mean, var = moments(X, y, W)
    centred, w = X - X.mean(axis=0), W.astype(float)
    scale = np.sqrt(np.where(var > 1e-10, var, 1))
    products = np.matmul(centred.T[None] * w[:, None, :], centred) / n[:, :, None]
    products -= mean[:, :, None] * mean[:, None, :]
    return products / (scale[:, :, None] * scale[:, None, :]), r


def descend(C, r, penalty, tolerance=1e-3):
    """Coordinate descent of all resamples together: which coefficients are not zero."""
    b, gradient = np.zeros_like(r), r.copy()
    by_column = np.ascontiguousarray(C.transpose(1, 0, 2))
    for _ in range(100):
        largest = 0.0
        for f in np.flatnonzero(((b != 0) | (np.abs(gradient) > penalty)).any(axis=0)):
            z = gradient[:, f] + b[:, f]
            new = np.sign(z) * np.maximum(np.abs(z) - penalty, 0)
            step = new - b[:, f]
            if np.abs(step).max() > 0:
                gradient -= by_column[f] * step[:, None]
                b[:, f] = new
                largest = max(largest, np.abs(step).max())
        if largest < tolerance:
            break
    return b != 0


def lasso(penalty, X, y, W):
    if X.shape[1] <= 150:
        return descend(*correlations(X, y, W), penalty)
    found = np.zeros((len(W), X.shape[1]), dtype=bool)
    for run, w in enumerate(W):
        rows = np.repeat(np.arange(len(w)), w)
        Z, target = X[rows], y[rows]
        scale = Z.std(axis=0)
        Z = (Z - Z.mean(axis=0)) / np.where(scale > 1e-9, scale, 1)
        target = (target - target.mean()) / max(target.std(), 1e-9)
        model = Lasso(penalty, tol=1e-3, max_iter=300).fit(Z, target)
        found[run] = model.coef_ != 0
    return found


SELECTORS = {
    "t>3": partial(above, 3.0),
    "fdr": partial(false_discovery_rate, 0.1),
    "1best": partial(best, 1),
    "3best": partial(best, 3),
    "10best": partial(best, 10),
    "lasso.2": partial(lasso, 0.2),
    "lasso.1": partial(lasso, 0.1),
    "lasso.35": partial(lasso, 0.35),
}
ALL = ["t>3", "fdr", "1best", "3best", "10best", "lasso.2", "lasso.1"]
MOST = ["t>3", "fdr", "1best", "10best", "lasso.2"]
FILTERS = ["t>3", "fdr", "3best", "10best"]

LOOKED_AT = [
    *(("linear", n, ALL) for n in (60, 120, 250, 500)),
    *(("chain", n, MOST) for n in (100, 400)),
    *(("equal", n, ALL) for n in (80, 160, 320, 640)),
    ("noise", 100, MOST),
    *(("unequal", n, MOST) for n in (200, 600)),
    ("blocks", 150, MOST),
    ("breast cancer", 100, ALL),
    ("breast cancer", 300, MOST),
    ("spambase", 200, ALL),
    ("golub", 60, FILTERS),
]
KEPT_FOR_THE_END = [
    *(("heavy", n, MOST) for n in (150, 600)),
    ("heavyX", 200, MOST),
    *(("counts", n, MOST) for n in (60, 200)),
    ("likert", 150, ALL),
    ("likert", 500, MOST),
    ("copies", 100, MOST),
    ("copies", 300, ALL),
    *(("clustered", n, MOST) for n in (200, 500)),
    ("binary", 150, MOST),
    ("linear", 40, MOST),
    ("linear", 800, ALL),
    ("d600", 100, [*FILTERS, "lasso.35"]),
    *(("d600 equal", n, FILTERS) for n in (100, 300)),
    ("madelon", 400, FILTERS),
    ("gravier", 100, FILTERS),
    ("digits", 100, MOST),
    ("digits", 400, ALL),
    ("ionosphere", 150, ALL),
    ("sonar", 120, MOST),
    ("wine", 60, MOST),
    ("alon", 50, FILTERS),
]

# -- what is selected --------------------------------------------------------------------------------------------------


def runs_of_truth(draw, rng, n_rows, names, n_sets):
    """What each selector selects in independent data sets."""
    found, products = {name: [] for name in names}, []
    for _ in range(n_sets):
        X, y = draw(rng, n_rows)[:2]
        whole, few = np.ones((1, len(X)), dtype=int), X.shape[1] <= 150
        if few and any(name.startswith("lasso") for name in names):
            products.append(correlations(X, y, whole))
        for name in names:
            if not (few and name.startswith("lasso")):
                found[name].append(SELECTORS[name](X, y, whole)[0])
    for name in names if products else ():
        if name.startswith("lasso"):
            some = [products[at : at + 50] for at in range(0, n_sets, 50)]
            stacks = [
                [np.concatenate(one) for one in zip(*part, strict=False)]
                for part in some
            ]
            penalty = float(name.removeprefix("lasso"))
            found[name] = np.concatenate([descend(*one, penalty) for one in stacks])
    return {name: np.array(one) for name, one in found.items()}


def resamples(X, y, groups, number, *, classes):
    """How often each half, bootstrap and quarter has each row."""
    n = len(X)
    n_units = n if groups is None else len(np.unique(groups))
    of_all = {"stratify": classes, "random_state": number}
    splitters = [
        ComplementaryPairsSplit(2 * N_PAIRS, **of_all),
        BootstrapSplit(N_BOOTSTRAPS, **of_all),
        DisjointBlocksSplit([n_units // 4], n_repeats=N_QUARTERS, **of_all),
    ]
    target = y.astype(int) if classes else y
    params = {} if groups is None else {"groups": groups}
    return np.array(
        [
            np.bincount(rows, minlength=n)
            for splitter in splitters
            for rows, _ in splitter.split(X, target, **params)
        ]
    )


def make(name, n_rows, names, folder, data, n_sets, n_truth):
    """Store what the selectors of one population select."""
    draw = SIMULATED.get(name) or finite(data, name)
    if draw is None:
        print(f"left out, no file: {name}")
        return
    rng = np.random.default_rng(zlib.crc32(f"{name}{n_rows}".encode()))
    classes = name in ("unequal", "binary") or name not in SIMULATED
    truths = [
        runs_of_truth(draw, rng, size, names, n_truth) for size in (n_rows // 2, n_rows)
    ]
    sets = {selector: [] for selector in names}
    for number in range(n_sets):
        X, y, *groups = draw(rng, n_rows)
        W = resamples(X, y, groups[0] if groups else None, number, classes=classes)
        for selector in names:
            sets[selector].append(SELECTORS[selector](X, y, W))
    for selector in names:
        half, full = (np.packbits(one[selector], axis=1) for one in truths)
        packed = np.packbits(np.array(sets[selector]), axis=2)
        path = path_of(folder, name, n_rows, selector)
        np.savez_compressed(path, d=X.shape[1], half=half, full=full, sets=packed)


def path_of(folder, name, n_rows, selector):
    return folder / f"{name.replace(' ', '_')}-{n_rows}-{selector}.npz"


def stored(path):
    """What was selected from half of the rows and all rows, and for each data set by its resamples."""
    found = np.load(path)
    return [
        np.unpackbits(found[kind], axis=-1, count=int(found["d"])).astype(bool)
        for kind in ("half", "full", "sets")
    ]


# -- what the intervals say, of all data sets of a setting together ----------------------------------------------------
# The formulas of METHODS on stacks of tables; `check` compares them with the package.

LEVEL_T = stats.t(N_PAIRS - 1).ppf(0.975)


def stability(selected, squares, m, d):
    """Φ of m runs from the number of selected features and the sum of squared counts."""
    below = (m - 1) * selected * (m * d - selected)
    above = (selected * m - squares) * m * d
    return np.where(below > 0, 1 - above / np.where(below > 0, below, 1), 1.0)


def over_runs(Z):
    """Φ of the runs of each table, and of those without each run."""
    m, d = Z.shape[1:]
    c = Z.sum(axis=1).astype(float)
    selected, squares, k = c.sum(axis=1), (c * c).sum(axis=1), Z.sum(axis=2)
    fewer = squares[:, None] - 2 * np.einsum("sf,srf->sr", c, Z) + k
    without = stability(selected[:, None] - k, fewer, m - 1, d)
    return stability(selected, squares, m, d), without


class Halves:
    """Stability within pairs of halves, its even and odd parts, and the least deviation."""

    def __init__(self, Z):
        self.Z, d = Z, Z.shape[2]
        shared = (Z[:, ::2] & Z[:, 1::2]).sum(axis=2).astype(float)
        size = (Z[:, ::2].sum(axis=2) + Z[:, 1::2].sum(axis=2)) / 2
        a, k = shared.mean(axis=1), size.mean(axis=1)
        v = k - k * k / d
        self.had_choice = v > 0
        v = np.where(self.had_choice, v, 1)
        self.phi = np.where(self.had_choice, (a - k * k / d) / v, 1.0)
        slope = 2 * k / d + self.phi * (1 - 2 * k / d)
        moved = shared - a[:, None] - slope[:, None] * (size - k[:, None])
        self.g = self.phi[:, None] + moved / v[:, None]
        without = over_runs(Z)[1]
        self.odd = (Z.shape[1] - 1) / 2 * (without[:, 1::2] - without[:, ::2])
        p, whole = 1 - 0.05 ** (1 / N_PAIRS), np.clip(k.round(), 1, d - 1)
        self.least = np.sqrt(p * (1 - p)) / (whole - whole * whole / d)
        self.least = np.where(self.had_choice, self.least, 0)

    def variance(self, even=None, odd=None, least=None):
        """Variance over data sets, of these halves or of the parts that are given."""
        least = self.least if least is None else least
        even = (self.g if even is None else even).var(axis=1, ddof=1)
        odd = ((self.odd if odd is None else odd) ** 2).mean(axis=1)
        return 0.35 * (np.maximum(even, least**2) + np.maximum(odd, least**2))


def angle(x):
    return np.arcsin(np.sqrt(np.clip((x + 0.1) / 1.2, 0, 1)))


def ends(halves, centre, more, lowest):
    inside = np.clip(halves.phi, 0, 1)
    variance = halves.variance() / (4 * (inside + 0.1) * (1.1 - inside)) + more
    half = LEVEL_T * np.sqrt(variance)
    low, high = (
        np.sin(np.clip(angle(centre) + sign * half, 0, np.pi / 2)) ** 2 * 1.2 - 0.1
        for sign in (-1, 1)
    )
    return known(halves, np.minimum(low, centre), np.maximum(high, centre), lowest)


def known(halves, low, high, lowest):
    """Clipped, and the whole range where halves had nothing to choose."""
    low, high = np.clip(low, lowest, 1), np.clip(high, lowest, 1)
    return np.where(halves.had_choice, [low, high], [[lowest], [1.0]])


def continued(halves, quarters, bootstraps):
    half, quarter = (
        np.log(x / (1 - x))
        for x in np.clip([halves.phi, Halves(quarters).phi], 0.03, 0.97)
    )
    rise = 0.75 * np.clip(half - quarter, 0, 2.5)
    twice = 2 * halves.phi / (1 + np.maximum(halves.phi, 0))
    expected = np.maximum(twice, 1 / (1 + np.exp(-half - rise)))
    return np.where(bootstraps > halves.phi, (expected + bootstraps) / 2, expected)


def first_formulas(halves, bootstraps, lowest):
    """The intervals as they were: by the spread of the pairs alone, around the bootstraps for the full size."""
    spread = LEVEL_T * np.maximum(halves.g.std(axis=1, ddof=1), halves.least)
    half = spread * np.sqrt(1 / N_PAIRS + 1)
    low, high = halves.phi - half, halves.phi + half
    half = spread * np.sqrt(1 / N_PAIRS + 2)
    full = np.minimum(bootstraps - half, low), bootstraps + half
    return known(halves, low, high, -1), known(halves, *full, lowest)


def coverage(path):
    """Share of the data sets whose intervals hold the truth, and their width, now and by the first formulas."""
    at_half, at_full, sets = stored(path)
    of_halves, whole, quarters = np.split(
        sets, [2 * N_PAIRS, sets.shape[1] - 2 * N_QUARTERS], axis=1
    )
    halves, lowest = Halves(of_halves), -1 / (N_BOOTSTRAPS - 1)
    bootstraps = over_runs(whole)[0]
    now = ends(halves, halves.phi, 0.0002, -1)
    full = ends(halves, continued(halves, quarters, bootstraps), 0.006, lowest)
    first, first_full = first_formulas(halves, bootstraps, lowest)
    check(now[:, 0], replication_stability(of_halves[0]))
    of_package = full_size_interval(whole[0], of_halves[0], quarters=quarters[0])
    if halves.had_choice[0]:
        check(full[:, 0], of_package)
    truths = nogueira_stability(at_half), nogueira_stability(at_full)
    kinds = {
        "replication": (now, truths[0]),
        "first replication": (first, truths[0]),
        "full size": (full, truths[1]),
        "first full size": (first_full, truths[1]),
    }
    row = {"true at half": truths[0], "true": truths[1]}
    for kind, ((low, high), truth) in kinds.items():
        row[kind] = np.mean((low <= truth) & (truth <= high))
        row[f"{kind}, width"] = np.mean(high - low)
    return pd.Series(row)


def check(found, expected):
    """The formulas of this file are those of the package."""
    np.testing.assert_allclose(found, (expected.low, expected.high), atol=1e-9)


def difference(a, b, truth):
    """The same of the difference of two selectors, with the share of significant ones and those of the wrong sign."""
    least = np.maximum(a.least, b.least)
    error = np.sqrt(a.variance(a.g - b.g, a.odd - b.odd, least) + 0.0002)
    found, half = a.phi - b.phi, LEVEL_T * error
    same = (a.Z == b.Z).all(axis=(1, 2))
    used = a.had_choice & b.had_choice & ~same
    if used.sum() < 20:
        return None
    first = np.flatnonzero(used)[0]
    of_package = compare_replication(a.Z[first], b.Z[first])
    check((found[first] - half[first], found[first] + half[first]), of_package)
    clear = np.abs(found) > half
    shares = np.abs(found - truth) <= half, clear, clear & (found * truth < 0), 2 * half
    return [one[used].mean() for one in shares]


def show(title, table):
    print(f"\n## {title}\n")
    print(table.round(3).to_string())


def summary(found):
    """Mean and worst coverage, mean width, and the width relative to the first formula."""
    rows = {}
    for kind in ("replication", "first replication", "full size", "first full size"):
        width = found[f"{kind}, width"].mean()
        before = found[f"first {kind.removeprefix('first ')}, width"].mean()
        rows[kind] = {
            "coverage": found[kind].mean(),
            "worst": found[kind].min(),
            "of": found[kind].idxmin(),
            "width": width,
            "of the first": width / before,
        }
    return pd.DataFrame(rows).T


def tables(label, settings, folder, options):
    """Make what is missing, and print what the intervals say of one list of settings."""
    folder.mkdir(parents=True, exist_ok=True)
    found, pairs = {}, []
    for name, n_rows, names in settings:
        paths = {one: path_of(folder, name, n_rows, one) for one in names}
        if not all(path.exists() for path in paths.values()):
            sizes = options.sets, options.truth
            make(name, n_rows, names, folder, options.data, *sizes)
        if all(path.exists() for path in paths.values()):
            found |= {path.stem: coverage(path) for path in paths.values()}
            pairs += differences_of(paths)
        print(f"  {name}, {n_rows} rows", flush=True)
    table = pd.DataFrame(found).T
    show(f"{label}: {len(table)} settings", summary(table))
    for kind in ("replication", "full size"):
        show(f"Worst of {kind}", table.nsmallest(6, kind)[[kind]])
    columns = ["of", "true", "coverage", "significant", "wrong sign", "width"]
    columns += ["true at n", "bootstraps: coverage", "bootstraps: wrong sign"]
    both = pd.DataFrame(pairs, columns=columns)
    spread = both.drop(columns="of").describe().loc[["mean", "min", "max"]]
    show(f"{len(both)} differences", spread)
    show("Worst differences", both.nsmallest(6, "coverage"))
    show("Worst by bootstraps", both.nlargest(6, "bootstraps: wrong sign"))
    for low, high in ((0, 0.02), (0.2, 0.4)):
        some = both[both["true"].abs().between(low, high)]
        share = some["significant"].mean()
        print(f"\n|true| {low} to {high}: {len(some)}, significant {share:.3f}")


def differences_of(paths):
    """What is said of every two selectors of one population, on halves and on bootstraps."""
    of_all = {}
    for name, path in paths.items():
        at_half, at_full, sets = stored(path)
        of_halves, whole, _ = np.split(
            sets, [2 * N_PAIRS, sets.shape[1] - 2 * N_QUARTERS], axis=1
        )
        truths = nogueira_stability(at_half), nogueira_stability(at_full)
        of_all[name] = *truths, Halves(of_halves), over_runs(whole)
    rows = []
    for a, b in combinations(of_all, 2):
        (half_a, full_a, x, *boot_a), (half_b, full_b, y, *boot_b) = (
            of_all[a],
            of_all[b],
        )
        said = difference(x, y, half_a - half_b)
        if said is not None:
            bootstraps = by_bootstraps(*boot_a, *boot_b, full_a - full_b)
            names = f"{paths[a].stem} − {b}"
            rows.append((names, half_a - half_b, *said, full_a - full_b, *bootstraps))
    return rows


def by_bootstraps(a, b, truth):
    """Coverage of the paired jackknife over bootstraps, read as an answer about Φ(n), and its wrong signs."""
    (phi_a, without_a), (phi_b, without_b) = a, b
    m, moved = without_a.shape[1], without_a - without_b
    spread = np.sqrt((m - 1) / m) * (moved - moved.mean(axis=1, keepdims=True))
    half = stats.t(m - 1).ppf(0.975) * np.sqrt((spread**2).sum(axis=1))
    found = phi_a - phi_b
    wrong = (np.abs(found) > half) & (found * truth < 0)
    return np.mean(np.abs(found - truth) <= half), wrong.mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--store", type=Path, default=Path("replication"))
    parser.add_argument("--sets", type=int, default=80)
    parser.add_argument("--truth", type=int, default=250)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # halves that select nothing
    tables("Looked at", LOOKED_AT, options.store / "tune", options)
    tables("Kept for the end", KEPT_FOR_THE_END, options.store / "held", options)


if __name__ == "__main__":
    main()

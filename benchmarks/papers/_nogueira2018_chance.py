"""Nogueira et al. (2018), sections 3.5, 4 and 7.2: random selections, what is estimated, and redundant features."""

from itertools import combinations, product

import numpy as np
from _simulations import draw_runs, probabilities
from _tables import claim, compare, number
from joblib import Parallel, delayed

from skstab import get_measure, stability_score, stability_test
from skstab.metrics import (
    nogueira_stability,
    population_stability,
    random_selection_test,
)

# -- section 3.5: the null model ---------------------------------------------------------------------------------------


def expected_by_chance(measure, d, sizes):
    """Mean over all selections of these sizes."""
    rows = (
        [np.isin(np.arange(d), chosen) for chosen in combinations(range(d), size)]
        for size in sizes
    )
    return float(
        np.mean(
            [
                stability_score(np.array(runs), measure=measure)
                for runs in product(*rows)
            ]
        )
    )


def random_selections(n_features, sizes, seed):
    rng = np.random.default_rng((*sizes, seed))
    return (
        rng.random((len(sizes), n_features)).argsort(axis=1)
        < np.asarray(sizes)[:, None]
    )


def rejections(n_features, sizes, repeats):
    """Share of random selections that either test calls more stable than chance at 5%."""

    def one(seed):
        runs = random_selections(n_features, sizes, seed)
        drawn = random_selection_test(runs, n_resamples=199, random_state=seed).pvalue
        return drawn <= 0.05, stability_test(runs, 0.0).pvalue <= 0.05

    return np.mean(
        Parallel(n_jobs=2)(delayed(one)(seed) for seed in range(repeats)), axis=0
    )


def section_3_5(repeats):
    """What random selections score, by enumeration; the level of the test against them."""
    equal, unequal = (
        expected_by_chance("nogueira", 6, sizes) for sizes in ((2, 2), (1, 4))
    )
    weighted = {m: expected_by_chance("cwrel", 4, (2,) * m) for m in (2, 4)}
    rows = [
        claim(
            "nogueira, sizes 2 and 2, d = 6",
            "0",
            f"{abs(equal):.3f}",
            holds=abs(equal) < 1e-9,
        ),
        claim(
            "nogueira, sizes 1 and 4, d = 6",
            "0 (theorem 3)",
            f"{unequal:.3f}",
            holds=abs(unequal) < 1e-9,
        ),
        claim(
            "cwrel, M = 2, d = 4, k = 2",
            "not 0",
            f"{weighted[2]:.3f} = 1/M",
            holds=weighted[2] > 0.01,
        ),
        claim(
            "cwrel, M = 4, d = 4, k = 2",
            "closer to 0",
            f"{weighted[4]:.3f} = 1/M",
            holds=weighted[4] < weighted[2],
        ),
    ]
    compare(
        "Section 3.5: expected stability of random selections, all of them enumerated",
        rows,
    )
    noise = 3 * np.sqrt(0.05 * 0.95 / repeats)
    rows = []
    for d, sizes in [
        (50, (5,) * 5),
        (50, (2, 5, 9, 4, 4)),
        (200, (10,) * 30),
        (200, tuple(range(5, 35))),
    ]:
        drawn, jackknife = rejections(d, sizes, repeats)
        text = f"M = {len(sizes)}, d = {d}, k = {min(sizes)} … {max(sizes)}"
        found = f"{drawn:.1%}; stability_test(…, 0): {jackknife:.1%}"
        rows.append(claim(text, "– (ours): 5%", found, holds=drawn < 0.05 + noise))
    compare(
        f"Section 3.5: level of the test against random selections at 5% ({repeats} repeats)",
        rows,
    )


# -- section 4: what is estimated --------------------------------------------------------------------------------------


def intra_class_correlation(z):
    """(BMS − WMS) / (BMS + (M − 1) WMS), features being the whole population of classes (Fleiss et al. 2004)."""
    m, d = z.shape
    means = z.mean(axis=0)
    between, within = (
        m * np.sum((means - z.mean()) ** 2) / d,
        np.sum((z - means) ** 2) / (d * (m - 1)),
    )
    return (between - within) / (between + (m - 1) * within)


def section_4(repeats):
    """Theorem 7: the estimate is about Φ of the probabilities; footnote 9: it is an intra-class correlation."""
    rows = []
    for case in (0.8, 0.5, 0.3):
        p = probabilities(case)
        found = np.mean(
            [
                nogueira_stability(draw_runs(p, 100, (round(100 * case), seed)))
                for seed in range(repeats)
            ]
        )
        rows.append(
            number(
                f"Φ of the probabilities; mean estimate, Φ = {case}",
                population_stability(p),
                found,
                digits=3,
            )
        )
    tables = [
        draw_runs(probabilities(0.5), 6, (6, seed)).astype(float) for seed in range(100)
    ]
    apart = max(abs(nogueira_stability(z) - intra_class_correlation(z)) for z in tables)
    rows.append(
        claim(
            "footnote 9: intra-class correlation",
            "linked",
            f"equal, up to {apart:.0e}",
            holds=apart < 1e-12,
        )
    )
    compare(f"Section 4: what is estimated ({repeats} repeats, M = 100)", rows)


# -- section 7.2: redundant features -----------------------------------------------------------------------------------


def section_7_2():
    """POGR and nPOGR, and the Dice of nogueira2016, section 6: without redundancy they are the plain measures."""
    runs = draw_runs(probabilities(0.5, n_features=40), 20, 0)
    rows = []
    for name, plain in (
        ("pogr", "pog"),
        ("npogr", "npog"),
        ("redundancy_dice", "dice"),
    ):
        apart = abs(get_measure(name)(runs) - stability_score(runs, measure=plain))
        rows.append(
            claim(
                f"{name} without redundancy",
                f"is {plain}",
                f"apart by {apart:.0e}",
                holds=apart < 1e-12,
            )
        )
    pairs = np.kron(np.eye(20), np.ones((2, 2)))
    swapped = np.zeros((10, 40), dtype=bool)
    swapped[
        np.arange(10)[:, None],
        2 * np.arange(5) + np.random.default_rng(0).integers(2, size=(10, 5)),
    ] = True
    values = {
        name: get_measure(name, similarity=pairs)(swapped)
        for name in ("pogr", "npogr", "redundancy_dice")
    }
    measured = ", ".join(f"{name} {value:.2f}" for name, value in values.items())
    plain = nogueira_stability(swapped)
    rows.append(
        claim(
            "one of two copies at random",
            "forgiven",
            f"{measured}; nogueira {plain:.2f}",
            holds=plain < 0.6,
        )
    )
    compare("Section 7.2: redundancy (d = 40)", rows)


# -- appendices A and C: the similarities of two sets ------------------------------------------------------------------

D = 10
TABLE_6 = {
    **dict.fromkeys(["hamming", "jaccard", "dice", "ochiai", "pog"], (0, 1)),
    **dict.fromkeys(["kuncheva", "lustgarten"], (-1, 1)),
    **dict.fromkeys(["wald", "npog"], (1 - D, 1)),
}


def similarities(measure):
    """Similarity of two sets of a and b features that share r, for all a, b and r, neither set empty or full."""
    values = {}
    for a, b in product(range(1, D), repeat=2):
        if measure == "kuncheva" and a != b:
            continue
        for r in range(max(0, a + b - D), min(a, b) + 1):
            features = np.arange(D)
            pair = [
                features < a,
                (features < r) | ((features >= a) & (features < a + b - r)),
            ]
            values[a, b, r] = stability_score(pair, measure=measure)
    return values


def tables_6_and_7():
    """The ends of the similarities, and that they grow with what two sets share."""
    found = {name: similarities(name) for name in TABLE_6}
    rows = []
    for name, ends in TABLE_6.items():
        low, high = min(found[name].values()), max(found[name].values())
        published = "{:.0f} to {:.0f}".format(*ends)
        rows.append(
            claim(
                name,
                published,
                f"{low:.2f} to {high:.2f}",
                holds=bool(np.allclose([low, high], ends)),
            )
        )
    compare(
        f"Table 6: ends of the similarities (d = {D}, all sizes and overlaps)", rows
    )
    steps = {
        name: min(
            values[a, b, r + 1] - value
            for (a, b, r), value in values.items()
            if (a, b, r + 1) in values
        )
        for name, values in found.items()
    }
    measured = (
        f"smallest step {min(steps.values()):.2f}, of {min(steps, key=steps.get)}"
    )
    claims = [
        claim(
            "all nine", "positive derivatives", measured, holds=min(steps.values()) > 0
        )
    ]
    compare("Table 7: similarity against the number of shared features", claims)

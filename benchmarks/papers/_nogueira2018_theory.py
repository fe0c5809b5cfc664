"""Nogueira et al. (2018), sections 3 to 5: the properties of measures, and the statistical tools."""

from itertools import product

import numpy as np
import pandas as pd
from _simulations import (
    N_FEATURES,
    N_RUNS,
    coverage,
    curves,
    draw_curves,
    draw_runs,
    first_features,
    intervals,
    probabilities,
    random_features,
    span,
)
from _tables import claim, compare, figure, note, number, section, show
from joblib import Parallel, delayed
from scipy import stats

from skstab import compare_stability, measure_table, stability_interval, stability_score
from skstab.metrics import population_stability

# -- sections 3 and 4: properties --------------------------------------------------------------------------------------

# fully defined, monotone, bounds, maximum, correction for chance
TABLE_2 = {
    "hamming": "✓✓✓✓–",
    "jaccard": "✓✓✓✓–",
    "dice": "✓✓✓✓–",
    "ochiai": "✓✓✓✓–",
    "pog": "✓✓✓✓–",
    "kuncheva": "–✓✓✓✓",
    "lustgarten": "✓✓✓–✓",
    "wald": "✓✓––✓",
    "npog": "✓✓–✓✓",
    "goh": "✓–✓––",
    "davis": "✓–✓––",
    "krizek": "–––✓–",
    "guzman": "––✓✓✓",
    "cwrel": "✓✓✓––",
    "lausser": "–✓✓✓–",
}
ANY_SIZE = [
    "nogueira",
    "hamming",
    "jaccard",
    "dice",
    "ochiai",
    "pog",
    "npog",
    "lustgarten",
    "wald",
    "goh",
    "cwrel",
]


def figure_1(opts):
    """The maximum, and only the maximum, means identical sets."""
    varied = curves(
        ANY_SIZE, lambda k: first_features(np.repeat([k, k - 1], N_RUNS // 2))
    )
    same = curves(ANY_SIZE, lambda k: first_features(np.repeat(k, N_RUNS)))
    others = [
        values.max() for name, values in varied.items() if name not in ("wald", "cwrel")
    ]
    constant = [
        np.ptp(values)
        for name, values in same.items()
        if name not in ("lustgarten", "goh")
    ]
    rows = [
        claim(
            f"left, {name}",
            "1 for all k",
            span(varied[name]),
            holds=bool(np.allclose(varied[name], 1)),
        )
        for name in ("wald", "cwrel")
    ]
    rows.append(
        claim(
            "left, others",
            "below 1",
            f"at most {max(others):.2f}",
            holds=max(others) < 1,
        )
    )
    rows += [
        claim(
            f"right, {name}",
            "varies with k",
            span(same[name]),
            holds=bool(np.ptp(same[name]) > 0),
        )
        for name in ("lustgarten", "goh")
    ]
    rows.append(
        claim(
            "right, others",
            "1 for all k",
            f"spread {max(constant):.0e}",
            holds=max(constant) < 1e-12,
        )
    )
    compare(f"Figure 1: the maximum (d = {N_FEATURES}, M = {N_RUNS}, k = 2 … 9)", rows)
    with figure(opts, "nogueira2018_figure_1", 1, 2) as axes:
        draw_curves(
            axes[0], varied, "k features in one half of the runs, k − 1 in the other"
        )
        draw_curves(axes[1], same, "the same k features in all runs")


def figure_2(opts):
    """Stability of random selections."""
    values = curves(
        ["hamming", "pog", "jaccard", "dice", "kuncheva"],
        lambda k: random_features(np.repeat(k, N_RUNS)),
    )
    dice, kuncheva = values["dice"], np.abs(values["kuncheva"])
    compare(
        f"Figure 2: random selections (d = {N_FEATURES}, M = {N_RUNS})",
        [
            claim(
                "dice",
                "increases with k",
                span(dice),
                holds=bool((np.diff(dice) > 0).all()),
            ),
            claim(
                "kuncheva",
                "close to 0",
                f"at most {kuncheva.max():.3f} away",
                holds=bool(kuncheva.max() < 0.03),
            ),
        ],
    )
    with figure(opts, "nogueira2018_figure_2") as axes:
        draw_curves(axes, values, "random selections")


def table_2():
    known = measure_table()[
        ["fully_defined", "monotone", "bounded", "maximum", "chance_corrected"]
    ]
    ours = {
        name: "".join("✓" if holds else "–" for holds in known.loc[name])
        for name in TABLE_2
    }
    differing = {
        name: sum(a != b for a, b in zip(TABLE_2[name], ours[name], strict=True))
        for name in TABLE_2
    }
    section("Table 2: fully defined, monotone, bounds, maximum, correction for chance")
    rows = [(name, TABLE_2[name], ours[name], differing[name]) for name in TABLE_2]
    show(pd.DataFrame(rows, columns=["measure", "published", "skstab", "distance"]))
    draws = {
        k: [random_features(np.repeat(k, 5), seed=seed) for seed in range(500)]
        for k in (2, 8)
    }
    means = {
        k: np.mean([stability_score(runs, measure="guzman") for runs in draws[k]])
        for k in draws
    }
    note(
        f"Guzmán, mean of 500 random selections, M = 5, d = 10: {means[2]:.2f} at k = 2, {means[8]:.2f} at k = 8."
    )


# -- section 5: consistency, intervals, tests --------------------------------------------------------------------------

CASES = (0.8, 0.5, 0.3)
LEVELS = (0.99, 0.95, 0.90)
TABLE_4 = {0.8: (98.5, 94.3, 89.0), 0.5: (98.6, 93.8, 89.0), 0.3: (98.6, 94.0, 89.3)}


def residuals(p, n_runs, repeats):
    found = [
        stability_score(draw_runs(p, n_runs, (n_runs, seed))) for seed in range(repeats)
    ]
    return np.abs(np.array(found) - population_stability(p))


def figure_3(opts, repeats):
    """The estimate approaches the true stability."""
    rows = []
    for case, (n_runs, limit) in product(CASES, ((10, 0.05), (100, 0.01))):
        found = residuals(probabilities(case), n_runs, repeats)
        measured = (
            f"mean {found.mean():.3f}, in {(found <= limit).mean():.0%} of repeats"
        )
        rows.append(
            claim(
                f"Φ = {case}, M = {n_runs}",
                f"within {limit}",
                measured,
                holds=found.mean() <= limit,
            )
        )
    compare(
        f"Figure 3: distance of the estimate from the true stability ({repeats} repeats)",
        rows,
    )
    with figure(opts, "nogueira2018_figure_3", 1, 3) as axes:
        for case, ax in zip(CASES, axes, strict=True):
            runs, counts = (
                draw_runs(probabilities(case), 1000, 0),
                np.unique(np.geomspace(2, 1000, 60).astype(int)),
            )
            ax.semilogx(counts, [stability_score(runs[:m]) for m in counts])
            ax.axhline(population_stability(probabilities(case)), color="k", ls="--")
            ax.set(xlabel="M", ylabel="stability", title=f"Φ = {case}")


def coverages(cells):
    """Coverage of each (stability, runs, method, level, repeats)."""
    cells = list(cells)
    ends = Parallel(n_jobs=2)(
        delayed(intervals)(probabilities(case), *rest) for case, *rest in cells
    )
    return {
        tuple(cell): coverage(probabilities(cell[0]), found)
        for cell, found in zip(cells, ends, strict=True)
    }


def figure_4(opts, repeats):
    """Coverage of 90% intervals against the number of runs, with the jackknife in addition to the paper's interval."""
    counts, methods = (5, 10, 20, 50, 100, 200), ("asymptotic", "jackknife")
    found = coverages(
        (case, m, method, 0.9, repeats)
        for case in CASES
        for m in counts
        for method in methods
    )
    found = {cell[:3]: value for cell, value in found.items()}
    limit = 0.01 + 3 * np.sqrt(0.9 * 0.1 / repeats)
    rows = []
    for case in CASES:
        few, many = found[case, 5, "asymptotic"], found[case, 200, "asymptotic"]
        ours = [found[case, m, "jackknife"] for m in counts]
        measured = f"{few:.3f} at M = 5, {many:.3f} at 200; jackknife {min(ours):.3f} to {max(ours):.3f}"
        rows.append(
            claim(
                f"Φ = {case}", "approaches 0.9", measured, holds=abs(many - 0.9) < limit
            )
        )
    compare(f"Figure 4: coverage of 90% intervals ({repeats} repeats)", rows)
    with figure(opts, "nogueira2018_figure_4", 1, 3, sharey=True) as axes:
        for case, ax in zip(CASES, axes, strict=True):
            for method in methods:
                ax.semilogx(
                    counts,
                    [found[case, m, method] for m in counts],
                    marker="o",
                    label=method,
                )
            ax.axhline(0.9, color="k", ls="--")
            ax.set(xlabel="M", ylabel="coverage", title=f"Φ = {case}")
        axes[0].legend()


def table_4(repeats):
    found = coverages(
        (case, 100, "asymptotic", level, repeats) for case in CASES for level in LEVELS
    )
    compare(
        f"Table 4: coverage in % of the asymptotic interval (M = 100, d = 100, {repeats} repeats)",
        [
            number(f"Φ = {case}, {level:.0%}", published, 100 * measured, digits=1)
            for ((case, _, _, level, _), measured), published in zip(
                found.items(), np.ravel([TABLE_4[case] for case in CASES]), strict=True
            )
        ],
    )


def asymptotic_intervals(p, n_runs, repeats):
    """Estimate and standard error of each of many repeats, repeats × 2."""
    found = (
        stability_interval(draw_runs(p, n_runs, (n_runs, seed)), method="asymptotic")
        for seed in range(repeats)
    )
    return np.array([(one.estimate, one.standard_error) for one in found])


def section_5_2(repeats, n_features=10_000):
    """The coverage with many features, for which the text gives no numbers."""
    cases = {case: probabilities(case, n_features=n_features) for case in CASES}
    found = Parallel(n_jobs=2)(
        delayed(asymptotic_intervals)(p, 100, repeats) for p in cases.values()
    )
    rows = []
    for (case, p), values in zip(cases.items(), found, strict=True):
        distance = np.abs(values[:, 0] - population_stability(p)) / values[:, 1]
        for level, few in zip(LEVELS, TABLE_4[case], strict=True):
            share = np.mean(distance <= stats.norm.ppf((1 + level) / 2))
            noise = 3 * np.sqrt(level * (1 - level) / repeats)
            published, measured = f"as with d = 100: {few:.1f}%", f"{share:.1%}"
            rows.append(
                claim(
                    f"Φ = {case}, {level:.0%}",
                    published,
                    measured,
                    holds=abs(share - few / 100) < noise,
                )
            )
    compare(
        f"Section 5.2: the same with d = {n_features} (M = 100, {repeats} repeats)",
        rows,
    )


def statistics(first, second, n_tests):
    """T_M of theorem 9 for pairs of independent runs, M = 1000."""

    def one(seed):
        a, b = (draw_runs(p, 1000, (seed, at)) for at, p in enumerate((first, second)))
        return compare_stability(b, a, method="asymptotic").statistic

    return np.sort(Parallel(n_jobs=2)(delayed(one)(seed) for seed in range(n_tests)))


def figure_5(opts, repeats):
    """The statistic of the test of two stabilities: standard normal when they are equal, shifted when not."""
    first = probabilities(0.8)
    error = stability_interval(
        draw_runs(first, 1000, 0), method="asymptotic"
    ).standard_error
    # The paper does not say which stabilities differ: the difference of these gives its median.
    second = probabilities(0.8 - 3.8 * np.sqrt(2) * error)
    equal, other = (statistics(first, p, repeats) for p in (first, second))
    pvalue = stats.kstest(equal, "norm").pvalue
    measured = f"mean {equal.mean():.2f}, deviation {equal.std():.2f}, Kolmogorov–Smirnov p = {pvalue:.2f}"
    compare(
        f"Figure 5: statistic of the test of two stabilities (M = 1000, {repeats} repeats)",
        [
            claim("Φ₁ = Φ₂ = 0.8", "standard normal", measured, holds=pvalue > 0.01),
            number(
                f"Φ₁ = 0.8, Φ₂ = {population_stability(second):.3f}: median",
                -3.8,
                np.median(other),
                digits=1,
            ),
            number("lowest", -7.6, other[0], digits=1),
            number("highest", -0.4, other[-1], digits=1),
        ],
    )
    with figure(opts, "nogueira2018_figure_5", 1, 2) as axes:
        for ax, values, name in zip(
            axes, (equal, other), ("Φ₁ = Φ₂", "Φ₁ ≠ Φ₂"), strict=True
        ):
            stats.probplot(values, plot=ax)
            ax.set(
                title=name,
                xlabel="quantile of the standard normal",
                ylabel="quantile of T",
            )

"""López-De-Castro et al. (2024), Conformal stability measure for feature selection algorithms: table 1, figures 1–3.

    python benchmarks/papers/lopez2024.py            # everything
    python benchmarks/papers/lopez2024.py --quick    # fewer repeats: a minute

The paper does not give its selection probabilities. Those that are uniform on (0, 1) have its widths, and are taken.
The jackknife interval, the default of skstab, is a third column.
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import pandas as pd
from _lopez2024_ideas import kernel_density, multiplicity, trial_pvalues, variants
from _simulations import coverage, draw_runs, intervals
from _tables import claim, compare, elapsed, figure, note, options, section, show, title
from joblib import Parallel, delayed

from skstab import stability_score
from skstab.metrics import population_stability

PROBABILITIES = (np.arange(100) + 0.5) / 100
METHODS = {"P.I.": "conformal", "C.I.": "asymptotic", "jackknife": "jackknife"}
RUNS = (5, 6, 7, 8, 9, 10)
LEVELS = (0.9, 0.7, 0.5, 0.3)
# Table 1: for each M and interval, width (its standard deviation) and deviation of the coverage at each level.
TABLE_1 = """
5 P.I. 0.17(0.06) +0.02 0.11(0.04) +0.06 0.07(0.03) +0.08 0.04(0.02) +0.09
5 C.I. 0.08(0.03) -0.25 0.05(0.02) -0.24 0.03(0.01) -0.17 0.02(0.01) -0.10
6 P.I. 0.17(0.05) +0.05 0.11(0.03) +0.15 0.07(0.02) +0.16 0.04(0.02) +0.12
6 C.I. 0.08(0.03) -0.16 0.05(0.02) -0.18 0.03(0.01) -0.15 0.02(0.01) -0.10
7 P.I. 0.12(0.03) +0.01 0.08(0.02) +0.05 0.05(0.02) +0.05 0.03(0.01) +0.00
7 C.I. 0.08(0.02) -0.15 0.05(0.01) -0.13 0.03(0.01) -0.12 0.02(0.01) -0.09
8 P.I. 0.12(0.03) +0.02 0.08(0.02) +0.07 0.05(0.01) +0.07 0.03(0.01) +0.05
8 C.I. 0.07(0.02) -0.15 0.05(0.01) -0.16 0.03(0.01) -0.12 0.02(0.00) -0.06
9 P.I. 0.10(0.02) +0.01 0.06(0.02) +0.05 0.04(0.01) +0.04 0.02(0.01) +0.02
9 C.I. 0.07(0.02) -0.09 0.04(0.01) -0.10 0.03(0.01) -0.06 0.02(0.00) -0.05
10 P.I. 0.10(0.02) +0.02 0.06(0.01) +0.08 0.04(0.01) +0.06 0.02(0.01) +0.05
10 C.I. 0.07(0.02) -0.09 0.04(0.01) -0.10 0.03(0.01) -0.07 0.02(0.00) -0.04
"""
# The sizes of subsets in figures 1 and 2; the intervals use those that give most subsets.
SUBSET_SIZES = {5: 2, 6: 3, 7: 5, 8: 4, 9: 2, 10: 6}


class Cell(NamedTuple):
    """One cell of table 1."""

    width: float
    spread: float
    deviation: float

    def efficiency(self):
        """As the paper prints it."""
        return f"{self.width:.2f}({self.spread:.2f})"


def published():
    """Table 1 by number of runs, interval and level."""
    cells = {}
    for m, name, *numbers in (line.split() for line in TABLE_1.strip().splitlines()):
        for level, width, deviation in zip(
            LEVELS, numbers[::2], numbers[1::2], strict=True
        ):
            mean, spread = width.rstrip(")").split("(")
            cells[int(m), name, level] = Cell(
                float(mean), float(spread), float(deviation)
            )
    return cells


def measured(repeats):
    """The same cells of our own, and those of the jackknife."""
    keys = [
        (m, name, level) for m in reversed(RUNS) for name in METHODS for level in LEVELS
    ]  # the longest first
    found = Parallel(n_jobs=2)(
        delayed(intervals)(PROBABILITIES, m, METHODS[name], level, repeats)
        for m, name, level in keys
    )
    return {
        key: cell_of(ends, level=key[2]) for key, ends in zip(keys, found, strict=True)
    }


def cell_of(ends, *, level):
    widths = ends[:, 1] - ends[:, 0]
    return Cell(widths.mean(), widths.std(), coverage(PROBABILITIES, ends) - level)


def side_by_side(text, found, field, as_text):
    """A table with published, measured and distance for both intervals of the paper, and the jackknife in addition."""
    in_paper, rows = published(), []
    for m in RUNS:
        for level in LEVELS:
            row = {"M": m, "1 − α": level}
            for name in ("P.I.", "C.I."):
                theirs, ours = in_paper[m, name, level], found[m, name, level]
                row[f"{name} published"], row[f"{name} measured"] = (
                    as_text(theirs),
                    as_text(ours),
                )
                row[f"{name} distance"] = (
                    f"{getattr(ours, field) - getattr(theirs, field):+.2f}"
                )
            rows.append(row | {"jackknife": as_text(found[m, "jackknife", level])})
    section(text)
    show(pd.DataFrame(rows))
    gaps = [
        abs(getattr(found[key], field) - getattr(cell, field))
        for key, cell in in_paper.items()
    ]
    note(f"Distance: {np.mean(gaps):.3f} on average, at most {max(gaps):.3f}.")


def table_1(found, repeats):
    side_by_side(
        f"Table 1: mean width (deviation), {repeats} repeats",
        found,
        "width",
        Cell.efficiency,
    )
    side_by_side(
        f"Table 1: deviation of the coverage from the level, {repeats} repeats",
        found,
        "deviation",
        lambda cell: f"{cell.deviation:+.2f}",
    )


def on_trial_values(ends, n_runs):
    """What is left of exact intervals when only 500 trial values are tested, as in section 4."""
    trials = np.linspace(-1 / ((n_runs + 1) // 2 - 1), 1, 500)
    low, high = (
        np.searchsorted(trials, ends[:, at], side=side)
        for at, side in enumerate(("left", "right"))
    )
    return np.column_stack([trials[low], trials[high - 1]])


def trial_values(repeats):
    """Table 1 where the exact conformal interval is farthest from the published one."""
    rows = []
    for m, level in product((5, 6), (0.9, 0.5, 0.3)):
        exact = intervals(PROBABILITIES, m, "conformal", level, repeats)
        exact_cell, tested_cell = (
            cell_of(ends, level=level) for ends in (exact, on_trial_values(exact, m))
        )
        shown = {
            "published": published()[m, "P.I.", level],
            "exact": exact_cell,
            "500 trial values": tested_cell,
        }
        rows.append(
            {
                "M": m,
                "1 − α": level,
                **{name: f"{cell.deviation:+.2f}" for name, cell in shown.items()},
            }
        )
    section(
        f"Table 1: deviation of the coverage of P.I., exact and on 500 trial values, {repeats} repeats"
    )
    show(pd.DataFrame(rows))


def figure_3(opts, found, repeats):
    """Coverage against the level."""
    noise = 2 * np.sqrt(0.25 / repeats)
    rows = []
    for name, text in (
        ("P.I.", "valid everywhere"),
        ("C.I.", "too low everywhere"),
        ("jackknife", "– (ours)"),
    ):
        gaps = np.array(
            [found[m, name, level].deviation for m in RUNS for level in LEVELS]
        )
        holds = gaps.max() < noise if name == "C.I." else gaps.min() > -noise
        rows.append(
            claim(
                name,
                text,
                f"deviations {gaps.min():+.2f} to {gaps.max():+.2f}",
                holds=bool(holds),
            )
        )
    compare("Figure 3: coverage at four levels and six numbers of runs", rows)
    with figure(opts, "lopez2024_figure_3", 2, 3, sharex=True, sharey=True) as axes:
        for m, ax in zip(RUNS, axes.flat, strict=True):
            for name in METHODS:
                ax.plot(
                    LEVELS,
                    [level + found[m, name, level].deviation for level in LEVELS],
                    marker="o",
                    label=name,
                )
            ax.plot([0, 1], [0, 1], "k--")
            ax.set(xlabel="level 1 − α", ylabel="coverage", title=f"M = {m}")
        axes[0, 0].legend()


def subset_values(n_runs, size, seed):
    """Stabilities of all subsets of so many runs of one sample."""
    runs = draw_runs(PROBABILITIES, n_runs, (n_runs, seed))
    return np.array(
        [
            stability_score(runs[list(subset)])
            for subset in combinations(range(n_runs), size)
        ]
    )


def figure_1(opts):
    """Stabilities of the subsets of one sample for each number of runs, their mean, and the true stability."""
    truth = population_stability(PROBABILITIES)
    found = {
        (m, size): subset_values(m, size, seed=0) for m, size in SUBSET_SIZES.items()
    }
    by_size = {
        size: np.mean(
            [np.abs(v - truth).mean() for (_, k), v in found.items() if k == size]
        )
        for _, size in found
    }
    ordered = [by_size[size] for size in sorted(by_size)]
    apart = [abs(values.mean() - truth) for values in found.values()]
    shown = ", ".join(f"{distance:.3f}" for distance in ordered)
    compare(
        "Figure 1: stabilities of all κ-subsets of one sample",
        [
            claim(
                f"distance from Φ, κ = {', '.join(map(str, sorted(by_size)))}",
                "closer for larger κ",
                shown,
                holds=bool(
                    ordered[-1] < ordered[0]
                    and np.corrcoef(sorted(by_size), ordered)[0, 1] < 0
                ),
            ),
            claim(
                "mean of the subsets",
                "very close to Φ",
                f"at most {max(apart):.3f} away",
                holds=max(apart) < 0.1,
            ),
        ],
    )
    with figure(opts, "lopez2024_figure_1", 2, 3, sharey=True) as axes:
        for ((m, size), values), ax in zip(found.items(), axes.flat, strict=True):
            ax.plot(values, "b.")
            ax.axhline(truth, color="r", label="oracle")
            ax.axhline(values.mean(), color="k", ls="--", label="mean of the subsets")
            ax.set(xlabel="subset", ylabel="stability", title=f"M = {m}, κ = {size}")
        axes[0, 0].legend()


def residuals(n_runs, size, repeats):
    """Mean stability of all subsets of so many runs, minus the true stability."""
    means = [subset_values(n_runs, size, seed).mean() for seed in range(repeats)]
    return np.array(means) - population_stability(PROBABILITIES)


def figure_2(opts, repeats):
    """Residuals of the mean over subsets of the runs."""
    cells = list(SUBSET_SIZES.items())
    found = Parallel(n_jobs=2)(
        delayed(residuals)(m, size, repeats) for m, size in cells
    )
    spread = np.array([values.std() for values in found])
    compare(
        f"Figure 2: residuals of the mean over all κ-subsets ({repeats} repeats)",
        [
            claim(
                f"M = {m}, κ = {size}",
                "small",
                f"mean {values.mean():+.3f}, deviation {values.std():.3f}",
                holds=bool(np.abs(values).mean() < 0.05),
            )
            for (m, size), values in zip(cells, found, strict=True)
        ]
        + [
            claim(
                "from M = 5 to 10",
                "improve with M",
                f"deviation {spread[0]:.3f} to {spread[-1]:.3f}",
                holds=bool(
                    spread[-1] < spread[0] and np.corrcoef(RUNS, spread)[0, 1] < -0.9
                ),
            )
        ],
    )
    with figure(opts, "lopez2024_figure_2", figsize=(7, 4)) as axes:
        axes.boxplot(found, tick_labels=[f"M = {m}\nκ = {size}" for m, size in cells])
        axes.axhline(0, color="k", ls="--")
        axes.set(ylabel="mean over subsets − true stability")


def main():
    opts = options(__doc__)
    repeats = 40 if opts.quick else 1000
    title("lopez2024")
    figure_1(opts)
    figure_2(opts, repeats)
    found = measured(repeats)
    table_1(found, repeats)
    trial_values(repeats)
    figure_3(opts, found, repeats)
    trial_pvalues(PROBABILITIES, repeats)
    kernel_density(PROBABILITIES, repeats)
    variants(PROBABILITIES, repeats)
    multiplicity(repeats // 4)
    elapsed()


if __name__ == "__main__":
    main()

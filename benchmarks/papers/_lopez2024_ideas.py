"""López-De-Castro et al. (2024): p-values of trial values, and the two ideas of section 6, tried.

A kernel density in place of the distance from the mean (after Lei and Wasserman 2014), and the width of the interval as
a sign that several sets of features do equally well.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from _simulations import draw_runs
from _tables import claim, compare, section, show
from joblib import Parallel, delayed

from skstab import stability_interval, stability_score
from skstab.metrics import conformal_pvalues, population_stability

# -- p-values of trial values ------------------------------------------------------------------------------------------


def trial_pvalues(p, repeats, n_runs=8):
    """Compare the p-values with the interval; that of the true stability is at most α at most that often."""
    outside, pvalues = 0, []
    for seed in range(repeats):
        runs = draw_runs(p, n_runs, (n_runs, seed))
        trials = np.linspace(-1 / 3, 1, 500)
        interval = stability_interval(runs, method="conformal", confidence_level=0.9)
        kept = conformal_pvalues(runs, trials) > 0.1
        outside += np.count_nonzero(
            kept != ((interval.low < trials) & (trials < interval.high))
        )
        pvalues.append(conformal_pvalues(runs, [population_stability(p)])[0])
    shares = {
        alpha: np.mean(np.array(pvalues) <= alpha) for alpha in (0.1, 0.3, 0.5, 0.7)
    }
    noise = 2 * np.sqrt(0.25 / repeats)
    rows = [
        claim(
            "trial values with p > 0.1",
            "the interval",
            f"{outside} of {500 * repeats} differ",
            holds=outside == 0,
        )
    ]
    rows += [
        claim(
            f"p of the true stability ≤ {alpha}",
            f"in at most {alpha:.0%}",
            f"{share:.0%}",
            holds=share < alpha + noise,
        )
        for alpha, share in shares.items()
    ]
    compare(
        f"Algorithm 1: p-values of 500 trial values, M = {n_runs} ({repeats} repeats)",
        rows,
    )


# -- a kernel density as nonconformity ---------------------------------------------------------------------------------


def calibration_values(runs):
    m, size = len(runs), (len(runs) + 1) // 2
    return np.array(
        [stability_score(runs[list(subset)]) for subset in combinations(range(m), size)]
    )


def density_pvalues(values, trials):
    """Share of the bag, the trial value in it, whose density is at most that of the trial value."""
    width = 1.06 * values.std(ddof=1) * values.size**-0.2

    def kernel(a, b):
        return np.exp(-0.5 * ((a[:, None] - b[None, :]) / width) ** 2)

    between = kernel(trials, values)
    density = kernel(values, values).sum(axis=1)[None, :] + between
    as_odd = density <= between.sum(axis=1)[:, None] + 1 + 1e-12
    return (1 + as_odd.sum(axis=1)) / (values.size + 1)


def distance_pvalues(values, trials):
    means = (values.sum() + trials) / (values.size + 1)
    as_odd = np.abs(values - means[:, None]) >= np.abs(trials - means)[:, None] - 1e-12
    return (1 + as_odd.sum(axis=1)) / (values.size + 1)


SCORES = {"distance": distance_pvalues, "density": density_pvalues}


def widths_and_coverage(p, n_runs, levels, repeats):
    """For each nonconformity score and level: mean width, and share of the sets that hold the true stability."""
    trials = np.linspace(-1 / ((n_runs + 1) // 2 - 1), 1, 1000)
    step, truth = trials[1] - trials[0], population_stability(p)
    found = {}
    for seed in range(repeats):
        values = calibration_values(draw_runs(p, n_runs, (n_runs, seed)))
        for name, score in SCORES.items():
            pvalues = score(values, np.append(trials, truth))
            for level in levels:
                kept = pvalues > 1 - level
                found.setdefault((name, level), []).append(
                    (step * kept[:-1].sum(), kept[-1])
                )
    return {key: np.mean(pairs, axis=0) for key, pairs in found.items()}


def kernel_density(p, repeats, counts=(5, 6, 8, 10), levels=(0.9, 0.5)):
    """Show whether the set is narrower, and still valid, with a density."""
    cells = Parallel(n_jobs=2)(
        delayed(widths_and_coverage)(p, m, levels, repeats) for m in counts
    )
    rows = []
    for m, found in zip(counts, cells, strict=True):
        for level in levels:
            row = {"M": m, "1 − α": level}
            for name in SCORES:
                width, share = found[name, level]
                row |= {
                    f"{name}: width": f"{width:.3f}",
                    f"{name}: deviation of the coverage": f"{share - level:+.2f}",
                }
            rows.append(row)
    section(f"Section 6: a kernel density as nonconformity ({repeats} repeats)")
    show(pd.DataFrame(rows))


# -- the mean of the subsets, other sizes, and a split of the runs -----------------------------------------------------


def inductive_ends(runs, level):
    """Split conformal: half of the runs give the centre, subsets of the others the distances from it."""
    half = len(runs) // 2
    centre, others = stability_score(runs[:half]), runs[half:]
    distances = np.sort(np.abs(calibration_values(others) - centre))
    place = int(np.ceil(level * (len(distances) + 1))) - 1
    if place >= len(distances):
        return -1.0, 1.0
    return centre - distances[place], min(1.0, centre + distances[place])


def variants_of(p, n_runs, repeats, level):
    """Squared errors of two estimates, and width and coverage of intervals."""
    truth, found = population_stability(p), []
    for seed in range(repeats):
        runs = draw_runs(p, n_runs, (n_runs, seed))
        row = {
            "all": (stability_score(runs) - truth) ** 2,
            "mean": (calibration_values(runs).mean() - truth) ** 2,
        }
        ends = {"inductive": inductive_ends(runs, level)}
        for size in (2, (n_runs + 1) // 2, n_runs - 2):
            interval = stability_interval(
                runs, method="conformal", confidence_level=level, subset_size=size
            )
            ends[f"κ = {size}"] = (interval.low, interval.high)
        for name, (low, high) in ends.items():
            row |= {f"{name} width": high - low, f"{name} held": low <= truth <= high}
        found.append(row)
    return pd.DataFrame(found).astype(float).mean()


def variants(p, repeats, level=0.9):
    """Show whether another size, another estimate or a split is better."""
    rows = []
    for m in (6, 8, 10, 12):
        mean = variants_of(p, m, repeats, level)
        names = [name.removesuffix(" width") for name in mean.index if "width" in name]
        row = {"M": m, "error of Φ": f"{mean['all'] ** 0.5:.4f}"}
        row["error of the mean"] = f"{mean['mean'] ** 0.5:.4f}"
        for name in names:
            label = name if name == "inductive" else f"κ: {name[4:]}"
            row.setdefault("intervals: width (coverage)", []).append(
                f"{label} {mean[f'{name} width']:.3f} ({mean[f'{name} held']:.2f})"
            )
        row["intervals: width (coverage)"] = "; ".join(
            row["intervals: width (coverage)"]
        )
        rows.append(row)
    section(f"Section 6: sizes κ, the mean, and a split, at {level:.0%} ({repeats})")
    show(pd.DataFrame(rows))


# -- width as a sign of multiplicity -----------------------------------------------------------------------------------


def one_signature(p, n_runs, rng):
    return rng.random((n_runs, p[0].size)) < p.mean(axis=0)


def two_signatures(p, n_runs, rng):
    """Each run selects with the probabilities of the first or of the second signature."""
    return rng.random((n_runs, p[0].size)) < p[rng.integers(2, size=n_runs)]


def signatures(strength, size=10, others=80, noise=0.05):
    """Selection probabilities of two disjoint signatures and of the other features."""
    first = np.concatenate(
        [np.full(size, strength), np.full(size, noise), np.full(others, noise)]
    )
    return np.stack(
        [
            first,
            np.concatenate([first[size : 2 * size], first[:size], first[2 * size :]]),
        ]
    )


def indicators(runs):
    """The width of the interval, and how much the overlaps of two runs vary for their mean."""
    interval = stability_interval(runs, method="conformal", confidence_level=0.9)
    overlaps = (runs.astype(int) @ runs.T.astype(int))[np.triu_indices(len(runs), 1)]
    return interval.high - interval.low, overlaps.var() / max(overlaps.mean(), 1e-9)


def multiplicity(repeats, n_runs=10):
    """Two signatures that take turns against one blurred signature of the same probabilities, hence the same Φ."""
    rows = []
    for strength in (0.3, 0.5, 0.7, 0.9):
        p = signatures(strength)
        found = {}
        for at, draw in enumerate((one_signature, two_signatures)):
            rngs = (
                np.random.default_rng((n_runs, at, seed)) for seed in range(repeats)
            )
            found[at] = np.array([indicators(draw(p, n_runs, rng)) for rng in rngs])
        higher = [
            np.mean(found[1][:, [i]] > found[0][:, i]) for i in (0, 1)
        ]  # the area under the ROC curve
        widths = [values[:, 0].mean() for values in found.values()]
        rows.append(
            {
                "strength": strength,
                "Φ of both": f"{population_stability(p.mean(axis=0)):.2f}",
                "width, one": f"{widths[0]:.3f}",
                "width, two": f"{widths[1]:.3f}",
                "AUC of the width": f"{higher[0]:.2f}",
                "AUC of the variance of overlaps": f"{higher[1]:.2f}",
            }
        )
    section(
        f"Section 6: the width as a sign of multiplicity, M = {n_runs} ({repeats} repeats)"
    )
    show(pd.DataFrame(rows))

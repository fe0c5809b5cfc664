"""Nogueira and Brown (2016), Measuring the stability of feature selection: figures 1–6, tables 1, 2.

    python benchmarks/papers/nogueira2016.py            # everything
    python benchmarks/papers/nogueira2016.py --quick    # fewer repeats: a minute

The paper's measure, the mean correlation of two sets, is `phi`.
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

from typing import NamedTuple

import numpy as np
from _nogueira2018_chance import expected_by_chance
from _redundancy import (
    N_RELEVANT,
    N_ROWS,
    SCORE,
    choices,
    column,
    halves,
    penalty_of,
    runs_of,
    search_lasso,
    table_of_errors,
)
from _simulations import (
    N_FEATURES,
    N_RUNS,
    curves,
    draw_curves,
    first_features,
    random_features,
    span,
)
from _tables import claim, compare, elapsed, figure, number, options, title

from skstab import (
    ParetoFrontDisplay,
    SelectionFrequencyDisplay,
    measure_table,
    pareto_front,
    stability_score,
)

MEASURE = "phi"


class Size(NamedTuple):
    """How much is computed; the paper has 100 runs and 100 penalties."""

    runs: int
    penalties: int
    samples: int


FULL, QUICK = Size(100, 22, 50), Size(6, 8, 10)


# -- sections 2 to 4: measures -----------------------------------------------------------------------------------------


def section_2():
    """The example of equation (1)."""
    first = np.array([[1, 1, 1, 0, 0]] * 3)
    second = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 0, 1, 0, 0]])
    compare(
        "Section 2.2: Jaccard of the two examples",
        [
            number("A₁", 1.0, stability_score(first, measure="jaccard")),
            number("A₂", 0.61, stability_score(second, measure="jaccard")),
        ],
    )


def figure_1(opts):
    """The maximum, and only the maximum, means identical sets."""
    same = curves(
        ["lustgarten", MEASURE], lambda k: first_features(np.repeat(k, N_RUNS))
    )
    varied = curves(
        ["wald", "cwrel", MEASURE],
        lambda k: first_features(np.repeat([k, k - 1], N_RUNS // 2)),
    )
    always = {name: bool(np.allclose(values, 1)) for name, values in varied.items()}
    compare(
        f"Figure 1: the maximum (d = {N_FEATURES}, M = {N_RUNS}, k = 2 … 9)",
        [
            claim(
                "left, lustgarten",
                "varies with k",
                span(same["lustgarten"]),
                holds=np.ptp(same["lustgarten"]) > 0,
            ),
            claim(
                "left, phi",
                "1 (property 3)",
                span(same[MEASURE]),
                holds=bool(np.allclose(same[MEASURE], 1)),
            ),
            claim(
                "right, wald", "1 for all k", span(varied["wald"]), holds=always["wald"]
            ),
            claim(
                "right, cwrel",
                "1 for all k",
                span(varied["cwrel"]),
                holds=always["cwrel"],
            ),
            claim(
                "right, phi",
                "below 1 (property 3)",
                span(varied[MEASURE]),
                holds=varied[MEASURE].max() < 1,
            ),
        ],
    )
    with figure(opts, "nogueira2016_figure_1", 1, 2) as axes:
        draw_curves(axes[0], same, "the same k features in all runs")
        draw_curves(
            axes[1], varied, "k features in one half of the runs, k − 1 in the other"
        )


def runs_of_random_size(size):
    """Random selections of k features in half of the runs, of k − 1 and k + 1 in a quarter each."""
    return random_features(np.repeat([size, size, size - 1, size + 1], N_RUNS // 4))


def figure_2(opts):
    """Stability of random selections, and theorem 2."""
    biased = ["hamming", "jaccard", "pog", "dice"]
    values = curves([*biased, MEASURE], runs_of_random_size)
    rows = [
        claim(
            name,
            "not constant",
            span(values[name]),
            holds=bool(np.ptp(values[name]) > 0.1),
        )
        for name in biased
    ]
    # At k = 9 a quarter of the runs select everything.
    within, last = values[MEASURE][:-1], values[MEASURE][-1]
    rows.append(
        claim(
            "phi, k = 2 … 8",
            "0 on average",
            span(within),
            holds=np.abs(within).max() < 0.03,
        )
    )
    rows.append(
        claim("phi, k = 9", "0 on average", f"{last:.2f}", holds=abs(last) < 0.03)
    )
    equal = curves(
        [MEASURE, "kuncheva", "wald", "npog"],
        lambda k: random_features(np.repeat(k, N_RUNS)),
    )
    apart = np.ptp(list(equal.values()), axis=0).max()
    rows.append(
        claim(
            "theorem 2: phi, kuncheva, wald, npog",
            "equal, constant k",
            f"{apart:.0e}",
            holds=apart < 1e-9,
        )
    )
    compare(
        f"Figure 2: random selections (d = {N_FEATURES}, M = {N_RUNS}, k = 2 … 9)", rows
    )
    with figure(opts, "nogueira2016_figure_2") as axes:
        draw_curves(axes, values, "random selections")


def scenarios(n_runs=7000, n_features=15, size=6):
    """Runs that always agree, that mostly agree, and that select at random."""
    rng = np.random.default_rng(0)
    same = np.tile(np.arange(n_features) < size, (n_runs, 1))
    # Six runs in seven exchange one of the features that belong for one that does not.
    exchanged = same.copy()
    rows = np.flatnonzero(np.arange(n_runs) % 7)
    exchanged[rows, rng.integers(size, size=rows.size)] = False
    exchanged[rows, rng.integers(size, n_features, size=rows.size)] = True
    at_random = rng.random((n_runs, n_features)).argsort(axis=1) < size
    return [same, exchanged, at_random]


def table_1():
    """The properties of the measures; of the marks only what the text says can be read."""
    table = measure_table()
    ten = [
        "jaccard",
        "hamming",
        "dice",
        "pog",
        "kuncheva",
        "npog",
        "lustgarten",
        "wald",
        "krizek",
        "cwrel",
    ]
    four = ["fully_defined", "bounded", "maximum", "chance_corrected"]
    all_four = [name for name in [*ten, MEASURE] if table.loc[name, four].all()]
    undefined = [name for name in ten if not table.loc[name, "fully_defined"]]
    no_maximum = [name for name in ten if not table.loc[name, "maximum"]]
    corrected = bool(table.loc["cwrel", "chance_corrected"])
    compare(
        "Table 1: properties of ten measures, as far as the text states them",
        [
            claim(
                "with all four properties",
                "phi alone",
                ", ".join(all_four),
                holds=all_four == [MEASURE],
            ),
            claim(
                "not fully defined",
                "krizek, kuncheva",
                ", ".join(undefined),
                holds=set(undefined) == {"krizek", "kuncheva"},
            ),
            claim(
                "without the maximum",
                "lustgarten, wald, cwrel",
                ", ".join(no_maximum),
                holds=set(no_maximum) == {"lustgarten", "wald", "cwrel"},
            ),
            claim(
                "cwrel corrected for chance",
                "yes (section 2.2)",
                f"no: 1/M, {expected_by_chance('cwrel', 4, (2, 2)):.2f} at M = 2, d = 4, k = 2",
                holds=corrected,
            ),
        ],
    )


def theorem_3():
    """The lower bound of the mean correlation of M runs."""
    lowest = {
        m: stability_score(np.eye(m, dtype=bool), measure=MEASURE) for m in (2, 4, 8)
    }
    measured = ", ".join(f"{value:.2f} at M = {m}" for m, value in lowest.items())
    holds = all(np.isclose(value, -1 / (m - 1)) for m, value in lowest.items())
    compare(
        "Theorem 3: asymptotically in [0, 1]",
        [claim("lowest value", "0 as M grows", f"{measured}: −1/(M − 1)", holds=holds)],
    )


def figure_3(opts):
    """Selection frequencies and stability in three scenarios."""
    runs = scenarios()
    published = (1.0, 0.58, 0.0)
    found = [stability_score(one, measure=MEASURE) for one in runs]
    compare(
        "Figure 3: three scenarios (d = 15, k = 6)",
        [number(f"scenario {at + 1}", published[at], found[at]) for at in range(3)],
    )
    with figure(opts, "nogueira2016_figure_3", 1, 3, sharey=True) as axes:
        for ax, one, value in zip(axes, runs, found, strict=True):
            ax.bar(np.arange(1, 16), one.mean(axis=0))
            ax.set(
                xlabel="feature",
                ylabel="selection frequency",
                title=f"stability {value:.2f}",
            )


# -- section 5: the penalty of the lasso -------------------------------------------------------------------------------

REDUNDANCIES = (0.0, 0.3, 0.5, 0.8)
TABLE_2 = {
    (0.3, "likelihood"): (4, 17),
    (0.3, "both"): (0, 17),
    (0.5, "likelihood"): (7, 24),
    (0.5, "both"): (0, 25),
    (0.8, "likelihood"): (5, 35),
    (0.8, "both"): (0, 33),
}
# The paper's own choices are among the candidates.
NO_REDUNDANCY, LEAST_ERROR, TRADE_OFF = 4.12e-4, 0.009, 0.023


def candidates(n_penalties):
    return np.unique(
        [*np.geomspace(0.3, 2e-4, n_penalties), NO_REDUNDANCY, LEAST_ERROR, TRADE_OFF]
    )[::-1]


def index_of(found, penalty):
    penalties = [penalty_of(found, index) for index in range(len(column(found, SCORE)))]
    return int(np.argmin(np.abs(np.subtract(penalties, penalty))))


def out_of_bag_errors(found):
    """The paper's error: the negative log-likelihood, summed over the rows left out."""
    return -column(found, SCORE) * N_ROWS * (1 - 1 / N_ROWS) ** N_ROWS


def draw_path(axes, found, values, name, marked):
    axes.semilogx(
        [penalty_of(found, index) for index in range(len(values))], values, marker="."
    )
    axes.axvline(marked, color="r", ls="--")
    axes.set(xlabel="λ", ylabel=name)


def figure_4(opts, found, n_runs):
    """Without redundancy error and stability agree."""
    at = index_of(found, NO_REDUNDANCY)
    stability = column(found, MEASURE)
    best, stable = choices(found, MEASURE).values()
    compare(
        f"Figure 4: ρ = 0 (M = {n_runs})",
        [
            number("λ = 4.12e-4: OOB error", 0.30, out_of_bag_errors(found)[at]),
            number("λ = 4.12e-4: stability", 0.98, stability[at]),
            number(
                "λ of the least error", NO_REDUNDANCY, penalty_of(found, best), digits=5
            ),
            claim(
                "stability there and at its best",
                "the same",
                f"{stability[best]:.3f}, {stability[stable]:.3f}",
                holds=stability[stable] - stability[best] < 0.02,
            ),
        ],
    )
    with figure(opts, "nogueira2016_figure_4", 1, 2) as axes:
        draw_path(axes[0], found, out_of_bag_errors(found), "OOB error", NO_REDUNDANCY)
        draw_path(axes[1], found, stability, "stability", NO_REDUNDANCY)


def figure_5(opts, found, n_runs):
    """With redundancy a little more error buys stability."""
    best, stable = choices(found, MEASURE).values()
    theirs = [index_of(found, penalty) for penalty in (LEAST_ERROR, TRADE_OFF)]
    stability, error = column(found, MEASURE), out_of_bag_errors(found)
    on_front = np.isin(theirs, pareto_front(found.cv_results_, SCORE, MEASURE))
    compare(
        f"Figure 5: ρ = 0.3 (M = {n_runs})",
        [
            number(
                "λ of the least error", LEAST_ERROR, penalty_of(found, best), digits=3
            ),
            number(
                "λ of the trade-off (ours: of the best stability)",
                TRADE_OFF,
                penalty_of(found, stable),
                digits=3,
            ),
            claim(
                "stability from λ = 0.009 to 0.023",
                "drastically higher",
                "{:.2f} to {:.2f}".format(*stability[theirs]),
                holds=np.diff(stability[theirs])[0] > 0.1,
            ),
            claim(
                "error from λ = 0.009 to 0.023",
                "slightly higher",
                "{:.1f} to {:.1f}".format(*error[theirs]),
                holds=np.ptp(error[theirs]) < 0.05 * np.ptp(error),
            ),
            claim(
                "λ = 0.023",
                "on the Pareto front",
                "yes" if on_front[1] else "no",
                holds=bool(on_front[1]),
            ),
        ],
    )
    with figure(opts, "nogueira2016_figure_5", 1, 2, figsize=(12, 4)) as axes:
        draw_path(axes[0], found, error, "OOB error", LEAST_ERROR)
        ParetoFrontDisplay.from_search(found, SCORE, MEASURE).plot(axes[1])


def figure_6(opts, found, rows):
    """Selection frequencies of the two penalties."""
    runs = {
        penalty: runs_of(found, index_of(found, penalty), rows)
        for penalty in (LEAST_ERROR, TRADE_OFF)
    }
    irrelevant = [
        fitted.selection_frequencies_[N_RELEVANT:] for fitted in runs.values()
    ]
    ever = [
        f"{(f > 0).sum()} of {f.size} ever selected, at most in {f.max():.0%} of the runs"
        for f in irrelevant
    ]
    compare(
        "Figure 6: irrelevant features in the runs, ρ = 0.3",
        [
            claim(
                "λ = 0.009",
                "not distinguishable",
                ever[0],
                holds=bool((irrelevant[0] > 0).mean() > 0.5),
            ),
            claim(
                "λ = 0.023",
                "two ever selected, in 1%",
                ever[1],
                holds=bool(irrelevant[1].max() <= 0.02),
            ),
        ],
    )
    with figure(opts, "nogueira2016_figure_6", 1, 2, figsize=(12, 4)) as axes:
        for (penalty, fitted), ax in zip(runs.items(), axes, strict=True):
            SelectionFrequencyDisplay.from_estimator(fitted).plot(
                ax, top_k=None, order="column", legend=False
            )
            ax.axvline(N_RELEVANT - 0.5, color="r")
            ax.set_title(f"λ = {penalty}")


def section_5(opts, size):
    """The lasso at four redundancies."""
    chosen, final = zip(
        *(halves(redundancy) for redundancy in REDUNDANCIES), strict=True
    )
    penalties = candidates(size.penalties)
    searches = {
        redundancy: search_lasso(penalties, rows, n_runs=size.runs, measure=MEASURE)
        for redundancy, rows in zip(REDUNDANCIES, chosen, strict=True)
    }
    figure_4(opts, searches[0.0], size.runs)
    figure_5(opts, searches[0.3], size.runs)
    figure_6(opts, searches[0.3], chosen[1])
    table_of_errors(
        "Table 2: false positives and false negatives of the final lasso",
        TABLE_2,
        searches,
        dict(zip(REDUNDANCIES, final, strict=True)),
        measure=MEASURE,
        n_samples=size.samples,
    )


def main():
    opts = options(__doc__)
    title("nogueira2016")
    section_2()
    figure_1(opts)
    table_1()
    theorem_3()
    figure_2(opts)
    figure_3(opts)
    section_5(opts, QUICK if opts.quick else FULL)
    elapsed()


if __name__ == "__main__":
    main()

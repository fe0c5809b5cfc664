"""Nogueira, Sechidis and Brown (2018), On the stability of feature selection algorithms: figures 1–12, tables 2, 4, 5.

    python benchmarks/papers/nogueira2018.py            # everything
    python benchmarks/papers/nogueira2018.py --quick    # fewer repeats: a minute

Figure 12 needs spambase, sonar and madelon in the folder of --data; its fourth set, Boston housing, is left out.
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

from typing import NamedTuple

import numpy as np
import pandas as pd
from _nogueira2018_chance import section_3_5, section_4, section_7_2, tables_6_and_7
from _nogueira2018_selection import figure_12
from _nogueira2018_theory import (
    figure_1,
    figure_2,
    figure_3,
    figure_4,
    figure_5,
    section_5_2,
    table_2,
    table_4,
)
from _redundancy import (
    N_RELEVANT,
    SCORE,
    choices,
    column,
    halves,
    inverse,
    penalty_of,
    runs_of,
    search,
    search_lasso,
    table_of_errors,
)
from _tables import claim, compare, elapsed, figure, number, options, title
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab import ParetoFrontDisplay, SelectionFrequencyDisplay, pareto_front

SETS = ("spambase", "sonar", "madelon")


class Size(NamedTuple):
    """How much is computed: in full as much as in the paper, and 100 halves, the default of the package it used."""

    repeats: int
    tests: int
    runs: int
    penalties: int
    samples: int
    runs_of_set: dict[str, int]
    halves: int


FULL = Size(10_000, 1000, 100, 20, 50, dict.fromkeys(SETS, 100), 100)
QUICK = Size(200, 50, 5, 8, 5, dict.fromkeys(SETS, 5), 10)

# -- section 6.1: lasso and elastic net --------------------------------------------------------------------------------

REDUNDANCIES = (0.0, 0.3, 0.5, 0.8)
TABLE_5 = {
    (0.0, "likelihood"): (0, 0),
    (0.0, "both"): (0, 0),
    (0.3, "likelihood"): (14, 19),
    (0.3, "both"): (0, 20),
    (0.5, "likelihood"): (0, 26),
    (0.5, "both"): (0, 26),
    (0.8, "likelihood"): (12, 38),
    (0.8, "both"): (0, 39),
}


def front(found):
    return pareto_front(found.cv_results_, SCORE, "nogueira")


def rows_of_low_redundancy(found):
    """What the text says about ρ = 0.3."""
    best, stable = choices(found).values()
    lost, gain = (
        abs(np.diff(column(found, name)[[best, stable]])[0])
        for name in (SCORE, "nogueira")
    )
    return [
        number(
            "ρ = 0.3: λ of the best likelihood",
            0.0051,
            penalty_of(found, best),
            digits=4,
        ),
        number(
            "ρ = 0.3: λ of the best stability",
            0.0187,
            penalty_of(found, stable),
            digits=4,
        ),
        number("ρ = 0.3: best stability", 0.63, column(found, "nogueira")[stable]),
        claim(
            "ρ = 0.3: loss of likelihood",
            "negligible",
            f"{lost:.3f} for +{gain:.2f}",
            holds=bool(lost < 0.03),
        ),
    ]


def rows_across_redundancies(searches):
    none = column(searches[0.0], "nogueira")[list(choices(searches[0.0]).values())]
    tops = [column(found, "nogueira").max() for found in searches.values()]
    errors = [
        1 - column(found, "accuracy")[front(found)[[0, -1]]]
        for found in searches.values()
    ]
    return [
        claim(
            "ρ = 0: both choices",
            "similar stability",
            "{:.3f}, {:.3f}".format(*none),
            holds=np.ptp(none) < 0.03,
        ),
        claim(
            "best stability, ρ = 0 … 0.8",
            "falls with redundancy",
            ", ".join(f"{top:.2f}" for top in tops),
            holds=bool((np.diff(tops) < 0).all()),
        ),
        claim(
            "OOB error at the two ends of each front",
            "similar",
            "; ".join("{:.1%}, {:.1%}".format(*ends) for ends in errors),
            holds=max(np.ptp(errors, axis=1)) < 0.01,
        ),
    ]


def draw_figure_7(opts, searches):
    with figure(opts, "nogueira2018_figure_7", 2, 2, figsize=(12, 8)) as axes:
        for (redundancy, found), ax in zip(searches.items(), axes.flat, strict=True):
            ParetoFrontDisplay.from_search(found, SCORE, "nogueira").plot(
                ax, legend=redundancy == 0
            )
            ax.set_title(f"ρ = {redundancy}")


def draw_figure_8(opts, searches):
    with figure(opts, "nogueira2018_figure_8") as axes:
        for redundancy, found in searches.items():
            points = (
                column(found, metric)[front(found)] for metric in (SCORE, "nogueira")
            )
            axes.plot(*points, "-o", ms=4, label=redundancy)
        axes.set(
            xlabel="OOB log-likelihood of a row",
            ylabel="stability",
            title="Pareto fronts",
        )
        axes.legend(title="ρ")


def draw_figure_6(opts, searches):
    with figure(
        opts, "nogueira2018_figure_6", len(searches), 2, figsize=(9, 11), sharex=True
    ) as axes:
        for (redundancy, found), row in zip(searches.items(), axes, strict=True):
            penalties = [
                penalty_of(found, index) for index in range(len(column(found, SCORE)))
            ]
            for ax, metric in zip(row, (SCORE, "nogueira"), strict=True):
                ax.semilogx(penalties, column(found, metric), marker=".")
                for index, colour in zip(
                    choices(found).values(), ("deeppink", "k"), strict=True
                ):
                    ax.axvline(penalties[index], color=colour, ls="--")
                ax.set(
                    xlabel="λ",
                    ylabel={SCORE: "log-likelihood"}.get(metric, "stability"),
                    title=f"ρ = {redundancy}",
                )


def compare_frequencies(opts, name, runs):
    """Draw how often two candidates select each feature, and return the frequencies of the irrelevant ones."""
    with figure(opts, name, 1, 2, figsize=(12, 4)) as axes:
        for (text, fitted), ax in zip(runs.items(), axes, strict=True):
            SelectionFrequencyDisplay.from_estimator(fitted).plot(
                ax, top_k=None, order="column", legend=False
            )
            ax.axvline(N_RELEVANT - 0.5, color="r")
            ax.set_title(text)
    return [fitted.selection_frequencies_[N_RELEVANT:] for fitted in runs.values()]


def figure_9(opts, found, rows):
    """Selection frequencies at high redundancy."""
    runs = {
        f"best {name}": runs_of(found, index, rows)
        for name, index in choices(found).items()
    }
    likely, stable = compare_frequencies(opts, "nogueira2018_figure_9", runs)
    ever = [
        f"{(f > 0).sum()} of {f.size} ever, at most {f.max():.0%}"
        for f in (likely, stable)
    ]
    compare(
        "Figure 9: irrelevant features in the runs, ρ = 0.8",
        [
            claim(
                "best likelihood",
                "not distinguishable",
                ever[0],
                holds=bool((likely > 0).mean() > 0.5),
            ),
            claim(
                "likelihood and stability",
                "never selected",
                ever[1],
                holds=bool(stable.max() == 0),
            ),
        ],
    )


def section_6_1(opts, size):
    """The lasso at four redundancies."""
    penalties = np.geomspace(0.3, 4e-4, size.penalties)
    chosen, final = zip(
        *(halves(redundancy) for redundancy in REDUNDANCIES), strict=True
    )
    searches = {
        redundancy: search_lasso(penalties, rows, n_runs=size.runs)
        for redundancy, rows in zip(REDUNDANCIES, chosen, strict=True)
    }
    compare(
        f"Figures 6 to 8: lasso, likelihood and stability (M = {size.runs})",
        rows_of_low_redundancy(searches[0.3]) + rows_across_redundancies(searches),
    )
    for draw in (draw_figure_6, draw_figure_7, draw_figure_8):
        draw(opts, searches)
    figure_9(opts, searches[0.8], chosen[-1])
    table_of_errors(
        "Table 5: false positives and false negatives of the final lasso",
        TABLE_5,
        searches,
        dict(zip(REDUNDANCIES, final, strict=True)),
        measure="nogueira",
        n_samples=size.samples,
    )


L1_SHARES = (0.05, 0.5, 1.0)
NET_PENALTIES = np.array(
    [0.02, 0.05, 0.1, 0.16, 0.25, 0.4, 0.56, 0.66, 0.76, 0.88, 1.0]
)


def section_6_1_3(opts, size):
    """The elastic net at high redundancy; the paper's α is the share of the L1 penalty."""
    rows, _ = halves(0.8)
    net = make_pipeline(
        StandardScaler(),
        LogisticRegression(solver="saga", max_iter=2000, random_state=0),
    )
    # α = 1 selects nothing beyond λ = 0.35.
    grid = [
        {"l1_ratio": [share], "C": inverse(NET_PENALTIES[NET_PENALTIES * share < 0.3])}
        for share in L1_SHARES
    ]
    found = search(net, grid, rows, n_runs=size.runs, measure="nogueira")
    table = net_table(found)
    draw_figure_10(opts, table)
    compare(
        f"Figures 10 and 11: elastic net, ρ = 0.8, α = 0.05 (M = {size.runs})",
        rows_of_figure_10(table) + rows_of_figure_11(opts, found, table, rows),
    )


def net_table(found):
    table = pd.DataFrame(found.cv_results_["params"]).rename(
        columns=lambda name: name.rpartition("__")[2]
    )
    metrics = {
        "likelihood": SCORE,
        "stability": "nogueira",
        "n_features": "n_features",
        "accuracy": "accuracy",
    }
    return table.assign(
        penalty=inverse(table["C"]).round(6),
        **{name: column(found, metric) for name, metric in metrics.items()},
    )


def draw_figure_10(opts, table):
    with figure(opts, "nogueira2018_figure_10", 1, 3) as axes:
        for ax, metric in zip(
            axes, ("n_features", "likelihood", "stability"), strict=True
        ):
            for share, lines in table.groupby("l1_ratio"):
                ax.plot(
                    lines["penalty"], lines[metric], marker=".", label=f"α = {share}"
                )
            ax.set(
                xlabel="λ", ylabel=metric.replace("n_features", "number of features")
            )
        axes[0].legend()


def span(values):
    return f"{values.min():.2f} to {values.max():.2f}"


def rows_of_figure_10(table):
    """What the text says about the curves of α = 0.05."""
    lines = table[table["l1_ratio"] == L1_SHARES[0]].set_index("penalty")
    strong = lines[lines.index > 0.56]
    wins = (
        table.loc[table.groupby("penalty")["likelihood"].idxmax(), "l1_ratio"]
        == L1_SHARES[0]
    )
    stability, size = strong["stability"], strong["n_features"]
    return [
        claim(
            "likelihood of α = 0.05",
            "best at most λ",
            f"at {wins.sum()} of {wins.size}",
            holds=wins.mean() > 0.5,
        ),
        claim(
            "stability beyond λ = 0.56",
            "above 0.90",
            span(stability),
            holds=stability.min() > 0.9,
        ),
        claim(
            "features beyond λ = 0.56",
            "around 50",
            span(size),
            holds=size.between(47, 53).all(),
        ),
        number(
            "λ of the best likelihood (0.05 in the text)",
            0.16,
            lines["likelihood"].idxmax(),
        ),
        number("λ = 0.05: stability", 0.34, lines["stability"][0.05]),
        number("λ = 0.16: stability", 0.34, lines["stability"][0.16]),
        number("λ = 0.05: OOB error", 0.14, 1 - lines["accuracy"][0.05]),
        number("λ = 0.76: stability", 0.98, lines["stability"][0.76]),
        number("λ = 0.76: OOB error", 0.14, 1 - lines["accuracy"][0.76]),
    ]


def rows_of_figure_11(opts, found, table, rows):
    """Draw the selection frequencies of two penalties, and say what the text says about them."""
    shown = table[
        (table["l1_ratio"] == L1_SHARES[0]) & table["penalty"].isin([0.16, 0.76])
    ].sort_values("penalty")
    runs = {
        f"α = 0.05, λ = {row.penalty}": runs_of(found, row.Index, rows)
        for row in shown.itertuples()
    }
    weak, strong = compare_frequencies(opts, "nogueira2018_figure_11", runs)
    relevant = list(runs.values())[1].selection_frequencies_[:N_RELEVANT].min()
    measured = f"{weak.mean():.0%}; {strong.mean():.1%}"
    return [
        claim(
            "λ = 0.76: relevant features",
            "always",
            f"in at least {relevant:.0%}",
            holds=relevant == 1,
        ),
        claim(
            "irrelevant features at λ = 0.16; 0.76",
            "often; rarely",
            f"in {measured} of the runs",
            holds=weak.mean() > 0.2 and strong.mean() < 0.05,
        ),
    ]


def main():
    opts = options(__doc__)
    size = QUICK if opts.quick else FULL
    title("nogueira2018")
    figure_1(opts)
    figure_2(opts)
    table_2()
    section_3_5(size.tests // 2)
    section_4(size.tests)
    section_7_2()
    tables_6_and_7()
    figure_3(opts, size.tests)
    figure_4(opts, size.repeats)
    table_4(size.repeats)
    section_5_2(size.repeats // 5)
    figure_5(opts, size.tests)
    section_6_1(opts, size)
    section_6_1_3(opts, size)
    figure_12(opts, size.runs_of_set, size.halves)
    elapsed()


if __name__ == "__main__":
    main()

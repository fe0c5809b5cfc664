"""Hamer and Dupont (2021), An importance weighted feature selection stability measure, JMLR 22.

    python benchmarks/papers/hamer2021.py [--quick] [--out DIR] [--data DIR]

The properties of table 2, the toy maps of figures 3 to 6, correlated groups (figures 7 and 8), the fronts of hybrid-RFE
(table 3, figures 9 to 11 and 21 to 25), the standard selectors (table 5, figures 12 to 20) and all of them together
(figures 26 to 29). Group lasso and elastic net are those of skglm (`pip install -r benchmarks/requirements.txt`), and
left out without it.

A full run takes up to an hour of processor time. Finished runs are kept in the folder of --out, in files that a
repeated call reads; delete the folder to begin anew. With --quick, about a minute: few runs on the smallest sets.
"""

from __future__ import annotations

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

from argparse import Namespace
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
import pandas as pd
from _hamer_front import figure_10, figures_of_fronts, table_3
from _hamer_joint import figures_26_to_29
from _hamer_lasso import chiaretti, figure_19, table_5
from _hamer_lines import (
    code_of_2021,
    elimination_of_scikit_learn,
    figure_13,
    figure_14,
    figure_14_svm,
    figure_15,
    figure_17,
    logistic_rfe,
    svm_rfe,
)
from _hamer_properties import table_2
from _hamer_runs import MEASURES
from _tables import Row, claim, compare, elapsed, figure, note, number, options, title
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from skstab.datasets import make_correlated_groups
from skstab.inspection import FeatureStabilityMapDisplay
from skstab.metrics import canberra_stability, effective_stability, stability_score
from skstab.model_selection import BootstrapSplit, StabilityCV

# -- toy maps: figures 3 to 6 ------------------------------------------------------------------------------------------

N_RUNS, N_SELECT = 30, 20
N_TOTAL = 20_000  # for the paper's d → ∞


def map_3(rng: np.random.Generator) -> Any:
    """The same 20 features with approximately equal importances: ±30%, which gives φ_pears = 0.97."""
    return _spread(rng.uniform(0.7, 1.3, (N_RUNS, N_SELECT)))


def map_4(rng: np.random.Generator) -> Any:
    """15 frequent features share a quarter of the importance; the others come from a pool of 40."""
    importances = np.zeros((N_RUNS, N_TOTAL))
    importances[:, :15] = (
        rng.lognormal(0, 0.5, (N_RUNS, 15))
        / 15
        * 0.25
        * (rng.random((N_RUNS, 15)) < 0.92)
    )
    for run in importances:
        run[15 + rng.choice(40, 5, replace=False)] = rng.lognormal(0, 0.5, 5) / 5 * 0.75
    return importances


def map_5(rng: np.random.Generator) -> Any:
    """The same 20 features, of which other 4 hold two thirds of the importance in each run."""
    low, high = (1 / 3) / 16, (2 / 3) / 4
    large = rng.random((N_RUNS, N_SELECT)).argsort(axis=1) < 4
    return _spread(np.where(large, high, low) * rng.uniform(0.9, 1.1, large.shape))


def map_6(_: np.random.Generator) -> Any:
    """15 features always, of importance 2/3 each, and 5 never repeated, of importance 2."""
    importances = _spread(np.full((N_RUNS, 15), 2 / 3))
    for start, run in zip(range(15, N_TOTAL, 5), importances, strict=False):
        run[start : start + 5] = 2
    return importances


def _spread(importances: Any) -> Any:
    """Put the importances of the first features into a table of all features."""
    return np.pad(importances, ((0, 0), (0, N_TOTAL - importances.shape[1])))


MAPS = {
    3: (map_3, {"φ": 1.0, "φ_pears": 0.97, "φ_can": 0.47, "φ_iw": 0.9}),
    4: (map_4, {"φ": 0.72, "φ_pears": 0.13, "φ_can": 0.39, "φ_iw": 0.21}),
    5: (map_5, {"φ": 1.0, "φ_pears": 0.42, "φ_can": 0.55, "φ_iw": 0.53}),
    6: (map_6, {"φ": 0.75, "φ_pears": 0.25, "φ_can": 0.51, "φ_iw": 0.5}),
}


def figures_3_to_6(opts: Namespace) -> None:
    with figure(opts, "hamer2021_figures_3_to_6", 2, 2) as axes:
        for panel, (label, (draw, published)) in zip(
            axes.flat, MAPS.items(), strict=True
        ):
            importances = draw(np.random.default_rng(0))
            FeatureStabilityMapDisplay.from_importances(importances).plot(
                panel, n_colours=20, measures=True, legend=False
            )
            measured = {symbol: _stability(importances, symbol) for symbol in published}
            rows = [
                number(symbol, published[symbol], measured[symbol])
                for symbol in published
            ]
            compare(f"Figure {label}: toy map", rows)


def _stability(importances: Any, symbol: str) -> float:
    if symbol == "φ_can":
        return canberra_stability(rankdata(-importances, axis=1), location=N_SELECT)
    data = importances != 0 if symbol == "φ" else importances
    return stability_score(data, measure=MEASURES[symbol])


# -- correlated groups: figures 7 and 8 --------------------------------------------------------------------------------


class GroupLasso(ClassifierMixin, BaseEstimator):
    """Logistic regression that selects whole groups of features, each penalised by the root of its size."""

    def __init__(self, groups: Any, alpha: float) -> None:
        self.groups = groups
        self.alpha = alpha

    def fit(self, X: Any, y: Any) -> Self:  # noqa: D102
        from skglm.datafits import LogisticGroup
        from skglm.penalties import WeightedGroupL2
        from skglm.solvers import GroupProxNewton

        sizes = np.bincount(self.groups)
        layout = (
            np.append(0, np.cumsum(sizes)).astype(np.int32),
            np.arange(len(self.groups), dtype=np.int32),
        )
        datafit, penalty = (
            LogisticGroup(*layout),
            WeightedGroupL2(self.alpha, np.sqrt(sizes), *layout),
        )
        self.classes_ = np.unique(y)
        signs = np.where(y == self.classes_[1], 1.0, -1.0)
        solved, *_ = GroupProxNewton(fit_intercept=True).solve(
            np.asfortranarray(X), signs, datafit, penalty
        )
        self.coef_, self.intercept_ = solved[None, :-1], solved[-1:]
        return self

    def predict(self, X: Any) -> Any:  # noqa: D102
        return self.classes_[(X @ self.coef_[0] + self.intercept_ > 0).astype(int)]


def l1_logistic(groups: Any, alpha: float) -> Any:  # noqa: ARG001  as GroupLasso
    return LogisticRegression(
        l1_ratio=1, solver="liblinear", C=1 / (200 * alpha), random_state=0
    )


# Table 1: the data, the selector, and its penalty, with which about 40 features are selected at c = 1.
SCENARIOS = {
    1: ({"group_mean": 0.35, "correlation": 0.8}, GroupLasso, 0.05),
    2: ({"group_mean": 0.5, "correlation": 0.8}, GroupLasso, 0.034),
    3: ({"group_mean": 0.5, "correlation": 0.95}, l1_logistic, 0.034),
}
FIGURE_8 = {
    1: {
        "φ": "rises",
        "φ_pears": "falls",
        "φ_iw": "about constant",
        "φ_C": "rises, then tends to −∞",
    },
    2: {"φ": "rises", "φ_pears": "falls", "φ_iw": "about constant", "φ_C": "rises"},
    3: {"φ": "falls", "φ_pears": "falls", "φ_iw": "falls", "φ_C": "about constant"},
}
HOLDS = {
    "rises": lambda values: values.iloc[-1] > values.iloc[0] + 0.05,
    "falls": lambda values: values.iloc[-1] < values.iloc[0] - 0.05,
    "about constant": lambda values: np.ptp(values) < 0.15,
    "rises, then tends to −∞": lambda values: 0 < values.argmax() < len(values) - 1,
}


def figure_8(opts: Namespace) -> None:
    """The four measures against the size of the groups, at the penalty that selects 40 features of groups of one."""
    sizes, n_sets, n_runs = (
        ((1, 10), 1, 10) if opts.quick else ((1, 2, 5, 10, 20, 40), 10, 30)
    )
    lasso_only = opts.quick or find_spec("skglm") is None
    if lasso_only:
        note(
            "Skipped scenarios 1 and 2 of figure 8: not with --quick, and they need skglm (see requirements.txt)."
        )
    tables = {}
    for scenario in [3] if lasso_only else SCENARIOS:
        tables[scenario] = pd.DataFrame(
            {c: _mean_of_sets(scenario, c, n_sets, n_runs) for c in sizes}
        ).T
    text = f"Figure 8: correlated groups of size {', '.join(map(str, sizes))}; sets: {n_sets}, runs: {n_runs}"
    compare(
        text,
        [
            row
            for scenario, table in tables.items()
            for row in _rows_of_scenario(scenario, table)
        ],
    )
    with figure(opts, "hamer2021_figure_8", 1, len(tables), squeeze=False) as axes:
        for panel, (scenario, table) in zip(axes[0], tables.items(), strict=True):
            table.drop(columns="features").plot(
                ax=panel, marker="o", title=f"scenario {scenario}"
            )
            panel.set(
                xlabel="group size c",
                ylabel="stability",
                ylim=(-1 if scenario == 1 else 0, 1),
            )
    if not lasso_only:
        figure_7(opts, n_runs)


def _mean_of_sets(
    scenario: int, group_size: int, n_sets: int, n_runs: int
) -> pd.Series:
    each = [
        _four_measures(*_group_runs(scenario, group_size, n_runs, seed))
        for seed in range(n_sets)
    ]
    return pd.DataFrame(each).mean()


def _group_runs(
    scenario: int, group_size: int, n_runs: int, seed: int
) -> tuple[StabilityCV, Any]:
    params, model, penalty = SCENARIOS[scenario]
    X, y, groups = make_correlated_groups(
        group_size=group_size, random_state=seed, **params
    )
    cv = BootstrapSplit(n_runs, random_state=seed)
    return StabilityCV(model(groups, penalty), cv=cv, scoring="accuracy").fit(
        X, y
    ), groups


def _four_measures(runs: StabilityCV, groups: Any) -> dict[str, float]:
    measured = {symbol: runs.stability(measure) for symbol, measure in MEASURES.items()}
    effective = effective_stability(runs.supports_, groups=groups)
    return {**measured, "φ_C": effective, "features": runs.selection_frequencies_.sum()}


def _rows_of_scenario(scenario: int, table: pd.DataFrame) -> list[Row]:
    rows = []
    for symbol, published in FIGURE_8[scenario].items():
        text = " ".join(f"{value:.2f}" for value in table[symbol])
        rows.append(
            claim(
                f"scenario {scenario}, {symbol}",
                published,
                text,
                holds=bool(HOLDS[published](table[symbol])),
            )
        )
    first = table.iloc[0]
    highest = first.drop("features").idxmax()
    rows.append(
        claim(
            f"scenario {scenario}, highest at c = 1",
            "φ_pears",
            highest,
            holds=highest == "φ_pears",
        )
    )
    size = first["features"]
    rows.append(
        claim(
            f"scenario {scenario}, features at c = 1",
            "about 40",
            f"{size:.0f}",
            holds=abs(size - 40) < 5,
        )
    )
    return rows


def figure_7(opts: Namespace, n_runs: int) -> None:
    with figure(opts, "hamer2021_figure_7", 2, 1) as axes:
        for panel, group_size in zip(axes, (1, 10), strict=True):
            runs, _ = _group_runs(1, group_size, n_runs, 0)
            FeatureStabilityMapDisplay.from_estimator(runs).plot(panel, measures=True)


# -- standard selectors: section 7.2 and appendix E --------------------------------------------------------------------


def standard_selectors(opts: Namespace) -> None:
    """Figures 12 to 20, and 26 to 29 out of the same runs."""
    lasso = table_5(opts)
    chiaretti(opts)
    net, by_logistic, by_svm = figure_13(opts), logistic_rfe(opts), svm_rfe(opts)
    figure_14(opts, by_logistic)
    figure_14_svm(opts, by_svm, by_logistic)
    elimination_of_scikit_learn(opts)
    points = {
        "elastic net": net,
        "lasso": {name: pd.DataFrame([found]) for name, (_, found) in lasso.items()},
        "forest": figure_15(opts),
        "logistic RFE": {
            name: pd.concat(tables.values()) for name, tables in by_logistic.items()
        },
        "svm-RFE": {
            name: pd.concat(tables.values()) for name, tables in by_svm.items()
        },
        "Relief": figure_17(opts),
    }
    figures_26_to_29(opts, points)
    figure_19(opts, lasso)
    code_of_2021(opts)


def main() -> None:
    opts = options(__doc__)
    title("hamer2021")
    for part in (
        table_2,
        figures_3_to_6,
        figure_8,
        figure_10,
        table_3,
        figures_of_fronts,
        standard_selectors,
    ):
        part(opts)
    elapsed()


if __name__ == "__main__":
    main()

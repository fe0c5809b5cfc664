"""Accuracy against stability with hybrid-RFE: figures 9 to 11, 21, 23 and 24 of hamer2021, sections 6 and 7.1."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np
import pandas as pd
from _hamer_standard import MEASURES, read
from _tables import Row, claim, compare, figure, number
from sklearn.model_selection import GridSearchCV, ParameterSampler

from skstab.feature_selection import HybridRFE
from skstab.inspection import FeatureStabilityMapDisplay
from skstab.model_selection import (
    BootstrapSplit,
    ParetoRefit,
    StabilityCV,
    WholeSampleSplit,
    pareto_front,
    stability_scoring,
)

N_SELECT = 20
# Features left by the paper's filter of variance, its table 3.
N_FEATURES = {"singh": 1250, "alon": 2000, "gravier": 2905, "borovecki": 1000, "chiaretti": 5000}
FIGURES = {"singh": 11, "borovecki": 21, "alon": 23, "gravier": 24}
CHOSEN_ON_SINGH = {"φ": 0.889, "φ_pears": 0.930, "φ_iw": 0.934}
RFE = {"estimator__C": np.logspace(-5, 1, 4), "estimator__C_final": np.logspace(-5, 1, 4)}
HYBRID = {
    "estimator__n_stable_features": [2, 5, 8, 11, 14, 17],
    "estimator__criterion": ["welch_variance", "variance"],
    "estimator__shrinkage": [1.0, 0.3, 0.1],
    "estimator__C": np.logspace(-5, 1, 7),
    "estimator__C_final": np.logspace(-5, 1, 7),
    "estimator__alpha": [0.0, 0.1, 1.0, 10.0],
}
COLOURS = {"φ": "tab:red", "φ_pears": "tab:green", "φ_iw": "tab:blue"}


def runs_of(n_runs: int) -> StabilityCV:
    cv = BootstrapSplit(n_runs, random_state=0)
    return StabilityCV(HybridRFE(N_SELECT, standardize=True), cv=cv, scoring="accuracy")


def search(X: Any, y: Any, n_runs: int, n_hybrids: int) -> pd.DataFrame:
    """RFE over its penalties and hybrid-RFE over a sample of its parameters, on the same bootstrap samples."""
    sample = ParameterSampler(HYBRID, n_hybrids, random_state=0)
    grid = [RFE, *({name: [value] for name, value in candidate.items()} for candidate in sample)]
    scoring = stability_scoring(list(MEASURES.values()))
    found = GridSearchCV(runs_of(n_runs), grid, cv=WholeSampleSplit(), scoring=scoring, refit=False, n_jobs=2).fit(X, y)
    columns = {symbol: found.cv_results_[f"mean_test_{measure}"] for symbol, measure in MEASURES.items()}
    stable = [params.get("estimator__n_stable_features", 0) for params in found.cv_results_["params"]]
    params = found.cv_results_["params"]
    return pd.DataFrame({"A": found.cv_results_["mean_test_accuracy"], **columns, "N": stable, "params": params})


def front(results: pd.DataFrame, symbol: str) -> pd.DataFrame:
    return results.iloc[pareto_front(results, "A", symbol)].sort_values("A")


def chosen(results: pd.DataFrame, symbol: str, gamma: float = 0.5) -> pd.Series:
    return results.iloc[ParetoRefit("A", symbol, strategy="weighted", gamma=gamma)(results)]


def figures_of_fronts(opts: Namespace) -> None:
    """Figures 9, 11, 21, 23, 24."""
    n_runs, n_hybrids = (5, 10) if opts.quick else (20, 50)
    for name in ("alon",) if opts.quick else FIGURES:
        if (data := read(opts, name, N_FEATURES[name])) is None:
            continue
        results = search(*data, n_runs, n_hybrids)
        figure_9(opts, name, results)
        figure_11(opts, name, results)
        if name == "singh":
            maps_of_figure_11(opts, results, *data, n_runs)


# -- figure 9 ----------------------------------------------------------------------------------------------------------


def figure_9(opts: Namespace, name: str, results: pd.DataFrame) -> None:
    fronts = {
        "RFE": front(results[results["N"] == 0], "φ"),
        "hybrid-RFE": front(results[results["N"] > 0], "φ"),
    }
    with figure(opts, f"hamer2021_figure_9_{name}") as axes:
        for (label, points), colour in zip(fronts.items(), ("tab:blue", "tab:red"), strict=True):
            axes.fill_between(points["A"], points["φ"], step="pre", alpha=0.3, color=colour)
            axes.plot(points["A"], points["φ"], "o-", drawstyle="steps-pre", color=colour, label=label)
        axes.set(xlabel="accuracy", ylabel="φ", title=name)
        axes.legend()
    share = dominated(*fronts.values())
    tops = " and ".join(f"{label} {points['φ'].max():.2f}" for label, points in fronts.items())
    raised = fronts["hybrid-RFE"]["φ"].max() - fronts["RFE"]["φ"].max()
    rows = [
        claim("RFE's front dominated by hybrid-RFE", "all of it", f"{share:.0%}", holds=share == 1),
        claim("largest φ", "raised considerably", tops, holds=raised > 0.1),
    ]
    compare(f"Figure 9: RFE and hybrid-RFE on {name} ({len(results)} candidates)", rows)


def dominated(points: pd.DataFrame, by: pd.DataFrame) -> float:
    """Share of the points than which one of the others is at least as good in both, and better in one."""
    difference = by[["A", "φ"]].to_numpy()[None] - points[["A", "φ"]].to_numpy()[:, None]
    return float(((difference >= 0).all(axis=2) & (difference > 0).any(axis=2)).any(axis=1).mean())


# -- figure 11 and appendix D ------------------------------------------------------------------------------------------


def figure_11(opts: Namespace, name: str, results: pd.DataFrame) -> None:
    picks = {symbol: chosen(results, symbol) for symbol in MEASURES}
    rows = [_row_of_pick(symbol, picks, alike=name == "borovecki") for symbol in picks]
    if name == "singh":
        rows += [
            number(f"A, optimising {symbol}", CHOSEN_ON_SINGH[symbol], pick["A"], digits=3)
            for symbol, pick in picks.items()
        ]
    rows += _claims(results, picks)
    compare(f"Figure {FIGURES[name]}: what is chosen on {name}, γ = 0.5", rows)
    with figure(opts, f"hamer2021_figure_{FIGURES[name]}", 1, 3, sharex=True, sharey=True) as axes:
        for panel, optimised in zip(axes, MEASURES, strict=True):
            draw_fronts(panel, results, optimised)
        axes[0].legend()


def _row_of_pick(symbol: str, picks: dict[str, pd.Series], *, alike: bool) -> Row:
    """What a measure chooses; `alike` where the paper finds little difference between φ_pears and φ_iw."""
    pick, best = picks[symbol], picks["φ_iw"]
    text = "A {A:.3f}, φ {φ:.2f}, φ_pears {φ_pears:.2f}, φ_iw {φ_iw:.2f}, N = {N}".format(**pick)
    if symbol == "φ_iw":
        published, holds = "no less accurate than the others", best["A"] >= max(other["A"] for other in picks.values())
    elif symbol == "φ_pears" and alike:
        published, holds = "about as with φ_iw", abs(pick["φ_iw"] - best["φ_iw"]) < 0.05
    else:
        published, holds = f"{symbol} ≫ φ_iw", pick[symbol] - pick["φ_iw"] > 0.1
    return claim(f"optimising {symbol}", published, text, holds=bool(holds))


def _claims(results: pd.DataFrame, picks: dict[str, pd.Series]) -> list[Row]:
    tops = {symbol: results[symbol].max() for symbol in MEASURES}
    text = ", ".join(f"{symbol} {value:.2f}" for symbol, value in tops.items())
    accuracies = ", ".join(f"{symbol} {pick['A']:.3f}" for symbol, pick in picks.items())
    gain = picks["φ_iw"]["φ_iw"] - picks["φ"]["φ_iw"]
    return [
        claim(
            "largest value reached", "φ_iw much less than φ and φ_pears", text, holds=tops["φ_iw"] == min(tops.values())
        ),
        claim(
            "accuracy sacrificed",
            "most with φ",
            accuracies,
            holds=picks["φ"]["A"] == min(pick["A"] for pick in picks.values()),
        ),
        claim("φ_iw gained by optimising it instead of φ", "fronts differ", f"{gain:+.2f}", holds=gain > 0),
    ]


def draw_fronts(axes: Any, results: pd.DataFrame, optimised: str) -> None:
    """Fronts of all measures, and circles where the choice for some γ by one of them lies."""
    compromises = pd.DataFrame([chosen(results, optimised, gamma) for gamma in np.linspace(0, 1, 51)])
    compromises = compromises.drop_duplicates(["A", optimised])
    for symbol, colour in COLOURS.items():
        points = front(results, symbol)
        axes.plot(points["A"], points[symbol], ".-", color=colour, lw=0.7, label=symbol)
        axes.plot(compromises["A"], compromises[symbol], "o", color=colour, mfc="none", ms=8)
    axes.set(xlabel="accuracy", ylabel="stability", title=f"optimising {optimised}")


def maps_of_figure_11(opts: Namespace, results: pd.DataFrame, X: Any, y: Any, n_runs: int) -> None:
    with figure(opts, "hamer2021_figure_11_maps", 1, 3) as axes:
        for panel, symbol in zip(axes, MEASURES, strict=True):
            runs = runs_of(n_runs).set_params(**chosen(results, symbol)["params"], n_jobs=2).fit(X, y)
            FeatureStabilityMapDisplay.from_estimator(runs).plot(panel, measures=True)


# -- figure 10 ---------------------------------------------------------------------------------------------------------


def figure_10(opts: Namespace) -> None:
    """Correlation of the selection frequency of a feature with its mean frequency score, equation (15)."""
    rows, n_runs = [], 10 if opts.quick else 100
    for name, published in {"singh": 0.68, "chiaretti": 0.54}.items():
        if (opts.quick and name == "chiaretti") or (data := read(opts, name, N_FEATURES[name])) is None:
            continue
        runs = runs_of(n_runs).set_params(return_estimators=True, n_jobs=2).fit(*data)
        often, scores = frequencies_and_scores(runs)
        rows.append(number(name, published, np.corrcoef(often, scores)[0, 1]))
        with figure(opts, f"hamer2021_figure_10_{name}") as axes:
            axes.scatter(often, scores, s=8)
            axes.set(xlabel="selection frequency", ylabel="mean frequency score", title=name)
    if rows:
        compare(f"Figure 10: correlation of frequency and frequency score, logistic RFE, {n_runs} runs", rows)


def frequencies_and_scores(runs: StabilityCV) -> tuple[Any, Any]:
    """Of each feature that some run selected: in which share of the runs, and its mean score in those."""
    often = runs.selection_frequencies_
    selected = often > 0
    total = sum(np.where(selector.get_support(), selector.frequency_scores_, 0) for selector in runs.estimators_)
    return often[selected], total[selected] / (len(runs.estimators_) * often[selected])

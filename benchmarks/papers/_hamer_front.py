"""Accuracy against stability with hybrid-RFE: table 3, figures 9 to 11 and 21 to 25 of hamer2021."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from _hamer_runs import MEASURES, accuracy_gap, kept, read, verdict
from _tables import Row, claim, compare, figure, number
from sklearn.model_selection import ParameterSampler

from skstab.feature_selection import HybridRFE
from skstab.inspection import FeatureStabilityMapDisplay
from skstab.metrics import compare_stability
from skstab.model_selection import (
    BootstrapSplit,
    ParetoRefit,
    StabilityCV,
    StabilitySearchCV,
    pareto_front,
)
from skstab.runs import Runs

N_SELECT = 20
# Features left by the paper's filter of variance, its table 3.
N_FEATURES = {
    "singh": 1250,
    "alon": 2000,
    "gravier": 2905,
    "borovecki": 1000,
    "chiaretti": 5000,
    "arcene": 5000,
}
FIGURES = {
    "singh": 11,
    "borovecki": 21,
    "chiaretti": 22,
    "alon": 23,
    "gravier": 24,
    "arcene": 25,
}
# Candidates of RFE, and as many of hybrid-RFE; 16 on the larger sets.
N_CANDIDATES = {"singh": 49, "borovecki": 49, "alon": 49}
CHOSEN_ON_SINGH = {"φ": 0.889, "φ_pears": 0.930, "φ_iw": 0.934}
HYBRID = {
    "n_stable_features": [2, 5, 8, 11, 14, 17],
    "criterion": ["welch_variance", "variance"],
    "shrinkage": [1.0, 0.3, 0.1],
    "C": np.logspace(-5, 1, 7),
    "C_final": np.logspace(-5, 1, 7),
    "alpha": [0.0, 0.1, 1.0, 10.0],
}
COLOURS = {"φ": "tab:red", "φ_pears": "tab:green", "φ_iw": "tab:blue"}
rfe = partial(HybridRFE, N_SELECT, standardize=True)


def search(
    opts: Namespace, name: str, X: Any, y: Any, n_runs: int, n_candidates: int
) -> pd.DataFrame:
    """RFE over its penalties and as many hybrid-RFE with random parameters, on the same bootstrap samples."""
    side = round(n_candidates**0.5)
    alone = {param: np.logspace(-5, 1, side) for param in ("C", "C_final")}
    sample = ParameterSampler(HYBRID, side**2, random_state=0)
    found = StabilitySearchCV(
        rfe(),
        [
            alone,
            *(
                {param: [value] for param, value in candidate.items()}
                for candidate in sample
            ),
        ],
        cv=BootstrapSplit(n_runs, random_state=0),
        scoring="accuracy",
        measures=list(MEASURES.values()),
        checkpoint=kept(opts, f"front_{name}"),
    ).fit(X, y)
    results = found.cv_results_
    columns = {
        symbol: results[f"mean_test_{measure}"] for symbol, measure in MEASURES.items()
    }
    stable = [params.get("n_stable_features", 0) for params in results["params"]]
    runs = pd.Series(found.runs_, dtype=object)
    return pd.DataFrame(
        {"A": results["mean_test_accuracy"], **columns, "N": stable, "runs": runs}
    )


def front(results: pd.DataFrame, symbol: str) -> pd.DataFrame:
    return results.iloc[
        pareto_front(results.drop(columns="runs"), "A", symbol)
    ].sort_values("A")


def chosen(results: pd.DataFrame, symbol: str, gamma: float = 0.5) -> pd.Series:
    return results.iloc[
        ParetoRefit("A", symbol, strategy="weighted", gamma=gamma)(
            results.drop(columns="runs")
        )
    ]


def figures_of_fronts(opts: Namespace) -> None:
    """Figures 9, 11 and 21 to 25."""
    n_runs = 5 if opts.quick else 100
    for name in ("alon",) if opts.quick else FIGURES:
        if (data := read(opts, name, N_FEATURES[name])) is None:
            continue
        results = search(
            opts, name, *data, n_runs, 9 if opts.quick else N_CANDIDATES.get(name, 16)
        )
        figure_9(opts, name, results)
        figure_11(opts, name, results)


# -- table 3 -----------------------------------------------------------------------------------------------------------


def table_3(opts: Namespace) -> None:
    """How many features of largest variance give logistic RFE, with its best penalties, the best accuracy."""
    names = ("singh",) if opts.quick else ("borovecki", "singh", "chiaretti", "arcene")
    sets = {name: read(opts, name, 10**6) for name in names}
    if rows := [
        _row_of_filter(opts, name, *data)
        for name, data in sets.items()
        if data is not None
    ]:
        compare(
            "Table 3: the number of features with which logistic RFE is most accurate",
            rows,
        )


def _row_of_filter(opts: Namespace, name: str, X: Any, y: Any) -> Row:
    wanted = (
        [100, 1250]
        if opts.quick
        else sorted({500, N_FEATURES[name], 2500, 5000, X.shape[1]})
    )
    order = np.argsort(-X.var(axis=0), kind="stable")
    runs = {size: _most_accurate(opts, name, X[:, order[:size]], y) for size in wanted}
    accuracies = {size: found.scores["accuracy"].mean() for size, found in runs.items()}
    published = N_FEATURES[name]
    rival = max(accuracies.keys() - {published}, key=accuracies.get)
    gap, is_clear = accuracy_gap(runs[published], runs[rival])
    text = ", ".join(f"{size}: {accuracy:.3f}" for size, accuracy in accuracies.items())
    return Row(
        name,
        str(published),
        text,
        "holds, not clear" if gap > 0 and not is_clear else verdict(gap, is_clear),
    )


def _most_accurate(opts: Namespace, name: str, X: Any, y: Any) -> Runs:
    """Runs of logistic RFE with the penalties, of the elimination and of the final model, that predict best."""
    found = StabilitySearchCV(
        rfe(),
        dict.fromkeys(["C", "C_final"], np.logspace(-5, 1, 2 if opts.quick else 4)),
        cv=BootstrapSplit(5 if opts.quick else 100, random_state=0),
        scoring="accuracy",
        refit="accuracy",
        checkpoint=kept(opts, f"filter_{name}"),
    ).fit(X, y)
    return found.runs_[found.best_index_]


# -- figure 9 ----------------------------------------------------------------------------------------------------------


def figure_9(opts: Namespace, name: str, results: pd.DataFrame) -> None:
    fronts = {
        "RFE": front(results[results["N"] == 0], "φ"),
        "hybrid-RFE": front(results[results["N"] > 0], "φ"),
    }
    with figure(opts, f"hamer2021_figure_9_{name}") as axes:
        for (label, points), colour in zip(
            fronts.items(), ("tab:blue", "tab:red"), strict=True
        ):
            axes.fill_between(
                points["A"], points["φ"], step="pre", alpha=0.3, color=colour
            )
            axes.plot(
                points["A"],
                points["φ"],
                "o-",
                drawstyle="steps-pre",
                color=colour,
                label=label,
            )
        axes.set(xlabel="accuracy", ylabel="φ", title=name)
        axes.legend()
    tops = " and ".join(
        f"{label} {points['φ'].max():.2f}" for label, points in fronts.items()
    )
    raised = fronts["hybrid-RFE"]["φ"].max() - fronts["RFE"]["φ"].max()
    rows = [
        _row_of_domination(*fronts.values()),
        claim("largest φ", "raised considerably", tops, holds=raised > 0.1),
    ]
    text = (
        f"{len(results) // 2} candidates each, {len(results['runs'].iloc[0])} samples"
    )
    compare(f"Figure 9: RFE and hybrid-RFE on {name} ({text})", rows)


def _row_of_domination(points: pd.DataFrame, by: pd.DataFrame) -> Row:
    """A point of RFE's front is a tie where it is more accurate than a more stable hybrid-RFE, but not clearly so."""
    kinds = [_kind_of(point, by) for _, point in points.iterrows()]
    counts = {kind: kinds.count(kind) for kind in ("dominated", "tie", "better")}
    text = f"of {len(kinds)} points {counts['dominated']} dominated, {counts['tie']} tied, {counts['better']} better"
    distance = (
        "**does not hold**" if counts["better"] else "tie" if counts["tie"] else "holds"
    )
    return Row("RFE's front dominated by hybrid-RFE", "all of it", text, distance)


def _kind_of(point: pd.Series, by: pd.DataFrame) -> str:
    more_stable = by[by["φ"] >= point["φ"]]
    if (more_stable["A"] >= point["A"]).any():
        return "dominated"
    clear = [accuracy_gap(point["runs"], other)[1] for other in more_stable["runs"]]
    return "better" if all(clear) else "tie"


# -- figure 11 and appendix D ------------------------------------------------------------------------------------------


def figure_11(opts: Namespace, name: str, results: pd.DataFrame) -> None:
    picks = {symbol: chosen(results, symbol) for symbol in MEASURES}
    rows = [
        _row_of_pick(symbol, picks, alike=name == "borovecki")
        for symbol in ("φ", "φ_pears")
    ]
    if name == "singh":
        rows += [
            number(
                f"A, optimising {symbol}", CHOSEN_ON_SINGH[symbol], pick["A"], digits=3
            )
            for symbol, pick in picks.items()
        ]
    compare(
        f"Figure {FIGURES[name]}: what is chosen on {name}, γ = 0.5",
        [*rows, *_claims(results, picks)],
    )
    with figure(
        opts, f"hamer2021_figure_{FIGURES[name]}", 1, 3, sharex=True, sharey=True
    ) as axes:
        for panel, optimised in zip(axes, MEASURES, strict=True):
            draw_fronts(panel, results, optimised)
        axes[0].legend()
    with figure(opts, f"hamer2021_figure_{FIGURES[name]}_maps", 1, 3) as axes:
        for panel, pick in zip(axes, picks.values(), strict=True):
            first = pick["runs"].take(np.arange(len(pick["runs"])) < 30)
            FeatureStabilityMapDisplay.from_estimator(first).plot(panel, measures=True)


def _row_of_pick(symbol: str, picks: dict[str, pd.Series], *, alike: bool) -> Row:
    """What a measure chooses; `alike` where the paper finds little difference between φ_pears and φ_iw."""
    pick, best = picks[symbol], picks["φ_iw"]
    if symbol == "φ_pears" and alike:
        published, holds = "about as with φ_iw", abs(pick["φ_iw"] - best["φ_iw"]) < 0.05
    else:
        published, holds = f"{symbol} ≫ φ_iw", pick[symbol] - pick["φ_iw"] > 0.1
    return claim(f"optimising {symbol}", published, _text_of(pick), holds=bool(holds))


def _text_of(pick: pd.Series) -> str:
    return (
        "A {A:.3f}, φ {φ:.2f}, φ_pears {φ_pears:.2f}, φ_iw {φ_iw:.2f}, N = {N}".format(
            **pick
        )
    )


def _claims(results: pd.DataFrame, picks: dict[str, pd.Series]) -> list[Row]:
    tops = {symbol: results[symbol].max() for symbol in MEASURES}
    text = ", ".join(f"{symbol} {value:.2f}" for symbol, value in tops.items())
    published, reached = (
        "φ_iw much less than φ and φ_pears",
        min(tops["φ"], tops["φ_pears"]) - tops["φ_iw"],
    )
    by_phi, by_pears, by_iw = (picks[symbol]["runs"] for symbol in MEASURES)
    gaps = [accuracy_gap(by_iw, other) for other in (by_phi, by_pears)]
    worst, is_clear = min(gaps)
    lost, is_lost = accuracy_gap(by_iw, by_phi)
    return [
        Row(
            "optimising φ_iw",
            "no less accurate than the others",
            _text_of(picks["φ_iw"]),
            verdict(worst, is_clear),
        ),
        claim("largest value reached", published, text, holds=reached > 0.05),
        Row(
            "accuracy sacrificed",
            "more with φ than with φ_iw",
            f"{lost:+.3f}",
            verdict(lost, is_lost),
        ),
        _row_of_gain(by_iw, by_phi, picks),
    ]


def _row_of_gain(by_iw: Any, by_phi: Any, picks: dict[str, pd.Series]) -> Row:
    what, published = "φ_iw gained by optimising it instead of φ", "fronts differ"
    if by_iw is by_phi:
        return Row(what, published, "none: the same candidate", "tie")
    test = compare_stability(by_iw, by_phi, measure="importance_weighted", paired=True)
    gain = picks["φ_iw"]["φ_iw"] - picks["φ"]["φ_iw"]
    return Row(
        what,
        published,
        f"{gain:+.2f}, p = {test.pvalue:.2g}",
        verdict(gain, test.pvalue < 0.05),
    )


def draw_fronts(axes: Any, results: pd.DataFrame, optimised: str) -> None:
    """Fronts of all measures, and circles where the choice for some γ by one of them lies."""
    compromises = pd.DataFrame(
        [chosen(results, optimised, gamma) for gamma in np.linspace(0, 1, 51)]
    )
    compromises = compromises.drop_duplicates(["A", optimised])
    for symbol, colour in COLOURS.items():
        points = front(results, symbol)
        axes.plot(points["A"], points[symbol], ".-", color=colour, lw=0.7, label=symbol)
        axes.plot(
            compromises["A"], compromises[symbol], "o", color=colour, mfc="none", ms=8
        )
    axes.set(xlabel="accuracy", ylabel="stability", title=f"optimising {optimised}")


# -- figure 10 ---------------------------------------------------------------------------------------------------------


def figure_10(opts: Namespace) -> None:
    """Correlation of the selection frequency of a feature with its mean frequency score, equation (15)."""
    rows, n_runs = [], 10 if opts.quick else 100
    for name, published in {"singh": 0.68, "chiaretti": 0.54}.items():
        if (opts.quick and name == "chiaretti") or (
            data := read(opts, name, N_FEATURES[name])
        ) is None:
            continue
        cv = BootstrapSplit(n_runs, random_state=0)
        runs = StabilityCV(rfe(), cv=cv, return_estimators=True).fit(*data)
        often, scores = frequencies_and_scores(runs)
        rows.append(number(name, published, np.corrcoef(often, scores)[0, 1]))
        with figure(opts, f"hamer2021_figure_10_{name}") as axes:
            axes.scatter(often, scores, s=8)
            axes.set(
                xlabel="selection frequency", ylabel="mean frequency score", title=name
            )
    if rows:
        compare(
            f"Figure 10: correlation of frequency and frequency score, logistic RFE, {n_runs} runs",
            rows,
        )


def frequencies_and_scores(runs: StabilityCV) -> tuple[Any, Any]:
    """Of each feature that some run selected: in which share of the runs, and its mean score in those."""
    often = runs.selection_frequencies_
    selected = often > 0
    total = sum(
        np.where(selector.get_support(), selector.frequency_scores_, 0)
        for selector in runs.estimators_
    )
    return often[selected], total[selected] / (len(runs.estimators_) * often[selected])

"""Standard selectors under the three measures of hamer2021: sections 7.2 and 7.3."""

from __future__ import annotations

import warnings
from argparse import Namespace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from _tables import Row, claim, compare, figure, load, note
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import l1_min_c

from skstab.feature_selection import HybridRFE, relieff
from skstab.inspection import FeatureStabilityMapDisplay
from skstab.metrics import stability_score
from skstab.model_selection import BootstrapSplit, StabilityCV

MEASURES = {"φ": "nogueira", "φ_pears": "pearson", "φ_iw": "importance_weighted"}
TABLE_5 = {
    "ionosphere": (0.85, 0.74, 0.91, 0.76),
    "breast": (0.95, 0.71, 0.91, 0.78),
    "lsvt": (0.84, 0.40, 0.51, 0.38),
    "singh": (0.91, 0.31, 0.57, 0.37),
    "gravier": (0.73, 0.18, 0.22, 0.15),
    "borovecki": (0.94, 0.12, 0.16, 0.10),
    "sonar": (0.73, 0.44, 0.52, 0.37),
    "gastro": (0.82, 0.27, 0.28, 0.21),
    "alon": (0.80, 0.20, 0.23, 0.17),
    "chiaretti": (0.81, 0.30, 0.36, 0.27),
    "arcene": (0.72, 0.14, 0.21, 0.14),
}
SMALL = ("ionosphere", "breast", "sonar")  # the sets of --quick
FORESTS = ("sonar", "gastro", "lsvt")
RELIEFS = ("ionosphere", "sonar", "breast", "lsvt", "gastro", "alon", "singh")


# -- data and runs -----------------------------------------------------------------------------------------------------


def read(opts: Namespace, name: str, n_features: int = 5000) -> tuple[Any, Any] | None:
    """A set of the paper, with the features of largest variance."""
    data = load_breast_cancer(return_X_y=True) if name == "breast" else load(opts, name)
    if data is None:
        return None
    X, y = data
    if name == "gastro":  # rows 2i and 2i + 1 are one lesion under two lights; which lesions need no resection?
        X, y = X[1::2], y[1::2] == "hyperplasic"
    return X[:, np.sort(np.argsort(-X.var(axis=0), kind="stable")[:n_features])], y


def n_selected(X: Any) -> float:
    """How many features the paper selects in section 7.2."""
    return min(20.0, X.shape[1] ** 0.5)


def run(estimator: Any, X: Any, y: Any, n_runs: int, *, n_jobs: int = 2) -> StabilityCV:
    cv = BootstrapSplit(n_runs, random_state=0)
    return StabilityCV(estimator, cv=cv, scoring="accuracy", n_jobs=n_jobs, random_state=0).fit(X, y)


def compromise(runs: StabilityCV) -> dict[str, float]:
    """Out-of-bag accuracy and the three stabilities."""
    stabilities = {symbol: runs.stability(measure) for symbol, measure in MEASURES.items()}
    return {"A": float(runs.scores_["accuracy"].mean()), **stabilities}


def run_with_size(
    model_of: Any, X: Any, y: Any, size: float, weakest: float, n_runs: int, **params: Any
) -> tuple[float, StabilityCV]:
    """Find C, from `weakest` on, with which `size` features are selected on average, by bisection of its logarithm."""
    low, high = weakest, 100 * weakest
    for _ in range(9):
        C = np.sqrt(low * high)
        with warnings.catch_warnings():  # runs that select nothing, at the weak end
            warnings.filterwarnings("ignore", "all runs agree", RuntimeWarning)
            runs = run(model_of(C), X, y, n_runs, **params)
        found = runs.selection_frequencies_.sum()
        if abs(found - size) < 0.02 * size:
            break
        low, high = (C, high) if found < size else (low, C)
    return float(C), runs


def weakest_C(X: Any, y: Any) -> float:
    """The largest C with which an L1 logistic regression selects nothing."""
    return l1_min_c(StandardScaler().fit_transform(X), y, loss="log")


# -- the lasso: table 5, figures 12, 19, 20 ----------------------------------------------------------------------------


def l1_logistic(C: float) -> Any:
    # liblinear penalises the intercept, negligibly so at a large scale, and stops too early on correlated features.
    precise = {"intercept_scaling": 10, "tol": 1e-6, "max_iter": 1000}
    lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=C, random_state=0, **precise)
    return make_pipeline(StandardScaler(), lasso)


def table_5(opts: Namespace) -> dict[str, float]:
    """Stability of the lasso on all sets; the C of each is returned."""
    penalties, rows, distances = {}, [], []
    for name in SMALL if opts.quick else TABLE_5:
        if (data := read(opts, name)) is None:
            continue
        penalties[name], runs = run_with_size(l1_logistic, *data, n_selected(data[0]), weakest_C(*data), 30)
        measured = list(compromise(runs).values())
        rows.append(_row_of_four(name, TABLE_5[name], measured))
        distances.append(np.abs(np.round(measured, 2) - TABLE_5[name]))
        if name in ("singh", "lsvt"):
            figure_12(opts, name, runs)
    mean = np.mean(distances)
    rows.append(claim("mean distance of all numbers", "target: at most 0.05", f"{mean:.3f}", holds=mean <= 0.05))
    compare("Table 5: the lasso (A, φ, φ_pears, φ_iw)", rows)
    return penalties


def _row_of_four(name: str, published: Any, measured: Any) -> Row:
    distance = np.round(measured, 2) - published
    four = [f"{value:.2f}" for value in published], [f"{value:.2f}" for value in measured]
    return Row(name, *map(" ".join, four), " ".join(f"{value:+.2f}" for value in distance))


def figure_12(opts: Namespace, name: str, runs: StabilityCV) -> None:
    with figure(opts, f"hamer2021_figure_12_{name}") as axes:
        FeatureStabilityMapDisplay.from_estimator(runs).plot(axes, measures=True)


def figure_19(opts: Namespace, penalties: dict[str, float]) -> None:
    """Variation coefficients of the measures over groups of 5 runs of the lasso; arcene takes too long."""
    n_runs = 100 if opts.quick else 200
    variation = {}
    for name, C in penalties.items():
        if name == "arcene":
            continue
        runs = run(l1_logistic(C), *read(opts, name), n_runs)
        estimates = pd.DataFrame(_of_groups(runs, 5))
        variation[name] = estimates.std() / estimates.mean()
        if name in ("gastro", "lsvt"):
            with figure(opts, f"hamer2021_figure_20_{name}") as axes:
                estimates.plot.kde(ax=axes, xlabel="stability of 5 runs", title=name)
    rows = [_order_of(name, values) for name, values in variation.items()]
    text = f"Figure 19: variation coefficients σ/μ of 5 runs, {n_runs // 5} estimates (the paper: 200)"
    compare(text, [*rows, *_orders(variation)])
    with figure(opts, "hamer2021_figure_19") as axes:
        pd.DataFrame(variation).T.plot.bar(ax=axes, ylabel="variation coefficient")


def _of_groups(runs: StabilityCV, size: int) -> dict[str, list[float]]:
    tables = {"φ": runs.supports_, "φ_pears": runs.importances_, "φ_iw": runs.importances_}
    starts = range(0, runs.supports_.shape[0], size)
    return {
        symbol: [stability_score(tables[symbol][start : start + size], measure=measure) for start in starts]
        for symbol, measure in MEASURES.items()
    }


def _order_of(name: str, values: pd.Series) -> Row:
    published = "φ_pears < φ_iw < φ" if name == "ionosphere" else "φ < φ_iw < φ_pears, or no difference"
    order = ["φ_pears", "φ_iw", "φ"] if name == "ionosphere" else ["φ", "φ_iw", "φ_pears"]
    cv = values[order].to_numpy()
    text = ", ".join(f"{symbol} {value:.3f}" for symbol, value in values.items())
    # A variation coefficient of 40 estimates is itself uncertain by about 11%.
    return claim(name, published, text, holds=bool((np.diff(cv) > -0.22 * cv[:-1]).all()))


def _orders(variation: dict[str, pd.Series]) -> list[Row]:
    ordered = sum(values["φ"] < values["φ_iw"] < values["φ_pears"] for values in variation.values())
    below = sum(values["φ_iw"] < values["φ_pears"] for values in variation.values())
    n_sets = len(variation)
    return [
        claim("strictly φ < φ_iw < φ_pears", "6 of 11", f"{ordered} of {n_sets}", holds=ordered >= n_sets / 2),
        claim("φ_iw varies less than φ_pears", "in general", f"{below} of {n_sets}", holds=below > n_sets / 2),
    ]


# -- lines of (accuracy, stability): figures 13, 15, 17 ----------------------------------------------------------------


def show_lines(opts: Namespace, name: str, text: str, rows: list[Row], tables: dict[str, pd.DataFrame]) -> None:
    """Claims, and one panel per set with one line per measure, whose points are the values of the parameter."""
    if not tables:  # all sets are missing
        return
    compare(text, rows)
    with figure(opts, f"hamer2021_{name}", 1, len(tables), squeeze=False, figsize=(3.6 * len(tables), 3.4)) as axes:
        for panel, (label, table) in zip(axes[0], tables.items(), strict=True):
            for symbol, marker in zip(MEASURES, "os^", strict=True):
                panel.plot(table["A"], table[symbol], marker=marker, ms=4, lw=1, label=symbol)
                panel.annotate(table.index[0], (table["A"].iloc[0], table[symbol].iloc[0]), fontsize=7)
                panel.annotate(table.index[-1], (table["A"].iloc[-1], table[symbol].iloc[-1]), fontsize=7)
            panel.set(title=label, xlabel="accuracy", ylabel="stability")
            panel.legend(fontsize=8)


def grows(label: str, published: str, table: pd.DataFrame) -> Row:
    """Whether all three measures are higher at the end of a line than at its start."""
    first, last = table.iloc[0], table.iloc[-1]
    text = "; ".join(f"{symbol} {first[symbol]:.2f} → {last[symbol]:.2f}" for symbol in MEASURES)
    return claim(label, published, text, holds=all(last[symbol] > first[symbol] for symbol in MEASURES))


def path_of(values: pd.Series) -> str:
    return " ".join(f"{value:.3f}" for value in values)


def elastic_net(C: float, l1_ratio: float) -> Any:
    from skglm import SparseLogisticRegression

    return make_pipeline(StandardScaler(), SparseLogisticRegression(alpha=1 / C, l1_ratio=l1_ratio))


def figure_13(opts: Namespace) -> None:
    """Elastic net from the lasso on; λ1 is set so that as many features are selected for every λ2."""
    if opts.quick or find_spec("skglm") is None:
        note("Skipped figure 13: not with --quick, and it needs skglm (`pip install skglm`).")
        return
    tables = {
        name: _elastic_net_line(*data) for name in ("singh", "alon", "lsvt", "gravier") if (data := read(opts, name))
    }
    rows = [grows(f"{name}, λ2 from 1 to 0.1", "all three rise", table) for name, table in tables.items()]
    for name, table in tables.items():
        rises = table["A"].iloc[1:4].max() > table["A"].iloc[0]
        published = "falls at once" if name == "gravier" else "first rises"
        rows.append(claim(f"{name}, accuracy", published, path_of(table["A"]), holds=rises == (name != "gravier")))
    show_lines(opts, "figure_13", "Figure 13: elastic net", rows, tables)


def _elastic_net_line(X: Any, y: Any) -> pd.DataFrame:
    weakest = 0.2 * len(y) * weakest_C(X, y)
    points = {}
    for l1_ratio in (1.0, 0.9, 0.8, 0.6, 0.4, 0.2, 0.1):
        model = partial(elastic_net, l1_ratio=l1_ratio)
        points[l1_ratio] = compromise(run_with_size(model, X, y, n_selected(X), weakest * l1_ratio, 20, n_jobs=1)[1])
    return pd.DataFrame(points).T


def figure_14(opts: Namespace) -> None:
    """Logistic RFE on lsvt: one line a λ, from a low to a high final regularisation."""
    if (data := read(opts, "lsvt")) is None:
        return
    size, n_runs = round(n_selected(data[0])), 5 if opts.quick else 30
    tables = {}
    for penalty in np.logspace(-2, 4, 4):
        selector = partial(HybridRFE, size, C=1 / penalty, standardize=True)
        finals = np.logspace(-2, 4, 7)
        points = {f"{final:g}": compromise(run(selector(C_final=1 / final), *data, n_runs)) for final in finals}
        tables[f"λ = {penalty:g}"] = pd.DataFrame(points).T
    text = "Figure 14: logistic RFE on lsvt, λ_f from 0.01 to 10000"
    show_lines(opts, "figure_14", text, _rows_of_figure_14(tables), tables)


def _rows_of_figure_14(tables: dict[str, pd.DataFrame]) -> list[Row]:
    rows = []
    for label, table in tables.items():
        published = "φ constant, φ_pears and φ_iw rise"
        text = "; ".join(f"{symbol} {table[symbol].iloc[0]:.2f} → {table[symbol].iloc[-1]:.2f}" for symbol in MEASURES)
        rise = all(table[symbol].iloc[-1] > table[symbol].iloc[0] for symbol in ("φ_pears", "φ_iw"))
        rows.append(claim(label, published, text, holds=rise and np.ptp(table["φ"]) < 1e-9))
        peak = table["A"].argmax()
        inside = table["A"].iloc[-1] < table["A"].max() > table["A"].iloc[0]
        rows.append(claim(f"{label}, accuracy", "rises, then drops", path_of(table["A"]), holds=inside and peak > 0))
    best = pd.DataFrame({label: table[list(MEASURES)].mean() for label, table in tables.items()}).T
    text = "; ".join(f"{symbol} {path_of(best[symbol])}" for symbol in MEASURES)
    rows.append(claim("larger λ", "all three rise", text, holds=bool((best.iloc[-1] > best.iloc[0]).all())))
    return rows


def forest_selector(n_trees: int, size: int) -> Any:
    forests = [RandomForestClassifier(n_trees) for _ in range(2)]
    return make_pipeline(SelectFromModel(forests[0], max_features=size, threshold=-np.inf), forests[1])


def figure_15(opts: Namespace) -> None:
    """Forests of more and more trees; a new forest is grown on the selected features."""
    n_runs, trees = (5, (3, 30)) if opts.quick else (10, (3, 10, 30, 100, 300, 1000))
    tables = {}
    for name in SMALL[2:] if opts.quick else FORESTS:
        if (data := read(opts, name)) is None:
            continue
        size = round(n_selected(data[0]))
        runs = {n_trees: run(forest_selector(n_trees, size), *data, n_runs) for n_trees in trees}
        tables[name] = pd.DataFrame({n_trees: compromise(found) for n_trees, found in runs.items()}).T
        if name == "gastro":
            figure_16(opts, runs)
    rows = [
        grows(f"{name}, trees {trees[0]} to {trees[-1]}", "all three rise", table) for name, table in tables.items()
    ]
    for name, table in tables.items():
        text = f"A {path_of(table['A'])}; φ_iw {path_of(table['φ_iw'])}"
        holds = _settled(table["A"]) >= _settled(table["φ_iw"]) and table["A"].iloc[-1] > table["A"].iloc[0]
        rows.append(claim(f"{name}, accuracy", "rises, and converges sooner than φ_iw", text, holds=holds))
    show_lines(opts, "figure_15", f"Figure 15: random forests, {n_runs} runs", rows, tables)


def _settled(values: pd.Series) -> float:
    """Which share of the whole rise is there in the middle of the line."""
    return float((values.iloc[len(values) // 2] - values.iloc[0]) / max(values.iloc[-1] - values.iloc[0], 1e-9))


def figure_16(opts: Namespace, runs: dict[int, StabilityCV]) -> None:
    with figure(opts, "hamer2021_figure_16", 1, 2) as axes:
        for panel, n_trees in zip(axes, (10, 1000), strict=True):
            FeatureStabilityMapDisplay.from_estimator(runs[n_trees]).plot(panel, measures=True)


def figure_17(opts: Namespace) -> None:
    """ReliefF with K neighbours before a classifier with as many."""
    n_runs, neighbours = (10, (1, 10)) if opts.quick else (30, (1, 3, 5, 10, 15, 25, 40))
    tables = {}
    for name in SMALL[2:] if opts.quick else RELIEFS:
        if (data := read(opts, name)) is None:
            continue
        runs = {K: run(_relief(K, round(n_selected(data[0]))), *data, n_runs) for K in neighbours}
        tables[name] = pd.DataFrame({K: compromise(found) for K, found in runs.items()}).T
        if name == "sonar":
            figure_18(opts, runs)
    rows = [
        grows(f"{name}, K {neighbours[0]} to {neighbours[-1]}", "mostly rise", table) for name, table in tables.items()
    ]
    show_lines(opts, "figure_17", "Figure 17: Relief", rows, tables)


def _relief(n_neighbours: int, size: int) -> Any:
    filter_ = SelectKBest(partial(relieff, n_neighbors=n_neighbours), k=size)
    return make_pipeline(StandardScaler(), filter_, KNeighborsClassifier(n_neighbours))


def figure_18(opts: Namespace, runs: dict[int, StabilityCV]) -> None:
    first, last = min(runs), 25 if 25 in runs else max(runs)
    with figure(opts, "hamer2021_figure_18", 1, 2) as axes:
        for panel, n_neighbours in zip(axes, (first, last), strict=True):
            FeatureStabilityMapDisplay.from_estimator(runs[n_neighbours]).plot(panel, measures=True)

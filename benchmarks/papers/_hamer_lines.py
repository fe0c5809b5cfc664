"""Lines of (accuracy, stability) by one parameter: figures 13 to 18 of hamer2021, and its svm-RFE, section 7.2."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
import pandas as pd
from _hamer_runs import (
    MEASURES,
    N_RUNS,
    SETS,
    SMALL,
    accuracy_gap,
    compromise,
    kept,
    n_selected,
    read,
    run,
    run_with_size,
    verdict,
    weakest_C,
)
from _tables import Row, claim, compare, figure, note
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE, SelectKBest, SelectorMixin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from skstab.feature_selection import HybridRFE, relieff
from skstab.inspection import (
    FeatureStabilityMapDisplay,
    flip_importance,
    oob_permutation_importance,
)
from skstab.metrics import compare_stability, nogueira_stability
from skstab.model_selection import BootstrapSplit, StabilityCV, StabilitySearchCV

Tables = dict[str, pd.DataFrame]
TREES = (3, 10, 30, 100, 300, 1000)
UP_TO_1000 = (
    "ionosphere",
    "breast",
    "sonar",
    "gastro",
    "lsvt",
)  # 300 on the others, which take longer


def sets_of(opts: Namespace) -> Any:
    """Yield the names and the data of the sets: of --quick, or of all that are there."""
    for name in SMALL[2:] if opts.quick else SETS:
        if (data := read(opts, name)) is not None:
            yield name, *data


def show_lines(
    opts: Namespace, name: str, text: str, rows: list[Row], tables: Tables
) -> None:
    """Claims, and one panel per set with one line per measure, whose points are the values of the parameter."""
    if not tables:  # all sets are missing
        return
    compare(text, rows)
    n_rows = -(-len(tables) // 4)
    size = {"figsize": (3.6 * 4, 3.4 * n_rows)}
    with figure(opts, f"hamer2021_{name}", n_rows, 4, squeeze=False, **size) as axes:
        for panel, (label, table) in zip(axes.flat, tables.items(), strict=False):
            for symbol, marker in zip(MEASURES, "os^", strict=True):
                panel.plot(
                    table["A"], table[symbol], marker=marker, ms=4, lw=1, label=symbol
                )
                panel.annotate(
                    table.index[0],
                    (table["A"].iloc[0], table[symbol].iloc[0]),
                    fontsize=7,
                )
                panel.annotate(
                    table.index[-1],
                    (table["A"].iloc[-1], table[symbol].iloc[-1]),
                    fontsize=7,
                )
            panel.set(title=label, xlabel="accuracy", ylabel="stability")
            panel.legend(fontsize=8)


def grows(label: str, published: str, table: pd.DataFrame) -> Row:
    """Whether all three measures are higher at the end of a line than at its start."""
    first, last = table.iloc[0], table.iloc[-1]
    text = "; ".join(
        f"{symbol} {first[symbol]:.2f} → {last[symbol]:.2f}" for symbol in MEASURES
    )
    return claim(
        label,
        published,
        text,
        holds=all(last[symbol] > first[symbol] for symbol in MEASURES),
    )


def path_of(values: pd.Series) -> str:
    return " ".join(f"{value:.3f}" for value in values)


# -- elastic net: figure 13 --------------------------------------------------------------------------------------------


def elastic_net(C: float, l1_ratio: float) -> Any:
    from skglm import SparseLogisticRegression

    return make_pipeline(
        StandardScaler(), SparseLogisticRegression(alpha=1 / C, l1_ratio=l1_ratio)
    )


def figure_13(opts: Namespace) -> Tables:
    """Elastic net from the lasso on; λ1 is set so that as many features are selected for every λ2."""
    if opts.quick or find_spec("skglm") is None:
        note(
            "Skipped figure 13: not with --quick, and it needs skglm (see benchmarks/requirements.txt)."
        )
        return {}
    runs = {name: _elastic_net_runs(opts, name, X, y) for name, X, y in sets_of(opts)}
    tables = {
        name: pd.DataFrame({ratio: compromise(of) for ratio, of in line.items()}).T
        for name, line in runs.items()
    }
    rows = [
        grows(f"{name}, λ2 from 1 to 0.1", "all three rise", table)
        for name, table in tables.items()
    ]
    rows += [
        _row_of_accuracy(name, list(runs[name].values()), path_of(table["A"]))
        for name, table in tables.items()
    ]
    show_lines(
        opts, "figure_13", f"Figure 13: elastic net, {N_RUNS} runs", rows, tables
    )
    return tables


def _elastic_net_runs(
    opts: Namespace, name: str, X: Any, y: Any
) -> dict[float, StabilityCV]:
    weakest, found = 0.2 * len(y) * weakest_C(X, y), {}
    for tenths in range(10, 0, -1):
        ratio = tenths / 10
        model, file = partial(elastic_net, l1_ratio=ratio), kept(opts, f"net_{name}")
        size, start = n_selected(X), weakest * ratio
        _, found[ratio] = run_with_size(
            model, X, y, size, start, N_RUNS, n_trials=8, checkpoint=file
        )
    return found


def _row_of_accuracy(name: str, runs: list[StabilityCV], path: str) -> Row:
    """Whether the accuracy is higher at the best of the next four λ2 than for the lasso, where the paper says so."""
    published = {
        "singh": "first rises",
        "alon": "first rises",
        "lsvt": "first rises",
        "gravier": "falls at once",
    }
    best = max(runs[1:5], key=lambda found: found.scores_["accuracy"].mean())
    gain, is_clear = accuracy_gap(best.runs_, runs[0].runs_)
    sign = -1 if name == "gravier" else 1
    distance = verdict(sign * gain, is_clear) if name in published else ""
    return Row(
        f"{name}, accuracy",
        published.get(name, "not stated"),
        f"{path} ({gain:+.3f})",
        distance,
    )


# -- recursive elimination: figure 14, and by an SVM -------------------------------------------------------------------


def logistic_rfe(opts: Namespace) -> dict[str, Tables]:
    """Logistic RFE on all sets: for each λ a table of the final λ_f."""
    found: dict[str, Tables] = {}
    for name, X, y in _with_lsvt(opts):
        selector = HybridRFE(round(n_selected(X)), standardize=True)
        grid = {"C": 1 / np.logspace(-2, 4, 4), "C_final": _finals(opts, name)}
        found[name] = _tables_of_search(
            opts, f"rfe_{name}", selector, grid, (X, y), "λ = {:g}"
        )
    return found


def svm_rfe(opts: Namespace) -> dict[str, Tables]:
    """The same by a linear SVM, with the paper's share of a fifth of the remaining features."""
    found: dict[str, Tables] = {}
    for name, X, y in _with_lsvt(opts):
        selector = HybridRFE(round(n_selected(X)), loss="hinge", step=0.2)
        pipe = make_pipeline(StandardScaler(), selector, SVC(kernel="linear"))
        grid = {
            "hybridrfe__C": 1 / np.logspace(-2, 4, 4),
            "svc__C": _finals(opts, name),
        }
        found[name] = _tables_of_search(
            opts, f"svm_{name}", pipe, grid, (X, y), "1/C = {:g}"
        )
    return found


def _with_lsvt(opts: Namespace) -> Any:
    """Figure 14 is about lsvt."""
    if opts.quick:
        data = read(opts, "lsvt")
        return [] if data is None else [("lsvt", *data)]
    return sets_of(opts)


def _finals(opts: Namespace, name: str) -> Any:
    """Final penalties, from a weak to a strong one: as many as in figure 14 for its set."""
    return 1 / np.logspace(-2, 4, 7 if name == "lsvt" and not opts.quick else 4)


def _tables_of_search(
    opts: Namespace,
    file: str,
    estimator: Any,
    grid: dict[str, Any],
    data: tuple[Any, Any],
    label: str,
) -> Tables:
    search = StabilitySearchCV(
        estimator,
        grid,
        cv=BootstrapSplit(5 if opts.quick else N_RUNS, random_state=0),
        scoring="accuracy",
        measures=list(MEASURES.values()),
        checkpoint=kept(opts, file),
    ).fit(*data)
    results, (first, second) = search.cv_results_, grid
    columns: dict[str, Any] = {"A": results["mean_test_accuracy"]}
    columns |= {
        symbol: results[f"mean_test_{measure}"] for symbol, measure in MEASURES.items()
    }
    by = [
        [f"{1 / params[name]:g}" for params in results["params"]]
        for name in (first, second)
    ]
    columns["runs"] = search.runs_
    whole = pd.DataFrame(columns, index=pd.MultiIndex.from_arrays(by))
    return {label.format(float(key)): whole.loc[key] for key in dict.fromkeys(by[0])}


def figure_14(opts: Namespace, tables: dict[str, Tables]) -> None:
    """Logistic RFE on lsvt: one line for each λ, from a low to a high final regularisation."""
    if "lsvt" in tables:
        text = "Figure 14: logistic RFE on lsvt, λ_f from 0.01 to 10000"
        show_lines(
            opts, "figure_14", text, _rows_of_figure_14(tables["lsvt"]), tables["lsvt"]
        )


def figure_14_svm(
    opts: Namespace, tables: dict[str, Tables], logistic: dict[str, Tables]
) -> None:
    """What section 7.2.3 says of svm-RFE: the same behaviour, less stable."""
    if "lsvt" not in tables:
        return
    rows = _rows_of_figure_14(tables["lsvt"])
    rows += [_less_stable(name, tables[name], logistic[name]) for name in tables]
    show_lines(
        opts,
        "figure_14_svm",
        "Section 7.2.3: svm-RFE, by 1/C and the final 1/C",
        rows,
        tables["lsvt"],
    )


def _rows_of_figure_14(tables: Tables) -> list[Row]:
    rows = []
    for label, table in tables.items():
        published = "φ constant, φ_pears and φ_iw rise"
        text = "; ".join(
            f"{symbol} {table[symbol].iloc[0]:.2f} → {table[symbol].iloc[-1]:.2f}"
            for symbol in MEASURES
        )
        rise = all(
            table[symbol].iloc[-1] > table[symbol].iloc[0]
            for symbol in ("φ_pears", "φ_iw")
        )
        rows.append(
            claim(label, published, text, holds=rise and np.ptp(table["φ"]) < 1e-9)
        )
        peak = table["A"].argmax()
        inside = table["A"].iloc[-1] < table["A"].max() > table["A"].iloc[0]
        rows.append(
            claim(
                f"{label}, accuracy",
                "rises, then drops",
                path_of(table["A"]),
                holds=inside and peak > 0,
            )
        )
    best = pd.DataFrame(
        {label: table[list(MEASURES)].mean() for label, table in tables.items()}
    ).T
    text = "; ".join(f"{symbol} {path_of(best[symbol])}" for symbol in MEASURES)
    rows.append(
        claim(
            "larger λ",
            "all three rise",
            text,
            holds=bool((best.iloc[-1] > best.iloc[0]).all()),
        )
    )
    return rows


def _less_stable(name: str, svm: Tables, logistic: Tables) -> Row:
    """Stability where each is most accurate, with a paired test, and the largest one."""
    both = [pd.concat(tables.values()) for tables in (svm, logistic)]
    chosen = [table.iloc[table["A"].argmax()] for table in both]
    test = compare_stability(*(setting["runs"] for setting in chosen), paired=True)
    text = "φ {:.2f} against {:.2f} where most accurate, p = {:.2g}; at most {:.2f} against {:.2f}".format(
        *(setting["φ"] for setting in chosen),
        test.pvalue,
        *(table["φ"].max() for table in both),
    )
    distance = verdict(-test.difference, test.pvalue < 0.05)
    return Row(
        f"{name}, svm-RFE and logistic RFE", "generally more unstable", text, distance
    )


def elimination_of_scikit_learn(opts: Namespace) -> None:
    """Elimination as scikit-learn has it, whose `step` is a share of all features."""
    rows, n_runs = [], 5 if opts.quick else N_RUNS
    for name in ("sonar",) if opts.quick else ("lsvt", "alon"):
        if (data := read(opts, name)) is None:
            continue
        size = round(n_selected(data[0]))
        selectors = {
            "a fifth of the remaining": HybridRFE(size, loss="hinge", C=1.0, step=0.2),
            "RFE(step=0.2)": RFE(
                SVC(kernel="linear"), n_features_to_select=size, step=0.2
            ),
            "RFE(step=1)": RFE(SVC(kernel="linear"), n_features_to_select=size, step=1),
        }
        for label, selector in selectors.items():
            if label == "RFE(step=1)" and data[0].shape[1] > 500:
                continue
            pipe = make_pipeline(StandardScaler(), selector, SVC(kernel="linear"))
            found = compromise(
                run(pipe, *data, n_runs, checkpoint=kept(opts, f"svm_{name}"))
            )
            rows.append(
                Row(
                    f"{name}, {label}",
                    "–",
                    "A {A:.3f}, φ {φ:.2f}, φ_iw {φ_iw:.2f}".format(**found),
                    "",
                )
            )
    if rows:
        compare("svm-RFE as a user of scikit-learn calls it, C = 1", rows)


# -- forests: figures 15 and 16 ----------------------------------------------------------------------------------------


class ForestSelector(SelectorMixin, BaseEstimator):
    """Keep the features whose permutation in the out-of-bag rows costs a forest most; equal ones in random order."""

    def __init__(self, n_trees: int, k: int, random_state: Any = None) -> None:
        self.n_trees = n_trees
        self.k = k
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        X = validate_data(self, X)
        rng = check_random_state(self.random_state)
        forest = RandomForestClassifier(self.n_trees, random_state=rng).fit(X, y)
        lost = oob_permutation_importance(forest, X, y, random_state=rng)
        self.support_ = np.zeros(X.shape[1], dtype=bool)
        self.support_[np.lexsort((rng.random_sample(X.shape[1]), -lost))[: self.k]] = (
            True
        )
        return self

    def _get_support_mask(self) -> Any:
        return self.support_


def figure_15(opts: Namespace) -> Tables:
    """Forests of more and more trees; a new forest is grown on the selected features."""
    n_runs = 5 if opts.quick else N_RUNS
    tables = {}
    for name, X, y in sets_of(opts):
        trees = (3, 30) if opts.quick else TREES if name in UP_TO_1000 else TREES[:-1]
        runs = {T: _forest_runs(opts, name, T, X, y, n_runs) for T in trees}
        tables[name] = pd.DataFrame(
            {T: compromise(found) for T, found in runs.items()}
        ).T
        if name == "gastro":
            figure_16(opts, runs)
    rows = [
        grows(
            f"{name}, trees {table.index[0]} to {table.index[-1]}",
            "all three rise",
            table,
        )
        for name, table in tables.items()
    ]
    rows += [_row_of_convergence(name, table) for name, table in tables.items()]
    show_lines(
        opts, "figure_15", f"Figure 15: random forests, {n_runs} runs", rows, tables
    )
    return tables


def _forest_runs(
    opts: Namespace, name: str, n_trees: int, X: Any, y: Any, n_runs: int
) -> StabilityCV:
    selector = ForestSelector(n_trees, round(n_selected(X)))
    getter = partial(oob_permutation_importance, random_state=0)
    pipe = make_pipeline(selector, RandomForestClassifier(n_trees))
    return run(
        pipe,
        X,
        y,
        n_runs,
        checkpoint=kept(opts, f"forest_{name}"),
        importance_getter=getter,
    )


def _row_of_convergence(name: str, table: pd.DataFrame) -> Row:
    text = f"A {path_of(table['A'])}; φ_iw {path_of(table['φ_iw'])}"
    settled = [_settled(table[column]) for column in ("A", "φ_iw")]
    rises, both = table["A"].iloc[-1] > table["A"].iloc[0], min(settled) > 0.9
    row = claim(
        f"{name}, accuracy",
        "rises, and converges sooner than φ_iw",
        text,
        holds=rises and settled[0] >= settled[1],
    )
    return row._replace(distance="tie") if rises and both else row


def _settled(values: pd.Series) -> float:
    """Which share of the whole rise is there in the middle of the line."""
    return float(
        (values.iloc[len(values) // 2] - values.iloc[0])
        / max(values.iloc[-1] - values.iloc[0], 1e-9)
    )


def figure_16(opts: Namespace, runs: dict[int, StabilityCV]) -> None:
    with figure(opts, "hamer2021_figure_16", 1, 2) as axes:
        for panel, n_trees in zip(axes, (10, max(runs)), strict=True):
            FeatureStabilityMapDisplay.from_estimator(runs[n_trees]).plot(
                panel, measures=True
            )


# -- Relief: figures 17 and 18 -----------------------------------------------------------------------------------------


def figure_17(opts: Namespace) -> Tables:
    """ReliefF with K neighbours before a classifier with as many."""
    n_runs, neighbours = (
        (10, (1, 10)) if opts.quick else (N_RUNS, (1, 3, 5, 10, 15, 25, 40))
    )
    tables = {}
    for name, X, y in sets_of(opts):
        runs = {
            K: run(
                _relief(K, round(n_selected(X))),
                X,
                y,
                n_runs,
                checkpoint=kept(opts, f"relief_{name}"),
            )
            for K in neighbours
            if len(y) > 2 * K or name == "alon"
        }
        tables[name] = pd.DataFrame(
            {K: compromise(found) for K, found in runs.items()}
        ).T
        if name == "sonar":
            figure_18(opts, runs)
    rows = [
        grows(f"{name}, K {table.index[0]} to {table.index[-1]}", "mostly rise", table)
        for name, table in tables.items()
    ]
    show_lines(opts, "figure_17", f"Figure 17: Relief, {n_runs} runs", rows, tables)
    return tables


def _relief(n_neighbours: int, size: int) -> Any:
    filter_ = SelectKBest(partial(relieff, n_neighbors=n_neighbours), k=size)
    return make_pipeline(StandardScaler(), filter_, KNeighborsClassifier(n_neighbours))


def figure_18(opts: Namespace, runs: dict[int, StabilityCV]) -> None:
    first, last = min(runs), 25 if 25 in runs else max(runs)
    with figure(opts, "hamer2021_figure_18", 1, 2) as axes:
        for panel, n_neighbours in zip(axes, (first, last), strict=True):
            FeatureStabilityMapDisplay.from_estimator(runs[n_neighbours]).plot(
                panel, measures=True
            )


# -- as in the authors' code of 2021 -----------------------------------------------------------------------------------


def code_of_2021(opts: Namespace) -> None:
    """Importances by flips, and Relief with the thresholds of CORElearn, as in the code of the next paper."""
    if opts.quick:
        return
    rows = [row for name in ("gastro", "sonar") for row in _rows_of_flips(opts, name)]
    compare("Importances by flips, 10 runs: as above, and by flips (φ_iw)", rows)
    if (data := read(opts, "arcene", 10_000)) is not None:
        compare("Relief on arcene, K 1, 5, 15, 40 (φ)", _rows_of_thresholds(*data))


def _rows_of_flips(opts: Namespace, name: str) -> Any:
    if (data := read(opts, name)) is None:
        return
    size = round(n_selected(data[0]))
    permuted = partial(oob_permutation_importance, random_state=0)
    for label, models, usual in (
        ("Relief, K 1, 5, 25", [_relief(K, size) for K in (1, 5, 25)], "auto"),
        (
            "forests, 10, 100 trees",
            [
                make_pipeline(ForestSelector(T, size), RandomForestClassifier(T))
                for T in (10, 100)
            ],
            permuted,
        ),
    ):
        usually, by_flips = (
            [
                compromise(run(model, *data, 10, importance_getter=getter))["φ_iw"]
                for model in models
            ]
            for getter in (usual, flip_importance)
        )
        text = f"{path_of(pd.Series(usually))}; by flips {path_of(pd.Series(by_flips))}"
        yield Row(f"{name}, {label}", "–", text, "")


def _rows_of_thresholds(X: Any, y: Any, neighbours: Any = (1, 5, 15, 40)) -> Any:
    """Stability of the 20 best features, with differences as they are, and between thresholds of 4% and 10%."""
    labels = {False: "differences as they are", True: "thresholds of CORElearn"}
    supports: dict[bool, list[Any]] = {with_them: [] for with_them in labels}
    for rows, _ in BootstrapSplit(N_RUNS, random_state=0).split(X, y):
        spread = X[rows].var(axis=0)
        kept_here = np.argsort(-spread, kind="stable")[:5000]
        for with_them, tables in supports.items():
            scores = _relief_scores(
                X[rows][:, kept_here], y[rows], neighbours, with_them
            )
            chosen = kept_here[np.argsort(-scores, axis=1, kind="stable")[:, :20]]
            table = np.zeros((len(neighbours), X.shape[1]), dtype=bool)
            np.put_along_axis(table, chosen, values=True, axis=1)
            tables.append(table)
    for with_them, tables in supports.items():
        each = [nogueira_stability(runs) for runs in np.stack(tables, axis=1)]
        yield Row(labels[with_them], "mostly rise", path_of(pd.Series(each)), "")


def _relief_scores(X: Any, y: Any, neighbours: Any, with_thresholds: bool) -> Any:
    """ReliefF for several numbers of neighbours at once, from the differences of all pairs of rows."""
    n, width = len(y), np.ptp(X, axis=0)
    scaled = (X / np.where(width > 0, width, 1)).astype(np.float32)

    def differences() -> Any:
        for start in range(0, X.shape[1], 200):
            part = scaled[:, start : start + 200]
            apart = np.abs(part[:, None] - part[None])
            yield np.clip((apart - 0.04) / 0.06, 0, 1) if with_thresholds else apart

    distance = sum(apart.sum(axis=2) for apart in differences())
    distance[np.diag_indices(n)] = np.inf
    weights = np.zeros((len(neighbours), n, n), dtype=np.float32)
    share = {label: np.mean(y == label) for label in np.unique(y)}
    for row, label in np.ndindex(n, len(share)):
        members = np.flatnonzero(y == list(share)[label])
        nearest = members[np.argsort(distance[row, members], kind="stable")]
        nearest = nearest[nearest != row]
        hits = y[row] == list(share)[label]
        for at, K in enumerate(neighbours):
            near = nearest[:K]
            weight = -1 if hits else share[list(share)[label]] / (1 - share[y[row]])
            weights[at, row, near] += weight / (n * len(near))
    flat = weights.reshape(len(neighbours), -1)
    return np.hstack([flat @ apart.reshape(n * n, -1) for apart in differences()])

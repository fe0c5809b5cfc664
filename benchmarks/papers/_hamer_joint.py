"""All methods in one plane: figures 26 to 29 of hamer2021, the fronts behind its ranking of selectors."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import pandas as pd
from _tables import Row, claim, compare, figure, note, show

from skstab.model_selection import pareto_front

# Sets of each figure; borovecki is in none.
FIGURES = {
    26: ("ionosphere", "sonar"),
    27: ("breast", "gastro", "lsvt"),
    28: ("alon", "singh", "chiaretti"),
}
FIGURES[29] = ("gravier", "arcene")
METHODS = {
    "elastic net": "tab:blue",
    "lasso": "tab:orange",
    "forest": "tab:green",
    "logistic RFE": "tab:red",
    "svm-RFE": "tab:purple",
    "Relief": "tab:brown",
}
SYMBOLS = ("φ", "φ_iw")


def figures_26_to_29(
    opts: Namespace, points: dict[str, dict[str, pd.DataFrame]]
) -> None:
    """Compare methods; `points` has, for each method and set, one row for each of its settings."""
    joint = {
        name: _joined(points, name) for names in FIGURES.values() for name in names
    }
    joint = {
        name: table for name, table in joint.items() if len(set(table["method"])) > 1
    }
    if not joint:
        return
    present = {
        symbol: pd.DataFrame({name: on_front(joint[name], symbol) for name in joint}).T
        for symbol in SYMBOLS
    }
    note(
        "Points on the joint front of each set, for φ and for φ_iw (a method without any is left out):\n"
    )
    show(pd.DataFrame([_row_of_set(name, present) for name in joint]))
    compare(
        "Figures 26 to 29: the joint fronts",
        [*_claims_of_presence(present), *_claims_of_stability(joint)],
    )
    for number, names in FIGURES.items():
        draw(opts, number, {name: joint[name] for name in names if name in joint})


def _joined(points: dict[str, dict[str, pd.DataFrame]], name: str) -> pd.DataFrame:
    columns = ["A", *SYMBOLS]
    parts = [
        tables[name][columns].assign(method=method)
        for method, tables in points.items()
        if name in tables
    ]
    return (
        pd.concat(parts, ignore_index=True) if parts else pd.DataFrame({"method": []})
    )


def on_front(table: pd.DataFrame, symbol: str) -> pd.Series:
    """How many points of each method no other point beats in both accuracy and stability."""
    counts = table["method"].iloc[pareto_front(table, "A", symbol)].value_counts()
    return counts.reindex(list(METHODS), fill_value=0)


def _row_of_set(name: str, present: dict[str, pd.DataFrame]) -> dict[str, str]:
    texts = {symbol: _text_of(present[symbol].loc[name]) for symbol in SYMBOLS}
    return {"set": name, **texts}


def _text_of(counts: pd.Series) -> str:
    return ", ".join(f"{method} {count}" for method, count in counts.items() if count)


def _claims_of_presence(present: dict[str, pd.DataFrame]) -> list[Row]:
    rows = []
    for symbol, counts in present.items():
        sets = (counts > 0).sum().sort_values(ascending=False, kind="stable")
        text = ", ".join(f"{method} {count}" for method, count in sets.items())
        holds = (
            set(sets.index[:2]) == {"forest", "logistic RFE"}
            and sets.iloc[1] > sets.iloc[2]
        )
        what = f"sets (of {len(counts)}) with a point on the front, {symbol}"
        rows.append(claim(what, "most: forests and logistic RFE", text, holds=holds))
    return rows


def _claims_of_stability(joint: dict[str, pd.DataFrame]) -> list[Row]:
    rows = []
    for symbol in SYMBOLS:
        best = pd.DataFrame(
            {name: _at_best_accuracy(table, symbol) for name, table in joint.items()}
        ).mean(axis=1)
        ranked = best.sort_values()
        text = ", ".join(f"{method} {value:.2f}" for method, value in ranked.items())
        holds = set(ranked.index[:3]) == {"lasso", "Relief", "svm-RFE"}
        what = f"mean {symbol} where each method is most accurate"
        rows.append(claim(what, "least: lasso, Relief and svm-RFE", text, holds=holds))
    whole = pd.concat(joint.values())
    gap, correlation = (
        (whole["φ"] - whole["φ_iw"]).abs(),
        whole["φ"].corr(whole["φ_iw"]),
    )
    text = f"median distance {gap.median():.3f}, in {(gap < 0.1).mean():.0%} below 0.1, correlation {correlation:.2f}"
    rows.append(
        claim(
            "φ and φ_iw of a point",
            "similar most of the times",
            text,
            holds=(gap < 0.1).mean() > 0.5,
        )
    )
    return rows


def _at_best_accuracy(table: pd.DataFrame, symbol: str) -> pd.Series:
    return table.loc[table.groupby("method")["A"].idxmax()].set_index("method")[symbol]


def draw(opts: Namespace, number: int, tables: dict[str, pd.DataFrame]) -> None:
    if not tables:
        return
    with figure(
        opts, f"hamer2021_figure_{number}", len(tables), 2, squeeze=False
    ) as axes:
        for line, (name, table) in zip(axes, tables.items(), strict=True):
            for panel, symbol in zip(line, SYMBOLS, strict=True):
                _draw_panel(panel, table, symbol)
                panel.set(title=name, xlabel="accuracy", ylabel=symbol)
        axes[0, 0].legend(fontsize=7)


def _draw_panel(axes: Any, table: pd.DataFrame, symbol: str) -> None:
    for method, rows in table.groupby("method"):
        axes.plot(
            rows["A"], rows[symbol], ".", color=METHODS[method], label=method, alpha=0.7
        )
    best = table.iloc[pareto_front(table, "A", symbol)].sort_values("A")
    axes.plot(best["A"], best[symbol], "k-", lw=0.8, drawstyle="steps-pre")

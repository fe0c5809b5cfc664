"""What a page says about features: which to publish, and what else would do as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skstab.inspection._co_selection import co_selection
from skstab.inspection._page_parts import (
    Cell,
    Column,
    SortableTable,
    between,
    listed,
    number,
    plural,
    share,
)

if TYPE_CHECKING:
    import pandas as pd

    from skstab.inspection._feature_report import FeatureReport
    from skstab.runs import Runs

_MOST_PAIRS = 15
_MOST_NEAR = 10


def published_table(
    report: FeatureReport, direction: str | None
) -> SortableTable | None:
    """The features to publish with direction, frequency, substitutes and evidence; None where there are none."""
    core = report.core
    if core.empty:
        return None
    parts = [
        _directions(report, direction),
        _frequencies(core),
        _substitutes(report),
        _evidence(core),
    ]
    columns = [
        Column("Feature", is_number=False),
        *(column for columns, _ in parts for column in columns),
    ]
    rows = [
        [Cell(str(name)), *(cell for _, cells in parts for cell in cells[place])]
        for place, name in enumerate(core.index)
    ]
    return SortableTable(
        "Features to publish, those with the most evidence first", columns, rows
    )


_WORDS = {"+": "higher", "-": "lower", "±": "not clear"}


def _directions(
    report: FeatureReport, direction: str | None
) -> tuple[list[Column], list[list[Cell]]]:
    """In which direction a feature goes with the target: alone, and given the others where that differs."""
    core = report.core
    towards = direction or report.towards
    if not towards or not {"direction", "given_others"} & set(core):
        return [], [[] for _ in range(len(core))]
    cells = [[Cell(_direction(row))] for _, row in core.iterrows()]
    about = "alone" if "direction" in core else "given the other features"
    name = f"Values that go with {towards} ({about}; rank correlation)"
    return [
        Column(
            name if about == "alone" else name.replace("; rank correlation", ""), False
        )
    ], cells


def _direction(row: pd.Series) -> str:
    others = str(row.get("given_others", ""))
    if "direction" not in row:
        agree = row["sign_consistency"]
        rarely = f" ({agree:.0%} of the runs)" if agree < 1 else ""
        return _WORDS.get(others, "–").replace("not clear", "either") + rarely
    alone = str(row["direction"])
    words = _WORDS.get(alone, alone or "–")
    if np.isfinite(row["association_low"]):
        ends = f"{row['association_low']:.2f} to {row['association_high']:.2f}"
        words += f" ({row['association']:.2f}, {ends})"
    if alone in _WORDS and others in ("+", "-") and others != alone:
        words += f"; given the others: {_WORDS[others]}"
    return words


def _frequencies(core: pd.DataFrame) -> tuple[list[Column], list[list[Cell]]]:
    heads = [
        Column("Frequency: share of the resamples that selected it"),
        Column("95% interval"),
    ]
    rows = zip(
        core["frequency"], core["frequency_low"], core["frequency_high"], strict=True
    )
    return heads, [[share(value), between(low, high)] for value, low, high in rows]


def _substitutes(report: FeatureReport) -> tuple[list[Column], list[list[Cell]]]:
    """Other features of the cluster, and how often any of them was selected."""
    core = report.core
    if "cluster" not in core:
        return [], [[] for _ in range(len(core))]
    members = members_of(report)
    cells = [
        [Cell(listed(members[name]) if members[name] else "none"), share(value)]
        for name, value in core["cluster_frequency"].items()
    ]
    return [
        Column("Substitutes", is_number=False),
        Column("It or a substitute was selected"),
    ], cells


def members_of(report: FeatureReport) -> dict[Any, list[Any]]:
    """For each feature to publish the others of its cluster, the most frequently selected first."""
    by_cluster: dict[Any, list[Any]] = {}
    clusters = set(report.core["cluster"])
    table = report.table[report.table["cluster"].isin(clusters)]
    for name, cluster in table["cluster"].items():
        by_cluster.setdefault(cluster, []).append(name)
    return {
        name: [other for other in by_cluster[cluster] if other != name]
        for name, cluster in report.core["cluster"].items()
    }


def _evidence(core: pd.DataFrame) -> tuple[list[Column], list[list[Cell]]]:
    """How often halves of the data select a feature, and copies of it without information."""
    if "decoy" not in core:
        return [], [[] for _ in range(len(core))]
    heads = [
        Column("Evidence: share of the halves that selected it, or a substitute"),
        Column("The same of decoys: copies of it without information"),
    ]
    rows = zip(core["halves"], core["decoy"], strict=True)
    return heads, [[share(own), number(decoy)] for own, decoy in rows]


# -- what else would do as well ----------------------------------------------------------------------------------------


def substitute_table(report: FeatureReport) -> SortableTable | None:
    """Features that can stand for those to publish, as their values are nearly the same."""
    table = report.table
    if "representative" not in table:
        return None
    found = table[table["reason"].str.startswith("substitute of ")]
    if found.empty:
        return None
    columns = [
        Column("Feature", False),
        Column("Can stand for", False),
        Column("Correlation"),
        Column("Frequency"),
    ]
    rows = [
        [
            Cell(str(name)),
            Cell(str(row["representative"])),
            number(row.get("correlation", np.nan)),
            share(row["frequency"]),
        ]
        for name, row in found.head(_MOST_PAIRS).iterrows()
    ]
    return SortableTable(
        "Substitutes: features with nearly the same values", columns, rows
    )


def turns(runs: Runs) -> list[str]:
    """Pairs of features of which runs take one or the other."""
    pairs = co_selection(runs).frame()
    pairs = pairs[pairs["kind"] == "substitutes"].head(_MOST_PAIRS)
    return [
        f"{row['feature']} or {row['other']}: together in {row['together']:.0%} of the resamples, where independent "
        f"choices would give {row['expected']:.0%}"
        for _, row in pairs.iterrows()
    ]


def near_table(report: FeatureReport) -> SortableTable | None:
    """Features that were selected most often among those left out, with the reason."""
    left = report.left_out[~report.left_out.str.startswith("substitute of ")]
    if left.empty:
        return None
    frequency = report.table["frequency"]
    order = (
        frequency[left.index]
        .sort_values(ascending=False, kind="stable")
        .index[:_MOST_NEAR]
    )
    columns = [
        Column("Feature", False),
        Column("Frequency"),
        Column("Left out because", False),
    ]
    rows = [
        [Cell(str(name)), share(frequency[name]), Cell(left[name])] for name in order
    ]
    return SortableTable("Selected in some resamples, but left out", columns, rows)


def rivals(
    first: str, frame: pd.DataFrame, shared: pd.DataFrame, scoring: str
) -> list[str]:
    """For each other selector, what it scores and how many features it has in common with the first one."""
    return [
        f"{name}: {scoring} {row['score']:.3f}, {frame.loc[first, 'score']:.3f} for {first}; on the same resample "
        f"{shared.loc[first, name]:.1f} of its {row['n_features']:.1f} features are also selected by {first}"
        for name, row in frame.iterrows()
        if name != first and row["n_features"] > 0
    ]


def in_words(report: FeatureReport, n_resamples: int) -> str:
    """How many features to publish, in a sentence."""
    core = report.core
    if core.empty:
        return "No feature was selected often enough, and more often than copies without information (decoys)."
    names = listed(list(core.index), 10)
    unless = ", unless there is a leak (see the alerts)" if report.alerts else ""
    number = plural(len(core), "feature")
    return f"{number} of {len(report.table):,}{unless}, over {n_resamples} resamples: {names}."

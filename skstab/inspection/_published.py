"""What a page says about features: which to publish, and what else would do as well."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from skstab.inspection._co_selection import co_selection
from skstab.inspection._page_parts import (
    Cell,
    Column,
    SortableTable,
    listed,
    number,
    plural,
    share,
)
from skstab.inspection._plotting import shorten

if TYPE_CHECKING:
    import pandas as pd

    from skstab.inspection._feature_report import FeatureReport
    from skstab.runs import Runs

_MOST_PAIRS = 15
_MOST_SUBSTITUTES = 3
_MOST_NEAR = 10


def published_table(
    report: FeatureReport, direction: str | None, noun: str
) -> SortableTable | None:
    """The features to publish with direction, evidence and substitutes; None where there are none."""
    core = report.core
    if core.empty:
        return None
    columns = {
        noun.capitalize(): [Cell(str(name)) for name in core.index],
        **_directions(report, direction),
        **_shares(core),
        **_pvalues(core),
        **_substitutes(report),
        **_carriers(core),
    }
    heads = [Column(name, name.startswith("Selected")) for name in columns]
    caption = f"{noun.capitalize()}s to publish, those with the most evidence first"
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    return SortableTable(caption, heads, rows)


_WORDS = {"+": "higher", "-": "lower", "±": "not clear"}


def _directions(report: FeatureReport, direction: str | None) -> dict[str, list[Cell]]:
    """In which direction a feature goes with the target: alone, and given the others where that differs."""
    core = report.core
    towards = direction or report.towards
    if not towards or not {"direction", "given_others"} & set(core):
        return {}
    about = "alone" if "direction" in core else "given the others"
    cells = [Cell(_direction(row)) for _, row in core.iterrows()]
    of_classes = towards.endswith("against the others")
    head = (
        "Classes with such values" if of_classes else f"Values that go with {towards}"
    )
    return {f"{head} ({about})": cells}


def _direction(row: pd.Series) -> str:
    others = str(row.get("given_others", ""))
    if "direction" not in row:
        agree = row["sign_consistency"]
        rarely = f" ({agree:.0%} of the runs)" if agree < 1 else ""
        return _WORDS.get(others, "–").replace("not clear", "either") + rarely
    alone = str(row["direction"])
    words = _WORDS.get(alone) or _of_classes(alone)
    if alone in _WORDS and others in ("+", "-") and others != alone:
        words += f" (given the others: {_WORDS[others]})"
    return words


def _of_classes(marks: str) -> str:
    """Which classes higher and lower values mark, from "+a, -b"; levels of a category are named before."""
    parts = []
    for part in marks.split("; "):
        level, _, signs = part.rpartition(": ")
        names: dict[str, list[str]] = {"+": [], "-": []}
        for mark in re.split(", (?=[+-])", signs):
            names.setdefault(mark[:1], []).append(shorten(mark[1:], 22))
        words = [
            f"{_WORDS[sign]}: {', '.join(names[sign])}" for sign in "+-" if names[sign]
        ]
        if level:
            words = [f"{level} in {', '.join(names['+'])}"] if names["+"] else []
        parts += words
    return "; ".join(parts) or "–"


def _shares(core: pd.DataFrame) -> dict[str, list[Cell]]:
    """How often halves of the data select a feature, or a substitute, and copies of it without information."""
    if "decoy" not in core:
        return {
            "Selected in resamples": [
                Cell(f"{value:.0%}", float(value), float(value))
                for value in core["frequency"]
            ]
        }
    rows = zip(core["halves"], core["decoy"], strict=True)
    return {
        "Selected in halves (its decoy)": [
            Cell(f"{own:.0%} ({decoy:.0%})", float(own), float(own))
            for own, decoy in rows
        ]
    }


def _pvalues(core: pd.DataFrame) -> dict[str, list[Cell]]:
    """P-values after selection, where they were asked for."""
    if "pvalue" not in core:
        return {}
    return {
        "p-value": [
            Cell("< 0.001" if value < 0.001 else f"{value:.3f}", float(value))
            for value in core["pvalue"]
        ]
    }


def table_for_paper(report: FeatureReport) -> SortableTable | None:
    """The features to publish as `caption_of` describes them; None where there are none."""
    core = report.core
    if core.empty:
        return None
    columns: dict[str, list[Cell]] = {
        "Feature": [Cell(str(name)) for name in core.index]
    }
    if "direction" in core:
        columns["Direction"] = [Cell(_direction(row)) for _, row in core.iterrows()]
        columns["Rank correlation"] = _with_ends(core, "association", "{:.2f}")
    columns["Frequency"] = _with_ends(core, "frequency", "{:.0%}")
    if "decoy" in core:
        columns["Halves (decoys)"] = next(iter(_shares(core).values()))
    columns |= {**_pvalues(core), **_substitutes(report), **_carriers(core)}
    texts = ("Feature", "Direction", "Stands also for", "Hangs on rows")
    heads = [Column(name, name not in texts) for name in columns]
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    return SortableTable(caption_of(report), heads, rows)


def _with_ends(core: pd.DataFrame, name: str, form: str) -> list[Cell]:
    parts = core[[name, f"{name}_low", f"{name}_high"]].to_numpy(dtype=float)
    texts = [tuple(map(form.format, row)) for row in parts]
    return [Cell(f"{own} ({low} to {high})") for own, low, high in texts]


_DECOYS = (
    "Halves: the share of random halves of the rows that selected the feature or a substitute of it, and in brackets "
    "the same of copies of it without information (decoys)."
)
_PVALUES = (
    "p-value: of the effect given the other selected features, on rows that did not select them, adjusted for all "
    "features."
)


def caption_of(report: FeatureReport) -> str:
    """What the numbers of the table for a paper are, with what speaks against it."""
    core = report.core
    if core.empty:
        return report.sentence
    unless = ", unless there is a leak (see the end)" if report.alerts else ""
    parts = {
        f"{plural(len(core), 'feature')} of {len(report.table):,}{unless}.": True,
        _about_direction(report.towards): "direction" in core,
        f"Frequency: the share of {report.n_runs} resamples that selected the feature (95% interval for this "
        "number).": True,
        _DECOYS: "decoy" in core,
        _PVALUES: "pvalue" in core,
        "Stands also for: features with nearly the same values.": _substitutes(report),
        "Hangs on rows: without these the feature is not in the list.": _carriers(core),
    }
    return " ".join(
        [*(text for text, is_shown in parts.items() if is_shown), *report.alerts]
    )


def _about_direction(towards: str) -> str:
    goes = f"the values that go with {towards}"
    if towards.endswith("against the others"):
        goes = "the classes that such values mark"
    return (
        f"Direction: {goes}, for each feature alone, where the 95% interval of its rank correlation leaves out 0 (of "
        "several classes or levels, that of the strongest is shown), and, where it differs, for equal values of the "
        "other selected features."
    )


def _substitutes(report: FeatureReport) -> dict[str, list[Cell]]:
    """Other features of the cluster."""
    found = report.substitutes()
    if not any(found.values()):
        return {}
    cells = [
        Cell(listed(names, _MOST_SUBSTITUTES) if names else "–")
        for names in found.values()
    ]
    return {"Stands also for": cells}


def _carriers(core: pd.DataFrame) -> dict[str, list[Cell]]:
    """The rows that a feature hangs on, where a few do."""
    if "carried_by" not in core or not core["carried_by"].astype(bool).any():
        return {}
    cells = [Cell(str(rows) if rows else "–") for rows in core["carried_by"]]
    return {"Hangs on rows": cells}


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


def in_words(report: FeatureReport, noun: str) -> str:
    """How many features to publish, in a sentence."""
    core = report.core
    if core.empty:
        return f"No {noun} was selected often enough, and more important than copies without information (decoys)."
    names = listed(list(core.index), 10)
    unless = ", unless there is a leak (see the alerts)" if report.alerts else ""
    return f"{plural(len(core), noun)} of {len(report.table):,}{unless}: {names}."

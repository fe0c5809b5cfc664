"""What to publish of a selection: which features to report, which are left out, why, and a sentence that says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skstab._typing import FloatArray, IndexArray

if TYPE_CHECKING:
    import pandas as pd

    from skstab.model_selection import SelectorAssessment

__all__ = ["Rule", "reasons", "sentence"]

_NAMED = 30
_LEVEL = 0.05  # of q-values against decoys


class Rule(NamedTuple):
    """By what features are reported."""

    threshold: float
    n_runs: int
    clustered: bool
    assessment: SelectorAssessment | None

    @property
    def no_signal(self) -> bool:
        """Whether an assessment says that there is nothing to report."""
        return self.assessment is not None and self.assessment.verdict == "no signal"

    @property
    def rare(self) -> str:
        """The reason of features below the threshold."""
        what = "cluster selected" if self.clustered else "selected"
        return f"{what} in less than {self.threshold:.0%} of the runs"


# -- feature by feature ------------------------------------------------------------------------------------------------


def reasons(
    rule: Rule,
    frequency: FloatArray,
    cluster_frequency: FloatArray,
    qvalues: FloatArray | None,
    best: IndexArray,
    names: Any,
) -> Any:
    """Why each feature is left out, empty for those to report; `best` is the representative of its cluster."""
    cases = {
        "never selected": frequency == 0,
        rule.rare: cluster_frequency < rule.threshold,
    }
    if rule.no_signal:
        cases["no signal in the data"] = np.ones(len(frequency), dtype=bool)
    elif qvalues is not None:
        cases["no more important than decoys"] = qvalues > _LEVEL
    why = np.select(list(cases.values()), list(cases), default="").astype(object)
    substitutes = np.flatnonzero((why == "") & (best != np.arange(len(best))))
    why[substitutes] = [f"substitute of {name}" for name in names[best[substitutes]]]
    return why


# -- in words ----------------------------------------------------------------------------------------------------------


def sentence(table: pd.DataFrame, rule: Rule, alerts: Sequence[str]) -> str:
    """Say what to report, by which rule, with what speaks against it, and what was left out."""
    if rule.assessment is not None and rule.no_signal:
        return rule.assessment.reason
    core = list(table.index[table["reason"] == ""])
    often = f"in at least {rule.threshold:.0%} of the {rule.n_runs} runs"
    often += " and more important than decoys" if "decoy" in table else ""
    if not core:
        return f"No feature to report: none was selected {often}.{_left(table)}"
    number = "1 feature" if len(core) == 1 else f"{len(core)} features"
    why = f"selected {often}"
    if rule.clustered:
        why = f"each the most frequently selected of a cluster of substitutes that was {why}"
    unless = ", unless there is a leak (see the end)" if alerts else ""
    report = f"Report {number} of {len(table)}{unless}, {why}: {_names(core)}."
    said = f"{report}{_caveat(rule.assessment)}{_carried(table)}{_left(table)}"
    return " ".join([said, *alerts])


def _caveat(assessment: SelectorAssessment | None) -> str:
    """What has to stand beside a list that is not shown to be stable."""
    if assessment is None or assessment.verdict == "signal, stable":
        return ""
    both, each = assessment.shared_features
    shares = f"two samples of half the size share {both:.1f} of {each:.1f} features"
    if assessment.verdict == "signal, unstable":
        return f" The list is unstable: {shares}."
    return f" Whether the list is stable is unclear: {shares}."


def _carried(table: pd.DataFrame) -> str:
    """Which of the features to report hang on few rows."""
    if "carried_by" not in table:
        return ""
    shown = table[(table["reason"] == "") & (table["carried_by"] != "")]
    parts = [f"{name} ({rows})" for name, rows in shown["carried_by"].items()]
    return f" Carried by few rows: {', '.join(parts)}." if parts else ""


def _left(table: pd.DataFrame) -> str:
    kinds = table["reason"].str.replace(
        r"^substitute of .*", "substitute of a reported feature", regex=True
    )
    counts = kinds[kinds != ""].value_counts()
    return (
        f" Left out: {', '.join(f'{kind} ({count})' for kind, count in counts.items())}."
        if len(counts)
        else ""
    )


def _names(names: list[Any]) -> str:
    shown = ", ".join(map(str, names[:_NAMED]))
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"

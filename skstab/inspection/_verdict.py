"""The verdict of a page: one sentence in features, one with the numbers behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skstab.inspection._page_parts import plural
from skstab.metrics import stability_in_words

if TYPE_CHECKING:
    from skstab.model_selection import SelectorAssessment
    from skstab.runs import Runs

__all__ = ["Shared", "headline", "numbers"]


class Shared(NamedTuple):
    """What two independent samples have in common, on average over pairs of halves."""

    n_rows: int
    n_both: float
    n_each: float

    @classmethod
    def of(cls, halves: Runs, n_rows: int) -> Shared:
        """Count what the halves of a pair share; `n_rows` are those of a half."""
        supports = halves.in_pairs().tables.supports
        both = (supports[::2] * supports[1::2]).sum(axis=1)
        return cls(n_rows, float(both.mean()), float(supports.sum(axis=1).mean()))


def headline(
    found: SelectorAssessment, shared: Shared | None, *, noun: str, is_shown: bool
) -> str:
    """Whether there is signal, and how many features two samples share.

    `is_shown` is whether predictions were shown to be better than a guess that ignores the features.
    """
    if found.verdict == "no signal":
        return "No signal: nothing in these data was found that chance does not find as well."
    start = "There is signal" if is_shown else "Signal is not shown"
    if found.has_empty_halves:
        return (
            f"{start}. Whether other data would give the same {noun}s is not known: "
            "half of the rows select nothing."
        )
    if found.has_no_choice or shared is None:
        return f"{start}, but every {noun} is kept: there is nothing to choose."
    joint = ", but the list is unstable: two" if _is_unstable(found) else ". Two"
    return (
        f"{start}{joint} samples of {shared.n_rows:,} rows share {_count(shared.n_both)} of "
        f"{_count(shared.n_each)} {noun}{'' if shared.n_each == 1 else 's'}."
    )


def _count(mean: float) -> str:
    return f"{mean:.1f}".removesuffix(".0")


def _is_unstable(found: SelectorAssessment) -> bool:
    return found.verdict == "signal, unstable"


def numbers(found: SelectorAssessment, scoring: str) -> str:
    """The score against permuted targets, and the stability on other data with its interval."""
    if found.verdict == "no signal":
        return _with_score(found, scoring).removeprefix("No signal: ")
    said = [_against_chance(found, scoring)]
    if not (found.has_empty_halves or found.has_no_choice):
        said.append(_stability(found))
    return " ".join(said)


def _with_score(found: SelectorAssessment, scoring: str) -> str:
    """The reason of the verdict with the score by its name for readers, from a capital letter on."""
    reason = found.reason.removeprefix("No signal: ")
    if found.score is not None:
        own = f"{found.score.name} {found.score.mean:.3f}"
        reason = reason.replace(own, f"{scoring} {found.score.mean:.3f}", 1)
    return reason[:1].upper() + reason[1:]


def _against_chance(found: SelectorAssessment, scoring: str) -> str:
    chance = found.chance
    if found.score is None or np.isnan(chance.score_pvalue):
        own, name, permuted = (
            found.replication.estimate,
            "Halves agree",
            chance.stabilities,
        )
        said = f"{name} with a stability of {own:.2f}"
    else:
        own, permuted = found.score.mean, chance.scores
        said = f"{scoring} {own:.3f} ± {found.score.standard_error:.3f}"
        said = said[:1].upper() + said[1:]
        if not np.isnan(chance.auc_pvalue):  # what the verdict rests on
            own, permuted = chance.auc, np.asarray(chance.aucs)
            if "AUC" not in scoring:
                said += f"; AUC on halves of the rows {own:.3f}"
    n_reached = int(np.sum(permuted >= own))
    targets = plural(len(permuted), "permuted target")
    if n_reached:
        return f"{said}; {n_reached} of {targets} reached as much."
    digits = 2 if found.score is None else 3
    return f"{said}; none of {targets} reached more than {permuted.max():.{digits}f}."


def _stability(found: SelectorAssessment) -> str:
    interval = found.replication
    # Adding zero leaves no "-0.00".
    estimate, low, high = (
        f"{round(value, 2) + 0:.2f}"
        for value in (interval.estimate, interval.low, interval.high)
    )
    return (
        f"Stability on other data {estimate} ({low} to {high} with 95% "
        f"confidence){_called(found)}."
    )


def _called(found: SelectorAssessment) -> str:
    properties = found.measure.properties
    if properties is None or not properties.chance_corrected:
        return ""
    if "unclear" in found.verdict:
        return ": whether the list is stable is unclear"
    return f", called {stability_in_words(found.replication.estimate)}"

"""The verdict of a page in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skstab.metrics import stability_in_words

if TYPE_CHECKING:
    from skstab.model_selection import SelectorAssessment

__all__ = ["headline", "with_score"]

_POOR, _EXCELLENT = 0.4, 0.75


def headline(found: SelectorAssessment, *, is_shown: bool) -> str:
    """Whether there is signal, how stable on other data in words and numbers, and against chance.

    `is_shown` is whether predictions were shown to be better than a guess that ignores the features.
    """
    if found.verdict == "no signal":
        return "No signal: nothing in these data was found that chance does not find as well."
    shown = "There is signal" if is_shown else "Signal is not shown"
    if found.has_empty_halves:
        return f"{shown}, and whether other data would give the same features is not known: halves select nothing."
    if found.has_no_choice:
        return f"{shown}, but every feature is kept: there is nothing to choose."
    stability, chance = (
        found.replication.estimate,
        float(found.chance.stabilities.mean()),
    )
    alike = (
        "largely other"
        if stability < _POOR
        else "partly the same"
        if stability <= _EXCELLENT
        else "much the same"
    )
    # Adding zero leaves no "-0.00".
    numbers = (
        f"stability {round(stability, 2) + 0:.2f}{_in_words(found)}, "
        f"where chance gives {round(chance, 2) + 0:.2f}"
    )
    joint = "but" if is_shown and stability < _POOR else "and"
    return f"{shown}, {joint} other data would give {alike} features ({numbers})."


def _in_words(found: SelectorAssessment) -> str:
    properties = found.measure.properties
    corrected = properties is not None and properties.chance_corrected
    return (
        f", called {stability_in_words(found.replication.estimate)}"
        if corrected
        else ""
    )


def with_score(found: SelectorAssessment, scoring: str) -> str:
    """The reason of the verdict with the score by its name for readers."""
    if found.score is None:
        return found.reason
    own = f"{found.score.name} {found.score.mean:.3f}"
    return found.reason.replace(own, f"{scoring} {found.score.mean:.3f}", 1)

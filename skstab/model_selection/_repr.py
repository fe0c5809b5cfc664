"""What a notebook shows of a fitted `StabilityCV` or search beside scikit-learn's diagram."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from skstab.metrics import StabilityInterval, stability_in_words
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

# Styles stand at each element, since a notebook may strip a style sheet.
_TOP = "display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start"


def beside_diagram(
    runs: Runs, interval: StabilityInterval, measure: str, diagram: str
) -> str:
    """HTML of what the runs say, beside the diagram of the estimator."""
    block = runs.to_html(heading=_heading(interval, measure))
    return f'<div style="{_TOP}">{block}<div>{diagram}</div></div>'


def front_beside_diagram(
    front: pd.DataFrame, score: str | None, stability: str, diagram: str
) -> str:
    """HTML of the front of a search, beside the diagram of the estimator."""
    names = {"score": score, "stability": stability}
    ends = [
        name
        for name in front
        if str(name).endswith(("_low", "_high"))
        and str(name).partition("_")[0] in names
    ]
    shown = front.drop(columns=ends).rename(
        columns={name: new for name, new in names.items() if new is not None}
    )
    table = shown.to_html(float_format=lambda value: f"{value:.3g}", border=0)
    block = f"<div><div><strong>Candidates on the front</strong></div>{table}</div>"
    return f'<div style="{_TOP}">{block}<div>{diagram}</div></div>'


def _heading(interval: StabilityInterval, measure: str) -> str:
    ends = (
        f" (95% interval {interval.low:.2f} to {interval.high:.2f}, {interval.about})"
    )
    shown = ends if np.isfinite(interval.low) else ""
    # The scale was stated for this measure.
    words = (
        f", {stability_in_words(interval.estimate)}" if measure == "nogueira" else ""
    )
    return f"<div><strong>Stability {interval.estimate:.2f}</strong>{shown}, {escape(measure)} measure{words}</div>"

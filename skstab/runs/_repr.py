"""What a notebook shows of runs."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from skstab.runs._runs import Runs

__all__ = ["html_of"]

N_FEATURES = 8
_LONGEST_NAME = 60

# Styles stand at each element, since a notebook may strip a style sheet; colours follow the notebook's theme.
_BLOCK = (
    "font-family:system-ui,sans-serif;font-size:0.9em;line-height:1.5;max-width:28em"
)
_ROW = "display:grid;grid-template-columns:minmax(6em,14em) 6em auto;gap:0.6em;align-items:center"
_NAME = "overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
_TRACK = "height:0.7em;border:1px solid currentColor;border-radius:2px;opacity:0.75"
_BAR = "height:100%;background:currentColor"


def html_of(runs: Runs, heading: str = "") -> str:
    """HTML of what the runs say, under a heading that is HTML itself."""
    return f'<div style="{_BLOCK}">{heading}{_text(runs)}{_bars(runs)}</div>'


def _text(runs: Runs) -> str:
    mean = runs.tables.supports.sum() / max(len(runs), 1)
    scores = "".join(
        f"<br>{escape(name)} {_mean(scores)}" for name, scores in runs.scores.items()
    )
    return f"<div>{len(runs)} runs, {mean:.1f} of {runs.n_features} features selected on average{scores}</div>"


def _mean(scores: Any) -> str:
    known = scores[~np.isnan(scores)]
    return f"{known.mean():.3f}" if known.size else "unknown"


def _bars(runs: Runs) -> str:
    """List the features selected most often, each with a bar."""
    frequency = runs.frequencies().nlargest(N_FEATURES)
    rows = "".join(_bar(name, share) for name, share in frequency.items() if share > 0)
    return f'<div style="margin-top:0.5em" role="list" aria-label="Features selected most often">{rows}</div>'


def _bar(name: Any, share: float) -> str:
    text = str(name)
    shown = text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}…"
    return (
        f'<div role="listitem" style="{_ROW}"><bdi style="{_NAME}" title="{escape(text)}">{escape(shown)}</bdi>'
        f'<div style="{_TRACK}"><div style="{_BAR};width:{share:.0%}"></div></div><span>{share:.0%}</span></div>'
    )

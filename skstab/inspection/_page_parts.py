"""The parts of a page: pictures as data, and tables that can be sorted."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

_PATH = re.compile(r'<path (?:id="\w+" )?d="[^"]*"')
_DECIMALS = re.compile(r"(?<=\.\d)\d+")
_NARROW = 3.5  # inches of a picture on a narrow screen
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SVG_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # the browser has fonts for all scripts
    "svg.hashsalt": "skstab",
    "font.family": "sans-serif",
    "savefig.facecolor": "white",
}


class Picture(NamedTuple):
    """A picture: its data URI, its alternative text, its caption, and a form for narrow screens."""

    source: str
    alt: str
    caption: str
    narrow: str | None = None


class Cell(NamedTuple):
    """A cell: its text, the number to sort by, and the share of a bar behind it."""

    text: str
    value: float | None = None
    share: float | None = None


class Column(NamedTuple):
    """The head of a column."""

    name: str
    is_number: bool = True


class SortableTable(NamedTuple):
    """A table that can be sorted; the first cell of each row names it."""

    caption: str
    columns: list[Column]
    rows: list[list[Cell]]


def number(value: Any, digits: int = 2) -> Cell:
    """Cell of a number; empty where it is missing."""
    return (
        Cell(f"{value:.{digits}f}", float(value)) if np.isfinite(value) else Cell("–")
    )


def share(value: float) -> Cell:
    """Cell of a share with a bar."""
    return Cell(f"{value:.2f}", float(value), float(value))


def between(low: Any, high: Any, digits: int = 2) -> Cell:
    """Cell of an interval, sorted by its lower end."""
    return (
        Cell(f"{low:.{digits}f} to {high:.{digits}f}", float(low))
        if np.isfinite(low)
        else Cell("–")
    )


def draw(
    display: Any,
    alt: str,
    caption: str,
    *,
    labels: Mapping[str, str] | None = None,
    fits_narrow: bool = False,
) -> Picture:
    """Draw a display into a data URI: inside an image its content cannot interfere with the page.

    `labels` replaces those of the axes, `xlabel` or `ylabel`.
    """
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    with mpl.rc_context(_SVG_STYLE), warnings.catch_warnings():
        # About glyphs that matplotlib's own fonts lack, which affects only the estimated width of a letter.
        warnings.simplefilter("ignore")
        drawn = display.plot()
        source, height = _source(drawn, labels), drawn.figure_.get_figheight()
        narrow = None
        if fits_narrow:
            _, ax = plt.subplots(figsize=(_NARROW, height), layout="constrained")
            narrow = _source(display.plot(ax=ax), labels)
    return Picture(source, alt, caption, narrow)


def _source(drawn: Any, labels: Mapping[str, str] | None) -> str:
    from matplotlib import pyplot as plt

    stream = io.StringIO()
    drawn.ax_.set(**(labels or {}))
    drawn.figure_.savefig(
        stream,
        format="svg",
        bbox_inches="tight",
        metadata={"Date": None, "Creator": None},
    )
    plt.close(drawn.figure_)
    encoded = base64.b64encode(_compact(stream.getvalue())).decode()
    return f"data:image/svg+xml;base64,{encoded}"


def _compact(svg: str) -> bytes:
    """Encode a drawing with one decimal per coordinate, and without characters that XML does not allow in a name."""
    svg = _PATH.sub(
        lambda path: " ".join(_DECIMALS.sub("", path[0]).split()),
        _NOT_XML.sub("\ufffd", svg),
    )
    return svg.encode("utf-8", errors="replace")


def plural(number: Any, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(names: Any, most: int = 5) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


# -- tables for papers -----------------------------------------------------------------

_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "–": "--",
}


def as_latex(table: SortableTable | None, caption: str) -> str:
    """A table as an environment of LaTeX; without rows where there is none."""
    lines = [r"\begin{table}", rf"\caption{{{_in_latex(caption)}}}"]
    if table is not None:
        form = "".join("r" if column.is_number else "l" for column in table.columns)
        heads = " & ".join(_in_latex(column.name) for column in table.columns)
        lines += [rf"\begin{{tabular}}{{{form}}}", r"\hline", rf"{heads} \\ \hline"]
        for row in table.rows:
            lines.append(" & ".join(_in_latex(cell.text) for cell in row) + r" \\")
        lines += [r"\hline", r"\end{tabular}"]
    return "\n".join([*lines, r"\end{table}", ""])


def _in_latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))


def as_markdown(table: SortableTable | None, caption: str) -> str:
    """A caption and a table in Markdown; the caption alone where there is none."""
    lines = [_in_markdown(caption), ""]
    if table is None:
        return "\n".join(lines)
    rows = [
        [_in_markdown(column.name) for column in table.columns],
        ["---:" if column.is_number else "---" for column in table.columns],
        *([_in_markdown(cell.text) for cell in row] for row in table.rows),
    ]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows), ""])


def _in_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|~#$])", r"\\\1", " ".join(text.split()))

"""What the displays share: axes, colours that everyone can distinguish, names that fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

import numpy as np

from skstab._checks import check_int, check_number, is_choice

if TYPE_CHECKING:
    import pandas as pd

# Okabe and Ito's colours for any colour vision; dark and light ones alternate, so that neighbours differ in grey, too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#F0E442")
DARK = "#222222"
GREY = "#888888"
PALE = "#CCCCCC"

# Seven colours and four hatches or dashes, advanced together, give 28 styles; neighbours differ in both.
N_STYLES = 28
_HATCHES, _DASHES, _MARKERS = (
    (None, "////", "..", "\\\\\\\\"),
    ("-", "--", "-.", ":"),
    "osD^vPX",
)
_LINE_COLOURS = (*COLOURS[:6], "black")  # yellow lines are hard to see
FILLS = [
    {"facecolor": COLOURS[i % 7], "hatch": _HATCHES[i % 4]} for i in range(N_STYLES)
]
LINES = [
    {
        "color": _LINE_COLOURS[i % 7],
        "marker": _MARKERS[i % 7],
        "markersize": 4,
        "linestyle": _DASHES[i % 4],
    }
    for i in range(N_STYLES)
]

_SMALLEST_FONT = 5.0
_SMALLEST_LYING_FONT = 7.0
_LINE_HEIGHT = 1.2
_LEGEND_LINE_HEIGHT = 1.6
_LETTER_WIDTH = 0.55
_TICK_WIDTH = 24.0
_WIDE = 20  # ratio of the largest to the smallest value


def require_matplotlib() -> Any:
    """Return pyplot, or say what to install."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from error
    return plt


def figure_and_axes(ax: Any, size: tuple[float, float] = (6.4, 4.8)) -> tuple[Any, Any]:
    """Return the given axes with their figure, or new ones of this size in inches."""
    plt = require_matplotlib()
    if ax is not None and not isinstance(ax, plt.Axes):
        raise TypeError(f"ax must be matplotlib Axes or None, got {type(ax).__name__}")
    if ax is not None:
        return ax.figure, ax
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    return figure, axes


def height_of(n_rows: int, *, least: float = 2.4, per_row: float = 0.22) -> float:
    """Height in inches of a figure with this number of named rows, or the usual height if they are too many to name."""
    return max(per_row * n_rows + 1.0, least) if n_rows <= 60 else 4.8


def check_count(
    value: Any, name: str, *, most: int | None = None, optional: bool = False
) -> Any:
    """Check a count; None, if allowed, means all."""
    return None if value is None and optional else check_int(value, name, most=most)


def check_share(value: Any, name: str) -> Any:
    """Check a probability, or None."""
    return (
        None
        if value is None
        else check_number(value, name, "a number from 0 to 1", least=0, most=1)
    )


def check_order(order: Any) -> None:
    """Check in which order features are drawn."""
    if not is_choice(order, "column", "frequency"):
        raise ValueError(f"order must be 'column' or 'frequency', got {order!r}")


def number_label(order: str, n_drawn: int, n_features: int) -> str:
    """Label of an axis with numbers of features."""
    if order == "frequency":
        return "feature (rank by selection frequency)"
    return (
        "feature (column)"
        if n_drawn == n_features
        else f"the {n_drawn} most frequent of {n_features} features"
    )


def stability_label(
    measure: str | None, *, about: str | None = None, more: str = ""
) -> str:
    """Label of an axis of stabilities: their measure and what their intervals are about, where any are drawn."""
    label = ("stability" if measure is None else f"stability ({measure})") + more
    return label if about is None else f"{label}\nintervals: {about}"


def error_lengths(table: pd.DataFrame, value: str, low: str, high: str) -> np.ndarray:
    """Lengths of the error bars below and above; none if the ends are unknown."""
    lengths = np.stack([table[value] - table[low], table[high] - table[value]])
    return np.asarray(np.maximum(np.nan_to_num(lengths), 0.0))


# -- names -------------------------------------------------------------------------------------------------------------


def shorten(name: Any, width: int = 24) -> str:
    """Remove letters from the middle of a long name: both ends distinguish it from its neighbours."""
    text = " ".join(str(name).split())
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


def shorten_all(names: Sequence[Any], width: int = 24) -> list[str]:
    """Shorten names; names that would look the same are shown from where they differ."""
    labels, alike = [shorten(name, width) for name in names], defaultdict(set)
    for label, name in zip(labels, names, strict=True):
        alike[label].add(" ".join(str(name).split()))
    common = {
        label: commonprefix(list(texts))  # noqa: RUF071
        for label, texts in alike.items()
        if len(texts) > 1
    }
    starts = {label: _word_start(prefix) for label, prefix in common.items()}
    for position, (label, name) in enumerate(zip(labels, names, strict=True)):
        if label in starts:
            rest = " ".join(str(name).split())[starts[label] :]
            labels[position] = (
                f"…{rest}" if len(rest) < width else f"…{rest[: width - 2]}…"
            )
    return labels


def _word_start(prefix: str) -> int:
    """Where the last word of a common prefix starts, unless that is far from its end."""
    start = prefix.rfind(" ") + 1
    return start if len(prefix) - start < 8 else len(prefix)


def names_fit(axis: Any, n_names: int) -> bool:
    """Whether this number of names along an axis can be read."""
    return _room(axis, n_names) >= _SMALLEST_FONT * _LINE_HEIGHT


def name_ticks(
    axis: Any, names: Sequence[Any], *, places: Any = None, width: int | None = None
) -> None:
    """Name the ticks 0, 1, … of an axis, as large as there is space; vertical if they are too long to be horizontal."""
    from matplotlib import rcParams

    room = _room(axis, len(names))
    usual = rcParams["xtick.labelsize" if axis.axis_name == "x" else "ytick.labelsize"]
    size = min(_points(usual), room / _LINE_HEIGHT)
    labels = shorten_all(names, width or _longest_name(axis, size))
    lying = room / _LETTER_WIDTH / max(1, *map(len, labels))
    is_upright = axis.axis_name == "x" and lying < _SMALLEST_LYING_FONT
    if axis.axis_name == "x" and not is_upright:
        size = min(size, lying)
    # A dollar sign in a name is not mathematics.
    at = range(len(names)) if places is None else places
    axis.set_ticks(
        at, labels, fontsize=size, parse_math=False, rotation=90 if is_upright else 0
    )


def _longest_name(axis: Any, size: float) -> int:
    """Number of letters of a name that leaves enough space for the other axis."""
    other = axis.axes.xaxis if axis.axis_name == "y" else axis.axes.yaxis
    return min(max(int(0.7 * _room(other, 1) / size / _LETTER_WIDTH), 10), 24)


def _room(axis: Any, n: int) -> float:
    """Points of an axis for each of a number of items along it, after the layout of the figure."""
    box = axis.axes.get_window_extent()
    pixels = box.height if axis.axis_name == "y" else box.width
    return float(pixels * _share_left(axis) * 72 / axis.axes.figure.dpi / max(n, 1))


def points_along(axis: Any) -> float:
    """Length of an axis in points, after the layout of the figure."""
    return _room(axis, 1)


def _share_left(axis: Any) -> float:
    """Share of an axis that a layout engine, which makes room for labels at the end, will probably leave."""
    if axis.axis_name == "y" or axis.axes.figure.get_layout_engine() is None:
        return 1.0
    spec = axis.axes.get_subplotspec()
    alone = spec is None or spec.get_gridspec().get_geometry() == (1, 1)
    return 0.85 if alone else 0.6


def _points(size: Any) -> float:
    from matplotlib.font_manager import FontProperties

    return FontProperties(size=size).get_size_in_points()


def whole_numbers(axis: Any) -> None:
    """Put ticks at integers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def log_scale_if_wide(axis: Any, values: Any) -> None:
    """Make an axis of values of several magnitudes logarithmic, with ticks at 1, 2, 5, 10, or 1, 10 if it is short."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = np.min(values), np.max(values)
    if low <= 0 or high < _WIDE * low:
        return
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    n_ticks = 3 * np.log10(high / low)
    axis.set_major_locator(
        LogLocator(subs=(1, 2, 5) if _room(axis, n_ticks) > _TICK_WIDTH else (1,))
    )
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")


def add_legend(
    ax: Any, handles: Sequence[Any], names: Sequence[Any], **options: Any
) -> Any:
    """Name artists literally, including signs that have a special meaning for matplotlib."""
    # Labels that start with an underscore would be left out: number the artists first.
    legend = ax.legend(
        handles,
        [str(number) for number in range(len(handles))],
        frameon=False,
        **options,
    )
    for text, label in zip(legend.get_texts(), shorten_all(names), strict=True):
        text.set(text=label, parse_math=False)
    return legend


def add_legend_above(ax: Any, handles: Sequence[Any], names: Sequence[Any]) -> Any:
    """Name a few artists above the axes, in a row if there is room."""
    letters = sum(map(len, names)) + 5 * len(
        names
    )  # a handle is as wide as five letters
    in_row = letters * _LETTER_WIDTH * _points("small") < _room(ax.xaxis, 1)
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.0}
    shape = {
        "ncols": len(handles) if in_row else 1,
        "handlelength": 1.4,
        "columnspacing": 1.2,
    }
    return add_legend(ax, handles, names, fontsize="small", **place, **shape)


def add_legend_beside(ax: Any, handles: Sequence[Any], names: Sequence[Any]) -> Any:
    """Name artists on the right of the axes, smaller if necessary, and only as many as there is space for."""
    size = min(_points("small"), _room(ax.yaxis, len(handles)) / _LEGEND_LINE_HEIGHT)
    if size < _SMALLEST_FONT:
        size = _SMALLEST_FONT
        n_fit = max(int(_room(ax.yaxis, 1) / size / _LEGEND_LINE_HEIGHT), 1)
        handles, names = handles[:n_fit], names[:n_fit]
    place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2}
    return add_legend(ax, handles, names, fontsize=size, **place)

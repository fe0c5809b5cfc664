"""What the instability is due to, and which choices disagree most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skstab._checks import check_int
from skstab.inspection._plotting import (
    COLOURS,
    DARK,
    GREY,
    error_lengths,
    figure_and_axes,
    height_of,
    name_ticks,
    names_fit,
    shorten,
)

if TYPE_CHECKING:
    import pandas as pd

    from skstab.model_selection import Multiverse

_COLUMNS = ["kind", "name", "other", "part", "low", "high"]
_NAMES = {
    "data": "data: another sample",
    "choices": "choices: another pipeline",
    "interaction": "interaction of the two",
    "seed": "seed: another seed",
}


class MultiverseDisplay:
    """The parts of the instability that are due to data, choices and seed, and the pairs of choices behind them.

    Parameters
    ----------
    table : DataFrame
        One row per line, with the columns that `frame` describes.
    total : float, default=None
        1 − Φ, of which these are parts, for the label of the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    skstab.model_selection.multiverse : What it shows.

    Notes
    -----
    The parts above add up to 1 − Φ of two runs on another resample by another pipeline. Each pair below the line is
    what the choices would be due to with these two pipelines alone.

    Examples
    --------
    >>> import pandas as pd
    >>> from skstab.inspection import MultiverseDisplay
    >>> lines = [("source", "data", None, 0.1, 0.0, 0.2), ("pair", "Ann", "Bob", 0.4, 0.3, 0.5)]
    >>> table = pd.DataFrame(lines, columns=["kind", "name", "other", "part", "low", "high"])
    >>> MultiverseDisplay(table).frame().shape
    (2, 6)
    """

    def __init__(self, table: pd.DataFrame, *, total: float | None = None) -> None:
        missing = set(_COLUMNS).difference(getattr(table, "columns", ()))
        if missing:
            raise ValueError(
                f"table must be a DataFrame with columns {_COLUMNS}, it lacks {sorted(missing)}"
            )
        self.table = table
        self.total = total

    @classmethod
    def from_multiverse(cls, found: Multiverse, *, n_pairs: int = 6) -> Self:
        """Show what is due to which.

        Parameters
        ----------
        found : Multiverse
            What :func:`~skstab.model_selection.multiverse` returns.
        n_pairs : int, default=6
            How many pairs of pipelines to show, those that disagree most; 0 shows none.

        Returns
        -------
        display : MultiverseDisplay
            The display, not drawn yet.
        """
        import pandas as pd

        check_int(n_pairs, "n_pairs", least=0)
        if not (hasattr(found, "shares") and hasattr(found, "pairs")):
            raise TypeError(f"found must be a Multiverse, got {type(found).__name__}")
        sources = found.shares().dropna(subset="part").reset_index(names="name")
        sources = sources.assign(kind="source", other=None)
        pairs = found.pairs().head(n_pairs).rename(columns={"a": "name", "b": "other"})
        tables = [part[_COLUMNS] for part in (sources, pairs.assign(kind="pair"))]
        table = pd.concat([part for part in tables if len(part)], ignore_index=True)
        return cls(table, total=1 - found.stability)

    def frame(self) -> pd.DataFrame:
        """Tabulate the lines.

        Returns
        -------
        table : DataFrame
            From top to bottom: the `kind` of line, "source" or "pair"; the `name` of the source, or of the first
            pipeline and the `other` one; the `part` of the instability with the ends `low` and `high` of its interval.
        """
        return self.table[_COLUMNS].reset_index(drop=True)

    def plot(self, ax: Any = None) -> Self:
        """Draw the parts.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        self : MultiverseDisplay
            With `ax_` and `figure_`.
        """
        table = self.frame()
        is_pair = table["kind"].eq("pair").to_numpy()
        places = np.arange(len(table)) + is_pair  # an empty line separates the two
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, height_of(len(table) + 1)))
        for rows, colour in ((~is_pair, COLOURS[0]), (is_pair, COLOURS[4])):
            if rows.any():
                self._draw(table[rows], places[rows], colour)
        self.ax_.axvline(0, color=DARK, linewidth=0.8, linestyle=":")
        if is_pair.any():
            self.ax_.axhline(places[is_pair][0] - 1, color=GREY, linewidth=0.8)
        self._label(table, places)
        return self

    def _draw(self, table: pd.DataFrame, places: np.ndarray, colour: str) -> None:
        self.ax_.errorbar(
            table["part"],
            places,
            xerr=error_lengths(table, "part", "low", "high"),
            fmt="o",
            color=colour,
            markersize=5.5,
            elinewidth=1.3,
            capsize=2.5,
        )

    def _label(self, table: pd.DataFrame, places: np.ndarray) -> None:
        names = [""] * (places[-1] + 1)
        for place, line in zip(places, table.itertuples(), strict=True):
            names[place] = (
                f"{shorten(line.name, 14)} / {shorten(line.other, 14)}"
                if line.kind == "pair"
                else _NAMES.get(line.name, shorten(line.name))
            )
        self.ax_.tick_params(axis="y", length=0)
        if names_fit(self.ax_.yaxis, len(names)):
            name_ticks(self.ax_.yaxis, names, width=32)
        total = "" if self.total is None else f" = {self.total:.2f}"
        label = f"part of the instability 1 − Φ{total}\nintervals: resampling error"
        self.ax_.set_xlabel(label, parse_math=False)
        self.ax_.set_ylabel("due to")
        self.ax_.set_ylim(places[-1] + 0.6, -0.6)

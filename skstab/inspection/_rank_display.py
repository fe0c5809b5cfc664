"""Which rank each feature may have, and how often it is among the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from skstab._checks import check_bool, check_level
from skstab._typing import RandomState, RunsLike
from skstab.inspection._plotting import (
    COLOURS,
    DARK,
    GREY,
    add_legend_above,
    check_count,
    figure_and_axes,
    height_of,
    name_ticks,
    names_fit,
    whole_numbers,
)
from skstab.inspection._sources import runs_of

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = [
    *("mean_rank", "top_k", "top_k_low", "top_k_high"),
    *("rank", "rank_low", "rank_high"),
]


class RankDisplay:
    """Confidence sets of the ranks that features have on average over runs, and how often they are among the first k.

    Parameters
    ----------
    table : DataFrame
        What :meth:`skstab.runs.Runs.ranks` returns: one row per feature, indexed by its name.
    k : int
        Number of first places.
    confidence_level : float, default=0.95
        Level of the sets.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    skstab.runs.Runs.ranks : The table, and what its sets mean.

    Notes
    -----
    All sets hold the true ranks together at this level. They are about the finite number of runs on this data set, not
    about other data sets.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.inspection import RankDisplay
    >>> from skstab.runs import Runs
    >>> importances = np.array([5.0, 3.0, 2.8]) + np.random.default_rng(0).random((40, 3))
    >>> display = RankDisplay.from_runs(Runs(importances > 0, importances), k=1, random_state=0)
    >>> display.frame()[["feature", "top_k", "rank_low", "rank_high"]]
      feature  top_k  rank_low  rank_high
    0      x0    1.0         1          1
    1      x1    0.0         2          2
    2      x2    0.0         3          3
    """

    def __init__(
        self, table: pd.DataFrame, k: int, *, confidence_level: float = 0.95
    ) -> None:
        missing = set(_COLUMNS).difference(getattr(table, "columns", ()))
        if missing:
            raise ValueError(
                f"table must be what Runs.ranks returns, it lacks {sorted(missing)}"
            )
        self.table = table
        self.k = check_count(k, "k")
        self.confidence_level = check_level(confidence_level)

    @classmethod
    def from_runs(
        cls,
        runs: RunsLike,
        *,
        k: int = 10,
        confidence_level: float = 0.95,
        random_state: RandomState = None,
    ) -> Self:
        """Show the ranks of the features in runs.

        Parameters
        ----------
        runs : Runs, StabilityCV or search
            What runs selected, with importances, or a fitted object that holds runs.
        k : int, default=10
            Number of first places.
        confidence_level : float, default=0.95
            Level of the sets.
        random_state : int, RandomState instance or None, default=None
            Seed of the bootstrap of the runs.

        Returns
        -------
        display : RankDisplay
            The display, not drawn yet.
        """
        table = runs_of(runs, "runs").ranks(
            k, confidence_level=confidence_level, random_state=random_state
        )
        return cls(table, k, confidence_level=confidence_level)

    def frame(self) -> pd.DataFrame:
        """Tabulate the features.

        Returns
        -------
        table : DataFrame
            One row per feature, the best mean rank first: `feature` and the columns of
            :meth:`skstab.runs.Runs.ranks`.
        """
        return self.table[_COLUMNS].rename_axis("feature").reset_index()

    def plot(
        self, ax: Any = None, *, n_features: int | None = 20, legend: bool = True
    ) -> Self:
        """Draw the sets as lines, with the rank of the mean rank as a point on each.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None makes a figure.
        n_features : int, default=20
            Draw only this number of features; None draws all.
        legend : bool, default=True
            Whether to say what is known of the first k places.

        Returns
        -------
        self : RankDisplay
            With `ax_` and `figure_`.
        """
        check_count(n_features, "n_features", optional=True)
        table = self.frame().head(len(self.table) if n_features is None else n_features)
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, height_of(len(table))))
        kinds = {
            f"among the first {self.k}": (table["rank_high"] <= self.k, COLOURS[0]),
            "undecided": (None, COLOURS[1]),
            f"not among the first {self.k}": (table["rank_low"] > self.k, GREY),
        }
        (surely, _), _, (surely_not, _) = kinds.values()
        drawn = {}
        for name, (which, colour) in kinds.items():
            rows = table[~surely & ~surely_not if which is None else which]
            if len(rows):
                drawn[name] = self._lines(rows, colour)
        self.ax_.axvline(self.k + 0.5, color=DARK, linestyle="--", linewidth=1)
        self._label(table)
        if check_bool(legend, "legend"):
            add_legend_above(self.ax_, list(drawn.values()), list(drawn))
        return self

    def _lines(self, rows: pd.DataFrame, colour: str) -> Any:
        self.ax_.hlines(rows.index, rows["rank_low"], rows["rank_high"], colors=colour)
        return self.ax_.plot(rows["rank"], rows.index, "o", color=colour, ms=5)[0]

    def _label(self, table: pd.DataFrame) -> None:
        if names_fit(self.ax_.yaxis, len(table)):
            shares = table["top_k"].map("{:.0%}".format)
            names = [
                f"{name} ({share})"
                for name, share in zip(table["feature"], shares, strict=True)
            ]
            name_ticks(self.ax_.yaxis, names)
            self.ax_.set_ylabel(f"feature (in the first {self.k})")
        else:
            self.ax_.set_ylabel("feature (order of the mean ranks)")
        whole_numbers(self.ax_.xaxis)
        self.ax_.set_ylim(len(table) - 0.4, -0.6)
        self.ax_.set_xlabel(
            f"rank of the mean rank\n{self.confidence_level:.0%} sets, all together: resampling error"
        )

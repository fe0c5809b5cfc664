"""How often the halves of two cohorts select the features that differ most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skstab._checks import check_bool, check_int
from skstab.inspection._plotting import (
    COLOURS,
    DARK,
    PALE,
    add_legend_above,
    figure_and_axes,
    height_of,
    name_ticks,
    names_fit,
)

if TYPE_CHECKING:
    import pandas as pd

    from skstab.model_selection import CohortComparison

_COLUMNS = ["feature", "first", "second", "pvalue"]
_LEVEL = 0.05


class CohortComparisonDisplay:
    """One line for each feature: the shares of halves of two cohorts that select it.

    Parameters
    ----------
    table : DataFrame
        One row per line, with the columns that `frame` describes.
    cohorts : sequence of two str, default=("first", "second")
        Labels of the cohorts.
    note : str, default=""
        A note that is written above the picture.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    skstab.model_selection.compare_cohorts : What it shows.

    Notes
    -----
    A dark line is a feature that differs by the permuted labels, at the level of 5% for all features together. Pale
    lines are differences that sampling alone explains, or of which nothing else is known.

    Examples
    --------
    >>> import pandas as pd
    >>> from skstab.inspection import CohortComparisonDisplay
    >>> lines = [("TP53", 1.0, 0.1, 0.02), ("MYC", 0.8, 0.9, 1.0)]
    >>> table = pd.DataFrame(lines, columns=["feature", "first", "second", "pvalue"])
    >>> CohortComparisonDisplay(table, cohorts=("Leeds", "Lyon")).frame().shape
    (2, 4)
    """

    def __init__(
        self,
        table: pd.DataFrame,
        *,
        cohorts: tuple[Any, Any] = ("first", "second"),
        note: str = "",
    ) -> None:
        missing = set(_COLUMNS).difference(getattr(table, "columns", ()))
        if missing:
            raise ValueError(
                f"table must be a DataFrame with columns {_COLUMNS}, it lacks {sorted(missing)}"
            )
        self.table = table
        self.cohorts = cohorts
        self.note = note

    @classmethod
    def from_cohorts(cls, found: CohortComparison, *, top_k: int = 15) -> Self:
        """Show a comparison of cohorts.

        Parameters
        ----------
        found : CohortComparison
            What :func:`~skstab.model_selection.compare_cohorts` returns.
        top_k : int, default=15
            How many features to show, those that differ most; features that no half selects are left out.

        Returns
        -------
        display : CohortComparisonDisplay
            The display, not drawn yet.
        """
        check_int(top_k, "top_k")
        if not (hasattr(found, "between") and hasattr(found, "within")):
            raise TypeError(
                f"found must be a CohortComparison, got {type(found).__name__}"
            )
        first, second = found.runs
        names = {f"frequency_{first}": "first", f"frequency_{second}": "second"}
        table = found.frame().rename(columns=names).reset_index()
        selected = table[["first", "second"]].max(axis=1) > 0
        stabilities = (
            f"stability within {found.within:.2f}, between {found.between:.2f}"
        )
        return cls(
            table.loc[selected, _COLUMNS].head(top_k),
            cohorts=(first, second),
            note=f"{found.verdict}\n{stabilities}",
        )

    def frame(self) -> pd.DataFrame:
        """Tabulate the lines.

        Returns
        -------
        table : DataFrame
            From top to bottom: the `feature`, the share of halves of the `first` and of the `second` cohort that select
            it, and the adjusted `pvalue` of the difference, NaN where labels were not permuted.
        """
        return self.table[_COLUMNS].reset_index(drop=True)

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw the features.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        legend : bool, default=True
            Whether to name the cohorts.

        Returns
        -------
        self : CohortComparisonDisplay
            With `ax_` and `figure_`.
        """
        table = self.frame()
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, height_of(len(table) + 2)))
        places = np.arange(len(table))
        colours = np.where(table["pvalue"] <= _LEVEL, DARK, PALE)
        ends = (table["first"], table["second"])
        self.ax_.hlines(places, *ends, colors=colours.tolist(), linewidth=2)
        drawn = [
            self.ax_.plot(shares, places, marker, color=colour, markersize=7)[0]
            for shares, marker, colour in zip(ends, "os", COLOURS, strict=False)
        ]
        self.ax_.tick_params(axis="y", length=0)
        if names_fit(self.ax_.yaxis, len(table)):
            name_ticks(self.ax_.yaxis, table["feature"].tolist())
        label = "share of halves that select it"
        self.ax_.set_xlabel(f"{label}\n{self.note}".strip(), parse_math=False)
        self.ax_.set_ylabel("feature")
        self.ax_.set(xlim=(-0.04, 1.04), ylim=(len(table) - 0.4, -0.6))
        if check_bool(legend, "legend"):
            add_legend_above(self.ax_, drawn, list(map(str, self.cohorts)))
        return self

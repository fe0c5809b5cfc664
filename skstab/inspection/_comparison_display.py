"""Comparison of selectors: stabilities and their paired differences."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skstab._checks import naming
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
    stability_label,
)
from skstab.inspection._sources import check_comparison
from skstab.metrics import get_measure

if TYPE_CHECKING:
    import pandas as pd

    from skstab.metrics import Measure
    from skstab.model_selection import SelectorComparison

_COLUMNS = ["kind", "selector", "reference", "estimate", "low", "high", "pvalue"]
_LEVEL = 0.05
_MOST_PAIRS = 45  # of ten selectors: more lines can't be named


class StabilityComparisonDisplay:
    """A forest plot of selectors: the stability of each above, the paired differences between them below.

    Parameters
    ----------
    table : DataFrame
        One row for each line of the plot, with the columns that `frame` describes.
    measure : str, default=None
        Name of the measure, for the label of the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    Notes
    -----
    Selectors that ran on the same resamples are compared by the differences within these: two stabilities can differ
    significantly although their own intervals overlap. The intervals are at 95% each; p-values are adjusted for the
    number of pairs (Holm), and a difference with an adjusted p-value below 0.05 is filled.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from skstab.inspection import StabilityComparisonDisplay
    >>> from skstab.model_selection import BootstrapSplit, compare_selectors
    >>> X, y = make_classification(n_informative=3, n_redundant=0, random_state=0)
    >>> selectors = {f"best {k}": make_pipeline(SelectKBest(k=k), LogisticRegression()) for k in (3, 8)}
    >>> comparison = compare_selectors(selectors, X, y, cv=BootstrapSplit(20, random_state=0))
    >>> display = StabilityComparisonDisplay.from_comparison(comparison)
    >>> display.frame()[["kind", "selector", "estimate"]].round(2)
             kind selector  estimate
    0   stability   best 3      0.53
    1   stability   best 8      0.31
    2  difference   best 3      0.22
    """

    def __init__(self, table: pd.DataFrame, *, measure: str | None = None) -> None:
        missing = set(_COLUMNS).difference(getattr(table, "columns", ()))
        if missing:
            raise ValueError(
                f"table must be a DataFrame with columns {_COLUMNS}, it lacks {sorted(missing)}"
            )
        self.table = table
        self.measure = measure

    @classmethod
    def from_comparison(
        cls, comparison: SelectorComparison, *, reference: str | None = None
    ) -> Self:
        """Show a comparison of selectors.

        Parameters
        ----------
        comparison : SelectorComparison
            What :func:`~skstab.model_selection.compare_selectors` returns.
        reference : str, default=None
            Show only the differences from this selector; None shows those of all pairs, or, with more than ten
            selectors, the differences from the most stable one.

        Returns
        -------
        display : StabilityComparisonDisplay
            The display, not drawn yet.
        """
        import pandas as pd

        check_comparison(comparison)
        measure = get_measure(comparison.measure)
        stabilities = _stabilities(comparison, measure)
        names = list(stabilities["selector"])
        if reference is None and len(names) * (len(names) - 1) > 2 * _MOST_PAIRS:
            reference = names[0]
        pairs = _pairs(names, reference)
        table = pd.concat(
            [stabilities, _differences(comparison, pairs)], ignore_index=True
        )
        return cls(table, measure=measure.name)

    def frame(self) -> pd.DataFrame:
        """Tabulate the lines of the plot.

        Returns
        -------
        table : DataFrame
            From top to bottom: the `kind` of line, "stability" of a `selector` or "difference" of its stability from
            that of a `reference`; the `estimate` with the ends `low` and `high` of its 95% interval; and the adjusted
            `pvalue` of a difference.
        """
        return self.table[_COLUMNS].reset_index(drop=True)

    def plot(self, ax: Any = None) -> Self:
        """Draw the forest plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None makes a figure.

        Returns
        -------
        self : StabilityComparisonDisplay
            With `ax_` and `figure_`.
        """
        table = self.frame()
        is_difference = table["kind"].eq("difference").to_numpy()
        # An empty line separates the two.
        places = np.arange(len(table)) + is_difference
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, height_of(len(table) + 1)))
        self._draw_stabilities(table[~is_difference], places[~is_difference])
        self._draw_differences(table[is_difference], places[is_difference])
        self._label(table, places)
        return self

    def _draw_stabilities(self, table: pd.DataFrame, places: np.ndarray) -> None:
        self._points(table, places, "o", COLOURS[0], COLOURS[0])

    def _draw_differences(self, table: pd.DataFrame, places: np.ndarray) -> None:
        if table.empty:
            return
        self.ax_.axhline(places[0] - 1, color=GREY, linewidth=0.8)
        self.ax_.vlines(
            0, places[0] - 1, places[-1] + 1, color=DARK, linestyle="--", linewidth=1
        )
        is_clear = (table["pvalue"] < _LEVEL).to_numpy()
        for rows, fill in ((is_clear, DARK), (~is_clear, "white")):
            if rows.any():
                self._points(table[rows], places[rows], "D", DARK, fill)
        if not names_fit(self.ax_.yaxis, places[-1] + 1):
            return
        for place, pvalue in zip(places, table["pvalue"], strict=True):
            text = "p < 0.001" if pvalue < 0.001 else f"p = {pvalue:.3f}"
            self.ax_.text(
                1.02,
                place,
                text,
                transform=self.ax_.get_yaxis_transform(),
                va="center",
                fontsize="small",
            )

    def _points(
        self,
        table: pd.DataFrame,
        places: np.ndarray,
        marker: str,
        colour: str,
        fill: str,
    ) -> None:
        self.ax_.errorbar(
            table["estimate"],
            places,
            xerr=error_lengths(table, "estimate", "low", "high"),
            fmt=marker,
            color=colour,
            markerfacecolor=fill,
            markersize=5.5,
            elinewidth=1.3,
            capsize=2.5,
        )

    def _label(self, table: pd.DataFrame, places: np.ndarray) -> None:
        names = [""] * (places[-1] + 1)
        for place, row in zip(places, table.itertuples(), strict=True):
            names[place] = _line_name(row)
        self.ax_.tick_params(axis="y", length=0)
        if names_fit(self.ax_.yaxis, len(names)):
            name_ticks(self.ax_.yaxis, names, width=32)
        more = ", and its differences" if len(names) > len(table) else ""
        self.ax_.set_xlabel(
            stability_label(self.measure, about="resampling error", more=more),
            parse_math=False,
        )
        self.ax_.set_ylim(places[-1] + 0.6, -0.6)


def _line_name(row: Any) -> str:
    if row.kind == "stability":
        return shorten(row.selector)
    return f"{shorten(row.selector, 14)} − {shorten(row.reference, 14)}"


def _stabilities(comparison: SelectorComparison, measure: Measure) -> pd.DataFrame:
    """Stabilities of the selectors, the most stable first."""
    found = comparison.frame().sort_values(
        "stability", ascending=not measure.higher_is_better, kind="stable"
    )
    ends = {"stability": "estimate", "stability_low": "low", "stability_high": "high"}
    table = found[list(ends)].rename(columns=ends).reset_index()
    table.insert(0, "kind", "stability")
    table.insert(2, "reference", None)
    return table.assign(pvalue=np.nan)


def _pairs(selectors: list[str], reference: str | None) -> list[tuple[str, str]]:
    if reference is None:
        return list(combinations(selectors, 2))
    with naming("reference"):
        is_known = reference in selectors
    if not is_known:
        raise ValueError(
            f"reference must be one of the selectors {selectors}, got {reference!r}"
        )
    return [(name, reference) for name in selectors if name != reference]


def _differences(
    comparison: SelectorComparison, pairs: list[tuple[str, str]]
) -> pd.DataFrame:
    import pandas as pd

    pvalues = comparison.pvalues("stability")
    found = {pair: comparison.difference(*pair) for pair in pairs}
    rows = [
        ("difference", a, b, it.difference, it.low, it.high, pvalues.loc[a, b])
        for (a, b), it in found.items()
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)

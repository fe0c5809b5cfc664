"""How well independent halves agree, against chance and against bootstraps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skstab._checks import check_bool
from skstab.inspection._plotting import (
    COLOURS,
    DARK,
    GREY,
    add_legend_above,
    figure_and_axes,
    stability_label,
)

if TYPE_CHECKING:
    import pandas as pd

    from skstab.model_selection import SelectorAssessment

_COLUMNS = ["kind", "n_rows", "stability", "low", "high"]
_NAMES = {
    "halves": "independent samples",
    "bootstraps": "bootstraps",
    "chance": "permuted targets",
}


class ReplicationDisplay:
    """The stability of independent samples by their size, beside that of bootstraps and of permuted targets.

    Parameters
    ----------
    table : DataFrame
        One row per point, with the columns that `frame` describes.
    measure : str, default=None
        Name of the measure, for the label of the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    skstab.model_selection.assess_selector : The assessment that it shows.

    Notes
    -----
    The curve ends at half of the rows: no data set holds two independent samples of its full size. Bootstraps of the
    full size share rows, and their agreement can be higher or lower than that of independent samples. The intervals of
    independent samples are about other data, that of the bootstraps is about the resampling error.

    Examples
    --------
    >>> import pandas as pd
    >>> from skstab.inspection import ReplicationDisplay
    >>> points = [("halves", 25, 0.3, 0.1, 0.5), ("halves", 50, 0.5, 0.3, 0.7), ("bootstraps", 100, 0.6, 0.55, 0.65)]
    >>> table = pd.DataFrame(points, columns=["kind", "n_rows", "stability", "low", "high"])
    >>> ReplicationDisplay(table).frame().shape
    (3, 5)
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
    def from_assessment(cls, assessment: SelectorAssessment) -> Self:
        """Show an assessment of a selector.

        Parameters
        ----------
        assessment : SelectorAssessment
            What :func:`~skstab.model_selection.assess_selector` returns.

        Returns
        -------
        display : ReplicationDisplay
            The display, not drawn yet.
        """
        import pandas as pd

        if not hasattr(assessment, "curve"):
            raise TypeError(
                f"assessment must be a SelectorAssessment, got {type(assessment).__name__}"
            )
        curve = assessment.curve.reset_index().assign(kind="halves")
        whole, chance = assessment.agreement, assessment.chance.stabilities
        half = int(curve["n_rows"].max())
        points = pd.DataFrame(
            [
                ("bootstraps", 2 * half, whole.estimate, whole.low, whole.high),
                *(("chance", half, value, np.nan, np.nan) for value in chance),
            ],
            columns=_COLUMNS,
        )
        return cls(
            pd.concat([curve[_COLUMNS], points], ignore_index=True),
            measure=assessment.measure.name,
        )

    def frame(self) -> pd.DataFrame:
        """Tabulate the points.

        Returns
        -------
        table : DataFrame
            One row per point: its `kind` ("halves", "bootstraps" or "chance"), the number of rows `n_rows` of each
            sample, the `stability`, NaN where there was nothing to choose, and the ends `low` and `high` of its
            interval.
        """
        return self.table[_COLUMNS].reset_index(drop=True)

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        legend : bool, default=True
            Whether to name the points.

        Returns
        -------
        self : ReplicationDisplay
            With `ax_` and `figure_`.
        """
        self.figure_, self.ax_ = figure_and_axes(ax)
        table = self.frame()
        drawn = {}
        styles = {
            "chance": ("x", GREY),
            "bootstraps": ("s", COLOURS[1]),
            "halves": ("-o", COLOURS[0]),
        }
        for kind, (fmt, colour) in styles.items():
            rows = table[table["kind"] == kind].sort_values("n_rows")
            if len(rows):
                drawn[_NAMES[kind]] = self._points(rows, fmt, colour)
        self.ax_.axhline(0, color=DARK, linewidth=0.8, linestyle=":")
        self.ax_.set_xlabel("rows in each sample")
        about = "other data; of bootstraps: resampling error"
        self.ax_.set_ylabel(
            stability_label(self.measure, about=about), parse_math=False
        )
        if check_bool(legend, "legend"):
            add_legend_above(self.ax_, list(drawn.values()), list(drawn))
        return self

    def _points(self, rows: pd.DataFrame, fmt: str, colour: str) -> Any:
        unknown = rows[
            rows["stability"].isna() & np.isfinite(rows[["low", "high"]]).all(axis=1)
        ]
        self.ax_.vlines(
            unknown["n_rows"],
            unknown["low"],
            unknown["high"],
            colors=colour,
            linewidth=1.2,
        )
        lengths = np.abs(
            rows[["low", "high"]].to_numpy().T - rows["stability"].to_numpy()
        )
        return self.ax_.errorbar(
            rows["n_rows"],
            rows["stability"],
            yerr=None if np.isnan(lengths).all() else lengths,
            fmt=fmt,
            color=colour,
            capsize=3,
            linewidth=1.2,
            markersize=5,
        )

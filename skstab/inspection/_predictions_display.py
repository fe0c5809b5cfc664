"""What the runs predict for each row, against the model fitted on all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from skstab._checks import check_bool
from skstab.inspection._plotting import (
    COLOURS,
    DARK,
    add_legend_above,
    figure_and_axes,
    shorten,
)

if TYPE_CHECKING:
    import pandas as pd

    from skstab.model_selection import PredictionStability

_COLUMNS = ["row", "predicted", "mean", "range_from", "range_to", "flips"]


class PredictionInstabilityDisplay:
    """For each row the range in which the runs predict it, against the prediction of the model fitted on all rows.

    Parameters
    ----------
    table : DataFrame
        One row for each row of the data, with the columns that `frame` describes.
    outcome : str, default="prediction"
        What is predicted, for the labels of the axes.
    reference : str, default="model of all rows"
        Whose prediction `predicted` is.
    note : str, default=""
        A note that is written into the picture.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    skstab.model_selection.prediction_stability : What it shows.

    Notes
    -----
    The prediction instability plot of [1]_. Points on the diagonal would be predicted by all runs as by the model of
    all rows. The ranges show how runs on resamples differ; they are not confidence intervals of a row's risk.

    References
    ----------
    .. [1] Riley, R. D. and Collins, G. S. (2023). Stability of clinical prediction models developed using statistical
       or machine learning methods. Biometrical Journal 65.

    Examples
    --------
    >>> import pandas as pd
    >>> from skstab.inspection import PredictionInstabilityDisplay
    >>> rows = [(0, 0.2, 0.25, 0.1, 0.4, 0.0), (1, 0.6, 0.55, 0.3, 0.7, 0.2)]
    >>> columns = ["row", "predicted", "mean", "range_from", "range_to", "flips"]
    >>> PredictionInstabilityDisplay(pd.DataFrame(rows, columns=columns)).frame().shape
    (2, 6)
    """

    def __init__(
        self,
        table: pd.DataFrame,
        *,
        outcome: str = "prediction",
        reference: str = "model of all rows",
        note: str = "",
    ) -> None:
        missing = set(_COLUMNS).difference(getattr(table, "columns", ()))
        if missing:
            raise ValueError(
                f"table must be a DataFrame with columns {_COLUMNS}, it lacks {sorted(missing)}"
            )
        self.table = table
        self.outcome = outcome
        self.reference = reference
        self.note = note

    @classmethod
    def from_predictions(cls, found: PredictionStability) -> Self:
        """Show how stable predictions are.

        Parameters
        ----------
        found : PredictionStability
            What :func:`~skstab.model_selection.prediction_stability` returns, of probabilities or numbers.

        Returns
        -------
        display : PredictionInstabilityDisplay
            The display, not drawn yet.
        """
        kind = getattr(found, "kind", None)
        if kind not in ("probabilities", "numbers"):
            raise TypeError(
                f"found must be a PredictionStability of probabilities or numbers, got {found!r}"
            )
        table = found.frame().dropna(subset="mean").reset_index()
        known = table["full"].notna().all()
        table["predicted"] = table["full" if known else "mean"]
        if kind == "numbers":
            table["flips"] = np.nan
        note = f"correlation of two runs {found.agreement:.2f}, MAPE {found.mape:.2g}"
        if found.lists is not None:
            note = f"stability of the lists {found.lists.estimate:.2f}\n{note}"
        return cls(
            table[_COLUMNS],
            outcome=_outcome(table, kind, found.predictions.ndim),
            reference="model of all rows" if known else "mean of the runs",
            note=f"{found.verdict}\n{note}",
        )

    def frame(self) -> pd.DataFrame:
        """Tabulate the rows.

        Returns
        -------
        table : DataFrame
            For each `row` of the data what the model of all rows (or, where that is not known, the mean of the runs)
            has `predicted`; the `mean` of the runs, the ends `range_from` and `range_to` between which 95% of them lie,
            and the share of runs that `flips` its class, NaN for numbers.
        """
        return self.table[_COLUMNS].reset_index(drop=True)

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw the rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        legend : bool, default=True
            Whether to say which rows change their class, and to write the note.

        Returns
        -------
        self : PredictionInstabilityDisplay
            With `ax_` and `figure_`.
        """
        self.figure_, self.ax_ = figure_and_axes(ax, (5.6, 5.6))
        table = self.frame()
        flips = (table["flips"] > 0).to_numpy()
        names = {
            "same class in all runs": ~flips,
            "another class in some": flips,
        }
        drawn = {
            name: self._draw(table[rows], COLOURS[number])
            for number, (name, rows) in enumerate(names.items())
            if rows.any()
        }
        self.ax_.axline((0, 0), slope=1, color=DARK, linewidth=0.8, linestyle=":")
        self.ax_.set_xlabel(f"{self.outcome}, {self.reference}", parse_math=False)
        self.ax_.set_ylabel(
            f"{self.outcome}, runs: mean and range of 95%", parse_math=False
        )
        if check_bool(legend, "legend"):
            if table["flips"].notna().any():
                add_legend_above(self.ax_, list(drawn.values()), list(drawn))
            place = {"transform": self.ax_.transAxes, "ha": "right", "va": "bottom"}
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8}
            style = {"fontsize": "small", "bbox": box, "parse_math": False}
            self.ax_.text(0.99, 0.01, self.note, **place, **style)
        return self

    def _draw(self, rows: pd.DataFrame, colour: str) -> Any:
        ends = (rows["predicted"], rows["range_from"], rows["range_to"])
        self.ax_.vlines(*ends, colors=colour, linewidth=0.8, alpha=0.4)
        style = {"color": colour, "markersize": 3, "linewidth": 0}
        return self.ax_.plot(rows["predicted"], rows["mean"], "o", **style)[0]


def _outcome(table: pd.DataFrame, kind: str, n_dimensions: int) -> str:
    if kind == "numbers":
        return "prediction"
    if n_dimensions > 2:
        return "probability of the class predicted"
    return f"probability of class {shorten(table['outcome'].iloc[0])}"

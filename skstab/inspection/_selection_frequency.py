"""How often each feature is selected, and how precise that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from skstab._checks import check_bool, check_level, naming
from skstab._statistics import wilson_interval
from skstab._typing import Estimator, NamesLike, RunsLike
from skstab.inspection._plotting import (
    COLOURS,
    DARK,
    GREY,
    PALE,
    add_legend_above,
    check_count,
    check_order,
    check_share,
    error_lengths,
    figure_and_axes,
    height_of,
    name_ticks,
    names_fit,
    number_label,
    whole_numbers,
)
from skstab.inspection._sources import (
    as_runs,
    check_mask,
    fitted_cv,
    most_frequent,
    names_of,
    runs_of,
)

if TYPE_CHECKING:
    import pandas as pd


class SelectionFrequencyDisplay:
    """The share of runs that select each feature, with its interval, from the most frequent feature down.

    Parameters
    ----------
    frequencies : array-like of shape (n_features,)
        Share of the runs that selected each feature.
    n_runs : int
        Number of runs.
    feature_names : array-like of str, default=None
        Names of the features; None uses x0, x1, …
    selected : array-like of bool of shape (n_features,), default=None
        Which features are selected in the end; None means those that reach the threshold.
    threshold : float, default=None
        Frequency from which a feature counts as selected; None draws no line.
    confidence_level : float, default=0.95
        Level of Wilson's intervals.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    Notes
    -----
    The intervals are about the finite number of runs on this data set, not about other data sets.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. Journal of
       Machine Learning Research 18. Figures 9 and 11.

    Examples
    --------
    >>> from skstab.inspection import SelectionFrequencyDisplay
    >>> supports = [[1, 0, 1], [1, 0, 0], [1, 1, 0], [1, 0, 0]]
    >>> display = SelectionFrequencyDisplay.from_supports(supports, threshold=0.5)
    >>> display.frame().round(2)
      feature  column  frequency   low  high  selected
    0      x0       0       1.00  0.51   1.0      True
    1      x1       1       0.25  0.05   0.7     False
    2      x2       2       0.25  0.05   0.7     False
    """

    def __init__(
        self,
        frequencies: ArrayLike,
        n_runs: int,
        *,
        feature_names: NamesLike | None = None,
        selected: ArrayLike | None = None,
        threshold: float | None = None,
        confidence_level: float = 0.95,
    ) -> None:
        self.frequencies = _check_frequencies(frequencies)
        self.n_runs = check_count(n_runs, "n_runs")
        self.feature_names = names_of(None, len(self.frequencies), feature_names)
        self.selected = check_mask(selected, "selected", len(self.frequencies))
        self.threshold = check_share(threshold, "threshold")
        self.confidence_level = check_level(confidence_level)

    @classmethod
    def from_estimator(
        cls, estimator: Estimator | RunsLike, *, confidence_level: float = 0.95
    ) -> Self:
        """Show the runs of a fitted :class:`~skstab.model_selection.StabilityCV`.

        Parameters
        ----------
        estimator : StabilityCV or Runs
            Fitted; also a pipeline or a search that contains one. Its threshold is drawn if it selects by
            `support="consensus"`.
        confidence_level : float, default=0.95
            Level of Wilson's intervals.

        Returns
        -------
        display : SelectionFrequencyDisplay
            The display, not drawn yet.
        """
        runs, cv = runs_of(estimator), fitted_cv(estimator)
        return cls(
            runs.frequencies().to_numpy(),
            len(runs),
            feature_names=runs.feature_names,
            selected=runs.refit if cv is None else cv.get_support(),
            threshold=cv.threshold
            if cv is not None and cv.support == "consensus"
            else None,
            confidence_level=confidence_level,
        )

    @classmethod
    def from_supports(
        cls,
        supports: RunsLike,
        *,
        feature_names: NamesLike | None = None,
        threshold: float | None = None,
        confidence_level: float = 0.95,
    ) -> Self:
        """Show a table of supports.

        Parameters
        ----------
        supports : array-like, sparse matrix or DataFrame of shape (n_runs, n_features)
            Which features each run selected.
        feature_names : array-like of str, default=None
            Names of the features; None uses those of a DataFrame, or x0, x1, …
        threshold : float, default=None
            Frequency from which a feature counts as selected.
        confidence_level : float, default=0.95
            Level of Wilson's intervals.

        Returns
        -------
        display : SelectionFrequencyDisplay
            The display, not drawn yet.
        """
        runs = as_runs(supports, feature_names=feature_names)
        return cls(
            runs.frequencies().to_numpy(),
            len(runs),
            feature_names=runs.feature_names,
            threshold=threshold,
            confidence_level=confidence_level,
        )

    def frame(self) -> pd.DataFrame:
        """Tabulate the features.

        Returns
        -------
        table : DataFrame
            One row per feature, the most frequent first: `feature`, its `column`, its `frequency` with the ends `low`
            and `high` of the interval, and whether it is `selected` in the end (missing if unknown).
        """
        import pandas as pd

        order = most_frequent(self.frequencies)
        frequency = self.frequencies[order]
        low, high = wilson_interval(frequency, self.n_runs, self.confidence_level)
        return pd.DataFrame(
            {
                "feature": self.feature_names[order],
                "column": order,
                "frequency": frequency,
                "low": low,
                "high": high,
                "selected": self._selected()[order],
            }
        )

    def _selected(self) -> np.ndarray:
        if self.selected is not None:
            return self.selected
        if self.threshold is not None:
            return np.asarray(self.frequencies >= self.threshold)
        return np.full(len(self.frequencies), None)

    def plot(
        self,
        ax: Any = None,
        *,
        top_k: int | None = 30,
        order: Literal["frequency", "column"] = "frequency",
        legend: bool = True,
    ) -> Self:
        """Draw the frequencies.

        Features are named from top to bottom; if there are too many for that, they are numbered from left to right.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None makes a figure.
        top_k : int, default=30
            Draw only this number of the most frequent features; None draws all.
        order : {"frequency", "column"}, default="frequency"
            Whether the most frequent features come first, or features are in the order of the data.
        legend : bool, default=True
            Whether to draw a legend of filled and hollow points, if there are both.

        Returns
        -------
        self : SelectionFrequencyDisplay
            With `ax_` and `figure_`.
        """
        check_order(order)
        table = self.frame().head(check_count(top_k, "top_k", optional=True))
        if order == "column":
            table = table.sort_values("column", ignore_index=True)
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, height_of(len(table))))
        named = names_fit(self.ax_.yaxis, len(table))
        self._draw(table, named, legend)
        if named:
            self._name(table)
        else:
            self._number(table, order)
        return self

    def _draw(self, table: pd.DataFrame, named: bool, legend: bool) -> None:
        is_out = table["selected"].eq(False)
        kinds = {"selected": (~is_out, COLOURS[0]), "not selected": (is_out, "white")}
        drawn = {
            name: self._points(table[rows], fill, named)
            for name, (rows, fill) in kinds.items()
            if rows.any()
        }
        if self.threshold is not None:
            line = self.ax_.axvline if named else self.ax_.axhline
            drawn["threshold"] = line(
                self.threshold, color=DARK, linestyle="--", linewidth=1
            )
        if check_bool(legend, "legend") and len(drawn) > 1:
            add_legend_above(self.ax_, list(drawn.values()), list(drawn))

    def _points(self, table: pd.DataFrame, fill: str, named: bool) -> Any:
        lengths = error_lengths(table, "frequency", "low", "high")
        places = (
            (table["frequency"], table.index)
            if named
            else (table.index, table["frequency"])
        )
        points = self.ax_.errorbar(
            *places,
            **{"xerr" if named else "yerr": lengths},
            fmt="o",
            markersize=4.5 if named else 2.5,
            color=COLOURS[0],
            markerfacecolor=fill,
            ecolor=GREY if named else PALE,
            elinewidth=1 if named else 0.6,
        )
        points.lines[2][0].set_rasterized(not named)
        return points

    def _name(self, table: pd.DataFrame) -> None:
        n_drawn, n_features = len(table), len(self.frequencies)
        name_ticks(self.ax_.yaxis, list(table["feature"]))
        is_all = n_drawn == n_features
        label = (
            self._frequency_label()
            if is_all
            else f"{self._frequency_label()}\n{self._others(table)}"
        )
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(n_drawn - 0.4, -0.6), xlabel=label)
        self.ax_.set_ylabel(
            "feature"
            if is_all
            else f"the {n_drawn} most frequent of {n_features} features"
        )

    def _others(self, table: pd.DataFrame) -> str:
        """Summary of the features that are not drawn."""
        rest = np.delete(self.frequencies, table["column"])
        if not rest.any():
            return f"never selected: the {len(rest)} others"
        return f"the {len(rest)} others: at most {rest.max():.2f}; {np.sum(rest == 0)} of them never selected"

    def _number(self, table: pd.DataFrame, order: str) -> None:
        self.ax_.set(
            ylim=(-0.02, 1.02),
            xlim=(-0.6, len(table) - 0.4),
            ylabel=self._frequency_label(),
        )
        whole_numbers(self.ax_.xaxis)
        self.ax_.set_xlabel(number_label(order, len(table), len(self.frequencies)))

    def _frequency_label(self) -> str:
        return f"selection frequency in {self.n_runs} runs\nintervals: resampling error"


def _check_frequencies(frequencies: Any) -> np.ndarray:
    with naming("frequencies"):
        values = np.asarray(frequencies, dtype=np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(
            f"frequencies must be a list of shares from 0 to 1, got {frequencies!r}"
        )
    return values

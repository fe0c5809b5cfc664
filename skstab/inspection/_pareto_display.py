"""Score against stability of the candidates of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from skstab._checks import check_bool, check_int
from skstab.inspection._plotting import (
    COLOURS,
    DARK,
    GREY,
    PALE,
    add_legend_beside,
    error_lengths,
    figure_and_axes,
    points_along,
    stability_label,
)
from skstab.model_selection import ParetoRefit, search_table

if TYPE_CHECKING:
    import pandas as pd

_MARKS = {
    "knee": "s",
    "weighted": "D",
    "one_se": "^",
    "sparsest": "p",
    "tolerance": "v",
}
_MARK_SIZE, _STEP = 6.5, 10.0  # points
_MANY = 40  # candidates beyond which error bars cover everything


class ParetoFrontDisplay:
    """The candidates of a search by score and stability, their Pareto front, and what each strategy would choose.

    Parameters
    ----------
    cv_results : dict or DataFrame
        The `cv_results_` of a search with several metrics, or any table with columns of these names.
    score : str
        Name of the metric for which more is better, such as "accuracy" or "neg_log_loss".
    stability : str
        Name of the measure of stability.
    chosen : int, default=None
        Index of the candidate that was chosen.
    gamma : float, default=0.5
        Weight of the score for the strategy "weighted".
    tolerance : float, default=None
        Loss of score that the strategy "tolerance" accepts; None leaves it out.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    skstab.model_selection.ParetoRefit : The strategies.

    Notes
    -----
    Error bars are 95% intervals. In a search with one split they are those of the resamples within it: the jackknife
    interval of the measure, which is about the resampling error, and 1.96 standard errors of the score, which are about
    other data. In a search with several splits they are 1.96 standard errors between these. If the table has neither,
    there are no error bars.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. Journal of
       Machine Learning Research 18. Figures 7 and 8.
    .. [2] Hamer, V. and Dupont, P. (2021). An importance weighted feature selection stability measure. Journal of
       Machine Learning Research 22. Figure 11.

    Examples
    --------
    >>> from skstab.inspection import ParetoFrontDisplay
    >>> results = {"accuracy": [0.90, 0.88, 0.80, 0.85], "nogueira": [0.4, 0.7, 0.75, 0.6]}
    >>> display = ParetoFrontDisplay.from_results(results, "accuracy", "nogueira")
    >>> display.frame()[["score", "stability", "on_front", "strategies"]]
               score  stability  on_front      strategies
    candidate
    0           0.90       0.40      True
    1           0.88       0.70      True  knee, weighted
    2           0.80       0.75      True
    3           0.85       0.60     False
    """

    def __init__(
        self,
        cv_results: Any,
        score: str,
        stability: str,
        *,
        chosen: int | None = None,
        gamma: float = 0.5,
        tolerance: float | None = None,
    ) -> None:
        self.cv_results = cv_results
        self.score = score
        self.stability = stability
        self.chosen = None if chosen is None else check_int(chosen, "chosen", least=0)
        self.gamma = gamma
        self.tolerance = tolerance

    @classmethod
    def from_search(
        cls,
        search: Any,
        score: str,
        stability: str,
        *,
        gamma: float | None = None,
        tolerance: float | None = None,
    ) -> Self:
        """Show a fitted search.

        Parameters
        ----------
        search : GridSearchCV, RandomizedSearchCV or similar
            Fitted, with the metrics `score` and `stability`.
        score : str
            Name of the metric for which more is better.
        stability : str
            Name of the measure of stability.
        gamma : float, default=None
            Weight of the score for the strategy "weighted"; None uses that of the :class:`ParetoRefit` of the search,
            or 0.5.
        tolerance : float, default=None
            Loss of score that the strategy "tolerance" accepts; None uses that of the :class:`ParetoRefit` of the
            search, or leaves the strategy out.

        Returns
        -------
        display : ParetoFrontDisplay
            The display, not drawn yet.
        """
        if not hasattr(search, "cv_results_"):
            raise TypeError(
                f"search must be a fitted search with cv_results_, got {type(search).__name__}"
            )
        refit = getattr(search, "refit", None)
        if not isinstance(refit, ParetoRefit) or (refit.score, refit.stability) != (
            score,
            stability,
        ):
            refit = ParetoRefit(score, stability)
        return cls(
            search.cv_results_,
            score,
            stability,
            chosen=getattr(search, "best_index_", None),
            gamma=refit.gamma if gamma is None else gamma,
            tolerance=refit.tolerance if tolerance is None else tolerance,
        )

    @classmethod
    def from_results(
        cls,
        cv_results: Any,
        score: str,
        stability: str,
        *,
        chosen: int | None = None,
        gamma: float = 0.5,
        tolerance: float | None = None,
    ) -> Self:
        """Show a table of results.

        Parameters
        ----------
        cv_results : dict or DataFrame
            The `cv_results_` of a search, or any table with columns of these names.
        score : str
            Name of the metric for which more is better.
        stability : str
            Name of the measure of stability.
        chosen : int, default=None
            Index of the candidate that was chosen.
        gamma : float, default=0.5
            Weight of the score for the strategy "weighted".
        tolerance : float, default=None
            Loss of score that the strategy "tolerance" accepts; None leaves it out.

        Returns
        -------
        display : ParetoFrontDisplay
            The display, not drawn yet.
        """
        return cls(
            cv_results,
            score,
            stability,
            chosen=chosen,
            gamma=gamma,
            tolerance=tolerance,
        )

    def frame(self) -> pd.DataFrame:
        """Tabulate the candidates.

        Returns
        -------
        table : DataFrame
            One row per candidate, by its number: `score` and `stability` with the ends of their intervals (`score_low`,
            `score_high`, `stability_low`, `stability_high`), whether it is `on_front`, whether the search has `chosen`
            it, the names of the `strategies` that would choose it, and its `params` if the table has them. The
            stability of a candidate that selects nothing is missing, and it is not drawn.
        """
        options = {"gamma": self.gamma, "tolerance": self.tolerance}
        table = search_table(
            self.cv_results, score=self.score, stability=self.stability, **options
        )
        table["chosen"] = False if self.chosen is None else table.index == self.chosen
        return table

    def plot(
        self, ax: Any = None, *, legend: bool = True, name: str | None = None
    ) -> Self:
        """Draw the candidates.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None makes a figure.
        legend : bool, default=True
            Whether to draw a legend of the marks.
        name : str, default=None
            Draw the front alone, in a colour of its own and under this name in the legend: for the fronts of several
            searches on the same axes. None draws all candidates and choices.

        Returns
        -------
        self : ParetoFrontDisplay
            With `ax_` and `figure_`.
        """
        self.figure_, self.ax_ = figure_and_axes(ax)
        table = self.frame().dropna(subset=["score", "stability"])
        if name is None:
            drawn = self._draw_candidates(table) | self._draw_choices(table)
            self._widen(table)
        else:
            drawn = self._draw_front(table, name)
        self.ax_.locator_params(axis="x", nbins=6)  # scores have many digits
        self.ax_.set_xlabel(self.score, parse_math=False)
        self.ax_.set_ylabel(
            stability_label(self.stability, about=self._about(table)), parse_math=False
        )
        if check_bool(legend, "legend"):
            add_legend_beside(self.ax_, list(drawn.values()), list(drawn))
        return self

    def _about(self, table: pd.DataFrame) -> str | None:
        """What the intervals of the stability are about, None where there are none."""
        if table["stability_low"].isna().all():
            return None
        is_nested = f"split1_test_{self.stability}" in self.cv_results
        return "outer folds" if is_nested else "resampling error"

    def _draw_front(self, table: pd.DataFrame, name: str) -> dict[str, Any]:
        """Draw the front in the next colour; return all fronts of the axes by name."""
        handles, names = self.ax_.get_legend_handles_labels()
        front = table[table["on_front"]].sort_values(
            ["score", "stability"], ascending=[True, False]
        )
        colour = COLOURS[len(names) % len(COLOURS)]
        drawn = self._points(front, "-o", colour, colour, 3)
        drawn.set_label(str(name))
        return dict(zip(names, handles, strict=True)) | {str(name): drawn}

    def _draw_candidates(self, table: pd.DataFrame) -> dict[str, Any]:
        front = table[table["on_front"]].sort_values(
            ["score", "stability"], ascending=[True, False]
        )
        others = table[~table["on_front"]]
        drawn = {"Pareto front": self._points(front, "-o", COLOURS[0], COLOURS[0], 3)}
        if len(others) > _MANY:
            (drawn["other candidates"],) = self.ax_.plot(
                others["score"],
                others["stability"],
                "o",
                color=GREY,
                alpha=0.5,
                markersize=3,
                zorder=2,
            )
        elif len(others):
            drawn["other candidates"] = self._points(others, "o", GREY, PALE, 2)
        return drawn

    def _points(
        self, table: pd.DataFrame, fmt: str, colour: str, ecolour: str, order: int
    ) -> Any:
        return self.ax_.errorbar(
            table["score"],
            table["stability"],
            xerr=error_lengths(table, "score", "score_low", "score_high"),
            yerr=error_lengths(table, "stability", "stability_low", "stability_high"),
            fmt=fmt,
            color=colour,
            ecolor=(ecolour, 0.5),
            elinewidth=1,
            linewidth=1.2,
            markersize=4.5,
            zorder=order,
        )

    def _draw_choices(self, table: pd.DataFrame) -> dict[str, Any]:
        drawn = {}
        if table["chosen"].any():
            drawn["chosen"] = self._mark(table[table["chosen"]], "*", 13, COLOURS[4])
        details = {
            "weighted": f" (γ = {self.gamma:g})",
            "tolerance": f" ({self.tolerance})",
        }
        for strategy, marker in _MARKS.items():
            rows = table[table["strategies"].str.contains(strategy)]
            if len(rows):
                # No candidate is on the upper right of the front: the marks stand there in a row.
                named = rows["strategies"].iloc[0].split(", ")
                rank = [one for one in named if one in _MARKS].index(strategy)
                name = strategy + details.get(strategy, "")
                drawn[name] = self._mark(
                    rows, marker, _MARK_SIZE, "white", shift=_STEP * (rank + 1)
                )
        return drawn

    def _mark(
        self,
        rows: pd.DataFrame,
        marker: str,
        size: float,
        fill: str,
        *,
        shift: float = 0.0,
    ) -> Any:
        """Mark a candidate, or stand beside it by a number of points to the right, and a step above it."""
        from matplotlib.lines import Line2D
        from matplotlib.transforms import offset_copy

        style: dict[str, Any] = {
            "marker": marker,
            "linestyle": "none",
            "color": DARK,
            "markerfacecolor": fill,
        }
        above = _STEP if shift else 0.0
        where = offset_copy(
            self.ax_.transData, self.ax_.figure, x=shift, y=above, units="points"
        )
        self.ax_.plot(
            rows["score"],
            rows["stability"],
            markersize=size,
            zorder=4,
            transform=where,
            **style,
        )
        return Line2D([], [], markersize=7, **style)

    def _widen(self, table: pd.DataFrame) -> None:
        """Make room for the marks beside and above the candidates on the upper right."""
        n_marks = (
            table["strategies"].str.split(", ").str.len().max()
            if table["strategies"].any()
            else 0
        )
        for axis, steps in (("x", n_marks + 1), ("y", 2)):
            get, put = (
                getattr(self.ax_, f"get_{axis}lim"),
                getattr(self.ax_, f"set_{axis}lim"),
            )
            low, high = get()
            name = "score" if axis == "x" else "stability"
            room = (
                steps
                * _STEP
                / points_along(getattr(self.ax_, f"{axis}axis"))
                * (high - low)
            )
            put(low, max(high, table[name].max() + room))

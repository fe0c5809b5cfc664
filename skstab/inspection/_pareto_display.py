"""Score against stability of the candidates of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import ndtri

from skstab.inspection._plotting import COLOURS, DARK, GREY, PALE, add_legend_beside, error_lengths, figure_and_axes
from skstab.model_selection._pareto import STRATEGIES, ParetoRefit, column, front_of, objectives, standard_error

if TYPE_CHECKING:
    import pandas as pd

_MARKS = {"knee": "s", "weighted": "D", "one_se": "^", "tolerance": "v"}
_LEVEL = 0.95


class ParetoFrontDisplay:
    """The candidates of a search by score and stability, those that no other one beats, and what to choose of them.

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
    interval of the measure, and 1.96 standard errors of the score, which take the resamples for independent. In a
    search with several splits they are 1.96 standard errors between these. Where the table has neither there are none.

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
        self.chosen = chosen
        self.gamma = gamma
        self.tolerance = tolerance

    @classmethod
    def from_search(
        cls, search: Any, score: str, stability: str, *, gamma: float | None = None, tolerance: float | None = None
    ) -> Self:
        """Show a fitted search.

        Parameters
        ----------
        search : GridSearchCV, RandomizedSearchCV or the like
            Fitted, with the metrics `score` and `stability`.
        score : str
            Name of the metric for which more is better.
        stability : str
            Name of the measure of stability.
        gamma : float, default=None
            Weight of the score for the strategy "weighted"; None takes that of the :class:`ParetoRefit` of the search,
            or 0.5.
        tolerance : float, default=None
            Loss of score that the strategy "tolerance" accepts; None takes that of the :class:`ParetoRefit` of the
            search, or leaves the strategy out.

        Returns
        -------
        display : ParetoFrontDisplay
            The display, not drawn yet.
        """
        if not hasattr(search, "cv_results_"):
            raise TypeError(f"search must be a fitted search with cv_results_, got {type(search).__name__}")
        refit = getattr(search, "refit", None)
        if not isinstance(refit, ParetoRefit) or (refit.score, refit.stability) != (score, stability):
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
        return cls(cv_results, score, stability, chosen=chosen, gamma=gamma, tolerance=tolerance)

    def frame(self) -> pd.DataFrame:
        """Tabulate the candidates.

        Returns
        -------
        table : DataFrame
            One row a candidate, by its number: `score` and `stability` with the ends of their intervals (`score_low`,
            `score_high`, `stability_low`, `stability_high`), whether it is `on_front`, whether the search has `chosen`
            it, the names of the `strategies` that would choose it, and its `params` where the table has them. The
            stability of a candidate that selects nothing is missing, and it is not drawn.
        """
        import pandas as pd

        a, s = objectives(self.cv_results, self.score, self.stability)
        numbers = np.arange(len(a))
        table = pd.DataFrame({"score": a, "stability": s}, index=pd.Index(numbers, name="candidate"))
        for axis, name in (("score", self.score), ("stability", self.stability)):
            table[f"{axis}_low"], table[f"{axis}_high"] = _interval(self.cv_results, name)
        table["on_front"] = np.isin(numbers, front_of(a, s))
        table["chosen"] = False if self.chosen is None else numbers == self.chosen
        choices = self._choices()
        table["strategies"] = [", ".join(name for name in choices if choices[name] == i) for i in numbers]
        if "params" in self.cv_results:
            table["params"] = list(self.cv_results["params"])
        return table

    def _choices(self) -> dict[str, int]:
        """Candidate that each strategy chooses, of those strategies that can be told."""
        left_out = set()
        if self.tolerance is None:
            left_out.add("tolerance")
        if _standard_error(self.cv_results, self.score) is None:
            left_out.add("one_se")
        options = {"gamma": self.gamma, "tolerance": self.tolerance}
        return {
            strategy: ParetoRefit(self.score, self.stability, strategy=strategy, **options)(self.cv_results)
            for strategy in STRATEGIES
            if strategy not in left_out
        }

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw the candidates.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        legend : bool, default=True
            Whether to name the marks.

        Returns
        -------
        self : ParetoFrontDisplay
            With `ax_` and `figure_`.
        """
        self.figure_, self.ax_ = figure_and_axes(ax)
        table = self.frame().dropna(subset=["score", "stability"])
        drawn = self._draw_candidates(table) | self._draw_choices(table)
        self.ax_.set_xlabel(self.score, parse_math=False)
        self.ax_.set_ylabel(f"stability ({self.stability})", parse_math=False)
        if legend:
            add_legend_beside(self.ax_, list(drawn.values()), list(drawn))
        return self

    def _draw_candidates(self, table: pd.DataFrame) -> dict[str, Any]:
        front = table[table["on_front"]].sort_values(["score", "stability"], ascending=[True, False])
        others = table[~table["on_front"]]
        drawn = {"Pareto front": self._points(front, "-o", COLOURS[0], COLOURS[0], 3)}
        if len(others):
            drawn["other candidates"] = self._points(others, "o", GREY, PALE, 2)
        return drawn

    def _points(self, table: pd.DataFrame, fmt: str, colour: str, ecolour: str, order: int) -> Any:
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
            drawn["chosen"] = self._mark(table[table["chosen"]], "*", 12, COLOURS[4])
        details = {"weighted": f" (γ = {self.gamma:g})", "tolerance": f" ({self.tolerance})"}
        for rank, strategy in enumerate(_MARKS):
            rows = table[table["strategies"].str.contains(strategy)]
            if len(rows):
                # One around the other where strategies agree.
                name = strategy + details.get(strategy, "")
                drawn[name] = self._mark(rows, _MARKS[strategy], 11 + 3.5 * rank, "none")
        return drawn

    def _mark(self, rows: pd.DataFrame, marker: str, size: float, fill: str) -> Any:
        from matplotlib.lines import Line2D

        style = {"marker": marker, "linestyle": "none", "color": DARK, "markerfacecolor": fill}
        self.ax_.plot(rows["score"], rows["stability"], markersize=size, zorder=4, **style)
        return Line2D([], [], markersize=7, **style)


def _interval(cv_results: Any, name: str) -> tuple[Any, Any]:
    """Ends of the 95% interval of a metric: its own where the search has one split, or from the standard error."""
    if f"split1_test_{name}" not in cv_results and _has(cv_results, f"{name}_low"):
        return column(cv_results, f"{name}_low"), column(cv_results, f"{name}_high")
    value, error = column(cv_results, name), _standard_error(cv_results, name)
    half = np.full_like(value, np.nan) if error is None else ndtri((1 + _LEVEL) / 2) * error
    return value - half, value + half


def _standard_error(cv_results: Any, name: str) -> Any:
    known = f"split1_test_{name}" in cv_results or _has(cv_results, f"{name}_se")
    return standard_error(cv_results, name) if known else None


def _has(cv_results: Any, name: str) -> bool:
    return name in cv_results or f"mean_test_{name}" in cv_results

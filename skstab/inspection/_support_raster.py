"""What every run selected, cell by cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skstab.inspection._plotting import (
    DARK,
    GREY,
    check_count,
    check_order,
    figure_and_axes,
    name_ticks,
    names_fit,
    number_label,
    shorten_all,
    whole_numbers,
)
from skstab.inspection._sources import by_name, fitted_runs, most_frequent, names_of
from skstab.metrics._tables import check_supports

if TYPE_CHECKING:
    import pandas as pd

_PIXELS_PER_COLUMN = 2


class SupportRasterDisplay:
    """Which features every run selected: features from left to right, runs from top to bottom.

    A stable selector draws vertical lines. Several selectors, or the outer folds of one, are stacked.

    Parameters
    ----------
    supports : array-like, sparse matrix or DataFrame of shape (n_runs, n_features), or dict of them
        Which features each run selected; a dict holds the tables of several selectors or folds, on the same features,
        by name.
    feature_names : array-like of str, default=None
        Names of the features; None takes those of the first DataFrame, or x0, x1, …

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    References
    ----------
    .. [1] Kalousis, A., Prados, J. and Hilario, M. (2007). Stability of feature selection algorithms: a study on
       high-dimensional spaces. Knowledge and Information Systems 12. Section 4.2.

    Examples
    --------
    >>> from skstab.inspection import SupportRasterDisplay
    >>> tables = {"filter": [[1, 1, 0], [1, 1, 0]], "lasso": [[1, 0, 0], [0, 1, 1]]}
    >>> SupportRasterDisplay.from_supports(tables).frame().query("selector == 'lasso'")
      selector  run feature  column
    4    lasso    0      x0       0
    5    lasso    1      x1       1
    6    lasso    1      x2       2
    """

    def __init__(self, supports: Any, *, feature_names: Any = None) -> None:
        tables = by_name(supports, "runs")
        self.supports = {name: check_supports(table, name=f"supports of {name!r}") for name, table in tables.items()}
        widths = {table.n_features for table in self.supports.values()}
        if len(widths) > 1:
            raise ValueError(f"supports must all have the same features, got tables of {sorted(widths)} columns")
        first = next(iter(tables.values()))
        self.feature_names = names_of(first, widths.pop(), feature_names)

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Show the runs of one or several fitted :class:`~skstab.model_selection.StabilityCV`.

        Parameters
        ----------
        estimator : StabilityCV or dict of them
            Fitted, on the same features; also pipelines or searches that hold one.

        Returns
        -------
        display : SupportRasterDisplay
            The display, not drawn yet.
        """
        runs = {name: fitted_runs(fitted) for name, fitted in by_name(estimator, "runs").items()}
        first = next(iter(runs.values()))
        names = names_of(first, first.supports_.shape[1])
        return cls({name: fitted.supports_ for name, fitted in runs.items()}, feature_names=names)

    @classmethod
    def from_supports(cls, supports: Any, *, feature_names: Any = None) -> Self:
        """Show one or several tables of supports.

        Parameters
        ----------
        supports : array-like, sparse matrix or DataFrame of shape (n_runs, n_features), or dict of them
            Which features each run selected.
        feature_names : array-like of str, default=None
            Names of the features; None takes those of the first DataFrame, or x0, x1, …

        Returns
        -------
        display : SupportRasterDisplay
            The display, not drawn yet.
        """
        return cls(supports, feature_names=feature_names)

    @classmethod
    def from_comparison(cls, comparison: Any) -> Self:
        """Show all selectors of a comparison.

        Parameters
        ----------
        comparison : SelectorComparison
            What :func:`~skstab.model_selection.compare_selectors` returns.

        Returns
        -------
        display : SupportRasterDisplay
            The display, not drawn yet.
        """
        return cls.from_estimator(comparison.runs)

    def frame(self) -> pd.DataFrame:
        """Tabulate the dark cells.

        Returns
        -------
        table : DataFrame
            One row for each feature that a run selected: `selector`, `run` (from 0), `feature` and its `column`.
        """
        import pandas as pd

        return pd.concat([self._selected(name) for name in self.supports], ignore_index=True)

    def _selected(self, name: str) -> pd.DataFrame:
        import pandas as pd

        runs, columns = self.supports[name].csr.tocoo().coords
        return pd.DataFrame({"selector": name, "run": runs, "feature": self.feature_names[columns], "column": columns})

    def plot(
        self, ax: Any = None, *, order: Literal["column", "frequency"] = "column", top_k: int | None = None
    ) -> Self:
        """Draw the raster.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        order : {"column", "frequency"}, default="column"
            Whether features stand as in the data, or the most frequently selected ones first.
        top_k : int, default=None
            Draw only so many of the most frequently selected features; None draws all.

        Returns
        -------
        self : SupportRasterDisplay
            With `ax_` and `figure_`.

        Notes
        -----
        Where there are more features than the axes have room for, neighbours share a column of the picture, which is
        dark where at least one of them is selected.
        """
        columns = self._columns(order, check_count(top_k, "top_k", optional=True))
        self.figure_, self.ax_ = figure_and_axes(ax)
        self._draw_cells(columns)
        self._name_features(columns, order)
        self._name_blocks()
        return self

    def _columns(self, order: str, top_k: int | None) -> np.ndarray:
        check_order(order)
        columns = most_frequent(sum(table.counts for table in self.supports.values()))[:top_k]
        return np.sort(columns) if order == "column" else columns

    def _draw_cells(self, columns: np.ndarray) -> None:
        from matplotlib.colors import ListedColormap

        room = int(self.ax_.get_window_extent().width) // _PIXELS_PER_COLUMN
        picture = self._picture(columns, max(min(room, len(columns)), 1))
        self.ax_.imshow(
            picture,
            cmap=ListedColormap(["white", DARK]),
            vmin=0,
            vmax=1,
            aspect="auto",
            interpolation="nearest",
            extent=(-0.5, len(columns) - 0.5, len(picture) - 0.5, -0.5),
        )

    def _picture(self, columns: np.ndarray, width: int) -> np.ndarray:
        """Dark cells, so many columns wide; neighbours are joined by "or", since a lone cell must not vanish."""
        place = np.full(len(self.feature_names), -1)
        place[columns] = np.arange(len(columns)) * width // len(columns)
        ends = self._ends()
        start = dict(zip(self.supports, [0, *ends], strict=False))
        table = self.frame()
        rows = table["selector"].map(start).to_numpy(dtype=np.int64) + table["run"].to_numpy()
        places = place[table["column"]]
        picture = np.zeros((ends[-1], width), dtype=bool)
        picture[rows[places >= 0], places[places >= 0]] = True
        return picture

    def _ends(self) -> np.ndarray:
        return np.cumsum([table.n_runs for table in self.supports.values()])

    def _name_features(self, columns: np.ndarray, order: str) -> None:
        if names_fit(self.ax_.xaxis, len(columns)):
            name_ticks(self.ax_.xaxis, self.feature_names[columns])
            self.ax_.vlines(np.arange(1, len(columns)) - 0.5, *self.ax_.get_ylim(), color="white", linewidth=1)
            self.ax_.set_xlabel("feature")
            return
        whole_numbers(self.ax_.xaxis)
        self.ax_.set_xlabel(number_label(order, len(columns), len(self.feature_names)))

    def _name_blocks(self) -> None:
        if len(self.supports) == 1:
            whole_numbers(self.ax_.yaxis)
            self.ax_.set_ylabel("run")
            return
        ends = self._ends()
        for end in ends[:-1]:
            self.ax_.axhline(end - 0.5, color=GREY, linewidth=0.8)
        middles = ends - np.diff(ends, prepend=0) / 2 - 0.5
        self.ax_.set_yticks(middles, shorten_all(list(self.supports)), parse_math=False)
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.set_ylabel("runs")

"""What every run selected, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.sparse import coo_array

from skstab._typing import Estimator, NamesLike, RunsLike
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
from skstab.inspection._sources import (
    as_runs,
    by_name,
    check_comparison,
    most_frequent,
    runs_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from skstab.model_selection import SelectorComparison

_PIXELS_PER_COLUMN = 2


class SupportRasterDisplay:
    """Which features every run selected: features from left to right, runs from top to bottom.

    A stable selector gives vertical lines. Several selectors, or the outer folds of one, are stacked.

    Parameters
    ----------
    supports : array-like, sparse matrix or DataFrame of shape (n_runs, n_features), or dict of them
        Which features each run selected; a dict holds the tables of several selectors or folds, on the same features,
        by name.
    feature_names : array-like of str, default=None
        Names of the features; None uses those of the first DataFrame, or x0, x1, …

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

    def __init__(
        self,
        supports: RunsLike | Mapping[str, RunsLike],
        *,
        feature_names: NamesLike | None = None,
    ) -> None:
        tables = by_name(supports, "runs", "supports")
        self.runs = {
            name: as_runs(
                table, feature_names=feature_names, name=f"supports of {name!r}"
            )
            for name, table in tables.items()
        }
        widths = {runs.n_features for runs in self.runs.values()}
        if len(widths) > 1:
            raise ValueError(
                f"supports must all have the same features, got tables of {sorted(widths)} columns"
            )
        self.feature_names = next(iter(self.runs.values())).feature_names

    @classmethod
    def from_estimator(
        cls, estimator: Estimator | RunsLike | Mapping[str, Estimator | RunsLike]
    ) -> Self:
        """Show the runs of one or several fitted :class:`~skstab.model_selection.StabilityCV`.

        Parameters
        ----------
        estimator : StabilityCV, Runs or dict of them
            Fitted, on the same features; also pipelines or searches that contain one.

        Returns
        -------
        display : SupportRasterDisplay
            The display, not drawn yet.
        """
        return cls(
            {
                name: runs_of(fitted)
                for name, fitted in by_name(estimator, "runs", "estimator").items()
            }
        )

    @classmethod
    def from_supports(
        cls,
        supports: RunsLike | Mapping[str, RunsLike],
        *,
        feature_names: NamesLike | None = None,
    ) -> Self:
        """Show one or several tables of supports.

        Parameters
        ----------
        supports : array-like, sparse matrix or DataFrame of shape (n_runs, n_features), or dict of them
            Which features each run selected.
        feature_names : array-like of str, default=None
            Names of the features; None uses those of the first DataFrame, or x0, x1, …

        Returns
        -------
        display : SupportRasterDisplay
            The display, not drawn yet.
        """
        return cls(supports, feature_names=feature_names)

    @classmethod
    def from_comparison(cls, comparison: SelectorComparison) -> Self:
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
        check_comparison(comparison)
        return cls.from_estimator(comparison.runs)

    def frame(self) -> pd.DataFrame:
        """Tabulate the dark cells.

        Returns
        -------
        table : DataFrame
            One row for each feature that a run selected: `selector`, `run` (from 0), `feature` and its `column`.
        """
        import pandas as pd

        return pd.concat(
            [self._selected(name) for name in self.runs], ignore_index=True
        )

    def _selected(self, name: str) -> pd.DataFrame:
        import pandas as pd

        runs, columns = coo_array(self.runs[name].tables.supports).coords
        return pd.DataFrame(
            {
                "selector": name,
                "run": runs,
                "feature": self.feature_names[columns],
                "column": columns,
            }
        )

    def plot(
        self,
        ax: Any = None,
        *,
        order: Literal["column", "frequency"] = "column",
        top_k: int | None = 40,
    ) -> Self:
        """Draw the raster.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None makes a figure.
        order : {"column", "frequency"}, default="column"
            Whether features are in the order of the data, or the most frequently selected ones first.
        top_k : int, default=40
            Draw this number of the most frequently selected features; a bar on the right shows how many of the others
            each run selected. None draws all.

        Returns
        -------
        self : SupportRasterDisplay
            With `ax_` and `figure_`.

        Notes
        -----
        If there are more features than can be named, they are numbered; if there are more than the axes can show,
        neighbours share a column of the picture, which is dark where at least one of them is selected.
        """
        columns = self._columns(order, check_count(top_k, "top_k", optional=True))
        self.figure_, self.ax_ = figure_and_axes(ax)
        self._draw_cells(columns)
        self._name_features(columns, order)
        self._name_blocks()
        return self

    def _columns(self, order: str, top_k: int | None) -> np.ndarray:
        check_order(order)
        counts = sum(
            np.asarray(runs.tables.supports.sum(axis=0)).ravel()
            for runs in self.runs.values()
        )
        columns = most_frequent(counts)[:top_k]
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
        """Dark cells, on this number of columns; neighbours are joined by "or", so that a single cell stays visible."""
        place = np.full(len(self.feature_names), -1)
        place[columns] = np.arange(len(columns)) * width // len(columns)
        ends = self._ends()
        start = dict(zip(self.runs, [0, *ends], strict=False))
        table = self.frame()
        rows = (
            table["selector"].map(start).to_numpy(dtype=np.int64)
            + table["run"].to_numpy()
        )
        places = place[table["column"]]
        picture = np.zeros((ends[-1], width), dtype=bool)
        picture[rows[places >= 0], places[places >= 0]] = True
        return picture

    def _ends(self) -> np.ndarray:
        return np.cumsum([len(runs) for runs in self.runs.values()])

    def _name_features(self, columns: np.ndarray, order: str) -> None:
        n, n_features = len(columns), len(self.feature_names)
        width = 0 if n == n_features else 2 + n // 8
        if not names_fit(self.ax_.xaxis, n + width):
            whole_numbers(self.ax_.xaxis)
            self.ax_.set_xlabel(number_label(order, n, n_features))
            return
        names: list[Any] = list(self.feature_names[columns])
        places: list[float] = list(range(n))
        self.ax_.vlines(
            np.arange(1, n) - 0.5, *self.ax_.get_ylim(), color="white", linewidth=1
        )
        if width:
            names.append(self._draw_others(columns, width))
            places.append(n + (width - 1) / 2)
        name_ticks(self.ax_.xaxis, names, places=places)
        self.ax_.set_xlabel("feature")

    def _draw_others(self, columns: np.ndarray, width: int) -> str:
        """Draw how many other features each run selected, as wide as this number of columns, and return the label."""
        tables = [runs.tables.supports for runs in self.runs.values()]
        counts = np.concatenate(
            [table.sum(axis=1) - table[:, columns].sum(axis=1) for table in tables]
        )
        n, most = len(columns), max(int(counts.max()), 1)
        self.ax_.barh(
            np.arange(len(counts)),
            counts / most * (width - 0.5),
            left=n,
            height=1.0,
            color=GREY,
        )
        self.ax_.axvline(n - 0.25, color=GREY, linewidth=0.8)
        self.ax_.set(xlim=(-0.5, n + width - 0.5), ylim=(len(counts) - 0.5, -0.5))
        return f"≤ {most} of {len(self.feature_names) - n} others"

    def _name_blocks(self) -> None:
        if len(self.runs) == 1:
            whole_numbers(self.ax_.yaxis)
            self.ax_.set_ylabel("run")
            return
        ends = self._ends()
        for end in ends[:-1]:
            self.ax_.axhline(end - 0.5, color=GREY, linewidth=0.8)
        middles = ends - np.diff(ends, prepend=0) / 2 - 0.5
        self.ax_.set_yticks(middles, shorten_all(list(self.runs)), parse_math=False)
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.set_ylabel("runs")

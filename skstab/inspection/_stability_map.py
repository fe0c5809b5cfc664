"""The feature stability map of Hamer and Dupont."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array

from skstab._checks import check_bool
from skstab._matrices import as_masks, as_weights
from skstab._typing import Estimator, MatrixLike, NamesLike, RunsLike
from skstab.inspection._plotting import (
    FILLS,
    N_STYLES,
    PALE,
    add_legend_beside,
    check_count,
    figure_and_axes,
    height_of,
    whole_numbers,
)
from skstab.inspection._sources import most_frequent, names_of, runs_of
from skstab.metrics import stability_score

if TYPE_CHECKING:
    import pandas as pd

_MANY = 100  # rows beyond which lines between them would cover everything
_SYMBOLS = {
    "nogueira": r"$\phi$",
    "pearson": r"$\phi_{pears}$",
    "importance_weighted": r"$\phi_{iw}$",
}


class FeatureStabilityMapDisplay:
    """Which features each run uses, and how much: one row per run, one colour per feature.

    Every run is a row of rectangles as wide as the share of each feature in the importances of that run. Features are
    sorted from left to right by how often they are selected: a feature that is both frequent and important is a wide
    band on the left.

    Parameters
    ----------
    importances : array-like, sparse matrix or DataFrame of shape (n_runs, n_features)
        Importances of the features in each run; signs are ignored.
    supports : array-like, sparse matrix or DataFrame of shape (n_runs, n_features), default=None
        Which features each run selected; None means those with an importance.
    feature_names : array-like of str, default=None
        Names of the features; None uses those of a DataFrame, or x0, x1, …
    like : FeatureStabilityMapDisplay, default=None
        Another map: features that have a colour in both have the same colour.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    References
    ----------
    .. [1] Hamer, V. and Dupont, P. (2021). An importance weighted feature selection stability measure. Journal of
       Machine Learning Research 22. Section 3.

    Examples
    --------
    >>> from skstab.inspection import FeatureStabilityMapDisplay
    >>> importances = [[3, 1, 0], [2, 0, 2], [4, 4, 0]]
    >>> display = FeatureStabilityMapDisplay.from_importances(importances, feature_names=["age", "dose", "sex"])
    >>> display.frame().query("run == 1")[["run", "feature", "frequency", "share", "left"]].round(2)
       run feature  frequency  share  left
    2    1     age       1.00    0.5   0.0
    3    1     sex       0.33    0.5   0.5
    """

    def __init__(
        self,
        importances: MatrixLike,
        *,
        supports: MatrixLike | None = None,
        feature_names: NamesLike | None = None,
        like: FeatureStabilityMapDisplay | None = None,
    ) -> None:
        self.importances = abs(csr_array(as_weights(importances, "importances")))
        self.feature_names = names_of(
            importances, self.importances.shape[1], feature_names
        )
        self.supports = as_masks(
            self.importances != 0 if supports is None else supports, "supports"
        )
        if self.supports.shape != self.importances.shape:
            shapes = f"{self.importances.shape}, got {self.supports.shape}"
            raise ValueError(f"supports must have the shape of importances, {shapes}")
        if not isinstance(like, FeatureStabilityMapDisplay | None):
            raise TypeError(
                f"like must be a FeatureStabilityMapDisplay or None, got {type(like).__name__}"
            )
        self.like = like

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator | RunsLike,
        *,
        like: FeatureStabilityMapDisplay | None = None,
    ) -> Self:
        """Map the runs of a fitted :class:`~skstab.model_selection.StabilityCV`.

        Parameters
        ----------
        estimator : StabilityCV or Runs
            Fitted; also a pipeline or a search that contains one. If it has no importances, the features that a run
            selected have equal shares of its row.
        like : FeatureStabilityMapDisplay, default=None
            Another map: features that have a colour in both have the same colour.

        Returns
        -------
        display : FeatureStabilityMapDisplay
            The display, not drawn yet.
        """
        runs = runs_of(estimator)
        supports, importances, _ = runs.tables
        weights = supports if importances is None else importances
        return cls(
            weights, supports=supports, feature_names=runs.feature_names, like=like
        )

    @classmethod
    def from_importances(
        cls,
        importances: MatrixLike,
        *,
        supports: MatrixLike | None = None,
        feature_names: NamesLike | None = None,
        like: FeatureStabilityMapDisplay | None = None,
    ) -> Self:
        """Map a table of importances.

        Parameters
        ----------
        importances : array-like, sparse matrix or DataFrame of shape (n_runs, n_features)
            Importances of the features in each run; signs are ignored.
        supports : array-like, sparse matrix or DataFrame of shape (n_runs, n_features), default=None
            Which features each run selected; None means those with an importance.
        feature_names : array-like of str, default=None
            Names of the features; None uses those of a DataFrame, or x0, x1, …
        like : FeatureStabilityMapDisplay, default=None
            Another map: features that have a colour in both have the same colour.

        Returns
        -------
        display : FeatureStabilityMapDisplay
            The display, not drawn yet.
        """
        return cls(
            importances, supports=supports, feature_names=feature_names, like=like
        )

    def frame(self) -> pd.DataFrame:
        """Tabulate the rectangles.

        Returns
        -------
        table : DataFrame
            One row per rectangle, run by run from left to right: `run` (from 0), `feature`, `column`, its `rank` (0 for
            the most frequently selected feature; among ties the more important one comes first), the `frequency` of
            its selection, the `share` of the importances of the run, which is the width, and where it starts, `left`.
        """
        import pandas as pd

        runs, columns, shares = _shares(self.importances)
        rank = self._ranks(
            np.bincount(columns, weights=shares, minlength=len(self.feature_names))
        )
        order = np.lexsort((rank[columns], runs))
        runs, columns, shares = runs[order], columns[order], shares[order]
        table = pd.DataFrame(
            {
                "run": runs,
                "feature": self.feature_names[columns],
                "column": columns,
                "rank": rank[columns],
                "frequency": self._counts()[columns] / self.supports.shape[0],
                "share": shares,
            }
        )
        table["left"] = table.groupby("run")["share"].cumsum() - table["share"]
        return table

    def _counts(self) -> np.ndarray:
        return np.asarray(self.supports.sum(axis=0)).ravel()

    def _ranks(self, total_shares: Any) -> np.ndarray:
        rank = np.empty(len(total_shares), dtype=np.int64)
        rank[most_frequent(self._counts(), total_shares)] = np.arange(len(rank))
        return rank

    def plot(
        self,
        ax: Any = None,
        *,
        n_colours: int = 14,
        measures: bool = False,
        legend: bool = True,
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None makes a figure.
        n_colours : int, default=14
            Number of features, at most 28, with their own colour; the rest of a row is one grey rectangle.
        measures : bool, default=False
            Whether the title gives the stability of the sets (φ), of the importances (φ_pears) and of both (φ_iw).
        legend : bool, default=True
            Whether to draw a legend of the colours, next to the axes.

        Returns
        -------
        self : FeatureStabilityMapDisplay
            With `ax_` and `figure_`.
        """
        n_colours = check_count(n_colours, "n_colours", most=N_STYLES)
        self.figure_, self.ax_ = figure_and_axes(
            ax, (6.4, height_of(n_colours, least=4.8))
        )
        table = self.frame()
        coloured, rest = _split(table, n_colours)
        names = list(_in_rank_order(coloured))
        styles = self._styles(n_colours)
        artists = [
            _rectangles(part, **FILLS[styles[name]])
            for name, (_, part) in zip(names, coloured.groupby("rank"), strict=True)
        ]
        if len(rest):
            artists.append(_rectangles(rest, facecolor=PALE))
            n_others = table["column"].nunique() - len(names)
            names.append(f"{n_others} other{'s' * (n_others > 1)}")
        for artist in artists:
            self.ax_.add_collection(artist)
        self._label(measures)
        if check_bool(legend, "legend"):
            add_legend_beside(self.ax_, artists, names)
        return self

    def _styles(self, n_colours: int) -> dict[Any, int]:
        """Number of the style of each coloured feature, by name; those of the other map keep theirs."""
        styles = {} if self.like is None else self.like._styles(n_colours)
        names = _in_rank_order(self.frame().query("rank < @n_colours"))
        taken = [styles[name] for name in names if name in styles]
        # Styles of neither map first, then those that the other map gave to features that have no colour here.
        free = [number for number in range(N_STYLES) if number not in styles.values()]
        free += [number for number in range(N_STYLES) if number not in (*taken, *free)]
        return styles | dict(
            zip((name for name in names if name not in styles), free, strict=False)
        )

    def _label(self, measures: bool) -> None:
        self.ax_.set(
            xlim=(0, 1),
            ylim=(self.supports.shape[0] - 0.5, -0.5),
            xlabel="share of importance",
            ylabel="run",
        )
        whole_numbers(self.ax_.yaxis)
        if check_bool(measures, "measures"):
            self.ax_.set_title(
                ", ".join(
                    f"{_SYMBOLS[name]} = {self._stability(name):.2f}"
                    for name in _SYMBOLS
                ),
                fontsize="medium",
            )

    def _stability(self, measure: str) -> float:
        return stability_score(
            self.supports if measure == "nogueira" else self.importances,
            measure=measure,
        )


def _shares(importances: Any) -> tuple[Any, Any, Any]:
    """Run, column and share of every importance that is not zero."""
    entries = importances.tocoo()
    runs, columns = entries.coords
    totals = np.bincount(runs, weights=entries.data, minlength=importances.shape[0])
    return runs, columns, entries.data / totals[runs]


def _in_rank_order(table: pd.DataFrame) -> pd.Series:
    """Names of the features of a table of rectangles, one for each rank."""
    return table.drop_duplicates("rank").sort_values("rank")["feature"]


def _split(table: pd.DataFrame, n_colours: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rectangles of the first features, and one rectangle per run for all others together."""
    is_first = table["rank"] < n_colours
    rest = (
        table[~is_first]
        .groupby("run", as_index=False)
        .agg(left=("left", "min"), share=("share", "sum"))
    )
    return table[is_first], rest


def _rectangles(table: pd.DataFrame, **style: Any) -> Any:
    from matplotlib.collections import PolyCollection

    left, right = table["left"].to_numpy(), (table["left"] + table["share"]).to_numpy()
    top, bottom = table["run"].to_numpy() - 0.5, table["run"].to_numpy() + 0.5
    corners: Any = np.stack(
        [[left, left, right, right], [top, bottom, bottom, top]], axis=-1
    )
    width = 0.3 if len(table) <= _MANY else 0.0
    return PolyCollection(
        corners.transpose(1, 0, 2), edgecolor="white", linewidth=width, **style
    )

"""Which features stand for each other and which go together, as a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skstab._checks import check_bool
from skstab._matrices import group_codes
from skstab._typing import FloatArray, IndexArray, MatrixLike, RunsLike
from skstab.inspection._co_selection import CoSelection, co_selection
from skstab.inspection._plotting import (
    COLOURS,
    DARK,
    GREY,
    add_legend_above,
    check_count,
    figure_and_axes,
    name_ticks,
    names_fit,
    whole_numbers,
)
from skstab.inspection._sources import most_frequent, runs_of

if TYPE_CHECKING:
    import pandas as pd

_KINDS = {"substitutes": COLOURS[4], "companions": COLOURS[0]}
_LEAST_STRENGTH = 0.5  # of the colour of the weakest pair, so that it stays visible


class CoSelectionDisplay:
    """Pairs of features that runs select instead of each other, or together, as a matrix of two colours.

    Parameters
    ----------
    found : CoSelection
        What :func:`co_selection` returned.
    groups : array-like, default=None
        A label for each of its tested features: clusters of several of them are framed.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    co_selection : The tests behind the picture.

    Notes
    -----
    Only pairs that are substitutes or companions after the adjustment for all tested pairs are coloured, the darker the
    stronger their association; the diagonal is the darker the more often a feature is selected.

    Examples
    --------
    >>> from skstab.inspection import CoSelectionDisplay
    >>> from skstab.runs import Runs
    >>> sets = [["a", "c"], ["b", "c"], ["a"], ["b", "c"], ["a", "c"], ["b"]] * 5
    >>> display = CoSelectionDisplay.from_runs(Runs.from_sets(sets, features=["a", "b", "c"]))
    >>> display.frame()[["feature", "other", "together", "expected", "kind"]]
      feature other  together  expected         kind
    0       a     b       0.0      0.25  substitutes
    """

    def __init__(self, found: CoSelection, *, groups: ArrayLike | None = None) -> None:
        if not isinstance(found, CoSelection):
            raise TypeError(f"found must be a CoSelection, got {type(found).__name__}")
        self.found = found
        self.groups = (
            None if groups is None else group_codes(groups, len(found.frequencies))[1]
        )

    @classmethod
    def from_runs(
        cls,
        runs: RunsLike,
        X: MatrixLike | None = None,
        *,
        groups: ArrayLike | None = None,
        min_frequency: float = 0.05,
        level: float = 0.05,
    ) -> Self:
        """Show what runs select together.

        Parameters
        ----------
        runs : Runs, StabilityCV or search
            What runs selected, or a fitted object that holds runs.
        X : array-like or sparse matrix of shape (n_samples, n_features), default=None
            The data, for the correlations in `frame()`.
        groups : array-like of shape (n_features,), default=None
            A label for each feature of the runs, see :func:`feature_clusters`; clusters are framed.
        min_frequency : float, default=0.05
            The share of the runs from which on a feature is tested.
        level : float, default=0.05
            The level of the tests.

        Returns
        -------
        display : CoSelectionDisplay
            The display, not drawn yet.
        """
        source = runs_of(runs, "runs")
        found = co_selection(source, X, min_frequency=min_frequency, level=level)
        if groups is None:
            return cls(found)
        _, codes = group_codes(groups, source.n_features)
        return cls(found, groups=codes[found.columns])

    @classmethod
    def from_estimator(
        cls, estimator: RunsLike, X: MatrixLike | None = None, **options: Any
    ) -> Self:
        """Show the runs of a fitted :class:`~skstab.model_selection.StabilityCV`.

        Parameters
        ----------
        estimator : StabilityCV
            Fitted; also a pipeline or a search that contains one.
        X : array-like or sparse matrix of shape (n_samples, n_features), default=None
            The data, for the correlations in `frame()`.
        **options : dict
            Further parameters of `from_runs`.

        Returns
        -------
        display : CoSelectionDisplay
            The display, not drawn yet.
        """
        return cls.from_runs(runs_of(estimator), X, **options)

    def frame(self) -> pd.DataFrame:
        """Tabulate the pairs.

        Returns
        -------
        table : DataFrame
            As :meth:`CoSelection.frame`.
        """
        return self.found.frame()

    def plot(
        self, ax: Any = None, *, top_k: int | None = 50, legend: bool = True
    ) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None makes a figure.
        top_k : int, default=50
            Draw only this number of the tested features: those that have substitutes or companions, the clearest pairs
            first, then the most frequent others; None draws all.
        legend : bool, default=True
            Whether to name the colours and the frames.

        Returns
        -------
        self : CoSelectionDisplay
            With `ax_` and `figure_`.
        """
        order = self._order(check_count(top_k, "top_k", optional=True))
        side = min(max(4.4, 2.4 + 0.2 * len(order)), 9.0)
        self.figure_, self.ax_ = figure_and_axes(ax, (side, side))
        if order.size:
            self.ax_.imshow(
                self._picture(order), interpolation="nearest", aspect="equal"
            )
        else:
            self.ax_.text(
                0.5,
                0.5,
                "no feature comes and goes",
                ha="center",
                transform=self.ax_.transAxes,
            )
        frames = self._frame_clusters(order)
        self._name(order)
        if check_bool(legend, "legend"):
            self._add_legend(frames)
        return self

    # -- what is drawn -------------------------------------------------------------------------------------------------

    def _order(self, top_k: int | None) -> IndexArray:
        """Features that are in a pair, the clearest pairs first, then the most frequent others.

        Features of one pair, and all those of one cluster, are beside each other.
        """
        pairs = self.found.pairs[self.found.pairs["kind"] != "neither"]
        rank = np.full(len(self.found.columns), len(pairs))
        for name in ("column", "other_column"):
            np.minimum.at(
                rank,
                np.searchsorted(self.found.columns, pairs[name]),
                np.arange(len(pairs)),
            )
        chosen = most_frequent(-rank, self.found.frequencies)[:top_k]
        if self.groups is None:
            return chosen
        _, first, codes = np.unique(
            self.groups[chosen], return_index=True, return_inverse=True
        )
        return chosen[np.lexsort((np.arange(len(chosen)), first[codes]))]

    def _picture(self, order: IndexArray) -> FloatArray:
        """Colours of all cells: white, grey on the diagonal by the frequency, and the two kinds."""
        n, table = len(order), self.found.pairs
        picture = np.ones((n, n, 3))
        picture[np.arange(n), np.arange(n)] = _mixed(
            GREY, self.found.frequencies.to_numpy()[order]
        )
        row, column = (
            self._places(order, table[name]) for name in ("column", "other_column")
        )
        strength = _LEAST_STRENGTH + (1 - _LEAST_STRENGTH) * np.abs(
            table["association"].to_numpy()
        )
        for kind, colour in _KINDS.items():
            drawn = np.flatnonzero((row >= 0) & (column >= 0) & (table["kind"] == kind))
            at, by = row[drawn], column[drawn]
            picture[at, by] = picture[by, at] = _mixed(colour, strength[drawn])
        return picture

    def _places(self, order: IndexArray, columns: Any) -> IndexArray:
        """Where features stand in the picture, -1 where they do not."""
        place = np.full(len(self.found.columns), -1)
        place[order] = np.arange(len(order))
        return np.asarray(place[np.searchsorted(self.found.columns, columns)])

    def _frame_clusters(self, order: IndexArray) -> list[Any]:
        """Frame the clusters of several drawn features."""
        if self.groups is None:
            return []
        from matplotlib.patches import Rectangle

        starts = np.flatnonzero(np.diff(self.groups[order], prepend=-1))
        sizes = np.diff(starts, append=len(order))
        corners = [
            (start - 0.5, size)
            for start, size in zip(starts, sizes, strict=True)
            if size > 1
        ]
        line: dict[str, Any] = {
            "fill": False,
            "edgecolor": DARK,
            "linewidth": 1.0 if len(order) <= 60 else 0.5,
        }
        return [
            self.ax_.add_patch(Rectangle((corner, corner), size, size, **line))
            for corner, size in corners
        ]

    # -- in words ------------------------------------------------------------------------------------------------------

    def _name(self, order: IndexArray) -> None:
        n, n_tested = len(order), len(self.found.columns)
        label = "feature" if n == n_tested else f"{n} of {n_tested} features"
        self.ax_.set(xlabel="feature", ylabel=label)
        names = list(self.found.frequencies.index[order])
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            if n and names_fit(axis, n):
                name_ticks(axis, names)
            else:
                whole_numbers(axis)

    def _add_legend(self, frames: list[Any]) -> None:
        from matplotlib.patches import Patch

        named = {
            kind: Patch(color=colour)
            for kind, colour in (*_KINDS.items(), ("frequency", GREY))
        }
        if frames:
            named["cluster"] = Patch(fill=False, edgecolor=DARK)
        add_legend_above(self.ax_, list(named.values()), list(named))


def _mixed(colour: str, strength: FloatArray) -> FloatArray:
    """Mix a colour with white."""
    from matplotlib.colors import to_rgb

    return np.asarray(1 - strength[:, None] * (1 - np.array(to_rgb(colour))))

"""Selection probabilities along a path of regularisations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skstab._checks import check_bool, is_choice, naming
from skstab._typing import NamesLike
from skstab.inspection._plotting import (
    DARK,
    GREY,
    LINES,
    N_STYLES,
    PALE,
    add_legend_beside,
    check_count,
    check_share,
    figure_and_axes,
    height_of,
    log_scale_if_wide,
)
from skstab.inspection._sources import check_mask, most_frequent, names_of

if TYPE_CHECKING:
    import pandas as pd

_MANY = 200  # paths that would be a grey band
_ABOUT = {"selection stability": "resampling error", "replication": "other data"}
_STABILITY = ("value", "stability", "low", "high")


class StabilityPathDisplay:
    """The probability that each feature is selected, from strong to weak regularisation.

    Parameters
    ----------
    selection_path : array-like of shape (n_features, n_values)
        Probability of selection of each feature at each value of the parameter.
    param_values : array-like of shape (n_values,)
        Values of the parameter that regularises.
    param_name : str, default="regularisation"
        Its name.
    threshold : float, default=None
        Probability from which a feature is selected; None draws no line.
    selected : array-like of bool of shape (n_features,), default=None
        Which features are selected; None takes those that reach the threshold somewhere.
    feature_names : array-like of str, default=None
        Names of the features; None takes those of the rows of a DataFrame, or x0, x1, …
    stability : DataFrame, default=None
        Stability of the selection at each value, as `stability_path_` of a
        :class:`~skstab.feature_selection.StabilitySelection`: columns `value`, `stability`, `low` and `high`, and
        `replication` where it is known.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    References
    ----------
    .. [1] Meinshausen, N. and Bühlmann, P. (2010). Stability selection. Journal of the Royal Statistical Society B 72.

    Examples
    --------
    >>> from skstab.inspection import StabilityPathDisplay
    >>> path = [[0.2, 0.9, 1.0], [0.0, 0.1, 0.4]]
    >>> display = StabilityPathDisplay.from_path(path, [1.0, 0.1, 0.01], param_name="alpha", threshold=0.75)
    >>> display.frame().query("selected")
      feature  column  value  probability  selected
    0      x0       0   1.00          0.2      True
    1      x0       0   0.10          0.9      True
    2      x0       0   0.01          1.0      True
    """

    def __init__(
        self,
        selection_path: Any,
        param_values: ArrayLike,
        *,
        param_name: str = "regularisation",
        threshold: float | None = None,
        selected: ArrayLike | None = None,
        feature_names: NamesLike | None = None,
        stability: Any = None,
    ) -> None:
        with naming("selection_path"):
            self.selection_path = np.asarray(selection_path, dtype=np.float64)
        try:
            self.param_values = np.asarray(param_values, dtype=np.float64)
        except (OverflowError, TypeError, ValueError) as error:
            raise ValueError(
                f"param_values must be numbers, got {param_values!r}"
            ) from error
        if (
            self.selection_path.ndim != 2
            or self.selection_path.shape[1:] != self.param_values.shape
        ):
            raise ValueError(
                "selection_path must have a row for each feature and a column for each of the "
                f"{self.param_values.size} param_values, got shape {self.selection_path.shape}"
            )
        # The features of a data frame of paths are its rows.
        rows = (
            selection_path.index
            if feature_names is None and hasattr(selection_path, "iloc")
            else feature_names
        )
        self.feature_names = names_of(None, len(self.selection_path), rows)
        self.param_name = param_name
        self.threshold = check_share(threshold, "threshold")
        self.selected = check_mask(selected, "selected", len(self.selection_path))
        self.stability = _check_stability(stability)

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Show a fitted :class:`~skstab.feature_selection.StabilitySelection`.

        Parameters
        ----------
        estimator : StabilitySelection
            Fitted. Where clusters of features count once (`groups`), the paths are those of the clusters, to which the
            threshold applies; a selected cluster is named together with the feature that stands for it.

        Returns
        -------
        display : StabilityPathDisplay
            The display, not drawn yet.
        """
        if not hasattr(estimator, "param_name"):
            raise TypeError(
                f"estimator must be a fitted StabilitySelection, got {type(estimator).__name__}"
            )
        check_is_fitted(estimator, "selection_path_")
        threshold = getattr(estimator, "threshold_", estimator.threshold)
        path, selected, names = _paths_of(estimator)
        return cls(
            path,
            estimator.param_values_,
            param_name=getattr(estimator, "param_name_", estimator.param_name),
            # A selection by expected false positives has no threshold.
            threshold=None if np.isnan(threshold) else threshold,
            selected=selected,
            feature_names=names,
            stability=getattr(estimator, "stability_path_", None),
        )

    @classmethod
    def from_path(
        cls,
        selection_path: ArrayLike,
        param_values: ArrayLike,
        *,
        param_name: str = "regularisation",
        threshold: float | None = None,
        selected: ArrayLike | None = None,
        feature_names: NamesLike | None = None,
        stability: Any = None,
    ) -> Self:
        """Show a table of probabilities.

        Parameters
        ----------
        selection_path : array-like of shape (n_features, n_values)
            Probability of selection of each feature at each value of the parameter.
        param_values : array-like of shape (n_values,)
            Values of the parameter that regularises.
        param_name : str, default="regularisation"
            Its name.
        threshold : float, default=None
            Probability from which a feature is selected.
        selected : array-like of bool of shape (n_features,), default=None
            Which features are selected; None takes those that reach the threshold somewhere.
        feature_names : array-like of str, default=None
            Names of the features; None takes those of the rows of a DataFrame, or x0, x1, …
        stability : DataFrame, default=None
            Stability of the selection at each value: columns `value`, `stability`, `low` and `high`.

        Returns
        -------
        display : StabilityPathDisplay
            The display, not drawn yet.
        """
        return cls(
            selection_path,
            param_values,
            param_name=param_name,
            threshold=threshold,
            selected=selected,
            feature_names=feature_names,
            stability=stability,
        )

    def frame(self, *, kind: str = "features") -> pd.DataFrame:
        """Tabulate the paths.

        Parameters
        ----------
        kind : {"features", "stability"}, default="features"
            What is tabulated: the paths of the features, or the stability of the selection along them.

        Returns
        -------
        table : DataFrame
            One row for each feature and value: `feature`, its `column`, the `value` of the parameter, the `probability`
            of selection at it, and whether the feature is `selected`; or one row for each value with its `stability`
            and the ends of an interval.
        """
        import pandas as pd

        if is_choice(kind, "stability"):
            return (
                pd.DataFrame(columns=list(_STABILITY))
                if self.stability is None
                else self.stability.copy()
            )
        if not is_choice(kind, "features"):
            raise ValueError(f"kind must be 'features' or 'stability', got {kind!r}")
        d, n_values = self.selection_path.shape
        column = np.repeat(np.arange(d), n_values)
        return pd.DataFrame(
            {
                "feature": self.feature_names[column],
                "column": column,
                "value": np.tile(self.param_values, d),
                "probability": self.selection_path.ravel(),
                "selected": self._selected()[column],
            }
        )

    def _selected(self) -> np.ndarray:
        if self.selected is not None:
            return self.selected
        if self.threshold is not None:
            return np.asarray(self.selection_path.max(axis=1) >= self.threshold)
        return np.zeros(len(self.selection_path), dtype=bool)

    def plot(
        self,
        ax: Any = None,
        *,
        n_named: int = 14,
        legend: bool = True,
        stability: bool = True,
    ) -> Self:
        """Draw the paths.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None makes a figure.
        n_named : int, default=14
            Number of selected features, at most 28, that have a colour and a name: those of largest probability. Other
            selected features are grey lines, features that are not selected pale ones. Where more than 200 are not
            selected, those of largest probability among them have a name as well, up to this number.
        legend : bool, default=True
            Whether to draw a legend of the paths, next to the axes.
        stability : bool, default=True
            Whether to draw the stability of the selection along the path, where it is known: 0 is as by chance.

        Returns
        -------
        self : StabilityPathDisplay
            With `ax_` and `figure_`.
        """
        n_named = check_count(n_named, "n_named", most=N_STYLES)
        self.figure_, self.ax_ = figure_and_axes(
            ax, (6.4, height_of(n_named, least=4.8))
        )
        values, curves, is_in = _curves(self.frame())
        drawn = self._draw_features(values, curves, is_in, n_named)
        shown = check_bool(stability, "stability") and self.stability is not None
        known = self._draw_stability() if shown else []
        drawn += known
        about = "".join(f"\n{name}: interval about {_ABOUT[name]}" for name, _ in known)
        # Selections that agree less than by chance lie below 0.
        lowest = min(
            (float(np.nanmin(line.get_ydata())) for _, line in known), default=0.0
        )
        self._label(values, curves, about, lowest)
        if check_bool(legend, "legend"):
            add_legend_beside(
                self.ax_, [artist for _, artist in drawn], [name for name, _ in drawn]
            )
        return self

    def _draw_features(
        self, values: np.ndarray, curves: np.ndarray, is_in: np.ndarray, n_named: int
    ) -> list[Any]:
        """Draw named paths and bundles of others, and return what a legend says of them."""
        order = most_frequent(curves.max(axis=1), curves.mean(axis=1))
        named, more = np.split(order[is_in[order]], [n_named])
        rest = order[~is_in[order]]
        n_top = n_named - len(named) if len(rest) > _MANY else 0
        top, rest = np.split(rest, [n_top])
        drawn = [
            (self.feature_names[i], self._path(values, curves[i], rank))
            for rank, i in enumerate(named)
        ]
        if n_top:
            drawn.append(("not selected:", _nothing()))
        for rank, i in enumerate(top, start=len(named)):
            drawn.append(
                (self.feature_names[i], self._path(values, curves[i], rank, width=0.8))
            )
        for name, columns, colour in (
            ("more selected", more, GREY),
            ("not selected", rest, PALE),
        ):
            if len(columns):
                label = f"{len(columns)} {'others' if n_top and name == 'not selected' else name}"
                drawn.append((label, self._bundle(values, curves[columns], colour)))
        return drawn

    def _draw_stability(self) -> list[Any]:
        """Draw the stability of the selection with its interval, and that of replication."""
        table = self.frame(kind="stability").sort_values("value")
        value = table["value"].to_numpy(dtype=np.float64)
        drawn = []
        for name, low, high, label, style in (
            ("stability", "low", "high", "selection stability", "-"),
            ("replication", "replication_low", "replication_high", "replication", ":"),
        ):
            if name in table and table[name].notna().any():
                look = {
                    "linewidth": 2.4,
                    "linestyle": style,
                    "marker": "o" if len(value) == 1 else "",
                }
                (line,) = self.ax_.plot(
                    value, table[name], color="black", zorder=4, **look
                )
                self.ax_.fill_between(
                    value,
                    table[low],
                    table[high],
                    color="black",
                    alpha=0.12,
                    linewidth=0,
                    zorder=2,
                )
                drawn.append((label, line))
        return drawn

    def _path(
        self, values: np.ndarray, curve: np.ndarray, rank: int, *, width: float = 1.6
    ) -> Any:
        # Markers of neighbouring paths are at different values.
        every = max(len(values) // 6, 1)
        style = {**LINES[rank], "markevery": (rank % every, every)}
        return self.ax_.plot(values, curve, linewidth=width, zorder=3, **style)[0]

    def _bundle(self, values: np.ndarray, curves: np.ndarray, colour: str) -> Any:
        """Draw many thin paths, and return their handle for the legend."""
        from matplotlib.collections import LineCollection
        from matplotlib.lines import Line2D

        points: Any = np.stack([np.broadcast_to(values, curves.shape), curves], axis=-1)
        opacity = min(1.0, max(100 / len(curves), 0.1))
        self.ax_.add_collection(
            LineCollection(
                points,
                colors=colour,
                linewidths=0.8,
                alpha=opacity,
                rasterized=len(curves) > 200,
            )
        )
        return Line2D([], [], color=colour, linewidth=0.8)

    def _label(
        self, values: np.ndarray, curves: np.ndarray, about: str, lowest: float
    ) -> None:
        self.ax_.set(
            ylim=(min(-0.02, lowest - 0.02), 1.02),
            ylabel=f"selection probability{about}",
        )
        self.ax_.set_xlabel(f"{self.param_name}, from strong to weak", parse_math=False)
        if len(values) > 1:
            self.ax_.set_xlim(values[0], values[-1])
        log_scale_if_wide(self.ax_.xaxis, values)
        # The stronger the regularisation, the fewer features are selected.
        if curves[:, 0].sum() > curves[:, -1].sum():
            self.ax_.invert_xaxis()
        if self.threshold is not None:
            self.ax_.axhline(self.threshold, color=DARK, linestyle="--", linewidth=1)


def _paths_of(estimator: Any) -> tuple[Any, np.ndarray, Any]:
    """Paths of features, or of clusters where these count once; which of them are selected; and their names."""
    path, support = estimator.selection_path_, estimator.get_support()
    names = names_of(estimator, len(path))
    if not hasattr(estimator, "group_selection_path_"):
        return path, support, names
    groups = np.asarray(estimator.groups)
    chosen = dict(zip(groups[support].tolist(), names[support], strict=True))
    labels = estimator.group_labels_.tolist()
    titles = [
        f"{label}: {chosen[label]}" if label in chosen else str(label)
        for label in labels
    ]
    return (
        estimator.group_selection_path_,
        np.array([label in chosen for label in labels]),
        titles,
    )


def _curves(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return increasing values, the probabilities of each feature at them, and which features are selected."""
    n_features = table["column"].iloc[-1] + 1
    values, curves, selected = (
        table[name].to_numpy().reshape(n_features, -1)
        for name in ("value", "probability", "selected")
    )
    order = np.argsort(values[0], kind="stable")
    return values[0, order], curves[:, order], selected[:, 0]


def _nothing() -> Any:
    """Handle of a heading in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none")


def _check_stability(table: Any) -> Any:
    """Check the stability along a path, or None."""
    if table is None:
        return None
    missing = [name for name in _STABILITY if name not in getattr(table, "columns", ())]
    if missing:
        raise ValueError(
            f"stability must be a DataFrame with the columns {', '.join(_STABILITY)}, but lacks {missing}"
        )
    return table.copy()

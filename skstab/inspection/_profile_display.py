"""Stability against the number of features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from skstab._checks import check_bool
from skstab.inspection._plotting import (
    GREY,
    LINES,
    N_STYLES,
    add_legend_beside,
    figure_and_axes,
    log_scale_if_wide,
    stability_label,
    whole_numbers,
)
from skstab.inspection._sources import by_name

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ["stability", "low", "high", "random"]


class StabilityProfileDisplay:
    """Stability for every number of selected features, compared with that of selecting at random.

    Parameters
    ----------
    profiles : DataFrame or dict of them
        What :func:`~skstab.model_selection.stability_profile` returns; a dict holds the profiles of several selectors
        by name.
    measure : str, default=None
        Name of the measure, for the label of the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    References
    ----------
    .. [1] Kalousis, A., Prados, J. and Hilario, M. (2007). Stability of feature selection algorithms: a study on
       high-dimensional spaces. Knowledge and Information Systems 12. Section 4.3.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.feature_selection import SelectKBest
    >>> from skstab.inspection import StabilityProfileDisplay
    >>> from skstab.model_selection import stability_profile
    >>> X, y = make_classification(n_features=40, n_informative=4, n_redundant=0, random_state=0)
    >>> profile = stability_profile(SelectKBest(k="all"), X, y, sizes=[2, 4, 20], measure="jaccard", random_state=0)
    >>> display = StabilityProfileDisplay.from_profile({"F-test": profile}, measure="jaccard")
    >>> list(display.frame())
    ['selector', 'size', 'stability', 'low', 'high', 'random']
    """

    def __init__(self, profiles: Any, *, measure: str | None = None) -> None:
        self.profiles = by_name(profiles, "selector", "profiles")
        self.measure = measure
        for name, profile in self.profiles.items():
            missing = set(_COLUMNS).difference(getattr(profile, "columns", ()))
            if missing:
                raise ValueError(
                    f"profiles[{name!r}] must be what stability_profile returns, it lacks {sorted(missing)}"
                )

    @classmethod
    def from_profile(cls, profiles: Any, *, measure: str | None = None) -> Self:
        """Show one profile or several.

        Parameters
        ----------
        profiles : DataFrame or dict of them
            What :func:`~skstab.model_selection.stability_profile` returns; a dict holds the profiles of several
            selectors by name.
        measure : str, default=None
            Name of the measure, for the label of the axis.

        Returns
        -------
        display : StabilityProfileDisplay
            The display, not drawn yet.
        """
        return cls(profiles, measure=measure)

    def frame(self) -> pd.DataFrame:
        """Tabulate the curves.

        Returns
        -------
        table : DataFrame
            One row for each `selector` and `size`: `stability` with the ends `low` and `high` of its interval, and the
            stability `random` of choosing the same number of features at random.
        """
        import pandas as pd

        parts = [
            profile[_COLUMNS]
            .rename_axis("size")
            .sort_index()
            .reset_index()
            .assign(selector=name)
            for name, profile in self.profiles.items()
        ]
        return pd.concat(parts, ignore_index=True)[["selector", "size", *_COLUMNS]]

    def plot(self, ax: Any = None, *, legend: bool = True) -> Self:
        """Draw the profiles.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None makes a figure.
        legend : bool, default=True
            Whether to draw a legend of the curves.

        Returns
        -------
        self : StabilityProfileDisplay
            With `ax_` and `figure_`.
        """
        self.figure_, self.ax_ = figure_and_axes(ax)
        table = self.frame()
        parts = [part for _, part in table.groupby("selector", sort=False)]
        baselines = [self._baseline(part) for part in parts]
        curves = [self._curve(part, number) for number, part in enumerate(parts)]
        self._label(table)
        if check_bool(legend, "legend"):
            add_legend_beside(
                self.ax_, [*curves, baselines[0]], [*self.profiles, "random"]
            )
        return self

    def _baseline(self, part: pd.DataFrame) -> Any:
        return self.ax_.plot(
            part["size"], part["random"], color=GREY, linestyle=(0, (1, 1)), linewidth=2
        )[0]

    def _curve(self, part: pd.DataFrame, number: int) -> Any:
        style = LINES[number % N_STYLES]
        self.ax_.fill_between(
            part["size"],
            part["low"],
            part["high"],
            color=style["color"],
            alpha=0.2,
            linewidth=0,
        )
        return self.ax_.plot(part["size"], part["stability"], **style)[0]

    def _label(self, table: pd.DataFrame) -> None:
        self.ax_.set_xlabel("number of selected features")
        self.ax_.set_ylabel(
            stability_label(self.measure, about="resampling error"), parse_math=False
        )
        whole_numbers(self.ax_.xaxis)
        log_scale_if_wide(self.ax_.xaxis, table["size"])

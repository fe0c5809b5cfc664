"""The features to publish in one picture: how often halves select each, and what speaks for and against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skstab._checks import naming
from skstab.inspection._plotting import (
    COLOURS,
    DARK,
    GREY,
    PALE,
    add_legend_above,
    check_count,
    figure_and_axes,
    height_of,
    name_ticks,
    shorten_all,
)

if TYPE_CHECKING:
    import pandas as pd

    from skstab.inspection._feature_report import FeatureReport

_ARROWS = {"+": "▲", "-": "▼"}
_MOST_SUBSTITUTES = 2
_MOST_LETTERS = 46  # of the names of substitutes


class FeatureEvidenceDisplay:
    """Features to publish: the share of the runs that select each, beside copies of it without information.

    Parameters
    ----------
    shares : array-like of shape (n_features,)
        Share of the runs, or of the halves, that selected each feature.
    decoys : array-like of shape (n_features,), default=None
        The same of copies of the feature with the rows in random order.
    directions : sequence of str, default=None
        "+" where higher values go with the target, "-" where lower ones do, any other text where it is not clear.
    substitutes : sequence of sequences, default=None
        Names of the features that can stand for each.
    fragility : array-like of shape (n_features,), default=None
        The number of rows whose removal takes each off the list; NaN where no few rows do.
    feature_names : sequence of str, default=None
        Names of the features.
    runs : str, default="runs"
        What the shares are of, in a word.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, after `plot`.
    figure_ : matplotlib Figure
        The figure, after `plot`.

    See Also
    --------
    feature_report : The table that this draws.
    SelectionFrequencyDisplay : All features, without evidence.

    Examples
    --------
    >>> from skstab.inspection import FeatureEvidenceDisplay
    >>> display = FeatureEvidenceDisplay([1.0, 0.7], decoys=[0.1, 0.2], directions="+-", feature_names=["age", "dose"])
    >>> display.frame()[["feature", "share", "decoy"]]
      feature  share  decoy
    0     age    1.0    0.1
    1    dose    0.7    0.2
    """

    def __init__(
        self,
        shares: ArrayLike,
        *,
        decoys: ArrayLike | None = None,
        directions: Sequence[str] | None = None,
        substitutes: Sequence[Sequence[Any]] | None = None,
        fragility: ArrayLike | None = None,
        feature_names: Sequence[Any] | None = None,
        runs: str = "runs",
    ) -> None:
        with naming("shares"):
            self.shares = np.asarray(shares, dtype=np.float64)
        if self.shares.ndim != 1 or not ((self.shares >= 0) & (self.shares <= 1)).all():
            raise ValueError(
                f"shares must be a list of numbers from 0 to 1, got {shares!r}"
            )
        n = len(self.shares)
        if feature_names is None:
            feature_names = [f"x{j}" for j in range(n)]
        self.feature_names = _of_length(feature_names, "feature_names", n)
        self.decoys = _numbers_or_missing(decoys, "decoys", n)
        self.fragility = _numbers_or_missing(fragility, "fragility", n)
        if directions is None:
            directions = [""] * n
        self.directions = _of_length(directions, "directions", n)
        if substitutes is None:
            substitutes = [[]] * n
        self.substitutes = _of_length(substitutes, "substitutes", n)
        self.runs = runs

    @classmethod
    def from_report(cls, report: FeatureReport) -> Self:
        """Show the features that a report takes for publishing.

        Parameters
        ----------
        report : FeatureReport
            What :func:`feature_report` returned.

        Returns
        -------
        display : FeatureEvidenceDisplay
            The display, not drawn yet.
        """
        if not hasattr(report, "core"):
            raise TypeError(
                f"report must be what feature_report returned, got {type(report).__name__}"
            )
        core = report.core
        of_halves = "halves" in core
        return cls(
            core["halves" if of_halves else "frequency"],
            decoys=core.get("decoy"),
            directions=list(core["direction"]) if "direction" in core else None,
            substitutes=list(report.substitutes().values()),
            fragility=core.get("fragility"),
            feature_names=list(core.index),
            runs="halves" if of_halves else "runs",
        )

    def frame(self) -> pd.DataFrame:
        """Tabulate the features.

        Returns
        -------
        table : DataFrame
            One row per feature in the order given: `feature`, the `share` of the runs that selected it, the same of its
            `decoy`, its `direction`, its `substitutes` and the number of rows that it hangs on, `fragility`.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "feature": self.feature_names,
                "share": self.shares,
                "decoy": self.decoys,
                "direction": self.directions,
                "substitutes": [list(names) for names in self.substitutes],
                "fragility": self.fragility,
            }
        )

    def plot(self, ax: Any = None, *, top_k: int | None = 20) -> Self:
        """Draw a row for each feature, the first on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None makes a figure.
        top_k : int, default=20
            Draw only this number of features; None draws all.

        Returns
        -------
        self : FeatureEvidenceDisplay
            With `ax_` and `figure_`.
        """
        table = self.frame().head(check_count(top_k, "top_k", optional=True))
        size = (7.2, height_of(len(table), least=1.8, per_row=0.3))
        self.figure_, self.ax_ = figure_and_axes(ax, size)
        self._draw_shares(table)
        self._draw_marks(table)
        name_ticks(self.ax_.yaxis, list(table["feature"]))
        self._draw_substitutes(table)
        label = f"share of the {self.runs} that select it"
        rest = len(self.shares) - len(table)
        if rest:
            label += f"\n{rest} more to publish are not drawn"
        self.ax_.set(
            xlim=(-0.03, 1.12),
            ylim=(len(table) - 0.4, -0.6),
            xlabel=label,
            ylabel="feature",
        )
        self.ax_.set_xticks(
            [0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"]
        )
        for side in ("top", "right", "left"):
            self.ax_.spines[side].set_visible(False)
        self.ax_.tick_params(axis="y", length=0)
        return self

    def _draw_shares(self, table: pd.DataFrame) -> None:
        rows = np.arange(len(table))
        known = table["decoy"].notna().to_numpy()
        self.ax_.hlines(
            rows[known],
            table["decoy"][known],
            table["share"][known],
            color=PALE,
            linewidth=2,
            zorder=1,
        )
        style = {"linestyle": "none", "marker": "o", "color": COLOURS[0]}
        (shares,) = self.ax_.plot(table["share"], rows, markersize=7, **style)
        handles, names = [shares], ["the feature"]
        if known.any():
            (decoys,) = self.ax_.plot(
                table["decoy"][known],
                rows[known],
                markersize=6,
                markerfacecolor="white",
                **style,
            )
            handles.append(decoys)
            names.append("its decoy")
        add_legend_above(self.ax_, handles, names)

    def _draw_marks(self, table: pd.DataFrame) -> None:
        """The direction on the right of each row, and how few rows it hangs on."""
        for place, row in table.iterrows():
            arrow = _ARROWS.get(row["direction"], "")
            self.ax_.text(1.05, place, arrow, va="center", ha="center", color=DARK)
            if np.isfinite(row["fragility"]):
                number = int(row["fragility"])
                what = "1 row" if number == 1 else f"{number} rows"
                self.ax_.annotate(
                    f"hangs on {what}",
                    (row["share"], place),
                    xytext=(-8, 0),
                    textcoords="offset points",
                    va="center",
                    ha="right",
                    fontsize="x-small",
                    color=COLOURS[4],
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
                )

    def _draw_substitutes(self, table: pd.DataFrame) -> None:
        for place, others in enumerate(table["substitutes"]):
            if not others:
                continue
            shown = ", ".join(shorten_all(others[:_MOST_SUBSTITUTES], 14))
            more = len(others) - _MOST_SUBSTITUTES
            text = f"or {shown}" + (f" and {more} more" if more > 0 else "")
            self.ax_.text(
                0.0,
                place + 0.36,
                text[:_MOST_LETTERS],
                fontsize="x-small",
                color=GREY,
                va="center",
                ha="left",
                parse_math=False,
            )


def _of_length(values: Any, name: str, n: int) -> list[Any]:
    with naming(name):
        listed = list(values)
    if len(listed) != n:
        raise ValueError(
            f"{name} must have one value for each of {n} shares, got {len(listed)}"
        )
    return listed


def _numbers_or_missing(values: Any, name: str, n: int) -> Any:
    if values is None:
        return np.full(n, np.nan)
    with naming(name):
        numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != (n,):
        raise ValueError(
            f"{name} must have one value for each of {n} shares, got shape {numbers.shape}"
        )
    return numbers

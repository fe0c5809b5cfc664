"""Scores of a calibration, for each penalty and threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstab.inspection._plotting import (
    GREY,
    add_legend_above,
    figure_and_axes,
    log_scale_if_wide,
)

if TYPE_CHECKING:
    import pandas as pd

_VEIL = 0.7  # opacity over what could not be chosen


class CalibrationDisplay:
    """How little each choice of a penalty and a threshold looks like chance, and which choice was made.

    Parameters
    ----------
    calibration : StabilityCalibration
        Scores of all choices, as `calibration_` of a fitted and calibrated
        :class:`~skstab.feature_selection.StabilitySelection`.
    param_name : str, default="regularisation"
        Name of the parameter that regularises.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    References
    ----------
    .. [1] Bodinier, B., Filippi, S., Nøst, T. H., Chiquet, J. and Chadeau-Hyam, M. (2023). Automated calibration for
       stability selection in penalised regression and graphical models. Journal of the Royal Statistical Society C 72.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Lasso
    >>> from skstab.feature_selection import StabilitySelection
    >>> from skstab.inspection import CalibrationDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 200))
    >>> y = X[:, :4] @ [1, 1, 0.7, 0.5] + 2 * rng.standard_normal(100)
    >>> selection = StabilitySelection(Lasso(), efp=1, random_state=0).fit(X, y).calibrate()
    >>> CalibrationDisplay.from_estimator(selection).frame().query("chosen")[["value", "threshold", "score"]].round(2)
         value  threshold   score
    232    0.3       0.75  704.62
    """

    def __init__(self, calibration: Any, *, param_name: str = "regularisation") -> None:
        if not all(
            hasattr(calibration, name)
            for name in ("param_values", "thresholds", "scores", "errors")
        ):
            raise TypeError(
                f"calibration must be the calibration_ of a StabilitySelection, got {calibration!r}"
            )
        self.calibration = calibration
        self.param_name = param_name

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Show a fitted :class:`~skstab.feature_selection.StabilitySelection` that was calibrated.

        Parameters
        ----------
        estimator : StabilitySelection
            Fitted, and calibrated by its method `calibrate`.

        Returns
        -------
        display : CalibrationDisplay
            The display, not drawn yet.
        """
        if not hasattr(estimator, "calibrate"):
            raise TypeError(
                f"estimator must be a calibrated StabilitySelection, got {type(estimator).__name__}"
            )
        check_is_fitted(estimator)
        if not hasattr(estimator, "calibration_"):
            raise ValueError(
                "estimator must be calibrated: call its method calibrate first"
            )
        return cls(estimator.calibration_, param_name=estimator.param_name_)

    def frame(self) -> pd.DataFrame:
        """Tabulate the scores.

        Returns
        -------
        table : DataFrame
            One row for each value and threshold: the `value` of the parameter, the `threshold`, the `score`, the bound
            on the expected number of `errors`, and whether the pair was `chosen`.
        """
        import pandas as pd

        found = self.calibration
        value = np.repeat(np.asarray(found.param_values), len(found.thresholds))
        threshold = np.tile(found.thresholds, len(found.param_values))
        return pd.DataFrame(
            {
                "value": value,
                "threshold": threshold,
                "score": found.scores.ravel(),
                "errors": found.errors.ravel(),
                "chosen": (value == found.param_value) & (threshold == found.threshold),
            }
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the scores as a map, with the choice; pale where the bound on errors was too large to be chosen.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        self : CalibrationDisplay
            With `ax_` and `figure_`.
        """
        self.figure_, self.ax_ = figure_and_axes(ax, (6.4, 4.0))
        found = self.calibration
        values = np.asarray(found.param_values, dtype=np.float64)
        order = np.argsort(values)
        cells = (
            _edges(values[order], logarithmic=values.min() > 0),
            _edges(found.thresholds),
        )
        mesh = self.ax_.pcolormesh(
            *cells, found.scores[order].T, cmap="viridis", rasterized=True
        )
        style = {
            "color": "white",
            "markeredgecolor": "black",
            "markersize": 14,
            "linestyle": "none",
        }
        (choice,) = self.ax_.plot(
            float(found.param_value), found.threshold, "*", clip_on=False, **style
        )
        handles, names = (
            [choice],
            [f"{float(found.param_value):.3g}, threshold {found.threshold:.3g}"],
        )
        if found.pfer is not None:
            excluded = found.errors > found.pfer
            handles.append(self._cover(cells, excluded[order].T))
            names.append(f"bound above {found.pfer:.3g}")
        self._label(values[order], found.sizes[order], mesh)
        add_legend_above(self.ax_, handles, names)
        return self

    def _cover(self, cells: tuple[np.ndarray, np.ndarray], covered: np.ndarray) -> Any:
        """Draw a pale veil over cells, and return what a legend can show."""
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        veil = np.ma.masked_where(~covered, covered)
        self.ax_.pcolormesh(
            *cells, veil, cmap=ListedColormap(["white"]), alpha=_VEIL, rasterized=True
        )
        return Patch(facecolor="white", edgecolor=GREY)

    def _label(self, values: np.ndarray, sizes: np.ndarray, mesh: Any) -> None:
        self.ax_.set_xlabel(f"{self.param_name}, from strong to weak", parse_math=False)
        self.ax_.set_ylabel("threshold")
        log_scale_if_wide(self.ax_.xaxis, values)
        # The more a value regularises, the fewer features it selects.
        if sizes[0] > sizes[-1]:
            self.ax_.invert_xaxis()
        # Within these axes, so that a figure of the user's keeps the axes it has.
        bar = self.figure_.colorbar(
            mesh, cax=self.ax_.inset_axes((1.03, 0.0, 0.04, 1.0))
        )
        bar.set_label("score (high: unlike chance)")


def _edges(centres: np.ndarray, *, logarithmic: bool = False) -> np.ndarray:
    """Edges of cells around increasing centres."""
    if logarithmic:
        return np.asarray(np.exp(_edges(np.log(centres))))
    if len(centres) == 1:
        return np.asarray(centres[0] + np.array([-0.5, 0.5]))
    middle = (centres[1:] + centres[:-1]) / 2
    return np.asarray(
        np.r_[2 * centres[0] - middle[0], middle, 2 * centres[-1] - middle[-1]]
    )

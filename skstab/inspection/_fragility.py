"""On how few rows each feature of a list hangs, read from the runs that are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.base import is_classifier

from skstab._checks import check_number, naming
from skstab._compat import as_indexable, take_rows
from skstab._fragility import absent_units, carriers_of, most_rows, without_each
from skstab._statistics import wilson_interval
from skstab._typing import FloatArray, IndexArray, NamesLike, RunsLike
from skstab.inspection._plotting import (
    check_count,
    figure_and_axes,
    height_of,
    name_ticks,
)
from skstab.inspection._sources import most_frequent, runs_of, supports_of
from skstab.model_selection import BootstrapSplit, ComplementaryPairsSplit, StabilityCV
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Fragility", "FragilityDisplay", "fragility"]

_SHOWN = 20


@dataclass(frozen=True, repr=False, eq=False)
class Fragility:
    """On how few rows each feature of a list hangs; made by :func:`fragility`.

    Parameters
    ----------
    table : DataFrame
        One row per feature of the list, as `frame` returns it.
    columns : ndarray of int
        The columns of these features.
    threshold : float
        The frequency from which on a feature is in the list.
    n_runs : int
        Number of runs.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.inspection import Fragility, fragility
    >>> from skstab.runs import Runs
    >>> rows = np.random.default_rng(0).integers(2, size=(60, 12))
    >>> found = fragility(Runs(np.column_stack([rows[:, 3], np.ones(60)]), row_counts=rows))
    >>> isinstance(found, Fragility)
    True
    """

    table: pd.DataFrame
    columns: IndexArray
    threshold: float
    n_runs: int

    def frame(self) -> pd.DataFrame:
        """Tabulate the features of the list.

        Returns
        -------
        table : DataFrame
            One row per feature, indexed by its name; the columns are described at :func:`fragility`.
        """
        return self.table.copy()

    @property
    def sentence(self) -> str:
        """Which features hang on few rows, or that none was found to."""
        carried = self.table[self.table["fragility"].notna()]
        if carried.empty:
            return f"No feature of {len(self.table)} was found to hang on few rows."
        parts = [
            f"{name} (without {rows}: {after:.0%})"
            for name, rows, after in zip(
                carried.index,
                carried["carried_by"],
                carried["frequency_without"],
                strict=True,
            )
        ]
        return f"Carried by few rows: {', '.join(parts)}."

    def __repr__(self) -> str:
        shown = self.table.drop(columns="rows").to_string(
            float_format="{:.3g}".format, na_rep=""
        )
        return f"Fragility: {self.sentence}\n\n{shown}"


def fragility(
    runs: RunsLike,
    *,
    threshold: float = 0.5,
    confirm: tuple[Any, Any, Any] | None = None,
    row_names: NamesLike | None = None,
) -> Fragility:
    """Find features that are in the list because of one row, or of a few.

    A bootstrap holds a given row with a probability of 0.63: a feature that is selected because of this row has a
    frequency of 0.63, and a narrow interval. Nothing is fitted: the runs without the row are there.

    Parameters
    ----------
    runs : Runs, StabilityCV or search
        What runs selected, with `row_counts`: bootstraps or halves, of which many leave out each row.
    threshold : float, default=0.5
        The frequency from which on a feature is in the list.
    confirm : tuple of (estimator, X, y), default=None
        Fit again without the rows that were found, on as many resamples: the column `confirmed` is the frequency then.
        What counts as selected is the `support_from` of `runs` where this is a :class:`StabilityCV`.
    row_names : sequence of shape (n_rows,), default=None
        Names of the rows, such as those of patients; None numbers them from 0.

    Returns
    -------
    found : Fragility
        With `frame()` and a `sentence`.

    See Also
    --------
    FragilityDisplay : Draws features by rows.
    skstab.runs.Runs.without_rows : A copy that says nothing about single rows.

    Notes
    -----
    Columns of the table, for each feature of the list:

    - `frequency` of selection;
    - `fragility`, the smallest number of rows found whose removal takes the feature off the list; NaN where none was
      found, which does not show that there are none;
    - `carried_by`, the names of these rows, and `rows`, their numbers;
    - `frequency_without` them;
    - `pvalue` of the finding (see below), and
    - `most_rows`, an upper bound on how many rows can each, alone, take it off the list, whatever the selector and the
      data: the squares of all changes add up to at most f(1 − f)·p/(1 − p), with p the share of the rows that a run is
      trained on (bootstraps: 0.43 at f = 1/2, as of [1]_; the lower end of the interval of f is used);
    - with `confirm`: `confirmed`.

    The row without which a feature is rarest is the worst of many, so its effect is read on runs other than those it
    was chosen on, and it is named only if Fisher's exact test finds the feature rarer without it, at 5% after
    adjusting for the number of rows, and if the 95% interval of the frequency without it lies below the threshold.
    Further rows are then looked for among the runs without it, as long as there are 20. Weak effects need many runs:
    50 bootstraps find a row that carries a feature alone, 200 smaller ones. Frequencies without rows are still a
    little too low (in refits higher by .1 on average); `confirm` measures them.

    Rows that all runs counted alike, such as those of a patient, count as one.

    References
    ----------
    .. [1] Soloff, J. A., Barber, R. F. and Willett, R. (2024). Bagging provides assumption-free stability. Journal of
       Machine Learning Research 25.

    Examples
    --------
    One bad record puts a feature without information into the list:

    >>> import numpy as np
    >>> from sklearn.linear_model import Lasso
    >>> from skstab.inspection import fragility
    >>> from skstab.model_selection import StabilityCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 60))
    >>> y = X[:, :5].sum(axis=1) + rng.standard_normal(100)
    >>> X[7, 49], y[7] = 5, y[7] + 15
    >>> cv = StabilityCV(Lasso(alpha=0.3), random_state=0).fit(X, y)
    >>> fragility(cv).frame().loc["x49", ["frequency", "fragility", "carried_by", "frequency_without"]]
    frequency             0.76
    fragility              1.0
    carried_by           row 7
    frequency_without      0.0
    Name: x49, dtype: object
    """
    import pandas as pd

    _check_threshold(threshold)
    found, _ = supports_of(runs)
    rows = _Rows.of(found, row_names)
    columns = _columns(found, rows, threshold)
    if confirm is not None:
        counted = getattr(runs, "support_from", "used")
        columns["confirmed"] = _confirmed(confirm, found, rows, columns, counted)
    listed = columns.pop("column")
    names = pd.Index(found.feature_names[listed], name="feature")
    return Fragility(pd.DataFrame(columns, index=names), listed, threshold, len(found))


class _Rows(NamedTuple):
    """What the runs can separate: single rows, or groups of them."""

    absent: Any  # runs × units
    units: Any  # of each row
    names: Any

    @classmethod
    def of(cls, runs: Runs, names: Any) -> Self:
        if runs.row_counts is None:
            raise ValueError(
                "runs must have row_counts, which say which rows trained each run: make them with StabilityCV, or give "
                "row_counts to Runs"
            )
        absent, units = absent_units(runs.row_counts)
        if names is not None:
            with naming("row_names"):
                names = [str(name) for name in names]
            if len(names) != len(units):
                raise ValueError(
                    f"row_names must be {len(units)} names, one for each row, got {len(names)}"
                )
        return cls(absent, units, names)

    def members(self, units: Sequence[int]) -> list[int]:
        return [
            row for unit in units for row in np.flatnonzero(self.units == unit).tolist()
        ]

    def label(self, units: Sequence[int]) -> str:
        rows = self.members(units)
        named = [str(row) if self.names is None else self.names[row] for row in rows]
        distinct = list(dict.fromkeys(named))
        if self.names is not None or not distinct:
            return ", ".join(distinct)
        return f"row{'s' if len(distinct) > 1 else ''} {', '.join(distinct)}"


def _check_threshold(threshold: Any) -> None:
    check_number(
        threshold, "threshold", "a number above 0 and at most 1", above=0, most=1
    )


def _columns(runs: Runs, rows: _Rows, threshold: float) -> dict[str, Any]:
    frequency = runs.frequencies().to_numpy()
    order = most_frequent(frequency)
    listed = order[frequency[order] >= threshold]
    supports = _dense(runs.tables.supports[:, listed])
    found = [carriers_of(column, rows.absent, threshold) for column in supports.T]
    low, _ = wilson_interval(frequency[listed], len(runs))
    trained = 1 - float(rows.absent.mean())
    counts = [float(len(one.units)) if one.units else np.nan for one in found]
    members = np.empty(len(found), dtype=object)
    members[:] = [tuple(rows.members(one.units)) for one in found]
    return {
        "column": listed,
        "frequency": frequency[listed],
        "fragility": np.array(counts),
        "carried_by": np.array([rows.label(one.units) for one in found], dtype=object),
        "rows": members,
        "frequency_without": np.array([one.frequency for one in found]),
        "pvalue": np.array([one.pvalue for one in found]),
        "most_rows": most_rows(low, trained, rows.absent.shape[1], threshold),
    }


def _dense(table: Any) -> FloatArray:
    return np.asarray(
        table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64
    )


def _confirmed(
    confirm: Any, runs: Runs, rows: _Rows, columns: dict[str, Any], support_from: str
) -> FloatArray:
    """Frequencies of the features without the rows that they hang on, from new fits."""
    members = columns["rows"]
    if not isinstance(confirm, tuple | list) or len(confirm) != 3:
        raise ValueError(
            f"confirm must be a tuple (estimator, X, y), got {type(confirm).__name__}"
        )
    estimator, X, y = confirm
    X, y = as_indexable(X, y)
    if X.shape != (len(rows.units), runs.n_features):
        raise ValueError(
            f"confirm must hold the {len(rows.units)} rows and {runs.n_features} features of the runs, got {X.shape}"
        )
    after: dict[Any, FloatArray] = {}
    for one in {one for one in members if one}:
        kept = np.setdiff1d(np.arange(X.shape[0]), one)
        is_grouped = len(np.unique(rows.units)) < len(rows.units)
        groups = {"groups": rows.units[kept]} if is_grouped else {}
        cv = StabilityCV(
            estimator,
            cv=_like(runs, estimator, is_grouped),
            support_from=support_from,
            random_state=0,
        )
        cv.fit(take_rows(X, kept), take_rows(y, kept), **groups)
        after[one] = np.asarray(cv.selection_frequencies_)
    found = zip(members, columns["column"], strict=True)
    return np.array([after[one][column] if one else np.nan for one, column in found])


def _like(runs: Runs, estimator: Any, is_grouped: bool) -> Any:
    """As many resamples of the kind that the runs are of."""
    stratify = is_classifier(estimator) and not is_grouped
    if runs.row_counts.data.max(initial=0) > 1:
        return BootstrapSplit(len(runs), stratify=stratify, random_state=0)
    n_splits = len(runs) + len(runs) % 2
    return ComplementaryPairsSplit(n_splits, stratify=stratify, random_state=0)


# -- the picture -----------------------------------------------------------------------


class FragilityDisplay:
    """Features by rows: how the frequency of each feature changes without each of the rows that matter most.

    Parameters
    ----------
    changes : DataFrame
        Features × rows: the frequency without the row minus the frequency.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.inspection import FragilityDisplay
    >>> from skstab.runs import Runs
    >>> rows = np.random.default_rng(0).integers(2, size=(60, 12))
    >>> runs = Runs(np.column_stack([rows[:, 3], np.ones(60)]), row_counts=rows)
    >>> FragilityDisplay.from_runs(runs).frame().loc["x0", "row 3"].round(2)
    np.float64(-0.53)
    """

    def __init__(self, changes: pd.DataFrame) -> None:
        if not hasattr(changes, "to_numpy") or np.ndim(changes) != 2:
            raise TypeError(
                f"changes must be a DataFrame, features by rows, got {type(changes).__name__}"
            )
        self.changes = changes

    @classmethod
    def from_runs(
        cls,
        runs: RunsLike,
        *,
        threshold: float = 0.5,
        n_rows: int = _SHOWN,
        row_names: NamesLike | None = None,
    ) -> Self:
        """Compare the runs without each row with all runs.

        Parameters
        ----------
        runs : Runs, StabilityCV or search
            What runs selected, with `row_counts`.
        threshold : float, default=0.5
            Features of at least this frequency are shown, at most 20.
        n_rows : int, default=20
            How many rows are shown: those with the largest change in any of these features.
        row_names : sequence of shape (n_rows,), default=None
            Names of the rows; None numbers them from 0.

        Returns
        -------
        display : FragilityDisplay
            The display, not drawn yet.
        """
        import pandas as pd

        _check_threshold(threshold)
        check_count(n_rows, "n_rows")
        found = runs_of(runs, "runs")
        rows = _Rows.of(found, row_names)
        frequency = found.frequencies().to_numpy()
        order = most_frequent(frequency)
        listed = order[frequency[order] >= threshold][:_SHOWN]
        table = _dense(found.tables.supports[:, listed])
        change = without_each(table, rows.absent) - frequency[listed][:, None]
        change = np.where(np.isfinite(change), change, 0.0)
        largest = most_frequent(np.abs(change).max(axis=0, initial=0.0))[:n_rows]
        return cls(
            pd.DataFrame(
                change[:, largest],
                index=pd.Index(found.feature_names[listed], name="feature"),
                columns=[rows.label([int(unit)]) for unit in largest],
            )
        )

    def frame(self) -> pd.DataFrame:
        """Tabulate the changes.

        Returns
        -------
        table : DataFrame
            One row per feature, one column per row of the data: the frequency without it minus the frequency.
        """
        return self.changes.copy()

    def plot(self, ax: Any = None) -> Self:
        """Draw the changes as a map: blue where a feature is rarer without the row.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        self : FragilityDisplay
            With `ax_` and `figure_`.
        """
        n_features, n_rows = self.changes.shape
        size = (1.8 + 0.3 * max(n_rows, 8), height_of(n_features, least=4.4))
        self.figure_, self.ax_ = figure_and_axes(ax, size)
        values = self.changes.to_numpy(dtype=float)
        places = np.arange(n_rows + 1) - 0.5, np.arange(n_features + 1) - 0.5
        mesh = self.ax_.pcolormesh(
            *places, values, cmap="RdBu_r", vmin=-1, vmax=1, rasterized=True
        )
        self.ax_.set_xlim(-0.5, n_rows - 0.5)
        self.ax_.set_ylim(n_features - 0.5, -0.5)
        self.ax_.set_xlabel("row left out")
        self.ax_.set_ylabel("feature")
        name_ticks(self.ax_.yaxis, list(self.changes.index))
        name_ticks(self.ax_.xaxis, list(self.changes.columns))
        bar = self.figure_.colorbar(
            mesh, cax=self.ax_.inset_axes((1.03, 0.0, 0.04, 1.0))
        )
        bar.set_label("change without the row")
        return self

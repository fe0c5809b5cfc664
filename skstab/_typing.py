"""Types of public arguments that occur in several rooms."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, Self, SupportsFloat, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "BoolArray",
    "CVLike",
    "Display",
    "Estimator",
    "FloatArray",
    "IndexArray",
    "IntArray",
    "MatrixLike",
    "MeasureLike",
    "NamesLike",
    "RandomState",
    "RunsLike",
    "Scorer",
    "ScoringLike",
    "Selector",
]

# -- arrays ------------------------------------------------------------------------------------------------------------

BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
IndexArray: TypeAlias = NDArray[np.intp]

# -- data --------------------------------------------------------------------------------------------------------------


class HasShape(Protocol):
    """A table or a sparse matrix: its shape is all that is common to them."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns."""
        ...


class HasTables(Protocol):
    """What `skstab.runs.Runs` is to a measure."""

    def table_for(self, measure: Any) -> Any:
        """Return the table that a measure takes."""
        ...


class HasRuns(Protocol):
    """A fitted estimator that keeps its runs."""

    @property
    def runs_(self) -> HasTables:
        """The runs."""
        ...


# An array-like (a data frame of any library is one), or a sparse matrix.
MatrixLike: TypeAlias = ArrayLike | HasShape
# The same, or runs, or what holds runs.
RunsLike: TypeAlias = MatrixLike | HasTables | HasRuns
NamesLike: TypeAlias = Sequence[Hashable] | NDArray[Any]

# -- settings ----------------------------------------------------------------------------------------------------------

RandomState: TypeAlias = int | np.random.RandomState | None
# A name out of `measure_table`, or a function of a table; a `Measure` is one.
MeasureLike: TypeAlias = str | Callable[..., SupportsFloat]
Scorer: TypeAlias = Callable[..., SupportsFloat | Mapping[str, SupportsFloat]]
ScoringLike: TypeAlias = (
    str | Scorer | Sequence[str] | Mapping[str, str | Scorer] | None
)


class Splitter(Protocol):
    """A cross-validation generator of scikit-learn."""

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterable[tuple[Any, Any]]:
        """Generate indices of training and test rows."""
        ...


# Rows are given by their numbers, a mask or a slice.
CVLike: TypeAlias = (
    int | Splitter | Iterable[tuple[ArrayLike | slice, ArrayLike | slice]] | None
)

# -- objects -----------------------------------------------------------------------------------------------------------


class Estimator(Protocol):
    """What scikit-learn calls an estimator."""

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """Fit to data."""
        ...

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        ...


class Selector(Estimator, Protocol):
    """What scikit-learn calls a feature selector."""

    def get_support(self, indices: bool = False) -> Any:
        """Return a mask, or the indices, of the selected features."""
        ...


class Display(Protocol):
    """Data, a tidy table of them, and a picture of that table in `ax_` of `figure_`."""

    figure_: Any
    ax_: Any

    def frame(self) -> Any:
        """Tabulate what the picture shows."""
        ...

    def plot(self, ax: Any = None) -> Self:
        """Draw the picture."""
        ...

"""Stability of the selection itself at each value of a path."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skstab._typing import FloatArray
from skstab.feature_selection._halves import table_at
from skstab.metrics import replication_stability, stability_interval

if TYPE_CHECKING:
    import pandas as pd

Supports: TypeAlias = Sequence[list[NDArray[np.intp]]]

_ALL = ["stability", "low", "high"]
_WITHIN = ["replication", "replication_low", "replication_high"]


def stability_along(
    halves: Supports, pairs: Supports, n_columns: int, order: Any
) -> FloatArray:
    """Nogueira's measure with its ends, one row for each value: over all halves, and within complementary pairs."""
    found = np.full((len(order), 6), np.nan)
    for place, value in enumerate(order):
        found[value, :3] = _ends(
            stability_interval, table_at(halves, n_columns, place), least=3
        )
        if pairs:
            found[value, 3:] = _ends(
                replication_stability, table_at(pairs, n_columns, place), least=6
            )
    return found


def frame_along(found: FloatArray, values: Any) -> pd.DataFrame:
    """Return what `stability_along` found as a table."""
    import pandas as pd

    table = pd.DataFrame(found, columns=[*_ALL, *_WITHIN])
    table.insert(0, "value", values)
    return table


def _ends(interval_of: Any, table: Any, *, least: int) -> tuple[float, float, float]:
    """Estimate and ends of an interval, unknown where the halves agree only because there was nothing to choose."""
    n_halves, n_columns = table.shape
    # Without any one of the halves, something must be left that is selected, and something that is not.
    sizes = np.diff(table.indptr)
    rest = sizes.sum() - sizes
    if n_halves < least or rest.min() == 0 or rest.max() == (n_halves - 1) * n_columns:
        return np.nan, np.nan, np.nan
    with warnings.catch_warnings():
        # At the sparse end of a path two features often take turns; a warning for each value would not help.
        warnings.filterwarnings(
            "ignore",
            message="nearly all variation between the runs",
            category=UserWarning,
        )
        interval = interval_of(table)
    return interval.estimate, interval.low, interval.high

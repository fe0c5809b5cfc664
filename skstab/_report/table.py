"""From X and y as users of Python have them to one table whose columns are named by texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from skstab._report.dataset import Endpoint
from skstab._report.words import UserError

if TYPE_CHECKING:
    import pandas as pd


def table_of(
    X: Any, y: Any, *, groups: Any, time: Any, event: Any
) -> tuple[pd.DataFrame, Endpoint, str | None]:
    """Put features, target and groups into one table; return it with the names of the columns of the latter."""
    table = _frame_of(X)
    if time is None and event is None and getattr(y, "dtype", None) is not None:
        time, event = _survival_fields(y)
        y = y if time is None else None
    columns: dict[str, str | None] = {}
    given = {"y": y, "time": time, "event": event, "groups": groups}
    for argument, values in given.items():
        columns[argument] = None
        if values is not None:
            table, columns[argument] = _with_column(table, argument, values)
    group_column = columns.pop("groups")
    endpoint = endpoint_of(columns["y"], columns["time"], columns["event"])
    return table, endpoint, group_column


def endpoint_of(target: str | None, time: str | None, event: str | None) -> Endpoint:
    """Check that there is a target: one column, or a time and an event."""
    if target is not None and (time is not None or event is not None):
        raise UserError(
            "a target can't be combined with time and event, which are the target of survival"
        )
    if target is None and time is None and event is None:
        raise UserError("a target is needed: y, or time and event for survival")
    if target is None and (time is None or event is None):
        raise UserError(
            "time and event go together: the column of the times, and the column of the events"
        )
    if time is not None and time == event:
        raise UserError("time and event must be two columns")
    return Endpoint(target, time, event)


def _frame_of(X: Any) -> pd.DataFrame:
    import pandas as pd

    if issparse(X):
        raise TypeError(
            "X must be a DataFrame or a dense array: a report looks at every column"
        )
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        values = np.asarray(X)
        if values.ndim != 2:
            raise UserError(
                f"X must be a 2D array of rows and features, got one of shape {values.shape}"
            )
        X = pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])
    table = X.set_axis([str(name) for name in X.columns], axis=1)
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise UserError(
            f"X must have columns of different names: {twice[0]!r} occurs twice"
        )
    return table


def _survival_fields(y: Any) -> tuple[Any, Any]:
    """Times and events of a structured target, whose one boolean field is the event."""
    names = getattr(y.dtype, "names", None)
    if not names:
        return None, None
    events = [name for name in names if y.dtype[name].kind == "b"]
    times = [name for name in names if name not in events]
    if len(events) != 1 or len(times) != 1:
        raise UserError(
            f"a structured y must have a boolean field for the event and one for the time, got {y.dtype}"
        )
    return np.asarray(y[times[0]]), np.asarray(y[events[0]])


def _with_column(
    table: pd.DataFrame, argument: str, values: Any
) -> tuple[pd.DataFrame, str]:
    """Add a column to a table, or find it there by its name."""
    if isinstance(values, str):
        if values not in table.columns:
            raise UserError(f"{argument} is {values!r}, which is not a column of X")
        return table, values
    column = np.asarray(values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.shape != (len(table),):
        raise UserError(
            f"{argument} must have one value for each of the {len(table)} rows of X, got shape {column.shape}"
        )
    name = getattr(values, "name", None)
    name = name if isinstance(name, str) and name else argument
    while name in table.columns:
        name += "_"
    return table.assign(**{name: column}), name

"""How a warm start knows its splits, data and parameters again, and in which batches it makes runs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import groupby
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np
import pandas as pd
from scipy.sparse import issparse

from skstab._compat import take_rows

BATCH = 10  # runs between two looks at the interval, whatever the number of jobs


def in_batches(missing: list[int]) -> list[list[int]]:
    """The splits that are missing, by the batches of splits that they are of."""
    return [
        list(batch) for _, batch in groupby(missing, lambda number: number // BATCH)
    ]


def are_whole_batches(done: Collection[int]) -> bool:
    """Whether the splits that are done are the first ones, in whole batches."""
    return len(done) > 0 and len(done) % BATCH == 0 and max(done) == len(done) - 1


def check_same_splits(done: dict[int, bytes], digests: list[bytes]) -> None:
    """Check that the splits that are done, by their numbers, are among those of this fit."""
    if any(
        number >= len(digests) or digests[number] != digest
        for number, digest in done.items()
    ):
        raise ValueError(
            "warm_start=True adds runs to those of the first fit, but cv does not start with the same splits: give it "
            "an int random_state and at least as many splits as before, and the same data"
        )


def digests_of(
    estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]
) -> dict[str, str | None]:
    """Digests of what has to stay the same in a warm start; None where a value has none (a lambda)."""
    # A few rows distinguish most tables, and cost next to nothing.
    data = {
        "X": take_rows(X, np.linspace(0, X.shape[0] - 1, 4).astype(int)),
        "y": y,
        **fit_params,
    }
    names = (
        "estimator",
        "scoring",
        "importance_getter",
        "scale_importances",
        "support_from",
        "perturb",
    )
    parameters = {name: _digest(getattr(estimator, name)) for name in names}
    return {
        name: _digest(value, _as_plain) for name, value in data.items()
    } | parameters


def _as_plain(data: Any) -> Any:
    """Return the values alone: the same for equal data of one type in tables, arrays and lists."""
    values = np.ascontiguousarray(data.toarray() if issparse(data) else data)
    return (
        pd.util.hash_array(values.astype(object).ravel())
        if values.dtype.kind in "OSU"
        else values
    )


def _digest(value: Any, form: Callable[[Any], Any] = lambda value: value) -> str | None:
    try:
        digest: str = joblib.hash(form(value))
    except (
        AttributeError,
        PicklingError,
        TypeError,
        ValueError,
    ):  # what cannot be pickled, or is several tables
        return None
    return digest


def check_same_digests(seen: dict[str, str | None], now: dict[str, str | None]) -> None:
    other = [name for name in {**seen, **now} if seen.get(name) != now.get(name)]
    if other:
        raise ValueError(
            "warm_start=True adds runs to those of the first fit, but these are not the same as then: "
            f"{', '.join(other)}; set warm_start=False to start again"
        )

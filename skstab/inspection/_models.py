"""How often each whole set of features was selected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from skstab._checks import check_int, check_number
from skstab._typing import RunsLike
from skstab.inspection._sources import supports_of
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["model_frequencies"]


def model_frequencies(
    runs: RunsLike, *, share: float = 0.8, max_models: int = 20
) -> pd.DataFrame:
    """Tabulate the sets of features that were selected most often, as a whole.

    Parameters
    ----------
    runs : Runs, StabilityCV or search
        What runs selected, or a fitted object that holds runs.
    share : float, default=0.8
        Sets are listed until they make up this share of the runs,
    max_models : int, default=20
        or until so many are listed.

    Returns
    -------
    table : DataFrame
        One row per set, the most frequent first, ties in the order in which they occurred: its `features` as a tuple of
        names, their number `n_features`, the number `n_runs` of runs that selected just this set, the share `frequency`
        of the runs and the `cumulative` share. Where the runs know what was selected on all rows, `refit` marks that
        set, which is added at the end if it is not among the others.

    Notes
    -----
    Published beside the selection frequencies as recommended in [1]_: where no set is frequent, the selected model is
    only one of many, and its p-values and intervals, which take it as given, are too optimistic.

    References
    ----------
    .. [1] Heinze, G., Wallisch, C. and Dunkler, D. (2018). Variable selection: a review and recommendations for the
       practicing statistician. Biometrical Journal 60.

    Examples
    --------
    >>> from skstab.inspection import model_frequencies
    >>> from skstab.runs import Runs
    >>> runs = Runs.from_sets([["a", "b"], ["a"], ["a", "b"], ["b"]], features=["a", "b", "c"])
    >>> model_frequencies(runs)
      features  n_features  n_runs  frequency  cumulative
    0   (a, b)           2       2       0.50        0.50
    1     (a,)           1       1       0.25        0.75
    2     (b,)           1       1       0.25        1.00
    """
    check_number(share, "share", "a number above 0 and at most 1", above=0, most=1)
    check_int(max_models, "max_models")
    found, supports = supports_of(runs)
    csr = sparse.csr_array(supports)
    csr.sort_indices()
    sets = Counter(_keys(csr))
    listed = _until(sets.most_common(max_models), share * len(found))
    refit = None if found.refit is None else tuple(np.flatnonzero(found.refit).tolist())
    if refit is not None and refit not in dict(listed):
        listed.append((refit, sets[refit]))
    return _table(found, listed, refit)


def _keys(csr: Any) -> Iterable[tuple[int, ...]]:
    indices, ends = csr.indices.tolist(), csr.indptr.tolist()
    return (tuple(indices[start:end]) for start, end in pairwise(ends))


def _until(counted: list[tuple[Any, int]], n_runs: float) -> list[tuple[Any, int]]:
    """Sets until they make up so many runs."""
    before = np.cumsum([0, *(count for _, count in counted)])[:-1]
    return [
        entry
        for entry, so_far in zip(counted, before, strict=True)
        if so_far < n_runs - 1e-9
    ]


def _table(
    runs: Runs, listed: list[tuple[tuple[int, ...], int]], refit: tuple[int, ...] | None
) -> pd.DataFrame:
    import pandas as pd

    counts = np.array([count for _, count in listed], dtype=np.int64)
    columns = {
        "features": [tuple(runs.feature_names[list(columns)]) for columns, _ in listed],
        "n_features": [len(columns) for columns, _ in listed],
        "n_runs": counts,
        "frequency": counts / len(runs),
        "cumulative": np.cumsum(counts) / len(runs),
    }
    marked = (
        {} if refit is None else {"refit": [columns == refit for columns, _ in listed]}
    )
    return pd.DataFrame(columns | marked)

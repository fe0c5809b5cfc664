"""Which feature stands for which, and in how much of its importance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from skstab._checks import check_number
from skstab._typing import FloatArray, IntArray, MatrixLike, RunsLike
from skstab.inspection._sources import most_frequent, runs_of
from skstab.metrics import transport_plan
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["substitutes"]


def substitutes(
    runs: RunsLike, similarity: MatrixLike, *, least_share: float = 0.05
) -> pd.DataFrame:
    """Tabulate which features stand for which when a selection is repeated, and in how much of their importance.

    Where one run gives importance to a feature and another run to a similar one instead, the importance moves. The
    table has the mean over all pairs of runs of the best plan to move it.

    Parameters
    ----------
    runs : Runs, StabilityCV or search
        What runs selected, with importances, or a fitted object that holds runs.
    similarity : array-like, DataFrame or sparse matrix of shape (n_features, n_features)
        How similar two features are: symmetric, between 0 and 1, for example absolute correlations.
    least_share : float, default=0.05
        Leave out what moves less than this share of a feature's importance.

    Returns
    -------
    table : DataFrame
        One row for each feature and each of its substitutes: the `feature`, its `substitute`, the `share` of the
        feature's importance that is on the substitute in another run, and their `similarity`. The most important
        feature comes first, and of a feature the largest share. What is left of the feature's importance is on the
        feature itself in other runs, or on features that are not like it.

    See Also
    --------
    skstab.metrics.transport_stability : The stability that forgives these substitutes.
    co_selection : Which features are selected together less often than by chance.

    Notes
    -----
    A row with a small similarity is no substitute: importance has to go somewhere where two runs share nothing. Read
    the two columns together. The table describes the runs; that two features carry the same information is said by
    the similarity alone, and where it comes from the rows that were resampled it is uncertain as these are.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.inspection import substitutes
    >>> from skstab.runs import Runs
    >>> importances = np.array([[3, 0, 1], [0, 3, 1], [3, 0, 1], [3, 0, 1]])
    >>> runs = Runs(importances > 0, importances, feature_names=["g0", "g1", "g2"])
    >>> similarity = [[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]]
    >>> substitutes(runs, similarity).round(2)
      feature substitute  share  similarity
    0      g0         g1   0.33         0.9
    1      g1         g0   1.00         0.9
    """
    import pandas as pd

    check_number(least_share, "least_share", "a number from 0 to 1", least=0, most=1)
    found = runs_of(runs, "runs")
    feature, substitute, share = moved_shares(found, similarity, least_share)
    columns = {
        "feature": found.feature_names[feature],
        "substitute": found.feature_names[substitute],
        "share": share,
        "similarity": _entries(similarity, feature, substitute),
    }
    return pd.DataFrame(columns)


def moved_shares(
    runs: Runs, similarity: Any, least_share: float
) -> tuple[IntArray, IntArray, FloatArray]:
    """Numbers of features and their substitutes, and the shares: the most important feature first."""
    plan = transport_plan(runs, similarity).tocoo()
    importance = _mean_shares(runs)
    feature, substitute = plan.coords
    share = np.minimum(plan.data / importance[feature], 1.0)
    kept = (feature != substitute) & (share >= least_share)
    feature, substitute, share = feature[kept], substitute[kept], share[kept]
    order = most_frequent(importance[feature], -feature, share)
    return feature[order], substitute[order], share[order]


def _entries(similarity: Any, row: IntArray, column: IntArray) -> FloatArray:
    """Entries of an array, a table or a sparse matrix."""
    is_sparse = sparse.issparse(similarity)
    matrix = sparse.csr_array(similarity) if is_sparse else np.asarray(similarity)
    found: Any = matrix[row, column]
    dense = found.toarray() if sparse.issparse(found) else found
    return np.asarray(dense, dtype=np.float64).ravel()


def _mean_shares(runs: Runs) -> FloatArray:
    """Share of each feature in the importance of a run, on average."""
    table = abs(sparse.csr_array(runs.table_for("importance_weighted")))
    totals = np.asarray(table.sum(axis=1)).ravel()
    return np.asarray(table.T @ (1 / np.where(totals > 0, totals, 1))) / len(runs)

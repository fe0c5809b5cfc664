"""How alike two selectors are on the same resamples: in what they select, and in what their models predict."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from skstab._typing import FloatArray
from skstab.metrics import Measure, replication_stability
from skstab.runs import Runs

__all__ = [
    "agreement_of_numbers",
    "mean_agreement",
    "mean_overlap",
    "own_agreement",
    "shared_features",
]


def mean_overlap(a: Runs, b: Runs, measure: Measure) -> float:
    """Similarity of the i-th run of one selector with the i-th run of the other (kalousis2007, section 6)."""
    first, second = (sparse.csr_array(runs.table_for(measure)) for runs in (a, b))
    order = (
        np.arange(2 * len(a)).reshape(2, -1).T.ravel()
    )  # one run of a, then one of b
    table = sparse.vstack([first, second], format="csr")[order]
    return replication_stability(table, measure=measure).estimate


def shared_features(a: Runs, b: Runs) -> float:
    """Mean number of features that two selectors both select on the same resample."""
    first, second = (sparse.csr_array(runs.tables.supports) for runs in (a, b))
    return float(first.multiply(second).sum() / len(a))


def _predictions(runs: Runs) -> FloatArray:
    return np.asarray(runs.row_predictions, dtype=np.float64)


def mean_agreement(a: Runs, b: Runs, *, classes: bool) -> float:
    """Share of equal predictions, or their correlation, of two models for the rows that one resample left out."""
    first, second = _predictions(a), _predictions(b)
    known = ~(np.isnan(first) | np.isnan(second))
    if classes:
        return float((first == second)[known].mean())
    return float(np.corrcoef(first[known], second[known])[0, 1])


def own_agreement(runs: Runs, *, classes: bool) -> float:
    """The same for two runs of one selector, averaged over all pairs of runs that left out a row (kalousis2007, 1)."""
    predictions = _predictions(runs)
    if classes:
        return _share_of_equal_pairs(predictions)
    return agreement_of_numbers(predictions)


def agreement_of_numbers(predictions: FloatArray) -> float:
    """Correlation of what two runs predict for one row, over the rows that at least two runs predict."""
    known = ~np.isnan(predictions)
    counts = known.sum(axis=0)
    usable = counts > 1
    # The correlation of two predictions for one row: products of different runs over squares, row by row.
    centred = np.where(known, predictions - np.nanmean(predictions), 0.0)[:, usable]
    total, squares, m = centred.sum(axis=0), (centred**2).sum(axis=0), counts[usable]
    return float(((total**2 - squares) / (m * (m - 1))).sum() / (squares / m).sum())


def _share_of_equal_pairs(predictions: FloatArray) -> float:
    counts = (~np.isnan(predictions)).sum(axis=0)
    equal = np.zeros(predictions.shape[1])
    for label in np.unique(predictions[~np.isnan(predictions)]):
        same = (predictions == label).sum(axis=0)
        equal += same * (same - 1)
    pairs = counts * (counts - 1)
    return float(equal.sum() / pairs.sum()) if pairs.sum() else float("nan")

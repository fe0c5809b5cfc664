"""Intervals of numeric features: the minimum description length principle of Fayyad and Irani.

All features are cut at once. A candidate is a place between two distinct neighbouring values of one sorted feature; a
segment is an interval of one sorted feature that may still be cut. Each pass evaluates all candidates of all segments,
cuts each segment at its best candidate if that shortens the description, and continues with the two parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from skstab._typing import BoolArray, FloatArray, IntArray

__all__ = ["interval_labels", "value_labels"]


# Entropies that differ by less are ties: they result from different sums of the same numbers.
_TIE = 1e-10


def interval_labels(X: FloatArray, codes: IntArray, n_classes: int) -> IntArray:
    """Number the intervals that each feature is cut into, from the lowest values up.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Numeric features.
    codes : ndarray of int of shape (n_samples,)
        The class of each row, from 0.
    n_classes : int
        The number of classes.

    Returns
    -------
    labels : ndarray of int of shape (n_samples, n_features)
        The interval of each value; 0 for all values of a feature without a cut.
    """
    order = np.argsort(X, axis=0, kind="stable")
    before = _counts_before(codes[order], n_classes)
    is_cut = np.zeros(X.shape, dtype=bool)
    candidates = _Candidates.of(_rises(X, order))
    while candidates.place.size:
        cuts, candidates = _cut_once(candidates, before)
        is_cut[cuts.place, cuts.feature] = True
    return _unsorted(is_cut, order)


def value_labels(X: FloatArray) -> IntArray:
    """Number the distinct values of each feature, from the lowest up."""
    order = np.argsort(X, axis=0, kind="stable")
    return _unsorted(_rises(X, order), order)


def _rises(X: FloatArray, order: IntArray) -> BoolArray:
    """Mark the sorted values that differ from the one before."""
    values = np.take_along_axis(X, order, axis=0)
    rises = np.zeros(X.shape, dtype=bool)
    np.not_equal(values[1:], values[:-1], out=rises[1:])
    return rises


def _unsorted(is_cut: BoolArray, order: IntArray) -> IntArray:
    labels = np.empty(order.shape, dtype=np.int64)
    np.put_along_axis(labels, order, np.cumsum(is_cut, axis=0), axis=0)
    return labels


def _counts_before(sorted_codes: IntArray, n_classes: int) -> IntArray:
    """Rows of each class before each place of each sorted feature: places × features × classes."""
    n, d = sorted_codes.shape
    counts = np.zeros((n + 1, d, n_classes), dtype=np.int64)
    np.cumsum(sorted_codes[..., None] == np.arange(n_classes), axis=0, out=counts[1:])
    return counts


class _Candidates(NamedTuple):
    """Places where features may be cut, those of one segment next to each other and in order."""

    feature: IntArray
    place: IntArray
    # The segment goes from `start` up to, but not including, `stop`.
    start: IntArray
    stop: IntArray

    @classmethod
    def of(cls, rises: BoolArray) -> _Candidates:
        feature, place = np.nonzero(rises.T)
        return cls(
            feature, place, np.zeros_like(place), np.full_like(place, len(rises))
        )

    def take(self, chosen: IntArray | BoolArray) -> _Candidates:
        return _Candidates(*(column[chosen] for column in self))

    def segments(self) -> tuple[IntArray, IntArray]:
        """Return where each segment's candidates begin, and the segment of each candidate."""
        begins = np.ones(len(self.place), dtype=bool)
        begins[1:] = (self.feature[1:] != self.feature[:-1]) | (
            self.start[1:] != self.start[:-1]
        )
        return np.flatnonzero(begins), np.cumsum(begins) - 1


def _cut_once(
    candidates: _Candidates, before: IntArray
) -> tuple[_Candidates, _Candidates]:
    """Cut each segment at most once; return the cuts, and the candidates within the two parts."""
    firsts, segment = candidates.segments()
    cuts = candidates.take(_best_places(candidates, before, firsts, segment))
    pays = _shortens(cuts, before)
    place = cuts.place[segment]
    goes_on = pays[segment] & (candidates.place != place)
    halves = candidates._replace(
        start=np.where(candidates.place > place, place, candidates.start),
        stop=np.where(candidates.place < place, place, candidates.stop),
    )
    return cuts.take(pays), halves.take(goes_on)


def _best_places(
    candidates: _Candidates, before: IntArray, firsts: IntArray, segment: IntArray
) -> IntArray:
    """Index of the first candidate of each segment with the least remaining entropy."""
    at = before[candidates.place, candidates.feature]
    left = _bits(at - before[candidates.start, candidates.feature])
    cost = left + _bits(before[candidates.stop, candidates.feature] - at)
    least = np.minimum.reduceat(cost, firsts)[segment]
    best = np.flatnonzero(cost <= least * (1 + _TIE) + _TIE)
    return best[np.unique(segment[best], return_index=True)[1]]


def _shortens(cuts: _Candidates, before: IntArray) -> BoolArray:
    """Whether each cut shortens the description of the classes: the MDLPC criterion of Fayyad and Irani."""
    start, at, stop = (
        before[place, cuts.feature] for place in (cuts.start, cuts.place, cuts.stop)
    )
    parts = (stop - start, at - start, stop - at)
    n = (cuts.stop - cuts.start).astype(float)
    whole, left, right = (_bits(part) for part in parts)
    k, k_left, k_right = (np.count_nonzero(part, axis=-1) for part in parts)
    entropies = (
        k * whole / n
        - k_left * left / (cuts.place - cuts.start)
        - k_right * right / (cuts.stop - cuts.place)
    )
    # log2(3ᵏ − 2), which would overflow for many classes.
    choices = k * np.log2(3) + np.log1p(-2 * 3.0**-k) / np.log(2)
    return np.asarray(
        whole - left - right > np.log2(n - 1) + choices - entropies + _TIE
    )


def _bits(counts: IntArray) -> FloatArray:
    """Entropy in bits of the classes counted along the last axis, times their number."""
    n = counts.sum(axis=-1)
    return np.asarray((xlogy(n, n) - xlogy(counts, counts).sum(axis=-1)) / np.log(2))

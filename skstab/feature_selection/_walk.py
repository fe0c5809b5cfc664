"""Following the path of a sparse model until enough features are selected."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

__all__ = ["Step", "Walk", "walk"]

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]


class Step(NamedTuple):
    """The features selected at one value, and their importances, None if unknown."""

    selected: Indices
    importances: Floats | None


class Walk(NamedTuple):
    """What a subsample selected at each value and at any value, and how many fits did not converge."""

    supports: list[Indices]
    seen: Indices
    n_unconverged: int


def walk(path: Iterator[Step], q: int | None, n_columns: int) -> Walk:
    """Follow a path to its end, or until `q` features have been in; the last support then stays.

    Other warnings than those of convergence are passed on to the user.
    """
    supports: list[Indices] = []
    is_seen = np.zeros(n_columns, dtype=bool)
    n_unconverged, is_last = 0, False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        while not is_last and (q is None or np.count_nonzero(is_seen) < q):
            n_before = len(caught)
            step = next(path, None)
            if step is None:
                break
            n_unconverged += any(map(_is_lost, caught[n_before:]))
            support, is_last = _first_in(step, is_seen, supports, q)
            supports.append(support)
            is_seen[support] = True
    for other in caught:
        if not _is_lost(other):
            warnings.warn_explicit(
                other.message, other.category, other.filename, other.lineno
            )
    return Walk(supports, np.flatnonzero(is_seen), n_unconverged)


def _is_lost(warning: warnings.WarningMessage) -> bool:
    return issubclass(warning.category, ConvergenceWarning)


def _first_in(
    step: Step, is_seen: NDArray[np.bool_], supports: list[Indices], q: int | None
) -> tuple[Indices, bool]:
    """Support at a value, with at most `q` features over the whole path, and whether there was one too many.

    Of several features that enter between two values, the most important ones count as the first; where importances are
    unknown, none of them enters.
    """
    if q is None:
        return step.selected, False
    is_new = ~is_seen[step.selected]
    n_free = q - np.count_nonzero(is_seen)
    if np.count_nonzero(is_new) <= n_free:
        return step.selected, False
    if step.importances is None:
        return supports[-1] if supports else np.zeros(0, dtype=np.intp), True
    new = step.selected[is_new]
    order = np.argsort(-step.importances[is_new], kind="stable")
    return np.sort(np.r_[step.selected[~is_new], new[order[:n_free]]]), True

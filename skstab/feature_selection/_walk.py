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


def walk(path: Iterator[Step], q: int | None) -> Walk:
    """Follow a path to its end, or until `q` features have been in; the last support then stays."""
    supports: list[Indices] = []
    seen = np.zeros(0, dtype=np.intp)
    n_unconverged = 0
    while q is None or len(seen) < q:
        step, converged = _watched(path)
        if step is None:
            break
        n_unconverged += not converged
        support, is_last = _first_in(step, seen, supports, q)
        supports.append(support)
        seen = np.union1d(seen, support)
        if is_last:
            break
    return Walk(supports, seen, n_unconverged)


def _watched(path: Iterator[Step]) -> tuple[Step | None, bool]:
    """Next step of a path and whether its fit converged; other warnings are passed on to the user."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        step = next(path, None)
    lost = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    for other in (w for w in caught if w not in lost):
        warnings.warn_explicit(
            other.message, other.category, other.filename, other.lineno
        )
    return step, not lost


def _first_in(
    step: Step, seen: Indices, supports: list[Indices], q: int | None
) -> tuple[Indices, bool]:
    """Support at a value, with at most `q` features over the whole path, and whether there was one too many.

    Of several features that enter between two values, the most important ones count as the first; where importances are
    unknown, none of them enters.
    """
    new = np.setdiff1d(step.selected, seen)
    if q is None or len(seen) + len(new) <= q:
        return step.selected, False
    if step.importances is None:
        return supports[-1] if supports else seen, True
    is_new = np.isin(step.selected, new)
    order = np.argsort(-step.importances[is_new], kind="stable")
    return np.sort(np.r_[step.selected[~is_new], new[order[: q - len(seen)]]]), True

"""The rows as a splitter sees them, and the checks of what a splitter is given.

`make_sample` turns X, y and groups into a `Sample`: the units that are drawn, the strata they are drawn in and the
classes that a training set must keep.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target

from skstab._checks import is_bool, is_int, is_number, naming
from skstab._typing import IntArray

__all__ = [
    "Sample",
    "check_lengths",
    "check_n_splits",
    "check_sizes",
    "check_stratify",
    "make_sample",
]


@dataclass(frozen=True)
class Sample:
    """The rows as a splitter sees them: units to draw, strata to draw them in, classes to keep.

    Attributes
    ----------
    unit : ndarray of shape (n_rows,)
        The unit each row is drawn with: itself, or its group.
    stratum : ndarray of shape (n_units,)
        The stratum each unit is drawn within.
    label : ndarray of shape (n_rows,) or None
        The class of each row; None when a training set needs no second class.
    event : ndarray of bool of shape (n_rows,) or None
        Whether a row has the event of a survival analysis; None when a training set needs none.
    """

    unit: IntArray
    stratum: IntArray
    label: IntArray | None
    event: NDArray[np.bool_] | None = None

    @property
    def n_units(self) -> int:
        return len(self.stratum)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of units in each stratum."""
        return np.bincount(self.stratum)

    @cached_property
    def order(self) -> IntArray:
        """Units sorted by stratum, so that a stratum is a range of positions."""
        return np.argsort(self.stratum, kind="stable")

    @cached_property
    def ranges(self) -> tuple[IntArray, IntArray]:
        """Start and size, for each position in `order`, of the range of its stratum."""
        start = np.cumsum(self.sizes) - self.sizes
        return np.repeat(start, self.sizes), np.repeat(self.sizes, self.sizes)

    def is_usable(self, row_counts: IntArray) -> bool:
        """Whether a training set leaves a row to test on and has two classes, or an event, if it needs them."""
        seen = row_counts > 0
        if seen.all() or (self.event is not None and not self.event[seen].any()):
            return False
        return self.label is None or bool(np.ptp(self.label[seen]) > 0)


def _n_rows(values: Any, name: str) -> int:
    shape = getattr(values, "shape", None)
    if shape is None and hasattr(values, "__len__"):
        shape = (len(values),)
    if not shape:
        raise TypeError(f"{name} must be array-like, got {type(values).__name__}")
    return int(shape[0])


def check_lengths(X: Any, y: Any, groups: Any) -> int:
    """Return the number of rows, which y and groups must share."""
    n_rows = _n_rows(X, "X")
    for name, values in (("y", y), ("groups", groups)):
        if values is not None and (length := _n_rows(values, name)) != n_rows:
            raise ValueError(
                f"{name} must have one entry for each of the {n_rows} rows of X, got {length}"
            )
    return n_rows


def _as_labels(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return the values as an array, without its second axis where that has length one."""
    with naming(name):
        labels: NDArray[Any] = check_array(
            values,
            accept_sparse=True,
            dtype=None,
            ensure_2d=False,
            ensure_min_samples=0,
            input_name=name,
        )
    return labels.ravel() if labels.ndim == 2 and labels.shape[1] == 1 else labels


def _encode(labels: NDArray[Any], name: str) -> tuple[NDArray[Any], IntArray, IntArray]:
    """Return the distinct labels, the first row of each, and each row's place among them."""
    try:
        return np.unique(labels, return_index=True, return_inverse=True)
    except TypeError as error:
        raise TypeError(
            f"{name} must hold labels of one type, all strings or numbers"
        ) from error


def _events(y: Any) -> NDArray[np.bool_] | None:
    """Return the boolean field of a structured target, as survival analysis has it; None where there is none."""
    if not _is_structured(y):
        return None
    names = [name for name in y.dtype.names if y.dtype[name] == np.bool_]
    return np.asarray(y[names[0]]).ravel() if names else None


def _is_structured(y: Any) -> bool:
    return bool(getattr(getattr(y, "dtype", None), "names", None))


def _class_codes(y: Any) -> IntArray | None:
    """Return the class of each row, None where y is not a binary or multiclass target."""
    if y is None or _is_structured(y) or (labels := _as_labels(y, "y")).ndim != 1:
        return None
    classes, _, codes = _encode(labels, "y")
    kind = type_of_target(classes, input_name="y")
    return codes if kind in ("binary", "multiclass") else None


def _group_codes(groups: ArrayLike) -> tuple[IntArray, IntArray]:
    """Return the first row of each group and the group of each row."""
    labels = _as_labels(groups, "groups")
    if labels.ndim != 1:
        raise ValueError(f"groups must be one-dimensional, got shape {labels.shape}")
    _, first, codes = _encode(labels, "groups")
    return first, codes


def _group_strata(codes: IntArray, first: IntArray, unit: IntArray) -> IntArray:
    """Return the class of each group."""
    strata = codes[first]
    if np.any(strata[unit] != codes):
        raise ValueError(
            "stratify=True with groups expects every group to have one class of y, but at least "
            "one group has several; pass stratify=False to draw the groups from the whole"
        )
    return strata


def _classes_to_stratify(
    y: Any, codes: IntArray | None, events: NDArray[np.bool_] | None
) -> IntArray:
    if events is not None:
        return np.unique(events, return_inverse=True)[1]
    if codes is None:
        raise ValueError(
            "stratify=True expects y to be a binary or multiclass target, or a structured array with a boolean field "
            f"for the event, got {_kind_of(y)}"
        )
    return codes


def _kind_of(y: Any) -> str:
    if _is_structured(y):
        return "a structured array without a boolean field"
    return "None" if y is None else str(type_of_target(y, input_name="y"))


def _has_two_classes(codes: IntArray | None) -> bool:
    return codes is not None and codes.size > 0 and bool(np.ptp(codes) > 0)


def make_sample(X: Any, y: Any, groups: Any, *, stratify: bool) -> Sample:
    """Check the data and say what is drawn, in which strata."""
    first = unit = np.arange(check_lengths(X, y, groups))
    if groups is not None:
        first, unit = _group_codes(groups)
    codes, events = _class_codes(y), _events(y)
    strata = np.zeros(len(first), dtype=np.int64)
    if stratify:
        strata = _group_strata(_classes_to_stratify(y, codes, events), first, unit)
    needed = events if events is not None and events.any() else None
    return Sample(unit, strata, codes if _has_two_classes(codes) else None, needed)


def check_n_splits(n_splits: Any, step: int, *, name: str = "n_splits") -> int:
    """Return n_splits, which must be a positive multiple of step (1 or 2)."""
    expected = f"{name} must be {'an int' if step == 1 else 'an even int'} >= {step}"
    if not is_int(n_splits):
        raise TypeError(f"{expected}, got {n_splits!r}")
    if n_splits < step or n_splits % step:
        raise ValueError(f"{expected}, got {n_splits!r}")
    return int(n_splits)


def check_sizes(sizes: Any) -> list[int | float]:
    """Return sizes, which must be whole numbers of rows or shares of them, up to a half."""
    expected = "sizes must be a sequence of ints >= 1 (rows) or floats above 0 and up to 0.5 (shares of the rows)"
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        raise TypeError(f"{expected}, got {sizes!r}")
    with naming("sizes"):
        listed = list(sizes)
    wrong = [
        size
        for size in listed
        if not (is_int(size, 1) or is_number(size, above=0, most=0.5))
    ]
    if wrong or not listed:
        raise ValueError(f"{expected}, got {wrong[0] if wrong else listed!r}")
    return listed


def check_stratify(stratify: Any) -> bool:
    """Return stratify, which must be a bool."""
    if not is_bool(stratify):
        raise TypeError(f"stratify must be a bool, got {stratify!r}")
    return bool(stratify)

"""Splitters for stability: what a selector sees when the data are perturbed by resampling.

Every draw owns a random stream, derived from ``random_state`` and the draw's number alone. A draw that no model could
be trained or tested on is repeated within that stream, so no split depends on ``n_splits`` or on what happened to the
splits before it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator

from skstab._checks import is_int
from skstab._random import draw_entropy, stream
from skstab._typing import IntArray, MatrixLike, RandomState
from skstab.model_selection._sample import (
    Sample,
    check_lengths,
    check_n_splits,
    check_sizes,
    check_stratify,
    make_sample,
)

__all__ = [
    "BootstrapSplit",
    "ComplementaryPairsSplit",
    "DisjointBlocksSplit",
    "WholeSampleSplit",
]

Split: TypeAlias = tuple[IntArray, IntArray]
# (sample, random stream) → how often each unit is trained on, for each split of one draw
Draw: TypeAlias = Callable[[Sample, np.random.RandomState], tuple[IntArray, ...]]

# A draw that can be usable at all is so with probability 1/4 or more (the worst is two groups, one
# of them with every class), hence (3/4)**200 < 1e-24 is the chance to give up wrongly.
_MAX_DRAWS = 200


class _ResamplingSplit(BaseCrossValidator):
    """Draw units at random, train on the rows of the units drawn and test on all other rows."""

    __metadata_request__split: ClassVar = {"groups": True}

    _splits_per_draw: ClassVar[int] = 1

    def __init__(
        self,
        n_splits: int = 50,
        *,
        stratify: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_splits = n_splits
        self.stratify = stratify
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of splits.

        Parameters
        ----------
        X : object, default=None
            Ignored, exists for API compatibility.
        y : object, default=None
            Ignored, exists for API compatibility.
        groups : object, default=None
            Ignored, exists for API compatibility.

        Returns
        -------
        n_splits : int
            The number of splits.
        """
        return check_n_splits(self.n_splits, self._splits_per_draw)

    def split(
        self, X: MatrixLike, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[Split]:
        """Generate the indices of the training and the test rows of each split.

        Parameters and data are checked by the call itself, not when the first split is asked for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data, of which only the number of rows is used.
        y : array-like of shape (n_samples,), default=None
            The target. A binary or multiclass target with at least two classes has at least two of them in every
            training set; a structured target with a boolean field, as survival analysis has it, at least one event.
        groups : array-like of shape (n_samples,), default=None
            The group of each row. Groups are then drawn whole.

        Returns
        -------
        splits : iterator of (train, test)
            Two integer arrays per split, each in ascending order.
        """
        n_splits = self.get_n_splits()
        sample = make_sample(X, y, groups, stratify=check_stratify(self.stratify))
        self._check_n_units(sample.n_units, grouped=groups is not None)
        return self._iter_splits(sample, n_splits, draw_entropy(self.random_state))

    def _check_n_units(self, n_units: int, *, grouped: bool) -> None:
        if n_units < 2:
            units, name = ("groups", "n_groups") if grouped else ("rows", "n_samples")
            raise ValueError(
                f"X can't be split: {type(self).__name__} expects at least 2 {units}, got {name}={n_units}"
            )

    def _iter_splits(
        self, sample: Sample, n_splits: int, entropy: list[int]
    ) -> Iterator[Split]:
        rows = np.arange(len(sample.unit))
        for draw, rng in self._draws(sample, n_splits, entropy):
            for row_counts in self._draw_usable(sample, draw, rng):
                yield np.repeat(rows, row_counts), np.flatnonzero(row_counts == 0)

    def _draws(
        self,
        sample: Sample,  # noqa: ARG002
        n_splits: int,
        entropy: list[int],
    ) -> Iterator[tuple[Draw, np.random.RandomState]]:
        """Generate each draw with its random stream."""
        for number in range(n_splits // self._splits_per_draw):
            yield self._draw, stream(entropy, number)

    def _draw_usable(
        self, sample: Sample, draw: Draw, rng: np.random.RandomState
    ) -> list[IntArray]:
        """Return how often each row is trained on, for each split of one draw."""
        for _ in range(_MAX_DRAWS):
            drawn = [counts[sample.unit] for counts in draw(sample, rng)]
            if all(map(sample.is_usable, drawn)):
                return drawn
        raise ValueError(
            f"{type(self).__name__} found no usable split in {_MAX_DRAWS} draws: it expects "
            "enough rows (or groups) of each class for every training set to have at least 2 "
            "classes and leave out at least 1 row (and, where y is structured, to have an event), "
            f"got {sample.n_units} rows (or groups)"
        )

    @abstractmethod
    def _draw(self, sample: Sample, rng: np.random.RandomState) -> tuple[IntArray, ...]:
        """Return how often each unit is trained on, for each split of one draw."""


class BootstrapSplit(_ResamplingSplit):
    """Bootstrap: train on rows drawn with replacement, test on the rows out of the bag.

    A training set has as many rows as the data, some of them several times; on average a fraction (1 - 1/n)ⁿ ≈ 0.368 of
    the rows is never drawn and makes up the test set.

    Parameters
    ----------
    n_splits : int, default=50
        Number of resamples.
    stratify : bool, default=False
        Whether to draw within each class of ``y``, so that every training set has the class counts of the whole. The
        classes of a structured ``y`` are the values of its boolean field: whether a row has the event.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same splits in every call of ``split``; more splits then extend the earlier ones, since no
        split depends on ``n_splits``.

    See Also
    --------
    ComplementaryPairsSplit : Disjoint halves, drawn without replacement.
    WholeSampleSplit : All rows on both sides of every split.

    Notes
    -----
    With ``groups``, whole groups are drawn with replacement, as many as there are: the training set has all rows of
    each drawn group, as often as it was drawn, and the test set the rows of groups never drawn. ``stratify=True`` then
    draws groups within classes, and expects one class per group.

    A resample without out-of-bag rows, or with one class where ``y`` is a binary or multiclass target with more, is
    drawn again from the same split's random stream. It is an error where no resample is usable, for example when there
    are two rows and they differ in class.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.model_selection import BootstrapSplit
    >>> X, y = np.zeros((6, 2)), np.array([0, 0, 0, 1, 1, 1])
    >>> cv = BootstrapSplit(3, stratify=True, random_state=0)
    >>> for train, test in cv.split(X, y):
    ...     print(train, test)
    [0 1 2 3 5 5] [4]
    [0 2 2 3 4 5] [1]
    [0 0 1 3 3 5] [2 4]
    """

    def _draw(self, sample: Sample, rng: np.random.RandomState) -> tuple[IntArray, ...]:
        start, size = sample.ranges
        # ⌊u·size⌋ < size for every double u < 1, and faster than randint with array bounds.
        position = start + (rng.random_sample(sample.n_units) * size).astype(np.int64)
        return (np.bincount(sample.order[position], minlength=sample.n_units),)


class ComplementaryPairsSplit(_ResamplingSplit):
    """Complementary pairs: train on the two disjoint halves of a random permutation.

    Splits ``2b`` and ``2b + 1`` are a pair: their training sets have ⌊n/2⌋ rows each and none in common. The test set
    of a split has all rows it was not trained on: the other half, and for odd ``n`` also the one row that is in
    neither.

    Parameters
    ----------
    n_splits : int, default=50
        Number of splits, that is twice the number of pairs: even and at least 2.
    stratify : bool, default=False
        Whether to halve each class of ``y`` (of a structured ``y``, the rows with and those without the event). A class
        of odd size gives its odd row to either half, so that both halves still have ⌊n/2⌋ rows; for odd ``n``, the row
        that is in neither comes from a class of odd size.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same splits in every call of ``split``; more splits then extend the earlier ones, since no
        split depends on ``n_splits``.

    See Also
    --------
    BootstrapSplit : As many rows as the data, drawn with replacement.
    DisjointBlocksSplit : Pairs of disjoint blocks of other sizes.
    WholeSampleSplit : All rows on both sides of every split.
    skstab.metrics.replication_stability : What the pairs say about other data sets.

    Notes
    -----
    The two halves of a pair are independent samples, but halves of different pairs share rows: a stability over all
    runs overstates what other data sets would show, by up to 0.2 (``benchmarks/other_data.py``). Compare within
    pairs.

    With ``groups``, the groups are halved and not the rows: each half has all rows of half of the groups.
    ``stratify=True`` then halves the groups of each class, and expects one class per group.

    A pair with a half of one class where ``y`` is a binary or multiclass target with more is drawn again from the same
    pair's random stream. It is an error where no pair is usable, for example when all rows but one are of the same
    class.

    References
    ----------
    R. D. Shah and R. J. Samworth, "Variable selection with error control: another look at stability selection", Journal
    of the Royal Statistical Society B 75 (2013), 55-80.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.model_selection import ComplementaryPairsSplit
    >>> X, y = np.zeros((7, 2)), np.array([0, 0, 0, 0, 1, 1, 1])
    >>> cv = ComplementaryPairsSplit(4, stratify=True, random_state=0)
    >>> for train, test in cv.split(X, y):
    ...     print(train, test)
    [0 1 4] [2 3 5 6]
    [2 3 5] [0 1 4 6]
    [0 2 4] [1 3 5 6]
    [1 3 5] [0 2 4 6]
    """

    _splits_per_draw = 2

    def _draw(self, sample: Sample, rng: np.random.RandomState) -> tuple[IntArray, ...]:
        order = _strata_end_to_end(sample, rng)
        if sample.n_units % 2:
            odd = np.flatnonzero(sample.sizes[sample.stratum[order]] % 2)
            order = np.delete(order, rng.choice(odd))
        # Dealt alternately through the strata laid end to end, no stratum and no total is uneven
        # by more than one.
        return _dealt(order, sample.n_units)


class DisjointBlocksSplit(_ResamplingSplit):
    """Pairs of disjoint blocks of several sizes: how stable the selection is with fewer rows.

    Splits ``2b`` and ``2b + 1`` are a pair: their training sets have the same number of rows and none in common, so
    that they are independent samples. Each repeat has one pair of each size, in the order of ``sizes``: split ``s`` is
    of size ``sizes[s // 2 % len(sizes)]``.

    Parameters
    ----------
    sizes : sequence of int or float
        How many rows a block has: a whole number, or a share of the rows, up to 0.5, which is rounded down.
    n_repeats : int
        Number of pairs of each size.
    stratify : bool, default=False
        Whether every block has its share, up to one row, of each class of ``y`` (of a structured ``y``, of the rows
        with and those without the event).
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same splits in every call of ``split``; more repeats then extend the earlier ones.

    See Also
    --------
    ComplementaryPairsSplit : The pairs of halves alone.
    skstab.metrics.replication_stability : What the pairs of one size say about other data sets.

    Notes
    -----
    With ``groups``, the sizes are numbers, or shares, of groups, and a block has all rows of its groups.
    ``stratify=True`` then expects one class per group.

    Examples
    --------
    The stability over data sets of an eighth, a quarter and half of the rows:

    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.feature_selection import SelectKBest
    >>> from skstab.metrics import replication_stability
    >>> from skstab.model_selection import DisjointBlocksSplit
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> cv = DisjointBlocksSplit([1 / 8, 1 / 4, 1 / 2], n_repeats=10, stratify=True, random_state=0)
    >>> supports = np.array([SelectKBest(k=8).fit(X[train], y[train]).get_support() for train, _ in cv.split(X, y)])
    >>> size = np.arange(len(supports)) // 2 % 3
    >>> for number in range(3):
    ...     print(replication_stability(supports[size == number], confidence_level=0.9))
    0.78 (90% interval 0.55 to 0.97, other data)
    0.90 (90% interval 0.76 to 1.00, other data)
    0.90 (90% interval 0.76 to 1.00, other data)
    """

    def __init__(
        self,
        sizes: Sequence[int | float],
        n_repeats: int,
        *,
        stratify: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sizes = sizes
        self.n_repeats = n_repeats
        self.stratify = stratify
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of splits.

        Parameters
        ----------
        X : object, default=None
            Ignored, exists for API compatibility.
        y : object, default=None
            Ignored, exists for API compatibility.
        groups : object, default=None
            Ignored, exists for API compatibility.

        Returns
        -------
        n_splits : int
            Two for each size and repeat.
        """
        return (
            2
            * len(check_sizes(self.sizes))
            * check_n_splits(self.n_repeats, 1, name="n_repeats")
        )

    def _check_n_units(self, n_units: int, *, grouped: bool) -> None:
        for size in check_sizes(self.sizes):
            if not 1 <= _n_in_block(size, n_units) <= n_units // 2:
                units = "groups" if grouped else "rows"
                raise ValueError(
                    f"sizes must give two disjoint blocks of at least 1 of the {n_units} {units}, got {size!r}"
                )

    def _draws(
        self, sample: Sample, n_splits: int, entropy: list[int]
    ) -> Iterator[tuple[Draw, np.random.RandomState]]:
        sizes = [_n_in_block(size, sample.n_units) for size in self.sizes]
        for repeat in range(n_splits // (2 * len(sizes))):
            for number, size in enumerate(sizes):
                yield partial(self._draw, size=size), stream(entropy, repeat, number)

    def _draw(
        self, sample: Sample, rng: np.random.RandomState, size: int = 1
    ) -> tuple[IntArray, ...]:
        order = _strata_end_to_end(sample, rng)
        # Evenly spaced places take from each stratum its share, up to one; dealt alternately, so do both blocks.
        places = (
            (np.arange(2 * size) + rng.random_sample()) * (sample.n_units / (2 * size))
        ).astype(np.int64)
        return _dealt(order[places], sample.n_units)


def _n_in_block(size: int | float, n_units: int) -> int:
    return (
        int(size) if is_int(size) else int(size * n_units + 1e-9)
    )  # 0.29 × 100 must count as 29


def _strata_end_to_end(sample: Sample, rng: np.random.RandomState) -> IntArray:
    """Units in random order within their strata, and the strata in random order."""
    order = rng.permutation(sample.n_units)
    place = rng.permutation(len(sample.sizes))[sample.stratum[order]]
    return np.asarray(order[np.argsort(place, kind="stable")])


def _dealt(units: IntArray, n_units: int) -> tuple[IntArray, ...]:
    """Deal units alternately to two training sets."""
    return tuple(
        np.bincount(half, minlength=n_units) for half in (units[::2], units[1::2])
    )


class WholeSampleSplit(BaseCrossValidator):
    """All rows in the training set and all rows in the test set, once or several times.

    One split is for a search over an estimator that resamples inside ``fit``, such as ``StabilityCV``, where scorers
    read what the fit kept and a second level of splits would only cost rows. Several are for runs that differ by other
    things than rows, such as noise or seeds. The scores of a model fitted on such a split are those on its training
    data.

    Parameters
    ----------
    n_splits : int, default=1
        How often the same split is repeated.

    See Also
    --------
    BootstrapSplit : Rows drawn with replacement, tested out of the bag.
    ComplementaryPairsSplit : Disjoint halves, drawn without replacement.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.model_selection import WholeSampleSplit
    >>> for train, test in WholeSampleSplit().split(np.zeros((4, 2))):
    ...     print(train, test)
    [0 1 2 3] [0 1 2 3]
    >>> WholeSampleSplit(n_splits=30).get_n_splits()
    30
    """

    def __init__(self, n_splits: int = 1) -> None:
        self.n_splits = n_splits

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of splits.

        Parameters
        ----------
        X : object, default=None
            Ignored, exists for API compatibility.
        y : object, default=None
            Ignored, exists for API compatibility.
        groups : object, default=None
            Ignored, exists for API compatibility.

        Returns
        -------
        n_splits : int
            The number of splits.
        """
        return check_n_splits(self.n_splits, 1)

    def split(
        self, X: MatrixLike, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[Split]:
        """Generate the same indices of training and test rows ``n_splits`` times.

        Parameters and data are checked by the call itself, not when the first split is asked for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data, of which only the number of rows is used.
        y : array-like of shape (n_samples,), default=None
            The target, of which only the length is checked.
        groups : array-like of shape (n_samples,), default=None
            The group of each row, of which only the length is checked.

        Returns
        -------
        splits : iterator of (train, test)
            Two integer arrays per split, both with all rows in order.
        """
        n_splits = self.get_n_splits()
        n_rows = check_lengths(X, y, groups)
        if n_rows < 1:
            raise ValueError(
                "X can't be split: WholeSampleSplit expects at least 1 row, got n_samples=0"
            )
        return ((np.arange(n_rows), np.arange(n_rows)) for _ in range(n_splits))

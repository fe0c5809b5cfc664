"""Scores of single features: Welch's t with the variance, and the dependence of intervals of values on the class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from scipy.special import xlogy
from sklearn.utils import (
    assert_all_finite,
    check_array,
    check_consistent_length,
    column_or_1d,
    gen_batches,
)
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.sparsefuncs import mean_variance_axis

from skstab._checks import check_number, is_choice, naming
from skstab._matrices import with_entries_once
from skstab._statistics import column_ranges
from skstab._typing import BoolArray, FloatArray, IntArray, MatrixLike
from skstab.feature_selection._discretise import interval_labels, value_labels

__all__ = [
    "discretised_chi2",
    "information_gain",
    "read_data",
    "symmetrical_uncertainty",
    "welch_variance",
]

Target = Literal["auto", "classes", "numeric"]

_BATCH = 2**18  # numbers that may be copied at a time
_LEAST_VARIANCE = 1e-200  # its inverse, times a few rows, is still finite
_KINDS = {"binary": "classes", "multiclass": "classes", "continuous": "numeric"}


# -- input -------------------------------------------------------------------------------------------------------------


class Data(NamedTuple):
    """Checked features, and the target as class codes or as numbers."""

    X: Any
    y: NDArray[Any]
    # 0 where the target is numeric.
    n_classes: int


def read_data(X: Any, y: Any, target: Target) -> Data:
    """Check the arguments of a score function."""
    if not is_choice(target, "auto", "classes", "numeric"):
        raise ValueError(
            f"target must be 'auto', 'classes' or 'numeric', got {target!r}"
        )
    with naming("X"):
        X = check_array(
            X,
            accept_sparse=("csr", "csc"),
            dtype=np.float64,
            ensure_min_samples=2,
            input_name="X",
        )
    X = with_entries_once(X)
    if y is None:
        raise ValueError(
            "y is required: the score measures the dependence of each feature on it, got None"
        )
    with naming("y"):
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        assert_all_finite(y, input_name="y")
        kind = _kind_of(y) if target == "auto" else target
        return Data(X, *(_classes(y) if kind == "classes" else _numbers(y)))


def _kind_of(y: NDArray[Any]) -> str:
    with np.errstate(
        invalid="ignore"
    ):  # scikit-learn casts numbers to integers, which may be too large for that
        kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind not in _KINDS:
        raise ValueError(
            f"y must hold one class or one number for each row, got a {kind} target"
        )
    return _KINDS[kind]


def _classes(y: NDArray[Any]) -> tuple[IntArray, int]:
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y must have at least 2 classes, got only class {classes[0]!r}"
        )
    return codes, len(classes)


def _numbers(y: NDArray[Any]) -> tuple[FloatArray, int]:
    numbers = y.astype(np.float64)
    if np.ptp(numbers) == 0:
        raise ValueError(f"y must vary, got {numbers[0]} in all rows")
    return numbers, 0


# -- Welch's t and the variance ----------------------------------------------------------------------------------------


def welch_variance(
    X: MatrixLike,
    y: ArrayLike,
    *,
    variance_weight: float = 0.5,
    target: Target = "auto",
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """Score features by a mixture of Welch's t and the sample variance.

    The univariate criterion of Hybrid-RFE: high for features that differ between the classes, and for features of
    large variance. The variance does not use the target, so it stabilises the choice.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Numeric features.
    y : array-like of shape (n_samples,)
        Classes, or numbers.
    variance_weight : float, default=0.5
        Weight of the variance, from 0 (Welch's t alone) to 1 (the variance alone).
    target : {"auto", "classes", "numeric"}, default="auto"
        The kind of y. "auto" uses scikit-learn's `type_of_target`, which treats integers as classes: set "numeric" if
        they are counts or grades.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts; positive. Weights with a mean below 1 cannot be counts and are scaled to a mean of 1.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Finite and not negative; 0 for constant features.

    Notes
    -----
    The paper does not state how the two are made comparable. Here each is divided by its median over the features where
    it is positive, so that a typical feature scores about 1. A common unit of X does not change the mixture, and a few
    perfect features hardly change it. On features of unit variance the ranking is that of t.

    - Two classes: Welch's t, in absolute value.
    - More classes: the root of Welch's F, which is the same as t for two classes.
    - Numbers: the t of the correlation with y, in absolute value.

    A class of one row has no variance, and gets the pooled one of the other classes. If every class has one row, t is
    0. Features that are constant within each class but not over all rows have a very large t rather than an infinite
    one.

    References
    ----------
    Hamer and Dupont, An Importance Weighted Feature Selection Stability Measure, JMLR 2021, section 6.1. Welch, The
    generalization of Student's problem, Biometrika 1947; On the comparison of several mean values, Biometrika 1951.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.feature_selection import welch_variance
    >>> X = np.array([[1.0, 5.0, 2.0], [2.0, 3.0, 2.0], [5.0, 4.0, 2.0], [6.0, 4.5, 2.0]])
    >>> welch_variance(X, [0, 0, 1, 1]).round(2)
    array([1.84, 0.16, 0.  ])

    As a filter, with its own keywords:

    >>> from functools import partial
    >>> from sklearn.feature_selection import SelectKBest
    >>> SelectKBest(partial(welch_variance, variance_weight=0.2), k=1).fit(X, [0, 0, 1, 1]).get_support()
    array([ True, False, False])
    """
    check_number(
        variance_weight, "variance_weight", "a number from 0 to 1", least=0, most=1
    )
    data = _in_other_units(read_data(X, y, target))
    low, high = column_ranges(data.X)
    resolution = np.finfo(float).eps * np.maximum(np.abs(low), np.abs(high))
    floor = np.maximum(resolution**2, _LEAST_VARIANCE)
    weight = _row_weights(sample_weight, len(data.y))
    t, variance = (_class_scores if data.n_classes else _numeric_scores)(
        data, weight, floor
    )
    scores = (1 - variance_weight) * _typical_one(t) + variance_weight * _typical_one(
        variance
    )
    return np.where(low == high, 0.0, scores)


def _in_other_units(data: Data) -> Data:
    """Change the units of data whose squares are too large or too small for float64, which changes no score."""
    y = data.y if data.n_classes else data.y * power_to_one(data.y)
    power = power_to_one(data.X)
    return data._replace(X=data.X if power == 1 else data.X * power, y=y)


def power_to_one(values: Any) -> float:
    """The power of 2 by which the largest number becomes about 1; 1 where squares are no problem anyway."""
    largest = float(abs(values).max())
    if largest == 0 or 1e-50 < largest < 1e100:
        return 1.0
    return float(
        np.ldexp(1.0, min(1023, -int(np.frexp(largest)[1])))
    )  # 2¹⁰²³ is the largest power there is


def _typical_one(values: FloatArray) -> FloatArray:
    positive = values[values > 0]
    return values / np.median(positive) if len(positive) else values


def _row_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n_rows)
    with naming("sample_weight"):
        weight: FloatArray = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
        )
    if weight.shape != (n_rows,) or weight.min() <= 0:
        raise ValueError(
            f"sample_weight must hold one positive number for each of {n_rows} rows"
        )
    return np.asarray(weight / min(1.0, weight.mean()))


def _class_scores(
    data: Data, weight: FloatArray, floor: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Welch's |t| (the root of his F for more than two classes) and the variance over all rows."""
    counts = np.bincount(data.y, weight, minlength=data.n_classes)[:, None]
    means, squares = class_moments(data.X, data.y, weight, data.n_classes)
    n = counts.sum()
    between = counts * (means - (counts * means).sum(axis=0) / n) ** 2
    variance = (squares.sum(axis=0) + between.sum(axis=0)) / (n - 1)
    if n <= data.n_classes:
        return np.zeros_like(variance), variance
    pooled = squares.sum(axis=0) / (n - data.n_classes)
    within = np.where(counts > 1, squares / np.where(counts > 1, counts - 1, 1), pooled)
    return np.sqrt(welch_f(means, np.maximum(within, floor), counts)), variance


def class_moments(
    X: Any, codes: IntArray, weight: FloatArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and sum of squared deviations of each feature in each class: two arrays of classes × features."""
    counts = np.bincount(codes, weight, minlength=n_classes)[:, None]
    if issparse(X):
        members = [codes == c for c in range(n_classes)]
        moments = [
            mean_variance_axis(X[rows], axis=0, weights=weight[rows])
            for rows in members
        ]
        means, variances = (np.array(moment) for moment in zip(*moments, strict=True))
        return means, counts * variances
    n = len(codes)
    shares = csr_array((weight, (codes, np.arange(n))), shape=(n_classes, n))
    means = shares @ X / counts
    squares = np.zeros_like(means)
    for rows in gen_batches(n, max(1, _BATCH // X.shape[1])):
        centred = X[rows] - means[codes[rows]]
        squares += shares[:, rows] @ np.square(centred, out=centred)
    return means, squares


def welch_f(means: FloatArray, variances: FloatArray, counts: IntArray) -> FloatArray:
    """Welch's F of each column: classes × features, variances above 0."""
    k = len(means)
    weights = counts / variances
    total = weights.sum(axis=0)
    # Relative to the most precise mean: a weight may be 1e30 times another, and only differences from it matter.
    gaps = means - np.take_along_axis(means, weights.argmax(axis=0)[None], axis=0)
    gaps -= (weights * gaps).sum(axis=0) / total
    between = (weights * gaps**2).sum(axis=0) / (k - 1)
    spread = ((1 - weights / total) ** 2 / np.maximum(counts - 1, 1)).sum(axis=0)
    return np.asarray(between / (1 + 2 * (k - 2) / (k**2 - 1) * spread))


def _numeric_scores(
    data: Data, weight: FloatArray, floor: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """|t| of the correlation with the target, and the variance."""
    n = weight.sum()
    _, (squares,) = class_moments(data.X, np.zeros(len(data.y), dtype=int), weight, 1)
    y = data.y - weight @ data.y / n
    share = ((weight * y) @ data.X) ** 2 / (
        np.maximum(squares, n * floor) * (weight @ y**2)
    )
    share = np.minimum(share, 1 - np.finfo(float).eps)
    return np.sqrt(share * max(n - 2, 0) / (1 - share)), squares / (n - 1)


# -- intervals and classes ---------------------------------------------------------------------------------------------


def information_gain(
    X: MatrixLike, y: ArrayLike, *, discrete_features: bool | ArrayLike = False
) -> FloatArray:
    """Score features by the information that they contain about the class, in bits.

    The entropy of the classes minus their entropy given the feature. Numeric features are first cut into intervals, by
    the minimum description length principle of Fayyad and Irani; a feature without a cut scores 0.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Numeric features, or numeric codes of discrete ones. A sparse matrix is made dense a few columns at a time.
    y : array-like of shape (n_samples,)
        Classes.
    discrete_features : bool or array-like of bool or int, default=False
        Which features are discrete already, so that each of their values counts by itself: all (True), none, or those
        of a mask or of a list of indices.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        Between 0 and the entropy of the classes.

    See Also
    --------
    symmetrical_uncertainty : A score that does not favour discrete features of many values.

    References
    ----------
    Fayyad and Irani, Multi-interval discretization of continuous-valued attributes for classification learning,
    IJCAI 1993.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.feature_selection import information_gain
    >>> X = np.column_stack([np.arange(12), np.arange(12) % 4])
    >>> y = np.repeat([0, 1], 6)
    >>> information_gain(X, y)
    array([1., 0.])
    """
    return _information(X, y, discrete_features)[0]


def symmetrical_uncertainty(
    X: MatrixLike, y: ArrayLike, *, discrete_features: bool | ArrayLike = False
) -> FloatArray:
    """Score features by the information they share with the class, relative to the entropy of both.

    Twice the information gain over the sum of the entropies of the feature and of the classes. Numeric features are cut
    into intervals as for `information_gain`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Numeric features, or numeric codes of discrete ones. A sparse matrix is made dense a few columns at a time.
    y : array-like of shape (n_samples,)
        Classes.
    discrete_features : bool or array-like of bool or int, default=False
        Which features are discrete already, so that each of their values counts by itself: all (True), none, or those
        of a mask or of a list of indices.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        From 0, where feature and class are independent, to 1, where each determines the other.

    See Also
    --------
    information_gain : The same without the division.

    References
    ----------
    Hall, Correlation-based feature selection for discrete and numeric class machine learning, ICML 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.feature_selection import symmetrical_uncertainty
    >>> y = np.repeat([0, 1], 8)
    >>> X = np.column_stack([y, np.arange(16), np.tile([0, 1], 8)])
    >>> symmetrical_uncertainty(X, y, discrete_features=True)
    array([1. , 0.4, 0. ])
    """
    gain, feature, target = _information(X, y, discrete_features)
    return 2 * gain / (feature + target)


def discretised_chi2(
    X: MatrixLike, y: ArrayLike, *, discrete_features: bool | ArrayLike = False
) -> FloatArray:
    """Score features by the chi-squared statistic of their intervals and the class.

    Numeric features are cut into intervals as for `information_gain`; the statistic of the table of intervals by
    classes measures how far it is from independence. A feature without a cut scores 0.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Numeric features, or numeric codes of discrete ones. A sparse matrix is made dense a few columns at a time.
    y : array-like of shape (n_samples,)
        Classes.
    discrete_features : bool or array-like of bool or int, default=False
        Which features are discrete already, so that each of their values counts by itself: all (True), none, or those
        of a mask or of a list of indices.

    Returns
    -------
    scores : ndarray of shape (n_features,)
        From 0, where feature and class are independent, to the number of rows times (the smaller of the numbers of
        intervals and of classes, minus 1).

    See Also
    --------
    sklearn.feature_selection.chi2 : For counts and other sums, whose values are not cut.
    symmetrical_uncertainty : A score that does not favour discrete features of many values.

    Notes
    -----
    The CHI of [1]_, without Yates's correction. The cuts were made to separate the classes: the statistic ranks
    features, and its p-value would be too small.

    References
    ----------
    .. [1] Kalousis, A., Prados, J. and Hilario, M. (2007). Stability of feature selection algorithms: a study on
       high-dimensional spaces. Knowledge and Information Systems 12.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.feature_selection import discretised_chi2
    >>> X = np.column_stack([np.arange(12), np.arange(12) % 4])
    >>> y = np.repeat([0, 1], 6)
    >>> discretised_chi2(X, y)
    array([12.,  0.])
    """
    data, blocks = _labelled(X, y, discrete_features)
    return np.concatenate([_chi2_statistics(labels, data) for labels in blocks])


def _labelled(
    X: Any, y: Any, discrete_features: Any
) -> tuple[Data, Iterator[IntArray]]:
    """Read the data, and label the values of a few features at a time."""
    data = read_data(X, y, "auto")
    if not data.n_classes:
        raise ValueError(
            "y must hold classes, got numbers: use relieff or welch_variance for a numeric target"
        )
    return data, _label_blocks(data, _discrete_mask(discrete_features, data.X.shape[1]))


def _information(
    X: Any, y: Any, discrete_features: Any
) -> tuple[FloatArray, FloatArray, float]:
    """Return the gain and the entropy of each feature, and the entropy of the classes, in bits."""
    data, blocks = _labelled(X, y, discrete_features)
    gain, feature = (
        np.concatenate(parts)
        for parts in zip(*(_gains(labels, data) for labels in blocks), strict=True)
    )
    return gain, feature, float(_entropies(np.bincount(data.y)[None])[0])


def _discrete_mask(discrete_features: Any, n_features: int) -> BoolArray:
    with naming("discrete_features"):
        given = np.asarray(discrete_features)
    if given.dtype == bool and given.shape in ((), (n_features,)):
        return np.broadcast_to(given, n_features)
    if (
        given.dtype.kind in "iu"
        and given.ndim == 1
        and np.isin(given, np.arange(-n_features, n_features)).all()
    ):
        mask = np.zeros(n_features, dtype=bool)
        mask[given] = True
        return mask
    raise ValueError(
        f"discrete_features must be a bool, a mask of {n_features} features or indices of features, "
        f"got {discrete_features!r}"
    )


def _label_blocks(data: Data, discrete: BoolArray) -> Iterator[IntArray]:
    """Label the values of a few features at a time."""
    X = data.X.tocsc() if issparse(data.X) else data.X
    n, d = X.shape
    for columns in gen_batches(d, max(1, _BATCH // (n * data.n_classes))):
        block = X[:, columns].toarray() if issparse(X) else X[:, columns]
        is_discrete = discrete[columns]
        labels = np.empty(block.shape, dtype=np.int64)
        labels[:, is_discrete] = value_labels(block[:, is_discrete])
        labels[:, ~is_discrete] = interval_labels(
            block[:, ~is_discrete], data.y, data.n_classes
        )
        yield labels


def _class_tables(labels: IntArray, data: Data) -> tuple[IntArray, IntArray]:
    """Count labels by classes: one row for each label of each feature, and the row with which each feature begins."""
    sizes = labels.max(axis=0) + 1
    firsts = np.cumsum(sizes) - sizes
    cells = (labels + firsts) * data.n_classes + data.y[:, None]
    tables = np.bincount(cells.ravel(), minlength=sizes.sum() * data.n_classes).reshape(
        -1, data.n_classes
    )
    return tables, firsts


def _gains(labels: IntArray, data: Data) -> tuple[FloatArray, FloatArray]:
    """Information gain and entropy of features given by their labels."""
    tables, firsts = _class_tables(labels, data)
    share = tables.sum(axis=1) / len(labels)
    unknown = np.add.reduceat(share * _entropies(tables), firsts)
    known = _entropies(np.bincount(data.y)[None]) - unknown
    entropy = -np.add.reduceat(xlogy(share, share), firsts) / np.log(2)
    return np.maximum(known, 0.0), entropy


def _chi2_statistics(labels: IntArray, data: Data) -> FloatArray:
    """Pearson's statistic, Σ (observed − expected)²/expected, of features given by their labels."""
    tables, firsts = _class_tables(labels, data)
    # Products before the quotient: a feature without a cut then has the counts themselves, and scores exactly 0.
    expected = np.outer(tables.sum(axis=1), np.bincount(data.y)) / len(labels)
    return np.asarray(
        np.add.reduceat(((tables - expected) ** 2 / expected).sum(axis=1), firsts)
    )


def _entropies(tables: IntArray) -> FloatArray:
    """Entropy in bits of each row of counts, none of which is empty."""
    shares = tables / tables.sum(axis=1, keepdims=True)
    return np.asarray(-xlogy(shares, shares).sum(axis=1) / np.log(2))

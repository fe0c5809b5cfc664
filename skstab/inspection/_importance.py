"""Importances from the weights of linear models and from the margin of kernel machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_array, gen_batches
from sklearn.utils.extmath import safe_sparse_dot

from skstab._checks import naming
from skstab._pipelines import class_name
from skstab._statistics import column_deviations, column_ranges
from skstab._typing import Estimator, FloatArray, IntArray, MatrixLike

__all__ = [
    "deviations",
    "linear_importance",
    "margin_importance",
    "read_rows",
    "shares",
]


_BATCH = 2**20  # numbers of one batch of kernel matrices


# -- what the importances share ----------------------------------------------------------------------------------------


def read_rows(model: Any, X: Any) -> Any:
    """Check the rows a model was fitted on."""
    X = check_array(
        X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2, input_name="X"
    )
    expected = getattr(model, "n_features_in_", X.shape[1])
    if X.shape[1] != expected:
        raise ValueError(
            f"X has {X.shape[1]} features, but {class_name(model)} was fitted on {expected}"
        )
    return X


def deviations(X: Any) -> FloatArray:
    """Return the standard deviation of each feature: exactly 0 if it is constant."""
    low, high = column_ranges(X)
    return np.where(low == high, 0.0, column_deviations(X))


def shares(values: FloatArray) -> FloatArray:
    """Scale importances to sum to the number of features that have any: equation (7) of hamer2021."""
    total = values.sum()
    return (
        np.count_nonzero(values) * values / total
        if total > 0
        else np.zeros_like(values)
    )


# -- linear models -----------------------------------------------------------------------------------------------------


@naming("model", "X", "y")
def linear_importance(
    model: Estimator,
    X: MatrixLike,
    y: ArrayLike | None = None,  # noqa: ARG001
) -> FloatArray:
    """Importance of the features of a linear model: its weights on features of unit variance.

    Parameters
    ----------
    model : object
        A fitted model with `coef_`. Several rows of it (classes, outputs) are combined by their Euclidean norm.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows the model was fitted on, which give the standard deviations of the features.
    y : array-like, default=None
        Not used. It is accepted because `StabilityCV` passes it.

    Returns
    -------
    importances : ndarray of shape (n_features,)
        Not negative; they sum to the number of features whose weight is not zero.

    See Also
    --------
    flip_importance : The same for linear classifiers, and defined for all others.

    References
    ----------
    Hamer and Dupont, An Importance Weighted Feature Selection Stability Measure, JMLR 2021, equation (7).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skstab.inspection import linear_importance
    >>> X = np.array([[0.0, 0.0], [0.0, 10.0], [1.0, 0.0], [1.0, 10.0]])
    >>> model = LinearRegression().fit(X, X @ [3.0, 0.1])
    >>> linear_importance(model, X).round(3)
    array([1.5, 0.5])
    """
    coef = getattr(model, "coef_", None)
    if coef is None:
        raise ValueError(
            f"model must have weights (coef_), {class_name(model)} has none: use flip_importance for other classifiers"
        )
    units = deviations(read_rows(model, X))
    rows = np.atleast_2d(_dense(coef))
    if rows.ndim > 2 or rows.shape[1] != len(units):
        raise ValueError(
            f"model.coef_ must have one column for each of the {len(units)} features, got {rows.shape}"
        )
    return shares(_scaled_products(np.hypot.reduce(rows, axis=0), units))


def _scaled_products(a: FloatArray, b: FloatArray) -> FloatArray:
    """Products of numbers that may be very large or small, over a power of two that brings the largest near 1."""
    (a, powers), (b, others) = np.frexp(a), np.frexp(b)
    powers = powers + others
    return np.asarray(
        np.ldexp(a * b, powers - powers.max(where=a * b != 0, initial=-4096))
    )


def _dense(values: Any) -> FloatArray:
    return np.asarray(
        values.toarray() if issparse(values) else values, dtype=np.float64
    )


# -- kernel machines ---------------------------------------------------------------------------------------------------


@naming("model", "X", "y")
def margin_importance(
    model: Any,
    X: MatrixLike,
    y: ArrayLike | None = None,  # noqa: ARG001
) -> FloatArray:
    """Importance of the features of a support vector machine: the contribution of each to the margin.

    By how much the squared norm of the weights, in the space of the kernel, changes when a feature is left out of the
    kernel while the dual coefficients stay the same.

    Parameters
    ----------
    model : object
        A fitted `SVC`, `NuSVC`, `SVR`, `NuSVR` or `OneClassSVM` with any kernel except a precomputed one. A callable
        kernel is called once for each feature, with that feature set to 0.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows the model was fitted on; gamma="scale" depends on them.
    y : array-like, default=None
        Not used. It is accepted because `StabilityCV` passes it.

    Returns
    -------
    importances : ndarray of shape (n_features,)
        Not negative; they sum to the number of features with an importance above 0. With more than two classes those of
        all pairs of classes are added.

    See Also
    --------
    flip_importance : Importance from the decisions rather than the margin, of any classifier.

    Notes
    -----
    For a linear kernel these are the squared weights, so the ranking is that of the absolute `coef_`, and that of
    `linear_importance` where features have unit variance. The cost is one kernel between the support vectors for each
    feature.

    The change counts in absolute value. With a narrow "rbf" kernel a feature of pure noise also increases the distances
    between support vectors, and leaving it out changes the margin about as much as leaving out a useful one:
    `flip_importance` distinguishes them.

    References
    ----------
    Hamer and Dupont, An Importance Weighted Feature Selection Stability Measure, JMLR 2021, equation (8). Guyon et al.,
    Gene selection for cancer classification using support vector machines, Machine Learning 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from skstab.inspection import margin_importance
    >>> X = np.random.default_rng(0).normal(size=(300, 5))
    >>> y = X[:, 0] ** 2 + X[:, 1] ** 2 > 1.5
    >>> margin_importance(SVC(kernel="poly", degree=2, coef0=1).fit(X, y), X).round(1)
    array([2.4, 2.6, 0. , 0. , 0. ])
    """
    missing = [
        name
        for name in ("dual_coef_", "support_vectors_", "kernel")
        if not hasattr(model, name)
    ]
    if missing:
        raise ValueError(
            f"model must be a fitted support vector machine with a kernel, {class_name(model)} has no {missing[0]}"
        )
    X = read_rows(model, X)
    problems = _binary_problems(_dense(model.dual_coef_), model.n_support_)
    losses = [_margin_losses(gaps, problems) for gaps in _kernel_gaps(model, X)]
    return shares(np.concatenate(losses))


def _binary_problems(dual: FloatArray, n_support: IntArray) -> FloatArray:
    """Return the coefficients αy of each one-against-one problem: problems × support vectors."""
    if len(dual) == 1:
        return dual
    # The support vectors of class i against class j have row j of the coefficients, or j − 1 where j > i.
    sides = np.repeat(np.arange(len(dual) + 1), n_support)
    pairs = list(combinations(range(len(dual) + 1), 2))
    return np.array(
        [
            np.where(sides == i, dual[j - 1], np.where(sides == j, dual[i], 0.0))
            for i, j in pairs
        ]
    )


def _margin_losses(gaps: FloatArray, problems: FloatArray) -> FloatArray:
    """Sum |W² − W²₋f| over the problems for each feature, given K − K₋f: equation (8)."""
    losses = np.einsum(
        "pbl,pl->pb", np.tensordot(problems, gaps, axes=(1, 1)), problems
    )
    return np.asarray(np.abs(losses).sum(axis=0))


def _gamma(model: Any, X: Any) -> float:
    """Return the value of gamma as a number, by scikit-learn's definition of "scale" and "auto"."""
    if model.gamma == "auto":
        return float(1 / X.shape[1])
    if model.gamma != "scale":
        return float(model.gamma)
    variance = X.multiply(X).mean() - X.mean() ** 2 if issparse(X) else X.var()
    return float(1 / (X.shape[1] * variance)) if variance > 0 else 1.0


def _kernel_gaps(model: Any, X: Any) -> Iterator[FloatArray]:
    """Yield K − K₋f between the support vectors for a few features at a time: features × vectors × vectors."""
    if callable(model.kernel):
        # scikit-learn stores no vectors of such a model, only their indices.
        yield from _callable_gaps(model.kernel, X[_places(model, X)])
        return
    vectors = model.support_vectors_
    gap = _gap_of(model, vectors, _gamma(model, X))
    n, d = vectors.shape
    for columns in gen_batches(d, max(1, _BATCH // n**2)):
        yield gap(_dense(vectors[:, columns]).T)


def _places(model: Any, X: Any) -> IntArray:
    n = model.shape_fit_[0]
    if X.shape[0] != n:
        raise ValueError(
            f"X must be the {n} rows that {class_name(model)} was fitted on, got {X.shape[0]} rows"
        )
    return np.asarray(model.support_)


def _callable_gaps(
    kernel: Callable[..., Any], vectors: FloatArray
) -> Iterator[FloatArray]:
    whole = _dense(kernel(vectors, vectors))
    for f in range(vectors.shape[1]):
        without = vectors.copy()
        without[:, f] = 0.0
        yield (whole - _dense(kernel(without, without)))[None]


def _gap_of(
    model: Any, vectors: Any, gamma: float
) -> Callable[[FloatArray], FloatArray]:
    """Return the function from the values of features to K − K₋f, by the form of the kernel."""
    kernel = model.kernel
    if kernel == "linear":
        return _products
    if kernel == "rbf":
        whole = pairwise_kernels(vectors, metric="rbf", gamma=gamma)
        return lambda x: whole * -np.expm1(gamma * (x[:, :, None] - x[:, None, :]) ** 2)
    if kernel not in ("poly", "sigmoid"):
        raise ValueError(f"model.kernel must be a kernel of features, got {kernel!r}")
    inner = gamma * safe_sparse_dot(vectors, vectors.T, dense_output=True) + model.coef0
    shape = np.tanh if kernel == "sigmoid" else (lambda values: values**model.degree)
    return lambda x: shape(inner) - shape(inner - gamma * _products(x))


def _products(x: FloatArray) -> FloatArray:
    return x[:, :, None] * x[:, None, :]

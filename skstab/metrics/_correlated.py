"""A subset measure for correlated features: choosing a near-copy counts as choosing the same."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from skstab.metrics._frequency import divide
from skstab.metrics._measure import Measure, Properties
from skstab.metrics._tables import FloatArray, Supports


class _Moments(NamedTuple):
    """What φ_C needs of a table: each a number, or one number for each run left out."""

    n_runs: int
    selected: FloatArray  # Σ k_i
    selected_squares: FloatArray  # Σ k_i²
    own: FloatArray  # Σ z_i C z_i
    joint: FloatArray  # s C s, s = Σ z_i


class _Similarity(NamedTuple):
    """C as a linear map, with the two sums that random selections depend on."""

    product: Any  # runs × features → the same times a factor of C
    diagonal: float
    total: float


def _identity(n_features: int) -> _Similarity:
    return _Similarity(lambda csr: (csr, csr), n_features, n_features)


def _from_groups(groups: ArrayLike, n_features: int) -> _Similarity:
    labels = np.asarray(groups)
    if labels.shape != (n_features,):
        raise ValueError(f"groups must have one label for each of the {n_features} features, got shape {labels.shape}")
    _, group = np.unique(labels, return_inverse=True)
    members = np.bincount(group)
    onehot = sparse.csr_array((np.ones(n_features), (np.arange(n_features), group)), shape=(n_features, members.size))

    def product(csr: Any) -> tuple[Any, Any]:
        within = csr @ onehot
        return within, within

    return _Similarity(product, n_features, float(members @ members))


def _from_matrix(similarity: Any, n_features: int) -> _Similarity:
    matrix = sparse.csr_array(similarity) if sparse.issparse(similarity) else np.asarray(similarity)
    if matrix.shape != (n_features, n_features):
        raise ValueError(
            f"similarity must be of shape ({n_features}, {n_features}), one row and column a feature, "
            f"got {matrix.shape}"
        )
    values: Any = matrix.data if sparse.issparse(matrix) else matrix
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("similarity must be finite and not negative: use absolute correlations")
    if abs(matrix - matrix.T).max() > 1e-8 * values.max(initial=0.0):
        raise ValueError("similarity must be symmetric")
    return _Similarity(lambda csr: (csr, csr @ matrix), float(matrix.diagonal().sum()), float(matrix.sum()))


def _moments(supports: Supports, similarity: _Similarity) -> tuple[_Moments, _Moments]:
    """Moments of all runs, and those without each."""
    left, right = similarity.product(supports.csr)
    resultant = np.asarray(right.sum(axis=0)).ravel()
    with_all = np.asarray(left @ resultant).ravel()  # z_i C s
    own = np.asarray((left * right).sum(axis=1)).ravel()  # z_i C z_i
    sizes = supports.sizes.astype(np.float64)
    full = _Moments(
        supports.n_runs,
        np.asarray(sizes.sum()),
        np.asarray(sizes @ sizes),
        np.asarray(own.sum()),
        np.asarray(with_all.sum()),
    )
    without = _Moments(
        full.n_runs - 1,
        full.selected - sizes,
        full.selected_squares - sizes**2,
        full.own - own,
        full.joint - 2 * with_all + own,
    )
    return full, without


def _effective(t: _Moments, similarity: _Similarity, d: int) -> FloatArray:
    """φ_C = 1 − tr(CS) / tr(CΣ₀), hamer2021 (12)."""
    m = t.n_runs
    observed = (t.own - t.joint / m) / (m - 1)
    mean = t.selected / m
    variance = mean / d * (1 - mean / d)
    covariance = (t.selected_squares / m - mean) / max(d * d - d, 1) - (mean / d) ** 2
    off_diagonal = similarity.total - similarity.diagonal
    expected = similarity.diagonal * variance + off_diagonal * covariance
    # Rounding leaves a trace of tr(CΣ₀) where it should vanish.
    expected = np.where(np.abs(expected) < 1e-12 * similarity.total, 0.0, expected)
    if np.any((expected == 0) & (np.abs(observed) > 1e-9 * similarity.total)):
        raise ValueError(
            "similarity or groups leave random selections no variance to compare with; tell more features apart"
        )
    return 1 - divide(observed, expected, otherwise=0.0)


def effective_measure(*, similarity: Any = None, groups: ArrayLike | None = None) -> Measure:
    """Build the effective measure for a similarity of features."""
    if similarity is not None and groups is not None:
        raise ValueError("similarity and groups exclude each other: give one of them")

    def similarity_of(supports: Supports) -> _Similarity:
        if groups is not None:
            return _from_groups(groups, supports.n_features)
        if similarity is not None:
            return _from_matrix(similarity, supports.n_features)
        return _identity(supports.n_features)

    def evaluate(supports: Supports) -> float:
        c = similarity_of(supports)
        return float(_effective(_moments(supports, c)[0], c, supports.n_features))

    def leave_one_out(supports: Supports) -> FloatArray:
        c = similarity_of(supports)
        return _effective(_moments(supports, c)[1], c, supports.n_features)

    return Measure(
        name="effective",
        kind="subset",
        evaluate=evaluate,
        leave_one_out=leave_one_out,
        trivial=lambda table: table.is_trivial,
        bounds=(-np.inf, np.inf),
        properties=Properties(fully_defined=True, monotone=False, bounded=False, maximum=False, chance_corrected=True),
    )


def effective_stability(supports: Any, *, similarity: Any = None, groups: ArrayLike | None = None) -> float:
    """Stability of selections in which similar features stand for each other.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.
    similarity : array-like or sparse matrix of shape (n_features, n_features), default=None
        How far a feature can stand for another: symmetric, not negative, for example absolute correlations, those
        below a threshold set to 0.
    groups : array-like of shape (n_features,), default=None
        A label for each feature: features of one group are as good as the same. It is the similarity matrix of
        ones within the groups, at a cost of O(nnz). With neither, each feature stands for itself alone and the value
        is that of :func:`nogueira_stability`.

    Returns
    -------
    stability : float
        0 is expected of random selections of equal size. It is *not bounded*: it may exceed 1 with a similarity
        that is not positive semi-definite, and fall without limit when groups are chosen or left as a whole.

    Notes
    -----
    Sechidis et al. [1]_, as φ_C in equation (12) of [2]_.

    References
    ----------
    .. [1] Sechidis, K. et al. (2019). On the stability of feature selection in the presence of feature
       correlations. ECML PKDD.
    .. [2] Hamer, V. and Dupont, P. (2021). An importance weighted feature selection stability measure. JMLR 22.

    Examples
    --------
    Two runs that choose one of the first two features, which measure the same thing:

    >>> from skstab.metrics import effective_stability
    >>> supports = [[1, 0, 1, 0], [0, 1, 1, 0]]
    >>> effective_stability(supports)
    0.0
    >>> effective_stability(supports, groups=["a", "a", "b", "c"])
    1.0
    """
    return effective_measure(similarity=similarity, groups=groups)(supports)

"""A subset measure for correlated features: choosing a near-copy counts as choosing the same."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skstab._typing import FloatArray, MatrixLike, RunsLike
from skstab.metrics._frequency import divide
from skstab.metrics._measure import (
    Measure,
    PairValues,
    Properties,
    consecutive_pairs,
    pseudo_values,
)
from skstab.metrics._similarity import check_similarity, group_indicator
from skstab.metrics._tables import Supports


class _Moments(NamedTuple):
    """The moments of a table that φ_C is computed from: each a number, or one number for each run left out."""

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
    indicator = group_indicator(groups, n_features)
    members = np.asarray(indicator.sum(axis=0)).ravel()

    def product(csr: Any) -> tuple[Any, Any]:
        within = csr @ indicator
        return within, within

    return _Similarity(product, n_features, float(members @ members))


def _from_matrix(similarity: Any, n_features: int) -> _Similarity:
    matrix = check_similarity(similarity, n_features)
    return _Similarity(
        lambda csr: (csr, csr @ matrix),
        float(matrix.diagonal().sum()),
        float(matrix.sum()),
    )


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
    m = t.n_runs
    return _corrected(
        (t.own - t.joint / m) / (m - 1),
        t.selected / m,
        t.selected_squares / m,
        similarity,
        d,
    )


def _effective_within_pairs(supports: Supports, similarity: _Similarity) -> PairValues:
    """φ_C within pairs, where tr(CS) is the mean of (z − z')C(z − z') / 2, with pseudo-values."""
    first, second = consecutive_pairs(supports.n_runs)
    left, right = similarity.product(supports.csr[first] - supports.csr[second])
    observed = np.asarray((left * right).sum(axis=1)).ravel() / 2
    a, b = (
        supports.sizes[first].astype(np.float64),
        supports.sizes[second].astype(np.float64),
    )
    formula = partial(_corrected, similarity=similarity, d=supports.n_features)
    return pseudo_values(formula, observed, (a + b) / 2, (a * a + b * b) / 2)


def _corrected(
    observed: FloatArray,
    mean: FloatArray,
    mean_square: FloatArray,
    similarity: _Similarity,
    d: int,
) -> FloatArray:
    """φ_C = 1 − tr(CS) / tr(CΣ₀), hamer2021 (12), from tr(CS) and the means of k and k²."""
    variance = mean / d * (1 - mean / d)
    covariance = (mean_square - mean) / max(d * d - d, 1) - (mean / d) ** 2
    off_diagonal = similarity.total - similarity.diagonal
    expected = similarity.diagonal * variance + off_diagonal * covariance
    # Rounding errors can leave tr(CΣ₀) slightly above 0 when it should be 0.
    expected = np.where(np.abs(expected) < 1e-12 * similarity.total, 0.0, expected)
    if np.any((expected == 0) & (np.abs(observed) > 1e-9 * similarity.total)):
        raise ValueError(
            "similarity or groups must distinguish more features: random selections have no variance under them"
        )
    return 1 - divide(observed, expected, otherwise=0.0)


def effective_measure(
    *, similarity: Any = None, groups: ArrayLike | None = None
) -> Measure:
    """Build the effective measure for a similarity of features."""
    if similarity is not None and groups is not None:
        raise ValueError(
            "similarity and groups cannot be passed together: pass one of them"
        )

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
        within_pairs=lambda supports: _effective_within_pairs(
            supports, similarity_of(supports)
        ),
        trivial=lambda table: table.is_trivial,
        described_by=("similarity", "groups"),
        bounds=(-np.inf, np.inf),
        properties=Properties(
            fully_defined=True,
            monotone=False,
            bounded=False,
            maximum=False,
            chance_corrected=True,
            corrected_any_sizes=False,
        ),
    )


def effective_stability(
    supports: RunsLike,
    *,
    similarity: MatrixLike | None = None,
    groups: ArrayLike | None = None,
) -> float:
    """Stability of selections in which similar features can replace each other.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.
    similarity : array-like or sparse matrix of shape (n_features, n_features), default=None
        How far a feature can replace another: symmetric, not negative, for example absolute correlations, those below
        a threshold set to 0.
    groups : array-like of shape (n_features,), default=None
        A label for each feature: features of one group count as the same. It is equivalent to a similarity of 1 within
        the groups and 0 between them, at a cost of O(nnz). With neither `similarity` nor `groups`, each feature is
        similar to itself alone and the value is that of :func:`nogueira_stability`.

    Returns
    -------
    stability : float
        0 is expected of random selections of equal size. It is *not bounded*: it may exceed 1 with a similarity
        that is not positive semi-definite, and fall without limit when groups are selected or left out as a whole.

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
    Each of two runs selects one of the first two features, which measure the same thing:

    >>> from skstab.metrics import effective_stability
    >>> supports = [[1, 0, 1, 0], [0, 1, 1, 0]]
    >>> effective_stability(supports)
    0.0
    >>> effective_stability(supports, groups=["a", "a", "b", "c"])
    1.0
    """
    return effective_measure(similarity=similarity, groups=groups)(supports)

"""The public functions of the subset measures that forgive substitutes."""

from __future__ import annotations

from skstab._typing import MatrixLike, RandomState, RunsLike
from skstab.metrics import _adjusted


def intersection_mbm_stability(
    supports: RunsLike,
    similarity: MatrixLike,
    *,
    threshold: float = 0.9,
    random_state: RandomState = None,
) -> float:
    """Stability in which features without a shared counterpart are matched with similar ones, as many as possible.

    Each feature can be the substitute of one other feature only.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.
    similarity : array-like, DataFrame or sparse matrix of shape (n_features, n_features)
        How similar two features are: symmetric, between 0 and 1, for example absolute correlations. The diagonal is not
        read: a feature is always similar to itself.
    threshold : float, default=0.9
        Similarity from which on two features can stand for each other: above 0, at most 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the random sets of the correction for chance. They are drawn where there are more than 10 000 pairs of
        sets of the same sizes; otherwise the correction is exact.

    Returns
    -------
    stability : float
        At most 1, reached by runs of one size in which every feature that two runs do not share has a substitute of its
        own in the other; 0 is expected of random selections. It is *not bounded* below: where nearly all features are
        similar, chance alone comes close to 1.

    Warns
    -----
    RuntimeWarning
        Where no two features reach the threshold: the value is then the unadjusted one.

    Notes
    -----
    With r the number of shared features, I = r + the size of the maximum bipartite matching between the features of the
    first run alone and those of the second alone, with an edge where the similarity reaches the threshold. The value is
    (I − E) / (√(k_i k_j) − E), averaged over all pairs of runs [1]_; E is the mean of I over random sets of the same
    sizes, worked out once for each two sizes. Where E reaches the maximum, the value is I / √(k_i k_j).

    References
    ----------
    .. [1] Bommert, A. and Rahnenführer, J. (2020). Adjusted measures for feature selection stability for data sets with
       similar features. LOD, LNCS 12566.

    Examples
    --------
    The first two features are near-copies of each other, and each run selects one of them:

    >>> import numpy as np
    >>> from skstab.metrics import intersection_mbm_stability
    >>> supports = [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0]]
    >>> similarity = np.eye(5)
    >>> similarity[0, 1] = similarity[1, 0] = 0.95
    >>> round(intersection_mbm_stability(supports, similarity), 2)
    1.0
    """
    build = _adjusted.intersection_mbm_measure
    return build(similarity=similarity, threshold=threshold, random_state=random_state)(
        supports
    )


def intersection_greedy_stability(
    supports: RunsLike,
    similarity: MatrixLike,
    *,
    threshold: float = 0.9,
    random_state: RandomState = None,
) -> float:
    """Stability in which features without a shared counterpart are matched with similar ones, the most similar first.

    Each feature can be the substitute of one other feature only; unlike :func:`intersection_mbm_stability`, the most
    similar pair is matched first, even where this leaves others without a substitute.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.
    similarity : array-like, DataFrame or sparse matrix of shape (n_features, n_features)
        How similar two features are: symmetric, between 0 and 1, for example absolute correlations. The diagonal is not
        read: a feature is always similar to itself.
    threshold : float, default=0.9
        Similarity from which on two features can stand for each other: above 0, at most 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the random sets of the correction for chance. They are drawn where there are more than 10 000 pairs of
        sets of the same sizes; otherwise the correction is exact.

    Returns
    -------
    stability : float
        At most 1, reached by runs of one size in which every feature that two runs do not share has a substitute of its
        own in the other; 0 is expected of random selections. It is *not bounded* below: where nearly all features are
        similar, chance alone comes close to 1.

    Warns
    -----
    RuntimeWarning
        Where no two features reach the threshold: the value is then the unadjusted one.

    Notes
    -----
    With r the number of shared features, I = r + the number of edges taken by falling similarity, ties by the order of
    the columns, while both ends are free. The value is (I − E) / (√(k_i k_j) − E), averaged over all pairs of runs
    [1]_; E is the mean of I over random sets of the same sizes, worked out once for each two sizes. Where E reaches the
    maximum, the value is I / √(k_i k_j).

    References
    ----------
    .. [1] Bommert, A. and Rahnenführer, J. (2020). Adjusted measures for feature selection stability for data sets with
       similar features. LOD, LNCS 12566.

    Examples
    --------
    The first two features are near-copies of each other, and each run selects one of them:

    >>> import numpy as np
    >>> from skstab.metrics import intersection_greedy_stability
    >>> supports = [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0]]
    >>> similarity = np.eye(5)
    >>> similarity[0, 1] = similarity[1, 0] = 0.95
    >>> round(intersection_greedy_stability(supports, similarity), 2)
    1.0
    """
    measure = _adjusted.intersection_greedy_measure(
        similarity=similarity, threshold=threshold, random_state=random_state
    )
    return measure(supports)


def intersection_count_stability(
    supports: RunsLike,
    similarity: MatrixLike,
    *,
    threshold: float = 0.9,
    random_state: RandomState = None,
) -> float:
    """Stability in which a feature counts as shared where the other run has a similar one.

    One feature can be the substitute of several; the run with fewer such features counts.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.
    similarity : array-like, DataFrame or sparse matrix of shape (n_features, n_features)
        How similar two features are: symmetric, between 0 and 1, for example absolute correlations. The diagonal is not
        read: a feature is always similar to itself.
    threshold : float, default=0.9
        Similarity from which on two features can stand for each other: above 0, at most 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the random sets of the correction for chance. They are drawn where there are more than 10 000 pairs of
        sets of the same sizes; otherwise the correction is exact.

    Returns
    -------
    stability : float
        At most 1, reached by runs of one size in which every feature that two runs do not share has a substitute in the
        other; 0 is expected of random selections. It is *not bounded* below: where nearly all features are similar,
        chance alone comes close to 1.

    Warns
    -----
    RuntimeWarning
        Where no two features reach the threshold: the value is then the unadjusted one.

    Notes
    -----
    With r the number of shared features, I = r + the smaller of two numbers: of features of the first run alone that
    have a similar feature in the second alone, and the reverse. The value is (I − E) / (√(k_i k_j) − E), averaged over
    all pairs of runs [1]_; E is the mean of I over random sets of the same sizes, worked out once for each two sizes.
    Where E reaches the maximum, the value is I / √(k_i k_j).

    References
    ----------
    .. [1] Bommert, A. and Rahnenführer, J. (2020). Adjusted measures for feature selection stability for data sets with
       similar features. LOD, LNCS 12566.

    Examples
    --------
    The first two features are near-copies of each other, and each run selects one of them:

    >>> import numpy as np
    >>> from skstab.metrics import intersection_count_stability
    >>> supports = [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0]]
    >>> similarity = np.eye(5)
    >>> similarity[0, 1] = similarity[1, 0] = 0.95
    >>> round(intersection_count_stability(supports, similarity), 2)
    1.0
    """
    measure = _adjusted.intersection_count_measure(
        similarity=similarity, threshold=threshold, random_state=random_state
    )
    return measure(supports)


def intersection_mean_stability(
    supports: RunsLike,
    similarity: MatrixLike,
    *,
    threshold: float = 0.9,
    random_state: RandomState = None,
) -> float:
    """Stability in which a feature counts as shared as far as the other run has similar ones.

    A substitute counts by its similarity: a copy as much as the feature itself, a looser one less.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.
    similarity : array-like, DataFrame or sparse matrix of shape (n_features, n_features)
        How similar two features are: symmetric, between 0 and 1, for example absolute correlations. The diagonal is not
        read: a feature is always similar to itself.
    threshold : float, default=0.9
        Similarity from which on two features can stand for each other: above 0, at most 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the random sets of the correction for chance. They are drawn where there are more than 10 000 pairs of
        sets of the same sizes; otherwise the correction is exact.

    Returns
    -------
    stability : float
        At most 1, reached by runs of one size in which every feature that two runs do not share has copies in the
        other; 0 is expected of random selections. It is *not bounded* below: where nearly all features are similar,
        chance alone comes close to 1.

    Warns
    -----
    RuntimeWarning
        Where no two features reach the threshold: the value is then the unadjusted one.

    Notes
    -----
    With r the number of shared features, I = r + the smaller of two sums: of the mean similarity of each feature of the
    first run alone to its similar features in the second alone, and the reverse. The value is (I − E) / (√(k_i k_j) −
    E), averaged over all pairs of runs [1]_; E is the mean of I over random sets of the same sizes, worked out once for
    each two sizes. Where E reaches the maximum, the value is I / √(k_i k_j).

    References
    ----------
    .. [1] Bommert, A. and Rahnenführer, J. (2020). Adjusted measures for feature selection stability for data sets with
       similar features. LOD, LNCS 12566.

    Examples
    --------
    The first two features are near-copies of each other, and each run selects one of them:

    >>> import numpy as np
    >>> from skstab.metrics import intersection_mean_stability
    >>> supports = [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0]]
    >>> similarity = np.eye(5)
    >>> similarity[0, 1] = similarity[1, 0] = 0.95
    >>> round(intersection_mean_stability(supports, similarity), 2)
    0.95
    """
    build = _adjusted.intersection_mean_measure
    return build(similarity=similarity, threshold=threshold, random_state=random_state)(
        supports
    )


def yu_stability(
    supports: RunsLike,
    similarity: MatrixLike,
    *,
    threshold: float = 0.9,
    random_state: RandomState = None,
) -> float:
    """Yu's measure: a feature counts as shared where the other run has a similar one, on average over both runs.

    One feature can be the substitute of several. Its correction for chance is exact, without any simulation.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.
    similarity : array-like, DataFrame or sparse matrix of shape (n_features, n_features)
        How similar two features are: symmetric, between 0 and 1, for example absolute correlations. The diagonal is not
        read: a feature is always similar to itself.
    threshold : float, default=0.9
        Similarity from which on two features can stand for each other: above 0, at most 1.
    random_state : int, RandomState instance or None, default=None
        Not used: the correction for chance is exact. It is accepted so that all measures of this kind are called alike.

    Returns
    -------
    stability : float
        At most 1, reached when every feature that two runs do not share has a substitute in the other; 0 is expected of
        random selections. It is *not bounded* below: where nearly all features are similar, chance alone comes close
        to 1.

    Warns
    -----
    RuntimeWarning
        Where no two features reach the threshold: the value is then the unadjusted one.

    Notes
    -----
    With r the number of shared features, I = r + (O_ij + O_ji) / 2, with O_ij the number of features of run i alone
    that have a similar feature in run j alone. The value is (I − E) / ((k_i + k_j) / 2 − E), averaged over all pairs of
    runs. E depends on how many similar features each feature has. See [1]_, also for how this form differs from the
    original. Where E reaches the maximum, the value is I / ((k_i + k_j) / 2).

    References
    ----------
    .. [1] Bommert, A. and Rahnenführer, J. (2020). Adjusted measures for feature selection stability for data sets with
       similar features. LOD, LNCS 12566.

    Examples
    --------
    The first two features are near-copies of each other, and each run selects one of them:

    >>> import numpy as np
    >>> from skstab.metrics import yu_stability
    >>> supports = [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0]]
    >>> similarity = np.eye(5)
    >>> similarity[0, 1] = similarity[1, 0] = 0.95
    >>> round(yu_stability(supports, similarity), 2)
    1.0
    """
    build = _adjusted.yu_measure
    return build(similarity=similarity, threshold=threshold, random_state=random_state)(
        supports
    )


def zucknick_stability(
    supports: RunsLike,
    similarity: MatrixLike,
    *,
    threshold: float = 0.9,
    random_state: RandomState = None,
) -> float:
    """Zucknick's measure: the Jaccard index with similar features counted by their similarity.

    Not corrected for chance: larger sets score higher.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.
    similarity : array-like, DataFrame or sparse matrix of shape (n_features, n_features)
        How similar two features are: symmetric, between 0 and 1, for example absolute correlations. The diagonal is not
        read: a feature is always similar to itself.
    threshold : float, default=0.9
        Similarity from which on two features can stand for each other: above 0, at most 1.
    random_state : int, RandomState instance or None, default=None
        Not used: there is no correction for chance. It is accepted so that all measures of this kind are called alike.

    Returns
    -------
    stability : float
        Between 0 and 1, which is also reached by different sets of similar features.

    Warns
    -----
    RuntimeWarning
        Where no two features reach the threshold: the value is then that of :func:`jaccard_stability`.

    Notes
    -----
    (r + C_ij + C_ji) / size(s_i ∪ s_j), averaged over all pairs of runs, with r the number of shared features and C_ij
    the sum of the similarities that reach the threshold between the features of run i and those of run j alone, divided
    by the size of run j. See [1]_, also for how this form differs from the original.

    References
    ----------
    .. [1] Bommert, A. and Rahnenführer, J. (2020). Adjusted measures for feature selection stability for data sets with
       similar features. LOD, LNCS 12566.

    Examples
    --------
    The first two features are near-copies of each other, and each run selects one of them:

    >>> import numpy as np
    >>> from skstab.metrics import zucknick_stability
    >>> supports = [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0]]
    >>> similarity = np.eye(5)
    >>> similarity[0, 1] = similarity[1, 0] = 0.95
    >>> round(zucknick_stability(supports, similarity), 2)
    0.65
    """
    build = _adjusted.zucknick_measure
    return build(similarity=similarity, threshold=threshold, random_state=random_state)(
        supports
    )

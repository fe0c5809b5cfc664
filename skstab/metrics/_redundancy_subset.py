"""The public functions of the measures from the literature on redundant features."""

from __future__ import annotations

from skstab._typing import MatrixLike, RandomState, RunsLike
from skstab.metrics import _redundancy


def pogr_stability(
    supports: RunsLike,
    similarity: MatrixLike,
    *,
    threshold: float = 0.9,
    random_state: RandomState = None,
) -> float:
    """POGR: the share of one run's features that the other run selected, or selected a similar feature instead of.

    Not corrected for chance: larger sets, and features with many similar ones, score higher.

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
        Where no two features reach the threshold: the value is then that of :func:`pog_stability`.

    Notes
    -----
    (r + O_ij) / k_i, averaged over both directions and all pairs of runs, with r the number of shared features and O_ij
    the number of features of run i that run j did not select, but selected a similar feature of [1]_. As in
    :func:`yu_stability` one feature can stand for several; unlike there, it may itself be a shared one.

    References
    ----------
    .. [1] Zhang, M., Zhang, L., Zou, J. et al. (2009). Evaluating reproducibility of differential expression
       discoveries in microarray studies by considering correlated molecular changes. Bioinformatics 25.

    Examples
    --------
    The first two features are near-copies of each other, and each run selects one of them:

    >>> import numpy as np
    >>> from skstab.metrics import pogr_stability
    >>> supports = [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0]]
    >>> similarity = np.eye(5)
    >>> similarity[0, 1] = similarity[1, 0] = 0.95
    >>> round(pogr_stability(supports, similarity), 3)
    1.0
    """
    build = _redundancy.pogr_measure
    return build(similarity=similarity, threshold=threshold, random_state=random_state)(
        supports
    )


def npogr_stability(
    supports: RunsLike,
    similarity: MatrixLike,
    *,
    threshold: float = 0.9,
    random_state: RandomState = None,
) -> float:
    """nPOGR: POGR corrected for what random sets of the same sizes share, similar features included.

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
        At most 1, which is also reached by different sets of similar features; 0 is expected of random selections of
        any sizes. It is *not bounded* below: where nearly all features are similar, chance alone comes close to 1.

    Warns
    -----
    RuntimeWarning
        Where no two features reach the threshold: the value is then that of :func:`npog_stability`.

    Notes
    -----
    (r + O_ij − E) / (k_i − E), averaged over both directions and all pairs of runs [1]_; r and O_ij are those of
    :func:`pogr_stability`. E = k_i (1 − U), with U the mean over all features of the probability that a random set of
    the size of run j holds neither the feature nor one similar to it, which is hypergeometric. Where U = 0 the ratio is
    0/0: as in :func:`npog_stability`, such a pair scores 1 if both sets have the same size, otherwise 0.

    References
    ----------
    .. [1] Zhang, M., Zhang, L., Zou, J. et al. (2009). Evaluating reproducibility of differential expression
       discoveries in microarray studies by considering correlated molecular changes. Bioinformatics 25.

    Examples
    --------
    The first two features are near-copies of each other, and each run selects one of them:

    >>> import numpy as np
    >>> from skstab.metrics import npogr_stability
    >>> supports = [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0]]
    >>> similarity = np.eye(5)
    >>> similarity[0, 1] = similarity[1, 0] = 0.95
    >>> round(npogr_stability(supports, similarity), 3)
    1.0
    """
    build = _redundancy.npogr_measure
    return build(similarity=similarity, threshold=threshold, random_state=random_state)(
        supports
    )


def redundancy_dice_stability(
    supports: RunsLike,
    similarity: MatrixLike,
    *,
    threshold: float = 0.9,
    random_state: RandomState = None,
) -> float:
    """Dice's measure with similar features matched one for one, by their similarity.

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
        Between 0 and 1, which is also reached by different sets of copies.

    Warns
    -----
    RuntimeWarning
        Where no two features reach the threshold: the value is then that of :func:`dice_stability`.

    Notes
    -----
    2 W / (k_i + k_j), averaged over all pairs of runs, with W the weight of the heaviest matching between the features
    of the two runs. A feature matched with itself weighs 1, with another one their similarity, which must reach the
    threshold. For runs of one size this is the value-based similarity of [1]_ for single features. The sets are matched
    as a whole: a shared feature may be matched with another one where this allows more. The cost is one assignment
    problem for each pair of runs with similar features, in the number of these features.

    References
    ----------
    .. [1] Yu, L., Ding, C. and Loscalzo, S. (2008). Stable feature selection via dense feature groups. KDD.

    Examples
    --------
    The first two features are near-copies of each other, and each run selects one of them:

    >>> import numpy as np
    >>> from skstab.metrics import redundancy_dice_stability
    >>> supports = [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0]]
    >>> similarity = np.eye(5)
    >>> similarity[0, 1] = similarity[1, 0] = 0.95
    >>> round(redundancy_dice_stability(supports, similarity), 3)
    0.975
    """
    build = _redundancy.redundancy_dice_measure
    return build(similarity=similarity, threshold=threshold, random_state=random_state)(
        supports
    )

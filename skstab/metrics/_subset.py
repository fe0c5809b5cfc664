"""The measures of sets: the definition of each, and its properties.

The kernels are in `_pairwise` and `_frequency`.
"""

from __future__ import annotations

from skstab._typing import RunsLike
from skstab.metrics import _frequency, _pairwise


def nogueira_stability(supports: RunsLike) -> float:
    """Stability of Nogueira, Sechidis and Brown: the recommended measure of sets.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        At most 1, reached only when all runs select the same features; at least −1/(n_runs − 1); 0 is expected of
        random selections.

    Notes
    -----
    Definition 4 of [1]_: Φ̂ = 1 − mean_f(s_f²) / ((k̄/d)(1 − k̄/d)), with s_f² the unbiased variance of the selection
    of feature f and k̄ the mean number of features selected. It equals Fleiss' kappa and, when all runs select
    equally many features, Kuncheva's index. It is O(nnz) for any number of runs.

    When sizes vary, random selections score slightly less than 0 on average, by var(k) / ((n_runs − 1) k̄ (d − k̄))
    with var(k) the variance of the sizes: theorem 3 of [1]_ is exact only for equal sizes or many runs.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import nogueira_stability
    >>> nogueira_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    0.333...
    """
    return _frequency.NOGUEIRA(supports)


def kuncheva_stability(supports: RunsLike) -> float:
    """Consistency index of Kuncheva, for runs that select equally many features.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        At most 1, reached only when all runs select the same features; at least −1/(n_runs − 1); 0 is expected of
        random selections.

    Notes
    -----
    Average over pairs of runs of (r − k²/d) / (k − k²/d), r the number of features that two runs share. Where sizes
    vary use :func:`nogueira_stability`, to which it is equal otherwise. See [1]_.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import kuncheva_stability
    >>> kuncheva_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    0.333...
    """
    return _pairwise.KUNCHEVA(supports)


def jaccard_stability(supports: RunsLike) -> float:
    """Average Jaccard index of two runs: shared features over all features of either.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        Between 0 and 1, which is reached only when all runs select the same features. Not corrected for chance:
        larger sets score higher.

    Notes
    -----
    S_S of Kalousis et al. (2007). Two empty sets score 1. The only measure here that needs every pair of runs, by one
    matrix product. See [1]_.

    References
    ----------
    .. [1] Nogueira, S. and Brown, G. (2016). Measuring the stability of feature selection. ECML PKDD.

    Examples
    --------
    >>> from skstab.metrics import jaccard_stability
    >>> jaccard_stability([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 0, 1, 0, 0]])
    0.611...
    """
    return _pairwise.JACCARD(supports)


def dice_stability(supports: RunsLike) -> float:
    """Average Dice–Sørensen index of two runs: shared features over their mean size.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        Between 0 and 1, which is reached only when all runs select the same features. Not corrected for chance:
        larger sets score higher.

    Notes
    -----
    Average over pairs of runs of 2r / (k_i + k_j). Two empty sets score 1. See [1]_.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import dice_stability
    >>> dice_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    0.666...
    """
    return _pairwise.DICE(supports)


def ochiai_stability(supports: RunsLike) -> float:
    """Average Ochiai index of two runs: shared features over the geometric mean of their sizes.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        Between 0 and 1, which is reached only when all runs select the same features. Not corrected for chance:
        larger sets score higher.

    Notes
    -----
    Average over pairs of runs of r / √(k_i k_j). An empty set scores 0 against others and 1 against another empty
    set. See [1]_.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import ochiai_stability
    >>> ochiai_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    0.666...
    """
    return _pairwise.OCHIAI(supports)


def hamming_stability(supports: RunsLike) -> float:
    """Average share of features on whose selection two runs agree.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        Between 0 and 1, which is reached only when all runs select the same features. Not corrected for chance:
        features that are never selected raise it.

    Notes
    -----
    Average over pairs of runs of 1 − size(s_i △ s_j) / d. Table 6 of [1]_ repeats s_i ∖ s_j by mistake: the symmetric
    difference is meant.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import hamming_stability
    >>> hamming_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    0.666...
    """
    return _pairwise.HAMMING(supports)


def pog_stability(supports: RunsLike) -> float:
    """Average percentage of overlapping genes: shared features over the size of a run, both ways.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        Between 0 and 1, which is reached only when all runs select the same features. Not corrected for chance:
        larger sets score higher.

    Notes
    -----
    Average over ordered pairs of runs of r / k_i. An empty set scores 0 against others and 1 against another empty
    set. See [1]_.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import pog_stability
    >>> pog_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]])
    0.66...
    """
    return _pairwise.POG(supports)


def npog_stability(supports: RunsLike) -> float:
    """Normalised percentage of overlapping genes: overlap beyond chance over the size of a run, both ways.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        At most 1, reached only when all runs select the same features; not bounded below (it can fall to 1 −
        n_features); 0 is expected of random selections.

    Notes
    -----
    Average over ordered pairs of runs of (r − k_i k_j/d) / (k_i − k_i k_j/d). Equal to :func:`nogueira_stability`
    when all runs select equally many features. A set with nothing or everything in it scores 0 against others. See
    [1]_.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import npog_stability
    >>> npog_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]])
    0.444...
    """
    return _pairwise.NPOG(supports)


def lustgarten_stability(supports: RunsLike) -> float:
    """Lustgarten's index: overlap beyond chance over the range that the overlap can take.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        Between −1 and 1; 0 is expected of random selections. Runs that select the same k features score max(k/d, 1 −
        k/d), not 1.

    Notes
    -----
    Average over pairs of runs of (r − k_i k_j/d) / (min(k_i, k_j) − max(0, k_i + k_j − d)). A set with nothing or
    everything in it scores 0 against others. See [1]_.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import lustgarten_stability
    >>> lustgarten_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    0.166...
    """
    return _pairwise.LUSTGARTEN(supports)


def wald_stability(supports: RunsLike) -> float:
    """Wald's index: overlap beyond chance over the largest possible excess over chance.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        At most 1, also reached by different sets that contain one another; not bounded below (it can fall to 1 −
        n_features); 0 is expected of random selections.

    Notes
    -----
    Average over pairs of runs of (r − k_i k_j/d) / (min(k_i, k_j) − k_i k_j/d). Equal to :func:`nogueira_stability`
    when all runs select equally many features. A set with nothing or everything in it scores 0 against others. See
    [1]_.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import wald_stability
    >>> wald_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]])
    0.666...
    """
    return _pairwise.WALD(supports)


def phi_stability(supports: RunsLike) -> float:
    """Average phi coefficient of two runs: Pearson's correlation of their 0/1 rows.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        At most 1, reached only when all runs select the same features; at least −1/(n_runs − 1); 0 is expected of
        random selections.

    Notes
    -----
    Proposed in [1]_. Equal to :func:`nogueira_stability` when all runs select equally many features. A set with
    nothing or everything in it scores 0 against others and 1 against an equal set.

    References
    ----------
    .. [1] Nogueira, S. and Brown, G. (2016). Measuring the stability of feature selection. ECML PKDD.

    Examples
    --------
    >>> from skstab.metrics import phi_stability
    >>> phi_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]])
    0.384...
    """
    return _pairwise.PHI(supports)


def goh_stability(supports: RunsLike) -> float:
    """Goh and Wong's measure: the mean frequency of selection of all features.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        Between 0 and 1. It is the mean size of the sets over the number of features, whatever their content: for
        comparison with the literature only.

    Notes
    -----
    mean_f(p_f) = k̄/d, see [1]_, appendix A.2.1.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import goh_stability
    >>> goh_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    0.5
    """
    return _frequency.GOH(supports)


def davis_stability(supports: RunsLike, *, penalty: float = 1.0) -> float:
    """Davis' measure: the mean frequency of the features ever selected, less a penalty for long lists.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.
    penalty : float, default=1.0
        Factor of the penalty, which is `penalty` times the median number of selected features over all features; the
        paper's α.

    Returns
    -------
    stability : float
        Between 0 and 1.

    Notes
    -----
    max(0, Σ_f p_f / F − penalty · median(k) / d), F the number of features selected by at least one run; [1]_,
    equation (3).

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import davis_stability
    >>> davis_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]], penalty=0.5)
    0.416...
    """
    return _frequency.davis_measure(penalty=penalty)(supports)


def krizek_stability(supports: RunsLike) -> float:
    """Křížek's measure: the entropy of the sets, in bits; lower is more stable.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        0 when all runs select the same features, up to log2(n_runs) when no two runs do. It ignores how much two
        different sets share.

    Notes
    -----
    −Σ p(s) log₂ p(s) over the distinct sets s, for runs that select equally many features. See [1]_.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import krizek_stability
    >>> krizek_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 1, 0]])
    1.0
    """
    return _frequency.KRIZEK(supports)


def guzman_stability(supports: RunsLike) -> float:
    """Guzmán-Martínez and Alaiz-Rodríguez' measure, from the Jensen–Shannon divergence of the runs.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        Between 0 and 1, which is reached only when all runs select the same features. Random selections score above
        0, less so the more runs there are.

    Notes
    -----
    1 − mean_f(p_f log p_f) / ((k/d) log(k/d)), for runs that select equally many features; [1]_, equation (11). Table 2
    of [1]_ calls it corrected for chance, but the proof applies Jensen's inequality in the wrong direction: the mean
    over random sets is positive for every finite number of runs.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import guzman_stability
    >>> guzman_stability([[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 0, 1, 1], [0, 0, 1, 1, 0]])
    0.243...
    """
    return _frequency.GUZMAN(supports)


def cwrel_stability(supports: RunsLike) -> float:
    """Relative weighted consistency of Somol and Novovičová.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        Between 0 and 1, also reached by sets of different sizes that contain one another.

    Notes
    -----
    The position of the counts between the least and the most consistent ones with the same total number of selected
    features; [1]_, equation (4). Where these two coincide it is the weighted consistency itself.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import cwrel_stability
    >>> cwrel_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    0.5
    """
    return _frequency.CWREL(supports)


def lausser_stability(supports: RunsLike) -> float:
    """Lausser's measure: the sum of the squared selection frequencies over the size of the sets.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: boolean or 0/1.

    Returns
    -------
    stability : float
        Between 0 and 1, which is reached only when all runs select the same features. Not corrected for chance:
        larger sets, and fewer runs, score higher.

    Notes
    -----
    Σ_f p_f² / k, for runs that select equally many features; [1]_, equation (12).

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> from skstab.metrics import lausser_stability
    >>> lausser_stability([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    0.777...
    """
    return _frequency.LAUSSER(supports)

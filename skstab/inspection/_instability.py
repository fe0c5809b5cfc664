"""Where the instability of a selection is: in which features, in which clusters, and how much of it is substitutes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skstab._matrices import group_codes
from skstab._typing import FloatArray, IndexArray, MatrixLike, RandomState, RunsLike
from skstab.inspection._sources import most_frequent, supports_of
from skstab.inspection._substitutes import substitutes
from skstab.metrics import effective_stability, get_measure
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["InstabilityShares", "instability_shares", "shares_of"]

_SHOWN = 20


@dataclass(frozen=True, repr=False, eq=False)
class InstabilityShares:
    """Shares of the instability of a selection; made by :func:`instability_shares`.

    Parameters
    ----------
    features : DataFrame
        One row per feature, as `frame` returns it.
    clusters : DataFrame or None
        One row per cluster, indexed by its label: its `n_features`, the `frequency` with which any of them is selected
        and the `share` of the instability that they hold together; None without groups.
    stability : float
        The stability of the features, Nogueira's; with a similarity, that of their importances.
    cluster_stability : float or None
        The effective stability of the clusters, or with a similarity the stability by transport, which forgives
        substitutes; None without either.
    due_to_substitutes : float or None
        The part of the instability that is due to substitutes; None where it is not defined.
    reason : str or None
        Why it is not.
    substitutes : DataFrame, default=None
        Which feature stands for which, as of :func:`substitutes`; None without a similarity.

    Examples
    --------
    >>> from skstab.inspection import InstabilityShares, instability_shares
    >>> from skstab.runs import Runs
    >>> found = instability_shares(Runs.from_sets([["a"], ["b"]], features=["a", "b", "c"]))
    >>> isinstance(found, InstabilityShares)
    True
    >>> found.due_to_substitutes, found.reason
    (None, 'neither groups nor a similarity of features were given')
    """

    features: pd.DataFrame
    clusters: pd.DataFrame | None
    stability: float
    cluster_stability: float | None
    due_to_substitutes: float | None
    reason: str | None
    _: KW_ONLY
    substitutes: pd.DataFrame | None = None

    def frame(self) -> pd.DataFrame:
        """Tabulate the features.

        Returns
        -------
        table : DataFrame
            One row per feature, indexed by its name, the largest share first: its selection `frequency`, its `share` of
            the instability and, with groups, its `cluster`.
        """
        return self.features.copy()

    def _summary(self) -> str:
        if self.due_to_substitutes is None:
            return f"stability {self.stability:.2f}; the part due to substitutes is not known: {self.reason}"
        of = "of clusters" if self.substitutes is None else "with substitutes"
        stability = f"stability {self.stability:.2f}, {of} {self.cluster_stability:.2f}"
        return f"{stability}: {self.due_to_substitutes:.0%} of the instability is due to substitutes"

    def __repr__(self) -> str:
        return f"InstabilityShares({self._summary()})"

    def _repr_html_(self) -> str:
        table = self.features if self.clusters is None else self.clusters
        html: str = table.head(_SHOWN).to_html(float_format="{:.3f}".format)
        return f"<div><p><strong>{escape(self._summary())}</strong></p>{html}</div>"


def instability_shares(
    runs: RunsLike,
    *,
    groups: ArrayLike | None = None,
    similarity: MatrixLike | None = None,
    random_state: RandomState = None,
) -> InstabilityShares:
    """Share out the instability of a selection among features, clusters and substitutes.

    Parameters
    ----------
    runs : Runs, StabilityCV or search
        What runs selected, or a fitted object that holds runs.
    groups : array-like of shape (n_features,), default=None
        A label for each feature: features of one group stand for each other, see :func:`feature_clusters`.
    similarity : array-like, DataFrame or sparse matrix of shape (n_features, n_features), default=None
        Instead of groups, how similar two features are, such as their absolute correlations.
    random_state : int, RandomState instance or None, default=None
        Seed of the correction for chance with a similarity.

    Returns
    -------
    shares : InstabilityShares
        With `frame()`, `clusters` and `due_to_substitutes`.

    Notes
    -----
    Nogueira's stability is φ = 1 − Σs²/constant, with s² the variance of a feature's selection: a feature's share of
    the instability is s²/Σs², zero where all runs agree. A cluster's share is the sum of those of its features.

    With φ_C the stability in which the features of a cluster count as one (:func:`skstab.metrics.effective_stability`),
    (φ_C − φ)/(1 − φ) is the part of the instability that disappears when substitutes are forgiven. φ_C is not
    bounded: where the part is not from 0 to 1 it is not reported, and `reason` says so.

    With a similarity the runs need importances. φ is then :func:`skstab.metrics.importance_weighted_stability` and φ_C
    :func:`skstab.metrics.transport_stability`, both corrected for chance by themselves.

    Examples
    --------
    Two near-copies take turns, and a third feature comes and goes:

    >>> from skstab.inspection import instability_shares
    >>> from skstab.runs import Runs
    >>> sets = [["a", "d"], ["b", "d"], ["a", "c"], ["b", "d"], ["a", "d"], ["b", "d"]]
    >>> runs = Runs.from_sets(sets, features=["a", "b", "c", "d", "e", "f"])
    >>> shares = instability_shares(runs, groups=["ab", "ab", "c", "d", "e", "f"])
    >>> shares
    InstabilityShares(stability 0.30, of clusters 0.73: 62% of the instability is due to substitutes)
    >>> shares.clusters.round(2)
             n_features  frequency  share
    cluster
    ab                2       1.00   0.64
    c                 1       0.17   0.18
    d                 1       0.83   0.18
    e                 1       0.00   0.00
    f                 1       0.00   0.00
    """
    found, supports = supports_of(runs)
    stability = found.stability()
    frequency = found.frequencies().to_numpy()
    columns = {"frequency": frequency, "share": shares_of(frequency)}
    if similarity is not None:
        if groups is not None:
            raise ValueError("groups and similarity cannot both be given")
        table = _sorted(columns, found.feature_names)
        return _with_similarity(found, table, similarity, random_state)
    if groups is None:
        table = _sorted(columns, found.feature_names)
        why = "neither groups nor a similarity of features were given"
        return InstabilityShares(table, None, stability, None, None, why)
    labels, codes = group_codes(groups, found.n_features)
    table = _sorted({**columns, "cluster": labels[codes]}, found.feature_names)
    forgiving = effective_stability(supports, groups=codes)
    part, reason = due_to_substitutes(stability, forgiving)
    return InstabilityShares(
        table, _clusters(found, labels, codes), stability, forgiving, part, reason
    )


def _with_similarity(
    runs: Runs, table: pd.DataFrame, similarity: Any, random_state: Any
) -> InstabilityShares:
    options = {"similarity": similarity, "random_state": random_state}
    forgiving = runs.stability(get_measure("transport", **options))
    stability = runs.stability("importance_weighted")
    part, reason = due_to_substitutes(stability, forgiving, "with substitutes")
    return InstabilityShares(
        table,
        None,
        stability,
        forgiving,
        part,
        reason,
        substitutes=substitutes(runs, similarity),
    )


def shares_of(frequency: FloatArray) -> FloatArray:
    """Variances p (1 − p) of the selections, divided by their sum."""
    variance = frequency * (1 - frequency)
    total = variance.sum()
    return variance / total if total > 0 else np.zeros(len(variance))


def due_to_substitutes(
    stability: float, forgiving: float, of: str = "of clusters"
) -> tuple[float | None, str | None]:
    """(φ_C − φ)/(1 − φ) where it is a part; otherwise None and the reason."""
    if stability >= 1:
        return None, "all runs agree, there is no instability"
    part = (forgiving - stability) / (1 - stability)
    if -1e-12 <= part <= 1 + 1e-12:
        return float(np.clip(part, 0, 1)), None
    why = (
        f"the stability {of} is less than that of features"
        if part < 0
        else f"the stability {of} exceeds 1"
    )
    return None, f"{why} ({forgiving:.2f} {of}, {stability:.2f} of features)"


def _clusters(runs: Runs, labels: Any, codes: IndexArray) -> pd.DataFrame:
    columns = {
        "n_features": np.bincount(codes),
        "frequency": runs.grouped(codes).frequencies().to_numpy(),
        "share": np.bincount(codes, weights=shares_of(runs.frequencies().to_numpy())),
    }
    return _sorted(columns, labels, index="cluster")


def _sorted(
    columns: dict[str, Any], names: Any, *, index: str = "feature"
) -> pd.DataFrame:
    import pandas as pd

    order = most_frequent(columns["share"], columns["frequency"])
    return pd.DataFrame(columns, index=pd.Index(names, name=index)).iloc[order]

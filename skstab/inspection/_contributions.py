"""Where the importance-weighted stability comes from: which features, and which part of a selection."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from skstab._checks import naming
from skstab._minima import minima_with_others, minima_within_groups, scaled_to_one
from skstab._typing import BoolArray, FloatArray, IntArray, MatrixLike, RunsLike
from skstab.inspection._sources import most_frequent, runs_of
from skstab.metrics import importance_weighted_stability
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ImportanceContributions", "importance_contributions"]

_SHOWN = 20


@dataclass(frozen=True, repr=False, eq=False)
class ImportanceContributions:
    """Contributions to the importance-weighted stability; made by :func:`importance_contributions`.

    Parameters
    ----------
    features : DataFrame
        One row per feature, as `frame` returns it.
    parts : DataFrame or None
        The rows "core" and "rest": the mean number `n_features` of features in a run, the mean share `importance` of
        the importance, the `stability` of the part alone (NaN where no run gives it any importance), and its
        `contribution`; None without a core.
    stability : float
        The importance-weighted stability, which is the sum of all contributions.
    lost_by_empty_runs : float
        What is lost where one of two runs selected nothing, which is due to no feature.

    Examples
    --------
    >>> from skstab.inspection import ImportanceContributions, importance_contributions
    >>> from skstab.runs import Runs
    >>> found = importance_contributions(Runs([[1, 1, 0], [1, 0, 1]], [[0.8, 0.2, 0.0], [0.8, 0.0, 0.2]]))
    >>> isinstance(found, ImportanceContributions)
    True
    >>> found
    ImportanceContributions(stability 0.63, largest contribution 0.88 by x0)
    """

    features: pd.DataFrame
    parts: pd.DataFrame | None
    stability: float
    lost_by_empty_runs: float

    def frame(self) -> pd.DataFrame:
        """Tabulate the features.

        Returns
        -------
        table : DataFrame
            One row per feature, indexed by its name, the largest contribution first: the `frequency` of runs in which
            it has any importance, its mean share `importance` of the importance, its `global_importance` (I* of the
            paper), its `contribution` to the stability, and what is lost because it is not always selected
            (`lost_by_selection`) and because its importance varies where it is (`lost_by_importance`).
        """
        return self.features.copy()

    def _summary(self) -> str:
        stability = f"stability {self.stability:.2f}"
        if self.parts is None:
            largest = self.features["contribution"].iloc[0]
            return f"{stability}, largest contribution {largest:.2f} by {self.features.index[0]}"
        core = self.parts.loc["core"]
        part = f"{core['contribution']:.2f} from the core with {core['importance']:.0%} of the importance"
        return f"{stability}, of which {part}"

    def __repr__(self) -> str:
        return f"ImportanceContributions({self._summary()})"

    def _repr_html_(self) -> str:
        table = self.features.head(_SHOWN) if self.parts is None else self.parts
        html: str = table.to_html(float_format="{:.3f}".format)
        return f"<div><p><strong>{escape(self._summary())}</strong></p>{html}</div>"


def importance_contributions(
    runs: RunsLike, *, core: ArrayLike | MatrixLike | None = None
) -> ImportanceContributions:
    """Share out the importance-weighted stability among features, and between a core and the rest.

    A list of features can look stable because of features that the models hardly use. Contributions show which features
    the stability of the *importance* comes from, which it is lost by, and why.

    Parameters
    ----------
    runs : Runs, StabilityCV or search
        Runs with importances, or a fitted object that holds them.
    core : array-like, default=None
        Which selections belong to the core: a mask of shape (n_features,), a mask of shape (n_runs, n_features) where
        the core differs between runs, as that of :class:`~skstab.feature_selection.HybridRFE` does, or names of
        features.

    Returns
    -------
    contributions : ImportanceContributions
        With `frame()`, `parts` and `stability`.

    See Also
    --------
    instability_shares : The same question for sets of features, without importances.
    skstab.metrics.importance_weighted_stability : The stability that is shared out.

    Notes
    -----
    Importances of a run are scaled to the sum 1, and M is the number of runs. With I_fi the importance of feature f in
    run i, the stability is (A − C)/(1 − C) of [1]_, equation (6). A sums over features what two runs share, the mean
    of min(I_fi, I_fj), and C what f would share with a feature drawn at random: a feature *contributes* its terms of
    (A − C)/(1 − C), which may be below zero for one that shares less than expected by chance.

    Equation (10) splits the loss 1 − φ in two. With p_f the frequency, m_f the mean importance and I*_f, the global
    importance, the mean of min(I_fi, I_fj) over all i and j that select f, feature f loses
    M/(M − 1) · I*_f p_f (1 − p_f)/(1 − C) by its selection and M/(M − 1) · (m_f − I*_f p_f)/(1 − C) by its importance.
    (The text of section 6.2 divides I* by M² instead; equation (10) holds with the definition used here.)

    A selection of the core in one run and of the rest in another one shares its importance between the two parts
    equally. Where no feature is in both, each part has the same share of the importance in all runs and there are many
    features, the contribution of a part is its `importance` times its `stability` (property 6 of [1]_).

    Contributions are NaN where all runs give all features the same importance, or select nothing.

    References
    ----------
    .. [1] Hamer, V. and Dupont, P. (2021). An importance weighted feature selection stability measure. JMLR 22.

    Examples
    --------
    Fifteen features are always selected but share half of the importance; the other half goes to five others in every
    run (figure 6 of the paper):

    >>> import numpy as np
    >>> from skstab.inspection import importance_contributions
    >>> from skstab.runs import Runs
    >>> importances = np.zeros((30, 2000))
    >>> importances[:, :15] = 2 / 3
    >>> for run in range(30):
    ...     importances[run, 15 + 5 * run : 20 + 5 * run] = 2
    >>> found = importance_contributions(Runs(importances != 0, importances), core=np.arange(2000) < 15)
    >>> found
    ImportanceContributions(stability 0.50, of which 0.50 from the core with 50% of the importance)
    >>> found.parts.round(2)
          n_features  importance  stability  contribution
    part
    core        15.0         0.5        1.0           0.5
    rest         5.0         0.5       -0.0          -0.0
    """
    found = runs_of(runs, "runs")
    if len(found) < 2:
        raise ValueError(f"runs must hold at least 2 runs, got {len(found)}")
    with naming("runs"):
        importances = found.table_for("importance_weighted")
    table = sparse.csr_array(abs(sparse.csr_array(importances)))
    table.eliminate_zeros()
    mask = None if core is None else _core_mask(core, found)
    shared = _shared(table)
    parts = None if mask is None else _parts(table, shared, mask)
    return ImportanceContributions(
        _features(shared, found),
        parts,
        found.stability("importance_weighted"),
        shared.empty,
    )


# -- what runs share ---------------------------------------------------------------------------------------------------


class _Shared(NamedTuple):
    """The importances that are not zero, one entry for each, and what each adds to the stability."""

    run: IntArray
    feature: IntArray
    # Share of the importance of its run.
    share: FloatArray
    # Σ of minima with the same feature in other runs.
    minima: FloatArray
    contribution: FloatArray
    # 1 − C.
    room: float
    # What is lost by pairs of runs of which one is empty.
    empty: float


def _shared(table: Any) -> _Shared:
    m, d = table.shape
    run = np.repeat(np.arange(m), np.diff(table.indptr))
    share = scaled_to_one(table.data, run, m)
    order = np.argsort(-share, kind="stable")
    run, feature, share = run[order], table.indices[order], share[order]
    minima = minima_within_groups(share, feature)
    by_chance = (minima_with_others(share) - minima_within_groups(share, run)) / d
    n_empty, pairs = m - len(np.unique(run)), m * (m - 1)
    room = 1 - (by_chance.sum() + n_empty * (n_empty - 1)) / pairs
    room = room if room > 1e-12 else np.nan
    contribution = (minima - by_chance) / (pairs * room)
    return _Shared(
        run,
        feature,
        share,
        minima,
        contribution,
        room,
        n_empty * (m - n_empty) / (pairs * room),
    )


def _features(shared: _Shared, runs: Runs) -> pd.DataFrame:
    """Equation (10), feature by feature."""
    import pandas as pd

    m, d = len(runs), runs.n_features
    counts = np.bincount(shared.feature, minlength=d)
    total, minima = (
        np.bincount(shared.feature, values, d)
        for values in (shared.share, shared.minima)
    )
    frequency, mean = counts / m, total / m
    common = (minima + total) / np.maximum(counts, 1) ** 2
    factor = m / ((m - 1) * shared.room)
    columns = {
        "frequency": frequency,
        "importance": mean,
        "global_importance": common,
        "contribution": np.bincount(shared.feature, shared.contribution, d),
        "lost_by_selection": factor * common * frequency * (1 - frequency),
        # Rounding may make this difference of equal numbers negative.
        "lost_by_importance": factor * np.maximum(mean - common * frequency, 0.0),
    }
    order = most_frequent(np.nan_to_num(columns["contribution"]), mean)
    return pd.DataFrame(
        columns, index=pd.Index(runs.feature_names, name="feature")
    ).iloc[order]


# -- the core ----------------------------------------------------------------------------------------------------------


def _core_mask(core: Any, runs: Runs) -> BoolArray:
    """Read the core as a table of shape (n_runs, n_features)."""
    try:
        mask = np.asarray(core.toarray() if sparse.issparse(core) else core)
    except ValueError:  # rows of different lengths
        mask = np.empty(0, dtype=bool)
    shape = len(runs), runs.n_features
    if mask.dtype == bool and mask.shape in (shape, shape[1:]):
        return np.broadcast_to(mask, shape)
    names = np.asarray(runs.feature_names)
    if mask.dtype != bool and mask.ndim == 1 and np.isin(mask, names).all():
        return np.broadcast_to(np.isin(names, mask), shape)
    raise ValueError(
        f"core must be a mask of {shape[1]} features, one for each of {shape[0]} runs, or names of features, "
        f"got {core!r}"
    )


def _parts(table: Any, shared: _Shared, core: BoolArray) -> pd.DataFrame:
    import pandas as pd

    inside = core[shared.run, shared.feature]
    rows = [_part(table, shared, core, inside), _part(table, shared, ~core, ~inside)]
    return pd.DataFrame(rows, index=pd.Index(["core", "rest"], name="part"))


def _part(
    table: Any, shared: _Shared, mask: BoolArray, inside: BoolArray
) -> dict[str, float]:
    m = table.shape[0]
    return {
        "n_features": inside.sum() / m,
        "importance": shared.share[inside].sum() / m,
        "stability": importance_weighted_stability(table.multiply(mask))
        if inside.any()
        else np.nan,
        "contribution": shared.contribution[inside].sum() if inside.any() else 0.0,
    }

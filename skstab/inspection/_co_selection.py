"""Which features are selected instead of each other, and which together."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from skstab._checks import check_level, check_number
from skstab._typing import IntArray, MatrixLike, RunsLike
from skstab.inspection._clusters import check_columns, pair_correlations
from skstab.inspection._pair_tests import (
    PairCounts,
    dense_columns,
    holm,
    pair_pvalues,
    pairs_within,
)
from skstab.inspection._sources import supports_of
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CoSelection", "co_selection"]

_SHOWN = 20


@dataclass(frozen=True, repr=False, eq=False)
class CoSelection:
    """Pairs of features that runs select together less or more often than chance; made by :func:`co_selection`.

    Parameters
    ----------
    pairs : DataFrame
        What `frame` returns.
    frequencies : Series
        Selection frequencies of the tested features, indexed by their names.
    columns : ndarray of int
        Their columns.
    n_runs : int
        Number of runs.
    level : float
        The level of the tests.

    Examples
    --------
    >>> from skstab.inspection import CoSelection, co_selection
    >>> from skstab.runs import Runs
    >>> sets = [["a", "c"], ["b", "c"], ["a"], ["b", "c"], ["a", "c"], ["b"]] * 5
    >>> runs = Runs.from_sets(sets, features=["a", "b", "c"])
    >>> found = co_selection(runs)
    >>> isinstance(found, CoSelection)
    True
    >>> found
    CoSelection(3 pairs of 3 features tested over 30 runs: 1 of substitutes, 0 of companions)
    """

    pairs: pd.DataFrame
    frequencies: pd.Series[float]
    columns: IntArray
    n_runs: int
    level: float

    @property
    def n_pairs(self) -> int:
        """Number of pairs that were tested."""
        return len(self.columns) * (len(self.columns) - 1) // 2

    def frame(self) -> pd.DataFrame:
        """Tabulate the pairs.

        Returns
        -------
        table : DataFrame
            One row for each pair whose p-value is at most the level, the smallest first: `feature` and `other`, their
            columns `column` and `other_column`, their frequencies `frequency` and `other_frequency`, the share of runs
            that selected both, `together`, the share `expected` of independent features, their correlation over the
            runs, `association`, the `pvalue`, the same adjusted for all tested pairs, `adjusted`, the `kind`
            ("substitutes", "companions" or "neither", by the adjusted one) and the `correlation` of the two columns of
            X, where X was given.
        """
        return self.pairs.copy()

    def _summary(self) -> str:
        kinds = self.pairs["kind"].value_counts()
        found = ", ".join(
            f"{kinds.get(kind, 0)} of {kind}" for kind in ("substitutes", "companions")
        )
        return f"{self.n_pairs} pairs of {len(self.frequencies)} features tested over {self.n_runs} runs: {found}"

    def __repr__(self) -> str:
        return f"CoSelection({self._summary()})"

    def _repr_html_(self) -> str:
        table: str = self.pairs.head(_SHOWN).to_html(
            float_format="{:.3g}".format, index=False
        )
        return f"<div><p><strong>{escape(self._summary())}</strong></p>{table}</div>"


def co_selection(
    runs: RunsLike,
    X: MatrixLike | None = None,
    *,
    min_frequency: float = 0.05,
    level: float = 0.05,
) -> CoSelection:
    """Find features that are selected instead of each other (substitutes), or together (companions).

    Parameters
    ----------
    runs : Runs, StabilityCV or search
        What runs selected, or a fitted object that holds runs.
    X : array-like or sparse matrix of shape (n_samples, n_features), default=None
        The data, for the correlation of the two features of each listed pair.
    min_frequency : float, default=0.05
        Pairs are tested of features that are selected in at least this share of the runs, and not in all. Rare
        features are many: their pairs would take most of the time and of the power.
    level : float, default=0.05
        Pairs with a p-value up to this level are listed; those that keep it after the adjustment are called substitutes
        or companions.

    Returns
    -------
    found : CoSelection
        With `frame()`; :class:`CoSelectionDisplay` draws it.

    Notes
    -----
    The joint inclusion frequencies of [1]_ with Fisher's exact test: twice the smaller tail of the hypergeometric
    distribution, given how often each of the two was selected. The p-values are adjusted by Holm's method for all pairs
    of the features that are tested; it needs no assumption about how the tests depend on each other. The probability of
    any wrong "substitutes" or "companions" is at most `level`.

    The test treats the runs as independent of each other given the data, as bootstraps and random subsamples are; the
    folds of a cross-validation are not. It is about these data: which feature a selector takes instead of which. Where
    the *number* of features is fixed, features compete for places, and where it varies much, they come and go together;
    so look at the correlation, too: substitutes carry the same information only if they are correlated.

    References
    ----------
    .. [1] Heinze, G., Wallisch, C. and Dunkler, D. (2018). Variable selection: a review and recommendations for the
       practicing statistician. Biometrical Journal 60.

    Examples
    --------
    A lasso takes one of two near-copies:

    >>> import numpy as np
    >>> from sklearn.linear_model import Lasso
    >>> from skstab.inspection import co_selection
    >>> from skstab.model_selection import BootstrapSplit, StabilityCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 6))
    >>> X[:, 1] = X[:, 0] + 0.05 * rng.standard_normal(80)
    >>> y = X[:, 0] + X[:, 2] + rng.standard_normal(80)
    >>> lasso = StabilityCV(Lasso(alpha=0.2), cv=BootstrapSplit(100, random_state=0)).fit(X, y)
    >>> found = co_selection(lasso, X).frame()
    >>> found[["feature", "other", "together", "expected", "kind", "correlation"]].round(2)
      feature other  together  expected         kind  correlation
    0      x0    x1       0.1       0.2  substitutes          1.0
    """
    check_number(
        min_frequency, "min_frequency", "a number from 0 to below 1", least=0, below=1
    )
    found, supports = supports_of(runs)
    if X is not None:
        check_columns(X, found.n_features)
    check_level(level, "level")
    counts = np.asarray(supports.sum(axis=0)).ravel()
    columns = np.flatnonzero(
        (counts >= max(min_frequency * len(found), 1)) & (counts < len(found))
    )
    pairs = pairs_within(dense_columns(supports, columns), level)
    table = _table(found, columns, pairs, level, X)
    return CoSelection(
        table, found.frequencies().iloc[columns], columns, len(found), level
    )


def _table(
    runs: Runs, columns: IntArray, pairs: PairCounts, level: float, X: Any
) -> pd.DataFrame:
    import pandas as pd

    pvalue = pair_pvalues(pairs, len(runs))
    keep = np.flatnonzero(pvalue <= level)
    order = keep[np.lexsort((pairs.other[keep], pairs.one[keep], pvalue[keep]))]
    pairs, pvalue = PairCounts(*(values[order] for values in pairs)), pvalue[order]
    adjusted = holm(pvalue, len(columns) * (len(columns) - 1) // 2)
    one, other = columns[pairs.one], columns[pairs.other]
    found = {
        "feature": runs.feature_names[one],
        "other": runs.feature_names[other],
        "column": one,
        "other_column": other,
        **_shares(pairs, len(runs)),
        "pvalue": pvalue,
        "adjusted": adjusted,
        "kind": _kinds(pairs, len(runs), adjusted <= level),
    }
    return pd.DataFrame(
        found
        if X is None
        else found | {"correlation": pair_correlations(X, one, other)}
    )


def _shares(pairs: PairCounts, n_runs: int) -> dict[str, Any]:
    a, b, both = (
        count / n_runs for count in (pairs.n_one, pairs.n_other, pairs.n_both)
    )
    association = (both - a * b) / np.sqrt(a * (1 - a) * b * (1 - b))
    return {
        "frequency": a,
        "other_frequency": b,
        "together": both,
        "expected": a * b,
        "association": association,
    }


def _kinds(pairs: PairCounts, n_runs: int, differs: Any) -> Any:
    kind = np.where(
        pairs.n_both * n_runs < pairs.n_one * pairs.n_other, "substitutes", "companions"
    )
    return np.where(differs, kind, "neither").astype(object)

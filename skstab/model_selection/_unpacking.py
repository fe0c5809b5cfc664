"""The table of a search over any estimator: stabilities and runs in place of packed selections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from skstab._typing import FloatArray, NamesLike
from skstab.metrics import get_measure
from skstab.model_selection._packing import is_packed, read_scores, read_table
from skstab.model_selection._scorers import column_name, scoring_of_number, tabulated
from skstab.runs import Runs

__all__ = ["collect_runs", "ranks_of", "readable"]


def ranks_of(values: FloatArray) -> Any:
    """1 for the largest; missing values come last."""
    return rankdata(-np.nan_to_num(values, nan=-np.inf), method="min").astype(np.int32)


def readable(results: Any) -> Any:
    """The table of a search, with stabilities in place of packed selections where it holds such."""
    is_table = isinstance(results, Mapping) or hasattr(results, "columns")
    if not is_table or not is_packed(results):
        return results
    if "params" not in results:
        raise ValueError(
            "cv_results must be the table of a search; what cross_validate returns is read by collect_runs"
        )
    table = read_table(results)
    scoring = scoring_of_number(table.scoring)
    if scoring is None:
        raise ValueError(
            "cv_results names a scoring that is not known in this process: pass the search itself, or use collect_runs"
        )
    if max(map(len, table.runs)) < 2:
        raise ValueError(
            "cv_results has no candidate with two fits whose selections could be compared: give the search "
            "cv=BootstrapSplit(50) or another splitter of at least two splits"
        )
    measures = [get_measure(measure) for measure in scoring.measures]
    rows = [
        tabulated(runs, table.scores, measures) if len(runs) > 1 else {}
        for runs in table.runs
    ]
    results = table.kept
    for name in dict.fromkeys(name for row in rows for name in row):
        # The mean of a score is there: that of the search, of all its splits.
        if name not in table.scores:
            values = np.array([row.get(name, np.nan) for row in rows])
            results[f"mean_test_{name}"] = values
            if name in map(column_name, measures):
                results[f"rank_test_{name}"] = ranks_of(values)
    results["runs"] = table.runs
    return results


def collect_runs(
    source: Any, *, feature_names: NamesLike | None = None
) -> Runs | list[Runs]:
    """Collect what the fits of a search, or of `cross_validate`, selected.

    Parameters
    ----------
    source : fitted search, its `cv_results_`, or the dict of `cross_validate`
        Made with `scoring=stability_scoring(...)` over any estimator but a :class:`StabilityCV`; or a fitted
        :class:`StabilitySearchCV`.
    feature_names : sequence of str, default=None
        Names of the features; None takes those that the search knows.

    Returns
    -------
    runs : Runs or list of Runs
        The runs of `cross_validate`, or those of each candidate of a search.

    See Also
    --------
    stability_scoring : The scorer that such calls need.
    collect_supports : Supports of fitted estimators.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import Lasso
    >>> from sklearn.model_selection import cross_validate
    >>> from skstab.model_selection import BootstrapSplit, collect_runs, stability_scoring
    >>> X, y = make_regression(n_features=20, n_informative=3, noise=20, random_state=0)
    >>> cv = BootstrapSplit(20, random_state=0)
    >>> runs = collect_runs(cross_validate(Lasso(), X, y, cv=cv, scoring=stability_scoring()))
    >>> runs
    Runs(20 runs, 20 features, 14.6 selected on average, scores: score)
    >>> print(f"{runs.stability():.2f}")
    0.12
    """
    if hasattr(source, "runs_"):
        return source.runs_  # type: ignore[no-any-return]
    results = getattr(source, "cv_results_", source)
    if not isinstance(results, Mapping):
        raise TypeError(
            f"source must be a fitted search or the dict of cross_validate, got {source!r}"
        )
    if feature_names is None:
        feature_names = getattr(source, "feature_names_in_", None)
    if "runs" in results:
        return [_renamed(runs, feature_names) for runs in results["runs"]]
    if not is_packed(results):
        raise ValueError(
            "source holds no selections: make it with scoring=stability_scoring(...), over an estimator that is not a "
            "StabilityCV"
        )
    if "params" in results:
        return read_table(results, feature_names).runs
    return read_scores(results, feature_names)


def _renamed(runs: Runs, names: NamesLike | None) -> Runs:
    if names is None:
        return runs
    return replace(runs, feature_names=names, **runs.tables._asdict())

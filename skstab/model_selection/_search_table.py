"""The candidates of a search as a table: score, stability, and which of them to choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from skstab._checks import is_choice, naming
from skstab._typing import FloatArray
from skstab.model_selection._pareto import (
    STRATEGIES,
    ParetoRefit,
    column,
    front_of,
    has_sizes,
    objectives,
    standard_error,
)
from skstab.model_selection._unpacking import readable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["gamma_intervals", "search_table"]

_LEVEL = 0.95
_TIE = 1e-12


def search_table(
    search: Any,
    *,
    score: str | None = None,
    stability: str | None = None,
    gamma: float | None = None,
    tolerance: float | None = None,
) -> pd.DataFrame:
    """Tabulate the candidates of a search by score and stability.

    Parameters
    ----------
    search : fitted search, dict or DataFrame
        A search with several metrics, its `cv_results_`, or any table with columns of these names.
    score : str, default=None
        Name of the metric for which more is better; None takes that of the :class:`ParetoRefit` of the search.
    stability : str, default=None
        Name of the measure of stability; None takes that of the :class:`ParetoRefit` of the search.
    gamma : float, default=None
        Weight of the score for the strategy "weighted"; None takes that of the :class:`ParetoRefit` of the search, or
        0.5.
    tolerance : float, default=None
        Loss of score that the strategy "tolerance" accepts; None takes that of the :class:`ParetoRefit` of the
        search, or leaves the strategy out.

    Returns
    -------
    table : DataFrame
        One row per candidate, by its number: `score` and `stability` with the ends of their 95% intervals
        (`score_low`, `score_high`, `stability_low`, `stability_high`), whether it is `on_front`, whether the search
        has `chosen` it, the names of the `strategies` that would choose it, whether it is `on_hull`, the convex hull of
        the front, with the weights `gamma_low` to `gamma_high` of the score for which the strategy "weighted" chooses
        it (missing for others), and its `params` where they are known. The stability of a candidate that selects
        nothing is missing, and so is that of an earlier round of successive halving, which had fewer rows.

    See Also
    --------
    pareto_front : The candidates on the front alone.
    skstab.inspection.ParetoFrontDisplay : The picture of this table.

    Examples
    --------
    >>> from skstab.model_selection import search_table
    >>> results = {"accuracy": [0.90, 0.88, 0.80, 0.85], "nogueira": [0.4, 0.7, 0.75, 0.6]}
    >>> search_table(results, score="accuracy", stability="nogueira")[["score", "stability", "on_front", "strategies"]]
               score  stability  on_front      strategies
    candidate
    0           0.90       0.40      True
    1           0.88       0.70      True  knee, weighted
    2           0.80       0.75      True
    3           0.85       0.60     False
    """
    import pandas as pd

    results = readable(getattr(search, "cv_results_", search))
    refit = _choice_of(search, score, stability)
    with naming("search", "score", "stability"):
        a, s = objectives(results, refit.score, refit.stability)
    numbers = np.arange(len(a))
    table = pd.DataFrame(
        {"score": a, "stability": s}, index=pd.Index(numbers, name="candidate")
    )
    for axis, name in (("score", refit.score), ("stability", refit.stability)):
        known = table[axis].notna()
        for end, values in zip(("low", "high"), _interval(results, name), strict=True):
            table[f"{axis}_{end}"] = np.where(known, values, np.nan)
    table["on_front"] = np.isin(numbers, front_of(a, s))
    table["chosen"] = numbers == getattr(search, "best_index_", -1)
    choices = _choices(
        results,
        refit,
        gamma=refit.gamma if gamma is None else gamma,
        tolerance=refit.tolerance if tolerance is None else tolerance,
    )
    table["strategies"] = [
        ", ".join(name for name in choices if choices[name] == i) for i in numbers
    ]
    table["gamma_low"], table["gamma_high"] = gamma_intervals(a, s)
    table["on_hull"] = table["gamma_low"].notna()
    if "params" in results:
        table["params"] = list(results["params"])
    return table


def gamma_intervals(
    score: FloatArray, stability: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest weight γ of the score for which each point maximises γ·score + (1 − γ)·stability.

    NaN where no weight in [0, 1] does: such a point is not on the convex hull of the front (hamer2021, section 7.1).
    """
    known = ~(np.isnan(score) | np.isnan(stability))
    a, s = score[known], stability[known]
    # Point i is not beaten by j where γ·slope_ij ≥ gap_ij.
    slope, gap = (a[:, None] - a) - (s[:, None] - s), s - s[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = gap / slope
    low = np.where(slope > 0, crossing, 0.0).max(axis=1, initial=0.0)
    high = np.where(slope < 0, crossing, 1.0).min(axis=1, initial=1.0)
    beaten = (np.where(slope == 0, gap, -np.inf) > _TIE).any(axis=1) | (
        low > high + _TIE
    )
    lows, highs = np.full((2, len(score)), np.nan)
    lows[known], highs[known] = np.where(beaten, np.nan, [low, np.maximum(low, high)])
    return lows, highs


def _choice_of(search: Any, score: str | None, stability: str | None) -> ParetoRefit:
    """Return the `ParetoRefit` of a search where it is about these metrics, or one of them with its defaults."""
    refit = getattr(search, "refit_", getattr(search, "refit", None))
    own = refit if isinstance(refit, ParetoRefit) else None
    if own is not None and _is_of(own, score, stability):
        return own
    if score is None or stability is None:
        raise ValueError(
            "score and stability must name metrics of the search, whose refit is not a ParetoRefit"
        )
    return ParetoRefit(score, stability)


def _is_of(refit: ParetoRefit, score: Any, stability: Any) -> bool:
    given = ((score, refit.score), (stability, refit.stability))
    return all(name is None or is_choice(name, own) for name, own in given)


def _choices(
    results: Mapping[str, Any],
    refit: ParetoRefit,
    *,
    gamma: float,
    tolerance: float | None,
) -> dict[str, int]:
    """Candidate that each strategy chooses, of those strategies that the table allows."""
    left_out = set()
    if tolerance is None:
        left_out.add("tolerance")
    if _standard_error(results, refit.score) is None:
        left_out |= {"one_se", "sparsest", "not_worse"}
    if not has_sizes(results):
        left_out.add("sparsest")
    strategies = [strategy for strategy in STRATEGIES if strategy not in left_out]
    return {
        strategy: replace(refit, strategy=strategy, gamma=gamma, tolerance=tolerance)(
            results
        )
        for strategy in strategies
    }


def _interval(cv_results: Any, name: str) -> tuple[Any, Any]:
    """Ends of the 95% interval of a metric: its own where the search has one split, or from the standard error."""
    if f"split1_test_{name}" not in cv_results and _has(cv_results, f"{name}_low"):
        return column(cv_results, f"{name}_low"), column(cv_results, f"{name}_high")
    value, error = column(cv_results, name), _standard_error(cv_results, name)
    half = (
        np.full_like(value, np.nan)
        if error is None
        else ndtri((1 + _LEVEL) / 2) * error
    )
    return value - half, value + half


def _standard_error(cv_results: Any, name: str) -> Any:
    known = f"split1_test_{name}" in cv_results or _has(cv_results, f"{name}_se")
    return standard_error(cv_results, name) if known else None


def _has(cv_results: Any, name: str) -> bool:
    return name in cv_results or f"mean_test_{name}" in cv_results

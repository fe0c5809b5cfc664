"""The accuracy/stability front of a search, and a choice on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from skstab._checks import (
    check_bool,
    check_level,
    check_number,
    is_choice,
    is_number,
    naming,
)
from skstab._typing import BoolArray, FloatArray, IntArray
from skstab.model_selection._score_tests import Difference, resample_difference
from skstab.model_selection._unpacking import readable

Strategy: TypeAlias = Literal[
    "knee", "weighted", "one_se", "sparsest", "not_worse", "tolerance"
]

_PREFIX = "mean_test_"
# Values that differ by less are ties: they come out of different sums of the same numbers.
_TIE = 1e-12
_LEVEL = 0.05
_MANY = 1e9  # degrees of freedom of a normal distribution


def column(cv_results: Any, name: Any) -> FloatArray:
    """Return the mean test values of a metric of a search, or a column of that very name."""
    if not (isinstance(cv_results, Mapping) or hasattr(cv_results, "columns")):
        raise TypeError(f"cv_results must be a dict or a DataFrame, got {cv_results!r}")
    if not isinstance(name, str):
        raise TypeError(
            f"score and stability must be names of metrics in cv_results, got {name!r}"
        )
    for key in (f"{_PREFIX}{name}", name):
        if key in cv_results:
            return _numbers(cv_results[key], key)
    present = sorted(
        str(key).removeprefix(_PREFIX)
        for key in cv_results
        if str(key).startswith(_PREFIX)
    )
    raise ValueError(
        f"there is no metric {name!r} in cv_results; there are {present or sorted(map(str, cv_results))}"
    )


def _numbers(values: Any, key: str) -> FloatArray:
    with naming("cv_results"):
        numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(
            f"cv_results[{key!r}] must have one number for each candidate, got shape {numbers.shape}"
        )
    return numbers


def standard_error(cv_results: Mapping[str, Any], name: str) -> FloatArray:
    """Return the standard error of a mean test value: between the splits of the search, or within its only one.

    The splits of a `StabilitySearchCV` are resamples, which share rows: there, too, it is the column of its own.
    """
    n_splits = len(_split_columns(cv_results, name))
    if n_splits > 1 and not _is_of_resamples(cv_results):
        spread = np.asarray(cv_results[f"std_test_{name}"], dtype=np.float64)
        # scikit-learn's standard deviation is that of the splits as a population.
        return np.asarray(spread / np.sqrt(n_splits - 1))
    return column(cv_results, f"{name}_se")


def _split_columns(cv_results: Mapping[str, Any], name: str) -> list[str]:
    return [
        str(key)
        for key in cv_results
        if str(key).startswith("split") and str(key).endswith(f"_test_{name}")
    ]


def differences_to(
    best: int, cv_results: Mapping[str, Any], name: str
) -> list[Difference] | None:
    """Differences of the mean of one candidate to that of each, paired by split; None where no splits are known."""
    keys = _split_columns(cv_results, name)
    if len(keys) < 2:
        return None
    splits = np.array([cv_results[key] for key in keys], dtype=np.float64)
    found = [resample_difference(splits[:, best], own) for own in splits.T]
    if _is_of_resamples(cv_results):
        return found
    # The folds of a nested search, whose standard error is that of independent ones.
    spreads = np.nanstd(splits[:, [best]] - splits, axis=0, ddof=1)
    errors = (spreads / np.sqrt(len(keys))).tolist()
    return [one._replace(error=error) for one, error in zip(found, errors, strict=True)]


def _is_of_resamples(cv_results: Mapping[str, Any]) -> bool:
    """Whether the runs that were counted are the splits of the table, which then has no count for each of them."""
    return (
        f"{_PREFIX}n_features" in cv_results
        and "split0_test_n_features" not in cv_results
    )


def objectives(
    cv_results: Mapping[str, Any], score: str, stability: str
) -> tuple[FloatArray, FloatArray]:
    """Return scores and stabilities; a candidate that never selects anything is not a choice, however stable."""
    a, s = column(cv_results, score), column(cv_results, stability)
    if has_sizes(cv_results):
        s = np.where(column(cv_results, "n_features") == 0, np.nan, s)
    if "iter" in cv_results:  # successive halving: earlier rounds had fewer rows
        rounds = np.asarray(cv_results["iter"])
        s = np.where(rounds == rounds.max(), s, np.nan)
    return a, s


def has_sizes(cv_results: Mapping[str, Any]) -> bool:
    return f"{_PREFIX}n_features" in cv_results or "n_features" in cv_results


def front_of(score: FloatArray, stability: FloatArray) -> IntArray:
    """Indices of the points that no other one beats in one and matches in the other, best score first."""
    known = np.flatnonzero(~(np.isnan(score) | np.isnan(stability)))
    points, copies = np.unique(
        np.column_stack([score, stability])[known], axis=0, return_inverse=True
    )
    # From the best score down, and from the most stable down among equals: what comes later must be more stable.
    points = points[::-1]
    highest = np.maximum.accumulate(np.concatenate([[-np.inf], points[:, 1]]))[:-1]
    best = (points[:, 1] > highest)[::-1]
    front = known[best[copies.ravel()]]
    return front[np.lexsort((front, -stability[front], -score[front]))]


def pareto_front(
    cv_results: Mapping[str, Any],
    score: str,
    stability: str,
    *,
    with_uncertainty: bool = False,
    confidence_level: float = 0.95,
) -> Any:
    """Candidates of a search that no other candidate beats in both score and stability.

    Parameters
    ----------
    cv_results : dict or DataFrame
        The `cv_results_` of a search with several metrics, or any table with columns of these names.
    score : str
        Name of the metric for which more is better, such as "accuracy" or "neg_log_loss".
    stability : str
        Name of the measure of stability.
    with_uncertainty : bool, default=False
        Whether to return also the candidates that are not significantly worse than the front.
    confidence_level : float, default=0.95
        Confidence level of that comparison.

    Returns
    -------
    front : ndarray of int
        Indices of the candidates on the front, from the best score to the most stable. Candidates with a missing
        value are ignored, and so are those whose runs selected nothing at all (`n_features` of 0), which is trivially
        stable; equal ones stay together.
    undecided : ndarray of int
        Indices of the other candidates that are neither in score nor in stability significantly worse than one and the
        same point of the front; only with `with_uncertainty=True`. It takes standard errors from the splits of a
        nested search, or from the columns `<metric>_se` of a one-level search.

    Examples
    --------
    >>> from skstab.model_selection import pareto_front
    >>> results = {"accuracy": [0.90, 0.88, 0.80, 0.85], "nogueira": [0.4, 0.7, 0.9, 0.6]}
    >>> pareto_front(results, "accuracy", "nogueira")
    array([0, 1, 2])
    """
    cv_results = readable(cv_results)
    a, s = objectives(cv_results, score, stability)
    front = front_of(a, s)
    if not check_bool(with_uncertainty, "with_uncertainty"):
        return front
    z = ndtri((1 + check_level(confidence_level)) / 2)
    close = np.ones((front.size, a.size), dtype=bool)
    for name, value in ((score, a), (stability, s)):
        error = standard_error(cv_results, name)
        close &= value[front, None] - value <= z * np.hypot(error[front, None], error)
    others = np.setdiff1d(np.flatnonzero(close.any(axis=0)), front)
    return front, others


@dataclass(frozen=True)
class ParetoRefit:
    """Choose a candidate of a search by its score and its stability; for the parameter `refit`.

    Parameters
    ----------
    score : str
        Name of the metric for which more is better, such as "accuracy" or "neg_log_loss".
    stability : str
        Name of the measure of stability.
    strategy : {"knee", "weighted", "one_se", "sparsest", "not_worse", "tolerance"}, default="knee"
        - "knee": with both axes of the front scaled to [0, 1], the point that lies farthest above the chord between its
          two ends.
        - "weighted": the candidate of largest gamma · score + (1 − gamma) · stability.
        - "one_se": the most stable candidate within one standard error of the best score, which is that of the
          difference of the two, paired by split.
        - "sparsest": the candidate with the fewest features within one such standard error (nogueira2018,
          section 6.2), of these the most stable.
        - "not_worse": the most stable candidate that is not significantly worse than the best (paired t test at 5%;
          kalousis2007). Not significantly worse does not mean as good: the fewer splits, the more it accepts.
        - "tolerance": the most stable candidate whose score is at most `tolerance` below the best.
    gamma : float, default=0.5
        Weight of the score for "weighted".
    tolerance : float, default=None
        Loss of score that "tolerance" accepts.

    Notes
    -----
    Among equals the candidate with fewer features wins (where the search has the metric `n_features`), then the first.
    Candidates with a missing value, or that select nothing, are ignored. One that keeps every feature in every run is
    as trivially stable, but the table of a search does not say how many there are: leave it out of the grid.

    A table of a search with :func:`stability_scoring` over any estimator holds packed selections. They are read, and in
    the table itself give way to `mean_test_<measure>` with `_low`, `_high`, `_se` and `rank_test_<measure>`,
    `mean_test_n_features`, the standard errors `mean_test_<score>_se` of the scores, and `runs`, what each candidate
    selected.

    Differences of scores are paired by split: their standard error is √(1/M + 0.2) standard deviations over M
    resamples, which share rows, and the usual one over the folds of a nested search. Where a search has one split, the
    standard error is that of the best score, `<score>_se`, and for "not_worse" that of both. Successive halving chooses
    by itself and never calls `refit`; of its table, `ParetoRefit(...)(search.cv_results_)` chooses in the last round.

    Examples
    --------
    >>> from skstab.model_selection import ParetoRefit
    >>> results = {"accuracy": [0.90, 0.88, 0.80], "nogueira": [0.4, 0.7, 0.75]}
    >>> ParetoRefit("accuracy", "nogueira")(results)
    1
    >>> ParetoRefit("accuracy", "nogueira", strategy="tolerance", tolerance=0.01)(results)
    0
    """

    score: str
    stability: str
    _: KW_ONLY
    strategy: Strategy = "knee"
    gamma: float = 0.5
    tolerance: float | None = None

    def __post_init__(self) -> None:
        for name in ("score", "stability"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(
                    f"{name} must be the name of a metric, got {getattr(self, name)!r}"
                )
        if not is_choice(self.strategy, *STRATEGIES):
            raise ValueError(
                f"strategy must be one of {', '.join(STRATEGIES)}; got {self.strategy!r}"
            )
        check_number(self.gamma, "gamma", "between 0 and 1", least=0, most=1)
        if not (self.tolerance is None or is_number(self.tolerance, least=0)):
            raise ValueError(
                f"tolerance must be a number of at least 0 or None, got {self.tolerance!r}"
            )
        if self.strategy == "tolerance" and self.tolerance is None:
            raise ValueError(
                f"tolerance must be a number of at least 0 for strategy='tolerance', got {self.tolerance!r}"
            )

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """Return the index of the chosen candidate; a dict that holds packed selections is filled with stabilities."""
        table = readable(cv_results)
        if table is not cv_results and isinstance(cv_results, dict):
            cv_results.clear()
            cv_results.update(table)
        return self._choose(table)

    def _choose(self, cv_results: Mapping[str, Any]) -> int:
        a, s = objectives(cv_results, self.score, self.stability)
        if (np.isnan(a) | np.isnan(s)).all():
            raise ValueError(
                f"cv_results lacks values: no candidate has both a {self.score!r} and a {self.stability!r}; a score is "
                "missing where scoring failed"
            )
        if (np.isinf(a) | np.isinf(s)).any():
            raise ValueError(
                f"cv_results must have finite {self.score!r} and {self.stability!r}, got infinite ones"
            )
        merit = STRATEGIES[self.strategy](self, cv_results, a, s)
        return _best(merit, cv_results)


def best_by(
    cv_results: Mapping[str, Any], name: str, *, may_select_nothing: bool
) -> int:
    """Return the candidate with the largest value of one metric."""
    merit = column(cv_results, name)
    if not may_select_nothing and has_sizes(cv_results):
        merit = np.where(column(cv_results, "n_features") == 0, np.nan, merit)
    if np.isnan(merit).all():
        raise ValueError(
            f"cv_results lacks values: no candidate has a {name!r}: all are missing"
        )
    return _best(merit, cv_results)


def _best(merit: FloatArray, cv_results: Mapping[str, Any]) -> int:
    """Return the candidate of largest merit; among equals that with the fewest features, then the first."""
    best = np.flatnonzero(merit >= np.nanmax(merit) - _TIE)
    if has_sizes(cv_results):
        best = best[np.argsort(column(cv_results, "n_features")[best], kind="stable")]
    return int(best[0])


def _knee(
    _: ParetoRefit, __: Mapping[str, Any], a: FloatArray, s: FloatArray
) -> FloatArray:
    front = front_of(a, s)
    # The ends of the front are (1, 0) and (0, 1) once scaled: x + y = 1 is the chord.
    merit = _unit(a[front]) + _unit(s[front]) - 1
    # A candidate that only rounding keeps off the front is a tie of the point it coincides with.
    same = np.maximum(np.abs(a - a[front, None]), np.abs(s - s[front, None])) <= _TIE
    return np.where(same.any(axis=0), merit[same.argmax(axis=0)], np.nan)


def _unit(values: FloatArray) -> FloatArray:
    width = np.ptp(values)
    return (values - values.min()) / width if width > 0 else np.zeros_like(values)


def _weighted(
    refit: ParetoRefit, _: Mapping[str, Any], a: FloatArray, s: FloatArray
) -> FloatArray:
    return refit.gamma * a + (1 - refit.gamma) * s


def _one_se(
    refit: ParetoRefit, cv_results: Mapping[str, Any], a: FloatArray, s: FloatArray
) -> FloatArray:
    return np.where(_within_one_error(refit, cv_results, a, s), s, np.nan)


def _sparsest(
    refit: ParetoRefit, cv_results: Mapping[str, Any], a: FloatArray, s: FloatArray
) -> FloatArray:
    within = _within_one_error(refit, cv_results, a, s)
    sizes = np.where(within, column(cv_results, "n_features"), np.nan)
    return np.where(sizes <= np.nanmin(sizes) + _TIE, s, np.nan)


def _within_one_error(
    refit: ParetoRefit, cv_results: Mapping[str, Any], a: FloatArray, s: FloatArray
) -> BoolArray:
    """Which candidates lose at most one standard error of the (paired) difference to the best score."""
    known = np.where(np.isnan(s), np.nan, a)
    best = _best(known, cv_results)
    paired = differences_to(best, cv_results, refit.score)
    if paired is None:
        losses = known[best] - known
        errors = np.full(len(a), standard_error(cv_results, refit.score)[best])
    else:
        losses = np.array([difference.mean for difference in paired])
        errors = np.array([difference.error for difference in paired])
    return np.asarray(~np.isnan(known) & (losses <= np.nan_to_num(errors) + _TIE))


def _not_worse(
    refit: ParetoRefit, cv_results: Mapping[str, Any], a: FloatArray, s: FloatArray
) -> FloatArray:
    known = np.where(np.isnan(s), np.nan, a)
    best = _best(known, cv_results)
    paired = differences_to(best, cv_results, refit.score)
    if paired is None:
        error = standard_error(cv_results, refit.score)
        errors = np.hypot(error[best], error)
        paired = [
            Difference(loss, own, _MANY)
            for loss, own in zip(known[best] - known, errors, strict=True)
        ]
    is_best = known >= known[best] - _TIE
    not_worse = np.array([one.pvalue() >= _LEVEL for one in paired]) | is_best
    return np.where(not_worse & ~np.isnan(known), s, np.nan)


def _tolerance(
    refit: ParetoRefit, _: Mapping[str, Any], a: FloatArray, s: FloatArray
) -> FloatArray:
    return _most_stable_within(
        float(refit.tolerance or 0.0), np.where(np.isnan(s), np.nan, a), s
    )


def _most_stable_within(loss: float, a: FloatArray, s: FloatArray) -> FloatArray:
    return np.where(a >= np.nanmax(a) - loss - _TIE, s, np.nan)


STRATEGIES: dict[Strategy, Callable[..., FloatArray]] = {
    "knee": _knee,
    "weighted": _weighted,
    "one_se": _one_se,
    "sparsest": _sparsest,
    "not_worse": _not_worse,
    "tolerance": _tolerance,
}

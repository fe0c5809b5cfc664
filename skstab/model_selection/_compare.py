"""Several selectors on the same resamples: which is more stable, which scores better, which to take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.special import bdtr, stdtr
from sklearn.base import clone, is_classifier
from sklearn.utils import indexable

from skstab._compat import take_rows
from skstab.metrics import compare_stability, get_measure
from skstab.metrics._inference import StabilityTest
from skstab.model_selection._parameters import splits_of, splitter_for
from skstab.model_selection._pareto import front_of
from skstab.model_selection._sample import draw_entropy
from skstab.model_selection._scorers import mean_and_error
from skstab.model_selection._stability_cv import StabilityCV, interval_of

if TYPE_CHECKING:
    import pandas as pd


class Recommendation(NamedTuple):
    """A selector and the reason for it."""

    selector: str
    reason: str

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class SelectorComparison:
    """The runs of several selectors on the same resamples; made by `compare_selectors`.

    `runs` holds the fitted :class:`StabilityCV` of each selector.
    """

    runs: dict[str, StabilityCV]
    measure: Any
    test_share: float  # mean number of test rows over that of training rows
    correct: dict[str, Any] | None  # which rows each selector predicted rightly, where each row was tested once

    def frame(self) -> pd.DataFrame:
        """Tabulate the selectors.

        Returns
        -------
        table : DataFrame
            One row a selector, indexed by its name: `score` and `score_se` over the resamples, `stability` with its 95%
            interval `stability_low`, `stability_high`, the mean number `n_features` of selected features, the mean
            seconds `fit_time` of a fit, `n_failed` runs, and whether it is `on_front`: no other selector is better in
            one of score and stability and at least as good in the other.
        """
        import pandas as pd

        table = pd.DataFrame(
            [self._row(runs) for runs in self.runs.values()], index=pd.Index(self.runs, name="selector")
        )
        front = front_of(table["score"].to_numpy(), self._merit(table).to_numpy())
        table["on_front"] = np.isin(np.arange(len(table)), front)
        return table

    def _row(self, runs: StabilityCV) -> dict[str, Any]:
        interval = interval_of(runs, self.measure)
        return {
            **mean_and_error("score", _scores(runs)),
            "stability": interval.estimate,
            "stability_low": interval.low,
            "stability_high": interval.high,
            "n_features": float(runs.selection_frequencies_.sum()),
            "fit_time": float(runs.fit_times_.mean()),
            "n_failed": runs.n_failed_,
        }

    def _merit(self, table: pd.DataFrame) -> Any:
        """Stability such that more is better, and missing where nothing was ever selected."""
        sign = 1 if get_measure(self.measure).higher_is_better else -1
        return (sign * table["stability"]).where(table["n_features"] > 0)

    def pvalues(self, of: Literal["stability", "score"] = "stability", *, adjust: bool = True) -> pd.DataFrame:
        """P-values of the differences between every two selectors.

        Parameters
        ----------
        of : {"stability", "score"}, default="stability"
            What is compared. Stabilities by the paired jackknife. Accuracies by McNemar's exact test where every row
            was tested once and all selectors are classifiers; any other score by the corrected resampled t-test of
            Nadeau and Bengio, which knows that training sets overlap.
        adjust : bool, default=True
            Whether to adjust for the number of pairs (Holm).

        Returns
        -------
        table : DataFrame
            A symmetric table, selectors by selectors, with 1 on the diagonal.
        """
        import pandas as pd

        tests = {"stability": self._stability_pvalue, "score": self._score_pvalue}
        if of not in tests:
            raise ValueError(f"of must be 'stability' or 'score', got {of!r}")
        names = list(self.runs)
        pairs = list(combinations(names, 2))
        raw = np.array([tests[of](a, b) for a, b in pairs])
        table = pd.DataFrame(np.eye(len(names)), index=names, columns=names)
        for (a, b), value in zip(pairs, holm(raw) if adjust else raw, strict=True):
            table.loc[a, b] = table.loc[b, a] = value
        return table

    def difference(self, a: str, b: str) -> StabilityTest:
        """Difference of the stabilities of two selectors, by the paired jackknife over the resamples they share.

        Parameters
        ----------
        a, b : str
            Names of selectors.

        Returns
        -------
        test : StabilityTest
            What :func:`skstab.metrics.compare_stability` returns: the `difference` a − b with its interval `low`,
            `high`, and the `pvalue`, not adjusted.
        """
        for name in (a, b):
            if name not in self.runs:
                raise ValueError(f"there is no selector {name!r}, only {list(self.runs)}")
        measure = get_measure(self.measure)
        first, second = (self.runs[name]._data_for(measure)[rows] for name, rows in self._common(a, b).items())
        return compare_stability(first, second, measure=measure, paired=True)

    def _stability_pvalue(self, a: str, b: str) -> float:
        return self.difference(a, b).pvalue

    def _score_pvalue(self, a: str, b: str) -> float:
        if self.correct is not None:
            return mcnemar(self.correct[a], self.correct[b])
        first, second = (_scores(self.runs[name])[rows] for name, rows in self._common(a, b).items())
        differences = first - second
        return corrected_t_test(differences[~np.isnan(differences)], self.test_share)

    def _common(self, a: str, b: str) -> dict[str, Any]:
        """Rows of either selector's runs that are of the same splits: a run may have failed in one of them."""
        numbers = {name: self.runs[name].split_numbers_ for name in (a, b)}
        both = np.intersect1d(*numbers.values())
        return {name: np.flatnonzero(np.isin(own, both)) for name, own in numbers.items()}

    def recommend(self, *, level: float = 0.05) -> Recommendation:
        """Recommend the most stable selector among those that do not score significantly worse than the best.

        Parameters
        ----------
        level : float, default=0.05
            Level of the tests, whose p-values are adjusted for multiplicity.

        Returns
        -------
        recommendation : Recommendation
            The name of the `selector` and, in a sentence, the `reason`.
        """
        table, pvalues = self.frame(), self.pvalues("score")
        best = table["score"].idxmax()
        worse = [name for name in table.index if name != best and pvalues.loc[best, name] < level]
        left = table.drop(index=worse).assign(merit=self._merit)
        # Equally stable ones are told apart by their score.
        chosen = left.sort_values(["merit", "score"], ascending=False, kind="stable").index[0]
        return Recommendation(str(chosen), _reason(table, chosen, best, worse, level))


def _reason(table: pd.DataFrame, chosen: Any, best: Any, worse: list[Any], level: float) -> str:
    row = table.loc[chosen]
    stability = f"{row['stability']:.2f} ({row['stability_low']:.2f} to {row['stability_high']:.2f})"
    sentence = f"Take {chosen}: its stability of {stability} is the best"
    if worse:
        sentence += f" among the selectors that do not score significantly worse than {best}"
    sentence += f", and it scores {row['score']:.3f}"
    if chosen != best:
        sentence += f" against {table.loc[best, 'score']:.3f} of {best}, a difference that is not significant"
    dropped = f"; {', '.join(map(str, worse))} scored worse" if worse else ""
    return f"{sentence} (level {level:g}, adjusted for multiplicity){dropped}."


def _scores(runs: StabilityCV) -> Any:
    return next(iter(runs.scores_.values()))


# -- tests -----------------------------------------------------------------------------------------------------------


def holm(pvalues: Any) -> Any:
    """Adjust p-values for multiplicity after Holm."""
    order = np.argsort(pvalues)
    steps = np.arange(len(pvalues), 0, -1)
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(pvalues[order] * steps))
    return adjusted


def corrected_t_test(differences: Any, test_share: float) -> float:
    """Two-sided p-value of the resampled t-test; overlapping training sets add n_test / n_train to 1/M."""
    m = len(differences)
    mean, variance = np.mean(differences), np.var(differences, ddof=1)
    if variance == 0:
        return 1.0 if mean == 0 else 0.0
    t = mean / np.sqrt((1 / m + test_share) * variance)
    return float(2 * stdtr(m - 1, -abs(t)))


def mcnemar(a: Any, b: Any) -> float:
    """Two-sided exact p-value for the rows that only one of two classifiers got right."""
    only_a, only_b = int(np.sum(a & ~b)), int(np.sum(~a & b))
    discordant = only_a + only_b
    return float(min(1.0, 2 * bdtr(min(only_a, only_b), discordant, 0.5))) if discordant else 1.0


# -- running ---------------------------------------------------------------------------------------------------------


def compare_selectors(
    selectors: Mapping[str, Any],
    X: Any,
    y: Any = None,
    *,
    cv: Any = None,
    scoring: Any = None,
    measure: Any = "nogueira",
    n_jobs: int | None = None,
    random_state: Any = None,
    groups: Any = None,
) -> SelectorComparison:
    """Run several selectors on the same resamples and compare their stability and their scores.

    Parameters
    ----------
    selectors : dict of estimators
        The selectors by name, each of a kind that :class:`StabilityCV` wraps, with a model that can be scored.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,), default=None
        The target.
    cv : int, cross-validation generator or iterable, default=None
        The resamples; None takes 50 bootstrap samples, stratified for classifiers.
    scoring : str or callable, default=None
        How each run is scored on the rows it left out; None takes the `score` method of the estimators.
    measure : str, callable or measure, default="nogueira"
        The measure of stability.
    n_jobs : int, default=None
        Number of runs at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of the default resamples and of what is random in the selectors.
    groups : array-like of shape (n_samples,), default=None
        Groups of rows for the splitter.

    Returns
    -------
    comparison : SelectorComparison
        With methods `frame()`, `pvalues("stability" | "score")` and `recommend()`, and the fitted :class:`StabilityCV`
        of each selector in `runs`.

    Notes
    -----
    A run that fails is left out; tests between two selectors then use the resamples on which both succeeded.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skstab.model_selection import BootstrapSplit, compare_selectors
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selectors = {
    ...     "filter": make_pipeline(StandardScaler(), SelectKBest(k=8), LogisticRegression()),
    ...     "lasso": make_pipeline(
    ...         StandardScaler(), LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
    ...     ),
    ... }
    >>> found = compare_selectors(selectors, X, y, cv=BootstrapSplit(20, random_state=0))
    >>> found.frame()[["score", "stability", "n_features"]].round(2)
              score  stability  n_features
    selector
    filter     0.95       0.95         8.0
    lasso      0.97       0.72         8.5
    """
    if not isinstance(selectors, Mapping) or len(selectors) < 2:
        raise ValueError(f"selectors must be a dict of at least 2 estimators, got {selectors!r}")
    if scoring is not None and not (isinstance(scoring, str) or callable(scoring)):
        raise ValueError(f"scoring must be None, a string or a callable, since one score is compared; got {scoring!r}")
    X, y = indexable(X if hasattr(X, "shape") else np.asarray(X), y)
    classifiers = all(is_classifier(selector) for selector in selectors.values())
    splitter = splitter_for(
        cv, y, classifier=classifiers, grouped=groups is not None, entropy=draw_entropy(random_state)
    )
    splits = splits_of(splitter, X, y, {} if groups is None else {"groups": groups})
    counts = _times_tested(splits, X.shape[0])
    # McNemar's test is about accuracy, which is also the score of a classifier.
    keep = classifiers and scoring in (None, "accuracy") and bool((counts == 1).all())
    runs = {
        name: StabilityCV(
            clone(selector),
            cv=splits,
            scoring=scoring,
            measure=measure,
            return_estimators=keep,
            n_jobs=n_jobs,
            random_state=random_state,
        ).fit(X, y)
        for name, selector in selectors.items()
    }
    for name, fitted in runs.items():
        if not fitted.scores_:
            raise ValueError(f"selector {name!r} has no score: put a model behind it in a pipeline, or give scoring")
    correct = None
    if keep and not any(fitted.n_failed_ for fitted in runs.values()):
        correct = {name: _predicted_rightly(fitted, splits, X, y) for name, fitted in runs.items()}
    share = float(np.mean([len(test) / len(train) for train, test in splits]))
    return SelectorComparison(runs, measure, share, correct)


def _times_tested(splits: list[tuple[Any, Any]], n_rows: int) -> Any:
    return np.bincount(np.concatenate([test for _, test in splits]), minlength=n_rows)


def _predicted_rightly(runs: StabilityCV, splits: list[tuple[Any, Any]], X: Any, y: Any) -> Any:
    right = np.zeros(X.shape[0], dtype=bool)
    for estimator, (_, test) in zip(runs.estimators_, splits, strict=True):
        agree = estimator.predict(take_rows(X, test)) == np.asarray(take_rows(y, test))
        right[test] = agree.reshape(len(agree), -1).all(axis=1)  # of several labels, all
    return right

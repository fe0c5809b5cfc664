"""What a comparison of selectors says: a table, tests, overlaps, and which selector to take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from html import escape
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from skstab._checks import check_bool, is_choice, is_number, naming
from skstab._displays import draw
from skstab._fragility import few_rows_sentence
from skstab._typing import Display, FloatArray, IntArray, MatrixLike, MeasureLike
from skstab.metrics import (
    StabilityTest,
    compare_replication,
    compare_stability,
    get_measure,
)
from skstab.model_selection._agreement import (
    mean_agreement,
    mean_overlap,
    own_agreement,
    shared_features,
)
from skstab.model_selection._pareto import front_of
from skstab.model_selection._recommend import (
    Recommendation,
    Scored,
    about_as_good,
    by_score,
    by_stability_alone,
    check_margin,
    shortest,
)
from skstab.model_selection._score_tests import holm, mcnemar, score_error
from skstab.model_selection._scoring import AUC
from skstab.model_selection._search_results import replication_table
from skstab.model_selection._searched import candidates_compared
from skstab.model_selection._stability_cv import StabilityCV
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

    from skstab.model_selection._search import StabilitySearchCV

__all__ = ["SelectorComparison"]

_INTERVALS = "stability_low, stability_high: 95% interval, resampling error; score_se: standard error, other data"
_REPLICATION = (
    "replication: stability over other data of half the size, with a 95% interval"
)


@dataclass(frozen=True, repr=False)
class SelectorComparison:
    """The runs of several selectors on the same resamples; made by :func:`compare_selectors`.

    Parameters
    ----------
    runs : dict of StabilityCV or Runs
        The fitted :class:`StabilityCV` of each selector by name, or its runs.
    measure : str, callable or Measure
        The measure of stability.
    margin : "one_se" or float, default="one_se"
        Loss of score that a recommendation accepts, see `recommend`.
    dummy : Scored, default=None
        Scores of predictions that ignore the features, on the same resamples; None where there are none.
    groups : ndarray of int of shape (n_samples,), default=None
        Groups of rows, which are then the independent units of tests.
    scored : dict of Scored, default=None
        Scores by selector, for runs that do not hold the losses of rows themselves.
    halves : dict of StabilityCV or Runs, default=None
        The same of pairs of disjoint halves, the same ones for all selectors: they are then ranked by their stability
        over other data. None for a selector that failed there.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.feature_selection import SelectKBest
    >>> from skstab.model_selection import BootstrapSplit, SelectorComparison, compare_selectors
    >>> X, y = make_classification(n_informative=3, n_redundant=0, random_state=0)
    >>> selectors = [SelectKBest(k=3), SelectKBest(k=8)]
    >>> comparison = compare_selectors(selectors, X, y, cv=BootstrapSplit(20, random_state=0))
    >>> isinstance(comparison, SelectorComparison)
    True
    >>> comparison.overlap().round(2)
                   selectkbest-1  selectkbest-2
    selectkbest-1           0.53           0.37
    selectkbest-2           0.37           0.31
    """

    runs: dict[str, StabilityCV] | dict[str, Runs]
    measure: MeasureLike
    _: KW_ONLY
    margin: float | Literal["one_se"] = "one_se"
    dummy: Scored | None = None
    groups: IntArray | None = None
    scored: dict[str, Scored] | None = None
    halves: Mapping[str, StabilityCV | Runs | None] | None = None

    @classmethod
    def from_search(
        cls,
        search: StabilitySearchCV,
        X: MatrixLike,
        y: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        margin: float | Literal["one_se"] = "one_se",
        groups: ArrayLike | None = None,
    ) -> Self:
        """Compare the candidates of a search, by its first score and first measure, without running them again.

        Parameters
        ----------
        search : StabilitySearchCV
            Fitted; where its `cv` is a splitter, with an int as `random_state`, so that it gives the same resamples.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data of the search.
        y : array-like of shape (n_samples,)
            Its target.
        names : sequence of str, default=None
            Names of the candidates; None numbers them. A candidate that failed is left out.
        margin : "one_se" or float, default="one_se"
            Loss of score that a recommendation accepts.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that the search was fitted with.

        Returns
        -------
        comparison : SelectorComparison
            With the :class:`~skstab.runs.Runs` of each candidate in `runs`.
        """
        return cls(
            **candidates_compared(search, X, y, names, groups),
            margin=check_margin(margin),
        )

    # -- tables --------------------------------------------------------------------------------------------------------

    def frame(self) -> pd.DataFrame:
        """Tabulate the selectors.

        Returns
        -------
        table : DataFrame
            One row per selector, indexed by its name: `score` over the resamples with a standard error `score_se` that
            is about other data (absent where nothing was scored), `stability` with its 95% interval `stability_low`,
            `stability_high`, which is about the resampling error, `replication` with its 95% interval
            `replication_low`, `replication_high`, which is about other data of half the size (absent without halves,
            NaN where they had nothing to choose), the mean number `n_features` of selected features, the mean seconds
            `fit_time` of a fit, `n_failed` runs, and whether it is `on_front`: no other selector is better in one of
            score and stability (`replication`, where it is there) and at least as good in the other.
        """
        import pandas as pd

        table = pd.DataFrame(
            [self._row(name, runs) for name, runs in self.runs_by_name.items()],
            index=pd.Index(self.runs, name="selector"),
        )
        if self.halves is not None:
            halves = {name: self._halves_of(name) for name in self.runs}
            found = replication_table(halves, self.measure)
            for place, column in enumerate(found, list(table).index("n_features")):
                table.insert(place, column, found[column])
        if self._has_scores:
            front = front_of(table["score"].to_numpy(), self._merit(table).to_numpy())
            table["on_front"] = np.isin(np.arange(len(table)), front)
        return table

    @property
    def runs_by_name(self) -> dict[str, Runs]:
        """What the runs of each selector selected."""
        return {
            name: held if isinstance(held, Runs) else held.runs_
            for name, held in self.runs.items()
        }

    def _row(self, name: str, runs: Runs) -> dict[str, Any]:
        interval = runs.estimate(self.measure)
        return {
            **(self._score(name) if self._has_scores else {}),
            "stability": interval.estimate,
            "stability_low": interval.low,
            "stability_high": interval.high,
            "n_features": float(runs.tables.supports.sum() / len(runs)),
            "fit_time": float(np.mean(runs.fit_times))
            if runs.fit_times is not None
            else np.nan,
            "n_failed": runs.n_failed,
        }

    def _halves_of(self, name: str) -> Runs | None:
        held = None if self.halves is None else self.halves.get(name)
        return held if held is None or isinstance(held, Runs) else held.runs_

    def _scored(self, name: str) -> Scored:
        return (
            Scored.of(self._runs_of(name)) if self.scored is None else self.scored[name]
        )

    def _score(self, name: str) -> dict[str, float]:
        found = self._scored(name)
        known = found.scores[~np.isnan(found.scores)]
        mean = float(known.mean()) if known.size else np.nan
        return {
            "score": mean,
            "score_se": score_error(found.scores, found.losses, self.groups),
        }

    @property
    def _has_scores(self) -> bool:
        return all(runs.scores for runs in self.runs_by_name.values())

    def _merit(self, table: pd.DataFrame) -> Any:
        """Stability such that more is better, and missing where nothing was ever selected."""
        sign = 1 if get_measure(self.measure).higher_is_better else -1
        stability = "stability" if self.halves is None else "replication"
        return (sign * table[stability]).where(table["n_features"] > 0)

    def overlap(self, *, measure: MeasureLike | None = None) -> pd.DataFrame:
        """Similarity of what different selectors select on the same resample.

        Parameters
        ----------
        measure : str, callable or Measure, default=None
            A measure that is defined for two runs, see :func:`skstab.metrics.replication_stability`; None takes that of
            the comparison.

        Returns
        -------
        table : DataFrame
            Selectors by selectors: the mean similarity of their selections on the same resample; on the diagonal the
            stability of each selector, for comparison: two selectors cannot be expected to be more alike than the runs
            of one of them.
        """
        chosen = get_measure(self.measure if measure is None else measure)
        return self._table_of_pairs(
            lambda a, b: mean_overlap(a, b, chosen), lambda runs: runs.stability(chosen)
        )

    def shared_features(self) -> pd.DataFrame:
        """Mean number of features that two selectors both select on the same resample.

        Returns
        -------
        table : DataFrame
            Selectors by selectors; on the diagonal the mean number of features that each selects.
        """
        return self._table_of_pairs(
            shared_features, lambda runs: float(runs.tables.supports.sum() / len(runs))
        )

    def agreement(self) -> pd.DataFrame:
        """Agreement of predictions for the rows that the resamples left out.

        Returns
        -------
        table : DataFrame
            Selectors by selectors: for classes the share of equal predictions, for numbers their correlation, of two
            selectors on the same resample; on the diagonal of two runs of one selector.
        """
        if any(runs.row_predictions is None for runs in self.runs_by_name.values()):
            raise ValueError(
                "predictions of the rows left out are kept only with a score that is a mean over rows, such as "
                "scoring='accuracy', 'balanced_accuracy' or 'r2'"
            )
        classes = all(hasattr(fitted, "classes_") for fitted in self.runs.values())
        return self._table_of_pairs(
            lambda a, b: mean_agreement(a, b, classes=classes),
            lambda runs: own_agreement(runs, classes=classes),
        )

    def _table_of_pairs(
        self, between: Callable[[Runs, Runs], float], within: Callable[[Runs], float]
    ) -> pd.DataFrame:
        import pandas as pd

        names = list(self.runs)
        table = pd.DataFrame(np.nan, index=names, columns=names)
        for name in names:
            table.loc[name, name] = within(self._runs_of(name))
        for a, b in combinations(names, 2):
            table.loc[a, b] = table.loc[b, a] = between(*self._common(a, b))
        return table

    def _common(self, a: str, b: str) -> tuple[Runs, Runs]:
        """Runs of two selectors on the same splits: a run may have failed in one of them."""
        first, second = self._runs_of(a), self._runs_of(b)
        both = np.intersect1d(first.split_numbers, second.split_numbers)
        return tuple(
            runs.take(np.isin(runs.split_numbers, both)) for runs in (first, second)
        )  # type: ignore[return-value]

    def _runs_of(self, name: str) -> Runs:
        with naming("a", "b"):
            is_known = name in self.runs
        if not is_known:
            raise ValueError(
                f"a and b must be selectors: there is no selector {name!r}, only {list(self.runs)}"
            )
        held = self.runs[name]
        return held if isinstance(held, Runs) else held.runs_

    # -- tests ---------------------------------------------------------------------------------------------------------

    def pvalues(
        self, of: Literal["stability", "score"] = "stability", *, adjust: bool = True
    ) -> pd.DataFrame:
        """P-values of the differences between every two selectors.

        Parameters
        ----------
        of : {"stability", "score"}, default="stability"
            What is compared. Stabilities over resamples of this data set, by the paired jackknife (for other data see
            :meth:`replication`). Accuracies by McNemar's mid-p test where every row
            was left out once; other scores that are a mean over rows by a t-test over rows, of the mean difference of
            their losses; any other score by a t-test over resamples with the variance 1/M + 0.2, which accounts for
            the rows that resamples share.
        adjust : bool, default=True
            Whether to adjust for the number of pairs (Holm).

        Returns
        -------
        table : DataFrame
            A symmetric table, selectors by selectors, with 1 on the diagonal.
        """
        import pandas as pd

        tests = {
            "stability": lambda a, b: self.difference(a, b).pvalue,
            "score": self._score_pvalue,
        }
        if not is_choice(of, *tests):
            raise ValueError(f"of must be 'stability' or 'score', got {of!r}")
        if of == "score" and not self._has_scores:
            raise ValueError(
                "of='score' needs scores, but the selectors were not scored: give scoring"
            )
        names = list(self.runs)
        pairs = list(combinations(names, 2))
        raw = np.array([tests[of](a, b) for a, b in pairs])
        table = pd.DataFrame(np.eye(len(names)), index=names, columns=names)
        for (a, b), value in zip(
            pairs, holm(raw) if check_bool(adjust, "adjust") else raw, strict=True
        ):
            table.loc[a, b] = table.loc[b, a] = value
        return table

    def replication(self, *, adjust: bool = True) -> pd.DataFrame:
        """Differences in the stability over other data between every two selectors, from the same pairs of halves.

        Parameters
        ----------
        adjust : bool, default=True
            Whether to adjust the p-values for the number of pairs of selectors (Holm).

        Returns
        -------
        table : DataFrame
            One row per pair of selectors, indexed by `selector` and `reference`: the `difference` of their stability
            over other data sets of half the size, the ends `low` and `high` of its 95% interval, which is not
            adjusted, and the `pvalue`. NaN where the halves of one of them had nothing to choose.

        See Also
        --------
        skstab.metrics.compare_replication : The difference of two selectors.
        """
        import pandas as pd

        if self.halves is None:
            raise ValueError(
                "there are no pairs of halves: give compare_selectors n_pairs of at least 3, and a measure that is "
                "defined for two runs"
            )
        pairs = list(combinations(self.runs, 2))
        found = [self._difference_on_halves(a, b) for a, b in pairs]
        table = pd.DataFrame(
            [(it.difference, it.low, it.high, it.pvalue) for it in found],
            columns=["difference", "low", "high", "pvalue"],
            index=pd.MultiIndex.from_tuples(pairs, names=["selector", "reference"]),
        )
        known = table["pvalue"].notna()
        if check_bool(adjust, "adjust"):
            table.loc[known, "pvalue"] = holm(table.loc[known, "pvalue"].to_numpy())
        return table

    def _difference_on_halves(self, a: str, b: str) -> StabilityTest:
        first, second = self._halves_of(a), self._halves_of(b)
        if first is None or second is None:
            return StabilityTest(np.nan, np.nan, np.nan, np.nan, np.nan)
        return compare_replication(first, second, measure=self.measure)

    def difference(self, a: str, b: str) -> StabilityTest:
        """Difference of the stabilities of two selectors, by the paired jackknife over the resamples they share.

        It is about resamples of this data set; :meth:`replication` is about other data.

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
        first, second = self._common(a, b)
        if a == b:
            return StabilityTest(0.0, 1.0, 0.0, 0.0, 0.0)
        return compare_stability(first, second, measure=self.measure, paired=True)

    def _score_pvalue(self, a: str, b: str) -> float:
        first, second = (self._scored(name) for name in (a, b))
        right = [_tested_once(scored) for scored in (first, second)]
        if right[0] is not None and right[1] is not None:
            only_a, only_b = (int(np.sum(x & ~y)) for x, y in (right, reversed(right)))
            return mcnemar(only_a, only_b)
        return first.minus(second, self.groups).pvalue()

    # -- the choice ----------------------------------------------------------------------------------------------------

    def recommend(
        self,
        *,
        level: float = 0.05,
        margin: float | Literal["one_se"] | None = None,
        prefer: Literal["stable", "short"] = "stable",
    ) -> Recommendation:
        """Recommend the most stable selector, or the shortest list, among those that score about as well as the best.

        Parameters
        ----------
        level : float, default=0.05
            Level of the tests.
        margin : "one_se" or float, default=None
            Loss of score that is acceptable: a selector counts as about as good as the best where it is shown to lose
            less (non-inferiority: the upper end of the one-sided interval of its loss, paired, is below it). "one_se"
            is one standard error of the best score; the loss must then also be at most one standard error of the
            *difference*. None takes that of the comparison. It is not used for `prefer="short"`.
        prefer : {"stable", "short"}, default="stable"
            What is taken of those that are about as good. "short" is the fewest features: of the selectors of
            :meth:`about_as_good`, and of these that are not shown to be less stable than the most stable one (the
            interval of the paired difference reaches 0), the one with the shortest list, in whole features.

        Returns
        -------
        recommendation : Recommendation
            The name of the `selector`, or None, and the `reason`.

        Notes
        -----
        "Not significantly worse" is not evidence of "as good", hence the margin. Selectors are
        ranked by `replication`, their stability over other data, where halves were run. Among those whose stability is
        within one standard error of the difference to the best one, the one with the fewest features is taken.
        Selectors that select the same features in all runs are one. Where none is shown to predict better than a dummy,
        which ignores the features, none is recommended: that is judged by the area under the ROC curve of classifiers
        on halves (one class against the rest), which has no threshold, else by the score. Without scores the choice is
        by stability alone, and says so.
        """
        _check_level_of_tests(level)
        accepted = check_margin(self.margin if margin is None else margin)
        if not is_choice(prefer, "stable", "short"):
            raise ValueError(f"prefer must be 'stable' or 'short', got {prefer!r}")
        table = self.frame()
        table["merit"] = self._merit(table)
        if not self._has_scores:
            return by_stability_alone(table)
        good = self.about_as_good(level=level) if prefer == "short" else []
        if good:
            return shortest(table, good, self._is_less_stable)
        twins = self._twins(table["score"].sort_values(ascending=False).index)
        found = by_score(
            table.drop(index=list(twins)),
            {name: self._scored(name) for name in self.runs},
            self.dummy,
            groups=self.groups,
            level=level,
            margin=accepted,
            is_as_stable=self._is_as_stable,
            areas=self._areas(),
        )
        same = [
            f" {name} selects the same as {first} in all runs, and is not counted again."
            for name, first in twins.items()
        ]
        return found._replace(reason="".join([found.reason, *same]))

    def about_as_good(self, *, level: float = 0.05) -> list[str]:
        """List the selectors that score about as well as the best.

        Parameters
        ----------
        level : float, default=0.05
            Level of the tests.

        Returns
        -------
        names : list of str
            The one with the best score, then those within one standard error of it, as `margin="one_se"` of
            :meth:`recommend` has it, and those that are shown to lose less than 2% of what the best gains over a
            dummy. Empty where no score is shown to exceed that of the dummy.
        """
        _check_level_of_tests(level)
        scored = {name: self._scored(name) for name in self.runs}
        return about_as_good(
            self.frame(),
            scored,
            self.dummy,
            groups=self.groups,
            level=level,
            areas=self._areas(),
        )

    def _is_less_stable(self, name: str, most: str) -> bool:
        """Whether one is shown to be less stable than another, at the 95% level."""
        difference = (
            self.difference if self.halves is None else self._difference_on_halves
        )
        test = difference(most, name)
        sign = 1 if get_measure(self.measure).higher_is_better else -1
        return bool((test.low if sign == 1 else -test.high) > 0)

    def _areas(self) -> dict[str, FloatArray] | None:
        """Areas under the ROC curve on halves, where they are known of all selectors."""
        halves = [self._halves_of(name) for name in self.runs]
        areas = [None if one is None else one.scores.get(AUC) for one in halves]
        if any(area is None or np.isnan(area).all() for area in areas):
            return None
        return dict(zip(self.runs, areas, strict=True))  # type: ignore[arg-type]

    def _twins(self, names: Iterable[str]) -> dict[str, str]:
        """Selectors that selected the same in all runs as one before them, with that one."""
        firsts: list[str] = []
        twins = {}
        for name in names:
            same = [first for first in firsts if self._select_the_same(name, first)]
            if same:
                twins[name] = same[0]
            else:
                firsts.append(name)
        return twins

    def _select_the_same(self, a: str, b: str) -> bool:
        pairs = [(self._runs_of(a), self._runs_of(b))]
        first, second = self._halves_of(a), self._halves_of(b)
        if first is not None and second is not None:
            pairs.append((first, second))
        elif first is not None or second is not None:
            return False
        return all(
            np.array_equal(x.split_numbers, y.split_numbers)
            and bool((x.tables.supports != y.tables.supports).sum() == 0)
            for x, y in pairs
        )

    def _is_as_stable(self, most: str, other: str) -> bool:
        """Whether one is within a standard error of the stability of the most stable one."""
        difference = (
            self.difference if self.halves is None else self._difference_on_halves
        )
        return abs(difference(most, other).statistic) <= 1

    def plot(self, *, ax: Any = None, **options: Any) -> Display:
        """Draw the stability of the selectors and their differences.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **options : dict
            Parameters of `from_comparison` and of `plot` of :class:`skstab.inspection.StabilityComparisonDisplay`.

        Returns
        -------
        display : StabilityComparisonDisplay
            Drawn.
        """
        return draw("comparison", self, ax=ax, **options)

    def __repr__(self) -> str:
        table = self.frame().to_string(float_format="{:.3g}".format, na_rep="")
        names = ", ".join(map(str, self.runs))
        return f"SelectorComparison of {names}\n{table}\n{self._notes}"

    @property
    def _notes(self) -> str:
        """What the intervals are about, and which features of each selector hang on few rows."""
        found = {
            name: few_rows_sentence(runs) for name, runs in self.runs_by_name.items()
        }
        lines = [f"{name}: {text}" for name, text in found.items() if text]
        about = [_INTERVALS] if self.halves is None else [_INTERVALS, _REPLICATION]
        return "\n".join([*about, *lines])

    def _repr_html_(self) -> str:
        table: str = self.frame().to_html(float_format="{:.3g}".format, na_rep="")
        return f"<div>{table}<p>{escape(self._notes)}</p></div>"


def _tested_once(scored: Scored) -> Any:
    """Which rows were predicted correctly, where the score is accuracy and every row was left out exactly once."""
    if scored.losses is None or not np.isin(scored.losses, (0.0, 1.0)).any():
        return None
    known = ~np.isnan(scored.losses)
    is_accuracy = bool(np.isin(scored.losses[known], (0.0, 1.0)).all())
    return (
        np.nanmax(scored.losses, axis=0) == 0
        if is_accuracy and (known.sum(axis=0) == 1).all()
        else None
    )


def _check_level_of_tests(level: Any) -> None:
    if not is_number(level, above=0, below=1):
        raise ValueError(f"level must be a number between 0 and 1, got {level!r}")

"""Which of several selectors to take: the most stable among those shown to score about as well as the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from skstab._checks import is_choice, is_number
from skstab._typing import FloatArray, IntArray
from skstab.model_selection._score_tests import (
    OF_HALVES,
    Difference,
    holm,
    resample_difference,
    row_difference,
)
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Recommendation",
    "Scored",
    "about_as_good",
    "by_score",
    "by_stability_alone",
    "check_margin",
    "shortest",
]

# Share of what the best score gains over a dummy: what is shown to lose less is about as
# good, however exactly the scores are known.
_NEGLIGIBLE = 0.02


class Recommendation(NamedTuple):
    """A selector and the reason for it.

    Parameters
    ----------
    selector : str or None
        Name of the recommended selector; None where none is.
    reason : str
        What was shown, and what was not, in sentences.

    Examples
    --------
    >>> from skstab.model_selection import Recommendation
    >>> print(Recommendation(None, "No selector is recommended: none was shown to score better than a dummy."))
    No selector is recommended: none was shown to score better than a dummy.
    """

    selector: str | None
    reason: str

    def __str__(self) -> str:
        return self.reason


class Scored(NamedTuple):
    """Scores of runs by the number of their split, and the losses of rows where the score is a mean over rows.

    The table of losses has one row for each run, or a single one, the means over all runs.
    """

    numbers: IntArray
    scores: FloatArray
    losses: FloatArray | None

    @classmethod
    def of(cls, runs: Runs) -> Scored:
        """Take the first, or only, score of runs."""
        name = next(iter(runs.scores))
        return cls(runs.split_numbers, runs.scores[name], runs.row_losses.get(name))

    def minus(self, other: Scored, groups: IntArray | None) -> Difference:
        """Difference of the mean scores over the splits that both have."""
        both = np.intersect1d(self.numbers, other.numbers)
        own, others = self._on(both), other._on(both)
        if own.losses is not None and others.losses is not None:
            return row_difference(own.losses, others.losses, groups)
        return resample_difference(own.scores, others.scores)

    def _on(self, numbers: IntArray) -> Scored:
        """The same of some splits; means over all runs are no longer known."""
        if len(numbers) == len(self.numbers):
            return self
        which = np.isin(self.numbers, numbers)
        has_runs = self.losses is not None and len(self.losses) == len(self.numbers)
        return Scored(
            self.numbers[which],
            self.scores[which],
            self.losses[which] if has_runs else None,  # type: ignore[index]
        )


def check_margin(margin: Any) -> float | Literal["one_se"]:
    """Check the loss of score that is acceptable."""
    if is_choice(margin, "one_se") or is_number(margin, least=0):
        return margin  # type: ignore[no-any-return]
    raise ValueError(
        f"margin must be 'one_se' or a number of at least 0, got {margin!r}"
    )


def by_stability_alone(table: pd.DataFrame) -> Recommendation:
    """Recommend the most stable selector where nothing was scored."""
    chosen = table["merit"].idxmax()
    return Recommendation(
        str(chosen),
        f"Take {chosen} if only stability matters: its stability of {_stability(table, chosen)} is the best. Nothing "
        "was scored, so whether any selector finds what predicts is not known; give scoring.",
    )


def by_score(
    table: pd.DataFrame,
    scored: dict[Any, Scored],
    dummy: Scored | None,
    *,
    groups: IntArray | None,
    level: float,
    margin: float | Literal["one_se"],
    is_as_stable: Callable[[Any, Any], bool],
    areas: Mapping[Any, FloatArray] | None = None,
) -> Recommendation:
    """Recommend the most stable of the selectors that score about as well as the best.

    `table` has for each selector `score`, `stability` and where it is known `replication`, with their intervals,
    `n_features`, and `merit`, its stability such that more is better, missing where it is not known.
    `is_as_stable(most, other)` says whether the second one is not clearly less stable than the first. `areas` are areas
    under the ROC curve on halves, which say whether a classifier predicts anything, whatever score is shown.
    """
    known = table.index[table["score"].notna() & (table["n_features"] > 0)]
    if not len(known):
        return Recommendation(
            None, "No selector is recommended: none has both a score and a selection."
        )
    better = _above_dummy_of(known, scored, dummy, groups, level, areas)
    if not better:
        best = table.loc[known, "score"].idxmax()
        return Recommendation(None, _why_none(table, best, dummy, areas))
    best = table.loc[better, "score"].idxmax()
    losses = {
        name: scored[best].minus(scored[name], groups)
        for name in better
        if name != best
    }
    accepted = float(table.loc[best, "score_se"] if margin == "one_se" else margin)
    shown = [
        name
        for name, loss in losses.items()
        if loss.upper_end(level) < accepted
        and (loss.is_within_error or margin != "one_se")
    ]
    # Equally stable ones are distinguished by their score.
    left = table.loc[[best, *shown]].sort_values(
        ["merit", "score"], ascending=False, kind="stable"
    )
    top = left.index[0]
    alike = [name for name in left.index if name == top or is_as_stable(top, name)]
    chosen = left.loc[alike, "n_features"].idxmin()
    bound = (
        f"shown to lose less than {accepted:.3f} in score at the {1 - level:.0%} level"
    )
    if margin == "one_se":
        bound += ", and at most one standard error of the difference"
    return Recommendation(str(chosen), _reason(table, chosen, top, best, shown, bound))


def about_as_good(
    table: pd.DataFrame,
    scored: dict[Any, Scored],
    dummy: Scored | None,
    *,
    groups: IntArray | None,
    level: float,
    areas: Mapping[Any, FloatArray] | None = None,
) -> list[Any]:
    """Selectors within one standard error of the best score, as `by_score` has it, or shown to lose next to nothing.

    The best comes first; none where no score is shown to exceed that of the dummy.
    """
    known = table.index[table["score"].notna() & (table["n_features"] > 0)]
    better = _above_dummy_of(known, scored, dummy, groups, level, areas)
    if not better:
        return []
    best = table.loc[better, "score"].idxmax()
    accepted, negligible = float(table.loc[best, "score_se"]), 0.0
    if dummy is not None:
        gain = table.loc[best, "score"] - np.nanmean(dummy.scores)
        negligible = _NEGLIGIBLE * gain
    good = []
    for name in better:
        loss = scored[best].minus(scored[name], groups)
        end = loss.upper_end(level)
        if name != best and (
            end < negligible or (end < accepted and loss.is_within_error)
        ):
            good.append(name)
    return [best, *good]


def shortest(
    table: pd.DataFrame,
    good: list[Any],
    is_less_stable: Callable[[Any, Any], bool],
) -> Recommendation:
    """Recommend the shortest list of the selectors that are about as `good`, of which the best score is the first.

    `is_less_stable(other, most)` says whether the first one is shown to be less stable than the most stable one.
    """
    best = good[0]
    ranked = table.loc[good].dropna(subset="merit")
    if ranked.empty:
        return Recommendation(
            None,
            f"No selector is recommended: the halves of those that score as well as {best} select nothing.",
        )
    top = ranked["merit"].idxmax()
    stable = [
        name for name in ranked.index if name == top or not is_less_stable(name, top)
    ]
    # Lists of as many features, in whole numbers, are distinguished by their stability.
    order = ranked.loc[stable].assign(size=ranked["n_features"].round())
    chosen = order.sort_values(
        ["size", "merit", "score"], ascending=[True, False, False], kind="stable"
    ).index[0]
    return Recommendation(str(chosen), _why_shortest(table, chosen, top, best))


def _why_shortest(table: pd.DataFrame, chosen: Any, top: Any, best: Any) -> str:
    said = [
        f"Take {chosen}: of the lists that score about as well as the best, and are not shown to be less stable than "
        f"the most stable of these, it is the shortest, with {_size(table, chosen)}."
    ]
    if best != chosen:
        scores = table.loc[[chosen, best], "score"]
        said.append(
            f"It scores {scores.iloc[0]:.3f}, and the best, {best} with {_size(table, best)}, {scores.iloc[1]:.3f}."
        )
    if top not in (chosen, best):
        said.append(
            f"The most stable is {top} with {_size(table, top)}: {_stability(table, top)}."
        )
    return " ".join(said)


def _size(table: pd.DataFrame, name: Any) -> str:
    number = f"{table.loc[name, 'n_features']:.1f}".removesuffix(".0")
    return f"{number} feature{'' if number == '1' else 's'}"


def _above_dummy_of(
    names: Iterable[Any],
    scored: Mapping[Any, Scored],
    dummy: Scored | None,
    groups: IntArray | None,
    level: float,
    areas: Mapping[Any, FloatArray] | None,
) -> list[Any]:
    """Selectors that are shown to be above a dummy, in area where it is known, else in score; all without a dummy."""
    if areas is not None:
        above = {name: _above_half(areas[name]) for name in names}
    elif dummy is not None:
        above = {name: scored[name].minus(dummy, groups) for name in names}
    else:
        return list(names)
    adjusted = holm(np.array([found.pvalue("greater") for found in above.values()]))
    return [name for name, value in zip(above, adjusted, strict=True) if value < level]


def _above_half(areas: FloatArray) -> Difference:
    return resample_difference(areas, np.full(len(areas), 0.5), shared=OF_HALVES)


def _why_none(
    table: pd.DataFrame,
    best: Any,
    dummy: Scored | None,
    areas: Mapping[Any, FloatArray] | None,
) -> str:
    if areas is not None:
        largest = max(float(np.nanmean(area)) for area in areas.values())
        return (
            "No selector is recommended: none was shown to rank the classes better than a dummy that ignores the "
            f"features. The largest area under the ROC curve on halves is {largest:.3f}."
        )
    against = (
        ""
        if dummy is None
        else f", against {np.nanmean(dummy.scores):.3f} of the dummy"
    )
    return (
        "No selector is recommended: none was shown to score better than a dummy that ignores the features, on the "
        f"same resamples. The best score is {table.loc[best, 'score']:.3f} of {best}{against}."
    )


def _stability(table: pd.DataFrame, name: Any) -> str:
    row = table.loc[name]
    kind, about = (
        ("replication", "other data")
        if "replication" in table
        else ("stability", "resampling error")
    )
    if np.isnan(row[kind]):
        return "not known, since halves of the data have nothing to choose"
    if np.isnan(row[f"{kind}_low"]):
        return f"{row[kind]:.2f}"
    ends = f"{row[f'{kind}_low']:.2f} to {row[f'{kind}_high']:.2f}"
    return f"{row[kind]:.2f} (95% interval {ends}, {about})"


def _reason(
    table: pd.DataFrame, chosen: Any, top: Any, best: Any, shown: list[Any], bound: str
) -> str:
    """Why one is chosen of those that are `shown` to be about as good as the `best`, of which `top` is most stable."""
    score, stability = f"{table.loc[chosen, 'score']:.3f}", _stability(table, chosen)
    if chosen == best:
        others = "and no other was"
        if shown:
            others = (
                "and it is more stable than all that were"
                if top == best
                else "and those that are more stable are not clearly so, of the ones"
            )
        which = "the best score"
        if (table["score"] > table.loc[best, "score"]).any():
            which += " of those shown to predict better than a dummy"
        sentence = (
            f"it has {which}, {score}, {others} {bound}. Its stability is {stability}"
        )
    else:
        which = (
            "is the best"
            if chosen == top
            else f"is within a standard error of that of {top}, the best"
        )
        sentence = (
            f"its stability of {stability} {which} among the selectors {bound}. It scores {score} against "
            f"{table.loc[best, 'score']:.3f} of {best}"
        )
    if chosen != top:
        sizes = table["n_features"]
        sentence += f". It selects fewer features, {sizes[chosen]:.3g} against {sizes[top]:.3g} of {top}"
    rest = [str(name) for name in table.index if name not in shown and name != best]
    unknown = f". Not shown to be about as good: {', '.join(rest)}" if rest else ""
    return f"Take {chosen}: {sentence}{unknown}."

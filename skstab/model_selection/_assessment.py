"""What an assessment of a selector says: numbers about this data set, about other data, about chance, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from skstab._displays import draw
from skstab._fragility import few_rows_sentence
from skstab._typing import Display, FloatArray
from skstab.metrics import Measure, StabilityInterval, stability_in_words
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

    from skstab.model_selection._decoy_evidence import DecoyEvidence

__all__ = ["Chance", "ScoreEstimate", "SelectorAssessment", "verdict_of"]

Verdict: TypeAlias = Literal["no signal", "signal, unstable", "signal, stable"]

LEVEL = 0.05
_POOR, _EXCELLENT = 0.4, 0.75  # nogueira2018, table 3
_NOTHING_IN_HALVES = (
    "most halves of the data select nothing with these settings. A penalty that counts rows (C) is stronger on fewer "
    "rows; a weaker one would show it."
)
_NOTHING_TO_CHOOSE = "every feature is kept: there is nothing to choose, and nothing that other data could confirm."


class ScoreEstimate(NamedTuple):
    """A mean score over the rows left out, with a standard error as an estimate for other data.

    Parameters
    ----------
    name : str
        Name of the score.
    mean : float
        Mean over the resamples.
    standard_error : float
        Its standard error.

    Examples
    --------
    >>> from skstab.model_selection import ScoreEstimate
    >>> print(ScoreEstimate("accuracy", 0.85, 0.031))
    accuracy 0.850 ± 0.031
    """

    name: str
    mean: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.name} {self.mean:.3f} ± {self.standard_error:.3f}"


@dataclass(frozen=True, repr=False)
class Chance:
    """What the same selector reaches with permuted targets, which hold nothing to find.

    Parameters
    ----------
    stabilities : ndarray of shape (n_permutations,)
        Stability within pairs of halves, for each permutation.
    scores : ndarray of shape (n_permutations,)
        Mean score for each permutation; empty where the selector has none.
    stability_pvalue : float
        Share of permutations at least as stable as the data, (1 + number) / (1 + n_permutations). Each permutation has
        fewer pairs of halves than the data; its deviation is shrunk to that of as many pairs.
    score_pvalue : float
        The same of the score; NaN where the selector has none, or where a permutation has none because its runs
        selected nothing to predict with.
    frequencies : ndarray of shape (n_features,)
        Share of the runs with permuted targets that selected each feature.
    ignores_target : bool
        Whether the selection on all rows was the same with permuted targets: the selector does not use the target.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.model_selection import Chance
    >>> Chance(np.array([0.1, 0.0]), np.array([0.5, 0.52]), 1 / 3, 2 / 3, np.array([0.2, 0.3]), False)
    Chance(stability 0.05, score 0.510 with permuted targets; p = 0.333 for stability, p = 0.667 for the score)
    """

    stabilities: FloatArray
    scores: FloatArray
    stability_pvalue: float
    score_pvalue: float
    frequencies: FloatArray
    ignores_target: bool

    def __repr__(self) -> str:
        is_scored = not np.isnan(self.score_pvalue)
        score = f", score {self.scores.mean():.3f}" if is_scored else ""
        tests = f"p = {self.stability_pvalue:.3f} for stability"
        tests += f", p = {self.score_pvalue:.3f} for the score" if is_scored else ""
        return f"Chance(stability {self.stabilities.mean():.2f}{score} with permuted targets; {tests})"


@dataclass(frozen=True, repr=False)
class SelectorAssessment:
    """What a selector finds in a data set, and what other data would say; made by :func:`assess_selector`.

    Parameters
    ----------
    measure : Measure
        The measure of stability.
    agreement : StabilityInterval
        Agreement of bootstraps of this data set, with an interval about the resampling error.
    replication : StabilityInterval
        Agreement of two independent samples of half the size, with an interval about other data.
    other_data : StabilityInterval
        Agreement of independent samples of the full size, see :func:`skstab.metrics.full_size_interval`: halves
        continued by what the last doubling of the rows gave.
    score : ScoreEstimate or None
        Mean score of the bootstraps on the rows left out; None where the selector does not predict.
    chance : Chance
        The same with permuted targets.
    curve : DataFrame
        Replication by the number of rows, measured on disjoint blocks: `stability` (NaN where there was nothing to
        choose), `low`, `high`, indexed by `n_rows`.
    runs : Runs
        The runs on the bootstraps, with the selection on all rows as their `refit`.
    halves : Runs
        The runs on the pairs of halves.
    decoys : DecoyEvidence, default=None
        How often halves select each feature, beside copies without information; None where they were not compared.

    Attributes
    ----------
    verdict : {"no signal", "signal, unstable", "signal, stable"}
        The answer in short.
    reason : str
        The sentence that says why.
    has_empty_halves : bool
        Whether most halves select nothing: `replication` then says nothing.
    has_no_choice : bool
        Whether all halves agree because each of them keeps every feature, or nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skstab.model_selection import SelectorAssessment, assess_selector
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> lasso = make_pipeline(StandardScaler(), LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1))
    >>> found = assess_selector(lasso, X, y, random_state=0)
    >>> isinstance(found, SelectorAssessment)
    True
    >>> found.verdict
    'signal, stable'
    """

    measure: Measure
    agreement: StabilityInterval
    replication: StabilityInterval
    other_data: StabilityInterval
    score: ScoreEstimate | None
    chance: Chance
    curve: pd.DataFrame
    runs: Runs
    halves: Runs
    _: KW_ONLY
    decoys: DecoyEvidence | None = None
    verdict: Verdict = field(init=False)
    reason: str = field(init=False)

    def __post_init__(self) -> None:
        verdict, reason = verdict_of(self)
        object.__setattr__(self, "verdict", verdict)
        object.__setattr__(self, "reason", reason)

    @property
    def has_empty_halves(self) -> bool:
        """Whether most halves select nothing."""
        return selects_rarely(self.halves)

    @property
    def has_no_choice(self) -> bool:
        """Whether all halves agree because each of them keeps every feature, or nothing."""
        return bool(np.isnan(self.replication.standard_error))

    def frame(self) -> pd.DataFrame:
        """Tabulate the numbers.

        Returns
        -------
        table : DataFrame
            One row per quantity, indexed by its name: its `estimate`, the ends `low` and `high` of its interval, what
            the interval is `about`, and the mean with permuted targets, `chance`, with the p-value against it. The
            estimate of the replication is NaN where halves had nothing to choose (in `replication` 1 by convention).
        """
        import pandas as pd

        intervals = {
            "agreement of bootstraps": self.agreement,
            "replication, half the size": self.replication,
            "other data, full size": self.other_data,
        }
        rows: dict[str, dict[str, Any]] = {
            name: {
                "estimate": it.estimate,
                "low": it.low,
                "high": it.high,
                "about": it.about,
            }
            for name, it in intervals.items()
        }
        if self.has_no_choice:
            rows["replication, half the size"]["estimate"] = np.nan
        rows["replication, half the size"] |= _against(
            self.chance.stabilities, self.chance.stability_pvalue
        )
        if self.score is not None:
            half = 1.96 * self.score.standard_error
            rows[self.score.name] = {
                "estimate": self.score.mean,
                "low": self.score.mean - half,
                "high": self.score.mean + half,
                "about": "other data",
                **_against(self.chance.scores, self.chance.score_pvalue),
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("quantity")

    def plot(self, ax: Any = None) -> Display:
        """Draw how well halves agree, against chance and against bootstraps.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : ReplicationDisplay
            Drawn.
        """
        return draw("assessment", self, ax=ax)

    def __repr__(self) -> str:
        table = self.frame().to_string(float_format="{:.3f}".format, na_rep="")
        return f"{self._sentences}\n\n{table}"

    @property
    def _sentences(self) -> str:
        """The reason, and which features of the list hang on few rows."""
        return f"{self.reason} {few_rows_sentence(self.runs)}".rstrip()

    def _repr_html_(self) -> str:
        table: str = self.frame().to_html(float_format="{:.3f}".format, na_rep="")
        return f"<div><p><strong>{escape(self._sentences)}</strong></p>{table}</div>"


def _against(values: FloatArray, pvalue: float) -> dict[str, float]:
    return (
        {} if np.isnan(pvalue) else {"chance": float(values.mean()), "pvalue": pvalue}
    )


# -- the verdict -------------------------------------------------------------------------------------------------------


def verdict_of(found: SelectorAssessment) -> tuple[Verdict, str]:
    """Say whether there is signal, and whether other data would give the same features."""
    if found.chance.ignores_target:
        return _without_target(found)
    pvalue = (
        found.chance.score_pvalue
        if _is_scored(found)
        else found.chance.stability_pvalue
    )
    if not pvalue <= LEVEL:
        return "no signal", f"No signal: {_not_above_chance(found)}"
    stable = found.replication.estimate >= _POOR and not found.has_empty_halves
    verdict: Verdict = "signal, stable" if stable else "signal, unstable"
    return (
        verdict,
        f"{verdict.capitalize()}: {_above_chance(found)}. {_replicated(found)}",
    )


def _is_scored(found: SelectorAssessment) -> bool:
    """Whether the score says if there is signal, and not the agreement of halves."""
    return found.score is not None and not np.isnan(found.chance.score_pvalue)


def _without_target(found: SelectorAssessment) -> tuple[Verdict, str]:
    reason = (
        "No signal: the selector does not use the target (permuted targets give the same features), so that its "
        f"stability of {found.agreement} says nothing about what predicts the target."
    )
    return "no signal", reason


def _not_above_chance(found: SelectorAssessment) -> str:
    chance = found.chance
    if found.score is not None and _is_scored(found):
        return (
            f"the selected features predict no better ({found.score.name} {found.score.mean:.3f}) than with permuted "
            f"targets ({chance.scores.mean():.3f}, p = {chance.score_pvalue:.3f}). The list of features should not be "
            f"reported as a finding, however stable it looks (agreement of bootstraps {found.agreement.estimate:.2f})."
        )
    if found.has_empty_halves:
        return f"nothing shows that there is any: {_why_unknown(found)}"
    if found.has_no_choice:
        return f"nothing shows that there is any: {_NOTHING_TO_CHOOSE}"
    return (
        f"two independent halves of the data select alike no more ({found.replication.estimate:.2f}) than with "
        f"permuted targets ({chance.stabilities.mean():.2f}, p = {chance.stability_pvalue:.3f}). The list of "
        "features should not be reported as a finding."
    )


def _above_chance(found: SelectorAssessment) -> str:
    chance = found.chance
    if _is_scored(found):
        return (
            f"the selected features predict ({found.score}) better than with permuted targets "
            f"({chance.scores.mean():.3f}, p = {chance.score_pvalue:.3f})"
        )
    return (
        f"two independent halves of the data select more alike than with permuted targets "
        f"({chance.stabilities.mean():.2f}, p = {chance.stability_pvalue:.3f})"
    )


def _replicated(found: SelectorAssessment) -> str:
    if found.has_empty_halves:
        return f"Whether other data would give the same features is not known: {_why_unknown(found)}"
    if found.has_no_choice:
        return _NOTHING_TO_CHOOSE.capitalize()
    estimate, words = found.replication.estimate, ""
    if (
        found.measure.properties is not None
        and found.measure.properties.chance_corrected
    ):
        words = f", which is called {stability_in_words(estimate)}"
    alike = (
        "largely other"
        if estimate < _POOR
        else "partly the same"
        if estimate <= _EXCELLENT
        else "much the same"
    )
    return (
        f"Other data would give {alike} features: two independent halves agree with a stability of "
        f"{found.replication}{words}."
    )


def _why_unknown(found: SelectorAssessment) -> str:
    if selects_rarely(found.runs):
        return "with these settings most halves of the data, and most bootstraps, select nothing."
    return _NOTHING_IN_HALVES


def selects_rarely(runs: Runs) -> bool:
    """Whether most runs select nothing."""
    return bool(np.mean(np.asarray(runs.tables.supports.sum(axis=1)) == 0) > 0.5)


def as_of_pairs(values: Sequence[FloatArray], n_pairs: int) -> FloatArray:
    """Means of permutations with the spread that means of `n_pairs` pairs would have.

    Each permutation has few pairs, and its mean varies more than that of the data: by the variance within permutations
    over the number of pairs. Deviations from the mean of all permutations are shrunk accordingly.
    """
    known = [part[~np.isnan(part)] for part in values]
    known = [part for part in known if part.size]
    means = np.array([part.mean() for part in known])
    repeated = [part for part in known if part.size > 1]
    if len(means) < 2 or not repeated:
        return means
    within = float(np.mean([part.var(ddof=1) for part in repeated]))
    size = float(np.mean([part.size for part in known]))
    between = max(float(means.var(ddof=1)) - within / size, 0.0)
    spread = between + within / size
    factor = (
        np.sqrt(min((between + within / n_pairs) / spread, 1.0)) if spread > 0 else 1.0
    )
    return np.asarray(means.mean() + factor * (means - means.mean()))


def pvalue_above(observed: float, permuted: FloatArray) -> float:
    """Share of permutations that reach what was observed, the data themselves included."""
    if not permuted.size or np.isnan(observed):
        return float("nan")
    return float((1 + np.sum(permuted >= observed - 1e-12)) / (1 + permuted.size))

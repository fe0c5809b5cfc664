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

Verdict: TypeAlias = Literal[
    "no signal", "signal, unstable", "signal, stability unclear", "signal, stable"
]

LEVEL = 0.05
_POOR = 0.4  # nogueira2018, table 3
_NOTHING_IN_HALVES = (
    "most halves of the data select nothing with these settings. A penalty that counts rows (C) is stronger on fewer "
    "rows; a weaker one would show it."
)
_NOTHING_TO_CHOOSE = "every feature is kept: there is nothing to choose, and nothing that other data could confirm."


_FULL_SIZE = (
    "other data, full size: continued from halves; least reliable where a penalty is so strict that halves select "
    "hardly anything, where one to three of hundreds of features are taken, and where the curve still rises steeply"
)


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
    auc : float, default=np.nan
        Of a classifier with probabilities or decision values: the mean area under the ROC curve, each class against
        the rest, of halves on the other half. It has no threshold, and the verdict rests on it whatever score is shown;
        NaN where that has none, too (log loss, areas).
    aucs : ndarray of shape (n_permutations,), default=()
        The same for each permutation.
    auc_pvalue : float, default=np.nan
        As `score_pvalue`.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.model_selection import Chance
    >>> Chance(np.array([0.1, 0.0]), np.array([0.5, 0.52]), 1 / 3, 2 / 3, np.array([0.2, 0.3]), False)
    Chance(stability 0.050, score 0.510 with permuted targets; none of 2 permutations did as well in stability, 1 of 2
    permutations did as well in score)
    """

    stabilities: FloatArray
    scores: FloatArray
    stability_pvalue: float
    score_pvalue: float
    frequencies: FloatArray
    ignores_target: bool
    _: KW_ONLY
    auc: float = np.nan
    aucs: FloatArray | tuple[()] = ()
    auc_pvalue: float = np.nan

    def __repr__(self) -> str:
        said, counts = [], []
        for name, found, pvalue in (
            ("stability", self.stabilities, self.stability_pvalue),
            ("score", self.scores, self.score_pvalue),
            ("AUC", self.aucs, self.auc_pvalue),
        ):
            if not np.isnan(pvalue):
                said.append(f"{name} {np.mean(found):.3f}")
                counts.append(f"{_did_as_well(pvalue, len(found))} in {name}")
        return f"Chance({', '.join(said)} with permuted targets; {', '.join(counts)})"


def _did_as_well(pvalue: float, n_permutations: int) -> str:
    """How many permutations reached as much: so few give no p-value worth its digits."""
    n_reached = round(pvalue * (1 + n_permutations)) - 1
    return f"{n_reached or 'none'} of {n_permutations} permutations did as well"


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
    verdict : {"no signal", "signal, unstable", "signal, stability unclear", "signal, stable"}
        The answer in short: stable where the lower end of `replication` is at least 0.4, unstable where its upper end
        is below.
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
    'signal, stability unclear'
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

    @property
    def shared_features(self) -> tuple[float, float]:
        """How many features two halves share, and how many each of them selects, on average."""
        supports = self.halves.in_pairs().tables.supports
        both = supports[::2] * supports[1::2]
        return float(both.sum(axis=1).mean()), float(supports.sum(axis=1).mean())

    def frame(self) -> pd.DataFrame:
        """Tabulate the numbers.

        Returns
        -------
        table : DataFrame
            One row per quantity, indexed by its name: its `estimate`, the ends `low` and `high` of its interval, what
            the interval is `about`, and the mean with permuted targets, `chance`, with the p-value against it. The
            estimate of the replication is NaN where halves had nothing to choose (in `replication` 1 by convention).
            "AUC, half the size" is the score without a threshold on which the verdict of a classifier rests.
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
        if not np.isnan(self.chance.auc_pvalue):
            rows["AUC, half the size"] = {
                "estimate": self.chance.auc,
                "low": np.nan,
                "high": np.nan,
                "about": "other data",
                **_against(np.asarray(self.chance.aucs), self.chance.auc_pvalue),
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
        return f"{self._sentences}\n\n{table}\n{_FULL_SIZE}"

    @property
    def _sentences(self) -> str:
        """The reason, and which features of the list hang on few rows."""
        return f"{self.reason} {few_rows_sentence(self.runs)}".rstrip()

    def _repr_html_(self) -> str:
        table: str = self.frame().to_html(float_format="{:.3f}".format, na_rep="")
        answer = f"<p><strong>{escape(self._sentences)}</strong></p>"
        return f"<div>{answer}{table}<p>{_FULL_SIZE}</p></div>"


def _against(values: FloatArray, pvalue: float) -> dict[str, float]:
    return (
        {} if np.isnan(pvalue) else {"chance": float(values.mean()), "pvalue": pvalue}
    )


# -- the verdict -------------------------------------------------------------------------------------------------------


def verdict_of(found: SelectorAssessment) -> tuple[Verdict, str]:
    """Say whether there is signal, and whether other data would give the same features."""
    if found.chance.ignores_target:
        return _without_target(found)
    evidence = _evidence(found)
    if not evidence.pvalue <= LEVEL:
        return "no signal", f"No signal: {_not_above_chance(found, evidence)}"
    verdict: Verdict = "signal, stability unclear"
    if not found.has_empty_halves and found.replication.high < _POOR:
        verdict = "signal, unstable"
    elif not found.has_empty_halves and found.replication.low >= _POOR:
        verdict = "signal, stable"
    shown = f"{evidence.what} {evidence.more} than with permuted targets ({evidence.numbers})"
    return verdict, f"{verdict.capitalize()}: {shown}. {_replicated(found)}"


class _Evidence(NamedTuple):
    """What says whether there is signal: a score without a threshold, else the score, else that halves agree."""

    what: str
    value: str
    chance: str
    pvalue: float
    n_permutations: int
    more: str = "better"
    beside: ScoreEstimate | None = None

    @property
    def numbers(self) -> str:
        """The value, that of chance, and how many permutations reached as much."""
        beside = "" if self.beside is None else f"; {self.beside}"
        counted = _did_as_well(self.pvalue, self.n_permutations)
        return f"{self.value} against {self.chance}; {counted}{beside}"


def _evidence(found: SelectorAssessment) -> _Evidence:
    chance, score, n = found.chance, found.score, len(found.chance.stabilities)
    if not np.isnan(chance.auc_pvalue):
        value, permuted = f"AUC {chance.auc:.3f}", f"{np.mean(chance.aucs):.3f}"
        what = "the selected features rank the classes"
        return _Evidence(what, value, permuted, chance.auc_pvalue, n, beside=score)
    if score is not None and not np.isnan(chance.score_pvalue):
        what, permuted = "the selected features predict", f"{chance.scores.mean():.3f}"
        return _Evidence(what, str(score), permuted, chance.score_pvalue, n)
    what = "two independent halves of the data agree"
    value = f"stability {found.replication.estimate:.2f}"
    permuted = f"{chance.stabilities.mean():.2f}"
    return _Evidence(what, value, permuted, chance.stability_pvalue, n, "more")


def _without_target(found: SelectorAssessment) -> tuple[Verdict, str]:
    reason = (
        "No signal: the selector does not use the target (permuted targets give the same features), so that its "
        f"stability of {found.agreement} says nothing about what predicts the target."
    )
    return "no signal", reason


def _not_above_chance(found: SelectorAssessment, evidence: _Evidence) -> str:
    is_scored = evidence.more == "better"
    if not is_scored and found.has_empty_halves:
        return f"nothing shows that there is any: {_why_unknown(found)}"
    if not is_scored and found.has_no_choice:
        return f"nothing shows that there is any: {_NOTHING_TO_CHOOSE}"
    looks = (
        f", however stable it looks (agreement of bootstraps {found.agreement.estimate:.2f})"
        if is_scored
        else ""
    )
    return (
        f"{evidence.what} no {evidence.more} than with permuted targets ({evidence.numbers}). The list of features "
        f"should not be reported as a finding{looks}."
    )


def _replicated(found: SelectorAssessment) -> str:
    if found.has_empty_halves:
        return f"Whether other data would give the same features is not known: {_why_unknown(found)}"
    if found.has_no_choice:
        return _NOTHING_TO_CHOOSE.capitalize()
    both, each = (f"{count:.1f}" for count in found.shared_features)
    n_rows = found.curve.index[-1]
    return (
        f"Two samples of {n_rows} rows share {both} of {each} features, a stability of {found.replication}"
        f"{_called(found)}."
    )


def _called(found: SelectorAssessment) -> str:
    """The words for both ends of the interval, where the measure has words."""
    properties = found.measure.properties
    if properties is None or not properties.chance_corrected:
        return ""
    ends = (found.replication.low, found.replication.high)
    low, high = (stability_in_words(min(end, 1.0)) for end in ends)
    return f", called {low}" if low == high else f', from "{low}" to "{high}"'


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

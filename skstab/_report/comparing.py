"""What a report runs: all settings in one pass over the resamples, the choice among them, and the assessment."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.metrics import get_scorer_names
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from skstab._random import draw_entropy, halves_seed
from skstab._report.dataset import Dataset
from skstab._report.selectors import STEP, Candidate
from skstab._report.survival import concordance
from skstab._report.words import UserError, plural
from skstab.metrics import get_measure, measure_table
from skstab.model_selection import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    Recommendation,
    SelectorAssessment,
    SelectorComparison,
    StabilitySearchCV,
    assess_selector,
)

N_PAIRS = 16


def _unwatched(_what: str, _total: int, _noun: str) -> AbstractContextManager[Any]:
    return nullcontext()


@dataclass(frozen=True)
class Plan:
    """What is run on a table: the settings to try, the resamples and the score.

    `watch` is called with what is being done, how many steps it has and what a step is, and returns a context that
    shows the progress.
    """

    data: Dataset
    tried: list[Candidate]
    scoring: str
    measure: str = "nogueira"
    support_from: str = "used"
    n_resamples: int = 50
    seed: int = 0
    run_settings: dict[str, Any] = field(default_factory=dict)
    watch: Callable[[str, int, str], AbstractContextManager[Any]] = _unwatched

    @property
    def scorer(self) -> Any:
        """The score as the searches of Python take it."""
        return concordance if self.data.is_survival else self.scoring

    @property
    def pipeline(self) -> Pipeline:
        """First steps and a step for the selector."""
        return Pipeline([*first_steps(self.data), (STEP, self.tried[0].base)])

    def estimator(self, label: str) -> Pipeline:
        """The pipeline of one setting."""
        selector = next(
            candidate.estimator for candidate in self.tried if candidate.label == label
        )
        return clone(self.pipeline).set_params(**{STEP: selector})

    @property
    def settings(self) -> dict[str, Any]:
        """What the search and the assessment have in common."""
        return {
            "cv": BootstrapSplit(
                self.n_resamples,
                stratify=stratifies(self.data),
                random_state=self.seed,
            ),
            "scoring": self.scorer,
            "support_from": self.support_from,
            "random_state": self.seed,
            **self.run_settings,
        }


def first_steps(data: Dataset) -> list[tuple[str, Any]]:
    """Return the steps before every selector, fitted again in each resample."""
    # A column without any value in a resample is kept, as zeros.
    imputer = (
        [("impute", SimpleImputer(strategy="median", keep_empty_features=True))]
        if data.has_missing
        else []
    )
    return [*imputer, ("scale", StandardScaler())]


def stratifies(data: Dataset) -> bool:
    """Whether resamples are drawn within classes, or events: groups must then have one class each."""
    if data.groups is not None:
        return data.is_classification and bool(
            (data.y.groupby(data.groups).nunique() < 2).all()
        )
    return data.is_classification or data.is_survival


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings of single fits: failures are counted in the report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# -- the comparison ----------------------------------------------------------------------------------------------------


def compare(plan: Plan) -> tuple[SelectorComparison, list[str]]:
    """Run all settings on the same resamples; return also what is to be said about those that can't be fitted."""
    data = plan.data
    search = StabilitySearchCV(
        plan.pipeline,
        [candidate.grid for candidate in plan.tried],
        measures=[plan.measure],
        refit=_first,
        **plan.settings,
    )
    labels = [candidate.label for candidate in plan.tried]
    n_selectors = len({candidate.family for candidate in plan.tried})
    what = f"comparing {plural(len(labels), 'setting')} of {plural(n_selectors, 'selector')}"
    try:
        with plan.watch(what, plan.n_resamples, "resample"):
            search.fit(data.X, data.target, **groups_of(data))
        found = SelectorComparison.from_search(
            search, data.X, data.target, names=labels, **groups_of(data)
        )
    except (ValueError, OSError) as error:
        raise UserError(f"the selectors can't be compared: {error}") from error
    return found, [_why_not(plan, label) for label in labels if label not in found.runs]


def _first(_: Any) -> int:
    """What the search refits, which is not used."""
    return 0


def groups_of(data: Dataset) -> dict[str, Any]:
    """The groups as an argument, if there are any."""
    return {} if data.groups is None else {"groups": data.groups}


def _why_not(plan: Plan, label: str) -> str:
    try:
        plan.estimator(label).fit(plan.data.X, plan.data.target)
    except ValueError as error:
        return f"{label} was left out: {str(error).splitlines()[0]}"
    return f"{label} was left out: it could be fitted on fewer than two resamples."


def with_halves(every: SelectorComparison, plan: Plan) -> SelectorComparison:
    """Run the settings that score about as well as the best on pairs of halves, which compares them on other data."""
    known = set(selective(every, plan))
    names = [name for name in every.about_as_good() if name in known]
    measure = get_measure(plan.measure)
    if not names or measure.within_pairs is None:
        return every
    data = plan.data
    search = StabilitySearchCV(
        plan.pipeline,
        [candidate.grid for candidate in plan.tried if candidate.label in names],
        measures=[plan.measure],
        refit=_first,
        **{**plan.settings, "cv": pairs_of(plan), "scoring": None},
    )
    labels = [candidate.label for candidate in plan.tried if candidate.label in names]
    try:
        with plan.watch(
            f"comparing {plural(len(labels), 'setting')} on halves of the rows",
            2 * N_PAIRS,
            "fit",
        ):
            search.fit(data.X, data.target, **groups_of(data))
    except (ValueError, OSError):
        return every
    found = dict(zip(labels, search.runs_, strict=True))
    halves = {
        name: runs if (runs := found.get(name)) is not None and len(runs) > 1 else None
        for name in every.runs
    }
    return replace(every, halves=halves)


def pairs_of(plan: Plan) -> ComplementaryPairsSplit:
    """The pairs of halves on which settings are compared, which are those of the assessment."""
    data = plan.data
    return ComplementaryPairsSplit(
        2 * N_PAIRS,
        stratify=data.is_classification and data.groups is None,
        random_state=halves_seed(draw_entropy(plan.seed)),
    )


def selective(comparison: SelectorComparison, plan: Plan) -> list[str]:
    """Settings that select some features but not all, and have a score."""
    table = comparison.frame()
    some = table["n_features"].between(0, plan.data.X.shape[1], inclusive="neither")
    return list(table.index[some & table["score"].notna()])


def chosen_of(
    every: SelectorComparison, plan: Plan
) -> tuple[SelectorComparison, Recommendation]:
    """Compare one setting of each selector, among those that select some features but not all, and recommend one."""
    names = selective(every, plan)
    if len(names) < 2:
        raise UserError(
            "there is nothing to compare: fewer than two settings select some features, but not all"
        )
    recommended = _of(every, names).recommend(prefer="short")
    families = {candidate.label: candidate.family for candidate in plan.tried}
    if len({families[name] for name in names}) > 1:
        good = every.about_as_good()
        names = [
            _first_of(every, own, good, recommended)
            for own in _by_family(names, families).values()
        ]
    return _of(every, names), recommended


def _of(every: SelectorComparison, names: Sequence[str]) -> SelectorComparison:
    """The comparison of some of the settings."""
    halves = None
    if every.halves is not None:
        halves = {name: every.halves[name] for name in names}
    return replace(
        every, runs={name: every.runs[name] for name in names}, halves=halves
    )


def _by_family(
    names: Sequence[str], families: Mapping[str, str]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(families[name], []).append(name)
    return found


def _first_of(
    every: SelectorComparison,
    names: Sequence[str],
    good: Sequence[str],
    recommended: Recommendation,
) -> str:
    """The setting that stands for a selector: the recommended one, or the one that would be of this selector alone."""
    if recommended.selector is not None and recommended.selector in names:
        return recommended.selector
    own = [name for name in good if name in names]
    if len(own) > 1:
        return _of(every, own).recommend(prefer="short").selector or own[0]
    return own[0] if own else str(every.frame().loc[list(names), "score"].idxmax())


# -- the assessment ----------------------------------------------------------------------------------------------------


def assess(label: str, plan: Plan) -> tuple[SelectorAssessment | None, list[str]]:
    """Assess one setting, or say why it can't be."""
    data = plan.data
    what = f"assessing {label} on halves of the rows and with permuted targets"
    try:
        with plan.watch(what, 0, "fit"):
            found = assess_selector(
                plan.estimator(label),
                data.X,
                data.target,
                measure=measure_of_pairs(plan.measure),
                **plan.settings,
                **groups_of(data),
            )
    except (ValueError, OSError) as error:
        return None, [f"Whether other data would agree is not known: {error}."]
    return found, []


def measure_of_pairs(name: str) -> str:
    """The measure of the assessment, which must be defined for two runs."""
    return name if get_measure(name).within_pairs is not None else "nogueira"


# -- the score and the measure -----------------------------------------------------------------------------------------


def scoring_of(data: Dataset, wanted: str | None = None) -> str:
    """Name the score: the one asked for, or the one that suits the target."""
    if data.is_survival:
        return _of_survival(wanted)
    if wanted is not None:
        return _known_scoring(wanted, data)
    if not data.is_classification:
        return "r2"
    counts = data.y.value_counts()
    if counts.iloc[0] <= _UNEQUAL * counts.iloc[-1]:
        return "accuracy"
    # Models that do not weight classes can predict the larger one for every row: no accuracy sees their signal.
    return "roc_auc" if len(counts) == 2 else "roc_auc_ovr"


def _of_survival(wanted: str | None) -> str:
    if wanted not in (None, "concordance"):
        raise UserError(
            f"scoring={wanted!r} does not suit survival; its score is the concordance"
        )
    return "concordance"


def _known_scoring(name: str, data: Dataset) -> str:
    own = _SCORES[_scale(data)]
    if name not in get_scorer_names():
        raise UserError(
            f"there is no score {name!r}; for this target there are {', '.join(own)}"
        )
    if name in {other for names in _SCORES.values() for other in names} - set(own):
        raise UserError(
            f"scoring={name!r} does not suit {kind_of_target(data)}; use {', '.join(own)}"
        )
    return name


def _scale(data: Dataset) -> str:
    if not data.is_classification:
        return "numbers"
    return "two classes" if data.y.nunique() == 2 else "several classes"


def kind_of_target(data: Dataset) -> str:
    """Say what the target is."""
    if data.is_survival:
        return f"survival ({int(data.y['event'].sum())} events)"
    return (
        f"classification ({data.y.nunique()} classes)"
        if data.is_classification
        else "regression"
    )


_UNEQUAL = 1.5  # times as many rows in the largest class as in the smallest
_SCORES = {
    "two classes": (
        "accuracy",
        "balanced_accuracy",
        "roc_auc",
        "average_precision",
        "f1_macro",
        "neg_log_loss",
    ),
    "several classes": (
        "accuracy",
        "balanced_accuracy",
        "roc_auc_ovr",
        "f1_macro",
        "neg_log_loss",
    ),
    "numbers": (
        "r2",
        "neg_mean_squared_error",
        "neg_mean_absolute_error",
        "explained_variance",
    ),
}


def check_measure(name: str) -> None:
    """Refuse a measure that is unknown, or that does not allow selections of different sizes."""
    table = measure_table()
    forgiving = [known for known in table.index if get_measure(known).described_by]
    serving = [
        known for known in table.index[table["fully_defined"]] if known not in forgiving
    ]
    if name not in serving:
        similar, constant = (
            "to know which features can replace each other",
            "runs that select equally many features",
        )
        needs = similar if name in forgiving else constant
        reason = (
            f"measure {name!r} needs {needs}"
            if name in table.index
            else f"there is no measure {name!r}"
        )
        raise UserError(f"{reason}; use one of {', '.join(serving)}")

"""`skstab report`: compare selectors on a table, and write the results as one HTML file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab._cli._alerts import alerts_of
from skstab._cli._arguments import DEFAULT_SELECTORS
from skstab._cli._code import comparing
from skstab._cli._columns import MISSING
from skstab._cli._formats import ReadOptions
from skstab._cli._reading import Dataset, read_dataset
from skstab._cli._selectors import Candidate, LearningTask, candidates
from skstab._cli._terminal import AlertError, Progress, UserError, plural, require_extras, say
from skstab._cli._writing import check_output, write
from skstab.inspection import StabilityReport
from skstab.metrics import get_measure, measure_table
from skstab.model_selection import BootstrapSplit, ParetoRefit, assess_selector, compare_selectors

if TYPE_CHECKING:
    import argparse

    import pandas as pd

    from skstab.model_selection import SelectorAssessment, SelectorComparison

_OPTIMISM = (
    "Settings were chosen on the same resamples as the scores come from: like the best of any search, these scores are "
    "slightly optimistic. Evaluate the choice on new rows."
)


def run(options: argparse.Namespace) -> None:
    """Read, say what is suspicious, compare, choose, assess, write."""
    check_endpoint(options)
    require_extras()
    output = Path(options.output)
    check_output(output, options.file)
    check_measure(options.measure)
    data = read_dataset(
        options.file, options.target, options.task, options=_read_options(options), groups=options.groups
    )
    options.scoring = scoring_of(data, options.scoring)
    say(f"{options.file}: {len(data.X)} rows, {data.X.shape[1]} features, {_kind(data)} of {options.target}")
    for note in data.notes:
        say(f"  {note}")
    with quiet():
        alerts = _alerts(data, options)
        report = make_assessed_report(data, alerts, options)
        write(output, report.html())
    verdict = [] if report.assessment is None else [" ".join(filter(None, (report.assessment.reason, report.doubt)))]
    caution = [f"{plural(len(alerts), 'alert')} above may make this misleading."] if alerts else []
    say("\n" + "\n\n".join([*verdict, str(report.recommendation), *caution, f"Written: {output}"]))


def check_endpoint(options: argparse.Namespace) -> None:
    """Check that there is a target; times and events are not one that a selector here can use."""
    if options.time is not None or options.event is not None:
        raise UserError(
            "--time and --event need a selector for survival, and this command has none; in Python, assess_selector "
            "takes a survival model and a structured target"
        )
    if options.target is None:
        raise UserError("the following arguments are required: --target (see skstab report --help)")


def _read_options(options: argparse.Namespace) -> ReadOptions:
    return ReadOptions(
        options.sep, options.decimal, options.encoding, options.sheet, options.na or (), options.keep or ()
    )


def _alerts(data: Dataset, options: argparse.Namespace) -> list[str]:
    """Say what may mislead; with --strict, end there."""
    alerts = alerts_of(data, target=options.target, n_resamples=options.resamples)
    for alert in alerts:
        say(f"  Alert: {alert}")
    if alerts and options.strict:
        raise AlertError(f"{plural(len(alerts), 'alert')} with --strict: nothing was compared or written")
    return alerts


def make_assessed_report(data: Dataset, alerts: list[str], options: argparse.Namespace) -> StabilityReport:
    """Compare all settings, and assess the one that the report shows first."""
    tried, left_out = _fitting(_candidates(data, options), data, options.scoring)
    comparison = _compare(tried, data, options)
    report = replace(make_report(comparison, tried, left_out, data, options), alerts=alerts)
    estimator = next(candidate for candidate in tried if candidate.label == report.first_selector)
    say(f"Assessing {report.first_selector} on halves of the rows and with permuted targets ...")
    assessment, note = _assess(_pipeline(estimator, data), data, options)
    return replace(report, assessment=assessment, notes=[*report.notes, *note])


def _compare(tried: list[Candidate], data: Dataset, options: argparse.Namespace) -> SelectorComparison:
    """Run all candidates on the same resamples."""
    work = {candidate.label: _pipeline(candidate, data) for candidate in tried}
    settings = _settings(data, options)
    with Progress("comparing settings of selectors", len(work)) as progress:
        try:
            settings |= {"measure": options.measure, "on_progress": lambda _: progress.advance()}
            return compare_selectors(work, data.X, data.y, **settings)
        except ValueError as error:
            raise UserError(f"the selectors can't be compared: {error}") from error


def _assess(estimator: Any, data: Dataset, options: argparse.Namespace) -> tuple[SelectorAssessment | None, list[str]]:
    """Assess one selector, or say why it can't be."""
    try:
        found = assess_selector(
            estimator, data.X, data.y, measure=_measure_of_pairs(options.measure), **_settings(data, options)
        )
    except ValueError as error:
        return None, [f"Whether other data would agree is not known: {error}."]
    return found, []


def _measure_of_pairs(name: str) -> str:
    return name if get_measure(name).within_pairs is not None else "nogueira"


def _settings(data: Dataset, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "cv": BootstrapSplit(options.resamples, stratify=stratifies(data), random_state=options.seed),
        "scoring": options.scoring,
        "groups": data.groups,
        "n_jobs": options.jobs,
        "random_state": options.seed,
    }


def stratifies(data: Dataset) -> bool:
    """Whether resamples are drawn within classes: groups must then have one class each."""
    return data.is_classification and (data.groups is None or _is_one_per_group(data))


def _is_one_per_group(data: Dataset) -> bool:
    """Whether all rows of a group have the same target."""
    return bool((data.y.groupby(data.groups).nunique() < 2).all())


def make_report(
    comparison: SelectorComparison,
    tried: list[Candidate],
    left_out: list[str],
    data: Dataset,
    options: argparse.Namespace,
) -> StabilityReport:
    """Report on the best setting of each selector, among all that were tried."""
    table = comparison.frame()
    selective = table[table["n_features"].between(0, data.X.shape[1], inclusive="neither")]
    if len(selective) < 2:
        raise UserError("there is nothing to compare: fewer than two settings select some features, but not all")
    families = {candidate.label: candidate.family for candidate in tried}
    chosen = choose(selective, families)
    return StabilityReport(
        title=f"Stability of feature selection: {options.target} in {Path(options.file).name}",
        comparison=replace(comparison, runs={name: comparison.runs[name] for name in chosen}),
        candidates=table,
        scoring=options.scoring,
        facts=_facts(data, options, len(table), len(chosen)),
        notes=[*data.notes, *left_out, *_notes(data, table), _OPTIMISM],
        code=script(tried, data, options, has_families=_n_families(selective, families) > 1),
        variables=data.variables if data.has_categories else None,
    )


def choose(table: pd.DataFrame, families: Mapping[str, str]) -> list[str]:
    """The most stable setting of each selector within a standard error of its best score; all of a single selector."""
    if _n_families(table, families) == 1:
        return list(table.index)
    refit = ParetoRefit("score", "stability", strategy="one_se")
    return [rows.index[refit(rows)] for _, rows in table.groupby(table.index.map(families), sort=False)]


def _n_families(table: pd.DataFrame, families: Mapping[str, str]) -> int:
    return len({families[label] for label in table.index})


# -- what is run -------------------------------------------------------------------------------------------------------


def _candidates(data: Dataset, options: argparse.Namespace) -> list[Candidate]:
    task = LearningTask(
        n_rows=len(data.X),
        n_features=data.X.shape[1],
        n_classes=data.y.nunique() if data.is_classification else 0,
        spread=0.0 if data.is_classification else float(data.y.std()),
        seed=options.seed,
    )
    return candidates(list(dict.fromkeys(options.selectors or DEFAULT_SELECTORS)), task)


def first_steps(data: Dataset) -> list[Any]:
    """Return the steps before every selector, fitted again in each resample."""
    # A column without any value in a resample is kept, as zeros.
    imputer = [SimpleImputer(strategy="median", keep_empty_features=True)] if data.has_missing else []
    return [*imputer, StandardScaler()]


def _pipeline(candidate: Candidate, data: Dataset) -> Any:
    return make_pipeline(*first_steps(data), clone(candidate.estimator))


def _fitting(possible: list[Candidate], data: Dataset, scoring: str) -> tuple[list[Candidate], list[str]]:
    """Leave out what can't be fitted or scored on all rows, such as a threshold that no feature reaches."""
    fitting, notes, scorer = [], [], get_scorer(scoring)
    for candidate in possible:
        try:
            scorer(_pipeline(candidate, data).fit(data.X, data.y), data.X, data.y)
        except ValueError as error:
            notes.append(f"{candidate.label} was left out: {str(error).splitlines()[0]}")
        else:
            fitting.append(candidate)
    if len(fitting) < 2:
        raise UserError(f"fewer than two selectors can be fitted and scored by {scoring}: {' '.join(notes[:2])}")
    return fitting, notes


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings of single fits: failures are counted in the report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def scoring_of(data: Dataset, wanted: str | None = None) -> str:
    """Name the score: the one asked for, or the one that suits the target."""
    if wanted is not None:
        return _known_scoring(wanted, data)
    if not data.is_classification:
        return "r2"
    counts = data.y.value_counts()
    return "accuracy" if counts.iloc[0] <= _UNEQUAL * counts.iloc[-1] else "balanced_accuracy"


def _known_scoring(name: str, data: Dataset) -> str:
    if name not in get_scorer_names():
        raise UserError(f"there is no score {name!r}; for this target there are {', '.join(_SCORES[_scale(data)])}")
    if name in {other for scale, names in _SCORES.items() if scale != _scale(data) for other in names} - {
        *_SCORES[_scale(data)]
    }:
        raise UserError(f"--scoring {name!r} does not suit {_kind(data)}; use {', '.join(_SCORES[_scale(data)])}")
    return name


def _scale(data: Dataset) -> str:
    if not data.is_classification:
        return "numbers"
    return "two classes" if data.y.nunique() == 2 else "several classes"


_UNEQUAL = 1.5  # times as many rows in the largest class as in the smallest
_SCORES = {
    "two classes": ("accuracy", "balanced_accuracy", "roc_auc", "average_precision", "f1_macro", "neg_log_loss"),
    "several classes": ("accuracy", "balanced_accuracy", "roc_auc_ovr", "f1_macro", "neg_log_loss"),
    "numbers": ("r2", "neg_mean_squared_error", "neg_mean_absolute_error", "explained_variance"),
}
_SCORE_NAMES = {"balanced_accuracy": "balanced accuracy (the mean over the classes)", "r2": "R²"}


def check_measure(name: str) -> None:
    """Refuse a measure that is unknown, or that does not allow selections of different sizes."""
    table = measure_table()
    forgiving = [known for known in table.index if get_measure(known).described_by]
    serving = [known for known in table.index[table["fully_defined"]] if known not in forgiving]
    if name not in serving:
        similar, constant = "to know which features can replace each other", "runs that select equally many features"
        needs = similar if name in forgiving else constant
        reason = f"measure {name!r} needs {needs}" if name in table.index else f"there is no measure {name!r}"
        raise UserError(f"{reason}; use one of {', '.join(serving)}")


# -- the texts ---------------------------------------------------------------------------------------------------------


def _kind(data: Dataset) -> str:
    return f"classification ({data.y.nunique()} classes)" if data.is_classification else "regression"


_CHOICE = (
    "; of each selector, the most stable one whose score is within one standard error of its best is compared below"
)


def _facts(data: Dataset, options: argparse.Namespace, n_candidates: int, n_chosen: int) -> dict[str, str]:
    choice = _CHOICE if n_chosen < n_candidates else ", compared below"
    score = _SCORE_NAMES.get(options.scoring, options.scoring)
    groups = f", whole groups of {data.groups.name}" if data.groups is not None else ""
    return {
        "Data": f"{options.file}: {len(data.X)} rows, {data.X.shape[1]} features",
        "Target": f"{options.target}, {_kind(data)}",
        "Resamples": f"{options.resamples} bootstrap samples{', stratified' if stratifies(data) else ''}{groups}, "
        f"the same for all; {score} on the rows that each left out",
        "Settings": f"{n_candidates} in all{choice}",
        "Stability": f"{get_measure(options.measure).name} measure, 95% jackknife intervals (resampling error)",
        "Seed": str(options.seed),
    }


def _notes(data: Dataset, table: pd.DataFrame) -> list[str]:
    notes = []
    if data.has_missing:
        share = float(data.X.isna().to_numpy().mean())
        notes.append(
            f"Missing numbers ({share:.1%} of all) were replaced by the median of their column, inside each resample, "
            "so that rows left out do not influence it."
        )
    if any(name.endswith(f"={MISSING}") for name in data.X.columns):
        notes.append("A missing category is a separate level.")
    for number, what in ((0, "nothing"), (data.X.shape[1], "every feature")):
        notes += [
            f"{name} selected {what}, which is not a choice." for name in table.index[table["n_features"] == number]
        ]
    notes += [f"{failed} runs of {name} failed." for name, failed in table["n_failed"].items() if failed]
    return notes


def script(tried: list[Candidate], data: Dataset, options: argparse.Namespace, *, has_families: bool) -> str:
    """Python code that gives the numbers of the report."""
    stratify = ", stratify=True" if stratifies(data) else ""
    groups = ", groups=groups" if data.groups is not None else ""
    cv = f"BootstrapSplit({options.resamples}{stratify}, random_state={options.seed})"
    settings = f"cv={cv}, scoring={options.scoring!r}{groups}, random_state={options.seed}, n_jobs=-1"
    call = f"compare_selectors(selectors, X, y, measure={options.measure!r}, {settings})"
    assessing = f"assess_selector(selectors[first], X, y, measure={_measure_of_pairs(options.measure)!r}, {settings})"
    selectors = {candidate.label: candidate.estimator for candidate in tried}
    lines = comparing(selectors, first_steps(data), data.code, call)
    choosing = [*_family_lines(tried), *_CHOOSING] if has_families else ["chosen = list(table.index)"]
    return "\n".join(
        [
            "import pandas as pd",
            "from skstab import assess_selector",
            *lines,
            *_TRYING,
            *choosing,
            *_SHOWING,
            f"print({assessing}.reason)",
            "",
        ]
    )


def _family_lines(tried: list[Candidate]) -> list[str]:
    labels = {family: [other.label for other in tried if other.family == family] for family, *_ in tried}
    return [
        "settings = {",
        *(f"    {family!r}: {of_family!r}," for family, of_family in labels.items()),
        "}",
        "family = {name: selector for selector, names in settings.items() for name in names}",
    ]


_TRYING = [
    "table = compare(selectors).frame()",
    'table = table[table["n_features"].between(0, X.shape[1], inclusive="neither")]',
]
_CHOOSING = [
    'refit = ParetoRefit("score", "stability", strategy="one_se")',
    "chosen = [rows.index[refit(rows)] for _, rows in table.groupby(table.index.map(family), sort=False)]",
]
_SHOWING = [
    "comparison = compare({name: selectors[name] for name in chosen})",
    "print(comparison.frame().to_string())",
    "print(comparison.recommend())",
    'first = comparison.recommend().selector or comparison.frame()["score"].idxmax()',
]

"""`report`: from a table to the page that answers the four questions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from skstab._checks import check_run_settings, check_support_from, is_int
from skstab._random import check_rng
from skstab._report.alerts import alerts_of
from skstab._report.comparing import (
    Plan,
    assess,
    check_measure,
    chosen_of,
    compare,
    scoring_of,
    with_halves,
)
from skstab._report.dataset import Dataset, Endpoint, dataset_of
from skstab._report.selectors import LearningTask, candidates
from skstab._report.table import table_of
from skstab._report.texts import OPTIMISM, about_selectors, facts, notes, score_name
from skstab._report.words import UserError, first_words
from skstab._typing import Estimator, RandomState
from skstab.inspection import StabilityReport, feature_report

if TYPE_CHECKING:
    from skstab.inspection import FeatureReport

__all__ = ["report"]


def report(
    X: Any,
    y: Any = None,
    *,
    groups: ArrayLike | str | None = None,
    time: ArrayLike | str | None = None,
    event: ArrayLike | str | None = None,
    task: str = "auto",
    rare_classes: str | None = None,
    scoring: str | None = None,
    selectors: Sequence[str] | Mapping[str, Estimator] | None = None,
    support_from: str = "used",
    measure: str = "nogueira",
    n_resamples: int = 50,
    checkpoint: str | PathLike[str] | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> StabilityReport:
    """Compare selectors on a table, assess the best one, and list what to publish: the page of the command line.

    Columns that are no features (identifiers, dates, constants) are left out, categories become columns of 0 and 1,
    missing numbers are replaced inside each resample; the page says all of it.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_samples, n_features)
        The table as it is: numbers, texts, missing values. It may contain the columns of the target and the groups.
    y : array-like of shape (n_samples,) or str, default=None
        The target: texts or few whole numbers are classes, other numbers are predicted as numbers; or the name of a
        column of `X`; or, for survival, a structured array of an event and a time.
    groups : array-like of shape (n_samples,) or str, default=None
        Which rows belong together, such as those of one patient, or the name of a column of `X`.
    time, event : array-like of shape (n_samples,) or str, default=None
        Instead of `y`, for survival: the time to an event or to the end, and whether the event was observed; or names
        of columns of `X`.
    task : {"auto", "classification", "regression"}, default="auto"
        Kind of target. "auto" takes texts, and at most 10 different whole numbers, as classes.
    rare_classes : {"drop", "join"}, default=None
        What is done with classes of fewer than 5 rows: their rows are left out, or they become one class. None keeps
        them.
    scoring : str, default=None
        The score that is shown, a name of scikit-learn. None takes one that suits the target.
    selectors : list of str or dict of estimators, default=None
        Selectors to try, by the names of the command line; or estimators by the names that the page shall show, each
        as it is, on standardised features. None takes four of the former.
    support_from : {"used", "selector"}, default="used"
        What counts as selected in each run, as for :class:`~skstab.model_selection.StabilityCV`.
    measure : str, default="nogueira"
        The measure of stability, a name out of :func:`skstab.metrics.measure_table`.
    n_resamples : int, default=50
        Number of bootstrap samples, at least 3.
    checkpoint : str or path-like, default=None
        A file in which finished runs are stored: the same call again makes only the missing ones.
    max_seconds : float, default=None
        Seconds that a run may take. One that takes longer is stopped, and has failed. With limits each run has a
        process of its own, which takes about a tenth of a second more.
    max_memory : int, default=None
        Bytes that a run may need beyond those that its process starts with; on Linux only.
    n_jobs : int, default=None
        Number of runs at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is random. The page states the one that was used.
    verbose : int, default=0
        From 1 on, a line on standard error says how far the runs are.

    Returns
    -------
    report : StabilityReport
        With `save(path)`, an HTML repr, `verdict`, `features` (the table of what to publish), `comparison`,
        `to_latex()` and `methods()`.

    See Also
    --------
    assess_selector : The first two questions, for one selector.
    feature_report : The third question, for runs that are there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstab import report
    >>> data = load_iris(as_frame=True)
    >>> page = report(data.data, data.target, selectors=["lasso", "k-best"], n_resamples=10, random_state=0)
    >>> page.assessment.verdict
    'signal, stability unclear'

    With the extra `report`, `page.save("report.html")` writes the page, and a notebook shows it.
    """
    table, endpoint, group_column = table_of(
        X, y, groups=groups, time=time, event=event
    )
    data = dataset_of(
        table, endpoint, task=task, groups=group_column, rare_classes=rare_classes
    )
    settings = check_run_settings(
        checkpoint=checkpoint,
        max_seconds=max_seconds,
        max_memory=max_memory,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    check_measure(measure)
    check_support_from(support_from)
    if not is_int(n_resamples, 3):
        raise UserError(
            f"n_resamples must be an int of at least 3, got {n_resamples!r}"
        )
    seed = random_state
    if not is_int(seed):
        seed = check_rng(random_state).randint(2**31 - 1)
    plan = plan_of(
        data,
        selectors,
        scoring=scoring_of(data, scoring),
        measure=measure,
        support_from=support_from,
        n_resamples=n_resamples,
        seed=seed,
        run_settings=settings,
    )
    with warnings.catch_warnings():
        # Failures are counted in the report; warnings of single fits say nothing about it.
        warnings.simplefilter("ignore")
        alerts = alerts_of(data, target=endpoint.name, n_resamples=n_resamples)
        asked = {
            "task": task,
            "rare_classes": rare_classes,
            "scoring": scoring,
            "selectors": selectors,
            "measure": measure,
            "support_from": support_from,
            "n_resamples": n_resamples,
        }
        return make_report(plan, endpoint, alerts, asked=asked)


def plan_of(data: Dataset, selectors: Any, **settings: Any) -> Plan:
    """List the settings to try on a table."""
    is_number = not data.is_classification
    task = LearningTask(
        n_rows=len(data.X),
        n_features=data.X.shape[1],
        n_classes=0 if is_number else data.y.nunique(),
        spread=float(data.response.std()) if is_number else 0.0,
        seed=settings["seed"],
        is_survival=data.is_survival,
    )
    return Plan(data, candidates(selectors, task), **settings)


def make_report(
    plan: Plan,
    endpoint: Endpoint,
    alerts: Sequence[str],
    *,
    asked: Mapping[str, Any],
    source: str = "",
) -> StabilityReport:
    """Compare all settings, assess the one that the report shows first, and list what to publish of it.

    `asked` has the arguments of :func:`report` that say how, `source` is the name of the file.
    """
    every, left_out = compare(plan)
    every = with_halves(every, plan)
    (comparison, chosen), table = chosen_of(every, plan), every.frame()
    target = endpoint.name
    other_notes = [note for note in plan.data.notes if note not in plan.data.left_out]
    about_file = f" in {source}" if source else ""
    found = StabilityReport(
        title=f"Stability of feature selection: {target}{about_file}",
        comparison=comparison,
        candidates=table,
        scoring=score_name(plan.scoring),
        facts=facts(plan, target, len(table), len(comparison.runs), source),
        notes=[*other_notes, *left_out, *notes(plan, table), OPTIMISM],
        code=call_of(plan, endpoint, asked),
        variables=plan.data.labels if plan.data.has_categories else None,
        alerts=alerts,
        about=about_selectors(plan),
        direction=direction_of(plan.data, target),
        chosen=chosen,
    )
    assessment, said = assess(found.first_selector, plan)
    found = replace(found, assessment=assessment, notes=[*found.notes, *said])
    features = publishing(found, plan.data)
    leaks = [alert for alert in alerts if alert.startswith("Possible leak")]
    known = [alert for alert in leaks if alert not in features.alerts]
    features = replace(features, alerts=[*known, *features.alerts])
    further = [
        alert.replace(str(plan.scoring), found.scoring, 1)
        for alert in features.alerts
        if alert not in alerts
    ]
    return replace(found, feature_report=features, alerts=[*alerts, *further])


def publishing(found: StabilityReport, data: Dataset) -> FeatureReport:
    """Which features to publish, with their directions."""
    runs = found.comparison.runs[found.first_selector]
    variables = list(data.labels.values()) if data.has_categories else None
    y = data.y
    if data.is_classification and y.nunique() > 2:
        y = y.map(first_words(list(y.unique())))
    X = data.X
    if data.groups is not None:  # rows are called by their patient
        X = X.set_axis(data.groups.map(lambda group: f"{data.groups.name} {group}"))
    return feature_report(runs, X, y, variables=variables, assessment=found.assessment)


def direction_of(data: Dataset, target: str) -> str | None:
    """What a positive weight speaks for."""
    if data.is_survival:
        return "an earlier event"
    if not data.is_classification:
        return f"higher {target}"
    classes: list[Any] = sorted(data.y.unique())
    return f"{target} = {classes[1]}" if len(classes) == 2 else None


_DEFAULTS = {
    "task": "auto",
    "measure": "nogueira",
    "support_from": "used",
    "n_resamples": 50,
}


def call_of(plan: Plan, endpoint: Endpoint, asked: Mapping[str, Any]) -> str:
    """Python code that makes the same report, from a file if the data are of one."""
    data = plan.data
    arguments = _named_columns(data, endpoint) if data.code else _arrays(data, endpoint)
    for name, value in asked.items():
        if isinstance(value, Mapping):
            arguments.append(f"{name}={name}")
        elif value is not None and value != _DEFAULTS.get(name):
            arguments.append(f"{name}={value!r}")
    arguments.append(f"random_state={plan.seed}")
    lines = [
        *(["import pandas as pd"] if data.code else []),
        "from skstab import report",
        *data.code,
        f"page = report({', '.join(arguments)})",
        'page.save("report.html")',
        "",
    ]
    return "\n".join(lines)


def _named_columns(data: Dataset, endpoint: Endpoint) -> list[str]:
    arguments = ["data"]
    if endpoint.target is not None:
        arguments.append(repr(endpoint.target))
    else:
        arguments += [f"time={endpoint.time!r}", f"event={endpoint.event!r}"]
    if data.groups is not None:
        arguments.append(f"groups={data.groups.name!r}")
    return arguments


def _arrays(data: Dataset, endpoint: Endpoint) -> list[str]:
    arguments = ["X", "y"] if endpoint.target else ["X", "time=time", "event=event"]
    if data.groups is not None:
        arguments.append("groups=groups")
    return arguments

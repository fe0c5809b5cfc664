"""`skstab report`: compare selectors on a table, and write the results as one HTML file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skstab._cli._alerts import alerts_of
from skstab._cli._comparing import (
    Plan,
    assess,
    check_measure,
    chosen_of,
    compare,
    kind_of_target,
    n_families,
    plan_of,
    quiet,
    scoring_of,
)
from skstab._cli._formats import ReadOptions
from skstab._cli._reading import Dataset, Endpoint, read_dataset
from skstab._cli._report_code import script
from skstab._cli._report_texts import (
    OPTIMISM,
    about_selectors,
    facts,
    notes,
    score_name,
)
from skstab._cli._terminal import AlertError, UserError, plural, require_extras, say
from skstab._cli._writing import check_checkpoint, check_output, write
from skstab.inspection import StabilityReport, feature_report

if TYPE_CHECKING:
    import argparse

    from skstab.inspection import FeatureReport


def run(options: argparse.Namespace) -> None:
    """Read, say what is suspicious, compare, choose, assess, write."""
    endpoint = check_endpoint(options)
    require_extras()
    output = Path(options.output)
    check_output(output, options.file)
    check_checkpoint(options.checkpoint)
    check_measure(options.measure)
    data = read_dataset(
        options.file,
        endpoint,
        options.task,
        options=_read_options(options),
        groups=options.groups,
        rare_classes=options.rare_classes,
    )
    options.scoring = scoring_of(data, options.scoring)
    sizes = f"{plural(len(data.X), 'row')}, {plural(data.X.shape[1], 'feature')}"
    say(f"{options.file}: {sizes}, {kind_of_target(data)} of {endpoint.name}")
    for note in data.notes:
        say(f"  {note}")
    with quiet():
        alerts = _alerts(data, endpoint.name, options)
        report = make_assessed_report(data, alerts, endpoint.name, options)
        write(output, report.html(), spare=options.checkpoint)
    caution = (
        [f"{plural(len(alerts), 'alert')} above may make this misleading."]
        if alerts
        else []
    )
    say("\n" + "\n\n".join([*report.answers(), *caution, f"Written: {output}"]))


def check_endpoint(options: argparse.Namespace) -> Endpoint:
    """Check that there is a target: one column, or a time and an event."""
    if options.time is None and options.event is None:
        if options.target is None:
            raise UserError(
                "the following arguments are required: --target (see skstab report --help)"
            )
        return Endpoint(target=options.target)
    if options.target is not None:
        raise UserError(
            "--target can't be combined with --time and --event, which are the target of survival"
        )
    if options.time is None or options.event is None:
        raise UserError(
            "--time and --event go together: the column of the times, and the column of the events"
        )
    return Endpoint(time=options.time, event=options.event)


def _read_options(options: argparse.Namespace) -> ReadOptions:
    return ReadOptions(
        options.sep,
        options.decimal,
        options.encoding,
        options.sheet,
        options.na or (),
        options.keep or (),
    )


def _alerts(data: Dataset, target: str, options: argparse.Namespace) -> list[str]:
    """Say what may mislead; with --strict, end there."""
    alerts = alerts_of(data, target=target, n_resamples=options.resamples)
    for alert in alerts:
        say(f"  Alert: {alert}")
    if alerts and options.strict:
        raise AlertError(
            f"{plural(len(alerts), 'alert')} with --strict: nothing was compared or written"
        )
    return alerts


def make_assessed_report(
    data: Dataset, alerts: list[str], target: str, options: argparse.Namespace
) -> StabilityReport:
    """Compare all settings, assess the one that the report shows first, and list what to publish of it."""
    plan = plan_of(data, options)
    report = replace(make_report(plan, target), alerts=alerts)
    assessment, said = assess(report.first_selector, plan)
    found = replace(report, assessment=assessment, notes=[*report.notes, *said])
    return replace(found, feature_report=publishing(found, data))


def publishing(report: StabilityReport, data: Dataset) -> FeatureReport:
    """Which features to publish, with their directions."""
    runs = report.comparison.runs[report.first_selector]
    return feature_report(
        runs,
        data.X,
        data.y,
        variables=list(data.variables.values()) if data.has_categories else None,
        assessment=report.assessment,
    )


def make_report(plan: Plan, target: str) -> StabilityReport:
    """Report on the best setting of each selector, among all that were tried."""
    every, left_out = compare(plan)
    comparison, table = chosen_of(every, plan), every.frame()
    families = {candidate.label: candidate.family for candidate in plan.tried}
    chosen = list(comparison.runs)
    return StabilityReport(
        title=f"Stability of feature selection: {target} in {Path(plan.options.file).name}",
        comparison=comparison,
        candidates=table,
        scoring=score_name(plan.scoring),
        facts=facts(plan, target, len(table), len(chosen)),
        notes=[*plan.data.notes, *left_out, *notes(plan, table), OPTIMISM],
        code=script(plan, several=n_families(table.index, families) > 1),
        variables=plan.data.variables if plan.data.has_categories else None,
        about=about_selectors(plan),
        direction=direction_of(plan.data, target),
    )


def direction_of(data: Dataset, target: str) -> str | None:
    """What a positive weight speaks for."""
    if data.is_survival:
        return "an earlier event"
    if not data.is_classification:
        return f"higher {target}"
    classes: list[Any] = sorted(data.y.unique())
    return f"{target} = {classes[1]}" if len(classes) == 2 else None

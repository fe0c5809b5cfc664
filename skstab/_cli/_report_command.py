"""`skstab report`: read a table, say what may mislead, and write the page of `skstab.report`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from skstab._cli._formats import ReadOptions
from skstab._cli._reading import read_dataset
from skstab._cli._terminal import AlertError, Progress, require_extras, say
from skstab._cli._writing import check_checkpoint, check_output, write
from skstab._engine.progress import watched_by
from skstab._report.alerts import alerts_of
from skstab._report.comparing import check_measure, kind_of_target, quiet, scoring_of
from skstab._report.dataset import Dataset
from skstab._report.report import make_report, plan_of
from skstab._report.table import endpoint_of
from skstab._report.words import UserError, plural

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> None:
    """Read, say what is suspicious, compare, choose, assess, write."""
    try:
        _run(options)
    except UserError as error:
        error.args = (as_options(str(error)),)
        raise


def _run(options: argparse.Namespace) -> None:
    if options.target is None and options.time is None and options.event is None:
        raise UserError(
            "the following arguments are required: --target (see skstab report --help)"
        )
    endpoint = endpoint_of(options.target, options.time, options.event)
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
    scoring = scoring_of(data, options.scoring)
    sizes = f"{plural(len(data.X), 'row')}, {plural(data.X.shape[1], 'feature')}"
    say(f"{options.file}: {sizes}, {kind_of_target(data)} of {endpoint.name}")
    for note in data.notes:
        say(f"  {note}")
    with quiet():
        alerts = _alerts(data, endpoint.name, options)
        plan = plan_of(
            data,
            options.selectors,
            scoring=scoring,
            measure=options.measure,
            n_resamples=options.resamples,
            seed=options.seed,
            run_settings={
                "checkpoint": options.checkpoint,
                "max_seconds": options.max_seconds,
                "n_jobs": options.jobs,
            },
            watch=watch,
        )
        asked = {
            "task": options.task,
            "rare_classes": options.rare_classes,
            "scoring": options.scoring,
            "selectors": options.selectors,
            "measure": options.measure,
            "n_resamples": options.resamples,
        }
        report = make_report(
            plan, endpoint, alerts, asked=asked, source=Path(options.file).name
        )
        write(output, report.html(), spare=options.checkpoint)
    for alert in report.alerts[len(alerts) :]:
        say(f"  Alert: {as_options(alert)}")
    caution = []
    if report.alerts:
        number = plural(len(report.alerts), "alert")
        caution = [f"{number} above may make this misleading."]
    say("\n" + "\n\n".join([*report.answers(), *caution, f"Written: {output}"]))


def as_options(text: str) -> str:
    """Arguments of Python in a message, such as task='regression', as options of the command."""

    def option(found: re.Match[str]) -> str:
        name, value = found[1].replace("_", "-"), found[2]
        return f"--{name} {value if ' ' in value else value.strip(chr(39))}"

    return re.sub(r"\b(task|rare_classes|scoring|groups)=('[^']*'|\w+)", option, text)


@contextmanager
def watch(what: str, total: int, noun: str) -> Iterator[None]:
    with Progress(what, total, noun) as progress, watched_by(progress.show):
        yield


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
        say(f"  Alert: {as_options(alert)}")
    if alerts and options.strict:
        raise AlertError(
            f"{plural(len(alerts), 'alert')} with --strict: nothing was compared or written"
        )
    return alerts

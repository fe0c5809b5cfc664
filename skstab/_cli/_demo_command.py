"""`skstab demo`: the four questions, answered by a report on data that come with scikit-learn."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from sklearn.datasets import load_breast_cancer

from skstab._cli._report_command import watch
from skstab._cli._terminal import require_extras, say
from skstab._cli._writing import check_output, write
from skstab._report.comparing import quiet, scoring_of
from skstab._report.dataset import Endpoint, dataset_of
from skstab._report.report import make_report, plan_of
from skstab._report.words import UserError

if TYPE_CHECKING:
    import argparse

    import pandas as pd

    from skstab.inspection import StabilityReport

TARGET, SEED = "diagnosis", 0
_WIDTH = 108

_INTRODUCTION = """\
Breast cancer data: {rows} patients, {features} features. Which features distinguish malignant from benign
tumours, and would other patients like these have given the same features?
"""


def run(options: argparse.Namespace) -> None:
    """Make a report on the bundled data, and answer the four questions in words."""
    require_extras()
    folder = _make_folder(Path(options.output))
    check_output(folder / "report.html")
    patients = load_patients()
    say(_INTRODUCTION.format(rows=len(patients), features=patients.shape[1] - 1))
    endpoint = Endpoint(TARGET)
    data = dataset_of(patients, endpoint)
    data.code.append('data = pd.read_csv("patients.csv")')
    plan = plan_of(
        data,
        None,
        scoring=scoring_of(data),
        n_resamples=options.resamples,
        seed=SEED,
        run_settings={"n_jobs": options.jobs},
        watch=watch,
    )
    asked = {"n_resamples": options.resamples}
    with quiet():
        report = make_report(plan, endpoint, [], asked=asked, source="patients.csv")
        written = _write(folder, patients, report)
    for text in _answers(report):
        say(text)
    say("\n".join(["Written:", *(f"  {path}" for path in written)]))


def load_patients() -> pd.DataFrame:
    """The breast cancer data with the diagnosis in words."""
    bunch = load_breast_cancer(as_frame=True)
    names = dict(enumerate(bunch.target_names))
    return bunch.data.assign(**{TARGET: bunch.target.map(names)})


def _make_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"folder {str(folder)!r} can't be made: {error.strerror}"
        ) from error
    return folder


def _answers(report: StabilityReport) -> list[str]:
    features = report.publication
    table = report.frame[["score", "replication", "n_features"]].rename(
        columns={"score": report.scoring, "replication": "stability, other data"}
    )
    return [
        "1. Is there anything in the data?  2. Would other data give the same features?",
        *_indented(" ".join(filter(None, (report.verdict, report.reason)))),
        "\n3. Which features can be reported?",
        *_indented(features[:1].upper() + features[1:]),
        "\n4. What does it cost to choose more stably, or fewer features?",
        table.round(3).to_string(index_names=False),
        *_indented(report.recommendation.reason),
        "",
    ]


def _indented(text: str) -> list[str]:
    return wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")


def _write(folder: Path, patients: pd.DataFrame, report: StabilityReport) -> list[Path]:
    """Write the page, and the files that the examples of the commands run on."""
    import pandas as pd

    runs = report.comparison.runs_by_name[report.first_selector]
    page, table, supports = (
        folder / name for name in ("report.html", "patients.csv", "supports.csv")
    )
    write(page, report.html())
    patients.to_csv(table, index=False)
    table_of_runs = pd.DataFrame(runs.supports.astype(int), columns=runs.feature_names)
    table_of_runs.to_csv(supports, index=False)
    return [page, table, supports]

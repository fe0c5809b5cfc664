"""The arguments of the commands and their help."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, NoReturn

import skstab
from skstab._cli._terminal import say
from skstab._report.words import DEFAULT_SELECTORS, SELECTORS, UserError

METHODS = ("jackknife", "asymptotic", "conformal", "bootstrap")

_ABOUT = """\
Would you have chosen the same features on other data like yours? skstab measures how stable a
selection of features is, how precise that number is, and what stability costs in accuracy.
"""
_EXAMPLES = """\
examples:
  skstab demo                                                  a tour on bundled data, in under a minute
  skstab report skstab-demo/patients.csv --target diagnosis    the same for a table
  skstab measure skstab-demo/supports.csv                      stability of existing selections
  skstab study runs.db                                         what a checkpoint has, and what failed

`skstab COMMAND --help` shows the options of a command.
"""
_DEMO = """\
Answer four questions about the breast cancer data that come with scikit-learn: is there anything in
them, would other data give the same features, which features can be reported, and what does it cost
in accuracy to choose more stably? Writes into a folder the page, the table and what the resamples
selected: files for `skstab report` and `skstab measure`.
"""
_DEMO_EXAMPLES = """\
examples:
  skstab demo
  skstab demo --output /tmp/tour --jobs 1
"""
_REPORT = """\
Compare feature selectors on a table (CSV, TSV, TXT, .xlsx, Parquet or Feather), and write one HTML
file that needs no network: whether there is anything to find and whether other data would agree,
the features to publish as a picture and a table, what else would do as well, how the selectors
compare and which of them is recommended, if any, how it was done, and Python code that gives the
same page.

Separator, decimal sign, encoding and compression are found from the file, and said. What may
mislead (leaks, copies, unequal classes, patients with several rows, batches) is said first.

Each selector is tried with a few settings on the same bootstrap samples, and scored on the rows
that each sample left out (accuracy, AUC for unequal classes, R2, concordance). Those that score
about as well as the best also run on pairs of halves of the rows; of these, the shortest list is
recommended that is not shown to be less stable than the most stable one. With a single --selector,
its settings are compared with each other. Settings that select nothing, or everything, are left out.

Categories become columns of 0 and 1, with a separate one for missing values; missing numbers
get the median of each sample. Columns of dates, of identifiers, with one value, or with hardly any
value are left out; the report lists them with the reason. No file is replaced but an earlier report.
"""
_REPORT_EXAMPLES = """\
examples:
  skstab report skstab-demo/patients.csv --target diagnosis
  skstab report genes.parquet --target relapse --selector lasso --selector hybrid-rfe
  skstab report houses.tsv --target price --task regression --resamples 100 -o houses.html
  skstab report labor.csv --target befund --sep ';' --decimal , --encoding cp1252
  skstab report cohort.csv --time months --event died
  skstab report visits.xlsx --sheet Visits --target relapse --groups patient --strict
"""
_MEASURE = """\
Measure the stability of selections: a table (CSV, TSV or Parquet) with one row per run and one
column per feature, 1 where the run selected the feature and 0 where it did not. A first row that is
not all numbers names the features; a first column that is not numbers, or has no name, names the
runs.

A long table has columns "run" and "feature", one row for each feature that a run selected, and
optionally "importance"; --features gives the number of all features, also those never selected. A
file that Runs.save wrote is read, too.

With --weights the table contains weights, coefficients or importances: their absolute values are
compared and, if some are 0, the sets of non-zero ones.

Measures that do not apply are listed with the reason.
"""
_MEASURE_EXAMPLES = """\
examples:
  skstab measure skstab-demo/supports.csv
  skstab measure coefficients.csv --weights --json
  skstab measure skstab-demo/supports.csv --method conformal --level 0.9
  skstab measure selected.csv --features 5000
"""
_STUDY = """\
Show what a checkpoint has: of each study how many runs are made and how many are missing, which
failed and why, what other processes are making now, and what was under way when a process died.
The file is one that `checkpoint=` or `skstab report --checkpoint` made.

Runs that failed are kept, and are not made again, until --retry forgets them. --repair removes
results that can't be read; where the file itself is damaged, it keeps that as FILE.damaged, and
makes a new one of what can be read. Both need that no other process uses the file.
"""
_STUDY_EXAMPLES = """\
examples:
  skstab study runs.db
  skstab study runs.db --retry
  skstab study runs.db --repair
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, reported like all other errors."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see {self.prog} --help)")


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line; without a command, print the help and exit."""
    parser = make_parser()
    options = parser.parse_args(argv)
    if options.command is None:
        say(parser.format_help())
        parser.exit()
    return options


def make_parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    parser = _Parser(
        prog="skstab",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"skstab {skstab.__version__}"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_demo(commands)
    _add_report(commands)
    _add_measure(commands)
    _add_study(commands)
    return parser


def _add(commands: Any, name: str, summary: str, about: str, examples: str) -> Any:
    return commands.add_parser(
        name,
        help=summary,
        description=about,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _add_demo(commands: Any) -> None:
    parser = _add(commands, "demo", "a tour on bundled data", _DEMO, _DEMO_EXAMPLES)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        default="skstab-demo",
        help="folder to write to (default: %(default)s)",
    )
    _add_resamples(parser)
    _add_jobs(parser)


def _add_report(commands: Any) -> None:
    parser = _add(
        commands, "report", "compare selectors on your data", _REPORT, _REPORT_EXAMPLES
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="the table: .csv, .tsv, .txt, .xlsx, .parquet or .feather",
    )
    parser.add_argument("--target", metavar="COLUMN", help="the column to predict")
    parser.add_argument(
        "--time",
        metavar="COLUMN",
        help="instead of --target: the time to an event, or to the end",
    )
    parser.add_argument(
        "--event",
        metavar="COLUMN",
        help="with --time: whether the event was observed (1) or not (0)",
    )
    parser.add_argument(
        "--groups",
        metavar="COLUMN",
        help="column that names the patient of each row; rows of a patient stay together",
    )
    parser.add_argument(
        "--task",
        choices=("auto", "classification", "regression"),
        default="auto",
        help="kind of target; auto treats text, or at most 10 different whole numbers, as classes (default: auto)",
    )
    parser.add_argument(
        "--rare-classes",
        choices=("drop", "join"),
        help="classes of fewer than 5 rows: leave their rows out, or join them to one class (default: as they are)",
    )
    parser.add_argument(
        "--selector",
        dest="selectors",
        action="append",
        choices=SELECTORS,
        help=f"selector to try; repeat for several: {', '.join(SELECTORS)} (default: {', '.join(DEFAULT_SELECTORS)})",
        metavar="NAME",
    )
    parser.add_argument(
        "--measure",
        default="nogueira",
        metavar="NAME",
        help="measure of stability, a name from skstab.metrics.measure_table() (default: nogueira)",
    )
    parser.add_argument(
        "--scoring",
        metavar="NAME",
        help="score of the rows left out, such as roc_auc (default: accuracy; roc_auc if unequal; r2)",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="file in which finished fits are stored: the same call again makes only the missing ones",
    )
    parser.add_argument(
        "--max-seconds",
        type=_positive,
        metavar="SECONDS",
        help="seconds that a fit may take; one that takes longer has failed (default: no limit)",
    )
    parser.add_argument(
        "--strict", action="store_true", help="end with status 1 if there is any alert"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="report.html",
        help="file to write (default: %(default)s)",
    )
    _add_resamples(parser)
    _add_seed(parser)
    _add_jobs(parser)
    _add_reading(
        parser.add_argument_group(
            "reading the file", "found from the file unless given"
        )
    )


def _add_reading(parser: Any) -> None:
    parser.add_argument(
        "--sep",
        type=_separator,
        metavar="SIGN",
        help="separator of columns: a sign, or one of tab, space",
    )
    parser.add_argument("--decimal", choices=(".", ","), help="decimal sign")
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        help="encoding of a text file, such as utf-8, utf-16 or cp1252",
    )
    parser.add_argument(
        "--sheet", metavar="NAME", help="sheet of a workbook (default: the first)"
    )
    parser.add_argument(
        "--na",
        action="append",
        metavar="TEXT",
        help="text or number that also means missing; repeat for several",
    )
    parser.add_argument(
        "--keep",
        action="append",
        metavar="TEXT",
        help="text or number that does not mean missing; repeat for several",
    )


def _add_measure(commands: Any) -> None:
    parser = _add(
        commands,
        "measure",
        "stability of existing selections",
        _MEASURE,
        _MEASURE_EXAMPLES,
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a table (.csv, .tsv or .parquet), or a file of Runs.save",
    )
    parser.add_argument(
        "--weights",
        action="store_true",
        help="the table contains weights instead of 0 and 1",
    )
    parser.add_argument(
        "--features",
        type=_whole_number(1),
        metavar="NUMBER",
        help="number of all features, for a long table (default: the features that occur)",
    )
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="jackknife",
        help="method for the confidence intervals (default: jackknife)",
    )
    parser.add_argument(
        "--level",
        type=_share,
        default=0.95,
        metavar="SHARE",
        help="confidence level of the intervals (default: 0.95)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON instead of a table"
    )
    _add_seed(parser)


def _add_study(commands: Any) -> None:
    parser = _add(commands, "study", "what a checkpoint has", _STUDY, _STUDY_EXAMPLES)
    parser.add_argument("file", metavar="FILE", help="the checkpoint")
    parser.add_argument(
        "--repair", action="store_true", help="remove results that can't be read"
    )
    parser.add_argument(
        "--retry",
        action="store_true",
        help="forget runs that failed, so that the next call makes them again",
    )


def _add_resamples(parser: Any) -> None:
    parser.add_argument(
        "--resamples",
        type=_whole_number(3),
        default=50,
        metavar="NUMBER",
        help="number of bootstrap samples (default: 50)",
    )


def _add_seed(parser: Any) -> None:
    parser.add_argument(
        "--seed",
        type=_whole_number(0),
        default=0,
        metavar="NUMBER",
        help="random seed (default: 0)",
    )


def _add_jobs(parser: Any) -> None:
    parser.add_argument(
        "--jobs",
        type=_jobs,
        default=-1,
        metavar="NUMBER",
        help="number of fits at the same time, without effect on the result; -1, the default, is one per processor",
    )


def _whole_number(least: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {text}")
        return value

    return whole_number


def _separator(text: str) -> str:
    names = {
        "tab": "\t",
        "\\t": "\t",
        "space": r"\s+",
        "spaces": r"\s+",
        "comma": ",",
        "semicolon": ";",
    }
    sign = names.get(text, text)
    if len(sign) != 1 and sign != r"\s+":
        raise argparse.ArgumentTypeError(
            f"must be one sign, tab or space, got {text!r}"
        )
    return sign


def _jobs(text: str) -> int:
    value = int(text)
    if value == 0:
        raise argparse.ArgumentTypeError("must not be 0")
    return value


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < inf:
        raise argparse.ArgumentTypeError(f"must be above 0, got {text}")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, got {text}")
    return value

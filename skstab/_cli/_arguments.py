"""The arguments of the commands and their help."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import skstab
from skstab._cli._terminal import UserError, say

SELECTORS = ("lasso", "elastic-net", "rfe", "hybrid-rfe", "stability-selection", "forest", "k-best")
DEFAULT_SELECTORS = ("lasso", "rfe", "hybrid-rfe", "k-best")
METHODS = ("jackknife", "asymptotic", "conformal", "bootstrap")

_ABOUT = """\
Would you have chosen the same features on other data like yours? skstab measures how
stable a selection of features is, how sure that is, and what stability costs in accuracy.
"""
_EXAMPLES = """\
examples:
  skstab demo                                       a tour on bundled data, in under a minute
  skstab report patients.csv --target outcome       compare selectors on your data
  skstab measure supports.csv                       stability of selections that you have

`skstab COMMAND --help` tells the options of a command.
"""
_DEMO = """\
Search settings of an L1 logistic regression and of hybrid-RFE for accuracy and stability at once,
on the breast cancer data that come with scikit-learn. Prints the candidates, what accuracy alone
would choose and what is chosen with stability; writes pictures and a report into a folder.
"""
_DEMO_EXAMPLES = """\
examples:
  skstab demo
  skstab demo --output /tmp/tour --jobs 1
"""
_REPORT = """\
Compare feature selectors on a table (CSV, TSV or Parquet), and write one HTML file that needs no
network: a recommendation, how the selectors compare, their accuracy/stability front, stability
maps, all features, and Python code that gives the same numbers.

Each selector is tried with a few settings on the same bootstrap samples, and scored on the rows
that each sample left out (accuracy or R2). Its most stable setting whose score is within one
standard error of its best is compared with those of the others. With a single --selector, its
settings are compared with each other. Settings that select nothing, or everything, are no choice.

Categories become columns of 0 and 1, a missing category one of its own; missing numbers get the
median of each sample. Columns with one value, without any, or with texts that all differ are left
out; the report says so.
"""
_REPORT_EXAMPLES = """\
examples:
  skstab report patients.csv --target outcome
  skstab report genes.parquet --target relapse --selector lasso --selector hybrid-rfe
  skstab report houses.tsv --target price --task regression --resamples 100 -o houses.html
"""
_MEASURE = """\
Tell the stability of selections: a table (CSV, TSV or Parquet) with one row a run and one column
a feature, 1 where the run selected the feature and 0 where it did not. A first row with more than
numbers names the features; a first column that is not numbers, or has no name, names the runs.

With --weights the table holds weights, coefficients or importances: their absolute values are
compared, and, where some are 0, which are not.

Measures that do not apply are listed with the reason.
"""
_MEASURE_EXAMPLES = """\
examples:
  skstab measure supports.csv
  skstab measure coefficients.csv --weights --json
  skstab measure supports.csv --method conformal --level 0.9
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, told like all other errors."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see {self.prog} --help)")


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line; without a command, print the help and leave."""
    parser = make_parser()
    options = parser.parse_args(argv)
    if options.command is None:
        say(parser.format_help())
        parser.exit()
    return options


def make_parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    parser = _Parser(
        prog="skstab", description=_ABOUT, epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"skstab {skstab.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_demo(commands)
    _add_report(commands)
    _add_measure(commands)
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
        "-o", "--output", metavar="FOLDER", default="skstab-demo", help="where to write (default: %(default)s)"
    )
    _add_resamples(parser)
    _add_jobs(parser)


def _add_report(commands: Any) -> None:
    parser = _add(commands, "report", "compare selectors on your data", _REPORT, _REPORT_EXAMPLES)
    parser.add_argument("file", metavar="FILE", help="the table: .csv, .tsv or .parquet")
    parser.add_argument("--target", metavar="COLUMN", required=True, help="the column to predict")
    parser.add_argument(
        "--task",
        choices=("auto", "classification", "regression"),
        default="auto",
        help="auto takes a target of text, or of at most 10 different whole numbers, for classes (default: auto)",
    )
    parser.add_argument(
        "--selector",
        dest="selectors",
        action="append",
        choices=SELECTORS,
        help=f"repeat for several: {', '.join(SELECTORS)} (default: {', '.join(DEFAULT_SELECTORS)})",
        metavar="NAME",
    )
    parser.add_argument(
        "--measure",
        default="nogueira",
        metavar="NAME",
        help="measure of stability, out of skstab.metrics.measure_table() (default: nogueira)",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="where to write (default: %(default)s)"
    )
    _add_resamples(parser)
    _add_seed(parser)
    _add_jobs(parser)


def _add_measure(commands: Any) -> None:
    parser = _add(commands, "measure", "stability of selections that you have", _MEASURE, _MEASURE_EXAMPLES)
    parser.add_argument("file", metavar="FILE", help="the table: .csv, .tsv or .parquet")
    parser.add_argument("--weights", action="store_true", help="the table holds weights instead of 0 and 1")
    parser.add_argument("--method", choices=METHODS, default="jackknife", help="of the intervals (default: jackknife)")
    parser.add_argument(
        "--level", type=_share, default=0.95, metavar="SHARE", help="confidence level of the intervals (default: 0.95)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    _add_seed(parser)


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
        "--seed", type=_whole_number(0), default=0, metavar="NUMBER", help="of all that is random (default: 0)"
    )


def _add_jobs(parser: Any) -> None:
    parser.add_argument(
        "--jobs",
        type=_jobs,
        default=-1,
        metavar="NUMBER",
        help="number of fits at the same time; -1, the default, is one a processor. The result is the same",
    )


def _whole_number(least: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {text}")
        return value

    return whole_number


def _jobs(text: str) -> int:
    value = int(text)
    if value == 0:
        raise argparse.ArgumentTypeError("must not be 0")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, got {text}")
    return value

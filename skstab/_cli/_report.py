"""`skstab report`: compare selectors on a table, and write what came out as one HTML file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab._cli._arguments import DEFAULT_SELECTORS
from skstab._cli._code import comparing
from skstab._cli._reading import MISSING, Dataset, read_dataset
from skstab._cli._selectors import Problem, candidates
from skstab._cli._terminal import Progress, UserError, Watched, require_extras, say
from skstab.inspection._report import StabilityReport
from skstab.metrics import get_measure, measure_table
from skstab.model_selection import BootstrapSplit, ParetoRefit, compare_selectors

if TYPE_CHECKING:
    import argparse

    import pandas as pd

    from skstab.model_selection._compare import SelectorComparison

_OPTIMISM = (
    "Settings were chosen on the same resamples that the scores are of: like the best of any search, these scores are "
    "a little optimistic. Judge the choice on new rows."
)


def run(options: argparse.Namespace) -> None:
    """Read, compare, choose, write."""
    require_extras()
    output = Path(options.output)
    check_output(output)
    check_measure(options.measure)
    data = read_dataset(options.file, options.target, options.task)
    say(f"{options.file}: {len(data.X)} rows, {data.X.shape[1]} features, {_kind(data)} of {options.target}")
    for note in data.notes:
        say(f"  {note}")
    with quiet():
        selectors, left_out = _fitting(_selectors(data, options), data)
        tried = _compare(selectors, data, options)
        report = make_report(tried, selectors, left_out, data, options)
        write(output, report.html())
    say(f"\n{report.recommendation}\n\nWritten: {output}")


def _compare(selectors: dict[str, Any], data: Dataset, options: argparse.Namespace) -> SelectorComparison:
    """Run all candidates on the same resamples."""
    work = {name: make_pipeline(*first_steps(data), clone(selector)) for name, selector in selectors.items()}
    cv = BootstrapSplit(options.resamples, stratify=data.is_classification, random_state=options.seed)
    settings = {"cv": cv, "scoring": scoring_of(data), "measure": options.measure, "random_state": options.seed}
    with Progress("comparing settings of selectors", len(work)) as progress:
        try:
            return compare_selectors(Watched(work, progress), data.X, data.y, **settings, n_jobs=options.jobs)
        except ValueError as error:
            raise UserError(f"the selectors can't be compared: {error}") from error


def make_report(
    tried: SelectorComparison,
    selectors: dict[str, Any],
    left_out: list[str],
    data: Dataset,
    options: argparse.Namespace,
) -> StabilityReport:
    """Report on the best setting of each selector, among all that were tried."""
    table = tried.frame()
    selective = table[table["n_features"].between(0, data.X.shape[1], inclusive="neither")]
    if len(selective) < 2:
        raise UserError("there is nothing to compare: fewer than two settings select some features, but not all")
    chosen = choose(selective)
    return StabilityReport(
        title=f"Stability of feature selection: {options.target} in {Path(options.file).name}",
        comparison=replace(tried, runs={name: tried.runs[name] for name in chosen}),
        candidates=table,
        scoring=scoring_of(data),
        facts=_facts(data, options, len(table), len(chosen)),
        notes=[*data.notes, *left_out, *_notes(data, table), _OPTIMISM],
        code=script(selectors, data, options, _families(selective)),
        variables=data.variables if data.has_categories else None,
    )


def choose(table: pd.DataFrame) -> list[str]:
    """Take the most stable setting of each selector within a standard error of its best score; all of a single one."""
    if _families(table) == 1:
        return list(table.index)
    refit = ParetoRefit("score", "stability", strategy="one_se")
    return [rows.index[refit(rows)] for _, rows in table.groupby(table.index.str.split(" ").str[0], sort=False)]


def _families(table: pd.DataFrame) -> int:
    return table.index.str.split(" ").str[0].nunique()


# -- what is run -----------------------------------------------------------------------------------------------------


def _selectors(data: Dataset, options: argparse.Namespace) -> dict[str, Any]:
    problem = Problem(
        n_rows=len(data.X),
        n_features=data.X.shape[1],
        n_classes=data.y.nunique() if data.is_classification else 0,
        spread=0.0 if data.is_classification else float(data.y.std()),
        seed=options.seed,
    )
    return candidates(list(dict.fromkeys(options.selectors or DEFAULT_SELECTORS)), problem)


def first_steps(data: Dataset) -> list[Any]:
    """Give the steps before every selector, fitted anew in each resample."""
    # A column that a resample has no value of stays, as zeros.
    imputer = [SimpleImputer(strategy="median", keep_empty_features=True)] if data.has_missing else []
    return [*imputer, StandardScaler()]


def _fitting(selectors: dict[str, Any], data: Dataset) -> tuple[dict[str, Any], list[str]]:
    """Leave out what can't be fitted on all rows, such as a threshold that no feature reaches."""
    fitting, notes = {}, []
    for name, selector in selectors.items():
        try:
            make_pipeline(*first_steps(data), clone(selector)).fit(data.X, data.y)
        except ValueError as error:
            notes.append(f"{name} was left out: {str(error).splitlines()[0]}")
        else:
            fitting[name] = selector
    if len(fitting) < 2:
        raise UserError(f"fewer than two selectors can be fitted: {' '.join(notes)}")
    return fitting, notes


@contextmanager
def quiet() -> Iterator[None]:
    """Keep warnings of single fits to ourselves: what failed is counted in the report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def scoring_of(data: Dataset) -> str:
    """Name the score of the task."""
    return "accuracy" if data.is_classification else "r2"


def check_measure(name: str) -> None:
    """Refuse a measure that is unknown, or that selectors of different sizes can't be compared by."""
    table = measure_table()
    serving = table.index[table["fully_defined"] & (table.index != "effective")]
    if name not in serving:
        get = f"measure {name!r} needs runs that select equally many features" if name in table.index else None
        raise UserError(f"{get or f'there is no measure {name!r}'}; take one of {', '.join(serving)}")


def check_output(path: Path) -> None:
    """Find out before a long run whether a file can be written."""
    if path.is_dir():
        raise UserError(f"{str(path)!r} is a folder: give --output a file")
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {str(path.parent)!r} to write into")


def write(path: Path, text: str) -> None:
    """Write a file."""
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"{str(path)!r} can't be written: {error.strerror}") from error


# -- what is said ----------------------------------------------------------------------------------------------------


def _kind(data: Dataset) -> str:
    return f"classification ({data.y.nunique()} classes)" if data.is_classification else "regression"


_CHOICE = (
    "; of each selector, the most stable one whose score is within one standard error of its best is compared below"
)


def _facts(data: Dataset, options: argparse.Namespace, n_candidates: int, n_chosen: int) -> dict[str, str]:
    choice = _CHOICE if n_chosen < n_candidates else ", compared below"
    score = "accuracy" if data.is_classification else "R²"
    return {
        "Data": f"{options.file}: {len(data.X)} rows, {data.X.shape[1]} features",
        "Target": f"{options.target}, {_kind(data)}",
        "Resamples": f"{options.resamples} bootstrap samples{', stratified' if data.is_classification else ''}, the "
        f"same for all; {score} on the rows that each left out",
        "Settings": f"{n_candidates} in all{choice}",
        "Stability": f"{get_measure(options.measure).name} measure, 95% jackknife intervals",
        "Seed": str(options.seed),
    }


def _notes(data: Dataset, table: pd.DataFrame) -> list[str]:
    notes = []
    if data.has_missing:
        share = float(data.X.isna().to_numpy().mean())
        notes.append(
            f"Missing numbers ({share:.1%} of all) were replaced by the median of their column, inside each resample, "
            "so that rows left out tell nothing about it."
        )
    if any(name.endswith(f"={MISSING}") for name in data.X.columns):
        notes.append("A missing category is a level of its own.")
    for number, what in ((0, "nothing"), (data.X.shape[1], "every feature")):
        notes += [f"{name} selected {what}, which is no choice." for name in table.index[table["n_features"] == number]]
    notes += [f"{failed} runs of {name} failed." for name, failed in table["n_failed"].items() if failed]
    return notes


def script(selectors: dict[str, Any], data: Dataset, options: argparse.Namespace, n_families: int) -> str:
    """Python that gives the numbers of the report."""
    stratify = ", stratify=True" if data.is_classification else ""
    cv = f"BootstrapSplit({options.resamples}{stratify}, random_state={options.seed})"
    settings = f"cv={cv}, scoring={scoring_of(data)!r}, measure={options.measure!r}, random_state={options.seed}"
    call = f"compare_selectors(selectors, X, y, {settings}, n_jobs=-1)"
    lines = comparing(selectors, first_steps(data), data.code, call)
    choosing = _CHOOSING if n_families > 1 else ["chosen = list(table.index)"]
    return "\n".join(["import pandas as pd", *lines, *_TRYING, *choosing, *_SHOWING])


_TRYING = [
    "table = compare(selectors).frame()",
    'table = table[table["n_features"].between(0, X.shape[1], inclusive="neither")]',
]
_CHOOSING = [
    'refit = ParetoRefit("score", "stability", strategy="one_se")',
    'families = table.groupby(table.index.str.split(" ").str[0], sort=False)',
    "chosen = [rows.index[refit(rows)] for _, rows in families]",
]
_SHOWING = [
    "comparison = compare({name: selectors[name] for name in chosen})",
    "print(comparison.frame().to_string())",
    "print(comparison.recommend())",
    "",
]

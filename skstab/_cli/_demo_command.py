"""`skstab demo`: the four questions, answered for data that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab._cli._code import comparing
from skstab._cli._comparing import quiet
from skstab._cli._terminal import Progress, UserError, require_extras, say
from skstab._cli._writing import check_output, write
from skstab._typing import Display
from skstab.feature_selection import HybridRFE
from skstab.inspection import (
    FeatureStabilityMapDisplay,
    ParetoFrontDisplay,
    StabilityReport,
    feature_report,
)
from skstab.model_selection import (
    BootstrapSplit,
    ParetoRefit,
    StabilityCV,
    WholeSampleSplit,
    assess_selector,
    compare_selectors,
    pareto_front,
    stability_scoring,
)

if TYPE_CHECKING:
    import argparse

    import pandas as pd

    from skstab.inspection import FeatureReport
    from skstab.runs import Runs

SCORE, MEASURE, TOLERANCE, SEED = "accuracy", "nogueira", 0.01, 0
_NAMES = {"C": "C", "n_features_to_select": "k", "n_stable_features": "N"}

_INTRODUCTION = """\
Breast cancer data: {rows} patients, {features} features. Which features distinguish malignant from benign
tumours, and would other patients like these have given the same features?

Tried are {candidates} candidates, on {resamples} bootstrap samples each: an L1 logistic regression (penalty C), and
hybrid-RFE, which keeps k features, N of them chosen by a filter and never dropped.
"""
_FEATURES = """\
3. Which features can be reported?
{sentence}

{table}

frequency: share of the samples that selected it; cluster: selected it or one of its substitutes;
halves, decoys: share of the halves that selected any of the cluster, and of its copies without information
direction: of the feature alone, "-" means that large values point to a malignant tumour; given others: the same among
tumours that are equal in the other selected features
"""
_OUTCOME = """\
4. What does it cost in accuracy to choose more stably? The candidates of which no other is better in both:

{front}

low and high are the ends of 95% intervals (resampling error); all {candidates} candidates are in the report

Accuracy alone would choose {greedy}:
  {greedy_facts}
With stability, losing at most {tolerance:.0%} accuracy, the choice is {chosen}:
  {chosen_facts}
That is {gain:.2f} more stability for {cost:.3f} less accuracy, on the patients that were searched.
"""


def run(options: argparse.Namespace) -> None:
    """Search, answer the questions, and write pictures and a report."""
    require_extras()
    folder = _make_folder(Path(options.output))
    check_output(folder / "report.html")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    grid, n_candidates = make_grid(), len(ParameterGrid(make_grid()))
    say(
        _INTRODUCTION.format(
            rows=len(X),
            features=X.shape[1],
            candidates=n_candidates,
            resamples=options.resamples,
        )
    )
    with Progress("fitting candidates", n_candidates) as progress, quiet():
        search = make_search(grid, options, progress.advance).fit(X, y)
        table = candidate_table(search.cv_results_)
        report = make_report(search, table, X, y, options)
        written = _write(folder, search, report)
    say(_verdict(report))
    say(_features(report.feature_report))
    say(_outcome(table, search.best_index_, report.comparison.runs_by_name))
    say("\n".join(["Written:", *(f"  {path}" for path in written)]))


def _make_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"folder {str(folder)!r} can't be made: {error.strerror}"
        ) from error
    return folder


# -- the search --------------------------------------------------------------------------------------------------------


def make_grid() -> list[dict[str, list[Any]]]:
    """Settings of the two selectors; a stable core can't be larger than the selection."""
    lasso = LogisticRegression(l1_ratio=1, solver="liblinear", random_state=SEED)
    lassos = {
        "estimator": [make_pipeline(StandardScaler(), lasso)],
        "estimator__logisticregression__C": [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0],
    }
    hybrids = [
        {
            "estimator": [make_pipeline(StandardScaler(), HybridRFE(C=0.1))],
            "estimator__hybridrfe__n_features_to_select": [k],
            "estimator__hybridrfe__n_stable_features": [0, k // 2, k],
        }
        for k in (3, 5, 8, 12, 20)
    ]
    return [lassos, *hybrids]


def make_search(
    grid: Any, options: argparse.Namespace, advance: Callable[[], None]
) -> GridSearchCV:
    """Search on one level: the resamples give both the score and the stability."""
    tabulate = stability_scoring([MEASURE])

    def scoring(estimator: Any, X: Any, y: Any) -> dict[str, float]:
        advance()
        return tabulate(estimator, X, y)

    runs = StabilityCV(
        grid[0]["estimator"][0],
        cv=_splitter(options),
        scoring=SCORE,
        n_jobs=options.jobs,
        random_state=SEED,
    )
    refit = ParetoRefit(SCORE, MEASURE, strategy="tolerance", tolerance=TOLERANCE)
    return GridSearchCV(runs, grid, cv=WholeSampleSplit(), scoring=scoring, refit=refit)


def _splitter(options: argparse.Namespace) -> BootstrapSplit:
    return BootstrapSplit(options.resamples, stratify=True, random_state=SEED)


# -- the results -------------------------------------------------------------------------------------------------------


def candidate_table(results: dict[str, Any]) -> pd.DataFrame:
    """Candidates of the search, with the columns of a comparison of selectors."""
    import pandas as pd

    table = pd.DataFrame(
        {
            "score": results[f"mean_test_{SCORE}"],
            "score_se": results[f"mean_test_{SCORE}_se"],
        }
    )
    for end in ("", "_low", "_high"):
        table[f"stability{end}"] = results[f"mean_test_{MEASURE}{end}"]
    table["n_features"] = results["mean_test_n_features"]
    table["on_front"] = np.isin(
        np.arange(len(table)), pareto_front(results, SCORE, MEASURE)
    )
    table.index = pd.Index(
        [name_of(params) for params in results["params"]], name="candidate"
    )
    return table


def name_of(params: dict[str, Any]) -> str:
    """Name a candidate by its selector and settings."""
    selector = (
        "hybrid-RFE"
        if "hybridrfe" in params["estimator"].named_steps
        else "L1 logistic"
    )
    short = {
        name.rpartition("__")[2]: value
        for name, value in params.items()
        if name != "estimator"
    }
    return f"{selector} ({', '.join(f'{_NAMES[name]}={value:g}' for name, value in short.items())})"


def _verdict(report: StabilityReport) -> str:
    """Answer the first two questions."""
    reason = "" if report.assessment is None else report.assessment.reason
    question = (
        "1. Is there anything in the data?  2. Would other data give the same features?"
    )
    about = f"(About {report.first_selector}, chosen on the same patients, which is optimistic.)"
    return "\n".join([question, *_indented(reason), *_indented(about), ""])


def _features(report: FeatureReport | None) -> str:
    """Answer the third question."""
    if report is None:
        return ""
    columns = {
        "frequency": "frequency",
        "cluster_frequency": "cluster",
        "halves": "halves",
        "decoy": "decoys",
        "direction": "direction",
        "given_others": "given others",
    }
    table = report.core.filter(list(columns)).rename(columns=columns).round(2)
    return _FEATURES.format(
        sentence="\n".join(_indented(report.sentence)),
        table=table.to_string(index_names=False),
    )


def _indented(text: str) -> list[str]:
    return wrap(text, 108, initial_indent="  ", subsequent_indent="  ")


def _front(table: pd.DataFrame) -> str:
    columns = {
        "score": SCORE,
        "stability": "stability",
        "stability_low": "low",
        "stability_high": "high",
    }
    columns["n_features"] = "features"
    shown = (
        table.loc[table["on_front"], list(columns)]
        .rename(columns=columns)
        .sort_values(SCORE, ascending=False)
    )
    return str(shown.round(3).to_string(index_names=False))


def _outcome(table: pd.DataFrame, chosen: int, runs: dict[str, Runs]) -> str:
    greedy, stable = table.iloc[int(np.argmax(table["score"]))], table.iloc[chosen]
    return _OUTCOME.format(
        front=_front(table),
        candidates=len(table),
        greedy=greedy.name,
        greedy_facts=_facts_of(greedy, runs),
        chosen=stable.name,
        chosen_facts=_facts_of(stable, runs),
        tolerance=TOLERANCE,
        gain=stable["stability"] - greedy["stability"],
        cost=greedy["score"] - stable["score"],
    )


def _facts_of(row: pd.Series, runs: dict[str, Runs]) -> str:
    frequency = runs[row.name].summary()["frequency"]
    n_always, n_ever = (frequency == 1).sum(), (frequency > 0).sum()
    return (
        f"accuracy {row['score']:.3f}, stability {row['stability']:.2f}, {row['n_features']:.1f} features; "
        f"{n_always} of {n_ever} features that occur are in every sample"
    )


# -- pictures and report -----------------------------------------------------------------------------------------------


def rivals(table: pd.DataFrame, chosen: int) -> list[int]:
    """Return what accuracy alone chooses and what was chosen; if they are the same, also the next best in accuracy."""
    by_score = np.argsort(-table["score"].to_numpy(), kind="stable")
    return list(dict.fromkeys([int(by_score[0]), chosen, int(by_score[1])]))[:2]


def make_report(
    search: GridSearchCV,
    table: pd.DataFrame,
    X: Any,
    y: Any,
    options: argparse.Namespace,
) -> StabilityReport:
    """Compare what accuracy alone chooses with what was chosen, among all candidates."""
    params = search.cv_results_["params"]
    pipelines = {
        table.index[i]: _set_up(params[i]) for i in rivals(table, search.best_index_)
    }
    cv = f"BootstrapSplit({options.resamples}, stratify=True, random_state={SEED})"
    rules = f"scoring={SCORE!r}, measure={MEASURE!r}, margin={TOLERANCE}, random_state={SEED}"
    settings: dict[str, Any] = {
        "cv": _splitter(options),
        "scoring": SCORE,
        "measure": MEASURE,
    }
    settings |= {"n_jobs": options.jobs, "random_state": SEED}
    comparison = compare_selectors(pipelines, X, y, margin=TOLERANCE, **settings)
    call = f"compare_selectors(selectors, X, y, cv={cv}, {rules})"
    first = comparison.recommend().selector or str(comparison.frame()["score"].idxmax())
    assessment = assess_selector(pipelines[first], X, y, **settings)
    return StabilityReport(
        title="skstab demo: breast cancer data",
        comparison=comparison,
        candidates=table,
        scoring=SCORE,
        assessment=assessment,
        feature_report=feature_report(assessment.runs, X, y, assessment=assessment),
        direction="a benign tumour",
        facts={
            "Data": f"breast cancer data of scikit-learn: {len(X)} rows, {X.shape[1]} features",
            "Resamples": f"{options.resamples} bootstrap samples, stratified; accuracy on the rows that each left out",
            "Search": f"{len(table)} settings of an L1 logistic regression and of hybrid-RFE; compared below are what "
            f"accuracy alone would choose and the most stable one that loses at most {TOLERANCE:.0%}",
            "Stability": f"{MEASURE} measure, 95% jackknife intervals, about the resampling error",
        },
        code="\n".join(
            [
                *comparing(
                    {name: pipe[-1] for name, pipe in pipelines.items()},
                    [StandardScaler()],
                    _DATA,
                    call,
                ),
                *(
                    "comparison = compare(selectors)",
                    "print(comparison.frame().to_string())",
                    "print(comparison.recommend())",
                ),
            ]
        ),
    )


_DATA = [
    "from sklearn.datasets import load_breast_cancer",
    "",
    "X, y = load_breast_cancer(return_X_y=True, as_frame=True)",
]


def _set_up(params: dict[str, Any]) -> Any:
    settings = {
        name.removeprefix("estimator__"): value
        for name, value in params.items()
        if name != "estimator"
    }
    return clone(params["estimator"]).set_params(**settings)


def _write(folder: Path, search: GridSearchCV, report: StabilityReport) -> list[Path]:
    from matplotlib import pyplot as plt

    greedy, stable = report.comparison.runs.values()
    first = FeatureStabilityMapDisplay.from_estimator(greedy)
    displays: dict[str, Display] = {
        "pareto.png": ParetoFrontDisplay.from_search(search, SCORE, MEASURE),
        "map-accuracy-alone.png": first,
        "map-with-stability.png": FeatureStabilityMapDisplay.from_estimator(
            stable, like=first
        ),
    }
    for name, display in displays.items():
        figure = display.plot().figure_
        figure.savefig(folder / name, dpi=150)
        plt.close(figure)
    write(folder / "report.html", report.html())
    return [folder / name for name in (*displays, "report.html")]

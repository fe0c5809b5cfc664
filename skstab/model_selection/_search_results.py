"""The table of a search, laid out as that of `GridSearchCV`, and the choice of a candidate from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from skstab._typing import FloatArray, MeasureLike
from skstab._warnings import warn_user
from skstab.model_selection._pareto import STRATEGIES, ParetoRefit, best_by, column
from skstab.model_selection._search_table import search_table
from skstab.model_selection._unpacking import ranks_of
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "choice_of",
    "choose",
    "front_table",
    "replication_table",
    "results_table",
]

# -- the table ---------------------------------------------------------------------------------------------------------


def results_table(
    params: Sequence[dict[str, Any]],
    rows: Sequence[Mapping[str, float]],
    runs: Sequence[Runs],
    score_times: Sequence[Sequence[float]],
    n_splits: int,
) -> dict[str, Any]:
    """Tabulate candidates.

    Parameters
    ----------
    params : sequence of dict
        The parameters of each candidate.
    rows : sequence of mapping
        What is known of each candidate, by name; nothing of one that failed.
    runs : sequence of Runs
        The runs of each candidate.
    score_times : sequence of sequence of float
        The seconds that scoring took in each run of each candidate; NaN where nothing was scored.
    n_splits : int
        Number of resamples.

    Returns
    -------
    results : dict
        With the columns of `GridSearchCV.cv_results_`.
    """
    fits = [np.zeros(0) if one.fit_times is None else one.fit_times for one in runs]
    results: dict[str, Any] = {
        "mean_fit_time": _each(np.mean, fits),
        "std_fit_time": _each(np.std, fits),
    }
    scored = [np.asarray(times) for times in score_times]
    results |= {
        "mean_score_time": _each(np.nanmean, scored),
        "std_score_time": _each(np.nanstd, scored),
    }
    results |= _param_columns(params) | {"params": list(params)}
    scores = dict.fromkeys(name for one in runs for name in one.scores)
    for name in dict.fromkeys(name for row in rows for name in row):
        values = np.array([row.get(name, np.nan) for row in rows], dtype=np.float64)
        is_error = name.endswith(("_se", "_low", "_high")) and name not in scores
        if name in scores:
            results |= _split_columns(name, runs, n_splits)
        results[f"mean_test_{name}"] = values
        if name in scores:
            results[f"std_test_{name}"] = _each(
                np.nanstd, [one.scores.get(name, np.zeros(0)) for one in runs]
            )
        if not is_error and name != "n_features":
            results[f"rank_test_{name}"] = ranks_of(values)
    return results


def _each(
    statistic: Callable[[FloatArray], Any], values: Sequence[FloatArray]
) -> FloatArray:
    return np.array(
        [statistic(one) if (~np.isnan(one)).any() else np.nan for one in values]
    )


def _split_columns(
    name: str, runs: Sequence[Runs], n_splits: int
) -> dict[str, FloatArray]:
    """Scores by resample, NaN where the fit failed."""
    table = np.full((len(runs), n_splits), np.nan)
    for row, one in zip(table, runs, strict=True):
        row[one.split_numbers] = one.scores.get(name, np.nan)
    return {
        f"split{number}_test_{name}": scores for number, scores in enumerate(table.T)
    }


def _param_columns(params: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One masked array per parameter; masked where a candidate does not set it."""
    return {
        f"param_{name}": _param_column(name, params)
        for name in sorted({name for one in params for name in one})
    }


def _param_column(name: str, params: Sequence[dict[str, Any]]) -> Any:
    dtype = _type_of_column([one[name] for one in params if name in one])
    values: Any = np.ma.MaskedArray(np.empty(len(params), dtype=dtype), mask=True)
    for place, one in enumerate(params):
        if name in one:
            values[place] = one[name]
    return values


def _type_of_column(given: Sequence[Any]) -> Any:
    """The type that NumPy finds for all values; object for text, and where it finds sequences in them."""
    try:
        found = np.array(given)
    except ValueError:  # sequences of different lengths
        return np.dtype(object)
    return (
        found.dtype if found.ndim == 1 and found.dtype.kind != "U" else np.dtype(object)
    )


# -- the choice --------------------------------------------------------------------------------------------------------


def choice_of(
    refit: Any, scores: Sequence[str], measures: Sequence[str]
) -> Callable[[Mapping[str, Any]], Any]:
    """Turn the parameter `refit` into a function of the table."""
    if callable(refit):
        chooser: Callable[[Mapping[str, Any]], Any] = refit
        return chooser
    if refit in STRATEGIES and scores:
        if refit == "tolerance":
            raise ValueError(
                "refit='tolerance' needs a tolerance: pass ParetoRefit(..., tolerance=...)"
            )
        return ParetoRefit(scores[0], measures[0], strategy=refit)
    name = measures[0] if refit in STRATEGIES else refit
    if name not in (*scores, *measures):
        raise ValueError(
            f"refit must be one of {', '.join(map(repr, STRATEGIES))}, a ParetoRefit, a callable or one of the "
            f"metrics {', '.join(map(repr, (*scores, *measures)))}; got {refit!r}"
        )
    return partial(best_by, name=name, may_select_nothing=name in scores)


def choose(
    choice: Callable[[Mapping[str, Any]], Any],
    results: Mapping[str, Any],
    scores: Sequence[str],
) -> int:
    """Index of the candidate that is chosen; by its score alone where none selects anything."""
    if _selects(results) or not isinstance(choice, ParetoRefit | partial):
        return int(choice(results))
    warn_user(
        "no candidate selects any feature, so that there is no stability to choose by: weaken the regularisation"
    )
    name = scores[0] if scores else "n_features"
    return best_by(results, name, may_select_nothing=True)


def _selects(results: Mapping[str, Any]) -> bool:
    return bool((column(results, "n_features") > 0).any())


def front_table(search: Any, score: str | None, stability: str) -> pd.DataFrame:
    """Candidates on the front, from the best score to the most stable; without a score the most stable one."""
    import pandas as pd

    results = search.cv_results_
    settings = pd.DataFrame(results["params"])
    if score is None or not _selects(results):
        ends = [f"{stability}{end}" for end in ("", "_low", "_high")]
        table = pd.DataFrame(
            {
                name.replace(stability, "stability", 1): column(results, name)
                for name in ends
            },
            index=pd.Index(range(len(settings)), name="candidate"),
        )
        best = (
            [best_by(results, stability, may_select_nothing=False)]
            if _selects(results)
            else []
        )
        table = table.assign(chosen=table.index == search.best_index_).loc[best]
    else:
        table = search_table(search, score=score, stability=stability)
        table = table[table["on_front"]].sort_values(
            ["score", "stability"], ascending=[False, True]
        )
        table = table.drop(
            columns=["on_front", "gamma_low", "gamma_high", "on_hull", "params"]
        )
    table.insert(0, "n_features", column(results, "n_features")[table.index])
    return pd.concat([settings.loc[table.index].set_axis(table.index), table], axis=1)


def replication_table(
    halves: Mapping[Any, Runs | None], measure: MeasureLike
) -> pd.DataFrame:
    """Stability over other data, with its interval; NaN where halves had nothing to choose, or failed."""
    import pandas as pd

    rows = {}
    for name, runs in halves.items():
        found = None if runs is None else runs.replication(measure)
        is_known = found is not None and not np.isnan(found.standard_error)
        rows[name] = (
            (found.estimate, found.low, found.high)
            if found is not None and is_known
            else (np.nan,) * 3
        )
    columns = ["replication", "replication_low", "replication_high"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

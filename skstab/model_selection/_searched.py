"""The candidates of a search as selectors to compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from skstab._checks import naming
from skstab.model_selection._dummy import dummy_scores
from skstab.model_selection._recommend import Scored
from skstab.model_selection._resampling import splits_of
from skstab.model_selection._scorers import listed_measures
from skstab.model_selection._search import StabilitySearchCV
from skstab.model_selection._validation import read_data

__all__ = ["candidates_compared"]


def candidates_compared(
    search: Any, X: Any, y: Any, names: Any, groups: Any
) -> dict[str, Any]:
    """What a comparison of the candidates holds: their runs, scores, the dummy, the measure, and groups."""
    if not isinstance(search, StabilitySearchCV) or not search.__sklearn_is_fitted__():
        raise ValueError(f"search must be a fitted StabilitySearchCV, got {search!r}")
    with naming("names"):
        listed = (
            [str(number) for number in range(len(search.runs_))]
            if names is None
            else list(names)
        )
        n_different = len(set(listed))
    if not len(search.runs_) == len(listed) == n_different:
        raise ValueError(
            f"names must be {len(search.runs_)} different ones, one per candidate, got {names!r}"
        )
    done = {
        name: number
        for number, name in enumerate(listed)
        if len(search.runs_[number]) > 1
    }
    of_front = getattr(search, "halves_", {})
    halves = {name: of_front.get(number) for name, number in done.items()}
    score = next(iter(search.runs_[next(iter(done.values()))].scores), None)
    return {
        "runs": {name: search.runs_[number] for name, number in done.items()},
        # Without those of all, they would be ranked by different things.
        "halves": halves if all(halves.values()) else None,
        "measure": listed_measures(search.measures)[0],
        "dummy": None if score is None else _dummy(search, X, y, groups),
        "groups": None
        if groups is None
        else np.unique(np.asarray(groups), return_inverse=True)[1],
        "scored": None
        if score is None
        else {name: _scored(search, number, score) for name, number in done.items()},
    }


def _scored(search: StabilitySearchCV, number: int, score: str) -> Scored:
    runs = search.runs_[number]
    return Scored(
        runs.split_numbers, runs.scores[score], search._row_losses[number].get(score)
    )


def _dummy(search: StabilitySearchCV, X: Any, y: Any, groups: Any) -> Scored | None:
    data, target = read_data(X, y, needs_classes=False)
    splitter = search._splitter(target, grouped=groups is not None)
    splits = splits_of(
        splitter, data, target, {} if groups is None else {"groups": groups}
    )
    scoring = search.scoring
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        scoring = next(
            iter(scoring.values() if isinstance(scoring, Mapping) else scoring)
        )
    return dummy_scores(search.estimator, scoring, target, splits)

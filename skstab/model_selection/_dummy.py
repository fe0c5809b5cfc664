"""Scores of predictions that ignore the features, on the resamples of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import check_scoring

from skstab._compat import take_rows
from skstab._engine.outcomes import Run
from skstab._engine.row_scores import row_scores_of
from skstab._engine.work import RunPlan, row_tables, score_rows
from skstab._typing import FloatArray, IntArray
from skstab.model_selection._recommend import Scored
from skstab.model_selection._resampling import is_labelled

__all__ = ["dummy_scores"]


def dummy_scores(
    selector: Any, scoring: Any, y: Any, splits: Sequence[Any]
) -> Scored | None:
    """Scores of predictions that ignore the features; None where there is no such prediction."""
    if is_classifier(selector) and is_labelled(y):
        dummy: Any = DummyClassifier(strategy="prior")
    elif is_regressor(selector) and np.asarray(y).dtype.kind in "iuf":
        dummy = DummyRegressor()
    elif callable(scoring) and y is not None:
        dummy = _Constant()
    else:
        return None
    n_rows = len(np.asarray(y))
    X = np.zeros((n_rows, 1))
    scorer, name = (
        check_scoring(dummy, scoring=scoring),
        scoring if isinstance(scoring, str) else "score",
    )
    plan = RunPlan(
        dummy,
        scoring=scoring,
        scorer=scorer,
        score_names=(name,),
        row_scores=row_scores_of(scoring, selector),
        classes=np.unique(np.asarray(y)) if is_classifier(dummy) else None,
    )
    made = [_dummy_run(plan, X, y, split) for split in splits]
    if any(run.score_error is not None for run in made):
        return None
    scores = np.array([(run.scores or {})[name] for run in made])
    tables = row_tables(made, [test for _, test in splits], plan, n_rows)
    losses: FloatArray | None = tables["row_losses"][name] if tables else None
    return Scored(np.arange(len(splits), dtype=np.int64), scores, losses)


class _Constant(BaseEstimator):
    """The same prediction for every row, whatever the target is."""

    def fit(self, X: Any, y: Any) -> _Constant:  # noqa: ARG002
        return self

    def predict(self, X: Any) -> FloatArray:
        return np.zeros(len(X))


def _dummy_run(plan: RunPlan, X: Any, y: Any, split: tuple[IntArray, IntArray]) -> Run:
    train, test = split
    fitted = clone(plan.estimator).fit(X[train], take_rows(y, train))
    return score_rows(Run(), plan, fitted, X, y, test)

"""Supports of runs that were made elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skstab._checks import check_support_from, naming
from skstab._typing import MatrixLike
from skstab.runs._rows import Row, as_shown, stack_rows
from skstab.runs._selection import (
    last_step_of,
    selection_of,
    support_of,
    why_no_support,
)

__all__ = ["collect_supports", "tables_of_estimators"]


@naming("source", "X")
def collect_supports(
    source: Any, *, X: MatrixLike | None = None, support_from: str = "used"
) -> np.ndarray | csr_array:
    """Collect what several runs selected, from what is already fitted.

    Parameters
    ----------
    source : dict, iterable of estimators, or estimator
        One of

        - the result of :func:`sklearn.model_selection.cross_validate` with `return_estimator=True`;
        - fitted selectors, sparse models, or searches or pipelines of them, one for each run;
        - a fitted :class:`sklearn.feature_selection.RFECV`, or a pipeline that ends in one: what it selected in each of
          its splits at the number of features that it chose.

    X : array-like or sparse matrix of shape (n_samples, n_features), default=None
        Rows of the features, which only estimators that do not declare what they use need: they are read by what they
        do with some of these rows, see :func:`skstab.runs.selection_of`.
    support_from : {"used", "selector"}, default="used"
        What counts as selected, as in :func:`skstab.runs.selection_of`.

    Returns
    -------
    supports : ndarray of bool of shape (n_runs, n_features)
        One row for each run, in the columns of the estimators' input; a `csr_array` only where it would have more than
        10**8 cells.

    See Also
    --------
    Runs.from_estimators : The same with importances and names.
    skstab.metrics.stability_score : Measure the stability of the supports.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> from sklearn.pipeline import make_pipeline
    >>> from skstab.model_selection import collect_supports
    >>> X, y = make_classification(n_features=6, n_informative=2, n_redundant=0, random_state=0)
    >>> pipe = make_pipeline(SelectKBest(k=2), LogisticRegression())
    >>> supports = collect_supports(cross_validate(pipe, X, y, cv=3, return_estimator=True))
    >>> supports.shape
    (3, 6)
    >>> supports.sum(axis=1)
    array([2, 2, 2])
    """
    check_support_from(support_from)
    supports = (
        _supports_of_splits(source)
        if hasattr(source, "fit")
        else _supports_of_runs(_estimators(source), X, support_from)
    )
    return as_shown(supports)


def tables_of_estimators(fitted: Any, X: Any, support_from: str) -> tuple[Any, ...]:
    """Return supports, importances and coefficients where all estimators have them, and the names of the features."""
    check_support_from(support_from)
    check_support_from(support_from)
    if hasattr(fitted, "fit"):
        names = getattr(fitted, "feature_names_in_", None)
        supports = collect_supports(fitted, X=X, support_from=support_from)
        return supports, None, None, names
    runs = _estimators(fitted)
    supports, n_features = _supports_as_rows(runs, X, support_from)
    weights = [_weights_of(run, support_from) for run in runs]
    importances, coefs = zip(*weights, strict=True)
    tables = stack_rows(
        [(supports, bool), (importances, np.float64), (coefs, np.float64)], n_features
    )
    named = (run for run in runs if hasattr(run, "feature_names_in_"))
    first = next(named, None)
    return *tables, None if first is None else first.feature_names_in_


def _weights_of(run: Any, support_from: str) -> tuple[Row | None, Row | None]:
    """Read importances, in the units of the features, and coefficients; None where they cannot be read."""
    try:
        chosen = selection_of(
            run, None, scale_importances=False, support_from=support_from
        )
    except ValueError:  # its support is known all the same
        return None, None
    packed = chosen.packed()
    return packed.importances, packed.coef


def _estimators(source: Any) -> list[Any]:
    if isinstance(source, Mapping):
        if "estimator" not in source:
            raise ValueError(
                "the dict has no key 'estimator': call cross_validate(..., return_estimator=True)"
            )
        source = source["estimator"]
    if not isinstance(source, Iterable) or isinstance(source, str):
        raise TypeError(
            "source must be the dict of cross_validate, an iterable of fitted estimators or a fitted RFECV, got "
            f"{type(source).__name__}"
        )
    runs = list(source)
    if not runs:
        raise ValueError("source has no estimators: there is no run to collect")
    return runs


def _supports_of_runs(runs: list[Any], X: Any, support_from: str) -> Any:
    rows, n_features = _supports_as_rows(runs, X, support_from)
    (table,) = stack_rows([(rows, bool)], n_features)
    return table


def _supports_as_rows(
    runs: list[Any], X: Any, support_from: str
) -> tuple[list[Row], int]:
    """Read what each run selected, packed, and the number of features."""
    rows = []
    widths = set()
    for position, run in enumerate(runs):
        support = _support_of_run(position, run, X, support_from)
        rows.append(Row.of(support))
        widths.add(len(support))
    counts = sorted(widths)
    if len(counts) > 1:
        raise ValueError(
            f"the estimators must be fitted on the same features, got different numbers of features: {counts}"
        )
    if (
        len(
            {
                tuple(run.feature_names_in_)
                for run in runs
                if hasattr(run, "feature_names_in_")
            }
        )
        > 1
    ):
        raise ValueError(
            "the estimators must be fitted on the same features, got different names or order"
        )
    return rows, counts[0]


def _support_of_run(position: int, run: Any, X: Any, support_from: str) -> np.ndarray:
    who = f"estimator {position} ({type(run).__name__})"
    if not hasattr(run, "fit"):
        raise TypeError(f"{who} of source is not an estimator")
    try:
        check_is_fitted(run)
    except NotFittedError as error:
        raise NotFittedError(f"{who} is not fitted; perhaps its run failed") from error
    support = support_of(run, X, support_from)
    if support is None:
        raise ValueError(f"{who}: {why_no_support(run)}")
    return support


def _supports_of_splits(estimator: Any) -> np.ndarray:
    """Read the supports that an `RFECV` kept of its splits, in the columns of the input."""
    check_is_fitted(estimator)
    rfecv, columns, n_features = last_step_of(estimator)
    results = getattr(rfecv, "cv_results_", {})
    keys = [
        f"split{i}_support"
        for i in range(len(results))
        if f"split{i}_support" in results
    ]
    if not keys:
        raise ValueError(
            f"one {type(estimator).__name__} is one run, unless it is an RFECV, which keeps the supports of its "
            "splits: pass several fitted estimators, or the result of cross_validate(..., return_estimator=True)"
        )
    chosen = np.flatnonzero(results["n_features"] == rfecv.n_features_)[0]
    local = np.array([results[key][chosen] for key in keys], dtype=bool)
    supports = np.zeros((len(local), n_features), dtype=bool)
    supports[:, columns] = local
    return supports

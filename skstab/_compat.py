"""The only place that touches private or version-dependent names of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.feature_selection._base import _get_feature_importances
from sklearn.utils import _safe_indexing, indexable, metaestimators
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition
from sklearn.utils.validation import _check_method_params, _get_feature_names

from skstab._checks import naming

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn 1.8 has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand in for the mixin of scikit-learn 1.9."""

    def _with_callbacks(method: Any) -> Any:
        """Call the method as it is: there are no callbacks to tear down, but as many frames as in 1.9."""

        @wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return call


__all__ = [
    "BaseComposition",
    "CallbackSupportMixin",
    "FitProgress",
    "RunProgress",
    "as_indexable",
    "available_if",
    "boosted_nodes",
    "check_own_parameters",
    "neighbour_rows",
    "params_of_rows",
    "squared_importances",
    "take_columns",
    "take_rows",
    "with_callbacks",
]


_MANY_BLOCKS = 20  # of columns in a data frame

Method = TypeVar("Method", bound=Callable[..., Any])


def as_indexable(X: Any, y: Any) -> Any:
    """Return data whose rows can be taken; X that has no shape becomes an array."""
    with naming("X"):
        _get_feature_names(X)  # refuses those that are not unique
    with naming("X", "y"):
        return indexable(_together(X) if hasattr(X, "shape") else np.asarray(X), y)


def _together(X: Any) -> Any:
    """A data frame whose columns lie together in memory: as `read_csv` makes it, taking rows goes column by column."""
    n_blocks = getattr(getattr(X, "_mgr", None), "nblocks", 1)  # private to pandas
    return X.copy() if n_blocks > _MANY_BLOCKS else X


def with_callbacks(method: Method) -> Method:
    """Tear the callbacks down after a `fit`; the decorator of scikit-learn with a type."""
    decorated: Method = _with_callbacks(method)
    return decorated


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Hide a method where a check does not hold; the decorator of scikit-learn with a type."""
    decorator: Callable[[Method], Method] = metaestimators.available_if(check)
    return decorator


def take_rows(data: Any, rows: Any) -> Any:
    """Take rows of an array, a table or a list by an array of their numbers."""
    if type(data) in (np.ndarray, np.memmap) and data.flags.c_contiguous:
        # The same array as by the general way, which asks at length what it was given.
        return np.asarray(data).take(rows, axis=0)
    return _safe_indexing(data, rows)


def take_columns(data: Any, columns: Any) -> Any:
    """Take columns of an array or a table by numbers, names, a mask or a slice."""
    return _safe_indexing(data, columns, axis=1)


def params_of_rows(X: Any, params: dict[str, Any], rows: Any) -> dict[str, Any]:
    """Take the rows of those parameters that have one entry for each row of X (sample weights)."""
    checked: dict[str, Any] = _check_method_params(X, params, indices=rows)
    return checked


def check_own_parameters(estimator: Any) -> None:
    """Let an estimator of scikit-learn check its parameters, as its `fit` does."""
    estimator._validate_params()


def squared_importances(model: Any, getter: Any) -> Any:
    """Importances by which scikit-learn's recursive elimination ranks the features of a fitted model."""
    return _get_feature_importances(model, getter, transform_func="square")


def neighbour_rows(model: Any) -> tuple[Any, Any]:
    """Return the rows that a classifier by nearest neighbours keeps, and the numbers of their classes."""
    return model._fit_X, model._y


def boosted_nodes(model: Any) -> list[tuple[Any, Any, Any, Any]] | None:
    """Return feature, threshold, left and right child (-1 for leaves) of each tree of histogram-based boosting.

    None where features are categories, which are not split at thresholds.
    """
    if model.is_categorical_ is not None:
        return None
    tables = [
        predictor.nodes for predictors in model._predictors for predictor in predictors
    ]
    children = ("left", "right")
    return [
        (
            table["feature_idx"].astype(np.intp),
            table["num_threshold"],
            *(
                np.where(table["is_leaf"], -1, table[child].astype(np.intp))
                for child in children
            ),
        )
        for table in tables
    ]


class RunProgress:
    """Callbacks around one run; a worker gets it together with its task."""

    def __init__(self, context: Any = None, caller: Any = None) -> None:
        self.context = context
        self.caller = caller

    @contextmanager
    def around(self, estimator: Any, X: Any, y: Any) -> Iterator[None]:
        """Notify the callbacks that a run begins and ends, and pass them on to an estimator that takes them."""
        if self.context is None:
            yield
            return
        passing_on = (
            self.context.propagate_callback_context(estimator)
            if hasattr(estimator, "set_callbacks")
            else nullcontext()
        )
        try:
            with passing_on:
                # Inside, where it is known which callbacks the estimator will call itself.
                self.context.call_on_fit_task_begin(estimator=self.caller, X=X, y=y)
                yield
        finally:
            self.context.call_on_fit_task_end(estimator=self.caller, X=X, y=y)


class FitProgress:
    """Callbacks around a fit that consists of runs; nothing where none are set."""

    def __init__(self, estimator: Any, n_runs: int, X: Any, y: Any) -> None:
        self.estimator, self.X, self.y = estimator, X, y
        self.context = None
        # Contexts are shipped to the workers with the estimator: only where somebody listens.
        if getattr(estimator, "_skl_callbacks", None):
            self.context = estimator._init_callback_context(
                max_subtasks=n_runs, sequential_subtasks=False
            )
            self.context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def run(self, number: int) -> RunProgress:
        """Return what goes with a run to its worker."""
        if self.context is None:
            return RunProgress()
        return RunProgress(
            self.context.subcontext(task_name="run", task_id=number), self.estimator
        )

    def end(self) -> None:
        """Notify the callbacks that the fit is over."""
        if self.context is not None:
            self.context.call_on_fit_task_end(
                estimator=self.estimator, X=self.X, y=self.y
            )

"""The training data on its way to a model: the steps it passed, and what the model saw."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array

from skstab._compat import take_rows
from skstab._pipelines import class_name
from skstab._random import random_parameters
from skstab._statistics import column_deviations, numbers_of
from skstab._typing import BoolArray, FloatArray, IntArray

__all__ = [
    "Take",
    "TakeRows",
    "UnreadableError",
    "View",
    "few_rows",
    "is_sampler",
    "reading_same_rows",
]

# Of the rows that show how a fitted object behaves.
_MOST_ROWS, _MOST_CELLS = 256, 4_000_000
_shared: ContextVar[SameRows | None] = ContextVar("shared", default=None)


@dataclass(frozen=True)
class SameRows:
    """The rows that several models were fitted on, and what is computed of them only once."""

    X: Any

    @cached_property
    def deviations(self) -> FloatArray:
        """The standard deviations of all columns."""
        return column_deviations(self.X)


@contextmanager
def reading_same_rows(X: Any) -> Iterator[None]:
    """Compute what the readings of several models need of the same rows only once.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows that the models were fitted on, the very object that is given to `read_run`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Lasso
    >>> from skstab.runs import read_run, reading_same_rows
    >>> X, y = np.array([[0.0, 1.0], [2.0, 0.0], [4.0, 1.0]]), [0, 1, 2]
    >>> with reading_same_rows(X):
    ...     [read_run(Lasso(alpha=alpha).fit(X, y), X).selection.importances.round(2) for alpha in (0.1, 0.2)]
    [array([0.76, 0.  ]), array([0.69, 0.  ])]
    """
    # Columns of a table may be no numbers.
    is_shared = not hasattr(X, "columns") or numbers_of(X) is not None
    before = _shared.set(SameRows(X) if is_shared else None)
    try:
        yield
    finally:
        _shared.reset(before)


class UnreadableError(ValueError):
    """Importances are there but cannot be read."""


class Passed(NamedTuple):
    """A step that the data passed, and the columns it took, where that is all it did."""

    step: Any
    kept: IntArray | None


@dataclass(frozen=True)
class View:
    """The training data, and the steps it passed on its way to a model."""

    X: Any
    y: Any
    steps: tuple[Passed, ...] = ()
    targets: tuple[Any, ...] = ()
    expanded: bool = False  # whether a step made several columns of one
    # What was found of models by probing, by the id of the model.
    probed: dict[int, BoolArray] = field(default_factory=dict, compare=False)

    def then(
        self, step: Any, kept: IntArray | None = None, *, expands: bool = False
    ) -> View:
        """Return the view after one more step."""
        return replace(
            self,
            steps=(*self.steps, Passed(step, kept)),
            expanded=self.expanded or expands,
        )

    def towards(self, wrapper: Any) -> View:
        """View of the model inside a wrapper, which may transform the target."""
        target = getattr(wrapper, "transformer_", None)
        return (
            self if target is None else replace(self, targets=(*self.targets, target))
        )

    def data(self, n_steps: int | None = None) -> tuple[Any, Any]:
        """X and y as the model saw them, or after the first steps only."""
        X, y = self.X, self.y
        with warnings.catch_warnings():
            # Ensembles and selectors may have given their models arrays where we have a table.
            warnings.filterwarnings("ignore", "X has feature names, but", UserWarning)
            for step, _ in self.steps[:n_steps]:
                X, y = (
                    (step.transform(X), y)
                    if hasattr(step, "transform")
                    else _resampled(step, X, y)
                )
        return X, self._target(y)

    def few_rows(self) -> Any:
        """Some of the rows as the model saw them, whatever rows samplers added or dropped."""
        steps = tuple(step for step in self.steps if hasattr(step.step, "transform"))
        return replace(self, X=few_rows(self.X), y=None, steps=steps).data()[0]

    def _target(self, y: Any) -> Any:
        for transformer in () if y is None else self.targets:
            y = np.asarray(transformer.transform(np.asarray(y).reshape(len(y), -1)))
            y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        return y

    def deviations(self, columns: IntArray | slice) -> FloatArray:
        """Compute the standard deviations of some columns as the model saw them."""
        wanted: Any = columns
        for position in range(len(self.steps), 0, -1):
            step, kept = self.steps[position - 1]
            if kept is not None:
                wanted = kept[wanted]
            elif type(step) is StandardScaler and step.with_std:
                # What is left after the division; 1, or 0 where a feature is constant.
                left: FloatArray = (np.sqrt(step.var_) / step.scale_)[wanted]
                return left
            else:
                return column_deviations(self.data(position)[0], wanted)
        shared = _shared.get()
        if shared is not None and shared.X is self.X:
            return np.asarray(shared.deviations[wanted])
        return column_deviations(self.X, wanted)


def few_rows(X: Any) -> Any:
    """Return rows at equal distances, fewer where there are many columns."""
    n_rows = min(_MOST_ROWS, max(16, _MOST_CELLS // max(1, X.shape[1])))
    if X.shape[0] <= n_rows:
        return X
    return take_rows(X, np.linspace(0, X.shape[0] - 1, n_rows).astype(np.int64))


# -- steps that change rows --------------------------------------------------------------------------------------------


def is_sampler(step: Any) -> bool:
    """Whether a step adds or drops rows while fitting (imbalanced-learn)."""
    return hasattr(step, "fit_resample") and not hasattr(step, "transform")


def _resampled(sampler: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Repeat what a sampler did: with the same seed and rows it gives the rows that the model saw."""
    if isinstance(sampler, TakeRows):
        return take_rows(X, sampler.rows), None if y is None else take_rows(
            y, sampler.rows
        )
    if not is_sampler(sampler):
        return X, y
    if X is None or y is None or not _is_repeatable(sampler):
        raise UnreadableError(
            f"the rows that {class_name(sampler)} made are not known, which importances need (scale_importances, or a "
            "getter that takes X and y): set its random_state to an int, and pass X and y"
        )
    resampled: tuple[Any, Any] = clone(sampler).fit_resample(X, y)
    return resampled


def _is_repeatable(sampler: Any) -> bool:
    params = sampler.get_params()
    return all(
        isinstance(params[name], Integral)
        for name in random_parameters(sampler, everywhere=True)
    )


class Take:
    """A step that takes columns, as ensembles do for each of their members."""

    def __init__(self, columns: IntArray) -> None:
        self.columns = columns

    def transform(self, X: Any) -> Any:
        X = check_array(
            X, accept_sparse=("csr", "csc"), dtype=None, ensure_all_finite=False
        )
        return X[:, self.columns]


class TakeRows:
    """A step that takes rows, as ensembles do for each of their members."""

    def __init__(self, rows: IntArray) -> None:
        self.rows = rows

"""The columns of the input on their way through an estimator's steps.

`View` is the training data with the steps it passed on its way to a model, and the standard
deviations of its columns there; `columns_out` says which of its input columns a step lets through.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import check_array
from sklearn.utils.sparsefuncs import mean_variance_axis

from skstab._compat import take_columns

__all__ = ["Take", "View", "class_name", "columns_out", "mask_of", "parts_of", "selects_features", "spread", "steps_of"]

_BATCH = 2**20  # numbers that may be copied at a time


# --- The way of the data ---------------------------------------------------------------------


class Passed(NamedTuple):
    """A step that the data passed, and the columns it took, where that is all it did."""

    step: Any
    kept: np.ndarray | None


@dataclass(frozen=True)
class View:
    """The training data, and the steps it passed on its way to a model."""

    X: Any
    y: Any
    steps: tuple[Passed, ...] = ()
    targets: tuple[Any, ...] = ()

    def then(self, step: Any, kept: np.ndarray | None = None) -> View:
        return replace(self, steps=(*self.steps, Passed(step, kept)))

    def towards(self, wrapper: Any) -> View:
        """View of the model inside a wrapper, which may transform the target."""
        target = getattr(wrapper, "transformer_", None)
        return self if target is None else replace(self, targets=(*self.targets, target))

    def rows(self, n_steps: int | None = None) -> Any:
        """X as the model saw it, or after the first steps only."""
        X = self.X
        with warnings.catch_warnings():
            # Ensembles and selectors may have given their models arrays where we have a table.
            warnings.filterwarnings("ignore", "X has feature names, but", UserWarning)
            for step, _ in self.steps[:n_steps]:
                # A resampling step (imbalanced-learn) has no transform: it keeps the columns.
                X = step.transform(X) if hasattr(step, "transform") else X
        return X

    def target(self) -> Any:
        """Return y as the model saw it."""
        y = self.y
        for transformer in self.targets:
            y = np.asarray(transformer.transform(np.asarray(y).reshape(len(y), -1)))
            y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        return y

    def deviations(self, columns: np.ndarray | slice) -> np.ndarray:
        """Compute the standard deviations of some columns as the model saw them."""
        wanted: Any = columns
        for position in range(len(self.steps), 0, -1):
            step, kept = self.steps[position - 1]
            if kept is not None:
                wanted = kept[wanted]
            elif type(step) is StandardScaler and step.with_std:
                # What is left after the division; 1, or 0 where a feature is constant.
                return (np.sqrt(step.var_) / step.scale_)[wanted]
            else:
                return _deviations(self.rows(position), wanted)
        return _deviations(self.X, wanted)


class Take:
    """A step that takes columns, as ensembles do for each of their members."""

    def __init__(self, columns: np.ndarray) -> None:
        self.columns = columns

    def transform(self, X: Any) -> Any:
        X = check_array(X, accept_sparse=("csr", "csc"), dtype=None, ensure_all_finite=False)
        return X[:, self.columns]


def _deviations(X: Any, columns: Any) -> np.ndarray:
    if hasattr(X, "columns"):  # of a table, of which other columns need not be numbers
        X, columns = take_columns(X, columns), slice(None)
    if not (isinstance(X, np.ndarray) and X.dtype.kind == "f"):  # the usual case needs no check
        X = check_array(X, accept_sparse=("csr", "csc"), ensure_all_finite=False)
    if not isinstance(columns, slice):
        X = X[:, columns]
    if issparse(X):
        return np.sqrt(mean_variance_axis(X, axis=0)[1])
    mean, squares = X.mean(axis=0, dtype=float), np.zeros(X.shape[1])
    batch = max(1, _BATCH // X.shape[1])
    for start in range(0, X.shape[0], batch):
        centred = X[start : start + batch] - mean
        squares += np.einsum("ij,ij->j", centred, centred)
    return np.sqrt(squares / X.shape[0])


# --- Which columns a step lets through -------------------------------------------------------


def columns_out(name: str, step: Any, n_in: int) -> np.ndarray:
    """Map a step's output columns to its input columns: one index per output column."""
    if isinstance(step, Pipeline):
        columns = np.arange(n_in)
        for inner, part in steps_of(step):
            columns = columns[columns_out(f"{name}__{inner}", part, len(columns))]
        return columns
    if isinstance(step, ColumnTransformer | FeatureUnion):
        return np.concatenate([np.arange(0), *_columns_side_by_side(name, step, n_in)])
    if hasattr(step, "get_support"):
        return np.flatnonzero(mask_of(step, n_in))
    if _keeps_columns(step):
        return np.arange(n_in)
    return _columns_by_name(name, step, n_in)


def _columns_side_by_side(name: str, step: ColumnTransformer | FeatureUnion, n_in: int) -> Iterator[np.ndarray]:
    """Map the parts of a step that stand side by side, in the order of their output."""
    for inner, part, columns in _parts_with_columns(step, n_in):
        if isinstance(part, str):
            yield columns if part == "passthrough" else columns[:0]
        elif len(columns):  # a part without columns is not even fitted
            yield columns[columns_out(f"{name}__{inner}", part, len(columns))]


def _parts_with_columns(step: ColumnTransformer | FeatureUnion, n_in: int) -> list[tuple[str, Any, np.ndarray]]:
    every = np.arange(n_in)
    if isinstance(step, FeatureUnion):
        return [(name, part, every) for name, part in step.transformer_list]
    names = getattr(step, "feature_names_in_", None)
    row = every[None] if names is None else pd.DataFrame(every[None], columns=names)
    return [(name, part, np.ravel(take_columns(row, columns))) for name, part, columns in step.transformers_]


def _keeps_columns(step: Any) -> bool:
    """Tell a one-to-one step by what it is, before its names are asked."""
    if isinstance(step, FunctionTransformer):
        # A ufunc works element by element; any other function may move or mix columns.
        by_element = step.func is None or isinstance(step.func, np.ufunc)
        return step.feature_names_out == "one-to-one" or (step.feature_names_out is None and by_element)
    names_out = getattr(type(step), "get_feature_names_out", None)
    return names_out is OneToOneFeatureMixin.get_feature_names_out


def _columns_by_name(name: str, step: Any, n_in: int) -> np.ndarray:
    """Map a step whose every output is named exactly like one of its inputs."""
    # ClassName0, ClassName1, ... are new features even where the input happens to have such names.
    if isinstance(step, ClassNamePrefixFeaturesOutMixin):
        raise ValueError(_why_unmapped(name, step))
    names = getattr(step, "feature_names_in_", np.array([f"x{i}" for i in range(n_in)], object))
    try:
        names_out = step.get_feature_names_out(names)
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(_why_unmapped(name, step)) from error
    position = {feature: i for i, feature in enumerate(names)}
    if len(set(names_out)) < len(names_out) or not position.keys() >= set(names_out):
        raise ValueError(_why_unmapped(name, step))
    return np.array([position[feature] for feature in names_out], dtype=int)


def spread(values: np.ndarray, columns: np.ndarray, n_features: int) -> np.ndarray:
    """Give each of the columns its value and zero to all others."""
    # Adds, because a bagged model may have seen a feature twice.
    return np.bincount(columns, weights=values, minlength=n_features)


def selects_features(step: Any) -> bool:
    """Tell whether a step selects features itself or by one of its parts."""
    return hasattr(step, "get_support") or any(map(selects_features, parts_of(step)))


def parts_of(step: Any) -> list[Any]:
    """Return the parts of a step that is made of named ones: a pipeline, a union, a column transformer."""
    for attribute in ("named_steps", "named_transformers_", "named_transformers"):
        if hasattr(step, attribute):
            return list(getattr(step, attribute).values())
    return []


def mask_of(selector: Any, n_in: int) -> np.ndarray:
    """Return a selector's support, checked to be a mask of its input."""
    mask = np.asarray(selector.get_support())
    if mask.dtype != bool or mask.shape != (n_in,):
        raise ValueError(
            f"{class_name(selector)}.get_support() must return a mask of {n_in} features, got an "
            f"array of {mask.dtype} of shape {mask.shape}."
        )
    return mask


def steps_of(pipeline: Pipeline) -> list[tuple[str, Any]]:
    """Return the steps of a pipeline that do something; those of a pipeline inside are steps like any other."""
    steps: list[tuple[str, Any]] = []
    for name, step in pipeline.steps:
        if isinstance(step, Pipeline):
            steps += [(f"{name}__{inner}", part) for inner, part in steps_of(step)]
        elif step is not None and step != "passthrough":
            steps.append((name, step))
    return steps


def _why_unmapped(name: str, step: Any) -> str:
    return (
        f"Step {name!r} ({class_name(step)}) does not pass its features on one to one, so what is "
        "selected after it can't be traced back to the columns of the input. Transform X with "
        f"it beforehand. If {class_name(step)} does keep its columns, it should say so by "
        "get_feature_names_out (a FunctionTransformer by feature_names_out='one-to-one')."
    )


def class_name(estimator: Any) -> str:
    """Return the name by which messages call an estimator."""
    return type(estimator).__name__

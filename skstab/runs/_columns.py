"""Which columns of its input each output column of a step comes from.

A step selects columns, passes them on, or expands them: several outputs then belong to one input. A step whose outputs
mix inputs cannot be followed, and the error names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer

from skstab._checks import check_int, naming
from skstab._compat import take_columns
from skstab._pipelines import class_name, steps_of
from skstab._typing import FloatArray, IntArray, MatrixLike
from skstab.runs._probing import Rows, after, copied_columns
from skstab.runs._readers import columns_of, read_by_readers
from skstab.runs._view import few_rows

__all__ = [
    "Mapped",
    "UnmappedError",
    "combine_parts",
    "input_columns",
    "keeps_columns",
    "kept_columns",
    "mapped_by_names",
    "output_to_input_columns",
    "scatter_to_input",
    "unread_columns",
]

# Names that no output has by chance, in which the number of the input is found again.
_OPEN, _CLOSE = "\ue000", "\ue001"
_NUMBER = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
_INPUT = f"{_OPEN}{_CLOSE}"  # in a label, the place of the name of the input


class UnmappedError(ValueError):
    """A step makes outputs of several inputs, or does not say of which."""


class Mapped(NamedTuple):
    """The input column of each output column; and labels of the outputs, where a step made several of one input."""

    inputs: IntArray
    labels: tuple[str, ...] | None = None
    selects: bool = False  # whether a selector is among the steps

    def then(self, step: Mapped) -> Mapped:
        """Return the same for the outputs of a further step."""
        selects = self.selects or step.selects
        if self.labels is None and step.labels is None:
            return Mapped(self.inputs[step.inputs], selects=selects)
        before = self.labels or (_INPUT,) * len(self.inputs)
        after = step.labels or (_INPUT,) * len(step.inputs)
        labels = [
            label.replace(_INPUT, before[i])
            for label, i in zip(after, step.inputs.tolist(), strict=True)
        ]
        return Mapped(self.inputs[step.inputs], tuple(labels), selects)

    def names(self, input_names: Sequence[Any]) -> list[str]:
        """Name the outputs after their inputs."""
        labels = self.labels or (_INPUT,) * len(self.inputs)
        named = zip(labels, self.inputs.tolist(), strict=True)
        return [
            label.replace(_INPUT, str(input_names[column])) for label, column in named
        ]


@naming("transformer", "n_features", "X")
def input_columns(
    transformer: Any, n_features: int, X: MatrixLike | None = None
) -> IntArray:
    """Columns of the input that each output column of a fitted transformer comes from.

    Parameters
    ----------
    transformer : object
        A fitted selector, a scaler, an encoder, or a pipeline, union or column transformer of such steps.
    n_features : int
        Number of columns of its input.
    X : array-like or sparse matrix of shape (n_samples, n_features), default=None
        Rows of its input. A transformer that does not declare where its outputs come from is followed only with them,
        where its outputs are copies of columns.

    Returns
    -------
    columns : ndarray of int of shape (n_outputs,)
        One index per output column; several have the same where one input was expanded.

    Examples
    --------
    >>> from sklearn.feature_selection import VarianceThreshold
    >>> from skstab.runs import input_columns
    >>> input_columns(VarianceThreshold().fit([[0, 1, 2], [0, 3, 5]]), 3)
    array([1, 2])
    """
    if isinstance(transformer, type):
        raise TypeError(
            f"transformer must be a fitted object, not a class, got {transformer!r}"
        )
    check_int(n_features, "n_features", least=0)
    rows = None if X is None else lambda: few_rows(X)
    if isinstance(transformer, Pipeline):
        return _through(steps_of(transformer), "", n_features, rows).inputs
    return output_to_input_columns("transformer", transformer, n_features, rows).inputs


def output_to_input_columns(
    name: str, step: Any, n_in: int, rows: Rows | None = None
) -> Mapped:
    """Map a step's output columns to its input columns; `rows` show what it does where it does not say it."""
    if isinstance(step, Pipeline):
        return _through(steps_of(step), f"{name}__", n_in, rows)
    if isinstance(step, ColumnTransformer | FeatureUnion):
        return _side_by_side([Mapped(np.arange(0)), *_parts(name, step, n_in, rows)])
    kept = kept_columns(step, n_in)
    if kept is not None:
        return Mapped(kept, selects=True)
    if keeps_columns(step):
        return Mapped(np.arange(n_in))
    mapped = mapped_by_names(step, n_in)
    if mapped is not None:
        return mapped
    copied = copied_columns(step, n_in, rows)
    if copied is None:
        raise UnmappedError(_why_unmapped(name, step))
    return Mapped(copied, selects=True)


def _through(
    steps: Iterable[tuple[str, Any]], prefix: str, n_in: int, rows: Rows | None
) -> Mapped:
    mapped = Mapped(np.arange(n_in))
    for name, step in steps:
        n_outputs = len(mapped.inputs)
        mapped = mapped.then(
            output_to_input_columns(f"{prefix}{name}", step, n_outputs, rows)
        )
        rows = after(step, rows)
    return mapped


# -- selectors ---------------------------------------------------------------------------------------------------------


def kept_columns(step: Any, n_in: int) -> IntArray | None:
    """Return the columns that a selector keeps, in the order of its output; None for what does not select."""
    read = read_by_readers(step)
    if read is None or read.support is None:
        return unread_columns(step, n_in)
    return columns_of(
        read.support, n_in, f"the support that a reader returns for {class_name(step)}"
    )


def unread_columns(step: Any, n_in: int) -> IntArray | None:
    """Return the columns that a selector keeps, without asking readers."""
    if hasattr(step, "get_support"):
        return np.flatnonzero(_mask_of(step, n_in))
    if _has_support(step):
        return columns_of(step.support_, n_in, f"{class_name(step)}.support_")
    return None


def _has_support(step: Any) -> bool:
    # The `support_` of a support vector machine are rows.
    return (
        hasattr(step, "support_")
        and hasattr(step, "transform")
        and not hasattr(step, "dual_coef_")
    )


def _mask_of(selector: Any, n_in: int) -> Any:
    """Return a selector's support, checked to be a mask of its input."""
    mask = np.asarray(selector.get_support())
    if mask.dtype != bool or mask.shape != (n_in,):
        raise ValueError(
            f"{class_name(selector)}.get_support() must return a mask of {n_in} features, got an array of {mask.dtype} "
            f"of shape {mask.shape}"
        )
    return mask


# -- steps made of parts -----------------------------------------------------------------------------------------------


def _side_by_side(parts: Sequence[Mapped]) -> Mapped:
    inputs = np.concatenate([part.inputs for part in parts])
    selects = any(part.selects for part in parts)
    if all(part.labels is None for part in parts):
        return Mapped(inputs, selects=selects)
    labels = tuple(
        label for part in parts for label in part.labels or (_INPUT,) * len(part.inputs)
    )
    return Mapped(inputs, labels, selects)


def _parts(
    name: str, step: ColumnTransformer | FeatureUnion, n_in: int, rows: Rows | None
) -> Iterator[Mapped]:
    """Map the parts of a step that stand side by side, in the order of their output."""
    for inner, part, columns in _parts_with_columns(step, n_in):
        if isinstance(part, str):
            yield Mapped(columns if part == "passthrough" else columns[:0])
        elif len(columns):  # a part without columns is not even fitted
            seen = None if rows is None else partial(_taken, rows, columns)
            mapped = output_to_input_columns(
                f"{name}__{inner}", part, len(columns), seen
            )
            yield Mapped(columns).then(mapped)


def _taken(rows: Rows, columns: IntArray) -> Any:
    return take_columns(rows(), columns)


def _parts_with_columns(
    step: ColumnTransformer | FeatureUnion, n_in: int
) -> list[tuple[str, Any, IntArray]]:
    every = np.arange(n_in)
    if isinstance(step, FeatureUnion):
        return [(name, part, every) for name, part in step.transformer_list]
    names = getattr(step, "feature_names_in_", None)
    row = every[None] if names is None else pd.DataFrame(every[None], columns=names)
    return [
        (name, part, np.ravel(take_columns(row, columns)))
        for name, part, columns in step.transformers_
    ]


# -- steps that pass columns on, or expand them ------------------------------------------------------------------------


def keeps_columns(step: Any) -> bool:
    """Whether the type of a step already says that it keeps its columns one to one."""
    if isinstance(step, FunctionTransformer):
        # A ufunc works element by element; any other function may move or mix columns.
        by_element = step.func is None or isinstance(step.func, np.ufunc)
        return step.feature_names_out == "one-to-one" or (
            step.feature_names_out is None and by_element
        )
    names_out = getattr(type(step), "get_feature_names_out", None)
    return names_out is OneToOneFeatureMixin.get_feature_names_out


def mapped_by_names(step: Any, n_in: int) -> Mapped | None:
    """Map a step by the names of its outputs; None where they do not say which input each of them is of."""
    mapped = _by_given_names(step, n_in) or _by_own_names(step, n_in)
    # Nothing was expanded where all are called as inputs are.
    return (
        Mapped(mapped.inputs)
        if mapped is not None and set(mapped.labels or ()) <= {_INPUT}
        else mapped
    )


def _by_given_names(step: Any, n_in: int) -> Mapped | None:
    """Give the inputs names that cannot be mistaken, and look for them in the names of the outputs."""
    unnamed = copy(step)
    getattr(unnamed, "__dict__", {}).pop("feature_names_in_", None)
    try:
        names_out = [
            str(n)
            for n in unnamed.get_feature_names_out(
                [f"{_OPEN}{i}{_CLOSE}" for i in range(n_in)]
            )
        ]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None
    numbers = [set(_NUMBER.findall(name)) for name in names_out]
    if any(len(found) != 1 for found in numbers) or len(set(names_out)) < len(
        names_out
    ):
        return None
    inputs = np.array([int(number) for (number,) in numbers], dtype=np.int64)
    return Mapped(inputs, tuple(_NUMBER.sub(_INPUT, name) for name in names_out))


def _by_own_names(step: Any, n_in: int) -> Mapped | None:
    """Map a step that names outputs by itself: each is called as an input is, or the step says which one it is of."""
    # ClassName0, ClassName1, ... are new features even where the input happens to have such names.
    if isinstance(step, ClassNamePrefixFeaturesOutMixin):
        return None
    names = [
        str(name)
        for name in getattr(step, "feature_names_in_", [f"x{i}" for i in range(n_in)])
    ]
    try:
        names_out = [str(name) for name in step.get_feature_names_out()]
    except (AttributeError, TypeError, ValueError):
        return None
    owners = {name: name for name in names} | _owners(step)
    known = (
        len(names) == n_in
        and len(set(names_out)) == len(names_out)
        and owners.keys() >= set(names_out)
    )
    if not known or not set(names) >= {owners[name] for name in names_out}:
        return None
    position = {name: i for i, name in enumerate(names)}
    labels = tuple(_INPUT if owners[name] == name else name for name in names_out)
    return Mapped(
        np.array([position[owners[name]] for name in names_out], dtype=np.int64), labels
    )


def _owners(step: Any) -> dict[str, str]:
    """Return the input of each output, where an encoder of another package has it among its attributes."""
    own = getattr(step, "__dict__", {})
    if isinstance(own.get("output_to_input_"), Mapping):  # skrub
        return {
            str(output): str(column)
            for output, column in own["output_to_input_"].items()
        }
    if isinstance(own.get("encoder_dict_"), Mapping):  # feature-engine
        encoded = own["encoder_dict_"].items()
        pairs = [
            (f"{column}_{value}", str(column))
            for column, values in encoded
            for value in values
        ]
        return dict(pairs) if len(dict(pairs)) == len(pairs) else {}
    mapping = own.get("mapping")  # category_encoders
    listed = mapping if isinstance(mapping, list) else []
    tables = [table for table in listed if hasattr(table.get("mapping"), "columns")]
    return {
        str(output): str(table["col"])
        for table in tables
        for output in table["mapping"].columns
    }


def _why_unmapped(name: str, step: Any) -> str:
    return (
        f"step {name!r} ({class_name(step)}) has outputs that cannot be traced back to one column of its input each, "
        "so what is selected after it is not known in the columns of the input: transform X with it beforehand; if "
        "each output does belong to one input, it should declare that by get_feature_names_out, in names that hold "
        "that of the input (a FunctionTransformer by feature_names_out='one-to-one')"
    )


# -- values over columns -----------------------------------------------------------------------------------------------


def scatter_to_input(
    values: FloatArray, columns: IntArray, n_features: int
) -> FloatArray:
    """Give each of the columns its value and zero to all others."""
    # Adds, because a bagged model may have seen a feature twice.
    return np.bincount(columns, weights=values, minlength=n_features).astype(
        np.float64, copy=False
    )


def combine_parts(values: FloatArray, columns: IntArray, n_features: int) -> FloatArray:
    """Give each input the Euclidean norm of the values of its parts."""
    return np.sqrt(np.bincount(columns, weights=values**2, minlength=n_features))

"""Where the weights of a fitted estimator are.

`trace_of` follows an estimator through pipelines, selectors, wrappers and ensembles, and notes which columns selectors
kept and which models along the way may have weights, with the columns each of them saw.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.multioutput import ClassifierChain, RegressorChain
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from skstab._pipelines import class_name, steps_of
from skstab._typing import IntArray
from skstab.runs._columns import (
    Mapped,
    UnmappedError,
    keeps_columns,
    kept_columns,
    mapped_by_names,
    output_to_input_columns,
    unread_columns,
)
from skstab.runs._packed import Selection
from skstab.runs._probing import copied_columns
from skstab.runs._readers import columns_of, read_by_readers
from skstab.runs._values import Getter, declares_weights, own_width
from skstab.runs._view import Take, TakeRows, View, is_sampler

__all__ = [
    "Expanded",
    "Source",
    "Trace",
    "inner_model",
    "is_fitted",
    "known_width",
    "trace_of",
    "width_of",
]


# Their members are different models, whose weights have no common scale, or see more than the features.
_UNIONS = (
    *(StackingClassifier, StackingRegressor, VotingClassifier, VotingRegressor),
    *(ClassifierChain, RegressorChain),
)


class Source(NamedTuple):
    """A model that may have weights, the columns it saw and the data it saw."""

    model: Any
    columns: IntArray
    view: View
    getter: Getter = "auto"
    # Of the members of an ensemble; or of `model`, where a selector brought its own getter.
    traces: tuple[Trace, ...] = ()
    are_copies: bool = True  # whether the members are copies of one model
    read: Selection | None = None  # what a reader said of the model


class Trace(NamedTuple):
    """What selectors kept (None without any), and where weights are, the best place first."""

    n_features: int
    selected: IntArray | None
    sources: tuple[Source, ...]
    # The final model, which may drop columns that reach it; None where a selector has the last word.
    final: Source | None = None
    expanded: Expanded | None = None
    # The columns that are left after a step that dropped some without being a selector; None where all are.
    left: IntArray | None = None

    def inside(self, columns: IntArray, n_features: int) -> Trace:
        """Return the same in the wider space whose `columns` are this one's features."""
        selected = None if self.selected is None else _inside(self.selected, columns)
        sources = (
            s._replace(columns=_inside(s.columns, columns)) for s in self.sources
        )
        final = self.final
        if final is not None:
            final = final._replace(columns=_inside(final.columns, columns))
        left = None if self.left is None else _inside(self.left, columns)
        expanded = (
            None if self.expanded is None else self.expanded.inside(Mapped(columns))
        )
        return Trace(n_features, selected, tuple(sources), final, expanded, left)


def _inside(inner: IntArray, columns: IntArray) -> IntArray:
    # What a member of a chain sees besides the features stays -1.
    return np.where(inner < 0, -1, columns[inner]) if len(columns) else inner


class Expanded(NamedTuple):
    """The trace after a step that made several columns of one, in the space of its outputs."""

    trace: Trace
    outputs: Mapped

    def inside(self, before: Mapped) -> Expanded:
        """Return the same where the inputs are themselves outputs of earlier steps."""
        return Expanded(self.trace, before.then(self.outputs))


def trace_of(estimator: Any, n_features: int, view: View) -> Trace:
    """Trace a fitted estimator that takes `n_features` columns and saw the data of `view`."""
    if isinstance(estimator, FrozenEstimator):
        return trace_of(estimator.estimator, n_features, view)
    read = read_by_readers(estimator)
    if read is None:
        return _trace_unread(estimator, n_features, view)
    return _trace_read(estimator, read, n_features, view)


def _trace_read(estimator: Any, read: Selection, n_features: int, view: View) -> Trace:
    """Trace what a reader says, and by the other ways what it leaves open."""
    if read.support is not None:
        columns = columns_of(
            read.support,
            n_features,
            f"the support that a reader returns for {class_name(estimator)}",
        )
        return _trace_selector(estimator, columns, n_features, view, read)
    source = Source(estimator, np.arange(n_features), view, read=read)
    if read.coef is not None:
        return Trace(n_features, None, (source,), source)
    rest = _trace_unread(estimator, n_features, view)
    return rest._replace(sources=(source, *rest.sources))


def _trace_unread(estimator: Any, n_features: int, view: View) -> Trace:
    if isinstance(estimator, Pipeline):
        return _trace_steps(steps_of(estimator), n_features, view)
    kept = unread_columns(estimator, n_features)
    if kept is not None:
        return _trace_selector(estimator, kept, n_features, view)
    inner = None
    if not declares_weights(estimator):
        inner = inner_model(estimator, (n_features, None))
    if inner is None or not _is_model(estimator):
        passed_on = _passed_on(estimator, n_features, view)
        if passed_on is not None:
            return Trace(n_features, passed_on, ())
    if inner is not None:
        return trace_of(inner, n_features, view.towards(estimator))
    return _trace_model(estimator, n_features, view)


def _passed_on(estimator: Any, n_features: int, view: View) -> IntArray | None:
    """Return the columns that a transformer passes on; None for one that drops none by what it declares."""
    rows = None if view.X is None else view.few_rows
    if isinstance(estimator, ColumnTransformer | FeatureUnion):
        mapped = output_to_input_columns("estimator", estimator, n_features, rows)
        is_selection = mapped.selects or _drops(estimator, n_features, mapped.inputs)
        return mapped.inputs if is_selection else None
    if keeps_columns(estimator):
        return None
    named = None if _is_model(estimator) else mapped_by_names(estimator, n_features)
    if named is None:
        return copied_columns(estimator, n_features, rows)
    return named.inputs if _drops(estimator, n_features, named.inputs) else None


# -- pipelines ---------------------------------------------------------------------------------------------------------


def _trace_steps(
    steps: Sequence[tuple[str, Any]],
    n_features: int,
    view: View,
    *,
    selects: bool = False,
) -> Trace:
    """Trace steps; `selects` where there was a selector before them."""
    columns, left = np.arange(n_features), None
    sources: tuple[Source, ...] = ()
    for position, (name, step) in enumerate(steps, start=1):
        if position == len(steps) and _is_model(step):
            last = trace_of(step, len(columns), view).inside(columns, n_features)
            selected = columns if selects and last.selected is None else last.selected
            return last._replace(
                selected=selected, sources=last.sources + sources, left=left
            )
        kept = kept_columns(step, len(columns))
        if kept is not None:
            here = _trace_selector(
                step, kept, len(columns), view, read_by_readers(step)
            )
            sources, selects, view = (
                here.inside(columns, n_features).sources + sources,
                True,
                view.then(step, kept),
            )
            columns = columns[kept]
            continue
        rows = None if view.X is None else view.few_rows
        try:
            mapped = output_to_input_columns(name, step, len(columns), rows)
        except UnmappedError:
            if position < len(steps):
                raise
            # Nothing comes after it that could drop some of what reaches it.
            return Trace(n_features, columns if selects else None, sources, left=left)
        selects = selects or mapped.selects
        if mapped.labels is not None:
            before = Mapped(columns).then(mapped)
            rest = _trace_steps(
                steps[position:],
                len(mapped.inputs),
                view.then(step, expands=True),
                selects=selects,
            )
            return _in_inputs(rest, before, sources, n_features)
        columns, view = columns[mapped.inputs], view.then(step)
        left = columns if _drops(step, n_features, columns) else left
    return Trace(n_features, columns if selects else None, sources, left=left)


def _in_inputs(
    rest: Trace, before: Mapped, sources: tuple[Source, ...], n_features: int
) -> Trace:
    """Return the trace after an expanding step in the columns of the input, and keep the one in its outputs."""
    whole = rest.inside(before.inputs, n_features)
    expanded = (
        Expanded(rest, before)
        if rest.expanded is None
        else rest.expanded.inside(before)
    )
    return whole._replace(sources=whole.sources + sources, expanded=expanded)


def _drops(step: Any, n_features: int, columns: IntArray) -> bool:
    # An imputer drops columns that have no value at all, which is not a choice.
    return len(columns) < n_features and not isinstance(
        step, SimpleImputer | KNNImputer
    )


def _is_model(step: Any) -> bool:
    """Whether a last step is a model to be traced, and does not only transform."""
    return (
        not hasattr(step, "transform")
        or hasattr(step, "predict")
        or hasattr(step, "best_estimator_")
    )


# -- selectors, models and ensembles -----------------------------------------------------------------------------------


def _trace_selector(
    selector: Any,
    selected: IntArray,
    n_features: int,
    view: View,
    read: Selection | None = None,
) -> Trace:
    every = np.arange(n_features)
    if read is not None and (read.importances is not None or read.coef is not None):
        return Trace(n_features, selected, (Source(selector, every, view, read=read),))
    inner = inner_model(selector, (n_features, len(selected)))
    width = own_width(selector) if inner is None else width_of(inner)
    saw_all = width == n_features or width != len(selected)
    columns, view = (
        (every, view) if saw_all else (selected, view.then(selector, selected))
    )
    if inner is None:
        return Trace(n_features, selected, (Source(selector, columns, view),))
    trace = trace_of(inner, len(columns), view)
    getter = getattr(selector, "importance_getter", "auto")
    if getter != "auto":
        source = Source(inner, columns, view, getter, (trace,))
        return Trace(n_features, selected, (source,))
    return Trace(n_features, selected, trace.inside(columns, n_features).sources)


def _trace_model(model: Any, n_features: int, view: View) -> Trace:
    """Trace a model with weights, or one that is made of members."""
    traces: tuple[Trace, ...] = ()
    if not declares_weights(model):
        members = _members_with_columns(model, n_features)
        traces = tuple(_trace_members(model, members, n_features, view))
    kept = [trace.selected for trace in traces if trace.selected is not None]
    selected = (
        np.unique(np.concatenate(kept)) if kept and len(kept) == len(traces) else None
    )
    source = Source(
        model,
        np.arange(n_features),
        view,
        traces=traces,
        are_copies=not isinstance(model, _UNIONS),
    )
    return Trace(n_features, selected, (source,), source)


def _trace_members(
    ensemble: Any,
    members: Iterable[tuple[Any, IntArray]],
    n_features: int,
    view: View,
) -> Iterable[Trace]:
    every = np.arange(n_features)
    for number, (member, columns) in enumerate(members):
        if (columns < 0).any():
            saw = View(None, None)
        elif np.array_equal(columns, every):
            saw = view
        else:
            saw = view.then(Take(columns), columns)
        if _resamples(member):
            saw = saw.then(TakeRows(ensemble.estimators_samples_[number]))
        yield trace_of(member, len(columns), saw).inside(columns, n_features)


def _resamples(member: Any) -> bool:
    return isinstance(member, Pipeline) and any(
        is_sampler(step) for _, step in steps_of(member)
    )


def _members_with_columns(ensemble: Any, n_features: int) -> list[tuple[Any, IntArray]]:
    """Members of an ensemble with the features each of them saw, -1 for what is not one of the input; or nothing."""
    every = np.arange(n_features)
    if isinstance(ensemble, _UNIONS):
        members = [
            (one, _padded(every, width_of(one), at_end=True))
            for one in ensemble.estimators_
        ]
        if getattr(ensemble, "passthrough", False):
            last = ensemble.final_estimator_
            members.append((last, _padded(every, width_of(last), at_end=False)))
        return members
    copies = _copies(ensemble)
    subsets = getattr(ensemble, "estimators_features_", None)
    subsets = [every] * len(copies) if subsets is None else list(subsets)
    # Of members that cannot be matched with what they saw nothing is known.
    if len(subsets) != len(copies) or any(
        width_of(copy) not in (None, len(columns))
        for copy, columns in zip(copies, subsets, strict=True)
    ):
        return []
    return list(zip(copies, subsets, strict=True))


def _padded(every: IntArray, width: int | None, *, at_end: bool) -> IntArray:
    """Return the features, and -1 for predictions of other members beside them."""
    others = np.full((width or len(every)) - len(every), -1)
    return np.concatenate([every, others] if at_end else [others, every])


def _copies(ensemble: Any) -> list[Any]:
    """Fitted copies of the one model that an ensemble (or a multi-class wrapper) is made of."""
    if hasattr(ensemble, "calibrated_classifiers_"):
        return [member.estimator for member in ensemble.calibrated_classifiers_]
    if not hasattr(ensemble, "estimator"):
        return []
    # A class that is always or never there has a constant in place of a model: no feature weighs in it.
    kind = object if ensemble.estimator is None else type(ensemble.estimator)
    return [
        m
        for m in getattr(ensemble, "estimators_", ())
        if isinstance(m, kind) or isinstance(_last(m), kind)
    ]


def _last(member: Any) -> Any:
    """Return the model itself where a sampler comes before it (imbalanced-learn's balanced bagging)."""
    return (
        steps_of(member)[-1][1]
        if isinstance(member, Pipeline) and steps_of(member)
        else member
    )


def inner_model(wrapper: Any, widths: tuple[int | None, ...]) -> Any:
    """Return the fitted model that a wrapper hands its features to, or None; `widths` are how many it may take."""
    for attribute in ("best_estimator_", "estimator_", "regressor_"):
        inner = getattr(wrapper, attribute, None)
        if inner is not None and is_fitted(inner) and width_of(inner) in widths:
            return inner
    return None


def is_fitted(model: Any) -> bool:
    """Whether a model is fitted, unlike the template that ensembles have as `estimator_`."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def width_of(estimator: Any) -> int | None:
    """Return the number of features a fitted estimator takes, or None where it is unknown."""
    if isinstance(estimator, Pipeline):
        steps = steps_of(estimator)
        return width_of(steps[0][1]) if steps else None
    if hasattr(estimator, "n_features_in_"):
        return int(estimator.n_features_in_)
    if hasattr(estimator, "get_support"):
        return len(estimator.get_support())
    return own_width(estimator)


def known_width(estimator: Any) -> int:
    """Return the number of features a fitted estimator takes."""
    width = width_of(estimator)
    if width is None:
        raise ValueError(
            f"the number of features that {class_name(estimator)} takes is unknown"
        )
    return width

"""Readers: functions that say what an object of some kind selected, where its attributes alone do not.

In this order: readers that the user registered, the object's own `__skstab_selection__`, and readers for packages that
are popular and read otherwise. The latter go by the attributes that fitted objects have, so nothing is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from skstab._pipelines import class_name
from skstab._typing import IntArray
from skstab.runs._packed import Selection

__all__ = [
    "CoefPath",
    "coef_path_of",
    "columns_of",
    "keeps_every_feature",
    "read_by_readers",
    "reading_with",
    "register_reader",
    "registered_readers",
]


class CoefPath(NamedTuple):
    """Coefficients of a linear model at several values of its penalty, all from one fit.

    Parameters
    ----------
    param_name : str
        The parameter of the estimator that takes all values at once, such as `alphas`.
    values : ndarray of shape (n_values,)
        The values, the strongest penalty first.
    coefs : ndarray of shape (n_values, n_features)
        The coefficients at each value. A reading of the model itself takes the last one.

    Examples
    --------
    >>> from skstab.runs import CoefPath
    >>> CoefPath("alphas", [1.0, 0.1], [[0.0, 0.0], [0.0, 2.5]]).param_name
    'alphas'
    """

    param_name: str
    values: Any
    coefs: Any


_SAID = ("support", "importances", "coef")
Reader: TypeAlias = Callable[[Any], Any]
Condition: TypeAlias = type | Callable[[Any], bool]

# -- those of the user -------------------------------------------------------------------------------------------------

_registered: list[tuple[Condition, Reader]] = []
# A worker in another process has registered nothing: it is given the readers of the process that started it.
_given: ContextVar[tuple[tuple[Condition, Reader], ...] | None] = ContextVar(
    "readers", default=None
)


def register_reader(type_or_predicate: Condition, reader: Reader) -> Callable[[], None]:
    """Register how fitted objects of some kind are read.

    Parameters
    ----------
    type_or_predicate : type or callable
        The class of the objects, subclasses included; or a function that takes an object and says whether the reader
        is for it. The reader registered last is asked first.
    reader : callable
        Takes a fitted object and returns a dict with any of `support`, `importances` and `coef`, a
        :class:`Selection`, a support alone, a :class:`CoefPath`, or None for an object that it cannot read. What it
        leaves out is read as without it. A support is a mask, or the indices of the selected columns in the order in
        which `transform` gives them. Importances count with their sign. A `coef`, of shape (n_features,) or
        (n_rows, n_features), counts by size, and what is not zero in it is the support if there is no other.

    Returns
    -------
    remove : callable
        Takes the reader out again.

    See Also
    --------
    selection_of : Reads with them.

    Notes
    -----
    A class of your own needs no registration: give it a method `__skstab_selection__()` that returns the same.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> from skstab.runs import register_reader, selection_of
    >>> class TopTwo(BaseEstimator):
    ...     def fit(self, X, y):
    ...         self.strength_ = np.abs(np.corrcoef(X.T, y)[-1, :-1])
    ...         return self
    >>> def read_top_two(fitted):
    ...     return {"support": np.argsort(-fitted.strength_)[:2], "importances": fitted.strength_}
    >>> remove = register_reader(TopTwo, read_top_two)
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> selection_of(TopTwo().fit(X, X[:, 1] - X[:, 3]), X).support
    array([False,  True, False,  True])
    >>> remove()
    """
    for name, value in (("type_or_predicate", type_or_predicate), ("reader", reader)):
        if not callable(value):
            raise TypeError(f"{name} must be callable, got {value!r}")
    entry = (type_or_predicate, reader)
    _registered.insert(0, entry)
    return lambda: _registered.remove(entry) if entry in _registered else None


def registered_readers() -> tuple[tuple[Condition, Reader], ...]:
    """Return the readers in use, to hand them to a worker.

    Returns
    -------
    readers : tuple of (type or callable, callable)
        The one registered last comes first.

    Examples
    --------
    >>> from skstab.runs import registered_readers
    >>> isinstance(registered_readers(), tuple)
    True
    """
    given = _given.get()
    return tuple(_registered) if given is None else given


@contextmanager
def reading_with(readers: tuple[tuple[Condition, Reader], ...]) -> Iterator[None]:
    """Read with the readers of another process.

    Parameters
    ----------
    readers : tuple of (type or callable, callable)
        What `registered_readers` returned there.

    Yields
    ------
    None
        While the context lasts, nothing else is asked before the object's own `__skstab_selection__`.

    Examples
    --------
    >>> from skstab.runs import reading_with, registered_readers
    >>> with reading_with(()):
    ...     registered_readers()
    ()
    """
    token = _given.set(readers)
    try:
        yield
    finally:
        _given.reset(token)


def _is_for(condition: Condition, estimator: Any) -> bool:
    return (
        isinstance(estimator, condition)
        if isinstance(condition, type)
        else bool(condition(estimator))
    )


# -- asking them -------------------------------------------------------------------------------------------------------


def read_by_readers(estimator: Any) -> Selection | None:
    """Ask all readers; what one of them leaves open the next may fill. None where none of them has an answer."""
    if not _has_readers(estimator):
        return None
    found: Selection | None = None
    for answer in _answers(estimator):
        one = _as_selection(answer, estimator)
        found = one if found is None else _filled(found, one)
    return found


def coef_path_of(estimator: Any) -> CoefPath | None:
    """Return the path that a fitted estimator holds in its coefficients, if a reader says that there is one.

    Parameters
    ----------
    estimator : object
        A fitted model.

    Returns
    -------
    path : CoefPath or None
        The coefficients at all values.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso
    >>> from skstab.runs import coef_path_of
    >>> coef_path_of(Lasso().fit([[0.0], [1.0]], [0, 1])) is None
    True
    """
    return next(
        (answer for answer in _answers(estimator) if isinstance(answer, CoefPath)), None
    )


def _has_readers(estimator: Any) -> bool:
    """Find out quickly that there is none, as for all of scikit-learn."""
    if _registered or _given.get() or hasattr(type(estimator), "__skstab_selection__"):
        return True
    return not _ATTRIBUTES.isdisjoint(getattr(estimator, "__dict__", ()))


def _answers(estimator: Any) -> Iterator[Any]:
    asked = [
        reader(estimator)
        for condition, reader in registered_readers()
        if _is_for(condition, estimator)
    ]
    yield from (answer for answer in asked if answer is not None)
    if hasattr(type(estimator), "__skstab_selection__"):
        yield estimator.__skstab_selection__()
    own = getattr(estimator, "__dict__", {})
    found = (read(estimator) for name, read in _PACKAGES.items() if name in own)
    yield from (answer for answer in found if answer is not None)


def _as_selection(answer: Any, estimator: Any) -> Selection:
    if isinstance(answer, Selection):
        return answer
    if isinstance(answer, CoefPath):
        return Selection(None, None, np.asarray(answer.coefs)[-1], has_selector=False)
    if isinstance(answer, list | tuple | np.ndarray):
        return Selection(np.asarray(answer), None, None, has_selector=True)
    if isinstance(answer, Mapping) and answer.keys() <= set(_SAID):
        support, importances, coef = (answer.get(name) for name in _SAID)
        return Selection(support, importances, coef, has_selector=support is not None)
    raise TypeError(
        f"the reader of {class_name(estimator)} must return a dict with any of {', '.join(_SAID)}, a Selection, a "
        f"CoefPath or a support, got {answer!r}"
    )


def _filled(first: Selection, other: Selection) -> Selection:
    support, importances, coef = (
        b if a is None else a for a, b in zip(first[:3], other[:3], strict=True)
    )
    return Selection(support, importances, coef, has_selector=support is not None)


def columns_of(support: Any, n_features: int, who: str) -> IntArray:
    """Return the columns of a support that is a mask or indices, in the order given."""
    given = np.asarray(support)
    if given.dtype == bool and given.shape == (n_features,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(
            f"{who} must be a mask of {n_features} features, or indices of columns, got {support!r}"
        )
    # Each column once: a mask of 0 and 1 is not, unless there are no more than two features.
    is_mask = given.shape == (n_features,) and set(given.tolist()) <= {0, 1}
    is_indices = len(set(given.tolist())) == given.size and set(given.tolist()) <= set(
        range(n_features)
    )
    if is_mask == is_indices and given.size:
        raise ValueError(
            f"{who} must be a mask of {n_features} features, or indices of columns, got {given.tolist()!r}"
            + (", which may be either: return booleans" if is_mask else "")
        )
    return np.flatnonzero(given) if is_mask and given.size else given.astype(np.int64)


# -- those of packages, by an attribute that only their fitted objects have --------------------------------------------


def _mlxtend(selector: Any) -> Any:
    return {"support": np.array(selector.k_feature_idx_, dtype=np.int64)}


def _mlxtend_exhaustive(selector: Any) -> Any:
    is_one = hasattr(selector, "subsets_") and hasattr(selector, "transform")
    return {"support": np.array(selector.best_idx_, dtype=np.int64)} if is_one else None


def _skrebate(selector: Any) -> Any:
    kept = np.asarray(selector.top_features_)[: selector.n_features_to_select]
    return {"support": kept, "importances": np.asarray(selector.feature_importances_)}


def _fastcan(selector: Any) -> Any:
    # It has scores of the selected features alone, in the order in which they were selected.
    scores: Any = getattr(selector, "scores_", None)
    if np.size(scores) != np.size(selector.indices_) or not hasattr(
        selector, "get_support"
    ):
        return None
    importances = np.zeros(len(selector.get_support()))
    importances[selector.indices_] = selector.scores_
    return {"importances": importances}


def _group_lasso(model: Any) -> Any:
    # One row per feature; a column per output.
    return {"coef": np.asarray(model.coef_).T}


def _coxnet(model: Any) -> Any:
    # One row per feature, one column per alpha, the strongest first; it predicts with the last one.
    is_path = hasattr(model, "alphas_") and np.ndim(model.coef_) == 2
    return (
        CoefPath("alphas", np.asarray(model.alphas_), np.asarray(model.coef_).T)
        if is_path
        else None
    )


def _componentwise_boosting(model: Any) -> Any:
    # An intercept comes first; importances, which are missing where a feature was never chosen, count the rounds.
    is_one = hasattr(next(iter(model.estimators_), None), "component") and hasattr(
        model, "coef_"
    )
    return {"coef": np.asarray(model.coef_)[1:]} if is_one else None


_PACKAGES: dict[str, Reader] = {
    "k_feature_idx_": _mlxtend,
    "best_idx_": _mlxtend_exhaustive,
    "top_features_": _skrebate,
    "indices_": _fastcan,
    "group_reg_vector_": _group_lasso,
    "deviance_ratio_": _coxnet,
    "estimators_": _componentwise_boosting,
}
_ATTRIBUTES = frozenset(_PACKAGES)


def keeps_every_feature(model: Any) -> bool:
    """Whether a linear model of another package is one whose penalty, if any, drops no feature."""
    # Cox's model with a ridge penalty, and survival machines of scikit-survival.
    return hasattr(type(model), "baseline_survival_") or "optimizer_result_" in getattr(
        model, "__dict__", {}
    )

"""Importances of forests: what permuting a feature costs on the rows that each tree did not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils import check_array

from skstab._checks import check_int, naming
from skstab._pipelines import class_name
from skstab._random import draw_entropy, stream
from skstab._typing import Estimator, FloatArray, IntArray, MatrixLike, RandomState
from skstab.inspection._importance import read_rows

__all__ = ["oob_permutation_importance"]

# From the targets of some rows and several sets of predictions for them, to one score for each set.
Scores: TypeAlias = Callable[[Any, FloatArray], FloatArray]


@naming("model", "X", "y")
def oob_permutation_importance(
    model: Estimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    n_repeats: int = 1,
    random_state: RandomState = None,
) -> FloatArray:
    """Importance of the features of a forest: the accuracy that its trees lose when a feature is permuted.

    For each tree and feature the values of the feature are permuted among the rows that the tree was not fitted on; the
    decrease of the tree's accuracy on these rows is averaged over the trees.

    Parameters
    ----------
    model : object
        A fitted forest with bootstrap samples: `RandomForestClassifier` or `RandomForestRegressor`, extra trees with
        `bootstrap=True`, `RandomSurvivalForest` of scikit-survival, or a bagging ensemble of any model.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows the forest was fitted on, in the same order.
    y : array-like of shape (n_samples,)
        The target: classes, numbers, or a structured array of events and times.
    n_repeats : int, default=1
        Number of permutations of each feature for each tree. With hundreds of trees one is enough.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.

    Returns
    -------
    importances : ndarray of shape (n_features,)
        Decrease of the accuracy of a classifier, increase of the squared error of a regressor in units of the variance
        of y, decrease of the concordance index of a survival model. Values below zero are those of unimportant
        features, and count so in `StabilityCV`.

    See Also
    --------
    flip_importance : For any classifier.

    Notes
    -----
    A tree is asked once, for all features that it splits on: others change none of its predictions.

    References
    ----------
    Breiman, Random forests, Machine Learning 45 (2001).

    Hamer and Dupont, An Importance Weighted Feature Selection Stability Measure, JMLR 2021, section 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> from functools import partial
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skstab.inspection import oob_permutation_importance
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> y = X[:, 2] > 0
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> int(oob_permutation_importance(forest, X, y, random_state=0).argmax())
    2

    In `StabilityCV`, with a seed:

    >>> from skstab import BootstrapSplit, StabilityCV
    >>> getter = partial(oob_permutation_importance, random_state=0)
    >>> cv = BootstrapSplit(4, random_state=0)
    >>> runs = StabilityCV(forest, cv=cv, measure="pearson", importance_getter=getter).fit(X, y)
    >>> runs.importances_.argmax(axis=1)
    array([2, 2, 2, 2])
    """
    repeats, entropy = (
        check_int(n_repeats, "n_repeats", least=1),
        draw_entropy(random_state),
    )
    rows = check_array(
        read_rows(model, X), accept_sparse="csr", dtype=np.float32, order="C"
    )
    samples, (target, scores) = (
        _samples_of(model, rows),
        _scores_of(model, y, rows.shape[0]),
    )
    lost = [
        _lost_by_permuting(tree, rows, target, scores, repeats, stream(entropy, number))
        for number, tree in enumerate(_trees_of(model, samples, rows.shape))
        if len(tree.outside) > 1
    ]
    if not lost:
        raise ValueError(
            f"each tree of {class_name(model)} has seen nearly all rows: there are none to permute"
        )
    return np.asarray(np.mean(lost, axis=0))


# Marks it, for `importance_getter`, as one whose negative values are unimportant.
oob_permutation_importance.signed = True  # type: ignore[attr-defined]


# -- trees -------------------------------------------------------------------------------------------------------------


class _Tree(NamedTuple):
    """One member: the columns it was given, those of them that it uses, and the rows it was not fitted on."""

    model: Any
    columns: IntArray
    used: IntArray
    outside: IntArray


def _samples_of(model: Any, X: Any) -> list[Any]:
    if not hasattr(model, "estimators_samples_") or not getattr(
        model, "bootstrap", False
    ):
        raise ValueError(
            f"model must be a forest with bootstrap samples (bootstrap=True), {class_name(model)} has none: each of "
            "its trees has seen all rows"
        )
    samples = list(model.estimators_samples_)
    if max(sample.max(initial=0) for sample in samples) >= X.shape[0]:
        raise ValueError(
            f"X must be the rows that {class_name(model)} was fitted on, got only {X.shape[0]} rows"
        )
    return samples


def _trees_of(model: Any, samples: list[Any], shape: tuple[int, int]) -> list[_Tree]:
    every = np.arange(shape[1])
    columns = getattr(model, "estimators_features_", [every] * len(samples))
    return [
        _Tree(
            member,
            np.asarray(own),
            _used(member, len(own)),
            np.setdiff1d(np.arange(shape[0]), sample),
        )
        for member, own, sample in zip(model.estimators_, columns, samples, strict=True)
    ]


def _used(member: Any, n_columns: int) -> IntArray:
    """Return the columns that a tree splits on; any other model may use all."""
    if not hasattr(member, "tree_"):
        return np.arange(n_columns)
    split_on = np.unique(member.tree_.feature)
    return split_on[split_on >= 0]


def _lost_by_permuting(
    tree: _Tree, X: Any, target: Any, scores: Scores, repeats: int, rng: Any
) -> FloatArray:
    """Return what each feature loses when it is permuted among the rows outside of a tree."""
    lost, n_rows = np.zeros(X.shape[1]), len(tree.outside)
    if not len(tree.used):
        return lost
    inside = X[tree.outside]
    known = np.ascontiguousarray(
        (inside.toarray() if hasattr(inside, "toarray") else inside)[:, tree.columns]
    )
    order = rng.random_sample((repeats, len(tree.used), n_rows)).argsort(axis=-1)
    asked = np.tile(known, (1 + repeats * len(tree.used), 1, 1))
    changed = asked[1:].reshape(repeats, len(tree.used), n_rows, -1)
    for place, column in enumerate(tree.used):
        changed[:, place, :, column] = known[order[:, place], column]
    predicted = _predictions(tree.model, asked.reshape(-1, known.shape[1])).reshape(
        -1, n_rows
    )
    whole, *others = scores(target[tree.outside], predicted)
    decrease = whole - np.reshape(others, (repeats, len(tree.used))).mean(axis=0)
    np.add.at(lost, tree.columns[tree.used], decrease)
    return lost


def _predictions(member: Any, X: FloatArray) -> FloatArray:
    # Trees take their rows as they are, which saves a check that costs more than the prediction.
    options = {"check_input": False} if hasattr(member, "tree_") else {}
    return np.asarray(member.predict(X, **options), dtype=np.float64)


# -- scores ------------------------------------------------------------------------------------------------------------


def _scores_of(model: Any, y: Any, n_rows: int) -> tuple[Any, Scores]:
    """Return the target as members know it, and the score of their predictions."""
    target = np.asarray(y)
    if target.ndim != 1 or len(target) != n_rows:
        raise ValueError(
            f"y must have one entry for each of the {n_rows} rows of X, got shape {target.shape}"
        )
    if target.dtype.names is not None:
        return target, _concordance
    if hasattr(model, "classes_") and is_classifier(model):
        # Members of an ensemble know classes by their number.
        return np.searchsorted(model.classes_, target), _accuracy
    variance = float(np.var(target.astype(np.float64))) or 1.0
    return target.astype(
        np.float64
    ), lambda y, predicted: -((predicted - y) ** 2).mean(axis=1) / variance


def _accuracy(y: Any, predicted: FloatArray) -> FloatArray:
    return np.asarray((predicted == y).mean(axis=1))


def _concordance(y: Any, predicted: FloatArray) -> FloatArray:
    """Harrell's index: among pairs of which one is known to live shorter, the share with the higher risk; ties half."""
    event, time = event_and_time(y)
    # The one that ended first must have ended with an event; at the same time, the other one without.
    earlier = (time[:, None] < time) | ((time[:, None] == time) & ~event[None, :])
    first, second = np.nonzero(event[:, None] & earlier)
    if not len(first):
        return np.full(len(predicted), 0.5)
    ahead = predicted[:, first] - predicted[:, second]
    return np.asarray(((ahead > 0) + 0.5 * (ahead == 0)).mean(axis=1))


def event_and_time(y: Any) -> tuple[Any, Any]:
    """Return the two fields of a structured target: whether the event was observed, and when observation ended."""
    names = y.dtype.names
    events = [name for name in names if y.dtype[name].kind == "b"]
    times = [name for name in names if y.dtype[name].kind in "iuf"]
    if len(events) != 1 or len(times) != 1:
        raise ValueError(
            f"y must have one field of booleans (event) and one of numbers (time), got {y.dtype}"
        )
    return y[events[0]], y[times[0]].astype(np.float64)

"""Evidence for single features: how often halves of the data select them, beside copies without information."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.stats import false_discovery_control
from sklearn.base import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline

from skstab._checks import check_int, check_run_settings, check_support_from
from skstab._compat import take_columns
from skstab._decoys import (
    exchanged_rows,
    pvalues_by_decoys,
    pvalues_by_importance,
    with_decoys,
)
from skstab._engine.candidates import lone_candidate
from skstab._engine.job import Part
from skstab._engine.make import one_study
from skstab._engine.work import RunPlan
from skstab._matrices import group_codes
from skstab._random import draw_entropy, random_parameters, stream
from skstab._typing import Estimator, FloatArray, IndexArray, MatrixLike, RandomState
from skstab._warnings import warn_user
from skstab.model_selection._assessment import selects_rarely
from skstab.model_selection._resampling import is_labelled, splits_of
from skstab.model_selection._sample import check_lengths
from skstab.model_selection._search_runs import runs_of
from skstab.model_selection._split import ComplementaryPairsSplit
from skstab.model_selection._validation import check_estimator, read_data
from skstab.runs import Runs

__all__ = ["DecoyEvidence", "decoy_evidence"]

_EVERY = 100  # columns up to which each has a decoy
_RARE = 0.1  # share of the rarer value of a column of two values
_FEWEST_IMPORTANT = 3  # decoys that are ever selected, for a tail of importances
_FEW = 20  # decoys of one kind, below which they are compared with all of them, too
LEVEL = 0.05  # of q-values


@dataclass(frozen=True, repr=False, eq=False)
class DecoyEvidence:
    """How often features, and copies of them without information, were selected; made by :func:`decoy_evidence`.

    Parameters
    ----------
    runs : Runs
        What the halves selected of the features, beside decoys: the halves of each draw one after the other.
    decoys : Runs
        What the same runs selected of the decoys.
    columns : array-like of int of shape (n_decoys,)
        The feature that each decoy is a copy of.
    kinds : array-like of shape (n_features,)
        The kind of each feature; features are compared with decoys of their kind.
    n_draws : int
        Number of draws of decoys.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import Lasso
    >>> from skstab.model_selection import DecoyEvidence, decoy_evidence
    >>> X, y = make_regression(80, 10, n_informative=2, noise=5, random_state=0)
    >>> evidence = decoy_evidence(Lasso(alpha=5), X, y, random_state=0)
    >>> isinstance(evidence, DecoyEvidence)
    True
    >>> evidence
    DecoyEvidence(2 of 10 features above decoys, 5 draws, 80 halves)
    """

    runs: Runs
    decoys: Runs
    columns: IndexArray
    kinds: Any
    n_draws: int

    def frame(self, *, clusters: ArrayLike | None = None) -> pd.DataFrame:
        """Compare the features with the decoys.

        Parameters
        ----------
        clusters : array-like of shape (n_features,), default=None
            A label for each feature: a cluster is selected where any of its members is, and is compared with the
            decoys of clusters. None compares the features themselves.

        Returns
        -------
        table : DataFrame
            One row per feature, or cluster in the order of the first features: `halves`, the share of the halves that
            selected it beside decoys; `decoy`, the same of its own decoys, or, where it has none, of all of its kind;
            `pvalue`, how often decoys of its kind are as important on average over the halves, or, where not every
            column has a decoy or too few are selected, are selected as often; and `qvalue`, adjusted for all
            features (Benjamini and Hochberg).
        """
        labels = self.runs.feature_names if clusters is None else clusters
        codes = np.arange(self.runs.n_features)
        if clusters is not None:
            labels, codes = group_codes(clusters, len(codes), "clusters")
        real = self.runs.grouped(codes)
        own = real.frequencies().to_numpy()
        units, draws = self._decoys_of(codes)
        per_draw = np.array([runs.frequencies().to_numpy() for runs in draws])
        first = np.unique(codes, return_index=True)[1]
        kinds = [
            f"{kind} {size}"
            for kind, size in zip(
                np.asarray(self.kinds)[first], _sizes(codes), strict=True
            )
        ]
        alike = _Kinds(np.array(kinds), units)
        pvalues = self._pvalues(own, per_draw, self._importances(real, draws), alike)
        mean = np.full(len(own), per_draw.mean())
        mean[units] = per_draw.mean(axis=0)
        columns = {
            "halves": own,
            "decoy": mean,
            "pvalue": pvalues,
            "qvalue": false_discovery_control(pvalues),
        }
        return pd.DataFrame(columns, index=pd.Index(labels, name="feature"))

    def _pvalues(
        self, own: FloatArray, per_draw: FloatArray, importances: Any, kinds: _Kinds
    ) -> FloatArray:
        """Compare the importances or, where these are not known or hardly any decoy has one, the frequencies."""
        pvalues = np.ones(len(own))
        n_halves = len(self.runs) // self.n_draws
        for kind in np.unique(kinds.of_feature):
            members = np.flatnonzero((kinds.of_feature == kind) & (own > 0))
            pool, least = kinds.decoys_of(kind, per_draw)
            found = pvalues_by_decoys(own[members], pool, n_halves, least_mean=least)
            if importances is not None:
                pool, least = kinds.decoys_of(kind, importances[1])
                if np.count_nonzero(pool) >= _FEWEST_IMPORTANT:
                    pool = pool * max(least / pool.mean(), 1.0)
                    found = pvalues_by_importance(importances[0][members], pool)
            pvalues[members] = found
        return pvalues

    def _importances(self, real: Runs, draws: Sequence[Runs]) -> Any:
        """Mean importances of the features, and of each draw of decoys; None where not every column has a decoy."""
        known = self.runs.tables.importances is not None
        if not known or len(self.columns) < self.runs.n_features:
            return None
        return _mean_importances(real), np.array(list(map(_mean_importances, draws)))

    def _decoys_of(self, codes: IndexArray) -> tuple[IndexArray, list[Runs]]:
        """The features, or clusters, that have decoys; and the runs of these, of each draw."""
        units, inner = np.unique(codes[self.columns], return_inverse=True)
        of_all = self.decoys.grouped(inner)
        order = np.unique(inner, return_index=True)[1].argsort()
        size = len(of_all) // self.n_draws
        parts = [
            of_all.take(slice(draw * size, (draw + 1) * size))
            for draw in range(self.n_draws)
        ]
        return units[order], parts

    def __repr__(self) -> str:
        above = int((self.frame()["qvalue"] <= LEVEL).sum())
        return (
            f"DecoyEvidence({above} of {self.runs.n_features} features above decoys, "
            f"{self.n_draws} draws, {len(self.runs)} halves)"
        )


def _sizes(codes: IndexArray) -> Any:
    """How many chances a cluster has: its number of members, in classes."""
    sizes = np.bincount(codes)
    return np.minimum(np.ceil(np.log2(sizes)), 3).astype(int)


def _mean_importances(runs: Runs) -> FloatArray:
    table: Any = runs.tables.importances
    return np.asarray(table.mean(axis=0)).ravel()


class _Kinds(NamedTuple):
    """The kind of each feature, and which features have decoys."""

    of_feature: Any
    units: IndexArray

    def decoys_of(self, kind: Any, decoys: FloatArray) -> tuple[FloatArray, float]:
        """Values of decoys of a kind, and 0; where they are few those of all, and the mean of these few."""
        pool = decoys[:, self.of_feature[self.units] == kind].ravel()
        if pool.size >= _FEW:
            return pool, 0.0
        return decoys.ravel(), pool.mean() if pool.size else 0.0


@one_study()
def decoy_evidence(
    estimator: Estimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    n_draws: int = 5,
    n_pairs: int = 8,
    support_from: str = "used",
    groups: ArrayLike | None = None,
    checkpoint: str | PathLike[str] | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> DecoyEvidence:
    """Compare how often features are selected with copies of them that hold no information.

    Decoys are columns of X with the rows in random order. They are put beside X, and the selector is fitted as it is,
    on the real target, on halves of the rows.

    Parameters
    ----------
    estimator : estimator
        A selector, a sparse model or a pipeline, of a kind that :class:`~skstab.model_selection.StabilityCV` wraps.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,)
        The target.
    n_draws : int, default=5
        How many times decoys are drawn for the whole table.
    n_pairs : int, default=8
        Number of pairs of halves, at least 3; the same for all draws.
    support_from : {"used", "selector"}, default="used"
        What counts as selected, as for :class:`~skstab.model_selection.StabilityCV`.
    groups : array-like of shape (n_samples,), default=None
        Groups of rows (patients): halves take them whole, and decoys exchange the rows of whole groups.
    checkpoint : str or path-like, default=None
        A file in which finished runs are stored, as for :class:`~skstab.model_selection.StabilityCV`.
    max_seconds : float, default=None
        Seconds that a run may take. One that takes longer is stopped, and has failed. With limits each run has a
        process of its own, which takes about a tenth of a second more.
    max_memory : int, default=None
        Bytes that a run may need beyond those that its process starts with; on Linux only.
    n_jobs : int, default=None
        Number of runs at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of the halves, the decoys and what is random in the estimator.
    verbose : int, default=0
        From 1 on, a line on standard error says how far the runs are.

    Returns
    -------
    evidence : DecoyEvidence
        With `frame()`: one row per feature, with its share of the halves, that of its decoys, and q-values.

    See Also
    --------
    skstab.model_selection.assess_selector : Includes it.
    skstab.feature_selection.StabilitySelection : Selects against decoys along a path.

    Notes
    -----
    Decoys are drawn for the whole table, not for each half: a feature without information still goes with the target
    a little by chance in this table, which all halves share. Features are above decoys where the `qvalue` is at most
    0.05. In simulations (`benchmarks/evidence.py`) noise made up at most 5% of these on average, unless it correlates
    with a feature that matters: *a feature that is only correlated with one counts as found*.

    Where most halves select nothing (a penalty `C` counts rows, and is stronger on fewer of them), they are taken with
    each row twice.

    Up to 100 columns, each has a decoy, and importances are compared, averaged over the halves with 0 where a feature
    is not selected: a selector that takes most of the columns also takes most of the decoys, and frequencies say
    little. Of more columns, those have a decoy that any half selects without decoys, and as many others drawn at
    random; then, or without importances, or where hardly any decoy is selected, frequencies are compared. A selector
    that keeps a fixed number of features gives some of these places to decoys: its shares are then lower than without
    them. Features are compared with decoys of their kind: constant within groups, with few ones among zeros,
    categories, or others. Where a `ColumnTransformer` names columns, decoys are encoded as their originals are. An
    estimator that chooses columns by name in another way does not see the decoys, and the comparison is then void.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import Lasso
    >>> from skstab.inspection import decoy_evidence
    >>> X, y = make_regression(80, 10, n_informative=2, noise=5, random_state=0)
    >>> evidence = decoy_evidence(Lasso(alpha=5), X, y, random_state=0)
    >>> evidence.frame().query("qvalue <= 0.05")["halves"]
    feature
    x1    1.0
    x2    1.0
    Name: halves, dtype: float64
    """
    check_estimator(estimator)
    check_int(n_draws, "n_draws", least=1)
    check_int(n_pairs, "n_pairs", least=3)
    check_support_from(support_from)
    settings = check_run_settings(
        checkpoint=checkpoint,
        max_seconds=max_seconds,
        max_memory=max_memory,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    data, target = read_data(X, y, needs_classes=not is_regressor(estimator))
    if target is None:
        raise ValueError("y must be a target, got None")
    check_lengths(data, target, groups)
    entropy = draw_entropy(random_state)
    stratify = is_classifier(estimator) and groups is None and is_labelled(target)
    halves = ComplementaryPairsSplit(
        2 * n_pairs, stratify=stratify, random_state=stream(entropy, 0)
    )
    splits = splits_of(
        halves, data, target, {} if groups is None else {"groups": groups}
    )

    def on_halves(model: Any, table: Any, number: int, splits: Any) -> Runs:
        part = Part(target, splits, [*entropy, number])
        plan = RunPlan(model, support_from=support_from)
        names = random_parameters(model, everywhere=False)
        (runs,) = runs_of(
            plan,
            [lone_candidate(model, names)],
            table,
            part,
            _names(table),
            about=f"decoy_evidence of {type(estimator).__name__}",
            **settings,
        )
        return runs

    whole = _before_decoys(estimator)
    model = estimator if whole is None else _twin(estimator, whole, data)

    def draws_on(splits: Any) -> tuple[list[Runs], IndexArray]:
        columns = np.arange(data.shape[1])
        if data.shape[1] > _EVERY and whole is None:
            alone = on_halves(estimator, data, n_draws, splits)
            ever = np.flatnonzero(alone.frequencies().to_numpy())
            columns = _columns_with_decoys(ever, data.shape[1], stream(entropy, 2))
        every = []
        for draw in range(n_draws):
            rows = exchanged_rows(data.shape[0], groups, stream(entropy, 3, draw))
            chosen = slice(None) if len(columns) == data.shape[1] else columns
            table = with_decoys(data, rows, chosen)
            every.append(on_halves(model, table, draw, splits))
        return every, columns

    every, columns = draws_on(splits)
    if selects_rarely(every[0]):
        twice = [(np.tile(train, 2), test) for train, test in splits]
        every, columns = draws_on(twice)
    return _evidence(every, data, columns, groups)


def _names(X: Any) -> list[str] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def evidence_or_none(
    estimator: Any, X: Any, y: Any, *, n_draws: int, **settings: Any
) -> DecoyEvidence | None:
    """The same, or None with a warning where the estimator does not take more columns."""
    if n_draws == 0:
        return None
    try:
        return decoy_evidence(estimator, X, y, n_draws=n_draws, **settings)
    except ValueError as error:
        warn_user(f"features are not compared with decoys: {error}")
        return None


def _columns_with_decoys(ever: IndexArray, n_features: int, rng: Any) -> IndexArray:
    """What was selected at all, and as many others."""
    others = np.setdiff1d(np.arange(n_features), ever)
    n_others = min(max(len(ever), _EVERY // 2), len(others))
    return np.sort(np.concatenate([ever, rng.choice(others, n_others, replace=False)]))


def _evidence(
    every: Sequence[Runs], X: Any, columns: IndexArray, groups: Any
) -> DecoyEvidence:
    n_features, size = X.shape[1], min(map(len, every))
    whole = Runs.concat([runs.take(slice(size)) for runs in every])
    real = _part(whole, slice(n_features))
    decoys = _part(whole, slice(n_features, None))
    ever = np.flatnonzero(real.frequencies().to_numpy())
    kinds = _kinds_of(X, groups, np.union1d(ever, columns))
    return DecoyEvidence(real, decoys, columns, kinds, len(every))


def _part(runs: Runs, columns: slice) -> Runs:
    tables = runs.tables
    return Runs(
        tables.supports[:, columns],
        None if tables.importances is None else tables.importances[:, columns],
        feature_names=runs.feature_names[columns],
    )


def _kinds_of(X: Any, groups: Any, columns: IndexArray) -> Any:
    """What makes columns be selected by chance at different rates; of those that were never selected "other"."""
    kinds = np.full(X.shape[1], "other", dtype=object)
    codes = None
    if groups is not None:
        _, codes = np.unique(np.asarray(groups), return_inverse=True)
    for number, column in zip(columns, _columns_of(X, columns), strict=True):
        found, values = pd.factorize(column, use_na_sentinel=False)
        if len(values) == 2 and np.bincount(found).min() < _RARE * len(found):
            kinds[number] = "rare"
        elif column.dtype.kind not in "biuf" and len(values) > 2:
            kinds[number] = "category"
        if codes is not None and _is_constant_within(found, codes):
            kinds[number] = f"constant {kinds[number]}"
    return kinds


def _columns_of(X: Any, columns: IndexArray) -> Iterator[Any]:
    part = take_columns(X, columns)
    if issparse(part):
        yield from part.toarray().T
    elif hasattr(part, "iloc"):
        yield from (part.iloc[:, number].to_numpy() for number in range(part.shape[1]))
    else:
        yield from np.asarray(part).T


def _is_constant_within(values: Any, codes: Any) -> bool:
    first = np.unique(codes, return_index=True)[1]
    return bool((values == values[first][codes]).all())


# -- pipelines that name columns -------------------------------------------------------


def _before_decoys(estimator: Any) -> int | None:
    """The number of steps of a pipeline up to the last that names columns; None where there is none."""
    steps = estimator.steps if isinstance(estimator, Pipeline) else []
    named = [
        n for n, (_, step) in enumerate(steps) if isinstance(step, ColumnTransformer)
    ]
    return named[-1] + 1 if named else None


def _twin(estimator: Any, n_steps: int, X: Any) -> Pipeline:
    """The pipeline with its first steps twice: for the columns, and for their decoys."""
    first = Pipeline(estimator.steps[:n_steps])
    names = list(X.columns) if hasattr(X, "columns") else None
    d = X.shape[1]
    both = ColumnTransformer(
        [
            ("real", clone(first), slice(d)),
            ("decoy", make_pipeline(_Renamed(names), clone(first)), slice(d, 2 * d)),
        ]
    )
    return Pipeline([("columns", both), *clone(estimator).steps[n_steps:]])


class _Renamed(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Give decoys the names of the columns that they are copies of."""

    def __init__(self, names: Any = None) -> None:
        self.names = names

    def fit(self, X: Any, y: Any = None) -> _Renamed:  # noqa: ARG002
        """Note how many columns there are."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        """Rename the columns of a table."""
        if self.names is None:
            return X
        if hasattr(X, "iloc"):
            return X.set_axis(self.names, axis=1)
        return X.rename(dict(zip(X.columns, self.names, strict=True)))

"""P-values after selection: features are tested on the rows that did not select them, and runs are merged.

Notation: S the features that a run selected, P its p-values on the rows left out, times |S| and 1 outside S; B runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from scipy.stats import chi2
from scipy.stats import f as fisher

from skstab._checks import check_int, is_choice, naming
from skstab._fragility import units_of
from skstab._typing import (
    Estimator,
    FloatArray,
    IndexArray,
    MatrixLike,
    RandomState,
    RunsLike,
)
from skstab.inspection._clusters import check_columns
from skstab.inspection._columns import Block, blocks_of
from skstab.inspection._direction import Target, event_and_time, is_scale
from skstab.inspection._sources import supports_of
from skstab.model_selection import ComplementaryPairsSplit, StabilityCV
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["pvalues_of_runs", "split_pvalues"]

_LEAST_GAMMA = 0.05
_ROWS_PER_FEATURE = 4
_MOST = 50  # features that are tested together
_LEAST_LEFT_OUT = 0.2  # of the rows, on average
_RIDGE = 1e-6  # per row, so that separated classes have finite weights
_STEPS = 30
_MODELS = ("auto", "linear", "logistic", "cox")


def split_pvalues(
    estimator: Estimator | RunsLike,
    X: MatrixLike,
    y: ArrayLike,
    *,
    model: str = "auto",
    n_pairs: int = 25,
    support_from: str = "used",
    checkpoint: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> pd.DataFrame:
    """Test the features that a selector selects on rows that did not take part in the selection.

    Parameters
    ----------
    estimator : estimator, or Runs or what holds runs
        A selector, which is fitted on pairs of disjoint halves of the rows; or runs that are there, with `row_counts`:
        halves, such as `SelectorAssessment.halves`, or bootstraps.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data, also with texts and missing values.
    y : array-like of shape (n_samples,)
        The target: numbers, classes, or a structured array of events and times.
    model : {"auto", "linear", "logistic", "cox"}, default="auto"
        The unpenalised model in which features are tested; "auto" takes that of the target. Several classes are
        compared by a multinomial one.
    n_pairs : int, default=25
        Number of pairs of halves.
    support_from : {"used", "selector"}, default="used"
        What counts as selected, as for :class:`~skstab.model_selection.StabilityCV`.
    checkpoint : str or path-like, default=None
        A file in which finished runs are stored, as for :class:`~skstab.model_selection.StabilityCV`.
    n_jobs : int, default=None
        Number of runs at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of the halves and of what is random in the estimator.

    Returns
    -------
    table : DataFrame
        One row per feature: `frequency`, its share of the runs, and `pvalue`, adjusted for all features: features with
        at most 0.05 include one without an effect in at most 5% of data sets.

    See Also
    --------
    decoy_evidence : Compares with columns without information; needs no model.
    feature_report : Has the p-values as a column, with `pvalues=True`.

    Notes
    -----
    A p-value of a model that is fitted on the rows that selected its features is far too small. Here the features S of
    each run are tested by a model of S alone on the rows left out (F tests, or likelihood ratios), times |S|; those
    not selected have 1. The B values of a feature are merged by quantiles [1]_: (1 − log γ₀)·min P₍ₖ₎·B/k over k ≥ γ₀B,
    with γ₀ = 0.05.

    The test is of the effect *given the other selected features*: of two near copies that are both selected neither
    need be significant, and a feature that only stands for one that was not selected can be. The model has to be right,
    and rows have to be independent: runs of groups of rows are refused. At most a quarter as many features are tested
    as there are rows left out (rows outside the largest class, or events), and at most 50: those that are most
    correlated with the target on the rows that selected. Missing numbers are the mean of their column; a category is
    tested as a whole, and its missing values are a level.

    References
    ----------
    .. [1] Meinshausen, N., Meier, L. and Bühlmann, P. (2009). p-values for high-dimensional regression. Journal of the
       American Statistical Association 104.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import Lasso
    >>> from skstab.inspection import split_pvalues
    >>> X, y = make_regression(100, 30, n_informative=3, noise=20, random_state=0)
    >>> table = split_pvalues(Lasso(alpha=5), X, y, random_state=0)
    >>> table[table["pvalue"] <= 0.05].index.tolist()
    ['x12', 'x21', 'x22']
    """
    import pandas as pd

    if not is_choice(model, *_MODELS):
        raise ValueError(f"model must be one of {', '.join(_MODELS)}, got {model!r}")
    check_int(n_pairs, "n_pairs", least=1)
    source: Any = estimator
    if hasattr(source, "fit") and not hasattr(source, "runs_"):
        halves = ComplementaryPairsSplit(2 * n_pairs, random_state=random_state)
        source = StabilityCV(
            source,
            cv=halves,
            support_from=support_from,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
        ).fit(X, y)
    with naming("estimator"):
        runs, _ = supports_of(source)
    check_columns(X, runs.n_features)
    frequency = runs.frequencies()
    codes, names = np.arange(runs.n_features), runs.feature_names
    blocks = blocks_of(X, codes, names, names, frequency.to_numpy() > 0)
    columns = {
        "frequency": frequency.to_numpy(),
        "pvalue": pvalues_of_runs(runs, blocks, y, model),
    }
    return pd.DataFrame(columns, index=pd.Index(names, name="feature"))


def pvalues_of_runs(
    runs: Runs, blocks: Sequence[Block | None], y: Any, model: str = "auto"
) -> FloatArray:
    """Merge the p-values of the features on the rows that each run left out."""
    target, left_out = np.asarray(y), _left_out(runs, len(y))
    test = _test_of(target, model)
    scores = _scores(target)
    designs = [None if block is None else _design(block) for block in blocks]
    pvalues = np.ones((len(runs), len(blocks)))
    supports: Any = runs.tables.supports
    for run, outside in enumerate(left_out):
        row = (
            supports[[run]].toarray() if hasattr(supports, "toarray") else supports[run]
        )
        selected = [int(place) for place in np.flatnonzero(np.ravel(row))]
        parts: dict[int, Any] = {place: designs[place] for place in selected}
        limit = min(_information(target[outside], model) // _ROWS_PER_FEATURE, _MOST)
        kept = _strongest(parts, scores, ~outside, limit)
        if kept:
            own = test([parts[place][outside] for place in kept], target[outside])
            pvalues[run, kept] = np.minimum(np.array(own) * len(kept), 1)
    return merged(pvalues)


def merged(pvalues: FloatArray) -> FloatArray:
    """(1 − log γ₀)·min over γ ≥ γ₀ of the γ-quantile of P/γ, for each column."""
    n = len(pvalues)
    least = int(np.ceil(_LEAST_GAMMA * n))
    places = np.arange(max(least, 1), n + 1)
    quantiles = np.sort(pvalues, axis=0)[places - 1] * (n / places)[:, None]
    price = 1 - np.log(_LEAST_GAMMA)
    return np.asarray(np.minimum(quantiles.min(axis=0) * price, 1.0))


# -- rows and columns ------------------------------------------------------------------


def _left_out(runs: Runs, n_rows: int) -> Any:
    """Which rows each run left out, runs × rows."""
    if runs.row_counts is None:
        raise ValueError(
            "runs must have row_counts, which say which rows trained each run: make "
            "them with StabilityCV, or give row_counts to Runs"
        )
    counts = runs.row_counts.toarray()
    if counts.shape[1] != n_rows:
        raise ValueError(
            f"y must have one entry for each of the {counts.shape[1]} rows of the "
            f"runs, got {n_rows}"
        )
    if _are_grouped(runs, n_rows):
        raise ValueError(
            "p-values take rows for independent, but the runs took groups of them whole"
        )
    outside = counts == 0
    if outside.mean() < _LEAST_LEFT_OUT:
        raise ValueError(
            f"runs must leave out a fifth of the rows, on which features are tested; "
            f"these leave out {outside.mean():.0%}: use ComplementaryPairsSplit"
        )
    return outside


def _are_grouped(runs: Runs, n_rows: int) -> bool:
    """Whether far more rows are counted alike by all runs than happens by chance in so many pairs of halves."""
    patterns = 2.0 ** min(len(runs) / 2, 60)
    by_chance = -patterns * np.expm1(-n_rows / patterns)
    return bool(units_of(runs.row_counts).max() + 1 < 0.8 * by_chance)


def _design(block: Block) -> FloatArray:
    """The standardised columns of a variable; those of levels add up to a constant, which ranks take into account."""
    numbers = block.numbers
    known = ~np.isnan(numbers)
    mean = np.where(known, numbers, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, numbers - mean, 0.0)
    scale = np.sqrt((centred**2).mean(axis=0))
    return np.asarray(centred / np.where(scale > 0, scale, 1.0))


def _strongest(
    parts: dict[int, Any], scores: FloatArray, inside: Any, limit: int
) -> list[int]:
    """At most as many columns as the limit, of the features most correlated with the target on the selecting rows."""
    n_columns = {place: part.shape[1] for place, part in parts.items()}
    if sum(n_columns.values()) <= limit:
        return list(parts)
    t = scores[inside] - scores[inside].mean(axis=0)

    def strength(place: int) -> float:
        z = parts[place][inside]
        z = z - z.mean(axis=0)
        norms = np.sqrt((z**2).sum(axis=0))[:, None] * np.sqrt((t**2).sum(axis=0))
        return float(np.abs(z.T @ t / np.where(norms > 0, norms, np.inf)).max())

    kept: list[int] = []
    for place in sorted(parts, key=strength, reverse=True):
        limit -= n_columns[place]
        if limit < 0:
            break
        kept.append(place)
    return sorted(kept)


def _scores(y: Any) -> FloatArray:
    target = Target.of(y)
    if target is None:
        raise ValueError(f"y must have one output, got shape {y.shape}")
    return target.scores


def _information(y: Any, model: str) -> int:
    """How many rows say something: all of them, those outside the largest class, or events."""
    if y.dtype.names is not None:
        return int(event_and_time(y)[0].sum())
    if _is_linear(y, model):
        return len(y)
    counts = np.unique(y, return_counts=True)[1]
    return int((len(y) - counts.max()) / max(len(counts) - 1, 1))


# -- tests -----------------------------------------------------------------------------

Test: TypeAlias = Callable[[Sequence[FloatArray], Any], list[float]]


def _is_linear(y: Any, model: str) -> bool:
    return model == "linear" or (model == "auto" and is_scale(y))


def _test_of(y: Any, model: str) -> Test:
    if y.dtype.names is not None or model == "cox":
        event_and_time(y)
        if model not in ("auto", "cox"):
            raise ValueError(
                f"model={model!r} does not suit a target of events and times"
            )
        return partial(_likelihood_ratios, _Cox.of)
    if _is_linear(y, model):
        if y.dtype.kind not in "biuf":
            raise ValueError(f"model='linear' needs numbers in y, got {y.dtype}")
        return _f_tests
    return partial(_likelihood_ratios, _Multinomial.of)


def _f_tests(parts: Sequence[FloatArray], y: Any) -> list[float]:
    """F tests of each part in the linear model of all."""
    target = y.astype(float)
    error, rank = _least_squares(parts, target)
    left = len(target) - rank
    pvalues = []
    for place in range(len(parts)):
        without, smaller = _least_squares(_others(parts, place), target)
        if rank == smaller or left < 1:
            pvalues.append(1.0)
            continue
        ratio = (without - error) / (rank - smaller) / max(error / left, 1e-300)
        pvalues.append(float(fisher.sf(ratio, rank - smaller, left)))
    return pvalues


def _least_squares(parts: Sequence[FloatArray], y: FloatArray) -> tuple[float, int]:
    design = np.column_stack([np.ones(len(y)), *parts])
    weights, _, rank, _ = np.linalg.lstsq(design, y, rcond=1e-9)
    rest = y - design @ weights
    return float(rest @ rest), int(rank)


def _others(parts: Sequence[FloatArray], place: int) -> list[FloatArray]:
    return [part for other, part in enumerate(parts) if other != place]


def _likelihood_ratios(
    likelihood_of: Any, parts: Sequence[FloatArray], y: Any
) -> list[float]:
    """Likelihood-ratio tests of each part in the model of all."""
    likelihood = likelihood_of(y)
    whole = np.column_stack(parts)
    best, rank = _maximum(likelihood, whole), _rank(whole)
    pvalues = []
    for place in range(len(parts)):
        others = _others(parts, place)
        design = np.column_stack(others) if others else np.empty((len(y), 0))
        freedom = (rank - _rank(design)) * likelihood.n_outputs
        gain = 2 * (best - _maximum(likelihood, design))
        pvalues.append(float(chi2.sf(gain, freedom)) if freedom else 1.0)
    return pvalues


def _rank(design: FloatArray) -> int:
    if not design.shape[1]:
        return 0
    centred = design - design.mean(axis=0)
    return int(np.linalg.matrix_rank(centred, tol=1e-9 * len(centred)))


def _maximum(likelihood: Any, X: FloatArray) -> float:
    """The log likelihood at its maximum, by Newton steps that are halved where they lead down."""
    weights = np.zeros(likelihood.n_weights(X))
    value, gradient, curvature = likelihood.at(weights, X)
    for _ in range(_STEPS):
        if not len(weights):
            break
        ridge = _RIDGE * len(X) * np.eye(len(weights))
        step = np.linalg.solve(curvature + ridge, gradient)
        for _ in range(_STEPS):
            after = likelihood.at(weights + step, X)
            if after[0] >= value:
                break
            step = step / 2
        gain = after[0] - value
        if gain < 0:
            break
        weights, (value, gradient, curvature) = weights + step, after
        if gain < 1e-9 * (1 + abs(value)):
            break
    return float(value)


class _Multinomial(NamedTuple):
    """Log likelihood of classes, the first one as the base; with an intercept."""

    is_class: FloatArray  # rows × classes

    @classmethod
    def of(cls, y: Any) -> _Multinomial:
        _, codes = np.unique(y.astype(object), return_inverse=True)
        return cls((codes[:, None] == np.arange(codes.max() + 1)) * 1.0)

    @property
    def n_outputs(self) -> int:
        return int(self.is_class.shape[1]) - 1

    def n_weights(self, X: FloatArray) -> int:
        return int(X.shape[1] + 1) * self.n_outputs

    def at(self, weights: FloatArray, X: FloatArray) -> tuple[float, Any, Any]:
        """The value, the gradient and minus the matrix of second derivatives."""
        design = np.column_stack([np.ones(len(X)), X])
        table = weights.reshape(self.n_outputs, -1)
        linear = np.column_stack([np.zeros(len(X)), design @ table.T])
        log_shares = linear - logsumexp(linear, axis=1, keepdims=True)
        shares = np.exp(log_shares[:, 1:])
        gradient = (self.is_class[:, 1:] - shares).T @ design
        outer = -shares[:, :, None] * shares[:, None, :]
        places = np.arange(self.n_outputs)
        outer[:, places, places] += shares
        curvature = np.einsum("nab,ni,nj->aibj", outer, design, design, optimize=True)
        value = float((self.is_class * log_shares).sum())
        return value, gradient.ravel(), curvature.reshape((len(weights),) * 2)


class _Cox(NamedTuple):
    """Partial log likelihood (Breslow), of rows in the order of their times."""

    order: IndexArray
    event: Any
    first: IndexArray  # the first row at risk at the time of each event

    @property
    def n_outputs(self) -> int:
        return 1

    @classmethod
    def of(cls, y: Any) -> _Cox:
        event, time = event_and_time(y)
        order = np.argsort(time, kind="stable")
        ordered = time[order]
        event = event[order].astype(bool)
        return cls(order, event, np.searchsorted(ordered, ordered[event]))

    def n_weights(self, X: FloatArray) -> int:
        return int(X.shape[1])

    def at(self, weights: FloatArray, X: FloatArray) -> tuple[float, Any, Any]:
        """The value, the gradient and minus the matrix of second derivatives."""
        X = X[self.order]
        linear = X @ weights
        shift = linear.max(initial=0.0)
        hazard = np.exp(linear - shift)
        at_risk = np.cumsum(hazard[::-1])[::-1][self.first]
        sums = np.cumsum((hazard[:, None] * X)[::-1], axis=0)[::-1][self.first]
        means = sums / at_risk[:, None]
        value = linear[self.event].sum() - (np.log(at_risk) + shift).sum()
        gradient = X[self.event].sum(axis=0) - means.sum(axis=0)
        # Σ over events of the second moment at risk: each row counts in all risk sets that it is in.
        counts = np.bincount(self.first, 1 / at_risk, minlength=len(X)).cumsum()
        curvature = (X * (hazard * counts)[:, None]).T @ X - means.T @ means
        return float(value), gradient, curvature

"""Whether two cohorts select differently, beyond what sampling explains."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import stdtrit
from sklearn.base import clone, is_classifier

from skstab._checks import (
    check_int,
    check_level,
    check_run_settings,
    check_support_from,
    naming,
)
from skstab._displays import draw
from skstab._random import draw_entropy, stream
from skstab._typing import (
    Display,
    Estimator,
    FloatArray,
    IntArray,
    MatrixLike,
    RandomState,
)
from skstab.metrics import StabilityInterval
from skstab.model_selection._resampling import is_labelled
from skstab.model_selection._sample import check_lengths
from skstab.model_selection._stability_cv import StabilityCV
from skstab.model_selection._validation import check_estimator, read_data
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CohortComparison", "compare_cohorts"]

_LEAST_PAIRS = 3
_LEVEL = 0.05
_SHOWN = 20
_MOST_UNEQUAL = 1.1  # halves of groups do not have the same number of rows
_N_BINS, _MOST_CLASSES = 5, 20  # a target of more different numbers is cut into bins
# Variance over data sets relative to its bound, calibrated by simulation: benchmarks/choices.py.
_OF_BOUND, _LEAST_VARIANCE = 0.35, 0.0002


@dataclass(frozen=True, repr=False, eq=False)
class CohortComparison:
    """What halves of two cohorts selected; made by :func:`compare_cohorts`.

    Parameters
    ----------
    runs : dict of Runs
        By the label of each of the two cohorts, its runs on pairs of disjoint halves. All halves of both cohorts have
        the same number of rows.
    confidence_level : float, default=0.95
        Level of the interval.
    permuted : ndarray of shape (n_permutations,), default=None
        The difference with permuted labels; None where there is only what two sites have stored.
    permuted_features : ndarray of shape (n_permutations,), default=None
        The largest difference of the frequencies of a feature with permuted labels.

    Examples
    --------
    What two sites have stored, each without its rows:

    >>> import numpy as np
    >>> from sklearn.feature_selection import SelectKBest
    >>> from skstab.model_selection import CohortComparison, ComplementaryPairsSplit, StabilityCV
    >>> rng = np.random.default_rng(0)
    >>> sites = {}
    >>> for site, feature in [("Leeds", 0), ("Lyon", 1)]:
    ...     X, y = rng.normal(size=(80, 20)), np.arange(80) % 2
    ...     X[:, [feature, 2, 3]] += y[:, None]
    ...     cv = ComplementaryPairsSplit(20, stratify=True, random_state=0)
    ...     sites[site] = StabilityCV(SelectKBest(k=3), cv=cv).fit(X, y).runs_.without_rows()
    >>> found = CohortComparison(sites)
    >>> print(found.difference)
    0.28 (95% interval -0.02 to 0.58, other data)
    """

    runs: dict[Any, Runs]
    _: KW_ONLY
    confidence_level: float = 0.95
    permuted: FloatArray | None = None
    permuted_features: FloatArray | None = None

    def __post_init__(self) -> None:
        _check_runs(self.runs)
        check_level(self.confidence_level)

    # -- how different -------------------------------------------------------------------------------------------------

    @property
    def within(self) -> float:
        """Stability of two disjoint halves of the same cohort, over both cohorts."""
        return self._halves.within

    @property
    def between(self) -> float:
        """Stability of two halves of different cohorts."""
        return self._halves.between

    @property
    def difference(self) -> StabilityInterval:
        """By how much two samples of different cohorts agree less than two of the same one: `within` − `between`.

        Its interval is about other data from the same two cohorts. It can be below zero, where the true difference
        cannot: that is the sampling error.
        """
        halves = self._halves
        estimate, error = self.within - self.between, halves.error
        n_pairs = len(halves.overlaps)
        quantile = stdtrit(n_pairs - 1, (1 + self.confidence_level) / 2)
        return StabilityInterval(
            estimate,
            estimate - quantile * error,
            estimate + quantile * error,
            error,
            "cohorts",
            self.confidence_level,
            about="other data",
        )

    @property
    def pvalue(self) -> float:
        """P-value of no difference, by permuted labels; NaN where there are none."""
        if self.permuted is None:
            return np.nan
        return _share_as_large(self.permuted, self.within - self.between)

    def frame(self) -> pd.DataFrame:
        """Tabulate the features, those that differ most first.

        Returns
        -------
        table : DataFrame
            One row per feature, indexed by its name: the share of halves of each cohort that select it, in columns
            named `frequency_` and the label of the cohort; the `difference`, first minus second; and its `pvalue`,
            adjusted for the number of features: the share of permuted labels with which some feature differs as much.
        """
        import pandas as pd

        first, second = self.runs
        shares = {name: runs.frequencies() for name, runs in self.runs.items()}
        difference = shares[first] - shares[second]
        table = pd.DataFrame(
            {
                f"frequency_{first}": shares[first],
                f"frequency_{second}": shares[second],
                "difference": difference,
                "pvalue": np.nan,
            }
        )
        if self.permuted_features is not None:
            table["pvalue"] = [
                _share_as_large(self.permuted_features, abs(value))
                for value in difference
            ]
        order = (-difference.abs()).argsort(kind="stable")
        return table.iloc[order]

    @property
    def verdict(self) -> str:
        """What is shown at the level of 5%, with permuted labels or, without them, by the interval of the difference.

        "the cohorts select differently" or "no difference beyond sampling is shown".
        """
        by_interval = self.permuted is None
        differs = self.difference.low > 0 if by_interval else self.pvalue <= _LEVEL
        if differs:
            return "the cohorts select differently"
        return "no difference beyond sampling is shown"

    def plot(self, *, ax: Any = None, **options: Any) -> Display:
        """Draw how often the halves of each cohort select the features that differ most.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **options : dict
            Parameters of `from_cohorts` and `plot` of :class:`skstab.inspection.CohortComparisonDisplay`.

        Returns
        -------
        display : CohortComparisonDisplay
            Drawn, with `ax_` and `figure_`.
        """
        return draw("cohorts", self, ax=ax, **options)

    @cached_property
    def _halves(self) -> _Halves:
        first, second = self.runs.values()
        tables = [
            csr_array(runs.in_pairs().table_for("nogueira"), dtype=np.float64)
            for runs in (first, second)
        ]
        return _Halves(tables, (_row_share(first), _row_share(second)))

    def _summary(self) -> str:
        stabilities = f"stability within a cohort {self.within:.2f}, between them {self.between:.2f}"
        parts = [self.verdict, f"{stabilities}; difference {self.difference}"]
        if self.permuted is not None:
            n = len(self.permuted)
            as_large = round(self.pvalue * (n + 1)) - 1
            parts.append(f"{as_large or 'none'} of {n} permuted labels did as much")
        return "; ".join(parts)

    def __repr__(self) -> str:
        return f"CohortComparison({self._summary()})"

    def _repr_html_(self) -> str:
        html: str = self.frame().head(_SHOWN).to_html(float_format="{:.3f}".format)
        return f"<div><p><strong>{escape(self._summary())}</strong></p>{html}</div>"


class _Halves(NamedTuple):
    """What the halves of each of two cohorts selected, CSR of ones, those of a pair one after the other."""

    tables: list[Any]
    row_shares: tuple[float, float] = (0.5, 0.5)  # of a half in the rows of the cohort

    @property
    def frequencies(self) -> list[FloatArray]:
        return [table.mean(axis=0) for table in self.tables]

    @property
    def largest(self) -> float:
        """The largest difference of the frequencies of a feature."""
        return float(np.abs(np.subtract(*self.frequencies)).max())

    @property
    def size(self) -> float:
        return float(np.mean([table.sum(axis=1).mean() for table in self.tables]))

    @property
    def null(self) -> float:
        """Distance of two random selections: k̄(1 − k̄/d)."""
        n_features: int = self.tables[0].shape[1]
        return self.size * (1 - self.size / n_features)

    @property
    def overlaps(self) -> FloatArray:
        """Number of features that both halves of each pair select, the mean over the cohorts."""
        of_cohorts = [(table[::2] * table[1::2]).sum(axis=1) for table in self.tables]
        n_pairs = min(map(len, of_cohorts))
        shared: FloatArray = np.mean([one[:n_pairs] for one in of_cohorts], axis=0)
        return shared

    @property
    def within(self) -> float:
        """Stability of the two halves of a pair."""
        of_cohorts = [(table[::2] * table[1::2]).sum() for table in self.tables]
        n_pairs = [table.shape[0] / 2 for table in self.tables]
        return self._stability(float(np.mean(np.divide(of_cohorts, n_pairs))))

    @property
    def between(self) -> float:
        """Stability of a half of one cohort and one of the other, over all of them: none share a row."""
        a, b = self.frequencies
        return self._stability(float(a @ b))

    def _stability(self, overlap: float) -> float:
        """1 − D/null, with D = k̄ − overlap the mean of ½|z − z'|²; 1 where there is nothing to choose."""
        return 1 - (self.size - overlap) / self.null if self.null > 0 else 1.0

    @property
    def error(self) -> float:
        """Standard error of the difference, over other data of both cohorts.

        The difference is ½W_A + ½W_B − μ_A·μ_B over the null distance, W the mean overlap within pairs and μ the mean
        of the halves. Its part of first order in the rows of a cohort is u·μ, u = p_A − p_B: a mean over halves of
        m of n rows, whose variance is at most m/n of that of one half (Hoeffding). The rest shows as the spread of the
        difference between pairs.
        """
        if not self.null > 0:
            return np.nan
        u = np.subtract(*self.frequencies)
        linear = 0.0
        for table, share in zip(self.tables, self.row_shares, strict=True):
            apart = (table[::2] - table[1::2]) @ u
            linear += share * float(np.mean(apart**2)) / 2
        # Per pair: the overlaps within, less the mean of the four between.
        n_pairs = len(self.overlaps)
        a, b = ((table[::2] + table[1::2])[:n_pairs] / 2 for table in self.tables)
        of_pairs = self.overlaps - (a * b).sum(axis=1)
        bound = (linear + of_pairs.var(ddof=1)) / self.null**2
        return float(np.sqrt(_OF_BOUND * bound + _LEAST_VARIANCE))


def compare_cohorts(
    estimator: Estimator,
    X: MatrixLike,
    y: ArrayLike | None,
    cohorts: ArrayLike,
    *,
    n_pairs: int = 8,
    n_permutations: int = 39,
    support_from: str = "used",
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    checkpoint: str | PathLike[str] | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> CohortComparison:
    """Compare what two cohorts select with what two samples of the same cohort select.

    Parameters
    ----------
    estimator : estimator
        A selector of a kind that :class:`StabilityCV` wraps.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data of both cohorts, with the same columns.
    y : array-like of shape (n_samples,) or None
        The target.
    cohorts : array-like of shape (n_samples,)
        The cohort of each row: two labels.
    n_pairs : int, default=8
        How many pairs of disjoint halves are drawn of each cohort, at least 3.
    n_permutations : int, default=39
        How often the labels of the cohorts are permuted and everything is repeated, at least 19.
    support_from : {"used", "selector"}, default="used"
        What counts as selected in each run, as for :class:`StabilityCV`.
    groups : array-like of shape (n_samples,), default=None
        Rows that belong together (patients): they are drawn together, and change the cohort together. A group must be
        of one cohort.
    confidence_level : float, default=0.95
        Level of the interval.
    checkpoint : str or path-like, default=None
        A file in which every finished run is stored, as in :class:`StabilityCV`.
    max_seconds : float, default=None
        Seconds that a run may take. One that takes longer is stopped, and has failed. With limits each run has a
        process of its own, which takes about a tenth of a second more.
    max_memory : int, default=None
        Bytes that a run may need beyond those that its process starts with; on Linux only.
    n_jobs : int, default=None
        Number of runs at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of the halves, of the permutations and of what is random in the estimator.
    verbose : int, default=0
        From 1 on, a line on standard error says how far the runs are.

    Returns
    -------
    found : CohortComparison
        With `difference`, `pvalue`, `verdict`, `frame()` of the features and `plot()`.

    See Also
    --------
    assess_selector : Whether other data of *one* population would give the same features.

    Notes
    -----
    All halves have the same number of rows, and of each class of y the same number in both cohorts (of events, or of
    five intervals of a numeric y): half of what the cohort with fewer has. So neither the size nor the share of the
    classes makes a difference. Two halves of one cohort share no row, and no two of different cohorts do: `within` and
    `between` are both unbiased for the stability of two independent samples of that size.

    For the p-value the labels of the cohorts are permuted among the rows of the same class. It asks whether rows of the
    same class are alike in both cohorts in what the selector sees, and has the level it says whatever the sizes.
    (1 + n_permutations) · 4 · n_pairs fits are made.

    A difference says that the cohorts select differently, not why: other patients, other laboratories or another
    relation to y all do. Halves of few rows select so much at random that even plain differences are not found.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.feature_selection import SelectKBest
    >>> from skstab.model_selection import compare_cohorts
    >>> rng = np.random.default_rng(0)
    >>> X, y, site = rng.normal(size=(240, 20)), np.arange(240) % 2, np.repeat(["Leeds", "Lyon"], 120)
    >>> X[:, :3] += y[:, None]  # three features matter at both sites
    >>> X[:120, 3] += y[:120]  # and another one at each
    >>> X[120:, 4] += y[120:]
    >>> found = compare_cohorts(SelectKBest(k=4), X, y, site, random_state=0)
    >>> found.verdict
    'the cohorts select differently'
    >>> found.frame().head(3).round(2)
             frequency_Leeds  frequency_Lyon  difference  pvalue
    feature
    x4                  0.00             1.0       -1.00    0.02
    x3                  0.81             0.0        0.81    0.08
    x8                  0.19             0.0        0.19    0.95
    """
    check_estimator(estimator)
    check_int(n_pairs, "n_pairs", least=_LEAST_PAIRS)
    check_int(n_permutations, "n_permutations", least=19)
    check_support_from(support_from)
    check_level(confidence_level)
    settings = check_run_settings(
        checkpoint=checkpoint,
        max_seconds=max_seconds,
        max_memory=max_memory,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    data, target = read_data(X, y, needs_classes=is_classifier(estimator))
    units = _units(target, cohorts, groups, data.shape[0])
    entropy = draw_entropy(random_state)
    streams = [stream(entropy, 5, number) for number in range(n_permutations)]
    labels = [units.cohort, *map(units.permuted, streams)]
    splits = []
    for number, of_units in enumerate(labels):
        splits += units.halves(of_units, n_pairs, stream(entropy, 6, number))
    runs = _runs(
        estimator,
        data,
        target,
        splits,
        support_from=support_from,
        **settings,
        random_state=int(stream(entropy, 7).randint(2**31)),
    )
    permuted = [_halves_of(runs, number, n_pairs) for number in range(1, len(labels))]
    return CohortComparison(
        _by_cohort(runs, n_pairs, units),
        confidence_level=confidence_level,
        permuted=np.array([halves.within - halves.between for halves in permuted]),
        permuted_features=np.array([halves.largest for halves in permuted]),
    )


# -- who is drawn ------------------------------------------------------------------------------------------------------


class _Units(NamedTuple):
    """Rows, or groups of rows, with their cohort (0 or 1) and the stratum of y they are of."""

    names: list[Any]
    unit: IntArray  # of each row
    cohort: IntArray
    stratum: IntArray

    def permuted(self, rng: np.random.RandomState) -> IntArray:
        """Permute the cohorts within the strata."""
        cohort = self.cohort.copy()
        for stratum in np.unique(self.stratum):
            of_stratum = np.flatnonzero(self.stratum == stratum)
            cohort[of_stratum] = rng.permutation(cohort[of_stratum])
        return cohort

    def halves(
        self, cohort: IntArray, n_pairs: int, rng: np.random.RandomState
    ) -> list[tuple[IntArray, IntArray]]:
        """Splits that train on halves: two of the first cohort, then two of the second, for each pair."""
        splits = []
        for _ in range(n_pairs):
            for number in (0, 1):
                for half in self._two_halves(cohort == number, rng):
                    train = np.flatnonzero(np.isin(self.unit, half))
                    splits.append(
                        (train, np.flatnonzero(~np.isin(self.unit, half))[:1])
                    )
        return splits

    def _two_halves(self, is_of: Any, rng: np.random.RandomState) -> Any:
        """Two disjoint sets of units, with half of what the smaller cohort has of each stratum."""
        halves: list[list[Any]] = [[], []]
        for stratum, size in enumerate(self.sizes):
            members = np.flatnonzero(is_of & (self.stratum == stratum))
            chosen = rng.permutation(members)[: 2 * size]
            halves[0].append(chosen[:size])
            halves[1].append(chosen[size:])
        return [np.concatenate(half) for half in halves]

    @property
    def sizes(self) -> IntArray:
        """Number of units of each stratum in a half."""
        counts = [np.bincount(self.stratum[self.cohort == number]) for number in (0, 1)]
        return np.minimum(*counts) // 2


def _units(y: Any, cohorts: Any, groups: Any, n_rows: int) -> _Units:
    check_lengths(np.empty((n_rows, 1)), None, groups)
    names, codes = _labels_of(cohorts, n_rows)
    unit, first = np.arange(n_rows), np.arange(n_rows)
    if groups is not None:
        with naming("groups"):
            _, first, unit = np.unique(
                np.asarray(groups), return_index=True, return_inverse=True
            )
        if (codes[first][unit] != codes).any():
            raise ValueError(
                "groups must each be of one cohort, but at least one is of both"
            )
    cohort = codes[first]
    stratum = _strata(y, unit, first, cohort)
    counts = np.array(
        [
            np.bincount(stratum[cohort == number], minlength=stratum.max() + 1)
            for number in (0, 1)
        ]
    )
    if (counts < 2).any():
        what = "rows" if groups is None else "groups"
        place, _ = np.argwhere(counts < 2)[0]
        raise ValueError(
            f"cohorts must each have at least 2 {what} of each class of y, for two disjoint halves; "
            f"{names[place]!r} has fewer of one"
        )
    return _Units(names, unit, cohort, stratum)


def _labels_of(cohorts: Any, n_rows: int) -> tuple[list[Any], IntArray]:
    with naming("cohorts"):
        labels = np.asarray(cohorts)
        names, codes = np.unique(labels, return_inverse=True)
    if labels.shape != (n_rows,) or len(names) != 2:
        raise ValueError(
            f"cohorts must hold one of two labels for each of the {n_rows} rows, got {len(names)} labels in the shape "
            f"{labels.shape}"
        )
    return names.tolist(), codes


def _strata(y: Any, unit: IntArray, first: IntArray, cohort: IntArray) -> IntArray:
    """Class of each unit, its event, or the interval of its number; one stratum where groups are mixed."""
    n_units = len(first)
    one: IntArray = np.zeros(n_units, dtype=np.int64)
    if y is None:
        return one
    values = np.asarray(y)
    if values.dtype.names is not None:
        events = [name for name in values.dtype.names if values.dtype[name] == np.bool_]
        values = values[events[0]] if events else one[unit]
    if values.ndim != 1:
        return one
    many = len(np.unique(values)) > _MOST_CLASSES
    if values.dtype.kind in "fiu" and (many or not is_labelled(values)):
        return _bins(np.bincount(unit, values) / np.bincount(unit), cohort)
    codes = np.unique(values, return_inverse=True)[1]
    return codes[first] if (codes[first][unit] == codes).all() else one


def _bins(values: FloatArray, cohort: IntArray) -> IntArray:
    """Intervals of numbers with about as many units each; fewer where a cohort would have less than two in one."""
    for n_bins in range(_N_BINS, 1, -1):
        ends = np.quantile(values, np.arange(1, n_bins) / n_bins)
        bins = np.unique(np.searchsorted(ends, values), return_inverse=True)[1]
        counts = [
            np.bincount(bins[cohort == number], minlength=bins.max() + 1)
            for number in (0, 1)
        ]
        if np.min(counts) >= 2:
            return np.asarray(bins)
    return np.zeros(len(values), dtype=np.int64)


# -- the runs ----------------------------------------------------------------------------------------------------------


def _no_score(estimator: Any, X: Any, y: Any = None) -> float:  # noqa: ARG001
    """Nothing is scored."""
    return 0.0


def _runs(estimator: Any, X: Any, y: Any, splits: Any, **settings: Any) -> Runs:
    runs = StabilityCV(clone(estimator), cv=splits, scoring=_no_score, **settings)
    with warnings.catch_warnings():
        # Their stability over all labels together means nothing, nor do its warnings.
        for message in ("nearly all variation between the runs", "all runs agree"):
            warnings.filterwarnings("ignore", message)
        return runs.fit(X, y).runs_


def _by_cohort(runs: Runs, n_pairs: int, units: _Units) -> dict[Any, Runs]:
    """The runs with the true labels, by cohort, with what is known of the rows of that cohort."""
    found = {}
    for code, name in enumerate(units.names):
        place = runs.split_numbers
        part = runs.take((place < 4 * n_pairs) & (place % 4 // 2 == code))
        counts = part.row_counts[:, np.flatnonzero(units.cohort[units.unit] == code)]
        found[name] = replace(part, scores={}, row_counts=counts, refit=None)
    return found


def _halves_of(runs: Runs, number: int, n_pairs: int) -> _Halves:
    """What the halves with the labels of one permutation selected, without pairs of which a run failed."""
    row = np.full(runs.split_numbers.max() + 4 * n_pairs, -1)
    row[runs.split_numbers] = np.arange(len(runs))
    by_pair = row[4 * n_pairs * number :][: 4 * n_pairs].reshape(n_pairs, 2, 2)
    table, tables = runs.table_for("nogueira"), []
    for code in (0, 1):
        halves = by_pair[:, code]
        of_code = table[halves[(halves >= 0).all(axis=1)].ravel()]
        tables.append(csr_array(of_code, dtype=np.float64))
    return _Halves(tables)


def _check_runs(runs: Any) -> None:
    if (
        not isinstance(runs, dict)
        or len(runs) != 2
        or not all(isinstance(part, Runs) for part in runs.values())
    ):
        raise ValueError(
            f"runs must be a dict of the Runs of two cohorts, got {runs!r}"
        )
    first, second = runs.values()
    if not np.array_equal(first.feature_names, second.feature_names):
        raise ValueError("runs must be of the same features in the same order")
    for name, part in runs.items():
        if len(part.in_pairs()) < 2 * _LEAST_PAIRS:
            raise ValueError(
                f"runs must hold at least {_LEAST_PAIRS} complete pairs of disjoint halves of each cohort, {name!r} "
                f"has {len(part.in_pairs()) // 2}"
            )
    known = [size for part in runs.values() if (size := _half_size(part)) is not None]
    sizes = known if len(known) == 2 else [1.0, 1.0]
    if max(sizes) > _MOST_UNEQUAL * min(sizes):
        raise ValueError(
            f"runs must be of halves of the same number of rows at both sites, got {sizes[0]:g} and {sizes[1]:g}: make "
            "them with cv=DisjointBlocksSplit([size], n_repeats=...), where size is half of the smaller cohort"
        )


def _half_size(runs: Runs) -> float | None:
    """Number of rows in a half, where it is known."""
    return None if runs.train_sizes is None else float(np.median(runs.train_sizes))


def _row_share(runs: Runs) -> float:
    """Share of the rows of the cohort in a half; a half where the number of its rows is not known."""
    size = _half_size(runs)
    if size is None or runs.row_counts is None:
        return 0.5
    return min(size / int(runs.row_counts.shape[1]), 0.5)


def _share_as_large(permuted: FloatArray, value: float) -> float:
    """P-value of a value among those with permuted labels; equal up to rounding, and unknown, count as large."""
    return float((1 + np.sum(~(permuted < value - 1e-12))) / (1 + len(permuted)))

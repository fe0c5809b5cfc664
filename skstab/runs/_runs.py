"""`Runs`: what several runs of a feature selector selected, as one value."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from skstab._checks import check_int, is_real, naming
from skstab._matrices import as_masks, group_codes, read_only, sum_groups
from skstab._typing import (
    BoolArray,
    FloatArray,
    IntArray,
    MatrixLike,
    MeasureLike,
    NamesLike,
    RandomState,
)
from skstab._warnings import warn_user
from skstab.metrics import (
    Measure,
    StabilityInterval,
    get_measure,
    replication_stability,
    stability_interval,
    supports_from_sets,
)
from skstab.runs._collect import tables_of_estimators
from skstab.runs._fields import (
    as_list,
    check_counts,
    check_named,
    check_names,
    check_numbers,
    check_probabilities,
    check_refit,
    check_refit_predictions,
    check_rows,
    check_sizes,
    check_table,
    check_text,
    check_vector,
    check_which,
    join_common,
    join_counts,
    join_rows,
    join_scores,
    join_vectors,
    number_on,
    rows_of,
    unselected_names,
)
from skstab.runs._frames import from_frame, to_long
from skstab.runs._outputs import Outputs, check_outputs
from skstab.runs._packed import PackedSelection, Reading, Selection
from skstab.runs._ranks import rank_columns
from skstab.runs._repr import html_of
from skstab.runs._rows import (
    Tables,
    check_width,
    in_one_form,
    shows,
    stack_rows,
    stack_tables,
)
from skstab.runs._storage import read_fields, write_fields
from skstab.runs._summary import ranks_of, share_of_runs, summary_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Runs"]

_OF_ROWS = (
    *("row_losses", "row_predictions", "row_probabilities", "row_counts"),
    "refit_predictions",
)
_PER_RUN = (
    *Tables._fields,
    *("row_predictions", "row_probabilities", "row_counts"),
    *("train_sizes", "fit_times", "split_numbers", "pairs"),
)


@shows(*Tables._fields)
@dataclass(frozen=True, eq=False, repr=False)
class Runs:
    """What several runs of a feature selector selected: the value that measures, displays and reports take.

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_features)
        Which features each run selected: booleans or 0/1.
    importances : array-like or sparse matrix of shape (n_runs, n_features), default=None
        How important each feature was in each run, not negative; None where there are none.
    coefs : array-like or sparse matrix of shape (n_runs, n_features), default=None
        Signed coefficients of a linear model with one output; None where there are none.
    feature_names : sequence of str, default=None
        Names of the features; None calls them x0, x1 and so on.
    scores : dict of array-like of shape (n_runs,), default=None
        Scores of each run, by name.
    row_losses : dict of array-like of shape (n_runs, n_rows), default=None
        Losses of the rows that each run left out, NaN for the others, by the name of the score that is their mean.
    row_predictions : array-like of shape (n_runs, n_rows), default=None
        Predictions for the rows that each run left out, NaN for the others; classes by their number.
    row_probabilities : array-like of shape (n_runs, n_rows) or (n_runs, n_rows, n_classes), default=None
        Predicted probabilities of the rows that each run left out, NaN for the others, kept as float32: of two classes
        those of the second, otherwise one for each class.
    row_counts : array-like or sparse matrix of int of shape (n_runs, n_rows), default=None
        How many times each run was trained on each row: 0 for the rows it left out, 2 or more where a bootstrap drew
        a row again.
    train_sizes : array-like of shape (n_runs,), default=None
        On how many rows each run was trained; None counts `row_counts`, where these are known.
    fit_times : array-like of shape (n_runs,), default=None
        Seconds that each fit took.
    split_numbers : array-like of int of shape (n_runs,), default=None
        The number of the split that each run is of; None numbers them from 0.
    pairs : array-like of int of shape (n_runs,), default=None
        The number of the pair of disjoint halves that each run is of; None where the resamples are not such pairs.
    outputs : Outputs, default=None
        Which outputs of an encoder each run selected, where a pipeline makes several columns of one input.
    refit : array-like of bool of shape (n_features,), default=None
        What the same estimator selected on all rows.
    refit_predictions : array-like of shape (n_rows,) or (n_rows, n_classes), default=None
        What the same estimator, fitted on all rows, predicts for each of them: probabilities in the form of
        `row_probabilities`, or numbers.
    n_failed : int, default=0
        Number of further runs that failed.
    why_no_support : str, default=None
        Why `supports` are not a selection but only the features with an importance other than zero (a model that
        keeps every feature); measures of sets then raise an error with this reason. None where they are a selection.
    estimator_name : str, default=None
        The class of what was run, for messages.

    See Also
    --------
    skstab.model_selection.StabilityCV : Makes runs of any selector; they are its `runs_`.

    Notes
    -----
    `supports`, `importances` and `coefs` are ndarrays whatever their values; only sparse tables of more than
    10**8 cells stay CSR arrays. They are kept as `tables`, all dense or all CSR: as they were given, or in the form
    that takes less memory where this package made them. Objects are values: their arrays are read-only; `take` and
    `concat` make new objects.

    Examples
    --------
    >>> from skstab.runs import Runs
    >>> runs = Runs.from_sets([["TP53", "MYC"], ["TP53", "EGFR"], ["TP53", "MYC"]], features=100)
    >>> runs
    Runs(3 runs, 100 features, 2.0 selected on average)
    >>> print(f"{runs.stability('jaccard'):.3f}")
    0.556
    >>> runs.frequencies().nlargest(2)
    feature
    TP53    1.000000
    MYC     0.666667
    Name: frequency, dtype: float64
    """

    supports: Any
    importances: Any
    coefs: Any
    feature_names: Any
    scores: dict[str, FloatArray]
    row_losses: dict[str, FloatArray]
    row_predictions: FloatArray | None
    row_probabilities: Any
    row_counts: Any
    train_sizes: FloatArray | None
    fit_times: FloatArray | None
    split_numbers: IntArray
    pairs: IntArray | None
    outputs: Outputs | None
    refit: BoolArray | None
    refit_predictions: Any
    n_failed: int
    why_no_support: str | None
    estimator_name: str | None

    def __init__(  # noqa: PLR0913  one for each field, all but the first two by name
        self,
        supports: MatrixLike,
        importances: MatrixLike | None = None,
        *,
        coefs: MatrixLike | None = None,
        feature_names: NamesLike | None = None,
        scores: Mapping[str, ArrayLike] | None = None,
        row_losses: Mapping[str, ArrayLike] | None = None,
        row_predictions: ArrayLike | None = None,
        row_probabilities: ArrayLike | None = None,
        row_counts: MatrixLike | None = None,
        train_sizes: ArrayLike | None = None,
        fit_times: ArrayLike | None = None,
        split_numbers: ArrayLike | None = None,
        pairs: ArrayLike | None = None,
        outputs: Outputs | Mapping[str, Any] | None = None,
        refit: ArrayLike | None = None,
        refit_predictions: ArrayLike | None = None,
        n_failed: int = 0,
        why_no_support: str | None = None,
        estimator_name: str | None = None,
    ) -> None:
        masks = as_masks(supports, "supports", least_runs=0).astype(bool, copy=False)
        n_runs, n_features = masks.shape
        given = (("importances", importances), ("coefs", coefs))
        tables = [check_table(data, name, masks.shape) for name, data in given]
        counts = None if row_counts is None else check_counts(row_counts, n_runs)
        values = (
            *in_one_form(masks, *tables),
            check_names(feature_names, n_features),
            check_named(scores, "scores", check_vector, n_runs),
            check_named(row_losses, "row_losses", check_rows, n_runs),
            None
            if row_predictions is None
            else check_rows(row_predictions, "row_predictions", n_runs),
            None
            if row_probabilities is None
            else check_probabilities(row_probabilities, n_runs),
            counts,
            check_sizes(train_sizes, counts, n_runs),
            None if fit_times is None else check_vector(fit_times, "fit_times", n_runs),
            np.arange(n_runs)
            if split_numbers is None
            else check_numbers(split_numbers, "split_numbers", n_runs),
            None if pairs is None else check_numbers(pairs, "pairs", n_runs),
            None if outputs is None else check_outputs(outputs, masks.shape),
            None if refit is None else check_refit(refit, n_features),
            None
            if refit_predictions is None
            else check_refit_predictions(refit_predictions),
            check_int(n_failed, "n_failed", least=0),
            check_text(why_no_support, "why_no_support"),
            check_text(estimator_name, "estimator_name"),
        )
        self.__setstate__(
            {
                field.name: value
                for field, value in zip(fields(self), values, strict=True)
            }
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickles and copies do not keep arrays read-only.
        for name, value in state.items():
            vars(self)[name] = read_only(value)

    # -- making --------------------------------------------------------------------------------------------------------

    @classmethod
    def from_sets(
        cls, sets: Iterable[Iterable[Hashable]], features: Sequence[Hashable] | int
    ) -> Self:
        """Make runs of lists of selected features.

        Parameters
        ----------
        sets : iterable of iterables
            What each run selected: names out of `features` or, when `features` is a number, either column indices or
            text names.
        features : sequence of names or int
            All the features that could have been selected; or how many there are. Names are then collected from the
            lists and sorted, and the features that no run selected come after them.

        Returns
        -------
        runs : Runs
            One run per list.
        """
        with naming("sets"):
            listed = as_list(sets)
            lists = (
                [as_list(selected) for selected in listed]
                if isinstance(listed, list)
                else listed
            )
        with naming("features"):
            known = as_list(features)
        supports = supports_from_sets(lists, known)
        if not supports.shape[1]:
            raise ValueError(
                f"features must be at least one: supports must have at least one feature, got {features!r}"
            )
        if isinstance(known, list):
            return cls(supports, feature_names=known)
        found = sorted(
            {name for selected in lists for name in selected if isinstance(name, str)}
        )
        names = (
            [*found, *unselected_names(len(found), supports.shape[1])]
            if found
            else None
        )
        return cls(supports, feature_names=names)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, features: Sequence[Hashable] | None = None
    ) -> Self:
        """Make runs of a data frame.

        Parameters
        ----------
        frame : DataFrame
            Either long, with columns `run` and `feature` and, optionally, `importance` and `coef`: one row for each
            selected feature of each run, and one row with a missing feature for a run that selected none; or wide: one
            row per run, one column of 0/1 per feature; the runs may be named by the index or a column `run`.
        features : sequence of names, default=None
            For a long table, all the features that could have been selected. None takes the categories of a
            categorical column `feature`, otherwise the features that occur.

        Returns
        -------
        runs : Runs
            In the order in which the runs first occur.
        """
        supports, importances, coefs, names = from_frame(frame, features)
        with naming("frame"):
            return cls(supports, importances, coefs=coefs, feature_names=names)

    @classmethod
    def from_estimators(
        cls, fitted: Any, *, X: MatrixLike | None = None, support_from: str = "used"
    ) -> Self:
        """Make runs of what is already fitted.

        Parameters
        ----------
        fitted : dict, iterable of estimators, or estimator
            The result of :func:`~sklearn.model_selection.cross_validate` with `return_estimator=True`; fitted
            selectors, sparse models, searches or pipelines of them, one per run; or a fitted
            :class:`~sklearn.feature_selection.RFECV`, for what it selected in each of its splits.
        X : array-like or sparse matrix of shape (n_samples, n_features), default=None
            Rows of the features, which only estimators that do not declare what they use need: they are read by what
            they do with some of these rows, see :func:`selection_of`.
        support_from : {"used", "selector"}, default="used"
            What counts as selected, as in :func:`selection_of`.

        Returns
        -------
        runs : Runs
            With importances, not scaled by the standard deviation of the features, where all estimators have them.
        """
        with naming("fitted", "X"):
            supports, importances, coefs, names = tables_of_estimators(
                fitted, X, support_from
            )
        return cls(supports, importances, coefs=coefs, feature_names=names)

    @classmethod
    def from_selections(
        cls,
        selections: Iterable[Selection | Reading | PackedSelection],
        n_features: int,
        **fields_of_runs: Any,
    ) -> Self:
        """Make runs of what was read from fitted estimators.

        Parameters
        ----------
        selections : iterable of Selection
            What :func:`selection_of` returned for each run.
        n_features : int
            Number of features.
        **fields_of_runs : dict
            Further parameters of `Runs`, such as `feature_names` or `scores`.

        Returns
        -------
        runs : Runs
            In the form, dense or sparse, that takes less memory.
        """
        with naming("selections"):
            listed = as_list(selections)
        if not isinstance(listed, list) or not all(
            isinstance(selection, Reading | Selection | PackedSelection)
            for selection in listed
        ):
            raise TypeError(
                f"selections must be what selection_of returned, got {listed!r}"
            )
        packed = [selection.packed() for selection in listed]
        check_width(n_features, [selection.support for selection in packed])
        _warn_of_some_unread(packed)
        supports, importances, coefs = stack_rows(
            [
                ([selection.support for selection in packed], bool),
                ([selection.importances for selection in packed], np.float64),
                ([selection.coef for selection in packed], np.float64),
            ],
            n_features,
        )
        outputs = Outputs.of_runs([selection.outputs for selection in packed])
        return cls(
            supports, importances, coefs=coefs, outputs=outputs, **fields_of_runs
        )

    @classmethod
    def concat(cls, parts: Iterable[Runs], *, missing_score: float = np.nan) -> Self:
        """Join runs of the same features, made by several machines or with several seeds.

        Parameters
        ----------
        parts : iterable of Runs
            The runs to join. Tables that only some of them have are dropped, as are `row_counts` of data with different
            numbers of rows. Splits and pairs that occurred in an
            earlier part count as others, and are numbered on.
        missing_score : float, default=nan
            The score of runs of a part that lacks a score of this name.

        Returns
        -------
        runs : Runs
            All runs, in this order. `refit` is that of the first part.
        """
        with naming("parts"):
            joined = as_list(parts)
        if (
            not isinstance(joined, list)
            or not joined
            or not all(isinstance(part, Runs) for part in joined)
        ):
            raise TypeError(f"parts must be one or more Runs, got {joined!r}")
        if not is_real(missing_score):
            raise TypeError(f"missing_score must be a number, got {missing_score!r}")
        first = joined[0]
        if any(
            not np.array_equal(part.feature_names, first.feature_names)
            for part in joined
        ):
            raise ValueError(
                "parts must be runs of the same features in the same order, got others"
            )
        tables = in_one_form(
            *(
                stack_tables(list(tables))
                for tables in zip(*(part.tables for part in joined), strict=True)
            ),
            best=True,
        )
        return cls(
            *tables[:2],
            coefs=tables[2],
            feature_names=first.feature_names,
            scores=join_scores(
                [part.scores for part in joined], list(map(len, joined)), missing_score
            ),
            row_losses=join_common([part.row_losses for part in joined]),
            row_predictions=join_vectors([part.row_predictions for part in joined]),
            row_probabilities=join_rows([part.row_probabilities for part in joined]),
            row_counts=join_counts([part.row_counts for part in joined]),
            train_sizes=join_vectors([part.train_sizes for part in joined]),
            fit_times=join_vectors([part.fit_times for part in joined]),
            split_numbers=number_on([part.split_numbers for part in joined]),
            pairs=number_on([part.pairs for part in joined]),
            outputs=Outputs.concat([part.outputs for part in joined]),
            refit=first.refit,
            refit_predictions=first.refit_predictions,
            n_failed=sum(part.n_failed for part in joined),
            why_no_support=next(
                (part.why_no_support for part in joined if part.why_no_support), None
            ),
            estimator_name=first.estimator_name,
        )

    def take(self, which: ArrayLike | slice) -> Self:
        """Take some of the runs.

        Parameters
        ----------
        which : slice, array-like of int or of bool
            Which runs to take, in which order.

        Returns
        -------
        runs : Runs
            These runs; failed ones are not counted.
        """
        rows = check_which(which, len(self))
        return self._replace(
            n_failed=0,
            scores={name: values[rows] for name, values in self.scores.items()},
            row_losses={name: values[rows] for name, values in self.row_losses.items()},
            outputs=None if self.outputs is None else self.outputs.take(rows),
            **{name: rows_of(self._kept[name], rows) for name in _PER_RUN},
        )

    def without_rows(self) -> Self:
        """Take everything but what is known about single rows.

        Returns
        -------
        runs : Runs
            Without `row_losses`, `row_predictions`, `row_probabilities`, `row_counts` and `refit_predictions`: nothing
            in it says which rows trained a run or what was predicted for them, so that sites can share their runs and
            keep their records. How many rows trained each run stays, in `train_sizes`.
        """
        nothing = dict.fromkeys(_OF_ROWS) | {"row_losses": {}}
        return self._replace(**nothing)

    def in_pairs(self) -> Self:
        """Take the runs whose pair is complete, the two halves of each pair one after the other.

        Returns
        -------
        runs : Runs
            An even number of runs.
        """
        if self.pairs is None:
            raise ValueError(
                "the runs are not of pairs of disjoint halves, which replication compares: make them with "
                "cv=ComplementaryPairsSplit(...), or give pairs"
            )
        _, pair, members = np.unique(
            self.pairs, return_inverse=True, return_counts=True
        )
        complete = np.flatnonzero(members[pair] == 2)
        return self.take(complete[np.argsort(pair[complete], kind="stable")])

    def grouped(self, groups: ArrayLike) -> Self:
        """Take groups of features for the features.

        Parameters
        ----------
        groups : array-like of shape (n_features,)
            A label for each feature, such as those of :func:`skstab.inspection.feature_clusters`.

        Returns
        -------
        runs : Runs
            One feature for each label, in the order of their first features: selected where any of its members is, its
            importance the sum of theirs. There are no coefficients, since members of one group can have opposite signs,
            and no outputs of encoders.
        """
        labels, codes = group_codes(groups, self.n_features)
        return self._replace(
            supports=sum_groups(self.tables.supports, codes) > 0,
            importances=None
            if self.tables.importances is None
            else sum_groups(self.tables.importances, codes),
            coefs=None,
            outputs=None,
            feature_names=labels,
            refit=None
            if self.refit is None
            else np.bincount(codes, weights=self.refit) > 0,
        )

    def _replace(self, **changed: Any) -> Self:
        return type(self)(**self._kept | changed)

    @property
    def _kept(self) -> dict[str, Any]:
        """The fields as they are kept."""
        return {field.name: vars(self)[field.name] for field in fields(self)}

    # -- what the runs say ---------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return int(self.tables.supports.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.tables.supports.shape[1])

    @property
    def tables(self) -> Tables:
        """The supports, importances and coefs as they are kept, ndarrays or CSR arrays: what large tables need."""
        return Tables(*(vars(self)[name] for name in Tables._fields))

    def table_for(self, measure: MeasureLike) -> Any:
        """Return the table that a measure takes.

        Parameters
        ----------
        measure : str, callable or Measure
            A name out of :func:`skstab.metrics.measure_table`, or anything that :func:`skstab.metrics.get_measure`
            accepts.

        Returns
        -------
        table : ndarray or csr_array of shape (n_runs, n_features)
            The supports, the importances or, for measures of rankings, the ranks of the importances.
        """
        chosen = get_measure(measure)
        if chosen.kind == "subset":
            return self._selected(chosen)
        importances = self.tables.importances
        if importances is None:
            raise ValueError(
                f"measure {chosen.name!r} compares importances, but {self.estimator_name or 'the selector'} has none; "
                "give importance_getter, or choose a measure of sets such as 'nogueira'"
            )
        return importances if chosen.kind == "weights" else ranks_of(importances)

    def _selected(self, measure: Measure) -> Any:
        if self.why_no_support is not None:
            raise ValueError(
                f"measure {measure.name!r} compares selected features, but {self.why_no_support}"
            )
        return self.tables.supports

    def stability(
        self, measure: MeasureLike = "nogueira", *, groups: ArrayLike | None = None
    ) -> float:
        """Stability of the runs by any measure.

        Parameters
        ----------
        measure : str, callable or Measure, default="nogueira"
            As for `table_for`.
        groups : array-like of shape (n_features,), default=None
            A label for each feature: features of one group count once, as in `grouped`. None compares the features
            themselves.

        Returns
        -------
        stability : float
            The value of the measure. Over runs of complementary pairs it compares halves that share rows, too, and
            overstates what two independent samples would show: see `replication`.
        """
        chosen = get_measure(measure)
        runs = self if groups is None else self.grouped(groups)
        return chosen(runs.table_for(chosen), name="the runs")

    def interval(
        self,
        measure: MeasureLike = "nogueira",
        *,
        method: Literal[
            "jackknife", "asymptotic", "conformal", "bootstrap"
        ] = "jackknife",
        confidence_level: float = 0.95,
        random_state: RandomState = None,
    ) -> StabilityInterval:
        """Stability of the runs with an interval for the finite number of runs.

        Parameters
        ----------
        measure : str, callable or Measure, default="nogueira"
            As for `table_for`.
        method : {"jackknife", "asymptotic", "conformal", "bootstrap"}, default="jackknife"
            See :func:`skstab.metrics.stability_interval`.
        confidence_level : float, default=0.95
            Share of such intervals that should hold the true value.
        random_state : int, RandomState instance or None, default=None
            Seed of the methods that draw.

        Returns
        -------
        interval : StabilityInterval
            About the resampling error: the stability that infinitely many such resamples of the same data would show.
        """
        options = {
            "method": method,
            "confidence_level": confidence_level,
            "random_state": random_state,
        }
        return stability_interval(self, measure=measure, **options)  # type: ignore[arg-type]

    def estimate(self, measure: MeasureLike = "nogueira") -> StabilityInterval:
        """Stability of the runs with its 95% jackknife interval, whose ends are NaN where there are only two runs.

        Parameters
        ----------
        measure : str, callable or Measure, default="nogueira"
            As for `table_for`.

        Returns
        -------
        interval : StabilityInterval
            As of `interval`; a warning says where the runs agree only because there was nothing to choose.
        """
        value = self.stability(measure)
        if len(self) > 2:
            return self.interval(measure)
        return StabilityInterval(value, np.nan, np.nan, np.nan, "jackknife", 0.95)

    def replication(
        self, measure: MeasureLike = "nogueira", *, confidence_level: float = 0.95
    ) -> StabilityInterval:
        """Stability over other data sets of half the size, from runs of complementary pairs.

        Parameters
        ----------
        measure : str, callable or Measure, default="nogueira"
            A measure that :func:`skstab.metrics.replication_stability` accepts.
        confidence_level : float, default=0.95
            Share of such intervals that should hold the true value.

        Returns
        -------
        interval : StabilityInterval
            About other data: only the two halves of a pair, which share no row, are compared.
        """
        return replication_stability(
            self, measure=measure, confidence_level=confidence_level
        )

    def frequencies(self) -> pd.Series[float]:
        """Share of the runs that selected each feature.

        Returns
        -------
        frequencies : Series
            Indexed by the names of the features.
        """
        import pandas as pd

        return pd.Series(
            share_of_runs(self.tables.supports), index=self._index(), name="frequency"
        )

    def summary(self) -> pd.DataFrame:
        """Tabulate the runs feature by feature.

        Returns
        -------
        table : DataFrame
            One row per feature, indexed by its name: the share of runs that selected it (`frequency`) with its 95%
            Wilson interval (`frequency_low`, `frequency_high`); mean and standard deviation of its importance over all
            runs (`importance_mean`, `importance_std`); for linear models, the share of the more common sign among the
            runs in which it had a weight (`sign_consistency`).
        """
        import pandas as pd

        return pd.DataFrame(summary_columns(*self.tables), index=self._index())

    def ranks(
        self,
        k: int,
        *,
        confidence_level: float = 0.95,
        n_resamples: int = 1000,
        random_state: RandomState = None,
    ) -> pd.DataFrame:
        """Tabulate how often each feature is among the first k, and which ranks it may have.

        Parameters
        ----------
        k : int
            Number of first places, at most the number of features.
        confidence_level : float, default=0.95
            Level of the intervals and of the confidence sets.
        n_resamples : int, default=1000
            Number of bootstrap draws of the runs.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        table : DataFrame
            One row per feature, indexed by its name, the best mean rank first: its `mean_rank` over the runs, 1 for the
            most important, features that are not selected share the mean of the ranks that are left; the share of runs
            that select it and rank it at most k (`top_k`) with Wilson's interval (`top_k_low`, `top_k_high`); the
            `rank` of its mean rank among all features, and the ends of its confidence set (`rank_low`, `rank_high`).

        Notes
        -----
        The true rank of a feature is that of its mean rank over infinitely many such runs. The confidence sets hold the
        true ranks of *all* features together with the given level [1]_, so that "these ten are the first ten" can be
        read from them: `rank_high <= 10` in ten rows. They are about the finite number of resamples *of this data
        set*, not about other data.

        Importances give the ranks. Rankings and orders of entry on a path are importances when they are turned round:
        the first feature has the largest.

        References
        ----------
        .. [1] Mogstad, M., Romano, J. P., Shaikh, A. M. and Wilhelm, D. (2024). Inference for ranks with applications
           to mobility across neighbourhoods and academic achievement across countries. Review of Economic Studies 91.

        Examples
        --------
        >>> import numpy as np
        >>> from skstab.runs import Runs
        >>> rng = np.random.default_rng(0)
        >>> importances = np.array([5.0, 3.0, 2.8, 0.1]) + rng.normal(size=(40, 4)) * 0.5
        >>> runs = Runs(importances > 0, importances.clip(0), feature_names=["a", "b", "c", "d"])
        >>> runs.ranks(2, random_state=0)[["top_k", "rank", "rank_low", "rank_high"]]
                 top_k  rank  rank_low  rank_high
        feature
        a         1.00     1         1          1
        b         0.65     2         2          3
        c         0.35     3         2          3
        d         0.00     4         4          4
        """
        import pandas as pd

        if len(self) < 3:
            raise ValueError(f"ranks need at least 3 runs, got {len(self)}")
        columns = rank_columns(
            self.table_for("canberra"),
            self.supports,
            k,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            random_state=random_state,
        )
        table = pd.DataFrame(columns, index=self._index())
        order = np.lexsort([-table["top_k"], table["mean_rank"]])
        return table.iloc[order]

    def to_frame(self) -> pd.DataFrame:
        """Tabulate what was selected, one row for each selected feature of each run.

        Returns
        -------
        table : DataFrame
            With columns `run`, `feature` (categorical, so that features never selected are known) and, where there are
            any, `importance` and `coef`; a run that selected nothing has one row with a missing feature.
            `Runs.from_frame` reads it.
        """
        return to_long(*self.tables, self.feature_names)

    def _index(self) -> Any:
        import pandas as pd

        return pd.Index(self.feature_names, name="feature")

    # -- keeping -------------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the runs to one file, without pickle.

        The file holds what is known about single rows, too: which of them trained each run and, where they were kept,
        their losses, predictions and probabilities. Share `runs.without_rows()` where that must not leave the house.

        Parameters
        ----------
        path : str or path-like
            Where to write. An existing file is replaced only when the new one is complete.
        """
        outputs = None if self.outputs is None else self.outputs.fields()
        write_fields(
            path,
            self._kept | {"outputs": outputs},
        )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read runs that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        runs : Runs
            Equal to those saved, bit for bit.
        """
        return read_fields(path, [field.name for field in fields(cls)], cls)

    def __repr__(self) -> str:
        mean = self.tables.supports.sum() / max(len(self), 1)
        parts = [
            f"{len(self)} runs",
            f"{self.n_features} features",
            f"{mean:.1f} selected on average",
        ]
        shown = ("importances", "coefs", "pairs", "outputs", "refit")
        parts += [name for name in shown if getattr(self, name) is not None]
        parts += [f"scores: {', '.join(self.scores)}"] if self.scores else []
        parts += [f"{self.n_failed} failed"] if self.n_failed else []
        return f"Runs({', '.join(parts)})"

    def to_html(self, *, heading: str = "") -> str:
        """What the runs say, as a notebook shows it.

        Parameters
        ----------
        heading : str, default=""
            HTML to stand above it.

        Returns
        -------
        html : str
            A block of HTML.
        """
        return html_of(self, heading)

    def _repr_html_(self) -> str:
        return self.to_html()


def _warn_of_some_unread(packed: Sequence[PackedSelection]) -> None:
    """Warn where only some runs lack importances; where all do, the first reading has said so."""
    whys = [
        selection.why_no_importances
        for selection in packed
        if selection.why_no_importances is not None
    ]
    if 0 < len(whys) < len(packed):
        warn_user(
            f"importances of {len(whys)} of {len(packed)} runs cannot be read, so those of all are dropped: {whys[0]}"
        )

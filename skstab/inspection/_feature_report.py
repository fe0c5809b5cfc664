"""From the lists of many runs to one table for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from skstab._checks import check_bool, check_number
from skstab._fragility import units_of
from skstab._matrices import group_codes
from skstab._typing import (
    BoolArray,
    FloatArray,
    IndexArray,
    MatrixLike,
    RunsLike,
)
from skstab.inspection._clusters import (
    check_columns,
    feature_clusters,
    pair_correlations,
)
from skstab.inspection._columns import as_numbers, blocks_of
from skstab.inspection._direction import Target, direction_columns
from skstab.inspection._fragility import fragility
from skstab.inspection._instability import shares_of
from skstab.inspection._leaks import leaks_among, nearly_perfect
from skstab.inspection._page_parts import as_latex, as_markdown
from skstab.inspection._published import caption_of, table_for_paper
from skstab.inspection._publishing import Rule, reasons, sentence
from skstab.inspection._report_columns import (
    check_reference,
    coefficient_columns,
    frequency_columns,
    levels_column,
    reference_columns,
    representatives,
    sign_columns,
)
from skstab.inspection._sources import most_frequent, supports_of
from skstab.inspection._split_pvalues import pvalues_of_runs
from skstab.inspection._substitutes import moved_shares
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

    from skstab.model_selection import SelectorAssessment

__all__ = ["FeatureReport", "feature_report"]

_SHOWN = 30
_LEAST_MOVED = 0.1  # of the importance of a feature


@dataclass(frozen=True, repr=False, eq=False)
class FeatureReport:
    """What to publish of a selection, feature by feature; made by :func:`feature_report`.

    Parameters
    ----------
    table : DataFrame
        One row per feature, as `frame` returns it.
    sentence : str
        What to report, by which rule, and what was left out.
    n_runs : int
        Number of runs.
    towards : str, default=""
        What values go with where the direction of a feature is "+", such as "higher values of income".
    alerts : sequence of str, default=()
        What speaks against publishing the list: features that may have been derived from the target.

    Examples
    --------
    >>> from skstab.inspection import FeatureReport, feature_report
    >>> from skstab.runs import Runs
    >>> report = feature_report(Runs.from_sets([["a", "b"], ["a"], ["a"]], features=["a", "b", "c"]))
    >>> isinstance(report, FeatureReport)
    True
    >>> report.left_out["b"]
    'selected in less than 50% of the runs'
    """

    table: pd.DataFrame
    sentence: str
    n_runs: int
    _: KW_ONLY
    towards: str = ""
    alerts: Sequence[str] = ()

    def frame(self) -> pd.DataFrame:
        """Tabulate the features.

        Returns
        -------
        table : DataFrame
            One row per feature, indexed by its name, by falling evidence (the frequency of its cluster, then its own);
            the columns are described at :func:`feature_report`.
        """
        return self.table.copy()

    @property
    def core(self) -> pd.DataFrame:
        """The rows of the features to report."""
        return self.table[self.table["reason"] == ""].drop(columns="reason")

    def substitutes(self) -> dict[Any, list[Any]]:
        """Tell which features can stand for those to report.

        Returns
        -------
        substitutes : dict of list
            For each feature to report the others of its cluster, the most frequently selected first.
        """
        core = self.core
        if "cluster" not in core:
            return {name: [] for name in core.index}
        members = self.table.groupby("cluster", sort=False).groups
        return {
            name: [other for other in members[cluster] if other != name]
            for name, cluster in core["cluster"].items()
        }

    def to_latex(self) -> str:
        """Write the features to report as a table for a paper.

        Returns
        -------
        text : str
            A `table` environment with a caption that says what the numbers are; it needs no package.
        """
        return as_latex(table_for_paper(self), caption_of(self))

    def to_markdown(self) -> str:
        """Write the features to report as a table of Markdown, after its caption.

        Returns
        -------
        text : str
            The caption, and after an empty line the table.
        """
        return as_markdown(table_for_paper(self), caption_of(self))

    @property
    def left_out(self) -> pd.Series[str]:
        """Why the other features that were ever selected are left out, indexed by their names."""
        table = self.table
        return table.loc[(table["reason"] != "") & (table["frequency"] > 0), "reason"]

    def __repr__(self) -> str:
        shown = self.table[self.table["frequency"] > 0].head(_SHOWN)
        return f"FeatureReport: {self.sentence}\n\n{shown.to_string(float_format='{:.3g}'.format, na_rep='')}"

    def _repr_html_(self) -> str:
        shown = self.table[self.table["frequency"] > 0]
        table: str = shown.head(_SHOWN).to_html(float_format="{:.3g}".format, na_rep="")
        more = (
            f"<p>{len(shown) - _SHOWN} further features in frame()</p>"
            if len(shown) > _SHOWN
            else ""
        )
        return (
            f"<div><p><strong>{escape(self.sentence)}</strong></p>{table}{more}</div>"
        )


def feature_report(
    runs: RunsLike,
    X: MatrixLike | None = None,
    y: ArrayLike | None = None,
    *,
    threshold: float = 0.5,
    clusters: ArrayLike | None = None,
    similarity: MatrixLike | None = None,
    variables: ArrayLike | None = None,
    reference: tuple[ArrayLike, ArrayLike] | None = None,
    assessment: SelectorAssessment | None = None,
    pvalues: bool = False,
) -> FeatureReport:
    """Tabulate what to publish of the selections of many runs: which features, and how certain each of them is.

    Parameters
    ----------
    runs : Runs, StabilityCV or search
        What runs selected, or a fitted object that holds runs.
    X : array-like or sparse matrix of shape (n_samples, n_features), default=None
        The data as the runs saw them, also with texts and missing values; without `clusters`, features are clustered
        by :func:`feature_clusters`.
    y : array-like of shape (n_samples,), default=None
        The target, for the direction of each feature alone: two classes, several, numbers (more than 10 different
        ones, or fractions), or a structured array of events and times.
    threshold : float, default=0.5
        The share of the runs from which on a cluster (without clusters: a feature) is reported.
    clusters : array-like of shape (n_features,), default=None
        A label for each feature: features of one cluster are substitutes of each other. With neither `X` nor
        `clusters`, each feature stands for itself. With `variables`, one label for each variable in the order of
        their first features.
    similarity : array-like, DataFrame or sparse matrix of shape (n_features, n_features), default=None
        How similar two features are, for example absolute correlations, for runs with importances: the table then
        has, beside the clusters, which features have the importance of each in other runs (:func:`substitutes`).
        With `variables`, of the variables in the order of their first features.
    variables : array-like of shape (n_features,), default=None
        The variable that each feature was made from, such as the column of a one-hot level: the report then has one
        row for each variable, selected where any of its features is. None takes each feature for a variable.
    reference : tuple of (coef, se), default=None
        Coefficients and standard errors of the unpenalised model with all features, on the scale of the coefficients
        of the runs (of standardised features where the runs standardise), for runs of linear models;
        :func:`unpenalised_reference` fits it for numbers and two classes. There is none where there are as many
        features as rows, and it is not combined with `variables`.
    assessment : SelectorAssessment, default=None
        What :func:`~skstab.model_selection.assess_selector` returned for the same selector and data: a feature is
        then reported only if halves of the data give it, or its cluster, more weight than copies without
        information (:func:`decoy_evidence`), and none if there is no signal.
    pvalues : bool, default=False
        Add p-values of :func:`split_pvalues`, which needs X and y: on the rows that each run left out, or that each
        of the halves of the assessment did.

    Returns
    -------
    report : FeatureReport
        With `frame()`, the `core` to publish, what was `left_out`, the `sentence` that says so, and `alerts` of leaks.

    Notes
    -----
    Columns of the table, those that [1]_ and [2]_ recommend and some more. Those that can't be had are absent.

    - `frequency` of selection with its 95% Wilson interval `frequency_low`, `frequency_high`, which is about the finite
      number of runs; `in_refit`, whether it was selected on all rows.
    - with X and y: the `direction` of the feature *alone*, "+" or "-" where the 95% interval `association_low` to
      `association_high` of its rank correlation with the target, `association`, leaves out 0, otherwise "±". Of
      several classes each is compared with all others, and those that are clear are named with their sign; of a
      category, its levels. A positive sign is about the second of two classes, or an earlier event (in survival
      the target are martingale residuals). The numbers are those of the strongest class and level, chosen
      among all, and rows that all runs counted alike, such as those of one patient, count as dependent.
    - for linear models with one output: `coef_median` and the 2.5% and 97.5% quantiles `coef_low` and `coef_high` over
      all runs, zero where not selected; `given_others`, the more common sign, which holds for equal values of the
      other selected features and may contradict `direction`, and its share `sign_consistency`.
    - with a reference β, se: the `rmsd_ratio` √(mean (β_run − β)²)/se, unselected as 0 (above 1: selection adds
      variance), and the relative `conditional_bias` mean(β_run | selected)/β − 1 (above 0: overestimated when
      selected; below 0: shrunken).
    - `levels`, with `variables` or where a pipeline encodes categories: the levels of a variable that at least a share
      `threshold` of the runs selected.
    - `instability_share`, its share of the variance of the selections, see :func:`instability_shares`.
    - with clusters: `cluster`, `cluster_frequency` with its interval, the `representative` (the member that was
      selected most often, the first of equal ones), and with X the `correlation` with it.
    - with a similarity: `importance_moves_to`, the features on which at least 10% of its importance is in another
      run, with these shares, the largest first.
    - with an assessment: `halves`, the share of the halves that selected the feature, or any of its cluster, beside
      decoys; `decoy`, the same of its copies without information; and `qvalue` of the difference, at most 0.05 for
      what is reported.
    - with `pvalues`: `pvalue`, of the effect given the other selected features, on rows that did not select them and
      adjusted for all features. It decides nothing about what is reported.
    - with `row_counts` of the runs: `fragility`, the smallest number of rows found whose removal takes the feature off
      the list, and `carried_by`, these rows by their names in the index of X, or numbers (:func:`fragility`).
    - `reason` why it is left out, empty for the features to report.

    Leaks are looked for among the (at most 30) features that at least half of the runs selected: features whose order
    is that of the target, or that have one class entirely above the other, sums and differences of two, and a score
    within 1% of the best there is, counted from that of permuted targets. The sentence repeats them.

    References
    ----------
    .. [1] Heinze, G., Wallisch, C. and Dunkler, D. (2018). Variable selection: a review and recommendations for the
       practicing statistician. Biometrical Journal 60.
    .. [2] Wallisch, C. et al. (2021). Selection of variables for multivariable models: opportunities and limitations in
       quantifying model stability by resampling. Statistics in Medicine 40.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skstab.datasets import make_correlated_groups
    >>> from skstab.inspection import feature_report
    >>> from skstab.model_selection import BootstrapSplit, StabilityCV
    >>> X, y, _ = make_correlated_groups(
    ...     300, n_groups=2, group_size=3, n_others=20, group_mean=0.5, correlation=0.95, random_state=0
    ... )
    >>> lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.03, random_state=0)
    >>> runs = StabilityCV(lasso, cv=BootstrapSplit(50, random_state=0)).fit(X, y)
    >>> report = feature_report(runs, X, y)
    >>> report.core[["frequency", "cluster_frequency", "direction", "association", "coef_median"]].round(2)
             frequency  cluster_frequency direction  association  coef_median
    feature
    x2            0.96                1.0         +         0.49         0.39
    x5            0.80                1.0         +         0.48         0.27
    >>> report.left_out["x1"]
    'substitute of x2'
    """
    check_number(
        threshold, "threshold", "a number above 0 and at most 1", above=0, most=1
    )
    found, _ = supports_of(runs)
    _check_assessment(assessment, found.n_features)
    if X is not None:
        check_columns(X, found.n_features)
    elif y is not None:
        raise ValueError("y needs X: the direction of a feature is that of its values")
    check_bool(pvalues, "pvalues")
    if pvalues and y is None:
        raise ValueError("pvalues=True needs X and y, on which features are tested")
    rows = Rows.of(found, variables)
    if reference is not None and variables is not None:
        raise ValueError("reference and variables cannot be combined")
    groups = _Clusters.of(rows, X, clusters, similarity)
    rule = Rule(threshold, len(found), groups.labels is not None, assessment)
    often = rows.runs.frequencies().to_numpy() > 0
    tested = None
    if pvalues:
        tested = rows.runs if assessment is None else rows.joined(assessment.halves)
        often |= tested.frequencies().to_numpy() > 0
    blocks = None if y is None else rows.blocks(X, often)
    more = {} if blocks is None else _directions(rows, blocks, y)
    if tested is not None and blocks is not None:
        more["pvalue"] = pvalues_of_runs(tested, blocks, y)
    table = _table(rows, X, more, groups, reference, rule)
    target = None if y is None else Target.of(y)
    alerts = [] if rule.no_signal else _alerts(rows, table, blocks, y, assessment)
    return FeatureReport(
        table,
        sentence(table, rule, alerts),
        len(found),
        towards="" if target is None else target.towards,
        alerts=alerts,
    )


def _alerts(
    rows: Rows, table: pd.DataFrame, blocks: Any, y: Any, assessment: Any
) -> list[str]:
    """Leaks among the features that were selected most often."""
    listed = list(table.index[table["reason"] == ""])
    perfect = nearly_perfect(assessment, listed)
    if blocks is None:
        return [perfect] if perfect else []
    frequency = rows.runs.frequencies().to_numpy()
    order = [place for place in most_frequent(frequency) if frequency[place] >= 0.5]
    names = rows.runs.feature_names[order]
    found = leaks_among([blocks[place] for place in order], names, y)
    return [*found, *([perfect] if perfect else [])]


class Rows(NamedTuple):
    """What the report has rows of: features, or variables of several features each."""

    features: Runs
    runs: Runs  # the same, of the rows
    codes: IndexArray  # the row of each feature

    @classmethod
    def of(cls, runs: Runs, variables: ArrayLike | None) -> Self:
        if variables is None:
            return cls(runs, runs, np.arange(runs.n_features))
        _, codes = group_codes(variables, runs.n_features, "variables")
        return cls(runs, runs.grouped(variables), codes)

    def joined(self, runs: Runs) -> Runs:
        """Other runs of the same features, of the rows."""
        return runs if self.runs is self.features else runs.grouped(self.codes)

    def blocks(self, X: Any, needed: BoolArray) -> Any:
        """The values of the rows that are needed."""
        names, variables = self.features.feature_names, self.runs.feature_names
        return blocks_of(X, self.codes, names, variables, needed)

    @property
    def is_joined(self) -> BoolArray:
        """Which rows are several features together."""
        return np.asarray(np.bincount(self.codes) > 1)

    def numbers(self, X: Any) -> Any:
        """The values of the rows for correlations; those of several features are constant."""
        values = as_numbers(X)
        if self.runs is self.features:
            return values
        first = np.unique(self.codes, return_index=True)[1]
        return np.where(self.is_joined, 0.0, np.asarray(values, dtype=float)[:, first])


class _Clusters(NamedTuple):
    """Clusters of substitutes: their labels, None where none are known, and for each feature its cluster's."""

    labels: Any
    codes: IndexArray
    frequency: FloatArray
    best: IndexArray  # the representative
    moves: (
        list[str] | None
    )  # where importance is in other runs, None without a similarity

    @classmethod
    def of(
        cls,
        rows: Rows,
        X: MatrixLike | None,
        clusters: ArrayLike | None,
        similarity: MatrixLike | None,
    ) -> Self:
        runs = rows.runs
        if clusters is None and X is not None:
            clusters = feature_clusters(rows.numbers(X))
        known = clusters is not None
        labels, codes = group_codes(
            clusters if known else np.arange(runs.n_features),
            runs.n_features,
            "clusters",
        )
        frequency = runs.grouped(codes).frequencies().to_numpy()
        best = representatives(runs.frequencies().to_numpy(), codes)
        moves = None if similarity is None else _moves(runs, similarity)
        shown = labels if known else None
        return cls(shown, codes, frequency[codes], best[codes], moves)


def _check_assessment(assessment: Any, n_features: int) -> None:
    if assessment is None:
        return
    if not hasattr(assessment, "decoys"):
        raise TypeError(
            f"assessment must be a SelectorAssessment, got {type(assessment).__name__}"
        )
    given = assessment.halves.n_features
    if given != n_features:
        raise ValueError(
            f"assessment must be of the {n_features} features of the runs, got one of {given}"
        )


def _table(
    rows: Rows,
    X: Any,
    more: dict[str, Any],
    clusters: _Clusters,
    reference: Any,
    rule: Rule,
) -> pd.DataFrame:
    import pandas as pd

    runs = rows.runs
    frequency = runs.frequencies().to_numpy()
    evidence = _evidence(rows, clusters, rule.assessment)
    pvalues = {"pvalue": more.pop("pvalue")} if "pvalue" in more else {}
    columns = {
        **frequency_columns(frequency, len(runs)),
        **({} if runs.refit is None else {"in_refit": runs.refit}),
        **more,
        **_coefficients(rows, reference),
        **levels_column(rows.features, rows.codes, runs.feature_names, rule.threshold),
        "instability_share": shares_of(frequency),
        **({} if clusters.labels is None else _of_clusters(rows, X, clusters)),
        **({} if clusters.moves is None else {"importance_moves_to": clusters.moves}),
        **evidence,
        **pvalues,
        **_fragility(rows.runs, X, rule.threshold),
        "reason": reasons(
            rule,
            frequency,
            clusters.frequency,
            evidence.get("qvalue"),
            clusters.best,
            runs.feature_names,
        ),
    }
    order = most_frequent(
        clusters.frequency, frequency[clusters.best], -clusters.codes, frequency
    )
    return pd.DataFrame(
        columns, index=pd.Index(runs.feature_names, name="feature")
    ).iloc[order]


def _directions(rows: Rows, blocks: Any, y: Any) -> dict[str, Any]:
    """The directions of the rows that were ever selected."""
    counts = rows.features.row_counts
    units = None if counts is None else units_of(counts)
    return direction_columns(blocks, y, units)


def _evidence(rows: Rows, clusters: _Clusters, assessment: Any) -> dict[str, Any]:
    """How often halves select the cluster of each row, and decoys of it."""
    if assessment is None or assessment.decoys is None:
        return {}
    table = assessment.decoys.frame(clusters=clusters.codes[rows.codes])
    found = table.loc[clusters.codes, ["halves", "decoy", "qvalue"]]
    return {name: found[name].to_numpy() for name in found}


def _fragility(runs: Runs, X: Any, threshold: float) -> dict[str, Any]:
    """On how few rows each feature of the list hangs, and which these are."""
    if runs.row_counts is None:
        return {}
    index = getattr(X, "index", None)
    labels = None if index is None or _is_numbered(index) else list(index)
    found = fragility(runs, threshold=threshold, row_names=labels)
    fewest = np.full(runs.n_features, np.nan)
    carried_by = np.full(runs.n_features, "", dtype=object)
    fewest[found.columns] = found.table["fragility"]
    carried_by[found.columns] = found.table["carried_by"]
    return {"fragility": fewest, "carried_by": carried_by}


def _is_numbered(index: Any) -> bool:
    return bool(np.array_equal(index, np.arange(len(index))))


def _coefficients(rows: Rows, reference: Any) -> dict[str, Any]:
    coefs = rows.features.tables.coefs
    if coefs is None:
        if reference is not None:
            raise ValueError(
                "reference needs runs with coefficients, of a linear model with one output"
            )
        return {}
    if rows.runs is not rows.features:
        # A variable of several features has several coefficients, and no sign.
        first = np.unique(rows.codes, return_index=True)[1]
        alone = coefs[:, first] * ~rows.is_joined
        columns = coefficient_columns(alone) | sign_columns(alone)
        for name in ("coef_median", "coef_low", "coef_high"):
            columns[name] = np.where(rows.is_joined, np.nan, columns[name])
        return columns
    columns = coefficient_columns(coefs) | sign_columns(coefs)
    if reference is None:
        return columns
    return columns | reference_columns(
        coefs, check_reference(reference, rows.runs.n_features)
    )


def _of_clusters(rows: Rows, X: Any, clusters: _Clusters) -> dict[str, Any]:
    runs = rows.runs
    columns = {
        "cluster": clusters.labels[clusters.codes],
        **frequency_columns(clusters.frequency, len(runs), "cluster_"),
        "representative": runs.feature_names[clusters.best],
    }
    if X is not None:
        own = np.arange(runs.n_features)
        columns["correlation"] = pair_correlations(rows.numbers(X), own, clusters.best)
    return columns


def _moves(runs: Runs, similarity: Any) -> list[str]:
    """Which features have the importance of each in other runs."""
    moves: list[list[str]] = [[] for _ in runs.feature_names]
    moved = moved_shares(runs, similarity, _LEAST_MOVED)
    for feature, other, share in zip(*moved, strict=True):
        moves[feature].append(f"{runs.feature_names[other]} {share:.0%}")
    return [", ".join(others) for others in moves]

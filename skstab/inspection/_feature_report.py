"""From the lists of many runs to one table for a paper."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from skstab._checks import check_number
from skstab._matrices import group_codes
from skstab._typing import FloatArray, IndexArray, MatrixLike, RunsLike
from skstab.inspection._clusters import (
    check_columns,
    feature_clusters,
    pair_correlations,
)
from skstab.inspection._instability import shares_of
from skstab.inspection._publishing import Rule, reasons, sentence
from skstab.inspection._report_columns import (
    check_reference,
    coefficient_columns,
    frequency_columns,
    reference_columns,
    representatives,
    sign_columns,
)
from skstab.inspection._sources import most_frequent, supports_of
from skstab.runs import Runs

if TYPE_CHECKING:
    import pandas as pd

    from skstab.model_selection import SelectorAssessment

__all__ = ["FeatureReport", "feature_report"]

_SHOWN = 30


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
    *,
    threshold: float = 0.5,
    groups: ArrayLike | None = None,
    reference: tuple[ArrayLike, ArrayLike] | None = None,
    assessment: SelectorAssessment | None = None,
) -> FeatureReport:
    """Tabulate what to publish of the selections of many runs: which features, and how certain each of them is.

    Parameters
    ----------
    runs : Runs, StabilityCV or search
        What runs selected, or a fitted object that holds runs.
    X : array-like or sparse matrix of shape (n_samples, n_features), default=None
        The data; without `groups`, features are clustered by :func:`feature_clusters`.
    threshold : float, default=0.5
        The share of the runs from which on a cluster (without clusters: a feature) is reported.
    groups : array-like of shape (n_features,), default=None
        A label for each feature: features of one group are substitutes of each other. With neither `X` nor `groups`,
        each feature stands for itself.
    reference : tuple of (coef, se), default=None
        Coefficients and standard errors of the unpenalised model with all features, on the scale of the coefficients
        of the runs (of standardised features where the runs standardise), for runs of linear models;
        :func:`unpenalised_reference` fits it for numbers and two classes. There is none where there are as many
        features as rows.
    assessment : SelectorAssessment, default=None
        What :func:`~skstab.model_selection.assess_selector` returned for the same selector and data: a feature is
        then reported only if halves of the data select it more often than with permuted targets, and none if
        there is no signal.

    Returns
    -------
    report : FeatureReport
        With `frame()`, the `core` to publish, what was `left_out`, and the `sentence` that says so.

    Notes
    -----
    Columns of the table, those that [1]_ and [2]_ recommend and some more. Those that can't be had are absent.

    - `frequency` of selection with its 95% Wilson interval `frequency_low`, `frequency_high`, which is about the finite
      number of runs; `in_refit`, whether it was selected on all rows.
    - for linear models with one output: `coef_median` and the 2.5% and 97.5% quantiles `coef_low` and `coef_high` over
      all runs, zero where not selected; `direction`, the more common sign, and its share `sign_consistency`.
    - with a reference β, se: the `rmsd_ratio` √(mean (β_run − β)²)/se, unselected as 0 (above 1: selection adds
      variance), and the relative `conditional_bias` mean(β_run | selected)/β − 1 (above 0: overestimated when
      selected; below 0: shrunken).
    - `instability_share`, its share of the variance of the selections, see :func:`instability_shares`.
    - with clusters: `cluster`, `cluster_frequency` with its interval, the `representative` (the member that was
      selected most often, the first of equal ones), and with X the `correlation` with it.
    - with an assessment: `chance`, the frequency with permuted targets, on halves of the data.
    - `reason` why it is left out, empty for the features to report.

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
    >>> report = feature_report(runs, X)
    >>> report.core[["frequency", "cluster_frequency", "coef_median", "direction"]].round(2)
             frequency  cluster_frequency  coef_median direction
    feature
    x2            0.96                1.0         0.39         +
    x5            0.80                1.0         0.27         +
    >>> report.left_out["x1"]
    'substitute of x2'
    """
    check_number(
        threshold, "threshold", "a number above 0 and at most 1", above=0, most=1
    )
    found, _ = supports_of(runs)
    _check_assessment(assessment, found.n_features)
    clusters = _Clusters.of(found, X, groups)
    rule = Rule(threshold, len(found), clusters.labels is not None, assessment)
    table = _table(found, X, clusters, reference, rule)
    return FeatureReport(table, sentence(table, rule), len(found))


class _Clusters(NamedTuple):
    """Clusters of substitutes: their labels, None where none are known, and for each feature its cluster's."""

    labels: Any
    codes: IndexArray
    frequency: FloatArray
    best: IndexArray  # the representative

    @classmethod
    def of(cls, runs: Runs, X: MatrixLike | None, groups: ArrayLike | None) -> Self:
        if X is not None:
            check_columns(X, runs.n_features)
        if groups is None and X is not None:
            groups = feature_clusters(X)
        known = groups is not None
        labels, codes = group_codes(
            groups if known else np.arange(runs.n_features), runs.n_features
        )
        frequency = runs.grouped(codes).frequencies().to_numpy()
        best = representatives(runs.frequencies().to_numpy(), codes)
        return cls(labels if known else None, codes, frequency[codes], best[codes])


def _check_assessment(assessment: Any, n_features: int) -> None:
    if assessment is None:
        return
    if not hasattr(assessment, "chance"):
        raise TypeError(
            f"assessment must be a SelectorAssessment, got {type(assessment).__name__}"
        )
    if len(assessment.chance.frequencies) != n_features:
        given = len(assessment.chance.frequencies)
        raise ValueError(
            f"assessment must be of the {n_features} features of the runs, got one of {given}"
        )


def _table(
    runs: Runs, X: Any, clusters: _Clusters, reference: Any, rule: Rule
) -> pd.DataFrame:
    import pandas as pd

    frequency = runs.frequencies().to_numpy()
    columns = {
        **frequency_columns(frequency, len(runs)),
        **({} if runs.refit is None else {"in_refit": runs.refit}),
        **_coefficients(runs, reference),
        "instability_share": shares_of(frequency),
        **({} if clusters.labels is None else _of_clusters(runs, X, clusters)),
        **(
            {}
            if rule.assessment is None
            else {"chance": rule.assessment.chance.frequencies}
        ),
        "reason": reasons(
            rule, frequency, clusters.frequency, clusters.best, runs.feature_names
        ),
    }
    order = most_frequent(
        clusters.frequency, frequency[clusters.best], -clusters.codes, frequency
    )
    return pd.DataFrame(
        columns, index=pd.Index(runs.feature_names, name="feature")
    ).iloc[order]


def _coefficients(runs: Runs, reference: Any) -> dict[str, Any]:
    if runs.tables.coefs is None:
        if reference is not None:
            raise ValueError(
                "reference needs runs with coefficients, of a linear model with one output"
            )
        return {}
    columns = coefficient_columns(runs.tables.coefs) | sign_columns(runs.tables.coefs)
    if reference is None:
        return columns
    return columns | reference_columns(
        runs.tables.coefs, check_reference(reference, runs.n_features)
    )


def _of_clusters(runs: Runs, X: Any, clusters: _Clusters) -> dict[str, Any]:
    own = np.arange(runs.n_features)
    return {
        "cluster": clusters.labels[clusters.codes],
        **frequency_columns(clusters.frequency, len(runs), "cluster_"),
        "representative": runs.feature_names[clusters.best],
        **(
            {}
            if X is None
            else {"correlation": pair_correlations(X, own, clusters.best)}
        ),
    }

"""A check for reports of skore: whether the folds of a cross-validation select the same features."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from skstab._checks import check_number, check_support_from
from skstab.runs import Runs, selection_of

__all__ = ["SelectionStabilityCheck"]


class SelectionStabilityCheck:
    """Report where the folds of a cross-validation select different features.

    A check as :mod:`skore` takes it: it appears among the tips of a `CrossValidationReport` whose estimator selects
    features, and stands under "not applicable" for one that does not.

    Parameters
    ----------
    threshold : float, default=0.75
        The stability (`nogueira`) below which there is something to report.
    support_from : {"used", "selector"}, default="used"
        What counts as selected, as in :func:`skstab.runs.selection_of`.

    Notes
    -----
    Folds share most of their rows: with five, any two training sets share three quarters. Samples that share none agree
    less as a rule; :func:`skstab.assess_selector` estimates how much.

    Examples
    --------
    With the extra `skore`::

        report = skore.CrossValidationReport(model, X, y, splitter=5)
        report.checks.add([SelectionStabilityCheck()])
        report.checks.summarize()

    >>> from skstab.skore import SelectionStabilityCheck
    >>> SelectionStabilityCheck().title
    'Selected features differ between folds'
    """

    code = "SKSTAB001"
    title = "Selected features differ between folds"
    report_types: ClassVar[list[str]] = ["cross-validation"]
    docs_url: str | None = None
    severity: Literal["issue", "tip"] = "tip"
    slow = False

    def __init__(self, *, threshold: float = 0.75, support_from: str = "used") -> None:
        check_number(threshold, "threshold")
        check_support_from(support_from)
        self.threshold = threshold
        self.support_from = support_from

    def check_function(self, report: Any) -> str | None:
        """Compare what the folds select.

        Parameters
        ----------
        report : CrossValidationReport
            The report to look at.

        Returns
        -------
        found : str or None
            What is to be said, None where the folds agree well enough.
        """
        try:
            runs = self._runs_of(report)
            interval = runs.interval()
        except ValueError as error:
            from skore import CheckNotApplicable

            raise CheckNotApplicable(str(error)) from error
        if not interval.estimate < self.threshold:
            return None
        frequencies = runs.frequencies()
        n_always = int((frequencies == 1).sum())
        n_ever = int((frequencies > 0).sum())
        return (
            f"Selected features differ between folds: {interval.estimate:.2f} ({interval.low:.2f} to "
            f"{interval.high:.2f}), where 1 is the same features and 0 what chance gives. Of {n_ever} features that "
            f"some fold selects, {n_always} are selected by all {len(runs)}. Folds share most of their rows: samples "
            "that share none agree less as a rule."
        )

    def _runs_of(self, report: Any) -> Runs:
        selections = []
        for fold in report.reports_:
            if fold.X_train is None:
                raise ValueError("the rows of the folds are not known")
            selections.append(
                selection_of(
                    fold.estimator_,
                    fold.X_train,
                    fold.y_train,
                    support_from=self.support_from,
                    require_support=True,
                )
            )
        X = report.reports_[0].X_train
        names = getattr(X, "columns", None)
        return Runs.from_selections(selections, X.shape[1], feature_names=names)

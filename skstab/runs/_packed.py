"""What one run selected: as it was read, and small enough to be sent and kept."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from skstab._typing import BoolArray, FloatArray
from skstab._warnings import warn_user
from skstab.runs._outputs import RunOutputs
from skstab.runs._rows import Row

__all__ = ["PackedSelection", "Reading", "Selection"]


class Selection(NamedTuple):
    """What one fitted estimator selected, in the columns of its input.

    Parameters
    ----------
    support : ndarray of bool of shape (n_features,) or None
        The selected features; None for a model that weighs every feature and drops none (ridge, L2-penalised logistic
        regression, a forest) and has no selector before it.
    importances : ndarray of float of shape (n_features,) or None
        Not negative, zero outside the support; None for a selector without weights (`SequentialFeatureSelector`,
        `VarianceThreshold`).
    coef : ndarray of float of shape (n_features,) or None
        Signed weights of a linear model with one output, as fitted, zero outside the support.
    has_selector : bool
        Whether the support was chosen by a selector rather than by non-zero coefficients.
    by_probing : bool, default=False
        Whether the support was found by changing columns and comparing predictions, as the model does not declare what
        it uses.

    See Also
    --------
    selection_of : Reads a fitted estimator.
    Runs.from_selections : Makes runs of several of them.
    register_reader : How objects of other kinds are read.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.runs import Runs, Selection
    >>> first = Selection(np.array([True, False, True]), None, None, has_selector=True)
    >>> second = Selection(np.array([True, True, False]), None, None, has_selector=True)
    >>> first
    Selection(2 of 3 features)
    >>> Runs.from_selections([first, second], n_features=3)
    Runs(2 runs, 3 features, 2.0 selected on average)
    """

    support: Any
    importances: FloatArray | None
    coef: FloatArray | None
    has_selector: bool
    by_probing: bool = False

    @property
    def keeps_all(self) -> bool:
        """Whether nothing drops a feature: no support is known, or all features alter the predictions."""
        return self.support is None or bool(self.by_probing and np.all(self.support))

    @property
    def used(self) -> BoolArray:
        """The selected features; of a model that keeps every feature, those with an importance other than zero."""
        return np.asarray(
            self.importances != 0 if self.support is None else self.support
        )

    def __repr__(self) -> str:
        used = self.used
        parts = [
            f"{np.count_nonzero(used)} of {len(used)} features"
            + ("" if self.support is not None else " used")
            + (" by probing" if self.by_probing else "")
        ]
        parts += [
            name for name in ("importances", "coef") if getattr(self, name) is not None
        ]
        return f"Selection({', '.join(parts)})"

    def packed(self) -> PackedSelection:
        """Keep only what is not zero: small, whatever the number of features."""
        used = Row.of(self.used)
        importances, coef = (
            None if dense is None else Row.of(dense, used)
            for dense in (self.importances, self.coef)
        )
        return PackedSelection(used, importances, coef)


class Reading(NamedTuple):
    """A `Selection` with what else was found while reading it.

    Parameters
    ----------
    selection : Selection
        What the estimator selected.
    outputs : RunOutputs or None
        Which outputs of an encoder were selected, where a step made several columns of one.
    why_no_importances : str or None
        Why importances that are there could not be read.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.runs import Reading, Selection
    >>> Reading(Selection(np.array([True, False]), None, None, True), None, None).used
    array([ True, False])
    """

    selection: Selection
    outputs: RunOutputs | None
    why_no_importances: str | None

    @property
    def support(self) -> BoolArray | None:
        """The selected features, None for a model that keeps every feature."""
        support: BoolArray | None = self.selection.support
        return support

    @property
    def used(self) -> BoolArray:
        """The selected features, or those with an importance."""
        return self.selection.used

    @property
    def keeps_all(self) -> bool:
        """Whether nothing drops a feature."""
        return self.selection.keeps_all

    def warned(self) -> Self:
        """Warn where importances could not be read or the support is by probing, and return the reading as it is."""
        if self.selection.by_probing and not self.keeps_all:
            warn_user(
                "the estimator does not say which features it uses, so the selection was found by probing: a feature "
                "is selected where changing its values in at most 256 training rows alters the predictions"
            )
        if self.why_no_importances is not None:
            warn_user(
                f"there are no importances, because they cannot be read: {self.why_no_importances}"
            )
        return self

    def packed(self) -> PackedSelection:
        """Keep only what is not zero."""
        return self.selection.packed()._replace(
            outputs=self.outputs, why_no_importances=self.why_no_importances
        )


class PackedSelection(NamedTuple):
    """A `Reading` without its zeros."""

    support: Row
    importances: Row | None
    coef: Row | None
    outputs: RunOutputs | None = None
    why_no_importances: str | None = None

    def packed(self) -> PackedSelection:
        """Return the selection as it is."""
        return self

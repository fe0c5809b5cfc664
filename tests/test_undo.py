"""A fit that fails leaves the earlier fit as it was, whenever it fails."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectKBest

from skstab.feature_selection import (
    ConsensusSelector,
    HybridRFE,
    StabilitySelection,
    welch_variance,
)
from skstab.model_selection import BootstrapSplit, StabilityCV, StabilitySearchCV
from tests.discovery import PACKAGES, exported

X, Y = make_classification(60, 8, random_state=0)
FEW = BootstrapSplit(4, random_state=0)


class Stopped(SelectKBest):
    """Raises an error at the fit of a number, counted over all clones."""

    def __init__(self, *, k=3, at=0, error=None, fits=None):
        super().__init__(k=k)
        self.at = at
        self.error = error
        self.fits = fits

    def __sklearn_clone__(self):
        return type(self)(
            **self.get_params(deep=False)
        )  # so that all count in one list

    def fit(self, X, y):
        self.fits.append(len(X))
        if len(self.fits) == self.at:
            raise self.error("stopped")
        return super().fit(X, y)


def stopping_criterion(at, error, fits):
    def criterion(X, y):
        fits.append(len(X))
        if len(fits) == at:
            raise error("stopped")
        return welch_variance(X, y)

    return criterion


# How each estimator is made, and where it is stopped: in its first fit, and later.
MADE = {
    "StabilityCV": (StabilityCV(None, cv=FEW, error_score="raise"), [1, 2, 5]),
    "StabilitySelection": (
        StabilitySelection(None, param_name="k", param_values=[2], n_resamples=4, q=2),
        [1, 2, 5],
    ),
    "StabilitySearchCV": (
        StabilitySearchCV(None, {"k": [1, 2]}, cv=FEW, error_score="raise"),
        [1, 3, 11],
    ),
    "ConsensusSelector": (ConsensusSelector([("first", None)], cv=FEW), [1, 2, 5]),
    "HybridRFE": (HybridRFE(2, n_stable_features=1), [1]),
}
CASES = [(name, at, KeyboardInterrupt) for name, (_, ats) in MADE.items() for at in ats]
# A subsample that fails is left out, without an error.
CASES += [
    (name, at, OSError)
    for name, at, _ in CASES
    if name not in ("StabilitySelection", "ConsensusSelector") or at == 1
]


def new(name):
    return clone(MADE[name][0])


def stopped(estimator, at, error=KeyboardInterrupt):
    if isinstance(estimator, HybridRFE):
        return estimator.set_params(criterion=stopping_criterion(at, error, []))
    member = Stopped(at=at, error=error, fits=[])
    if isinstance(estimator, ConsensusSelector):
        return estimator.set_params(first=member)
    return estimator.set_params(estimator=member)


def test_every_estimator_is_tried():
    found = {
        name: thing for package in PACKAGES for name, thing in exported(package).items()
    }
    assert MADE.keys() == {
        name
        for name, thing in found.items()
        if inspect.isclass(thing) and hasattr(thing, "fit")
    }


@pytest.mark.parametrize(("name", "at", "error"), CASES)
def test_a_fit_that_fails_leaves_the_one_before(name, at, error):
    estimator = stopped(new(name), 0).fit(X, Y)
    stopped(estimator, at, error)
    before = dict(vars(estimator))
    with pytest.raises(error, match="stopped"):
        estimator.fit(X[:, :7] + 1, 1 - Y)
    assert vars(estimator).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(estimator).items())


@pytest.mark.parametrize("name", MADE)
def test_a_first_fit_that_fails_leaves_nothing(name):
    estimator = stopped(new(name), 1)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, Y)
    assert vars(estimator).keys() == estimator.get_params(deep=False).keys()


def test_bad_data_leaves_the_one_before():
    hybrid = HybridRFE(2).fit(X, Y)
    before = dict(vars(hybrid))
    for X_bad, y_bad in [
        (X[:, :5], np.zeros(60)),
        (np.full((60, 5), np.inf), Y),
        (X[:1], Y[:1]),
    ]:
        with pytest.raises(ValueError, match=r"class|infinity|minimum"):
            hybrid.fit(X_bad, y_bad)
        assert all(value is before[name] for name, value in vars(hybrid).items())

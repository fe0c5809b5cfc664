"""The check for skore, on what it reads of a report; `make test-thirdparty` tries it with skore itself."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import Lasso
from sklearn.model_selection import KFold

from skstab.metrics import stability_interval
from skstab.skore import SelectionStabilityCheck


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20))
    y = X[:, 0] + rng.normal(size=60)
    folds = []
    for train, _ in KFold(5).split(X):
        fitted = Lasso(0.1).fit(X[train], y[train])
        fold = {"estimator_": fitted, "X_train": X[train], "y_train": y[train]}
        folds.append(SimpleNamespace(**fold))
    return SimpleNamespace(reports_=folds)


def test_what_differs_is_said_in_numbers(report):
    supports = np.array([fold.estimator_.coef_ != 0 for fold in report.reports_])
    interval = stability_interval(supports)
    found = SelectionStabilityCheck(threshold=1).check_function(report)
    expected = f"{interval.estimate:.2f} ({interval.low:.2f} to {interval.high:.2f})"
    assert f"differ between folds: {expected}" in found
    ever, always = supports.any(axis=0).sum(), supports.all(axis=0).sum()
    assert f"Of {ever} features" in found
    assert f", {always} are selected by all 5" in found
    assert 0 < always < ever


def test_stability_at_the_threshold_is_nothing_to_report(report):
    supports = np.array([fold.estimator_.coef_ != 0 for fold in report.reports_])
    threshold = stability_interval(supports).estimate
    check = SelectionStabilityCheck(threshold=threshold)
    assert check.check_function(report) is None


@pytest.mark.parametrize(
    "options", [{"threshold": "high"}, {"support_from": "model"}], ids=str
)
def test_wrong_settings_are_named(options):
    (name,) = options
    with pytest.raises(ValueError, match=name):
        SelectionStabilityCheck(**options)

"""The check of selected features in a cross-validation report of skore."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab.metrics import stability_interval
from skstab.skore import SelectionStabilityCheck
from tests.thirdparty.test_readings import l1

skore = pytest.importorskip("skore")
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
FOLDS = KFold(5, shuffle=True, random_state=0)


def summary(model, target=y, **options):
    report = skore.CrossValidationReport(model, X, target, splitter=FOLDS)
    for name in report.checks.available():  # others take their time
        report.checks.remove(name.partition(" ")[0])
    report.checks.add([SelectionStabilityCheck(**options)])
    found = report.checks.summarize().frame()
    return found.set_index("code").loc["SKSTAB001"]


@pytest.mark.package("skore", "a check in a CrossValidationReport")
def test_folds_that_select_other_features_are_reported():
    model = make_pipeline(StandardScaler(), l1(0.1))
    supports = [
        make_pipeline(StandardScaler(), l1(0.1))
        .fit(X.iloc[train], y.iloc[train])[-1]
        .coef_[0]
        != 0
        for train, _ in FOLDS.split(X)
    ]
    interval = stability_interval(np.array(supports))
    found = summary(model, threshold=1.0)
    assert f"{interval.estimate:.2f} ({interval.low:.2f} to" in found["explanation"]
    n_always, n_ever = np.all(supports, axis=0).sum(), np.any(supports, axis=0).sum()
    assert f"Of {n_ever} features" in found["explanation"]
    assert f"{n_always} are selected by all 5" in found["explanation"]
    assert found["section"] == "tip"


@pytest.mark.package("skore", "a check in a CrossValidationReport")
def test_folds_that_agree_pass_and_other_models_are_not_asked():
    agreeing = make_pipeline(SelectKBest(k=5), LogisticRegression(max_iter=5000))
    assert summary(agreeing, threshold=0.1)["section"] == "passed"
    assert summary(Ridge(), y + 0.5)["section"] == "not_applicable"

"""Every fitted object is stored and loaded by skops, which knows no data frames."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import Lasso
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skstab import BootstrapSplit, ParetoRefit, WholeSampleSplit, stability_scoring
from tests.discovery import PACKAGES, exported

io = pytest.importorskip("skops.io")
PATH = make_pipeline(SelectKBest(f_regression, k=3), Lasso())
# One set of parameters for each exported class with `fit`.
MADE = {
    "ConsensusSelector": {
        "selectors": [("lasso", Lasso(0.1)), ("best", SelectKBest(f_regression, k=3))],
        "n_features_to_select": 3,
    },
    "HybridRFE": {"n_features_to_select": 2},
    "StabilityCV": {"estimator": Lasso(0.1), "cv": 5, "return_estimators": True},
    "StabilitySearchCV": {
        "estimator": PATH,
        "param_grid": {"lasso__alpha": [0.1, 0.2], "selectkbest__k": [2, 4]},
        "cv": 5,
        "scoring": "r2",
    },
    "StabilitySelection": {"estimator": Lasso(), "efp": 1, "n_resamples": 10},
}
KINDS = {
    name: thing
    for package in PACKAGES
    for name, thing in exported(package).items()
    if inspect.isclass(thing) and hasattr(thing, "fit")
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 6)), columns=list("abcdef"))
    return X, X["a"] - X["b"] + rng.normal(size=60)


def copy_of(fitted):
    stored = io.dumps(fitted)
    return io.loads(stored, trusted=io.get_untrusted_types(data=stored))


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_fitted_object_is_the_same_after_skops(name, data):
    X, y = data
    y = (y > 0).astype(int) if name == "HybridRFE" else y
    fitted = KINDS[name](**MADE[name]).fit(X, y)
    copied = copy_of(fitted)
    np.testing.assert_array_equal(copied.get_support(), fitted.get_support())
    np.testing.assert_array_equal(copied.transform(X), fitted.transform(X))
    for table in ("front_", "stability_path_"):
        if hasattr(fitted, table):
            pd.testing.assert_frame_equal(
                getattr(copied, table), getattr(fitted, table)
            )
            # Having been read it is not in the way the next time.
            copy_of(fitted)


def test_a_grid_search_over_stability_is_the_same_after_skops(data):
    X, y = data
    stable = KINDS["StabilityCV"](
        Lasso(), cv=BootstrapSplit(5, random_state=0), scoring="r2"
    )
    search = GridSearchCV(
        stable,
        {"estimator__alpha": [0.1, 0.3]},
        cv=WholeSampleSplit(),
        scoring=stability_scoring(["nogueira"]),
        refit=ParetoRefit("r2", "nogueira"),
    ).fit(X, y)
    copied = copy_of(search)
    assert copied.best_params_ == search.best_params_
    np.testing.assert_array_equal(copied.predict(X), search.predict(X))


@pytest.mark.filterwarnings("ignore:the calibration chose an end")
def test_a_calibrated_selection_and_the_runs_alone(data):
    X, y = data
    selection = KINDS["StabilitySelection"](Lasso(), q=3, n_resamples=10).fit(X, y)
    copied = copy_of(selection.calibrate())
    assert copied.calibration_.threshold == selection.calibration_.threshold
    copied.retarget(threshold=0.9)
    runs = KINDS["StabilityCV"](Lasso(0.1), cv=5).fit(X, y).runs_
    np.testing.assert_array_equal(copy_of(runs).supports, runs.supports)

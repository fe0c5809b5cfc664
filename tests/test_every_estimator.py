"""Every class of scikit-learn inside StabilityCV: what a loop by hand reads, or a clear refusal."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SequentialFeatureSelector,
    VarianceThreshold,
    f_regression,
)
from sklearn.linear_model import Lasso, LogisticRegression, RANSACRegressor
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import (
    OneVsOneClassifier,
    OneVsRestClassifier,
    OutputCodeClassifier,
)
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from skstab import StabilityCV

from .every import (
    ALL,
    CLASSES,
    NO_TABLES,
    NUMBERS,
    SPLITS,
    TWO,
    D,
    X,
    by_hand,
    data_for,
    make,
)

pytestmark = pytest.mark.filterwarnings("ignore")
REFUSAL = (
    r"does not select features, it keeps every feature|which features \w+ selects|"
    r"uses every feature: changing any of them alters its predictions"
)


@pytest.mark.parametrize("name", sorted(ALL.keys() - NO_TABLES))
def test_runs_are_those_of_a_loop_by_hand_or_refused_clearly(name):
    table, y = data_for(name)
    estimator = make(name)
    supports = [
        by_hand(name, clone(estimator).fit(table[half], y[half])) for half, _ in SPLITS
    ]
    if supports[0] is None:
        with pytest.raises(ValueError, match=REFUSAL) as refusal:
            StabilityCV(estimator, cv=SPLITS, random_state=0).fit(table, y)
        assert "NoneType" not in str(refusal.value)
    else:
        runs = StabilityCV(estimator, cv=SPLITS, random_state=0).fit(table, y)
        np.testing.assert_array_equal(runs.supports_, supports)


@pytest.mark.parametrize("name", sorted(NO_TABLES))
def test_what_takes_no_table_fails_by_its_own_error(name):
    table, y = data_for(name)
    with pytest.raises((TypeError, ValueError, AttributeError)):
        StabilityCV(ALL[name](), cv=SPLITS).fit(table, y)


# -- meta-estimators inside and around ---------------------------------------------------------------------------------


def classifier():
    sparse = LogisticRegression(l1_ratio=1, solver="liblinear", C=1.0, random_state=0)
    return make_pipeline(VarianceThreshold(), SelectKBest(k=3), sparse)


def regressor():
    return make_pipeline(SelectKBest(f_regression, k=4), Lasso(0.1))


def used_by(pipe):
    """The columns that the selector of a pipeline keeps and its linear model uses."""
    used = np.zeros(D, dtype=bool)
    kept = [int(name[1:]) for name in pipe[:-1].get_feature_names_out()]
    used[kept] = np.any(np.atleast_2d(pipe[-1].coef_)[:, : len(kept)] != 0, axis=0)
    return used


THREE = np.digitize(NUMBERS, [-1, 1])
# How each wraps a model, the target, and the fitted members of it.
INSIDE = {
    "BaggingRegressor": (
        lambda m: BaggingRegressor(m, 3, random_state=0),
        NUMBERS,
        lambda f: f.estimators_,
    ),
    "CalibratedClassifierCV": (
        lambda m: CalibratedClassifierCV(m, cv=2),
        CLASSES,
        lambda f: [one.estimator for one in f.calibrated_classifiers_],
    ),
    "FixedThresholdClassifier": (
        FixedThresholdClassifier,
        CLASSES,
        lambda f: [f.estimator_],
    ),
    "GridSearchCV": (
        lambda m: GridSearchCV(m, {"selectkbest__k": [2, 4]}, cv=2),
        NUMBERS,
        lambda f: [f.best_estimator_],
    ),
    "MultiOutputRegressor": (MultiOutputRegressor, TWO, lambda f: f.estimators_),
    "OneVsOneClassifier": (OneVsOneClassifier, THREE, lambda f: f.estimators_),
    "OneVsRestClassifier": (OneVsRestClassifier, THREE, lambda f: f.estimators_),
    "OutputCodeClassifier": (
        lambda m: OutputCodeClassifier(m, random_state=0),
        THREE,
        lambda f: f.estimators_,
    ),
    "RANSACRegressor": (
        lambda m: RANSACRegressor(m, min_samples=12, random_state=0),
        NUMBERS,
        lambda f: [f.estimator_],
    ),
    "SelfTrainingClassifier": (
        SelfTrainingClassifier,
        CLASSES,
        lambda f: [f.estimator_],
    ),
    "StackingClassifier": (
        lambda m: StackingClassifier([("a", m), ("b", clone(m))], cv=2),
        CLASSES,
        lambda f: f.estimators_,
    ),
    "StackingRegressor": (
        lambda m: StackingRegressor([("a", m), ("b", "drop")], cv=2),
        NUMBERS,
        lambda f: f.estimators_,
    ),
    "TransformedTargetRegressor": (
        lambda m: TransformedTargetRegressor(m, transformer=StandardScaler()),
        NUMBERS,
        lambda f: [f.regressor_],
    ),
    "TunedThresholdClassifierCV": (
        lambda m: TunedThresholdClassifierCV(m, cv=2),
        CLASSES,
        lambda f: [f.estimator_],
    ),
    "VotingClassifier": (
        lambda m: VotingClassifier([("a", m), ("b", clone(m))]),
        CLASSES,
        lambda f: f.estimators_,
    ),
    "VotingRegressor": (
        lambda m: VotingRegressor([("a", m), ("b", "drop")]),
        NUMBERS,
        lambda f: f.estimators_,
    ),
}


@pytest.mark.parametrize("name", INSIDE)
def test_a_meta_estimator_inside_uses_what_any_of_its_members_uses(name):
    wrap, y, members = INSIDE[name]
    is_label = np.ndim(y) == 1 and y.dtype.kind == "i"
    meta = wrap(classifier() if is_label else regressor())
    expected = []
    for rows, _ in SPLITS:
        # A class that is always there has a constant in place of a model.
        fits = members(clone(meta).fit(X[rows], y[rows]))
        fits = [one for one in fits if hasattr(one, "steps")]
        expected.append(np.any([used_by(one) for one in fits], axis=0))
    assert 0 < np.sum(expected) < 2 * D
    runs = StabilityCV(meta, cv=SPLITS, random_state=0).fit(X, y)
    np.testing.assert_array_equal(runs.supports_, expected)
    # Behind a filter that keeps everything it is the same.
    behind = make_pipeline(VarianceThreshold(), clone(meta))
    runs = StabilityCV(behind, cv=SPLITS, random_state=0).fit(X, y)
    np.testing.assert_array_equal(runs.supports_, expected)


AROUND = {
    "ColumnTransformer": lambda s: ColumnTransformer([("s", s, slice(0, 4))]),
    "FeatureUnion": lambda s: FeatureUnion([("s", s)]),
    "Pipeline": lambda s: make_pipeline(StandardScaler(), s),
    "RFE": lambda s: RFE(s, n_features_to_select=2, importance_getter=frequencies),
    "SelectFromModel": lambda s: SelectFromModel(s, importance_getter=frequencies),
    "SequentialFeatureSelector": lambda s: SequentialFeatureSelector(
        s, n_features_to_select=1, cv=2
    ),
}


def frequencies(stable):
    return stable.selection_frequencies_


@pytest.mark.parametrize("name", [*INSIDE, *AROUND])
def test_a_meta_estimator_around_fits_and_predicts_or_transforms(name):
    wrap, y, _ = INSIDE.get(name, (AROUND.get(name), NUMBERS, None))
    is_label = np.ndim(y) == 1 and y.dtype.kind == "i"
    model = (classifier() if is_label else regressor())[-1]
    stable = StabilityCV(model, cv=2, random_state=0)
    if name == "GridSearchCV":
        wrap = lambda s: GridSearchCV(s, {"estimator__alpha": [0.1]}, cv=2)  # noqa: E731
    fitted = wrap(stable).fit(X, y)
    seen = fitted.predict(X) if hasattr(fitted, "predict") else fitted.transform(X)
    assert len(seen) == len(X)
    if name not in ("GridSearchCV", *AROUND):
        outer = StabilityCV(wrap(stable), cv=SPLITS, random_state=0).fit(X, y)
        assert outer.supports_.any()

import warnings
from inspect import signature
from operator import attrgetter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
    clone,
)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingRegressor,
    RandomForestClassifier,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.feature_selection import (
    RFE,
    RFECV,
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectorMixin,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
    f_classif,
    f_regression,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    Lasso,
    LassoCV,
    LassoLars,
    LinearRegression,
    LogisticRegression,
    MultiTaskLasso,
    OrthogonalMatchingPursuit,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import (
    ClassifierChain,
    MultiOutputRegressor,
    RegressorChain,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeRegressor

from skstab._statistics import column_deviations
from skstab.runs import _view, read_emptied, read_run, reading_same_rows
from skstab.runs._selection import (
    _DENSE,
    Selection,
    last_step_of,
    selection_of,
    support_of,
    why_no_support,
)

D = 8
SCALES = np.array([1.0, 10.0, 0.1, 3.0, 1.0, 0.5, 20.0, 2.0])


@pytest.fixture(scope="module")
def classification():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, D))
    y = (2 * X[:, 0] - X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=90) > 0).astype(int)
    return X * SCALES + 5.0, y


@pytest.fixture(scope="module")
def multiclass():
    X, y = make_classification(120, D, n_informative=4, n_classes=3, random_state=1)
    return X * SCALES, y


@pytest.fixture(scope="module")
def regression():
    X, y = make_regression(70, D, n_informative=3, noise=1.0, random_state=0)
    return X * SCALES + 1.0, y


def l1_logistic(C=0.1):
    return LogisticRegression(l1_ratio=1, C=C, solver="liblinear", random_state=0)


def mask_of(*columns, n=D):
    mask = np.zeros(n, dtype=bool)
    mask[list(columns)] = True
    return mask


def check(selection, support, importances=None, coef=None):
    """Compare with expectations; those left out must be None."""
    for found, expected in zip(selection, (support, importances, coef), strict=False):
        if expected is None:
            assert found is None
        elif expected.dtype == bool:
            assert found.dtype == bool
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


# -- selectors ---------------------------------------------------------------------------------------------------------


class FirstAndLast(SelectorMixin, BaseEstimator):
    def fit(self, X, _y=None):
        self.n_ = X.shape[1]
        return self

    def _get_support_mask(self):
        return mask_of(0, self.n_ - 1, n=self.n_)


@pytest.mark.parametrize(
    "selector",
    [
        SelectKBest(k=3),
        SelectPercentile(percentile=40),
        SelectFpr(),
        SelectFdr(),
        SelectFwe(),
        GenericUnivariateSelect(mode="k_best", param=3),
    ],
    ids=lambda s: type(s).__name__,
)
def test_univariate_selectors_use_their_scores(selector, classification):
    X, y = classification
    fitted = selector.fit(X, y)
    support, scores = fitted.get_support(), f_classif(X, y)[0]
    assert 0 < support.sum() < D
    selection = selection_of(fitted, X, y)
    check(selection, support, np.where(support, scores, 0.0))
    assert selection.has_selector


@pytest.mark.parametrize(
    ("selector", "support"),
    [
        (SequentialFeatureSelector(LinearSVC(), n_features_to_select=2, cv=2), None),
        (VarianceThreshold(1e-3), np.ones(D, dtype=bool)),
        (FirstAndLast(), mask_of(0, D - 1)),
    ],
    ids=["sequential", "variance", "user-defined"],
)
def test_selectors_without_weights_have_no_importances(
    selector, support, classification
):
    X, y = classification
    X = StandardScaler().fit_transform(X)
    fitted = selector.fit(X, y)
    check(
        selection_of(fitted, X, y), fitted.get_support() if support is None else support
    )
    with pytest.raises(ValueError, match=r"importance_getter='coef_'"):
        selection_of(fitted, X, y, importance_getter="coef_")


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([-3.0, 1.0, 2.0], [0.0, 4.0, 5.0]),
        ([0.5, 0.0, 2.0], [0.5, 0.0, 2.0]),
        ([-np.inf, -1.0, np.inf], [0.0, 0.0, 2.0]),
        ([np.nan, -1.0, 3.0], [1.0, 0.0, 4.0]),
    ],
)
def test_negative_scores_are_unimportant(scores, expected):
    X, y = np.eye(3), [0, 1, 0]
    fitted = SelectKBest(lambda *_: np.array(scores), k="all").fit(X, y)
    np.testing.assert_allclose(selection_of(fitted, X, y).importances, expected)


def test_scores_without_value_or_infinite_stay_usable():
    y = np.repeat([0, 1], 10)
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [y.astype(float), np.ones(20), y + rng.normal(size=20), rng.normal(size=20)]
    )
    with pytest.warns((UserWarning, RuntimeWarning)):
        fitted = SelectKBest(k=3).fit(X, y)
    assert np.isinf(fitted.scores_[0])
    assert np.isnan(fitted.scores_[1])
    importances = selection_of(fitted, X, y).importances
    best = fitted.scores_[2]
    np.testing.assert_allclose(importances, [best, 0.0, best, fitted.scores_[3]])


def test_select_from_model_weighs_by_the_inner_model(classification):
    X, y = classification
    fitted = SelectFromModel(l1_logistic(), max_features=2, threshold=-np.inf).fit(X, y)
    weights = fitted.estimator_.coef_[0]
    support = np.argsort(-np.abs(weights))[:2]
    expected = np.zeros(D)
    expected[support] = np.abs(weights[support]) * X.std(axis=0)[support]
    coef = np.where(mask_of(*support), weights, 0.0)
    check(selection_of(fitted, X, y), mask_of(*support), expected, coef)


def test_select_from_forest(classification):
    X, y = classification
    fitted = SelectFromModel(RandomForestClassifier(10, random_state=0)).fit(X, y)
    support = fitted.get_support()
    assert 0 < support.sum() < D
    importances = np.where(support, fitted.estimator_.feature_importances_, 0.0)
    check(selection_of(fitted, X, y), support, importances)


@pytest.mark.parametrize(
    "selector",
    [
        RFE(LinearSVC(), n_features_to_select=3),
        RFECV(LinearSVC(), min_features_to_select=2, cv=2),
    ],
    ids=lambda s: type(s).__name__,
)
def test_rfe_spreads_the_weights_of_the_selected_columns(selector, classification):
    X, y = classification
    X = X - X.mean(axis=0)
    X = X / np.abs(X).max(axis=0)
    fitted = selector.fit(X, y)
    support = fitted.get_support()
    coef = np.zeros(D)
    coef[support] = fitted.estimator_.coef_[0]
    check(selection_of(fitted, X, y), support, np.abs(coef) * X.std(axis=0), coef)


def test_a_selectors_own_getter_is_used(classification):
    X, y = classification
    pipe = make_pipeline(StandardScaler(), l1_logistic(1.0))
    fitted = RFE(
        pipe,
        n_features_to_select=4,
        importance_getter="named_steps.logisticregression.coef_",
    )
    support = fitted.fit(X, y).get_support()
    coef = np.zeros(D)
    coef[support] = fitted.estimator_[-1].coef_[0]
    # Standardised inside: importances are |coef| as they are.
    check(selection_of(fitted, X, y), support, np.abs(coef), coef)

    squares = SelectFromModel(
        l1_logistic(), importance_getter=lambda m: m.coef_[0] ** 2
    ).fit(X, y)
    expected = np.where(squares.get_support(), squares.estimator_.coef_[0] ** 2, 0.0)
    coef = np.where(squares.get_support(), squares.estimator_.coef_[0], 0.0)
    check(selection_of(squares, X, y), squares.get_support(), expected, coef)


class Consensus(SelectorMixin, ClassifierMixin, BaseEstimator):
    """Like StabilityCV: a selector around a pipeline, with a dict of scores."""

    def __init__(self, estimator, importance_getter="auto"):
        self.estimator = estimator
        self.importance_getter = importance_getter

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        self.estimator_ = self.estimator.fit(X, y)
        self.scores_ = {"accuracy": np.zeros(D)}
        return self

    def predict(self, X):
        return self.estimator_.predict(X)

    def _get_support_mask(self):
        return mask_of(0, 1, n=self.n_features_in_)


@pytest.mark.parametrize("getter", ["auto", "named_steps.logisticregression.coef_"])
def test_nested_selector_around_a_selecting_pipeline(getter, classification):
    X, y = classification
    pipe = make_pipeline(SelectKBest(k=3), LogisticRegression(max_iter=5000))
    fitted = Consensus(pipe, getter).fit(X, y)
    inner = np.zeros(D)
    inner[pipe[0].get_support()] = pipe[-1].coef_[0]
    assert inner[0] != 0
    assert inner[2] != 0  # seen by the model, but not in the consensus
    coef = np.where(mask_of(0, 1), inner, 0.0)
    check(selection_of(fitted, X, y), mask_of(0, 1), np.abs(coef) * X.std(axis=0), coef)


class Holder(BaseEstimator):
    """A model whose coefficients are found by a path."""

    def fit(self, X, y):
        self.lasso_ = Lasso(5.0).fit(X, y)
        return self


class OwnWeights(FirstAndLast):
    """Selector and model in one, with weights of the selected features only."""

    def fit(self, X, _y=None):
        self.coef_ = np.array([[2.0, -3.0]])
        return super().fit(X)


def test_selector_with_weights_of_its_own(classification):
    X, y = classification
    coef = np.zeros(D)
    coef[[0, -1]] = 2.0, -3.0
    selection = selection_of(OwnWeights().fit(X), X, y)
    check(selection, mask_of(0, D - 1), np.abs(coef) * X.std(axis=0), coef)


def test_a_wrong_mask_is_named():
    class Indices(FirstAndLast):
        def get_support(self):
            return np.array([0, 1])

    X = np.zeros((4, 3))
    with pytest.raises(
        ValueError, match=r"Indices.get_support\(\) must return a mask of 3"
    ):
        selection_of(Indices().fit(X), X)


# -- models without a selector -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        Lasso(5.0),
        LassoCV(cv=3, random_state=0),
        LassoLars(5.0),
        ElasticNet(5.0, l1_ratio=0.9),
        ElasticNetCV(l1_ratio=0.9, cv=3),
        OrthogonalMatchingPursuit(n_nonzero_coefs=3),
        LinearRegression(positive=True),
    ],
    ids=lambda m: type(m).__name__,
)
def test_sparse_regressors_select_their_non_zero_coefficients(model, regression):
    X, y = regression
    coef = model.fit(X, y).coef_
    assert 0 < np.count_nonzero(coef) < D
    selection = selection_of(model, X, y)
    check(selection, coef != 0, np.abs(coef) * X.std(axis=0), coef)
    assert not selection.has_selector


@pytest.mark.parametrize(
    "model",
    [
        l1_logistic(),
        LinearSVC(penalty="l1", C=0.02),
        SGDClassifier(penalty="l1", alpha=0.1, random_state=0),
        SGDClassifier(penalty="elasticnet", l1_ratio=0.9, alpha=0.1, random_state=0),
    ],
    ids=lambda m: f"{type(m).__name__}-{m.penalty}",
)
def test_sparse_classifiers(model, classification):
    X, y = classification
    X = StandardScaler().fit_transform(X)
    coef = model.fit(X, y).coef_[0]
    assert 0 < np.count_nonzero(coef) < D
    check(selection_of(model, X, y), coef != 0, np.abs(coef), coef)


def test_importances_do_not_depend_on_the_units(regression):
    X, y = regression
    raw = selection_of(LinearRegression(positive=True).fit(X, y), X)
    model = LinearRegression(positive=True).fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(raw.importances, np.abs(model.coef_), rtol=1e-8)
    unscaled = LinearRegression(positive=True).fit(X, y)
    found = selection_of(unscaled, X, scale_importances=False)
    np.testing.assert_array_equal(found.importances, np.abs(unscaled.coef_))


def of_two_types(X):
    """A data frame that is not all floats; its last column says nothing."""
    return pd.DataFrame(np.c_[X[:, :-1], np.zeros(len(X))]).astype(
        {X.shape[1] - 1: int}
    )


@pytest.mark.parametrize("form", [np.asarray, csr_array, pd.DataFrame, of_two_types])
def test_models_of_the_same_rows_are_read_as_by_themselves(
    form, regression, monkeypatch
):
    X, y = regression
    models = [Lasso(alpha=alpha).fit(X, y) for alpha in (0.1, 1.0)]
    rows, others = form(X), form(2 * X)
    alone = [read_run(model, rows).selection for model in models]
    n_computed, compute = [], _view.column_deviations
    monkeypatch.setattr(
        _view,
        "column_deviations",
        lambda *given: n_computed.append(1) or compute(*given),
    )
    with reading_same_rows(rows):
        together = [read_run(model, rows).selection for model in models]
        doubled = read_run(models[0], others).selection
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one.support, other.support)
        np.testing.assert_array_equal(one.importances, other.importances)
    np.testing.assert_array_equal(doubled.importances, 2 * alone[0].importances)
    assert len(n_computed) == (3 if form is of_two_types else 2)


def test_classes_enter_by_their_norm(multiclass):
    X, y = multiclass
    model = LinearSVC(penalty="l1", C=0.02).fit(X, y)
    coef = model.coef_
    support = (coef != 0).any(axis=0)
    assert coef.shape == (3, D)
    assert not support.all()
    assert not ((coef != 0) == support).all()  # the union says more than any one class
    norm = np.sqrt((coef**2).sum(axis=0))
    check(selection_of(model, X, y), support, norm * X.std(axis=0))


def test_several_outputs(regression):
    X, y = regression
    Y = np.column_stack([y, -2 * y + X[:, 0]])
    model = MultiTaskLasso(20.0).fit(X, Y)
    support = (model.coef_ != 0).any(axis=0)
    assert 0 < support.sum() < D
    norm = np.sqrt((model.coef_**2).sum(axis=0))
    check(selection_of(model, X, Y), support, norm * X.std(axis=0))


def test_sparsified_coefficients(multiclass):
    X, y = multiclass
    model = LinearSVC(penalty="l1", C=0.02).fit(X, y)
    expected = selection_of(model, X, y)
    check(selection_of(model.sparsify(), X, y), expected.support, expected.importances)


@pytest.mark.parametrize(
    "model",
    [
        Ridge(),
        RidgeClassifier(),
        LogisticRegression(max_iter=5000),
        LinearSVC(),
        SVC(kernel="linear"),
        SGDClassifier(random_state=0),
        SGDClassifier(penalty=None, random_state=0),
    ],
    ids=lambda m: f"{type(m).__name__}-{getattr(m, 'penalty', '')}",
)
def test_dense_linear_models_have_weights_but_no_support(model, classification):
    X, y = classification
    X = StandardScaler().fit_transform(X)
    X[:, 3] = (
        0.0  # its coefficient is exactly zero: an accident of the data, not a selection
    )
    coef = np.ravel(model.fit(X, y).coef_)
    assert coef[3] == 0
    check(selection_of(model, X, y), None, np.abs(coef) * X.std(axis=0), coef)
    assert support_of(model) is None
    advice = why_no_support(make_pipeline(StandardScaler(), model))
    assert f"SelectFromModel({type(model).__name__}(...))" in advice


def test_a_lasso_that_keeps_everything_still_has_a_support(regression):
    X, y = regression
    model = Lasso(1e-6, max_iter=100_000).fit(X, y)
    assert model.coef_.all()
    assert selection_of(model, X, y).support.all()


def test_forest_has_importances_but_no_support(classification):
    X, y = classification
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    check(selection_of(forest, X, y), None, forest.feature_importances_)
    tree = DecisionTreeRegressor(max_depth=1).fit(X, y)
    check(selection_of(tree, X, y), None, tree.feature_importances_)


@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsClassifier(),
        SVC(),
        VotingRegressor([("lasso", Lasso()), ("ridge", Ridge())]),
    ],
    ids=lambda e: type(e).__name__,
)
def test_predictors_that_keep_every_feature_are_an_error(estimator, classification):
    X, y = classification
    fitted = estimator.fit(X, y)
    name = type(estimator).__name__
    with pytest.raises(
        ValueError, match=rf"{name} does not select .*SequentialFeatureSelector"
    ):
        selection_of(fitted, X, y)
    assert support_of(fitted) is None


@pytest.mark.parametrize("estimator", [StandardScaler(), PCA()])
def test_transformers_that_do_not_select_are_an_error(estimator, classification):
    X, y = classification
    fitted = estimator.fit(X, y)
    name = type(estimator).__name__
    with pytest.raises(
        ValueError, match=rf"which features {name} selects is not known.*SelectKBest"
    ):
        selection_of(fitted, X, y)
    assert support_of(fitted) is None


def test_the_error_names_the_model_and_not_the_pipeline(classification):
    X, y = classification
    pipe = make_pipeline(StandardScaler(), KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match=r"^KNeighborsClassifier does not"):
        selection_of(pipe, X, y)
    with pytest.raises(ValueError, match=r"^which features StandardScaler"):
        selection_of(Pipeline([("scale", StandardScaler())]).fit(X), X, y)


# -- pipelines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [
        MinMaxScaler(),
        RobustScaler(),
        StandardScaler(with_std=False),
        QuantileTransformer(n_quantiles=20),
        SimpleImputer(),
        KNNImputer(),
        "passthrough",
        None,
        FunctionTransformer(),
        FunctionTransformer(np.cbrt),
        FunctionTransformer(lambda X: 2 * X, feature_names_out="one-to-one"),
        PolynomialFeatures(degree=1, include_bias=False),
        KBinsDiscretizer(encode="ordinal", quantile_method="averaged_inverted_cdf"),
        Pipeline([("a", MinMaxScaler()), ("b", "passthrough"), ("c", RobustScaler())]),
    ],
    ids=lambda s: str(s)[:40],
)
def test_one_to_one_steps(step, regression):
    X, y = regression
    pipe = Pipeline([("step", step), ("lasso", Lasso(2.0))]).fit(X, y)
    seen = X if step in (None, "passthrough") else pipe[0].transform(X)
    coef = pipe[-1].coef_
    assert np.any(coef)
    check(selection_of(pipe, X, y), coef != 0, np.abs(coef) * seen.std(axis=0), coef)


def twice(X):
    return np.hstack([X, X])


def named_twice(_, names):
    return [*names, *names]


class NamesItsOutputAlone(TransformerMixin, BaseEstimator):
    def fit(self, X, _y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X[:, ::-1] / 2

    def get_feature_names_out(self):
        return ["a", "b"]


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (PCA(), "PCA"),
        (PolynomialFeatures(), "PolynomialFeatures"),
        (FunctionTransformer(lambda X: X[:, ::-1] + 1), "FunctionTransformer"),
        (
            FunctionTransformer(twice, feature_names_out=named_twice),
            "FunctionTransformer",
        ),
        (NamesItsOutputAlone(), "NamesItsOutputAlone"),
    ],
    ids=lambda s: str(s)[:30],
)
def test_other_steps_are_named_in_the_error(step, name, regression):
    X, y = regression
    pipe = Pipeline([("odd", step), ("lasso", Lasso())]).fit(X, y)
    with pytest.raises(ValueError, match=rf"step 'odd' \({name}\).*beforehand"):
        selection_of(pipe, X, y)


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (PCA(1), "odd"),
        (FeatureUnion([("r", PCA(1))]), "odd__r"),
        (
            ColumnTransformer(
                [("a", StandardScaler(), ["pca0"]), ("r", PCA(1), ["pca1"])]
            ),
            "odd__r",
        ),
        (
            ColumnTransformer(
                [("s", SelectKBest(f_regression, k=1), [0]), ("r", PCA(1), [1])]
            ),
            "odd__r",
        ),
        (Pipeline([("s", SelectKBest(f_regression, k=1)), ("r", PCA(1))]), "odd__r"),
        (
            Pipeline(
                [
                    ("s", SelectKBest(f_regression, k=1)),
                    ("r", KMeans(1, random_state=0)),
                ]
            ),
            "odd__r",
        ),
        (
            Pipeline([("u", FeatureUnion([("r", make_pipeline(PCA(1)))]))]),
            "odd__u__r__pca",
        ),
    ],
    ids=lambda s: str(s)[:40],
)
def test_new_features_are_not_taken_for_columns_of_the_same_name(
    step, name, regression
):
    X, y = regression
    frame = pd.DataFrame(X[:, :2], columns=["pca0", "pca1"])
    pipe = Pipeline([("odd", step), ("lasso", Lasso())]).fit(frame, y)
    with pytest.raises(
        ValueError, match=rf"step '{name}' \((PCA|KMeans)\).*beforehand"
    ):
        selection_of(pipe, frame, y)


SIDE_BY_SIDE = {
    "sign": (ColumnTransformer([("a", FunctionTransformer(np.sign), [3])]), [3]),
    "mask": (ColumnTransformer([("a", StandardScaler(), np.arange(D) == 2)]), [2]),
    "rest": (
        ColumnTransformer(
            [("a", "passthrough", [4, 1]), ("b", "drop", [0]), ("c", PCA(), [])],
            remainder=MinMaxScaler(),
        ),
        [4, 1, *(i for i in range(D) if i not in (0, 1, 4))],
    ),
    "nested": (
        ColumnTransformer(
            [
                (
                    "a",
                    ColumnTransformer(
                        [("b", MinMaxScaler(), [1])], remainder="passthrough"
                    ),
                    [5, 2],
                )
            ]
        ),
        [2, 5],
    ),
    "union": (
        FeatureUnion([("a", StandardScaler()), ("b", "passthrough"), ("c", "drop")]),
        [*range(D), *range(D)],
    ),
}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(("step", "columns"), SIDE_BY_SIDE.values(), ids=SIDE_BY_SIDE)
def test_parts_side_by_side(step, columns, named, regression):
    X, y = regression
    data = pd.DataFrame(X, columns=[f"f{i}" for i in range(D)]) if named else X
    pipe = Pipeline(
        [("side", clone(step)), ("lasso", Lasso(0.5, max_iter=100_000))]
    ).fit(data, y)
    seen, weights = pipe[0].transform(data), pipe[-1].coef_
    importances, coef = np.zeros(D), np.zeros(D)
    for position, column in enumerate(columns):
        importances[column] += np.abs(weights[position]) * seen[:, position].std()
        coef[column] += weights[position]
    assert np.any(weights)
    check(selection_of(pipe, data, y), importances != 0, importances, coef)


def test_parts_by_names(regression):
    X, y = regression
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(D)])
    parts = [
        ("a", "passthrough", ["f3", "f1"]),
        ("b", MinMaxScaler(), slice("f4", "f5")),
    ]
    parts.append(("c", RobustScaler(), lambda _: ["f0"]))
    pipe = make_pipeline(ColumnTransformer(parts), SelectKBest(f_regression, k=2)).fit(
        frame, y
    )
    expected = np.array([3, 1, 4, 5, 0])[pipe[1].get_support()]
    np.testing.assert_array_equal(support_of(pipe), mask_of(*expected))


def test_selectors_side_by_side_may_agree(regression):
    X, y = regression
    union = FeatureUnion(
        [("a", SelectKBest(f_regression, k=2)), ("b", SelectKBest(f_regression, k=3))]
    )
    pipe = make_pipeline(union, Lasso(0.1)).fit(X, y)
    np.testing.assert_array_equal(
        selection_of(pipe, X, y).support, union.transformer_list[1][1].get_support()
    )


def test_a_one_to_one_mixin_is_not_believed_where_names_say_otherwise(multiclass):
    X, y = multiclass
    X = np.abs(np.round(X[:, :2]))
    pipe = make_pipeline(TargetEncoder(), Ridge()).fit(X, y)
    coef = pipe[-1].coef_
    assert coef.shape[-1] == 6  # one output per class of each input
    found = selection_of(pipe, X, y, scale_importances=False)
    check(found, None, np.linalg.norm(coef.reshape(2, 3), axis=1))


def test_an_unmappable_last_step_drops_nothing_and_one_before_it_is_named(regression):
    X, y = regression
    pipe = make_pipeline(SelectKBest(k=2), PCA()).fit(X, y > 0)
    check(selection_of(pipe, X, y)[:1], pipe[0].get_support())
    nested = Pipeline(
        [("prep", make_pipeline(StandardScaler(), PCA())), ("lasso", Lasso())]
    )
    with pytest.raises(ValueError, match=r"step 'prep__pca' \(PCA\)"):
        selection_of(nested.fit(X, y), X, y)


def test_a_user_defined_step_may_inherit_that_it_keeps_columns(regression):
    class Halve(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
        def fit(self, X, _y=None):
            self.n_features_in_ = X.shape[1]
            return self

        def transform(self, X):
            return X / 2

    class Mute(TransformerMixin, BaseEstimator):
        def fit(self, _X, _y=None):
            return self

        def transform(self, X):
            return X / 2

    X, y = regression
    pipe = make_pipeline(Halve(), Lasso(5.0)).fit(X, y)
    check(
        selection_of(pipe, X, y),
        pipe[-1].coef_ != 0,
        np.abs(pipe[-1].coef_) * X.std(axis=0) / 2,
        pipe[-1].coef_,
    )
    with pytest.raises(ValueError, match=r"step 'mute' \(Mute\)"):
        selection_of(make_pipeline(Mute(), Lasso()).fit(X, y), X, y)


def test_selectors_compose_and_the_final_model_weighs(classification):
    X, y = classification
    pipe = make_pipeline(
        FirstAndLast(), StandardScaler(), SelectKBest(k=1), LogisticRegression()
    ).fit(X, y)
    selected = [0, D - 1][np.argmax(f_classif(X[:, [0, D - 1]], y)[0])]
    coef = np.zeros(D)
    coef[selected] = pipe[-1].coef_[0, 0]
    selection = selection_of(pipe, X, y)
    check(selection, mask_of(selected), np.abs(coef), coef)
    assert selection.has_selector


def test_a_sparse_final_model_drops_of_what_a_selector_kept(regression):
    X, y = regression
    pipe = make_pipeline(FirstAndLast(), Lasso(1e6)).fit(X, y)
    check(selection_of(pipe, X, y), mask_of(), np.zeros(D), np.zeros(D))
    found = selection_of(pipe, X, y, support_from="selector")
    check(found, mask_of(0, D - 1), np.zeros(D), np.zeros(D))


KEEPS_ALL = SelectKBest(f_regression, k="all")
LASSO = Lasso(5.0)
SPARSE_INSIDE = {
    "alone": LASSO,
    "search": GridSearchCV(LASSO, {"alpha": [5.0]}),
    "target": TransformedTargetRegressor(LASSO, transformer=StandardScaler()),
    "bagging": BaggingRegressor(LASSO, 3, random_state=0),
    "outputs": MultiOutputRegressor(LASSO),
    "pipeline": make_pipeline(StandardScaler(), LASSO),
    "filtered bagging": BaggingRegressor(
        make_pipeline(KEEPS_ALL, LASSO), 3, random_state=0
    ),
    "search of a filtered model": GridSearchCV(
        make_pipeline(KEEPS_ALL, LASSO), {"lasso__alpha": [5.0]}
    ),
}


@pytest.mark.parametrize("inside", SPARSE_INSIDE)
def test_a_filter_that_keeps_everything_changes_nothing(inside, regression):
    X, y = regression
    y = np.column_stack([y, -X[:, 0]]) if inside == "outputs" else y
    alone = clone(SPARSE_INSIDE[inside]).fit(X, y)
    behind = make_pipeline(KEEPS_ALL, clone(SPARSE_INSIDE[inside]))
    if inside == "outputs":
        behind = make_pipeline(VarianceThreshold(), clone(SPARSE_INSIDE[inside]))
    behind.fit(X, y)
    expected = selection_of(alone, X, y)
    assert 0 < expected.support.sum() < D
    found = selection_of(behind, X, y)
    check(found, expected.support, expected.importances, expected.coef)
    np.testing.assert_array_equal(support_of(behind), expected.support)
    by_filter = selection_of(behind, X, y, support_from="selector")
    if inside != "search of a filtered model":
        assert by_filter.support.all()


@pytest.mark.parametrize(
    "wrap",
    [
        OneVsRestClassifier,
        lambda e: CalibratedClassifierCV(e, cv=2),
        FixedThresholdClassifier,
    ],
    ids=["classes", "calibrated", "threshold"],
)
def test_classifiers_behind_a_filter_use_what_they_use_alone(wrap, multiclass):
    X, y = multiclass
    X, y = StandardScaler().fit_transform(X), np.minimum(y, 1)
    expected = selection_of(wrap(l1_logistic(0.2)).fit(X, y), X, y)
    assert 0 < expected.support.sum() < D
    pipe = make_pipeline(SelectKBest(k="all"), wrap(l1_logistic(0.2))).fit(X, y)
    found = selection_of(pipe, X, y)
    check(found, expected.support, expected.importances, expected.coef)


@pytest.mark.parametrize(
    "model",
    [
        Ridge(),
        DecisionTreeRegressor(max_depth=1),
        BaggingRegressor(Ridge(), 2),
        RFE(Lasso(5.0), n_features_to_select=3),
        SelectFromModel(Lasso(1e6), max_features=3, threshold=-np.inf),
    ],
    ids=lambda e: type(e).__name__,
)
def test_what_drops_nothing_leaves_what_the_last_selector_kept(model, regression):
    X, y = regression
    pipe = make_pipeline(SelectKBest(f_regression, k=4), clone(model)).fit(X, y)
    expected = pipe[0].get_support()
    if hasattr(pipe[1], "get_support"):
        expected = mask_of(*np.flatnonzero(expected)[pipe[1].get_support()])
    np.testing.assert_array_equal(selection_of(pipe, X, y).support, expected)
    chosen = selection_of(pipe, X, y, support_from="selector")
    np.testing.assert_array_equal(chosen.support, expected)


def test_coefficients_that_a_getter_finds_behind_a_filter_are_what_is_used(regression):
    X, y = regression
    pipe = make_pipeline(VarianceThreshold(), Holder()).fit(X, y)
    coef = pipe[1].lasso_.coef_
    found = selection_of(
        pipe, X, y, importance_getter="named_steps.holder.lasso_.coef_"
    )
    check(found, coef != 0, np.abs(coef) * X.std(axis=0), coef)
    # The coefficients inside a selector say nothing of what the model after it drops.
    inner = SelectFromModel(Lasso(1e6), max_features=3, threshold=-np.inf)
    behind = Pipeline([("by", inner), ("model", KNeighborsRegressor())]).fit(X, y)
    found = selection_of(
        behind, X, y, importance_getter="named_steps.by.estimator_.coef_"
    )
    np.testing.assert_array_equal(found.support, behind[0].get_support())


def test_coefficients_that_can_not_be_read_behind_a_filter_are_said(regression):
    class Sideways(Lasso):
        def fit(self, X, y):
            super().fit(X, y)
            self.coef_ = np.tile(self.coef_[:, None], (1, D))
            return self

    Sideways.__module__ = "elsewhere"
    X, y = regression
    pipe = make_pipeline(FirstAndLast(), Sideways(5.0))
    pipe[1].set_params(alpha=5.0)
    pipe.fit(X, y)
    with pytest.warns(
        UserWarning, match="which features this model drops is not known"
    ):
        found = selection_of(pipe, X, y)
    np.testing.assert_array_equal(found.support, mask_of(0, D - 1))


def test_a_selector_gives_its_weights_where_the_final_model_has_none(classification):
    X, y = classification
    pipe = make_pipeline(
        StandardScaler(), SelectFromModel(l1_logistic()), KNeighborsClassifier()
    )
    pipe.fit(X, y)
    support = pipe[1].get_support()
    assert 0 < support.sum() < D
    coef = np.where(support, pipe[1].estimator_.coef_[0], 0.0)
    # The inner model saw standardised features, so nothing is scaled. No sign is claimed for
    # the final model, but the inner model's is known.
    check(selection_of(pipe, X, y), support, np.abs(coef), coef)


def test_the_last_of_two_selectors_weighs(classification):
    X, y = classification
    inner = SelectFromModel(LinearSVC(), max_features=2, threshold=-np.inf)
    pipe = make_pipeline(
        StandardScaler(), SelectKBest(k=4), inner, KNeighborsClassifier()
    )
    pipe.fit(X, y)
    coef = np.zeros(D)
    coef[pipe[1].get_support()] = pipe[2].estimator_.coef_[0]
    support = mask_of(*np.flatnonzero(pipe[1].get_support())[pipe[2].get_support()])
    coef[~support] = 0.0
    check(selection_of(pipe, X, y), support, np.abs(coef), coef)
    # The same by an explicit path: the model it leads to saw four standardised columns.
    path = "named_steps.selectfrommodel.estimator_.coef_"
    check(selection_of(pipe, X, y, importance_getter=path), support, np.abs(coef), coef)


def test_a_search_over_a_selector_may_end_a_pipeline(classification):
    X, y = classification
    search = GridSearchCV(SelectKBest(), {"k": [2]}, cv=2, scoring=lambda *_: 0.0)
    pipe = make_pipeline(StandardScaler(), search).fit(X, y)
    support = mask_of(*np.argsort(-f_classif(X, y)[0])[:2])
    check(selection_of(pipe, X, y), support, np.where(support, f_classif(X, y)[0], 0.0))


def test_the_last_selector_that_has_weights(classification):
    X, y = classification
    pipe = make_pipeline(SelectKBest(k=4), VarianceThreshold(), MinMaxScaler()).fit(
        X, y
    )
    support = pipe[0].get_support()
    check(selection_of(pipe, X, y), support, np.where(support, f_classif(X, y)[0], 0.0))


def test_rfe_after_a_selector_and_an_unscaled_step(classification):
    X, y = classification
    pipe = make_pipeline(
        MinMaxScaler(), SelectKBest(k=5), RFE(LinearSVC(), n_features_to_select=2)
    )
    pipe.fit(X, y)
    columns = np.flatnonzero(pipe[1].get_support())[pipe[2].get_support()]
    coef = np.zeros(D)
    coef[columns] = pipe[2].estimator_.coef_[0]
    deviations = MinMaxScaler().fit_transform(X).std(axis=0)
    check(selection_of(pipe, X, y), mask_of(*columns), np.abs(coef) * deviations, coef)


def test_imputer_that_dropped_a_column(regression):
    X, y = regression
    X = X.copy()
    X[:, 2] = np.nan
    with pytest.warns(UserWarning, match="Skipping features"):
        pipe = make_pipeline(SimpleImputer(), Lasso(5.0)).fit(X, y)
    with pytest.warns(UserWarning, match="Skipping features"):
        selection = selection_of(pipe, X, y)
    coef = np.insert(pipe[-1].coef_, 2, 0.0)
    check(selection, coef != 0, np.abs(coef) * np.nan_to_num(X).std(axis=0), coef)
    assert not selection.has_selector


@pytest.mark.parametrize("verbose", [True, False])
@pytest.mark.parametrize("as_frame", [True, False])
def test_column_transformer_that_reorders_and_drops(verbose, as_frame, regression):
    X, y = regression
    data = pd.DataFrame(X, columns=list("hgfedcba")) if as_frame else X
    pick = (lambda i: list(data.columns[i])) if as_frame else list
    columns = ColumnTransformer(
        [("one", StandardScaler(), pick([6, 1])), ("two", "passthrough", pick([0, 4]))],
        verbose_feature_names_out=verbose,
    )
    pipe = make_pipeline(columns, OrthogonalMatchingPursuit(n_nonzero_coefs=2)).fit(
        data, y
    )
    coef = np.zeros(D)
    coef[[6, 1, 0, 4]] = pipe[-1].coef_
    deviations = X.std(axis=0)
    deviations[[6, 1]] = 1.0
    selection = selection_of(pipe, data, y)
    check(selection, coef != 0, np.abs(coef) * deviations, coef)
    assert not selection.has_selector
    assert (
        pipe[0].verbose_feature_names_out is verbose
    )  # the user's object is untouched


def test_selector_inside_a_column_transformer(classification):
    X, y = classification
    columns = ColumnTransformer(
        [
            ("best", make_pipeline(SelectKBest(k=1)), [5, 0]),
            ("rest", "passthrough", [7]),
        ]
    )
    forest = RandomForestClassifier(5, random_state=0)
    pipe = make_pipeline(columns, forest).fit(X, y)
    importances = np.zeros(D)
    importances[[0, 7]] = pipe[-1].feature_importances_
    selection = selection_of(pipe, X, y)
    check(selection, mask_of(0, 7), importances)
    assert selection.has_selector
    check(selection_of(pipe[0], X, y), mask_of(0, 7))
    check(selection_of(pipe[:1], X, y), mask_of(0, 7))


@pytest.mark.parametrize("pandas_output", [True, False])
def test_frames_by_name(pandas_output, classification):
    X, y = classification
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(D)])
    pipe = make_pipeline(SimpleImputer(), SelectKBest(k=3), MinMaxScaler(), LinearSVC())
    if pandas_output:
        pipe.set_output(transform="pandas")
    pipe.fit(frame, y)
    support = np.argsort(-f_classif(X, y)[0])[:3]
    coef = np.zeros(D)
    coef[np.sort(support)] = pipe[-1].coef_[0]
    deviations = MinMaxScaler().fit_transform(X).std(axis=0)
    check(
        selection_of(pipe, frame, y), mask_of(*support), np.abs(coef) * deviations, coef
    )


# -- wrappers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_searches(search, regression):
    X, y = regression
    extra = {} if search is GridSearchCV else {"n_iter": 1}
    inner = search(Lasso(), {"alpha": [5.0]}, cv=2, **extra)
    pipe = make_pipeline(StandardScaler(), inner)
    outer = search(pipe, {"standardscaler__with_mean": [True]}, cv=2, **extra).fit(X, y)
    coef = outer.best_estimator_[-1].best_estimator_.coef_
    assert 0 < np.count_nonzero(coef) < D
    check(selection_of(outer, X, y), coef != 0, np.abs(coef), coef)


def test_search_without_refit_has_nothing_to_say(regression):
    X, y = regression
    search = GridSearchCV(Lasso(), {"alpha": [1.0]}, cv=2, refit=False).fit(X, y)
    with pytest.raises(ValueError, match="which features GridSearchCV selects"):
        selection_of(search, X, y)


def test_transformed_target(regression):
    X, y = regression
    pipe = make_pipeline(
        SelectKBest(k=3, score_func=lambda X, _: X.var(axis=0)), Ridge()
    )
    model = TransformedTargetRegressor(pipe, transformer=StandardScaler()).fit(X, y)
    support = np.argsort(-X.var(axis=0))[:3]
    coef = np.zeros(D)
    coef[np.sort(support)] = model.regressor_[-1].coef_.ravel()
    check(
        selection_of(model, X, y), mask_of(*support), np.abs(coef) * X.std(axis=0), coef
    )

    seen = {}
    selection_of(
        model,
        X,
        y,
        importance_getter=lambda _, X, y: seen.update(X=X, y=y) or np.ones(3),
    )
    np.testing.assert_allclose(seen["y"], (y - y.mean()) / y.std())
    np.testing.assert_allclose(seen["X"], X[:, np.sort(support)])


def test_threshold_classifier(classification):
    X, y = classification
    model = FixedThresholdClassifier(l1_logistic(), threshold=0.3).fit(X, y)
    coef = model.estimator_.coef_[0]
    check(selection_of(model, X, y), coef != 0, np.abs(coef) * X.std(axis=0), coef)


def test_one_vs_rest_is_like_several_rows_of_coefficients(multiclass):
    X, y = multiclass
    expected = LinearSVC(penalty="l1", C=0.02, random_state=0).fit(X, y)
    model = OneVsRestClassifier(LinearSVC(penalty="l1", C=0.02, random_state=0)).fit(
        X, y
    )
    found, reference = selection_of(model, X, y), selection_of(expected, X, y)
    np.testing.assert_array_equal(found.support, reference.support)
    np.testing.assert_allclose(
        found.importances, reference.importances, rtol=0.05, atol=1e-3
    )
    rows = np.vstack([m.coef_ for m in model.estimators_])
    check(found, rows.any(axis=0), np.sqrt((rows**2).sum(axis=0)) * X.std(axis=0))


def test_calibrated_pipelines(classification):
    X, y = classification
    pipe = make_pipeline(StandardScaler(), SelectKBest(k=2), LinearSVC())
    wrapped = make_pipeline(
        VarianceThreshold(), CalibratedClassifierCV(pipe, cv=3)
    ).fit(X, y)
    members = [c.estimator for c in wrapped[-1].calibrated_classifiers_]
    rows = np.zeros((3, D))
    for row, member in zip(rows, members, strict=True):
        row[member[1].get_support()] = member[-1].coef_[0]
    selection = selection_of(wrapped, X, y)
    # Each member standardised its own fold: 2/3 of the rows, so unit variance only nearly.
    np.testing.assert_array_equal(selection.support, rows.any(axis=0))
    expected = np.sqrt((rows**2).sum(axis=0))
    np.testing.assert_allclose(selection.importances, expected, rtol=1e-10)
    assert selection.has_selector


def test_members_of_an_ensemble_after_a_step_that_drops_columns(regression):
    X, y = regression
    Y = np.column_stack([y, 10 * X[:, 7]])
    drop = ColumnTransformer([("keep", "passthrough", [7, 6, 5, 4, 3])])
    pipe = make_pipeline(drop, MultiOutputRegressor(Lasso(5.0))).fit(X, Y)
    rows = np.zeros((2, D))
    rows[:, [7, 6, 5, 4, 3]] = [m.coef_ for m in pipe[-1].estimators_]
    assert 0 < rows.any(axis=0).sum() < 5
    norm = np.sqrt((rows**2).sum(axis=0)) * X.std(axis=0)
    check(selection_of(pipe, X, Y), rows.any(axis=0), norm)
    np.testing.assert_array_equal(support_of(pipe), rows.any(axis=0))


@pytest.mark.parametrize("bootstrap_features", [False, True])
def test_bagging_on_subsets_of_features(bootstrap_features, regression):
    X, y = regression
    bag = BaggingRegressor(
        Lasso(5.0),
        4,
        max_features=0.5,
        bootstrap_features=bootstrap_features,
        random_state=3,
    ).fit(X, y)
    rows = np.zeros((4, D))
    for row, member, columns in zip(
        rows, bag.estimators_, bag.estimators_features_, strict=True
    ):
        for column, weight in zip(columns, member.coef_, strict=True):
            row[column] += abs(weight) * X[:, column].std()
    check(selection_of(bag, X, y), rows.any(axis=0), np.sqrt((rows**2).sum(axis=0)))


def test_bagged_trees_have_no_support(regression):
    X, y = regression
    bag = BaggingRegressor(n_estimators=3, random_state=0).fit(X, y)
    rows = np.vstack([tree.feature_importances_ for tree in bag.estimators_])
    check(selection_of(bag, X, y), None, np.sqrt((rows**2).sum(axis=0)))
    assert support_of(bag) is None


def union_of(*coefs):
    return np.any([np.atleast_2d(coef)[:, :D] != 0 for coef in coefs], axis=(0, 1))


def test_members_without_a_common_scale_are_read_by_their_union(regression):
    X, y = regression
    members = [("a", Lasso(9.0)), ("b", make_pipeline(SelectKBest(k=2), Lasso(2.0)))]
    for model in (
        VotingRegressor([*members, ("c", "drop")]),
        StackingRegressor(members, cv=2),
        StackingRegressor(members, final_estimator=Lasso(5.0), cv=2, passthrough=True),
    ):
        model.fit(X, (y > 0) * 50.0)
        first, (best, second) = model.estimators_
        expected = union_of(first.coef_)
        expected[np.flatnonzero(best.get_support())[second.coef_ != 0]] = True
        last = getattr(model, "final_estimator_", None)
        if last is not None and len(last.coef_) > 2:
            assert 0 < np.count_nonzero(last.coef_[2:]) < D
            expected |= last.coef_[2:] != 0
        assert 0 < expected.sum() < D
        check(selection_of(model, X, y), expected)
        assert not selection_of(model, X, y).by_probing


def test_chains_are_read_by_the_union_of_what_they_use_of_the_features(regression):
    X, y = regression
    Y = np.column_stack([y > 0, X[:, 0] > 1, X[:, 1] > 1])
    chain = ClassifierChain(l1_logistic(0.05), order=[2, 0, 1]).fit(X, Y)
    widths = [model.coef_.shape[1] for model in chain.estimators_]
    assert widths == [D, D + 1, D + 2]
    expected = union_of(*(model.coef_ for model in chain.estimators_))
    assert 0 < expected.sum() < D
    check(selection_of(chain, X, Y), expected)
    pipes = RegressorChain(make_pipeline(StandardScaler(), Lasso(0.2))).fit(X, Y)
    expected = union_of(*(pipe[-1].coef_ for pipe in pipes.estimators_))
    assert 0 < expected.sum() < D
    check(selection_of(pipes, X, Y), expected)


def test_an_ensemble_of_what_keeps_every_feature_does_not_select(regression):
    X, y = regression
    bag = BaggingRegressor(KNeighborsClassifier(), 2, random_state=0).fit(X, y > 0)
    with pytest.raises(ValueError, match="BaggingRegressor does not select"):
        selection_of(bag, X, y)


# -- importance_getter -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("getter", "scaled"),
    [
        ("named_steps.lasso.coef_", True),
        ("coef_", True),
        (lambda pipe: pipe[-1].coef_, False),
        (attrgetter("named_steps.lasso.coef_"), False),
        (lambda pipe, power=1: np.abs(pipe[-1].coef_) ** power, False),
    ],
    ids=["path", "path on the model", "callable", "attrgetter", "optional parameter"],
)
def test_getters_of_the_estimator(getter, scaled, regression):
    X, y = regression
    pipe = make_pipeline(FirstAndLast(), Lasso(0.1)).fit(X, y)
    coef = np.zeros(D)
    coef[[0, -1]] = pipe[-1].coef_
    expected = np.abs(coef) * (X.std(axis=0) if scaled else 1.0)
    selection = selection_of(pipe, X, y, importance_getter=getter)
    check(selection, mask_of(0, D - 1), expected, coef)


def test_getter_may_answer_for_every_column_of_the_input(regression):
    X, y = regression
    pipe = make_pipeline(FirstAndLast(), Ridge()).fit(X, y)
    values = np.arange(1.0, D + 1)
    selection = selection_of(pipe, X, y, importance_getter=lambda _: -values)
    np.testing.assert_array_equal(
        selection.importances, np.where(mask_of(0, D - 1), values, 0.0)
    )


def test_getter_of_several_rows(regression):
    X, y = regression
    getter = lambda _: np.outer([3.0, 4.0], np.ones(D))  # noqa: E731
    selection = selection_of(Ridge().fit(X, y), X, y, importance_getter=getter)
    check(selection, None, np.full(D, 5.0), selection.coef)
    assert selection.coef is not None


def test_getter_with_data_sees_what_the_model_saw(classification):
    X, y = classification
    calls = []

    def getter(model, X, y):
        calls.append((model, X, y))
        return [[1.0, 2.0]]

    pipe = make_pipeline(MinMaxScaler(), FirstAndLast(), SVC()).fit(X, y)
    selection = selection_of(pipe, X, y, importance_getter=getter)
    [(model, seen, target)] = calls
    assert model is pipe[-1]
    np.testing.assert_allclose(seen, MinMaxScaler().fit_transform(X)[:, [0, D - 1]])
    assert target is y
    expected = np.zeros(D)
    expected[[0, -1]] = 1.0, 2.0
    check(selection, mask_of(0, D - 1), expected)


def test_getter_with_data_makes_any_model_measurable(classification):
    X, y = classification
    model = KNeighborsClassifier().fit(X, y)
    selection = selection_of(
        model, X, y, importance_getter=lambda _, X, y=None: X[0] + y[0]
    )
    check(selection, None, np.abs(X[0] + y[0]))


def test_getter_of_a_model_that_keeps_its_weights_elsewhere(regression):
    X, y = regression
    model = Holder().fit(X, y)
    coef = model.lasso_.coef_
    found = selection_of(model, X, y, importance_getter="lasso_.coef_")
    check(found, coef != 0, np.abs(coef) * X.std(axis=0), coef)
    with pytest.raises(ValueError, match="number of features that Holder takes"):
        support_of(model)


@pytest.mark.parametrize(
    ("getter", "message"),
    [
        ("no.such", r"importance_getter='no.such': Lasso has no such attribute"),
        (3, r"importance_getter must be a string or a callable, got 3"),
        (
            lambda _: np.ones(D + 1),
            r"importance_getter=.*returned an array of shape \(9,\)",
        ),
        (lambda _: np.ones((2, 2, D)), r"importance_getter=.*shape \(2, 2, 8\)"),
        (lambda _: 1.0, r"importance_getter=.*shape \(\)"),
        (lambda _: np.full(D, np.nan), r"importance_getter=.*NaN or infinite"),
        (lambda _: np.full(D, np.inf), r"importance_getter=.*NaN or infinite"),
        (lambda _: {"importances": 1}, r"importance_getter=.*did not return numbers"),
    ],
)
def test_bad_getters_are_named(getter, message, regression):
    X, y = regression
    with pytest.raises(ValueError, match=message):
        selection_of(Lasso().fit(X, y), X, y, importance_getter=getter)


# -- data --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [csr_array, csc_array])
def test_sparse_rows_stay_sparse(container, regression, monkeypatch):
    X, y = regression
    X = np.where(X > 1.0, np.round(X), 0.0)
    data = container(X)
    pipes = [
        make_pipeline(Lasso(1.0)),
        make_pipeline(VarianceThreshold(), StandardScaler(with_mean=False), Lasso(1.0)),
        make_pipeline(
            SelectKBest(lambda *_: np.arange(D), k=3), Ridge(solver="sparse_cg")
        ),
    ]
    fitted = [pipe.fit(data, y) for pipe in pipes]
    monkeypatch.setattr(container, "toarray", None)
    found = [selection_of(pipe, data, y).importances for pipe in fitted]
    deviations = X.std(axis=0)
    np.testing.assert_allclose(found[0], np.abs(fitted[0][-1].coef_) * deviations)
    np.testing.assert_allclose(found[1], np.abs(fitted[1][-1].coef_))
    expected = np.zeros(D)
    expected[-3:] = np.abs(fitted[2][-1].coef_) * deviations[-3:]
    np.testing.assert_allclose(found[2], expected)


def test_data_is_only_read_where_it_is_needed(classification, regression):
    X, y = classification
    forest = make_pipeline(
        MinMaxScaler(), SelectKBest(k=2), RandomForestClassifier(3)
    ).fit(X, y)
    assert selection_of(forest, None).importances.any()
    scaled = make_pipeline(StandardScaler(), SelectKBest(k=2), LinearSVC()).fit(X, y)
    assert selection_of(
        scaled, None
    ).importances.any()  # the scaler knows the deviations
    Xr, yr = regression
    lasso = Lasso(5.0).fit(Xr, yr)
    found = selection_of(lasso, None, scale_importances=False)
    np.testing.assert_array_equal(found.importances, np.abs(lasso.coef_))


def test_constant_features_count_for_nothing_after_standardising(regression):
    X, y = regression
    X = X.copy()
    X[:, 1] = 4.0
    pipe = make_pipeline(
        StandardScaler(with_mean=False), Ridge(fit_intercept=False)
    ).fit(X, y)
    assert pipe[-1].coef_[1] != 0
    assert selection_of(pipe, X, y).importances[1] == 0


def test_standard_deviations_are_exact_in_batches_and_for_large_means(monkeypatch):
    monkeypatch.setattr("skstab._statistics._BATCH", 7)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) + 1e8
    y = X[:, 0] - 1e8
    model = Lasso(0.01).fit(X - 1e8, y)
    importances = selection_of(model, X, y).importances
    np.testing.assert_allclose(
        importances, np.abs(model.coef_) * (X - 1e8).std(axis=0), rtol=1e-6
    )


def test_only_columns_that_were_used_are_looked_at(regression):
    X, y = regression
    model = Lasso(5.0).fit(X, y)
    used = model.coef_ != 0
    assert 0 < used.sum() < D
    holes = np.where(used, X, np.nan)
    expected = np.abs(model.coef_) * X.std(axis=0)
    np.testing.assert_allclose(selection_of(model, holes, y).importances, expected)
    with pytest.raises(ValueError, match="X has NaN"):
        selection_of(model, np.where(used, np.nan, X), y)


def test_rows_are_not_changed(regression):
    X, y = regression
    before = X.copy()
    X.flags.writeable = False
    pipe = make_pipeline(VarianceThreshold(), Ridge()).fit(X, y)
    selection_of(pipe, X, y)
    X.flags.writeable = True
    np.testing.assert_array_equal(X, before)


def test_integer_and_object_frames(regression):
    X, y = regression
    frame = pd.DataFrame(np.round(X), columns=list("abcdefgh")).astype(
        {"a": int, "b": "float32"}
    )
    model = Lasso(5.0).fit(frame, y)
    expected = np.abs(model.coef_) * frame.to_numpy(dtype=float).std(axis=0)
    np.testing.assert_allclose(
        selection_of(model, frame, y).importances, expected, rtol=1e-6
    )


def test_last_step_of_a_pipeline(classification):
    X, y = classification
    rfe = RFE(LinearSVC(), n_features_to_select=1)
    pipe = make_pipeline(FirstAndLast(), make_pipeline(StandardScaler(), rfe))
    outer = Pipeline([("scale", StandardScaler()), ("rest", pipe)]).fit(X, y)
    last, columns, n_features = last_step_of(outer)
    assert isinstance(last, RFE)
    np.testing.assert_array_equal(columns, [0, D - 1])
    assert n_features == D


def test_selection_is_a_plain_tuple():
    first = ("support", "importances", "coef", "has_selector", "by_probing")
    assert Selection._fields == first


# -- wrappers around pipelines -----------------------------------------------------------------------------------------


class Doubled(TransformerMixin, BaseEstimator):
    """A step that does not say how many features it takes."""

    def fit(self, _X, _y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X * 2

    def get_feature_names_out(self, names=None):
        return names


@pytest.mark.parametrize(
    "member",
    [
        SelectKBest(f_regression, k=2),
        make_pipeline(SelectKBest(f_regression, k=2), Ridge()),
        make_pipeline(SelectFromModel(Lasso(2.0)), Ridge()),
        RFE(Ridge(), n_features_to_select=3),
    ],
    ids=lambda e: str(e)[:40],
)
def test_members_that_begin_with_a_selector(member, regression):
    X, y = regression
    if not hasattr(member, "predict"):
        member = make_pipeline(member, LinearRegression())
    bagged = BaggingRegressor(member, 3, random_state=0).fit(X, y)
    expected = np.logical_or.reduce(
        [support_of(member) for member in bagged.estimators_]
    )
    assert 0 < expected.sum() < D
    np.testing.assert_array_equal(selection_of(bagged, X, y).support, expected)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda e: GridSearchCV(e, {"lasso__alpha": [2.0]}),
        TransformedTargetRegressor,
        lambda e: BaggingRegressor(e, 1, bootstrap=False),
    ],
    ids=["search", "target", "bagging"],
)
def test_wrapped_steps_of_unknown_width(wrap, regression):
    X, y = regression
    pipe = make_pipeline(Doubled(), Lasso(2.0))
    expected = selection_of(clone(pipe).fit(X, y), X, y)
    found = selection_of(wrap(pipe).fit(X, y), X, y)
    np.testing.assert_array_equal(found.support, expected.support)
    np.testing.assert_allclose(found.importances, expected.importances)


def test_a_wrapped_step_that_can_not_be_mapped_is_named(regression):
    X, y = regression
    search = GridSearchCV(make_pipeline(PCA(3), Lasso()), {"lasso__alpha": [1.0]}).fit(
        X, y
    )
    with pytest.raises(ValueError, match=r"step 'pca' \(PCA\)"):
        selection_of(search, X, y)


def test_a_label_that_never_varies_weighs_no_feature(classification):
    X, y = classification
    labels = np.column_stack([y, np.zeros_like(y)])
    with pytest.warns(UserWarning, match="not 1 is present"):
        constant = OneVsRestClassifier(l1_logistic()).fit(X, labels)
    alone = l1_logistic().fit(X, y)
    check(
        selection_of(constant, X, y),
        alone.coef_[0] != 0,
        np.abs(alone.coef_[0]) * X.std(axis=0),
    )


def test_tables_for_models_that_were_given_arrays(regression):
    X, y = regression
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(D)])
    bagged = BaggingRegressor(
        make_pipeline(MinMaxScaler(), Lasso(0.1)), 2, random_state=0
    ).fit(frame, y)
    expected = selection_of(bagged, X, y)
    np.testing.assert_allclose(
        selection_of(bagged, frame, y).importances, expected.importances
    )


def test_columns_that_were_dropped_need_not_be_numbers(regression):
    class DropText(SelectorMixin, BaseEstimator):
        def fit(self, X, _y=None):
            self.n_features_in_ = X.shape[1]
            self.numbers_ = np.array(
                [pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes]
            )
            return self

        def _get_support_mask(self):
            return self.numbers_

        def transform(self, X):
            return X.loc[:, self.numbers_]

    X, y = regression
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(D)]).assign(text="a")
    pipe = make_pipeline(DropText(), Lasso(1.0)).fit(frame, y)
    coef = pipe[-1].coef_
    np.testing.assert_allclose(
        selection_of(pipe, frame, y).importances, [*np.abs(coef) * X.std(axis=0), 0.0]
    )


@pytest.mark.parametrize(
    ("wrap", "name"),
    [
        (lambda e: e, "Ridge"),
        (lambda e: GridSearchCV(e, {}), "Ridge"),
        (
            lambda e: TransformedTargetRegressor(make_pipeline(StandardScaler(), e)),
            "Ridge",
        ),
        (
            lambda e: make_pipeline(
                StandardScaler(), GridSearchCV(make_pipeline(MinMaxScaler(), e), {})
            ),
            "Ridge",
        ),
    ],
    ids=["model", "search", "target", "nested"],
)
def test_the_advice_names_the_model_to_wrap(wrap, name, regression):
    X, y = regression
    assert f"SelectFromModel({name}(...))" in why_no_support(wrap(Ridge()).fit(X, y))


@pytest.mark.parametrize("model", _DENSE, ids=lambda model: model.__name__)
def test_a_constant_feature_is_not_dropped_by_a_model_that_drops_nothing(
    model, regression
):
    X, y = regression
    X = X.copy()
    X[:, 2] = 0.0
    target = (
        np.abs(y) + 1
        if issubclass(model, GammaRegressor | PoissonRegressor | TweedieRegressor)
        else y
    )
    target = (
        (y > 0).astype(int)
        if hasattr(model, "classes_") or issubclass(model, ClassifierMixin)
        else target
    )
    options = {"kernel": "linear"} if "kernel" in signature(model).parameters else {}
    options |= (
        {"n_components": 1} if "n_components" in signature(model).parameters else {}
    )
    with warnings.catch_warnings(
        action="ignore"
    ):  # models on data that do not suit them
        fitted = model(**options).fit(X, target)
    assert np.any(fitted.coef_)
    assert selection_of(fitted, X, target).support is None


def test_a_search_for_the_penalty_that_chose_one_that_drops_nothing(regression):
    X, y = regression
    model = ElasticNet(0.5, l1_ratio=0.5).fit(X, y)
    assert selection_of(model, X, y).support is not None
    model.l1_ratio_ = 0.0
    assert selection_of(model, X, y).support is None


# -- pipelines that can't be fitted since nothing was selected ---------------------------------------------------------

NOTHING = SelectFwe(f_regression, alpha=1e-300)


def failed(estimator, X, y):
    with warnings.catch_warnings(action="ignore"), pytest.raises(ValueError):  # noqa: PT011  whatever it says
        estimator.fit(X, y)
    return estimator


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(NOTHING, Ridge()),
        make_pipeline(
            StandardScaler(),
            SelectKBest(f_regression, k=3),
            NOTHING,
            StandardScaler(),
            Ridge(),
        ),
        make_pipeline(make_pipeline(StandardScaler(), NOTHING), Ridge()),
        make_pipeline(FeatureUnion([("a", NOTHING), ("b", clone(NOTHING))]), Ridge()),
    ],
    ids=["selector", "among steps", "nested", "union"],
)
def test_a_pipeline_whose_selector_kept_nothing_has_selected_nothing(
    estimator, regression
):
    X, y = regression
    found = read_emptied(failed(clone(estimator), X, y), X.shape[1])
    assert found.support.dtype == bool
    for row in found.selection[:3]:
        np.testing.assert_array_equal(row, np.zeros(X.shape[1]))
    assert found.outputs is None


def test_outputs_of_encoders_are_not_selected_where_nothing_is(regression):
    X, y = regression
    named = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    pipe = make_pipeline(SplineTransformer(n_knots=3, degree=1), NOTHING, Ridge())
    names, inputs, support = read_emptied(failed(clone(pipe), named, y), 2).outputs
    assert list(names) == list(
        SplineTransformer(n_knots=3, degree=1).fit(named).get_feature_names_out()
    )
    np.testing.assert_array_equal(inputs, [0, 0, 0, 1, 1, 1])
    assert not support.any()


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(SelectKBest(f_regression, k=3), Ridge(alpha=-1.0)),
        make_pipeline(SelectKBest(f_regression, k=-1), Ridge()),
        make_pipeline(StandardScaler(), Ridge(alpha=-1.0)),
        Lasso(alpha=-1.0),
    ],
    ids=["model", "selector", "no selector", "no pipeline"],
)
def test_a_fit_that_failed_for_another_reason_is_not_an_empty_selection(
    estimator, regression
):
    X, y = regression
    assert read_emptied(failed(clone(estimator), X, y), X.shape[1]) is None


def test_what_can_not_be_read_of_a_failed_fit_is_not_an_empty_selection(regression):
    class Odd(VarianceThreshold):
        def __skstab_selection__(self):
            raise KeyError("odd")

    X, y = regression
    assert (
        read_emptied(failed(make_pipeline(Odd(), Ridge(alpha=-1.0)), X, y), X.shape[1])
        is None
    )
    gaps = pd.DataFrame(X).rename(columns=str).mask(X > 1)
    # A selector that failed itself has the names of its features, but no scores.
    assert (
        read_emptied(
            failed(make_pipeline(SelectKBest(f_regression, k=1), Ridge()), gaps, y),
            X.shape[1],
        )
        is None
    )


@given(st.data())
def test_deviations_are_the_same_bits_whichever_columns_are_asked_for(data):
    shape = data.draw(st.tuples(st.integers(2, 50), st.integers(1, 12)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    X = np.array(rng.standard_normal(shape), order=data.draw(st.sampled_from("CF")))
    columns = data.draw(st.lists(st.integers(0, shape[1] - 1), unique=True))
    whole = column_deviations(X)
    np.testing.assert_array_equal(column_deviations(X, columns), whole[columns])
    np.testing.assert_allclose(whole, X.std(axis=0), rtol=1e-12)

"""Importances against the equations of the paper, theorem 1, and searches that step through all changes."""

import warnings
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    MultiTaskLasso,
    RidgeClassifier,
)
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, pairwise_kernels
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

from skstab.inspection import flip_importance, linear_importance, margin_importance
from skstab.model_selection import BootstrapSplit, StabilityCV
from tests.discovery import importances

# Of any model: that of forests has tests of its own.
IMPORTANCES = [
    importance
    for name, importance in importances().items()
    if not name.startswith("oob_")
]


def data(n=60, d=5, n_classes=2, seed=0):
    X, y = make_classification(
        n,
        d,
        n_informative=d - 1,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        random_state=seed,
    )
    return X * np.logspace(-1, 1, d), y


def unit(X):
    return StandardScaler().fit_transform(X)


class PredictOnly:
    """A classifier whose decisions are all that is known of it."""

    def __init__(self, model):
        self.predict = model.predict


# -- linear models -----------------------------------------------------------------------------------------------------


def test_linear_importance_is_equation_7_on_features_of_unit_variance():
    X, y = data()
    X = unit(X)
    model = LogisticRegression().fit(X, y)
    w = np.abs(model.coef_[0])
    np.testing.assert_allclose(linear_importance(model, X, y), 5 * w / w.sum())


def test_linear_importance_does_not_depend_on_the_units_of_the_features():
    X, y = data()
    plain = linear_importance(LinearRegression().fit(X, y), X)
    np.testing.assert_allclose(
        linear_importance(LinearRegression().fit(unit(X), y), unit(X)), plain
    )


def test_linear_importance_counts_the_features_used():
    X, y = data(d=20)
    model = Lasso(alpha=0.1).fit(X, y)
    used = np.count_nonzero(model.coef_)
    assert 0 < used < 20
    assert linear_importance(model, X).sum() == pytest.approx(used)


def test_linear_importance_of_several_classes_is_the_norm_over_them():
    X, y = data(90, n_classes=3)
    model = LogisticRegression().fit(X, y)
    w = np.sqrt((model.coef_**2).sum(axis=0)) * X.std(axis=0)
    np.testing.assert_allclose(linear_importance(model, X), 5 * w / w.sum())


def test_linear_importance_of_sparse_data_and_sparse_weights_is_that_of_dense_ones():
    X, y = data()
    X[np.abs(X) < 0.3] = 0
    model = LogisticRegression().fit(X, y)
    dense = linear_importance(model, X)
    np.testing.assert_allclose(
        linear_importance(model.sparsify(), sparse.csc_array(X)), dense
    )


def test_weights_that_are_all_zero_give_no_importance():
    X, y = data()
    np.testing.assert_array_equal(linear_importance(Lasso(alpha=1e6).fit(X, y), X), 0)


def test_several_outputs_enter_by_their_norm():
    X, y = data()
    model = MultiTaskLasso(alpha=0.01).fit(X, np.column_stack([y, 1 - 2 * y]))
    one = Lasso(alpha=0.01).fit(X, y)
    assert linear_importance(model, X).argmax() == linear_importance(one, X).argmax()


@pytest.mark.parametrize("model", [KNeighborsClassifier(), SVC()])
def test_models_without_weights_are_refused_with_a_hint(model):
    X, y = data()
    with pytest.raises(
        ValueError, match=r"must have weights \(coef_\).*use flip_importance"
    ):
        linear_importance(model.fit(X, y), X)


# -- flips: theorem 1 --------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    st.lists(st.floats(0.01, 10), min_size=1, max_size=6),
    st.floats(-3, 3),
    st.integers(0, 1000),
)
def test_theorem_1_flips_of_a_linear_model_are_its_weights(weights, intercept, seed):
    X = unit(np.random.default_rng(seed).normal(size=(12, len(weights))))
    model = LogisticRegression().fit(X, np.arange(12) % 2)
    model.coef_, model.intercept_ = np.array([weights]), np.array([intercept])
    expected = linear_importance(model, X)
    np.testing.assert_allclose(
        flip_importance(model, X, max_change=1e6), expected, rtol=1e-7
    )


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), RidgeClassifier(), LinearSVC(), SVC(kernel="linear")],
)
def test_theorem_1_holds_for_linear_classifiers_on_data_of_any_unit(model):
    X, y = data()
    model.fit(X, y)
    np.testing.assert_allclose(
        flip_importance(model, X, max_change=1e5),
        linear_importance(model, X),
        rtol=1e-6,
    )


def test_theorem_1_holds_where_only_predictions_are_known():
    X, y = data()
    model = LogisticRegression().fit(X, y)
    flips = flip_importance(PredictOnly(model), X, max_change=1e5, tol=1e-9)
    np.testing.assert_allclose(flips, linear_importance(model, X), rtol=1e-7)


def test_the_precision_is_relative_to_the_change():
    X = unit(np.random.default_rng(0).normal(size=(20, 2)))
    X[:18, 1] = 1e-4 * np.arange(1, 19) - 2 * X[:18, 0]
    model = LogisticRegression().fit(X, np.arange(20) % 2)
    model.coef_, model.intercept_ = np.array([[2.0, 1.0]]), np.zeros(1)
    np.testing.assert_allclose(
        flip_importance(PredictOnly(model), X), linear_importance(model, X), rtol=1e-3
    )


def test_theorem_1_counts_only_the_features_used():
    X, y = data(d=12)
    model = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1).fit(X, y)
    assert 0 < np.count_nonzero(model.coef_) < 12
    np.testing.assert_allclose(
        flip_importance(model, X, max_change=1e6),
        linear_importance(model, X),
        atol=1e-7,
    )


# -- flips: any classifier ---------------------------------------------------------------------------------------------


def plain_flips(model, X, max_change, tol=1e-6, step=1 / 128):
    """Equation 9, one row, feature and direction at a time, with small steps and plain bisection."""
    inverse = np.zeros(X.shape)
    sd = X.std(axis=0)
    changes = np.arange(1, round(max_change / step) + 1) * step
    for i, f in np.ndindex(X.shape):
        kept = model.predict(X[[i]])

        def flipped(changes, i=i, f=f, kept=kept):
            changed = np.repeat(X[[i]], len(changes), axis=0)
            changed[:, f] += changes * sd[f]
            return model.predict(changed) != kept

        for sign in (-1, 1):
            flips = flipped(sign * changes)
            if flips.any():
                high = changes[flips.argmax()]
                low = high - step
                while high - low > tol * high:
                    middle = (low + high) / 2
                    low, high = (
                        (low, middle)
                        if flipped(sign * np.array([middle]))[0]
                        else (middle, high)
                    )
                inverse[i, f] = max(inverse[i, f], 1 / high)
    rows = inverse[inverse.any(axis=1)]
    return np.count_nonzero(rows.any(axis=0)) * (
        rows / rows.sum(axis=1, keepdims=True)
    ).mean(axis=0)


def cancer(n, columns, seed=0):
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(seed).choice(len(X), n, replace=False)
    return StandardScaler().fit_transform(X)[rows][:, columns], y[rows]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        SVC(break_ties=True),
        SVC(decision_function_shape="ovo"),
        LogisticRegression(),
        KNeighborsClassifier(algorithm="kd_tree"),
        DecisionTreeClassifier(max_depth=3, random_state=0),
    ],
)
def test_flips_are_those_of_the_plain_search(model, n_classes):
    X, y = data(40, 4, n_classes)
    model.fit(X, y)
    X = X[:4]
    expected = plain_flips(model, X, 16)
    np.testing.assert_allclose(
        flip_importance(model, X, max_change=16, tol=1e-7), expected, rtol=1e-4
    )


@pytest.mark.parametrize(
    "model",
    [
        SVC(C=10, gamma=0.5),
        KNeighborsClassifier(1, algorithm="kd_tree"),
        KNeighborsClassifier(5, algorithm="kd_tree"),
        KNeighborsClassifier(5, weights="distance", algorithm="kd_tree"),
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(5, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        MLPClassifier((10,), solver="lbfgs", max_iter=30, random_state=0),
        MLPClassifier((20,), max_iter=200, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_decisions_that_flip_and_flip_back_are_found(model):
    X, y = cancer(60, slice(4, 8))
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        model.fit(X, y)
    X = X[:15]
    expected = plain_flips(model, X, 8)
    np.testing.assert_allclose(
        flip_importance(model, X, max_change=8), expected, rtol=0.02
    )


@pytest.mark.parametrize(
    "model",
    [KNeighborsClassifier(algorithm="kd_tree"), MLPClassifier((20,), random_state=0)],
)
def test_flips_between_two_steps_are_found(model):
    # A search in steps alone is off by 4% and 11% here.
    X, y = cancer(40, [19, 17, 10])
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        model.fit(X, y)
    np.testing.assert_allclose(
        flip_importance(model, X, max_change=8), plain_flips(model, X, 8), rtol=0.02
    )


def test_the_default_precision_is_enough():
    X, y = data(40, 4, 3)
    model, X = SVC(break_ties=True).fit(X, y), X[:8]
    np.testing.assert_allclose(
        flip_importance(model, X, max_change=16), plain_flips(model, X, 16), rtol=1e-3
    )


def test_both_directions_are_tried_and_the_nearer_one_counts():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    tree = DecisionTreeClassifier().fit(X, [0, 1, 1, 0])
    seen = []
    tree_predict = tree.predict
    tree.predict = lambda rows: seen.append(np.asarray(rows)) or tree_predict(rows)
    assert flip_importance(PredictOnly(tree), X) == pytest.approx(1)
    assert np.concatenate(seen).min() < 0
    assert np.concatenate(seen).max() > 3


def test_a_feature_that_flips_nothing_has_no_importance():
    X, y = data(40, 6)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y)
    expected = np.zeros(6)
    expected[tree.tree_.feature[0]] = 1
    np.testing.assert_allclose(flip_importance(tree, X), expected)


def test_changes_beyond_the_limit_do_not_count():
    X = np.column_stack([np.linspace(-1, 1, 20), np.tile([-1.0, 1.0], 10)])
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    model.coef_ = np.array([[1.0, 1e-3]])
    assert flip_importance(model, X, max_change=1e5)[1] > 0
    assert flip_importance(model, X, max_change=3.5).tolist() == [1, 0]


def test_rows_that_nothing_flips_are_left_out_and_a_model_of_one_answer_has_no_importances():
    X, y = data()
    np.testing.assert_array_equal(
        flip_importance(KNeighborsClassifier(60).fit(X, y), X), 0
    )


def test_constant_features_have_no_importance():
    X, y = data()
    X[:, 2] = 0.1
    for importance, model in [
        (linear_importance, LogisticRegression()),
        (flip_importance, SVC()),
    ]:
        values = importance(model.fit(X, y), X)
        assert values[2] == 0
        assert (np.delete(values, 2) > 0).all()
    np.testing.assert_array_equal(flip_importance(model, np.full((4, 5), 0.1)), 0)


def test_duplicated_features_share_their_importance():
    X, y = data()
    X = np.hstack([X, X[:, [0]]])
    models = {
        linear_importance: LogisticRegression(),
        flip_importance: SVC(),
        margin_importance: SVC(),
    }
    for importance, model in models.items():
        values = importance(model.fit(X, y), X)
        assert values[5] == pytest.approx(values[0], rel=1e-3)


def test_sparse_rows_flip_as_dense_ones():
    X, y = data()
    X[np.abs(X) < 0.3] = 0
    model = SVC().fit(sparse.csr_array(X), y)
    dense = flip_importance(SVC().fit(X, y), X)
    np.testing.assert_allclose(
        flip_importance(model, sparse.csc_array(X)), dense, rtol=1e-3
    )


def test_models_fitted_on_named_columns_get_named_columns():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    for model in (SVC(), KNeighborsClassifier()):
        named = flip_importance(model.fit(frame, y), frame, tol=1e-9)
        np.testing.assert_allclose(
            named, flip_importance(model.fit(X, y), X, tol=1e-9), rtol=1e-5
        )


def test_a_whole_pipeline_is_a_classifier_too():
    X, y = data()
    pipe = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    of_step = flip_importance(pipe[-1], pipe[0].transform(X), tol=1e-9)
    np.testing.assert_allclose(flip_importance(pipe, X, tol=1e-9), of_step, rtol=1e-5)


def test_outlier_detectors_decide_too():
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert flip_importance(
        IsolationForest(n_estimators=10, random_state=0).fit(X), X
    ).sum() == pytest.approx(3)


def test_flips_are_found_in_batches_of_any_size(monkeypatch):
    X, y = data(20)
    model = SVC().fit(X, y)
    whole = flip_importance(model, X)
    monkeypatch.setattr("skstab.inspection._flip._BATCH", 13)
    np.testing.assert_allclose(flip_importance(model, X), whole)


def test_the_boundary_is_located_in_few_predictions_where_decision_values_are_known():
    X, y = data(30)
    model = SVC().fit(X, y)
    asked = {}
    for name in ("decision_function", "predict"):
        calls, method = [], getattr(model, name)
        probe = PredictOnly(model)
        setattr(
            probe,
            name,
            lambda rows, calls=calls, method=method: (
                calls.append(len(rows)) or method(rows)
            ),
        )
        probe.classes_ = model.classes_
        flip_importance(probe, X, max_change=16, tol=1e-9)
        asked[name] = sum(calls)
    assert asked["decision_function"] < 0.7 * asked["predict"]


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (LinearRegression(), "numbers"),
        (RandomForestClassifier(3), "labels"),
        (StandardScaler(), "classes"),
    ],
)
def test_models_without_one_decision_for_each_row_are_refused(model, target):
    X, y = data()
    targets = {"numbers": y + 0.5, "labels": np.column_stack([y, 1 - y]), "classes": y}
    with pytest.raises(
        ValueError, match=r"model must be a classifier|must decide on one class"
    ):
        flip_importance(model.fit(X, targets[target]), X)


@pytest.mark.parametrize("keyword", ["max_change", "tol"])
@pytest.mark.parametrize("value", [0, -1, np.inf, np.nan, "much", None])
def test_keywords_of_the_search_are_checked(keyword, value):
    X, y = data()
    with pytest.raises(ValueError, match=f"{keyword} must be a positive number"):
        flip_importance(SVC().fit(X, y), X, **{keyword: value})


# -- margins -----------------------------------------------------------------------------------------------------------


def plain_margin(model, X, kernel):
    """Equation 8 with the kernel matrix of each feature's absence, for each pair of classes."""
    vectors, n_classes = model.support_vectors_, len(model.dual_coef_) + 1
    side = (
        np.repeat(np.arange(n_classes), model.n_support_)
        if len(model.dual_coef_) > 1
        else None
    )
    values = np.zeros(X.shape[1])
    for i, j in combinations(range(n_classes), 2):
        a = model.dual_coef_[0]
        if side is not None:
            a = np.where(
                side == i,
                model.dual_coef_[j - 1],
                np.where(side == j, model.dual_coef_[i], 0),
            )
        for f in range(X.shape[1]):
            values[f] += abs(
                a @ kernel(vectors) @ a - a @ kernel(np.delete(vectors, f, axis=1)) @ a
            )
    return X.shape[1] * values / values.sum()


def kernel_of(model, gamma):
    keywords = {
        "linear": {},
        "rbf": {"gamma": gamma},
        "poly": {"gamma": gamma, "degree": model.degree, "coef0": model.coef0},
        "sigmoid": {"gamma": gamma, "coef0": model.coef0},
    }
    return lambda vectors: pairwise_kernels(
        vectors, metric=model.kernel, **keywords[model.kernel]
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
def test_margin_importance_is_equation_8(kernel, n_classes, gamma):
    X, y = data(80, 4, n_classes)
    X = unit(X)
    model = SVC(kernel=kernel, gamma=gamma, coef0=0.5).fit(X, y)
    number = {"scale": 1 / (4 * X.var()), "auto": 1 / 4}.get(gamma, gamma)
    expected = plain_margin(model, X, kernel_of(model, number))
    np.testing.assert_allclose(margin_importance(model, X, y), expected, rtol=1e-8)


@pytest.mark.parametrize("model", [NuSVC(), SVR(), OneClassSVM()])
def test_margin_importance_knows_all_support_vector_machines(model):
    X, y = data()
    model.fit(X, y)
    expected = plain_margin(model, X, kernel_of(model, 1 / (5 * X.var())))
    np.testing.assert_allclose(margin_importance(model, X), expected, rtol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_margin_of_a_linear_kernel_is_the_squared_weight_of_each_feature(n_classes):
    X, y = data(90, 6, n_classes)
    model = SVC(kernel="linear").fit(X, y)
    squares = (model.coef_**2).sum(axis=0)
    np.testing.assert_allclose(
        margin_importance(model, X), 6 * squares / squares.sum(), rtol=1e-8
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_ranking_of_a_linear_kernel_is_that_of_linear_importance(n_classes):
    X, y = data(90, 6, n_classes)
    model = SVC(kernel="linear").fit(unit(X), y)
    np.testing.assert_array_equal(
        np.argsort(margin_importance(model, unit(X))),
        np.argsort(linear_importance(model, unit(X))),
    )


def test_callable_kernels_are_called_with_the_feature_set_to_zero():
    X, y = data()
    by_name = margin_importance(SVC(kernel="linear").fit(X, y), X)
    np.testing.assert_allclose(
        margin_importance(SVC(kernel=linear_kernel).fit(X, y), X), by_name, rtol=1e-8
    )
    laplacian = partial(laplacian_kernel, gamma=0.2)
    model = SVC(kernel=laplacian).fit(X, y)
    values, a, vectors = np.zeros(5), model.dual_coef_[0], X[model.support_]
    for f in range(5):
        values[f] = abs(
            a @ (laplacian(vectors) - laplacian(np.delete(vectors, f, axis=1))) @ a
        )
    np.testing.assert_allclose(
        margin_importance(model, X), 5 * values / values.sum(), rtol=1e-8
    )
    with pytest.raises(
        ValueError, match="X must be the 60 rows that SVC was fitted on, got 50 rows"
    ):
        margin_importance(model, X[:50])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_margins_of_sparse_data_are_those_of_dense_data(kernel, n_classes):
    X, y = data(80, 5, n_classes)
    X[np.abs(X) < 0.3] = 0
    dense = margin_importance(SVC(kernel=kernel, tol=1e-6).fit(X, y), X)
    model = SVC(kernel=kernel, tol=1e-6).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(
        margin_importance(model, sparse.csr_array(X)), dense, rtol=1e-3
    )


def test_margins_are_computed_in_batches_of_any_size(monkeypatch):
    X, y = data()
    model = SVC().fit(X, y)
    whole = margin_importance(model, X)
    monkeypatch.setattr("skstab.inspection._importance._BATCH", 1)
    np.testing.assert_allclose(margin_importance(model, X), whole)


@pytest.mark.parametrize(
    "model", [LinearSVC(), KernelRidge(), LogisticRegression(), SVC()]
)
def test_models_without_dual_coefficients_are_refused(model):
    X, y = data()
    model = model if isinstance(model, SVC) else model.fit(X, y)
    with pytest.raises(
        ValueError, match="model must be a fitted support vector machine with a kernel"
    ):
        margin_importance(model, X)


def test_precomputed_kernels_are_refused():
    X, y = data(20, 5)
    model = SVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(
        ValueError, match="must be a kernel of features, got 'precomputed'"
    ):
        margin_importance(model, X @ X.T)


# -- all of them -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("importance", IMPORTANCES)
def test_importances_are_one_number_for_each_feature_and_never_negative(importance):
    X, y = data()
    values = importance(SVC(kernel="linear").fit(X, y), X, y)
    assert values.shape == (5,)
    assert np.isfinite(values).all()
    assert (values >= 0).all()
    assert values.any()


@pytest.mark.parametrize("importance", IMPORTANCES)
def test_rows_of_another_width_or_with_missing_values_are_refused(importance):
    X, y = data()
    model = SVC(kernel="linear").fit(X, y)
    with pytest.raises(ValueError, match="X has 4 features, but SVC was fitted on 5"):
        importance(model, X[:, :4])
    with pytest.raises(ValueError, match="X contains NaN"):
        importance(model, np.where(X > 0, X, np.nan))


@pytest.mark.parametrize(
    "importance", [*IMPORTANCES, partial(flip_importance, max_change=16)]
)
def test_importances_are_getters_of_stability_cv(importance):
    X, y = data(80, 8)
    pipe = make_pipeline(StandardScaler(), SelectKBest(k=4), SVC(kernel="linear"))
    cv = BootstrapSplit(5, random_state=0)
    runs = StabilityCV(
        pipe, cv=cv, importance_getter=importance, measure="importance_weighted"
    ).fit(X, y)
    for (train, _), values in zip(cv.split(X, y), runs.importances_, strict=True):
        fitted = make_pipeline(
            StandardScaler(), SelectKBest(k=4), SVC(kernel="linear")
        ).fit(X[train], y[train])
        expected = np.zeros(8)
        expected[fitted[1].get_support()] = importance(
            fitted[-1], fitted[:-1].transform(X[train]), y[train]
        )
        np.testing.assert_allclose(values, expected)


@pytest.mark.parametrize("importance", [flip_importance, margin_importance])
@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, sparse.csr_array])
def test_pipelines_with_a_kernel_machine_work_in_stability_cv(importance, container):
    X, y = data(80, 8)
    X = (
        container(X)
        if container is not pd.DataFrame
        else pd.DataFrame(X, columns=list("abcdefgh"))
    )
    selector = SelectFromModel(LogisticRegression(), max_features=3, threshold=-np.inf)
    pipe = make_pipeline(StandardScaler(with_mean=False), selector, SVC(kernel="rbf"))
    if container is pd.DataFrame:
        pipe.set_output(transform="pandas")
    runs = StabilityCV(
        pipe, cv=BootstrapSplit(4, random_state=0), importance_getter=importance
    ).fit(X, y)
    np.testing.assert_allclose(runs.importances_.sum(axis=1), 3, rtol=1e-9)
    assert 0 < runs.stability("importance_weighted") <= 1

"""Flips that a search in steps misses: those of nearest neighbours, and short ones of smooth margins."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from skstab.inspection import flip_importance


def shares(changes):
    """Equation 9, given the smallest change of each feature of each row."""
    inverse = 1 / np.maximum(changes, 1e-6)
    rows = inverse[inverse.any(axis=1)]
    if not len(rows):
        return np.zeros(changes.shape[1])
    return np.count_nonzero(rows.any(axis=0)) * (
        rows / rows.sum(axis=1, keepdims=True)
    ).mean(axis=0)


class Counted:
    """A model of which it is known how many rows each method was asked for."""

    def __init__(self, model, *methods):
        self.asked = dict.fromkeys(methods, 0)
        self.classes_ = model.classes_
        for name in methods:
            setattr(
                self,
                name,
                lambda rows, name=name: self._ask(getattr(model, name), name, rows),
            )

    def _ask(self, method, name, rows):
        self.asked[name] += rows.shape[0]
        return method(rows)


# -- nearest neighbours ------------------------------------------------------------------------------------------------


def crossings(x, Z, f, unit):
    """Changes after which two rows of Z are equally far from x, from 0 on."""
    found = [0.0]
    for i, j in combinations(range(len(Z)), 2):
        slope = 2 * unit * (Z[j, f] - Z[i, f])
        if slope:
            found.append((((x - Z[j]) ** 2).sum() - ((x - Z[i]) ** 2).sum()) / slope)
    return np.unique([change for change in found if change >= 0])


def plain_neighbour_flips(model, X, Z, limit):
    """Ask for the decision between any two crossings of the distances to all pairs of rows, and beyond the last."""
    changes = np.full(X.shape, np.inf)
    for i, f in np.ndindex(X.shape):
        for unit in (-X[:, f].std(), X[:, f].std()):
            starts = crossings(X[i], Z, f, unit)
            ends = np.append(starts[1:], limit + starts[-1])
            lasting = ends - starts > 1e-9
            moved = np.repeat(X[[i]], lasting.sum(), axis=0)
            moved[:, f] += unit * (starts + ends)[lasting] / 2
            flips = starts[lasting][model.predict(moved) != model.predict(X[[i]])]
            changes[i, f] = min(changes[i, f], *flips[flips < limit], np.inf)
    return changes


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 7),
    st.integers(2, 4),
    st.integers(1, 3),
    st.booleans(),
)
def test_flips_of_neighbours_are_those_between_all_crossings(
    seed, k, n_classes, d, repeated
):
    rng = np.random.default_rng(seed)
    Z, y = rng.normal(size=(14, d)), rng.integers(n_classes, size=14)
    if repeated:
        again = rng.integers(14, size=14)  # as a bootstrap does
        Z, y = Z[again], y[again]
    model = KNeighborsClassifier(k, algorithm="kd_tree").fit(Z, y)
    X = rng.normal(size=(4, d))
    expected = shares(plain_neighbour_flips(model, X, Z, 6.0))
    np.testing.assert_allclose(
        flip_importance(model, X, max_change=6.0), expected, rtol=1e-6, atol=1e-12
    )


@pytest.mark.parametrize("columns", [[0, 1], [3, 9, 20]])
def test_flips_of_five_neighbours_are_exact_on_their_own_rows(columns):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:30, columns], y[15:45]
    model = KNeighborsClassifier().fit(X, y)
    expected = shares(plain_neighbour_flips(model, X, X, 8.0))
    np.testing.assert_allclose(
        flip_importance(model, X, max_change=8), expected, rtol=1e-9
    )


@pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-6])
def test_a_row_that_is_passed_closely_flips_where_weights_are_inverse_distances(gap):
    Z = np.array([[0.0, 0.0], [1.0, gap], [0.0, 3.0], [1.0, 3.0]])
    model = KNeighborsClassifier(4, weights="distance").fit(Z, [0, 1, 0, 0])
    X = np.array(
        [[-1.0, 0.0], [-3.0, 0.0]]
    )  # a deviation of 1, and none of the second feature
    positions = np.linspace(0.5, 1.0, 500_001)
    flip = positions[
        model.predict(np.column_stack([positions, np.zeros(len(positions))])).argmax()
    ]
    assert 0.5 < flip < 1
    assert flip_importance(model, X, max_change=1.0 + flip + 1e-5)[0] == 1
    assert flip_importance(model, X, max_change=1.0 + flip - 1e-5)[0] == 0


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_different_classes_that_stay_equally_far_are_ordered_as_by_the_model(
    seed,
):
    rng = np.random.default_rng(seed)
    Z = np.unique(rng.integers(0, 6, size=(30, 3)).astype(float), axis=0)
    y, k = rng.integers(2, size=len(Z)), rng.integers(1, 6)
    model, X = KNeighborsClassifier(int(k), algorithm="kd_tree").fit(Z, y), Z[::4]
    # In these data no flip is shorter than a step.
    expected = shares(plain_neighbour_flips(model, X, Z, 8.0))
    np.testing.assert_allclose(
        flip_importance(model, X, max_change=8), expected, rtol=1e-3, atol=1e-6
    )


def test_neighbours_are_searched_in_batches_of_any_size(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(25, 3)), rng.integers(3, size=25)
    model = KNeighborsClassifier().fit(X, y)
    whole = flip_importance(model, X)
    monkeypatch.setattr("skstab.inspection._neighbour_flips._BATCH", 60)
    np.testing.assert_array_equal(flip_importance(model, X), whole)


class Contrary(KNeighborsClassifier):
    """Decide for the first class wherever the first feature is large, whatever the neighbours."""

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] > 1, self.classes_[0], self.classes_[1])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "keywords",
    [
        {"p": 1},
        {"metric": "cosine"},
        {"weights": lambda distances: np.where(distances < 0.5, 2.0, 1.0)},
        {},
    ],
)
def test_neighbours_by_other_metrics_or_weights_or_of_sparse_rows_are_searched(
    container, keywords
):
    rng = np.random.default_rng(0)
    X, y = container(rng.normal(size=(40, 2))), rng.integers(2, size=40)
    model = KNeighborsClassifier(3, **keywords).fit(X, y)
    exact = container is np.asarray and not keywords
    assert (
        np.array_equal(
            flip_importance(model, X), flip_importance(Counted(model, "predict"), X)
        )
        != exact
    )


def test_models_derived_from_neighbours_are_searched():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(2, size=40)
    np.testing.assert_allclose(flip_importance(Contrary().fit(X, y), X), [1, 0])


def test_neighbours_are_asked_once_for_each_row_feature_and_direction():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(2, size=40)
    model = KNeighborsClassifier().fit(X, y)
    asked, predict = [], model.predict
    model.predict = lambda rows: asked.append(len(rows)) or predict(rows)
    flip_importance(model, X)
    assert sum(asked) <= 40 + 40 * 3 * 2


# -- trees -------------------------------------------------------------------------------------------------------------

TREES = {
    "tree": DecisionTreeClassifier(random_state=0),
    "extra tree": ExtraTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(7, random_state=0),
    "extra trees": ExtraTreesClassifier(7, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=6, random_state=0),
    "boosting from zero": GradientBoostingClassifier(
        n_estimators=6, init="zero", random_state=0
    ),
    "boosting by histograms": HistGradientBoostingClassifier(
        max_iter=6, min_samples_leaf=3, random_state=0
    ),
    "adaboost": AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=6, random_state=0
    ),
    "bagging": BaggingClassifier(
        n_estimators=7, max_features=0.7, bootstrap_features=True, random_state=0
    ),
    "isolation forest": IsolationForest(
        n_estimators=7, max_features=2, contamination=0.3, random_state=0
    ),
}


def thresholds(model):
    """Return the thresholds of each feature, of all trees of a model."""
    found = [[] for _ in range(model.n_features_in_)]
    if isinstance(model, HistGradientBoostingClassifier):
        for nodes in (tree.nodes for trees in model._predictors for tree in trees):
            for node in nodes[nodes["is_leaf"] == 0]:
                found[node["feature_idx"]].append(node["num_threshold"])
        return found
    parts = np.ravel(getattr(model, "estimators_", [model]))
    columns = getattr(
        model, "estimators_features_", [range(model.n_features_in_)] * len(parts)
    )
    for part, own in zip(parts, columns, strict=True):
        for feature, threshold in zip(
            part.tree_.feature, part.tree_.threshold, strict=True
        ):
            if feature >= 0:
                found[own[feature]].append(threshold)
    return found


def plain_tree_flips(model, X, limit):
    """Ask for the decision between any two thresholds of a feature, below the first and above the last."""
    changes = np.full(X.shape, np.inf)
    for f, steps in enumerate(map(np.unique, thresholds(model))):
        middles = np.concatenate(
            [steps[:1] - 1, (steps[1:] + steps[:-1]) / 2, steps[-1:] + 1]
        )
        lows, highs = np.append(-np.inf, steps), np.append(steps, np.inf)
        for i in range(len(X)):
            moved = np.repeat(X[[i]], len(middles), axis=0)
            moved[:, f] = middles
            distance = (
                np.maximum(0, np.maximum(lows - X[i, f], X[i, f] - highs))
                / X[:, f].std()
            )
            flips = (
                distance[model.predict(moved) != model.predict(X[[i]])]
                if len(steps)
                else []
            )
            changes[i, f] = min(
                [change for change in flips if change <= limit], default=np.inf
            )
    return changes


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("limit", [0.3, 1024.0])
def test_flips_of_trees_are_those_between_all_thresholds(kind, n_classes, limit):
    rng = np.random.default_rng(n_classes)
    Z, y = rng.normal(size=(50, 4)), rng.integers(n_classes, size=50)
    Z[:, 3] = rng.integers(4, size=50)  # few values
    model, X = TREES[kind].fit(Z, y), np.vstack([Z[::9], rng.normal(size=(4, 4))])
    expected = shares(plain_tree_flips(model, X, limit))
    assert np.count_nonzero(expected) > 1
    np.testing.assert_allclose(
        flip_importance(model, X, max_change=limit), expected, rtol=1e-5, atol=1e-12
    )


def test_a_flip_of_a_tree_between_two_neighbouring_numbers_of_single_precision_is_found():
    low = np.float32(700)
    middle = np.nextafter(low, np.float32(1000))
    high = np.nextafter(middle, np.float32(1000))
    Z = np.array([[-2000.0], [low], [middle], [high], [2000.0]])
    model = DecisionTreeClassifier().fit(Z, [0, 0, 1, 0, 0])
    X = np.array([[-1000.0], [1000.0]])
    assert flip_importance(model, X, max_change=1.75).tolist() == [1]
    np.testing.assert_array_equal(flip_importance(model, X, max_change=0.29), 0)
    np.testing.assert_array_equal(model.predict(X), 0)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
def test_trees_of_sparse_rows_flip_as_those_of_dense_ones(container, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5)) * (rng.random((30, 5)) < 0.4)
    model = RandomForestClassifier(5, random_state=0).fit(X, rng.integers(2, size=30))
    dense = flip_importance(model, X)
    monkeypatch.setattr("skstab.inspection._tree_flips._ROWS", 7)
    np.testing.assert_allclose(flip_importance(model, container(X)), dense, rtol=1e-12)


class Opposite(DecisionTreeClassifier):
    """Decide for the first class wherever the first feature is large, whatever the tree."""

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] > 1, self.classes_[0], self.classes_[1])


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(
            n_estimators=2, init=LogisticRegression(), random_state=0
        ),
        BaggingClassifier(SVC(), n_estimators=2, random_state=0),
        HistGradientBoostingClassifier(
            max_iter=3, categorical_features=[2], random_state=0
        ),
        Opposite(random_state=0),
    ],
    ids=["boosting of a linear model", "bagging of machines", "categories", "derived"],
)
def test_models_that_decide_by_more_than_thresholds_are_searched(model):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 2)), rng.integers(3, size=60)])
    model.fit(X, (X[:, 0] + X[:, 1] > 0) ^ (X[:, 2] == 1))
    searched = flip_importance(
        Counted(
            model, *(m for m in ("predict", "decision_function") if hasattr(model, m))
        ),
        X,
    )
    np.testing.assert_array_equal(flip_importance(model, X), searched)


def test_a_tree_that_never_splits_flips_nothing():
    X = np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_array_equal(
        flip_importance(DecisionTreeClassifier().fit(X, np.zeros(20)), X), 0
    )


# -- smooth margins ----------------------------------------------------------------------------------------------------


class Margin:
    """A classifier with a margin by the first feature and one by the second; it counts the rows it is asked for."""

    classes_ = np.array([0, 1])

    def __init__(self, first):
        self.first, self.asked = first, 0

    def decision_function(self, X):
        self.asked += len(X)
        return np.minimum(self.first(X[:, 0]), X[:, 1] + 3)

    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


ROWS = np.array([[-1.0, 1.0], [1.0, -1.0]])  # a deviation of 1


@pytest.mark.parametrize("place", [-0.97, -0.4321, 0.1234, 0.61, 2.07, 5.3, -1.7])
@pytest.mark.parametrize("width", [0.02, 0.005])
@pytest.mark.parametrize("shape", [np.abs, np.square])
def test_short_flips_of_smooth_margins_are_found(place, width, shape):
    model = Margin(lambda x: shape(x - place) - shape(width / 2))
    changes = np.column_stack([np.abs(place - ROWS[:, 0]) - width / 2, ROWS[:, 1] + 3])
    np.testing.assert_allclose(
        flip_importance(model, ROWS, max_change=8, tol=1e-7), shares(changes), rtol=1e-4
    )


def test_margins_that_stay_above_zero_cost_few_more_rows():
    model = Margin(lambda x: 1.1 + np.cos(3 * x))
    np.testing.assert_allclose(flip_importance(model, ROWS, max_change=8), [0, 1])
    flat = Margin(lambda x: np.full(len(x), 9.0))
    np.testing.assert_allclose(flip_importance(flat, ROWS, max_change=8), [0, 1])
    # Each of two rows has 4 smallest margins in each direction.
    assert flat.asked < model.asked <= flat.asked + 2 * 2 * 4 * 28


@pytest.mark.parametrize(
    "model",
    [DecisionTreeClassifier(random_state=0), RandomForestClassifier(4, random_state=0)],
)
def test_probabilities_that_change_in_steps_are_not_used(model):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model.fit(X, X[:, 0] * X[:, 1] > 0)
    both, one = Counted(model, "predict", "predict_proba"), Counted(model, "predict")
    np.testing.assert_array_equal(
        flip_importance(both, X[:20]), flip_importance(one, X[:20])
    )
    assert both.asked == {"predict": one.asked["predict"], "predict_proba": 2 * 20}


def test_smooth_probabilities_locate_the_boundary_in_few_rows():
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = GaussianNB().fit(X, X[:, 0] ** 2 + X[:, 1] > 1)
    both, one = Counted(model, "predict", "predict_proba"), Counted(model, "predict")
    values = flip_importance(both, X, max_change=16, tol=1e-9)
    np.testing.assert_allclose(
        values, flip_importance(one, X, max_change=16, tol=1e-9), rtol=1e-6
    )
    assert sum(both.asked.values()) < 0.7 * one.asked["predict"]

"""Out-of-bag permutation importance against its definition, tree by tree."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from skstab import BootstrapSplit, StabilityCV
from skstab.inspection import oob_permutation_importance
from skstab.inspection._oob import _concordance


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).astype(np.float32)
    return X, X[:, 0] + 0.5 * X[:, 1] + 0.2 * rng.normal(size=60)


def expected_loss(forest, X, error_of):
    """Mean over the trees of the expected error with a feature permuted, minus that without.

    Under a random permutation each row gets the value of any of the rows, with the same probability.
    """
    losses = np.zeros((len(forest.estimators_), X.shape[1]))
    for loss, tree, sample in zip(
        losses, forest.estimators_, forest.estimators_samples_, strict=True
    ):
        outside = np.setdiff1d(np.arange(len(X)), sample)
        for f in range(X.shape[1]):
            changed = np.repeat(X[outside], len(outside), axis=0)
            changed[:, f] = np.tile(X[outside, f], len(outside))
            rows = np.repeat(outside, len(outside))
            loss[f] = (
                error_of(rows, tree.predict(changed)).mean()
                - error_of(outside, tree.predict(X[outside])).mean()
            )
    return losses.mean(axis=0)


@pytest.mark.parametrize(
    "forest",
    [
        RandomForestClassifier(5, random_state=0),
        ExtraTreesClassifier(5, bootstrap=True, max_depth=3, random_state=0),
        BaggingClassifier(n_estimators=5, random_state=0),
        BaggingClassifier(LogisticRegression(), n_estimators=5, random_state=0),
    ],
    ids=lambda f: str(f)[:30],
)
@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]])
def test_classifiers_lose_accuracy(forest, labels, data):
    X, target = data
    y = np.array(labels)[(target > 0).astype(int)]
    forest.fit(X, y)
    code = (target > 0).astype(int)
    expected = expected_loss(forest, X, lambda rows, predicted: predicted != code[rows])
    found = oob_permutation_importance(forest, X, y, n_repeats=300, random_state=0)
    np.testing.assert_allclose(found, expected, atol=0.01)
    assert found.argmax() == 0


def test_regressors_lose_explained_variance(data):
    X, y = data
    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, y)
    expected = (
        expected_loss(forest, X, lambda rows, predicted: (predicted - y[rows]) ** 2)
        / y.var()
    )
    found = oob_permutation_importance(forest, X, y, n_repeats=300, random_state=0)
    np.testing.assert_allclose(found, expected, atol=0.03)


def test_members_that_were_given_some_of_the_columns(data):
    X, y = data
    bag = BaggingRegressor(
        DecisionTreeRegressor(max_depth=2), 12, max_features=2, random_state=1
    ).fit(X, y)
    found = oob_permutation_importance(bag, X, y, random_state=0)
    seen = np.unique(
        np.concatenate([np.asarray(c)[[0, 1]] for c in bag.estimators_features_])
    )
    assert found.argmax() == 0
    assert set(np.flatnonzero(found)) <= set(seen)


def test_a_feature_that_no_tree_splits_on_loses_nothing(data):
    X, y = data
    X = np.column_stack([X, np.ones(60)])
    found = oob_permutation_importance(
        RandomForestClassifier(5, random_state=0).fit(X, y > 0), X, y > 0
    )
    assert found[4] == 0


def test_an_int_gives_the_same_and_none_another_result(data):
    X, y = data
    forest = RandomForestClassifier(3, random_state=0).fit(X, y > 0)
    first, again = (
        oob_permutation_importance(forest, X, y > 0, random_state=5) for _ in range(2)
    )
    np.testing.assert_array_equal(first, again)
    many = [oob_permutation_importance(forest, X, y > 0) for _ in range(3)]
    assert any(not np.array_equal(many[0], other) for other in many[1:])


def test_sparse_rows(data):
    X, y = data
    X = np.where(np.abs(X) < 0.5, 0, X)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y > 0)
    dense = oob_permutation_importance(forest, X, y > 0, random_state=0)
    np.testing.assert_array_equal(
        oob_permutation_importance(forest, csr_array(X), y > 0, random_state=0), dense
    )


def test_negative_values_count_as_unimportant_in_stability_cv(data):
    X, y = data
    forest = RandomForestClassifier(5, random_state=0)
    runs = StabilityCV(
        forest,
        cv=BootstrapSplit(3, random_state=0),
        measure="pearson",
        importance_getter=oob_permutation_importance,
        return_estimators=True,
        random_state=0,
    ).fit(X, y > 0)
    assert (runs.importances_ >= 0).all()
    assert (runs.importances_.argmax(axis=1) == 0).all()


def test_concordance_is_the_share_of_comparable_pairs_in_the_right_order():
    rng = np.random.default_rng(0)
    event, time = rng.random(12) < 0.6, rng.integers(1, 8, 12)
    y = np.array(
        list(zip(event, time, strict=True)), dtype=[("died", bool), ("days", int)]
    )
    risks = rng.integers(0, 4, (3, 12)).astype(float)
    for risk, found in zip(risks, _concordance(y, risks), strict=True):
        agreed = comparable = 0
        for i, j in np.ndindex(12, 12):
            if event[i] and (
                time[i] < time[j] or (time[i] == time[j] and not event[j])
            ):
                comparable += 1
                agreed += (
                    1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0
                )
        assert found == pytest.approx(agreed / comparable)
    none = np.array([(False, 1.0), (False, 2.0)], dtype=[("e", bool), ("t", float)])
    assert _concordance(none, np.zeros((2, 2))).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            RandomForestClassifier(3, bootstrap=False),
            "must be a forest with bootstrap samples",
        ),
        (
            GradientBoostingClassifier(n_estimators=2),
            "GradientBoostingClassifier has none",
        ),
    ],
)
def test_models_without_rows_left_out_are_refused(model, message, data):
    X, y = data
    with pytest.raises(ValueError, match=message):
        oob_permutation_importance(model.fit(X, y > 0), X, y > 0)


def test_bad_input_is_named(data):
    X, y = data
    forest = RandomForestClassifier(3, random_state=0).fit(X, y > 0)
    with pytest.raises(
        ValueError,
        match="must be the rows that RandomForestClassifier was fitted on, got only 30",
    ):
        oob_permutation_importance(forest, X[:30], y[:30] > 0)
    with pytest.raises(
        ValueError, match="y must have one entry for each of the 60 rows"
    ):
        oob_permutation_importance(forest, X, np.column_stack([y, y]) > 0)
    with pytest.raises(ValueError, match="n_repeats must be"):
        oob_permutation_importance(forest, X, y > 0, n_repeats=0)
    pair = np.zeros(60, dtype=[("a", float), ("b", float)])
    with pytest.raises(ValueError, match=r"one field of booleans \(event\)"):
        oob_permutation_importance(forest, X, pair)

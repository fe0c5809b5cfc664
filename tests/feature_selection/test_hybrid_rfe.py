"""Hybrid-RFE against algorithm 1 written as a loop, and the equations of its extension."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from skstab.feature_selection import HybridRFE, information_gain, welch_variance
from skstab.feature_selection._elimination import (
    Elimination,
    Round,
    _Remaining,
    frequency_scores,
    merge_rows,
)
from skstab.feature_selection._ridge import LOSSES
from skstab.model_selection import BootstrapSplit, StabilityCV

# -- the algorithm, as the paper writes it -----------------------------------------------------------------------------


def model_of(loss, C, tol=1e-9):
    if loss == "squared":
        return Ridge(alpha=1 / C)
    return LogisticRegression(C=C, tol=tol, max_iter=100_000, solver="newton-cholesky")


def algorithm_1(X, y, k, *, stable=(), C=1.0, shrinkage=1.0, step=0.2, loss="logistic"):
    """Lines 2 to 9: the features left, and for each step the ranked features and how many were kept."""
    features, steps = list(range(X.shape[1])), []
    while len(features) > k:
        beta = np.array([shrinkage if f in stable else 1.0 for f in features])
        coef = (
            np.atleast_2d(model_of(loss, C).fit(X[:, features] / beta, y).coef_) / beta
        )
        strength = dict(zip(features, np.linalg.norm(coef, axis=0), strict=True))
        others = sorted(
            (f for f in features if f not in stable), key=lambda f: -strength[f]
        )
        ranked = [*stable, *others]
        n_dropped = max(1, int(step * len(features))) if step < 1 else step
        n_kept = max(k, len(features) - n_dropped)
        steps.append((ranked, n_kept))
        features = sorted(ranked[:n_kept])
    return features, steps


def equation_15(steps, feature, n_features, k):
    score = n_features / k
    for ranked, n_kept in steps:
        rank = ranked.index(feature) + 1
        score *= (n_kept - rank + 1) / (len(ranked) - rank + 1)
    return score


def make(n, d, seed, n_classes=2, loss="logistic"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d)))
    signal = X[:, : min(3, d)].sum(axis=1) + rng.standard_normal(n)
    if loss == "squared":
        return X, signal
    return X, np.digitize(
        signal, np.quantile(signal, np.arange(1, n_classes) / n_classes)
    )


parameters = st.fixed_dictionaries(
    {
        "loss": st.sampled_from(["logistic", "squared"]),
        "step": st.sampled_from([1, 3, 0.2, 0.5]),
        "shrinkage": st.sampled_from([1.0, 0.3]),
        "C": st.sampled_from([0.05, 1.0, 10.0]),
    }
)


@given(
    n=st.integers(8, 30),
    n_classes=st.integers(2, 3),
    parameters=parameters,
    data=st.data(),
)
@settings(max_examples=50)
def test_it_selects_what_algorithm_1_selects(n, n_classes, parameters, data):
    d = data.draw(st.integers(2, 40))
    k = data.draw(st.integers(1, d))
    n_stable = data.draw(st.integers(0, k))
    loss, C = parameters["loss"], parameters["C"]
    X, y = make(n, d, data.draw(st.integers(0, 10**6)), n_classes, loss)
    hybrid = HybridRFE(k, n_stable_features=n_stable, **parameters).fit(X, y)
    target = "numeric" if loss == "squared" else "classes"
    stable = np.argsort(-welch_variance(X, y, target=target), kind="stable")[
        :n_stable
    ].tolist()
    features, steps = algorithm_1(X, y, k, stable=stable, **parameters)
    assert hybrid.get_support(indices=True).tolist() == features
    assert hybrid.stable_features_.tolist() == stable
    for feature in features:
        expected = equation_15(steps, feature, d, k) if steps else 1.0
        assert hybrid.frequency_scores_[feature] == pytest.approx(expected)
    assert np.isnan(hybrid.frequency_scores_[~hybrid.support_]).all()
    final = model_of(loss, C).fit(X[:, features], y)
    np.testing.assert_allclose(
        np.atleast_2d(hybrid.coef_)[:, features], np.atleast_2d(final.coef_), atol=1e-5
    )
    np.testing.assert_allclose(
        hybrid.predict(X), final.predict(X[:, features]), atol=1e-4
    )


def test_many_features_on_a_bootstrap_sample_give_the_features_of_the_loop():
    X, y = make(40, 300, seed=0)
    rows = np.random.default_rng(1).integers(40, size=40)
    expected, _ = algorithm_1(X[rows], y[rows], 10)
    assert (
        HybridRFE(10).fit(X[rows], y[rows]).get_support(indices=True).tolist()
        == expected
    )


def test_without_stable_features_it_never_asks_the_criterion():
    def fail(X, y):
        raise AssertionError

    HybridRFE(2, criterion=fail).fit(*make(20, 5, seed=0))


@pytest.mark.parametrize(
    "criterion", [f_classif, "welch_variance", "variance", "information_gain"]
)
def test_only_stable_features_make_it_the_filter(criterion):
    X, y = load_breast_cancer(return_X_y=True)
    scores = {
        "welch_variance": welch_variance,
        "variance": lambda X, _: X.var(axis=0),
        "information_gain": information_gain,
    }
    expected = (
        SelectKBest(scores.get(criterion, criterion), k=7).fit(X, y).get_support()
    )
    hybrid = HybridRFE(
        7, n_stable_features=7, criterion=criterion, standardize=True
    ).fit(X, y)
    np.testing.assert_array_equal(hybrid.get_support(), expected)
    assert len(hybrid.elimination_path_) == 1


def test_a_criterion_without_an_opinion_on_a_feature_does_not_choose_it():
    X, y = make(20, 4, seed=0)
    hybrid = HybridRFE(
        2,
        n_stable_features=1,
        criterion=lambda *_: np.array([np.nan, 0.1, np.nan, 0.5]),
    ).fit(X, y)
    assert hybrid.stable_features_.tolist() == [3]


def test_stable_features_are_shrunk_less_while_features_are_eliminated():
    X, y = make(30, 60, seed=2)
    X[:, 1] = X[:, 0] + 0.1 * np.random.default_rng(0).standard_normal(30)
    first = {
        "n_stable_features": 1,
        "criterion": lambda X, _: np.arange(X.shape[1]) == 0,
    }
    ranks = [
        HybridRFE(5, shrinkage=e, C=0.01, **first).fit(X, y).ranking_[1]
        for e in (1.0, 0.01)
    ]
    # Its twin takes the weight of feature 1, which is then dropped earlier.
    assert ranks[1] > ranks[0]


# -- the extension -----------------------------------------------------------------------------------------------------


def test_frequency_score_of_a_constant_rank_does_not_depend_on_the_steps():
    def score(sizes, rank):
        steps = tuple(Round(np.arange(a), np.ones(a), b) for a, b in pairwise(sizes))
        return frequency_scores(Elimination(np.arange(sizes[-1]), steps), sizes[0])[
            rank - 1
        ]

    for rank in range(1, 6):
        expected = 50 / 5 * (5 - rank + 1) / (50 - rank + 1)  # after equation (15)
        assert score([50, 5], rank) == pytest.approx(expected)
        assert score([50, 40, 31, 9, 5], rank) == pytest.approx(expected)
    assert score([50, 20, 5], 1) == pytest.approx(1)


def test_the_final_penalty_is_that_of_equation_16():
    X, y = make(40, 12, seed=3)
    hybrid = HybridRFE(5, alpha=2.0, C=1.0, C_final=0.3).fit(X, y)
    selected = hybrid.get_support(indices=True)
    penalty = 1 + 2.0 * (1 - hybrid.frequency_scores_[selected])
    assert penalty.max() > 1.5
    scaled = X[:, selected] / np.sqrt(penalty)
    expected = model_of("logistic", 0.3).fit(scaled, y)
    np.testing.assert_allclose(
        hybrid.coef_[0, selected], expected.coef_[0] / np.sqrt(penalty), rtol=1e-6
    )
    np.testing.assert_allclose(hybrid.intercept_, expected.intercept_, rtol=1e-6)


def test_alpha_moves_weight_to_frequent_features_and_leaves_the_selection():
    X, y = make(60, 30, seed=4)
    plain, shifted = (HybridRFE(8, alpha=a, C=0.1).fit(X, y) for a in (0.0, 20.0))
    np.testing.assert_array_equal(plain.support_, shifted.support_)
    share = [np.abs(h.coef_[0]) / np.abs(h.coef_[0]).sum() for h in (plain, shifted)]
    best = np.nanargmax(plain.frequency_scores_)
    assert share[1][best] > share[0][best]


# -- records -----------------------------------------------------------------------------------------------------------


def test_the_path_tells_sizes_and_margins():
    X, y = make(30, 20, seed=5)
    hybrid = HybridRFE(4, n_stable_features=2).fit(X, y)
    path = hybrid.elimination_path_
    assert isinstance(path, pd.DataFrame)
    assert path["n_features"].tolist() == [20, 16, 13, 11, 9, 8, 7, 6, 5]
    assert (path["n_features"] - path["n_dropped"]).tolist() == [
        *path["n_features"][1:],
        4,
    ]
    assert (path["dropped_weight"] <= path["kept_weight"]).all()
    np.testing.assert_allclose(
        path["margin"], path["dropped_weight"] / path["kept_weight"]
    )


def test_ranking_counts_the_steps_from_the_end():
    X, y = make(30, 10, seed=6)
    hybrid = HybridRFE(4, step=3).fit(X, y)
    assert np.bincount(hybrid.ranking_).tolist() == [0, 4, 3, 3]
    np.testing.assert_array_equal(hybrid.ranking_ == 1, hybrid.support_)


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_the_gram_matrix_is_computed_anew_before_old_rounding_errors_show():
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((40, 20)) * np.repeat([1e5, 1.0], 20)[:, None]
    loss = LOSSES["squared"](rng.standard_normal((20, 1)), np.ones((20, 1)))
    remaining = _Remaining(columns, loss, 1.0, True)
    remaining.fit()
    remaining.keep(np.arange(20, 40))
    weights = remaining.fit().weights
    np.testing.assert_allclose(
        weights, _Remaining(columns[20:], loss, 1.0, True).fit().weights, rtol=1e-9
    )


def test_features_far_from_zero_are_as_good_as_centred_ones():
    X, y = make(25, 60, seed=7)
    near, far = HybridRFE(6).fit(X, y), HybridRFE(6).fit(X + 1e5, y)
    np.testing.assert_array_equal(near.support_, far.support_)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_array_equal(near.predict(X), far.predict(X + 1e5))


def test_standardize_is_a_scaler_that_the_criterion_does_not_see():
    X, y = load_breast_cancer(return_X_y=True)
    hybrid = HybridRFE(
        8, n_stable_features=2, criterion="variance", standardize=True
    ).fit(X, y)
    assert set(hybrid.stable_features_) == set(np.argsort(-X.var(axis=0))[:2])
    named = HybridRFE(8, n_stable_features=2, criterion=lambda *_: X.var(axis=0))
    pipe = make_pipeline(StandardScaler(), named).fit(X, y)
    np.testing.assert_array_equal(hybrid.support_, pipe[-1].support_)
    np.testing.assert_allclose(hybrid.coef_ * X.std(axis=0), pipe[-1].coef_, atol=1e-8)
    np.testing.assert_allclose(
        hybrid.predict_proba(X), pipe.predict_proba(X), atol=1e-8
    )


@given(
    rows=st.lists(
        st.lists(st.integers(0, 1), min_size=12, max_size=12), min_size=2, max_size=12
    ),
    repeats=st.lists(st.integers(0, 11), max_size=8),
)
def test_merged_rows_are_the_distinct_ones(rows, repeats):
    X = np.array(rows + [rows[i % len(rows)] for i in repeats], dtype=float)
    y = (X[:, [0]] + X[:, [5]] > 0).astype(float)
    first, group = merge_rows(X, y)
    np.testing.assert_array_equal(X[first][group], X)
    if len(
        np.unique(X[:, np.unique(np.linspace(0, 11, 8).astype(int))], axis=0)
    ) == len(np.unique(X, axis=0)):
        assert len(first) == len(np.unique(X, axis=0))


def test_rows_that_differ_in_the_target_are_not_merged():
    X = np.zeros((4, 3))
    first, group = merge_rows(X, np.array([[0.0], [1.0], [0.0], [1.0]]))
    assert first.tolist() == [0, 1]
    assert group.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
@pytest.mark.parametrize("n_stable", [0, 2])
def test_sample_weights_are_as_good_as_repeated_rows(loss, n_stable):
    X, y = make(25, 12, seed=8, loss=loss)
    repeats = np.random.default_rng(0).integers(0, 3, 25)
    hybrid = HybridRFE(4, n_stable_features=n_stable, loss=loss)
    weighted = clone(hybrid).fit(X, y, sample_weight=repeats)
    repeated = clone(hybrid).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    np.testing.assert_array_equal(weighted.support_, repeated.support_)
    near = 1e-4 if loss == "hinge" else 1e-8
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=near)


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
def test_sparse_data_give_the_same_as_dense(loss):
    X, y = make(30, 50, seed=9, loss=loss)
    X[np.abs(X) < 0.8] = 0
    hybrid = HybridRFE(8, n_stable_features=2, loss=loss, standardize=True)
    dense, thin = clone(hybrid).fit(X, y), clone(hybrid).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(dense.support_, thin.support_)
    near = 1e-4 if loss == "hinge" else 1e-7
    np.testing.assert_allclose(dense.coef_, thin.coef_, atol=near)
    np.testing.assert_allclose(
        dense.predict(X), thin.predict(sparse.csr_array(X)), atol=1e-7
    )


# -- support vector machines -------------------------------------------------------------------------------------------


def hinge_weights(X, y, C):
    """Weights of a linear SVM, or of one for each class against the rest."""
    labels = [1] if len(np.unique(y)) == 2 else np.unique(y)
    machines = [SVC(kernel="linear", C=C, tol=1e-6).fit(X, y == one) for one in labels]
    return np.vstack([machine.coef_ for machine in machines])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("n", "d"), [(30, 200), (130, 12)], ids=["rows", "features"])
@pytest.mark.parametrize("step", [3, 0.2])
def test_hinge_drops_the_smallest_weights_of_support_vector_machines(
    n, d, step, n_classes
):
    X, y = make(n, d, seed=20, n_classes=n_classes)
    features, order = np.arange(d), []
    while len(features) > 4:
        strength = np.linalg.norm(hinge_weights(X[:, features], y, 0.1), axis=0)
        n_dropped = max(1, int(step * len(features))) if step < 1 else step
        n_dropped = min(n_dropped, len(features) - 4)
        ranked = features[np.argsort(-strength)]
        order = [*ranked[-n_dropped:], *order]
        features = np.sort(ranked[:-n_dropped])
    best = ranked[:-n_dropped]
    hybrid = HybridRFE(4, loss="hinge", C=0.1, step=step).fit(X, y)
    assert hybrid.get_support(indices=True).tolist() == features.tolist()
    assert hybrid.elimination_order_[:4].tolist() == best.tolist()
    # Solvers stop at a tolerance, which decides between weights that are almost equal.
    places = np.argsort(hybrid.elimination_order_), np.argsort([*best, *order])
    assert np.corrcoef(*places)[0, 1] > 0.999
    expected = hinge_weights(X[:, features], y, 0.1)
    np.testing.assert_allclose(hybrid.coef_[:, features], expected, atol=1e-4)
    assert set(hybrid.predict(X)) <= set(y)
    assert hybrid.score(X, y) > 0.5


def test_the_order_agrees_with_the_ranking():
    X, y = make(40, 60, seed=21)
    hybrid = HybridRFE(5, n_stable_features=2).fit(X, y)
    order = hybrid.elimination_order_
    assert sorted(order) == list(range(60))
    assert (np.diff(hybrid.ranking_[order]) >= 0).all()
    assert order[:2].tolist() == hybrid.stable_features_.tolist()
    alone = HybridRFE(60).fit(X, y)
    assert alone.elimination_order_.tolist() == list(range(60))


# -- the variances that reach it ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["welch_variance", "variance"])
def test_says_where_variances_are_all_the_same(criterion):
    X, y = make(40, 8, seed=22)
    X[:, 3] = 1.0  # a constant one does not count
    hybrid = HybridRFE(4, n_stable_features=2, criterion=criterion)
    with pytest.warns(
        UserWarning, match="the same variance.*standardize=True.*'welch'"
    ):
        make_pipeline(StandardScaler(), hybrid).fit(X, y)
    warnings.simplefilter("error")
    clone(hybrid).set_params(standardize=True).fit(X, y)
    make_pipeline(StandardScaler(), HybridRFE(4, criterion=criterion)).fit(X, y)


def test_welch_is_the_t_alone():
    X, y = make(40, 8, seed=23)
    hybrid = HybridRFE(3, n_stable_features=3, criterion="welch").fit(X, y)
    means = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    variances = [X[y == c].var(axis=0, ddof=1) / np.sum(y == c) for c in (0, 1)]
    t = np.abs(means) / np.sqrt(sum(variances))
    assert hybrid.stable_features_.tolist() == np.argsort(-t)[:3].tolist()


# -- degenerate data ---------------------------------------------------------------------------------------------------


def test_constant_columns_are_dropped_first():
    X, y = make(30, 10, seed=10)
    X[:, [2, 7]] = 5.0
    hybrid = HybridRFE(8, n_stable_features=2).fit(X, y)
    assert not hybrid.support_[[2, 7]].any()
    assert np.isfinite(HybridRFE(10, standardize=True).fit(X, y).coef_).all()


def test_duplicated_columns_share_their_weight():
    X, y = make(30, 6, seed=11)
    hybrid = HybridRFE(12).fit(np.hstack([X, X]), y)
    np.testing.assert_allclose(hybrid.coef_[0, :6], hybrid.coef_[0, 6:], atol=1e-9)


def test_fewer_rows_than_twice_the_classes_are_enough():
    X = np.random.default_rng(0).standard_normal((4, 9))
    hybrid = HybridRFE(3, n_stable_features=1).fit(X, ["a", "b", "c", "c"])
    assert hybrid.support_.sum() == 3
    assert hybrid.coef_.shape == (3, 9)


def test_everything_is_kept_where_more_is_wanted_than_there_is():
    X, y = make(20, 5, seed=0)
    with pytest.warns(
        UserWarning, match="n_features_to_select=9 is more than the 5 features"
    ):
        hybrid = HybridRFE(9).fit(X, y)
    assert hybrid.support_.all()
    assert hybrid.elimination_path_.empty
    assert (hybrid.frequency_scores_ == 1).all()
    assert HybridRFE(5, n_stable_features=5).fit(X, y).support_.all()


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [(None, 5), (0.3, 3), (1.0, 10), (0.01, 1), (4, 4), (np.int64(4), 4)],
)
def test_how_many_features_are_selected(wanted, expected):
    X, y = make(20, 10, seed=0)
    assert HybridRFE(wanted).fit(X, y).support_.sum() == expected


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_features_to_select": 0}, "n_features_to_select must be"),
        ({"n_features_to_select": 1.5}, "n_features_to_select must be"),
        (
            {"n_features_to_select": 2, "n_stable_features": 3},
            "n_stable_features must be at most n_features_to_select=2",
        ),
        ({"n_stable_features": -1}, "n_stable_features must be"),
        (
            {"criterion": "chi"},
            "criterion must be a score function or one of .*welch_variance",
        ),
        ({"C": 0}, "C must be a positive number"),
        ({"shrinkage": 1.5}, "shrinkage must be"),
        ({"shrinkage": 0}, "shrinkage must be"),
        ({"C_final": -1.0}, "C_final must be"),
        ({"alpha": -0.1}, "alpha must be"),
        ({"step": 0}, "step must be"),
        ({"step": 1.5}, "step must be"),
        ({"step": True}, "step must be"),
        ({"loss": "huber"}, "loss must be 'logistic', 'hinge' or 'squared'"),
        ({"loss": "hinge", "fit_intercept": False}, "fit_intercept must be True"),
        ({"fit_intercept": 1}, "fit_intercept must be a bool"),
        ({"standardize": "yes"}, "standardize must be a bool"),
        (
            {"n_stable_features": 1, "criterion": lambda *_: [1.0]},
            "criterion must return one score for each of 6",
        ),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = make(20, 6, seed=0)
    with pytest.raises(ValueError, match=message):
        HybridRFE(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(3), "inconsistent numbers of samples"),
        (-np.ones(20), "sample_weight must not be negative"),
        (np.zeros(20), "nor zero"),
        (np.ones((20, 2)), "sample_weight must be one-dimensional"),
        (np.full(20, np.nan), "sample_weight contains NaN"),
    ],
)
def test_bad_weights_are_named(weight, message):
    with pytest.raises(ValueError, match=message):
        HybridRFE().fit(*make(20, 6, seed=0), sample_weight=weight)


def test_one_class_is_an_error():
    with pytest.raises(ValueError, match="y must have at least 2 classes"):
        HybridRFE().fit(np.eye(4), np.zeros(4))


# -- scikit-learn ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hybrid",
    [
        HybridRFE(),
        HybridRFE(1, n_stable_features=1, criterion="welch"),
        HybridRFE(loss="squared"),
        HybridRFE(loss="hinge"),
        HybridRFE(0.8, C=0.1, step=1, alpha=0.5, standardize=True),
    ],
    ids=repr,
)
def test_it_passes_all_checks_of_scikit_learn(hybrid):
    # Support vector machines are found up to a tolerance, which is looser than that of these checks.
    kinds = ("dense", "sparse") if hybrid.loss == "hinge" else ()
    loose = {
        f"check_sample_weight_equivalence_on_{kind}_data": "libsvm" for kind in kinds
    }
    results = check_estimator(
        hybrid, on_fail="raise", on_skip=None, expected_failed_checks=loose
    )
    allowed = {"passed", "skipped", "xfail"} if loose else {"passed", "skipped"}
    assert {result["status"] for result in results} <= allowed
    # Only what this environment can't check is skipped.
    assert {
        result["check_name"] for result in results if result["status"] == "skipped"
    } <= {"check_array_api_input"}


def test_it_is_a_classifier_or_a_regressor_by_its_loss():
    assert is_classifier(HybridRFE())
    assert is_regressor(HybridRFE(loss="squared"))
    assert not hasattr(HybridRFE(loss="squared"), "predict_proba")
    assert not hasattr(HybridRFE(loss="hinge"), "predict_proba")
    assert hasattr(HybridRFE(loss="hinge"), "decision_function")
    assert not hasattr(HybridRFE(loss="squared"), "decision_function")


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_probabilities_and_decisions_go_together(load):
    X, y = load(return_X_y=True)
    hybrid = HybridRFE(3, standardize=True).fit(X, y)
    probability = hybrid.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_allclose(
        np.log(probability), hybrid.predict_log_proba(X), atol=1e-9
    )
    np.testing.assert_array_equal(
        hybrid.classes_[probability.argmax(axis=1)], hybrid.predict(X)
    )
    assert hybrid.score(X, y) == np.mean(hybrid.predict(X) == y)


def test_regression_on_data():
    X, y = load_diabetes(return_X_y=True)
    ridge = HybridRFE(
        5, n_stable_features=2, criterion="welch", loss="squared", C=100.0
    )
    assert cross_val_score(ridge, X, y).mean() > 0.4
    # Integers are numbers here.
    assert set(ridge.fit(X, y.astype(int)).stable_features_) == set(
        ridge.fit(X, y).stable_features_
    )


def test_names_and_pandas_output():
    X, y = load_iris(return_X_y=True, as_frame=True)
    hybrid = HybridRFE(2).set_output(transform="pandas").fit(X, y)
    chosen = hybrid.get_feature_names_out().tolist()
    pd.testing.assert_frame_equal(hybrid.transform(X), X[chosen])


def test_weights_are_routed_through_a_pipeline():
    X, y = make(30, 6, seed=0)
    weight = np.random.default_rng(0).random(30)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(
            StandardScaler(), HybridRFE(3).set_fit_request(sample_weight=True)
        )
        pipe[0].set_fit_request(sample_weight=False)
        routed = pipe.fit(X, y, sample_weight=weight)
    expected = HybridRFE(3).fit(
        StandardScaler().fit_transform(X), y, sample_weight=weight
    )
    np.testing.assert_allclose(routed[-1].coef_, expected.coef_)


def test_stability_cv_reads_it_as_a_linear_selector():
    X, y = load_breast_cancer(return_X_y=True)
    hybrid = HybridRFE(6, n_stable_features=3, standardize=True)
    splits = list(BootstrapSplit(5, random_state=0).split(X, y))
    runs = StabilityCV(hybrid, cv=splits, return_estimators=True).fit(X, y)
    np.testing.assert_array_equal(
        runs.supports_, [fitted.support_ for fitted in runs.estimators_]
    )
    scaled = [
        np.abs(e.coef_[0]) * X[train].std(axis=0)
        for e, (train, _) in zip(runs.estimators_, splits, strict=True)
    ]
    np.testing.assert_allclose(runs.importances_, scaled)
    assert "sign_consistency" in runs.summary()


def test_more_stable_features_make_it_more_stable():
    X, y = load_breast_cancer(return_X_y=True)
    stability = [
        StabilityCV(
            HybridRFE(8, n_stable_features=n, standardize=True),
            cv=BootstrapSplit(20, random_state=0),
        )
        .fit(X, y)
        .stability_
        for n in (0, 8)
    ]
    assert stability[1] > stability[0] + 0.1


def test_it_can_be_searched():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        HybridRFE(2), {"n_stable_features": [0, 1, 2], "C": [0.1, 1]}, cv=3
    ).fit(X, y)
    assert search.best_score_ > 0.9

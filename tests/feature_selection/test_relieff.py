"""ReliefF and RReliefF against triple loops written from the papers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context

from skstab.feature_selection import relieff


def scaled(X):
    width = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(width > 0, width, 1)


def nearest(X, i, candidates, k):
    distances = [
        (round(float(np.abs(X[i] - X[j]).sum()), 9), j) for j in candidates if j != i
    ]
    return [j for _, j in sorted(distances)[:k]]


def lowest_where_constant(scores, X):
    return [
        min(scores) if np.ptp(x) == 0 else score
        for score, x in zip(scores, X.T, strict=True)
    ]


def plain_relieff(X, y, k):
    """Robnik-Šikonja and Kononenko (2003), figure 2, with every row as a reference."""
    X, (n, d) = scaled(X), X.shape
    prior = {c: np.mean(y == c) for c in set(y)}
    scores = np.zeros(d)
    for i in range(n):
        for c, p in prior.items():
            near = nearest(X, i, np.flatnonzero(y == c), k)
            for j in near:
                for f in range(d):
                    difference = abs(X[i, f] - X[j, f]) / (n * len(near))
                    scores[f] += (
                        -difference if c == y[i] else difference * p / (1 - prior[y[i]])
                    )
    return lowest_where_constant(scores, X)


def plain_rrelieff(X, y, k):
    """Robnik-Šikonja and Kononenko (2003), figure 3, with every row as a reference and equal weights."""
    X, (n, d) = scaled(X), X.shape
    y = (y - y.min()) / np.ptp(y)
    target, feature, both = 0.0, np.zeros(d), np.zeros(d)
    for i in range(n):
        near = nearest(X, i, range(n), k)
        for j in near:
            target += abs(y[i] - y[j]) / len(near)
            for f in range(d):
                feature[f] += abs(X[i, f] - X[j, f]) / len(near)
                both[f] += abs(y[i] - y[j]) * abs(X[i, f] - X[j, f]) / len(near)
    first = both / target if target > 0 else 0
    second = (feature - both) / (n - target) if n > target else 0
    return lowest_where_constant(first - second, X)


@st.composite
def tables(draw, *, numeric):
    """Features on a grid, so that distances tie, and some constant ones."""
    n, d = draw(st.integers(3, 14)), draw(st.integers(1, 4))
    X = draw(
        st.lists(
            st.lists(st.integers(0, 4), min_size=d, max_size=d), min_size=n, max_size=n
        )
    )
    values = st.integers(0, 3).map(float) if numeric else st.integers(0, 3)
    y = draw(st.lists(values, min_size=n, max_size=n).filter(lambda y: len(set(y)) > 1))
    return np.array(X, dtype=float), np.array(y)


def exact_distances(X):
    """Give every feature a range of 4 or 0, so that scaled distances are exact and tie alike in any sum."""
    X[0] = np.where(np.ptp(X, axis=0) > 0, 0, X[0])
    X[1] = np.where(np.ptp(X, axis=0) > 0, 4, X[1])
    return X


@given(tables(numeric=False), st.integers(1, 6))
def test_scores_are_those_of_the_triple_loop(table, k):
    X, y = table
    X = exact_distances(X)
    np.testing.assert_allclose(
        relieff(X, y, n_neighbors=k), plain_relieff(X, y, k), atol=1e-12
    )


@given(tables(numeric=True), st.integers(1, 6))
def test_scores_of_a_numeric_target_are_those_of_the_triple_loop(table, k):
    X, y = table
    X = exact_distances(X)
    np.testing.assert_allclose(
        relieff(X, y, n_neighbors=k, target="numeric"),
        plain_rrelieff(X, y, k),
        atol=1e-12,
    )


@pytest.mark.parametrize("seed", range(3))
def test_scores_of_continuous_data_are_those_of_the_triple_loops(seed):
    rng = np.random.default_rng(seed)
    X, y = (
        rng.normal(size=(40, 5)) * [1, 10, 100, 1, 1] + 1e4,
        rng.choice(3, 40, p=[0.6, 0.3, 0.1]),
    )
    np.testing.assert_allclose(
        relieff(X, y, n_neighbors=7), plain_relieff(X, y, 7), atol=1e-10
    )
    target = X @ [1, 0.1, 0, 0, 0.5]
    np.testing.assert_allclose(
        relieff(X, target, n_neighbors=7), plain_rrelieff(X, target, 7), atol=1e-10
    )


def test_a_case_is_hand_worked():
    # One neighbour each. Hits differ by 1/4 in the first feature and by 1 in the second; the nearest misses of the
    # rows are (0 → 3: 1, 0), (1 → 2: 1/2, 0), (2 → 1: 1/2, 0), (3 → 0: 1, 0).
    X = np.array([[0.0, 0], [1, 1], [3, 1], [4, 0]])
    np.testing.assert_allclose(
        relieff(X, [0, 0, 1, 1], n_neighbors=1), [0.75 - 0.25, 0 - 1]
    )


def test_a_numeric_case_is_hand_worked():
    # Nearest rows 0 → 1, 1 → 0, 2 → 1 differ by 1/4, 1/4, 3/4 in the only feature and by 0, 0, 1 in the target.
    scores = relieff(np.array([[0.0], [1], [4]]), [0.5, 0.5, 2.5], n_neighbors=1)
    np.testing.assert_allclose(scores, [3 / 4 - (1 / 4 + 1 / 4) / 2])


def test_features_that_tell_only_together_score_best():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = X[:, 2] * X[:, 5] > 0
    assert set(np.argsort(-relieff(X, y))[:2]) == {2, 5}


def test_relevant_features_score_best_for_a_numeric_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    assert set(np.argsort(-relieff(X, X[:, 2] + np.abs(X[:, 5])))[:2]) == {2, 5}


def test_units_and_offsets_of_features_do_not_matter():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), np.arange(50) % 2
    np.testing.assert_allclose(
        relieff(X * [1, 1e3, 1e-3, 7] + 5, y), relieff(X, y), atol=1e-9
    )


def test_more_neighbours_than_rows_are_all_there_are():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 3)), np.arange(9) % 3
    np.testing.assert_array_equal(
        relieff(X, y, n_neighbors=3), relieff(X, y, n_neighbors=100)
    )
    assert not np.allclose(relieff(X, y, n_neighbors=2), relieff(X, y, n_neighbors=3))


def test_rows_that_are_all_the_same_but_for_the_class_score_zero():
    np.testing.assert_array_equal(relieff(np.ones((6, 2)), [0, 1, 0, 1, 0, 1]), 0)


def test_a_sparse_numeric_case_scores_as_a_dense_one():
    X = np.random.default_rng(0).random((40, 30))
    X = sparse.csr_array(np.where(X < 0.2, X, 0))
    y = X[:, [0]].toarray().ravel() + 0.1 * np.arange(40)
    np.testing.assert_allclose(relieff(X, y), relieff(X.toarray(), y), atol=1e-12)


def test_chunks_of_distances_and_batches_of_pairs_do_not_change_the_scores(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 20)), np.arange(150) % 3
    whole = relieff(X, y)
    monkeypatch.setattr("skstab.feature_selection._relieff._BATCH", 50)
    with config_context(working_memory=0.01):
        np.testing.assert_allclose(relieff(X, y), whole, atol=1e-12)


@pytest.mark.parametrize("k", [0, -1, 2.5, "all"])
def test_a_number_of_neighbours_that_is_none_is_refused(k):
    with pytest.raises(
        ValueError, match="n_neighbors must be an integer of at least 1"
    ):
        relieff(np.eye(4), [0, 1, 0, 1], n_neighbors=k)

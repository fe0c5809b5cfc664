"""Clusters of features, against linkage of the whole matrix of correlations."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import spearmanr

from skstab.datasets import make_correlated_groups
from skstab.inspection import _clusters as clusters
from skstab.inspection import feature_clusters


def same_partition(a, b):
    return np.array_equal(np.equal.outer(a, a), np.equal.outer(b, b))


def whole_linkage(similarity, threshold):
    distance = 1 - np.minimum(similarity, 1)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), "complete")
    return fcluster(tree, 1 - threshold + 1e-10, criterion="distance")


def correlated_columns(seed, n_groups, noise):
    """Chains: each column is the one before it plus noise, so that components are larger than clusters."""
    rng = np.random.default_rng(seed)
    parts = [
        np.cumsum(
            rng.standard_normal((30, 5)) * [1, noise, noise, noise, noise], axis=1
        )
        for _ in range(n_groups)
    ]
    X = np.hstack(parts) * rng.choice([-1, 1], 5 * n_groups)
    return X[:, rng.permutation(X.shape[1])]


@given(
    st.integers(0, 10_000),
    st.integers(1, 5),
    st.sampled_from([0.05, 0.3, 0.6]),
    st.sampled_from([0.3, 0.7, 0.9]),
    st.booleans(),
)
def test_clusters_are_those_of_complete_linkage_of_all_features(
    seed, n_groups, noise, threshold, ranks
):
    X = correlated_columns(seed, n_groups, noise)
    labels = feature_clusters(
        X, threshold=threshold, similarity="spearman" if ranks else "pearson"
    )
    similarity = np.abs(
        spearmanr(X).statistic if ranks else np.corrcoef(X, rowvar=False)
    )
    assert same_partition(labels, whole_linkage(similarity, threshold))
    assert same_partition(
        labels,
        feature_clusters(similarity, threshold=threshold, similarity="precomputed"),
    )
    first = [np.flatnonzero(labels == label)[0] for label in range(labels.max() + 1)]
    assert first == sorted(first)
    for label in range(labels.max() + 1):
        members = labels == label
        assert similarity[np.ix_(members, members)].min() >= threshold - 1e-9


def test_a_chain_is_one_component_of_several_clusters():
    X = correlated_columns(0, 1, 0.6)
    similarity = np.abs(np.corrcoef(X, rowvar=False))
    links = sparse.coo_array(np.triu(similarity >= 0.7, k=1))
    assert (
        sparse.csgraph.connected_components(links, directed=False)[0]
        < feature_clusters(X, threshold=0.7).max() + 1
    )


def test_blocks_give_the_same_clusters(monkeypatch):
    X = correlated_columns(1, 8, 0.3)
    whole = feature_clusters(X, threshold=0.8)
    monkeypatch.setattr(clusters, "_CELLS", 50)
    np.testing.assert_array_equal(feature_clusters(X, threshold=0.8), whole)


def test_groups_of_simulated_data_come_out():
    X, _, groups = make_correlated_groups(
        300,
        n_groups=4,
        group_size=5,
        n_others=50,
        group_mean=0.5,
        correlation=0.97,
        random_state=0,
    )
    np.testing.assert_array_equal(feature_clusters(X), groups)


def test_copies_are_one_cluster_at_the_highest_threshold_and_constants_are_alone():
    x = np.random.default_rng(0).standard_normal(50)
    X = np.column_stack([x, 3 * x + 7, -x, np.full(50, 0.1), np.full(50, 0.1)])
    np.testing.assert_array_equal(feature_clusters(X, threshold=1.0), [0, 0, 0, 1, 2])


def test_ranks_find_what_is_monotone():
    x = np.random.default_rng(0).standard_normal(100)
    X = np.column_stack([x, np.exp(4 * x)])
    assert feature_clusters(X).max() == 1
    assert feature_clusters(X, similarity="spearman").max() == 0


def test_any_form_of_the_data_serves():
    X = correlated_columns(2, 3, 0.1)
    labels = feature_clusters(X)
    np.testing.assert_array_equal(feature_clusters(pd.DataFrame(X)), labels)
    np.testing.assert_array_equal(feature_clusters(sparse.csr_array(X)), labels)
    similarity = np.abs(np.corrcoef(X, rowvar=False))
    similarity[similarity < 0.9] = 0
    found = feature_clusters(sparse.csr_array(similarity), similarity="precomputed")
    np.testing.assert_array_equal(found, labels)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (
            np.eye(3),
            {"threshold": 0},
            "threshold must be a number above 0 and at most 1, got 0",
        ),
        (
            np.eye(3),
            {"similarity": "kendall"},
            "similarity must be 'pearson', 'spearman' or 'precomputed', got 'kendall'",
        ),
        (np.ones((2, 3)), {"similarity": "precomputed"}, "symmetric square matrix"),
        (
            np.array([[1, 0.5], [0.2, 1]]),
            {"similarity": "precomputed"},
            "symmetric square matrix",
        ),
        (
            np.array([[1, -0.5], [-0.5, 1]]),
            {"similarity": "precomputed"},
            "from 0 to 1: use absolute correlations",
        ),
        (np.array([[1, np.nan], [2, 3]]), {}, "NaN"),
    ],
)
def test_wrong_arguments_are_named(X, options, message):
    with pytest.raises(ValueError, match=message):
        feature_clusters(X, **options)

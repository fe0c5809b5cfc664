"""Clusters that count once: their labels, their walks, and who stands for them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skstab.feature_selection._clusters import (
    cluster_codes,
    cluster_walk,
    representatives,
)
from skstab.feature_selection._walk import Step, walk


@given(st.lists(st.sampled_from(["b", "a", "c", "dd"]), min_size=1, max_size=12))
def test_clusters_are_numbered_by_their_first_feature(groups):
    labels, codes = cluster_codes(groups, len(groups))
    assert list(labels) == list(dict.fromkeys(groups))
    assert [labels[code] for code in codes] == groups


def test_without_groups_every_feature_is_a_cluster():
    labels, codes = cluster_codes(None, 3)
    assert list(labels) == list(codes) == [0, 1, 2]


@pytest.mark.parametrize("groups", [[1, 2], [[1, 2, 3]], 5])
def test_there_is_one_label_for_each_feature(groups):
    with pytest.raises(
        ValueError, match="groups must be 3 labels, one for each feature, got shape"
    ):
        cluster_codes(groups, 3)


def steps_of(*selected, importances=None):
    for number, features in enumerate(selected):
        weights = (
            np.ones(len(features))
            if importances is None
            else np.array(importances[number], dtype=float)
        )
        yield Step(np.array(features, dtype=np.intp), weights)


CODES = np.array([0, 0, 1, 1, 2])


def test_a_cluster_is_in_as_soon_as_any_member_is():
    found, features = cluster_walk(steps_of([], [1], [0, 3], [0, 2, 3, 4]), None, CODES)
    assert [list(support) for support in found.supports] == [[], [0], [0, 1], [0, 1, 2]]
    assert [list(some) for some in features] == [[], [1], [0, 3], [0, 2, 3, 4]]


def test_a_walk_ends_when_q_clusters_have_been_in():
    path = steps_of([0], [0, 1], [0, 1, 2, 4], importances=[[1], [1, 1], [1, 1, 3, 2]])
    found, features = cluster_walk(path, 2, CODES)
    assert [list(support) for support in found.supports] == [[0], [0], [0, 1]]
    # Feature 4 has come too late: cluster 1 was more important.
    assert [list(some) for some in features] == [[0], [0, 1], [0, 1, 2]]


@given(
    st.lists(st.lists(st.integers(0, 4), unique=True), min_size=1, max_size=5),
    st.sampled_from([None, 1, 3]),
)
def test_clusters_of_one_walk_as_features_do(path, q):
    alone = walk(steps_of(*map(sorted, path)), q, 5)
    clustered, features = cluster_walk(steps_of(*map(sorted, path)), q, np.arange(5))
    for one, other, same in zip(
        alone.supports, clustered.supports, features, strict=True
    ):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, same)


@given(
    arrays(np.float64, 8, elements=st.sampled_from([0.0, 0.5, 1.0])), arrays(bool, 3)
)
def test_the_first_of_the_most_often_selected_members_stands_for_a_cluster(
    scores, selected
):
    codes = np.array([0, 1, 0, 2, 1, 2, 2, 0])
    expected = np.zeros(8, dtype=bool)
    for cluster in np.flatnonzero(selected):
        members = np.flatnonzero(codes == cluster)
        expected[members[scores[members].argmax()]] = True
    np.testing.assert_array_equal(representatives(selected, codes, scores), expected)

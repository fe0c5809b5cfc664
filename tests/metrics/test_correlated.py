"""The effective stability of correlated features."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from skstab import metrics
from skstab.metrics import get_measure
from skstab.metrics._tables import check_supports
from tests.metrics import definitions, strategies

labels = st.lists(st.integers(0, 3), min_size=9, max_size=9)


def indicator(groups):
    return (np.asarray(groups)[:, None] == np.asarray(groups)[None, :]).astype(float)


def correlation(seed, d):
    return np.abs(
        np.atleast_2d(np.corrcoef(np.random.default_rng(seed).normal(size=(d, 12))))
    )


def informative(z, similarity):
    """Keep only tables on which the definition is not 0/0."""
    m, d = z.shape
    mean, squares = z.sum() / m, np.mean(z.sum(axis=1) ** 2)
    off = (squares - mean) / (d * d - d) - mean**2 / d**2
    diagonal = mean / d * (1 - mean / d)
    expected = diagonal * np.trace(similarity) + off * (
        similarity.sum() - np.trace(similarity)
    )
    return abs(expected) > 1e-6


@given(z=strategies.supports(trivial=False), groups=labels)
def test_groups_equal_the_definition(z, groups):
    groups = groups[: z.shape[1]]
    c = indicator(groups)
    assume(informative(z, c))
    expected = definitions.effective(z, c)
    for form in (z, sparse.csr_array(z)):
        assert metrics.effective_stability(form, groups=groups) == pytest.approx(
            expected, abs=1e-9
        )
    assert metrics.effective_stability(z, similarity=c) == pytest.approx(
        expected, abs=1e-9
    )
    assert metrics.effective_stability(
        z, similarity=sparse.csr_array(c)
    ) == pytest.approx(expected, abs=1e-9)


@given(z=strategies.supports(trivial=False), seed=st.integers(0, 1000))
def test_a_similarity_matrix_equals_the_definition(z, seed):
    c = correlation(seed, z.shape[1])
    assume(informative(z, c))
    assert metrics.effective_stability(z, similarity=c) == pytest.approx(
        definitions.effective(z, c), abs=1e-9
    )


@given(z=strategies.supports(min_runs=3, trivial=False), seed=st.integers(0, 1000))
def test_leave_one_out_equals_leaving_out(z, seed):
    c = correlation(seed, z.shape[1])
    others = [np.delete(z, run, axis=0) for run in range(len(z))]
    assume(all(informative(other, c) for other in others))
    values = get_measure("effective", similarity=c).leave_one_out(check_supports(z))
    np.testing.assert_allclose(
        values, [definitions.effective(other, c) for other in others], atol=1e-8
    )


@given(z=strategies.supports(trivial=False))
def test_without_similar_features_it_is_nogueira(z):
    expected = metrics.nogueira_stability(z)
    assert metrics.effective_stability(z) == pytest.approx(expected, abs=1e-9)
    assert metrics.effective_stability(
        z, groups=np.arange(z.shape[1])
    ) == pytest.approx(expected, abs=1e-9)
    assert metrics.effective_stability(
        z, similarity=np.eye(z.shape[1])
    ) == pytest.approx(expected, abs=1e-9)


@given(z=strategies.supports(trivial=False), groups=labels)
def test_equation_11_mean_effective_intersection(z, groups):
    c = indicator(groups[: z.shape[1]])
    rows = z.astype(float)
    shared = definitions.mean_over_pairs(lambda a, b: a @ c @ b, list(rows))
    own = np.mean([row @ c @ row for row in rows])
    covariance = np.atleast_2d(np.cov(rows, rowvar=False))
    assert shared == pytest.approx(own - np.trace(c @ covariance), abs=1e-9)


def test_one_group_of_everything_leaves_nothing_to_tell_apart():
    one_group = ["all"] * 4
    assert (
        metrics.effective_stability([[1, 0, 0, 0], [0, 0, 0, 1]], groups=one_group) == 1
    )
    # When sizes differ they are all that is left to compare: tr(CS) / tr(CΣ₀) = M / (M − 1).
    assert metrics.effective_stability(
        [[1, 0, 0, 0], [0, 1, 0, 1]], groups=one_group
    ) == pytest.approx(-1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"groups": [0, 1]}, "groups must have one label for each of the 3 features"),
        ({"groups": [[0, 1, 2]]}, "groups must have one label"),
        ({"similarity": np.eye(2)}, r"similarity must be of shape \(3, 3\)"),
        ({"similarity": -np.eye(3)}, "similarity must be finite and not negative"),
        ({"similarity": np.full((3, 3), np.nan)}, "similarity must be finite"),
        ({"similarity": np.triu(np.ones((3, 3)))}, "similarity must be symmetric"),
        (
            {"similarity": np.eye(3), "groups": [0, 0, 1]},
            "similarity and groups cannot be passed together",
        ),
    ],
)
def test_bad_similarities(parameters, message):
    with pytest.raises(ValueError, match=message):
        metrics.effective_stability([[1, 0, 0], [0, 1, 0]], **parameters)

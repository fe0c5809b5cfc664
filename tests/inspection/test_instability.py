"""Shares of the instability, and frequencies of whole models."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from skstab.inspection import instability_shares, model_frequencies
from skstab.inspection._instability import due_to_substitutes
from skstab.metrics import effective_stability, nogueira_stability
from skstab.runs import Runs

TABLES = arrays(bool, st.tuples(st.integers(2, 9), st.integers(2, 6)))


def not_trivial(z):
    return 0 < z.mean() < 1


@given(TABLES.filter(not_trivial), st.integers(0, 1000), st.booleans())
def test_shares_are_variances_over_their_sum(z, seed, as_sparse):
    groups = np.random.default_rng(seed).integers(0, 3, z.shape[1])
    found = instability_shares(
        Runs(sparse.csr_array(z) if as_sparse else z), groups=groups
    )
    variance = z.var(axis=0, ddof=1)
    shares = variance / variance.sum() if variance.sum() > 0 else np.zeros(z.shape[1])
    table = found.frame().loc[[f"x{f}" for f in range(z.shape[1])]]
    np.testing.assert_allclose(table["share"], shares, atol=1e-12)
    np.testing.assert_allclose(table["frequency"], z.mean(axis=0))
    assert table["cluster"].tolist() == groups.tolist()
    for label, row in found.clusters.iterrows():
        members = groups == label
        np.testing.assert_allclose(row["share"], shares[members].sum(), atol=1e-12)
        np.testing.assert_allclose(row["frequency"], z[:, members].any(axis=1).mean())
        assert row["n_features"] == members.sum()
    assert found.frame()["share"].is_monotonic_decreasing
    phi, phi_c = nogueira_stability(z), effective_stability(z, groups=groups)
    assert (found.stability, found.cluster_stability) == pytest.approx((phi, phi_c))
    part = (phi_c - phi) / (1 - phi) if phi < 1 else np.nan
    if 0.001 < part < 0.999:
        assert found.due_to_substitutes == pytest.approx(part)
    if not -0.001 < part < 1.001:
        assert found.due_to_substitutes is None
        assert found.reason


def test_copies_that_take_turns_are_the_whole_instability():
    z = np.zeros((20, 10), dtype=bool)
    z[:, 2] = True
    z[np.arange(20), np.arange(20) % 2] = True
    found = instability_shares(Runs(z), groups=[0, 0, *range(1, 9)])
    assert found.due_to_substitutes == pytest.approx(1)
    assert found.clusters.loc[0, "share"] == 1
    assert "100% of the instability is due to substitutes" in repr(found)


def test_no_part_is_reported_where_there_is_none():
    assert due_to_substitutes(1.0, 1.0) == (
        None,
        "all runs agree, there is no instability",
    )
    assert (
        due_to_substitutes(0.5, 0.4)[1]
        == "the stability of clusters is less than that of features (0.40 of clusters, 0.50 of features)"
    )
    assert (
        due_to_substitutes(0.5, 1.2)[1]
        == "the stability of clusters exceeds 1 (1.20 of clusters, 0.50 of features)"
    )
    assert due_to_substitutes(0.5, 0.75) == (0.5, None)
    found = instability_shares(Runs([[1, 0, 0], [0, 1, 0]]))
    assert (found.clusters, found.due_to_substitutes) == (None, None)
    assert "cluster" not in found.frame()
    assert "neither groups nor a similarity of features were given" in repr(found)


def test_runs_that_agree_share_out_nothing():
    found = instability_shares(Runs([[1, 0, 0]] * 3), groups=[0, 0, 1])
    assert (found.frame()["share"] == 0).all()
    assert found.reason == "all runs agree, there is no instability"


def test_shares_have_html():
    assert (
        "<table"
        in instability_shares(
            Runs([[1, 0, 0], [0, 1, 0]]), groups=["<a>", "<a>", "b"]
        )._repr_html_()
    )


# -- whole models ------------------------------------------------------------------------------------------------------


@given(
    arrays(bool, st.tuples(st.integers(2, 30), st.integers(1, 4))),
    st.sampled_from([0.3, 0.8, 1.0]),
    st.booleans(),
)
def test_models_are_counted_as_sets(z, share, as_sparse):
    table = model_frequencies(
        Runs(sparse.csr_array(z) if as_sparse else z), share=share
    )
    counts = Counter(tuple(f"x{f}" for f in np.flatnonzero(row)) for row in z)
    assert table["features"].is_unique
    assert table["n_runs"].tolist() == [
        counts[features] for features in table["features"]
    ]
    assert (
        table["n_runs"].tolist() == sorted(counts.values(), reverse=True)[: len(table)]
    )
    assert table["n_features"].tolist() == [
        len(features) for features in table["features"]
    ]
    np.testing.assert_allclose(table["cumulative"], np.cumsum(table["n_runs"]) / len(z))
    assert table["cumulative"].iloc[-1] >= share - 1e-9
    assert len(table) == 1 or table["cumulative"].iloc[-2] < share
    assert "refit" not in table


def test_at_most_so_many_models_are_listed():
    z = np.eye(30, dtype=bool)
    assert len(model_frequencies(Runs(z))) == 20
    assert len(model_frequencies(Runs(z), max_models=3)) == 3
    assert len(model_frequencies(Runs(z), share=1.0, max_models=99)) == 30


def test_the_refit_is_marked_and_added_where_it_is_rare():
    sets = np.array([[1, 1, 0]] * 9 + [[0, 0, 1]], dtype=bool)
    listed = model_frequencies(Runs(sets, refit=sets[0]))
    assert listed["refit"].tolist() == [True]
    added = model_frequencies(Runs(sets, refit=sets[9]))
    assert added["features"].tolist() == [("x0", "x1"), ("x2",)]
    assert added["refit"].tolist() == [False, True]
    assert added["n_runs"].tolist() == [9, 1]
    never = model_frequencies(Runs(sets, refit=np.array([True, False, True])))
    assert never["n_runs"].tolist() == [9, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 0}, "share must be a number above 0 and at most 1, got 0"),
        ({"max_models": 0}, "max_models must be an int of at least 1, got 0"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        model_frequencies(Runs([[1, 0], [0, 1]]), **options)

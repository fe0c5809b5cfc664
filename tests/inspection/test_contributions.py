"""Contributions to the importance-weighted stability, against the sums over pairs that define them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from skstab.feature_selection import HybridRFE
from skstab.inspection import importance_contributions
from skstab.metrics import importance_weighted_stability
from skstab.model_selection import BootstrapSplit, StabilityCV
from skstab.runs import Runs

SIZES = st.tuples(st.integers(2, 6), st.integers(2, 5))
# Zeros, ties and empty runs are frequent.
TABLES = arrays(
    float, SIZES, elements=st.sampled_from([0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 2.5])
).filter(lambda w: w.any() and not (w.all() and np.ptp(w) == 0))


def plain(w):
    """Equations (6) and (10) of hamer2021 by loops over pairs, with each run scaled to the sum 1."""
    m, d = w.shape
    share = np.array([row / row.sum() if row.any() else row for row in w])
    pairs = [(i, j) for i in range(m) for j in range(m) if i != j]
    observed, chance = np.zeros((m, d)), np.zeros((m, d))
    for i, j in pairs:
        observed[i] += np.minimum(share[i], share[j]) / len(pairs)
        for f in range(d):
            chance[i, f] += np.minimum(share[i, f], share[j]).sum() / d / len(pairs)
    both_empty = sum(not share[i].any() and not share[j].any() for i, j in pairs) / len(
        pairs
    )
    one_empty = sum(share[i].any() != share[j].any() for i, j in pairs) / len(pairs)
    room = 1 - chance.sum() - both_empty
    selected = [np.flatnonzero(share[:, f]) for f in range(d)]
    common = np.array(
        [
            np.mean([min(share[i, f], share[j, f]) for i in rows for j in rows])
            if len(rows)
            else 0
            for f, rows in enumerate(selected)
        ]
    )
    p = (share > 0).mean(axis=0)
    return {
        "entries": (observed - chance) / room,
        "share": share,
        "frequency": p,
        "importance": share.mean(axis=0),
        "global_importance": common,
        "lost_by_selection": common * (share > 0).var(axis=0, ddof=1) / room,
        "lost_by_importance": m / (m - 1) * (share.mean(axis=0) - common * p) / room,
        # A pair with one empty run shares nothing; half of what it could share is missing from the features.
        "empty": one_empty / 2 / room,
    }


def in_order(found, d):
    return found.frame().loc[[f"x{f}" for f in range(d)]]


@given(TABLES, st.booleans())
def test_features_contribute_what_the_sums_over_pairs_say(w, as_sparse):
    signed = w * np.where(np.arange(w.shape[1]) % 2, 1, -1)
    found = importance_contributions(
        Runs(w != 0, sparse.csr_array(signed) if as_sparse else signed)
    )
    expected, table = plain(w), in_order(found, w.shape[1])
    np.testing.assert_allclose(
        table["contribution"], expected["entries"].sum(axis=0), atol=1e-12
    )
    for column in (
        "frequency",
        "importance",
        "global_importance",
        "lost_by_selection",
        "lost_by_importance",
    ):
        np.testing.assert_allclose(table[column], expected[column], atol=1e-12)
    assert found.lost_by_empty_runs == pytest.approx(expected["empty"])


@given(TABLES)
def test_contributions_add_up_to_the_stability_and_losses_to_the_rest(w):
    found = importance_contributions(Runs(w != 0, w))
    assert found.stability == pytest.approx(importance_weighted_stability(w))
    table = found.frame()
    assert table["contribution"].sum() == pytest.approx(found.stability, abs=1e-12)
    lost = table[["lost_by_selection", "lost_by_importance"]].to_numpy()
    assert (lost >= 0).all()
    assert lost.sum() + found.lost_by_empty_runs == pytest.approx(
        1 - found.stability, abs=1e-12
    )
    assert table["contribution"].is_monotonic_decreasing


@given(TABLES, st.integers(0, 1000), st.booleans())
def test_parts_are_sums_over_their_entries(w, seed, as_sparse):
    core = np.random.default_rng(seed).random(w.shape) < 0.5
    found = importance_contributions(
        Runs(w != 0, w), core=sparse.csr_array(core) if as_sparse else core
    )
    expected = plain(w)
    for part, mask in (("core", core), ("rest", ~core)):
        row = found.parts.loc[part]
        assert row["contribution"] == pytest.approx(
            expected["entries"][mask].sum(), abs=1e-12
        )
        assert row["importance"] == pytest.approx(
            expected["share"][mask].sum() / len(w)
        )
        assert row["n_features"] == ((w != 0) & mask).sum() / len(w)
        if (w * mask).any():
            assert row["stability"] == pytest.approx(
                importance_weighted_stability(w * mask)
            )
        else:
            assert np.isnan(row["stability"])
            assert row["contribution"] == 0


def test_a_core_may_be_a_mask_or_names():
    runs = Runs(
        [[1, 1, 0], [1, 0, 1]],
        [[0.8, 0.2, 0.0], [0.8, 0.0, 0.2]],
        feature_names=["a", "b", "c"],
    )
    by_mask = importance_contributions(runs, core=np.array([True, False, True]))
    by_name = importance_contributions(runs, core=["c", "a"])
    np.testing.assert_array_equal(by_mask.parts, by_name.parts)
    assert by_mask.parts.loc["core", "n_features"] == 1.5
    assert "from the core with 90% of the importance" in repr(by_mask)
    assert "core" in by_mask._repr_html_()
    assert "by a)" in repr(importance_contributions(runs))


def test_a_part_contributes_its_importance_times_its_stability_among_many_features():
    # Property 6: parts without common features, of constant importance, d large.
    rng = np.random.default_rng(0)
    importances = np.zeros((20, 50_000))
    for run in importances:
        run[rng.choice(10, 6, replace=False)] = 0.7 / 6
        run[10 + rng.choice(30, 5, replace=False)] = 0.3 / 5
    parts = importance_contributions(
        Runs(importances != 0, importances), core=np.arange(50_000) < 10
    ).parts
    np.testing.assert_allclose(parts["importance"], [0.7, 0.3])
    np.testing.assert_allclose(
        parts["contribution"], parts["importance"] * parts["stability"], atol=2e-3
    )


def test_the_core_of_hybrid_rfe_differs_between_runs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 40)) * np.linspace(1, 2, 40)
    y = X[:, 0] + X[:, 39] > 0
    hybrid = HybridRFE(6, n_stable_features=3, standardize=True)
    cv = StabilityCV(
        hybrid, cv=BootstrapSplit(8, random_state=0), return_estimators=True
    ).fit(X, y)
    core = [
        np.isin(np.arange(40), selector.stable_features_) for selector in cv.estimators_
    ]
    found = importance_contributions(cv, core=core)
    assert found.parts["n_features"].tolist() == [3, 3]
    assert found.parts["contribution"].sum() == pytest.approx(
        cv.stability("importance_weighted")
    )


@pytest.mark.parametrize("w", [np.zeros((3, 2)), np.ones((3, 2))])
def test_nothing_is_shared_out_where_runs_agree_trivially(w):
    with pytest.warns(RuntimeWarning, match="all runs agree"):
        found = importance_contributions(Runs(w != 0, w))
    assert found.stability == 1
    assert (
        found.frame()[["lost_by_selection", "contribution"]].fillna(0).eq(0).all().all()
    )


@pytest.mark.parametrize(
    "core",
    [
        [True],
        ["z"],
        [[True, False, True]],
        [0, 1],
        np.ones((3, 3), bool),
        "a",
        [[True], [True, False]],
    ],
)
def test_a_wrong_core_is_named(core):
    with pytest.raises(ValueError, match="core must be a mask of 3 features"):
        importance_contributions(
            Runs([[1, 1, 0], [1, 0, 1]], [[0.8, 0.2, 0], [0.8, 0, 0.2]]), core=core
        )


def test_runs_without_importances_or_a_second_run_are_refused():
    with pytest.raises(ValueError, match="compares importances"):
        importance_contributions(Runs([[1, 0], [0, 1]]))
    with pytest.raises(ValueError, match="runs must hold at least 2 runs, got 1"):
        importance_contributions(Runs([[1, 0]], [[1.0, 0.0]]))

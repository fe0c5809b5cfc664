"""Ranks of the features: shares of the first places and confidence sets, against their plain definitions."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.linear_model import Lars

from skstab.inspection import RankDisplay
from skstab.model_selection import BootstrapSplit, StabilityCV
from skstab.runs import Runs
from tests.metrics import strategies


def runs_of(importances, **fields):
    table = np.abs(np.asarray(importances, dtype=float))
    return Runs(table > 0, table, **fields)


def by_column(table):
    return table.sort_values(by="feature", key=lambda names: names.str[1:].astype(int))


def plain_sets(ranks, level, draws):
    """Pair by pair: t of the difference against the largest bootstrap t of the pairs that are still open."""
    m, d = ranks.shape
    pairs = [(f, g) for f, g in permutations(range(d), 2) if f < g]
    gaps = {(f, g): ranks[:, f] - ranks[:, g] for f, g in pairs}
    errors = {p: gap.std() / np.sqrt(m - 1) for p, gap in gaps.items()}
    p_other = 1 - (1 - level) ** (1 / m)
    most = np.sqrt(m) / (2 * np.sqrt(p_other * (1 - p_other)))
    decided = {}
    while True:
        largest = []
        for counts in draws:
            of_draw = [
                abs(counts @ gaps[p] / m - gaps[p].mean()) / errors[p]
                for p in pairs
                if p not in decided and errors[p] > 1e-9
            ]
            largest.append(max(of_draw, default=0.0))
        normal = min(np.quantile(largest, level), 8.0)
        t = stats.t(m - 1)
        limit = max(t.ppf(stats.norm.cdf(normal)), t.ppf((1 + level) / 2))
        new = {}
        for p in pairs:
            gap = gaps[p].mean()
            if p in decided or abs(gap) < 1e-12:
                continue
            size = abs(gap) / errors[p] if errors[p] > 1e-9 else np.inf
            if min(size, most) > limit:
                new[p] = p if gap < 0 else p[::-1]
        if not new:
            break
        decided |= new
    first = [1 + sum(b == f for _, b in decided.values()) for f in range(d)]
    last = [d - sum(a == f for a, _ in decided.values()) for f in range(d)]
    return first, last


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_equals_the_plain_definition(data):
    table = np.abs(data.draw(strategies.weights(min_runs=3)))
    table = np.vstack([table] * data.draw(st.integers(1, 4)))
    m, d = table.shape
    runs = runs_of(table)
    k = data.draw(st.integers(1, d))
    found = by_column(runs.ranks(k, n_resamples=40, random_state=0))
    ranks = np.array([stats.rankdata(-row) for row in table])
    in_top = np.mean(
        [(r <= k) & (row > 0) for r, row in zip(ranks, table, strict=True)], 0
    )
    np.testing.assert_allclose(found["top_k"], in_top)
    np.testing.assert_allclose(found["mean_rank"], ranks.mean(axis=0))
    draws = np.random.RandomState(0).multinomial(m, np.full(m, 1 / m), size=40)
    first, last = plain_sets(ranks, 0.95, draws)
    assert list(found["rank_low"]) == first
    assert list(found["rank_high"]) == last
    assert (found["rank_low"] <= found["rank"]).all()
    assert (found["rank"] <= found["rank_high"]).all()


def clear(m, noise=0.1):
    rng = np.random.default_rng(0)
    return np.array([5.0, 4.0, 3.0, 2.0, 1.0]) + noise * rng.normal(size=(m, 5))


def test_clear_ranks_are_found_and_few_runs_leave_them_open():
    many = by_column(runs_of(clear(40)).ranks(2, random_state=0))
    assert list(many["rank_low"]) == list(many["rank_high"]) == [1, 2, 3, 4, 5]
    few = runs_of(clear(4)).ranks(2, random_state=0)
    assert (few["rank_low"] == 1).all()
    assert (few["rank_high"] == 5).all()
    assert list(few["top_k"]) == [1, 1, 0, 0, 0], "what was seen is shown as it is"


def test_ties_hold_all_the_ranks_that_they_share():
    table = np.column_stack([np.full(30, 5.0), np.ones((30, 3)), np.zeros((30, 4))])
    found = by_column(runs_of(table).ranks(2, random_state=0))
    assert list(found["rank"]) == [1, 2, 2, 2, 5, 5, 5, 5]
    assert list(found["rank_low"]) == [1, 2, 2, 2, 5, 5, 5, 5]
    assert list(found["rank_high"]) == [1, 4, 4, 4, 8, 8, 8, 8]
    assert list(found["top_k"]) == [1, 0, 0, 0, 0, 0, 0, 0], "three share rank 3"


def test_what_is_not_selected_is_never_among_the_first():
    found = runs_of(np.eye(6)[[0, 0, 1]]).ranks(5, random_state=0)
    assert found["top_k"].sum() == pytest.approx(1)


def test_the_same_seed_gives_the_same_and_sparse_runs_too():
    table = clear(12, noise=1.0) * (clear(12, noise=2.0) > 3)
    expected = runs_of(table).ranks(3, random_state=0)
    assert runs_of(table).ranks(3, random_state=0).equals(expected)
    sparse_runs = Runs(sparse.csr_array(table > 0), sparse.csr_array(np.abs(table)))
    assert sparse_runs.ranks(3, random_state=0).equals(expected)
    wide = runs_of(table).ranks(3, random_state=0, confidence_level=0.5)
    assert (wide["rank_low"] >= expected["rank_low"]).all()


def order_of_entry(model):
    """The first feature on the path is the most important one."""
    importances = np.zeros(model.n_features_in_)
    importances[model.active_] = np.arange(len(model.active_), 0, -1)
    return importances


def test_order_of_entry_on_a_path():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 8))
    y = X @ [3, 2, 1, 0, 0, 0, 0, 0] + 0.5 * rng.normal(size=150)
    runs = StabilityCV(
        Lars(n_nonzero_coefs=4),
        cv=BootstrapSplit(40, random_state=0),
        importance_getter=order_of_entry,
        scale_importances=False,
    ).fit(X, y)
    found = by_column(runs.runs_.ranks(3, random_state=0))
    assert list(found["rank"][:3]) == [1, 2, 3]
    assert list(found["rank_high"][:3]) == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 6}, "k must be"),
        ({"k": 2, "confidence_level": 1}, "confidence_level must be"),
        ({"k": 2, "n_resamples": 3}, "n_resamples must be"),
        ({"k": 2, "random_state": "x"}, "random_state must be"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        runs_of(clear(4)).ranks(**arguments)


def test_runs_without_ranks():
    with pytest.raises(ValueError, match="give importance_getter"):
        Runs(np.ones((4, 3), bool)).ranks(1)
    with pytest.raises(ValueError, match="ranks need at least 3 runs, got 2"):
        runs_of(clear(2)).ranks(1)


def test_the_display_shows_the_table():
    pytest.importorskip("matplotlib.pyplot").switch_backend("agg")
    runs = runs_of(clear(40, noise=1.0), feature_names=list("abcde"))
    display = RankDisplay.from_runs(runs, k=2, random_state=0)
    table = runs.ranks(2, random_state=0)
    assert display.frame().set_index("feature").equals(table)
    axes = display.plot(n_features=4).ax_
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [
        f"{name} ({share:.0%})" for name, share in table["top_k"].head(4).items()
    ]
    with pytest.raises(ValueError, match=r"table must be what Runs\.ranks returns"):
        RankDisplay(table[["rank"]], 2)

"""Importances that move between similar features: optimal transport against a linear program, and against chance."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from skstab.datasets import make_correlated_groups
from skstab.metrics import (
    get_measure,
    importance_weighted_stability,
    replication_stability,
    stability_interval,
    transport_plan,
    transport_stability,
)
from skstab.model_selection import BootstrapSplit, StabilitySearchCV
from tests.metrics.definitions import most_moved, transport


def correlated(d, seed=0, n=40):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[:, 1::2] += 2 * X[:, ::2][:, : X[:, 1::2].shape[1]]
    return np.abs(np.corrcoef(X, rowvar=False))


def random_lists(m, d, k, seed=0):
    rng = np.random.default_rng(seed)
    table = np.zeros((m, d))
    for row in table:
        row[rng.choice(d, k, replace=False)] = rng.exponential(size=k)
    return table


def with_similarity(similarity, seed=0):
    return get_measure("transport", similarity=similarity, random_state=seed)


def agreement(a, b, similarity):
    """What two runs agree by without a correction: the plan weighted by the similarity."""
    plan = transport_plan([a, b], similarity).toarray()
    alike = np.array(similarity, dtype=float)
    np.fill_diagonal(alike, 1.0)
    return (plan * alike).sum()


# -- against a linear program ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["any", "equal", "ties", "sizes"])
def test_the_plan_is_a_best_one(kind):
    rng = np.random.default_rng(1)
    for d in (2, 5, 9, 14):
        similarity = correlated(d, seed=d)
        a, b = rng.exponential(size=(2, d)) * (rng.random((2, d)) < 0.7)
        if kind == "equal":
            a, b = (a > 0).astype(float), (b > 0).astype(float)
        if kind == "ties":
            similarity = np.round(similarity, 1)
            a, b = np.ceil(a), np.ceil(b)
        if kind == "sizes":
            b[1:] = 0
        a[0], b[0] = 1.0, 2.0
        masses = [{f: x for f, x in enumerate(row / row.sum()) if x} for row in (a, b)]
        expected = most_moved(*masses, similarity)
        assert agreement(a, b, similarity) == pytest.approx(expected, abs=1e-9)


def test_equals_the_definition_with_linear_programs(monkeypatch):
    monkeypatch.setattr("skstab.metrics._transport._RANDOM_PAIRS", 30)
    monkeypatch.setattr("tests.metrics.definitions.RANDOM_PAIRS", 30)
    similarity, data = correlated(8), random_lists(4, 8, 4)
    expected = transport(data, similarity, 0, moved=most_moved)
    assert with_similarity(similarity)(data) == pytest.approx(expected, abs=1e-9)


def test_crossing_pairs_can_be_better_than_what_is_shared():
    similarity = [[1, 0.9, 0.1], [0.9, 1, 0.9], [0.1, 0.9, 1]]
    assert agreement([1, 1, 0], [0, 1, 1], similarity) == pytest.approx(0.9)


def test_large_runs():
    similarity, data = correlated(160), random_lists(3, 160, 120)
    names = [
        dict(zip(np.flatnonzero(r), r[r > 0] / r.sum(), strict=True)) for r in data
    ]
    for a, b in ((0, 1), (1, 2)):
        expected = most_moved(names[a], names[b], similarity)
        assert agreement(data[a], data[b], similarity) == pytest.approx(expected)


# -- chance ------------------------------------------------------------------------------------------------------------


def blocks():
    X, _, _ = make_correlated_groups(100, group_size=20, n_others=100, random_state=0)
    return np.abs(np.corrcoef(X, rowvar=False))


@pytest.mark.parametrize(
    "similarity",
    [correlated(200), blocks(), 0.5 + correlated(200) / 2],
    ids=["pairs", "blocks", "all alike"],
)
def test_random_lists_are_at_chance_on_correlated_features(similarity):
    found = [
        transport_stability(random_lists(40, 200, 10, seed), similarity, random_state=0)
        for seed in range(6)
    ]
    assert abs(np.mean(found)) < 0.02


def test_the_identity_gives_the_importance_weighted_stability():
    data = random_lists(30, 500, 10)
    data[:, :5] += 1
    exact = importance_weighted_stability(data)
    assert get_measure("transport")(data) == exact
    found = transport_stability(data, np.eye(500), random_state=0)
    assert found == pytest.approx(exact, abs=0.005)


def test_another_seed_changes_little_and_the_same_one_nothing():
    data, similarity = random_lists(6, 100, 8), correlated(100)
    values = [with_similarity(similarity, seed)(data) for seed in (0, 0, 1, 2, 3)]
    assert values[0] == values[1]
    assert 0 < np.ptp(values) < 0.03


def test_perfect_substitutes_agree_and_all_alike_is_no_choice():
    copies = np.kron(np.eye(10), np.ones((2, 2)))
    data = np.zeros((4, 20))
    data[[0, 1, 2, 3], [0, 1, 0, 1]] = 1
    assert transport_stability(data, copies) == pytest.approx(1)
    assert transport_stability(data, np.ones((20, 20))) == 1
    with pytest.warns(RuntimeWarning, match="nothing to choose"):
        assert transport_stability(np.zeros((3, 20)), copies) == 1


def test_an_empty_run_shares_nothing():
    data = [[0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]]
    table = transport_plan(data, np.eye(3)).toarray()
    assert table[0, 0] == pytest.approx(1 / 6)
    assert get_measure("transport", similarity=np.eye(3), random_state=0)(
        data
    ) == pytest.approx(importance_weighted_stability(data), abs=0.02)


# -- uncertainty -------------------------------------------------------------------------------------------------------


def test_every_interval_holds_the_estimate_and_costs_one_look_at_the_pairs(monkeypatch):
    from skstab.metrics import _transport

    calls = []
    solve = _transport.best_plans

    def counting(*arguments):
        calls.append(len(arguments[0]))
        return solve(*arguments)

    monkeypatch.setattr(_transport, "best_plans", counting)
    data, measure = random_lists(12, 60, 6), with_similarity(correlated(60))
    data[:, 3] += 2
    for method in ("jackknife", "conformal", "bootstrap"):
        calls.clear()
        found = stability_interval(data, measure=measure, method=method, random_state=0)
        assert found.low < found.estimate < found.high
        assert sum(calls) == 66 * (1 + -(-2000 // 66)), method


def test_replication_compares_the_runs_of_a_pair_alone():
    data, similarity = random_lists(12, 60, 6), correlated(60)
    data[:, 3] += 2
    found = replication_stability(data, measure=with_similarity(similarity))
    expected = [agreement(*data[2 * b : 2 * b + 2], similarity) for b in range(6)]
    chance = np.mean(
        [
            agreement(*np.random.default_rng(s).permuted(data[:2], axis=1), similarity)
            for s in range(200)
        ]
    )
    assert found.estimate == pytest.approx(
        (np.mean(expected) - chance) / (1 - chance), abs=0.05
    )


# -- forms and errors --------------------------------------------------------------------------------------------------


def test_sparse_and_dense_data_give_the_same():
    data, similarity = random_lists(6, 30, 5), np.round(correlated(30), 1)
    expected = with_similarity(similarity)(data)
    for form in (sparse.csr_array, sparse.csc_matrix):
        assert with_similarity(form(similarity))(form(data)) == expected
    assert (
        transport_plan(form(data), form(similarity)).toarray()
        == transport_plan(data, similarity).toarray()
    ).all()
    assert with_similarity(similarity)(-data) == expected


def test_runs_and_searches_take_the_measure():
    X, y, _ = make_correlated_groups(80, group_size=4, n_others=20, random_state=0)
    measure = with_similarity(np.abs(np.corrcoef(X, rowvar=False)))
    search = StabilitySearchCV(
        LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0),
        {"C": [0.05, 0.2]},
        cv=BootstrapSplit(8, random_state=0),
        measures=[measure, "importance_weighted"],
    ).fit(X, y)
    for index, runs in enumerate(search.runs_):
        found = search.cv_results_["mean_test_transport"][index]
        assert found == runs.stability(measure) == measure(runs.importances)
        assert found == runs.interval(measure).estimate
        assert found > search.cv_results_["mean_test_importance_weighted"][index]


def test_the_plan_is_symmetric_and_adds_up():
    data, similarity = random_lists(5, 30, 5), correlated(30)
    plan = transport_plan(data, similarity)
    assert abs(plan - plan.T).max() < 1e-15
    shares = data / data.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(plan.sum(axis=1), shares.mean(axis=0), atol=1e-9)


@pytest.mark.parametrize(
    ("similarity", "message"),
    [
        (np.eye(2), r"similarity must be of shape \(3, 3\), .*, got \(2, 2\)"),
        (2 * np.ones((3, 3)), "similarity must be at most 1"),
        (-np.eye(3), "similarity must be finite and not negative"),
        (np.triu(np.ones((3, 3))), "similarity must be symmetric"),
    ],
)
@pytest.mark.parametrize("function", [transport_stability, transport_plan])
def test_bad_similarities(function, similarity, message):
    with pytest.raises(ValueError, match=message):
        function([[1, 2, 0], [0, 1, 1]], similarity)


def test_too_many_features_for_a_plan_are_refused():
    data = np.ones((2, 501))
    data[0, 0] = 2
    with pytest.raises(ValueError, match="for at most 500 features of a run, got 501"):
        transport_stability(data, np.eye(501))

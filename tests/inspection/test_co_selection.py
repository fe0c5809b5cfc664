"""Substitutes and companions, against Fisher's exact test of each pair."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.stats import fisher_exact, hypergeom
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

from skstab.datasets import make_correlated_groups
from skstab.inspection import _pair_tests as pair_tests
from skstab.inspection import co_selection
from skstab.model_selection import BootstrapSplit, StabilityCV
from skstab.runs import Runs


def pvalue_of(one, other):
    """Twice the smaller tail of Fisher's test of the 2 × 2 table."""
    table = [[np.sum(a & b) for b in (other, ~other)] for a in (one, ~one)]
    tails = [
        fisher_exact(table, alternative=side).pvalue for side in ("less", "greater")
    ]
    return min(1.0, 2 * min(tails))


def columns_to_test(z, min_frequency):
    counts = z.sum(axis=0)
    return [
        f
        for f in range(z.shape[1])
        if max(1, min_frequency * len(z)) <= counts[f] < len(z)
    ]


def holm_of(pvalues):
    """The definition: the k-th smallest of m p-values times m − k + 1, not below an earlier one."""
    order, adjusted, largest = sorted(pvalues, key=pvalues.get), {}, 0.0
    for k, pair in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - k) * pvalues[pair]))
        adjusted[pair] = largest
    return adjusted


def expected_pairs(z, min_frequency):
    pvalues = {
        (f, g): pvalue_of(z[:, f], z[:, g])
        for f, g in combinations(columns_to_test(z, min_frequency), 2)
    }
    return pvalues, holm_of(pvalues)


@st.composite
def selections(draw):
    z = draw(arrays(bool, st.tuples(st.integers(2, 25), st.integers(1, 6))))
    if draw(st.booleans()):  # pairs that exclude, and pairs that imply, each other
        z = np.column_stack([z, ~z[:, :2], z[:, :2]])
    return z


@given(
    selections(),
    st.sampled_from([0.0, 0.05, 0.3]),
    st.sampled_from([0.01, 0.05, 0.5, 0.99]),
    st.booleans(),
)
def test_pairs_are_those_of_fishers_exact_test_adjusted_by_holm(
    z, min_frequency, level, as_sparse
):
    found = co_selection(
        Runs(sparse.csr_array(z) if as_sparse else z),
        min_frequency=min_frequency,
        level=level,
    )
    pvalues, adjusted = expected_pairs(z, min_frequency)
    assert found.n_pairs == len(pvalues)
    table = found.frame().set_index(["column", "other_column"])
    near = {pair for pair, p in pvalues.items() if abs(p - level) < 1e-9}
    assert (
        set(table.index) - near
        == {pair for pair, p in pvalues.items() if p <= level} - near
    )
    assert table["pvalue"].is_monotonic_increasing
    for (f, g), row in table.iterrows():
        np.testing.assert_allclose(row["pvalue"], pvalues[f, g], rtol=1e-9)
        np.testing.assert_allclose(row["adjusted"], adjusted[f, g], rtol=1e-9)
        both, a, b = np.mean(z[:, f] & z[:, g]), z[:, f].mean(), z[:, g].mean()
        np.testing.assert_allclose(
            row[["frequency", "other_frequency", "together"]].astype(float),
            [a, b, both],
        )
        np.testing.assert_allclose(row["expected"], a * b)
        np.testing.assert_allclose(
            row["association"], np.corrcoef(z[:, f], z[:, g])[0, 1], atol=1e-9
        )
        if abs(adjusted[f, g] - level) > 1e-9:
            kind = "substitutes" if both < a * b else "companions"
            assert row["kind"] == (kind if adjusted[f, g] <= level else "neither")


@given(st.integers(1, 400), st.data())
def test_tails_are_those_of_the_hypergeometric_distribution(m, data):
    a, b = (data.draw(st.integers(0, m)) for _ in range(2))
    x = data.draw(st.integers(max(0, a + b - m), min(a, b)))
    law = hypergeom(m, a, b)
    expected = min(1.0, 2 * min(law.cdf(x), law.sf(x - 1)))
    counts = pair_tests.PairCounts(*(np.array([value]) for value in (0, 1, a, b, x)))
    np.testing.assert_allclose(
        pair_tests.pair_pvalues(counts, m), expected, rtol=1e-8, atol=1e-300
    )


def test_blocks_give_the_same_pairs(monkeypatch):
    z = np.random.default_rng(0).random((30, 40)) < 0.4
    whole = co_selection(Runs(z), level=0.5).frame()
    monkeypatch.setattr(pair_tests, "_CELLS", 100)
    assert whole.equals(co_selection(Runs(z), level=0.5).frame())
    assert len(whole) > 100


def test_the_adjustment_keeps_its_level_where_nothing_depends():
    rng = np.random.default_rng(0)
    wrong = [
        (
            co_selection(Runs(rng.random((60, 15)) < 0.4)).frame()["kind"] != "neither"
        ).any()
        for _ in range(200)
    ]
    assert np.mean(wrong) <= 0.05


# -- on data -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lasso_on_groups():
    X, y, groups = make_correlated_groups(
        200,
        n_groups=3,
        group_size=2,
        n_others=20,
        group_mean=0.5,
        correlation=0.97,
        random_state=0,
    )
    lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.03, random_state=0)
    return (
        StabilityCV(lasso, cv=BootstrapSplit(200, random_state=0)).fit(X, y),
        X,
        groups,
    )


def test_substitutes_are_members_of_one_group(lasso_on_groups):
    cv, X, groups = lasso_on_groups
    table = co_selection(cv, X).frame()
    found = table[table["kind"] == "substitutes"]
    assert len(found) >= 2  # in the third group one member is nearly always selected
    assert (groups[found["column"]] == groups[found["other_column"]]).all()
    assert (found["correlation"] > 0.9).all()


def test_correlations_are_those_of_the_columns(lasso_on_groups):
    cv, X, _ = lasso_on_groups
    table = co_selection(cv, X, level=0.9).frame()
    expected = [
        np.corrcoef(X[:, f], X[:, g])[0, 1]
        for f, g in zip(table["column"], table["other_column"], strict=True)
    ]
    np.testing.assert_allclose(table["correlation"], expected, atol=1e-12)


def test_companions_are_selected_together():
    rng = np.random.default_rng(0)
    z = rng.random((60, 4)) < 0.5
    z[:, 1] = z[:, 0]
    table = co_selection(Runs(z, feature_names=list("abcd"))).frame()
    assert table[["feature", "other", "kind"]].to_numpy().tolist() == [
        ["a", "b", "companions"]
    ]
    assert "correlation" not in table


def test_what_is_not_tested():
    z = np.zeros((40, 5), dtype=bool)
    z[:, 0] = True
    z[:20, 1] = z[20:, 2] = z[0, 3] = True
    found = co_selection(Runs(z))
    assert found.frequencies.index.tolist() == ["x1", "x2"]
    assert co_selection(Runs(z), min_frequency=0).frequencies.index.tolist() == [
        "x1",
        "x2",
        "x3",
    ]
    assert co_selection(Runs(z[:, [0, 4]])).frame().empty


def test_a_constant_column_has_no_correlation():
    z = np.arange(40)[:, None] % 2 == [0, 1]
    table = co_selection(Runs(z), np.column_stack([np.ones(9), np.arange(9)])).frame()
    assert np.isnan(table["correlation"]).all()
    assert len(table) == 1


def test_results_are_readable():
    found = co_selection(
        Runs(np.arange(40)[:, None] % 2 == [0, 1], feature_names=["<a>", "b"])
    )
    assert (
        repr(found)
        == "CoSelection(1 pairs of 2 features tested over 40 runs: 1 of substitutes, 0 of companions)"
    )
    html = found._repr_html_()
    assert "&lt;a&gt;" in html
    assert "<a>" not in html


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"min_frequency": 1},
            "min_frequency must be a number from 0 to below 1, got 1",
        ),
        ({"level": 0}, "level must be between 0 and 1, got 0"),
        (
            {"X": np.ones((3, 4))},
            r"X must have one column for each of the 2 features, got shape \(3, 4\)",
        ),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        co_selection(Runs([[1, 0], [0, 1]]), **options)


def test_one_run_is_not_enough():
    with pytest.raises(ValueError, match="runs must hold at least 2 runs, got 1"):
        co_selection(Runs([[1, 0]]))


def test_a_model_that_keeps_every_feature_has_no_selection():
    X, y, _ = make_correlated_groups(
        50, n_groups=1, group_size=2, n_others=2, random_state=0
    )
    kept = StabilityCV(LinearRegression(), cv=3, measure="pearson").fit(X, y)
    with pytest.raises(ValueError, match="compares selected features, but"):
        co_selection(kept)


def test_what_holds_runs_serves(lasso_on_groups):
    cv, _, _ = lasso_on_groups
    assert co_selection(cv).frame().equals(co_selection(cv.runs_).frame())
    with pytest.raises(
        TypeError, match="must be Runs, a fitted StabilityCV or contain one"
    ):
        co_selection(make_pipeline(SelectKBest(f_classif)))

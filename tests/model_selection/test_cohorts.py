"""Whether two cohorts select differently."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectKBest, SelectorMixin, f_regression

from skstab.inspection import CohortComparisonDisplay
from skstab.model_selection import (
    CohortComparison,
    ComplementaryPairsSplit,
    DisjointBlocksSplit,
    StabilityCV,
    compare_cohorts,
)
from skstab.runs import Runs

FEW = {"n_pairs": 3, "n_permutations": 19, "random_state": 0}


class Recorder(SelectorMixin, BaseEstimator):
    """Selects the columns whose sum is above zero; the first column of its rows are their numbers."""

    rows: list

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        self.support_ = X.sum(axis=0) > 0
        type(self).rows.append((X[:, 0].astype(int), y))
        return self

    def _get_support_mask(self):
        return self.support_


@pytest.fixture
def recorder():
    Recorder.rows = []
    return Recorder()


def rows_of(recorder, cohorts, n_pairs=3, n_permutations=19):
    """The rows of each fit on a half, labelling by labelling."""
    halves = [rows for rows, _ in recorder.rows[1:]]  # the first fit is on all rows
    assert len(halves) == 4 * n_pairs * (1 + n_permutations)
    assert len(cohorts)
    return np.array(halves, dtype=object).reshape(
        (1 + n_permutations, n_pairs, 2, 2, *np.shape(halves)[1:])
    )


def numbered(n, d=4):
    X = np.random.default_rng(0).standard_normal((n, d))
    X[:, 0] = np.arange(n)
    return X


# -- the definitions ---------------------------------------------------------------------------------------------------


def distance(a, b):
    return ((a.astype(float) - b.astype(float)) ** 2).sum() / 2


@st.composite
def two_cohorts(draw):
    n_pairs, d = draw(st.integers(3, 5)), draw(st.integers(3, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    halves = rng.random((2, 2 * n_pairs, d)) < rng.random((2, 1, d))
    halves[:, 0, 0], halves[:, 0, 1] = True, False  # something to choose
    return halves


@settings(max_examples=40, deadline=None)
@given(halves=two_cohorts())
def test_within_and_between_are_mean_similarities_of_halves_that_share_no_row(halves):
    pairs = np.arange(halves.shape[1]) // 2
    found = CohortComparison(
        {n: Runs(z, pairs=pairs) for n, z in zip("ab", halves, strict=True)}
    )
    k, d = halves.sum(axis=2).mean(), halves.shape[2]
    null = k * (1 - k / d)
    within = [distance(z[i], z[i + 1]) for z in halves for i in range(0, len(z), 2)]
    between = [distance(a, b) for a, b in product(*halves)]
    assert found.within == pytest.approx(1 - np.mean(within) / null)
    assert found.between == pytest.approx(1 - np.mean(between) / null)
    assert found.difference.estimate == pytest.approx(found.within - found.between)
    assert found.difference.about == "other data"
    table = found.frame()
    a, b = (z.mean(axis=0) for z in halves)
    names = [f"x{f}" for f in range(d)]
    np.testing.assert_allclose(table.loc[names, "difference"], a - b, atol=1e-12)
    np.testing.assert_allclose(table.loc[names, "frequency_b"], b)
    assert table["difference"].abs().is_monotonic_decreasing
    assert np.isnan(found.pvalue)
    assert table["pvalue"].isna().all()


@settings(max_examples=25, deadline=None)
@given(halves=two_cohorts())
def test_the_error_is_that_of_first_order_and_the_spread_between_pairs(halves):
    n_pairs = halves.shape[1] // 2
    counts = np.zeros((2 * n_pairs, 40), dtype=int)
    counts[:, :10] = 1  # a quarter of the rows
    runs = [
        Runs(z, pairs=np.arange(2 * n_pairs) // 2, row_counts=c)
        for z, c in zip(halves, (counts, counts[:, :20]), strict=True)
    ]
    found = CohortComparison(dict(zip("ab", runs, strict=True)))
    u = halves[0].mean(axis=0) - halves[1].mean(axis=0)
    k, d = halves.sum(axis=2).mean(), halves.shape[2]
    linear = 0.0
    for z, share in zip(halves.astype(float), (0.25, 0.5), strict=True):
        linear += (
            share
            * np.mean([((z[i] - z[i + 1]) @ u) ** 2 for i in range(0, 2 * n_pairs, 2)])
            / 2
        )
    of_pairs = []
    for i in range(0, 2 * n_pairs, 2):
        (a, b), (c, e) = halves.astype(float)[:, i : i + 2]
        of_pairs.append((a @ b + c @ e) / 2 - np.mean([a @ c, a @ e, b @ c, b @ e]))
    variance = 0.35 * (linear + np.var(of_pairs, ddof=1)) / (k * (1 - k / d)) ** 2
    difference = found.difference
    assert difference.standard_error == pytest.approx(np.sqrt(variance + 0.0002))
    half = t(n_pairs - 1).ppf(0.975) * difference.standard_error
    assert difference.high - difference.estimate == pytest.approx(half)


# -- who is drawn ------------------------------------------------------------------------------------------------------


def test_halves_are_disjoint_of_one_cohort_and_have_the_same_classes(recorder):
    n = 50
    y = np.array([0] * 30 + [1] * 20)
    cohorts = np.where(np.arange(n) % 3 > 0, "b", "a")
    compare_cohorts(recorder, numbered(n), y, cohorts, **FEW)
    labelled = rows_of(recorder, cohorts)
    per_class = [
        min(np.sum((y == c) & (cohorts == k)) // 2 for k in "ab") for c in (0, 1)
    ]
    for number, pair, cohort in product(range(20), range(3), range(2)):
        first, second = labelled[number, pair, cohort].astype(int)
        assert not set(first) & set(second)
        for half in (first, second):
            assert np.bincount(y[half]).tolist() == per_class
    observed = labelled[0].astype(int)
    for cohort, label in enumerate("ab"):
        assert set(cohorts[observed[:, cohort].ravel()]) == {label}
    # With permuted labels, too, the four halves share no row where they are of two cohorts.
    for number in range(20):
        sets = [set(labelled[number, :, cohort].ravel()) for cohort in (0, 1)]
        assert not sets[0] & sets[1]
    assert any(
        len(set(cohorts[labelled[number, 0, 0].ravel().astype(int)])) == 2
        for number in range(1, 20)
    )


def test_groups_stay_together_and_change_the_cohort_together(recorder):
    groups = np.arange(40) // 2
    cohorts = groups % 2
    y = groups // 2 % 2
    compare_cohorts(recorder, numbered(40), y, cohorts, groups=groups, **FEW)
    labelled = rows_of(recorder, cohorts).astype(int)
    for half in labelled.reshape(-1, labelled.shape[-1]):
        assert (np.bincount(groups[half], minlength=20) % 2 == 0).all()


def test_numbers_are_drawn_from_intervals(recorder):
    y = np.random.default_rng(1).permutation(np.arange(100.0)) + 0.5
    cohorts = np.arange(100) % 2
    compare_cohorts(recorder, numbered(100), y, cohorts, **FEW)
    labelled = rows_of(recorder, cohorts).astype(int)
    bins = (y // 20).astype(int)
    counts = [
        np.bincount(bins[half]) for half in labelled.reshape(-1, labelled.shape[-1])
    ]
    assert (np.ptp(counts, axis=0) == 0).all()


# -- what it finds -----------------------------------------------------------------------------------------------------


def sites(same):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(160, 12)), np.arange(160) % 2
    cohorts = np.repeat(["north", "south"], 80)
    X[:, :2] += 1.5 * y[:, None]
    X[:80, 2] += 1.5 * y[:80]
    X[80:, 2 if same else 3] += 1.5 * y[80:]
    return X, y, cohorts


def test_a_difference_is_found_with_the_features_that_differ():
    X, y, cohorts = sites(same=False)
    found = compare_cohorts(SelectKBest(k=3), X, y, cohorts, **FEW)
    assert found.verdict == "the cohorts select differently"
    assert found.pvalue == 1 / 20
    assert set(found.frame().index[:2]) == {"x2", "x3"}
    assert (found.frame()["pvalue"][:2] <= 0.1).all()
    assert found.difference.low > 0
    assert "none of 19 permuted labels" in repr(found)
    assert "the cohorts select differently" in found._repr_html_()


def test_where_there_is_none_it_says_that_none_is_shown():
    X, y, cohorts = sites(same=True)
    found = compare_cohorts(SelectKBest(k=3), X, y, cohorts, **FEW)
    assert found.verdict == "no difference beyond sampling is shown"
    assert found.pvalue > 0.05
    assert found.difference.low < 0 < found.difference.high


def test_pvalues_are_shares_of_permuted_labels():
    X, y, cohorts = sites(same=True)
    found = compare_cohorts(SelectKBest(k=3), X, y, cohorts, **FEW)
    as_large = (found.permuted >= found.within - found.between - 1e-12).sum()
    assert found.pvalue == (1 + as_large) / 20
    for row in found.frame().itertuples():
        as_large = (found.permuted_features >= abs(row.difference) - 1e-12).sum()
        assert row.pvalue == (1 + as_large) / 20


def test_an_int_gives_the_same_for_any_number_of_jobs_and_from_a_checkpoint(tmp_path):
    X, y, cohorts = sites(same=False)
    settings = {"checkpoint": tmp_path / "runs", **FEW}
    first, again = (
        compare_cohorts(SelectKBest(k=3), X, y, cohorts, **s) for s in (FEW, settings)
    )
    np.testing.assert_array_equal(first.permuted, again.permuted)
    stored = compare_cohorts(SelectKBest(k=3), X, y, cohorts, **settings)
    assert first.frame().equals(stored.frame())


def test_numbers_and_no_target_are_compared_as_well():
    X, _, cohorts = sites(same=False)
    numbers = X[:, 0] + X[:, 1]
    found = compare_cohorts(SelectKBest(f_regression, k=2), X, numbers, cohorts, **FEW)
    assert found.within == 1

    class Variance(SelectKBest):
        def fit(self, X, y=None):  # noqa: ARG002
            return super().fit(X, np.arange(len(X)) % 2)

    found = compare_cohorts(Variance(k=2), X, None, cohorts, **FEW)
    assert 0 < found.pvalue <= 1


def test_what_two_sites_have_stored_gives_the_same_difference():
    X, y, cohorts = sites(same=False)
    stored = {}
    for name in ("north", "south"):
        mine = cohorts == name
        cv = ComplementaryPairsSplit(12, stratify=True, random_state=0)
        runs = StabilityCV(SelectKBest(k=3), cv=cv).fit(X[mine], y[mine]).runs_
        stored[name] = runs
    found = CohortComparison(stored)
    shared = CohortComparison(
        {name: runs.without_rows() for name, runs in stored.items()}
    )
    assert str(found.difference) == str(shared.difference)
    assert found.verdict == "the cohorts select differently"
    assert found.frame().index[:2].isin(["x2", "x3"]).all()


def test_halves_of_other_sizes_are_refused_where_that_is_known():
    X, y, _ = sites(same=True)
    small, large = (
        StabilityCV(SelectKBest(k=3), cv=DisjointBlocksSplit([n], 6, random_state=0))
        .fit(X, y)
        .runs_
        for n in (30, 60)
    )
    with pytest.raises(ValueError, match="halves of the same number of rows at both"):
        CohortComparison({"a": small, "b": large})
    with pytest.raises(ValueError, match="got 60 and 30"):
        CohortComparison({"a": large.without_rows(), "b": small.without_rows()})
    assert CohortComparison({"a": small, "b": small}).difference.estimate <= 0


def test_nothing_to_choose_is_no_difference():
    runs = Runs(np.zeros((6, 3)), pairs=[0, 0, 1, 1, 2, 2])
    found = CohortComparison({"a": runs, "b": runs})
    assert (found.within, found.between) == (1, 1)
    assert np.isnan(found.difference.low)
    assert found.verdict == "no difference beyond sampling is shown"


# -- errors and the picture --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"cohorts": np.zeros(160)}, "cohorts must hold one of two labels"),
        ({"cohorts": np.arange(160) % 3}, "cohorts must hold one of two labels"),
        ({"cohorts": [0, 1]}, "cohorts must hold one of two labels"),
        (
            {"cohorts": np.arange(160) % 2},
            "cohorts must each have at least 2 rows of each",
        ),
        ({"groups": np.arange(160) % 7}, "groups must each be of one cohort"),
        ({"groups": [0, 1]}, "groups must have one entry"),
        ({"n_pairs": 2}, "n_pairs must be an int"),
        ({"n_permutations": 10}, "n_permutations must be an int"),
        ({"confidence_level": 1}, "confidence_level must be"),
        ({"support_from": "x"}, "support_from must be"),
        ({"estimator": 3}, "estimator must be an estimator"),
    ],
)
def test_wrong_arguments_are_named(wrong, message):
    X, y, cohorts = sites(same=True)
    given = {"estimator": SelectKBest(k=3), "X": X, "y": y, "cohorts": cohorts} | wrong
    with pytest.raises(ValueError, match=message):
        compare_cohorts(**given)


def test_runs_that_do_not_belong_together_are_refused():
    runs = Runs(np.eye(6), pairs=[0, 0, 1, 1, 2, 2])
    other = Runs(np.eye(6), pairs=[0, 0, 1, 1, 2, 2], feature_names=list("abcdef"))
    for wrong in ({"a": runs}, [runs, runs], {"a": runs, "b": 1}):
        with pytest.raises(ValueError, match="runs must be a dict of the Runs of two"):
            CohortComparison(wrong)
    with pytest.raises(ValueError, match="runs must be of the same features"):
        CohortComparison({"a": runs, "b": other})
    with pytest.raises(ValueError, match="at least 3 complete pairs"):
        CohortComparison({"a": runs, "b": runs.take([0, 1, 2, 3, 4])})
    with pytest.raises(ValueError, match="the runs are not of pairs"):
        CohortComparison({"a": Runs(np.eye(6)), "b": runs})


def test_the_picture_shows_the_features_that_differ_most():
    X, y, cohorts = sites(same=False)
    found = compare_cohorts(SelectKBest(k=3), X, y, cohorts, **FEW)
    drawn = found.plot(top_k=2)
    table = found.frame().head(2)
    assert drawn.frame()["feature"].tolist() == table.index.tolist()
    np.testing.assert_array_equal(drawn.frame()["second"], table["frequency_south"])
    labels = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    assert labels == ["north", "south"]
    assert "the cohorts select differently" in drawn.ax_.get_xlabel()
    with pytest.raises(TypeError, match="found must be a CohortComparison"):
        CohortComparisonDisplay.from_cohorts(X)

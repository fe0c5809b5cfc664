"""P-values after selection: each test against its plain definition, the merging against its formula, and bad input."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.optimize import minimize
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import Lasso

from skstab.inspection import feature_report, split_pvalues
from skstab.inspection._split_pvalues import merged
from skstab.model_selection import BootstrapSplit, StabilityCV, assess_selector
from skstab.runs import Runs


def columns(seed=0, n=120, d=4):
    return np.random.default_rng(seed).standard_normal((n, d))


def halves(n=120, n_runs=12, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(n) < n // 2 for _ in range(n_runs // 2)])
    return np.vstack([rows, ~rows]).astype(int)


# -- the tests -------------------------------------------------------------------------


def of_features_always_selected(X, y, selected):
    """P-values of features that all halves select, and the plain ones of each half by a function of its rows."""
    counts = halves(len(y))
    support = np.isin(np.arange(X.shape[1]), selected)
    runs = Runs(np.tile(support, (len(counts), 1)), row_counts=counts)
    return split_pvalues(runs, X, y)["pvalue"].to_numpy(), counts == 0


def expected(plain, outside, selected, d):
    """The merged p-values of plain tests on the rows left out."""
    table = np.ones((len(outside), d))
    for run, rows in enumerate(outside):
        for place in selected:
            table[run, place] = min(plain(rows, place) * len(selected), 1)
    return merged(table)


def test_linear_models_are_tested_as_by_t_tests():
    X = columns()
    y = 0.4 * X[:, 0] + 0.3 * X[:, 2] + np.random.default_rng(1).standard_normal(120)
    selected = [0, 2, 3]

    def plain(rows, place):
        design = np.column_stack([np.ones(rows.sum()), X[rows][:, selected]])
        inverse = np.linalg.inv(design.T @ design)
        weights = inverse @ design.T @ y[rows]
        left = rows.sum() - 4
        error = ((y[rows] - design @ weights) ** 2).sum() / left
        own = 1 + selected.index(place)
        t = weights[own] / np.sqrt(error * inverse[own, own])
        return 2 * stats.t.sf(abs(t), left)

    found, outside = of_features_always_selected(X, y, selected)
    np.testing.assert_allclose(found, expected(plain, outside, selected, 4), rtol=1e-6)
    assert found[1] == 1


def best_likelihood(value, n_weights):
    return -minimize(lambda w: -value(w), np.zeros(n_weights), tol=1e-12).fun


def by_likelihood(likelihood, selected, n_outputs=1):
    """Twice the gain of the likelihood by a feature, against chi-squared."""

    def plain(rows, place):
        others = [other for other in selected if other != place]
        gain = 2 * (likelihood(rows, selected) - likelihood(rows, others))
        return stats.chi2.sf(gain, n_outputs)

    return plain


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_tested_by_likelihood_ratios(n_classes):
    X = columns(3)
    noise = np.random.default_rng(1).logistic(size=120)
    cuts = [0] if n_classes == 2 else [-0.8, 0.8]
    codes = np.digitize(0.8 * X[:, 0] + noise, cuts)
    selected = [0, 1]

    def likelihood(rows, chosen):
        design = np.column_stack([np.ones(rows.sum()), X[rows][:, chosen]])

        def value(weights):
            linear = design @ weights.reshape(-1, n_classes - 1)
            linear = np.column_stack([np.zeros(len(linear)), linear])
            own = linear[np.arange(len(linear)), codes[rows]]
            return (own - np.log(np.exp(linear).sum(axis=1))).sum()

        return best_likelihood(value, design.shape[1] * (n_classes - 1))

    found, outside = of_features_always_selected(
        X, np.array(list("abc"))[codes], selected
    )
    plain = by_likelihood(likelihood, selected, n_classes - 1)
    np.testing.assert_allclose(found, expected(plain, outside, selected, 4), rtol=1e-2)
    assert found[0] < 0.5


def test_survival_is_tested_by_partial_likelihood_with_ties():
    X = columns(4)
    rng = np.random.default_rng(1)
    times = np.ceil(5 * rng.exponential(np.exp(-0.8 * X[:, 0])))
    events = rng.random(120) < 0.8
    y = np.array(
        list(zip(events, times, strict=True)), dtype=[("event", bool), ("time", float)]
    )
    selected = [0, 3]

    def likelihood(rows, chosen):
        own, time, event = X[rows][:, chosen], times[rows], events[rows]

        def value(weights):
            linear = own @ weights
            parts = [
                linear[i] - np.log(np.exp(linear[time >= time[i]]).sum())
                for i in np.flatnonzero(event)
            ]
            return sum(parts)

        return best_likelihood(value, len(chosen))

    found, outside = of_features_always_selected(X, y, selected)
    plain = by_likelihood(likelihood, selected)
    np.testing.assert_allclose(found, expected(plain, outside, selected, 4), rtol=1e-2)
    assert found[0] < 0.5


def test_a_category_is_tested_as_a_whole():
    rng = np.random.default_rng(0)
    site = rng.choice(list("abcd"), 120)
    X = pd.DataFrame({"site": site, "x": rng.standard_normal(120)})
    y = (site == "c") + 0.7 * rng.standard_normal(120)
    counts = halves()
    runs = Runs(np.ones((12, 2), dtype=bool), row_counts=counts)

    def plain(rows, place):
        own = X[rows]
        both = pd.get_dummies(own, drop_first=True).to_numpy(float)
        less = both[:, :1] if place == 0 else both[:, 1:]

        def error(design):
            design = np.column_stack([np.ones(len(own)), design])
            weights = np.linalg.lstsq(design, y[rows])[0]
            return ((y[rows] - design @ weights) ** 2).sum()

        freedom = 3 if place == 0 else 1
        left = len(own) - 5
        ratio = (error(less) - error(both)) / freedom / error(both) * left
        return stats.f.sf(ratio, freedom, left)

    found = split_pvalues(runs, X, y)["pvalue"]
    np.testing.assert_allclose(found, expected(plain, counts == 0, [0, 1], 2))


# -- merging ---------------------------------------------------------------------------


@given(
    arrays(float, st.tuples(st.integers(1, 60), st.just(2)), elements=st.floats(0, 1))
)
def test_pvalues_are_merged_by_quantiles(pvalues):
    def adjusted(gamma, column):
        quantile = np.quantile(column / gamma, gamma, method="inverted_cdf")
        return min(1, quantile)

    grid = np.unique(
        np.r_[np.divide.outer(np.arange(1, 61), np.arange(1, 61)).ravel(), 0.05]
    )
    grid = grid[(grid >= 0.05) & (grid <= 1)]
    for found, column in zip(merged(pvalues), pvalues.T, strict=True):
        # Rounding may put a share k/B on either side of its step: look just below.
        least = min(
            adjusted(gamma * (1 - 1e-12), column) for gamma in grid if gamma > 0.05
        )
        least = min(least, adjusted(0.05, column))
        np.testing.assert_allclose(found, min(1, least * (1 - np.log(0.05))), rtol=1e-9)


def test_few_true_features_are_found_and_noise_seldom():
    wrong = 0
    for seed in range(10):
        X = columns(seed, 120, 30)
        y = X[:, 0] - X[:, 7] + np.random.default_rng(seed + 99).standard_normal(120)
        selector = SelectKBest(f_regression, k=6)
        table = split_pvalues(selector, X, y, n_pairs=10, random_state=seed)
        found = table.index[table["pvalue"] <= 0.05]
        assert {"x0", "x7"} <= set(found)
        wrong += len(found) > 2
    assert wrong <= 1


def test_more_features_than_rows_allow_are_tested_by_the_strongest():
    X = columns(0, 120, 100)
    y = 3 * X[:, 50] + np.random.default_rng(1).standard_normal(120)
    every = SelectKBest(f_regression, k=90)
    table = split_pvalues(every, X, y, n_pairs=10, random_state=0)
    assert table.index[table["pvalue"] <= 0.05].tolist() == ["x50"]


def test_copies_and_separated_classes_give_pvalues():
    X = columns()
    X[:, 1] = X[:, 0]
    runs = Runs(np.ones((12, 4), dtype=bool), row_counts=halves())
    table = split_pvalues(runs, X, X[:, 0] > 0)
    assert table.loc[["x0", "x1"], "pvalue"].tolist() == [1, 1]  # each given the other
    assert table["pvalue"].between(0, 1).all()
    alone = Runs(np.eye(4, dtype=bool)[[0] * 12], row_counts=halves())
    assert split_pvalues(alone, X, X[:, 0] > 0).loc["x0", "pvalue"] < 1e-4


# -- in a report, and errors -----------------------------------------------------------


def test_a_report_has_them_when_asked():
    X = columns(0, 120, 8)
    y = 2 * X[:, 0] + np.random.default_rng(1).standard_normal(120)
    model = Lasso(alpha=0.2)
    cv = StabilityCV(model, cv=BootstrapSplit(20, random_state=0)).fit(X, y)
    assert "pvalue" not in feature_report(cv, X, y).table
    own = feature_report(cv, X, y, pvalues=True).table["pvalue"]
    pd.testing.assert_series_equal(own.sort_index(), split_pvalues(cv, X, y)["pvalue"])
    options = {"n_permutations": 19, "n_pairs": 5, "n_decoy_draws": 10}
    found = assess_selector(model, X, y, random_state=0, **options)
    report = feature_report(found.runs, X, y, assessment=found, pvalues=True)
    expected = split_pvalues(found.halves, X, y)["pvalue"]
    pd.testing.assert_series_equal(report.table["pvalue"].sort_index(), expected)
    joined = feature_report(
        found.runs, X, y, variables=list("aabbccdd"), assessment=found, pvalues=True
    )
    assert joined.table["pvalue"]["a"] < 0.05
    assert "p-value" in report.to_latex()


def test_the_seed_decides_and_not_the_number_of_jobs():
    X = columns()
    y = X[:, 0] + 1.0 * (X[:, 1] > 0)
    one, two = (
        split_pvalues(Lasso(0.1), X, y, n_pairs=3, random_state=0, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one, two, check_exact=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "poisson"}, "model must be one of auto, linear, logistic, cox"),
        ({"model": "cox"}, "y must have two fields"),
        ({"y": np.array(list("ab") * 60), "model": "linear"}, "needs numbers in y"),
        ({"y": np.zeros((120, 2))}, "one output"),
        ({"y": np.zeros(7)}, "one entry for each of the 120 rows"),
        ({"runs": Runs(np.ones((2, 4)))}, "must have row_counts"),
        ({"runs": Runs(np.ones((2, 4)), row_counts=np.ones((2, 120)))}, "groups|fifth"),
        (
            {"runs": Runs(np.ones((9, 4)), row_counts=np.eye(120)[:9] < 1)},
            "groups|fifth",
        ),
    ],
)
def test_wrong_arguments_are_named(change, message):
    X = columns()
    runs = Runs(np.ones((12, 4), dtype=bool), row_counts=halves())
    given_ = {"runs": runs, "y": X[:, 0].copy(), "model": "auto", **change}
    with pytest.raises(ValueError, match=message):
        split_pvalues(given_["runs"], X, given_["y"], model=given_["model"])


def test_groups_of_rows_are_refused():
    X = columns()
    patient = np.repeat(np.arange(30), 4)
    cv = StabilityCV(Lasso(0.1), cv=BootstrapSplit(40, random_state=0))
    cv.fit(X, X[:, 0], groups=patient)
    with pytest.raises(ValueError, match="took groups of them whole"):
        split_pvalues(cv, X, X[:, 0])


def test_a_report_without_the_data_can_not_have_them():
    with pytest.raises(ValueError, match="pvalues=True needs X and y"):
        feature_report(Runs(np.ones((2, 4))), pvalues=True)

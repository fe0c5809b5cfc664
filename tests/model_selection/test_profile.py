"""`stability_profile` against one ranking a resample made by hand, and the random selector's expected values."""

from math import comb
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import hypergeom
from sklearn.datasets import make_classification, make_regression
from sklearn.feature_selection import (
    RFE,
    SelectKBest,
    SequentialFeatureSelector,
    f_classif,
)
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.naive_bayes import GaussianNB

from skstab.metrics import stability_interval, stability_score
from skstab.model_selection import BootstrapSplit, stability_profile
from skstab.model_selection._profile import places_of, plateau_of

N, D = 60, 12
CV = BootstrapSplit(8, random_state=0)
ALL = SelectKBest(k="all")


def make_data(d=D):
    return make_classification(N, d, n_informative=4, n_redundant=0, random_state=0)


def make_numbers(d=D):
    X, y = make_regression(N, d, n_informative=4, noise=20.0, random_state=0)
    return X * np.logspace(-1, 1, d), y


class Weights(Lasso):
    """The same weights whatever the data, and a count of the fits of all clones."""

    n_fits: ClassVar[list[int]] = [0]

    def __init__(self, weights=(), alpha=1.0):
        super().__init__(alpha=alpha)
        self.weights = weights

    def fit(self, X, _y):
        Weights.n_fits[0] += 1
        self.n_features_in_ = X.shape[1]
        self.coef_, self.intercept_ = np.array(self.weights, dtype=float), 0.0
        return self


def equal_scales(d=D):
    """Make features of the same standard deviation in every resample that has each row once."""
    X = (
        np.random.default_rng(0)
        .permuted(np.tile(np.arange(N, dtype=float), (d, 1)), axis=1)
        .T
    )
    return X, X[:, 0]


# -- the same as by hand -----------------------------------------------------------------------------------------------


def top(values, size):
    """The features of the largest values in each row."""
    supports = np.zeros(np.shape(values), dtype=bool)
    for row, best in zip(
        supports, np.argsort(-np.asarray(values), axis=1)[:, :size], strict=True
    ):
        row[best] = True
    return supports


def assert_profile(profile, values, measure="nogueira", level=0.95):
    assert profile.index.name == "size"
    for size, row in profile.iterrows():
        supports = top(values, size)
        interval = stability_interval(supports, measure=measure, confidence_level=level)
        np.testing.assert_allclose(
            row["stability"], stability_score(supports, measure=measure)
        )
        np.testing.assert_allclose(
            [row["low"], row["high"]], [interval.low, interval.high]
        )


@pytest.mark.parametrize("measure", ["nogueira", "jaccard", "kuncheva", "krizek"])
def test_equals_the_tops_of_one_ranking_a_resample(measure):
    X, y = make_data()
    sizes = [1, 2, 5, 11]
    profile = stability_profile(ALL, X, y, sizes=sizes, cv=CV, measure=measure)
    assert profile.index.tolist() == sizes
    assert profile.columns.tolist() == ["stability", "low", "high", "random"]
    assert_profile(
        profile,
        [f_classif(X[train], y[train])[0] for train, _ in CV.split(X, y)],
        measure,
    )


def test_equals_the_tops_of_a_lasso():
    X, y = make_numbers()
    values = [
        np.abs(Lasso(0.01).fit(X[t], y[t]).coef_) * X[t].std(axis=0)
        for t, _ in CV.split(X)
    ]
    least = np.min([(row > 0).sum() for row in values])  # beyond are ties
    assert least > 8
    profile = stability_profile(Lasso(0.01), X, y, sizes=range(1, least + 1), cv=CV)
    assert_profile(profile, values)
    # The order of importances on unit variance is not that of the coefficients.
    unscaled = [np.abs(Lasso(0.01).fit(X[t], y[t]).coef_) for t, _ in CV.split(X)]
    assert profile.loc[3, "stability"] != stability_score(top(unscaled, 3))


def test_equals_the_tops_of_sparse_importances():
    X, y = make_numbers(80)
    values = [
        np.abs(Lasso(20.0).fit(X[t], y[t]).coef_) * X[t].std(axis=0)
        for t, _ in CV.split(X)
    ]
    least = np.min([(row > 0).sum() for row in values])
    assert 3 < least < 30
    profile = stability_profile(
        Lasso(20.0), csr_array(X), y, sizes=range(1, least + 1), cv=CV
    )
    assert_profile(profile, values)


def test_confidence_level():
    X, y = make_data()
    values = [f_classif(X[train], y[train])[0] for train, _ in CV.split(X, y)]
    assert_profile(
        stability_profile(ALL, X, y, sizes=[2, 4], cv=CV, confidence_level=0.5),
        values,
        level=0.5,
    )


def test_fits_each_resample_once_whatever_the_sizes():
    X, y = equal_scales()
    for sizes in ([3], range(1, D), None):
        Weights.n_fits[0] = 0
        stability_profile(Weights(np.arange(1, D + 1)), X, y, sizes=sizes, cv=CV)
        assert Weights.n_fits[0] == CV.get_n_splits()


def test_default_resamples_are_fifty():
    X, y = equal_scales()
    Weights.n_fits[0] = 0
    stability_profile(Weights(np.arange(1, D + 1)), X, y, sizes=[3])
    assert Weights.n_fits[0] == 50


@pytest.mark.parametrize("step", [1, 3])
def test_complete_ranking_of_an_rfe(step):
    X, y = make_data()
    rfe = RFE(LogisticRegression(solver="liblinear"), n_features_to_select=1, step=step)
    rankings = np.array(
        [rfe.fit(X[train], y[train]).ranking_ for train, _ in CV.split(X, y)]
    )
    sizes = (
        range(1, D) if step == 1 else [1, 3, 6, 9]
    )  # where steps of three leave no ties
    profile = stability_profile(
        rfe, X, y, sizes=sizes, cv=CV, importance_getter=lambda rfe: 1 / rfe.ranking_
    )
    assert_profile(profile, 1 / rankings)


# -- equal importances -------------------------------------------------------------------------------------------------


def test_places_follow_the_importances():
    importances = np.random.default_rng(0).random((20, 7))
    places = places_of(importances, np.random.RandomState(0))
    expected = [
        [sum(other > own for other in row) for own in row] for row in importances
    ]
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(
        places_of(csr_array(importances), np.random.RandomState(1)), expected
    )


def test_equals_are_placed_at_random_in_each_run():
    runs = 3000
    places = places_of(
        np.tile([1.0, 5.0, 1.0, 0.0, 1.0], (runs, 1)), np.random.RandomState(0)
    )
    assert (places[:, 1] == 0).all()
    assert (places[:, 3] == 4).all()
    for feature in (0, 2, 4):
        shares = np.bincount(places[:, feature], minlength=5) / runs
        np.testing.assert_allclose(shares[1:4], 1 / 3, atol=5 * np.sqrt(2 / 9 / runs))
    # Each run draws for itself.
    orders = {tuple(row) for row in places}
    assert len(orders) == 6


def test_same_seed_same_order_of_equals():
    X, y = make_numbers(30)
    params = {"sizes": [5, 15], "cv": CV}
    first = stability_profile(Lasso(20.0), X, y, random_state=0, **params)
    for n_jobs in (None, 2):
        again = stability_profile(
            Lasso(20.0), X, y, random_state=0, n_jobs=n_jobs, **params
        )
        pd.testing.assert_frame_equal(again, first, check_exact=True)
    other = stability_profile(Lasso(20.0), X, y, random_state=1, **params)
    assert other.loc[15, "stability"] != first.loc[15, "stability"]
    assert other.loc[15, "random"] != first.loc[15, "random"]


def test_random_state_seeds_the_default_resamples():
    X, y = make_data()
    first, again, other = (
        stability_profile(ALL, X, y, sizes=[2], random_state=seed) for seed in (0, 0, 1)
    )
    pd.testing.assert_frame_equal(first, again, check_exact=True)
    assert first.loc[2, "stability"] != other.loc[2, "stability"]


def test_beyond_the_last_weight_the_profile_falls_towards_the_random_one():
    d = 40
    X, y = equal_scales(d)
    weights = np.r_[8, 4, 2, 1, np.zeros(d - 4)]
    cv = BootstrapSplit(30, random_state=0)
    measured = stability_profile(
        Weights(weights), X, y, sizes=[4, 5, 10, 20, 39], cv=cv, random_state=0
    )
    assert measured.loc[4, "stability"] == 1
    assert measured["stability"].is_monotonic_decreasing
    # Four features are certain, the others are chosen at random: the expected share of common ones is known.
    for size in (5, 10, 20):
        expected = 4 + (size - 4) ** 2 / (d - 4)
        expected = (expected - size**2 / d) / (size - size**2 / d)
        error = (
            deviation_of_overlap(d - 4, size - 4)
            / (size - size**2 / d)
            / np.sqrt(comb(30, 2))
        )
        np.testing.assert_allclose(
            measured.loc[size, "stability"], expected, atol=5 * error
        )


# -- the random selector -----------------------------------------------------------------------------------------------


def deviation_of_overlap(d, k):
    return hypergeom(d, k, k).std()


def random_profile(measure, sizes, d=20, runs=12):
    X, y = make_data(d)
    cv = BootstrapSplit(runs, random_state=0)
    return stability_profile(
        ALL, X, y, sizes=sizes, cv=cv, measure=measure, random_state=0
    )["random"]


def test_random_baseline_is_the_expected_jaccard():
    d, runs = 20, 12
    sizes = [1, 3, 10, 15]
    for size, baseline in random_profile("jaccard", sizes, d, runs).items():
        overlap = hypergeom(d, size, size)
        expected = overlap.expect(lambda r, k=size: r / (2 * k - r))
        spread = np.sqrt(
            overlap.expect(lambda r, k=size: (r / (2 * k - r)) ** 2) - expected**2
        )
        # 20 repeats of all pairs, which are uncorrelated.
        np.testing.assert_allclose(
            baseline, expected, atol=5 * spread / np.sqrt(20 * comb(runs, 2))
        )


@pytest.mark.parametrize("measure", ["nogueira", "kuncheva"])
def test_random_baseline_is_zero_where_chance_is_corrected_for(measure):
    d, runs = 20, 12
    baselines = random_profile(measure, [1, 3, 10, 19], d, runs)
    assert (baselines != 0).all()
    for size, baseline in baselines.items():
        error = (
            deviation_of_overlap(d, size)
            / (size - size**2 / d)
            / np.sqrt(20 * comb(runs, 2))
        )
        assert abs(baseline) < 5 * error


# -- sizes and errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [3, 12, 60])
def test_default_sizes_go_from_one_to_all_but_one(d):
    X, y = make_classification(
        N, d, n_informative=2, n_redundant=0, n_clusters_per_class=1, random_state=0
    )
    sizes = stability_profile(ALL, X, y, cv=CV).index.to_numpy()
    expected = np.unique(np.round(np.geomspace(1, d - 1, 20)))
    np.testing.assert_array_equal(sizes, expected)
    assert (sizes[0], sizes[-1]) == (1, d - 1)
    assert len(sizes) <= 20


def test_sizes_stay_as_given():
    X, y = make_data()
    profile = stability_profile(ALL, X, y, sizes=np.array([5, 2, 11]), cv=CV)
    assert profile.index.tolist() == [5, 2, 11]
    assert_profile(
        profile, [f_classif(X[train], y[train])[0] for train, _ in CV.split(X, y)]
    )


@pytest.mark.parametrize("sizes", [[], [0], [3, -1], [2, D + 1], [2.5]], ids=str)
def test_refuses_sizes_that_are_no_numbers_of_features(sizes):
    X, y = make_data()
    with pytest.raises(
        ValueError, match=f"sizes must be numbers of features from 1 to {D}"
    ):
        stability_profile(ALL, X, y, sizes=sizes, cv=CV)


@pytest.mark.parametrize(
    "measure", ["pearson", "spearman", "importance_weighted", "canberra"]
)
def test_refuses_measures_of_other_than_sets(measure):
    X, y = make_data()
    with pytest.raises(
        ValueError, match=f"measure must be a measure of sets, got '{measure}'"
    ):
        stability_profile(ALL, X, y, sizes=[2], measure=measure)


def test_refuses_a_selector_without_importances():
    X, y = make_data(4)
    selector = SequentialFeatureSelector(GaussianNB(), n_features_to_select=2, cv=2)
    with pytest.raises(
        ValueError,
        match="importances, but SequentialFeatureSelector has none; give importance_getter",
    ):
        stability_profile(selector, X, y, sizes=[2], cv=CV)


# -- the suggested size ------------------------------------------------------------------------------------------------


def profile_of(values, width=0.04, random=0.0):
    sizes = 2 ** np.arange(len(values))
    stability = np.array(values)
    columns = {
        "stability": stability,
        "low": stability - width,
        "high": stability + width,
        "random": random,
    }
    return pd.DataFrame(columns, index=pd.Index(sizes, name="size"))


def test_the_plateau_begins_where_the_profile_stays_within_its_interval():
    assert plateau_of(profile_of([0.2, 0.5, 0.7, 0.71, 0.72])) == 4
    assert plateau_of(profile_of([0.9, 0.6, 0.5, 0.51])) == 4
    assert plateau_of(profile_of([0.1, 0.3, 0.5, 0.7])) is None
    # A rise that is only that of chance is a plateau, too.
    rising = profile_of([0.5, 0.6, 0.8], width=0.02, random=[0.0, 0.2, 0.6])
    assert plateau_of(rising) == 1


def test_the_profile_carries_the_suggestion():
    X, y = make_data()
    profile = stability_profile(ALL, X, y, cv=CV, random_state=0)
    assert profile.attrs["suggested_size"] == plateau_of(profile)

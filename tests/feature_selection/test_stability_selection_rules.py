"""Rules of `StabilitySelection` beyond thresholds: integrated paths, calibration, decoys, clusters, importances."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectKBest, SelectorMixin, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
)
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from skstab.feature_selection import StabilitySelection, stability_selection_bounds
from skstab.feature_selection._integrated import (
    Integral,
    correlation_of,
    expected_false_positives,
    exponent_of,
    q_values,
)
from skstab.feature_selection._paths import strongest_value
from skstab.metrics import replication_stability, stability_interval
from skstab.model_selection import ComplementaryPairsSplit

N, D, TRUE = 60, 20, 3
FEW = {"n_resamples": 20, "n_values": 8, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    return X, X[:, :TRUE] @ [2, 2, 1] + rng.standard_normal(N)


def select(data, estimator=None, **params):
    return StabilitySelection(
        Lasso() if estimator is None else estimator, **{**FEW, **params}
    ).fit(*data)


PAIRS = ComplementaryPairsSplit(20, random_state=0)


def by_hand(data, fits, selected):
    """Shares of the halves, and of the pairs, that select each feature in each of the fits, made one by one."""
    X, y = data
    halves = np.array(
        [
            [
                selected(clone(model).fit(X[rows], y[rows]), k)
                for k, model in enumerate(fits)
            ]
            for rows, _ in PAIRS.split(X, y)
        ]
    )
    return halves.mean(axis=0).T, (halves[::2] & halves[1::2]).mean(axis=0).T


def efp_by_hand(
    data,
    fits,
    penalties,
    integral,
    selected=lambda model, _: model.coef_.ravel() != 0,
    **options,
):
    return expected_false_positives(
        *by_hand(data, fits, selected), penalties, integral, n_pairs=10, **options
    )


@pytest.fixture(scope="module")
def whole(data):
    return select(data, Lasso(tol=1e-10), efp=1, resampling=PAIRS)


# -- integrated paths --------------------------------------------------------------------------------------------------


def test_expected_false_positives_are_those_of_the_path(data, whole):
    delta = exponent_of(correlation_of(data[0], np.arange(D)).mean)
    fits = [Lasso(alpha, tol=1e-10) for alpha in whole.param_values_]
    expected = efp_by_hand(data, fits, whole.param_values_, Integral(2, delta))
    np.testing.assert_allclose(whole.efp_, expected)
    np.testing.assert_allclose(whole.q_values_, q_values(expected))
    np.testing.assert_array_equal(whole.get_support(), expected <= 1)
    assert whole.get_support()[:TRUE].all()
    assert (whole.pfer_, np.isnan(whole.threshold_)) == (1, True)


def test_values_of_c_are_read_as_inverse_penalties(data):
    y = data[1] > 0
    model = LogisticRegression(
        l1_ratio=1, solver="liblinear", tol=1e-10, max_iter=10_000, random_state=0
    )
    found = select((data[0], y), model, fdr=0.3, resampling=PAIRS)
    assert (np.diff(found.param_values_) > 0).all()
    delta = exponent_of(correlation_of(data[0], np.arange(D)).mean)
    fits = [clone(model).set_params(C=C) for C in found.param_values_]
    expected = efp_by_hand(
        (data[0], y), fits, 1 / found.param_values_, Integral(2, delta)
    )
    np.testing.assert_allclose(found.efp_, expected)
    np.testing.assert_array_equal(found.get_support(), found.q_values_ <= 0.3)


def test_given_values_may_come_in_any_order(data):
    values = np.geomspace(1, 0.05, 6)
    up, down = (
        select(data, efp=1, param_values=some) for some in (values, values[::-1])
    )
    np.testing.assert_array_equal(up.efp_, down.efp_)


def test_values_of_any_other_parameter_count_the_same(data):
    up, down = (
        select(
            data,
            SelectKBest(f_regression),
            param_name="k",
            param_values=sizes,
            efp=1,
            resampling=PAIRS,
        )
        for sizes in ([1, 2, 4], [4, 2, 1])
    )
    fits = [SelectKBest(f_regression, k=k) for k in (1, 2, 4)]
    expected = efp_by_hand(
        data,
        fits,
        np.exp(-np.arange(3.0)),
        Integral(2, 1),
        lambda model, _: model.get_support(),
    )
    np.testing.assert_allclose(up.efp_, expected)
    np.testing.assert_array_equal(up.efp_, down.efp_)


@pytest.mark.parametrize(
    "params",
    [
        {"q": 3},
        {"pfer": 2},
        {"resampling": "subsample", "q": 3},
        {"resampling": ShuffleSplit(4, random_state=0), "q": 3},
    ],
)
def test_without_whole_paths_of_pairs_there_are_no_expected_false_positives(
    data, params
):
    found = select(data, **params)
    assert not hasattr(found, "efp_")
    for target in ({"efp": 1}, {"fdr": 0.1}):
        with pytest.raises(
            ValueError,
            match=r"complementary pairs: fit with resampling='.*' and without q and pfer",
        ):
            found.retarget(**target)


def test_another_fit_does_not_keep_what_it_does_not_set(data):
    found = select(data, efp=1, groups=np.arange(D)).calibrate(thresholds=(0.55, 1.0))
    found.set_params(efp=None, groups=None, q=3).fit(*data)
    for name in (
        "efp_",
        "q_values_",
        "calibration_",
        "group_labels_",
        "group_selection_path_",
    ):
        assert not hasattr(found, name)


def test_plain_subsamples_are_not_pairs(data):
    for resampling in ("subsample", ShuffleSplit(4, random_state=0)):
        for target in ({"efp": 1}, {"fdr": 0.1}):
            # Before the paths: an estimator that cannot be fitted is not noticed.
            with pytest.raises(
                ValueError,
                match=r"needs whole paths of complementary pairs: fit with resampling='",
            ):
                select(data, Lasso(alpha=-1), resampling=resampling, **target)
    splits = ComplementaryPairsSplit(10, random_state=0)
    assert hasattr(select(data, resampling=splits, efp=1), "efp_")


def test_retarget_selects_by_expected_false_positives_and_back(whole):
    path = whole.selection_path_.copy()
    for efp in (0.01, 0.5, 5):
        np.testing.assert_array_equal(
            whole.retarget(efp=efp).get_support(), whole.efp_ <= efp
        )
    np.testing.assert_array_equal(
        whole.retarget(fdr=0.2).get_support(), whole.q_values_ <= 0.2
    )
    assert whole.pfer_ == np.inf
    np.testing.assert_array_equal(
        whole.retarget(threshold=0.9).get_support(), path.max(axis=1) >= 0.9 - 1e-9
    )
    whole.retarget(efp=1)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"efp": 0}, "efp must be a positive number, got 0"),
        ({"fdr": 1.5}, "fdr must be a number between 0 and 1, got 1.5"),
        (
            {"efp": 1, "fdr": 0.1},
            "retarget needs either threshold or pfer, or efp or fdr",
        ),
    ],
)
def test_wrong_targets_are_named(whole, target, message):
    with pytest.raises(ValueError, match=message):
        whole.retarget(**target)


def test_correlated_features_are_warned_of_where_it_matters(data):
    X = np.repeat(data[0][:, :8], 2, axis=1) + 0.3 * np.random.default_rng(
        1
    ).standard_normal((N, 16))
    with pytest.warns(
        UserWarning, match="features correlate with others: efp_ and q_values_ assume"
    ):
        found = select((X, data[1]), Lasso(tol=1e-10), efp=1, resampling=PAIRS)
    delta = exponent_of(correlation_of(X, np.arange(16)).mean)
    fits = [Lasso(alpha, tol=1e-10) for alpha in found.param_values_]
    expected = efp_by_hand(
        (X, data[1]), fits, found.param_values_, Integral(2, delta), correlated=True
    )
    np.testing.assert_allclose(found.efp_, expected)
    found.retarget(threshold=0.8)
    select((X, data[1]), efp=1, groups=np.arange(16) // 2)


@pytest.mark.parametrize("gap", [np.nan, "red", pd.NA])
def test_a_gap_or_a_column_of_text_does_not_hide_that_features_correlate(data, gap):
    X = pd.DataFrame(
        np.hstack(
            [data[0], data[0] + 0.2 * np.random.default_rng(1).standard_normal((N, D))]
        )
    )
    X.columns = [f"g{number}" for number in X]
    whole = correlation_of(X.to_numpy(), np.arange(2 * D)).nearest
    X["other"] = pd.Series([gap] * N, dtype=object)
    X.loc[0, "g1"] = np.nan
    numbers = make_column_transformer((SimpleImputer(), make_column_selector("^g")))
    with pytest.warns(UserWarning, match="features correlate with others"):
        found = select((X, data[1]), make_pipeline(numbers, Lasso()), efp=1)
    assert found._correlation.nearest == pytest.approx(
        whole * 2 * D / (2 * D + 1), abs=0.02
    )


def test_a_few_near_copies_of_a_selected_feature_are_warned_of(data):
    X = data[0].copy()
    X[:, -1] = X[:, 0] + 0.2 * X[:, -1]
    with pytest.warns(UserWarning, match="features correlate with others"):
        found = select((X, data[1]), efp=1)
    assert found._correlation.nearest < 0.25
    # Copies of what is not selected do no harm.
    X = data[0].copy()
    X[:, -1] = X[:, -2] + 0.2 * X[:, -1]
    assert not select((X, data[1]), efp=1).get_support()[-2:].any()


def test_halves_whose_other_half_failed_do_not_count(data):
    class Fails(Lasso):
        def fit(self, X, y):
            if X[0, 0] == data[0][1, 0]:
                raise RuntimeError("row 1 came first")
            return super().fit(X, y)

    params = {"param_name": "alpha", "param_values": [0.5, 0.2]}
    with pytest.warns(FitFailedWarning):
        found = select(data, Fails(), **params, efp=1)
    assert 10 < found.n_subsamples_ < 20
    assert found.efp_[:2].max() < 1


def test_no_error_control_is_said_once(data):
    with pytest.warns(
        UserWarning,
        match="number of wrong features is not controlled: set efp, fdr, pfer or q",
    ) as caught:
        select(data)
    assert len(caught) == 1


# -- the grid of C models ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0),
        LinearSVC(penalty="l1", random_state=0),
    ],
)
def test_automatic_values_of_c_are_the_same_per_row_on_halves(data, model):
    y = data[1] > 0
    found = select((data[0], y), model, q=2, eps=0.02)
    # C times the number of rows: twice as large on halves.
    first = strongest_value(model, data[0], y, {})
    np.testing.assert_allclose(found.param_values_, 2 * first * np.geomspace(1, 50, 8))
    given = select((data[0], y), model, q=2, param_values=[0.1, 1.0])
    np.testing.assert_array_equal(given.param_values_, [0.1, 1.0])


# -- importances -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(10, random_state=0),
        GradientBoostingRegressor(n_estimators=10, random_state=0),
    ],
)
def test_models_with_importances_need_no_parameter(data, model):
    found = StabilitySelection(model, efp=1, resampling=PAIRS, random_state=0).fit(
        *data
    )
    assert found.param_name_ == "importance"
    assert found.selection_path_.shape == (D, 100)
    np.testing.assert_allclose(
        found.param_values_, found.param_values_[0] * np.geomspace(1, 0.001, 100)
    )
    # One fit for all thresholds.
    halves = by_hand(
        data,
        [model],
        lambda fitted, _: fitted.feature_importances_[:, None] > found.param_values_,
    )
    path, together = (shares.squeeze().T for shares in halves)
    np.testing.assert_allclose(found.selection_path_, path)
    expected = expected_false_positives(
        path, together, found.param_values_, Integral(3, 1.25, 0.05), n_pairs=10
    )
    np.testing.assert_allclose(found.efp_, expected)
    assert set(np.argsort(-found.selection_auc_)[:2]) == {0, 1}


class Correlating(RegressorMixin, BaseEstimator):
    """A model that has importances only when it is fitted."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        self.feature_importances_ = np.abs(np.corrcoef(X.T, y)[-1, :-1])
        return self


@pytest.mark.parametrize(
    "model", [Correlating(), make_pipeline(StandardScaler(), Correlating())]
)
def test_models_that_set_their_importances_in_fit_need_no_parameter(data, model):
    found = select(data, model, efp=1)
    assert found.param_name_ == "importance"
    assert set(np.argsort(-found.selection_auc_)[:2]) == {0, 1}


def test_thresholds_reach_far_below_one_dominating_feature(data):
    X = data[0]
    y = 20 * X[:, 0] + 0.1 * X[:, 1]
    params = {"param_name": "importance", "efp": 1, "n_values": 100}
    found, narrow = (
        select((X, y), Ridge(1e-9), eps=eps, **params) for eps in (None, 0.01)
    )
    np.testing.assert_array_equal(found.get_support(indices=True), [0, 1])
    np.testing.assert_array_equal(narrow.get_support(indices=True), [0])


def test_the_path_holds_the_share_of_halves_whose_importance_exceeds_the_threshold(
    data,
):
    X, y = data
    splits = list(ComplementaryPairsSplit(4, random_state=1).split(X))
    forest = RandomForestRegressor(5, random_state=3)
    found = select(data, forest, resampling=splits, q=4, threshold=1.0)
    weights = np.stack(
        [forest.fit(X[rows], y[rows]).feature_importances_ for rows, _ in splits]
    )
    assert found.param_values_[0] == weights.max()
    entered = np.argsort(-weights, axis=1)[:, :4]
    for place, threshold in enumerate(found.param_values_):
        kept = [
            (row > threshold) & np.isin(np.arange(D), first)
            for row, first in zip(weights, entered, strict=True)
        ]
        np.testing.assert_allclose(
            found.selection_path_[:, place], np.mean(kept, axis=0)
        )


def test_a_pipeline_may_end_in_a_forest_and_any_importances_can_be_asked_for(data):
    piped = select(
        data, make_pipeline(StandardScaler(), RandomForestRegressor(5)), efp=1
    )
    assert piped.param_name_ == "importance"
    ridge = select(data, Ridge(), param_name="importance", efp=1)
    assert set(np.argsort(-ridge.selection_auc_)[:2]) == {0, 1}
    at = select(data, Ridge(), param_name="importance", param_values=[0.1, 0.5], q=5)
    np.testing.assert_array_equal(at.param_values_, [0.1, 0.5])
    assert at.selection_path_[:, 0].sum() >= at.selection_path_[:, 1].sum()


def test_classes_and_jobs_do_not_change_a_forest(data):
    y = data[1] > 0
    one, two = (
        select((data[0], y), RandomForestClassifier(5), efp=1, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.selection_path_, two.selection_path_)


def test_a_model_without_importances_is_named(data):
    class Blind(SelectorMixin, BaseEstimator):
        def fit(self, X, y):  # noqa: ARG002
            self.n_features_in_ = X.shape[1]
            return self

        def _get_support_mask(self):
            return np.ones(self.n_features_in_, dtype=bool)

    with pytest.raises(
        ValueError, match="Blind has no importances that can be read: give param_name"
    ):
        select(data, Blind(), param_name="importance", efp=1)


# -- calibration -------------------------------------------------------------------------------------------------------


def test_calibration_takes_the_best_value_and_threshold(data):
    found = select(data, efp=1, eps=0.001).calibrate(thresholds=(0.55, 1.0))
    chosen = found.calibration_
    assert chosen.scores.shape == (8, 10)
    row, column = np.unravel_index(chosen.scores.argmax(), chosen.scores.shape)
    assert (chosen.param_value, chosen.threshold) == (
        found.param_values_[row],
        chosen.thresholds[column],
    )
    assert chosen.score == chosen.scores.max()
    np.testing.assert_array_equal(
        found.get_support(), found.selection_path_[:, row] >= chosen.threshold - 1e-9
    )
    assert found.threshold_ == chosen.threshold
    expected = stability_selection_bounds(
        D, q=found.selection_path_[:, row].sum(), threshold=chosen.threshold, n_pairs=10
    )
    assert found.pfer_ == pytest.approx(expected.pfer)


@pytest.mark.filterwarnings("ignore:the calibration chose an end")
def test_a_cap_on_the_errors_is_kept(data):
    found = select(data, efp=1)
    free = found.calibrate().pfer_
    assert found.calibration_.pfer is None
    assert found.calibrate(pfer=free / 2).pfer_ <= free / 2
    assert found.calibration_.pfer == free / 2
    with pytest.raises(
        ValueError,
        match="no value and threshold has a bound of at most pfer=1e-09: the least is",
    ):
        found.calibrate(pfer=1e-9)


def test_the_end_of_a_grid_is_warned_of(data):
    found = select(data, efp=1, param_values=[0.3, 0.29])
    with pytest.warns(
        UserWarning, match="the calibration chose an end of the param_values"
    ):
        found.calibrate()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"pfer": 0}, "pfer must be None or a positive number, got 0"),
        ({"thresholds": (0.5, 0.9)}, "thresholds must be two numbers above 0.5"),
        ({"thresholds": 0.7}, "thresholds must be two numbers above 0.5"),
        ({"thresholds": (0.9, 0.6)}, "thresholds must be two numbers above 0.5"),
    ],
)
def test_wrong_calibrations_are_named(whole, params, message):
    with pytest.raises(ValueError, match=message):
        whole.calibrate(**params)


# -- decoys ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 40))
    return X, 2 * X[:, :15].sum(axis=1) + rng.standard_normal(120)


@pytest.mark.parametrize("kind", ["permuted", "knockoffs"])
@pytest.mark.parametrize("n_draws", [1, 3])
def test_features_are_selected_against_decoys(many, kind, n_draws):
    found = select(many, decoys=kind, fdr=0.2, n_decoy_draws=n_draws, n_resamples=6)
    assert found.decoy_scores_.shape == (n_draws, 2, 40)
    assert found.get_support()[:15].sum() >= 14
    assert found.get_support()[15:].sum() <= 5
    assert found.efp_.shape == (40,)
    least = {
        1: "100 features must exceed the decoys of a draw;",
        3: "200 features .*, n_decoy_draws=1 needs 100;",
    }
    with pytest.warns(
        UserWarning,
        match=f"^nothing is selected: at fdr=0.01, at least {least[n_draws]} for fewer",
    ):
        assert not found.retarget(fdr=0.01).get_support().any()


def test_decoys_are_seeded(many):
    params = {
        "decoys": "permuted",
        "fdr": 0.2,
        "n_decoy_draws": 2,
        "n_resamples": 4,
        "n_values": 4,
    }
    one, two = (select(many, **params, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.decoy_scores_, two.decoy_scores_)
    assert (one.decoy_scores_[0] != one.decoy_scores_[1]).any()
    assert (
        select(many, **params | {"random_state": 1}).decoy_scores_ != one.decoy_scores_
    ).any()


def test_sparse_and_named_columns_have_permuted_decoys(many):
    params = {
        "decoys": "permuted",
        "fdr": 0.2,
        "n_decoy_draws": 1,
        "n_resamples": 4,
        "n_values": 4,
    }
    X = np.where(np.abs(many[0]) > 0.3, many[0], 0)
    assert select((sparse.csr_array(X), many[1]), **params).decoy_scores_.shape == (
        1,
        2,
        40,
    )
    assert select((pd.DataFrame(X), many[1]), **params).decoy_scores_.shape == (
        1,
        2,
        40,
    )


def test_one_hot_columns_are_refused_before_anything_is_fitted(many):
    X = many[0].copy()
    X[:, 3] = X[:, 3] > 0
    with pytest.raises(
        ValueError,
        match=r"^decoys='knockoffs' assumes Gaussian columns, but 1 of 40 have two values, such as column 3",
    ):
        select((X, many[1]), decoys="knockoffs", fdr=0.2)


# -- clusters ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def copies():
    """Five copies of each of eight features, of which two matter."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((80, 8))
    X = np.repeat(base, 5, axis=1) + 0.2 * rng.standard_normal((80, 40))
    return X, base[:, 0] + base[:, 1] + 0.5 * rng.standard_normal(80)


def test_a_cluster_counts_once_and_one_member_stands_for_it(copies):
    groups = np.repeat(list("abcdefgh"), 5)
    found = select(copies, groups=groups, efp=0.5)
    assert list(found.group_labels_) == list("abcdefgh")
    assert found.group_selection_path_.shape == (8, 8)
    members = found.selection_path_.reshape(8, 5, -1)
    assert (found.group_selection_path_ >= members.max(axis=1) - 1e-12).all()
    assert (found.group_selection_path_ <= members.sum(axis=1) + 1e-12).all()
    chosen = found.get_support(indices=True)
    assert {*groups[chosen]} >= {"a", "b"}
    assert len({*groups[chosen]}) == len(chosen)
    for column in chosen:
        rivals = np.flatnonzero(groups == groups[column])
        assert column == rivals[found.selection_auc_[rivals].argmax()]
    assert (found.efp_.reshape(8, 5) == found.efp_[::5, None]).all()


def test_bounds_are_about_clusters(copies):
    groups = np.arange(40) // 5
    found = select(copies, groups=groups, q=2, threshold=0.8)
    assert (
        found.pfer_
        == stability_selection_bounds(8, q=2, threshold=0.8, n_pairs=10).pfer
    )
    assert found.group_selection_path_.sum(axis=0).max() <= 2 + 1e-9
    np.testing.assert_array_equal(
        groups[found.get_support()],
        np.flatnonzero(found.group_selection_path_.max(axis=1) >= 0.8 - 1e-9),
    )
    alone = select(copies, q=2, threshold=0.8)
    assert alone.get_support().sum() < found.get_support().sum()


def test_clusters_of_one_change_nothing(data):
    for params in ({"q": 4}, {"efp": 1}):
        plain, single = (
            select(data, groups=groups, **params)
            for groups in (None, np.arange(D)[::-1])
        )
        np.testing.assert_array_equal(plain.selection_path_, single.selection_path_)
        np.testing.assert_array_equal(plain.get_support(), single.get_support())


def test_groups_must_fit_the_features(data):
    with pytest.raises(
        ValueError, match=r"^groups must be 20 labels, one for each feature, got shape"
    ):
        select(data, groups=[1, 2], efp=1)


# -- stability of the selection ----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:nearly all variation between the runs")
def test_the_stability_along_the_path_is_that_of_the_halves(data):
    X, y = data
    splits = list(ComplementaryPairsSplit(10, random_state=0).split(X))
    values = [0.05, 0.4, 100.0, 1.0]
    found = select(
        data,
        resampling=ComplementaryPairsSplit(10, random_state=0),
        param_values=values,
        efp=1,
    )
    table = found.stability_path_
    assert list(table["value"]) == values
    for value, row in zip(values, table.itertuples(), strict=True):
        supports = np.array(
            [Lasso(value).fit(X[rows], y[rows]).coef_ != 0 for rows, _ in splits]
        )
        if not supports.any():
            assert np.isnan([row.stability, row.low, row.high]).all()
            continue
        for interval, found_ends in (
            (stability_interval(supports), (row.stability, row.low, row.high)),
            (
                replication_stability(supports),
                (row.replication, row.replication_low, row.replication_high),
            ),
        ):
            assert found_ends == pytest.approx(
                (interval.estimate, interval.low, interval.high)
            )


def test_halves_that_are_not_pairs_have_no_replication(data):
    table = select(data, q=4, resampling="subsample").stability_path_
    assert table["stability"].notna().any()
    assert table["replication"].isna().all()


def test_the_mean_probability_is_over_all_values(whole):
    np.testing.assert_allclose(whole.selection_auc_, whole.selection_path_.mean(axis=1))


# -- what goes wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"efp": 0}, "efp must be None or a positive number"),
        ({"fdr": 1}, "fdr must be None or a number between 0 and 1"),
        ({"efp": 1, "fdr": 0.1}, "efp and fdr are targets that exclude each other"),
        ({"pfer": 1, "efp": 1}, "pfer and efp are targets that exclude each other"),
        (
            {"decoys": "random", "fdr": 0.1},
            "decoys must be None or one of 'permuted', 'knockoffs'",
        ),
        ({"decoys": "permuted"}, "decoys='permuted' need a target level: set fdr"),
        (
            {"decoys": "permuted", "fdr": 0.1, "groups": np.arange(D)},
            "decoys and groups cannot be combined",
        ),
        (
            {"decoys": "permuted", "fdr": 0.1, "n_decoy_draws": 0},
            "n_decoy_draws must be an int of at least 1",
        ),
        (
            {"threshold": 0, "assumption": "r-concave"},
            "threshold must be None or a number above 0 to 1",
        ),
        (
            {"q": 15, "pfer": 0.01, "threshold": None},
            "^q=15 .*lower q or raise pfer; nearest possible: ",
        ),
        (
            {"pfer": 1e-9},
            "^pfer=1e-09 at threshold=0.75 is impossible with n_features=20",
        ),
        ({"estimator": LinearRegression()}, "^param_name='auto' knows Lasso"),
        ({"estimator": ElasticNet(l1_ratio=0)}, "^param_values='auto' does not know"),
        (
            {"estimator": SelectKBest(), "param_name": "k", "param_values": [[1]]},
            "^param_values must be",
        ),
    ],
)
def test_wrong_parameters_are_named(data, params, message):
    with pytest.raises(ValueError, match=message):
        select(data, **{"estimator": Lasso(), **params})


def test_values_of_another_kind_are_named(data):
    with pytest.raises(
        TypeError,
        match=r"^param_values, estimator, X or y can't be used: '<' not supported",
    ):
        select(data, param_values=["a"])


def test_decoys_of_text_are_refused(data):
    X = pd.DataFrame(data[0]).assign(colour="red")
    encode = make_column_transformer(
        (OneHotEncoder(), ["colour"]), remainder="passthrough"
    )
    X.columns = X.columns.astype(str)
    with pytest.raises(
        ValueError,
        match=r"^decoys or X can't be used: could not convert string to float: 'red'",
    ):
        select((X, data[1]), make_pipeline(encode, Lasso()), decoys="permuted", fdr=0.2)


def test_thresholds_below_one_half_have_an_r_concave_bound(data):
    found = select(data, q=1, threshold=0.4, assumption="r-concave", n_resamples=40)
    expected = stability_selection_bounds(
        D, q=1, threshold=0.4, n_pairs=20, assumption="r-concave"
    ).pfer
    assert found.pfer_ == expected < D
    np.testing.assert_array_equal(
        found.get_support(), found.selection_probabilities_ >= 0.4 - 1e-9
    )


# -- a penalty by its stability ----------------------------------------------------------------------------------------


def chosen_by_hand(selection, least):
    """The weakest penalty with that stability, or within one standard deviation of the largest."""
    stability = selection.stability_path_["stability"].to_numpy()
    if np.nanmax(stability) < least:
        least = np.nanmax(stability) - np.nanstd(stability, ddof=1)
    reached = [at for at in range(len(stability)) if stability[at] >= least]
    return min(reached, key=lambda at: selection.param_values_[at])


@pytest.mark.parametrize("least", [0.1, 0.4, 0.75])
def test_the_weakest_penalty_that_is_stable_enough(data, least):
    selection = select(data, efp=1, resampling=PAIRS)
    assert np.nanmax(selection.stability_path_["stability"]) >= 0.75
    row = chosen_by_hand(selection, least)
    selection.choose_by_stability(least=least, threshold=0.6)
    assert selection.stable_param_value_ == selection.param_values_[row]
    np.testing.assert_array_equal(
        selection.get_support(), selection.selection_path_[:, row] >= 0.6 - 1e-9
    )
    assert selection.threshold_ == 0.6


def test_where_no_penalty_is_stable_enough_it_is_near_the_most_stable(data):
    X, _ = data
    noise = np.random.default_rng(1).standard_normal(len(X))
    selection = select((X, noise), efp=1, resampling=PAIRS)
    row = chosen_by_hand(selection, 0.75)
    with pytest.warns(
        UserWarning, match=r"no value of the path has a stability of 0.75"
    ):
        selection.choose_by_stability()
    assert selection.stable_param_value_ == selection.param_values_[row]
    assert selection.threshold_ == 0.75
    assert not hasattr(selection.fit(X, noise), "stable_param_value_")


@pytest.mark.parametrize("wrong", [{"least": 2}, {"threshold": -1}])
def test_impossible_stabilities(whole, wrong):
    with pytest.raises(
        ValueError, match=f"{next(iter(wrong))} must be between 0 and 1"
    ):
        whole.choose_by_stability(**wrong)

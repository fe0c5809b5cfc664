"""`StabilitySelection`: what it counts, its error control, and what scikit-learn expects of it."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import clone, config_context
from sklearn.base import BaseEstimator
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.feature_selection import (
    SelectFpr,
    SelectKBest,
    SelectorMixin,
    VarianceThreshold,
    f_regression,
)
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from skstab.feature_selection import StabilitySelection, stability_selection_bounds
from skstab.model_selection import ComplementaryPairsSplit, StabilityCV

pytestmark = pytest.mark.filterwarnings(
    "ignore:the expected number of wrong features is not controlled"
)

N, D, TRUE = 60, 20, 3
FEW = {"n_resamples": 10, "n_values": 6, "random_state": 0}
LIBLINEAR = LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0)
SVM = LinearSVC(penalty="l1", random_state=0)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    return X, 2 * X[:, :TRUE].sum(axis=1) + rng.standard_normal(N)


def select(data, estimator=None, **params):
    return StabilitySelection(
        Lasso() if estimator is None else estimator, **{**FEW, **params}
    ).fit(*data)


# -- what is counted ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [Lasso(), ElasticNet(l1_ratio=0.7), LIBLINEAR, SVM]
)
def test_the_path_holds_the_share_of_cold_fits_that_select_a_feature(data, estimator):
    estimator = clone(estimator).set_params(tol=1e-5, max_iter=20_000)
    X, y = data[0], data[1] if isinstance(estimator, ElasticNet) else data[1] > 0
    splits = list(ShuffleSplit(5, train_size=0.5, random_state=0).split(X, y))
    found = select((X, y), estimator, resampling=splits, eps=0.1)
    name = "alpha" if isinstance(estimator, ElasticNet) else "C"
    for place, value in enumerate(found.param_values_):
        fits = [
            clone(estimator).set_params(**{name: value}).fit(X[rows], y[rows])
            for rows, _ in splits
        ]
        share = np.mean([np.ravel(fit.coef_) != 0 for fit in fits], axis=0)
        np.testing.assert_allclose(found.selection_path_[:, place], share, atol=1e-12)
    np.testing.assert_array_equal(
        found.selection_probabilities_, found.selection_path_.max(axis=1)
    )
    np.testing.assert_array_equal(found.scores_, found.selection_probabilities_)


def test_features_at_the_threshold_are_selected(data):
    found = select(data, threshold=0.9)
    np.testing.assert_array_equal(
        found.get_support(), found.selection_probabilities_ > 0.9 - 1e-9
    )
    assert found.get_support()[:TRUE].all()
    assert found.transform(data[0]).shape[1] == found.get_support().sum()


def test_the_values_start_where_all_rows_select_nothing(data):
    X, y = data
    found = select(data, n_values=7, eps=0.05)
    centred = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())) / N
    np.testing.assert_allclose(
        found.param_values_, centred.max() * np.geomspace(1, 0.05, 7)
    )
    found = select((X, y > 0), LIBLINEAR, n_values=3, eps=0.1)
    np.testing.assert_allclose(np.diff(np.log10(found.param_values_)), 0.5)


def test_the_defaults_are_complementary_pairs(data):
    splits = ComplementaryPairsSplit(10, random_state=0)
    found = select(data, resampling=splits)
    assert found.n_subsamples_ == 10
    assert found.pfer_ == pytest.approx(
        stability_selection_bounds(D, q=found.q_, threshold=0.75, n_pairs=5).pfer
        if np.isfinite(found.pfer_)
        else np.inf
    )


def test_plain_subsamples_are_halves_and_have_the_bound_without_assumptions(data):
    seen = []

    class Watch(Lasso):
        def fit(self, X, y):
            seen.append(len(X))
            return super().fit(X, y)

    found = select(
        data,
        Watch(),
        param_name="alpha",
        param_values=[1.0],
        resampling="subsample",
        n_resamples=7,
        q=3,
    )
    assert seen[1:] == [N // 2] * 7  # after one fit on all rows
    assert found.pfer_ == pytest.approx(3**2 / D / (2 * 0.75 - 1))


def test_classes_are_halved(data):
    y = np.arange(N) < 6  # 3 in every half; an unstratified one would often have fewer

    class Watch(LinearSVC):
        def fit(self, X, y):
            counts.append(int(y.sum()))
            return super().fit(X, y)

    counts = []
    select((data[0], y), Watch(penalty="l1"), param_name="C", param_values=[0.1])
    assert counts[1:] == [3] * 10


# -- q, threshold and pfer ---------------------------------------------------------------------------------------------


def test_no_subsample_selects_more_than_q_features(data):
    found = select(data, q=4)
    assert found.q_ == 4
    assert found.selection_path_.sum(axis=0).max() <= 4 + 1e-9
    assert select(data).selection_path_.sum(axis=0).max() > 8


def test_q_and_threshold_give_pfer(data):
    found = select(data, q=3, threshold=0.8)
    assert (
        found.pfer_ == stability_selection_bounds(D, q=3, threshold=0.8, n_pairs=5).pfer
    )


def test_threshold_and_pfer_give_q_before_the_paths(data):
    found = select(data, pfer=1.5, threshold=0.8, assumption="r-concave")
    bounds = stability_selection_bounds(
        D, pfer=1.5, threshold=0.8, n_pairs=5, assumption="r-concave"
    )
    assert (found.q_, found.pfer_) == (bounds.q, bounds.pfer)
    assert found.selection_path_.sum(axis=0).max() <= bounds.q + 1e-9


def test_q_and_pfer_give_the_threshold(data):
    found = select(data, q=3, pfer=0.5, threshold=None)
    assert (
        found.threshold_
        == stability_selection_bounds(D, q=3, pfer=0.5, n_pairs=5).threshold
    )


def test_without_q_and_pfer_the_mean_number_of_features_is_taken(data):
    splits = [(np.arange(0, N, 2), []), (np.arange(1, N, 2), [])]
    found = select(data, resampling=splits, n_values=5)
    union = [
        select(data, resampling=[split] * 2, n_values=5)
        .selection_path_.any(axis=1)
        .sum()
        for split in splits
    ]
    assert found.q_ == np.mean(union)
    assert found.pfer_ == pytest.approx(found.q_**2 / D / 0.5)


def test_retarget_changes_the_selection_without_fitting(data):
    found = select(data, q=3)
    path = found.selection_path_.copy()
    assert found.retarget(threshold=1.0) is found
    np.testing.assert_array_equal(found.get_support(), path.max(axis=1) == 1)
    assert (
        found.pfer_ == stability_selection_bounds(D, q=3, threshold=1.0, n_pairs=5).pfer
    )
    found.retarget(pfer=0.6)
    assert (
        found.threshold_
        == stability_selection_bounds(D, q=3, pfer=0.6, n_pairs=5).threshold
    )
    np.testing.assert_array_equal(found.selection_path_, path)


def test_retarget_takes_one_of_the_two(data):
    found = select(data, q=3)
    for wrong in ({}, {"threshold": 0.9, "pfer": 1}):
        with pytest.raises(ValueError, match="retarget needs either threshold or pfer"):
            found.retarget(**wrong)
    with pytest.raises(NotFittedError):
        StabilitySelection(Lasso()).retarget(threshold=0.9)


@pytest.mark.parametrize("resampling", ["complementary_pairs", "subsample"])
def test_the_bound_holds_for_noise(resampling):
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(20):
        X, y = rng.standard_normal((40, 50)), rng.standard_normal(40)
        found = select(
            (X, y),
            q=5,
            threshold=0.6,
            n_resamples=20,
            resampling=resampling,
            random_state=0,
        )
        errors.append(found.get_support().sum())
    assert np.mean(errors) <= found.pfer_


# -- any estimator -----------------------------------------------------------------------------------------------------


def test_a_selector_is_walked_from_its_sparse_end(data):
    up = select(
        data, SelectKBest(f_regression), param_name="k", param_values=[1, 2, 4, 8], q=4
    )
    down = select(
        data, SelectKBest(f_regression), param_name="k", param_values=[8, 4, 2, 1], q=4
    )
    np.testing.assert_array_equal(up.selection_path_[:, ::-1], down.selection_path_)
    np.testing.assert_allclose(up.selection_path_.sum(axis=0)[:2], [1, 2])
    assert list(down.param_values_) == [8, 4, 2, 1]


def test_the_sparse_end_is_found_whatever_the_parameter_is_called(data):
    wide, narrow = 0.5, 1e-12
    by_pvalue = select(
        data,
        SelectFpr(f_regression),
        param_name="alpha",
        param_values=[wide, narrow],
        q=6,
    )
    assert by_pvalue.selection_path_[:, 1].sum() < by_pvalue.selection_path_[:, 0].sum()
    X = data[0] * np.arange(1, D + 1)
    by_variance = select(
        (X, data[1]),
        VarianceThreshold(),
        param_name="threshold",
        param_values=[0, 100, 300],
        q=8,
    )
    assert (
        by_variance.selection_path_[:, 0].sum()
        >= by_variance.selection_path_[:, 2].sum()
        > 0
    )


def test_after_a_path_has_stopped_its_selection_stays(data):
    found = select(data, q=1)
    np.testing.assert_allclose(found.selection_path_.sum(axis=0)[1:], 1)


def test_a_pipeline_finds_its_own_values(data):
    X, y = data[0] * np.geomspace(1e-3, 1e3, D), data[1]
    found = select((X, y), make_pipeline(StandardScaler(), Lasso()), q=4)
    assert found.param_name_ == "lasso__alpha"
    assert found.get_support()[:TRUE].all()
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(
        found.param_values_[0], np.abs(scaled.T @ (y - y.mean())).max() / N
    )


def test_given_values_keep_their_order(data):
    values = [0.1, 1.0, 0.3]
    found = select(data, param_values=values)
    straight = select(data, param_values=sorted(values, reverse=True))
    np.testing.assert_array_equal(
        found.selection_path_[:, [1, 2, 0]], straight.selection_path_
    )


def test_several_classes(data):
    y = np.digitize(data[1], [-2, 2])
    for estimator in (
        SVM,
        LogisticRegression(l1_ratio=1, solver="saga", tol=1e-2, max_iter=1000),
    ):
        found = select((data[0], y), estimator, n_resamples=4, n_values=3, eps=0.1)
        assert found.selection_probabilities_[:TRUE].min() == 1


def test_random_penalty_weights_show_both_of_two_similar_features(data):
    X = np.column_stack(
        [data[0][:, 0] + 0.3 * np.random.default_rng(1).standard_normal(N), data[0]]
    )
    plain, random = (
        select((X, data[1]), weakness=weakness, n_resamples=40, eps=0.3)
        for weakness in (1.0, 0.2)
    )
    assert random.selection_probabilities_[0] > plain.selection_probabilities_[0] + 0.2
    again = select(
        (sparse.csr_array(X), data[1]), weakness=0.2, n_resamples=40, eps=0.3
    )
    np.testing.assert_allclose(again.selection_path_, random.selection_path_)
    frame = select((pd.DataFrame(X), data[1]), weakness=0.2, n_resamples=40, eps=0.3)
    np.testing.assert_array_equal(frame.selection_path_, random.selection_path_)


def test_stability_cv_reads_the_probabilities(data):
    runs = StabilityCV(
        StabilitySelection(Lasso(), **FEW), cv=ShuffleSplit(3, random_state=0)
    ).fit(*data)
    assert runs.importances_.shape == (3, D)
    assert np.max(runs.importances_) == 1


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_missing_convergence_is_reported_once(data):
    with pytest.warns(
        ConvergenceWarning, match=r"\d+ of 60 fits did not converge"
    ) as caught:
        select(data, Lasso(max_iter=1, tol=1e-12), efp=1)
    assert len(caught) == 1


class Fails(SelectorMixin, BaseEstimator):
    def __init__(self, k=1, odd=0):
        self.k = k
        self.odd = odd

    def fit(self, X, y):  # noqa: ARG002
        if X[0, 0] == self.odd:
            raise RuntimeError("the odd row came first")
        self.n_features_in_ = X.shape[1]
        return self

    def _get_support_mask(self):
        return np.arange(self.n_features_in_) < self.k


def test_a_subsample_that_fails_is_left_out_and_warned_about(data):
    # Row 1 comes first in the halves without row 0.
    with pytest.warns(
        FitFailedWarning,
        match="of 10 subsamples failed and are left out; the first one with RuntimeErr",
    ):
        found = select(
            data, Fails(odd=data[0][1, 0]), param_name="k", param_values=[1, 2]
        )
    assert 0 < found.n_subsamples_ < 10
    np.testing.assert_array_equal(found.selection_probabilities_[:3], [1, 1, 0])


def test_where_all_fail_the_error_is_raised(data):
    with pytest.raises(RuntimeError, match="odd row"):
        select(data, Fails(odd=data[0][0, 0]), param_name="k", param_values=[1])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"threshold": 0.4},
            "threshold must be None or a number from 0.5 to 1 .*only with assumption='r-concave'",
        ),
        ({"threshold": None}, "threshold=None is computed from q and pfer"),
        ({"q": 3, "pfer": 1}, "of threshold, q and pfer two give the third"),
        ({"q": 0}, "q must be None or an int of at least 1"),
        ({"q": D + 1}, "q must be a number above 0 and at most n_features"),
        ({"q": D, "threshold": 0.7}, "raise threshold or lower q"),
        ({"pfer": 0}, "pfer must be None or a positive number"),
        ({"pfer": 1e-4}, "raise pfer or threshold"),
        ({"n_resamples": 5}, "n_resamples must be even"),
        ({"n_resamples": 1}, "n_resamples must be an int of at least 2"),
        ({"n_resamples": 10**400}, "n_resamples must be an int of at least 2"),
        ({"resampling": "jackknife"}, "resampling must be 'complementary_pairs'"),
        ({"resampling": [(np.arange(5), [])]}, "resampling must give at least 2"),
        ({"assumption": "normal"}, "assumption must be one of"),
        ({"weakness": 0}, "weakness must be a number above 0"),
        ({"resampling": [(1, 2, 3)] * 2}, "resampling, X or y can't be used"),
        (
            {"resampling": [(np.array([1, 10**6]), [])] * 2},
            "resampling must give indices of some of the",
        ),
        (
            {"resampling": [("a", "b")] * 2},
            "resampling must give indices of some of the",
        ),
        (
            {"resampling": [(None, None)] * 2},
            "resampling must give indices of some of the",
        ),
        ({"n_values": 0}, "n_values must be an int from 1 to a million"),
        ({"n_values": 10**400}, "n_values must be an int from 1 to a million"),
        ({"eps": 1}, "eps must be None or a number between 0 and 1"),
        ({"param_values": []}, "param_values must be 'auto' or a sequence"),
        ({"estimator": Ridge()}, "param_name='auto' knows Lasso, ElasticNet"),
        (
            {"estimator": Ridge(), "param_name": "alpha"},
            "param_name='auto' knows|does not know the values",
        ),
        (
            {"estimator": Ridge(), "param_name": "alpha", "param_values": [1]},
            "Ridge does not select features",
        ),
        (
            {"estimator": Lasso(positive=True)},
            "param_values='auto' does not know the values of 'alpha' of Lasso",
        ),
    ],
)
def test_wrong_parameters_are_named(data, params, message):
    with pytest.raises(ValueError, match=message):
        select(data, **params)


# -- degenerate data ---------------------------------------------------------------------------------------------------


def test_resamples_that_are_not_pairs_are_named(data):
    with pytest.raises(TypeError, match="resampling, X or y can't be used"):
        select(data, resampling=np.ones(3))


def test_constant_columns_are_never_selected(data):
    X = data[0].copy()
    X[:, 5:] = 0.1
    for y, estimator in (
        (data[1], Lasso()),
        (data[1] > 0, LIBLINEAR),
        (data[1] > 0, SVM),
    ):
        if estimator is not SVM and estimator is not LIBLINEAR:
            assert not select((X, y), estimator).selection_probabilities_[5:].any()
        centred = np.where(X == 0.1, 0, X)
        assert not select((centred, y), estimator).selection_probabilities_[5:].any()


def test_nothing_is_selected_where_nothing_varies():
    found = select((np.full((20, 4), 0.1), np.arange(20.0)))
    assert not found.get_support().any()
    assert not select((np.eye(20)[:, :4], np.full(20, 0.1))).get_support().any()


def test_duplicated_columns_share_the_probability(data):
    X = np.column_stack([data[0][:, 0], data[0]])
    found = select((X, data[1]), q=2)
    assert found.selection_path_.sum(axis=0).max() <= 2 + 1e-9


def test_one_feature(data):
    found = select((data[0][:, :1], data[1]))
    np.testing.assert_array_equal(found.get_support(), [True])


def test_fewer_rows_than_twice_the_classes():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((7, 5)), np.array([0, 0, 0, 1, 1, 1, 2])
    assert select((X, y), SVM).n_subsamples_ == 10
    with pytest.raises(ValueError, match="found no usable split"):
        select((X, np.arange(7) == 0), SVM)


# -- scikit-learn ------------------------------------------------------------------------------------------------------

CHECKED = {
    "lasso": StabilitySelection(Lasso(), n_resamples=6, n_values=4),
    "q": StabilitySelection(Lasso(), n_resamples=6, n_values=4, q=1, threshold=0.9),
    "svm": StabilitySelection(SVM, n_resamples=4, n_values=3, eps=0.1, weakness=0.5),
    "filter": StabilitySelection(
        SelectKBest(), param_name="k", param_values=[1, 2], n_resamples=4
    ),
    "pipeline": StabilitySelection(
        make_pipeline(StandardScaler(), Lasso()), n_resamples=4, n_values=3
    ),
    "two classes only": StabilitySelection(
        LIBLINEAR, n_resamples=4, n_values=3, eps=0.1, efp=1
    ),
    "bound": StabilitySelection(Lasso(), n_resamples=20, n_values=4, pfer=3),
    "computed threshold": StabilitySelection(
        Lasso(), n_resamples=20, n_values=4, q=1, pfer=5, threshold=None
    ),
    "subsamples": StabilitySelection(
        Lasso(), n_resamples=4, n_values=3, resampling="subsample"
    ),
    "efp": StabilitySelection(Lasso(), n_resamples=6, n_values=4, efp=1),
    "fdr": StabilitySelection(SVM, n_resamples=4, n_values=3, eps=0.1, fdr=0.1),
    "forest": StabilitySelection(
        RandomForestClassifier(3, max_depth=2), n_resamples=4, efp=1
    ),
    "boosting": StabilitySelection(
        GradientBoostingRegressor(n_estimators=3), n_resamples=4, n_values=10, q=1
    ),
    "permuted": StabilitySelection(
        Lasso(), n_resamples=4, n_values=3, decoys="permuted", fdr=0.2, n_decoy_draws=1
    ),
    "knockoffs": StabilitySelection(
        Lasso(), n_resamples=4, n_values=3, decoys="knockoffs", fdr=0.2, n_decoy_draws=2
    ),
    "r-concave": StabilitySelection(
        Lasso(), n_resamples=6, n_values=4, threshold=0.4, assumption="r-concave"
    ),
}


@pytest.mark.parametrize("which", CHECKED)
def test_all_checks_of_scikit_learn_pass(which):
    with warnings.catch_warnings(action="ignore"):
        results = check_estimator(CHECKED[which], on_skip=None, on_fail=None)
    assert {
        r["check_name"]: r["exception"] for r in results if r["status"] == "failed"
    } == {}
    assert {r["status"] for r in results} <= {"passed", "skipped"}
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= {
        "check_array_api_input"
    }


def test_the_same_seed_gives_the_same_path_for_any_number_of_jobs(data):
    one = select(data, weakness=0.5)
    two = select(data, weakness=0.5, n_jobs=2)
    other = select(data, weakness=0.5, random_state=1)
    np.testing.assert_array_equal(one.selection_path_, two.selection_path_)
    assert (one.selection_path_ != other.selection_path_).any()


def test_sparse_rows_give_the_same_path(data):
    X = np.where(np.abs(data[0]) > 0.5, data[0], 0)
    for y, estimator in (
        (data[1], Lasso(tol=1e-7)),
        (data[1] > 0, clone(LIBLINEAR).set_params(tol=1e-7)),
    ):
        dense, csr = (
            select((rows, y), estimator, eps=0.1).selection_path_
            for rows in (X, sparse.csr_array(X))
        )
        np.testing.assert_allclose(csr, dense)


def test_names_and_outputs_are_those_of_the_input(data):
    names = [f"gene {number}" for number in range(D)]
    found = select(
        (pd.DataFrame(data[0], columns=names), data[1]), threshold=1.0
    ).set_output(transform="pandas")
    kept = found.transform(pd.DataFrame(data[0], columns=names))
    assert list(kept.columns) == list(found.get_feature_names_out())
    assert set(names[:TRUE]) <= set(kept.columns)


def test_sample_weights_of_zero_leave_rows_out(data):
    X, y = data
    weight = np.ones(N)
    weight[::4] = 0
    splits = list(ShuffleSplit(4, train_size=0.5, random_state=0).split(X))
    positive = [(rows[weight[rows] > 0], test) for rows, test in splits]
    values = np.geomspace(1, 0.1, 5)
    lasso = Lasso(tol=1e-8)
    weighted = StabilitySelection(lasso, resampling=splits, param_values=values).fit(
        X, y, sample_weight=weight
    )
    left_out = StabilitySelection(lasso, resampling=positive, param_values=values).fit(
        X, y
    )
    np.testing.assert_array_equal(weighted.selection_path_, left_out.selection_path_)


@pytest.mark.parametrize("routing", [False, True])
def test_metadata_go_where_they_belong(data, routing):
    seen = []

    class Watch(BaseEstimator):
        def __init__(self, alpha=1.0):
            self.alpha = alpha

        def fit(self, X, y, sample_weight=None):
            seen.append(sample_weight)
            self.n_features_in_, self.coef_ = (
                X.shape[1],
                Lasso(self.alpha).fit(X, y).coef_,
            )
            return self

    groups, weight = np.arange(N) // 6, np.arange(1.0, N + 1)
    with config_context(enable_metadata_routing=routing):
        estimator = Watch().set_fit_request(sample_weight=True) if routing else Watch()
        params = {
            "param_name": "alpha",
            "param_values": [0.5],
            "n_resamples": 4,
            "random_state": 0,
        }
        StabilitySelection(estimator, **params).fit(
            *data, groups=groups, sample_weight=weight
        )
        folds = StabilitySelection(estimator, **{**params, "resampling": GroupKFold(3)})
        assert folds.fit(*data, groups=groups, sample_weight=weight).n_subsamples_ == 3
    halves = [set(groups[(rows - 1).astype(int)]) for rows in seen[1:5]]
    assert [len(half) for half in halves] == [5] * 4
    assert not halves[0] & halves[1]


def test_a_fitted_selection_survives_pickling_and_cloning(data):
    found = select(data)
    again = pickle.loads(pickle.dumps(found))  # noqa: S301
    np.testing.assert_array_equal(again.get_support(), found.get_support())
    assert not hasattr(clone(found), "selection_path_")

"""`StabilitySearchCV`: the table of a `GridSearchCV` over `StabilityCV`, whatever is fitted together."""

import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import sparse
from scipy.stats import loguniform
from sklearn import clone, config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    f_classif,
    f_regression,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
)
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from skstab._engine.candidates import candidates_of, families_of, parts_of_grid
from skstab._engine.shared_predictions import _SharedPredictions
from skstab._engine.together import fit_together
from skstab.feature_selection import HybridRFE
from skstab.metrics import replication_stability
from skstab.model_selection import (
    BootstrapSplit,
    ParetoRefit,
    StabilityCV,
    StabilitySearchCV,
    WholeSampleSplit,
    assess_selector,
    pareto_front,
    search_table,
    stability_scoring,
)

CV = BootstrapSplit(5, random_state=0)

# Grids reach to where nothing, or everything, is selected.
pytestmark = pytest.mark.filterwarnings("ignore:all runs agree because:RuntimeWarning")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def classes():
    return make_classification(
        90, 12, n_informative=4, n_redundant=2, class_sep=0.8, random_state=3
    )


@pytest.fixture(scope="module")
def numbers():
    return make_regression(80, 15, n_informative=4, noise=10.0, random_state=2)


def searched(estimator, grid, data, **params):
    return StabilitySearchCV(
        estimator, grid, **{"cv": CV, "random_state": 0, **params}
    ).fit(*data)


def cold(estimator, grid, data, *, measures=("nogueira",), **params):
    """Every candidate by itself: its runs, and the table of a search of scikit-learn."""
    inner = StabilityCV(
        estimator, **{"cv": CV, "random_state": 0, "measure": measures[0], **params}
    )
    grids = [grid] if isinstance(grid, dict) else grid
    wrapped = [
        {f"estimator__{name}": values for name, values in one.items()} for one in grids
    ]
    search = GridSearchCV(
        inner,
        wrapped,
        cv=WholeSampleSplit(),
        scoring=stability_scoring(measures),
        refit=False,
    )
    runs = [
        clone(inner).set_params(**one).fit(*data).runs_
        for one in ParameterGrid(wrapped)
    ]
    return search.fit(*data).cv_results_, runs


def dense(table):
    return sparse.csr_array(table).toarray()


def assert_same(search, table, runs, rtol=1e-12):
    names = [name for name in table if name.startswith("mean_test")]
    assert set(names) == {
        name for name in search.cv_results_ if name.startswith("mean_test")
    }
    for name in names:
        np.testing.assert_allclose(
            search.cv_results_[name], table[name], rtol=max(rtol, 1e-9), atol=1e-12
        )
    for ours, theirs in zip(search.runs_, runs, strict=True):
        np.testing.assert_array_equal(dense(ours.supports), dense(theirs.supports))
        np.testing.assert_array_equal(ours.refit, theirs.refit)
        np.testing.assert_array_equal(ours.split_numbers, theirs.split_numbers)
        assert (ours.importances is None) == (theirs.importances is None)
        if ours.importances is not None:
            np.testing.assert_allclose(
                dense(ours.importances), dense(theirs.importances), rtol=rtol, atol=rtol
            )


# -- the same as cold fits ---------------------------------------------------------------------------------------------

TIGHT = {"tol": 1e-10, "max_iter": 100_000}


def l1_logistic(**params):
    return LogisticRegression(
        **{"l1_ratio": 1, "solver": "liblinear", "random_state": 0, **TIGHT, **params}
    )


# Along a path, within the tolerance of the cold fits; otherwise exactly.
FOLLOWED = {
    "logistic": (
        make_pipeline(StandardScaler(), l1_logistic()),
        {"logisticregression__C": [1.0, 0.03, 0.2]},
    ),
    "svm": (
        LinearSVC(penalty="l1", dual=False, random_state=0, **TIGHT),
        {"C": [0.01, 0.1, 1.0]},
    ),
    "select from model": (
        make_pipeline(StandardScaler(), SelectFromModel(l1_logistic()), GaussianNB()),
        {
            "selectfrommodel__estimator__C": [0.2, 0.6],
            "gaussiannb__var_smoothing": [1e-9, 1e-2],
        },
    ),
    "select from model with names": (
        make_pipeline(StandardScaler(), SelectFromModel(l1_logistic())).set_output(
            transform="pandas"
        ),
        {"selectfrommodel__estimator__C": [0.05, 0.3]},
    ),
}
SINGLE = {
    "filter": (
        make_pipeline(StandardScaler(), SelectKBest(), GaussianNB()),
        {"selectkbest__k": [2, 5, "all"], "gaussiannb__var_smoothing": [1e-9, 1e-2]},
    ),
    "filter by shares": (
        SelectPercentile(),
        {"percentile": [50, 10, 12.5], "score_func": [f_classif, f_regression]},
    ),
    "rfe": (
        make_pipeline(RFE(LogisticRegression(), step=3), GaussianNB()),
        {"rfe__n_features_to_select": [2, 5, 0.5]},
    ),
    "random rfe": (
        RFE(RandomForestClassifier(4), step=2),
        {"n_features_to_select": [2, 3, 6]},
    ),
    "hybrid rfe": (
        make_pipeline(
            StandardScaler(),
            HybridRFE(n_stable_features=2, criterion="welch", alpha=0.5),
        ),
        {"hybridrfe__n_features_to_select": [2, 3, 7, 12], "hybridrfe__C": [0.1, 1.0]},
    ),
    "hybrid rfe, other stable features": (
        HybridRFE(),
        [
            {
                "n_features_to_select": [3, 7],
                "n_stable_features": [1, 3, 0],
                "shrinkage": [1.0, 0.3],
            },
            {"n_features_to_select": [5], "n_stable_features": [5]},
        ],
    ),
    "steps": (
        Pipeline(
            [
                ("scale", StandardScaler()),
                ("select", SelectKBest(k=3)),
                ("model", GaussianNB()),
            ]
        ),
        [
            {
                "scale": [StandardScaler(), MinMaxScaler(), "passthrough"],
                "model__var_smoothing": [1e-9, 1e-3],
            },
            {"model": [RandomForestClassifier(5), SVC()], "select__k": [3, 4]},
        ],
    ),
    "pipelines inside": (
        make_pipeline(make_pipeline(StandardScaler(), SelectKBest(k=4)), GaussianNB()),
        {"pipeline__selectkbest__k": [2, 4], "gaussiannb__var_smoothing": [1e-9, 1e-3]},
    ),
    "settings of the pipeline": (
        make_pipeline(SelectKBest(k=4), GaussianNB()),
        {"verbose": [False], "memory": [None]},
    ),
    "overwriting": (
        make_pipeline(StandardScaler(copy=False), SelectKBest(), GaussianNB()),
        {"selectkbest__k": [2, 4], "standardscaler__with_mean": [True, False]},
    ),
    "dense logistic": (
        make_pipeline(StandardScaler(), SelectKBest(k=5), LogisticRegression()),
        {"logisticregression__C": [0.1, 1.0]},
    ),
}


@pytest.mark.parametrize("which", FOLLOWED)
def test_paths_are_the_cold_fits_at_their_tolerance(which, classes):
    X, y = classes
    data = (
        (pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])]), y)
        if "names" in which
        else classes
    )
    estimator, grid = FOLLOWED[which]
    assert_same(
        searched(estimator, grid, data), *cold(estimator, grid, data), rtol=1e-5
    )


@pytest.mark.parametrize("which", SINGLE)
def test_shared_steps_and_eliminations_are_exact(which, classes):
    estimator, grid = SINGLE[which]
    (X, y), (X_cold, y_cold) = classes, map(np.copy, classes)
    assert_same(
        searched(estimator, grid, (X.copy(), y)),
        *cold(estimator, grid, (X_cold, y_cold)),
    )


def test_a_measure_for_which_less_is_better_is_negated(classes):
    search = searched(SelectKBest(), {"k": [2, 4]}, classes, measures="krizek")
    assert_same(
        search, *cold(SelectKBest(), {"k": [2, 4]}, classes, measures=["krizek"])
    )
    assert (search.cv_results_["mean_test_neg_krizek"] <= 0).all()


@pytest.mark.parametrize(
    "scoring", [None, "neg_mean_absolute_error", ["r2", "neg_median_absolute_error"]]
)
def test_an_elastic_net_over_two_parameters(scoring, numbers):
    net = ElasticNet(**TIGHT)
    grid = {"alpha": [0.3, 3.0, 30.0], "l1_ratio": [0.3, 0.9]}
    measures = ["nogueira", "importance_weighted"]
    search = searched(net, grid, numbers, scoring=scoring, measures=measures)
    assert_same(
        search, *cold(net, grid, numbers, scoring=scoring, measures=measures), rtol=1e-5
    )


@pytest.mark.parametrize(
    "model",
    [Lasso(tol=1e-6), Lasso(tol=1e-5), Lasso(fit_intercept=False), ElasticNet()],
)
def test_several_outputs_by_either_solver(model, numbers):
    X, y = numbers
    data, grid = (X, np.column_stack([y, X[:, 0] - y])), {"alpha": [1, 20, 5]}
    assert_same(searched(model, grid, data), *cold(model, grid, data), rtol=1e-2)


@pytest.mark.parametrize("n_features", [30, 200])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_candidates_that_select_nothing_have_the_same_rank_as_in_cold_fits(
    n_features, form
):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((130, n_features))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(130)
    # A single value is no path, but a fit of its own.
    both, one = (
        {"alpha": [0.1, 5.0, 6.0], "l1_ratio": [0.5, 1.0]},
        {"alpha": [7.0], "l1_ratio": [0.9]},
    )
    table, _ = cold(ElasticNet(**TIGHT), [both, one], (form(X), y))
    results = searched(ElasticNet(**TIGHT), [both, one], (form(X), y)).cv_results_
    np.testing.assert_array_equal(results["rank_test_score"], table["rank_test_score"])
    assert results["rank_test_score"].tolist() == [2, 1, 3, 3, 3, 3, 3]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("model", [Lasso(), Lasso(tol=1e-8), ElasticNet()])
def test_the_intercept_of_a_model_without_features_is_that_of_a_cold_fit(
    model, n_outputs, form, weighted
):
    rng = np.random.default_rng(1)
    X, y = (
        form(rng.standard_normal((307, 9))),
        3 + rng.standard_normal((307, n_outputs)),
    )
    y = y[:, 0] if n_outputs == 1 else y
    how = {"sample_weight": rng.random(307)} if weighted else {}
    found = fit_together(model, [{"alpha": 2e3}, {"alpha": 1e3}], X, y, how)
    expected = clone(model).set_params(alpha=1e3).fit(X, y, **how)
    assert not expected.coef_.any()
    for one in found:
        np.testing.assert_array_equal(one.coef_, expected.coef_)
        np.testing.assert_array_equal(one.intercept_, expected.intercept_)


def test_more_features_than_rows():
    X, y = make_regression(40, 100, n_informative=5, noise=5.0, random_state=0)
    for model in (Lasso(**TIGHT), ElasticNet(**TIGHT)):
        assert_same(
            searched(model, {"alpha": [3, 20]}, (X, y)),
            *cold(model, {"alpha": [3, 20]}, (X, y)),
            rtol=1e-5,
        )


def test_more_than_two_classes():
    data = load_iris(return_X_y=True)
    svm = LinearSVC(
        penalty="l1", dual=False, random_state=0, tol=1e-6, max_iter=100_000
    )
    assert_same(
        searched(svm, {"C": [0.01, 0.1]}, data),
        *cold(svm, {"C": [0.01, 0.1]}, data),
        rtol=1e-3,
    )
    forest = SelectFromModel(RandomForestClassifier(5))
    grid = {"estimator__max_depth": [1, 3], "threshold": ["mean", "median"]}
    assert_same(searched(forest, grid, data), *cold(forest, grid, data))


def test_sparse_data(classes):
    X, y = classes
    data = sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0)), y
    grid = {"C": [0.1, 1.0]}
    assert_same(
        searched(l1_logistic(), grid, data), *cold(l1_logistic(), grid, data), rtol=1e-5
    )


def test_models_without_a_selection_are_measured_by_their_weights(numbers):
    search = searched(Ridge(), {"alpha": [0.1, 10.0]}, numbers, measures="pearson")
    assert_same(
        search, *cold(Ridge(), {"alpha": [0.1, 10.0]}, numbers, measures=["pearson"])
    )
    with pytest.raises(ValueError, match="Ridge does not select features"):
        searched(Ridge(), {"alpha": [0.1]}, numbers)


def test_invalid_settings_fail_as_in_cold_fits(classes):
    mixed = LogisticRegression(l1_ratio=0.5, solver="liblinear")
    with pytest.raises(ValueError, match="liblinear"):
        searched(mixed, {"C": [0.1, 1.0]}, classes)
    with pytest.raises(ValueError, match="tol"):
        searched(l1_logistic(tol=-1.0), {"C": [0.1, 1.0]}, classes)


# -- what is done once -------------------------------------------------------------------------------------------------

COUNTS = Counter()


class Counting(TransformerMixin, BaseEstimator):
    """Count the fits and transforms."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, X, y=None):  # noqa: ARG002  the signature of scikit-learn
        self.n_features_in_ = X.shape[1]
        COUNTS["fit"] += 1
        return self

    def transform(self, X):
        COUNTS["transform"] += 1
        return X + self.shift

    def get_feature_names_out(self, names=None):
        return np.asarray(names)


def test_steps_that_do_not_change_are_fitted_once_per_resample(classes):
    COUNTS.clear()
    pipe = make_pipeline(Counting(), SelectKBest(), LogisticRegression())
    grid = {"selectkbest__k": [2, 3, 4], "logisticregression__C": [0.1, 1.0]}
    searched(pipe, grid, classes)
    # Five resamples, all rows, and the refit of the best.
    assert COUNTS["fit"] == 7
    # Fitted rows and, for reading and scoring, the rows of the resample and those left out.
    assert COUNTS["transform"] <= 3 * 7


def test_a_path_is_one_fit(classes, monkeypatch):
    fits = []
    fit = LogisticRegression.fit
    monkeypatch.setattr(
        LogisticRegression,
        "fit",
        lambda self, *args, **kw: fits.append(1) or fit(self, *args, **kw),
    )
    searched(l1_logistic(), {"C": [0.1, 0.3, 1.0]}, classes)
    assert len(fits) == 1  # the refit of the best


def families(estimator, grid, **params):
    candidates = candidates_of(estimator, ParameterGrid(grid), whole=False, **params)
    return {number: candidate.chain for number, candidate in enumerate(candidates)}


def test_parts_of_a_grid_hold_every_candidate_once_and_keep_paths_whole():
    chains = families(
        ElasticNet(), {"alpha": [0.1, 1.0, 2.0], "l1_ratio": [0.2, 0.5, 0.9]}
    )
    for n_parts in (1, 2, 3, 7):
        parts = parts_of_grid(chains, n_parts)
        assert len(parts) == min(n_parts, 3)
        assert sorted(n for part in parts for n in part) == list(range(9))
        for part in parts:  # the values of a penalty are followed together
            for family in families_of({n: chains[n] for n in part}):
                assert len(family.siblings) == 3


def test_the_tree_of_a_pipeline():
    pipe = make_pipeline(StandardScaler(), SelectKBest(), LogisticRegression())
    chains = families(
        pipe, {"selectkbest__k": [2, 3], "logisticregression__C": [0.1, 1.0, 10.0]}
    )
    (scaler,) = families_of(chains)
    assert len(scaler.siblings) == 1
    (selector,) = scaler.siblings[0].after
    assert [
        len(model.siblings) for sibling in selector.siblings for model in sibling.after
    ] == [3, 3]


def counted_scores(X, y):
    COUNTS["scores"] += 1
    return f_classif(X, y)


@pytest.mark.parametrize("filters", [SelectKBest, SelectPercentile])
def test_a_filter_scores_the_features_of_a_resample_once(filters, classes):
    COUNTS.clear()
    (parameter,) = filters(f_classif).get_params().keys() - {"score_func"}
    search = searched(filters(counted_scores), {parameter: [1, 2, 3]}, classes)
    assert COUNTS["scores"] == search.n_splits_ + 2  # on all rows, and the best
    with pytest.warns(FitFailedWarning):
        failing = searched(filters(f_classif), {parameter: [1, -2]}, classes)
    assert np.isnan(failing.cv_results_["mean_test_nogueira"]).tolist() == [False, True]


class Powers(SelectKBest):
    """Follows its parameters by itself."""

    __skstab_followed__ = ("k", "score_func")

    def __skstab_fit_each__(self, settings, X, y):
        COUNTS["together"] += 1
        return [clone(self).set_params(**setting).fit(X, y) for setting in settings]


def test_an_estimator_may_say_how_to_fit_it_for_many_values(classes):
    COUNTS.clear()
    grid = {"k": [1, 2, 3], "score_func": [f_classif, f_regression]}
    search = searched(Powers(), grid, classes)
    assert COUNTS["together"] == 6
    assert_same(search, *cold(SelectKBest(), grid, classes))


# -- jobs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("backend", "n_jobs", "n_runs"),
    [("threading", 5, 5), ("threading", 5, 2), ("loky", 2, 5)],
)
def test_the_number_of_jobs_does_not_matter(backend, n_jobs, n_runs, classes):
    cv = BootstrapSplit(n_runs, random_state=0)
    pipe = make_pipeline(SelectKBest(), RandomForestClassifier(3))
    grid = {"selectkbest__k": [2, 4], "randomforestclassifier__max_depth": [1, 2]}
    alone = searched(pipe, grid, classes, cv=cv)
    with parallel_config(backend):
        several = searched(pipe, grid, classes, cv=cv, n_jobs=n_jobs)
    for name in alone.cv_results_:
        if "_test_" in name:
            np.testing.assert_array_equal(
                alone.cv_results_[name], several.cv_results_[name]
            )
    assert alone.best_index_ == several.best_index_


def test_a_checkpoint_is_resumed(classes, tmp_path):
    pipe, grid = (
        make_pipeline(Counting(), SelectKBest(), RandomForestClassifier(3)),
        {"selectkbest__k": [2, 3]},
    )
    path = tmp_path / "search.db"

    def fits(**params):
        COUNTS.clear()
        return searched(pipe, grid, classes, checkpoint=path, **params), COUNTS[
            "fit"
        ] - 2  # on all rows, and the best

    few, many = (BootstrapSplit(n, random_state=0) for n in (3, 5))
    assert [fits(cv=few)[1], fits(cv=few)[1]] == [3, 0]
    resumed, n_fits = fits(cv=many)
    assert n_fits == 2
    assert_same(resumed, *cold(pipe, grid, classes, cv=many))
    assert fits(cv=many, scoring="balanced_accuracy")[1] == 5
    assert fits(cv=many, random_state=1)[1] == 5
    grid["selectkbest__k"] = [2, 4]
    assert fits(cv=many)[1] == 5
    for known in ([3, 2], [3], [4, 2, 3, 4]):  # in any order, fewer or repeated
        grid["selectkbest__k"] = known
        found, n_fits = fits(cv=many)
        assert n_fits == 0
        assert_same(found, *cold(pipe, grid, classes, cv=many))


def test_failed_runs_are_stored(classes, tmp_path):
    pipe = make_pipeline(Counting(), SelectKBest(k=3), Fragile())
    for n_runs in (5, 0):
        COUNTS.clear()
        with pytest.warns(FitFailedWarning):
            searched(
                pipe,
                {"fragile__always": [False]},
                classes,
                cv=KFold(5),
                checkpoint=tmp_path / "runs.db",
            )
        assert COUNTS["fit"] == n_runs + 2  # on all rows, first and last


# -- the table ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def search(classes):
    pipe = make_pipeline(
        StandardScaler(),
        LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0),
    )
    grid = {"logisticregression__C": np.logspace(-2, 1, 6)}
    return searched(
        pipe,
        grid,
        classes,
        scoring=["accuracy", "neg_log_loss"],
        measures=["nogueira", "jaccard"],
    )


def test_the_layout_is_that_of_grid_search(search, classes):
    X, y = classes
    plain = GridSearchCV(
        search.estimator,
        search.param_grid,
        cv=list(CV.split(X, y)),
        scoring=["accuracy", "neg_log_loss"],
        refit=False,
    ).fit(X, y)
    ours = search.cv_results_
    assert set(plain.cv_results_) <= set(ours)
    for name in ("accuracy", "neg_log_loss"):
        for column in [f"split{i}_test_{name}" for i in range(5)] + [
            f"mean_test_{name}",
            f"std_test_{name}",
        ]:
            np.testing.assert_allclose(
                ours[column], plain.cv_results_[column], atol=0.05
            )
        np.testing.assert_allclose(
            np.mean([ours[f"split{i}_test_{name}"] for i in range(5)], axis=0),
            ours[f"mean_test_{name}"],
        )
        assert ours[f"rank_test_{name}"].min() == 1
    np.testing.assert_array_equal(
        ours["param_logisticregression__C"].data,
        plain.cv_results_["param_logisticregression__C"].data,
    )
    assert ours["params"] == plain.cv_results_["params"]
    assert len(pd.DataFrame(ours)) == 6


class Slow(GaussianNB):
    """Takes its time to predict."""

    def predict(self, X):
        time.sleep(0.04)
        return super().predict(X)


class SlowScaler(StandardScaler):
    """Takes its time to transform."""

    def transform(self, X, copy=None):
        time.sleep(0.04)
        return super().transform(X, copy)


def test_seconds_of_scores_are_tabulated(classes, tmp_path):
    def tabulated():
        how = {"scoring": "accuracy", "checkpoint": tmp_path / "runs.db"}
        pipe = make_pipeline(SelectKBest(k=4), Slow())
        search = searched(
            pipe,
            {"slow": [Slow(), GaussianNB()], "slow__var_smoothing": [1e-9, 1e-3]},
            classes,
            **how,
        )
        return search.cv_results_["mean_score_time"], search.cv_results_[
            "std_score_time"
        ]

    mean, deviation = tabulated()
    assert (mean[:2] >= 0.04).all()
    assert (mean > 0).all()
    assert mean[2:].max() < mean[:2].min()
    assert (deviation > 0).all()
    np.testing.assert_array_equal(tabulated(), (mean, deviation))


def test_seconds_of_what_candidates_share_are_divided_equally(classes):
    pipe = make_pipeline(SlowScaler(), SelectKBest(), GaussianNB())
    results = searched(
        pipe, {"selectkbest__k": [1, 2, 3, 4]}, classes, scoring="accuracy"
    ).cv_results_
    times = results["mean_score_time"]
    assert (times >= 0.01).all()
    assert (times < 0.04).all()


def test_models_that_predict_together_share_the_seconds_of_that(classes, monkeypatch):
    def slow(self, X):
        time.sleep(0.04)
        return every(self, X)

    every = _SharedPredictions._predict_all
    monkeypatch.setattr(_SharedPredictions, "_predict_all", slow)
    results = searched(
        l1_logistic(), {"C": [0.05, 0.1, 0.2, 0.4]}, classes, scoring="accuracy"
    ).cv_results_
    times = results["mean_score_time"]
    assert (times >= 0.01).all()
    assert (times < 0.04).all()


def test_without_a_score_there_are_no_seconds_of_it(classes):
    assert np.isnan(
        searched(SelectKBest(), {"k": [1, 3]}, classes).cv_results_["mean_score_time"]
    ).all()


def test_the_table_is_usable_by_what_takes_tables_of_searches(search):
    table = search_table(search)
    assert table["chosen"].sum() == 1
    assert "one_se" in table.loc[search.best_index_, "strategies"]
    front = pareto_front(search.cv_results_, "accuracy", "nogueira")
    assert list(search.front_.index) == list(front)
    assert search.front_["chosen"].dtype == bool
    errors = search.cv_results_["mean_test_accuracy_se"]
    np.testing.assert_allclose(
        table["score_high"] - table["score"], 1.959964 * errors, rtol=1e-6
    )


def test_the_standard_error_of_a_score_is_that_for_other_data(search, classes):
    between = search.cv_results_["std_test_accuracy"] / np.sqrt(4)
    own = search.cv_results_["mean_test_accuracy_se"]
    assert not np.allclose(own, between)
    chosen = ParetoRefit("accuracy", "nogueira", strategy="one_se")(search.cv_results_)
    score, stable = (
        search.cv_results_[f"mean_test_{name}"] for name in ("accuracy", "nogueira")
    )
    splits = np.array(
        [search.cv_results_[f"split{number}_test_accuracy"] for number in range(5)]
    )
    losses = splits[:, [score.argmax()]] - splits
    errors = np.sqrt(1 / 5 + 0.2) * losses.std(axis=0, ddof=1)
    within = losses.mean(axis=0) <= errors + 1e-12
    selects = search.cv_results_["mean_test_n_features"] > 0
    assert (
        chosen == np.flatnonzero(within & selects)[np.argmax(stable[within & selects])]
    )


def test_runs_serve_any_other_measure(search):
    assert len(search.runs_) == 6
    jaccard = [runs.stability("jaccard") for runs in search.runs_]
    np.testing.assert_allclose(search.cv_results_["mean_test_jaccard"], jaccard)
    assert all(not runs.row_losses for runs in search.runs_)


def test_parameters_of_any_kind_are_tabulated(classes):
    steps = [StandardScaler(), "passthrough"]
    pipe = Pipeline([("scale", StandardScaler()), ("model", l1_logistic())])
    grid = [{"scale": steps, "model__C": [1, 0.5]}, {"model__tol": [1e-3]}]
    results = searched(pipe, grid, classes).cv_results_
    assert results["param_model__C"].dtype == float
    assert results["param_model__C"].mask.tolist() == [False] * 4 + [True]
    assert results["param_scale"].dtype == object
    assert [type(value) for value in results["param_scale"].compressed()] == [
        StandardScaler,
        str,
    ] * 2


class Anything(SelectKBest):
    """Selects as its parent does, whatever the parameter is."""

    def __init__(self, value=None):
        super().__init__(k=3)
        self.value = value


VALUES = {
    "beyond 64 bits": [2**70, 1],
    "complex": [1j, 2.0],
    "numbers": [1, 2.5, True],
    "truth": [True, False],
    "unsigned": [2**63, 1],
    "text": ["a", "bcd"],
    "text and numbers": ["a", 1],
    "bytes": [b"a", b"bcd"],
    "none": [None, 1],
    "pairs": [(1, 2), (3, 4)],
    "unequal lists": [[1], [2, 3]],
    "dates": [np.datetime64("2020-01-01"), np.datetime64("2021-01-01")],
    "single precision": [np.float32(1), np.float32(2)],
    "estimators": [
        StandardScaler(),
        make_pipeline(StandardScaler()),
        RandomForestClassifier(),
    ],
}


@pytest.mark.parametrize("kind", VALUES)
def test_columns_of_parameters_have_the_types_of_grid_search(kind, classes):
    X, y = classes
    grid = [{"value": VALUES[kind]}, {}]
    ours = searched(Anything(), grid, classes, cv=KFold(2)).cv_results_["param_value"]
    plain = GridSearchCV(
        Anything(), grid, cv=2, scoring=lambda *_: 0.0, refit=False
    ).fit(X, y)
    theirs = plain.cv_results_["param_value"]
    assert ours.dtype == theirs.dtype
    assert ours.mask.tolist() == theirs.mask.tolist()
    assert list(map(str, ours.compressed())) == list(map(str, theirs.compressed()))


# -- choosing ----------------------------------------------------------------------------------------------------------


def test_ways_to_choose(classes):
    pipe = make_pipeline(StandardScaler(), l1_logistic())
    grid = {"logisticregression__C": np.logspace(-2, 1, 6)}

    def chosen(refit, **params):
        fitted = searched(
            pipe, grid, classes, refit=refit, scoring="accuracy", **params
        )
        return fitted.best_index_, fitted.cv_results_

    index, table = chosen("accuracy")
    assert index == np.argmax(table["mean_test_accuracy"])
    index, table = chosen("nogueira")
    selects = table["mean_test_n_features"] > 0
    assert index == np.argmax(np.where(selects, table["mean_test_nogueira"], -np.inf))
    assert chosen(lambda results: len(results["params"]) - 1)[0] == 5
    tolerant = ParetoRefit("accuracy", "nogueira", strategy="tolerance", tolerance=0.1)
    assert chosen(tolerant)[0] == tolerant(table)
    assert chosen("knee")[0] == ParetoRefit("accuracy", "nogueira")(table)
    with pytest.raises(ValueError, match="needs a tolerance"):
        chosen("tolerance")
    with pytest.raises(
        ValueError,
        match=r"refit must be one of .* 'accuracy', 'nogueira'; got 'accurracy'",
    ):
        chosen("accurracy")


def test_without_a_score_the_most_stable_candidate_is_chosen(classes):
    search = searched(SelectKBest(), {"k": [1, 3, 5]}, classes)
    assert search.best_index_ == np.argmax(search.cv_results_["mean_test_nogueira"])
    assert search.best_score_ == search.cv_results_["mean_test_nogueira"].max()
    assert list(search.front_.index) == [search.best_index_]
    assert search.get_support().sum() == search.best_params_["k"]
    with pytest.raises(ValueError, match="no score to draw"):
        search.plot()


def test_a_search_in_which_nothing_is_selected_warns(numbers):
    with pytest.warns(UserWarning, match="no candidate selects any feature"):
        search = searched(Lasso(), {"alpha": [1e6, 2e6]}, numbers)
    assert search.front_.empty
    assert not search.get_support().any()


# -- a predictor and selector ------------------------------------------------------------------------------------------


def test_the_best_candidate_predicts_and_selects(search, classes):
    X, y = classes
    best = clone(search.estimator).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    np.testing.assert_array_equal(search.get_support(), best[-1].coef_[0] != 0)
    assert search.transform(X).shape[1] == search.get_support().sum()
    np.testing.assert_array_equal(search.classes_, [0, 1])
    assert search.score(X, y) == pytest.approx(np.mean(best.predict(X) == y))
    assert (
        search.best_score_
        == search.cv_results_["mean_test_accuracy"][search.best_index_]
    )


def test_methods_are_there_only_where_the_estimator_has_them(numbers):
    search = StabilitySearchCV(SelectKBest(f_regression), {"k": [1, 2]}, cv=CV)
    assert not hasattr(search, "predict")
    assert not hasattr(search, "score")
    with pytest.raises(NotFittedError):
        search.get_support()
    assert not hasattr(search.fit(*numbers), "predict")


def test_names_of_features(classes):
    X, y = classes
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(X.shape[1])])
    search = searched(SelectKBest(), {"k": [2]}, (frame, y))
    assert list(search.get_feature_names_out()) == list(
        frame.columns[search.get_support()]
    )
    assert list(search.runs_[0].feature_names) == list(frame.columns)


def test_notebooks_show_the_front(search):
    html = search._repr_html_()
    assert "Candidates on the front" in html
    assert (
        html.partition("</table>")[0].count("<tr") == len(search.front_) + 2
    )  # with the header and the name of the index
    assert "front" not in clone(search)._repr_html_().lower()
    assert "Candidates on the front" in search._repr_mimebundle_()["text/html"]


def test_the_picture(search):
    pytest.importorskip("matplotlib").use("agg")
    display = search.plot()
    assert display.frame()["chosen"].idxmax() == search.best_index_
    assert display.ax_.get_xlabel() == "accuracy"
    label = search.plot(score="neg_log_loss", stability="jaccard").ax_.get_ylabel()
    assert label.startswith("stability (jaccard)\nintervals: ")


# -- candidates --------------------------------------------------------------------------------------------------------


def test_candidates_are_sampled_reproducibly(classes):
    first, second = (
        searched(l1_logistic(), {"C": loguniform(0.01, 1)}, classes, n_iter=4)
        for _ in range(2)
    )
    assert first.cv_results_["params"] == second.cv_results_["params"]
    assert len(first.cv_results_["params"]) == 4
    with pytest.raises(
        ValueError, match="n_iter must be an int where param_grid holds distributions"
    ):
        searched(l1_logistic(), {"C": loguniform(0.01, 1)}, classes)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"estimator": LogisticRegression}, "estimator must be"),
        ({"param_grid": [1]}, "param_grid must be a dict"),
        ({"n_iter": 0}, "n_iter must be"),
        ({"refit": 1}, "refit must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"error_score": "no"}, "error_score must be"),
        ({"measures": ["nogueira", "nogueira"]}, "different names"),
        ({"measures": []}, "measures must be a measure or at least one"),
        (
            {"scoring": "nogueira"},
            "^scoring='nogueira' is a measure of stability.*StabilitySearchCV, in measures",
        ),
        (
            {"scoring": ["accuracy", "kuncheva"]},
            "^scoring='kuncheva' is a measure of stability",
        ),
        (
            {"cv": Lasso()},
            "^cv must be .* only chooses rows, got the estimator Lasso",
        ),
        (
            {
                "scoring": "neg_log_loss",
                "estimator": LinearSVC(penalty="l1", dual=False),
            },
            "does not fit the estimator",
        ),
    ],
)
def test_wrong_parameters(params, message, classes):
    given = {
        "estimator": l1_logistic(),
        "param_grid": {"C": [0.1, 1.0]},
        "cv": CV,
        **params,
    }
    with pytest.raises(ValueError, match=message):
        StabilitySearchCV(**given).fit(*classes)


def test_parameters_that_do_not_exist_are_an_error(classes):
    with pytest.raises(ValueError, match="Invalid parameter"):
        searched(l1_logistic(), {"D": [1]}, classes)


# -- failures ----------------------------------------------------------------------------------------------------------


class Fragile(GaussianNB):
    """Fails on the training rows of a fold whose last row is of class 1, or always."""

    def __init__(self, *, priors=None, var_smoothing=1e-9, always=False):
        super().__init__(priors=priors, var_smoothing=var_smoothing)
        self.always = always

    def fit(self, X, y, sample_weight=None):
        if self.always or (len(y) == 72 and y[-1]):
            raise RuntimeError("fragile")
        return super().fit(X, y, sample_weight)


def test_failed_fits_are_left_out_and_failed_candidates_are_missing(classes):
    pipe = make_pipeline(SelectKBest(k=3), Fragile())
    grid = {"fragile__always": [False, True]}
    cv = KFold(5)
    with pytest.warns(
        FitFailedWarning, match=r"of 10 fits failed and are left out, 1 of 2 candidates"
    ):
        search = searched(pipe, grid, classes, cv=cv)
    first = search.runs_[0]
    assert 0 < first.n_failed < 4
    assert search.best_index_ == 0
    missing = [
        i for i in range(5) if np.isnan(search.cv_results_[f"split{i}_test_score"][0])
    ]
    assert sorted([*missing, *first.split_numbers]) == list(range(5))
    assert np.isnan(search.cv_results_["mean_test_nogueira"][1])
    assert search.cv_results_["rank_test_score"].tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="fragile"):
        searched(pipe, grid, classes, cv=cv, error_score="raise")
    with pytest.raises(RuntimeError, match="fragile"):
        searched(pipe, {"fragile__always": [True]}, classes, cv=cv)


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)  # without an L1 penalty, scikit-learn 1.8
def test_a_candidate_that_cannot_be_measured_is_named_with_the_reason(numbers):
    with pytest.warns(FitFailedWarning) as caught:
        search = searched(ElasticNet(), {"l1_ratio": [0, 0.5]}, numbers)
    (message,) = [
        str(one.message) for one in caught if one.category is FitFailedWarning
    ]
    assert message.startswith("1 of 2 candidates can't be measured")
    assert "ElasticNet does not select features, it keeps every feature" in message
    assert [runs.n_failed for runs in search.runs_] == [0, 0]
    assert np.isnan(search.cv_results_["mean_test_nogueira"]).tolist() == [True, False]


def test_scores_that_fail_have_the_error_score(classes):
    def broken(estimator, X, y):
        raise RuntimeError("no score")

    with pytest.warns(UserWarning, match="scoring failed in 10 of 10 fits"):
        search = searched(
            SelectKBest(),
            {"k": [1, 2]},
            classes,
            scoring=broken,
            error_score=-1.0,
            refit="nogueira",
        )
    assert (search.cv_results_["mean_test_score"] == -1).all()


# -- metadata and callbacks --------------------------------------------------------------------------------------------


def test_sample_weights_reach_paths_and_single_fits(classes):
    X, y = classes
    weight = np.random.default_rng(0).uniform(0.1, 3, len(y))
    for estimator in (l1_logistic(), RFE(LogisticRegression())):
        grid = (
            {"C": [0.05, 0.5]}
            if estimator.__class__ is LogisticRegression
            else {"n_features_to_select": [2, 4]}
        )
        search = StabilitySearchCV(estimator, grid, cv=CV, random_state=0).fit(
            X, y, sample_weight=weight
        )
        for runs, params in zip(search.runs_, ParameterGrid(grid), strict=True):
            alone = StabilityCV(
                clone(estimator).set_params(**params), cv=CV, random_state=0
            )
            alone.fit(X, y, sample_weight=weight)
            np.testing.assert_array_equal(dense(runs.supports), dense(alone.supports_))


def test_metadata_are_routed(classes):
    X, y = classes
    weight = np.random.default_rng(0).uniform(0.1, 3, len(y))
    groups = np.arange(len(y)) // 3
    with config_context(enable_metadata_routing=True):
        model = (
            l1_logistic()
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True)
        )
        cv = BootstrapSplit(4, random_state=0).set_split_request(groups=True)
        search = StabilitySearchCV(model, {"C": [0.05, 0.5]}, cv=cv, random_state=0)
        search.fit(X, y, sample_weight=weight, groups=groups)
        alone = StabilityCV(clone(model).set_params(C=0.5), cv=cv, random_state=0)
        alone.fit(X, y, sample_weight=weight, groups=groups)
        np.testing.assert_array_equal(
            dense(search.runs_[1].supports), dense(alone.supports_)
        )
        np.testing.assert_allclose(
            search.runs_[1].scores["score"], alone.scores_["score"]
        )
        expected = search.best_estimator_.score(X, y, sample_weight=weight)
        assert search.score(X, y, sample_weight=weight) == expected


def test_progress_is_reported_for_each_resample(classes, capsys):
    callback = pytest.importorskip("sklearn.callback")
    bar = callback.ProgressBar()
    search = StabilitySearchCV(
        make_pipeline(SimpleImputer(), SelectKBest(k=2)),
        {"selectkbest__k": [1, 2]},
        cv=CV,
    )
    search.set_callbacks(bar).fit(*classes)
    assert "StabilitySearchCV" in capsys.readouterr().out


def test_another_search_may_hold_it(numbers):
    X, y = numbers
    pipe = make_pipeline(
        StabilitySearchCV(Lasso(), {"alpha": [1.0, 10.0]}, cv=CV, random_state=0),
        LinearRegression(),
    )
    assert pipe.fit(X, y)[-1].n_features_in_ == pipe[0].get_support().sum()


# -- halves ------------------------------------------------------------------------------------------------------------


def test_the_front_is_compared_on_halves():
    X, y = make_regression(60, 15, n_informative=6, noise=120, random_state=0)
    grid = {"alpha": [2.0, 8.0, 16.0]}
    settings = {"cv": BootstrapSplit(8, random_state=0), "random_state": 0}
    search = StabilitySearchCV(Lasso(), grid, n_pairs=4, **settings).fit(X, y)
    plain = StabilitySearchCV(Lasso(), grid, **settings).fit(X, y)
    assert set(search.halves_) == set(search.front_.index)
    assert search.best_index_ == plain.best_index_
    for number, halves in search.halves_.items():
        alone = assess_selector(
            Lasso(grid["alpha"][number]), X, y, n_pairs=4, n_decoy_draws=0, **settings
        ).halves
        np.testing.assert_array_equal(halves.supports, alone.supports)
        expected = replication_stability(halves)
        row = search.front_.loc[number]
        assert row["replication"] == pytest.approx(expected.estimate)
        assert row["replication_low"] == pytest.approx(expected.low)
    assert "replication" not in plain.front_
    assert not hasattr(plain, "halves_")


def test_a_search_has_no_pairs_or_enough():
    with pytest.raises(
        ValueError, match="n_pairs must be 0 or an int of at least 3, got 2"
    ):
        StabilitySearchCV(Lasso(), {"alpha": [1.0, 2.0]}, n_pairs=2).fit(
            np.zeros((10, 3)), np.zeros(10)
        )

"""How objects are read that say what they selected in ways of their own."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skstab import BootstrapSplit, StabilityCV
from skstab.runs import (
    CoefPath,
    Reading,
    Runs,
    Selection,
    _readers,
    coef_path_of,
    read_run,
    reading_with,
    register_reader,
    registered_readers,
    selection_of,
)

D = 6


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, D)) * [1, 2, 3, 1, 2, 3]
    return X, (X[:, 0] - X[:, 1] + X[:, 2] > 0).astype(int)


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    monkeypatch.setattr(_readers, "_registered", [])


class Fitted(BaseEstimator):
    """An object with the attributes given, and whatever `fit` is for."""

    def __init__(self, attributes=None):
        self.attributes = attributes

    def fit(self, _X, _y=None):
        vars(self).update(self.attributes or {})
        return self


class Picker(Fitted):
    """The same with `transform`."""

    def transform(self, X):
        return np.asarray(X)[:, [0, 2]]


def mask(*columns):
    return np.isin(np.arange(D), columns)


# -- the order ---------------------------------------------------------------------------------------------------------


def test_a_reader_can_be_taken_out_again():
    before = registered_readers()
    remove = register_reader(Lasso, lambda _: np.array([3]))
    assert len(registered_readers()) == len(before) + 1
    remove()
    remove()
    assert registered_readers() == before


def test_registered_readers_come_first_and_the_last_of_them_before_others(data):
    X, _ = data

    class Own(Fitted):
        def __skstab_selection__(self):
            return {"support": [1], "importances": np.arange(D)}

        def get_support(self):
            return mask(5)

    fitted = Own({"k_feature_idx_": (4,)}).fit(X)
    assert selection_of(fitted, X).support.tolist() == mask(1).tolist()
    register_reader(lambda e: isinstance(e, Own), lambda _: [2])
    np.testing.assert_array_equal(selection_of(fitted, X).support, mask(2))
    register_reader(Own, lambda _: np.array([3]))
    np.testing.assert_array_equal(selection_of(fitted, X).support, mask(3))
    register_reader(Own, lambda _: None)  # can't read this one
    found = selection_of(fitted, X)
    np.testing.assert_array_equal(found.support, mask(3))
    # What a reader leaves open, the next one fills.
    np.testing.assert_array_equal(found.importances, np.where(mask(3), np.arange(D), 0))
    assert found.has_selector


def test_the_packages_readers_come_before_get_support_and_that_before_support(data):
    X, _ = data

    class Both(Picker):
        def get_support(self):
            return mask(5)

    np.testing.assert_array_equal(
        selection_of(Both({"k_feature_idx_": (4, 1)}).fit(X), X).support, mask(1, 4)
    )
    np.testing.assert_array_equal(
        selection_of(Both({"support_": mask(3)}).fit(X), X).support, mask(5)
    )
    np.testing.assert_array_equal(
        selection_of(Picker({"support_": mask(3)}).fit(X), X).support, mask(3)
    )


def test_the_users_getter_comes_before_the_readers_importances(data):
    X, _ = data
    register_reader(Fitted, lambda _: {"support": [0, 1], "importances": np.ones(D)})
    found = selection_of(
        Fitted().fit(X), X, importance_getter=lambda _: np.full(D, 7.0)
    )
    np.testing.assert_array_equal(found.importances, np.where(mask(0, 1), 7.0, 0.0))


def test_readers_go_to_workers_of_other_processes(data):
    X, y = data
    register_reader(
        lambda e: isinstance(e, Lasso),
        lambda m: {"support": np.argsort(-np.abs(m.coef_))[:2]},
    )
    runs = StabilityCV(Lasso(0.01), cv=BootstrapSplit(4, random_state=0), n_jobs=2).fit(
        X, y
    )
    np.testing.assert_array_equal(runs.supports_.sum(axis=1), 2)
    with reading_with(()):
        assert registered_readers() == ()
        assert selection_of(Lasso(0.01).fit(X, y), X, y).support.sum() > 2
    assert len(registered_readers()) == 1


@pytest.mark.parametrize("bad", ["text", {"supports": [1]}, 3])
def test_what_a_reader_may_return(bad, data):
    X, _ = data
    register_reader(Fitted, lambda _: bad)
    with pytest.raises(
        TypeError, match="reader of Fitted must return a dict with any of support"
    ):
        selection_of(Fitted().fit(X), X)
    with pytest.raises(TypeError, match="reader must be callable, got 3"):
        register_reader(Fitted, 3)
    with pytest.raises(TypeError, match="type_or_predicate must be callable"):
        register_reader("Fitted", lambda _: None)


@pytest.mark.parametrize(
    ("support", "columns"),
    [
        (mask(1, 3), [1, 3]),
        ([1, 3], [1, 3]),
        ([0, 1, 0, 1, 0, 0], [1, 3]),
        ([], []),
        (np.array([5]), [5]),
    ],
)
def test_a_support_is_a_mask_or_indices(support, columns, data):
    X, _ = data
    register_reader(
        Fitted,
        lambda _: {"support": np.asarray(support, dtype=None if len(support) else int)},
    )
    np.testing.assert_array_equal(
        selection_of(Fitted().fit(X), X).support, mask(*columns)
    )


@pytest.mark.parametrize(
    "support", [[0, 6], [1, 1], [-1], [0.5], ["a"], [True, False], [[0]]]
)
def test_what_is_neither_a_mask_nor_indices(support, data):
    X, _ = data
    register_reader(Fitted, lambda _: {"support": support})
    with pytest.raises(
        ValueError, match="must be a mask of 6 features, or indices of columns"
    ):
        selection_of(Fitted().fit(X), X)


def test_two_features_whose_support_may_be_a_mask_or_indices(data):
    X = data[0][:, :2]
    register_reader(Fitted, lambda _: {"support": [0, 1]})
    with pytest.raises(ValueError, match="may be either: return booleans"):
        selection_of(Fitted().fit(X), X)


def test_the_rows_of_a_support_vector_machine_are_not_its_support(data):
    X, y = data
    assert selection_of(SVC(kernel="linear").fit(X, y), X, y).support is None


def test_names_that_are_a_subset_of_those_seen(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcdef"))

    class ByName(TransformerMixin, BaseEstimator):
        def fit(self, X, _y=None):
            self.feature_names_in_, self.kept_ = list(X.columns), ["f", "b"]
            self.n_features_in_ = X.shape[1]
            return self

        def transform(self, X):
            return X[self.kept_]

        def get_feature_names_out(self, _names=None):
            return self.kept_

    np.testing.assert_array_equal(
        selection_of(ByName().fit(frame), frame).support, mask(1, 5)
    )
    pipe = make_pipeline(ByName(), LogisticRegression()).fit(frame, y)
    found = selection_of(pipe, frame, y)
    np.testing.assert_array_equal(found.support, mask(1, 5))
    np.testing.assert_allclose(found.coef[[5, 1]], pipe[-1].coef_[0])
    # The non-zero coefficients of a sparse model say more.
    sparse = make_pipeline(ByName(), Lasso(10.0)).fit(frame, y)
    assert not selection_of(sparse, frame, y).support.any()


# -- packages, by the attributes of their objects ----------------------------------------------------------------------


def test_a_ranking_of_which_the_first_are_kept_counts_with_its_sign(data):
    X, _ = data
    scores = np.array([0.1, -0.3, 0.4, 0.2, -0.1, 0.0])
    relief = {
        "top_features_": np.argsort(-scores),
        "feature_importances_": scores,
        "n_features_to_select": 2,
    }
    found = selection_of(Picker(relief).fit(X), X)
    np.testing.assert_array_equal(found.support, mask(2, 3))
    np.testing.assert_allclose(
        found.importances, np.where(mask(2, 3), scores + 0.3, 0.0)
    )


def test_a_selector_that_reorders_its_columns(data):
    X, y = data

    class Reversed(Picker):
        def transform(self, X):
            return np.asarray(X)[:, [4, 1]]

    ranked = {
        "top_features_": np.array([4, 1, 0, 2, 3, 5]),
        "feature_importances_": np.ones(D),
        "n_features_to_select": 2,
    }
    pipe = make_pipeline(Reversed(ranked), LogisticRegression()).fit(X, y)
    coef = selection_of(pipe, X, y).coef
    np.testing.assert_allclose(coef[[4, 1]], pipe[-1].coef_[0])


class GroupLasso(RegressorMixin, BaseEstimator):
    """Its `coef_` has one row per feature."""

    def __init__(self, coef=None):
        self.coef = coef

    def fit(self, _X, _y=None):
        self.coef_, self.group_reg_vector_ = np.asarray(self.coef, dtype=float), [1.0]
        return self


class FastCan(SelectorMixin, BaseEstimator):
    """As of the package fastcan: scores in the order in which features were selected."""

    def fit(self, _X, _y=None):
        self.indices_ = np.array([4, 1], dtype=np.int32)
        self.scores_ = np.array([0.6, 0.2])
        return self

    def _get_support_mask(self):
        return mask(1, 4)


def test_scores_of_what_was_selected_are_in_the_order_of_its_indices(data):
    X, y = data
    found = selection_of(FastCan().fit(X), X)
    np.testing.assert_array_equal(np.flatnonzero(found.support), [1, 4])
    np.testing.assert_array_equal(found.importances[[1, 4]], [0.2, 0.6])
    # Nothing is known of the order of others.
    other = FastCan().fit(X)
    del other.indices_
    assert selection_of(other, X, y).importances is None


def test_coefficients_with_one_row_per_feature(data):
    X, y = data
    coef = np.zeros((D, 2))
    coef[[1, 4]] = [[3.0, 4.0], [0.0, 2.0]]
    found = selection_of(GroupLasso(coef).fit(X), X, y)
    np.testing.assert_array_equal(found.support, mask(1, 4))
    np.testing.assert_allclose(
        found.importances, np.linalg.norm(coef, axis=1) * X.std(axis=0)
    )
    assert found.coef is None
    one = selection_of(GroupLasso(coef[:, 1:]).fit(X), X, y)
    np.testing.assert_allclose(one.coef, coef[:, 1])


def coxnet(coef):
    n_alphas = coef.shape[1]
    return Fitted(
        {
            "coef_": coef,
            "alphas_": np.geomspace(1, 0.1, n_alphas),
            "deviance_ratio_": np.zeros(n_alphas),
        }
    )


@pytest.mark.parametrize(
    "n_alphas", [3, D]
)  # with as many as features, the shape says nothing
def test_a_path_in_the_coefficients_is_read_at_its_end(n_alphas, data):
    X, _ = data
    coef = np.zeros((D, n_alphas))
    coef[2, 1:], coef[5, -1] = -1.5, 0.5
    fitted = coxnet(coef).fit(X)
    for getter in ("auto", "coef_"):
        found = selection_of(fitted, X, importance_getter=getter)
        np.testing.assert_array_equal(found.support, mask(2, 5))
        np.testing.assert_allclose(found.coef, coef[:, -1])
        np.testing.assert_allclose(
            found.importances, np.abs(coef[:, -1]) * X.std(axis=0)
        )
    path = coef_path_of(fitted)
    assert path.param_name == "alphas"
    np.testing.assert_array_equal(path.coefs, coef.T)
    np.testing.assert_array_equal(path.values, fitted.alphas_)


def test_a_registered_path(data):
    X, _ = data
    register_reader(Fitted, lambda m: CoefPath("lams", m.lams_, m.paths_))
    fitted = Fitted({"lams_": [2.0, 1.0], "paths_": np.eye(D)[:2]}).fit(X)
    assert coef_path_of(fitted).param_name == "lams"
    np.testing.assert_array_equal(selection_of(fitted, X).support, mask(1))
    assert coef_path_of(Ridge().fit(X, X[:, 0])) is None


def test_boosting_of_components_has_an_intercept_first(data):
    X, _ = data
    coef = np.array([9.0, 0, 1.0, 0, 0, 0, -2.0])
    fitted = Fitted(
        {
            "coef_": coef,
            "estimators_": [SimpleNamespace(component=1)],
            "n_features_in_": D,
        }
    ).fit(X)
    np.testing.assert_allclose(selection_of(fitted, X).coef, coef[1:])


# -- axes are never guessed --------------------------------------------------------------------------------------------


class Elsewhere(RegressorMixin, BaseEstimator):
    """A model of no package that is known."""

    def __init__(self, coef=None):
        self.coef = coef

    def fit(self, _X, _y=None):
        self.coef_ = self.coef
        return self


@pytest.mark.parametrize("shape", [(D, D), (D, 1), (D, 3)])
def test_a_coef_whose_first_axis_may_be_the_features_is_an_error(shape, data):
    X, y = data
    fitted = Elsewhere(np.ones(shape)).fit(X)
    with pytest.raises(
        ValueError, match=r"Elsewhere.coef_ has shape .* register a reader"
    ):
        selection_of(fitted, X, y)
    register_reader(Elsewhere, lambda m: {"coef": m.coef_.T})
    np.testing.assert_array_equal(selection_of(fitted, X, y).support, mask(*range(D)))


def test_scikit_learn_has_one_row_per_output_though_there_are_as_many_as_features(data):
    X, _ = data
    coef = np.diag(np.arange(D) + 1.0)[:, ::-1]
    Y = X @ coef.T
    model = Ridge(1e-8).fit(X, Y)
    assert model.coef_.shape == (D, D)
    found = selection_of(model, X, Y, scale_importances=False)
    np.testing.assert_allclose(
        found.importances, np.linalg.norm(coef, axis=0), rtol=1e-4
    )


# -- support and importances apart -------------------------------------------------------------------------------------


class Probed(Picker):
    """Has a support, and importances of more columns than it was given."""

    def get_support(self):
        return mask(0, 2)


def test_importances_that_can_not_be_read_do_not_lose_the_support(data):
    X, y = data
    fitted = Probed({"feature_importances_": np.ones(D + 2)}).fit(X)
    with pytest.warns(
        UserWarning,
        match=r"no importances.*Probed.feature_importances_ returned .*\(8,\)",
    ):
        found = selection_of(fitted, X, y)
    np.testing.assert_array_equal(found.support, mask(0, 2))
    assert found.importances is None
    reading = read_run(fitted, X, y)
    assert "feature_importances_" in reading.why_no_importances
    with pytest.raises(ValueError, match="importance_getter='feature_importances_'"):
        selection_of(fitted, X, y, importance_getter="feature_importances_")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_warning_for_all_runs(n_jobs, data):
    X, y = data
    with pytest.warns(UserWarning, match="no importances") as caught:
        runs = StabilityCV(
            Probed({"feature_importances_": np.ones(D + 2)}), cv=5, n_jobs=n_jobs
        ).fit(X, y)
    assert len(caught) == 1
    assert runs.importances_ is None
    np.testing.assert_array_equal(runs.supports_.all(axis=0), mask(0, 2))


def test_importances_that_only_some_runs_have():
    known, lost = (
        Selection(mask(0), np.ones(D), None, True),
        Selection(mask(0), None, None, True),
    )
    readings = [Reading(known, None, None), Reading(lost, None, "NaN")]
    with pytest.warns(
        UserWarning, match="importances of 1 of 2 runs cannot be read.*NaN"
    ):
        runs = Runs.from_selections(readings, D)
    assert runs.importances is None


def test_importances_labelled_by_names_are_put_in_order(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcdef"))
    values = pd.Series([6.0, 1.0, 2.0, 3.0, 4.0, 5.0, 9.0], index=[*"fabcde", "probe"])
    fitted = Probed(
        {
            "feature_importances_": values,
            "feature_names_in_": np.array(list("abcdef"), object),
        }
    ).fit(frame)
    np.testing.assert_array_equal(
        selection_of(fitted, frame, y).importances,
        np.where(mask(0, 2), np.arange(D) + 1.0, 0),
    )


# -- signs -------------------------------------------------------------------------------------------------------------


def test_which_values_count_with_their_sign(data):
    X, _ = data
    values = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
    by_size, from_lowest = np.abs(values), values + 2.0
    forest = Fitted({"feature_importances_": values}).fit(X)
    np.testing.assert_array_equal(selection_of(forest, X).importances, from_lowest)
    for path, expected in (("feature_importances_", from_lowest), ("other_", by_size)):
        fitted = Fitted({path: values}).fit(X)
        np.testing.assert_array_equal(
            selection_of(fitted, X, importance_getter=path).importances, expected
        )

    def getter(_):
        return values

    np.testing.assert_array_equal(
        selection_of(forest, X, importance_getter=getter).importances, by_size
    )
    getter.signed = True
    np.testing.assert_array_equal(
        selection_of(forest, X, importance_getter=getter).importances, from_lowest
    )
    register_reader(Fitted, lambda _: {"importances": values})
    np.testing.assert_array_equal(
        selection_of(Fitted().fit(X), X).importances, from_lowest
    )


# -- rows that the model saw -------------------------------------------------------------------------------------------


class Doubled(BaseEstimator):
    """A sampler: repeats random rows of the smaller class, as imbalanced-learn's do."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit_resample(self, X, y):
        rng = np.random.default_rng(self.random_state)
        rows = np.r_[np.arange(len(y)), rng.choice(np.flatnonzero(y == 1), 40)]
        self.rows_ = rows
        return X[rows], np.asarray(y)[rows]

    def get_feature_names_out(self, input_features=None):
        return input_features


class SamplingPipeline(Pipeline):
    """The part of imbalanced-learn's pipeline that matters here."""

    def __init__(self, steps):
        super().__init__(steps)

    def fit(self, X, y):
        for _, step in self.steps[:-1]:
            X, y = (
                step.fit_resample(X, y)
                if hasattr(step, "fit_resample")
                else (step.fit_transform(X), y)
            )
        self.steps[-1][1].fit(X, y)
        self.seen_ = X, y
        return self

    def _validate_steps(self):
        pass


@pytest.mark.parametrize("scaler", [None, StandardScaler()])
def test_after_a_sampler_the_rows_are_those_the_model_saw(scaler, data):
    X, y = data
    steps = [("scale", scaler)] if scaler is not None else []
    model = LogisticRegression(l1_ratio=1, C=0.5, solver="liblinear")
    pipe = SamplingPipeline([*steps, ("sampler", Doubled(3)), ("model", model)]).fit(
        X, y
    )
    seen_X, seen_y = pipe.seen_
    assert len(seen_X) == len(X) + 40
    np.testing.assert_allclose(
        selection_of(pipe, X, y).importances,
        np.abs(model.coef_[0]) * seen_X.std(axis=0),
    )

    def getter(model, X, y):
        np.testing.assert_array_equal(X, seen_X)
        np.testing.assert_array_equal(y, seen_y)
        return np.ones(D)

    selection_of(pipe, X, y, importance_getter=getter)


@pytest.mark.parametrize("seed", [None, np.random.RandomState(0)])
def test_rows_of_a_sampler_that_can_not_be_repeated_are_not_made_up(seed, data):
    X, y = data
    pipe = SamplingPipeline([("sampler", Doubled()), ("model", Lasso(0.05))]).fit(X, y)
    pipe.steps[0][1].random_state = seed
    with pytest.warns(UserWarning, match="rows that Doubled made are not known"):
        found = selection_of(pipe, X, y)
    assert found.importances is None
    np.testing.assert_array_equal(found.support, pipe.steps[-1][1].coef_ != 0)
    assert selection_of(pipe, X, y, scale_importances=False).importances is not None
    with pytest.raises(ValueError, match="rows that Doubled made are not known"):
        selection_of(pipe, X, y, importance_getter=lambda _model, _X, _y: np.ones(D))


def test_members_with_a_sampler_of_their_own(data):
    X, y = data

    class Balanced(ClassifierMixin, BaseEstimator):
        def __init__(self, estimator=None):
            self.estimator = estimator

        def fit(self, X, y):
            rng = np.random.default_rng(0)
            self.estimators_samples_ = [rng.choice(len(y), 50) for _ in range(2)]
            make = lambda: LogisticRegression(l1_ratio=1, C=0.5, solver="liblinear")  # noqa: E731
            self.estimators_ = [
                SamplingPipeline([("sampler", Doubled(i)), ("model", make())]).fit(
                    X[rows], y[rows]
                )
                for i, rows in enumerate(self.estimators_samples_)
            ]
            return self

    bag = Balanced(LogisticRegression()).fit(X, y)
    rows = [
        np.abs(m.steps[-1][1].coef_[0]) * m.seen_[0].std(axis=0)
        for m in bag.estimators_
    ]
    found = selection_of(bag, X, y)
    np.testing.assert_allclose(found.importances, np.linalg.norm(rows, axis=0))
    np.testing.assert_array_equal(found.support, np.any(rows, axis=0))


# -- wrappers ----------------------------------------------------------------------------------------------------------


def test_frozen_estimators_are_looked_into(data):
    X, y = data
    pipe = make_pipeline(StandardScaler(), Lasso(0.1)).fit(X, y)
    for found, expected in zip(
        selection_of(FrozenEstimator(pipe), X, y), selection_of(pipe, X, y), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_adaboost_of_linear_models_weighs_its_members(data):
    X, y = data
    boosted = AdaBoostClassifier(
        LogisticRegression(), n_estimators=3, random_state=0
    ).fit(X, y)
    rows = [
        w * np.abs(m.coef_[0])
        for w, m in zip(boosted.estimator_weights_, boosted.estimators_, strict=False)
    ]
    found = selection_of(boosted, X, y, scale_importances=False)
    np.testing.assert_allclose(found.importances, np.linalg.norm(rows, axis=0))
    trees = AdaBoostClassifier(n_estimators=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(
        selection_of(trees, X, y).importances, trees.feature_importances_
    )


def test_importances_that_are_not_implemented_are_none_that_exist(data):
    X, y = data

    class Forest(Fitted):
        @property
        def feature_importances_(self):
            raise NotImplementedError

    with pytest.raises(ValueError, match="which features Forest selects"):
        selection_of(Forest().fit(X), X, y)
    assert (
        selection_of(
            Forest().fit(X), X, y, importance_getter=lambda _: np.ones(D)
        ).support
        is None
    )


# -- messages ----------------------------------------------------------------------------------------------------------


def test_no_message_speaks_of_auto_where_there_is_a_getter(data):
    X, y = data
    fitted = Elsewhere(np.ones((D, D))).fit(X)
    for getter in ("auto", lambda _: np.ones(D)):
        with pytest.raises(ValueError, match=r"Elsewhere\.coef_") as error:
            selection_of(fitted, X, y, importance_getter=getter)
        assert "auto" not in str(error.value)


def test_advice_can_be_followed(data):
    X, y = data
    with pytest.raises(ValueError, match="which features Fitted selects") as error:
        selection_of(Fitted().fit(X), X, y)
    assert "SequentialFeatureSelector" not in str(error.value)
    with pytest.raises(
        ValueError, match=r"SequentialFeatureSelector\(BaggingClassifier\(\.\.\.\)\)"
    ):
        selection_of(BaggingClassifier(SVC(), n_estimators=2).fit(X, y), X, y)


def test_reading_gives_no_warning_of_its_own(data):
    X, y = data
    with warnings.catch_warnings(action="error"):
        assert read_run(Lasso(0.1).fit(X, y), X, y).warned().why_no_importances is None

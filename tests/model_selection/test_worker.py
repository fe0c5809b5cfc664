"""The runs of `StabilityCV`: their rows, noise and seeds, what is kept of them, and what happens when some fail."""

import threading
from typing import ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import (
    RFE,
    SelectFdr,
    SelectFromModel,
    SelectKBest,
    SequentialFeatureSelector,
    VarianceThreshold,
    f_regression,
)
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skstab._engine.work import noise_scale
from skstab.model_selection import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    StabilityCV,
    StabilitySearchCV,
    WholeSampleSplit,
)

N, D = 60, 12
FEW = BootstrapSplit(6, random_state=0)


def make_data(d=D):
    """Make rows that have their number in the first column, and features of different units."""
    X, y = make_classification(N, d - 1, n_informative=4, n_redundant=0, random_state=0)
    return np.column_stack([np.arange(N), X * np.logspace(-1, 1, d - 1)]), y


def l1_logistic(C=0.3):
    return LogisticRegression(l1_ratio=1, C=C, solver="liblinear", random_state=0)


def dense(table):
    return table.toarray() if issparse(table) else table


def assert_same(a, b):
    """Compare all that runs leave, bit for bit."""
    for name in ("supports_", "importances_"):
        x, y = getattr(a, name), getattr(b, name)
        assert (type(x), x.dtype, x.shape) == (type(y), y.dtype, y.shape), name
        np.testing.assert_array_equal(dense(x), dense(y))
    assert list(a.scores_) == list(b.scores_)
    for name, values in a.scores_.items():
        np.testing.assert_array_equal(values, b.scores_[name])
    np.testing.assert_array_equal(a.selection_frequencies_, b.selection_frequencies_)
    np.testing.assert_array_equal(a.get_support(), b.get_support())
    np.testing.assert_array_equal(a.split_numbers_, b.split_numbers_)
    assert (a.stability_interval_, a.n_failed_, a.n_splits_) == (
        b.stability_interval_,
        b.n_failed_,
        b.n_splits_,
    )
    pd.testing.assert_frame_equal(a.summary(), b.summary(), check_exact=True)


class Recording:
    """Keep what a model was trained on, and count the fits of all clones."""

    n_fits: ClassVar[list[int]] = [0]

    def fit(self, X, y, sample_weight=None):
        Recording.n_fits[0] += 1
        self.X_, self.y_, self.sample_weight_ = X, y, sample_weight
        return super().fit(X, y, sample_weight)


class RecordingTree(Recording, DecisionTreeClassifier):
    pass


class RecordingRidge(Recording, Ridge):
    pass


def fits_of(action):
    before = Recording.n_fits[0]
    action()
    return Recording.n_fits[0] - before


# -- rows --------------------------------------------------------------------------------------------------------------


def rows_tested(_estimator, X, _y):
    """Tell the tested rows, which have their number in the first column, by one exact number."""
    return float(np.sum(np.asarray(X)[:, 0] ** 2 % 1009))


def recorded(cv, y=None, *, estimator=None, fit_params=None, **params):
    X, labels = make_data()
    params = {
        "measure": "pearson",
        "scoring": rows_tested,
        "random_state": 0,
        "return_estimators": True,
        **params,
    }
    runs = StabilityCV(estimator or RecordingTree(max_depth=2), cv=cv, **params)
    runs.fit(X, labels if y is None else y, **(fit_params or {}))
    return runs, [run.X_[:, 0].astype(int) for run in runs.estimators_]


FOLDS = list(KFold(5).split(np.zeros(N)))


@pytest.mark.parametrize(
    ("cv", "splitter"),
    [
        (4, StratifiedKFold(4)),
        (
            KFold(5, shuffle=True, random_state=1),
            KFold(5, shuffle=True, random_state=1),
        ),
        (ShuffleSplit(3, random_state=1), ShuffleSplit(3, random_state=1)),
        (
            ComplementaryPairsSplit(6, random_state=1),
            ComplementaryPairsSplit(6, random_state=1),
        ),
        (WholeSampleSplit(3), WholeSampleSplit(3)),
        (FOLDS, KFold(5)),
        (iter(FOLDS), KFold(5)),
        ([(train.tolist(), test.tolist()) for train, test in FOLDS], KFold(5)),
        ([(tuple(train), pd.Index(test)) for train, test in FOLDS], KFold(5)),
        (
            [
                (np.isin(np.arange(N), train), np.isin(np.arange(N), test))
                for train, test in FOLDS
            ],
            KFold(5),
        ),
        (
            [(train - N, slice(test[0], test[-1] + 1)) for train, test in FOLDS],
            KFold(5),
        ),
    ],
    ids=[
        *(
            "int",
            "KFold",
            "ShuffleSplit",
            "pairs",
            "whole",
            "list",
            "iterator",
            "lists of lists",
            "tuples",
            "masks",
        ),
        "slices and from the end",
    ],
)
def test_rows_of_the_runs(cv, splitter):
    X, y = make_data()
    runs, trained = recorded(cv)
    expected = list(splitter.split(X, y))
    for run, rows, (train, _) in zip(runs.estimators_, trained, expected, strict=True):
        np.testing.assert_array_equal(rows, train)
        np.testing.assert_array_equal(run.X_, X[train])
        np.testing.assert_array_equal(run.y_, y[train])
    np.testing.assert_array_equal(
        runs.scores_["score"],
        [rows_tested(None, X[test], None) for _, test in expected],
    )


def test_an_int_means_plain_folds_for_a_regressor():
    _, y = make_data()
    _, trained = recorded(4, np.sort(y), estimator=RecordingRidge())
    for rows, (train, _) in zip(trained, KFold(4).split(y), strict=True):
        np.testing.assert_array_equal(rows, train)


def test_default_is_fifty_stratified_bootstraps():
    X, y = make_data()
    y[:10] = 0
    runs, trained = recorded(None, y)
    assert len({tuple(rows) for rows in trained}) == len(trained) == 50
    for rows in trained:
        assert len(rows) == N
        assert y[rows].sum() == y.sum()
    out_of_bag = [np.setdiff1d(np.arange(N), rows) for rows in trained]
    np.testing.assert_array_equal(
        runs.scores_["score"], [rows_tested(None, X[rows], None) for rows in out_of_bag]
    )


@pytest.mark.parametrize(
    "estimator",
    [RecordingTree(max_depth=2), RecordingRidge()],
    ids=["labels", "regressor"],
)
def test_default_does_not_stratify_regressors_and_several_labels(estimator):
    y = np.random.default_rng(0).integers(2, size=(N, 2))
    y = y[:, 0] if isinstance(estimator, RecordingRidge) else y
    _, trained = recorded(None, y, estimator=estimator)
    assert len(trained) == 50
    assert len({tuple(np.atleast_1d(y[rows].sum(axis=0))) for rows in trained}) > 5


def test_groups_reach_the_splitter_and_only_the_splitter():
    groups = np.arange(N) // 4
    _, trained = recorded(GroupKFold(5), fit_params={"groups": groups})
    for rows, (train, _) in zip(
        trained, GroupKFold(5).split(np.zeros(N), groups=groups), strict=True
    ):
        np.testing.assert_array_equal(rows, train)


def test_groups_are_drawn_whole_by_default():
    groups = np.arange(N) // 4  # with rows of both classes in a group
    _, trained = recorded(None, fit_params={"groups": groups})
    for rows in trained:
        counts = np.bincount(rows, minlength=N).reshape(-1, 4)
        np.testing.assert_array_equal(counts, counts[:, :1].repeat(4, axis=1))
    assert len(trained) == 50


def test_sample_weights_reach_each_fit_with_its_rows():
    weights = np.random.default_rng(1).random(N)
    runs, trained = recorded(FEW, fit_params={"sample_weight": weights})
    for run, rows in zip(runs.estimators_, trained, strict=True):
        np.testing.assert_array_equal(run.sample_weight_, weights[rows])
    np.testing.assert_array_equal(runs.estimator_.sample_weight_, weights)


def test_without_a_target():
    X, _ = make_data()
    runs = StabilityCV(VarianceThreshold(1.0), cv=FEW).fit(X)
    np.testing.assert_array_equal(
        dense(runs.supports_), [X[train].var(axis=0) > 1 for train, _ in FEW.split(X)]
    )


# -- perturbation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [None, FEW], ids=["whole", "bootstrap"])
@pytest.mark.parametrize("scale", [0.01, 0.5])
def test_noise_is_relative_to_each_feature(scale, cv):
    X, y = make_data()
    total = {"scoring": lambda _model, X, _y: X.sum()}
    runs = StabilityCV(
        RecordingTree(max_depth=2),
        cv=cv,
        perturb=scale,
        measure="pearson",
        random_state=0,
        return_estimators=True,
        **total,
    ).fit(X, y)
    splits = list((cv or WholeSampleSplit(50)).split(X, y))
    noise = np.array(
        [
            run.X_ - X[train]
            for run, (train, _) in zip(runs.estimators_, splits, strict=True)
        ]
    )
    drawn = noise / (scale * X.std(axis=0))
    np.testing.assert_allclose(drawn.std(axis=(0, 1)), 1, atol=0.12)
    np.testing.assert_allclose(drawn.mean(axis=(0, 1)), 0, atol=0.25)
    correlations = np.corrcoef(drawn.reshape(len(splits), -1)) - np.eye(len(splits))
    assert np.abs(correlations).max() < 0.2
    # Two copies of a row in a bootstrap sample have noise of their own.
    assert len(np.unique(drawn[0], axis=0)) == N
    np.testing.assert_array_equal(
        runs.scores_["score"], [X[test].sum() for _, test in splits]
    )
    np.testing.assert_array_equal(runs.estimator_.X_, X)


def test_noise_on_a_frame_is_the_same_and_keeps_names():
    X, y = make_data()
    frame = pd.DataFrame(X, columns=[f"gene {number}" for number in range(D)])
    params = {
        "cv": FEW,
        "perturb": 0.3,
        "measure": "pearson",
        "random_state": 0,
        "return_estimators": True,
    }
    of_array = StabilityCV(RecordingTree(), **params).fit(X, y)
    of_frame = StabilityCV(RecordingTree(), **params).fit(frame, y)
    for a, b in zip(of_array.estimators_, of_frame.estimators_, strict=True):
        assert list(b.X_.columns) == list(frame.columns)
        np.testing.assert_allclose(b.X_, a.X_, rtol=1e-12)
    np.testing.assert_array_equal(of_frame.feature_names_in_, frame.columns)


def test_noise_spares_constant_features_and_refuses_sparse_data():
    X, y = make_data()
    X[:, 3] = 7
    runs = StabilityCV(
        RecordingTree(), cv=FEW, perturb=1.0, measure="pearson", return_estimators=True
    ).fit(X, y)
    assert all(np.all(run.X_[:, 3] == 7) for run in runs.estimators_)
    with pytest.raises(TypeError, match=r"perturb=0\.1 .* dense"):
        StabilityCV(SelectKBest(k=2), cv=FEW, perturb=0.1).fit(csr_array(X), y)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_noise_of_features_with_missing_values(kind):
    X, _ = make_data()
    X = X.copy()
    X[::7, 2], X[:, 3] = np.nan, np.nan
    scale = noise_scale(kind(X), 0.5)
    np.testing.assert_allclose(
        scale[[0, 2]], [0.5 * X[:, 0].std(), 0.5 * np.nanstd(X[:, 2])]
    )
    assert scale[3] == 0.0


def test_noise_makes_a_deterministic_selector_unstable():
    X, y = make_data()
    same = StabilityCV(SelectKBest(k=3), cv=WholeSampleSplit(n_splits=5)).fit(X, y)
    assert same.stability_ == 1.0
    assert (dense(same.supports_) == SelectKBest(k=3).fit(X, y).get_support()).all()
    noisy = StabilityCV(
        SelectKBest(k=3), cv=WholeSampleSplit(n_splits=5), perturb=2.0, random_state=0
    ).fit(X, y)
    assert noisy.stability_ < 1.0


@pytest.mark.parametrize("seed", [None, 0])
@pytest.mark.parametrize("cv", [None, FEW], ids=["whole", "bootstrap"])
def test_other_seeds_in_each_run(seed, cv):
    X, y = make_data()
    tree = RecordingTree(max_depth=2, random_state=seed)
    runs = StabilityCV(
        RFE(tree), cv=cv, perturb="seed", random_state=0, return_estimators=True
    ).fit(X, y)
    splits = list((cv or WholeSampleSplit(50)).split(X, y))
    assert len({run.estimator_.random_state for run in runs.estimators_}) == len(splits)
    for run, (train, _) in zip(runs.estimators_, splits, strict=True):
        np.testing.assert_array_equal(run.estimator_.X_, X[train][:, run.get_support()])
    assert runs.estimator_.estimator_.random_state not in {
        run.estimator_.random_state for run in runs.estimators_
    }
    assert tree.random_state == seed


def test_seeds_tell_instability_of_the_algorithm():
    X, y = make_data()
    forest = SelectFromModel(RandomForestClassifier(3, max_depth=2, random_state=0))
    cv = WholeSampleSplit(n_splits=5)
    assert StabilityCV(forest, cv=cv).fit(X, y).stability_ == 1.0
    assert (
        StabilityCV(forest, cv=cv, perturb="seed", random_state=0).fit(X, y).stability_
        < 1.0
    )
    with pytest.raises(
        ValueError,
        match=r"perturb='seed' needs an estimator with a random_state.*SelectKBest",
    ):
        StabilityCV(SelectKBest(), perturb="seed").fit(X, y)


# -- randomness --------------------------------------------------------------------------------------------------------

FOREST = make_pipeline(
    SelectFromModel(RandomForestClassifier(5, max_depth=3)),
    DecisionTreeClassifier(max_features=1),
)


@pytest.mark.parametrize("perturb", [None, 0.5, "seed"])
def test_an_int_gives_the_same_for_any_number_of_jobs_and_backend(perturb):
    X, y = make_data()
    runs = StabilityCV(FOREST, cv=FEW, perturb=perturb, random_state=7).fit(X, y)
    assert runs.stability_ < 1
    assert_same(
        runs, StabilityCV(FOREST, cv=FEW, perturb=perturb, random_state=7).fit(X, y)
    )
    assert_same(
        runs,
        StabilityCV(FOREST, cv=FEW, perturb=perturb, random_state=7, n_jobs=2).fit(
            X, y
        ),
    )
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert_same(
            runs, StabilityCV(FOREST, cv=FEW, perturb=perturb, random_state=7).fit(X, y)
        )


def test_an_int_seeds_the_default_splits():
    X, y = make_data()
    first = StabilityCV(SelectKBest(k=3), random_state=1).fit(X, y)
    assert_same(first, StabilityCV(SelectKBest(k=3), random_state=1).fit(X, y))
    other = StabilityCV(SelectKBest(k=3), random_state=2).fit(X, y)
    assert not np.array_equal(dense(first.supports_), dense(other.supports_))


@pytest.mark.parametrize("cv", [None, FEW], ids=["default", "bootstrap"])
def test_none_and_a_random_state_object_vary(cv):
    X, y = make_data()
    forest = SelectFromModel(RandomForestClassifier(2, max_depth=2))
    for random_state in (None, np.random.RandomState(0)):
        runs = StabilityCV(forest, cv=cv, random_state=random_state)
        first, second = (dense(runs.fit(X, y).importances_) for _ in range(2))
        assert not np.array_equal(first, second)


def test_seeds_of_the_user_are_kept():
    X, y = make_data()
    forest = SelectFromModel(RandomForestClassifier(5, max_depth=3, random_state=3))
    runs = StabilityCV(forest, cv=FEW, return_estimators=True).fit(X, y)
    for run, (train, _) in zip(runs.estimators_, FEW.split(X, y), strict=True):
        assert run.estimator_.random_state == 3
        by_hand = clone(forest).fit(X[train], y[train])
        np.testing.assert_array_equal(
            run.estimator_.feature_importances_, by_hand.estimator_.feature_importances_
        )
    assert runs.estimator_.estimator_.random_state == 3
    assert forest.estimator.random_state == 3


def test_open_seeds_differ_between_the_runs_and_the_parts():
    X, y = make_data()
    runs = StabilityCV(FOREST, cv=FEW, random_state=0, return_estimators=True).fit(X, y)
    pairs = [
        (run[0].estimator_.random_state, run[1].random_state)
        for run in [*runs.estimators_, runs.estimator_]
    ]
    assert len({seed for pair in pairs for seed in pair}) == 14
    assert FOREST[1].random_state is None


# -- going on with more splits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "params"),
    [
        (l1_logistic(), {}),
        (FOREST, {"perturb": "seed"}),
        (FOREST, {"perturb": 0.5, "scoring": ["accuracy", "roc_auc"]}),
        (RandomForestClassifier(3, max_depth=2), {"measure": "pearson"}),
        (SelectKBest(k=1), {}),
        (SelectKBest(k=4), {"support": "consensus"}),
    ],
    ids=["lasso", "seeds", "noise", "weights", "few", "consensus"],
)
def test_warm_start_equals_a_cold_one(estimator, params):
    X, y = make_data(25)
    cold = StabilityCV(
        estimator, cv=BootstrapSplit(7, random_state=0), random_state=0, **params
    ).fit(X, y)
    warm = StabilityCV(
        estimator,
        cv=BootstrapSplit(3, random_state=0),
        random_state=0,
        warm_start=True,
        **params,
    )
    warm.fit(X, y)
    assert warm.supports_.shape[0] == 3
    warm.set_params(cv=BootstrapSplit(5, random_state=0)).fit(X, y)
    warm.set_params(cv=BootstrapSplit(7, random_state=0)).fit(X, y)
    assert_same(warm, cold)
    assert warm.fit_times_.shape == (7,)


def test_warm_start_adds_only_the_new_runs():
    X, y = make_data()
    params = {"measure": "pearson", "return_estimators": True}
    runs = StabilityCV(
        RecordingTree(), cv=BootstrapSplit(3, random_state=0), warm_start=True, **params
    )
    assert fits_of(lambda: runs.fit(X, y)) == 4
    first, seeds = list(runs.estimators_), dense(runs.importances_)
    runs.set_params(cv=BootstrapSplit(5, random_state=0))
    assert fits_of(lambda: runs.fit(X, y)) == 2
    assert len(runs.estimators_) == runs.importances_.shape[0] == 5
    assert all(a is b for a, b in zip(first, runs.estimators_, strict=False))
    np.testing.assert_array_equal(dense(runs.importances_)[:3], seeds)
    runs.set_params(warm_start=False)
    assert fits_of(lambda: runs.fit(X, y)) == 6


@pytest.mark.parametrize("cv", [None, FEW], ids=["default", "bootstrap"])
def test_warm_start_without_new_splits_changes_nothing(cv):
    # Also for random_state=None: the seeds of the first fit are those of the next.
    X, y = make_data()
    first = StabilityCV(RecordingTree(), cv=cv, measure="pearson", random_state=0).fit(
        X, y
    )
    runs = StabilityCV(
        RecordingTree(), cv=cv, measure="pearson", random_state=0, warm_start=True
    ).fit(X, y)
    assert fits_of(lambda: runs.fit(X, y)) == 0
    assert_same(runs, first)
    varying = StabilityCV(
        RecordingTree(), cv=cv, measure="pearson", warm_start=True
    ).fit(X, y)
    importances = dense(varying.importances_)
    assert fits_of(lambda: varying.fit(X, y)) == 0
    np.testing.assert_array_equal(dense(varying.importances_), importances)


def test_warm_start_refuses_other_splits_or_features():
    X, y = make_data()
    runs = StabilityCV(SelectKBest(k=3), cv=FEW, warm_start=True).fit(X, y)
    before = clone(runs).set_params(warm_start=False).fit(X, y)
    (train, test), *rest = FEW.split(X, y)
    other = [
        (train[1:], test),
        (train, test[1:]),
        (train[:-1], np.append(train[-1], test)),
    ]
    others = [[split, *rest] for split in other]
    for cv in (
        BootstrapSplit(8, random_state=1),
        BootstrapSplit(5, random_state=0),
        KFold(8),
        *others,
    ):
        with pytest.raises(ValueError, match="cv does not start with the same splits"):
            runs.set_params(cv=cv).fit(X, y)
    with pytest.raises(
        ValueError, match="X has 11 features, but StabilityCV is expecting 12"
    ):
        runs.set_params(cv=BootstrapSplit(8, random_state=0)).fit(X[:, 1:], y)
    assert_same(runs, before)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda runs, X, y: runs.set_params(estimator__C=0.1).fit(X, y), "estimator"),
        (lambda runs, X, y: runs.set_params(scoring="f1").fit(X, y), "scoring"),
        (lambda runs, X, y: runs.set_params(perturb=0.1).fit(X, y), "perturb"),
        (
            lambda runs, X, y: runs.set_params(importance_getter="coef_").fit(X, y),
            "importance_getter",
        ),
        (lambda runs, X, y: runs.fit(X[::-1], y), "X"),
        (lambda runs, X, y: runs.fit(X, 1 - y), "y"),
        (lambda runs, X, y: runs.fit(X, y, sample_weight=np.ones(N)), "sample_weight"),
        (
            lambda runs, X, y: runs.set_params(estimator__C=0.1).fit(X + 1, y),
            "X, estimator",
        ),
    ],
    ids=[
        "parameter",
        "scoring",
        "perturb",
        "getter",
        "rows",
        "target",
        "weights",
        "two",
    ],
)
def test_warm_start_refuses_runs_of_something_else(change, names):
    X, y = make_data()
    runs = StabilityCV(l1_logistic(), cv=FEW, warm_start=True).fit(X, y)
    before = dense(runs.supports_)
    with pytest.raises(ValueError, match=rf"not the same as then: {names};"):
        change(runs.set_params(cv=BootstrapSplit(9, random_state=0)), X, y)
    np.testing.assert_array_equal(dense(runs.supports_), before)


def test_warm_start_takes_equal_data_in_another_form_and_what_can_not_be_compared():
    X, y = make_data()
    first = StabilityCV(
        l1_logistic(), cv=FEW, warm_start=True, scoring=lambda *_: 0.5
    ).fit(X, y)
    runs = clone(first).set_params(estimator=l1_logistic()).fit(X.tolist(), y.tolist())
    more = runs.set_params(
        cv=BootstrapSplit(9, random_state=0), estimator=l1_logistic()
    ).fit(np.asfortranarray(X), y)
    assert more.supports_.shape[0] == 9
    whole = StabilityCV(l1_logistic(), cv=BootstrapSplit(9, random_state=0)).fit(X, y)
    np.testing.assert_array_equal(dense(more.supports_), dense(whole.supports_))


def test_labels_of_text_are_the_same_in_any_form():
    X, y = make_data()
    words = np.array(["no", "yes"])[y]
    runs = StabilityCV(l1_logistic(), cv=FEW, warm_start=True).fit(X, words)
    runs.set_params(cv=BootstrapSplit(9, random_state=0)).fit(
        X, pd.Series(words, dtype=object)
    )
    with pytest.raises(ValueError, match="not the same as then: y;"):
        runs.fit(X, words[::-1])


def test_fit_parameters_need_not_be_tables():
    class Validated(Lasso):
        def fit(self, X, y, eval_set=None):
            assert [part.shape for part in eval_set[0]] == [(20, D), (20,)]
            return super().fit(X, y)

    X, y = make_data()
    runs = StabilityCV(Validated(0.01), cv=FEW).fit(X, y, eval_set=[(X[:20], y[:20])])
    assert runs.n_failed_ == 0


def test_warm_start_after_a_measure_that_failed_repeats_no_run():
    X, y = make_data()
    runs = StabilityCV(l1_logistic(), cv=FEW, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="nogueira"):
        runs.set_params(measure="kuncheva", cv=BootstrapSplit(9, random_state=0)).fit(
            X, y
        )
    assert (
        runs.set_params(measure="nogueira").fit(X, y).supports_.shape[0]
        == runs.n_splits_
        == 9
    )


def test_warm_start_can_not_return_models_that_were_not_kept():
    X, y = make_data()
    runs = StabilityCV(l1_logistic(), cv=FEW, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="return_estimators=True in a warm start"):
        runs.set_params(
            return_estimators=True, cv=BootstrapSplit(9, random_state=0)
        ).fit(X, y)


@pytest.mark.parametrize(
    "params",
    [
        {"cv": 1},
        {"measure": "kuncheva"},
        {"error_score": "raise", "cv": KFold(5), "estimator": "needs"},
    ],
    ids=["splits", "measure", "run"],
)
def test_a_fit_that_fails_leaves_the_one_before_as_it_was(params):
    X, y = make_data()
    runs = StabilityCV(l1_logistic(), cv=FEW, return_estimators=True).fit(
        pd.DataFrame(X).add_prefix("gene "), y
    )
    if "estimator" in params:
        params["estimator"] = make_pipeline(Needs([12]), l1_logistic())
    before = dict(vars(runs.set_params(**params)))
    with pytest.raises((ValueError, RuntimeError)):
        runs.fit(X[:, :8], y)
    assert vars(runs).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(runs).items())


def test_stops_when_the_interval_is_narrow_enough():
    X, y = make_data()
    fits = {
        n: StabilityCV(SelectKBest(k=3), cv=BootstrapSplit(n, random_state=0)).fit(X, y)
        for n in (10, 20, 30)
    }
    widths = {
        n: runs.stability_interval_.high - runs.stability_interval_.low
        for n, runs in fits.items()
    }
    assert widths[10] > widths[20] > widths[30]
    most = BootstrapSplit(34, random_state=0)
    for n, width in widths.items():
        runs = StabilityCV(SelectKBest(k=3), cv=most, target_width=width).fit(X, y)
        assert_same(runs, fits[n])
        assert runs.n_splits_ == n
    runs = StabilityCV(SelectKBest(k=3), cv=most, target_width=1e-9).fit(X, y)
    assert_same(runs, StabilityCV(SelectKBest(k=3), cv=most).fit(X, y))
    assert runs.n_splits_ == 34


# -- failures ----------------------------------------------------------------------------------------------------------


class Needs(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A step that can't be fitted without some rows, which have their number in the first column."""

    def __init__(self, rows=()):
        self.rows = rows

    def fit(self, X, _y=None):
        self.n_features_in_ = X.shape[1]
        missing = set(self.rows) - set(X[:, 0])
        if missing:
            raise RuntimeError(f"row {int(min(missing))} is missing")
        return self

    def transform(self, X):
        return X


def test_failed_runs_are_left_out_everywhere():
    X, y = make_data()
    folds = KFold(5)  # rows 0 and 12 are in the first and second test set
    with pytest.warns(
        FitFailedWarning, match=r"2 of 5 runs failed.*RuntimeError: row 0 is missing"
    ) as caught:
        runs = StabilityCV(
            make_pipeline(Needs([0, 12]), l1_logistic()),
            cv=folds,
            return_estimators=True,
        ).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert (runs.n_failed_, runs.n_splits_) == (2, 5)
    np.testing.assert_array_equal(runs.split_numbers_, [2, 3, 4])
    assert_same_but_failed(runs, X, y, list(folds.split(X))[2:])


def assert_same_but_failed(runs, X, y, splits):
    models = [l1_logistic().fit(X[train], y[train]) for train, _ in splits]
    np.testing.assert_array_equal(
        dense(runs.supports_), [model.coef_[0] != 0 for model in models]
    )
    expected = [
        np.abs(model.coef_[0]) * X[train].std(axis=0)
        for model, (train, _) in zip(models, splits, strict=True)
    ]
    np.testing.assert_allclose(dense(runs.importances_), expected)
    scores = [
        model.score(X[test], y[test])
        for model, (_, test) in zip(models, splits, strict=True)
    ]
    np.testing.assert_array_equal(runs.scores_["score"], scores)
    assert len(runs.fit_times_) == len(runs.estimators_) == len(splits)
    np.testing.assert_array_equal(
        runs.selection_frequencies_, np.mean(dense(runs.supports_), axis=0)
    )
    assert np.isfinite(runs.stability_)


def test_failures_can_be_raised_and_too_many_are():
    X, y = make_data()
    with pytest.raises(RuntimeError, match=r"^row 12 is missing$"):
        StabilityCV(
            make_pipeline(Needs([12]), l1_logistic()), cv=KFold(5), error_score="raise"
        ).fit(X, y)
    for rows, n_failed in ((range(N), 5), (range(48), 4)):
        with pytest.raises(
            ValueError,
            match=rf"{n_failed} of 5 runs failed.*RuntimeError: row 0 is missing",
        ):
            StabilityCV(make_pipeline(Needs(rows), l1_logistic()), cv=KFold(5)).fit(
                X, y
            )


def test_failures_among_the_new_runs_of_a_warm_start():
    X, y = make_data()
    splits = list(KFold(5).split(X))
    runs = StabilityCV(
        make_pipeline(Needs([0, 12]), l1_logistic()),
        return_estimators=True,
        warm_start=True,
    )
    runs.set_params(cv=splits[2:]).fit(X, y)
    for n_failed in (1, 2):
        runs.set_params(cv=[*splits[2:], *splits[:n_failed]])
        with pytest.warns(FitFailedWarning, match="1 of 1 runs failed"):
            runs.fit(X, y)
        assert (runs.n_failed_, runs.n_splits_) == (n_failed, 3 + n_failed)
        np.testing.assert_array_equal(runs.split_numbers_, [0, 1, 2])
        assert_same_but_failed(runs, X, y, splits[2:])


def needs_row_0(_estimator, X, _y):
    if X[0, 0] > 0 and len(X) > 1:
        raise ArithmeticError("no row 0 to score")
    return 3.0


@pytest.mark.parametrize("error_score", [np.nan, 0.0])
def test_scores_that_fail(error_score):
    X, y = make_data()
    with pytest.warns(
        UserWarning, match=r"4 of 5 runs.*ArithmeticError: no row 0 to score"
    ) as caught:
        runs = StabilityCV(
            l1_logistic(), cv=KFold(5), scoring=needs_row_0, error_score=error_score
        ).fit(X, y)
    assert [warning.category for warning in caught] == [UserWarning]
    np.testing.assert_array_equal(runs.scores_["score"], [3.0, *[error_score] * 4])
    assert runs.n_failed_ == 0
    assert runs.supports_.shape[0] == 5
    with pytest.raises(ArithmeticError, match="no row 0"):
        StabilityCV(
            l1_logistic(), cv=KFold(5), scoring=needs_row_0, error_score="raise"
        ).fit(X, y)


def test_a_score_that_fails_does_not_take_others_with_it():
    X, y = make_data()
    scoring = {"accuracy": "accuracy", "mine": needs_row_0}
    with pytest.warns(UserWarning, match="scoring failed in 4 of 5 runs"):
        runs = StabilityCV(
            l1_logistic(), cv=KFold(5), scoring=scoring, error_score=-1.0
        ).fit(X, y)
    np.testing.assert_array_equal(runs.scores_["mine"], [3.0, -1.0, -1.0, -1.0, -1.0])
    plain = StabilityCV(l1_logistic(), cv=KFold(5), scoring="accuracy").fit(X, y)
    np.testing.assert_array_equal(runs.scores_["accuracy"], plain.scores_["accuracy"])
    with pytest.raises(ArithmeticError, match="no row 0"):
        StabilityCV(
            l1_logistic(), cv=KFold(5), scoring=scoring, error_score="raise"
        ).fit(X, y)


@pytest.mark.parametrize(
    "score", [None, "good", np.ones(2)], ids=["None", "text", "array"]
)
def test_scores_that_are_no_numbers(score):
    X, y = make_data()
    runs = StabilityCV(l1_logistic(), cv=FEW, scoring=lambda *_: score)
    with pytest.warns(
        UserWarning,
        match=r"scoring failed in 6 of 6 runs.*scoring must return a number, got",
    ):
        assert np.isnan(runs.fit(X, y).scores_["score"]).all()
    with pytest.raises(ValueError, match="scoring must return a number"):
        runs.set_params(error_score="raise").fit(X, y)


def test_failed_batches_add_no_names_of_scores():
    X, y = make_data()
    folds = list(KFold(5).split(X))
    estimator = make_pipeline(Needs([0]), l1_logistic())
    runs = StabilityCV(
        estimator, cv=folds[1:], scoring=lambda *_: {"a": 0.5}, warm_start=True
    ).fit(X, y)
    with pytest.warns(FitFailedWarning, match="1 of 1 runs failed"):
        runs.set_params(cv=[*folds[1:], folds[0]]).fit(X, y)
    assert list(runs.scores_) == ["a"]


def always_fails(_estimator, _X, _y):
    raise ValueError("no score at all")


@pytest.mark.parametrize(
    ("scoring", "names"),
    [(always_fails, ["score"]), ({"a": always_fails, "b": always_fails}, ["a", "b"])],
)
def test_a_score_that_always_fails_still_has_its_name(scoring, names):
    X, y = make_data()
    with pytest.warns(UserWarning, match="5 of 5 runs.*ValueError: no score at all"):
        runs = StabilityCV(
            l1_logistic(), cv=KFold(5), scoring=scoring, error_score=0.0
        ).fit(X, y)
    assert list(runs.scores_) == names
    for values in runs.scores_.values():
        np.testing.assert_array_equal(values, np.zeros(5))


def test_a_score_that_fails_in_all_runs_before_a_warm_start():
    X, y = make_data()
    *others, first = list(KFold(5).split(X))[::-1]
    runs = StabilityCV(
        l1_logistic(), scoring=needs_row_0, error_score=-1.0, warm_start=True, cv=others
    )
    with pytest.warns(UserWarning, match="scoring failed in 4 of 4 runs"):
        runs.fit(X, y)
    runs.set_params(cv=[*others, first]).fit(X, y)
    np.testing.assert_array_equal(runs.scores_["score"], [-1.0, -1.0, -1.0, -1.0, 3.0])


def test_a_score_that_needs_two_rows_is_no_failure():
    def spread(_estimator, X, _y):
        return 1 / (len(X) - 1)

    runs = StabilityCV(l1_logistic(), cv=KFold(5), scoring=spread).fit(*make_data())
    np.testing.assert_array_equal(runs.scores_["score"], np.full(5, 1 / 11))


# -- what is kept ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 4, 6, 8, 12, 16, 20])
def test_the_smaller_form_is_kept(k):
    X, y = make_classification(N, 30, random_state=0)
    runs = StabilityCV(SelectKBest(k=k), cv=BootstrapSplit(10, random_state=0)).fit(
        X, y
    )
    assert isinstance(runs.supports_, np.ndarray)
    assert isinstance(runs.importances_, np.ndarray)
    tables = runs.runs_.tables[:2]
    sizes = [table.dtype.itemsize for table in tables]
    # 32-bit indices are enough for any number of features.
    as_sparse = [10 * k * (size + 4) + 11 * 4 for size in sizes]
    for table, expected in zip(tables, as_sparse, strict=True):
        assert issparse(table) == (sum(as_sparse) < 10 * 30 * sum(sizes))
        if issparse(table):
            assert table.format == "csr"
            assert (
                table.data.nbytes + table.indices.nbytes + table.indptr.nbytes
                == expected
            )
    selectors = [
        SelectKBest(k=k).fit(X[train], y[train])
        for train, _ in BootstrapSplit(10, random_state=0).split(X, y)
    ]
    np.testing.assert_array_equal(
        dense(runs.supports_), [s.get_support() for s in selectors]
    )
    np.testing.assert_allclose(
        dense(runs.importances_), [s.scores_ * s.get_support() for s in selectors]
    )


def test_models_are_only_kept_on_request():
    X, y = make_data()
    runs = StabilityCV(RecordingTree(), cv=FEW, measure="pearson").fit(X, y)
    kept = [
        value for value in vars(runs).values() if isinstance(value, list | tuple | dict)
    ]
    assert not any(isinstance(item, BaseEstimator) for value in kept for item in value)
    assert not hasattr(runs, "estimators_")
    assert len(runs.set_params(return_estimators=True).fit(X, y).estimators_) == 6
    assert not hasattr(
        runs.set_params(return_estimators=False).fit(X, y), "estimators_"
    )


def test_models_do_not_come_back_from_the_workers():
    class Locked(SelectKBest):
        def fit(self, X, y):
            self.lock_ = threading.Lock()  # which can't be pickled
            return super().fit(X, y)

    X, y = make_data()
    runs = StabilityCV(Locked(k=3), cv=FEW, n_jobs=2).fit(X, y)
    assert_same(runs, StabilityCV(SelectKBest(k=3), cv=FEW).fit(X, y))


# -- summary -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "C"), [(12, 0.5), (80, 0.3)], ids=["dense", "sparse"])
def test_summary(d, C):
    X, y = make_classification(N, d, n_informative=4, n_redundant=0, random_state=0)
    frame = pd.DataFrame(X, columns=[f"gene {number}" for number in range(d)])
    cv = BootstrapSplit(8, random_state=0)
    runs = StabilityCV(l1_logistic(C), cv=cv).fit(frame, y)
    assert issparse(runs.runs_.tables.importances) == (d == 80)
    coefs = np.array(
        [l1_logistic(C).fit(X[train], y[train]).coef_[0] for train, _ in cv.split(X, y)]
    )
    deviations = np.array([X[train].std(axis=0) for train, _ in cv.split(X, y)])

    table = runs.summary()
    assert list(table.columns) == [
        *("frequency", "frequency_low", "frequency_high"),
        *("importance_mean", "importance_std", "sign_consistency", "selected"),
    ]
    assert list(table.index) == list(frame.columns)
    assert table.index.name == "feature"
    counts = (coefs != 0).sum(axis=0)
    np.testing.assert_array_equal(table["frequency"], counts / 8)
    wilson = [
        binomtest(int(count), 8).proportion_ci(method="wilson") for count in counts
    ]
    np.testing.assert_allclose(
        table["frequency_low"], [ends.low for ends in wilson], atol=1e-12
    )
    np.testing.assert_allclose(
        table["frequency_high"], [ends.high for ends in wilson], atol=1e-12
    )
    importances = np.abs(coefs) * deviations
    np.testing.assert_allclose(
        table["importance_mean"], importances.mean(axis=0), rtol=1e-9
    )
    np.testing.assert_allclose(
        table["importance_std"], importances.std(axis=0, ddof=1), rtol=1e-7, atol=1e-12
    )
    signs = [
        max((column > 0).sum(), (column < 0).sum()) / max(1, (column != 0).sum())
        for column in coefs.T
    ]
    np.testing.assert_allclose(
        table["sign_consistency"], np.where(counts > 0, signs, np.nan)
    )
    assert table["sign_consistency"].between(0.5, 0.99).any()
    assert table["sign_consistency"].isna().any() == (d == 80)
    np.testing.assert_array_equal(
        table["selected"], l1_logistic(C).fit(X, y).coef_[0] != 0
    )


def test_summary_of_what_there_is():
    X, y = make_data()
    frequency = ["frequency", "frequency_low", "frequency_high"]
    importance = ["importance_mean", "importance_std"]
    forest = SelectFromModel(RandomForestClassifier(3, random_state=0))
    table = StabilityCV(forest, cv=FEW).fit(X, y).summary()
    assert list(table.columns) == [*frequency, *importance, "selected"]
    assert list(table.index) == [f"x{number}" for number in range(D)]

    classes = np.arange(N) % 3
    table = (
        StabilityCV(LinearSVC(penalty="l1", dual=False, C=0.1), cv=FEW)
        .fit(X / X.std(axis=0), classes)
        .summary()
    )
    assert "sign_consistency" not in table

    X, y = make_regression(N, 5, noise=5.0, random_state=0)
    sequential = SequentialFeatureSelector(Ridge(), n_features_to_select=2, cv=2)
    assert list(StabilityCV(sequential, cv=FEW).fit(X, y).summary().columns) == [
        *frequency,
        "selected",
    ]
    table = (
        StabilityCV(Lasso(alpha=30.0), cv=FEW, support="consensus", threshold=1)
        .fit(X, y)
        .summary()
    )
    np.testing.assert_array_equal(table["selected"], table["frequency"] == 1)


# -- runs that select nothing ------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@pytest.mark.parametrize("kind", ["StabilityCV", "search"])
def test_a_pipeline_that_keeps_nothing_is_a_run_that_selected_nothing(kind):
    """Left out as failures, such runs would make the others look more stable than the selector is."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 40))
    y = rng.standard_normal(100) + 0.35 * X[:, :4].sum(axis=1)
    pipe, cv = make_pipeline(SelectFdr(f_regression, alpha=0.1), Ridge()), KFold(5)
    models = {
        "StabilityCV": StabilityCV(pipe, cv=cv, return_estimators=True),
        "search": StabilitySearchCV(
            pipe, {"ridge__alpha": [1.0]}, cv=cv, random_state=0
        ),
    }
    with pytest.warns(
        UserWarning,
        match=r"^scoring failed in 1 of 5 .* nothing was selected: ValueError",
    ):
        found = models[kind].fit(X, y).runs_
    runs = found if kind == "StabilityCV" else found[0]
    expected = np.array(
        [pipe[0].fit(X[train], y[train]).get_support() for train, _ in cv.split(X)]
    )
    np.testing.assert_array_equal(dense(runs.supports), expected)
    assert (
        (expected.sum(axis=1) == 0).sum() == np.isnan(runs.scores["score"]).sum() == 1
    )
    np.testing.assert_array_equal(dense(runs.importances) > 0, expected)
    assert runs.n_failed == 0
    assert np.isfinite(runs.fit_times).all()
    with pytest.raises(ValueError, match="Found array with 0 feature"):
        StabilityCV(pipe, cv=cv, error_score="raise").fit(X, y)

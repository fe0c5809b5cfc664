"""Which probabilities of single rows are kept, and in which form."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from skstab.model_selection import BootstrapSplit, StabilityCV
from skstab.runs import Runs

CV = BootstrapSplit(4, random_state=0)


def bayes(k=3):
    return make_pipeline(SelectKBest(k=k), GaussianNB())


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize(
    "scoring", ["neg_log_loss", ["accuracy", "neg_brier_score"], {"own": "roc_auc_ovr"}]
)
def test_they_are_those_of_each_fit_for_the_rows_it_left_out(load, scoring):
    X, y = load(return_X_y=True)
    cv = StabilityCV(bayes(), cv=CV, scoring=scoring, return_estimators=True)
    runs = cv.fit(X, y).runs_
    assert runs.row_probabilities.dtype == np.float32
    for number, (_, test) in enumerate(CV.split(X, y)):
        expected = np.full((len(y), len(np.unique(y))), np.nan, dtype=np.float32)
        expected[test] = cv.estimators_[number].predict_proba(X[test])
        table = expected[:, 1] if load is load_breast_cancer else expected
        np.testing.assert_array_equal(runs.row_probabilities[number], table)
        predicted = cv.estimators_[number].predict(X[test])
        np.testing.assert_array_equal(runs.row_predictions[number, test], predicted)
    refitted = cv.estimator_.predict_proba(X).astype(np.float32)
    expected = refitted[:, 1] if load is load_breast_cancer else refitted
    np.testing.assert_array_equal(runs.refit_predictions, expected)


def test_a_class_that_a_run_did_not_see_has_probability_zero():
    X, y = load_iris(return_X_y=True)
    splits = [(np.arange(100), np.arange(50, 150)), (np.arange(50, 150), np.arange(60))]
    cv = StabilityCV(bayes(), cv=splits, scoring=["accuracy", "neg_log_loss"])
    cv.fit(X, y)
    assert (cv.runs_.row_probabilities[0, 50:, 2] == 0).all()
    assert (cv.runs_.row_probabilities[1, :60, 0] == 0).all()


def test_none_are_kept_unless_a_score_reads_them():
    X, y = load_breast_cancer(return_X_y=True)
    for scoring in (None, "accuracy", ["accuracy", "f1"]):
        runs = StabilityCV(bayes(), cv=CV, scoring=scoring).fit(X, y).runs_
        assert runs.row_probabilities is None
        assert runs.refit_predictions is None
    svm = make_pipeline(SelectKBest(k=2), LinearSVC(tol=0.1))
    svm = StabilityCV(svm, cv=CV, scoring="roc_auc").fit(X, y)
    assert svm.runs_.row_probabilities is None  # it has none


def test_a_regressor_keeps_what_it_predicts_for_all_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X[:, 0] + rng.standard_normal(60)
    cv = StabilityCV(Lasso(alpha=0.1), cv=CV).fit(X, y)
    expected = cv.estimator_.predict(X)
    np.testing.assert_array_equal(cv.runs_.refit_predictions, expected)


def test_a_checkpoint_keeps_them_as_well(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    settings = {"cv": CV, "scoring": "neg_log_loss", "checkpoint": tmp_path / "runs"}
    first, again = (StabilityCV(bayes(), **settings).fit(X, y) for _ in range(2))
    assert (first.runs_.fit_times == again.runs_.fit_times).all()  # not made again
    tables = [cv.runs_.row_probabilities for cv in (first, again)]
    np.testing.assert_array_equal(*tables)


def test_what_is_no_table_of_probabilities_is_refused():
    table = np.eye(2)
    for wrong in ([[0.5]], [0.5, 0.5], [[0.5, 1.2]] * 2):
        with pytest.raises(ValueError, match="row_probabilities must"):
            Runs(table, row_probabilities=wrong)
    with pytest.raises(ValueError, match="refit_predictions must"):
        Runs(table, refit_predictions=np.zeros((2, 2, 2)))


def test_runs_of_other_rows_are_joined_without_them():
    table = np.eye(2)
    few = Runs(table, row_probabilities=np.zeros((2, 3)))
    many = Runs(table, row_probabilities=np.zeros((2, 4)))
    assert Runs.concat([few, few]).row_probabilities.shape == (4, 3)
    assert Runs.concat([few, many]).row_probabilities is None

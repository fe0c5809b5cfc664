"""`compare_selectors` against plain loops, statsmodels, and tests computed by hand."""

from itertools import combinations
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import t as student
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.datasets import make_classification, make_multilabel_classification, make_regression
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, SelectorMixin, f_regression
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from skstab.metrics import compare_stability, get_measure, jaccard_stability, stability_interval, stability_score
from skstab.model_selection import BootstrapSplit, StabilityCV, compare_selectors
from skstab.model_selection._compare import holm

N, D = 60, 12
CV = BootstrapSplit(8, random_state=0)


def make_data(shape=(N, D), **params):
    return make_classification(*shape, n_informative=4, n_redundant=0, random_state=0, **params)


def l1_logistic(C=0.3):
    return LogisticRegression(l1_ratio=1, C=C, solver="liblinear", random_state=0)


def filter_of(k, model=None):
    return make_pipeline(SelectKBest(k=k), model or GaussianNB())


def classifiers():
    return {
        "filter": filter_of(1),
        "lasso": l1_logistic(),
        "tree": filter_of(6, DecisionTreeClassifier(max_depth=2, random_state=0)),
        "rfe": make_pipeline(RFE(l1_logistic(1.0), n_features_to_select=4, step=4), GaussianNB()),
    }


class Scripted(SelectorMixin, BaseEstimator):
    """Chooses some features always and others at random, and scores around a level; all told by its rows.

    Part of the randomness is common to all such selectors, part is of the `seed`.
    """

    def __init__(self, seed=0, level=0.8, noise=0.0, always=2, others=2):
        self.seed = seed
        self.level = level
        self.noise = noise
        self.always = always
        self.others = others

    def fit(self, X, _y=None):
        rows = X[:, 0].astype(int)
        own, common = np.random.default_rng([self.seed, *rows]), np.random.default_rng(rows)
        self.n_features_in_ = X.shape[1]
        self.chosen_ = np.arange(X.shape[1]) < self.always
        self.chosen_[self.always + own.permutation(X.shape[1] - self.always)[: self.others]] = True
        self.score_ = self.level + 0.05 * common.standard_normal() + self.noise * own.standard_normal()
        return self

    def _get_support_mask(self):
        return self.chosen_

    def score(self, _X, _y=None):
        return self.score_


SCRIPT_X = np.column_stack([np.arange(40), np.zeros((40, 11))])
SCRIPT_CV = ShuffleSplit(20, test_size=4, random_state=0)


def scripted(selectors, **params):
    return compare_selectors(selectors, SCRIPT_X, cv=SCRIPT_CV, **params)


def corrected_pvalue(differences, share):
    """The test of Nadeau and Bengio (2003), equation 9."""
    m = len(differences)
    statistic = np.mean(differences) / np.sqrt((1 / m + share) * np.var(differences, ddof=1))
    return 2 * student.sf(abs(statistic), m - 1)


def share_of(splits):
    return np.mean([len(test) / len(train) for train, test in splits])


def scores_of(selector, X, y, splits, scoring="accuracy"):
    scorer = get_scorer(scoring)
    return np.array([scorer(clone(selector).fit(X[train], y[train]), X[test], y[test]) for train, test in splits])


def raw(found, of):
    """The p-values of all pairs, in order, without adjustment."""
    table = found.pvalues(of, adjust=False)
    return {(a, b): table.loc[a, b] for a, b in combinations(table.index, 2)}


@pytest.fixture(scope="module")
def compared():
    X, y = make_data()
    return compare_selectors(classifiers(), X, y, cv=CV)


# --- The resamples ---------------------------------------------------------------------------


class Recorder(ClassifierMixin, BaseEstimator):
    """Keep the rows, numbered in the first column, that each clone was trained on and predicted."""

    trained: ClassVar[dict[str, list[tuple[int, ...]]]] = {}
    predicted: ClassVar[dict[str, list[tuple[int, ...]]]] = {}

    def __init__(self, name="", weight=1.0):
        self.name = name
        self.weight = weight

    def fit(self, X, y):
        self.trained.setdefault(self.name, []).append(tuple(X[:, 0].astype(int)))
        self.classes_ = np.unique(y)
        self.coef_ = np.zeros((1, X.shape[1]))
        self.coef_[0, np.argsort(X[0])[-3:]] = self.weight
        return self

    def predict(self, X):
        self.predicted.setdefault(self.name, []).append(tuple(X[:, 0].astype(int)))
        return np.repeat(self.classes_[0], len(X))


@pytest.fixture
def rows():
    Recorder.trained.clear()
    Recorder.predicted.clear()
    return Recorder


def numbered(n=N):
    X, y = make_data((n, D - 1))
    return np.column_stack([np.arange(n), X]), y


def recorders(*names):
    return {name: Recorder(name) for name in names}


@pytest.mark.parametrize(
    "cv", [CV, BootstrapSplit(5), ShuffleSplit(5), None], ids=["seeded", "varying", "shuffled", "default"]
)
def test_every_selector_sees_the_same_resamples(rows, cv):
    X, y = numbered()
    compare_selectors(recorders("a", "b", "c"), X, y, cv=cv)
    assert rows.trained["a"] == rows.trained["b"] == rows.trained["c"]
    assert rows.predicted["a"] == rows.predicted["b"] == rows.predicted["c"]
    assert len(set(rows.trained["a"])) == len(rows.trained["a"])


@pytest.mark.parametrize("as_cv", [lambda splits: splits, iter], ids=["list", "generator"])
def test_the_resamples_are_those_of_the_splitter(rows, as_cv):
    X, y = numbered()
    splits = list(CV.split(X, y))
    compare_selectors(recorders("a", "b"), X, y, cv=as_cv(splits))
    for name in "ab":
        # The refit on all rows, and each run once.
        assert sorted(rows.trained[name]) == sorted([tuple(range(N)), *(tuple(train) for train, _ in splits)])
        assert {tuple(test) for _, test in splits} <= set(rows.predicted[name])


def test_default_resamples_are_stratified_bootstraps_for_classifiers(rows):
    X, _ = numbered()
    y = np.repeat([0, 1, 2], [45, 10, 5])
    found = compare_selectors(recorders("a", "b"), X, y, random_state=0)
    assert found.runs["a"].n_splits_ == found.runs["b"].n_splits_ == 50
    for train in rows.trained["b"]:
        np.testing.assert_array_equal(np.bincount(y[list(train)]), [45, 10, 5])
    resamples = [train for train in rows.trained["b"] if train != tuple(range(N))]
    assert len(resamples) == 50
    assert all(len(set(train)) < N for train in resamples)


def test_default_resamples_are_plain_bootstraps_for_others():
    X, y = make_regression(N, D, n_informative=4, random_state=0)
    found = compare_selectors({"a": Lasso(1.0), "b": Lasso(5.0)}, X, y, random_state=0)
    trains = [train for train, _ in found.runs["a"].cv]
    assert [len(train) for train in trains] == [N] * 50
    assert all(len(set(train)) < N for train in trains)


@pytest.mark.parametrize("cv", [GroupKFold(4), BootstrapSplit(5, random_state=0)], ids=["folds", "bootstrap"])
def test_groups_reach_the_splitter(rows, cv):
    X, y = numbered()
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(12), 5))
    compare_selectors(recorders("a", "b"), X, y, cv=cv, groups=groups)
    expected = [tuple(train) for train, _ in cv.split(X, y, groups)]
    for name in "ab":
        assert set(expected) <= set(rows.trained[name])
    for train, test in cv.split(X, y, groups):
        assert not set(groups[train]) & set(groups[test])


def random_selectors():
    tree = SelectFromModel(ExtraTreeClassifier(max_depth=3))
    return {"trees": make_pipeline(tree, GaussianNB()), "filter": filter_of(3)}


def results_of(found):
    frame = found.frame().drop(columns="fit_time")
    return pd.concat([frame, found.pvalues("stability"), found.pvalues("score")], axis=1)


def test_an_int_random_state_gives_the_same_for_any_number_of_jobs():
    X, y = make_data()
    found = {
        (seed, n_jobs): results_of(compare_selectors(random_selectors(), X, y, cv=5, random_state=seed, n_jobs=n_jobs))
        for seed, n_jobs in [(0, 1), (0, None), (0, 2), (1, 1)]
    }
    for n_jobs in (None, 2):
        pd.testing.assert_frame_equal(found[0, n_jobs], found[0, 1], check_exact=True)
    assert found[1, 1].loc["trees", "stability"] != found[0, 1].loc["trees", "stability"]


def test_random_state_seeds_the_default_resamples(rows):
    X, y = numbered()
    drawn = []
    for seed in (0, 0, 1):
        rows.trained.clear()
        compare_selectors(recorders("a", "b"), X, y, random_state=seed)
        drawn.append(rows.trained["a"])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0]) & set(drawn[2])) == 1  # the whole sample


def test_the_selectors_themselves_are_left_alone():
    X, y = make_data()
    selectors = classifiers()
    compare_selectors(selectors, X, y, cv=3)
    assert not hasattr(selectors["lasso"], "coef_")
    assert not hasattr(selectors["filter"][0], "scores_")
    assert list(selectors) == list(classifiers())


# --- The frame -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scoring", "measure"), [(None, "nogueira"), ("roc_auc", "jaccard"), ("neg_log_loss", "nogueira")]
)
def test_frame_equals_runs_made_by_hand(scoring, measure):
    X, y = make_data()
    selectors = classifiers()
    splits = list(CV.split(X, y))
    found = compare_selectors(selectors, X, y, cv=CV, scoring=scoring, measure=measure)
    frame = found.frame()
    assert list(frame.index) == list(selectors)
    assert frame.index.name == "selector"
    for name, selector in selectors.items():
        row = frame.loc[name]
        runs = StabilityCV(selector, cv=splits, scoring=scoring, measure=measure).fit(X, y)
        scores = scores_of(selector, X, y, splits, scoring or "accuracy")
        interval = runs.stability_interval_
        np.testing.assert_allclose(row["score"], scores.mean())
        np.testing.assert_allclose(row["score_se"], scores.std(ddof=1) / np.sqrt(len(splits)))
        assert (row["stability"], row["stability_low"], row["stability_high"]) == (
            interval.estimate,
            interval.low,
            interval.high,
        )
        np.testing.assert_allclose(row["n_features"], np.asarray(runs.supports_.sum(axis=1)).mean())
        assert row["fit_time"] == found.runs[name].fit_times_.mean() > 0
        assert found.runs[name].stability_interval_ == interval
        assert row["n_failed"] == 0


def front_by_force(scores, merits):
    points = list(zip(scores, merits, strict=True))
    return [not any(x >= a and y >= b and (x, y) != (a, b) for x, y in points) for a, b in points]


def test_on_front_equals_brute_force():
    X, y = make_data()
    selectors = {f"filter {k}": filter_of(k) for k in range(1, 10)}
    selectors["copy"] = filter_of(1)
    frame = compare_selectors(selectors, X, y, cv=CV).frame()
    expected = front_by_force(frame["score"], frame["stability"])
    assert 1 < sum(expected) < len(expected) - 1
    assert frame["on_front"].tolist() == expected
    assert frame.loc["copy", "on_front"] == frame.loc["filter 1", "on_front"]


def test_equals_are_on_the_front_together():
    frame = scripted({"a": Scripted(), "worse": Scripted(level=0.7), "b": Scripted()}).frame()
    assert frame["on_front"].tolist() == [True, False, True]


def test_regression():
    X, y = make_regression(N, D, n_informative=4, noise=40.0, random_state=0)
    selectors = {"lasso": Lasso(10.0), "filter": make_pipeline(SelectKBest(f_regression, k=3), LinearRegression())}
    splits = list(CV.split(X))
    for scoring in (None, "neg_mean_absolute_error"):
        found = compare_selectors(selectors, X, y, cv=CV, scoring=scoring)
        scores = {name: scores_of(model, X, y, splits, scoring or "r2") for name, model in selectors.items()}
        np.testing.assert_allclose(found.frame()["score"], [values.mean() for values in scores.values()])
        expected = corrected_pvalue(scores["lasso"] - scores["filter"], share_of(splits))
        np.testing.assert_allclose(found.pvalues("score").loc["lasso", "filter"], expected)


# --- P-values --------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["stability", "score"])
@pytest.mark.parametrize("adjust", [True, False])
def test_pvalues_are_a_symmetric_table_with_unit_diagonal(compared, of, adjust):
    table = compared.pvalues(of, adjust=adjust)
    assert list(table.index) == list(table.columns) == list(classifiers())
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(np.diag(table), 1.0)
    assert ((table > 0) & (table <= 1)).all(axis=None)


def test_pvalues_are_of_stability_unless_asked_otherwise(compared):
    pd.testing.assert_frame_equal(compared.pvalues(), compared.pvalues("stability", adjust=True))
    with pytest.raises(ValueError, match="of must be 'stability' or 'score', got 'accuracy'"):
        compared.pvalues("accuracy")


@pytest.mark.parametrize("of", ["stability", "score"])
def test_pvalues_are_adjusted_after_holm(compared, of):
    plain, adjusted = raw(compared, of), compared.pvalues(of)
    expected = multipletests(list(plain.values()), method="holm")[1]
    np.testing.assert_allclose([adjusted.loc[pair] for pair in plain], expected)
    assert not np.allclose(list(plain.values()), expected)


@pytest.mark.parametrize("size", [1, 2, 3, 6, 15])
def test_holm_equals_statsmodels(size):
    for seed in range(5):
        pvalues = np.random.default_rng(seed).choice([0.0, 1e-6, 0.004, 0.01, 0.02, 0.03, 0.2, 0.5, 1.0], size)
        np.testing.assert_allclose(holm(pvalues), multipletests(pvalues, method="holm")[1])


@pytest.mark.parametrize("measure", ["nogueira", "jaccard", "importance_weighted", "spearman"])
def test_stabilities_are_compared_in_pairs(measure):
    X, y = make_data()
    selectors = {"filter": filter_of(3), "lasso": l1_logistic(), "dense lasso": l1_logistic(1.0)}
    found = compare_selectors(selectors, X, y, cv=CV, measure=measure)
    splits = list(CV.split(X, y))
    tables = {}
    for name, selector in selectors.items():
        runs = StabilityCV(selector, cv=splits).fit(X, y)
        table = runs.importances_ if measure in ("importance_weighted", "spearman") else runs.supports_
        tables[name] = table.toarray() if hasattr(table, "toarray") else table
        np.testing.assert_allclose(found.frame().loc[name, "stability"], stability_score(tables[name], measure=measure))
    for (a, b), value in raw(found, "stability").items():
        expected = compare_stability(tables[a], tables[b], measure=measure, paired=True)
        np.testing.assert_allclose(value, expected.pvalue)
        difference = found.difference(a, b)
        np.testing.assert_allclose(difference.difference, expected.difference)
        np.testing.assert_allclose([difference.low, difference.high], [expected.low, expected.high])
        assert not np.isclose(value, compare_stability(tables[a], tables[b], measure=measure).pvalue)


def test_a_difference_of_unknown_selectors_is_an_error(compared):
    name = next(iter(compared.runs))
    with pytest.raises(ValueError, match="there is no selector 'nobody'"):
        compared.difference(name, "nobody")


@pytest.mark.parametrize(
    "cv", [CV, ShuffleSplit(8, test_size=0.3, random_state=0), RepeatedKFold(n_splits=3, n_repeats=2)]
)
def test_scores_of_overlapping_tests_are_compared_by_the_corrected_t_test(cv):
    X, y = make_data()
    splits = list(cv.split(X, y))
    selectors = classifiers()
    found = compare_selectors(selectors, X, y, cv=splits)
    scores = {name: scores_of(selector, X, y, splits) for name, selector in selectors.items()}
    for (a, b), value in raw(found, "score").items():
        np.testing.assert_allclose(value, corrected_pvalue(scores[a] - scores[b], share_of(splits)))


def test_scores_that_differ_always_by_the_same():
    found = scripted({"a": Scripted(level=0.75), "b": Scripted(level=0.5), "c": Scripted(level=0.75)})
    table = found.pvalues("score")
    assert table.loc["a", "c"] == 1
    assert table.loc["a", "b"] < 1e-12


def mcnemar_pvalue(predictions, y):
    a, b = (predicted == y for predicted in predictions)
    table = [[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]]
    return mcnemar(table, exact=True).pvalue


@pytest.mark.parametrize("cv", [KFold(5, shuffle=True, random_state=0), StratifiedKFold(4), 3], ids=str)
@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]], ids=["numbers", "strings"])
def test_scores_of_folds_are_compared_by_mcnemar(cv, labels):
    X, y = make_data((100, D))
    y = np.array(labels)[y]
    selectors = {"filter": filter_of(4), "one": filter_of(1), "off": filter_of(3, GaussianNB(priors=[0.05, 0.95]))}
    found = compare_selectors(selectors, X, y, cv=cv)
    predictions = {name: cross_val_predict(selector, X, y, cv=cv) for name, selector in selectors.items()}
    values = raw(found, "score")
    assert min(values.values()) < 0.3
    for (a, b), value in values.items():
        np.testing.assert_allclose(value, mcnemar_pvalue([predictions[a], predictions[b]], y))


def test_mcnemar_of_several_labels_is_about_rows_that_are_wholly_right():
    # As is the accuracy that these classifiers score.
    X, y = make_multilabel_classification(60, 8, n_classes=3, random_state=0)
    tree = DecisionTreeClassifier(random_state=0)
    selectors = {
        "a": make_pipeline(SelectFromModel(tree, max_features=1, threshold=-np.inf), tree),
        "b": make_pipeline(SelectFromModel(tree, max_features=5, threshold=-np.inf), tree),
    }
    found = compare_selectors(selectors, X, y, cv=KFold(4))
    right = [(cross_val_predict(s, X, y, cv=KFold(4)) == y).all(axis=1) for s in selectors.values()]
    expected = mcnemar_pvalue(right, np.ones(60, dtype=bool))
    assert expected < 0.95
    np.testing.assert_allclose(found.pvalues("score").loc["a", "b"], expected)


def test_mcnemar_of_classifiers_that_err_on_the_same_rows():
    X, y = make_data()
    found = compare_selectors({"a": filter_of(3), "b": filter_of(3)}, X, y, cv=3)
    assert found.pvalues("score").loc["a", "b"] == 1


@pytest.mark.parametrize("cv", ["part", "regressors"])
def test_mcnemar_needs_classifiers_and_every_row_once(cv):
    if cv == "part":
        X, y = make_data()
        selectors, scoring = {"a": filter_of(1), "b": filter_of(5, GaussianNB(priors=[0.05, 0.95]))}, "accuracy"
        splits = list(PredefinedSplit(np.arange(N) % 5 - 1).split())  # a fifth of the rows is never tested
    else:
        X, y = make_regression(N, D, n_informative=4, noise=40.0, random_state=0)
        selectors, scoring = {"a": Lasso(10.0), "b": Lasso(30.0)}, "r2"
        splits = list(KFold(4).split(X))
    found = compare_selectors(selectors, X, y, cv=splits)
    a, b = (scores_of(selector, X, y, splits, scoring) for selector in selectors.values())
    expected = corrected_pvalue(a - b, share_of(splits))
    assert expected < 0.95
    np.testing.assert_allclose(found.pvalues("score").loc["a", "b"], expected)


def test_folds_scored_by_other_than_accuracy_are_compared_by_that_score():
    # McNemar's test is about accuracy: it knows nothing of the area under the curve.
    X, y = make_data()
    splits = list(StratifiedKFold(5).split(X, y))
    selectors = {"a": filter_of(1), "b": filter_of(5)}
    found = compare_selectors(selectors, X, y, cv=splits, scoring="roc_auc")
    a, b = (scores_of(selector, X, y, splits, "roc_auc") for selector in selectors.values())
    np.testing.assert_allclose(found.pvalues("score").loc["a", "b"], corrected_pvalue(a - b, share_of(splits)))


# --- Failures --------------------------------------------------------------------------------


class Needs(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A step that can't be fitted without one row, which has its number in the first column."""

    def __init__(self, row=0):
        self.row = row

    def fit(self, X, _y=None):
        self.n_features_in_ = X.shape[1]
        if self.row not in X[:, 0]:
            raise RuntimeError(f"row {self.row} is missing")
        return self

    def transform(self, X):
        return X


def with_failures(cv):
    """Compare a selector that needs row 0, one that needs row 1, and two that need none."""
    X, y = numbered()
    splits = list(cv.split(X, y))
    selectors = {
        "zero": make_pipeline(Needs(0), l1_logistic()),
        "one": make_pipeline(Needs(1), filter_of(3)),
        "lasso": l1_logistic(1.0),
        "bayes": filter_of(5),
    }
    with pytest.warns(FitFailedWarning):
        found = compare_selectors(selectors, X, y, cv=splits)
    succeeded = {name: [True] * len(splits) for name in selectors}
    succeeded |= {name: [row in train for train, _ in splits] for row, name in enumerate(["zero", "one"])}
    return X, y, splits, selectors, found, {name: np.array(done) for name, done in succeeded.items()}


def test_pairs_use_the_resamples_on_which_both_succeeded():
    X, y, splits, selectors, found, succeeded = with_failures(ShuffleSplit(14, test_size=0.4, random_state=0))
    frame = found.frame()
    n_failed = [np.sum(~done) for done in succeeded.values()]
    assert 2 <= n_failed[0] <= 8
    assert 2 <= n_failed[1] <= 8
    assert (succeeded["zero"] != succeeded["one"]).sum() > 2
    assert frame["n_failed"].tolist() == n_failed
    stabilities, scores = raw(found, "stability"), raw(found, "score")
    plain = {name: selector[1] if name in ("zero", "one") else selector for name, selector in selectors.items()}
    for a, b in combinations(selectors, 2):
        both = [split for split, done in zip(splits, succeeded[a] & succeeded[b], strict=True) if done]
        tables = [StabilityCV(plain[name], cv=both).fit(X, y).supports_ for name in (a, b)]
        np.testing.assert_allclose(stabilities[a, b], compare_stability(*tables, paired=True).pvalue)
        differences = np.subtract(*(scores_of(plain[name], X, y, both) for name in (a, b)))
        np.testing.assert_allclose(scores[a, b], corrected_pvalue(differences, share_of(both)))


def test_failed_runs_are_no_part_of_the_frame():
    X, y, splits, _, found, succeeded = with_failures(ShuffleSplit(10, test_size=0.3, random_state=0))
    done = [split for split, ok in zip(splits, succeeded["zero"], strict=True) if ok]
    row = found.frame().loc["zero"]
    runs = StabilityCV(l1_logistic(), cv=done).fit(X, y)
    np.testing.assert_allclose(row["score"], runs.scores_["score"].mean())
    np.testing.assert_allclose(row["stability"], runs.stability_)
    np.testing.assert_allclose(row["n_features"], runs.selection_frequencies_.sum())


def test_failed_folds_leave_the_corrected_t_test():
    X, y, splits, selectors, found, succeeded = with_failures(KFold(6))
    both = [split for split, done in zip(splits, succeeded["zero"] & succeeded["one"], strict=True) if done]
    assert len(both) < 6
    differences = np.subtract(*(scores_of(selectors[name][1], X, y, both) for name in ("zero", "one")))
    np.testing.assert_allclose(raw(found, "score")["zero", "one"], corrected_pvalue(differences, share_of(both)))


def no_score_for_some(estimator, X, y=None):
    if estimator.level == 0.8 and len(X) > 1 and 5 in X[:, 0]:
        raise ValueError("row 5 can't be scored")
    return estimator.score_


def test_missing_scores_are_left_out():
    # As in stability_scoring: one resample that can't be scored is no reason to know nothing of the selector.
    selectors = {"a": Scripted(noise=0.1), "b": Scripted(1, level=0.7, noise=0.1)}
    with pytest.warns(UserWarning, match="scoring failed in"):
        found = scripted(selectors, scoring=no_score_for_some)
    known = np.array([5 not in test for _, test in SCRIPT_CV.split(SCRIPT_X)])
    assert 0 < (~known).sum() < 10
    whole = scripted(selectors)
    a, b = (whole.runs[name].scores_["score"] for name in "ab")
    row = found.frame().loc["a"]
    np.testing.assert_allclose(row["score"], a[known].mean())
    np.testing.assert_allclose(row["score_se"], a[known].std(ddof=1) / np.sqrt(known.sum()))
    np.testing.assert_allclose(found.pvalues("score").loc["a", "b"], corrected_pvalue((a - b)[known], 4 / 36))


# --- The recommendation ----------------------------------------------------------------------


def assert_tells(found, reason, selector):
    row = found.frame().loc[selector]
    assert reason.startswith(f"Take {selector}: ")
    assert f"{row['stability']:.2f} ({row['stability_low']:.2f} to {row['stability_high']:.2f})" in reason
    assert f"scores {row['score']:.3f}" in reason
    assert reason.endswith(".")


def test_recommends_the_best_where_it_is_also_the_most_stable():
    selectors = {"loose": Scripted(1, level=0.79, noise=0.02, others=5), "firm": Scripted(2, noise=0.02, others=1)}
    found = scripted(selectors)
    selector, reason = found.recommend()
    assert selector == "firm"
    assert_tells(found, reason, "firm")
    assert "loose" not in reason
    assert "against" not in reason
    assert "worse" not in reason
    assert str(found.recommend()) == reason


def test_recommends_the_most_stable_where_the_best_is_not_significantly_better():
    selectors = {"loose": Scripted(1, level=0.82, noise=0.04, others=5), "firm": Scripted(2, noise=0.04, others=1)}
    found = scripted(selectors)
    frame = found.frame()
    assert frame["score"].idxmax() == "loose"
    assert found.pvalues("score").loc["loose", "firm"] > 0.05
    selector, reason = found.recommend()
    assert selector == "firm"
    assert_tells(found, reason, "firm")
    assert f"against {frame.loc['loose', 'score']:.3f} of loose, a difference that is not significant" in reason
    assert "worse" not in reason


def test_recommends_the_best_where_the_most_stable_is_significantly_worse():
    selectors = {
        "poor": Scripted(1, level=0.6, noise=0.02, others=1),
        "good": Scripted(2, level=0.8, noise=0.02, others=5),
    }
    found = scripted(selectors)
    assert found.frame()["stability"].idxmax() == "poor"
    selector, reason = found.recommend()
    assert selector == "good"
    assert_tells(found, reason, "good")
    assert "among the selectors that do not score significantly worse than good" in reason
    assert "; poor scored worse" in reason
    assert "against" not in reason


def four_selectors():
    return {
        "poor": Scripted(1, level=0.5, noise=0.02, others=0),
        "best": Scripted(2, level=0.82, noise=0.04, others=6),
        "firm": Scripted(3, level=0.8, noise=0.04, others=2),
        "bad": Scripted(4, level=0.55, noise=0.02, others=1),
        "loose": Scripted(5, level=0.8, noise=0.04, others=7),
    }


def test_recommends_the_most_stable_of_those_not_worse():
    found = scripted(four_selectors())
    assert found.frame()["score"].idxmax() == "best"
    selector, reason = found.recommend()
    assert selector == "firm"
    assert_tells(found, reason, "firm")
    assert "among the selectors that do not score significantly worse than best" in reason
    assert f"against {found.frame().loc['best', 'score']:.3f} of best" in reason
    assert "; poor, bad scored worse" in reason
    assert "loose" not in reason


def test_recommendation_by_brute_force():
    taken = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        selectors = {
            f"s{number}": Scripted(100 * seed + number, rng.uniform(0.76, 0.84), 0.05, others=int(rng.integers(1, 8)))
            for number in range(4)
        }
        found = scripted(selectors)
        frame, pvalues = found.frame(), found.pvalues("score")
        best = max(selectors, key=lambda name: frame.loc[name, "score"])
        left = [name for name in selectors if name == best or pvalues.loc[name, best] >= 0.05]
        expected = max(left, key=lambda name: frame.loc[name, "stability"])
        assert found.recommend().selector == expected
        taken.add((expected == best, len(left) == 4))
    assert len(taken) > 2


def test_recommendation_depends_on_the_level_and_on_all_pairs():
    pair = {"firm": Scripted(1, level=0.76, noise=0.03, others=1), "best": Scripted(2, noise=0.03, others=5)}
    found = scripted(pair)
    value = found.pvalues("score").loc["firm", "best"]
    assert 0.01 < value < 0.05
    assert found.recommend().selector == "best"
    firm, reason = found.recommend(level=0.01)
    assert firm == "firm"
    assert "level 0.01" in reason
    # Among more selectors the same difference is no longer significant.
    others = {f"other {number}": Scripted(10 + number, level=0.79, noise=0.1, others=9) for number in range(3)}
    more = scripted(pair | others)
    assert more.pvalues("score").loc["firm", "best"] > 0.05
    assert more.recommend().selector == "firm"


def test_among_equally_stable_selectors_the_better_score_is_recommended():
    found = scripted({"a": Scripted(1, level=0.79, noise=0.03, others=0), "b": Scripted(2, noise=0.03, others=0)})
    assert found.frame()["stability"].tolist() == [1, 1]
    assert found.frame()["score"].idxmax() == "b"
    assert found.recommend().selector == "b"


@pytest.mark.filterwarnings("ignore:all runs agree:RuntimeWarning")
def test_a_selector_that_selects_nothing_is_no_choice():
    # As in pareto_front: choosing nothing is trivially stable.
    selectors = {"nothing": Scripted(1, always=0, others=0), "some": Scripted(2, level=0.79, noise=0.03)}
    found = scripted(selectors)
    frame, chosen = found.frame(), found.recommend().selector
    assert frame["on_front"].tolist() == [False, True]
    assert chosen == "some"


def test_a_more_accurate_selector_is_not_worse_in_another_score():
    # Both rank the rows about equally well; a prior that is far off makes the one misclassify most of them.
    X, y = make_data((100, D), weights=[0.7], flip_y=0)
    selectors = {"off": filter_of(4, GaussianNB(priors=[0.001, 0.999])), "plain": filter_of(2)}
    cv = StratifiedKFold(5)
    found = compare_selectors(selectors, X, y, cv=cv, scoring="roc_auc")
    off, plain = (np.mean(cross_val_predict(selector, X, y, cv=cv) == y) for selector in selectors.values())
    assert plain > off + 0.2
    frame = found.frame()
    assert frame["score"].idxmax() == "off"
    assert frame["stability"].idxmax() == "plain"
    a, b = (runs.scores_["roc_auc"] for runs in found.runs.values())
    assert corrected_pvalue(a - b, 20 / 80) > 0.1
    assert found.recommend().selector == "plain"


# --- Measures --------------------------------------------------------------------------------


def test_lower_is_more_stable_for_krizek():
    selectors = {
        "loose": Scripted(1, level=0.85, noise=0.05, others=3),
        "firm": Scripted(2, noise=0.05, others=1),
        "beaten": Scripted(3, level=0.5, noise=0.01, others=3),
    }
    found = scripted(selectors, measure="krizek")
    frame = found.frame()
    tables = {name: runs.supports_ for name, runs in found.runs.items()}
    for name, table in tables.items():
        interval = stability_interval(table, measure="krizek")
        np.testing.assert_allclose(frame.loc[name, "stability"], interval.estimate)
        np.testing.assert_allclose(frame.loc[name, "stability_low"], interval.low)
    assert frame["stability"].idxmin() == "firm"
    assert frame["on_front"].tolist() == front_by_force(frame["score"], -frame["stability"]) == [True, True, False]
    for (a, b), value in raw(found, "stability").items():
        np.testing.assert_allclose(value, compare_stability(tables[a], tables[b], measure="krizek", paired=True).pvalue)
    assert found.recommend().selector == "firm"


def test_the_sentence_does_not_call_the_lowest_value_the_highest():
    found = scripted({"loose": Scripted(1, others=3), "firm": Scripted(2, others=1)}, measure="krizek")
    selector, reason = found.recommend()
    assert selector == found.frame()["stability"].idxmin() == "firm"
    assert "the highest" not in reason


def test_a_measure_may_be_a_function_or_an_object():
    selectors = {"loose": Scripted(1, others=3), "firm": Scripted(2, others=1)}
    named = results_of(scripted(selectors, measure="jaccard"))
    for measure in (jaccard_stability, get_measure("jaccard")):
        pd.testing.assert_frame_equal(results_of(scripted(selectors, measure=measure)), named)


# --- Input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [lambda X: X.tolist(), pd.DataFrame, csr_array], ids=["lists", "frame", "sparse"])
@pytest.mark.parametrize("cv", [CV, StratifiedKFold(4)], ids=["bootstrap", "folds"])
def test_any_form_of_data(form, cv):
    X, y = make_data()
    selectors = {"filter": filter_of(3, l1_logistic(1.0)), "lasso": l1_logistic()}
    expected = compare_selectors(selectors, X, y, cv=cv)
    target = y.tolist() if isinstance(form(X), list) else y
    found = compare_selectors(selectors, form(X), target, cv=cv)
    pd.testing.assert_frame_equal(results_of(found), results_of(expected), rtol=1e-3)


@pytest.mark.parametrize(
    "selectors",
    [{}, {"lasso": l1_logistic()}, [l1_logistic(), l1_logistic()], [("a", l1_logistic()), ("b", l1_logistic())]],
    ids=["none", "one", "list", "pairs"],
)
def test_refuses_other_than_a_dict_of_several(selectors):
    X, y = make_data()
    with pytest.raises(ValueError, match="selectors must be a dict of at least 2 estimators, got"):
        compare_selectors(selectors, X, y)


@pytest.mark.parametrize("scoring", [["accuracy", "roc_auc"], ("accuracy",), {"a": "accuracy"}])
def test_refuses_several_scorers(scoring):
    X, y = make_data()
    with pytest.raises(ValueError, match=r"scoring must be None, a string or a callable.*one score"):
        compare_selectors(classifiers(), X, y, scoring=scoring)


def test_names_the_selector_that_has_no_score():
    X, y = make_data()
    with pytest.raises(ValueError, match="selector 'alone' has no score: put a model behind it"):
        compare_selectors({"lasso": l1_logistic(), "alone": SelectKBest(k=3)}, X, y, cv=CV)


def test_a_callable_scores_where_there_is_no_score():
    X, y = make_data()

    def mean_score(selector, X, y):
        return float(selector.scores_.mean())

    selectors = {"two": SelectKBest(k=2), "three": SelectKBest(k=3)}
    found = compare_selectors(selectors, X, y, cv=CV, scoring=mean_score)
    expected = np.mean([SelectKBest().fit(X[train], y[train]).scores_.mean() for train, _ in CV.split(X, y)])
    np.testing.assert_allclose(found.frame()["score"], expected)


def test_two_resamples_have_no_interval():
    X, y = make_data()
    frame = compare_selectors({"filter": filter_of(3), "lasso": l1_logistic()}, X, y, cv=2).frame()
    assert frame[["stability_low", "stability_high"]].isna().all(axis=None)
    assert frame["stability"].notna().all()

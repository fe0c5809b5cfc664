"""`compare_selectors` against plain loops, statsmodels, and tests computed by hand."""

import re
from dataclasses import replace
from functools import partial
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import binomtest, ttest_1samp
from scipy.stats import t as student
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
    clone,
)
from sklearn.datasets import (
    make_classification,
    make_multilabel_classification,
    make_regression,
)
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectFwe,
    SelectKBest,
    SelectorMixin,
    f_classif,
    f_regression,
)
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
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
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from statsmodels.stats.multitest import multipletests

from skstab.metrics import (
    compare_replication,
    compare_stability,
    get_measure,
    jaccard_stability,
    replication_stability,
    stability_interval,
    stability_score,
)
from skstab.model_selection import (
    BootstrapSplit,
    SelectorComparison,
    StabilityCV,
    assess_selector,
    compare_selectors,
)
from skstab.model_selection._recommend import Scored
from skstab.model_selection._score_tests import holm, mcnemar
from skstab.runs import Runs

without_halves = partial(compare_selectors, n_pairs=0)

N, D = 60, 12
CV = BootstrapSplit(8, random_state=0)


def make_data(shape=(N, D), **params):
    return make_classification(
        *shape, n_informative=4, n_redundant=0, random_state=0, **params
    )


def l1_logistic(C=0.3):
    return LogisticRegression(l1_ratio=1, C=C, solver="liblinear", random_state=0)


def filter_of(k, model=None):
    return make_pipeline(SelectKBest(k=k), model or GaussianNB())


def classifiers():
    return {
        "filter": filter_of(1),
        "lasso": l1_logistic(),
        "tree": filter_of(6, DecisionTreeClassifier(max_depth=2, random_state=0)),
        "rfe": make_pipeline(
            RFE(l1_logistic(1.0), n_features_to_select=4, step=4), GaussianNB()
        ),
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
        own, common = (
            np.random.default_rng([self.seed, *rows]),
            np.random.default_rng(rows),
        )
        self.n_features_in_ = X.shape[1]
        self.chosen_ = np.arange(X.shape[1]) < self.always
        self.chosen_[
            self.always + own.permutation(X.shape[1] - self.always)[: self.others]
        ] = True
        self.score_ = (
            self.level
            + 0.05 * common.standard_normal()
            + self.noise * own.standard_normal()
        )
        return self

    def _get_support_mask(self):
        return self.chosen_

    def score(self, _X, _y=None):
        return self.score_


SCRIPT_X = np.column_stack([np.arange(40), np.zeros((40, 11))])
SCRIPT_CV = ShuffleSplit(20, test_size=4, random_state=0)


def scripted(selectors, **params):
    return without_halves(selectors, SCRIPT_X, cv=SCRIPT_CV, **params)


def corrected_pvalue(differences, share=0.2):
    """The test of Nadeau and Bengio (2003), equation 9, with a constant in place of n_test / n_train."""
    m = len(differences)
    statistic = np.mean(differences) / np.sqrt(
        (1 / m + share) * np.var(differences, ddof=1)
    )
    return 2 * student.sf(abs(statistic), m - 1)


def losses_of(selector, X, y, splits, loss):
    """Mean loss of each row over the splits that leave it out, by a plain loop."""
    by_row = {row: [] for row in range(len(y))}
    for train, test in splits:
        predicted = clone(selector).fit(X[train], y[train]).predict(X[test])
        for row, value in zip(test, loss(y[test], predicted), strict=True):
            by_row[row].append(value)
    return np.array(
        [np.mean(values) if values else np.nan for values in by_row.values()]
    )


def is_wrong(y, predicted):
    return (y != predicted).astype(float)


def row_pvalue(a, b):
    """One-sample t-test of the differences of rows."""
    differences = (a - b)[~np.isnan(a - b)]
    return ttest_1samp(differences, 0).pvalue


def scores_of(selector, X, y, splits, scoring="accuracy"):
    scorer = get_scorer(scoring)
    return np.array(
        [
            scorer(clone(selector).fit(X[train], y[train]), X[test], y[test])
            for train, test in splits
        ]
    )


def raw(found, of):
    """The p-values of all pairs, in order, without adjustment."""
    table = found.pvalues(of, adjust=False)
    return {(a, b): table.loc[a, b] for a, b in combinations(table.index, 2)}


@pytest.fixture(scope="module")
def compared():
    X, y = make_data()
    return without_halves(classifiers(), X, y, cv=CV)


# -- the resamples -----------------------------------------------------------------------------------------------------


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
    "cv",
    [CV, BootstrapSplit(5), ShuffleSplit(5), None],
    ids=["seeded", "varying", "shuffled", "default"],
)
# Resamples without a seed may be of any kind.
@pytest.mark.filterwarnings("ignore:nearly all variation between the runs")
def test_every_selector_sees_the_same_resamples(rows, cv):
    X, y = numbered()
    without_halves(recorders("a", "b", "c"), X, y, cv=cv)
    assert rows.trained["a"] == rows.trained["b"] == rows.trained["c"]
    assert rows.predicted["a"] == rows.predicted["b"] == rows.predicted["c"]
    assert len(set(rows.trained["a"])) == len(rows.trained["a"])


@pytest.mark.parametrize(
    "as_cv", [lambda splits: splits, iter], ids=["list", "generator"]
)
def test_the_resamples_are_those_of_the_splitter(rows, as_cv):
    X, y = numbered()
    splits = list(CV.split(X, y))
    without_halves(recorders("a", "b"), X, y, cv=as_cv(splits))
    for name in "ab":
        # The refit on all rows, and each run once.
        assert sorted(rows.trained[name]) == sorted(
            [tuple(range(N)), *(tuple(train) for train, _ in splits)]
        )
        assert {tuple(test) for _, test in splits} <= set(rows.predicted[name])


def test_default_resamples_are_stratified_bootstraps_for_classifiers(rows):
    X, _ = numbered()
    y = np.repeat([0, 1, 2], [45, 10, 5])
    found = without_halves(recorders("a", "b"), X, y, random_state=0)
    assert found.runs["a"].n_splits_ == found.runs["b"].n_splits_ == 50
    for train in rows.trained["b"]:
        np.testing.assert_array_equal(np.bincount(y[list(train)]), [45, 10, 5])
    resamples = [train for train in rows.trained["b"] if train != tuple(range(N))]
    assert len(resamples) == 50
    assert all(len(set(train)) < N for train in resamples)


def test_default_resamples_are_plain_bootstraps_for_others():
    X, y = make_regression(N, D, n_informative=4, random_state=0)
    found = without_halves({"a": Lasso(1.0), "b": Lasso(5.0)}, X, y, random_state=0)
    trains = [train for train, _ in found.runs["a"].cv]
    assert [len(train) for train in trains] == [N] * 50
    assert all(len(set(train)) < N for train in trains)


@pytest.mark.parametrize(
    "cv", [GroupKFold(4), BootstrapSplit(5, random_state=0)], ids=["folds", "bootstrap"]
)
def test_groups_reach_the_splitter(rows, cv):
    X, y = numbered()
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(12), 5))
    without_halves(recorders("a", "b"), X, y, cv=cv, groups=groups)
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
    return pd.concat(
        [frame, found.pvalues("stability"), found.pvalues("score")], axis=1
    )


def test_an_int_random_state_gives_the_same_for_any_number_of_jobs():
    X, y = make_data()
    found = {
        (seed, n_jobs): results_of(
            without_halves(
                random_selectors(), X, y, cv=5, random_state=seed, n_jobs=n_jobs
            )
        )
        for seed, n_jobs in [(0, 1), (0, None), (0, 2), (1, 1)]
    }
    for n_jobs in (None, 2):
        pd.testing.assert_frame_equal(found[0, n_jobs], found[0, 1], check_exact=True)
    assert (
        found[1, 1].loc["trees", "stability"] != found[0, 1].loc["trees", "stability"]
    )


def test_random_state_seeds_the_default_resamples(rows):
    X, y = numbered()
    drawn = []
    for seed in (0, 0, 1):
        rows.trained.clear()
        without_halves(recorders("a", "b"), X, y, random_state=seed)
        drawn.append(rows.trained["a"])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0]) & set(drawn[2])) == 1  # the whole sample


def test_the_selectors_themselves_are_left_alone():
    X, y = make_data()
    selectors = classifiers()
    without_halves(selectors, X, y, cv=3)
    assert not hasattr(selectors["lasso"], "coef_")
    assert not hasattr(selectors["filter"][0], "scores_")
    assert list(selectors) == list(classifiers())


# -- the frame ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scoring", "measure"),
    [(None, "nogueira"), ("roc_auc", "jaccard"), ("neg_log_loss", "nogueira")],
)
def test_frame_equals_runs_made_by_hand(scoring, measure):
    X, y = make_data()
    selectors = classifiers()
    splits = list(CV.split(X, y))
    found = without_halves(selectors, X, y, cv=CV, scoring=scoring, measure=measure)
    frame = found.frame()
    assert list(frame.index) == list(selectors)
    assert frame.index.name == "selector"
    for name, selector in selectors.items():
        row = frame.loc[name]
        runs = StabilityCV(selector, cv=splits, scoring=scoring, measure=measure).fit(
            X, y
        )
        scores = scores_of(selector, X, y, splits, scoring or "accuracy")
        interval = runs.stability_interval_
        np.testing.assert_allclose(row["score"], scores.mean())
        expected = np.sqrt(1 / len(splits) + 0.2) * scores.std(ddof=1)
        if scoring is None:
            rows = losses_of(selector, X, y, splits, is_wrong)
            expected = np.nanstd(rows, ddof=1) / np.sqrt(np.sum(~np.isnan(rows)))
        np.testing.assert_allclose(row["score_se"], expected)
        assert (row["stability"], row["stability_low"], row["stability_high"]) == (
            interval.estimate,
            interval.low,
            interval.high,
        )
        np.testing.assert_allclose(
            row["n_features"], np.asarray(runs.supports_.sum(axis=1)).mean()
        )
        assert row["fit_time"] == found.runs[name].fit_times_.mean() > 0
        assert found.runs[name].stability_interval_ == interval
        assert row["n_failed"] == 0


def front_by_force(scores, merits):
    points = list(zip(scores, merits, strict=True))
    return [
        not any(x >= a and y >= b and (x, y) != (a, b) for x, y in points)
        for a, b in points
    ]


def test_on_front_equals_brute_force():
    X, y = make_data()
    selectors = {f"filter {k}": filter_of(k) for k in range(1, 10)}
    selectors["copy"] = filter_of(1)
    frame = without_halves(selectors, X, y, cv=CV).frame()
    expected = front_by_force(frame["score"], frame["stability"])
    assert 1 < sum(expected) < len(expected) - 1
    assert frame["on_front"].tolist() == expected
    assert frame.loc["copy", "on_front"] == frame.loc["filter 1", "on_front"]


def test_equals_are_on_the_front_together():
    frame = scripted(
        {"a": Scripted(), "worse": Scripted(level=0.7), "b": Scripted()}
    ).frame()
    assert frame["on_front"].tolist() == [True, False, True]


def test_regression():
    X, y = make_regression(N, D, n_informative=4, noise=40.0, random_state=0)
    selectors = {
        "lasso": Lasso(10.0),
        "filter": make_pipeline(SelectKBest(f_regression, k=3), LinearRegression()),
    }
    splits = list(CV.split(X))
    loss = {
        None: lambda y, p: (y - p) ** 2 / np.var(y),
        "neg_mean_absolute_error": lambda y, p: np.abs(y - p),
    }
    for scoring, row_loss in loss.items():
        found = without_halves(selectors, X, y, cv=CV, scoring=scoring)
        scores = {
            name: scores_of(model, X, y, splits, scoring or "r2")
            for name, model in selectors.items()
        }
        np.testing.assert_allclose(
            found.frame()["score"], [values.mean() for values in scores.values()]
        )
        expected = row_pvalue(
            *(losses_of(model, X, y, splits, row_loss) for model in selectors.values())
        )
        np.testing.assert_allclose(
            found.pvalues("score").loc["lasso", "filter"], expected
        )


# -- P-values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["stability", "score"])
@pytest.mark.parametrize("adjust", [True, False])
def test_pvalues_are_a_symmetric_table_with_unit_diagonal(compared, of, adjust):
    table = compared.pvalues(of, adjust=adjust)
    assert list(table.index) == list(table.columns) == list(classifiers())
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(np.diag(table), 1.0)
    assert ((table > 0) & (table <= 1)).all(axis=None)


def test_pvalues_are_of_stability_unless_asked_otherwise(compared):
    pd.testing.assert_frame_equal(
        compared.pvalues(), compared.pvalues("stability", adjust=True)
    )
    with pytest.raises(
        ValueError, match="of must be 'stability' or 'score', got 'accuracy'"
    ):
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
        pvalues = np.random.default_rng(seed).choice(
            [0.0, 1e-6, 0.004, 0.01, 0.02, 0.03, 0.2, 0.5, 1.0], size
        )
        np.testing.assert_allclose(
            holm(pvalues), multipletests(pvalues, method="holm")[1]
        )


@pytest.mark.parametrize(
    "measure", ["nogueira", "jaccard", "importance_weighted", "spearman"]
)
def test_stabilities_are_compared_in_pairs(measure):
    X, y = make_data()
    selectors = {
        "filter": filter_of(3),
        "lasso": l1_logistic(),
        "dense lasso": l1_logistic(1.0),
    }
    found = without_halves(selectors, X, y, cv=CV, measure=measure)
    splits = list(CV.split(X, y))
    tables = {}
    for name, selector in selectors.items():
        runs = StabilityCV(selector, cv=splits).fit(X, y)
        table = (
            runs.importances_
            if measure in ("importance_weighted", "spearman")
            else runs.supports_
        )
        tables[name] = table.toarray() if hasattr(table, "toarray") else table
        np.testing.assert_allclose(
            found.frame().loc[name, "stability"],
            stability_score(tables[name], measure=measure),
        )
    for (a, b), value in raw(found, "stability").items():
        expected = compare_stability(tables[a], tables[b], measure=measure, paired=True)
        np.testing.assert_allclose(value, expected.pvalue)
        difference = found.difference(a, b)
        np.testing.assert_allclose(difference.difference, expected.difference)
        np.testing.assert_allclose(
            [difference.low, difference.high], [expected.low, expected.high]
        )
        assert not np.isclose(
            value, compare_stability(tables[a], tables[b], measure=measure).pvalue
        )


def test_a_difference_of_unknown_selectors_is_an_error(compared):
    name = next(iter(compared.runs))
    with pytest.raises(ValueError, match="there is no selector 'nobody'"):
        compared.difference(name, "nobody")


@pytest.mark.parametrize(
    "cv",
    [
        CV,
        ShuffleSplit(8, test_size=0.3, random_state=0),
        RepeatedKFold(n_splits=3, n_repeats=2),
    ],
)
def test_scores_that_are_means_over_rows_are_compared_row_by_row(cv):
    X, y = make_data()
    splits = list(cv.split(X, y))
    selectors = classifiers()
    found = without_halves(selectors, X, y, cv=splits)
    losses = {
        name: losses_of(selector, X, y, splits, is_wrong)
        for name, selector in selectors.items()
    }
    for (a, b), value in raw(found, "score").items():
        np.testing.assert_allclose(value, row_pvalue(losses[a], losses[b]))


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss"])
def test_other_scores_are_compared_by_the_t_test_with_a_larger_variance(scoring):
    X, y = make_data()
    splits = list(CV.split(X, y))
    selectors = {"a": filter_of(1), "b": filter_of(5)}
    found = without_halves(selectors, X, y, cv=splits, scoring=scoring)
    a, b = (
        scores_of(selector, X, y, splits, scoring) for selector in selectors.values()
    )
    np.testing.assert_allclose(
        found.pvalues("score").loc["a", "b"], corrected_pvalue(a - b)
    )


def test_rows_of_one_group_are_one_unit():
    X, y = make_data()
    groups = np.arange(N) // 3
    selectors = {"a": filter_of(1), "b": filter_of(5)}
    cv = GroupKFold(5)
    found = without_halves(
        selectors, X, y, cv=cv, groups=groups, scoring="balanced_accuracy"
    )
    a, b = (found.runs[name].runs_.row_losses["balanced_accuracy"] for name in "ab")
    differences = np.nanmean(b - a, axis=0)
    totals = [
        np.sum(differences[groups == group] - differences.mean())
        for group in range(N // 3)
    ]
    error = np.sqrt(np.sum(np.square(totals)) * 20 / 19) / N
    expected = 2 * student.sf(abs(differences.mean() / error), 19)
    np.testing.assert_allclose(found.pvalues("score").loc["a", "b"], expected)


def test_scores_that_differ_always_by_the_same():
    found = scripted(
        {"a": Scripted(level=0.75), "b": Scripted(level=0.5), "c": Scripted(level=0.75)}
    )
    table = found.pvalues("score")
    assert table.loc["a", "c"] == 1
    assert table.loc["a", "b"] < 1e-12


def mid_pvalue(only_a, only_b):
    """Twice the smaller tail, of which the outcome itself counts half, by adding up probabilities."""
    n = only_a + only_b
    if n == 0:
        return 1.0
    chances = [comb(n, k) / 2**n for k in range(n + 1)]
    fewer = min(only_a, only_b)
    return min(1.0, 2 * (sum(chances[:fewer]) + chances[fewer] / 2))


def mcnemar_pvalue(predictions, y):
    a, b = (predicted == y for predicted in predictions)
    return mid_pvalue(int(np.sum(a & ~b)), int(np.sum(~a & b)))


@pytest.mark.parametrize(
    ("only_a", "only_b"), [(0, 0), (0, 1), (3, 3), (2, 9), (12, 5), (40, 41)]
)
def test_mcnemar_is_below_the_exact_test_by_half_the_outcome(only_a, only_b):
    value = mcnemar(only_a, only_b)
    np.testing.assert_allclose(value, mid_pvalue(only_a, only_b), rtol=1e-12)
    if only_a != only_b:
        exact = binomtest(only_a, only_a + only_b).pvalue
        at = comb(only_a + only_b, only_a) / 2 ** (only_a + only_b)
        np.testing.assert_allclose(value, exact - at)


@pytest.mark.parametrize(
    "cv", [KFold(5, shuffle=True, random_state=0), StratifiedKFold(4), 3], ids=str
)
@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]], ids=["numbers", "strings"])
def test_scores_of_folds_are_compared_by_mcnemar(cv, labels):
    X, y = make_data((100, D))
    y = np.array(labels)[y]
    selectors = {
        "filter": filter_of(4),
        "one": filter_of(1),
        "off": filter_of(3, GaussianNB(priors=[0.05, 0.95])),
    }
    found = without_halves(selectors, X, y, cv=cv)
    predictions = {
        name: cross_val_predict(selector, X, y, cv=cv)
        for name, selector in selectors.items()
    }
    values = raw(found, "score")
    assert min(values.values()) < 0.3
    for (a, b), value in values.items():
        np.testing.assert_allclose(
            value, mcnemar_pvalue([predictions[a], predictions[b]], y)
        )


def test_mcnemar_of_several_labels_is_about_rows_that_are_wholly_right():
    # As is the accuracy that these classifiers score.
    X, y = make_multilabel_classification(60, 8, n_classes=3, random_state=0)
    tree = DecisionTreeClassifier(random_state=0)
    selectors = {
        "a": make_pipeline(
            SelectFromModel(tree, max_features=1, threshold=-np.inf), tree
        ),
        "b": make_pipeline(
            SelectFromModel(tree, max_features=5, threshold=-np.inf), tree
        ),
    }
    found = without_halves(selectors, X, y, cv=KFold(4))
    right = [
        (cross_val_predict(s, X, y, cv=KFold(4)) == y).all(axis=1)
        for s in selectors.values()
    ]
    expected = mcnemar_pvalue(right, np.ones(60, dtype=bool))
    assert expected < 0.95
    np.testing.assert_allclose(found.pvalues("score").loc["a", "b"], expected)


def test_mcnemar_of_classifiers_that_err_on_the_same_rows():
    X, y = make_data()
    found = without_halves({"a": filter_of(3), "b": filter_of(3)}, X, y, cv=3)
    assert found.pvalues("score").loc["a", "b"] == 1


def test_mcnemar_needs_every_row_once():
    X, y = make_data()
    selectors = {"a": filter_of(1), "b": filter_of(5, GaussianNB(priors=[0.05, 0.95]))}
    splits = list(
        PredefinedSplit(np.arange(N) % 5 - 1).split()
    )  # a fifth of the rows is never tested
    found = without_halves(selectors, X, y, cv=splits)
    a, b = (
        losses_of(selector, X, y, splits, is_wrong) for selector in selectors.values()
    )
    np.testing.assert_allclose(found.pvalues("score").loc["a", "b"], row_pvalue(a, b))


def test_numbers_are_compared_by_their_squared_errors():
    X, y = make_regression(N, D, n_informative=4, noise=40.0, random_state=0)
    selectors = {"a": Lasso(10.0), "b": Lasso(30.0)}
    splits = list(KFold(4).split(X))
    found = without_halves(selectors, X, y, cv=splits)
    # R² of a fold is one minus the mean of the squared errors over the variance of the fold.
    a, b = (
        losses_of(s, X, y, splits, lambda y, p: (y - p) ** 2 / np.var(y))
        for s in selectors.values()
    )
    np.testing.assert_allclose(found.frame()["score"], [1 - a.mean(), 1 - b.mean()])
    np.testing.assert_allclose(found.pvalues("score").loc["a", "b"], row_pvalue(a, b))


def test_a_target_of_one_column_is_a_target():
    X, y = make_regression(N, D, n_informative=4, noise=40.0, random_state=0)
    selectors = {"a": Lasso(10.0), "b": Lasso(30.0)}
    plain, column = (
        without_halves(selectors, X, target, cv=3) for target in (y, y[:, None])
    )
    np.testing.assert_allclose(column.pvalues("score"), plain.pvalues("score"))
    np.testing.assert_allclose(column.frame()["score_se"], plain.frame()["score_se"])


# -- failures ----------------------------------------------------------------------------------------------------------


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
        found = without_halves(selectors, X, y, cv=splits)
    succeeded = {name: [True] * len(splits) for name in selectors}
    succeeded |= {
        name: [row in train for train, _ in splits]
        for row, name in enumerate(["zero", "one"])
    }
    return (
        X,
        y,
        splits,
        selectors,
        found,
        {name: np.array(done) for name, done in succeeded.items()},
    )


def test_pairs_use_the_resamples_on_which_both_succeeded():
    X, y, splits, selectors, found, succeeded = with_failures(
        ShuffleSplit(14, test_size=0.4, random_state=0)
    )
    frame = found.frame()
    n_failed = [np.sum(~done) for done in succeeded.values()]
    assert 2 <= n_failed[0] <= 8
    assert 2 <= n_failed[1] <= 8
    assert (succeeded["zero"] != succeeded["one"]).sum() > 2
    assert frame["n_failed"].tolist() == n_failed
    stabilities, scores = raw(found, "stability"), raw(found, "score")
    plain = {
        name: selector[1] if name in ("zero", "one") else selector
        for name, selector in selectors.items()
    }
    for a, b in combinations(selectors, 2):
        both = [
            split
            for split, done in zip(splits, succeeded[a] & succeeded[b], strict=True)
            if done
        ]
        tables = [
            StabilityCV(plain[name], cv=both).fit(X, y).supports_ for name in (a, b)
        ]
        np.testing.assert_allclose(
            stabilities[a, b], compare_stability(*tables, paired=True).pvalue
        )
        expected = row_pvalue(
            *(losses_of(plain[name], X, y, both, is_wrong) for name in (a, b))
        )
        np.testing.assert_allclose(scores[a, b], expected)


def test_failed_runs_are_no_part_of_the_frame():
    X, y, splits, _, found, succeeded = with_failures(
        ShuffleSplit(10, test_size=0.3, random_state=0)
    )
    done = [split for split, ok in zip(splits, succeeded["zero"], strict=True) if ok]
    row = found.frame().loc["zero"]
    runs = StabilityCV(l1_logistic(), cv=done).fit(X, y)
    np.testing.assert_allclose(row["score"], runs.scores_["score"].mean())
    np.testing.assert_allclose(row["stability"], runs.stability_)
    np.testing.assert_allclose(row["n_features"], runs.selection_frequencies_.sum())


def test_failed_folds_leave_the_rows_of_the_others():
    X, y, splits, selectors, found, succeeded = with_failures(KFold(6))
    both = [
        split
        for split, done in zip(
            splits, succeeded["zero"] & succeeded["one"], strict=True
        )
        if done
    ]
    assert len(both) < 6
    a, b = (
        losses_of(selectors[name][1], X, y, both, is_wrong) for name in ("zero", "one")
    )
    np.testing.assert_allclose(raw(found, "score")["zero", "one"], row_pvalue(a, b))


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
    np.testing.assert_allclose(
        row["score_se"], np.sqrt(1 / known.sum() + 0.2) * a[known].std(ddof=1)
    )
    np.testing.assert_allclose(
        found.pvalues("score").loc["a", "b"], corrected_pvalue((a - b)[known])
    )


# -- other data --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def on_halves():
    X, y = make_data()
    selectors = {"two": filter_of(2), "six": filter_of(6), "lasso": l1_logistic()}
    return compare_selectors(selectors, X, y, cv=CV, n_pairs=6, random_state=0)


def test_all_selectors_run_on_the_halves_of_an_assessment(on_halves):
    X, y = make_data()
    assessed = assess_selector(
        filter_of(2), X, y, cv=CV, n_pairs=6, n_decoy_draws=0, random_state=0
    )
    np.testing.assert_array_equal(
        on_halves.halves["two"].supports, assessed.halves.supports
    )
    counts = [runs.row_counts for runs in on_halves.halves.values()]
    assert all((one != counts[0]).sum() == 0 for one in counts)


def test_the_table_has_the_stability_over_other_data(on_halves):
    frame = on_halves.frame()
    for name, halves in on_halves.halves.items():
        expected = replication_stability(halves.supports)
        found = frame.loc[
            name, ["replication", "replication_low", "replication_high"]
        ].tolist()
        assert found == pytest.approx([expected.estimate, expected.low, expected.high])
    assert "replication: stability over other data" in repr(on_halves)
    assert on_halves.frame()["on_front"].any()


def test_differences_over_other_data_are_adjusted_for_their_number(on_halves):
    table = on_halves.replication()
    pairs = list(combinations(on_halves.runs, 2))
    expected = [
        compare_replication(*(on_halves.halves[name].supports for name in pair))
        for pair in pairs
    ]
    assert list(table.index) == pairs
    for kind in ("difference", "low", "high"):
        assert table[kind].tolist() == pytest.approx(
            [getattr(one, kind) for one in expected]
        )
    raw = [one.pvalue for one in expected]
    assert table["pvalue"].tolist() == pytest.approx(
        multipletests(raw, method="holm")[1]
    )
    plain = on_halves.replication(adjust=False)
    assert plain["pvalue"].tolist() == pytest.approx(raw)


def test_the_front_and_the_choice_are_by_other_data():
    """Always the same two on the whole data, others on halves: bootstraps would take it for stable."""
    found = scripted({"a": Scripted(1, others=2), "b": Scripted(2, others=2)})
    firm = np.tile(np.arange(12) < 5, (12, 1))
    loose = firm[
        np.arange(12)[:, None],
        np.random.default_rng(0).random((12, 12)).argsort(axis=1),
    ]
    pairs = np.arange(12) // 2
    ranked = replace(
        found, halves={"a": Runs(loose, pairs=pairs), "b": Runs(firm, pairs=pairs)}
    )
    assert ranked.frame().loc["b", "on_front"]
    chosen, reason = ranked.recommend(margin=1)
    assert chosen == "b"
    assert "other data)" in reason
    turned = replace(
        found, halves={"b": Runs(loose, pairs=pairs), "a": Runs(firm, pairs=pairs)}
    )
    assert turned.recommend(margin=1).selector == "a"


def test_of_selectors_that_are_as_stable_the_one_with_fewer_features_is_taken():
    few, many = np.arange(40) < 3, np.arange(40) < 12
    rng = np.random.default_rng(0)

    def noisy(kept, share):
        return Runs(kept ^ (rng.random((32, 40)) < share), pairs=np.arange(32) // 2)

    halves = {"few": noisy(few, 0.01), "many": noisy(many, 0.02)}
    scored = {
        name: Scored(np.arange(32), np.full(32, level), None)
        for name, level in (("few", 0.8), ("many", 0.81))
    }
    runs = {
        name: replace(one, scores={"score": scored[name].scores})
        for name, one in halves.items()
    }
    found = SelectorComparison(
        runs, "nogueira", scored=scored, halves=halves, margin=0.05
    )
    assert abs(compare_replication(halves["few"], halves["many"]).statistic) <= 1
    chosen, reason = found.recommend()
    assert chosen == "few"
    assert re.search(
        r"It selects fewer features, 3\.\d+ against 1\d\.\d of many", reason
    )


def with_scores(levels, *, sizes, noise, width=40, n_runs=32):
    """A comparison of made-up runs: scores at levels with a common spread, and the first features with slips."""
    rng = np.random.default_rng(0)
    shared, runs, halves, scored = rng.normal(size=n_runs), {}, {}, {}
    for name, level in levels.items():
        own = 0.003 * rng.normal(size=n_runs)
        scored[name] = Scored(
            np.arange(n_runs), level + 0.01 * shared + own, losses=None
        )
        kept = np.arange(width) < sizes[name]
        slips = rng.random((n_runs, width)) < noise[name]
        runs[name] = Runs(kept ^ slips, scores={"score": scored[name].scores})
        halves[name] = Runs(kept ^ slips, pairs=np.arange(n_runs) // 2)
    dummy = Scored(np.arange(n_runs), np.full(n_runs, 0.5), None)
    return SelectorComparison(
        runs, "nogueira", scored=scored, halves=halves, dummy=dummy
    )


def test_the_shortest_list_is_taken_of_those_about_as_good():
    levels = {"long": 0.9, "middle": 0.898, "short": 0.8975, "bad": 0.85}
    sizes = {"long": 20, "middle": 8, "short": 4, "bad": 1}
    found = with_scores(levels, sizes=sizes, noise=dict.fromkeys(sizes, 0.002))
    assert found.about_as_good() == ["long", "middle", "short"]
    chosen, reason = found.recommend(prefer="short")
    assert chosen == "short"
    table = found.frame()
    assert (
        f"the shortest, with {table.loc['short', 'n_features']:.1f} feature" in reason
    )
    assert f"and the best, long with {table.loc['long', 'n_features']:.1f}" in reason


def test_a_short_list_that_is_shown_to_be_less_stable_is_not_taken():
    levels, sizes = {"long": 0.9, "short": 0.899}, {"long": 20, "short": 4}
    found = with_scores(levels, sizes=sizes, noise={"long": 0.002, "short": 0.2})
    assert found.about_as_good() == ["long", "short"]
    assert found.recommend(prefer="short").selector == "long"


def test_lists_of_as_many_features_are_distinguished_by_their_stability():
    levels, sizes = {"loose": 0.9, "firm": 0.899}, {"loose": 4, "firm": 4}
    found = with_scores(levels, sizes=sizes, noise={"loose": 0.01, "firm": 0.001})
    table = found.frame()["n_features"].round()
    assert table["loose"] == table["firm"]
    assert found.recommend(prefer="short").selector == "firm"


def test_no_short_list_is_taken_where_nothing_predicts():
    levels, sizes = {"a": 0.501, "b": 0.5}, {"a": 4, "b": 2}
    found = with_scores(levels, sizes=sizes, noise=dict.fromkeys(sizes, 0.01))
    assert found.about_as_good() == []
    assert found.recommend(prefer="short").selector is None


def test_what_is_preferred_is_named():
    with pytest.raises(ValueError, match="prefer must be 'stable' or 'short', got 1"):
        scripted({"a": Scripted(1), "b": Scripted(2)}).recommend(prefer=1)


def test_selectors_that_select_the_same_are_one():
    X, y = make_data()
    selectors = {"hybrid": filter_of(3), "filter": filter_of(3), "more": filter_of(8)}
    found = compare_selectors(selectors, X, y, cv=CV, n_pairs=3, random_state=0)
    assert found.replication().loc[("hybrid", "filter")].tolist() == [0, 0, 0, 1]
    chosen, reason = found.recommend(margin=1)
    assert chosen != "filter"
    assert "filter selects the same as hybrid in all runs, and is not counted" in reason


def test_measures_that_are_not_defined_for_two_runs_have_no_halves():
    X, y = make_data()
    found = compare_selectors(
        [filter_of(2), filter_of(6)], X, y, cv=CV, measure="davis"
    )
    assert found.halves is None
    assert "replication" not in found.frame()
    with pytest.raises(ValueError, match="there are no pairs of halves"):
        found.replication()


def test_a_selector_that_fails_on_halves_has_no_replication():
    class Large(SelectKBest):
        def fit(self, X, y):
            if len(X) < N * 0.7:
                raise ValueError("too few rows")
            return super().fit(X, y)

    X, y = make_data()
    selectors = {
        "large": make_pipeline(Large(k=3), GaussianNB()),
        "any": filter_of(3),
    }
    with pytest.warns(
        UserWarning, match="'large' is not compared on other data: .*too few rows"
    ):
        found = compare_selectors(selectors, X, y, cv=CV, random_state=0)
    assert found.frame()["replication"].isna().tolist() == [True, False]
    assert found.replication().isna().all(axis=None)
    assert found.recommend(margin=1).selector == "any"


@pytest.mark.parametrize("n_pairs", [1, 2])
def test_there_are_no_pairs_or_enough(n_pairs):
    with pytest.raises(
        ValueError, match=f"n_pairs must be 0 or an int of at least 3, got {n_pairs}"
    ):
        compare_selectors([filter_of(2), filter_of(6)], *make_data(), n_pairs=n_pairs)


# -- the recommendation ------------------------------------------------------------------------------------------------


def loss_of_score(best, other):
    """Mean loss of score against the best over resamples, and its standard error."""
    differences = best - other
    m = len(differences)
    error = np.sqrt((1 / m + 0.2) * np.var(differences, ddof=1))
    return differences.mean(), error


def upper_loss(best, other, level=0.05):
    """One-sided upper end of the loss."""
    loss, error = loss_of_score(best, other)
    return loss + student.ppf(1 - level, len(best) - 1) * error


def scripted_scores(found):
    return {name: runs.scores_["score"] for name, runs in found.runs.items()}


def recommended_by_force(found, level=0.05, margin=None):
    """The smallest of the most stable ones, of those whose loss is below the margin; else the best."""
    scores, table = scripted_scores(found), found.frame()
    best = max(scores, key=lambda name: scores[name].mean())
    accepted = table.loc[best, "score_se"] if margin is None else margin
    left = [best]
    for name in scores:
        loss, error = loss_of_score(scores[best], scores[name])
        is_close = margin is not None or loss <= error
        if (
            name != best
            and is_close
            and upper_loss(scores[best], scores[name], level) < accepted
        ):
            left.append(name)
    top = max(
        left, key=lambda name: (table.loc[name, "stability"], scores[name].mean())
    )
    alike = [
        name
        for name in left
        if name == top or abs(found.difference(top, name).statistic) <= 1
    ]
    return (
        min(
            alike,
            key=lambda name: (
                table.loc[name, "n_features"],
                -table.loc[name, "stability"],
            ),
        ),
        best,
        left,
    )


def test_recommendation_by_brute_force():
    taken = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        selectors = {
            f"s{number}": Scripted(
                100 * seed + number,
                rng.uniform(0.78, 0.82),
                0.03,
                others=int(rng.integers(1, 8)),
            )
            for number in range(4)
        }
        found = scripted(selectors)
        expected, best, left = recommended_by_force(found)
        selector, reason = found.recommend()
        assert selector == expected
        for name in selectors:
            assert (name in reason.partition("Not shown")[2]) == (name not in left)
        taken.add((expected == best, len(left) == 4))
    assert len(taken) > 1


def test_the_best_is_taken_where_none_is_shown_to_be_as_good():
    # The more stable one is not significantly worse, which is no evidence that it is as good.
    selectors = {
        "loose": Scripted(1, level=0.82, noise=0.2, others=5),
        "firm": Scripted(2, noise=0.2, others=1),
    }
    found = scripted(selectors)
    frame = found.frame()
    best = frame["score"].idxmax()
    other = next(name for name in selectors if name != best)
    assert found.pvalues("score").loc["loose", "firm"] > 0.05
    assert (
        upper_loss(*(scripted_scores(found)[name] for name in (best, other)))
        > frame.loc[best, "score_se"]
    )
    selector, reason = found.recommend()
    assert selector == best
    assert f"Not shown to be about as good: {other}" in reason


def test_the_more_stable_one_is_taken_where_it_is_shown_to_be_as_good():
    selectors = {
        "loose": Scripted(1, level=0.805, noise=0.01, others=5),
        "firm": Scripted(2, noise=0.01, others=1),
    }
    found = scripted(selectors)
    frame = found.frame()
    assert frame["score"].idxmax() == "loose"
    selector, reason = found.recommend()
    assert selector == "firm"
    row = frame.loc["firm"]
    assert reason.startswith("Take firm: ")
    ends = f"95% interval {row['stability_low']:.2f} to {row['stability_high']:.2f}, resampling error"
    assert f"{row['stability']:.2f} ({ends})" in reason
    assert (
        f"scores {row['score']:.3f} against {frame.loc['loose', 'score']:.3f} of loose"
        in reason
    )
    assert "Not shown" not in reason
    assert str(found.recommend()) == reason


@pytest.mark.parametrize("margin", [0.0, 0.02, 1.0])
def test_the_margin_is_the_users(margin):
    selectors = {
        "loose": Scripted(1, level=0.805, noise=0.01, others=5),
        "firm": Scripted(2, noise=0.01, others=1),
    }
    expected = recommended_by_force(scripted(selectors), margin=margin)[0]
    assert scripted(selectors).recommend(margin=margin).selector == expected
    assert scripted(selectors, margin=margin).recommend().selector == expected
    assert expected == ("loose" if margin == 0 else "firm")


@pytest.mark.parametrize("margin", [-1, "two_se", None, True])
def test_refuses_other_margins(margin):
    with pytest.raises(
        ValueError, match="margin must be 'one_se' or a number of at least 0"
    ):
        scripted({"a": Scripted(1), "b": Scripted(2)}, margin=margin)


@pytest.mark.parametrize("level", [0, 1, "a"])
def test_refuses_other_levels(level):
    with pytest.raises(ValueError, match="level must be"):
        scripted({"a": Scripted(1), "b": Scripted(2)}).recommend(level=level)


def test_among_equally_stable_selectors_the_better_score_is_recommended():
    found = scripted(
        {
            "a": Scripted(1, level=0.79, noise=0.03, others=0),
            "b": Scripted(2, noise=0.03, others=0),
        }
    )
    assert found.frame()["stability"].tolist() == [1, 1]
    assert found.frame()["score"].idxmax() == "b"
    assert found.recommend().selector == "b"


@pytest.mark.filterwarnings("ignore:all runs agree:RuntimeWarning")
def test_a_selector_that_selects_nothing_is_not_a_choice():
    # As in pareto_front: choosing nothing is trivially stable.
    selectors = {
        "nothing": Scripted(1, always=0, others=0),
        "some": Scripted(2, level=0.79, noise=0.03),
    }
    found = scripted(selectors)
    frame, chosen = found.frame(), found.recommend().selector
    assert frame["on_front"].tolist() == [False, True]
    assert chosen == "some"


def test_none_is_recommended_where_nothing_predicts():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 30)), np.arange(80) % 2
    found = without_halves({"a": filter_of(2), "b": filter_of(5)}, X, y, random_state=0)
    selector, reason = found.recommend()
    assert selector is None
    frame = found.frame()
    best = frame["score"].idxmax()
    assert "none was shown to score better than a dummy" in reason
    assert f"{frame.loc[best, 'score']:.3f} of {best}" in reason


@pytest.mark.parametrize("scoring", [None, "roc_auc", "balanced_accuracy"])
def test_the_dummy_is_that_of_scikit_learn(scoring):
    X, y = make_data(weights=[0.7])
    splits = list(CV.split(X, y))
    found = without_halves(
        {"a": filter_of(2), "b": filter_of(5)}, X, y, cv=splits, scoring=scoring
    )
    expected = scores_of(DummyClassifier(), X, y, splits, scoring or "accuracy")
    np.testing.assert_allclose(found.dummy.scores, expected)


def test_without_scores_the_choice_is_by_stability_and_says_so():
    X, y = make_data()
    found = without_halves([SelectKBest(k=2), SelectKBest(k=6)], X, y, cv=CV)
    frame = found.frame()
    assert "score" not in frame
    selector, reason = found.recommend()
    assert selector == frame["stability"].idxmax()
    assert "Nothing was scored" in reason
    with pytest.raises(ValueError, match="of='score' needs scores"):
        found.pvalues("score")


@pytest.mark.parametrize("regression", [False, True])
def test_a_named_score_puts_a_model_behind_bare_selectors(regression):
    X, y = make_regression(N, D, random_state=0) if regression else make_data()
    score = f_regression if regression else f_classif
    scoring = "r2" if regression else "accuracy"
    found = without_halves(
        [SelectKBest(score, k=2), SelectKBest(score, k=6)], X, y, cv=CV, scoring=scoring
    )
    model = Ridge() if regression else LogisticRegression(max_iter=1000)
    by_hand = make_pipeline(SelectKBest(score, k=2), StandardScaler(), model)
    scores = scores_of(by_hand, X, y, list(CV.split(X, y)), scoring)
    np.testing.assert_allclose(found.frame()["score"].iloc[0], scores.mean())
    assert list(found.runs) == ["selectkbest-1", "selectkbest-2"]


# -- how alike selectors are -------------------------------------------------------------------------------------------


def test_overlap_compares_selections_on_the_same_resample(compared):
    supports = {name: runs.supports_ for name, runs in compared.runs.items()}
    table, shared = compared.overlap(measure="jaccard"), compared.shared_features()
    for a, b in combinations(supports, 2):
        pairs = list(zip(supports[a], supports[b], strict=True))
        np.testing.assert_allclose(
            table.loc[a, b], np.mean([(x & y).sum() / (x | y).sum() for x, y in pairs])
        )
        np.testing.assert_allclose(
            shared.loc[b, a], np.mean([(x & y).sum() for x, y in pairs])
        )
        assert table.loc[a, b] == table.loc[b, a]
    np.testing.assert_allclose(
        np.diag(table),
        [jaccard_stability(runs.supports_) for runs in compared.runs.values()],
    )


def test_agreement_of_predictions_of_classes(compared):
    X, y = make_data()
    splits = list(CV.split(X, y))
    predicted = {
        name: [
            dict(
                zip(
                    test, clone(s).fit(X[train], y[train]).predict(X[test]), strict=True
                )
            )
            for train, test in splits
        ]
        for name, s in classifiers().items()
    }
    table = compared.agreement()
    for a, b in combinations(predicted, 2):
        same = [
            p[row] == q[row]
            for p, q in zip(predicted[a], predicted[b], strict=True)
            for row in p
        ]
        np.testing.assert_allclose(table.loc[a, b], np.mean(same))
    for name, runs in predicted.items():
        same = [
            p[row] == q[row]
            for p, q in combinations(runs, 2)
            for row in p.keys() & q.keys()
        ]
        np.testing.assert_allclose(table.loc[name, name], np.mean(same))


def test_agreement_of_predicted_numbers_is_a_correlation():
    X, y = make_regression(N, D, n_informative=4, noise=10.0, random_state=0)
    found = without_halves(
        {"a": Lasso(1.0), "same": Lasso(1.0), "b": Lasso(60.0)}, X, y, cv=CV
    )
    table = found.agreement()
    np.testing.assert_allclose(table.loc["a", "same"], 1.0)
    assert 0 < table.loc["a", "b"] < 1
    assert 0.8 < table.loc["a", "a"] <= 1


def test_a_difference_from_itself_is_none(compared):
    test = compared.difference("lasso", "lasso")
    assert (test.difference, test.pvalue) == (0, 1)


def test_a_comparison_shows_its_table(compared):
    assert "lasso" in repr(compared)
    assert "array(" not in repr(compared)
    assert "<table" in compared._repr_html_()
    for shown in (repr(compared), compared._repr_html_()):
        assert "stability_low, stability_high: 95% interval, resampling error" in shown
        assert not re.search(r"\d\.\d{7}", shown)


# -- measures ----------------------------------------------------------------------------------------------------------


def test_lower_is_more_stable_for_krizek():
    selectors = {
        "loose": Scripted(1, level=0.805, noise=0.01, others=3),
        "firm": Scripted(2, noise=0.01, others=1),
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
    assert (
        frame["on_front"].tolist()
        == front_by_force(frame["score"], -frame["stability"])
        == [True, True, False]
    )
    for (a, b), value in raw(found, "stability").items():
        np.testing.assert_allclose(
            value,
            compare_stability(
                tables[a], tables[b], measure="krizek", paired=True
            ).pvalue,
        )
    assert found.recommend().selector == "firm"


def test_the_sentence_does_not_call_the_lowest_value_the_highest():
    found = scripted(
        {"loose": Scripted(1, others=3), "firm": Scripted(2, others=1)},
        measure="krizek",
    )
    selector, reason = found.recommend()
    assert selector == found.frame()["stability"].idxmin() == "firm"
    assert "the highest" not in reason


def test_a_measure_may_be_a_function_or_an_object():
    selectors = {"loose": Scripted(1, others=3), "firm": Scripted(2, others=1)}
    named = results_of(scripted(selectors, measure="jaccard"))
    for measure in (jaccard_stability, get_measure("jaccard")):
        pd.testing.assert_frame_equal(
            results_of(scripted(selectors, measure=measure)), named
        )


# -- input -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [lambda X: X.tolist(), pd.DataFrame, csr_array],
    ids=["lists", "frame", "sparse"],
)
@pytest.mark.parametrize("cv", [CV, StratifiedKFold(4)], ids=["bootstrap", "folds"])
def test_any_form_of_data(form, cv):
    X, y = make_data()
    selectors = {"filter": filter_of(3, l1_logistic(1.0)), "lasso": l1_logistic()}
    expected = without_halves(selectors, X, y, cv=cv)
    target = y.tolist() if isinstance(form(X), list) else y
    found = without_halves(selectors, form(X), target, cv=cv)
    pd.testing.assert_frame_equal(results_of(found), results_of(expected), rtol=1e-3)


@pytest.mark.parametrize(
    "selectors",
    [
        {},
        {"lasso": l1_logistic()},
        [l1_logistic()],
        [("a", l1_logistic()), ("b", l1_logistic())],
        l1_logistic(),
    ],
    ids=["none", "one", "list of one", "pairs", "estimator"],
)
def test_refuses_other_than_several(selectors):
    X, y = make_data()
    with pytest.raises(
        ValueError,
        match="selectors must be a dict or list of at least 2 estimators, got",
    ):
        without_halves(selectors, X, y)


@pytest.mark.parametrize(
    "scoring", [["accuracy", "roc_auc"], ("accuracy",), {"a": "accuracy"}]
)
def test_refuses_several_scorers(scoring):
    X, y = make_data()
    with pytest.raises(
        ValueError, match=r"scoring must be None, a string or a callable.*one score"
    ):
        without_halves(classifiers(), X, y, scoring=scoring)


def test_refuses_a_measure_as_a_score():
    X, y = make_data()
    with pytest.raises(
        ValueError,
        match=r"^scoring='nogueira' is a measure of stability.*give it as measure",
    ):
        without_halves(classifiers(), X, y, scoring="nogueira")


def test_names_the_selector_that_has_no_score():
    X, y = make_data()
    with pytest.raises(
        ValueError, match="selector 'alone' has no score: put a model behind it"
    ):
        without_halves({"lasso": l1_logistic(), "alone": SelectKBest(k=3)}, X, y, cv=CV)


def test_a_callable_scores_where_there_is_no_score():
    X, y = make_data()

    def mean_score(selector, X, y):
        return float(selector.scores_.mean())

    selectors = {"two": SelectKBest(k=2), "three": SelectKBest(k=3)}
    found = without_halves(selectors, X, y, cv=CV, scoring=mean_score)
    expected = np.mean(
        [
            SelectKBest().fit(X[train], y[train]).scores_.mean()
            for train, _ in CV.split(X, y)
        ]
    )
    np.testing.assert_allclose(found.frame()["score"], expected)


def test_two_resamples_have_no_interval():
    X, y = make_data()
    frame = without_halves(
        {"filter": filter_of(3), "lasso": l1_logistic()}, X, y, cv=2
    ).frame()
    assert frame[["stability_low", "stability_high"]].isna().all(axis=None)
    assert frame["stability"].notna().all()


def test_progress_is_reported_selector_by_selector():
    X, y = make_classification(60, 6, n_informative=3, n_redundant=0, random_state=0)
    selectors, seen = {f"best {k}": SelectKBest(k=k) for k in (1, 2, 3)}, []
    without_halves(
        selectors, X, y, cv=BootstrapSplit(4, random_state=0), on_progress=seen.append
    )
    assert seen == list(selectors)


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
def test_an_error_says_which_selector_it_is_of():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 5)), rng.standard_normal(60)
    nothing = make_pipeline(SelectFwe(f_regression, alpha=1e-300), Ridge())
    with pytest.raises(ValueError, match="Found array with 0 feature") as caught:
        without_halves({"some": Lasso(0.01), "none": nothing}, X, y, random_state=0)
    assert caught.value.__notes__ == ["This is of selectors['none']."]

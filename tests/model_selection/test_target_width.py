"""`StabilityCV(target_width=...)`: as many runs as a narrow interval needs, and no more."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import ExtraTreeClassifier

from skstab.metrics import stability_interval
from skstab.model_selection import BootstrapSplit, StabilityCV, WholeSampleSplit

N, D = 60, 12
MOST = 64


def make_data():
    """Make rows that have their number in the first column."""
    X, y = make_classification(N, D - 1, n_informative=4, n_redundant=0, random_state=0)
    return np.column_stack([np.arange(N), X]), y


def splits_of(n=MOST):
    return list(BootstrapSplit(n, random_state=0).split(*make_data()))


def l1_logistic():
    return LogisticRegression(l1_ratio=1, C=0.3, solver="liblinear", random_state=0)


def tree():
    return SelectFromModel(ExtraTreeClassifier(max_depth=4))  # random in each run


def runs_of(selector=None, most=MOST, **params):
    return StabilityCV(
        selector or SelectKBest(k=3),
        cv=BootstrapSplit(most, random_state=0),
        random_state=0,
        **params,
    )


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
    for name in ("split_numbers_", "selection_frequencies_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.fit_times_.shape == b.fit_times_.shape
    assert (a.n_splits_, a.n_failed_, a.stability_) == (
        b.n_splits_,
        b.n_failed_,
        b.stability_,
    )
    assert a.stability_interval_ == b.stability_interval_
    np.testing.assert_array_equal(a.get_support(), b.get_support())
    pd.testing.assert_frame_equal(a.summary(), b.summary(), check_exact=True)


def width_of(table, measure="nogueira"):
    interval = stability_interval(table, measure=measure)
    return interval.high - interval.low


def widths_of(table, measure="nogueira"):
    """Widths of the intervals of the first 10, 20, ... runs."""
    return {n: width_of(table[:n], measure) for n in range(10, len(table) + 1, 10)}


def first_narrow(widths, target, most=MOST):
    return next((n for n, width in widths.items() if width <= target), most)


class Counting(SelectKBest):
    n_fits: ClassVar[list[int]] = [0]

    def fit(self, X, y=None):
        Counting.n_fits[0] += 1
        return super().fit(X, y)


def fits_of(action):
    before = Counting.n_fits[0]
    action()
    return Counting.n_fits[0] - before


# -- when it stops -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "measure"),
    [
        (SelectKBest(k=3), "nogueira"),
        (SelectKBest(k=3), "jaccard"),
        (l1_logistic(), "nogueira"),
        (l1_logistic(), "importance_weighted"),
        (l1_logistic(), "pearson"),
        (tree(), "nogueira"),
    ],
    ids=["filter", "jaccard", "lasso", "importances", "weights", "seeds"],
)
def test_stops_at_the_first_ten_runs_with_an_interval_that_narrow(selector, measure):
    X, y = make_data()
    full = runs_of(selector, measure=measure).fit(X, y)
    table = dense(
        full.supports_ if measure in ("nogueira", "jaccard") else full.importances_
    )
    widths = widths_of(table, measure)
    stops = set()
    for target in (
        widths[10] * 1.01,
        widths[10] * 0.99,
        widths[20] * 1.001,
        widths[40] * 1.001,
        1e-6,
    ):
        runs = runs_of(selector, measure=measure, target_width=target).fit(X, y)
        assert runs.n_splits_ == first_narrow(widths, target)
        assert runs.supports_.shape[0] == runs.n_splits_
        stops.add(runs.n_splits_)
        if runs.n_splits_ < MOST:
            assert (
                runs.stability_interval_.high - runs.stability_interval_.low <= target
            )
    assert {10, 20, MOST} <= stops


def test_a_width_just_reached_is_narrow_enough():
    X, y = make_data()
    widths = widths_of(dense(runs_of().fit(X, y).supports_))
    assert runs_of(target_width=widths[10]).fit(X, y).n_splits_ == 10


@pytest.mark.parametrize("most", [3, 10, 25, 30])
def test_uses_all_splits_where_the_interval_is_never_narrow(most):
    X, y = make_data()
    runs = runs_of(l1_logistic(), most, target_width=1e-9).fit(X, y)
    assert runs.n_splits_ == most
    assert_same(runs, runs_of(l1_logistic(), most).fit(X, y))


def test_looks_only_every_ten_runs():
    X, y = make_data()
    assert fits_of(lambda: runs_of(Counting(k=3), target_width=1.9).fit(X, y)) == 11
    assert fits_of(lambda: runs_of(Counting(k=3), 7, target_width=1.9).fit(X, y)) == 8


def test_runs_that_all_agree_are_enough_at_once():
    X, y = make_data()
    X[:, 1:4] = 10 * y[:, None] + X[:, 1:4]
    runs = runs_of(target_width=1e-12).fit(X, y)
    assert (runs.n_splits_, runs.stability_) == (10, 1)


def test_without_a_target_all_splits_are_run():
    X, y = make_data()
    runs = runs_of(most=25).fit(X, y)
    assert runs.target_width is None
    assert runs.n_splits_ == 25


def test_default_resamples_are_the_most_there_may_be():
    X, y = make_data()
    runs = StabilityCV(SelectKBest(k=3), target_width=1e-9, random_state=0).fit(X, y)
    assert runs.n_splits_ == 50
    few = StabilityCV(SelectKBest(k=3), target_width=1.9, random_state=0).fit(X, y)
    assert few.n_splits_ == 10
    np.testing.assert_array_equal(dense(few.supports_), dense(runs.supports_)[:10])


# -- what it leaves ----------------------------------------------------------------------------------------------------


def target_for(selector, n, **params):
    """A width that is reached after n runs and not before."""
    table = dense(runs_of(selector, n, **params).fit(*make_data()).supports_)
    widths = widths_of(table)
    assert all(width > widths[n] for at, width in widths.items() if at < n)
    return widths[n]


@pytest.mark.parametrize(
    ("selector", "params"),
    [
        (l1_logistic(), {}),
        (l1_logistic(), {"perturb": 0.5, "scoring": ["accuracy", "roc_auc"]}),
        (tree(), {"return_estimators": True}),
        (SelectKBest(k=1), {"support": "consensus"}),
    ],
    ids=["lasso", "noise", "seeds", "consensus"],
)
def test_same_as_a_fit_on_these_splits_alone(selector, params):
    X, y = make_data()
    target = target_for(
        selector,
        30,
        **{name: value for name, value in params.items() if name == "perturb"},
    )
    runs = runs_of(selector, target_width=target, **params).fit(X, y)
    assert runs.n_splits_ == 30
    alone = runs_of(selector, **params).set_params(cv=splits_of()[:30]).fit(X, y)
    assert_same(runs, alone)
    if runs.return_estimators:
        assert len(runs.estimators_) == 30


def test_an_int_random_state_gives_the_same_for_any_number_of_jobs():
    X, y = make_data()
    target = target_for(tree(), 20)
    runs = runs_of(tree(), target_width=target).fit(X, y)
    assert runs.n_splits_ == 20
    for n_jobs in (1, 2):
        assert_same(runs_of(tree(), target_width=target, n_jobs=n_jobs).fit(X, y), runs)
    other = runs_of(tree(), target_width=target).set_params(random_state=1).fit(X, y)
    assert (dense(other.supports_)[:10] != dense(runs.supports_)[:10]).any()


def test_candidates_of_a_search_stop_each_for_itself():
    X, y = make_data()
    full = {k: runs_of(SelectKBest(k=k)).fit(X, y) for k in (1, 3)}
    widths = {k: widths_of(dense(runs.supports_)) for k, runs in full.items()}
    target = widths[3][30]
    expected = {k: first_narrow(widths[k], target) for k in full}
    assert expected[1] != expected[3]
    search = GridSearchCV(
        runs_of(target_width=target),
        {"estimator__k": [1, 3]},
        cv=WholeSampleSplit(),
        scoring=n_splits,
        refit=False,
    ).fit(X, y)
    assert search.cv_results_["mean_test_score"].tolist() == [expected[1], expected[3]]


def n_splits(runs, X, y):
    return runs.n_splits_


# -- warm start --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "selector",
    [SelectKBest(k=3), l1_logistic(), tree()],
    ids=["filter", "lasso", "seeds"],
)
def test_a_lower_target_goes_on_where_the_last_one_stopped(selector):
    X, y = make_data()
    widths = widths_of(dense(runs_of(selector).fit(X, y).supports_))
    narrower = {
        n: width
        for n, width in widths.items()
        if width == min(widths[at] for at in widths if at <= n)
    }
    assert len(narrower) > 2
    warm = runs_of(selector, warm_start=True)
    for n, target in narrower.items():
        warm.set_params(target_width=target).fit(X, y)
        assert warm.n_splits_ == n
        assert_same(warm, runs_of(selector, target_width=target).fit(X, y))
    warm.set_params(target_width=None).fit(X, y)
    assert_same(warm, runs_of(selector).fit(X, y))


def test_a_lower_target_fits_only_what_is_new():
    X, y = make_data()
    selector = Counting(k=3)
    first, second = target_for(selector, 10), target_for(selector, 30)
    warm = runs_of(selector, warm_start=True, target_width=first)
    assert fits_of(lambda: warm.fit(X, y)) == 11
    warm.set_params(target_width=second)
    assert fits_of(lambda: warm.fit(X, y)) == 20
    warm.set_params(target_width=1e-9)
    assert fits_of(lambda: warm.fit(X, y)) == MOST - 30
    assert fits_of(lambda: warm.fit(X, y)) == 0


@pytest.mark.parametrize("factor", [1, 2], ids=["same", "wider"])
def test_an_interval_that_is_narrow_already_needs_no_more_runs(factor):
    X, y = make_data()
    selector = Counting(k=3)
    target = target_for(selector, 20)
    warm = runs_of(selector, warm_start=True, target_width=target).fit(X, y)
    before = clone(warm).fit(X, y)
    warm.set_params(target_width=factor * target)
    assert fits_of(lambda: warm.fit(X, y)) == 0
    assert_same(warm, before)


def test_more_splits_go_on_where_the_first_were_too_few():
    X, y = make_data()
    target = target_for(SelectKBest(k=3), 40)
    warm = runs_of(most=20, warm_start=True, target_width=target).fit(X, y)
    assert warm.n_splits_ == 20
    warm.set_params(cv=BootstrapSplit(MOST, random_state=0)).fit(X, y)
    assert_same(warm, runs_of(target_width=target).fit(X, y))


@pytest.mark.parametrize("first", [7, 25])
def test_looks_at_multiples_of_ten_wherever_it_goes_on(first):
    X, y = make_data()
    target = target_for(SelectKBest(k=3), 40)
    warm = runs_of(most=first, warm_start=True).fit(X, y)
    warm.set_params(cv=BootstrapSplit(MOST, random_state=0), target_width=target).fit(
        X, y
    )
    assert_same(warm, runs_of(target_width=target).fit(X, y))


def test_refuses_to_go_on_with_other_splits():
    X, y = make_data()
    warm = runs_of(warm_start=True, target_width=1.9).fit(X, y)
    with pytest.raises(ValueError, match="cv does not start with the same splits"):
        warm.set_params(cv=BootstrapSplit(MOST, random_state=1), target_width=0.1).fit(
            X, y
        )


# -- failures ----------------------------------------------------------------------------------------------------------


class Needs(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A step that can't be fitted without row 0, which has its number in the first column."""

    def fit(self, X, _y=None):
        self.n_features_in_ = X.shape[1]
        if 0 not in X[:, 0]:
            raise RuntimeError("row 0 is missing")
        return self

    def transform(self, X):
        return X


def fit_with_failures(runs, n_failed, n_runs):
    with pytest.warns(
        FitFailedWarning, match=f"{n_failed} of {n_runs} runs failed.*row 0 is missing"
    ) as caught:
        runs.fit(*make_data())
    assert len(caught) == 1
    return runs


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_failed_runs_count_as_splits_and_not_in_the_interval(warm):
    X, y = make_data()
    fine = np.array([0 in train for train, _ in splits_of()])
    supports = np.array(
        [
            l1_logistic().fit(X[train], y[train]).coef_[0] != 0
            for train, _ in splits_of()
        ]
    )
    before, target = (width_of(supports[:n][fine[:n]]) for n in (10, 20))
    assert before > target
    assert width_of(supports[:20]) != target
    runs = runs_of(
        make_pipeline(Needs(), l1_logistic()), target_width=target, warm_start=warm
    )
    if warm:
        fit_with_failures(runs.set_params(target_width=1.9), (~fine[:10]).sum(), 10)
        fit_with_failures(
            runs.set_params(target_width=target), (~fine[10:20]).sum(), 10
        )
    else:
        fit_with_failures(runs, (~fine[:20]).sum(), 20)
    assert (runs.n_splits_, runs.n_failed_) == (20, (~fine[:20]).sum())
    np.testing.assert_array_equal(runs.split_numbers_, np.flatnonzero(fine[:20]))
    np.testing.assert_array_equal(dense(runs.supports_), supports[:20][fine[:20]])


def failing_first(n_failing):
    """Splits of which the first miss row 0."""
    fine = [split for split in splits_of() if 0 in split[0]]
    failing = [split for split in splits_of() if 0 not in split[0]]
    assert len(failing) >= n_failing
    return [*failing[:n_failing], *fine]


@pytest.mark.parametrize("n_failing", [8, 10, 12])
def test_goes_on_while_too_few_runs_succeeded(n_failing):
    splits = failing_first(n_failing)
    params = {"scoring": "accuracy", "return_estimators": True}
    runs = runs_of(
        make_pipeline(Needs(), l1_logistic()), target_width=1.9, **params
    ).set_params(cv=splits)
    fit_with_failures(runs, n_failing, 20)
    assert (runs.n_splits_, runs.n_failed_) == (20, n_failing)
    alone = runs_of(make_pipeline(Needs(), l1_logistic()), **params).set_params(
        cv=splits[:20]
    )
    assert_same(runs, fit_with_failures(alone, n_failing, 20))


def accuracy_with_row_0_in_training(estimator, X, y):
    if len(X) > 1 and 0 in X[:, 0]:
        raise ValueError("row 0 can't be scored")
    return estimator.score(X, y)


@pytest.mark.parametrize("error_score", [np.nan, -1.0])
def test_scores_that_fail_in_a_whole_batch_have_the_error_score(error_score):
    X, y = make_data()
    splits = failing_first(12)[:20]
    params = {"scoring": accuracy_with_row_0_in_training, "error_score": error_score}
    fits = [
        runs_of(l1_logistic(), **params),
        runs_of(l1_logistic(), target_width=1e-9, **params),
    ]
    for runs in fits:
        with pytest.warns(UserWarning, match="scoring failed in 12 of 20 runs"):
            runs.set_params(cv=splits).fit(X, y)
    assert_same(*fits)


def test_raises_where_every_run_fails():
    failing = [split for split in splits_of() if 0 not in split[0]]
    runs = runs_of(make_pipeline(Needs(), l1_logistic()), target_width=1.9).set_params(
        cv=failing
    )
    with pytest.raises(
        ValueError, match=f"{len(failing)} of {len(failing)} runs failed"
    ):
        runs.fit(*make_data())


@pytest.mark.parametrize(
    "target", [0, -0.1, np.nan, np.inf, "narrow", True, [0.1]], ids=repr
)
def test_refuses_other_than_a_positive_number(target):
    X, y = make_data()
    with pytest.raises(
        ValueError, match="target_width must be None or a positive number, got"
    ):
        runs_of(target_width=target).fit(X, y)

"""Entry × guarantee: what the engine promises holds in every entry that makes runs."""

import os
import time
import warnings
from contextlib import suppress
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from skstab import (
    BootstrapSplit,
    StabilityCV,
    StabilitySearchCV,
    StabilitySelection,
    assess_selector,
    compare_selectors,
    report,
)
from skstab.feature_selection import ConsensusSelector
from skstab.inspection import decoy_evidence
from skstab.model_selection import compare_cohorts, multiverse, stability_profile
from tests.model_selection.slow import Mortal

N = 60
CV = BootstrapSplit(6, random_state=0)


def make_data():
    """Rows that have their number in the first column."""
    X, y = make_classification(N, 7, n_informative=4, flip_y=0.2, random_state=1)
    return np.column_stack([np.arange(N), X]), y


class Counted(SelectKBest):
    """Counts the fits on some of the rows; may fail, warn or be interrupted there."""

    fits: ClassVar[list[int]] = []
    deeds: ClassVar[dict[int, object]] = {}  # by the number of the fit

    def fit(self, X, y):
        if len(set(X[:, 0])) < N:
            Counted.fits.append(len(X))
            deed = Counted.deeds.get(len(Counted.fits))
            if deed is not None:
                deed()
        return super().fit(X, y)


@pytest.fixture(autouse=True)
def _anew():
    Counted.fits.clear()
    Counted.deeds.clear()


def model(k=3):
    return make_pipeline(Counted(k=k), DecisionTreeClassifier(max_depth=2))


# -- the entries -------------------------------------------------------------------------------------------------------


def by_stability_cv(X, y, estimator=None, *, groups=None, **options):
    estimator = model() if estimator is None else estimator
    options = {"cv": CV, "random_state": 0, **options}
    params = {} if groups is None else {"groups": groups}
    found = StabilityCV(estimator, **options).fit(X, y, **params)
    return found.supports_, found.scores_["score"]


def by_search(X, y, estimator=None, *, groups=None, **options):
    estimator = model() if estimator is None else estimator
    options = {"cv": CV, "random_state": 0, **options}
    params = {} if groups is None else {"groups": groups}
    name, values = "decisiontreeclassifier__max_depth", [1, 2]
    found = StabilitySearchCV(estimator, {name: values}, **options)
    found.fit(X, y, **params)
    return found.runs_[1].supports, found.runs_[1].scores["score"]


def by_comparison(X, y, estimator=None, **options):
    estimator = model() if estimator is None else estimator
    options = {"cv": CV, "random_state": 0, "n_pairs": 3, **options}
    pair = {"a": estimator, "b": LogisticRegression(l1_ratio=1, solver="liblinear")}
    found = compare_selectors(pair, X, y, **options)
    return found.runs["a"].supports_, found.runs["a"].scores_["score"]


def by_assessment(X, y, estimator=None, **options):
    estimator = model() if estimator is None else estimator
    options = {
        "cv": CV,
        "random_state": 0,
        "n_pairs": 3,
        "n_permutations": 19,
        **options,
    }
    found = assess_selector(estimator, X, y, **options)
    return found.runs.supports, found.runs.scores["score"]


def by_profile(X, y, estimator=None, **options):
    estimator = Counted(k=3) if estimator is None else estimator
    options = {"cv": CV, "random_state": 0, **options}
    return (stability_profile(estimator, X, y, **options).to_numpy(),)


def by_selection(X, y, estimator=None, *, cv=CV, groups=None, **options):
    estimator = Counted() if estimator is None else estimator
    options = {"param_name": "k", "param_values": [2, 4], "random_state": 0, **options}
    params = {} if groups is None else {"groups": groups}
    found = StabilitySelection(estimator, resampling=cv, q=3, **options)
    return (found.fit(X, y, **params).selection_path_,)


def by_multiverse(X, y, estimator=None, **options):
    estimator = model() if estimator is None else estimator
    options = {"cv": CV, "random_state": 0, **options}
    pair = {"a": estimator, "b": LogisticRegression(l1_ratio=1, solver="liblinear")}
    (runs,) = multiverse(pair, X, y, **options).runs["a"]
    return runs.supports, runs.scores["score"]


def by_consensus(X, y, estimator=None, *, groups=None, **options):
    estimator = model() if estimator is None else estimator
    options = {"cv": CV, "random_state": 0, **options}
    params = {} if groups is None else {"groups": groups}
    pair = [("a", estimator), ("b", LogisticRegression(l1_ratio=1, solver="liblinear"))]
    found = ConsensusSelector(pair, **options).fit(X, y, **params)
    return found.runs_["a"].supports, found.runs_["b"].supports, found.scores_


def by_cohorts(X, y, estimator=None, **options):
    estimator = Counted(k=3) if estimator is None else estimator
    options = {"n_pairs": 4, "n_permutations": 19, "random_state": 0, **options}
    found = compare_cohorts(estimator, X, y, np.arange(N) // 5 % 2, **options)
    return found.permuted, found.frame().to_numpy()


def by_evidence(X, y, estimator=None, **options):
    estimator = Counted(k=3) if estimator is None else estimator
    options = {"n_draws": 2, "n_pairs": 3, "random_state": 0, **options}
    return (decoy_evidence(estimator, X, y, **options).frame().to_numpy(),)


def by_report(X, y, estimator=None, **options):
    selectors = {"a": model() if estimator is None else estimator, "b": model(2)}
    options = {"n_resamples": 6, "random_state": 0, **options}
    found = report(pd.DataFrame(X), y, selectors=selectors, **options)
    return (found.comparison.frame().drop(columns="fit_time").to_numpy(np.float64),)


WITH_SPLITS = [
    by_stability_cv,
    by_search,
    by_comparison,
    by_assessment,
    by_profile,
    by_selection,
    by_multiverse,
    by_consensus,
]
ENTRIES = [*WITH_SPLITS, by_cohorts, by_evidence]
# Those that only ask for what is selected, so that the selector may be alone.
OF_SETS = [by_profile, by_selection, by_cohorts, by_evidence]


def each_of(entries):
    return pytest.mark.parametrize("entry", entries, ids=lambda entry: entry.__name__)


every = each_of(ENTRIES)
every_with_splits = each_of(WITH_SPLITS)
every_and_reports = each_of([*ENTRIES, by_report])
pytestmark = [
    pytest.mark.filterwarnings("ignore:all runs agree:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:nearly all variation"),
    pytest.mark.filterwarnings("ignore:decoys='permuted' assumes"),
]


def dense(table):
    return np.asarray(table.toarray() if hasattr(table, "toarray") else table, float)


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(dense(one), dense(other))


# -- every outcome is kept and found -----------------------------------------------------------------------------------


@every_and_reports
def test_the_same_call_makes_no_run_again(entry, tmp_path):
    data = make_data()
    expected = entry(*data)
    n_fits = len(Counted.fits)
    assert_same(entry(*data, checkpoint=tmp_path / "runs.db"), expected)
    # The search of a report and its assessment have some of their runs in common.
    n_shared = 6 if entry is by_report else 0
    assert len(Counted.fits) == 2 * n_fits - n_shared
    Counted.fits.clear()
    assert_same(entry(*data, checkpoint=tmp_path / "runs.db"), expected)
    assert not Counted.fits


def fail():
    raise RuntimeError("this fit fails")


@every
def test_a_failed_run_is_found_too(entry, tmp_path):
    data, path = make_data(), tmp_path / "runs.db"
    Counted.deeds[2] = fail
    for n_fits in (None, 0):
        Counted.fits.clear()
        with pytest.warns(FitFailedWarning, match="this fit fails"):
            entry(*data, checkpoint=path)
        assert n_fits in (None, len(Counted.fits))
        Counted.deeds.clear()


@every
def test_a_selection_of_nothing_is_found_too(entry, tmp_path):
    X, y = make_data()
    empty = make_pipeline(Counted(k=0), DecisionTreeClassifier(max_depth=2))
    if entry in (by_profile, by_selection):
        pytest.skip("nothing is selected only where something is fitted after it")
    counts = []
    for _ in range(2):
        Counted.fits.clear()
        with (
            warnings.catch_warnings(action="ignore"),
            suppress(ValueError),  # where it can't be measured
        ):
            entry(X, y, estimator=empty, checkpoint=tmp_path / "runs.db")
        counts.append(len(Counted.fits))
    assert counts[1] == 0


OF_ONE_ESTIMATOR = [by_stability_cv, by_search, by_comparison, by_assessment]


@pytest.mark.parametrize("second", OF_ONE_ESTIMATOR, ids=lambda entry: entry.__name__)
@pytest.mark.parametrize("first", OF_ONE_ESTIMATOR, ids=lambda entry: entry.__name__)
@pytest.mark.parametrize("seeded", [False, True])
def test_what_one_entry_has_made_the_others_find(first, second, seeded, tmp_path):
    data = make_data()
    last = DecisionTreeClassifier(max_depth=2, random_state=None if seeded else 0)
    estimator = make_pipeline(Counted(k=3), last)
    expected = second(*data, estimator)
    needed = len(Counted.fits)
    first(*data, estimator, checkpoint=tmp_path / "runs.db")
    Counted.fits.clear()
    assert_same(second(*data, estimator, checkpoint=tmp_path / "runs.db"), expected)
    # The selector is fitted once for both candidates of the search.
    n_others = 6 if second is by_search and first is not by_search else 0
    assert len(Counted.fits) <= needed - 6 + n_others


def test_only_missing_candidates_are_fitted(tmp_path):
    X, y = make_data()
    path = tmp_path / "runs.db"
    for k in (2, 3):
        by_stability_cv(X, y, model(k), checkpoint=path)
    Counted.fits.clear()
    grid = {"counted__k": [2, 3, 4], "decisiontreeclassifier__max_depth": [2]}
    stored = StabilitySearchCV(model(), grid, cv=CV, checkpoint=path, random_state=0)
    stored.fit(X, y)
    assert len(Counted.fits) == 6
    plain = StabilitySearchCV(model(), grid, cv=CV, random_state=0).fit(X, y)
    for name in plain.cv_results_:
        if "_test_" in name:
            found, expected = (one.cv_results_[name] for one in (stored, plain))
            np.testing.assert_array_equal(found, expected)


def test_numbers_of_numpy_are_plain_numbers(tmp_path):
    X, y = make_data()
    grid = {"decisiontreeclassifier__max_depth": np.arange(2, 4)}
    path = tmp_path / "runs.db"
    StabilitySearchCV(model(), grid, cv=CV, checkpoint=path, random_state=0).fit(X, y)
    Counted.fits.clear()
    by_stability_cv(X, y, checkpoint=path)
    assert not Counted.fits


# -- workers that die ------------------------------------------------------------------------------------------------


@every
def test_a_run_whose_worker_died_is_made_again(entry, tmp_path):
    data, mark = make_data(), str(tmp_path / "died")
    selector = Mortal(3, mark)
    if entry not in OF_SETS:
        last = DecisionTreeClassifier(max_depth=2, random_state=0)
        selector = make_pipeline(selector, last)
    found = entry(*data, selector, n_jobs=2)
    assert os.path.exists(mark)
    assert_same(found, entry(*data, selector))


# -- limits ------------------------------------------------------------------------------------------------------------


class Slow(SelectKBest):
    """Takes its time where row 0 is missing."""

    def fit(self, X, y):
        if 0 not in X[:, 0]:
            time.sleep(3)
        return super().fit(X, y)


@every_with_splits
def test_a_run_that_takes_too_long_has_failed(entry, tmp_path):
    X, y = make_data()
    slow = Slow(k=3)
    if entry not in OF_SETS:
        slow = make_pipeline(slow, DecisionTreeClassifier(max_depth=2, random_state=0))
    if entry is by_assessment:
        pytest.skip("half of the halves and most blocks are without row 0")
    # In every pair one of the halves is without row 0.
    options = {"n_pairs": 0} if entry is by_comparison else {}
    options |= {"cv": list(KFold(4).split(X)), "checkpoint": tmp_path / "runs.db"}
    with pytest.warns(FitFailedWarning, match="took longer than max_seconds=0.5"):
        entry(X, y, slow, max_seconds=0.5, **options)


WRONG = {
    "max_seconds": 0,
    "max_memory": 0,
    "n_jobs": 0,
    "verbose": -1,
    "checkpoint": 1,
}


@every_and_reports
@pytest.mark.parametrize("name", WRONG)
def test_how_runs_are_made_is_checked_by_name(entry, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        entry(*make_data(), **{name: WRONG[name]})
    assert not Counted.fits


def test_a_run_that_was_stopped_is_made_again_with_a_higher_limit(tmp_path):
    X, y = make_data()
    options = {"cv": KFold(4), "checkpoint": tmp_path / "runs.db"}
    with pytest.warns(FitFailedWarning, match="took longer than max_seconds=0.5"):
        StabilityCV(Slow(k=3), max_seconds=0.5, **options).fit(X, y)
    found = StabilityCV(Slow(k=3), max_seconds=50, **options).fit(X, y)
    assert found.n_failed_ == 0


# -- interrupts --------------------------------------------------------------------------------------------------------


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "made",
    [
        StabilityCV(model(), cv=CV, random_state=0),
        StabilitySearchCV(
            model(), {"counted__k": [2, 3]}, cv=CV, random_state=0, refit="nogueira"
        ),
        StabilitySelection(
            Counted(), param_name="k", param_values=[2], resampling=CV, q=2
        ),
        StabilitySelection(
            Counted(),
            param_name="k",
            param_values=[2],
            resampling=CV,
            decoys="permuted",
            fdr=0.5,
            n_decoy_draws=1,
            random_state=0,
        ),
        ConsensusSelector(
            [("a", Counted(k=2)), ("b", Counted(k=3))], cv=CV, random_state=0
        ),
    ],
    ids=lambda made: type(made).__name__,
)
def test_what_was_finished_is_kept_for_the_next_call_of_the_object(made):
    X, y = make_data()
    made.fit(X, y)
    n_fits = len(Counted.fits)
    expected = made.get_support()
    Counted.fits.clear()
    Counted.deeds[n_fits - 1] = interrupt
    with pytest.raises(KeyboardInterrupt):
        made.fit(X, y)
    made.fit(X, y)
    assert len(Counted.fits) == n_fits + 1
    np.testing.assert_array_equal(made.get_support(), expected)
    Counted.fits.clear()
    Counted.deeds.clear()
    made.fit(X, y)  # after a fit that was finished nothing is kept
    assert len(Counted.fits) == n_fits


# -- progress and warnings ---------------------------------------------------------------------------------------------


@every_and_reports
@pytest.mark.parametrize("verbose", [0, 1])
def test_progress_is_shown_on_standard_error(entry, verbose, capfd):
    entry(*make_data(), verbose=verbose)
    out, err = capfd.readouterr()
    assert not out
    assert ("runs, about 0 s left" in err) == bool(verbose)


class Complaining(Counted):
    """Warns with another number in each fit."""

    def fit(self, X, y):
        if len(set(X[:, 0])) < N:
            for number in range(3):
                warnings.warn(
                    f"gap {X.sum() + number}", ConvergenceWarning, stacklevel=1
                )
        return super().fit(X, y)


@every
def test_warnings_of_runs_are_told_once(entry):
    estimator = Complaining(k=3)
    if entry not in OF_SETS:
        estimator = make_pipeline(estimator, DecisionTreeClassifier(max_depth=2))
    with pytest.warns(ConvergenceWarning) as caught:
        entry(*make_data(), estimator)
    told = [str(one.message) for one in caught]
    if entry is by_selection:  # it counts the fits of a path
        assert told[0].startswith("12 of 12 fits did not converge")
    else:
        assert [text[:4] for text in told] == ["gap "]
        n_runs = len(Counted.fits) if entry is not by_search else 6
        n_others = {by_comparison: 12, by_multiverse: 6, by_consensus: 6}.get(entry, 0)
        assert told[0].endswith(f"(in {n_runs} of {n_runs + n_others} runs)")


# -- the same options mean the same ------------------------------------------------------------------------------------


@every_with_splits
def test_rows_may_be_slices_and_masks(entry):
    X, y = make_data()
    folds = list(KFold(6).split(X))
    expected = entry(X, y, cv=folds)
    masks = [[np.isin(np.arange(N), rows) for rows in fold] for fold in folds]
    assert_same(entry(X, y, cv=masks), expected)
    halves = [(slice(0, 40), slice(40, 60)), (slice(20, 60), slice(0, 20))] * 2
    rows = [tuple(np.arange(N)[part] for part in split) for split in halves]
    assert_same(entry(X, y, cv=halves), entry(X, y, cv=rows))


@every
def test_groups_stay_together(entry):
    X, y = make_data()
    groups = np.arange(N) // 5
    expected = list(GroupKFold(4).split(X, y, groups))
    if entry not in WITH_SPLITS:  # which split rows in their own way
        found, others = (entry(X, y, groups=one) for one in (groups, 2 * groups))
        assert_same(found, others)
    elif entry is by_assessment:  # which splits groups in other ways, too
        assert_same(
            entry(X, y, cv=GroupKFold(4), groups=groups),
            entry(X, y, cv=expected, groups=groups),
        )
    else:
        assert_same(
            entry(X, y, cv=GroupKFold(4), groups=groups), entry(X, y, cv=expected)
        )


@every
def test_frames_and_sparse_tables(entry):
    X, y = make_data()
    lasso = Lasso(0.05)
    options = {"estimator": lasso}
    if entry is by_search:
        options["estimator"] = make_pipeline(
            SelectKBest(k=4), DecisionTreeClassifier(random_state=0)
        )
    if entry is by_selection:
        options = {
            "estimator": lasso,
            "param_name": "alpha",
            "param_values": [0.2, 0.05],
        }
    target = y.astype(float) if entry is not by_search else y
    expected = entry(X, target, **options)
    frame = pd.DataFrame(X, columns=[f"gene {n}" for n in range(X.shape[1])])
    for one, other in zip(entry(frame, target, **options), expected, strict=True):
        # Sums of rows in another order may differ in the last bit.
        np.testing.assert_allclose(dense(one), dense(other), rtol=1e-12, atol=1e-15)
    for one, other in zip(
        entry(csr_array(X), target, **options), expected, strict=True
    ):
        np.testing.assert_allclose(dense(one), dense(other), rtol=1e-6, atol=1e-9)


@every
def test_two_jobs_give_the_same_bits(entry):
    X, y = make_data()
    estimator = None
    if entry not in (by_profile, by_selection):
        estimator = make_pipeline(SelectKBest(k=3), DecisionTreeClassifier(max_depth=2))
    assert_same(entry(X, y, estimator, n_jobs=2), entry(X, y, estimator))

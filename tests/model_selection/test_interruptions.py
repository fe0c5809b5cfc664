"""Fits that are disturbed: what finished is kept, and the next fit makes only what is missing."""

import os
import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import KFold

from skstab._engine.store import Stored
from skstab._engine.work import RunPlan
from skstab.model_selection import BootstrapSplit, StabilityCV, _stability_cv
from tests.model_selection.slow import Disturbed, UnprintableError, pids_of

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="processes are stopped by signals"
)

N = 60
ERRORS = {
    "interrupt": KeyboardInterrupt,
    "exit": SystemExit,
    "unprintable": UnprintableError,
}


def make_data():
    """Make rows that have their number in the first column."""
    X, y = make_classification(N, 11, n_informative=5, flip_y=0.3, random_state=1)
    return np.column_stack([np.arange(N), X]), y


def dense(table):
    return csr_array(table).toarray()


def assert_same_runs(a, b):
    for name in ("supports", "importances"):
        np.testing.assert_array_equal(dense(getattr(a, name)), dense(getattr(b, name)))
    np.testing.assert_array_equal(a.split_numbers, b.split_numbers)
    assert a.n_failed == b.n_failed


# -- one process -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deed", ERRORS)
def test_what_finished_before_an_error_is_kept_for_a_warm_start(tmp_path, deed):
    X, y = make_data()
    selector = Disturbed(marks=str(tmp_path), deed=deed, at=20)
    params = {
        "cv": BootstrapSplit(40, random_state=0),
        "error_score": "raise",
        "return_estimators": True,
    }
    runs = StabilityCV(selector, warm_start=True, **params)
    with pytest.raises(ERRORS[deed]):
        runs.fit(X, y)
    assert (
        len(runs.runs_) == len(runs.estimators_) == runs.n_splits_ == 18
    )  # the first fit was that on all rows
    first = list(runs.estimators_)
    runs.fit(X, y)
    assert len(pids_of(tmp_path)) == 20 + 22
    assert all(a is b for a, b in zip(first, runs.estimators_, strict=False))
    whole = StabilityCV(SelectKBest(k=3), **params).fit(X, y)
    assert_same_runs(runs.runs_, whole.runs_)
    assert runs.stability_interval_ == whole.stability_interval_


@pytest.mark.parametrize("deed", ["interrupt", "exit"])
def test_an_interrupted_warm_start_keeps_the_new_runs(tmp_path, deed):
    X, y = make_data()
    selector = Disturbed(marks=str(tmp_path), deed=deed, at=15)
    runs = StabilityCV(
        selector, cv=BootstrapSplit(6, random_state=0), warm_start=True
    ).fit(X, y)
    interval = runs.stability_interval_
    with pytest.raises(ERRORS[deed]):
        runs.set_params(cv=BootstrapSplit(30, random_state=0)).fit(X, y)
    assert len(runs.runs_) == 13
    assert runs.stability_interval_ != interval
    assert runs.stability_interval_ == runs.runs_.estimate("nogueira")
    runs.fit(X, y)
    assert len(pids_of(tmp_path)) == 15 + 17
    assert_same_runs(
        runs.runs_, StabilityCV(SelectKBest(k=3), cv=runs.cv).fit(X, y).runs_
    )


@pytest.mark.parametrize("name", ["collect", "join_in_order"])
def test_further_interrupts_while_runs_are_taken_up_lose_nothing(
    tmp_path, monkeypatch, name
):
    X, y = make_data()
    take_up, impatient = getattr(_stability_cv, name), [True, True]

    def interrupted(*args, **kwargs):
        made = take_up(*args, **kwargs)
        if impatient:
            impatient.pop()
            raise KeyboardInterrupt
        return made

    monkeypatch.setattr(_stability_cv, name, interrupted)
    selector = Disturbed(marks=str(tmp_path), deed="interrupt", at=12)
    runs = StabilityCV(selector, cv=BootstrapSplit(20, random_state=0), warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        runs.fit(X, y)
    assert len(runs.runs_) == 10
    runs.fit(X, y)
    assert len(pids_of(tmp_path)) == 12 + 10
    assert_same_runs(
        runs.runs_, StabilityCV(SelectKBest(k=3), cv=runs.cv).fit(X, y).runs_
    )


@pytest.mark.parametrize("at", [1, 2, 6])
def test_an_interrupted_cold_fit_leaves_the_one_before(tmp_path, at):
    X, y = make_data()
    runs = StabilityCV(SelectKBest(k=2), cv=BootstrapSplit(6, random_state=0)).fit(X, y)
    runs.set_params(estimator=Disturbed(marks=str(tmp_path), deed="interrupt", at=at))
    before = dict(vars(runs))
    with pytest.raises(KeyboardInterrupt):
        runs.fit(X[:, :9], y)
    assert vars(runs).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(runs).items())


def test_an_interrupt_before_the_first_run_leaves_nothing(tmp_path):
    X, y = make_data()
    selector = Disturbed(marks=str(tmp_path), deed="interrupt", at=2)
    runs = StabilityCV(selector, cv=BootstrapSplit(6, random_state=0), warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        runs.fit(X, y)
    assert not hasattr(runs, "runs_")
    assert len(runs.fit(X[:, :8], y).runs_) == 6


@pytest.mark.parametrize("at", [5, 12, 15, 24])
def test_an_interrupted_fit_that_stops_early_stops_where_it_would_have(tmp_path, at):
    X, y = make_data()
    thirty = (
        StabilityCV(SelectKBest(k=3), cv=BootstrapSplit(30, random_state=0))
        .fit(X, y)
        .stability_interval_
    )
    params = {
        "cv": BootstrapSplit(40, random_state=0),
        "target_width": thirty.high - thirty.low,
    }
    whole = StabilityCV(SelectKBest(k=3), **params).fit(X, y)
    assert whole.n_splits_ == 30
    runs = StabilityCV(
        Disturbed(marks=str(tmp_path), deed="interrupt", at=at),
        warm_start=True,
        **params,
    )
    with pytest.raises(KeyboardInterrupt):
        runs.fit(X, y)
    assert runs.n_splits_ == at - 2
    assert_same_runs(runs.fit(X, y).runs_, whole.runs_)
    assert len(pids_of(tmp_path)) == 1 + 1 + 30


def test_an_error_without_a_message_is_a_failed_run(tmp_path):
    X, y = make_data()
    selector = Disturbed(marks=str(tmp_path), deed="unprintable", at=3)
    with pytest.warns(
        FitFailedWarning, match=r"1 of 6 runs failed.*UnprintableError: .*RuntimeError"
    ):
        runs = StabilityCV(selector, cv=BootstrapSplit(6, random_state=0)).fit(X, y)
    np.testing.assert_array_equal(runs.split_numbers_, [0, 2, 3, 4, 5])


class Verbose(SelectKBest):
    """Fails, on part of the rows, with a message that nobody can read."""

    def fit(self, X, y):
        if len(np.unique(X[:, 0])) < N:
            raise ValueError("start " + "x" * 3_000_000 + " end")
        return super().fit(X, y)


def test_a_message_that_is_too_long_is_shortened_and_says_so():
    X, y = make_data()
    splits = [(np.arange(N), np.arange(3))] * 2 + [(np.arange(30), np.arange(30, N))]
    with pytest.warns(FitFailedWarning) as warned:
        StabilityCV(Verbose(k=3), cv=splits).fit(X, y)
    text = str(warned[0].message)
    assert len(text) < 2500
    assert "ValueError: start xxx" in text
    assert re.search(r"\[\.\.\. 2998\d\d\d characters left out \.\.\.\] x+ end", text)


# -- several processes -------------------------------------------------------------------------------------------------


@pytest.fixture
def taken(tmp_path, monkeypatch):
    """The numbers of the runs that were taken up, and a file that is there as soon as there is one."""
    numbers, file = [], tmp_path / "taken"

    def keep(_, results):
        numbers.extend(results)
        file.touch()

    monkeypatch.setattr(Stored, "keep_all", keep)
    return numbers, str(file)


def test_what_several_workers_finished_is_kept(tmp_path, taken):
    X, y = make_data()
    (numbers, file), marks = taken, tmp_path / "marks"
    marks.mkdir()
    # It ends only after something has been taken up, however slow the process that does it.
    selector = Disturbed(marks=str(marks), deed="exit", at=20, after=file)
    runs = StabilityCV(
        selector, cv=BootstrapSplit(40, random_state=0), warm_start=True, n_jobs=2
    )
    with pytest.raises(SystemExit):
        runs.fit(X, y)
    n_kept, n_made = len(runs.runs_), len(pids_of(marks))
    assert 0 < n_kept < 40
    assert sorted(numbers) == runs.split_numbers_.tolist()
    runs.fit(X, y)
    assert sorted(numbers) == list(range(40))
    assert (
        n_made + 40 - n_kept <= len(pids_of(marks)) <= n_made + 40 - n_kept + 1
    )  # the other worker may have begun
    assert_same_runs(
        runs.runs_, StabilityCV(SelectKBest(k=3), cv=runs.cv).fit(X, y).runs_
    )


def test_a_dead_worker_does_not_end_the_fit(tmp_path):
    X, y = make_data()
    selector = Disturbed(marks=str(tmp_path), deed="kill", at=10)
    runs = StabilityCV(selector, cv=BootstrapSplit(20, random_state=0), n_jobs=2).fit(
        X, y
    )
    assert runs.n_failed_ == 0
    assert len(pids_of(tmp_path)) > 21
    assert_same_runs(
        runs.runs_, StabilityCV(SelectKBest(k=3), cv=runs.cv).fit(X, y).runs_
    )


def test_the_run_that_always_kills_its_worker_has_failed(tmp_path):
    X, y = make_data()
    selector = Disturbed(marks=str(tmp_path), row=25)
    with pytest.warns(
        FitFailedWarning,
        match=r"1 of 5 runs failed.*DiedError: the process that made the run",
    ):
        runs = StabilityCV(selector, cv=KFold(5), n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(runs.split_numbers_, [0, 1, 3, 4])
    splits = [split for number, split in enumerate(KFold(5).split(X)) if number != 2]
    alone = StabilityCV(SelectKBest(k=3), cv=splits).fit(X, y)
    np.testing.assert_array_equal(dense(runs.importances_), dense(alone.importances_))


def test_a_dead_worker_is_an_error_where_errors_are_raised():
    plan = RunPlan(SelectKBest(), error_score="raise")
    with pytest.raises(RuntimeError, match="a worker died"):
        plan.failed(RuntimeError("a worker died"))
    assert (
        RunPlan(SelectKBest()).failed(RuntimeError("a worker died")).fit_error
        == "RuntimeError: a worker died"
    )

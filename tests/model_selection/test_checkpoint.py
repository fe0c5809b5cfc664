"""`StabilityCV` with a checkpoint: runs that are made once, whatever happens to the process."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from skstab._compat import RunProgress
from skstab._engine.candidates import lone_candidate
from skstab._engine.job import Part
from skstab._engine.outcomes import fields_of, run_of
from skstab._engine.work import RunPlan
from skstab.model_selection import (
    BootstrapSplit,
    StabilityCV,
    WholeSampleSplit,
    compare_selectors,
)
from tests.deeds import wait_until
from tests.model_selection.slow import SlowLogisticRegression, pids_of
from tests.model_selection.test_worker import (
    FOREST,
    assert_same,
    dense,
    l1_logistic,
    make_data,
)

ROOT = Path(__file__).parents[2]
FEW = BootstrapSplit(6, random_state=0)


class Counting:
    """Count the fits of all clones."""

    n_fits: ClassVar[list[int]] = [0]

    def fit(self, X, y, sample_weight=None):
        Counting.n_fits[0] += 1
        return (
            super().fit(X, y)
            if sample_weight is None
            else super().fit(X, y, sample_weight)
        )


class CountingKBest(Counting, SelectKBest):
    pass


class CountingTree(Counting, DecisionTreeClassifier):
    pass


def new_runs(runs, *data, **params):
    """Number of runs that a fit makes, without the fit on all rows."""
    before = Counting.n_fits[0]
    runs.fit(*data, **params)
    return Counting.n_fits[0] - before - 1


def kbest(path, **params):
    return StabilityCV(CountingKBest(k=3), **{"cv": FEW, "checkpoint": path, **params})


# -- the same again ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "params"),
    [
        (l1_logistic(), {}),
        (FOREST, {"perturb": "seed"}),
        (FOREST, {"perturb": 0.5, "scoring": ["accuracy", "roc_auc"]}),
        (
            SelectKBest(k=1),
            {"target_width": 0.5, "cv": BootstrapSplit(25, random_state=0)},
        ),
        (Ridge(), {"measure": "pearson"}),
    ],
    ids=["lasso", "seeds", "noise", "width", "weights"],
)
def test_the_same_bits_from_a_checkpoint(tmp_path, estimator, params):
    X, y = make_data(25)
    runs = StabilityCV(estimator, **{"cv": FEW, "random_state": 0, **params}).fit(X, y)
    for _ in range(2):
        again = clone(runs).set_params(checkpoint=tmp_path / "file").fit(X, y)
        assert_same(again, runs)
    np.testing.assert_array_equal(again.fit_times_, clone(again).fit(X, y).fit_times_)


def assert_equal_parts(a, b):
    """Compare tuples of tuples of arrays, with their types."""
    if isinstance(b, tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_equal_parts(one, other)
    else:
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)


def test_outputs_of_encoders_are_stored(tmp_path):
    X, y = make_data()
    frame = pd.DataFrame(
        {"a": X[:, 1], "b": np.array(["u", "v", "w"])[np.arange(60) % 3]}
    )
    encode = ColumnTransformer([("b", OneHotEncoder(), ["b"])], remainder="passthrough")
    runs = StabilityCV(
        make_pipeline(encode, SelectKBest(k=2)), cv=FEW, checkpoint=tmp_path / "file"
    )
    first, again = (clone(runs).fit(frame, y).runs_.outputs for _ in range(2))
    assert first is not None
    np.testing.assert_array_equal(np.asarray(first.names), np.asarray(again.names))
    np.testing.assert_array_equal(dense(first.supports), dense(again.supports))


@pytest.mark.parametrize(
    "estimator", [l1_logistic(), SelectKBest(k=3), Ridge(), SelectKBest(k=0)]
)
def test_all_of_a_run_is_stored(estimator):
    X, y = make_data()
    plan = RunPlan(estimator, zero_outside=False)
    task = Part(y, list(FEW.split(X)), 0).task(1, RunProgress())
    alone = plan.together({0: lone_candidate(estimator, ())})
    run = plan.run(alone, X, y, task)[0]._replace(scores={"a": 0.1 + 0.2, "b": np.nan})
    back = run_of(fields_of(run), X.shape[1])
    assert_equal_parts(back.selection, run.selection)
    np.testing.assert_equal(
        back._replace(selection=None)._asdict(), run._replace(selection=None)._asdict()
    )


@pytest.mark.parametrize(
    "labels",
    [np.array([0, 1]), np.array(["no", "yes"]), np.array(["no", "yes"], dtype=object)],
)
def test_losses_of_rows_are_stored(tmp_path, labels):
    X, y = make_data()
    runs = StabilityCV(l1_logistic(), cv=FEW, scoring=["accuracy", "roc_auc"]).fit(
        X, labels[y]
    )
    for _ in range(2):
        again = clone(runs).set_params(checkpoint=tmp_path / "file").fit(X, labels[y])
        np.testing.assert_equal(again.runs_.row_losses, runs.runs_.row_losses)
        np.testing.assert_array_equal(
            again.runs_.row_predictions, runs.runs_.row_predictions
        )
    assert list(runs.runs_.row_losses) == ["accuracy"]


def test_only_missing_runs_are_made(tmp_path):
    X, y = make_data()
    path = tmp_path / "file"
    assert new_runs(kbest(path), X, y) == 6
    assert new_runs(kbest(str(path)), X, y) == 0
    assert new_runs(kbest(path, cv=BootstrapSplit(9, random_state=0)), X, y) == 3
    assert (
        new_runs(
            kbest(
                path, random_state=5, measure="jaccard", n_jobs=1, support="consensus"
            ),
            X,
            y,
        )
        == 0
    )
    assert (
        new_runs(
            kbest(path, warm_start=True, cv=BootstrapSplit(10, random_state=0)), X, y
        )
        == 1
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda runs, X, y: runs.set_params(estimator__k=4).fit(X, y),
        lambda runs, X, y: runs.set_params(cv=BootstrapSplit(6, random_state=1)).fit(
            X, y
        ),
        lambda runs, X, y: runs.set_params(perturb=0.1).fit(X, y),
        lambda runs, X, y: runs.set_params(scale_importances=False).fit(X, y),
        lambda runs, X, y: runs.set_params(scoring=lambda_free_score).fit(X, y),
        lambda runs, X, y: runs.fit(X + np.eye(*X.shape, k=-30), y),
        lambda runs, X, y: runs.fit(X, 1 - y),
    ],
    ids=["parameter", "splits", "noise", "scale", "scoring", "rows", "target"],
)
def test_runs_of_something_else_are_other_runs(tmp_path, change):
    X, y = make_data()
    kbest(tmp_path / "file").fit(X, y)
    before = Counting.n_fits[0]
    change(kbest(tmp_path / "file"), X, y)
    assert Counting.n_fits[0] - before == 7
    assert new_runs(kbest(tmp_path / "file"), X, y) == 0


def lambda_free_score(_estimator, _X, _y):
    return 1.0


def test_weights_and_seeds_are_part_of_the_key(tmp_path):
    X, y = make_data()
    tree = StabilityCV(
        CountingTree(max_depth=2),
        cv=FEW,
        measure="pearson",
        checkpoint=tmp_path / "file",
        random_state=0,
    )
    assert [new_runs(clone(tree), X, y) for _ in range(2)] == [6, 0]
    assert [
        new_runs(clone(tree), X, y, sample_weight=np.arange(60.0)) for _ in range(2)
    ] == [6, 0]
    assert new_runs(clone(tree).set_params(random_state=1), X, y) == 6
    assert new_runs(clone(tree).set_params(random_state=None), X, y) == 6
    fixed = clone(tree).set_params(estimator__random_state=3)
    assert [
        new_runs(clone(fixed).set_params(random_state=seed), X, y) for seed in (0, 1)
    ] == [6, 0]


def test_a_search_that_is_repeated_makes_only_the_missing_runs(tmp_path):
    X, y = make_data()

    def search(k):
        runs = kbest(tmp_path / "file")
        grid = GridSearchCV(
            runs,
            {"estimator__k": k},
            cv=WholeSampleSplit(),
            scoring=stability,
            refit=False,
        )
        before = Counting.n_fits[0]
        return grid.fit(X, y).cv_results_["mean_test_score"].tolist(), Counting.n_fits[
            0
        ] - before

    first, n_fits = search([2, 3, 4])
    assert n_fits == 3 * 7
    assert search([2, 3, 4]) == (first, 3)
    assert search([2, 3, 4, 5])[1] == 4 + 6


def stability(runs, X, y):
    return runs.stability_


def test_a_comparison_that_is_repeated_makes_only_the_missing_runs(tmp_path):
    X, y = make_data()

    def compare(*sizes):
        before = Counting.n_fits[0]
        selectors = {
            f"k={k}": make_pipeline(
                CountingKBest(k=k), DecisionTreeClassifier(max_depth=2)
            )
            for k in sizes
        }
        settings = {"cv": FEW, "scoring": "accuracy", "random_state": 0}
        found = compare_selectors(
            selectors, X, y, checkpoint=tmp_path / "file", **settings
        )
        return found.frame(), Counting.n_fits[0] - before

    first, n_fits = compare(2, 3)
    n_halves = 32
    assert n_fits == 2 * (7 + n_halves)
    again, n_fits = compare(2, 3)
    assert n_fits == 2
    pd.testing.assert_frame_equal(first, again)
    assert compare(2, 3, 4)[1] == 3 + 6 + n_halves


class Missing(CountingKBest):
    """Fails without row 0, which has its number in the first column, as long as there is a reason."""

    fails: ClassVar[list[bool]] = [True]

    def fit(self, X, y):
        super().fit(X, y)
        if self.fails[0] and 0 not in X[:, 0]:
            raise RuntimeError("row 0 is missing")
        return self


def test_failed_runs_are_found_too(tmp_path):
    X, y = make_data()
    runs = StabilityCV(Missing(k=3), cv=KFold(5), checkpoint=tmp_path / "file")
    for expected in (5, 0):
        with pytest.warns(FitFailedWarning, match="row 0 is missing"):
            assert new_runs(runs, X, y) == expected
        assert runs.n_failed_ == 1
    # Where errors are to be raised, the one that failed is made again.
    Missing.fails[0] = False
    assert new_runs(runs.set_params(error_score="raise"), X, y) == 1
    assert runs.n_failed_ == 0
    Missing.fails[0] = True


# -- refused -----------------------------------------------------------------------------------------------------------


def test_refuses_what_it_can_not_keep(tmp_path):
    X, y = make_data()
    with pytest.raises(
        ValueError, match="checkpoint must be None, a string or a path, got 3"
    ):
        kbest(3).fit(X, y)
    with pytest.raises(
        ValueError, match="return_estimators=True needs checkpoint=None"
    ):
        kbest(tmp_path / "file", return_estimators=True).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint can't be used with this scoring"):
        kbest(tmp_path / "file", scoring=lambda *_: 1.0).fit(X, y)
    (tmp_path / "text").write_text("not a database, but text\n" * 50)
    with pytest.raises(
        ValueError, match=r"checkpoint '.*text' is not a file of skstab"
    ):
        kbest(tmp_path / "text").fit(X, y)


# -- kill -9 -----------------------------------------------------------------------------------------------------------

KILLED = """
import sys
from tests.model_selection.test_checkpoint import slow_data, slow_runs

slow_runs(*sys.argv[1:]).fit(*slow_data())
"""


def slow_data():
    return make_classification(60, 8, random_state=0)


def slow_runs(path, marks, seconds=0.05):
    slow = SlowLogisticRegression(
        marks=marks, seconds=float(seconds), l1_ratio=1, solver="liblinear", C=0.1
    )
    return StabilityCV(
        slow, cv=BootstrapSplit(30, random_state=0), checkpoint=path, random_state=0
    )


@pytest.mark.skipif(os.name != "posix", reason="processes are stopped by signals")
def test_a_killed_process_loses_at_most_the_run_under_way(tmp_path):
    marks, path = tmp_path / "marks", tmp_path / "file"
    marks.mkdir()
    n_marks = 0
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path), str(marks)], cwd=ROOT
        )
        wait_until(
            lambda: len(pids_of(marks)) >= n_marks + 8 or process.poll() is not None  # noqa: B023
        )
        process.send_signal(signal.SIGKILL)
        process.wait()
        n_marks = len(pids_of(marks))
    runs = slow_runs(path, str(marks)).fit(*slow_data())
    # Each process fits on all rows once, and each of those that were killed was in the middle of one run.
    assert len(pids_of(marks)) <= 30 + 3 + 2
    assert_same(runs, slow_runs(None, str(marks), 0).fit(*slow_data()))


# -- a full disk -------------------------------------------------------------------------------------------------------

FULL = """
import resource
import sys
from tests.model_selection.test_checkpoint import BootstrapSplit, Counting, kbest, make_data

X, y = make_data()
runs = kbest(sys.argv[1], cv=BootstrapSplit(40, random_state=0), warm_start=True)
size, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, most))  # of any file that is written
try:
    runs.fit(X, y)
except OSError as error:
    print(type(error).__name__, str(error).partition(" ")[0])
n_kept = len(runs.runs_)
resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
print(0 < n_kept < 40, Counting.n_fits[0] - 1 - n_kept)
runs.fit(X, y)
print(Counting.n_fits[0] - 1)
again = kbest(sys.argv[1], cv=BootstrapSplit(40, random_state=0)).fit(X, y)
print(Counting.n_fits[0] - 2 - 40)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of the size of files")
def test_a_full_disk_loses_no_run_that_finished(tmp_path):
    command = [sys.executable, "-c", FULL, str(tmp_path / "file")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    # An error that names the checkpoint; some runs were made, all of them are kept, and none is made twice. In the
    # file at most the run is missing that met the full disk.
    *told, n_missing = done.stdout.split()
    assert told == ["OSError", "checkpoint", "True", "0", "40"]
    assert n_missing in ("0", "1")

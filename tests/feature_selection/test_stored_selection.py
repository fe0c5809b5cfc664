"""`StabilitySelection` with a checkpoint and with workers that die: subsamples that are followed once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import Lasso
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import ExtraTreeRegressor

from skstab._engine.values import packed, unpacked
from skstab.feature_selection import StabilitySelection
from skstab.feature_selection._halves import Half, PathPlan
from skstab.feature_selection._walk import Walk
from tests.deeds import wait_until
from tests.model_selection.slow import Disturbed, pids_of

pytestmark = pytest.mark.filterwarnings(
    "ignore:the expected number of wrong features is not controlled",
    "ignore:features correlate with others",
)

ROOT = Path(__file__).parents[2]
N, D = 40, 12
FEW = {"n_resamples": 6, "n_values": 5, "random_state": 0}
needs_signals = pytest.mark.skipif(
    os.name != "posix", reason="processes are stopped by signals"
)


def make_data():
    """Make rows that have their number in the first column."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    y = 2 * X[:, :3].sum(axis=1) + rng.standard_normal(N)
    return np.column_stack([np.arange(N), X]), y


def assert_same(a, b):
    fitted = [
        name for name in vars(b) if name.endswith("_") and not name.startswith("_")
    ]
    assert fitted
    for name in fitted:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    np.testing.assert_array_equal(a.get_support(), b.get_support())


# -- the same again ----------------------------------------------------------------------------------------------------

CASES = {
    "lasso": (Lasso(), {}),
    "pipeline": (make_pipeline(StandardScaler(), Lasso()), {"q": 3}),
    "weights": (Lasso(), {"weakness": 0.5, "resampling": "subsample"}),
    "clusters": (Lasso(), {"groups": np.arange(D + 1) // 2, "pfer": 1}),
    "importances": (RandomForestRegressor(5, max_depth=2), {"efp": 1}),
    "decoys": (Lasso(), {"decoys": "permuted", "fdr": 0.9, "n_decoy_draws": 2}),
    "selector": (
        SelectKBest(f_regression),
        {"param_name": "k", "param_values": [1, 3], "resampling": KFold(4), "q": 2},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_bits_from_a_checkpoint(tmp_path, monkeypatch, case):
    X, y = make_data()
    estimator, params = CASES[case]
    found = StabilitySelection(estimator, **{**FEW, **params}).fit(X, y)
    stored = clone(found).set_params(checkpoint=tmp_path / "file")
    assert_same(clone(stored).fit(X, y), found)
    monkeypatch.setattr("skstab._engine.make.run_block", None)
    assert_same(clone(stored).fit(X, y), found)


@pytest.mark.parametrize("case", ["weights", "importances"])
def test_the_same_bits_for_any_number_of_jobs(tmp_path, case):
    X, y = make_data()
    estimator, params = CASES[case]
    found = StabilitySelection(estimator, **{**FEW, **params}).fit(X, y)
    two = clone(found).set_params(n_jobs=2)
    assert_same(clone(two).fit(X, y), found)
    clone(found).set_params(checkpoint=tmp_path / "file", n_resamples=2).fit(X, y)
    assert_same(two.set_params(checkpoint=tmp_path / "file").fit(X, y), found)


indices = st.lists(st.integers(0, 50), unique=True).map(
    lambda some: np.array(sorted(some), dtype=np.intp)
)


@given(st.lists(st.tuples(indices, indices), max_size=5), indices, st.integers(0, 5))
def test_a_half_is_read_as_it_was_written(steps, seen, n_unconverged):
    half = Half(
        Walk([some for some, _ in steps], seen, n_unconverged),
        [some for _, some in steps],
    )
    plan = PathPlan(Lasso(), (), "alpha", None, {}, None, 1.0, np.arange(51))
    back = plan.unpack(unpacked(packed(plan.pack(half))), 51)
    assert back.walk.n_unconverged == n_unconverged
    pairs = [
        (back.walk.supports, half.walk.supports),
        (back.features, half.features),
        ([back.walk.seen], [seen]),
    ]
    for ours, expected in pairs:
        assert len(ours) == len(expected)
        for a, b in zip(ours, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def test_missing_convergence_is_reported_again(tmp_path):
    X, y = make_data()
    messages = []
    for _ in range(2):
        with pytest.warns(
            ConvergenceWarning, match=r"\d+ of 30 fits did not converge"
        ) as caught:
            StabilitySelection(
                Lasso(max_iter=1, tol=1e-12), efp=1, checkpoint=tmp_path / "file", **FEW
            ).fit(X, y)
        messages.append([str(one.message) for one in caught])
    assert messages[0] == messages[1]


# -- only what is missing ----------------------------------------------------------------------------------------------


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


class CountingTree(Counting, ExtraTreeRegressor):
    pass


def new_halves(selection, *data, **params):
    """Number of subsamples that a fit follows, without the fit on all rows."""
    before = Counting.n_fits[0]
    selection.fit(*data, **params)
    return Counting.n_fits[0] - before - 1


def kbest(path, estimator=None, **params):
    selector = CountingKBest(f_regression) if estimator is None else estimator
    settings = {
        "param_name": "k",
        "param_values": [3],
        "n_resamples": 6,
        "random_state": 0,
        "checkpoint": path,
    }
    return StabilitySelection(selector, **{**settings, **params})


def test_only_missing_halves_are_followed(tmp_path):
    X, y = make_data()
    path = tmp_path / "file"
    assert new_halves(kbest(path), X, y) == 6
    assert new_halves(kbest(str(path), threshold=0.9, n_jobs=1, efp=1), X, y) == 0
    assert new_halves(kbest(path, n_resamples=10), X, y) == 4
    assert new_halves(kbest(path), X, y) == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda one, X, y: one.set_params(param_values=[4]).fit(X, y),
        lambda one, X, y: one.set_params(random_state=1).fit(X, y),
        lambda one, X, y: one.set_params(weakness=0.5).fit(X, y),
        lambda one, X, y: one.set_params(q=3).fit(X, y),
        lambda one, X, y: one.set_params(groups=np.arange(D + 1) // 2).fit(X, y),
        lambda one, X, y: one.set_params(estimator=CountingKBest()).fit(X, y > 0),
        lambda one, X, y: one.fit(X + np.eye(*X.shape, k=-30), y),
        lambda one, X, y: one.fit(X, -y),
    ],
    ids=["values", "splits", "weights", "q", "clusters", "estimator", "rows", "target"],
)
def test_halves_of_something_else_are_other_halves(tmp_path, change):
    X, y = make_data()
    kbest(tmp_path / "file").fit(X, y)
    before = Counting.n_fits[0]
    change(kbest(tmp_path / "file"), X, y)
    assert Counting.n_fits[0] - before == 7
    assert new_halves(kbest(tmp_path / "file"), X, y) == 0


def test_importances_are_stored_whatever_the_thresholds(tmp_path):
    X, y = make_data()
    splits = list(KFold(4).split(X))
    tree = StabilitySelection(
        CountingTree(max_depth=2),
        resampling=splits,
        random_state=0,
        checkpoint=tmp_path / "file",
    )
    assert [new_halves(clone(tree), X, y) for _ in range(2)] == [4, 0]
    assert new_halves(clone(tree).set_params(param_values=[0.1, 0.3], q=2), X, y) == 0
    assert [
        new_halves(clone(tree), X, y, sample_weight=np.arange(1.0, N + 1))
        for _ in range(2)
    ] == [4, 0]
    assert new_halves(clone(tree).set_params(random_state=1), X, y) == 4
    fixed = clone(tree).set_params(estimator__random_state=3)
    assert [
        new_halves(clone(fixed).set_params(random_state=seed), X, y) for seed in (0, 1)
    ] == [4, 0]


class Missing(CountingKBest):
    """Fails without row 0, which has its number in the first column, as long as there is a reason."""

    fails: ClassVar[list[bool]] = [True]

    def fit(self, X, y):
        super().fit(X, y)
        if self.fails[0] and 0 not in X[:, 0]:
            raise RuntimeError("row 0 is missing")
        return self


def test_failed_halves_are_found_too(tmp_path):
    X, y = make_data()
    selection = kbest(
        tmp_path / "file", estimator=Missing(f_regression), resampling=KFold(5)
    )
    for expected in (5, 0):
        with pytest.warns(
            FitFailedWarning, match="first one with RuntimeError: row 0 is missing"
        ):
            assert new_halves(selection, X, y) == expected
        assert selection.n_subsamples_ == 4


def test_refuses_what_is_not_a_checkpoint(tmp_path):
    X, y = make_data()
    with pytest.raises(
        ValueError, match="checkpoint must be None, a string or a path, got 3"
    ):
        kbest(3).fit(X, y)
    (tmp_path / "text").write_text("not a database, but text\n" * 50)
    with pytest.raises(
        ValueError, match=r"checkpoint '.*text' is not a file of skstab"
    ):
        kbest(tmp_path / "text").fit(X, y)


# -- interrupts and dead workers ---------------------------------------------------------------------------------------


def disturbed(marks, path=None, **params):
    """One fit on all rows, then one for each subsample."""
    selector = Disturbed(
        marks=str(marks),
        **{name: params.pop(name) for name in ("deed", "at", "row") if name in params},
    )
    settings = {
        "param_name": "k",
        "param_values": [3],
        "n_resamples": 12,
        "random_state": 0,
        "checkpoint": path,
    }
    return StabilitySelection(selector, **{**settings, **params})


def class_data():
    X, y = make_data()
    return X, y > np.median(y)


def undisturbed(selection, X, y):
    return (
        clone(selection)
        .set_params(estimator=SelectKBest(), n_jobs=None, checkpoint=None)
        .fit(X, y)
    )


@pytest.fixture
def marks(tmp_path):
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("deed", "error"), [("interrupt", KeyboardInterrupt), ("exit", SystemExit)]
)
def test_what_finished_before_an_interrupt_is_stored(tmp_path, marks, deed, error):
    X, y = class_data()
    selection = disturbed(marks, tmp_path / "file", deed=deed, at=9)
    with pytest.raises(error):
        selection.fit(X, y)
    selection.fit(X, y)
    assert (
        len(pids_of(marks)) == 9 + 1 + 5
    )  # of the first nine, one was on all rows and one was interrupted
    assert_same(selection, undisturbed(selection, X, y))


def test_an_error_without_a_message_is_a_failed_half(marks):
    X, y = class_data()
    selection = disturbed(marks, deed="unprintable", at=3)
    with pytest.warns(
        FitFailedWarning,
        match=r"1 of 12 subsamples failed.*UnprintableError: .*RuntimeError",
    ):
        selection.fit(X, y)
    assert selection.n_subsamples_ == 11


@needs_signals
def test_a_dead_worker_does_not_end_the_fit(tmp_path, marks):
    X, y = class_data()
    selection = disturbed(marks, tmp_path / "file", deed="kill", at=6, n_jobs=2).fit(
        X, y
    )
    assert selection.n_subsamples_ == 12
    assert len(pids_of(marks)) > 13
    assert_same(selection, undisturbed(selection, X, y))


@needs_signals
def test_the_half_that_always_kills_its_worker_has_failed(marks):
    X, y = class_data()
    selection = disturbed(marks, row=25, n_jobs=2, resampling=KFold(5))
    with pytest.warns(
        FitFailedWarning,
        match=r"1 of 5 subsamples failed.*DiedError: the process that made the run",
    ):
        selection.fit(X, y)
    assert selection.n_subsamples_ == 4
    splits = [split for number, split in enumerate(KFold(5).split(X)) if number != 3]
    assert_same(selection, undisturbed(selection.set_params(resampling=splits), X, y))


KILLED = """
import sys
from tests.feature_selection.test_stored_selection import class_data, slow

slow(*sys.argv[1:]).fit(*class_data())
"""


class Slow(Disturbed):
    def fit(self, X, y):
        super().fit(X, y)
        time.sleep(0.03)
        return self


def slow(marks, path):
    return disturbed(marks, path).set_params(estimator=Slow(marks=str(marks)))


@needs_signals
def test_a_killed_process_loses_at_most_the_half_under_way(tmp_path, marks):
    X, y = class_data()
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(marks), str(tmp_path / "file")], cwd=ROOT
    )
    wait_until(lambda: len(pids_of(marks)) >= 7)
    process.send_signal(signal.SIGKILL)
    process.wait()
    selection = slow(marks, tmp_path / "file").fit(X, y)
    assert 7 < len(pids_of(marks)) <= 12 + 2 + 1  # each process fits on all rows once
    assert_same(selection, undisturbed(selection, X, y))

"""The same fit in other processes: what it gives, what it ships, and what happens when it is disturbed."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab.model_selection import BootstrapSplit, StabilityCV
from tests.deeds import wait_until
from tests.model_selection.slow import (
    Disturbed,
    SlowLogisticRegression,
    pids_of,
    telling_block,
)

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="processes are stopped by signals"
)


@pytest.fixture(scope="module")
def data():
    return make_classification(200, 40, n_informative=5, random_state=0)


@pytest.fixture
def client():
    """A cluster of its own for each test: on a busy machine Dask may give up a worker that a test has killed."""
    distributed = pytest.importorskip("distributed")
    patient = {
        f"distributed.comm.timeouts.{name}": "300s" for name in ("connect", "tcp")
    }
    with pytest.importorskip("dask").config.set(patient):
        cluster = distributed.LocalCluster(
            n_workers=2, processes=True, threads_per_worker=1, dashboard_address=":0"
        )
        with cluster, distributed.Client(cluster) as client:
            client.wait_for_workers(2, timeout=300)
            yield client


def lasso():
    return make_pipeline(
        StandardScaler(), LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1)
    )


def forest():
    # No random_state anywhere: all that is random must come from the seeds that travel with the runs.
    return make_pipeline(
        SelectFromModel(RandomForestClassifier(3, max_depth=3)), LogisticRegression()
    )


def slow_lasso(marks):
    return SlowLogisticRegression(
        marks=str(marks), l1_ratio=1, solver="liblinear", C=0.1
    )


def runs_of(estimator, n_runs=6, **params):
    return StabilityCV(
        estimator, cv=BootstrapSplit(n_runs, random_state=0), random_state=0, **params
    )


def assert_same(a, b):
    for name in ("supports_", "importances_"):
        np.testing.assert_array_equal(
            csr_array(getattr(a, name)).toarray(), csr_array(getattr(b, name)).toarray()
        )
    assert a.scores_.keys() == b.scores_.keys()
    for name, scores in a.scores_.items():
        np.testing.assert_array_equal(scores, b.scores_[name])
    assert a.stability_ == b.stability_
    assert a.stability_interval_ == b.stability_interval_


# -- the same results everywhere ---------------------------------------------------------------------------------------


# liblinear shares one generator among the threads of a process (scikit-learn issue 31883): no lasso in threads.
@pytest.mark.parametrize(
    ("backend", "estimator"),
    [("loky", lasso()), ("loky", forest()), ("threading", forest())],
    ids=["loky-lasso", "loky-forest", "threading-forest"],
)
def test_local_backends_give_the_same(data, backend, estimator):
    with parallel_config(backend=backend):
        parallel = runs_of(estimator, n_jobs=2).fit(*data)
    assert_same(parallel, runs_of(estimator, n_jobs=1).fit(*data))


@pytest.mark.parametrize("estimator", [lasso(), forest()], ids=["lasso", "forest"])
def test_dask_gives_the_same(client, data, estimator):
    with parallel_config(backend="dask"):
        remote = runs_of(estimator).fit(*data)
    assert_same(remote, runs_of(estimator, n_jobs=1).fit(*data))


@pytest.mark.parametrize("at", [2, 5, 11], ids=["first", "later", "last"])
def test_dask_survives_a_killed_worker(client, data, tmp_path, at):
    n_runs = 10
    disturbed = Disturbed(marks=str(tmp_path), deed="kill", at=at)
    with parallel_config(backend="dask"):
        remote = runs_of(disturbed, n_runs).fit(*data)
    assert pids_of(tmp_path).count(os.getpid()) == 1, (
        "only the fit on all rows should have been made here"
    )
    assert len(pids_of(tmp_path)) > 1 + n_runs, (
        "the run that was killed should have been made again"
    )
    assert remote.n_failed_ == 0
    assert_same(remote, runs_of(SelectKBest(k=3), n_runs, n_jobs=1).fit(*data))


# -- what is shipped ---------------------------------------------------------------------------------------------------


@pytest.fixture
def wide_data():
    """More than 1 MB, from which on joblib maps arrays into memory."""
    return make_classification(200, 1000, random_state=0)


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setattr("skstab._engine.make.run_block", telling_block)


def test_large_x_is_mapped_into_workers(told, wide_data):
    scores = runs_of(SelectKBest(k=5), n_jobs=2).fit(*wide_data).scores_
    assert os.getpid() not in scores["pid"]
    assert scores["mapped"].all()


def test_dask_does_not_ship_x_with_each_run(told, client, wide_data):
    with parallel_config(backend="dask"):
        scores = runs_of(SelectKBest(k=5), n_runs=12).fit(*wide_data).scores_
    assert os.getpid() not in scores["pid"]
    copies = set(zip(scores["pid"], scores["identity"], strict=True))
    assert (
        len(copies) <= 6
    )  # one for each worker, and again where Dask has dropped it in between


# -- interrupting ------------------------------------------------------------------------------------------------------

INTERRUPTED = """
import signal
import sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell ignores in what it runs in the background
from tests.model_selection.test_backends import make_classification, runs_of, slow_lasso

try:
    runs_of(slow_lasso(sys.argv[1]), 300, n_jobs=2).fit(*make_classification(random_state=0))
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.read()  # stay, as a notebook does
"""


@contextmanager
def fit_in_a_session(marks):
    """A fit in a process that heads a group of its own, as in a terminal."""
    command = [sys.executable, "-c", INTERRUPTED, str(marks)]
    pipes = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    session = subprocess.Popen(
        command, cwd=ROOT, text=True, start_new_session=True, **pipes
    )
    try:
        yield session
    finally:
        if session.poll() is None:
            os.killpg(session.pid, signal.SIGKILL)
        session.communicate()


@pytest.mark.parametrize("interrupt", [os.kill, os.killpg], ids=["process", "group"])
def test_interrupt_leaves_no_workers(tmp_path, interrupt):
    psutil = pytest.importorskip("psutil")
    with fit_in_a_session(tmp_path) as session:
        wait_until(lambda: len(set(pids_of(tmp_path))) == 3)
        workers = [
            psutil.Process(pid) for pid in set(pids_of(tmp_path)) - {session.pid}
        ]
        interrupt(session.pid, signal.SIGINT)
        _, alive = psutil.wait_procs(workers, timeout=300)
        assert not alive
        assert session.poll() is None
        out, err = session.communicate("", timeout=300)
    assert (session.returncode, out, told_by_us(err)) == (0, "interrupted\n", [])


def told_by_us(err):
    """Lines without those of joblib's tracker: a worker may die between removing a semaphore and saying so."""
    of_tracker = ("resource_tracker", "warnings.warn(")
    return [line for line in err.splitlines() if not any(t in line for t in of_tracker)]

"""What is asked for in the chaos: every entry that makes runs, with a selector that suffers what a file says."""

import json
import os
import signal
import time
from pathlib import Path

import numpy as np
from joblib import parallel_config
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectKBest

from skstab.feature_selection import ConsensusSelector, StabilitySelection
from skstab.inspection import decoy_evidence
from skstab.model_selection import (
    BootstrapSplit,
    StabilityCV,
    StabilitySearchCV,
    assess_selector,
    compare_cohorts,
    compare_selectors,
    multiverse,
    stability_profile,
)
from skstab.runs import Runs
from tests.model_selection.slow import leave_mark

N_ROWS = 60
FOLDER = "SKSTAB_CHAOS"  # the variable of the environment with the folder of one draw


def _swell():
    np.ones(60_000_000)
    time.sleep(5)


DEEDS = {
    "exit": lambda: os._exit(3),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "error": lambda: 1 / 0,
    "hang": lambda: time.sleep(600),
    "swell": _swell,
}


class Suffering(SelectKBest):
    """Leaves a mark, suffers what is to happen at the fit of a number or without a row, then selects."""

    def fit(self, X, y):
        folder = Path(os.environ[FOLDER])
        number = leave_mark(folder / "marks")
        fault = json.loads((folder / "fault.json").read_text())
        time.sleep(fault["seconds"])
        if fault["deed"] and (
            number == fault["at"]
            or (
                (len(X) < N_ROWS or len(set(X[:, 0])) < N_ROWS)
                and fault["row"] is not None
                and fault["row"] not in X[:, 0]
            )
        ):
            DEEDS[fault["deed"]]()
        return super().fit(X, y)


def make_data():
    """Make rows that have their number in the first column."""
    X, y = make_classification(N_ROWS, 11, n_informative=5, flip_y=0.3, random_state=1)
    return np.column_stack([np.arange(N_ROWS), X]), y


def _cv(X, y, **options):
    cv = BootstrapSplit(12, random_state=0)
    return [StabilityCV(Suffering(k=3), cv=cv, **options).fit(X, y).runs_]


def _search(X, y, **options):
    cv = BootstrapSplit(6, random_state=0)
    search = StabilitySearchCV(Suffering(), {"k": [2, 3]}, cv=cv, **options)
    return search.fit(X, y).runs_


def _assess(X, y, **options):
    cv = BootstrapSplit(5, random_state=0)
    counts = {"n_pairs": 3, "n_permutations": 19}
    found = assess_selector(Suffering(k=3), X, y, cv=cv, **counts, **options)
    return [found.runs, found.halves]


def _compare(X, y, **options):
    cv = BootstrapSplit(6, random_state=0)
    selectors = [Suffering(k=2), Suffering(k=4)]
    return list(
        compare_selectors(selectors, X, y, cv=cv, **options).runs_by_name.values()
    )


def _profile(X, y, **options):
    table = stability_profile(Suffering(k=3), X, y, sizes=[2, 4], **options)
    return [table.to_numpy(np.float64)]


def _selection(X, y, **options):
    path = {"param_name": "k", "param_values": [2], "n_resamples": 10, "q": 2}
    return [
        StabilitySelection(Suffering(), **path, **options).fit(X, y).selection_path_
    ]


def _multiverse(X, y, **options):
    cv = BootstrapSplit(6, random_state=0)
    found = multiverse([Suffering(k=2), Suffering(k=4)], X, y, cv=cv, **options)
    return [runs for held in found.runs.values() for runs in held]


def _consensus(X, y, **options):
    cv = BootstrapSplit(6, random_state=0)
    pair = [("two", Suffering(k=2)), ("four", Suffering(k=4))]
    found = ConsensusSelector(pair, cv=cv, **options).fit(X, y)
    return list(found.runs_.values())


def _cohorts(X, y, **options):
    counts = {"n_pairs": 5, "n_permutations": 19}
    found = compare_cohorts(
        Suffering(k=3), X, y, np.arange(N_ROWS) % 2, **counts, **options
    )
    return [found.permuted, found.frame().to_numpy(np.float64)]


def _evidence(X, y, **options):
    counts = {"n_pairs": 3, "n_draws": 2}
    found = decoy_evidence(Suffering(k=3), X, y, **counts, **options)
    return [found.frame().to_numpy(np.float64)]


STUDIES = {
    "cv": _cv,
    "search": _search,
    "assess": _assess,
    "compare": _compare,
    "profile": _profile,
    "selection": _selection,
    "multiverse": _multiverse,
    "consensus": _consensus,
    "cohorts": _cohorts,
    "evidence": _evidence,
}


def run(name, backend, n_jobs, checkpoint, limits):
    """Make a study; return the tables that it found, run by run where the runs are known."""
    options = {"checkpoint": checkpoint, "random_state": 0, **limits}
    context = {} if backend is None else {"backend": backend, "n_jobs": n_jobs}
    if backend is None:
        options["n_jobs"] = n_jobs
    with parallel_config(**context):
        return [_plain(found) for found in STUDIES[name](*make_data(), **options)]


def _plain(found):
    if not isinstance(found, Runs):
        return found
    tables = found.tables
    rows = [csr_array(table).toarray() for table in tables[:2] if table is not None]
    return {
        int(split): np.concatenate([row[at] for row in rows]).tolist()
        for at, split in enumerate(found.split_numbers)
    }

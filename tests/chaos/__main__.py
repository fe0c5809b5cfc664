"""Disturb studies in many random ways, and find out whether they end, with the same bits, and nothing made twice.

python -m tests.chaos [--draws N] [--seed N] [--only NUMBER] [--with-dask] [--light]

Each draw takes an entry, a backend, numbers of jobs, faults at some moment, and damage to the checkpoint in between;
the same call is then made until it ends, at last without a fault.
"""

import argparse
import json
import os
import pickle
import shutil
import signal
import sqlite3
import sys
import time
import traceback
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from skstab._engine.checkpoint import failure_of, open_checkpoint
from skstab._engine.repair import repair
from tests.chaos.studies import FOLDER, N_ROWS, STUDIES, run

PATIENCE = 240  # seconds for one call
# Of each backend with its jobs as many as it is to be drawn often: processes take long to start.
WORKERS = (
    *[(None, 1)] * 6,
    *[("threading", 2)] * 6,
    *[("loky", 2), ("loky", 1), (None, 2), ("multiprocessing", 2)],
)
OUTSIDE = {name: getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGKILL")}
N_LIGHT = 12  # of these start no process
INSIDE = ("exit", "kill", "crash", "error")
LIMITED = ("hang", "swell")
DAMAGES = ("bit", "text", "forged", "page", "lease")
LIMITS = {"max_seconds": 3.0, "max_memory": 150_000_000}


@dataclass
class Call:
    """One call of a study, and what happens to it."""

    backend: str | None = None
    n_jobs: int = 1
    limits: dict = field(default_factory=dict)
    deed: str | None = None  # inside of a run
    at: int | None = None  # the number of the fit, of all fits of the draw
    row: int | None = None  # without which every run suffers
    signal: str | None = None  # from outside, when so many fits have begun
    company: bool = False  # whether a second process makes the same call
    damage: str | None = None  # to the file, afterwards


def draw(rng, *, with_dask=False, is_light=False):
    """Draw a study and its calls, the last one without a fault."""
    name = str(rng.choice(list(STUDIES)))
    workers = WORKERS[:N_LIGHT] if is_light else WORKERS
    calls = [_drawn(rng, name, workers) for _ in range(rng.integers(1, 3))]
    if with_dask and rng.random() < 0.1:
        calls[0] = Call("dask", 2, deed=str(rng.choice(["kill", "error"])))
        calls[0].at = int(rng.integers(2, 20))
    return name, [*calls, Call(n_jobs=1 if is_light else int(rng.choice([1, 1, 2])))]


def _drawn(rng, name, workers):
    call = Call(*workers[rng.integers(len(workers))])
    deeds = ("error",) if call.backend == "threading" else INSIDE
    if rng.random() < 0.3:
        call.limits, deeds = LIMITS, (*deeds, *LIMITED)
    kind = rng.choice(["inside", "row", "outside", "company", "none"])
    at = int(rng.integers(1, 25))
    if kind == "inside":
        call.deed, call.at = str(rng.choice(deeds)), at
    elif kind == "row" and name == "cv":
        call.deed, call.row = str(rng.choice(deeds)), int(rng.integers(N_ROWS))
    elif kind == "outside":
        call.signal, call.at = str(rng.choice(list(OUTSIDE))), at
    elif kind == "company":
        call.company = True
    if rng.random() < 0.6:
        call.damage = str(rng.choice(DAMAGES))
    return call


# -- one call ----------------------------------------------------------------------------------------------------------


def make(folder, name, call, path):
    """Make a call in one process, or two; return what each left: a result, an error, or None where it was ended."""
    fault = {"deed": call.deed, "at": call.at, "row": call.row, "seconds": 0.0}
    if call.signal or call.company:
        fault["seconds"] = 0.02
    (folder / "fault.json").write_text(json.dumps(fault))
    shown = [folder / f"result {number}" for number in range(1 + call.company)]
    for file in shown:
        file.unlink(missing_ok=True)
    pids = [_start(folder, name, call, path, file) for file in shown]
    n_before, deadline = n_marks(folder), time.monotonic() + PATIENCE
    is_sent = False
    while pids:
        if time.monotonic() > deadline:
            for pid in pids:
                os.killpg(pid, signal.SIGKILL)
            raise AssertionError("it did not end")
        if call.signal and not is_sent and n_marks(folder) >= n_before + call.at:
            is_sent = True
            os.kill(pids[0], OUTSIDE[call.signal])
        ended = [pid for pid in pids if os.waitpid(pid, os.WNOHANG) != (0, 0)]
        for pid in ended:
            pids.remove(pid)
            with suppress(ProcessLookupError):  # its workers wait for more
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.005)
    return [pickle.loads(f.read_bytes()) if f.exists() else None for f in shown]


def _start(folder, name, call, path, file):
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    os.environ[FOLDER] = str(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        result = _result(name, call, path)
    except BaseException as error:
        traceback.print_exc()
        result = error
    with open(f"{file}.new", "wb") as written:
        pickle.dump(result, written)
    os.rename(f"{file}.new", file)
    os._exit(0)


def _result(name, call, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if call.backend != "dask":
            return run(name, call.backend, call.n_jobs, path, call.limits)
        from distributed import Client, LocalCluster

        options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**options) as cluster, Client(cluster):
            return run(name, "dask", None, path, call.limits)


def n_marks(folder):
    return len(os.listdir(folder / "marks"))


# -- damage ------------------------------------------------------------------------------------------------------------


def damage(path, kind, rng):
    """Damage a checkpoint."""
    if kind == "page":
        content = bytearray(Path(path).read_bytes())
        n_pages = len(content) // 4096
        if n_pages > 8:
            start = 4096 * int(rng.integers(7, n_pages))
            content[start : start + 4096] = rng.bytes(4096)
            Path(path).write_bytes(content)
        return
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT rowid, key, value FROM results").fetchall()
        if rows:
            rowid, key, value = rows[rng.integers(len(rows))]
            value = _damaged(bytes(value), kind, rng)
            connection.execute(
                "UPDATE results SET value = ? WHERE rowid = ?", (value, rowid)
            )
            if kind == "lease":
                connection.execute(
                    "INSERT OR REPLACE INTO leases VALUES (?, 'a/1/2/3', 0.0)", (key,)
                )
    connection.close()


def _damaged(value, kind, rng):
    if kind == "text":
        return "text"
    if kind == "forged":
        content = value[8:].replace(b'"<i', b'"<f').replace(b"1", b"9")
        return blake2b(content, digest_size=8).digest() + content
    if kind == "bit":
        at = int(rng.integers(len(value)))
        return value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
    return value


def readable(path, limits=()):
    """How many results a file has that a call takes from it, and how many of these are failures.

    A run that was stopped at a limit is made again by a call without that limit.
    """
    with open_checkpoint(path) as file:
        values, _ = file.read(list(file.keys()))
    errors = [failure_of(value) or "" for value in values.values()]
    n_stopped = sum("max_" in error for error in errors) if not limits else 0
    return len(values) - n_stopped, sum(map(bool, errors)) - n_stopped


# -- one draw ----------------------------------------------------------------------------------------------------------


class Clean:
    """What studies find when nothing disturbs them, and what they cost."""

    def __init__(self):
        self._known = {}

    def __call__(self, name):
        if name not in self._known:
            with TemporaryDirectory() as place:
                folder = _new(Path(place))
                (found,) = make(folder, name, Call(), str(folder / "file"))
                n_fits = n_marks(folder)
                again = make(folder, name, Call(), str(folder / "file"))
                assert_same(again[0], found)
                n_refits = n_marks(folder) - n_fits
                n_runs, _ = readable(str(folder / "file"))
            self._known[name] = found, n_refits, n_runs, n_fits
        return self._known[name]


def _new(folder):
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "marks").mkdir(parents=True)
    return folder


def check(folder, name, calls, clean, rng):
    """Make the calls of a draw, and check what must hold."""
    expected, n_refits, n_runs, n_fits = clean(name)
    path = str(folder / "file")
    for call in calls[:-1]:
        n_before = n_marks(folder)
        n_there = readable(path, call.limits)[0] if os.path.exists(path) else 0
        results = make(folder, name, call, path)
        if call.company:
            each = n_fits - n_runs if name != "selection" else 0
            n_made = n_marks(folder) - n_before
            assert n_made <= n_runs - n_there + 2 * max(n_refits, each), "made twice"
        for result in results:
            if isinstance(result, Exception):
                assert_named(result, call)
        if call.damage and os.path.exists(path):
            damage(path, call.damage, rng)
            if call.damage == "page":
                repair(path)
                Path(f"{path}.damaged").unlink(missing_ok=True)
    n_there, n_failed = readable(path) if os.path.exists(path) else (0, 0)
    n_before = n_marks(folder)
    (found,) = make(folder, name, calls[-1], path)
    if isinstance(found, BaseException):
        assert n_failed, repr(found)
        assert "failed" in str(found), repr(found)
        return
    n_made = n_marks(folder) - n_before - n_refits
    assert n_made == n_runs - n_there, f"{n_made} made, of {n_runs} {n_there} known"
    assert_same(found, expected, n_missing=n_failed)


def assert_named(error, call):
    """Check that an error of a disturbed call is one that it may raise."""
    text = f"{type(error).__name__}: {error}"
    if not (call.deed or "failed" in text):
        raise AssertionError(f"an error without a reason: {text}") from error


def assert_same(found, expected, n_missing=0):
    """Check that the same was found, but for runs that failed."""
    if isinstance(found, BaseException):
        raise AssertionError(f"an error without a reason: {found!r}") from found
    assert len(found) == len(expected)
    n_less = 0
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, dict):
            assert one.keys() <= other.keys()
            assert all(one[number] == other[number] for number in one), "other bits"
            n_less += len(other) - len(one)
        elif not n_missing:
            np.testing.assert_array_equal(one, other)
    assert n_less <= n_missing, f"{n_less} runs are missing, {n_missing} failed"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=200, help="number of draws")
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    parser.add_argument("--only", type=int, help="the number of a single draw")
    parser.add_argument("--with-dask", action="store_true", help="on clusters, too")
    parser.add_argument("--light", action="store_true", help="without worker processes")
    options = parser.parse_args(arguments)
    numbers = range(options.draws) if options.only is None else [options.only]
    clean, n_bad = Clean(), 0
    for number in numbers:
        rng = np.random.default_rng([options.seed, number])
        name, calls = draw(rng, with_dask=options.with_dask, is_light=options.light)
        start, told = time.monotonic(), [asdict(call) for call in calls]
        with TemporaryDirectory(ignore_cleanup_errors=True) as place:
            folder = _new(Path(place))
            try:
                check(folder, name, calls, clean, rng)
                outcome = "ok"
            except Exception as error:
                n_bad += 1
                log = folder / "log"
                tail = log.read_text()[-3000:] if log.exists() else ""
                outcome = f"{type(error).__name__}: {error}\n{told}\n{tail}"
        seconds = time.monotonic() - start
        print(f"{number} {name} {seconds:.1f} s {outcome}", flush=True)
    print(f"{len(numbers)} draws, {n_bad} of them failed")
    return min(n_bad, 1)


if __name__ == "__main__":
    sys.exit(main())

"""Results of calls in a checkpoint: damage, forgery, several processes, processes that died."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skstab._engine.checkpoint import open_checkpoint
from skstab._engine.pool import open_pool
from skstab._engine.store import open_stored
from skstab._engine.values import DamagedError, packed, unpacked
from tests.deeds import mark_and_double

ROOT = Path(__file__).parents[1]
N = 20
KEYS = {number: b"%016d" % number for number in range(N)}


def pack(result):
    if isinstance(result, Exception):
        return {"fit_error": f"{type(result).__name__}: {result}"}
    return {"result": np.array([result]), "fit_error": None}


def unpack(fields):
    return fields["fit_error"] or fields["result"].item()


def make_all(path, marks, n_jobs=1, **deeds):
    """Double the numbers that are not in the file yet; return what there is then."""
    with open_stored(path, KEYS, pack=pack, unpack=unpack, about="doubles") as stored:
        found = stored.read(KEYS)
        calls = {n: (n, str(marks), deeds) for n in KEYS if n not in found}
        with open_pool(n_jobs) as pool:
            made = stored.made(pool, mark_and_double, calls, lost=lambda error: error)
            return found | dict(made)


DOUBLES = {number: 2 * number for number in KEYS}


@pytest.fixture
def marks(tmp_path):
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


def n_made(marks):
    return len(list(marks.iterdir()))


# -- damage ------------------------------------------------------------------------------------------------------------


def spoil(path, change):
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    connection.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE results SET value = substr(value, 1, 40) || x'00' || substr(value, 42)",
        "UPDATE results SET value = 'text'",
        "UPDATE results SET value = 5",
        "UPDATE results SET value = x''",
    ],
    ids=["bit", "text", "number", "nothing"],
)
def test_what_is_damaged_is_made_again_with_a_warning(tmp_path, marks, change):
    path = tmp_path / "file.db"
    assert make_all(path, marks) == DOUBLES
    spoil(path, f"{change} WHERE rowid in (3, 8)")
    with pytest.warns(UserWarning, match=r"file.db' is damaged: 2 of 20 results"):
        assert make_all(path, marks) == DOUBLES
    assert n_made(marks) == N + 2
    assert make_all(path, marks) == DOUBLES
    assert n_made(marks) == N + 2


def test_what_no_result_is_like_is_damaged(tmp_path, marks):
    path = tmp_path / "file.db"
    with open_checkpoint(path) as file:
        file.write({KEYS[0]: {"other": 1}, KEYS[1]: {"result": np.zeros(2)}})
    with pytest.warns(UserWarning, match="2 of 20 results can't be read"):
        assert make_all(path, marks) == DOUBLES
    assert n_made(marks) == N


def checked(content):
    return blake2b(content, digest_size=8).digest() + content


def forged(header, rest=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return checked(len(text).to_bytes(8, "little") + text + rest)


@pytest.mark.parametrize(
    "stored",
    [
        forged({"plain": {}, "arrays": [["a", "|O8", [1]]]}, bytes(8)),
        forged({"plain": {}, "arrays": [["a", "<f8", [2**62]]]}, bytes(8)),
        forged({"plain": {}, "arrays": [["a", "<f8", [-1]]]}, bytes(8)),
        forged({"plain": {}, "arrays": [["a", "<f8", [0, 2**62]]]}),
        forged({"plain": {}, "arrays": [["a", "<U0", [2**40]]]}),
        forged({"plain": {}, "arrays": [["a", "<f8,<f8", [1]]]}, bytes(16)),
        forged({"plain": {}, "arrays": [["a", "<f8", [1]]]}, bytes(9)),
        forged({"plain": {}, "arrays": [[["a"], "<f8", [1]]]}, bytes(8)),
        forged({"plain": {}, "arrays": [["a", ["<f8"], [1]]]}, bytes(8)),
        forged({"plain": 1, "arrays": []}),
        forged(b"[" * 100_000),
        forged(b'{"plain": {"a": ' + b"9" * 5000 + b'}, "arrays": []}'),
        checked((2**63).to_bytes(8, "little") + b"{}"),
        checked(b""),
    ],
)
def test_forged_values_are_damaged(stored):
    with pytest.raises(DamagedError):
        unpacked(stored)


@given(st.data())
def test_no_bytes_are_worse_than_damaged(data):
    whole = packed({"a": np.arange(3), "b": np.array(["x", "yz"]), "c": [1, "d"]})[8:]
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(
            st.integers(0, 255)
        )
    try:
        value = unpacked(checked(bytes(content)))
    except DamagedError:
        return
    assert sum(getattr(item, "nbytes", 0) for item in value.values()) < len(whole)


@pytest.mark.parametrize(
    "harm",
    [
        "CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM results; END",
        "CREATE VIEW v AS SELECT * FROM results",
        "CREATE TABLE other (a)",
        "CREATE INDEX i ON results (value)",
        "DROP TABLE leases",
        "ALTER TABLE results ADD COLUMN c DEFAULT 5",
        "DROP TABLE results; CREATE VIEW results AS WITH RECURSIVE r(key, value) AS "
        "(SELECT 1, 1 UNION ALL SELECT key, value FROM r) SELECT * FROM r",
    ],
)
def test_a_file_made_to_do_harm_is_refused(tmp_path, marks, harm):
    path = tmp_path / "file.db"
    make_all(path, marks)
    for statement in harm.split("; ") if "VIEW results" in harm else [harm]:
        spoil(path, statement)
    with pytest.raises(ValueError, match=r"checkpoint '.*file.db' is damaged, or was"):
        make_all(path, marks)
    assert n_made(marks) == N


def test_rows_of_wrong_types_are_damage(tmp_path, marks):
    path = tmp_path / "file.db"
    make_all(path, marks)
    spoil(path, "UPDATE studies SET keys = 'text'")
    spoil(path, "INSERT INTO leases VALUES (x'00', 'a/b/c/d', 'x')")
    with open_checkpoint(path) as file:
        for read in (file.studies, file.leases):
            with pytest.raises(ValueError, match=r"file.db' .* other types"):
                read()


def test_a_file_of_the_first_version_goes_on(tmp_path, marks):
    path = tmp_path / "file.db"
    make_all(path, marks)
    spoil(path, "DROP TABLE leases")
    spoil(path, "DROP TABLE studies")
    spoil(path, "PRAGMA user_version = 1")
    assert make_all(path, marks) == DOUBLES
    assert n_made(marks) == N


# -- failures ----------------------------------------------------------------------------------------------------------


def test_a_failure_does_not_replace_what_was_made(tmp_path):
    path = tmp_path / "file.db"
    with open_stored(path, KEYS, pack=pack, unpack=unpack) as stored:
        stored.keep(0, ValueError("first"))
        stored.keep(0, ValueError("second"))
        assert stored.read([0]) == {0: "ValueError: second"}
        stored.keep_all({0: 1, 1: 2})
        stored.keep(0, ValueError("third"))
        assert stored.read([0, 1, 2]) == {0: 1, 1: 2}


# -- several processes, and the dead -----------------------------------------------------------------------------------

MAKING = """
import json, sys
from tests.test_store import make_all

sys.stdin.readline()
print(json.dumps(make_all(sys.argv[1], sys.argv[2], **json.loads(sys.argv[3]))))
"""


def start(path, marks, **options):
    command = [sys.executable, "-W", "error", "-c", MAKING, path, marks]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen([*command, json.dumps(options)], cwd=ROOT, **pipes)


posix = pytest.mark.skipif(os.name != "posix", reason="processes are asked by signals")


@posix
def test_processes_that_start_together_share_the_work(tmp_path, marks):
    both = [start(tmp_path / "file.db", marks, seconds=0.2) for _ in range(2)]
    results = [process.communicate("go\n", timeout=300)[0] for process in both]
    for result in results:
        assert json.loads(result) == {str(n): double for n, double in DOUBLES.items()}
    assert n_made(marks) == N


@posix
def test_what_was_under_way_when_a_process_died_is_made_last_and_alone(tmp_path, marks):
    path = tmp_path / "file.db"
    first = start(path, marks, fatal=7)
    first.communicate("go\n", timeout=300)
    assert first.returncode == -signal.SIGKILL
    assert n_made(marks) == 8
    found = make_all(path, marks, fatal=7)
    assert found.pop(7).args == ("the process that made the run was ended by SIGKILL",)
    assert found == {n: double for n, double in DOUBLES.items() if n != 7}
    # It was the last one, in a process of its own, and has failed for good.
    latest = max(marks.iterdir(), key=lambda mark: int(mark.name.partition("-")[0]))
    assert latest.name.split("-")[1] == "7"
    assert latest.name.split("-")[2] != str(os.getpid())
    n_before = n_made(marks)
    assert make_all(path, marks, fatal=7)[7].startswith("DiedError: the process")
    assert n_made(marks) == n_before == N + 1


@posix
def test_what_a_stopped_process_holds_is_waited_for(tmp_path, marks):
    path = tmp_path / "file.db"
    other = start(path, marks, seconds=0.1)
    other.stdin.write("go\n")
    other.stdin.flush()
    while n_made(marks) < 3:
        time.sleep(0.01)
    assert make_all(path, marks, seconds=0.1) == DOUBLES
    other.communicate(timeout=300)
    assert n_made(marks) == N


def test_an_interrupt_leaves_nothing_begun(tmp_path, marks):
    path = tmp_path / "file.db"
    with pytest.raises(KeyboardInterrupt):
        make_all(path, marks, interrupt=5)
    with open_checkpoint(path) as file:
        assert file.leases() == []
        assert len(list(file.keys())) == 5
    assert make_all(path, marks) == DOUBLES
    assert n_made(marks) == N + 1

"""The file of results: what comes back, what is refused, and several processes at once."""

import os
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from skstab._engine.checkpoint import open_checkpoint
from skstab._engine.values import packed, unpacked

ROOT = Path(__file__).parents[1]
VALUE = {"indices": np.arange(5, dtype=np.int32), "text": "a", "score": 0.1 + 0.2}

# -- values ------------------------------------------------------------------------------------------------------------

DTYPES = st.sampled_from([np.bool_, np.int32, np.int64, np.float32, np.float64])
ARRAYS = DTYPES.flatmap(
    lambda dtype: arrays(
        dtype, array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=4)
    )
)
PLAIN = (
    st.none()
    | st.text()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.lists(st.text())
)


@given(st.dictionaries(st.text(), ARRAYS | PLAIN))
def test_what_comes_back_is_what_was_stored(value):
    back = unpacked(packed(value))
    assert back.keys() == value.keys()
    for name, item in value.items():
        assert type(back[name]) is type(item)
        if isinstance(item, np.ndarray):
            assert back[name].dtype == item.dtype
            np.testing.assert_array_equal(back[name], item)
            assert back[name].flags.writeable
        else:
            assert back[name] == item


def test_values_are_found_by_their_keys(tmp_path):
    path = tmp_path / "results"
    with open_checkpoint(path) as file:
        assert file.read([b"a"]) == ({}, {})
        file.write({b"a": VALUE, b"c": {"other": 1}})
    with open_checkpoint(str(path)) as file:
        found, _ = file.read([b"b", b"a"])
    assert found.keys() == {b"a"}
    assert found[b"a"]["score"] == VALUE["score"]
    assert os.listdir(tmp_path) == ["results"]


# -- files that are refused --------------------------------------------------------------------------------------------


def stored(path, n_values=200):
    with open_checkpoint(path) as file:
        for number in range(n_values):
            file.write({b"%d" % number: VALUE})
    return path


def read_all(path):
    with open_checkpoint(path) as file:
        return file.read([b"%d" % number for number in range(200)])[0]


def other_database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE results (a)")
    connection.close()


def newer(path):
    with sqlite3.connect(stored(path)) as connection:
        connection.execute("PRAGMA user_version = 3")
    connection.close()


def half(path):
    whole = stored(path).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def with_a_wrong_byte(path):
    whole = stored(path).read_bytes()
    path.write_bytes(whole.replace(b'"text": "a"', b'"text": "b"'))


def with_text_instead_of_bytes(path):
    with sqlite3.connect(stored(path)) as connection:
        connection.execute("UPDATE results SET value = 'text'")
    connection.close()


def with_a_table_of_no_name(path):
    path.write_bytes(
        stored(path).read_bytes().replace(b"resultsresults", b"\xe5\xe5sultsresults")
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda path: path.write_bytes(b"a table of numbers\n" * 100),
            "is not a file of skstab, or is damaged",
        ),
        (other_database, "is a database of something else"),
        (newer, "has version 3 of the format"),
        (half, "damaged"),
        (with_a_table_of_no_name, "is not a file of skstab, or is damaged"),
        (lambda path: path.write_bytes(b"1"), "is not a file of skstab"),
    ],
    ids=["text", "other", "newer", "half", "name", "short"],
)
def test_a_damaged_or_foreign_file_is_an_error_that_names_it(tmp_path, spoil, message):
    path = tmp_path / "mine.db"
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=rf"checkpoint '.*mine.db'.*{message}"):
        read_all(path)
    assert path.read_bytes() == before


def test_places_where_no_file_can_be(tmp_path):
    with pytest.raises(OSError, match=r"directory that exists, got '.*nowhere/file'"):
        read_all(tmp_path / "nowhere" / "file")
    with pytest.raises(OSError, match=f"'{tmp_path}' can't be used"):
        read_all(tmp_path)
    with pytest.raises(OSError, match=r"checkpoint 'a+' can't be used"):
        read_all("a" * 5000)
    for name in ("", "a\0b"):
        with pytest.raises(ValueError, match="checkpoint must be the name of a file"):
            read_all(name)


def test_names_with_a_meaning_in_sqlite_are_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(read_all(stored(":memory:"))) == 200
    assert os.listdir(tmp_path) == [":memory:"]


def test_errors_of_other_databases_are_left_alone(tmp_path):
    with (
        pytest.raises(sqlite3.OperationalError, match="no such table: theirs"),
        open_checkpoint(tmp_path / "file"),
    ):
        sqlite3.connect(":memory:").execute("SELECT * FROM theirs")


def test_a_file_of_no_bytes_is_as_good_as_none(tmp_path):
    path = tmp_path / "file"
    path.touch()
    assert len(read_all(stored(path))) == 200


# -- several processes -------------------------------------------------------------------------------------------------

WRITING = """
import sys
from skstab._engine.checkpoint import open_checkpoint

sys.stdin.readline()
for number in range(40):
    with open_checkpoint(sys.argv[1]) as file:
        file.write({f"{sys.argv[2]} {number}".encode(): {"number": number}})
        file.write({f"all {number}".encode(): {"number": number}})
"""


def test_several_processes_make_and_fill_one_file(tmp_path):
    path = tmp_path / "file"
    commands = [
        [sys.executable, "-W", "error", "-c", WRITING, path, str(number)]
        for number in range(3)
    ]
    writers = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, text=True)
        for command in commands
    ]
    for writer in writers:
        writer.stdin.write("now\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=300)
        assert writer.returncode == 0
    with open_checkpoint(path) as file:
        keys = [
            f"{name} {number}".encode()
            for name in ("0", "1", "2", "all")
            for number in range(40)
        ]
        found, _ = file.read(keys)
    assert [found[key]["number"] for key in keys] == [*range(40)] * 4


def test_a_file_may_be_made_by_another_process_while_it_is_looked_at(
    tmp_path, monkeypatch
):
    others = []

    class Slow(sqlite3.Connection):
        def execute(self, statement, *args):
            if statement == "PRAGMA user_version" and not others:
                others.append(Thread(target=stored, args=(tmp_path / "file", 3)))
                others[0].start()
                others[0].join(1)  # it may have to wait for this process
            return super().execute(statement, *args)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Slow))
    with open_checkpoint(tmp_path / "file") as file:
        file.write({b"mine": VALUE})
    others[0].join()
    assert len(read_all(tmp_path / "file")) == 3

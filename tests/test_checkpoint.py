"""The file of results: what comes back, what is refused, and several processes at once."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso

from skstab._checkpoint import _pack, _unpack, digest_of, open_checkpoint

ROOT = Path(__file__).parents[1]
VALUE = {"indices": np.arange(5, dtype=np.int32), "text": "a", "score": 0.1 + 0.2}

# -- values ------------------------------------------------------------------------------------------------------------

DTYPES = st.sampled_from([np.bool_, np.int32, np.int64, np.float32, np.float64])
ARRAYS = DTYPES.flatmap(lambda dtype: arrays(dtype, array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=4)))
PLAIN = st.none() | st.text() | st.integers() | st.floats(allow_nan=False) | st.lists(st.text())


@given(st.dictionaries(st.text(), ARRAYS | PLAIN))
def test_what_comes_back_is_what_was_stored(value):
    back = _unpack(_pack(value), "file")
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
        assert file.read([b"a"]) == {}
        file.write(b"a", VALUE)
        file.write(b"a", {"other": 1})
    with open_checkpoint(str(path)) as file:
        found = file.read([b"b", b"a"])
    assert found.keys() == {b"a"}
    assert found[b"a"]["score"] == VALUE["score"]
    assert os.listdir(tmp_path) == ["results"]


# -- files that are refused --------------------------------------------------------------------------------------------


def stored(path, n_values=200):
    with open_checkpoint(path) as file:
        for number in range(n_values):
            file.write(b"%d" % number, VALUE)
    return path


def read_all(path):
    with open_checkpoint(path) as file:
        return file.read([b"%d" % number for number in range(200)])


def other_database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE results (a)")
    connection.close()


def newer(path):
    with sqlite3.connect(stored(path)) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()


def half(path):
    whole = stored(path).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def with_a_wrong_byte(path):
    whole = stored(path).read_bytes()
    path.write_bytes(whole.replace(b'"text": "a"', b'"text": "b"'))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(b"a table of numbers\n" * 100), "is not a file of skstab, or is damaged"),
        (other_database, "is a database of something else"),
        (newer, "has version 2 of the format"),
        (half, "damaged"),
        (with_a_wrong_byte, "is damaged: one of its results"),
    ],
    ids=["text", "other", "newer", "half", "byte"],
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


def test_a_file_of_no_bytes_is_as_good_as_none(tmp_path):
    path = tmp_path / "file"
    path.touch()
    assert len(read_all(stored(path))) == 200


# -- several processes -------------------------------------------------------------------------------------------------

WRITING = """
import sys
from skstab._checkpoint import open_checkpoint

sys.stdin.readline()
for number in range(40):
    with open_checkpoint(sys.argv[1]) as file:
        file.write(f"{sys.argv[2]} {number}".encode(), {"number": number})
        file.write(f"all {number}".encode(), {"number": number})
"""


def test_several_processes_make_and_fill_one_file(tmp_path):
    path = tmp_path / "file"
    commands = [[sys.executable, "-W", "error", "-c", WRITING, path, str(number)] for number in range(3)]
    writers = [subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, text=True) for command in commands]
    for writer in writers:
        writer.stdin.write("now\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=300)
        assert writer.returncode == 0
    with open_checkpoint(path) as file:
        keys = [f"{name} {number}".encode() for name in ("0", "1", "2", "all") for number in range(40)]
        found = file.read(keys)
    assert [found[key]["number"] for key in keys] == [*range(40)] * 4


# -- keys --------------------------------------------------------------------------------------------------------------


def tables():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4))
    frame = pd.DataFrame(X, columns=list("abcd"))
    yield X
    yield X.astype(np.float32)
    yield np.arange(20)
    yield np.array(["no", "yes"] * 10)
    yield frame
    yield frame.assign(d=["u", "v"] * 10)
    yield frame.assign(d=pd.Categorical(["u", "v"] * 10))
    yield pd.Series(["no", "yes"] * 10)
    yield csr_array(rng.random((20, 4)) * (rng.random((20, 4)) < 0.5))


def changed(table, at):
    """Change one entry."""
    if isinstance(table, csr_array):
        other = table.copy()
        other.data[at % other.nnz] += 1
        return other
    if isinstance(table, pd.DataFrame):
        other = table.copy()
        other.iloc[at, 0] += 1
        return other
    other = np.array(table)
    other[at] = other[at - 1] if other.dtype.kind in "OU" else other[at] + 1
    return other if isinstance(table, np.ndarray) else pd.Series(other)


@pytest.mark.parametrize("table", list(tables()), ids=lambda table: f"{type(table).__name__}")
def test_keys_know_every_row(table):
    key = digest_of(X=table)
    assert digest_of(X=table.copy()) == key
    assert key not in {digest_of(X=changed(table, at)) for at in range(20)}
    assert digest_of(y=table) != key


def test_keys_know_names_forms_and_parameters():
    X = np.arange(6.0).reshape(2, 3)
    frame = pd.DataFrame(X, columns=list("abc"))
    values = (
        X,
        X.T,
        X.ravel(),
        frame,
        frame.rename(columns={"c": "d"}),
        frame.astype({"a": int}),
        Lasso(),
        Lasso(2.0),
        None,
    )
    assert len({digest_of(value=value) for value in values}) == len(values)
    assert digest_of(value=np.asfortranarray(X)) == digest_of(value=X)
    assert digest_of(value=Lasso(2.0)) == digest_of(value=Lasso(alpha=2.0))


def test_what_has_no_key_is_an_error_that_names_it():
    with pytest.raises(ValueError, match=r"checkpoint can't be used with this scoring.*can't be pickled"):
        digest_of(X=np.ones(3), scoring=lambda: 1)

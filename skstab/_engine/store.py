"""Results in an SQLite file: stored as they arrive, and found again by their keys (see `keys`).

A value is a flat mapping of names to arrays, text, numbers and lists of them. It is stored as a header in JSON and the
bytes of the arrays; nothing in a file is ever executed.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

__all__ = ["Checkpoint", "Stored", "open_checkpoint", "open_stored"]

Result = TypeVar("Result")

_APPLICATION = 0x736B7374  # "skst", by which a file is known as one of these
_VERSION = 1
_PATIENCE = 60.0  # seconds to wait while other processes write
_CHECK = 8  # bytes of the digest in front of each value


@contextmanager
def open_checkpoint(path: str | PathLike[str]) -> Iterator[Checkpoint]:
    """Open a file of results, which is made where there is none.

    Parameters
    ----------
    path : str or path-like
        The file.
    """
    name = os.fspath(path)
    with closing(_connected(name)) as connection:
        yield Checkpoint(connection, name)


def _connected(name: str) -> sqlite3.Connection:
    _check_place(name)
    with _errors_named(name):
        # The whole path: SQLite has meanings of its own for names such as ":memory:".
        connection = sqlite3.connect(
            Path(name).absolute(), timeout=_PATIENCE, isolation_level=None
        )
        try:
            _prepare(connection, name)
        except BaseException:
            connection.close()
            raise
    return connection


class Checkpoint:
    """An open file of results; several processes may have it open.

    Parameters
    ----------
    connection : sqlite3.Connection
        The open file; every statement is a transaction.
    name : str
        Its name, for messages.
    """

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection = connection
        self._name = name

    def read(self, keys: Iterable[bytes]) -> dict[bytes, dict[str, Any]]:
        """Read the values of those keys that are there."""
        found: dict[bytes, dict[str, Any]] = {}
        for key in keys:
            with _errors_named(self._name):
                row = self._connection.execute(
                    "SELECT value FROM results WHERE key = ?", (key,)
                ).fetchone()
            if row is not None:
                found[key] = _unpack(row[0], self._name)
        return found

    def write(self, key: bytes, value: Mapping[str, Any]) -> None:
        """Store a value; that of another process with the same key is as good."""
        row = (key, _pack(value))
        with _errors_named(self._name):
            self._connection.execute(
                "INSERT OR IGNORE INTO results (key, value) VALUES (?, ?)", row
            )


# -- the results of numbered calls -------------------------------------------------------------------------------------


@contextmanager
def open_stored(
    path: str | PathLike[str] | None,
    keys: Mapping[int, bytes],
    *,
    pack: Callable[[Result], Mapping[str, Any] | None],
    unpack: Callable[[Mapping[str, Any]], Result],
) -> Iterator[Stored[Result]]:
    """Open the results of one fit in a checkpoint; None is one that has and keeps nothing.

    Parameters
    ----------
    path : str, path-like or None
        The file.
    keys : mapping of int to bytes
        The key of each call, by its number.
    pack : callable
        Returns the value that is stored of a result; None where it is to be made again next time.
    unpack : callable
        Returns the result of a value.
    """
    if path is None:
        yield Stored(None, keys, pack, unpack)
        return
    with open_checkpoint(path) as checkpoint:
        yield Stored(checkpoint, keys, pack, unpack)


class Stored(Generic[Result]):
    """The results of one fit in an open checkpoint; see `open_stored`."""

    def __init__(
        self,
        checkpoint: Checkpoint | None,
        keys: Mapping[int, bytes],
        pack: Callable[[Result], Mapping[str, Any] | None],
        unpack: Callable[[Mapping[str, Any]], Result],
    ) -> None:
        self._checkpoint = checkpoint
        self._keys = keys
        self._pack = pack
        self._unpack = unpack

    def read(self, numbers: Iterable[int]) -> dict[int, Result]:
        """Read those results that are there."""
        if self._checkpoint is None:
            return {}
        keys = {number: self._keys[number] for number in numbers}
        found = self._checkpoint.read(set(keys.values()))
        return {
            number: self._unpack(found[key])
            for number, key in keys.items()
            if key in found
        }

    def keeping(
        self, results: Iterable[tuple[int, Result]]
    ) -> Iterator[tuple[int, Result]]:
        """Store results as they arrive."""
        for number, result in results:
            yield (
                number,
                result,
            )  # first, so that whoever takes it has it also where the disk is full
            self.keep(number, result)

    def keep(self, number: int, result: Result) -> None:
        """Store a result, unless it is to be made again."""
        if self._checkpoint is not None and (value := self._pack(result)) is not None:
            self._checkpoint.write(self._keys[number], value)


# -- the file ----------------------------------------------------------------------------------------------------------


def _check_place(name: str) -> None:
    if not name or "\0" in name:
        raise ValueError(f"checkpoint must be the name of a file, got {name!r}")
    if not Path(name).absolute().parent.is_dir():
        raise FileNotFoundError(
            f"checkpoint must be a file in a directory that exists, got {name!r}"
        )
    if os.path.exists(name) and not os.path.isfile(name):
        raise OSError(f"checkpoint {name!r} can't be used: it is not a file")
    if (
        os.path.exists(name) and os.path.getsize(name) == 1
    ):  # which SQLite takes for empty, and would write over
        raise ValueError(
            f"checkpoint {name!r} is not a file of skstab: it has one byte"
        )


@contextmanager
def _errors_named(name: str) -> Iterator[None]:
    """Name the file in errors of SQLite; only around its own calls, since estimators may use other databases."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise OSError(f"checkpoint {name!r} can't be used: {error}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise ValueError(
            f"checkpoint {name!r} is not a file of skstab, or is damaged: {error}"
        ) from error


def _prepare(connection: sqlite3.Connection, name: str) -> None:
    """Check that a file is one of these, or make it one where it is empty."""
    connection.execute("BEGIN")  # one look: another process may be making the file
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    connection.execute("COMMIT")
    if application == 0 and not tables:
        _make(connection)
    elif application != _APPLICATION or "results" not in tables:
        raise ValueError(
            f"checkpoint {name!r} is not a file of skstab: it is a database of something else"
        )
    elif version > _VERSION:
        raise ValueError(
            f"checkpoint {name!r} has version {version} of the format, but this release of skstab reads only up to "
            f"version {_VERSION}: use a newer release"
        )
    # A killed process loses nothing that was written, a power failure the last results.
    connection.execute("PRAGMA synchronous = NORMAL")


def _make(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = OFF")  # there is nothing to lose yet
    _patiently(connection, "PRAGMA journal_mode = WAL")
    _patiently(connection, "BEGIN IMMEDIATE")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
    )
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")
    connection.execute("COMMIT")


def _patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Repeat a statement while another process makes the same file: SQLite does not wait for this lock."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


# -- a value -----------------------------------------------------------------------------------------------------------


def _pack(value: Mapping[str, Any]) -> bytes:
    arrays = {
        name: np.ascontiguousarray(item)
        for name, item in value.items()
        if isinstance(item, np.ndarray)
    }
    plain = {name: item for name, item in value.items() if name not in arrays}
    described = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
    header = json.dumps({"plain": plain, "arrays": described}).encode()
    packed = b"".join(
        [
            len(header).to_bytes(8, "little"),
            header,
            *(array.tobytes() for array in arrays.values()),
        ]
    )
    return _check_of(packed) + packed


def _unpack(stored: Any, name: str) -> dict[str, Any]:
    if not isinstance(stored, bytes) or _check_of(stored[_CHECK:]) != stored[:_CHECK]:
        raise ValueError(
            f"checkpoint {name!r} is damaged: one of its results is not as it was written"
        )
    packed = stored[_CHECK:]
    start = 8 + int.from_bytes(packed[:8], "little")
    header = json.loads(packed[8:start])
    value: dict[str, Any] = header["plain"]
    for field, dtype, shape in header["arrays"]:
        array = np.frombuffer(packed, dtype, int(np.prod(shape)), start).reshape(shape)
        value[field], start = array.copy(), start + array.nbytes
    return value


def _check_of(packed: bytes) -> bytes:
    return blake2b(packed, digest_size=_CHECK).digest()

"""An SQLite file of results: what is stored, who is making what is missing, and what was asked for.

Nothing in a file is ever executed: it has these tables and nothing else, or it is refused.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from threading import RLock
from typing import Any, Literal, NamedTuple

from skstab._engine.owners import is_at_work
from skstab._engine.values import DamagedError, packed, unpacked

__all__ = [
    "Checkpoint",
    "Lease",
    "Study",
    "failure_of",
    "has_our_tables",
    "open_checkpoint",
]

_APPLICATION = 0x736B7374  # "skst", by which a file is known as one of these
_VERSION = 2
_PATIENCE = 60.0  # seconds to wait while other processes write
_KEY = 16  # bytes of a key
_TABLES = {
    "results": "(key BLOB PRIMARY KEY, value BLOB NOT NULL)",
    "leases": "(key BLOB PRIMARY KEY, owner TEXT NOT NULL, since REAL NOT NULL)",
    "studies": "(id BLOB PRIMARY KEY, about TEXT NOT NULL, keys BLOB NOT NULL, begun REAL NOT NULL)",
}
_LISTED = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_FIRST_VERSION = {"results"}  # the tables of version 1


def failure_of(value: Mapping[str, Any]) -> str | None:
    """Why the run of a stored value failed; None where it did not."""
    return value.get("fit_error")


class Lease(NamedTuple):
    """A result that a process has begun to make."""

    key: bytes
    owner: str
    since: float

    @property
    def holds(self) -> bool:
        """Whether that process is still at work."""
        return is_at_work(self.owner, self.since)


class Study(NamedTuple):
    """What was asked for at once: a line about it, the keys of its results, and when it began."""

    about: str
    keys: list[bytes]
    begun: float


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
        # Workers are fed from several threads, which take turns.
        connection = sqlite3.connect(
            Path(name).absolute(),
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
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
        The open file; every statement outside of `_writing` is a transaction.
    name : str
        Its name, for messages.
    """

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection, self.name = connection, name
        self._lock = RLock()

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        with self._lock, _errors_named(self.name):
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction, which no other process comes between."""
        with self._lock:
            self._execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._connection.in_transaction:  # SQLite may have given up itself
                    self._execute("ROLLBACK")
                raise
            self._execute("COMMIT")

    # -- results -------------------------------------------------------------------------------------------------------

    def read(
        self, keys: Iterable[bytes]
    ) -> tuple[dict[bytes, dict[str, Any]], dict[bytes, DamagedError]]:
        """Read the values of those keys that are there; and why others can't be read."""
        found: dict[bytes, dict[str, Any]] = {}
        damaged: dict[bytes, DamagedError] = {}
        for key in keys:
            for (stored,) in self._execute(
                "SELECT value FROM results WHERE key = ?", key
            ):
                try:
                    found[key] = unpacked(stored)
                except DamagedError as error:
                    damaged[key] = error
        return found, damaged

    def write(self, values: Mapping[bytes, Mapping[str, Any]]) -> None:
        """Store values, all or none; they are no longer being made.

        A failure never takes the place of a result that another process has made.
        """
        with self._writing():
            for key, value in values.items():
                if failure_of(value) is None or not self._is_done(key):
                    self._execute(
                        "INSERT OR REPLACE INTO results VALUES (?, ?)",
                        key,
                        packed(value),
                    )
                self._execute("DELETE FROM leases WHERE key = ?", key)

    def _is_done(self, key: bytes) -> bool:
        found, _ = self.read([key])
        return key in found and failure_of(found[key]) is None

    def forget(self, keys: Iterable[bytes]) -> None:
        """Remove results."""
        with self._writing():
            for key in keys:
                self._execute("DELETE FROM results WHERE key = ?", key)

    def keys(self) -> Iterator[bytes]:
        """The keys of all results; an error where a damaged file would give them for ever."""
        most = os.path.getsize(self.name) // _KEY + 1000
        with _errors_named(self.name):
            rows = self._connection.execute("SELECT key FROM results ORDER BY rowid")
            for n_rows, (key,) in enumerate(rows):
                if n_rows > most:
                    raise sqlite3.DatabaseError("it has more rows than fit into it")
                yield key

    # -- leases: what is being made ------------------------------------------------------------------------------------

    def claim(
        self, keys: Iterable[bytes], owner: str, *, left_by_the_dead: bool
    ) -> Literal["ours", "theirs", "left"]:
        """Note that an owner makes results, unless another one does.

        Parameters
        ----------
        keys : iterable of bytes
            The results.
        owner : str
            Who makes them.
        left_by_the_dead : bool
            Whether also those are taken over that were being made when their process died.

        Returns
        -------
        state : {"ours", "theirs", "left"}
            Whether they are noted, are being made by others, or were left by the dead.
        """
        with self._writing():
            for key in keys:
                for lease in self._leases("WHERE key = ? AND owner != ?", key, owner):
                    if lease.holds:
                        return "theirs"
                    if not left_by_the_dead:
                        return "left"
            for key in keys:
                row = Lease(key, owner, time.time())
                self._execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", *row)
        return "ours"

    def release(self, owner: str) -> None:
        """Note that an owner makes nothing any more."""
        self._execute("DELETE FROM leases WHERE owner = ?", owner)

    def leases(self) -> list[Lease]:
        """Everything that is being made, or was when its process died."""
        return self._leases("LIMIT 100000")

    def _leases(self, which: str, *values: Any) -> list[Lease]:
        rows = self._execute(f"SELECT key, owner, since FROM leases {which}", *values)
        return [Lease(*row) for row in self._typed(rows, bytes, str, float)]

    # -- studies: what was asked for -----------------------------------------------------------------------------------

    def begin(self, about: str, keys: Iterable[bytes]) -> None:
        """Note what is asked for."""
        joined = b"".join(keys)
        own = blake2b(about.encode() + joined, digest_size=_KEY).digest()
        row = (own, about, joined, time.time())
        self._execute("INSERT OR REPLACE INTO studies VALUES (?, ?, ?, ?)", *row)

    def studies(self) -> list[Study]:
        """What was asked for, the first one first."""
        rows = self._execute(
            "SELECT about, keys, begun FROM studies ORDER BY begun LIMIT 1000"
        )
        return [
            Study(about, _separated(joined), begun)
            for about, joined, begun in self._typed(rows, str, bytes, float)
        ]

    def _typed(self, rows: list[Any], *types: type) -> list[Any]:
        """Rows whose values have the types with which they are written."""
        with _errors_named(self.name):
            if any(tuple(map(type, row)) != types for row in rows):
                raise sqlite3.DatabaseError("a row has other types than it should")
        return rows


def _separated(joined: bytes) -> list[bytes]:
    return [joined[at : at + _KEY] for at in range(0, len(joined), _KEY)]


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
    if os.path.exists(name) and os.path.getsize(name) == 1:
        # SQLite takes it for empty, and would write over it.
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
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        raise ValueError(
            f"checkpoint {name!r} is not a file of skstab, or is damaged: {error}; "
            f"skstab study {name} --repair keeps what can still be read"
        ) from error


def _prepare(connection: sqlite3.Connection, name: str) -> None:
    """Check that a file is one of these, or make it one where it is empty."""
    # Before anything else is read: a file may come from anybody.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.text_factory = lambda text: text.decode("utf-8", errors="replace")
    connection.execute("BEGIN")  # one look: another process may be making the file
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    found = set(connection.execute(_LISTED).fetchmany(100))
    connection.execute("COMMIT")
    if application == 0 and not found:
        connection.execute("PRAGMA synchronous = OFF")  # there is nothing to lose yet
        _make(connection, _TABLES)
    elif application != _APPLICATION:
        raise ValueError(
            f"checkpoint {name!r} is not a file of skstab: it is a database of something else"
        )
    elif version > _VERSION:
        raise ValueError(
            f"checkpoint {name!r} has version {version} of the format, but this release of skstab reads only up to "
            f"version {_VERSION}: use a newer release"
        )
    elif version == 1 and found == _schema(_FIRST_VERSION):
        _make(connection, _TABLES.keys() - _FIRST_VERSION)
    elif found != _schema(_TABLES):
        raise ValueError(
            f"checkpoint {name!r} is damaged, or was made to do harm: it has other tables, views or triggers than "
            "those of skstab"
        )
    # A killed process loses nothing that was written, a power failure the last results.
    connection.execute("PRAGMA synchronous = NORMAL")


def has_our_tables(path: str) -> bool:
    """Whether a file, which may be damaged, has the tables of these files and nothing else."""
    with closing(sqlite3.connect(Path(path).absolute())) as connection:
        try:
            found = connection.execute(_LISTED).fetchmany(100)
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            return False
        return set(found) in (_schema(_TABLES), _schema(_FIRST_VERSION))


def _schema(tables: Iterable[str]) -> set[tuple[str, str, str, str | None]]:
    """What SQLite lists of a file with some of the tables."""
    listed: set[tuple[str, str, str, str | None]] = set()
    for table in tables:
        index = f"sqlite_autoindex_{table}_1"
        listed.add(("table", table, table, f"CREATE TABLE {table} {_TABLES[table]}"))
        listed.add(("index", index, table, None))
    return listed


def _make(connection: sqlite3.Connection, tables: Iterable[str]) -> None:
    _patiently(connection, "PRAGMA journal_mode = WAL")
    _patiently(connection, "BEGIN IMMEDIATE")
    for table in tables:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} {_TABLES[table]}")
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

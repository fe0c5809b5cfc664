"""What can still be read of a damaged file of results."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from skstab._engine.checkpoint import Checkpoint, has_our_tables, open_checkpoint
from skstab._engine.values import DamagedError, unpacked

__all__ = ["repair"]

_SIDE_FILES = ("", "-wal", "-shm")  # what SQLite may have beside a database


def repair(path: str) -> tuple[int, str | None]:
    """Remove what can't be read from a file of results.

    Parameters
    ----------
    path : str
        The file, which no other process may use meanwhile.

    Returns
    -------
    n_removed : int
        Number of results that were there and can't be read.
    kept : str or None
        Where the damaged file is kept, if a new one had to be made.
    """
    try:
        with open_checkpoint(path) as file:
            return _remove_damaged(file), None
    except ValueError:
        if not has_our_tables(path):
            raise
    kept = f"{path}.damaged"
    if os.path.exists(kept):
        raise OSError(f"{kept!r} is in the way, where the damaged file would be kept")
    rows, n_damaged = _readable_rows(path)
    new = f"{path}.repaired"
    Path(new).unlink(missing_ok=True)
    with open_checkpoint(new) as file:
        file.write(rows)
    for suffix in _SIDE_FILES:
        with suppress(FileNotFoundError):
            os.rename(path + suffix, kept + suffix)
    os.rename(new, path)
    return n_damaged, kept


def _remove_damaged(file: Checkpoint) -> int:
    damaged = [key for key in list(file.keys()) if file.read([key])[1]]
    file.forget(damaged)
    return len(damaged)


def _readable_rows(path: str) -> tuple[dict[bytes, dict[str, Any]], int]:
    """The results before the first and after the last page that is damaged; how many others were found."""
    rows: dict[bytes, dict[str, Any]] = {}
    n_damaged = 0
    with closing(sqlite3.connect(Path(path).absolute())) as connection:
        connection.text_factory = bytes
        for direction in ("ASC", "DESC"):
            for key, stored in _until_damage(connection, direction):
                if key in rows:
                    break
                try:
                    rows[key] = unpacked(stored)
                except DamagedError:
                    n_damaged += 1
    return rows, n_damaged


def _until_damage(
    connection: sqlite3.Connection, direction: str
) -> Iterator[tuple[bytes, Any]]:
    with suppress(sqlite3.DatabaseError):
        yield from connection.execute(
            f"SELECT key, value FROM results ORDER BY rowid {direction}"
        )

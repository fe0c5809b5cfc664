"""Files that commands write: nothing but an earlier report is replaced, and that one whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from skstab._engine.checkpoint import open_checkpoint
from skstab._report.words import UserError

_MARK = b'<meta name="generator" content="skstab'
_HEAD = 4096


def check_output(path: Path, source: str | None = None) -> None:
    """Find out before a long run whether a file can be written."""
    if path.is_dir():
        raise UserError(f"{str(path)!r} is a folder: --output must be a file")
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {str(path.parent)!r} to write into")
    if not os.access(path.resolve().parent, os.W_OK):
        raise UserError(
            f"{str(path.parent)!r} can't be written into: --output must be in a folder of yours"
        )
    if (
        source is not None
        and path.exists()
        and Path(source).exists()
        and path.samefile(source)
    ):
        raise UserError(
            f"--output {str(path)!r} is the table itself, which is never replaced"
        )
    if path.exists() and not is_report(path):
        raise UserError(
            f"{str(path)!r} exists and is not an earlier report: it is not replaced; choose another --output"
        )


def is_report(path: Path) -> bool:
    """Whether a file is a report of skstab."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as stream:
            return _MARK in stream.read(_HEAD)
    except OSError as error:
        raise UserError(f"{str(path)!r} can't be read: {error.strerror}") from error


def check_checkpoint(path: str | None) -> None:
    """Find out whether a file of results can be opened."""
    if path is None:
        return
    try:
        with open_checkpoint(path):
            pass
    except (OSError, ValueError) as error:
        raise UserError(f"--checkpoint {path!r} can't be used: {error}") from error


def write(path: Path, text: str, *, spare: str | None = None) -> None:
    """Write a file under a temporary name, and rename it when it is complete.

    Where that fails, the text is kept beside the file `spare`, or in the folder of temporary files.
    """
    check_output(path)
    data = text.encode("utf-8", errors="replace")
    try:
        _replace(path.resolve(), data)
    except OSError as error:
        reason = f"{str(path)!r} can't be written: {error.strerror or error}"
        raise UserError(f"{reason}; {_kept(path.name, data, spare)}") from error


def _kept(name: str, data: bytes, spare: str | None) -> str:
    """Keep what can't be written where it should be; say where."""
    folder = (
        Path(tempfile.gettempdir()) if spare is None else Path(spare).absolute().parent
    )
    try:
        handle, place = tempfile.mkstemp(
            prefix=f"{Path(name).stem[:50]}-", suffix=".html", dir=folder
        )
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
    except OSError:
        return f"nor can it be kept in {str(folder)!r}"
    return f"the report is kept as {place!r}"


def _replace(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(
        prefix=f".{target.name[:50]}-", suffix=".tmp", dir=target.parent
    )
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(_mode(target))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _mode(target: Path) -> int:
    """Permissions of the file to replace, or of a new one."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

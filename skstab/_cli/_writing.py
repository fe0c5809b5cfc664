"""Files that commands write: nothing but an earlier report is replaced, and that one whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from skstab._cli._terminal import UserError

_MARK = b'<meta name="generator" content="skstab'
_HEAD = 4096


def check_output(path: Path, source: str | None = None) -> None:
    """Find out before a long run whether a file can be written."""
    if path.is_dir():
        raise UserError(f"{str(path)!r} is a folder: --output must be a file")
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {str(path.parent)!r} to write into")
    if not os.access(path.resolve().parent, os.W_OK):
        raise UserError(f"{str(path.parent)!r} can't be written into: --output must be in a folder of yours")
    if source is not None and path.exists() and Path(source).exists() and path.samefile(source):
        raise UserError(f"--output {str(path)!r} is the table itself, which is never replaced")
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


def write(path: Path, text: str) -> None:
    """Write a file under a temporary name, and rename it when it is complete."""
    check_output(path)
    target = path.resolve()
    try:
        _replace(target, text.encode("utf-8", errors="replace"))
    except OSError as error:
        raise UserError(f"{str(path)!r} can't be written: {error.strerror or error}") from error


def _replace(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:50]}-", suffix=".tmp", dir=target.parent)
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

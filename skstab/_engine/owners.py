"""Which process has begun a run, and whether it still lives."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import time
from uuid import uuid4

__all__ = ["is_at_work", "one_owner"]

_LONGEST = (
    3600.0  # seconds for which others wait for a run, which may have been stopped
)

_here: set[str] = set()  # those of this process


@contextmanager
def one_owner() -> Iterator[str]:
    """The name of an owner: machine, process, when that started, and a part of its own."""
    pid = os.getpid()
    owner = f"{platform.node()}/{pid}/{_start_of(pid)}/{uuid4().hex}"
    _here.add(owner)
    try:
        yield owner
    finally:
        _here.discard(owner)


def is_at_work(owner: str, since: float) -> bool:
    """Whether an owner is still busy with what it has begun."""
    machine, _, rest = owner.rpartition("/")[0].partition("/")
    pid, _, start = rest.partition("/")
    if machine != platform.node() or not re.fullmatch(r"[0-9]{1,9}", pid):
        return False
    if abs(time() - since) > _LONGEST:
        return False
    if int(pid) == os.getpid() and start == _start_of(os.getpid()):
        return owner in _here
    return _is_alive(int(pid)) and start == _start_of(int(pid))


def _is_alive(pid: int) -> bool:
    if os.name != "posix":  # where asking would end the process
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:  # a process of somebody else
        return True
    except (OSError, OverflowError):
        return False
    return True


def _start_of(pid: int) -> str:
    """When a process started, so that a later one with its number is another one; on Linux only."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
        state, *fields = status.rpartition(")")[2].split()
        return fields[18] if state not in "ZX" else "dead"
    return ""

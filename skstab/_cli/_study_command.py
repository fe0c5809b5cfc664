"""`skstab study`: what a checkpoint has, what failed, what is under way."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from skstab._cli._terminal import say
from skstab._engine.checkpoint import failure_of, open_checkpoint
from skstab._engine.repair import repair
from skstab._report.words import UserError, plural

if TYPE_CHECKING:
    import argparse

    from skstab._engine.checkpoint import Checkpoint

_AT_ONCE = 1000  # results that are read at the same time
_STUDIES = 30  # that are shown, the latest ones
_WIDTH = 110


def run(options: argparse.Namespace) -> None:
    """Repair the file or forget its failures where that is asked for, and show what it has."""
    if not os.path.isfile(options.file):
        raise UserError(f"there is no file {options.file!r}")
    try:
        if options.repair:
            _repair(options.file)
        with open_checkpoint(options.file) as file:
            if options.retry:
                _retry(file)
            _show(file)
    except (OSError, ValueError) as error:
        raise UserError(str(error)) from error


def _repair(path: str) -> None:
    n_removed, kept = repair(path)
    say(f"removed {plural(n_removed, 'result')} that can't be read")
    if kept is not None:
        say(f"the file itself was damaged: it is kept as {kept!r}, and replaced")


def _retry(file: Checkpoint) -> None:
    failed = []
    for some in _batches(list(file.keys())):
        values, _ = file.read(some)
        failed += [key for key, value in values.items() if failure_of(value)]
    file.forget(failed)
    say(
        f"forgot {plural(len(failed), 'run')} that failed: the next call makes them again"
    )


def _show(file: Checkpoint) -> None:
    keys, studies = list(file.keys()), file.studies()
    size = os.path.getsize(file.name) / 1e6
    say(f"{file.name}: {plural(len(keys), 'result')}, {size:.1f} MB")
    if len(studies) > _STUDIES:
        say(f"\nthe last {_STUDIES} of {len(studies)} studies:")
    for study in studies[-_STUDIES:]:
        begun = datetime.fromtimestamp(study.begun).strftime("%Y-%m-%d %H:%M")
        say(f"\n{_line(study.about) or 'runs'}, begun {begun}")
        _show_runs(file, study.keys)
    others = set(keys).difference(*(study.keys for study in studies))
    if others:
        say("\nof no study that is noted here")
        _show_runs(file, list(others))
    _show_leases(file)


def _show_runs(file: Checkpoint, keys: Sequence[bytes]) -> None:
    n_made, n_damaged, n_empty = 0, 0, 0
    causes: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for some in _batches(keys):
        values, damaged = file.read(some)
        n_made, n_damaged = n_made + len(values), n_damaged + len(damaged)
        for value in values.values():
            n_empty += value.get("emptied") is True
            if (text := failure_of(value)) is not None:
                cause = str(text).partition(":")[0]
                causes[cause] += 1
                examples.setdefault(cause, str(text))
    n_runs = len(set(keys))
    say(f"  {n_made - causes.total()} of {plural(n_runs, 'run')} made")
    if n_empty:
        say(f"  {n_empty} of them selected nothing that could be fitted")
    if n_runs > n_made + n_damaged:
        say(f"  {n_runs - n_made - n_damaged} missing")
    if n_damaged:
        say(f"  {n_damaged} can't be read (--repair removes them)")
    for cause, number in causes.most_common():
        say(f"  {number} failed with {_line(examples[cause])}")


def _show_leases(file: Checkpoint) -> None:
    held, left = 0, 0
    for lease in file.leases():
        held, left = held + lease.holds, left + (not lease.holds)
    if held:
        say(f"\n{plural(held, 'run')} under way in other processes")
    if left:
        say(
            f"\n{plural(left, 'run')} under way when a process died: made last, each alone, by the next call"
        )


def _batches(keys: Sequence[bytes]) -> list[Sequence[bytes]]:
    return [keys[at : at + _AT_ONCE] for at in range(0, len(keys), _AT_ONCE)]


def _line(text: str) -> str:
    """A text that may be from anywhere, as one line without signs that change the terminal."""
    line = "".join(sign if sign.isprintable() else " " for sign in text)
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]} ..."

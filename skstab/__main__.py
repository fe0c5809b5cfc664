"""The command line, `skstab` or `python -m skstab`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Any

from skstab._cli._arguments import parse
from skstab._cli._terminal import complain
from skstab._report.words import UserError

BROKEN_PIPE = 141
_ENDED = 128  # and the number of the signal
_SIGNALS = ("SIGTERM", "SIGHUP")  # the second one is not known everywhere


class EndedError(KeyboardInterrupt):
    """What a signal raises that asks the process to end, so that it ends as by Ctrl-C: with all its workers."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(
                errors="replace"
            )  # a name that a terminal cannot show must not be an error
    try:
        with _ended_by_signals():
            options = parse(argv)
            import_module(f"skstab._cli._{options.command}_command").run(options)
            sys.stdout.flush()
    except UserError as error:
        complain(f"error: {error}")
        return error.status
    except KeyboardInterrupt as error:
        number = error.args[0] if isinstance(error, EndedError) else signal.SIGINT
        complain("interrupted")
        return _ENDED + number
    except BrokenPipeError:
        # The reader of the output has closed it; Python would raise again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return 0


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Turn signals that ask the process to end into errors, unless it was started to ignore them, as by nohup."""
    before = {}
    for name in _SIGNALS:
        with suppress(
            AttributeError, ValueError
        ):  # no such signal, or not the main thread
            number = getattr(signal, name)
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _frame: Any) -> None:
    raise EndedError(number)


if __name__ == "__main__":
    sys.exit(main())

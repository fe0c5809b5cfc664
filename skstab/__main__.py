"""The command line, `skstab` or `python -m skstab`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper

from skstab._cli._arguments import parse
from skstab._cli._terminal import complain
from skstab._report.words import UserError

INTERRUPTED, BROKEN_PIPE = 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(
                errors="replace"
            )  # a name that a terminal cannot show must not be an error
    try:
        options = parse(argv)
        import_module(f"skstab._cli._{options.command}_command").run(options)
        sys.stdout.flush()
    except UserError as error:
        complain(f"error: {error}")
        return error.status
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has closed it; Python would raise again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return 0


if __name__ == "__main__":
    sys.exit(main())

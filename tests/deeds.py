"""What other processes are asked to do in tests; quick to import."""

import os
import signal
import sys
import time

import numpy as np


class UnprintableError(Exception):
    """An exception that can be neither printed nor pickled."""

    def __init__(self, _, __):
        super().__init__()

    def __str__(self):
        raise RuntimeError("no message")


def raise_unprintable():
    raise UnprintableError(1, 2)


DEEDS = {
    "exit": lambda: os._exit(7),
    "crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "sleep": lambda: time.sleep(600),
    "swell": lambda: [np.ones(10_000_000) for _ in range(100)],
    "print": lambda: sys.stdout.write("text"),
}


def do(deed, table):
    """Do something bad, or say how the table arrived."""
    if deed in DEEDS:
        DEEDS[deed]()
    return type(table).__name__, float(table.sum()), os.getpid()


def die_of(number, fatal):
    if number in fatal:
        os._exit(1)
    return number


def mark_and_double(number, marks, deeds):
    """Leave a mark, do what is to be done at this number, and return its double."""
    mark = f"{len(os.listdir(marks))}-{number}-{os.getpid()}"
    open(os.path.join(marks, mark), "x").close()
    time.sleep(deeds.get("seconds", 0))
    if number == deeds.get("fatal"):
        os.kill(os.getpid(), signal.SIGKILL)
    if number == deeds.get("interrupt"):
        raise KeyboardInterrupt
    return 2 * number


def wait_until(condition, seconds=300):
    """Wait for something that happens soon, unless the machine has much else to do."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s in vain")
        time.sleep(0.01)

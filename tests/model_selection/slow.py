"""What workers of other processes must be able to import: an estimator that takes its time, and a run that tells."""

import os
import signal
import time

import numpy as np
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression

from skstab._engine.make import run_block
from tests.deeds import wait_until


def leave_mark(marks):
    """Leave a mark that names this process, and return its number, which no other mark has."""
    number = len(os.listdir(marks)) + 1
    while True:
        try:
            os.symlink(
                str(os.getpid()), os.path.join(marks, str(number))
            )  # made with its content, or not at all
        except FileExistsError:  # another process was quicker
            number += 1
        else:
            return number


def pids_of(marks):
    """The processes that left marks, the latest mark last."""
    return [
        int(os.readlink(mark))
        for mark in sorted(marks.iterdir(), key=lambda mark: int(mark.name))
    ]


class SlowLogisticRegression(LogisticRegression):
    """Leaves a mark that names its process, waits, then fits."""

    def __init__(
        self,
        *,
        marks=None,
        seconds=0.3,
        C=1.0,
        l1_ratio=0.0,
        solver="lbfgs",
        random_state=None,
    ):
        super().__init__(
            C=C, l1_ratio=l1_ratio, solver=solver, random_state=random_state
        )
        self.marks = marks
        self.seconds = seconds

    def fit(self, X, y):
        leave_mark(self.marks)
        time.sleep(self.seconds)
        return super().fit(X, y)


class Disturbed(SelectKBest):
    """Leaves a mark, then does something bad: at the fit of a number, or always without a row of a number.

    Rows have their number in the first column. What happens `after` there is a file waits for it.
    """

    def __init__(self, *, marks=None, deed="die", at=None, row=None, after=None, k=3):
        super().__init__(k=k)
        self.marks = marks
        self.deed = deed
        self.at = at
        self.row = row
        self.after = after

    def fit(self, X, y):
        if leave_mark(self.marks) == self.at or (
            self.row is not None and self.row not in X[:, 0]
        ):
            wait_until(lambda: self.after is None or os.path.exists(self.after))
            DEEDS[self.deed]()
        return super().fit(X, y)


class UnprintableError(Exception):
    """An exception whose message is an error too."""

    def __str__(self):
        raise RuntimeError("no message")


def _raise(error):
    raise error


DEEDS = {
    "die": lambda: os._exit(1),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "interrupt": lambda: _raise(KeyboardInterrupt()),
    "exit": lambda: _raise(SystemExit(3)),
    "unprintable": lambda: _raise(UnprintableError()),
}


KEPT = []  # objects that stay alive, so that no two have the same identity


def telling_block(plan, X, units):
    """Runs that say, instead of scores, in which process they were and how X came there."""
    KEPT.append(X)
    where = {"pid": os.getpid(), "identity": id(X), "mapped": isinstance(X, np.memmap)}
    return [
        result._replace(outcomes={0: result.outcomes[0]._replace(scores=where)})
        for result in run_block(plan, X, units)
    ]


class Mortal(SelectKBest):
    """Kills its process, once in all, in the first fit on some of the rows."""

    def __init__(self, k=3, mark="", n_rows=60):
        super().__init__(k=k)
        self.mark, self.n_rows = mark, n_rows

    def fit(self, X, y):
        if len(set(X[:, 0])) < self.n_rows and not os.path.exists(self.mark):
            open(self.mark, "x").close()
            os._exit(1)
        return super().fit(X, y)

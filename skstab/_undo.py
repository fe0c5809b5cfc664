"""What a fit that fails leaves behind: the object as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["left_as_it_was"]


@contextmanager
def left_as_it_was(estimator: Any, *, unless: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Undo what a fit did to an object when it fails.

    Parameters
    ----------
    estimator : object
        The object, whose attributes are put back.
    unless : callable
        Whether, after all, there is something to keep.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:  # an interrupt too
        if not unless():
            vars(estimator).clear()
            vars(estimator).update(before)
        raise

"""What a fit that fails leaves behind: the object as it was, or what it had finished."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["despite_interrupts", "left_as_it_was"]


@contextmanager
def left_as_it_was(
    estimator: Any, *, unless: Callable[[], bool] = lambda: False
) -> Iterator[None]:
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


def despite_interrupts(function: Callable[[], None]) -> None:
    """Finish something short also where users press Ctrl-C once more; they are obeyed afterwards.

    Parameters
    ----------
    function : callable
        What is called, again from its start after an interrupt.
    """
    try:
        function()
    except KeyboardInterrupt:
        despite_interrupts(function)
        raise

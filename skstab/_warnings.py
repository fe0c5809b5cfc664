"""Warnings that point at the code of the user, and the errors they report."""

from __future__ import annotations

import sys
import warnings

__all__ = ["bounded", "describe", "warn_user"]

_INSIDE = ("skstab", "sklearn", "joblib", "contextlib", "functools")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of skstab and scikit-learn that led here."""
    frame, level = sys._getframe(1), 2
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def describe(error: BaseException) -> str:
    """Name an exception and its message, of which no more is kept than can be read."""
    try:
        return bounded(f"{type(error).__name__}: {error}")
    except Exception as other:  # noqa: BLE001  the message of an exception is code of its author
        return (
            f"{type(error).__name__}: (no message, which raised {type(other).__name__})"
        )


def bounded(text: str, most: int = 2000) -> str:
    """The first and the last characters of a long text, and how many are left out."""
    if len(text) <= most:
        return text
    head, tail = text[: most // 2], text[len(text) - most // 4 :]
    n_left_out = len(text) - len(head) - len(tail)
    return f"{head} [... {n_left_out} characters left out ...] {tail}"

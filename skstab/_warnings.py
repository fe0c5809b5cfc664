"""Warnings that point at the code of the user, and the errors they report."""

from __future__ import annotations

import sys
import warnings

__all__ = ["describe", "warn_user"]

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


def describe(error: Exception) -> str:
    """Name an exception and its message."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as other:  # noqa: BLE001  the message of an exception is code of its author
        return (
            f"{type(error).__name__}: (no message, which raised {type(other).__name__})"
        )

"""Checks of parameters: what was expected, and what was given instead."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import inf, isfinite
from numbers import Integral, Real
from os import PathLike
from sys import float_info
from types import SimpleNamespace
from typing import Any, TypeGuard

__all__ = [
    "SUPPORT_FROM",
    "check_bool",
    "check_int",
    "check_level",
    "check_limits",
    "check_number",
    "check_parameters",
    "check_run_settings",
    "check_support_from",
    "is_bool",
    "is_choice",
    "is_estimator",
    "is_int",
    "is_number",
    "is_real",
    "naming",
    "run_settings_of",
]

_LARGEST = 2**63 - 1  # that arrays count with
_JOBS = 2**31 - 1  # that joblib counts with

# -- is it one ---------------------------------------------------------------------------------------------------------


def is_bool(value: Any) -> bool:
    """Whether a value is a bool, of Python or NumPy."""
    import numpy as np  # here, since the command line parses its arguments without it

    return isinstance(value, bool | np.bool_)


def is_choice(value: Any, *choices: str) -> bool:
    """Whether a value is one of several words."""
    # Tables compare element by element, missing values not at all.
    return isinstance(value, str) and value in choices


def is_estimator(value: Any) -> bool:
    """Whether a value is an estimator, and not a class of estimators."""
    return (
        hasattr(value, "fit")
        and hasattr(value, "get_params")
        and not isinstance(value, type)
    )


def is_int(value: Any, least: float = -inf, most: float = inf) -> TypeGuard[int]:
    """Whether a value is an int within limits, and not a bool."""
    return (
        isinstance(value, Integral)
        and not is_bool(value)
        and least <= int(value) <= most
    )


def is_real(value: Any) -> TypeGuard[float]:
    """Whether a value is a number, NaN and infinite ones included, and not a bool."""
    return isinstance(value, Real) and not is_bool(value)


def is_number(
    value: Any,
    *,
    above: float = -inf,
    below: float = inf,
    least: float = -inf,
    most: float = inf,
) -> TypeGuard[float]:
    """Whether a value is a number within limits that is finite as a float, and not a bool."""
    return (
        is_real(value)
        and _is_finite(value)
        and above < value < below
        and least <= value <= most
    )


def _is_finite(value: Any) -> bool:
    # An int may be larger than any float.
    return (
        abs(int(value)) <= float_info.max
        if isinstance(value, Integral)
        else isfinite(value)
    )


# -- if not, an error --------------------------------------------------------------------------------------------------


def check_bool(value: Any, name: str) -> bool:
    """Check a bool."""
    if not is_bool(value):
        raise ValueError(f"{name} must be a bool, got {value!r}")
    return bool(value)


def check_int(value: Any, name: str, *, least: int = 1, most: int | None = None) -> int:
    """Check an int from `least` on, or to `most`."""
    if not is_int(value, least, _LARGEST if most is None else most):
        above = " and below 2**63" if is_int(value, _LARGEST + 1) else ""
        ends = (
            f"of at least {least}{above}" if most is None else f"from {least} to {most}"
        )
        raise ValueError(f"{name} must be an int {ends}, got {value!r}")
    return int(value)


def check_number(
    value: Any, name: str, what: str = "a finite number", **limits: float
) -> float:
    """Check a finite number; `what` describes the limits, which are those of `is_number`."""
    if not is_number(value, **limits):
        raise ValueError(f"{name} must be {what}, got {value!r}")
    return value


def check_level(value: Any, name: str = "confidence_level") -> float:
    """Check a probability strictly between 0 and 1."""
    return float(check_number(value, name, "between 0 and 1", above=0, below=1))


def check_limits(max_seconds: Any, max_memory: Any) -> None:
    """Check what limits each run."""
    if max_seconds is not None:
        what = "None or a number above 0"
        check_number(max_seconds, "max_seconds", what, above=0)
    if max_memory is not None:
        check_int(max_memory, "max_memory")
        if not sys.platform.startswith("linux"):
            raise ValueError(
                "max_memory must be None on this system, since only Linux reports the "
                f"memory of a process, got {max_memory!r}"
            )


def check_parameters(
    estimator: Any, expected: Mapping[str, tuple[str, Callable[[Any], Any]]]
) -> None:
    """Check parameters of an estimator.

    Parameters
    ----------
    estimator : object
        The object that has the parameters as attributes.
    expected : mapping of str to (str, callable)
        For each parameter a description of what it must be, for the message, and a function that checks a value.
    """
    for name, (what, holds) in expected.items():
        value = getattr(estimator, name)
        if not _holds(holds, value):
            raise ValueError(f"{name} must be {what}, got {value!r}")


def _holds(condition: Callable[[Any], Any], value: Any) -> bool:
    try:
        return bool(condition(value))
    except (
        TypeError,
        ValueError,
    ):  # tables and missing values cannot be compared with a word
        return False


# How runs are made, in every entry; the limits of each run are checked by `check_limits`.
_RUN_SETTINGS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "checkpoint": (
        "None, a string or a path",
        lambda value: value is None or isinstance(value, str | PathLike),
    ),
    "n_jobs": (
        "None or an int other than 0",
        lambda value: value is None or (is_int(value, -_JOBS, _JOBS) and value != 0),
    ),
    "verbose": (
        "an int of at least 0",
        lambda value: is_bool(value) or is_int(value, 0, _JOBS),
    ),
}


def check_run_settings(
    *, max_seconds: Any = None, max_memory: Any = None, **settings: Any
) -> dict[str, Any]:
    """Check how runs are to be made, and return it for `make`."""
    expected = {name: _RUN_SETTINGS[name] for name in settings}
    check_parameters(SimpleNamespace(**settings), expected)
    check_limits(max_seconds, max_memory)
    return {**settings, "max_seconds": max_seconds, "max_memory": max_memory}


def run_settings_of(estimator: Any) -> dict[str, Any]:
    """Check how an estimator is to make its runs, and return it for `make`."""
    names = [*_RUN_SETTINGS, "max_seconds", "max_memory"]
    return check_run_settings(**{name: getattr(estimator, name) for name in names})


SUPPORT_FROM = ("'used' or 'selector'", lambda value: value in ("used", "selector"))


def check_support_from(value: Any) -> None:
    """Check what a support is read from."""
    what, holds = SUPPORT_FROM
    if not _holds(holds, value):
        raise ValueError(f"support_from must be {what}, got {value!r}")


# -- errors of others --------------------------------------------------------------------------------------------------


@contextmanager
def naming(*names: str, or_names: Iterable[str] = ()) -> Iterator[None]:
    """Say which arguments an error of other packages is about, unless it names one of them.

    Parameters
    ----------
    *names : str
        The arguments that are looked at.
    or_names : iterable of str
        Further arguments: an error that names one of these is left as it is.
    """
    try:
        yield
    except (OverflowError, TypeError, ValueError) as error:
        if not _is_plain(error) or any(
            re.search(rf"\b{name}\b", str(error)) for name in (*names, *or_names)
        ):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        listed = " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        raise kind(f"{listed} can't be used: {error}") from error


def _is_plain(error: Exception) -> bool:
    """Whether an error says no more by its type: not one of the user's, nor that a model is not fitted."""
    package = type(error).__module__.partition(".")[0]
    known = ("builtins", "narwhals", "numpy", "sklearn", "skstab")
    return package in known and not isinstance(error, AttributeError)

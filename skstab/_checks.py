"""Checks of parameters: what was expected, and what was given instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["check_parameters", "is_bool", "is_estimator", "is_int", "is_number"]


def check_parameters(estimator: Any, expected: Mapping[str, tuple[str, Callable[[Any], Any]]]) -> None:
    """Check parameters of an estimator.

    Parameters
    ----------
    estimator : object
        What has the parameters as attributes.
    expected : mapping of str to (str, callable)
        For each parameter what it must be, for the message, and whether a value is that.
    """
    for name, (what, holds) in expected.items():
        value = getattr(estimator, name)
        if not holds(value):
            raise ValueError(f"{name} must be {what}, got {value!r}")


def is_bool(value: Any) -> bool:
    """Tell whether a value is a bool."""
    return isinstance(value, bool | np.bool_)


def is_estimator(value: Any) -> bool:
    """Tell whether a value is an estimator, and not a class of estimators."""
    return hasattr(value, "fit") and hasattr(value, "get_params") and not isinstance(value, type)


def is_int(value: Any, least: float = -inf) -> bool:
    """Tell whether a value is an int, but no bool, of at least some size."""
    return isinstance(value, Integral) and not is_bool(value) and value >= least


def is_number(value: Any, *, above: float = -inf, below: float = inf, least: float = -inf, most: float = inf) -> bool:
    """Tell whether a value is a finite number, but no bool, within limits."""
    return isinstance(value, Real) and not is_bool(value) and above < value < below and least <= value <= most

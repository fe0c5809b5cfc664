"""The solver, compiled by Numba where that is installed (extra `fast`), or as it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from skstab._linear_paths import active_set

__all__ = ["compiled", "fastest_minimise"]

Function: TypeAlias = Callable[..., Any]

_OPTIONS = {"error_model": "numpy", "fastmath": {"contract", "reassoc"}}
_AS_ARRAYS = {active_set.solve, active_set.times, active_set._factorise}
_IN_LOOPS: dict[Function, Function] = {
    active_set.solve: active_set.solve_by_rows,
    active_set.times: active_set.times_by_rows,
}


@lru_cache(maxsize=1)
def fastest_minimise() -> Function:
    """`minimise`, compiled once and kept on disk; as it is where Numba is not installed or not for this NumPy."""
    try:
        import numba
        from numba.extending import overload, register_jitable
    except ImportError:
        return active_set.minimise
    for function in _helpers():
        register_jitable(**_OPTIONS)(function)
    for array_function, loops in _IN_LOOPS.items():
        overload(array_function, jit_options=_OPTIONS, strict=False)(
            lambda *_, loops=loops: loops
        )
    return compiled(active_set.minimise, numba.njit)


def compiled(function: Function, njit: Function) -> Function:
    """A function that is compiled when first called, and kept on disk where there is a place to write to."""
    try:
        return njit(cache=True, **_OPTIONS)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # neither the package nor the user's cache can be written to
        return njit(**_OPTIONS)(function)  # type: ignore[no-any-return]


def _helpers() -> list[Function]:
    """All functions of the solver that Numba compiles as they are."""
    own = [
        f
        for f in vars(active_set).values()
        if getattr(f, "__module__", "") == active_set.__name__
    ]
    return [
        f
        for f in own
        if callable(f) and not isinstance(f, type) and f not in _AS_ARRAYS
    ]

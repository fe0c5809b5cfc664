"""The solver, compiled by Numba where that is installed (extra `fast`), or as it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from inspect import isfunction
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

from skstab._linear_paths import active_set, active_sets

__all__ = ["compiled", "compiled_active_sets", "fastest_minimise", "has_compiler"]

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


@lru_cache(maxsize=1)
def compiled_active_sets() -> Any:
    """The functions of `active_sets`, compiled where Numba is installed."""
    public = {name: getattr(active_sets, name) for name in active_sets.__all__}
    try:
        import numba
        from numba.extending import register_jitable
    except ImportError:
        return SimpleNamespace(**public)
    for function in _own_functions(active_sets):
        register_jitable(**_OPTIONS)(function)
    return SimpleNamespace(
        **{
            name: compiled(value, numba.njit) if isfunction(value) else value
            for name, value in public.items()
        }
    )


def has_compiler() -> bool:
    """Whether the functions of `active_sets` are compiled."""
    return not isfunction(compiled_active_sets().settle)


def _helpers() -> list[Function]:
    """All functions of the solver that Numba compiles as they are."""
    return [f for f in _own_functions(active_set) if f not in _AS_ARRAYS]


def _own_functions(module: ModuleType) -> list[Function]:
    return [
        f
        for f in vars(module).values()
        if isfunction(f) and f.__module__ == module.__name__
    ]

"""Calls of everything public with random arguments: what there is to call, with what, and how it is done."""

import inspect
import warnings
from collections.abc import Iterator
from dataclasses import is_dataclass
from types import GeneratorType
from typing import Any, NamedTuple

import numpy as np

from tests.discovery import PACKAGES, exported
from tests.fuzz.bad import bad
from tests.fuzz.values import (
    GOOD,
    GOOD_OF,
    KEYWORDS,
    OBJECTS,
    RETURNED,
    TOGETHER,
    features,
    target,
)

SPOILED = 0.5  # share of the draws with a bad value
DATA = (
    "X",
    "y",
    "sample_weight",
    "groups",
)  # what fit takes beside the parameters of the estimator
FEW = (
    "cv",
    "n_resamples",
    "n_values",
    "n_decoy_draws",
    "n_pairs",
    "n_permutations",
)  # always given: less to compute
OPERATORS = ("__call__", "__getitem__")
NEEDS_AN_EXTRA = {"SelectionStabilityCheck.check_function"}  # skore's reports


class Callee(NamedTuple):
    """Something public, by its name: a function, a class that is made and used, or a method of an object."""

    name: str
    call: Any
    use: str | None = (
        None  # "fit", "split", "frame": what is done with an object that was made; "method", "undo"
    )


# -- what there is -----------------------------------------------------------------------------------------------------


def public():
    """Everything public that takes arguments of users, found by its form."""
    found = {}
    for package in PACKAGES:
        for name, thing in exported(package).items():
            for callee in _callees(name, thing):
                found[callee.name] = callee
    for name, thing in RETURNED.items():
        found |= {callee.name: callee for callee in _methods(name, type(thing()))}
    return [callee for name, callee in found.items() if name not in NEEDS_AN_EXTRA]


def _callees(name, thing):
    if not inspect.isclass(thing):
        # Readers change what all later calls do: they are taken back.
        yield Callee(name, thing, "undo" if name == "register_reader" else None)
        return
    if not is_record(thing):
        yield Callee(
            name,
            thing,
            next(
                (use for use in ("fit", "split", "frame") if hasattr(thing, use)), None
            ),
        )
    yield from _methods(name, thing)


def is_record(thing):
    """Whether a class only holds what functions return, and is not made by users, for calls such as a refit."""
    is_plain = is_dataclass(thing) and thing.__init__.__code__.co_filename == "<string>"
    is_made = hasattr(thing, "__post_init__") and "__call__" in vars(thing)
    return issubclass(thing, tuple) or (is_plain and not is_made)


def _methods(name, thing):
    for method in dir(thing):
        if (
            (not method.startswith("_") or method in OPERATORS)
            and method != "fit"
            and _is_own(thing, method)
        ):
            form = inspect.getattr_static(thing, method)
            if isinstance(form, classmethod | staticmethod):
                yield Callee(f"{name}.{method}", getattr(thing, method))
            elif callable(form) or type(form).__name__ == "_AvailableIfDescriptor":
                yield Callee(f"{name}.{method}", getattr(thing, method), "method")


def _is_own(thing, name):
    owner = next(each for each in thing.__mro__ if name in vars(each))
    form = inspect.getattr_static(thing, name)
    is_request = type(form).__name__ == "RequestMethod"  # scikit-learn's
    return (
        owner.__module__.startswith("skstab")
        and not is_request
        and not isinstance(form, property)
    )


# -- with what ---------------------------------------------------------------------------------------------------------


def parameters(callee):
    """The parameters, and whether each is required; those behind ** are known by their names."""
    found = {}
    for parameter in list(inspect.signature(callee.call).parameters.values())[
        callee.use == "method" :
    ]:
        if parameter.kind is parameter.VAR_KEYWORD:
            found |= dict.fromkeys(KEYWORDS.get(callee.name, ()), False)
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            found[parameter.name] = parameter.default is parameter.empty
    return found


def good_of(callee, name):
    return GOOD_OF.get((callee.name, name), GOOD.get(name))


def unknown(callee):
    """What there is no good value for: parameters, or the object whose method is called."""
    names = [name for name in parameters(callee) if good_of(callee, name) is None]
    owner = callee.name.partition(".")[0]
    return names + (
        [owner] if callee.use == "method" and owner not in OBJECTS | RETURNED else []
    )


def arguments(callee, rng):
    """Draw arguments, and the names of those that are bad: one or two of them in most draws, none in the others."""
    known = parameters(callee)
    drawn = {
        name: good_of(callee, name)(rng)
        for name, required in known.items()
        if required or rng.random() < 0.3
    }
    names = [*known]
    drawn = {name: good_of(callee, name)(rng) for name in FEW if name in known} | drawn
    if callee.use == "fit":
        names += DATA
        drawn |= {"X": features(rng), "y": target(rng)}
    drawn |= TOGETHER[callee.name](rng, drawn) if callee.name in TOGETHER else {}
    spoiled = (
        rng.permutation(names)[: rng.integers(1, 3)].tolist()
        if names and rng.random() < SPOILED
        else []
    )
    drawn |= {name: bad(rng) for name in spoiled}
    if callee.use == "method":
        owner = callee.name.partition(".")[0]
        drawn["self"] = (OBJECTS | RETURNED)[owner]()
    return drawn, spoiled


# -- how ---------------------------------------------------------------------------------------------------------------


def outcome(callee, drawn):
    """Make a call, and use what it made; return the result."""
    own = dict(drawn)
    data = {
        name: own.pop(name)
        for name in DATA
        if callee.use == "fit" and name in own and name in _outside(callee)
    }
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        if callee.use == "method":
            method = getattr(own.pop("self"), callee.name.partition(".")[2])
            return _consumed(method(**own))
        made = callee.call(**own)
        return _USES[callee.use](made, data) if callee.use else _consumed(made)


def _outside(callee):
    return [name for name in DATA if name not in parameters(callee)]


def _fitted(made, data):
    return made.fit(data.pop("X"), data.pop("y"), **data)


def _framed(made, _):
    made.frame()
    return made


def _taken_back(made, _):
    made()


_USES = {
    "fit": _fitted,
    "split": lambda made, _: next(iter(made.split(np.zeros((24, 2))))),
    "frame": _framed,
    "undo": _taken_back,
}


def _consumed(result: Any) -> Any:
    return list(result) if isinstance(result, GeneratorType | Iterator) else result

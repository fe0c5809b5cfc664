"""Calls of everything public with random arguments, and the judgement of what comes of them."""

import inspect
import re
import signal
import warnings
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.values import GOOD, GOOD_OF, bad, features, target

ROOMS = ["metrics", "runs", "model_selection", "feature_selection", "inspection", "datasets"]
SKIPPED = {"register_reader"}  # which changes what all later calls do
UNNAMED = "unnamed"  # how a complaint begins about an error of the right type that does not name an argument
SECONDS = 20  # that a call may take
# NaN is a documented result: of an interval of two runs, or of importances that nothing is known about.
MAY_BE_NAN = {
    "stability_interval",
    "compare_stability",
    "stability_test",
    "full_size_interval",
    "replication_stability",
}


class Callee(NamedTuple):
    """Something public, by its name; estimators and splitters are also used."""

    name: str
    call: Any
    use: str | None = None


def public():
    """Everything public that takes arguments of users: functions, `from_...` of classes, estimators and splitters."""
    found = {}
    for room in ROOMS:
        module = import_module(f"skstab.{room}")
        for name in [name for name in module.__all__ if name not in SKIPPED]:
            for callee in _callees(name, getattr(module, name)):
                found[callee.name] = callee
    return list(found.values())


def _callees(name, obj):
    if not inspect.isclass(obj):
        yield Callee(name, obj)
        return
    for use in ("fit", "split"):
        if hasattr(obj, use):
            yield Callee(name, obj, use)
    for method in dir(obj):
        if method.startswith("from_"):
            yield Callee(f"{name}.{method}", getattr(obj, method))


def parameters(callee):
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p for p in inspect.signature(callee.call).parameters.values() if p.kind not in kinds]


def good(callee, parameter, rng):
    return GOOD_OF.get((callee.name, parameter.name), GOOD.get(parameter.name))(rng)


def unknown_parameters(callee):
    """Required parameters for which there is no good value."""
    known = {name for of, name in GOOD_OF if of == callee.name} | set(GOOD)
    return [p.name for p in parameters(callee) if p.default is p.empty and p.name not in known]


def arguments(callee, rng):
    """Draw arguments; a quarter of all draws is good, the others have one or two bad values."""
    chosen = [p for p in parameters(callee) if p.default is p.empty or (p.name in GOOD and rng.random() < 0.4)]
    drawn = {p.name: good(callee, p, rng) for p in chosen}
    if rng.random() < 0.75:
        names = [p.name for p in parameters(callee)] + (["X", "y"] if callee.use == "fit" else [])
        for name in rng.permutation(names)[: rng.integers(1, 3)].tolist():
            drawn[name] = bad(rng)
    if callee.use == "fit":
        drawn = {"X": features(rng), "y": target(rng), "cv": GOOD["cv"](rng), "n_resamples": 4, "n_values": 3} | drawn
        known = {"X", "y", *(p.name for p in parameters(callee))}
        drawn = {name: value for name, value in drawn.items() if name in known}
    return drawn


def outcome(callee, drawn):
    """Make a call; return its result, or its error."""
    own = dict(drawn)
    data = {name: own.pop(name) for name in ("X", "y") if callee.use == "fit" and name in own}
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        made = callee.call(**own)
        if callee.use == "fit":
            return made.fit(data["X"], data["y"])
        if callee.use == "split":
            return next(iter(made.split(np.zeros((24, 2)))))
        return made


def complaint(callee, drawn):
    """Say what is wrong with the outcome of a call; None where nothing is."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(SECONDS)
    try:
        result = outcome(callee, drawn)
    except (TypeError, ValueError) as error:
        return None if _names_an_argument(str(error), callee, drawn) else f"{UNNAMED} {type(error).__name__}: {error}"
    except BaseException as error:  # noqa: BLE001  whatever else is raised is what is looked for
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    if isinstance(result, float) and not np.isfinite(result):
        return f"result {result}"
    return None


def _too_long(_signal, _frame):
    raise TimeoutError(f"more than {SECONDS} s")


def _names_an_argument(message, callee, drawn):
    names = {p.name for p in parameters(callee)} | set(drawn) | {"X", "y"}
    return any(re.search(rf"\b{re.escape(name)}\b", message) for name in names)

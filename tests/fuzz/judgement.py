"""The judgement of what came of a call: a finite result, or an error that says which argument is wrong."""

import inspect
import re
import signal
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

from skstab.metrics._measure import ARGUMENT
from tests.fuzz.calls import DATA, outcome, parameters
from tests.fuzz.values import MAY_BE_NAN

SECONDS = 60  # that a call may take, on a busy machine


class Verdict(NamedTuple):
    """Whether a call gave a result, and what is wrong with it or its error; None where nothing is."""

    has_result: bool
    complaint: str | None = None


def judged(callee, drawn, spoiled):
    """Make a call and judge it."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(SECONDS)
    try:
        result = outcome(callee, drawn)
    except (TypeError, ValueError) as error:
        named = names_an_argument(error, callee, drawn, spoiled)
        return Verdict(
            False, None if named else f"unnamed {type(error).__name__}: {error}"
        )
    except OSError as error:  # a file that is not there, as everywhere in Python
        texts = [value for value in drawn.values() if isinstance(value, str | bytes)]
        return Verdict(
            False,
            None if error.filename in texts else f"{type(error).__name__}: {error}",
        )
    except BaseException as error:  # noqa: BLE001  whatever else is raised is what is looked for
        return Verdict(False, f"{type(error).__name__}: {error}")
    finally:
        signal.alarm(0)
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
    wrong = [
        name for name, values in numbers_in(result) if not np.isfinite(values).all()
    ]
    wrong = [
        name
        for name in wrong
        if not {name, callee.name, f"{callee.name} {name}"} & MAY_BE_NAN
    ]
    return Verdict(True, f"not finite: {', '.join(wrong)}" if wrong else None)


def _too_long(_signal, _frame):
    raise TimeoutError(f"more than {SECONDS} s")


def names_an_argument(error, callee, drawn, spoiled):
    """Whether a message names an argument of the call, the function given as one, or what is not fitted."""
    names = [*parameters(callee), *(DATA if callee.use == "fit" else ())]
    if "data" in names:
        names += [
            *ARGUMENT.values(),
            str(drawn.get("name")),
        ]  # what measures call their data
    if callee.use == "method":
        names += inspect.signature(type(drawn["self"])).parameters
    names += [
        drawn[name].__name__ for name in spoiled if hasattr(drawn[name], "__name__")
    ]
    if isinstance(error, NotFittedError):
        names += [type(value).__name__ for value in drawn.values()]
    return any(re.search(_pattern(name), str(error)) for name in names)


def _pattern(name):
    # "a" is also a word.
    return (
        r"\ba (?:must|has|is|and b)\b|\ba="
        if name == "a"
        else rf"\b{re.escape(name)}\b"
    )


# -- finite ------------------------------------------------------------------------------------------------------------


def numbers_in(result, name="result"):
    """Names and values of all floats in a result."""
    if isinstance(result, float | np.floating):
        yield name, result
    elif isinstance(result, np.ndarray):
        yield from [(name, result)] if result.dtype.kind == "f" else ()
    elif isinstance(result, pd.Series):
        yield from numbers_in(result.to_numpy(), str(result.name))
    elif isinstance(result, pd.DataFrame):
        yield from (
            pair
            for column in result
            for pair in numbers_in(result[column].to_numpy(), str(column))
        )
    else:
        for part, value in _parts(result):
            yield from numbers_in(value, part)


def _parts(result):
    if isinstance(result, Mapping):
        return [(str(name), value) for name, value in result.items()]
    if hasattr(result, "_asdict"):
        return list(result._asdict().items())
    if isinstance(result, list | tuple):
        return [("result", value) for value in result]
    if is_dataclass(result) and not isinstance(result, type):
        return [(field.name, getattr(result, field.name)) for field in fields(result)]
    if hasattr(result, "get_params") and not isinstance(result, type):
        return [
            (name, value) for name, value in vars(result).items() if name.endswith("_")
        ]
    return []

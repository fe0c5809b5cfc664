"""Settings of `StabilitySelection`: what is possible, and what "auto" stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import type_of_target

from skstab._checks import (
    SUPPORT_FROM,
    check_parameters,
    is_choice,
    is_estimator,
    is_int,
    is_number,
    naming,
)
from skstab.feature_selection._bounds import ASSUMPTIONS
from skstab.feature_selection._decoys import DECOYS
from skstab.feature_selection._held_paths import HeldName
from skstab.feature_selection._paths import PARAMETERS

__all__ = [
    "IMPORTANCE",
    "check_pfer",
    "check_range",
    "check_settings",
    "has_classes",
    "is_penalty",
    "is_sparse_model",
    "name_of_parameter",
    "only_target",
]

# Thresholds on importances go by this name, where other models have a parameter.
IMPORTANCE = "importance"

_RESAMPLING = ("complementary_pairs", "subsample")
_MOST = 2**63 - 1  # of what is made one by one


# -- the regularisation parameter --------------------------------------------------------------------------------------


def name_of_parameter(estimator: Any) -> str:
    """The regularisation parameter of a known model, alone or as the last step of a pipeline."""
    if isinstance(estimator, Pipeline):
        name = name_of_parameter(estimator[-1])
        return name if name == IMPORTANCE else f"{estimator.steps[-1][0]}__{name}"
    if type(estimator) in PARAMETERS:
        return PARAMETERS[type(estimator)]
    # Asked also of the class: an estimator that is not fitted yet has no importances.
    if hasattr(type(estimator), "feature_importances_") or hasattr(
        estimator, "feature_importances_"
    ):
        return IMPORTANCE
    known = ", ".join(model.__name__ for model in PARAMETERS)
    kind = type(estimator)
    raise ValueError(
        f"param_name='auto' knows {known} of scikit-learn and models with feature_importances_, alone or at the end of "
        f"a pipeline, but not {kind.__module__.partition('.')[0]}.{kind.__name__}: give param_name and param_values, "
        "or param_name='importance' for thresholds on its importances"
    )


def is_sparse_model(estimator: Any) -> bool:
    """Whether an estimator is a known sparse model, alone or as the last step of a pipeline."""
    return (
        type(estimator[-1] if isinstance(estimator, Pipeline) else estimator)
        in PARAMETERS
    )


def is_penalty(param_name: str) -> bool:
    """Whether a parameter grows with the penalty, rather than with its inverse."""
    return isinstance(param_name, HeldName) or param_name.rpartition("__")[2] == "alpha"


def has_classes(y: Any) -> bool:
    """Whether a target has classes that halves can be stratified by."""
    return y is not None and type_of_target(y) in ("binary", "multiclass")


# -- checks ------------------------------------------------------------------------------------------------------------


def check_settings(selector: Any) -> None:
    """Check the parameters of a `StabilitySelection`."""
    is_concave = is_choice(selector.assumption, "r-concave")
    least, lowest = (
        ("above 0", {"above": 0.0}) if is_concave else ("from 0.5", {"least": 0.5})
    )
    hint = "" if is_concave else " (lower ones only with assumption='r-concave')"
    check_parameters(
        selector,
        {
            "estimator": ("an estimator with fit and get_params", is_estimator),
            "param_name": ("a string", lambda v: isinstance(v, str)),
            "param_values": (
                "'auto' or a sequence with at least one value",
                _is_auto_or_values,
            ),
            "resampling": (
                "'complementary_pairs', 'subsample', a splitter or an iterable of splits",
                lambda v: (
                    v in _RESAMPLING
                    if isinstance(v, str)
                    else hasattr(v, "split") or hasattr(v, "__iter__")
                ),
            ),
            "n_resamples": (
                "an int of at least 2 and of at most 64 bits, even for complementary pairs",
                lambda v: is_int(v, 2, _MOST),
            ),
            "threshold": (
                f"None or a number {least} to 1{hint}",
                lambda v: v is None or is_number(v, most=1, **lowest),
            ),
            "q": ("None or an int of at least 1", lambda v: v is None or is_int(v, 1)),
            "pfer": ("None or a positive number", _is_none_or_positive),
            "assumption": (
                f"one of {', '.join(map(repr, ASSUMPTIONS))}",
                lambda v: v in ASSUMPTIONS,
            ),
            "support_from": SUPPORT_FROM,
            "decoys": (
                f"None or one of {', '.join(map(repr, DECOYS))}",
                lambda v: v is None or v in DECOYS,
            ),
            "n_decoy_draws": (
                "an int of at least 1 and of at most 64 bits",
                lambda v: is_int(v, 1, _MOST),
            ),
            "fdr": ("None or a number between 0 and 1", _is_none_or_share),
            "efp": ("None or a positive number", _is_none_or_positive),
            "weakness": (
                "a number above 0 and at most 1",
                lambda v: is_number(v, above=0, most=1),
            ),
            "n_values": (
                "an int from 1 to a million or None",
                lambda v: v is None or is_int(v, 1, 10**6),
            ),
            "eps": ("None or a number between 0 and 1", _is_none_or_share),
        },
    )
    if (
        selector.n_resamples % 2
        and isinstance(selector.resampling, str)
        and selector.resampling == _RESAMPLING[0]
    ):
        raise ValueError(
            f"n_resamples must be even for complementary pairs, got {selector.n_resamples}"
        )
    _check_two_of_three(selector.threshold, selector.q, selector.pfer)
    _check_targets(selector)


def only_target(**targets: float | None) -> tuple[str, float]:
    """The one target that is given, and its value."""
    given = [(name, value) for name, value in targets.items() if value is not None]
    if len(given) != 1:
        raise ValueError(
            "retarget needs either threshold or pfer, or efp or fdr: exactly one of them"
        )
    name, value = given[0]
    if name == "fdr" and not is_number(value, above=0, below=1):
        raise ValueError(f"fdr must be a number between 0 and 1, got {value!r}")
    if name == "efp" and not is_number(value, above=0):
        raise ValueError(f"efp must be a positive number, got {value!r}")
    return name, value


def check_pfer(pfer: Any) -> None:
    """Check a bound on expected errors, or None."""
    if not _is_none_or_positive(pfer):
        raise ValueError(f"pfer must be None or a positive number, got {pfer!r}")


def check_range(thresholds: Any) -> None:
    """Check the smallest and the largest threshold of a calibration."""
    with naming("thresholds"):
        ends = tuple(thresholds) if np.ndim(thresholds) == 1 else ()
    if (
        len(ends) != 2
        or not all(is_number(end, above=0.5, most=1) for end in ends)
        or ends[0] > ends[1]
    ):
        raise ValueError(
            f"thresholds must be two numbers above 0.5 and at most 1 that do not fall, got {thresholds!r}"
        )


def _check_two_of_three(threshold: Any, q: Any, pfer: Any) -> None:
    if threshold is None and (q is None or pfer is None):
        raise ValueError(
            "threshold=None is computed from q and pfer: give both, or a threshold"
        )
    if threshold is not None and q is not None and pfer is not None:
        raise ValueError(
            "of threshold, q and pfer two give the third, but all are given: set one of them to None"
        )


def _check_targets(selector: Any) -> None:
    stops = [name for name in ("q", "pfer") if getattr(selector, name) is not None]
    targets = [name for name in ("efp", "fdr") if getattr(selector, name) is not None]
    if len(targets) > 1 or (stops and targets):
        raise ValueError(
            f"{' and '.join([*stops, *targets])} are targets that exclude each other: set all but one to None"
        )
    if selector.decoys is not None and selector.fdr is None:
        raise ValueError(
            f"decoys={selector.decoys!r} need a target level: set fdr, such as fdr=0.1"
        )
    if selector.decoys is not None and selector.groups is not None:
        raise ValueError(
            "decoys and groups cannot be combined: set one of them to None"
        )


def _is_none_or_positive(value: Any) -> bool:
    return value is None or is_number(value, above=0)


def _is_none_or_share(value: Any) -> bool:
    return value is None or is_number(value, above=0, below=1)


def _is_auto_or_values(value: Any) -> bool:
    return (
        value == "auto"
        if isinstance(value, str)
        else np.ndim(value) == 1 and len(value) > 0
    )

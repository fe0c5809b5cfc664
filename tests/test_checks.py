"""Number checks: what they accept, and that the public functions and classes go through them."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from skstab._checks import (
    check_bool,
    check_int,
    check_level,
    check_number,
    check_parameters,
    is_choice,
    is_int,
    is_number,
    is_real,
    naming,
)
from skstab.datasets import make_correlated_groups, make_redundant_classification
from skstab.feature_selection import relieff, welch_variance
from skstab.inspection import SelectionFrequencyDisplay, flip_importance
from skstab.metrics import (
    canberra_stability,
    davis_stability,
    stability_interval,
    stability_test,
)
from skstab.model_selection import (
    BootstrapSplit,
    ParetoRefit,
    pareto_front,
    stability_profile,
)
from skstab.runs import Runs

NOT_NUMBERS = [True, np.True_, "1", None, [1], 1j]


@pytest.mark.parametrize("value", [1, np.int64(1), np.uint8(1)])
def test_ints(value):
    assert is_int(value)
    assert is_int(value, 1, 1)
    assert not is_int(value, 2)
    assert not is_int(value, most=0)
    assert type(check_int(value, "n")) is int


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 1.0, np.float64(1)])
def test_not_ints(value):
    assert not is_int(value)
    with pytest.raises(ValueError, match=r"^n must be an int of at least 1, got "):
        check_int(value, "n")


def test_limits_of_ints_are_named():
    with pytest.raises(ValueError, match=r"^n must be an int of at least 3, got 2$"):
        check_int(2, "n", least=3)
    with pytest.raises(ValueError, match=r"^n must be an int from 1 to 5, got 6$"):
        check_int(6, "n", most=5)
    assert check_int(2**63 - 1, "n") == 2**63 - 1
    with pytest.raises(
        ValueError,
        match=r"^n must be an int of at least 1 and below 2\*\*63, got 9223372036854775808$",
    ):
        check_int(2**63, "n")


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int8(1)])
def test_numbers(value):
    assert is_real(value)
    assert is_number(value, above=0, below=2, least=1, most=1)
    assert not is_number(value, above=1)
    assert not is_number(value, below=1)
    assert check_number(value, "x") is value


@pytest.mark.parametrize("value", [*NOT_NUMBERS, math.nan, math.inf, -math.inf])
def test_not_finite_numbers(value):
    assert not is_number(value)
    with pytest.raises(ValueError, match=r"^x must be a finite number, got "):
        check_number(value, "x")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_reals_may_be_infinite_or_missing(value):
    assert is_real(value)


@pytest.mark.parametrize("value", [0, 1, -0.5, 1.5, *NOT_NUMBERS, math.nan])
def test_levels_are_strictly_between_0_and_1(value):
    with pytest.raises(
        ValueError, match="confidence_level must be between 0 and 1, got"
    ):
        check_level(value)
    assert check_level(0.95) == 0.95


TABLE = np.eye(4, dtype=bool)
X, Y = np.arange(12.0).reshape(6, 2) % 5, [0, 1, 0, 1, 0, 1]
RESULTS = {"a": [1.0], "a_se": [0.1], "s": [1.0], "s_se": [0.1]}
CALLS = {
    "canberra_stability": lambda value: canberra_stability(TABLE * 1.0, location=value),
    "davis_stability": lambda value: davis_stability(TABLE, penalty=value),
    "stability_interval": lambda value: stability_interval(
        TABLE, confidence_level=value
    ),
    "n_resamples": lambda value: stability_interval(
        TABLE, method="bootstrap", n_resamples=value
    ),
    "stability_test": lambda value: stability_test(TABLE, value),
    "n_samples": make_redundant_classification,
    "redundancy": lambda value: make_redundant_classification(redundancy=value),
    "correlation": lambda value: make_correlated_groups(correlation=value),
    "relieff": lambda value: relieff(X, Y, n_neighbors=value),
    "welch_variance": lambda value: welch_variance(X, Y, variance_weight=value),
    "flip_importance": lambda value: flip_importance(None, X, max_change=value),
    "frequency threshold": lambda value: SelectionFrequencyDisplay(
        [0.5], 2, threshold=value
    ),
    "frequency runs": lambda value: SelectionFrequencyDisplay([0.5], value),
    "frequency level": lambda value: SelectionFrequencyDisplay(
        [0.5], 2, confidence_level=value
    ),
    "gamma": lambda value: ParetoRefit("a", "s", gamma=value),
    "tolerance": lambda value: ParetoRefit(
        "a", "s", strategy="tolerance", tolerance=value
    ),
    "front level": lambda value: pareto_front(
        RESULTS, "a", "s", with_uncertainty=True, confidence_level=value
    ),
    "n_splits": lambda value: BootstrapSplit(value).get_n_splits(),
    "n_failed": lambda value: Runs(TABLE, n_failed=value),
    "features": lambda value: Runs.from_sets([[0], [1]], value),
}


@pytest.mark.parametrize("value", [True, "1"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_bool_or_a_text_is_not_a_number(call, value):
    with pytest.raises((ValueError, TypeError), match=r"must be .*, got (True|'1')$"):
        call(value)


def test_sizes_of_a_profile_are_not_bools():
    from sklearn.feature_selection import SelectKBest

    with pytest.raises(
        ValueError, match=r"sizes must be numbers of features from 1 to 2, got \[True\]"
    ):
        stability_profile(SelectKBest(k="all"), X, Y, sizes=[True], cv=2)


# -- words, and errors of others ---------------------------------------------------------------------------------------

INCOMPARABLE = [
    pd.NA,
    np.zeros(3),
    pd.DataFrame({"a": [1]}),
    ["refit"],
    {"refit"},
    None,
    1,
]


@pytest.mark.parametrize("value", INCOMPARABLE, ids=lambda value: type(value).__name__)
def test_what_cannot_be_compared_is_not_a_word(value):
    assert not is_choice(value, "refit", "consensus")
    with pytest.raises(ValueError, match=r"^flag must be a bool, got "):
        check_bool(value, "flag")

    class Settings:
        support = value

    with pytest.raises(ValueError, match=r"^support must be 'refit', got "):
        check_parameters(
            Settings(),
            {"support": ("'refit'", lambda given: given in ("refit", "consensus"))},
        )


def test_words():
    assert is_choice("refit", "refit", "consensus")
    assert is_choice(np.str_("refit"), "refit")
    assert not is_choice("other", "refit")
    assert check_bool(np.True_, "flag") is True


class OwnError(ValueError):
    """An error of a user's code."""


@pytest.mark.parametrize(
    ("error", "names", "expected"),
    [
        (ValueError("bad shape"), ("X",), (ValueError, "^X can't be used: bad shape$")),
        (
            TypeError("no len"),
            ("X", "y", "groups"),
            (TypeError, "^X, y or groups can't be used: no len$"),
        ),
        (
            OverflowError("too large"),
            ("q",),
            (ValueError, "^q can't be used: too large$"),
        ),
        (ValueError("X has 3 columns"), ("X", "y"), (ValueError, "^X has 3 columns$")),
        (ValueError("XX is not X_"), ("X",), (ValueError, "^X can't be used")),
        (OwnError("mine"), ("X",), (OwnError, "^mine$")),
        (NotFittedError("not fitted"), ("X",), (NotFittedError, "^not fitted$")),
        (KeyError("key"), ("X",), (KeyError, "^'key'$")),
    ],
)
def test_errors_of_others_are_given_the_name_of_the_argument(error, names, expected):
    kind, message = expected
    with pytest.raises(kind, match=message) as caught, naming(*names):
        raise error
    assert caught.value is error or caught.value.__cause__ is error


def test_errors_that_name_another_argument_are_left_as_they_are():
    with (
        pytest.raises(ValueError, match=r"^pfer=1 is impossible$"),
        naming("X", or_names=["pfer", "q"]),
    ):
        raise ValueError("pfer=1 is impossible")
    with (
        pytest.raises(ValueError, match=r"^X can't be used: bad shape$"),
        naming("X", or_names=["pfer", "q"]),
    ):
        raise ValueError("bad shape")

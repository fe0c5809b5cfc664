"""A small part of `make fuzz`, always the same: everything public gives a finite result or a clear error."""

import inspect
import os
from zlib import crc32

import numpy as np
import pytest

from tests.discovery import PACKAGES, exported
from tests.fuzz.__main__ import search
from tests.fuzz.calls import Callee, arguments, is_record, parameters, public, unknown
from tests.fuzz.judgement import judged, numbers_in

PUBLIC = public()
SLOW = {
    "assess_selector",
    "compare_cohorts",
    "compare_selectors",
    "multiverse",
    "StabilityCV",
    "StabilitySearchCV",
    "stability_profile",
}

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="calls are stopped by a signal"
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Leave no files here, a text is a good name for a checkpoint; and show no figures."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")


@pytest.mark.parametrize("callee", PUBLIC, ids=lambda callee: callee.name)
def test_random_arguments_give_a_result_or_a_clear_error(callee):
    assert not unknown(callee), "tests/fuzz/values.py needs good values for them"
    rng = np.random.default_rng([1, crc32(callee.name.encode())])
    n_calls = (
        1
        if not parameters(callee)
        else 6
        if callee.name in SLOW or callee.name.endswith(".plot")
        else 16
    )
    found = [judged(callee, *arguments(callee, rng)) for _ in range(n_calls)]
    assert [
        verdict.complaint for verdict in found if verdict.complaint is not None
    ] == []
    assert sum(verdict.has_result for verdict in found) > 0


def test_everything_public_is_called():
    called = {callee.name for callee in PUBLIC}
    for package in PACKAGES:
        for name, thing in exported(package).items():
            if not (inspect.isclass(thing) and is_record(thing)):
                assert name in called
    assert called > {
        "Runs.take",
        "Measure.__call__",
        "StabilityCV.interval",
        "BootstrapSplit.split",
        "ParetoRefit",
    }
    assert called > {
        "StabilityPathDisplay.plot",
        "StabilityScorer.__call__",
        "SelectorComparison.pvalues",
    }


# -- what is wrong is found --------------------------------------------------------------------------------------------


def wrong(error=None, result=None):
    def call(supports):
        if error is not None:
            raise error
        return result

    return Callee("wrong", call)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyError("supports"), "KeyError"),
        (AttributeError("supports"), "AttributeError"),
        (FileNotFoundError("supports"), "FileNotFoundError"),
        (ValueError("odd"), "unnamed ValueError"),
        (TypeError("'float' object is not iterable"), "unnamed TypeError"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_errors_that_say_too_little_are_found(error, expected):
    has_result, complaint = judged(wrong(error), {"supports": 3}, ["supports"])
    assert not has_result
    assert complaint.startswith(expected)


def test_an_error_that_names_the_argument_is_clear():
    assert (
        judged(
            wrong(ValueError("supports must be a table")), {"supports": 3}, ["supports"]
        ).complaint
        is None
    )


@pytest.mark.parametrize(
    "result",
    [np.nan, np.array([1.0, np.inf]), {"a": np.nan}, [np.float64("nan")]],
    ids=repr,
)
def test_results_that_are_not_finite_are_found(result):
    assert judged(wrong(result=result), {"supports": 3}, []).complaint.startswith(
        "not finite"
    )
    assert [value is not None for _, value in numbers_in(result)] == [True]


def test_too_few_results_are_a_complaint():
    n_results, found, _ = search(
        wrong(ValueError("supports must be a table")), 8, seed=0
    )
    assert n_results == 0
    assert list(found) == ["only 0 results"]

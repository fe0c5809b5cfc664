"""A small part of `make fuzz`, always the same: nothing public answers with an error of another type."""

import os

import numpy as np
import pytest

from tests.fuzz.calls import UNNAMED, arguments, complaint, public, unknown_parameters

PUBLIC = public()
SLOW = {"assess_selector", "compare_selectors", "StabilityCV", "StabilitySelection", "stability_profile"}

pytestmark = pytest.mark.skipif(os.name != "posix", reason="calls are stopped by a signal")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Leave no files here: a text is a good name for a checkpoint."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("callee", PUBLIC, ids=lambda callee: callee.name)
def test_random_arguments_give_a_result_or_a_clear_error(callee):
    assert not unknown_parameters(callee), "tests/fuzz/values.py needs good values for them"
    rng = np.random.default_rng(1)
    drawn = [arguments(callee, rng) for _ in range(8 if callee.name in SLOW else 25)]
    found = [complaint(callee, each) for each in drawn]
    assert [text for text in found if text is not None and not text.startswith(UNNAMED)] == []


def test_a_quarter_of_all_draws_is_good():
    rng = np.random.default_rng(0)
    callee = next(callee for callee in PUBLIC if callee.name == "nogueira_stability")
    good = sum(complaint(callee, arguments(callee, rng)) is None for _ in range(200))
    assert good >= 50


def raises(error):
    def call(supports):
        raise error

    return call


@pytest.mark.parametrize("error", [KeyError("supports"), AttributeError("supports"), ValueError("odd")], ids=repr)
def test_what_is_wrong_is_found(error):
    wrong = PUBLIC[0]._replace(name="wrong", call=raises(error))
    expected = UNNAMED if isinstance(error, ValueError) else type(error).__name__
    assert complaint(wrong, {"supports": 3}).startswith(expected)
    assert complaint(PUBLIC[0]._replace(call=lambda supports: supports * np.nan), {"supports": 3.0}) == "result nan"

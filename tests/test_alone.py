"""Calls in processes of their own: what they return, what becomes of those that die or take too much."""

import os
import sys

import numpy as np
import pytest
from joblib import parallel_config

from skstab._engine.alone import AlonePool, DiedError, Limits, limits_of
from skstab._engine.pool import open_pool
from tests.deeds import die_of, do, raise_unprintable

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="processes are stopped by signals"
)


def test_what_dies_or_takes_too_much_harms_no_other(capfd):
    table = np.arange(200_000.0)
    deeds = ["exit", "first", "crash", "sleep", "swell", "print", "last"]
    pool = AlonePool(2, Limits(max_seconds=5, max_memory=200_000_000))
    calls = {number: (deed, table) for number, deed in enumerate(deeds)}
    found = {}
    for number, result in pool.as_finished(do, calls, lost=lambda error: error):
        found[deeds[number]] = result
    assert found.keys() == set(deeds)
    for deed, kind, words in [
        ("exit", DiedError, "ended with exit status 7"),
        ("crash", DiedError, "was ended by SIGSEGV"),
        ("sleep", TimeoutError, "longer than max_seconds=5"),
        ("swell", MemoryError, "more than max_memory=200000000 bytes"),
    ]:
        assert isinstance(found[deed], kind)
        assert words in str(found[deed])
    for deed in ("first", "print", "last"):
        *told, pid = found[deed]
        assert told == ["memmap", table.sum()]
        assert pid != os.getpid()
    assert capfd.readouterr().out == ""


def test_exceptions_are_raised_and_no_process_is_left():
    marked = []

    def closure(number):  # which can't be imported
        if number == 2:
            raise ZeroDivisionError(number)
        return os.getpid()

    made = AlonePool(1).as_finished(closure, {n: (n,) for n in range(4)}, lost=None)
    with pytest.raises(ZeroDivisionError):
        marked.extend(pid for _, pid in made)
    assert len(marked) == 2
    assert len(set(marked)) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(marked[0], 0)
    with pytest.raises(RuntimeError, match=r"UnprintableError: \(no message"):
        list(AlonePool(1).as_finished(raise_unprintable, {0: ()}, lost=None))


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ((0, None), "max_seconds must be None or a number above 0, got 0"),
        (("1", None), "max_seconds must be None or a number above 0, got '1'"),
        ((np.inf, None), "max_seconds must be None or a number above 0, got inf"),
        ((None, 1.5), "max_memory must be an int of at least 1, got 1.5"),
        ((None, 0), "max_memory must be an int of at least 1, got 0"),
    ],
)
def test_limits_are_checked(limits, words):
    with pytest.raises(ValueError, match=words):
        limits_of(*limits)


@pytest.mark.skipif(sys.platform.startswith("linux"), reason="where it can't be known")
def test_memory_is_limited_on_linux_only():
    with pytest.raises(ValueError, match="max_memory must be None on this system"):
        limits_of(None, 1000)


# joblib's own processes of this name are waited for for ever when one of them dies.
def test_two_fatal_calls_inside_a_context_are_two_lost_calls():
    calls = {number: (number, (3, 6)) for number in range(10)}
    with parallel_config("multiprocessing", n_jobs=2), open_pool(None) as pool:
        found = dict(pool.as_finished(die_of, calls, lost=type))
    assert {number: found.pop(number) for number in (3, 6)} == dict.fromkeys(
        (3, 6), DiedError
    )
    assert found == {number: number for number in range(10) if number not in (3, 6)}


def test_calls_that_may_not_begin_are_left_out():
    with open_pool(1) as pool:
        found = dict(
            pool.as_finished(
                divmod,
                {n: (n, 3) for n in range(4)},
                lost=None,
                may_begin={0, 3}.__contains__,
            )
        )
    assert found == {0: (0, 0), 3: (1, 0)}

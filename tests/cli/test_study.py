"""`skstab study`: what a checkpoint has, and how it is mended."""

import os
import platform
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_selection import VarianceThreshold
from sklearn.model_selection import KFold

from skstab import StabilityCV
from skstab._engine.checkpoint import open_checkpoint
from skstab._engine.owners import one_owner

KEYS = [b"%016d" % number for number in range(300)]


@pytest.fixture
def path(tmp_path):
    """A study of 300 runs: 280 made, 5 of them empty, 7 failed, 13 missing, of which 2 are under way and 3 were."""
    path = str(tmp_path / "runs.db")
    # Also what was made has the field, which then is None.
    made = {"a": np.arange(50.0), "fit_error": None}
    values = {key: dict(made) for key in KEYS[:280]}
    for key in KEYS[:5]:
        values[key]["emptied"] = True
    for key in KEYS[280:285]:
        values[key] = {"fit_error": "ValueError: \x1b[31mred\nand long " + "x" * 500}
    for key in KEYS[285:287]:
        values[key] = {"fit_error": "TimeoutError: longer than max_seconds=1"}
    with open_checkpoint(path) as file:
        file.begin("StabilityCV of \x1b[2JLasso", KEYS)
        file.write(values)
        file.claim(KEYS[290:293], f"{platform.node()}/1/9/0", left_by_the_dead=False)
    return path


def spoil(path, change):
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    connection.close()


def test_progress_and_causes_are_shown(path, command):
    with open_checkpoint(path) as file, one_owner() as owner:
        file.claim(KEYS[288:290], owner, left_by_the_dead=False)
        status, out, err = command("study", path)
    assert (status, err) == (0, "")
    lines = [line.strip() for line in out.splitlines()]
    assert lines[0].startswith(f"{path}: 287 results, ")
    assert lines[2].startswith("StabilityCV of  [2JLasso, begun 2")
    assert lines[3:7] == [
        "280 of 300 runs made",
        "5 of them selected nothing that could be fitted",
        "13 missing",
        lines[6],
    ]
    assert lines[6].startswith("5 failed with ValueError:  [31mred and long xxx")
    assert lines[7] == "2 failed with TimeoutError: longer than max_seconds=1"
    assert "2 runs under way in other processes" in lines
    assert lines[-1].startswith("3 runs under way when a process died")
    assert "\x1b" not in out


def test_retry_forgets_what_failed(path, command):
    _, out, _ = command("study", path, "--retry")
    assert out.startswith("forgot 7 runs that failed")
    assert "20 missing" in out
    assert " failed with" not in out
    with open_checkpoint(path) as file:
        assert sorted(file.keys()) == KEYS[:280]


def test_retry_keeps_the_runs_that_were_made(tmp_path, command):
    path, X = str(tmp_path / "runs.db"), np.random.default_rng(0).normal(size=(20, 3))
    runs = StabilityCV(VarianceThreshold(0.5), cv=KFold(4), checkpoint=path)
    runs.fit(X)
    status, out, _ = command("study", path, "--retry")
    assert (status, out.splitlines()[0]) == (
        0,
        "forgot 0 runs that failed: the next call makes them again",
    )
    assert "4 of 4 runs made" in out


def test_repair_removes_what_can_not_be_read(path, command):
    spoil(path, "UPDATE results SET value = x'00' WHERE rowid IN (3, 8)")
    _, out, _ = command("study", path)
    assert "278 of 300 runs made" in out
    assert "2 can't be read (--repair removes them)" in out
    _, out, _ = command("study", path, "--repair")
    assert out.startswith("removed 2 results that can't be read\n")
    assert "can't be read (" not in out
    assert "15 missing" in out


def test_repair_makes_a_new_file_of_what_can_be_read(path, command, complaint):
    whole = Path(path).read_bytes()
    middle = len(whole) // 2 // 4096 * 4096
    broken = whole[:middle] + b"\xff" * 4096 + whole[middle + 4096 :]
    Path(path).write_bytes(broken)
    assert "--repair" in complaint("study", path)
    status, out, _ = command("study", path, "--repair")
    assert status == 0
    assert f"kept as '{path}.damaged'" in out
    assert Path(f"{path}.damaged").read_bytes() == broken
    with open_checkpoint(path) as file:
        kept = list(file.keys())
        values, damaged = file.read(kept)
    assert 240 < len(kept) < 287
    assert not damaged
    np.testing.assert_array_equal(values[KEYS[0]]["a"], np.arange(50.0))


def test_what_is_not_a_checkpoint_stays_as_it_is(tmp_path, complaint):
    path = tmp_path / "table.csv"
    assert f"there is no file '{path}'" in complaint("study", str(path))
    assert not path.exists()
    path.write_text("a,b\n1,2\n" * 100)
    assert "is not a file of skstab" in complaint("study", str(path), "--repair")
    assert path.read_text() == "a,b\n1,2\n" * 100


def test_a_file_made_to_do_harm_is_not_repaired(path, complaint):
    spoil(path, "CREATE VIEW v AS SELECT * FROM results")
    assert "made to do harm" in complaint("study", path, "--repair")
    assert not os.path.exists(f"{path}.damaged")

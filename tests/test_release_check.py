"""What `make release-check` tries: every Python at hand that starts."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
SCRIPT = TOP / ".ci" / "release_check.py"

pytestmark = pytest.mark.skipif(
    not SCRIPT.exists(), reason="the script is not part of an installed package"
)


def launcher(path, status):
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\nexit {status}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def pythons(tmp_path, monkeypatch):
    """The search, with a PATH on which 3.12 is a launcher that does not start."""
    launcher(tmp_path / "path" / "python3.12", 1)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    return runpy.run_path(str(SCRIPT))["pythons"]


def test_a_version_that_does_not_start_on_path_is_found_where_it_is_installed(
    tmp_path, pythons
):
    works = launcher(tmp_path / "versions" / "3.12.1" / "bin" / "python3.12", 0)
    launcher(tmp_path / "versions" / "3.13.0" / "bin" / "python3.13", 1)
    assert pythons([tmp_path / "versions"]) == {"python3.12": works}


def test_versions_that_the_package_does_not_support_are_not_tried(tmp_path, pythons):
    launcher(tmp_path / "versions" / "3.10.1" / "bin" / "python3.10", 0)
    assert pythons([tmp_path / "versions"]) == {}


def test_what_the_package_declares_is_known():
    assert {"python3.11", "python3.13"} <= runpy.run_path(str(SCRIPT))["declared"]()


def test_the_oldest_versions_that_are_tried_are_those_that_are_allowed():
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    allowed = dict(one.split(">=") for one in project["project"]["dependencies"])
    pins = re.search(r'PIN="(.*==.*)"', (TOP / "Makefile").read_text(encoding="utf-8"))
    tried = dict(one.split("==") for one in pins[1].split())
    assert tried.keys() == allowed.keys()
    for name, version in allowed.items():
        numbers = version.split(".")
        assert tried[name].split(".") == numbers + ["0"] * (3 - len(numbers))

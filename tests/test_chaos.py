"""A small part of the chaos, which `make chaos` runs as a whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(os.name != "posix", reason="processes are disturbed by signals")
def test_a_few_disturbed_studies_end_as_they_should():
    command = [sys.executable, "-m", "tests.chaos", "--light", "--draws", "6"]
    root = Path(__file__).parents[1]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 draws, 0 of them failed" in done.stdout

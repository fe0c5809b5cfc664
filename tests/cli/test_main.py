"""The command as a whole: help, exit statuses, interruptions, and what importing it costs."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import skstab
from skstab._cli import _measure_command, _terminal
from skstab._cli._arguments import SELECTORS
from skstab._report.selectors import SETTINGS
from tests.deeds import wait_until

ROOT = Path(__file__).parents[2]


def run(*arguments, **options):
    command = [sys.executable, "-m", "skstab", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, **options
    )


def test_the_module_runs_as_a_command():
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"skstab {skstab.__version__}\n",
        "",
    )


def test_an_error_is_one_line_and_status_2():
    done = run("measure", "missing.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "skstab: error: there is no file 'missing.csv'\n"


def test_a_reader_that_has_enough_is_no_error(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("1,0,1\n1,1,0\n0,1,1\n")
    command = [sys.executable, "-m", "skstab", "measure", str(path), "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


def test_importing_the_command_loads_nothing_heavy():
    code = "import sys; import skstab.__main__; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not set(done.stdout.split()) & {
        "matplotlib",
        "jinja2",
        "sklearn",
        "pandas",
        "numpy",
    }


def test_without_a_command_the_help_is_printed(capsys):
    with pytest.raises(SystemExit) as left:
        skstab_main([])
    assert left.value.code in (0, None)
    assert "examples:" in capsys.readouterr().out


def skstab_main(arguments):
    from skstab.__main__ import main

    return main(arguments)


COMMANDS = [
    path.stem[1:].removesuffix("_command")
    for path in Path(_terminal.__file__).parent.glob("_*_command.py")
]
every_command = pytest.mark.parametrize("name", sorted(COMMANDS))


def test_the_commands_are_found():
    assert {"demo", "report", "measure"} <= set(COMMANDS)


@every_command
def test_every_command_has_help_with_examples(name, capsys):
    with pytest.raises(SystemExit) as left:
        skstab_main([name, "--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert f"  skstab {name}" in text.partition("examples:")[2]


@every_command
def test_every_command_has_a_section_in_the_documentation(name):
    page = Path(skstab.__file__).parents[1] / "docs" / "command_line.md"
    if not page.exists():
        pytest.skip("the documentation is not part of an installed package")
    assert re.search(
        rf"^## .*`skstab {name}`$", page.read_text(encoding="utf-8"), flags=re.MULTILINE
    )


@every_command
def test_every_command_has_tests_of_its_own(name):
    assert Path(__file__).with_name(f"test_{name}.py").exists()


def test_the_help_names_every_selector(capsys):
    with pytest.raises(SystemExit):
        skstab_main(["report", "--help"])
    text = "".join(capsys.readouterr().out.split())
    assert ",".join(SELECTORS) in text
    assert set(SELECTORS) == set(SETTINGS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bogus"], "invalid choice: 'bogus'"),
        (["report", "x.csv"], "--target"),
        (["report", "x.csv", "--target", "y", "--resamples", "2"], "at least 3"),
        (["report", "x.csv", "--target", "y", "--selector", "magic"], "magic"),
        (["measure", "x.csv", "--level", "1.5"], "between 0 and 1"),
        (["measure", "x.csv", "--seed", "many"], "--seed"),
        (["demo", "--jobs", "0"], "must not be 0"),
    ],
)
def test_wrong_arguments_are_told_in_a_line(arguments, words, complaint):
    assert words in complaint(*arguments)


def test_ctrl_c_ends_with_a_line_and_status_130(monkeypatch, command):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_measure_command, "run", interrupted)
    assert command("measure", "x.csv") == (130, "", "skstab: interrupted\n")


BUSY = """
import sys
from skstab.__main__ import main
from skstab._cli import _measure_command
from skstab._engine.pool import open_pool
from tests.deeds import mark_and_double

def run(_):
    limits = {"max_seconds": 1000} if sys.argv[2] == "alone" else {}
    with open_pool(2, **limits) as pool:
        calls = {n: (n, sys.argv[1], {"seconds": 900}) for n in range(2)}
        dict(pool.as_finished(mark_and_double, calls, lost=None))

_measure_command.run = run
sys.exit(main(["measure", "x.csv"]))
"""


@pytest.mark.skipif(os.name != "posix", reason="processes are asked by signals")
@pytest.mark.parametrize(
    ("name", "workers"), [("SIGTERM", "together"), ("SIGHUP", "alone")]
)
def test_who_asks_the_command_to_end_leaves_no_child(tmp_path, name, workers):
    psutil = pytest.importorskip("psutil")
    number = getattr(signal, name)
    command = [sys.executable, "-c", BUSY, str(tmp_path), workers]
    with subprocess.Popen(
        command, cwd=ROOT, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until(lambda: len(os.listdir(tmp_path)) == 2)
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) >= 2
        process.send_signal(number)
        assert process.stderr.read() == "skstab: interrupted\n"
    assert process.returncode == 128 + number
    assert not psutil.wait_procs(children, timeout=300)[1]


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
@pytest.mark.parametrize("arguments", [["demo"], ["report", "x.csv", "--target", "y"]])
def test_a_missing_extra_is_told_before_anything_runs(
    package, arguments, monkeypatch, complaint
):
    monkeypatch.setitem(sys.modules, package, None)
    line = complaint(*arguments)
    assert package in line
    assert "pip install jinja2 matplotlib" in line


# -- progress ----------------------------------------------------------------------------------------------------------


class Screen:
    def __init__(self, *, is_terminal):
        self.is_terminal, self.text = is_terminal, ""

    def isatty(self):
        return self.is_terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.fixture
def watched(monkeypatch):
    def go(*, is_terminal):
        screen = Screen(is_terminal=is_terminal)
        monkeypatch.setattr(sys, "stderr", screen)
        with _terminal.Progress("working", 2) as progress:
            progress.advance()
            progress.advance()
        return screen.text

    return go


def test_a_terminal_sees_a_bar_that_fills(watched):
    drawn = watched(is_terminal=True).split("\r")
    assert [line.count("#") for line in drawn] == [0, 0, 15, 30]
    assert "2/2" in drawn[-1]
    assert drawn[-1].endswith("\n")


def test_elsewhere_progress_is_a_plain_line(watched):
    assert watched(is_terminal=False) == "working (2) ...\n"


def test_errors_are_squeezed_into_a_line():
    assert str(_terminal.UserError("first\nsecond   third")) == "first second third"


def test_names_that_a_terminal_can_not_show_are_no_error(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("名,b\n1,0\n1,1\n0,2\n", encoding="utf-8")
    done = run("measure", str(path), env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 2
    assert "only 0 and 1" in done.stderr

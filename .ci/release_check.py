"""Check what would be released: the sdist is complete, and the wheel alone runs the README's first example."""

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

TOP = Path(__file__).parents[1]
PYTHONS = [f"python3.{minor}" for minor in range(11, 20)]
# For the forge alone; a release does not need them.
NOT_RELEASED = (".github/", ".pre-commit-config.yaml")
RUN = """
import doctest, sys
from pathlib import Path
test = doctest.DocTestParser().get_doctest(Path(sys.argv[1]).read_text(encoding="utf-8"), {}, "README", "README.md", 0)
flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
sys.exit(doctest.DocTestRunner(optionflags=flags).run(test).failed)
"""


def main(folder):
    """Check both files in the folder; an error ends with a status that is not zero."""
    (sdist,), (wheel,) = Path(folder).glob("*.tar.gz"), Path(folder).glob("*.whl")
    if missing := tracked() - contents(sdist):
        sys.exit(f"{sdist.name} lacks {', '.join(sorted(missing))}")
    print(f"{sdist.name}: complete")
    for python in filter(runs, PYTHONS):
        check_wheel(python, wheel.resolve())


def runs(python):
    """Whether a version is at hand: a launcher of a version that is not installed does not run."""
    return shutil.which(python) and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def tracked():
    """Files under version control that a release must contain; none outside a checkout."""
    if not (TOP / ".git").exists():
        return set()
    listed = subprocess.run(["git", "ls-files"], cwd=TOP, capture_output=True, text=True, check=True).stdout
    return {name for name in listed.splitlines() if not name.startswith(NOT_RELEASED)}


def contents(sdist):
    """Names in an sdist, below its only folder."""
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def check_wheel(python, wheel):
    """Install the wheel with its core dependencies in a fresh environment and run the example there."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", f"{folder}/env"], check=True)
        fresh = f"{folder}/env/bin/python"
        subprocess.run([fresh, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True)
        Path(folder, "example.md").write_text(first_example(), encoding="utf-8")
        subprocess.run([fresh, "-I", "-c", RUN, "example.md"], cwd=folder, check=True)
    print(f"{wheel.name}: the README's first example runs on {python} with core dependencies alone")


def first_example():
    """Return the first block of Python code in the README."""
    text = (TOP / "README.md").read_text(encoding="utf-8")
    return re.search(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)[1]


if __name__ == "__main__":
    main(*sys.argv[1:])

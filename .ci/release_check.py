"""Check what would be released: the sdist is complete, and the wheel alone runs the README's first example."""

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

TOP = Path(__file__).parents[1]
NAMES = [f"python3.{minor}" for minor in range(11, 20)]
# Where pyenv and uv install; pyenv's own launchers on PATH run only the versions that were chosen.
FOLDERS = ("~/.pyenv/versions", "~/.local/share/uv/python")
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
    check_same_again(sdist, wheel)
    found = pythons()
    for python in found.values():
        check_wheel(python, wheel.resolve())
    if missing := sorted(declared() - set(found)):
        print(f"not tried, as they are not at hand: {', '.join(missing)}")


def check_same_again(*built):
    """Build both again: the bytes must be the same."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "build", "--outdir", folder],
            cwd=TOP,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for path in built:
            if digest(path) != digest(Path(folder, path.name)):
                sys.exit(f"{path.name} is not the same when it is built again")
            print(f"{path.name}: the same when it is built again, {digest(path)}")


def digest(path):
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pythons(folders=FOLDERS):
    """Return one interpreter for each version at hand, by its name: on PATH first, then in these folders."""
    found = {}
    for name in NAMES:
        installed = [
            path
            for folder in folders
            for path in Path(folder).expanduser().glob(f"*/bin/{name}")
        ]
        if working := next(
            filter(runs, filter(None, [shutil.which(name), *installed])), None
        ):
            found[name] = str(working)
    return found


def declared():
    """Names of the versions that the package says it supports."""
    text = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    return {f"python{version}" for version in re.findall(r"Python :: (3\.\d+)", text)}


def runs(python):
    """Whether an interpreter starts: a launcher of a version that is not installed does not."""
    return (
        subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode
        == 0
    )


def tracked():
    """Files under version control that a release must contain; none outside a checkout."""
    if not (TOP / ".git").exists():
        return set()
    listed = subprocess.run(
        ["git", "ls-files"], cwd=TOP, capture_output=True, text=True, check=True
    ).stdout
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
        subprocess.run(
            [
                fresh,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                wheel,
            ],
            check=True,
        )
        Path(folder, "example.md").write_text(first_example(), encoding="utf-8")
        subprocess.run([fresh, "-I", "-c", RUN, "example.md"], cwd=folder, check=True)
    print(
        f"{wheel.name}: the README's first example runs on {python} with core dependencies alone"
    )


def first_example():
    """Return the first block of Python code in the README."""
    text = (TOP / "README.md").read_text(encoding="utf-8")
    return re.search(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)[1]


if __name__ == "__main__":
    main(*sys.argv[1:])

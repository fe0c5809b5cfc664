"""The house on one page, drawn from the code: its rooms, the doors between them, the road of a table, where to begin.

`python docs/architecture.py` prints what `docs/architecture.md` shows.
"""

import ast
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.pyplot import close
from sklearn.base import clone
from sklearn.linear_model import Lasso

import skstab

HOUSE = Path(skstab.__file__).parent


def modules():
    """Every module of the package."""
    return sorted(HOUSE.rglob("*.py"))


def room_of(path):
    """Name of the folder that a module is in, or of the module where that is the package itself."""
    parts = path.relative_to(HOUSE).with_suffix("").parts
    return parts[0]


def purpose_of(path):
    """First line of what a module says of itself."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def rooms():
    """Folders of the package with what they are, how many modules they have, and the folders that they import."""
    folders = [path.parent for path in HOUSE.glob("*/__init__.py")]
    found = {}
    for folder in folders:
        inside = sorted(folder.rglob("*.py"))
        doors = set().union(*map(imported_rooms, inside)) - {folder.name}
        names = {other.name for other in folders}
        found[folder.name] = {
            "purpose": purpose_of(folder / "__init__.py"),
            "modules": len(inside),
            "doors": doors & names,
        }
    return dict(sorted(found.items(), key=lambda room: (height(room[0], found), room)))


def imported_rooms(path):
    """Rooms of the package that a module imports from."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [f"{node.module}.{alias.name}" for alias in node.names]
            if isinstance(node, ast.ImportFrom) and node.module
            else []
        )
    ]
    return {name.split(".")[1] for name in names if name.startswith("skstab.")}


def height(room, found):
    """How many floors of rooms are below one: 0 for a room that imports no other."""
    doors = found[room]["doors"]
    return 1 + max(height(door, found) for door in doors) if doors else 0


def road():
    """Calls of each module, in the order in which a table first passes it, from `fit` to a picture."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 5)), columns=list("abcde"))
    calls = Counter()

    def watch(frame, event, _):
        file = frame.f_code.co_filename
        is_function = not frame.f_code.co_name.startswith("<")
        if event == "call" and is_function and file.startswith(str(HOUSE)):
            calls[Path(file), frame.f_code.co_name] += 1

    y = X["a"] - X["b"] + rng.normal(size=40)
    runs = skstab.StabilityCV(Lasso(0.1), cv=5, random_state=0)
    runs.fit(X, y).plot()  # imports everything
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        clone(runs).fit(X, y).plot()
    finally:
        sys.setprofile(before)
        close("all")
    return Counter(path for path, _ in calls)


def rooms_page():
    """Table of the rooms, those that import no other first."""
    lines = ["| room | what is in it | modules | opens to |", "|---|---|---|---|"]
    for name, room in rooms().items():
        doors = ", ".join(f"`{door}`" for door in sorted(room["doors"])) or "–"
        cells = (f"`{name}`", room["purpose"], str(room["modules"]), doors)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def road_page():
    """Numbered list of the modules on the road."""
    lines = [
        f"{number}. `{path.relative_to(HOUSE).as_posix()}`: {purpose_of(path)}"
        for number, path in enumerate(road(), start=1)
    ]
    return "\n".join(lines)


def first_files_page(n=10):
    """Modules of the rooms that do most on the road, in its order."""
    passed = road()
    inside = Counter(
        {
            path: n_functions
            for path, n_functions in passed.items()
            if path.parent != HOUSE
        }
    )
    most = {path for path, _ in inside.most_common(n)}
    lines = [
        f"{number}. `{path.relative_to(HOUSE).as_posix()}` ({passed[path]} functions are passed)"
        for number, path in enumerate(
            (path for path in passed if path in most), start=1
        )
    ]
    return "\n".join(lines)


PAGES = {
    "rooms": rooms_page,
    "road": road_page,
    "first_files": first_files_page,
}

if __name__ == "__main__":
    for title, page in PAGES.items():
        sys.stdout.write(f"{title}\n\n{page()}\n\n")

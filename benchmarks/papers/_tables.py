"""What the scripts of all papers share: their options, tables of published against measured values, figures, data sets.

A script of a paper looks like this:

    from _tables import claim, compare, figure, load, number, options, title

    def table_1(opts):
        X_y = load(opts, "sonar")
        if X_y is None:  # it has said where the set is published
            return
        compare("Table 1: accuracy", [number("sonar", 0.75, accuracy(*X_y))])
        with figure(opts, "table_1") as axes:
            axes.plot(...)

    if __name__ == "__main__":
        opts = options(__doc__)
        title("surname2020")
        table_1(opts)

Everything goes to standard output as Markdown; figures go to the folder of `--out`.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd

import skstab

mpl.use("Agg")

ROOT = Path(__file__).resolve().parents[2]
_STARTED = time.perf_counter()

PUBLISHED_AT = {
    "alon": "Alon et al. (1999), PNAS 96",
    "arcene": "UCI, Arcene",
    "borovecki": "Borovecki et al. (2005), PNAS 102",
    "chiaretti": "Chiaretti et al. (2004), Blood 103",
    "gastro": "UCI, Gastrointestinal Lesions in Regular Colonoscopy",
    "golub": "Golub et al. (1999), Science 286",
    "gravier": "Gravier et al. (2010), Genes, Chromosomes and Cancer 49",
    "ionosphere": "UCI, Ionosphere",
    "lsvt": "UCI, LSVT Voice Rehabilitation",
    "madelon": "UCI, Madelon (training and validation rows)",
    "singh": "Singh et al. (2002), Cancer Cell 1",
    "sonar": "UCI, Connectionist Bench (Sonar, Mines vs. Rocks)",
    "spambase": "UCI, Spambase",
}


# -- options -----------------------------------------------------------------------------------------------------------


def options(description: str, argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse `--quick`, `--out DIR` and `--data DIR`."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer repeats: a minute")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parent / "figures",
        help="folder of the figures",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=ROOT.parent / "shared" / "data",
        help="folder of the data sets",
    )
    opts = parser.parse_args(argv)
    if opts.quick:
        print(
            "With --quick, samples are small: a claim may fail here that holds at the sizes of the full run.\n"
        )
    return opts


# -- tables ------------------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """One line of a table of published against measured values."""

    what: str
    published: str
    measured: str
    distance: str


def number(what: str, published: float, measured: float, *, digits: int = 2) -> Row:
    """A published number; the distance is measured − published."""
    measured = round(measured, digits) + 0.0  # no negative zero
    distance = measured - round(published, digits) + 0.0
    return Row(
        what,
        f"{published:.{digits}f}",
        f"{measured:.{digits}f}",
        f"{distance:+.{digits}f}",
    )


def claim(what: str, published: str, measured: Any, *, holds: bool) -> Row:
    """A published statement without a number; the distance is whether it holds."""
    return Row(
        what, published, str(measured), "holds" if holds else "**does not hold**"
    )


def title(text: str) -> None:
    """Open the results of a paper, with the date and the versions."""
    packages = ["numpy", "scipy", "scikit-learn"]
    versions = [
        f"Python {platform.python_version()}",
        *(f"{name} {version(name)}" for name in packages),
    ]
    print(
        f"# {text}\n\n{date.today()}, {', '.join(versions)}, skstab {skstab.__version__}."
    )


def section(text: str) -> None:
    print(f"\n## {text}\n")


def note(text: str) -> None:
    print(f"\n{text}", flush=True)


def compare(text: str, rows: Iterable[Row]) -> None:
    """Print a section with a table *published | measured | distance*."""
    section(text)
    show(pd.DataFrame(rows, columns=["", "published", "measured", "distance"]))


def show(frame: pd.DataFrame) -> None:
    """Print a frame as a Markdown table, without its index."""
    for row in [frame.columns, ["---"] * frame.shape[1], *frame.to_numpy()]:
        print("|", " | ".join(map(str, row)), "|")
    print(end="", flush=True)


def elapsed() -> None:
    """Close the results with the time that the script took."""
    note(f"Time: {(time.perf_counter() - _STARTED) / 60:.1f} minutes.")


# -- figures -----------------------------------------------------------------------------------------------------------


@contextmanager
def figure(
    opts: argparse.Namespace, name: str, rows: int = 1, columns: int = 1, **params: Any
) -> Iterator[Any]:
    """Axes (one, or an array of them) of a figure that is saved as `<out>/<name>.png` in the end."""
    import matplotlib.pyplot as plt

    params = {"figsize": (5.2 * columns, 3.8 * rows), "layout": "constrained", **params}
    drawn, axes = plt.subplots(rows, columns, **params)
    yield axes
    opts.out.mkdir(parents=True, exist_ok=True)
    drawn.savefig(opts.out / f"{name}.png", dpi=110)
    plt.close(drawn)


# -- data sets ---------------------------------------------------------------------------------------------------------


def load(opts: argparse.Namespace, name: str) -> tuple[Any, Any] | None:
    """X and y of a data set; None, and a line that says where it is published, without its file."""
    path = opts.data / f"{name}.npz"
    if not path.exists():
        note(
            f"Skipped {name}: no {path.name} in the folder of --data. The set is published at {PUBLISHED_AT[name]}."
        )
        return None
    with np.load(path) as stored:
        return stored["X"].astype(np.float64), stored["y"]

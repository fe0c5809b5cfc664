"""`skstab report` as a user would run it: noise, leaks, sizes, and sets whose features the literature names.

    python benchmarks/report.py noise            # of 20 tables of noise, how many get a recommendation
    python benchmarks/report.py leaks            # whether each leak is named
    python benchmarks/report.py sizes            # CPU seconds and memory of 100 × 20 000 and 97 000 × 93
    python benchmarks/report.py sets --data DIR  # which features are published for alon, golub and spambase (NPZ files)

CPU time is that of the process and of its workers together.
"""

import argparse
import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import io
import resource
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd

from skstab.__main__ import main as skstab

N_TABLES = 20


def report(table, folder, *options):
    """Write a table and its report; return what the command said, and the size of the page."""
    file, page = Path(folder) / "table.csv", Path(folder) / "page.html"
    table.to_csv(file, index=False)
    page.unlink(missing_ok=True)
    with (
        redirect_stdout(io.StringIO()) as said,
        redirect_stderr(io.StringIO()) as wrong,
    ):
        status = skstab(["report", str(file), "-o", str(page), *options])
    assert status == 0, wrong.getvalue()
    return said.getvalue(), page.stat().st_size


def noise_table(seed):
    """Classes, numbers or survival that have nothing to do with any feature."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(40, 150)), int(rng.integers(8, 60))
    table = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"x{i}" for i in range(d)])
    if seed % 4 == 3:
        times = {
            "time": rng.exponential(size=n).round(3),
            "event": rng.integers(2, size=n),
        }
        return table.assign(**times), ["--time", "time", "--event", "event"]
    target = rng.normal(size=n) if seed % 4 == 2 else rng.choice(["a", "b"], size=n)
    return table.assign(y=target), ["--target", "y"]


def noise():
    found = []
    for seed in range(N_TABLES):
        table, target = noise_table(seed)
        with tempfile.TemporaryDirectory() as folder:
            said, _ = report(table, folder, *target, "--jobs", "1")
        found.append("\nTake " in said)
        print(
            f"table {seed}: {table.shape}, {'recommended' if found[-1] else 'none recommended'}",
            flush=True,
        )
    print(
        f"{sum(found)} of {N_TABLES} tables of noise got a recommendation; at most 3 are expected at the level of 5%"
    )


def leak_tables():
    """A table with two weak features and a column that gives the target away, by the name of the leak."""
    rng = np.random.default_rng(0)
    n = 90
    table = pd.DataFrame(rng.normal(size=(n, 6)), columns=[f"x{i}" for i in range(6)])
    signal = table["x0"] + table["x1"] + 2 * rng.normal(size=n)
    ill = signal > signal.median()
    table = table.assign(y=np.where(ill, "ill", "well"))
    leaks = {
        "copy of the target as text": np.where(ill, "case", "control"),
        "copy of the target as a number": np.where(ill, 1.0, 0.0)
        + 0.05 * rng.normal(size=n),
        "letter that names the diagnosis": [
            f"letter {i}: {label}" for i, label in enumerate(table["y"])
        ],
        "value known only afterwards": np.where(
            ill, rng.uniform(5, 9, n), rng.uniform(0, 4, n)
        ),
        "both ends": np.where(ill, np.sign(rng.normal(size=n)) * 4, 0)
        + 0.1 * rng.normal(size=n),
    }
    return {name: table.assign(leak=values) for name, values in leaks.items()}


def leaks():
    for name, table in leak_tables().items():
        with tempfile.TemporaryDirectory() as folder:
            said, _ = report(
                table,
                folder,
                "--target",
                "y",
                "--resamples",
                "5",
                "--selector",
                "k-best",
                "--jobs",
                "1",
            )
        named = any(
            "Possible leak" in line and "'leak'" in line for line in said.splitlines()
        )
        print(f"{name}: {'named' if named else 'NOT NAMED'}", flush=True)


def sizes():
    for n, d in ((100, 20_000), (97_000, 93)):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        y = np.where(X[:, :5].sum(axis=1) + 2 * rng.normal(size=n) > 0, "ill", "well")
        table = pd.DataFrame(X.round(4), columns=[f"gene{i}" for i in range(d)]).assign(
            y=y
        )
        before = cpu()
        with tempfile.TemporaryDirectory() as folder:
            _, size = report(table, folder, "--target", "y", "--jobs", "2")
        most = max(
            resource.getrusage(who).ru_maxrss
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        print(
            f"{n} × {d}: {cpu() - before:.0f} CPU seconds, largest process so far {most / 1024:.0f} MB, page "
            f"{size / 1e6:.2f} MB",
            flush=True,
        )


def cpu():
    parts = [
        resource.getrusage(who)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return sum(part.ru_utime + part.ru_stime for part in parts)


def sets(folder):
    for name in ("alon", "golub", "spambase"):
        path = Path(folder) / f"{name}.npz"
        if not path.exists():
            print(f"{name}: skipped, there is no {path}")
            continue
        stored = np.load(path)
        table = pd.DataFrame(stored["X"], columns=stored["feature_names"]).assign(
            **{"class of row": stored["y"]}
        )
        with tempfile.TemporaryDirectory() as place:
            said, size = report(table, place, "--target", "class of row", "--jobs", "1")
        print(
            f"-- {name}, page {size / 1e6:.2f} MB\n{said.partition('Assessing')[2]}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("noise", "leaks", "sizes", "sets"))
    parser.add_argument(
        "--data", default=".", help="folder with NPZ files of X, y and feature_names"
    )
    chosen = parser.parse_args()
    if chosen.part == "sets":
        sets(chosen.data)
    else:
        {"noise": noise, "leaks": leaks, "sizes": sizes}[chosen.part]()

"""Tables with everything that a user may hand in, and a way to run commands."""

import numpy as np
import pandas as pd
import pytest

from skstab.__main__ import main
from skstab._report.dataset import Endpoint, dataset_of

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "{{7*7}}",
    "{% raw %}",
    "$x$",
    "--><svg onload=alert(3)>",
    "\u202eשלום",
    'it\'s\\n"quoted"',
    "control\x01",
]


def patients(n=80, seed=0):
    """Numbers, categories, missing values, an identifier, a constant and an empty column."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        rng.normal(size=(n, 4)), columns=["age", "dose", "weight", "noise"]
    )
    table["colour"] = rng.choice(["red", "green", "blue"], size=n)
    table["sex"] = rng.choice(["f", "m"], size=n)
    signal = (
        table["age"]
        + table["dose"]
        + 2.0 * (table["colour"] == "red")
        + 0.3 * rng.normal(size=n)
    )
    table["outcome"] = np.where(signal > signal.median(), "ill", "well")
    table["score"] = signal
    table["id"] = [f"p{i}" for i in range(n)]
    table["site"] = 1
    table["empty"] = np.nan
    table.loc[rng.random(n) < 0.1, "dose"] = np.nan
    table.loc[rng.random(n) < 0.1, "colour"] = None
    return table


def hostile(n=60, seed=0):
    """Names and values of columns that are not to be trusted."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, len(HOSTILE))), columns=HOSTILE)
    table["<b>"] = rng.choice(["<i>x", "</td>", "y"], size=n)
    signal = table[HOSTILE[0]] + table[HOSTILE[1]] + 0.3 * rng.normal(size=n)
    table["<i>target</i>"] = np.where(signal > 0, "<u>yes</u>", "no")
    return table


def made_again(found, target, **options):
    """Features and target from the table that the code of a data set makes."""
    names = {"pd": pd}
    exec("\n".join(found.code), names)  # noqa: S102  that it gives the same is what is tested
    return dataset_of(names["data"], Endpoint(target), **options)


@pytest.fixture
def table_file(tmp_path):
    """Write a table and return its path."""

    def write(table, name="table.csv"):
        path = tmp_path / name
        if path.suffix == ".parquet":
            table.to_parquet(path)
        else:
            table.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
        return str(path)

    return write


@pytest.fixture
def command(capsys):
    """Run a command; return its status and what it wrote."""

    def run(*arguments):
        status = main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        return status, written.out, written.err

    return run


@pytest.fixture
def complaint(command):
    """Run a command that must fail with a single line; return the line."""

    def run(*arguments):
        status, out, err = command(*arguments)
        assert status == 2
        lines = err.splitlines()
        assert len(lines) == 1
        assert lines[0].startswith("skstab: error: ")
        assert "Traceback" not in out + err
        return lines[0].removeprefix("skstab: error: ")

    return run

"""From a file to features and a target, with the Python code that reads the same table."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from skstab._cli._cells import ReadTable, read_table
from skstab._cli._formats import ReadOptions
from skstab._report.dataset import Dataset, Endpoint, dataset_of
from skstab._report.words import UserError, listed, plural

if TYPE_CHECKING:
    import pandas as pd

_AS_FOUND = ReadOptions()


def read_dataset(
    path: str,
    endpoint: str | Endpoint,
    task: str,
    *,
    options: ReadOptions = _AS_FOUND,
    groups: str | None = None,
    rare_classes: str | None = None,
) -> Dataset:
    """Read a table and make features and a target from it."""
    wanted = Endpoint(endpoint) if isinstance(endpoint, str) else endpoint
    table = read_table(path, options, target=wanted.columns[0])
    _check_columns(table.frame, wanted.columns, groups, path)
    frame, notes, code = _one_of_each(table, wanted.columns)
    data = dataset_of(
        frame, wanted, task=task, groups=groups, rare_classes=rare_classes
    )
    return replace(
        data,
        notes=[*table.notes, *notes, *data.notes],
        code=[*table.code, *code],
    )


def _check_columns(
    data: pd.DataFrame, targets: list[str], groups: str | None, path: str
) -> None:
    for name in (*targets, groups):
        if name is not None:
            _check_column(data, name, path)


def _check_column(data: pd.DataFrame, target: str, path: str) -> None:
    names = [str(name) for name in data.columns]
    if target in names:
        return
    close = get_close_matches(target, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {listed(names)}"
    raise UserError(f"there is no column {target!r} in {path!r}; {hint}")


def _one_of_each(
    table: ReadTable, targets: list[str]
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Leave out further columns with the name of a target."""
    notes: list[str] = []
    code: list[str] = []
    for target in targets:
        frame, note, lines = _one_target(table, target)
        table = table._replace(frame=frame)
        notes, code = notes + note, code + lines
    return table.frame, notes, code


def _one_target(
    table: ReadTable, target: str
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Leave out further columns with the name of the target, which must be equal to it."""
    again = [name for name, header in table.headers.items() if header == target]
    if not again:
        return table.frame, [], []
    for name in again:
        if not table.frame[name].equals(table.frame[target]):
            raise UserError(
                f"there are several columns {target!r} that differ: rename those that are not the target"
            )
    note = f"{plural(len(again), 'more column')} named {target!r}, with the same values: left out."
    return (
        table.frame.drop(columns=again),
        [note],
        [f"data = data.drop(columns={again!r})"],
    )

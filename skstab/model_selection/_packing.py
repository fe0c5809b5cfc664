"""Selections as numbers: what a scorer may return and a search keep, 52 features in each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from skstab._typing import BoolArray, FloatArray, NamesLike
from skstab.runs import Reading, Runs, Selection

__all__ = ["PREFIX", "PackedTable", "is_packed", "pack", "read_scores", "read_table"]

# A float holds every integer below 2**53.
_BITS = 52
PREFIX = "packed_"
_SCORING, _WIDTH, _DROPS = "packed_scoring", "packed_width", "packed_drops"
_ALIAS = "packed_alias"
_SUPPORT, _IMPORTANCE = "packed_support_", "packed_importance_"
_COLUMN = re.compile(
    r"(split(?P<split>\d+)|mean|std|rank)_(?P<part>test|train)_(?P<name>.*)"
)


def pack(
    reading: Reading,
    scores: Mapping[str, float],
    scoring: int,
    *,
    with_importances: bool,
) -> dict[str, float]:
    """Write scores, what a run selected, and the number of the scoring that read it, as floats.

    Searches that choose by themselves ask for `score`: that is the first one.
    """
    packed = dict(scores)
    if scores and "score" not in scores:
        packed |= {"score": next(iter(scores.values())), _ALIAS: 1.0}
    used = reading.used
    packed |= {_SCORING: float(scoring), _WIDTH: float(len(used))}
    packed[_DROPS] = float(reading.support is not None)
    bits = np.zeros((-(-len(used) // _BITS), _BITS))
    bits.ravel()[: len(used)] = used
    for place, word in enumerate(bits @ np.exp2(np.arange(_BITS))):
        packed[f"{_SUPPORT}{place}"] = float(word)
    if with_importances:
        for place, value in enumerate(reading.selection.importances):  # type: ignore[arg-type]
            packed[f"{_IMPORTANCE}{place}"] = float(value)
    return packed


def is_packed(results: Any) -> bool:
    """Whether a table holds packed selections, as a search or as `cross_validate` returns them."""
    return f"test_{_SCORING}" in results or f"mean_test_{_SCORING}" in results


class Numbers(NamedTuple):
    """What was packed, with one row for each run."""

    scores: dict[str, FloatArray]
    scoring: FloatArray
    width: FloatArray
    drops: FloatArray
    words: FloatArray
    importances: FloatArray | None

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> Numbers:
        """Sort columns by what they hold; their names are those that `pack` gave."""
        scores = {
            name: np.asarray(column)
            for name, column in columns.items()
            if not name.startswith(PREFIX)
        }
        if _ALIAS in columns:
            del scores["score"]
        tables = [
            [np.asarray(columns[name]) for name in columns if name.startswith(prefix)]
            for prefix in (_SUPPORT, _IMPORTANCE)
        ]
        return cls(
            scores,
            scoring=np.asarray(columns[_SCORING]),
            width=np.asarray(columns[_WIDTH]),
            drops=np.asarray(columns[_DROPS]),
            words=np.column_stack(tables[0]),
            importances=np.column_stack(tables[1]) if tables[1] else None,
        )

    def marked(self) -> tuple[int, int]:
        """Number of the scoring and number of features; zeros where every run failed."""
        # A run whose fit failed holds the same `error_score` in all columns.
        is_done = np.isfinite(self.scoring) & (self.scoring != self.width)
        known = np.column_stack([self.scoring, self.width])[is_done]
        return (int(known[0, 0]), int(known[0, 1])) if len(known) else (0, 0)

    def runs(self, scoring: int, width: int, feature_names: NamesLike | None) -> Runs:
        """Make runs of them."""
        done = np.flatnonzero(self.scoring == scoring)
        shown = self.importances
        selections = [
            Selection(
                _unpacked(self.words[number], width),
                None if shown is None else shown[number],
                None,
                has_selector=True,
            )
            for number in done
        ]
        keeps_all = done.size > 0 and not self.drops[done].all()
        return Runs.from_selections(
            selections,
            n_features=width,
            feature_names=feature_names,
            scores={name: column[done] for name, column in self.scores.items()},
            split_numbers=done,
            n_failed=len(self.scoring) - len(done),
            why_no_support="the estimator keeps every feature" if keeps_all else None,
        )


def _unpacked(words: FloatArray, width: int) -> BoolArray:
    bits = words.astype(np.int64)[:, None] >> np.arange(_BITS) & 1
    return np.asarray(bits.ravel()[:width] == 1)


class PackedTable(NamedTuple):
    """The table of a search, taken apart."""

    kept: dict[str, Any]  # its columns, without those that are packed
    scores: tuple[str, ...]
    scoring: int
    runs: list[Runs]  # of each candidate


def read_table(
    results: Mapping[str, Any], feature_names: NamesLike | None = None
) -> PackedTable:
    """Take the table of a search apart."""
    dropped = {"score"} if f"mean_test_{_ALIAS}" in results else set()
    kept: dict[str, Any] = {}
    splits: dict[int, dict[str, Any]] = {}
    for key, column in results.items():
        found = _COLUMN.fullmatch(str(key))
        if found is None:
            kept[key] = column
            continue
        if not (found["name"].startswith(PREFIX) or found["name"] in dropped):
            kept[key] = column
        if found["split"] is not None and found["part"] == "test":
            splits.setdefault(int(found["split"]), {})[found["name"]] = column
    numbers = [Numbers.of(splits[number]) for number in sorted(splits)]
    scoring, width = max(one.marked() for one in numbers)
    runs = [
        _of_candidate(numbers, at).runs(scoring, width, feature_names)
        for at in range(len(results["params"]))
    ]
    return PackedTable(kept, tuple(numbers[0].scores), scoring, runs)


def _of_candidate(splits: Sequence[Numbers], at: int) -> Numbers:
    """One row for each split, of one candidate."""

    def taken(columns: Sequence[Any]) -> Any:
        return np.stack([column[at] for column in columns])

    weighted = splits[0].importances is not None
    return Numbers(
        {
            name: taken([one.scores[name] for one in splits])
            for name in splits[0].scores
        },
        scoring=taken([one.scoring for one in splits]),
        width=taken([one.width for one in splits]),
        drops=taken([one.drops for one in splits]),
        words=taken([one.words for one in splits]),
        importances=taken([one.importances for one in splits]) if weighted else None,
    )


def read_scores(
    results: Mapping[str, Any], feature_names: NamesLike | None = None
) -> Runs:
    """Make the runs of what `cross_validate` returned."""
    numbers = Numbers.of(
        {
            name.removeprefix("test_"): column
            for name, column in results.items()
            if name.startswith("test_")
        }
    )
    return numbers.runs(*numbers.marked(), feature_names)

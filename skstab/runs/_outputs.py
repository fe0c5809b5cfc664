"""The outputs of encoders: columns that belong to one input each, and which of them runs selected."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from skstab._checks import naming
from skstab._matrices import as_masks, read_only
from skstab._typing import BoolArray, IntArray, MatrixLike, MeasureLike
from skstab.metrics import get_measure
from skstab.runs._fields import check_which
from skstab.runs._rows import in_one_form, shows
from skstab.runs._summary import share_of_runs

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Outputs", "RunOutputs", "check_outputs"]


class RunOutputs(NamedTuple):
    """The outputs that one run had, the input of each, and which of them it selected."""

    names: Sequence[Hashable]
    inputs: IntArray
    support: BoolArray


@shows("supports")
@dataclass(frozen=True, eq=False, repr=False)
class Outputs:
    """Which outputs of an encoder several runs selected, where one input has many (one-hot, splines, bins).

    Parameters
    ----------
    supports : array-like or sparse matrix of shape (n_runs, n_outputs)
        Which outputs each run selected. One that a run did not have, such as a category that its rows did not hold,
        counts as not selected.
    names : sequence of shape (n_outputs,)
        Names of the outputs.
    inputs : array-like of int of shape (n_outputs,)
        For each output, the column of the input that it came from.

    See Also
    --------
    Runs : Has them as `outputs`, beside the supports of the inputs.

    Examples
    --------
    >>> from skstab.runs import Outputs
    >>> outputs = Outputs([[1, 0, 1], [1, 0, 0], [1, 0, 1]], names=["sex_f", "sex_m", "age"], inputs=[0, 0, 1])
    >>> outputs
    Outputs(3 runs, 3 outputs of 2 inputs)
    >>> print(f"{outputs.stability('jaccard'):.3f}")
    0.667
    """

    supports: Any
    names: Any
    inputs: IntArray

    def __init__(
        self, supports: MatrixLike, *, names: Sequence[Hashable], inputs: Any
    ) -> None:
        masks = as_masks(supports, "outputs.supports", least_runs=0)
        with naming("names"):
            listed = list(names)
        labels = np.empty(len(listed), dtype=object)
        labels[:] = listed
        with naming("inputs"):
            columns = np.asarray(inputs)
        for what, found in (("names", labels), ("inputs", columns)):
            if found.shape != (masks.shape[1],):
                raise ValueError(
                    f"outputs.{what} must have one entry for each of the {masks.shape[1]} outputs"
                )
        if columns.dtype.kind not in "iu" or columns.min(initial=0) < 0:
            raise ValueError(
                f"outputs.inputs must be indices of columns, got {inputs!r}"
            )
        self.__setstate__(
            {"supports": masks, "names": labels, "inputs": columns.astype(np.int64)}
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            vars(self)[name] = read_only(value)

    @classmethod
    def of_runs(cls, runs: Sequence[RunOutputs | None]) -> Self | None:
        """Put the outputs of runs together, by their inputs and names; None where a run has none."""
        known = _known(runs, "runs", ("names", "inputs", "support"))
        if not known or len(known) < len(runs):
            return None
        keys, places = _places([_keys(run.names, run.inputs) for run in known])
        columns = [place[run.support] for place, run in zip(places, known, strict=True)]
        return cls._of_columns(keys, columns)

    @classmethod
    def concat(cls, parts: Sequence[Outputs | None]) -> Self | None:
        """Put outputs one below the other, by their inputs and names; None where a part has none."""
        known = _known(parts, "parts", ("names", "inputs", "supports"))
        if not known or len(known) < len(parts):
            return None
        keys, places = _places([_keys(part.names, part.inputs) for part in known])
        columns = [
            place[sparse.csr_array(part.kept[[run]]).indices]
            for place, part in zip(places, known, strict=True)
            for run in range(len(part))
        ]
        return cls._of_columns(keys, columns)

    @classmethod
    def _of_columns(
        cls, keys: Sequence[tuple[int, Hashable]], columns: Sequence[IntArray]
    ) -> Self:
        indptr = np.cumsum([0, *map(len, columns)])
        indices = np.concatenate([np.sort(row) for row in columns])
        table = sparse.csr_array(
            (np.ones(len(indices), dtype=bool), indices, indptr),
            shape=(len(columns), len(keys)),
        )
        (supports,) = in_one_form(table, best=True)
        return cls(
            supports,
            names=[name for _, name in keys],
            inputs=np.array([column for column, _ in keys]),
        )

    def take(self, rows: IntArray) -> Self:
        """Take some of the runs."""
        chosen = check_which(rows, len(self), "rows")
        return type(self)(self.kept[chosen], names=self.names, inputs=self.inputs)

    def fields(self) -> dict[str, Any]:
        """What to store."""
        return {"supports": self.kept, "names": self.names, "inputs": self.inputs}

    def stability(self, measure: MeasureLike = "nogueira") -> float:
        """Stability of the runs in the outputs, by a measure of sets.

        Parameters
        ----------
        measure : str, callable or Measure, default="nogueira"
            A name out of :func:`skstab.metrics.measure_table`, or anything that :func:`skstab.metrics.get_measure`
            accepts.

        Returns
        -------
        stability : float
            The value of the measure.
        """
        chosen = get_measure(measure)
        if chosen.kind != "subset":
            raise ValueError(
                f"measure {chosen.name!r} compares importances, but outputs have only supports"
            )
        return chosen(self.kept, name="the outputs")

    def frequencies(self) -> pd.Series[float]:
        """Share of the runs that selected each output.

        Returns
        -------
        frequencies : Series
            Indexed by the names of the outputs.
        """
        import pandas as pd

        return pd.Series(
            share_of_runs(self.kept),
            index=pd.Index(self.names, name="output"),
            name="frequency",
        )

    def __len__(self) -> int:
        return int(self.kept.shape[0])

    @property
    def kept(self) -> Any:
        """The supports as they are kept, an ndarray or a CSR array."""
        return vars(self)["supports"]

    def __repr__(self) -> str:
        n_inputs = len(np.unique(self.inputs))
        return (
            f"Outputs({len(self)} runs, {len(self.names)} outputs of {n_inputs} inputs)"
        )


def _known(parts: Any, name: str, fields: Sequence[str]) -> list[Any]:
    """Those parts that have outputs."""
    known = (
        [part for part in parts if part is not None]
        if isinstance(parts, list | tuple)
        else None
    )
    if known is None or not all(
        hasattr(part, field) for part in known for field in fields
    ):
        raise TypeError(
            f"{name} must be a list of outputs, or None where there are none, got {parts!r}"
        )
    return known


def _keys(names: Sequence[Hashable], inputs: IntArray) -> list[tuple[int, Hashable]]:
    return list(zip(np.asarray(inputs).tolist(), names, strict=True))


def _places(
    parts: Sequence[list[tuple[int, Hashable]]],
) -> tuple[list[tuple[int, Hashable]], list[IntArray]]:
    """Order the outputs of all parts by their inputs, and find the place of each part's outputs in that order."""
    first_seen = dict.fromkeys(key for keys in parts for key in keys)
    ordered = sorted(first_seen, key=lambda key: key[0])
    position = {key: place for place, key in enumerate(ordered)}
    return ordered, [
        np.array([position[key] for key in keys], dtype=np.int64) for keys in parts
    ]


def check_outputs(
    outputs: Outputs | Mapping[str, Any], shape: tuple[int, int]
) -> Outputs:
    """Check the outputs of runs × features, given as such or as their fields."""
    with naming("outputs"):
        checked = Outputs(**outputs) if isinstance(outputs, Mapping) else outputs
    if not isinstance(checked, Outputs):
        raise TypeError(f"outputs must be an Outputs, got {outputs!r}")
    if len(checked) != shape[0] or checked.inputs.max(initial=0) >= shape[1]:
        raise ValueError(
            f"outputs must be of the {shape[0]} runs and {shape[1]} features, got {checked!r}"
        )
    return checked

"""The one form in which every measure is written, named, looked up and resampled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from skstab.metrics._tables import CHECKS, FloatArray, Table

Kind: TypeAlias = Literal["subset", "weights", "ranking"]

ARGUMENT = {"subset": "supports", "weights": "weights", "ranking": "rankings"}


@dataclass(frozen=True)
class Properties:
    """The five properties of nogueira2018, table 1 (None: the property is not about this kind of data)."""

    fully_defined: bool
    monotone: bool | None
    bounded: bool
    maximum: bool
    chance_corrected: bool


@dataclass(frozen=True)
class Measure:
    """A stability measure: call it on data, or on a validated table through its kernels.

    `evaluate` and `leave_one_out` are pure functions of a validated table; the second gives, for every run, the
    value without that run. `trivial` tells the tables on which all runs agree because nothing was left to choose.
    """

    name: str
    kind: Kind
    evaluate: Callable[[Any], float]
    leave_one_out: Callable[[Any], FloatArray]
    bounds: tuple[float, float]
    properties: Properties | None = None
    trivial: Callable[[Any], bool] = lambda _: False
    # Value bounds may tighten with the number of runs, as −1/(M−1) does.
    bounds_for: Callable[[int], tuple[float, float]] | None = None
    higher_is_better: bool = True
    # The expected value changes with the number of runs, so that subsets of the runs say little of the whole.
    varies_with_runs: bool = False
    # Nogueira's asymptotic theory holds: never, always, or when all runs select equally many.
    asymptotic: Literal["never", "always", "constant size"] = "never"
    # The name or function, and the parameters, that it was looked up with.
    source: tuple[Any, dict[str, Any]] | None = None

    # Kernels are closures, which can't be stored; what they were made from can.
    def __getstate__(self) -> dict[str, Any]:
        return {"source": self.source or (self.name, {})}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from skstab.metrics._registry import get_measure

        made_from, params = state["source"]
        self.__dict__.update(vars(get_measure(made_from, **params)))

    def __repr__(self) -> str:
        made_from, params = self.source or (self.name, {})
        shown = made_from if isinstance(made_from, str) else self.name
        return f"get_measure({', '.join([repr(shown), *(f'{name}={value!r}' for name, value in params.items())])})"

    def __call__(self, data: Any, *, name: str | None = None) -> float:
        """Return the stability of `data`; `name` is the argument that errors speak of."""
        table = self.check(data, name=name)
        value = self.value(table)
        if self.trivial(table):
            warnings.warn(
                f"all runs agree because there was nothing to tell apart (each run chose no feature, every "
                f"feature, or weighted all alike): the {self.name} stability is {value:g} by convention",
                RuntimeWarning,
                stacklevel=3,
            )
        return value

    def value(self, table: Table) -> float:
        """Return the stability of a validated table; rounding never takes it out of its range."""
        return float(np.clip(self.evaluate(table), *self.range(table.n_runs)))

    def check(self, data: Any, *, name: str | None = None) -> Table:
        """Validate `data` for this measure."""
        return CHECKS[self.kind](data, name=name or ARGUMENT[self.kind])

    def range(self, n_runs: int) -> tuple[float, float]:
        """Smallest and largest value that the measure can take on `n_runs` runs."""
        return self.bounds if self.bounds_for is None else self.bounds_for(n_runs)


def correlation_bounds(n_runs: int) -> tuple[float, float]:
    """Range of an average correlation of `n_runs` vectors: their Gram matrix has no negative eigenvalue."""
    return -1 / (n_runs - 1), 1.0


def mean_of_pairs(row_sums: FloatArray) -> float:
    """Average similarity of two different runs, from each run's sum of similarities with the others."""
    n_runs = row_sums.size
    return float(row_sums.sum() / (n_runs * (n_runs - 1)))


def mean_of_pairs_without_each(row_sums: FloatArray) -> FloatArray:
    """Average similarity of the pairs that remain when one run leaves, for every run."""
    n_runs = row_sums.size
    # A run's pairs stand twice in the sum over ordered pairs.
    return np.asarray((row_sums.sum() - 2 * row_sums) / ((n_runs - 1) * (n_runs - 2)))


def pairwise(row_sums: Callable[[Any], FloatArray], **declared: Any) -> Measure:
    """Build the measure that averages a similarity over all pairs of runs."""
    return Measure(
        evaluate=lambda table: mean_of_pairs(row_sums(table)),
        leave_one_out=lambda table: mean_of_pairs_without_each(row_sums(table)),
        **declared,
    )


def from_callable(
    function: Callable[[Any], float],
    *,
    kind: Kind = "subset",
    bounds: tuple[float, float] = (-np.inf, np.inf),
    higher_is_better: bool = True,
    name: str | None = None,
) -> Measure:
    """Build a measure from a function of a matrix of runs × features (an ndarray or a CSR array)."""

    def evaluate(table: Any) -> float:
        return float(function(table.matrix))

    def leave_one_out(table: Any) -> FloatArray:
        runs = np.arange(table.n_runs)
        return np.array([evaluate(table.take(np.delete(runs, run))) for run in runs])

    return Measure(
        name=name or str(getattr(function, "__name__", type(function).__name__)),
        kind=kind,
        evaluate=evaluate,
        leave_one_out=leave_one_out,
        bounds=bounds,
        higher_is_better=higher_is_better,
    )

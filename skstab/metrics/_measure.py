"""The common form in which every measure is written, named, looked up and resampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple, SupportsFloat, TypeAlias

import numpy as np

from skstab._checks import check_bool, check_int, is_choice, is_real, naming
from skstab._typing import FloatArray, IntArray, RunsLike
from skstab._warnings import warn_user
from skstab.metrics._tables import CHECKS, Supports, Table, Weights

Kind: TypeAlias = Literal["subset", "weights", "ranking"]
# (table, first runs, second runs) → the similarity of each first run with its second
Similarity: TypeAlias = Callable[[Any, IntArray, IntArray], FloatArray]

ARGUMENT = {"subset": "supports", "weights": "weights", "ranking": "rankings"}


@dataclass(frozen=True)
class Properties:
    """The five properties of nogueira2018, table 1 (None: the property is not about this kind of data).

    The last one is not in the paper: whether the correction for chance is exact for runs of different sizes, too.
    """

    fully_defined: bool
    monotone: bool | None
    bounded: bool
    maximum: bool
    chance_corrected: bool
    corrected_any_sizes: bool | None = None


class PairValues(NamedTuple):
    """A stability within pairs of runs, and the value of each pair: their spread is that of the estimate."""

    estimate: float
    values: FloatArray


@dataclass(frozen=True)
class Measure:
    """A stability measure: call it on data to get the stability.

    :func:`get_measure` makes them, from a name or from a function; every function with a `measure` argument takes them.

    Parameters
    ----------
    name : str
        The name under which it is listed.
    kind : {"subset", "weights", "ranking"}
        What it compares: sets of features, weights or ranks.
    evaluate : callable
        The value, a pure function of a validated table.
    leave_one_out : callable
        For every run the value without that run, a pure function of a validated table.
    bounds : tuple of float
        Smallest and largest value.
    properties : Properties, default=None
        Which of the five properties of nogueira2018 hold; None where this is not known.
    trivial : callable, default=None
        Whether the runs of a table agree only because there was nothing to choose; None means never.
    bounds_for : callable, default=None
        The bounds for a number of runs, where these tighten them, as −1/(M−1) does; None means they do not.
    higher_is_better : bool, default=True
        Whether larger values are more stable.
    varies_with_runs : bool, default=False
        Whether the expected value changes with the number of runs, so that subsets of the runs say little about all.
    asymptotic : {"never", "always", "constant size"}, default="never"
        Whether Nogueira's asymptotic theory holds; "constant size" is when all runs select equally many features.
    within_pairs : callable, default=None
        The stability within the pairs of runs (0, 1), (2, 3), …; None where it is not defined pair by pair.
    of_subsets : callable, default=None
        The values of several subsets or draws of the runs, one row of run numbers each, where they cost less together;
        None works them out one by one.
    described_by : tuple of str, default=()
        The parameters that say which features stand for each other; without them each stands for itself.
    caution : str, default=None
        What its parameters do not do, though a user would expect it: a warning with every use on data.
    source : tuple, default=None
        The name or function, and the parameters, that it was looked up with.

    Examples
    --------
    >>> from skstab.metrics import Measure, get_measure
    >>> measure = get_measure("jaccard")
    >>> isinstance(measure, Measure)
    True
    >>> (measure.kind, measure.bounds, measure.higher_is_better)
    ('subset', (0.0, 1.0), True)
    >>> measure([[1, 1, 0], [1, 0, 0]])
    0.5
    """

    name: str
    kind: Kind
    evaluate: Callable[[Any], float]
    leave_one_out: Callable[[Any], FloatArray]
    bounds: tuple[float, float]
    _: KW_ONLY
    properties: Properties | None = None
    trivial: Callable[[Any], bool] | None = None
    bounds_for: Callable[[int], tuple[float, float]] | None = None
    higher_is_better: bool = True
    varies_with_runs: bool = False
    asymptotic: Literal["never", "always", "constant size"] = "never"
    within_pairs: Callable[[Any], PairValues] | None = None
    of_subsets: Callable[[Any, IntArray], FloatArray] | None = None
    described_by: tuple[str, ...] = ()
    caution: str | None = None
    source: tuple[Any, dict[str, Any]] | None = None

    look_up: ClassVar[
        Callable[..., Measure]
    ]  # `get_measure`, which the registry puts here

    # Kernels are closures, which can't be stored; what they were made from can.
    def __getstate__(self) -> dict[str, Any]:
        return {"source": self.source or (self.name, {})}

    def __setstate__(self, state: dict[str, Any]) -> None:
        made_from, params = state["source"]
        self.__dict__.update(vars(self.look_up(made_from, **params)))

    def __repr__(self) -> str:
        made_from, params = self.source or (self.name, {})
        shown = made_from if isinstance(made_from, str) else self.name
        return f"get_measure({', '.join([repr(shown), *(f'{name}={value!r}' for name, value in params.items())])})"

    def __call__(self, data: RunsLike, *, name: str | None = None) -> float:
        """Return the stability of `data`; `name` is the argument that errors refer to."""
        table = self.check(data, name=name)
        value = self.value(table)
        self.warn_if_trivial(table, value)
        return value

    def warn_if_trivial(self, table: Table, value: float) -> None:
        """Warn where the runs agree only because there was nothing to choose."""
        _require_table(table)
        if not is_real(value):
            raise TypeError(f"value must be a number, got {value!r}")
        if self.trivial is not None and self.trivial(table):
            warn_user(
                f"all runs agree because there was nothing to choose (each run chose no feature, every feature, or "
                f"weighted all alike): the {self.name} stability is {value:g} by convention",
                RuntimeWarning,
            )

    def value(self, table: Table) -> float:
        """Return the stability of a validated table; it is clipped to its range against rounding errors."""
        _require_table(table)
        low, high = (
            self.bounds if self.bounds_for is None else self.bounds_for(table.n_runs)
        )
        return float(np.clip(self.evaluate(table), low, high))

    def check(self, data: RunsLike, *, name: str | None = None) -> Table:
        """Validate `data` for this measure; runs, or what holds them, give the table that it takes."""
        if self.caution:
            warn_user(self.caution, RuntimeWarning)
        if not (name is None or isinstance(name, str)):
            raise TypeError(f"name must be None or a text, got {name!r}")
        argument = name or ARGUMENT[self.kind]
        with naming(argument):
            table = table_for(self, data)
        return CHECKS[self.kind](table, name=argument)

    def range(self, n_runs: int) -> tuple[float, float]:
        """Smallest and largest value that the measure can take on `n_runs` runs."""
        check_int(n_runs, "n_runs", least=2)
        return self.bounds if self.bounds_for is None else self.bounds_for(n_runs)


def _require_table(table: Any) -> None:
    if not isinstance(table, Supports | Weights):
        raise TypeError(
            f"table must be what check() of the measure returned, got {type(table).__name__}"
        )


def table_for(measure: Measure, data: Any) -> Any:
    """Return the table of `Runs`, or of what holds them as `runs_`, that a measure takes; other data as they are."""
    runs = getattr(data, "runs_", data)
    return runs.table_for(measure) if hasattr(runs, "table_for") else data


def correlation_bounds(n_runs: int) -> tuple[float, float]:
    """Range of an average correlation of `n_runs` vectors: their Gram matrix has no negative eigenvalue."""
    return -1 / (n_runs - 1), 1.0


def mean_of_pairs(row_sums: FloatArray) -> float:
    """Average similarity of two different runs, from each run's sum of similarities with the others."""
    n_runs = row_sums.size
    return float(row_sums.sum() / (n_runs * (n_runs - 1)))


def mean_of_pairs_without_each(row_sums: FloatArray) -> FloatArray:
    """Average similarity of the pairs that remain when one run is left out, for every run."""
    n_runs = row_sums.size
    # The pairs of a run occur twice in the sum over ordered pairs.
    return np.asarray((row_sums.sum() - 2 * row_sums) / ((n_runs - 1) * (n_runs - 2)))


def pairwise(
    row_sums: Callable[[Any], FloatArray],
    *,
    similarity: Similarity | None = None,
    **declared: Any,
) -> Measure:
    """Build the measure that averages a similarity over all pairs of runs.

    `row_sums` sums each run's similarities with all others. `similarity` gives those of chosen pairs of runs; without
    it, each pair is a table of its own for `row_sums`.
    """

    def two_runs_at_a_time(table: Any, first: IntArray, second: IntArray) -> FloatArray:
        return np.array(
            [
                mean_of_pairs(row_sums(table.take(pair)))
                for pair in np.column_stack([first, second])
            ]
        )

    def within_pairs(table: Any) -> PairValues:
        values = (similarity or two_runs_at_a_time)(
            table, *consecutive_pairs(table.n_runs)
        )
        return PairValues(float(values.mean()), values)

    return Measure(
        evaluate=lambda table: mean_of_pairs(row_sums(table)),
        leave_one_out=lambda table: mean_of_pairs_without_each(row_sums(table)),
        within_pairs=within_pairs,
        **declared,
    )


def consecutive_pairs(n_runs: int) -> tuple[IntArray, IntArray]:
    """First and second runs of the pairs (0, 1), (2, 3), …."""
    return np.arange(0, n_runs, 2), np.arange(1, n_runs, 2)


def pseudo_values(
    formula: Callable[..., FloatArray], *statistics: FloatArray
) -> PairValues:
    """Value and pseudo-values B·Φ̂ − (B−1)·Φ̂₍₋b₎ of a formula of means over the B pairs, one statistic per pair."""
    per_pair = np.stack(statistics)
    n_pairs, mean = per_pair.shape[1], per_pair.mean(axis=1)
    without_each = (n_pairs * mean[:, None] - per_pair) / (n_pairs - 1)
    estimate = float(formula(*mean))
    return PairValues(
        estimate, n_pairs * estimate - (n_pairs - 1) * formula(*without_each)
    )


def from_callable(
    function: Callable[[Any], SupportsFloat],
    *,
    kind: Kind = "subset",
    bounds: tuple[float, float] = (-np.inf, np.inf),
    higher_is_better: bool = True,
    name: str | None = None,
) -> Measure:
    """Build a measure from a function of a matrix of runs × features (an ndarray or a CSR array)."""
    _check_own(kind, bounds, name)

    def evaluate(table: Any) -> float:
        value = function(table.matrix)
        with naming("measure"):
            return float(value)

    def leave_one_out(table: Any) -> FloatArray:
        runs = np.arange(table.n_runs)
        return np.array([evaluate(table.take(np.delete(runs, run))) for run in runs])

    return Measure(
        name=name or str(getattr(function, "__name__", type(function).__name__)),
        kind=kind,
        evaluate=evaluate,
        leave_one_out=leave_one_out,
        bounds=bounds,
        higher_is_better=check_bool(higher_is_better, "higher_is_better"),
    )


def _check_own(kind: Any, bounds: Any, name: Any) -> None:
    """Check what is said of a measure of one's own."""
    if not is_choice(kind, *ARGUMENT):
        raise ValueError(
            f"kind must be one of {', '.join(map(repr, ARGUMENT))}; got {kind!r}"
        )
    ends = tuple(bounds) if isinstance(bounds, tuple | list) else ()
    if not (len(ends) == 2 and all(map(is_real, ends)) and ends[0] <= ends[1]):
        raise ValueError(
            f"bounds must be the smallest and the largest value, got {bounds!r}"
        )
    if not (name is None or isinstance(name, str)):
        raise ValueError(f"name must be None or a text, got {name!r}")

"""The measures by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from skstab._typing import MeasureLike, RunsLike
from skstab.metrics import _adjusted as adjusted
from skstab.metrics import _frequency as frequency
from skstab.metrics import _pairwise as pairwise
from skstab.metrics import _redundancy as redundancy
from skstab.metrics._agreement import KAPPA, NOVOVICOVA
from skstab.metrics._correlated import effective_measure
from skstab.metrics._importance_weighted import (
    IMPORTANCE_WEIGHTED,
    grouped_importance_measure,
)
from skstab.metrics._measure import Measure, Properties, from_callable
from skstab.metrics._ranking import canberra_measure
from skstab.metrics._transport import transport_measure
from skstab.metrics._weights import PEARSON, spearman_measure

if TYPE_CHECKING:
    import pandas as pd

_PLAIN = (
    frequency.NOGUEIRA,
    pairwise.KUNCHEVA,
    pairwise.JACCARD,
    pairwise.DICE,
    pairwise.OCHIAI,
    pairwise.HAMMING,
    pairwise.POG,
    pairwise.NPOG,
    pairwise.LUSTGARTEN,
    pairwise.WALD,
    pairwise.PHI,
    frequency.GOH,
    frequency.KRIZEK,
    frequency.GUZMAN,
    frequency.CWREL,
    frequency.LAUSSER,
    KAPPA,
    NOVOVICOVA,
    PEARSON,
    IMPORTANCE_WEIGHTED,
)
_WITH_PARAMETERS: dict[str, Callable[..., Measure]] = {
    "davis": frequency.davis_measure,
    "spearman": spearman_measure,
    "canberra": canberra_measure,
    "effective": effective_measure,
    "intersection_mbm": adjusted.intersection_mbm_measure,
    "intersection_greedy": adjusted.intersection_greedy_measure,
    "intersection_count": adjusted.intersection_count_measure,
    "intersection_mean": adjusted.intersection_mean_measure,
    "yu": adjusted.yu_measure,
    "zucknick": adjusted.zucknick_measure,
    "pogr": redundancy.pogr_measure,
    "npogr": redundancy.npogr_measure,
    "redundancy_dice": redundancy.redundancy_dice_measure,
    "grouped_importance": grouped_importance_measure,
    "transport": transport_measure,
}
# The order in which tables list them: sets, sets of correlated features, weights, rankings.
_ORDER = (
    *(
        "nogueira",
        "kuncheva",
        "jaccard",
        "dice",
        "ochiai",
        "hamming",
        "pog",
        "npog",
        "lustgarten",
        "wald",
        "phi",
    ),
    *(
        "kappa",
        "goh",
        "davis",
        "krizek",
        "guzman",
        "novovicova",
        "cwrel",
        "lausser",
        "effective",
    ),
    *(
        "intersection_mbm",
        "intersection_greedy",
        "intersection_count",
        "intersection_mean",
        "yu",
        "zucknick",
    ),
    *("pogr", "npogr", "redundancy_dice"),
    *("pearson", "importance_weighted", "grouped_importance", "transport"),
    *("spearman", "canberra"),
)


def _constant(measure: Measure) -> Callable[[], Measure]:
    return lambda: measure


REGISTRY: dict[str, Callable[..., Measure]] = {
    **{measure.name: _constant(measure) for measure in _PLAIN},
    **_WITH_PARAMETERS,
}


def get_measure(measure: MeasureLike, **params: Any) -> Measure:
    """Look up a stability measure by name, or make one from a function.

    Parameters
    ----------
    measure : str, callable or measure
        A name out of :func:`measure_table`; a function of a matrix of shape (n_runs, n_features) that returns a
        number; or a result of this function, which is returned as it is.
    **params : dict
        For a name, the parameters of that measure: `penalty` (davis), `ties` and `random_state` (spearman), `location`
        (canberra), `similarity` or `groups` (effective), `groups` (grouped_importance), `similarity` and
        `random_state` (transport), `similarity`, `threshold` and `random_state` (yu, zucknick, pogr, npogr,
        redundancy_dice and the intersections). Without `similarity` or `groups` each feature stands for itself alone.
        For a function, its description: `kind` ("subset", the default, "weights" or "ranking": how the data are
        validated), `bounds` (a pair, to which intervals are clipped), `higher_is_better` and `name`.

    Returns
    -------
    measure : measure
        Call it on data to get the stability; every function with a `measure` argument accepts it. It has the
        attributes `name`, `kind`, `bounds` and `higher_is_better`.

    Examples
    --------
    >>> from skstab.metrics import get_measure, stability_interval
    >>> supports = [[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 0, 0]]
    >>> get_measure("davis", penalty=0.0)(supports)
    0.666...

    A measure of your own is a function; intervals and tests work with it:

    >>> def share_in_all_runs(supports):
    ...     frequencies = supports.mean(axis=0)
    ...     return (frequencies == 1).sum() / (frequencies > 0).sum()
    >>> mine = get_measure(share_in_all_runs, bounds=(0, 1))
    >>> mine(supports)
    0.333...
    >>> interval = stability_interval(supports, measure=mine)
    >>> interval.low <= 1 / 3 <= interval.high
    True
    """
    if isinstance(measure, Measure):
        return measure
    build = partial(from_callable, measure) if callable(measure) else _builder(measure)
    try:
        return replace(build(**params), source=(measure, params))
    except TypeError as error:
        raise TypeError(
            f"measure {measure!r} does not accept {sorted(params)}: {error}"
        ) from error


# What a stored measure is made of again.
Measure.look_up = staticmethod(get_measure)


def _builder(name: Any) -> Callable[..., Measure]:
    if not isinstance(name, str):
        raise TypeError(
            f"measure must be a name or a callable, got {type(name).__name__}"
        )
    if name not in REGISTRY:
        raise ValueError(
            f"measure must be one of {', '.join(sorted(REGISTRY))}; got {name!r}"
        )
    return REGISTRY[name]


def stability_score(data: RunsLike, *, measure: MeasureLike = "nogueira") -> float:
    """Stability of a table of runs by any measure.

    Parameters
    ----------
    data : array-like or sparse matrix of shape (n_runs, n_features)
        What each run chose: supports, weights or rankings, as the measure requires.
    measure : str, callable or measure, default="nogueira"
        A name out of :func:`measure_table`, or anything that :func:`get_measure` accepts.

    Returns
    -------
    stability : float
        The value of the measure.

    Examples
    --------
    >>> from skstab.metrics import stability_score
    >>> stability_score([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]], measure="dice")
    0.666...
    """
    return get_measure(measure)(data, name="data")


def measure_table() -> pd.DataFrame:
    """Tabulate all measures: what they measure, their range, and which properties hold.

    Returns
    -------
    table : DataFrame
        One row per measure, indexed by its `name`. `kind` is the data it takes ("subset", "weights" or "ranking");
        `low` and `high` are its bounds over all tables (for some, the lower end is −1/(n_runs − 1) for a given number
        of runs); `higher_is_better` is false for an entropy. The five properties are those of [1]_, table 1, and are
        derived, not quoted, in the tests:

        - `fully_defined`: sets of different sizes are allowed.
        - `monotone`: for given sizes, the value grows whenever two runs share more features and no two runs share
          fewer; missing for weights and rankings.
        - `bounded`: `low` and `high` are finite for any number of features.
        - `maximum`: the best value is reached if, and only if, all runs choose the same.
        - `chance_corrected`: for random selections of equal size the expected value is 0, for any size and number
          of runs.

        A sixth one is ours: `corrected_any_sizes`, whether this is exact when the sizes vary, too; missing where all
        runs must select equally many features, where nothing is corrected, and for weights and rankings.

    Notes
    -----
    The correction for chance of `nogueira`, and of `effective`, is exact for equal sizes only. For random selections of
    sizes k_i, `nogueira` is expected to be −var(k) / ((M − 1) k̄ (d − k̄)), with the variance over all M runs: −0.257 for
    two runs of 1 and 4 out of 6 features, −0.0002 for 50 runs of 5 to 15 out of 100. :func:`random_selection_test`
    compares with random selections of the very sizes.

    It agrees with table 2 of [1]_ and table 2 of [2]_ except for one entry: `guzman` is not corrected for chance, see
    :func:`guzman_stability`. `davis` and `canberra` are assessed at their default parameters, the measures that forgive
    substitutes with a similarity, or groups, that join features.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.
    .. [2] Hamer, V. and Dupont, P. (2021). An importance weighted feature selection stability measure. JMLR 22.

    Examples
    --------
    >>> from skstab.metrics import measure_table
    >>> measure_table().loc[["nogueira", "jaccard"], ["kind", "low", "high", "chance_corrected"]]
                kind  low  high  chance_corrected
    name
    nogueira  subset -1.0   1.0              True
    jaccard   subset  0.0   1.0             False
    """
    import pandas as pd

    measures = [get_measure(name) for name in _ORDER]
    table = pd.DataFrame([_row(measure) for measure in measures]).set_index("name")
    flags = list(Properties.__dataclass_fields__)
    return table.astype(dict.fromkeys(flags, "boolean"))


def _row(measure: Measure) -> dict[str, Any]:
    low, high = measure.bounds
    described = asdict(measure.properties) if measure.properties else {}
    return {
        "name": measure.name,
        "kind": measure.kind,
        "low": low,
        "high": high,
        "higher_is_better": measure.higher_is_better,
        **described,
    }

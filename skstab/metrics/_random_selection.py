"""A stability against that of random selections of the same sizes: the null model of nogueira2018, definition 2."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from skstab._checks import is_choice
from skstab._typing import FloatArray, MeasureLike, RandomState, RunsLike
from skstab.metrics._inference import Alternative, check_resamples, check_seed, checked
from skstab.metrics._results import RandomSelectionTest
from skstab.metrics._tables import Supports, Table


def random_selection_test(
    data: RunsLike,
    *,
    measure: MeasureLike = "nogueira",
    alternative: Alternative = "greater",
    n_resamples: int = 999,
    random_state: RandomState = None,
) -> RandomSelectionTest:
    """Test whether the runs agree more than random selections of the same sizes.

    Parameters
    ----------
    data : array-like or sparse matrix of shape (n_runs, n_features)
        What each run chose: supports, weights or rankings, as the measure requires.
    measure : str, callable or measure, default="nogueira"
        A name out of :func:`measure_table`, or anything that :func:`get_measure` accepts. It need not be corrected for
        chance: the test compares with chance by itself.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether the runs are *more* stable than random selections, less stable, or different.
    n_resamples : int, default=999
        Number of times that all runs are drawn at random; the p-value is at least 1 / (n_resamples + 1).
    random_state : int, RandomState instance or None, default=None
        Seed of the random selections.

    Returns
    -------
    test : RandomSelectionTest
        With attributes `stability`, `expected` (the mean over random selections), `pvalue` and `null_distribution`.

    See Also
    --------
    stability_test : Whether the stability exceeds a number.
    skstab.model_selection.assess_selector : Whether the selector finds more than with permuted targets.

    Notes
    -----
    The null hypothesis is definition 2 of [1]_: each run selects its features at random, every set of the observed size
    being equally likely, independently of the other runs. For weights and rankings, the values of each run are
    permuted. The p-value is (1 + number of draws at least as stable) / (1 + n_resamples), which is exact: under the
    null hypothesis it is at most α with a probability of at most α, for any number of runs.

    A small p-value only says that the runs do not select *at random*. Resamples share rows, and so agree more than
    random selections even where no feature is related to the target: whether there is anything to find is answered by
    :func:`skstab.model_selection.assess_selector`.

    References
    ----------
    .. [1] Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature selection algorithms. JMLR 18.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.metrics import random_selection_test
    >>> rng = np.random.default_rng(0)
    >>> supports = rng.random((10, 50)) < np.repeat([0.5, 0.1], [5, 45])
    >>> print(random_selection_test(supports, random_state=0))
    0.13, random selections of the same sizes 0.00 (p = 0.001)
    """
    chosen, table = checked(data, measure, "data")
    rng = np.random.default_rng(
        check_seed(random_state).randint(np.iinfo(np.int32).max)
    )
    value = chosen.value(table)
    chosen.warn_if_trivial(table, value)
    drawn = np.array(
        [
            chosen.value(_shuffled(table, rng))
            for _ in range(check_resamples(n_resamples))
        ]
    )
    pvalue = _pvalue(
        value, drawn, alternative, higher_is_better=chosen.higher_is_better
    )
    return RandomSelectionTest(value, float(drawn.mean()), pvalue, drawn)


def _shuffled(table: Any, rng: np.random.Generator) -> Table:
    """The table with the entries of each run at random places."""
    if not isinstance(table, Supports) and not table.is_sparse:
        moved = rng.permuted(table.matrix, axis=1)
    else:
        filled = table.csr
        places = [
            rng.choice(table.n_features, size, replace=False)
            for size in np.diff(filled.indptr)
        ]
        moved = sparse.csr_array(
            (filled.data, np.concatenate(places), filled.indptr),
            shape=filled.shape,
            copy=True,  # its entries move when they are sorted
        )
        moved.sort_indices()
    shuffled: Table = type(table)(moved)
    return shuffled


def _pvalue(
    value: float, drawn: FloatArray, alternative: str, *, higher_is_better: bool
) -> float:
    """Share of the draws, the runs themselves among them, that are at least as extreme."""
    slack = 1e-9 * max(1.0, abs(value))  # equal stabilities can differ by rounding
    above = (1 + np.count_nonzero(drawn >= value - slack)) / (1 + drawn.size)
    below = (1 + np.count_nonzero(drawn <= value + slack)) / (1 + drawn.size)
    greater, less = (above, below) if higher_is_better else (below, above)
    pvalues = {
        "greater": greater,
        "less": less,
        "two-sided": min(1.0, 2 * min(greater, less)),
    }
    if not is_choice(alternative, *pvalues):
        raise ValueError(
            f"alternative must be one of {', '.join(pvalues)}; got {alternative!r}"
        )
    return float(pvalues[alternative])

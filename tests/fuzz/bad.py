"""Arguments that most parameters do not take."""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso

from skstab.runs import Runs

D = 5


class Odd:
    """Nothing that anything could be done with."""

    def __bool__(self):
        raise ValueError("odd objects are neither true nor false")


def fails(*_, **__):
    raise ValueError("this is what fails() raises")


NUMBERS = [
    None,
    True,
    -1,
    0,
    1,
    3,
    0.0,
    0.5,
    -0.5,
    1.5,
    np.nan,
    np.inf,
    -np.inf,
    10**400,
    1e308,
    1e-308,
    1j,
]
OTHERS = [
    "a",
    "",
    b"a",
    pd.NA,
    pd.NaT,
    np.datetime64("2020-01-01"),
    np.str_("a"),
    np.bool_(1),
    np.int8(3),
    object(),
]
COLLECTIONS = [
    {},
    [],
    (),
    set(),
    [1],
    [[]],
    ["a"],
    {"a": 1},
    [[1, 0], [1]],
    range(3),
    repr,
    fails,
    iter([]),
    Odd(),
    Lasso,
]
ARRAYS = [
    np.array(0),
    np.array([]),
    np.array([1, 2]),
    np.zeros((0, 0)),
    np.zeros((0, D)),
    np.zeros((4, 0)),
]
ESTIMATORS = [Lasso(), SelectKBest(), np.random.default_rng(0)]
FRAMES = [
    pd.DataFrame(),
    pd.DataFrame({"a": [1, pd.NA]}),
    pd.Series(["a", None], dtype=object),
]
SPARSE = [sparse.coo_array((4, D)), sparse.csr_array((0, 0))]
FIXED = [*NUMBERS, *OTHERS, *COLLECTIONS, *ARRAYS, *ESTIMATORS, *FRAMES, *SPARSE]


def bad(rng):
    """Draw something that most parameters do not take."""
    table = rng.random((4, D))
    tables = [
        table,
        -table,
        table[:1],
        table * 1e308,
        table * 1e-308,
        table > 2,
        np.full((4, D), np.nan),
    ]
    types = [table.astype(kind) for kind in (complex, str, object, "M8[s]")]
    forms = [
        np.full((4, D), np.inf),
        np.zeros((2, 2, 2)),
        sparse.csr_array(table),
        Runs(table > 0.5),
    ]
    return _one_of([*FIXED, *tables, *types, *forms], rng)


def _one_of(values, rng):
    return values[rng.integers(len(values))]

"""What it means that two `Runs` are the same: every field, in value, type and form."""

from dataclasses import fields

import numpy as np
from scipy.sparse import issparse

from skstab.runs import Outputs


def assert_same_runs(first, second):
    for name, kept in first.tables._asdict().items():
        assert_same(kept, getattr(second.tables, name), name)
    for field in fields(first):
        assert_same(getattr(first, field.name), getattr(second, field.name), field.name)


def assert_same(a, b, name):
    assert type(a) is type(b), name
    if isinstance(a, dict):
        assert list(a) == list(b), name
        for key in a:
            assert_same(a[key], b[key], f"{name}[{key!r}]")
    elif isinstance(a, Outputs):
        assert_same(a.fields(), b.fields(), name)
    elif issparse(a):
        assert a.shape == b.shape, name
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(a, part), getattr(b, part), f"{name}.{part}")
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), name
        is_same = (
            a.tolist() == b.tolist()
            if a.dtype == object
            else a.tobytes() == b.tobytes()
        )
        assert is_same, name
    else:
        assert a == b, name


def dense(table):
    return table.toarray() if issparse(table) else np.asarray(table)

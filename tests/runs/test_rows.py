"""Rows without their zeros, and the tables that they are put together to."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from skstab.runs import Selection
from skstab.runs._rows import Row, stack_rows

SHARES = [0.0, 0.01, 0.2, 0.9, 1.0]


def row_of(share, n_features, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(
        rng.random(n_features) < share, rng.standard_normal(n_features), 0.0
    )


@pytest.mark.parametrize("n_features", [1, 7, 300, 5001])
@pytest.mark.parametrize("share", SHARES)
def test_a_row_has_the_entries_that_are_not_zero(share, n_features):
    dense = row_of(share, n_features)
    for table in (dense, dense != 0):
        row = Row.of(table)
        np.testing.assert_array_equal(row.indices, np.flatnonzero(table))
        np.testing.assert_array_equal(row.values, table[table != 0])
        assert row.values.dtype == table.dtype
        assert row.size == np.count_nonzero(table)


def test_a_dense_row_of_bools_takes_a_bit_for_each_entry():
    assert len(pickle.dumps(Row.of(row_of(0.9, 8000) != 0))) < 1300


def test_rows_with_entries_in_the_same_places_share_them():
    coef = row_of(0.5, 1000)
    support, importances, packed = Selection(
        coef != 0, np.abs(coef), coef, False
    ).packed()[:3]
    assert importances.places is support.places
    assert packed.places is support.places
    coef[np.flatnonzero(coef)[0]] = 0.0
    other = Row.of(coef, support)
    np.testing.assert_array_equal(other.indices, np.flatnonzero(coef))
    np.testing.assert_array_equal(other.values, coef[coef != 0])


def test_as_many_entries_in_other_places_are_not_shared():
    one, other = np.array([1.0, 0.0, 2.0]), np.array([0.0, 3.0, 2.0])
    np.testing.assert_array_equal(Row.of(other, Row.of(one)).indices, [1, 2])


@pytest.mark.parametrize("share", SHARES)
def test_tables_have_the_smaller_form(share):
    dense = np.array([row_of(share, 300, seed) for seed in range(6)])
    given = {bool: dense != 0, np.float64: dense}
    found = stack_rows(
        [([Row.of(row) for row in table], dtype) for dtype, table in given.items()], 300
    )
    as_csr = [csr_array(table) for table in given.values()]
    size = sum(
        csr.data.nbytes + csr.indices.nbytes // csr.indices.itemsize * 4 + 7 * 4
        for csr in as_csr
    )
    for table, (dtype, expected) in zip(found, given.items(), strict=True):
        assert issparse(table) == (size < sum(one.nbytes for one in given.values()))
        np.testing.assert_array_equal(
            table.toarray() if issparse(table) else table, expected
        )
        assert table.dtype == dtype


def test_a_table_of_which_a_row_is_missing_is_missing():
    row = Row.of(np.array([0.0, 1.0]))
    assert stack_rows([([row, None], float)], 2) == (None,)

"""What skstab does in place of private names of scikit-learn, against those."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.utils import _safe_indexing

from skstab._compat import as_indexable, take_rows

TABLE = np.arange(24.0).reshape(6, 4)
ROWS = np.array([5, 0, 0, 3])


@pytest.mark.parametrize(
    "data",
    [
        *(
            TABLE,
            np.asfortranarray(TABLE),
            TABLE[::2].repeat(2, axis=0)[:, ::2],
            TABLE.astype(np.float32),
        ),
        *(
            TABLE[:, 0],
            TABLE[:, 0].copy(),
            TABLE.astype(object),
            np.ma.masked_less(TABLE, 3),
            np.asmatrix(TABLE),
        ),
        *(
            pd.DataFrame(TABLE, columns=list("abcd")),
            pd.Series(list("uvwxyz")),
            list("uvwxyz"),
            csr_array(TABLE),
        ),
    ],
    ids=[
        *(
            "C order",
            "Fortran order",
            "strided",
            "float32",
            "column",
            "labels",
            "objects",
            "masked",
            "matrix",
        ),
        *("frame", "series", "list", "sparse"),
    ],
)
def test_rows_are_those_of_scikit_learn(data):
    taken, expected = take_rows(data, ROWS), _safe_indexing(data, ROWS)
    assert type(taken) is type(expected)
    as_array = (
        (lambda table: table.toarray()) if isinstance(data, csr_array) else np.asarray
    )
    np.testing.assert_array_equal(as_array(taken), as_array(expected))
    if isinstance(data, np.ndarray):
        assert (taken.dtype, taken.strides) == (expected.dtype, expected.strides)
        np.testing.assert_array_equal(
            np.ma.getmaskarray(taken), np.ma.getmaskarray(expected)
        )


def test_rows_of_a_mapped_file_are_in_memory(tmp_path):
    mapped = np.memmap(tmp_path / "table", dtype=float, mode="w+", shape=TABLE.shape)
    mapped[:] = TABLE
    taken = take_rows(mapped, ROWS)
    assert type(taken) is np.ndarray
    np.testing.assert_array_equal(taken, TABLE[ROWS])


def test_frames_of_many_blocks_are_put_together_and_others_are_not_copied():
    text = pd.DataFrame(np.eye(40)).to_csv(index=False)
    frame, few = pd.read_csv(StringIO(text)), pd.DataFrame(np.eye(40))
    found, _ = as_indexable(frame, None)
    pd.testing.assert_frame_equal(found, frame)
    assert not np.shares_memory(frame.to_numpy(), frame.to_numpy())
    assert np.shares_memory(found.to_numpy(), found.to_numpy()), "one block"
    assert as_indexable(few, None)[0] is few

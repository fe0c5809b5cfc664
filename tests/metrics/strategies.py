"""Random tables of runs, with the awkward ones (empty, full, equal and tiny) among them."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp


@st.composite
def supports(draw, *, min_runs=2, max_features=9, constant_size=False, trivial=True):
    m, d = (
        draw(st.integers(min_runs, 7)),
        draw(st.integers(1 if trivial else 2, max_features)),
    )
    if not constant_size:
        z = draw(hnp.arrays(bool, (m, d)))
        if not trivial and z.sum() in (0, z.size):
            z[0, 0] = not z[0, 0]
        return z
    k = draw(st.integers(0, d) if trivial else st.integers(1, d - 1))
    rows = [draw(st.permutations(range(d)))[:k] for _ in range(m)]
    z = np.zeros((m, d), dtype=bool)
    for run, row in enumerate(rows):
        z[run, row] = True
    return z


# Few distinct values, so that ties, zeros and equal rows are common; wide values for precision.
few = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 3.0])
wide = st.floats(-1e6, 1e6).map(lambda x: 0.0 if abs(x) < 1e-3 else x)


@st.composite
def weights(draw, *, min_runs=2):
    shape = draw(st.tuples(st.integers(min_runs, 6), st.integers(1, 8)))
    return draw(hnp.arrays(float, shape, elements=draw(st.sampled_from([few, wide]))))


@st.composite
def rankings(draw, *, min_runs=2):
    m, d = draw(st.integers(min_runs, 6)), draw(st.integers(2, 8))
    return np.array([draw(st.permutations(range(1, d + 1))) for _ in range(m)])

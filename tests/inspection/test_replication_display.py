"""How well halves agree, drawn by the number of rows."""

import numpy as np
import pandas as pd

from skstab.inspection import ReplicationDisplay

CURVE = pd.DataFrame(
    [
        ("halves", 12, 0.3, 0.1, 0.5),
        ("halves", 25, np.nan, -1.0, 1.0),
        ("halves", 50, np.nan, -np.inf, np.inf),
        ("bootstraps", 100, 0.6, 0.5, 0.7),
        ("chance", 50, 0.0, np.nan, np.nan),
    ],
    columns=["kind", "n_rows", "stability", "low", "high"],
)


def test_halves_without_a_choice_have_an_interval_and_no_point():
    ax = ReplicationDisplay(CURVE).plot().ax_
    segments = [segment for lines in ax.collections for segment in lines.get_segments()]
    ends = {
        (*map(float, s[0]), float(s[1, 1]))
        for s in segments
        if np.shape(s) == (2, 2) and not np.isnan(s).any()
    }
    assert ends == {(12.0, 0.1, 0.5), (25.0, -1.0, 1.0), (100.0, 0.5, 0.7)}
    assert ax.get_ylim()[1] > 1

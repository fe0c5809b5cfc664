"""Which feature stands for which, as a table and as a share of the instability."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skstab.inspection import instability_shares, substitutes
from skstab.metrics import (
    importance_weighted_stability,
    transport_stability,
)
from skstab.runs import Runs

NAMES = ["g0", "g1", "g2", "g3"]
IMPORTANCES = np.array([[6, 0, 4, 0], [0, 6, 4, 0], [6, 0, 0, 4], [3, 3, 4, 0.0]])
ALIKE = np.array([[1, 0.9, 0, 0], [0.9, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def runs():
    return Runs(IMPORTANCES > 0, IMPORTANCES, feature_names=NAMES)


def test_shares_by_hand():
    table = substitutes(runs(), ALIKE).set_index(["feature", "substitute"])
    # Of the six pairs of runs, (0, 1) and (1, 2) move all 0.6 of g0, the three with run 3 move 0.3.
    moved = (0.6 + 0.6 + 3 * 0.3) / 6 / 2
    mean_g0, mean_g1 = (0.6 + 0.6 + 0.3) / 4, (0.6 + 0.3) / 4
    assert list(table.index) == [("g0", "g1"), ("g1", "g0")], "no likeness, no row"
    assert table.loc[("g0", "g1"), "share"] == pytest.approx(moved / mean_g0)
    assert table.loc[("g1", "g0"), "share"] == pytest.approx(moved / mean_g1)
    assert (table["similarity"] == 0.9).all()


def test_forms_of_the_similarity_and_what_is_left_out():
    expected = substitutes(runs(), ALIKE)
    frame = pd.DataFrame(ALIKE, NAMES, NAMES)
    for form in (sparse.csr_array(ALIKE), sparse.coo_matrix(ALIKE), frame):
        pd.testing.assert_frame_equal(substitutes(runs(), form), expected)
    least = expected["share"].max()
    assert len(substitutes(runs(), ALIKE, least_share=least)) == 1
    with pytest.raises(ValueError, match="least_share must be a number from 0 to 1"):
        substitutes(runs(), ALIKE, least_share=2)


def test_runs_without_importances_are_refused():
    with pytest.raises(ValueError, match="compares importances"):
        substitutes(Runs(IMPORTANCES > 0), ALIKE)


def test_the_share_of_the_instability_that_is_due_to_substitutes():
    wide = np.pad(IMPORTANCES, ((0, 0), (0, 30)))
    alike = np.pad(ALIKE, (0, 30))
    found = instability_shares(Runs(wide > 0, wide), similarity=alike, random_state=0)
    forgiving = transport_stability(wide, alike, random_state=0)
    stability = importance_weighted_stability(wide)
    assert (found.stability, found.cluster_stability) == (stability, forgiving)
    expected = (forgiving - stability) / (1 - stability)
    assert found.due_to_substitutes == pytest.approx(expected)
    assert 0.3 < expected < 1
    assert "with substitutes" in repr(found)
    assert list(found.substitutes["feature"]) == ["x0", "x1"]
    with pytest.raises(ValueError, match="groups and similarity cannot both be given"):
        instability_shares(runs(), groups=[0, 0, 1, 2], similarity=ALIKE)

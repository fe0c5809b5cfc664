"""Features that hang on few rows: planted records, plain definitions, a proven bound, refits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact
from sklearn.linear_model import Lasso

from skstab.inspection import FragilityDisplay, feature_report, fragility
from skstab.model_selection import BootstrapSplit, ComplementaryPairsSplit, StabilityCV
from skstab.runs import Runs


def bootstraps(n_runs=100, n_rows=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=n_runs)


def planted(seed=1, cv=None):
    """One bad record in 80 rows makes x19 a feature."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 20))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(80)
    X[7, 19], y[7] = 5, y[7] + 15
    cv = BootstrapSplit(60, random_state=seed) if cv is None else cv
    return X, y, StabilityCV(Lasso(alpha=0.5), cv=cv).fit(X, y)


# -- what is found ---------------------------------------------------------------------


@pytest.mark.parametrize("halves", [False, True])
def test_a_feature_of_one_record_is_found_and_confirmed_by_fits_without_it(halves):
    cv = ComplementaryPairsSplit(60, random_state=0) if halves else None
    X, y, runs = planted(cv=cv)
    found = fragility(runs, threshold=0.4, confirm=(Lasso(alpha=0.5), X, y))
    row = found.frame().loc["x19"]
    assert row["fragility"] == 1
    assert row["carried_by"] == "row 7"
    assert row["rows"] == (7,)
    assert row["frequency_without"] < 0.1
    assert row["confirmed"] < 0.1
    assert "x19 (without row 7:" in found.sentence
    assert np.isnan(found.frame().loc["x1", "confirmed"])


def test_what_two_rows_carry_is_found_with_both():
    counts = bootstraps(400)
    carried = (counts[:, 3] > 0) | (counts[:, 11] > 0)
    runs = Runs(np.column_stack([carried, np.ones(400)]), row_counts=counts)
    row = fragility(runs).frame().loc["x0"]
    assert row["fragility"] == 2
    assert row["rows"] in ((3, 11), (11, 3))
    assert row["frequency_without"] == 0


def test_the_pvalue_is_fishers_times_the_number_of_rows():
    counts = bootstraps(100, 20)
    rng = np.random.default_rng(1)
    selected = np.where(counts[:, 4] > 0, rng.random(100) < 0.8, rng.random(100) < 0.2)
    row = fragility(Runs(selected[:, None], row_counts=counts)).frame().iloc[0]
    without = counts[:, 4] == 0
    table = [
        [np.sum(selected & without), np.sum(~selected & without)],
        [np.sum(selected & ~without), np.sum(~selected & ~without)],
    ]
    expected = 20 * fisher_exact(table, alternative="less").pvalue
    assert row["rows"] == (4,)
    assert row["pvalue"] == pytest.approx(expected)


def test_nothing_is_found_where_no_row_matters():
    n_named = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        supports = rng.random((100, 10)) < 0.55
        runs = Runs(supports, row_counts=bootstraps(100, 50, seed))
        n_named += int(fragility(runs).frame()["fragility"].notna().sum())
    assert n_named <= 4  # of about 180 features of the lists


def test_rows_of_a_patient_count_as_one():
    patient = np.repeat(np.arange(15), 2)
    counts = bootstraps(80, 15)
    runs = Runs((counts[:, [4]] > 0), row_counts=counts[:, patient])
    assert fragility(runs).frame()["rows"].iloc[0] == (8, 9)
    assert fragility(runs).frame()["carried_by"].iloc[0] == "rows 8, 9"
    names = [f"P{number}" for number in patient]
    named = fragility(runs, row_names=names).frame()
    assert named["carried_by"].iloc[0] == "P4"
    assert named["fragility"].iloc[0] == 1


@given(st.integers(0, 500), st.floats(0.1, 0.9))
def test_the_bound_holds_for_any_selector(seed, threshold):
    """All runs of halves of 6 rows, so that frequencies are exact, and an arbitrary function of the rows."""
    from itertools import combinations

    rng = np.random.default_rng(seed)
    halves = [np.isin(np.arange(6), rows) for rows in combinations(range(6), 3)]
    counts = np.array(halves * 60).astype(int)  # so often that an interval is narrow
    selected = np.array(list(rng.random(20) < rng.random()) * 60)
    runs = Runs(np.column_stack([selected]), row_counts=counts)
    table = fragility(runs, threshold=threshold).frame()
    if len(table):
        without = [selected[counts[:, row] == 0].mean() for row in range(6)]
        assert np.sum(np.array(without) < threshold) <= table["most_rows"].iloc[0]


# -- in the report, and the picture ----------------------------------------------------


def test_the_feature_report_says_what_hangs_on_a_row():
    X, y, runs = planted()
    report = feature_report(runs, X, y, clusters=range(20))
    assert report.frame().loc["x19", ["fragility", "carried_by"]].tolist() == [
        1,
        "row 7",
    ]
    assert "Carried by few rows: x19 (row 7)." in report.sentence
    import pandas as pd

    table = pd.DataFrame(X, index=[f"patient {n}" for n in range(80)])
    named = feature_report(runs, table, y, clusters=range(20)).frame()
    assert named.loc["x19", "carried_by"] == "patient 7"
    silent = feature_report(runs.runs_.without_rows(), X, clusters=range(20))
    assert "fragility" not in silent.frame()


def test_the_picture_shows_changes_without_rows():
    _, _, runs = planted()
    display = FragilityDisplay.from_runs(runs, n_rows=5)
    table = display.frame()
    assert table.shape[1] == 5
    assert table.columns[0] == "row 7"
    counts, z = runs.runs_.row_counts.toarray(), runs.supports_[:, 19]
    expected = z[counts[:, 7] == 0].mean() - z.mean()
    assert table.loc["x19", "row 7"] == pytest.approx(expected)


# -- input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, "threshold must be a number above 0"),
        ({"row_names": ["a"]}, "row_names must be 30 names, one for each row, got 1"),
        ({"confirm": Lasso()}, r"confirm must be a tuple \(estimator, X, y\)"),
        (
            {"confirm": (Lasso(), np.ones((3, 1)), np.ones(3))},
            "confirm must hold the 30 rows and 1 features",
        ),
    ],
)
def test_wrong_arguments_are_named(options, message):
    counts = bootstraps(40)
    runs = Runs(counts[:, [3]] > 0, row_counts=counts)
    with pytest.raises(ValueError, match=message):
        fragility(runs, **options)


def test_runs_without_counts_are_refused():
    with pytest.raises(ValueError, match="runs must have row_counts"):
        fragility(Runs([[1], [0]]))

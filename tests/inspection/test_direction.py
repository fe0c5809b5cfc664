"""Directions of features alone, against plain definitions and simulated truth."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import pearsonr, rankdata, spearmanr
from sklearn.datasets import load_breast_cancer, load_iris

from skstab.datasets import make_survival
from skstab.inspection import feature_report
from skstab.runs import Runs


def rows_of(X, y, *, names=None, row_counts=None, **options):
    """The table of a report in which every feature is selected."""
    every = np.ones((3, np.shape(X)[1]), dtype=bool)
    runs = Runs(every, feature_names=names, row_counts=row_counts)
    table = feature_report(runs, X, y, **options).frame()
    return table if names is None else table.loc[list(dict.fromkeys(names))]


def alone(x, y, **options):
    x = np.asarray(x)
    both = np.column_stack([x, np.arange(len(x)) % 7])
    return rows_of(both, y, clusters=[0, 1], **options).loc["x0"]


# -- one output ------------------------------------------------------------------------


def test_the_association_is_the_rank_correlation():
    rng = np.random.default_rng(0)
    x, noise = rng.standard_normal((2, 60))
    y = np.exp(x + noise)
    assert alone(x, y)["association"] == pytest.approx(spearmanr(x, y).statistic)
    is_high = y > 1
    expected = pearsonr(rankdata(x), is_high).statistic
    for labels in (is_high, np.where(is_high, "b", "a"), is_high.astype(int)):
        assert alone(x, labels)["association"] == pytest.approx(expected)
    assert alone(-x, is_high)["direction"] == "-"


def test_missing_values_are_left_out():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(50)
    y = x + rng.standard_normal(50)
    holes = np.where(rng.random(50) < 0.3, np.nan, x)
    known = ~np.isnan(holes)
    expected = pearsonr(rankdata(x[known]), rankdata(y)[known]).statistic
    assert alone(holes, y)["association"] == pytest.approx(expected)


def test_a_feature_without_information_is_not_clear_in_95_percent():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 1000)), rng.integers(2, size=60)
    found = rows_of(X, y, clusters=np.arange(1000))
    assert 0.93 < (found["direction"] == "±").mean() < 0.97
    inside = found["association_low"] <= found["association"]
    assert (inside & (found["association"] <= found["association_high"])).all()


def test_rows_of_one_patient_count_as_dependent():
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(30), 10)
    X = rng.standard_normal((30, 400))[patient]
    y = rng.standard_normal(30)[patient]
    counts = rng.integers(3, size=(3, 30))
    counts[:, :] = np.array(np.unravel_index(np.arange(30), (4, 4, 4)))
    found = rows_of(X, y, row_counts=counts[:, patient], clusters=np.arange(400))
    assert 0.92 < (found["direction"] == "±").mean() < 0.98
    naive = rows_of(X, y, clusters=np.arange(400))
    assert (naive["direction"] == "±").mean() < 0.7


def test_survival_goes_by_events_beyond_those_expected():
    X, y, _ = make_survival(200, n_others=2, random_state=0)
    time, event = y["time"], y["event"]
    expected = [
        sum(
            event[j] / np.sum(time >= time[j])
            for j in range(len(y))
            if time[j] <= time[i]
        )
        for i in range(len(y))
    ]
    residual = event - np.array(expected)
    found = rows_of(X, y).loc["x0"]
    rank = pearsonr(rankdata(X[:, 0]), residual).statistic
    assert found["association"] == pytest.approx(rank)
    later = y.copy()
    later["time"] = np.exp(-X[:, 0])
    later["event"] = True
    assert rows_of(X, later).loc["x0", "direction"] == "+"


def test_the_sign_of_a_coefficient_is_not_the_direction():
    """A high value of x0 goes with a high y, but among equal x1 with a low one."""
    rng = np.random.default_rng(0)
    x1 = rng.standard_normal(200)
    X = np.column_stack([x1 + 0.3 * rng.standard_normal(200), x1])
    y = 3 * X[:, 1] - X[:, 0]
    coefs = np.tile([-1.0, 3.0], (5, 1))
    runs = Runs(coefs != 0, np.abs(coefs), coefs=coefs)
    table = feature_report(runs, X, y, clusters=[0, 1]).frame()
    assert table.loc["x0", ["direction", "given_others"]].tolist() == ["+", "-"]


def test_the_breast_cancer_table_says_what_its_data_say():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    found = rows_of(X, y, names=list(X.columns))
    assert found.loc["mean compactness", "direction"] == "-"
    assert found.loc["mean compactness", "association"] < -0.5
    report = feature_report(Runs(np.ones((2, 30), dtype=bool)), X, y)
    assert report.towards == "target = 1"


# -- several classes, categories -------------------------------------------------------


def test_each_class_is_compared_with_the_others():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    found = rows_of(X, names, names=list(X.columns), clusters=range(4))
    assert found["direction"].tolist() == [
        "+virginica, -setosa",
        "+setosa, -versicolor",
        "+virginica, -setosa",
        "+virginica, -setosa",
    ]


def test_a_category_names_its_levels():
    rng = np.random.default_rng(0)
    island = rng.choice(["Biscoe", "Dream", "Torgersen"], 300)
    y = np.where(island == "Dream", 2.0, 0.0) + rng.standard_normal(300)
    X = pd.DataFrame({"island": island, "size": rng.standard_normal(300)})
    X.loc[:20, "size"] = np.nan
    found = rows_of(X, y, names=list(X.columns))
    assert found.loc["island", "direction"] == "+Dream, -Biscoe, -Torgersen"
    assert found.loc["size", "direction"] == "±"
    kind = np.where(island == "Dream", "a", np.where(island == "Biscoe", "b", "c"))
    words = rows_of(X, kind, names=list(X.columns)).loc["island", "direction"]
    assert "Dream: +a, -b, -c" in words
    assert "Biscoe: +b" in words


def test_levels_of_a_variable_are_one_row():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=200)
    X = np.column_stack([codes == 0, codes == 1, codes == 2, rng.standard_normal(200)])
    y = (codes == 1) + 0.3 * rng.standard_normal(200)
    names = ["site=a", "site=b", "site=c", "age"]
    z = np.array([[0, 1, 0, 0], [1, 1, 0, 0], [0, 1, 0, 1]], dtype=bool)
    coefs = z * np.array([-1.0, 2, 0, 0.5])
    runs = Runs(z, np.abs(coefs), coefs=coefs, feature_names=names)
    report = feature_report(runs, X, y, variables=["site"] * 3 + ["age"])
    table = report.frame()
    assert table.index.tolist() == ["site", "age"]
    assert table.loc["site", "frequency"] == 1
    assert table.loc["site", "levels"] == "b (100%)"
    assert table.loc["site", "direction"] == "+b, -a, -c"
    assert table["given_others"].tolist() == ["", "+"]
    assert np.isnan(table.loc["site", "coef_median"])
    assert report.core.index.tolist() == ["site"]


# -- input -----------------------------------------------------------------------------


def test_all_forms_of_the_data_give_the_same_directions():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)).round(1)
    y = X[:, 0] + rng.standard_normal(40)
    expected = rows_of(X, y)
    frame = pytest.importorskip("polars").DataFrame(X, schema=list("abc"))
    for form in (csr_array(X), pd.DataFrame(X), frame):
        pd.testing.assert_frame_equal(rows_of(form, y), expected)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(7), "y must have one entry for each of the 20 rows of X, got 7"),
        (
            np.zeros(20, dtype=[("a", float), ("b", float)]),
            "y must have two fields, the event as booleans and the time",
        ),
    ],
)
def test_a_wrong_target_is_named(y, message):
    with pytest.raises(ValueError, match=message):
        rows_of(np.random.default_rng(0).random((20, 2)), y)


def test_a_target_needs_the_data():
    with pytest.raises(ValueError, match="y needs X"):
        feature_report(Runs([[1, 0], [0, 1]]), y=[0, 1])


def test_a_target_of_several_outputs_has_no_direction():
    X = np.random.default_rng(0).random((20, 2))
    assert "direction" not in rows_of(X, X)

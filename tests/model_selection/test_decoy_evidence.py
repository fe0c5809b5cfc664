"""Decoys: how they are made, how features compare with them, and that noise is not called evidence."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skstab.model_selection import DecoyEvidence, assess_selector, decoy_evidence
from skstab.runs import Runs


class Spy(Lasso):
    """Keeps the tables that it was fitted on."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        self.seen.append(np.asarray(X, dtype=float))
        return super().fit(X, y)


@pytest.fixture
def spy():
    Spy.seen.clear()
    return Spy(alpha=0.1)


def data(n=80, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, 2 * X[:, 0] + rng.standard_normal(n)


# -- making them -----------------------------------------------------------------------


def test_decoys_are_the_columns_with_their_rows_in_one_other_order(spy):
    X, y = data()
    X[:, 5] = np.arange(80)  # numbers the rows
    decoy_evidence(spy, X, y, n_draws=2, n_pairs=3, random_state=0)
    assert len(spy.seen) == 2 * 6
    for table in spy.seen:
        assert table.shape == (40, 12)
        np.testing.assert_array_equal(table[:, :6], X[table[:, 5].astype(int)])
        np.testing.assert_array_equal(table[:, 6:], X[table[:, 11].astype(int)])
    orders = [dict(zip(table[:, 5], table[:, 11], strict=True)) for table in spy.seen]
    first = {**orders[0], **orders[1]}  # of the two halves of a pair
    assert first == {**orders[2], **orders[3]}
    assert first != {**orders[6], **orders[7]}
    assert sorted(first.values()) == list(range(80))


def test_groups_exchange_their_rows_whole(spy):
    patient = np.repeat(np.arange(20), 4)
    rng = np.random.default_rng(0)
    X = np.column_stack([patient, np.arange(80), rng.standard_normal((80, 2))])
    y = rng.standard_normal(20)[patient]
    decoy_evidence(spy, X, y, groups=patient, n_draws=1, n_pairs=3, random_state=0)
    for table in spy.seen:
        own, other = table[:, 0].astype(int), table[:, 4].astype(int)
        assert all(len(np.unique(other[own == group])) == 1 for group in np.unique(own))
        assert len(np.unique(table[:, 5])) == len(table)
        assert (table[:, 5].astype(int) // 4 == other).all()


def test_many_columns_have_decoys_of_what_is_selected_and_of_as_many_others():
    X, y = data(60, 300)
    found = decoy_evidence(Lasso(alpha=0.4), X, y, n_pairs=3, random_state=0)
    ever = int((found.runs.frequencies() > 0).sum())
    assert 0 in found.columns
    assert len(np.unique(found.columns)) == len(found.columns) <= 2 * max(ever, 50)
    assert found.runs.n_features == 300
    assert found.decoys.n_features == len(found.columns)
    assert list(found.decoys.feature_names[:1]) == [f"x{300}"]


@pytest.mark.parametrize("form", ["frame", "sparse", "polars"])
def test_all_forms_of_the_data_give_the_same_evidence(form):
    X, y = data()
    model = Lasso(alpha=0.2)
    expected = decoy_evidence(model, X, y, n_draws=2, n_pairs=3, random_state=0)
    if form == "frame":
        other = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(80)[::-1])
    elif form == "sparse":
        other = sparse.csr_array(X)
    else:
        other = pytest.importorskip("polars").DataFrame(X, schema=list("abcdef"))
    found = decoy_evidence(model, other, y, n_draws=2, n_pairs=3, random_state=0)
    np.testing.assert_allclose(found.frame(), expected.frame())


def test_columns_that_a_pipeline_names_are_encoded_with_their_decoys():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.standard_normal(120),
            "site": rng.choice(list("abc"), 120),
            "dose": rng.standard_normal(120),
        }
    )
    X.loc[:5, "age"] = np.nan
    y = X["dose"] + 2 * (X["site"] == "a") + 0.5 * rng.standard_normal(120) > 0.5
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (numbers, ["age", "dose"]), (OneHotEncoder(), ["site"])
    )
    model = make_pipeline(
        columns, LogisticRegression(l1_ratio=1, solver="liblinear", C=0.3)
    )
    found = decoy_evidence(model, X, y, n_draws=3, n_pairs=3, random_state=0)
    table = found.frame()
    assert table.index.tolist() == ["age", "site", "dose"]
    assert table.loc[["site", "dose"], "halves"].min() > 0.9
    assert found.decoys.feature_names.tolist() == [
        "decoy of age",
        "decoy of site",
        "decoy of dose",
    ]
    assert 0 < found.decoys.frequencies().max() < 0.7
    assert found.kinds.tolist() == ["other", "category", "other"]


# -- comparing -------------------------------------------------------------------------


def evidence_of(own, decoys, **changed):
    fields = {"columns": np.arange(len(own[0])), "kinds": ["other"] * len(own[0])}
    n_draws = len(own) // 16
    return DecoyEvidence(
        Runs(own), Runs(decoys), **{**fields, "n_draws": n_draws, **changed}
    )


def test_shares_and_pvalues_are_their_plain_definitions():
    rng = np.random.default_rng(0)
    own = rng.random((80, 30)) < np.linspace(0, 1, 30)
    decoys = rng.random((80, 30)) < 0.5
    table = evidence_of(own, decoys).frame()
    np.testing.assert_allclose(table["halves"], own.mean(axis=0))
    np.testing.assert_allclose(table["decoy"], decoys.mean(axis=0))
    counts = decoys.reshape(5, 16, 30).sum(axis=1).ravel()
    for (_, row), share in zip(table.iterrows(), own.mean(axis=0), strict=True):
        reached = np.mean(counts >= np.rint(16 * share))
        if share == 0:
            assert row["pvalue"] == 1
        else:
            assert reached <= row["pvalue"] <= 1
    ranked = table["pvalue"].sort_values()
    expected = (ranked * 30 / np.arange(1, 31))[::-1].cummin()
    np.testing.assert_allclose(table["qvalue"][expected.index], expected)


def test_importances_are_compared_where_each_column_has_a_decoy():
    """Nearly everything is selected always: frequencies say nothing."""
    rng = np.random.default_rng(0)
    own, decoys = (rng.exponential(1, (80, 10)) for _ in range(2))
    own[:, 3] += 9
    columns = {"columns": np.arange(10), "kinds": ["other"] * 10, "n_draws": 5}
    every = np.ones((80, 10), dtype=bool)
    table = DecoyEvidence(Runs(every, own), Runs(every, decoys), **columns).frame()
    means = np.sqrt(decoys.reshape(5, 16, 10).mean(axis=1)).ravel()
    for feature, (_, row) in enumerate(table.iterrows()):
        reached = np.sqrt(own[:, feature].mean())
        share = (1 + np.sum(means >= reached)) / 51
        if feature == 3:
            assert share == 1 / 51
            assert row["pvalue"] == pytest.approx(share / 10)
        elif np.any(means >= reached):
            assert row["pvalue"] == pytest.approx(share)
    assert (table["qvalue"] <= 0.05).to_numpy().nonzero()[0].tolist() == [3]
    just_above = own.copy()
    just_above[:, 3] = means.max() ** 2 * 1.1
    table = DecoyEvidence(
        Runs(every, just_above), Runs(every, decoys), **columns
    ).frame()
    start = np.quantile(means, 0.75)
    excess = means[means > start] - start
    mean = excess.mean() * (1 + 1 / np.sqrt(len(excess)))
    tail = len(excess) / 50 * np.exp((start - means.max() * np.sqrt(1.1)) / mean)
    assert 1 / 510 < table["pvalue"].iloc[3] <= 1 / 51
    assert table["pvalue"].iloc[3] == pytest.approx(min(tail, 1 / 51))


def test_features_are_compared_with_decoys_of_their_kind():
    """Decoys that are constant within patients are selected often, others never."""
    own, decoys = np.zeros((80, 40), dtype=bool), np.zeros((80, 40), dtype=bool)
    own[:, [0, 20]] = True
    decoys[:, 20:] = np.random.default_rng(0).random((80, 20)) < 0.8
    kinds = ["other"] * 20 + ["constant other"] * 20
    table = evidence_of(own, decoys, kinds=kinds).frame()
    assert table["pvalue"].iloc[0] < 0.001
    assert table["pvalue"].iloc[20] > 0.01


def test_a_cluster_is_compared_with_decoys_of_clusters():
    own, decoys = np.zeros((80, 6), dtype=bool), np.zeros((80, 6), dtype=bool)
    own[::2, 0] = own[1::2, 1] = decoys[::2, 2] = decoys[1::2, 3] = True
    found = evidence_of(own, decoys)
    table = found.frame(clusters=list("aabbcc"))
    assert table.index.tolist() == list("abc")
    assert table["halves"].tolist() == [1, 0, 0]
    assert table["decoy"].tolist() == [0, 1, 0]
    assert table.loc["a", "pvalue"] > 0.1
    assert repr(found).startswith("DecoyEvidence(")


def test_noise_is_not_called_evidence_and_a_clear_feature_is():
    wrong, right = 0, 0
    for seed in range(6):
        X, y = data(100, 30, seed)
        model = make_pipeline(SelectKBest(f_regression, k=6), Lasso(alpha=1e-3))
        table = decoy_evidence(model, X, y, random_state=seed).frame()
        found = table.index[table["qvalue"] <= 0.05]
        right += "x0" in found
        wrong += len(found.drop("x0", errors="ignore"))
    assert right == 6
    assert wrong <= 1


def test_a_selector_that_takes_nearly_everything_loses_no_clear_feature():
    X, y = data(120, 12)
    y = y + X[:, 4]
    evidence = decoy_evidence(Lasso(alpha=0.02), X, y, random_state=0)
    table = evidence.frame()
    assert table["decoy"].mean() > 0.7
    assert table.index[table["qvalue"] <= 0.05].tolist() == ["x0", "x4"]


def test_a_penalty_that_leaves_nothing_on_halves_counts_their_rows_twice():
    X, y = data(200, 6)
    model = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.025)
    assert model.fit(X, y > 0).coef_[0, 0] > 0
    assert not model.fit(X[:100], y[:100] > 0).coef_.any()
    table = decoy_evidence(model, X, y > 0, n_pairs=3, random_state=0).frame()
    assert table["halves"]["x0"] == 1
    assert table.index[table["qvalue"] <= 0.05].tolist() == ["x0"]


# -- in an assessment, and errors ------------------------------------------------------


def test_an_assessment_includes_it():
    X, y = data()
    options = {"n_permutations": 19, "n_pairs": 3, "random_state": 0}
    found = assess_selector(Lasso(alpha=0.3), X, y, n_decoy_draws=2, **options)
    assert found.decoys.n_draws == 2
    assert found.decoys.frame()["qvalue"].idxmin() == "x0"
    none = assess_selector(Lasso(alpha=0.3), X, y, n_decoy_draws=0, **options)
    assert none.decoys is None
    assert none.reason == found.reason


def test_an_estimator_of_as_many_columns_only_is_assessed_without_decoys():
    class Narrow(Lasso):
        def fit(self, X, y):
            if X.shape[1] > 6:
                raise ValueError("too wide")
            return super().fit(X, y)

    options = {"n_permutations": 19, "n_pairs": 3, "random_state": 0}
    with pytest.warns(UserWarning, match="not compared with decoys: .* too wide"):
        found = assess_selector(Narrow(alpha=0.3), *data(), **options)
    assert found.decoys is None


def test_the_seed_decides_and_not_the_number_of_jobs(tmp_path):
    X, y = data()
    options = {"n_draws": 2, "n_pairs": 3, "random_state": 3}
    one = decoy_evidence(Lasso(alpha=0.2), X, y, **options).frame()
    stored = {"checkpoint": tmp_path / "runs"}
    for other in ({"n_jobs": 2}, stored, stored):
        again = decoy_evidence(Lasso(alpha=0.2), X, y, **options, **other).frame()
        pd.testing.assert_frame_equal(one, again, check_exact=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_draws": 0}, "n_draws must be an int of at least 1"),
        ({"n_pairs": 2}, "n_pairs must be an int of at least 3"),
        ({"support_from": "nowhere"}, "support_from"),
        ({"groups": [1, 2]}, "groups"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        decoy_evidence(Lasso(), *data(), **options)


def test_a_target_is_needed():
    with pytest.raises(ValueError, match="y must be a target"):
        decoy_evidence(Lasso(), data()[0], None)

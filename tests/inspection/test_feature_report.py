"""The report on features, against its plain formulas."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.stats import binomtest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_regression
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skstab.datasets import make_correlated_groups
from skstab.inspection import feature_clusters, feature_report, substitutes
from skstab.model_selection import (
    BootstrapSplit,
    DecoyEvidence,
    StabilityCV,
    assess_selector,
)
from skstab.runs import Runs

COEFS = arrays(
    np.float64,
    st.tuples(st.integers(2, 9), st.integers(1, 5)),
    elements=st.sampled_from([0, 0, -1.5, -0.2, 0.3, 2]),
)


def in_order(report, n_features):
    return report.frame().loc[[f"x{f}" for f in range(n_features)]]


def runs_of(coefs, *, as_sparse=False, **fields):
    form = sparse.csr_array if as_sparse else np.asarray
    return Runs(form(coefs != 0), form(np.abs(coefs)), coefs=form(coefs), **fields)


# -- formulas ----------------------------------------------------------------------------------------------------------


@given(COEFS, st.integers(0, 1000), st.booleans())
def test_columns_are_their_plain_formulas(coefs, seed, as_sparse):
    n_runs, d = coefs.shape
    rng = np.random.default_rng(seed)
    beta, error = rng.standard_normal(d), rng.uniform(0.5, 2, d)
    refit = rng.random(d) < 0.5
    report = feature_report(
        runs_of(coefs, as_sparse=as_sparse, refit=refit), reference=(beta, error)
    )
    for f, (_, row) in enumerate(in_order(report, d).iterrows()):
        own, selected = coefs[:, f], coefs[coefs[:, f] != 0, f]
        ends = binomtest(len(selected), n_runs).proportion_ci(method="wilson")
        np.testing.assert_allclose(
            row[["frequency", "frequency_low", "frequency_high"]].astype(float),
            [np.mean(own != 0), ends.low, ends.high],
            atol=1e-12,
        )
        assert row["in_refit"] == refit[f]
        quantiles = [np.median(own), np.percentile(own, 2.5), np.percentile(own, 97.5)]
        np.testing.assert_allclose(
            row[["coef_median", "coef_low", "coef_high"]].astype(float), quantiles
        )
        rmsd = np.sqrt(np.mean([(b - beta[f]) ** 2 for b in own])) / error[f]
        np.testing.assert_allclose(row["rmsd_ratio"], rmsd)
        n_positive, n_negative = np.sum(own > 0), np.sum(own < 0)
        if selected.size:
            np.testing.assert_allclose(
                row["conditional_bias"], selected.mean() / beta[f] - 1
            )
            assert row["sign_consistency"] == max(n_positive, n_negative) / len(
                selected
            )
            assert row["given_others"] == (
                "+"
                if n_positive > n_negative
                else "-"
                if n_positive < n_negative
                else "±"
            )
        else:
            assert np.isnan(row["conditional_bias"])
            assert np.isnan(row["sign_consistency"])
            assert row["given_others"] == ""


@given(
    arrays(bool, st.tuples(st.integers(2, 9), st.integers(1, 6))),
    st.integers(0, 1000),
    st.sampled_from([0.3, 0.5, 1]),
)
def test_the_core_is_one_feature_for_each_frequent_cluster(z, seed, threshold):
    d = z.shape[1]
    groups = np.random.default_rng(seed).integers(0, 3, d)
    report = feature_report(Runs(z), clusters=groups, threshold=threshold)
    table = in_order(report, d)
    expected = []
    for label in np.unique(groups):
        members = np.flatnonzero(groups == label)
        frequency = z[:, members].any(axis=1).mean()
        np.testing.assert_allclose(table.iloc[members]["cluster_frequency"], frequency)
        best = members[np.argmax(z[:, members].mean(axis=0))]
        assert set(table.iloc[members]["representative"]) == {f"x{best}"}
        if frequency >= threshold:
            expected.append(f"x{best}")
    assert sorted(report.core.index) == sorted(expected)
    never = z.sum(axis=0) == 0
    assert (table["reason"] == "never selected").tolist() == never.tolist()
    assert sorted([*report.core.index, *report.left_out.index]) == sorted(
        table.index[~never]
    )
    assert all(f"{name}" in report.sentence for name in expected)


def test_rows_are_sorted_by_the_evidence_and_clusters_stay_together():
    z = np.zeros((10, 5), dtype=bool)
    z[:5, 0] = z[5:, 3] = z[:8, 1] = z[:8, 4] = True
    table = feature_report(Runs(z), clusters=[0, 1, 2, 0, 1]).frame()
    assert table.index.tolist() == ["x0", "x3", "x1", "x4", "x2"]
    assert table["cluster_frequency"].tolist() == [1, 1, 0.8, 0.8, 0]
    assert feature_report(Runs(z)).frame().index.tolist() == [
        "x1",
        "x4",
        "x0",
        "x3",
        "x2",
    ]


def test_the_sentence_says_what_to_report_and_what_is_left_out():
    z = np.zeros((10, 5), dtype=bool)
    z[:5, 0] = z[5:, 3] = z[:8, 1] = z[:2, 4] = True
    report = feature_report(Runs(z), clusters=[0, 1, 2, 0, 4])
    assert report.sentence == (
        "Report 2 features of 5, each the most frequently selected of a cluster of substitutes that was selected in at "
        "least 50% of the 10 runs: x0, x1. Left out: substitute of a reported feature (1), cluster selected in less "
        "than 50% of the runs (1), never selected (1)."
    )
    assert report.left_out.to_dict() == {
        "x3": "substitute of x0",
        "x4": "cluster selected in less than 50% of the runs",
    }
    alone = feature_report(Runs(z), threshold=0.9)
    assert alone.sentence.startswith(
        "No feature to report: none was selected in at least 90% of the 10 runs."
    )
    assert alone.core.empty
    one = feature_report(Runs(z), threshold=0.8).sentence
    assert one.startswith(
        "Report 1 feature of 5, selected in at least 80% of the 10 runs: x1. Left out: "
    )


def test_features_of_the_same_name_stay_apart():
    report = feature_report(
        Runs([[1, 0], [1, 0]], feature_names=["a", "a"]), clusters=[0, 0]
    )
    assert report.frame()["reason"].tolist() == ["", "never selected"]


def test_a_long_list_is_cut_in_the_sentence_only():
    report = feature_report(Runs(np.ones((3, 40), dtype=bool)))
    assert report.sentence.endswith("x29 and 10 more.")
    assert len(report.core) == 40


# -- what can't be had is absent ---------------------------------------------------------------------------------------


def test_columns_that_cannot_be_had_are_absent():
    columns = [
        "frequency",
        "frequency_low",
        "frequency_high",
        "instability_share",
        "reason",
    ]
    assert list(feature_report(Runs([[1, 0], [0, 1]])).frame()) == columns


BOOTSTRAPS = BootstrapSplit(10, random_state=0)
X_IRIS, Y_IRIS = load_iris(return_X_y=True, as_frame=True)
X_LINE, Y_LINE = make_regression(60, 5, n_informative=2, random_state=0)


@pytest.mark.parametrize(
    ("estimator", "X", "y", "has_coefs"),
    [
        (
            LogisticRegression(l1_ratio=1, solver="saga", C=0.1, max_iter=2000),
            X_IRIS,
            Y_IRIS,
            False,
        ),
        (SelectKBest(k=2), X_IRIS, Y_IRIS, False),
        (Lasso(alpha=5.0), X_LINE, Y_LINE, True),
    ],
    ids=["three classes", "no weights", "regression"],
)
def test_any_selector_is_reported(estimator, X, y, has_coefs):
    report = feature_report(StabilityCV(estimator, cv=BOOTSTRAPS).fit(X, y), X)
    assert ("coef_median" in report.frame()) == has_coefs
    assert {"in_refit", "cluster", "correlation"} <= set(report.frame())
    assert (
        report.frame()
        .drop(columns=["sign_consistency", "fragility"], errors="ignore")
        .notna()
        .all(axis=None)
    )
    assert len(report.core)


def test_inputs_of_encoders_are_reported():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], 80), "age": rng.standard_normal(80)}
    )
    encoder = make_column_transformer(
        (OneHotEncoder(), ["sex"]), remainder="passthrough"
    )
    model = make_pipeline(
        encoder, LogisticRegression(l1_ratio=1, solver="liblinear", C=0.5)
    )
    report = feature_report(
        StabilityCV(model, cv=BOOTSTRAPS).fit(X, X["sex"] == "f"), clusters=["a", "b"]
    )
    assert report.core.index.tolist() == ["sex"]


def test_petals_are_substitutes():
    report = feature_report(
        StabilityCV(SelectKBest(k=1), cv=BOOTSTRAPS).fit(X_IRIS, Y_IRIS), X_IRIS
    )
    table = report.frame()
    petals = table.loc[["petal length (cm)", "petal width (cm)"]]
    assert petals["cluster"].iloc[0] == petals["cluster"].iloc[1]
    assert (petals["cluster_frequency"] == 1).all()
    assert petals["correlation"].min() == pytest.approx(
        X_IRIS.iloc[:, 2].corr(X_IRIS.iloc[:, 3])
    )
    assert len(report.core) == 1


def test_all_forms_of_the_data_give_the_same_report():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4))
    X[:, 3] = X[:, 0]
    runs = Runs(rng.random((10, 4)) < 0.5)
    expected = feature_report(runs, X).table
    forms = [
        sparse.csr_array(X).asformat(kind)
        for kind in ("bsr", "coo", "csc", "csr", "dia")
    ]
    frame = pytest.importorskip("polars").DataFrame(X, schema=list("abcd"))
    for form in [*forms, frame, frame.to_arrow()]:
        pd.testing.assert_frame_equal(feature_report(runs, form).table, expected)


def test_groups_of_the_user_come_before_those_of_the_data():
    runs = Runs(np.eye(4, dtype=bool)[[0, 1, 2, 3]], feature_names=X_IRIS.columns)
    given_groups = feature_report(runs, X_IRIS, clusters=["a", "b", "a", "b"]).frame()
    assert given_groups["cluster"].value_counts().to_dict() == {"a": 2, "b": 2}
    found = feature_report(runs, X_IRIS).frame().loc[X_IRIS.columns, "cluster"]
    assert found.tolist() == feature_clusters(X_IRIS).tolist()


# -- against chance ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated():
    X, y, groups = make_correlated_groups(
        200,
        n_groups=2,
        group_size=3,
        n_others=20,
        group_mean=0.7,
        other_mean=0,
        correlation=0.95,
        random_state=0,
    )
    lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
    return X, y, groups, lasso


def test_a_copied_true_feature_is_a_substitute_and_noise_is_not_in_the_core(simulated):
    X, y, groups, lasso = simulated
    assessment = assess_selector(
        lasso,
        X,
        y,
        cv=BootstrapSplit(30, random_state=0),
        n_permutations=19,
        random_state=0,
    )
    report = feature_report(assessment.runs, X, assessment=assessment)
    table = in_order(report, X.shape[1])
    evidence = assessment.decoys.frame(clusters=feature_clusters(X))
    for name in ("halves", "decoy", "qvalue"):
        assert set(table[name]) == set(evidence[name])
    assert sorted(groups[int(name[1:])] for name in report.core.index) == [0, 1]
    relevant = table.iloc[:6]
    assert (
        relevant["reason"].isin(["", "never selected"])
        | relevant["reason"].str.startswith("substitute of")
    ).all()
    assert not table.iloc[6:]["reason"].isin([""]).any()
    assert "more important than decoys" in report.sentence


def assessment_of(own, decoys, verdict="signal, stable"):
    """An assessment with given shares of 16 halves, and of 20 decoys for each feature in as many draws."""
    d, n_draws = len(own), 20

    def runs_of(shares):
        one = np.arange(16)[:, None] < np.rint(16 * np.asarray(shares))
        return Runs(np.tile(one, (n_draws, 1)))

    evidence = DecoyEvidence(
        runs_of(own), runs_of(decoys), np.arange(d), ["other"] * d, n_draws
    )
    return SimpleNamespace(
        decoys=evidence,
        halves=Runs(np.ones((4, d), dtype=bool)),
        score=None,
        verdict=verdict,
        reason="No signal: of no use.",
    )


@pytest.mark.parametrize(
    ("verdict", "caveat"),
    [
        (
            "signal, unstable",
            " The list is unstable: two samples of half the size share 1.2 of 3.0 features.",
        ),
        (
            "signal, stability unclear",
            " Whether the list is stable is unclear: two samples of half",
        ),
        ("signal, stable", ""),
    ],
)
def test_a_list_that_is_not_shown_to_be_stable_has_a_caveat(verdict, caveat):
    found = assessment_of([1, 0.4, 0.1], [0.1, 0.4, 0.1], verdict=verdict)
    found.shared_features = (1.2, 3.0)
    said = feature_report(Runs(np.ones((10, 3), dtype=bool)), assessment=found).sentence
    assert ("stable" in said) == bool(caveat)
    assert caveat in said


def test_what_is_selected_as_often_as_decoys_is_left_out():
    z = np.ones((10, 3), dtype=bool)
    found = assessment_of([1, 0.4, 0.1], [0.1, 0.4, 0.1])
    report = feature_report(Runs(z), assessment=found)
    assert report.core.index.tolist() == ["x0"]
    why = "no more important than decoys"
    assert report.left_out.to_dict() == {"x1": why, "x2": why}
    assert report.frame().loc["x1", ["halves", "decoy"]].tolist() == [0.375, 0.375]


def test_the_cluster_is_what_is_compared_with_decoys():
    z = np.array([[1, 0, 1, 0]] * 6 + [[0, 1, 0, 1]] * 4, dtype=bool)
    found = assessment_of([0.5, 1, 0.2, 0.1], [0.1, 0.1, 0.2, 0.1])
    table = feature_report(Runs(z), clusters=[0, 0, 1, 1], assessment=found).frame()
    rare = "no more important than decoys"
    assert table["reason"].to_dict() == {
        "x0": "",
        "x1": "substitute of x0",
        "x2": rare,
        "x3": rare,
    }
    assert table["halves"].tolist() == [1, 1, 0.1875, 0.1875]


def test_without_signal_nothing_is_reported():
    found = assessment_of([1, 1], [0, 0], verdict="no signal")
    report = feature_report(Runs(np.ones((10, 2), dtype=bool)), assessment=found)
    assert report.core.empty
    assert report.sentence == "No signal: of no use."
    assert set(report.left_out) == {"no signal in the data"}


# -- reading it --------------------------------------------------------------------------------------------------------


def test_the_report_is_readable():
    names = ["<b>", *(f"gene {number}" for number in range(49))]
    report = feature_report(
        Runs(np.random.default_rng(0).random((9, 50)) < 0.7, feature_names=names)
    )
    assert repr(report).startswith("FeatureReport: Report ")
    html = report._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "20 further features in frame()" in html
    table = report.frame()
    del table["reason"]
    assert "reason" in report.frame()
    assert "reason" not in report.core


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, "threshold must be a number above 0 and at most 1, got 0"),
        (
            {"reference": [1, 2, 3]},
            r"reference must be a pair \(coef, se\) of arrays of numbers",
        ),
        ({"reference": ([1], [2])}, r"reference must hold coef and se of shape \(2,\)"),
        (
            {"reference": ([1, 1], [2, 0])},
            "finite coefficients and standard errors above 0",
        ),
        ({"similarity": [[1]]}, r"similarity must be of shape \(2, 2\)"),
        ({"clusters": [1]}, "clusters must have one label for each of the 2 features"),
        (
            {"X": pd.DataFrame({"a": [1, 2]})},
            r"X must have one column for each of the 2 features, got shape \(2, 1\)",
        ),
        (
            {"assessment": assessment_of([1], [0.1])},
            "assessment must be of the 2 features of the runs, got one of 1",
        ),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        feature_report(runs_of(np.array([[1.0, 0], [0, 2]])), **options)


@given(COEFS, st.booleans())
def test_where_the_importance_of_a_feature_is_in_other_runs(coefs, same_names):
    names = ["x"] * coefs.shape[1] if same_names else None
    runs = runs_of(coefs, feature_names=names)
    alike = np.full((coefs.shape[1],) * 2, 0.5)
    table = feature_report(runs, similarity=alike).table
    moves = substitutes(runs, alike, least_share=0.1)
    told = [
        sorted(f"{row.substitute} {row.share:.0%}" for row in rows.itertuples())
        for _, rows in moves.groupby("feature")
    ]
    if same_names:
        assert table["importance_moves_to"].str.count("%").sum() == len(moves)
    else:
        found = table["importance_moves_to"].str.split(", ")
        assert [sorted(v) for _, v in sorted(found.items()) if v != [""]] == told


def test_a_similarity_needs_importances():
    with pytest.raises(ValueError, match="compares importances"):
        feature_report(Runs(np.eye(3, dtype=bool)), similarity=np.eye(3))


def test_a_reference_needs_coefficients():
    with pytest.raises(
        ValueError,
        match="reference needs runs with coefficients, of a linear model with one output",
    ):
        feature_report(Runs([[1, 0], [0, 1]]), reference=([1, 1], [1, 1]))


def test_an_assessment_must_be_one():
    with pytest.raises(
        TypeError, match="assessment must be a SelectorAssessment, got str"
    ):
        feature_report(Runs([[1, 0], [0, 1]]), assessment="fine")


# -- a table for a paper ---------------------------------------------------------------


@pytest.fixture
def odd_names():
    rng = np.random.default_rng(0)
    names = ["a_b", r"50% <x> & \y", "c|d", "e"]
    X = pd.DataFrame(rng.standard_normal((80, 4)), columns=names)
    y = pd.Series(X["a_b"] + X["c|d"] + 0.1 * rng.standard_normal(80), name="y_1")
    runs = Runs(np.tile([1, 1, 1, 0], (9, 1)), feature_names=names)
    return feature_report(runs, X, y, clusters=range(4))


def test_the_table_for_latex_has_escaped_names_and_says_what_numbers_are(odd_names):
    text = odd_names.to_latex()
    assert r"a\_b & higher & 0." in text
    assert r"50\% \textless{}x\textgreater{} \& \textbackslash{}y & not clear" in text
    assert (
        r"\caption{3 features of 4. Direction: the values that go with higher" in text
    )
    lines = [line for line in text.splitlines() if " & " in line]
    plain = [line.replace(r"\&", "") for line in lines]
    assert {line.count("&") for line in plain} == {3}
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 1


def test_the_table_for_markdown_is_the_same(odd_names):
    caption, empty, *table = odd_names.to_markdown().splitlines()
    assert caption.startswith("3 features of 4. Direction: ")
    assert not empty
    assert table[0] == "| Feature | Direction | Rank correlation | Frequency |"
    assert table[1] == "| --- | --- | ---: | ---: |"
    assert table[2].startswith(r"| a\_b | higher | 0.")
    assert r"| 50% \<x\> & \\y | not clear |" in table[3]
    assert table[4].startswith(r"| c\|d | higher |")
    assert table[4].endswith("| 100% (70% to 100%) |")


def test_a_table_says_that_there_may_be_a_leak_or_that_there_is_nothing():
    X = pd.DataFrame(
        np.random.default_rng(0).standard_normal((60, 2)), columns=["a", "b"]
    )
    runs = Runs([[True, False]] * 3, feature_names=["a", "b"])
    leaking = feature_report(runs, X, X["a"].rename("y")).to_markdown()
    assert "1 feature of 2, unless there is a leak" in leaking.splitlines()[0]
    assert "Possible leak: 'a' alone" in leaking.splitlines()[0]
    nothing = feature_report(Runs(np.zeros((3, 2), dtype=bool)))
    assert nothing.to_markdown().startswith("No feature to report")
    assert "tabular" not in nothing.to_latex()

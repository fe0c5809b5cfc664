"""Groups of features that count once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectKBest

from skstab.metrics import (
    grouped_importance_stability,
    importance_weighted_stability,
    nogueira_stability,
)
from skstab.model_selection import BootstrapSplit, StabilityCV
from skstab.runs import Outputs, Runs

TABLES = arrays(bool, (5, 7))
LABELS = st.lists(st.sampled_from("abcd"), min_size=7, max_size=7)


@given(
    TABLES,
    arrays(np.float64, (5, 7), elements=st.floats(0.125, 8)),
    LABELS,
    st.booleans(),
)
def test_a_group_is_selected_with_any_member_and_has_the_sum_of_their_importances(
    z, weights, labels, as_sparse
):
    form = sparse.csr_array if as_sparse else np.asarray
    grouped = Runs(
        form(z), form(weights * z), coefs=form(weights * z), refit=z[0]
    ).grouped(labels)
    names = list(dict.fromkeys(labels))
    assert list(grouped.feature_names) == names
    assert grouped.coefs is None
    supports, importances = grouped.supports, grouped.importances
    assert sparse.issparse(grouped.tables.supports) == as_sparse
    for place, name in enumerate(names):
        members = [number for number, label in enumerate(labels) if label == name]
        assert supports[:, place].tolist() == z[:, members].any(axis=1).tolist()
        np.testing.assert_allclose(
            importances[:, place], (weights * z)[:, members].sum(axis=1)
        )
        assert grouped.refit[place] == z[0, members].any()


@given(TABLES, LABELS)
def test_the_stability_of_groups_is_that_of_their_table(z, labels):
    z[0, 0], z[1, 0] = True, False  # not trivial
    labels[0] = "alone"
    table = np.column_stack(
        [z[:, np.array(labels) == name].any(axis=1) for name in dict.fromkeys(labels)]
    )
    if 0 < table.mean() < 1:
        assert Runs(z).stability(groups=labels) == pytest.approx(
            nogueira_stability(table)
        )


def test_importances_of_groups_are_those_of_the_grouped_measure():
    rng = np.random.default_rng(0)
    weights, labels = rng.random((6, 8)), rng.integers(0, 3, 8)
    runs = Runs(weights > 0.5, weights * (weights > 0.5))
    found = runs.stability("importance_weighted", groups=labels)
    assert found == pytest.approx(
        grouped_importance_stability(runs.importances, labels)
    )
    assert found != pytest.approx(importance_weighted_stability(runs.importances))


def test_each_feature_alone_changes_nothing():
    z = np.random.default_rng(0).random((6, 5)) < 0.5
    runs = Runs(z)
    assert runs.stability(groups=range(5)) == runs.stability()
    grouped = runs.grouped(list("edcba"))
    np.testing.assert_array_equal(grouped.supports, z)


def test_stability_cv_counts_groups_once():
    X, y = load_iris(return_X_y=True)
    cv = StabilityCV(SelectKBest(k=1), cv=BootstrapSplit(20, random_state=0)).fit(X, y)
    assert cv.stability() < 1
    groups = ["sepal", "sepal", "petal", "petal"]
    assert cv.stability(groups=groups) == 1
    assert (
        cv.stability("jaccard", groups=groups)
        == cv.runs_.grouped(groups).stability("jaccard")
        == 1
    )


def test_outputs_of_encoders_are_not_those_of_groups():
    outputs = Outputs([[1, 0, 1], [0, 1, 1]], names=["f", "m", "age"], inputs=[0, 0, 2])
    grouped = Runs([[1, 0, 1], [1, 0, 1]], outputs=outputs).grouped([0, 0, 0])
    assert grouped.outputs is None
    assert grouped.supports.tolist() == [[True], [True]]


def test_labels_of_another_number_of_features_are_refused():
    with pytest.raises(
        ValueError,
        match=r"groups must have one label for each of the 2 features, got shape \(3,\)",
    ):
        Runs([[1, 0], [0, 1]]).stability(groups=[0, 1, 1])


def test_grouped_runs_are_saved_and_loaded(tmp_path):
    grouped = Runs([[1, 0, 1], [0, 1, 1]]).grouped([5, 5, 7])
    grouped.save(tmp_path / "runs")
    assert list(Runs.load(tmp_path / "runs").feature_names) == [5, 7]

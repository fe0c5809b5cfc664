"""One input, many outputs: encoders, splines and bins before a selection."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

from skstab import BootstrapSplit, StabilityCV
from skstab.metrics import nogueira_stability
from skstab.runs import Outputs, Runs, input_columns, read_run, selection_of
from skstab.runs._outputs import RunOutputs


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.choice(["u", "v", "w"], 90),
            "a_u": rng.choice(["p", "q"], 90),  # whose outputs begin as those of "a" do
            "n": rng.standard_normal(90),
            "m": rng.standard_normal(90),
        }
    )
    return frame, 2 * (frame["a"] == "w") + frame["n"] ** 2 + 0.1 * rng.standard_normal(
        90
    )


def encoder(**options):
    return make_column_transformer(
        (OneHotEncoder(**options), ["a", "a_u"]),
        (SplineTransformer(n_knots=3), ["n"]),
        remainder="passthrough",
    )


INPUTS = [0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 3]


def by_hand(pipe, X, outputs):
    """Norms of the weights of each input, times the standard deviations of its outputs."""
    seen = np.asarray(pipe[:-1].transform(X), dtype=float)
    sizes = np.abs(np.ravel(pipe[-1].coef_)) * seen.std(axis=0)
    return np.array(
        [
            np.linalg.norm(sizes[np.array(outputs) == column])
            for column in range(X.shape[1])
        ]
    )


def dense(table):
    return table.toarray() if issparse(table) else table


def test_an_input_is_selected_where_any_of_its_outputs_is(table):
    X, y = table
    pipe = make_pipeline(encoder(), Lasso(0.05)).fit(X, y)
    coef = pipe[-1].coef_
    assert input_columns(pipe[:-1], 4).tolist() == INPUTS
    reading = read_run(pipe, X, y)
    chosen = [bool(np.any(coef[np.array(INPUTS) == column])) for column in range(4)]
    assert reading.support.tolist() == chosen
    assert 0 < sum(chosen) < 4
    np.testing.assert_allclose(reading.selection.importances, by_hand(pipe, X, INPUTS))
    assert reading.selection.coef is None  # several signs for one input
    assert reading.outputs.names[:6] == [
        "a_u",
        "a_v",
        "a_w",
        "a_u_p",
        "a_u_q",
        "n_sp_0",
    ]
    np.testing.assert_array_equal(reading.outputs.inputs, INPUTS)
    np.testing.assert_array_equal(reading.outputs.support, coef != 0)


def test_without_names_outputs_are_named_after_the_number_of_the_input(table):
    X, y = table
    codes = X.assign(
        a=X["a"].astype("category").cat.codes, a_u=(X["a_u"] == "p").astype(int)
    ).to_numpy()
    step = ColumnTransformer(
        [("code", OneHotEncoder(sparse_output=False), [1, 0])], remainder="passthrough"
    )
    reading = read_run(
        make_pipeline(StandardScaler(with_std=False), step, Lasso(0.05)).fit(codes, y),
        codes,
        y,
    )
    assert [name.split("_")[0] for name in reading.outputs.names] == ["x1"] * 2 + [
        "x0"
    ] * 3 + ["x2", "x3"]


@pytest.mark.parametrize(
    ("step", "n_outputs"),
    [
        (SplineTransformer(n_knots=3), 5),
        (
            KBinsDiscretizer(
                3, encode="onehot-dense", quantile_method="averaged_inverted_cdf"
            ),
            3,
        ),
        (SimpleImputer(add_indicator=True), 2),
        (
            FeatureUnion(
                [("same", StandardScaler()), ("spline", SplineTransformer(n_knots=2))]
            ),
            5,
        ),
        (make_pipeline(SplineTransformer(n_knots=3), StandardScaler()), 5),
    ],
    ids=lambda s: str(s)[:25],
)
def test_steps_that_expand(step, n_outputs, table):
    X, y = table
    X = X[["n", "m"]].to_numpy().copy()
    X[[0, 1], [0, 1]] = np.nan if isinstance(step, SimpleImputer) else 0.0
    pipe = make_pipeline(step, Ridge()).fit(X, y)
    inputs = input_columns(pipe[:-1], 2)
    assert np.bincount(inputs).tolist() == [n_outputs] * 2
    np.testing.assert_allclose(
        selection_of(pipe, X, y).importances, by_hand(pipe, X, inputs)
    )


@pytest.mark.parametrize(
    "step", [PCA(), PolynomialFeatures(include_bias=False)], ids=["pca", "products"]
)
def test_steps_that_mix_inputs_are_named(step, table):
    X, y = table
    pipe = make_pipeline(step, Lasso()).fit(X[["n", "m"]], y)
    with pytest.raises(
        ValueError,
        match=rf"step '{type(step).__name__.lower()}' .*one column of its input each",
    ):
        selection_of(pipe, X[["n", "m"]], y)


def test_powers_of_one_input_are_not_mixed(table):
    X, y = table
    power = make_pipeline(PolynomialFeatures(3, include_bias=False), Lasso(0.01)).fit(
        X[["n"]], y
    )
    assert read_run(power, X[["n"]], y).outputs.names == ["n", "n^2", "n^3"]


def test_selectors_before_and_after_an_encoder(table):
    X, y = table
    after = make_pipeline(encoder(), SelectKBest(f_regression, k=2), Ridge()).fit(X, y)
    reading = read_run(after, X, y)
    kept = np.flatnonzero(after[1].get_support())
    np.testing.assert_array_equal(np.flatnonzero(reading.outputs.support), kept)
    assert (
        reading.support.tolist()
        == np.isin(np.arange(4), np.array(INPUTS)[kept]).tolist()
    )

    before = make_pipeline(
        SelectKBest(f_regression, k=1), SplineTransformer(n_knots=3), Ridge()
    )
    numbers = X[["m", "n"]]
    reading = read_run(before.fit(numbers, y), numbers, y)
    column = int(np.flatnonzero(before[0].get_support())[0])
    assert reading.outputs.inputs.tolist() == [column] * 5
    assert reading.outputs.support.all()
    assert reading.outputs.names[0] == f"{'mn'[column]}_sp_0"


def test_two_expanding_steps_one_after_the_other(table):
    X, y = table
    bins = KBinsDiscretizer(
        2, encode="onehot-dense", quantile_method="averaged_inverted_cdf"
    )
    pipe = make_pipeline(
        SplineTransformer(n_knots=2, degree=1, include_bias=False), bins, Ridge()
    ).fit(X[["n", "m"]], y)
    np.testing.assert_array_equal(input_columns(pipe[:-1], 2), [0, 0, 1, 1])
    pipe = make_pipeline(pipe[:-1], Lasso(0.01)).fit(X[["n", "m"]], y)
    assert read_run(pipe, X[["n", "m"]], y).outputs.names[2] == "m_sp_0_0.0"


def test_runs_hold_the_outputs_and_their_stability(table, tmp_path):
    X, y = table
    X = X.assign(
        a=np.where(np.arange(90) == 7, "rare", X["a"])
    )  # which some resamples do not hold
    pipe = GridSearchCV(
        make_pipeline(encoder(handle_unknown="ignore"), Lasso(0.05)),
        {"lasso__alpha": [0.02]},
        cv=2,
    )
    fitted = StabilityCV(
        pipe, cv=BootstrapSplit(12, random_state=1), return_estimators=True
    ).fit(X, y)
    runs = fitted.runs_
    names = runs.outputs.names.tolist()
    assert "a_rare" in names
    assert runs.outputs.inputs.tolist() == [0] * 4 + [1] * 2 + [2] * 5 + [3]
    expected = np.zeros((12, len(names)), dtype=bool)
    for row, run in zip(expected, fitted.estimators_, strict=True):
        best = run.best_estimator_
        labels = [label.split("__")[1] for label in best[0].get_feature_names_out()]
        row[[names.index(label) for label in labels]] = best[-1].coef_ != 0
    np.testing.assert_array_equal(dense(runs.outputs.supports), expected)
    assert runs.outputs.stability() == pytest.approx(nogueira_stability(expected))
    assert runs.outputs.frequencies().to_numpy() == pytest.approx(expected.mean(axis=0))
    any_output = np.array(
        [[row[runs.outputs.inputs == c].any() for c in range(4)] for row in expected]
    )
    np.testing.assert_array_equal(runs.supports, any_output)

    runs.save(tmp_path / "runs.skstab")
    again = Runs.load(tmp_path / "runs.skstab")
    for part in (
        again,
        Runs.concat([runs.take(slice(5)), runs.take(slice(5, None))]),
        runs.take(np.arange(12)),
    ):
        np.testing.assert_array_equal(dense(part.outputs.supports), expected)
        assert part.outputs.names.tolist() == names
    assert "outputs" in repr(runs)


def test_without_an_encoder_there_are_no_outputs(table):
    X, y = table
    fitted = StabilityCV(SelectKBest(f_regression, k=1), cv=3).fit(X[["n", "m"]], y)
    assert fitted.runs_.outputs is None
    keeps_all = StabilityCV(
        make_pipeline(encoder(), Ridge()), cv=3, measure="pearson"
    ).fit(X, y)
    assert keeps_all.runs_.outputs is None


# -- the value ---------------------------------------------------------------------------------------------------------


def test_outputs_are_joined_by_input_and_name():
    first = RunOutputs(
        ["x_a", "x_b", "y_a"], np.array([0, 0, 1]), np.array([True, False, True])
    )
    other = RunOutputs(["x_b", "x_c"], np.array([0, 0]), np.array([True, True]))
    joined = Outputs.of_runs([first, other])
    assert joined.names.tolist() == ["x_a", "x_b", "x_c", "y_a"]
    assert joined.inputs.tolist() == [0, 0, 0, 1]
    assert dense(joined.supports).astype(int).tolist() == [[1, 0, 0, 1], [0, 1, 1, 0]]
    assert Outputs.of_runs([first, None]) is None
    assert Outputs.concat([joined, None]) is None
    both = Outputs.concat([Outputs.of_runs([other]), Outputs.of_runs([first])])
    assert both.names.tolist() == ["x_b", "x_c", "x_a", "y_a"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"names": ["a"]},
            "outputs.names must have one entry for each of the 2 outputs",
        ),
        ({"inputs": [0, -1]}, "outputs.inputs must be indices of columns"),
        ({"inputs": [0.0, 1.0]}, "outputs.inputs must be indices of columns"),
    ],
)
def test_bad_outputs(change, message):
    good = {"names": ["a", "b"], "inputs": [0, 0]}
    with pytest.raises(ValueError, match=message):
        Outputs([[1, 0]], **(good | change))


def test_outputs_must_be_those_of_the_runs():
    outputs = Outputs([[1, 0]], names=["a", "b"], inputs=[0, 3])
    with pytest.raises(
        ValueError, match="outputs must be of the 2 runs and 2 features"
    ):
        Runs([[1, 0], [1, 1]], outputs=outputs)
    with pytest.raises(
        ValueError, match="outputs must be of the 1 runs and 2 features"
    ):
        Runs([[1, 0]], outputs=outputs)
    with pytest.raises(TypeError, match="outputs must be an Outputs, got 3"):
        Runs([[1, 0]], outputs=3)
    with pytest.raises(ValueError, match="have only supports"):
        outputs.stability("pearson")


def test_outputs_of_logistic_models_with_several_classes(table):
    X, y = table
    classes = pd.cut(y, 3, labels=False)
    pipe = make_pipeline(
        encoder(), LogisticRegression(l1_ratio=1, C=0.2, solver="saga", max_iter=5000)
    ).fit(X, classes)
    reading = read_run(pipe, X, classes)
    np.testing.assert_array_equal(reading.outputs.support, pipe[-1].coef_.any(axis=0))

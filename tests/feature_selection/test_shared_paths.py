"""Paths of many resamples of one table: optimality, cold fits, and what results may not depend on."""

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skstab._linear_paths.duality import duality_gap
from skstab._linear_paths.linear_models import (
    linear_models,
    objectives_of,
    penalties_of,
)
from skstab._linear_paths.shared_paths import (
    Resample,
    Settings,
    Table,
    shared_paths,
)
from skstab.feature_selection import StabilitySelection
from skstab.model_selection import BootstrapSplit, StabilitySearchCV

MODELS = {
    "lasso": Lasso(tol=1e-6),
    "lasso through the origin": Lasso(fit_intercept=False, tol=1e-6),
    "elastic net": ElasticNet(l1_ratio=0.7, tol=1e-6),
    "logistic": LogisticRegression(l1_ratio=1, solver="saga", tol=1e-6),
    "elastic logistic": LogisticRegression(l1_ratio=0.6, solver="saga", tol=1e-6),
    "logistic with a penalised intercept": LogisticRegression(
        l1_ratio=1, solver="liblinear", intercept_scaling=2.0, tol=1e-6
    ),
    "support vector machine": LinearSVC(penalty="l1", dual=False, tol=1e-6),
}
SHARES = np.geomspace(1, 0.05, 6)  # of a strong penalty


def table(rng, n_rows, n_features, offset=0.0):
    X = rng.standard_normal((n_rows, n_features)) * rng.choice([0.1, 1, 20], n_features)
    X[:, 1] = X[:, 0]  # a duplicate
    X[:, 2] = 3.0  # a constant
    return X + offset


def target_of(model, rng, X):
    signal = (X - X.mean(axis=0))[:, 3:6].sum(axis=1)
    signal = signal / signal.std() + rng.standard_normal(len(X))
    if isinstance(model, Lasso | ElasticNet):
        return signal
    y = (signal > np.median(signal)).astype(int)
    return np.where(rng.random(len(y)) < 0.1, 1 - y, y)


def resamples_of(model, rng, X, y, n_resamples, weight=None):
    """Half-samples and bootstraps in turn, with both classes."""
    drawn = []
    while len(drawn) < n_resamples:
        rows = rng.choice(
            len(X), len(X) // (1 + len(drawn) % 2), replace=len(drawn) % 2 == 0
        )
        if len(np.unique(y[rows])) > 1:
            drawn.append(rows)
    values = strong_value(model, X, y) * (
        SHARES if isinstance(model, Lasso) else 1 / SHARES
    )
    found = []
    for rows in drawn:
        of_rows = None if weight is None else weight[rows]
        (objective,) = objectives_of(model, y[rows], len(rows), of_rows)
        penalties = penalties_of(model, [objective], values)
        found.append(Resample.of(rows, len(X), objective, penalties))
    return drawn, values, found


def strong_value(model, X, y):
    middle = X - X.mean(axis=0)
    pull = np.abs(middle.T @ (y - y.mean())).max()
    return pull / len(y) if isinstance(model, Lasso) else 1 / (2 * pull)


def followed(model, X, resamples, positions=None, is_scaled=False, **options):
    objective = resamples[0].objective
    return shared_paths(
        Table(X, is_centred=objective.free_intercept or is_scaled),
        Settings(model.tol, model.max_iter, is_scaled),
        resamples,
        range(len(resamples)) if positions is None else positions,
        **options,
    )


def coefs_of(path, n_features):
    coefs, start = np.zeros((len(path.ends), n_features)), 0
    for row, end in zip(coefs, path.ends, strict=True):
        row[path.places[start:end]] = path.coefs[start:end]
        start = end
    return coefs


def worst_violation(resample, X, coef, intercept, penalty):
    """Largest violation of an optimality condition, as a share of the penalty, from the definition."""
    one = resample.objective
    kind, target, weight = one.rows
    X = X[resample.rows]
    f = X @ coef + intercept
    if kind == 0:
        slope = weight * (f - target)
    elif kind == 1:
        slope = -weight * target / (1 + np.exp(target * f))
    else:
        slope = -2 * weight * target * np.maximum(0, 1 - target * f)
    ridge, bend = penalty * (1 - one.l1_ratio), penalty * one.l1_ratio
    columns, w = X, coef
    worst = 0.0
    if one.constant:
        columns = np.column_stack([X, np.full(len(X), one.constant)])
        w = np.r_[coef, intercept / one.constant]
    if one.free_intercept:
        worst = abs(slope.sum())
    gradient = columns.T @ slope + ridge * w
    inside = np.abs(gradient + bend * np.sign(w))[w != 0]
    outside = (np.abs(gradient) - bend)[w == 0]
    return max(worst, inside.max(initial=0), outside.max(initial=0)) / bend


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), offset=st.sampled_from([0.0, -50.0]),
    weighted=st.booleans(), dtype=st.sampled_from([np.float64, np.float32]),
)  # fmt: skip
def test_optimality_conditions_hold_on_the_rows_of_each_resample(
    name, seed, offset, weighted, dtype
):
    rng, model = np.random.default_rng(seed), MODELS[name]
    X = table(rng, 16, 8, offset).astype(dtype)
    y = target_of(model, rng, X)
    weight = rng.uniform(0.5, 2, len(X)) if weighted else None
    _, _, resamples = resamples_of(model, rng, X, y, 3, weight)
    X = X.astype(float)
    for path, resample in zip(followed(model, X, resamples), resamples, strict=True):
        if path is None:
            continue
        coefs = coefs_of(path, X.shape[1])
        for coef, intercept, penalty in zip(
            coefs, path.intercepts, resample.penalties, strict=True
        ):
            assert worst_violation(resample, X, coef, intercept, penalty) < 1e-5


@pytest.mark.parametrize("name", MODELS)
def test_models_are_those_of_paths_of_single_resamples(name):
    rng, model = np.random.default_rng(3), MODELS[name]
    X = rng.standard_normal((40, 12))
    y = target_of(model, rng, X)
    drawn, values, resamples = resamples_of(model, rng, X, y, 5)
    paths = followed(model, X, resamples)
    for path, rows in zip(paths, drawn, strict=True):
        single = linear_models(model, X[rows], y[rows], values)
        coefs = coefs_of(path, X.shape[1])
        assert_allclose(coefs, single.coefs[:, 0], atol=1e-4)
        assert_array_equal(coefs != 0, single.coefs[:, 0] != 0)
        assert_allclose(path.intercepts, single.intercepts[:, 0], atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_standardised_columns_are_those_of_the_scaler_of_each_resample(name):
    rng, model = np.random.default_rng(11), MODELS[name]
    X = np.column_stack([table(rng, 40, 10, -30.0), np.eye(40)[3]])  # a rare one
    X[:, 1] += 0.5 * rng.standard_normal(40)
    y = target_of(model, rng, X)
    drawn, values, resamples = resamples_of(model, rng, X / X.std(), y, 6)
    paths = followed(model, X, resamples, is_scaled=True)
    for path, rows in zip(paths, drawn, strict=True):
        scaled = StandardScaler().fit_transform(X[rows])
        single = linear_models(model, scaled, y[rows], values)
        coefs = coefs_of(path, X.shape[1])
        assert_allclose(coefs, single.coefs[:, 0], atol=1e-4)
        assert_array_equal(coefs != 0, single.coefs[:, 0] != 0)
        assert_allclose(path.intercepts, single.intercepts[:, 0], atol=1e-4)
        assert_allclose(path.spreads, 1)


@pytest.mark.parametrize("name", ["lasso", "lasso through the origin", "elastic net"])
def test_duality_gaps_are_those_of_the_coefficients(name):
    rng, model = np.random.default_rng(12), MODELS[name]
    X = rng.standard_normal((40, 12))
    y = target_of(model, rng, X) + 100
    drawn, values, resamples = resamples_of(model, rng, X, y, 4)
    loose = clone(model).set_params(tol=1e-2)
    for path, rows in zip(followed(loose, X, resamples), drawn, strict=True):
        coefs = coefs_of(path, 12)
        for coef, value, gap in zip(coefs, values, path.gaps, strict=True):
            middle = model.fit_intercept
            columns = X[rows] - middle * X[rows].mean(axis=0)
            target = y[rows] - middle * y[rows].mean()
            residual = target - columns @ coef
            bend = value * len(rows) * model.l1_ratio
            ridge = value * len(rows) * (1 - model.l1_ratio)
            pull = columns.T @ residual
            expected = duality_gap(
                coef, residual @ residual, residual @ target, pull, bend, ridge
            )
            assert_allclose(gap, expected / len(rows), rtol=1e-3, atol=1e-7)
    assert (path.n_steps > 0).all()


def test_a_model_without_features_has_the_mean_as_scikit_learn_computes_it():
    rng, model = np.random.default_rng(13), MODELS["lasso"]
    X, y = rng.standard_normal((31, 5)), rng.standard_normal(31) + 7
    rows = rng.choice(31, 31)
    (objective,) = objectives_of(model, y[rows], 31)
    (path,) = followed(model, X, [Resample.of(rows, 31, objective, np.array([1e4]))])
    assert path.intercepts[0] == Lasso(alpha=1e3).fit(X[rows], y[rows]).intercept_


def test_spreads_are_standard_deviations_among_the_rows_drawn():
    rng, model = np.random.default_rng(4), MODELS["lasso"]
    X = table(rng, 30, 9)
    y = target_of(model, rng, X)
    drawn, _, resamples = resamples_of(model, rng, X, y, 2)
    for path, rows in zip(followed(model, X, resamples), drawn, strict=True):
        assert_allclose(path.spreads, X[rows].std(axis=0)[path.places])


@pytest.mark.parametrize("name", ["lasso", "logistic"])
def test_a_path_is_the_same_to_the_last_bit_whatever_is_solved_beside_it(name):
    rng, model = np.random.default_rng(5), MODELS[name]
    X = rng.standard_normal((40, 15))
    y = target_of(model, rng, X)
    _, _, resamples = resamples_of(model, rng, X, y, 6)
    # Half-samples and bootstraps have different numbers of rows.
    together = followed(model, X, resamples)
    for at, resample in enumerate(resamples):
        (alone,) = followed(model, X, [resample], [at])
        for one, other in zip(alone, together[at], strict=True):
            assert_array_equal(one, other)


def test_a_path_ends_where_it_is_told():
    rng, model = np.random.default_rng(6), MODELS["lasso"]
    X = rng.standard_normal((40, 15))
    y = target_of(model, rng, X)
    _, _, resamples = resamples_of(model, rng, X, y, 3)
    whole = followed(model, X, resamples)
    seen = []

    def goes_on(number, columns):
        seen.append((number, columns))
        return number != 1 or not len(columns)

    cut = followed(model, X, resamples, goes_on=goes_on)
    assert len(cut[0].ends) == len(cut[2].ends) == len(SHARES)
    n = len(cut[1].ends)
    assert cut[1].ends[-1] > 0
    assert n == 1 or cut[1].ends[-2] == 0
    assert_array_equal(cut[1].places, whole[1].places[: whole[1].ends[n - 1]])
    for number, columns in seen:
        ends = whole[number].ends
        starts = np.r_[0, ends[:-1]]
        assert any(
            np.array_equal(columns, whole[number].places[start:end])
            for start, end in zip(starts, ends, strict=True)
        )


def test_the_first_feature_enters_however_little_it_is_pulled():
    rng, model = np.random.default_rng(7), Lasso(tol=1e-2)
    X = rng.standard_normal((50, 6))
    y = target_of(model, rng, X)
    middle = X - X.mean(axis=0)
    pulls = np.sort(np.abs(middle.T @ (y - y.mean())))[::-1] / len(y)
    (objective,) = objectives_of(model, y, len(y))
    just_below = pulls[0] * (1 - 1e-7)
    resample = Resample.of(
        np.arange(50), 50, objective, len(y) * np.array([pulls[0], just_below])
    )
    (path,) = followed(model, X, [resample])
    assert_array_equal(path.ends, [0, 1])


# -- in StabilitySelection ---------------------------------------------------------------------------------------------


@pytest.fixture
def shared(monkeypatch):
    """The solver without a compiler, and how many resamples it was asked for at once."""
    asked = []

    def counting(table, stops, resamples, positions, **options):
        asked.append(len(resamples))
        return shared_paths(table, stops, resamples, positions, **options)

    place = "skstab._linear_paths.shared_paths"
    monkeypatch.setattr(f"{place}.has_compiler", lambda: True)
    monkeypatch.setattr(f"{place}.shared_paths", counting)
    return asked


def selection(model, **params):
    return StabilitySelection(
        model, n_values=5, eps=0.2, q=3, threshold=0.8, n_resamples=12, random_state=0, **params
    )  # fmt: skip


@pytest.mark.parametrize("name", ["lasso", "logistic with a penalised intercept"])
def test_stability_selection_finds_what_single_paths_find(name, shared, monkeypatch):
    rng, model = np.random.default_rng(8), MODELS[name]
    X = rng.standard_normal((50, 10))
    y = target_of(model, rng, X)
    together = selection(model).fit(X, y)
    assert shared == [12]
    with joblib.parallel_backend("threading"):
        in_parts = selection(model, n_jobs=2).fit(X, y)
    assert sorted(shared) == [6, 6, 12]
    assert_array_equal(in_parts.selection_path_, together.selection_path_)
    monkeypatch.setattr("skstab.feature_selection._halves.may_share", lambda *_: False)
    one_by_one = selection(model).fit(X, y)
    assert len(shared) == 3
    assert_array_equal(one_by_one.selection_path_, together.selection_path_)


def test_subsamples_without_a_problem_of_their_own_are_left_to_single_paths(shared):
    rng = np.random.default_rng(9)
    X, y = rng.standard_normal((40, 6)), (np.arange(40) < 2).astype(int)
    halves = [(rng.permutation(40)[:20], []) for _ in range(12)]
    n_classes = [len(np.unique(y[rows])) for rows, _ in halves]
    selection(MODELS["logistic"], resampling=halves).fit(X, y)
    assert shared == [n_classes.count(2)]
    assert 1 in n_classes


# -- in searches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["model", "scaled", "selector"])
def test_a_search_finds_what_single_paths_find(kind, dtype, shared, monkeypatch):
    rng = np.random.default_rng(14)
    model = MODELS["logistic with a penalised intercept"]
    X = (rng.standard_normal((60, 12)) + 1).astype(dtype)
    y = target_of(model, rng, X)
    wholes = {
        "model": (model, "C"),
        "scaled": (make_pipeline(StandardScaler(), model), "logisticregression__C"),
        "selector": (SelectFromModel(model), "estimator__C"),
    }
    whole, name = wholes[kind]
    grid = {name: [0.3, 0.15, 0.6, 0.2]}  # in any order
    cv = BootstrapSplit(7, random_state=0)

    def table():
        scoring = None if kind != "selector" else lambda *_: 0.0
        search = StabilitySearchCV(whole, grid, cv=cv, scoring=scoring)
        return search.fit(X, y)

    together = table()
    assert shared == [7]
    monkeypatch.setattr("skstab._engine.work.may_share", lambda *_: False)
    one_by_one = table()
    assert shared == [7]
    for column in ("mean_test_score", "mean_test_nogueira", "mean_test_n_features"):
        assert_allclose(
            together.cv_results_[column], one_by_one.cv_results_[column], atol=1e-6
        )

"""How much predictions change from run to run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from skstab.inspection import PredictionInstabilityDisplay
from skstab.metrics import nogueira_stability
from skstab.model_selection import BootstrapSplit, StabilityCV, prediction_stability
from skstab.runs import Runs

CV = BootstrapSplit(8, random_state=0)


def runs_with(**kept):
    n_runs = len(next(iter(kept.values())))
    return Runs(np.random.default_rng(0).random((n_runs, 4)) < 0.5, **kept)


@st.composite
def probabilities(draw, n_classes=2):
    """Probabilities of which some are missing, and those of a full model."""
    m, n = draw(st.integers(2, 6)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    table = rng.dirichlet(np.ones(n_classes), size=(m + 1, n)).astype(np.float32)
    known = rng.random((m, n)) < 0.7
    known[:2, 0] = True
    found = np.where(known[..., None], table[1:], np.nan)
    full = table[0].astype(float)
    return (found, full) if n_classes > 2 else (found[..., 1], full[:, 1])


def column(table, row):
    return [value for value in table[:, row] if not np.isnan(value).any()]


@settings(max_examples=40, deadline=None)
@given(
    drawn=probabilities(), threshold=st.sampled_from([0.2, 0.5]), known=st.booleans()
)
def test_rows_of_two_classes_by_their_definitions(drawn, threshold, known):
    table, full = drawn
    runs = runs_with(row_probabilities=table, refit_predictions=full if known else None)
    found = prediction_stability(runs, threshold=threshold)
    rows, apart, flips = found.frame(), [], []
    for row in range(table.shape[1]):
        values = np.array(column(table, row))
        if not len(values):
            assert rows.loc[row, "n_runs"] == 0
            assert rows.loc[row].drop(["n_runs", "outcome", "full"]).isna().all()
            continue
        reference = full[row] if known else values.mean()
        apart.append(np.abs(values - reference).mean())
        flips.append(((values >= threshold) != (reference >= threshold)).mean())
        expected = {
            "n_runs": len(values),
            "outcome": 1,
            "full": full[row] if known else np.nan,
            "mean": values.mean(),
            "sd": values.std(ddof=1) if len(values) > 1 else np.nan,
            "range_from": np.quantile(values, 0.025),
            "range_to": np.quantile(values, 0.975),
            "mape": apart[-1],
            "flips": flips[-1],
        }
        assert list(rows) == list(expected)
        np.testing.assert_allclose(
            rows.loc[row].astype(float), list(expected.values()), rtol=1e-6, atol=1e-12
        )
    assert found.mape == pytest.approx(np.mean(apart))
    assert found.flips == pytest.approx(np.mean(flips))
    assert found.lists.estimate == pytest.approx(nogueira_stability(runs.supports))


@settings(max_examples=25, deadline=None)
@given(drawn=probabilities(n_classes=3), known=st.booleans())
def test_rows_of_several_classes_by_their_definitions(drawn, known):
    table, full = drawn
    runs = runs_with(row_probabilities=table, refit_predictions=full if known else None)
    rows = prediction_stability(runs).frame()
    for row in range(table.shape[1]):
        values = np.array(column(table, row))
        if not len(values):
            continue
        reference = full[row] if known else values.mean(axis=0)
        top = reference.argmax()
        assert rows.loc[row, "outcome"] == top
        assert rows.loc[row, "mean"] == pytest.approx(values[:, top].mean())
        apart = np.abs(values - reference).sum(axis=1).mean() / 2
        assert rows.loc[row, "mape"] == pytest.approx(apart)
        flips = (values.argmax(axis=1) != top).mean()
        assert rows.loc[row, "flips"] == pytest.approx(flips)


@settings(max_examples=25, deadline=None)
@given(drawn=probabilities())
def test_the_agreement_is_that_of_two_runs_on_the_same_row(drawn):
    table, _ = drawn
    centred = table - np.nanmean(table)
    products, squares = 0.0, 0.0
    for row in range(table.shape[1]):
        values = column(centred, row)
        m = len(values)
        if m > 1:
            pairs = [a * b for i, a in enumerate(values) for b in values[i + 1 :]]
            products += np.mean(pairs)
            squares += np.mean(np.square(values))
    found = prediction_stability(runs_with(row_probabilities=table)).agreement
    assert found == pytest.approx(products / squares, abs=1e-6)


def test_two_classes_in_either_form_are_the_same():
    rng = np.random.default_rng(0)
    table = rng.random((5, 20))
    one = prediction_stability(runs_with(row_probabilities=table))
    both = np.stack([1 - table, table, np.zeros_like(table)], axis=2)
    three = prediction_stability(runs_with(row_probabilities=both))
    assert one.mape == pytest.approx(three.mape, rel=1e-5)
    assert one.flips == three.flips
    assert one.agreement == pytest.approx(three.agreement, rel=1e-5)


@pytest.mark.parametrize(("load", "k"), [(load_breast_cancer, 10), (load_iris, 2)])
def test_every_run_predicts_every_row_where_X_is_given(load, k):
    X, y = load(return_X_y=True)
    model = make_pipeline(SelectKBest(k=k), GaussianNB())
    cv = StabilityCV(model, cv=CV, scoring="accuracy", return_estimators=True)
    found = prediction_stability(cv.fit(X, y), X[:20])
    rows = found.frame()
    by_run = np.array([fitted.predict_proba(X[:20]) for fitted in cv.estimators_])
    full = cv.estimator_.predict_proba(X[:20])
    apart = np.abs(by_run - full).sum(axis=2).mean(axis=0) / 2
    np.testing.assert_allclose(rows["mape"], apart, atol=1e-6)
    assert (rows["n_runs"] == 8).all()
    assert found.all_rows
    assert "of all rows" in repr(found)


def test_labels_of_classes_are_those_of_the_target():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = make_pipeline(SelectKBest(k=2), GaussianNB())
    cv = StabilityCV(model, cv=CV, scoring=["accuracy", "neg_log_loss"]).fit(X, names)
    assert prediction_stability(cv).frame()["outcome"].iloc[0] == "setosa"
    assert prediction_stability(cv.runs_).frame()["outcome"].iloc[0] == 0


def test_numbers_have_no_flips():
    X, y = load_diabetes(return_X_y=True)
    model = make_pipeline(SelectKBest(k=3), LinearRegression())
    cv = StabilityCV(model, cv=CV, scoring="r2", return_estimators=True).fit(X, y)
    left_out, everywhere = prediction_stability(cv), prediction_stability(cv, X)
    for found in (left_out, everywhere):
        assert found.kind == "numbers"
        assert np.isnan(found.flips)
        assert "flips" not in found.frame()
        np.testing.assert_allclose(found.frame()["full"], cv.estimator_.predict(X))
    by_run = np.array([fitted.predict(X) for fitted in cv.estimators_])
    expected = np.abs(by_run - cv.estimator_.predict(X)).mean()
    assert everywhere.mape == pytest.approx(expected)


def test_without_probabilities_only_flips_are_known():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(SelectKBest(k=10), LinearSVC(tol=0.1, random_state=0))
    cv = StabilityCV(model, cv=CV, scoring="accuracy", return_estimators=True).fit(X, y)
    found = prediction_stability(cv)
    table = cv.runs_.row_predictions
    for row in (0, 5, 101):
        values = np.array(column(table, row), dtype=int)
        most = np.bincount(values).argmax()
        assert found.frame().loc[row, "outcome"] == most
        assert found.frame().loc[row, "flips"] == pytest.approx((values != most).mean())
    assert np.isnan(found.mape)
    assert list(found.frame()) == ["n_runs", "outcome", "flips"]
    everywhere = prediction_stability(cv, X).frame()
    by_run = np.array([fitted.predict(X) for fitted in cv.estimators_])
    expected = (by_run != cv.estimator_.predict(X)).mean(axis=0)
    np.testing.assert_allclose(everywhere["flips"], expected)
    with pytest.raises(TypeError, match="found must be a PredictionStability of prob"):
        found.plot()
    # Indicators of two classes correlate as the classes do.
    assert 0.5 < found.agreement < 1


def test_the_verdict_puts_lists_and_predictions_side_by_side():
    rng = np.random.default_rng(0)
    risk, noise = rng.random(30), rng.random((20, 30))
    same, other = np.tile([1, 1, 0, 0, 0], (20, 1)), rng.random((20, 5)) < 0.5
    cases = {
        "lists agree, risks agree": (same, np.tile(risk, (20, 1))),
        "lists differ, risks agree": (other, np.tile(risk, (20, 1))),
        "lists differ, risks differ": (other, noise),
        "lists agree, risks differ": (same, noise),
    }
    for verdict, (supports, table) in cases.items():
        found = prediction_stability(Runs(supports, row_probabilities=table))
        assert found.verdict == verdict
        assert verdict in found._repr_html_()
    bare = Runs(same, row_probabilities=noise, why_no_support="keeps all")
    assert prediction_stability(bare).verdict == "risks differ"


def test_predictions_that_never_change_agree():
    table = np.full((4, 6), 0.3)
    found = prediction_stability(runs_with(row_probabilities=table))
    assert found.agreement == 1
    assert (found.mape, found.flips) == (0, 0)


def test_wrong_arguments_are_named():
    table = np.full((4, 6), 0.3)
    runs = runs_with(row_probabilities=table)
    with pytest.raises(TypeError, match="runs must be Runs or a fitted StabilityCV"):
        prediction_stability(table)
    with pytest.raises(ValueError, match="runs must hold predictions"):
        prediction_stability(runs.without_rows())
    with pytest.raises(ValueError, match="runs must hold at least 2 runs"):
        prediction_stability(runs.take([0]))
    with pytest.raises(ValueError, match="threshold must be"):
        prediction_stability(runs, threshold=1.5)
    with pytest.raises(ValueError, match="X needs the estimators"):
        prediction_stability(runs, table)
    with pytest.raises(TypeError, match="found must be a PredictionStability"):
        PredictionInstabilityDisplay.from_predictions(runs)


def test_the_picture_shows_the_rows_against_the_full_model_or_the_mean():
    rng = np.random.default_rng(0)
    table, full = rng.random((5, 20)), rng.random(20)
    table[:, 3] = np.nan
    drawn = prediction_stability(
        runs_with(row_probabilities=table, refit_predictions=full)
    ).plot(legend=False)
    frame = drawn.frame()
    assert frame["row"].tolist() == [row for row in range(20) if row != 3]
    np.testing.assert_allclose(frame["predicted"], np.delete(full, 3))
    assert "model of all rows" in drawn.ax_.get_xlabel()
    drawn = prediction_stability(runs_with(row_probabilities=table)).plot()
    np.testing.assert_allclose(drawn.frame()["predicted"], drawn.frame()["mean"])
    assert "mean of the runs" in drawn.ax_.get_xlabel()

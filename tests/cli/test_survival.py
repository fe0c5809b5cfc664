"""Survival: Cox's model against its definition, and a report from times and events."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.stats import chi2

from skstab._report import survival as _survival
from skstab._report.survival import (
    CoxLasso,
    CoxRidge,
    RiskSets,
    concordance_index,
    cox_score,
    martingale_residuals,
    partial_likelihood,
)
from skstab._report.targets import survival_target
from skstab._report.words import UserError
from skstab.datasets import make_survival
from tests.inspection.page import Page


@pytest.fixture(scope="module")
def cohort():
    """Features, and a target with tied times."""
    X, y, _ = make_survival(60, n_others=2, random_state=0)
    y = y.copy()
    y["time"] = np.ceil(y["time"] * 4 / y["time"].std())
    return X[:, [0, 5, 10, 20, 21]], y


def log_likelihood(coef, X, y):
    """Breslow's partial likelihood by its definition."""
    risk = X @ coef
    at_risk = [y["time"] >= y["time"][i] for i in range(len(y))]
    return sum(
        risk[i] - np.log(np.exp(risk[at_risk[i]]).sum())
        for i in np.flatnonzero(y["event"])
    )


def test_the_partial_likelihood_and_its_gradient_are_those_of_the_definition(cohort):
    X, y = cohort
    coef, sets = np.array([0.3, -0.2, 0.1, 0.0, 0.4]), RiskSets.of(y)
    rows = X[sets.order]
    value, gradient, _ = partial_likelihood(rows @ coef, sets)
    assert value == pytest.approx(log_likelihood(coef, X, y))
    np.testing.assert_allclose(
        rows.T @ gradient, approx_fprime(coef, log_likelihood, 1e-7, X, y), atol=1e-4
    )


def test_second_derivatives_are_those_of_single_risks(cohort):
    X, y = cohort
    sets = RiskSets.of(y)
    risk = (X @ np.array([0.3, -0.2, 0.1, 0.0, 0.4]))[sets.order]
    _, gradient, curvature = partial_likelihood(risk, sets)
    for i in (0, 17, 59):
        moved = risk.copy()
        moved[i] += 1e-6
        assert (
            gradient[i] - partial_likelihood(moved, sets)[1][i]
        ) / 1e-6 == pytest.approx(curvature[i], abs=1e-4)


def test_ridge_is_the_minimum_also_with_more_features_than_rows(cohort):
    X, y = cohort
    model = CoxRidge(2.0).fit(X, y)
    found = minimize(
        lambda coef: coef @ coef - log_likelihood(coef, X, y), np.zeros(5), tol=1e-10
    ).x
    np.testing.assert_allclose(model.coef_, found, atol=1e-5)
    wide = CoxRidge(2.0).fit(np.hstack([X] * 20) / np.sqrt(20), y)
    np.testing.assert_allclose(
        wide.coef_.reshape(20, 5).sum(axis=0) / np.sqrt(20), model.coef_, atol=1e-6
    )


@pytest.mark.parametrize("n_noise", [0, 40])
@pytest.mark.parametrize("alpha", [0.02, 0.1, 5.0])
def test_the_lasso_meets_its_optimality_conditions(alpha, n_noise, cohort):
    X, y = cohort
    noise = np.random.default_rng(0).normal(size=(len(X), n_noise))
    X = np.hstack([X, noise, X[:, :1], np.zeros((len(X), 1))])
    coef, sets = CoxLasso(alpha).fit(X, y).coef_, RiskSets.of(y)
    gradient = (
        X[sets.order].T @ partial_likelihood(X[sets.order] @ coef, sets)[1] / len(X)
    )
    assert np.abs(gradient).max() <= alpha + 1e-5
    np.testing.assert_allclose(
        gradient[coef != 0], alpha * np.sign(coef[coef != 0]), atol=1e-5
    )
    assert (alpha == 5.0) == (not coef.any())


def test_the_score_test_is_the_squared_slope_over_the_curvature_at_zero(cohort):
    X, y = cohort
    statistics, pvalues = cox_score(X, y)
    for x, statistic in zip(X.T, statistics, strict=True):
        slope = approx_fprime(np.zeros(1), log_likelihood, 1e-6, x[:, None], y)[0]
        ends = [
            log_likelihood(np.array([step]), x[:, None], y)
            for step in (-1e-3, 0.0, 1e-3)
        ]
        curvature = -(ends[0] - 2 * ends[1] + ends[2]) / 1e-6
        assert statistic == pytest.approx(slope**2 / curvature, rel=1e-3)
    np.testing.assert_allclose(pvalues, chi2.sf(statistics, 1))
    assert cox_score(np.ones((60, 1)), y)[0] == 0


@pytest.mark.parametrize("block", [1, 7, 256])
def test_the_concordance_is_the_share_of_pairs_in_order(block, cohort, monkeypatch):
    monkeypatch.setattr(_survival, "_ROWS", block)
    X, y = cohort
    risk = X[:, 0].round()
    right = pairs = 0.0
    for i in np.flatnonzero(y["event"]):
        later = y["time"] > y["time"][i]
        right += (risk[later] < risk[i]).sum() + 0.5 * (risk[later] == risk[i]).sum()
        pairs += later.sum()
    assert concordance_index(y, risk) == pytest.approx(right / pairs)
    assert concordance_index(y, -y["time"]) == 1
    assert concordance_index(y, np.zeros(60)) == 0.5


def test_martingale_residuals_sum_to_zero(cohort):
    residuals = martingale_residuals(cohort[1])
    assert residuals.sum() == pytest.approx(0)
    assert residuals.max() <= 1


# -- the target --------------------------------------------------------------------------------------------------------

TIMES = pd.Series(np.arange(1.0, 25), name="months")
EVENTS = {
    "0 and 1": ([0, 1], [False, True]),
    "1 and 2, as in R": ([1, 2], [False, True]),
    "floats": ([0.0, 1.0], [False, True]),
    "truth values": ([False, True], [False, True]),
    "words": (["alive", "Dead"], [False, True]),
    "other words": (["censored", "event"], [False, True]),
}


@pytest.mark.parametrize(("values", "expected"), EVENTS.values(), ids=EVENTS)
def test_events_are_understood(values, expected):
    event = pd.Series(np.resize(np.array(values), 24), name="died")
    y, note = survival_target(TIMES, event)
    assert y["event"].tolist() == np.resize(expected, 24).tolist()
    assert "Events: 12 of 24 rows" in note


@pytest.mark.parametrize(
    ("time", "event", "words"),
    [
        (TIMES, ["a", "b"], "unknown meaning, 'a' first"),
        (TIMES, [0, 0], "at least 5 events, got 0"),
        (TIMES - 3, [0, 1], "below zero"),
        (TIMES.astype(str), [0, 1], "must be numbers"),
    ],
)
def test_what_is_no_survival_is_refused(time, event, words):
    with pytest.raises(UserError, match=words):
        survival_target(
            time.rename("months"), pd.Series(np.resize(event, 24), name="died")
        )


# -- the report --------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_a_report_on_survival_and_its_code(table_file, command, tmp_path):
    X, y, _ = make_survival(120, n_others=3, random_state=0)
    table = pd.DataFrame(X, columns=[f"gene{i}" for i in range(X.shape[1])])
    table = table.assign(
        months=y["time"].round(3), died=np.where(y["event"], "dead", "alive")
    )
    table.loc[3, "months"], table.loc[4, "died"] = np.nan, None
    output = tmp_path / "out.html"
    options = [
        "--time",
        "months",
        "--event",
        "died",
        "--resamples",
        "4",
        "--jobs",
        "1",
        "--selector",
        "k-best",
    ]
    status, out, err = command("report", table_file(table), *options, "-o", output)
    assert status == 0, err
    assert "1 row without a time was left out." in out
    assert "1 row without an event was left out." in out
    page = Page(output.read_text(encoding="utf-8"))
    assert "survival (months, died)" in page.text
    assert "concordance" in page.text
    names = {}
    exec(page.code.replace('page.save("report.html")', ""), names)  # noqa: S102
    assert names["page"].recommendation.reason in out
    assert names["page"].reason in out


def test_a_selector_without_a_model_of_survival_is_refused(table_file, complaint):
    table = pd.DataFrame(
        np.random.default_rng(0).normal(size=(24, 3)), columns=list("abc")
    )
    file = table_file(table.assign(t=TIMES, e=np.resize([0, 1], 24)))
    options = ["--time", "t", "--event", "e"]
    assert "no model of survival; use lasso, rfe, k-best" in complaint(
        "report", file, *options, "--selector", "forest"
    )
    assert "its score is the concordance" in complaint(
        "report", file, *options, "--scoring", "accuracy"
    )

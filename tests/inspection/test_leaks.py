"""Leaks among the features of a list are said in the sentence that lists them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso

from skstab.inspection import feature_report
from skstab.model_selection import BootstrapSplit, assess_selector
from skstab.runs import Runs


def report_of(X, y, **options):
    every = np.ones((4, X.shape[1]), dtype=bool)
    runs = Runs(every, feature_names=X.columns)
    return feature_report(runs, X, y, clusters=range(X.shape[1]), **options)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.standard_normal((90, 5)), columns=list("abcde"))


@pytest.mark.parametrize(
    ("target", "alert"),
    [
        (lambda X: X.a + X.b, "Possible leak: the target is 'a' + 'b'."),
        (lambda X: 3 * (X.d - X.c) + 7, "Possible leak: the target is 'c' - 'd'."),
        (lambda X: np.exp(X.e), "Possible leak: 'e' alone puts the rows in the order"),
        (lambda X: (X.b < 0.3).astype(int), "Possible leak: 'b' alone puts the rows"),
    ],
)
def test_what_gives_the_target_is_said_in_the_sentence(table, target, alert):
    report = report_of(table, target(table))
    assert len(report.alerts) == 1
    assert report.alerts[0].startswith(alert)
    assert "unless there is a leak" in report.sentence
    assert report.sentence.endswith(report.alerts[0])


def test_honest_features_are_no_leaks(table):
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(90)
    targets = (
        table.a + 2 * table.b,
        table.a + table.b + 0.2 * noise,
        table.a + 0.5 * noise > 0,
        np.where(table.a > 0.5, "x", np.where(table.b > 0, "y", "z")),
    )
    for target in targets:
        report = report_of(table, target)
        assert not report.alerts
        assert "leak" not in report.sentence


def test_nearly_perfect_predictions_are_an_alert_with_the_features(table):
    y = 2 * table.a + table.b
    options = {"n_permutations": 19, "n_pairs": 3, "n_decoy_draws": 0}
    cv = BootstrapSplit(5, random_state=0)
    found = assess_selector(
        Lasso(alpha=0.01), table, y, cv=cv, scoring="r2", random_state=0, **options
    )
    assert found.verdict != "no signal"
    alerts = feature_report(found.runs, table, y, assessment=found).alerts
    assert any("predictions are nearly perfect (r2 1.000)" in alert for alert in alerts)
    noisy = y + 2 * np.random.default_rng(0).standard_normal(90)
    found = assess_selector(
        Lasso(alpha=0.01), table, noisy, cv=cv, scoring="r2", random_state=0, **options
    )
    assert not feature_report(found.runs, table, noisy, assessment=found).alerts

"""The top of the page: the verdict, then the alerts, and "none recommended" where that is the truth."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skstab.inspection import StabilityReport
from skstab.model_selection import BootstrapSplit, assess_selector, compare_selectors
from tests.inspection.page import Page


def make(y_of, seed=0):
    """A report with an assessment, on data with or without signal."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 8))
    y = y_of(X, rng)
    selectors = {
        f"best {k}": make_pipeline(SelectKBest(k=k), LogisticRegression())
        for k in (2, 4)
    }
    settings = {
        "cv": BootstrapSplit(8, random_state=0),
        "scoring": "accuracy",
        "random_state": 0,
    }
    found = compare_selectors(selectors, X, y, **settings)
    report = StabilityReport("Title", found, found.frame(), "accuracy", code="")
    assessment = assess_selector(
        selectors[report.first_selector], X, y, n_pairs=4, n_permutations=19, **settings
    )
    return replace(report, assessment=assessment)


@pytest.fixture(scope="module")
def signal():
    return make(lambda X, rng: X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=60) > 0)


@pytest.fixture(scope="module")
def noise():
    return make(lambda _, rng: rng.integers(2, size=60))


def test_the_verdict_is_the_first_sentence_and_is_explained(signal):
    text = " ".join(Page(signal.html()).text.split())
    places = [signal.verdict, signal.reason, signal.recommendation.reason]
    found = [text.index(part) for part in places]
    assert found == sorted(found)
    assert found[-1] < text.rindex("How it was done")
    assert "Permuted targets: the same values in random order" in text
    assert "alert" not in text


def test_without_an_assessment_there_is_no_verdict(signal):
    page = Page(replace(signal, assessment=None).html())
    assert signal.recommendation.reason in page.text.partition("Skip")[2][:2000]
    assert "Permuted targets" not in page.text


def test_alerts_are_shown_before_the_recommendation_and_are_not_trusted(signal):
    page = Page(replace(signal, alerts=["column <b>x</b> leaks", "other"]).html())
    assert page.ids == [
        "alerts",
        "answer",
        "else",
        "comparison",
        "how",
        "all",
        "python",
    ]
    text = " ".join(page.text.split())
    assert "column <b>x</b> leaks" in text
    assert "The alerts above may make all of this misleading." in text
    assert "b" not in page.elements
    assert "The alert above may make all of this misleading." in " ".join(
        Page(replace(signal, alerts=["other"]).html()).text.split()
    )


def test_without_signal_nothing_is_recommended(noise):
    assert noise.assessment.verdict == "no signal"
    assert noise.recommendation.selector is None
    page = Page(noise.html())
    assert noise.recommendation.reason in page.text
    assert "the recommended selector" not in page.text
    assert "the star is" not in page.text
    assert 'class="chosen"' not in noise.html()


def test_a_recommendation_does_not_stand_against_the_verdict(signal, noise):
    report = replace(signal, assessment=noise.assessment)
    assert signal.recommendation.selector == signal.first_selector
    assert report.recommendation.selector is None
    assert (
        f"{signal.first_selector} would be by its score and stability"
        in report.recommendation.reason
    )
    assert report.first_selector == signal.first_selector


def test_a_signal_without_a_recommendation_is_doubted(signal, noise):
    assert signal.doubt is None
    assert noise.doubt is None
    report = replace(noise, assessment=signal.assessment)
    assert report.recommendation.selector is None
    assert (
        f"{report.reason} But no selector was shown to predict better"
        in Page(report.html()).text
    )
    assert report.verdict.startswith("Signal is not shown")


def test_a_page_says_what_made_it(signal):
    assert '<meta name="generator" content="skstab ' in signal.html()[:2000]

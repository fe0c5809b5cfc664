"""What a notebook shows of runs."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skstab.model_selection import BootstrapSplit, StabilityCV

HOSTILE = '<script>alert(1)</script>"onload="x'


class Elements(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.seen, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.seen += [tag, *(name for name, _ in attrs)]

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def runs():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(60, 12)), columns=[HOSTILE, *(f"f{i}" for i in range(11))]
    )
    y = X[HOSTILE] + 0.5 * rng.normal(size=60) > 0
    pipe = make_pipeline(SelectKBest(k=3), LogisticRegression())
    return (
        StabilityCV(pipe, cv=BootstrapSplit(5, random_state=0), scoring="accuracy"),
        X,
        y,
    )


def block_of(estimator):
    """Return what is shown in addition to the diagram."""
    return estimator._repr_html_().partition("<style")[0]


def test_before_a_fit_there_is_only_the_diagram(runs):
    assert "% interval" not in runs[0]._repr_html_()
    assert "% interval" not in runs[0]._repr_mimebundle_()["text/html"]


def test_a_fitted_object_shows_its_stability_and_its_top_features_beside_the_diagram(
    runs,
):
    fitted = runs[0].fit(*runs[1:])
    for html in (fitted._repr_html_(), fitted._repr_mimebundle_()["text/html"]):
        text = Elements(html).text
        interval = fitted.stability_interval_
        assert f"Stability {interval.estimate:.2f}" in text
        assert (
            f"(95% interval {interval.low:.2f} to {interval.high:.2f}, resampling error), nogueira measure"
            in text
        )
        assert "5 runs, 3.0 of 12 features selected on average" in text
        assert f"accuracy {fitted.scores_['accuracy'].mean():.3f}" in text
        assert "sk-top-container" in html
    assert repr(fitted) == fitted._repr_mimebundle_()["text/plain"]


def test_features_have_bars_as_long_as_their_frequency(runs):
    fitted = runs[0].fit(*runs[1:])
    html = block_of(fitted)
    top = fitted.summary()["frequency"].nlargest(8)
    top = top[top > 0]
    assert html.count('role="listitem"') == len(top)
    assert [f"width:{share:.0%}" in html for share in top] == [True] * len(top)


def test_names_are_escaped(runs):
    fitted = runs[0].fit(*runs[1:])
    block = Elements(block_of(fitted))
    assert "script" not in block.seen
    assert "onload" not in block.seen
    assert HOSTILE in block.text


def test_long_names_are_cut_but_told_whole_when_pointed_at(runs):
    estimator, X, y = runs
    name = "x" * 200
    html = block_of(estimator.fit(X.rename(columns={HOSTILE: name}), y))
    assert f'title="{name}"' in html
    assert f">{'x' * 60}…<" in html


def test_two_runs_have_no_interval(runs):
    estimator, X, y = runs
    fitted = estimator.set_params(cv=BootstrapSplit(2, random_state=0)).fit(X, y)
    assert "interval" not in block_of(fitted)
    assert "Stability" in block_of(fitted)


def test_the_text_display_stays_text(runs):
    fitted = runs[0].fit(*runs[1:])
    with config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert list(fitted._repr_mimebundle_()) == ["text/plain"]


@pytest.mark.filterwarnings("ignore:scoring failed")
def test_scores_that_nobody_knows(runs):
    runs, X, y = runs
    fitted = runs.set_params(scoring=lambda *_: None).fit(X, y)
    assert "score unknown" in Elements(fitted._repr_html_()).text


def test_the_measure_is_the_one_that_was_computed(runs):
    runs, X, y = runs
    fitted = runs.fit(X, y).set_params(measure="jaccard")
    assert "nogueira measure" in Elements(fitted._repr_html_()).text

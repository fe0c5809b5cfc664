"""`plot()` of fitted objects: each option reaches what makes the display, or what draws it."""

from importlib import import_module
from inspect import signature

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest

from skstab._displays import DISPLAYS
from skstab.model_selection import BootstrapSplit, StabilityCV, compare_selectors

CV = BootstrapSplit(4, random_state=0)


@pytest.fixture(scope="module")
def data():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def runs(data):
    return StabilityCV(SelectKBest(k=5), cv=CV).fit(*data)


def test_options_of_the_data_and_of_the_picture_go_together(runs):
    display = runs.plot(top_k=3, confidence_level=0.5)
    assert display.confidence_level == 0.5
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == list(display.frame()["feature"].head(3))


def test_options_of_other_pictures(runs, data):
    display = runs.plot("raster", order="frequency", top_k=2)
    names = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert names[:2] == list(runs.plot().frame()["feature"].head(2))
    assert len(names) == 3  # the last one is all the others
    assert runs.plot("map", legend=False).ax_.get_legend() is None
    comparison = compare_selectors(
        {"few": SelectKBest(k=2), "more": SelectKBest(k=9)}, *data, cv=CV
    )
    assert set(comparison.plot(reference="few").frame()["reference"].dropna()) == {
        "few"
    }


@pytest.mark.parametrize("name", ["topk", "estimator", "ax_"])
def test_an_unknown_option_names_those_there_are(runs, name):
    with pytest.raises(
        TypeError,
        match=rf"this picture are: confidence_level, top_k, order, legend; got {name}$",
    ):
        runs.plot(**{name: 3})


def test_no_option_of_the_data_hides_one_of_the_picture():
    import_module("skstab.inspection")
    assert DISPLAYS
    for make in DISPLAYS.values():
        drawn = list(signature(make.__self__.plot).parameters)[2:]
        assert not set(drawn) & set(signature(make).parameters)

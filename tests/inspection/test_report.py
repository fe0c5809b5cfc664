"""The report as a page: complete, accessible, closed to the network, and safe with any name."""

import base64
import hashlib
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skstab.inspection import _stability_report, feature_report
from skstab.inspection._stability_map import FeatureStabilityMapDisplay
from skstab.inspection._stability_report import (
    Cell,
    StabilityReport,
    between,
    draw,
    number,
)
from skstab.model_selection import BootstrapSplit, compare_selectors
from tests.inspection.page import Page

FEATURES = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "{{7*7}}",
    "$x$",
    "-->",
    "\x07bell",
    *"abc",
]
NAMES = ["filter </td><b>", "lasso {{ 1 }}"]


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, len(FEATURES))), columns=FEATURES)
    y = X.iloc[:, :3].sum(axis=1) + rng.normal(size=60) > 0
    lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.15, random_state=0)
    selectors = dict(
        zip(
            NAMES,
            [make_pipeline(SelectKBest(k=3), LogisticRegression()), lasso],
            strict=True,
        )
    )
    return compare_selectors(
        selectors,
        X,
        y,
        cv=BootstrapSplit(6, random_state=0),
        scoring="accuracy",
        random_state=0,
    )


@pytest.fixture(scope="module")
def report(comparison):
    made = StabilityReport(
        title="<h1>title",
        comparison=comparison,
        candidates=comparison.frame(),
        scoring="accuracy",
        code="print('</pre><script>')",
        facts={"Data": "<i>file</i>"},
        notes=["<b>note</b>"],
        variables={name: "ab" if name in "ab" else name for name in FEATURES},
    )
    runs = comparison.runs[made.first_selector]
    return replace(made, feature_report=feature_report(runs, threshold=0.1))


@pytest.fixture(scope="module")
def html(report):
    return report.html()


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


# -- safety ------------------------------------------------------------------------------------------------------------


def test_no_name_becomes_an_element_or_an_attribute(page):
    assert not {"b", "i", "svg"} & set(page.elements)
    assert page.elements.count("script") == page.elements.count("h1") == 1
    assert len(page.images) == 2
    assert not any(name.startswith("on") for names in page.attributes for name in names)


def test_names_are_read_as_they_were_written(page, report):
    features = {row[0] for row in page.table("How often features were selected")[1:]}
    assert (
        features == {row[0].text for row in report.all_features.rows} <= set(FEATURES)
    )
    assert features >= set(FEATURES[:3])
    assert {
        row[0] for row in page.table("Selectors, the most stable first")[1:]
    } == set(NAMES)
    assert page.code == "print('</pre><script>')"
    assert "<i>file</i>" in page.text
    assert "<b>note</b>" in page.text
    assert "49" not in page.table("How often features were selected")[3][0]


def test_the_page_may_load_nothing_and_run_only_its_own_script(html, page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1].replace(
        "&#39;", "'"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    digest = base64.b64encode(hashlib.sha256(page.script.encode()).digest()).decode()
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert rules["img-src"] == "data:"


def test_the_page_refers_to_nothing_outside(html):
    outside = re.sub(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]+", "", html)
    assert not re.findall(r"(?:https?:)?//[a-z]", outside.replace("// Tables", ""))
    assert not re.findall(r"@import|url\(|<link|<iframe", outside)


def test_pictures_are_well_formed_and_hold_names_as_text(page):
    texts = set()
    for attributes in page.images:
        kind, _, data = attributes["src"].partition(",")
        assert kind == "data:image/svg+xml;base64"
        tree = ElementTree.fromstring(base64.b64decode(data))  # noqa: S314  our own
        assert not tree.findall(".//{*}script")
        texts |= {
            element.text for element in tree.iter("{http://www.w3.org/2000/svg}text")
        }
    assert {"$x$", "{{7*7}}", "-->"} & texts
    assert not any("\x07" in (text or "") for text in texts)


# -- access ------------------------------------------------------------------------------------------------------------


def test_every_picture_says_what_it_shows(page):
    assert all(len(attributes["alt"]) > 30 for attributes in page.images)
    assert page.elements.count("figcaption") == len(page.images)


def test_headings_and_anchors_are_in_order(html, page):
    levels = [int(tag[1]) for tag in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert set(levels[1:]) == {2}
    anchors = re.findall(r'href="#(\w+)"', html)
    assert set(anchors) <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_every_cell_of_a_head_has_a_scope(html, page):
    assert html.count('scope="col"') == sum(
        len(table[0]) for table in page.tables.values()
    )
    assert html.count('scope="row"') == sum(
        len(table) - 1 for table in page.tables.values()
    )
    assert all(
        len(row) == len(table[0]) for table in page.tables.values() for row in table
    )


def test_numbers_can_be_sorted(html):
    for share in re.findall(r'data-value="([^"]*)"', html):
        float(share)


# -- content -----------------------------------------------------------------------------------------------------------


def test_the_recommendation_is_that_of_the_comparison(page, comparison):
    assert comparison.recommend().reason in page.text


def test_the_comparison_says_how_long_the_lists_are_and_what_they_share(
    report, comparison
):
    first = report.first_selector
    shared, table = comparison.shared_features().loc[first], comparison.frame()
    for row in report.selectors.rows:
        name = row[0].text
        assert row[-2].value == pytest.approx(table.loc[name, "n_features"])
        assert row[-1].value == pytest.approx(shared[name])


def test_the_features_are_those_of_the_recommended_selector_first(report, comparison):
    recommended = comparison.recommend().selector
    table = report.all_features
    assert [column.name for column in table.columns][:2] == ["Feature", recommended]
    frequencies = comparison.runs[recommended].summary()["frequency"]
    shares = [row[1].value for row in table.rows]
    assert shares == sorted(shares, reverse=True)
    assert all(frequencies[row[0].text] == row[1].value for row in table.rows)
    assert len(table.rows) + report.n_never_selected == len(FEATURES)


def test_features_after_the_first_are_folded_away(report, monkeypatch):
    monkeypatch.setattr(_stability_report, "N_FIRST", 2)
    assert [row[0].text for row in report.first_features.rows] == [
        row[0].text for row in report.all_features.rows[:2]
    ]
    assert len(report.other_features.rows) == len(report.all_features.rows) - 2
    page = Page(report.html())
    assert (
        len(page.table("The features that follow")) == len(report.all_features.rows) - 1
    )
    assert page.elements.count("details") == 6


def test_a_variable_is_selected_where_any_of_its_columns_is(report, comparison):
    a, b = FEATURES.index("a"), FEATURES.index("b")
    row = report.categories.rows[0]
    assert [cell.text for cell in row[:2]] == ["ab", "2"]
    for cell, name in zip(row[2:], report._frequencies.columns, strict=True):
        supports = comparison.runs[name].supports_
        assert cell.value == pytest.approx((supports[:, a] | supports[:, b]).mean())


def test_without_categories_nothing_is_said_of_variables(report):
    plain = replace(report, variables=None)
    assert plain.categories is None
    assert plain.noun == "feature"
    assert report.noun == "variable"


def test_pictures_are_the_same_each_time_and_leave_no_figure_behind():
    before = plt.get_fignums()
    display = FeatureStabilityMapDisplay.from_importances(
        [[3, 1, 0], [2, 0, 2], [4, 4, 0]]
    )
    assert draw(display, "alt", "caption") == draw(display, "alt", "caption")
    assert plt.get_fignums() == before


def test_missing_numbers_are_dashes_that_sort_last():
    assert number(np.nan) == between(np.nan, np.nan) == Cell("–")
    assert number(0.126) == Cell("0.13", 0.126)
    assert between(0.1, 0.25) == Cell("0.10 to 0.25", 0.1)

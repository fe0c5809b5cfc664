"""The page from top to bottom: its order, the features to publish, its words, its policy, and its size."""

import base64
import hashlib
import re
from dataclasses import replace
from html import unescape

import jinja2
import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skstab.inspection import StabilityReport, feature_report
from skstab.inspection._verdict import numbers
from skstab.metrics import stability_in_words
from skstab.model_selection import (
    BootstrapSplit,
    Chance,
    SelectorComparison,
    assess_selector,
    compare_selectors,
)
from skstab.runs import Runs
from tests.inspection.page import Page

ATTACK = '<script>document.title = "run"</script><img src=x onerror="document.title = 1"><a href="javascript:1">x</a>'
N = 80
NOTHING_FOUND = Chance(
    np.ones(19), np.ones(19), 1.0, 1.0, np.ones(9), ignores_target=False
)


def table():
    """Two features with signal, one of them with a near-copy, a hostile name, and noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(N, 8)),
        columns=[ATTACK, "second", *(f"x{i}" for i in range(6))],
    )
    X["copy"] = X["second"] + 0.1 * rng.normal(size=N)
    y = (X[ATTACK] - X["second"] + 0.4 * rng.normal(size=N) > 0).astype(int)
    return X, y


@pytest.fixture(scope="module")
def report():
    X, y = table()
    selectors = {
        f"best ({k} features)": make_pipeline(SelectKBest(k=k), LogisticRegression())
        for k in (2, 4)
    }
    settings = {
        "cv": BootstrapSplit(12, random_state=0),
        "scoring": "accuracy",
        "random_state": 0,
    }
    found = compare_selectors(selectors, X, y, **settings)
    made = StabilityReport(
        ATTACK,
        found,
        found.frame(),
        "accuracy",
        code=ATTACK,
        about={"best": ATTACK},
        direction="outcome = ill",
    )
    assessment = assess_selector(
        selectors[made.first_selector], X, y, n_pairs=6, n_permutations=19, **settings
    )
    published = feature_report(
        found.runs[made.first_selector], X, y, assessment=assessment
    )
    return replace(
        made,
        assessment=assessment,
        feature_report=published,
        facts={"Data": ATTACK},
        notes=[ATTACK],
    )


@pytest.fixture(scope="module")
def html(report):
    return report.html()


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


# -- order and words ---------------------------------------------------------------------------------------------------


def test_the_page_answers_in_the_order_of_the_questions(page, report):
    assert page.ids == [
        "answer",
        "publish",
        "else",
        "comparison",
        "how",
        "all",
        "python",
    ]
    with_alerts = Page(replace(report, alerts=["something"]).html())
    assert with_alerts.ids[:3] == ["alerts", "answer", "publish"]


def test_the_verdict_counts_features_and_the_numbers_stand_below_once(report, page):
    found = report.assessment
    supports = found.halves.in_pairs().supports
    both = np.mean(
        [np.sum(a & b) for a, b in zip(supports[::2], supports[1::2], strict=True)]
    )
    sizes = [
        f"{mean:.1f}".removesuffix(".0") for mean in (both, supports.sum(1).mean())
    ]
    assert report.verdict == (
        f"There is signal. Two samples of 40 rows share {sizes[0]} of {sizes[1]} features."
    )
    score, stability = found.score, found.replication
    assert report.reason == (
        f"Accuracy {score.mean:.3f} ± {score.standard_error:.3f}; AUC on halves of the rows "
        f"{found.chance.auc:.3f}; none of 19 permuted targets reached more than {found.chance.aucs.max():.3f}. "
        f"Stability on other data {stability.estimate:.2f} ({stability.low:.2f} to {stability.high:.2f} with 95% "
        "confidence): whether the list is stable is unclear."
    )
    assert page.text.index(report.verdict) < page.text.index(report.reason)


def test_permuted_targets_that_did_as_well_are_counted(report):
    found = report.assessment
    areas = np.array([*found.chance.aucs[:-2], 1.0, 1.0])
    doubtful = replace(found, chance=replace(found.chance, aucs=areas))
    assert "; 2 of 19 permuted targets reached as much." in numbers(
        doubtful, "accuracy"
    )


def test_a_list_that_is_stable_is_called_by_its_word(report):
    interval = replace(report.assessment.replication, estimate=0.7, low=0.5)
    stable = replace(
        report, assessment=replace(report.assessment, replication=interval)
    )
    assert stable.assessment.verdict == "signal, stable"
    assert f"called {stability_in_words(0.7)}." in stable.reason


def test_a_list_that_is_unstable_is_called_so(report):
    unstable = replace(
        report.assessment,
        replication=replace(
            report.assessment.replication, estimate=0.2, low=0.0, high=0.35
        ),
    )
    shown = replace(report, assessment=unstable)
    assert shown.verdict.startswith("There is signal, but the list is unstable: two ")
    assert "called poor" in shown.reason


def test_no_internal_name_is_left_without_its_meaning(page):
    text = page.text
    for code in page.codes:
        text = text.replace(code, "")
    assert "nogueira" not in text.lower()
    assert "most stable one within a standard error of the best score (one_se)" in text
    assert not re.search(r"\b[NkC]=", text)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_singular_and_plural(number, report, monkeypatch):
    monkeypatch.setattr(StabilityReport, "n_never_selected", number)
    text = " ".join(Page(report.html()).text.split())
    expected = {
        0: None,
        1: "1 feature that no resample selected is left out",
        2: "2 features that no resample selected are",
    }
    assert expected[number] is None or expected[number] in text
    assert not re.search(r"\b1 (features|settings|resamples|rows)\b", text)


# -- features ----------------------------------------------------------------------------------------------------------


def test_the_features_to_publish_have_direction_frequency_substitutes_and_evidence(
    report, page
):
    rows = {
        row[0]: row[1:]
        for row in page.table("Features to publish, those with the most evidence first")
    }
    core = report.feature_report.core
    assert rows.pop("Feature") == [
        "Values that go with outcome = ill (alone)",
        "Selected in halves (its decoy)",
        "Stands also for",
    ]
    assert list(rows) == list(core.index)
    assert rows[ATTACK][0].startswith("higher")
    other = "second" if "second" in rows else "copy"
    assert rows[other][0].startswith("lower")
    assert rows[other][2] == ("copy" if other == "second" else "second")
    assert rows[ATTACK][2] == "–"
    for name, cells in rows.items():
        halves, decoy = core.loc[name, ["halves", "decoy"]]
        assert cells[1] == f"{halves:.0%} ({decoy:.0%})"


def test_the_first_screen_is_short(html):
    """Words that a reader sees before opening a fold."""
    visible = Page(re.sub(r"<details.*?</details>", "", html, flags=re.DOTALL))
    assert len(visible.text.replace(ATTACK, "name").split()) < 350


def test_the_paragraph_on_methods_says_what_was_done(report, page):
    text, *references = report.methods().split("\n\n")
    assert f"selected by {report.first_selector}" in text
    assert "12 bootstrap samples" in text
    assert "6 pairs of disjoint halves" in text
    assert "19 permutations" in text
    assert "decoys" in text
    assert all(one.startswith("@article{") for one in references)
    assert len(references) == 4
    assert text in " ".join(page.codes)


def test_the_table_for_a_paper_is_that_of_the_features(report, page):
    assert report.to_latex() == report.feature_report.to_latex()
    assert report.to_latex() in page.codes
    nothing = replace(
        report, assessment=replace(report.assessment, chance=NOTHING_FOUND)
    )
    assert "none, since there is no signal" in nothing.to_latex()
    assert "tabular" not in nothing.to_latex()


def test_the_table_of_features_is_that_of_the_report(report):
    pd.testing.assert_frame_equal(report.features, report.feature_report.core)


def test_what_else_would_do_names_substitutes(page):
    rows = page.table("Substitutes: features with nearly the same values")[1:]
    assert [set(row[:2]) for row in rows] == [{"second", "copy"}]


def test_without_signal_there_is_nothing_to_publish(report):
    X, _ = table()
    y = np.random.default_rng(1).integers(2, size=N)
    selector = make_pipeline(SelectKBest(k=2), LogisticRegression())
    noise = assess_selector(
        selector, X, y, n_pairs=4, n_permutations=19, scoring="accuracy", random_state=0
    )
    assert noise.verdict == "no signal"
    runs = report.comparison.runs[report.first_selector]
    silent = replace(
        report,
        assessment=noise,
        feature_report=feature_report(runs, X, assessment=noise),
    )
    page = Page(silent.html())
    assert "No features to publish" in page.text
    assert "None, since there is no signal." in page.text
    assert silent.features.empty
    assert "Nothing is published above" in page.text
    assert silent.verdict.startswith("No signal: ")
    assert "Features to publish, those with the most evidence first" not in page.tables
    assert silent.answers()[1] == "Features to publish: none, since there is no signal."


def test_the_answers_are_those_of_the_page(report, page):
    verdict, features, recommendation = report.answers()
    assert verdict == f"{report.verdict} {report.reason}"
    assert features.startswith("Features to publish: 2 features of 9: ")
    assert recommendation in page.text


# -- the policy --------------------------------------------------------------------------------------------------------


def rules_of(html):
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1])
    return dict(rule.strip().split(" ", 1) for rule in policy.split(";"))


def test_a_page_without_escaping_may_still_run_nothing_but_its_own_script(
    report, monkeypatch
):
    original = jinja2.Environment
    monkeypatch.setattr(
        jinja2,
        "Environment",
        lambda **options: original(**{**options, "autoescape": False}),
    )
    broken = report.html()
    scripts = re.findall(r"<script>(.*?)</script>", broken, flags=re.DOTALL)
    assert len(scripts) > 5  # the names have become elements
    assert 'onerror="' in broken
    rules = rules_of(broken)
    allowed = re.fullmatch(r"'sha256-([^']+)'", rules["script-src"])[
        1
    ]  # no 'unsafe-inline', hence no handlers and links
    runs = [
        text
        for text in scripts
        if base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() == allowed
    ]
    assert len(runs) == 1
    assert runs[0].startswith("// Tables are complete without this script")
    assert rules["default-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    # A policy holds from where it stands: nothing that was not trusted comes before it.
    assert broken.index("Content-Security-Policy") < broken.index(ATTACK)


def test_with_escaping_the_attack_is_a_text(page):
    assert page.elements.count("script") == 1
    assert not any(name.startswith("on") for names in page.attributes for name in names)
    assert ATTACK in page.text


# -- a notebook and a file ---------------------------------------------------------------------------------------------


def test_a_notebook_shows_the_same_page_in_a_frame_of_its_own(report, html):
    shown = report._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts"')
    assert unescape(re.search(r'srcdoc="([^"]*)"', shown)[1]) == html


def test_a_page_without_a_name_is_not_written_to_the_folder(report):
    with pytest.raises(FileNotFoundError):
        report.save("")


def test_the_page_is_saved(report, html, tmp_path):
    report.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == html


# -- many features -----------------------------------------------------------------------------------------------------


def test_20_000_features_keep_the_page_small():
    rng = np.random.default_rng(0)
    names = [f"ENSG00000{i:06d}_at" for i in range(20_000)]
    runs = {}
    for place, name in enumerate(("lasso (penalty alpha=0.1)", "k-best (50 features)")):
        supports = rng.random((50, 20_000)) < np.where(
            np.arange(20_000) < 30, 0.9, 0.01
        )
        scores = {"accuracy": 0.9 - 0.1 * place + 0.02 * rng.normal(size=50)}
        runs[name] = Runs(
            supports, supports * rng.random(20_000), feature_names=names, scores=scores
        )
    comparison = SelectorComparison(runs, "nogueira")
    report = StabilityReport(
        "Many", comparison, comparison.frame(), "accuracy", code=""
    )
    report = replace(report, feature_report=feature_report(runs[report.first_selector]))
    html = report.html()
    assert len(html.encode()) < 3_000_000
    assert len(report.all_features.rows) == 1000
    assert f"{report.n_not_listed:,} features selected more rarely" in html
    assert (
        len(report.all_features.rows) + report.n_never_selected + report.n_not_listed
        == 20_000
    )

"""`assess_selector` against plain loops, its verdicts, permuted targets and the sentence that says why."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.feature_selection import (
    SelectFdr,
    SelectFromModel,
    SelectKBest,
    VarianceThreshold,
    f_regression,
)
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from skstab.metrics import full_size_interval, nogueira_stability, replication_stability
from skstab.model_selection import BootstrapSplit, assess_selector
from skstab.model_selection._assessment import as_of_pairs, pvalue_above
from skstab.model_selection._permute import permuted_rows
from skstab.model_selection._scoring import class_auc
from skstab.runs import Runs

N, D = 60, 12


def make_data(n=N):
    """Make three features that each shift the classes apart, and others of noise."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(size=(n, D)) + 1.5 * np.outer(y, np.arange(D) < 3), y


def filter_of(k=3):
    return make_pipeline(SelectKBest(k=k), GaussianNB())


@pytest.fixture(scope="module")
def found():
    return assess_selector(filter_of(), *make_data(), random_state=0)


# -- the numbers -------------------------------------------------------------------------------------------------------


def test_agreement_is_that_of_the_bootstraps(found):
    assert len(found.runs) == 50
    assert found.agreement == found.runs.interval()
    assert found.agreement.about == "resampling error"
    np.testing.assert_allclose(
        found.agreement.estimate, nogueira_stability(found.runs.supports)
    )


def test_replication_is_within_pairs_of_disjoint_halves(found):
    assert len(found.halves) == 32
    assert found.replication == replication_stability(found.halves.supports)
    assert found.replication.about == "other data"


def test_the_full_size_continues_what_the_curve_shows(found):
    quarter, half = np.clip(found.curve["stability"].iloc[-2:], 0.03, 0.97)
    gain = np.log(half / (1 - half)) - np.log(quarter / (1 - quarter))
    odds = half / (1 - half) * np.exp(0.75 * np.clip(gain, 0, 2.5))
    phi = found.replication.estimate
    expected = max(2 * phi / (1 + phi), odds / (1 + odds))
    if found.agreement.estimate > phi:
        expected = (expected + found.agreement.estimate) / 2
    assert found.other_data.estimate == pytest.approx(expected)
    assert found.other_data.method == "full size"
    # Without the curve the halves alone are continued, which is another estimate here.
    alone = full_size_interval(found.runs, found.halves)
    assert found.other_data.estimate > alone.estimate


def test_the_refit_is_what_the_selector_takes_on_all_rows(found):
    X, y = make_data()
    np.testing.assert_array_equal(
        found.runs.refit, SelectKBest(k=3).fit(X, y).get_support()
    )


def test_the_score_is_that_of_the_rows_left_out(found):
    losses = found.runs.row_losses["score"]
    np.testing.assert_allclose(found.score.mean, 1 - np.nanmean(losses, axis=1).mean())
    rows = np.nanmean(losses[:, ~np.isnan(losses).all(axis=0)], axis=0)
    np.testing.assert_allclose(
        found.score.standard_error, rows.std(ddof=1) / np.sqrt(len(rows))
    )
    assert found.score.name == "accuracy"
    assert (
        str(found.score)
        == f"accuracy {found.score.mean:.3f} ± {found.score.standard_error:.3f}"
    )


def test_chance_has_a_value_for_each_permutation(found):
    chance = found.chance
    assert chance.stabilities.shape == chance.scores.shape == (20,)
    assert chance.score_pvalue == 1 / 21
    assert chance.frequencies.shape == (D,)
    np.testing.assert_allclose(chance.frequencies.sum(), 3)
    assert not chance.ignores_target
    assert abs(chance.scores.mean() - 0.5) < 0.1
    assert abs(chance.stabilities.mean()) < 0.2


def test_the_curve_ends_at_the_halves(found):
    assert found.curve.index.tolist() == [15, 30]  # an eighth of the rows is too few
    last = found.curve.iloc[-1]
    assert (last["stability"], last["low"]) == (
        found.replication.estimate,
        found.replication.low,
    )


def test_default_cost_is_at_most_six_times_that_of_stability_cv():
    fits = []

    class Counted(GaussianNB):
        def fit(self, X, y):
            fits.append(len(y))
            return super().fit(X, y)

    assess_selector(
        make_pipeline(SelectKBest(k=3), Counted()), *make_data(200), random_state=0
    )
    assert len(fits) == 277 <= 6 * 51
    assert sum(fits) < 6 * 51 * 200 / 1.5  # most of them see half of the rows or less


def test_an_int_random_state_gives_the_same_for_any_number_of_jobs():
    X, y = make_data()
    first, second = (
        assess_selector(filter_of(), X, y, random_state=3, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(first.frame(), second.frame(), check_exact=True)
    np.testing.assert_array_equal(first.chance.stabilities, second.chance.stabilities)
    np.testing.assert_array_equal(first.chance.frequencies, second.chance.frequencies)
    assert first.reason == second.reason


def test_seeds_differ():
    X, y = make_data()
    first, second = (
        assess_selector(filter_of(), X, y, random_state=seed) for seed in (0, 1)
    )
    assert (first.halves.row_predictions != second.halves.row_predictions).any()


def test_parameters_reach_the_runs():
    X, y = make_data()
    found = assess_selector(
        filter_of(),
        X,
        y,
        cv=BootstrapSplit(10, random_state=0),
        n_pairs=4,
        n_permutations=19,
        scoring="roc_auc",
        measure="jaccard",
        confidence_level=0.5,
        random_state=0,
    )
    assert (len(found.runs), len(found.halves), found.chance.scores.size) == (10, 8, 19)
    assert found.score.name == "roc_auc"
    assert found.measure.name == "jaccard"
    assert found.agreement.confidence_level == 0.5


def test_a_checkpoint_makes_only_the_missing_runs(tmp_path, monkeypatch):
    X, y = make_data()
    expected = assess_selector(filter_of(), X, y, random_state=0)
    for made_before in (False, True):
        if made_before:
            monkeypatch.setattr("skstab._engine.make.run_block", None)
        stored = assess_selector(
            filter_of(), X, y, random_state=0, checkpoint=tmp_path / "runs.db"
        )
        pd.testing.assert_frame_equal(
            stored.frame(), expected.frame(), check_exact=True
        )
        np.testing.assert_array_equal(
            stored.chance.stabilities, expected.chance.stabilities
        )


# -- the verdict -------------------------------------------------------------------------------------------------------


def test_signal_is_found_and_said(found):
    assert found.verdict == "signal, stable"
    assert found.reason.startswith(
        "Signal, stable: the selected features rank the classes better than with permuted targets "
        f"(AUC {found.chance.auc:.3f} against {found.chance.aucs.mean():.3f}; none of 20 permutations did as well; "
        f"{found.score})"
    )
    assert str(found.replication) in found.reason
    assert found.reason.endswith(".")


@pytest.mark.parametrize("seed", range(3))
def test_noise_has_no_signal(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N, 40)), np.arange(N) % 2
    found = assess_selector(filter_of(), X, y, random_state=seed)
    assert found.verdict == "no signal"
    assert "should not be reported as a finding" in found.reason


def test_signal_that_halves_do_not_share_is_unstable():
    # Many copies of one feature predict equally well: which of them is taken is chance.
    rng = np.random.default_rng(0)
    z = rng.normal(size=100)
    X, y = z[:, None] + 0.5 * rng.normal(size=(100, 40)), z > 0
    found = assess_selector(filter_of(8), X, y, random_state=0)
    assert found.verdict == "signal, unstable"
    assert found.replication.high < 0.4
    assert found.reason.endswith(", other data), called poor.")
    pairs = found.halves.supports.astype(int).reshape(16, 2, -1)
    shared = pairs.prod(axis=1).sum(axis=1).mean()
    assert f"Two samples of 50 rows share {shared:.1f} of 8.0 features" in found.reason


def test_stability_is_unclear_where_its_interval_says_so():
    rng = np.random.default_rng(0)
    z = rng.normal(size=100)
    X, y = z[:, None] + 0.5 * rng.normal(size=(100, 12)), z > 0
    found = assess_selector(filter_of(), X, y, random_state=0)
    assert found.replication.low < 0.4 < found.replication.high
    assert found.verdict == "signal, stability unclear"
    assert found.reason.endswith(', from "poor" to "intermediate to good".')


def test_a_signal_in_unequal_classes_is_seen_whatever_score_is_shown():
    """A penalised model predicts the larger class for every row: no accuracy sees that it ranks the rows well."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    signal = X[:, :3].sum(axis=1) + rng.logistic(size=200)
    y = np.zeros(200, dtype=int)
    y[np.argsort(-signal)[:20]] = 1
    model = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.2)
    for scoring in (None, "balanced_accuracy"):
        found = assess_selector(
            model, X, y, scoring=scoring, n_decoy_draws=0, random_state=0
        )
        assert found.verdict.startswith("signal")
        assert found.chance.auc_pvalue == 1 / 21
        assert f"AUC {found.chance.auc:.3f} against" in found.reason
        assert found.frame().loc["AUC, half the size", "estimate"] == found.chance.auc
    assert found.chance.score_pvalue > 0.05
    noise = assess_selector(
        model, X, rng.permutation(y), n_decoy_draws=0, random_state=0
    )
    assert noise.verdict == "no signal"


def test_the_area_is_that_of_each_class_against_the_rest():
    X, y = make_classification(90, 6, n_informative=4, n_classes=3, random_state=0)
    forms = [LogisticRegression(), LinearSVC(), SVC()]
    for model in forms:
        found = model.fit(X, y)
        values = (
            found.predict_proba(X)
            if hasattr(found, "predict_proba")
            else found.decision_function(X)
        )
        expected = np.mean(
            [roc_auc_score(y == label, values[:, label]) for label in range(3)]
        )
        assert class_auc(found, X, y) == pytest.approx(expected)
    two = LinearSVC().fit(X, y > 0)
    expected = roc_auc_score(y > 0, two.decision_function(X))
    assert class_auc(two, X, y > 0) == pytest.approx(expected)
    one_class = class_auc(two, X[y > 0], (y > 0)[y > 0])
    assert np.isnan(one_class)


@pytest.mark.filterwarnings(
    "ignore:all runs agree because there was nothing to choose:RuntimeWarning"
)
def test_halves_that_select_nothing_do_not_hide_a_signal():
    """C counts rows: on halves the penalty per row is twice as strong."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    y = (X[:, 0] + rng.standard_normal(400) > 0).astype(int)
    strongest = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max()
    model = LogisticRegression(l1_ratio=1, solver="liblinear", C=1.35 / strongest)
    found = assess_selector(model, X, y, random_state=0)
    assert found.has_empty_halves
    assert found.verdict == "signal, stability unclear"
    assert found.chance.score_pvalue == 1 / 21
    assert "is not known: most halves of the data select nothing" in found.reason
    noise = assess_selector(model, X, rng.permutation(y), random_state=0)
    assert noise.has_empty_halves
    assert noise.verdict == "no signal"
    alone = assess_selector(
        SelectFromModel(model, threshold=1e-10), X, y, random_state=0
    )
    assert alone.verdict == "no signal"
    assert "nothing shows that there is any: most halves" in alone.reason


def strict(alpha=0.05):
    return SelectFdr(f_regression, alpha=alpha)


def normal(effect, seed):
    rng = np.random.default_rng([5, seed])
    X = rng.standard_normal((100, 40))
    return X, effect * X[:, :5].sum(axis=1) + rng.standard_normal(100)


@pytest.mark.filterwarnings(
    "ignore:all runs agree because there was nothing to choose:RuntimeWarning"
)
def test_selectors_that_find_nothing_in_most_halves_of_noise_find_no_signal():
    # Of these 12 data sets, 8 were called a signal while few wrong features counted as less than none.
    found = [
        assess_selector(strict(), *normal(0, seed), random_state=seed)
        for seed in range(12)
    ]
    assert [one.verdict for one in found].count("no signal") == 12
    empty = next(one for one in found if one.has_no_choice)
    assert "nothing shows that there is any: " in empty.reason
    assert np.isnan(empty.frame().loc["replication, half the size", "estimate"])
    assert np.isnan(empty.curve["stability"].iloc[-1])
    clear = assess_selector(strict(), *normal(1, 0), random_state=0)
    assert clear.verdict == "signal, stable"


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@pytest.mark.filterwarnings(
    "ignore:all runs agree because there was nothing to choose:RuntimeWarning"
)
def test_pipelines_whose_selector_keeps_nothing():
    model = make_pipeline(strict(), Ridge())
    with pytest.warns(
        UserWarning,
        match=r"^scoring failed in \d+ of \d+ runs, .* nothing was selected: ValueError",
    ) as told:
        clear = assess_selector(model, *normal(1, 0), random_state=0)
    assert len([one for one in told if "scoring failed" in str(one.message)]) == 1
    assert clear.verdict == "signal, stable"
    assert np.isnan(clear.chance.score_pvalue), (
        "permuted targets leave nothing to predict with"
    )
    assert (
        "two independent halves of the data agree more than with permuted targets"
        in clear.reason
    )
    assert clear.chance.stability_pvalue == 1 / 21
    assert "score" not in repr(clear.chance)
    with pytest.warns(UserWarning, match="nothing was selected"):
        noise = assess_selector(model, *normal(0, 1), random_state=0)
    assert noise.verdict == "no signal"
    assert "nothing shows that there is any: most halves" in noise.reason


def test_a_score_that_always_fails_says_why_though_nothing_is_selected():
    def broken(estimator, X, y):
        raise RuntimeError("no score")

    with pytest.raises(
        ValueError,
        match="scoring failed in all runs, the first time with RuntimeError: no score",
    ):
        assess_selector(Lasso(100.0), *normal(1, 0), scoring=broken, random_state=0)


class NeedsRows(SelectKBest):
    """A selector that needs more rows than halves have."""

    def fit(self, X, y):
        if len(X) < 80:
            raise ValueError("too few rows")
        return super().fit(X, y)


def test_halves_that_all_fail_are_an_error_though_bootstraps_do_not():
    with pytest.raises(
        ValueError,
        match=r"runs failed, too many to compare the rest: ValueError: too few rows",
    ):
        assess_selector(NeedsRows(f_regression, k=3), *normal(1, 0), random_state=0)


def test_a_fit_that_fails_says_why():
    X, y = normal(1, 0)
    gaps = pd.DataFrame(X).rename(columns=str).mask(X > 2)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        assess_selector(make_pipeline(strict(), Ridge()), gaps, y, random_state=0)


@pytest.mark.filterwarnings(
    "ignore:all runs agree because there was nothing to choose:RuntimeWarning"
)
def test_selectors_that_keep_every_feature_have_nothing_to_choose():
    X, y = normal(1, 0)
    alone = assess_selector(SelectKBest(f_regression, k="all"), X, y, random_state=0)
    assert alone.verdict == "no signal"
    assert "every feature is kept: there is nothing to choose" in alone.reason
    assert alone.has_no_choice
    scored = assess_selector(
        make_pipeline(SelectKBest(f_regression, k="all"), Ridge()), X, y, random_state=0
    )
    assert scored.verdict == "signal, stability unclear"
    assert scored.reason.endswith(
        ". Every feature is kept: there is nothing to choose, and nothing that other data could confirm."
    )


def test_numbers_as_targets():
    X, y = make_regression(80, D, n_informative=3, noise=5.0, random_state=0)
    found = assess_selector(
        make_pipeline(SelectKBest(f_regression, k=3), Ridge()), X, y, random_state=0
    )
    assert found.verdict != "no signal"
    assert found.score.name == "r2"
    # A model that selects nothing for permuted targets is trivially stable, which is no agreement.
    sparse = assess_selector(Lasso(alpha=20.0), X, y, random_state=0)
    assert sparse.verdict != "no signal"


def test_a_selector_without_a_score_is_judged_by_replication():
    found = assess_selector(SelectKBest(k=3), *make_data(), random_state=0)
    assert found.score is None
    assert found.chance.scores.size == 0
    assert found.chance.stability_pvalue == 1 / 21
    assert found.verdict == "signal, stable"
    assert "accuracy" not in found.frame().index
    rng = np.random.default_rng(1)
    noise = assess_selector(
        SelectKBest(k=3), rng.normal(size=(N, 40)), np.arange(N) % 2, random_state=0
    )
    assert noise.verdict == "no signal"
    assert "agree no more than with permuted targets" in noise.reason


def test_a_selector_that_ignores_the_target_is_said_to():
    X, y = make_data()
    X[:, :5] *= 10
    found = assess_selector(
        make_pipeline(VarianceThreshold(20.0), LogisticRegression(max_iter=1000)), X, y
    )
    assert found.chance.ignores_target
    assert found.verdict == "no signal"
    assert "does not use the target" in found.reason


def test_small_groups_do_not_make_a_selector_ignore_the_target():
    # Pairs of rows with different targets: permuted within pairs, half of the targets stay as they are.
    X, y = make_data()
    found = assess_selector(filter_of(), X, y, groups=np.arange(N) // 2, random_state=0)
    assert not found.chance.ignores_target


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_curve_has_blocks_of_rows_however_large_the_groups(size):
    X, y = make_data()
    groups = np.arange(N) // size
    n_groups = len(np.unique(groups))

    class Counted(SelectKBest):
        def fit(self, X, y):
            rows.add(len(X))
            return super().fit(X, y)

    rows = set()
    found = assess_selector(Counted(k=3), X, y, groups=groups, random_state=0)
    blocks = [N * (n_groups // parts) // n_groups for parts in (8, 4)]
    assert list(found.curve.index) == [
        *(n_rows for n_rows in blocks if n_rows >= 8),
        N // 2,
    ]
    for n_rows in found.curve.index:
        assert min(abs(np.array(list(rows)) - n_rows)) <= size


def test_survival_like_targets_are_opaque():
    X, y = make_regression(80, D, n_informative=3, noise=5.0, random_state=0)
    target = np.array(
        [(True, value) for value in y], dtype=[("event", bool), ("time", float)]
    )

    class Ranked(SelectKBest):
        def fit(self, X, y):
            return super().fit(X, y["time"])

    found = assess_selector(Ranked(f_regression, k=3), X, target, random_state=0)
    assert found.verdict != "no signal"


def test_frame_plot_and_html(found):
    frame = found.frame()
    assert frame.index.tolist() == [
        "agreement of bootstraps",
        "replication, half the size",
        "other data, full size",
        "accuracy",
        "AUC, half the size",
    ]
    assert frame["about"].tolist() == [
        "resampling error",
        "other data",
        "other data",
        "other data",
        "other data",
    ]
    assert frame.loc["accuracy", "pvalue"] == found.chance.score_pvalue
    assert found.reason in repr(found)
    assert "array(" not in repr(found)
    assert "<table" in found._repr_html_()
    display = found.plot()
    shown = display.frame()
    assert shown["kind"].value_counts().to_dict() == {
        "chance": 20,
        "halves": 2,
        "bootstraps": 1,
    }
    assert display.ax_.get_xlabel() == "rows in each sample"


# -- permuted targets --------------------------------------------------------------------------------------------------


def test_permutations_are_permutations():
    rows = permuted_rows(np.arange(20), None, np.random.RandomState(0))
    assert sorted(rows) == list(range(20))
    assert (rows != np.arange(20)).any()


def test_targets_of_groups_are_exchanged_whole():
    groups = np.repeat(np.arange(6), 3)
    y = np.array([0, 1, 0, 1, 1, 0])[groups]
    permuted = y[permuted_rows(y, groups, np.random.RandomState(1))]
    assert all(np.ptp(permuted[groups == group]) == 0 for group in range(6))
    assert permuted.mean() == y.mean()
    assert (permuted != y).any()


def test_targets_that_vary_within_groups_are_exchanged_between_and_within_them():
    groups = np.repeat(np.arange(30), 4)
    rows = permuted_rows(np.arange(120), groups, np.random.RandomState(0))
    assert sorted(rows) == list(range(120))
    donors = groups[rows].reshape(30, 4)
    assert (donors == donors[:, :1]).all()  # whole groups
    assert np.mean(donors[:, 0] == np.arange(30)) < 0.2
    assert (np.diff(rows.reshape(30, 4)) < 0).any(axis=1).mean() > 0.7  # shuffled


def test_groups_exchange_with_others_of_about_their_size():
    rng = np.random.RandomState(0)
    sizes = np.r_[np.repeat([1, 2], 12), np.repeat([7, 8, 9], 5)]
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows = permuted_rows(np.arange(len(groups)), groups, rng)
    for own, size in enumerate(sizes):
        (donor,) = set(groups[rows[groups == own]])
        assert sizes[donor] == size if size <= 2 else sizes[donor] >= 7
        n_taken = np.bincount(rows[groups == own])
        assert n_taken.max() == (2 if size > sizes[donor] else 1)


def test_what_is_constant_within_groups_is_no_better_than_chance_without_signal():
    """A target that follows its group alone: within groups a permutation would keep it."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 4)
    constant = rng.normal(size=(40, 5))[groups]
    X = np.column_stack([constant, rng.normal(size=(160, 5))])
    y = constant[:, 0] + rng.normal(size=160)
    of_permuted = [
        abs(
            np.corrcoef(X[:, 0], y[permuted_rows(y, groups, np.random.RandomState(s))])[
                0, 1
            ]
        )
        for s in range(20)
    ]
    assert abs(np.corrcoef(X[:, 0], y)[0, 1]) > 0.5
    assert np.mean(of_permuted) < 0.2


def test_groups_stay_together(found):
    X, y = make_data()
    groups = np.arange(N) // 2
    grouped = assess_selector(filter_of(), X, y, groups=groups, random_state=0)
    left_out = ~np.isnan(grouped.halves.row_losses["score"])
    for row, other in pairwise(range(0, N, 1)):
        if groups[row] == groups[other]:
            np.testing.assert_array_equal(left_out[:, row], left_out[:, other])
    assert grouped.score.standard_error != found.score.standard_error


def test_pvalues_count_the_data_themselves():
    assert pvalue_above(1.0, np.zeros(20)) == 1 / 21
    assert pvalue_above(0.0, np.zeros(20)) == 1.0
    assert pvalue_above(0.5, np.array([0.4, 0.6, 0.5])) == 3 / 4
    assert np.isnan(pvalue_above(np.nan, np.zeros(3)))


def test_means_of_few_pairs_are_shrunk_to_those_of_many():
    # Between permutations variance 1, within 4: means of 2 pairs have variance 3, of 16 pairs 1.25.
    rng = np.random.default_rng(0)
    values = [rng.normal() + 2 * rng.normal(size=2) for _ in range(20_000)]
    raw, shrunk = np.array([part.mean() for part in values]), as_of_pairs(values, 16)
    np.testing.assert_allclose(raw.var(), 3.0, rtol=0.05)
    np.testing.assert_allclose(shrunk.var(), 1.25, rtol=0.05)
    np.testing.assert_allclose(shrunk.mean(), raw.mean())
    np.testing.assert_array_equal(np.argsort(shrunk), np.argsort(raw))


def test_constant_values_stay():
    np.testing.assert_array_equal(as_of_pairs([np.ones(2)] * 3, 16), np.ones(3))
    np.testing.assert_array_equal(as_of_pairs([np.array([0.5, np.nan])], 16), [0.5])


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_pairs": 2}, "n_pairs must be an int of at least 3"),
        ({"n_pairs": True}, "n_pairs must be"),
        ({"n_permutations": 5}, "n_permutations must be an int of at least 19"),
        ({"measure": "krizek"}, "measure must be defined for two runs"),
        ({"measure": "nobody"}, "measure must be one of"),
        ({"scoring": "nobody"}, "scoring"),
        ({"scoring": "nogueira"}, "^scoring=.nogueira. is a measure of stability"),
        ({"confidence_level": 2}, "confidence_level"),
        ({"groups": [1, 2]}, "groups must have one entry for each of the 60 rows"),
        ({"checkpoint": 3}, "checkpoint must be None, a string or a path, got 3"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        assess_selector(filter_of(), *make_data(), **params)


def test_a_target_is_needed():
    with pytest.raises(ValueError, match="y must be a target"):
        assess_selector(filter_of(), make_data()[0], None)


def test_a_model_that_keeps_every_feature_is_refused():
    with pytest.raises(ValueError, match="compares selected features"):
        assess_selector(clone(LogisticRegression()), *make_data())


def test_names_of_the_features_are_kept():
    X, y = make_data()
    frame = pd.DataFrame(X, columns=[f"gene {number}" for number in range(D)])
    found = assess_selector(filter_of(), frame, y, random_state=0)
    assert isinstance(found.runs, Runs)
    assert found.runs.feature_names.tolist() == list(frame.columns)


def test_a_score_that_never_works_and_a_target_of_the_wrong_kind_are_named():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 8)), rng.integers(2, size=60)
    with pytest.raises(
        ValueError, match="scoring failed in all runs, the first time with TypeError"
    ):
        assess_selector(
            SelectKBest(k=2), X, y, cv=3, n_pairs=3, n_permutations=19, scoring=repr
        )
    with pytest.raises(
        ValueError, match="estimator, X or y can't be used: could not convert string"
    ):
        assess_selector(Lasso(), X, np.array(["no", "yes"])[y], cv=3)

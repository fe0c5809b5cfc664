"""What a run selected means the same in every entry: what reaches the final model and is not dropped by it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.linear_model import ElasticNet, Lasso
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import FeatureUnion, make_pipeline

import skstab
from skstab import (
    ConsensusSelector,
    StabilityCV,
    StabilitySearchCV,
    StabilitySelection,
    assess_selector,
    collect_supports,
    compare_selectors,
    feature_report,
    make_stability_scorer,
    stability_scoring,
)
from skstab.inspection import fragility
from skstab.model_selection import (
    BootstrapSplit,
    collect_runs,
    compare_cohorts,
    decoy_evidence,
    multiverse,
    stability_profile,
)
from skstab.runs import Runs, selection_of

CV = BootstrapSplit(4, random_state=0)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 12))
    return X, X[:, :3].sum(axis=1) + rng.normal(size=60)


def filtered(alpha=0.3):
    return make_pipeline(SelectKBest(f_regression, k=8), Lasso(alpha))


def by_stability_cv(X, y, **options):
    return StabilityCV(filtered(), cv=CV, **options).fit(X, y).supports_


def by_search(X, y, **options):
    grid = {"lasso__alpha": [0.3, 0.4]}
    search = StabilitySearchCV(filtered(), grid, cv=CV, **options)
    return search.fit(X, y).runs_[0].supports


def by_comparison(X, y, **options):
    pair = {"a": filtered(), "b": filtered(0.4)}
    return (
        compare_selectors(pair, X, y, cv=CV, n_pairs=3, **options).runs["a"].supports_
    )


def by_assessment(X, y, **options):
    few = {"n_pairs": 3, "n_permutations": 19, "random_state": 0}
    return assess_selector(filtered(), X, y, cv=CV, **few, **options).runs.supports


def fitted(X, y):
    return [filtered().fit(X[train], y[train]) for train, _ in CV.split(X, y)]


def by_collecting(X, y, **options):
    return collect_supports(fitted(X, y), **options)


def by_runs(X, y, **options):
    return Runs.from_estimators(fitted(X, y), **options).supports


def by_reading(X, y, **options):
    return np.array(
        [selection_of(one, X, y, **options).support for one in fitted(X, y)]
    )


def by_scoring(X, y, **options):
    scoring = stability_scoring(**options)
    return collect_runs(
        cross_validate(filtered(), X, y, cv=CV, scoring=scoring)
    ).supports


def by_multiverse(X, y, **options):
    pair = {"a": filtered(), "b": filtered(0.4)}
    return multiverse(pair, X, y, cv=CV, **options).runs["a"][0].supports


def by_consensus(X, y, **options):
    selectors = [("a", filtered())]
    found = ConsensusSelector(selectors, n_features_to_select=3, cv=CV, **options)
    return found.fit(X, y).runs_["a"].supports


# What the runs of each entry selected, of a pipeline with a filter and a lasso.
ENTRIES = [
    by_stability_cv,
    by_search,
    by_comparison,
    by_assessment,
    by_collecting,
    by_runs,
    by_reading,
    by_scoring,
    by_multiverse,
    by_consensus,
]


def by_profile(X, y, **options):
    return stability_profile(Lasso(), X, y, **options)


def by_stability_selection(X, y, **options):
    return StabilitySelection(Lasso(), **options).fit(X, y)


def by_scorer(X, y, **options):
    return make_stability_scorer(cv=CV, **options)(filtered(), X, y)


def by_cohorts(X, y, **options):
    few = {"n_pairs": 3, "n_permutations": 19, "random_state": 0}
    return compare_cohorts(filtered(), X, y, np.arange(len(y)) % 2, **few, **options)


def by_decoys(X, y, **options):
    few = {"n_draws": 1, "n_pairs": 3, "random_state": 0}
    return decoy_evidence(filtered(), X, y, **few, **options)


def by_report(X, y, **options):
    pair = {"a": filtered(), "b": filtered(0.4)}
    few = {"n_resamples": 3, "random_state": 0}
    return skstab.report(X, y, selectors=pair, **few, **options)


# Of these an answer is compared, not the runs.
ANSWERS = [by_profile, by_stability_selection, by_scorer, by_cohorts, by_decoys]


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_counts_what_is_used_or_what_the_selector_kept(entry, data):
    X, y = data
    used, kept = [], []
    for train, _ in CV.split(X, y):
        pipe = filtered().fit(X[train], y[train])
        mask = pipe[0].get_support()
        kept.append(mask)
        used.append(np.zeros(12, dtype=bool))
        used[-1][np.flatnonzero(mask)[pipe[1].coef_ != 0]] = True
    assert np.sum(used) < np.sum(kept)

    np.testing.assert_array_equal(dense(entry(X, y)), used)
    by_selector = entry(X, y, support_from="selector")
    np.testing.assert_array_equal(dense(by_selector), kept)


def test_stability_selection_follows_what_is_used_or_what_the_selector_kept(data):
    X, y = data
    options = {
        "param_name": "selectkbest__k",
        "param_values": [2, 5, 8],
        "n_resamples": 4,
        "efp": 1,
        "random_state": 0,
    }
    used = StabilitySelection(filtered(), **options).fit(X, y)
    kept = StabilitySelection(filtered(), support_from="selector", **options).fit(X, y)
    np.testing.assert_allclose(kept.selection_path_.sum(axis=0), [2, 5, 8])
    assert (used.selection_path_ <= kept.selection_path_).all()
    assert used.selection_path_.sum() < kept.selection_path_.sum()
    # Along the penalty of the model a filter keeps the same at all values.
    along = {**options, "param_name": "lasso__alpha", "param_values": [0.1, 1.0]}
    kept = StabilitySelection(filtered(), support_from="selector", **along).fit(X, y)
    np.testing.assert_allclose(kept.selection_path_.sum(axis=0), [8, 8])
    used = StabilitySelection(filtered(), **along).fit(X, y)
    assert used.selection_path_.sum(axis=0)[1] < 4


def test_other_answers_follow_the_word(data):
    X, y = data
    for answer in (
        lambda **how: by_scorer(X, y, **how),
        lambda **how: by_cohorts(X, y, **how).within,
        lambda **how: by_decoys(X, y, **how).frame()["halves"].sum(),
    ):
        assert answer() != answer(support_from="selector")
    page = by_report(X, y, support_from="selector")
    assert page.candidates.loc["a", "n_features"] == 8
    assert page.assessment.runs.supports.sum(axis=1).tolist() == [8] * 3
    assert "support_from='selector'" in page.code


def test_frequencies_are_confirmed_by_the_same_count():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    y = 2 * X[:, :3].sum(axis=1) + rng.normal(size=60)
    X[7, 9], y[7] = 6, y[7] + 40  # a bad record that carries a feature
    model = make_pipeline(SelectKBest(f_regression, k=5), Lasso(1.5))
    cv = BootstrapSplit(60, random_state=0)
    others = np.delete(np.arange(60), 7)
    runs = StabilityCV(model, cv=cv, support_from="selector").fit(X, y)
    found = fragility(runs, confirm=(model, X, y)).frame()
    again = clone(runs).fit(X[others], y[others])
    assert found.loc["x9", "confirmed"] == again.selection_frequencies_[9] > 0


@pytest.mark.parametrize("entry", [*ENTRIES, *ANSWERS, by_report])
def test_another_word_is_refused_by_name(entry, data):
    X, y = data
    with pytest.raises(ValueError, match=r"support_from must be 'used' or 'selector'"):
        entry(X, y, support_from="model")


def test_runs_of_another_meaning_are_not_taken_from_a_checkpoint(data, tmp_path):
    X, y = data
    path = tmp_path / "runs.db"
    for entry in (by_stability_cv, by_search):
        for word in ("used", "selector"):
            stored = entry(X, y, support_from=word, checkpoint=path)
            alone = entry(X, y, support_from=word)
            assert (stored != alone).sum() == 0
    options = {
        "param_name": "selectkbest__k",
        "param_values": [2, 8],
        "n_resamples": 4,
        "efp": 1,
        "random_state": 0,
    }
    found = [
        StabilitySelection(
            filtered(), support_from=word, checkpoint=path, **options
        ).fit(X, y)
        for word in ("used", "selector")
    ]
    assert (found[0].selection_path_ < found[1].selection_path_).any()


def test_a_warm_start_does_not_mix_two_meanings(data):
    X, y = data
    runs = StabilityCV(filtered(), cv=CV, warm_start=True, random_state=0).fit(X, y)
    runs.set_params(support_from="selector")
    with pytest.raises(ValueError, match="not the same as then: support_from"):
        runs.fit(X, y)


def test_a_constant_column_and_its_filter_do_not_hide_the_lasso():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 200))
    y = X[:, :6].sum(axis=1) + 3 * rng.normal(size=80)
    X[:, -2:] = 1
    alone, behind = (
        StabilityCV(model, cv=CV).fit(X, y)
        for model in (Lasso(0.3), make_pipeline(VarianceThreshold(), Lasso(0.3)))
    )
    assert alone.stability_ == behind.stability_ < 0.5
    np.testing.assert_array_equal(alone.get_support(), behind.get_support())


# -- what keeps everything changes nothing -----------------------------------------------------------------------------


def by_place(X, _y):
    """Scores that do not look at the data, which has a constant column."""
    return np.arange(X.shape[1], dtype=float)


ALL = SelectKBest(by_place, k="all")
# Put in front of a model each of these keeps every column, or every one but a constant.
IN_FRONT = {
    "variance": VarianceThreshold(),
    "passthrough": "passthrough",
    "all": ALL,
    "union": FeatureUnion([("all", ALL)]),
    "side by side": ColumnTransformer(
        [("first", ALL, [0, 1, 2, 3]), ("rest", "passthrough", slice(4, None))]
    ),
}


def stability_cv(model, X, y):
    runs = StabilityCV(model, cv=CV, random_state=0).fit(X, y)
    scores = runs.scores_["score"]
    table = runs.summary().to_numpy(dtype=float)
    return runs.supports_, runs.importances_, runs.stability_interval_, scores, table


def search(model, X, y):
    name = "lasso__alpha" if hasattr(model, "steps") else "alpha"
    found = StabilitySearchCV(model, {name: [0.1, 0.3]}, cv=CV).fit(X, y)
    columns = [c for c in found.cv_results_ if "_test_" in c]
    numbers = [found.cv_results_[c] for c in columns]
    return found.best_index_, found.get_support(), *numbers


def comparison(model, X, y):
    pair = {"a": model, "b": ElasticNet(0.5)}
    found = compare_selectors(pair, X, y, cv=CV, scoring="r2", random_state=0)
    frame = (
        found.frame().select_dtypes("number").drop(columns="fit_time", errors="ignore")
    )
    return frame.to_numpy(), found.pvalues("stability").to_numpy(dtype=float)


def assessment(model, X, y):
    few = {"n_pairs": 3, "n_permutations": 19, "random_state": 0}
    found = assess_selector(model, X, y, cv=CV, **few)
    return found.verdict, found.agreement, found.replication, found.runs.supports


def profile(model, X, y):
    return stability_profile(model, X, y, cv=CV, random_state=0).to_numpy()


def stability_selection(model, X, y):
    options = {"n_resamples": 6, "efp": 1, "random_state": 0}
    found = StabilitySelection(model, **options).fit(X, y)
    return found.selection_path_, found.get_support(), found.efp_


def report(model, X, y):
    runs = StabilityCV(model, cv=CV, random_state=0).fit(X, y)
    frame = feature_report(runs, X).frame()
    return list(frame.index), frame.select_dtypes("number").to_numpy()


def by_any_search(model, X, y):
    name = "lasso__alpha" if hasattr(model, "steps") else "alpha"
    scoring = stability_scoring(["nogueira", "importance_weighted"], scoring="r2")
    found = GridSearchCV(
        model, {name: [0.1, 0.3]}, scoring=scoring, cv=CV, refit=False
    ).fit(X, y)
    runs = [runs.supports for runs in collect_runs(found)]
    alone = cross_validate(model, X, y, cv=CV, scoring=scoring)
    return np.stack(runs), collect_runs(alone).supports


def by_the_scorer(model, X, y):
    scorer = make_stability_scorer(cv=CV)
    return [scorer(model, X, y)]


def choices(model, X, y):
    found = multiverse({"a": model, "b": ElasticNet(0.5)}, X, y, cv=CV, random_state=0)
    table = (
        found.frame().select_dtypes("number").drop(columns="fit_time", errors="ignore")
    )
    return found.shares().to_numpy(dtype=float), table.to_numpy(dtype=float)


def cohorts(model, X, y):
    few = {"n_pairs": 3, "n_permutations": 19, "random_state": 0}
    found = compare_cohorts(model, X, y, np.arange(len(y)) % 2, **few)
    return found.verdict, found.difference, found.frame().to_numpy()


def decoys(model, X, y):
    found = decoy_evidence(model, X, y, n_draws=2, n_pairs=4, random_state=0)
    return [found.frame().select_dtypes("number").to_numpy()]


def consensus(model, X, y):
    selectors = [("a", model), ("b", ElasticNet(0.5))]
    found = ConsensusSelector(selectors, n_features_to_select=3, cv=CV).fit(X, y)
    return found.get_support(), found.ranking_


def carried_by(model, X, y):
    runs = StabilityCV(model, cv=CV, random_state=0).fit(X, y)
    return [fragility(runs).frame().select_dtypes("number").to_numpy()]


def page(model, X, y):
    found = skstab.report(
        X,
        y,
        selectors={"a": model, "b": ElasticNet(0.5)},
        n_resamples=4,
        random_state=0,
    )
    return found.verdict, found.features.select_dtypes("number").to_numpy()


def collected(model, X, y):
    fits = [clone(model).fit(X[rows], y[rows]) for rows, _ in CV.split(X, y)]
    runs = Runs.from_estimators(fits)
    return collect_supports(fits), runs.importances, runs.coefs


ALONE = {}  # the answer of each entry about the model alone


@pytest.fixture(scope="module")
def with_constant(data):
    X, y = data
    return np.column_stack([X, np.ones(len(X))]), y


CHEAP = [
    *(stability_cv, search, comparison, profile, stability_selection, report),
    *(collected, by_any_search, by_the_scorer, choices, decoys, consensus, carried_by),
]
DEAR = [assessment, cohorts, page]  # tried behind two of the steps only


@pytest.mark.parametrize(
    ("entry", "front"),
    [
        *((entry, front) for entry in CHEAP for front in IN_FRONT),
        *((entry, front) for entry in DEAR for front in ("variance", "side by side")),
    ],
)
def test_what_keeps_everything_changes_no_answer(entry, front, with_constant):
    X, y = with_constant
    behind = make_pipeline(clone(IN_FRONT[front], safe=False), Lasso(0.3))
    if entry not in ALONE:
        ALONE[entry] = entry(Lasso(0.3), X, y)
    expected, found = ALONE[entry], entry(behind, X, y)
    for one, other in zip(expected, found, strict=True):
        if isinstance(one, str | list):
            assert one == other
        else:
            np.testing.assert_allclose(dense(other), dense(one), rtol=1e-6, atol=1e-9)


def dense(table):
    if hasattr(table, "estimate"):
        return [table.estimate, table.low, table.high]
    return np.asarray(table.toarray() if hasattr(table, "toarray") else table, float)

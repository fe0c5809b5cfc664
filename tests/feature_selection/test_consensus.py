"""`ConsensusSelector` and `consensus_ranking`: the votes, and what scikit-learn expects of a selector."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn import clone, config_context
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from skstab.feature_selection import ConsensusSelector, consensus_ranking
from skstab.model_selection import BootstrapSplit, StabilityCV
from skstab.runs import Runs
from tests.metrics import strategies

CV = BootstrapSplit(5, random_state=0)
LASSO = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
PAIR = [
    ("filter", SelectKBest(k=4)),
    ("lasso", make_pipeline(StandardScaler(), LASSO)),
]


@pytest.fixture(scope="module")
def data():
    return load_breast_cancer(return_X_y=True, as_frame=True)


# -- votes -------------------------------------------------------------------------------------------------------------


def points(selected, importances, method):
    """What one list gives to each feature."""
    d, k = len(selected), sum(selected)
    if method == "approval":
        return [float(s) for s in selected]
    if method == "satisfaction":
        return [s / k if k else 0.0 for s in selected]
    first = sorted((f for f in range(d) if selected[f]), key=lambda f: -importances[f])
    rank = [np.mean(range(k + 1, d + 1)) if k < d else np.nan] * d
    for f in first:
        alike = [i + 1 for i, g in enumerate(first) if importances[g] == importances[f]]
        rank[f] = np.mean(alike)
    return [1 - (r - 1) / max(d - 1, 1) for r in rank]


@pytest.mark.parametrize("method", ["borda", "approval", "satisfaction"])
@settings(max_examples=30)
@given(draw=st.data())
def test_equals_counting_by_hand(method, draw):
    table = np.abs(draw.draw(strategies.weights()))
    weights = np.array(
        draw.draw(st.lists(st.integers(0, 3), min_size=len(table), max_size=len(table)))
    )
    weights[0] = 1
    found = consensus_ranking(Runs(table > 0, table), method=method, weights=weights)
    votes = [points(row > 0, row, method) for row in table]
    expected = weights @ np.array(votes) / weights.sum()
    by_column = found.loc[[f"x{f}" for f in range(table.shape[1])]]
    np.testing.assert_allclose(by_column["score"], expected, atol=1e-12)
    shares = weights @ (table > 0) / weights.sum()
    np.testing.assert_allclose(by_column["frequency"], shares)
    assert list(found["rank"]) == list(range(1, len(found) + 1))
    keys = [
        tuple(np.round(-row, 9)) for row in found[["score", "frequency"]].to_numpy()
    ]
    assert keys == sorted(keys)


def test_borda_of_full_rankings_is_their_mean_rank():
    rng = np.random.default_rng(0)
    table = rng.permuted(np.tile(np.arange(1.0, 9), (6, 1)), axis=1)
    runs = Runs(table > 0, table)
    ranks = stats.rankdata(-table, axis=1).mean(axis=0)
    score = consensus_ranking(runs)["score"].loc[[f"x{f}" for f in range(8)]]
    np.testing.assert_allclose(score, 1 - (ranks - 1) / 7)


@pytest.mark.parametrize("method", ["borda", "approval", "satisfaction"])
def test_a_million_features_are_ranked_without_a_dense_table(method):
    rng = np.random.default_rng(0)
    places = rng.integers(10**6, size=(300, 20))
    rows = np.repeat(np.arange(300), 20)
    table = sparse.coo_array(
        (rng.random(6000), (rows, places.ravel())), shape=(300, 10**6)
    ).tocsr()
    runs = Runs(table > 0, table)
    tracemalloc.start()
    try:
        found = consensus_ranking(runs, method=method)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) == 10**6
    assert peak < 200 * 2**20  # a table of booleans takes 286 MB


def test_lists_without_importances_count_their_features_alike():
    runs = Runs.from_sets([["a", "b"], ["a"], ["c", "a"]], features=list("abcde"))
    table = consensus_ranking(runs)
    assert list(table.index) == ["a", "b", "c", "d", "e"]
    # Ranks of a: 1.5, 1, 1.5; of b: 1.5, 3.5, 4.
    np.testing.assert_allclose(table["score"].iloc[:2], [1 - (4 / 3 - 1) / 4, 0.5])


def test_each_of_several_selectors_counts_the_same_however_many_runs_it_has():
    many = Runs.from_sets([["a"]] * 9, features=["a", "b", "c"])
    few = Runs.from_sets([["b"]], features=["a", "b", "c"])
    for runs in ([many, few], {"many": many, "few": few}):
        table = consensus_ranking(runs, method="approval")
        assert table.loc["a", "frequency"] == pytest.approx(0.5, abs=1e-15)
        assert table.loc["b", "frequency"] == 0.5
    weighted = consensus_ranking([many, few], method="approval", weights=[1, 3])
    assert weighted.loc["b", "frequency"] == 0.75
    assert consensus_ranking(Runs.concat([many, few])).index[0] == "a"


def test_weights_by_a_score_leave_out_what_is_worse_than_nothing():
    runs = Runs(
        np.eye(4, dtype=bool), scores={"r2": [0.6, 0.2, -3.0, np.nan], "neg": [-1] * 4}
    )
    table = consensus_ranking(runs, method="approval", weights="r2")
    np.testing.assert_allclose(table["score"], [0.75, 0.25, 0, 0])
    with pytest.raises(ValueError, match="weights='neg' needs scores above 0"):
        consensus_ranking(runs, weights="neg")
    with pytest.raises(ValueError, match="they have 'r2', 'neg'"):
        consensus_ranking(runs, weights="auc")


def test_a_model_that_keeps_everything_can_rank_but_not_approve():
    X = np.random.default_rng(0).normal(size=(40, 4))
    y = X @ [1, 3, 2, 0.1]
    runs = StabilityCV(Ridge(), cv=CV, measure="pearson").fit(X, y).runs_
    assert list(consensus_ranking(runs).index) == ["x1", "x2", "x0", "x3"]
    with pytest.raises(ValueError, match="keeps every feature"):
        consensus_ranking(runs, method="approval")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": "none"}, "runs must be Runs"),
        ({"runs": []}, "runs must be Runs"),
        ({"method": "kemeny"}, "method must be one of 'borda', 'approval'"),
        ({"weights": [1, 2]}, "weights must be None, the name of a score"),
        ({"weights": [-1, 2, 3]}, "weights must be None"),
        ({"weights": [0, 0, 0]}, "weights must be None"),
        ({"weights": [1, np.nan, 1]}, "weights must be None"),
    ],
)
def test_bad_arguments_of_the_ranking(arguments, message):
    runs = Runs(np.eye(3, dtype=bool))
    with pytest.raises((TypeError, ValueError), match=message):
        consensus_ranking(**{"runs": runs, **arguments})


def test_runs_of_other_features_are_refused():
    one, other = (Runs(np.eye(3, dtype=bool), feature_names=n) for n in ("abc", "abx"))
    with pytest.raises(ValueError, match="runs must be of the same features"):
        consensus_ranking([one, other])


# -- the selector ------------------------------------------------------------------------------------------------------


def test_it_joins_the_runs_of_its_selectors_on_the_same_resamples(data):
    X, y = data
    consensus = ConsensusSelector(
        PAIR, cv=CV, n_features_to_select=6, random_state=0
    ).fit(X, y)
    alone = StabilityCV(clone(PAIR[0][1]), cv=list(CV.split(X, y))).fit(X, y)
    assert (consensus.runs_["filter"].supports == alone.runs_.supports).all()
    table = consensus_ranking(consensus.runs_)
    assert set(consensus.get_feature_names_out()) == set(table.index[:6])
    assert (table["rank"].loc[X.columns] == consensus.ranking_).all()
    assert consensus.transform(X).shape == (len(X), 6)


def test_by_default_it_selects_as_many_as_the_lists_hold_on_average(data):
    X, y = data
    consensus = ConsensusSelector(PAIR, cv=CV, random_state=0).fit(X, y)
    sizes = [runs.supports.sum(axis=1).mean() for runs in consensus.runs_.values()]
    assert consensus.support_.sum() == round(np.mean(sizes))
    share = clone(consensus).set_params(n_features_to_select=0.1).fit(X, y)
    assert share.support_.sum() == 3
    every = clone(consensus).set_params(n_features_to_select=30).fit(X, y)
    ever = np.any([runs.supports.any(axis=0) for runs in consensus.runs_.values()], 0)
    assert (every.support_ == ever).all(), "what is on no list is not selected"


def test_it_is_a_step_of_a_pipeline_and_is_searched_over(data):
    X, y = data
    consensus = ConsensusSelector(PAIR, cv=CV, random_state=0, n_features_to_select=4)
    model = make_pipeline(consensus, StandardScaler(), LogisticRegression())
    grid = {
        "consensusselector__filter__k": [2, 6],
        "consensusselector__method": ["borda", "approval"],
        "consensusselector__lasso__logisticregression__C": [0.05],
    }
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, y)
    chosen = search.best_estimator_[0]
    assert chosen.get_params()["filter__k"] == chosen.selectors[0][1].k
    assert search.best_score_ > 0.9
    assert PAIR[0][1].k == 4, "the parameters given are left as they are"


def test_a_consensus_is_made_runs_of_like_any_selector(data):
    X, y = data
    consensus = ConsensusSelector([("filter", SelectKBest(k=3))], cv=CV, random_state=0)
    runs = StabilityCV(consensus, cv=BootstrapSplit(4, random_state=1)).fit(X, y)
    assert (runs.supports_.sum(axis=1) == 3).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_int_seed_gives_the_same_for_any_number_of_jobs(data, n_jobs):
    X, y = data
    first, again = (
        ConsensusSelector(PAIR, random_state=3, n_jobs=jobs).fit(X[:150], y[:150])
        for jobs in (1, n_jobs)
    )
    np.testing.assert_array_equal(first.scores_, again.scores_)
    assert len(first.runs_["filter"]) == 50


def test_sparse_and_dense_data_give_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12)) * (rng.random((60, 12)) < 0.5)
    y = X[:, :3].sum(axis=1) + 0.1 * rng.normal(size=60)
    selectors = [("f", SelectKBest(f_regression, k=3)), ("lasso", Lasso(0.05))]
    consensus = ConsensusSelector(selectors, cv=CV, random_state=0)
    dense, scarce = (
        clone(consensus).fit(form(X), y) for form in (np.asarray, sparse.csr_array)
    )
    assert (dense.support_ == scarce.support_).all()
    assert set(np.flatnonzero(dense.support_)) >= {0, 1, 2}


def test_weights_by_score_and_by_selector(data):
    X, y = data
    pair = [
        ("good", make_pipeline(SelectKBest(k=4), StandardScaler(), LASSO)),
        ("bad", make_pipeline(VarianceThreshold(2000), LogisticRegression())),
    ]
    by_score = ConsensusSelector(
        pair, cv=CV, weights="score", scoring="roc_auc", random_state=0
    ).fit(X, y)
    expected = consensus_ranking(by_score.runs_, weights="roc_auc")
    assert (expected["rank"].loc[X.columns] == by_score.ranking_).all()
    one = clone(by_score).set_params(weights=[1, 0], scoring=None).fit(X, y)
    alone = consensus_ranking(one.runs_["good"])
    np.testing.assert_allclose(one.scores_, alone["score"].loc[X.columns])
    with pytest.raises(
        ValueError, match="weights='score' needs selectors that predict"
    ):
        ConsensusSelector(PAIR[:1], cv=CV, weights="score").fit(X, y)


def test_groups_go_to_the_splitter_and_weights_to_the_selectors(data):
    X, y = data[0][:90], data[1][:90]
    groups, weight = np.arange(90) // 3, np.r_[np.ones(45), np.zeros(45)]
    consensus = ConsensusSelector([("lasso", LASSO)], cv=GroupKFold(3))
    fitted = clone(consensus).fit(X, y, groups=groups, sample_weight=weight)
    assert len(fitted.runs_["lasso"]) == 3
    plain = clone(consensus).fit(X, y, groups=groups)
    assert not np.array_equal(
        fitted.runs_["lasso"].importances, plain.runs_["lasso"].importances
    )
    with config_context(enable_metadata_routing=True):
        asks = clone(LASSO).set_fit_request(sample_weight=True)
        asks.set_score_request(sample_weight=False)
        routed = ConsensusSelector([("lasso", asks)], cv=GroupKFold(3))
        routed.fit(X, y, groups=groups, sample_weight=weight)
    np.testing.assert_array_equal(
        routed.runs_["lasso"].importances, fitted.runs_["lasso"].importances
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"selectors": []}, "selectors must be a list of pairs"),
        (
            {"selectors": [SelectKBest()]},
            r"selectors must be a list of pairs .*, got Sel",
        ),
        ({"selectors": [("a", 3)]}, "selectors must be a list of pairs"),
        ({"selectors": [("a", LASSO), ("a", LASSO)]}, "selectors.*not unique"),
        ({"selectors": [("a__b", LASSO)]}, "must not contain __"),
        ({"selectors": [("ridge", Ridge())]}, "keeps every feature"),
        ({"n_features_to_select": 0}, "n_features_to_select must be None, an int"),
        ({"n_features_to_select": 1.5}, "n_features_to_select must be"),
        ({"n_features_to_select": True}, "n_features_to_select must be"),
        ({"method": "kemeny"}, "method must be one of"),
        ({"weights": "auc"}, "weights must be None, 'score' or"),
        ({"weights": [1, 2, 3]}, "weights must be"),
        ({"support_from": "all"}, "support_from must be"),
        ({"cv": "five"}, "cv"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_bad_parameters(data, parameters, message):
    X, y = data
    consensus = ConsensusSelector(**{"selectors": PAIR, "cv": CV, **parameters})
    with pytest.raises((TypeError, ValueError), match=message):
        consensus.fit(X, y)
    assert not hasattr(consensus, "runs_")


def test_frames_keep_their_names(data):
    X, y = data
    consensus = ConsensusSelector(PAIR[:1], cv=CV).fit(X, y)
    assert list(consensus.feature_names_in_) == list(X.columns)
    assert isinstance(
        consensus.set_output(transform="pandas").transform(X), pd.DataFrame
    )


CHECKED = {
    "two": ConsensusSelector(
        [("k", SelectKBest(k=1)), ("svm", LinearSVC(penalty="l1", dual=False))], cv=CV
    ),
    "regressor": ConsensusSelector([("lasso", Lasso(0.01))], cv=CV, method="approval"),
    "without y": ConsensusSelector([("variance", VarianceThreshold())], cv=CV),
}


@pytest.mark.parametrize("which", CHECKED)
@pytest.mark.filterwarnings(
    "ignore:all runs agree because:RuntimeWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::sklearn.exceptions.UndefinedMetricWarning",
    "ignore::sklearn.exceptions.FitFailedWarning",
    "ignore:The least populated class in y:UserWarning",
)
def test_passes_every_check(which):
    results = check_estimator(CHECKED[which], on_skip=None, on_fail=None)
    assert {
        r["check_name"]: r["exception"] for r in results if r["status"] == "failed"
    } == {}
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= {
        "check_array_api_input"
    }
    assert len(results) > 40

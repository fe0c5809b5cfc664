"""Input that once led to an error that did not name the argument, to another type of error, or to none."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression

from skstab.datasets import make_correlated_groups, make_survival
from skstab.feature_selection import (
    HybridRFE,
    StabilitySelection,
    relieff,
    stability_selection_bounds,
    welch_variance,
)
from skstab.inspection import (
    CalibrationDisplay,
    CoSelectionDisplay,
    SelectionFrequencyDisplay,
    StabilityComparisonDisplay,
    StabilityPathDisplay,
    StabilityProfileDisplay,
    feature_clusters,
    importance_contributions,
    linear_importance,
)
from skstab.metrics import (
    compare_stability,
    conformal_pvalues,
    get_measure,
    grouped_importance_stability,
    nogueira_stability,
    population_stability,
    stability_in_words,
    stability_interval,
    stability_test,
    supports_from_sets,
)
from skstab.model_selection import (
    BootstrapSplit,
    ParetoRefit,
    SelectorComparison,
    StabilityCV,
    StabilitySearchCV,
    compare_selectors,
    make_stability_scorer,
    pareto_front,
    search_table,
    stability_profile,
    stability_scoring,
)
from skstab.runs import Outputs, Runs, collect_supports, input_columns, selection_of

X, Y = make_classification(40, 5, random_state=0)
RUNS = np.random.default_rng(0).random((6, 5)) < 0.5
FEW = BootstrapSplit(4, random_state=0)
HUGE = 10**400
FITTED = LogisticRegression().fit(X, Y)
HYBRID = HybridRFE(2).fit(X, Y)
NOGUEIRA = get_measure("nogueira")
FRONT = {"score": [1.0, 0.5], "stability": [0.1, 0.9]}


def cv(**params):
    return StabilityCV(SelectKBest(k=2), **{"cv": FEW, **params}).fit(X, Y)


def selection(**params):
    return StabilitySelection(
        Lasso(), **{"n_resamples": 4, "n_values": 3, "q": 2, **params}
    ).fit(X, Y)


def search(**params):
    return StabilitySearchCV(
        SelectKBest(), **{"param_grid": {"k": [1, 2]}, "cv": FEW, **params}
    ).fit(X, Y)


CALLS = {
    "effect": [lambda: make_survival(effect=1e308), lambda: make_survival(effect=-1e6)],
    "n_samples": [lambda: make_survival(HUGE), lambda: make_correlated_groups(HUGE)],
    "n_groups": [lambda: make_survival(n_groups=HUGE)],
    # The argument that is wrong, and the call.
    "confidence_level": [lambda: stability_interval(RUNS, confidence_level="a")],
    "threshold": [
        lambda: stability_test(RUNS, {}),
        lambda: selection(threshold=pd.NA),
        lambda: cv(threshold=RUNS),
    ],
    "sets": [
        lambda: supports_from_sets([1], 0),
        lambda: Runs.from_sets(np.array(0), 3),
    ],
    "features": [
        lambda: supports_from_sets([["a"]], [np.zeros(2)]),
        lambda: Runs.from_sets([[]], 0),
        lambda: Runs.from_frame(
            pd.DataFrame({"run": [0], "feature": ["a"]}), features=[[1]]
        ),
    ],
    "cv_results": [
        lambda: ParetoRefit("score", "stability")(
            {"score": [np.inf, 1], "stability": [0, 1]}
        ),
        lambda: ParetoRefit("score", "stability")(3),
        lambda: pareto_front({"score": ["a"], "stability": [1]}, "score", "stability"),
        lambda: pareto_front({"score": [[1]], "stability": [1]}, "score", "stability"),
    ],
    "score": [
        lambda: pareto_front(FRONT, 3, "stability"),
        lambda: ParetoRefit(np.nan, "stability"),
    ],
    "strategy": [lambda: ParetoRefit("score", "stability", strategy=np.zeros(2))],
    "tolerance": [
        lambda value=value: ParetoRefit("score", "stability", tolerance=value)
        for value in (np.nan, 10**400)
    ],
    "with_uncertainty": [
        lambda: pareto_front(FRONT, "score", "stability", with_uncertainty=np.zeros(2))
    ],
    "search": [lambda: search_table(3, score="score", stability="stability")],
    "comparison": [lambda: StabilityComparisonDisplay.from_comparison(3)],
    "kind": [
        lambda: get_measure(len, kind=0.0),
        lambda: StabilityPathDisplay([[1.0]], [1.0]).frame(kind=np.zeros(2)),
        lambda: cv().plot(kind="nothing"),
    ],
    "bounds": [
        lambda: get_measure(len, bounds=(1, 0)),
        lambda: get_measure(len, bounds=3),
    ],
    "higher_is_better": [lambda: get_measure(len, higher_is_better="no")],
    "name": [lambda: get_measure(len, name=3), lambda: NOGUEIRA(RUNS, name=3)],
    "table": [
        lambda: NOGUEIRA.value(RUNS),
        lambda: NOGUEIRA.warn_if_trivial(RUNS, 1.0),
    ],
    "n_runs": [lambda: NOGUEIRA.range(1), lambda: NOGUEIRA.range("a")],
    "value": [
        lambda: stability_in_words("a"),
        lambda: stability_in_words(pd.NA),
        lambda: stability_in_words(RUNS),
    ],
    "method": [
        lambda: stability_interval(RUNS, method=np.zeros(2)),
        lambda: compare_stability(RUNS, RUNS, method=[]),
    ],
    "alternative": [lambda: compare_stability(RUNS, RUNS, alternative={})],
    "paired": [lambda: compare_stability(RUNS, RUNS, paired=np.zeros(2))],
    "measure": [
        lambda: get_measure(repr)(RUNS),
        lambda: cv(measure=np.zeros(2)),
        lambda: stability_profile(SelectKBest(), X, Y, measure="pearson"),
    ],
    "measures": [
        lambda: stability_scoring(3),
        lambda: stability_scoring([np.zeros(2)]),
    ],
    "weights": [lambda: get_measure("pearson")(Runs(RUNS))],
    "data": [
        lambda: stability_interval(pd.NA),
        lambda: stability_interval(np.full((3, 3), HUGE, dtype=object)),
    ],
    "supports": [
        lambda: nogueira_stability(RUNS * 3.0),
        lambda: get_measure("kuncheva")(RUNS),
    ],
    "random_state": [
        lambda: cv(random_state=pd.NA),
        lambda: stability_interval(RUNS, method="bootstrap", random_state=[[1]]),
        lambda: make_stability_scorer(random_state=np.nan),
    ],
    "bound": [lambda: make_stability_scorer(bound=np.zeros(2))],
    "cv": [
        lambda: make_stability_scorer(cv=np.nan),
        lambda: cv(cv=[[]]),
        lambda: cv(cv=np.array(0)),
        lambda: cv(cv=0),
    ],
    "estimator_name": [lambda: Runs(RUNS, estimator_name=np.nan)],
    "why_no_support": [lambda: Runs(RUNS, why_no_support=3)],
    "scoring": [
        lambda: stability_scoring(scoring=[3]),
        lambda: stability_scoring(scoring=3),
        lambda: cv(scoring=[[1, 0], [1]]),
        lambda: search(scoring=[]),
    ],
    "support": [
        lambda: cv(support=pd.NA),
        lambda: cv(support=np.array(["refit", "refit"])),
    ],
    "perturb": [
        lambda: cv(perturb=np.zeros(2)),
        lambda: cv(perturb=HUGE),
        lambda: cv(perturb=True),
        lambda: StabilityCV(SelectKBest(k=2), perturb=0.1).fit(
            pd.DataFrame(X).add_prefix("x").assign(text="a"), Y
        ),
    ],
    "error_score": [lambda: cv(error_score=pd.NA), lambda: cv(error_score=True)],
    "n_jobs": [lambda: cv(n_jobs=HUGE), lambda: make_stability_scorer(n_jobs=np.nan)],
    "verbose": [lambda: cv(verbose=-1), lambda: selection(verbose=pd.NA)],
    "refit": [lambda: search(refit=pd.NA)],
    "assumption": [
        lambda: selection(assumption=np.zeros(2)),
        lambda: stability_selection_bounds(9, q=1, pfer=1, assumption={}),
    ],
    "n_features": [
        lambda: stability_selection_bounds(HUGE, threshold=0.9, pfer=1),
        lambda: input_columns(SelectKBest(k=2).fit(X, Y), HUGE),
    ],
    "q": [
        lambda: stability_selection_bounds(9, q="a", pfer=1),
        lambda: selection(q=True),
    ],
    "n_pairs": [lambda: stability_selection_bounds(9, q=2, pfer=1, n_pairs=HUGE)],
    "thresholds": [lambda: selection().calibrate(thresholds=[[1, 0], [1]])],
    "loss": [
        lambda: HybridRFE(loss=np.zeros(2)).fit(X, Y),
        lambda: HybridRFE(loss=pd.NA).fit(X, Y),
    ],
    "criterion": [
        lambda: HybridRFE(2, n_stable_features=1, criterion=lambda *_: "a").fit(X, Y)
    ],
    "C": [lambda: HybridRFE(C=HUGE).fit(X, Y), lambda: HybridRFE(C=True).fit(X, Y)],
    "sample_weight": [
        lambda: HybridRFE().fit(X, Y, "a"),
        lambda: welch_variance(X, Y, sample_weight=[[1], [1, 2]]),
    ],
    "X": [
        lambda: StabilityCV(SelectKBest(k=2), perturb=0.1).fit(
            pd.DataFrame(X, columns=["a"] * X.shape[1]), Y
        ),
        lambda: HYBRID.predict(3),
        lambda: HYBRID.predict_proba(np.full((2, 5), 1e308)),
        lambda: HYBRID.score([[]], Y),
        lambda: StabilityCV(HybridRFE(2), cv=FEW).fit(X, Y).predict(3),
        lambda: cv().fit([[1, 0], [1]], Y),
        lambda: selection().fit(X.astype(complex), Y),
        lambda: feature_clusters(3),
        lambda: selection_of(FITTED, X[:, :2]),
        lambda: linear_importance(FITTED, "a"),
        lambda: list(FEW.split(np.zeros((1, 2)))),
    ],
    "y": [
        lambda: HybridRFE(loss="squared").fit(X, np.array(["no", "yes"])[Y]),
        lambda: HYBRID.score(X, 3),
        lambda: selection().fit(X, np.array(["no", "yes"])[Y]),
        lambda: list(FEW.split(np.zeros((0, 0)), np.zeros((0, 0)))),
    ],
    "similarity": [
        lambda: feature_clusters(X, similarity=pd.NA),
        lambda: get_measure("yu", similarity=[[1], [1, 2]]),
    ],
    "groups": [
        lambda: Runs(RUNS).grouped([[1], [1, 2]]),
        lambda: get_measure("effective", groups=3)(RUNS),
    ],
    "feature_names": [
        lambda: Runs(RUNS, feature_names=3),
        lambda: StabilityPathDisplay([[1]], [1], feature_names=3),
    ],
    "scores": [lambda: Runs(RUNS, scores=3)],
    "which": [
        lambda: Runs(RUNS).take(np.zeros((1, 1, 1), dtype=int)),
        lambda: Runs(RUNS).take(HUGE),
    ],
    "parts": [
        lambda: Runs.concat(3),
        lambda: Runs.concat(np.array(0)),
        lambda: Outputs.concat(3),
    ],
    "missing_score": [lambda: Runs.concat([Runs(RUNS)], missing_score="a")],
    "selections": [lambda: Runs.from_selections(3, n_features=2)],
    "path": [lambda: Runs(RUNS).save(3), lambda: Runs.load(3.5)],
    "names": [
        lambda: Outputs(RUNS, names=3, inputs=[0] * 5),
        *(
            lambda names=names: SelectorComparison.from_search(
                search(), X, Y, names=names
            )
            for names in (3, [[1], [2]])
        ),
    ],
    "outputs": [
        lambda: Runs(RUNS, outputs={"a": 1}),
        lambda: Runs(RUNS, outputs={1: 1}),
    ],
    "frame": [lambda: Runs.from_frame(pd.DataFrame())],
    "param_grid": [
        lambda: search(param_grid={"k": 1}),
        lambda: search(param_grid={"k": 1}, n_iter=2),
    ],
    "rows": [lambda: Outputs(RUNS, names=list("abcde"), inputs=[0] * 5).take("a")],
    "source": [lambda: collect_supports({}), lambda: collect_supports(FITTED)],
    "fitted": [lambda: Runs.from_estimators([3])],
    "transformer": [lambda: input_columns(3, 2)],
    "zero_outside": [lambda: selection_of(FITTED, X, zero_outside=np.zeros(2))],
    "calibration": [lambda: CalibrationDisplay(3)],
    "profiles": [
        lambda: StabilityProfileDisplay(3),
        lambda: StabilityProfileDisplay({}),
    ],
    "runs": [
        lambda: CoSelectionDisplay.from_runs(3),
        lambda: importance_contributions(Runs(RUNS)),
    ],
    "frequencies": [lambda: SelectionFrequencyDisplay("a", 3)],
    "legend": [
        lambda: SelectionFrequencyDisplay([0.5], 3, selected=[True]).plot(
            legend=np.zeros(2)
        )
    ],
    "on_progress": [
        lambda: compare_selectors(
            [SelectKBest(), HybridRFE()], X, Y, scoring="accuracy", on_progress=3
        )
    ],
    "probabilities": [lambda: population_stability([[1, 0], [1]])],
    "values": [lambda: conformal_pvalues(RUNS, [[1, 0], [1]])],
    "selection_path": [
        lambda: StabilityPathDisplay("a", [1]),
        lambda: StabilityPathDisplay(1.5, -1),
        lambda: StabilityPathDisplay([1, 2], 3),
    ],
}
CASES = [
    pytest.param(name, call, id=f"{name}-{place}")
    for name in CALLS
    for place, call in enumerate(CALLS[name])
]


@pytest.mark.parametrize(("name", "call"), CASES)
def test_an_error_names_the_argument(name, call):
    with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
        call()


def test_a_bound_that_all_features_keep_to():
    assert (
        stability_selection_bounds(5, threshold=0.9, pfer=1e308, assumption="none").q
        == 5
    )


def test_nearly_no_censoring_is_none():
    _, y, _ = make_survival(censoring=1e-308, random_state=0)
    assert y["event"].all()


def test_more_neighbours_than_an_array_could_have_are_all_rows():
    np.testing.assert_array_equal(
        relieff(X, Y, n_neighbors=HUGE), relieff(X, Y, n_neighbors=40)
    )


@pytest.mark.filterwarnings("ignore:no two features have a similarity")
@pytest.mark.parametrize(
    "empty", [sparse.csr_array((0, 0)), np.zeros((0, 0))], ids=["sparse", "dense"]
)
def test_an_empty_similarity_is_refused_by_its_shape(empty):
    with pytest.raises(ValueError, match="similarity must be of shape"):
        get_measure("yu", similarity=empty)(RUNS)


def test_a_search_whose_scoring_always_fails_says_so():
    def fails(*_):
        raise ValueError("odd")

    with (
        pytest.warns(match="odd"),
        pytest.raises(ValueError, match="a score is missing where scoring failed"),
    ):
        search(scoring=fails)


# -- numbers near the ends of floats -----------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [1e-308, 1e-9])
def test_the_narrowest_conformal_interval_is_that_of_a_single_calibration_value(level):
    narrow = stability_interval(RUNS, method="conformal", confidence_level=level)
    wider = stability_interval(RUNS, method="conformal", confidence_level=0.3)
    assert wider.low <= narrow.low <= narrow.high <= wider.high


def test_runs_that_do_not_vary_have_an_infinite_statistic():
    same = np.tile(RUNS[0], (4, 1))
    test = stability_test(same, 0.5)
    assert (test.statistic, test.pvalue, test.difference) == (np.inf, 0.0, 0.5)
    assert stability_test(same, 1.0).statistic == 0


@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"]
)
@pytest.mark.parametrize(
    "scale",
    [1e307, 1e200, 1e-200, 1e-300, np.array([1e-200, 1e200, 1.0, 1e100, 1e-300])],
    ids=str,
)
def test_linear_importance_does_not_depend_on_units(scale, form):
    X_small = X / 10  # below 1
    model = LinearRegression().fit(X_small, Y)
    expected = linear_importance(model, X_small)
    model.coef_ = model.coef_ / scale
    np.testing.assert_allclose(
        linear_importance(model, form(X_small * scale)), expected, rtol=1e-10
    )


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_importances_of_runs_do_not_depend_on_units(scale):
    def importances(data):
        return (
            StabilityCV(LinearRegression(), cv=FEW, measure="pearson")
            .fit(data, Y)
            .importances_
        )

    np.testing.assert_allclose(importances(X * scale), importances(X), rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-310, 1e307])
def test_importances_of_groups_do_not_depend_on_their_unit(scale):
    importances, groups = np.arange(1.0, 16.0).reshape(3, 5) % 7, [0, 0, 1, 1, 2]
    expected = grouped_importance_stability(importances, groups)
    assert grouped_importance_stability(importances * scale, groups) == pytest.approx(
        expected, rel=1e-9
    )

"""Good arguments of everything public, by the name of the parameter, and the objects whose methods are called."""

from copy import copy
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from skstab.feature_selection import (
    ConsensusSelector,
    HybridRFE,
    StabilitySelection,
    welch_variance,
)
from skstab.inspection import (
    FeatureStabilityMapDisplay,
    StabilityReport,
    co_selection,
    feature_report,
    fragility,
    importance_contributions,
    instability_shares,
)
from skstab.metrics import get_measure, nogueira_stability
from skstab.model_selection import (
    BootstrapSplit,
    CohortComparison,
    ComplementaryPairsSplit,
    DisjointBlocksSplit,
    ParetoRefit,
    StabilityCV,
    StabilitySearchCV,
    WholeSampleSplit,
    assess_selector,
    compare_selectors,
    make_stability_scorer,
    multiverse,
    prediction_stability,
    stability_profile,
    stability_scoring,
)
from skstab.runs import Outputs, Runs, read_run, selection_of
from tests.fuzz.bad import D, Odd
from tests.inspection.examples import (
    CALIBRATION,
    COHORTS,
    CURVE,
    DISPLAYS,
    FOREST,
    PARTS,
    PREDICTIONS,
)

N = 24
MEASURES = [
    "nogueira",
    "jaccard",
    "pearson",
    "spearman",
    "importance_weighted",
    "canberra",
    nogueira_stability,
]

# -- tables ------------------------------------------------------------------------------------------------------------


def one_of(*values):
    return lambda rng: values[rng.integers(len(values))]


def supports(rng):
    table = rng.random((2 * rng.integers(1, 5), D)) < rng.random()
    return one_of(
        table,
        table.astype(int),
        table.tolist(),
        sparse.csr_array(table),
        pd.DataFrame(table),
    )(rng)


def weights(rng):
    table = rng.random((rng.integers(2, 7), D)) * (rng.random(D) < 0.8)
    return one_of(table, table.tolist(), sparse.coo_array(table), pd.DataFrame(table))(
        rng
    )


def rankings(rng):
    return np.argsort(rng.random((rng.integers(2, 7), D)), axis=1) + 1


def one_size(rng):
    """Supports of runs that all select equally many features."""
    return np.argsort(rng.random((2 * rng.integers(1, 5), D)), axis=1) < rng.integers(
        1, D
    )


def pairs_of_runs(rng):
    """Supports of at least three pairs of runs."""
    table = rng.random((2 * rng.integers(3, 6), D)) < 0.5
    return one_of(table, table.tolist(), sparse.csr_array(table), pd.DataFrame(table))(
        rng
    )


def as_many_pairs():
    """Supports of four pairs of runs."""
    return np.random.default_rng(2).random((8, D)) < 0.5


def similarity(rng):
    table = np.abs(np.corrcoef(rng.random((10, D)), rowvar=False))
    return one_of(table, sparse.csr_array(table), pd.DataFrame(table))(rng)


def features(rng):
    X = data()[0] + rng.integers(3)
    return one_of(
        X,
        X.tolist(),
        pd.DataFrame(X).add_prefix("x"),
        sparse.csr_array(X),
        np.asfortranarray(X),
    )(rng)


def target(rng):
    y = data()[1]
    return one_of(y, y.tolist(), np.array(["no", "yes"])[y], pd.Series(y))(rng)


def fraction(rng):
    return rng.random() * 0.98 + 0.01


@cache
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    return X, (X[:, 0] + rng.standard_normal(N) > 0).astype(int)


@cache
def fitted():
    return StabilityCV(
        LogisticRegression(l1_ratio=1, solver="liblinear"), cv=few()
    ).fit(*data())


@cache
def comparison():
    selectors = {
        "a": LogisticRegression(l1_ratio=1, solver="liblinear"),
        "b": HybridRFE(2),
    }
    return compare_selectors(selectors, *data(), cv=few(), scoring="accuracy")


@cache
def search():
    runs = StabilityCV(HybridRFE(2), cv=few(), scoring="accuracy")
    scoring = stability_scoring(["nogueira"], scoring="accuracy")
    grid = {"estimator__n_features_to_select": [1, 2, 3]}
    return GridSearchCV(
        runs, grid, cv=WholeSampleSplit(), scoring=scoring, refit="nogueira"
    ).fit(*data())


@cache
def several():
    return multiverse([SelectKBest(k=2), SelectKBest(k=3)], *data(), cv=few())


@cache
def cohorts():
    runs = many_runs()
    return CohortComparison({"a": runs, "b": runs})


@cache
def predictions():
    rng = np.random.default_rng(0)
    supports, probabilities = rng.random((4, D)) < 0.5, rng.random((4, N))
    return prediction_stability(Runs(supports, row_probabilities=probabilities))


@cache
def assessment():
    return assess_selector(
        SelectKBest(k=2),
        *data(),
        cv=few(),
        n_pairs=3,
        n_permutations=19,
        random_state=0,
    )


@cache
def evident_features():
    return feature_report(fitted(), assessment=assessment())


@cache
def path():
    X, y = data()
    return StabilitySelection(
        Lasso(), pfer=1, n_resamples=4, n_values=3, random_state=0
    ).fit(X, y.astype(float))


@cache
def calibrated():
    X, y = data()
    return (
        StabilitySelection(Lasso(), efp=1, n_resamples=8, n_values=4, random_state=0)
        .fit(X, y)
        .calibrate()
    )


@cache
def machine():
    return SVC(kernel="rbf").fit(*data())


@cache
def forest():
    return RandomForestClassifier(5, max_depth=2, random_state=0).fit(*data())


@cache
def profile():
    return stability_profile(Ridge(), *data(), sizes=[1, 2], cv=few(), random_state=0)


def few():
    return BootstrapSplit(3, random_state=0)


def held(make):
    return lambda _: make()


MEMBERS = [("two", SelectKBest(k=2)), ("three", SelectKBest(k=3))]
selector = one_of(SelectKBest(k=2), HybridRFE(2), SelectKBest(welch_variance, k=1))
GOOD = {
    **dict.fromkeys(("supports", "a", "b", "whole", "halves"), supports),
    **dict.fromkeys(("weights", "importances"), weights),
    **dict.fromkeys(("X",), features),
    **dict.fromkeys(("y",), target),
    **dict.fromkeys(
        (
            "threshold",
            "confidence_level",
            "variance_weight",
            "correlation",
            "gamma",
            "value",
        ),
        fraction,
    ),
    **dict.fromkeys(
        ("stratify", "paired", "with_uncertainty", "scale_importances", "zero_outside"),
        one_of(True, False),
    ),
    **dict.fromkeys(
        ("fit_intercept", "standardize", "discrete_features", "warm_start"),
        one_of(True, False),
    ),
    **dict.fromkeys(("random_state",), one_of(0, 3, None, np.random.RandomState(0))),
    **dict.fromkeys(
        ("n_jobs", "location", "on_progress", "bound", "tolerance", "groups", "chosen"),
        one_of(None),
    ),
    **dict.fromkeys(
        ("max_seconds", "max_memory", "confirm", "variables", "row_names", "pvalues"),
        one_of(None),
    ),
    **dict.fromkeys(
        (
            "feature_names",
            "selected",
            "reference",
            "target_width",
            "checkpoint",
            "scoring",
        ),
        one_of(None),
    ),
    **dict.fromkeys(
        ("penalty", "redundancy", "group_mean", "other_mean", "alpha", "perturb"),
        fraction,
    ),
    **dict.fromkeys(("n_splits", "n_resamples", "n_pairs", "n_values"), one_of(4, 6)),
    **dict.fromkeys(
        ("n_neighbors", "n_repeats", "n_others", "group_size", "n_groups"),
        one_of(1, 2, 3),
    ),
    "data": one_of(supports(np.random.default_rng(1)), fitted(), fitted().runs_),
    "n_permutations": one_of(19),
    "n_draws": one_of(2),
    "clusters": one_of(None, np.array([0, 0, 1, 1, 2])),
    "k": one_of(1, 3),
    "deep": one_of(True, False),
    "least": one_of(0.5, 0.9),
    "least_share": fraction,
    "subset_size": one_of(None, 2),
    "n_rows": one_of(2, 20),
    "probabilities": lambda rng: rng.random(D),
    "rankings": rankings,
    "similarity": similarity,
    "measure": one_of(*MEASURES),
    "measures": one_of(["nogueira"], ("jaccard", "nogueira"), "nogueira"),
    "method": one_of("jackknife", "asymptotic", "conformal", "bootstrap"),
    "alternative": one_of("two-sided", "less", "greater"),
    "ties": one_of("average", "random"),
    "sets": one_of([["a"], ["b", "a"]], [{0, 1}, [2]], [[], []]),
    "features": one_of(["a", "b", "c"], 7),
    "cv": one_of(*[few()] * 5, *[3] * 4, None),  # 50 bootstraps
    "source": one_of([fitted().estimator_] * 2, fitted()),
    "fitted": one_of([fitted().estimator_] * 2),
    "frame": one_of(
        pd.DataFrame({"run": [0, 1], "feature": ["a", "b"]}),
        pd.DataFrame([[0, 1], [1, 1]], columns=["a", "b"]),
    ),
    "selections": one_of([selection_of(fitted().estimator_, data()[0])] * 2),
    "transformer": one_of(SelectKBest(k=2).fit(*data()), HybridRFE(2).fit(*data())),
    "n_features": one_of(D),
    "estimator": selector,
    "model": one_of(LogisticRegression().fit(*data()), fitted().estimator_),
    "selectors": one_of(
        [SelectKBest(k=2), HybridRFE(2)], {"a": HybridRFE(2), "b": HybridRFE(1)}
    ),
    "pipelines": one_of([SelectKBest(k=2), SelectKBest(k=3)]),
    "n_seeds": one_of(1, 2),
    "cohorts": one_of(np.arange(N) // (N // 2)),
    "margin": one_of("one_se", 0.1),
    "cv_results": held(lambda: search().cv_results_),
    "score": one_of("accuracy"),
    "stability": one_of("nogueira"),
    "search": held(search),
    "comparison": held(comparison),
    "assessment": held(assessment),
    "profiles": held(profile),
    "selection_path": held(lambda: path().selection_path_),
    "param_values": held(lambda: path().param_values_),
    "param_name": one_of("alpha"),
    "sizes": one_of([2, 4], [0.2, 0.4]),
    "importance_getter": one_of("auto"),
    "require_support": one_of(False),
    "target": one_of("auto", "classes", "numeric"),
    "sample_weight": one_of(None, np.ones(N)),
    "q": one_of(2, 3),
    "pfer": one_of(0.5, 1.0),
    "assumption": one_of("none", "unimodal", "r-concave"),
    "n_samples": one_of(20, 30),
    "n_relevant": one_of(1, 2),
    "max_change": one_of(2.0, 64.0),
    "tol": one_of(1e-3),
    "n_features_to_select": one_of(None, 1, 2, 0.5),
    "n_stable_features": one_of(0, 1),
    "criterion": one_of("welch_variance", "relieff", welch_variance),
    "C": one_of(0.1, 1.0, 100.0),
    "C_final": one_of(None, 0.5),
    "shrinkage": one_of(1.0, 0.5),
    "step": one_of(1, 0.2),
    "loss": one_of("logistic", "squared"),
    "support": one_of("refit", "consensus"),
    "support_from": one_of("used", "selector"),
    "error_score": one_of(np.nan, 0.0, "raise"),
    "return_estimators": one_of(False),
    "verbose": one_of(0),
    "resampling": one_of("complementary_pairs", "subsample"),
    "weakness": one_of(1.0, 0.5),
    "eps": one_of(0.01, 0.1),
    "runs": one_of(fitted(), fitted().runs_),
    "param_grid": one_of({"n_features_to_select": [1, 2]}),
    "readers": one_of((), ((Lasso, len),)),
    "kind": one_of("subset"),
    "bounds": one_of((0, 1)),
    **dict.fromkeys(
        ("effect", "censoring", "fdr", "efp", "min_frequency", "level", "share"),
        fraction,
    ),
    **dict.fromkeys(("legend", "higher_is_better", "adjust"), one_of(True, False)),
    **dict.fromkeys(
        ("top_k", "n_colours", "n_named", "max_models", "n_decoy_draws"),
        one_of(1, 2, 20),
    ),
    **dict.fromkeys(
        (
            "decoys",
            "ax",
            "n_iter",
            "outputs",
            "row_losses",
            "row_predictions",
            "row_probabilities",
            "refit_predictions",
            "row_counts",
        ),
        one_of(None),
    ),
    "thresholds": one_of((0.6, 0.9), (0.7, 0.7)),
    "calibration": one_of(CALIBRATION),
    "found": held(lambda: co_selection(many_runs())),
    "frequencies": lambda rng: rng.integers(0, 11, D) / 10,
    "n_runs": one_of(10, 40),
    "order": one_of("frequency", "column"),
    "name": one_of(None, "own"),
    "strategy": one_of("knee", "weighted", "one_se"),
    "of": one_of("stability", "score"),
    "refit": one_of(None, np.array([True, False, True, False, False])),
    "names": one_of(["f", "m", "age"]),
    "inputs": one_of([0, 0, 1]),
    "coefs": one_of(None, np.ones((4, D))),
    "scores": lambda rng: {"accuracy": rng.random(4)},
    "fit_times": one_of(None, np.ones(4)),
    "split_numbers": one_of(None, np.arange(4)),
    "pairs": one_of(None, np.arange(4) // 2),
    "n_failed": one_of(0, 3),
    "why_no_support": one_of(None),
    "estimator_name": one_of(None, "SelectKBest"),
    "missing_score": one_of(np.nan, 0.0),
    "which": one_of(slice(0, 3), [0, 2], np.arange(8) < 3),
    "rows": one_of([0, 2], slice(0, 2)),
    "heading": one_of("", "a heading"),
    "type_or_predicate": one_of(Odd, lambda _: False),
    "reader": one_of(lambda *_: None),
    "path": one_of("runs.npz"),
    "like": one_of(
        None,
        *(each for each in DISPLAYS if isinstance(each, FeatureStabilityMapDisplay)),
    ),
    "core": one_of(None, np.arange(D) < 2),
}
_LABELS = one_of(np.array([0, 0, 1, 1, 2]), list("aabbc"))
_SETS = one_of("nogueira", "jaccard", nogueira_stability)
# The same name means something else there.
GOOD_OF = {
    ("conformal_pvalues", "values"): lambda rng: rng.random(3),
    **{
        (name, "n_resamples"): one_of(10, 19)
        for name in ("conformal_pvalues", "stability_interval")
    },
    ("random_selection_test", "n_resamples"): one_of(10, 19),
    ("Runs.ranks", "n_resamples"): one_of(10, 19),
    ("SelectorComparison.from_search", "search"): lambda _: searched(),
    ("SelectorComparison.from_search", "X"): held(lambda: data()[0]),
    ("SelectorComparison.from_search", "y"): held(lambda: data()[1]),
    ("SelectorComparison.from_search", "names"): one_of(None, ["a", "b"]),
    ("unpenalised_reference", "X"): held(lambda: data()[0]),
    ("unpenalised_reference", "y"): lambda rng: rng.standard_normal(N),
    **{
        (f"{name}_stability", "supports"): one_size
        for name in ("guzman", "krizek", "kuncheva", "lausser")
    },
    ("replication_stability", "data"): pairs_of_runs,
    ("replication_stability", "measure"): one_of("nogueira", "jaccard"),
    ("full_size_interval", "halves"): pairs_of_runs,
    ("full_size_interval", "whole"): pairs_of_runs,
    ("full_size_interval", "measure"): one_of("nogueira", "jaccard"),
    **{("compare_stability", name): pairs_of_runs for name in ("a", "b")},
    ("compare_stability", "method"): one_of("jackknife", "jackknife", "asymptotic"),
    ("compare_stability", "measure"): _SETS,
    ("compare_stability", "paired"): one_of(False),
    ("stability_test", "method"): one_of("jackknife", "jackknife", "asymptotic"),
    **{
        (name, "measure"): one_of(nogueira_stability, len)
        for name in ("get_measure", "Measure.look_up")
    },
    ("CalibrationDisplay.from_estimator", "estimator"): held(calibrated),
    ("CoSelectionDisplay.from_estimator", "estimator"): held(fitted),
    ("CoSelectionDisplay.from_estimator", "groups"): _LABELS,
    ("FeatureStabilityMapDisplay.plot", "measures"): one_of(True, False),
    ("StabilityPathDisplay", "stability"): one_of(None),
    ("StabilityPathDisplay.from_path", "stability"): one_of(None),
    ("StabilityPathDisplay.plot", "stability"): one_of(True, False),
    ("StabilityPathDisplay.frame", "kind"): one_of("features", "stability"),
    ("StabilityCV.plot", "kind"): one_of("frequencies", "map", "raster"),
    ("feature_clusters", "similarity"): one_of("pearson", "spearman"),
    ("margin_importance", "model"): held(machine),
    ("oob_permutation_importance", "model"): held(forest),
    ("oob_permutation_importance", "y"): held(lambda: data()[1]),
    ("SelectorComparison.difference", "a"): one_of("a", "b"),
    ("SelectorComparison.difference", "b"): one_of("a", "b"),
    **{
        (f"{name}.score", "y"): held(lambda: data()[1])
        for name in ("StabilityCV", "StabilitySearchCV", "HybridRFE")
    },
    ("collect_supports", "source"): one_of(
        [fitted().estimator_] * 2, {"estimator": [fitted().estimator_] * 3}
    ),
    ("compare_selectors", "scoring"): one_of("accuracy"),
    # Hundreds of fits in one call: most of them are quick ones.
    ("assess_selector", "estimator"): one_of(
        *[SelectKBest(k=2)] * 4, *[VarianceThreshold()] * 3, HybridRFE(2)
    ),
    ("assess_selector", "n_pairs"): one_of(3),
    ("stability_profile", "estimator"): one_of(Ridge(), SelectKBest(k=2)),
    ("stability_profile", "y"): held(lambda: data()[1]),
    ("stability_profile", "cv"): lambda _: few(),
    ("stability_profile", "measure"): _SETS,
    ("Runs.grouped", "groups"): _LABELS,
    ("Runs.from_selections", "scores"): lambda rng: {"accuracy": rng.random(2)},
    ("Runs.from_selections", "fit_times"): one_of(np.ones(2)),
    ("Runs.from_selections", "split_numbers"): one_of(np.arange(2)),
    ("Runs.from_selections", "pairs"): one_of(np.zeros(2, dtype=int)),
    ("Outputs.stability", "measure"): _SETS,
    ("read_run", "estimator"): held(lambda: fitted().estimator_),
    ("read_run", "X"): held(lambda: data()[0]),
    ("why_no_support", "estimator"): held(lambda: Ridge().fit(*data())),
    **{
        (f"{name}.__call__", "estimator"): held(fitted)
        for name in ("StabilityScorer", "StabilityScoring")
    },
    ("grouped_importance_stability", "groups"): _LABELS,
    ("effective_stability", "groups"): _LABELS,
    ("ReplicationDisplay.from_assessment", "assessment"): held(assessment),
    ("StabilityPathDisplay.from_estimator", "estimator"): held(path),
    ("SelectionFrequencyDisplay.from_estimator", "estimator"): held(fitted),
    ("FeatureStabilityMapDisplay.from_estimator", "estimator"): held(fitted),
    ("SupportRasterDisplay.from_estimator", "estimator"): held(fitted),
    ("selection_of", "estimator"): held(lambda: fitted().estimator_),
    ("selection_of", "X"): held(lambda: data()[0]),
    ("StabilitySearchCV", "estimator"): one_of(HybridRFE(2)),
    ("StabilitySelection", "estimator"): one_of(
        Lasso(), LogisticRegression(l1_ratio=1, solver="liblinear")
    ),
    ("StabilitySelection", "threshold"): one_of(0.6, 0.75),
    ("StabilitySelection", "param_name"): one_of("auto"),
    ("StabilitySelection", "param_values"): one_of("auto", [0.1, 0.2]),
    ("StabilitySelection", "groups"): one_of(None),
    ("stability_selection_bounds", "threshold"): one_of(0.6, 0.9),
    ("stability_profile", "sizes"): one_of(None, [1, 2]),
    ("make_redundant_classification", "n_features"): one_of(6, 8),
    ("Runs", "supports"): lambda rng: rng.random((4, D)) < 0.5,
    ("Runs", "importances"): lambda rng: rng.random((4, D)),
    ("Outputs", "supports"): lambda rng: rng.random((4, 3)) < 0.5,
    ("Outputs.concat", "parts"): lambda _: [outputs(), outputs()],
    ("Outputs.of_runs", "runs"): lambda _: (
        [RunOutputs(["f", "m"], np.array([0, 0]), np.array([True, False]))] * 2
    ),
    ("Runs.concat", "parts"): lambda _: [many_runs(), many_runs()],
    ("Runs.load", "path"): lambda _: stored_runs(),
    ("Measure.value", "table"): lambda rng: get_measure("nogueira").check(
        supports(rng)
    ),
    ("Measure.warn_if_trivial", "table"): lambda rng: get_measure("nogueira").check(
        supports(rng)
    ),
    ("ReplicationDisplay", "table"): one_of(CURVE),
    ("MultiverseDisplay", "table"): one_of(PARTS),
    ("MultiverseDisplay", "total"): one_of(None, 0.5),
    ("MultiverseDisplay.from_multiverse", "found"): held(several),
    ("PredictionInstabilityDisplay", "table"): one_of(PREDICTIONS),
    ("PredictionInstabilityDisplay", "outcome"): one_of("risk"),
    ("PredictionInstabilityDisplay", "reference"): one_of("all rows"),
    ("PredictionInstabilityDisplay", "note"): one_of("", "a note"),
    ("PredictionInstabilityDisplay.from_predictions", "found"): held(predictions),
    ("CohortComparisonDisplay", "table"): one_of(COHORTS),
    ("CohortComparisonDisplay", "cohorts"): one_of(("a", "b")),
    ("CohortComparisonDisplay", "note"): one_of("", "a note"),
    ("CohortComparisonDisplay.from_cohorts", "found"): held(cohorts),
    ("compare_cohorts", "estimator"): one_of(SelectKBest(k=2)),
    ("compare_cohorts", "y"): held(lambda: data()[1]),
    ("prediction_stability", "X"): one_of(None),
    ("StabilityComparisonDisplay", "table"): one_of(FOREST),
    ("ConsensusSelector", "selectors"): held(lambda: MEMBERS),
    ("ConsensusSelector", "method"): one_of("borda", "approval", "satisfaction"),
    ("ConsensusSelector", "weights"): one_of(None, [1, 2]),
    ("decoy_evidence", "estimator"): one_of(SelectKBest(k=2)),
    ("decoy_evidence", "y"): held(lambda: data()[1]),
    ("decoy_evidence", "n_pairs"): one_of(3),
    ("fragility", "runs"): held(fitted),
    ("FeatureEvidenceDisplay", "shares"): one_of([1, 0.5]),
    ("FeatureEvidenceDisplay", "decoys"): one_of(None, [0.1, np.nan]),
    ("FeatureEvidenceDisplay", "directions"): one_of(None, ["+", "-"]),
    ("FeatureEvidenceDisplay", "substitutes"): one_of(None, [["b"], []]),
    ("FeatureEvidenceDisplay", "fragility"): one_of(None, [np.nan, 1]),
    ("FeatureEvidenceDisplay", "feature_names"): one_of(None, ["a", "c"]),
    ("FeatureEvidenceDisplay.from_report", "report"): held(evident_features),
    ("full_size_interval", "quarters"): pairs_of_runs,
    ("compare_replication", "a"): held(as_many_pairs),
    ("compare_replication", "b"): held(as_many_pairs),
    ("compare_replication", "measure"): one_of("nogueira", "jaccard"),
    ("SelectorComparison.recommend", "prefer"): one_of("stable", "short"),
    ("Runs", "train_sizes"): one_of(None, [10, 10, 12, 12]),
    ("FragilityDisplay", "changes"): one_of(pd.DataFrame(np.zeros((2, 3)))),
    ("FragilityDisplay.from_runs", "runs"): held(fitted),
    ("RankDisplay", "table"): held(lambda: many_runs().ranks(2, random_state=0)),
    ("RankDisplay.from_runs", "runs"): lambda _: many_runs(),
}

# Arguments that only go together, by what was drawn already.
TOGETHER = {
    "StabilitySelection.retarget": lambda rng, drawn: _only(
        rng, drawn, {"threshold": 0.8}, {"pfer": 1.0}
    ),
    "search_table": lambda *_: {"score": "accuracy", "stability": "nogueira"},
    **dict.fromkeys(
        ("compare_selectors", "StabilityCV.score", "StabilitySearchCV.score"),
        lambda *_: {"y": data()[1]},
    ),
    "stability_profile": lambda *_: {"y": data()[1], "cv": few()},
    "StabilitySelection": lambda rng, drawn: (
        _only(rng, drawn, {"efp": 1.0}, {"q": 2}, {"pfer": 1.0}, {"fdr": 0.2})
        | {"y": data()[1]}
    ),
    "stability_selection_bounds": lambda rng, drawn: _only(
        rng,
        drawn,
        {"q": 3, "threshold": 0.9},
        {"q": 2, "pfer": 1.0},
        {"threshold": 0.9, "pfer": 1.0},
    ),
}


def _only(rng, drawn, *choices):
    """Leave only one of several sets of arguments."""
    for name in {name for choice in choices for name in choice} | {"efp", "fdr"}:
        drawn.pop(name, None)
    return choices[rng.integers(len(choices))]


# What may be passed behind **.
_MEASURE = ("kind", "bounds", "name", "higher_is_better")
_RUNS = (
    "feature_names",
    "scores",
    "fit_times",
    "split_numbers",
    "pairs",
    "refit",
    "n_failed",
)
KEYWORDS = {
    "get_measure": _MEASURE,
    "Measure.look_up": _MEASURE,
    "Runs.from_selections": _RUNS,
    "CoSelectionDisplay.from_estimator": ("groups", "min_frequency", "level"),
    "StabilityCV.score": ("sample_weight",),
    "StabilitySearchCV.score": ("sample_weight",),
    "SelectorComparison.plot": ("reference", "ax"),
    "StabilityCV.plot": ("confidence_level",),
    "StabilitySearchCV.plot": ("gamma", "tolerance"),
}

# -- the objects whose methods are called ------------------------------------------------------------------------------


@cache
def searched():
    return StabilitySearchCV(
        HybridRFE(2), {"n_features_to_select": [1, 2]}, cv=few(), scoring="accuracy"
    ).fit(*data())


@cache
def report():
    code = "print('the same numbers')"
    return StabilityReport(
        "a page",
        comparison(),
        comparison().frame(),
        "accuracy",
        code,
        assessment=assessment(),
        feature_report=evident_features(),
    )


@cache
def many_runs():
    rng = np.random.default_rng(0)
    names = list("abcde")
    fields = {
        "scores": {"accuracy": rng.random(8)},
        "feature_names": names,
        "pairs": np.arange(8) // 2,
    }
    return Runs(rng.random((8, D)) < 0.5, rng.random((8, D)), **fields)


class RunOutputs(NamedTuple):
    """What one run selected of the outputs of encoders, in the form that a reading has."""

    names: list
    inputs: np.ndarray
    support: np.ndarray


def outputs():
    return Outputs(
        [[1, 0, 1], [1, 0, 0], [1, 0, 1]], names=["f", "m", "age"], inputs=[0, 0, 1]
    )


def stored_runs():
    many_runs().save("stored.npz")
    return "stored.npz"


OBJECTS = {
    **{type(display).__name__: partial(copy, display) for display in DISPLAYS},
    "BootstrapSplit": few,
    "CoSelection": lambda: co_selection(many_runs()),
    "ComplementaryPairsSplit": lambda: ComplementaryPairsSplit(4, random_state=0),
    "ConsensusSelector": cache(
        lambda: ConsensusSelector(MEMBERS, cv=few()).fit(*data())
    ),
    "DecoyEvidence": lambda: assessment().decoys,
    "DisjointBlocksSplit": lambda: DisjointBlocksSplit([4, 0.2], 3, random_state=0),
    "FeatureReport": lambda: feature_report(many_runs()),
    "Fragility": cache(lambda: fragility(fitted())),
    "HybridRFE": cache(lambda: HybridRFE(2).fit(*data())),
    "ImportanceContributions": lambda: importance_contributions(many_runs()),
    "InstabilityShares": lambda: instability_shares(many_runs()),
    "Measure": lambda: get_measure("nogueira"),
    "Outputs": outputs,
    "ParetoRefit": lambda: ParetoRefit("accuracy", "nogueira"),
    "Reading": lambda: read_run(fitted().estimator_, data()[0]),
    "Runs": many_runs,
    "Selection": lambda: selection_of(fitted().estimator_, data()[0]),
    "SelectorAssessment": assessment,
    "SelectorComparison": comparison,
    "StabilityCV": fitted,
    "StabilityReport": report,
    "StabilitySearchCV": searched,
    "StabilitySelection": lambda: copy(path()),
    "WholeSampleSplit": WholeSampleSplit,
}
# Objects of classes that are not exported, but are returned to be called by users.
RETURNED = {
    "StabilityScorer": make_stability_scorer,
    "StabilityScoring": stability_scoring,
    "Multiverse": several,
    "CohortComparison": cohorts,
    "PredictionStability": predictions,
}

# -- results -----------------------------------------------------------------------------------------------------------

_OF_THE_ESTIMATOR = (
    "decision_function",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "score",
)
# Where NaN or infinity is a documented result: a field, a column or an attribute, alone or of one function; a function.
MAY_BE_NAN = {
    "frequency_scores_",  # of features that were not selected
    *("threshold_", "pfer_"),  # of a selection by expected false positives
    *(
        "replication",
        "replication_low",
        "replication_high",
    ),  # where the halves are too few, or select nothing
    *(
        f"StabilitySelection{call} stability"
        for call in ("", ".calibrate", ".retarget")
    ),
    "assess_selector stability",  # by the number of rows, where there was nothing to choose
    *(
        "low",
        "high",
    ),  # of an interval that there is not, of few runs or of a stability by chance
    *(
        "gamma_low",
        "gamma_high",
        "score_low",
        "score_high",
        "stability_low",
        "stability_high",
    ),  # of no front
    *("score_pvalue", "pvalue", "chance"),  # of what has no score, or is not tested
    *("auc", "auc_pvalue"),  # of what predicts no classes
    "correlation",  # of what has no partner
    *("fragility", "frequency_without"),  # of what no few rows carry
    "FeatureEvidenceDisplay.frame decoy",  # where there is none
    "collect_runs score",  # of a fold that failed
    "standard_error",  # of the conformal method
    "importance_contributions stability",  # of a part without importance
    "make_stability_scorer cv",  # as it was given
    *(
        "stability_test statistic",
        "compare_stability statistic",
    ),  # of runs that do not vary
    # Of rows that a run did not leave out.
    *(
        "row_predictions",
        "row_probabilities",
        "losses",
        "compare_selectors accuracy",
        "assess_selector score",
        "predictions",
        "PredictionStability.frame full",
    ),
    # Of one seed; of pipelines without a score.
    *(f"Multiverse.shares {name}" for name in ("part", "share", "sum_of_squares")),
    "Multiverse.frame score",
    *(
        "compare_selectors score",
        "StabilityCV score",
    ),  # where the function given as scoring fails: `error_score`
    *(
        f"{name}.{method}"
        for name in ("StabilityCV", "StabilitySearchCV")
        for method in _OF_THE_ESTIMATOR
    ),
    *(
        "get_measure",
        "Measure.look_up",
        "measure_table",
    ),  # a measure may have no bounds
}

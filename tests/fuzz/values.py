"""Arguments of public functions: good ones by the name of the parameter, and bad ones for any."""

from functools import cache

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV

from skstab.feature_selection import HybridRFE, StabilitySelection, welch_variance
from skstab.metrics import nogueira_stability
from skstab.model_selection import (
    BootstrapSplit,
    StabilityCV,
    WholeSampleSplit,
    assess_selector,
    compare_selectors,
    stability_profile,
    stability_scoring,
)
from skstab.runs import Runs, selection_of

N, D = 24, 5
MEASURES = ["nogueira", "jaccard", "pearson", "spearman", "importance_weighted", "canberra", nogueira_stability]

# -- good ones ---------------------------------------------------------------------------------------------------------


def one_of(*values):
    return lambda rng: values[rng.integers(len(values))]


def supports(rng):
    table = rng.random((2 * rng.integers(1, 5), D)) < rng.random()
    return one_of(table, table.astype(int), table.tolist(), sparse.csr_array(table), pd.DataFrame(table))(rng)


def weights(rng):
    table = rng.random((rng.integers(2, 7), D)) * (rng.random(D) < 0.8)
    return one_of(table, table.tolist(), sparse.coo_array(table), pd.DataFrame(table))(rng)


def rankings(rng):
    return np.argsort(rng.random((rng.integers(2, 7), D)), axis=1) + 1


def similarity(rng):
    table = np.corrcoef(rng.random((10, D)), rowvar=False)
    return one_of(table, np.abs(table), pd.DataFrame(table))(rng)


def features(rng):
    X = data()[0] + rng.integers(3)
    return one_of(X, X.tolist(), pd.DataFrame(X).add_prefix("x"), sparse.csr_array(X), np.asfortranarray(X))(rng)


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
    return StabilityCV(LogisticRegression(l1_ratio=1, solver="liblinear"), cv=few()).fit(*data())


@cache
def comparison():
    selectors = {"a": LogisticRegression(l1_ratio=1, solver="liblinear"), "b": HybridRFE(2)}
    return compare_selectors(selectors, *data(), cv=few(), scoring="accuracy")


@cache
def search():
    runs = StabilityCV(HybridRFE(2), cv=few(), scoring="accuracy")
    scoring = stability_scoring(["nogueira"], scoring="accuracy")
    grid = {"estimator__n_features_to_select": [1, 2, 3]}
    return GridSearchCV(runs, grid, cv=WholeSampleSplit(), scoring=scoring, refit="nogueira").fit(*data())


@cache
def assessment():
    return assess_selector(SelectKBest(k=2), *data(), cv=few(), n_pairs=3, n_permutations=19, random_state=0)


@cache
def path():
    X, y = data()
    return StabilitySelection(Lasso(), pfer=1, n_resamples=4, n_values=3, random_state=0).fit(X, y.astype(float))


@cache
def profile():
    return stability_profile(Ridge(), *data(), sizes=[1, 2], cv=few(), random_state=0)


def few():
    return BootstrapSplit(3, random_state=0)


def held(make):
    return lambda _: make()


selector = one_of(SelectKBest(k=2), HybridRFE(2), SelectKBest(welch_variance, k=1))
GOOD = {
    **dict.fromkeys(("supports", "a", "b", "whole", "halves"), supports),
    **dict.fromkeys(("weights", "importances"), weights),
    **dict.fromkeys(("X",), features),
    **dict.fromkeys(("y",), target),
    **dict.fromkeys(("threshold", "confidence_level", "variance_weight", "correlation", "gamma", "value"), fraction),
    **dict.fromkeys(
        ("stratify", "paired", "with_uncertainty", "scale_importances", "zero_outside"), one_of(True, False)
    ),
    **dict.fromkeys(("fit_intercept", "standardize", "discrete_features", "warm_start"), one_of(True, False)),
    **dict.fromkeys(("random_state",), one_of(0, 3, None, np.random.RandomState(0))),
    **dict.fromkeys(("n_jobs", "location", "on_progress", "bound", "tolerance", "groups", "chosen"), one_of(None)),
    **dict.fromkeys(("feature_names", "selected", "reference", "target_width", "checkpoint", "scoring"), one_of(None)),
    **dict.fromkeys(("penalty", "redundancy", "group_mean", "other_mean", "alpha", "perturb"), fraction),
    **dict.fromkeys(("n_splits", "n_resamples", "n_pairs", "n_values"), one_of(4, 6)),
    **dict.fromkeys(("n_neighbors", "n_repeats", "n_others", "group_size", "n_groups"), one_of(1, 2, 3)),
    "data": one_of(supports(np.random.default_rng(1)), fitted(), fitted().runs_),
    "n_permutations": one_of(19),
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
    "cv": one_of(few(), 3, None),
    "source": one_of([fitted().estimator_] * 2, fitted()),
    "fitted": one_of([fitted().estimator_] * 2),
    "frame": one_of(
        pd.DataFrame({"run": [0, 1], "feature": ["a", "b"]}), pd.DataFrame([[0, 1], [1, 1]], columns=["a", "b"])
    ),
    "selections": one_of([selection_of(fitted().estimator_, data()[0])] * 2),
    "transformer": one_of(SelectKBest(k=2).fit(*data()), HybridRFE(2).fit(*data())),
    "n_features": one_of(D),
    "estimator": selector,
    "model": one_of(LogisticRegression().fit(*data()), fitted().estimator_),
    "selectors": one_of([SelectKBest(k=2), HybridRFE(2)], {"a": HybridRFE(2), "b": HybridRFE(1)}),
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
}
# The same name means something else there.
GOOD_OF = {
    ("conformal_pvalues", "values"): lambda rng: rng.random(3),
    ("random_selection_test", "n_resamples"): one_of(10, 19),
    ("replication_stability", "data"): lambda rng: rng.random((4, D)) < 0.5,
    ("full_size_interval", "halves"): lambda rng: rng.random((4, D)) < 0.5,
    ("effective_stability", "groups"): one_of(np.array([0, 0, 1, 1, 2])),
    ("grouped_importance_stability", "groups"): one_of(np.array([0, 0, 1, 1, 2])),
    ("ReplicationDisplay.from_assessment", "assessment"): held(assessment),
    ("StabilityPathDisplay.from_estimator", "estimator"): held(path),
    ("SelectionFrequencyDisplay.from_estimator", "estimator"): held(fitted),
    ("FeatureStabilityMapDisplay.from_estimator", "estimator"): held(fitted),
    ("SupportRasterDisplay.from_estimator", "estimator"): held(fitted),
    ("selection_of", "estimator"): held(lambda: fitted().estimator_),
    ("selection_of", "X"): held(lambda: data()[0]),
    ("StabilitySearchCV", "estimator"): one_of(HybridRFE(2)),
    ("StabilitySelection", "estimator"): one_of(Lasso(), LogisticRegression(l1_ratio=1, solver="liblinear")),
    ("StabilitySelection", "threshold"): one_of(0.6, 0.75),
    ("StabilitySelection", "param_name"): one_of("auto"),
    ("StabilitySelection", "param_values"): one_of("auto", [0.1, 0.2]),
    ("StabilitySelection", "groups"): one_of(None),
    ("stability_selection_bounds", "threshold"): one_of(0.6, 0.9),
    ("stability_profile", "sizes"): one_of(None, [1, 2]),
    ("make_redundant_classification", "n_features"): one_of(6, 8),
    ("spearman_stability", "ties"): one_of("average", "random"),
}

# -- bad ones ----------------------------------------------------------------------------------------------------------


class Odd:
    """Nothing that anything could be done with."""

    def __bool__(self):
        raise ValueError("odd objects are neither true nor false")


NUMBERS = [None, True, -1, 0, 1, 3, 0.0, 0.5, -0.5, 1.5, np.nan, np.inf, -np.inf, 10**400, 1e308, 1e-308, 1j]
OTHERS = ["a", "", b"a", pd.NA, pd.NaT, np.datetime64("2020-01-01"), np.str_("a"), np.bool_(1), np.int8(3), object()]
COLLECTIONS = [{}, [], (), set(), [1], [[]], ["a"], {"a": 1}, [[1, 0], [1]], range(3), len, iter([]), Odd(), Lasso]
ARRAYS = [np.array(0), np.array([]), np.array([1, 2]), np.zeros((0, 0)), np.zeros((0, D)), np.zeros((4, 0))]
ESTIMATORS = [Lasso(), SelectKBest(), np.random.default_rng(0)]
FRAMES = [pd.DataFrame(), pd.DataFrame({"a": [1, pd.NA]}), pd.Series(["a", None], dtype=object)]
SPARSE = [sparse.coo_array((4, D)), sparse.csr_array((0, 0))]


def bad(rng):
    """Draw something that most parameters do not take."""
    table = rng.random((4, D))
    tables = [table, -table, table[:1], table * 1e308, table * 1e-308, table > 2, np.full((4, D), np.nan)]
    types = [table.astype(kind) for kind in (complex, str, object, "M8[s]")]
    forms = [np.full((4, D), np.inf), np.zeros((2, 2, 2)), sparse.csr_array(table), Runs(table > 0.5)]
    given = [NUMBERS, OTHERS, COLLECTIONS, ARRAYS, ESTIMATORS, FRAMES, SPARSE, tables, types, forms]
    return one_of(*(value for values in given for value in values))(rng)

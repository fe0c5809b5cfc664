"""Results of every entry that makes runs, as they were when each number was first written down.

`python -m tests.test_golden` writes them anew, which only a change that is meant to change results may do.
"""

import json
import warnings
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SelectorMixin,
    f_regression,
)
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skstab.feature_selection import StabilitySelection
from skstab.model_selection import (
    BootstrapSplit,
    StabilityCV,
    StabilitySearchCV,
    WholeSampleSplit,
    assess_selector,
    compare_selectors,
    stability_profile,
)

FILE = Path(__file__).with_name("golden.json")
X, Y = make_regression(60, 10, n_informative=4, noise=30, random_state=0)
XC, YC = make_classification(80, 10, n_informative=4, flip_y=0.2, random_state=1)
GROUPS = np.repeat(np.arange(20), 4)


class FailsSometimes(SelectorMixin, BaseEstimator):
    """Fails where the mean of the target is high."""

    def fit(self, X, y):
        if np.mean(y) > 0.54:
            raise ValueError("the target is too high")
        self.n_features_in_ = X.shape[1]
        self.support_ = np.abs(np.corrcoef(X.T, y)[-1, :-1]) > 0.15
        return self

    def _get_support_mask(self):
        return self.support_


def sparse_logistic(**params):
    return LogisticRegression(l1_ratio=1, solver="liblinear", random_state=0, **params)


def scaled(model):
    return make_pipeline(StandardScaler(), model)


def of_runs(runs, **others):
    found = {"supports": runs.supports, "numbers": runs.split_numbers}
    found |= dict(sorted(runs.scores.items()))
    if runs.importances is not None:
        found["importances"] = runs.importances
    return found | {"n_failed": runs.n_failed} | others


def of_fit(estimator, *data, **params):
    fitted = estimator.fit(*data, **params)
    return of_runs(fitted.runs_, refit=fitted.runs_.refit, value=fitted.stability_)


def of_search(search, *data):
    results = search.fit(*data).cv_results_
    numbers = {name: results[name] for name in results if name.startswith("mean_test")}
    supports = {str(n): one.supports for n, one in enumerate(search.runs_)}
    return numbers | supports | {"best": search.best_index_}


def of_selection(selection, *data):
    fitted = selection.fit(*data)
    found = {"path": fitted.selection_path_, "values": fitted.param_values_}
    found |= {"support": fitted.get_support(), "q": fitted.q_}
    decoys = getattr(fitted, "decoy_scores_", None)
    return found if decoys is None else found | {"decoys": decoys}


def of_comparison():
    selectors = {
        "filter": scaled(make_pipeline(SelectKBest(k=3), LogisticRegression())),
        "lasso": scaled(sparse_logistic(C=0.1)),
        "tree": make_pipeline(
            SelectFromModel(DecisionTreeClassifier(max_depth=2)), LogisticRegression()
        ),
    }
    cv = BootstrapSplit(8, random_state=0)
    compared = compare_selectors(selectors, XC, YC, cv=cv, random_state=0)
    found = {"frame": compared.frame()[["score", "stability", "n_features"]].to_numpy()}
    return found | {name: runs.supports_ for name, runs in compared.runs.items()}


def of_assessment():
    model = scaled(sparse_logistic(C=0.1))
    found = assess_selector(model, XC, YC, n_permutations=19, n_pairs=3, random_state=0)
    numbers = [found.replication.estimate, found.other_data.estimate]
    numbers += [found.chance.score_pvalue, found.chance.stability_pvalue]
    return of_runs(
        found.runs,
        halves=found.halves.supports,
        numbers_of_all=np.array(numbers),
        curve=found.curve.to_numpy(),
        chance=found.chance.stabilities,
    )


def of_profile():
    cv = BootstrapSplit(8, random_state=0)
    found = stability_profile(Lasso(5), X, Y, sizes=[1, 3, 6], cv=cv, random_state=0)
    return {"profile": found.to_numpy()}


def encoded():
    frame = pd.DataFrame({"a": np.arange(60) % 3, "b": np.arange(60) % 4})
    return make_pipeline(OneHotEncoder(), SelectKBest(f_regression, k=4)), frame


FOLDS = BootstrapSplit(8, random_state=0)
CASES = {
    "folds": lambda: of_fit(StabilityCV(Lasso(5), cv=5), X, Y),
    "bootstraps": lambda: of_fit(
        StabilityCV(scaled(sparse_logistic(C=0.1)), scoring="accuracy", random_state=0),
        XC,
        YC,
    ),
    "forest": lambda: of_fit(
        StabilityCV(SelectFromModel(ExtraTreesClassifier(5)), cv=FOLDS, random_state=3),
        XC,
        YC,
    ),
    "noise": lambda: of_fit(StabilityCV(Lasso(5), perturb=0.3, random_state=0), X, Y),
    "seeds": lambda: of_fit(
        StabilityCV(
            SelectFromModel(ExtraTreesClassifier(5, random_state=1)),
            cv=WholeSampleSplit(6),
            perturb="seed",
            random_state=0,
        ),
        XC,
        YC,
    ),
    "groups": lambda: of_fit(
        StabilityCV(Lasso(5), cv=GroupKFold(4)), XC, YC.astype(float), groups=GROUPS
    ),
    "failures": lambda: of_fit(StabilityCV(FailsSometimes(), random_state=0), XC, YC),
    "encoder": lambda: of_fit(StabilityCV(encoded()[0], cv=FOLDS), encoded()[1], Y),
    "sparse": lambda: of_fit(
        StabilityCV(Lasso(5), cv=FOLDS), csr_array(np.where(X > 0, X, 0)), Y
    ),
    "search by path": lambda: of_search(
        StabilitySearchCV(Lasso(), {"alpha": [1.0, 5.0, 20.0]}, cv=FOLDS), X, Y
    ),
    "search by filter": lambda: of_search(
        StabilitySearchCV(
            make_pipeline(StandardScaler(), SelectKBest(), DecisionTreeClassifier()),
            {"selectkbest__k": [2, 5], "decisiontreeclassifier__max_depth": [1, 3]},
            scoring=["accuracy", "balanced_accuracy"],
            cv=FOLDS,
            random_state=0,
        ),
        XC,
        YC,
    ),
    "search by elimination": lambda: of_search(
        StabilitySearchCV(
            RFE(LogisticRegression()), {"n_features_to_select": [2, 4]}, cv=FOLDS
        ),
        XC,
        YC,
    ),
    "plain search": lambda: of_search(
        StabilitySearchCV(
            SelectFromModel(DecisionTreeClassifier()),
            {"estimator__max_depth": [1, 2]},
            cv=FOLDS,
            random_state=0,
        ),
        XC,
        YC,
    ),
    "comparison": of_comparison,
    "assessment": of_assessment,
    "profile": of_profile,
    "stability selection": lambda: of_selection(
        StabilitySelection(Lasso(), n_resamples=10, efp=1, random_state=0), X, Y
    ),
    "stopped paths": lambda: of_selection(
        StabilitySelection(Lasso(), n_resamples=10, q=3, weakness=0.5, random_state=0),
        X,
        Y,
    ),
    "forest selection": lambda: of_selection(
        StabilitySelection(ExtraTreesClassifier(5), n_resamples=6, random_state=0),
        XC,
        YC,
    ),
    "clusters": lambda: of_selection(
        StabilitySelection(
            Lasso(), n_resamples=6, groups=np.arange(10) // 2, efp=1, random_state=0
        ),
        X,
        Y,
    ),
    "decoys": lambda: of_selection(
        StabilitySelection(
            Lasso(),
            n_resamples=6,
            decoys="permuted",
            n_decoy_draws=2,
            fdr=0.5,
            random_state=0,
        ),
        X,
        Y,
    ),
}


def summary(found):
    """A digest of what is a set or a count, exactly; of numbers their sum and some of them, rounded."""
    exact, numbers = blake2b(digest_size=8), {}
    for name, value in found.items():
        dense = np.asarray(value.toarray() if hasattr(value, "toarray") else value)
        if dense.dtype.kind in "biu":
            exact.update(name.encode() + dense.astype(np.int64).tobytes())
        elif dense.dtype.kind == "f":
            known = dense[np.isfinite(dense)]
            numbers[name] = [known.size, *map(float, [known.sum(), *known.ravel()[:3]])]
    return {"exact": exact.hexdigest(), "numbers": numbers}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_results_are_those_written_down(case):
    written, found = json.loads(FILE.read_text())[case], summary(CASES[case]())
    assert found["exact"] == written["exact"]
    assert found["numbers"].keys() == written["numbers"].keys()
    for name, numbers in found["numbers"].items():
        # Bits of sums may differ from processor to processor.
        np.testing.assert_allclose(numbers, written["numbers"][name], rtol=1e-7)


if __name__ == "__main__":
    with warnings.catch_warnings(action="ignore"):
        made = {case: summary(make()) for case, make in CASES.items()}
    FILE.write_text(json.dumps(made, indent=None) + "\n")

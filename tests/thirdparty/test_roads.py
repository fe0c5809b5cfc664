"""The search, the comparison and a study with two objectives, with selectors of other packages."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skstab import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    StabilityCV,
    WholeSampleSplit,
    compare_selectors,
)
from skstab.feature_selection import StabilitySelection
from skstab.model_selection import ParetoRefit, pareto_front, stability_scoring
from tests.thirdparty.test_readings import CLASSES, SURVIVAL, X, get, l1

warnings.simplefilter("ignore")
DOCS = Path(__file__).parents[2] / "docs"
CV = BootstrapSplit(6, random_state=0)
SELECTORS = {
    "skglm": (
        lambda: get("skglm.SparseLogisticRegression", 0.05),
        "alpha",
        [0.02, 0.05, 0.1],
        CLASSES,
        "accuracy",
    ),
    "xgboost": (
        lambda: make_pipeline(
            SelectFromModel(get("xgboost.XGBClassifier", n_estimators=5)),
            LogisticRegression(),
        ),
        "selectfrommodel__max_features",
        [2, 3, 4],
        CLASSES,
        "accuracy",
    ),
    "scikit-survival": (
        lambda: get(
            "sksurv.linear_model.CoxnetSurvivalAnalysis", l1_ratio=1.0, alphas=[0.1]
        ),
        "alphas",
        [[0.05], [0.1], [0.2]],
        SURVIVAL,
        None,
    ),
}
PARAMETERS = [
    pytest.param(*case, id=name, marks=pytest.mark.package(name, "search"))
    for name, case in SELECTORS.items()
]


@pytest.mark.parametrize(("make", "parameter", "values", "y", "scoring"), PARAMETERS)
def test_search_front_and_refit(make, parameter, values, y, scoring):
    score = scoring or "score"
    search = GridSearchCV(
        StabilityCV(make(), cv=CV, scoring=scoring),
        {f"estimator__{parameter}": values},
        cv=WholeSampleSplit(),
        scoring=stability_scoring(["nogueira"])
        if scoring is None
        else stability_scoring(["nogueira"], scoring=scoring),
        refit=ParetoRefit(score, "nogueira", strategy="knee"),
    ).fit(X, y)
    front = pareto_front(search.cv_results_, score, "nogueira")
    assert search.best_index_ in front
    assert search.best_estimator_.runs_.stability() == pytest.approx(
        search.cv_results_["mean_test_nogueira"][search.best_index_]
    )


@pytest.mark.package("skrebate", "compare_selectors with mlxtend and skglm")
def test_comparison():
    compared = compare_selectors(
        {
            "wrapper": get(
                "mlxtend.feature_selection.SequentialFeatureSelector",
                l1(),
                k_features=2,
                cv=2,
            ),
            "sparse": get("skglm.SparseLogisticRegression", 0.05),
            "relief": get("skrebate.ReliefF", n_features_to_select=2, n_neighbors=10),
        },
        X,
        CLASSES,
        cv=CV,
        scoring="accuracy",
        random_state=0,
    )
    assert compared.frame()["stability"].between(-1, 1).all()
    assert set(compared.frame().index) >= {"wrapper", "sparse", "relief"}


@pytest.mark.package("optuna", "a study with two objectives, accuracy and stability")
@pytest.mark.parametrize("name", SELECTORS)
def test_a_study_with_two_objectives(name):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    make, parameter, values, y, scoring = SELECTORS[name]

    def objective(trial):
        place = trial.suggest_categorical("place", range(len(values)))
        model = make().set_params(**{parameter: values[place]})
        fitted = StabilityCV(model, cv=CV, scoring=scoring).fit(X, y)
        return float(np.mean(fitted.scores_[scoring or "score"])), fitted.stability_

    study = optuna.create_study(
        directions=["maximize", "maximize"],
        sampler=optuna.samplers.RandomSampler(seed=0),
    )
    study.optimize(objective, n_trials=4)
    assert study.best_trials


@pytest.mark.package("optuna", "the example of the documentation")
def test_the_example_with_two_objectives():
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    page = (DOCS / "searching.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```py\n(import optuna\n.*?)```", page, flags=re.DOTALL)
    found = {}
    exec(code, found)  # noqa: S102
    front, best = found["front"], found["best"]
    for one in front.to_numpy():
        assert not (front.to_numpy() > one).all(axis=1).any()
    within = front[front["accuracy"] >= front["accuracy"].max() - 0.01]
    assert best.values[1] == within["nogueira"].max()


@pytest.mark.package(
    "scikit-survival",
    "StabilitySelection(CoxnetSurvivalAnalysis()) along one path per half",
)
def test_stability_selection_along_the_path_of_coxnet():
    halves = list(ComplementaryPairsSplit(10, random_state=0).split(X, SURVIVAL))
    model = get("sksurv.linear_model.CoxnetSurvivalAnalysis", l1_ratio=1.0)
    found = StabilitySelection(model, resampling=halves, random_state=0).fit(
        X, SURVIVAL
    )
    alphas = model.fit(X, SURVIVAL).alphas_
    np.testing.assert_array_equal(found.param_values_, alphas)
    counts = np.zeros((X.shape[1], len(alphas)))
    for train, _ in halves:
        chosen = (
            model.set_params(alphas=alphas).fit(X[train], SURVIVAL[train]).coef_ != 0
        )
        # A path that ends early keeps its last selection.
        counts += chosen[:, np.minimum(np.arange(len(alphas)), chosen.shape[1] - 1)]
    np.testing.assert_allclose(found.selection_path_, counts / len(halves))

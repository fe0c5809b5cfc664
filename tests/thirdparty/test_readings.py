"""Supports and importances of other packages' selectors against loops written by hand."""

import re
import warnings
from functools import partial
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skstab import BootstrapSplit, StabilityCV
from skstab.inspection import oob_permutation_importance

warnings.simplefilter("ignore")
N, D = 80, 8
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D)) * np.linspace(0.5, 2, D)
SIGNAL = 2 * X[:, 0] - X[:, 1] + X[:, 2] / 2
CLASSES = (SIGNAL + 0.5 * RNG.standard_normal(N) > 0).astype(int)
RARE = (SIGNAL + 0.5 * RNG.standard_normal(N) > 1).astype(int)
NUMBERS = SIGNAL + 0.5 * RNG.standard_normal(N)
FRAME = pd.DataFrame(X, columns=[f"gene_{i}" for i in range(D)])
TIMES = RNG.exponential(np.exp(-SIGNAL / 2))
LIMITS = RNG.exponential(3.0, N)
SURVIVAL = np.array(
    list(zip(TIMES <= LIMITS, np.minimum(TIMES, LIMITS), strict=True)),
    dtype=[("event", bool), ("time", float)],
)
TWO_COLUMNS = np.column_stack([SURVIVAL["time"], SURVIVAL["event"]]).astype(float)
MIXED = pd.DataFrame(
    {
        "a": RNG.choice(["u", "v", "w"], N),
        "a_b": RNG.choice(["p", "q"], N),
        "n": X[:, 0],
        "m": X[:, 1],
    }
)
MIXED_CLASSES = ((MIXED["a"] == "u") ^ (MIXED["n"] > 0.5)).astype(int).to_numpy()
GROUPED = {
    "groups": [0, 0, 1, 1, 2, 2, 3, 3],
    "supress_warning": True,
    "random_state": 0,
}


def get(path, *args, **options):
    return get_function(path)(*args, **options)


def get_function(path):
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def l1(C=0.5):
    return LogisticRegression(l1_ratio=1, C=C, solver="liblinear", random_state=0)


def by_hand(make, X, y, read, n_runs=3, seed=0):
    """Clone, fit on the rows of each split, and read with the attributes that the package documents."""
    runs = []
    for train, _ in BootstrapSplit(n_runs, random_state=seed).split(
        np.zeros((len(X), 1))
    ):
        rows = X.iloc[train] if hasattr(X, "iloc") else X[train]
        target = y.iloc[train] if hasattr(y, "iloc") else y[train]
        fitted = clone(make())
        fitted.fit(rows, target)  # which need not return it
        runs.append(read(fitted, rows, target))
    supports, importances = zip(*runs, strict=True)
    return supports, importances


def compare(make, X, y, read, **options):
    supports, importances = by_hand(make, X, y, read)
    cv = list(BootstrapSplit(3, random_state=0).split(np.zeros((len(X), 1))))
    measure = "pearson" if supports[0] is None else "nogueira"
    runs = (
        StabilityCV(make(), cv=cv, measure=measure, error_score="raise", **options)
        .fit(X, y)
        .runs_
    )
    if supports[0] is not None:
        np.testing.assert_array_equal(runs.supports, supports)
    if importances[0] is None:
        assert runs.importances is None
    else:
        np.testing.assert_allclose(runs.importances, importances, rtol=1e-8, atol=1e-12)
    return runs


# -- how the attributes are read by hand -------------------------------------------------------------------------------


def linear(fitted, X, _y):
    coef = np.ravel(fitted.coef_)
    return coef != 0, np.abs(coef) * np.asarray(X).std(axis=0)


def weights_only(fitted, _X, _y):
    return None, np.asarray(fitted.feature_importances_, dtype=float)


def from_model(fitted, _X, _y):
    mask = fitted.get_support()
    return mask, np.where(mask, fitted.estimator_.feature_importances_, 0.0)


def rows_per_feature(fitted, X, _y):
    sizes = np.linalg.norm(fitted.coef_, axis=1)
    return sizes > 0, sizes * X.std(axis=0)


def indices_of(attribute):
    def read(fitted, X, _y):
        return np.isin(np.arange(X.shape[1]), getattr(fitted, attribute)), None

    return read


def mask_of(fitted, _X, _y):
    return fitted.support_, None


def selector_mask(fitted, _X, _y):
    return fitted.get_support(), None


def relieff(fitted, X, _y):
    mask = np.isin(
        np.arange(X.shape[1]), fitted.top_features_[: fitted.n_features_to_select]
    )
    values = fitted.feature_importances_ - min(fitted.feature_importances_.min(), 0)
    return mask, np.where(mask, values, 0.0)


def feature_engine(fitted, X, _y):
    mask = np.array([name not in fitted.features_to_drop_ for name in X.columns])
    return mask, np.where(
        mask, [fitted.feature_importances_[name] for name in X.columns], 0.0
    )


def coxnet(fitted, X, _y):
    coef = fitted.coef_[:, -1]
    return coef != 0, np.abs(coef) * X.std(axis=0)


def componentwise(fitted, X, _y):
    coef = fitted.coef_[1:]
    return coef != 0, np.abs(coef) * X.std(axis=0)


def encoded(owner):
    """Any of the outputs of an input, and the norm of their sizes."""

    def read(pipe, X, _y):
        seen, coef = (
            np.asarray(pipe[:-1].transform(X), dtype=float),
            np.ravel(pipe[-1].coef_),
        )
        names = [str(name) for name in pipe[0].get_feature_names_out()]
        columns = np.array([list(X.columns).index(owner(name)) for name in names])
        sizes = np.abs(coef) * seen.std(axis=0)
        parts = [sizes[columns == column] for column in range(X.shape[1])]
        return np.array([part.any() for part in parts]), np.array(
            [np.linalg.norm(part) for part in parts]
        )

    return read


def owner_by_prefix(name):
    return next(
        column
        for column in ("a_b", "a", "n", "m")
        if name == column or name.startswith(f"{column}_")
    )


def smote(pipe, X, y):
    rows, _ = clone(pipe[0]).fit_resample(X, y)
    coef = pipe[-1].coef_[0]
    return coef != 0, np.abs(coef) * rows.std(axis=0)


def balanced_bagging(fitted, X, y):
    parts = []
    for member, sample in zip(
        fitted.estimators_, fitted.estimators_samples_, strict=True
    ):
        rows, _ = clone(member[0]).fit_resample(X[sample], y[sample])
        parts.append(np.abs(member[-1].coef_[0]) * rows.std(axis=0))
    return np.any(parts, axis=0), np.linalg.norm(parts, axis=0)


def in_order_of_selection(fitted, X, _y):
    importances = np.zeros(X.shape[1])
    importances[fitted.indices_] = fitted.scores_
    return fitted.get_support(), importances


def names_of(attribute):
    def read(fitted, X, _y):
        return np.isin(list(X.columns), list(getattr(fitted, attribute))), None

    return read


def terms(fitted, X, _y):
    """Features with a term that is not zero everywhere."""
    used = [np.any(scores != 0) for scores in fitted.term_scores_]
    return np.array(used), None


def program(fitted, X, _y):
    nodes = [node for node in fitted._program.program if isinstance(node, int)]
    return np.isin(np.arange(X.shape[1]), nodes), None


def weighted_rules(fitted, X, _y):
    """Features that are in a rule, or alone, with a coefficient that is not zero."""
    table = fitted.visualize(decimals=12)
    texts = table.loc[table["coef"] != 0, "rule"]
    used = {name for text in texts for name in re.findall(r"X_?(\d+)", text)}
    return np.array([str(column) in used for column in range(X.shape[1])]), None


def rule_list(fitted, X, _y):
    used = [rule["index_col"] for rule in fitted.rules_ if "index_col" in rule]
    return np.isin(np.arange(X.shape[1]), used), None


def hazards(fitted, X, _y):
    coef = fitted.model_.params_.to_numpy()
    kept = np.abs(coef) > 1e-3
    return kept, np.where(kept, np.abs(coef), 0.0) * X.std(axis=0)


class LifelinesCox(BaseEstimator):
    """Cox's model of lifelines with an L1 penalty, whose small coefficients are not quite zero."""

    def fit(self, X, y):
        table = pd.DataFrame(X).assign(time=y["time"], event=y["event"])
        self.model_ = get("lifelines.CoxPHFitter", penalizer=0.2, l1_ratio=1.0)
        self.model_.fit(table, "time", "event")
        self.n_features_in_ = X.shape[1]
        return self

    def __skstab_selection__(self):
        coef = self.model_.params_.to_numpy()
        return {"coef": np.where(np.abs(coef) > 1e-3, coef, 0.0)}


CASES = {
    "xgboost": [
        (
            "XGBClassifier",
            lambda: get("xgboost.XGBClassifier", n_estimators=8, random_state=0),
            X,
            CLASSES,
            weights_only,
        ),
        (
            "SelectFromModel(XGBClassifier)",
            lambda: SelectFromModel(
                get("xgboost.XGBClassifier", n_estimators=8, random_state=0)
            ),
            X,
            CLASSES,
            from_model,
        ),
    ],
    "lightgbm": [
        (
            "SelectFromModel(LGBMClassifier)",
            lambda: SelectFromModel(
                get(
                    "lightgbm.LGBMClassifier",
                    n_estimators=8,
                    verbose=-1,
                    random_state=0,
                )
            ),
            X,
            CLASSES,
            from_model,
        ),
    ],
    "catboost": [
        (
            "SelectFromModel(CatBoostClassifier)",
            lambda: SelectFromModel(
                get(
                    "catboost.CatBoostClassifier",
                    iterations=8,
                    verbose=0,
                    allow_writing_files=False,
                    random_state=0,
                )
            ),
            X,
            CLASSES,
            from_model,
        ),
    ],
    "skglm": [
        ("Lasso", lambda: get("skglm.Lasso", 0.1), X, NUMBERS, linear),
        ("MCPRegression", lambda: get("skglm.MCPRegression", 0.1), X, NUMBERS, linear),
        (
            "SparseLogisticRegression",
            lambda: get("skglm.SparseLogisticRegression", 0.05),
            X,
            CLASSES,
            linear,
        ),
        (
            "CoxEstimator (y of two columns)",
            lambda: get("skglm.CoxEstimator", 0.05),
            X,
            TWO_COLUMNS,
            linear,
        ),
    ],
    "celer": [
        ("Lasso", lambda: get("celer.Lasso", 0.1), X, NUMBERS, linear),
        (
            "LogisticRegression",
            lambda: get("celer.LogisticRegression", C=0.5),
            X,
            CLASSES,
            linear,
        ),
        (
            "GroupLasso",
            lambda: get("celer.GroupLasso", groups=2, alpha=0.1),
            X,
            NUMBERS,
            linear,
        ),
    ],
    "group-lasso": [
        (
            "GroupLasso",
            lambda: get("group_lasso.GroupLasso", group_reg=0.1, **GROUPED),
            X,
            NUMBERS,
            rows_per_feature,
        ),
        (
            "LogisticGroupLasso",
            lambda: get("group_lasso.LogisticGroupLasso", group_reg=0.05, **GROUPED),
            X,
            CLASSES,
            rows_per_feature,
        ),
    ],
    "boruta": [
        (
            "BorutaPy",
            lambda: get(
                "boruta.BorutaPy",
                RandomForestClassifier(20, random_state=0),
                n_estimators=20,
                max_iter=8,
                random_state=0,
            ),
            X,
            CLASSES,
            mask_of,
        ),
    ],
    "mlxtend": [
        (
            "SequentialFeatureSelector",
            lambda: get(
                "mlxtend.feature_selection.SequentialFeatureSelector",
                l1(),
                k_features=2,
                cv=2,
            ),
            X,
            CLASSES,
            indices_of("k_feature_idx_"),
        ),
        (
            "ExhaustiveFeatureSelector",
            lambda: get(
                "mlxtend.feature_selection.ExhaustiveFeatureSelector",
                l1(),
                max_features=2,
                cv=2,
                print_progress=False,
            ),
            X[:, :4],
            CLASSES,
            indices_of("best_idx_"),
        ),
    ],
    "skrebate": [
        (
            "ReliefF",
            lambda: get("skrebate.ReliefF", n_features_to_select=3, n_neighbors=10),
            X,
            CLASSES,
            relieff,
        ),
    ],
    "feature-engine": [
        (
            "ProbeFeatureSelection",
            lambda: get(
                "feature_engine.selection.ProbeFeatureSelection",
                l1(1.0),
                n_probes=2,
                cv=2,
                random_state=0,
            ),
            FRAME,
            CLASSES,
            feature_engine,
        ),
        (
            "RecursiveFeatureElimination",
            lambda: get(
                "feature_engine.selection.RecursiveFeatureElimination",
                l1(1.0),
                cv=2,
                threshold=0.001,
            ),
            FRAME,
            CLASSES,
            feature_engine,
        ),
        (
            "OneHotEncoder in a pipeline",
            lambda: make_pipeline(get("feature_engine.encoding.OneHotEncoder"), l1()),
            MIXED,
            MIXED_CLASSES,
            encoded(owner_by_prefix),
        ),
    ],
    "imbalanced-learn": [
        (
            "SMOTE in a pipeline",
            lambda: get(
                "imblearn.pipeline.make_pipeline",
                get("imblearn.over_sampling.SMOTE", random_state=0),
                l1(),
            ),
            X,
            RARE,
            smote,
        ),
        (
            "BalancedBaggingClassifier",
            lambda: get(
                "imblearn.ensemble.BalancedBaggingClassifier",
                l1(),
                n_estimators=3,
                random_state=0,
            ),
            X,
            RARE,
            balanced_bagging,
        ),
        (
            "BalancedRandomForestClassifier",
            lambda: get(
                "imblearn.ensemble.BalancedRandomForestClassifier", 5, random_state=0
            ),
            X,
            RARE,
            weights_only,
        ),
    ],
    "scikit-survival": [
        (
            "CoxnetSurvivalAnalysis",
            lambda: get(
                "sksurv.linear_model.CoxnetSurvivalAnalysis",
                l1_ratio=1.0,
                alphas=[0.3, 0.1],
            ),
            X,
            SURVIVAL,
            coxnet,
        ),
        (
            "CoxnetSurvivalAnalysis with as many alphas as features",
            lambda: get(
                "sksurv.linear_model.CoxnetSurvivalAnalysis",
                l1_ratio=1.0,
                alphas=np.geomspace(0.3, 0.1, D),
            ),
            X,
            SURVIVAL,
            coxnet,
        ),
        (
            "GradientBoostingSurvivalAnalysis",
            lambda: get(
                "sksurv.ensemble.GradientBoostingSurvivalAnalysis",
                n_estimators=8,
                random_state=0,
            ),
            X,
            SURVIVAL,
            weights_only,
        ),
        (
            "ComponentwiseGradientBoostingSurvivalAnalysis",
            lambda: get(
                "sksurv.ensemble.ComponentwiseGradientBoostingSurvivalAnalysis",
                n_estimators=8,
                random_state=0,
            ),
            X,
            SURVIVAL,
            componentwise,
        ),
    ],
    "skrub": [
        (
            "TableVectorizer in a pipeline",
            lambda: make_pipeline(get("skrub.TableVectorizer"), l1()),
            MIXED,
            MIXED_CLASSES,
            encoded(owner_by_prefix),
        ),
    ],
    "category_encoders": [
        (
            f"{name} in a pipeline",
            lambda name=name: make_pipeline(get(f"category_encoders.{name}"), l1()),
            MIXED,
            MIXED_CLASSES,
            encoded(owner_by_prefix),
        )
        for name in ("OneHotEncoder", "BinaryEncoder", "TargetEncoder")
    ],
    "abess": [
        (
            "LinearRegression",
            lambda: get("abess.linear.LinearRegression", support_size=2),
            X,
            NUMBERS,
            linear,
        ),
        (
            "LogisticRegression",
            lambda: get("abess.linear.LogisticRegression", support_size=2),
            X,
            CLASSES,
            linear,
        ),
    ],
    "fastcan": [
        (
            "FastCan",
            lambda: get("fastcan.FastCan", 3, verbose=0),
            X,
            NUMBERS,
            in_order_of_selection,
        ),
    ],
    "tsfresh": [
        (
            "FeatureSelector",
            lambda: get("tsfresh.transformers.FeatureSelector", n_jobs=0),
            FRAME,
            pd.Series(CLASSES),
            names_of("relevant_features"),
        ),
    ],
    "powershap": [
        (
            "PowerShap",
            lambda: get(
                "powershap.PowerShap",
                get(
                    "lightgbm.LGBMClassifier",
                    n_estimators=8,
                    verbose=-1,
                    random_state=0,
                ),
                power_iterations=3,
                automatic=False,
                show_progress=False,
            ),
            FRAME,
            CLASSES,
            selector_mask,
        ),
    ],
    "ITMO_FS": [
        (
            "UnivariateFilter",
            lambda: get(
                "ITMO_FS.filters.univariate.UnivariateFilter",
                get_function("ITMO_FS.filters.univariate.pearson_corr"),
                get("ITMO_FS.filters.univariate.select_k_best", 3),
            ),
            X,
            CLASSES,
            indices_of("selected_features"),
        ),
    ],
    "lifelines": [
        ("CoxPHFitter in a class of one's own", LifelinesCox, X, SURVIVAL, hazards),
    ],
    "interpret-core": [
        (
            "ExplainableBoostingClassifier (by probing)",
            lambda: get(
                "interpret.glassbox.ExplainableBoostingClassifier",
                interactions=0,
                max_rounds=20,
                outer_bags=1,
                n_jobs=1,
            ),
            np.column_stack([X, np.ones(N)]),
            CLASSES,
            terms,
        ),
    ],
    "gplearn": [
        (
            "SymbolicRegressor (by probing)",
            lambda: get(
                "gplearn.genetic.SymbolicRegressor",
                population_size=50,
                generations=3,
                random_state=0,
            ),
            X,
            NUMBERS,
            program,
        ),
    ],
    "imodels": [
        (
            "RuleFitRegressor (by probing)",
            lambda: get("imodels.RuleFitRegressor", max_rules=8, random_state=0),
            X,
            NUMBERS,
            weighted_rules,
        ),
        (
            "GreedyRuleListClassifier (by probing)",
            lambda: get("imodels.GreedyRuleListClassifier"),
            X,
            CLASSES,
            rule_list,
        ),
    ],
}


@pytest.mark.parametrize(
    ("make", "data", "target", "read"),
    [
        pytest.param(
            *case[1:],
            id=f"{package}-{case[0]}",
            marks=pytest.mark.package(package, case[0]),
        )
        for package, cases in CASES.items()
        for case in cases
    ],
)
def test_runs_equal_a_loop_by_hand(make, data, target, read):
    compare(make, data, target, read)


@pytest.mark.package(
    "celer",
    "MultiTaskLasso",
    theirs=True,
    remark="MultiTaskLasso calls a method that scikit-learn 1.6 removed (their fault)",
)
def test_what_fails_without_us():
    with pytest.raises(AttributeError, match="_validate_data"):
        get("celer.MultiTaskLasso", 0.1).fit(X, np.column_stack([NUMBERS, SIGNAL]))


@pytest.mark.package("imodels", "SkopeRulesClassifier (by probing)")
def test_columns_that_no_skope_rule_names_are_not_selected():
    # What rules name beyond it does not change a prediction of these rows.
    model = get("imodels.SkopeRulesClassifier", random_state=0, n_estimators=2)
    cv = BootstrapSplit(3, random_state=0)
    runs = StabilityCV(model, cv=cv).fit(X, CLASSES)
    for support, (train, _) in zip(runs.supports_, cv.split(X), strict=True):
        fitted = clone(model).fit(X[train], CLASSES[train])
        text = " ".join(map(str, fitted.rules_))
        named = [f"X{column} " in text for column in range(D)]
        assert support.any()
        assert (support <= named).all()


@pytest.mark.package(
    "scikit-survival", "RandomSurvivalForest with oob_permutation_importance"
)
def test_importances_of_a_survival_forest_by_definition():
    from sksurv.metrics import concordance_index_censored

    forest = get(
        "sksurv.ensemble.RandomSurvivalForest", 6, min_samples_leaf=5, random_state=0
    ).fit(X, SURVIVAL)
    found = oob_permutation_importance(
        forest, X, SURVIVAL, n_repeats=30, random_state=0
    )
    rng, lost = np.random.default_rng(1), np.zeros((6, D))
    for row, tree, sample in zip(
        lost, forest.estimators_, forest.estimators_samples_, strict=True
    ):
        outside = np.setdiff1d(np.arange(N), sample)
        y = SURVIVAL[outside]
        concordance = lambda rows, y=y, tree=tree: concordance_index_censored(  # noqa: E731
            y["event"],
            y["time"],
            tree.predict(rows.astype(np.float32), check_input=False),
        )[0]
        for f in range(D):
            for _ in range(30):
                changed = X[outside].copy()
                changed[:, f] = rng.permutation(changed[:, f])
                row[f] += (concordance(X[outside]) - concordance(changed)) / 30
    np.testing.assert_allclose(found, lost.mean(axis=0), atol=0.02)
    getter = partial(oob_permutation_importance, random_state=0)
    runs = StabilityCV(
        forest,
        cv=BootstrapSplit(3, random_state=0),
        measure="pearson",
        importance_getter=getter,
    )
    assert (runs.fit(X, SURVIVAL).importances_[:, 0] > 0).all()


@pytest.mark.package("shap", "mean absolute SHAP values as importance_getter")
def test_a_getter_of_shap():
    import shap

    def getter(model, rows, _y):
        return np.abs(shap.TreeExplainer(model).shap_values(rows)).mean(axis=0)

    make = lambda: get("xgboost.XGBClassifier", n_estimators=5, random_state=0)  # noqa: E731
    compare(
        make,
        X,
        CLASSES,
        lambda f, rows, y: (None, getter(f, rows, y)),
        importance_getter=getter,
    )


@pytest.mark.package("polars", "tables, with and without noise")
def test_polars_tables():
    import polars

    table = polars.DataFrame(X, schema=list(FRAME.columns))
    cv = BootstrapSplit(3, random_state=0)
    for options in ({"cv": cv}, {"cv": cv, "perturb": 0.1}):
        runs = (
            StabilityCV(SelectFromModel(l1()), random_state=0, **options)
            .fit(table, CLASSES)
            .runs_
        )
        same = (
            StabilityCV(SelectFromModel(l1()), random_state=0, **options)
            .fit(FRAME, CLASSES)
            .runs_
        )
        np.testing.assert_array_equal(runs.supports, same.supports)
        np.testing.assert_allclose(runs.importances, same.importances)
        assert runs.feature_names.tolist() == list(FRAME.columns)


@pytest.mark.package("mlflow", "a fitted StabilityCV saved and loaded as a model")
def test_models_of_mlflow(tmp_path):
    import mlflow.sklearn

    fitted = StabilityCV(make_pipeline(SelectFromModel(l1()), l1()), cv=3).fit(
        X, CLASSES
    )
    mlflow.sklearn.save_model(
        fitted, tmp_path / "model", serialization_format="cloudpickle"
    )
    loaded = mlflow.sklearn.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.supports_, fitted.supports_)
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))

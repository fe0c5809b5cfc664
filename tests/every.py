"""An instance of every class of scikit-learn that can be fitted, and what it selects, read by hand."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils import all_estimators

D = 5
RNG = np.random.default_rng(0)
X = RNG.normal(size=(48, D))
NUMBERS = 2 * X[:, 0] - X[:, 1] + 0.3 * RNG.normal(size=48)
CLASSES = (NUMBERS > 0).astype(int)
TWO = np.column_stack([NUMBERS, RNG.normal(size=48)])
TWO_CLASSES = np.column_stack([CLASSES, X[:, 2] > 0]).astype(int)
CATEGORIES = np.digitize(X, [-0.5, 0.5])
SPLITS = [(np.arange(48)[k::2], np.arange(48)[1 - k :: 2]) for k in range(2)]

ALL = dict(all_estimators())
# They take texts, mappings, targets, kernels or images, not a table of rows and features.
NO_TABLES = {
    *("CountVectorizer", "DictVectorizer", "FeatureHasher", "HashingVectorizer"),
    *("LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer", "TfidfVectorizer"),
    *("IsotonicRegression", "KernelCenterer", "PatchExtractor"),
}
# Without what they wrap there is nothing to fit.
ARGUMENTS = {
    "ClassifierChain": (LogisticRegression(),),
    "ColumnTransformer": ([("scale", StandardScaler(), [0, 3])],),
    "FeatureUnion": ([("scale", StandardScaler())],),
    "FixedThresholdClassifier": (LogisticRegression(),),
    "FrozenEstimator": (Lasso(0.3).fit(X, NUMBERS),),
    "GridSearchCV": (Lasso(), {"alpha": [0.3, 0.2]}),
    "HalvingGridSearchCV": (Lasso(), {"alpha": [0.3, 0.2]}),
    "HalvingRandomSearchCV": (Lasso(), {"alpha": [0.3, 0.2]}),
    "MultiOutputClassifier": (LogisticRegression(),),
    "MultiOutputRegressor": (Lasso(0.3),),
    "OneVsOneClassifier": (LogisticRegression(),),
    "OneVsRestClassifier": (LogisticRegression(),),
    "OutputCodeClassifier": (LogisticRegression(),),
    "Pipeline": ([("scale", StandardScaler()), ("lasso", Lasso(0.3))],),
    "RandomizedSearchCV": (Lasso(), {"alpha": [0.3, 0.2]}),
    "RegressorChain": (Lasso(0.3),),
    "RFE": (LinearRegression(),),
    "RFECV": (LinearRegression(),),
    "SelectFromModel": (LinearRegression(),),
    "SelfTrainingClassifier": (LogisticRegression(),),
    "SequentialFeatureSelector": (LinearRegression(),),
    "SparseCoder": (np.eye(D),),
    "StackingClassifier": ([("l", LogisticRegression())],),
    "StackingRegressor": ([("a", Lasso(0.3)), ("b", Lasso(0.6))],),
    "TunedThresholdClassifierCV": (LogisticRegression(),),
    "VotingClassifier": ([("l", LogisticRegression())],),
    "VotingRegressor": ([("a", Lasso(0.3)), ("b", Lasso(0.6))],),
}
CHEAP = {
    "n_estimators": 2,
    "max_iter": 30,
    "cv": 2,
    "n_iter": 2,
    "n_components": 2,
    "n_init": 1,
    "max_subpatch": 10,
    "random_state": 0,
    "n_quantiles": 5,
    "k": 2,
    "n_features_to_select": 2,
    "perplexity": 5,
    "max_trials": 20,
    "min_resources": 10,
    "n_clusters": 2,
}
SETTINGS = {
    "ElasticNet": {"alpha": 0.3},
    "Lasso": {"alpha": 0.3},
    "LassoLars": {"alpha": 0.3},
    "MultiTaskElasticNet": {"alpha": 0.3},
    "MultiTaskLasso": {"alpha": 0.3},
    "QuantileRegressor": {"alpha": 0.1},
    "OrthogonalMatchingPursuit": {"n_nonzero_coefs": 2},
    "SelectFdr": {"alpha": 0.01},
    "GammaRegressor": {"max_iter": 500},
    "LinearSVC": {"max_iter": 5000},
    "LogisticRegressionCV": {"l1_ratios": (0,), "use_legacy_attributes": False},
    "SkewedChi2Sampler": {"skewedness": 9.0},
    "SpectralEmbedding": {"affinity": "rbf"},
    "MLPClassifier": {"hidden_layer_sizes": (3,)},
    "MLPRegressor": {"hidden_layer_sizes": (3,)},
    "RANSACRegressor": {"min_samples": 10},
    "HDBSCAN": {"copy": True},
    "LocallyLinearEmbedding": {"n_neighbors": 5},
    "BernoulliRBM": {"n_iter": 2},
    "CCA": {"n_components": 1},
    "NeighborhoodComponentsAnalysis": {"n_components": 2},
    "OrthogonalMatchingPursuitCV": {"max_iter": 4},
    "PLSCanonical": {"n_components": 1},
    "LinearDiscriminantAnalysis": {"n_components": 1},
    "PLSSVD": {"n_components": 1},
    "SpectralBiclustering": {"n_components": 3},
    "TSNE": {"max_iter": 250},
    "TheilSenRegressor": {"max_subpopulation": 20},
    "MeanShift": {"bandwidth": 2.0},
}
OF_TWO = {
    *("MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso"),
    *("MultiTaskLassoCV", "MultiOutputRegressor", "RegressorChain"),
}
OF_TWO_CLASSES = {"ClassifierChain", "MultiOutputClassifier"}
OF_POSITIVE = {
    *("AdditiveChi2Sampler", "ComplementNB", "MultinomialNB", "NMF"),
    *("LatentDirichletAllocation", "MiniBatchNMF"),
}
OF_CATEGORIES = {"CategoricalNB", "OneHotEncoder", "OrdinalEncoder"}
OF_POSITIVE_TARGETS = {"GammaRegressor", "PoissonRegressor", "TweedieRegressor"}

# Every column whose coefficients are not all zero.
SPARSE = {
    *("ARDRegression", "ElasticNet", "ElasticNetCV", "Lars", "LarsCV", "Lasso"),
    *("LassoCV", "LassoLars", "LassoLarsCV", "LassoLarsIC", "MultiTaskElasticNet"),
    *("MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV"),
    *("OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV"),
    "QuantileRegressor",
}
SEARCHES = {
    *("GridSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"),
    "RandomizedSearchCV",
}


def make(name):
    """Make a cheap instance of a class."""
    estimator = ALL[name](*ARGUMENTS.get(name, ()))
    known = estimator.get_params(deep=False)
    cheap = {key: value for key, value in CHEAP.items() if key in known}
    if name != "FrozenEstimator":
        estimator.set_params(**cheap | SETTINGS.get(name, {}))
    return estimator


def data_for(name):
    """Rows and a target that the class can be fitted on."""
    need_classes = name.startswith("Select") or name == "NeighborhoodComponentsAnalysis"
    y = CLASSES if need_classes or is_classifier(make(name)) else NUMBERS
    others = {
        **dict.fromkeys(OF_POSITIVE, (np.abs(X), CLASSES)),
        **dict.fromkeys(OF_CATEGORIES, (CATEGORIES, CLASSES)),
        **dict.fromkeys(OF_TWO, (X, TWO)),
        **dict.fromkeys(OF_TWO_CLASSES, (X, TWO_CLASSES)),
        **dict.fromkeys(OF_POSITIVE_TARGETS, (X, np.exp(NUMBERS / 4))),
    }
    return others.get(name, (X, y))


def _not_zero(coef):
    return np.any(np.atleast_2d(coef) != 0, axis=0)


def _any_of(models):
    return np.any([_not_zero(model.coef_)[:D] for model in models], axis=0)


def _trees(model):
    columns = [
        node["feature_idx"]
        for trees in model._predictors
        for tree in trees
        for node in tree.nodes
        if not node["is_leaf"]
    ]
    return np.isin(np.arange(D), columns)


def _nothing(_):
    return np.zeros(D, dtype=bool)


BY_HAND = {
    "DummyClassifier": _nothing,
    "DummyRegressor": _nothing,
    "ColumnTransformer": lambda _: np.isin(np.arange(D), [0, 3]),
    "FrozenEstimator": lambda fitted: _not_zero(fitted.estimator.coef_),
    "HistGradientBoostingClassifier": _trees,
    "HistGradientBoostingRegressor": _trees,
    "MissingIndicator": lambda fitted: np.isin(np.arange(D), fitted.features_),
    "MultiOutputRegressor": lambda fitted: _any_of(fitted.estimators_),
    "Pipeline": lambda fitted: _not_zero(fitted[-1].coef_),
    "RegressorChain": lambda fitted: _any_of(fitted.estimators_),
    "StackingRegressor": lambda fitted: _any_of(fitted.estimators_),
    "VotingRegressor": lambda fitted: _any_of(fitted.estimators_),
    **dict.fromkeys(SPARSE, lambda fitted: _not_zero(fitted.coef_)),
    **dict.fromkeys(SEARCHES, lambda fitted: _not_zero(fitted.best_estimator_.coef_)),
}


def by_hand(name, fitted):
    """Read what a fitted object selected; None for what does not select."""
    if hasattr(fitted, "get_support"):
        return fitted.get_support()
    return BY_HAND[name](fitted) if name in BY_HAND else None

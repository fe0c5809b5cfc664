"""Models of one path against single fits: every public attribute, in the same form, and what it says of the model."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skstab._engine.candidates import candidates_of, families_of
from skstab._engine.together import fit_together, followed_parameters
from skstab._engine.walk import GridWalk
from skstab._linear_paths.duality import duality_gap
from skstab.model_selection import BootstrapSplit, StabilitySearchCV

SAGA = {"solver": "saga", "max_iter": 5000, "random_state": 0}
MODELS = {
    "lasso": Lasso(),
    "tight lasso": Lasso(tol=1e-8),
    "lasso without intercept": Lasso(fit_intercept=False),
    "elastic net": ElasticNet(),
    "tight elastic net": ElasticNet(tol=1e-8),
    "liblinear": LogisticRegression(l1_ratio=1, solver="liblinear"),
    "liblinear without intercept": LogisticRegression(
        l1_ratio=1, solver="liblinear", fit_intercept=False
    ),
    "saga": LogisticRegression(l1_ratio=1, **SAGA),
    "saga, both penalties": LogisticRegression(l1_ratio=0.5, **SAGA),
    "saga without intercept": LogisticRegression(
        l1_ratio=1, fit_intercept=False, **SAGA
    ),
    "svm": LinearSVC(penalty="l1", dual=False, random_state=0, max_iter=100_000),
    "svm without intercept": LinearSVC(
        penalty="l1", dual=False, fit_intercept=False, random_state=0, max_iter=100_000
    ),
}
PLACES = {
    "alone": lambda model: model,
    "in a pipeline": lambda model: make_pipeline(StandardScaler(), model),
    "in a selector": SelectFromModel,
    "in a selector in a pipeline": lambda model: make_pipeline(
        StandardScaler(), SelectFromModel(model)
    ),
}
VALUES = [0.1, 1.0, 0.3]


def data_for(model, n_outputs=1):
    if hasattr(model, "C"):
        return make_classification(
            80, 12, n_informative=5, n_classes=max(2, n_outputs), random_state=0
        )
    return make_regression(
        80, 12, n_informative=5, n_targets=n_outputs, noise=5.0, random_state=0
    )


def followed_models(estimator, X, y):
    """What a search fits for several values, each with a single fit of the same candidate."""
    (name,) = [
        key
        for key in estimator.get_params()
        if key.rpartition("__")[2] in ("alpha", "C")
    ]
    candidates = candidates_of(
        estimator, [{name: value} for value in VALUES], whole=False
    )
    families = families_of(
        {number: candidate.chain for number, candidate in enumerate(candidates)}
    )
    seed = np.random.SeedSequence(0)
    for fitted in GridWalk(estimator, y, seed, {}).fitted(families, X):
        assert fitted.error is None
        for number in fitted.candidates:
            yield fitted.estimator, clone(candidates[number].estimator).fit(X, y)


def parts_of(estimator):
    """The estimator and all that it is made of."""
    steps = [step for _, step in getattr(estimator, "steps", [])]
    inner = [estimator.estimator_] if hasattr(estimator, "estimator_") else []
    return [estimator, *(part for one in (*steps, *inner) for part in parts_of(one))]


def form_of(value):
    if isinstance(value, list):
        return list, [form_of(entry) for entry in value]
    return type(value), getattr(value, "dtype", None), getattr(value, "shape", None)


def public_attributes(estimator):
    return {
        name
        for name in dir(estimator)
        if not name.startswith("_") and hasattr(estimator, name)
    }


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", MODELS)
def test_every_public_attribute_of_a_single_fit_is_there_in_the_same_form(name, place):
    for ours, single in followed_models(
        PLACES[place](MODELS[name]), *data_for(MODELS[name])
    ):
        for one, other in zip(parts_of(ours), parts_of(single), strict=True):
            assert public_attributes(one) == public_attributes(other)
            fitted = [
                attribute
                for attribute in public_attributes(other)
                if attribute.endswith("_")
            ]
            for attribute in fitted:
                assert form_of(getattr(one, attribute)) == form_of(
                    getattr(other, attribute)
                ), attribute
            if hasattr(other, "sparse_coef_"):
                np.testing.assert_array_equal(one.sparse_coef_.toarray()[0], one.coef_)


@pytest.mark.parametrize(
    "name", ["lasso", "tight lasso", "lasso without intercept", "elastic net", "svm"]
)
def test_several_outputs_have_the_forms_of_a_single_fit(name):
    X, y = data_for(MODELS[name], n_outputs=3)
    for ours, single in followed_models(MODELS[name], X, y):
        assert public_attributes(ours) == public_attributes(single)
        for attribute in (
            "coef_",
            "intercept_",
            "n_iter_",
            *(["dual_gap_"] if hasattr(single, "dual_gap_") else []),
        ):
            assert form_of(getattr(ours, attribute)) == form_of(
                getattr(single, attribute)
            ), attribute


@pytest.mark.filterwarnings("ignore:all runs agree because:RuntimeWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_scorer_may_read_what_a_fit_says_of_itself(name):
    def effort(estimator, X, y):
        return -float(np.max(estimator.n_iter_)) - (
            estimator.dual_gap_ if hasattr(estimator, "alpha") else 0.0
        )

    (parameter,) = followed_parameters(MODELS[name])
    search = StabilitySearchCV(
        MODELS[name],
        {parameter: VALUES},
        scoring=effort,
        cv=BootstrapSplit(3, random_state=0),
        error_score="raise",
    ).fit(*data_for(MODELS[name]))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


# -- what they say -----------------------------------------------------------------------------------------------------


def gap_of(model, X, y, weight=None):
    """The duality gap of a fitted model by row, from its coefficients and the data alone."""
    X = X.toarray() if sparse.issparse(X) else X
    weight = np.ones(len(y)) if weight is None else weight / weight.mean()
    if model.fit_intercept:
        X, y = (
            X - np.average(X, axis=0, weights=weight),
            y - np.average(y, weights=weight),
        )
    X, y = X * np.sqrt(weight)[:, None], y * np.sqrt(weight)
    r, bend, ridge = (
        y - X @ model.coef_,
        model.alpha * model.l1_ratio,
        model.alpha * (1 - model.l1_ratio),
    )
    bend, ridge = bend * len(y), ridge * len(y)
    return duality_gap(model.coef_, r @ r, r @ y, X.T @ r, bend, ridge) / len(y)


@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
def test_the_gap_is_that_between_the_two_problems(l1_ratio):
    rng = np.random.default_rng(0)
    X, y, w = (
        rng.standard_normal((20, 8)),
        rng.standard_normal(20),
        rng.standard_normal(8),
    )
    bend, ridge = 3 * l1_ratio, 3 * (1 - l1_ratio)
    r = y - X @ w
    # An elastic net is a lasso with a row √ridge for each feature, whose target is zero.
    tall, long = np.vstack([X, np.sqrt(ridge) * np.eye(8)]), np.r_[y, np.zeros(8)]
    theta = long - tall @ w
    primal = theta @ theta / 2 + bend * np.abs(w).sum()
    theta = theta * min(1, bend / np.abs(tall.T @ theta).max())
    dual = (long @ long - (long - theta) @ (long - theta)) / 2
    np.testing.assert_allclose(
        duality_gap(w, r @ r, r @ y, X.T @ r, bend, ridge), primal - dual
    )
    both = duality_gap(np.array([w, w]), *np.array([[r @ r] * 2, [r @ y] * 2]), np.array([X.T @ r] * 2),
                       *np.array([[bend] * 2, [ridge] * 2]))  # fmt: skip
    np.testing.assert_allclose(both, primal - dual)


@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
def test_the_gap_is_that_of_scikit_learn(l1_ratio):
    X, y = data_for(ElasticNet())
    loose = ElasticNet(alpha=0.01, l1_ratio=l1_ratio, tol=0.05).fit(X, y)
    assert loose.dual_gap_ > 1e-3
    np.testing.assert_allclose(gap_of(loose, X, y), loose.dual_gap_, rtol=1e-8)


@pytest.mark.parametrize("how", ["plain", "sparse", "weighted", "wide"])
@pytest.mark.parametrize(
    "name",
    [
        "lasso",
        "tight lasso",
        "lasso without intercept",
        "elastic net",
        "tight elastic net",
    ],
)
def test_gaps_are_those_of_the_coefficients(name, how):
    X, y = (
        data_for(MODELS[name])
        if how != "wide"
        else make_regression(40, 90, noise=5.0, random_state=0)
    )
    weight = np.random.default_rng(0).random(80) if how == "weighted" else None
    X = sparse.csr_array(X) if how == "sparse" else X
    params = {} if weight is None else {"sample_weight": weight}
    models = fit_together(
        MODELS[name], [{"alpha": value} for value in VALUES], X, y, params
    )
    scale = y @ y / len(y)
    for model in models:
        np.testing.assert_allclose(
            model.dual_gap_, gap_of(model, X, y, weight), rtol=1e-6, atol=1e-12 * scale
        )
        assert -1e-12 * scale <= model.dual_gap_ <= 1e-4 * scale


@pytest.mark.parametrize("name", MODELS)
def test_a_value_that_is_harder_to_reach_takes_more_iterations(name):
    X, y = data_for(MODELS[name])
    (parameter,) = followed_parameters(MODELS[name])
    empty, full = (1e9, 1e-2) if parameter == "alpha" else (1e-9, 1e2)
    models = fit_together(
        MODELS[name], [{parameter: full}, {parameter: empty}], X, y, {}
    )
    few, many = (np.max(model.n_iter_) for model in reversed(models))
    assert few <= 1
    assert few < many <= 1000

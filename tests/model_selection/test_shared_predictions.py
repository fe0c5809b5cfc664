"""Models of one path that predict together, against the same models by themselves."""

from copy import copy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.svm import LinearSVC

from skstab._engine.together import fit_together, followed_parameters

L1 = LogisticRegression(l1_ratio=1, solver="liblinear")
CLASSIFIERS = {"logistic": L1, "svm": LinearSVC(penalty="l1", dual=False)}
REGRESSORS = {
    "lasso": Lasso(),
    "elastic net": ElasticNet(),
    "no intercept": Lasso(fit_intercept=False),
}
VALUES = [0.01, 0.05, 0.2, 1.0]


def by_itself(model):
    """The same model without what it shares with others."""
    alone = copy(model)
    for name in ("predict", "decision_function"):
        vars(alone).pop(name, None)
    return alone


FORMS = {
    "array": lambda X: X,
    "table": lambda X: pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])]),
    "float32": lambda X: X.astype(np.float32),
    "sparse": sparse.csr_array,
    "list": np.ndarray.tolist,
}


def at_each(model, X, y, values=VALUES):
    """Models for several values of their penalty."""
    (parameter,) = followed_parameters(model)
    return fit_together(model, [{parameter: value} for value in values], X, y, {})


def fitted(model, X, y, form="array"):
    train = FORMS["table"](X) if form == "table" else X
    models = at_each(model, train, y)
    assert all("predict" in vars(one) for one in models)
    return models, FORMS[form](X)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classes_are_the_same_and_decisions_up_to_rounding(name, form):
    X, y = make_classification(80, 12, random_state=0)
    models, rows = fitted(CLASSIFIERS[name], X, np.where(y, "ill", "well"), form)
    for model in models:
        alone = by_itself(model)
        np.testing.assert_array_equal(model.predict(rows), alone.predict(rows))
        np.testing.assert_allclose(
            model.decision_function(rows),
            alone.decision_function(rows),
            rtol=1e-9,
            atol=1e-12,
        )
        assert model.predict(rows).dtype == alone.predict(rows).dtype


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers_are_the_same_up_to_rounding(name, form):
    X, y = make_regression(60, 10, noise=5.0, random_state=1)
    models, rows = fitted(REGRESSORS[name], X, y, form)
    for model in models:
        np.testing.assert_allclose(
            model.predict(rows), by_itself(model).predict(rows), rtol=1e-9, atol=1e-12
        )


def test_probabilities_are_the_same_twice():
    """They are computed in the place of the decisions."""
    X, y = make_classification(60, 8, random_state=0)
    models, rows = fitted(L1, X, y)
    for _ in range(2):
        for model in models:
            np.testing.assert_allclose(
                model.predict_proba(rows),
                by_itself(model).predict_proba(rows),
                atol=1e-12,
            )


def test_what_one_does_with_its_predictions_does_not_reach_the_others():
    X, y = make_regression(60, 10, random_state=1)
    models, rows = fitted(Lasso(), X, y)
    models[0].predict(rows)[:] = np.nan
    assert np.isfinite(models[0].predict(rows)).all()


def test_other_rows_have_other_predictions():
    X, y = make_classification(80, 12, random_state=0)
    models, rows = fitted(L1, X, y)
    for part in (rows, rows[:5], rows[5:9]):
        np.testing.assert_array_equal(
            models[-1].predict(part), by_itself(models[-1]).predict(part)
        )


def test_a_decision_that_rounding_could_turn_is_left_to_the_model():
    """Sums in another order are zero, or on this or that side of it."""
    rng = np.random.default_rng(0)
    X, y = make_classification(80, 12, random_state=0)
    models, _ = fitted(L1, X, y)
    shared = models[-1].predict.shared
    coef, intercept = shared.coefs[-1], shared.intercepts[-1]
    rows = rng.standard_normal((200, 12))
    rows -= np.outer(
        (rows @ coef + intercept) / (coef @ coef), coef
    )  # all on the border
    alone = by_itself(models[-1])
    np.testing.assert_array_equal(models[-1].predict(rows), alone.predict(rows))
    assert not shared.is_known[-1]
    np.testing.assert_array_equal(
        models[-1].decision_function(rows), alone.decision_function(rows)
    )


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "f1"])
def test_scorers_take_the_methods(scoring):
    X, y = make_classification(80, 12, random_state=0)
    models, rows = fitted(L1, X, y)
    scorer = get_scorer(scoring)
    for model in models[1:]:
        assert scorer(model, rows, y) == pytest.approx(
            scorer(by_itself(model), rows, y), rel=1e-12
        )


def test_a_model_without_any_coefficient_predicts_as_by_itself():
    X, y = make_classification(80, 12, random_state=0)
    models = at_each(L1, X, y, [1e-6, 1e-5])
    assert not models[0].coef_.any()
    np.testing.assert_array_equal(models[0].predict(X), by_itself(models[0]).predict(X))


def test_rows_that_cannot_be_predicted_are_an_error():
    X, y = make_classification(80, 12, random_state=0)
    models, _ = fitted(L1, X, y)
    with pytest.raises(ValueError, match="contains NaN"):
        models[0].predict(np.full((3, 12), np.nan))
    with pytest.raises(ValueError, match="expecting 12 features"):
        models[1].predict(X[:, :5])


def test_more_than_two_classes_predict_by_themselves():
    X, y = make_classification(80, 12, n_informative=6, n_classes=3, random_state=0)
    assert not any(
        "predict" in vars(model) for model in at_each(CLASSIFIERS["svm"], X, y)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_rows_of_fewer_bits_are_predicted_together_too(dtype):
    X, y = make_classification(80, 40, random_state=0)
    X = np.round(20 * X).clip(-100, 100).astype(dtype)
    models = at_each(L1, X, y)
    for one in models:
        np.testing.assert_array_equal(one.predict(X), by_itself(one).predict(X))
    assert vars(models[0])["predict"].shared.is_known.all()

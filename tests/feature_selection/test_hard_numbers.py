"""Data in units so large or small that squares of float64 overflow or vanish, and sparse data of other forms."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.datasets import make_classification, make_regression

from skstab.feature_selection import (
    HybridRFE,
    _ridge,
    information_gain,
    relieff,
    symmetrical_uncertainty,
    welch_variance,
)

CLASSES = make_classification(60, 12, n_informative=4, random_state=0)
NUMBERS = make_regression(60, 12, n_informative=4, random_state=0)
SCALES = [1e-300, 1e-200, 1e-100, 1e100, 1e200, 1e300]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("X", "y"), [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_welch_variance_does_not_depend_on_the_unit(scale, X, y):
    expected = welch_variance(X, y)
    np.testing.assert_allclose(welch_variance(X * scale, y), expected, rtol=1e-12)
    np.testing.assert_allclose(
        welch_variance(csr_array(X * scale), y), expected, rtol=1e-12
    )
    if y.dtype.kind == "f":
        np.testing.assert_allclose(welch_variance(X, y * scale), expected, rtol=1e-12)


@pytest.mark.parametrize("scale", [5e-324, 1e-320, 1e-310])
@pytest.mark.parametrize(("X", "y"), [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_welch_variance_is_finite_for_the_smallest_numbers_there_are(scale, X, y):
    scores = welch_variance(X * scale, y)
    assert np.isfinite(scores).all()
    assert np.ptp(scores) > 0


@pytest.mark.parametrize("kind", [csr_array, csc_array])
@pytest.mark.parametrize(
    "fit",
    [
        HybridRFE(3, n_stable_features=1, standardize=True).fit,
        welch_variance,
        relieff,
        information_gain,
        symmetrical_uncertainty,
    ],
)
def test_a_sparse_matrix_stays_as_the_caller_made_it(kind, fit):
    X, y = CLASSES
    values, starts = X.ravel(), np.arange(0, X.size + 1, X.shape[1])
    places = np.tile(np.arange(X.shape[1])[::-1], len(X))
    if kind is csc_array:
        values, starts = X.T.ravel(), np.arange(0, X.size + 1, X.shape[0])
        places = np.tile(np.arange(X.shape[0])[::-1], X.shape[1])
    given = kind((values, places, starts), shape=X.shape)
    before = given.indices.copy()
    fit(given, y)
    np.testing.assert_array_equal(given.indices, before)


@pytest.mark.parametrize("scale", SCALES)
def test_hybrid_rfe_refuses_units_it_can_not_compute_in(scale):
    X, y = CLASSES
    with pytest.raises(ValueError, match="X must be in a unit"):
        HybridRFE(3).fit(X * scale, y)
    X, y = NUMBERS
    with pytest.raises(ValueError, match="y must be in a unit"):
        HybridRFE(3, loss="squared").fit(X, y * scale)


@pytest.mark.filterwarnings("ignore:overflow|invalid|divide:RuntimeWarning")
def test_hybrid_rfe_has_finite_weights_or_an_error():
    X, y = CLASSES
    with pytest.raises(ValueError, match="the model has no finite weights"):
        HybridRFE(3, C=1e300).fit(X, y)
    assert np.isfinite(HybridRFE(3, C=1e-300).fit(X, y).coef_).all()


def in_unit(scale, n_rows, n_features, loss):
    X, y = make_classification(
        n_rows, n_features, n_informative=4, n_redundant=0, flip_y=0.3, random_state=1
    )
    return HybridRFE(4, loss=loss).fit(X * scale, y)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize(
    ("n_rows", "n_features", "scales"),
    [
        (150, 12, (1e-4, 1e-10, 1e-20, 1e-45)),
        (60, 12, (1e-4, 1e-10, 1e-20, 1e-45)),
        (40, 80, (1e-4, 1e-10, 1e-20, 1e-45)),
        (150, 12, (1e4, 1e9, 1e20, 1e45)),
    ],
)
def test_units_do_not_matter_where_the_penalty_is_all_or_nothing(
    n_rows, n_features, scales, loss
):
    selectors = [in_unit(scale, n_rows, n_features, loss) for scale in scales]
    for selector in selectors:
        np.testing.assert_array_equal(selector.support_, selectors[0].support_)
        assert selector.coef_.any()


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize(("n_rows", "n_features"), [(60, 12), (40, 80)])
@pytest.mark.parametrize("scale", [1e8, 1e10, 1e20, 1e45])
def test_a_penalty_that_is_lost_among_rounding_errors_is_an_error(
    scale, n_rows, n_features, loss
):
    with pytest.raises(ValueError, match="the unit of X"):
        in_unit(scale, n_rows, n_features, loss)


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore:overflow|invalid:RuntimeWarning",
)
def test_many_unknowns_that_scikit_learn_does_not_find_are_an_error(monkeypatch):
    monkeypatch.setattr(_ridge, "_MANY_UNKNOWNS", 5)
    assert in_unit(1.0, 150, 12, "logistic").coef_.any()
    with pytest.raises(ValueError, match="the unit of X"):
        in_unit(1e-20, 150, 12, "logistic")


def test_searches_also_name_what_is_too_extreme():
    X, y = CLASSES
    with pytest.raises(ValueError, match="the model has no finite weights"):
        HybridRFE().__skstab_fit_each__(
            [
                {"n_features_to_select": value, "n_stable_features": 0}
                for value in (3, 4)
            ],
            X * 1e12,
            y,
        )


@pytest.mark.parametrize(
    "score", [relieff, welch_variance, information_gain, symmetrical_uncertainty]
)
def test_sparse_data_may_have_64_bit_indices(score):
    X, y = CLASSES
    wide = csr_array(X)
    wide.indices, wide.indptr = (
        wide.indices.astype(np.int64),
        wide.indptr.astype(np.int64),
    )
    np.testing.assert_allclose(score(wide, y), score(X, y), rtol=1e-12)
    assert wide.indices.dtype == np.int64

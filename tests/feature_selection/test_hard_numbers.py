"""Data in units so large or small that squares of float64 overflow or vanish, and sparse data of other forms."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_classification, make_regression

from skstab.feature_selection import HybridRFE, information_gain, relieff, symmetrical_uncertainty, welch_variance

CLASSES = make_classification(60, 12, n_informative=4, random_state=0)
NUMBERS = make_regression(60, 12, n_informative=4, random_state=0)
SCALES = [1e-300, 1e-200, 1e-100, 1e100, 1e200, 1e300]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("X", "y"), [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_welch_variance_does_not_depend_on_the_unit(scale, X, y):
    expected = welch_variance(X, y)
    np.testing.assert_allclose(welch_variance(X * scale, y), expected, rtol=1e-12)
    np.testing.assert_allclose(welch_variance(csr_array(X * scale), y), expected, rtol=1e-12)
    if y.dtype.kind == "f":
        np.testing.assert_allclose(welch_variance(X, y * scale), expected, rtol=1e-12)


@pytest.mark.parametrize("scale", [5e-324, 1e-320, 1e-310])
@pytest.mark.parametrize(("X", "y"), [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_welch_variance_is_finite_for_the_smallest_numbers_there_are(scale, X, y):
    scores = welch_variance(X * scale, y)
    assert np.isfinite(scores).all()
    assert np.ptp(scores) > 0


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


@pytest.mark.parametrize("score", [relieff, welch_variance, information_gain, symmetrical_uncertainty])
def test_sparse_data_may_have_64_bit_indices(score):
    X, y = CLASSES
    wide = csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_allclose(score(wide, y), score(X, y), rtol=1e-12)
    assert wide.indices.dtype == np.int64

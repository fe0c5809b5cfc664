"""The artificial data against what the papers say of them."""

import numpy as np
import pytest

from skstab.datasets import (
    make_correlated_groups,
    make_redundant_classification,
    make_survival,
)

N = 20_000
CLOSE = 5 / np.sqrt(N)  # five standard errors of a mean or a correlation
OF_CLASSES = [make_redundant_classification, make_correlated_groups]
GENERATORS = [*OF_CLASSES, make_survival]


def within_classes(X, y):
    """Deviations from the means of the classes."""
    return X - np.where(y[:, None] == 1, X[y == 1].mean(axis=0), X[y == 0].mean(axis=0))


# -- nogueira2018, section 6.1.1 ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[0.0, 0.3, 0.8])
def redundant(request):
    X, y = make_redundant_classification(
        N, n_features=12, n_relevant=7, redundancy=request.param, random_state=0
    )
    return X, y, request.param


def test_shape_of_the_paper():
    X, y = make_redundant_classification(random_state=0)
    assert X.shape == (2000, 100)
    assert y.shape == (2000,)
    relevant = np.abs(X[y == 1].mean(axis=0)) > 0.5
    assert relevant.tolist() == [True] * 50 + [False] * 50


def test_means_of_the_classes(redundant):
    X, y, _ = redundant
    for label, sign in ((1, 1), (0, -1)):
        means = X[y == label].mean(axis=0)
        np.testing.assert_allclose(means[:7], sign, atol=1.5 * CLOSE)
        np.testing.assert_allclose(means[7:], 0, atol=1.5 * CLOSE)


def test_covariance_within_the_classes(redundant):
    X, y, redundancy = redundant
    expected = np.eye(12)
    expected[:7, :7] = redundancy + (1 - redundancy) * np.eye(7)
    for label in (0, 1):
        np.testing.assert_allclose(
            np.cov(X[y == label], rowvar=False), expected, atol=2 * CLOSE
        )


def test_full_redundancy():
    X, _ = make_redundant_classification(
        50, n_features=6, n_relevant=4, redundancy=1, random_state=0
    )
    assert (X[:, :4] == X[:, :1]).all()
    assert not (X[:, 4] == X[:, 5]).any()


@pytest.mark.parametrize(("n_relevant", "relevant"), [(0, []), (5, [0, 1, 2, 3, 4])])
def test_none_or_all_relevant(n_relevant, relevant):
    X, y = make_redundant_classification(
        500, n_features=5, n_relevant=n_relevant, random_state=0
    )
    assert np.flatnonzero(np.abs(X[y == 1].mean(axis=0)) > 0.5).tolist() == relevant


# -- hamer2021, section 5.3 --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[0.8, 0.95])
def grouped(request):
    X, y, groups = make_correlated_groups(
        N,
        n_groups=3,
        group_size=4,
        n_others=5,
        group_mean=0.5,
        correlation=request.param,
        random_state=0,
    )
    return X, y, groups, request.param


def test_shape_of_the_other_paper():
    X, y, groups = make_correlated_groups(random_state=0)
    assert X.shape == (200, 1050)
    assert y.shape == (200,)
    assert groups.shape == (1050,)
    assert (X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))[
        :50
    ].mean() == pytest.approx(0.7, abs=0.2)


def test_labels_of_the_groups(grouped):
    _, _, groups, _ = grouped
    assert groups.tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3, 4, 5, 6, 7]


def test_means_of_groups_and_others(grouped):
    X, y, groups, _ = grouped
    expected = np.where(groups < 3, 0.5, 0.05)
    np.testing.assert_allclose(X[y == 1].mean(axis=0), expected, atol=1.5 * CLOSE)
    np.testing.assert_allclose(X[y == 0].mean(axis=0), -expected, atol=1.5 * CLOSE)


def test_correlations_within_and_between_groups(grouped):
    X, y, groups, correlation = grouped
    same = groups[:, None] == groups
    expected = np.where(same, correlation, 0.0)
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(
        np.cov(within_classes(X, y), rowvar=False), expected, atol=1.5 * CLOSE
    )


def test_means_that_are_asked_for():
    X, y, _ = make_correlated_groups(
        N,
        n_groups=1,
        group_size=2,
        n_others=2,
        group_mean=-2.0,
        other_mean=3.0,
        random_state=0,
    )
    np.testing.assert_allclose(X[y == 1].mean(axis=0), [-2, -2, 3, 3], atol=1.5 * CLOSE)


@pytest.mark.parametrize(
    ("params", "labels"),
    [
        ({"n_groups": 0, "n_others": 3}, [0, 1, 2]),
        ({"n_groups": 2, "group_size": 2, "n_others": 0}, [0, 0, 1, 1]),
        ({"n_groups": 2, "group_size": 1, "n_others": 1}, [0, 1, 2]),
    ],
)
def test_groups_or_others_alone(params, labels):
    X, _, groups = make_correlated_groups(10, random_state=0, **params)
    assert groups.tolist() == labels
    assert X.shape == (10, len(labels))


# -- both --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", OF_CLASSES)
@pytest.mark.parametrize("n_samples", [2, 30, 31])
def test_balance(make, n_samples):
    y = make(n_samples, random_state=0)[1]
    assert len(y) == n_samples
    assert set(y) == {0, 1}
    assert y.sum() == n_samples // 2


@pytest.mark.parametrize("make", OF_CLASSES)
def test_classes_are_in_random_order(make):
    y = make(200, random_state=0)[1]
    changes = np.count_nonzero(np.diff(y))
    assert 60 < changes < 140


@pytest.mark.parametrize("make", GENERATORS)
def test_seeds(make):
    first, again, other = (
        make(20, random_state=0),
        make(20, random_state=0),
        make(20, random_state=1),
    )
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first[0], other[0])
    generator = np.random.RandomState(0)
    np.testing.assert_array_equal(make(20, random_state=generator)[0], first[0])
    assert not np.array_equal(make(20, random_state=generator)[0], first[0])
    assert not np.array_equal(make(20)[0], make(20)[0])


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        *(
            (make, "n_samples", value)
            for make in GENERATORS
            for value in (1, 0, -5, 20.0, "20", True, None)
        ),
        (make_redundant_classification, "n_features", 0),
        (make_redundant_classification, "n_features", 10.0),
        (make_redundant_classification, "n_features", 49),
        (make_redundant_classification, "n_relevant", -1),
        (make_redundant_classification, "n_relevant", 2.5),
        *(
            (make_redundant_classification, "redundancy", value)
            for value in (-0.1, 1.1, np.nan)
        ),
        *(
            (make_correlated_groups, name, -1)
            for name in ("n_groups", "group_size", "n_others")
        ),
        *(
            (make_correlated_groups, name, 1.5)
            for name in ("n_groups", "group_size", "n_others")
        ),
        *(
            (make_correlated_groups, "correlation", value)
            for value in (-0.1, 1.1, np.nan)
        ),
        *(
            (make_correlated_groups, name, value)
            for name in ("group_mean", "other_mean")
            for value in ("a", np.inf)
        ),
        (make_redundant_classification, "random_state", "zero"),
    ],
)
def test_errors_name_the_argument(make, name, value):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        make(**{name: value})


@pytest.mark.parametrize("make", GENERATORS)
def test_sizes_of_numpy(make):
    X = make(np.int64(10), random_state=0)[0]
    assert len(X) == 10


@pytest.mark.parametrize("make", GENERATORS)
def test_only_the_number_of_rows_has_no_name(make):
    with pytest.raises(TypeError):
        make(20, 10)


# -- survival ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("censoring", [0.0, 0.3, 0.8])
def test_survival_times_are_censored_as_often_as_asked(censoring):
    X, y, groups = make_survival(
        20_000, n_others=3, censoring=censoring, random_state=0
    )
    assert X.shape == (20_000, 23)
    assert groups.tolist() == [*np.repeat(range(4), 5), 4, 5, 6]
    assert 1 - y["event"].mean() == pytest.approx(censoring, abs=0.015)
    assert (y["time"] > 0).all()


def test_survival_depends_on_the_first_feature_of_each_group():
    X, y, _ = make_survival(
        20_000,
        n_groups=2,
        group_size=3,
        n_others=2,
        effect=0.8,
        censoring=0.0,
        random_state=1,
    )
    # log time = (log E − η) / 1.5 with E exponential: linear in the features that change the hazard.
    slopes = np.linalg.lstsq(
        np.column_stack([X, np.ones(len(X))]), np.log(y["time"]), rcond=None
    )[0][:-1]
    np.testing.assert_allclose(
        slopes, np.array([-0.8, 0, 0, 0.8, 0, 0, 0, 0]) / 1.5, atol=0.03
    )
    residual = np.log(y["time"]) - X @ slopes
    assert residual.std() == pytest.approx(np.pi / np.sqrt(6) / 1.5, rel=0.03)
    assert np.corrcoef(X[:, 0], X[:, 2])[0, 1] == pytest.approx(0.7, abs=0.02)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("censoring", 1.0),
        ("censoring", -0.1),
        ("effect", np.inf),
        ("effect", "much"),
        ("correlation", 2),
        ("n_groups", -1),
    ],
)
def test_errors_of_survival_name_the_argument(name, value):
    with pytest.raises(ValueError, match=rf"{name} must be"):
        make_survival(**{name: value})


def test_survival_without_groups_has_no_signal():
    X, y, groups = make_survival(30, n_groups=0, n_others=4, random_state=0)
    assert X.shape == (30, 4)
    assert groups.tolist() == [0, 1, 2, 3]
    assert len(y) == 30

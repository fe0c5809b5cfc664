import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectKBest,
    VarianceThreshold,
    f_classif,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skstab import Runs
from skstab.model_selection import collect_supports
from skstab.runs._rows import in_one_form

D = 7
CV = StratifiedKFold(4)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(80, D, n_informative=3, class_sep=0.5, random_state=4)
    return X, y


def l1_svc():
    return LinearSVC(penalty="l1", C=0.05, random_state=0)


@pytest.fixture(scope="module")
def best_two(data):
    """Per split, the two features with the largest F statistic, computed by hand."""
    X, y = data
    supports = np.zeros((4, D), dtype=bool)
    for row, (train, _) in zip(supports, CV.split(X, y), strict=True):
        row[np.argsort(f_classif(X[train], y[train])[0])[-2:]] = True
    assert len(np.unique(supports, axis=0)) > 1
    return supports


@pytest.mark.parametrize("as_frame", [False, True])
def test_cross_validate(as_frame, data, best_two):
    X, y = data
    X = pd.DataFrame(X, columns=list("abcdefg")) if as_frame else X
    pipe = make_pipeline(StandardScaler(), SelectKBest(k=2), LogisticRegression())
    result = cross_validate(pipe, X, y, cv=CV, return_estimator=True)
    supports = collect_supports(result)
    assert supports.dtype == bool
    np.testing.assert_array_equal(supports, best_two)
    np.testing.assert_array_equal(collect_supports(result["estimator"]), best_two)
    np.testing.assert_array_equal(collect_supports(iter(result["estimator"])), best_two)


def test_selectors_sparse_models_and_searches(data):
    X, y = data
    rows = [X[:40], X[20:60], X[40:]]
    targets = [y[:40], y[20:60], y[40:]]
    runs = list(zip(rows, targets, strict=True))
    selectors = tuple(
        RFE(LinearSVC(), n_features_to_select=2).fit(*run) for run in runs
    )
    np.testing.assert_array_equal(
        collect_supports(selectors), [s.support_ for s in selectors]
    )

    models = [l1_svc().fit(*run) for run in runs]
    expected = [model.coef_[0] != 0 for model in models]
    assert 0 < np.sum(expected) < 3 * D
    np.testing.assert_array_equal(collect_supports(models), expected)

    searches = [GridSearchCV(l1_svc(), {"C": [0.05]}, cv=2).fit(*run) for run in runs]
    np.testing.assert_array_equal(collect_supports(searches), expected)


def test_one_run_is_one_row(data):
    X, y = data
    supports = collect_supports([SelectKBest(k=3).fit(X, y)])
    assert supports.shape == (1, D)
    assert supports.sum() == 3


def rfe_per_split(X, y, n_features):
    runs = [
        RFE(LinearSVC(), n_features_to_select=n_features).fit(X[train], y[train])
        for train, _ in CV.split(X, y)
    ]
    return np.array([run.support_ for run in runs])


def test_rfecv_gives_the_supports_of_its_splits(data):
    X, y = data
    rfecv = RFECV(LinearSVC(), cv=CV).fit(X, y)
    assert 1 < rfecv.n_features_ < D  # neither end of the path, so the row matters
    expected = rfe_per_split(X, y, rfecv.n_features_)
    np.testing.assert_array_equal(collect_supports(rfecv), expected)
    # In a list it is one run.
    np.testing.assert_array_equal(
        collect_supports([rfecv, rfecv]), [rfecv.support_] * 2
    )


def test_rfecv_with_more_than_ten_splits_keeps_their_order(data):
    X, y = data
    cv = KFold(12)
    rfecv = RFECV(LinearSVC(), cv=cv, step=2).fit(X, y)
    n_features = rfecv.n_features_
    expected = [
        RFE(LinearSVC(), n_features_to_select=n_features, step=2)
        .fit(X[train], y[train])
        .support_
        for train, _ in cv.split(X, y)
    ]
    np.testing.assert_array_equal(collect_supports(rfecv), expected)


def test_pipeline_that_ends_in_rfecv(data):
    X, y = data
    wide = np.insert(X, 2, 1.0, axis=1)  # a constant column that the first step drops
    rfecv = RFECV(LinearSVC(), cv=CV)
    pipe = make_pipeline(
        VarianceThreshold(), make_pipeline(StandardScaler(), rfecv)
    ).fit(wide, y)
    scaled = StandardScaler().fit_transform(X)
    expected = np.insert(rfe_per_split(scaled, y, rfecv.n_features_), 2, False, axis=1)
    assert not expected.all(axis=1).any()
    np.testing.assert_array_equal(collect_supports(pipe), expected)


def test_an_ndarray_whatever_the_values():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 300)), np.arange(40) % 2
    runs = [
        SelectKBest(k=3).fit(X[i::4], (y[i::4] + np.arange(10)) % 2) for i in range(4)
    ]
    supports = collect_supports(runs)
    assert isinstance(supports, np.ndarray)
    assert supports.dtype == bool
    np.testing.assert_array_equal(supports, [run.get_support() for run in runs])
    assert issparse(Runs.from_estimators(runs).tables.supports)


@pytest.mark.parametrize("dtype", [bool, float])
@pytest.mark.parametrize("density", [0.0, 0.05, 0.15, 0.25, 0.6, 0.7, 1.0])
def test_the_smaller_form_is_kept(dtype, density):
    rows = np.zeros((20, 100), dtype=dtype)
    rows[:, : round(100 * density)] = 1
    stored = csr_array(rows)
    size = stored.data.nbytes + stored.indices.nbytes + stored.indptr.nbytes
    (kept,) = in_one_form(stored, best=True)
    assert issparse(kept) == (size < rows.nbytes)
    np.testing.assert_array_equal(kept.toarray() if issparse(kept) else kept, rows)


def test_a_dict_without_estimators_says_how_to_get_them(data):
    X, y = data
    with pytest.raises(ValueError, match="return_estimator=True"):
        collect_supports(cross_validate(l1_svc(), X, y, cv=2))


@pytest.mark.parametrize("source", [[], (), {"estimator": []}, iter(())])
def test_empty(source):
    with pytest.raises(ValueError, match="no estimators"):
        collect_supports(source)


@pytest.mark.parametrize("source", [None, 3, "lasso"])
def test_not_a_source(source):
    with pytest.raises(
        TypeError, match=f"source must be .* got {type(source).__name__}"
    ):
        collect_supports(source)


def test_unfitted_is_named(data):
    X, y = data
    runs = [
        SelectKBest(k=2).fit(X, y),
        make_pipeline(StandardScaler(), SelectKBest(k=2)),
    ]
    with pytest.raises(NotFittedError, match=r"estimator 1 \(Pipeline\) is not fitted"):
        collect_supports(runs)
    with pytest.raises(NotFittedError, match="RFECV"):
        collect_supports(RFECV(l1_svc()))


def test_not_an_estimator_is_named(data):
    with pytest.raises(
        TypeError, match=r"estimator 0 \(ndarray\) of source is not an estimator"
    ):
        collect_supports([np.ones(3, dtype=bool)])


@pytest.mark.parametrize("model", [Ridge(), KNeighborsClassifier()], ids=str)
def test_a_model_that_does_not_select_says_what_to_wrap_it_in(model, data):
    X, y = data
    name = type(model).__name__
    with pytest.raises(ValueError, match=rf"estimator 0 \({name}\).*SelectFromModel"):
        collect_supports([model.fit(X, y)])


def test_different_features(data):
    X, y = data
    runs = [SelectKBest(k=2).fit(X, y), SelectKBest(k=2).fit(X[:, :5], y)]
    with pytest.raises(ValueError, match=r"different numbers of features: \[5, 7\]"):
        collect_supports(runs)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    runs = [
        SelectKBest(k=2).fit(frame, y),
        SelectKBest(k=2).fit(frame[list("gfedcba")], y),
    ]
    with pytest.raises(ValueError, match="different names or order"):
        collect_supports(runs)


def test_one_estimator_is_not_several_runs(data):
    X, y = data
    for fitted in (
        SelectKBest(k=2).fit(X, y),
        GridSearchCV(l1_svc(), {"C": [1.0]}, cv=2).fit(X, y),
    ):
        with pytest.raises(
            ValueError, match=rf"one {type(fitted).__name__} is one run"
        ):
            collect_supports(fitted)

"""The selectors of a report, and the code that makes them anew."""

import numpy as np
import pytest
from sklearn.feature_selection import f_regression
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skstab._cli._code import imports_of, source_of
from skstab._cli._selectors import SETTINGS, LearningTask, candidates

PROBLEMS = {
    "two classes": LearningTask(
        n_rows=40, n_features=6, n_classes=2, spread=0.0, seed=3
    ),
    "three classes": LearningTask(
        n_rows=40, n_features=6, n_classes=3, spread=0.0, seed=3
    ),
    "regression": LearningTask(
        n_rows=40, n_features=6, n_classes=0, spread=2.0, seed=3
    ),
}


def data(problem):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(problem.n_rows, problem.n_features))
    signal = 2 * X[:, 0] + 0.2 * rng.normal(size=problem.n_rows)
    if not problem.n_classes:
        return X, signal
    return X, np.searchsorted(
        np.quantile(signal, np.arange(1, problem.n_classes) / problem.n_classes), signal
    )


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_selector_fits_every_task_and_its_source_makes_it_anew(name, kind):
    problem = PROBLEMS[kind]
    found = candidates([name], problem)
    assert all(
        (one.family, one.label) == (name, f"{name} ({one.setting})") for one in found
    )
    made, names = [one.estimator for one in found], {}
    exec("\n".join(imports_of(made)), names)  # noqa: S102  that it runs is what is tested
    for estimator in made:
        copy = eval(source_of(estimator), names)  # noqa: S307  the same
        assert repr(copy.get_params(deep=False)) == repr(
            estimator.get_params(deep=False)
        )
    weakest = made[0 if name == "stability-selection" else -1]
    assert weakest.fit(*data(problem)).predict(data(problem)[0]).shape == (40,)


@pytest.mark.parametrize("n_features", [2, 3, 5, 30, 2000])
def test_sizes_are_between_nothing_and_everything(n_features):
    sizes = LearningTask(
        n_rows=50, n_features=n_features, n_classes=2, spread=0.0, seed=0
    ).sizes
    assert 1 <= sizes[0] <= sizes[-1] < n_features
    assert len(sizes) == len(set(sizes)) <= 5
    assert sizes[-1] <= 50


def test_a_source_names_functions_and_writes_infinite_numbers():
    assert source_of(f_regression) == "f_regression"
    assert source_of(-np.inf) == 'float("-inf")'
    assert source_of("it's") == '"it\'s"'


def test_a_source_gives_only_what_differs_from_the_defaults():
    made = make_pipeline(LogisticRegression(C=0.5, max_iter=100))
    assert source_of(made) == "make_pipeline(LogisticRegression(C=0.5))"
    assert imports_of([made]) == [
        "from sklearn.linear_model import LogisticRegression",
        "from sklearn.pipeline import make_pipeline",
    ]

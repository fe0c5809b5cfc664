"""The selectors of a report."""

import numpy as np
import pytest

from skstab._report.selectors import SETTINGS, LearningTask, candidates

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
def test_every_selector_fits_every_task(name, kind):
    problem = PROBLEMS[kind]
    found = candidates([name], problem)
    assert all(
        (one.family, one.label) == (name, f"{name} ({one.setting})") for one in found
    )
    made = [one.estimator for one in found]
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

"""Importances by flips against a dense search: how much the steps of the search miss."""

import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skstab.inspection import flip_importance

MODELS = {
    "rbf SVM": SVC(C=10, gamma=0.5),
    "1 neighbour": KNeighborsClassifier(1, algorithm="kd_tree"),
    "5 neighbours": KNeighborsClassifier(5, algorithm="kd_tree"),
    "5 neighbours, by distance": KNeighborsClassifier(
        5, weights="distance", algorithm="kd_tree"
    ),
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(20, random_state=0),
    "extra trees": ExtraTreesClassifier(20, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=20, random_state=0),
    "boosting by histograms": HistGradientBoostingClassifier(
        max_iter=20, min_samples_leaf=5, random_state=0
    ),
    "neural network": MLPClassifier((20,), max_iter=200, random_state=0),
}
LIMIT, STEP, N_SAMPLES = 8.0, 1 / 512, 10


class Decisions:
    """A model of which only the decisions are known: it is searched in steps."""

    def __init__(self, model):
        self.predict = model.predict


def dense_search(model, X):
    """Equation (9) of hamer2021 with every change tried, in steps of 1/512 standard deviations."""
    inverse, sd = np.zeros(X.shape), X.std(axis=0)
    coarse = np.arange(1, round(LIMIT / STEP) + 1) * STEP
    kept = model.predict(X)

    def first_flip(i, f, changes):
        rows = np.repeat(X[[i]], len(changes), axis=0)
        rows[:, f] += changes * sd[f]
        flips = model.predict(rows) != kept[i]
        return np.abs(changes[flips.argmax()]) if flips.any() else np.inf

    for i, f in np.ndindex(X.shape):
        for sign in (-1, 1):
            high = first_flip(i, f, sign * coarse)
            if np.isfinite(high):
                change = first_flip(
                    i, f, sign * (high - STEP + np.geomspace(1e-6, STEP, 500))
                )
                inverse[i, f] = max(inverse[i, f], 1 / change)
    rows = inverse[inverse.any(axis=1)]
    return np.count_nonzero(rows.any(axis=0)) * (
        rows / rows.sum(axis=1, keepdims=True)
    ).mean(axis=0)


def measured(search, *arguments, **keywords):
    start = time.process_time()
    return search(*arguments, **keywords), time.process_time() - start


def largest_error(found, dense):
    return np.max(np.abs(found - dense)[dense > 0] / dense[dense > 0])


def main():
    warnings.simplefilter("ignore")
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    print(
        "| model | largest error | samples above 2% | largest error, steps only | CPU: dense | steps only | this |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, model in MODELS.items():
        errors, times = [], np.zeros(3)
        for seed in range(N_SAMPLES):
            rng = np.random.default_rng(seed)
            rows, columns = (
                rng.choice(len(X), 40, replace=False),
                rng.choice(X.shape[1], 3, replace=False),
            )
            part = X[np.ix_(rows, columns)]
            model.fit(part, y[rows])
            searches = (
                measured(dense_search, model, part),
                measured(flip_importance, Decisions(model), part, max_change=LIMIT),
                measured(flip_importance, model, part, max_change=LIMIT),
            )
            times += [seconds for _, seconds in searches]
            dense = searches[0][0]
            errors.append([largest_error(found, dense) for found, _ in searches[1:]])
        steps, exact = np.max(errors, axis=0)
        above = np.count_nonzero(np.array(errors)[:, 1] > 0.02)
        ratios = " | ".join(f"{seconds / times[2]:.0f}" for seconds in times[:2])
        print(
            f"| {name} | {exact:.2%} | {above} | {steps:.2%} | {ratios} | 1 |",
            flush=True,
        )


if __name__ == "__main__":
    main()

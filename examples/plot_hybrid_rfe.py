"""
What is gained by hybrid-RFE?
=============================

Recursive elimination is accurate and unstable, a filter stable and less accurate. Hybrid-RFE (Hamer and Dupont 2021)
chooses some features by a filter and eliminates the others around them; how many is a parameter to search over.
"""

# %%
# From RFE to the filter
# ----------------------
# Eight of 30 features on the breast cancer data. `n_stable_features` of them are chosen by the filter: with 0 it is
# plain RFE, with 8 the filter alone.

import matplotlib.pyplot as plt
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab import (
    BootstrapSplit,
    FeatureStabilityMapDisplay,
    HybridRFE,
    ParetoFrontDisplay,
    ParetoRefit,
    StabilityCV,
    WholeSampleSplit,
    stability_scoring,
)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
pipe = make_pipeline(StandardScaler(), HybridRFE(8))
search = GridSearchCV(
    StabilityCV(
        pipe, cv=BootstrapSplit(20, stratify=True, random_state=0), scoring="accuracy"
    ),
    {"estimator__hybridrfe__n_stable_features": [0, 2, 4, 6, 8]},
    cv=WholeSampleSplit(),
    scoring=stability_scoring(["nogueira", "importance_weighted"]),
    refit=ParetoRefit("accuracy", "nogueira", strategy="one_se"),
).fit(X, y)
for number, params in enumerate(search.cv_results_["params"]):
    accuracy, sets, weights = (
        search.cv_results_[f"mean_test_{name}"][number]
        for name in ("accuracy", "nogueira", "importance_weighted")
    )
    n_stable = params["estimator__hybridrfe__n_stable_features"]
    print(
        f"N = {n_stable}: accuracy {accuracy:.3f}, stability {sets:.2f}, importance-weighted {weights:.2f}"
    )

# %%
# The front
# ---------
# The strategy `one_se` chooses the most stable candidate whose accuracy is within one standard error of the best.

_ = ParetoFrontDisplay.from_search(search, "accuracy", "nogueira").plot()
print(search.best_params_)

# %%
# Before and after
# ----------------
# One row per run, one colour per feature, as wide as its share of the importances. On the left plain RFE, on the right
# the chosen compromise.

before = (
    clone(search.estimator)
    .set_params(estimator__hybridrfe__n_stable_features=0)
    .fit(X, y)
)
_, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
first = FeatureStabilityMapDisplay.from_estimator(before)
second = FeatureStabilityMapDisplay.from_estimator(
    search.best_estimator_, like=first
)  # the same colours
for ax, display in zip(axes, (first, second), strict=True):
    display.plot(ax, measures=True, n_colours=10)

# %%
# **Answer**: more stability at no cost, up to a point. With four of the eight features from the filter, the
# stability rises from 0.61 to 0.71 at the same accuracy of 0.966. The filter alone is far more stable (0.89), but
# loses more than one per cent of accuracy.

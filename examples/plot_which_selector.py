"""
Which of these selectors should I trust?
========================================

Several selectors on the *same* resamples: their scores, their stabilities, which differences are significant, and a
recommendation with its reason.
"""

# %%
# Five ways to select about eight features
# ----------------------------------------

import warnings
from textwrap import fill

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab import (
    BootstrapSplit,
    HybridRFE,
    StabilityComparisonDisplay,
    compare_selectors,
)

# Of the filter below a warning says that its interval is too narrow, since its runs differ in one place only, where two
# features take turns. See the page on uncertainty.
warnings.filterwarnings("ignore", message="nearly all variation between the runs")

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
forest = ExtraTreesClassifier(30, min_samples_leaf=5, random_state=0)
steps = {
    "lasso": [
        LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
    ],
    "8 best by F": [SelectKBest(k=8), LogisticRegression()],
    "8 best by forest": [
        SelectFromModel(forest, max_features=8, threshold=-float("inf")),
        LogisticRegression(),
    ],
    "RFE": [
        RFE(LogisticRegression(), n_features_to_select=8, step=0.2),
        LogisticRegression(),
    ],
    "hybrid-RFE": [HybridRFE(8, n_stable_features=5, criterion="welch")],
}
selectors = {
    name: make_pipeline(StandardScaler(), *parts) for name, parts in steps.items()
}
found = compare_selectors(
    selectors,
    X,
    y,
    cv=BootstrapSplit(25, stratify=True, random_state=0),
    scoring="accuracy",
)
print(found.frame()[["score", "stability", "n_features", "on_front"]].round(3))

# %%
# Which differences are significant?
# ----------------------------------
# Every selector was fitted on the same rows in each run, so the runs are compared in pairs; p-values are adjusted for
# the number of pairs. First the stability, then the accuracy.

for of in ("stability", "score"):
    print(found.pvalues(of).round(3).to_string(), end="\n\n")

# %%
# The lower part of the picture shows the differences in stability; filled ones are significant. Five selectors make
# ten pairs, so it shows only those with RFE.

_ = StabilityComparisonDisplay.from_comparison(found, reference="RFE").plot()

# %%
# Which one to choose
# -------------------
# The most stable selector among those shown to lose less than one standard error of the best score:

print(fill(str(found.recommend()), 100))

# %%
# "Not significantly worse" is not evidence of "as good". If a larger loss is acceptable, three per cent for instance,
# say so:

print(fill(str(found.recommend(margin=0.03)), 100))

# %%
# **Answer**: the lasso, as long as one standard error of the score, 0.006, is all that may be lost, and the filter
# where three per cent may. The filter finds the same features again far more reliably; its accuracy, 0.956 against
# 0.970, is not significantly lower, but that does not show that it is as good. All of this is about resamples of this
# data set: :doc:`/other_data` shows how to ask about other data.

"""
Which of these selectors should I trust?
========================================

Several selectors on the *same* resamples: what they score, how stable they are, which differences are more than
chance, and a recommendation with its reason.
"""

# %%
# Five ways to select some eight features
# ---------------------------------------

from textwrap import fill

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab import BootstrapSplit, HybridRFE, StabilityComparisonDisplay, compare_selectors

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
forest = ExtraTreesClassifier(30, min_samples_leaf=5, random_state=0)
steps = {
    "lasso": [LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)],
    "8 best by F": [SelectKBest(k=8), LogisticRegression()],
    "8 best by forest": [SelectFromModel(forest, max_features=8, threshold=-float("inf")), LogisticRegression()],
    "RFE": [RFE(LogisticRegression(), n_features_to_select=8, step=0.2), LogisticRegression()],
    "hybrid-RFE": [HybridRFE(8, n_stable_features=5)],
}
selectors = {name: make_pipeline(StandardScaler(), *parts) for name, parts in steps.items()}
found = compare_selectors(selectors, X, y, cv=BootstrapSplit(25, stratify=True, random_state=0), scoring="accuracy")
print(found.frame()[["score", "stability", "n_features", "on_front"]].round(3))

# %%
# Which differences are real?
# ---------------------------
# Every selector saw the same rows in each run, so the runs are compared in pairs; p-values are adjusted for the
# number of pairs. First the stability, then the accuracy.

for of in ("stability", "score"):
    print(found.pvalues(of).round(3).to_string(), end="\n\n")

# %%
# The lower part of the picture shows the differences in stability; filled ones are significant. Five selectors make
# ten pairs, so it shows only those with RFE.

_ = StabilityComparisonDisplay.from_comparison(found, reference="RFE").plot()

# %%
# What to take
# ------------
# The most stable selector among those that do not score significantly worse than the best:

print(fill(str(found.recommend()), 100))

# %%
# **Answer**: the filter. It finds the same features again far more reliably than RFE or the lasso, and its accuracy,
# 0.956 against 0.970, is not significantly lower. That is no proof that it is as good: the test of scores is a
# careful one, as the rows of the resamples overlap. Whoever needs that one per cent takes the lasso, the other end of
# the front.
#
# Its interval is next to nothing because its runs differ in one place only, where two features take turns half and
# half: :doc:`/uncertainty` says why that looks surer than it is.

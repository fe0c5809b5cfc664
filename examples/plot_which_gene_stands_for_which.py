"""
Which feature stands for which, and for how much?
=================================================

The lists of two runs differ. Often they tell the same: what one run says with the radius of a cell nucleus, another one
says with its perimeter. Optimal transport says how much of the difference this is, and which feature stands for which.
"""

# %%
# Lists that differ
# -----------------
# An L1-penalised logistic regression selects measurements of tumour cells on 40 bootstrap samples.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab import BootstrapSplit, StabilityCV, get_measure
from skstab.inspection import feature_report, instability_shares, substitutes
from skstab.metrics import transport_plan

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.05, random_state=0)
runs = StabilityCV(
    make_pipeline(StandardScaler(), lasso),
    cv=BootstrapSplit(40, stratify=True, random_state=0),
).fit(X, y)

# %%
# How much of the difference is substitutes
# -----------------------------------------
# Importance may move along the absolute correlations. Both numbers are corrected for chance: 0 is what random lists
# reach on these very correlations.

similarity = X.corr().abs()
transport = get_measure("transport", similarity=similarity, random_state=0)
print("without substitutes:", runs.interval("importance_weighted"))
print("with substitutes:   ", runs.interval(transport))
print(instability_shares(runs, similarity=similarity, random_state=0))

# %%
# Which one stands for which
# --------------------------

table = substitutes(runs, similarity, least_share=0.1)
print(table.round(2).to_string(index=False))

# %%
# The same beside the clusters, in the table of what to report:

report = feature_report(runs, X, y, similarity=similarity)
columns = ["frequency", "representative", "importance_moves_to"]
print(report.frame()[columns].head(10).round(2).to_string())

# %%
# The plan in one picture: each row shares out the importance of a feature in one run over the features that carry it in
# another run. What is on the diagonal stayed where it was.

plan = transport_plan(runs, similarity).toarray()
top = np.argsort(-plan.sum(axis=1))[:12]
shares = plan[np.ix_(top, top)] / plan[top].sum(axis=1, keepdims=True)

_, ax = plt.subplots(figsize=(7.2, 5.6), layout="constrained")
image = ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
for row, column in zip(*np.nonzero(shares >= 0.05), strict=True):
    shade = "white" if shares[row, column] > 0.6 else "black"
    ax.text(
        column, row, f"{shares[row, column]:.0%}", ha="center", va="center", c=shade
    )
ax.set_xticks(range(len(top)), X.columns[top], rotation=50, ha="right")
ax.set_yticks(range(len(top)), X.columns[top])
ax.set(xlabel="… is on this feature in another run", ylabel="importance of …")
_ = plt.colorbar(image, ax=ax, label="share of the importance")

# %%
# **Answer**: about half of the instability is importance that moves between similar measurements. Two thirds of the
# importance of `worst perimeter` are on `worst radius` in another run, and their correlation is 0.99: they take turns,
# and a paper that reports one should name the other. `radius error` and `mean concave points` have a correlation of
# 0.70 only, which is half of the variance: where the one is missing the other does part of its work, but they are not
# the same. A feature with a dark diagonal has no substitute. The correlations come from the same rows as the
# selections.

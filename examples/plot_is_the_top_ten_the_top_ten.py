"""
Is the top ten the top ten?
===========================

A list of the ten most important features, in order, is printed in many papers. How often is each of them among the
first ten when the selection is repeated, and which places are settled?
"""

# %%
# A forest ranks the measurements of tumour cells on 60 bootstrap samples; every run has its own first ten.

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier

from skstab import BootstrapSplit, StabilityCV

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
runs = StabilityCV(
    ExtraTreesClassifier(30, random_state=0),
    cv=BootstrapSplit(60, stratify=True, random_state=0),
    measure="spearman",
).fit(X, y)

# %%
# How often each measurement is among the first ten, and which ranks of its mean rank the runs do not rule out. The sets
# hold the ranks of all measurements together at the 95% level.

table = runs.runs_.ranks(10, random_state=0)
columns = ["top_k", "rank", "rank_low", "rank_high"]
print(table[columns].head(16).to_string(float_format="{:.2f}".format))

# %%

_ = runs.plot("ranks", k=10, n_features=16, random_state=0)

# %%

surely = (table["rank_high"] <= 10).sum()
possible = (table["rank_low"] <= 10).sum()
print(f"{surely} are surely among the first ten, {possible} may be")

# %%
# **Answer**: on average over resamples, these ten are the first ten, and 60 runs are enough to say so. A single
# resample is another matter: `mean radius` is among its first ten in 72% of the runs only, so that more than one run in
# four prints another list. And the order is settled for few of them: the second to the sixth place may belong to any of
# five measurements. None of this is about other patients (:doc:`/other_data`), and a place among the first ten does not
# say that a feature carries signal: something is always first.

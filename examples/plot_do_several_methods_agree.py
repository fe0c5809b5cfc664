"""
Do several methods agree?
=========================

A filter, a lasso and a recursive elimination select measurements of tumour cells. Each has its list, and each list
depends on the sample. What do they agree on, and what is their joint list?
"""

# %%
# Every selector runs on the same 20 bootstrap samples, and each run is a vote.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab import BootstrapSplit, ConsensusSelector, Runs
from skstab.feature_selection import HybridRFE, consensus_ranking

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
consensus = ConsensusSelector(
    [
        ("filter", SelectKBest(k=6)),
        ("lasso", make_pipeline(StandardScaler(), lasso)),
        ("RFE", make_pipeline(StandardScaler(), HybridRFE(6))),
    ],
    n_features_to_select=6,
    cv=BootstrapSplit(20, stratify=True, random_state=0),
).fit(X, y)
print("selected:", ", ".join(consensus.get_feature_names_out()))

# %%
# The joint list, and how often each method selects its first features
# --------------------------------------------------------------------

table = consensus_ranking(consensus.runs_)
shares = pd.DataFrame(
    {name: runs.frequencies() for name, runs in consensus.runs_.items()}
).loc[table.index[:14]]
print(shares.assign(score=table["score"]).round(2).to_string())

# %%

_, ax = plt.subplots(figsize=(6, 5), layout="constrained")
image = ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
ax.set_xticks(range(3), shares.columns)
ax.set_yticks(range(len(shares)), shares.index)
ax.axhline(5.5, color="black", linewidth=1)
ax.set(title="share of 20 resamples; the consensus is above the line")
_ = plt.colorbar(image, ax=ax)

# %%
# Each method alone, and all of them together
# -------------------------------------------
# A method that agrees with itself need not agree with the others.

for name, runs in consensus.runs_.items():
    print(f"{name:<8} stability {runs.stability():.2f}")
together = Runs.concat(consensus.runs_.values())
print(f"{'together':<8} stability {together.stability():.2f}")

# %%
# **Answer**: the methods share two features, `worst radius` and `worst concave points`, and each has others that the
# rest hardly select: the runs of all methods together agree less (0.51) than those of any single one (0.64 to 0.87).
# The first features of the joint list are what most of them select. That is a summary of opinions, not evidence:
# methods can agree on the same artefact, and where one of them predicts better than the others its own list can be the
# better one (:doc:`/consensus`).

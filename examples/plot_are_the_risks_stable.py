"""
The lists differ: do the patients' risks differ, too?
=====================================================

Runs of a selector on resamples may list different genes and still give every patient nearly the same risk, where genes
stand for each other. The other way round, the same list in all runs is no promise about the risks.
"""

# %%
# Genes that stand for each other
# -------------------------------
# Four processes drive a disease; each shows in five genes, which are noisy copies of each other. Ten further genes have
# nothing to do with it.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skstab.inspection import PredictionInstabilityDisplay
from skstab.model_selection import BootstrapSplit, StabilityCV, prediction_stability

rng = np.random.default_rng(0)
process = rng.standard_normal((300, 6))
X = np.repeat(process, 5, axis=1) + 0.2 * rng.standard_normal((300, 30))
is_ill = process[:, :4].sum(axis=1) + rng.logistic(size=300) > 0
y = np.where(is_ill, "ill", "healthy")

# %%
# Two models
# ----------
# A lasso with a strong penalty takes about one gene of each process. A filter takes the 20 genes with the smallest
# p-values, and a decision tree is grown on them. The score reads probabilities, so those of the rows that each run left
# out are kept.

lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.03, random_state=0)
models = {
    "lasso": make_pipeline(StandardScaler(), lasso),
    "filter and tree": make_pipeline(
        SelectKBest(k=20), DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
    ),
}
found = {}
for name, model in models.items():
    runs = StabilityCV(
        model,
        cv=BootstrapSplit(50, stratify=True, random_state=0),
        scoring="neg_log_loss",
    ).fit(X, y)
    found[name] = prediction_stability(runs)
    print(f"{name}: {found[name].verdict}")

# %%
# One point for each patient: the risk by the model of all patients, and what 95% of the runs that had left the patient
# out say. Riley and Collins (2023) call it a prediction instability plot.

_, axes = plt.subplots(1, 2, figsize=(10.5, 5.2), layout="constrained")
for ax, (name, predictions) in zip(axes, found.items(), strict=True):
    PredictionInstabilityDisplay.from_predictions(predictions).plot(ax)
    ax.set_title(name, loc="right")

# %%
# The patients whose risk is least certain, by the mean absolute difference from the model of all patients:

columns = ["full", "mean", "range_from", "range_to", "mape", "flips"]
print(found["lasso"].frame().nlargest(3, "mape")[columns].round(2))

# %%
# **Answer**: not by themselves. The lasso lists other genes in nearly every run, and gives each patient nearly the same
# risk; the filter finds mostly the same 20 genes, and the risks of its tree depend on the sample. Whether
# the risks are *right* is another question: the scores answer it.

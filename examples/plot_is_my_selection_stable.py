"""
Is my selection stable?
=======================

A sparse model returns a list of features. Would it have returned the same list on other patients? Resample the
patients, select again each time, and compare.
"""

# %%
# One list
# --------
# An L1-penalised logistic regression on the breast cancer data of scikit-learn, 569 patients and 30 features.

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab import StabilityCV, stability_test

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
model = make_pipeline(StandardScaler(), lasso).fit(X, y)
selected = X.columns[lasso.coef_[0] != 0]
print(f"{len(selected)} features: {', '.join(selected)}")

# %%
# Fifty lists
# -----------
# :class:`~skstab.model_selection.StabilityCV` fits the same model on 50 bootstrap samples and keeps what each of them
# selected. Its stability is 1 when all lists are the same, and 0 on average when they are drawn at random.

runs = StabilityCV(model, scoring="accuracy", random_state=0).fit(X, y)
interval = runs.stability_interval_
print(
    f"stability {interval.estimate:.2f}, 95% interval from {interval.low:.2f} to {interval.high:.2f}"
)
print(f"accuracy on the patients left out: {runs.scores_['accuracy'].mean():.3f}")

# %%
# Nogueira et al. (2018) suggest to call a stability below 0.4 poor and one above 0.75 excellent, as is usual for
# measures of agreement. A test shows on which side of such a limit the stability is, given that there were only 50
# runs.

for limit in (0.4, 0.75):
    test = stability_test(runs.supports_, threshold=limit)
    print(f"p-value for 'the stability is at most {limit}': {test.pvalue:.3g}")

# %%
# What is not stable about it?
# ----------------------------
# The frequencies of selection, with intervals, separate reliable features from those that are selected only sometimes.

_ = runs.plot(top_k=20)

# %%
# A feature of the original list can be relied on when it is found again in more than half of all runs, its interval
# included.

table = runs.summary()[["frequency", "frequency_low", "frequency_high"]].loc[
    runs.get_feature_names_out()
]
print(table.assign(reliable=table["frequency_low"] > 0.5).round(2).to_string())

# %%
# **Answer**: fairly. The stability is 0.74, significantly better than poor, but not significantly excellent. Seven of
# the eight features are found again in most runs; *worst concavity* is in fewer than half of them, and should not be
# reported as a finding.

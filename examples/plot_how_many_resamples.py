"""
How many resamples do I need?
=============================

A stability is an average over runs, and more runs make it more precise. The interval shows how precise it is; in
this example it shrinks with the number of runs, and then decides when to stop.
"""

# %%
# The first of two hundred runs
# -----------------------------
# The result of the first 5, 10, 20, ... runs. Splits do not depend on how many there are, so these are exactly the
# numbers that a shorter analysis would have given.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab import BootstrapSplit, StabilityCV, stability_interval

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
model = make_pipeline(StandardScaler(), lasso)
runs = StabilityCV(model, cv=BootstrapSplit(200, stratify=True, random_state=0)).fit(
    X, y
)

sizes = np.array([5, 10, 20, 30, 50, 70, 100, 140, 200])
intervals = [stability_interval(runs.supports_[:size]) for size in sizes]
for size, interval in zip(sizes, intervals, strict=True):
    print(
        f"{size:4} runs: {interval.estimate:.3f}, from {interval.low:.3f} to {interval.high:.3f}"
    )

# %%
# The interval narrows like one over the square root of the number of runs: four times as many runs halve it.

_, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
estimates = np.array([interval.estimate for interval in intervals])
low, high = np.array([(interval.low, interval.high) for interval in intervals]).T
left.fill_between(sizes, low, high, alpha=0.25, label="95% interval")
left.plot(sizes, estimates, "o-", label="stability")
left.set(xlabel="runs", ylabel="stability", ylim=(0.5, 1))
left.legend()
width = high - low
right.loglog(sizes, width, "o-", label="width of the interval")
right.loglog(
    sizes, width[-1] * np.sqrt(sizes[-1] / sizes), "--", color="grey", label="1 / √runs"
)
right.set(xlabel="runs", ylabel="width")
_ = right.legend()

# %%
# Stopping when it is enough
# --------------------------
# `target_width` adds runs, ten at a time, until the interval is no wider than requested. `cv` then sets the maximum
# number of runs.

for target in (0.2, 0.1, 0.05):
    enough = StabilityCV(
        model,
        cv=BootstrapSplit(500, stratify=True, random_state=0),
        target_width=target,
    ).fit(X, y)
    interval = enough.stability_interval_
    print(
        f"width of at most {target}: {enough.n_splits_:3} runs, {interval.low:.3f} to {interval.high:.3f}"
    )

# %%
# **Answer**: ten runs for a first impression (± 0.1), 40 to 50 for a number in a paper, a hundred or more to
# compare selectors that are close. Or set the width with `target_width`. More runs do not compensate for few
# patients: the interval is about the runs on *this* data set, see :doc:`/uncertainty`.

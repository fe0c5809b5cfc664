"""How stable is the selection of an L1 logistic regression on the breast cancer data?

Fits the model on 50 bootstrap samples and prints several measures of its stability, each with its interval.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import resample

from skstab import get_measure, stability_interval

N_RESAMPLES = 50
MEASURES = ["nogueira", "jaccard", "dice", "phi", "pearson", "spearman", "importance_weighted"]


def coefficients(X, y, seed):
    """Fit on one bootstrap sample."""
    X, y = resample(X, y, random_state=seed)
    model = make_pipeline(StandardScaler(), LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0))
    return model.fit(X, y)[-1].coef_.ravel()


def row(measure, weights):
    """One measure with its 95% interval; measures of sets see which weights are not zero."""
    data = weights != 0 if get_measure(measure).kind == "subset" else np.abs(weights)
    interval = stability_interval(data, measure=measure)
    return {"measure": measure, "stability": interval.estimate, "low": interval.low, "high": interval.high}


def main():
    data = load_breast_cancer()
    weights = np.array([coefficients(data.data, data.target, seed) for seed in range(N_RESAMPLES)])
    supports = weights != 0

    print(f"L1 logistic regression on {N_RESAMPLES} bootstrap samples of {data.data.shape[0]} patients:")
    print(f"{supports.sum(axis=1).mean():.1f} of {supports.shape[1]} features selected on average\n")
    table = pd.DataFrame([row(measure, weights) for measure in MEASURES]).set_index("measure")
    print(table.round(3).to_string())

    frequencies = pd.Series(supports.mean(axis=0), data.feature_names).sort_values(ascending=False)
    print("\nSelected most often:")
    print(frequencies.head(10).map("{:.0%}".format).to_string())


if __name__ == "__main__":
    main()

"""How stable is the selection of an L1 logistic regression on the breast cancer data?

Fits the model on 50 bootstrap samples and prints several measures of its stability, each with its interval.
"""

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab import BootstrapSplit, StabilityCV

MEASURES = ["nogueira", "jaccard", "dice", "phi", "pearson", "spearman", "importance_weighted"]


def row(runs, measure):
    """One measure with its 95% interval."""
    interval = runs.interval(measure)
    return {"measure": measure, "stability": interval.estimate, "low": interval.low, "high": interval.high}


def main():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1)
    model = make_pipeline(StandardScaler(), lasso)
    cv = BootstrapSplit(50, stratify=True, random_state=0)
    runs = StabilityCV(model, cv=cv, scoring="accuracy", random_state=0, n_jobs=-1).fit(X, y)

    print(f"L1 logistic regression on {len(runs.supports_)} bootstrap samples of {len(X)} patients:")
    print(f"{runs.supports_.sum(axis=1).mean():.1f} of {X.shape[1]} features selected on average,")
    print(f"out-of-bag accuracy {runs.scores_['accuracy'].mean():.3f}\n")
    table = pd.DataFrame([row(runs, measure) for measure in MEASURES]).set_index("measure")
    print(table.round(3).to_string())

    columns = ["frequency", "frequency_low", "frequency_high", "importance_mean", "sign_consistency"]
    print("\nSelected most often:")
    print(runs.summary().nlargest(10, "frequency")[columns].round(2).to_string())


if __name__ == "__main__":
    main()

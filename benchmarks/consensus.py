"""What a consensus does to stability, replication and score, against its members, on six data sets.

Every selector selects ten features. Stability is that of 10 bootstraps, replication that of 10 pairs of disjoint
halves, and the score the AUC of a logistic regression of the ten features on the rows that a sample left out. Inside
each sample, a consensus makes 15 bootstraps of each of its members; "bagged" is the consensus of one member alone.

    python benchmarks/consensus.py --data ../shared/data
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import warnings
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab.feature_selection import HybridRFE, consensus_ranking
from skstab.metrics import nogueira_stability, replication_stability
from skstab.model_selection import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    StabilityCV,
)

SIZE, MOST_FEATURES, INNER, OUTER = 10, 2000, 15, 10
SETS = ("breast", "ionosphere", "sonar", "alon", "gravier", "golub")


def read(folder, name):
    if name == "breast":
        return load_breast_cancer(return_X_y=True)
    path = folder / f"{name}.npz"
    if not path.exists():
        return None
    with np.load(path) as stored:
        X, y = stored["X"].astype(float), stored["y"]
    varying = np.argsort(-X.var(axis=0), kind="stable")[:MOST_FEATURES]
    X = X[:, np.sort(varying[X.var(axis=0)[varying] > 0])]
    return X, np.unique(y, return_inverse=True)[1]


def members():
    lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=1.0, random_state=0)
    return {
        "filter": SelectKBest(k=SIZE),
        "lasso": SelectFromModel(lasso, max_features=SIZE, threshold=-np.inf),
        "RFE": HybridRFE(SIZE),
    }


def selections(X, y, seed):
    """What every selector selects from one sample."""
    cv = BootstrapSplit(INNER, stratify=True, random_state=seed)
    runs, chosen = {}, {}
    for name, selector in members().items():
        model = make_pipeline(clone(selector), LogisticRegression())
        fitted = StabilityCV(
            make_pipeline(StandardScaler(), model), cv=cv, scoring="roc_auc"
        ).fit(X, y)
        runs[name], chosen[name] = fitted.runs_, fitted.get_support()
    lists = {f"bagged {name}": ([part], "borda", None) for name, part in runs.items()}
    every = list(runs.values())
    lists |= {
        "consensus, borda": (every, "borda", None),
        "consensus, approval": (every, "approval", None),
        "consensus, by score": (every, "approval", "roc_auc"),
    }
    for name, (parts, method, weights) in lists.items():
        table = consensus_ranking(parts, method=method, weights=weights)
        first = table.index[:SIZE]
        chosen[name] = np.isin(runs["filter"].feature_names, list(first))
    return chosen


def auc(X, y, support, train, test):
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(X[train][:, support], y[train])
    return roc_auc_score(y[test], model.decision_function(X[test][:, support]))


def measured(X, y):
    samples = {
        "bootstraps": BootstrapSplit(OUTER, stratify=True, random_state=1),
        "halves": ComplementaryPairsSplit(OUTER, stratify=True, random_state=1),
    }
    found, scores = {}, {}
    for kind, splitter in samples.items():
        for number, (train, test) in enumerate(splitter.split(X, y)):
            for name, support in selections(X[train], y[train], number).items():
                found.setdefault(name, {}).setdefault(kind, []).append(support)
                if kind == "halves":
                    value = auc(X, y, support, train, test)
                    scores.setdefault(name, []).append(value)
    return {
        name: (
            nogueira_stability(np.array(of["bootstraps"])),
            replication_stability(np.array(of["halves"])),
            np.mean(scores[name]),
        )
        for name, of in found.items()
    }


def main():
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    folder = parser.parse_args().data
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in SETS:
        if (data := read(folder, name)) is None:
            print(f"{name}: not there")
            continue
        X, y = data
        table = measured(X, y)
        print(f"\n{name}, {X.shape[0]} × {X.shape[1]}")
        print(f"  {'':<22}{'bootstraps':>11}{'halves':>9}{'':>16}{'AUC':>7}")
        for selector, (stability, replication, score) in table.items():
            ends = f"({replication.low:.2f} to {replication.high:.2f})"
            print(
                f"  {selector:<22}{stability:>11.2f}{replication.estimate:>9.2f}"
                f"{ends:>16}{score:>7.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

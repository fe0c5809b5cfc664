"""Whether the feature report says what is known: clusters, copies and noise in simulated data and in a real set.

Simulated (`make_correlated_groups`): five groups of four correlated features, the others pure noise. Real: the colon
data of Alon et al. (1999), with noisy copies of its most frequently selected features and permuted columns added.
The real set is one of `../shared/data` (published with the microarray papers); without the file it is left out.

    python benchmarks/feature_report.py
"""

import os

os.environ.update(
    dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
)

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab.datasets import make_correlated_groups
from skstab.inspection import (
    co_selection,
    feature_clusters,
    feature_report,
    instability_shares,
)
from skstab.model_selection import BootstrapSplit, StabilityCV, assess_selector

N_SETS, N_GROUPS, GROUP_SIZE = 20, 5, 4
N_RELEVANT = N_GROUPS * GROUP_SIZE


def lasso(C):
    return make_pipeline(
        StandardScaler(),
        LogisticRegression(
            l1_ratio=1, solver="liblinear", C=C, random_state=0, tol=1e-3
        ),
    )


# -- simulated ---------------------------------------------------------------------------------------------------------


def simulated(seed):
    return make_correlated_groups(
        200,
        n_groups=N_GROUPS,
        group_size=GROUP_SIZE,
        n_others=200,
        group_mean=0.4,
        other_mean=0.0,
        correlation=0.95,
        random_state=seed,
    )


def columns_of(names):
    return np.array([int(name[1:]) for name in names], dtype=int)


def counts_of(report, groups):
    """Groups and noise features in the core, and relevant features whose cluster is below the threshold."""
    core = columns_of(report.core.index)
    relevant = report.frame().loc[[f"x{f}" for f in range(N_RELEVANT)]]
    return {
        "groups in the core": np.unique(groups[core[core < N_RELEVANT]]).size,
        "noise in the core": int((core >= N_RELEVANT).sum()),
        "relevant, but below the threshold": int(
            relevant["reason"].str.startswith("cluster").sum()
        ),
    }


def one_set(seed, C):
    X, y, groups = simulated(seed)
    cv = StabilityCV(
        lasso(C), cv=BootstrapSplit(100, stratify=True, random_state=seed)
    ).fit(X, y)
    found = {
        "clusters are the groups": float(
            np.array_equal(feature_clusters(X, threshold=0.85), groups)
        )
    }
    clusters = feature_clusters(X, threshold=0.85)
    for threshold in (0.5, 0.8):
        report = feature_report(cv, X, clusters=clusters, threshold=threshold)
        found |= {
            f"{name}, threshold {threshold}": value
            for name, value in counts_of(report, groups).items()
        }
    alone = feature_report(cv, threshold=0.5)
    core = columns_of(alone.core.index)
    found["groups in the core without clusters, threshold 0.5"] = np.unique(
        groups[core[core < N_RELEVANT]]
    ).size
    pairs = co_selection(cv, X).frame()
    together = groups[pairs["column"]] == groups[pairs["other_column"]]
    for kind in ("substitutes", "companions"):
        found[f"pairs of {kind} within groups"] = int(
            ((pairs["kind"] == kind) & together).sum()
        )
        found[f"pairs of {kind} between groups or noise"] = int(
            ((pairs["kind"] == kind) & ~together).sum()
        )
    shares = instability_shares(cv, groups=clusters)
    found["part of the instability due to substitutes"] = (
        np.nan if shares.due_to_substitutes is None else shares.due_to_substitutes
    )
    return found


def simulation():
    print(
        f"simulated: {N_SETS} data sets, n = 200, {N_GROUPS} groups of {GROUP_SIZE} (r = 0.95), 200 noise features;"
    )
    print("means over the data sets")
    tables = {C: [one_set(seed, C) for seed in range(N_SETS)] for C in (0.05, 0.1)}
    print(f"  {'':<52}" + "".join(f"{f'C = {C}':>10}" for C in tables))
    for name in tables[0.05][0]:
        print(
            f"  {name:<52}"
            + "".join(
                f"{np.nanmean([row[name] for row in rows]):>10.2f}"
                for rows in tables.values()
            )
        )
    with_assessment()


def with_assessment(n_sets=5):
    """The core with an assessment, where there is signal and where targets are drawn at random."""
    print(
        f"\n  with an assessment, C = 0.1, threshold 0.5, means over {n_sets} data sets"
    )
    for name, signal in (("signal", True), ("random targets", False)):
        rows = []
        for seed in range(n_sets):
            X, y, groups = simulated(seed)
            y = y if signal else np.random.default_rng(seed).permutation(y)
            found = assess_selector(lasso(0.1), X, y, random_state=seed)
            report = feature_report(found.runs, clusters=groups, assessment=found)
            rows.append(
                [len(report.core), counts_of(report, groups)["noise in the core"]]
            )
        size, noise = np.mean(rows, axis=0)
        print(f"  {name:<52}{size:>6.1f} in the core, {noise:.1f} of them noise")


# -- a real set --------------------------------------------------------------------------------------------------------


def real(path, n_copies=5, n_noise=200):
    if not path.exists():
        print(f"\n{path} is missing: the real set is left out")
        return
    held = np.load(path)
    X, y = np.log2(np.maximum(held["X"].astype(float), 1)), held["y"]
    rng = np.random.default_rng(0)
    model, cv = lasso(0.15), BootstrapSplit(200, stratify=True, random_state=0)
    before = StabilityCV(model, cv=cv).fit(X, y).selection_frequencies_
    top = np.argsort(-before)[:n_copies]
    copies = X[:, top] + 0.1 * X[:, top].std(axis=0) * rng.standard_normal(
        (len(X), n_copies)
    )
    noise = rng.permuted(X[:, rng.choice(X.shape[1], n_noise, replace=False)], axis=0)
    names = np.r_[
        [f"gene {f}" for f in range(X.shape[1])],
        [f"copy of gene {f}" for f in top],
        [f"noise {f}" for f in range(n_noise)],
    ]
    frame = pd.DataFrame(np.hstack([X, copies, noise]), columns=names)
    runs = StabilityCV(model, cv=cv).fit(frame, y)
    clusters = feature_clusters(frame)
    report, pairs = feature_report(runs, frame), co_selection(runs, frame).frame()
    table = report.frame()
    print(
        f"\nalon: {X.shape[0]} × {X.shape[1]}, {n_copies} copies and {n_noise} permuted columns added, 200 bootstraps"
    )
    print(
        f"  {'':<10}{'alone':>8}{'with its copy':>15}{'the copy':>10}{'cluster':>9}   reasons"
    )
    for f in top:
        own, copy = table.loc[f"gene {f}"], table.loc[f"copy of gene {f}"]
        why = " / ".join(reason or "core" for reason in (own["reason"], copy["reason"]))
        print(
            f"  gene {f:<5}{before[f]:>8.2f}{own['frequency']:>15.2f}{copy['frequency']:>10.2f}"
            f"{own['cluster_frequency']:>9.2f}   {why}"
        )
    n = X.shape[1]
    same = [clusters[f] == clusters[n + place] for place, f in enumerate(top)]
    print(f"  copies in the cluster of their gene: {sum(same)} of {n_copies}")
    found = pairs[pairs["kind"] == "substitutes"]
    print(
        f"  pairs of substitutes: {len(found)}, a gene and its copy in {is_copy(found).sum()} of them"
    )
    print(
        f"  permuted columns in the core: {sum(name.startswith('noise') for name in report.core.index)}"
    )
    print(f"  {report.sentence}")


def is_copy(pairs):
    return ("copy of " + pairs["feature"]) == pairs["other"]


if __name__ == "__main__":
    warnings.filterwarnings(
        "ignore", "all runs agree", RuntimeWarning
    )  # small blocks with random targets
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    simulation()
    real(parser.parse_args().data / "alon.npz")

"""Coverage of the parts of `multiverse`; level, power and coverage of `compare_cohorts`.

    python -m benchmarks.choices multiverse|level|power|interval

The settings marked "held out" were looked at only after the code was finished.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from skstab.model_selection import BootstrapSplit, Multiverse, multiverse
from skstab.runs import Runs

SOURCES = ["data", "choices", "interaction", "seed"]

# -- whose instability? ------------------------------------------------------------------------------------------------

# Standard deviations on the logit scale of choices, data, interaction; numbers of pipelines, resamples, seeds.
DESIGNS = {
    "choices alone": (2.0, 0.0, 0.0, 4, 20, 1),
    "data alone": (0.0, 2.0, 0.0, 4, 20, 1),
    "interaction alone": (0.0, 0.0, 2.0, 4, 20, 1),
    "all, few resamples": (1.5, 1.0, 1.0, 3, 10, 2),
    "all": (1.5, 1.0, 1.0, 3, 30, 2),
    "two pipelines": (1.0, 0.5, 1.0, 2, 50, 1),
    "held out: many pipelines": (1.0, 1.5, 0.5, 8, 15, 1),
    "held out: little of all": (0.3, 0.3, 0.3, 4, 25, 2),
}


def drawn(rng, effects, n_resamples, n_seeds, scales):
    """A table of resamples × pipelines × seeds × features of a crossed design on the logit scale."""
    level, choices = effects
    _, of_data, of_both = scales
    a, d = choices.shape
    logits = (
        level
        + choices[:, None]
        + of_data * rng.standard_normal((n_resamples, 1, 1, d))
        + of_both * rng.standard_normal((n_resamples, a, 1, d))
    )
    chances = 1 / (1 + np.exp(-logits))
    return rng.random((n_resamples, a, n_seeds, d)) < chances


def of_table(table):
    pipelines = range(table.shape[1])
    held = {a: [Runs(table[:, a, s]) for s in range(table.shape[2])] for a in pipelines}
    return Multiverse(held)


def hits(found, truth):
    shares = found.shares()
    is_in = (shares["low"] <= truth) & (truth <= shares["high"])
    return is_in.astype(float).where(shares["part"].notna())


def simulated_design(name, repeats=300, d=60):
    of_choices, *scales, a, r, s = DESIGNS[name]
    rng = np.random.default_rng(list(DESIGNS).index(name))
    level = np.repeat([2.0, -3.0], [8, d - 8])
    effects = level, of_choices * rng.standard_normal((a, d))
    scales = (of_choices, *scales)
    truth = of_table(drawn(rng, effects, 1500, s, scales)).shares()["part"]
    tables = [of_table(drawn(rng, effects, r, s, scales)) for _ in range(repeats)]
    return summary(name, tables, truth)


def summary(name, found, truth):
    parts = pd.DataFrame([one.shares()["part"] for one in found])
    covered = pd.DataFrame([hits(one, truth) for one in found]).mean()
    columns = {"setting": name}
    for source in SOURCES:
        columns[f"{source}: truth"] = truth[source]
        columns[f"{source}: mean"] = parts[source].mean()
        columns[f"{source}: coverage"] = covered[source]
    return columns


def held_out_pipelines(repeats=300, r=20):
    """Bootstraps of breast cancer: subsets of 600 resamples against all of them."""
    X, y = load_breast_cancer(return_X_y=True)
    lasso = LogisticRegression(l1_ratio=1, solver="liblinear", C=0.1, random_state=0)
    pipelines = {
        "lasso": make_pipeline(StandardScaler(), lasso),
        "ranks": make_pipeline(QuantileTransformer(n_quantiles=100), lasso),
        "F": SelectKBest(k=8),
    }
    whole = multiverse(pipelines, X, y, cv=BootstrapSplit(600, random_state=0))
    rng = np.random.default_rng(0)
    found = []
    for _ in range(repeats):
        rows = rng.choice(600, r, replace=False)
        held = {
            name: [runs.take(rows) for runs in held]
            for name, held in whole.runs.items()
        }
        found.append(Multiverse(held))
    return summary("held out: breast cancer", found, whole.shares()["part"])


def of_multiverse():
    rows = [simulated_design(name) for name in DESIGNS]
    return pd.DataFrame([*rows, held_out_pipelines()])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    pd.set_option("display.width", 250, "display.max_columns", 30)
    table = {"multiverse": of_multiverse}[sys.argv[1]]()
    sys.stdout.write(table.round(3).to_string() + "\n")

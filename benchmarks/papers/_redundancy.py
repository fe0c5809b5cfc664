"""The penalty of a sparse logistic regression on data with redundant features, by likelihood and stability.

The experiment of nogueira2016, section 5, and nogueira2018, section 6.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from _tables import section, show
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab import (
    BootstrapSplit,
    ParetoRefit,
    StabilityCV,
    WholeSampleSplit,
    stability_scoring,
)
from skstab.datasets import make_redundant_classification

N_ROWS, N_RELEVANT = 1000, 50
SCORE = "neg_log_loss"


def halves(redundancy: float, seed: int = 0) -> list[tuple[Any, Any]]:
    """Rows for the choice of the penalty, and rows for the final model."""
    X, y = make_redundant_classification(
        2 * N_ROWS, redundancy=redundancy, random_state=seed
    )
    return [(X[:N_ROWS], y[:N_ROWS]), (X[N_ROWS:], y[N_ROWS:])]


def lasso(penalty: float = 1.0) -> Any:
    """Logistic regression with the mean loss + penalty · ‖w‖₁ on features of unit variance, as in the papers' code."""
    model = LogisticRegression(
        l1_ratio=1, solver="liblinear", C=inverse(penalty), random_state=0
    )
    return make_pipeline(StandardScaler(), model)


def inverse(penalty: Any) -> Any:
    """The C of a penalty λ, which weighs against the mean loss of a row."""
    return 1 / (N_ROWS * penalty)


def search(
    estimator: Any,
    grid: list[dict[str, Any]],
    rows: tuple[Any, Any],
    *,
    n_runs: int,
    measure: str,
) -> Any:
    """Likelihood and stability of every candidate on the same bootstrap samples; the knee of the front is chosen."""
    cv = BootstrapSplit(n_runs, random_state=0)
    return GridSearchCV(
        StabilityCV(estimator, cv=cv, scoring=[SCORE, "accuracy"], measure=measure),
        [
            {
                f"estimator__logisticregression__{name}": values
                for name, values in part.items()
            }
            for part in grid
        ],
        cv=WholeSampleSplit(),
        scoring=stability_scoring([measure]),
        refit=ParetoRefit(SCORE, measure),
        n_jobs=2,
    ).fit(*rows)


def search_lasso(
    penalties: Any, rows: tuple[Any, Any], *, n_runs: int, measure: str = "nogueira"
) -> Any:
    return search(
        lasso(), [{"C": inverse(penalties)}], rows, n_runs=n_runs, measure=measure
    )


def column(found: Any, name: str) -> Any:
    """A metric of all candidates of a search."""
    return np.asarray(found.cv_results_[f"mean_test_{name}"])


def penalty_of(found: Any, index: int) -> float:
    return float(
        inverse(found.cv_results_["params"][index]["estimator__logisticregression__C"])
    )


def runs_of(found: Any, index: int, rows: tuple[Any, Any]) -> Any:
    """The runs of a candidate, fitted again: a search keeps those of the chosen one only."""
    runs = StabilityCV(**found.estimator.get_params(deep=False))
    return runs.set_params(**found.cv_results_["params"][index], n_jobs=2).fit(*rows)


def errors_of_selection(model: Any, rows: tuple[Any, Any]) -> tuple[int, int]:
    """False positives and false negatives of a model fitted on these rows."""
    selected = model.fit(*rows)[-1].coef_[0] != 0
    return int(selected[N_RELEVANT:].sum()), int((~selected[:N_RELEVANT]).sum())


def choices(found: Any, measure: str = "nogueira") -> dict[str, int]:
    """Candidates of the best likelihood, and of the best stability among all, which ends the Pareto front."""
    return {
        "likelihood": int(column(found, SCORE).argmax()),
        "both": int(column(found, measure).argmax()),
    }


# -- the final model ---------------------------------------------------------------------------------------------------


def errors_on_other_samples(penalty: float, redundancy: float, n_samples: int) -> Any:
    """FP and FN of the final model on samples of which the published one is one, samples × 2."""
    samples = (
        make_redundant_classification(N_ROWS, redundancy=redundancy, random_state=seed)
        for seed in range(1000, 1000 + n_samples)
    )
    return np.array([errors_of_selection(lasso(penalty), rows) for rows in samples])


def row_of_errors(
    published: Any,
    penalty: float,
    redundancy: float,
    rows: tuple[Any, Any],
    n_samples: int,
) -> Any:
    """Published and measured errors of a final model, and between which values those of other samples lie."""
    measured = errors_of_selection(lasso(penalty), rows)
    low, high = np.percentile(
        errors_on_other_samples(penalty, redundancy, n_samples), [5, 95], axis=0
    )
    within = np.all((low <= published) & (published <= high))
    return {
        "λ": f"{penalty:.4f}",
        "published FP, FN": "{}, {}".format(*published),
        "measured": "{}, {}".format(*measured),
        "distance": "{:+}, {:+}".format(*np.subtract(measured, published)),
        f"5–95% of {n_samples} samples": "{:.0f}–{:.0f}, {:.0f}–{:.0f}".format(
            *np.ravel([low, high], "F")
        ),
        "published is within": "yes" if within else "**no**",
    }


def table_of_errors(
    text: str,
    published: Any,
    searches: Any,
    finals: Any,
    *,
    measure: str,
    n_samples: int,
) -> None:
    """Print false positives and negatives of the final models; searches and final rows are by redundancy."""
    section(text)
    rows = []
    for (redundancy, optimised), errors in published.items():
        found = searches[redundancy]
        penalty = penalty_of(found, choices(found, measure)[optimised])
        row = row_of_errors(errors, penalty, redundancy, finals[redundancy], n_samples)
        rows.append({"ρ": redundancy, "optimised": optimised, **row})
    show(pd.DataFrame(rows))

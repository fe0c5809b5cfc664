"""Simulations that several papers share.

Runs whose true stability is known (nogueira2018, section 5; lopez2024, section 4), and the search for the penalty of a
sparse logistic regression on data with redundant features (nogueira2016, section 5; nogueira2018, section 6.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstab import BootstrapSplit, ParetoRefit, StabilityCV, WholeSampleSplit, stability_scoring
from skstab.datasets import make_redundant_classification

N_ROWS, N_RELEVANT = 1000, 50
SCORE = "neg_log_loss"


# -- runs of known stability -----------------------------------------------------------------------------------------


def probabilities(stability: float, *, n_features: int = 100, mean: float = 0.3) -> Any:
    """Selection probabilities: quantiles of Beta(a, b) have the stability 1 / (a + b + 1), up to the steps between."""
    total = 1 / stability - 1
    return stats.beta(mean * total, (1 - mean) * total).ppf((np.arange(n_features) + 0.5) / n_features)


def true_stability(p: Any) -> float:
    return float(1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean())))


def draw_runs(p: Any, n_runs: int, seed: Any) -> Any:
    """Supports of independent runs that select feature f with probability p_f."""
    return np.random.default_rng(seed).random((n_runs, p.size)) < p


# -- the penalty of a sparse logistic regression ---------------------------------------------------------------------


def halves(redundancy: float, seed: int = 0) -> list[tuple[Any, Any]]:
    """Rows for the choice of the penalty, and rows for the final model."""
    X, y = make_redundant_classification(2 * N_ROWS, redundancy=redundancy, random_state=seed)
    return [(X[:N_ROWS], y[:N_ROWS]), (X[N_ROWS:], y[N_ROWS:])]


def lasso(penalty: float = 1.0) -> Any:
    """Logistic regression with the mean loss + penalty · ‖w‖₁ on features of unit variance, as in the papers' code."""
    model = LogisticRegression(l1_ratio=1, solver="liblinear", C=inverse(penalty), random_state=0)
    return make_pipeline(StandardScaler(), model)


def inverse(penalty: Any) -> Any:
    """The C of a penalty λ, which weighs against the mean loss of a row."""
    return 1 / (N_ROWS * penalty)


def search(estimator: Any, grid: dict[str, Any], rows: tuple[Any, Any], *, n_runs: int, measure: str) -> Any:
    """Likelihood and stability of every candidate on the same bootstrap samples; the knee of the front is chosen."""
    cv = BootstrapSplit(n_runs, random_state=0)
    return GridSearchCV(
        StabilityCV(estimator, cv=cv, scoring=[SCORE, "accuracy"], measure=measure),
        {f"estimator__logisticregression__{name}": values for name, values in grid.items()},
        cv=WholeSampleSplit(),
        scoring=stability_scoring([measure]),
        refit=ParetoRefit(SCORE, measure),
        n_jobs=2,
    ).fit(*rows)


def search_lasso(penalties: Any, rows: tuple[Any, Any], *, n_runs: int, measure: str = "nogueira") -> Any:
    return search(lasso(), {"C": inverse(penalties)}, rows, n_runs=n_runs, measure=measure)


def column(found: Any, name: str) -> Any:
    """A metric of all candidates of a search."""
    return np.asarray(found.cv_results_[f"mean_test_{name}"])


def penalty_of(found: Any, index: int) -> float:
    return float(inverse(found.cv_results_["params"][index]["estimator__logisticregression__C"]))


def frequencies(found: Any, index: int, rows: tuple[Any, Any]) -> Any:
    """The runs of a candidate, fitted again: a search keeps those of the chosen one only."""
    runs = StabilityCV(**found.estimator.get_params(deep=False))
    return runs.set_params(**found.cv_results_["params"][index], n_jobs=2).fit(*rows)


def errors_of_selection(model: Any, rows: tuple[Any, Any]) -> tuple[int, int]:
    """False positives and false negatives of a model fitted on these rows."""
    selected = model.fit(*rows)[-1].coef_[0] != 0
    return int(selected[N_RELEVANT:].sum()), int((~selected[:N_RELEVANT]).sum())

"""The selectors that a report compares, each with a few settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, f_regression
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from skstab.feature_selection import HybridRFE, StabilitySelection

N_SETTINGS = 5
_MOST_FEATURES = 50


@dataclass(frozen=True)
class LearningTask:
    """What the settings depend on; `spread` is the standard deviation of a numeric target."""

    n_rows: int
    n_features: int
    n_classes: int
    spread: float
    seed: int

    @property
    def sizes(self) -> list[int]:
        """Numbers of features to select: a few, on a logarithmic scale."""
        fewest = min(3, max(1, self.n_features // 3))
        most = max(fewest, min(2 * self.n_features // 3, _MOST_FEATURES))
        return sorted({int(size) for size in np.geomspace(fewest, most, N_SETTINGS).round()})

    @property
    def strengths(self) -> list[tuple[str, float]]:
        """Name and values of the penalty of a sparse model, from strong to weak, for standardised features.

        The loss of a logistic regression is a sum over the rows; that of the lasso is a mean, in units of the target.
        """
        if self.n_classes:
            return [("C", _rounded(c / self.n_rows)) for c in (6, 15, 50, 150, 500)]
        return [("alpha", _rounded(share * self.spread)) for share in (0.5, 0.2, 0.1, 0.05, 0.02)]

    def model(self) -> Any:
        """Model on what a filter selected."""
        return LogisticRegression(max_iter=1000) if self.n_classes else Ridge()

    def lasso(self, **penalty: float) -> Any:
        """Sparse linear model."""
        if not self.n_classes:
            return Lasso(max_iter=10_000, **penalty)
        model = LogisticRegression(l1_ratio=1, solver="liblinear", random_state=self.seed, **penalty)
        return model if self.n_classes == 2 else OneVsRestClassifier(model)

    def elastic_net(self, **penalty: float) -> Any:
        """Linear model that is less sparse: correlated features enter together."""
        if not self.n_classes:
            return ElasticNet(l1_ratio=0.5, max_iter=10_000, **penalty)
        options = {"solver": "saga", "tol": 1e-3, "max_iter": 1000, "random_state": self.seed}
        return LogisticRegression(l1_ratio=0.5, **options, **penalty)

    def forest(self) -> Any:
        """Small random forest."""
        return RandomForestClassifier(50) if self.n_classes else RandomForestRegressor(50)


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")


def _lasso(p: LearningTask) -> dict[str, Any]:
    return {f"{name}={value:g}": p.lasso(**{name: value}) for name, value in p.strengths}


def _elastic_net(p: LearningTask) -> dict[str, Any]:
    return {f"{name}={value:g}": p.elastic_net(**{name: value}) for name, value in p.strengths}


def _rfe(p: LearningTask) -> dict[str, Any]:
    return {f"k={k}": RFE(p.model(), n_features_to_select=k, step=0.1) for k in p.sizes}


def _hybrid_rfe(p: LearningTask) -> dict[str, Any]:
    options = {} if p.n_classes else {"loss": "squared", "criterion": f_regression}
    C = _rounded(50 / p.n_rows)
    settings = sorted({(k, n_stable) for k in p.sizes for n_stable in (k // 2, k)})
    return {f"k={k}, N={n}": HybridRFE(k, n_stable_features=n, C=C, **options) for k, n in settings}


def _stability_selection(p: LearningTask) -> dict[str, Any]:
    q = min(max(2, round(np.sqrt(2 * p.n_features))), p.n_features - 1)
    options: dict[str, Any] = {"q": q, "assumption": "none", "n_resamples": 20, "n_values": 10}
    if p.n_classes > 2:  # the path of a model inside another one is not found automatically
        options |= {"param_name": "estimator__C", "param_values": [value for _, value in p.strengths]}
    return {
        f"threshold={share}": make_pipeline(StabilitySelection(p.lasso(), threshold=share, **options), p.model())
        for share in (0.6, 0.75, 0.9)
    }


def _forest(p: LearningTask) -> dict[str, Any]:
    everything = -np.inf  # the number of features decides, not a threshold
    return {
        f"k={k}": make_pipeline(SelectFromModel(p.forest(), max_features=k, threshold=everything), p.forest())
        for k in p.sizes
    }


def _k_best(p: LearningTask) -> dict[str, Any]:
    options = {} if p.n_classes else {"score_func": f_regression}
    return {f"k={k}": make_pipeline(SelectKBest(k=k, **options), p.model()) for k in p.sizes}


SETTINGS: dict[str, Callable[[LearningTask], dict[str, Any]]] = {
    "lasso": _lasso,
    "elastic-net": _elastic_net,
    "rfe": _rfe,
    "hybrid-rfe": _hybrid_rfe,
    "stability-selection": _stability_selection,
    "forest": _forest,
    "k-best": _k_best,
}


class Candidate(NamedTuple):
    """One setting of a selector, which is its family."""

    family: str
    setting: str
    estimator: Any

    @property
    def label(self) -> str:
        """What the report calls it."""
        return f"{self.family} ({self.setting})"


def candidates(names: list[str], task: LearningTask) -> list[Candidate]:
    """Every setting of the named selectors."""
    return [
        Candidate(name, setting, estimator) for name in names for setting, estimator in SETTINGS[name](task).items()
    ]

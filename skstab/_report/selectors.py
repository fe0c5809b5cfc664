"""The selectors that a report compares, each with a few settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    f_classif,
    f_regression,
)
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from skstab._checks import is_estimator
from skstab._report.survival import CoxLasso, CoxRidge, cox_score
from skstab._report.words import (
    DEFAULT_SELECTORS,
    FOR_SURVIVAL,
    SELECTORS,
    UserError,
    plural,
)
from skstab.feature_selection import HybridRFE, StabilitySelection

STEP = "select"
N_SETTINGS = 5
_MOST_FEATURES = 50


@dataclass(frozen=True)
class LearningTask:
    """What the settings depend on; `spread` is the standard deviation of a numeric target.

    That of survival is the standard deviation of the martingale residuals.
    """

    n_rows: int
    n_features: int
    n_classes: int
    spread: float
    seed: int
    is_survival: bool = False

    @property
    def sizes(self) -> list[int]:
        """Numbers of features to select: at most two thirds, and again and again half of that."""
        most = max(1, min(2 * self.n_features // 3, _MOST_FEATURES))
        return sorted({most // 2**times for times in range(N_SETTINGS)} - {0})

    @property
    def strengths(self) -> list[tuple[str, float]]:
        """Name and values of the penalty of a sparse model, from strong to weak, for standardised features.

        The loss of a logistic regression is a sum over the rows; that of the lasso is a mean, in units of the target.
        """
        if self.n_classes:
            return [("C", _rounded(c / self.n_rows)) for c in (6, 15, 50, 150, 500)]
        return [
            ("alpha", _rounded(share * self.spread))
            for share in (0.5, 0.2, 0.1, 0.05, 0.02)
        ]

    def model(self) -> Any:
        """Model on what a filter selected."""
        if self.is_survival:
            return CoxRidge()
        return LogisticRegression(max_iter=1000) if self.n_classes else Ridge()

    def lasso(self, **penalty: float) -> Any:
        """Sparse linear model."""
        if self.is_survival:
            return CoxLasso(**penalty)
        if not self.n_classes:
            return Lasso(max_iter=10_000, **penalty)
        model = LogisticRegression(
            l1_ratio=1, solver="liblinear", random_state=self.seed, **penalty
        )
        return model if self.n_classes == 2 else OneVsRestClassifier(model)

    def elastic_net(self, **penalty: float) -> Any:
        """Linear model that is less sparse: correlated features enter together."""
        if not self.n_classes:
            return ElasticNet(l1_ratio=0.5, max_iter=10_000, **penalty)
        options = {
            "solver": "saga",
            "tol": 1e-3,
            "max_iter": 1000,
            "random_state": self.seed,
        }
        return LogisticRegression(l1_ratio=0.5, **options, **penalty)

    def forest(self) -> Any:
        """Small random forest."""
        return (
            RandomForestClassifier(50) if self.n_classes else RandomForestRegressor(50)
        )


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")


# -- settings of each selector -----------------------------------------------------------------------------------------


class Settings(NamedTuple):
    """A selector and the parameters of each of its settings, by what these are called."""

    estimator: Any
    params: dict[str, dict[str, Any]]


def _penalties(p: LearningTask, estimator: Any) -> Settings:
    prefix = "estimator__" if isinstance(estimator, OneVsRestClassifier) else ""
    word = "inverse penalty" if p.n_classes else "penalty"
    params = {
        f"{word} {name}={value:g}": {f"{prefix}{name}": value}
        for name, value in p.strengths
    }
    return Settings(estimator, params)


def _lasso(p: LearningTask) -> Settings:
    return _penalties(p, p.lasso())


def _elastic_net(p: LearningTask) -> Settings:
    return _penalties(p, p.elastic_net())


def _sized(p: LearningTask, estimator: Any, parameter: str) -> Settings:
    return Settings(estimator, {plural(k, "feature"): {parameter: k} for k in p.sizes})


def _rfe(p: LearningTask) -> Settings:
    return _sized(p, RFE(p.model(), step=0.1), "n_features_to_select")


def _hybrid_rfe(p: LearningTask) -> Settings:
    # Columns of a table have different units: their variances, behind a scaler, say nothing.
    options: dict[str, Any] = {"criterion": "welch"}
    if not p.n_classes:
        options = {"loss": "squared", "criterion": f_regression}
    settings = sorted({(k, n_stable) for k in p.sizes for n_stable in (k // 2, k)})
    return Settings(
        HybridRFE(C=_rounded(50 / p.n_rows), **options),
        {
            f"{plural(k, 'feature')}, {n} by the filter": {
                "n_features_to_select": k,
                "n_stable_features": n,
            }
            for k, n in settings
        },
    )


def _stability_selection(p: LearningTask) -> Settings:
    q = min(max(2, round(np.sqrt(2 * p.n_features))), p.n_features - 1)
    options: dict[str, Any] = {
        "q": q,
        "assumption": "none",
        "n_resamples": 20,
        "n_values": 10,
    }
    if (
        p.n_classes > 2
    ):  # the path of a model inside another one is not found automatically
        options |= {
            "param_name": "estimator__C",
            "param_values": [value for _, value in p.strengths],
        }
    estimator = make_pipeline(StabilitySelection(p.lasso(), **options), p.model())
    return Settings(
        estimator,
        {
            f"threshold {share}": {"stabilityselection__threshold": share}
            for share in (0.6, 0.75, 0.9)
        },
    )


def _forest(p: LearningTask) -> Settings:
    everything = -np.inf  # the number of features decides, not a threshold
    selector = SelectFromModel(p.forest(), max_features=1, threshold=everything)
    return _sized(
        p, make_pipeline(selector, p.forest()), "selectfrommodel__max_features"
    )


def _k_best(p: LearningTask) -> Settings:
    score = cox_score if p.is_survival else f_classif if p.n_classes else f_regression
    return _sized(p, make_pipeline(SelectKBest(score), p.model()), "selectkbest__k")


SETTINGS: dict[str, Callable[[LearningTask], Settings]] = {
    "lasso": _lasso,
    "elastic-net": _elastic_net,
    "rfe": _rfe,
    "hybrid-rfe": _hybrid_rfe,
    "stability-selection": _stability_selection,
    "forest": _forest,
    "k-best": _k_best,
}

# What a reader who knows none of them needs.
ABOUT = {
    "lasso": "a linear model with a penalty on the sum of the absolute weights, which sets most of them to zero",
    "elastic-net": "the lasso with a second penalty, by which correlated features enter together",
    "rfe": "recursive feature elimination: a linear model is fitted, those with the smallest weights are dropped "
    "(a tenth of all), and so on",
    "hybrid-rfe": "the same elimination, after a filter that looks at each feature alone has chosen some to keep",
    "stability-selection": "the lasso on many halves of the rows; features that many of them select are kept",
    "forest": "the features that a random forest uses most",
    "k-best": "the features most related to the target, each looked at alone by a test, then a linear model on them",
}


class Candidate(NamedTuple):
    """One setting of a selector, which is its family: an estimator that all of these share, and the parameters."""

    family: str
    setting: str
    base: Any
    params: dict[str, Any]

    @property
    def label(self) -> str:
        """What the report calls it."""
        return f"{self.family} ({self.setting})" if self.setting else self.family

    @property
    def estimator(self) -> Any:
        """The selector with its parameters."""
        return clone(self.base).set_params(**self.params)

    @property
    def grid(self) -> dict[str, list[Any]]:
        """The setting as a grid of one candidate, for a pipeline with a step `STEP`."""
        return {
            STEP: [self.base],
            **{f"{STEP}__{name}": [value] for name, value in self.params.items()},
        }


def candidates(selectors: Any, task: LearningTask) -> list[Candidate]:
    """Every setting of the named selectors, or the selectors of a dict as they are."""
    if isinstance(selectors, Mapping):
        return [
            Candidate(str(name), "", check_estimator(selector), {})
            for name, selector in selectors.items()
        ]
    made = {name: SETTINGS[name](task) for name in _check_names(selectors, task)}
    return [
        Candidate(name, setting, settings.estimator, params)
        for name, settings in made.items()
        for setting, params in settings.params.items()
    ]


def check_estimator(selector: Any) -> Any:
    """Return a selector of the user, which must have fit and get_params."""
    if not is_estimator(selector):
        raise UserError(
            f"selectors must be estimators with fit and get_params, got {selector!r}"
        )
    return selector


def _check_names(names: Any, task: LearningTask) -> list[str]:
    if names is None:
        names = FOR_SURVIVAL if task.is_survival else DEFAULT_SELECTORS
    expected = (
        f"selectors must be a dict of estimators, or a list of {', '.join(SELECTORS)}"
    )
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise UserError(f"{expected}; got {names!r}")
    listed = list(dict.fromkeys(names))
    unknown = [name for name in listed if name not in SELECTORS]
    if unknown or not listed:
        raise UserError(f"{expected}; got {unknown[0] if unknown else names!r}")
    unfit = [name for name in listed if task.is_survival and name not in FOR_SURVIVAL]
    if unfit:
        raise UserError(
            f"selector {unfit[0]} has no model of survival; use {', '.join(FOR_SURVIVAL)}"
        )
    return listed

"""Resampling a selector, and choosing by accuracy and stability."""

from skstab.model_selection._assess import assess_selector
from skstab.model_selection._assessment import Chance, ScoreEstimate, SelectorAssessment
from skstab.model_selection._cohorts import CohortComparison, compare_cohorts
from skstab.model_selection._compare import compare_selectors
from skstab.model_selection._comparison import SelectorComparison
from skstab.model_selection._decoy_evidence import DecoyEvidence, decoy_evidence
from skstab.model_selection._multiverse import Multiverse, multiverse
from skstab.model_selection._pareto import ParetoRefit, pareto_front
from skstab.model_selection._predictions import (
    PredictionStability,
    prediction_stability,
)
from skstab.model_selection._profile import stability_profile
from skstab.model_selection._recommend import Recommendation
from skstab.model_selection._scorers import make_stability_scorer, stability_scoring
from skstab.model_selection._search import StabilitySearchCV
from skstab.model_selection._search_table import search_table
from skstab.model_selection._split import (
    BootstrapSplit,
    ComplementaryPairsSplit,
    DisjointBlocksSplit,
    WholeSampleSplit,
)
from skstab.model_selection._stability_cv import StabilityCV
from skstab.model_selection._unpacking import collect_runs
from skstab.runs import collect_supports

__all__ = [
    "BootstrapSplit",
    "Chance",
    "CohortComparison",
    "ComplementaryPairsSplit",
    "DecoyEvidence",
    "DisjointBlocksSplit",
    "Multiverse",
    "ParetoRefit",
    "PredictionStability",
    "Recommendation",
    "ScoreEstimate",
    "SelectorAssessment",
    "SelectorComparison",
    "StabilityCV",
    "StabilitySearchCV",
    "WholeSampleSplit",
    "assess_selector",
    "collect_runs",
    "collect_supports",
    "compare_cohorts",
    "compare_selectors",
    "decoy_evidence",
    "make_stability_scorer",
    "multiverse",
    "pareto_front",
    "prediction_stability",
    "search_table",
    "stability_profile",
    "stability_scoring",
]

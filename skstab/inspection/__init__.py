"""Importances of any model, and pictures of stability."""

from skstab._displays import DISPLAYS
from skstab.inspection._calibration_display import CalibrationDisplay
from skstab.inspection._clusters import feature_clusters
from skstab.inspection._co_selection import CoSelection, co_selection
from skstab.inspection._co_selection_display import CoSelectionDisplay
from skstab.inspection._cohorts_display import CohortComparisonDisplay
from skstab.inspection._comparison_display import StabilityComparisonDisplay
from skstab.inspection._contributions import (
    ImportanceContributions,
    importance_contributions,
)
from skstab.inspection._evidence_display import FeatureEvidenceDisplay
from skstab.inspection._feature_report import FeatureReport, feature_report
from skstab.inspection._flip import flip_importance
from skstab.inspection._fragility import Fragility, FragilityDisplay, fragility
from skstab.inspection._importance import linear_importance, margin_importance
from skstab.inspection._instability import InstabilityShares, instability_shares
from skstab.inspection._models import model_frequencies
from skstab.inspection._multiverse_display import MultiverseDisplay
from skstab.inspection._oob import oob_permutation_importance
from skstab.inspection._pareto_display import ParetoFrontDisplay
from skstab.inspection._path_display import StabilityPathDisplay
from skstab.inspection._predictions_display import PredictionInstabilityDisplay
from skstab.inspection._profile_display import StabilityProfileDisplay
from skstab.inspection._rank_display import RankDisplay
from skstab.inspection._reference import unpenalised_reference
from skstab.inspection._replication_display import ReplicationDisplay
from skstab.inspection._selection_frequency import SelectionFrequencyDisplay
from skstab.inspection._split_pvalues import split_pvalues
from skstab.inspection._stability_map import FeatureStabilityMapDisplay
from skstab.inspection._stability_report import StabilityReport
from skstab.inspection._substitutes import substitutes
from skstab.inspection._support_raster import SupportRasterDisplay
from skstab.model_selection import decoy_evidence

__all__ = [
    "CalibrationDisplay",
    "CoSelection",
    "CoSelectionDisplay",
    "CohortComparisonDisplay",
    "FeatureEvidenceDisplay",
    "FeatureReport",
    "FeatureStabilityMapDisplay",
    "Fragility",
    "FragilityDisplay",
    "ImportanceContributions",
    "InstabilityShares",
    "MultiverseDisplay",
    "ParetoFrontDisplay",
    "PredictionInstabilityDisplay",
    "RankDisplay",
    "ReplicationDisplay",
    "SelectionFrequencyDisplay",
    "StabilityComparisonDisplay",
    "StabilityPathDisplay",
    "StabilityProfileDisplay",
    "StabilityReport",
    "SupportRasterDisplay",
    "co_selection",
    "decoy_evidence",
    "feature_clusters",
    "feature_report",
    "flip_importance",
    "fragility",
    "importance_contributions",
    "instability_shares",
    "linear_importance",
    "margin_importance",
    "model_frequencies",
    "oob_permutation_importance",
    "split_pvalues",
    "substitutes",
    "unpenalised_reference",
]

# What objects of lower rooms are drawn by.
DISPLAYS.update(
    {
        "assessment": ReplicationDisplay.from_assessment,
        "cohorts": CohortComparisonDisplay.from_cohorts,
        "comparison": StabilityComparisonDisplay.from_comparison,
        "multiverse": MultiverseDisplay.from_multiverse,
        "predictions": PredictionInstabilityDisplay.from_predictions,
        "runs: frequencies": SelectionFrequencyDisplay.from_estimator,
        "runs: map": FeatureStabilityMapDisplay.from_estimator,
        "runs: ranks": RankDisplay.from_runs,
        "runs: raster": SupportRasterDisplay.from_estimator,
        "search": ParetoFrontDisplay.from_search,
    }
)

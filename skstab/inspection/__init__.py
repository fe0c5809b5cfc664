"""Importances of any model, and pictures of stability."""

from skstab.inspection._comparison_display import StabilityComparisonDisplay
from skstab.inspection._flip import flip_importance
from skstab.inspection._importance import linear_importance, margin_importance
from skstab.inspection._pareto_display import ParetoFrontDisplay
from skstab.inspection._path_display import StabilityPathDisplay
from skstab.inspection._profile_display import StabilityProfileDisplay
from skstab.inspection._selection_frequency import SelectionFrequencyDisplay
from skstab.inspection._stability_map import FeatureStabilityMapDisplay
from skstab.inspection._support_raster import SupportRasterDisplay

__all__ = [
    "FeatureStabilityMapDisplay",
    "ParetoFrontDisplay",
    "SelectionFrequencyDisplay",
    "StabilityComparisonDisplay",
    "StabilityPathDisplay",
    "StabilityProfileDisplay",
    "SupportRasterDisplay",
    "flip_importance",
    "linear_importance",
    "margin_importance",
]

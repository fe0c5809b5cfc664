"""Selectors designed for stability, and filters that scikit-learn lacks."""

from skstab.feature_selection._bounds import StabilityBounds, stability_selection_bounds
from skstab.feature_selection._calibration import StabilityCalibration
from skstab.feature_selection._consensus import ConsensusSelector, consensus_ranking
from skstab.feature_selection._filters import (
    discretised_chi2,
    information_gain,
    symmetrical_uncertainty,
    welch_variance,
)
from skstab.feature_selection._hybrid_rfe import HybridRFE
from skstab.feature_selection._relieff import relieff
from skstab.feature_selection._stability_selection import StabilitySelection

__all__ = [
    "ConsensusSelector",
    "HybridRFE",
    "StabilityBounds",
    "StabilityCalibration",
    "StabilitySelection",
    "consensus_ranking",
    "discretised_chi2",
    "information_gain",
    "relieff",
    "stability_selection_bounds",
    "symmetrical_uncertainty",
    "welch_variance",
]

"""Resampling a selector, and choosing by accuracy and stability."""

from skstab.model_selection._collect import collect_supports
from skstab.model_selection._compare import compare_selectors
from skstab.model_selection._pareto import ParetoRefit, pareto_front
from skstab.model_selection._profile import stability_profile
from skstab.model_selection._scorers import make_stability_scorer, stability_scoring
from skstab.model_selection._split import BootstrapSplit, ComplementaryPairsSplit, WholeSampleSplit
from skstab.model_selection._stability_cv import StabilityCV

__all__ = [
    "BootstrapSplit",
    "ComplementaryPairsSplit",
    "ParetoRefit",
    "StabilityCV",
    "WholeSampleSplit",
    "collect_supports",
    "compare_selectors",
    "make_stability_scorer",
    "pareto_front",
    "stability_profile",
    "stability_scoring",
]

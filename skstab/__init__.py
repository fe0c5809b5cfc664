"""Stability of feature selection for scikit-learn.

skstab tells how stable a feature selector is, with honest uncertainty, and lets one trade a little accuracy for a lot
of stability inside the tools of scikit-learn.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_SUBPACKAGES = ("datasets", "feature_selection", "inspection", "metrics", "model_selection")
# The main names, and where they live; imported on first use, so that `import skstab` costs nothing.
_NAMES = {
    "BootstrapSplit": "model_selection",
    "ComplementaryPairsSplit": "model_selection",
    "FeatureStabilityMapDisplay": "inspection",
    "HybridRFE": "feature_selection",
    "ParetoFrontDisplay": "inspection",
    "ParetoRefit": "model_selection",
    "SelectionFrequencyDisplay": "inspection",
    "StabilityCV": "model_selection",
    "StabilityComparisonDisplay": "inspection",
    "StabilityPathDisplay": "inspection",
    "StabilityProfileDisplay": "inspection",
    "StabilitySelection": "feature_selection",
    "SupportRasterDisplay": "inspection",
    "WholeSampleSplit": "model_selection",
    "collect_supports": "model_selection",
    "compare_selectors": "model_selection",
    "compare_stability": "metrics",
    "get_measure": "metrics",
    "make_stability_scorer": "model_selection",
    "measure_table": "metrics",
    "pareto_front": "model_selection",
    "stability_interval": "metrics",
    "stability_profile": "model_selection",
    "stability_score": "metrics",
    "stability_scoring": "model_selection",
    "stability_selection_bounds": "feature_selection",
    "stability_test": "metrics",
    "supports_from_sets": "metrics",
}

__all__ = sorted([*_SUBPACKAGES, *_NAMES])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"skstab.{name}")
    if name in _NAMES:
        return getattr(import_module(f"skstab.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'skstab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

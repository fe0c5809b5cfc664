"""Stability of feature selection for scikit-learn.

skstab measures how stable a feature selector is, with intervals and tests, and lets you exchange a little accuracy for
much stability inside the tools of scikit-learn.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_SUBPACKAGES = (
    "datasets",
    "feature_selection",
    "inspection",
    "metrics",
    "model_selection",
    "runs",
    "skore",
)
# The main names and their modules; imported on first use, so that `import skstab` costs nothing.
_NAMES = {
    "BootstrapSplit": "model_selection",
    "CalibrationDisplay": "inspection",
    "CoSelectionDisplay": "inspection",
    "ComplementaryPairsSplit": "model_selection",
    "ConsensusSelector": "feature_selection",
    "DisjointBlocksSplit": "model_selection",
    "FeatureStabilityMapDisplay": "inspection",
    "HybridRFE": "feature_selection",
    "ParetoFrontDisplay": "inspection",
    "ParetoRefit": "model_selection",
    "ReplicationDisplay": "inspection",
    "Runs": "runs",
    "SelectionFrequencyDisplay": "inspection",
    "StabilityCV": "model_selection",
    "StabilityComparisonDisplay": "inspection",
    "StabilityPathDisplay": "inspection",
    "StabilityProfileDisplay": "inspection",
    "StabilitySearchCV": "model_selection",
    "StabilitySelection": "feature_selection",
    "SupportRasterDisplay": "inspection",
    "WholeSampleSplit": "model_selection",
    "assess_selector": "model_selection",
    "co_selection": "inspection",
    "collect_supports": "model_selection",
    "compare_selectors": "model_selection",
    "compare_stability": "metrics",
    "feature_clusters": "inspection",
    "feature_report": "inspection",
    "get_measure": "metrics",
    "make_stability_scorer": "model_selection",
    "measure_table": "metrics",
    "pareto_front": "model_selection",
    "replication_stability": "metrics",
    "report": "_report.report",
    "search_table": "model_selection",
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

"""Stability measures for what several runs of a feature selector chose, with intervals and tests."""

from skstab.metrics._adjusted_subset import (
    intersection_count_stability,
    intersection_greedy_stability,
    intersection_mbm_stability,
    intersection_mean_stability,
    yu_stability,
    zucknick_stability,
)
from skstab.metrics._agreement import kappa_stability, novovicova_stability
from skstab.metrics._correlated import effective_stability
from skstab.metrics._importance_weighted import (
    grouped_importance_stability,
    importance_weighted_stability,
)
from skstab.metrics._inference import (
    compare_stability,
    stability_interval,
    stability_test,
)
from skstab.metrics._measure import Measure
from skstab.metrics._population import population_stability
from skstab.metrics._random_selection import random_selection_test
from skstab.metrics._ranking import canberra_stability
from skstab.metrics._redundancy_subset import (
    npogr_stability,
    pogr_stability,
    redundancy_dice_stability,
)
from skstab.metrics._registry import get_measure, measure_table, stability_score
from skstab.metrics._replication import (
    compare_replication,
    full_size_interval,
    replication_stability,
)
from skstab.metrics._results import (
    RandomSelectionTest,
    StabilityInterval,
    StabilityTest,
    stability_in_words,
)
from skstab.metrics._subset import (
    cwrel_stability,
    davis_stability,
    dice_stability,
    goh_stability,
    guzman_stability,
    hamming_stability,
    jaccard_stability,
    krizek_stability,
    kuncheva_stability,
    lausser_stability,
    lustgarten_stability,
    nogueira_stability,
    npog_stability,
    ochiai_stability,
    phi_stability,
    pog_stability,
    wald_stability,
)
from skstab.metrics._tables import supports_from_sets
from skstab.metrics._transport import transport_plan, transport_stability
from skstab.metrics._trial_values import conformal_pvalues
from skstab.metrics._weights import pearson_stability, spearman_stability

__all__ = [
    "Measure",
    "RandomSelectionTest",
    "StabilityInterval",
    "StabilityTest",
    "canberra_stability",
    "compare_replication",
    "compare_stability",
    "conformal_pvalues",
    "cwrel_stability",
    "davis_stability",
    "dice_stability",
    "effective_stability",
    "full_size_interval",
    "get_measure",
    "goh_stability",
    "grouped_importance_stability",
    "guzman_stability",
    "hamming_stability",
    "importance_weighted_stability",
    "intersection_count_stability",
    "intersection_greedy_stability",
    "intersection_mbm_stability",
    "intersection_mean_stability",
    "jaccard_stability",
    "kappa_stability",
    "krizek_stability",
    "kuncheva_stability",
    "lausser_stability",
    "lustgarten_stability",
    "measure_table",
    "nogueira_stability",
    "novovicova_stability",
    "npog_stability",
    "npogr_stability",
    "ochiai_stability",
    "pearson_stability",
    "phi_stability",
    "pog_stability",
    "pogr_stability",
    "population_stability",
    "random_selection_test",
    "redundancy_dice_stability",
    "replication_stability",
    "spearman_stability",
    "stability_in_words",
    "stability_interval",
    "stability_score",
    "stability_test",
    "supports_from_sets",
    "transport_plan",
    "transport_stability",
    "wald_stability",
    "yu_stability",
    "zucknick_stability",
]

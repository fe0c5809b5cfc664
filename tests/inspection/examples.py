"""One display of each class, with names that are hard to draw; made without matplotlib."""

import numpy as np
import pandas as pd

from skstab.feature_selection import StabilityCalibration
from skstab.inspection import (
    CalibrationDisplay,
    CohortComparisonDisplay,
    CoSelectionDisplay,
    FeatureEvidenceDisplay,
    FeatureStabilityMapDisplay,
    FragilityDisplay,
    MultiverseDisplay,
    ParetoFrontDisplay,
    PredictionInstabilityDisplay,
    RankDisplay,
    ReplicationDisplay,
    SelectionFrequencyDisplay,
    StabilityComparisonDisplay,
    StabilityPathDisplay,
    StabilityProfileDisplay,
    SupportRasterDisplay,
)
from skstab.runs import Runs

RNG = np.random.default_rng(0)
HOSTILE = ["$x_1$", "_private", "a_b^{c", "100 % $", "two\nlines", "x" * 300]
SUPPORTS = RNG.random((8, len(HOSTILE))) < 0.6
PROFILE = pd.DataFrame(
    {
        "stability": [0.5, 0.6],
        "low": [0.4, 0.5],
        "high": [0.6, 0.7],
        "random": [0.0, 0.0],
    },
    index=pd.Index([1, 40], name="size"),
)
FOREST = pd.DataFrame(
    [
        ("stability", HOSTILE[0], None, 0.8, 0.7, 0.9, np.nan),
        ("stability", HOSTILE[5], None, 0.5, 0.4, 0.6, np.nan),
        ("difference", HOSTILE[0], HOSTILE[5], 0.3, 0.1, 0.5, 0.01),
    ],
    columns=["kind", "selector", "reference", "estimate", "low", "high", "pvalue"],
)
CURVE = pd.DataFrame(
    [
        ("halves", 25, 0.3, 0.1, 0.5),
        ("bootstraps", 50, 0.6, 0.5, 0.7),
        ("chance", 25, 0.1, np.nan, np.nan),
    ],
    columns=["kind", "n_rows", "stability", "low", "high"],
)
IMPORTANCES = (
    np.random.default_rng(1).random((20, len(HOSTILE))) + np.arange(len(HOSTILE)) / 2
)
PARTS = pd.DataFrame(
    [
        ("source", "data", None, 0.1, -0.1, 0.3),
        ("source", "choices", None, 0.4, 0.3, 0.5),
        ("pair", HOSTILE[0], HOSTILE[5], 0.5, 0.3, 0.7),
    ],
    columns=["kind", "name", "other", "part", "low", "high"],
)
COHORTS = pd.DataFrame(
    [(HOSTILE[0], 1.0, 0.1, 0.02), (HOSTILE[5], 0.8, 0.9, np.nan)],
    columns=["feature", "first", "second", "pvalue"],
)
PREDICTIONS = pd.DataFrame(
    [(0, 0.2, 0.25, 0.1, 0.4, 0.0), (7, 0.6, 0.55, 0.3, 0.7, 0.2)],
    columns=["row", "predicted", "mean", "range_from", "range_to", "flips"],
)
RESULTS = {
    "$score_x": [0.9, 0.8, 0.7],
    "_nogueira$": [0.5, 0.7, 0.6],
    "_nogueira$_low": [0.4, 0.6, 0.5],
    "_nogueira$_high": [0.6, 0.8, 0.7],
}
CALIBRATION = StabilityCalibration(
    param_value=1.0,
    threshold=0.7,
    score=9.0,
    scores=np.array([[1.0, 9.0], [2.0, 3.0]]),
    errors=np.ones((2, 2)),
    param_values=np.array([1.0, 0.1]),
    thresholds=np.array([0.6, 0.7]),
    sizes=np.array([1.0, 2.0]),
    pfer=None,
)
# Two features of which each run selects one, and others.
TURNS = np.column_stack(
    [np.arange(40) % 2, np.arange(1, 41) % 2, RNG.random((40, len(HOSTILE) - 2)) < 0.5]
).astype(bool)
DISPLAYS = [
    FragilityDisplay(
        pd.DataFrame(RNG.uniform(-1, 1, (6, 6)), index=HOSTILE, columns=HOSTILE)
    ),
    FeatureEvidenceDisplay(
        [1, 0.9, 0.8, 0.7, 0.6, 0.5],
        decoys=[0.1, np.nan, 0.2, 0.2, 0.2, 0.3],
        directions=["+", "-", "±", "a: +b", "", "+"],
        substitutes=[HOSTILE[3:], [], HOSTILE[:1], [], [], []],
        fragility=[np.nan, 1, 3, np.nan, np.nan, np.nan],
        feature_names=HOSTILE,
    ),
    FeatureStabilityMapDisplay.from_importances(SUPPORTS, feature_names=HOSTILE),
    SupportRasterDisplay.from_supports(
        {"$a$": SUPPORTS, "_b": SUPPORTS}, feature_names=HOSTILE
    ),
    SelectionFrequencyDisplay.from_supports(
        SUPPORTS, feature_names=HOSTILE, threshold=0.5
    ),
    StabilityProfileDisplay.from_profile(
        {"$a": PROFILE, "_b$": PROFILE}, measure="$m$"
    ),
    StabilityPathDisplay.from_path(
        RNG.random((6, 5)),
        [0.01, 0.1, 1, 2, 3],
        param_name="$alpha$_",
        threshold=0.5,
        feature_names=HOSTILE,
    ),
    ParetoFrontDisplay.from_results(
        RESULTS, "$score_x", "_nogueira$", chosen=1, tolerance=0.1
    ),
    StabilityComparisonDisplay(FOREST, measure="$m"),
    ReplicationDisplay(CURVE, measure="$m"),
    RankDisplay.from_runs(
        Runs(IMPORTANCES > 0, IMPORTANCES, feature_names=HOSTILE), k=2, random_state=0
    ),
    MultiverseDisplay(PARTS, total=0.5),
    CohortComparisonDisplay(COHORTS, cohorts=("$a", "_b"), note="$within"),
    PredictionInstabilityDisplay(
        PREDICTIONS, outcome="probability of $yes_", note="$lists$ agree_"
    ),
    CalibrationDisplay(CALIBRATION, param_name="$alpha$_"),
    CoSelectionDisplay.from_runs(
        Runs(TURNS, feature_names=HOSTILE), groups=[0, 0, 1, 1, 2, 3]
    ),
]

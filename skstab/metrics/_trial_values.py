"""How well trial values of the stability conform to the runs: the p-values behind the conformal interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skstab._checks import naming
from skstab._typing import FloatArray, MeasureLike, RandomState, RunsLike
from skstab.metrics._inference import (
    calibration_values,
    check_resamples,
    check_seed,
    checked,
)


def conformal_pvalues(
    data: RunsLike,
    values: ArrayLike,
    *,
    measure: MeasureLike = "nogueira",
    random_state: RandomState = None,
    n_resamples: int = 1000,
) -> FloatArray:
    """Conformal p-values of trial values of the stability.

    Parameters
    ----------
    data : array-like or sparse matrix of shape (n_runs, n_features)
        What each run chose: supports, weights or rankings, as the measure requires; at least 3 runs.
    values : array-like of shape (n_values,)
        Stabilities to try.
    measure : str, callable or measure, default="nogueira"
        A name out of :func:`measure_table`, or anything that :func:`get_measure` accepts, except the measures whose
        expected value depends on the number of runs: cwrel, davis, guzman, krizek, lausser and novovicova.
    random_state : int, RandomState instance or None, default=None
        Seed of the random halves of the runs.
    n_resamples : int, default=1000
        Number of halves of the runs beyond which random ones are taken.

    Returns
    -------
    pvalues : ndarray of shape (n_values,)
        For each trial value the share of the calibration values, itself among them, that are at least as nonconforming.
        The conformal interval at level 1 − α of :func:`stability_interval` consists of the values with p > α.

    Notes
    -----
    Algorithm 1 of [1]_. The calibration values are the stabilities of all halves of the runs, or of `n_resamples`
    random ones; the nonconformity of a value is its distance from the mean of these and the trial value, equation (10),
    whose standard deviation cancels.

    References
    ----------
    .. [1] López-De-Castro, M., García-Galindo, A. and Armañanzas, R. (2024). Conformal stability measure for feature
       selection algorithms. COPA, PMLR 230.

    Examples
    --------
    >>> import numpy as np
    >>> from skstab.metrics import conformal_pvalues, stability_interval
    >>> rng = np.random.default_rng(0)
    >>> supports = rng.random((8, 100)) < np.repeat([0.9, 0.05], [10, 90])
    >>> stability_interval(supports, method="conformal", confidence_level=0.9).high
    0.657...
    >>> conformal_pvalues(supports, [0.5, 0.6, 0.65, 0.66]).round(2)
    array([0.04, 0.72, 0.13, 0.06])
    """
    trials = _check_trials(values)
    chosen, table = checked(data, measure, "data")
    rng, n_resamples = check_seed(random_state), check_resamples(n_resamples)
    return trial_pvalues(calibration_values(chosen, table, rng, n_resamples), trials)


def _check_trials(values: ArrayLike) -> FloatArray:
    with naming("values"):
        trials = np.asarray(values)
    if (
        trials.ndim != 1
        or trials.dtype.kind not in "buif"
        or not np.isfinite(trials).all()
    ):
        raise ValueError(
            f"values must be finite numbers in one dimension, got {trials.dtype} of shape {trials.shape}"
        )
    return trials.astype(np.float64)


def trial_pvalues(calibration: FloatArray, trials: FloatArray) -> FloatArray:
    """(1 + #{i : |v_i − μ_z| ≥ |z − μ_z|}) / (c + 1), with μ_z the mean of the calibration values v and the trial z."""
    c = calibration.size
    means = (calibration.sum() + trials) / (c + 1)
    distance = np.abs(trials - means)
    slack = 1e-12 * np.maximum(1.0, distance)
    as_far = (
        np.abs(calibration[None, :] - means[:, None]) >= (distance - slack)[:, None]
    )
    return np.asarray((1 + as_far.sum(axis=1)) / (c + 1))

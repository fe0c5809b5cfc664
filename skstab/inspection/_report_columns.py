"""Columns of the report on features: pure functions of tables, runs × features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from skstab._statistics import wilson_interval
from skstab._typing import FloatArray, IndexArray

__all__ = [
    "check_reference",
    "coefficient_columns",
    "frequency_columns",
    "levels_column",
    "reference_columns",
    "representatives",
    "sign_columns",
]

_ENDS = (0.025, 0.5, 0.975)


def frequency_columns(
    frequency: FloatArray, n_runs: int, prefix: str = ""
) -> dict[str, Any]:
    """Shares of the runs with their 95% Wilson intervals."""
    low, high = wilson_interval(frequency, n_runs)
    return {
        f"{prefix}frequency": frequency,
        f"{prefix}frequency_low": low,
        f"{prefix}frequency_high": high,
    }


def levels_column(
    runs: Any, codes: IndexArray, names: Any, threshold: float
) -> dict[str, Any]:
    """The levels of each variable that reach the threshold: features of one variable, or outputs of an encoder."""
    if len(names) < runs.n_features:
        inputs, labels = codes, runs.feature_names
        frequency = runs.frequencies().to_numpy()
    elif runs.outputs is not None:
        inputs, labels = runs.outputs.inputs, runs.outputs.names
        frequency = runs.outputs.frequencies().to_numpy()
    else:
        return {}
    found: list[list[str]] = [[] for _ in names]
    several = np.bincount(inputs, minlength=len(names)) > 1
    for place in np.flatnonzero(several[inputs] & (frequency >= threshold)):
        variable = str(names[inputs[place]])
        level = str(labels[place]).removeprefix(variable).lstrip("=_")
        found[inputs[place]].append(f"{level} ({frequency[place]:.0%})")
    return {"levels": np.array([", ".join(part) for part in found], dtype=object)}


# -- coefficients ------------------------------------------------------------------------------------------------------


def coefficient_columns(coefs: Any) -> dict[str, Any]:
    """Median and quantiles of the coefficients over all runs, zero where a feature was not selected."""
    # A feature with no coefficient in any run needs no sorting.
    ever = np.flatnonzero(np.asarray((coefs != 0).sum(axis=0)).ravel())
    quantiles = np.zeros((3, coefs.shape[1]))
    quantiles[:, ever] = np.quantile(_dense(coefs[:, ever]), _ENDS, axis=0)
    return {
        "coef_median": quantiles[1],
        "coef_low": quantiles[0],
        "coef_high": quantiles[2],
    }


def sign_columns(coefs: Any) -> dict[str, Any]:
    """The more common sign of the coefficients, and its share of those other than zero."""
    positive, negative = (
        np.asarray(table.sum(axis=0)).ravel() for table in (coefs > 0, coefs < 0)
    )
    known = positive + negative
    share = np.maximum(positive, negative) / np.maximum(known, 1)
    sign = np.select(
        [positive > negative, negative > positive, known > 0],
        ["+", "-", "±"],
        default="",
    )
    return {
        "given_others": sign.astype(object),
        "sign_consistency": np.where(known > 0, share, np.nan),
    }


def _dense(table: Any) -> Any:
    return table.toarray() if sparse.issparse(table) else table


# -- against the model with all features -------------------------------------------------------------------------------


def check_reference(reference: Any, n_features: int) -> tuple[FloatArray, FloatArray]:
    """Check coefficients and standard errors of the model with all features."""
    try:
        coef, error = (np.asarray(values, dtype=np.float64) for values in reference)
    except (TypeError, ValueError) as problem:
        raise ValueError(
            f"reference must be a pair (coef, se) of arrays of numbers: {problem}"
        ) from problem
    if coef.shape != (n_features,) or error.shape != (n_features,):
        expected = f"coef and se of shape ({n_features},), one number for each feature"
        raise ValueError(
            f"reference must hold {expected}, got {coef.shape} and {error.shape}"
        )
    if not (np.isfinite(coef).all() and np.isfinite(error).all() and (error > 0).all()):
        raise ValueError(
            "reference must hold finite coefficients and standard errors above 0"
        )
    return coef, error


def reference_columns(
    coefs: Any, reference: tuple[FloatArray, FloatArray]
) -> dict[str, Any]:
    """RMSD ratio √(mean (β_b − β)²)/se(β), unselected as 0; relative conditional bias mean(β_b | selected)/β − 1."""
    beta, error = reference
    csr = sparse.csr_array(coefs)
    (n_runs, d), column = csr.shape, csr.indices
    selected = np.bincount(column, minlength=d)
    squares = (
        np.bincount(column, (csr.data - beta[column]) ** 2, d)
        + (n_runs - selected) * beta**2
    )
    known = (selected > 0) & (beta != 0)
    mean = np.bincount(column, csr.data, d) / np.maximum(selected, 1)
    bias = np.where(known, mean / np.where(known, beta, 1.0) - 1, np.nan)
    return {"rmsd_ratio": np.sqrt(squares / n_runs) / error, "conditional_bias": bias}


# -- clusters ----------------------------------------------------------------------------------------------------------


def representatives(frequency: FloatArray, codes: IndexArray) -> IndexArray:
    """Return the most frequent member of each cluster, the first of equal ones."""
    order = np.lexsort((np.arange(len(codes)), -frequency, codes))
    first = np.unique(codes[order], return_index=True)[1]
    return order[first]

"""Lasso and elastic net along a path, on as few rows as say the same.

Rows that a bootstrap sample drew several times count once, by the root of their number, and where there are many more
rows than columns, an orthogonal rotation leaves as many as there are columns. All values of a path, and all paths on
the same rows, share them. Elastic nets on wide data are solved exactly (`residuals`), other models by scikit-learn's
coordinate descent, each value from where the last one ended: with few features many of them are active, and sweeps
over the columns cost less than factorising the active set anew for each penalty.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.linear_model import ElasticNet, Lasso, enet_path
from sklearn.utils import check_array

from skstab._linear_paths.duality import duality_gap
from skstab._linear_paths.linear_models import LinearModels
from skstab._linear_paths.repeats import distinct_rows
from skstab._linear_paths.residuals import residual_path

__all__ = ["ReducedRows", "models_on_reduced", "prefers_reduced", "reduced_rows"]

Floats: TypeAlias = NDArray[np.float64]

_TIGHT = 1e-5  # tolerances from which on a direct solution costs less
_LASSO_LIKE = 0.99  # l1_ratio above which the ridge part is too small for Newton steps on residuals
_MANY_ROWS = 2  # times as many rows as columns, which a rotation reduces
_MANY_SWEEPS = 64  # squares of rows over the ridge, times columns over rows, from which on sweeps cost more than steps


def prefers_reduced(estimator: Any, X: Any, sample_weight: Any = None) -> bool:
    """Whether an estimator is a least squares model whose path takes less time on reduced rows."""
    if (
        type(estimator) not in (Lasso, ElasticNet)
        or issparse(X)
        or sample_weight is not None
    ):
        return False
    if estimator.positive or estimator.selection == "random" or estimator.l1_ratio == 0:
        return False
    return bool(
        estimator.l1_ratio < 1 or (X.shape[1] <= X.shape[0] and estimator.tol >= _TIGHT)
    )


# -- rows --------------------------------------------------------------------------------------------------------------


class ReducedRows(NamedTuple):
    """Centred rows with the same squared losses as those that they stand for, but for a constant intercept."""

    columns: Floats  # one feature in each row
    targets: Floats  # one output in each row
    middle: Floats  # what was subtracted from the features
    means: Floats  # and from the outputs
    n_rows: int  # how many rows they stand for


def reduced_rows(X: Any, y: Any, fit_intercept: bool) -> ReducedRows:
    """Check rows, subtract the means that an intercept takes up, and reduce their number."""
    table = check_array(X, dtype=np.float64)
    n_rows, n_features = table.shape
    outputs = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y").reshape(
        n_rows, -1
    )
    whole = np.hstack([table, outputs])
    first, counts = distinct_rows(whole)
    whole = whole[first]
    middle = counts @ whole / n_rows if fit_intercept else np.zeros(whole.shape[1])
    if fit_intercept:
        # As scikit-learn sums them: the intercept of a model without features is the same to the last digit.
        middle[n_features:] = np.ascontiguousarray(outputs.T).mean(axis=1)
    whole = (whole - middle) * np.sqrt(counts)[:, None]
    if len(whole) > _MANY_ROWS * whole.shape[1]:
        whole = np.asarray(np.linalg.qr(whole, mode="r"))
    columns = np.ascontiguousarray(whole.T)
    return ReducedRows(
        columns[:n_features],
        columns[n_features:],
        middle[:n_features],
        middle[n_features:],
        n_rows,
    )


# -- models ------------------------------------------------------------------------------------------------------------


def models_on_reduced(
    estimator: Any, rows: ReducedRows, values: Any
) -> LinearModels | None:
    """The models at values of `alpha`, in any order; None where there are values that have no path."""
    alphas = np.asarray(values, dtype=np.float64)
    if not ((alphas > 0) & (alphas < np.inf)).all():
        return None
    order = np.argsort(-alphas, kind="stable")
    paths = [_path(estimator, rows, target, alphas[order]) for target in rows.targets]
    # Back in the order of the values.
    coefs, n_iter, gaps = (
        np.stack(parts, axis=1)[np.argsort(order)] for parts in zip(*paths, strict=True)
    )
    return LinearModels(coefs, rows.means - coefs @ rows.middle, n_iter, gaps)


class _Path(NamedTuple):
    """Of each value: its coefficients, how many steps or sweeps it took, and its duality gap."""

    coefs: Floats
    n_iter: NDArray[np.intp]
    gaps: Floats


def _path(estimator: Any, rows: ReducedRows, target: Floats, alphas: Floats) -> _Path:
    found = (
        _by_residuals(estimator, rows, target, alphas)
        if _prefers_residuals(estimator, rows, alphas[-1])
        else None
    )
    return _by_descent(estimator, rows, target, alphas) if found is None else found


def _prefers_residuals(estimator: Any, rows: ReducedRows, weakest: float) -> bool:
    """Whether Newton steps on the residuals cost less than sweeps over the columns.

    Sweeps are the more, the larger the squares of the rows are against the ridge, and each costs rows × columns; a step
    costs rows³, and there are always few.
    """
    if estimator.l1_ratio > _LASSO_LIKE or estimator.tol < _TIGHT:
        return bool(estimator.l1_ratio <= _LASSO_LIKE)
    n_features, n_rows = rows.columns.shape
    ridge = weakest * rows.n_rows * (1 - estimator.l1_ratio)
    return bool(
        np.vdot(rows.columns, rows.columns) * n_features
        >= _MANY_SWEEPS * ridge * n_rows**2
    )


def _by_residuals(
    estimator: Any, rows: ReducedRows, target: Floats, alphas: Floats
) -> _Path | None:
    """Newton steps to all values; None where they did not converge at one of them."""
    bends = alphas * rows.n_rows * estimator.l1_ratio
    ridges = alphas * rows.n_rows * (1 - estimator.l1_ratio)
    found, n_iter = [], []
    # A step reaches the minimum exactly once it knows the active features, so that a small tolerance costs little.
    path = residual_path(
        rows.columns, target, zip(bends, ridges, strict=True), estimator.tol / 10
    )
    for coef, converged, n_checks in path:
        if not converged:
            return None
        found.append(coef)
        n_iter.append(n_checks)
    coefs = np.stack(found)
    return _Path(coefs, np.array(n_iter), _gaps(rows, target, coefs, bends, ridges))


def _gaps(
    rows: ReducedRows, target: Floats, coefs: Floats, bends: Floats, ridges: Floats
) -> Floats:
    residuals = target - coefs @ rows.columns
    squares, products = np.einsum("ij,ij->i", residuals, residuals), residuals @ target
    gaps: Floats = (
        duality_gap(coefs, squares, products, residuals @ rows.columns.T, bends, ridges)
        / rows.n_rows
    )
    return gaps


def _by_descent(
    estimator: Any, rows: ReducedRows, target: Floats, alphas: Floats
) -> _Path:
    settings = {
        "l1_ratio": estimator.l1_ratio,
        "tol": estimator.tol,
        "max_iter": estimator.max_iter,
    }
    # The columns are checked and in Fortran order. The losses are a mean over all rows that the reduced ones stand for.
    share = rows.n_rows / len(target)
    _, coefs, gaps, n_iter = enet_path(
        rows.columns.T, target, alphas=alphas * share, precompute=False, check_input=False, return_n_iter=True,
        **settings,
    )  # fmt: skip
    return _Path(coefs.T, np.array(n_iter), gaps / share)

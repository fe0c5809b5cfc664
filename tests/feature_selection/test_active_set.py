"""The solver behind paths against the optimality conditions and plain enumeration, as arrays, as loops and compiled."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skstab._linear_paths import active_set, fast, screening
from skstab._linear_paths.active_set import (
    HINGE,
    LOGISTIC,
    SQUARED,
    Block,
    Rows,
    evaluate,
)
from skstab._linear_paths.screening import Problem, screened_path, strongest_penalty


def plain_solver(monkeypatch):
    monkeypatch.setattr(screening, "fastest_minimise", lambda: active_set.minimise)


def solver_in_loops(monkeypatch):
    """What Numba compiles, line by line, but not compiled."""
    plain_solver(monkeypatch)
    monkeypatch.setattr(active_set, "solve", active_set.solve_by_rows)
    monkeypatch.setattr(active_set, "times", active_set.times_by_rows)


def compiled_solver(monkeypatch):
    pytest.importorskip("numba", reason="the extra fast is not installed")
    monkeypatch.setattr(screening, "fastest_minimise", fast.fastest_minimise)


SOLVERS = [plain_solver, solver_in_loops, compiled_solver]


@pytest.fixture(params=SOLVERS, ids=lambda solver: solver.__name__)
def solver(request, monkeypatch):
    request.param(monkeypatch)


@pytest.fixture(params=SOLVERS[1:], ids=lambda solver: solver.__name__)
def use_other_solver(request, monkeypatch):
    return lambda: request.param(monkeypatch)


def problem_of(
    seed,
    *,
    kind=SQUARED,
    n_rows=12,
    n_columns=8,
    l1_ratio=1.0,
    free=True,
    twins=False,
    tol=1e-10,
):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns)) * rng.uniform(
        0.2, 3, n_columns
    ) + rng.standard_normal(n_columns)
    if twins:
        # Twins, an opposite, a sum of two, a constant, and rows that were drawn twice.
        X[:, 1], X[:, 2], X[:, 3], X[:, 4] = (
            X[:, 0],
            1 - X[:, 0],
            X[:, 5] + X[:, 6],
            1.0,
        )
        X[n_rows // 2 :] = X[: n_rows - n_rows // 2]
    y = X[:, ::3].sum(axis=1) + rng.standard_normal(n_rows)
    y = y if kind == SQUARED else np.where(y > np.median(y), 1.0, -1.0)
    rows = Rows(kind, y, rng.uniform(0.5, 2, n_rows))
    return Problem(np.asfortranarray(X), rows, n_columns, l1_ratio, free, tol, 1000)


def worst_violation(problem, penalty, solution):
    """Largest violation of the optimality conditions relative to the penalty, condition by condition."""
    coef, intercept, *_ = solution
    _, slope, _ = evaluate(problem.rows, problem.X @ coef + intercept)
    violations = [abs(slope.sum())] if problem.free_intercept else []
    for column, w in zip(problem.X.T, coef, strict=True):
        gradient = column @ slope + penalty * (1 - problem.l1_ratio) * w
        bend = penalty * problem.l1_ratio
        violations.append(
            max(abs(gradient) - bend, 0)
            if w == 0
            else abs(gradient + bend * np.sign(w))
        )
    return max(violations) / penalty


def minimum_by_enumeration(problem, penalty):
    """The lowest of the minima of a penalised sum of squares for all supports and signs that are as assumed."""
    weight, best = problem.rows.weight, (np.inf, None)
    ones = np.ones((len(weight), int(problem.free_intercept)))
    for signs in map(
        np.array, itertools.product([-1, 0, 1], repeat=problem.n_features)
    ):
        active = signs != 0
        design = np.hstack([problem.X[:, active], ones])
        bend = np.r_[
            penalty * problem.l1_ratio * signs[active], np.zeros(ones.shape[1])
        ]
        ridge = np.r_[
            np.full(active.sum(), penalty * (1 - problem.l1_ratio)),
            np.zeros(ones.shape[1]),
        ]
        left, right = (
            (design.T * weight) @ design + np.diag(ridge),
            (design.T * weight) @ problem.rows.target - bend,
        )
        w = np.linalg.lstsq(left, right)[0] if len(right) else np.zeros(0)
        loss = (
            weight @ (design @ w - problem.rows.target) ** 2 / 2
            + np.abs(bend) @ np.abs(w)
            + ridge @ w**2 / 2
        )
        if (np.sign(w[: active.sum()]) == signs[active]).all() and loss < best[0]:
            coef = np.zeros(problem.n_features)
            coef[active] = w[: active.sum()]
            best = loss, coef
    return best[1]


# -- minima ------------------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10_000),
    l1_ratio=st.sampled_from([1.0, 0.5]),
    free=st.booleans(),
)
def test_a_lasso_or_elastic_net_is_the_lowest_of_all_supports_and_signs(
    seed, l1_ratio, free
):
    problem = problem_of(seed, n_columns=4, l1_ratio=l1_ratio, free=free)
    penalties = strongest_penalty(problem) * np.array([0.6, 0.2, 0.01])
    for penalty, solution in zip(
        penalties, screened_path(problem, penalties), strict=True
    ):
        np.testing.assert_allclose(
            solution.coef, minimum_by_enumeration(problem, penalty), atol=1e-8
        )


@pytest.mark.parametrize("kind", [SQUARED, LOGISTIC, HINGE])
@pytest.mark.parametrize("twins", [False, True])
def test_no_optimality_condition_is_violated(solver, kind, twins):
    for seed, (l1_ratio, free) in enumerate(
        itertools.product([1.0, 0.7], [False, True])
    ):
        problem = problem_of(
            seed, kind=kind, n_columns=14, l1_ratio=l1_ratio, free=free, twins=twins
        )
        penalties = strongest_penalty(problem) * np.geomspace(1, 0.01, 8)
        for penalty, solution in zip(
            penalties, screened_path(problem, penalties), strict=True
        ):
            assert worst_violation(problem, penalty, solution) < 1e-8


@pytest.mark.parametrize("kind", [SQUARED, LOGISTIC, HINGE])
def test_all_solvers_have_the_same_path(use_other_solver, monkeypatch, kind):
    problem = problem_of(3, kind=kind, n_rows=15, n_columns=30)
    penalties = strongest_penalty(problem) * np.geomspace(1, 0.02, 6)
    plain_solver(monkeypatch)
    expected = [
        np.r_[one.coef, one.intercept] for one in screened_path(problem, penalties)
    ]
    use_other_solver()
    found = [
        np.r_[one.coef, one.intercept] for one in screened_path(problem, penalties)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-7)
    np.testing.assert_array_equal(np.array(found) != 0, np.array(expected) != 0)


@pytest.mark.parametrize("kind", [SQUARED, LOGISTIC, HINGE])
def test_columns_that_are_combinations_of_others_may_enter(solver, kind):
    """Along the path the lightest combination of all changes, so that a dependent column takes the place of others."""
    for seed in range(8):
        problem = problem_of(seed, kind=kind, n_rows=60, n_columns=12, free=False)
        problem.X[:, 2:5] = problem.X[:, 5:] @ np.random.default_rng(
            seed
        ).standard_normal((7, 3))
        penalties = strongest_penalty(problem) * np.geomspace(1, 0.01, 8)
        for penalty, solution in zip(
            penalties, screened_path(problem, penalties), strict=True
        ):
            assert worst_violation(problem, penalty, solution) < 1e-8


def test_of_twins_only_one_enters(solver):
    problem = problem_of(0, n_rows=30, n_columns=14, twins=True)
    penalties = strongest_penalty(problem) * np.geomspace(1, 0.01, 8)
    n_in = [
        np.count_nonzero(solution.coef[:3])
        for solution in screened_path(problem, penalties)
    ]
    assert max(n_in) == 1


def test_penalties_may_grow(solver):
    problem = problem_of(1, kind=LOGISTIC)
    penalties = strongest_penalty(problem) * np.array([0.5, 0.05, 0.2, 0.9])
    for penalty, solution in zip(
        penalties, screened_path(problem, penalties), strict=True
    ):
        assert worst_violation(problem, penalty, solution) < 1e-8


def test_of_many_columns_a_few_are_tried_at_once(monkeypatch):
    monkeypatch.setattr(screening, "_AT_ONCE", 5)
    problem = problem_of(2, n_rows=20, n_columns=60)
    penalty = 0.02 * strongest_penalty(problem)
    assert (
        worst_violation(problem, penalty, next(screened_path(problem, [penalty])))
        < 1e-8
    )


@pytest.mark.parametrize("kind", [SQUARED, LOGISTIC])
def test_columns_far_from_zero_are_no_harder(solver, kind):
    near = problem_of(4, kind=kind)
    far = Problem(near.X + 1e4, near.rows, near.n_features, 1.0, True, near.tol, 1000)
    penalties = strongest_penalty(near) * np.geomspace(0.9, 0.05, 5)
    for one, other in zip(
        screened_path(near, penalties), screened_path(far, penalties), strict=True
    ):
        np.testing.assert_allclose(one.coef, other.coef, atol=1e-6)
        assert other.intercept == pytest.approx(
            one.intercept - 1e4 * one.coef.sum(), abs=1e-2
        )


def test_the_tolerance_holds_for_columns_far_from_zero_as_they_are(solver):
    near = problem_of(4, kind=LOGISTIC, n_rows=40)
    far = Problem(near.X + 1e3, near.rows, near.n_features, 1.0, True, 1e-5, 1000)
    penalties = strongest_penalty(far) * np.geomspace(0.9, 0.05, 10)
    found = [
        worst_violation(far, p, s)
        for p, s in zip(penalties, screened_path(far, penalties), strict=True)
    ]
    assert max(found) < 3e-5


# -- the parts that are written twice ----------------------------------------------------------------------------------


def block_of(hessian, ridge):
    size = len(hessian)
    n, is_independent = np.zeros(size), np.zeros(size, dtype=bool)
    factor, factored = np.empty((size, size)), np.zeros(size + 1, dtype=np.intp)
    return Block(
        n, hessian, n, n, factor, factored, is_independent, n, np.full(size, ridge), 0
    )


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), ridge=st.sampled_from([0.0, 0.3]))
def test_a_factor_that_is_brought_up_to_date_solves_like_a_new_one(seed, ridge):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 9))
    hessian = X.T @ X
    blocks = {
        solve: block_of(hessian, ridge)
        for solve in (active_set.solve, active_set.solve_by_rows)
    }
    for _ in range(6):
        active = np.flatnonzero(rng.random(9) < 0.6)
        if len(active) == 0:
            continue
        right = rng.standard_normal(len(active))
        expected = np.linalg.solve(
            (hessian + ridge * np.eye(9))[np.ix_(active, active)], right
        )
        for solve, block in blocks.items():
            solution, is_independent = solve(block, active, right)
            np.testing.assert_allclose(solution, expected, rtol=1e-8, atol=1e-10)
            assert is_independent.all()
        move = rng.standard_normal(len(active))
        for times in (active_set.times, active_set.times_by_rows):
            np.testing.assert_allclose(
                times(hessian, active, move, 7), hessian[:7, active] @ move
            )


@pytest.mark.parametrize("solve", [active_set.solve, active_set.solve_by_rows])
def test_columns_that_depend_on_those_before_them_are_found(solve):
    X = np.random.default_rng(0).standard_normal((20, 5))
    X[:, 3] = X[:, 0] - 2 * X[:, 1]
    _, is_independent = solve(block_of(X.T @ X, 0.0), np.arange(5), np.ones(5))
    assert list(is_independent) == [True, True, True, False, True]


# -- numba -------------------------------------------------------------------------------------------------------------


def test_without_numba_the_solver_is_as_it_is(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert fast.fastest_minimise.__wrapped__() is active_set.minimise


def test_without_a_place_to_write_to_nothing_is_kept():
    def njit(**options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: (function, options)

    function, options = fast.compiled(evaluate, njit)
    assert function is evaluate
    assert options["error_model"] == "numpy"


def test_numba_is_not_imported_with_the_package():
    code = (
        "import sys, skstab, skstab.feature_selection; sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""A step that shrinks until its problem can be solved: data as a function of h."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rods import G, M, Rod

import lcp
from contactlab import ConstraintSolveError, ConstraintSolver
from problem_data import ConstraintVelProblemData, ProblemDataError


def fails_above(limit: float, asked: list[float]) -> Callable[[float], ConstraintVelProblemData]:
    """A lying rod whose horizontal speed a limit wants higher than a bilateral row allows, at steps above a limit."""

    def data(h: float) -> ConstraintVelProblemData:
        asked.append(h)
        rod = Rod(0.0, v=(0.0, -0.3, 0.0))
        wish = -1.0 if h > limit else 0.0
        return rod.at_velocity_level(0.2, h=h, L=[[1.0, 0.0, 0.0]], kL=[wish], G=[[1.0, 0.0, 0.0]])

    return data


def test_the_step_is_halved_until_it_is_solved() -> None:
    """Data are computed anew for each h; the solution says which one it holds for and is that of this h alone."""
    asked: list[float] = []
    data = fails_above(0.03, asked)
    solution = ConstraintSolver().solve_discretized_problem(data, 0.1)
    assert asked == [0.1, 0.05, 0.025]
    assert solution.h == 0.025
    direct = ConstraintSolver().solve_discretized_problem(data(0.025), 0.025)
    assert np.array_equal(solution.forces.packed(), direct.forces.packed())
    # m v / h + m g: the momentum of the fall is taken out within the step that was used.
    assert solution.forces.fN.sum() == pytest.approx(2.0 * (0.3 / 0.025 + G))


def test_factor_and_smallest_step_are_the_callers() -> None:
    """shrink_factor = 0.1 from 1 s: 1, 0.1, 0.01."""
    asked: list[float] = []
    solution = ConstraintSolver().solve_discretized_problem(
        fails_above(0.03, asked), 1.0, shrink_factor=0.1, min_h=0.001
    )
    np.testing.assert_allclose(asked, [1.0, 0.1, 0.01])
    assert solution.h == asked[-1]


def test_a_first_step_that_works_is_not_changed() -> None:
    """One call; the same bits as with the data themselves; a warm start is passed on."""
    asked: list[float] = []
    data = fails_above(1.0, asked)
    solution = ConstraintSolver().solve_discretized_problem(data, 0.1)
    assert asked == [0.1]
    assert solution.h == 0.1
    warm = ConstraintSolver().solve_discretized_problem(data, 0.1, z0=solution.result.z)
    np.testing.assert_allclose(warm.forces.packed(), solution.forces.packed(), rtol=1e-12)


def test_a_problem_that_no_step_solves_names_all_that_were_tried() -> None:
    """The error lists the steps and carries the data, LCP and result of the smallest."""
    asked: list[float] = []
    with pytest.raises(ConstraintSolveError, match="not solved at any step tried, h = 0.1, 0.05, 0.025 s") as caught:
        ConstraintSolver().solve_discretized_problem(fails_above(0.0, asked), 0.1, min_h=0.02)
    error = caught.value
    assert error.h == 0.025
    assert isinstance(error.problem, ConstraintVelProblemData)
    assert not error.result.solved
    assert isinstance(error.__cause__, ConstraintSolveError)


def test_the_smallest_step_has_a_default() -> None:
    """h / 1024: eleven attempts."""
    asked: list[float] = []
    with pytest.raises(ConstraintSolveError):
        ConstraintSolver(lcp.Lemke(max_pivots=0, restarts=0)).solve_discretized_problem(fails_above(0.0, asked), 1.0)
    assert len(asked) == 11
    assert asked[-1] == 2.0**-10


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"shrink_factor": 1.0}, "shrink_factor"),
        ({"shrink_factor": 0.0}, "shrink_factor"),
        ({"shrink_factor": float("nan")}, "shrink_factor"),
        ({"min_h": 0.2}, "min_h"),
        ({"min_h": 0.0}, "min_h"),
        ({"h": -1.0}, "h"),
    ],
)
def test_options_out_of_range_are_named(options: dict[str, Any], field: str) -> None:
    """shrink_factor between 0 and 1, 0 < min_h <= h, h > 0; nothing is asked of the callable."""
    asked: list[float] = []
    with pytest.raises(ProblemDataError) as caught:
        ConstraintSolver().solve_discretized_problem(fails_above(1.0, asked), **({"h": 0.1} | options))
    assert caught.value.field == field
    assert not asked


def test_what_the_callable_returns_is_checked() -> None:
    """Acceleration-level data, or None, are named with their type."""
    for wrong in (lambda h: None, lambda h: Rod(0.0).sticking(0.1)):
        with pytest.raises(ProblemDataError, match="at h = 0.1, wanted ConstraintVelProblemData"):
            ConstraintSolver().solve_discretized_problem(wrong, 0.1)


def test_softening_follows_the_step() -> None:
    """A soft contact whose terms depend on h, asked for by a callable: the resting rod stays at any h that is used."""
    from contactlab.formulation import softening

    k = 1e3

    def data(h: float) -> ConstraintVelProblemData:
        soft = softening(h, stiffness=k, dissipation=5.0)
        depth = -2.0 * G / k
        return ConstraintVelProblemData(
            M=M, Mv=[0.0, -h * 2.0 * G, 0.0], N=[[0, 1, 0]], gammaN=[soft.gamma], kN=[soft.rate(h, depth)]
        )

    for h in (0.1, 0.01):
        solution = ConstraintSolver().solve_discretized_problem(data, h)
        np.testing.assert_allclose(solution.forces.fN, [2.0 * G], rtol=1e-12)

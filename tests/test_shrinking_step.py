"""Steps that shrink until their problem is solved, and softening: implicit springs and dampers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import assert_fields
from rods import G, Rod

from contactlab import ConstraintSolveError, ConstraintSolver
from contactlab.constraint_solver import (
    impulse_softening,
    softening,
    spring_damper,
    spring_damper_from_impulse,
)
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
    """Data are computed again for each h; the solution has its h and belongs only to it."""
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
    """shrink_factor between 0 and 1, 0 < min_h <= h, h > 0; the callable is not called before."""
    asked: list[float] = []
    assert_fields(
        ProblemDataError,
        (
            field,
            lambda: ConstraintSolver().solve_discretized_problem(fails_above(1.0, asked), **({"h": 0.1} | options)),
        ),
    )
    assert not asked


def test_what_the_callable_returns_is_checked() -> None:
    """Acceleration-level data, or None, are named with their type."""
    for wrong in (lambda h: None, lambda h: Rod(0.0).sticking(0.1)):
        with pytest.raises(ProblemDataError, match="at h = 0.1, wanted ConstraintVelProblemData"):
            ConstraintSolver().solve_discretized_problem(wrong, 0.1)


G_SOFTENING = 9.81


@pytest.mark.parametrize("h", [1e-5, 1e-2, 0.5])
@pytest.mark.parametrize(("k", "b"), [(1e4, 15.0), (100.0, 0.0), (1e9, 1e3)])
def test_a_mass_at_rest_is_carried_by_the_spring_alone(h: float, k: float, b: float) -> None:
    """At depth m g / k: f = -k phi exactly, and no motion, for any h and b; in forces and in impulses."""
    m = 2.0
    gap = -m * G_SOFTENING / k
    fields: dict[str, Any] = {"M": [[m]], "Mv": [-h * m * G_SOFTENING], "N": [[1.0]]}
    soft = softening(h, stiffness=k, dissipation=b)
    data = ConstraintVelProblemData(**fields, gammaN=[soft.gamma], kN=[soft.rate(h, gap)])
    solution = ConstraintSolver().solve_discretized_problem(data, h)
    np.testing.assert_allclose(solution.forces.fN, [-k * gap], rtol=1e-12)
    assert abs(solution.v_plus[0]) < 1e-12 * G_SOFTENING * h
    soft = impulse_softening(h, stiffness=k, dissipation=b)
    data = ConstraintVelProblemData(**fields, gammaN=[soft.gamma], kN=[soft.rate(h, gap)])
    impact = ConstraintSolver().solve_impact_problem(data)
    np.testing.assert_allclose(impact.forces.fN, [-h * k * gap], rtol=1e-12)


def test_the_row_is_an_implicit_spring_and_damper() -> None:
    """f = -k phi(t + h) - b phidot(t + h), with phi(t + h) = phi + h phidot(t + h)."""
    m, k, b, h, gap, v = 3.0, 200.0, 7.0, 0.03, -0.02, -0.4
    soft = softening(h, stiffness=k, dissipation=b)
    data = ConstraintVelProblemData(M=[[m]], Mv=[m * v], N=[[1.0]], gammaN=[soft.gamma], kN=[soft.rate(h, gap)])
    solution = ConstraintSolver().solve_discretized_problem(data, h)
    speed = solution.v_plus[0]
    np.testing.assert_allclose(solution.forces.fN, [-k * (gap + h * speed) - b * speed], rtol=1e-12)


def test_there_and_back() -> None:
    """Stiffness and dissipation survive the round trip in both units; gamma and erp too."""
    rng = np.random.default_rng(0)
    k, b = 10.0 ** rng.uniform(-3, 9, 50), 10.0 ** rng.uniform(-3, 6, 50)
    for h in (1e-4, 0.1, 3.0):
        soft = softening(h, stiffness=k, dissipation=b)
        back = spring_damper(h, gamma=soft.gamma, erp=soft.erp)
        np.testing.assert_allclose(back.stiffness, k, rtol=1e-12)
        # b is the difference of h k + b and h k: as accurate as those allow.
        np.testing.assert_allclose(back.dissipation, b, atol=1e-14 * (h * k + b).max(), rtol=1e-9)
        impulse = impulse_softening(h, stiffness=k, dissipation=b)
        np.testing.assert_allclose(impulse.gamma * h, soft.gamma, rtol=1e-15)
        again = spring_damper_from_impulse(h, gamma=impulse.gamma, erp=impulse.erp)
        np.testing.assert_allclose(again.stiffness, k, rtol=1e-12)
        forth = softening(h, stiffness=back.stiffness, dissipation=np.maximum(back.dissipation, 0.0))
        np.testing.assert_allclose(forth.gamma, soft.gamma, rtol=1e-12)
        np.testing.assert_allclose(forth.erp, soft.erp, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: softening(0.01, stiffness=-1.0), "stiffness = -1.0, wanted >= 0"),
        (lambda: softening(0.01, stiffness=[1.0, np.nan]), r"stiffness\[1\] = nan, wanted a finite number"),
        (lambda: softening(0.01, stiffness=1.0, dissipation=[[0.0, -2.0]]), r"dissipation\[0, 1\] = -2.0"),
        (lambda: softening(0.01), r"h k \+ b = 0.0 for stiffness 0.0, dissipation 0.0"),
        (lambda: softening(1e9, stiffness=1e300), r"h k \+ b = inf"),
        (lambda: softening(0.01, stiffness=[1.0, 2.0], dissipation=[1.0, 2.0, 3.0]), "do not broadcast"),
        (lambda: softening(0.01, stiffness="soft"), "wanted real numbers"),
        (lambda: softening(0.0, stiffness=1.0), "^h: "),
        (lambda: softening(0.01, stiffness=1.0).rate(-1.0, 0.0), "^h: "),
        (lambda: softening(0.01, stiffness=1.0).rate(0.01, np.inf), "^gap: "),
        (lambda: spring_damper(0.01, gamma=0.0, erp=0.5), "gamma = 0.0, wanted > 0"),
        (lambda: spring_damper(0.01, gamma=1.0, erp=1.5), "erp = 1.5, wanted at most 1"),
        (lambda: spring_damper(0.01, gamma=1.0, erp=-0.5), "erp = -0.5, wanted >= 0"),
    ],
)
def test_values_out_of_range_are_named(call: Any, message: str) -> None:
    """Field, entry and value."""
    with pytest.raises(ProblemDataError, match=message):
        call()

"""The Painleve states of a sliding rod: no contact force, one, two, at the closed-form threshold of friction.

Uniform rod, half length l = 1, inertia m l^2 / kappa with kappa = 3, its low end sliding away from under the centre.
The end's normal acceleration is A fN + b with

    A = (1 + kappa cos (cos - mu sin)) / m        b = l thetadot^2 sin - g
    A < 0  iff  mu > (1 + kappa cos^2) / (kappa sin cos), least at tan^2 = 1 + kappa: 2 sqrt(1 + kappa) / kappa
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rods import MASS, G, Rod

import lcp
from contactlab import ConstraintSolveError, ConstraintSolver
from contactlab.formulation.acceleration import form_acceleration_lcp
from problem_data import ConstraintAccelProblemData

KAPPA = 3.0
INERTIA = np.diag([MASS, MASS, MASS / KAPPA])
STEEPEST = np.arctan(np.sqrt(1.0 + KAPPA))


def threshold(angle: float) -> float:
    return float((1.0 + KAPPA * np.cos(angle) ** 2) / (KAPPA * np.sin(angle) * np.cos(angle)))


def response(angle: float, mu: float) -> float:
    return float((1.0 + KAPPA * np.cos(angle) * (np.cos(angle) - mu * np.sin(angle))) / MASS)


def state(angle: float, mu: float, spin: float, **more: Any) -> ConstraintAccelProblemData:
    """The left end slides to the left."""
    rod = Rod(angle, v=(-1.0, 0.0, 0.0))
    return rod.sliding(mu, M=INERTIA, kN=[spin**2 * np.sin(angle)], **more)


def solutions(data: ConstraintAccelProblemData) -> list[float]:
    formed = form_acceleration_lcp(data)
    found = lcp.enumerate_solutions(lcp.LCP(formed.MM, formed.qq))
    assert found.complete
    assert not found.continuum
    return sorted(float(z[0]) for z in found.solutions)


def test_the_matrix_is_the_closed_form() -> None:
    """MM = A and qq = b for the one contact, over angles and coefficients."""
    for angle in (0.3, 0.9, STEEPEST, 1.4):
        for mu in (0.0, 0.7, 1.4, 3.0):
            formed = form_acceleration_lcp(state(angle, mu, 2.0))
            np.testing.assert_allclose(formed.MM, [[response(angle, mu)]], atol=1e-14)
            np.testing.assert_allclose(formed.qq, [4.0 * np.sin(angle) - G], atol=1e-14)


def test_the_least_friction_for_a_paradox_is_four_thirds() -> None:
    """A uniform rod at 63.4 degrees: below 4/3 one solution, above none (at rest in angle)."""
    assert np.degrees(STEEPEST) == pytest.approx(63.4349, abs=1e-4)
    assert threshold(STEEPEST) == pytest.approx(4.0 / 3.0, rel=1e-14)
    angles = np.linspace(0.1, 1.5, 200)
    assert min(threshold(float(angle)) for angle in angles) >= 4.0 / 3.0
    assert len(solutions(state(STEEPEST, 4.0 / 3.0 - 1e-6, 0.0))) == 1
    assert solutions(state(STEEPEST, 4.0 / 3.0 + 1e-6, 0.0)) == []


@pytest.mark.parametrize("angle", [0.4, 0.8, STEEPEST, 1.3])
@pytest.mark.parametrize("side", [-1e-6, 1e-6])
def test_the_number_of_solutions_changes_at_the_threshold(angle: float, side: float) -> None:
    """Falling end (b < 0): one solution below, none above. Lifting end (b > 0): one below (no force), two above."""
    mu = threshold(angle) * (1.0 + side)
    A = response(angle, mu)
    assert np.sign(A) == -np.sign(side)
    falling, lifting = -G, 16.0 * np.sin(angle) - G
    down, up = solutions(state(angle, mu, 0.0)), solutions(state(angle, mu, 4.0))
    if side < 0.0:
        np.testing.assert_allclose(down, [-falling / A], rtol=1e-8)
        np.testing.assert_allclose(up, [0.0] if lifting > 0.0 else [-lifting / A], rtol=1e-8)
    elif lifting > 0.0:
        assert down == []
        np.testing.assert_allclose(up, [0.0, -lifting / A], rtol=1e-8)
    else:
        assert down == up == []


def test_one_solution_is_found_and_certified() -> None:
    """Below the threshold: the force is -b / A, friction included in A."""
    data = state(STEEPEST, 1.0, 0.0)
    solution = ConstraintSolver().solve_constraint_problem(data)
    np.testing.assert_allclose(solution.forces.fN, [G / response(STEEPEST, 1.0)], rtol=1e-13)
    assert solution.certificate.holds(1e-12)


def test_of_two_solutions_one_is_returned_and_certified() -> None:
    """Both are certified by the mechanics; the solver gives the one without force."""
    data = state(STEEPEST, 2.0, 4.0)
    assert len(solutions(data)) == 2
    solution = ConstraintSolver().solve_constraint_problem(data)
    assert solution.forces.fN[0] in (0.0, pytest.approx(solutions(data)[1]))
    assert solution.certificate.holds(1e-12)


def test_no_solution_is_named_infeasible() -> None:
    """Pushing only presses the end in: no force can hold it up, and the status says so with evidence."""
    with pytest.raises(ConstraintSolveError, match="INFEASIBLE") as caught:
        ConstraintSolver().solve_constraint_problem(state(STEEPEST, 2.0, 0.0))
    result = caught.value.result
    assert result.status is lcp.Status.INFEASIBLE
    assert result.evidence is not None
    assert result.attempts
    assert result.status.advice in str(caught.value)


def test_no_solution_beside_a_limit_is_named_unsolvable() -> None:
    """A hook far above could lift the rod (feasible) but is out of reach: no basis is complementary."""
    data = state(STEEPEST, 2.0, 0.0, L=[[0.0, 1.0, 0.0]], kL=[100.0])
    assert solutions(data) == []
    with pytest.raises(ConstraintSolveError, match="UNSOLVABLE.*velocity level") as caught:
        ConstraintSolver().solve_constraint_problem(data)
    assert caught.value.result.status is lcp.Status.UNSOLVABLE


@pytest.mark.parametrize("mirrored", [False, True])
def test_an_impulse_resolves_what_no_force_can(mirrored: bool) -> None:
    """The step has a solution where the instant has none: the end jams, a finite impulse stops it."""
    rod = Rod(STEEPEST, v=(-1.0, 0.0, 0.0), mirrored=mirrored)
    for h in (1e-2, 1e-5):
        data = rod.at_velocity_level(2.0, h=h, M=INERTIA, Mv=INERTIA @ rod.velocity + h * rod.tau)
        solution = ConstraintSolver().solve_discretized_problem(data, h)
        assert solution.certificate.holds(1e-12)
        np.testing.assert_allclose(data.F @ solution.v_plus, 0.0, atol=1e-12)
        np.testing.assert_allclose(data.N @ solution.v_plus, 0.0, atol=1e-12)
        impulse = h * solution.forces.fN[0]
        assert 0.1 < impulse < 10.0
        assert abs(solution.forces.fF[0]) <= 2.0 * solution.forces.fN[0]

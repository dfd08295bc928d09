"""Impulses: the rod's textbook impacts, the matrix at h = 1, and units that differ from those of a step."""

from __future__ import annotations

import numpy as np
import pytest
from rods import EPS, Rod

from contactlab import ConstraintSolver
from contactlab.constraint_solver import ImpactSolution
from problem_data import ConstraintVelProblemData, ProblemDataError

duplicated = pytest.mark.parametrize(("copies", "more"), [(c, m) for c in range(3) for m in range(4)])
both_sides = pytest.mark.parametrize("mirrored", [False, True])
FRAME = np.array([[0.0, 1.0], [1.0, 0.0]])


def solve(data: ConstraintVelProblemData) -> ImpactSolution:
    """Solve; the answer is certified and v+ is that of the static helpers."""
    solution = ConstraintSolver().solve_impact_problem(data)
    assert solution.certificate.worst < 1e-12, str(solution.certificate)
    change = ConstraintSolver.compute_generalized_velocity_change(data, solution.forces)
    np.testing.assert_allclose(solution.v_plus, data.blocks().v_free + change, atol=EPS)
    assert solution.forces.packed().shape == (data.nc + data.nr + data.nl + data.nb,)
    return solution


@duplicated
@both_sides
@pytest.mark.parametrize("kN", [1.0, 0.0, -1.0])
def test_lying_rod_lands_and_goes_on_sliding(kN: float, mirrored: bool, copies: int, more: int) -> None:
    """Friction 1e-4 is at its bound and does not reverse the slip; kN = 1 asks no impulse, kN = -1 for a speed of 1."""
    rod = Rod(0.0, v=(1.0, -1.0, 0.0), copies=copies, more=more, mirrored=mirrored)
    data = rod.at_velocity_level(1e-4, kN)
    solution = solve(data)
    forces = solution.forces
    if kN > 0.0:
        assert np.linalg.norm(forces.packed()) < EPS
        return
    frames = [FRAME] * data.nc
    if more:
        with pytest.raises(ProblemDataError, match="^r: "):
            ConstraintSolver.calc_contact_forces_in_contact_frames(data, forces, frames)
    else:
        normal, tangential = sum(ConstraintSolver.calc_contact_forces_in_contact_frames(data, forces, frames))
        assert abs(abs(tangential) - 1e-4 * normal) < EPS
    assert abs(abs(forces.fF.sum()) - 1e-4 * forces.fN.sum()) < EPS
    assert np.sign(solution.v_plus[0]) == rod.side
    assert abs(solution.v_plus[1] + kN) < EPS


@duplicated
@both_sides
@pytest.mark.parametrize("kN", [1.0, 0.0, -1.0])
def test_lying_rod_lands_and_sticks(kN: float, mirrored: bool, copies: int, more: int) -> None:
    """Friction 15 stops the slip: velocity zero, or straight up at the speed that kN asks."""
    rod = Rod(0.0, v=(1.0, -1.0, 0.0), copies=copies, more=more, mirrored=mirrored)
    solution = solve(rod.at_velocity_level(15.0, kN))
    if kN > 0.0:
        assert np.linalg.norm(solution.forces.packed()) < EPS
    else:
        assert np.linalg.norm(solution.v_plus - [0.0, -kN, 0.0]) < EPS


def test_impulses_of_a_step_are_h_times_its_forces() -> None:
    """The same Mv and k, gamma multiplied by 1/h: impulses are the forces times h, and v+ is one."""
    h = 0.01
    rod = Rod(0.2, v=(1.0, -1.0, 0.0))
    gamma = np.array([2e-3])
    plain = rod.at_velocity_level(0.3, gammaN=gamma, gammaF=gamma, gammaE=gamma)
    forces = ConstraintSolver().solve_discretized_problem(plain, h)
    impact = rod.at_velocity_level(0.3, gammaN=gamma / h, gammaF=gamma / h, gammaE=gamma * h)
    impulses = solve(impact)
    np.testing.assert_allclose(impulses.forces.packed(), h * forces.forces.packed(), rtol=1e-12)
    np.testing.assert_allclose(impulses.v_plus, forces.v_plus, rtol=1e-12)
    np.testing.assert_allclose(impulses.generalized_force, h * forces.generalized_force, rtol=1e-12)


def test_data_of_the_other_level_are_refused() -> None:
    """Acceleration data in a velocity-level solve, and the reverse, are named."""
    accel = Rod(0.0).sticking(0.1)
    vel = Rod(0.0).at_velocity_level(0.1)
    solver = ConstraintSolver()
    for message, call in (
        ("ConstraintAccelProblemData, wanted ConstraintVelProblemData", lambda: solver.solve_impact_problem(accel)),
        (
            "ConstraintAccelProblemData, wanted ConstraintVelProblemData",
            lambda: solver.solve_discretized_problem(accel, 0.1),
        ),
        ("ConstraintVelProblemData, wanted ConstraintAccelProblemData", lambda: solver.solve_constraint_problem(vel)),
    ):
        with pytest.raises(ProblemDataError, match=message):
            call()

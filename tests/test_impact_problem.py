"""Impulses: the rod's textbook impacts, the matrix at h = 1, and units that differ from those of a step."""

from __future__ import annotations

import numpy as np
import pytest
from rods import EPS, MIRROR, M, Rod

import lcp
from contactlab import ConstraintSolveError, ConstraintSolver
from contactlab.constraint_solver import ImpactSolution
from contactlab.formulation.discretized import form_impact_lcp
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


@duplicated
def test_no_impact_no_impulses(copies: int, more: int) -> None:
    """Moving up at 1 m/s: exact zeros of full length, the velocity untouched."""
    data = Rod(0.0, v=(0.0, 1.0, 0.0), copies=copies, more=more).at_velocity_level(15.0)
    solution = solve(data)
    assert solution.forces.fF.shape == (data.nr,)
    assert not solution.forces.packed().any()
    assert np.array_equal(solution.v_plus, data.blocks().v_free)


@pytest.mark.parametrize("copies", [1, 2])
def test_bilateral_rows_alone(copies: int) -> None:
    """A rod in the air with kG = 1 on its spin: spin -1 after, an LCP of size 0."""
    data = ConstraintVelProblemData(M=M, Mv=np.zeros(3), G=np.tile([0.0, 0.0, 1.0], (copies, 1)), kG=np.ones(copies))
    solution = solve(data)
    assert len(solution.result.z) == 0
    np.testing.assert_allclose(solution.v_plus, [0.0, 0.0, -1.0], atol=EPS * copies)
    np.testing.assert_allclose(solution.forces.fG, -1.0 / copies, atol=EPS)


def test_an_impact_and_its_mirror_image() -> None:
    """A leaning rod that falls and slides: mirrored data, mirrored velocity."""
    one = solve(Rod(1.0, v=(1.0, -2.0, 0.5)).at_velocity_level(0.4))
    other = solve(Rod(1.0, v=(1.0, -2.0, 0.5), mirrored=True).at_velocity_level(0.4))
    np.testing.assert_allclose(other.v_plus, one.v_plus * MIRROR, atol=1e-14)


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


def test_a_failed_impact_carries_the_problem_and_no_step() -> None:
    """The error names the impact problem, and has data, LCP, result and certificate; h is None."""
    data = Rod(0.0, v=(1.0, -1.0, 0.0)).at_velocity_level(0.3)
    with pytest.raises(ConstraintSolveError, match="the impact problem was not solved.*ITERATION_LIMIT") as caught:
        ConstraintSolver(lcp.Lemke(max_pivots=1)).solve_impact_problem(data)
    assert caught.value.h is None
    assert caught.value.problem is data
    assert np.array_equal(caught.value.lcp.M, form_impact_lcp(data).MM)


def test_a_warm_start_takes_no_pivots() -> None:
    """The solution given as z0 is accepted; one of a wrong length is refused."""
    data = Rod(0.0, v=(1.0, -1.0, 0.3)).at_velocity_level(0.2)
    cold = solve(data)
    warm = ConstraintSolver().solve_impact_problem(data, z0=cold.result.z)
    assert cold.result.iterations > 0
    assert warm.result.iterations == 0
    with pytest.raises(ProblemDataError, match="^z0: shape"):
        ConstraintSolver().solve_impact_problem(data, z0=[1.0])


def test_data_of_the_other_level_are_refused() -> None:
    """Acceleration data in a velocity-level solve, and the reverse, are named."""
    accel = Rod(0.0).sticking(0.1)
    vel = Rod(0.0).at_velocity_level(0.1)
    solver = ConstraintSolver()
    with pytest.raises(ProblemDataError, match="ConstraintAccelProblemData, wanted ConstraintVelProblemData"):
        solver.solve_impact_problem(accel)
    with pytest.raises(ProblemDataError, match="ConstraintAccelProblemData, wanted ConstraintVelProblemData"):
        solver.solve_discretized_problem(accel, 0.1)
    with pytest.raises(ProblemDataError, match="ConstraintVelProblemData, wanted ConstraintAccelProblemData"):
        solver.solve_constraint_problem(vel)

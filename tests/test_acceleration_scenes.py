"""The rod's textbook scenes at acceleration level: LCP and linear path, both sides, contacts repeated."""

from __future__ import annotations

import numpy as np
import pytest
from rods import EPS, MASS, WEIGHT, G, M, Rod

from contactlab import ConstraintSolver
from contactlab.constraint_solver import AccelerationSolution
from problem_data import ConstraintAccelProblemData, ProblemDataError

duplicated = pytest.mark.parametrize(("copies", "more"), [(c, m) for c in range(3) for m in range(4)])
both_sides = pytest.mark.parametrize("mirrored", [False, True])
both_paths = pytest.mark.parametrize("complementarity", [True, False], ids=["lcp", "linear"])
FRAME = np.array([[0.0, 1.0], [1.0, 0.0]])


def solve(data: ConstraintAccelProblemData) -> AccelerationSolution:
    """Solve; what was enforced is certified, the helpers give the same acceleration, forces have full length."""
    solution = ConstraintSolver().solve_constraint_problem(data)
    certificate = solution.certificate
    assert set(certificate.violated(1e-12)) <= set(certificate.not_enforced), str(certificate)
    assert bool(certificate.not_enforced) is not data.use_complementarity_problem_solver
    total = ConstraintSolver.compute_generalized_acceleration(data, solution.forces)
    np.testing.assert_allclose(solution.acceleration, total, atol=EPS * (1 + np.abs(total).max()))
    assert solution.forces.packed().shape == (data.nc + data.nr + data.nl + data.nb,)
    return solution


@duplicated
@both_sides
@pytest.mark.parametrize("kN", [G, 0.0, -G])
def test_upright_rod_sticks_when_its_foot_is_pulled(kN: float, mirrored: bool, copies: int, more: int) -> None:
    """Friction balances 100 N at the foot; kN = +|g| needs no force, -|g| asks for twice the weight."""
    rod = Rod(np.pi / 2, load=(100.0, 0.0, 100.0), copies=copies, more=more, mirrored=mirrored)
    data = rod.sticking(15.0, kN)
    solution = solve(data)
    forces = solution.forces
    tolerance = EPS * len(forces.packed())
    if kN > 0.0:
        assert np.linalg.norm(forces.packed()) < EPS
        return
    assert abs(forces.fF.sum() + 100.0 * rod.side) < tolerance
    assert np.linalg.norm(solution.acceleration - [0.0, -kN, 0.0]) < tolerance
    frames = [FRAME] * data.nc
    if more:
        with pytest.raises(ProblemDataError, match="^r: "):
            ConstraintSolver.calc_contact_forces_in_contact_frames(data, forces, frames)
    else:
        total = sum(ConstraintSolver.calc_contact_forces_in_contact_frames(data, forces, frames))
        np.testing.assert_allclose(total, [forces.fN.sum(), -100.0 * rod.side], atol=tolerance)


@both_paths
@duplicated
@both_sides
@pytest.mark.parametrize("kN", [G, 0.0, -G])
def test_lying_rod_sticks_on_two_points(
    kN: float, mirrored: bool, copies: int, more: int, complementarity: bool
) -> None:
    """Weight and 100 N at the centre are carried by both ends: no acceleration but the one that kN asks."""
    rod = Rod(0.0, load=(100.0, 0.0, 0.0), copies=copies, more=more, mirrored=mirrored)
    data = rod.sticking(15.0, kN, use_complementarity_problem_solver=complementarity)
    solution = solve(data)
    tolerance = EPS * len(solution.forces.packed())
    if kN > 0.0 and not complementarity:
        # Every row active: friction holds the load without any normal force, and the certificate says so.
        assert solution.certificate.violated() == ("cone",)
        assert np.abs(solution.acceleration - [0.0, -G, 0.0]).max() < tolerance
        return
    assert solution.certificate.holds()
    if kN > 0.0:
        assert np.linalg.norm(solution.forces.packed()) < EPS
        return
    assert abs(solution.forces.fN.sum() - MASS * (G - kN)) < tolerance
    assert abs(solution.forces.fF.sum() + 100.0 * rod.side) < tolerance
    assert np.linalg.norm(solution.acceleration - [0.0, -kN, 0.0]) < tolerance


@both_paths
@both_sides
@pytest.mark.parametrize("copies", range(3))
@pytest.mark.parametrize("angle", [0.0, np.pi / 2])
@pytest.mark.parametrize("kN", [G, 0.0, -G])
def test_rod_slides_without_friction(
    kN: float, angle: float, copies: int, mirrored: bool, complementarity: bool
) -> None:
    """Lying (two points) or upright (one): the weight is carried, the packed forces are the normal ones alone."""
    rod = Rod(angle, v=(1.0, 0.0, 0.0), copies=copies, mirrored=mirrored)
    data = rod.sliding(0.0, kN, use_complementarity_problem_solver=complementarity)
    solution = solve(data)
    assert solution.forces.packed().shape == (data.ns,)
    tolerance = EPS * data.ns
    assert abs(solution.forces.fN.sum() - MASS * (G - kN)) < tolerance
    assert abs(solution.acceleration[1] + kN) < tolerance
    assert abs(solution.generalized_force[0]) < tolerance
    if kN > 0.0:
        assert np.linalg.norm(solution.forces.packed()) < EPS


@both_paths
@both_sides
@pytest.mark.parametrize("k", [G, 0.0, -G])
def test_one_sliding_point_and_one_limit(k: float, mirrored: bool, complementarity: bool) -> None:
    """The leading end posed as a limit: two numbers carry the rod, the vertical acceleration is what k asks."""
    rod = Rod(0.0, v=(1.0, 0.0, 0.0), mirrored=mirrored)
    N, F = rod.rows()
    data = ConstraintAccelProblemData(
        M=M,
        tau=WEIGHT,
        N=N[:1],
        Q=rod.side * F[:1],
        mu_sliding=[0.1],
        sliding_contacts=[0],
        kN=[k],
        L=N[1:],
        kL=[k],
        use_complementarity_problem_solver=complementarity,
    )
    solution = solve(data)
    assert solution.forces.packed().shape == (2,)
    assert abs(solution.acceleration[1] + k) < 2 * EPS
    if k > 0.0:
        assert np.linalg.norm(solution.forces.packed()) < EPS
    else:
        friction = -0.1 * rod.side * solution.forces.fN[0]
        assert abs(solution.acceleration[0] - friction / MASS) < 2 * EPS


@both_paths
def test_a_limit_that_forbids_lifting_beside_sticking_contacts(complementarity: bool) -> None:
    """Contacts below, a limit above, 1 N sideways: no acceleration either way, five forces."""
    data = Rod(0.0, load=(1.0, 0.0, 0.0)).sticking(
        1.0, L=[[0.0, -1.0, 0.0]], use_complementarity_problem_solver=complementarity
    )
    solution = solve(data)
    assert solution.forces.packed().shape == (5,)
    assert np.abs(solution.acceleration[:2]).max() < EPS * 5
    # Of all forces that balance, the linear path gives those of least norm, and these pull at the limit.
    assert solution.certificate.violated() == (() if complementarity else ("force_sign",))


@both_paths
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_limit_alone_carries_the_weight(sign: float, complementarity: bool) -> None:
    """One row on the height: 19.62 N, and again with row and load negated."""
    data = ConstraintAccelProblemData(
        M=M, tau=sign * WEIGHT, L=[[0.0, sign, 0.0]], use_complementarity_problem_solver=complementarity
    )
    solution = solve(data)
    assert abs(solution.forces.fL[0] - MASS * G) < EPS
    assert abs(solution.acceleration[1]) < EPS


@duplicated
def test_a_rod_pulled_up_feels_nothing(copies: int, more: int) -> None:
    """100 N upwards at rest: zero forces of full length, an exact zero."""
    rod = Rod(0.0, load=(0.0, 100.0, 0.0), copies=copies, more=more)
    data = rod.sticking(15.0)
    solution = solve(data)
    assert solution.forces.fN.shape == (data.nc,)
    assert solution.forces.fF.shape == (data.nr,)
    assert not solution.forces.packed().any()
    assert not solution.generalized_force.any()
    assert np.array_equal(solution.acceleration, data.blocks().a_free)


@both_paths
@pytest.mark.parametrize("copies", [1, 3])
def test_bilateral_rows_alone(copies: int, complementarity: bool) -> None:
    """A rod in the air whose spin is to change at -1 rad/s^2, the row repeated: an LCP of size 0."""
    data = ConstraintAccelProblemData(
        M=M,
        tau=WEIGHT,
        G=np.tile([0.0, 0.0, 1.0], (copies, 1)),
        kG=np.ones(copies),
        use_complementarity_problem_solver=complementarity,
    )
    solution = solve(data)
    np.testing.assert_allclose(solution.acceleration, [0.0, -G, -1.0], atol=EPS * copies)
    np.testing.assert_allclose(solution.forces.fG, -1.0 / copies, atol=EPS)


@both_paths
def test_no_constraints_at_all(complementarity: bool) -> None:
    """No rows: empty forces, free motion; an empty bilateral operator changes nothing."""
    for more in ({}, {"G": np.zeros((0, 3)), "kG": []}):
        data = ConstraintAccelProblemData(M=M, tau=WEIGHT, use_complementarity_problem_solver=complementarity, **more)
        solution = solve(data)
        assert solution.forces.packed().shape == (0,)
        assert np.array_equal(solution.generalized_force, np.zeros(3))
        assert np.array_equal(solution.acceleration, data.blocks().a_free)

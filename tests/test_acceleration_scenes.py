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

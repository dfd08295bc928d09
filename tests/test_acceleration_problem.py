"""The acceleration-level problem: its matrix against the dense mixed problem, invariances, failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mixed import acceleration_lcp, random_acceleration_fields, random_acceleration_problem
from rods import Rod

from contactlab import ConstraintSolver
from contactlab.constraint_solver import AccelerationSolution
from contactlab.formulation.acceleration import form_acceleration_lcp
from problem_data import ConstraintAccelProblemData, ProblemDataError


def solve(data: ConstraintAccelProblemData) -> AccelerationSolution:
    """Solve; the answer must be certified."""
    solution = ConstraintSolver().solve_constraint_problem(data)
    assert solution.certificate.worst < 1e-10, str(solution.certificate)
    return solution


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("nb", "rank"), [(0, None), (2, None), (3, 2), (5, 1), (7, 3), (9, 7)])
def test_matrix_is_that_of_the_dense_mixed_problem(seed: int, nb: int, rank: int | None) -> None:
    """MM and qq agree with a null-space elimination of the mixed problem; rank 7 leaves no motion at all."""
    data = random_acceleration_problem(seed, nb=nb, rank=rank)
    formed = form_acceleration_lcp(data)
    MM, qq = acceleration_lcp(data)
    np.testing.assert_allclose(formed.MM, MM, atol=1e-12 * np.abs(MM).max())
    np.testing.assert_allclose(formed.qq, qq, atol=1e-11 * np.abs(qq).max())


@pytest.mark.nojit
@pytest.mark.parametrize("nb", [0, 2])
def test_forces_of_any_lcp_vector_move_the_rows_as_the_lcp_says(nb: int) -> None:
    """For any z, N a + kN (and the rates of F, L) are entries of MM z + qq, and G a + kG = 0."""
    data = random_acceleration_problem(7, nb=nb)
    formed = form_acceleration_lcp(data)
    z = np.random.default_rng(1).uniform(size=len(formed.qq))
    z[data.nc + 2 * data.nr : data.nc + 2 * data.nr + data.nns] = 0.0  # lambda is no force
    w = formed.MM @ z + formed.qq
    packed, a = formed.unpack(z)
    load = data.tau + ConstraintSolver.compute_generalized_force_from_constraint_forces(data, packed)
    np.testing.assert_allclose(data.solve_inertia(load), a, atol=1e-12)
    np.testing.assert_allclose(data.N @ a + data.kN, w[: data.nc], atol=1e-12)
    np.testing.assert_allclose(data.F @ a + data.kF, w[data.nc : data.nc + data.nr], atol=1e-12)
    np.testing.assert_allclose(data.L @ a + data.kL, w[-2:], atol=1e-12)
    np.testing.assert_allclose(data.G @ a + data.kG, 0.0, atol=1e-12)


@pytest.mark.parametrize("nb", [0, 2, 3])
@pytest.mark.parametrize("seed", range(15))
def test_random_problems_with_every_class_of_rows_are_solved(seed: int, nb: int) -> None:
    """Contacts of both kinds, limits and bilateral rows together: solved and certified."""
    solution = solve(random_acceleration_problem(seed, nb=nb, rank=2 if nb else None))
    assert solution.result.solved


def same_motion(first: dict[str, Any], second: dict[str, Any]) -> None:
    a = solve(ConstraintAccelProblemData(**first))
    b = solve(ConstraintAccelProblemData(**second))
    assert a.generalized_force.any()
    np.testing.assert_allclose(b.acceleration, a.acceleration, atol=1e-10 * np.abs(a.acceleration).max())
    largest = np.abs(a.generalized_force).max()
    np.testing.assert_allclose(b.generalized_force, a.generalized_force, atol=1e-10 * largest)


@pytest.mark.parametrize("nb", [0, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_contacts_and_the_sign_of_directions_do_not_matter(seed: int, nb: int) -> None:
    """Contacts in reverse, directions in reverse and negated, limits exchanged."""
    body = random_acceleration_fields(seed, nb=nb, rank=2 if nb else None)
    copy = body | {
        "F": -body["F"][::-1],
        "kF": -body["kF"][::-1],
        "sliding_contacts": 3 - body["sliding_contacts"][::-1],
    }
    for name in ("N", "kN", "Q", "mu_sliding", "mu_non_sliding", "r", "L", "kL", "G", "kG"):
        copy[name] = body[name][::-1]
    same_motion(body, copy)


def test_a_particle_in_space_with_two_directions() -> None:
    """r = 2: pulled along x beyond its bound, friction opposes along x at mu fN; the diamond's corner."""
    data = ConstraintAccelProblemData(
        M=2.0 * np.eye(3),
        tau=[12.0, 0.0, -20.0],
        N=[[0, 0, 1]],
        F=[[1, 0, 0], [0, 1, 0]],
        mu_non_sliding=[0.5],
        r=[2],
    )
    solution = solve(data)
    np.testing.assert_allclose(solution.forces.fN, [20.0])
    np.testing.assert_allclose(solution.forces.fF, [-10.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(solution.acceleration, [1.0, 0.0, 0.0], atol=1e-12)


def test_sliding_friction_in_closed_form() -> None:
    """A particle that slides decelerates at mu g; a bilateral row along the motion carries that friction instead."""
    fields: dict[str, Any] = {
        "M": 2.0 * np.eye(2),
        "tau": [0.0, -20.0],
        "N": [[0, 1]],
        "Q": [[1, 0]],
        "mu_sliding": [0.5],
        "sliding_contacts": [0],
    }
    np.testing.assert_allclose(solve(ConstraintAccelProblemData(**fields)).acceleration, [-5.0, 0.0], atol=1e-14)
    tied = solve(ConstraintAccelProblemData(**fields, G=[[1.0, 0.0]], kG=[0.0]))
    np.testing.assert_allclose(tied.forces.fG, [10.0], atol=1e-13)


def test_a_warm_start_takes_no_pivots() -> None:
    """The solution given as z0 is accepted; one of a wrong length is refused with the length wanted here."""
    data = Rod(0.0, load=(1.0, 0.0, 0.1)).sticking(0.5)
    cold = solve(data)
    warm = ConstraintSolver().solve_constraint_problem(data, z0=cold.result.z)
    assert cold.result.iterations > 0
    assert warm.result.iterations == 0
    with pytest.raises(ProblemDataError, match=r"^z0: .*nc \+ 2 nr \+ nns \+ nl"):
        ConstraintSolver().solve_constraint_problem(data, z0=[1.0])

"""Problems of one instant: accelerations and impacts of rods, the linear path, invariances, failures."""

from typing import Any

import numpy as np
import pytest
from mixed import acceleration_lcp, random_acceleration_fields, random_acceleration_problem
from refusals import assert_messages
from rods import EPS, G, Rod

import lcp
from contactlab import ConstraintSolveError, ConstraintSolver
from contactlab.constraint_solver import AccelerationSolution, ImpactSolution
from contactlab.constraint_solver.acceleration import form_acceleration_lcp
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData, ProblemDataError


def solve(data: ConstraintAccelProblemData) -> AccelerationSolution:
    """Solve; the solution must be certified."""
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


def test_a_warm_start_takes_no_pivots() -> None:
    """The solution given as z0 is accepted; one of a wrong length is refused with the length wanted here."""
    data = Rod(0.0, load=(1.0, 0.0, 0.1)).sticking(0.5)
    cold = solve(data)
    warm = ConstraintSolver().solve_constraint_problem(data, z0=cold.result.z)
    assert cold.result.iterations > 0
    assert warm.result.iterations == 0
    with pytest.raises(ProblemDataError, match=r"^z0: .*nc \+ 2 nr \+ nns \+ nl"):
        ConstraintSolver().solve_constraint_problem(data, z0=[1.0])


duplicated = pytest.mark.parametrize(("copies", "more"), [(c, m) for c in range(3) for m in range(4)])
both_sides = pytest.mark.parametrize("mirrored", [False, True])
both_paths = pytest.mark.parametrize("complementarity", [True, False], ids=["lcp", "linear"])


def solve_scene(data: ConstraintAccelProblemData) -> AccelerationSolution:
    """Solve; the enforced conditions are certified, the helpers give the same acceleration, forces have full length."""
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
    """Friction balances 100 N at the foot; kN = +|g| needs no force, -|g| needs twice the weight."""
    rod = Rod(np.pi / 2, load=(100.0, 0.0, 100.0), copies=copies, more=more, mirrored=mirrored)
    data = rod.sticking(15.0, kN)
    solution = solve_scene(data)
    forces = solution.forces
    tolerance = EPS * len(forces.packed())
    if kN > 0.0:
        assert np.linalg.norm(forces.packed()) < EPS
        return
    assert abs(forces.fF.sum() + 100.0 * rod.side) < tolerance
    assert np.linalg.norm(solution.acceleration - [0.0, -kN, 0.0]) < tolerance


@both_paths
def test_a_limit_that_forbids_lifting_beside_sticking_contacts(complementarity: bool) -> None:
    """Contacts below, a limit above, 1 N sideways: no acceleration either way, five forces."""
    data = Rod(0.0, load=(1.0, 0.0, 0.0)).sticking(
        1.0, L=[[0.0, -1.0, 0.0]], use_complementarity_problem_solver=complementarity
    )
    solution = solve_scene(data)
    assert solution.forces.packed().shape == (5,)
    assert np.abs(solution.acceleration[:2]).max() < EPS * 5
    # Of all balancing forces the linear path gives the ones of least norm, and these pull at the limit.
    assert solution.certificate.violated() == (() if complementarity else ("force_sign",))


def solve_impact(data: ConstraintVelProblemData) -> ImpactSolution:
    """Solve; the solution is certified and v+ equals the one of the static helpers."""
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
    """Friction 1e-4 is at its bound and does not reverse the slip; kN = 1 needs no impulse, kN = -1 a speed of 1."""
    rod = Rod(0.0, v=(1.0, -1.0, 0.0), copies=copies, more=more, mirrored=mirrored)
    data = rod.at_velocity_level(1e-4, kN)
    solution = solve_impact(data)
    forces = solution.forces
    if kN > 0.0:
        assert np.linalg.norm(forces.packed()) < EPS
        return
    assert abs(abs(forces.fF.sum()) - 1e-4 * forces.fN.sum()) < EPS
    assert np.sign(solution.v_plus[0]) == rod.side
    assert abs(solution.v_plus[1] + kN) < EPS


def test_impulses_of_a_step_are_h_times_its_forces() -> None:
    """The same Mv and k, gamma multiplied by 1/h: impulses are the forces times h, and v+ is one."""
    h = 0.01
    rod = Rod(0.2, v=(1.0, -1.0, 0.0))
    gamma = np.array([2e-3])
    plain = rod.at_velocity_level(0.3, gammaN=gamma, gammaF=gamma, gammaE=gamma)
    forces = ConstraintSolver().solve_discretized_problem(plain, h)
    impact = rod.at_velocity_level(0.3, gammaN=gamma / h, gammaF=gamma / h, gammaE=gamma * h)
    impulses = solve_impact(impact)
    np.testing.assert_allclose(impulses.forces.packed(), h * forces.forces.packed(), rtol=1e-12)
    np.testing.assert_allclose(impulses.v_plus, forces.v_plus, rtol=1e-12)
    np.testing.assert_allclose(impulses.generalized_force, h * forces.generalized_force, rtol=1e-12)


def test_data_of_the_other_level_are_refused() -> None:
    """Acceleration data in a velocity-level solve, and the reverse, are named."""
    accel = Rod(0.0).sticking(0.1)
    vel = Rod(0.0).at_velocity_level(0.1)
    solver = ConstraintSolver()
    assert_messages(
        ProblemDataError,
        ("ConstraintAccelProblemData, wanted ConstraintVelProblemData", lambda: solver.solve_impact_problem(accel)),
        (
            "ConstraintAccelProblemData, wanted ConstraintVelProblemData",
            lambda: solver.solve_discretized_problem(accel, 0.1),
        ),
        ("ConstraintVelProblemData, wanted ConstraintAccelProblemData", lambda: solver.solve_constraint_problem(vel)),
    )


def solve_linear(fields: dict[str, Any]) -> AccelerationSolution:
    data = ConstraintAccelProblemData(**fields, use_complementarity_problem_solver=False)
    return ConstraintSolver().solve_constraint_problem(data)


@pytest.mark.nojit
@pytest.mark.parametrize("nb", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_every_row_becomes_active(seed: int, nb: int) -> None:
    """Six rows, up to one of them bilateral, all zero; the forces solve the block system of the dense mixed problem."""
    fields = random_acceleration_fields(seed, nb=nb) | {"r": [1, 1]}
    fields |= {name: fields[name][:2] for name in ("F", "kF")}
    fields |= {name: fields[name][:1] for name in ("L", "kL")}
    fields |= {"N": fields["N"][:3], "kN": fields["kN"][:3], "sliding_contacts": [1]}
    fields |= {"Q": fields["Q"][:1], "mu_sliding": fields["mu_sliding"][:1]}
    solution = solve_linear(fields)
    data = ConstraintAccelProblemData(**fields)
    for rows, k in ((data.N, data.kN), (data.F, data.kF), (data.L, data.kL), (data.G, data.kG)):
        np.testing.assert_allclose(rows @ solution.acceleration + k, 0.0, atol=1e-11)
    MM, qq = acceleration_lcp(data)
    rows = [0, 1, 2, 3, 4, len(qq) - 1]  # fN, fF+, fL
    x = np.linalg.solve(MM[np.ix_(rows, rows)], -qq[rows])
    np.testing.assert_allclose(solution.forces.packed()[:6], x, rtol=1e-8, atol=1e-9)
    assert solution.result.solved
    assert solution.result.rank == 6


def test_contacts_that_would_have_to_pull_are_returned_and_named() -> None:
    """A rod pulled up by 100 N: the linear path pulls it down, and the certificate names the sign of the force."""
    data = Rod(0.0, load=(0.0, 100.0, 0.0)).sticking(0.5, use_complementarity_problem_solver=False)
    solution = ConstraintSolver().solve_constraint_problem(data)
    assert (solution.forces.fN < 0.0).all()
    certificate = solution.certificate
    assert not certificate.holds()
    assert "force_sign" in certificate.violated()
    assert set(certificate.violated()) <= set(certificate.not_enforced)
    assert certificate.force_sign.violation == pytest.approx(0.5 * (100.0 - 2.0 * G))
    assert "of these violated: cone, force_sign" in str(certificate)


def test_rows_that_cannot_all_be_active_are_refused() -> None:
    """One contact listed twice with two different terms: INCONSISTENT, with the share of the row that is left over."""
    rod = Rod(np.pi / 2, copies=1)
    data = rod.sticking(0.5, kN=[0.0, 1.0], use_complementarity_problem_solver=False)
    with pytest.raises(ConstraintSolveError, match="not every row can be active at once") as caught:
        ConstraintSolver().solve_constraint_problem(data)
    error = caught.value
    assert error.result.status is lcp.Status.INCONSISTENT
    assert error.lcp is None
    # The complementarity problem has an answer: the contact with the smaller term holds, the other is open.
    exact = ConstraintAccelProblemData.from_blocks(data.blocks(), solve_inertia=data.solve_inertia)
    assert ConstraintSolver().solve_constraint_problem(exact).certificate.holds()


@pytest.mark.parametrize("copies", [1, 2])
def test_duplicated_contacts_share_their_force(copies: int) -> None:
    """The norm of the forces is least: copies of a contact carry equal parts."""
    data = Rod(0.0, load=(1.0, 0.0, 0.3), copies=copies).sticking(1.0, use_complementarity_problem_solver=False)
    forces = ConstraintSolver().solve_constraint_problem(data).forces
    for values in (forces.fN, forces.fF):
        shares = values.reshape(2, 1 + copies)
        np.testing.assert_allclose(shares, np.repeat(shares[:, :1], 1 + copies, axis=1), rtol=1e-12)


def test_the_rank_does_not_depend_on_units() -> None:
    """Limits in strange units beside contacts: same motion, same rank."""
    rod = Rod(0.0, load=(1.0, 0.0, 0.0))
    plain, scaled = (
        ConstraintSolver().solve_constraint_problem(
            rod.sticking(1.0, L=unit * np.array([[0.0, -1.0, 0.0]]), use_complementarity_problem_solver=False)
        )
        for unit in (1.0, 1e-9)
    )
    assert plain.result.rank == scaled.result.rank == 3
    np.testing.assert_allclose(scaled.acceleration, plain.acceleration, atol=1e-12)

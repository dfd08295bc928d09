"""The linear path: all rows active in one system, with a certificate that names unchecked conditions."""

from typing import Any

import numpy as np
import pytest
from mixed import acceleration_lcp, random_acceleration_fields
from rods import G, Rod

import lcp
from contactlab import ConstraintSolveError, ConstraintSolver
from contactlab.constraint_solver import AccelerationSolution
from contactlab.formulation.acceleration import NOT_ENFORCED
from problem_data import ConstraintAccelProblemData


def solve(fields: dict[str, Any]) -> AccelerationSolution:
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
    solution = solve(fields)
    data = ConstraintAccelProblemData(**fields)
    for rows, k in ((data.N, data.kN), (data.F, data.kF), (data.L, data.kL), (data.G, data.kG)):
        np.testing.assert_allclose(rows @ solution.acceleration + k, 0.0, atol=1e-11)
    MM, qq = acceleration_lcp(data)
    rows = [0, 1, 2, 3, 4, len(qq) - 1]  # fN, fF+, fL
    x = np.linalg.solve(MM[np.ix_(rows, rows)], -qq[rows])
    np.testing.assert_allclose(solution.forces.packed()[:6], x, rtol=1e-8, atol=1e-9)
    assert solution.result.solved
    assert solution.result.rank == 6


def test_where_all_rows_are_active_it_is_the_complementarity_problem() -> None:
    """A sticking and a frictionless sliding rod: same forces, and the certificate holds on both paths."""
    for fast, slow in (
        (Rod(1.2, load=(0.1, 0.0, 8.0)).sticking(2.0, use_complementarity_problem_solver=False), None),
        (Rod(0.3, v=(1.0, 0.0, 0.0)).sliding(0.2, use_complementarity_problem_solver=False), None),
    ):
        slow = ConstraintAccelProblemData.from_blocks(fast.blocks(), solve_inertia=fast.solve_inertia)
        linear = ConstraintSolver().solve_constraint_problem(fast)
        exact = ConstraintSolver().solve_constraint_problem(slow)
        np.testing.assert_allclose(linear.forces.packed(), exact.forces.packed(), rtol=1e-12)
        assert linear.certificate.holds()
        assert linear.certificate.not_enforced == NOT_ENFORCED
        assert exact.certificate.not_enforced == ()
        assert np.allclose(linear.result.z[: fast.nc], exact.result.z[: fast.nc])


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
    text = str(certificate)
    assert "not enforced, only measured: cone, force_sign" in text
    assert "of these violated: cone, force_sign" in text


def test_friction_beyond_the_cone_is_returned_and_named() -> None:
    """A sideways pull of 100 N with mu = 0.1 is held all the same; the cone is violated by what is too much."""
    data = Rod(0.0, load=(100.0, 0.0, 0.0)).sticking(0.1, use_complementarity_problem_solver=False)
    certificate = ConstraintSolver().solve_constraint_problem(data).certificate
    assert certificate.violated() == ("cone",)
    assert certificate.cone.violation == pytest.approx(0.5 * (100.0 - 0.1 * 2.0 * G))


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


def test_sliding_contacts_all_determined_by_bilateral_rows() -> None:
    """A rod on rails (no vertical motion): the normal force of its contact is undetermined, and least: zero."""
    data = Rod(0.0, v=(1.0, 0.0, 0.0)).sliding(0.3, G=np.eye(3)[1:], use_complementarity_problem_solver=False)
    solution = ConstraintSolver().solve_constraint_problem(data)
    np.testing.assert_allclose(solution.forces.fN, 0.0, atol=1e-12)
    np.testing.assert_allclose(solution.forces.fG, [2.0 * G, 0.0], atol=1e-12)
    np.testing.assert_allclose(solution.acceleration, 0.0, atol=1e-12)

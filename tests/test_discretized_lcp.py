"""LCPs of a step: two-stage form, bilateral rows, recovery of forces; `test_boxed_rows.py` has the dense problem."""

import numpy as np
import pytest
from boxed import random_problem

from contactlab import ConstraintSolver
from contactlab.constraint_solver.blocks import factor_bilateral_rows, unilateral_rows
from contactlab.constraint_solver.discretized import form_discretized_lcp
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData, ProblemDataError

H = 0.0125


@pytest.mark.parametrize("nb", [0, 3])
def test_solve_inverts_the_block_system(nb: int) -> None:
    """A X = B for A = [[M, -G'], [G, 0]], one and several columns."""
    data = random_problem(6, nb=nb, nbox=0)
    assert data.M is not None
    G = np.asarray(data.G @ np.eye(data.nv))
    A = np.block([[data.M, -G.T], [G, np.zeros((nb, nb))]])
    base = ConstraintSolver.construct_base_discretized_time_lcp(data)
    B = np.random.default_rng(0).normal(size=(data.nv + nb, 3))
    np.testing.assert_allclose(A @ base.solve(B), B, atol=1e-12)
    np.testing.assert_allclose(A @ base.solve(B[:, 0]), B[:, 0], atol=1e-12)
    with pytest.raises(ProblemDataError, match="nv \\+ nb rows"):
        base.solve(B[1:])


@pytest.mark.nojit
@pytest.mark.parametrize("nb", [0, 2])
def test_forces_recovered_from_an_lcp_vector_move_the_rows_as_the_lcp_says(nb: int) -> None:
    """For any z, the rates N v+ + kN + gammaN fN (and the rates of F, L) are the entries of MM z + qq."""
    data = random_problem(7, nb=nb, nbox=0)
    discretized = form_discretized_lcp(data, H)
    z = np.random.default_rng(1).uniform(size=len(discretized.qq))
    z[data.nc + 2 * data.nr : 2 * data.nc + 2 * data.nr] = 0.0  # lambda is no force
    w = discretized.MM @ z + discretized.qq
    forces = ConstraintSolver.populate_packed_constraint_forces_from_lcp_solution(data, discretized, z, H)
    impulse = ConstraintSolver.compute_generalized_force_from_constraint_forces(data, forces) * H
    v_plus = data.solve_inertia(data.Mv + impulse)
    np.testing.assert_allclose(data.N @ v_plus + data.kN + data.gammaN * forces.fN, w[: data.nc], atol=1e-12)
    rates = data.F @ v_plus + data.kF + data.gammaF * z[data.nc : data.nc + data.nr]
    np.testing.assert_allclose(rates, w[data.nc : data.nc + data.nr], atol=1e-12)
    np.testing.assert_allclose(data.L @ v_plus + data.kL + data.gammaL * forces.fL, w[-data.nl :], atol=1e-12)
    np.testing.assert_allclose(data.G @ v_plus + data.kG, 0.0, atol=1e-12)


def test_a_step_says_how_well_its_rates_are_known() -> None:
    """Rows of rates by the largest of them, rows of cones not at all; the public path solves with what is said."""
    data = random_problem(3, nbox=0)
    formed = form_discretized_lcp(data, H)
    problem = formed.problem
    assert problem.q_uncertainty is not None
    rates = formed.qq != 0.0
    np.testing.assert_array_equal(problem.q_uncertainty[rates], 2.0**-30 * np.abs(formed.qq).max())
    assert not problem.q_uncertainty[~rates].any()
    result = ConstraintSolver().solve_discretized_problem(data, H).result
    assert result.residual.solved()


def test_bilateral_rows_carry_what_both_could() -> None:
    """A weight on a contact and on a bilateral row at once rests on the latter alone: it is eliminated first."""
    data = ConstraintAccelProblemData(M=[[2.0]], tau=[-20.0], N=[[1.0]], G=[[1.0]])
    forces = ConstraintSolver().solve_constraint_problem(data).forces
    assert forces.fN.tolist() == [0.0]
    np.testing.assert_allclose(forces.fG, [20.0])


def inertia(rng: np.random.Generator, nv: int) -> np.ndarray:
    root = rng.normal(size=(nv, nv))
    return np.linalg.inv(root @ root.T + nv * np.eye(nv))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("nb", "rank"), [(1, 1), (4, 4), (5, 3), (6, 1), (9, 6)])
def test_pseudo_inverse_is_that_of_the_delassus_matrix(seed: int, nb: int, rank: int) -> None:
    """W+ meets the four conditions of Penrose and the rank is found, redundant rows included."""
    rng = np.random.default_rng(seed)
    Minv = inertia(rng, 6)
    G = rng.normal(size=(nb, rank)) @ rng.normal(size=(rank, 6))
    rows = factor_bilateral_rows(G, G @ Minv)
    W, P = G @ Minv @ G.T, rows.W_pinv
    assert rows.rank == rank
    np.testing.assert_allclose(W @ P @ W, W, atol=1e-9 * np.abs(W).max())
    np.testing.assert_allclose(P @ W @ P, P, atol=1e-9 * np.abs(P).max())
    np.testing.assert_allclose(P @ W, (P @ W).T, atol=1e-9)


def test_rank_does_not_depend_on_the_units_of_the_rows() -> None:
    """Rows scaled by 1e-9 to 1e9 keep rank and motion."""
    rng = np.random.default_rng(5)
    Minv = inertia(rng, 6)
    G = rng.normal(size=(4, 6))
    G[3] = G[0] + G[1]
    units = np.array([1e-9, 1.0, 1e9, 1e4])
    rows = factor_bilateral_rows(units[:, None] * G, units[:, None] * G @ Minv)
    plain = factor_bilateral_rows(G, G @ Minv)
    assert rows.rank == plain.rank == 3
    v = rng.normal(size=6)
    np.testing.assert_allclose(rows.add_impulses(v, np.zeros(4))[1], plain.add_impulses(v, np.zeros(4))[1], atol=1e-10)


def test_duplicated_rows_share_their_impulse() -> None:
    """The multiplier has minimum norm: two equal rows carry half each, a zero row carries nothing."""
    G = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    rows = factor_bilateral_rows(G, G / 2.0)
    impulses, v = rows.add_impulses(np.array([-3.0, 0.0]), np.zeros(3))
    np.testing.assert_allclose(impulses, [3.0, 3.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(v, 0.0, atol=1e-14)
    assert rows.rank == 1


def test_a_row_that_the_bilateral_rows_determine_becomes_a_number() -> None:
    """A contact row that repeats a bilateral row has no response left and an exact zero rate, not rounding."""
    rng = np.random.default_rng(2)
    G = rng.normal(size=(2, 5))
    kG = rng.normal(size=2)
    data = ConstraintVelProblemData(
        solve_inertia=inertia(rng, 5),
        Mv=rng.normal(size=5),
        N=np.vstack((G.sum(0), rng.normal(size=5))),
        kN=[kG.sum(), 0.0],
        G=G,
        kG=kG,
    )
    rows = unilateral_rows(data.blocks())
    k, _ = rows.terms(data.blocks())
    assert rows.locked.tolist() == [1, 0]
    assert not rows.Y[0].any()
    assert k[0] == 0.0

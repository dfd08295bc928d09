"""Every friction solver against closed forms, against every assignment of modes, and against invariances."""

import math
from typing import Any

import numpy as np
import pytest
from friction import all_solutions, random_problem, rigid_pile, violation
from friction_catalog import FrictionEntry, block_on_plane, entries
from scipy import sparse

import lcp

ENTRIES = entries()
PROXIMAL = lcp.SemismoothNewton(alpha=1.0, max_iterations=5_000)
SOLVERS: list[Any] = [*(solver() for solver in lcp.ALL_FRICTION_SOLVERS), PROXIMAL]
EVERY = pytest.mark.parametrize(
    "solver", SOLVERS, ids=lambda solver: type(solver).__name__ + "+" * (solver is PROXIMAL)
)


@EVERY
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_solver_meets_every_named_problem(solver: Any, entry: FrictionEntry) -> None:
    result = lcp.solve(entry.problem, solver)
    if entry.u is None:
        assert not result.solved
        assert result.status.advice
        if isinstance(solver, lcp.ContactStrategies):
            assert result.status is entry.outcome
        return
    assert result.solved, result.describe()
    scale = max(1.0, float(np.abs(entry.u).max(initial=0.0)))
    np.testing.assert_allclose(result.u, entry.u, atol=1e-6 * scale)
    if entry.r is not None:
        np.testing.assert_allclose(result.r, entry.r, atol=1e-6 * max(1.0, float(np.abs(entry.r).max(initial=0.0))))
    assert violation(entry.problem, result.r) < 1e-6


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("skew", [0.0, 0.03])
def test_answers_are_among_those_of_all_modes(d: int, skew: float) -> None:
    rng = np.random.default_rng(10 * d + int(100 * skew))
    for k in range(6):
        problem = random_problem(rng, 1 + k % 2, d, skew)
        known = all_solutions(problem, seed=k)
        for solver in SOLVERS:
            result = lcp.solve(problem, solver)
            if isinstance(solver, lcp.ContactStrategies):
                assert result.solved == bool(known)
            if result.solved:
                assert violation(problem, result.r) < 1e-6
                assert min(np.abs(result.r - r).max() for r in known) < 1e-5


@EVERY
def test_friction_opposes_the_slip_alike_in_every_direction(solver: Any) -> None:
    for angle in np.linspace(0.0, 2.0 * math.pi, 37):
        q = [-2.0, 3.0 * math.cos(angle), 3.0 * math.sin(angle)]
        result = lcp.solve(lcp.FrictionProblem(np.eye(3), q, [0.6]), solver, tolerance=1e-10)
        assert result.solved
        np.testing.assert_allclose(result.u[1:], [1.8 * math.cos(angle), 1.8 * math.sin(angle)], atol=1e-8)


def test_turned_tangents_turn_the_answer() -> None:
    problem = block_on_plane(0.3, (1.0, 0.2))
    first = lcp.solve(problem)
    rng = np.random.default_rng(5)
    blocks = []
    for angle in rng.uniform(0.0, 2.0 * math.pi, problem.nc):
        c, s = math.cos(angle), math.sin(angle)
        blocks.append(np.array([[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]]))
    T = sparse.block_diag(blocks).toarray()
    turned = lcp.solve(lcp.FrictionProblem(T @ problem.W @ T.T, T @ problem.q, problem.mu))
    assert turned.solved
    np.testing.assert_allclose(T.T @ turned.u, first.u, atol=1e-8)


def test_other_units_and_another_order_change_nothing() -> None:
    rng = np.random.default_rng(6)
    problem = random_problem(rng, 5)
    first = lcp.solve(problem)
    order = rng.permutation(5)
    index = (3 * order[:, None] + np.arange(3)).ravel()
    shuffled = lcp.solve(lcp.FrictionProblem(problem.W[np.ix_(index, index)], problem.q[index], problem.mu[order]))
    np.testing.assert_allclose(shuffled.r, first.r[index], atol=1e-9)
    for w, p in ((1e9, 1.0), (1e-9, 1.0), (1.0, 1e-150), (1e6, 1e-9), (1e-140, 1e150)):
        other = lcp.solve(lcp.FrictionProblem(w * problem.W, p * problem.q, problem.mu))
        assert other.solved, (w, p, other)
        np.testing.assert_allclose(other.r / (p / w), first.r, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("mu", [0.1, 0.5, 1.2])
def test_towers_of_cubes(mu: float) -> None:
    """Rigid, four contacts per face: W has half the rank. The default solves it fully, sparse as dense."""
    problem = rigid_pile(np.random.default_rng(int(10 * mu)), 5, mu)
    result = lcp.solve(problem)
    assert result.solved, result.describe()
    assert violation(problem, result.r) < 1e-6
    thin = lcp.solve(lcp.FrictionProblem(sparse.coo_matrix(problem.W), problem.q, problem.mu))
    assert thin.solved
    np.testing.assert_allclose(thin.u, result.u, atol=1e-6)


@EVERY
def test_a_known_answer_is_taken_from_the_start(solver: Any) -> None:
    problem = random_problem(np.random.default_rng(8), 6)
    known = lcp.solve(problem, tolerance=1e-12)
    again = lcp.solve(problem, solver, z0=known)
    assert again.solved
    assert again.iterations == 0
    assert lcp.solve(problem, solver, z0=known.r).solved


@pytest.mark.parametrize("solver", lcp.ALL_FRICTION_SOLVERS, ids=lambda solver: solver.__name__)
def test_limits_are_heeded_and_said(solver: Any) -> None:
    problem = rigid_pile(np.random.default_rng(1), 3, 0.5)
    if hasattr(solver(), "max_iterations"):
        result = lcp.solve(problem, solver(max_iterations=1), trace=True)
        assert result.status is lcp.Status.ITERATION_LIMIT
        assert result.iterations == 1
        assert result.trace is not None
        assert len(result.trace) >= 1
    late = lcp.solve(problem, solver(time_limit=1e-9))
    assert late.status is lcp.Status.ITERATION_LIMIT
    assert "time limit" in late.attempts[0].detail
    for wrong in ({"max_iterations": -1}, {"time_limit": 0.0}, {"max_iterations": 1.5}):
        if not hasattr(solver(), next(iter(wrong))):
            continue
        with pytest.raises(lcp.ProblemError, match=next(iter(wrong))):
            solver(**wrong)


def pile_of_bodies(nb: int, seed: int) -> lcp.GlobalFrictionProblem:
    """Boxes on one another, four contacts each, all of them redundant: free bodies of six velocities, thrown about."""
    rng = np.random.default_rng(seed)
    H = np.zeros((6 * nb, 12 * nb))
    corners = [(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]
    for body in range(nb):
        for corner, (x, y) in enumerate(corners):
            for other, z, sign in ((body, -0.5, 1.0), (body - 1, 0.5, -1.0)):
                if other < 0:
                    continue
                arm = np.array([x, y, z])
                for row, axis in enumerate(((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))):
                    column = H[6 * other : 6 * other + 6, 12 * body + 3 * corner + row]
                    column[:] = sign * np.concatenate((np.cross(arm, axis), axis))
    mass = rng.uniform(0.5, 2.0, nb)
    M = sparse.block_diag([m * np.diag([1 / 6] * 3 + [1.0] * 3) for m in mass]).tocsr()
    v = np.concatenate([np.concatenate((rng.normal(size=3) * 0.01, rng.normal(size=2) * 0.02, [-0.01])) for _ in mass])
    return lcp.GlobalFrictionProblem(M, sparse.csr_matrix(H), M @ v, np.zeros(12 * nb), np.full(4 * nb, 0.5))


@pytest.mark.parametrize("seed", range(3))
def test_redundant_piles_of_bodies_are_solved_and_share_their_loads(seed: int) -> None:
    problem = pile_of_bodies(6, seed)
    result = lcp.solve(problem, lcp.ContactStrategies())
    assert result.attempts[0].status is lcp.Status.SOLVED, result.describe()
    local = problem.reduce().problem
    again = lcp.solve(lcp.FrictionProblem(local.W, local.q, local.mu), lcp.ContactStrategies())
    assert again.attempts[0].status is lcp.Status.SOLVED, again.describe()
    # The motion is the same, however the bodies are known.
    assert again.u == pytest.approx(result.u, abs=1e-7 * np.abs(local.q).max())


def test_a_face_at_rest_presses_with_all_its_corners() -> None:
    """A box falls flat: any three corners could carry it; the interior solution loads all equally."""
    problem = pile_of_bodies(1, 0)
    M = problem.M
    flat = lcp.GlobalFrictionProblem(M, problem.H, M @ [0, 0, 0, 0, 0, -1.0], problem.w, problem.mu)
    result = lcp.solve(flat, lcp.ContactStrategies())
    assert result.attempts[0].status is lcp.Status.SOLVED
    assert result.r[::3] == pytest.approx(M[5, 5] / 4.0, rel=1e-6)


def test_problems_without_bodies_or_beyond_numbers_end_with_a_status() -> None:
    """No velocity at all, and a W near the end of double precision: a status says so, nothing raises."""
    nothing = lcp.GlobalFrictionProblem(np.zeros((0, 0)), np.zeros((0, 3)), [], [-1.0, 0.0, 0.0], [0.5])
    assert not lcp.solve(nothing, lcp.ContactStrategies()).solved
    for W in (np.full((3, 3), 1e308) + np.diag([7e307] * 3), np.diag([1.7e308] * 3)):
        result = lcp.solve(lcp.FrictionProblem(W, [-1.0, 0.0, 0.0], [0.5]), lcp.ContactStrategies())
        assert result.solved or result.status.advice


def test_bodies_at_rest_among_each_other_have_no_dust():
    """Two spheres that touch as they fall together, beside one that hits the ground: no impulse between the two."""
    H = np.zeros((6, 9))
    H[:3, :3] = np.eye(3)  # the one on the ground
    H[3:, 3:6], H[3:, 6:] = np.eye(3), -np.eye(3)
    f = np.array([-1.0, 0.3, 0.0, -2.0, 0.0, 0.0, -2.0, 0.0, 0.0])
    problem = lcp.GlobalFrictionProblem(np.eye(9), H.T, f, np.zeros(6), np.array([0.5, 0.5]))
    found = lcp.solve(problem, lcp.ContactStrategies())
    assert found.attempts[0].status is lcp.Status.SOLVED
    np.testing.assert_array_equal(found.r[3:], 0.0)
    np.testing.assert_allclose(found.r[:3], [1.0, -0.3, 0.0], atol=1e-8)


def test_contacts_of_different_numbers_of_components_stand_side_by_side() -> None:
    """A normal alone, one in the plane and one in space, joined by W: rows of zeros where a tangent is missing."""
    rng = np.random.default_rng(4)
    A = rng.normal(size=(6, 6))
    problem = lcp.FrictionProblem(A @ A.T + np.eye(6), [-1.0, -1.0, 0.4, -1.0, 2.0, -0.5], [0.0, 0.3, 0.5], (1, 2, 3))
    result = lcp.solve(problem, lcp.ContactStrategies(), tolerance=1e-10)
    assert result.attempts[0].status is lcp.Status.SOLVED, result.describe()
    known = lcp.solve(problem, PROXIMAL, tolerance=1e-10)
    np.testing.assert_allclose(result.r, known.r, atol=1e-7)

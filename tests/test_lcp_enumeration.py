"""All solutions of small problems: isolated ones, continua, and proofs that there are none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import enumerate_bases, solvable_bases
from refusals import assert_messages

import lcp


def random_problem(seed: int) -> lcp.LCP:
    """Integer data; every other one of low rank, where continua live."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    r = int(rng.integers(1, n + 1))
    M = rng.integers(-2, 3, (n, n)) if seed % 2 else rng.integers(-2, 3, (n, r)) @ rng.integers(-2, 3, (r, n))
    return lcp.LCP(M, rng.integers(-2, 3, n))


@given(seed=st.integers(0, 10**6))
@settings(max_examples=75)
def test_every_basic_solution_is_found(seed: int) -> None:
    """All solutions at regular bases are among them, every one of them solves, and some exist where any does."""
    problem = random_problem(seed)
    found = lcp.enumerate_solutions(problem)
    assert found.complete
    for z in found.solutions:
        assert lcp.residuals(problem, z).solved()
    for z in enumerate_bases(problem.M, problem.q):
        assert any(np.allclose(z, other, atol=1e-9) for other in found.solutions)
    n = problem.n
    known = solvable_bases(np.zeros((0, 0)), np.zeros((0, n)), np.zeros((n, 0)), problem.M, np.zeros(0), problem.q)
    assert bool(found.solutions) == bool(known)
    if not found.continuum:
        # Then there are no others: whatever a linear program found at any basis is one of them.
        for _, z in known:
            assert any(np.allclose(z, other, atol=1e-6) for other in found.solutions)
        assert all(found.isolated)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=100)
@pytest.mark.slow
def test_a_continuum_is_one(seed: int) -> None:
    """A solution called isolated is the only one near it; where none is, a neighbour exists in some basis."""
    problem = random_problem(2 * seed)
    found = lcp.enumerate_solutions(problem)
    M, q, n = problem.M, problem.q, problem.n
    rng = np.random.default_rng(seed)
    far = [
        z
        for _ in range(4)
        for z in extreme_solutions(M, q, rng.standard_normal(n))
        if not any(np.allclose(z, other, atol=1e-6) for other in found.solutions)
    ]
    assert found.continuum or not far
    assert found.continuum == (not all(found.isolated)) or not found.solutions


def extreme_solutions(M: np.ndarray, q: np.ndarray, direction: np.ndarray) -> list[np.ndarray]:
    """For each basis the solution furthest along a direction, within |z| <= 100."""
    from scipy.optimize import linprog

    n = len(q)
    points = []
    for code in range(2**n):
        inside = [i for i in range(n) if code >> i & 1]
        outside = [i for i in range(n) if not code >> i & 1]
        answer = linprog(
            -direction,
            A_ub=-M[outside] if outside else None,
            b_ub=q[outside] if outside else None,
            A_eq=M[inside] if inside else None,
            b_eq=-q[inside] if inside else None,
            bounds=[(0, 100) if i in inside else (0, 0) for i in range(n)],
        )
        if answer.status == 0:
            points.append(answer.x)
    return points


def test_named_continua() -> None:
    """A segment, a ray, a square of solutions, and a continuum beside an isolated solution."""
    segment = lcp.enumerate_solutions(lcp.LCP(np.ones((2, 2)), [-1.0, -1.0]))
    assert segment.continuum
    assert len(segment.solutions) == 2
    assert segment.isolated == (False, False)
    ray = lcp.enumerate_solutions(lcp.LCP([[1.0, -1.0], [-1.0, 1.0]], [1.0, -1.0]))
    assert ray.continuum
    np.testing.assert_allclose(ray.solutions[0], [0.0, 1.0])
    quadrant = lcp.enumerate_solutions(lcp.LCP(np.zeros((2, 2)), [0.0, 0.0]))
    assert quadrant.continuum
    assert quadrant.isolated == (False,)
    # z2 >= 1 with z1 = 0 is a ray of solutions without a regular basis: a point of it is given.
    loose = lcp.enumerate_solutions(lcp.LCP([[0.0, 1.0], [0.0, 0.0]], [-1.0, 0.0]))
    assert loose.continuum
    assert len(loose.solutions) >= 1
    both = lcp.enumerate_solutions(lcp.LCP([[-1.0, 0, 0], [0, 1, 1], [0, 1, 1]], [1.0, -1.0, -1.0]))
    assert both.continuum
    assert not any(both.isolated)


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("stiffness", "load", "count", "status"),
    [
        (0.4, -9.81, 1, lcp.Status.SOLVED),
        (0.4, 2.0, 1, lcp.Status.SOLVED),
        (-0.4, 2.0, 2, lcp.Status.SOLVED),
        (-0.4, -9.81, 0, lcp.Status.INFEASIBLE),
    ],
)
def test_painleve_states_are_named(stiffness: float, load: float, count: int, status: lcp.Status) -> None:
    """One pair, w = a z + b: one solution, two, or none, by the signs alone."""
    problem = lcp.LCP([[stiffness]], [load])
    assert len(lcp.enumerate_solutions(problem).solutions) == count
    result = lcp.solve(problem)
    assert result.status is status
    if status is lcp.Status.INFEASIBLE:
        assert result.evidence.proves(problem)
        assert not result.evidence.proves(lcp.LCP([[stiffness]], [-load]))


def test_feasible_without_solution_is_unsolvable() -> None:
    """The evidence lists what was tried, and z is a feasible point."""
    problem = lcp.LCP([[-2.0, 1.0], [-2.0, 2.0]], [-2.0, -2.0])
    result = lcp.solve(problem, lcp.Enumeration())
    assert result.status is lcp.Status.UNSOLVABLE
    assert result.evidence.bases == 4
    assert result.evidence.solutions == ()
    assert (result.z >= 0.0).all()
    assert (result.w >= -1e-9).all()


@pytest.mark.parametrize("exponent", [-12, -6, 6, 12])
def test_proofs_do_not_depend_on_units(exponent: int) -> None:
    """Infeasible and unsolvable problems keep their name in any unit."""
    s = 10.0**exponent
    for M, q, status in (
        ([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0], lcp.Status.INFEASIBLE),
        ([[-2.0, 1.0], [-2.0, 2.0]], [-2.0, -2.0], lcp.Status.UNSOLVABLE),
    ):
        assert lcp.solve(lcp.LCP(s * np.array(M), q)).status is status
        assert lcp.solve(lcp.LCP(np.array(M), s * np.array(q))).status is status
        units = np.array([1.0, s])
        assert lcp.solve(lcp.LCP(np.array(M) * units[:, None], units * q)).status is status


def test_the_size_limit_is_named() -> None:
    """2^n bases: a larger problem is refused, or as a solver unsuitable; infeasibility is still proved."""
    large = lcp.LCP(np.eye(18), -np.ones(18))
    assert_messages(
        lcp.ProblemError,
        ("n = 18 exceeds max_n = 16", lambda: lcp.enumerate_solutions(large)),
        ("max_n", lambda: lcp.Enumeration(max_n=40)),
    )
    result = lcp.solve(large, lcp.Enumeration())
    assert result.status is lcp.Status.UNSUITABLE
    assert "exceeds" in result.attempts[0].detail
    assert lcp.solve(lcp.LCP(-np.eye(18), -np.ones(18))).status is lcp.Status.INFEASIBLE


def test_sixteen_pairs_are_done() -> None:
    """The documented limit, with duplicated unknowns: a continuum is met and everything decided."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((16, 16))
    found = lcp.enumerate_solutions(lcp.LCP(A @ A.T + np.eye(16), rng.standard_normal(16)))
    assert len(found.solutions) == 1
    assert found.complete
    assert found.bases == 2**16


@pytest.mark.parametrize("mass", [1.0, 1e6, 1e9])
def test_heavy_bodies_leave_no_false_proof(mass: float) -> None:
    """The inertia of a heavy body is lost beside the ones of the cone; its basis is regular all the same."""
    a = 0.01 / mass
    M = np.array([[a, 0, 0, 0], [0, a, -a, 1], [0, -a, a, 1], [0.3, -1, -1, 0]])
    found = lcp.enumerate_solutions(lcp.LCP(M, [-0.0327, -1.1, 1.1, 0.0]))
    assert len(found.solutions) == 1
    np.testing.assert_allclose(found.solutions[0][:2], [0.0327 / a, 0.3 * 0.0327 / a], rtol=1e-9)

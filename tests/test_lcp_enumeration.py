"""All solutions, by enumeration of bases and by branching: continua, known counts, proofs and honest limits."""

import pickle

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


def game(A: np.ndarray, B: np.ndarray) -> lcp.LCP:
    """A bimatrix game with payoffs A and B: its equilibria are the solutions z, x = z_1 / sum, y = z_2 / sum.

    O. L. Mangasarian, H. Stone (1964); costs are made positive, which moves no equilibrium.
    """
    m, n = A.shape
    M = np.zeros((m + n, m + n))
    M[:m, m:] = A.max() + 1.0 - A
    M[m:, :m] = (B.max() + 1.0 - B).T
    return lcp.LCP(M, -np.ones(m + n))


def equilibrium(A: np.ndarray, B: np.ndarray, z: np.ndarray) -> bool:
    """Whether neither player gains by another pure strategy."""
    m = A.shape[0]
    x, y = z[:m] / z[:m].sum(), z[m:] / z[m:].sum()
    return bool((A @ y).max() <= x @ A @ y + 1e-9 and (x @ B).max() <= x @ B @ y + 1e-9)


@pytest.mark.parametrize("n", [1, 2, 4, pytest.param(9, marks=pytest.mark.slow)])
def test_coordination_games_have_all_their_equilibria(n: int) -> None:
    """Payoffs of the identity: one equilibrium for every set of strategies but none, 2^n - 1; for n = 9 in 18 pairs."""
    found = lcp.all_solutions(game(np.eye(n), np.eye(n)))
    assert found.complete, found.describe()
    assert found.count == 2**n - 1
    supports = set()
    for z in found:
        assert equilibrium(np.eye(n), np.eye(n), z)
        np.testing.assert_array_equal(z[:n] > 0.0, z[n:] > 0.0)
        supports.add(tuple(z[:n] > 0.0))
    assert len(supports) == 2**n - 1


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["plain", "mixed", "boxed"]))
@settings(max_examples=60, deadline=None)
def test_small_problems_agree_with_trying_every_basis(seed: int, kind: str) -> None:
    """The same solutions as `enumerate_solutions`, of whole numbers, degenerate ones among them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    M, q = rng.integers(-2, 3, (n, n)).astype(float), rng.integers(-2, 3, n).astype(float)
    problem: lcp.LCP | lcp.MLCP | lcp.BoxLCP = lcp.LCP(M, q)
    if kind == "boxed":
        lo = np.where(rng.random(n) < 0.3, -np.inf, rng.integers(-2, 1, n))
        problem = lcp.BoxLCP(M, q, lo, np.where(rng.random(n) < 0.5, np.inf, rng.integers(1, 3, n)))
    elif kind == "mixed":
        d = int(rng.integers(0, n + 1))
        problem = lcp.MLCP(M[:d, :d], M[:d, d:], M[d:, :d], M[d:, d:], q[:d], q[d:])
    expected = lcp.enumerate_solutions(problem)
    found = lcp.all_solutions(problem)
    assert found.complete == expected.complete
    assert found.continuum == expected.continuum
    known = [np.concatenate(z) if isinstance(z, tuple) else z for z in expected.solutions]
    if not expected.continuum:
        assert found.count == len(known)
        for z in found:
            assert min(np.abs(z - one).max(initial=0.0) for one in known) <= 1e-7
    for z in found:
        if kind == "mixed":
            assert lcp.residuals(problem, z[problem.n_free :], z[: problem.n_free]).solved()
        else:
            assert lcp.residuals(problem, z).solved()
    assert bool(found.count) == bool(known)


def test_independent_blocks_multiply() -> None:
    """Thirty relays of two solutions each, in any order: a thousand million, counted, and formed on request."""
    rng = np.random.default_rng(2)
    order = rng.permutation(60)
    M = np.kron(np.eye(30), [[-1.0, 0.5], [0.0, 2.0]])[np.ix_(order, order)]
    found = lcp.all_solutions(lcp.LCP(M, np.tile([1.0, 1.0], 30)[order]))
    assert found.complete
    assert len(found.blocks) == 30
    assert found.count == 2**30
    z = next(iter(found))
    assert lcp.residuals(lcp.LCP(M, np.tile([1.0, 1.0], 30)[order]), z).solved()


def test_a_pickled_set_has_the_same_solutions() -> None:
    """Solutions of an LCP and of a BoxLCP are formed again after a round trip."""
    for problem in (lcp.LCP(np.eye(2), [-1.0, 1.0]), lcp.BoxLCP(np.eye(2), [-1.0, 1.0], [0.0, 0.0], [0.5, 2.0])):
        found = lcp.all_solutions(problem)
        np.testing.assert_array_equal(list(pickle.loads(pickle.dumps(found))), list(found))


def test_no_solution_is_proven() -> None:
    """Feasible, with no solution: nothing is found, and that is all; one such block settles the whole."""
    none = np.array([[-2.0, 1.0], [-2.0, 2.0]])
    found = lcp.all_solutions(lcp.LCP(none, [-2.0, -2.0]))
    assert found.complete
    assert found.count == 0
    assert list(found) == []
    beside = np.zeros((20, 20))
    beside[:2, :2] = none
    beside[2:, 2:] = np.random.default_rng(0).standard_normal((18, 18))
    whole = lcp.all_solutions(lcp.LCP(beside, np.concatenate([[-2.0, -2.0], -np.ones(18)])), max_nodes=10)
    assert whole.complete
    assert whole.count == 0


def test_what_was_not_searched_is_told() -> None:
    """With a limit on nodes the listed solutions are right, open bases are counted, and nothing is complete."""
    A, B = np.random.default_rng(1).standard_normal((2, 8, 8))
    found = lcp.all_solutions(game(A, B), max_nodes=40)
    assert not found.complete
    (block,) = found.blocks
    assert block.nodes == 40
    assert 0 < block.searched < block.bases == 2**16
    assert f"{2**16 - block.searched} of {2**16} bases were not searched" in found.describe()
    assert all(equilibrium(A, B, z) for z in found)


def test_blocks_too_large_are_refused() -> None:
    """More than 62 pairs that hang together; and the other function points here."""
    assert_messages(
        lcp.ProblemError,
        ("a block of 70 pairs", lambda: lcp.all_solutions(lcp.LCP(np.ones((70, 70)), np.ones(70)))),
        (r"lcp\.all_solutions", lambda: lcp.enumerate_solutions(lcp.LCP(np.eye(20), np.ones(20)))),
    )


@pytest.mark.parametrize(
    ("M", "q", "listed"),
    [
        ([[1.0, 1.0], [1.0, 1.0]], [-1.0, -1.0], [(0.0, 1.0), (1.0, 0.0)]),
        ([[0.0, 0.0], [0.0, 0.0]], [0.0, 0.0], [(0.0, 0.0)]),
        ([[0.0, -4.0], [4.0, 0.0]], [0.0, -7.0], [(1.75, 0.0)]),
    ],
    ids=["segment", "quadrant", "ray"],
)
def test_a_continuum_is_said_to_be_infinitely_many(M: list, q: list, listed: list) -> None:
    """Its vertices are listed, none of them isolated; `describe` and the repr say so."""
    found = lcp.all_solutions(lcp.LCP(M, q))
    assert found.continuum
    assert sorted(tuple(z) for z in found) == listed
    assert not any(alone for block in found.blocks for alone in block.found.isolated)
    assert found.describe().startswith(f"infinitely many solutions, {len(listed)} listed (vertices")
    assert found.describe() in repr(found)

"""Principal pivoting: the factors of a growing and shrinking block, monotone problems, orders, failures."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcp_problems import assert_solves, definite, natural, p_problem, random_box, repeated
from numpy.typing import NDArray
from refusals import assert_messages

import lcp
from lcp import ActiveSetPivoting, BlockPrincipalPivoting, CottleDantzig, Murty, Status
from lcp.catalog import murty
from lcp.kernels.active_set_block import append, border, remove, solve_factored, split


class Factors:
    """L, V, D of the leading block of B in the order of ``order``."""

    def __init__(self, B: NDArray[np.float64], symmetric: bool) -> None:
        n = len(B)
        self.B, self.symmetric, self.order = B, symmetric, list[int]()
        self.L, self.V, self.d = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)

    def add(self, j: int) -> float:
        a = self.order
        above, left = np.zeros(len(self.B)), np.zeros(len(self.B))
        above[: len(a)], left[: len(a)] = self.B[a, j], self.B[j, a]
        V = self.L if self.symmetric else self.V
        schur = border(self.L, V, self.d, len(a), self.symmetric, above, left, float(self.B[j, j]))
        append(self.L, V, self.d, len(a), self.symmetric, above, left, schur)
        self.order.append(j)
        return float(schur)

    def drop(self, p: int) -> bool:
        scratch = np.zeros((2, len(self.B)))
        V = self.L if self.symmetric else self.V
        sound = remove(self.L, V, self.d, len(self.order), self.symmetric, p, scratch[0], scratch[1])
        del self.order[p]
        return bool(sound)

    def error(self) -> float:
        """Largest deviation of the solution of a system with all its entries one."""
        k = len(self.order)
        y = np.zeros(len(self.B))
        y[:k] = 1.0
        solve_factored(self.L, self.L if self.symmetric else self.V, self.d, k, y)
        block = self.B[np.ix_(self.order, self.order)]
        return float(np.abs(y[:k] - np.linalg.solve(block, np.ones(k))).max(initial=0.0))


@pytest.mark.nojit
@pytest.mark.parametrize("symmetric", [True, False])
def test_factors_follow_insertions_and_removals(symmetric: bool) -> None:
    """After each of sixty random steps the factors solve their block."""
    rng = np.random.default_rng(1)
    n = 14
    factors = Factors((definite(1, n) if symmetric else p_problem(2, n)).M, symmetric)
    for _ in range(60):
        outside = [j for j in range(n) if j not in factors.order]
        if outside and (rng.random() < 0.6 or not factors.order):
            factors.add(int(rng.choice(outside)))
        else:
            assert factors.drop(int(rng.integers(len(factors.order))))
        assert factors.error() < 1e-9


@pytest.mark.nojit
def test_a_block_may_cease_to_be_symmetric() -> None:
    """`split` gives V what L holds; from there on both grow on their own."""
    B = np.array(definite(3, 6).M)
    B[5, :5] *= 0.5
    factors = Factors(B, True)
    for j in range(5):
        factors.add(j)
    split(factors.L, factors.V, 5)
    factors.symmetric = False
    factors.add(5)
    assert factors.error() < 1e-9
    assert factors.drop(1)
    assert factors.error() < 1e-9


@pytest.mark.nojit
def test_a_removal_that_leaves_a_singular_block_says_so() -> None:
    """[[0, 1], [1, 0]] bordered by a unit: without that unit the first pivot vanishes."""
    B = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    factors = Factors(B, False)
    for j in range(3):
        factors.add(j)
    assert not factors.drop(0)


@pytest.mark.parametrize("seed", range(20))
def test_large_semidefinite_problems_need_removals_and_redundant_indices(seed: int) -> None:
    """Rank n / 3, n up to 80, every row twice: solved, with the w of Lemke's method, which is unique."""
    rng = np.random.default_rng(seed)
    n = 20 + 3 * seed
    A = rng.standard_normal((n, n // 3 + 1))
    A = np.vstack([A, A])
    z = np.maximum(rng.standard_normal(2 * n), 0.0)
    q = np.maximum(rng.standard_normal(2 * n), 0.0) * (z == 0.0) - A @ (A.T @ z)
    problem = lcp.LCP(A @ A.T, q)
    result = lcp.solve(problem, ActiveSetPivoting())
    assert_solves(problem, result)
    assert np.allclose(result.w, lcp.solve(problem, lcp.Lemke()).w, atol=1e-6)


def stack(boxes: int) -> lcp.LCP:
    """Planar boxes of growing mass on top of one another, two contacts each, one step from rest, no friction."""
    rows, v = [], []
    for k in range(boxes):
        for x in (-0.5, 0.5):
            row = np.zeros((boxes, 2))
            row[k] = 1.0, x
            if k:
                row[k - 1] = -1.0, -x
            rows.append(row.ravel())
    for _ in range(boxes):
        v += [-0.0981, 0.0]
    J = np.array(rows)
    mass = np.repeat(1.0 + np.arange(boxes), 2)
    return lcp.LCP((J / mass) @ J.T, J @ np.array(v))


@pytest.mark.parametrize("boxes", [1, 3, 10, 40])
def test_boxes_at_rest_carry_what_is_above_them(boxes: int) -> None:
    """The two contacts under box k share the weight from box k upwards; few pivots beyond their number."""
    result = lcp.solve(stack(boxes), ActiveSetPivoting())
    assert result.solved
    weight = 0.0981 * np.cumsum(1.0 + np.arange(boxes)[::-1])[::-1]
    assert np.allclose(result.z.reshape(boxes, 2).sum(axis=1), weight)
    assert result.iterations <= 2 * boxes + 2


def test_an_energy_without_bound_is_no_proof_for_indefinite_matrices() -> None:
    """M = -1, q = -1 is infeasible, M = [[0, 3], [3, 0]] with q = (-1, -1) is not: only the first may be said so."""
    assert lcp.solve(lcp.LCP([[-1.0]], [-1.0]), ActiveSetPivoting()).status is Status.INFEASIBLE
    assert (
        lcp.solve(lcp.LCP([[0.0, 3.0], [3.0, 0.0]], [-1.0, -1.0]), ActiveSetPivoting()).status is not Status.INFEASIBLE
    )


@pytest.mark.parametrize("seed", range(30))
def test_cottle_dantzig_on_monotone_problems_that_are_not_symmetric(seed: int) -> None:
    """Positive semidefinite plus skew M, vanishing diagonal entries included: quadratic programs with constraints."""
    rng, M = np.random.default_rng(seed), repeated(seed).M
    n = len(M)
    K = rng.integers(-2, 3, (n, n)).astype(float)
    M = M * (seed % 3 > 0) + K - K.T
    z = np.maximum(rng.integers(-2, 3, n), 0).astype(float)
    q = np.maximum(rng.integers(-1, 3, n), 0) * (z == 0.0) - M @ z
    assert_solves(lcp.LCP(M, q), lcp.solve(lcp.LCP(M, q), CottleDantzig()))


def test_murty_takes_the_order_it_is_given() -> None:
    """On Murty's own family one pivot in one order, 2^n - 1 in the other."""
    problem = murty(8)
    assert lcp.solve(problem, Murty()).iterations == 1
    assert lcp.solve(problem, Murty(order=tuple(range(7, -1, -1)))).iterations == 2**8 - 1
    assert_messages(
        lcp.ProblemError,
        ("permutation", lambda: Murty(order=(0, 0, 1))),
        ("length", lambda: lcp.solve(problem, Murty(order=(1, 0)))),
    )


def test_methods_for_p_matrices_say_when_it_is_none() -> None:
    """A singular block or a negative diagonal entry ends them."""
    singular = lcp.LCP(np.ones((2, 2)), [-1.0, -2.0])
    assert lcp.solve(singular, BlockPrincipalPivoting()).status is Status.SINGULAR_BASIS
    assert lcp.solve(lcp.LCP([[-0.4]], [-9.81]), BlockPrincipalPivoting()).status is Status.STALLED
    assert lcp.solve(lcp.LCP([[-0.4]], [-9.81]), Murty()).status is Status.SINGULAR_BASIS


def test_a_ray_past_a_violated_pair_is_none() -> None:
    """A lone pair moves past its bound before the ray."""
    problem = lcp.BoxLCP([[4.0, 1.0], [-1.0, 0.0]], [3.0, 3.0], [-2.0, -np.inf], [np.inf, 1.0])
    assert np.allclose(lcp.solve(problem, CottleDantzig()).z, [3.0, -15.0])


@pytest.mark.parametrize("seed", range(40))
def test_cottle_dantzig_on_monotone_boxes(seed: int) -> None:
    """Semidefinite M with and without a skew part, between finite bounds."""
    rng, M = np.random.default_rng(seed), repeated(seed).M
    K = rng.integers(-2, 3, M.shape).astype(float)
    lo = rng.integers(-3, 1, len(M)).astype(float)
    problem = lcp.BoxLCP(M + seed % 2 * (K - K.T), rng.integers(-5, 6, len(M)), lo, lo + rng.integers(0, 5, len(M)))
    assert_solves(problem, lcp.solve(problem, CottleDantzig()))


@pytest.mark.parametrize("solver", [CottleDantzig(), BlockPrincipalPivoting()], ids=repr)
@settings(max_examples=60)
@given(seed=st.integers(0, 10**5), start=st.booleans(), decades=st.integers(-6, 6))
def test_any_box_from_any_start(solver: Any, seed: int, start: bool, decades: int) -> None:
    """P-matrices between bounds of every kind, in any unit: inside the bounds, and the same from everywhere."""
    problem, rng = random_box(seed), np.random.default_rng(seed)
    unit = 10.0**decades
    z0 = np.clip(3.0 * rng.standard_normal(problem.n), problem.lo, problem.hi) if start else None
    result = lcp.solve(lcp.BoxLCP(unit * problem.M, unit * problem.q, problem.lo, problem.hi), solver, z0=z0)
    assert result.solved
    assert natural(problem, result.z) <= 1e-7

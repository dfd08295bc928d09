"""The factors of a growing and shrinking block, and active-set pivoting where it has to update them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from pivoting import assert_solves, definite, natural, p_matrix

import lcp
from lcp import Status
from lcp.kernels.factor_update import append, border, remove, solve_factored, split
from lcp.solvers.active_set_pivoting import ActiveSetPivoting


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
    factors = Factors(definite(rng, n) if symmetric else p_matrix(rng, n), symmetric)
    for _ in range(60):
        outside = [j for j in range(n) if j not in factors.order]
        if outside and (rng.random() < 0.6 or not factors.order):
            factors.add(int(rng.choice(outside)))
        else:
            assert factors.drop(int(rng.integers(len(factors.order))))
        assert factors.error() < 1e-9


@pytest.mark.nojit
def test_a_schur_complement_is_the_quotient_of_determinants() -> None:
    """What `border` returns, against its definition."""
    rng = np.random.default_rng(2)
    B = p_matrix(rng, 5)
    factors = Factors(B, False)
    for j in range(5):
        before = np.linalg.det(B[:j, :j]) if j else 1.0
        assert factors.add(j) == pytest.approx(np.linalg.det(B[: j + 1, : j + 1]) / before)


@pytest.mark.nojit
def test_a_block_may_cease_to_be_symmetric() -> None:
    """`split` gives V what L holds; from there on both grow on their own."""
    rng = np.random.default_rng(3)
    B = definite(rng, 6)
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


def test_contacts_written_twice_share_their_load() -> None:
    """A redundant contact is left out, not a reason to fail."""
    problem = stack(4)
    twice = np.tile(np.arange(8), 2)
    result = lcp.solve(lcp.LCP(problem.M[np.ix_(twice, twice)], problem.q[twice]), ActiveSetPivoting())
    assert result.solved
    assert np.allclose(result.z[:8] + result.z[8:], lcp.solve(problem, ActiveSetPivoting()).z)


def test_resting_contacts_with_friction(shared: object) -> None:
    """The recorded boxes at rest, whose sliding pairs stay inactive, though M is not semidefinite."""
    from pathlib import Path

    for name in ("contact_rest_k1_d4_s501", "contact_rest_k10_d4_s510"):
        with np.load(Path(str(shared)) / "problems" / "lcp" / f"{name}.npz") as data:
            problem = lcp.LCP(data["M"], data["q"])
        assert_solves(problem, lcp.solve(problem, ActiveSetPivoting()))


def test_pairs_without_diagonal_are_given_up_soon() -> None:
    """[[0, 1], [-1, 0]] needs both indices at once: a status after a few rounds, nothing false."""
    problem = lcp.LCP([[0.0, 1.0], [-1.0, 0.0]], [-1.0, 1.0])
    result = lcp.solve(problem, ActiveSetPivoting())
    assert result.status in (Status.SINGULAR_BASIS, Status.RAY_TERMINATION, Status.SOLVED)
    assert natural(problem, result.z) <= 1e-9 or not result.solved
    assert result.iterations < 20


def test_an_energy_without_bound_is_no_proof_for_indefinite_matrices() -> None:
    """M = -1, q = -1 is infeasible, M = [[0, 3], [3, 0]] with q = (-1, -1) is not: only the first may be said so."""
    assert lcp.solve(lcp.LCP([[-1.0]], [-1.0]), ActiveSetPivoting()).status is Status.INFEASIBLE
    assert (
        lcp.solve(lcp.LCP([[0.0, 3.0], [3.0, 0.0]], [-1.0, -1.0]), ActiveSetPivoting()).status is not Status.INFEASIBLE
    )

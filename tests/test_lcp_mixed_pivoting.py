"""Mixed problems whose free unknowns are pivoted in: any rank, any verdict, and what an ill-conditioned A leaves."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcp_problems import random_blocks
from naive import solvable_bases

import lcp
from lcp import Traits
from lcp.solvers.mixed_pivoting import pivot_free_variables, solve_mixed

KINDS = ("any", "monotone", "decoupled")


@dataclass(frozen=True)
class Direct:
    """Lemke's method on problems of all kinds, mixed ones by pivoting."""

    inner: lcp.Lemke = field(default_factory=lcp.Lemke)
    traits: ClassVar[Traits] = Traits.MIXED

    def solve(self, problem: lcp.LCP | lcp.MLCP, *, z0: np.ndarray | None, tolerance: float, trace: bool) -> lcp.Claim:
        if isinstance(problem, lcp.MLCP):
            return solve_mixed(problem, self.inner, z0=z0, tolerance=tolerance, trace=trace)
        return self.inner.solve(problem, z0=z0, tolerance=tolerance, trace=trace)


def saddle(m: int, n: int, weak: float, seed: int) -> tuple[lcp.MLCP, np.ndarray, np.ndarray]:
    """A symmetric A with three eigenvalues ``weak``, which the pairs hold; with its only solution."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((m, m)))[0]
    values = rng.uniform(1.0, 2.0, m)
    values[:3] = weak
    A = (Q * values) @ Q.T
    A = 0.5 * (A + A.T)
    X1, B = rng.standard_normal((m, n)), rng.standard_normal((n, n)) / np.sqrt(n)
    X3 = B @ B.T + 0.1 * np.eye(n)
    u, active = rng.standard_normal(m), np.arange(n) % 2 == 0
    y, w = np.where(active, rng.uniform(0.5, 1.5, n), 0.0), np.where(active, 0.0, rng.uniform(0.5, 1.5, n))
    return lcp.MLCP(A, X1, -X1.T, X3, -(A @ u + X1 @ y), w - (-X1.T @ u + X3 @ y)), u, y


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=40)
def test_what_is_solved_is_so_and_what_is_not_has_no_false_proof(kind: str, seed: int) -> None:
    """Against a linear program per basis: monotone problems are solved exactly where they have a solution."""
    blocks = random_blocks(seed, kind)
    problem = lcp.MLCP(*blocks)
    result = lcp.solve(problem, Direct())
    known = bool(solvable_bases(*blocks))
    assert np.isfinite(result.u).all()
    assert np.isfinite(result.y).all()
    if result.solved:
        A, X1, X2, X3, a, x4 = blocks
        size = max(1.0, *(np.abs(v).max(initial=0.0) for v in (result.u, result.y)))
        np.testing.assert_allclose(A @ result.u + X1 @ result.y, -a, atol=1e-9 * size)
        w = X2 @ result.u + X3 @ result.y + x4
        np.testing.assert_array_less(np.abs(np.minimum(result.y, w)), 1e-8 * size)
        assert known
    if kind == "monotone":
        assert result.solved == known
    if result.status in (lcp.Status.INFEASIBLE, lcp.Status.INCONSISTENT):
        assert result.evidence.proves(problem)


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS))
@settings(max_examples=80)
def test_the_pivoted_problem_is_the_same_problem(seed: int, kind: str) -> None:
    """Any z of it gives (u, y) that meet the equations, and pairs (z, w) that are (y, w) in other units or order."""
    A, X1, X2, X3, a, x4 = random_blocks(seed, kind)
    pivoted = pivot_free_variables(lcp.MLCP(A, X1, X2, X3, a, x4))
    if pivoted is None:
        return
    m, n = len(a), len(x4)
    z = np.random.default_rng(seed).random(n)
    other = pivoted.lcp.M @ z + pivoted.lcp.q
    if not (other[pivoted.swapped] >= 0.0).all():
        return
    x = pivoted.recover(z)
    u, y = x[:m], x[m:]
    size = max(1.0, np.abs(x).max(initial=0.0), np.abs(pivoted.lcp.M).max(initial=0.0))
    np.testing.assert_allclose(A @ u + X1 @ y, -a, atol=1e-8 * size)
    w = X2 @ u + X3 @ y + x4
    swapped = pivoted.swapped
    # The same up to positive factors.
    for part, stands_for in ((np.where(swapped, other, z), y), (np.where(swapped, z, other), w)):
        clear = np.abs(part) > 1e-6 * size
        np.testing.assert_array_equal(np.sign(part[clear]), np.sign(stands_for[clear]))


def test_a_regular_well_conditioned_A_needs_no_pair() -> None:
    """Then what is left is the Schur complement, in other units."""
    rng = np.random.default_rng(3)
    A = rng.standard_normal((5, 5)) + 5.0 * np.eye(5)
    X1, X2, X3 = rng.standard_normal((5, 4)), rng.standard_normal((4, 5)), rng.standard_normal((4, 4))
    problem = lcp.MLCP(A, X1, X2, X3, rng.standard_normal(5), rng.standard_normal(4))
    pivoted = pivot_free_variables(problem)
    assert pivoted is not None
    assert pivoted.rank == 5
    assert not pivoted.swapped.any()
    reduced = lcp.reduce(problem).lcp
    ratio = pivoted.lcp.M / reduced.M
    np.testing.assert_allclose(ratio, np.outer(ratio[:, 0], ratio[0]) / ratio[0, 0], rtol=1e-10)
    assert (ratio > 0.0).all()


@pytest.mark.parametrize("weak", [1e-4, 1e-8, 1e-12, 1e-14, 0.0])
def test_an_ill_conditioned_A_that_the_pairs_hold_loses_nothing(weak: float) -> None:
    """u and y to 1e-13 before any refinement has seen them, through pairs where A is too weak."""
    problem, u, y = saddle(12, 16, weak, 7)
    pivoted = pivot_free_variables(problem)
    assert pivoted is not None
    assert pivoted.rank == 12
    assert int(pivoted.swapped.sum()) == (3 if weak < 1e-6 else 0)
    raw = pivoted.recover(lcp.solve(pivoted.lcp, lcp.Lemke()).z)
    bound = 1e-13 if weak < 1e-6 else 1e-9
    np.testing.assert_allclose(raw, np.concatenate([u, y]), atol=bound)
    result = lcp.solve(problem, Direct())
    assert result.solved
    np.testing.assert_allclose(result.u, u, atol=1e-13)
    np.testing.assert_allclose(result.y, y, atol=1e-13)


def test_the_problems_of_circuits_are_all_solved(shared: Path) -> None:
    """To rounding, singular equations included."""
    seen = 0
    for file in sorted((shared / "problems" / "lcp_mlcp").glob("*.npz")):
        with np.load(file) as data:
            M, q, k = data["M"], data["q"], int(data["n_free"]) if "n_free" in data else 0
        if k == 0:
            continue
        problem = lcp.MLCP(M[:k, :k], M[:k, k:], M[k:, :k], M[k:, k:], q[:k], q[k:])
        result = lcp.solve(problem, Direct())
        assert result.solved, file.name
        assert max(result.residual.scaled, result.residual.equations_scaled) < 1e-12, file.name
        seen += 1
    assert seen


def test_equations_in_y_alone_are_pivoted_on_through_pairs() -> None:
    """A = 0: every free unknown, a multiplier here, enters through a pair, quickly also where there are many."""
    rng = np.random.default_rng(1)
    m, n = 100, 150
    X1 = rng.standard_normal((m, n))
    B = rng.standard_normal((n, n)) / np.sqrt(n)
    u, y = rng.standard_normal(m), np.where(np.arange(n) < 120, rng.uniform(0.5, 1.5, n), 0.0)
    X3 = B @ B.T + np.eye(n)
    x4 = np.where(y > 0.0, 0.0, rng.uniform(0.5, 1.5, n)) + X1.T @ u - X3 @ y
    problem = lcp.MLCP(np.zeros((m, m)), X1, -X1.T, X3, -X1 @ y, x4)
    result = lcp.solve(problem, Direct())
    result.raise_for_status()
    assert "100 of them through a pair" in result.attempts[0].detail
    np.testing.assert_allclose(result.u, u, atol=1e-10)
    np.testing.assert_allclose(result.y, y, atol=1e-10)
    assert result.solve_time < 20.0

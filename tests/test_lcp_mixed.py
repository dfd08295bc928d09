"""Mixed problems of any rank: data, reduction, pivoting on free unknowns, verdicts on the original rows."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lcp_problems import random_blocks
from naive import solvable_bases
from refusals import assert_messages

import lcp
from lcp import Traits
from lcp.solvers.mixed_pivoting import solve_mixed

KINDS = ("any", "monotone", "decoupled", "half")
UNSOLVED = (lcp.Status.INFEASIBLE, lcp.Status.UNSOLVABLE, lcp.Status.INCONSISTENT)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=30)
def test_any_rank_is_settled_rightly(kind: str, seed: int) -> None:
    """Solved exactly where a linear program per basis finds a solution; otherwise named with its proof.

    Lemke's method on free unknowns alone solves monotone problems, and has no false solution or proof of others.
    """
    blocks = random_blocks(seed, kind)
    problem = lcp.MLCP(*blocks)
    known = bool(solvable_bases(*blocks))
    for solver in (None, Direct()):
        result = lcp.solve(problem, solver)
        assert result.solved == known if solver is None or kind == "monotone" else result.solved <= known, result
        check(blocks, problem, result)
        assert solver is not None or result.solved or result.status in UNSOLVED


def check(blocks: tuple[np.ndarray, ...], problem: lcp.MLCP, result: lcp.MLCPResult) -> None:
    """The unknowns are finite, a solution meets the rows, and a proof holds."""
    assert np.isfinite(result.u).all()
    assert np.isfinite(result.y).all()
    if result.solved:
        A, X1, X2, X3, a, x4 = blocks
        size = max(1.0, *(np.abs(v).max(initial=0.0) for v in (result.u, result.y)))
        np.testing.assert_allclose(A @ result.u + X1 @ result.y, -a, atol=1e-9 * size)
        w = X2 @ result.u + X3 @ result.y + x4
        np.testing.assert_array_less(np.abs(np.minimum(result.y, w)), 1e-8 * size)
    elif result.status in (lcp.Status.INFEASIBLE, lcp.Status.INCONSISTENT):
        assert result.evidence.proves(problem)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=60)
@example(seed=30745)  # the QP leaves 1e-40 where all y are zero
@example(seed=3912)  # a skew matrix, whose symmetric part is rounding
def test_monotone_problems_need_no_enumeration(seed: int) -> None:
    """Lemke's method alone solves every solvable monotone problem, however singular A is, and so does the QP."""
    blocks = random_blocks(seed, "monotone")
    problem = lcp.MLCP(*blocks)
    known = bool(solvable_bases(*blocks))
    assert lcp.solve(problem, lcp.Lemke()).solved == known
    assert lcp.solve(problem, lcp.OSQP()).solved == known


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS))
@settings(max_examples=60)
@example(seed=5584, kind="monotone")  # A = 0; the contradiction is one of whole numbers, which a projection rounds
def test_reduction_is_the_pseudo_inverse_formula(seed: int, kind: str) -> None:
    """MM, qq, rank and u follow from numpy's pseudo-inverse of A."""
    A, X1, X2, X3, a, x4 = random_blocks(seed, kind)
    found = lcp.reduce(lcp.MLCP(A, X1, X2, X3, a, x4))
    inverse = np.linalg.pinv(A, rcond=1e-10) if A.size else A
    np.testing.assert_allclose(found.lcp.M, X3 - X2 @ inverse @ X1, atol=1e-8, rtol=1e-8)
    np.testing.assert_allclose(found.lcp.q, x4 - X2 @ inverse @ a, atol=1e-8, rtol=1e-8)
    assert found.rank == (np.linalg.matrix_rank(A) if A.size else 0)
    y = np.random.default_rng(seed).random(x4.shape[0])
    np.testing.assert_allclose(found.recover(y), -inverse @ (a + X1 @ y), atol=1e-8, rtol=1e-8)
    together = np.hstack([A, X1])
    rank = np.linalg.matrix_rank(together) if together.size else 0
    assert found.consistent == (np.linalg.matrix_rank(np.column_stack([together, a])) == rank if a.size else True)
    assert (found.evidence is None) == found.consistent


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS))
@settings(max_examples=60)
def test_units_and_order_do_not_matter(seed: int, kind: str) -> None:
    """Rows and columns rescaled over 12 decades and equations permuted: same verdict, same solution in new units."""
    A, X1, X2, X3, a, x4 = random_blocks(seed, kind)
    rng = np.random.default_rng(seed)
    m, n = a.shape[0], x4.shape[0]
    e, p, c, d = (10.0 ** rng.integers(-3, 4, k) for k in (m, n, m, n))
    order = rng.permutation(m)
    first = lcp.solve(lcp.MLCP(A, X1, X2, X3, a, x4))
    scaled = (
        (e[:, None] * A * c)[order],
        (e[:, None] * X1 * d)[order],
        p[:, None] * X2 * c,
        p[:, None] * X3 * d,
        (e * a)[order],
        p * x4,
    )
    second = lcp.solve(lcp.MLCP(*scaled))
    assert second.solved == first.solved
    found = lcp.enumerate_solutions(lcp.MLCP(A, X1, X2, X3, a, x4))
    if first.solved and len(found.solutions) == 1 and not found.continuum:
        np.testing.assert_allclose(second.y * d, first.y, rtol=1e-6, atol=1e-7)


def test_duplicated_joint_rows_share_their_force_evenly() -> None:
    """Minimum norm: two copies of one row carry half each; the third, contradicting, copy is named."""
    M, G = np.diag([2.0, 2.0]), np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    A = np.block([[M, -G.T], [G, np.zeros((3, 3))]])
    X1, X2 = np.array([[0.0], [-1.0], [0], [0], [0]]), np.array([[0.0, 1.0, 0, 0, 0]])
    problem = lcp.MLCP(A, X1, X2, [[0.0]], [-6.0, 1.0, 0, 0, 0], [0.0])
    result = lcp.solve(problem)
    result.raise_for_status()
    np.testing.assert_allclose(result.u, [0, 0, -2, -2, -2], atol=1e-12)
    np.testing.assert_allclose(result.y, [1.0], atol=1e-12)
    assert lcp.reduce(problem).rank == 3
    broken = lcp.solve(lcp.MLCP(A, X1, X2, [[0.0]], [-6.0, 1.0, 0, 0, 1e-3], [0.0]))
    assert broken.status is lcp.Status.INCONSISTENT
    assert broken.evidence.proves(lcp.MLCP(A, X1, X2, [[0.0]], [-6.0, 1.0, 0, 0, 1e-3], [0.0]))
    with pytest.raises(lcp.SolveError, match="contradict"):
        broken.raise_for_status()


def test_a_singular_A_whose_equations_bind_y_loses_nothing() -> None:
    """Here LCP(MM, qq) of the pseudo-inverse knows nothing of the equation; the core does."""
    problem = lcp.MLCP([[0.0]], [[1.0, 1.0]], [[-1.0], [-1.0]], np.eye(2), [-1.0], [0.0, 3.0])
    reduction = lcp.reduce(problem)
    assert not reduction.exact
    assert reduction.core is not None
    result = lcp.solve(problem, lcp.Lemke())
    assert result.solved
    np.testing.assert_allclose(result.y, [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(result.u, [1.0], atol=1e-12)


def test_sparse_blocks_and_empty_ones_are_accepted() -> None:
    """Sparse input is the same problem; empty blocks may be written as []."""
    A, X1, X2, X3, a, x4 = random_blocks(8, "monotone")
    dense = lcp.solve(lcp.MLCP(A, X1, X2, X3, a, x4))
    sparse = lcp.solve(lcp.MLCP(*(sp.csr_matrix(b) for b in (A, X1, X2, X3)), a, x4))
    np.testing.assert_array_equal(dense.y, sparse.y)
    plain = lcp.solve(lcp.MLCP([], [], [], [[2.0]], [], [-4.0]))
    np.testing.assert_allclose(plain.y, [2.0])
    assert plain.u.shape == (0,)
    conversion = lcp.lcp_to_mlcp(lcp.LCP([[2.0]], [-4.0]))
    np.testing.assert_allclose(lcp.solve(conversion.problem).y, [2.0])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({0: np.eye(3)}, r"A must have shape \(2, 2\), got \(3, 3\)"),
        ({1: np.ones((2, 2))}, r"X1 must have shape \(2, 1\)"),
        ({2: np.ones((2, 1))}, r"X2 must have shape \(1, 2\)"),
        ({3: [[np.nan]]}, r"X3\[0, 0\] = nan"),
        ({4: [1.0, np.inf]}, r"a\[1\] = inf"),
        ({5: [1.0, 2.0]}, "X1 must have shape"),
        ({0: [[1j, 0], [0, 1]]}, "A is complex"),
        ({5: [[1.0]]}, "x4 must be a vector"),
    ],
)
def test_ill_formed_blocks_are_named(change: dict[int, object], text: str) -> None:
    """Each block is checked against the sizes of a and x4."""
    blocks: list[object] = [np.eye(2), np.ones((2, 1)), np.ones((1, 2)), [[1.0]], [1.0, 2.0], [1.0]]
    for index, value in change.items():
        blocks[index] = value
    with pytest.raises(lcp.ProblemError, match=text):
        lcp.MLCP(*blocks)  # type: ignore[arg-type]


def test_bad_arguments_are_named() -> None:
    """Wrong kinds, lengths and tolerances."""
    problem = lcp.MLCP(np.eye(2), np.ones((2, 1)), np.ones((1, 2)), [[1.0]], [1.0, 2.0], [1.0])
    with pytest.raises(lcp.ProblemError, match="reduce takes"):
        lcp.reduce(lcp.LCP([[1.0]], [1.0]))  # type: ignore[arg-type]
    assert_messages(
        lcp.ProblemError,
        ("rank_tolerance", lambda: lcp.reduce(problem, rank_tolerance=2.0)),
        (r"residuals\(problem, y, u\)", lambda: lcp.residuals(problem, [1.0])),
        ("u belongs to an MLCP", lambda: lcp.residuals(lcp.LCP([[1.0]], [1.0]), [1.0], u=[1.0])),
        ("u must have length 2, got 1", lambda: lcp.residuals(problem, [1.0], u=[1.0])),
        ("z0 must have length 1", lambda: lcp.solve(problem, z0=[1.0, 2.0])),
    )
    with pytest.raises(ValueError, match="read-only"):
        problem.X3[0, 0] = 2.0


def test_residuals_follow_their_definitions() -> None:
    """Equations and pairs measured by the formulas, written out."""
    rng = np.random.default_rng(0)
    A, X1, X2, X3 = (rng.standard_normal(s) for s in ((2, 2), (2, 3), (3, 2), (3, 3)))
    a, x4, u, y = (rng.standard_normal(k) for k in (2, 3, 2, 3))
    found = lcp.residuals(lcp.MLCP(A, X1, X2, X3, a, x4), y, u)
    e, w = A @ u + X1 @ y + a, X2 @ u + X3 @ y + x4
    us, ys = np.abs(u).max(), np.abs(y).max()
    unit = np.abs(a) + np.abs(A).max(axis=1) * us + np.abs(X1).max(axis=1) * ys
    w_unit = np.abs(x4) + np.abs(X2).max(axis=1) * us + np.abs(X3).max(axis=1) * ys
    assert found.equations == pytest.approx(np.abs(e).max())
    assert found.equations_scaled == pytest.approx(np.abs(e / unit).max())
    assert found.natural_map == pytest.approx(np.abs(np.minimum(y, w)).max())
    assert found.scaled == pytest.approx(np.abs(np.minimum(y / ys, w / w_unit)).max())
    assert not found.solved()
    assert not lcp.residuals(lcp.MLCP(A, X1, X2, X3, a, x4), [0.0, 0, 0], [np.finfo(float).max, 0]).solved()


def test_unknowns_that_drown_the_load_solve_nothing() -> None:
    """u = 1e15 satisfies x - x = -1 to rounding of its terms; that is not a solution."""
    problem = lcp.MLCP([[1.0, -1.0], [1.0, -1.0]], np.zeros((2, 0)), np.zeros((0, 2)), [], [1.0, -1.0], [])
    assert not lcp.residuals(problem, [], [1e15, 1e15]).solved()
    assert lcp.solve(problem).status is lcp.Status.INCONSISTENT


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


@pytest.mark.parametrize("weak", [1e-4, 1e-8, 1e-12, 1e-14, 0.0])
def test_an_ill_conditioned_A_that_the_pairs_hold_loses_nothing(weak: float) -> None:
    """u and y to 1e-13, through pairs where A is too weak."""
    problem, u, y = saddle(12, 16, weak, 7)
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

"""The tableau whose exchanges are applied late: every column as if all had been updated at every pivot."""

from types import FunctionType

import numpy as np
import pytest
from numpy.typing import NDArray
from test_lcp_campaign import contact

import lcp
from lcp.compiler.views import _view_1d, _view_2d
from lcp.kernels import lemke as k
from lcp.kernels import lemke_tableau as lt
from lcp.kernels.lemke_exchanges import in_eights, padded

Matrix = NDArray[np.float64]


def fresh(n: int, seed: int) -> tuple[lt.Tableau, Matrix, Matrix, np.random.Generator]:
    """A tableau of a random problem in its first dictionary, rows and columns scaled by powers of two."""
    rng = np.random.default_rng(seed)
    M, q = rng.standard_normal((n, n)), rng.standard_normal(n)
    views = getattr(lt.tableau, "py_func", lt.tableau)
    # Python cannot call the compiler's own views.
    views = FunctionType(views.__code__, {**views.__globals__, "view_2d": _view_2d, "view_1d": _view_1d})
    t = views(np.full(k.lemke_float_size(n), np.nan), np.zeros(k.lemke_int_size(n), dtype=np.int64), n)
    t.row[:] = 2.0 ** rng.integers(-2, 3, n)
    t.column[:] = 2.0 ** rng.integers(-2, 3, n)
    t.cover[:] = rng.uniform(0.5, 1.5, n)
    t.x[:] = t.size[:] = t.entry[:] = 0.0
    lt.first_tableau(t, q)
    return t, M, q, rng


def pivot_at_once(T: Matrix, r: int, c: int) -> None:
    """The textbook exchange of a whole tableau, in place."""
    column = T[:, c].copy()
    T[:, c] = 0.0
    inverse = 1.0 / column[r]
    row = -T[r] * inverse
    row[c] = inverse
    column[r] = 0.0
    T += column[:, None] * row
    T[r] = row


@pytest.mark.parametrize("n", [1, 3, 8, 9, 40, 150])
@pytest.mark.parametrize("look", [1.0, 0.2, 0.0])
def test_late_exchanges_give_the_same_bits(n: int, look: float) -> None:
    """After any exchanges, some on the same row or column, each column exactly equals an immediate update."""
    t, M, _, rng = fresh(n, n)
    exchanged_at_random(t, M, rng, look)
    assert not t.T[:, n : padded(n)].any()


@pytest.mark.parametrize("n", [1, 3, 8, 9, 31, 32])
def test_a_small_tableau_kept_whole_has_the_same_bits(n: int) -> None:
    """If every exchange is applied to all columns immediately, they equal the textbook's, in whole vectors."""
    t, M, _, rng = fresh(n, n)
    lt.store_all(t, M)
    assert t.counts[lt.WHOLE_KEPT] == 1
    exchanged_at_random(t, M, rng, 1.0)
    assert not t.T[:, n : in_eights(n)].any()


def exchanged_at_random(t: lt.Tableau, M: Matrix, rng: np.random.Generator, look: float) -> None:
    """Exchange 120 times, and compare columns with the textbook's; ``look``: interval for stored ones."""
    n = M.shape[0]
    T = np.hstack([t.row[:, None] * M * t.column, t.cover[:, None]])
    for _ in range(120):
        c = int(rng.integers(0, n + 1))
        entering = int(t.nonbasis[c])
        lt.entering_column(t, M, entering)
        np.testing.assert_array_equal(t.entry[:n], T[:, c])
        r = int(np.argmax(np.abs(T[:, c]) * rng.uniform(0.5, 1.0, n)))
        lt.exchange(t, r, entering)
        pivot_at_once(T, r, c)
        if rng.random() < look:
            c = int(rng.integers(0, n + 1))
            lt.stored_column(t, M, c)
            np.testing.assert_array_equal(t.T[c, :n], T[:, c])
        if not (np.abs(T) < 1e6).all():
            break
    lt.update_tableau(t, M)
    np.testing.assert_array_equal(t.T[:, :n].T, T)


def definite(n: int, seed: int) -> tuple[Matrix, Matrix]:
    """A symmetric positive definite problem."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    return A @ A.T + 0.1 * np.eye(n), rng.standard_normal(n)


@pytest.mark.parametrize("n", [12, 30, 120])
def test_a_near_start_saves_pivots(n: int) -> None:
    """From the solution of a neighbouring problem the path is shorter, and ends in the same bits as the cold one."""
    M, q = definite(n, n)
    start = lcp.solve(lcp.LCP(M, q), lcp.Lemke()).z
    near = lcp.LCP(M, q + 0.2 * np.random.default_rng(1).standard_normal(n))
    cold, warm = lcp.solve(near, lcp.Lemke()), lcp.solve(near, lcp.Lemke(), z0=start)
    assert warm.solved
    assert 0 < warm.iterations < cold.iterations
    assert warm.attempts[0].detail == "warm start"
    np.testing.assert_array_equal(warm.z, cold.z)


def test_any_start_keeps_the_solution() -> None:
    """Random, dependent, full and empty starts solve all random semidefinite problems that a cold start solves."""
    rng = np.random.default_rng(5)
    for _ in range(400):
        n = int(rng.integers(1, 12))
        A = rng.integers(-2, 3, (n, int(rng.integers(1, n + 1)))).astype(float)
        x = rng.integers(0, 3, n).astype(float)
        problem = lcp.LCP(A @ A.T, rng.integers(0, 2, n) * (x == 0.0) - A @ (A.T @ x))
        z0 = rng.integers(-1, 3, n).astype(float)
        result = lcp.solve(problem, lcp.Lemke(), z0=z0)
        assert result.solved, (problem.M, problem.q, z0, result)


def test_a_start_leaves_the_limit_to_the_cold_path() -> None:
    """Pivots spent on a start that leads nowhere are counted, beside the limit."""
    M, q = definite(40, 3)
    problem = lcp.LCP(M, q)
    needed = lcp.solve(problem, lcp.Lemke()).iterations
    result = lcp.solve(problem, lcp.Lemke(max_pivots=needed, restarts=0), z0=np.ones(40))
    assert result.solved


@pytest.mark.parametrize("factor", [1e-4, 1e-8, 1e-12, 1e8, 1e12])
def test_heavy_and_light_bodies_are_solved(factor: float) -> None:
    """Contact problems whose mass entries stand beside the ones of the friction cone, trillions smaller or larger."""
    rng = np.random.default_rng(11)
    for _ in range(400):
        M, q = contact(rng, bool(rng.integers(0, 2)))
        rows = np.abs(M.diagonal()) > 0.0
        problem = lcp.LCP(np.where(np.outer(rows, rows), M * factor, M), q)
        assert lcp.solve(problem, lcp.Lemke(restarts=7)).solved, (problem.M, q)

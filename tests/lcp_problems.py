"""Problems of known classes for complementarity solvers, and independent measures of their results."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import lcp

FloatArray = NDArray[np.float64]


def definite(seed: int, n: int = 12) -> lcp.LCP:
    """Return a symmetric positive definite problem."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    return lcp.LCP(A @ A.T + 0.1 * np.eye(n), rng.standard_normal(n))


def semidefinite(seed: int, n: int = 12) -> lcp.LCP:
    """Return a symmetric problem of rank n/2 with a solution."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n // 2))
    z = np.maximum(rng.standard_normal(n), 0.0)
    return lcp.LCP(A @ A.T, np.maximum(rng.standard_normal(n), 0.0) * (z == 0.0) - A @ (A.T @ z))


def dominant(seed: int, n: int = 12) -> lcp.LCP:
    """Return an H-matrix with positive diagonal that is not symmetric: dominant by rows after a scaling of columns."""
    rng = np.random.default_rng(seed)
    M = rng.uniform(-1.0, 1.0, (n, n))
    np.fill_diagonal(M, np.abs(M).sum(axis=1) - np.abs(np.diag(M)) + 0.1)
    return lcp.LCP(M * 10.0 ** rng.uniform(-1.0, 1.0, n), rng.standard_normal(n))


def repeated(seed: int) -> lcp.LCP:
    """Return a symmetric problem in whole numbers, of rank n/2, with a repeated row and a solution."""
    rng = np.random.default_rng(seed)
    n = 2 + seed % 7
    A = rng.integers(-2, 3, (n, max(1, n // 2))).astype(float)
    A[-1] = A[0]
    z = np.maximum(rng.integers(-2, 3, n), 0).astype(float)
    return lcp.LCP(A @ A.T, np.maximum(rng.integers(-1, 3, n), 0) * (z == 0.0) - A @ (A.T @ z))


def p_problem(seed: int, n: int) -> lcp.LCP:
    """Return a P-matrix of one of four kinds: definite, not symmetric, dominant, triangular; whole numbers."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-2, 3, (n, n)).astype(float)
    if seed % 4 == 0:
        M = A @ A.T + np.eye(n)
    elif seed % 4 == 1:
        M = A @ A.T + 0.1 * np.eye(n) + A - A.T
    elif seed % 4 == 2:
        M = A - np.diag(np.diag(A))
        np.fill_diagonal(M, np.abs(M).sum(axis=1) + 0.1)
    else:
        M = np.tril(A, -1) * 2.0 ** rng.integers(0, 6) + np.eye(n)
    return lcp.LCP(M, rng.integers(-3, 4, n))


def bounds(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Return bounds of every kind: on two sides, on one, none, and equal ones."""
    lo = np.where(rng.random(n) < 0.3, -np.inf, rng.integers(-2, 3, n))
    hi = np.where(rng.random(n) < 0.3, np.inf, np.where(np.isfinite(lo), lo, 0) + rng.integers(0, 3, n))
    return lo, hi


def random_box(seed: int) -> lcp.BoxLCP:
    """Return `p_problem` between bounds of every kind."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    lo, hi = bounds(rng, n)
    plain = p_problem(seed, n)
    return lcp.BoxLCP(plain.M, plain.q, lo, hi)


def definite_box(seed: int, n: int = 9) -> lcp.BoxLCP:
    """Return a symmetric definite problem between bounds of every kind."""
    plain = definite(seed, n)
    lo, hi = np.full(n, -0.1), np.full(n, 0.2)
    lo[0], hi[0] = -np.inf, np.inf
    lo[1] = -np.inf
    hi[2] = np.inf
    lo[3] = hi[3] = 0.7
    return lcp.BoxLCP(plain.M, plain.q, lo, hi)


def membrane(m: int) -> lcp.LCP:
    """Return a membrane on m x m nodes, lifted in the middle and pressed onto a table elsewhere."""
    line = sparse.diags_array([-np.ones(m - 1), 2.0 * np.ones(m), -np.ones(m - 1)], offsets=[-1, 0, 1])
    M = (sparse.kron(line, sparse.eye_array(m)) + sparse.kron(sparse.eye_array(m), line)).tocsr() * (m + 1.0) ** 2
    x, y = np.meshgrid(*[np.arange(1, m + 1) / (m + 1.0)] * 2)
    return lcp.LCP(M, np.where((x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.0625, -1.0, 1.0).ravel())


def string(n: int) -> lcp.LCP:
    """Return a string with ends at the height 0.05 that its weight presses onto a table."""
    h = 1.0 / (n + 1)
    M = sparse.diags_array([-np.ones(n - 1), 2.0 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]) / h**2
    q = np.ones(n)
    q[[0, -1]] -= 0.05 / h**2
    return lcp.LCP(M.tocsr(), q)


def string_height(n: int) -> FloatArray:
    """Return the height of the string: a parabola down to the table at sqrt(0.1) from either end."""
    t = np.arange(1, n + 1) / (n + 1)
    return np.where(np.minimum(t, 1.0 - t) < np.sqrt(0.1), 0.5 * (np.sqrt(0.1) - np.minimum(t, 1.0 - t)) ** 2, 0.0)


def natural(problem: lcp.LCP | lcp.BoxLCP, z: FloatArray) -> float:
    """Return max |z - mid(lo, hi, z - w)|, without the package."""
    w = problem.M @ z + problem.q
    lo = getattr(problem, "lo", np.zeros(problem.n))
    hi = getattr(problem, "hi", np.full(problem.n, np.inf))
    return float(np.abs(z - np.clip(z - w, lo, hi)).max(initial=0.0))


def assert_solves(problem: lcp.LCP | lcp.BoxLCP, result: lcp.Result) -> None:
    """The result claims to be a solution, and is one."""
    assert result.solved, (result, result.attempts)
    assert natural(problem, result.z) <= 1e-8 * max(1.0, float(np.abs(problem.q).max(initial=0.0)))


def duplicated(seed: int) -> lcp.LCP:
    """Return eight frictionless contacts on six coordinates of masses 0.1 to 100; each contact stands there twice."""
    rng = np.random.default_rng(seed)
    N = np.vstack([rng.standard_normal((4, 6))] * 2)
    return lcp.LCP(N @ (N / 10.0 ** rng.uniform(-1, 2, 6)).T, N @ rng.standard_normal(6))


def random_blocks(seed: int, kind: str, largest: int = 4) -> tuple[FloatArray, ...]:
    """Return blocks (A, X1, X2, X3, a, x4) of a mixed problem; A has any rank, and most problems have a solution."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, largest + 1))
    m = max(int(rng.integers(0, largest + 1)), 1 - n)
    r = int(rng.integers(0, m + 1))

    def draw(*shape: int) -> FloatArray:
        return rng.integers(-3, 4, shape).astype(float)

    A = draw(m, r) @ draw(r, m)
    X1, X2, X3 = draw(m, n), draw(n, m), draw(n, n)
    if kind == "monotone":
        S, B = draw(m, r), draw(n, n)
        A, X2, X3 = S @ S.T, -X1.T, B @ B.T
    elif kind == "decoupled" or (kind == "half" and seed % 2):
        X1 = A @ draw(m, n)
    if kind == "decoupled" or (kind == "half" and not seed % 2):
        X2 = draw(n, m) @ A
    a, x4 = draw(m), draw(n)
    if rng.random() < 0.6:
        u, y = draw(m), np.abs(draw(n)) * (rng.random(n) < 0.5)
        a, x4 = -(A @ u + X1 @ y), -(X2 @ u + X3 @ y) + np.abs(draw(n)) * (y == 0)
    return A, X1, X2, X3, a, x4

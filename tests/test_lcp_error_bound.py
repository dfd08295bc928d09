"""A posteriori bounds: never below the true distance, which rational arithmetic gives, and how far above it."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import lcp
from lcp import ErrorBound, catalog, error_bound

Matrix = np.ndarray
KINDS = ("spd", "monotone", "h", "p", "ill")


def matrix(kind: str, n: int, rng: np.random.Generator) -> Matrix:
    B = rng.standard_normal((n, n))
    if kind == "spd":
        return B @ B.T + 0.1 * np.eye(n)
    if kind == "monotone":
        return B @ B.T + 0.1 * np.eye(n) + 3 * (B - B.T)
    if kind == "h":
        B[np.diag_indices(n)] = np.abs(B).sum(axis=1) * 1.01
        return 10.0 ** rng.uniform(-3, 3, (n, 1)) * B
    if kind == "p":
        # A cycle of odd length: minors 1 and 1 + 2.5^k, neither H_+ nor definite for k >= 3.
        k = n if n % 2 else n - 1
        cycle = np.eye(n)
        cycle[np.arange(k), (np.arange(k) + 1) % k] += 2.5
        return 10.0 ** rng.uniform(-1, 1, (n, 1)) * cycle * 10.0 ** rng.uniform(-1, 1, n)
    S = B @ np.diag(10.0 ** rng.uniform(-7, 0, n)) @ B.T
    return S + S.T


def exact_solution(M: Matrix, q: Matrix, lo: Matrix, hi: Matrix) -> list[Fraction] | None:
    """A solution in rationals, by trying every choice of bounds."""
    n = len(q)
    A = [[Fraction(float(a)) for a in row] for row in M]
    b = [Fraction(float(a)) for a in q]
    choices = [[None, *(Fraction(float(v)) for v in (lo[i], hi[i]) if np.isfinite(v))] for i in range(n)]
    places: list[list[Fraction | None]] = [[]]
    for choice in choices:
        places = [[*place, value] for place in places for value in choice]
    for place in places:
        free = [i for i in range(n) if place[i] is None]
        fixed = [i for i in range(n) if place[i] is not None]
        rows = [[*(A[i][j] for j in free), -b[i] - sum((A[i][j] * place[j] for j in fixed), Fraction(0))] for i in free]
        z = list(place)
        inner = solve(rows)
        if inner is None:
            continue
        for i, value in zip(free, inner, strict=True):
            z[i] = value
        w = [sum((A[i][j] * z[j] for j in range(n)), b[i]) for i in range(n)]
        if all(
            lo[i] <= z[i] <= hi[i] and (w[i] <= 0 or z[i] == lo[i]) and (w[i] >= 0 or z[i] == hi[i]) for i in range(n)
        ):
            return z
    return None


def solve(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """Gauss-Jordan elimination in rationals."""
    rows = [list(row) for row in rows]
    for c in range(len(rows)):
        at = next((r for r in range(c, len(rows)) if rows[r][c]), None)
        if at is None:
            return None
        rows[c], rows[at] = rows[at], rows[c]
        rows[c] = [a / rows[c][c] for a in rows[c]]
        for r in range(len(rows)):
            if r != c and rows[r][c]:
                rows[r] = [a - rows[r][c] * p for a, p in zip(rows[r], rows[c], strict=True)]
    return [row[-1] for row in rows]


def overestimate(found: ErrorBound, z: Matrix, exact: list[Fraction]) -> float:
    """bound / true distance, after checking that no bound is below what it bounds."""
    errors = [abs(Fraction(float(a)) - b) for a, b in zip(z, exact, strict=True)]
    assert Fraction(found.bound) >= max(errors)
    assert all(Fraction(float(r)) >= e for r, e in zip(found.radius, errors, strict=True))
    assert found.bound == found.radius.max()
    return found.bound / float(max(errors)) if max(errors) else 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0.0, 1e-13, 1e-6, 1.0, 1e4])
def test_bounds_hold_and_are_sharp(kind: str, size: float) -> None:
    """The bound holds anywhere, also of the cheap classes alone; near the solution its median overestimate is 1.001."""
    rng = np.random.default_rng(7)
    ratios = []
    for _ in range(15):
        n = int(rng.integers(1, 6))
        M, q = matrix(kind, n, rng), rng.standard_normal(n)
        problem = lcp.LCP(M, q)
        z = lcp.solve(problem).z + size * rng.standard_normal(n)
        exact = exact_solution(M, q, np.zeros(n), np.full(n, np.inf))
        found, cheap = error_bound(problem, z), error_bound(problem, z, max_n=1)
        assert found.available, found.detail
        assert found.norm == "max"
        assert found.matrix_class in ("H_+", "PD", "P")
        assert cheap.matrix_class in ("H_+", "PD", "none", *(["P"] if n == 1 else []))
        assert not found.local
        ratios.append(overestimate(found, z, exact))
        if cheap.available:
            overestimate(cheap, z, exact)
    assert size > 1.0 or np.median(ratios) < (1.001 if size < 1e-3 and (kind != "ill" or size == 0.0) else 1e3)


def test_degenerate_solutions() -> None:
    """z_i = w_i = 0, where the active set is uncertain: the bound of the class remains, and is true."""
    rng = np.random.default_rng(9)
    for _ in range(25):
        n = int(rng.integers(2, 6))
        M = np.round(matrix("h", n, rng)) + 40 * np.eye(n)
        z = np.round(rng.random(n) * 8) * (rng.random(n) < 0.6)
        q = -M @ z
        near = np.where(rng.random(n) < 0.5, z, z + 1e-9 * rng.standard_normal(n))
        found = error_bound(lcp.LCP(M, q), near)
        assert found.available
        exact = exact_solution(M, q, np.zeros(n), np.full(n, np.inf))
        assert exact == [Fraction(float(a)) for a in z]
        overestimate(found, near, exact)
    assert error_bound(lcp.LCP(np.eye(3), np.zeros(3)), np.zeros(3)).bound < 1e-300


def test_boxed_and_mixed_problems() -> None:
    """Bounds on both sides, given unknowns, no bounds at all: the same theory."""
    rng = np.random.default_rng(12)
    for _ in range(25):
        n = int(rng.integers(1, 5))
        M, q = matrix(KINDS[int(rng.integers(4))], n, rng), rng.standard_normal(n)
        lo = np.where(rng.random(n) < 0.3, -np.inf, -rng.random(n))
        hi = np.where(rng.random(n) < 0.3, np.inf, np.where(rng.random(n) < 0.2, np.maximum(lo, -1.0), rng.random(n)))
        lo = np.where(hi == -1.0, -1.0, lo)
        exact = exact_solution(M, q, lo, hi)
        assert exact is not None
        z = np.array([float(a) for a in exact]) + 10.0 ** rng.uniform(-16, 0) * rng.standard_normal(n)
        overestimate(error_bound(lcp.BoxLCP(M, q, lo, hi), z), z, exact)
    mixed = lcp.MLCP([[2.0]], [[-0.5]], [[0.5]], [[1.0]], [-1.0], [-2.0])
    result = lcp.solve(mixed)
    found = error_bound(mixed, result)
    exact = exact_solution(mixed._K, mixed._k, np.array([-np.inf, 0.0]), np.full(2, np.inf))
    assert exact is not None
    overestimate(found, np.concatenate([result.u, result.y]), exact)
    assert found.bound < 1e-15


def test_none_available_with_a_reason() -> None:
    """Singular, indefinite, not P: infinite, with the reason; a local bound only on request, and it is true."""
    cases = {
        "minor": lcp.LCP([[1.0, 1.0], [1.0, 1.0]], [-1.0, -1.0]),
        "negative": lcp.LCP([[1.0, 2.0], [2.0, 1.0]], [-1.0, -2.0]),
        "max_n": lcp.LCP(np.eye(30) + np.triu(np.full((30, 30), 2.0), 1) + 0.01 * np.tril(np.ones((30, 30)), -1),
                         -np.ones(30)),
    }  # fmt: skip
    for word, problem in cases.items():
        found = error_bound(problem, np.zeros(problem.n))
        assert found.bound == np.inf
        assert not found.available
        assert found.matrix_class == "none"
        assert found.detail.startswith("none available")
        assert word in found.detail
    sliding = catalog.named("block_sliding")
    z = sliding.solutions[0] + 1e-7
    assert not error_bound(sliding.problem, z).available
    local = error_bound(sliding.problem, z, local=True)
    assert local.local
    exact = exact_solution(sliding.problem.M, sliding.problem.q, np.zeros(4), np.full(4, np.inf))
    assert exact is not None
    assert overestimate(local, z, exact) < 1.01
    # Nothing is proven where signs are not clear, the block is singular or there is no solution.
    assert not error_bound(cases["minor"], [0.5, 0.5], local=True).available
    assert not error_bound(catalog.named("painleve_none").problem, [0.0], local=True).available


def test_large_and_sparse_problems() -> None:
    """An obstacle problem, dense with n = 400 and sparse with n = 20000: bounds near rounding."""
    dense = catalog.obstacle(400)
    result = lcp.solve(dense)
    found = error_bound(dense, result)
    assert found.matrix_class == "H_+"
    assert found.bound < 1e-9 * result.z.max()
    n = 20000
    M = sparse.diags_array([-np.ones(n - 1), np.full(n, 2.0001), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()
    z = np.maximum(np.sin(np.linspace(0.0, 20.0, n)), 0.0)
    w = np.where(z > 0.0, 0.0, 0.1)
    problem = lcp.LCP(M, w - M @ z)
    near = z + 1e-8 * np.random.default_rng(0).standard_normal(n)
    found = error_bound(problem, near)
    assert found.matrix_class == "H_+"
    assert np.abs(near - z).max() * (1 - 1e-6) <= found.bound < 1e-3
    assert "sparse" in error_bound(lcp.LCP(-M, problem.q), z).detail


def test_scaling_by_huge_factors() -> None:
    """Rows and columns in units from 1e-12 to 1e12: the bound still holds and is still sharp."""
    rng = np.random.default_rng(21)
    for _ in range(20):
        n = int(rng.integers(2, 5))
        d, e = 10.0 ** rng.uniform(-12, 12, n), 10.0 ** rng.uniform(-6, 6, n)
        M, q = d[:, None] * matrix("h", n, rng) * e, d * rng.standard_normal(n)
        problem = lcp.LCP(M, q)
        exact = exact_solution(M, q, np.zeros(n), np.full(n, np.inf))
        assert exact is not None
        z = np.array([float(a) for a in exact])
        found = error_bound(problem, z)
        assert found.available
        overestimate(found, z, exact)
        assert found.bound <= 1e-10 * max(z.max(), 1e-300)
    for huge in (1e300, 1e-300):
        assert error_bound(lcp.LCP([[huge]], [-huge]), [1.0]).bound < 1e-5


def test_ill_formed_arguments() -> None:
    """Wrong lengths and what is not finite raise; the empty problem has bound zero."""
    problem = lcp.LCP(np.eye(2), np.ones(2))
    for bad in ([1.0], [np.nan, 0.0], [[1.0, 2.0]]):
        with pytest.raises(lcp.ProblemError):
            error_bound(problem, bad)
    with pytest.raises(lcp.ProblemError):
        error_bound("problem", [1.0])
    assert error_bound(lcp.LCP(np.zeros((0, 0)), []), []).bound == 0.0

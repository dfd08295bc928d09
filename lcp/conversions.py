"""Exact conversions between kinds of problems, each with the way back.

`HorizontalLCP` has a matrix on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from lcp.arrays import Vector, check_range, checked_vector, dense_matrix, read_only
from lcp.problem import LCP, MLCP, BoxLCP, CoupledBoxLCP
from lcp.status import ProblemError

if TYPE_CHECKING:
    from lcp.matrix_classes import ClassVerdict

P = TypeVar("P", LCP, MLCP, BoxLCP)


@dataclass(frozen=True, eq=False)
class Conversion(Generic[P]):
    """Problem that has a solution exactly if the original one has.

    Attributes
    ----------
    problem
        The problem to solve instead.
    recover
        Function from its solution (z of an `LCP`, or (u, y) of an `MLCP` in one vector) to the solution of the original
        problem in the same form.
    start
        Function from a vector of the original problem (of an `MLCP` its y) to a start for this one.
    """

    problem: P
    recover: Callable[[Vector], Vector]
    start: Callable[[Vector], Vector]


def lcp_to_mlcp(problem: LCP) -> Conversion[MLCP]:
    """Return the same problem as an `MLCP` without free unknowns."""
    n = problem.n
    mixed = MLCP(np.zeros((0, 0)), np.zeros((0, n)), np.zeros((n, 0)), problem._M, (), problem._q)
    return Conversion(mixed, np.copy, np.copy)


def mlcp_to_lcp(problem: MLCP) -> Conversion[LCP]:
    """Convert by u = s - t, with s, t >= 0 complementary to the equations, each written as two inequalities.

    The unknowns are (s, t, y). Rows A u + X1 y + a >= 0 and <= 0 together are the equations, whose complementarity is
    then always true, so A can be any matrix. Prefer `reduce` if A is regular.
    """
    A, X1, X2, X3 = problem.A, problem.X1, problem.X2, problem.X3
    m = problem.n_free
    M = np.block([[A, -A, X1], [-A, A, -X1], [X2, -X2, X3]])
    q = np.concatenate([problem.a, -problem.a, problem.x4])

    def recover(z: Vector) -> Vector:
        z = checked_vector("z", z, 2 * m + problem.n)
        return np.concatenate([z[:m] - z[m : 2 * m], z[2 * m :]])

    def start(y: Vector) -> Vector:
        return np.concatenate([np.zeros(2 * m), y])

    return Conversion(LCP(M, q), recover, start)


def box_to_mlcp(problem: BoxLCP) -> Conversion[MLCP]:
    """Convert bounds to complementary pairs; unknowns without bounds become free, given ones (lo = hi) are substituted.

    z = lo + y from a lower bound, z = hi - y if only hi is finite. An unknown with two bounds has a second pair: its
    upper multiplier s >= 0 against the distance hi - lo - y >= 0, and its row becomes w + s >= 0.
    """
    M = problem._M if isinstance(problem._M, np.ndarray) else problem._M.toarray()
    q, lo, hi = problem._q, problem.lo, problem.hi
    given = lo == hi
    free = np.flatnonzero(np.isinf(lo) & np.isinf(hi))
    upper = np.flatnonzero(np.isinf(lo) & np.isfinite(hi))
    double = np.flatnonzero(np.isfinite(lo) & np.isfinite(hi) & ~given)
    single = np.flatnonzero(np.isfinite(lo) & np.isinf(hi))
    pairs = np.concatenate([single, upper, double])
    sign = np.ones(problem.n)
    sign[upper] = -1.0
    origin = np.where(np.isfinite(lo), lo, np.where(np.isfinite(hi), hi, 0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        shifted, width = q + M @ origin, (hi - lo)[double]
    check_range("M lo + q or hi - lo", shifted, width)
    n, d = pairs.shape[0], double.shape[0]
    signs = sign[pairs]
    select = np.zeros((n, d))
    select[n - d :] = np.eye(d)
    X3 = np.block([[signs[:, None] * M[np.ix_(pairs, pairs)] * signs, select], [-select.T, np.zeros((d, d))]])
    mixed = MLCP(
        M[np.ix_(free, free)],
        np.hstack([M[np.ix_(free, pairs)] * signs, np.zeros((free.shape[0], d))]),
        np.vstack([signs[:, None] * M[np.ix_(pairs, free)], np.zeros((d, free.shape[0]))]),
        X3,
        shifted[free],
        np.concatenate([signs * shifted[pairs], width]),
    )

    def recover(x: Vector) -> Vector:
        x = checked_vector("(u, y)", x, free.shape[0] + n + d)
        z = origin.copy()
        z[free] = x[: free.shape[0]]
        z[pairs] += signs * x[free.shape[0] : free.shape[0] + n]
        # lo + (hi - lo) can differ from hi by rounding.
        near = np.isfinite(hi) & (np.abs(z - hi) <= 4.0 * np.finfo(np.float64).eps * np.abs(hi))
        z[near] = hi[near]
        return z

    def start(z: Vector) -> Vector:
        y = signs * (z - origin)[pairs]
        w = shifted + M @ (z - origin)
        beyond = np.where(z[double] >= hi[double], np.maximum(-w[double], 0.0), 0.0)
        return np.concatenate([y, beyond])

    return Conversion(mixed, recover, start)


def box_to_lcp(problem: BoxLCP) -> Conversion[LCP]:
    """Convert to a plain problem by `box_to_mlcp` and `mlcp_to_lcp`, which splits free unknowns into two parts >= 0."""
    first = box_to_mlcp(problem)
    second = mlcp_to_lcp(first.problem)
    return Conversion(
        second.problem,
        lambda z: first.recover(second.recover(z)),
        lambda z: second.start(first.start(z)),
    )


def check_kind(problem: object) -> None:
    """Refuse an argument that is not a problem, with a hint."""
    from lcp.nonlinear.problem import MCP

    if isinstance(problem, MCP):
        raise ProblemError(
            f"problem must be an lcp.LCP, lcp.MLCP or lcp.BoxLCP, got {type(problem).__name__}, which has no M and q; "
            "pass problem.linearised(z), which is LCP(J(z), F(z) - J(z) @ z) between its bounds"
        )
    if not isinstance(problem, LCP | MLCP | BoxLCP):
        raise ProblemError(
            f"problem must be an lcp.LCP, lcp.MLCP or lcp.BoxLCP, got {type(problem).__name__}; write solve(LCP(M, q))"
        )


def coupled_to_box(problem: CoupledBoxLCP) -> Conversion[BoxLCP]:
    """Convert to bounds that are numbers: z_i = y_i - mu_i z_j, y_i >= 0, and a pair for the upper bound.

    The multiplier s_i >= 0 of the upper bound stands against the room 2 mu_i z_j - y_i >= 0, and the row of y_i becomes
    w_i + s_i >= 0. Unknowns are (z with y_i in the coupled places, s). M is made dense.
    """
    n, coupled = problem.n, np.flatnonzero(problem.findex >= 0)
    source, mu, d = problem.findex[coupled], problem.mu[coupled], coupled.shape[0]
    M = problem._M if isinstance(problem._M, np.ndarray) else problem._M.toarray()
    shift = np.zeros((n, n))
    shift[coupled, source] = mu
    select = np.zeros((n, d))
    select[coupled, np.arange(d)] = 1.0
    room = -select.T
    room[np.arange(d), source] += 2.0 * mu
    wide = np.block([[M - M @ shift, select], [room, np.zeros((d, d))]])
    none = np.zeros(d)
    box = BoxLCP(
        wide,
        np.concatenate([problem._q, none]),
        np.concatenate([problem.lo, none]),
        np.concatenate([problem.hi, none + np.inf]),
    )

    def recover(x: Vector) -> Vector:
        z = checked_vector("x", x, n + d)[:n]
        limit = mu * z[source]
        y = z[coupled]
        # At each end use the bound itself, not a difference.
        near = np.abs(y - 2.0 * limit) <= 4.0 * np.finfo(np.float64).eps * 2.0 * limit
        z[coupled] = np.where(near, limit, y - limit)
        return z

    def start(z: Vector) -> Vector:
        w = M @ z + problem._q
        limit = mu * z[source]
        x = np.concatenate([z, np.where(z[coupled] >= limit, np.maximum(-w[coupled], 0.0), 0.0)])
        x[coupled] = np.maximum(z[coupled] + limit, 0.0)
        return x

    return Conversion(box, recover, start)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class HorizontalLCP:
    """Find w >= 0 and z >= 0 with N w = M z + q and z . w = 0; an `LCP` if N is the identity.

    Parameters
    ----------
    N, M
        Matrices (n, n), dense or scipy.sparse, kept dense. Copied.
    q
        Vector (n,). Copied.

    Raises
    ------
    ProblemError
        For a shape that does not fit, or an entry that is not a finite real number.

    References
    ----------
    R. H. Tutuncu, M. J. Todd, Reducing horizontal linear complementarity problems, Linear Algebra and its Applications
    223/224 (1995).
    """

    N: Vector
    M: Vector
    q: Vector

    def __init__(self, N: Any, M: Any, q: ArrayLike) -> None:
        vector = checked_vector("q", q)
        n = vector.shape[0]
        for name, value in (("N", N), ("M", M)):
            matrix = dense_matrix(name, value)
            if matrix.shape != (n, n):
                raise ProblemError(f"{name} must have shape ({n}, {n}) as q has length {n}, got {matrix.shape}")
            object.__setattr__(self, name, read_only(matrix))
        object.__setattr__(self, "q", read_only(vector))

    @property
    def n(self) -> int:
        """Return the number of complementary pairs."""
        return int(self.q.shape[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.N, self.M, self.q)

    def __repr__(self) -> str:
        return f"HorizontalLCP(n={self.n})"

    def column_w(self) -> ClassVerdict | None:
        """Return True if {N, M} has the column W-property: one solution for every q. None if N is singular.

        All 2^n matrices whose column i is a column of N or of M have determinants of one sign, exactly if N^-1 M is a
        P-matrix. A singular N is one of these matrices. The verdict is for the computed N^-1 M.
        """
        inverse = _left_divided(self.N, self.M)
        from lcp.matrix_classes import is_p_matrix

        return None if inverse is None else is_p_matrix(inverse)


def horizontal_to_mlcp(problem: HorizontalLCP) -> Conversion[MLCP]:
    """Convert with w as free unknowns: N u - M y - q = 0 and u >= 0 against y >= 0; exact for any data.

    ``recover`` gives (w, z) in one vector.
    """
    n = problem.n
    mixed = MLCP(problem.N, -problem.M, np.eye(n), np.zeros((n, n)), -problem.q, np.zeros(n))
    return Conversion(mixed, lambda x: checked_vector("(u, y)", x, 2 * n), lambda z: checked_vector("z", z, n))


def horizontal_to_lcp(problem: HorizontalLCP) -> Conversion[LCP]:
    """Return LCP(N^-1 M, N^-1 q), which has the same z.

    Raises
    ------
    ProblemError
        If N is singular to working precision: {N, M} is then not column-W, and there is no such LCP.
    """
    reduced = _left_divided(problem.N, np.column_stack([problem.M, problem.q]))
    if reduced is None:
        rank = int(np.linalg.matrix_rank(problem.N))
        raise ProblemError(
            f"N has rank {rank} of {problem.n}: {{N, M}} is not column-W and the horizontal problem no LCP(N^-1 M, "
            "N^-1 q); horizontal_to_mlcp is exact for any data"
        )
    check_range("N^-1 [M q]", reduced)
    plain = LCP(reduced[:, :-1], reduced[:, -1])
    return Conversion(plain, lambda z: checked_vector("z", z, problem.n), lambda z: checked_vector("z", z, problem.n))


def _left_divided(N: Vector, right: Vector) -> Vector | None:
    """Return N^-1 right, or None if N is singular to working precision in units near one."""
    from lcp.factors import equilibrated

    factors = equilibrated(N)[0]
    return None if factors is None else factors.solve(right)

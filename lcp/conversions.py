"""One kind of problem in terms of another, each with the way back. Every conversion here is exact for any data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from lcp.arrays import Vector, check_range, checked_vector
from lcp.box import BoxLCP
from lcp.errors import ProblemError
from lcp.mixed import MLCP
from lcp.problem import LCP

P = TypeVar("P", LCP, MLCP, BoxLCP)


@dataclass(frozen=True, eq=False)
class Conversion(Generic[P]):
    """A problem that is solved exactly where the original one is.

    Attributes
    ----------
    problem
        The problem to solve instead.
    recover
        From its solution, z of an `LCP` or (u, y) in one vector of an `MLCP`, to that of the original problem in the
        same form.
    start
        From a vector of the original problem (of an `MLCP` its y) to a start for the other.
    """

    problem: P
    recover: Callable[[Vector], Vector]
    start: Callable[[Vector], Vector]


def lcp_to_mlcp(problem: LCP) -> Conversion[MLCP]:
    """The same problem as an `MLCP` without free unknowns."""
    n = problem.n
    mixed = MLCP(np.zeros((0, 0)), np.zeros((0, n)), np.zeros((n, 0)), problem._M, (), problem._q)
    return Conversion(mixed, _copy, _copy)


def mlcp_to_lcp(problem: MLCP) -> Conversion[LCP]:
    """u = s - t with s, t >= 0 complementary to the equations written as two inequalities each.

    The unknowns are (s, t, y). Rows A u + X1 y + a >= 0 and <= 0 together are the equations, whose complementarity
    then holds by itself: nothing is asked of A. Prefer `reduce` where A is regular.
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
    """Bounds as complementary pairs; unknowns without bounds become free, given ones (lo = hi) are put in.

    z = lo + y below, z = hi - y where only hi is finite. An unknown with two bounds brings a second pair: its upper
    multiplier s >= 0 against the room hi - lo - y >= 0, and its own row becomes w + s >= 0.
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
        # lo + (hi - lo) may miss hi by a rounding.
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
    """As `box_to_mlcp`; unknowns without bounds are split into two nonnegative parts (`mlcp_to_lcp`)."""
    first = box_to_mlcp(problem)
    second = mlcp_to_lcp(first.problem)
    return Conversion(
        second.problem,
        lambda z: first.recover(second.recover(z)),
        lambda z: second.start(first.start(z)),
    )


def _copy(x: Vector) -> Vector:
    return np.array(x, dtype=np.float64)


def check_kind(problem: object) -> None:
    """Refuse what is no problem, with a hint."""
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

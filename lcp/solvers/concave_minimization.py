"""Search among feasible vertices for a complementary one, for matrices of no known class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.kernels import RAY, RUNNING, SOLVED
from lcp.method import SolverBase, SolveRequest, Traits, integer_option, positive_option
from lcp.polish import refine
from lcp.problem import LCP
from lcp.result import Claim
from lcp.scaling import scaled_box
from lcp.solvers.frame import SolveState, pivots_per_call
from lcp.status import Status

# Minima in a row that were all met before, after which kicks lead nowhere else.
KNOWN = 200


@dataclass(frozen=True)
class ConcaveMinimization(SolverBase[LCP]):
    """Concave minimisation of sum min(z_i, w_i) over the feasible vertices, with kicks (Mangasarian 1997).

    A solvable problem has a solution at a vertex of {z >= 0, w = M z + q >= 0}, where the sum has its minimum, zero.
    Mangasarian moves from vertex to vertex by linear programs with the slopes of the sum. Here the slopes are computed
    again at every pivot of the simplex method; along an edge a concave sum decreases at least as fast as its slope. If
    no edge of a vertex descends, a few random pivots are made (iterated local search).

    Any z it returns is a solution, for any M; nothing else is proven. If there is no solution, it ends at a limit, or
    when kicks reach no new minimum. It is meant for problems of no known class. Planted problems with random M and 50
    unknowns are solved within a second; of 100 unknowns, half are solved within five seconds (docs/benchmarks.md). A
    sparse M is made dense.

    Parameters
    ----------
    seed
        Seed of the random numbers: on one machine the same seed gives the same path.
    max_pivots
        Limit on pivots, of n^2 operations each; None for two millions.
    time_limit
        CPU seconds, checked about every tenth of a second.

    References
    ----------
    O. L. Mangasarian, Solution of general linear complementarity problems via nondifferentiable concave minimization,
    Acta Mathematica Vietnamica 22 (1997).
    H. R. Lourenco, O. C. Martin, T. Stutzle, Iterated local search, Handbook of Metaheuristics (2003).
    """

    seed: int = integer_option(1, most=2**30)
    max_pivots: int | None = integer_option(None)
    time_limit: float = positive_option(60.0)

    traits: ClassVar[Traits] = Traits(0)

    def _claim(self, problem: LCP, request: SolveRequest) -> Claim:
        """Pivot until a verified solution or a limit; ``z0`` is ignored."""
        from lcp.kernels import concave_descent as k

        n, solve = problem.n, SolveState(problem, request, self.time_limit)
        if (problem._q >= 0.0).all():
            return solve.claim(Status.SOLVED)
        box = scaled_box(problem)
        limit = 2_000_000 if self.max_pivots is None else self.max_pivots
        T, x, column, slope = np.empty((n, n + 1)), np.empty(n), np.empty(n), np.empty(n + 1)
        basis, outside, place = (np.empty(size, dtype=np.int64) for size in (n, n + 1, 2 * n + 1))
        # All w are basic, except that t replaces the most negative one.
        first = np.repeat(np.array([1, 0], dtype=np.int64), [n, n + 1])
        first[[int(np.argmin(box.q)), 2 * n]] = 0, 1
        info = np.zeros(k.INFO_SIZE, dtype=np.int64)
        info[k.SEED] = self.seed + 1
        portion = pivots_per_call(n, max(200, 4 * n))

        def form_dictionary(wanted: NDArray[np.int64]) -> bool:
            """Form the dictionary whose basis is ``wanted``; return False if it is singular or at the time limit."""
            # All w are basic; t and all z are not.
            T[:, :n], T[:, n], x[:] = box.M, 1.0, box.q
            basis[:], outside[:] = np.arange(n), np.arange(n, 2 * n + 1)
            place[:] = np.where(np.arange(2 * n + 1) < n, np.arange(2 * n + 1), -1)
            start = 0
            while 0 <= start <= n and not solve.timed_out():
                start = int(k.enter_wanted(T, x, basis, outside, place, column, slope, wanted, start, portion))
            return start > n

        wanted, kick = first, False
        minima, known = set[bytes](), 0
        while True:
            # Form again from the data every few hundred pivots; if rounding has spoiled the basis, start from the first
            # one.
            if not form_dictionary(wanted) and not form_dictionary(first):
                solve.best, solve.iterations = np.zeros(n), int(info[k.PIVOTS])
                return solve.claim(Status.ITERATION_LIMIT, "time limit")
            info[k.STILL] = 0
            end = int(info[k.PIVOTS]) + min(limit - int(info[k.PIVOTS]), max(200, 4 * n))
            while True:
                budget = min(portion, end - int(info[k.PIVOTS]))
                code = k.concave_descent(T, x, basis, outside, place, column, slope, info, budget, kick)
                if code != RUNNING or info[k.PIVOTS] >= end or solve.timed_out():
                    break
                kick = False
            solve.iterations, detail = int(info[k.PIVOTS]), f"{info[k.MINIMA]} minima"
            values = np.zeros(2 * n + 1)
            values[basis] = x
            z = np.maximum(box.original(values[n : 2 * n]), 0.0)
            z = solve.best = z if np.isfinite(z).all() else np.zeros(n)
            solve.recorder.add(solve.iterations, float(np.abs(np.minimum(z, problem._M @ z + problem._q)).max()))
            kick = code == SOLVED
            if kick and (answer := refine(problem, z, request.tolerance)) is not None:
                solve.best = answer
                return solve.claim(Status.SOLVED, detail)
            if code == RAY:
                return solve.claim(Status.STALLED, "no feasible vertex was found")
            if solve.iterations >= limit or solve.timed_out():
                return solve.claim(Status.ITERATION_LIMIT, detail)
            wanted = np.zeros(2 * n + 1, dtype=np.int64)
            wanted[basis] = 1
            if kick:
                seen = np.packbits(wanted.astype(bool)).tobytes()
                known = known + 1 if seen in minima else 0
                minima.add(seen)
                if known >= KNOWN:
                    return solve.claim(Status.STALLED, f"{len(minima)} minima, and none besides")

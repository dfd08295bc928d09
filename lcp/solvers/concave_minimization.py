"""Search among feasible vertices for a complementary one, for matrices outside every class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.clock import processor_seconds
from lcp.kernels import codes
from lcp.method import Method, Request
from lcp.options import positive, whole
from lcp.polish.active_set import refine
from lcp.problem import LCP
from lcp.result import Claim
from lcp.solvers.shared.scaled_box import scaled_box
from lcp.status import Status
from lcp.trace import TraceRecorder
from lcp.traits import Traits


@dataclass(frozen=True)
class ConcaveMinimization(Method[LCP]):
    """Concave minimisation of sum min(z_i, w_i) over the feasible vertices, with kicks (Mangasarian 1997).

    A solvable problem has a solution at a vertex of {z >= 0, w = M z + q >= 0}, where the sum is zero and nowhere
    smaller. Mangasarian goes from vertex to vertex by linear programs of the sum's slopes; here the slopes are taken
    anew at every pivot of the simplex method, along whose edges a concave sum falls at least as they say. From a vertex
    that no edge leads down from, a few random pivots lead on (iterated local search). Nothing is proven of it but that
    what it finds is a solution, for any M; where there is none it ends at a limit. It is meant for problems of no known
    class: of planted ones with random M it solves nearly all of 50 unknowns within a second and most of 100 within ten
    (docs/benchmarks.md). A sparse M is made dense.

    Parameters
    ----------
    seed
        Start of the random numbers: the same seed takes the same path on one machine.
    max_pivots
        Limit on pivots, of n^2 operations each; None for two millions.
    time_limit
        Seconds of the processor, heeded every few hundred pivots.

    References
    ----------
    O. L. Mangasarian, Solution of general linear complementarity problems via nondifferentiable concave minimization,
    Acta Mathematica Vietnamica 22 (1997).
    H. R. Lourenco, O. C. Martin, T. Stutzle, Iterated local search, Handbook of Metaheuristics (2003).
    """

    seed: int = whole(1, most=2**30)
    max_pivots: int | None = whole(None)
    time_limit: float = positive(60.0)

    traits: ClassVar[Traits] = Traits(0)

    def _claim(self, problem: LCP, request: Request) -> Claim:
        """Pivot until a verified solution or a limit; ``z0`` is ignored."""
        from lcp.kernels import concave_descent as k

        deadline = processor_seconds() + self.time_limit
        n, zero = problem.n, np.zeros(problem.n)
        recorder = TraceRecorder(request.trace)
        if (problem._q >= 0.0).all():
            return Claim(zero, Status.SOLVED, 0, trace=recorder.trace())
        box = scaled_box(problem)
        limit = 2_000_000 if self.max_pivots is None else self.max_pivots
        # w - M z - t = q, and t in the basis where it is needed most.
        columns = np.hstack([np.eye(n), -box.M, -np.ones((n, 1))])
        basis, outside = np.arange(n), np.arange(n, 2 * n + 1)
        worst = int(np.argmin(box.q))
        basis[worst], outside[n] = 2 * n, worst
        place, slope = np.empty(2 * n + 1, dtype=np.int64), np.empty(n + 1)
        info = np.array([self.seed + 1, 0, 0], dtype=np.int64)
        best, kick = zero, False
        while True:
            try:
                # Anew from the data every few hundred pivots.
                solved = np.linalg.solve(columns[:, basis], np.column_stack([box.q, columns[:, outside]]))
            except np.linalg.LinAlgError:
                return Claim(best, Status.SINGULAR_BASIS, int(info[k.PIVOTS]), trace=recorder.trace())
            T, x = np.ascontiguousarray(-solved[:, 1:]), np.maximum(solved[:, 0], 0.0)
            if not np.isfinite(T).all():
                return Claim(best, Status.NOT_FINITE, int(info[k.PIVOTS]), trace=recorder.trace())
            budget = min(limit - int(info[k.PIVOTS]), max(200, 2 * n))
            code = k.concave_descent(T, x, basis, outside, place, slope, info, budget, kick)
            best = np.maximum(box.original(self._values(basis, x, n)), 0.0)
            recorder.add(int(info[k.PIVOTS]), float(np.abs(np.minimum(best, problem._M @ best + problem._q)).max()))
            said = f"{info[k.MINIMA]} minima"
            kick = code == codes.SOLVED
            if kick:
                answer = refine(problem, best, request.tolerance)
                if answer is not None:
                    return Claim(answer, Status.SOLVED, int(info[k.PIVOTS]), said, trace=recorder.trace())
            if code == codes.RAY:
                detail = "no feasible vertex was found"
                return Claim(best, Status.STALLED, int(info[k.PIVOTS]), detail, trace=recorder.trace())
            if info[k.PIVOTS] >= limit or processor_seconds() > deadline:
                return Claim(best, Status.ITERATION_LIMIT, int(info[k.PIVOTS]), said, trace=recorder.trace())

    @staticmethod
    def _values(basis: Vector, x: Vector, n: int) -> Vector:
        values = np.zeros(2 * n + 1)
        values[basis] = x
        return values[n : 2 * n]

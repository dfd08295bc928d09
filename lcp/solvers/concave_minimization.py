"""Search among feasible vertices for a complementary one, for matrices of no known class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lcp.interruptible import cpu_seconds
from lcp.kernels import codes
from lcp.method import SolverBase, SolveRequest, Traits
from lcp.options import integer_option, positive_option
from lcp.polish.active_set import refine
from lcp.problem import LCP
from lcp.result import Claim, TraceRecorder
from lcp.solvers.shared.scaled_box import scaled_box
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
    when kicks reach no new minimum. It is meant for problems of no known class. Of planted problems with random M it
    solves those of 50 unknowns within a second, and half of those of 100 within five (docs/benchmarks.md). A sparse M
    is made dense.

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
        from lcp.kernels.portions import pivots_at_once

        deadline = cpu_seconds() + self.time_limit
        n, zero = problem.n, np.zeros(problem.n)
        recorder = TraceRecorder(request.trace)
        if (problem._q >= 0.0).all():
            return Claim(zero, Status.SOLVED, 0, trace=recorder.trace())
        box = scaled_box(problem)
        limit = 2_000_000 if self.max_pivots is None else self.max_pivots
        T, x, column, slope = np.empty((n, n + 1)), np.empty(n), np.empty(n), np.empty(n + 1)
        basis, outside, place = (np.empty(size, dtype=np.int64) for size in (n, n + 1, 2 * n + 1))
        # All w are basic, except that t replaces the most negative one.
        first = np.repeat(np.array([1, 0], dtype=np.int64), [n, n + 1])
        first[[int(np.argmin(box.q)), 2 * n]] = 0, 1
        info = np.zeros(k.INFO_SIZE, dtype=np.int64)
        info[k.SEED] = self.seed + 1
        portion = int(pivots_at_once(n, max(200, 4 * n)))

        def formed(wanted: NDArray[np.int64]) -> bool:
            k.first_dictionary(box.M, box.q, T, x, basis, outside, place)
            start = 0
            while 0 <= start <= n and cpu_seconds() <= deadline:
                start = int(k.enter_wanted(T, x, basis, outside, place, column, slope, wanted, start, portion))
            return start > n

        wanted, kick = first, False
        minima, known = set[bytes](), 0
        while True:
            # Form again from the data every few hundred pivots; if rounding has spoiled the basis, start from the first
            # one.
            if not formed(wanted) and not formed(first):
                return Claim(zero, Status.ITERATION_LIMIT, int(info[k.PIVOTS]), "time limit", trace=recorder.trace())
            info[k.STILL] = 0
            end = int(info[k.PIVOTS]) + min(limit - int(info[k.PIVOTS]), max(200, 4 * n))
            while True:
                budget = min(portion, end - int(info[k.PIVOTS]))
                code = k.concave_descent(T, x, basis, outside, place, column, slope, info, budget, kick)
                if code != codes.RUNNING or info[k.PIVOTS] >= end or cpu_seconds() > deadline:
                    break
                kick = False
            spent, said = int(info[k.PIVOTS]), f"{info[k.MINIMA]} minima"
            values = np.zeros(2 * n + 1)
            values[basis] = x
            z = np.maximum(box.original(values[n : 2 * n]), 0.0)
            z = z if np.isfinite(z).all() else zero
            recorder.add(spent, float(np.abs(np.minimum(z, problem._M @ z + problem._q)).max()))
            kick = code == codes.SOLVED
            if kick and (answer := refine(problem, z, request.tolerance)) is not None:
                return Claim(answer, Status.SOLVED, spent, said, trace=recorder.trace())
            if code == codes.RAY:
                return Claim(z, Status.STALLED, spent, "no feasible vertex was found", trace=recorder.trace())
            if spent >= limit or cpu_seconds() > deadline:
                return Claim(z, Status.ITERATION_LIMIT, spent, said, trace=recorder.trace())
            wanted = np.zeros(2 * n + 1, dtype=np.int64)
            wanted[basis] = 1
            if kick:
                seen = np.packbits(wanted.astype(bool)).tobytes()
                known = known + 1 if seen in minima else 0
                minima.add(seen)
                if known >= KNOWN:
                    said = f"{len(minima)} minima, and none besides"
                    return Claim(z, Status.STALLED, spent, said, trace=recorder.trace())

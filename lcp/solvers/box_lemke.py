"""Lemke's method on a box: the pivotal method for affine variational inequalities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.interruptible import cpu_seconds
from lcp.method import MONOTONE, SolverBase, SolveRequest, Traits
from lcp.options import integer_option, positive_option
from lcp.polish.active_set import refine_boxed
from lcp.problem import LCP, BoxLCP, bounds_of
from lcp.residuals import measure
from lcp.result import Claim, TraceRecorder
from lcp.solvers.extended_lemke import covering_vector
from lcp.solvers.shared.complementary_path import ComplementaryPath
from lcp.solvers.shared.newton import basic_point
from lcp.solvers.shared.scaled_box import scaled_box
from lcp.status import Status


@dataclass(frozen=True)
class BoxLemke(SolverBase[LCP | BoxLCP]):
    """Complementary pivoting from a vertex of the box, for any M if all bounds are finite (Cao and Ferris 1996).

    The artificial variable shifts the rows, never the bounds. With the upper multipliers as further unknowns,
    M' = [[M, I], [-I, 0]], the covering vector is (1, 0), and a path can end in a ray only if an unknown can grow
    without bound. So the method solves every problem with finite bounds, and every solvable one with copositive-plus M.
    For other problems it may end in a ray. Bounds need no rows. The block of unknowns without bounds, which are
    eliminated first, must be nonsingular. Ties are broken lexicographically. A pivot costs n^2 operations, and the
    dictionary is formed again from the data every 40 pivots. The number of pivots grows exponentially with n for random
    M: thousands at n = 50.

    Parameters
    ----------
    max_pivots
        Limit over all paths; None for max(1000, 1000 n).
    restarts
        Further paths, from other vertices and with other covering vectors, after one that did not end in a verified
        solution.
    time_limit
        Seconds, checked at every pivot.

    References
    ----------
    M. Cao, M. C. Ferris, A pivotal method for affine variational inequalities, Mathematics of Operations Research 21
    (1996), algorithm 3.1 and theorem 4.4.
    """

    max_pivots: int | None = integer_option(None)
    restarts: int = integer_option(3)
    time_limit: float = positive_option(300.0)

    traits: ClassVar[Traits] = MONOTONE | Traits.P_MATRIX | Traits.COPOSITIVE | Traits.FINITE_BOX | Traits.BOXED

    def _claim(self, problem: LCP | BoxLCP, request: SolveRequest) -> Claim:
        """Follow one path after another until a verified solution, or a limit."""
        deadline = cpu_seconds() + self.time_limit
        box = scaled_box(problem)
        n = problem.n
        recorder = TraceRecorder(request.trace, "artificial variable")
        if n == 0:
            return Claim(np.zeros(0), Status.SOLVED, 0, trace=recorder.trace())
        limit = max(1000, 1000 * n) if self.max_pivots is None else self.max_pivots
        below, above = np.isfinite(box.lo), np.isfinite(box.hi)
        moves = (box.lo < box.hi) & (below | above)
        nearest = np.where(below, box.lo, np.where(above, box.hi, 0.0))
        middle = np.where(below & above, 0.5 * box.lo + 0.5 * box.hi, nearest)
        falls = box.rows(middle) < 0.0
        low, high = bounds_of(problem)
        best: Vector = np.clip(np.zeros(n), low, high)
        least, spent, first, detail = np.inf, 0, None, ""
        for number in range(self.restarts + 1):
            # Start at the vertex that the rows at the middle of the box indicate, and every other time at the opposite.
            upper = above & (~below | (falls == (number % 2 == 0)))
            cover = np.where(moves, np.where(upper, -1.0, 1.0), 0.0) * covering_vector(n, number // 2)
            # The last path may use all remaining pivots.
            share = limit - spent if number == self.restarts else (limit - spent) // 2
            try:
                path = ComplementaryPath(box, cover, upper, share, deadline)
            except np.linalg.LinAlgError:
                detail = "the block of the unknowns without bounds is singular"
                return Claim(best, Status.UNSUITABLE, 0, detail, trace=recorder.trace())
            try:
                needed = np.divide(-path.x, cover, out=np.zeros(n), where=moves)
                path.set_nonbasic(2 * n, 2.0 * float(needed.max(initial=0.0)))
                status = path.follow(2 * n, False, (2 * n,), recorder)
            except np.linalg.LinAlgError:
                status = Status.SINGULAR_BASIS
            spent += path.pivots
            detail = f"{number + 1} paths" if number else ""
            if status is Status.SOLVED:
                # Unknowns of 1e-7 next to unknowns of 1 may need their last digits, which a residual does not show.
                for accurate in (False, True):
                    x = basic_point(box, path.states(), accurate=accurate)
                    z = best if x is None else np.clip(box.original(x), low, high)
                    residual = measure(problem, z)[0].backward_error
                    if x is None or residual <= request.tolerance:
                        break
                if residual > request.tolerance:
                    better = refine_boxed(problem, z, request.tolerance)
                    z, residual = (z, residual) if better is None else (better, 0.0)
                if residual < least:
                    best, least = z, residual
                if residual <= request.tolerance:
                    return Claim(z, Status.SOLVED, spent, detail, trace=recorder.trace())
                status = Status.STALLED
            first = status if first is None else first
            if spent >= limit or cpu_seconds() > deadline:
                return Claim(best, Status.ITERATION_LIMIT, spent, detail, trace=recorder.trace())
        assert first is not None
        return Claim(best, first, spent, detail, trace=recorder.trace())

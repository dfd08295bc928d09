"""The principal pivoting method of Cottle and Dantzig."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lcp.arrays import Vector
from lcp.box import BoxLCP
from lcp.farkas import Farkas
from lcp.kernels import codes
from lcp.method import Method, Request
from lcp.options import positive, real, whole
from lcp.polish.active_set import refine
from lcp.problem import LCP
from lcp.result import Claim
from lcp.solvers.shared.principal_pivoting import PivotingState
from lcp.status import STATUS_OF_CODE, Status
from lcp.traits import MONOTONE, Traits

# Pivots between two returns to Python, which check Ctrl-C and the time limit; fewer for large problems.
_BUDGET = 128
# How often a final basis that is not a solution is formed again, with sharper eyes, and pivoting continues from there.
_ROUNDS = 3
# Largest step of a violated pair if nothing else blocks, in units of the largest value of the first tableau.
_FAR = 1024.0


@dataclass(frozen=True)
class CottleDantzig(Method[LCP | BoxLCP]):
    """Principal pivoting that mends one pair at a time and never spoils another (Cottle and Dantzig 1968).

    Each major cycle drives one pair to complementarity along a path on which all complementary pairs stay
    complementary. If a diagonal entry vanishes, two pairs are exchanged together. The method ends for P matrices. For
    positive semidefinite (more generally sufficient) M it ends either in a solution or in a proof that the problem is
    infeasible; ties are broken by the least index. Bounds on both sides are native, also infinite and equal ones: a
    driven unknown may also stop at its far bound. The tableau is dense, with n^2 operations per pivot, and a sparse M
    is made dense.

    Parameters
    ----------
    max_pivots
        Limit on pivots; None for max(1000, 50 n).
    zero_tolerance
        Size that counts as zero relative to the terms of a value. The method reduces it if a solution is not accepted.
    pivot_tolerance
        Smallest admissible pivot relative to the entries it couples.
    time_limit
        Seconds, checked between calls of at most 128 pivots.

    References
    ----------
    R. W. Cottle, G. B. Dantzig, Complementary pivot theory of mathematical programming, Linear Algebra and its
    Applications 1 (1968); R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), section
    4.3; R. W. Cottle, Y.-Y. Chang, Least-index resolution of degeneracy in linear complementarity problems with
    sufficient matrices, SIAM Journal on Matrix Analysis and Applications 13 (1992); with bounds: D. Baraff, Fast
    contact force computation for nonpenetrating rigid bodies, SIGGRAPH (1994).
    """

    max_pivots: int | None = whole(None)
    zero_tolerance: float = real(1e-11, least=0.0, most=1e-3)
    pivot_tolerance: float = real(1e-10, least=0.0, most=1e-3)
    time_limit: float = positive(300.0)

    traits: ClassVar[Traits] = MONOTONE | Traits.P_MATRIX | Traits.WARM_START | Traits.BOXED

    def _claim(self, problem: LCP | BoxLCP, request: Request) -> Claim:
        """Pivot until a verified solution, a proof that there is none, or a limit."""
        run = PivotingState(problem, request, self.time_limit)
        if run.zero_is_solution():
            return run.claim(Status.SOLVED, 0)
        claim = self._from(run, request.z0)
        if claim.status is not Status.SOLVED and request.z0 is not None and not run.timed_out():
            claim = self._from(run, None)
        return claim

    def _from(self, run: PivotingState, start: Vector | None) -> Claim:
        from lcp.kernels import cottle_dantzig as k
        from lcp.kernels.portions import pivots_at_once

        info = np.zeros(k.INFO_SIZE, dtype=np.int64)
        limit = max(1000, 50 * run.problem.n) if self.max_pivots is None else self.max_pivots
        status = Status.STALLED
        run.choose(start)
        for attempt in range(_ROUNDS):
            run.build()
            info[k.DRIVEN] = -1
            info[k.IDLE] = 0
            sharp = self.zero_tolerance * 100.0**-attempt
            far = _FAR * float(np.abs(run.b).max())
            while True:
                code = k.pivot_loop(
                    run.tableau, run.direction, sharp, self.pivot_tolerance, far, limit, info,
                    1 if run.recorder.wanted else int(pivots_at_once(run.problem.n, _BUDGET)),
                )  # fmt: skip
                run.record(int(info[k.PIVOTS]))
                if code != codes.RUNNING:
                    break
                if run.timed_out():
                    return run.claim(Status.ITERATION_LIMIT, int(info[k.PIVOTS]), "time limit")
            status = STATUS_OF_CODE[code]
            solution = run.solution(int(info[k.PIVOTS]))
            if solution is not None:
                return solution
            if status is Status.RAY_TERMINATION and (proof := self._proof(run, int(info[k.DRIVEN]))) is not None:
                return run.claim(Status.INFEASIBLE, int(info[k.PIVOTS]), evidence=proof)
            if status is Status.ITERATION_LIMIT:
                break
            run.keep()
        pivots = int(info[k.PIVOTS])
        if isinstance(run.problem, LCP) and (better := refine(run.problem, run.best, run.tolerance)) is not None:
            return Claim(better, Status.SOLVED, pivots, "polished", trace=run.recorder.trace())
        status = Status.STALLED if status is Status.SOLVED else status
        detail = "problem too long: max_pivots reached" if status is Status.ITERATION_LIMIT else ""
        return run.claim(status, pivots, detail)

    @staticmethod
    def _proof(run: PivotingState, driven: int) -> Farkas | None:
        """Return a Farkas vector, or None: a ray of a semidefinite problem is in the null space of M + M^T."""
        if not isinstance(run.problem, LCP) or driven < 0:
            return None
        y = np.where(run.inside == 1, run.direction, 0.0)
        if run.inside[driven] == 0:
            y[driven] = 1.0
        size = float(np.abs(y).max())
        proof = Farkas(y=np.where(y > 1e-12 * size, y, 0.0) * run.column, v=np.zeros(0))
        return proof if proof.proves(run.problem) else None
